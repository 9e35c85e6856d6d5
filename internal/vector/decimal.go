package vector

import (
	"math/big"
	"strconv"
	"strings"
)

// Pow10 returns 10^n as a big integer that must not be changed; 0 <= n <= 130.
func Pow10(n int) *big.Int { return pow10[n] }

var pow10 = func() (p [131]*big.Int) {
	p[0] = big.NewInt(1)
	for i := 1; i < len(p); i++ {
		p[i] = new(big.Int).Mul(p[i-1], big.NewInt(10))
	}
	return p
}()

// DecimalKind returns the kind that holds the unscaled values of a decimal of
// precision p.
func DecimalKind(p int) Kind {
	switch {
	case p <= 18:
		return I64
	case p <= 38:
		return I128
	}
	return I256
}

// FormatDecimal appends the text of an unscaled int64 with scale fraction digits.
func FormatDecimal(dst []byte, unscaled int64, scale int) []byte {
	neg := unscaled < 0
	u := uint64(unscaled)
	if neg {
		u = -u
		dst = append(dst, '-')
	}
	return placePoint(dst, strconv.AppendUint(nil, u, 10), scale)
}

// FormatDecimalBig appends the text of a wide unscaled value.
func FormatDecimalBig(dst []byte, unscaled *big.Int, scale int) []byte {
	digits := unscaled.Append(nil, 10)
	if digits[0] == '-' {
		dst, digits = append(dst, '-'), digits[1:]
	}
	return placePoint(dst, digits, scale)
}

func placePoint(dst, digits []byte, scale int) []byte {
	if scale <= 0 {
		return append(dst, digits...)
	}
	if len(digits) <= scale {
		dst = append(dst, '0', '.')
		for range scale - len(digits) {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	dst = append(dst, digits[:len(digits)-scale]...)
	dst = append(dst, '.')
	return append(dst, digits[len(digits)-scale:]...)
}

// AppendDecimalText appends the text of row i of a decimal vector (I64, I128 or
// I256) of the given scale. The row must not be NULL.
func AppendDecimalText(dst []byte, v *Vec, i, scale int) []byte {
	i = v.At(i)
	v = v.Values()
	switch v.Kind {
	case I64:
		return FormatDecimal(dst, v.I64s[i], scale)
	case I128:
		if x := v.I128s[i]; x.IsInt64() {
			return FormatDecimal(dst, x.Int64(), scale)
		}
		return FormatDecimalBig(dst, v.I128s[i].Big(), scale)
	}
	return FormatDecimalBig(dst, v.I256s[i].Big(), scale)
}

// ParseDecimal reads plain decimal text ("-12.50", "1e3") as an unscaled value
// of scale digits. exact is false when digits had to be rounded (half away from
// zero); ok is false when s is not a number.
func ParseDecimal(s string, scale int) (unscaled *big.Int, exact, ok bool) {
	mant, exp := s, 0
	if e := strings.IndexAny(s, "eE"); e >= 0 {
		x, err := strconv.Atoi(s[e+1:])
		if err != nil || x > 1000 || x < -1000 {
			return nil, false, false
		}
		mant, exp = s[:e], x
	}
	neg := false
	if mant != "" && (mant[0] == '-' || mant[0] == '+') {
		neg, mant = mant[0] == '-', mant[1:]
	}
	whole, frac, _ := strings.Cut(mant, ".")
	digits := whole + frac
	if digits == "" || len(digits) > 2000 {
		return nil, false, false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return nil, false, false
		}
	}
	v, _ := new(big.Int).SetString(digits, 10)
	shift := scale - len(frac) + exp
	exact = true
	if shift >= 0 {
		v.Mul(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(shift)), nil))
	} else {
		div := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-shift)), nil)
		rem := new(big.Int)
		v.QuoRem(v, div, rem)
		exact = rem.Sign() == 0
		if rem.Lsh(rem, 1).Cmp(div) >= 0 {
			v.Add(v, big.NewInt(1))
		}
	}
	if neg {
		v.Neg(v)
	}
	return v, exact, true
}

// AppendDecimal adds an unscaled value to a Flat decimal vector. It reports
// false, and appends nothing, when the value does not fit the kind.
func (v *Vec) AppendDecimal(unscaled *big.Int) bool {
	switch v.Kind {
	case I64:
		if !unscaled.IsInt64() {
			return false
		}
		v.AppendI64(unscaled.Int64())
	case I128:
		x, ok := Int128FromBig(unscaled)
		if !ok {
			return false
		}
		v.AppendI128(x)
	default:
		x, ok := Int256FromBig(unscaled)
		if !ok {
			return false
		}
		v.AppendI256(x)
	}
	return true
}
