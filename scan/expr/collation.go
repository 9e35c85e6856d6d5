package expr

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
)

// A collation orders text. All text is UTF-8 here, whatever character set a
// collation belongs to in MySQL; latin1 collations weigh the characters that
// latin1 has and order others by code point after them.
//
// Collations that ignore case and accents weigh every character: the primary
// weights of UCA 9.0.0 (utf8mb4_0900_ai_ci, without padding; without the
// default table's contractions, which MySQL does not use either), of UCA 4.0.0
// (…_unicode_ci) or 5.2.0 (…_unicode_520_ci), or the upper case base letter
// (…_general_ci). utf8mb4_0900_as_ci and …_as_cs compare texts that are equal so
// far by their second and third weights. Languages' own collations are known by
// name and refused.
type collation struct {
	name    string
	charset string
	pad     bool // PAD SPACE
	binary  bool // code point order
	family  weightFamily
	levels  int // beyond the first: 1 tells accents apart, 2 upper and lower case, too
}

type weightFamily uint8

const (
	byBytes weightFamily = iota
	byUCA900
	byUCA400
	byUCA520
	byGeneral
	byASCII
	byLatin1Swedish
	byLatin1General
)

var collations = map[string]*collation{}

func init() {
	add := func(name string, pad, bin bool, f weightFamily) {
		charset, _, _ := strings.Cut(name, "_")
		collations[name] = &collation{name: name, charset: charset, pad: pad, binary: bin, family: f}
	}
	add("binary", false, true, byBytes)
	add("utf8mb4_0900_ai_ci", false, false, byUCA900)
	add("utf8mb4_0900_as_ci", false, false, byUCA900)
	collations["utf8mb4_0900_as_ci"].levels = 1
	add("utf8mb4_0900_as_cs", false, false, byUCA900)
	collations["utf8mb4_0900_as_cs"].levels = 2
	add("utf8mb4_0900_bin", false, true, byBytes)
	for _, cs := range []string{"utf8mb4", "utf8mb3", "utf8"} {
		add(cs+"_bin", true, true, byBytes)
		add(cs+"_general_ci", true, false, byGeneral)
		add(cs+"_unicode_ci", true, false, byUCA400)
		add(cs+"_unicode_520_ci", true, false, byUCA520)
	}
	add("ascii_general_ci", true, false, byASCII)
	add("ascii_bin", true, true, byBytes)
	add("latin1_swedish_ci", true, false, byLatin1Swedish)
	add("latin1_general_ci", true, false, byLatin1General)
	add("latin1_bin", true, true, byBytes)
	for _, cs := range []string{"ucs2", "utf16", "utf16le", "utf32"} {
		add(cs+"_general_ci", true, false, byGeneral)
		add(cs+"_bin", true, true, byBytes)
		if cs != "utf16le" {
			add(cs+"_unicode_ci", true, false, byUCA400)
			add(cs+"_unicode_520_ci", true, false, byUCA520)
		}
	}
}

// Character sets by their default collation.
var charsets = map[string]string{
	"utf8mb4": "utf8mb4_0900_ai_ci", "utf8mb3": "utf8mb3_general_ci", "utf8": "utf8mb3_general_ci",
	"latin1": "latin1_swedish_ci", "ascii": "ascii_general_ci", "binary": "binary",
	"ucs2": "ucs2_general_ci", "utf16": "utf16_general_ci", "utf16le": "utf16le_general_ci", "utf32": "utf32_general_ci",
}

// Character sets that MySQL knows and that are refused.
var otherCharsets = " latin2 latin5 latin7 cp1250 cp1251 cp1256 cp1257 gb18030 gb2312 gbk ujis tis620 swe7 sjis macroman macce koi8u koi8r keybcs2 hp8 hebrew greek geostd8 euckr eucjpms dec8 cp932 cp866 cp852 cp850 big5 armscii8 "

