package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// This file turns correlated subqueries into joins.
//
// Where the correlation is a condition that can be pulled up to the join, it
// becomes a condition of the join. Where a correlated aggregate is compared by
// equality, it becomes a grouping by the inner side (Kim). Everything else is
// unnested in general (Neumann and Kemper, "Unnesting Arbitrary Queries",
// 2015; decorrelate_domain.go): the distinct values D of the outer columns are joined to the innermost
// place that needs them, carried up, and joined back to the outer rows, with
// NULL equal to NULL.
//
// A limit becomes a condition on the number of the row among those of its outer
// values.
//
// Law: for every outer row the joined columns are what the subquery gives for
// it.

// attach joins subqueries to the rows of n.
func (b *binder) attach(n Node, list []*apply) (Node, error) {
	for _, a := range list {
		var err error
		if a.kind == applyScalar {
			n, err = b.attachScalar(n, a)
		} else {
			n, err = b.attachMark(n, a)
		}
		if err != nil {
			return nil, err
		}
	}
	return n, nil
}

// correlated reports whether a plan needs columns of left.
func correlated(n Node, left colSet) bool {
	for id := range free(n) {
		if left[id] {
			return true
		}
	}
	return false
}

// attachMark joins EXISTS and IN.
func (b *binder) attachMark(n Node, a *apply) (Node, error) {
	left := setOf(n.Output())
	right := a.plan
	// How many rows there are does not matter, nor their order.
	for {
		switch x := right.(type) {
		case *Sort:
			right = x.In
			continue
		case *Distinct:
			right = x.In
			continue
		case *Limit:
			if a.kind == applyExists && x.Offset == 0 && x.Count != 0 {
				right = x.In
				continue
			}
		case *Project:
			if a.kind == applyExists {
				if _, one := x.In.(*Values); !one {
					right = x.In
					continue
				}
			}
		}
		break
	}
	j := &Join{Kind: Mark, Left: n, Right: right, Mark: a.id, MarkConds: a.marks}
	if !correlated(right, left) {
		return j, nil
	}
	if in, conds, ok := pull(right, left); ok {
		j.Right, j.Conds = in, conds
		return j, nil
	}
	var err error
	j.Right, j.Keys, err = b.unnest(n, right, left, a.pos)
	return j, err
}

// attachScalar joins a subquery of at most one row.
func (b *binder) attachScalar(n Node, a *apply) (Node, error) {
	left := setOf(n.Output())
	right := a.plan
	kind := Single
	if oneRow(right) {
		kind = Left
	}
	if !correlated(right, left) {
		return &Join{Kind: kind, Left: n, Right: right}, nil
	}
	if joined, ok, err := b.kim(n, right, left); ok || err != nil {
		return joined, err
	}
	if in, conds, ok := pull(right, left); ok {
		return &Join{Kind: Single, Left: n, Right: in, Conds: conds}, nil
	}
	in, keys, err := b.unnest(n, right, left, a.pos)
	if err != nil {
		return nil, err
	}
	return &Join{Kind: kind, Left: n, Right: in, Keys: keys}, nil
}

// oneRow reports whether a plan never gives more than one row.
func oneRow(n Node) bool {
	switch n := n.(type) {
	case *Aggregate:
		return len(n.Keys) == 0
	case *Project:
		return oneRow(n.In)
	case *Filter:
		return oneRow(n.In)
	case *Sort:
		return oneRow(n.In)
	case *Distinct:
		return oneRow(n.In)
	case *Limit:
		return n.Count == 1 && n.Offset == 0 || oneRow(n.In)
	case *Values:
		return len(n.Rows) <= 1
	case *CountRows:
		return true
	case *SharedScan:
		return oneRow(n.Of.Plan)
	}
	return false
}

