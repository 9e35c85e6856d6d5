package exec

import (
	"context"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// generate compiles a table function beside the rows that it depends on.
func (c compiler) generate(n *plan.Generate) (pipe, layout, error) {
	in, l, err := c.node(n.In)
	if err != nil {
		return pipe{}, nil, err
	}
	args, err := c.bindAll(n.Args, l)
	if err != nil {
		return pipe{}, nil, err
	}
	out := append(append(layout(nil), l...), n.Cols...)
	conds, err := c.conditions(n.Conds, out)
	if err != nil {
		return pipe{}, nil, err
	}
	types := n.Func.Types()
	return in.stage(func(op operator) operator {
		return &generator{x: c.x, in: op, f: n.Func, args: args, types: types, outer: n.Outer, conds: conds, acct: c.x.account()}
	}), out, nil
}

// generator gives the rows of a table function for each row of its input, in the
// input's order.
type generator struct {
	x     *query
	in    operator
	f     expr.TableFunction
	args  []expr.Expr
	types []expr.Type
	outer bool
	conds []expr.Expr
	acct  account

	b    *vector.Batch // of the input, nil when the next one is due
	flat []*vector.Vec // its columns
	vals []*vector.Vec
	next int // row of b, among those that count

	from []int32       // of the pending rows: their row of b
	cols []*vector.Vec // of the pending rows: the function's columns
	at   int           // pending rows given so far
	idx  []int32
}

// Next implements operator.
func (g *generator) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if g.at < len(g.from) {
			return g.emit(), nil
		}
		if g.b == nil || g.next >= g.b.Rows() {
			b, err := g.in.Next(ctx)
			if err != nil || b == nil {
				g.acct.free()
				return nil, err
			}
			g.b, g.next, g.vals, g.flat = b, 0, g.vals[:0], g.flat[:0]
			for _, c := range b.Cols {
				g.flat = append(g.flat, c.Flatten())
			}
			for _, a := range g.args {
				v, err := a.Eval(g.x.env.Expr, b)
				if err != nil {
					return nil, err
				}
				g.vals = append(g.vals, v)
			}
		}
		if err := g.fill(); err != nil {
			return nil, err
		}
	}
}

// fill makes pending rows of the next rows of the input, until they are enough
// for a batch.
func (g *generator) fill() error {
	g.from, g.at, g.cols = g.from[:0], 0, make([]*vector.Vec, len(g.types))
	for i, t := range g.types {
		g.cols[i] = expr.NewVec(t, 0)
	}
	for ; g.next < g.b.Rows() && len(g.from) < g.x.batchRows(); g.next++ {
		row := g.b.Row(g.next)
		before := len(g.from)
		var err error
		if len(g.conds) > 0 {
			err = g.matching(row)
		} else {
			err = g.all(row, g.cols)
		}
		if err != nil {
			return err
		}
		if g.outer && len(g.from) == before {
			for _, c := range g.cols {
				c.AppendNull()
			}
			g.from = append(g.from, int32(row))
		}
		var held int64
		for _, c := range g.cols {
			held += c.Bytesize()
		}
		if err := g.acct.hold(held); err != nil {
			return errs.New(errs.ClassOf(err), errs.KindOf(err), "table function: %w", err)
		}
	}
	return nil
}

// all appends the function's rows for a row of the input.
func (g *generator) all(row int, out []*vector.Vec) error {
	n, err := g.f.Append(g.x.env.Expr, g.vals, row, out)
	for range n {
		g.from = append(g.from, int32(row))
	}
	return err
}

// matching appends the rows for which the conditions hold.
func (g *generator) matching(row int) error {
	made := make([]*vector.Vec, len(g.types))
	for i, t := range g.types {
		made[i] = expr.NewVec(t, 0)
	}
	before := len(g.from)
	if err := g.all(row, made); err != nil {
		return err
	}
	n := len(g.from) - before
	g.from = g.from[:before]
	for at := 0; at < n; at += g.x.batchRows() {
		to := min(n, at+g.x.batchRows())
		b := vector.Batch{Len: to - at, Seq: -1}
		g.idx = g.idx[:0]
		for range b.Len {
			g.idx = append(g.idx, int32(row))
		}
		for _, c := range g.flat {
			b.Cols = append(b.Cols, take(c, g.idx))
		}
		g.idx = sequence(g.idx, at, to)
		for _, c := range made {
			b.Cols = append(b.Cols, take(c, g.idx))
		}
		var bufs [2][]uint16
		if err := narrow(g.x, &b, g.conds, &bufs); err != nil {
			return err
		}
		for k := range b.Rows() {
			i := b.Row(k)
			for c, v := range made {
				g.cols[c].AppendFrom(v, at+i)
			}
			g.from = append(g.from, int32(row))
		}
	}
	return nil
}

// emit gives the next pending rows.
func (g *generator) emit() *vector.Batch {
	to := min(len(g.from), g.at+g.x.batchRows())
	out := &vector.Batch{Len: to - g.at, Seq: -1}
	for _, c := range g.flat {
		out.Cols = append(out.Cols, take(c, g.from[g.at:to]))
	}
	g.idx = sequence(g.idx, g.at, to)
	for _, c := range g.cols {
		out.Cols = append(out.Cols, take(c, g.idx))
	}
	g.at = to
	return out
}

// Close implements operator.
func (g *generator) Close() error {
	g.acct.free()
	return g.in.Close()
}
