// Package jsonl prints rows as canonical JSON, one array a row, so that the
// answers of different readers can be compared byte by byte. Every type has
// exactly one text:
//
//	NULL                          null
//	BOOLEAN, integers             true, -7
//	FLOAT, DOUBLE                 shortest digits that read back the same, laid out as
//	                              encoding/json does; "NaN", "Infinity", "-Infinity"
//	DECIMAL(p,s)                  "-0.50", exactly s fraction digits
//	CHAR, VARCHAR, STRING         a JSON string; escaped are only " \ and what is
//	                              below U+0020
//	BINARY, VARBINARY, BYTES      {"b":"00ff"}
//	DATE                          "2024-02-29"
//	TIME(p), TIMESTAMP(p)         "23:59:59.5", "2024-02-29 12:00:00.123", exactly p
//	                              fraction digits; WITH LOCAL TIME ZONE in UTC, then Z
//	ARRAY, VECTOR                 [1,null,3]
//	MAP, MULTISET                 {"m":[[key,value],…]}, sorted by the key's text
//	ROW                           {"r":[…]}
//	VARIANT                       {"v":"<its JSON text>"}
//
// Start reading at AppendRow.
package jsonl

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/variant"
	"github.com/thermocline/thermocline/internal/vector"
)

// Column is a column of the header line.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Header returns the first line, without a line end: names and types.
func Header(table string, names []string, types []catalog.Type) []byte {
	cols := make([]Column, len(names))
	for i := range names {
		cols[i] = Column{names[i], types[i].String()}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	// Encoding strings cannot fail.
	_ = e.Encode(struct {
		Table   string   `json:"table,omitempty"`
		Columns []Column `json:"columns"`
	}{table, cols})
	return bytes.TrimRight(b.Bytes(), "\n")
}

// AppendRow appends the text of the physical row i of b, whose columns are of
// the given types, without a line end.
func AppendRow(dst []byte, b *vector.Batch, i int, types []catalog.Type) []byte {
	dst = append(dst, '[')
	for c, t := range types {
		if c > 0 {
			dst = append(dst, ',')
		}
		dst = AppendValue(dst, b.Cols[c], i, t)
	}
	return append(dst, ']')
}

// AppendValue appends the text of row i of v, a vector of any form that holds
// values of type t.
func AppendValue(dst []byte, v *vector.Vec, i int, t catalog.Type) []byte {
	if v.IsNull(i) {
		return append(dst, "null"...)
	}
	at := v.At(i)
	p := v.Values()
	switch t.Kind {
	case catalog.Boolean:
		return strconv.AppendBool(dst, p.I8s[at] != 0)
	case catalog.TinyInt, catalog.SmallInt, catalog.Int:
		return strconv.AppendInt(dst, int64(p.I32s[at]), 10)
	case catalog.BigInt:
		return strconv.AppendInt(dst, p.I64s[at], 10)
	case catalog.Float:
		return appendFloat(dst, float64(p.F32s[at]), 32)
	case catalog.Double:
		return appendFloat(dst, p.F64s[at], 64)
	case catalog.Decimal:
		dst = append(dst, '"')
		dst = vector.AppendDecimalText(dst, v, i, t.Scale)
		return append(dst, '"')
	case catalog.Char, catalog.Varchar:
		return AppendString(dst, v.Bytes(i))
	case catalog.Binary, catalog.Varbinary, catalog.Blob:
		dst = append(dst, `{"b":"`...)
		dst = hex.AppendEncode(dst, v.Bytes(i))
		return append(dst, `"}`...)
	case catalog.Date:
		dst = append(dst, '"')
		dst = AppendDate(dst, int64(p.I32s[at]))
		return append(dst, '"')
	case catalog.Time:
		dst = append(dst, '"')
		dst = appendTimeOfDay(dst, int64(p.I32s[at])*1e6, t.Length)
		return append(dst, '"')
	case catalog.Timestamp, catalog.TimestampLTZ:
		dst = append(dst, '"')
		if p.Kind == vector.I128 {
			dst = AppendTimestampNanos(dst, p.I128s[at], t.Length)
		} else {
			dst = AppendTimestamp(dst, p.I64s[at], t.Length)
		}
		if t.Kind == catalog.TimestampLTZ {
			dst = append(dst, 'Z')
		}
		return append(dst, '"')
	case catalog.Array, catalog.Vector:
		dst = append(dst, '[')
		for j := p.Offset[at]; j < p.Offset[at+1]; j++ {
			if j > p.Offset[at] {
				dst = append(dst, ',')
			}
			dst = AppendValue(dst, p.Child[0], int(j), *t.Elem)
		}
		return append(dst, ']')
	case catalog.Map, catalog.Multiset:
		return appendMap(dst, p, at, t)
	case catalog.Row:
		dst = append(dst, `{"r":[`...)
		for c, f := range t.Fields {
			if c > 0 {
				dst = append(dst, ',')
			}
			dst = AppendValue(dst, p.Child[c], at, f.Type)
		}
		return append(dst, `]}`...)
	}
	if t.Kind == catalog.Variant {
		// Readers have checked the value; one that others made may be no VARIANT.
		text, err := variant.AppendJSON(nil, p.Child[0].Bytes(at), p.Child[1].Bytes(at))
		if err != nil {
			text = []byte("null")
		}
		return append(AppendString(append(dst, `{"v":`...), text), '}')
	}
	return append(dst, `"?"`...)
}

func appendMap(dst []byte, p *vector.Vec, at int, t catalog.Type) []byte {
	kt, vt := t.Key, t.Elem
	if t.Kind == catalog.Multiset {
		kt, vt = t.Elem, &catalog.TInt
	}
	type pair struct{ key, text []byte }
	var pairs []pair
	for j := p.Offset[at]; j < p.Offset[at+1]; j++ {
		k := AppendValue(nil, p.Child[0], int(j), *kt)
		text := append([]byte{'['}, k...)
		text = append(text, ',')
		text = AppendValue(text, p.Child[1], int(j), *vt)
		pairs = append(pairs, pair{k, append(text, ']')})
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
	dst = append(dst, `{"m":[`...)
	for i, x := range pairs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, x.text...)
	}
	return append(dst, `]}`...)
}

