package icu

import (
	"strings"
	"unicode"
)

// A pattern's tree.
type (
	node interface{}
	// literal is a run of characters, compared as one under case folding.
	literal struct {
		runes []rune
		fold  bool
	}
	set struct{ s *runeSet }
	dot struct{ all, unix bool }
	cat struct{ list []node }
	alt struct{ list []node }
	// group is a capture group, numbered from 1.
	group struct {
		n int
		x node
	}
	atomic struct{ x node }
	look   struct {
		x           node
		behind, not bool
	}
	backRef struct {
		n    int
		fold bool
	}
	repeat struct {
		x        node
		min, max int // max -1: no end
		mode     repeatMode
	}
	assertion struct{ op opcode }
	lineBreak struct{} // \R
)

type repeatMode uint8

const (
	greedy repeatMode = iota
	lazy
	possessive
)

type parser struct {
	text   []rune
	at     int
	flags  Flags
	groups int
	names  map[string]int
	depth  int
	sets   int // work for sets: see spend
	refs   []*backRef
	named  []namedRef
}

type namedRef struct {
	ref  *backRef
	name string
	at   int
}

// maxDepth bounds the nesting of groups.
const maxDepth = 500

func (p *parser) fail(err error) error {
	line, char := 1, 0
	for i := 0; i < p.at && i < len(p.text); i++ {
		if char++; p.text[i] == '\n' {
			line, char = line+1, 0
		}
	}
	return &SyntaxError{Line: line, Char: char, Err: err}
}

func (p *parser) unsupported(what string) error {
	e := p.fail(ErrUnsupported).(*SyntaxError)
	e.What = what
	return e
}

func (p *parser) peek(s string) bool {
	i := p.at
	for _, r := range s {
		if i >= len(p.text) || p.text[i] != r {
			return false
		}
		i++
	}
	return true
}

func (p *parser) eat(s string) bool {
	if !p.peek(s) {
		return false
	}
	p.at += len([]rune(s))
	return true
}

func (p *parser) parse() (node, error) {
	n, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if p.at < len(p.text) { // a ")" too many
		p.at++
		return nil, p.fail(ErrParen)
	}
	for _, r := range p.named {
		n, ok := p.names[r.name]
		if !ok {
			p.at = r.at
			return nil, p.fail(ErrGroupName)
		}
		r.ref.n = n
	}
	for _, r := range p.refs {
		if r.n > p.groups {
			return nil, p.fail(ErrBackRef)
		}
	}
	return n, nil
}

// alternatives reads up to a ")" or the end.
func (p *parser) alternatives() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.unsupported("so deep nesting")
	}
	defer func() { p.depth-- }()
	var list []node
	for {
		n, err := p.sequence()
		if err != nil {
			return nil, err
		}
		list = append(list, n)
		if !p.eat("|") {
			break
		}
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return &alt{list}, nil
}

// sequence reads a concatenation.
func (p *parser) sequence() (node, error) {
	out := &cat{}
	quantifiable := false
	for p.at < len(p.text) {
		r := p.text[p.at]
		switch {
		case r == '|' || r == ')':
			return out, nil
		case p.flags&FreeSpaced != 0 && isSpace(r):
			p.at++
			continue
		case p.flags&FreeSpaced != 0 && r == '#':
			for p.at < len(p.text) && !isLineEnd(p.text[p.at], false) {
				p.at++
			}
			continue
		case r == '}':
			p.at++
			return nil, p.fail(nil)
		case r == '*' || r == '+' || r == '?' || r == '{':
			if err := p.quantifier(out, quantifiable); err != nil {
				return nil, err
			}
			quantifiable = false
			continue
		}
		n, atom, err := p.atom()
		if err != nil {
			return nil, err
		}
		quantifiable = atom
		if n == nil {
			continue
		}
		// Characters that follow one another are compared as one text.
		if l, ok := n.(*literal); ok && len(out.list) > 0 {
			if last, ok := out.list[len(out.list)-1].(*literal); ok && last.fold == l.fold {
				last.runes = append(last.runes, l.runes...)
				continue
			}
		}
		out.list = append(out.list, n)
	}
	return out, nil
}

// quantifier wraps the last element of a sequence; of a text, its last character.
func (p *parser) quantifier(seq *cat, allowed bool) error {
	r := p.text[p.at]
	x := &repeat{max: -1}
	p.at++
	switch r {
	case '+':
		x.min = 1
	case '?':
		x.max = 1
	case '{':
		if !allowed {
			return p.fail(nil)
		}
		if err := p.interval(x); err != nil {
			return err
		}
	}
	if !allowed {
		return p.fail(nil)
	}
	switch {
	case p.eat("?"):
		x.mode = lazy
	case p.eat("+"):
		x.mode = possessive
	}
	last := len(seq.list) - 1
	if last < 0 {
		return nil // a comment or flags
	}
	x.x = seq.list[last]
	if l, ok := x.x.(*literal); ok && len(l.runes) > 1 {
		x.x = &literal{runes: l.runes[len(l.runes)-1:], fold: l.fold}
		l.runes = l.runes[: len(l.runes)-1 : len(l.runes)-1]
		seq.list = append(seq.list, x)
		return nil
	}
	seq.list[last] = x
	return nil
}

