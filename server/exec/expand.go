package exec

import (
	"context"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// expand compiles grouping sets: every batch is given once for each set.
func (c compiler) expand(n *plan.Expand) (pipe, layout, error) {
	in, l, err := c.node(n.In)
	if err != nil {
		return pipe{}, nil, err
	}
	keys := make([]expr.Expr, len(n.Keys))
	for i, k := range n.Keys {
		if keys[i], err = c.bind(k.Expr, l); err != nil {
			return pipe{}, nil, err
		}
	}
	out := append(append(layout(nil), l...), n.Output()[len(n.In.Output()):]...)
	return in.stage(func(op operator) operator { return &expander{x: c.x, in: op, keys: keys, sets: n.Sets} }), out, nil
}

// expander gives the batches of its input once for each set. Nothing is copied:
// a key that a set lacks is a constant.
type expander struct {
	x    *query
	in   operator
	keys []expr.Expr
	sets [][]bool
	b    *vector.Batch // of the input, nil when the next one is due
	vals []*vector.Vec
	at   int // set to give next
	out  vector.Batch
}

// Next implements operator.
func (e *expander) Next(ctx context.Context) (*vector.Batch, error) {
	if e.b == nil || e.at >= len(e.sets) {
		b, err := e.in.Next(ctx)
		if err != nil || b == nil {
			return nil, err
		}
		e.b, e.at, e.vals = b, 0, e.vals[:0]
		for _, k := range e.keys {
			v, err := k.Eval(e.x.env.Expr, b)
			if err != nil {
				return nil, err
			}
			e.vals = append(e.vals, v)
		}
	}
	b := e.b
	e.out = vector.Batch{Len: b.Len, Sel: b.Sel, Seq: -1, Cols: append(e.out.Cols[:0], b.Cols...)}
	for i, v := range e.vals {
		if !e.sets[e.at][i] {
			v = vector.NewNull(e.keys[i].Type().Physical(), b.Len)
		}
		e.out.Cols = append(e.out.Cols, v)
	}
	n := vector.New(vector.I64, 1)
	n.AppendI64(int64(e.at))
	e.out.Cols = append(e.out.Cols, n.AsConst(b.Len))
	e.at++
	return &e.out, nil
}

// Close implements operator.
func (e *expander) Close() error { return e.in.Close() }

// orElse compiles rows that stand for no rows.
func (c compiler) orElse(n *plan.OrElse) (pipe, layout, error) {
	in, l, err := c.node(n.In)
	if err != nil {
		return pipe{}, nil, err
	}
	types := make([]expr.Type, len(l))
	for i, id := range l {
		types[i] = c.x.typeOf(id)
	}
	at := make([]int, len(l))
	for i, id := range l {
		at[i] = layout(n.Output()).at(id)
	}
	rows := make([][]expr.Expr, len(n.Rows))
	for i, r := range n.Rows {
		for _, p := range at {
			rows[i] = append(rows[i], r[p])
		}
	}
	return pipe{start: func(ctx context.Context) ([]phase, error) {
		phases, err := in.start(ctx)
		if err != nil {
			return nil, err
		}
		return []phase{{ranges: 1, rows: -1, open: func(ctx context.Context, _ int) (operator, error) {
			return &instead{in: gather(ctx, c.x, phases), other: &values{x: c.x, types: types, rows: rows}}, nil
		}}}, nil
	}}, l, nil
}

// instead gives the rows of in, or those of other when there are none.
type instead struct {
	in, other operator
	some      bool
}

// Next implements operator.
func (o *instead) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := o.in.Next(ctx)
	if err != nil {
		return nil, err
	}
	if b == nil && !o.some {
		return o.other.Next(ctx)
	}
	o.some = o.some || b != nil && b.Rows() > 0
	return b, nil
}

// Close implements operator.
func (o *instead) Close() error { return o.in.Close() }