// AppendString appends s as a JSON string.
func AppendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= 0x20:
			dst = append(dst, c)
		case c == '\b':
			dst = append(dst, `\b`...)
		case c == '\f':
			dst = append(dst, `\f`...)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		}
	}
	return append(dst, '"')
}

func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	abs := math.Abs(f)
	if abs == 0 || bits == 64 && abs >= 1e-6 && abs < 1e21 || bits == 32 && float32(abs) >= 1e-6 && float32(abs) < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, bits)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' { // e-09 is e-9
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// AppendDate appends days since 1970-01-01 as a date of the proleptic Gregorian
// calendar, with at least four digits for the year.
func AppendDate(dst []byte, days int64) []byte {
	y, m, d := Civil(days)
	if y < 0 {
		dst = append(dst, '-')
		y = -y
	}
	dst = appendPadded(dst, y, 4)
	dst = append(dst, '-')
	dst = appendPadded(dst, int64(m), 2)
	dst = append(dst, '-')
	return appendPadded(dst, int64(d), 2)
}

// Civil returns the year, month and day of days since 1970-01-01 (Howard
// Hinnant, "chrono-Compatible Low-Level Date Algorithms").
func Civil(days int64) (year int64, month, day int) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy - (153*mp+2)/5 + 1)
	month = int(mp + 3)
	year = yoe + era*400
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func appendPadded(dst []byte, x int64, width int) []byte {
	s := strconv.AppendInt(nil, x, 10)
	for range width - len(s) {
		dst = append(dst, '0')
	}
	return append(dst, s...)
}

// appendTimeOfDay appends nanoseconds of the day with p fraction digits.
func appendTimeOfDay(dst []byte, nanos int64, p int) []byte {
	s := nanos / 1e9
	dst = appendPadded(dst, s/3600, 2)
	dst = append(dst, ':')
	dst = appendPadded(dst, s/60%60, 2)
	dst = append(dst, ':')
	dst = appendPadded(dst, s%60, 2)
	if p > 0 {
		dst = append(dst, '.')
		n := len(dst)
		dst = appendPadded(dst, nanos%1e9, 9)
		dst = dst[:n+min(p, 9)]
	}
	return dst
}

// AppendTimestamp appends microseconds since the epoch as date and time with p
// fraction digits.
func AppendTimestamp(dst []byte, micros int64, p int) []byte {
	days := floorDiv(micros, 86400e6)
	dst = AppendDate(dst, days)
	dst = append(dst, ' ')
	return appendTimeOfDay(dst, (micros-days*86400e6)*1000, p)
}

// AppendTimestampNanos is AppendTimestamp for nanoseconds.
func AppendTimestampNanos(dst []byte, nanos vector.Int128, p int) []byte {
	var days, rest int64
	if nanos.IsInt64() {
		days = floorDiv(nanos.Int64(), 86400e9)
		rest = nanos.Int64() - days*86400e9
	} else {
		b := nanos.Big()
		day := vector.Int128From(86400e9).Big()
		q, r := b.DivMod(b, day, vector.Int128From(0).Big())
		days, rest = q.Int64(), r.Int64()
	}
	dst = AppendDate(dst, days)
	dst = append(dst, ' ')
	return appendTimeOfDay(dst, rest, p)
}
