package expr

import (
	"hash/crc32"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// doubleOf makes a body of a function of doubles. ok false is NULL; an infinite
// result is error 1690.
func doubleOf(f func(ev *evaluation, x []float64) (float64, bool)) body {
	return func(ev *evaluation) func(i int, out *vector.Vec) error {
		x := make([]float64, len(ev.args))
		return func(i int, out *vector.Vec) error {
			for k, a := range ev.args {
				x[k] = floatAt(a, i)
			}
			r, ok := f(ev, x)
			switch {
			case !ok:
				out.SetNull(i)
			case math.IsInf(r, 0) || math.IsNaN(r):
				return outOfRange("DOUBLE", ev.c)
			default:
				out.F64s[i] = r
			}
			return nil
		}
	}
}

func init() {
	one := func(name, doc string, f func(float64) float64) {
		fn(spec{name: name, min: 1, max: 1, class: "math", usage: name + "(x)", doc: doc, kinds: "d", ret: retDouble,
			body: doubleOf(func(_ *evaluation, x []float64) (float64, bool) { return f(x[0]), true })})
	}
	one("SIN", "Sine.", math.Sin)
	one("COS", "Cosine.", math.Cos)
	one("TAN", "Tangent.", math.Tan)
	one("COT", "Cotangent; error 1690 for 0.", func(x float64) float64 { return 1 / math.Tan(x) })
	one("EXP", "e to the power x.", math.Exp)
	one("RADIANS", "Degrees as radians.", func(x float64) float64 { return x * (math.Pi / 180) })
	one("DEGREES", "Radians as degrees.", func(x float64) float64 { return x * (180 / math.Pi) })
	domain := func(name, doc string, ok func(float64) bool, f func(float64) float64, log bool) {
		fn(spec{name: name, min: 1, max: 1, class: "math", usage: name + "(x)", doc: doc, kinds: "d", ret: retDouble, nullable: true,
			body: doubleOf(func(ev *evaluation, x []float64) (float64, bool) {
				if !ok(x[0]) {
					if log {
						ev.ctx.warn("Warning", errs.InvalidLogarithm, "Invalid argument for logarithm")
					}
					return 0, false
				}
				return f(x[0]), true
			})})
	}
	unit := func(x float64) bool { return x >= -1 && x <= 1 }
	positive := func(x float64) bool { return x > 0 }
	domain("ASIN", "Arc sine; NULL outside -1 to 1.", unit, math.Asin, false)
	domain("ACOS", "Arc cosine; NULL outside -1 to 1.", unit, math.Acos, false)
	domain("SQRT", "Square root; NULL for negative x.", func(x float64) bool { return x >= 0 }, math.Sqrt, false)
	domain("LN", "Natural logarithm; NULL for x <= 0.", positive, math.Log, true)
	domain("LOG2", "Logarithm to base 2; NULL for x <= 0.", positive, math.Log2, true)
	domain("LOG10", "Logarithm to base 10; NULL for x <= 0.", positive, math.Log10, true)
	fn(spec{name: "LOG", min: 1, max: 2, class: "math", usage: "LOG([base, ]x)", doc: "Logarithm, natural without a base; NULL outside its domain.", kinds: "d", ret: retDouble, nullable: true,
		body: doubleOf(func(ev *evaluation, x []float64) (float64, bool) {
			v := x[len(x)-1]
			if v <= 0 || len(x) == 2 && (x[0] <= 0 || x[0] == 1) {
				ev.ctx.warn("Warning", errs.InvalidLogarithm, "Invalid argument for logarithm")
				return 0, false
			}
			if len(x) == 2 {
				return math.Log(v) / math.Log(x[0]), true
			}
			return math.Log(v), true
		})})
	fn(spec{name: "ATAN", min: 1, max: 2, class: "math", usage: "ATAN(y[, x])", doc: "Arc tangent of y, or of y / x by quadrant.", kinds: "d", ret: retDouble,
		body: doubleOf(func(_ *evaluation, x []float64) (float64, bool) {
			if len(x) == 2 {
				return math.Atan2(x[0], x[1]), true
			}
			return math.Atan(x[0]), true
		})})
	alias("ATAN2", "ATAN")
	fn(spec{name: "POW", min: 2, max: 2, class: "math", usage: "POW(x, y)", doc: "x to the power y; error 1690 beyond the range of doubles.", kinds: "d", ret: retDouble,
		body: doubleOf(func(_ *evaluation, x []float64) (float64, bool) { return math.Pow(x[0], x[1]), true })})
	alias("POWER", "POW")
	fn(spec{name: "PI", min: 0, max: 0, class: "math", usage: "PI()", doc: "3.141593.", ret: func(*Context, string, []Expr) (Type, error) {
		t := TDouble.NotNull()
		t.Scale = 6
		return t, nil
	}, body: doubleOf(func(*evaluation, []float64) (float64, bool) { return math.Pi, true })})
	register(&function{name: "ABS", min: 1, max: 1, class: "math", usage: "ABS(x)", doc: "The value without its sign.", resolve: abs})
	fn(spec{name: "SIGN", min: 1, max: 1, class: "math", usage: "SIGN(x)", doc: "-1, 0 or 1.", kinds: "n", ret: retInt,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			t := ev.c.args[0].Type()
			return func(i int, out *vector.Vec) error {
				switch t.Class {
				case Int:
					x := intAt(ev.args[0], i)
					out.I64s[i] = int64(b2i(x > 0 || t.Unsigned && x != 0) - b2i(x < 0 && !t.Unsigned))
				case Decimal:
					out.I64s[i] = int64(decAt(t, ev.args[0], i).unscaled.Sign())
				default:
					out.I64s[i] = int64(compareDouble(floatAt(ev.args[0], i), 0))
				}
				return nil
			}
		}})
	for _, r := range []struct {
		name, doc string
		mode      roundMode
	}{
		{"CEILING", "The least integer that is not below x.", roundUp}, {"FLOOR", "The greatest integer that is not above x.", roundDown},
	} {
		register(&function{name: r.name, min: 1, max: 1, class: "math", usage: r.name + "(x)", doc: r.doc,
			resolve: func(ctx *Context, args []Expr) (Expr, error) { return whole(ctx, r.name, args[0], r.mode) }})
	}
	alias("CEIL", "CEILING")
	register(&function{name: "ROUND", min: 1, max: 2, class: "math", usage: "ROUND(x[, d])", doc: "x rounded to d fraction digits: decimals half away from zero, doubles half to even.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) { return round(ctx, "ROUND", args) }})
	register(&function{name: "TRUNCATE", min: 2, max: 2, class: "math", usage: "TRUNCATE(x, d)", doc: "x cut to d fraction digits.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) { return round(ctx, "TRUNCATE", args) }})
	register(&function{name: "BIT_COUNT", min: 1, max: 1, class: "math", usage: "BIT_COUNT(x)", doc: "The number of bits set in a 64-bit integer or a binary string.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			if err := isNested(args...); err != nil {
				return nil, err
			}
			if l, ok := args[0].(*LiteralExpr); args[0].Type().Class == Bytes && !(ok && l.hex) {
				return countBits(args[0]), nil
			}
			return newCall("BIT_COUNT", TBigInt, func(ev *evaluation) (*vector.Vec, error) {
				out := ev.out(vector.I64)
				ev.rows(func(i int) { out.I64s[i] = int64(bits.OnesCount64(uint64(intAt(ev.args[0], i)))) })
				return out, nil
			}, convert(ctx, args[0], bitInt(args[0]))), nil
		}})
	fn(spec{name: "CRC32", min: 1, max: 1, class: "math", usage: "CRC32(s)", doc: "The CRC-32 checksum (IEEE 802.3).", kinds: "t", ret: retUint,
		body: intOf(func(ev *evaluation, s []byte) int64 {
			return int64(crc32.ChecksumIEEE(storedBytes(ev.c.args[0].Type(), s)))
		})})
	fn(spec{name: "CONV", min: 3, max: 3, class: "math", usage: "CONV(x, from, to)", doc: "A number's text in another base, 2 to 36; a negative base is signed.", kinds: "tii", ret: retPlain(65), nullable: true, body: convBase})
	base := func(name, doc string, to int) {
		fn(spec{name: name, min: 1, max: 1, class: "math", usage: name + "(x)", doc: doc, kinds: "t", ret: retPlain(65), nullable: true,
			body: func(ev *evaluation) func(i int, out *vector.Vec) error {
				return func(i int, out *vector.Vec) error {
					if r, ok := ev.convert(ev.args[0].Bytes(i), 10, int64(to)); ok {
						out.SetBytes(i, r)
					} else {
						out.SetNull(i)
					}
					return nil
				}
			}})
	}
	base("BIN", "An integer in binary.", 2)
	base("OCT", "An integer in octal.", 8)
}

// realNumber is toNumeric for the functions that take dates, times and hexadecimal
// literals for floating point numbers, as they do texts.
func realNumber(ctx *Context, e Expr) Expr {
	if l, ok := e.(*LiteralExpr); ok && l.hex || e.Type().IsTemporal() {
		return asDouble(ctx, e)
	}
	return toNumeric(ctx, e)
}

func abs(ctx *Context, args []Expr) (Expr, error) {
	if err := isNested(args...); err != nil {
		return nil, err
	}
	x := realNumber(ctx, args[0])
	t := x.Type()
	if t.Class == Int && t.Unsigned {
		return x, nil
	}
	return newCall("ABS", t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(t.Physical())
		return out, ev.each(func(i int) error {
			switch t.Class {
			case Int:
				x := intAt(ev.args[0], i)
				if x == math.MinInt64 {
					return outOfRange("BIGINT", ev.c)
				}
				out.I64s[i] = max(x, -x)
			case Decimal:
				setDec(out, i, new(big.Int).Abs(decAt(t, ev.args[0], i).unscaled))
			default:
				out.F64s[i] = math.Abs(floatAt(ev.args[0], i))
			}
			return nil
		})
	}, x), nil
}

type roundMode uint8

const (
	roundHalf roundMode = iota
	roundCut
	roundUp
	roundDown
)

// scaled returns u / 10^k as the mode rounds.
func (m roundMode) scaled(u *big.Int, k int) *big.Int {
	d := pow10big(k)
	switch m {
	case roundHalf:
		return divRound(u, d)
	case roundCut:
		return new(big.Int).Quo(u, d)
	}
	q, r := new(big.Int).DivMod(u, d, new(big.Int)) // floor for a positive divisor
	if m == roundUp && r.Sign() != 0 {
		q.Add(q, one)
	}
	return q
}

// whole is CEILING and FLOOR: integers stay, decimals become integers where
// they fit in 64 bits.
func whole(ctx *Context, name string, x Expr, mode roundMode) (Expr, error) {
	if err := isNested(x); err != nil {
		return nil, err
	}
	x = realNumber(ctx, x)
	t := x.Type()
	switch t.Class {
	case Int:
		return x, nil
	case Double:
		return newCall(name, TDouble, func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.F64)
			a, m := f64s(ev.args[0])
			for i := range out.F64s {
				if mode == roundUp {
					out.F64s[i] = math.Ceil(a[i&m])
				} else {
					out.F64s[i] = math.Floor(a[i&m])
				}
			}
			return out, nil
		}, x).asSafe(), nil
	}
	digits := t.Precision - t.Scale
	if t.Scale > 0 {
		digits++
	}
	r := TBigInt
	if digits > 18 {
		r = TDecimal(max(min(digits, 65), 1), 0)
	}
	return newCall(name, r, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(r.Physical())
		ev.rows(func(i int) { setDec(out, i, mode.scaled(decAt(t, ev.args[0], i).unscaled, t.Scale)) })
		return out, nil
	}, x), nil
}

