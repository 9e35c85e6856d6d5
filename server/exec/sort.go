package exec

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/exec/spill"
	"github.com/thermocline/thermocline/server/plan"
)

// sort compiles an ordering; with count >= 0 only rows offset to offset+count of
// it are kept.
//
// Keys become byte strings whose order is the rows' order (normalized keys, as
// in DuckDB and CockroachDB); rows with equal keys keep the order in which they
// came.
func (c compiler) sort(in plan.Node, keys []plan.SortKey, count, offset int64) (pipe, layout, error) {
	s := &sorting{x: c.x, keep: -1, op: c.grower("sort")}
	if count >= 0 {
		s.keep = count + offset
		if s.filter = c.topFilter(in, keys); s.filter != nil {
			c = c.with([]*runtimeFilter{s.filter})
		}
	}
	p, l, err := c.node(in)
	if err != nil {
		return pipe{}, nil, err
	}
	if s.filter != nil {
		s.first = l.at(plan.ColID(keys[0].Expr.(*expr.ColumnExpr).Pos))
	}
	for _, k := range keys {
		e, err := c.bind(k.Expr, l)
		if err != nil {
			return pipe{}, nil, err
		}
		s.keys = append(s.keys, e)
		s.desc = append(s.desc, k.Desc)
		s.flip = append(s.flip, k.Nulls == plan.NullsFirst && k.Desc || k.Nulls == plan.NullsLast && !k.Desc)
	}
	return pipe{start: func(ctx context.Context) ([]phase, error) {
		if count == 0 {
			return nil, nil
		}
		phases, err := p.start(ctx)
		if err != nil {
			return nil, err
		}
		if f := s.filter; f != nil {
			f.top.oneToOne = (f.top.anyOrder || f.group != nil) && len(phases) == 1
			s.tied = f.top.placed
		}
		all, merged, err := s.sort(ctx, phases)
		if err != nil {
			return nil, err
		}
		if merged != nil {
			merged.skip, merged.left = offset, count
			return merged.phases(), nil
		}
		order := all.order()
		order = order[min(int(offset), len(order)):]
		if count >= 0 && int64(len(order)) > count {
			order = order[:count]
		}
		return []phase{{ranges: 1, rows: int64(len(order)), open: func(context.Context, int) (operator, error) {
			return &sorted{x: c.x, rows: &all.rows, order: order}, nil
		}, done: all.acct.free}}, nil
	}}, l, nil
}

// sorting is what all workers of an ordering share.
type sorting struct {
	x    *query
	keys []expr.Expr
	desc []bool
	flip []bool // NULLs go where they would not by default
	keep int64  // rows that are enough, -1: all
	op   *grower

	mu   sync.Mutex
	all  *run          // of the ranges that were delivered
	file *spill.Writer // of sorted runs, nil: nothing was spilled
	runs []spilledRun
	// filter tells the scan below which rows cannot be among those kept; nil: none.
	filter *runtimeFilter
	first  int  // with filter: the first key's column in the input
	tied   bool // rows need not come in their order: keys end with places (see tie)
}

// run holds rows and their keys.
type run struct {
	s     *sorting
	rows  rowStore
	keys  []byte
	ends  []int // end of each row's key in keys
	acct  account
	limit []byte // keys from it on cannot be among the rows kept
	told  bool   // the filter was told of the rows kept

	number int // of the range, from 1
	last   int // the largest number of ranges with rows in it
	spills int // how often it was spilled
}

func (s *sorting) empty() *run { return &run{s: s, acct: s.op.account()} }

// collect reads one range.
func (s *sorting) collect(ctx context.Context, number int, op operator) (*run, error) {
	r := s.empty()
	r.number = number + 1
	r.last = r.number
	vecs := make([]*vector.Vec, len(s.keys))
	var sel []uint16
	for {
		b, err := op.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			r.cut(0)
			return r, s.ended(ctx, r)
		}
		for i, k := range s.keys {
			if vecs[i], err = k.Eval(s.x.env.Expr, b); err != nil {
				return nil, err
			}
		}
		if s.filter != nil {
			r.limit = s.filter.limit(r.limit, r.number)
		}
		sel = sel[:0]
		for k := range b.Rows() {
			row := b.Row(k)
			start := len(r.keys)
			r.keys = s.appendKey(r.keys, vecs, row)
			if s.tied {
				r.keys = tie(r.keys, r.number, b.Seq+int64(row))
			}
			if r.limit != nil && bytes.Compare(r.keys[start:], r.limit) >= 0 {
				r.keys = r.keys[:start] // a later row with an equal key is not kept either
				continue
			}
			r.ends = append(r.ends, len(r.keys))
			sel = append(sel, uint16(row))
		}
		r.rows.add(b.Cols, sel, len(sel))
		r.cut(cutRows)
		if err := r.reserve(ctx); err != nil {
			return nil, err
		}
	}
}

