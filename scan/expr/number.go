package expr

import (
	"math"
	"math/big"
	"strconv"

	"github.com/thermocline/thermocline/internal/vector"
)

// This file reads numbers from text as MySQL does, and prints doubles.

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// skipSpaces returns the position of the first byte that is no white space.
func skipSpaces(s []byte) int {
	i := 0
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

// onlySpaces reports whether s is blank.
func onlySpaces(s []byte) bool { return skipSpaces(s) == len(s) }

// numberPrefix returns the extent of the longest prefix of s, after white
// space, that is a number: sign, digits, fraction, exponent. start == end when
// there is none.
func numberPrefix(s []byte) (start, end int) {
	start = skipSpaces(s)
	i := start
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	digits := 0
	for i < len(s) && isDigit(s[i]) {
		i++
		digits++
	}
	if i < len(s) && s[i] == '.' {
		j := i + 1
		for j < len(s) && isDigit(s[j]) {
			j++
			digits++
		}
		if j > i+1 || digits > 0 {
			i = j
		}
	}
	if digits == 0 {
		return start, start
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			j++
		}
		k := j
		for k < len(s) && isDigit(s[k]) {
			k++
		}
		if k > j {
			i = k
		}
	}
	return start, i
}

// parseDouble reads the longest numeric prefix of s as a double; clean is false
// when text other than white space follows, when there is no number (an empty
// text included), or when the number is too large, which gives ±MaxFloat64.
func parseDouble(s []byte) (x float64, clean bool) {
	start, end := numberPrefix(s)
	if start == end {
		return 0, false
	}
	x, err := strconv.ParseFloat(string(s[start:end]), 64)
	clean = onlySpaces(s[end:])
	if err != nil {
		if math.IsInf(x, 0) {
			return math.Copysign(math.MaxFloat64, x), false
		}
	}
	return x, clean
}

// parseInt reads the integer prefix of s, as CAST(s AS SIGNED | UNSIGNED) does:
// bits is the value, neg tells its sign. Beyond the range it saturates and is
// not clean.
func parseInt(s []byte, unsigned bool) (bits int64, neg, clean bool) {
	i := skipSpaces(s)
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
		i++
	}
	start := i
	var u uint64
	over := false
	for i < len(s) && isDigit(s[i]) {
		d := uint64(s[i] - '0')
		if u > (math.MaxUint64-d)/10 {
			over = true
		} else if !over {
			u = u*10 + d
		}
		i++
	}
	clean = i > start && onlySpaces(s[i:])
	switch {
	case neg && (over || u > 1<<63):
		return math.MinInt64, true, false
	case neg:
		return -int64(u), true, clean
	case over:
		return -1, false, false // all bits: 18446744073709551615, also as CAST AS SIGNED gives -1
	}
	return int64(u), false, clean
}

// roundToInt rounds half to even (C's rint) and saturates.
func roundToInt(x float64, unsigned bool) (int64, bool) {
	r := math.RoundToEven(x)
	if unsigned {
		switch {
		case math.IsNaN(r):
			return 0, false
		case r >= 18446744073709551616.0:
			return -1, false
		case r < 0:
			if r < -9223372036854775808.0 {
				return math.MinInt64, false
			}
			return int64(r), r == 0
		}
		return int64(uint64(r)), true
	}
	switch {
	case math.IsNaN(r):
		return 0, false
	case r >= 9223372036854775808.0:
		return math.MaxInt64, false
	case r < -9223372036854775808.0:
		return math.MinInt64, false
	}
	return int64(r), true
}

// appendDouble prints x as MySQL does: the shortest digits that read back to x,
// in plain notation for exponents of -15 to 14, else as 1.5e300.
func appendDouble(dst []byte, x float64) []byte { return appendFloat(dst, x, 64) }

// appendFloat32 prints a FLOAT: at most six significant digits.
func appendFloat32(dst []byte, x float32) []byte { return appendFloat(dst, float64(x), 32) }

