package plan

// limits moves limits towards the tables, so that less is read.
//
// Law: any offset+count rows of an input are enough for a limit without an
// order, when every row of the input gives a row. The limit itself stays. A
// scan is told only when it has no conditions: it counts rows before them.
func (o *optimizer) limits(n Node) Node {
	return each(n, func(n Node) Node {
		l, ok := n.(*Limit)
		if !ok || l.Count < 0 {
			return n
		}
		return l.With([]Node{enough(l.In, l.Count+l.Offset)})
	})
}

// enough tells n that rows of its output suffice.
func enough(n Node, rows int64) Node {
	switch n := n.(type) {
	case *Scan:
		if len(n.Conds) > 0 || n.Limit >= 0 && n.Limit <= rows {
			return n
		}
		c := *n
		c.Limit = rows
		return &c
	case *Project:
		return n.With([]Node{enough(n.In, rows)})
	case *SetOp:
		if n.Kind == Union && n.All {
			in := make([]Node, len(n.In))
			for i, x := range n.In {
				in[i] = &Limit{In: enough(x, rows), Count: rows}
			}
			return n.With(in)
		}
	}
	return n
}
