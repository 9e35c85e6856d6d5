package plan

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// apply is a subquery of an expression that must be joined to the rows for
// which the expression is evaluated. The expression sees its columns.
type apply struct {
	kind  applyKind
	plan  Node
	id    ColID       // exists, in: the mark
	marks []expr.Expr // in: comparisons of the left operands with plan's columns
	pos   int
}

type applyKind uint8

const (
	applyExists applyKind = iota
	applyIn
	applyScalar // plan gives at most one row, else it is an error
)

// rewrite applies f to everything in the subquery that may refer to the outer
// query.
func (a *apply) rewrite(f func(expr.Expr) expr.Expr) {
	for i, m := range a.marks {
		a.marks[i] = f(m)
	}
	a.plan = mapTree(a.plan, f)
}

// mapTree applies f to all expressions of a plan.
func mapTree(n Node, f func(expr.Expr) expr.Expr) Node {
	n, _ = mapInputs(n, func(c Node) (Node, error) { return mapTree(c, f), nil })
	return mapExprs(n, f)
}

// free returns the columns that a plan refers to without making them: those of
// outer queries.
func free(n Node) colSet {
	out := colSet{}
	below := colSet{}
	for _, c := range n.Inputs() {
		for id := range free(c) {
			out[id] = true
		}
		for _, id := range c.Output() {
			below[id] = true
		}
	}
	switch n := n.(type) {
	case *Scan:
		below = setOf(n.Output())
	case *Generate:
		below = setOf(n.Output())
	}
	for _, e := range n.exprs() {
		for _, id := range expr.ColumnsOf(e) {
			if !below[id] {
				out[id] = true
			}
		}
	}
	return out
}

// add makes a subquery pending in the place where its expression stands.
func (s *scope) add(a *apply) error {
	if s.noSubs != "" {
		return errs.Unsupportedf(a.pos, "%s", s.noSubs)
	}
	switch {
	case s.inAgg, s.clause == inWhere, s.clause == inGroup, s.clause == inOn:
		s.bl.pre = append(s.bl.pre, a)
	default:
		s.bl.post = append(s.bl.post, a)
	}
	return nil
}

// flush joins pending subqueries to the block's rows.
func (bl *block) flush(list *[]*apply) error {
	n, err := bl.b.attach(bl.node, *list)
	if err != nil {
		return err
	}
	bl.node, *list = n, nil
	return nil
}

// subquery binds a query inside an expression.
func (s *scope) subquery(q *syntax.Query) (*result, error) {
	return s.bl.b.query(q, s, s.bl.ctes)
}

func operandCount(pos, n int) error {
	return errs.UserAt(pos, errs.OperandColumns, "Operand should contain %d column(s)", n)
}

// scalar binds (SELECT …) as a value.
func (s *scope) scalar(e *syntax.Subquery) (expr.Expr, error) {
	b := s.bl.b
	r, err := s.subquery(e.Query)
	if err != nil {
		return nil, err
	}
	if len(r.cols) != 1 {
		return nil, operandCount(e.Pos(), 1)
	}
	id, exact := r.exact[0]
	if !exact {
		id = r.cols[0].ID
	}
	var x expr.Expr
	if len(free(r.node)) == 0 {
		x = b.subplan(r.node, id, e.Pos())
	} else {
		ids, err := s.joined(r.node, []ColID{id}, e.Pos())
		if err != nil {
			return nil, err
		}
		x = b.col(ids[0])
	}
	if exact {
		x = expr.Rounded(b.env.Expr, x, nil, b.cols[r.cols[0].ID].Type)
	}
	return x, nil
}

// subplan makes a subquery that is run once.
func (b *binder) subplan(n Node, id ColID, pos int) *SubqueryExpr {
	t := b.cols[id].Type.OfExpression()
	t.Nullable = t.Nullable || !constantRow(n)
	b.subplans = append(b.subplans, &Subplan{Plan: n, Col: id, Type: t, Pos: pos})
	return &SubqueryExpr{Index: len(b.subplans) - 1, typ: t}
}

// constantRow reports whether a query reads no table and gives exactly one row.
func constantRow(n Node) bool {
	switch n := n.(type) {
	case *Project:
		return constantRow(n.In)
	case *Values:
		return len(n.Rows) == 1
	}
	return false
}

// joined makes a subquery of at most one row pending and returns its columns,
// which are NULL when it has none.
func (s *scope) joined(n Node, cols []ColID, pos int) ([]ColID, error) {
	b := s.bl.b
	top := &Project{In: n}
	var ids []ColID
	for _, c := range cols {
		t := b.cols[c].Type.OfExpression()
		t.Nullable = true
		id := b.newCol(Column{Name: b.cols[c].Name, Type: t})
		ids = append(ids, id)
		top.Items = append(top.Items, Item{id, b.col(c)})
	}
	return ids, s.add(&apply{kind: applyScalar, plan: top, pos: pos})
}

