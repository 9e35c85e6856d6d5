package exec

import (
	"context"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/server/plan"
)

// spilled computes the window over rows that are merged from disk: as many whole
// partitions at a time as make a good chunk. Where all functions look only at rows
// before them, a chunk may also end within a partition; for others a large partition
// is written in pages (window_large.go).
func (w *windowing) spilled(in *runMerge) []phase {
	in.small = true
	if w.passing() {
		w.carry = &windowCarry{states: map[*windowFunc]*grown{}}
	}
	return []phase{{ranges: 1, rows: -1, open: func(context.Context, int) (operator, error) {
		return &windowStream{w: w, in: in, acct: w.op.account()}, nil
	}, done: func() { _ = in.Close() }}}
}

// windowStream reads sorted rows and gives them with the functions' results.
type windowStream struct {
	w    *windowing
	in   *runMerge
	acct account

	rest rowStore  // rows read and not computed, of one partition
	last []valueAt // the key of the last row read, nil: there was none
	out  *windowed // what is being given
	end  bool

	next  *vector.Batch // read, and not looked at
	large *windowPages  // a partition in pages that is being given, nil for none
	given int           // pages of it
}

// valueAt is a value in a column.
type valueAt struct {
	v  *vector.Vec
	at int
}

// Next implements operator.
func (s *windowStream) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if s.out != nil {
			b, err := s.out.Next(ctx)
			if b != nil || err != nil {
				return b, err
			}
			s.out = nil
			if err := s.acct.fit(s.rest.bytes()); err != nil {
				return nil, s.w.op.failed(err)
			}
		}
		if s.large != nil {
			if err := s.giveLarge(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if s.end {
			return nil, nil
		}
		if err := s.read(ctx); err != nil {
			return nil, err
		}
	}
}

// read reads on until there is a chunk of whole partitions, and computes it.
func (s *windowStream) read(ctx context.Context) error {
	var rows rowStore
	want := s.w.op.target() / 8
	if s.w.op.forced() {
		want = 0
	}
	for {
		if s.isLarge() {
			if rows.n > 0 {
				break
			}
			return s.readLarge(ctx)
		}
		b, err := s.next, error(nil)
		if s.next = nil; b == nil {
			if b, err = s.in.Next(ctx); err != nil {
				return err
			}
		}
		if b == nil {
			s.end = true
			rows.merge(&s.rest)
			s.rest = rowStore{}
			break
		}
		from, goesOn, err := s.boundary(b)
		if err != nil {
			return err
		}
		// The rows before from belong to partitions that are complete with them.
		if from > 0 || !goesOn {
			rows.merge(&s.rest)
			s.rest = rowStore{}
			rows.add(b.Cols, span(0, from), from)
		}
		s.rest.add(b.Cols, span(from, b.Len), b.Len-from)
		if err := s.acct.hold(rows.bytes() + s.rest.bytes()); err != nil {
			return s.w.op.failed(err)
		}
		if rows.n > 0 && rows.bytes() >= want {
			break
		}
	}
	if rows.n == 0 {
		return nil
	}
	return s.give(ctx, &rows)
}

// give computes rows and makes them what is given next.
func (s *windowStream) give(ctx context.Context, rows *rowStore) error {
	// The results are paid for while they are given.
	order := sequence(nil, 0, rows.n)
	held := account{pays: s.w.op.budget}
	results, err := s.w.compute(ctx, rows, order, &held)
	s.acct.held += held.held
	if err != nil {
		return err
	}
	s.out = &windowed{sorted: sorted{x: s.w.x, rows: rows, order: order}, results: results}
	return nil
}

