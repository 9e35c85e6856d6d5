package exec

import (
	"bytes"
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// A top-N keeps the first rows of an order. As soon as it has enough of them, the
// worst tells which rows of its input cannot be among those kept, and the scan that
// the first key comes from leaves them out: files, row groups and pages by their
// statistics, then rows. DuckDB does it by dynamic filters of its TopN operator.
//
// Law: a row that is left out has, when it is, enough rows before it in the order:
// with a smaller key, or with an equal one and in an earlier place of the input.

// topBound is what a top-N has found out.
type topBound struct {
	desc       bool
	nullsFirst bool
	whole      bool // the first key is the only one
	byRow      bool // rows can be filtered, not only parts of files
	// anyOrder says that the scan may be read in any order: the top-N puts rows of
	// equal keys in order by itself, when they are placed (batches have Seq).
	anyOrder, placed bool
	// oneToOne says that ranges of the top-N's input are ranges of the scan, so that
	// of rows with equal keys those of earlier ranges win.
	oneToOne bool

	ctx    *expr.Context
	stored func(int) (expr.PushColumn, bool)

	mu  sync.Mutex
	now atomic.Pointer[worst]
}

// worst is the worst of the rows kept at some time.
type worst struct {
	key    []byte // of all keys; see sorting.appendKey
	null   bool   // the first key is NULL
	place  uint64 // with byRow: of the first key; smaller ones come before it
	number int    // of the last range, from 1, with rows among those kept

	// What other rows satisfy that are still needed: of any range, and of ranges from
	// number on, where rows with equal keys are not; nil: nothing is known.
	loose, strict *connector.Predicate
}

// topFilter makes the filter of a top-N by its keys; nil when it cannot have one.
func (c compiler) topFilter(in plan.Node, keys []plan.SortKey) *runtimeFilter {
	k := keys[0]
	col, ok := k.Expr.(*expr.ColumnExpr)
	if !ok {
		return nil
	}
	s, at := origin(in, plan.ColID(col.Pos))
	if s == nil {
		return c.groupFilter(in, k, len(keys) == 1)
	}
	t := &topBound{desc: k.Desc, whole: len(keys) == 1, byRow: filterable(col.Type()), ctx: c.x.env.Expr, stored: storedColumns(s)}
	t.nullsFirst = !k.Desc && k.Nulls != plan.NullsLast || k.Desc && k.Nulls == plan.NullsFirst
	t.anyOrder = steps(in, s)
	return &runtimeFilter{scan: s, col: at, typ: col.Type(), top: t}
}

// groupFilter makes the filter for a top-N of groups by an aggregate or a key: those
// who give the groups leave out the ones that are not needed before they compute their
// other columns.
func (c compiler) groupFilter(in plan.Node, k plan.SortKey, whole bool) *runtimeFilter {
	id, ok := k.Expr.(*expr.ColumnExpr)
	if !ok || !filterable(id.Type()) {
		return nil
	}
	col := id.Pos
	for {
		switch x := in.(type) {
		case *plan.Filter:
			in = x.In
			continue
		case *plan.Project:
			found := false
			for _, it := range x.Items {
				if it.ID == col {
					of, ok := it.Expr.(*expr.ColumnExpr)
					if !ok {
						return nil
					}
					col, found = of.Pos, true
					break
				}
			}
			if !found {
				return nil
			}
			in = x.In
			continue
		case *plan.Aggregate:
			at := layout(x.Output()).at(col)
			if at < 0 {
				return nil
			}
			t := &topBound{desc: k.Desc, whole: whole, byRow: true, ctx: c.x.env.Expr,
				stored: func(int) (p expr.PushColumn, ok bool) { return p, false }}
			t.nullsFirst = !k.Desc && k.Nulls != plan.NullsLast || k.Desc && k.Nulls == plan.NullsFirst
			return &runtimeFilter{group: x, col: at, typ: id.Type(), top: t}
		}
		return nil
	}
}

// steps reports whether only filters and projections are above a scan, so that its
// ranges are those of n.
func steps(n plan.Node, s *plan.Scan) bool {
	for {
		switch x := n.(type) {
		case *plan.Scan:
			return x == s
		case *plan.Filter:
			n = x.In
		case *plan.Project:
			n = x.In
		default:
			return false
		}
	}
}

// bias maps a value to a number that orders as it does, ascending.
func (f *runtimeFilter) bias() uint64 {
	if f.typ.Unsigned && f.typ.Class == expr.Int || f.typ.Class == expr.Bit {
		return 0
	}
	return 1 << 63
}

// bound takes the worst row that a run keeps: its normalized key (see
// sorting.appendKey), the value of the first key, and the number of the last range
// that the run has rows of.
func (f *runtimeFilter) bound(key []byte, first *vector.Vec, row, number int) {
	t := f.top
	better := func(old *worst) bool {
		if old == nil {
			return true
		}
		c := bytes.Compare(key, old.key)
		return c < 0 || c == 0 && number < old.number
	}
	if !better(t.now.Load()) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !better(t.now.Load()) {
		return
	}
	w := &worst{key: bytes.Clone(key), number: number, null: first.IsNull(row)}
	if !w.null {
		w.place = f.placeOf(first, row)
	}
	w.loose, w.strict = f.conditions(first, row)
	t.now.Store(w)
}

// placeOf is the place of a value in the order, with byRow.
func (f *runtimeFilter) placeOf(v *vector.Vec, row int) uint64 {
	if !f.top.byRow {
		return 0
	}
	x, at := int64(0), v.At(row)
	if w := v.Values(); w.Kind == vector.I64 {
		x = w.I64s[at]
	} else {
		x = int64(w.I32s[at])
	}
	return f.place(x)
}

func (f *runtimeFilter) place(x int64) uint64 {
	y := uint64(x) ^ f.bias()
	if f.top.desc {
		y = ^y
	}
	return y
}

// conditions returns what rows satisfy that are needed beside those kept, as
// predicates of the stored column.
func (f *runtimeFilter) conditions(v *vector.Vec, row int) (loose, strict *connector.Predicate) {
	t := f.top
	p, ok := t.stored(f.col)
	if !ok {
		return nil, nil
	}
	null := &connector.Predicate{Op: connector.IsNull, Column: p.Pos}
	if v.IsNull(row) {
		if t.nullsFirst {
			return null, connector.Nothing
		}
		return nil, &connector.Predicate{Op: connector.IsNotNull, Column: p.Pos}
	}
	one := vector.NewLike(v.Values(), 1)
	one.AppendFrom(v, row)
	compare := func(op string) *connector.Predicate {
		e, err := expr.Call(t.ctx, op, expr.Column(f.col, f.typ, ""), expr.Literal(expr.Value{Type: f.typ, Vec: one.AsConst(1)}))
		if err != nil {
			return nil
		}
		out := expr.ToPredicate(t.ctx, e, t.stored)
		if out != nil && t.nullsFirst {
			out = &connector.Predicate{Op: connector.Or, Children: []*connector.Predicate{out, null}}
		}
		return out
	}
	if t.desc {
		return compare(">="), compare(">")
	}
	return compare("<="), compare("<")
}

// ties reports whether a row of a range (from 0) of the scan with the keys of w may
// still be needed.
func (t *topBound) ties(w *worst, at int, d *connector.Dynamic) bool {
	return !t.oneToOne || w.number > at+1 || w.number == at+1 && d.Reordered
}

// dynamic returns the filter's condition for a range of the scan; nil when it will
// never have one.
func (f *runtimeFilter) dynamic(at int) *connector.Dynamic {
	t := f.top
	if t == nil {
		return nil
	}
	p, ok := t.stored(f.col)
	if !ok {
		return nil
	}
	d := &connector.Dynamic{Column: p.Pos, AnyOrder: t.anyOrder, Desc: t.desc}
	d.Load = func() *connector.Predicate {
		w := t.now.Load()
		switch {
		case w == nil:
			return nil
		case w.strict != nil && t.whole && !t.ties(w, at, d):
			return w.strict
		}
		return w.loose
	}
	return d
}

// narrowTop leaves out the rows of b that are not needed.
func (a *filtering) narrowTop(b *vector.Batch, v *vector.Vec) {
	f := a.f
	t := f.top
	w := t.now.Load()
	if w == nil {
		return
	}
	equal := !t.whole || t.ties(w, a.at, a.top)
	switch {
	case w.null && !t.nullsFirst && equal:
		return
	case w.null && t.nullsFirst:
		a.keep(b, v, func(int64) bool { return false }, equal)
	case w.null:
		a.keep(b, v, func(int64) bool { return true }, false)
	case !equal && w.place == 0:
		a.keep(b, v, func(int64) bool { return false }, t.nullsFirst)
	default:
		last := w.place
		if !equal {
			last--
		}
		if last == math.MaxUint64 && t.nullsFirst {
			return
		}
		a.keep(b, v, func(x int64) bool { return f.place(x) <= last }, t.nullsFirst)
	}
}

// limit returns the key from which on rows of a range, from 1, are not kept, in the
// light of what other ranges have; old is what the range knows itself.
func (f *runtimeFilter) limit(old []byte, number int) []byte {
	w := f.top.now.Load()
	if w == nil || old != nil && bytes.Compare(w.key, old) >= 0 {
		return old
	}
	if !f.top.oneToOne || w.number > number {
		// No key is the beginning of another: this is the next larger one.
		return append(bytes.Clone(w.key), 0)
	}
	return w.key
}

// tie appends to the key of a row of a range its place there, so that rows of equal
// keys are in the order of the input in whatever order they are read.
func tie(key []byte, number int, row int64) []byte {
	return binary.BigEndian.AppendUint64(key, uint64(number)<<48|uint64(row))
}
