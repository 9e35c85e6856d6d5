package session

import (
	"context"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// constants is the scope of expressions outside queries: placeholders have
// values, columns do not exist.
type constants struct{ params []expr.Value }

func (c constants) Resolve(e syntax.Expr) (expr.Expr, error) {
	switch e := e.(type) {
	case *syntax.Placeholder:
		if e.Index < 0 || e.Index >= len(c.params) {
			return nil, errs.UserAt(e.Pos(), errs.WrongArguments, "Incorrect arguments to EXECUTE")
		}
		return expr.Literal(c.params[e.Index]), nil
	case *syntax.ColumnRef:
		return nil, errs.UserAt(e.Pos(), errs.UnknownColumn, "Unknown column '%s' in 'field list'", e.Column())
	}
	return nil, nil
}

// columns is the scope of SHOW … WHERE: the listing's columns.
type columns struct {
	constants
	names []string
	types []expr.Type
}

func (c columns) Resolve(e syntax.Expr) (expr.Expr, error) {
	ref, ok := e.(*syntax.ColumnRef)
	if !ok {
		return c.constants.Resolve(e)
	}
	for i, n := range c.names {
		if equalFold(n, ref.Column()) {
			return expr.Column(i, c.types[i], n), nil
		}
	}
	return nil, errs.UserAt(ref.Pos(), errs.UnknownColumn, "Unknown column '%s' in 'where clause'", ref.Column())
}

// evaluate computes an expression outside a query. Expressions with subqueries
// run as a query of one row.
func (s *Session) evaluate(ctx context.Context, e syntax.Expr, run *statement) (expr.Value, error) {
	subquery := false
	syntax.Walk(e, func(n syntax.Node) bool {
		if _, ok := n.(*syntax.Query); ok {
			subquery = true
		}
		return !subquery
	})
	if subquery {
		return s.evaluateQuery(ctx, e, run)
	}
	c := run.context()
	if names := plan.RowVariables(e); len(names) > 0 {
		row := *c
		row.Assigning, row.InOrder = &expr.Assigning{Names: names}, true
		c = &row
	}
	x, err := expr.Bind(c, e, constants{run.params})
	if err != nil {
		return expr.Value{}, err
	}
	v, err := x.Eval(c, &vector.Batch{Len: 1, Seq: -1})
	if err != nil {
		return expr.Value{}, err
	}
	return oneRow(x.Type(), v, 0), nil
}

// oneRow copies a row's value.
func oneRow(t expr.Type, v *vector.Vec, row int) expr.Value {
	w := vector.NewLike(v.Values(), 1)
	w.AppendFrom(v, row)
	return expr.Value{Type: t, Vec: w.AsConst(1)}
}

// evaluateQuery computes an expression as SELECT e.
func (s *Session) evaluateQuery(ctx context.Context, e syntax.Expr, run *statement) (expr.Value, error) {
	q := &syntax.Query{At: syntax.At(e.Pos()), Body: &syntax.Select{At: syntax.At(e.Pos()), Items: []*syntax.SelectItem{{At: syntax.At(e.Pos()), Expr: e}}}}
	res, err := s.query(ctx, q, run)
	if err != nil {
		return expr.Value{}, err
	}
	defer res.Close()
	b, err := res.Rows.Next(ctx)
	if err != nil {
		return expr.Value{}, err
	}
	if b == nil || b.Rows() != 1 {
		return expr.Value{}, errs.Internalf("evaluate an expression: the query gave no row")
	}
	return oneRow(res.Columns[0].Type, b.Cols[0], b.Row(0)), nil
}
