package plan

import (
	"slices"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// setNode is a set operation, or a query of one.
type setNode struct {
	kind  SetKind
	all   bool
	sides []*setNode
	leaf  *result // a query, or an operation with types of its own once it is made
	items []Item  // of a leaf: its columns, converted
	pos   int
}

// setOp binds UNION, INTERSECT and EXCEPT, nested ones with it: columns are named
// after the first query's, and get a type that holds the values of all operands.
func (b *binder) setOp(q *syntax.SetOp, outer *scope, ctes *cte) (*result, error) {
	n, err := b.setTree(q, outer, ctes)
	if err != nil {
		return nil, err
	}
	return b.unifySets(n, expr.Unify)
}

func (b *binder) setTree(body syntax.QueryBody, outer *scope, ctes *cte) (*setNode, error) {
	q, ok := body.(*syntax.SetOp)
	if !ok {
		r, err := b.body(body, nil, nil, outer, ctes)
		return &setNode{leaf: r, pos: body.Pos()}, err
	}
	if b.depth++; b.depth > maxBlocks*16 {
		return nil, errs.UserAt(q.Pos(), errs.Syntax, "too many set operations in one query")
	}
	defer func() { b.depth-- }()
	n := &setNode{kind: SetKind(q.Kind), all: q.All, pos: q.Pos()}
	// A chain of one kind is one node.
	var sides []syntax.QueryBody
	at := syntax.QueryBody(q)
	for {
		s, ok := at.(*syntax.SetOp)
		if !ok || s.Kind != q.Kind || s.All != q.All || n.kind != Union && s != q {
			break
		}
		sides = append(sides, s.Right)
		at = s.Left
	}
	sides = append(sides, at)
	for i := len(sides) - 1; i >= 0; i-- {
		side, err := b.setTree(sides[i], outer, ctes)
		if err != nil {
			return nil, err
		}
		n.sides = append(n.sides, side)
		if len(side.first().cols) != len(n.first().cols) {
			return nil, errs.UserAt(sides[i].Pos(), errs.SetOpColumns, "The used SELECT statements have a different number of columns")
		}
	}
	return n, nil
}

// first is the first query, whose columns name the result's.
func (n *setNode) first() *result {
	for n.leaf == nil {
		n = n.sides[0]
	}
	return n.leaf
}

// merges tells whether the operands of a nested operation count as those of the
// one around it, which keeps duplicates or not, when types are found, as MySQL 9.7 merges them (asked by what
// mixed types come out as): a UNION into one that removes duplicates anyway, and
// UNION ALL into its like; INTERSECT where one of the two removes duplicates; the
// left side of EXCEPT. Others have types of their own: the rows of
// (decimals EXCEPT decimals) UNION texts are compared as decimals first.
func (n *setNode) merges(i int, all bool) bool {
	s := n.sides[i]
	if s.leaf != nil || s.kind != n.kind {
		return false
	}
	switch n.kind {
	case Union:
		return !all || s.all
	case Intersect:
		return !all || !s.all
	}
	return i == 0
}

// operands are what the columns of an operation get their types from, from left
// to right.
func (n *setNode) operands(all bool, out []*setNode) []*setNode {
	for i, s := range n.sides {
		if n.merges(i, all) {
			out = s.operands(all && s.all, out)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// combine makes a set operation of bound queries.
func (b *binder) combine(kind SetKind, all bool, rs []*result, pos int) (*result, error) {
	n := &setNode{kind: kind, all: all, pos: pos}
	for _, r := range rs {
		n.sides = append(n.sides, &setNode{leaf: r, pos: pos})
	}
	return b.unifySets(n, expr.Unify)
}

// unifySets gives the columns of an operation's operands their common types and
// makes the operations, the inner ones first.
func (b *binder) unifySets(n *setNode, unify func(*expr.Context, ...expr.Expr) ([]expr.Expr, expr.Type, error)) (*result, error) {
	ops := n.operands(n.all, nil)
	for _, o := range ops {
		if o.leaf == nil {
			r, err := b.unifySets(o, expr.UnifyInner)
			if err != nil {
				return nil, err
			}
			o.leaf = r
		}
	}
	var types []expr.Type
	for c := range n.first().cols {
		es := make([]expr.Expr, len(ops))
		nullable := false
		for i, o := range ops {
			es[i] = b.value(o.leaf, c)
			nullable = nullable || es[i].Type().Nullable
		}
		operands := slices.Clone(es)
		es, t, err := unify(b.env.Expr, es...)
		if err != nil {
			return nil, positioned(err, n.pos)
		}
		for i := range es {
			es[i] = expr.FloatInTexts(b.env.Expr, operands[i], es[i], t)
		}
		t.Nullable = nullable
		if t.Class == expr.Null { // NULLs only
			for i := range es {
				if es[i], err = expr.Cast(b.env.Expr, es[i], expr.TBytes(0)); err != nil {
					return nil, positioned(err, n.pos)
				}
			}
			t = expr.TBytes(0)
		}
		types = append(types, t)
		for i, o := range ops {
			id := b.newCol(Column{Name: o.leaf.cols[c].Name, Type: t})
			o.items = append(o.items, Item{id, es[i]})
		}
	}
	return b.operate(n, types), nil
}

// operate makes the node of an operation, whose queries are converted.
func (b *binder) operate(n *setNode, types []expr.Type) *result {
	if n.leaf != nil {
		return &result{node: &Project{In: n.leaf.node, Items: n.items}}
	}
	out := &result{}
	op := &SetOp{Kind: n.kind, All: n.all}
	names := n.first().cols
	for c, t := range types {
		t = t.OfField()
		id := b.newCol(Column{Name: names[c].Name, Type: t})
		op.Cols = append(op.Cols, id)
		out.cols = append(out.cols, b.cols[id])
		if !n.all {
			out.unique = append(out.unique, c)
		}
	}
	for _, s := range n.sides {
		r := b.operate(s, types)
		if s.leaf == nil {
			p := &Project{In: r.node}
			for _, c := range r.cols {
				p.Items = append(p.Items, Item{b.copyCol(c.ID), b.col(c.ID)})
			}
			r.node = p
		}
		op.In = append(op.In, r.node)
	}
	out.node = op
	return out
}

// valuesQuery binds VALUES ROW(…), ….
func (b *binder) valuesQuery(q *syntax.Values, outer *scope, ctes *cte) (*result, error) {
	bl := &block{b: b, outer: outer, ctes: ctes}
	s := &scope{bl: bl, clause: inFields, rel: &bl.rel, noAggs: true, noSubs: "correlated subqueries in VALUES"}
	rows := make([][]expr.Expr, len(q.Rows))
	for i, r := range q.Rows {
		if len(r) == 0 {
			return nil, errs.UserAt(q.Pos(), errs.EmptyValues, "Each row of a VALUES clause must have at least one column, unless when used as source in an INSERT statement.")
		}
		if len(r) != len(q.Rows[0]) {
			return nil, errs.UserAt(q.Pos(), errs.ColumnCount, "Column count doesn't match value count at row %d", i+1)
		}
		for _, e := range r {
			x, err := bl.bind(e, s)
			if err != nil {
				return nil, err
			}
			rows[i] = append(rows[i], x)
		}
	}
	return b.valueRows(rows, q.Pos())
}

// valueRows makes rows of expressions a table with columns column_0, column_1….
func (b *binder) valueRows(rows [][]expr.Expr, pos int) (*result, error) {
	out := &result{kept: true}
	v := &Values{Rows: make([][]expr.Expr, len(rows))}
	for c := range rows[0] {
		col := make([]expr.Expr, len(rows))
		nullable := false
		for i, r := range rows {
			col[i] = r[c]
			nullable = nullable || r[c].Type().Nullable
			if len(free(&Values{Rows: [][]expr.Expr{{r[c]}}})) > 0 {
				return nil, errs.Unsupportedf(pos, "columns of an outer query in VALUES")
			}
		}
		col, t, err := expr.Unify(b.env.Expr, col...)
		if err != nil {
			return nil, positioned(err, pos)
		}
		t.Nullable = nullable
		var texts []expr.Expr // of the values with their own digits
		if b.env.OwnDigits && b.depth == 1 && t.Class == expr.Decimal {
			for _, r := range rows {
				texts = append(texts, expr.Text(b.env.Expr, r[c]))
			}
		}
		id := b.newCol(Column{Name: valueName(c), Type: t})
		v.Cols = append(v.Cols, id)
		out.cols = append(out.cols, b.cols[id])
		for i, x := range col {
			v.Rows[i] = append(v.Rows[i], x)
		}
		if texts == nil {
			continue
		}
		id = b.newCol(Column{Name: valueName(c), Type: texts[0].Type()})
		v.Cols = append(v.Cols, id)
		for i, x := range texts {
			v.Rows[i] = append(v.Rows[i], x)
		}
		if out.texts == nil {
			out.texts = map[int]ColID{}
		}
		out.texts[c] = id
	}
	out.node = v
	return out, nil
}
