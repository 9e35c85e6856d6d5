package expr

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/thermocline/thermocline/internal/vector"
)

// TestShortResults compares results that are computed in numbers of the machine with
// those of math/big, around all limits.
func TestShortResults(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	taken := 0
	for range 200_000 {
		s := &sumState{in: TDecimal(38, 2), out: TDecimal(38+r.IntN(3), 4), avg: r.IntN(20) - 1, cut: r.IntN(2) == 0, pad: r.IntN(3)}
		if r.IntN(2) == 0 {
			s.in = TBigInt
		}
		x := new(big.Int).SetUint64(r.Uint64())
		for range r.IntN(4) {
			x.Lsh(x, uint(r.IntN(64))).Add(x, new(big.Int).SetUint64(r.Uint64()))
		}
		x.Rsh(x, uint(r.IntN(64)))
		if r.IntN(3) == 0 { // near a power of two
			x = new(big.Int).Add(new(big.Int).Lsh(one, uint(r.IntN(140))), big.NewInt(int64(r.IntN(5)-2)))
		}
		if r.IntN(2) == 0 {
			x.Neg(x)
		}
		w, _ := vector.Int256FromBig(x) // 256 bits are enough for all of these
		n, fits := vector.Int128FromBig(x)
		if !fits && !s.isWide() {
			continue
		}
		s.wide, s.small = []vector.Int256{w}, []vector.Int128{n}
		s.counts = []int64{1 + r.Int64N(1<<uint(r.IntN(62)))}
		got, ok := s.short(0)
		if !ok {
			continue
		}
		taken++
		want := new(big.Int).Set(x)
		if s.avg >= 0 {
			want.Mul(want, pow10big(s.avg))
			if s.cut {
				want.Quo(want, big.NewInt(s.counts[0]))
			} else {
				want = divRound(want, big.NewInt(s.counts[0]))
			}
			want.Mul(want, pow10big(s.pad))
		}
		if got.Big().Cmp(want) != 0 {
			t.Fatalf("sum %s, count %d, %d digits, %d zeros, cut %v: %s, want %s", x, s.counts[0], s.avg, s.pad, s.cut, got.Big(), want)
		}
	}
	if taken < 20_000 {
		t.Errorf("only %d of the results were short", taken)
	}
}
