package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// prune drops columns that nothing above needs, down to the columns that scans
// read.
//
// Law: the columns in need keep their values; the number of rows does not
// change. DISTINCT and set operations that compare rows need all their columns.
func (o *optimizer) prune(n Node, need colSet) Node {
	with := func(es []expr.Expr) colSet {
		s := colSet{}
		for id := range need {
			s[id] = true
		}
		for _, e := range es {
			s.addOf(e)
		}
		return s
	}
	switch n := n.(type) {
	case *Scan:
		s := with(n.Conds)
		c := *n
		c.Cols = nil
		for _, col := range n.Cols {
			if s[col.ID] {
				c.Cols = append(c.Cols, col)
			}
		}
		return &c
	case *Values:
		return n
	case *SharedScan:
		c := &SharedScan{Of: n.Of}
		for _, col := range n.Cols {
			if need[col.ID] {
				c.Cols = append(c.Cols, col)
			}
		}
		return c
	case *Project:
		c := *n
		c.Items = nil
		s := colSet{}
		for _, it := range n.Items {
			if need[it.ID] {
				c.Items = append(c.Items, it)
				s.addOf(it.Expr)
			}
		}
		c.In = o.prune(n.In, s)
		return merged(&c)
	case *Aggregate:
		c := *n
		c.Aggs = nil
		s := colSet{}
		for _, k := range n.Keys {
			s.addOf(k.Expr)
		}
		for _, a := range n.Aggs {
			if need[a.ID] {
				c.Aggs = append(c.Aggs, a)
				for _, e := range a.Args {
					s.addOf(e)
				}
			}
		}
		c.In = o.prune(n.In, s)
		return &c
	case *Join:
		s := with(n.exprs())
		c := *n
		c.Left = o.narrow(o.prune(n.Left, s), s)
		c.Right = o.narrow(o.prune(n.Right, s), s)
		return &c
	case *Recursive:
		side := func(in Node) Node { return o.exact(o.prune(in, setOf(in.Output())), in.Output()) }
		return n.With([]Node{side(n.Anchor), side(n.Step)})
	case *WorkTable:
		return n
	case *Generate:
		s := with(n.exprs())
		return n.With([]Node{o.narrow(o.prune(n.In, s), s)})
	case *InOrder:
		s := setOf(nil)
		for _, it := range n.Items {
			s.addOf(it.Expr)
		}
		return n.With([]Node{o.narrow(o.prune(n.In, s), s)})
	case *OrElse:
		at := map[ColID]int{}
		for i, id := range n.Output() {
			at[id] = i
		}
		c := &OrElse{In: o.narrow(o.prune(n.In, need), need)}
		for _, r := range n.Rows {
			var row []expr.Expr
			for _, id := range c.In.Output() {
				row = append(row, r[at[id]])
			}
			c.Rows = append(c.Rows, row)
		}
		return c
	case *Window:
		c := *n
		c.Calls = nil
		for _, x := range n.Calls {
			if need[x.ID] {
				c.Calls = append(c.Calls, x)
			}
		}
		s := with(c.exprs())
		c.In = o.narrow(o.prune(n.In, s), s)
		return &c
	case *Sort:
		s := with(n.exprs())
		return n.With([]Node{o.narrow(o.prune(n.In, s), s)})
	case *Distinct:
		s := setOf(n.Output())
		return n.With([]Node{o.exact(o.prune(n.In, s), n.Output())})
	case *SetOp:
		c := *n
		c.In = nil
		keep := make([]int, 0, len(n.Cols))
		for i, id := range n.Cols {
			if need[id] || n.Kind != Union || !n.All {
				keep = append(keep, i)
			}
		}
		c.Cols = pickIDs(n.Cols, keep)
		for _, in := range n.In {
			ids := pickIDs(in.Output(), keep)
			c.In = append(c.In, o.exact(o.prune(in, setOf(ids)), ids))
		}
		return &c
	}
	s := with(n.exprs())
	n, _ = mapInputs(n, func(c Node) (Node, error) { return o.prune(c, s), nil })
	return n
}

func pickIDs(ids []ColID, at []int) []ColID {
	out := make([]ColID, len(at))
	for i, p := range at {
		out[i] = ids[p]
	}
	return out
}

// narrow drops the columns that are not in need, where operators would keep
// them in memory.
func (o *optimizer) narrow(n Node, need colSet) Node {
	var ids []ColID
	out := n.Output()
	for _, id := range out {
		if need[id] {
			ids = append(ids, id)
		}
	}
	if len(ids) == len(out) {
		return n
	}
	return o.exact(n, ids)
}

// exact gives exactly the columns ids, in this order.
func (o *optimizer) exact(n Node, ids []ColID) Node {
	out := n.Output()
	same := len(out) == len(ids)
	for i := 0; same && i < len(ids); i++ {
		same = out[i] == ids[i]
	}
	if same {
		return n
	}
	p := &Project{In: n}
	for _, id := range ids {
		p.Items = append(p.Items, Item{id, o.b.col(id)})
	}
	return merged(p)
}

// merged joins a projection of a projection into one, where no work is done
// twice by that: the lower one's columns that are computed are read once at
// most.
func merged(p *Project) Node {
	in, ok := p.In.(*Project)
	if !ok {
		return p
	}
	by := map[ColID]expr.Expr{}
	computed := map[ColID]bool{}
	for _, it := range in.Items {
		by[it.ID] = it.Expr
		if _, plain := plainColumn(it.Expr); !plain && !expr.IsConst(it.Expr) {
			computed[it.ID] = true
		}
	}
	uses := map[ColID]int{}
	for _, it := range p.Items {
		expr.Walk(it.Expr, func(x expr.Expr) bool {
			if id, ok := plainColumn(x); ok && computed[id] {
				uses[id]++
				if by[id].Traits()&expr.Volatile != 0 {
					uses[id] += 2
				}
			}
			return true
		})
	}
	for _, n := range uses {
		if n > 1 {
			return p
		}
	}
	c := &Project{In: in.In, Items: make([]Item, len(p.Items))}
	for i, it := range p.Items {
		c.Items[i] = Item{it.ID, substitute(it.Expr, by)}
	}
	return c
}
