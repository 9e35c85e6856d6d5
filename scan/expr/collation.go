package expr

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
)

// A collation orders text. All text is UTF-8 here, whatever character set a
// collation belongs to in MySQL; latin1 collations weigh the characters that
// latin1 has and order others by code point after them.
//
// Collations that ignore case and accents weigh every character: the primary
// weights of UCA 9.0.0 (utf8mb4_0900_ai_ci, without padding; without the
// default table's contractions, which MySQL does not use either), of UCA 4.0.0 (…_unicode_ci), or the upper case
// base letter (…_general_ci). Collations with several levels and languages'
// own are known by name and refused.
type collation struct {
	name    string
	charset string
	pad     bool // PAD SPACE
	binary  bool // code point order
	family  weightFamily
}

type weightFamily uint8

const (
	byBytes weightFamily = iota
	byUCA900
	byUCA400
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
	add("utf8mb4_0900_bin", false, true, byBytes)
	for _, cs := range []string{"utf8mb4", "utf8mb3", "utf8"} {
		add(cs+"_bin", true, true, byBytes)
		add(cs+"_general_ci", true, false, byGeneral)
		add(cs+"_unicode_ci", true, false, byUCA400)
	}
	add("ascii_general_ci", true, false, byASCII)
	add("ascii_bin", true, true, byBytes)
	add("latin1_swedish_ci", true, false, byLatin1Swedish)
	add("latin1_general_ci", true, false, byLatin1General)
	add("latin1_bin", true, true, byBytes)
}

// Character sets by their default collation.
var charsets = map[string]string{
	"utf8mb4": "utf8mb4_0900_ai_ci", "utf8mb3": "utf8mb3_general_ci", "utf8": "utf8mb3_general_ci",
	"latin1": "latin1_swedish_ci", "ascii": "ascii_general_ci", "binary": "binary",
}

// Character sets that MySQL knows and that are refused.
var otherCharsets = " ucs2 utf32 utf16 utf16le latin2 latin5 latin7 cp1250 cp1251 cp1256 cp1257 gb18030 gb2312 gbk ujis tis620 swe7 sjis macroman macce koi8u koi8r keybcs2 hp8 hebrew greek geostd8 euckr eucjpms dec8 cp932 cp866 cp852 cp850 big5 armscii8 "

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

//go:embed collation.bin.gz
var collationData []byte

// ucaPages are the weights of code points: pages[cp>>8][cp&255] is offset<<8 |
// count into weights; 0 is "implicit", count 255 "ignored".
type ucaTable struct {
	pages   [0x1100]*[256]uint32
	weights []uint16
}

var (
	uca900  ucaTable
	uca400  ucaTable
	general [0x10000]uint16
	ascii9  [128]uint16 // single weights of ASCII in UCA 9.0.0; 0 is ignored
	ascii4  [128]uint16
	loadUCA = sync.OnceFunc(readWeights)
)

// readWeights unpacks collation.bin.gz, which gen_collation.go writes.
func readWeights() {
	z, err := gzip.NewReader(bytes.NewReader(collationData))
	var b []byte
	if err == nil {
		b, err = io.ReadAll(z)
	}
	if err != nil {
		panic("collation.bin.gz is damaged: " + err.Error())
	}
	next := func() int {
		x, n := binary.Uvarint(b)
		b = b[n:]
		return int(x)
	}
	table := func(t *ucaTable) {
		t.weights = make([]uint16, 1, 1<<16)
		cp := 0
		for n := next(); n > 0; n-- {
			cp += next()
			k := next()
			p := t.pages[cp>>8]
			if p == nil {
				p = new([256]uint32)
				t.pages[cp>>8] = p
			}
			if k == 0 {
				p[cp&255] = 255
				continue
			}
			p[cp&255] = uint32(len(t.weights))<<8 | uint32(k)
			for range k {
				t.weights = append(t.weights, uint16(next()))
			}
		}
	}
	table(&uca900)
	table(&uca400)
	for i := range general {
		general[i] = uint16(i)
	}
	cp := 0
	for n := next(); n > 0; n-- {
		cp += next()
		next()
		general[cp] = uint16(next())
	}
	one := func(t *ucaTable, c int) uint16 {
		e := t.pages[0][c]
		if e == 255 {
			return 0
		}
		return t.weights[e>>8]
	}
	for c := range 128 {
		ascii9[c], ascii4[c] = one(&uca900, c), one(&uca400, c)
	}
}

