package expr

import "github.com/thermocline/thermocline/internal/vector"

// CASE and IF that give a text, or a date and a time, are numbers by the branch
// that is taken: IF(a, d, 1) + 0 of a date d is 20240131, though the text that IF
// gives is '2024-01-31', which is 2024. MySQL asks the branch for a number. ELT does
// so for doubles and integers; COALESCE, IFNULL, GREATEST, LEAST and aggregates, and
// CAST AS SIGNED of what is a text, read the text.

// numberOfChoice converts CASE, IF or ELT to a number type by their branches. It
// gives nil for all else, and when no branch is read otherwise than its text is.
func numberOfChoice(ctx *Context, e Expr, t Type) Expr {
	from := e.Type()
	switch t.Class {
	case Double, Float, Decimal, Int:
	default:
		return nil
	}
	real := from.Class == Double && t.Class == Int
	exact := from.Class == Decimal && t.Class == Int
	if from.Class != String && from.Class != Bytes && !from.IsTemporal() && !real && !exact {
		return nil
	}
	x := e
	if l, ok := x.(*LiteralExpr); ok && l.folded != nil {
		x = l.folded
	}
	c, ok := x.(*call)
	if !ok || c.hidden {
		return nil
	}
	value := func(i int) bool { return i%2 == 1 || i == len(c.args)-1 }
	switch {
	case c.name == "ELT" && t.Class != Decimal:
		value = func(i int) bool { return i > 0 }
	case c.name != "CASE":
		return nil
	}
	args := append([]Expr(nil), c.args...)
	differ := false
	t.Nullable = from.Nullable
	for i, a := range args {
		if !value(i) {
			continue
		}
		own := numberSource(a)
		inner := numberOfChoice(ctx, own, t)
		differ = differ || own != a || inner != nil || hexLiteral(a) || real && calledFunction(a)
		if inner == nil {
			inner = convert(ctx, own, t)
		}
		if inner.Type().Physical() != t.Physical() {
			return nil
		}
		t.Nullable = t.Nullable || inner.Type().Nullable
		args[i] = inner
	}
	if !differ {
		return nil
	}
	d := *c
	d.args, d.typ = args, t
	return fold(ctx, &d)
}

// numberSource is a branch before it was converted to the type of all, when as a
// number it is another than what it was converted to.
func numberSource(e Expr) Expr {
	from := e
	if l, ok := from.(*LiteralExpr); ok && l.folded != nil {
		from = l.folded
		if t := from.Type(); t.Class == JSON && e.Type().Class != JSON && l.Val.Vec.Kind == vector.Str {
			return relabel(l, t) // a constant is relabelled in place
		}
	}
	c, ok := from.(*call)
	if !ok || !c.hidden || c.name != "conv" || len(c.args) != 1 || c.extra != nil {
		return e
	}
	x := c.args[0]
	switch t := x.Type(); {
	case t.Class == Int && t.Unsigned && e.Type().Class == Decimal:
		return x // signed and unsigned integers meet as decimals
	case t.IsTemporal() && t.Class != e.Type().Class, t.Class == JSON && e.Type().Physical() == vector.Str:
		return x
	case c.inner != "relabel":
		return e
	}
	if own := numberSource(x); own != x {
		return own
	}
	if n := calledName(x); n == "CASE" || n == "ELT" {
		return x
	}
	return e
}

func hexLiteral(e Expr) bool {
	l, ok := e.(*LiteralExpr)
	return ok && l.hex
}
