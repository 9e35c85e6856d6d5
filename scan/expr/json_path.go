package expr

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
)

type legKind uint8

const (
	legMember   legKind = iota // .key
	legAny                     // .*
	legCell                    // [n], [last], [last - n]
	legAnyCell                 // [*]
	legRange                   // [n to m]
	legEllipsis                // **
)

type pathLeg struct {
	kind     legKind
	key      string
	from, to int
	fromLast bool // from counts from the end
	toLast   bool
}

type jsonPath []pathLeg

// wild reports whether the path may name several values.
func (p jsonPath) wild() bool {
	for _, l := range p {
		if l.kind != legMember && l.kind != legCell {
			return true
		}
	}
	return false
}

// parsePath reads a path such as $.a[0].*, with character positions in errors.
func parsePath(s string) (jsonPath, error) {
	at := 0
	bad := func() (jsonPath, error) {
		return nil, errs.Userf(errs.InvalidJSONPath, "Invalid JSON path expression. The error is around character position %d.", max(utf8.RuneCountInString(s[:min(at, len(s))]), 1))
	}
	space := func() {
		for at < len(s) && isSpace(s[at]) {
			at++
		}
	}
	space()
	if at >= len(s) || s[at] != '$' {
		at++
		return bad()
	}
	at++
	var p jsonPath
	for {
		space()
		if at >= len(s) {
			break
		}
		switch {
		case s[at] == '.':
			at++
			space()
			if at >= len(s) {
				return bad()
			}
			switch {
			case s[at] == '*':
				at++
				p = append(p, pathLeg{kind: legAny})
			case s[at] == '"':
				end := at + 1
				for end < len(s) && s[end] != '"' {
					if s[end] == '\\' {
						end++
					}
					end++
				}
				if end >= len(s) {
					return bad()
				}
				v, err := parseJSON([]byte(s[at : end+1]))
				if err != nil {
					return bad()
				}
				p = append(p, pathLeg{kind: legMember, key: v.s})
				at = end + 1
			default:
				start := at
				for at < len(s) {
					r, n := utf8.DecodeRuneInString(s[at:])
					if !(r == '_' || r == '$' || unicode.IsLetter(r) || at > start && (unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r) || unicode.Is(unicode.Pc, r))) {
						break
					}
					at += n
				}
				if at == start {
					at++
					return bad()
				}
				p = append(p, pathLeg{kind: legMember, key: s[start:at]})
			}
		case s[at] == '[':
			at++
			space()
			if at < len(s) && s[at] == '*' {
				at++
				p = append(p, pathLeg{kind: legAnyCell})
			} else {
				index := func() (int, bool, bool) {
					space()
					if strings.HasPrefix(s[at:], "last") {
						at += 4
						n := 0
						save := at
						space()
						if at < len(s) && s[at] == '-' {
							at++
							space()
							start := at
							for at < len(s) && isDigit(s[at]) {
								at++
							}
							var err error
							if n, err = strconv.Atoi(s[start:at]); err != nil {
								return 0, false, false
							}
						} else {
							at = save
						}
						return n, true, true
					}
					start := at
					for at < len(s) && isDigit(s[at]) {
						at++
					}
					n, err := strconv.ParseUint(s[start:at], 10, 31)
					return int(n), false, err == nil
				}
				n, last, ok := index()
				if !ok {
					at++
					return bad()
				}
				leg := pathLeg{kind: legCell, from: n, fromLast: last}
				save := at
				space()
				if at > save && strings.HasPrefix(s[at:], "to") && at+2 < len(s) && isSpace(s[at+2]) {
					at += 2
					leg.kind = legRange
					if leg.to, leg.toLast, ok = index(); !ok {
						return bad()
					}
					if leg.fromLast == leg.toLast && (!leg.fromLast && leg.from > leg.to || leg.fromLast && leg.from < leg.to) {
						return bad()
					}
				}
				p = append(p, leg)
			}
			space()
			if at >= len(s) || s[at] != ']' {
				at++
				return bad()
			}
			at++
		case strings.HasPrefix(s[at:], "**"):
			at += 2
			if at < len(s) && s[at] == '*' {
				return bad()
			}
			p = append(p, pathLeg{kind: legEllipsis})
		default:
			return bad()
		}
	}
	if len(p) > 0 && p[len(p)-1].kind == legEllipsis {
		return bad()
	}
	return p, nil
}

