package expr

import (
	"github.com/thermocline/thermocline/internal/vector"
)

// spec is a function that needs no more than converted arguments, a result type
// and a body a row. kinds has one letter an argument, the last one repeated:
//
//	t text or binary string    i BIGINT    d DOUBLE    n number    a anything
//	D DATE    T DATETIME(6), also from times    M TIME(6)    j JSON
type spec struct {
	name       string
	min, max   int
	class      string
	usage, doc string
	kinds      string
	ret        func(ctx *Context, op string, args []Expr) (Type, error)
	// body prepares a batch and returns what computes row i of out.
	body func(ev *evaluation) func(i int, out *vector.Vec) error
	// nulls: rows with NULL arguments are computed, too. nullable: a result may
	// be NULL though no argument is.
	nulls, nullable bool
	volatile        bool
}

func fn(s spec) {
	register(&function{name: s.name, min: s.min, max: s.max, class: s.class, usage: s.usage, doc: s.doc, kinds: s.kinds,
		resolve: func(ctx *Context, args []Expr) (Expr, error) { return s.call(ctx, args) }})
}

func (s *spec) call(ctx *Context, args []Expr) (Expr, error) {
	xs := make([]Expr, len(args))
	for i, a := range args {
		k := byte('a')
		if len(s.kinds) > 0 {
			k = s.kinds[min(i, len(s.kinds)-1)]
		}
		if k != 'a' {
			if err := isNested(a); err != nil {
				return nil, err
			}
		}
		xs[i] = argument(ctx, k, a)
	}
	t, err := s.ret(ctx, s.name, xs)
	if err != nil {
		return nil, err
	}
	if t.Class == Bytes {
		for i, x := range xs {
			if xt := x.Type(); codingOf(xt) != nil && s.name != "FROM_BASE64" && s.kinds[min(i, len(s.kinds)-1)] == 't' {
				xs[i] = convert(ctx, x, TBytes(xt.Length))
			}
		}
	}
	if codingOf(t) != nil {
		for i, x := range xs {
			if x.Type().Class == Bytes && s.kinds[min(i, len(s.kinds)-1)] == 't' {
				xs[i] = convert(ctx, x, t)
			}
		}
	}
	c := newCall(s.name, t, nil, xs...)
	c.nulls = s.nulls
	if s.nullable {
		c.typ.Nullable = true
	}
	if s.nulls && !s.nullable {
		c.typ.Nullable, c.typ.Told.Null = t.Nullable, t.Told.Null
	}
	if s.volatile {
		c.traits, c.perRow = Volatile, true
	}
	k := t.Physical()
	body := s.body
	c.kern = func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(k)
		f := body(ev)
		if ev.sel == nil {
			for i := range ev.n {
				if err := f(i, out); err != nil {
					return nil, err
				}
			}
			return out, nil
		}
		for _, i := range ev.sel {
			if err := f(int(i), out); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return c, nil
}

func argument(ctx *Context, kind byte, a Expr) Expr {
	switch kind {
	case 't':
		return asText(ctx, a)
	case 'i':
		return asSigned(ctx, a)
	case 'd':
		return asDouble(ctx, a)
	case 'n':
		return toNumeric(ctx, a)
	case 'D':
		return convert(ctx, a, TDate)
	case 'T':
		return convert(ctx, a, TDateTime(6))
	case 'M':
		return convert(ctx, a, TTime(6))
	case 'j':
		return convert(ctx, a, TJSON)
	}
	return a
}

// Result types.
type retFunc = func(ctx *Context, op string, args []Expr) (Type, error)

func returns(t Type) retFunc {
	return func(*Context, string, []Expr) (Type, error) { return t, nil }
}

var (
	retInt    = returns(TBigInt)
	retUint   = returns(TUint64)
	retDouble = returns(TDouble)
	retBool   = returns(TBool)
)

// retText is text with the collation of the arguments at the given positions
// (none: all), of at most length characters.
func retText(length func(args []Expr) int, at ...int) retFunc {
	return func(ctx *Context, op string, args []Expr) (Type, error) {
		var ts []Type
		for i, a := range args {
			use := len(at) == 0
			for _, k := range at {
				use = use || k == i
			}
			if use {
				ts = append(ts, a.Type())
			}
		}
		t, err := resultCollation(lower(op), ts...)
		if err != nil {
			return t, err
		}
		if t.Coercibility == 6 {
			t.Collation = "" // only NULLs
		}
		r := TString(length(args), t.Collation)
		r.Coercibility = t.Coercibility
		switch t.Collation {
		case "":
			r.Class, r.Collation = Bytes, "binary"
		case "binary":
			r.Class = Bytes
		}
		return r, nil
	}
}

// retFirst is text with the collation of the first argument, or binary where one
// of the texts is.
func retFirst(length func(args []Expr) int) retFunc {
	return func(ctx *Context, op string, args []Expr) (Type, error) {
		at := []int{0}
		for i, a := range args {
			t := a.Type()
			if i > 0 && (isString(t) && t.Collation != "" && charsetOf(t.Collation) != charsetOf(args[0].Type().Collation)) && !literalIn(args[0].Type(), a) {
				at = append(at, i)
			}
		}
		return retText(length, at...)(ctx, op, args)
	}
}

// literalIn reports whether e is a literal that the character set of another text has:
// it takes that text's collation.
func literalIn(t Type, e Expr) bool {
	l, ok := e.(*LiteralExpr)
	own := codingOf(t)
	if !ok || own == nil || e.Type().Class != String || l.Val.IsNull() || e.Type().Coercibility < t.Coercibility {
		return false
	}
	for _, r := range string(l.Val.Vec.Bytes(0)) {
		if !own.has(r) {
			return false
		}
	}
	return true
}

// retPlain is text in the connection's collation.
func retPlain(n int) retFunc {
	return func(ctx *Context, _ string, _ []Expr) (Type, error) {
		return TString(n, ctx.collation()), nil
	}
}

func firstLength(args []Expr) int { return args[0].Type().Length }

func sumLengths(args []Expr) int {
	n := 0
	for _, a := range args {
		if n += a.Type().Length; n > 1<<30 {
			return 1 << 30
		}
	}
	return n
}

func longText([]Expr) int { return 1 << 24 }
