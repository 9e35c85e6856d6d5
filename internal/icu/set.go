package icu

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// runeSet is a set of characters: sorted ranges that do not touch, and a bitmap
// of the first 128.
type runeSet struct {
	ranges []rune // from, to, from, to …
	ascii  [2]uint64
}

func (s *runeSet) add(lo, hi rune) { s.ranges = append(s.ranges, lo, hi) }

func (s *runeSet) addTable(t *unicode.RangeTable) {
	each := func(lo, hi, stride rune) {
		if stride == 1 {
			s.add(lo, hi)
			return
		}
		for r := lo; r <= hi; r += stride {
			s.add(r, r)
		}
	}
	for _, r := range t.R16 {
		each(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range t.R32 {
		each(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
}

// normal sorts and joins the ranges and fills the bitmap.
func (s *runeSet) normal() *runeSet {
	type span struct{ lo, hi rune }
	spans := make([]span, 0, len(s.ranges)/2)
	for i := 0; i < len(s.ranges); i += 2 {
		spans = append(spans, span{s.ranges[i], s.ranges[i+1]})
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.lo) - int(b.lo) })
	s.ranges = s.ranges[:0]
	for _, x := range spans {
		if n := len(s.ranges); n > 0 && x.lo <= s.ranges[n-1]+1 {
			s.ranges[n-1] = max(s.ranges[n-1], x.hi)
			continue
		}
		s.ranges = append(s.ranges, x.lo, x.hi)
	}
	s.ascii = [2]uint64{}
	for i := 0; i < len(s.ranges); i += 2 {
		for r := s.ranges[i]; r <= s.ranges[i+1] && r < 128; r++ {
			s.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	return s
}

func (s *runeSet) negate() *runeSet {
	out := &runeSet{}
	next := rune(0)
	for i := 0; i < len(s.ranges); i += 2 {
		if s.ranges[i] > next {
			out.add(next, s.ranges[i]-1)
		}
		next = s.ranges[i+1] + 1
	}
	if next <= unicode.MaxRune {
		out.add(next, unicode.MaxRune)
	}
	return out.normal()
}

func (s *runeSet) union(o *runeSet) *runeSet {
	return (&runeSet{ranges: append(slices.Clone(s.ranges), o.ranges...)}).normal()
}

func (s *runeSet) intersect(o *runeSet) *runeSet {
	out := &runeSet{}
	i, k := 0, 0
	for i < len(s.ranges) && k < len(o.ranges) {
		lo, hi := max(s.ranges[i], o.ranges[k]), min(s.ranges[i+1], o.ranges[k+1])
		if lo <= hi {
			out.add(lo, hi)
		}
		if s.ranges[i+1] < o.ranges[k+1] {
			i += 2
		} else {
			k += 2
		}
	}
	return out.normal()
}

// foldClosure adds every character that differs from one of the set by case only.
func (s *runeSet) foldClosure() *runeSet {
	out := &runeSet{ranges: slices.Clone(s.ranges)}
	add := func(r rune) {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			out.add(f, f)
		}
	}
	letters := s
	if !s.narrow() {
		letters = s.intersect(cased())
	}
	for i := 0; i < len(letters.ranges); i += 2 {
		for r := letters.ranges[i]; r <= letters.ranges[i+1]; r++ {
			add(r)
		}
	}
	return out.normal()
}

// narrow reports whether all characters of the set are among the first few hundred.
func (s *runeSet) narrow() bool {
	return len(s.ranges) == 0 || s.ranges[len(s.ranges)-1] < 0x250
}

// cased are the characters of which there is another one that differs by case only.
var cased = sync.OnceValue(func() *runeSet {
	s := &runeSet{}
	for r := rune(0); r < 0x1f000; r++ {
		if unicode.SimpleFold(r) != r {
			s.add(r, r)
		}
	}
	return s.normal()
})

func (s *runeSet) has(r rune) bool {
	if r < 128 {
		return s.ascii[r>>6]>>(r&63)&1 != 0
	}
	// The last range that starts at or before r.
	lo, hi := 0, len(s.ranges)/2
	for lo < hi {
		mid := (lo + hi) / 2
		if s.ranges[2*mid] <= r {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo > 0 && r <= s.ranges[2*lo-1]
}

func tables(ts ...*unicode.RangeTable) *runeSet {
	s := &runeSet{}
	for _, t := range ts {
		s.addTable(t)
	}
	return s.normal()
}

func runes(ranges ...rune) *runeSet { return (&runeSet{ranges: ranges}).normal() }

var (
	alphabetic = tables(unicode.L, unicode.Nl, unicode.Other_Alphabetic)
	wordSet    = alphabetic.union(tables(unicode.M, unicode.Nd, unicode.Pc)).union(runes(0x200c, 0x200d))
	digitSet   = tables(unicode.Nd)
	spaceSet   = tables(unicode.White_Space)
	// \s of ICU's regular expressions: [\t\n\f\r\p{Z}] and what is white space.
	shortSpace  = tables(unicode.Z).union(runes('\t', '\n', '\f', '\r', 0x85, 0x85)).minus(runes('\v', '\v'))
	horizontal  = tables(unicode.Zs).union(runes('\t', '\t'))
	vertical    = runes('\n', '\r', 0x85, 0x85, 0x2028, 0x2029)
	lowercase   = tables(unicode.Ll, unicode.Other_Lowercase)
	uppercase   = tables(unicode.Lu, unicode.Other_Uppercase)
	extending   = tables(unicode.Mn, unicode.Me, unicode.Other_Grapheme_Extend)
	formatting  = tables(unicode.Cf)
	unassigned  = assigned().negate()
	punctuation = tables(unicode.P)
	control     = tables(unicode.Cc)
)

func (s *runeSet) minus(o *runeSet) *runeSet { return s.intersect(o.negate()) }

func assigned() *runeSet {
	s := &runeSet{}
	for _, n := range []string{"L", "M", "N", "P", "S", "Z", "C"} {
		s.addTable(unicode.Categories[n])
	}
	return s.normal()
}

// posix are the names of [:name:], which \p{name} knows, too.
var posix = map[string]*runeSet{
	"alpha": alphabetic, "digit": digitSet, "alnum": alphabetic.union(digitSet), "lower": lowercase, "upper": uppercase, "space": spaceSet,
	"punct": punctuation, "xdigit": digitSet.union(runes('a', 'f', 'A', 'F', 0xff21, 0xff26, 0xff41, 0xff46)), "cntrl": control, "blank": horizontal, "word": wordSet,
	"graph": spaceSet.union(tables(unicode.Cc, unicode.Cs)).union(unassigned).negate(),
	"print": spaceSet.union(tables(unicode.Cc, unicode.Cs)).union(unassigned).negate().union(horizontal).minus(control),
}

// properties are binary properties beside those of package unicode.
var properties = map[string]*runeSet{
	"alphabetic": alphabetic, "lowercase": lowercase, "uppercase": uppercase, "whitespace": spaceSet, "any": runes(0, unicode.MaxRune),
	"ascii": runes(0, 127), "assigned": unassigned.negate(), "cn": unassigned, "unassigned": unassigned,
}

var longCategories = map[string]string{
	"letter": "L", "uppercaseletter": "Lu", "lowercaseletter": "Ll", "titlecaseletter": "Lt", "modifierletter": "Lm", "otherletter": "Lo",
	"mark": "M", "nonspacingmark": "Mn", "spacingmark": "Mc", "enclosingmark": "Me", "number": "N", "decimalnumber": "Nd", "letternumber": "Nl", "othernumber": "No",
	"punctuation": "P", "connectorpunctuation": "Pc", "dashpunctuation": "Pd", "openpunctuation": "Ps", "closepunctuation": "Pe", "initialpunctuation": "Pi",
	"finalpunctuation": "Pf", "otherpunctuation": "Po", "symbol": "S", "mathsymbol": "Sm", "currencysymbol": "Sc", "modifiersymbol": "Sk", "othersymbol": "So",
	"separator": "Z", "spaceseparator": "Zs", "lineseparator": "Zl", "paragraphseparator": "Zp", "other": "C", "control": "Cc", "format": "Cf", "surrogate": "Cs", "privateuse": "Co",
}

var blanks = strings.NewReplacer("_", "", " ", "", "-", "")

// plain is a name of a property without what does not count in it.
func plain(s string) string { return strings.ToLower(blanks.Replace(s)) }

// tablesByName are Unicode's tables by their plain names.
var tablesByName = sync.OnceValue(func() (out struct {
	categories, scripts, properties map[string]*unicode.RangeTable
}) {
	index := func(from map[string]*unicode.RangeTable) map[string]*unicode.RangeTable {
		m := map[string]*unicode.RangeTable{}
		for n, t := range from {
			m[plain(n)] = t
		}
		return m
	}
	out.categories, out.scripts, out.properties = index(unicode.Categories), index(unicode.Scripts), index(unicode.Properties)
	return out
})

// propertyNamed finds what \p{name} means; nil: unknown.
func propertyNamed(name string) *runeSet {
	kind, value, pair := strings.Cut(name, "=")
	if !pair {
		value = kind
	}
	kind, value = plain(kind), plain(value)
	known := tablesByName()
	find := func(from map[string]*unicode.RangeTable) *runeSet {
		if t := from[value]; t != nil {
			return tables(t)
		}
		return nil
	}
	category := func() *runeSet {
		if long := longCategories[value]; long != "" {
			return tables(unicode.Categories[long])
		}
		if value == "lc" {
			return tables(unicode.Lu, unicode.Ll, unicode.Lt)
		}
		return find(known.categories)
	}
	if pair {
		switch kind {
		case "script", "sc":
			return find(known.scripts)
		case "generalcategory", "gc":
			return category()
		}
		return nil
	}
	if s := properties[value]; s != nil {
		return s
	}
	if s := category(); s != nil {
		return s
	}
	if s := posix[value]; s != nil {
		return s
	}
	if s := find(known.scripts); s != nil {
		return s
	}
	return find(known.properties)
}

// maxSets bounds the work for the sets of a pattern, in ranges: about a tenth of a
// second.
const maxSets = 1 << 20

// spend counts the work for a set.
func (p *parser) spend(s *runeSet) error {
	if p.sets += 1 + len(s.ranges); p.flags&FoldCase != 0 && !s.narrow() {
		p.sets += 4000
	}
	if p.sets > maxSets {
		return p.unsupported("a pattern with so many sets")
	}
	return nil
}

// classEscape reads an escape that names a set; nil when it is another one.
func (p *parser) classEscape() (*runeSet, error) {
	if p.at+1 >= len(p.text) {
		return nil, nil
	}
	var s *runeSet
	r := p.text[p.at+1]
	switch r {
	case 'd', 'D':
		s = digitSet
	case 'w', 'W':
		s = wordSet
	case 's', 'S':
		s = shortSpace
	case 'h', 'H':
		s = horizontal
	case 'v', 'V':
		s = vertical
	case 'p', 'P':
		open := p.at
		p.at += 2
		if !p.eat("{") {
			p.at = open
			return nil, p.fail(ErrProperty)
		}
		from := p.at
		for p.at < len(p.text) && p.text[p.at] != '}' {
			p.at++
		}
		if p.at == len(p.text) {
			return nil, p.fail(ErrEscape)
		}
		name := string(p.text[from:p.at])
		p.at++
		not := r == 'P'
		if strings.HasPrefix(name, "^") {
			name, not = name[1:], !not
		}
		if s = propertyNamed(name); s == nil {
			return nil, p.unsupported("the property " + name)
		}
		if err := p.spend(s); err != nil {
			return nil, err
		}
		if p.flags&FoldCase != 0 {
			s = s.foldClosure()
		}
		if not {
			return s.negate(), nil
		}
		return s, nil
	default:
		return nil, nil
	}
	p.at += 2
	if unicode.IsUpper(r) {
		return s.negate(), p.spend(s)
	}
	return s, nil
}

// class reads […].
func (p *parser) class() (*runeSet, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.unsupported("so deep nesting")
	}
	defer func() { p.depth-- }()
	p.at++
	not := p.eat("^")
	var whole *runeSet // the operands before an operator
	minus := false
	part := &runeSet{}
	first := true
	last := rune(-1) // a character that may begin a range
	combine := func() {
		part.normal()
		switch {
		case whole == nil:
			whole = part
		case minus:
			whole = whole.minus(part)
		default:
			whole = whole.intersect(part)
		}
		part = &runeSet{}
	}
	for {
		if p.at >= len(p.text) {
			return nil, p.fail(ErrBracket)
		}
		r := p.text[p.at]
		switch {
		case r == ']' && !first:
			p.at++
			combine()
			if err := p.spend(whole); err != nil {
				return nil, err
			}
			if p.flags&FoldCase != 0 {
				whole = whole.foldClosure()
			}
			if not {
				whole = whole.negate()
			}
			return whole, nil
		case p.peek("[:"):
			end := p.at + 2
			for end < len(p.text) && p.text[end] != ':' {
				end++
			}
			if end+1 >= len(p.text) || p.text[end+1] != ']' {
				return nil, p.fail(ErrBracket)
			}
			name := string(p.text[p.at+2 : end])
			inverse := strings.HasPrefix(name, "^")
			s := propertyNamed(strings.TrimPrefix(name, "^"))
			if s == nil {
				return nil, p.unsupported("the class [:" + name + ":]")
			}
			if inverse {
				s = s.negate()
			}
			part.ranges = append(part.ranges, s.ranges...)
			p.at, last = end+2, -1
		case r == '[':
			s, err := p.class()
			if err != nil {
				return nil, err
			}
			part.ranges = append(part.ranges, s.ranges...)
			last = -1
		case p.eat("&&"):
			combine()
			minus, last = false, -1
		case p.peek("--") && !first:
			p.at += 2
			combine()
			minus, last = true, -1
		case r == '-' && last >= 0 && p.at+1 < len(p.text) && p.text[p.at+1] != ']' && p.text[p.at+1] != '[':
			p.at++
			hi := p.text[p.at]
			if hi == '\\' {
				if s, err := p.classEscape(); s != nil || err != nil {
					return nil, p.fail(ErrRange)
				}
				c, err := p.charEscape()
				if err != nil {
					return nil, err
				}
				hi = c
			} else {
				p.at++
			}
			if hi < last {
				return nil, p.fail(ErrRange)
			}
			part.add(last, hi)
			last = -1
		case r == '\\':
			if p.peek(`\Q`) {
				p.at += 2
				for p.at < len(p.text) && !p.eat(`\E`) {
					part.add(p.text[p.at], p.text[p.at])
					p.at++
				}
				last = -1
				break
			}
			s, err := p.classEscape()
			if err != nil {
				return nil, err
			}
			if s != nil {
				part.ranges = append(part.ranges, s.ranges...)
				last = -1
				break
			}
			c := rune(0)
			if p.peek(`\b`) {
				p.at += 2
				c = 8
			} else if c, err = p.charEscape(); err != nil {
				return nil, err
			}
			part.add(c, c)
			last = c
		default:
			p.at++
			part.add(r, r)
			last = r
		}
		first = false
	}
}
