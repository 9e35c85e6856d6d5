package expr

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func (ev *evaluation) zeroDivision(out *vector.Vec, i int) {
	out.SetNull(i)
	if ev.ctx.Mode.Has(ErrorForDivisionByZero) {
		ev.ctx.warn("Warning", errs.DivisionByZero, "Division by 0")
	}
}

func divide(ctx *Context, a, b Expr) (Expr, error) {
	if err := isNested(a, b); err != nil {
		return nil, err
	}
	ta, tb := numeric(a), numeric(b)
	if ta.Class == Double || tb.Class == Double {
		return newCall("/", TDouble, func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.F64)
			a, am := f64s(ev.args[0])
			b, bm := f64s(ev.args[1])
			err := ev.each(func(i int) error {
				if b[i&bm] == 0 {
					ev.zeroDivision(out, i)
					return nil
				}
				out.F64s[i] = a[i&am] / b[i&bm]
				return nil
			})
			if err != nil {
				return nil, err
			}
			return out, ev.each(func(i int) error {
				if math.IsInf(out.F64s[i], 0) && !math.IsInf(a[i&am], 0) && !out.IsNull(i) {
					return outOfRange("DOUBLE", ev.c)
				}
				return nil
			})
		}, asDouble(ctx, a), asDouble(ctx, b)).nullable(), nil
	}
	da, db := decimalOf(ta), decimalOf(tb)
	s := min(da.Scale+ctx.DivPrecision, 30)
	t := TDecimal(min(da.Precision-da.Scale+db.Scale+s, 65), s)
	t.Unsigned = ta.Unsigned && tb.Unsigned
	k := decDivide
	if quotientDigits(da.Scale, db.Scale, ctx.DivPrecision) == s {
		k = decDivideCut
	}
	return newCall("/", t, k, convert(ctx, a, da), convert(ctx, b, db)).nullable(), nil
}

// quotientDigits is how many fraction digits MySQL computes of a quotient: whole
// words of nine digits, cut, not rounded. The result is then rounded to its
// scale, which changes nothing when that is the same number.
func quotientDigits(s1, s2, more int) int {
	w1, w2 := (s1+8)/9*9, (s2+8)/9*9
	more = max(more-(w1-s1)-(w2-s2), 0)
	return (w1 + w2 + more + 8) / 9 * 9
}

func decDivide(ev *evaluation) (*vector.Vec, error)    { return divideDecimals(ev, false) }
func decDivideCut(ev *evaluation) (*vector.Vec, error) { return divideDecimals(ev, true) }

func divideDecimals(ev *evaluation, cut bool) (*vector.Vec, error) {
	t := ev.c.typ
	out := ev.out(t.Physical())
	ta, tb := ev.c.args[0].Type(), ev.c.args[1].Type()
	shift := t.Scale - ta.Scale + tb.Scale
	a, b := ev.args[0], ev.args[1]
	small := a.Kind == vector.I64 && b.Kind == vector.I64 && shift >= 0 && shift <= 18
	return out, ev.each(func(i int) error {
		if small {
			y := b.Values().I64s[b.At(i)]
			if y == 0 {
				ev.zeroDivision(out, i)
				return nil
			}
			x := a.Values().I64s[a.At(i)]
			if q, ok := divSmall(x, y, shift, cut); ok {
				switch out.Kind {
				case vector.I64:
					out.I64s[i] = q
				case vector.I128:
					out.I128s[i] = vector.Int128From(q)
				default:
					out.I256s[i] = vector.Int256From(vector.Int128From(q))
				}
				return nil
			}
		}
		x, y := decAt(ta, a, i), decAt(tb, b, i)
		if y.unscaled.Sign() == 0 {
			ev.zeroDivision(out, i)
			return nil
		}
		var u *big.Int
		n, d := x.unscaled, y.unscaled
		if shift >= 0 {
			n = new(big.Int).Mul(n, pow10big(shift))
		} else {
			d = new(big.Int).Mul(d, pow10big(-shift))
		}
		if cut {
			u = new(big.Int).Quo(n, d)
		} else {
			u = divRound(n, d)
		}
		if u.CmpAbs(maxDecimal) >= 0 {
			return tooWide()
		}
		setDec(out, i, u)
		return nil
	})
}

// divSmall is x * 10^shift / y rounded half away from zero, when the quotient
// fits.
func divSmall(x, y int64, shift int, cut bool) (int64, bool) {
	neg := (x < 0) != (y < 0)
	ux, uy := uint64(x), uint64(y)
	if x < 0 {
		ux = -ux
	}
	if y < 0 {
		uy = -uy
	}
	hi, lo := bits.Mul64(ux, uint64(pow10i[shift]))
	if hi >= uy {
		return 0, false
	}
	q, r := bits.Div64(hi, lo, uy)
	if r >= uy-r && !cut {
		q++
	}
	if q > math.MaxInt64 {
		return 0, false
	}
	if neg {
		return -int64(q), true
	}
	return int64(q), true
}

