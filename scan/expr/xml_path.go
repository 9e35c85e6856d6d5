package expr

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
)

// The XPath of EXTRACTVALUE and UPDATEXML: a recursive descent over MySQL's dialect,
// which is XPath 1.0 with fewer functions. node tests such as text() select nothing
// but their context, predicates belong to steps alone, and the axes that MySQL does
// not know select children.

// xpathOp says what an xpathItem computes. Those up to xpUnion are node sets.
type xpathOp uint8

const (
	xpRoot    xpathOp = iota
	xpContext         // the node that a predicate is about
	xpStep            // axis::name of the nodes of args[0]
	xpFilter          // args[0] where args[1] is true
	xpIndex           // args[0] at the position args[1]
	xpUnion

	xpLiteral
	xpCall       // a function or operator of this package over args
	xpCompare    // a text of the set args[0], op, args[1]
	xpBool       // has the set a node, is the number not 0
	xpNot        // of truth
	xpAnd        // of truths
	xpOr         // of truths
	xpCount      // of the set
	xpPosition   // of the context's node
	xpSum        // of the texts of the set
	xpSubstrings // does args[0] contain args[1]
)

type xpathItem struct {
	op   xpathOp
	args []*xpathItem
	// xpStep
	axis string
	self bool   // descendant and ancestor: the node itself, too
	name string // of what is selected
	any  bool   // all names
	// xpCall, xpCompare: the name of the function
	fn    string
	value Value         // xpLiteral
	nodes *xpathContext // xpContext
}

// xpathContext is the one node that a predicate is computed for.
type xpathContext struct{ set []xpathNode }

func (x *xpathItem) isSet() bool { return x.op <= xpUnion }

// isTruth tells predicates that select by truth from those that select by position.
func (x *xpathItem) isTruth() bool {
	switch x.op {
	case xpCompare, xpBool, xpNot, xpAnd, xpOr, xpSubstrings:
		return true
	case xpLiteral:
		return x.value.Type.Class == Bool
	case xpCall:
		return outcomes[x.fn] != 0
	}
	return false
}

// xpathLength bounds an XPath, and with it how deep the tree of its steps and
// operators is.
const xpathLength = 1 << 16

// xpathDepth bounds how deep expressions nest.
const xpathDepth = 200

// xpathToken is the kind of a token: its character, or one of these.
type xpathToken byte

const (
	xtEOF    xpathToken = 0
	xtIdent  xpathToken = 'I'
	xtDigits xpathToken = 'D'
	xtString xpathToken = 'S'
	xtFunc   xpathToken = 'F'
	xtType   xpathToken = 'T' // text, node, comment, processing-instruction
	xtAxis   xpathToken = 'X'
	xtError  xpathToken = 'E'
)

type xpathLex struct {
	kind     xpathToken
	beg, end int
	called   bool // a name before "(" or "::"
}

type xpathParser struct {
	text   string
	result Type // of texts
	last   xpathLex
	prev   xpathLex
	failed bool
	err    error // ends it all
	depth  int

	axis    string
	item    *xpathItem
	context *xpathItem
	root    *xpathItem
}

var xpathAxes = wordSet("ancestor ancestor-or-self attribute child descendant descendant-or-self following following-sibling namespace parent preceding preceding-sibling self")

var xpathTypes = wordSet("comment text processing-instruction node")

// xpathFunctions are the least and the most arguments of functions.
var xpathFunctions = map[string][2]int{
	"sum": {1, 1}, "not": {1, 1}, "last": {0, 0}, "true": {0, 0}, "count": {1, 1}, "false": {0, 0}, "floor": {1, 1}, "round": {1, 1},
	"concat": {2, 255}, "number": {0, 1}, "boolean": {1, 1}, "ceiling": {1, 1}, "position": {0, 0}, "contains": {2, 2}, "substring": {2, 3},
	"string-length": {0, 1},
}

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// parseXPath reads an expression whose texts have the type result.
func parseXPath(text string, result Type) (*xpathItem, error) {
	if len(text) > xpathLength {
		return nil, errs.Unsupportedf(-1, "XPaths of more than %d bytes", xpathLength)
	}
	p := &xpathParser{text: text, result: result, root: &xpathItem{op: xpRoot}}
	p.next()
	ok := p.expr() && p.take(xtEOF)
	if p.err != nil {
		return nil, p.err
	}
	if !ok {
		return nil, errs.Userf(errs.XPathSyntax, "XPATH syntax error: '%s'", xpathCut(text[p.last.beg:]))
	}
	return p.item, nil
}

