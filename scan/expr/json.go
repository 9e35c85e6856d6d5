package expr

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"sort"
	"strconv"

	"github.com/thermocline/thermocline/internal/vector"
)

// JSON values travel as MySQL's JSON text: members ordered by length and bytes
// of their names, ", " and ": " between. Types that JSON text does not have
// (DECIMAL, DATE, …) are known only where an expression makes them.

type jsonKind uint8

// The kinds, in MySQL's order of comparison.
const (
	jNull jsonKind = iota
	jNumber
	jString
	jObject
	jArray
	jBool
	jDate
	jTime
	jDateTime
	jOpaque
)

// jsonValue is a parsed JSON value.
type jsonValue struct {
	kind jsonKind
	b    bool
	s    string // jString; the text of temporal and opaque values
	num  number
	us   int64 // temporal values
	arr  []*jsonValue
	obj  []jsonMember // ordered
}

type jsonMember struct {
	key string
	val *jsonValue
}

// number is a JSON number: an integer, an exact decimal, or a double.
type number struct {
	class    Class // Int, Decimal, Double
	unsigned bool
	i        int64
	d        dec
	f        float64
}

func (n number) dec() dec {
	switch n.class {
	case Int:
		if n.unsigned {
			return dec{new(big.Int).SetUint64(uint64(n.i)), 0}
		}
		return dec{bigOf(n.i), 0}
	case Decimal:
		return n.d
	}
	return doubleToDec(n.f)
}

func (n number) float() float64 {
	switch n.class {
	case Int:
		if n.unsigned {
			return float64(uint64(n.i))
		}
		return float64(n.i)
	case Decimal:
		return n.d.float()
	}
	return n.f
}

func (n number) cmp(o number) int {
	if n.class == Double || o.class == Double {
		return compareDouble(n.float(), o.float())
	}
	a, b := n.dec(), o.dec()
	s := max(a.scale, b.scale)
	return a.rescale(s).Cmp(b.rescale(s))
}

// order sorts the members; of two with one name the last stays.
func (v *jsonValue) order() {
	sort.SliceStable(v.obj, func(i, j int) bool { return jsonKeyLess([]byte(v.obj[i].key), []byte(v.obj[j].key)) })
	out := v.obj[:0]
	for i, m := range v.obj {
		if i+1 < len(v.obj) && v.obj[i+1].key == m.key {
			continue
		}
		out = append(out, m)
	}
	v.obj = out
}

// get returns the member of a name, nil when there is none.
func (v *jsonValue) get(key string) *jsonValue {
	for _, m := range v.obj {
		if m.key == key {
			return m.val
		}
	}
	return nil
}

// set adds or replaces a member.
func (v *jsonValue) set(key string, x *jsonValue) {
	for i := range v.obj {
		if v.obj[i].key == key {
			v.obj[i].val = x
			return
		}
	}
	v.obj = append(v.obj, jsonMember{key, x})
	v.order()
}

// appendText prints the value as MySQL does.
func (v *jsonValue) appendText(dst []byte) []byte {
	switch v.kind {
	case jNull:
		return append(dst, "null"...)
	case jBool:
		return strconv.AppendBool(dst, v.b)
	case jNumber:
		switch v.num.class {
		case Int:
			if v.num.unsigned {
				return strconv.AppendUint(dst, uint64(v.num.i), 10)
			}
			return strconv.AppendInt(dst, v.num.i, 10)
		case Decimal:
			return vector.FormatDecimalBig(dst, v.num.d.unscaled, v.num.d.scale)
		}
		return appendJSONDouble(dst, v.num.f)
	case jArray:
		dst = append(dst, '[')
		for i, x := range v.arr {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = x.appendText(dst)
		}
		return append(dst, ']')
	case jObject:
		dst = append(dst, '{')
		for i, m := range v.obj {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendJSONString(dst, []byte(m.key))
			dst = append(dst, ": "...)
			dst = m.val.appendText(dst)
		}
		return append(dst, '}')
	}
	return appendJSONString(dst, []byte(v.s))
}

// appendJSONDouble prints a double so that it reads back as one: 3.0, not 3.
func appendJSONDouble(dst []byte, x float64) []byte {
	n := len(dst)
	dst = appendDouble(dst, x)
	if bytes.IndexByte(dst[n:], '.') < 0 && bytes.IndexByte(dst[n:], 'e') < 0 {
		dst = append(dst, '.', '0')
	}
	return dst
}

