package mysql

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
)

// MySQL's binary JSON (json_binary.h): the binlog holds documents in this form,
// and appendJSON writes them as the server's own text, so that a document has
// the same text from the snapshot and from the binlog: ", " and ": " between
// members, keys in stored order, doubles in shortest form.

const (
	jsonSmallObject = 0x00
	jsonLargeObject = 0x01
	jsonSmallArray  = 0x02
	jsonLargeArray  = 0x03
	jsonLiteral     = 0x04
	jsonInt16       = 0x05
	jsonUint16      = 0x06
	jsonInt32       = 0x07
	jsonUint32      = 0x08
	jsonInt64       = 0x09
	jsonUint64      = 0x0a
	jsonDouble      = 0x0b
	jsonText        = 0x0c
	jsonOpaque      = 0x0f
)

var errJSON = errors.New("the binary JSON document is damaged")

// maxJSONDepth is the deepest nesting that the server accepts.
const maxJSONDepth = 100

func appendJSON(dst, doc []byte) ([]byte, error) {
	if len(doc) == 0 { // what lax modes store for NULL in a NOT NULL column
		return append(dst, "null"...), nil
	}
	return jsonValue(dst, doc[0], doc[1:], maxJSONDepth+1)
}

func jsonValue(dst []byte, typ byte, b []byte, depth int) ([]byte, error) {
	if depth == 0 {
		return dst, errJSON
	}
	need := func(n int) bool { return len(b) >= n }
	switch typ {
	case jsonSmallObject, jsonLargeObject, jsonSmallArray, jsonLargeArray:
		return jsonContainer(dst, typ, b, depth)
	case jsonLiteral:
		if !need(1) {
			return dst, errJSON
		}
		switch b[0] {
		case 0:
			return append(dst, "null"...), nil
		case 1:
			return append(dst, "true"...), nil
		case 2:
			return append(dst, "false"...), nil
		}
	case jsonInt16:
		if need(2) {
			return strconv.AppendInt(dst, int64(int16(binary.LittleEndian.Uint16(b))), 10), nil
		}
	case jsonUint16:
		if need(2) {
			return strconv.AppendUint(dst, uint64(binary.LittleEndian.Uint16(b)), 10), nil
		}
	case jsonInt32:
		if need(4) {
			return strconv.AppendInt(dst, int64(int32(binary.LittleEndian.Uint32(b))), 10), nil
		}
	case jsonUint32:
		if need(4) {
			return strconv.AppendUint(dst, uint64(binary.LittleEndian.Uint32(b)), 10), nil
		}
	case jsonInt64:
		if need(8) {
			return strconv.AppendInt(dst, int64(binary.LittleEndian.Uint64(b)), 10), nil
		}
	case jsonUint64:
		if need(8) {
			return strconv.AppendUint(dst, binary.LittleEndian.Uint64(b), 10), nil
		}
	case jsonDouble:
		if need(8) {
			return appendJSONDouble(dst, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	case jsonText:
		s, err := jsonBlock(b)
		if err != nil {
			return dst, err
		}
		return appendJSONString(dst, s), nil
	case jsonOpaque:
		if !need(1) {
			return dst, errJSON
		}
		s, err := jsonBlock(b[1:])
		if err != nil {
			return dst, err
		}
		return jsonOpaqueValue(dst, b[0], s)
	}
	return dst, errJSON
}

// jsonBlock reads bytes behind a length of seven bits a byte.
func jsonBlock(b []byte) ([]byte, error) {
	var n uint64
	for i := range 5 {
		if i >= len(b) {
			return nil, errJSON
		}
		n |= uint64(b[i]&0x7F) << (7 * i)
		if b[i]&0x80 == 0 {
			if n > uint64(len(b)-i-1) {
				return nil, errJSON
			}
			return b[i+1 : i+1+int(n)], nil
		}
	}
	return nil, errJSON
}

// jsonContainer reads an object or array:
//
//	| count | bytes | key entries (offset, length uint16) | value entries (type, offset or value) | keys | values |
//
// count, bytes and offsets have 2 bytes in small and 4 in large containers;
// offsets count from the start of the container.
func jsonContainer(dst []byte, typ byte, b []byte, depth int) ([]byte, error) {
	word := 2
	if typ == jsonLargeObject || typ == jsonLargeArray {
		word = 4
	}
	object := typ == jsonSmallObject || typ == jsonLargeObject
	if len(b) < 2*word {
		return dst, errJSON
	}
	count, size := int(littleEndian(b[:word])), int(littleEndian(b[word:2*word]))
	keyEntry, valueEntry := 0, 1+word
	if object {
		keyEntry = word + 2
	}
	head := 2 * word
	if size > len(b) || count > size || head+count*(keyEntry+valueEntry) > size {
		return dst, errJSON
	}
	b = b[:size]
	open, end := byte('['), byte(']')
	if object {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	values := head + count*keyEntry
	var err error
	for i := range count {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if object {
			e := b[head+i*keyEntry:]
			off, n := int(littleEndian(e[:word])), int(littleEndian(e[word:word+2]))
			if off > size || n > size-off {
				return dst, errJSON
			}
			dst = append(appendJSONString(dst, b[off:off+n]), ": "...)
		}
		e := b[values+i*valueEntry:]
		t := e[0]
		inline := t == jsonLiteral || t == jsonInt16 || t == jsonUint16 || word == 4 && (t == jsonInt32 || t == jsonUint32)
		at := e[1 : 1+word]
		if !inline {
			off := int(littleEndian(at))
			if off < values+count*valueEntry || off > size {
				return dst, errJSON
			}
			at = b[off:]
		}
		if dst, err = jsonValue(dst, t, at, depth-1); err != nil {
			return dst, err
		}
	}
	return append(dst, end), nil
}

func appendJSONString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
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
		case c < 0x20:
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// appendJSONDouble writes a double as the server's my_gcvt does: the shortest
// digits that read back as the same number, without exponent while the point
// lies within 15 digits or among the significant ones, and with ".0" where nothing else tells it from an
// integer.
func appendJSONDouble(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, errJSON
	}
	var tmp [32]byte
	e := strconv.AppendFloat(tmp[:0], f, 'e', -1, 64) // d.ddde±xx
	at := len(e) - 1
	for e[at] != 'e' {
		at--
	}
	exp, err := strconv.Atoi(string(e[at+1:]))
	if err != nil {
		return dst, errJSON
	}
	point := exp + 1 // digits before the point
	mantissa := at   // significant digits
	if e[0] == '-' {
		mantissa--
	}
	if mantissa > 1 {
		mantissa-- // the point
	}
	if f == 0 || point >= -14 && (point <= 15 || mantissa > point) {
		start := len(dst)
		dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
		for _, c := range dst[start:] {
			if c == '.' {
				return dst, nil
			}
		}
		return append(dst, ".0"...), nil
	}
	dst = append(dst, e[:at+1]...)
	return strconv.AppendInt(dst, int64(exp), 10), nil
}

// jsonOpaqueValue writes values of SQL types inside a document.
func jsonOpaqueValue(dst []byte, typ byte, b []byte) ([]byte, error) {
	packed := func() (int64, bool) {
		if len(b) != 8 {
			return 0, false
		}
		return int64(binary.LittleEndian.Uint64(b)), true
	}
	two := func(dst []byte, n int64) []byte {
		if n < 10 {
			dst = append(dst, '0')
		}
		return strconv.AppendInt(dst, n, 10)
	}
	clock := func(dst []byte, hms, us int64) []byte {
		dst = append(two(dst, hms>>12), ':')
		dst = append(two(dst, hms>>6&63), ':')
		dst = append(two(dst, hms&63), '.')
		s := strconv.FormatInt(us+1000000, 10)
		return append(dst, s[1:]...)
	}
	switch logType(typ) {
	case logDecimal:
		if len(b) < 2 || decimalSize(int(b[0]), int(b[1])) != len(b)-2 || b[0] > 65 || b[1] > b[0] {
			return dst, errJSON
		}
		return appendDecimalText(dst, b[2:], int(b[0]), int(b[1])), nil
	case logTime:
		x, ok := packed()
		if !ok {
			return dst, errJSON
		}
		dst = append(dst, '"')
		if x < 0 {
			x = -x
			dst = append(dst, '-')
		}
		dst = clock(dst, x>>24&0x3FFFFF, x&0xFFFFFF)
		return append(dst, '"'), nil
	case logDate, logDatetime, logTimestamp:
		x, ok := packed()
		if !ok || x < 0 {
			return dst, errJSON
		}
		ymd, hms, us := x>>41, x>>24&(1<<17-1), x&0xFFFFFF
		ym := ymd >> 5
		dst = append(dst, '"')
		y := strconv.FormatInt(ym/13+10000, 10)
		dst = append(append(dst, y[1:]...), '-')
		dst = append(two(dst, ym%13), '-')
		dst = two(dst, ymd&31)
		if logType(typ) != logDate {
			dst = clock(append(dst, ' '), hms, us)
		}
		return append(dst, '"'), nil
	}
	dst = append(dst, `"base64:type`...)
	dst = append(strconv.AppendUint(dst, uint64(typ), 10), ':')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"'), nil
}

// appendDecimalText writes a packed decimal as the server does: without leading
// zeros, with all fraction digits.
func appendDecimalText(dst, b []byte, p, s int) []byte {
	neg := len(b) > 0 && b[0]&0x80 == 0
	mask := byte(0)
	if neg {
		mask = 0xFF
		dst = append(dst, '-')
	}
	at := 0
	group := func(n int) uint64 {
		size := groupBytes[n]
		if n == 9 {
			size = 4
		}
		var x uint64
		for range size {
			y := b[at] ^ mask
			if at == 0 {
				y ^= 0x80
			}
			x = x<<8 | uint64(y)
			at++
		}
		return x
	}
	pad := func(dst []byte, x uint64, n int) []byte {
		return append(dst, strconv.FormatUint(x%pow10[n]+pow10[n], 10)[1:]...)
	}
	start := len(dst)
	whole := func(n int) {
		x := group(n)
		if len(dst) > start {
			dst = pad(dst, x, n)
		} else if x > 0 {
			dst = strconv.AppendUint(dst, x, 10)
		}
	}
	if n := (p - s) % 9; n > 0 {
		whole(n)
	}
	for range (p - s) / 9 {
		whole(9)
	}
	if len(dst) == start {
		dst = append(dst, '0')
	}
	if s == 0 {
		return dst
	}
	dst = append(dst, '.')
	for range s / 9 {
		dst = pad(dst, group(9), 9)
	}
	if n := s % 9; n > 0 {
		dst = pad(dst, group(n), n)
	}
	return dst
}
