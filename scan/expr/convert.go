package expr

import (
	"math"
	"math/big"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// This file holds the implicit conversions: the nodes that Call puts around
// arguments so that kernels see vectors of the kind they want.

// relabel gives e another type of the same representation.
func relabel(e Expr, t Type) Expr {
	if l, ok := e.(*LiteralExpr); ok {
		d := *l
		t.Nullable = l.Val.Type.Nullable
		d.Val.Type = t
		return &d
	}
	return &call{name: "conv", inner: "relabel", args: []Expr{e}, typ: t, nulls: true, safe: true, hidden: true,
		kern: func(ev *evaluation) (*vector.Vec, error) { return ev.args[0], nil }}
}

// convert converts e to the family and representation of t, implicitly.
func convert(ctx *Context, e Expr, t Type) Expr {
	if x, ok := exactReal(e); ok && t.Class == Double {
		return x
	}
	if v, ok := e.(*variableRead); ok && v.typ.Class != t.Class {
		switch t.Class {
		case Int, Double, Decimal, String, Bytes:
			return v.as(t)
		}
		e = v.as(TString(1<<24-1, DefaultCollation))
	}
	if x := numberOfChoice(ctx, e, t); x != nil {
		return x
	}
	from := e.Type()
	t.Nullable = from.Nullable || mayFail(from, t)
	if from.Class == Null {
		v := Value{Type: t, Vec: vector.NewNull(t.Physical(), 1)}
		v.Type.Nullable = true
		l := Literal(v)
		if IsConst(e) {
			return l
		}
		return &call{name: "conv", args: []Expr{e}, typ: v.Type, hidden: true, nulls: true,
			kern: func(ev *evaluation) (*vector.Vec, error) { return vector.NewNull(ev.c.typ.Physical(), ev.n), nil }}
	}
	if l, ok := e.(*LiteralExpr); ok && l.hex && t.IsNumber() {
		e = hexNumber(l)
		from = e.Type()
	}
	if sameRepresentation(from, t) {
		if from.key() == t.key() && from.Precision == t.Precision && from.Length == t.Length && from.Coercibility == t.Coercibility {
			return e
		}
		return relabel(e, t)
	}
	k := converter(from, t)
	if n := calledName(e); (t.Class == Double || t.Class == Decimal) && silentText[n] && isString(from) {
		k = unwarned(k)
	}
	safe := quietConversion(from, t)
	if t.Class == Int && from.Class == Double && calledFunction(e) {
		k, safe = wholeOrFail(k), false
	}
	return fold(ctx, &call{name: "conv", inner: t.key(), args: []Expr{e}, typ: t, hidden: true, kern: k, safe: safe})
}

// calledFunction reports whether e is what a function or an operator gives, also when
// it was computed already. CASE and IF give what their branches are.
func calledFunction(e Expr) bool {
	if l, ok := e.(*LiteralExpr); ok && l.folded != nil {
		e = l.folded
	}
	c, ok := e.(*call)
	return ok && !c.hidden && c.name != "CASE"
}

// wholeOrFail is a conversion of what a function gives to BIGINT. Out of its range it
// is an error, as in MySQL, where columns and literals become the nearest one.
func wholeOrFail(k kernel) kernel {
	return func(ev *evaluation) (*vector.Vec, error) {
		if err := ev.wholeRange(); err != nil {
			return nil, err
		}
		return k(ev)
	}
}

// wholeRange is an error when a double of the first argument is no BIGINT.
func (ev *evaluation) wholeRange() error {
	return ev.each(func(i int) error {
		if ev.args[0].IsNull(i) {
			return nil
		}
		if x := math.RoundToEven(floatAt(ev.args[0], i)); x >= 1<<63 || x < -1<<63 {
			return errs.Userf(errs.OutOfRange, "BIGINT value is out of range in '%s'", ev.c.args[0].String())
		}
		return nil
	})
}

// silentText names functions whose texts MySQL reads as numbers without a warning.
var silentText = map[string]bool{"REGEXP_REPLACE": true, "REGEXP_SUBSTR": true, "GREATEST": true, "LEAST": true, "COALESCE": true, "IFNULL": true}

// calledName is the function that made e, also when e is its folded result.
func calledName(e Expr) string {
	if l, ok := e.(*LiteralExpr); ok && l.folded != nil {
		e = l.folded
	}
	if c, ok := e.(*call); ok {
		return c.name
	}
	return ""
}

// unwarned is a kernel whose warnings go nowhere.
func unwarned(k kernel) kernel {
	return func(ev *evaluation) (*vector.Vec, error) {
		ctx := ev.ctx
		ev.ctx = ctx.quiet()
		defer func() { ev.ctx = ctx }()
		return k(ev)
	}
}

// quietConversion reports whether a conversion raises nothing and is cheap.
func quietConversion(from, to Type) bool {
	switch from.Class {
	case Int, Bool, Year, Date:
		return to.Class == Int || to.Class == Double
	case Float, Double:
		return to.Class == Double
	}
	return false
}

// mayFail reports whether converting a value that is not NULL may give NULL.
func mayFail(from, to Type) bool {
	return to.IsTemporal() && !(from.IsTemporal()) || to.Class == Year
}

// sameRepresentation reports whether a vector of one type is one of the other
// without change.
func sameRepresentation(a, b Type) bool {
	if a.Physical() != b.Physical() {
		return false
	}
	switch b.Class {
	case Int:
		return a.Class == Int || a.Class == Year
	case Bool:
		return a.Class == Bool
	case Decimal:
		return a.Class == Decimal && a.Scale == b.Scale
	case Double, Float:
		return a.Class == b.Class
	case String, Bytes:
		if b.Class == Bytes && codingOf(a) != nil || a.Class == Bytes && codingOf(b) != nil {
			return false
		}
		return a.Class == String || a.Class == Bytes || a.Class == Enum || a.Class == Set || a.Class == JSON
	case Date:
		return a.Class == Date
	case DateTime:
		return a.Class == DateTime && a.Scale <= b.Scale
	case Timestamp:
		return a.Class == Timestamp && a.Scale <= b.Scale
	case Time:
		return a.Class == Time && a.Scale <= b.Scale
	case Year:
		return a.Class == Year
	case JSON, Enum, Set, Bit:
		return a.Class == b.Class
	}
	return a.Class == b.Class
}

// converter returns the kernel of a conversion.
func converter(from, to Type) kernel {
	switch to.Class {
	case Double:
		return toDouble
	case Float:
		return func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.F32)
			f := reals(ev.ctx, from, ev.args[0])
			ev.rows(func(i int) { out.F32s[i] = float32(f(i)) })
			return out, nil
		}
	case Int, Bool, Bit:
		return toInt
	case Decimal:
		return toDecimal
	case String, Bytes:
		return toText
	case Date:
		return func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.I32)
			f := dateTimes(ev.ctx, from, ev.args[0], "date")
			return out, ev.each(func(i int) error {
				p, ok := f(i)
				if !ok {
					out.SetNull(i)
					return ev.ctx.zeroDate(p, false)
				}
				out.I32s[i], _ = splitDateTime(p.us)
				return nil
			})
		}
	case DateTime, Timestamp:
		return func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.I64)
			f := dateTimes(ev.ctx, from, ev.args[0], "datetime")
			cut := ev.ctx.Mode.Has(TimeTruncateFractional)
			z := ev.ctx.zone()
			return out, ev.each(func(i int) error {
				p, ok := f(i)
				us := p.rounded(to.Scale, cut)
				if !ok || !validDateTime(us) {
					out.SetNull(i)
					return ev.ctx.zeroDate(p, false)
				}
				if to.Class == Timestamp {
					us = instantOf(us, z)
				}
				out.I64s[i] = us
				return nil
			})
		}
	case Time:
		return func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.I64)
			f := timesOf(ev.ctx, from, ev.args[0])
			cut := ev.ctx.Mode.Has(TimeTruncateFractional)
			ev.rows(func(i int) {
				p, ok := f(i)
				if !ok {
					out.SetNull(i)
					return
				}
				out.I64s[i] = max(-maxTime, min(p.rounded(to.Scale, cut), maxTime))
			})
			return out, nil
		}
	case JSON:
		return toJSON
	}
	return func(*evaluation) (*vector.Vec, error) {
		return nil, errs.Unsupportedf(-1, "the conversion to %s", to.sqlName())
	}
}

