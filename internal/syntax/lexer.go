package syntax

import "strings"

// tokKind is the kind of a token.
type tokKind uint8

const (
	tEOF tokKind = iota
	tError
	tWord   // unquoted name or keyword
	tQuoted // quoted name
	tString
	tNString // N'x'
	tInt
	tDecimal
	tFloat
	tHex     // x'4D', 0x4D; str is the bytes
	tBits    // b'01', 0b01; str is the bytes
	tParam   // ?
	tUserVar // @name; str is the name
	tOp      // operator or punctuation; word is the text
)

// token is one lexical element. For a keyword, word is its upper-case spelling,
// so comparing words compares keywords; str is the text as written.
type token struct {
	kind     tokKind
	reserved bool
	lake     bool  // stands in a /*T! … */ comment
	hint     int32 // 1 + index in lexer.hints of the last hint comment before it
	pos, end int32
	lead     int32 // start of an executable comment that opened before it, else pos
	closed   int32 // end of the last hint or executable comment before it, or 0
	word     string
	str      string
}

// hintText is the inside of a /*+ … */ comment.
type hintText struct {
	pos  int
	text string
	next int32 // 1 + index of the hint before, when several precede one token
}

// lexer cuts text into tokens. Comments are skipped, except hints, which are
// hung on the token that follows, and executable comments, whose content is
// read as text.
type lexer struct {
	text  string
	pos   int
	o     Options
	limit int // version that /*!NNNNN must not exceed

	atStart  bool // no token of the statement yet: -- needs no blank after it
	afterDot bool // the last token was a '.' with a name directly after it
	nameEnd  int  // where the last token ended, if it was a name
	exec     int  // depth of executable comments
	lead     int  // where the outermost one opened, when no token followed yet
	closed   int  // where the last one, or a hint, closed
	lake     bool
	hints    []hintText
	pending  int32 // hint for the next token
	errMsg   string
}

const defaultVersion = 80044

func newLexer(text string, o Options) lexer {
	v := o.Version
	if v == 0 {
		v = defaultVersion
	}
	return lexer{text: text, o: o, limit: v, atStart: true, nameEnd: -1}
}

func isIdentByte(c byte) bool {
	return c >= 0x80 || c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v'
}

func (l *lexer) byteAt(i int) byte {
	if i < len(l.text) {
		return l.text[i]
	}
	return 0
}

// skipBlanks moves over blanks and comments. It returns false at an error.
func (l *lexer) skipBlanks() bool {
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		switch {
		case isSpace(c):
			l.pos++
		case c == '#':
			l.skipLine()
		case c == '-' && l.byteAt(l.pos+1) == '-' && l.dashComment():
			l.skipLine()
		case c == '/' && l.byteAt(l.pos+1) == '*':
			if !l.comment() {
				return false
			}
		case c == '*' && l.exec > 0 && l.byteAt(l.pos+1) == '/':
			l.pos += 2
			l.closed = l.pos
			l.exec--
			if l.exec == 0 {
				l.lake = false
			}
		default:
			return true
		}
	}
	return true
}

// dashComment reports whether the two dashes at pos start a comment: MySQL wants
// a blank or control character after them, so that 5--3 is 8. At the start of a
// statement they cannot be anything else.
func (l *lexer) dashComment() bool {
	if l.atStart || l.o.Dialect == Trino || l.pos+2 >= len(l.text) {
		return true
	}
	return l.text[l.pos+2] <= ' ' || l.text[l.pos+2] == 0x7f
}

func (l *lexer) skipLine() {
	if i := strings.IndexByte(l.text[l.pos:], '\n'); i >= 0 {
		l.pos += i + 1
	} else {
		l.pos = len(l.text)
	}
}

// comment handles what starts with /*.
func (l *lexer) comment() bool {
	rest := l.text[l.pos+2:]
	switch {
	case l.o.Dialect == MySQL && strings.HasPrefix(rest, "!"):
		return l.executable(3, false)
	case l.o.Dialect == MySQL && strings.HasPrefix(rest, "T!") && lakeClause(rest[2:]):
		l.lake = true
		return l.executable(4, true)
	case strings.HasPrefix(rest, "+"):
		end := strings.Index(rest, "*/")
		if end < 0 {
			return l.fail("unterminated comment")
		}
		l.hints = append(l.hints, hintText{l.pos + 3, rest[1:end], l.pending})
		l.pending = int32(len(l.hints))
		l.pos += 2 + end + 2
		l.closed = l.pos
		return true
	}
	end := strings.Index(rest, "*/")
	if end < 0 {
		return l.fail("unterminated comment")
	}
	l.pos += 2 + end + 2
	return true
}

