package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// factor takes what all branches of an OR have in common out of it, so that a
// join condition in every branch becomes one.
//
// Law: (x AND y) OR (x AND z) is x AND (y OR z), in three-valued logic, too.
// What one branch lacks beyond the common part makes the OR TRUE wherever the
// common part is.
func (o *optimizer) factor(conds []expr.Expr) []expr.Expr {
	var out []expr.Expr
	for _, c := range conds {
		out = append(out, o.factored(c)...)
	}
	return out
}

func (o *optimizer) factored(c expr.Expr) []expr.Expr {
	same := []expr.Expr{c}
	if expr.Operator(c) != "OR" || c.Traits()&expr.Volatile != 0 {
		return same
	}
	branches := disjuncts(c, nil)
	parts := make([][]expr.Expr, len(branches))
	count := map[string]int{}
	for i, b := range branches {
		parts[i] = ands(b, nil)
		seen := map[string]bool{}
		for _, p := range parts[i] {
			if k := p.Key(); !seen[k] {
				seen[k] = true
				count[k]++
			}
		}
	}
	var common []expr.Expr
	taken := map[string]bool{}
	for _, p := range parts[0] {
		if k := p.Key(); count[k] == len(branches) && !taken[k] {
			taken[k] = true
			common = append(common, p)
		}
	}
	if common == nil {
		return same
	}
	var rest []expr.Expr
	for _, ps := range parts {
		var left []expr.Expr
		for _, p := range ps {
			if !taken[p.Key()] {
				left = append(left, p)
			}
		}
		if left == nil {
			return common // this branch is the common part alone
		}
		x, err := o.all("AND", left)
		if err != nil {
			return same
		}
		rest = append(rest, x)
	}
	x, err := o.all("OR", rest)
	if err != nil {
		return same
	}
	return append(common, x)
}

// implied returns what an OR says about the columns of one side of a join: when
// every branch has conditions on that side alone, their OR. It is implied by c
// and does not replace it.
func (o *optimizer) implied(c expr.Expr, side colSet) (expr.Expr, bool) {
	if expr.Operator(c) != "OR" || c.Traits()&expr.Volatile != 0 {
		return nil, false
	}
	var out []expr.Expr
	for _, b := range disjuncts(c, nil) {
		var mine []expr.Expr
		for _, p := range ands(b, nil) {
			if len(expr.ColumnsOf(p)) > 0 && side.covers(p) {
				mine = append(mine, p)
			}
		}
		if mine == nil {
			return nil, false
		}
		x, err := o.all("AND", mine)
		if err != nil {
			return nil, false
		}
		out = append(out, x)
	}
	x, err := o.all("OR", out)
	return x, err == nil
}

// all combines conditions by AND or OR.
func (o *optimizer) all(op string, es []expr.Expr) (expr.Expr, error) {
	if len(es) == 1 {
		return es[0], nil
	}
	return expr.Call(o.b.env.Expr, op, es...)
}

func disjuncts(c expr.Expr, out []expr.Expr) []expr.Expr { return operands("OR", c, out) }

func ands(c expr.Expr, out []expr.Expr) []expr.Expr { return operands("AND", c, out) }

func operands(op string, c expr.Expr, out []expr.Expr) []expr.Expr {
	if expr.Operator(c) != op {
		return append(out, c)
	}
	for _, k := range c.Children() {
		out = operands(op, k, out)
	}
	return out
}
