package plan

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/scan/expr"
)

// This file is the general way of unnesting subqueries, which decorrelate.go
// explains: the domain D of outer values is pushed down to where it is needed.

// unnest makes a plan independent of left: it gives the rows of right for each
// distinct combination of the left columns that right needs, and the keys by
// which they belong to left's rows.
func (b *binder) unnest(n, right Node, left colSet, pos int) (Node, []EquiKey, error) {
	d, keys, err := b.domainOf(n, free(right), pos)
	if err != nil {
		return nil, nil, err
	}
	out, err := d.push(right)
	return out, keys, err
}

// domainOf gives the distinct combinations of those columns of n that are
// needed, and the keys by which they belong to n's rows: each row has exactly
// one. pos is the place in the statement that errors name.
func (b *binder) domainOf(n Node, needed colSet, pos int) (*domain, []EquiKey, error) {
	if volatile(n) {
		return nil, nil, errs.Unsupportedf(pos, "this correlated subquery beside RAND() and its like")
	}
	d := &domain{b: b, pos: pos, to: map[ColID]ColID{}}
	var keys []EquiKey
	p := &Project{In: n}
	for _, id := range n.Output() {
		if !needed[id] {
			continue
		}
		if b.cols[id].Type.Class == expr.Nested {
			return nil, nil, errs.Unsupportedf(pos, "parts of the outer query's nested columns in this correlated subquery")
		}
		c := b.copyCol(id)
		d.from, d.cols = append(d.from, id), append(d.cols, c)
		d.to[id] = c
		p.Items = append(p.Items, Item{c, b.col(id)})
		switch b.cols[id].Type.Class {
		case expr.String, expr.JSON:
			// Values that are equal may be different texts, which the subquery may
			// show or look into: the bytes tell them apart.
			x, err := expr.Cast(b.env.Expr, b.col(id), expr.TBytes(-1))
			if err != nil {
				return nil, nil, err
			}
			k := b.newCol(Column{Name: b.cols[id].Name, Type: x.Type()})
			d.from, d.cols = append(d.from, b.copyCol(k)), append(d.cols, k)
			p.Items = append(p.Items, Item{k, x})
			keys = append(keys, EquiKey{L: x, R: b.col(k), NullSafe: true})
		default:
			keys = append(keys, EquiKey{L: b.col(id), R: b.col(c), NullSafe: true})
		}
	}
	d.node = &Distinct{In: p}
	return d, keys, nil
}

func volatile(n Node) bool {
	for _, e := range n.exprs() {
		if e.Traits()&expr.Volatile != 0 {
			return true
		}
	}
	for _, c := range n.Inputs() {
		if volatile(c) {
			return true
		}
	}
	return false
}

// domain is the set of outer values while it is being pushed into a subquery:
// cols stand for the outer columns from.
type domain struct {
	b    *binder
	pos  int
	node Node
	from []ColID
	cols []ColID
	to   map[ColID]ColID
}

// copy returns the domain under new column ids, for a second place.
func (d *domain) copy() *domain {
	c := &domain{b: d.b, pos: d.pos, from: d.from, to: map[ColID]ColID{}}
	p := &Project{In: d.node}
	for i, id := range d.cols {
		n := d.b.copyCol(id)
		c.cols = append(c.cols, n)
		c.to[d.from[i]] = n
		p.Items = append(p.Items, Item{n, d.b.col(id)})
	}
	c.node = p
	return c
}

// own rewrites an expression from the outer columns to the domain's.
func (d *domain) own(e expr.Expr) expr.Expr {
	if len(expr.ColumnsOf(e)) == 0 {
		return e
	}
	return expr.Remap(e, func(id int) int {
		if c, ok := d.to[id]; ok {
			return c
		}
		return id
	})
}

func (d *domain) needs(n Node) bool {
	for id := range free(n) {
		if _, ok := d.to[id]; ok {
			return true
		}
	}
	return false
}

// pass are items that carry the domain's columns through a projection.
func (d *domain) pass(items []Item) []Item {
	out := append([]Item(nil), items...)
	for _, id := range d.cols {
		out = append(out, Item{id, d.b.col(id)})
	}
	return out
}

// same are the keys that make two domains' columns equal.
func (d *domain) same(o *domain) (keys []EquiKey) {
	for i, id := range d.cols {
		keys = append(keys, EquiKey{L: d.b.col(id), R: d.b.col(o.cols[i]), NullSafe: true})
	}
	return keys
}

