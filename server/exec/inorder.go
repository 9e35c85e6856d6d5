package exec

import (
	"context"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// inOrder computes expressions row by row, in the order of the rows and of the
// expressions: they assign user variables and read them.
type inOrder struct {
	x     *query
	in    operator
	items []expr.Expr
	reads []int // columns that the items read
	rows  int   // since the last look at whether the query was cancelled
}

func (c compiler) inOrder(n *plan.InOrder) (pipe, layout, error) {
	in, l, err := c.node(n.In)
	if err != nil {
		return pipe{}, nil, err
	}
	items := make([]expr.Expr, len(n.Items))
	seen := map[int]bool{}
	var reads []int
	for i, it := range n.Items {
		if items[i], err = c.bind(it.Expr, l); err != nil {
			return pipe{}, nil, err
		}
		for _, p := range expr.ColumnsOf(items[i]) {
			if !seen[p] {
				seen[p] = true
				reads = append(reads, p)
			}
		}
	}
	out := layout(n.Output())
	if _, ok := n.In.(*plan.Values); ok {
		// What has no FROM gives variables their first values: before all else.
		o := &inOrder{x: c.x, items: items}
		b, err := o.compute(&vector.Batch{Len: 1, Seq: -1})
		if err != nil {
			return pipe{}, nil, err
		}
		return source(func(context.Context) (operator, error) { return &once{b: b}, nil }), out, nil
	}
	x := c.x
	return pipe{start: func(ctx context.Context) ([]phase, error) {
		phases, err := in.start(ctx)
		if err != nil {
			return nil, err
		}
		return []phase{{ranges: 1, rows: -1, open: func(ctx context.Context, _ int) (operator, error) {
			return &inOrder{x: x, in: gather(ctx, x, phases), items: items, reads: reads}, nil
		}}}, nil
	}}, out, nil
}

// Next implements operator.
func (o *inOrder) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := o.in.Next(ctx)
	if err != nil || b == nil {
		return nil, err
	}
	return o.compute(b)
}

func (o *inOrder) compute(b *vector.Batch) (*vector.Batch, error) {
	n := b.Rows()
	out := &vector.Batch{Len: n, Seq: -1}
	for _, e := range o.items {
		out.Cols = append(out.Cols, vector.New(e.Type().Physical(), n))
	}
	one := &vector.Batch{Len: 1, Seq: -1, Cols: make([]*vector.Vec, len(b.Cols))}
	row := []uint16{0}
	for i := range n {
		if o.rows++; o.rows%1024 == 0 {
			o.x.check()
		}
		row[0] = uint16(b.Row(i))
		for _, c := range o.reads {
			one.Cols[c] = b.Cols[c].Gather(row)
		}
		for k, e := range o.items {
			v, err := e.Eval(o.x.env.Expr, one)
			if err != nil {
				return nil, err
			}
			if v.IsNull(0) {
				out.Cols[k].AppendNull()
			} else {
				out.Cols[k].AppendFrom(v, 0)
			}
		}
	}
	return out, nil
}

// Close implements operator.
func (o *inOrder) Close() error {
	if o.in == nil {
		return nil
	}
	return o.in.Close()
}