// lakeClause reports whether a /*T! … */ comment holds what SHOW CREATE TABLE
// prints there. TiDB's comments of the same form are comments.
func lakeClause(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	for _, w := range []string{"PARTITIONED", "WITH", "NOT", "DISTRIBUTED", "TYPES"} {
		if len(s) > len(w) && strings.EqualFold(s[:len(w)], w) && !isIdentByte(s[len(w)]) {
			return true
		}
	}
	return false
}

// executable enters the content of /*!NNNNN … */, or skips it when it is for a
// newer server. Comments may stand inside.
func (l *lexer) executable(skip int, lake bool) bool {
	p := l.pos + skip
	version, digits := 0, 0
	for !lake && digits < 6 && isDigit(l.byteAt(p+digits)) {
		version = version*10 + int(l.text[p+digits]-'0')
		digits++
	}
	if digits < 5 {
		version, digits = 0, 0
	}
	if version <= l.limit {
		if l.exec == 0 {
			l.lead = l.pos
		}
		l.pos = p + digits
		l.exec++
		return true
	}
	// Skip, with comments nested once inside.
	p += digits
	for depth := 1; ; {
		i := strings.IndexAny(l.text[p:], "*/")
		if i < 0 || p+i+1 >= len(l.text) {
			return l.fail("unterminated comment")
		}
		p += i
		switch l.text[p : p+2] {
		case "*/":
			p += 2
			if depth--; depth == 0 {
				l.pos = p
				return true
			}
		case "/*":
			p += 2
			depth++
		default:
			p++
		}
	}
}

// fail ends the text with an error at the current position.
func (l *lexer) fail(msg string) bool {
	l.errMsg = msg
	return false
}

// next returns the next token.
func (l *lexer) next() token {
	l.lead, l.closed = -1, 0
	ok := l.skipBlanks()
	t := token{pos: int32(l.pos), end: int32(l.pos), lead: int32(l.pos), closed: int32(l.closed), lake: l.lake, hint: l.pending}
	if l.lead >= 0 && l.exec > 0 {
		t.lead = int32(l.lead)
	}
	l.pending = 0
	if !ok {
		t.kind, t.str = tError, l.errMsg
		l.pos = len(l.text)
		return t
	}
	if l.pos >= len(l.text) {
		if l.exec > 0 {
			l.exec = 0 // so that the end comes next
			t.kind, t.str = tError, "unterminated comment"
		}
		return t
	}
	l.atStart = false
	dot := l.afterDot
	l.afterDot = false
	c := l.text[l.pos]
	switch {
	case dot && isIdentByte(c):
		l.word(&t, true)
	case (c == 'x' || c == 'X') && l.byteAt(l.pos+1) == '\'':
		l.quotedHex(&t)
	case (c == 'b' || c == 'B') && l.byteAt(l.pos+1) == '\'':
		l.quotedBits(&t)
	case (c == 'n' || c == 'N') && l.byteAt(l.pos+1) == '\'':
		l.pos++
		l.str(&t, '\'')
		if t.kind == tString {
			t.kind = tNString
		}
	case isDigit(c) || c == '.' && isDigit(l.byteAt(l.pos+1)) && l.nameEnd != l.pos:
		l.number(&t)
	case isIdentByte(c):
		l.word(&t, false)
	case c == '\'':
		l.str(&t, c)
	case c == '"':
		if l.o.AnsiQuotes || l.o.Dialect == Trino {
			l.quotedName(&t, c)
		} else {
			l.str(&t, c)
		}
	case c == '`':
		l.quotedName(&t, c)
	case c == '?':
		l.pos++
		t.kind = tParam
	case c == '@':
		l.at(&t)
	default:
		l.op(&t, c)
	}
	t.end = int32(l.pos)
	if t.kind == tWord || t.kind == tQuoted {
		l.nameEnd = l.pos
	}
	return t
}

// word reads an unquoted name. A dot directly after it, with a name directly
// after the dot, makes the next word a plain name, whatever it spells.
func (l *lexer) word(t *token, plain bool) {
	start := l.pos
	for l.pos < len(l.text) && isIdentByte(l.text[l.pos]) {
		l.pos++
	}
	t.kind, t.str = tWord, l.text[start:l.pos]
	if plain {
		return
	}
	if k, ok := lookupKeyword(t.str); ok {
		t.word, t.reserved = k.word, k.reserved
	}
}

