package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// reorder chooses the order of inner joins: from the largest input on, always
// the smallest of those that a condition connects; products come last.
//
// Law: inner joins commute and associate; every condition is applied as soon as
// its columns are there.
func (o *optimizer) reorder(n Node) (Node, error) {
	j, ok := n.(*Join)
	if !ok || j.Kind != Inner {
		return mapInputs(n, o.reorder)
	}
	var parts []Node
	var conds []expr.Expr
	if err := o.flatten(j, &parts, &conds); err != nil {
		return nil, err
	}
	for i, p := range parts {
		var err error
		if parts[i], err = o.reorder(p); err != nil {
			return nil, err
		}
	}
	rows := make([]float64, len(parts))
	most := 0
	for i, p := range parts {
		rows[i] = o.estimate(p)
		if rows[i] > rows[most] {
			most = i
		}
	}
	used := make([]bool, len(parts))
	used[most] = true
	out := parts[most]
	have := setOf(out.Output())
	for range len(parts) - 1 {
		best, linked := -1, false
		for i, p := range parts {
			if used[i] {
				continue
			}
			l := connects(conds, have, setOf(p.Output()))
			if best < 0 || l && !linked || l == linked && rows[i] < rows[best] {
				best, linked = i, l
			}
		}
		used[best] = true
		for _, id := range parts[best].Output() {
			have[id] = true
		}
		x := &Join{Kind: Inner, Left: out, Right: parts[best]}
		var later []expr.Expr
		for _, c := range conds {
			if have.covers(c) {
				x.Conds = append(x.Conds, c)
			} else {
				later = append(later, c)
			}
		}
		conds = later
		out = x
	}
	return filtered(out, conds), nil
}

// flatten collects the inputs and conditions of nested inner joins.
func (o *optimizer) flatten(n Node, parts *[]Node, conds *[]expr.Expr) error {
	j, ok := n.(*Join)
	if !ok || j.Kind != Inner {
		*parts = append(*parts, n)
		return nil
	}
	if err := o.flatten(j.Left, parts, conds); err != nil {
		return err
	}
	if err := o.flatten(j.Right, parts, conds); err != nil {
		return err
	}
	for _, k := range j.Keys {
		op := "="
		if k.NullSafe {
			op = "<=>"
		}
		c, err := expr.Call(o.b.env.Expr, op, k.L, k.R)
		if err != nil {
			return err
		}
		*conds = append(*conds, c)
	}
	*conds = append(*conds, j.Conds...)
	return nil
}

// connects reports whether some equality is between the two sets.
func connects(conds []expr.Expr, a, b colSet) bool {
	for _, c := range conds {
		if _, ok := equiKey(c, a, b); ok {
			return true
		}
	}
	return false
}
