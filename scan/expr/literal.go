package expr

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
)

// NullValue returns NULL.
func NullValue() Value { return Value{Type: TNull, Vec: vector.NewNull(vector.Str, 1)} }

// IntValue returns a BIGINT.
func IntValue(x int64) Value {
	v := vector.New(vector.I64, 1)
	v.AppendI64(x)
	t := TBigInt.NotNull()
	t.Precision = digitsOf(x)
	t.Told.Length = t.Precision + 1
	return Value{Type: t, Vec: v.AsConst(1)}
}

func digitsOf(x int64) int {
	n := 1
	for x >= 10 || x <= -10 {
		x /= 10
		n++
	}
	return n
}

// UintValue returns a BIGINT UNSIGNED.
func UintValue(x uint64) Value {
	v := IntValue(int64(x))
	v.Type.Unsigned = true
	v.Type.Precision = 0
	v.Type.Told.Length = len(strconv.FormatUint(x, 10))
	return v
}

// BoolValue returns 0 or 1 as predicates give it.
func BoolValue(x bool) Value {
	v := vector.New(vector.I8, 1)
	v.AppendBool(x)
	return Value{Type: TBool.NotNull(), Vec: v.AsConst(1)}
}

// DoubleValue returns a DOUBLE.
func DoubleValue(x float64) Value {
	v := vector.New(vector.F64, 1)
	v.AppendF64(x)
	return Value{Type: TDouble.NotNull(), Vec: v.AsConst(1)}
}

// StringValue returns text; collation "" is utf8mb4_0900_ai_ci.
func StringValue(s, collation string) Value {
	if collation == "" {
		collation = DefaultCollation
	}
	v := vector.New(vector.Str, 1)
	v.AppendString(s)
	return Value{Type: TString(utf8.RuneCountInString(s), collation).NotNull(), Vec: v.AsConst(1)}
}

// BytesValue returns a binary string.
func BytesValue(b []byte) Value {
	v := vector.New(vector.Str, 1)
	v.AppendBytes(b)
	return Value{Type: TBytes(len(b)).NotNull(), Vec: v.AsConst(1)}
}

// DecimalValue reads plain decimal text ("-12.50"), keeping its scale. ok is
// false when s is not a number or has more than 65 digits.
func DecimalValue(s string) (v Value, ok bool) {
	d, clean := parseDec([]byte(s))
	if !clean || s == "" {
		return Value{}, false
	}
	return decValue(d)
}

func decValue(d dec) (Value, bool) {
	if d.scale > 30 {
		d = dec{d.rescale(30), 30}
	}
	p := max(bigDigits(d.unscaled), d.scale)
	if p == d.scale && d.scale == 0 {
		p = 1
	}
	if p > 65 {
		return Value{}, false
	}
	t := TDecimal(p, d.scale).NotNull()
	w := vector.New(t.Physical(), 1)
	w.AppendDecimal(d.unscaled)
	return Value{Type: t, Vec: w.AsConst(1)}, true
}

// DateValue, DateTimeValue and TimeValue return temporal values: days since
// 1970-01-01, wall clock microseconds since the epoch, signed microseconds.
func DateValue(days int32) Value {
	v := vector.New(vector.I32, 1)
	v.AppendI32(days)
	return Value{Type: TDate.NotNull(), Vec: v.AsConst(1)}
}

// DateTimeValue returns a DATETIME(fsp).
func DateTimeValue(us int64, fsp int) Value {
	v := vector.New(vector.I64, 1)
	v.AppendI64(us)
	return Value{Type: TDateTime(fsp).NotNull(), Vec: v.AsConst(1)}
}

// TimeValue returns a TIME(fsp).
func TimeValue(us int64, fsp int) Value {
	v := DateTimeValue(us, fsp)
	v.Type.Class = Time
	return v
}

func boolLiteral(x bool) Expr {
	l := Literal(BoolValue(x))
	l.text = map[bool]string{true: "true", false: "false"}[x]
	return l
}

// wordLiteral is a name or unit as an argument.
func wordLiteral(s string) Expr { return Literal(StringValue(s, "")) }

// word returns the text of a wordLiteral.
func word(e Expr) (string, bool) {
	l, ok := e.(*LiteralExpr)
	if !ok || l.Val.IsNull() || l.Val.Vec.Kind != vector.Str {
		return "", false
	}
	return l.Val.Vec.String(0), true
}

