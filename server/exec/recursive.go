package exec

import (
	"context"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// recursive compiles a recursive query: the step is run on the rows that the
// step before it gave, until it gives none.
func (c compiler) recursive(n *plan.Recursive) (pipe, layout, error) {
	x := c.x
	types := make([]expr.Type, len(n.Cols))
	for i, id := range n.Cols {
		types[i] = x.typeOf(id)
	}
	g := c.grower("recursive query " + n.Name)
	return pipe{start: func(ctx context.Context) ([]phase, error) {
		all := newSpool(g)
		seen := newGivenRows(g, types)
		limit := x.recursionLimit()
		in := n.Anchor
		for depth := 0; ; depth++ {
			if depth > limit {
				return nil, errs.Userf(errs.RecursionDepth, "Recursive query aborted after %d iterations. Try increasing @@cte_max_recursion_depth to a larger value.", depth)
			}
			delta, err := x.step(ctx, n, in, g, seen)
			if err != nil {
				return nil, err
			}
			if delta.n == 0 {
				break
			}
			for rows := delta.reader(); ; {
				b, err := rows.Next(ctx)
				if err != nil {
					return nil, err
				}
				if b == nil {
					break
				}
				if err := all.add(ctx, b.Cols, nil, b.Len); err != nil {
					return nil, err
				}
			}
			if before := x.works[n.Work]; before != nil {
				before.free()
			}
			if n.Stop >= 0 && all.n >= n.Stop {
				delta.free()
				break
			}
			x.works[n.Work] = delta
			in = n.Step
		}
		if before := x.works[n.Work]; before != nil {
			before.free()
			delete(x.works, n.Work)
		}
		seen.free()
		if err := all.end(); err != nil {
			return nil, err
		}
		return []phase{{ranges: 1, rows: all.n, open: func(context.Context, int) (operator, error) { return all.reader(), nil }, done: all.free}}, nil
	}}, layout(n.Cols), nil
}

// step runs the anchor or a step and returns its new rows.
func (x *query) step(ctx context.Context, n *plan.Recursive, in plan.Node, g *grower, seen *givenRows) (*spool, error) {
	defer x.ended()() // the operators of a step end with it
	p, _, err := compiler{x: x}.node(in)
	if err != nil {
		return nil, err
	}
	phases, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	op := gather(ctx, x, phases)
	defer op.Close()
	out := newSpool(g)
	give := func(cols []*vector.Vec, sel []uint16, n int) error { return out.add(ctx, cols, sel, n) }
	for {
		b, err := op.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			if err := seen.end(ctx, give); err != nil {
				return nil, err
			}
			return out, out.end()
		}
		if err := x.fits(n, b, int(out.n)); err != nil {
			return nil, err
		}
		if n.Distinct {
			err = seen.add(ctx, b, give)
		} else {
			err = give(b.Cols, b.Sel, b.Rows())
		}
		if err != nil {
			return nil, err
		}
	}
}

// fits refuses texts that are longer than the anchor's columns.
func (x *query) fits(n *plan.Recursive, b *vector.Batch, before int) error {
	for c, most := range n.Lengths {
		if most < 0 {
			continue
		}
		for k := range b.Rows() {
			v, row := b.Cols[c], b.Row(k)
			if v.Kind != vector.Str || v.IsNull(row) {
				continue
			}
			if s := v.Bytes(row); len(s) > most && (x.typeOf(n.Cols[c]).Class == expr.Bytes || utf8.RuneCount(s) > most) {
				return errs.Userf(errs.DataTooLong, "Data too long for column '%s' at row %d", x.plan.Cols[n.Cols[c]].Name, before+k+1)
			}
		}
	}
	return nil
}

// recursionLimit is cte_max_recursion_depth.
func (x *query) recursionLimit() int {
	const usual = 1000
	if x.env.Expr.Session == nil {
		return usual
	}
	v, err := x.env.Expr.Session.SystemVariable("session", "cte_max_recursion_depth")
	if err != nil || v.IsNull() || len(v.Vec.I64s) == 0 {
		return usual
	}
	return int(v.Vec.I64s[0])
}