// number reads a numeric literal, or a name that starts with digits.
func (l *lexer) number(t *token) {
	s, p := l.text, l.pos
	if s[p] == '0' {
		switch l.byteAt(p + 1) {
		case 'x':
			if l.prefixed(t, isHexDigit, tHex) {
				return
			}
		case 'b':
			if l.prefixed(t, func(c byte) bool { return c == '0' || c == '1' }, tBits) {
				return
			}
		}
	}
	start := p
	for p < len(s) && isDigit(s[p]) {
		p++
	}
	kind := tInt
	if p < len(s) && s[p] == '.' {
		kind = tDecimal
		p++
		for p < len(s) && isDigit(s[p]) {
			p++
		}
	}
	if p < len(s) && (s[p] == 'e' || s[p] == 'E') {
		q := p + 1
		if q < len(s) && (s[q] == '+' || s[q] == '-') {
			q++
		}
		if q < len(s) && isDigit(s[q]) {
			for q < len(s) && isDigit(s[q]) {
				q++
			}
			// 1e5x is a name, 1.0e5x is not.
			if kind != tInt || s[p+1] == '+' || s[p+1] == '-' || q >= len(s) || !isIdentByte(s[q]) {
				l.pos, t.kind, t.str = q, tFloat, s[start:q]
				return
			}
		}
	}
	if kind == tInt && p < len(s) && isIdentByte(s[p]) {
		l.word(t, true)
		return
	}
	l.pos, t.kind, t.str = p, kind, s[start:p]
}

// prefixed reads 0x… and 0b…; false when it is a name after all.
func (l *lexer) prefixed(t *token, ok func(byte) bool, kind tokKind) bool {
	start := l.pos + 2
	p := start
	for p < len(l.text) && ok(l.text[p]) {
		p++
	}
	if p == start || p < len(l.text) && isIdentByte(l.text[p]) {
		return false
	}
	digits := l.text[start:p]
	if kind == tHex {
		t.str = hexBytes(digits)
	} else {
		t.str = bitBytes(digits)
	}
	l.pos, t.kind = p, kind
	return true
}

