package expr

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/icu"
	"github.com/thermocline/thermocline/internal/vector"
)

// MySQL matches regular expressions with ICU. Go's engine, which is linear, finds
// the same matches (leftmost, first alternative) for the constructs that both
// have, when classes are spelled out as ICU means them. What Go lacks
// (look-around, back-references, possessive quantifiers, set operations) and the
// few subjects on which the two differ (see alike) go to internal/icu, which
// backtracks as ICU does, with a limit of steps.

func init() {
	re := func(name string, min, max int, usage, doc string, k kernelMaker, ret retFunc) {
		register(&function{name: name, min: min, max: max, class: "regexp", usage: usage, doc: doc,
			resolve: func(ctx *Context, args []Expr) (Expr, error) { return regexpCall(ctx, name, args, k, ret) }})
	}
	re("REGEXP_LIKE", 2, 3, "REGEXP_LIKE(s, pattern[, flags])", "Whether a part of s matches; also s REGEXP pattern. Flags: c, i, m, n, u.", regexpLike, retBool)
	re("REGEXP_INSTR", 2, 6, "REGEXP_INSTR(s, pattern[, pos[, n[, after[, flags]]]])", "The position of the n-th match from pos, or after it; 0 for none.", regexpInstr, retInt)
	re("REGEXP_SUBSTR", 2, 5, "REGEXP_SUBSTR(s, pattern[, pos[, n[, flags]]])", "The n-th match from pos, NULL for none.", regexpSubstr, retText(longText, 0, 1))
	re("REGEXP_REPLACE", 3, 6, "REGEXP_REPLACE(s, pattern, new[, pos[, n[, flags]]])", "s with all matches from pos (or the n-th) replaced; $1 is a group.", regexpReplace, retText(longText, 0, 1))
	operatorText["REGEXP_LIKE"] = func(c *call) string { return "regexp_like(" + joinText(c.args) + ")" }
}

type kernelMaker = func(ev *evaluation, match func(i int) (*matcher, error)) func(i int, out *vector.Vec) error

// matcher is a compiled pattern.
type matcher struct {
	re *regexp.Regexp // nil: the pattern is for the other engine
	// slow is compiled when a subject asks for it.
	slow    func() (*icu.Regexp, error)
	name    string // of the function
	pattern string
	// What the pattern uses that depends on the subject or on its start.
	dollar, word, caret, fold, multi bool
	empty                            bool // may match the empty text

	direct *direct // of the same pattern as re, nil: there is none
	run    directRun
}

// keptMatcher is the matcher of a pattern and its flags.
type keptMatcher struct {
	key string
	m   *matcher
}

func regexpCall(ctx *Context, name string, args []Expr, k kernelMaker, ret retFunc) (Expr, error) {
	if err := isNested(args...); err != nil {
		return nil, err
	}
	flagsAt := map[string]int{"REGEXP_LIKE": 2, "REGEXP_INSTR": 5, "REGEXP_SUBSTR": 4, "REGEXP_REPLACE": 5}[name]
	texts := 2
	if name == "REGEXP_REPLACE" {
		texts = 3
	}
	xs := make([]Expr, len(args))
	for i, a := range args {
		if i < texts || i == flagsAt {
			xs[i] = asText(ctx, a)
		} else {
			xs[i] = asSigned(ctx, a)
		}
	}
	if s, p := xs[0].Type(), xs[1].Type(); s.Class == Bytes || p.Class == Bytes {
		of := func(t Type) string {
			if t.Class == Bytes && (s.Class != Bytes || p.Class != Bytes) {
				return "binary"
			} else if t.Class == Bytes {
				return ctx.collation()
			}
			return t.Collation
		}
		return nil, errs.Userf(errs.RegexpCharset, "Character set '%s' cannot be used in conjunction with '%s' in call to %s.", of(s), of(p), lower(name))
	}
	merged, err := mergeCollations(lower(name), xs[0].Type(), xs[1].Type())
	if err != nil {
		return nil, err
	}
	coll := collationOf(merged)
	t, err := ret(ctx, name, xs)
	if err != nil {
		return nil, err
	}
	c := newCall(name, t, nil, xs...)
	c.inner = merged.Collation
	if t.Class == Bytes { // only NULLs
		t.Class, t.Collation = String, ctx.collation()
		c.typ = t
	}
	if name == "REGEXP_SUBSTR" {
		c.nullable()
	}
	kind := t.Physical()
	var kept atomic.Pointer[keptMatcher] // the last one that was compiled
	c.kern = func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(kind)
		cache := map[string]*matcher{}
		constant := ev.args[1].Form == vector.Const && (len(ev.args) <= flagsAt || ev.args[flagsAt].Form == vector.Const)
		var last *matcher
		match := func(i int) (*matcher, error) {
			if constant && last != nil {
				return last, nil
			}
			flags := ""
			if len(ev.args) > flagsAt {
				flags = ev.args[flagsAt].String(i)
			}
			key := flags + "/" + ev.args[1].String(i)
			m := cache[key]
			if m == nil {
				if k := kept.Load(); k != nil && k.key == key {
					mine := *k.m // a search is one goroutine's
					mine.run = directRun{}
					m = &mine
				} else {
					var err error
					if m, err = compileRegexp(ev.args[1].String(i), flags, !coll.binary && coll.levels < 2, name); err != nil {
						return nil, err
					}
					clean := *m
					kept.Store(&keptMatcher{key, &clean})
				}
				cache[key] = m
			}
			last = m
			return m, nil
		}
		f := k(ev, match)
		return out, ev.each(func(i int) error { return f(i, out) })
	}
	return c, nil
}

