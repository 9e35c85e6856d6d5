package expr

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
)

// CastType returns the type that CAST(… AS t) names. A Length of -1 is no
// length. Errors: errs.TooBigPrecision, TooBigScale, and Unsupported for types
// that CAST does not know.
func CastType(ctx *Context, t *syntax.DataType) (Type, error) {
	n := -1
	if t.HasLength {
		n = t.Length
	}
	fsp := max(n, 0)
	if fsp > 6 && (t.Name == "DATETIME" || t.Name == "TIME" || t.Name == "TIMESTAMP") {
		return Type{}, errs.Userf(errs.TooBigPrecision, "Too-big precision %d specified for 'CAST'. Maximum is 6.", n)
	}
	switch t.Name {
	case "SIGNED", "SIGNED INTEGER":
		return TBigInt, nil
	case "UNSIGNED", "UNSIGNED INTEGER":
		return TUint64, nil
	case "INTEGER", "INT", "BIGINT":
		if t.Unsigned {
			return TUint64, nil
		}
		return TBigInt, nil
	case "DECIMAL", "DEC", "NUMERIC", "FIXED":
		p, s := 10, 0
		if t.HasLength {
			p = t.Length
		}
		if t.HasScale {
			s = t.Scale
		}
		if p == 0 {
			p = 10
		}
		switch {
		case s > 30:
			return Type{}, errs.Userf(errs.TooBigScale, "Too-big scale %d specified for 'CAST'. Maximum is 30.", s)
		case p > 65:
			return Type{}, errs.Userf(errs.TooBigPrecision, "Too-big precision %d specified for 'CAST'. Maximum is 65.", p)
		case s > p:
			return Type{}, errs.Userf(errs.WrongFieldSpec, "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '').")
		}
		return TDecimal(p, s), nil
	case "FLOAT", "FLOAT4":
		if n > 53 {
			return Type{}, errs.Userf(errs.TooBigPrecision, "Too-big precision %d specified for 'CAST'. Maximum is 53.", n)
		}
		if n > 24 {
			return TDouble, nil
		}
		return Type{Class: Float, Nullable: true, Scale: NotFixed, Coercibility: 5, Told: Told{Length: 23}}, nil
	case "REAL":
		if ctx.Mode.Has(RealAsFloat) {
			return Type{Class: Float, Nullable: true, Scale: NotFixed, Coercibility: 5, Told: Told{Length: 23}}, nil
		}
		return TDouble, nil
	case "DOUBLE", "DOUBLE PRECISION", "FLOAT8":
		return TDouble, nil
	case "CHAR", "CHARACTER", "VARCHAR", "NCHAR", "NVARCHAR", "STRING", "TEXT", "CHAR VARYING", "CHARACTER VARYING":
		c := ctx.collation()
		switch {
		case t.National || t.Name == "NCHAR" || t.Name == "NVARCHAR":
			ctx.warn("Warning", errs.DeprecatedNational, "NATIONAL/NCHAR/NVARCHAR implies the character set UTF8MB3, which will be replaced by UTF8MB4 in a future release. Please consider using CHAR(x) CHARACTER SET UTF8MB4 in order to be unambiguous.")
			c = "utf8mb3_general_ci"
		case t.Collate != "":
			c = t.Collate
		case t.Charset == "binary":
			return TBytes(n), nil
		case t.Charset != "" && t.Charset != ctx.charset():
			var err error
			if c, err = defaultCollation(t.Charset); err != nil {
				return Type{}, err
			}
		}
		if t.Binary {
			c = charsetOf(c) + "_bin"
		}
		if _, err := findCollation(c); err != nil {
			return Type{}, err
		}
		s := TString(n, c)
		s.Coercibility = 2
		return s, nil
	case "BINARY", "VARBINARY", "BYTES", "BLOB":
		b := TBytes(n)
		b.Coercibility = 2
		return b, nil
	case "DATE":
		return TDate, nil
	case "DATETIME":
		return TDateTime(fsp), nil
	case "TIMESTAMP":
		if t.Zone == syntax.WithLocalTimeZone {
			return TTimestamp(fsp), nil
		}
		return TDateTime(fsp), nil
	case "TIME":
		return TTime(fsp), nil
	case "YEAR":
		return Type{Class: Year, Width: 8, Nullable: true, Coercibility: 5}, nil
	case "JSON":
		return TJSON, nil
	case "BOOLEAN", "BOOL":
		b := TBool
		b.Width = 1
		return b, nil
	}
	return Type{}, errs.Unsupportedf(-1, "CAST(… AS %s)", t.Name)
}

