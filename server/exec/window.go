package exec

import (
	"context"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// window compiles window functions: the rows are sorted by partition and order,
// then each function runs over the partitions.
func (c compiler) window(n *plan.Window) (pipe, layout, error) {
	p, l, err := c.node(n.In)
	if err != nil {
		return pipe{}, nil, err
	}
	s := &sorting{x: c.x, keep: -1, op: c.grower("window")}
	w := &windowing{x: c.x, op: s.op, columns: len(l)}
	add := func(e expr.Expr) (int, error) {
		b, err := c.bind(e, l)
		if err != nil {
			return 0, err
		}
		w.exprs = append(w.exprs, b)
		return len(w.exprs) - 1, nil
	}
	key := func(e expr.Expr, desc bool, nulls plan.NullsOrder) error {
		i, err := add(e)
		if err != nil {
			return err
		}
		s.keys = append(s.keys, w.exprs[i])
		s.desc = append(s.desc, desc)
		s.flip = append(s.flip, nulls == plan.NullsFirst && desc || nulls == plan.NullsLast && !desc)
		w.eq = append(w.eq, equalOf(w.exprs[i].Type()))
		return nil
	}
	for _, e := range n.Partition {
		if err := key(e, false, plan.NullsDefault); err != nil {
			return pipe{}, nil, err
		}
	}
	w.partition = len(n.Partition)
	for _, k := range n.Order {
		if err := key(k.Expr, k.Desc, k.Nulls); err != nil {
			return pipe{}, nil, err
		}
	}
	for _, call := range n.Calls {
		f := &windowFunc{call: call, typ: c.x.typeOf(call.ID), desc: len(n.Order) == 1 && n.Order[0].Desc}
		for _, e := range call.Args {
			i, err := add(e)
			if err != nil {
				return pipe{}, nil, err
			}
			f.args = append(f.args, i)
		}
		for i, b := range []plan.Bound{call.Frame.Start, call.Frame.End} {
			if b.Key == nil {
				continue
			}
			if f.key[i], err = add(b.Key); err != nil {
				return pipe{}, nil, err
			}
			if f.limit[i], err = add(b.Limit); err != nil {
				return pipe{}, nil, err
			}
			f.cmp[i] = expr.Comparer(b.Key.Type())
		}
		w.funcs = append(w.funcs, f)
	}
	return pipe{start: func(ctx context.Context) ([]phase, error) {
		phases, err := p.start(ctx)
		if err != nil {
			return nil, err
		}
		all, merged, err := s.sort(ctx, phases)
		if err != nil {
			return nil, err
		}
		if merged != nil {
			return w.spilled(merged), nil
		}
		order := all.order()
		acct := w.op.account()
		results, err := w.compute(ctx, &all.rows, order, &acct)
		if err != nil && w.op.spills() && errs.Is(err, errs.MemoryLimit) {
			// The rows fit, what is computed from them does not.
			acct.free()
			if merged, err = s.onDisk(ctx); err != nil {
				return nil, err
			}
			return w.spilled(merged), nil
		}
		all.keys, all.ends = nil, nil
		if err != nil {
			return nil, err
		}
		return []phase{{ranges: 1, rows: int64(len(order)), open: func(context.Context, int) (operator, error) {
			return &windowed{sorted: sorted{x: c.x, rows: &all.rows, order: order}, results: results}, nil
		}, done: func() { all.acct.free(); acct.free() }}}, nil
	}}, layout(n.Output()), nil
}

// windowing is a window with its functions.
type windowing struct {
	x         *query
	op        *grower
	columns   int
	exprs     []expr.Expr // keys, then what the functions need
	eq        []equalFunc // of the keys
	partition int         // keys that make partitions
	funcs     []*windowFunc
	carry     *windowCarry // nil: what is computed are whole partitions
}

// windowFunc is one function; args, key and limit are positions in exprs.
type windowFunc struct {
	call       plan.WindowCall
	typ        expr.Type
	args       []int
	key, limit [2]int
	cmp        [2]func(a *vector.Vec, i int, b *vector.Vec, j int) int
	desc       bool
	// of feed
	vecs   []*vector.Vec
	sel    []uint16
	groups []uint32
}

// windowChunk is the number of rows that are evaluated at once. It is a power of
// two and fits a selection.
const windowChunk = 4096

// windowRows are the sorted rows' values of the window's expressions: whole
// columns, and for what aggregates read also in chunks. They are whole partitions, or
// one page of a large one, whose rows have the positions from base on.
type windowRows struct {
	n      int
	base   int
	pages  *windowPages // nil: these are all rows
	vals   []*vector.Vec
	chunks [][]*vector.Vec // [expression][chunk]
	first  []int           // of a row's partition
	last   []int           // one past the partition's last row
	peer   []int           // first row with the same keys
	peers  []int           // one past the last of them
	group  []int32         // for GROUPS frames: the number of a row's peers among all
	starts []int32         // the first row of each such group, then n
}

// compute runs all functions and returns a column for each. acct pays for them.
func (w *windowing) compute(ctx context.Context, rows *rowStore, order []int32, acct *account) ([]*vector.Vec, error) {
	r := &windowRows{n: len(order), chunks: make([][]*vector.Vec, len(w.exprs))}
	var store rowStore
	for at := 0; at < len(order); at += windowChunk {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		idx := order[at:min(at+windowChunk, len(order))]
		b := &vector.Batch{Len: len(idx), Seq: -1}
		for _, c := range rows.cols {
			b.Cols = append(b.Cols, take(c, idx))
		}
		vecs := make([]*vector.Vec, len(w.exprs))
		for i, e := range w.exprs {
			v, err := e.Eval(w.x.env.Expr, b)
			if err != nil {
				return nil, err
			}
			vecs[i] = v
			r.chunks[i] = append(r.chunks[i], v)
		}
		store.add(vecs, nil, b.Len)
		// The chunks are another copy of the values, or less.
		if err := acct.hold(2*store.bytes() + rows.bytes() + int64(len(order))*40); err != nil {
			return nil, w.op.failed(err)
		}
	}
	r.vals = store.cols
	w.cut(r)
	goesOn := w.carry.begin(w, r)
	out := make([]*vector.Vec, len(w.funcs))
	for i, f := range w.funcs {
		v, err := w.run(ctx, f, r)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	w.carry.end(w, r, goesOn)
	return out, nil
}

// cut finds the partitions and the peers.
func (w *windowing) cut(r *windowRows) {
	r.first, r.last = make([]int, r.n), make([]int, r.n)
	r.peer, r.peers = make([]int, r.n), make([]int, r.n)
	same := func(i, from, to int) bool {
		for k := from; k < to; k++ {
			if !w.eq[k](r.vals[k], i-1, r.vals[k], i) {
				return false
			}
		}
		return true
	}
	part, peer := 0, 0
	for i := range r.n {
		if i%checkRows == 0 {
			w.x.check()
		}
		if i > 0 && !same(i, 0, w.partition) {
			part, peer = i, i
		} else if i > 0 && !same(i, w.partition, len(w.eq)) {
			peer = i
		}
		r.first[i], r.peer[i] = part, peer
	}
	for i := r.n - 1; i >= 0; i-- {
		if i == r.n-1 || r.first[i+1] != r.first[i] {
			r.last[i] = i + 1
		} else {
			r.last[i] = r.last[i+1]
		}
		if i == r.n-1 || r.peer[i+1] != r.peer[i] {
			r.peers[i] = i + 1
		} else {
			r.peers[i] = r.peers[i+1]
		}
	}
}

// run computes one function.
func (w *windowing) run(ctx context.Context, f *windowFunc, r *windowRows) (*vector.Vec, error) {
	if r.pages != nil && f.call.Agg != nil {
		return r.pages.aggregate(ctx, f, r)
	}
	if f.call.Agg != nil {
		return w.aggregate(ctx, f, r)
	}
	switch f.call.Name {
	case "PERCENT_RANK", "CUME_DIST":
		out := vector.New(vector.F64, r.n)
		for i := range r.n {
			if i%checkRows == 0 {
				w.x.check()
			}
			rows := r.last[i] - r.first[i]
			switch {
			case f.call.Name == "CUME_DIST":
				out.AppendF64(float64(r.peers[i]-r.first[i]) / float64(rows))
			case rows == 1:
				out.AppendF64(0)
			default:
				out.AppendF64(float64(r.peer[i]-r.first[i]) / float64(rows-1))
			}
		}
		return out, nil
	case "ROW_NUMBER", "RANK", "DENSE_RANK", "NTILE":
		out := vector.New(vector.I64, r.n)
		before, dense := w.carry.before() // in the partition that goes on
		if r.pages != nil {
			before, dense = 0, r.pages.groupsBefore(r)
		}
		for i := range r.n {
			if i%checkRows == 0 {
				w.x.check()
			}
			row := r.base + i
			if row == r.first[i] && (i > 0 || before == 0) {
				before, dense = 0, 0
			}
			if row == r.peer[i] {
				dense++
			}
			at := int64(row - r.first[i])
			switch f.call.Name {
			case "ROW_NUMBER":
				out.AppendI64(before + at + 1)
			case "RANK":
				out.AppendI64(before + int64(r.peer[i]-r.first[i]) + 1)
			case "DENSE_RANK":
				out.AppendI64(dense)
			default:
				out.AppendI64(tile(at, int64(r.last[i]-r.first[i]), f.call.N))
			}
		}
		return out, nil
	}
	return w.value(f, r)
}

// tile is the bucket of row at of rows rows in n buckets, the first ones being
// one larger where they do not divide evenly.
func tile(at, rows, n int64) int64 {
	small, large := rows/n, rows%n
	if edge := large * (small + 1); at >= edge {
		return large + (at-edge)/max(small, 1) + 1
	}
	return at/(small+1) + 1
}

// value computes the functions that give the value of another row.
func (w *windowing) value(f *windowFunc, r *windowRows) (*vector.Vec, error) {
	if r.n == 0 {
		return vector.New(f.typ.Physical(), 0), nil
	}
	c := &candidates{}
	switch {
	case f.call.IgnoreNulls && r.pages != nil:
		c.pages, c.f = r.pages, f
	case f.call.IgnoreNulls:
		c.skipNulls(r.vals[f.args[0]], r.n)
	}
	off := r.bound(f.call.N)
	idx := make([]int32, r.n)
	var out *vector.Vec
	if r.pages != nil {
		out = vector.NewLike(r.vals[f.args[0]], r.n)
	}
	for i := range r.n {
		if i%checkRows == 0 {
			w.x.check()
		}
		at, row := -1, r.base+i
		switch first, last := r.first[i], r.last[i]; {
		case (f.call.Name == "LAG" || f.call.Name == "LEAD") && off == 0:
			at = row
		case f.call.Name == "LAG":
			if n := c.count(first, row); n >= off {
				at = c.at(first, n-off)
			}
		case f.call.Name == "LEAD":
			if off <= c.count(row+1, last) {
				at = c.at(row+1, off-1)
			}
		default:
			at = w.nth(f, r, c, i)
		}
		if out != nil {
			r.pages.value(out, f.args[0], at)
			at = min(at, 0) // whether there is one
		}
		idx[i] = int32(at)
	}
	if out == nil {
		out = take(r.vals[f.args[0]], idx)
	}
	if len(f.args) < 2 {
		return out, nil
	}
	// LAG and LEAD with a default for rows outside of the partition.
	def := r.vals[f.args[1]]
	merged := vector.NewLike(out, r.n)
	for i, at := range idx {
		if at < 0 {
			merged.AppendFrom(def, i)
		} else {
			merged.AppendFrom(out, i)
		}
	}
	return merged, nil
}

// nth returns the row that FIRST_VALUE, LAST_VALUE or NTH_VALUE gives row i, -1
// for none.
func (w *windowing) nth(f *windowFunc, r *windowRows, c *candidates, i int) int {
	parts, n := w.parts(f, r, i)
	total := 0
	for _, p := range parts[:n] {
		total += c.count(p[0], p[1])
	}
	k := int64(0)
	switch f.call.Name {
	case "LAST_VALUE":
		k = int64(total) - 1
	case "NTH_VALUE":
		if k = f.call.N - 1; f.call.FromLast {
			k = int64(total) - f.call.N
		}
	}
	if k < 0 || k >= int64(total) {
		return -1
	}
	left := int(k)
	for _, p := range parts[:n] {
		m := c.count(p[0], p[1])
		if left < m {
			return c.at(p[0], left)
		}
		left -= m
	}
	return -1
}

// candidates are the rows that value functions count: all, or those whose value
// is not NULL.
type candidates struct {
	before []int32 // number of candidates before a row, nil when all rows count
	rows   []int32 // the candidates
	// pages, when set, knows those of f.
	pages *windowPages
	f     *windowFunc
}

func (c *candidates) skipNulls(v *vector.Vec, n int) {
	c.before = make([]int32, n+1)
	for i := range n {
		c.before[i] = int32(len(c.rows))
		if !v.IsNull(i) {
			c.rows = append(c.rows, int32(i))
		}
	}
	c.before[n] = int32(len(c.rows))
}

// count is the number of candidates among the rows [from, to).
func (c *candidates) count(from, to int) int {
	if c.pages != nil && from < to {
		return c.pages.candidates(c.f, to) - c.pages.candidates(c.f, from)
	}
	if c.before == nil || from >= to {
		return max(to-from, 0)
	}
	return int(c.before[to] - c.before[from])
}

// at is candidate k, counted from 0, of those from a row on.
func (c *candidates) at(from, k int) int {
	if c.pages != nil {
		return c.pages.candidate(c.f, c.pages.candidates(c.f, from)+k)
	}
	if c.before == nil {
		return from + k
	}
	return int(c.rows[int(c.before[from])+k])
}

// windowed gives the sorted rows with the functions' results.
type windowed struct {
	sorted
	results []*vector.Vec
	at      int
	idx     []int32
}

// Next implements operator.
func (w *windowed) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := w.sorted.Next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	w.idx = sequence(w.idx, w.at, w.at+b.Len)
	for _, v := range w.results {
		b.Cols = append(b.Cols, take(v, w.idx))
	}
	w.at += b.Len
	return b, nil
}