func (p *parser) interval(x *repeat) error {
	number := func() (int, bool, error) {
		n, any := 0, false
		for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
			if n = n*10 + int(p.text[p.at]-'0'); n > 1<<24 {
				return 0, false, p.fail(ErrNumber)
			}
			any = true
			p.at++
		}
		return n, any, nil
	}
	lo, any, err := number()
	if err != nil {
		return err
	}
	if !any {
		p.at++
		return p.fail(ErrInterval)
	}
	x.min, x.max = lo, lo
	if p.eat(",") {
		hi, any, err := number()
		if err != nil {
			return err
		}
		if x.max = -1; any {
			x.max = hi
		}
	}
	if !p.eat("}") {
		p.at++
		return p.fail(ErrInterval)
	}
	if x.max >= 0 && x.max < x.min {
		return p.fail(ErrMaxMin)
	}
	return nil
}

// atom reads one element. It may be nil: a comment, or flags. quantifiable tells
// whether a quantifier may follow.
func (p *parser) atom() (n node, quantifiable bool, err error) {
	r := p.text[p.at]
	switch r {
	case '(':
		return p.group()
	case '[':
		s, err := p.class()
		return &set{s}, true, err
	case '.':
		p.at++
		return &dot{p.flags&DotAll != 0, p.flags&UnixLines != 0}, true, nil
	case '^':
		p.at++
		return &assertion{p.lines(opBeginText, opBeginLine, opBeginUnixLine)}, false, nil
	case '$':
		p.at++
		if p.flags&(MultiLine|UnixLines) == UnixLines {
			return &assertion{opEndUnixText}, false, nil
		}
		return &assertion{p.lines(opEndBreak, opEndLine, opEndUnixLine)}, false, nil
	case '\\':
		return p.escape()
	}
	p.at++
	return p.char(r), true, nil
}

func (p *parser) lines(whole, line, unix opcode) opcode {
	switch {
	case p.flags&MultiLine == 0:
		return whole
	case p.flags&UnixLines != 0:
		return unix
	}
	return line
}

func (p *parser) char(r rune) node {
	return &literal{[]rune{r}, p.flags&FoldCase != 0}
}

func (p *parser) group() (node, bool, error) {
	p.at++
	body := func(wrap func(x node) node) (node, bool, error) {
		flags := p.flags
		x, err := p.alternatives()
		if err != nil {
			return nil, false, err
		}
		p.flags = flags
		if !p.eat(")") {
			return nil, false, p.fail(ErrParen)
		}
		return wrap(x), true, nil
	}
	looking := func(behind, not bool) (node, bool, error) {
		return body(func(x node) node { return &look{x, behind, not} })
	}
	capture := func() (node, bool, error) {
		p.groups++
		n := p.groups
		return body(func(x node) node { return &group{n, x} })
	}
	switch {
	case !p.peek("?"):
		return capture()
	case p.eat("?:"):
		return body(func(x node) node { return &cat{[]node{x}} })
	case p.eat("?>"):
		return body(func(x node) node { return &atomic{x} })
	case p.eat("?="):
		return looking(false, false)
	case p.eat("?!"):
		return looking(false, true)
	case p.eat("?<="):
		return looking(true, false)
	case p.eat("?<!"):
		return looking(true, true)
	case p.eat("?#"):
		for p.at < len(p.text) {
			if p.text[p.at] == ')' {
				p.at++
				return nil, false, nil
			}
			p.at++
		}
		return nil, false, p.fail(ErrParen)
	case p.eat("?<"):
		name, err := p.groupName()
		if err != nil {
			return nil, false, err
		}
		if p.names[name] != 0 {
			return nil, false, p.fail(ErrGroupName)
		}
		p.names[name] = p.groups + 1
		return capture()
	}
	// Flags: (?im-s) to the end of the group, (?im-s:…) for what is inside.
	p.at++
	flags, set := p.flags, true
	for p.at < len(p.text) {
		r := p.text[p.at]
		p.at++
		var f Flags
		switch r {
		case 'i':
			f = FoldCase
		case 'm':
			f = MultiLine
		case 's':
			f = DotAll
		case 'x':
			f = FreeSpaced
		case 'd':
			f = UnixLines
		case 'w':
			f = unicodeWords
		case '-':
			set = false
			continue
		case ')':
			p.flags = flags
			return nil, false, nil
		case ':':
			old := p.flags
			p.flags = flags
			n, q, err := body(func(x node) node { return &cat{[]node{x}} })
			p.flags = old
			return n, q, err
		default:
			return nil, false, p.fail(nil)
		}
		if flags |= f; !set {
			flags &^= f
		}
	}
	return nil, false, p.fail(nil)
}

func (p *parser) groupName() (string, error) {
	var b strings.Builder
	for p.at < len(p.text) {
		r := p.text[p.at]
		p.at++
		switch {
		case r == '>' && b.Len() > 0:
			return b.String(), nil
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || b.Len() > 0 && r >= '0' && r <= '9':
			b.WriteRune(r)
		default:
			return "", p.fail(ErrGroupName)
		}
	}
	return "", p.fail(nil)
}