func toDouble(ev *evaluation) (*vector.Vec, error) {
	from := ev.c.args[0].Type()
	out := ev.out(vector.F64)
	a := ev.args[0]
	switch {
	case a.Kind == vector.I32 && from.Class == Int:
		s, m := i32s(a)
		for i := range out.F64s {
			out.F64s[i] = float64(s[i&m])
		}
	case a.Kind == vector.I64 && from.Class == Int && !from.Unsigned:
		s, m := i64s(a)
		for i := range out.F64s {
			out.F64s[i] = float64(s[i&m])
		}
	case a.Kind == vector.F32:
		s, m := f32s(a)
		for i := range out.F64s {
			out.F64s[i] = float64(s[i&m])
		}
	default:
		f := reals(ev.ctx, from, a)
		ev.rows(func(i int) { out.F64s[i] = f(i) })
	}
	return out, nil
}

func toInt(ev *evaluation) (*vector.Vec, error) {
	from, to := ev.c.args[0].Type(), ev.c.typ
	k := to.Physical()
	out := ev.out(k)
	a := ev.args[0]
	if a.Kind == vector.I32 && from.Class == Int && k == vector.I64 {
		s, m := i32s(a)
		for i := range out.I64s {
			out.I64s[i] = int64(s[i&m])
		}
		return out, nil
	}
	if a.Kind == vector.I8 && k == vector.I64 {
		s, m := i8s(a)
		for i := range out.I64s {
			out.I64s[i] = int64(s[i&m])
		}
		return out, nil
	}
	f := ints(ev.ctx, from, a, to.Unsigned)
	switch k {
	case vector.I8:
		ev.rows(func(i int) { out.I8s[i] = int8(f(i)) })
	case vector.I32:
		ev.rows(func(i int) { out.I32s[i] = int32(f(i)) })
	default:
		ev.rows(func(i int) { out.I64s[i] = f(i) })
	}
	return out, nil
}

