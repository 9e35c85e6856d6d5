package expr

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// The functions in this file read a vector of any type as one of MySQL's value
// families, row by row: as a double, an integer, a decimal, text, a date-time,
// a time. They return closures over the vector, so that the choice by type is
// made once a batch. Rows must not be NULL.

func bigOf(x int64) *big.Int { return big.NewInt(x) }

// shown cuts a value for a warning.
func shown(s []byte) string {
	if len(s) > 128 {
		s = s[:128]
	}
	return string(bytes.ToValidUTF8(s, []byte("?")))
}

// shownBytes returns bytes as MySQL's messages show them: those that are no
// printable ASCII in hexadecimal.
func shownBytes(s []byte) string {
	var b strings.Builder
	for _, c := range s {
		if c < ' ' || c > '~' {
			fmt.Fprintf(&b, "\\x%02X", c)
		} else {
			b.WriteByte(c)
		}
		if b.Len() >= 128 {
			break
		}
	}
	return b.String()
}

// shownAs is shown or shownBytes, by the type.
func shownAs(t Type, s []byte) string {
	if t.Class == Bytes {
		return shownBytes(s)
	}
	return shown(s)
}

func (c *Context) truncatedAs(t Type, what string, s []byte) {
	c.warn("Warning", errs.TruncatedValue, "Truncated incorrect %s value: '%s'", what, shownAs(t, s))
}

func (c *Context) truncated(what string, s []byte) {
	c.warn("Warning", errs.TruncatedValue, "Truncated incorrect %s value: '%s'", what, shown(s))
}

// reals reads rows as doubles.
func reals(ctx *Context, t Type, v *vector.Vec) func(i int) float64 {
	switch t.Class {
	case Int, Bit:
		if t.Unsigned || t.Class == Bit {
			return func(i int) float64 { return float64(uint64(intAt(v, i))) }
		}
		return func(i int) float64 { return float64(intAt(v, i)) }
	case Bool, Year:
		return func(i int) float64 { return float64(intAt(v, i)) }
	case Decimal:
		if v.Kind == vector.I64 && t.Scale < len(pow10f) {
			s, m := i64s(v)
			p := pow10f[t.Scale]
			return func(i int) float64 {
				x := s[i&m]
				if x > -1<<53 && x < 1<<53 {
					return float64(x) / p
				}
				return dec{bigOf(x), t.Scale}.float()
			}
		}
		return func(i int) float64 { return decAt(t, v, i).float() }
	case Float, Double:
		return func(i int) float64 { return floatAt(v, i) }
	case Date:
		return func(i int) float64 { return float64(dateNumber(int32(intAt(v, i)))) }
	case DateTime, Timestamp, Time:
		d := decs(ctx, t, v)
		return func(i int) float64 { return d(i).float() }
	case Enum, Set:
		n := ints(ctx, t, v, false)
		return func(i int) float64 { return float64(n(i)) }
	case JSON:
		return func(i int) float64 {
			x, ok := jsonNumber(v.Bytes(i))
			if !ok {
				ctx.warn("Warning", errs.InvalidJSONCast, "Invalid JSON value for CAST to DOUBLE from column %s at row %d", "cast_as_json", ctx.row(i))
			}
			return x
		}
	case Null:
		return func(int) float64 { return 0 }
	}
	return func(i int) float64 {
		s := v.Bytes(i)
		x, clean := parseDouble(s)
		if !clean && !(len(s) == 0) {
			ctx.truncatedAs(t, "DOUBLE", s)
		}
		return x
	}
}