// xpathCut is the rest of an expression as messages show it.
func xpathCut(s string) string {
	s = s[:min(len(s), 32)]
	for n := len(s); n > 0; n-- {
		if utf8.ValidString(s[:n]) {
			return s[:n] + strings.Repeat("?", min(len(s)-n, 1))
		}
	}
	return s
}

func (p *xpathParser) unsupported(what string) bool {
	if p.err == nil {
		p.err = errs.Unsupportedf(-1, "XPath: %s", what)
	}
	p.failed = true
	return false
}

// nameChar is whether the text at i goes on with a character of a name, and how long
// that is.
func (p *xpathParser) nameChar(i int, first bool) (int, bool) {
	if i >= len(p.text) {
		return 0, false
	}
	c := p.text[i]
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		return 1, true
	case c < utf8.RuneSelf:
		return 1, !first && (c >= '0' && c <= '9' || c == '-' || c == '.')
	case p.result.Class == Bytes:
		return 1, false
	}
	r, n := utf8.DecodeRuneInString(p.text[i:])
	switch {
	case r < 0x180 && r != 0xaa && r != 0xba && r != 0xb5 && unicode.IsLetter(r), r >= 0x4e00 && r < 0x9fa6, r >= 0x410 && r < 0x450:
		return n, true
	}
	return n, p.unsupported("names with characters beyond Latin, Cyrillic and Chinese ones")
}

func (p *xpathParser) next() {
	t := p.text
	i := p.last.end
	for i < len(t) && t[i] == ' ' {
		i++
	}
	p.last = xpathLex{kind: xtEOF, beg: i, end: i}
	if i >= len(t) {
		return
	}
	if n, ok := p.nameChar(i, true); ok {
		p.last.kind = xtIdent
		for ok {
			i += n
			n, ok = p.nameChar(i, false)
		}
		p.last.end = i
		word := strings.ToLower(t[p.last.beg:i])
		p.last.called = i < len(t) && t[i] == '(' || strings.HasPrefix(t[i:], "::")
		switch {
		case i < len(t) && t[i] == '(':
			if _, ok := xpathFunctions[word]; ok {
				p.last.kind = xtFunc
			} else if xpathTypes[word] {
				p.last.kind = xtType
			}
		case strings.HasPrefix(t[i:], "::") && xpathAxes[word]:
			p.last.kind = xtAxis
		}
		return
	}
	c := t[i]
	i++
	p.last.kind, p.last.end = xtError, i
	switch {
	case strings.IndexByte("!$()*+,-./:<=>@[]|", c) >= 0:
		p.last.kind = xpathToken(c)
	case c >= '0' && c <= '9':
		for i < len(t) && t[i] >= '0' && t[i] <= '9' {
			i++
		}
		p.last.kind, p.last.end = xtDigits, i
	case c == '"' || c == '\'':
		if n := strings.IndexByte(t[i:], c); n >= 0 {
			p.last.kind, p.last.end = xtString, i+n+1
		} else {
			p.last.end = len(t)
		}
	}
}

// take moves on over a token of the kind.
func (p *xpathParser) take(k xpathToken) bool {
	if p.last.kind != k || p.failed {
		return false
	}
	p.prev = p.last
	if k != xtEOF {
		p.next()
	}
	return !p.failed
}

