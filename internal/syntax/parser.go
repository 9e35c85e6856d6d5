package syntax

import (
	"strings"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
)

// Limits that keep recursion bounded, here and in whoever walks the tree.
const (
	// maxNesting is how deep parentheses, subqueries and calls may nest.
	maxNesting = 1500
	// maxHeight is how high a tree may be; chains such as a OR b OR c count.
	maxHeight = 20000
)

// parser turns tokens into a tree, by recursive descent. It looks ahead but
// never goes back, so its time is linear in the text.
type parser struct {
	lexer
	toks []token
	i    int
	tok  token // toks[i]
	prev token // the token before

	depth        int
	placeholders []int
	into         *Into // INTO met inside the select being parsed
	usedHint     int32 // the last hint taken
	stmtStart    int   // of the innermost statement
	tokens       int   // tokens of the statement so far
	lakeSeen     bool  // a Flink clause of a CREATE TABLE stood in /*T! … */
}

// bailout carries a syntax error out of the descent to the entry point.
type bailout struct{ err error }

func newParser(text string, offset int, o Options) *parser {
	p := &parser{lexer: newLexer(text, o)}
	p.pos = offset
	return p
}

// start reads the first token of a statement.
func (p *parser) start() { p.begins(true) }

// startPart reads the first token of something smaller than a statement.
func (p *parser) startPart() { p.begins(false) }

func (p *parser) begins(statement bool) {
	p.atStart = statement
	p.toks = p.toks[:0]
	p.i = 0
	p.placeholders = nil
	p.hints, p.pending, p.usedHint = p.hints[:0], 0, 0
	p.tokens = 0
	p.prev = token{pos: int32(p.pos), end: int32(p.pos)}
	p.toks = append(p.toks, p.lexer.next())
	p.tok = p.toks[0]
	p.checkLex()
}

// next moves to the next token.
func (p *parser) advance() {
	p.prev = p.tok
	p.i++
	p.tokens++
	if p.i == len(p.toks) {
		p.toks = p.toks[:0]
		p.i = 0
		p.toks = append(p.toks, p.lexer.next())
	}
	p.tok = p.toks[p.i]
	p.checkLex()
}

// pass moves over a token of text that is not looked into. A placeholder counts
// there too.
func (p *parser) pass() {
	if p.tok.kind == tParam {
		p.placeholders = append(p.placeholders, int(p.tok.pos))
	}
	p.advance()
}

func (p *parser) checkLex() {
	if p.tok.kind == tError {
		p.fail(int(p.tok.pos))
	}
}

// peek returns the n-th token after the current one.
func (p *parser) peek(n int) *token {
	for p.i+n >= len(p.toks) {
		p.toks = append(p.toks, p.lexer.next())
	}
	return &p.toks[p.i+n]
}

// reset makes the lexer go on at offset, forgetting what was looked ahead, and
// reads the token there.
func (p *parser) reset(offset int) {
	p.prev = p.tok
	p.pos = offset
	p.pending = 0
	p.afterDot = false
	p.toks = p.toks[:0]
	p.i = 0
	p.toks = append(p.toks, p.lexer.next())
	p.tok = p.toks[0]
	p.checkLex()
}

// Errors.

const nearLimit = 80

// syntaxError is MySQL's message: the text from the offending token on, without
// the semicolons and blanks at the end of all.
func syntaxError(text string, pos int, hint string) error {
	end := len(strings.TrimRight(text, "; \t\r\n\v\f"))
	near := text[min(pos, end):end]
	if len(near) > nearLimit {
		n := nearLimit
		for n > 0 && !utf8.RuneStart(near[n]) {
			n--
		}
		near = near[:n]
	}
	line := 1 + strings.Count(text[:min(pos, len(text))], "\n")
	if hint != "" {
		hint = "; " + hint
	}
	return errs.UserAt(pos, errs.Syntax, "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near '%s' at line %d%s", near, line, hint)
}

func (p *parser) fail(pos int) { panic(bailout{syntaxError(p.text, pos, "")}) }

// bad reports the current token as unexpected.
func (p *parser) bad() {
	panic(bailout{syntaxError(p.text, int(p.tok.pos), "")})
}

// badName reports the current token where a name was expected.
func (p *parser) badName() {
	if p.tok.kind == tWord && p.tok.reserved {
		w := p.tok.str
		panic(bailout{syntaxError(p.text, int(p.tok.pos), w+" is a reserved word: write `"+w+"` to use it as a name")})
	}
	p.bad()
}

func (p *parser) unsupported(pos int, what string) {
	panic(bailout{errs.Unsupportedf(pos, "%s", what)})
}

// enter counts one level of nesting; leave with p.depth--.
func (p *parser) enter() {
	p.depth++
	if p.depth > maxNesting {
		panic(bailout{errs.UserAt(int(p.tok.pos), errs.Syntax, "parse statement: nested deeper than %d levels", maxNesting)})
	}
}

// Tests of the current token.

// is reports whether the current token is the keyword or operator w.
func (p *parser) is(w string) bool { return p.tok.word == w }

