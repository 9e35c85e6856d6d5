package expr

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func init() {
	op := func(name, usage, doc string, f func(ctx *Context, a, b Expr) (Expr, error)) {
		register(&function{name: name, min: 2, max: 2, class: "operator", usage: usage, doc: doc,
			resolve: func(ctx *Context, args []Expr) (Expr, error) { return f(ctx, args[0], args[1]) }})
	}
	op("+", "a + b", "Sum. Integers give BIGINT and error 1690 beyond its range, decimals stay exact.", addSub)
	op("-", "a - b", "Difference; unsigned when an operand is, unless NO_UNSIGNED_SUBTRACTION.", func(ctx *Context, a, b Expr) (Expr, error) { return arith(ctx, "-", a, b) })
	op("*", "a * b", "Product; the scales of decimals add up, to at most 30.", func(ctx *Context, a, b Expr) (Expr, error) { return arith(ctx, "*", a, b) })
	op("/", "a / b", "Quotient: DECIMAL with div_precision_increment more digits, or DOUBLE. NULL for division by zero.", divide)
	op("DIV", "a DIV b", "Integer quotient, truncated. NULL for division by zero.", intDivide)
	op("%", "a % b", "Remainder with the sign of a. NULL for division by zero.", modulo)
	alias("MOD", "%")
	register(&function{name: "NEG", min: 1, max: 1, class: "operator", usage: "-a", doc: "Negation.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) { return negate(ctx, args[0]) }})
	for _, o := range []struct{ name, doc string }{
		{"&", "Bitwise and of 64-bit integers, or of binary strings of equal length."}, {"|", "Bitwise or of 64-bit integers, or of binary strings of equal length."}, {"^", "Bitwise exclusive or of 64-bit integers, or of binary strings of equal length."},
		{"<<", "Shift left of a 64-bit integer, or of a binary string."}, {">>", "Shift right of a 64-bit integer, or of a binary string."},
	} {
		op(o.name, "a "+o.name+" b", o.doc, func(ctx *Context, a, b Expr) (Expr, error) { return bitwise(ctx, o.name, a, b) })
	}
	register(&function{name: "~", min: 1, max: 1, class: "operator", usage: "~a", doc: "Bitwise complement of a 64-bit integer, or of a binary string.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			if binaryBits(args[0]) {
				return complementBytes(args[0]), nil
			}
			return newCall("~", TUint64, func(ev *evaluation) (*vector.Vec, error) {
				out := ev.out(vector.I64)
				a, m := i64s(ev.args[0])
				for i := range out.I64s {
					out.I64s[i] = ^a[i&m]
				}
				return out, nil
			}, convert(ctx, args[0], bitInt(args[0]))).asSafe(), nil
		}})
	for _, o := range []string{"+", "-", "*", "/", "DIV", "%", "&", "|", "^", "<<", ">>"} {
		operatorText[o] = func(c *call) string {
			return "(" + c.args[0].String() + " " + o + " " + c.args[1].String() + ")"
		}
	}
	operatorText["NEG"] = func(c *call) string { return "-(" + c.args[0].String() + ")" }
	operatorText["~"] = func(c *call) string { return "~(" + c.args[0].String() + ")" }
}

// newCall makes a call that is NULL where an argument is.
func newCall(name string, t Type, k kernel, args ...Expr) *call {
	t.Nullable = false
	for _, a := range args {
		at := a.Type()
		t.Nullable = t.Nullable || at.Nullable
		t.Told.Null = t.Told.Null || at.Told.Null
	}
	return &call{name: name, args: args, typ: t, kern: k}
}

func (c *call) asSafe() *call { c.safe = true; return c }

// nullable marks the result as possibly NULL whatever the arguments.
func (c *call) nullable() *call { c.typ.Nullable = true; return c }

func addSub(ctx *Context, a, b Expr) (Expr, error) { return arith(ctx, "+", a, b) }

// outOfRange is error 1690.
func outOfRange(kind string, c *call) error {
	return errs.Userf(errs.OutOfRange, "%s value is out of range in '%s'", kind, c.String())
}

func isNested(es ...Expr) error {
	for _, e := range es {
		if e.Type().Class == Nested {
			return errs.Unsupportedf(-1, "operators on nested values")
		}
	}
	return nil
}

