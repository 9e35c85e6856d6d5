package exec

import (
	"context"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// setOp compiles UNION, INTERSECT and EXCEPT. The inputs' columns have the same
// types.
func (c compiler) setOp(n *plan.SetOp) (pipe, layout, error) {
	ins := make([]pipe, len(n.In))
	for i, in := range n.In {
		p, _, err := c.node(in)
		if err != nil {
			return pipe{}, nil, err
		}
		ins[i] = p
	}
	types := make([]expr.Type, len(n.Cols))
	for i, id := range n.Cols {
		types[i] = c.x.typeOf(id)
	}
	out := layout(n.Cols)
	if n.Kind == plan.Union {
		all := pipe{start: func(ctx context.Context) ([]phase, error) {
			var phases []phase
			for _, p := range ins {
				more, err := p.start(ctx)
				if err != nil {
					return nil, err
				}
				phases = append(phases, more...)
			}
			return phases, nil
		}}
		if n.All {
			return all, out, nil
		}
		keys := make([]expr.Expr, len(types))
		for i, t := range types {
			keys[i] = expr.Column(i, t, "")
		}
		return c.grouped(all, keys, nil, nil, nil), out, nil
	}
	return c.counted(n, ins, types), out, nil
}

// counted is INTERSECT or EXCEPT: the distinct rows of both sides are grouped with
// the numbers of times that they are on each side.
func (c compiler) counted(n *plan.SetOp, ins []pipe, types []expr.Type) pipe {
	sides := pipe{start: func(ctx context.Context) ([]phase, error) {
		var out []phase
		for side, in := range ins {
			phases, err := in.start(ctx)
			if err != nil {
				return nil, err
			}
			out = append(out, stacked(phases, func(op operator) operator { return &sided{in: op, side: int64(side)} })...)
		}
		return out, nil
	}}
	keys := make([]expr.Expr, len(types))
	for i, t := range types {
		keys[i] = expr.Column(i, t, "")
	}
	side := expr.Column(len(types), expr.TBigInt, "")
	grouped := c.grouped(sides, keys, []expr.Aggregate{&timesOf{n: n, side: side}}, [][]expr.Expr{{side}}, nil)
	x := c.x
	return grouped.stage(func(op operator) operator { return &repeated{x: x, in: op} })
}

// sided adds the number of its side to rows.
type sided struct {
	in   operator
	side int64
	out  vector.Batch
}

// Next implements operator.
func (s *sided) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := s.in.Next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	v := vector.New(vector.I64, 1)
	v.AppendI64(s.side)
	s.out = *b
	s.out.Cols = append(append(make([]*vector.Vec, 0, len(b.Cols)+1), b.Cols...), v.AsConst(b.Len))
	return &s.out, nil
}

// Close implements operator.
func (s *sided) Close() error { return s.in.Close() }

// timesOf is the aggregate that says how often a row is in the result.
type timesOf struct {
	n    *plan.SetOp
	side expr.Expr
}

// Type implements expr.Aggregate.
func (t *timesOf) Type() expr.Type { return expr.TBigInt }

// Args implements expr.Aggregate.
func (t *timesOf) Args() []expr.Expr { return []expr.Expr{t.side} }

// NewState implements expr.Aggregate.
func (t *timesOf) NewState(*expr.Context) expr.State { return &timesState{n: t.n} }

// Key implements expr.Aggregate.
func (t *timesOf) Key() string { return t.String() }

// String implements expr.Aggregate.
func (t *timesOf) String() string { return t.n.Kind.String() + " rows" }

// timesState counts the rows of both sides.
type timesState struct {
	n      *plan.SetOp
	counts [2][]int64
}

// Grow implements expr.State.
func (s *timesState) Grow(n int) {
	for side := range s.counts {
		for len(s.counts[side]) < n {
			s.counts[side] = append(s.counts[side], 0)
		}
	}
}

// Update implements expr.State.
func (s *timesState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	if n == 0 {
		return nil
	}
	v := args[0]
	for k := range n {
		row := k
		if sel != nil {
			row = int(sel[k])
		}
		s.counts[v.I64s[v.At(row)]][groups[k]]++
	}
	return nil
}

// Merge implements expr.State.
func (s *timesState) Merge(other expr.State, to []uint32) error {
	for side, counts := range other.(*timesState).counts {
		for g, c := range counts {
			if to != nil {
				g = int(to[g])
			}
			s.counts[side][g] += c
		}
	}
	return nil
}

// Result implements expr.State.
func (s *timesState) Result(from, to int) (*vector.Vec, error) {
	out := vector.New(vector.I64, to-from)
	for g := from; g < to; g++ {
		l, r := s.counts[0][g], s.counts[1][g]
		times := l
		switch {
		case s.n.Kind == plan.Intersect:
			times = min(l, r)
		case s.n.All:
			times = max(l-r, 0)
		case r > 0:
			times = 0
		}
		if !s.n.All {
			times = min(times, 1)
		}
		out.AppendI64(times)
	}
	return out, nil
}

// Bytes implements expr.State.
func (s *timesState) Bytes() int64 { return int64(cap(s.counts[0])+cap(s.counts[1])) * 8 }

// Unload implements expr.State.
func (s *timesState) Unload() ([]uint32, []*vector.Vec) {
	var out []*vector.Vec
	for _, c := range s.counts {
		out = append(out, &vector.Vec{Kind: vector.I64, Len: len(c), I64s: c})
	}
	return nil, out
}

// Load implements expr.State.
func (s *timesState) Load(groups []uint32, cols []*vector.Vec) error {
	for side := range s.counts {
		for k, g := range groups {
			s.counts[side][g] += cols[side].I64s[k]
		}
	}
	return nil
}

// repeated gives each row as often as its last column says, without it.
type repeated struct {
	x  *query
	in operator
	b  *vector.Batch
	k  int   // row of b
	n  int64 // times that it was given
}

// Next implements operator.
func (r *repeated) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.b == nil {
			b, err := r.in.Next(ctx)
			if b == nil || err != nil {
				return nil, err
			}
			r.b, r.k, r.n = b, 0, 0
		}
		last := len(r.b.Cols) - 1
		times := r.b.Cols[last]
		var sel []uint16
		for r.k < r.b.Rows() && len(sel) < r.x.batchRows() {
			row := r.b.Row(r.k)
			if r.n >= times.I64s[times.At(row)] {
				r.k, r.n = r.k+1, 0
				continue
			}
			sel = append(sel, uint16(row))
			r.n++
		}
		b := r.b
		if r.k == b.Rows() {
			r.b = nil
		}
		if len(sel) == 0 {
			continue
		}
		out := &vector.Batch{Len: len(sel), Seq: -1}
		for _, c := range b.Cols[:last] {
			out.Cols = append(out.Cols, c.Gather(sel))
		}
		return out, nil
	}
}

// Close implements operator.
func (r *repeated) Close() error { return r.in.Close() }