// compareValues is MySQL's order of JSON values.
func compareValues(a, b *jsonValue) int {
	if a.kind != b.kind {
		return sign(int(a.kind) - int(b.kind))
	}
	switch a.kind {
	case jBool:
		return b2i(a.b) - b2i(b.b)
	case jNumber:
		return a.num.cmp(b.num)
	case jDate, jTime, jDateTime:
		return b2i(a.us > b.us) - b2i(a.us < b.us)
	case jArray:
		for i := range min(len(a.arr), len(b.arr)) {
			if c := compareValues(a.arr[i], b.arr[i]); c != 0 {
				return c
			}
		}
		return sign(len(a.arr) - len(b.arr))
	case jObject:
		if len(a.obj) != len(b.obj) {
			return sign(len(a.obj) - len(b.obj))
		}
		for i := range a.obj {
			if a.obj[i].key != b.obj[i].key {
				if jsonKeyLess([]byte(a.obj[i].key), []byte(b.obj[i].key)) {
					return -1
				}
				return 1
			}
			if c := compareValues(a.obj[i].val, b.obj[i].val); c != 0 {
				return c
			}
		}
		return 0
	case jNull:
		return 0
	}
	return bytes.Compare([]byte(a.s), []byte(b.s))
}

// compareJSON orders two JSON texts; what is no JSON compares as text.
func compareJSON(a, b []byte) int {
	x, e1 := parseJSON(a)
	y, e2 := parseJSON(b)
	if e1 != nil || e2 != nil {
		return bytes.Compare(a, b)
	}
	return compareValues(x, y)
}

// appendJSONKey appends a key whose byte order is that of compareJSON.
func appendJSONKey(dst, b []byte) []byte {
	v, err := parseJSON(b)
	if err != nil {
		return appendEscaped(append(dst, 0xFF), b)
	}
	return v.appendKey(dst)
}

func (v *jsonValue) appendKey(dst []byte) []byte {
	dst = append(dst, byte(v.kind)+1)
	switch v.kind {
	case jBool:
		return append(dst, byte(b2i(v.b)))
	case jNumber:
		// The double orders; the exact digits beyond it follow for equality.
		dst = binary.BigEndian.AppendUint64(dst, doubleKey(v.num.float()))
		if v.num.class == Int && (v.num.i > 1<<53 || v.num.i < -1<<53) {
			x := uint64(v.num.i)
			if !v.num.unsigned {
				x ^= 1 << 63
			}
			return binary.BigEndian.AppendUint64(append(dst, 1), x)
		}
		return append(dst, 0)
	case jArray:
		for _, x := range v.arr {
			dst = x.appendKey(dst)
		}
		return append(dst, 0)
	case jObject:
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(v.obj)))
		for _, m := range v.obj {
			dst = binary.BigEndian.AppendUint32(dst, uint32(len(m.key)))
			dst = m.val.appendKey(appendEscaped(dst, []byte(m.key)))
		}
		return dst
	case jDate, jTime, jDateTime:
		return binary.BigEndian.AppendUint64(dst, uint64(v.us)^1<<63)
	case jNull:
		return dst
	}
	return appendEscaped(dst, []byte(v.s))
}

// typeName is JSON_TYPE.
func (v *jsonValue) typeName() string {
	switch v.kind {
	case jNull:
		return "NULL"
	case jBool:
		return "BOOLEAN"
	case jString:
		return "STRING"
	case jArray:
		return "ARRAY"
	case jObject:
		return "OBJECT"
	case jDate:
		return "DATE"
	case jTime:
		return "TIME"
	case jDateTime:
		return "DATETIME"
	case jNumber:
		switch {
		case v.num.class == Decimal:
			return "DECIMAL"
		case v.num.class == Double:
			return "DOUBLE"
		case v.num.unsigned:
			return "UNSIGNED INTEGER"
		}
		return "INTEGER"
	}
	return "BLOB"
}

// depth is JSON_DEPTH.
func (v *jsonValue) depth() int {
	d := 0
	for _, x := range v.arr {
		d = max(d, x.depth())
	}
	for _, m := range v.obj {
		d = max(d, m.val.depth())
	}
	return d + 1
}

// length is JSON_LENGTH.
func (v *jsonValue) length() int {
	switch v.kind {
	case jArray:
		return len(v.arr)
	case jObject:
		return len(v.obj)
	}
	return 1
}