// exists binds EXISTS (SELECT …).
func (s *scope) exists(e *syntax.Exists) (expr.Expr, error) {
	b := s.bl.b
	r, err := s.subquery(e.Query)
	if err != nil {
		return nil, err
	}
	if len(free(r.node)) == 0 {
		count, err := expr.NewAggregate(b.env.Expr, expr.AggregateSpec{Name: "COUNT"})
		if err != nil {
			return nil, err
		}
		id := b.newCol(Column{Name: "count(*)", Type: count.Type()})
		n := b.subplan(&Aggregate{In: &Limit{In: r.node, Count: 1}, Aggs: []Agg{{ID: id, Call: count, Args: count.Args()}}}, id, e.Pos())
		n.typ.Nullable = false // a count
		return expr.Call(b.env.Expr, "<>", n, expr.Literal(expr.IntValue(0)))
	}
	id := b.newCol(Column{Name: "exists", Type: expr.TBool.NotNull()})
	return b.col(id), s.add(&apply{kind: applyExists, plan: r.node, id: id, pos: e.Pos()})
}

// in binds x IN (SELECT …).
func (s *scope) in(e *syntax.In) (expr.Expr, error) {
	x, err := s.inQuery(e.X, e.Query, e.Pos())
	if err != nil || !e.Not {
		return x, err
	}
	return expr.Call(s.bl.b.env.Expr, "NOT", x)
}

func (s *scope) inQuery(x syntax.Expr, q *syntax.Query, pos int) (expr.Expr, error) {
	b := s.bl.b
	left := []syntax.Expr{x}
	if r, ok := x.(*syntax.Row); ok {
		left = r.Items
	}
	r, err := s.subquery(q)
	if err != nil {
		return nil, err
	}
	if len(r.cols) != len(left) {
		return nil, operandCount(pos, len(left))
	}
	a := &apply{kind: applyIn, plan: r.node, pos: pos}
	t := expr.TBool.NotNull()
	for i, l := range left {
		lx, err := s.bl.bind(l, s)
		if err != nil {
			return nil, err
		}
		eq, err := expr.Call(b.env.Expr, "=", lx, b.value(r, i))
		if err != nil {
			return nil, positioned(err, pos)
		}
		a.marks = append(a.marks, eq)
		t.Nullable = t.Nullable || eq.Type().Nullable
	}
	a.id = b.newCol(Column{Name: "in", Type: t})
	return b.col(a.id), s.add(a)
}

