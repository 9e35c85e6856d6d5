package roaring

import (
	"slices"
	"testing"
)

// FuzzAppend reads bytes as bitmaps of both layouts. What is read as a bitmap of
// 32-bit positions is written and read back as the same set.
func FuzzAppend(f *testing.F) {
	f.Add(Append32(nil, []uint32{1, 3, 5}))
	f.Add(Append32(nil, []uint32{1, 2, 3, 4, 5, 6, 7, 1 << 20, 1 << 30}))
	f.Add(make([]byte, 8))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := Parse64(b); err == nil && m.Cardinality() > 0 && m.Max() < 0 {
			t.Error("a bitmap without a largest position")
		}
		m, rest, err := ReadPrefix32(b)
		if err != nil {
			return
		}
		if len(rest) > len(b) {
			t.Fatal("more remains than there was")
		}
		set, err := m.AppendPositions(nil, 1<<20)
		if err != nil {
			return
		}
		if int64(len(set)) != m.Cardinality() || !slices.IsSorted(set) {
			t.Fatalf("%d positions of %d", len(set), m.Cardinality())
		}
		var small []uint32
		for _, p := range set {
			small = append(small, uint32(p))
		}
		again, err := Parse32(Append32(nil, small))
		if err != nil {
			t.Fatal(err)
		}
		back, err := again.AppendPositions(nil, 1<<20)
		if err != nil || !slices.Equal(back, set) {
			t.Fatalf("%d positions come back as %d: %v", len(set), len(back), err)
		}
	})
}
