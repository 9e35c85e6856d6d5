package expr

import (
	"github.com/thermocline/thermocline/internal/syntax"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func (v Value) literal() string { return "" }

func appendSortKey(dst []byte, t Type, v *vector.Vec, row int) []byte { return dst }
func hashVec(t Type, v *vector.Vec, sel []uint16, h []uint64)         {}
func comparer(t Type) func(a *vector.Vec, i int, b *vector.Vec, j int) int {
	return vector.Compare
}
func binaryEqual(t Type) bool { return false }
func appendText(dst []byte, t Type, v *vector.Vec, row int, zone *time.Location) []byte {
	return dst
}
func toPredicate(ctx *Context, e Expr, columns func(pos int) (PushColumn, bool)) *connector.Predicate {
	return nil
}
func fromColumn(f catalog.Field, mysqlType string) (Type, loader, error) {
	return Type{}, nil, errs.Unsupportedf(-1, "the column type %s", f.Type)
}
func fold(ctx *Context, e Expr) Expr { return e }
func explicitCast(ctx *Context, e Expr, to Type) (Expr, error) {
	return nil, errs.Unsupportedf(-1, "CAST")
}
func unify(ctx *Context, es []Expr) ([]Expr, Type, error) {
	return nil, Type{}, errs.Unsupportedf(-1, "mixed types")
}
func condition(ctx *Context, e Expr) (Expr, error) { return e, nil }
func filter(ctx *Context, cond Expr, b *vector.Batch, dst []uint16) ([]uint16, error) {
	return nil, errs.Unsupportedf(-1, "filters")
}

func boolLiteral(x bool) Expr                         { return nil }
func wordLiteral(s string) Expr                       { return nil }
func numberLiteral(e *syntax.NumberLit) (Expr, error) { return nil, errs.Unsupportedf(-1, "literals") }
func stringLiteral(ctx *Context, e *syntax.StringLit) (Expr, error) {
	return nil, errs.Unsupportedf(-1, "literals")
}
func bytesLiteral(e *syntax.BytesLit) (Expr, error) { return nil, errs.Unsupportedf(-1, "literals") }
func temporalLiteral(ctx *Context, e *syntax.TemporalLit) (Expr, error) {
	return nil, errs.Unsupportedf(-1, "literals")
}
func convertUsing(ctx *Context, x Expr, charset string) (Expr, error) {
	return nil, errs.Unsupportedf(-1, "CONVERT … USING")
}
func collate(ctx *Context, x Expr, collation string) (Expr, error) {
	return nil, errs.Unsupportedf(-1, "COLLATE")
}
func caseConditions(ctx *Context, operand Expr, conds []Expr) ([]Expr, error) {
	return nil, errs.Unsupportedf(-1, "CASE")
}

// CastType returns the type that CAST(… AS t) names.
func CastType(ctx *Context, t *syntax.DataType) (Type, error) {
	return Type{}, errs.Unsupportedf(-1, "CAST")
}
