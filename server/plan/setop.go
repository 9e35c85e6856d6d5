package plan

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// setOp binds UNION, INTERSECT and EXCEPT. Columns are named after the left
// side's and get a type that holds both sides' values.
func (b *binder) setOp(q *syntax.SetOp, outer *scope, ctes *cte) (*result, error) {
	if b.depth++; b.depth > maxBlocks*16 {
		return nil, errs.UserAt(q.Pos(), errs.Syntax, "too many set operations in one query")
	}
	defer func() { b.depth-- }()
	kind := SetKind(q.Kind)
	// A chain of one kind is one node.
	var sides []syntax.QueryBody
	at := syntax.QueryBody(q)
	for {
		s, ok := at.(*syntax.SetOp)
		if !ok || s.Kind != q.Kind || s.All != q.All || kind != Union && s != q {
			break
		}
		sides = append(sides, s.Right)
		at = s.Left
	}
	sides = append(sides, at)
	var rs []*result
	for i := len(sides) - 1; i >= 0; i-- {
		r, err := b.body(sides[i], nil, nil, outer, ctes)
		if err != nil {
			return nil, err
		}
		if len(rs) > 0 && len(r.cols) != len(rs[0].cols) {
			return nil, errs.UserAt(sides[i].Pos(), errs.SetOpColumns, "The used SELECT statements have a different number of columns")
		}
		rs = append(rs, r)
	}
	return b.combine(kind, q.All, rs, q.Pos())
}

// combine makes a set operation of bound queries.
func (b *binder) combine(kind SetKind, all bool, rs []*result, pos int) (*result, error) {
	n := &SetOp{Kind: kind, All: all}
	items := make([][]Item, len(rs))
	out := &result{}
	for c := range rs[0].cols {
		es := make([]expr.Expr, len(rs))
		nullable := false
		for i, r := range rs {
			es[i] = b.value(r, c)
			nullable = nullable || es[i].Type().Nullable
		}
		es, t, err := expr.Unify(b.env.Expr, es...)
		if err != nil {
			return nil, positioned(err, pos)
		}
		t.Nullable = nullable
		for i, r := range rs {
			id := b.newCol(Column{Name: r.cols[c].Name, Type: t})
			items[i] = append(items[i], Item{id, es[i]})
		}
		id := b.newCol(Column{Name: rs[0].cols[c].Name, Type: t})
		n.Cols = append(n.Cols, id)
		out.cols = append(out.cols, b.cols[id])
	}
	for i, r := range rs {
		n.In = append(n.In, &Project{In: r.node, Items: items[i]})
	}
	out.node = n
	if !all {
		for i := range out.cols {
			out.unique = append(out.unique, i)
		}
	}
	return out, nil
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
