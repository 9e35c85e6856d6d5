package parquet

import (
	"hash/maphash"
	"math"

	"github.com/thermocline/thermocline/internal/vector"
)

// Samples by which a column is given a dictionary or not: enough values to tell,
// few enough to cost nothing.
const (
	sampleMost  = 4096
	sampleLeast = 256
)

// unique reports whether most of the first values of v are different, so that a
// dictionary would not pay. Without enough values it is false.
func unique(v *vector.Vec) bool {
	p := v.Values()
	if v.Form != vector.Flat {
		return false // few values by what it is
	}
	seed := maphash.MakeSeed()
	var key func(i int) uint64
	switch p.Kind {
	case vector.I32:
		key = func(i int) uint64 { return uint64(p.I32s[i]) }
	case vector.I64:
		key = func(i int) uint64 { return uint64(p.I64s[i]) }
	case vector.I128:
		key = func(i int) uint64 { return maphash.Comparable(seed, p.I128s[i]) }
	case vector.F32:
		key = func(i int) uint64 { return uint64(math.Float32bits(p.F32s[i])) }
	case vector.F64:
		key = func(i int) uint64 { return math.Float64bits(p.F64s[i]) }
	case vector.Str:
		key = func(i int) uint64 { return maphash.Bytes(seed, p.Bytes(i)) }
	default:
		return false
	}
	seen := make(map[uint64]struct{}, sampleMost)
	n := 0
	for i := 0; i < v.Len && n < sampleMost; i++ {
		if !v.IsNull(i) {
			seen[key(i)] = struct{}{}
			n++
		}
	}
	return n >= sampleLeast && len(seen) > n/2
}
