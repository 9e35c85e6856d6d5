package plan

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// columnDefault binds DEFAULT(column) in a query: the value that the column of a
// table has where an INSERT gives none.
func (s *scope) columnDefault(d *syntax.Default) (expr.Expr, error) {
	if d.Column == nil {
		return nil, errs.Unsupportedf(d.Pos(), "DEFAULT here")
	}
	x, err := s.column(d.Column)
	if err != nil {
		return nil, err
	}
	c, ok := x.(*expr.ColumnExpr)
	if !ok {
		return nil, errs.UserAt(d.Pos(), errs.NoDefault, "Field '%s' doesn't have a default value", d.Column.Column())
	}
	f := s.bl.b.cols[c.Pos].field
	if f == nil || f.Default == nil && f.Type.NotNull {
		return nil, errs.UserAt(d.Pos(), errs.NoDefault, "Field '%s' doesn't have a default value", d.Column.Column())
	}
	x, err = expr.ColumnDefault(s.bl.b.env.Expr, f.Default, c.Type())
	if err != nil {
		return nil, positioned(err, d.Pos())
	}
	return x, nil
}