// push returns the rows of n for every row of the domain, with the domain's
// columns.
func (d *domain) push(n Node) (Node, error) {
	if !d.needs(n) {
		return &Join{Kind: Inner, Left: d.node, Right: n}, nil
	}
	own := func(es []expr.Expr) []expr.Expr {
		out := make([]expr.Expr, len(es))
		for i, e := range es {
			out[i] = d.own(e)
		}
		return out
	}
	switch n := n.(type) {
	case *Filter:
		in, err := d.push(n.In)
		if err != nil {
			return nil, err
		}
		return &Filter{In: in, Conds: own(n.Conds)}, nil
	case *Project:
		in, err := d.push(n.In)
		if err != nil {
			return nil, err
		}
		c := n.withExprs(own(n.exprs())).(*Project)
		c.In, c.Items = in, d.pass(c.Items)
		return c, nil
	case *Sort:
		return d.push(n.In)
	case *Distinct:
		in, err := d.push(n.In)
		if err != nil {
			return nil, err
		}
		return &Distinct{In: in}, nil
	case *Limit:
		if oneRow(n.In) && n.Offset == 0 && n.Count != 0 {
			return d.push(n.In)
		}
		return d.pushLimit(n, own)
	case *Window:
		in, err := d.push(n.In)
		if err != nil {
			return nil, err
		}
		c := n.withExprs(own(n.exprs())).(*Window)
		c.In, c.Partition = in, append(append([]expr.Expr(nil), c.Partition...), d.exprs()...)
		return c, nil
	case *Expand:
		in, err := d.push(n.In)
		if err != nil {
			return nil, err
		}
		return n.withExprs(own(n.exprs())).With([]Node{in}), nil
	case *Generate:
		in, err := d.push(n.In)
		if err != nil {
			return nil, err
		}
		return n.withExprs(own(n.exprs())).With([]Node{in}), nil
	case *OrElse:
		return d.pushOrElse(n)
	case *Aggregate:
		return d.pushAggregate(n, own)
	case *Join:
		return d.pushJoin(n, own)
	case *SetOp:
		c := &SetOp{Kind: n.Kind, All: n.All, Cols: append(append([]ColID(nil), n.Cols...), d.cols...)}
		for i, in := range n.In {
			at := d
			if i > 0 {
				at = d.copy()
			}
			x, err := at.push(in)
			if err != nil {
				return nil, err
			}
			// The inputs' columns are taken by position.
			p := &Project{In: x}
			for _, id := range append(append([]ColID(nil), in.Output()...), at.cols...) {
				p.Items = append(p.Items, Item{d.b.copyCol(id), d.b.col(id)})
			}
			c.In = append(c.In, p)
		}
		out := &Project{In: c}
		for _, id := range n.Cols {
			out.Items = append(out.Items, Item{id, d.b.col(id)})
		}
		out.Items = d.pass(out.Items)
		return out, nil
	}
	return nil, errs.Unsupportedf(d.pos, "%s in a correlated subquery", describe(n))
}

// exprs are the domain's columns as expressions.
func (d *domain) exprs() (out []expr.Expr) {
	for _, id := range d.cols {
		out = append(out, d.b.col(id))
	}
	return out
}

// pushLimit numbers the rows of every row of the domain in their order and keeps
// those within the limit.
func (d *domain) pushLimit(n *Limit, own func([]expr.Expr) []expr.Expr) (Node, error) {
	in := n.In
	top, _ := in.(*Project)
	if top != nil {
		if _, sorted := top.In.(*Sort); sorted {
			in = top.In
		} else {
			top = nil
		}
	}
	w := &Window{Partition: d.exprs()}
	if s, ok := in.(*Sort); ok {
		in, w.Order = s.In, withSort(s.Keys, own(sortExprs(s.Keys)))
	}
	var err error
	if w.In, err = d.push(in); err != nil {
		return nil, err
	}
	id := d.b.newCol(Column{Name: "row_number", Type: expr.TUint64.NotNull()})
	w.Calls = []WindowCall{{ID: id, Name: "ROW_NUMBER"}}
	var conds []expr.Expr
	compare := func(op string, n int64) {
		if err == nil {
			var c expr.Expr
			c, err = expr.Call(d.b.env.Expr, op, d.b.col(id), expr.Literal(expr.IntValue(n)))
			conds = append(conds, c)
		}
	}
	compare(">", n.Offset)
	if n.Count >= 0 {
		compare("<=", n.Offset+n.Count)
	}
	if err != nil {
		return nil, err
	}
	out := Node(&Filter{In: w, Conds: conds})
	if top != nil {
		c := top.withExprs(own(top.exprs())).(*Project)
		c.In, c.Items = out, d.pass(c.Items)
		return c, nil
	}
	p := &Project{In: out}
	for _, id := range n.Output() {
		p.Items = append(p.Items, Item{id, d.b.col(id)})
	}
	p.Items = d.pass(p.Items)
	return p, nil
}

// describe names what cannot be unnested.
func describe(n Node) string {
	switch n.(type) {
	case *TopN:
		return "LIMIT"
	case *Values:
		return "VALUES"
	}
	return "this construct"
}

func (d *domain) pushAggregate(n *Aggregate, own func([]expr.Expr) []expr.Expr) (Node, error) {
	in, err := d.push(n.In)
	if err != nil {
		return nil, err
	}
	c := n.withExprs(own(n.exprs())).(*Aggregate)
	c.In = in
	if len(n.Keys) > 0 {
		c.Keys = d.pass(c.Keys)
		// Grouping makes columns of its own: the keys keep the domain's ids.
		return c, nil
	}
	// Without keys there is a row for every row of the domain, even when no row
	// of the input belongs to it.
	o := d.copy()
	c.Keys = d.pass(nil)
	items, err := d.b.orEmpty(c, o.cols)
	if err != nil {
		return nil, err
	}
	j := &Join{Kind: Left, Left: o.node, Right: c, Keys: o.same(d)}
	if items == nil {
		for _, a := range c.Aggs {
			items = append(items, Item{a.ID, d.b.col(a.ID)})
		}
	} else {
		items = items[:len(items)-len(o.cols)]
	}
	for i, id := range d.cols {
		items = append(items, Item{id, d.b.col(o.cols[i])})
	}
	return &Project{In: j, Items: items}, nil
}