// is2 reports whether the current and the next token are a and b.
func (p *parser) is2(a, b string) bool { return p.tok.word == a && p.peek(1).word == b }

func (p *parser) isEnd() bool { return p.tok.kind == tEOF || p.tok.word == ";" }

// accept moves over w if it is there.
func (p *parser) accept(w string) bool {
	if p.tok.word == w {
		p.advance()
		return true
	}
	return false
}

// accept2 moves over the two words if both are there.
func (p *parser) accept2(a, b string) bool {
	if p.is2(a, b) {
		p.advance()
		p.advance()
		return true
	}
	return false
}

// accept3 moves over the three words if all are there.
func (p *parser) accept3(a, b, c string) bool {
	if p.is2(a, b) && p.peek(2).word == c {
		p.advance()
		p.advance()
		p.advance()
		return true
	}
	return false
}

// expect moves over w, which must be there.
func (p *parser) expect(w string) {
	if p.tok.word != w {
		p.bad()
	}
	p.advance()
}

// at is the position of the current token.
func (p *parser) at() At { return At(p.tok.pos) }

// acceptAny moves over one of the words and returns it, or "".
func (p *parser) acceptAny(words ...string) string {
	for _, w := range words {
		if p.tok.word == w {
			p.advance()
			return w
		}
	}
	return ""
}

// Names.

// isName reports whether the current token can be a name.
func (p *parser) isName() bool { return isNameToken(&p.tok) }

func isNameToken(t *token) bool {
	return t.kind == tQuoted || t.kind == tWord && !t.reserved
}

func (p *parser) takeIdent() Ident {
	id := Ident{At: p.at(), Name: p.tok.str, Quoted: p.tok.kind == tQuoted}
	p.advance()
	return id
}

// ident reads a name.
func (p *parser) ident() Ident {
	if !p.isName() || p.tok.kind == tQuoted && p.tok.str == "" {
		p.badName()
	}
	return p.takeIdent()
}

// anyWord reads a name or any keyword.
func (p *parser) anyWord() Ident {
	if p.tok.kind != tWord && p.tok.kind != tQuoted {
		p.bad()
	}
	return p.takeIdent()
}

// upperWord reads any unquoted word and returns it in upper case.
func (p *parser) upperWord() string {
	if p.tok.kind != tWord {
		p.bad()
	}
	w := strings.ToUpper(p.tok.str)
	p.advance()
	return w
}

// upperWordHere returns the current unquoted word in upper case, or "".
func (p *parser) upperWordHere() string {
	if p.tok.kind != tWord {
		return ""
	}
	return strings.ToUpper(p.tok.str)
}

// lowerName reads a name, string or keyword such as a character set's or
// collation's, in lower case.
func (p *parser) lowerName() string {
	if p.tok.kind != tString && p.tok.kind != tQuoted && p.tok.kind != tWord {
		p.bad()
	}
	if p.tok.kind == tWord && p.tok.reserved && p.tok.word != "BINARY" {
		p.badName()
	}
	w := strings.ToLower(p.tok.str)
	p.advance()
	return w
}

// objectName reads a name of up to three parts.
func (p *parser) objectName() ObjectName {
	n := ObjectName{At: p.at(), Parts: []Ident{p.ident()}}
	for p.is(".") {
		if len(n.Parts) == 3 {
			p.bad()
		}
		p.advance()
		n.Parts = append(n.Parts, p.anyWord())
	}
	return n
}

func (p *parser) objectNames() []ObjectName {
	list := []ObjectName{p.objectName()}
	for p.accept(",") {
		list = append(list, p.objectName())
	}
	return list
}

// identList reads (a, b, …).
func (p *parser) identList() []Ident {
	p.expect("(")
	list := []Ident{p.ident()}
	for p.accept(",") {
		list = append(list, p.ident())
	}
	p.expect(")")
	return list
}

// Values.

// stringValue reads a string literal, adjacent ones joined.
func (p *parser) stringValue() string {
	if p.tok.kind != tString {
		p.bad()
	}
	s := p.tok.str
	p.advance()
	return s
}

// number reads an unsigned integer that fits into an int.
func (p *parser) number() int {
	if p.tok.kind != tInt {
		p.bad()
	}
	n := 0
	for _, c := range []byte(p.tok.str) {
		if c < '0' || c > '9' || n > 1<<40 {
			p.bad()
		}
		n = n*10 + int(c-'0')
	}
	p.advance()
	return n
}

// textFrom is the source from start to the end of the last token.
func (p *parser) textFrom(start int) string { return p.text[start:int(p.prev.end)] }

// takeHints returns the contents of the hint comments that stand directly
// before the current token.
func (p *parser) takeHints() []hintText {
	if p.tok.hint == 0 {
		return nil
	}
	var list []hintText
	for h := p.tok.hint; h != 0; h = p.hints[h-1].next {
		list = append(list, p.hints[h-1])
	}
	for a, b := 0, len(list)-1; a < b; a, b = a+1, b-1 {
		list[a], list[b] = list[b], list[a]
	}
	p.tok.hint = 0
	return list
}
