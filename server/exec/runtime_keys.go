package exec

import (
	"math"
	"math/bits"

	"github.com/thermocline/thermocline/internal/vector"
)

// keyRange is the least and the largest of some keys, and their number.
type keyRange struct {
	least, most int64
	found       int
	null        bool // a row has none
}

// take takes the first n values of v as the keys that the scan's rows may have;
// acct pays for what is kept of them. Several workers look at shares of the rows
// first, then each sets the bits of a share of the words.
func (f *runtimeFilter) take(x *query, v *vector.Vec, n int, acct *account) {
	workers := x.buildWorkers(n)
	shares := make([]keyRange, workers)
	if together(workers, func(w int) error {
		from, to := n*w/workers, n*(w+1)/workers
		if v.Kind == vector.I32 {
			shares[w] = rangeOf(v, v.I32s, from, to)
		} else {
			shares[w] = rangeOf(v, v.I64s, from, to)
		}
		return nil
	}) != nil {
		return
	}
	all := shares[0]
	for _, s := range shares[1:] {
		all.least, all.most = min(all.least, s.least), max(all.most, s.most)
		all.found, all.null = all.found+s.found, all.null || s.null
	}
	if all.null && f.join.Keys[f.key].NullSafe {
		return // rows with NULL have a match, too
	}
	found, span := all.found, uint64(all.most)-uint64(all.least)+1
	if found == 0 || !f.fewer && uint64(found) >= span && span != 0 {
		return
	}
	exact := span != 0 && span <= mostExact && span/exactPerKey <= uint64(found)+64
	var size int64
	switch {
	case exact:
		size = int64(span+63) / 64 * 8
	case found <= mostBloomKey:
		size = 8 << bits.Len64(uint64(found)*bloomPerKey/64)
	default:
		return
	}
	if acct.pays.Reserve(size) != nil {
		return // it would help, but nobody needs it
	}
	acct.held += size
	words := make([]uint64, size/8)
	f.least, f.most, f.exact, f.bloom = all.least, all.most, nil, nil
	if exact {
		f.exact = words
	} else {
		f.bloom = words
	}
	if together(workers, func(w int) error {
		from, to := len(words)*w/workers, len(words)*(w+1)/workers
		if v.Kind == vector.I32 {
			setKeys(f, v, v.I32s[:n], from, to)
		} else {
			setKeys(f, v, v.I64s[:n], from, to)
		}
		return nil
	}) != nil {
		return
	}
	f.learned = true
}

func rangeOf[T int32 | int64](v *vector.Vec, keys []T, from, to int) keyRange {
	r := keyRange{least: math.MaxInt64, most: math.MinInt64}
	for i, k := range keys[from:to] {
		if v.Valid != nil && v.IsNull(from+i) {
			r.null = true
			continue
		}
		r.least, r.most = min(r.least, int64(k)), max(r.most, int64(k))
		r.found++
	}
	return r
}

// setKeys sets the bits of keys in the words from to before to.
func setKeys[T int32 | int64](f *runtimeFilter, v *vector.Vec, keys []T, from, to int) {
	exact, least, own := f.exact, uint64(f.least), uint64(to-from)
	for i, k := range keys {
		if v.Valid != nil && v.IsNull(i) {
			continue
		}
		if exact != nil {
			d := uint64(int64(k)) - least
			if w := d >> 6; w-uint64(from) < own {
				exact[w] |= 1 << (d & 63)
			}
			continue
		}
		if w, bits := f.word(int64(k)); uint64(w)-uint64(from) < own {
			f.bloom[w] |= bits
		}
	}
}