// ints reads rows as 64-bit integers, saturating at the range of signed or
// unsigned values.
func ints(ctx *Context, t Type, v *vector.Vec, unsigned bool) func(i int) int64 {
	switch t.Class {
	case Int, Bool, Year, Bit:
		return func(i int) int64 { return intAt(v, i) }
	case Decimal:
		return func(i int) int64 {
			x, _ := decToInt(decAt(t, v, i), unsigned)
			return x
		}
	case Float, Double:
		return func(i int) int64 {
			x, _ := roundToInt(floatAt(v, i), unsigned)
			return x
		}
	case Date:
		return func(i int) int64 { return dateNumber(int32(intAt(v, i))) }
	case DateTime, Timestamp:
		z := ctx.zone()
		cut := ctx.Mode.Has(TimeTruncateFractional)
		return func(i int) int64 {
			us := intAt(v, i)
			if t.Class == Timestamp {
				us = wallOf(us, z)
			}
			r := roundWallFraction(us, 0, cut)
			if !validDateTime(r) { // 9999-12-31 23:59:59.5 and later
				if ctx != nil {
					ctx.warn("Warning", errs.DatetimeOverflow, "Datetime function: datetime field overflow")
				}
				d, _ := splitDateTime(us)
				return dateNumber(d) * 1000000
			}
			return dateTimeNumber(r)
		}
	case Time:
		cut := ctx != nil && ctx.Mode.Has(TimeTruncateFractional)
		return func(i int) int64 { return timeNumber(roundFraction(intAt(v, i), 0, cut)) }
	case Enum:
		return func(i int) int64 {
			s := string(v.Bytes(i))
			for k, l := range t.Labels {
				if l == s {
					return int64(k + 1)
				}
			}
			return 0
		}
	case Set:
		return func(i int) int64 {
			var x int64
			for _, part := range strings.Split(string(v.Bytes(i)), ",") {
				for k, l := range t.Labels {
					if l == part && k < 64 {
						x |= 1 << k
					}
				}
			}
			return x
		}
	case JSON:
		return func(i int) int64 {
			x, ok := jsonInt(v.Bytes(i), unsigned)
			if !ok {
				ctx.warn("Warning", errs.InvalidJSONCast, "Invalid JSON value for CAST to INTEGER from column %s at row %d", "cast_as_json", ctx.row(i))
			}
			return x
		}
	case Null:
		return func(int) int64 { return 0 }
	}
	return func(i int) int64 {
		s := v.Bytes(i)
		x, neg, clean := parseInt(s, unsigned)
		if !clean {
			ctx.truncatedAs(t, "INTEGER", s)
		}
		_ = neg
		return x
	}
}

// decToInt rounds half away from zero and saturates.
func decToInt(d dec, unsigned bool) (int64, bool) {
	u := d.rescale(0)
	if unsigned {
		if u.IsUint64() {
			return int64(u.Uint64()), true
		}
		if u.Sign() < 0 {
			if u.IsInt64() {
				return u.Int64(), false
			}
			return math.MinInt64, false
		}
		return -1, false
	}
	if u.IsInt64() {
		return u.Int64(), true
	}
	if u.Sign() < 0 {
		return math.MinInt64, false
	}
	return math.MaxInt64, false
}

// decs reads rows as exact decimals.
func decs(ctx *Context, t Type, v *vector.Vec) func(i int) dec {
	switch t.Class {
	case Int:
		if t.Unsigned {
			return func(i int) dec { return dec{new(big.Int).SetUint64(uint64(intAt(v, i))), 0} }
		}
		return func(i int) dec { return dec{bigOf(intAt(v, i)), 0} }
	case Bit:
		return func(i int) dec { return dec{new(big.Int).SetUint64(uint64(intAt(v, i))), 0} }
	case Bool, Year:
		return func(i int) dec { return dec{bigOf(intAt(v, i)), 0} }
	case Decimal:
		return func(i int) dec { return decAt(t, v, i) }
	case Float:
		return func(i int) dec {
			d, _ := parseDec(strconv.AppendFloat(nil, floatAt(v, i), 'e', -1, 64))
			return d
		}
	case Double:
		return func(i int) dec { return doubleToDec(floatAt(v, i)) }
	case Date:
		return func(i int) dec { return dec{bigOf(dateNumber(int32(intAt(v, i)))), 0} }
	case DateTime, Timestamp:
		z := ctx.zone()
		return func(i int) dec {
			us := intAt(v, i)
			if t.Class == Timestamp {
				us = wallOf(us, z)
			}
			_, tod := splitDateTime(us)
			return secondsDec(dateTimeNumber(us), tod%usPerSecond, t.Scale)
		}
	case Time:
		return func(i int) dec {
			us := intAt(v, i)
			f := us % usPerSecond
			if us < 0 {
				d := secondsDec(timeNumber(-us), -f, t.Scale)
				d.unscaled.Neg(d.unscaled)
				return d
			}
			return secondsDec(timeNumber(us), f, t.Scale)
		}
	case JSON:
		return func(i int) dec {
			d, ok := jsonDec(v.Bytes(i))
			if !ok {
				ctx.warn("Warning", errs.InvalidJSONCast, "Invalid JSON value for CAST to DECIMAL from column %s at row %d", "cast_as_json", ctx.row(i))
			}
			return d
		}
	case Enum, Set:
		n := ints(ctx, t, v, false)
		return func(i int) dec { return dec{bigOf(n(i)), 0} }
	case Null:
		return func(int) dec { return dec{new(big.Int), 0} }
	}
	return textDecs(ctx, t, v, true)
}

