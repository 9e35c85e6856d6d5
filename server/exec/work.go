package exec

import (
	"context"
	"math"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// storedColumns returns which stored column a position in a scan's output is.
func storedColumns(n *plan.Scan) func(pos int) (expr.PushColumn, bool) {
	schema := n.Use.Snapshot.Schema()
	return func(pos int) (expr.PushColumn, bool) {
		if pos < 0 || pos >= len(n.Cols) {
			return expr.PushColumn{}, false
		}
		at := n.Cols[pos].Pos
		f := schema.Fields[at]
		return expr.PushColumn{Pos: at, Field: f, MySQLType: schema.MySQLType(f)}, true
	}
}

// pushed is what a connector may use of conditions to leave rows out.
func pushed(c *expr.Context, conds []expr.Expr, stored func(int) (expr.PushColumn, bool)) (push *connector.Predicate) {
	for _, e := range conds {
		push = connector.AndOf(push, expr.ToPredicate(c, e, stored))
	}
	return push
}

// pushable is 1 for a condition that a connector may use, else 0.
func pushable(c *expr.Context, cond expr.Expr, stored func(int) (expr.PushColumn, bool)) int {
	if expr.ToPredicate(c, cond, stored) != nil {
		return 1
	}
	return 0
}

// Work is how much a query has to do at most, as far as metadata tells.
type Work struct {
	Rows  float64 // read from tables, or made on the way from them
	Bytes float64 // stored, of what is read

	shared map[*plan.Shared]float64 // rows of the parts that are run once
}

// WorkOf estimates a query's work from the plans of its scans. What subqueries and
// joins will leave out is not known before they run.
func WorkOf(ctx context.Context, q *plan.Query, env Env) (Work, error) {
	w := Work{shared: map[*plan.Shared]float64{}}
	nodes := []plan.Node{q.Root}
	for _, s := range q.Subplans {
		nodes = append(nodes, s.Plan)
	}
	for _, n := range nodes {
		rows, err := w.add(ctx, n, env)
		if err != nil {
			return w, err
		}
		w.Rows += rows
	}
	return w, nil
}

// add counts the work of a plan and returns the rows that it gives at most.
func (w *Work) add(ctx context.Context, n plan.Node, env Env) (float64, error) {
	switch s := n.(type) {
	case *plan.Scan:
		return w.scan(ctx, s, env)
	case *plan.SharedScan:
		if rows, ok := w.shared[s.Of]; ok {
			return rows, nil
		}
		rows, err := w.add(ctx, s.Of.Plan, env)
		w.shared[s.Of] = rows
		return rows, err
	}
	var in []float64
	for _, x := range n.Inputs() {
		rows, err := w.add(ctx, x, env)
		if err != nil {
			return 0, err
		}
		in = append(in, rows)
	}
	switch n := n.(type) {
	case *plan.Values:
		return float64(len(n.Rows)), nil
	case *plan.CountRows:
		return 1, nil
	case *plan.Recursive, *plan.Generate:
		w.Rows = math.Inf(1) // any number
		return w.Rows, nil
	case *plan.Limit:
		if n.Count >= 0 {
			return min(in[0], float64(n.Count)), nil
		}
	case *plan.Expand:
		in[0] *= float64(len(n.Sets))
		w.Rows += in[0]
		return in[0], nil
	case *plan.Join:
		w.Rows += in[0] + in[1]
		if len(n.Keys) == 0 {
			w.Rows += in[0] * in[1]
			return in[0] * in[1], nil
		}
		return max(in[0], in[1]), nil
	}
	sum := 0.0
	for _, rows := range in {
		sum += rows
	}
	return sum, nil
}

func (w *Work) scan(ctx context.Context, n *plan.Scan, env Env) (float64, error) {
	at := make(layout, len(n.Cols))
	for i, c := range n.Cols {
		at[i] = c.ID
	}
	conds := make([]expr.Expr, len(n.Conds))
	for i, e := range n.Conds {
		conds[i] = expr.Remap(e, at.at)
	}
	p, err := n.Use.Snapshot.Plan(ctx, connector.ScanRequest{Filter: pushed(env.Expr, conds, storedColumns(n)), NoPruning: env.Options.NoPruning})
	if err != nil {
		return 0, err
	}
	rows, bytes := 0.0, 0.0
	for _, s := range p.Splits {
		if n.Limit >= 0 && rows >= float64(n.Limit) {
			break
		}
		rows += float64(s.Rows())
		bytes += float64(s.Bytes())
	}
	if n.Limit >= 0 && rows > float64(n.Limit) {
		bytes *= float64(n.Limit) / rows
		rows = float64(n.Limit)
	}
	w.Rows += rows
	w.Bytes += bytes
	return rows, nil
}