func appendFloat(dst []byte, x float64, bits int) []byte {
	switch {
	case x == 0:
		if math.Signbit(x) {
			dst = append(dst, '-')
		}
		return append(dst, '0')
	case math.IsNaN(x):
		return append(dst, "NaN"...)
	case math.IsInf(x, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(x, -1):
		return append(dst, "-Infinity"...)
	}
	var buf [40]byte
	prec := -1
	if bits == 32 {
		prec = 5
	}
	e := strconv.AppendFloat(buf[:0], x, 'e', prec, 64)
	if e[0] == '-' {
		dst, e = append(dst, '-'), e[1:]
	}
	// d.ddde±xx
	at := len(e) - 1
	for e[at] != 'e' {
		at--
	}
	exp, _ := strconv.Atoi(string(e[at+1:]))
	digits := append(make([]byte, 0, 20), e[0])
	if at > 2 {
		digits = append(digits, e[2:at]...)
	}
	for len(digits) > 1 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	point := exp + 1 // position of the decimal point in digits
	if point >= -14 && (point <= 15 || len(digits) > point) {
		switch {
		case point <= 0:
			dst = append(dst, '0', '.')
			for range -point {
				dst = append(dst, '0')
			}
			return append(dst, digits...)
		case point >= len(digits):
			dst = append(dst, digits...)
			for range point - len(digits) {
				dst = append(dst, '0')
			}
			return dst
		}
		dst = append(dst, digits[:point]...)
		dst = append(dst, '.')
		return append(dst, digits[point:]...)
	}
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(dst, '.')
		dst = append(dst, digits[1:]...)
	}
	dst = append(dst, 'e')
	return strconv.AppendInt(dst, int64(exp), 10)
}

// dec is an exact decimal on its way between representations.
type dec struct {
	unscaled *big.Int
	scale    int
}

// parseDec reads the longest numeric prefix of s, exponent included; clean as
// in parseDouble.
func parseDec(s []byte) (d dec, clean bool) {
	start, end := numberPrefix(s)
	if start == end {
		return dec{new(big.Int), 0}, false
	}
	clean = onlySpaces(s[end:])
	digits, scale, exp := make([]byte, 0, end-start), 0, 0
	seen := false
	for i := start; i < end; i++ {
		switch c := s[i]; {
		case c == '.':
			seen = true
		case c == 'e' || c == 'E':
			x, err := strconv.Atoi(string(s[i+1 : end]))
			if err != nil || x > 400 {
				x = 400
				clean = false
			} else if x < -400 {
				x = -400
			}
			exp = x
			i = end
		case c == '+':
		default:
			digits = append(digits, c)
			if seen {
				scale++
			}
		}
	}
	u, ok := new(big.Int).SetString(string(digits), 10)
	if !ok {
		return dec{new(big.Int), 0}, false
	}
	scale -= exp
	if scale < 0 {
		u.Mul(u, pow10big(-scale))
		scale = 0
	}
	return dec{u, scale}, clean
}

func pow10big(n int) *big.Int {
	if n <= 130 {
		return vector.Pow10(n)
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// rescale returns d's unscaled value at another scale, rounded half away from
// zero.
func (d dec) rescale(scale int) *big.Int {
	switch {
	case scale == d.scale:
		return d.unscaled
	case scale > d.scale:
		return new(big.Int).Mul(d.unscaled, pow10big(scale-d.scale))
	}
	return divRound(d.unscaled, pow10big(d.scale-scale))
}

// divRound returns x / y rounded half away from zero.
func divRound(x, y *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(x, y, new(big.Int))
	r.Abs(r).Lsh(r, 1)
	if r.CmpAbs(y) >= 0 {
		if (x.Sign() < 0) != (y.Sign() < 0) {
			q.Sub(q, one)
		} else {
			q.Add(q, one)
		}
	}
	return q
}

var one = big.NewInt(1)

// digits returns the number of decimal digits of |x|, 1 for 0.
func bigDigits(x *big.Int) int {
	if x.Sign() == 0 {
		return 1
	}
	n := int(float64(x.BitLen()) * 0.30103)
	for n > 0 && x.CmpAbs(pow10big(n)) < 0 {
		n--
	}
	return n + 1
}

// doubleToDec reads the shortest decimal text of x.
func doubleToDec(x float64) dec {
	if math.IsNaN(x) {
		return dec{new(big.Int), 0}
	}
	if math.IsInf(x, 0) {
		u := new(big.Int).Set(pow10big(90))
		if x < 0 {
			u.Neg(u)
		}
		return dec{u, 0}
	}
	d, _ := parseDec(strconv.AppendFloat(nil, x, 'e', -1, 64))
	return d
}

// float returns the double nearest to d.
func (d dec) float() float64 {
	if d.unscaled.IsInt64() && d.scale <= 22 {
		u := d.unscaled.Int64()
		if u > -1<<53 && u < 1<<53 {
			return float64(u) / pow10f[d.scale]
		}
	}
	f, _ := strconv.ParseFloat(d.unscaled.String()+"e-"+strconv.Itoa(d.scale), 64)
	return f
}

var pow10f = [23]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

var pow10i = [19]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}
