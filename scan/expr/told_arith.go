package expr

// What MySQL tells of arithmetic: Item_num_op and its kin.

// notFixed reports whether MySQL knows no number of fraction digits for the value
// as a number: floating point and all texts.
func notFixed(t Type) bool {
	switch t.Class {
	case Double, Float:
		return t.Scale == NotFixed
	case String, Bytes, Enum, Set, JSON, Nested:
		return true
	}
	return false
}

// unsigned reports whether MySQL takes the value for an unsigned number.
func unsigned(t Type) bool {
	return t.Unsigned && t.Class != Bytes || t.Class == Year || t.Class == Bit
}

// toldReal is what is told of floating point arithmetic: with a NULL literal the
// size is that of the other operand.
func toldReal(args []Expr, t *Type) {
	t.Scale, t.Told.Length = 0, empty
	for _, a := range args {
		x := a.Type()
		if notFixed(x) {
			t.Scale, t.Told.Length = NotFixed, 23
			return
		}
		t.Scale = max(t.Scale, toldScale(x))
		t.Told.Length = max(t.Told.Length, x.toldLength())
	}
	if t.Told.Length == 0 {
		t.Told.Length = empty
	}
}

func toldSum(_ *Context, args []Expr, t *Type) {
	a, b := args[0], args[1]
	switch t.Class {
	case Double:
		toldReal(args, t)
	case Int, Decimal:
		sa, sb := toldScale(a.Type()), toldScale(b.Type())
		s := max(sa, sb)
		t.Told.Length = toldDecimal(max(toldPrecision(a)-sa, toldPrecision(b)-sb)+1+s, s, t.Unsigned)
	}
}

func toldProduct(_ *Context, args []Expr, t *Type) {
	switch t.Class {
	case Double:
		toldReal(args, t)
	case Int, Decimal:
		t.Told.Length = toldDecimal(min(toldPrecision(args[0])+toldPrecision(args[1]), 65), t.Scale, t.Unsigned)
	}
}

func toldQuotient(ctx *Context, args []Expr, t *Type) {
	a, b := args[0].Type(), args[1].Type()
	switch t.Class {
	case Double:
		s := max(toldScale(a), toldScale(b)) + ctx.DivPrecision
		if notFixed(a) || notFixed(b) || s >= NotFixed {
			t.Scale, t.Told.Length = NotFixed, 23
			return
		}
		t.Scale = s
		t.Told.Length = min(a.toldLength()-toldScale(a)+s, s+17)
	case Decimal:
		t.Told.Length = toldDecimal(min(toldPrecision(args[0])+toldScale(b)+ctx.DivPrecision, 65), t.Scale, t.Unsigned)
	}
}

func toldWhole(_ *Context, args []Expr, t *Type) {
	whole := toldPrecision(args[0]) - toldScale(args[0].Type())
	if x := args[0].Type(); notFixed(x) {
		whole = displayLength(x)
	}
	more := toldScale(args[1].Type())
	if x := args[1].Type(); notFixed(x) {
		more = displayLength(x)
	}
	t.Told.Length = toldDecimal(min(whole+more, 21), 0, t.Unsigned)
}

func toldRest(_ *Context, args []Expr, t *Type) {
	if t.Class == Double {
		toldReal(args, t)
		t.Unsigned = unsigned(args[0].Type())
		return
	}
	t.Told.Length = toldDecimal(max(toldPrecision(args[0]), toldPrecision(args[1])), t.Scale, false)
}

func toldNegated(_ *Context, args []Expr, t *Type) {
	switch t.Class {
	case Int:
		t.Told.Length = toldDecimal(toldPrecision(args[0]), 0, false)
	case Double:
		toldFloat(args[0], t)
	}
}

// toldFloat is what is told of a floating point number made of one value.
func toldFloat(e Expr, t *Type) {
	x := e.Type()
	if l, ok := e.(*LiteralExpr); ok && l.hex || x.Class == Null {
		t.Scale = 0
	} else if x.Class == Double || x.Class == Float || x.IsTemporal() {
		t.Scale = toldScale(x)
	}
	if t.Told.Length = 23; t.Scale != NotFixed {
		t.Told.Length = 17 + t.Scale
	}
}
