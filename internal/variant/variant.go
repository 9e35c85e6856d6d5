// Package variant reads values of type VARIANT: semi-structured values in the
// binary encoding of the Parquet project ("Variant Binary Encoding"), which
// Paimon, Spark and Iceberg share.
//
// A value has two parts, the metadata with the names of fields, and the value:
//
//	metadata  header (version 1 | sorted<<4 | offset size-1 <<6), number of names n,
//	          n+1 offsets, the names' bytes
//	value     header: basic type in two bits, six bits of type information
//	          0 primitive   type id; then the value, little-endian
//	          1 short text  length; then the bytes
//	          2 object      sizes; number of fields, their name ids, offsets, values
//	          3 array       sizes; number of elements, offsets, values
//
// Bytes that contradict the encoding are errors of class Corruption, never a
// panic; nesting is bounded.
//
// Start reading at AppendJSON.
package variant

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
)

// maxDepth bounds the nesting of values.
const maxDepth = 1000

// maxText bounds the text of one value: an object's fields may share bytes, so
// that a short value could have a text of any length.
const maxText = 256 << 20

// Primitive types.
const (
	typeNull = iota
	typeTrue
	typeFalse
	typeInt8
	typeInt16
	typeInt32
	typeInt64
	typeDouble
	typeDecimal4
	typeDecimal8
	typeDecimal16
	typeDate
	typeTimestamp
	typeTimestampNTZ
	typeFloat
	typeBinary
	typeString
	typeTimeNTZ
	typeTimestampNanos
	typeTimestampNTZNanos
	typeUUID
)

// AppendJSON appends a value as JSON text, without spaces and with the fields in
// their stored order, which is that of their names. Numbers that JSON lacks,
// dates, times, and byte strings (base64) are strings; instants are shown in UTC.
// It is the text of Java Paimon's Variant.toJson.
func AppendJSON(dst, value, metadata []byte) ([]byte, error) {
	d := decoder{most: len(dst) + maxText}
	if err := d.names(metadata); err != nil {
		return dst, err
	}
	return d.value(dst, value, 0)
}

type decoder struct {
	offsets []byte // of the names, each of width bytes
	width   int
	n       int
	strings []byte
	most    int // length of the text
}

func corrupt(format string, args ...any) error {
	return errs.Corruptf("read a VARIANT: "+format, args...)
}

// unsigned reads an integer of up to four bytes.
func unsigned(b []byte, at, width int) (int, error) {
	if at < 0 || at+width > len(b) {
		return 0, corrupt("it ends within a number at byte %d", at)
	}
	n := 0
	for i := range width {
		n |= int(b[at+i]) << (8 * i)
	}
	return n, nil
}

func (d *decoder) names(b []byte) error {
	if len(b) == 0 {
		return corrupt("the metadata is empty")
	}
	if v := b[0] & 0x0f; v != 1 {
		return errs.Unsupportedf(-1, "version %d of VARIANT", v)
	}
	d.width = int(b[0]>>6) + 1
	var err error
	if d.n, err = unsigned(b, 1, d.width); err != nil {
		return err
	}
	start := 1 + d.width
	if d.n >= (len(b)-start)/d.width {
		return corrupt("%d names do not fit %d bytes of metadata", d.n, len(b))
	}
	end := start + (d.n+1)*d.width
	d.offsets, d.strings = b[start:end], b[end:]
	return nil
}

func (d *decoder) name(id int) ([]byte, error) {
	if id < 0 || id >= d.n {
		return nil, corrupt("name %d of %d", id, d.n)
	}
	from, _ := unsigned(d.offsets, id*d.width, d.width)
	to, _ := unsigned(d.offsets, (id+1)*d.width, d.width)
	if from > to || to > len(d.strings) {
		return nil, corrupt("name %d lies outside the metadata", id)
	}
	return d.strings[from:to], nil
}

