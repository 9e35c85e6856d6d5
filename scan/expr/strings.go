package expr

import (
	"bytes"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func lower(s string) string { return strings.ToLower(s) }

// isBinary reports whether the k-th argument is a binary string, whose
// characters are bytes.
func (ev *evaluation) isBinary(k int) bool { return ev.c.args[k].Type().Class == Bytes }

// charCount is the number of characters of s.
func charCount(s []byte, binary bool) int {
	if binary {
		return len(s)
	}
	return utf8.RuneCount(s)
}

// offsetOf is the byte offset of the n-th character.
func offsetOf(s []byte, n int, binary bool) int {
	if binary {
		return min(n, len(s))
	}
	return byteOffset(s, n)
}

// clampInt narrows to int range.
func clampInt(x int64) int {
	return int(max(math.MinInt32, min(x, math.MaxInt32)))
}

// tooLong raises MySQL's warning 1301 and reports whether n bytes are more than
// max_allowed_packet.
func (ev *evaluation) tooLong(n int64) bool {
	if n <= int64(ev.ctx.MaxAllowedPacket) {
		return false
	}
	ev.ctx.warn("Warning", errs.ResultTooLong, "Result of %s() was larger than max_allowed_packet (%d) - truncated", lower(ev.c.name), ev.ctx.MaxAllowedPacket)
	return true
}

type body = func(ev *evaluation) func(i int, out *vector.Vec) error

// intOf makes a body of a function from one text to an integer.
func intOf(f func(ev *evaluation, s []byte) int64) body {
	return func(ev *evaluation) func(i int, out *vector.Vec) error {
		return func(i int, out *vector.Vec) error {
			out.I64s[i] = f(ev, ev.args[0].Bytes(i))
			return nil
		}
	}
}

// textOf makes a body of a function from one text to a text.
func textOf(f func(ev *evaluation, dst, s []byte) []byte) body {
	return func(ev *evaluation) func(i int, out *vector.Vec) error {
		var buf []byte
		return func(i int, out *vector.Vec) error {
			buf = f(ev, buf[:0], ev.args[0].Bytes(i))
			out.SetBytes(i, buf)
			return nil
		}
	}
}

// stored is the text in its character set's bytes.
func storedBytes(t Type, s []byte) []byte {
	if own := codingOf(t); own != nil {
		return own.encode(nil, s)
	}
	return s
}

func init() {
	fn(spec{name: "LENGTH", min: 1, max: 1, class: "string", usage: "LENGTH(s)", doc: "Length in bytes.", kinds: "t", ret: retInt,
		body: intOf(func(ev *evaluation, s []byte) int64 { return int64(len(storedBytes(ev.c.args[0].Type(), s))) })})
	alias("OCTET_LENGTH", "LENGTH")
	fn(spec{name: "BIT_LENGTH", min: 1, max: 1, class: "string", usage: "BIT_LENGTH(s)", doc: "Length in bits.", kinds: "t", ret: retInt,
		body: intOf(func(ev *evaluation, s []byte) int64 { return 8 * int64(len(storedBytes(ev.c.args[0].Type(), s))) })})
	fn(spec{name: "CHAR_LENGTH", min: 1, max: 1, class: "string", usage: "CHAR_LENGTH(s)", doc: "Length in characters.", kinds: "t", ret: retInt,
		body: intOf(func(ev *evaluation, s []byte) int64 { return int64(charCount(s, ev.isBinary(0))) })})
	alias("CHARACTER_LENGTH", "CHAR_LENGTH")
	fn(spec{name: "ASCII", min: 1, max: 1, class: "string", usage: "ASCII(s)", doc: "The first byte, 0 for the empty text.", kinds: "t", ret: retInt,
		body: intOf(func(ev *evaluation, s []byte) int64 {
			if s = storedBytes(ev.c.args[0].Type(), s); len(s) == 0 {
				return 0
			}
			return int64(s[0])
		})})
	fn(spec{name: "ORD", min: 1, max: 1, class: "string", usage: "ORD(s)", doc: "The bytes of the first character as a number.", kinds: "t", ret: retInt,
		body: intOf(func(ev *evaluation, s []byte) int64 {
			s = storedBytes(ev.c.args[0].Type(), s[:offsetOf(s, 1, ev.isBinary(0))])
			var x int64
			for _, b := range s {
				x = x<<8 | int64(b)
			}
			return x
		})})
	change := func(name, doc string, f func(rune) rune) {
		fn(spec{name: name, min: 1, max: 1, class: "string", usage: name + "(s)", doc: doc, kinds: "t", ret: retText(firstLength),
			body: textOf(func(ev *evaluation, dst, s []byte) []byte {
				if ev.isBinary(0) {
					return append(dst, s...)
				}
				for len(s) > 0 {
					if c := s[0]; c < utf8.RuneSelf {
						dst = append(dst, byte(f(rune(c))))
						s = s[1:]
						continue
					}
					r, n := utf8.DecodeRune(s)
					if r == utf8.RuneError && n == 1 {
						dst = append(dst, s[0])
					} else {
						dst = utf8.AppendRune(dst, f(r))
					}
					s = s[n:]
				}
				return dst
			})})
	}
	change("UPPER", "Upper case, character by character.", unicode.ToUpper)
	change("LOWER", "Lower case, character by character.", unicode.ToLower)
	alias("UCASE", "UPPER")
	alias("LCASE", "LOWER")
	fn(spec{name: "REVERSE", min: 1, max: 1, class: "string", usage: "REVERSE(s)", doc: "The characters in reverse order.", kinds: "t", ret: retText(firstLength),
		body: textOf(func(ev *evaluation, dst, s []byte) []byte {
			for len(s) > 0 {
				n := 1
				if !ev.isBinary(0) {
					_, n = utf8.DecodeLastRune(s)
				}
				dst = append(dst, s[len(s)-n:]...)
				s = s[:len(s)-n]
			}
			return dst
		})})
	fn(spec{name: "CONCAT", min: 1, max: -1, class: "string", usage: "CONCAT(a, b, …)", doc: "The texts one after another; NULL if one is.", kinds: "t", ret: retText(sumLengths), body: concat})
	fn(spec{name: "CONCAT_WS", min: 2, max: -1, class: "string", usage: "CONCAT_WS(sep, a, b, …)", doc: "The texts that are not NULL with a separator between.", kinds: "t", ret: func(ctx *Context, op string, args []Expr) (Type, error) {
		t, err := retText(sumLengths)(ctx, op, args)
		t.Nullable = args[0].Type().Nullable
		return t, err
	}, nulls: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			var buf []byte
			return func(i int, out *vector.Vec) error {
				if ev.args[0].IsNull(i) {
					out.SetNull(i)
					return nil
				}
				buf = buf[:0]
				first := true
				for _, a := range ev.args[1:] {
					if a.IsNull(i) {
						continue
					}
					if !first {
						buf = append(buf, ev.args[0].Bytes(i)...)
					}
					first = false
					buf = append(buf, a.Bytes(i)...)
				}
				if ev.tooLong(int64(len(buf))) {
					out.SetNull(i)
					return nil
				}
				out.SetBytes(i, buf)
				return nil
			}
		}})
	fn(spec{name: "LEFT", min: 2, max: 2, class: "string", usage: "LEFT(s, n)", doc: "The first n characters.", kinds: "ti", ret: retText(firstLength, 0),
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			bin := ev.isBinary(0)
			return func(i int, out *vector.Vec) error {
				s := ev.args[0].Bytes(i)
				out.SetBytes(i, s[:offsetOf(s, max(clampInt(intAt(ev.args[1], i)), 0), bin)])
				return nil
			}
		}})
	fn(spec{name: "RIGHT", min: 2, max: 2, class: "string", usage: "RIGHT(s, n)", doc: "The last n characters.", kinds: "ti", ret: retText(firstLength, 0),
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			bin := ev.isBinary(0)
			return func(i int, out *vector.Vec) error {
				s := ev.args[0].Bytes(i)
				n := max(clampInt(intAt(ev.args[1], i)), 0)
				out.SetBytes(i, s[offsetOf(s, max(charCount(s, bin)-n, 0), bin):])
				return nil
			}
		}})
	fn(spec{name: "SUBSTRING", min: 2, max: 3, class: "string", usage: "SUBSTRING(s, pos[, len])", doc: "Characters from position pos, counted from 1, or from the end when negative.", kinds: "ti", ret: retText(firstLength, 0), body: substring})
	alias("SUBSTR", "SUBSTRING")
	alias("MID", "SUBSTRING")
	fn(spec{name: "SUBSTRING_INDEX", min: 3, max: 3, class: "string", usage: "SUBSTRING_INDEX(s, delim, n)", doc: "What is before the n-th delimiter, or after the n-th from the end when n is negative.", kinds: "tti", ret: retFirst(firstLength), body: substringIndex})
	trim := func(name, doc string, left, right bool) {
		for _, full := range []string{name, "TRIM " + name} {
			s := spec{name: full, min: 1, max: 1, class: "string", usage: name + "(s)", doc: doc, kinds: "t", ret: retFirst(firstLength),
				body: func(ev *evaluation) func(i int, out *vector.Vec) error {
					return func(i int, out *vector.Vec) error {
						s, cut := ev.args[0].Bytes(i), []byte{' '}
						if len(ev.args) > 1 {
							cut = ev.args[1].Bytes(i)
						}
						if len(cut) > 0 {
							for left && bytes.HasPrefix(s, cut) {
								s = s[len(cut):]
							}
							for right && bytes.HasSuffix(s, cut) {
								s = s[:len(s)-len(cut)]
							}
						}
						out.SetBytes(i, s)
						return nil
					}
				}}
			if full != name {
				s.max, s.class = 2, ""
			}
			fn(s)
		}
	}
	trim("TRIM", "s without blanks (or a text) at both ends: TRIM([BOTH | LEADING | TRAILING] [text FROM] s).", true, true)
	trim("LTRIM", "s without blanks at the start.", true, false)
	trim("RTRIM", "s without blanks at the end.", false, true)
	pad := func(name, doc string, left bool) {
		fn(spec{name: name, min: 3, max: 3, class: "string", usage: name + "(s, n, p)", doc: doc, kinds: "tit", ret: retFirst(longText), nullable: true,
			body: func(ev *evaluation) func(i int, out *vector.Vec) error {
				bin := ev.isBinary(0)
				return func(i int, out *vector.Vec) error {
					s, n, p := ev.args[0].Bytes(i), intAt(ev.args[1], i), ev.args[2].Bytes(i)
					if n < 0 {
						out.SetNull(i)
						return nil
					}
					have := charCount(s, bin)
					if n <= int64(have) {
						out.SetBytes(i, s[:offsetOf(s, int(n), bin)])
						return nil
					}
					if ev.tooLong(n) {
						out.SetNull(i)
						return nil
					}
					count := charCount(p, bin)
					if count == 0 {
						out.SetBytes(i, nil)
						return nil
					}
					need := int(n) - have
					fill := bytes.Repeat(p, need/count)
					fill = append(fill, p[:offsetOf(p, need%count, bin)]...)
					if left {
						out.SetBytes(i, append(fill, s...))
					} else {
						out.SetBytes(i, append(bytes.Clone(s), fill...))
					}
					return nil
				}
			}})
	}
	pad("LPAD", "s padded at the left with p, or cut, to n characters.", true)
	pad("RPAD", "s padded at the right with p, or cut, to n characters.", false)
	fn(spec{name: "REPEAT", min: 2, max: 2, class: "string", usage: "REPEAT(s, n)", doc: "s n times.", kinds: "ti", ret: retText(longText, 0), nullable: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				s, n := ev.args[0].Bytes(i), max(intAt(ev.args[1], i), 0)
				if len(s) > 0 && (n > int64(ev.ctx.MaxAllowedPacket) || n*int64(len(s)) > int64(ev.ctx.MaxAllowedPacket)) {
					ev.tooLong(math.MaxInt64)
					out.SetNull(i)
					return nil
				}
				if len(s) > 0 {
					out.SetBytes(i, bytes.Repeat(s, int(n)))
				}
				return nil
			}
		}})
	fn(spec{name: "SPACE", min: 1, max: 1, class: "string", usage: "SPACE(n)", doc: "n blanks.", kinds: "i", ret: retPlain(1 << 24), nullable: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				n := max(intAt(ev.args[0], i), 0)
				if ev.tooLong(n) {
					out.SetNull(i)
					return nil
				}
				out.SetBytes(i, bytes.Repeat([]byte{' '}, int(n)))
				return nil
			}
		}})
	fn(spec{name: "REPLACE", min: 3, max: 3, class: "string", usage: "REPLACE(s, from, to)", doc: "s with every from, compared byte by byte, replaced.", kinds: "t", ret: retFirst(longText), nullable: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				s, from, to := ev.args[0].Bytes(i), ev.args[1].Bytes(i), ev.args[2].Bytes(i)
				if len(from) > 0 {
					n := int64(len(s)) + int64(bytes.Count(s, from))*int64(len(to)-len(from))
					if ev.tooLong(n) {
						out.SetNull(i)
						return nil
					}
					s = bytes.ReplaceAll(s, from, to)
				}
				out.SetBytes(i, s)
				return nil
			}
		}})
	fn(spec{name: "INSERT", min: 4, max: 4, class: "string", usage: "INSERT(s, pos, len, new)", doc: "s with len characters from pos replaced by new.", kinds: "tiit", ret: retFirst(longText),
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				bin := ev.isBinary(0)
				s, pos, n, ins := ev.args[0].Bytes(i), clampInt(intAt(ev.args[1], i)), clampInt(intAt(ev.args[2], i)), ev.args[3].Bytes(i)
				count := charCount(s, bin)
				if pos < 1 || pos > count {
					out.SetBytes(i, s)
					return nil
				}
				if n < 0 || n > count-pos+1 {
					n = count - pos + 1
				}
				a := offsetOf(s, pos-1, bin)
				b := a + offsetOf(s[a:], n, bin)
				r := append(append(append([]byte(nil), s[:a]...), ins...), s[b:]...)
				out.SetBytes(i, r)
				return nil
			}
		}})
	fn(spec{name: "LOCATE", min: 2, max: 3, class: "string", usage: "LOCATE(sub, s[, pos])", doc: "The position of sub in s from pos, by collation; 0 when it is not there.", kinds: "tti", ret: retWithin(1), body: locate(0, 1)})
	alias("POSITION", "LOCATE")
	fn(spec{name: "INSTR", min: 2, max: 2, class: "string", usage: "INSTR(s, sub)", doc: "LOCATE with its arguments exchanged.", kinds: "tt", ret: retWithin(0), body: locate(1, 0)})
	fn(spec{name: "FIND_IN_SET", min: 2, max: 2, class: "string", usage: "FIND_IN_SET(s, list)", doc: "The position of s in a list with commas, 0 when it is not there.", kinds: "tt", ret: retPosition,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			c := ev.collation()
			return func(i int, out *vector.Vec) error {
				s, list := ev.args[0].Bytes(i), ev.args[1].Bytes(i)
				if len(list) == 0 || bytes.IndexByte(s, ',') >= 0 {
					return nil
				}
				for k, item := range bytes.Split(list, []byte{','}) {
					if c.same(s, item) {
						out.I64s[i] = int64(k + 1)
						break
					}
				}
				return nil
			}
		}})
	fn(spec{name: "SOUNDEX", min: 1, max: 1, class: "string", usage: "SOUNDEX(s)", doc: "How s sounds, in MySQL's variant of arbitrary length.", kinds: "t", ret: retText(func(args []Expr) int { return max(args[0].Type().Length, 4) }), body: textOf(soundex)})
	fn(spec{name: "QUOTE", min: 1, max: 1, class: "string", usage: "QUOTE(s)", doc: "s as a literal of SQL.", kinds: "t", ret: func(ctx *Context, op string, args []Expr) (Type, error) {
		t, err := retText(func(args []Expr) int { return 2*args[0].Type().Length + 2 })(ctx, op, args)
		if t.Class == Bytes {
			t.Class, t.Collation = String, ctx.collation()
		}
		t.Nullable = false
		return t, err
	}, nulls: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				if ev.args[0].IsNull(i) {
					out.SetBytes(i, []byte("NULL"))
					return nil
				}
				dst := []byte{'\''}
				for _, c := range ev.args[0].Bytes(i) {
					switch c {
					case '\'', '\\':
						dst = append(dst, '\\', c)
					case 0:
						dst = append(dst, '\\', '0')
					case 26:
						dst = append(dst, '\\', 'Z')
					default:
						dst = append(dst, c)
					}
				}
				out.SetBytes(i, append(dst, '\''))
				return nil
			}
		}})
	fn(spec{name: "CHAR", min: 1, max: -1, class: "string", usage: "CHAR(n, …)", doc: "The bytes of the numbers as a binary string; with USING as text.", kinds: "i", ret: func(_ *Context, _ string, args []Expr) (Type, error) {
		return TBytes(4 * len(args)).NotNull(), nil
	}, nulls: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				var dst []byte
				for _, a := range ev.args {
					if a.IsNull(i) {
						continue
					}
					x := uint32(intAt(a, i))
					for shift := 24; shift > 0; shift -= 8 {
						if x>>shift != 0 {
							dst = append(dst, byte(x>>shift))
						}
					}
					dst = append(dst, byte(x))
				}
				out.SetBytes(i, dst)
				return nil
			}
		}})
	fn(spec{name: "MAKE_SET", min: 2, max: -1, class: "string", usage: "MAKE_SET(bits, a, b, …)", doc: "The texts whose bits are set, with commas; NULLs are left out.", kinds: "it", ret: func(ctx *Context, op string, args []Expr) (Type, error) {
		t, err := retText(sumLengths)(ctx, op, args[1:])
		t.Nullable = args[0].Type().Nullable
		return t, err
	}, nulls: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				if ev.args[0].IsNull(i) {
					out.SetNull(i)
					return nil
				}
				bits := uint64(intAt(ev.args[0], i))
				var dst []byte
				first := true
				for k, a := range ev.args[1:] {
					if k < 64 && bits>>k&1 != 0 && !a.IsNull(i) {
						if !first {
							dst = append(dst, ',')
						}
						first = false
						dst = append(dst, a.Bytes(i)...)
					}
				}
				out.SetBytes(i, dst)
				return nil
			}
		}})
	fn(spec{name: "EXPORT_SET", min: 3, max: 5, class: "string", usage: "EXPORT_SET(bits, on, off[, sep[, n]])", doc: "The n lowest bits as texts, lowest first.", kinds: "ittti", ret: func(ctx *Context, op string, args []Expr) (Type, error) {
		return retText(longText, 1, 2, 3)(ctx, op, args)
	},
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				bits, sep, n := uint64(intAt(ev.args[0], i)), []byte{','}, int64(64)
				if len(ev.args) > 3 {
					sep = ev.args[3].Bytes(i)
				}
				if len(ev.args) > 4 {
					if n = intAt(ev.args[4], i); n < 0 || n > 64 {
						n = 64
					}
				}
				var dst []byte
				for k := range n {
					if k > 0 {
						dst = append(dst, sep...)
					}
					if bits>>k&1 != 0 {
						dst = append(dst, ev.args[1].Bytes(i)...)
					} else {
						dst = append(dst, ev.args[2].Bytes(i)...)
					}
				}
				out.SetBytes(i, dst)
				return nil
			}
		}})
}