// foldToSeveral are the characters whose full case folding has several, but for
// those with a iota below.
const foldToSeveral = "ßẞŉǰΐΰևẖẗẘẙẚﬀﬁﬂﬃﬄﬅﬆﬓﬔﬕﬖﬗİ"

// alike reports whether Go's engine and ICU find the same in a subject.
func (m *matcher) alike(s []byte, ascii bool) bool {
	if m.re == nil {
		return false
	}
	if m.dollar && len(s) > 0 {
		switch r, _ := utf8.DecodeLastRune(s); r {
		case '\n', '\v', '\f', '\r', 0x85, 0x2028, 0x2029:
			return false
		}
	}
	if m.multi && bytes.ContainsAny(s, "\v\f\r\u0085\u2028\u2029") {
		return false
	}
	return ascii || !m.word && !(m.fold && bytes.ContainsAny(s, foldToSeveral))
}

// regexpError is an error of internal/icu as MySQL words it.
func regexpError(err error) error {
	var at *icu.SyntaxError
	syntax := errors.As(err, &at)
	switch {
	case errors.Is(err, icu.ErrUnsupported):
		return unsupportedRegexp(at.What)
	case errors.Is(err, icu.ErrTimeout):
		return errs.Userf(errs.RegexpTimeout, "Timeout exceeded in regular expression match.")
	case errors.Is(err, icu.ErrStack):
		return errs.Userf(errs.RegexpStack, "Overflow in the regular expression backtrack stack.")
	case syntax && at.Err == nil:
		return errs.Userf(errs.RegexpSyntax, "Syntax error in regular expression on line %d, character %d.", at.Line, at.Char)
	}
	for _, x := range regexpErrors {
		if errors.Is(err, x.err) {
			return errs.Userf(x.kind, "%s", x.text)
		}
	}
	return err
}

var regexpErrors = []struct {
	err  error
	kind errs.Kind
	text string
}{
	{icu.ErrParen, errs.RegexpParen, "Mismatched parenthesis in regular expression."},
	{icu.ErrBracket, errs.RegexpBracket, "The regular expression contains an unclosed bracket expression."},
	{icu.ErrRange, errs.RegexpRange, "The regular expression contains an [x-y] character range where x comes after y."},
	{icu.ErrEscape, errs.RegexpEscape, "Unrecognized escape sequence in regular expression."},
	{icu.ErrProperty, errs.InvalidRegexp, "Illegal argument to a regular expression."},
	{icu.ErrInterval, errs.RegexpInterval, "Incorrect description of a {min,max} interval."},
	{icu.ErrMaxMin, errs.RegexpMaxMin, "The maximum is less than the minumum in a {min,max} interval."},
	{icu.ErrNumber, errs.RegexpNumber, "Decimal number in regular expression is too large."},
	{icu.ErrBackRef, errs.RegexpBackRef, "Invalid back-reference in regular expression."},
	{icu.ErrLookBehind, errs.RegexpLookBehind, "The look-behind assertion exceeds the limit in regular expression."},
	{icu.ErrGroupName, errs.RegexpGroupName, "A capture group has an invalid name."},
}