// textDecs reads texts as decimals. With note, one that has no number at all
// warns twice, as MySQL's conversions for arithmetic do.
func textDecs(ctx *Context, t Type, v *vector.Vec, note bool) func(i int) dec {
	return func(i int) dec {
		s := v.Bytes(i)
		d, clean := parseDec(s)
		if !clean {
			if start, end := numberPrefix(s); start == end && note {
				ctx.warn("Warning", errs.IncorrectDecimal, "Incorrect DECIMAL value: '0' for column '' at row -1")
				if t.Class == Bytes {
					return d
				}
			}
			ctx.truncatedAs(t, "DECIMAL", s)
		}
		return d
	}
}

// secondsDec is whole.fraction with fsp digits.
func secondsDec(whole, us int64, fsp int) dec {
	if fsp == 0 {
		return dec{bigOf(whole), 0}
	}
	u := bigOf(whole)
	u.Mul(u, pow10big(fsp))
	return dec{u.Add(u, bigOf(us/usUnit[fsp])), fsp}
}

// texts reads rows as text (or bytes). The result is valid until the next call.
func texts(ctx *Context, t Type, v *vector.Vec) func(i int) []byte {
	switch t.Class {
	case String, Bytes, JSON, Enum, Set, Null:
		return v.Bytes
	}
	var buf []byte
	z := ctx.zone()
	return func(i int) []byte {
		buf = AppendText(buf[:0], t, v, i, z)
		return buf
	}
}

// A temporal value that could not be read.
var noDate = parsed{truncated: true}

// zeroDate is the error for a date with a zero month or day where MySQL would
// let it through: in fuzzy functions (YEAR, DATE_FORMAT, …), and everywhere when
// sql_mode allows zero dates. Lake tables cannot hold such dates.
func (c *Context) zeroDate(p parsed, fuzzy bool) error {
	if p.partial && (fuzzy || !c.Mode.Has(NoZeroDate|NoZeroInDate)) {
		return errs.Unsupportedf(-1, "dates whose month or day is zero")
	}
	if p.invalid && c.Mode.Has(AllowInvalidDates) {
		return errs.Unsupportedf(-1, "invalid dates (ALLOW_INVALID_DATES)")
	}
	return nil
}