// round is ROUND and TRUNCATE.
func round(ctx *Context, name string, args []Expr) (Expr, error) {
	if err := isNested(args...); err != nil {
		return nil, err
	}
	x := realNumber(ctx, args[0])
	t := x.Type()
	digits := Expr(Literal(IntValue(0)))
	if len(args) == 2 {
		digits = asInt(ctx, args[1])
	}
	l, constant := digits.(*LiteralExpr)
	if constant && l.Val.IsNull() {
		if t.Class == Decimal {
			t.Scale = 0
		}
		v := Value{Type: t, Vec: vector.NewNull(t.Physical(), 1)}
		v.Type.Nullable = true
		return Literal(v), nil
	}
	d := 0
	unsigned := digits.Type().Unsigned
	if constant {
		d = clampInt(intAt(l.Val.Vec, 0))
		if unsigned && intAt(l.Val.Vec, 0) < 0 {
			d = math.MaxInt32
		}
	}
	mode := roundHalf
	if name == "TRUNCATE" {
		mode = roundCut
	}
	at := func(ev *evaluation, i int) int {
		n := intAt(ev.args[1], i)
		if unsigned && n < 0 {
			return math.MaxInt32
		}
		return clampInt(n)
	}
	switch t.Class {
	case Double:
		r := TDouble
		if constant && d >= 0 && d < NotFixed && args[0].Type().Class != String {
			r.Scale = NotFixed
		}
		return newCall(name, r, func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.F64)
			ev.rows(func(i int) { out.F64s[i] = roundDouble(floatAt(ev.args[0], i), at(ev, i), mode == roundCut) })
			return out, nil
		}, x, digits), nil
	case Int:
		if constant && d >= 0 {
			return x, nil
		}
		kind := "BIGINT"
		if t.Unsigned {
			kind = "BIGINT UNSIGNED"
		}
		r := t
		r.Precision = 0
		return newCall(name, r, func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.I64)
			ds := decs(ev.ctx, t, ev.args[0])
			return out, ev.each(func(i int) error {
				n := at(ev, i)
				if n >= 0 {
					out.I64s[i] = intAt(ev.args[0], i)
					return nil
				}
				if n < -20 {
					return nil
				}
				u := mode.scaled(ds(i).unscaled, -n)
				u.Mul(u, pow10big(-n))
				if t.Unsigned && !u.IsUint64() || !t.Unsigned && !u.IsInt64() {
					return outOfRange(kind, ev.c)
				}
				if t.Unsigned {
					out.I64s[i] = int64(u.Uint64())
				} else {
					out.I64s[i] = u.Int64()
				}
				return nil
			})
		}, x, digits), nil
	}
	// The result keeps its scale when the digits vary by row.
	r := t
	if constant {
		s := max(0, min(d, t.Scale))
		p := t.Precision - t.Scale + s
		if mode == roundHalf && s < t.Scale {
			p++
		}
		r = TDecimal(max(min(p, 65), 1), s)
		if d < 0 {
			r.Precision = max(t.Precision-t.Scale+1, 1)
		}
	}
	return newCall(name, r, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(r.Physical())
		limit := pow10big(65)
		return out, ev.each(func(i int) error {
			x := decAt(t, ev.args[0], i)
			n := min(at(ev, i), t.Scale)
			u := x.unscaled
			if n < t.Scale {
				if t.Scale-n > 130 {
					u = new(big.Int)
				} else {
					u = mode.scaled(u, t.Scale-n)
				}
			}
			// u has scale n; bring it to r's.
			if n > r.Scale {
				u = mode.scaled(u, n-r.Scale)
			} else if n < r.Scale && u.Sign() != 0 {
				u = new(big.Int).Mul(u, pow10big(r.Scale-n))
			}
			if u.CmpAbs(limit) >= 0 {
				return outOfRange("DECIMAL", ev.c)
			}
			setDec(out, i, u)
			return nil
		})
	}, x, digits), nil
}