// explicitCast converts as CAST does, which differs from implicit conversion
// in ranges, lengths and warnings.
func explicitCast(ctx *Context, e Expr, to Type) (Expr, error) {
	switch to.Class {
	case Decimal, Int:
		e = Exact(e)
	case Double, Float:
		if x, ok := exactReal(e); ok {
			e = x
		}
	}
	if to.Class == String || to.Class == Bytes || to.Class == JSON {
		if x := OwnDigits(ctx, e); x != nil && to.Class == JSON {
			e = ownDigits(ctx, e, TJSON)
		} else if x != nil {
			e = x
		}
	}
	switch {
	case to.Class == Double || to.Class == Float:
		if x := numberOfChoice(ctx, e, TDouble); x != nil {
			e = x
		}
	case to.Class == Decimal:
		if x := numberOfChoice(ctx, e, TDecimal(65, 30)); x != nil {
			e = x
		}
	case to.Class == Int && (e.Type().IsTemporal() || e.Type().Class == Double || e.Type().Class == Decimal):
		if x := numberOfChoice(ctx, e, TBigInt); x != nil {
			e = x
		}
	}
	from := e.Type()
	if l, ok := e.(*LiteralExpr); ok && l.hex && to.IsNumber() {
		e = hexNumber(l)
		from = e.Type()
	}
	to.Nullable = from.Nullable
	if to.Class == Bytes {
		to.Coercibility = 2
	}
	length := to.Length
	if to.Class == String || to.Class == Bytes {
		if length < 0 {
			to.Length = displayLength(from)
			to.Told.Length = textLength(from)
			if to.Class == Bytes {
				to.Length, to.Told.Length = displayLength(from)*maxBytes(from), from.toldBytes()
			}
		}
		to.Told.Null = true
	}
	if to.Class == JSON {
		to.Told.Null = true
	}
	if from.Class == Null {
		to.Nullable = true
		return convert(ctx, e, to), nil
	}
	if from.Class == Nested {
		if to.Class == String || to.Class == JSON {
			return newCall("CAST", to, func(ev *evaluation) (*vector.Vec, error) {
				out := ev.out(vector.Str)
				f := texts(ev.ctx, from, ev.args[0])
				ev.rows(func(i int) { out.SetBytes(i, f(i)) })
				return out, nil
			}, e), nil
		}
		return nil, errs.Unsupportedf(-1, "CAST of a nested value to %s", to.sqlName())
	}
	cast := func(t Type, k kernel) *call {
		c := newCall("CAST", t, k, e)
		c.inner = fmt.Sprintf(" as %s %d %d", t.key(), t.Precision, length) // precision and length change values
		c.text = "cast(" + e.String() + " as " + castName(t) + ")"
		return c
	}
	switch to.Class {
	case Int:
		to.Precision = 0
		return cast(to, func(ev *evaluation) (*vector.Vec, error) { return castInt(ev, from, to) }), nil
	case Bool:
		return condition(ctx, e)
	case Decimal:
		item := ctx.Item
		if item == "" {
			item = "(null)"
		}
		return cast(to, func(ev *evaluation) (*vector.Vec, error) { return castDecimal(ev, from, to, item) }), nil
	case String:
		return cast(to, func(ev *evaluation) (*vector.Vec, error) { return castText(ev, from, to, length) }).nullable(), nil
	case Bytes:
		return cast(to, func(ev *evaluation) (*vector.Vec, error) { return castBytes(ev, from, length) }), nil
	case Year:
		return cast(to, func(ev *evaluation) (*vector.Vec, error) { return castYear(ev, from) }).nullable(), nil
	case Float:
		return cast(to, func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.F32)
			f := reals(ev.ctx, from, ev.args[0])
			return out, ev.each(func(i int) error {
				x := f(i)
				if x > 3.4028234663852886e38 || x < -3.4028234663852886e38 {
					return errs.Userf(errs.OutOfRange, "DOUBLE value is out of range in '%s'", ev.c)
				}
				out.F32s[i] = float32(x)
				return nil
			})
		}), nil
	}
	x := convert(ctx, e, to)
	if c, ok := x.(*call); ok && c.hidden && x != e {
		d := *c
		d.hidden = false
		d.text = "cast(" + e.String() + " as " + castName(to) + ")"
		return &d, nil
	}
	return x, nil
}

