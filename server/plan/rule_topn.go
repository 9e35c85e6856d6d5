package plan

import "github.com/thermocline/thermocline/scan/expr"

// topN turns a limit of an ordering into a bounded one, below the projections that do
// not compute what it orders by.
//
// Law: the first offset+count rows of an ordering are the same whether the rest
// is ordered or not. A projection changes no rows' number or order.
func (o *optimizer) topN(n Node) Node {
	return each(n, func(n Node) Node {
		l, ok := n.(*Limit)
		if !ok || l.Count < 0 || l.Count+l.Offset > maxTopN {
			return n
		}
		switch in := l.In.(type) {
		case *Sort:
			return below(&TopN{In: in.In, Keys: in.Keys, Count: l.Count, Offset: l.Offset})
		case *Project:
			if s, ok := in.In.(*Sort); ok {
				return merged(in.With([]Node{below(&TopN{In: s.In, Keys: s.Keys, Count: l.Count, Offset: l.Offset})}).(*Project))
			}
		}
		return n
	})
}

// below puts a bounded ordering below the projection that it orders.
func below(t *TopN) Node {
	p, ok := t.In.(*Project)
	if !ok {
		return t
	}
	by := map[ColID]expr.Expr{}
	for _, it := range p.Items {
		if it.Expr.Traits()&expr.Volatile != 0 {
			return t
		}
		by[it.ID] = it.Expr
	}
	c := *t
	c.In, c.Keys = p.In, append([]SortKey(nil), t.Keys...)
	for i, k := range c.Keys {
		id, ok := plainColumn(k.Expr)
		if !ok {
			return t
		}
		if _, ok := plainColumn(by[id]); !ok {
			return t
		}
		c.Keys[i].Expr = by[id]
	}
	return p.With([]Node{below(&c)})
}

// maxTopN is the most rows for which selecting is worth more than sorting.
const maxTopN = 1 << 20