// timeSteps are the steps of our engine in one of regexp_time_limit, whose default
// of 32 lets a match take about half a second. frameBytes is what an entry of the
// stack counts of regexp_stack_limit; it takes thrice as much. maxStack bounds the
// stack where that does not.
const timeSteps, frameBytes, maxStack = 1_562_500, 8, 8_000_000

// regexpLimits are the bounds of a match.
func regexpLimits(ctx *Context) icu.Limits {
	l := icu.Limits{Steps: math.MaxInt, Stack: maxStack, Done: ctx.Done}
	if n := ctx.RegexpTimeLimit; n > 0 {
		l.Steps = n * timeSteps
	}
	if n := ctx.RegexpStackLimit; n > 0 {
		l.Stack = min(max(n/frameBytes, 1), maxStack)
	}
	return l
}

// regexpError is the error of a match.
func (c *Context) regexpError(err error) error {
	if ended := c.Ended(); ended != nil && errors.Is(err, icu.ErrEnded) {
		return ended
	}
	return regexpError(err)
}

// matches reports whether a part of s matches.
func (m *matcher) matches(ctx *Context, s []byte) (bool, error) {
	ascii := isASCII(s)
	if m.alike(s, ascii) {
		if m.direct != nil && (ascii || utf8.Valid(s)) {
			if loc, known := m.run.find(m.direct, s, 0); known {
				return loc != nil, nil
			}
		}
		return m.re.Match(s), nil
	}
	re, err := m.slow()
	if err != nil {
		return false, err
	}
	loc, err := re.Match(s, 0, 0, regexpLimits(ctx))
	if err != nil {
		return false, ctx.regexpError(err)
	}
	return loc != nil, nil
}

// group returns the number of a named group, 0 for none.
func (m *matcher) group(name string) int {
	if m.re != nil {
		return max(m.re.SubexpIndex(name), 0)
	}
	re, err := m.slow()
	if err != nil {
		return 0
	}
	return re.Group(name)
}

