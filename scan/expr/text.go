package expr

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/internal/vector"
)

// AppendText appends the value of a row as MySQL's text protocol shows it:
// doubles as MySQL prints them, decimals with all digits of their scale,
// temporal values with their fraction digits, timestamps in zone (nil: UTC),
// nested values and JSON as MySQL's JSON text. The row must not be NULL.
func AppendText(dst []byte, t Type, v *vector.Vec, row int, zone *time.Location) []byte {
	i := v.At(row)
	w := v.Values()
	switch t.Class {
	case Year:
		if x := intAt(v, row); x != 0 || t.Width == 8 {
			return strconv.AppendInt(dst, x, 10)
		}
		return append(dst, "0000"...)
	case Bool:
		return strconv.AppendInt(dst, intAt(v, row), 10)
	case Int:
		x := intAt(v, row)
		if t.Unsigned {
			return strconv.AppendUint(dst, uint64(x), 10)
		}
		return strconv.AppendInt(dst, x, 10)
	case Decimal:
		if v.Kind == vector.Str { // see OwnDigits
			return append(dst, v.Bytes(row)...)
		}
		return vector.AppendDecimalText(dst, v, row, t.Scale)
	case Float:
		if t.Scale < NotFixed {
			return strconv.AppendFloat(dst, float64(w.F32s[i]), 'f', t.Scale, 64)
		}
		return appendFloat32(dst, w.F32s[i])
	case Double:
		if t.Scale < NotFixed {
			return strconv.AppendFloat(dst, w.F64s[i], 'f', t.Scale, 64)
		}
		return appendDouble(dst, w.F64s[i])
	case Date:
		return appendDate(dst, w.I32s[i])
	case DateTime:
		return appendDateTime(dst, w.I64s[i], t.Scale)
	case Timestamp:
		if zone == nil {
			zone = time.UTC
		}
		return appendDateTime(dst, wallOf(w.I64s[i], zone), t.Scale)
	case Time:
		return appendTime(dst, w.I64s[i], t.Scale)
	case Bit:
		return appendBits(dst, uint64(w.I64s[i]), t.Length)
	case Nested:
		return appendNested(dst, v, row)
	}
	return append(dst, v.Bytes(row)...)
}

// appendBits appends a BIT(n) as the big-endian bytes that MySQL sends.
func appendBits(dst []byte, x uint64, n int) []byte {
	for k := (max(n, 1) + 7) / 8; k > 0; k-- {
		dst = append(dst, byte(x>>((k-1)*8)))
	}
	return dst
}

// appendNested prints lists, maps and rows by their vectors alone, as JSON:
// numbers plainly, strings quoted, map keys as text.
func appendNested(dst []byte, v *vector.Vec, row int) []byte {
	if v.IsNull(row) {
		return append(dst, "null"...)
	}
	i := v.At(row)
	w := v.Values()
	switch w.Kind {
	case vector.I8:
		if w.I8s[i] != 0 {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case vector.I32, vector.I64:
		return strconv.AppendInt(dst, intAt(w, i), 10)
	case vector.I128:
		return w.I128s[i].Big().Append(dst, 10)
	case vector.I256:
		return w.I256s[i].Big().Append(dst, 10)
	case vector.F32:
		return appendFloat32(dst, w.F32s[i])
	case vector.F64:
		return appendDouble(dst, w.F64s[i])
	case vector.Str:
		return appendJSONString(dst, w.Bytes(i))
	case vector.List:
		dst = append(dst, '[')
		for j := w.Offset[i]; j < w.Offset[i+1]; j++ {
			if j > w.Offset[i] {
				dst = append(dst, ", "...)
			}
			dst = appendNested(dst, w.Child[0], int(j))
		}
		return append(dst, ']')
	case vector.Map:
		dst = append(dst, '{')
		for j := w.Offset[i]; j < w.Offset[i+1]; j++ {
			if j > w.Offset[i] {
				dst = append(dst, ", "...)
			}
			key := appendNested(nil, w.Child[0], int(j))
			if len(key) == 0 || key[0] != '"' {
				key = appendJSONString(nil, key)
			}
			dst = append(append(dst, key...), ": "...)
			dst = appendNested(dst, w.Child[1], int(j))
		}
		return append(dst, '}')
	}
	dst = append(dst, '[')
	for c, child := range w.Child {
		if c > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendNested(dst, child, i)
	}
	return append(dst, ']')
}

// literal prints a value as a literal that identifies it.
func (v Value) literal() string {
	if v.IsNull() {
		return "NULL"
	}
	s := AppendText(nil, v.Type, v.Vec, 0, nil)
	switch v.Type.Class {
	case String, Enum, Set, JSON:
		return "'" + strings.ReplaceAll(string(s), "'", "\\'") + "'"
	case Bytes, Bit:
		return "x'" + hexLower(s) + "'"
	case Date:
		return "DATE'" + string(s) + "'"
	case DateTime, Timestamp:
		return "TIMESTAMP'" + string(s) + "'"
	case Time:
		return "TIME'" + string(s) + "'"
	case Double, Float:
		return string(s) + "e0"
	}
	return string(s)
}

const hexDigits = "0123456789abcdef"

func hexLower(b []byte) string {
	out := make([]byte, 0, 2*len(b))
	for _, c := range b {
		out = append(out, hexDigits[c>>4], hexDigits[c&15])
	}
	return string(out)
}

// typedBase64 is how JSON shows binary strings.
func typedBase64(mysqlType string, b []byte) string {
	return "base64:" + mysqlType + ":" + base64.StdEncoding.EncodeToString(b)
}

// appendJSONString quotes text as MySQL's JSON does.
func appendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
	for _, c := range s {
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			if c < 0x20 {
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			} else {
				dst = append(dst, c)
			}
		}
	}
	return append(dst, '"')
}
