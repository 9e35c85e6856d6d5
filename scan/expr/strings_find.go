package expr

import (
	"bytes"

	"github.com/thermocline/thermocline/internal/vector"
)

// retPosition is BIGINT, after the collations of the two texts were merged.
func retPosition(ctx *Context, op string, args []Expr) (Type, error) {
	t, err := mergeCollations(lower(op), args[0].Type(), args[1].Type())
	if err != nil {
		return t, err
	}
	if t.Collation != "" {
		if _, err := findCollation(t.Collation); err != nil {
			return t, err
		}
	}
	return TBigInt, nil
}

// collation is the merged collation of the first two arguments.
func (ev *evaluation) collation() *collation {
	t, _ := mergeCollations("", ev.c.args[0].Type(), ev.c.args[1].Type())
	return collationOf(t).ready()
}

// retWithin is BIGINT of a search in argument in, whose collation compares.
func retWithin(in int) retFunc {
	return func(ctx *Context, op string, args []Expr) (Type, error) {
		if charsetOf(args[0].Type().Collation) != charsetOf(args[1].Type().Collation) {
			return retPosition(ctx, op, args)
		}
		return TBigInt, nil
	}
}

// collationWithin is the collation of a search in argument in.
func (ev *evaluation) collationWithin(in int) *collation {
	a, b := ev.c.args[0].Type(), ev.c.args[1].Type()
	if charsetOf(a.Collation) != charsetOf(b.Collation) {
		return ev.collation()
	}
	return collationOf(ev.c.args[in].Type()).ready()
}

func locate(sub, in int) body {
	return func(ev *evaluation) func(i int, out *vector.Vec) error {
		c := ev.collationWithin(in)
		bin := c.charset == "binary"
		return func(i int, out *vector.Vec) error {
			s, p, pos := ev.args[in].Bytes(i), ev.args[sub].Bytes(i), int64(1)
			if len(ev.args) > 2 {
				pos = intAt(ev.args[2], i)
			}
			count := int64(charCount(s, bin))
			if pos < 1 || pos > count+1 {
				return nil
			}
			at := offsetOf(s, int(pos-1), bin)
			if k := c.index(s[at:], p); k >= 0 {
				out.I64s[i] = pos + int64(charCount(s[at:at+k], bin))
			}
			return nil
		}
	}
}

// index is the byte offset of the first text in s that equals p, character by
// character, or -1.
func (c *collation) index(s, p []byte) int {
	if c.family == byBytes {
		return bytes.Index(s, p)
	}
	var runes []rune
	for _, r := range string(p) {
		runes = append(runes, r)
	}
	m := newLikeMatcher(c)
	for at := 0; ; {
		if _, ok := m.at(s[at:], runes); ok {
			return at
		}
		if at == len(s) {
			return -1
		}
		_, n := m.char(s[at:])
		at += n
	}
}