// appendKey appends the key of a row.
func (s *sorting) appendKey(dst []byte, vecs []*vector.Vec, row int) []byte {
	for i, v := range vecs {
		if s.flip[i] {
			null := byte(0)
			if v.IsNull(row) != s.desc[i] {
				null = 1
			}
			dst = append(dst, null)
		}
		at := len(dst)
		dst = expr.AppendSortKey(dst, s.keys[i].Type(), v, row)
		if s.desc[i] {
			for j := at; j < len(dst); j++ {
				dst[j] = ^dst[j]
			}
		}
	}
	return dst
}

func (r *run) key(i int) []byte {
	start := 0
	if i > 0 {
		start = r.ends[i-1]
	}
	return r.keys[start:r.ends[i]]
}

func (r *run) bytes() int64 {
	return r.rows.bytes() + int64(cap(r.keys)+8*cap(r.ends)+2*16*len(r.ends))
}

// cutRows is the number of rows that a top-N holds at least before it drops
// those that are not needed; boundRows is that of one that tells a scan of it.
const (
	cutRows   = 1024
	boundRows = 16
)

// cut drops the rows that cannot be among those kept, when there are at least
// least of them and twice as many as are kept, or any when least is 0.
func (r *run) cut(least int64) {
	keep, n, f := r.s.keep, int64(r.rows.n), r.s.filter
	if f != nil {
		least = min(least, boundRows)
	}
	switch {
	case keep < 0 || n < keep:
		return
	case f != nil && !r.told: // the sooner the scan knows, the better
	case n == keep || least > 0 && n < max(2*keep, least):
		return
	}
	order := r.order()[:keep]
	worst := bytes.Clone(r.key(int(order[keep-1])))
	if f != nil {
		f.bound(worst, r.rows.cols[r.s.first], int(order[keep-1]), r.last)
	}
	slices.Sort(order) // rows stay in the order in which they came
	var next run
	next.s, next.acct, next.number, next.last, next.spills = r.s, r.acct, r.number, r.last, r.spills
	for _, i := range order {
		next.keys = append(next.keys, r.key(int(i))...)
		next.ends = append(next.ends, len(next.keys))
	}
	cols := make([]*vector.Vec, len(r.rows.cols))
	for i, c := range r.rows.cols {
		cols[i] = take(c, order)
	}
	next.rows.add(cols, nil, len(order))
	next.limit, next.told = worst, true
	*r = next
}

// merge adds the rows of a later range.
func (r *run) merge(o *run) error {
	if r.rows.n == 0 {
		acct := r.acct
		*r = *o
		acct.free()
		return nil
	}
	base := len(r.keys)
	r.last = max(r.last, o.last)
	r.told = false
	r.keys = append(r.keys, o.keys...)
	for _, e := range o.ends {
		r.ends = append(r.ends, base+e)
	}
	r.rows.merge(&o.rows)
	o.acct.free()
	r.cut(cutRows)
	return r.s.op.failed(r.acct.fit(r.bytes()))
}

// order returns the rows in order.
func (r *run) order() []int32 {
	type entry struct {
		prefix uint64
		row    int32
	}
	entries := make([]entry, r.rows.n)
	for i := range entries {
		if i%checkRows == 0 {
			r.s.x.check()
		}
		k := r.key(i)
		e := entry{row: int32(i)}
		if len(k) >= 8 {
			e.prefix = binary.BigEndian.Uint64(k)
		} else {
			var p [8]byte
			copy(p[:], k)
			e.prefix = binary.BigEndian.Uint64(p[:])
		}
		entries[i] = e
	}
	steps := 0
	slices.SortFunc(entries, func(a, b entry) int {
		if steps++; steps%checkRows == 0 {
			r.s.x.check()
		}
		if a.prefix != b.prefix {
			if a.prefix < b.prefix {
				return -1
			}
			return 1
		}
		if c := bytes.Compare(r.key(int(a.row)), r.key(int(b.row))); c != 0 {
			return c
		}
		return int(a.row) - int(b.row)
	})
	out := make([]int32, len(entries))
	for i, e := range entries {
		out[i] = e.row
	}
	return out
}

// sorted gives stored rows in an order.
type sorted struct {
	x     *query
	rows  *rowStore
	order []int32
}

// Next implements operator.
func (s *sorted) Next(ctx context.Context) (*vector.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n := min(len(s.order), s.x.batchRows())
	if n == 0 {
		return nil, nil
	}
	out := &vector.Batch{Len: n, Seq: -1}
	for _, c := range s.rows.cols {
		out.Cols = append(out.Cols, take(c, s.order[:n]))
	}
	s.order = s.order[n:]
	return out, nil
}

// Close implements operator.
func (s *sorted) Close() error { s.order = nil; return nil }
