package expr

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
)

// Texts are UTF-8 throughout. A character set that writes other bytes is seen where
// bytes are: HEX, LENGTH, digests, conversions from and to binary strings.

// coding is how a character set writes texts.
type coding struct {
	// unit is the least number of bytes of a character: binary strings are filled
	// up to a multiple with zeros on the left. most is the greatest number.
	unit, most int
	// has reports whether the character set has a character.
	has func(r rune) bool
	// append appends a character that it has.
	append func(dst []byte, r rune) []byte
	// decode reads the first character of s, which has at least unit bytes; n is 0
	// if it is none.
	decode func(s []byte) (r rune, n int)
}

// codings are the character sets whose bytes are not UTF-8's.
var codings = map[string]*coding{
	"latin1": {1, 1, func(r rune) bool { _, ok := latin1Byte(r); return ok },
		func(dst []byte, r rune) []byte { b, _ := latin1Byte(r); return append(dst, b) },
		func(s []byte) (rune, int) { return latin1Rune(s[0]), 1 }},
	"ucs2": {2, 2, func(r rune) bool { return r <= 0xFFFF },
		func(dst []byte, r rune) []byte { return binary.BigEndian.AppendUint16(dst, uint16(r)) },
		func(s []byte) (rune, int) {
			if r := rune(binary.BigEndian.Uint16(s)); !utf16.IsSurrogate(r) {
				return r, 2
			}
			return 0, 0
		}},
	"utf16":   utf16Coding(binary.BigEndian),
	"utf16le": utf16Coding(binary.LittleEndian),
	"utf32": {4, 4, anyRune,
		func(dst []byte, r rune) []byte { return binary.BigEndian.AppendUint32(dst, uint32(r)) },
		func(s []byte) (rune, int) {
			if x := binary.BigEndian.Uint32(s); x <= utf8.MaxRune && utf8.ValidRune(rune(x)) {
				return rune(x), 4
			}
			return 0, 0
		}},
}

func anyRune(rune) bool { return true }

func utf16Coding(order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}) *coding {
	return &coding{2, 4, anyRune,
		func(dst []byte, r rune) []byte {
			if r > 0xFFFF {
				a, b := utf16.EncodeRune(r)
				return order.AppendUint16(order.AppendUint16(dst, uint16(a)), uint16(b))
			}
			return order.AppendUint16(dst, uint16(r))
		},
		func(s []byte) (rune, int) {
			r := rune(order.Uint16(s))
			if !utf16.IsSurrogate(r) {
				return r, 2
			}
			if len(s) < 4 {
				return 0, 0
			}
			if r = utf16.DecodeRune(r, rune(order.Uint16(s[2:]))); r == utf8.RuneError {
				return 0, 0
			}
			return r, 4
		}}
}

// codingOf is how a text's character set writes it, nil for UTF-8's bytes and for
// types that are no texts.
func codingOf(t Type) *coding {
	if t.Class != String {
		return nil
	}
	return codings[charsetOf(t.Collation)]
}

// encode appends a text as the character set writes it, with question marks for
// characters that it does not have.
func (c *coding) encode(dst, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if !c.has(r) {
			r = '?'
		}
		dst = c.append(dst, r)
		text = text[n:]
	}
	return dst
}

// text appends what the bytes of a character set say. bad is what follows the valid
// bytes, at most three, nil if all are.
func (c *coding) text(dst, s []byte) (text, bad []byte) {
	if fill := (c.unit - len(s)%c.unit) % c.unit; fill > 0 {
		s = append(make([]byte, fill, fill+len(s)), s...)
	}
	for len(s) > 0 {
		r, n := c.decode(s)
		if n == 0 {
			return dst, s[:min(len(s), 3)]
		}
		dst = utf8.AppendRune(dst, r)
		s = s[n:]
	}
	return dst, nil
}

// warnOfCharset warns of character sets that MySQL will give up.
func warnOfCharset(ctx *Context, charset string) {
	switch charset {
	case "utf8":
		charset = "utf8mb3"
	case "utf8mb3", "ucs2":
	default:
		return
	}
	ctx.warn("Warning", errs.Deprecated, "'%s' is deprecated and will be removed in a future release. Please use utf8mb4 instead", charset)
}
