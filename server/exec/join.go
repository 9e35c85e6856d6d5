package exec

import (
	"context"
	"sync/atomic"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// join compiles a join: the right side is read into memory (with a hash table
// over its keys, if there are any), then the left side's pipeline goes past it.
func (c compiler) join(n *plan.Join) (pipe, layout, error) {
	filters := c.joinFilters(n)
	left, ll, err := c.with(filters).node(n.Left)
	if err != nil {
		return pipe{}, nil, err
	}
	ahead := c.leftFilters(n)
	right, rl, err := c.with(ahead).node(n.Right)
	if err != nil {
		return pipe{}, nil, err
	}
	j := &joining{x: c.x, kind: n.Kind, nullAware: n.NullAware, leftCols: len(ll), rightCols: len(rl)}
	both := append(append(layout{}, ll...), rl...)
	for _, k := range n.Keys {
		l, err := c.bind(k.L, ll)
		if err != nil {
			return pipe{}, nil, err
		}
		r, err := c.bind(k.R, rl)
		if err != nil {
			return pipe{}, nil, err
		}
		j.leftKeys, j.rightKeys = append(j.leftKeys, l), append(j.rightKeys, r)
		j.nullSafe = append(j.nullSafe, k.NullSafe)
		j.types = append(j.types, l.Type())
		j.eq = append(j.eq, equalOf(l.Type()))
	}
	if j.conds, err = c.conditions(n.Conds, both); err != nil {
		return pipe{}, nil, err
	}
	if j.marks, err = c.bindAll(n.MarkConds, both); err != nil {
		return pipe{}, nil, err
	}
	for _, id := range rl {
		t := c.x.typeOf(id)
		j.rightTypes = append(j.rightTypes, t)
	}
	for _, id := range ll {
		t := c.x.typeOf(id)
		j.leftTypes = append(j.leftTypes, t)
		if t.Class == expr.Nested && (n.Kind == plan.Right || n.Kind == plan.Full) {
			return pipe{}, nil, errs.Unsupportedf(-1, "nested columns on the optional side of a RIGHT or FULL JOIN")
		}
	}
	j.need(append(append([]expr.Expr{}, j.conds...), j.marks...))
	j.op = c.grower("join")
	for _, k := range append(append([]expr.Expr{}, j.leftKeys...), j.rightKeys...) {
		if k.Traits()&expr.Volatile != 0 {
			j.op.blocked = "its keys change from one evaluation to the next"
		}
	}
	p := pipe{start: func(ctx context.Context) ([]phase, error) {
		left := left
		if len(ahead) > 0 {
			var err error
			var none bool
			if left, none, err = j.leftFirst(ctx, left, ahead); err != nil || none {
				return nil, err
			}
		}
		rp, err := right.start(ctx)
		if err != nil {
			return nil, err
		}
		if err := j.build(ctx, rp); err != nil {
			return nil, err
		}
		for _, f := range filters {
			f.learn(j)
		}
		lp, err := left.start(ctx)
		if err != nil {
			return nil, err
		}
		if j.spill != nil {
			return j.spilledPhases(ctx, lp)
		}
		if j.rows.n == 0 && (j.kind == plan.Inner || j.kind == plan.Semi || j.kind == plan.Right) {
			return nil, nil
		}
		out := stacked(lp, func(op operator) operator { return newProbe(j, op) })
		for i := range out {
			out[i].rows = -1
			if lp[i].rows >= 0 && j.rows.n <= smallRows {
				out[i].rows = lp[i].rows
			}
		}
		if j.kind == plan.Right || j.kind == plan.Full {
			j.matched = make([]atomic.Uint64, (j.rows.n+63)/64)
			out = append(out, phase{ranges: 1, rows: int64(j.rows.n), open: func(context.Context, int) (operator, error) {
				return &unmatched{j: j}, nil
			}})
		}
		if n := len(out); n > 0 {
			last := out[n-1].done
			out[n-1].done = func() {
				j.acct.free()
				if last != nil {
					last()
				}
			}
		}
		return out, nil
	}}
	return p, layout(n.Output()), nil
}

// joining is the join that all workers share: its build side is immutable once
// built, but for the bits of rows that found a match.
type joining struct {
	x         *query
	kind      plan.JoinKind
	nullAware bool

	leftKeys, rightKeys   []expr.Expr
	nullSafe              []bool
	types                 []expr.Type
	eq                    []equalFunc
	conds, marks          []expr.Expr
	leftCols, rightCols   int
	leftTypes, rightTypes []expr.Type
	condCols              []int // columns of both sides that conds and marks read

	op    *grower
	spill *joinSpill // nil: the build side is in memory

	some    bool     // the build side has rows
	rows    rowStore // the build side, or the part of it at hand
	keys    rowStore // the build rows' keys
	hashes  []uint64
	head    []int32 // by hash: first build row, -1 when none
	next    []int32 // next row of the same slot
	hasNull bool    // some key of the build side is NULL
	matched []atomic.Uint64
	acct    account
}

func (j *joining) need(es []expr.Expr) {
	seen := map[int]bool{}
	for _, e := range es {
		for _, c := range expr.ColumnsOf(e) {
			if !seen[c] {
				seen[c] = true
				j.condCols = append(j.condCols, c)
			}
		}
	}
}

// built is what one range of the build side gave.
type built struct {
	rows, keys rowStore
	acct       account
	order      uint64 // of the range, from 1
}

// build reads the right side and makes the hash table, or spills it.
func (j *joining) build(ctx context.Context, phases []phase) error {
	j.acct = j.op.account()
	sp := &joinSpill{j: j}
	err := each(ctx, j.x, phases, func(ctx context.Context, number int, op operator) (*built, error) {
		b := &built{acct: j.op.account(), order: uint64(number) + 1}
		keys := make([]*vector.Vec, len(j.rightKeys))
		var to *scatter
		for {
			in, err := op.Next(ctx)
			if err != nil {
				return nil, err
			}
			if in == nil {
				return b, to.end(ctx)
			}
			n := in.Rows()
			for i, k := range j.rightKeys {
				if keys[i], err = k.Eval(j.x.env.Expr, in); err != nil {
					return nil, err
				}
			}
			if to == nil {
				b.keys.add(keys, in.Sel, n)
				b.rows.add(in.Cols, in.Sel, n)
				full := sp.spilling()
				if !full {
					if full, err = j.op.hold(&b.acct, b.rows.bytes()+b.keys.bytes()); err != nil {
						return nil, err
					}
				}
				if !full {
					continue
				}
				if to, err = sp.start(ctx, b); err != nil {
					return nil, err
				}
				continue
			}
			if err := sp.add(ctx, to, in.Cols, keys, in.Sel, n); err != nil {
				return nil, err
			}
		}
	}, func(b *built) error { return sp.deliver(ctx, b) })
	if err != nil {
		return err
	}
	if err = sp.concat(); err == nil {
		err = j.hash()
	}
	if err != nil {
		if !j.op.spills() || !errs.Is(err, errs.MemoryLimit) {
			return err
		}
		if err := sp.deliverAll(ctx); err != nil { // the rows fit, the table over them does not
			return err
		}
	}
	if sp.spilling() {
		if sp.build, err = sp.file.Finish(); err != nil {
			return err
		}
		j.op.spilled.Add(sp.build.Size())
		j.some, j.hasNull = sp.some.Load(), sp.null.Load()
		j.spill = sp
	}
	return nil
}

// hash makes the hash table of the build rows at hand.
func (j *joining) hash() error {
	n := j.rows.n
	j.some = j.some || n > 0
	if n > 0 && len(j.rows.cols) == 0 && j.rightCols > 0 {
		return errs.Internalf("run query: a build side lost its columns")
	}
	if len(j.rightKeys) == 0 || n == 0 {
		return nil
	}
	slots := 16
	for slots < 2*n {
		slots *= 2
	}
	if err := j.acct.hold(j.rows.bytes() + j.keys.bytes() + int64(n)*12 + int64(slots)*4); err != nil {
		return j.op.failed(err)
	}
	workers := j.x.buildWorkers(n)
	var err error
	if j.hashes, err = j.x.hashAll(j.types, j.keys.cols, n, workers); err != nil {
		return err
	}
	j.head, j.next = make([]int32, slots), make([]int32, n)
	var null atomic.Bool
	err = together(workers, func(w int) error {
		if j.chain(slots*w/workers, slots*(w+1)/workers) {
			null.Store(true)
		}
		return nil
	})
	j.hasNull = j.hasNull || null.Load()
	return err
}

// chain links the build rows of the slots from to before to, and reports whether it
// met a NULL key.
func (j *joining) chain(from, to int) (null bool) {
	head := j.head[from:to]
	for i := range head {
		head[i] = -1
	}
	mask := uint64(len(j.head) - 1)
	// Backwards, so that a chain lists rows in the order in which they came.
	for i := j.rows.n - 1; i >= 0; i-- {
		if i%checkRows == 0 {
			j.x.check()
		}
		at := int(j.hashes[i]&mask) - from
		if uint(at) >= uint(len(head)) {
			continue
		}
		if j.nullKey(j.keys.cols, i) {
			null = true
			continue
		}
		j.next[i] = head[at]
		head[at] = int32(i)
	}
	return null
}

// nullKey reports whether a row cannot match because a key is NULL.
func (j *joining) nullKey(keys []*vector.Vec, row int) bool {
	for i, v := range keys {
		if !j.nullSafe[i] && v.IsNull(row) {
			return true
		}
	}
	return false
}

// mark sets the bit of a build row.
func (j *joining) mark(row int32) {
	w, bit := &j.matched[row>>6], uint64(1)<<(row&63)
	if w.Load()&bit == 0 {
		w.Or(bit)
	}
}

// unmatched gives the build rows without a match, with NULLs for the left side.
type unmatched struct {
	j   *joining
	at  int
	idx []int32
}

// Next implements operator.
func (u *unmatched) Next(ctx context.Context) (*vector.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	j := u.j
	u.idx = u.idx[:0]
	for ; u.at < j.rows.n && len(u.idx) < j.x.batchRows(); u.at++ {
		if j.matched[u.at>>6].Load()&(1<<(u.at&63)) == 0 {
			u.idx = append(u.idx, int32(u.at))
		}
	}
	n := len(u.idx)
	if n == 0 {
		return nil, nil
	}
	out := &vector.Batch{Len: n, Seq: -1}
	for _, t := range j.leftTypes {
		out.Cols = append(out.Cols, vector.NewNull(t.Physical(), n))
	}
	for _, c := range j.rows.cols {
		out.Cols = append(out.Cols, take(c, u.idx))
	}
	return out, nil
}

// Close implements operator.
func (u *unmatched) Close() error { u.at = u.j.rows.n; return nil }