// boundary returns where the last partition of b begins, and whether b begins with
// rows of the partition that was being read. When a chunk may end within one, it is
// the last row's peers instead of its partition.
func (s *windowStream) boundary(b *vector.Batch) (from int, goesOn bool, err error) {
	vecs := make([]*vector.Vec, s.w.partition)
	if s.w.carry != nil {
		vecs = make([]*vector.Vec, len(s.w.eq))
	}
	for k := range vecs {
		if vecs[k], err = s.w.exprs[k].Eval(s.w.x.env.Expr, b); err != nil {
			return 0, false, err
		}
	}
	same := func(p []valueAt, i int) bool {
		for k, v := range vecs {
			if !s.w.eq[k](p[k].v, p[k].at, v, i) {
				return false
			}
		}
		return true
	}
	goesOn = s.last == nil || same(s.last, 0)
	before := make([]valueAt, len(vecs))
	for i := 1; i < b.Len; i++ {
		for k, v := range vecs {
			before[k] = valueAt{v, i - 1}
		}
		if !same(before, i) {
			from = i
		}
	}
	for k, v := range vecs {
		before[k] = valueAt{v, b.Len - 1}
	}
	s.last = before
	return from, goesOn, nil
}

// passing reports whether every function needs of a partition only the rows before
// and the peers of the row at hand.
func (w *windowing) passing() bool {
	for _, f := range w.funcs {
		fr := &f.call.Frame
		switch {
		case f.call.Agg == nil && (f.call.Name == "ROW_NUMBER" || f.call.Name == "RANK" || f.call.Name == "DENSE_RANK"):
		case f.call.Agg != nil && fr.Start.Kind == plan.Unbounded && fr.End.Kind == plan.CurrentRow && fr.Exclude == plan.ExcludeNone:
		default:
			return false
		}
	}
	return true
}

// windowCarry is what a chunk of sorted rows leaves to the next one, when its last
// partition goes on there. A nil carry leaves nothing.
type windowCarry struct {
	keys   []*vector.Vec // of the last row's partition, a row each; nil: there was none
	rows   int64         // of that partition so far
	dense  int64         // and its groups of peers
	states map[*windowFunc]*grown
}

// begin reports whether r begins with the partition that the chunk before ended
// with; otherwise that one is forgotten.
func (c *windowCarry) begin(w *windowing, r *windowRows) bool {
	if c == nil || r.n == 0 {
		return false
	}
	goesOn := c.rows > 0
	for k := 0; k < len(c.keys) && goesOn; k++ {
		goesOn = w.eq[k](c.keys[k], 0, r.vals[k], 0)
	}
	if !goesOn {
		c.rows, c.dense = 0, 0
		clear(c.states)
	}
	return goesOn
}

// before returns the rows, and the groups of peers, of the partition that goes on.
func (c *windowCarry) before() (rows, dense int64) {
	if c == nil {
		return 0, 0
	}
	return c.rows, c.dense
}

// state returns what an aggregate has gathered before the row first, nil for a new one.
func (c *windowCarry) state(f *windowFunc, first int) *grown {
	if c == nil || first > 0 {
		return nil
	}
	return c.states[f]
}

// end remembers the last partition.
func (c *windowCarry) end(w *windowing, r *windowRows, goesOn bool) {
	if c == nil || r.n == 0 {
		return
	}
	first := r.first[r.n-1]
	if first > 0 || !goesOn {
		c.rows, c.dense = 0, 0
	}
	c.rows += int64(r.n - first)
	for i := first; i < r.n; i++ {
		if r.peer[i] == i {
			c.dense++
		}
	}
	c.keys = c.keys[:0]
	for k := range w.partition {
		v := vector.NewLike(r.vals[k], 1)
		v.AppendFrom(r.vals[k], r.n-1)
		c.keys = append(c.keys, v)
	}
}

// span is a selection of the rows from to to.
func span(from, to int) []uint16 {
	sel := make([]uint16, 0, to-from)
	for i := from; i < to; i++ {
		sel = append(sel, uint16(i))
	}
	return sel
}

// Close implements operator.
func (s *windowStream) Close() error {
	s.out, s.rest, s.end = nil, rowStore{}, true
	s.acct.free()
	s.large.free()
	s.large = nil
	return s.in.Close()
}