func intDivide(ctx *Context, a, b Expr) (Expr, error) {
	if err := isNested(a, b); err != nil {
		return nil, err
	}
	ta, tb := numeric(a), numeric(b)
	t := TBigInt
	t.Unsigned = ta.Class == Int && ta.Unsigned || tb.Class == Int && tb.Unsigned || ta.Class == Decimal && ta.Unsigned || tb.Class == Decimal && tb.Unsigned
	kind := "BIGINT"
	if t.Unsigned {
		kind = "BIGINT UNSIGNED"
	}
	if ta.Class == Int && tb.Class == Int {
		return newCall("DIV", t, func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.I64)
			a, am := i64s(ev.args[0])
			b, bm := i64s(ev.args[1])
			return out, ev.each(func(i int) error {
				x, y := a[i&am], b[i&bm]
				if y == 0 {
					ev.zeroDivision(out, i)
					return nil
				}
				if !ta.Unsigned && !tb.Unsigned {
					if y == -1 && x == math.MinInt64 {
						return outOfRange(kind, ev.c)
					}
					out.I64s[i] = x / y
					return nil
				}
				xn, yn := !ta.Unsigned && x < 0, !tb.Unsigned && y < 0
				ux, uy := uint64(x), uint64(y)
				if xn {
					ux = -ux
				}
				if yn {
					uy = -uy
				}
				q := ux / uy
				if xn != yn && q != 0 {
					return outOfRange(kind, ev.c)
				}
				out.I64s[i] = int64(q)
				return nil
			})
		}, toNumeric(ctx, a), toNumeric(ctx, b)).nullable(), nil
	}
	for _, x := range []*Expr{&a, &b} {
		if n := numberOfChoice(ctx, *x, TDecimal(65, 30)); n != nil {
			*x = n
		}
	}
	// Everything else divides as decimals. A dividend that is no number is warned of
	// also where the divisor is NULL.
	c := newCall("DIV", t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		xs, ys := decs(ev.ctx, ev.c.args[0].Type(), ev.args[0]), decs(ev.ctx, ev.c.args[1].Type(), ev.args[1])
		// A decimal has room for 72 fraction digits: 1e-300 is none, but 0.
		held := func(d dec) dec {
			if d.scale > 72 {
				return dec{d.rescale(72), 72}
			}
			return d
		}
		return out, ev.each(func(i int) error {
			if ev.args[0].IsNull(i) {
				out.SetNull(i)
				return nil
			}
			x := held(xs(i))
			if ev.args[1].IsNull(i) {
				out.SetNull(i)
				return nil
			}
			y := held(ys(i))
			if y.unscaled.Sign() == 0 {
				ev.zeroDivision(out, i)
				return nil
			}
			s := max(x.scale, y.scale)
			q := new(big.Int).Quo(x.rescale(s), y.rescale(s))
			if t.Unsigned && !q.IsUint64() || !t.Unsigned && !q.IsInt64() {
				return outOfRange(kind, ev.c)
			}
			if t.Unsigned {
				out.I64s[i] = int64(q.Uint64())
			} else {
				out.I64s[i] = q.Int64()
			}
			return nil
		})
	}, hexArg(a), hexArg(b)).nullable()
	c.nulls = true
	return c, nil
}

// hexArg replaces a hexadecimal literal by its number.
func hexArg(e Expr) Expr {
	if l, ok := e.(*LiteralExpr); ok && l.hex {
		return hexNumber(l)
	}
	return e
}

func modulo(ctx *Context, a, b Expr) (Expr, error) {
	if err := isNested(a, b); err != nil {
		return nil, err
	}
	ta, tb := numeric(a), numeric(b)
	switch {
	case ta.Class == Double || tb.Class == Double:
		return newCall("%", TDouble, func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.F64)
			a, am := f64s(ev.args[0])
			b, bm := f64s(ev.args[1])
			return out, ev.each(func(i int) error {
				if b[i&bm] == 0 {
					ev.zeroDivision(out, i)
					return nil
				}
				out.F64s[i] = math.Mod(a[i&am], b[i&bm])
				return nil
			})
		}, asDouble(ctx, a), asDouble(ctx, b)).nullable(), nil
	case ta.Class == Int && tb.Class == Int:
		t := TBigInt
		t.Unsigned = ta.Unsigned
		return newCall("%", t, func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.I64)
			a, am := i64s(ev.args[0])
			b, bm := i64s(ev.args[1])
			return out, ev.each(func(i int) error {
				x, y := a[i&am], b[i&bm]
				if y == 0 {
					ev.zeroDivision(out, i)
					return nil
				}
				xn, yn := !ta.Unsigned && x < 0, !tb.Unsigned && y < 0
				ux, uy := uint64(x), uint64(y)
				if xn {
					ux = -ux
				}
				if yn {
					uy = -uy
				}
				r := ux % uy
				if xn {
					r = -r
				}
				out.I64s[i] = int64(r)
				return nil
			})
		}, toNumeric(ctx, a), toNumeric(ctx, b)).nullable(), nil
	}
	da, db := decimalOf(ta), decimalOf(tb)
	s := max(da.Scale, db.Scale)
	t := TDecimal(min(max(da.Precision-da.Scale, db.Precision-db.Scale)+s, 65), s)
	t.Unsigned = ta.Unsigned
	return newCall("%", t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(t.Physical())
		return out, ev.each(func(i int) error {
			x, y := decAt(da, ev.args[0], i), decAt(db, ev.args[1], i)
			if y.unscaled.Sign() == 0 {
				ev.zeroDivision(out, i)
				return nil
			}
			setDec(out, i, new(big.Int).Rem(x.rescale(s), y.rescale(s)))
			return nil
		})
	}, convert(ctx, a, da), convert(ctx, b, db)).nullable(), nil
}