// cell is the index that a leg names in an array of n.
func (l pathLeg) cell(n int) (int, bool) {
	i := l.from
	if l.fromLast {
		i = n - 1 - l.from
	}
	return i, i >= 0 && i < n
}

// found is a value that a path names, with where it is.
type found struct {
	val  *jsonValue
	path string
}

// seek calls f for the values that the path names, until f returns false.
// Scalars count as arrays of themselves.
func (p jsonPath) seek(v *jsonValue, path string, f func(found) bool) bool {
	return p.walk(v, path, true, f)
}

// walk is seek; wrap: a scalar counts as an array of itself.
func (p jsonPath) walk(v *jsonValue, path string, wrap bool, f func(found) bool) bool {
	if len(p) == 0 {
		return f(found{v, path})
	}
	l, rest := p[0], p[1:]
	switch l.kind {
	case legMember:
		if v.kind == jObject {
			if x := v.get(l.key); x != nil {
				return rest.walk(x, path+memberLeg(l.key), wrap, f)
			}
		}
	case legAny:
		if v.kind == jObject {
			for _, m := range v.obj {
				if !rest.walk(m.val, path+memberLeg(m.key), wrap, f) {
					return false
				}
			}
		}
	case legCell:
		if v.kind != jArray {
			if i, ok := l.cell(1); wrap && ok && i == 0 {
				return rest.walk(v, path, wrap, f)
			}
			return true
		}
		if i, ok := l.cell(len(v.arr)); ok {
			return rest.walk(v.arr[i], path+"["+strconv.Itoa(i)+"]", wrap, f)
		}
	case legAnyCell, legRange:
		arr := []*jsonValue{v}
		if v.kind == jArray {
			arr = v.arr
		} else if l.kind == legAnyCell {
			return true
		}
		lo, hi := 0, len(arr)-1
		if l.kind == legRange {
			lo, hi = l.from, l.to
			if l.fromLast {
				lo = len(arr) - 1 - l.from
			}
			if l.toLast {
				hi = len(arr) - 1 - l.to
			}
			lo, hi = max(lo, 0), min(hi, len(arr)-1)
		}
		for i := lo; i <= hi; i++ {
			at := path
			if v.kind == jArray {
				at += "[" + strconv.Itoa(i) + "]"
			}
			if !rest.walk(arr[i], at, wrap, f) {
				return false
			}
		}
	case legEllipsis:
		if !rest.walk(v, path, wrap, f) {
			return false
		}
		for i, x := range v.arr {
			if !p.walk(x, path+"["+strconv.Itoa(i)+"]", wrap, f) {
				return false
			}
		}
		for _, m := range v.obj {
			if !p.walk(m.val, path+memberLeg(m.key), wrap, f) {
				return false
			}
		}
	}
	return true
}

// all returns the values that the path names, each once.
func (p jsonPath) all(v *jsonValue) []*jsonValue {
	var out []*jsonValue
	seen := map[*jsonValue]bool{}
	p.seek(v, "$", func(x found) bool {
		if !seen[x.val] {
			seen[x.val] = true
			out = append(out, x.val)
		}
		return true
	})
	return out
}

// memberLeg prints a member as a leg of a path.
func memberLeg(key string) string {
	plain := key != ""
	for i, r := range key {
		if !(r == '_' || r == '$' || unicode.IsLetter(r) || i > 0 && unicode.IsDigit(r)) {
			plain = false
		}
	}
	if plain {
		return "." + key
	}
	return "." + string(appendJSONString(nil, []byte(key)))
}

// last reports whether a leg counts from the end.
func (p jsonPath) last() bool {
	for _, l := range p {
		if l.fromLast || l.toLast {
			return true
		}
	}
	return false
}

// text is a path without wildcards.
func (p jsonPath) text() string {
	s := "$"
	for _, l := range p {
		switch {
		case l.kind == legMember:
			s += memberLeg(l.key)
		case l.fromLast && l.from > 0:
			s += "[last-" + strconv.Itoa(l.from) + "]"
		case l.fromLast:
			s += "[last]"
		default:
			s += "[" + strconv.Itoa(l.from) + "]"
		}
	}
	return s
}
