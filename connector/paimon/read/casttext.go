package read

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// parserOf returns the cast of texts to a type, nil when there is none. Texts that
// are no such value are errors, as in Java.
func parserOf(from, to catalog.Type) func(dst, v *vector.Vec, i int) error {
	bad := func(s string) error {
		return errs.Userf(errs.WrongValue, "read %q of a column that changed from %s to %s: it is no such value", s, from, to)
	}
	switch to.Kind {
	case catalog.Float, catalog.Double:
		return func(dst, v *vector.Vec, i int) error {
			bits := 64
			if to.Kind == catalog.Float {
				bits = 32
			}
			f, ok := javaParseFloat(v.String(i), bits)
			if !ok {
				return bad(v.String(i))
			}
			if bits == 32 {
				dst.AppendF32(float32(f))
			} else {
				dst.AppendF64(f)
			}
			return nil
		}
	case catalog.Decimal:
		return func(dst, v *vector.Vec, i int) error {
			unscaled, scale, ok := javaParseDecimal(v.String(i))
			if !ok {
				return bad(v.String(i))
			}
			putDecimal(dst, to, unscaled, scale)
			return nil
		}
	case catalog.Date:
		return func(dst, v *vector.Vec, i int) error {
			days, ok := parseDay(v.String(i))
			if !ok {
				return bad(v.String(i))
			}
			dst.AppendI32(days)
			return nil
		}
	case catalog.Time:
		return func(dst, v *vector.Vec, i int) error {
			nanos, ok := parseClock(v.String(i))
			if !ok {
				return bad(v.String(i))
			}
			f := pow10(9 - min(to.Length, 3))
			dst.AppendI32(int32(nanos / f * f / 1e6))
			return nil
		}
	case catalog.Timestamp:
		return func(dst, v *vector.Vec, i int) error {
			day, clock, both := strings.Cut(v.String(i), " ")
			days, ok := parseDay(day)
			// Alone, a number is no day here.
			if !ok || strings.Count(day, "-") == 0 {
				return bad(v.String(i))
			}
			var nanos int64
			if both {
				if nanos, ok = parseClock(clock); !ok {
					return bad(v.String(i))
				}
			}
			f := pow10(9 - to.Length)
			nanos = nanos / f * f
			return appendTimestamp(dst, int64(days)*86400000+nanos/1e6, nanos%1e6)
		}
	}
	return nil
}

// javaParseFloat reads what Java's Double.parseDouble and Float.parseFloat do.
func javaParseFloat(s string, bits int) (float64, bool) {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	body := strings.TrimLeft(s, "+-")
	switch {
	case len(s)-len(body) > 1 || body == "":
		return 0, false
	case body == "NaN" || body == "Infinity":
	case strings.ContainsAny(body[:1], "0123456789."):
		if strings.ContainsAny(body, "_xX") { // hexadecimal ones have another form in Java
			return 0, false
		}
		if strings.ContainsAny(body[len(body)-1:], "fFdD") {
			s = s[:len(s)-1]
		}
	default:
		return 0, false
	}
	f, err := strconv.ParseFloat(s, bits)
	if err != nil && !strings.Contains(err.Error(), "out of range") {
		return 0, false
	}
	return f, true
}

// maxExponent bounds the decimals that are read: one beyond is not in any type.
const maxExponent = 1000

// javaParseDecimal reads what new BigDecimal(text) does.
func javaParseDecimal(s string) (unscaled *big.Int, scale int, ok bool) {
	mantissa, exp := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(s[i+1:])
		if err != nil || e > maxExponent || e < -maxExponent {
			return nil, 0, false
		}
		mantissa, exp = s[:i], e
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole, "+-") + frac
	if len(whole)-len(strings.TrimLeft(whole, "+-")) > 1 || digits == "" || strings.Trim(digits, "0123456789") != "" || len(digits) > maxExponent {
		return nil, 0, false
	}
	x, _ := new(big.Int).SetString(digits, 10)
	if strings.HasPrefix(whole, "-") {
		x.Neg(x)
	}
	return x, len(frac) - exp, true
}

