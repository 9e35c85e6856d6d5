package roaring

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"
)

// positions lists a set by masks of the given width.
func positions(m *Bitmap, width int) (out []int64) {
	if m.Max() > 1<<22 {
		return nil
	}
	for from := int64(0); from <= m.Max(); from += int64(width) {
		mask := make([]uint64, (width+63)/64)
		n := m.Mask(mask, from, width)
		for i := range width {
			if mask[i/64]&(1<<(i%64)) != 0 {
				out = append(out, from+int64(i))
				n--
			}
		}
		if n != 0 {
			panic("Mask counts other bits than it sets")
		}
	}
	return out
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPublished reads bitmaps that the reference libraries write.
func TestPublished(t *testing.T) {
	m, err := Parse32(unhex(t, "3a3000000100000000000200100000000100"+"03000500"))
	if err != nil || !slices.Equal(positions(m, 2), []int64{1, 3, 5}) || m.Cardinality() != 3 || m.Max() != 5 {
		t.Fatal(m, err)
	}
	m, err = Parse32(unhex(t, "3b30000001"+"0000e703"+"01000000e703"))
	if err != nil || len(positions(m, 100)) != 1000 || m.Cardinality() != 1000 || m.Max() != 999 {
		t.Fatal(m, err)
	}
	m, err = Parse64(unhex(t, "0100000000000000"+"00000000"+"3a3000000100000000000200100000000100"+"03000500"))
	if err != nil || !slices.Equal(positions(m, 64), []int64{1, 3, 5}) {
		t.Fatal(m, err)
	}
	m, err = Parse64(make([]byte, 8))
	if err != nil || m.Cardinality() != 0 || m.Max() != -1 || m.Mask(nil, 0, 1000) != 0 {
		t.Fatal(m, err)
	}
}

// encode writes a set in the portable serialisation without runs.
func encode(set []uint32) []byte {
	var keys []uint32
	groups := map[uint32][]uint16{}
	for _, p := range set {
		if len(groups[p>>16]) == 0 {
			keys = append(keys, p>>16)
		}
		groups[p>>16] = append(groups[p>>16], uint16(p))
	}
	b := binary.LittleEndian.AppendUint32(nil, cookieNoRuns)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(keys)))
	for _, k := range keys {
		b = binary.LittleEndian.AppendUint16(b, uint16(k))
		b = binary.LittleEndian.AppendUint16(b, uint16(len(groups[k])-1))
	}
	b = append(b, make([]byte, 4*len(keys))...)
	for _, k := range keys {
		if g := groups[k]; len(g) > maxArray {
			bits := make([]byte, 8192)
			for _, p := range g {
				bits[p/8] |= 1 << (p % 8)
			}
			b = append(b, bits...)
		} else {
			for _, p := range g {
				b = binary.LittleEndian.AppendUint16(b, p)
			}
		}
	}
	return b
}

// TestMask reads random sets, thin and thick, by masks of several widths.
func TestMask(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 50, 5000, 20000, 60000} {
		seen := map[uint32]bool{}
		for range n {
			seen[r.Uint32N(70000)+r.Uint32N(3)*131072] = true
		}
		var set []uint32
		for p := range seen {
			set = append(set, p)
		}
		slices.Sort(set)
		m, err := Parse32(encode(set))
		if err != nil {
			t.Fatal(err)
		}
		var want []int64
		for _, p := range set {
			want = append(want, int64(p))
		}
		for _, width := range []int{1024, 4096, 1000, 65535, 100000} {
			if !slices.Equal(positions(m, width), want) {
				t.Errorf("%d positions by masks of %d differ", n, width)
			}
		}
		if m.Cardinality() != int64(len(set)) || m.Max() != want[len(want)-1] || m.Bytes() <= 0 {
			t.Error(m.Cardinality(), m.Max())
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(unhex(f, "3a300000010000000000020010000000010003000500"))
	f.Add(unhex(f, "3b300000010000e70301000000e703"))
	f.Add(unhex(f, "0100000000000000000000003a300000010000000000020010000000010003000500"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, parse := range []func([]byte) (*Bitmap, error){Parse32, Parse64} {
			m, err := parse(b)
			if err != nil {
				continue
			}
			if a, z := positions(m, 1000), positions(m, 4096); !slices.Equal(a, z) || a != nil && int64(len(a)) != m.Cardinality() {
				t.Fatalf("%d and %d positions of %d", len(a), len(z), m.Cardinality())
			}
		}
	})
}