// dateTimes reads rows as dates or date-times (wall clock). ok is false, and a
// warning was given, when a row is none.
func dateTimes(ctx *Context, t Type, v *vector.Vec, label string) func(i int) (parsed, bool) {
	switch t.Class {
	case Date:
		return func(i int) (parsed, bool) {
			return parsed{kind: Date, us: int64(intAt(v, i)) * usPerDay}, true
		}
	case DateTime:
		return func(i int) (parsed, bool) { return parsed{kind: DateTime, us: intAt(v, i), fsp: t.Scale}, true }
	case Timestamp:
		z := ctx.zone()
		return func(i int) (parsed, bool) {
			return parsed{kind: DateTime, us: wallOf(intAt(v, i), z), fsp: t.Scale}, true
		}
	case Time:
		today := int64(ctx.today()) * usPerDay
		return func(i int) (parsed, bool) {
			return parsed{kind: DateTime, us: today + intAt(v, i), fsp: t.Scale}, true
		}
	case Int, Bool, Bit:
		return func(i int) (parsed, bool) {
			x := intAt(v, i)
			p := noDate
			if x >= 0 {
				p = numberToDateTime(x)
			}
			if p.kind == Null {
				ctx.badDate("datetime", noDate, t, texts(ctx, t, v)(i))
			}
			return p, p.kind != Null
		}
	case Year:
		return func(i int) (parsed, bool) {
			ctx.badDate("datetime", noDate, t, texts(ctx, t, v)(i))
			return noDate, false
		}
	case Decimal, Float, Double:
		d := decs(ctx, t, v)
		return func(i int) (parsed, bool) {
			p := decToDateTime(d(i))
			switch {
			case p.kind != Null && p.truncated && t.Class == Decimal:
				ctx.truncated("date", texts(ctx, t, v)(i))
			case p.kind != Null:
			case t.Class == Decimal:
				ctx.badDate(label, noDate, t, texts(ctx, t, v)(i))
			case label == "date":
				ctx.badDate("datetime", noDate, t, strconv.AppendFloat(nil, math.Trunc(floatAt(v, i)), 'f', -1, 64))
			default:
				ctx.badDate("datetime", noDate, t, texts(ctx, t, v)(i))
			}
			return p, p.kind != Null
		}
	case JSON:
		return func(i int) (parsed, bool) {
			p, ok := jsonTemporal(ctx, v.Bytes(i))
			if !ok || p.kind == Time {
				to := "DATETIME/TIMESTAMP"
				if label == "date" {
					to = "DATE"
				}
				ctx.warn("Warning", errs.InvalidJSONCast, "Invalid JSON value for CAST to %s from column %s at row %d", to, "cast_as_json", ctx.row(i))
				return noDate, false
			}
			return p, true
		}
	}
	z := ctx.zone()
	return func(i int) (parsed, bool) {
		s := v.Bytes(i)
		p := parseDateTime(s, false)
		if p.kind != Null {
			p.us, p.offset = p.wall(z), false
			if ctx.carry(&p); p.kind == Null && label == "datetime" {
				ctx.warn("Warning", errs.DatetimeOverflow, "Datetime function: datetime field overflow")
				return p, false
			}
		}
		if p.kind == Null || p.truncated {
			ctx.badDate(label, p, t, s)
		}
		if p.kind != Null {
			ctx.delimiter(p, s, i)
		}
		return p, p.kind != Null
	}
}

// badDate warns of a text or number that is no date, or of which only the head is.
func (c *Context) badDate(label string, p parsed, t Type, s []byte) {
	if label == "datetime" && p.kind == Null {
		c.warn("Warning", errs.TruncatedValue, "Incorrect datetime value: '%s'", shownAs(t, s))
		return
	}
	if label == "datetime" && p.kind == Date {
		label = "date"
	}
	c.truncatedAs(t, strings.TrimSpace(label), s)
}

func (c *Context) delimiter(p parsed, s []byte, row int) {
	if p.delim != 0 && p.delimWant == 0 {
		c.warn("Warning", errs.SuperfluousDelimiter, "Delimiter '%c' in position %d in datetime value '%s' at row %d is superfluous and is deprecated. Please remove.", p.delim, p.delimAt, shown(s), c.row(row))
	} else if p.delim != 0 {
		c.warn("Warning", errs.DeprecatedDelimiter, "Delimiter '%c' in position %d in datetime value '%s' at row %d is deprecated. Prefer the standard '%c'.", p.delim, p.delimAt, shown(s), c.row(row), p.delimWant)
	}
}

// decToDateTime reads YYYYMMDDhhmmss.ffffff.
func decToDateTime(d dec) parsed {
	if d.unscaled.Sign() < 0 {
		return noDate
	}
	whole, rest := new(big.Int).QuoRem(d.unscaled, pow10big(d.scale), new(big.Int))
	if !whole.IsInt64() {
		return noDate
	}
	p := numberToDateTime(whole.Int64())
	if p.kind == Null {
		return p
	}
	p.fsp = min(d.scale, 6)
	if p.kind == DateTime { // a date has no fraction of a second
		p.us += roundMicros(rest, d.scale)
	} else {
		p.truncated = rest.Sign() != 0
	}
	return p
}