// findCollation returns a collation by name. Errors: errs.UnknownCollation, or
// Unsupported for those that MySQL has and this package has not.
func findCollation(name string) (*collation, error) {
	if c := collations[name]; c != nil {
		return c, nil
	}
	n := strings.ToLower(name)
	if c := collations[n]; c != nil {
		return c, nil
	}
	cs, rest, _ := strings.Cut(n, "_")
	if _, ok := charsets[cs]; ok || strings.Contains(otherCharsets, " "+cs+" ") {
		if strings.HasSuffix(rest, "_ci") || strings.HasSuffix(rest, "_cs") || strings.HasSuffix(rest, "_ks") || rest == "bin" {
			return nil, errs.Unsupportedf(-1, "the collation %s", n)
		}
	}
	return nil, errs.Userf(errs.UnknownCollation, "Unknown collation: '%s'", name)
}

// CheckCollation reports whether a collation can be used: nil, an error of kind
// errs.UnknownCollation, or Unsupported.
func CheckCollation(name string) error {
	_, err := findCollation(name)
	return err
}

// defaultCollation returns a character set's default collation.
func defaultCollation(charset string) (string, error) {
	if c, ok := charsets[charset]; ok {
		return c, nil
	}
	if strings.Contains(otherCharsets, " "+charset+" ") {
		return "", errs.Unsupportedf(-1, "the character set %s", charset)
	}
	return "", errs.Userf(errs.UnknownCharset, "Unknown character set: '%s'", charset)
}

// charsetOf returns a collation's character set.
func charsetOf(collation string) string {
	cs, _, _ := strings.Cut(collation, "_")
	if cs == "utf8" {
		return "utf8mb3"
	}
	return cs
}

// collationOf returns the collation of a type's values, byte order for types
// that have none.
func collationOf(t Type) *collation {
	if t.Class == Bytes || t.Collation == "" {
		return collations["binary"]
	}
	if c := collations[t.Collation]; c != nil {
		return c
	}
	return collations["utf8mb4_0900_bin"]
}

// ready loads the tables that the collation needs.
func (c *collation) ready() *collation {
	switch {
	case c.levels > 0 || c.family == byUCA520:
		loadLevels()
	case c.family == byUCA900 || c.family == byUCA400 || c.family == byGeneral:
		loadUCA()
	}
	return c
}

// space is the weight of a blank.
func (c *collation) space() uint16 {
	switch c.family {
	case byUCA900:
		return ascii9[' ']
	case byUCA400:
		return ascii4[' ']
	case byUCA520:
		return ascii520[' ']
	}
	return c.simple(' ')
}

func trimSpaces(s []byte) []byte {
	for len(s) > 0 && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// compare orders two texts. The collation must be ready.
func (c *collation) compare(a, b []byte) int {
	if c.family == byBytes {
		if !c.pad {
			return bytes.Compare(a, b)
		}
		return padCompare(a, b)
	}
	// Skip the common prefix, whole ASCII characters only.
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] && a[i] < utf8.RuneSelf {
		i++
	}
	if i == len(a) && i == len(b) {
		return 0
	}
	a, b = a[i:], b[i:]
	if r, ok := c.compareASCII(a, b); ok && (r != 0 || c.levels == 0) {
		return r
	}
	var x, y [64]uint16
	p, q := c.weigh(x[:0], a), c.weigh(y[:0], b)
	n := min(len(p), len(q))
	for i := range n {
		if p[i] != q[i] {
			if p[i] < q[i] {
				return -1
			}
			return 1
		}
	}
	if !c.pad {
		return len(p) - len(q)
	}
	sp := c.space()
	for _, w := range p[n:] {
		if w != sp {
			if w < sp {
				return -1
			}
			return 1
		}
	}
	for _, w := range q[n:] {
		if w != sp {
			if w < sp {
				return 1
			}
			return -1
		}
	}
	return 0
}

// ascii returns the weights of ASCII, 0 for ignored characters.
func (c *collation) ascii() *[128]uint16 {
	switch c.family {
	case byUCA900:
		return &ascii9
	case byUCA400:
		return &ascii4
	case byUCA520:
		return &ascii520
	}
	return &asciiUpper
}

