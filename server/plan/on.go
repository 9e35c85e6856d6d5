package plan

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/scan/expr"
)

// This file joins the subqueries in the ON of outer joins. A condition above the
// join would drop rows that the join must keep, so that they are joined below it:
//
// One that needs columns of one side only is joined to that side's rows; every
// pair of rows then finds it beside its own columns.
//
// One that needs both is computed for the distinct combinations D of the columns
// that it needs, taken from the pairs of rows for which all other conditions hold.
// D is joined to the side that is not kept, by that side's columns, and the outer
// join gains the equality of the other side's. A pair of rows is in D at most once,
// so that it meets itself at most once, and pairs that are not in D do not match
// anyway. (A full join is the left join and the right rows without a match.)
//
// Law: a row pair matches exactly when ON is TRUE for it, with the subqueries
// computed for it.

// attachOn completes an outer join whose ON, conds, reads the columns of
// subqueries. j has the conditions that its sides brought along.
func (b *binder) attachOn(j *Join, conds []expr.Expr, list []*apply) (Node, error) {
	var both []*apply
	shared := colSet{} // what the subqueries in both give
	needed := colSet{}
	for _, a := range list {
		if a.volatile() {
			return nil, errs.Unsupportedf(a.pos, "RAND() and its like in a subquery in the ON of an outer join")
		}
		needs := a.needs()
		left, right := setOf(j.Left.Output()), setOf(j.Right.Output())
		var err error
		switch {
		case needs.any(shared), needs.any(left) && needs.any(right):
			both = append(both, a)
			for _, id := range a.gives() {
				shared[id] = true
			}
			for id := range needs {
				if left[id] || right[id] {
					needed[id] = true
				}
			}
		case needs.any(right):
			j.Right, err = b.attach(j.Right, []*apply{a})
		default:
			j.Left, err = b.attach(j.Left, []*apply{a})
		}
		if err != nil {
			return nil, err
		}
	}
	if both == nil {
		j.Conds = append(j.Conds, conds...)
		return j, nil
	}
	pairs := &Join{Kind: Inner, Left: j.Left, Right: j.Right, Keys: j.Keys, Conds: append([]expr.Expr(nil), j.Conds...)}
	for _, c := range conds {
		if !reads(c, shared) && c.Traits()&expr.Volatile == 0 {
			pairs.Conds = append(pairs.Conds, c)
		}
	}
	j.Conds = append(j.Conds, conds...)
	d, keys, err := b.domainOf(pairs, needed, both[0].pos)
	if err != nil {
		return nil, err
	}
	for _, a := range both {
		a.rewrite(d.own)
	}
	computed, err := b.attach(d.node, both)
	if err != nil {
		return nil, err
	}
	left := setOf(j.Left.Output())
	var byLeft, byRight []EquiKey
	for _, k := range keys {
		if reads(k.L, left) {
			byLeft = append(byLeft, k)
		} else {
			byRight = append(byRight, k)
		}
	}
	switch j.Kind {
	case Right:
		return b.keepRight(j, computed, byLeft, byRight), nil
	case Full:
		l := *j
		l.Kind = Left
		return b.fullOf(j, b.keepLeft(&l, computed, byLeft, byRight), b.keepRight(j, computed, byLeft, byRight))
	}
	return b.keepLeft(j, computed, byLeft, byRight), nil
}

// keepLeft joins what was computed for pairs of rows to the right side of j.
func (b *binder) keepLeft(j *Join, computed Node, byLeft, byRight []EquiKey) *Join {
	c := *j
	c.Right = &Join{Kind: Inner, Left: j.Right, Right: computed, Keys: byRight}
	c.Keys = append(append([]EquiKey(nil), j.Keys...), byLeft...)
	return &c
}

// keepRight joins what was computed for pairs of rows to the left side of j.
func (b *binder) keepRight(j *Join, computed Node, byLeft, byRight []EquiKey) *Join {
	c := *j
	c.Left = &Join{Kind: Inner, Left: j.Left, Right: computed, Keys: byLeft}
	c.Keys = append([]EquiKey(nil), j.Keys...)
	for _, k := range byRight {
		c.Keys = append(c.Keys, EquiKey{L: k.R, R: k.L, NullSafe: true})
	}
	return &c
}

// fullOf gives the rows of a full join j: those of the left join, and of the
// right ones those without a match. right has the sides and conditions of the
// right join.
func (b *binder) fullOf(j *Join, left, right *Join) (Node, error) {
	alone := &Join{Kind: Anti, Left: right.Right, Right: right.Left, Conds: right.Conds}
	for _, k := range right.Keys {
		alone.Keys = append(alone.Keys, EquiKey{L: k.R, R: k.L, NullSafe: k.NullSafe})
	}
	out := &SetOp{Kind: Union, All: true, Cols: j.Output()}
	b.nullable(out.Cols)
	one, two := &Project{In: left}, &Project{In: alone}
	kept := setOf(j.Right.Output())
	for _, id := range out.Cols {
		one.Items = append(one.Items, Item{b.copyCol(id), b.col(id)})
		x := b.col(id)
		if !kept[id] {
			var err error
			if x, err = expr.Cast(b.env.Expr, expr.Literal(expr.NullValue()), b.cols[id].Type); err != nil {
				return nil, err
			}
		}
		two.Items = append(two.Items, Item{b.copyCol(id), x})
	}
	out.In = []Node{one, two}
	return out, nil
}

// needs are the columns that a subquery and its comparisons read without making
// them.
func (a *apply) needs() colSet {
	out := free(a.plan)
	own := setOf(a.plan.Output())
	for _, m := range a.marks {
		for _, id := range expr.ColumnsOf(m) {
			if !own[id] {
				out[id] = true
			}
		}
	}
	return out
}

// gives are the columns that a joined subquery adds.
func (a *apply) gives() []ColID {
	if a.kind == applyScalar {
		return a.plan.Output()
	}
	return []ColID{a.id}
}

// volatile reports whether two computations of the subquery may differ.
func (a *apply) volatile() bool {
	for _, m := range a.marks {
		if m.Traits()&expr.Volatile != 0 {
			return true
		}
	}
	return volatile(a.plan)
}
