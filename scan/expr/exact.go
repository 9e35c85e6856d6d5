package expr

// This file carries more digits of AVG than its type has, as MySQL does.
//
// MySQL computes AVG of whole numbers and decimals to whole words of nine
// fraction digits, cut, shows it rounded to its type's scale, and computes with
// the longer value: AVG(x) of 1, 1, 0 shows 0.6667 and AVG(x) * 3 is 2.0000. The
// expression of such an average is a Rounded one: a conversion of the exact value
// to the type shown, marked, so that the operators that see the exact value in
// MySQL can take it out again. Whatever does not know of the mark computes with
// the value shown.

// exactness is the mark of a Rounded expression; the call's only argument is the
// exact value.
type exactness struct {
	real Expr // the value as DOUBLE, from the sum itself; nil: convert the exact one
}

// Rounded returns exact converted to t, marked. real is the same value as
// DOUBLE, or nil.
func Rounded(ctx *Context, exact, real Expr, t Type) Expr {
	c, ok := convert(ctx, exact, t).(*call)
	if !ok || !c.hidden || len(c.args) != 1 || c.extra != nil {
		return convert(ctx, exact, t)
	}
	m := *c
	m.extra = exactness{real}
	return &m
}

// Exact returns the exact value of a Rounded expression, and any other as it is.
func Exact(e Expr) Expr {
	if c, ok := e.(*call); ok {
		if _, ok := c.extra.(exactness); ok {
			return c.args[0]
		}
	}
	return e
}

// exactReal returns the exact value as DOUBLE where there is one.
func exactReal(e Expr) (Expr, bool) {
	if c, ok := e.(*call); ok {
		if m, ok := c.extra.(exactness); ok && m.real != nil {
			return m.real, true
		}
	}
	return nil, false
}

// exactly are the functions that compute with the exact value. The result is
// rounded to its type; marked says that it still has its exact value.
var exactly = map[string]struct{ marked bool }{
	"+": {}, "-": {}, "*": {}, "/": {}, "%": {}, "NEG": {}, "DIV": {},
	"=": {}, "<>": {}, "<": {}, "<=": {}, ">": {}, ">=": {}, "<=>": {}, "BETWEEN": {}, "IN": {},
	"IF": {true}, "CASE": {true}, "NULLIF": {true},
	"COALESCE": {}, "IFNULL": {}, "GREATEST": {}, "LEAST": {}, "ABS": {},
	"ROUND": {}, "TRUNCATE": {}, "FLOOR": {}, "CEILING": {}, "SIGN": {}, "FORMAT": {}, "JSON_ARRAY": {}, "JSON_OBJECT": {},
}

// resolveExactly resolves a call some of whose arguments are Rounded, if the
// function takes their exact values; nil if it does not.
func resolveExactly(ctx *Context, f *function, args []Expr) (Expr, error) {
	how, ok := exactly[f.name]
	if !ok {
		return nil, nil
	}
	var in []Expr
	for i, a := range args {
		if x := Exact(a); x != a {
			if in == nil {
				in = append([]Expr(nil), args...)
			}
			in[i] = x
		}
	}
	if in == nil {
		return nil, nil
	}
	shown, err := f.resolve(ctx, args)
	if err != nil {
		return nil, err
	}
	if shown.Type().Class == Double {
		return shown, nil // DOUBLE operands take the exact real
	}
	for _, a := range args {
		if t := numeric(a); t.Class == Double {
			return shown, nil // compared as DOUBLE
		}
	}
	if f.name == "TRUNCATE" { // at most to the digits shown
		if in[1], err = Call(ctx, "LEAST", in[1], Literal(IntValue(int64(args[0].Type().Scale)))); err != nil {
			return nil, err
		}
	}
	exact, err := f.resolve(ctx, in)
	if err != nil {
		return shown, nil // more digits than a decimal has
	}
	t := shown.Type()
	switch {
	case exact.Type().Class == Decimal && t.Class == Decimal && how.marked:
		return Rounded(ctx, exact, nil, t), nil
	case exact.Type().Class == Decimal || exact.Type().Class != t.Class:
		return convert(ctx, exact, t), nil
	}
	return exact, nil
}
