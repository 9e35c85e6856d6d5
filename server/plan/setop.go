package plan

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// setNode is a set operation, or a query of one: a tree whose columns have one
// type throughout.
type setNode struct {
	kind  SetKind
	all   bool
	sides []*setNode
	leaf  *result // a query; nil for an operation
	items []Item  // of a query: its columns, converted
	pos   int
}

// setOp binds UNION, INTERSECT and EXCEPT, nested ones with it: columns are named
// after the first query's, and get a type that holds the values of all queries,
// as deep as they are nested.
func (b *binder) setOp(q *syntax.SetOp, outer *scope, ctes *cte) (*result, error) {
	n, err := b.setTree(q, outer, ctes)
	if err != nil {
		return nil, err
	}
	return b.unifySets(n)
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

// leaves are the queries, from left to right.
func (n *setNode) leaves() (out []*setNode) {
	if n.leaf != nil {
		return []*setNode{n}
	}
	for _, s := range n.sides {
		out = append(out, s.leaves()...)
	}
	return out
}

// combine makes a set operation of bound queries.
func (b *binder) combine(kind SetKind, all bool, rs []*result, pos int) (*result, error) {
	n := &setNode{kind: kind, all: all, pos: pos}
	for _, r := range rs {
		n.sides = append(n.sides, &setNode{leaf: r, pos: pos})
	}
	return b.unifySets(n)
}

// unifySets gives the columns of all queries their common types and makes the
// operations.
func (b *binder) unifySets(n *setNode) (*result, error) {
	leaves := n.leaves()
	var types []expr.Type
	for c := range n.first().cols {
		es := make([]expr.Expr, len(leaves))
		nullable := false
		for i, l := range leaves {
			es[i] = b.value(l.leaf, c)
			nullable = nullable || es[i].Type().Nullable
		}
		es, t, err := expr.Unify(b.env.Expr, es...)
		if err != nil {
			return nil, positioned(err, n.pos)
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
		for i, l := range leaves {
			id := b.newCol(Column{Name: l.leaf.cols[c].Name, Type: t})
			l.items = append(l.items, Item{id, es[i]})
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
	out := &result{}
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
		id := b.newCol(Column{Name: valueName(c), Type: t})
		v.Cols = append(v.Cols, id)
		out.cols = append(out.cols, b.cols[id])
		for i, x := range col {
			v.Rows[i] = append(v.Rows[i], x)
		}
	}
	out.node = v
	return out, nil
}
