package exec

import (
	"slices"
	"sync/atomic"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// runtimeFilter is what an operator finds out about the rows that it can use
// while a scan below it has not run, or runs: a join the keys of its build side,
// a top-N the worst of the rows that it keeps. The scan leaves other rows out,
// before it reads their other columns; it need not leave out all of them. Rows are
// filtered by columns of whole numbers only (integers, short decimals, dates,
// times), parts of files by all whose statistics have SQL's order.
//
// A join's filter is complete before the scan starts. A top-N's bound changes
// while scans run, and only ever to leave out more rows.
type runtimeFilter struct {
	scan  *plan.Scan
	group *plan.Aggregate // in place of the scan: its groups are filtered
	col   int             // of the scan's, or the groups', output
	typ   expr.Type

	// Of a join: the key it is for; whether its build side was read; the keys as a
	// bitmap from least on, or as bits of hashes (a blocked Bloom filter of two bits
	// in one word a key; Putze, Sanders, Singler, 2007).
	join        *plan.Join
	key         int
	fewer       bool           // the build side may lack rows of its tables
	first       *runtimeFilter // whose keys these are, too; nil: this one's own
	learned     bool
	least, most int64
	exact       []uint64
	bloom       []uint64
	looked      atomic.Int64 // rows looked at, and rows left
	passed      atomic.Int64

	top *topBound // of a top-N
}

// runtimeFilterOf is the join, and its key, that a filter is of.
type runtimeFilterOf struct {
	join  *plan.Join
	key   int
	fewer bool
}

// with returns a compiler for what lies below an operator with filters.
func (c compiler) with(f []*runtimeFilter) compiler {
	c.filters = append(c.filters[:len(c.filters):len(c.filters)], f...)
	return c
}

// scanColumn is a column of a scan's output.
type scanColumn struct {
	scan *plan.Scan
	col  int
}

// origin returns the scan that a column of n comes from, and its position there,
// when rows of the scan can be left out instead of rows of n.
func origin(n plan.Node, id plan.ColID) (*plan.Scan, int) {
	if at := origins(n, id, false); len(at) > 0 {
		return at[0].scan, at[0].col
	}
	return nil, 0
}

// origins returns the columns of scans whose rows can be left out instead of the
// rows of n with the same value in a column: the column's own, and with equal
// those that joins below demand to be equal to it, which hold whole numbers.
func origins(n plan.Node, id plan.ColID, equal bool) []scanColumn {
	switch x := n.(type) {
	case *plan.Scan:
		for i, c := range x.Cols {
			if c.ID == id {
				return []scanColumn{{x, i}}
			}
		}
	case *plan.Filter:
		return origins(x.In, id, equal)
	case *plan.Project:
		for _, it := range x.Items {
			if it.ID == id {
				if c, ok := it.Expr.(*expr.ColumnExpr); ok {
					return origins(x.In, plan.ColID(c.Pos), equal)
				}
			}
		}
	case *plan.Aggregate:
		// All rows of a group have the key's value: what is left out are whole groups.
		// A filter that gives up half way leaves groups that lack rows, of keys that it
		// had not needed.
		for _, k := range x.Keys {
			if k.ID == id {
				if c := numbers(k.Expr); c != nil {
					return origins(x.In, plan.ColID(c.Pos), equal)
				}
			}
		}
	case *plan.Join:
		return joinOrigins(x, id, equal)
	}
	return nil
}

// joinOrigins is origins for a join. Rows of the other side that only such rows
// find as a match can be left out, too: what becomes of rows that nobody needs
// does not matter.
func joinOrigins(x *plan.Join, id plan.ColID, equal bool) []scanColumn {
	left := slices.Contains(x.Left.Output(), id)
	switch {
	case left && (x.Kind == plan.Inner || x.Kind == plan.Left || x.Kind == plan.Semi || x.Kind == plan.Anti || x.Kind == plan.Mark):
	case !left && (x.Kind == plan.Inner || x.Kind == plan.Right && equal):
	default:
		return nil
	}
	mine, other := x.Left, x.Right
	if !left {
		mine, other = other, mine
	}
	out := origins(mine, id, equal)
	if !equal || x.NullAware { // there a single row of the other side decides for all
		return out
	}
	for _, k := range x.Keys {
		a, b := numbers(k.L), numbers(k.R)
		if a == nil || b == nil || k.NullSafe {
			continue
		}
		if !left {
			a, b = b, a
		}
		if plan.ColID(a.Pos) == id {
			out = append(out, origins(other, plan.ColID(b.Pos), true)...)
		}
	}
	return out
}

// filterable reports whether a filter can be for values of a type.
func filterable(t expr.Type) bool {
	k := t.Physical()
	return (k == vector.I32 || k == vector.I64) && plan.Exact(t)
}

// numbers returns the column that e reads, when e has the column's whole numbers
// as they are, in whatever width.
func numbers(e expr.Expr) *expr.ColumnExpr {
	in := e
	if c := expr.Converted(e); c != nil {
		in = c
	}
	col, ok := in.(*expr.ColumnExpr)
	if !ok || !filterable(e.Type()) || !filterable(col.Type()) {
		return nil
	}
	a, b := e.Type(), col.Type()
	if a.Class != b.Class || a.Scale != b.Scale || a.Unsigned != b.Unsigned {
		return nil
	}
	return col
}

// joinFilters makes the filters of a join for scans of its left side, whose rows
// without a match it does not give.
func (c compiler) joinFilters(n *plan.Join) (out []*runtimeFilter) {
	if n.Kind != plan.Inner && n.Kind != plan.Semi && n.Kind != plan.Right {
		return nil
	}
	fewer := selective(n.Right)
	for i, k := range n.Keys {
		col := numbers(k.L)
		if col == nil {
			continue
		}
		out = c.filtersOf(out, origins(n.Left, plan.ColID(col.Pos), true), runtimeFilterOf{n, i, fewer})
	}
	return out
}

// filtersOf appends filters for columns of scans, all with the same keys.
func (c compiler) filtersOf(out []*runtimeFilter, places []scanColumn, as runtimeFilterOf) []*runtimeFilter {
	var first *runtimeFilter
	for i, p := range places {
		if slices.Contains(places[:i], p) {
			continue
		}
		f := &runtimeFilter{scan: p.scan, col: p.col, typ: c.x.typeOf(p.scan.Cols[p.col].ID), join: as.join, key: as.key, fewer: as.fewer, first: first}
		if first == nil {
			first = f
		}
		out = append(out, f)
	}
	return out
}

// selective reports whether n may lack rows of the tables it reads, so that it is
// worth while to look for what is missing.
func selective(n plan.Node) bool {
	switch x := n.(type) {
	case *plan.Scan:
		return len(x.Conds) > 0
	case *plan.Project, *plan.Sort:
		return selective(x.Inputs()[0])
	case *plan.Join:
		return x.Kind != plan.Left && x.Kind != plan.Mark && x.Kind != plan.Single || selective(x.Left)
	case *plan.Aggregate:
		return selective(x.In)
	}
	return true
}

// known reports whether the filter can leave rows out, now or later.
func (f *runtimeFilter) known() bool { return f.join == nil || f.learned }

// mostExact is the largest bitmap, in bits, and the bits a key that it may take.
const (
	mostExact    = 1 << 27
	exactPerKey  = 256
	bloomPerKey  = 16
	mostBloomKey = 1 << 24
	// cheap is the size of a build side that is looked at although nothing says that
	// it lacks rows: filters of joins above may have left some out.
	cheap = 1 << 17
)

// learn takes the keys of a join whose build side has been read. It must have all
// of them: a build side that spilled teaches nothing.
func (f *runtimeFilter) learn(j *joining) {
	f.learned = false
	if f.first != nil {
		f.copied()
		return
	}
	n := j.keys.n
	if j.spill != nil || n != j.rows.n || n == 0 || f.key >= len(j.keys.cols) || !f.fewer && n > cheap {
		return
	}
	f.take(j.x, j.keys.cols[f.key], n, &j.acct)
}

// copied takes the keys of the first filter with the same ones.
func (f *runtimeFilter) copied() {
	f.least, f.most, f.exact, f.bloom, f.learned = f.first.least, f.first.most, f.first.exact, f.first.bloom, f.first.learned
}

// word returns the word of a key's bits in the Bloom filter, and the bits.
func (f *runtimeFilter) word(x int64) (int, uint64) {
	h := (uint64(x) ^ seed) * 0x9E3779B97F4A7C15
	h ^= h >> 32
	h *= 0xD6E8FEB86659FD93
	return int(h >> 20 & uint64(len(f.bloom)-1)), 1<<(h>>58) | 1<<(h>>52&63)
}

// predicate is the filter's range as a predicate of stored columns, so that files
// and pages are left out; nil when there is none.
func (f *runtimeFilter) predicate(ctx *expr.Context, stored func(int) (expr.PushColumn, bool)) *connector.Predicate {
	if f.join == nil || !f.learned {
		return nil
	}
	var all *connector.Predicate
	for _, b := range []struct {
		op string
		x  int64
	}{{">=", f.least}, {"<=", f.most}} {
		v := vector.New(f.typ.Physical(), 1)
		if v.Kind == vector.I32 {
			if int64(int32(b.x)) != b.x {
				continue // keys of a wider type
			}
			v.AppendI32(int32(b.x))
		} else {
			v.AppendI64(b.x)
		}
		e, err := expr.Call(ctx, b.op, expr.Column(f.col, f.typ, ""), expr.Literal(expr.Value{Type: f.typ, Vec: v.AsConst(1)}))
		if err != nil {
			return all
		}
		all = connector.AndOf(all, expr.ToPredicate(ctx, e, stored))
	}
	return all
}

// filtering applies a filter to the batches of one scanner.
type filtering struct {
	f   *runtimeFilter
	at  int                // range of the scan
	top *connector.Dynamic // of a top-N's filter
	sel []uint16
	off bool
}

// Rows that a join's filter looks at before it is judged; it goes when more than
// passing of them are left.
const (
	judged  = 1 << 15
	passing = 0.75
)

// narrow leaves rows of b out.
func (a *filtering) narrow(b *vector.Batch) {
	f := a.f
	if a.off {
		return
	}
	v := b.Cols[f.col]
	n := b.Rows()
	if f.join == nil {
		a.narrowTop(b, v)
		return
	}
	if f.exact != nil {
		least, exact, span := uint64(f.least), f.exact, uint64(f.most)-uint64(f.least)
		a.keep(b, v, func(x int64) bool {
			d := uint64(x) - least
			return d <= span && exact[d>>6]&(1<<(d&63)) != 0
		}, false)
	} else {
		a.keep(b, v, func(x int64) bool {
			if x < f.least || x > f.most {
				return false
			}
			w, bits := f.word(x)
			return f.bloom[w]&bits == bits
		}, false)
	}
	looked, passed := f.looked.Add(int64(n)), f.passed.Add(int64(b.Rows()))
	a.off = looked > judged && float64(passed) > passing*float64(looked)
}

// keep narrows b to the rows whose value ok accepts, and NULLs if they stay.
func (a *filtering) keep(b *vector.Batch, v *vector.Vec, ok func(int64) bool, nulls bool) {
	if cap(a.sel) < b.Len {
		a.sel = make([]uint16, 0, max(b.Len, vector.BatchRows))
	}
	sel := a.sel[:0]
	w := v.Values()
	n := b.Rows()
	for k := range n {
		i := b.Row(k)
		if v.Valid != nil && v.IsNull(i) {
			if nulls {
				sel = append(sel, uint16(i))
			}
			continue
		}
		at := v.At(i)
		x := int64(0)
		if w.Kind == vector.I64 {
			x = w.I64s[at]
		} else {
			x = int64(w.I32s[at])
		}
		if ok(x) {
			sel = append(sel, uint16(i))
		}
	}
	a.sel = sel
	if len(sel) < n {
		b.Sel = sel
	}
}