// ucaWeights appends the weights of one character.
func ucaWeights(dst []uint16, t *ucaTable, r rune, v9 bool) []uint16 {
	if p := t.pages[r>>8]; p != nil {
		switch e := p[r&255]; {
		case e == 255:
			return dst
		case e != 0:
			return append(dst, t.weights[e>>8:e>>8+e&255]...)
		}
	}
	if !v9 {
		if r > 0xFFFF {
			return append(dst, 0xFFFD)
		}
		base := 0xFBC0
		switch {
		case r >= 0x3400 && r <= 0x4DB5:
			base = 0xFB80
		case r >= 0x4E00 && r <= 0x9FA5:
			base = 0xFB40
		}
		return append(dst, uint16(base+int(r>>15)), uint16(r&0x7FFF|0x8000))
	}
	switch {
	case r >= 0xAC00 && r <= 0xD7AF: // Hangul syllables, by their letters
		i := r - 0xAC00
		dst = ucaWeights(dst, t, 0x1100+i/588, true)
		dst = ucaWeights(dst, t, 0x1161+i%588/28, true)
		if i%28 != 0 {
			dst = ucaWeights(dst, t, 0x11A7+i%28, true)
		}
		return dst
	case r >= 0x17000 && r <= 0x18AFF: // Tangut
		return append(dst, 0xFB00, uint16(r-0x17000)|0x8000)
	}
	base := 0xFBC0
	switch {
	case r >= 0x4E00 && r <= 0x9FD5, r == 0xFA0E, r == 0xFA0F, r == 0xFA11, r == 0xFA13, r == 0xFA14, r == 0xFA1F, r == 0xFA21,
		r == 0xFA23, r == 0xFA24, r >= 0xFA27 && r <= 0xFA29:
		base = 0xFB40
	case r >= 0x3400 && r <= 0x4DB5, r >= 0x20000 && r <= 0x2A6D6, r >= 0x2A700 && r <= 0x2B734, r >= 0x2B740 && r <= 0x2B81D, r >= 0x2B820 && r <= 0x2CEA1:
		base = 0xFB80
	}
	return append(dst, uint16(base+int(r>>15)), uint16(r&0x7FFF|0x8000))
}

// weigh appends the weights of text: one or more 16-bit numbers a character.
// Trailing spaces count.
func (c *collation) weigh(dst []uint16, s []byte) []uint16 {
	switch c.family {
	case byUCA900:
		for i := 0; i < len(s); {
			if b := s[i]; b < utf8.RuneSelf {
				if w := ascii9[b]; w != 0 {
					dst = append(dst, w)
				}
				i++
				continue
			}
			r, n := utf8.DecodeRune(s[i:])
			i += n
			dst = ucaWeights(dst, &uca900, r, true)
		}
	case byUCA400:
		for i := 0; i < len(s); {
			if b := s[i]; b < utf8.RuneSelf {
				if w := ascii4[b]; w != 0 {
					dst = append(dst, w)
				}
				i++
				continue
			}
			r, n := utf8.DecodeRune(s[i:])
			i += n
			dst = ucaWeights(dst, &uca400, r, false)
		}
	default:
		for i := 0; i < len(s); {
			r, n := rune(s[i]), 1
			if r >= utf8.RuneSelf {
				r, n = utf8.DecodeRune(s[i:])
			}
			i += n
			dst = append(dst, c.simple(r))
		}
	}
	return dst
}

// simple is the weight of a character in collations with one weight each.
func (c *collation) simple(r rune) uint16 {
	switch c.family {
	case byGeneral:
		if r > 0xFFFF {
			return 0xFFFD
		}
		return general[r]
	case byASCII:
		if r >= 'a' && r <= 'z' {
			return uint16(r - 32)
		}
	case byLatin1Swedish, byLatin1General:
		b, ok := latin1Byte(r)
		if !ok {
			if r > 0xFEFF {
				return 0xFFFF
			}
			return uint16(r) + 0x100
		}
		if c.family == byLatin1Swedish {
			return uint16(latin1Swedish[b])
		}
		return uint16(latin1General[b])
	}
	if r > 0xFFFF {
		return 0xFFFD
	}
	return uint16(r)
}

