package plan

import (
	"math"

	"github.com/thermocline/thermocline/scan/expr"
)

// estimate guesses the rows that a plan gives, for choosing between equal plans.
func (o *optimizer) estimate(n Node) float64 {
	switch n := n.(type) {
	case *Scan:
		return math.Max(1, o.factsOf(n.Use).rows*o.selectivity(n.Conds))
	case *Values:
		return float64(len(n.Rows))
	case *CountRows:
		return 1
	case *SharedScan:
		return o.sharedRows(n.Of)
	case *Filter:
		return math.Max(1, o.estimate(n.In)*o.selectivity(n.Conds))
	case *Aggregate:
		if len(n.Keys) == 0 {
			return 1
		}
		return o.groups(n, o.estimate(n.In))
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
		return o.joined(n)
	}
	if in := n.Inputs(); len(in) > 0 {
		return o.estimate(in[0])
	}
	return unknownRows
}

// groups guesses the groups of so many rows.
func (o *optimizer) groups(n *Aggregate, rows float64) float64 {
	all := 1.0
	for _, k := range n.Keys {
		d := 0.0
		if id, ok := bare(k.Expr); ok {
			d = o.column(id).distinct
		}
		if d == 0 {
			return math.Max(1, rows/4)
		}
		all *= d
	}
	return math.Max(1, math.Min(all, rows))
}

// joined guesses the rows of a join.
func (o *optimizer) joined(n *Join) float64 {
	l := o.estimate(n.Left)
	switch n.Kind {
	case Mark, Single:
		return l
	case Semi:
		return math.Max(1, l*o.matched(n))
	case Anti:
		return math.Max(1, l*math.Max(0.1, 1-o.matched(n)))
	}
	r := o.estimate(n.Right)
	share, _ := o.linked(n.Left, n.Right, n.Keys, n.Conds)
	rows := l * r * share
	switch n.Kind {
	case Left:
		rows = math.Max(rows, l)
	case Right:
		rows = math.Max(rows, r)
	case Full:
		rows = math.Max(rows, math.Max(l, r))
	}
	return math.Max(1, rows)
}

// linked guesses the share of all pairs of rows that satisfy a join's conditions.
// Equalities count together: the values of all keys are as many as the smaller
// number of what the sides have of them, as if they were a foreign key there.
// sure says that this rests on what is known of keys.
func (o *optimizer) linked(left, right Node, keys []EquiKey, conds []expr.Expr) (share float64, sure bool) {
	have := [2]colSet{setOf(left.Output()), setOf(right.Output())}
	whole := [2]float64{o.whole(left), o.whole(right)}
	different := [2]float64{1, 1} // values of the keys of which something is known
	unique := false
	add := func(k EquiKey) {
		var d [2]float64
		for i, e := range []expr.Expr{k.L, k.R} {
			if id, ok := bare(e); ok {
				d[i] = o.column(id).distinct
			}
			unique = unique || d[i] > 0.9*whole[i]
		}
		if d[0] > 0 && d[1] > 0 {
			sure = true
		}
		if unique || d[0] > 0 && d[1] > 0 {
			for i := range d {
				different[i] *= math.Max(1, d[i])
			}
		}
	}
	equal := len(keys) > 0
	for _, k := range keys {
		add(k)
	}
	var rest []expr.Expr
	for _, c := range conds {
		if k, ok := equiKey(c, have[0], have[1]); ok {
			equal = true
			add(k)
		} else {
			rest = append(rest, c)
		}
	}
	share = o.selectivity(rest)
	switch {
	case !equal:
		return share, false
	case sure || unique:
		return share / math.Max(1, math.Max(math.Min(different[0], whole[0]), math.Min(different[1], whole[1]))), true
	}
	return share / math.Max(1, math.Min(whole[0], whole[1])), false
}

// matched guesses the share of left rows that have a match in a semi or anti join.
func (o *optimizer) matched(n *Join) float64 {
	const unknown = 0.5
	have := [2]colSet{setOf(n.Left.Output()), setOf(n.Right.Output())}
	share, known := 1.0, false
	r := o.estimate(n.Right)
	add := func(k EquiKey) {
		a, aok := bare(k.L)
		b, bok := bare(k.R)
		if !aok {
			return
		}
		mine, theirs := o.column(a).distinct, r
		if bok {
			if d := o.column(b).distinct; d > 0 {
				theirs = math.Min(theirs, d)
			}
		}
		if mine > 0 {
			share, known = math.Min(share, theirs/mine), true
		}
	}
	for _, k := range n.Keys {
		add(k)
	}
	for _, c := range n.Conds {
		if k, ok := equiKey(c, have[0], have[1]); ok {
			add(k)
		}
	}
	if !known {
		return unknown
	}
	return math.Min(0.9, math.Max(share, 1e-6))
}

// whole guesses the rows that a plan would give if no condition left any out.
func (o *optimizer) whole(n Node) float64 {
	switch n := n.(type) {
	case *Scan:
		return o.factsOf(n.Use).rows
	case *Filter:
		return o.whole(n.In)
	case *Project:
		return o.whole(n.In)
	case *Aggregate:
		if len(n.Keys) > 0 {
			return o.groups(n, o.whole(n.In))
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