// takeWord moves on over an operator that is a word.
func (p *xpathParser) takeWord(w string) bool {
	return p.last.kind == xtIdent && !p.last.called && strings.EqualFold(p.text[p.last.beg:p.last.end], w) && p.take(xtIdent)
}

// fail makes all that follows fail.
func (p *xpathParser) fail() bool {
	p.failed = true
	return false
}

func (p *xpathParser) expr() bool {
	if p.depth++; p.depth > xpathDepth {
		return p.unsupported("expressions that nest deeper than 200 levels")
	}
	defer func() { p.depth-- }()
	return p.logic("or", xpOr, func() bool { return p.logic("and", xpAnd, p.equality) })
}

func (p *xpathParser) logic(word string, op xpathOp, operand func() bool) bool {
	if !operand() {
		return false
	}
	for p.takeWord(word) {
		a := p.truthOfSet(p.item)
		if !operand() {
			return p.fail()
		}
		p.item = &xpathItem{op: op, args: []*xpathItem{a, p.truthOfSet(p.item)}}
	}
	return true
}

func (p *xpathParser) truthOfSet(x *xpathItem) *xpathItem {
	if x.isSet() {
		return &xpathItem{op: xpBool, args: []*xpathItem{x}}
	}
	return x
}

func (p *xpathParser) equality() bool {
	if !p.relational() {
		return false
	}
	for {
		at, op := p.last.beg, "="
		switch {
		case p.take('='):
		case p.last.kind == '!' && !p.failed:
			before := p.last
			p.take('!')
			if op = "<>"; !p.take('=') {
				p.last = before
				return p.fail()
			}
		default:
			return true
		}
		if !p.compared(op, at, p.relational) {
			return false
		}
	}
}

func (p *xpathParser) relational() bool {
	if !p.additive() {
		return false
	}
	for {
		at, op := p.last.beg, "<"
		if !p.take('<') {
			if op = ">"; !p.take('>') {
				return true
			}
		}
		if p.take('=') {
			op += "="
		}
		if !p.compared(op, at, p.additive) {
			return false
		}
	}
}

// compared reads the second operand of the comparison at a position.
func (p *xpathParser) compared(op string, at int, operand func() bool) bool {
	a := p.item
	if !operand() {
		return p.fail()
	}
	b := p.item
	switch {
	case a.isSet() && b.isSet():
		p.err = errs.Userf(errs.XPathSyntax, "XPATH error: comparison of two nodesets is not supported: '%s'", xpathCut(p.text[at:]))
		return p.fail()
	case a.isSet():
		p.item = &xpathItem{op: xpCompare, fn: op, args: []*xpathItem{a, b}}
	case b.isSet():
		if turned, ok := map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}[op]; ok {
			op = turned
		}
		p.item = &xpathItem{op: xpCompare, fn: op, args: []*xpathItem{b, a}}
	default:
		p.item = xpathCall(op, a, b)
	}
	return true
}

func xpathCall(fn string, args ...*xpathItem) *xpathItem {
	return &xpathItem{op: xpCall, fn: fn, args: args}
}

func (p *xpathParser) binary(operand func() bool, operator func() string) bool {
	if !operand() {
		return false
	}
	for {
		op := operator()
		if op == "" {
			return true
		}
		a := p.item
		if !operand() {
			return p.fail()
		}
		p.item = xpathCall(op, a, p.item)
	}
}

func (p *xpathParser) additive() bool {
	return p.binary(p.multiplicative, func() string {
		if p.take('+') {
			return "+"
		}
		if p.take('-') {
			return "-"
		}
		return ""
	})
}

func (p *xpathParser) multiplicative() bool {
	return p.binary(p.unary, func() string {
		switch {
		case p.take('*'):
			return "*"
		case p.takeWord("div"):
			return "DIV"
		case p.takeWord("mod"):
			return "%"
		}
		return ""
	})
}