func toDecimal(ev *evaluation) (*vector.Vec, error) {
	from, to := ev.c.args[0].Type(), ev.c.typ
	k := to.Physical()
	out := ev.out(k)
	a := ev.args[0]
	fs, integral := from.Scale, false
	switch from.Class {
	case Int, Bool, Year:
		fs, integral = 0, !(from.Unsigned && from.Width == 8)
	case Decimal:
		integral = a.Kind == vector.I64
	}
	if integral && to.Scale >= fs && to.Scale-fs <= 18 && !(from.Class == Int && intDigits(from)+to.Scale > to.Precision) {
		p := pow10i[to.Scale-fs]
		switch {
		case k == vector.I64 && a.Kind == vector.I64:
			x, m := i64s(a)
			for i := range out.I64s {
				out.I64s[i] = x[i&m] * p
			}
			return out, nil
		case k == vector.I64:
			ev.rows(func(i int) { out.I64s[i] = intAt(a, i) * p })
			return out, nil
		case k == vector.I128:
			ev.rows(func(i int) { out.I128s[i] = mul64(intAt(a, i), p) })
			return out, nil
		}
	}
	if from.Class == Decimal && to.Scale >= from.Scale && to.Scale-from.Scale <= 18 && to.Precision-to.Scale >= from.Precision-from.Scale && widen(ev, a, out, pow10i[to.Scale-from.Scale]) {
		return out, nil
	}
	f := decs(ev.ctx, from, a)
	limit := pow10big(to.Precision)
	exact := from.Class == Decimal || from.Class == Int
	return out, ev.each(func(i int) error {
		u := f(i).rescale(to.Scale)
		if to.Precision > 76 && u.CmpAbs(maxDecimal) >= 0 {
			// Only comparisons have such a type. What does not fit it is beyond all that
			// the other side may be, whose digits fit a column: so is the greatest value.
			v := new(big.Int).Sub(maxDecimal, one)
			if u.Sign() < 0 {
				v.Neg(v)
			}
			u = v
		}
		if u.CmpAbs(limit) >= 0 {
			// Intermediate results may have more digits than a column.
			if exact && out.Kind == vector.I256 {
				if u.CmpAbs(maxDecimal) >= 0 {
					return tooWide()
				}
				setDec(out, i, u)
				return nil
			}
			if from.Class == Decimal && (out.Kind == vector.I64 && u.IsInt64() || out.Kind == vector.I128 && u.BitLen() < 127) {
				setDec(out, i, u)
				return nil
			}
			v := new(big.Int).Sub(limit, one)
			if u.Sign() < 0 {
				v.Neg(v)
			}
			u = v
		}
		setDec(out, i, u)
		return nil
	})
}

