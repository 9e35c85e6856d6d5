package plan

// equiKeys takes the equalities out of the conditions of joins, for hash joins.
//
// Law: a key compares what the condition compared, in the same type. For marks,
// where NULL matters, a comparison becomes a key only when it cannot be NULL or
// is the only one.
func (o *optimizer) equiKeys(n Node) Node {
	return each(n, func(n Node) Node {
		j, ok := n.(*Join)
		if !ok || j.NullAware {
			return n
		}
		left, right := setOf(j.Left.Output()), setOf(j.Right.Output())
		c := *j
		c.Keys, c.Conds, c.MarkConds = append([]EquiKey(nil), j.Keys...), nil, nil
		for _, x := range j.Conds {
			if k, ok := equiKey(x, left, right); ok {
				c.Keys = append(c.Keys, k)
			} else {
				c.Conds = append(c.Conds, x)
			}
		}
		if k, ok := o.onlyMark(j); ok {
			c.Keys, c.NullAware = []EquiKey{k}, true
			return &c
		}
		sure := neverNull(j.MarkConds)
		for _, x := range j.MarkConds {
			if k, ok := equiKey(x, left, right); ok && sure {
				c.Keys = append(c.Keys, k)
			} else if sure {
				c.Conds = append(c.Conds, x)
			} else {
				c.MarkConds = append(c.MarkConds, x)
			}
		}
		return &c
	})
}
