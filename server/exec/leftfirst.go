package exec

import (
	"context"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/server/plan"
)

// A semi or anti join holds its right side in memory, which is much the larger one
// at times: EXISTS over a table of facts. The left side is read first then, and
// kept; its keys tell the scans of the right side which rows can matter at all.

// leftFilters makes the filters of a join that reads its left side first, for
// scans of its right side, nil when it does not.
func (c compiler) leftFilters(n *plan.Join) (out []*runtimeFilter) {
	if !n.LeftFirst || n.NullAware || n.Kind != plan.Semi && n.Kind != plan.Anti {
		return nil
	}
	for i, k := range n.Keys {
		col := numbers(k.R)
		if col == nil || k.NullSafe || !filterable(k.L.Type()) {
			continue
		}
		out = c.filtersOf(out, origins(n.Right, plan.ColID(col.Pos), true), runtimeFilterOf{n, i, true})
	}
	return out
}

// mostAhead is the number of left rows whose keys are looked at.
const mostAhead = 1 << 22

// leftFirst reads the left side, teaches the filters its keys and returns a pipe
// that gives its rows again, and whether there are none.
func (j *joining) leftFirst(ctx context.Context, left pipe, filters []*runtimeFilter) (_ pipe, none bool, err error) {
	for _, f := range filters {
		f.learned = false
	}
	phases, err := left.start(ctx)
	if err != nil {
		return pipe{}, false, err
	}
	in := gather(ctx, j.x, phases)
	defer closing(in, &err)
	rows := newSpool(j.op)
	keys := make([]*vector.Vec, len(filters))
	acct := j.x.account()
	for {
		b, err := in.Next(ctx)
		if err != nil {
			return pipe{}, false, err
		}
		if b == nil {
			break
		}
		n := b.Rows()
		for i, f := range filters {
			v, err := j.leftKeys[f.key].Eval(j.x.env.Expr, b)
			if err != nil {
				return pipe{}, false, err
			}
			if keys[i] == nil {
				keys[i] = vector.New(v.Values().Kind, n)
			}
			if rows.n <= mostAhead {
				appendVec(keys[i], v, b.Sel, n)
			}
		}
		if rows.n <= mostAhead {
			if err := acct.hold(int64(len(keys)) * 8 * (rows.n + int64(n))); err != nil {
				return pipe{}, false, err
			}
		}
		if err := rows.add(ctx, b.Cols, b.Sel, n); err != nil {
			return pipe{}, false, err
		}
	}
	if err := rows.end(); err != nil {
		return pipe{}, false, err
	}
	for i, f := range filters {
		if f.first != nil {
			f.copied()
		} else if v := keys[i]; v != nil && int64(v.Len) == rows.n {
			f.take(j.x, v, v.Len, &acct)
		}
	}
	return pipe{start: func(context.Context) ([]phase, error) { return rows.phases(nil, rows.free), nil }}, rows.n == 0, nil
}
