package merge

import (
	"math"
	"math/big"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/vector"
)

func bigintOf(x int64) value {
	v := vector.New(vector.I64, 1)
	v.AppendI64(x)
	return value{v, 0}
}

// TestIntegers computes at the ends of BIGINT's range and compares with big
// integers.
func TestIntegers(t *testing.T) {
	edges := []int64{math.MinInt64, math.MinInt64 + 1, -1 << 32, -2, -1, 0, 1, 2, 3, 1 << 31, 1 << 32, math.MaxInt64 - 1, math.MaxInt64}
	ops := map[byte]func(z, x, y *big.Int) *big.Int{'+': (*big.Int).Add, '-': (*big.Int).Sub, '*': (*big.Int).Mul, '/': (*big.Int).Quo}
	for op, exact := range ops {
		f := integers(catalog.TBigInt, op)
		for _, x := range edges {
			for _, y := range edges {
				c := &cell{typ: catalog.TBigInt}
				got, err := f(c, bigintOf(x), bigintOf(y))
				if op == '/' && y == 0 {
					if err == nil {
						t.Errorf("%d / 0 = %d", x, integerOf(got))
					}
					continue
				}
				want := exact(new(big.Int), big.NewInt(x), big.NewInt(y))
				if want.IsInt64() != (err == nil) || err == nil && integerOf(got) != want.Int64() {
					t.Errorf("%d %c %d: %v, want %s", x, op, y, err, want)
				}
			}
		}
	}
}

// TestDecimals checks rounding, overflow to NULL, and Java's sums of at most 18
// digits, which keep what is too large for the type.
func TestDecimals(t *testing.T) {
	for _, c := range []struct {
		precision, scale int
		op               byte
		x, y, want       int64
		null, fails      bool
	}{
		{4, 1, '+', 9990, 9990, 19980, false, false},
		{4, 1, '-', -9990, 9990, -19980, false, false},
		{4, 1, '*', 15, 15, 23, false, false}, // 2.25
		{4, 1, '*', -15, 15, -23, false, false},
		{4, 1, '*', 9990, 20, 0, true, false},
		{4, 1, '/', 10, 40, 3, false, false}, // 0.25
		{4, 1, '/', -10, 40, -3, false, false},
		{4, 1, '/', 10, -40, -3, false, false},
		{4, 1, '/', 10, 30, 0, false, true}, // no last digit
		{4, 1, '/', 10, 0, 0, false, true},
	} {
		typ := catalog.TDecimal(c.precision, c.scale)
		got, err := decimals(typ, c.op)(&cell{typ: typ}, bigintOf(c.x), bigintOf(c.y))
		if (err != nil) != c.fails || err == nil && (got.null() != c.null || !c.null && integerOf(got) != c.want) {
			t.Errorf("%+v: %v %v", c, got, err)
		}
	}
}

// TestHashOrder puts numbers into the order of java.util.HashSet: by the low
// bits, in a table that grows with the thirteenth.
func TestHashOrder(t *testing.T) {
	list := []value{bigintOf(33), bigintOf(17), bigintOf(1), bigintOf(16), bigintOf(-1)}
	hashOrder(list, len(list), elementHash(catalog.TBigInt))
	want := []int64{16, -1, 33, 17, 1} // -1 folds to 0
	for i, x := range list {
		if integerOf(x) != want[i] {
			t.Fatalf("%d: %d, want %d", i, integerOf(x), want[i])
		}
	}
	hashOrder(list, 13, elementHash(catalog.TBigInt))
	for i, w := range []int64{-1, 33, 1, 16, 17} {
		if integerOf(list[i]) != w {
			t.Fatalf("%d: %d, want %d", i, integerOf(list[i]), w)
		}
	}
}

func TestBlank(t *testing.T) {
	for s, want := range map[string]bool{"": true, " \t\r\n\x1c": true, "\u2003\u3000": true, "\u00a0": false, "\u202f": false, " a": false, "\x00": false} {
		if blank([]byte(s)) != want {
			t.Errorf("%q", s)
		}
	}
}