func castName(t Type) string {
	switch t.Class {
	case Int:
		if t.Unsigned {
			return "unsigned"
		}
		return "signed"
	case Bytes:
		return "char charset binary"
	case String:
		return "char charset " + t.Collation
	}
	return strings.ToLower(t.sqlName())
}

func castInt(ev *evaluation, from, to Type) (*vector.Vec, error) {
	out := ev.out(vector.I64)
	switch from.Class {
	case Decimal:
		ev.rows(func(i int) {
			d := decAt(from, ev.args[0], i)
			x, ok := decToInt(d, to.Unsigned && d.unscaled.Sign() > 0)
			if !ok {
				ev.ctx.truncated("DECIMAL", AppendText(nil, from, ev.args[0], i, nil))
			}
			out.I64s[i] = x
		})
		return out, nil
	case Float, Double:
		if calledFunction(ev.c.args[0]) && from.Class == Double {
			if err := ev.wholeRange(); err != nil {
				return nil, err
			}
		}
		_, literal := ev.c.args[0].(*LiteralExpr)
		ev.rows(func(i int) {
			x, ok := roundToInt(floatAt(ev.args[0], i), false)
			if !ok && !literal {
				ev.ctx.truncated("INTEGER", AppendText(nil, from, ev.args[0], i, nil))
			}
			out.I64s[i] = x
		})
		return out, nil
	case String, Bytes:
		ev.rows(func(i int) {
			s := ev.args[0].Bytes(i)
			x, neg, clean := parseInt(s, to.Unsigned)
			if !clean {
				ev.ctx.truncatedAs(from, "INTEGER", s)
			}
			if to.Unsigned && neg && x < 0 {
				ev.ctx.warn("Warning", errs.UnsignedComplement, "Cast to unsigned converted negative integer to its positive complement")
			} else if !to.Unsigned && !neg && x < 0 && clean {
				ev.ctx.warn("Warning", errs.UnsignedComplement, "Cast to signed converted positive out-of-range integer to its negative complement")
			}
			out.I64s[i] = x
		})
		return out, nil
	}
	f := ints(ev.ctx, from, ev.args[0], to.Unsigned)
	ev.rows(func(i int) { out.I64s[i] = f(i) })
	return out, nil
}

func castDecimal(ev *evaluation, from, to Type, item string) (*vector.Vec, error) {
	out := ev.out(to.Physical())
	f := decs(ev.ctx, from, ev.args[0])
	if from.Class == String || from.Class == Bytes {
		f = func(i int) dec {
			s := ev.args[0].Bytes(i)
			d, clean := parseDec(s)
			if !clean {
				if a, b := numberPrefix(s); a == b && isColumn(ev.c.args[0]) {
					ev.ctx.warn("Warning", errs.IncorrectDecimal, "Incorrect DECIMAL value: '0' for column '' at row -1")
				}
				if from.Class != Bytes {
					ev.ctx.truncated("DECIMAL", s)
				}
			}
			return d
		}
	}
	limit := pow10big(to.Precision)
	real := from.Class == Double || from.Class == Float
	ev.rows(func(i int) {
		if real && math.Abs(floatAt(ev.args[0], i)) >= 1e81 { // more than MySQL's nine words: it names the mantissa
			mantissa, _, _ := strings.Cut(strconv.FormatFloat(floatAt(ev.args[0], i), 'e', -1, 64), "e")
			ev.ctx.truncated("DECIMAL", []byte(mantissa))
		}
		u := f(i).rescale(to.Scale)
		if u.CmpAbs(limit) >= 0 {
			neg := u.Sign() < 0
			u = new(big.Int).Sub(limit, one)
			if neg {
				u.Neg(u)
			}
			ev.ctx.warn("Warning", errs.ValueOutOfRange, "Out of range value for column '%s' at row 1", item)
		}
		setDec(out, i, u)
	})
	return out, nil
}