// parseDay reads a date: year-month-day, of which day and month may be missing
// and none needs leading zeros, or the number of days since 1970-01-01.
func parseDay(s string) (int32, bool) {
	part := strings.Split(s, "-")
	n := [3]int{0, 1, 1}
	if len(part) > 3 || len(part) == 0 {
		return 0, false
	}
	for i, p := range part {
		x, ok := digitsOf(p, 9)
		if !ok {
			return 0, false
		}
		n[i] = x
	}
	if len(part) == 1 {
		return int32(n[0]), true
	}
	if n[0] > 9999 || n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > daysIn(n[0], n[1]) {
		return 0, false
	}
	// Days from a civil date (Howard Hinnant, "chrono-Compatible Low-Level Date
	// Algorithms").
	y, m, d := int64(n[0]), int64(n[1]), int64(n[2])
	if m <= 2 {
		y--
	}
	era := y / 400
	if y < 0 {
		era = (y - 399) / 400
	}
	yoe := y - era*400
	doy := (153*((m+9)%12)+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return int32(era*146097 + doe - 719468), true
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

func digitsOf(s string, most int) (int, bool) {
	if s == "" || len(s) > most || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, _ := strconv.Atoi(s)
	return n, true
}

// parseClock reads hour:minute:second.fraction, of which all but the hour may be
// missing, as nanoseconds of the day.
func parseClock(s string) (int64, bool) {
	s, frac, has := strings.Cut(s, ".")
	if has && (len(frac) > 9 || strings.Trim(frac, "0123456789") != "") {
		return 0, false
	}
	part := strings.Split(s, ":")
	if len(part) > 3 || has && len(part) < 3 {
		return 0, false
	}
	var n [3]int
	for i, p := range part {
		x, ok := digitsOf(p, 2)
		if !ok {
			return 0, false
		}
		n[i] = x
	}
	if n[0] > 23 || n[1] > 59 || n[2] > 59 {
		return 0, false
	}
	nanos := int64(0)
	if frac != "" {
		nanos, _ = strconv.ParseInt((frac + "00000000")[:9], 10, 64)
	}
	return (int64(n[0])*3600+int64(n[1])*60+int64(n[2]))*1e9 + nanos, true
}

// nestedText returns the text of nested values as the cast to STRING gives it:
// [1, null], {a -> 1}, {1, x}; nil when it has none.
func nestedText(t catalog.Type) func(v *vector.Vec, i int) []byte {
	child := func(t catalog.Type) func(v *vector.Vec, i int) []byte {
		f := textOf(t)
		if f == nil {
			return nil
		}
		return func(v *vector.Vec, i int) []byte {
			if v.IsNull(i) {
				return []byte("null")
			}
			return f(v.Values(), v.At(i))
		}
	}
	list := func(v *vector.Vec, i int, open, end byte, one func(dst []byte, j int) []byte) []byte {
		out := []byte{open}
		for j := v.Offset[i]; j < v.Offset[i+1]; j++ {
			if j > v.Offset[i] {
				out = append(out, ", "...)
			}
			out = one(out, int(j))
		}
		return append(out, end)
	}
	switch t.Kind {
	case catalog.Array:
		elem := child(*t.Elem)
		if elem == nil {
			return nil
		}
		return func(v *vector.Vec, i int) []byte {
			return list(v, i, '[', ']', func(dst []byte, j int) []byte { return append(dst, elem(v.Child[0], j)...) })
		}
	case catalog.Map:
		key, value := child(*t.Key), child(*t.Elem)
		if key == nil || value == nil {
			return nil
		}
		return func(v *vector.Vec, i int) []byte {
			return list(v, i, '{', '}', func(dst []byte, j int) []byte {
				return append(append(append(dst, key(v.Child[0], j)...), " -> "...), value(v.Child[1], j)...)
			})
		}
	case catalog.Row:
		fields := make([]func(v *vector.Vec, i int) []byte, len(t.Fields))
		for i, f := range t.Fields {
			if fields[i] = child(f.Type); fields[i] == nil {
				return nil
			}
		}
		return func(v *vector.Vec, i int) []byte {
			out := []byte{'{'}
			for k, f := range fields {
				if k > 0 {
					out = append(out, ", "...)
				}
				out = append(out, f(v.Child[k], i)...)
			}
			return append(out, '}')
		}
	}
	return nil
}