// value appends the value that b starts with.
func (d *decoder) value(dst, b []byte, depth int) ([]byte, error) {
	if len(b) == 0 {
		return dst, corrupt("a value is missing")
	}
	if depth > maxDepth {
		return dst, corrupt("values are nested more than %d deep", maxDepth)
	}
	if len(dst) > d.most {
		return dst, errs.Unsupportedf(-1, "values of type VARIANT with more than %d bytes of JSON", maxText)
	}
	info := b[0] >> 2
	switch b[0] & 3 {
	case 0:
		return d.primitive(dst, int(info), b[1:])
	case 1:
		if len(b)-1 < int(info) {
			return dst, corrupt("a text of %d bytes has %d", info, len(b)-1)
		}
		return appendString(dst, b[1:1+info]), nil
	case 2:
		return d.object(dst, info, b, depth)
	}
	return d.array(dst, info, b, depth)
}

// elements reads the number of children after a header, in one byte or four.
func elements(b []byte, large bool) (n, at int, err error) {
	width := 1
	if large {
		width = 4
	}
	n, err = unsigned(b, 1, width)
	return n, 1 + width, err
}

func (d *decoder) object(dst []byte, info byte, b []byte, depth int) ([]byte, error) {
	n, at, err := elements(b, info>>4&1 != 0)
	if err != nil {
		return dst, err
	}
	offsetSize, idSize := int(info&3)+1, int(info>>2&3)+1
	if n > (len(b)-at)/(offsetSize+idSize) {
		return dst, corrupt("an object of %d fields has %d bytes", n, len(b))
	}
	ids, offsets := at, at+n*idSize
	values := offsets + (n+1)*offsetSize
	dst = append(dst, '{')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		id, err := unsigned(b, ids+i*idSize, idSize)
		if err != nil {
			return dst, err
		}
		name, err := d.name(id)
		if err != nil {
			return dst, err
		}
		dst = append(appendString(dst, name), ':')
		if dst, err = d.child(dst, b, offsets+i*offsetSize, offsetSize, values, depth); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func (d *decoder) array(dst []byte, info byte, b []byte, depth int) ([]byte, error) {
	n, at, err := elements(b, info>>2&1 != 0)
	if err != nil {
		return dst, err
	}
	offsetSize := int(info&3) + 1
	if n > (len(b)-at)/offsetSize {
		return dst, corrupt("an array of %d elements has %d bytes", n, len(b))
	}
	values := at + (n+1)*offsetSize
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = d.child(dst, b, at+i*offsetSize, offsetSize, values, depth); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// child appends the value whose offset from values is at a position of b.
func (d *decoder) child(dst, b []byte, at, width, values, depth int) ([]byte, error) {
	offset, err := unsigned(b, at, width)
	if err != nil {
		return dst, err
	}
	if values+offset >= len(b) {
		return dst, corrupt("a value at byte %d of %d", values+offset, len(b))
	}
	return d.value(dst, b[values+offset:], depth+1)
}

func (d *decoder) primitive(dst []byte, typ int, b []byte) ([]byte, error) {
	sizes := [...]int{typeInt8: 1, typeInt16: 2, typeInt32: 4, typeInt64: 8, typeDouble: 8, typeDecimal4: 5, typeDecimal8: 9, typeDecimal16: 17,
		typeDate: 4, typeTimestamp: 8, typeTimestampNTZ: 8, typeFloat: 4, typeBinary: 4, typeString: 4, typeUUID: 16}
	if typ >= len(sizes) || typ >= typeTimeNTZ && typ <= typeTimestampNTZNanos {
		return dst, errs.Unsupportedf(-1, "values of type %d in a VARIANT", typ)
	}
	if len(b) < sizes[typ] {
		return dst, corrupt("a value of type %d has %d bytes", typ, len(b))
	}
	le := binary.LittleEndian
	quoted := func(s string) ([]byte, error) { return append(append(append(dst, '"'), s...), '"'), nil }
	float := func(f float64, bits int) ([]byte, error) {
		s := JavaFloat(f, bits)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return quoted(s)
		}
		return append(dst, s...), nil
	}
	switch typ {
	case typeNull:
		return append(dst, "null"...), nil
	case typeTrue:
		return append(dst, "true"...), nil
	case typeFalse:
		return append(dst, "false"...), nil
	case typeInt8:
		return strconv.AppendInt(dst, int64(int8(b[0])), 10), nil
	case typeInt16:
		return strconv.AppendInt(dst, int64(int16(le.Uint16(b))), 10), nil
	case typeInt32:
		return strconv.AppendInt(dst, int64(int32(le.Uint32(b))), 10), nil
	case typeInt64:
		return strconv.AppendInt(dst, int64(le.Uint64(b)), 10), nil
	case typeDouble:
		return float(math.Float64frombits(le.Uint64(b)), 64)
	case typeFloat:
		return float(float64(math.Float32frombits(le.Uint32(b))), 32)
	case typeDecimal4, typeDecimal8, typeDecimal16:
		return appendDecimal(dst, int(b[0]), b[1:sizes[typ]])
	case typeDate:
		return quoted(date(int64(int32(le.Uint32(b)))))
	case typeTimestamp:
		return quoted(timestamp(int64(le.Uint64(b))) + "+00:00")
	case typeTimestampNTZ:
		return quoted(timestamp(int64(le.Uint64(b))))
	case typeBinary, typeString:
		n := int(le.Uint32(b))
		if n > len(b)-4 {
			return dst, corrupt("a text of %d bytes has %d", n, len(b)-4)
		}
		if typ == typeString {
			return appendString(dst, b[4:4+n]), nil
		}
		return quoted(base64.StdEncoding.EncodeToString(b[4 : 4+n]))
	}
	return quoted(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])) // big-endian
}