func isHexDigit(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func hexValue(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

func hexBytes(digits string) string {
	out := make([]byte, 0, (len(digits)+1)/2)
	i := 0
	if len(digits)%2 == 1 {
		out = append(out, hexValue(digits[0]))
		i = 1
	}
	for ; i < len(digits); i += 2 {
		out = append(out, hexValue(digits[i])<<4|hexValue(digits[i+1]))
	}
	return string(out)
}

func bitBytes(digits string) string {
	n := (len(digits) + 7) / 8
	out := make([]byte, n)
	for i := 0; i < len(digits); i++ {
		bit := len(digits) - 1 - i
		out[n-1-bit/8] |= (digits[i] - '0') << (bit % 8)
	}
	return string(out)
}

func (l *lexer) quotedHex(t *token) {
	p := l.pos + 2
	start := p
	for p < len(l.text) && isHexDigit(l.text[p]) {
		p++
	}
	if p >= len(l.text) || l.text[p] != '\'' || (p-start)%2 != 0 {
		l.error(t, "malformed hexadecimal literal")
		return
	}
	l.pos, t.kind, t.str = p+1, tHex, hexBytes(l.text[start:p])
}

func (l *lexer) quotedBits(t *token) {
	p := l.pos + 2
	start := p
	for p < len(l.text) && (l.text[p] == '0' || l.text[p] == '1') {
		p++
	}
	if p >= len(l.text) || l.text[p] != '\'' {
		l.error(t, "malformed bit literal")
		return
	}
	l.pos, t.kind, t.str = p+1, tBits, bitBytes(l.text[start:p])
}

// error makes t an error that swallows the rest of the text.
func (l *lexer) error(t *token, msg string) {
	t.kind, t.str = tError, msg
	l.pos = len(l.text)
}

// str reads a string in quotes q. Escapes follow MySQL: \0 \b \n \r \t \Z and
// any other character for itself, but \% and \_ keep their backslash, for LIKE.
func (l *lexer) str(t *token, q byte) {
	escapes := !l.o.NoBackslashEscapes && l.o.Dialect == MySQL
	s := l.text
	p := l.pos + 1
	start := p
	for p < len(s) && s[p] != q && (s[p] != '\\' || !escapes) {
		p++
	}
	if p < len(s) && s[p] == q && l.byteAt(p+1) != q {
		t.kind, t.str = tString, s[start:p]
		l.pos = p + 1
		return
	}
	var b strings.Builder
	b.WriteString(s[start:min(p, len(s))])
	for p < len(s) {
		c := s[p]
		switch {
		case c == q && l.byteAt(p+1) == q:
			b.WriteByte(q)
			p += 2
		case c == q:
			t.kind, t.str = tString, b.String()
			l.pos = p + 1
			return
		case c == '\\' && escapes && p+1 < len(s):
			switch e := s[p+1]; e {
			case '0':
				b.WriteByte(0)
			case 'b':
				b.WriteByte('\b')
			case 'n':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			case 't':
				b.WriteByte('\t')
			case 'Z':
				b.WriteByte(26)
			case '%', '_':
				b.WriteByte('\\')
				b.WriteByte(e)
			default:
				b.WriteByte(e)
			}
			p += 2
		default:
			n := p + 1
			for n < len(s) && s[n] != q && s[n] != '\\' {
				n++
			}
			b.WriteString(s[p:n])
			p = n
		}
	}
	l.error(t, "unterminated string")
}

// quotedName reads a name in quotes q.
func (l *lexer) quotedName(t *token, q byte) {
	name, end, ok := readQuoted(l.text, l.pos, q)
	if !ok {
		l.error(t, "unterminated quoted name")
		return
	}
	l.pos = end
	t.kind, t.str = tQuoted, name
}

func readQuoted(s string, p int, q byte) (string, int, bool) {
	start := p + 1
	i := strings.IndexByte(s[start:], q)
	if i < 0 {
		return "", 0, false
	}
	p = start + i
	if p+1 >= len(s) || s[p+1] != q {
		return s[start:p], p + 1, true
	}
	var b strings.Builder
	for p = start; p < len(s); p++ {
		if s[p] == q {
			if p+1 < len(s) && s[p+1] == q {
				p++
			} else {
				return b.String(), p + 1, true
			}
		}
		b.WriteByte(s[p])
	}
	return "", 0, false
}

// at reads @name, @'name', @`name` and the operators @ and @@.
func (l *lexer) at(t *token) {
	c := l.byteAt(l.pos + 1)
	switch {
	case c == '@':
		l.pos += 2
		t.kind, t.word = tOp, "@@"
		// What follows is a variable's name, never a keyword.
		l.afterDot = l.byteAt(l.pos) != '`'
	case c == '`' || c == '"' && (l.o.AnsiQuotes || l.o.Dialect == Trino):
		l.pos++
		l.quotedName(t, c)
		if t.kind == tQuoted {
			t.kind = tUserVar
		}
	case c == '\'' || c == '"':
		l.pos++
		l.str(t, c)
		if t.kind == tString {
			t.kind = tUserVar
		}
	case isIdentByte(c) || c == '.':
		l.pos++
		start := l.pos
		for l.pos < len(l.text) && (isIdentByte(l.text[l.pos]) || l.text[l.pos] == '.') {
			l.pos++
		}
		t.kind, t.str = tUserVar, l.text[start:l.pos]
	default:
		l.pos++
		t.kind, t.word = tOp, "@"
	}
}

// operators of two and three characters, by their first.
var longOps = map[byte][]string{
	'<': {"<=>", "<=", "<>", "<<"},
	'>': {">=", ">>"},
	'!': {"!=", "!!"},
	'=': {"=>"},
	':': {":=", "::"},
	'&': {"&&"},
	'|': {"||"},
	'-': {"->>", "->"},
}

var shortOps = func() (ops [256]string) {
	for _, c := range []byte("+-*/%^~!=<>&|(),;.{}[]:") {
		ops[c] = string(c)
	}
	return ops
}()

func (l *lexer) op(t *token, c byte) {
	t.kind = tOp
	if c == '<' || c == '>' || c == '!' || c == '=' || c == ':' || c == '&' || c == '|' || c == '-' {
		for _, o := range longOps[c] {
			if strings.HasPrefix(l.text[l.pos:], o) {
				l.pos += len(o)
				t.word = o
				return
			}
		}
	}
	w := shortOps[c]
	if w == "" {
		l.pos++
		t.kind, t.str = tError, "unexpected character"
		return
	}
	l.pos++
	t.word = w
	if c == '.' {
		l.afterDot = isIdentByte(l.byteAt(l.pos))
	}
}
