package expr

import (
	"math/bits"
	"math/rand/v2"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// tupleSeed keeps who can choose values from choosing collisions.
var tupleSeed = rand.Uint64()

// tupleSet finds out which tuples of (group, values) are new: open addressing,
// without an allocation or a pointer an entry. It is used in one of two ways: for
// single whole numbers, entries hold group and value; for others, a part of the
// hash and the number of the tuple, which the owner keeps. A search begins where
// the highest bits of the hash say, so that entries are nearly in the order of
// hashes, and a set grows by going through the old and the new one once from the
// front.
type tupleSet struct {
	n      int
	wholes []wholeEntry
	slots  []uint64 // hash's high half << 32 | number + 1; 0 is free
	shift  uint     // hash >> shift is where a search begins

	hash []uint64 // of the batch at hand
	cmp  []func(a *vector.Vec, i int, b *vector.Vec, j int) int

	// The codes of a lasting dictionary whose values have been seen.
	dict  *vector.Vec
	codes []uint64
	sel   []uint16
}

// wholeEntry is a group's value; mark is 0 in free entries.
type wholeEntry struct {
	value int64
	group uint32
	mark  uint32
}

// maxTuples keeps numbers of tuples within a slot's half.
const maxTuples = 1<<31 - 2

func (t *tupleSet) bytes() int64 {
	return int64(cap(t.wholes)*16 + (cap(t.slots)+cap(t.hash)+cap(t.codes))*8)
}

// room refuses what would not fit.
func (t *tupleSet) room(have, more int) error {
	if have+more > maxTuples {
		return errs.New(errs.Resource, errs.MemoryLimit, "find distinct values: there are more than %d", maxTuples)
	}
	return nil
}

// whole reports whether the values of v are whole numbers that are equal when
// their payloads are.
func (t *tupleSet) whole(typ Type, v *vector.Vec) bool {
	return (v.Kind == vector.I64 || v.Kind == vector.I32) && BinaryEqual(typ)
}

// addWhole adds a value to a group, and reports whether it was new.
func (t *tupleSet) addWhole(g uint32, x int64) bool {
	if 2*t.n >= len(t.wholes) {
		t.growWhole()
	}
	mask := uint64(len(t.wholes) - 1)
	for at := mix(tupleSeed^uint64(g), uint64(x)) >> t.shift; ; at = (at + 1) & mask {
		e := &t.wholes[at]
		if e.mark == 0 {
			*e = wholeEntry{x, g, 1}
			t.n++
			return true
		}
		if e.value == x && e.group == g {
			return false
		}
	}
}

// larger is the size of the next table: small ones grow quickly, of large ones most
// would stay empty.
func larger(n int) int {
	if n < 1<<16 {
		return max(256, 4*n)
	}
	return 2 * n
}

func (t *tupleSet) growWhole() {
	old := t.wholes
	t.wholes = make([]wholeEntry, larger(len(old)))
	t.shift = uint(64 - bits.TrailingZeros(uint(len(t.wholes))))
	mask := uint64(len(t.wholes) - 1)
	for _, e := range old {
		if e.mark == 0 {
			continue
		}
		at := mix(tupleSeed^uint64(e.group), uint64(e.value)) >> t.shift
		for t.wholes[at].mark != 0 {
			at = (at + 1) & mask
		}
		t.wholes[at] = e
	}
}

// start computes the hashes of a batch's tuples.
func (t *tupleSet) start(exprs []Expr, groups []uint32, args []*vector.Vec, sel []uint16, n int) {
	if t.cmp == nil {
		for _, e := range exprs {
			t.cmp = append(t.cmp, comparer(e.Type()))
		}
	}
	if cap(t.hash) < n {
		t.hash = make([]uint64, n)
	}
	t.hash = t.hash[:n]
	for k := range t.hash {
		t.hash[k] = tupleSeed ^ uint64(groupOf(groups, k))
	}
	for a, v := range args {
		Hash(exprs[a].Type(), v, sel, t.hash)
	}
}

// add adds the tuple with a hash as number next, unless equal finds it among the
// tuples that are there. It reports whether it was new.
func (t *tupleSet) add(h uint64, next int, equal func(at int) bool) bool {
	if 2*t.n >= len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for at := h >> t.shift; ; at = (at + 1) & mask {
		s := t.slots[at]
		if s == 0 {
			t.slots[at] = h&^0xffffffff | uint64(next+1)
			t.n++
			return true
		}
		if (s^h)>>32 == 0 && equal(int(uint32(s))-1) {
			return false
		}
	}
}

func (t *tupleSet) grow() {
	old := t.slots
	t.slots = make([]uint64, larger(len(old)))
	t.shift = uint(64 - bits.TrailingZeros(uint(len(t.slots))))
	mask := uint64(len(t.slots) - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		at := s >> t.shift
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = s
	}
}

// newCodes returns the rows whose codes did not occur before, of a vector with a
// lasting dictionary. NULLs are left out.
func (t *tupleSet) newCodes(v *vector.Vec, sel []uint16, n int) []uint16 {
	if t.dict != v.Dict {
		t.dict = v.Dict
		words := (v.Dict.Len + 63) / 64
		if cap(t.codes) < words {
			t.codes = make([]uint64, words)
		}
		t.codes = t.codes[:words]
		clear(t.codes)
	}
	if t.sel == nil {
		t.sel = make([]uint16, 0, n) // nil would be all rows
	}
	t.sel = t.sel[:0]
	for k := range n {
		i := rowOf(sel, k)
		if v.Valid != nil && v.IsNull(i) {
			continue
		}
		c := v.Codes[i]
		if w, bit := &t.codes[c>>6], uint64(1)<<(c&63); *w&bit == 0 {
			*w |= bit
			t.sel = append(t.sel, uint16(i))
		}
	}
	return t.sel
}
