package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// sums computes several sums of a column with different constants added from one
// sum and one count: SUM(x + c) is SUM(x) + c * COUNT(x).
//
// Law: for whole numbers of at most four bytes, whose x + c is never out of range,
// the two are equal, and NULL together. Nothing is gained for a single sum.
func (o *optimizer) sums(n Node) (Node, error) {
	n, err := mapInputs(n, o.sums)
	if err != nil {
		return nil, err
	}
	a, ok := n.(*Aggregate)
	if !ok {
		return n, nil
	}
	count := map[string]int{}
	shifted := make([]shiftedSum, len(a.Aggs))
	for i, g := range a.Aggs {
		if shifted[i] = o.shifted(g); shifted[i].base != nil {
			count[shifted[i].base.Key()]++
		}
	}
	most := 0
	for _, k := range count {
		most = max(most, k)
	}
	if most < 2 {
		return n, nil
	}
	out := &Aggregate{In: a.In, Keys: a.Keys}
	made := map[string]ColID{}
	aggregate := func(name string, x expr.Expr) (expr.Expr, error) {
		call, err := expr.NewAggregate(o.b.env.Expr, expr.AggregateSpec{Name: name, Args: []expr.Expr{x}})
		if err != nil {
			return nil, err
		}
		id, ok := made[call.Key()]
		if !ok {
			id = o.b.newCol(Column{Name: call.String(), Type: call.Type()})
			made[call.Key()] = id
			out.Aggs = append(out.Aggs, Agg{ID: id, Call: call, Args: call.Args()})
		}
		return o.b.col(id), nil
	}
	p := &Project{In: out}
	for _, k := range a.Keys {
		p.Items = append(p.Items, Item{ID: k.ID, Expr: o.b.col(k.ID)})
	}
	for i, g := range a.Aggs {
		if s := shifted[i]; s.base == nil || count[s.base.Key()] < 2 {
			out.Aggs = append(out.Aggs, g)
			p.Items = append(p.Items, Item{ID: g.ID, Expr: o.b.col(g.ID)})
		}
	}
	for i, g := range a.Aggs {
		s := shifted[i]
		if s.base == nil || count[s.base.Key()] < 2 {
			continue
		}
		sum, err := aggregate("SUM", s.base)
		if err != nil {
			return nil, err
		}
		rows, err := aggregate("COUNT", s.base)
		if err != nil {
			return nil, err
		}
		e, err := expr.Cast(o.b.env.Expr, rows, expr.TDecimal(20, 0))
		if err == nil {
			e, err = expr.Call(o.b.env.Expr, "*", e, expr.Literal(expr.IntValue(s.add)))
		}
		if err == nil {
			e, err = expr.Call(o.b.env.Expr, "+", sum, e)
		}
		if err == nil {
			e, err = expr.Cast(o.b.env.Expr, e, g.Call.Type())
		}
		if err != nil {
			return nil, err
		}
		p.Items = append(p.Items, Item{ID: g.ID, Expr: e})
	}
	return p, nil
}

// shiftedSum is SUM(base + add); base is nil for others.
type shiftedSum struct {
	base expr.Expr
	add  int64
}

func (o *optimizer) shifted(g Agg) (none shiftedSum) {
	if len(g.Args) != 1 {
		return none
	}
	x := g.Args[0]
	plain, err := expr.NewAggregate(o.b.env.Expr, expr.AggregateSpec{Name: "SUM", Args: g.Call.Args()})
	if err != nil || plain.Key() != g.Call.Key() || x.Type().Class != expr.Int || x.Type().Unsigned {
		return none
	}
	bare := func(e expr.Expr) expr.Expr {
		if c := expr.Converted(e); c != nil && c.Type().Class == expr.Int {
			return c
		}
		return e
	}
	column := func(e expr.Expr) bool {
		_, ok := plainColumn(e)
		return ok && e.Type().Class == expr.Int && e.Type().Width <= 4
	}
	constant := func(e expr.Expr) (int64, bool) {
		l, ok := e.(*expr.LiteralExpr)
		if !ok || l.Val.IsNull() || l.Val.Type.Class != expr.Int {
			return 0, false
		}
		c, ok := integerOf(l)
		return c, ok && c > -1<<31 && c < 1<<31
	}
	op := expr.Operator(x)
	if op != "+" && op != "-" || len(x.Children()) != 2 {
		if column(bare(x)) {
			return shiftedSum{bare(x), 0}
		}
		return none
	}
	l, r := bare(x.Children()[0]), bare(x.Children()[1])
	if c, ok := constant(r); ok && column(l) {
		if op == "-" {
			c = -c
		}
		return shiftedSum{l, c}
	}
	if c, ok := constant(l); ok && column(r) && op == "+" {
		return shiftedSum{r, c}
	}
	return none
}