// widen multiplies the rows of a decimal vector by p into a kind at least as
// wide, where the product fits by type. It reports false for kinds that it does
// not handle.
func widen(ev *evaluation, a, out *vector.Vec, p int64) bool {
	switch {
	case a.Kind == vector.I128 && out.Kind == vector.I128:
		x, m := i128s(a)
		w := vector.Int128From(p)
		for i := range out.I128s {
			out.I128s[i] = mul128(x[i&m], w)
		}
	case a.Kind == vector.I128 && out.Kind == vector.I256 && p == 1:
		x, m := i128s(a)
		for i := range out.I256s {
			out.I256s[i] = vector.Int256From(x[i&m])
		}
	case a.Kind == vector.I64 && out.Kind == vector.I256:
		x, m := i64s(a)
		for i := range out.I256s {
			out.I256s[i] = vector.Int256From(mul64(x[i&m], p))
		}
	default:
		return false
	}
	return true
}

// setDec sets row i of a decimal vector to an unscaled value that fits.
func setDec(out *vector.Vec, i int, u *big.Int) {
	switch out.Kind {
	case vector.I64:
		out.I64s[i] = u.Int64()
	case vector.I128:
		out.I128s[i], _ = vector.Int128FromBig(u)
	default:
		out.I256s[i], _ = vector.Int256FromBig(u)
	}
}

func toText(ev *evaluation) (*vector.Vec, error) {
	out := ev.out(vector.Str)
	from := ev.c.args[0].Type()
	f := texts(ev.ctx, from, ev.args[0])
	encoded := ev.c.typ.Class == Bytes && codingOf(from) != nil
	own := codingOf(ev.c.typ)
	if from.Class != Bytes {
		own = nil
	}
	return out, ev.each(func(i int) error {
		s := f(i)
		switch {
		case encoded:
			s = storedBytes(from, s)
		case own != nil:
			text, bad := own.text(nil, s)
			if bad != nil {
				cs := charsetOf(ev.c.typ.Collation)
				return errs.Userf(errs.InvalidCharacter, "Invalid %s character string: '%s'", cs, strings.ToUpper(hexLower(bad)))
			}
			s = text
		}
		out.SetBytes(i, s)
		return nil
	})
}

// intDigits is the number of digits of an integer type, as decimals count it.
func intDigits(t Type) int {
	if t.Precision > 0 {
		return t.Precision
	}
	switch t.Class {
	case Bool:
		return 1
	case Year:
		return 4
	case Bit:
		return 20
	}
	switch t.Width {
	case 1:
		return 3
	case 2:
		return 5
	case 3:
		if t.Unsigned {
			return 8
		}
		return 7
	case 4:
		return 10
	}
	if t.Unsigned {
		return 20
	}
	return 19
}

// decimalOf is the decimal type that holds all values of an exact numeric type.
func decimalOf(t Type) Type {
	d := TDecimal(0, 0)
	d.Nullable = t.Nullable
	switch t.Class {
	case Decimal:
		d.Precision, d.Scale = t.Precision, t.Scale
	case Int, Bool, Year, Bit:
		d.Precision = intDigits(t)
	case Date:
		d.Precision = 8
	case DateTime, Timestamp:
		d.Precision, d.Scale = 14+t.Scale, t.Scale
	case Time:
		d.Precision, d.Scale = 7+t.Scale, t.Scale
	default:
		d.Precision, d.Scale = 65, 30
	}
	return d
}

// numeric returns the type that e has as a number: Int, Decimal or Double.
func numeric(e Expr) Type {
	t := e.Type()
	if l, ok := e.(*LiteralExpr); ok && l.hex {
		return hexNumber(l).Type()
	}
	n := func(out Type) Type { out.Nullable = t.Nullable; return out }
	switch t.Class {
	case Int, Decimal:
		return t
	case Bool:
		return n(Type{Class: Int, Width: 8, Precision: 1, Coercibility: 5})
	case Year:
		return n(Type{Class: Int, Width: 8, Precision: 4, Unsigned: true, Coercibility: 5})
	case Bit:
		return n(TUint64)
	case Date:
		d := n(TBigInt)
		d.Precision = 8
		return d
	case DateTime, Timestamp, Time:
		if t.Scale == 0 {
			d := n(TBigInt)
			d.Precision = decimalOf(t).Precision
			return d
		}
		return decimalOf(t)
	}
	return n(TDouble)
}

// toNumeric converts e to what numeric says.
func toNumeric(ctx *Context, e Expr) Expr {
	t := numeric(e)
	if t.Class == Int {
		t.Width = 8
	}
	return convert(ctx, e, t)
}

func asDouble(ctx *Context, e Expr) Expr { return convert(ctx, e, TDouble) }