// asciiUpper are ASCII's weights in collations of upper case letters, one more
// than the code point so that none is ignored.
var asciiUpper = func() (t [128]uint16) {
	for i := range t {
		c := i
		if c >= 'a' && c <= 'z' {
			c -= 32
		}
		t[i] = uint16(c) + 1
	}
	return t
}()

// compareASCII compares texts whose first difference lies within ASCII; ok is
// false when it does not.
func (c *collation) compareASCII(a, b []byte) (r int, ok bool) {
	if c.family == byLatin1General {
		return 0, false
	}
	t := c.ascii()
	i, j := 0, 0
	for {
		var x, y uint16
		for i < len(a) && x == 0 {
			if a[i] >= utf8.RuneSelf {
				return 0, false
			}
			x = t[a[i]]
			i++
		}
		for j < len(b) && y == 0 {
			if b[j] >= utf8.RuneSelf {
				return 0, false
			}
			y = t[b[j]]
			j++
		}
		switch {
		case x == y && x == 0:
			return 0, true
		case x == y:
			continue
		case x != 0 && y != 0:
			return sign(int(x) - int(y)), true
		case !c.pad:
			return sign(int(x) - int(y)), true
		}
		// One has ended: it goes on with spaces.
		sp := t[' ']
		for ; x == sp && i < len(a); i++ {
			if a[i] >= utf8.RuneSelf {
				return 0, false
			}
			if w := t[a[i]]; w != 0 {
				x = w
			}
		}
		for ; y == sp && j < len(b); j++ {
			if b[j] >= utf8.RuneSelf {
				return 0, false
			}
			if w := t[b[j]]; w != 0 {
				y = w
			}
		}
		if x == 0 {
			x = sp
		}
		if y == 0 {
			y = sp
		}
		return sign(int(x) - int(y)), true
	}
}

// padCompare compares bytes as if the shorter text went on with spaces.
func padCompare(a, b []byte) int {
	n := min(len(a), len(b))
	if r := bytes.Compare(a[:n], b[:n]); r != 0 {
		return r
	}
	for _, x := range a[n:] {
		if x != ' ' {
			if x < ' ' {
				return -1
			}
			return 1
		}
	}
	for _, x := range b[n:] {
		if x != ' ' {
			if x < ' ' {
				return 1
			}
			return -1
		}
	}
	return 0
}

// same reports whether two texts are equal without padding.
func (c *collation) same(a, b []byte) bool {
	if c.family == byBytes {
		return bytes.Equal(a, b)
	}
	var x, y [64]uint16
	p, q := c.weigh(x[:0], a), c.weigh(y[:0], b)
	if len(p) != len(q) {
		return false
	}
	for i := range p {
		if p[i] != q[i] {
			return false
		}
	}
	return true
}

// appendKey appends a self-delimiting key whose byte order is the collation's.
//
// Without padding, 00 01 (bytes) or 0000 (weights) ends a text and sorts before
// everything. With padding the end must sort as endless spaces do: a space is
// followed by a selector that says whether what comes after the run of spaces
// is below (0) or above (2) a space, and the end is a space with selector 1.
func (c *collation) appendKey(dst, s []byte) []byte {
	if c.family == byBytes {
		if c.pad {
			return appendPadded(dst, trimSpaces(s))
		}
		return appendEscaped(dst, s)
	}
	var x [64]uint16
	p := c.weigh(x[:0], s)
	if !c.pad {
		for _, w := range p {
			dst = append(dst, byte(w>>8), byte(w))
		}
		return append(dst, 0, 0)
	}
	sp := c.space()
	for len(p) > 0 && p[len(p)-1] == sp {
		p = p[:len(p)-1]
	}
	for i, w := range p {
		dst = append(dst, byte(w>>8), byte(w))
		if w == sp {
			j := i
			for p[j] == sp {
				j++
			}
			dst = append(dst, selector(p[j] > sp))
		}
	}
	return append(dst, byte(sp>>8), byte(sp), 1)
}

func selector(above bool) byte {
	if above {
		return 2
	}
	return 0
}

