package expr

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"io"
	"sync"
	"unicode/utf8"
)

//go:embed collation.bin.gz
var collationData []byte

//go:embed collation_levels.bin.gz
var collationLevels []byte

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

	uca520     ucaTable
	ascii520   [128]uint16
	levels900  map[rune][2][]uint16 // second and third weights where they are not 0020 and 0002
	loadLevels = sync.OnceFunc(readLevels)
)

// packed unpacks a file of numbers and returns what reads the next one.
func packed(data []byte) func() int {
	z, err := gzip.NewReader(bytes.NewReader(data))
	var b []byte
	if err == nil {
		b, err = io.ReadAll(z)
	}
	if err != nil {
		panic("the embedded weights of collations are damaged: " + err.Error())
	}
	return func() int {
		x, n := binary.Uvarint(b)
		b = b[n:]
		return int(x)
	}
}

// read reads a table of weights by code point.
func (t *ucaTable) read(next func() int) {
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

// ascii is the weight of an ASCII character, 0 for an ignored one.
func (t *ucaTable) ascii(c int) uint16 {
	e := t.pages[0][c]
	if e == 255 {
		return 0
	}
	return t.weights[e>>8]
}

// readLevels unpacks collation_levels.bin.gz, which gen_collation_levels.go
// writes.
func readLevels() {
	loadUCA()
	next := packed(collationLevels)
	uca520.read(next)
	for c := range ascii520 {
		ascii520[c] = uca520.ascii(c)
	}
	list := func() []uint16 {
		l := make([]uint16, next())
		for i := range l {
			l[i] = uint16(next())
		}
		return l
	}
	n := next()
	levels900 = make(map[rune][2][]uint16, n)
	cp := 0
	for range n {
		cp += next()
		levels900[rune(cp)] = [2][]uint16{list(), list()}
	}
}

// levelWeights appends a character's weights of the second (0) or third level (1).
func levelWeights(dst []uint16, r rune, level int) []uint16 {
	if l, ok := levels900[r]; ok {
		return append(dst, l[level]...)
	}
	plain := [2]uint16{0x20, 2}[level]
	var x [32]uint16
	p := ucaWeights(x[:0], &uca900, r, true)
	for i := 0; i < len(p); i++ {
		if p[i] >= 0xFB00 {
			i++ // a pair is one collation element
		}
		dst = append(dst, plain)
	}
	return dst
}

// readWeights unpacks collation.bin.gz, which gen_collation.go writes.
func readWeights() {
	next := packed(collationData)
	uca900.read(next)
	uca400.read(next)
	for i := range general {
		general[i] = uint16(i)
	}
	cp := 0
	for n := next(); n > 0; n-- {
		cp += next()
		next()
		general[cp] = uint16(next())
	}
	for c := range 128 {
		ascii9[c], ascii4[c] = uca900.ascii(c), uca400.ascii(c)
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
		if r > 0xFFFF && t == &uca400 {
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
		for l := range c.levels {
			// No weight is 0, which so ends a level before any longer text's.
			dst = append(dst, 0)
			for i := 0; i < len(s); {
				r, n := utf8.DecodeRune(s[i:])
				i += n
				dst = levelWeights(dst, r, l)
			}
		}
	case byUCA400, byUCA520:
		t, ascii := c.uca(), c.ascii()
		for i := 0; i < len(s); {
			if b := s[i]; b < utf8.RuneSelf {
				if w := ascii[b]; w != 0 {
					dst = append(dst, w)
				}
				i++
				continue
			}
			r, n := utf8.DecodeRune(s[i:])
			i += n
			dst = ucaWeights(dst, t, r, false)
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

// uca is the collation's table.
func (c *collation) uca() *ucaTable {
	switch c.family {
	case byUCA400:
		return &uca400
	case byUCA520:
		return &uca520
	}
	return &uca900
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
	case byUCA900, byUCA400, byUCA520:
		if a < utf8.RuneSelf && b < utf8.RuneSelf && c.levels == 0 {
			return c.ascii()[a] == c.ascii()[b]
		}
		var x, y [64]uint16
		t := c.uca()
		p, q := ucaWeights(x[:0], t, a, c.family == byUCA900), ucaWeights(y[:0], t, b, c.family == byUCA900)
		for l := range c.levels {
			p, q = levelWeights(append(p, 0), a, l), levelWeights(append(q, 0), b, l)
		}
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