// pushOrElse gives every row of the domain without rows of its own the row that
// stands for none.
func (d *domain) pushOrElse(n *OrElse) (Node, error) {
	if len(n.Rows) != 1 {
		return nil, errs.Unsupportedf(d.pos, "two grouping sets without keys in a correlated subquery")
	}
	in, err := d.push(n.In)
	if err != nil {
		return nil, err
	}
	b := d.b
	o := d.copy()
	found := b.newCol(Column{Name: "found", Type: expr.TBigInt})
	right := &Project{In: in, Items: []Item{{found, expr.Literal(expr.IntValue(1))}}}
	none, err := expr.Call(b.env.Expr, "IS NULL", b.col(found))
	if err != nil {
		return nil, err
	}
	out := &Project{}
	for i, id := range n.Output() {
		c := b.copyCol(id)
		b.cols[c].Type.Nullable = true
		right.Items = append(right.Items, Item{c, b.col(id)})
		x, err := expr.Call(b.env.Expr, "CASE", none, n.Rows[0][i], b.col(c))
		if err != nil {
			return nil, err
		}
		if !expr.Same(x.Type(), b.cols[id].Type) {
			if x, err = expr.Cast(b.env.Expr, x, b.cols[id].Type); err != nil {
				return nil, err
			}
		}
		out.Items = append(out.Items, Item{id, x})
	}
	right.Items = d.pass(right.Items)
	out.In = &Join{Kind: Left, Left: o.node, Right: right, Keys: o.same(d)}
	for i, id := range d.cols {
		out.Items = append(out.Items, Item{id, b.col(o.cols[i])})
	}
	return out, nil
}

func (d *domain) pushJoin(n *Join, own func([]expr.Expr) []expr.Expr) (Node, error) {
	n = asLeft(n)
	if n.Kind == Full {
		return d.pushFull(n, own)
	}
	c := n.withExprs(own(n.exprs())).(*Join)
	var err error
	switch {
	case !d.needs(n.Right):
		c.Left, err = d.push(n.Left)
	case n.Kind == Inner && !d.needs(n.Left):
		c.Right, err = d.push(n.Right)
	default:
		o := d.copy()
		if c.Left, err = d.push(n.Left); err != nil {
			return nil, err
		}
		if c.Right, err = o.push(n.Right); err != nil {
			return nil, err
		}
		c.Keys = append(append([]EquiKey(nil), c.Keys...), d.same(o)...)
	}
	return c, err
}

// asLeft makes a left join of a right one.
func asLeft(n *Join) *Join {
	if n.Kind != Right {
		return n
	}
	c := *n
	c.Kind, c.Left, c.Right, c.Keys = Left, n.Right, n.Left, nil
	for _, k := range n.Keys {
		c.Keys = append(c.Keys, EquiKey{L: k.R, R: k.L, NullSafe: k.NullSafe})
	}
	return &c
}

// pushFull gives both sides of a full join the domain: a row without a match is
// one of the row of the domain that its own side has.
func (d *domain) pushFull(n *Join, own func([]expr.Expr) []expr.Expr) (Node, error) {
	// The conditions read one side's copy of the domain: a pair of rows has both.
	l, r := d.copy(), d.copy()
	c := n.withExprs(own(n.exprs())).(*Join)
	c = mapExprs(c, func(e expr.Expr) expr.Expr {
		return expr.Remap(e, func(id int) int {
			for i, x := range d.cols {
				if x == id {
					return l.cols[i]
				}
			}
			return id
		})
	}).(*Join)
	var err error
	if c.Left, err = l.push(n.Left); err != nil {
		return nil, err
	}
	if c.Right, err = r.push(n.Right); err != nil {
		return nil, err
	}
	c.Keys = append(append([]EquiKey(nil), c.Keys...), l.same(r)...)
	p := &Project{In: c}
	for _, id := range n.Output() {
		p.Items = append(p.Items, Item{id, d.b.col(id)})
	}
	d.b.nullable(l.cols)
	d.b.nullable(r.cols)
	for i, id := range d.cols {
		x, err := expr.Call(d.b.env.Expr, "COALESCE", d.b.col(l.cols[i]), d.b.col(r.cols[i]))
		if err != nil {
			return nil, err
		}
		d.b.cols[id].Type.Nullable = true
		if !expr.Same(x.Type(), d.b.cols[id].Type) {
			if x, err = expr.Cast(d.b.env.Expr, x, d.b.cols[id].Type); err != nil {
				return nil, err
			}
		}
		p.Items = append(p.Items, Item{id, x})
	}
	return p, nil
}