// appendDecimal appends a decimal whose unscaled value is in little-endian two's
// complement, without zeros at its end.
func appendDecimal(dst []byte, scale int, b []byte) ([]byte, error) {
	x := new(big.Int)
	be := make([]byte, len(b))
	for i := range b {
		be[len(b)-1-i] = b[i]
	}
	x.SetBytes(be)
	if be[0]&0x80 != 0 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(be))))
	}
	digits := new(big.Int).Abs(x).String()
	most := map[int]int{4: 9, 8: 18, 16: 38}[len(b)]
	if scale > most || len(digits) > most {
		return dst, corrupt("a decimal of %d digits has the scale %d and %d digits", most, scale, len(digits))
	}
	if x.Sign() < 0 {
		dst = append(dst, '-')
	}
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	whole, frac := digits[:len(digits)-scale], strings.TrimRight(digits[len(digits)-scale:], "0")
	dst = append(dst, whole...)
	if frac != "" {
		dst = append(append(dst, '.'), frac...)
	}
	return dst, nil
}

// date is the text of days since 1970-01-01, of the proleptic Gregorian calendar
// (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
func date(days int64) string {
	z := days + 719468
	era := z / 146097
	if z < 0 {
		era = (z - 146096) / 146097
	}
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day, month, year := doy-(153*mp+2)/5+1, mp+3, yoe+era*400
	if month > 12 {
		month -= 12
		year++
	}
	sign := ""
	switch {
	case year < 0:
		sign, year = "-", -year
	case year > 9999:
		sign = "+"
	}
	return fmt.Sprintf("%s%04d-%02d-%02d", sign, year, month, day)
}

// timestamp is the text of microseconds since the epoch, with as many fraction
// digits as it needs.
func timestamp(us int64) string {
	const day = 86400e6
	days := us / day
	if us%day < 0 {
		days--
	}
	us -= days * day
	s := us / 1e6
	text := fmt.Sprintf("%s %02d:%02d:%02d", date(days), s/3600, s/60%60, s%60)
	if us %= 1e6; us != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%06d", us), "0")
	}
	return text
}

// JavaFloat is the text of a float as Java's Double.toString (bits 64) and
// Float.toString (bits 32) lay it out.
func JavaFloat(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return map[bool]string{true: "Infinity", false: "-Infinity"}[f > 0]
	}
	abs := math.Abs(f)
	if abs == 0 || abs >= 1e-3 && abs < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, bits)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	s := strconv.FormatFloat(f, 'e', -1, bits)
	m, e, _ := strings.Cut(s, "e")
	if !strings.Contains(m, ".") {
		// One digit would do, but Java prints two and takes the closest: 4.9E-324.
		m, e, _ = strings.Cut(strconv.FormatFloat(f, 'e', 1, bits), "e")
	}
	x, _ := strconv.Atoi(e)
	return m + "E" + strconv.Itoa(x)
}

// appendString appends a JSON string as Jackson writes it. Bytes that are not
// UTF-8 become U+FFFD.
func appendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
		if e := strings.IndexByte("\b\f\n\r\t", c); e >= 0 {
			dst = append(dst, '\\', "bfnrt"[e])
			continue
		}
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