// appendEscaped appends bytes so that the end sorts first: 00 becomes 00 FF, the
// end is 00 01.
func appendEscaped(dst, s []byte) []byte {
	for {
		i := bytes.IndexByte(s, 0)
		if i < 0 {
			break
		}
		dst = append(append(dst, s[:i+1]...), 0xFF)
		s = s[i+1:]
	}
	return append(append(dst, s...), 0, 1)
}

func appendPadded(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		b := s[i]
		dst = append(dst, b)
		if b == ' ' {
			j := i
			for s[j] == ' ' {
				j++
			}
			sel := selector(s[j] > ' ')
			dst = append(dst, sel)
			for i++; i < j; i++ {
				dst = append(dst, ' ', sel)
			}
			continue
		}
		i++
	}
	return append(dst, ' ', 1)
}

// latin1Rune decodes a byte of MySQL's latin1, which is Windows-1252 with the
// five undefined bytes as C1 controls.
func latin1Rune(c byte) rune {
	if c >= 0x80 && c <= 0x9F {
		return windows1252[c-0x80]
	}
	return rune(c)
}

var windows1252 = [32]rune{0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D, 0x8F,
	0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D, 0x017E, 0x0178}

// latin1Byte encodes a character in latin1.
func latin1Byte(r rune) (byte, bool) {
	if r < 0x80 || r >= 0xA0 && r <= 0xFF {
		return byte(r), true
	}
	for i, x := range windows1252 {
		if x == r {
			return byte(0x80 + i), true
		}
	}
	return 0, false
}

// Weights of latin1_swedish_ci and latin1_general_ci by byte.
var latin1Swedish, latin1General = func() (s, g [256]byte) {
	for i := range 256 {
		s[i], g[i] = byte(i), byte(i)
	}
	for i := 'a'; i <= 'z'; i++ {
		s[i] = byte(i - 32)
	}
	copy(s[0xC0:], "AAAA[\\[CEEEEIIIIDNOOOO]\xD7\xD8UUUYY\xDE\xDF")
	copy(s[0xE0:], "AAAA[\\[CEEEEIIIIDNOOOO]\xF7\xD8UUUYY\xDE\xFF")
	upper := []byte{0x41, 0x51, 0x53, 0x57, 0x5B, 0x65, 0x67, 0x69, 0x6B, 0x75, 0x77, 0x79, 0x7B, 0x7D, 0x81, 0x8F, 0x91, 0x93, 0x95, 0x98, 0x9A, 0xA4, 0xA6, 0xA8, 0xAA, 0xAF}
	for i, w := range upper {
		g['A'+i], g['a'+i] = w, w
	}
	for i, w := range []byte{0xB3, 0xB4, 0xB5, 0xB6, 0xB7, 0xB8} {
		g[0x5B+i] = w
	}
	for i := 0x7B; i <= 0xBF; i++ {
		g[i] = byte(i - 0x7B + 0xB9)
	}
	for i := 0x80; i <= 0xBF; i++ {
		g[i] = byte(i + 0x3F)
	}
	copy(g[0xC0:], []byte{0x43, 0x45, 0x47, 0x49, 0x4B, 0x4D, 0x4F, 0x55, 0x5D, 0x5F, 0x61, 0x63, 0x6D, 0x6F, 0x71, 0x73, 0x59, 0x7F, 0x83, 0x85, 0x87, 0x89, 0x8B, 0xBD, 0x8D, 0x9C, 0x9E, 0xA0, 0xA2, 0xAC, 0xB1, 0x97})
	copy(g[0xE0:], []byte{0x43, 0x45, 0x47, 0x49, 0x4B, 0x4D, 0x4F, 0x55, 0x5D, 0x5F, 0x61, 0x63, 0x6D, 0x6F, 0x71, 0x73, 0x59, 0x7F, 0x83, 0x85, 0x87, 0x89, 0x8B, 0xBE, 0x8D, 0x9C, 0x9E, 0xA0, 0xA2, 0xAC, 0xB1, 0xAE})
	return s, g
}()