const (
	classDigit = `\p{Nd}`
	classWord  = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}`
	classSpace = `\t\n\f\r\p{Z}\x{85}`
	notLine    = `[^\n\x0b\f\r\x{85}\x{2028}\x{2029}]`
)

var posixClasses = map[string]string{
	"alpha": `\p{L}\p{Nl}`, "digit": classDigit, "alnum": `\p{L}\p{Nl}\p{Nd}`, "upper": `\p{Lu}`, "lower": `\p{Ll}`, "space": classSpace + `\x0b`,
	"punct": `\p{P}`, "xdigit": `0-9A-Fa-f`, "cntrl": `\p{Cc}`, "blank": `\t\p{Zs}`, "word": classWord,
}

// compileRegexp translates an ICU pattern.
func compileRegexp(p, flags string, fold bool, fn string) (*matcher, error) {
	if p == "" {
		return nil, errs.Userf(errs.InvalidRegexp, "Illegal argument to a regular expression.")
	}
	m := &matcher{name: fn, pattern: p}
	var flagSet icu.Flags
	for _, f := range flags {
		switch f {
		case 'c':
			fold = false
		case 'i':
			fold = true
		case 'm':
			flagSet |= icu.MultiLine
		case 'n':
			flagSet |= icu.DotAll
		case 'u':
			flagSet |= icu.UnixLines
		default:
			return nil, errs.Userf(errs.WrongArguments, "Incorrect arguments to %s", lower(fn))
		}
	}
	if fold {
		flagSet |= icu.FoldCase
	}
	m.multi = flagSet&icu.MultiLine != 0
	m.fold = fold || strings.Contains(p, "(?i")
	m.slow = sync.OnceValues(func() (*icu.Regexp, error) {
		re, err := icu.Compile(p, flagSet)
		if err != nil {
			return nil, regexpError(err)
		}
		return re, nil
	})
	err := m.translate(flagSet)
	if err == nil && m.fold && strings.ContainsAny(p, foldToSeveral) {
		m.re = nil
	}
	if errs.ClassOf(err) == errs.Unsupported {
		m.re = nil
		_, err = m.slow()
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// translate compiles the pattern for Go's engine; unsupported: it cannot.
func (m *matcher) translate(flags icu.Flags) error {
	if flags&icu.UnixLines != 0 {
		return unsupportedRegexp("the flag u")
	}
	t := translator{p: m.pattern, m: m, dotAll: flags&icu.DotAll != 0}
	if err := t.run(); err != nil {
		return err
	}
	prefix := ""
	if flags&icu.FoldCase != 0 {
		prefix += "i"
	}
	if m.multi {
		prefix += "m"
	}
	src := t.out.String()
	if prefix != "" {
		src = "(?" + prefix + ")" + src
	}
	re, err := regexp.Compile(src)
	if err != nil {
		return unsupportedRegexp("this")
	}
	m.re = re
	m.empty = re.MatchString("")
	m.direct = newDirect(src)
	return nil
}

func regexpLike(ev *evaluation, match func(i int) (*matcher, error)) func(i int, out *vector.Vec) error {
	return func(i int, out *vector.Vec) error {
		m, err := match(i)
		if err != nil {
			return err
		}
		ok, err := m.matches(ev.ctx, ev.args[0].Bytes(i))
		if ok {
			out.I8s[i] = 1
		}
		return err
	}
}

// option reads an optional integer argument.
func (ev *evaluation) option(k, i int, def int64) int64 {
	if k < len(ev.args) {
		return intAt(ev.args[k], i)
	}
	return def
}

// find calls f for the matches from character position pos until f returns
// false. Offsets are into s.
func (m *matcher) find(ctx *Context, s []byte, pos int64, f func(loc []int) bool) error {
	ascii := isASCII(s)
	count := int64(len(s))
	if !ascii {
		count = int64(utf8.RuneCount(s))
	}
	if pos < 1 || pos > count && !(pos == 1) {
		return errs.Userf(errs.RegexpIndex, "Index out of bounds in regular expression search.")
	}
	at := byteOffset(s, int(pos-1))
	if !m.alike(s, ascii) || m.caret && (at > 0 || m.empty) {
		return m.findSlow(ctx, s, at, f)
	}
	if at == 0 && !m.empty {
		if m.direct != nil && (ascii || utf8.Valid(s)) {
			more := true
			for more && at <= len(s) {
				loc, known := m.run.find(m.direct, s, at)
				if !known {
					break
				}
				if loc == nil {
					return nil
				}
				at = loc[1]
				more = f(loc)
			}
			if !more || at > len(s) {
				return nil
			}
			for _, loc := range m.re.FindAllSubmatchIndex(s, -1) { // again from the beginning
				if loc[0] >= at && !f(loc) {
					return nil
				}
			}
			return nil
		}
		for _, loc := range m.re.FindAllSubmatchIndex(s, -1) {
			if !f(loc) {
				return nil
			}
		}
		return nil
	}
	for {
		loc := m.re.FindSubmatchIndex(s[at:])
		if loc == nil {
			return nil
		}
		for k := range loc {
			if loc[k] >= 0 {
				loc[k] += at
			}
		}
		if !f(loc) {
			return nil
		}
		if loc[1] > loc[0] {
			at = loc[1]
		} else {
			if loc[1] >= len(s) {
				return nil
			}
			_, n := utf8.DecodeRune(s[loc[1]:])
			at = loc[1] + n
		}
		if at > len(s) {
			return nil
		}
	}
}

// findSlow is find by the engine that backtracks.
func (m *matcher) findSlow(ctx *Context, s []byte, at int, f func(loc []int) bool) error {
	re, err := m.slow()
	if err != nil {
		return err
	}
	for last := at; at <= len(s); {
		loc, err := re.Match(s, at, last, regexpLimits(ctx))
		if err != nil {
			return ctx.regexpError(err)
		}
		if loc == nil || !f(loc) {
			return nil
		}
		at, last = loc[1], loc[1]
		if loc[1] == loc[0] {
			if at == len(s) {
				return nil
			}
			_, n := utf8.DecodeRune(s[at:])
			at += n
		}
	}
	return nil
}

func regexpInstr(ev *evaluation, match func(i int) (*matcher, error)) func(i int, out *vector.Vec) error {
	return func(i int, out *vector.Vec) error {
		m, err := match(i)
		if err != nil {
			return err
		}
		s := ev.args[0].Bytes(i)
		n, after := max(ev.option(3, i, 1), 1), ev.option(4, i, 0)
		if after != 0 && after != 1 {
			return errs.Userf(errs.WrongArguments, "Incorrect arguments to regexp_instr: return_option must be 1 or 0.")
		}
		return m.find(ev.ctx, s, ev.option(2, i, 1), func(loc []int) bool {
			if n--; n > 0 {
				return true
			}
			out.I64s[i] = int64(utf8.RuneCount(s[:loc[after]])) + 1
			return false
		})
	}
}

func regexpSubstr(ev *evaluation, match func(i int) (*matcher, error)) func(i int, out *vector.Vec) error {
	return func(i int, out *vector.Vec) error {
		m, err := match(i)
		if err != nil {
			return err
		}
		s := ev.args[0].Bytes(i)
		n := max(ev.option(3, i, 1), 1)
		found := false
		err = m.find(ev.ctx, s, ev.option(2, i, 1), func(loc []int) bool {
			if n--; n > 0 {
				return true
			}
			out.SetBytes(i, s[loc[0]:loc[1]])
			found = true
			return false
		})
		if !found {
			out.SetNull(i)
		}
		return err
	}
}

func regexpReplace(ev *evaluation, match func(i int) (*matcher, error)) func(i int, out *vector.Vec) error {
	var buf []byte
	return func(i int, out *vector.Vec) error {
		m, err := match(i)
		if err != nil {
			return err
		}
		s, repl := ev.args[0].Bytes(i), ev.args[2].Bytes(i)
		n := ev.option(4, i, 0)
		if len(s) == 0 && ev.option(3, i, 1) == 1 {
			return nil // as MySQL, also where the pattern matches the empty text
		}
		dst := buf[:0]
		at, k := 0, int64(0)
		var bad error
		err = m.find(ev.ctx, s, ev.option(3, i, 1), func(loc []int) bool {
			k++
			if n > 0 && k != n {
				return k < n
			}
			dst = append(dst, s[at:loc[0]]...)
			if dst, bad = m.expand(dst, repl, s, loc); bad != nil {
				return false
			}
			at = loc[1]
			return n <= 0
		})
		if err == nil {
			err = bad
		}
		if err != nil {
			return err
		}
		buf = append(dst, s[at:]...)
		out.SetBytes(i, buf)
		return nil
	}
}

// expand appends a replacement: $n and ${name} are groups, \c the character c.
func (m *matcher) expand(dst, t, s []byte, loc []int) ([]byte, error) {
	for k := 0; k < len(t); k++ {
		switch {
		case t[k] == '\\' && k+1 < len(t):
			k++
			dst = append(dst, t[k])
		case t[k] == '$':
			j := k + 1
			if j < len(t) && t[j] == '{' {
				end := bytes.IndexByte(t[j:], '}')
				g := 0
				if end > 0 {
					g = m.group(string(t[j+1 : j+end]))
				}
				if g == 0 {
					return dst, regexpError(icu.ErrGroupName)
				}
				if loc[2*g] >= 0 {
					dst = append(dst, s[loc[2*g]:loc[2*g+1]]...)
				}
				k = j + end
				continue
			}
			if j >= len(t) || !isDigit(t[j]) {
				return dst, errs.Userf(errs.InvalidRegexp, "Illegal argument to a regular expression.")
			}
			g := int(t[j] - '0')
			if 2*g+1 >= len(loc) {
				return dst, errs.Userf(errs.RegexpIndex, "Index out of bounds in regular expression search.")
			}
			for j+1 < len(t) && isDigit(t[j+1]) && 2*(g*10+int(t[j+1]-'0'))+1 < len(loc) {
				j++
				g = g*10 + int(t[j]-'0')
			}
			if loc[2*g] >= 0 {
				dst = append(dst, s[loc[2*g]:loc[2*g+1]]...)
			}
			k = j
		default:
			dst = append(dst, t[k])
		}
	}
	return dst, nil
}
