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