func (p *xpathParser) unary() bool {
	if !p.take('-') {
		return p.union()
	}
	if p.depth++; p.depth > xpathDepth {
		return p.unsupported("expressions that nest deeper than 200 levels")
	}
	defer func() { p.depth-- }()
	if !p.unary() {
		return false
	}
	p.item = xpathCall("NEG", p.item)
	return true
}

func (p *xpathParser) union() bool {
	if !p.path() {
		return false
	}
	for p.take('|') {
		a := p.item
		if !a.isSet() {
			return p.unsupported("unions of what is not a set of nodes")
		}
		if !p.path() {
			return false
		}
		if !p.item.isSet() {
			return p.unsupported("unions of what is not a set of nodes")
		}
		p.item = &xpathItem{op: xpUnion, args: []*xpathItem{a, p.item}}
	}
	return true
}

// path is a location path, or another expression with a path behind it.
func (p *xpathParser) path() bool {
	if p.location() {
		return true
	}
	context := p.context
	if !p.primary() {
		return false
	}
	if p.last.kind != '/' {
		return true
	}
	if !p.item.isSet() {
		return p.fail()
	}
	p.take('/')
	p.context = p.item
	if p.take('/') {
		p.context = descendants(p.context)
	}
	ok := p.relative()
	p.item, p.context = p.context, context
	return ok
}

func descendants(x *xpathItem) *xpathItem {
	return &xpathItem{op: xpStep, axis: "descendant", self: true, any: true, args: []*xpathItem{x}}
}

func (p *xpathParser) location() bool {
	context := p.context
	if p.context == nil {
		p.context = p.root
	}
	ok := false
	if p.last.kind == '/' {
		p.take('/')
		p.context = p.root
		if p.take('/') {
			p.context = descendants(p.root)
			ok = p.relative()
		} else {
			at := p.last.beg
			ok = p.relative() || !p.failed && p.last.beg == at
		}
	} else {
		ok = p.relative()
	}
	p.item, p.context = p.context, context
	return ok
}

func (p *xpathParser) relative() bool {
	if !p.step() {
		return false
	}
	for p.take('/') {
		if p.take('/') {
			p.context = descendants(p.context)
		}
		if !p.step() {
			return p.fail()
		}
	}
	return true
}

func (p *xpathParser) step() bool {
	if p.namedStep() {
		return true
	}
	if !p.take('.') {
		return false
	}
	if p.take('.') {
		p.context = &xpathItem{op: xpStep, axis: "parent", any: true, args: []*xpathItem{p.context}}
	}
	return true
}

func (p *xpathParser) namedStep() bool {
	p.axis = "child"
	switch {
	case p.take('@'):
		p.axis = "attribute"
	case p.take(xtAxis):
		p.axis = strings.ToLower(p.text[p.prev.beg:p.prev.end])
		for range 2 {
			if !p.take(':') {
				return false
			}
		}
	}
	if !p.nodeTest() {
		return false
	}
	for p.take('[') {
		set := p.context
		context := &xpathContext{}
		p.context = &xpathItem{op: xpContext, nodes: context}
		if !p.expr() || !p.take(']') {
			return p.fail()
		}
		x := p.truthOfSet(p.item)
		op := xpIndex
		if x.isTruth() {
			op = xpFilter
		}
		p.context = &xpathItem{op: op, args: []*xpathItem{set, x}, nodes: context}
	}
	return true
}

func (p *xpathParser) nodeTest() bool {
	x := &xpathItem{op: xpStep, axis: p.axis, args: []*xpathItem{p.context}}
	switch p.axis {
	case "descendant-or-self", "ancestor-or-self":
		x.axis, x.self = strings.TrimSuffix(p.axis, "-or-self"), true
	}
	switch {
	case p.take('*'):
		x.any = true
	case p.take(xtIdent):
		beg := p.prev.beg
		if p.take(':') && !p.take(xtIdent) {
			return false
		}
		x.name = p.text[beg:p.prev.end]
	case p.take(xtType):
		return p.take('(') && p.take(')')
	default:
		return false
	}
	p.context = x
	return true
}
