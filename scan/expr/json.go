package expr

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"sort"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
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

// maxJSONDepth is MySQL's limit of nesting.
const maxJSONDepth = 100

// jsonError is a fault in JSON text at a byte offset.
type jsonError struct {
	msg string
	at  int
}

type jsonParser struct {
	s     []byte
	at    int
	depth int
	err   *jsonError
}

// parseJSON reads JSON text.
func parseJSON(s []byte) (*jsonValue, *jsonError) {
	p := &jsonParser{s: s}
	p.space()
	if p.at == len(s) {
		return nil, &jsonError{"The document is empty.", 0}
	}
	v := p.value()
	if p.err == nil {
		p.space()
		if p.at < len(s) {
			p.fail("The document root must not be followed by other values.")
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return v, nil
}

func (p *jsonParser) fail(msg string) *jsonValue {
	if p.err == nil {
		p.err = &jsonError{msg, p.at}
	}
	return nil
}

func (p *jsonParser) space() {
	for p.at < len(p.s) && (p.s[p.at] == ' ' || p.s[p.at] == '\t' || p.s[p.at] == '\n' || p.s[p.at] == '\r') {
		p.at++
	}
}

func (p *jsonParser) word(w string, v *jsonValue) *jsonValue {
	for i := range len(w) {
		if p.at >= len(p.s) || p.s[p.at] != w[i] {
			return p.fail("Invalid value.")
		}
		p.at++
	}
	return v
}

func (p *jsonParser) value() *jsonValue {
	if p.depth++; p.depth > maxJSONDepth+1 {
		return p.fail("The JSON document exceeds the maximum depth.")
	}
	defer func() { p.depth-- }()
	p.space()
	if p.at >= len(p.s) {
		return p.fail("Invalid value.")
	}
	switch c := p.s[p.at]; {
	case c == '{':
		return p.object()
	case c == '[':
		return p.array()
	case c == '"':
		s, ok := p.str()
		if !ok {
			return nil
		}
		return &jsonValue{kind: jString, s: s}
	case c == 't':
		return p.word("true", &jsonValue{kind: jBool, b: true})
	case c == 'f':
		return p.word("false", &jsonValue{kind: jBool})
	case c == 'n':
		return p.word("null", &jsonValue{kind: jNull})
	case c == '-' || isDigit(c):
		return p.number()
	}
	return p.fail("Invalid value.")
}

func (p *jsonParser) number() *jsonValue {
	start := p.at
	if p.s[p.at] == '-' {
		p.at++
	}
	digits := func() int {
		n := p.at
		for p.at < len(p.s) && isDigit(p.s[p.at]) {
			p.at++
		}
		return p.at - n
	}
	first := p.at
	if n := digits(); n == 0 {
		return p.fail("Invalid value.")
	} else if n > 1 && p.s[first] == '0' {
		p.at = first + 1
		return p.fail("The document root must not be followed by other values.")
	}
	integer := true
	if p.at < len(p.s) && p.s[p.at] == '.' {
		integer = false
		p.at++
		if digits() == 0 {
			return p.fail("Missing fraction part in number.")
		}
	}
	if p.at < len(p.s) && (p.s[p.at] == 'e' || p.s[p.at] == 'E') {
		integer = false
		p.at++
		if p.at < len(p.s) && (p.s[p.at] == '+' || p.s[p.at] == '-') {
			p.at++
		}
		if digits() == 0 {
			return p.fail("Missing exponent in number.")
		}
	}
	text := string(p.s[start:p.at])
	if integer {
		if x, err := strconv.ParseInt(text, 10, 64); err == nil {
			return &jsonValue{kind: jNumber, num: number{class: Int, i: x}}
		}
		if x, err := strconv.ParseUint(text, 10, 64); err == nil {
			return &jsonValue{kind: jNumber, num: number{class: Int, unsigned: true, i: int64(x)}}
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && math.IsInf(f, 0) {
		p.at = start
		return p.fail("Number too big to be stored in double.")
	}
	return &jsonValue{kind: jNumber, num: number{class: Double, f: f}}
}

func (p *jsonParser) str() (string, bool) {
	p.at++
	var out []byte
	for {
		if p.at >= len(p.s) {
			p.fail("Missing a closing quotation mark in string.")
			return "", false
		}
		c := p.s[p.at]
		switch {
		case c == '"':
			p.at++
			return string(out), true
		case c < 0x20:
			p.fail("Invalid encoding in string.")
			return "", false
		case c != '\\':
			_, n := utf8.DecodeRune(p.s[p.at:])
			out = append(out, p.s[p.at:p.at+n]...)
			p.at += n
			continue
		}
		p.at++
		if p.at >= len(p.s) {
			p.fail("Missing a closing quotation mark in string.")
			return "", false
		}
		switch c := p.s[p.at]; c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := p.hex4()
			if !ok {
				p.fail("Incorrect hex digit after \\u escape in string.")
				return "", false
			}
			if utf16.IsSurrogate(r) {
				if p.at+2 < len(p.s) && p.s[p.at+1] == '\\' && p.s[p.at+2] == 'u' {
					p.at += 2
					low, ok := p.hex4()
					if d := utf16.DecodeRune(r, low); ok && d != utf8.RuneError {
						out = utf8.AppendRune(out, d)
						break
					}
				}
				p.fail("The surrogate pair in string is invalid.")
				return "", false
			}
			out = utf8.AppendRune(out, r)
		default:
			p.fail("Invalid escape character in string.")
			return "", false
		}
		p.at++
	}
}

// hex4 reads four digits after the u at p.at and stays on the last.
func (p *jsonParser) hex4() (rune, bool) {
	if p.at+4 >= len(p.s) {
		return 0, false
	}
	x, err := strconv.ParseUint(string(p.s[p.at+1:p.at+5]), 16, 32)
	if err != nil {
		return 0, false
	}
	p.at += 4
	return rune(x), true
}

func (p *jsonParser) array() *jsonValue {
	v := &jsonValue{kind: jArray}
	p.at++
	p.space()
	if p.at < len(p.s) && p.s[p.at] == ']' {
		p.at++
		return v
	}
	for {
		x := p.value()
		if p.err != nil {
			return nil
		}
		v.arr = append(v.arr, x)
		p.space()
		if p.at < len(p.s) && p.s[p.at] == ',' {
			p.at++
			continue
		}
		if p.at < len(p.s) && p.s[p.at] == ']' {
			p.at++
			return v
		}
		return p.fail("Missing a comma or ']' after an array element.")
	}
}

func (p *jsonParser) object() *jsonValue {
	v := &jsonValue{kind: jObject}
	p.at++
	p.space()
	if p.at < len(p.s) && p.s[p.at] == '}' {
		p.at++
		return v
	}
	for {
		p.space()
		if p.at >= len(p.s) || p.s[p.at] != '"' {
			return p.fail("Missing a name for object member.")
		}
		k, ok := p.str()
		if !ok {
			return nil
		}
		p.space()
		if p.at >= len(p.s) || p.s[p.at] != ':' {
			return p.fail("Missing a colon after a name of object member.")
		}
		p.at++
		x := p.value()
		if p.err != nil {
			return nil
		}
		v.obj = append(v.obj, jsonMember{k, x})
		p.space()
		if p.at < len(p.s) && p.s[p.at] == ',' {
			p.at++
			continue
		}
		if p.at < len(p.s) && p.s[p.at] == '}' {
			p.at++
			v.order()
			return v
		}
		return p.fail("Missing a comma or '}' after an object member.")
	}
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

// jsonScalar makes a JSON value of a SQL value, as functions that take values
// do: text is a string, not a document.
func jsonScalar(ctx *Context, t Type, v *vector.Vec, i int) (*jsonValue, error) {
	if v.IsNull(i) || t.Class == Null {
		return &jsonValue{kind: jNull}, nil
	}
	switch t.Class {
	case Bool:
		if t.Width == 8 {
			return &jsonValue{kind: jBool, b: intAt(v, i) != 0}, nil
		}
		return &jsonValue{kind: jNumber, num: number{class: Int, i: intAt(v, i)}}, nil
	case Int, Year:
		return &jsonValue{kind: jNumber, num: number{class: Int, unsigned: t.Unsigned, i: intAt(v, i)}}, nil
	case Decimal:
		return &jsonValue{kind: jNumber, num: number{class: Decimal, d: decAt(t, v, i)}}, nil
	case Float, Double:
		return &jsonValue{kind: jNumber, num: number{class: Double, f: floatAt(v, i)}}, nil
	case Date:
		s := string(AppendText(nil, t, v, i, nil))
		return &jsonValue{kind: jDate, s: s, us: intAt(v, i) * usPerDay}, nil
	case DateTime, Timestamp, Time:
		us := intAt(v, i)
		kind := jDateTime
		if t.Class == Timestamp {
			us = wallOf(us, ctx.zone())
		}
		s := appendDateTime(nil, us, 6)
		if t.Class == Time {
			kind = jTime
			s = appendTime(nil, us, 6)
		}
		return &jsonValue{kind: kind, s: string(s), us: us}, nil
	case JSON:
		x, err := parseJSON(v.Bytes(i))
		if err != nil {
			return nil, errs.Corruptf("read JSON value %q: %s", shown(v.Bytes(i)), err.msg)
		}
		return x, nil
	case Bytes:
		return &jsonValue{kind: jOpaque, s: typedBase64("type15", v.Bytes(i))}, nil
	case Bit:
		return &jsonValue{kind: jOpaque, s: typedBase64("type16", AppendText(nil, t, v, i, nil))}, nil
	}
	return &jsonValue{kind: jString, s: string(v.Bytes(i))}, nil
}

// jsonDoc reads an argument that must be a JSON document: JSON, or text that is
// parsed. nil is NULL.
func jsonDoc(ctx *Context, fn string, arg int, t Type, v *vector.Vec, i int) (*jsonValue, error) {
	if v.IsNull(i) || t.Class == Null {
		return nil, nil
	}
	switch t.Class {
	case JSON:
		return jsonScalar(ctx, t, v, i)
	case String, Enum, Set:
		x, err := parseJSON(v.Bytes(i))
		if err != nil {
			return nil, invalidJSON(fn, arg, err)
		}
		return x, nil
	case Bytes:
		return nil, errs.Userf(errs.InvalidJSONCharset, "Cannot create a JSON value from a string with CHARACTER SET 'binary'.")
	}
	return nil, errs.Userf(errs.InvalidJSONType, "Invalid data type for JSON data in argument %d to function %s; a JSON string or JSON type is required.", arg, lower(fn))
}

func invalidJSON(fn string, arg int, err *jsonError) error {
	if err.msg == "The JSON document exceeds the maximum depth." {
		return errs.Userf(errs.JSONDepth, "The JSON document exceeds the maximum depth.")
	}
	return errs.Userf(errs.InvalidJSONArg, "Invalid JSON text in argument %d to function %s: \"%s\" at position %d.", arg, lower(fn), err.msg, err.at)
}

// toJSON is CAST(x AS JSON): text is parsed, other values become scalars.
func toJSON(ev *evaluation) (*vector.Vec, error) {
	from := ev.c.args[0].Type()
	out := ev.out(vector.Str)
	var buf []byte
	return out, ev.each(func(i int) error {
		var x *jsonValue
		var err error
		if isString(from) && from.Class != Bytes {
			x, err = jsonDoc(ev.ctx, "cast_as_json", 1, from, ev.args[0], i)
		} else {
			x, err = jsonScalar(ev.ctx, from, ev.args[0], i)
		}
		if err != nil {
			return err
		}
		buf = x.appendText(buf[:0])
		out.SetBytes(i, buf)
		return nil
	})
}

// jsonNumber is a JSON value as a double; ok is false for what is no number.
func jsonNumber(b []byte) (float64, bool) {
	v, err := parseJSON(b)
	if err != nil {
		return 0, false
	}
	switch v.kind {
	case jNumber:
		return v.num.float(), true
	case jBool:
		return float64(b2i(v.b)), true
	case jString:
		x, clean := parseDouble([]byte(v.s))
		return x, clean
	}
	return 0, false
}

func jsonInt(b []byte, unsigned bool) (int64, bool) {
	v, err := parseJSON(b)
	if err != nil {
		return 0, false
	}
	switch v.kind {
	case jNumber:
		switch v.num.class {
		case Int:
			return v.num.i, true
		case Decimal:
			return decToInt(v.num.d, unsigned)
		}
		return roundToInt(v.num.f, false)
	case jBool:
		return int64(b2i(v.b)), true
	case jString:
		x, _, clean := parseInt([]byte(v.s), unsigned)
		return x, clean
	}
	return 0, false
}

func jsonDec(b []byte) (dec, bool) {
	v, err := parseJSON(b)
	zero := dec{new(big.Int), 0}
	if err != nil {
		return zero, false
	}
	switch v.kind {
	case jNumber:
		return v.num.dec(), true
	case jBool:
		return dec{bigOf(int64(b2i(v.b))), 0}, true
	case jString:
		return parseDec([]byte(v.s))
	}
	return zero, false
}

// jsonTemporal reads a JSON string as a date or time.
func jsonTemporal(ctx *Context, b []byte) (parsed, bool) {
	v, err := parseJSON(b)
	if err != nil || v.kind != jString {
		return noDate, false
	}
	if bytes.IndexByte([]byte(v.s), ':') < 0 && !looksDate([]byte(v.s)) {
		return noDate, false
	}
	p := parseDateTime([]byte(v.s), false)
	if t := parseTime([]byte(v.s)); t.kind == Time && !looksDate([]byte(v.s)) {
		p = t
	}
	p.us, p.offset = p.wall(ctx.zone()), false
	return p, p.kind != Null
}

// comparableJSON compares JSON with JSON or a scalar: as JSON values.
func comparableJSON(ctx *Context, a, b Expr) (Expr, Expr, Type, error) {
	side := func(e Expr) (Expr, error) {
		t := e.Type()
		switch {
		case t.Class == JSON:
			if k := jsonOrigin(e); k != jNull {
				return nil, errs.Unsupportedf(-1, "comparisons of JSON made from dates, times, decimals and binary strings")
			}
			return e, nil
		case t.IsTemporal(), t.Class == Bytes, t.Class == Bit, t.Class == Year:
			return nil, errs.Unsupportedf(-1, "comparisons of JSON with %s", t.sqlName())
		}
		return fold(ctx, newCall("JSON value", TJSON, func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.Str)
			return out, ev.each(func(i int) error {
				x, err := jsonScalar(ev.ctx, ev.c.args[0].Type(), ev.args[0], i)
				if err != nil {
					return err
				}
				out.SetBytes(i, x.appendText(nil))
				return nil
			})
		}, e)), nil
	}
	x, err := side(a)
	if err != nil {
		return nil, nil, Type{}, err
	}
	y, err := side(b)
	if err != nil {
		return nil, nil, Type{}, err
	}
	return x, y, TJSON, nil
}

// jsonOrigin tells a JSON scalar whose type its text does not show, by the
// expression that makes it: CAST(d AS JSON). jNull means the text says it all.
func jsonOrigin(e Expr) jsonKind {
	if l, ok := e.(*LiteralExpr); ok && l.folded != nil {
		e = l.folded
	}
	c, ok := e.(*call)
	if !ok || c.typ.Class != JSON || len(c.args) != 1 || c.args[0].Type().Class == JSON {
		return jNull
	}
	switch t := c.args[0].Type(); t.Class {
	case Date:
		return jDate
	case Time:
		return jTime
	case DateTime, Timestamp:
		return jDateTime
	case Decimal:
		return jNumber
	case Bytes, Bit:
		return jOpaque
	}
	return jNull
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

func (v *jsonValue) String() string { return fmt.Sprintf("%s", v.appendText(nil)) }
