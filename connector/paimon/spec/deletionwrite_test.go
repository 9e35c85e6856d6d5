package spec

import (
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"
)

// The blocks are those of the format's reference for positions 1, 3 and 5.
func TestAppendDeletionVector(t *testing.T) {
	for wide, want := range map[bool]string{
		false: "010000001a5e43f2d03a3000000100000000000200100000000100030005" + "00f39291eb",
		true:  "0100000026d1d339640100000000000000000000003a3000000100000000000200100000000100030005005a9e5d39",
	} {
		b, r := AppendDeletionVector([]byte{DeletionFileVersion}, "f", []uint32{1, 3, 5}, wide)
		if hex.EncodeToString(b) != want || r.Offset != 1 || r.Cardinality.V != 3 {
			t.Errorf("wide %v: %x, want %s; %+v", wide, b, want, r)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var set []uint32
		for n := r.IntN(5000); len(set) < n; {
			set = append(set, r.Uint32N(1+r.Uint32N(1<<20)))
		}
		set = append(set, 7)
		slices.Sort(set)
		set = slices.Compact(set)
		wide := r.IntN(2) == 0
		b, rg := AppendDeletionVector([]byte{DeletionFileVersion}, "f", set, wide)
		at, n := rg.DeletionBlock()
		m, err := ReadDeletionVector(b[at:min(at+n, int64(len(b)))], &rg)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.AppendPositions(nil, 1<<30)
		if err != nil || len(got) != len(set) {
			t.Fatalf("%d positions, want %d: %v", len(got), len(set), err)
		}
		for i := range set {
			if got[i] != int64(set[i]) {
				t.Fatalf("position %d is %d, want %d", i, got[i], set[i])
			}
		}
	}
}
