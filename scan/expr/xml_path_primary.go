package expr

import (
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
)

// primary is a variable, an expression in parentheses, a literal or a call.
func (p *xpathParser) primary() bool {
	switch {
	case p.last.kind == '$':
		at := p.last.beg
		p.take('$')
		user := p.take('@')
		if !p.take(xtIdent) {
			return false
		}
		if user {
			return p.unsupported("user variables ($@name)")
		}
		if p.err == nil {
			p.err = errs.Userf(errs.XPathSyntax, "Unknown XPATH variable at: '%s'", xpathCut(p.text[at:]))
		}
		return p.fail()
	case p.take('('):
		if p.expr() && p.take(')') {
			return true
		}
	}
	// What follows may be a literal though the parentheses are faulty.
	switch {
	case p.take(xtString):
		p.item = &xpathItem{op: xpLiteral, value: xpathText(p.text[p.prev.beg+1:p.prev.end-1], p.result)}
		return true
	case p.take(xtDigits):
		return p.number()
	}
	return p.function()
}

// xpathText is a text of the type.
func xpathText(s string, t Type) Value {
	v := StringValue(s, t.Collation)
	v.Type.Class, v.Type.Coercibility = t.Class, t.Coercibility
	if t.Class == Bytes {
		v.Type.Length = len(s)
	}
	return v
}

// number is what digits begin.
func (p *xpathParser) number() bool {
	beg, scale, point := p.prev.beg, 0, false
	if p.take('.') {
		point = true
		if p.take(xtDigits) {
			scale = p.prev.end - p.prev.beg
		}
	}
	text := p.text[beg:p.prev.end]
	if len(text) > 15 || strings.Contains(text, " ") {
		return p.unsupported("the number '" + text + "'")
	}
	if !point {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return p.unsupported("the number '" + text + "'")
		}
		p.item = &xpathItem{op: xpLiteral, value: IntValue(n)}
		return true
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(text, "."), 64)
	if err != nil {
		return p.unsupported("the number '" + text + "'")
	}
	v := DoubleValue(f)
	v.Type.Scale = scale
	p.item = &xpathItem{op: xpLiteral, value: v}
	return true
}

func (p *xpathParser) function() bool {
	if !p.take(xtFunc) {
		return false
	}
	name := strings.ToLower(p.text[p.prev.beg:p.prev.end])
	if !p.take('(') {
		return false
	}
	bounds := xpathFunctions[name]
	var args []*xpathItem
	for len(args) < bounds[1] {
		if !p.expr() {
			if len(args) < bounds[0] {
				return false
			}
			break
		}
		args = append(args, p.item)
		if !p.take(',') {
			if len(args) < bounds[0] {
				return false
			}
			break
		}
	}
	if !p.take(')') {
		return false
	}
	x := p.create(name, args)
	if x == nil {
		return false
	}
	p.item = x
	return true
}

// create makes the call of a function, or nil where its arguments are none of its.
func (p *xpathParser) create(name string, args []*xpathItem) *xpathItem {
	about := p.context // what a function without an argument is about
	if len(args) > 0 {
		about = args[0]
	}
	switch name {
	case "sum", "count":
		if !args[0].isSet() {
			return nil
		}
		return &xpathItem{op: map[string]xpathOp{"sum": xpSum, "count": xpCount}[name], args: args}
	case "last", "position":
		if p.context == nil {
			return nil
		}
		return &xpathItem{op: map[string]xpathOp{"last": xpCount, "position": xpPosition}[name], args: []*xpathItem{p.context}}
	case "true", "false":
		return &xpathItem{op: xpLiteral, value: BoolValue(name == "true")}
	case "not":
		return &xpathItem{op: xpNot, args: []*xpathItem{p.truthOfSet(args[0])}}
	case "boolean":
		p.truthOfSet(args[0])
		return &xpathItem{op: xpBool, args: args}
	case "number":
		if about == nil {
			p.unsupported("number() outside predicates")
			return nil
		}
		return xpathCall("number", about)
	case "string-length":
		if about == nil {
			return nil
		}
		return xpathCall("CHAR_LENGTH", about)
	case "floor", "ceiling":
		return xpathCall(upper(name), args...)
	case "round":
		return xpathCall("ROUND", args[0], &xpathItem{op: xpLiteral, value: IntValue(0)})
	case "concat":
		return xpathCall("CONCAT", args[:2]...) // of more, MySQL takes two
	case "contains":
		return &xpathItem{op: xpSubstrings, args: args}
	}
	return xpathCall("SUBSTRING", args...)
}