// CastNoting is Cast to the type of a column of a recursive query; of decimals that
// lose digits it notes so, as MySQL does.
func CastNoting(ctx *Context, e Expr, to Type, column string) (Expr, error) {
	x, err := Cast(ctx, e, to)
	from := e.Type()
	if err != nil || from.Class != Decimal || to.Class != Decimal || from.Scale <= to.Scale {
		return x, err
	}
	c := newCall("conv", x.Type(), func(ev *evaluation) (*vector.Vec, error) {
		cast, exact := ev.c.args[0].Type(), ev.c.args[1].Type()
		ev.rows(func(i int) {
			if decAt(cast, ev.args[0], i).rescale(exact.Scale).Cmp(decAt(exact, ev.args[1], i).unscaled) != 0 {
				ev.ctx.warn("Note", errs.DataTruncated, "Data truncated for column '%s' at row 1", column)
			}
		})
		return ev.args[0], nil
	}, x, e)
	c.typ.Nullable = x.Type().Nullable
	c.hidden, c.inner = true, "noting lost digits"
	return c, nil
}

// castText cuts to a length in characters and converts to the character set.
func castText(ev *evaluation, from, to Type, length int) (*vector.Vec, error) {
	a := ev.args[0]
	cs := charsetOf(to.Collation)
	narrow := cs == "latin1" || cs == "ascii" || cs == "utf8mb3" || cs == "ucs2"
	own := codingOf(to)
	if from.Class == String && length < 0 && !narrow {
		return a, nil
	}
	out := ev.out(vector.Str)
	f := texts(ev.ctx, from, a)
	var buf []byte
	ev.rows(func(i int) {
		s := f(i)
		if from.Class == Bytes {
			switch {
			case own != nil:
				var bad []byte
				if s, bad = own.text(nil, s); bad != nil {
					ev.ctx.warn("Warning", errs.InvalidCharacter, "Invalid %s character string: '%s'", cs, strings.ToUpper(hexLower(bad)))
					out.SetNull(i)
					return
				}
			case cs == "ascii":
				s = asciiOnly(nil, s)
			case !utf8.Valid(s):
				bad := firstInvalid(string(s))
				ev.ctx.warn("Warning", errs.InvalidCharacter, "Invalid %s character string: '%s'", cs, strings.ToUpper(hexLower([]byte(bad))))
				out.SetNull(i)
				return
			}
		}
		if narrow {
			buf = toCharset(buf[:0], s, cs)
			s = buf
		}
		if length >= 0 {
			if n := byteOffset(s, length); n < len(s) {
				ev.ctx.warn("Warning", errs.TruncatedValue, "Truncated incorrect CHAR(%d) value: '%s'", n, shown(s))
				s = s[:n]
			}
		}
		out.SetBytes(i, s)
	})
	return out, nil
}

func asciiOnly(dst, s []byte) []byte {
	for _, c := range s {
		if c >= utf8.RuneSelf {
			c = '?'
		}
		dst = append(dst, c)
	}
	return dst
}

// toCharset replaces what a character set does not have by question marks.
func toCharset(dst, s []byte, cs string) []byte {
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		ok := true
		switch cs {
		case "latin1":
			_, ok = latin1Byte(r)
		case "ascii":
			ok = r < utf8.RuneSelf
		case "utf8mb3", "ucs2":
			ok = r <= 0xFFFF
		}
		if ok {
			dst = append(dst, s[:n]...)
		} else {
			dst = append(dst, '?')
		}
		s = s[n:]
	}
	return dst
}

// byteOffset is the offset of the n-th character, or the length of s.
func byteOffset(s []byte, n int) int {
	if n >= len(s) {
		return len(s)
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, k := utf8.DecodeRune(s[i:])
		i += k
	}
	return i
}

// castBytes cuts or pads with zero bytes to a length.
func castBytes(ev *evaluation, from Type, length int) (*vector.Vec, error) {
	a := ev.args[0]
	if length < 0 && a.Kind == vector.Str && from.Class != String {
		return a, nil
	}
	out := ev.out(vector.Str)
	f := texts(ev.ctx, from, a)
	own := codingOf(from)
	ev.rows(func(i int) {
		s := f(i)
		if own != nil {
			s = own.encode(nil, s)
		}
		switch {
		case length >= 0 && len(s) > length:
			ev.ctx.warn("Warning", errs.TruncatedValue, "Truncated incorrect BINARY(%d) value: '%s'", length, shownBytes(s))
			s = s[:length]
		case length >= 0 && len(s) < length:
			s = append(bytes.Clone(s), make([]byte, length-len(s))...)
		}
		out.SetBytes(i, s)
	})
	return out, nil
}