// arith resolves +, - and *.
func arith(ctx *Context, op string, a, b Expr) (Expr, error) {
	if err := isNested(a, b); err != nil {
		return nil, err
	}
	ta, tb := numeric(a), numeric(b)
	switch {
	case ta.Class == Double || tb.Class == Double:
		return newCall(op, TDouble, doubleArith(op), asDouble(ctx, a), asDouble(ctx, b)), nil
	case ta.Class == Int && tb.Class == Int:
		t := TBigInt
		t.Unsigned = ta.Unsigned || tb.Unsigned
		if op == "-" && ctx.Mode.Has(NoUnsignedSubtraction) {
			t.Unsigned = false
		}
		x, y := toNumeric(ctx, a), toNumeric(ctx, b)
		return newCall(op, t, intArith(op, ta.Unsigned, tb.Unsigned, t.Unsigned), x, y), nil
	}
	da, db := decimalOf(ta), decimalOf(tb)
	if op == "*" {
		s := min(da.Scale+db.Scale, 30)
		t := TDecimal(min(da.Precision+db.Precision, 65), s)
		t.Unsigned = ta.Unsigned && tb.Unsigned
		return newCall(op, t, decMultiply, convert(ctx, a, da), convert(ctx, b, db)), nil
	}
	s := max(da.Scale, db.Scale)
	p := min(max(da.Precision-da.Scale, db.Precision-db.Scale)+s+1, 65)
	t := TDecimal(p, s)
	t.Unsigned = op == "+" && ta.Unsigned && tb.Unsigned
	// Operands in the result's kind, so that one loop adds them. Precision
	// beyond 65 is caught by the check of the sum.
	return newCall(op, t, decAddSub(op == "-"), convert(ctx, a, TDecimal(p, s)), convert(ctx, b, TDecimal(p, s))), nil
}

func doubleArith(op string) kernel {
	return func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.F64)
		a, am := f64s(ev.args[0])
		b, bm := f64s(ev.args[1])
		r := out.F64s
		switch op {
		case "+":
			for i := range r {
				r[i] = a[i&am] + b[i&bm]
			}
		case "-":
			for i := range r {
				r[i] = a[i&am] - b[i&bm]
			}
		default:
			for i := range r {
				r[i] = a[i&am] * b[i&bm]
			}
		}
		return out, ev.finite(r)
	}
}

// finite raises 1690 for infinite results. NaN and infinite operands, which
// only lake files have, pass.
func (ev *evaluation) finite(r []float64) error {
	return ev.each(func(i int) error {
		if math.IsInf(r[i], 0) || math.IsNaN(r[i]) {
			for _, a := range ev.args {
				if a.Kind == vector.F64 {
					if x := floatAt(a, i); math.IsInf(x, 0) || math.IsNaN(x) {
						return nil
					}
				}
			}
			return outOfRange("DOUBLE", ev.c)
		}
		return nil
	})
}

// intArith computes with unsigned or signed operands; the result must fit its
// type.
func intArith(op string, ua, ub, ur bool) kernel {
	kind := "BIGINT"
	if ur {
		kind = "BIGINT UNSIGNED"
	}
	wide := func(x int64, unsigned bool) vector.Int128 {
		if unsigned {
			return vector.Int128FromUint(uint64(x))
		}
		return vector.Int128From(x)
	}
	fits := func(x vector.Int128) bool {
		if ur {
			return x.Hi == 0
		}
		return x.IsInt64()
	}
	return func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		a, am := i64s(ev.args[0])
		b, bm := i64s(ev.args[1])
		r := out.I64s
		if !ua && !ub && !ur {
			// Compute all rows, note overflow in the sign bit, then look closely
			// only if there was one.
			var over int64
			switch op {
			case "+":
				for i := range r {
					x, y := a[i&am], b[i&bm]
					z := x + y
					r[i] = z
					over |= (x ^ z) & (y ^ z)
				}
			case "-":
				for i := range r {
					x, y := a[i&am], b[i&bm]
					z := x - y
					r[i] = z
					over |= (x ^ y) & (x ^ z)
				}
			default:
				for i := range r {
					x, y := a[i&am], b[i&bm]
					hi, lo := bits.Mul64(uint64(x), uint64(y))
					h := int64(hi) - (x>>63)&y - (y>>63)&x
					r[i] = int64(lo)
					if h != int64(lo)>>63 {
						over = -1
					}
				}
			}
			if over >= 0 {
				return out, nil
			}
		}
		return out, ev.each(func(i int) error {
			x, y := a[i&am], b[i&bm]
			var z vector.Int128
			ok := true
			switch op {
			case "+":
				z = wide(x, ua).Add(wide(y, ub))
			case "-":
				z = wide(x, ua).Sub(wide(y, ub))
			default:
				z = mul128(wide(x, ua), wide(y, ub))
				if ua && ub {
					ok = z.Hi == 0
				}
			}
			if !ok || !fits(z) {
				return outOfRange(kind, ev.c)
			}
			r[i] = int64(z.Lo)
			return nil
		})
	}
}