// roundMicros is a fraction of a second in microseconds, rounded.
func roundMicros(rest *big.Int, scale int) int64 {
	if rest.Sign() == 0 {
		return 0
	}
	return dec{rest, scale}.rescale(6).Int64()
}

// timesOf reads rows as times; date-times give their time of day.
func timesOf(ctx *Context, t Type, v *vector.Vec) func(i int) (parsed, bool) {
	clock := func(p parsed) parsed {
		if p.kind == Time {
			return p
		}
		_, tod := splitDateTime(p.us)
		return parsed{kind: Time, us: tod, nanos: p.nanos, fsp: p.fsp, truncated: p.truncated}
	}
	switch t.Class {
	case Time:
		return func(i int) (parsed, bool) { return parsed{kind: Time, us: intAt(v, i), fsp: t.Scale}, true }
	case Date, DateTime, Timestamp:
		d := dateTimes(ctx, t, v, "datetime")
		return func(i int) (parsed, bool) {
			p, ok := d(i)
			return clock(p), ok
		}
	case Int, Bool, Bit, Year:
		return func(i int) (parsed, bool) {
			p := numberToTime(intAt(v, i)) // MySQL too reads the 64 bits as signed
			if p.truncated {
				ctx.truncated("time", texts(ctx, t, v)(i))
			}
			return clock(p), p.kind != Null
		}
	case Decimal, Float, Double:
		d := decs(ctx, t, v)
		return func(i int) (parsed, bool) {
			p := decToTime(d(i))
			if p.truncated {
				ctx.truncated("time", texts(ctx, t, v)(i))
			}
			return clock(p), p.kind != Null
		}
	case JSON:
		return func(i int) (parsed, bool) {
			p, ok := jsonTemporal(ctx, v.Bytes(i))
			if !ok {
				ctx.warn("Warning", errs.InvalidJSONCast, "Invalid JSON value for CAST to TIME from column %s at row %d", "cast_as_json", ctx.row(i))
				return noDate, false
			}
			return clock(p), true
		}
	}
	z := ctx.zone()
	return func(i int) (parsed, bool) {
		s := v.Bytes(i)
		p := parseTime(s)
		if p.kind == Null || p.truncated {
			ctx.truncatedAs(t, "time", s)
		}
		if p.kind == Null {
			return p, false
		}
		ctx.delimiter(p, s, i)
		if p.kind != Time {
			p.us, p.offset = p.wall(z), false
		}
		return clock(p), true
	}
}

// carry rounds digits beyond the microseconds in: 23:59:59.9999999 is the next
// day. What leaves the calendar has no value.
func (c *Context) carry(p *parsed) {
	if p.nanos != 0 && !c.Mode.Has(TimeTruncateFractional) {
		switch {
		case p.nanos >= 500:
			p.us++
		case p.nanos <= -500:
			p.us--
		}
		if p.kind == DateTime && !validDateTime(p.us) {
			*p = parsed{truncated: true}
		}
	}
	p.nanos = 0
}

// decToTime reads [-]hhmmss.ffffff.
func decToTime(d dec) parsed {
	neg := d.unscaled.Sign() < 0
	whole, rest := new(big.Int).QuoRem(new(big.Int).Abs(d.unscaled), pow10big(d.scale), new(big.Int))
	x := int64(math.MaxInt64)
	if whole.IsInt64() {
		x = whole.Int64()
	}
	if neg {
		x = -x
	}
	p := numberToTime(x)
	if p.kind == Null {
		return p
	}
	us := roundMicros(rest, d.scale)
	p.fsp = min(d.scale, 6)
	switch {
	case p.kind != Time:
		p.us += us
	case p.truncated:
	case neg:
		p.us -= us
	default:
		p.us += us
	}
	return p
}