// asInt converts to BIGINT, or to BIGINT UNSIGNED for unsigned integers.
func asInt(ctx *Context, e Expr) Expr {
	t := TBigInt
	if n := numeric(e); n.Class == Int && n.Unsigned {
		t = TUint64
	}
	return convert(ctx, e, t)
}

func asSigned(ctx *Context, e Expr) Expr { return convert(ctx, e, TBigInt) }

// asText converts to text; binary strings stay binary.
func asText(ctx *Context, e Expr) Expr {
	t := e.Type()
	switch t.Class {
	case String, Bytes:
		return e
	}
	return asTextOf(ctx, e, textType(ctx, t))
}

// textType is the type of a value's text.
func textType(ctx *Context, t Type) Type {
	s := TString(displayLength(t), ctx.collation())
	s.Told.Length = toldText(t)
	s.Coercibility = 5
	switch t.Class {
	case String:
		return t
	case Bytes:
		return t
	case Bit:
		b := TBytes(displayLength(t))
		b.Coercibility = t.Coercibility
		b.Told.Length = toldText(t)
		return b
	case Enum, Set:
		s.Collation, s.Coercibility = t.Collation, t.Coercibility
	case JSON:
		s.Collation, s.Coercibility = "utf8mb4_bin", 2
	case Null:
		s.Collation, s.Coercibility = ctx.collation(), 6
	}
	if t.IsTemporal() {
		s.Coercibility = 5
	}
	return s
}

// hexNumber is the number that a hexadecimal or bit literal is.
func hexNumber(l *LiteralExpr) *LiteralExpr {
	b := l.Val.Vec.Bytes(0)
	var x uint64
	if len(b) > 8 {
		x = math.MaxUint64
	} else {
		for _, c := range b {
			x = x<<8 | uint64(c)
		}
	}
	n := Literal(UintValue(x))
	if l.bits && x <= math.MaxInt64 {
		n.Val.Type.Unsigned = false
	}
	n.text = l.text
	return n
}

// Assigned returns what a column of type t is given by e: a hexadecimal or bit
// literal is a number for one of numbers.
func Assigned(e Expr, t Type) Expr {
	e = asParameter(e, t)
	if l, ok := e.(*LiteralExpr); ok && l.hex && t.IsNumber() && len(l.Val.Vec.Bytes(0)) <= 8 {
		return hexNumber(l)
	}
	return e
}

// condition makes e a Bool.
func condition(ctx *Context, e Expr) (Expr, error) {
	e = asParameter(e, TBigInt)
	t := e.Type()
	if l, ok := e.(*LiteralExpr); ok && l.hex {
		e = hexNumber(l)
		t = e.Type()
	}
	if x := numberOfChoice(ctx, e, TDouble); x != nil {
		e, t = x, x.Type()
	}
	b := TBool
	b.Nullable = t.Nullable
	switch t.Class {
	case Bool:
		return e, nil
	case Nested:
		return nil, errs.Unsupportedf(-1, "a nested value as a condition")
	case Null:
		return convert(ctx, e, b), nil
	}
	return fold(ctx, &call{name: "conv", inner: "truth", args: []Expr{e}, typ: b, hidden: true, kern: truth, safe: t.Class == Int || t.Class == Double}), nil
}

func truth(ev *evaluation) (*vector.Vec, error) {
	t := ev.c.args[0].Type()
	a := ev.args[0]
	out := ev.out(vector.I8)
	set := func(i int, x bool) {
		if x {
			out.I8s[i] = 1
		}
	}
	switch {
	case t.Class == Int || t.Class == Year || t.Class == Bit || t.Class == Time || t.Class == Date || t.Class == DateTime || t.Class == Timestamp:
		if t.Class == Time || t.Class == Int || t.Class == Year || t.Class == Bit {
			ev.rows(func(i int) { set(i, intAt(a, i) != 0) })
		} else {
			ev.rows(func(i int) { set(i, true) })
		}
	case t.Class == Decimal:
		ev.rows(func(i int) { set(i, decAt(t, a, i).unscaled.Sign() != 0) })
	case t.Class == JSON:
		ev.ctx.warn("Warning", errs.JSONBoolean, "Evaluating a JSON value in SQL boolean context does an implicit comparison against JSON integer 0; if this is not what you want, consider converting JSON to a SQL numeric type with JSON_VALUE RETURNING")
		ev.rows(func(i int) { set(i, strings.TrimSpace(string(a.Bytes(i))) != "0") })
	default:
		f := reals(ev.ctx, t, a)
		ev.rows(func(i int) { set(i, f(i) != 0) })
	}
	return out, nil
}