// sameChar reports whether two characters are equal, as LIKE, LOCATE and
// REPLACE compare: one by one.
func (c *collation) sameChar(a, b rune) bool {
	if a > utf8.MaxRune || b > utf8.MaxRune {
		return a == b // bytes that are no characters
	}
	if a == b {
		return true
	}
	switch c.family {
	case byBytes:
		return false
	case byUCA900, byUCA400:
		if a < utf8.RuneSelf && b < utf8.RuneSelf {
			if c.family == byUCA900 {
				return ascii9[a] == ascii9[b]
			}
			return ascii4[a] == ascii4[b]
		}
		var x, y [32]uint16
		t := &uca900
		if c.family == byUCA400 {
			t = &uca400
		}
		p, q := ucaWeights(x[:0], t, a, c.family == byUCA900), ucaWeights(y[:0], t, b, c.family == byUCA900)
		if len(p) != len(q) || c.family == byUCA400 && a > 0xFFFF {
			return false
		}
		for i := range p {
			if p[i] != q[i] {
				return false
			}
		}
		return true
	}
	return c.simple(a) == c.simple(b)
}

// ready loads the tables that the collation needs.
func (c *collation) ready() *collation {
	if c.family == byUCA900 || c.family == byUCA400 || c.family == byGeneral {
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
	if r, ok := c.compareASCII(a, b); ok {
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

// equal reports whether two texts are equal.
func (c *collation) equal(a, b []byte) bool {
	if c.family == byBytes && !c.pad {
		return bytes.Equal(a, b)
	}
	return c.compare(a, b) == 0
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

// resultCollation aggregates the collations of what makes a text: two equally
// strong collations of one character set give its binary one, of coercibility
// NONE, which may not be compared.
func resultCollation(op string, ts ...Type) (Type, error) { return aggregateCollations(op, false, ts) }

// mergeCollations aggregates the collations of what is compared. op names the
// operation in the error.
func mergeCollations(op string, ts ...Type) (Type, error) { return aggregateCollations(op, true, ts) }

// aggregateCollations follows MySQL's DTCollation::aggregate.
func aggregateCollations(op string, compared bool, ts []Type) (Type, error) {
	var out Type
	started := false
	for _, t := range ts {
		if t.Class == Bytes {
			t.Collation = "binary"
		}
		if t.Collation == "" || t.Class == Null {
			continue
		}
		if !started {
			out, started = t, true
			continue
		}
		if out.Collation == t.Collation {
			out.Coercibility = min(out.Coercibility, t.Coercibility)
			continue
		}
		switch {
		case out.Collation == "binary" || t.Collation == "binary":
			if out.Collation == "binary" && out.Coercibility > t.Coercibility || t.Collation == "binary" && t.Coercibility <= out.Coercibility {
				out = t
			}
			continue
		}
		csA, csB := charsetOf(out.Collation), charsetOf(t.Collation)
		if csA != csB {
			// A character set that contains the other wins unless the other's
			// collation is stronger and its text can be converted.
			aUni, bUni := strings.HasPrefix(csA, "utf8"), strings.HasPrefix(csB, "utf8")
			switch {
			case superset(csA, csB) && (out.Coercibility < t.Coercibility || out.Coercibility == t.Coercibility && aUni):
			case superset(csB, csA) && (t.Coercibility < out.Coercibility || t.Coercibility == out.Coercibility && bUni):
				out = t
			case out.Coercibility < t.Coercibility && t.Coercibility >= 3:
			case t.Coercibility < out.Coercibility && out.Coercibility >= 3:
				out = t
			default:
				return Type{}, collationMix(op, out, t)
			}
			continue
		}
		switch {
		case out.Coercibility < t.Coercibility:
		case t.Coercibility < out.Coercibility:
			out = t
		case out.Coercibility == 0:
			return Type{}, collationMix(op, out, t)
		case strings.HasSuffix(out.Collation, "_bin"):
		case strings.HasSuffix(t.Collation, "_bin"):
			out = t
		case !compared:
			out.Collation, out.Coercibility = csA+"_bin", 1
		default:
			return Type{}, collationMix(op, out, t)
		}
	}
	return out, nil
}

func superset(a, b string) bool {
	if b == "ascii" && a != "ascii" {
		return true
	}
	switch a {
	case "utf8mb4":
		return b != "utf8mb4"
	case "utf8mb3":
		return b != "utf8mb4" && b != "utf8mb3"
	}
	return false
}

var coercibilityNames = [...]string{"EXPLICIT", "NONE", "IMPLICIT", "SYSCONST", "COERCIBLE", "NUMERIC", "IGNORABLE"}

func collationMix(op string, a, b Type) error {
	return errs.Userf(errs.CollationMix, "Illegal mix of collations (%s,%s) and (%s,%s) for operation '%s'",
		a.Collation, coercibilityNames[min(a.Coercibility, 6)], b.Collation, coercibilityNames[min(b.Coercibility, 6)], op)
}