// soundex follows MySQL's "original" algorithm: the first letter, then digits
// of consonants that differ from the one before, at least three.
func soundex(ev *evaluation, dst, s []byte) []byte {
	binary := ev.isBinary(0)
	const codes = "01230120022455012623010202" // A to Z; 0 is dropped, vowels included
	code := func(r rune) byte {
		if r >= 'a' && r <= 'z' {
			r -= 32
		}
		if r < 'A' || r > 'Z' {
			return '0'
		}
		return codes[r-'A']
	}
	letter := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0xC0 && !binary
	}
	last := byte(0)
	n := 0
	for _, r := range string(s) {
		if !letter(r) {
			continue
		}
		if n == 0 {
			if r < utf8.RuneSelf {
				r = unicode.ToUpper(r)
			}
			dst = utf8.AppendRune(dst, r)
			last = code(r)
			n++
			continue
		}
		c := code(r)
		if c != '0' && c != last {
			dst = append(dst, c)
			n++
		}
		if c != '0' || !isHW(r) {
			if c != '0' {
				last = c
			}
		}
	}
	for ; n > 0 && n < 4; n++ {
		dst = append(dst, '0')
	}
	return dst
}

func isHW(r rune) bool { return r == 'h' || r == 'H' || r == 'w' || r == 'W' }