// castYear converts to YEAR: 1901 to 2155, two digits as 1970 to 2069.
func castYear(ev *evaluation, from Type) (*vector.Vec, error) {
	out := ev.out(vector.I32)
	a := ev.args[0]
	bad := func(i int) {
		ev.ctx.truncated("YEAR", texts(ev.ctx, from, a)(i))
		out.SetNull(i)
	}
	if from.IsTemporal() && from.Class != Time {
		f := dateTimes(ev.ctx, from, a, "datetime")
		ev.rows(func(i int) {
			p, _ := f(i)
			d, _ := splitDateTime(p.us)
			y, _, _ := civil(d)
			if y < 1901 || y > 2155 {
				bad(i)
				return
			}
			out.I32s[i] = int32(y)
		})
		return out, nil
	}
	if from.Class == Time {
		y, _, _ := civil(ev.ctx.today())
		ev.rows(func(i int) { out.I32s[i] = int32(y) })
		return out, nil
	}
	text := from.Class == String || from.Class == Bytes
	f := ints(ev.ctx, from, a, false)
	if from.Class == Decimal || from.Class == Float || from.Class == Double {
		d := decs(ev.ctx, from, a)
		f = func(i int) int64 { x, _ := decToInt(d(i), false); return x }
	}
	ev.rows(func(i int) {
		var y int64
		if text {
			s := bytes.TrimSpace(a.Bytes(i))
			k := 0
			for k < len(s) && isDigit(s[k]) {
				k++
			}
			if k == 0 {
				ev.ctx.warn("Warning", errs.WrongValue, "Incorrect YEAR value: '%s'", shown(s))
				out.SetNull(i)
				return
			}
			y, _, _ = parseInt(s[:k], false)
			if y == 0 {
				y = 2000 // of any number of digits
			}
			if k < len(s) {
				ev.ctx.truncated("YEAR", s)
			}
		} else {
			y = f(i)
		}
		switch {
		case y == 0:
		case y > 0 && y < 70:
			y += 2000
		case y >= 70 && y < 100:
			y += 1900
		}
		switch {
		case y == 0 || y >= 1901 && y <= 2155:
			out.I32s[i] = int32(y)
		case from.Class == Float || from.Class == Double || from.Class == Decimal: // as the integer that it was read as
			ev.ctx.truncated("YEAR", strconv.AppendInt(nil, y, 10))
			out.SetNull(i)
		default:
			bad(i)
		}
	})
	return out, nil
}

// convertUsing is CONVERT(x USING charset).
func convertUsing(ctx *Context, x Expr, charset string) (Expr, error) {
	if isNested(x) != nil {
		return nil, isNested(x)
	}
	if charset == "binary" {
		return Cast(ctx, x, TBytes(-1))
	}
	c, err := defaultCollation(charset)
	if err != nil {
		return nil, err
	}
	warnOfCharset(ctx, charset)
	if charset == ctx.charset() {
		c = ctx.collation()
	}
	t := TString(-1, c)
	t.Coercibility = 2
	return Cast(ctx, x, t)
}

// collate is x COLLATE name.
func collate(ctx *Context, x Expr, name string) (Expr, error) {
	c, err := findCollation(name)
	if err != nil {
		return nil, err
	}
	t := x.Type()
	if t.Class == Null {
		return nil, errs.Userf(errs.CharsetForCollation, "COLLATION '%s' is not valid for CHARACTER SET 'binary'", name)
	}
	if isNested(x) != nil {
		return nil, isNested(x)
	}
	x = asText(ctx, x)
	cs := charsetOf(x.Type().Collation)
	if x.Type().Class == Bytes {
		cs = "binary"
	}
	if charsetOf(c.name) != cs {
		return nil, errs.Userf(errs.CharsetForCollation, "COLLATION '%s' is not valid for CHARACTER SET '%s'", name, cs)
	}
	t = x.Type()
	t.Class, t.Labels = String, nil
	if c.name == "binary" {
		t.Class = Bytes
	}
	t.Collation, t.Coercibility = c.name, 0
	t.Told.Null, t.Told.Field = true, false
	r := relabel(x, t)
	if k, ok := r.(*call); ok {
		d := *k
		d.hidden = false
		d.text = "(" + x.String() + " collate " + name + ")"
		return &d, nil
	}
	return r, nil
}