// maxDecimal is 10^76: what 256 bits hold for certain. MySQL computes with up to
// 81 digits; more than 76 are refused.
var maxDecimal = pow10big(76)

var limit76 = func() vector.Int256 {
	x, _ := vector.Int256FromBig(maxDecimal)
	return x
}()

// wholeDigits is how many digits before the point MySQL counts of a value: those of
// its words of nine digits that are not zero, as far as its type has them.
func wholeDigits(d dec, t Type) int {
	n := bigDigits(d.unscaled) - d.scale
	if n <= 0 || d.unscaled.Sign() == 0 {
		return 0
	}
	return min((n+8)/9*9, max(t.Precision-t.Scale, n))
}

// mostWords is how many words of nine digits a value of the decimal type may take.
func mostWords(t Type) int { return (t.Precision-t.Scale+8)/9 + (t.Scale+8)/9 }

func tooWide() error { return errs.Unsupportedf(-1, "decimals of more than 76 digits") }

// decAddSub adds decimals of the result's kind and scale.
func decAddSub(sub bool) kernel {
	return func(ev *evaluation) (*vector.Vec, error) {
		k := ev.c.typ.Physical()
		out := ev.out(k)
		switch k {
		case vector.I64:
			a, am := i64s(ev.args[0])
			b, bm := i64s(ev.args[1])
			r := out.I64s
			if sub {
				for i := range r {
					r[i] = a[i&am] - b[i&bm]
				}
			} else {
				for i := range r {
					r[i] = a[i&am] + b[i&bm]
				}
			}
		case vector.I128:
			a, am := i128s(ev.args[0])
			b, bm := i128s(ev.args[1])
			r := out.I128s
			if sub {
				for i := range r {
					r[i] = a[i&am].Sub(b[i&bm])
				}
			} else {
				for i := range r {
					r[i] = a[i&am].Add(b[i&bm])
				}
			}
		default:
			a, am := i256s(ev.args[0])
			b, bm := i256s(ev.args[1])
			return out, ev.each(func(i int) error {
				y := b[i&bm]
				if sub {
					y = y.Neg()
				}
				z := a[i&am].Add(y)
				abs := z
				if abs.Sign() < 0 {
					abs = abs.Neg()
				}
				if abs.Cmp(limit76) >= 0 {
					return tooWide()
				}
				out.I256s[i] = z
				return nil
			})
		}
		return out, nil
	}
}

func decMultiply(ev *evaluation) (*vector.Vec, error) {
	t := ev.c.typ
	out := ev.out(t.Physical())
	ta, tb := ev.c.args[0].Type(), ev.c.args[1].Type()
	if ta.Scale+tb.Scale == t.Scale {
		a, b := ev.args[0], ev.args[1]
		switch out.Kind {
		case vector.I64:
			x, xm := i64s(a)
			y, ym := i64s(b)
			for i := range out.I64s {
				out.I64s[i] = x[i&xm] * y[i&ym]
			}
			return out, nil
		case vector.I128:
			if a.Kind == vector.I64 && b.Kind == vector.I64 {
				x, xm := i64s(a)
				y, ym := i64s(b)
				for i := range out.I128s {
					out.I128s[i] = mul64(x[i&xm], y[i&ym])
				}
				return out, nil
			}
			ev.rows(func(i int) { out.I128s[i] = mul128(wideAt(a, i), wideAt(b, i)) })
			return out, nil
		case vector.I256:
			if a.Kind != vector.I256 && b.Kind != vector.I256 && mostWords(ta)+mostWords(tb) <= 9 {
				if a.Kind == vector.I64 {
					a, b = b, a
				}
				if a.Kind == vector.I128 && b.Kind == vector.I64 {
					mulLong(ev, out.I256s, a, b)
					return out, nil
				}
				ev.rows(func(i int) { out.I256s[i] = mulWide(wideAt(a, i), wideAt(b, i)) })
				return out, nil
			}
		}
	}
	return out, ev.each(func(i int) error {
		x, y := decAt(ta, ev.args[0], i), decAt(tb, ev.args[1], i)
		if (wholeDigits(x, ta)+wholeDigits(y, tb)+8)/9+(x.scale+8)/9+(y.scale+8)/9 > 9 {
			return tooWide() // MySQL drops fraction digits here
		}
		u := dec{new(big.Int).Mul(x.unscaled, y.unscaled), x.scale + y.scale}.rescale(t.Scale)
		if u.CmpAbs(maxDecimal) >= 0 {
			if bigDigits(u)-t.Scale > 81 {
				return outOfRange("DECIMAL", ev.c)
			}
			return tooWide()
		}
		setDec(out, i, u)
		return nil
	})
}

