package merge

import (
	"encoding/binary"
	"math"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/vector"
)

// keyShape is how keys become order-preserving prefixes. It is the same for all
// batches of a merge, so that prefixes compare.
type keyShape struct {
	pair     bool // two 32-bit columns make up the whole prefix
	exact    bool // equal prefixes are equal keys
	skip     int  // how many columns equal prefixes make equal
	nullable bool
}

func shapeOf(types []catalog.Type) (s keyShape) {
	for _, t := range types {
		s.nullable = s.nullable || !t.NotNull
	}
	if s.nullable {
		return s
	}
	if len(types) > 0 && whole(types[0].Physical()) {
		s.skip = 1
	}
	switch len(types) {
	case 0:
		s.exact = true
	case 1:
		s.exact = whole(types[0].Physical())
	case 2:
		s.pair = types[0].Physical() == vector.I32 && types[1].Physical() == vector.I32
		s.exact = s.pair
	}
	return s
}

// whole reports whether a prefix holds a whole value.
func whole(k vector.Kind) bool { return k == vector.I8 || k == vector.I32 || k == vector.I64 }

// normalize appends the prefixes of n keys.
func (s keyShape) normalize(dst []uint64, keys []*vector.Vec, n int) []uint64 {
	if len(keys) == 0 {
		return append(dst, make([]uint64, n)...)
	}
	v := keys[0]
	p := v.Values()
	if v.Form == vector.Flat && v.Valid == nil && (v.Kind == vector.I64 || v.Kind == vector.I32 && !s.pair) {
		if v.Kind == vector.I64 {
			for _, x := range v.I64s[:n] {
				dst = append(dst, uint64(x)^1<<63)
			}
			return dst
		}
		for _, x := range v.I32s[:n] {
			dst = append(dst, uint64(uint32(x)^1<<31))
		}
		return dst
	}
	var at func(i int) uint64
	switch v.Kind {
	case vector.I8:
		at = func(i int) uint64 { return uint64(uint8(p.I8s[i]) ^ 0x80) }
	case vector.I32:
		if s.pair {
			a, b := v.Flatten().I32s, keys[1].Flatten().I32s
			for i := range n {
				dst = append(dst, uint64(uint32(a[i])^1<<31)<<32|uint64(uint32(b[i])^1<<31))
			}
			return dst
		}
		at = func(i int) uint64 { return uint64(uint32(p.I32s[i]) ^ 1<<31) }
	case vector.I64:
		at = func(i int) uint64 { return uint64(p.I64s[i]) ^ 1<<63 }
	case vector.I128:
		at = func(i int) uint64 { return uint64(p.I128s[i].Hi) ^ 1<<63 }
	case vector.F32:
		at = func(i int) uint64 { return floatPrefix(float64(p.F32s[i])) }
	case vector.F64:
		at = func(i int) uint64 { return floatPrefix(p.F64s[i]) }
	case vector.Str:
		at = func(i int) uint64 { return prefix(p, i) }
	default:
		return append(dst, make([]uint64, n)...)
	}
	for i := range n {
		if v.IsNull(i) {
			dst = append(dst, 0) // NULL first; ties are compared in full
			continue
		}
		dst = append(dst, at(v.At(i)))
	}
	return dst
}

// floatPrefix orders floats as vector.CompareF64 does: NaN last, -0 before 0.
func floatPrefix(x float64) uint64 {
	if x != x {
		return math.MaxUint64
	}
	b := math.Float64bits(x)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// prefix returns the first eight bytes of a string, big endian.
func prefix(v *vector.Vec, i int) uint64 {
	w := &v.Views[i]
	if n := w.Len(); n <= 12 {
		var b [8]byte
		copy(b[:], w[4:4+min(n, 8)])
		return binary.BigEndian.Uint64(b[:])
	}
	return binary.BigEndian.Uint64(v.Bytes(i))
}
