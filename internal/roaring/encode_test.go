package roaring

import (
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAppend32 writes random sets, thin, thick and in stretches, and reads them
// back; the bytes of small ones are those of the reference libraries.
func TestAppend32(t *testing.T) {
	for want, set := range map[string][]uint32{
		"3a30000000000000": nil,
		"3a3000000100000000000200100000000100" + "03000500": {1, 3, 5},
		"3b3000000100" + "00e70301000000e703":               nil,
	} {
		if want[:4] == "3b30" {
			set = nil
			for i := range uint32(1000) {
				set = append(set, i)
			}
		}
		if got := hex.EncodeToString(Append32(nil, set)); got != want {
			t.Errorf("%v: %s, want %s", len(set), got, want)
		}
	}
	r := rand.New(rand.NewPCG(8, 9))
	for range 200 {
		var set []uint32
		at := r.Uint32N(1 << 20)
		for range r.IntN(20) {
			switch r.IntN(3) {
			case 0: // a stretch
				for range r.IntN(20000) {
					at++
					set = append(set, at)
				}
			case 1: // thick
				for range r.IntN(20000) {
					at += 1 + r.Uint32N(3)
					set = append(set, at)
				}
			default:
				for range r.IntN(50) {
					at += 1 + r.Uint32N(1<<17)
					set = append(set, at)
				}
			}
		}
		b := Append32([]byte("head"), set)
		m, rest, err := ReadPrefix32(append(b[4:], "tail"...))
		if err != nil || string(rest) != "tail" || m.Cardinality() != int64(len(set)) {
			t.Fatal(err, len(rest), m, len(set))
		}
		got, err := m.AppendPositions(nil, int64(len(set)))
		if err != nil {
			t.Fatal(err)
		}
		want := make([]int64, len(set))
		for i, p := range set {
			want[i] = int64(p)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d positions come back as %d", len(want), len(got))
		}
		if len(set) > 0 {
			if _, err := m.AppendPositions(nil, int64(len(set))-1); err == nil {
				t.Fatal("no limit")
			}
		}
	}
}