// quantified binds x op ANY (SELECT …) and x op ALL (SELECT …). = ANY is IN and
// <> ALL is NOT IN; the others compare with the least or greatest value:
//
//	x > ANY S   S empty: FALSE;  x NULL: NULL;  x > MIN(S): TRUE;   NULL in S: NULL;  else FALSE
//	x > ALL S   S empty: TRUE;   x NULL: NULL;  NOT x > MAX(S): FALSE;  NULL in S: NULL;  else TRUE
func (s *scope) quantified(e *syntax.Quantified) (expr.Expr, error) {
	b := s.bl.b
	ctx := b.env.Expr
	op, ok := map[syntax.BinaryOp]string{syntax.OpEq: "=", syntax.OpNe: "<>", syntax.OpLt: "<", syntax.OpLe: "<=", syntax.OpGt: ">", syntax.OpGe: ">="}[e.Op]
	if !ok {
		return nil, errs.UserAt(e.Pos(), errs.Syntax, "ANY and ALL take =, <>, <, <=, > and >=")
	}
	switch {
	case op == "=" && e.Quant == syntax.Any:
		return s.inQuery(e.X, e.Query, e.Pos())
	case op == "<>" && e.Quant == syntax.All:
		x, err := s.inQuery(e.X, e.Query, e.Pos())
		if err != nil {
			return nil, err
		}
		return expr.Call(ctx, "NOT", x)
	}
	x, err := s.bl.bind(e.X, s)
	if err != nil {
		return nil, err
	}
	r, err := s.subquery(e.Query)
	if err != nil {
		return nil, err
	}
	if len(r.cols) != 1 {
		return nil, operandCount(e.Pos(), 1)
	}
	// The values are compared as op compares them.
	cmp, err := expr.Call(ctx, op, x, b.value(r, 0))
	if err != nil {
		return nil, positioned(err, e.Pos())
	}
	if expr.Operator(cmp) != op || len(cmp.Children()) != 2 {
		return nil, errs.Unsupportedf(e.Pos(), "ANY and ALL with operands of these types")
	}
	value := cmp.Children()[1]
	sub := &block{b: b, outer: s, node: r.node, aggIndex: map[string]ColID{}, keyIndex: map[string]ColID{}}
	agg := func(name string, args ...expr.Expr) (expr.Expr, error) {
		return sub.aggregate(expr.AggregateSpec{Name: name, Args: args}, e.Pos())
	}
	all, err := agg("COUNT")
	if err != nil {
		return nil, err
	}
	known, err := agg("COUNT", value)
	if err != nil {
		return nil, err
	}
	low, err := agg("MIN", value)
	if err != nil {
		return nil, err
	}
	high, err := agg("MAX", value)
	if err != nil {
		return nil, err
	}
	res := &result{node: &Aggregate{In: r.node, Aggs: sub.aggs}}
	for _, a := range sub.aggs {
		res.cols = append(res.cols, b.cols[a.ID])
	}
	ids, err := s.joined(res.node, res.ids(), e.Pos())
	if err != nil {
		return nil, err
	}
	// In terms of the joined columns; MIN and MAX may be one column.
	outer := map[ColID]expr.Expr{}
	for i, a := range sub.aggs {
		outer[a.ID] = b.col(ids[i])
	}
	up := func(x expr.Expr) expr.Expr { id, _ := plainColumn(x); return outer[id] }
	all, known, low, high = up(all), up(known), up(low), up(high)

	truth, falsity := expr.Literal(expr.IntValue(1)), expr.Literal(expr.IntValue(0))
	null := expr.Literal(expr.NullValue())
	call := func(name string, args ...expr.Expr) expr.Expr {
		if err != nil {
			return nil
		}
		var out expr.Expr
		out, err = expr.Call(ctx, name, args...)
		return out
	}
	empty := call("=", all, expr.Literal(expr.IntValue(0)))
	unknown := call("<", known, all)
	isNull := call("IS NULL", x)
	var decides expr.Expr // what makes ANY true, ALL false
	switch {
	case op == "=": // x = ALL S: some value differs
		decides = call("OR", call("<>", x, low), call("<>", x, high))
	case op == "<>": // x <> ANY S
		decides = call("OR", call("<>", x, low), call("<>", x, high))
	case (op == ">" || op == ">=") == (e.Quant == syntax.Any):
		decides = call(op, x, low)
	default:
		decides = call(op, x, high)
	}
	var out expr.Expr
	if e.Quant == syntax.Any {
		out = call("CASE", empty, falsity, isNull, null, decides, truth, unknown, null, falsity)
	} else {
		if op != "=" {
			decides = call("NOT", decides)
		}
		out = call("CASE", empty, truth, isNull, null, decides, falsity, unknown, null, truth)
	}
	return out, err
}

// rowSubquery binds (a, b) = (SELECT …), and leaves other comparisons alone.
func (s *scope) rowSubquery(e *syntax.Binary) (expr.Expr, error) {
	l, r := e.L, e.R
	if _, ok := l.(*syntax.Subquery); ok {
		l, r = r, l
	}
	row, ok := l.(*syntax.Row)
	sub, isSub := r.(*syntax.Subquery)
	if !ok || !isSub {
		return nil, nil
	}
	name := "="
	switch e.Op {
	case syntax.OpEq, syntax.OpNe:
	case syntax.OpNullSafeEq:
		name = "<=>"
	default:
		return nil, errs.Unsupportedf(e.Pos(), "ordering comparisons of rows with subqueries")
	}
	res, err := s.subquery(sub.Query)
	if err != nil {
		return nil, err
	}
	if len(res.cols) != len(row.Items) {
		return nil, operandCount(sub.Pos(), len(row.Items))
	}
	var left []expr.Expr
	for _, it := range row.Items {
		x, err := s.bl.bind(it, s)
		if err != nil {
			return nil, err
		}
		left = append(left, x)
	}
	ids, err := s.joined(res.node, res.ids(), e.Pos())
	if err != nil {
		return nil, err
	}
	ctx := s.bl.b.env.Expr
	var parts []expr.Expr
	for i, x := range left {
		eq, err := expr.Call(ctx, name, x, s.bl.b.col(ids[i]))
		if err != nil {
			return nil, positioned(err, e.Pos())
		}
		parts = append(parts, eq)
	}
	out := parts[0]
	if len(parts) > 1 {
		if out, err = expr.Call(ctx, "AND", parts...); err != nil {
			return nil, err
		}
	}
	if e.Op == syntax.OpNe {
		return expr.Call(ctx, "NOT", out)
	}
	return out, nil
}
