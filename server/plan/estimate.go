package plan

import (
	"math"

	"github.com/thermocline/thermocline/scan/expr"
)

// estimate guesses the rows that a plan gives, for choosing between equal plans.
// Unknown is a million.
func (o *optimizer) estimate(n Node) float64 {
	const unknown = 1e6
	switch n := n.(type) {
	case *Scan:
		rows := float64(unknown)
		if r, _, err := n.Use.Snapshot.RowCount(o.b.ctx); err == nil && r >= 0 {
			rows = float64(r)
		}
		return math.Max(1, rows*selectivity(n.Conds))
	case *Values:
		return float64(len(n.Rows))
	case *CountRows:
		return 1
	case *SharedScan:
		return o.sharedRows(n.Of)
	case *Filter:
		return math.Max(1, o.estimate(n.In)*selectivity(n.Conds))
	case *Aggregate:
		if len(n.Keys) == 0 {
			return 1
		}
		return math.Max(1, o.estimate(n.In)/4)
	case *Expand:
		return o.estimate(n.In) * float64(len(n.Sets))
	case *Limit:
		rows := o.estimate(n.In)
		if n.Count >= 0 {
			rows = math.Min(rows, float64(n.Count))
		}
		return rows
	case *TopN:
		return math.Min(o.estimate(n.In), float64(n.Count))
	case *SetOp:
		rows := 0.0
		for _, in := range n.In {
			rows += o.estimate(in)
		}
		return rows
	case *Join:
		l, r := o.estimate(n.Left), o.estimate(n.Right)
		switch n.Kind {
		case Semi, Anti:
			return math.Max(1, l/2)
		case Mark, Single:
			return l
		}
		if len(n.Keys) == 0 && len(n.Conds) == 0 {
			return l * r
		}
		if n.Kind == Inner {
			// As if the smaller table's key were the larger one's foreign key: what is left
			// of each table leaves its share of the rows.
			lw, rw := math.Max(1, o.whole(n.Left)), math.Max(1, o.whole(n.Right))
			return math.Max(1, math.Max(lw, rw)*math.Min(1, l/lw)*math.Min(1, r/rw)*selectivity(n.Conds))
		}
		return math.Max(l, r) * selectivity(n.Conds)
	}
	if in := n.Inputs(); len(in) > 0 {
		return o.estimate(in[0])
	}
	return unknown
}

// whole guesses the rows that a plan would give if no condition left any out.
func (o *optimizer) whole(n Node) float64 {
	switch n := n.(type) {
	case *Scan:
		c := *n
		c.Conds = nil
		return o.estimate(&c)
	case *Filter:
		return o.whole(n.In)
	case *Project:
		return o.whole(n.In)
	case *Aggregate:
		if len(n.Keys) > 0 {
			return math.Max(1, o.whole(n.In)/4)
		}
	case *Join:
		switch n.Kind {
		case Semi, Anti, Mark, Single:
			return o.whole(n.Left)
		}
		if len(n.Keys) > 0 || len(n.Conds) > 0 {
			return math.Max(o.whole(n.Left), o.whole(n.Right))
		}
	}
	return o.estimate(n)
}

// selectivity guesses the share of rows that conditions keep.
func selectivity(conds []expr.Expr) float64 {
	s := 1.0
	for _, c := range conds {
		switch expr.Operator(c) {
		case "=":
			s *= 0.05
		case "<>", "NOT":
			s *= 0.9
		default:
			s *= 0.3
		}
	}
	return math.Max(s, 1e-4)
}