// pull takes the conditions that need columns of left out of a plan. The plan
// that is left does not depend on left; it gives the rows of the first, before
// the conditions, and the columns that they need.
func pull(n Node, left colSet) (Node, []expr.Expr, bool) {
	if !correlated(n, left) {
		return n, nil, true
	}
	switch n := n.(type) {
	case *Filter:
		in, conds, ok := pull(n.In, left)
		if !ok {
			return nil, nil, false
		}
		var keep []expr.Expr
		for _, c := range n.Conds {
			if c.Traits()&expr.Volatile != 0 {
				return nil, nil, false
			}
			if reads(c, left) {
				conds = append(conds, c)
			} else {
				keep = append(keep, c)
			}
		}
		if keep != nil {
			in = &Filter{In: in, Conds: keep}
		}
		return in, conds, true
	case *Project:
		for _, it := range n.Items {
			if reads(it.Expr, left) {
				return nil, nil, false
			}
		}
		in, conds, ok := pull(n.In, left)
		if !ok {
			return nil, nil, false
		}
		items := append([]Item(nil), n.Items...)
		have := setOf(n.Output())
		for _, c := range conds {
			for _, id := range expr.ColumnsOf(c) {
				if !left[id] && !have[id] {
					have[id] = true
					items = append(items, Item{id, findColumn(c, id)})
				}
			}
		}
		return &Project{In: in, Items: items}, conds, true
	case *Sort:
		return pull(n.In, left)
	case *Join:
		n = asLeft(n)
		if n.Kind != Inner {
			if correlated(n.Right, left) || n.Kind == Full {
				return nil, nil, false
			}
			for _, e := range n.exprs() {
				if reads(e, left) {
					return nil, nil, false
				}
			}
			in, conds, ok := pull(n.Left, left)
			if !ok {
				return nil, nil, false
			}
			c := *n
			c.Left = in
			return &c, conds, true
		}
		l, lc, ok := pull(n.Left, left)
		if !ok {
			return nil, nil, false
		}
		r, rc, ok := pull(n.Right, left)
		if !ok {
			return nil, nil, false
		}
		c := *n
		c.Left, c.Right, c.Conds = l, r, nil
		conds := append(lc, rc...)
		for _, x := range n.Conds {
			if x.Traits()&expr.Volatile != 0 {
				return nil, nil, false
			}
			if reads(x, left) {
				conds = append(conds, x)
			} else {
				c.Conds = append(c.Conds, x)
			}
		}
		for _, k := range n.Keys {
			if reads(k.L, left) || reads(k.R, left) {
				return nil, nil, false
			}
		}
		return &c, conds, true
	}
	return nil, nil, false
}

// reads reports whether e reads a column of s.
func reads(e expr.Expr, s colSet) bool {
	for _, id := range expr.ColumnsOf(e) {
		if s[id] {
			return true
		}
	}
	return false
}

// findColumn gives the expression of a column that e reads.
func findColumn(e expr.Expr, id ColID) expr.Expr {
	var out expr.Expr
	expr.Walk(e, func(x expr.Expr) bool {
		if c, ok := x.(*expr.ColumnExpr); ok && c.Pos == id {
			out = c
		}
		return out == nil
	})
	return out
}

// kim joins projections of an aggregate without keys, whose input depends on
// left by equalities of an inner and an outer expression only: the aggregate is
// grouped by the inner expressions.
func (b *binder) kim(n, right Node, left colSet) (Node, bool, error) {
	var tops []*Project
	at := right
	for {
		p, ok := at.(*Project)
		if !ok {
			break
		}
		tops = append(tops, p)
		at = p.In
	}
	agg, ok := at.(*Aggregate)
	if !ok || len(agg.Keys) > 0 {
		return nil, false, nil
	}
	for _, e := range agg.exprs() {
		if reads(e, left) {
			return nil, false, nil
		}
	}
	in, conds, ok := pull(agg.In, left)
	if !ok {
		return nil, false, nil
	}
	inner := setOf(in.Output())
	g := &Aggregate{In: in, Aggs: append([]Agg(nil), agg.Aggs...)}
	j := &Join{Kind: Left, Left: n}
	for _, c := range conds {
		k, ok := equiKey(c, left, inner)
		if !ok {
			return nil, false, nil
		}
		id := b.newCol(Column{Name: "key", Type: k.R.Type()})
		g.Keys = append(g.Keys, Item{id, k.R})
		j.Keys = append(j.Keys, EquiKey{L: k.L, R: b.col(id), NullSafe: k.NullSafe})
	}
	j.Right = g
	items, err := b.orEmpty(g, n.Output())
	if err != nil {
		return nil, false, err
	}
	var out Node = j
	if items != nil {
		out = &Project{In: j, Items: items}
	}
	// The projections stand above the join, beside the outer columns.
	for i := len(tops) - 1; i >= 0; i-- {
		p := &Project{In: out, Items: append([]Item(nil), tops[i].Items...)}
		for _, id := range n.Output() {
			p.Items = append(p.Items, Item{id, b.col(id)})
		}
		out = p
	}
	return out, true, nil
}

