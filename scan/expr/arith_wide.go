package expr

import (
	"math/bits"

	"github.com/thermocline/thermocline/internal/vector"
)

// mul64 is x * y in 128 bits.
func mul64(x, y int64) vector.Int128 {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	h := int64(hi)
	if x < 0 {
		h -= y
	}
	if y < 0 {
		h -= x
	}
	return vector.Int128{Lo: lo, Hi: h}
}

// mul128 is x * y modulo 2^128.
func mul128(x, y vector.Int128) vector.Int128 {
	hi, lo := bits.Mul64(x.Lo, y.Lo)
	hi += x.Lo*uint64(y.Hi) + uint64(x.Hi)*y.Lo
	return vector.Int128{Lo: lo, Hi: int64(hi)}
}

// mulWide is x * y: two factors of 128 bits have room in 256.
func mulWide(x, y vector.Int128) (z vector.Int256) {
	xl, yl := x.Lo, y.Lo
	xh, yh := uint64(x.Hi), uint64(y.Hi)
	var c uint64
	z[1], z[0] = bits.Mul64(xl, yl)
	h1, l1 := bits.Mul64(xl, yh)
	h2, l2 := bits.Mul64(xh, yl)
	z[3], z[2] = bits.Mul64(xh, yh)
	z[1], c = bits.Add64(z[1], l1, 0)
	z[2], c = bits.Add64(z[2], h1, c)
	z[3] += c
	z[1], c = bits.Add64(z[1], l2, 0)
	z[2], c = bits.Add64(z[2], h2, c)
	z[3] += c
	// That was the product of the bit patterns; a negative factor's is 2^128 too
	// great.
	if x.Hi < 0 {
		z[2], c = bits.Sub64(z[2], yl, 0)
		z[3], _ = bits.Sub64(z[3], yh, c)
	}
	if y.Hi < 0 {
		z[2], c = bits.Sub64(z[2], xl, 0)
		z[3], _ = bits.Sub64(z[3], xh, c)
	}
	return z
}

// mulLong multiplies numbers of 128 and 64 bits for the rows that count.
func mulLong(ev *evaluation, out []vector.Int256, a, b *vector.Vec) {
	x, xm := i128s(a)
	y, ym := i64s(b)
	one := func(i int) {
		p, q := x[i&xm], y[i&ym]
		if p.IsInt64() { // most are: a product of two factors of few digits
			z := mul64(int64(p.Lo), q)
			e := uint64(z.Hi >> 63)
			out[i] = vector.Int256{z.Lo, uint64(z.Hi), e, e}
			return
		}
		out[i] = mulWide(p, vector.Int128From(q))
	}
	if sel := ev.sel; sel != nil {
		for _, i := range sel {
			one(int(i))
		}
		return
	}
	for i := range out {
		one(i)
	}
}
