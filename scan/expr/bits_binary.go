package expr

import (
	"bytes"
	"math/bits"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Bit operations on binary strings give binary strings of the same length. They
// are what they are when an operand is a binary string that is not written as a
// hexadecimal or bit literal, and none is a number.

// binaryBits reports whether bit operations on these operands are on strings.
func binaryBits(args ...Expr) bool {
	plain := false
	for _, a := range args {
		t := a.Type()
		if t.Class == Null {
			continue
		}
		if t.Class != Bytes {
			return false
		}
		l, ok := a.(*LiteralExpr)
		plain = plain || !(ok && l.hex)
	}
	return plain
}

// bitwiseBytes is a & b, a | b, a ^ b of binary strings.
func bitwiseBytes(op string, a, b Expr) Expr {
	t := TBytes(max(a.Type().Length, b.Type().Length))
	t.Nullable = a.Type().Nullable || b.Type().Nullable
	return newCall(op, t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.Str)
		var buf []byte
		return out, ev.each(func(i int) error {
			x, y := ev.args[0].Bytes(i), ev.args[1].Bytes(i)
			if len(x) != len(y) {
				return errs.Userf(errs.BitLength, "Binary operands of bitwise operators must be of equal length")
			}
			buf = append(buf[:0], x...)
			for k, c := range y {
				switch op {
				case "&":
					buf[k] &= c
				case "|":
					buf[k] |= c
				default:
					buf[k] ^= c
				}
			}
			out.SetBytes(i, buf)
			return nil
		})
	}, a, b)
}

// complementBytes is ~a of a binary string.
func complementBytes(a Expr) Expr {
	t := TBytes(a.Type().Length)
	t.Nullable = a.Type().Nullable
	return newCall("~", t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.Str)
		ev.rows(func(i int) {
			s := bytes.Clone(ev.args[0].Bytes(i))
			for k := range s {
				s[k] = ^s[k]
			}
			out.SetBytes(i, s)
		})
		return out, nil
	}, a)
}

// shiftBytes is a << n and a >> n of a binary string.
func shiftBytes(ctx *Context, op string, a, n Expr) Expr {
	t := TBytes(a.Type().Length)
	t.Nullable = a.Type().Nullable || n.Type().Nullable
	return newCall(op, t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.Str)
		by, mask := i64s(ev.args[1])
		ev.rows(func(i int) {
			s := ev.args[0].Bytes(i)
			shifted := make([]byte, len(s))
			if n := uint64(by[i&mask]); n < 8*uint64(len(s)) {
				whole, part := int(n/8), uint(n%8)
				for k := range s {
					from, beside := k+whole, k+whole+1
					if op == ">>" {
						from, beside = k-whole, k-whole-1
					}
					at := func(j int) uint {
						if j < 0 || j >= len(s) {
							return 0
						}
						return uint(s[j])
					}
					if op == "<<" {
						shifted[k] = byte(at(from)<<part | at(beside)>>(8-part))
					} else {
						shifted[k] = byte(at(from)>>part | at(beside)<<(8-part))
					}
				}
			}
			out.SetBytes(i, shifted)
		})
		return out, nil
	}, a, convert(ctx, n, bitInt(n)))
}

// countBits is BIT_COUNT of a binary string.
func countBits(a Expr) Expr {
	return newCall("BIT_COUNT", TBigInt, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		ev.rows(func(i int) {
			for _, b := range ev.args[0].Bytes(i) {
				out.I64s[i] += int64(bits.OnesCount8(b))
			}
		})
		return out, nil
	}, a)
}
