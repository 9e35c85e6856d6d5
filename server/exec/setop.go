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
		return c.grouped(all, keys, nil, nil), out, nil
	}
	return pipe{start: func(ctx context.Context) ([]phase, error) { return c.counted(ctx, n, ins, types) }}, out, nil
}

// counted computes INTERSECT and EXCEPT by counting each distinct row on both
// sides.
func (c compiler) counted(ctx context.Context, n *plan.SetOp, ins []pipe, types []expr.Type) ([]phase, error) {
	x := c.x
	table := newGroupTable(types)
	acct := x.account()
	var counts [2][]int64
	for side, in := range ins {
		phases, err := in.start(ctx)
		if err != nil {
			return nil, err
		}
		op := gather(ctx, x, phases)
		var ids []uint32
		err = func() error {
			defer op.Close()
			for {
				b, err := op.Next(ctx)
				if err != nil || b == nil {
					return err
				}
				rows := b.Rows()
				if cap(ids) < rows {
					ids = make([]uint32, rows)
				}
				if err := table.find(b.Cols, b.Sel, rows, ids[:rows]); err != nil {
					return err
				}
				for s := range counts {
					for len(counts[s]) < table.size() {
						counts[s] = append(counts[s], 0)
					}
				}
				for _, g := range ids[:rows] {
					counts[side][g]++
				}
				if err := acct.hold(table.bytes() + 16*int64(cap(counts[0]))); err != nil {
					return err
				}
			}
		}()
		if err != nil {
			return nil, err
		}
	}
	var order []int32
	for g := range counts[0] {
		l, r := counts[0][g], counts[1][g]
		times := l
		if n.Kind == plan.Intersect {
			times = min(l, r)
		} else if n.All {
			times = max(l-r, 0)
		} else if r > 0 {
			times = 0
		}
		if !n.All {
			times = min(times, 1)
		}
		for range times {
			order = append(order, int32(g))
		}
		if err := acct.hold(table.bytes() + 16*int64(cap(counts[0])) + 4*int64(cap(order))); err != nil {
			return nil, err
		}
	}
	if len(table.keys.cols) == 0 {
		for _, t := range types {
			table.keys.cols = append(table.keys.cols, vector.New(t.Physical(), 0))
		}
	}
	return []phase{{ranges: 1, rows: int64(len(order)), open: func(context.Context, int) (operator, error) {
		return &sorted{x: x, rows: &table.keys, order: order}, nil
	}}}, nil
}
