package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// distincts groups twice when all aggregates of a grouping are DISTINCT over the same
// arguments: first by the keys and the arguments, then by the keys. The first grouping
// is divided among workers as any other; a set of values a group would be merged by one.
//
// Law: after the first grouping each value of a group is there once. NULL is one of
// them, which COUNT, SUM and AVG pass over.
func (o *optimizer) distincts(n Node) Node {
	return each(n, func(n Node) Node {
		a, ok := n.(*Aggregate)
		if !ok || len(a.Aggs) == 0 {
			return n
		}
		same := func(x, y []expr.Expr) bool {
			for i := range x {
				if len(x) != len(y) || x[i].Key() != y[i].Key() {
					return false
				}
			}
			return len(x) > 0
		}
		calls := make([]expr.Aggregate, len(a.Aggs))
		for i, g := range a.Aggs {
			if calls[i], ok = expr.EachOnce(g.Call); !ok || !same(g.Args, a.Aggs[0].Args) {
				return n
			}
			for _, x := range g.Args {
				if x.Traits()&expr.Volatile != 0 {
					return n
				}
			}
		}
		in := &Aggregate{In: a.In}
		ids := map[string]ColID{}
		key := func(x expr.Expr, name string) expr.Expr {
			id, ok := ids[x.Key()]
			if !ok || x.Traits()&expr.Volatile != 0 {
				c := Column{Name: name, Type: x.Type()}
				if of, ok := plainColumn(x); ok {
					c = o.b.cols[of]
				}
				id = o.b.newCol(c)
				ids[x.Key()] = id
				in.Keys = append(in.Keys, Item{ID: id, Expr: x})
			}
			return o.b.col(id)
		}
		out := &Aggregate{In: in}
		for _, k := range a.Keys {
			out.Keys = append(out.Keys, Item{ID: k.ID, Expr: key(k.Expr, "key")})
		}
		args := make([]expr.Expr, len(a.Aggs[0].Args))
		for i, x := range a.Aggs[0].Args {
			args[i] = key(x, "value")
		}
		for i, g := range a.Aggs {
			out.Aggs = append(out.Aggs, Agg{ID: g.ID, Call: calls[i], Args: args})
		}
		return out
	})
}