// roundDouble rounds as MySQL's my_double_round: by scaling, half to even.
func roundDouble(x float64, d int, cut bool) float64 {
	neg := d < 0
	n := min(max(d, -d), 400)
	p := math.Pow(10, float64(n))
	if n < len(pow10f) {
		p = pow10f[n]
	}
	var y float64
	if neg {
		y = x / p
	} else {
		y = x * p
	}
	if neg && math.IsInf(p, 0) {
		return 0
	}
	if !neg && math.IsInf(y, 0) {
		return x
	}
	if cut {
		y = math.Trunc(y)
	} else {
		y = math.RoundToEven(y)
	}
	if neg {
		return y * p
	}
	return y / p
}

func convBase(ev *evaluation) func(i int, out *vector.Vec) error {
	return func(i int, out *vector.Vec) error {
		if r, ok := ev.convert(ev.args[0].Bytes(i), intAt(ev.args[1], i), intAt(ev.args[2], i)); ok {
			out.SetBytes(i, r)
		} else {
			out.SetNull(i)
		}
		return nil
	}
}

// convert changes the base of a number's text.
func (ev *evaluation) convert(s []byte, from, to int64) ([]byte, bool) {
	if max(from, -from) < 2 || max(from, -from) > 36 || max(to, -to) < 2 || max(to, -to) > 36 || len(s) == 0 {
		return nil, false
	}
	b := uint64(max(from, -from))
	t := strings.TrimLeft(string(s), " \t\n\r\v\f")
	neg := false
	if t != "" && (t[0] == '-' || t[0] == '+') {
		neg = t[0] == '-'
		t = t[1:]
	}
	var x uint64
	over, read := false, 0
	for _, c := range []byte(t) {
		var d uint64
		switch {
		case c >= '0' && c <= '9':
			d = uint64(c - '0')
		case c >= 'a' && c <= 'z':
			d = uint64(c-'a') + 10
		case c >= 'A' && c <= 'Z':
			d = uint64(c-'A') + 10
		default:
			d = 99
		}
		if d >= b {
			break
		}
		read++
		hi, lo := bits.Mul64(x, b)
		sum, carry := bits.Add64(lo, d, 0)
		if hi != 0 || carry != 0 {
			over = true
		}
		x = sum
	}
	if read == 0 {
		ev.ctx.truncated("DECIMAL", s)
	}
	if over {
		ev.ctx.truncated("DECIMAL", s)
		x = math.MaxUint64
	}
	if from < 0 {
		if over || x > math.MaxInt64 {
			if neg {
				x = 1 << 63
			} else {
				x = math.MaxInt64
			}
		}
		if neg {
			x = -x
		}
	} else if neg {
		if over {
			x = math.MaxUint64
		} else {
			x = -x
		}
	}
	var r string
	if to < 0 {
		r = strconv.FormatInt(int64(x), int(-to))
	} else {
		r = strconv.FormatUint(x, int(to))
	}
	return []byte(strings.ToUpper(r)), true
}