func numberLiteral(e *syntax.NumberLit) (Expr, error) {
	var v Value
	switch e.Kind {
	case syntax.FloatNumber:
		x, clean := parseDouble([]byte(e.Text))
		if !clean {
			return nil, errs.Userf(errs.IllegalValue, "Illegal double '%s' value found during parsing", e.Text)
		}
		v = DoubleValue(x)
		v.Type.Told.Length = len(e.Text)
	case syntax.Integer:
		if u, ok := e.Uint64(); ok {
			if u > 1<<63-1 {
				v = UintValue(u)
			} else {
				v = IntValue(int64(u))
			}
			break
		}
		fallthrough
	default:
		text := e.Text
		if i := strings.IndexByte(text, '.'); i >= 0 && len(text)-i-1 > 30 {
			text = text[:i+31]
		}
		d, _ := parseDec([]byte(text))
		if len(strings.TrimLeft(strings.SplitN(text, ".", 2)[0], "0"))+d.scale > 65 {
			w := strings.Repeat("9", 65)
			d, _ = parseDec([]byte(w))
		}
		var ok bool
		if v, ok = decValue(d); !ok {
			return nil, errs.Unsupportedf(-1, "decimals of more than 65 digits")
		}
		if i := strings.IndexByte(text, '.'); i >= 0 {
			// The digits before the point count as written.
			whole := len(strings.TrimLeft(text[:i], "0"))
			v.Type.Told.Length = toldDecimal(max(whole, min(i, 1))+d.scale, d.scale, false)
			p := whole + d.scale
			v.Type.Precision = max(p, v.Type.Precision)
			v = repack(v)
		}
	}
	l := Literal(v)
	l.text = e.Text
	return l, nil
}

// repack gives a decimal value the physical kind of its precision.
func repack(v Value) Value {
	k := v.Type.Physical()
	if v.Vec.Kind == k {
		return v
	}
	d := decAt(v.Type, v.Vec, 0)
	w := vector.New(k, 1)
	w.AppendDecimal(d.unscaled)
	v.Vec = w.AsConst(1)
	return v
}

func stringLiteral(ctx *Context, e *syntax.StringLit) (Expr, error) {
	switch {
	case e.National || e.Charset == "":
		if e.National {
			ctx.warn("Warning", errs.DeprecatedNational, "NATIONAL/NCHAR/NVARCHAR implies the character set UTF8MB3, which will be replaced by UTF8MB4 in a future release. Please consider using CHAR(x) CHARACTER SET UTF8MB4 in order to be unambiguous.")
			return Literal(StringValue(e.Value, "utf8mb3_general_ci")), nil
		}
		return Literal(StringValue(e.Value, ctx.collation())), nil
	case e.Charset == "binary":
		return Literal(BytesValue([]byte(e.Value))), nil
	}
	c, err := defaultCollation(e.Charset)
	if err != nil {
		return nil, err
	}
	s := e.Value
	if e.Charset == "ucs2" {
		warnOfCharset(ctx, e.Charset)
	}
	if own := codings[e.Charset]; own != nil {
		text, bad := own.text(nil, []byte(s))
		if bad != nil {
			return nil, errs.Userf(errs.InvalidCharacter, "Invalid %s character string: '%s'", e.Charset, strings.ToUpper(hexLower(bad)))
		}
		s = string(text)
	} else if !utf8.ValidString(s) {
		return nil, errs.Userf(errs.InvalidCharacter, "Invalid %s character string: '%s'", e.Charset, strings.ToUpper(hexLower([]byte(firstInvalid(s)))))
	}
	return Literal(StringValue(s, c)), nil
}

// charset is character_set_connection.
func (c *Context) charset() string { return charsetOf(c.collation()) }

// firstInvalid returns what follows the valid prefix of s, at most six bytes.
func firstInvalid(s string) string {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n <= 1 {
			return s[i:min(len(s), i+6)]
		}
		i += n
	}
	return ""
}

func bytesLiteral(ctx *Context, e *syntax.BytesLit) (Expr, error) {
	if e.Charset != "" && e.Charset != "binary" {
		return stringLiteral(ctx, &syntax.StringLit{At: e.At, Value: e.Value, Charset: e.Charset})
	}
	l := Literal(BytesValue([]byte(e.Value)))
	l.hex, l.bits = e.Charset == "", e.Bits && e.Charset == ""
	if l.hex {
		l.Val.Type.Told.Form, l.Val.Type.Unsigned = Digits, !l.bits
	}
	l.text = "0x" + strings.ToUpper(hexLower([]byte(e.Value)))
	return l, nil
}

func temporalLiteral(ctx *Context, e *syntax.TemporalLit) (Expr, error) {
	s := []byte(e.Text)
	bad := func(kind string) error {
		return errs.Userf(errs.WrongValue, "Incorrect %s value: '%s'", kind, e.Text)
	}
	var v Value
	switch e.Kind {
	case syntax.DateLiteral:
		p := parseDateTime(s, false)
		if err := ctx.zeroDate(p, false); err != nil {
			return nil, err
		}
		if p.kind != Date || p.truncated {
			return nil, bad("DATE")
		}
		ctx.delimiter(p, s, 0)
		d, _ := splitDateTime(p.us)
		v = DateValue(d)
	case syntax.TimeLiteral:
		p := parseTime(s)
		if p.kind != Time || p.truncated {
			return nil, bad("TIME")
		}
		v = TimeValue(p.rounded(6, false), p.fsp)
	default:
		p := parseDateTime(s, false)
		if err := ctx.zeroDate(p, false); err != nil {
			return nil, err
		}
		if p.kind != DateTime || p.truncated {
			return nil, bad("DATETIME")
		}
		ctx.delimiter(p, s, 0)
		p.us, p.offset = p.wall(ctx.zone()), false
		v = DateTimeValue(p.rounded(6, false), p.fsp)
	}
	return Literal(v), nil
}
