package plan

import (
	"slices"

	"github.com/thermocline/thermocline/scan/expr"
)

// Grouping below a join has to make of the rows there at most one in so many, and
// is looked at from so many rows on.
const (
	eagerShare = 2
	eagerRows  = 1000
	// mostPartDigits are digits of which sums are always in range.
	mostPartDigits = 38
)

// eager groups the right side of a join by the join's keys before it is joined, when
// the aggregates above read that side only and the groups the other one only: fewer
// rows are joined, and fewer are grouped after that (eager aggregation: Yan, Larson,
// 1995).
//
// Law: without other conditions all right rows of one key have the same left rows as
// matches. So each group above has, for each of its left rows, all rows of a group
// below or none of them, and COUNT(x) is the sum of the counts, SUM(x) the sum of the
// sums, which for whole numbers and decimals does not depend on their order; MIN and
// MAX of numbers and times are those of the extremes. A left row without a match has
// NULL for x, which none of them sees, since x is a column.
// The sum of no counts at all is NULL where COUNT is 0.
func (o *optimizer) eager(n Node) (Node, error) {
	n, err := mapInputs(n, o.eager)
	if err != nil {
		return nil, err
	}
	a, ok := n.(*Aggregate)
	if !ok || len(a.Aggs) == 0 || len(a.Aggs[0].Args) == 0 {
		return n, nil
	}
	j, ok := a.In.(*Join)
	if !ok || j.Kind != Left && j.Kind != Inner || len(j.Keys) == 0 || len(j.Conds) > 0 {
		return n, nil
	}
	if id, ok := bare(a.Aggs[0].Args[0]); j.Kind == Inner && ok && slices.Contains(j.Left.Output(), id) {
		j = j.mirrored()
	}
	left, right := setOf(j.Left.Output()), setOf(j.Right.Output())
	// Columns only: what expressions say of rows, warnings and errors, they shall say
	// of the same rows and as often.
	column := func(e expr.Expr, of colSet) bool {
		id, ok := bare(e) // a sum's integers are made wide, which says nothing
		return ok && of[id]
	}
	for _, k := range a.Keys {
		if id, ok := plainColumn(k.Expr); !ok || !left[id] {
			return n, nil
		}
	}
	tops := make([]string, len(a.Aggs)) // the aggregates of the aggregates below
	for i, g := range a.Aggs {
		if tops[i] = o.ofParts(g); tops[i] == "" || !column(g.Args[0], right) {
			return n, nil
		}
	}
	below := &Aggregate{In: j.Right}
	groups := 1.0
	up := *j
	up.Keys = nil
	for _, k := range j.Keys {
		id, ok := bare(k.R)
		if _, plain := plainColumn(k.R); !ok || k.NullSafe || !plain && k.R.Type().Class != expr.Int {
			return n, nil
		}
		groups *= o.column(id).distinct
		c := o.b.newCol(Column{Name: o.b.cols[id].Name, Type: k.R.Type()})
		below.Keys = append(below.Keys, Item{ID: c, Expr: k.R})
		up.Keys = append(up.Keys, EquiKey{L: k.L, R: o.b.col(c)})
	}
	rows := o.estimate(j.Right)
	// Groups that are joined with nothing, or rows that the join would have left out,
	// are work for nothing.
	if !o.b.env.EagerAlways && (groups == 0 || rows < eagerRows || groups*eagerShare > rows || o.estimate(j) < rows/2) {
		return n, nil
	}
	up.Right = below
	out := &Aggregate{In: &up, Keys: a.Keys}
	p := &Project{In: out}
	for _, k := range a.Keys {
		p.Items = append(p.Items, Item{ID: k.ID, Expr: o.b.col(k.ID)})
	}
	for i, g := range a.Aggs {
		part := o.b.newCol(Column{Name: g.Call.String(), Type: g.Call.Type()})
		below.Aggs = append(below.Aggs, Agg{ID: part, Call: g.Call, Args: g.Args})
		call, err := expr.NewAggregate(o.b.env.Expr, expr.AggregateSpec{Name: tops[i], Args: []expr.Expr{o.b.col(part)}})
		if err != nil {
			return nil, err
		}
		id := o.b.newCol(Column{Name: call.String(), Type: call.Type()})
		out.Aggs = append(out.Aggs, Agg{ID: id, Call: call, Args: call.Args()})
		e := o.b.col(id)
		if o.isAggregate(g, "COUNT") {
			if e, err = expr.Call(o.b.env.Expr, "COALESCE", e, expr.Literal(expr.IntValue(0))); err != nil {
				return nil, err
			}
		}
		if e, err = expr.Cast(o.b.env.Expr, e, g.Call.Type()); err != nil {
			return nil, err
		}
		p.Items = append(p.Items, Item{ID: g.ID, Expr: e})
	}
	return p, nil
}

// mirrored returns an inner join with its sides exchanged.
func (n *Join) mirrored() *Join {
	c := *n
	c.Left, c.Right, c.Keys = n.Right, n.Left, nil
	for _, k := range n.Keys {
		c.Keys = append(c.Keys, EquiKey{L: k.R, R: k.L, NullSafe: k.NullSafe})
	}
	return &c
}

// ofParts names the aggregate that makes of an aggregate of parts that of the whole,
// "" when there is none.
func (o *optimizer) ofParts(g Agg) string {
	if len(g.Args) != 1 {
		return ""
	}
	class := g.Args[0].Type().Class
	exact := class == expr.Int || class == expr.Decimal && g.Args[0].Type().Precision <= mostPartDigits // sums of more may be out of range
	switch {
	case o.isAggregate(g, "COUNT"), exact && o.isAggregate(g, "SUM"):
		return "SUM"
	case !exact && class != expr.Date && class != expr.DateTime:
		return ""
	case o.isAggregate(g, "MIN"):
		return "MIN"
	case o.isAggregate(g, "MAX"):
		return "MAX"
	}
	return ""
}

// isAggregate reports whether g is the aggregate of that name, and not of DISTINCT
// values or in any other way a special one.
func (o *optimizer) isAggregate(g Agg, name string) bool {
	plain, err := expr.NewAggregate(o.b.env.Expr, expr.AggregateSpec{Name: name, Args: g.Call.Args()})
	return err == nil && plain.Key() == g.Call.Key()
}
