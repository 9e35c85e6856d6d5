package vector

import (
	"encoding/binary"
	"math/big"
	"math/bits"
)

// Int128 is a two's complement integer in Arrow's decimal128 layout.
type Int128 struct {
	Lo uint64
	Hi int64
}

// Int256 is a two's complement integer, least significant word first: Arrow's
// decimal256 layout.
type Int256 [4]uint64

// Int128From widens x.
func Int128From(x int64) Int128 { return Int128{Lo: uint64(x), Hi: x >> 63} }

// Int128FromUint widens x.
func Int128FromUint(x uint64) Int128 { return Int128{Lo: x} }

// Sign returns -1, 0 or 1.
func (x Int128) Sign() int {
	switch {
	case x.Hi < 0:
		return -1
	case x.Hi == 0 && x.Lo == 0:
		return 0
	}
	return 1
}

// Cmp orders x against y.
func (x Int128) Cmp(y Int128) int {
	if x.Hi != y.Hi {
		if x.Hi < y.Hi {
			return -1
		}
		return 1
	}
	if x.Lo != y.Lo {
		if x.Lo < y.Lo {
			return -1
		}
		return 1
	}
	return 0
}

// Add returns x + y modulo 2^128.
func (x Int128) Add(y Int128) Int128 {
	lo, c := bits.Add64(x.Lo, y.Lo, 0)
	hi, _ := bits.Add64(uint64(x.Hi), uint64(y.Hi), c)
	return Int128{lo, int64(hi)}
}

// Neg returns -x modulo 2^128.
func (x Int128) Neg() Int128 {
	lo, b := bits.Sub64(0, x.Lo, 0)
	hi, _ := bits.Sub64(0, uint64(x.Hi), b)
	return Int128{lo, int64(hi)}
}

// Sub returns x - y modulo 2^128.
func (x Int128) Sub(y Int128) Int128 { return x.Add(y.Neg()) }

// IsInt64 reports whether x fits in an int64.
func (x Int128) IsInt64() bool { return x.Hi == int64(x.Lo)>>63 }

// Int64 returns the low 64 bits as an int64; check IsInt64 first.
func (x Int128) Int64() int64 { return int64(x.Lo) }

// Big returns x as a big integer.
func (x Int128) Big() *big.Int {
	if x.IsInt64() {
		return big.NewInt(x.Int64())
	}
	b := new(big.Int).SetInt64(x.Hi)
	b.Lsh(b, 64)
	return b.Add(b, new(big.Int).SetUint64(x.Lo))
}

// Int128FromBig returns b and whether it fits.
func Int128FromBig(b *big.Int) (Int128, bool) {
	if b.IsInt64() {
		return Int128From(b.Int64()), true
	}
	w, ok := Int256FromBig(b)
	if !ok {
		return Int128{}, false
	}
	ext := uint64(int64(w[1]) >> 63)
	return Int128{w[0], int64(w[1])}, w[2] == ext && w[3] == ext
}

// Int128FromBigEndian reads a two's complement number of any length, 0 when it is
// empty, and reports whether it fits.
func Int128FromBigEndian(b []byte) (Int128, bool) {
	if len(b) == 0 {
		return Int128{}, true
	}
	sign := byte(int8(b[0]) >> 7)
	for len(b) > 16 {
		if b[0] != sign {
			return Int128{}, false
		}
		b = b[1:]
	}
	var x [16]byte
	for i := range x[:16-len(b)] {
		x[i] = sign
	}
	copy(x[16-len(b):], b)
	r := Int128{Hi: int64(binary.BigEndian.Uint64(x[:8])), Lo: binary.BigEndian.Uint64(x[8:])}
	return r, byte(r.Hi>>63) == sign
}

// Int256From widens x.
func Int256From(x Int128) Int256 {
	e := uint64(x.Hi >> 63)
	return Int256{x.Lo, uint64(x.Hi), e, e}
}

// Sign returns -1, 0 or 1.
func (x Int256) Sign() int {
	if int64(x[3]) < 0 {
		return -1
	}
	if x == (Int256{}) {
		return 0
	}
	return 1
}

// Cmp orders x against y.
func (x Int256) Cmp(y Int256) int {
	if x[3] != y[3] {
		if int64(x[3]) < int64(y[3]) {
			return -1
		}
		return 1
	}
	for i := 2; i >= 0; i-- {
		if x[i] != y[i] {
			if x[i] < y[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// Add returns x + y modulo 2^256.
func (x Int256) Add(y Int256) (z Int256) {
	var c uint64
	for i := range x {
		z[i], c = bits.Add64(x[i], y[i], c)
	}
	return z
}

// Neg returns -x modulo 2^256.
func (x Int256) Neg() (z Int256) {
	var b uint64
	for i := range x {
		z[i], b = bits.Sub64(0, x[i], b)
	}
	return z
}

// Big returns x as a big integer.
func (x Int256) Big() *big.Int {
	neg := x.Sign() < 0
	if neg {
		x = x.Neg()
	}
	b := new(big.Int)
	for i := 3; i >= 0; i-- {
		b.Lsh(b, 64)
		b.Or(b, new(big.Int).SetUint64(x[i]))
	}
	if neg {
		b.Neg(b)
	}
	return b
}

// Int256FromBig returns b and whether it fits.
func Int256FromBig(b *big.Int) (x Int256, ok bool) {
	if b.BitLen() > 255 {
		return x, false
	}
	abs := new(big.Int).Abs(b)
	mask := new(big.Int).SetUint64(^uint64(0))
	for i := range x {
		x[i] = new(big.Int).And(abs, mask).Uint64()
		abs.Rsh(abs, 64)
	}
	if b.Sign() < 0 {
		x = x.Neg()
	}
	return x, true
}