// orEmpty prepares a grouping to be joined by an outer join instead of an
// aggregate without keys: where a row finds no group, its aggregates are those
// of no rows. It renames the aggregates of g and returns the items that restore
// them, beside the columns keep. Nil: nothing is needed, NULL is right.
func (b *binder) orEmpty(g *Aggregate, keep []ColID) ([]Item, error) {
	var items []Item
	var found expr.Expr // NULL where no group was found
	for i := range g.Aggs {
		a := &g.Aggs[i]
		empty, err := b.emptyValue(a.Call)
		if err != nil {
			return nil, err
		}
		if empty.IsNull() {
			continue
		}
		if found == nil {
			call, err := expr.NewAggregate(b.env.Expr, expr.AggregateSpec{Name: "COUNT"})
			if err != nil {
				return nil, err
			}
			t := call.Type()
			t.Nullable = true
			id := b.newCol(Column{Name: "count(*)", Type: t})
			g.Aggs = append(g.Aggs, Agg{ID: id, Call: call, Args: call.Args()})
			found = b.col(id)
			a = &g.Aggs[i]
		}
		t := b.cols[a.ID].Type
		t.Nullable = true
		inner := b.newCol(Column{Name: b.cols[a.ID].Name, Type: t})
		none, err := expr.Call(b.env.Expr, "IS NULL", found)
		if err != nil {
			return nil, err
		}
		x, err := expr.Call(b.env.Expr, "CASE", none, expr.Literal(empty), b.col(inner))
		if err != nil {
			return nil, err
		}
		if !expr.Same(x.Type(), b.cols[a.ID].Type) {
			if x, err = expr.Cast(b.env.Expr, x, b.cols[a.ID].Type); err != nil {
				return nil, err
			}
		}
		items = append(items, Item{a.ID, x})
		a.ID = inner
	}
	if items == nil {
		return nil, nil
	}
	restored := map[ColID]bool{}
	for _, it := range items {
		restored[it.ID] = true
	}
	for _, a := range g.Aggs {
		if !restored[a.ID] {
			items = append(items, Item{a.ID, b.col(a.ID)})
		}
	}
	for _, id := range keep {
		items = append(items, Item{id, b.col(id)})
	}
	return items, nil
}

// equiKey reads a condition as an equality of an expression of left and one of
// right, in this order.
func equiKey(c expr.Expr, left, right colSet) (EquiKey, bool) {
	op := expr.Operator(c)
	if op != "=" && op != "<=>" || c.Traits()&expr.Volatile != 0 || len(c.Children()) != 2 {
		return EquiKey{}, false
	}
	x, y := c.Children()[0], c.Children()[1]
	if !expr.Same(x.Type(), y.Type()) || x.Type().Class == expr.Nested || x.Type().Class == expr.Null {
		return EquiKey{}, false
	}
	side := func(e expr.Expr, s colSet) bool { return len(expr.ColumnsOf(e)) > 0 && s.covers(e) }
	switch {
	case side(x, left) && side(y, right):
		return EquiKey{L: x, R: y, NullSafe: op == "<=>"}, true
	case side(y, left) && side(x, right):
		return EquiKey{L: y, R: x, NullSafe: op == "<=>"}, true
	}
	return EquiKey{}, false
}
