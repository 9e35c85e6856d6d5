package expr

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

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
	own   bool // numbers that are not written as doubles are decimals
}

// parseJSON reads JSON text.
func parseJSON(s []byte) (*jsonValue, *jsonError) {
	return (&jsonParser{s: s}).document()
}

// parseOwnJSON reads a value of type JSON. Its decimals keep their digits: 1.50
// is none of the doubles as values are written.
func parseOwnJSON(s []byte) (*jsonValue, *jsonError) {
	return (&jsonParser{s: s, own: true}).document()
}

func (p *jsonParser) document() (*jsonValue, *jsonError) {
	s := p.s
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
	if p.own && string(appendJSONDouble(nil, f)) != text {
		if d, ok := parseDec([]byte(text)); ok && !strings.ContainsAny(text, "eE") {
			return &jsonValue{kind: jNumber, num: number{class: Decimal, d: d}}
		}
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
