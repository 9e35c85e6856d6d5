package expr

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
)

type translator struct {
	p      string
	at     int
	out    strings.Builder
	m      *matcher
	dotAll bool
	depth  int
}

func (t *translator) peek(s string) bool { return strings.HasPrefix(t.p[t.at:], s) }

func unsupportedRegexp(what string) error {
	return errs.Unsupportedf(-1, "%s in a regular expression", what)
}

func (t *translator) run() error {
	atom := false // whether a quantifier may follow
	for t.at < len(t.p) {
		r, n := utf8.DecodeRuneInString(t.p[t.at:])
		switch r {
		case '\\':
			if err := t.escape(false); err != nil {
				return err
			}
			atom = true
			continue
		case '[':
			if err := t.class(); err != nil {
				return err
			}
			atom = true
			continue
		case '.':
			if t.dotAll {
				t.out.WriteString(`(?s:.)`)
			} else {
				t.out.WriteString(notLine)
			}
			t.at++
			atom = true
			continue
		case '^':
			t.m.caret = true
			t.out.WriteByte('^')
			atom = false
		case '$':
			t.m.dollar = true
			t.out.WriteByte('$')
			atom = false
		case '(':
			t.depth++
			if err := t.group(); err != nil {
				return err
			}
			atom = false
			continue
		case ')':
			if t.depth--; t.depth < 0 {
				return errs.Userf(errs.RegexpParen, "Mismatched parenthesis in regular expression.")
			}
			t.out.WriteByte(')')
			atom = true
		case '|':
			t.out.WriteByte('|')
			atom = false
		case '*', '+', '?':
			if !atom {
				return errs.Userf(errs.RegexpSyntax, "Syntax error in regular expression on line 1, character %d.", utf8.RuneCountInString(t.p[:t.at])+1)
			}
			t.out.WriteRune(r)
			t.at++
			if err := t.lazy(); err != nil {
				return err
			}
			atom = false
			continue
		case '}':
			return errs.Userf(errs.RegexpSyntax, "Syntax error in regular expression on line 1, character %d.", utf8.RuneCountInString(t.p[:t.at])+1)
		case '{':
			if err := t.interval(atom); err != nil {
				return err
			}
			atom = false
			continue
		default:
			t.out.WriteString(regexp.QuoteMeta(t.p[t.at : t.at+n]))
			atom = true
		}
		t.at += n
	}
	if t.depth > 0 {
		return errs.Userf(errs.RegexpParen, "Mismatched parenthesis in regular expression.")
	}
	return nil
}

// lazy reads what may follow a quantifier.
func (t *translator) lazy() error {
	switch {
	case t.peek("?"):
		t.out.WriteByte('?')
		t.at++
	case t.peek("+"):
		return unsupportedRegexp("a possessive quantifier")
	}
	return nil
}

func (t *translator) interval(atom bool) error {
	end := strings.IndexByte(t.p[t.at:], '}')
	bad := errs.Userf(errs.RegexpInterval, "Incorrect description of a {min,max} interval.")
	if end < 0 || !atom {
		return bad
	}
	body := t.p[t.at+1 : t.at+end]
	lo, hi, ranged := strings.Cut(body, ",")
	a, err := strconv.Atoi(lo)
	if err != nil || a < 0 {
		return bad
	}
	if ranged && hi != "" {
		b, err := strconv.Atoi(hi)
		if err != nil {
			return bad
		}
		if b < a {
			return errs.Userf(errs.RegexpMaxMin, "The maximum is less than the minumum in a {min,max} interval.")
		}
	}
	t.out.WriteString("{" + body + "}")
	t.at += end + 1
	return t.lazy()
}

func (t *translator) group() error {
	rest := t.p[t.at:]
	switch {
	case strings.HasPrefix(rest, "(?="), strings.HasPrefix(rest, "(?!"), strings.HasPrefix(rest, "(?<="), strings.HasPrefix(rest, "(?<!"):
		return unsupportedRegexp("look-around")
	case strings.HasPrefix(rest, "(?>"):
		return unsupportedRegexp("an atomic group")
	case strings.HasPrefix(rest, "(?#"):
		return unsupportedRegexp("a comment")
	case strings.HasPrefix(rest, "(?:"):
		t.out.WriteString("(?:")
		t.at += 3
		return nil
	case strings.HasPrefix(rest, "(?<"):
		end := strings.IndexByte(rest, '>')
		if end < 0 {
			return errs.Userf(errs.RegexpSyntax, "Syntax error in regular expression on line 1, character 1.")
		}
		t.out.WriteString("(?P<" + rest[3:end] + ">")
		t.at += end + 1
		return nil
	case strings.HasPrefix(rest, "(?"):
		// Flags: (?i), (?i:…), (?-i).
		k := 2
		for k < len(rest) && (rest[k] == 'i' || rest[k] == '-' || rest[k] == 'm' || rest[k] == 's') {
			if rest[k] == 's' {
				return unsupportedRegexp("the flag s")
			}
			if rest[k] == 'm' {
				t.m.multi = true
			}
			k++
		}
		if k == len(rest) || rest[k] != ')' && rest[k] != ':' || k == 2 {
			return unsupportedRegexp("this group")
		}
		if rest[k] == ')' {
			t.depth--
		}
		t.out.WriteString(rest[:k+1])
		t.at += k + 1
		return nil
	}
	t.out.WriteByte('(')
	t.at++
	return nil
}

