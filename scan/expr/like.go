package expr

import (
	"bytes"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func init() {
	register(&function{name: "LIKE", min: 2, max: 3, class: "comparison", usage: "s LIKE pattern [ESCAPE c]",
		doc: "Whether s matches a pattern of % (any text) and _ (one character), by the collation, character by character.", resolve: like})
	operatorText["LIKE"] = func(c *call) string { return "(" + c.args[0].String() + " like " + c.args[1].String() + ")" }
}

func like(ctx *Context, args []Expr) (Expr, error) {
	if err := isNested(args...); err != nil {
		return nil, err
	}
	escape := rune('\\')
	if ctx.Mode.Has(NoBackslashEscapes) {
		escape = 0
	}
	if len(args) == 3 {
		l, ok := args[2].(*LiteralExpr)
		if !ok {
			return nil, errs.Userf(errs.WrongArguments, "Incorrect arguments to ESCAPE")
		}
		if !l.Val.IsNull() {
			s := l.Val.Vec.String(0)
			if utf8.RuneCountInString(s) > 1 {
				return nil, errs.Userf(errs.WrongArguments, "Incorrect arguments to ESCAPE")
			}
			escape = 0
			if s != "" {
				escape, _ = utf8.DecodeRuneInString(s)
			}
		}
	}
	x, p := asText(ctx, args[0]), asText(ctx, args[1])
	t, err := mergeCollations("like", x.Type(), p.Type())
	if err != nil {
		return nil, err
	}
	c := collationOf(t).ready()
	if t.Collation != "" {
		if _, err := findCollation(t.Collation); err != nil {
			return nil, err
		}
	}
	out := newCall("LIKE", TBool, nil, x, p)
	out.inner = string(escape) + t.Collation
	if l, ok := p.(*LiteralExpr); ok && !l.Val.IsNull() {
		m := compileLike(l.Val.Vec.Bytes(0), escape, c)
		out.extra = m
		out.kern = func(ev *evaluation) (*vector.Vec, error) {
			r := ev.out(vector.I8)
			ev.rows(func(i int) {
				if m.match(ev.args[0].Bytes(i)) {
					r.I8s[i] = 1
				}
			})
			return r, nil
		}
		return out, nil
	}
	out.kern = func(ev *evaluation) (*vector.Vec, error) {
		r := ev.out(vector.I8)
		var m *likeMatcher
		var last []byte
		ev.rows(func(i int) {
			pat := ev.args[1].Bytes(i)
			if m == nil || !bytes.Equal(pat, last) {
				m, last = compileLike(pat, escape, c), pat
			}
			if m.match(ev.args[0].Bytes(i)) {
				r.I8s[i] = 1
			}
		})
		return r, nil
	}
	return out, nil
}

// likeMatcher is a compiled pattern: parts of characters between the %.
type likeMatcher struct {
	c     *collation
	parts []likePart // at least one
	// plain: bytes compare, no _: prefix, contains and suffix by bytes.
	plain bool
	// ascii are the weights of ASCII, nil where characters equal themselves only.
	ascii *[128]uint16
}

// likePart is the text between two %. Elements are characters, -1 for _.
type likePart struct {
	runes []rune
	bytes []byte
}

func compileLike(p []byte, escape rune, c *collation) *likeMatcher {
	m := newLikeMatcher(c)
	part := &m.parts[0]
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		if r == utf8.RuneError && n == 1 {
			r = rawByte(p[0])
		}
		raw := p[:n]
		p = p[n:]
		switch {
		case r == escape && escape != 0 && len(p) > 0:
			r, n = utf8.DecodeRune(p)
			if r == utf8.RuneError && n == 1 {
				r = rawByte(p[0])
			}
			raw = p[:n]
			p = p[n:]
		case r == '%':
			m.parts = append(m.parts, likePart{})
			part = &m.parts[len(m.parts)-1]
			continue
		case r == '_':
			m.plain = false
			part.runes = append(part.runes, -1)
			continue
		}
		part.runes = append(part.runes, r)
		part.bytes = append(part.bytes, raw...)
	}
	return m
}

func newLikeMatcher(c *collation) *likeMatcher {
	m := &likeMatcher{c: c, parts: make([]likePart, 1), plain: c.family == byBytes}
	if c.family != byBytes && c.family != byLatin1General && c.levels == 0 {
		m.ascii = c.ascii()
	}
	return m
}

// rawByte stands for a byte that is no UTF-8, in binary strings.
func rawByte(b byte) rune { return 0x110000 + rune(b) }

func (m *likeMatcher) match(s []byte) bool {
	if m.plain {
		return m.matchBytes(s)
	}
	first, last := m.parts[0], m.parts[len(m.parts)-1]
	n, ok := m.at(s, first.runes)
	if !ok {
		return false
	}
	if len(m.parts) == 1 {
		return n == len(s)
	}
	s = s[n:]
	for _, p := range m.parts[1 : len(m.parts)-1] {
		for {
			if n, ok := m.at(s, p.runes); ok {
				s = s[n:]
				break
			}
			if len(s) == 0 {
				return false
			}
			_, k := m.char(s)
			s = s[k:]
		}
	}
	// The last part must match the end.
	count := len(last.runes)
	end := len(s)
	for range count {
		if end == 0 {
			return false
		}
		_, k := m.lastChar(s[:end])
		end -= k
	}
	n, ok = m.at(s[end:], last.runes)
	return ok && n == len(s)-end
}

func (m *likeMatcher) matchBytes(s []byte) bool {
	if !bytes.HasPrefix(s, m.parts[0].bytes) {
		return false
	}
	if len(m.parts) == 1 {
		return len(s) == len(m.parts[0].bytes)
	}
	s = s[len(m.parts[0].bytes):]
	for _, p := range m.parts[1 : len(m.parts)-1] {
		i := bytes.Index(s, p.bytes)
		if i < 0 {
			return false
		}
		s = s[i+len(p.bytes):]
	}
	return bytes.HasSuffix(s, m.parts[len(m.parts)-1].bytes)
}

// char decodes the first character: a byte in binary strings.
func (m *likeMatcher) char(s []byte) (rune, int) {
	if m.c.charset == "binary" {
		if s[0] >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(s)
			if r == utf8.RuneError && n == 1 {
				return rawByte(s[0]), 1
			}
			return r, n
		}
		return rune(s[0]), 1
	}
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	r, n := utf8.DecodeRune(s)
	if r == utf8.RuneError && n == 1 {
		return rawByte(s[0]), 1
	}
	return r, n
}

func (m *likeMatcher) lastChar(s []byte) (rune, int) {
	r, n := utf8.DecodeLastRune(s)
	if r == utf8.RuneError && n == 1 {
		return rawByte(s[len(s)-1]), 1
	}
	return r, n
}

// at reports whether s starts with the characters p, and their length.
func (m *likeMatcher) at(s []byte, p []rune) (int, bool) {
	i := 0
	for _, want := range p {
		if i == len(s) {
			return 0, false
		}
		r, n := m.char(s[i:])
		if want >= 0 && r != want {
			if m.ascii != nil && r < utf8.RuneSelf && want < utf8.RuneSelf {
				if m.ascii[r] != m.ascii[want] {
					return 0, false
				}
			} else if !m.c.sameChar(r, want) {
				return 0, false
			}
		}
		i += n
	}
	return i, true
}