// escape reads a backslash and what follows, outside of brackets.
func (p *parser) escape() (node, bool, error) {
	if p.at+1 >= len(p.text) {
		return nil, false, p.fail(ErrEscape)
	}
	r := p.text[p.at+1]
	two := func(op opcode) (node, bool, error) {
		p.at += 2
		return &assertion{op}, false, nil
	}
	switch {
	case (r == 'b' || r == 'B') && p.flags&unicodeWords != 0:
		return nil, false, p.unsupported(`\b under the flag w`)
	case r == 'b':
		return two(opWordBoundary)
	case r == 'B':
		return two(opNoWordBoundary)
	case r == 'A':
		return two(opBeginText)
	case r == 'Z':
		if p.flags&UnixLines != 0 {
			return two(opEndUnixText)
		}
		return two(opEndBreak)
	case r == 'z':
		return two(opEndText)
	case r == 'G':
		return two(opBeginMatch)
	case r == 'R':
		p.at += 2
		return &lineBreak{}, true, nil
	case r == 'X':
		return nil, false, p.unsupported(`\X`)
	case r == 'Q':
		p.at += 2
		out := &literal{fold: p.flags&FoldCase != 0}
		for p.at < len(p.text) && !p.eat(`\E`) {
			out.runes = append(out.runes, p.text[p.at])
			p.at++
		}
		if len(out.runes) == 0 {
			return nil, false, nil
		}
		return out, true, nil
	case r == 'E':
		p.at += 2
		return nil, false, nil
	case r == 'k':
		p.at += 2
		at := p.at
		if !p.eat("<") {
			return nil, false, p.fail(ErrGroupName)
		}
		name, err := p.groupName()
		if err != nil {
			return nil, false, err
		}
		ref := &backRef{fold: p.flags&FoldCase != 0}
		p.named = append(p.named, namedRef{ref, name, at})
		return ref, true, nil
	case r >= '1' && r <= '9':
		p.at++
		n := 0
		// As many digits as make the number of a group that may be there.
		for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
			next := n*10 + int(p.text[p.at]-'0')
			if n > 0 && next > max(p.groupsInAll(), 9) {
				break
			}
			n = next
			p.at++
		}
		ref := &backRef{n, p.flags&FoldCase != 0}
		p.refs = append(p.refs, ref)
		return ref, true, nil
	}
	if s, err := p.classEscape(); s != nil || err != nil {
		return &set{s}, true, err
	}
	c, err := p.charEscape()
	return p.char(c), true, err
}

// groupsInAll counts the capture groups of the whole pattern, roughly: by its
// parentheses.
func (p *parser) groupsInAll() (n int) {
	for i, r := range p.text {
		if r == '(' && (i+1 >= len(p.text) || p.text[i+1] != '?') {
			n++
		}
	}
	return n + len(p.names)
}

// charEscape reads an escape that names a character.
func (p *parser) charEscape() (rune, error) {
	p.at++ // the backslash
	if p.at >= len(p.text) {
		return 0, p.fail(ErrEscape)
	}
	r := p.text[p.at]
	p.at++
	digits := func(least, most, base int) (rune, error) {
		n, k := rune(0), 0
		for k < most && p.at < len(p.text) {
			d := digitOf(p.text[p.at])
			if d >= base {
				break
			}
			n = n*rune(base) + rune(d)
			k++
			p.at++
		}
		if k < least || n > unicode.MaxRune {
			return 0, p.fail(ErrEscape)
		}
		return n, nil
	}
	switch r {
	case 'a':
		return 7, nil
	case 'e':
		return 0x1b, nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'c':
		if p.at >= len(p.text) {
			return 0, p.fail(ErrEscape)
		}
		p.at++
		return p.text[p.at-1] & 0x1f, nil
	case 'x':
		if p.eat("{") {
			n, err := digits(1, 6, 16)
			if err == nil && !p.eat("}") {
				err = p.fail(ErrEscape)
			}
			return n, err
		}
		return digits(1, 2, 16)
	case 'u':
		return digits(4, 4, 16)
	case 'U':
		return digits(8, 8, 16)
	case '0':
		return digits(1, 3, 8)
	case 'N':
		return 0, p.unsupported(`\N{…}`)
	}
	return r, nil // any other character, letters too, is itself
}

func digitOf(r rune) int {
	switch {
	case r >= '0' && r <= '9':
		return int(r - '0')
	case r >= 'a' && r <= 'f':
		return int(r-'a') + 10
	case r >= 'A' && r <= 'F':
		return int(r-'A') + 10
	}
	return 99
}

func isSpace(r rune) bool {
	return r >= '\t' && r <= '\r' || r == ' ' || r == 0x85 || r == 0x200e || r == 0x200f || r == 0x2028 || r == 0x2029
}

// isLineEnd reports whether a character ends a line.
func isLineEnd(r rune, unix bool) bool {
	if unix {
		return r == '\n'
	}
	return r >= '\n' && r <= '\r' || r == 0x85 || r == 0x2028 || r == 0x2029
}