// escape translates a backslash and what follows, inside a class or outside.
func (t *translator) escape(inClass bool) error {
	if t.at+1 >= len(t.p) {
		return errs.Userf(errs.RegexpEscape, "Unrecognized escape sequence in regular expression.")
	}
	r, n := utf8.DecodeRuneInString(t.p[t.at+1:])
	wrap := func(set string, not bool) {
		switch {
		case inClass && !not:
			t.out.WriteString(set)
		case not:
			t.out.WriteString("[^" + set + "]")
		default:
			t.out.WriteString("[" + set + "]")
		}
		t.at += 2
	}
	set := map[rune]string{'d': classDigit, 'D': classDigit, 'w': classWord, 'W': classWord, 's': classSpace, 'S': classSpace}
	switch {
	case set[r] != "":
		not := r == 'D' || r == 'W' || r == 'S'
		if not && inClass {
			return unsupportedRegexp("a negated class in brackets")
		}
		wrap(set[r], not)
		return nil
	case r == 'b' && !inClass, r == 'B' && !inClass:
		t.m.word = true
		t.m.caret = true
		t.out.WriteString(`\` + string(r))
	case r == 'A' && !inClass:
		t.m.caret = true
		t.out.WriteString(`\A`)
	case r == 'z' && !inClass:
		t.out.WriteString(`\z`)
	case r == 't' || r == 'n' || r == 'r' || r == 'f' || r == 'a':
		t.out.WriteString(`\` + string(r))
	case r == 'e':
		t.out.WriteString(`\x1b`)
	case r == 'p' || r == 'P':
		rest := t.p[t.at:]
		if len(rest) < 4 || rest[2] != '{' {
			return unsupportedRegexp("this property")
		}
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			return unsupportedRegexp("this property")
		}
		if _, err := regexp.Compile(rest[:end+1]); err != nil {
			return unsupportedRegexp("the property " + rest[:end+1])
		}
		t.out.WriteString(rest[:end+1])
		t.at += end + 1
		return nil
	case r == 'x' || r == 'u':
		rest := t.p[t.at+2:]
		k := 0
		for k < len(rest) && k < map[rune]int{'x': 2, 'u': 4}[r] && isHex(rest[k]) {
			k++
		}
		if k == 0 || r == 'u' && k < 4 {
			return unsupportedRegexp("this escape")
		}
		t.out.WriteString(`\x{` + rest[:k] + `}`)
		t.at += 2 + k
		return nil
	case r >= '0' && r <= '9':
		return unsupportedRegexp("a backreference")
	case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
		return unsupportedRegexp("the escape \\" + string(r))
	default:
		t.out.WriteString(regexp.QuoteMeta(string(r)))
		if inClass && (r == '-' || r == '&') {
			s := t.out.String()
			t.out.Reset()
			t.out.WriteString(s[:len(s)-1] + `\` + string(r))
		}
		t.at += 1 + n
		return nil
	}
	t.at += 2
	return nil
}

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// class translates […].
func (t *translator) class() error {
	missing := errs.Userf(errs.RegexpBracket, "The regular expression contains an unclosed bracket expression.")
	t.out.WriteByte('[')
	t.at++
	if t.peek("^") {
		t.out.WriteByte('^')
		t.at++
	}
	first := true
	last, dash := rune(-1), false
	for {
		if t.at >= len(t.p) {
			return missing
		}
		r, n := utf8.DecodeRuneInString(t.p[t.at:])
		switch {
		case r == ']' && !first:
			t.out.WriteByte(']')
			t.at++
			return nil
		case t.peek("[:"):
			end := strings.Index(t.p[t.at:], ":]")
			if end < 0 {
				return missing
			}
			name := t.p[t.at+2 : t.at+end]
			set, ok := posixClasses[name]
			if !ok {
				return unsupportedRegexp("the class [:" + name + ":]")
			}
			t.out.WriteString(set)
			t.at += end + 2
			last = -1
		case r == '[':
			return unsupportedRegexp("a set in brackets")
		case t.peek("&&"), t.peek("--"):
			return unsupportedRegexp("a set operation")
		case r == '\\':
			if err := t.escape(true); err != nil {
				return err
			}
			last = -1
		case r == '-' && last >= 0 && t.at+1 < len(t.p) && t.p[t.at+1] != ']':
			dash = true
			t.out.WriteByte('-')
			t.at++
			continue
		default:
			if dash && last > r {
				return errs.Userf(errs.RegexpRange, "The regular expression contains an [x-y] character range where x comes after y.")
			}
			switch r {
			case ']', '[', '^', '-', '\\':
				t.out.WriteByte('\\')
			}
			t.out.WriteRune(r)
			t.at += n
			last = r
			if dash {
				last = -1
			}
		}
		dash = false
		first = false
	}
}
