package merge

import (
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/roaring"
)

// TestUniteBitmaps joins random sets: the union, in its one form.
func TestUniteBitmaps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var sets [2][]uint32
		for i := range sets {
			for range r.IntN(50) {
				at, n := r.Uint32N(1<<18), r.Uint32N(1+r.Uint32N(200))
				for k := range n + 1 {
					sets[i] = append(sets[i], at+k)
				}
			}
			slices.Sort(sets[i])
			sets[i] = slices.Compact(sets[i])
		}
		all := slices.Concat(sets[0], sets[1])
		slices.Sort(all)
		all = slices.Compact(all)
		got, err := uniteBitmaps(nil, roaring.Append32(nil, sets[0]), roaring.Append32(nil, sets[1]))
		if errs.ClassOf(err) == errs.Unsupported && err != nil && tied(all) {
			continue
		}
		if want := roaring.Append32(nil, all); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v", err)
		}
	}
}

// FuzzUnite: any bytes give a set or an error.
func FuzzUnite(f *testing.F) {
	one, _ := hex.DecodeString("02030300001acc930200000000" + "00803f" + "01000000000000000200000000000000")
	f.Add(one, one)
	f.Add(roaring.Append32(nil, []uint32{1, 2, 3}), roaring.Append32(nil, []uint32{1 << 20}))
	f.Fuzz(func(t *testing.T, x, y []byte) {
		if out, err := uniteThetas(nil, x, y); err == nil {
			if again, err := uniteThetas(nil, out, out); err != nil || !slices.Equal(again, out) {
				t.Errorf("%x with itself: %x, %v", out, again, err)
			}
		}
		if out, err := uniteBitmaps(nil, x, y); err == nil {
			if _, err := roaring.Parse32(out); err != nil {
				t.Error(err)
			}
		}
	})
}
