package plan

// topN turns a limit of an ordering into a bounded one.
//
// Law: the first offset+count rows of an ordering are the same whether the rest
// is ordered or not. A projection between the two changes no rows' number or
// order.
func (o *optimizer) topN(n Node) Node {
	return each(n, func(n Node) Node {
		l, ok := n.(*Limit)
		if !ok || l.Count < 0 || l.Count+l.Offset > maxTopN {
			return n
		}
		switch in := l.In.(type) {
		case *Sort:
			return &TopN{In: in.In, Keys: in.Keys, Count: l.Count, Offset: l.Offset}
		case *Project:
			if s, ok := in.In.(*Sort); ok {
				return in.With([]Node{&TopN{In: s.In, Keys: s.Keys, Count: l.Count, Offset: l.Offset}})
			}
		}
		return n
	})
}

// maxTopN is the most rows for which selecting is worth more than sorting.
const maxTopN = 1 << 20
