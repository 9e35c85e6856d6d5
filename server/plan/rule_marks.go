package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// marks turns EXISTS and IN that stand alone in a condition into semi and anti
// joins.
//
// Law: a filter keeps rows for which its condition is TRUE, so that a mark that
// is NULL counts as FALSE, and NOT of it, too. IN is then a semi join on the
// comparison; NOT IN is an anti join when its comparison is never NULL, and a
// null-aware one when a single comparison is all there is. Other NOT INs keep
// their mark.
func (o *optimizer) marks(n Node, need colSet) Node {
	if f, ok := n.(*Filter); ok {
		if j, ok := f.In.(*Join); ok && j.Kind == Mark && !need[j.Mark] {
			if out, done := o.unmark(f, j); done {
				return o.marks(out, need)
			}
		}
	}
	if p, ok := n.(*Project); ok { // what nothing reads may name a mark that goes
		c := *p
		c.Items = nil
		inner := colSet{}
		for _, it := range p.Items {
			if need[it.ID] {
				c.Items = append(c.Items, it)
				inner.addOf(it.Expr)
			}
		}
		c.In = o.marks(p.In, inner)
		return &c
	}
	inner := colSet{}
	for id := range need {
		inner[id] = true
	}
	for _, e := range n.exprs() {
		inner.addOf(e)
	}
	switch x := n.(type) {
	case *Distinct, *OrElse:
		for _, id := range x.Output() {
			inner[id] = true
		}
	case *Recursive:
		for _, in := range x.Inputs() {
			for _, id := range in.Output() {
				inner[id] = true
			}
		}
	case *SetOp:
		for _, in := range x.In {
			for _, id := range in.Output() {
				inner[id] = true
			}
		}
	}
	n, _ = mapInputs(n, func(c Node) (Node, error) { return o.marks(c, inner), nil })
	return n
}

// unmark removes the mark of j when f uses it in one condition only, as it is
// or negated.
func (o *optimizer) unmark(f *Filter, j *Join) (Node, bool) {
	at, not := -1, false
	var rest []expr.Expr
	for i, c := range f.Conds {
		if !reads(c, colSet{j.Mark: true}) {
			rest = append(rest, c)
			continue
		}
		if at >= 0 {
			return nil, false
		}
		at = i
		if expr.Operator(c) == "NOT" {
			c, not = c.Children()[0], true
		}
		if id, ok := plainColumn(c); !ok || id != j.Mark {
			return nil, false
		}
	}
	if at < 0 {
		return nil, false
	}
	c := *j
	c.Mark = 0
	switch {
	case !not:
		c.Kind, c.Conds, c.MarkConds = Semi, append(append([]expr.Expr(nil), j.Conds...), j.MarkConds...), nil
	case neverNull(j.MarkConds):
		c.Kind, c.Conds, c.MarkConds = Anti, append(append([]expr.Expr(nil), j.Conds...), j.MarkConds...), nil
	default:
		k, ok := o.onlyMark(j)
		if !ok {
			return nil, false
		}
		c.Kind, c.Keys, c.MarkConds, c.NullAware = Anti, []EquiKey{k}, nil, true
	}
	return filtered(&c, rest), true
}

// neverNull reports whether no comparison of the list can be NULL.
func neverNull(conds []expr.Expr) bool {
	for _, c := range conds {
		if c.Type().Nullable {
			return false
		}
	}
	return true
}

// onlyMark returns the comparison of an IN as a key when it is all that the join
// depends on.
func (o *optimizer) onlyMark(j *Join) (EquiKey, bool) {
	if len(j.MarkConds) != 1 || len(j.Conds) > 0 || len(j.Keys) > 0 {
		return EquiKey{}, false
	}
	return equiKey(j.MarkConds[0], setOf(j.Left.Output()), setOf(j.Right.Output()))
}