// wideAt reads an I64 or I128 decimal.
func wideAt(v *vector.Vec, i int) vector.Int128 {
	i = v.At(i)
	v = v.Values()
	if v.Kind == vector.I64 {
		return vector.Int128From(v.I64s[i])
	}
	return v.I128s[i]
}

func negate(ctx *Context, a Expr) (Expr, error) {
	if err := isNested(a); err != nil {
		return nil, err
	}
	t := numeric(a)
	if l, ok := a.(*LiteralExpr); ok && l.hex || a.Type().IsTemporal() {
		t = TDouble // see realNumber
	}
	a = hexArg(a)
	switch t.Class {
	case Int:
		l, literal := a.(*LiteralExpr)
		if literal && !l.Val.IsNull() {
			// A constant whose bits are 2^63 or more is negated as a decimal,
			// except the literal 9223372036854775808 itself.
			x := intAt(l.Val.Vec, 0)
			if x == math.MinInt64 && l.text != "" && t.Unsigned {
				v := Literal(IntValue(x))
				v.text = "-(" + l.text + ")"
				return v, nil
			}
			if x < 0 {
				return negate(ctx, convert(ctx, a, decimalOf(t)))
			}
		}
		r := TBigInt
		r.Precision = t.Precision
		return newCall("NEG", r, func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.I64)
			a, m := i64s(ev.args[0])
			return out, ev.each(func(i int) error {
				x := a[i&m]
				if x == math.MinInt64 && !t.Unsigned || t.Unsigned && uint64(x) > 1<<63 {
					return outOfRange("BIGINT", ev.c)
				}
				out.I64s[i] = -x
				return nil
			})
		}, toNumeric(ctx, a)), nil
	case Decimal:
		d := decimalOf(t)
		return newCall("NEG", d, func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(d.Physical())
			switch out.Kind {
			case vector.I64:
				a, m := i64s(ev.args[0])
				for i := range out.I64s {
					out.I64s[i] = -a[i&m]
				}
			case vector.I128:
				a, m := i128s(ev.args[0])
				for i := range out.I128s {
					out.I128s[i] = a[i&m].Neg()
				}
			default:
				a, m := i256s(ev.args[0])
				for i := range out.I256s {
					out.I256s[i] = a[i&m].Neg()
				}
			}
			return out, nil
		}, convert(ctx, a, d)).asSafe(), nil
	}
	return newCall("NEG", TDouble, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.F64)
		a, m := f64s(ev.args[0])
		for i := range out.F64s {
			out.F64s[i] = -a[i&m]
		}
		return out, nil
	}, asDouble(ctx, a)).asSafe(), nil
}

// bitInt is the integer type in which an operand of a bit operation is read.
func bitInt(e Expr) Type {
	if t := numeric(e); t.Class == Int && t.Unsigned {
		return TUint64
	}
	return TBigInt
}

func bitwise(ctx *Context, op string, a, b Expr) (Expr, error) {
	if err := isNested(a, b); err != nil {
		return nil, err
	}
	switch shift := op == "<<" || op == ">>"; {
	case shift && binaryBits(a):
		return shiftBytes(ctx, op, a, b), nil
	case !shift && binaryBits(a, b):
		return bitwiseBytes(op, a, b), nil
	}
	return newCall(op, TUint64, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		a, am := i64s(ev.args[0])
		b, bm := i64s(ev.args[1])
		r := out.I64s
		switch op {
		case "&":
			for i := range r {
				r[i] = a[i&am] & b[i&bm]
			}
		case "|":
			for i := range r {
				r[i] = a[i&am] | b[i&bm]
			}
		case "^":
			for i := range r {
				r[i] = a[i&am] ^ b[i&bm]
			}
		case "<<":
			for i := range r {
				r[i] = a[i&am] << uint64(b[i&bm])
			}
		default:
			for i := range r {
				r[i] = int64(uint64(a[i&am]) >> uint64(b[i&bm]))
			}
		}
		return out, nil
	}, convert(ctx, a, bitInt(a)), convert(ctx, b, bitInt(b))).asSafe(), nil
}
