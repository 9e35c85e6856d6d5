package expr

import (
	"strconv"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/vector"
)

// FromColumn returns the type that SQL sees for a stored column. mysqlType is
// what the table option mysql.type.<id> says of it, or "" (DESIGN D15, D17).
func FromColumn(f catalog.Field, mysqlType string) (Type, error) {
	t, _, err := fromColumn(f, mysqlType)
	return t, err
}

// StoredExpr reads a column as the connector delivers it and converts it to the
// physical kind of its SQL type.
type StoredExpr struct {
	Pos  int
	Name string
	typ  Type
	load loader
}

// loader converts a stored vector. It may return its argument.
type loader func(ctx *Context, v *vector.Vec, b *vector.Batch) (*vector.Vec, error)

// Stored returns the expression that reads the stored column at a position of a
// scan's batch: a *ColumnExpr when stored and SQL form are the same, else a
// *StoredExpr. Planners put one a column right above the scan.
func Stored(pos int, f catalog.Field, mysqlType, name string) (Expr, error) {
	t, load, err := fromColumn(f, mysqlType)
	if err != nil {
		return nil, err
	}
	if load == nil {
		return Column(pos, t, name), nil
	}
	return &StoredExpr{Pos: pos, Name: name, typ: t, load: load}, nil
}

// Raw returns the expression that passes a stored column on as it is stored, for
// output that loses nothing, and the type of the lake that its values have. ok
// is false for columns whose SQL type says more than the lake's (mysqlType).
func Raw(pos int, f catalog.Field, mysqlType, name string) (e Expr, stored catalog.Type, ok bool) {
	if mysqlType != "" {
		return nil, f.Type, false
	}
	if _, load, err := fromColumn(f, ""); err != nil || load == nil {
		return nil, f.Type, err == nil
	}
	stored = f.Type
	return Column(pos, Type{Class: Nested, Nullable: !f.Type.NotNull, Stored: &stored}, name), stored, true
}

// Type implements Expr.
func (s *StoredExpr) Type() Type { return s.typ }

// Eval implements Expr.
func (s *StoredExpr) Eval(ctx *Context, b *vector.Batch) (*vector.Vec, error) {
	return s.load(ctx, b.Cols[s.Pos], b)
}

// Children implements Expr.
func (s *StoredExpr) Children() []Expr { return nil }

// With implements Expr.
func (s *StoredExpr) With([]Expr) Expr { return s }

// Traits implements Expr.
func (s *StoredExpr) Traits() Traits { return ReadsColumns }

// Key implements Expr.
func (s *StoredExpr) Key() string { return "@" + strconv.Itoa(s.Pos) }

func (s *StoredExpr) String() string { return s.Name }

// Materialized returns a computed value as MySQL keeps it in a temporary table,
// for GROUP BY, DISTINCT or windows: a YEAR becomes INT UNSIGNED there.
func Materialized(ctx *Context, e Expr) Expr {
	t := e.Type()
	if t.Class != Year {
		return e
	}
	return convert(ctx, e, Type{Class: Int, Nullable: t.Nullable, Width: 4, Unsigned: true, Precision: 4, Coercibility: 5})
}

// ColumnDefault is what DEFAULT(column) gives of a column of type t: text, its
// default as the schema has it, or NULL when there is none.
func ColumnDefault(ctx *Context, text *string, t Type) (Expr, error) {
	t.Nullable = true
	if text == nil {
		return Literal(Value{Type: t, Vec: vector.NewNull(t.Physical(), 1)}), nil
	}
	v, err := convert(ctx, Literal(StringValue(*text, "utf8mb4_0900_bin")), t).Eval(ctx, oneRow())
	if err != nil {
		return nil, err
	}
	return Literal(Value{Type: t, Vec: v.AsConst(1)}), nil
}
