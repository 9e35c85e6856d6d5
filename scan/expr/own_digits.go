package expr

import "github.com/thermocline/thermocline/internal/vector"

// A value of CASE or IF keeps the fraction digits of the branch that it comes from:
// MySQL shows IF(a, 1.50, 2) as 1.50 or 2, although the column is DECIMAL(3,2). Our
// decimals have the digits of their column, so what shows such a value, or makes a
// text of it, takes the texts of the branches instead. A value that MySQL keeps in a
// temporary table (DISTINCT, GROUP BY, UNION, windows) has the digits of its column
// there too.

// OwnDigits returns the texts of a decimal expression whose values have their own
// numbers of fraction digits, nil for any other.
func OwnDigits(ctx *Context, e Expr) Expr {
	if e.Type().Class != Decimal {
		return nil
	}
	return ownDigits(ctx, e, textType(ctx, e.Type()))
}

// ownDigits is OwnDigits with the type of the texts.
func ownDigits(ctx *Context, e Expr, t Type) Expr {
	if l, ok := e.(*LiteralExpr); ok && l.folded != nil {
		e = l.folded
	}
	c, ok := e.(*call)
	if !ok || c.name != "CASE" || c.typ.Class != Decimal || c.Traits()&Volatile != 0 {
		return nil
	}
	args := append([]Expr(nil), c.args...)
	differ := false
	for i := range args {
		if i%2 == 0 && i != len(args)-1 {
			continue // a condition
		}
		v := ownValue(args[i])
		own := ownDigits(ctx, v, t)
		differ = differ || own != nil || v.Type().Class != Null && (v.Type().Class != Decimal || v.Type().Scale != c.typ.Scale)
		if own == nil {
			own = convert(ctx, v, t)
		}
		args[i] = own
	}
	if !differ {
		return nil
	}
	d := *c
	d.args = args
	t.Nullable = c.typ.Nullable
	d.typ = t
	return fold(ctx, &d)
}

// ownValue is a branch before it was converted to the type of all.
func ownValue(e Expr) Expr {
	from := e
	if l, ok := from.(*LiteralExpr); ok && l.folded != nil {
		from = l.folded
	}
	c, ok := from.(*call)
	if !ok || !c.hidden || c.name != "conv" || len(c.args) != 1 || c.typ.Class != Decimal || c.extra != nil {
		return e
	}
	switch c.args[0].Type().Class {
	case Decimal, Int, Bool, Year:
		return c.args[0]
	}
	return e
}

// Text returns e as text, with its own digits.
func Text(ctx *Context, e Expr) Expr { return asText(ctx, e) }

// asTextOf converts e to text of type t, with its own digits.
func asTextOf(ctx *Context, e Expr, t Type) Expr {
	if e.Type().Class == Decimal && t.Physical() == vector.Str && t.Class != JSON {
		if x := ownDigits(ctx, e, t); x != nil {
			return x
		}
	}
	return convert(ctx, e, t)
}
