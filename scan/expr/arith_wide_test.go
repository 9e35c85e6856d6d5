package expr

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/thermocline/thermocline/internal/vector"
)

// TestMulWide compares products of 128-bit numbers with math/big's.
func TestMulWide(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	edges := []vector.Int128{{}, {Lo: 1}, {Lo: ^uint64(0), Hi: -1}, {Lo: ^uint64(0)}, {Hi: 1}, {Hi: -1}, {Hi: -1 << 63}, {Lo: ^uint64(0), Hi: 1<<63 - 1}}
	next := func(i int) vector.Int128 {
		if i < len(edges) {
			return edges[i]
		}
		x := vector.Int128{Lo: r.Uint64(), Hi: int64(r.Uint64())}
		if i%3 == 0 {
			x = vector.Int128From(int64(x.Lo) >> (i % 60))
		}
		return x
	}
	for i := range 200 {
		for k := range 200 {
			x, y := next(i), next(k)
			want := new(big.Int).Mul(x.Big(), y.Big())
			if got := mulWide(x, y).Big(); got.Cmp(want) != 0 {
				t.Fatalf("%s * %s = %s, want %s", x.Big(), y.Big(), got, want)
			}
		}
	}
}
