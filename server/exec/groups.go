package exec

import (
	"math/bits"
	"math/rand/v2"
	"sync/atomic"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// seed keeps who can choose keys from choosing collisions.
var seed = rand.Uint64()

// groupTable numbers the distinct keys that it is shown, from 0 in the order in
// which they first appear. NULLs are equal to each other; strings are compared
// by their collation, and the value met first is the one kept.
//
// It is an open-addressing table of 32 hash bits and the group's number; keys
// and whole hashes are in columns beside it (reference: DuckDB's and
// DataFusion's grouped aggregation). A search begins where the highest of the 32
// bits say, so that slots are nearly in the order of hashes, and a table grows by
// going through the old and the new one once from the front.
type groupTable struct {
	types  []expr.Type
	eq     []equalFunc
	plain  []bool // by key: values are equal when their payloads are
	keys   rowStore
	hashes []uint64 // one a group
	slots  []uint64 // 32 bits of the hash (see turned) << 32 | group + 1; 0 is free
	shift  uint     // turned bits >> shift is where a search begins
	hash   []uint64 // of the batch at hand
	check  func()   // is called now and then in long loops, see query.check
	finder
}

// equalFunc compares row i of a with row j of b.
type equalFunc func(a *vector.Vec, i int, b *vector.Vec, j int) bool

// maxGroups keeps group numbers within a slot's half.
const maxGroups = 1<<31 - 2

func (x *query) groupTable(types []expr.Type) *groupTable {
	t := &groupTable{types: types, check: x.check}
	t.resize(1024)
	for _, typ := range types {
		t.eq = append(t.eq, equalOf(typ))
		t.plain = append(t.plain, plan.Exact(typ))
	}
	return t
}

// equalOf returns the comparison of two values of a type.
func equalOf(t expr.Type) equalFunc {
	if !plan.Exact(t) {
		cmp := expr.Comparer(t)
		return func(a *vector.Vec, i int, b *vector.Vec, j int) bool { return cmp(a, i, b, j) == 0 }
	}
	switch t.Physical() {
	case vector.I32:
		return payloadEqual(func(v *vector.Vec, i int) int32 { return v.I32s[i] })
	case vector.I64:
		return payloadEqual(func(v *vector.Vec, i int) int64 { return v.I64s[i] })
	case vector.I8:
		return payloadEqual(func(v *vector.Vec, i int) int8 { return v.I8s[i] })
	case vector.Str:
		return func(a *vector.Vec, i int, b *vector.Vec, j int) bool {
			an, bn := a.IsNull(i), b.IsNull(j)
			if an || bn {
				return an && bn
			}
			return bytesEqual(a.Values(), a.At(i), b.Values(), b.At(j))
		}
	}
	return func(a *vector.Vec, i int, b *vector.Vec, j int) bool { return vector.Compare(a, i, b, j) == 0 }
}

func payloadEqual[T comparable](value func(*vector.Vec, int) T) equalFunc {
	return func(a *vector.Vec, i int, b *vector.Vec, j int) bool {
		an, bn := a.IsNull(i), b.IsNull(j)
		if an || bn {
			return an && bn
		}
		return value(a.Values(), a.At(i)) == value(b.Values(), b.At(j))
	}
}

// size returns the number of groups.
func (t *groupTable) size() int { return len(t.hashes) }

// bytes is the memory held.
func (t *groupTable) bytes() int64 {
	return t.keys.bytes() + int64(cap(t.hashes)+cap(t.slots)+cap(t.hash))*8 + t.finder.bytes()
}

// hashRows returns the hashes of n rows of key columns, the k-th being row
// sel[k].
func hashRows(types []expr.Type, cols []*vector.Vec, sel []uint16, n int, buf []uint64) []uint64 {
	if cap(buf) < n {
		buf = make([]uint64, n)
	}
	buf = buf[:n]
	for i := range buf {
		buf[i] = seed
	}
	for c, v := range cols {
		expr.Hash(types[c], v, sel, buf)
	}
	for i, h := range buf {
		// A last mix, so that all bits are good whatever the columns' hash does.
		h ^= h >> 32
		h *= 0x9E3779B97F4A7C15
		h ^= h >> 29
		buf[i] = h
	}
	return buf
}

// hashAll is hashRows for the first n rows of Flat columns of any length, by several
// workers.
func (x *query) hashAll(types []expr.Type, cols []*vector.Vec, n, workers int) ([]uint64, error) {
	out := make([]uint64, n)
	var next atomic.Int64
	err := together(workers, func(int) error {
		part := make([]*vector.Vec, len(cols))
		for {
			at := int(next.Add(checkRows)) - checkRows
			if at >= n {
				return nil
			}
			x.check()
			end := min(at+checkRows, n)
			for i, c := range cols {
				part[i] = window(c, at, end)
			}
			hashRows(types, part, nil, end-at, out[at:end])
		}
	})
	return out, err
}

// same reports whether a row has the key of group g, which may have been made for
// an earlier row of the batch.
func (t *groupTable) same(g uint32, cols []*vector.Vec, row int) bool {
	if k := int(g) - t.keys.n; k >= 0 {
		for c, v := range cols {
			if !t.eq[c](v, int(t.made[k]), v, row) {
				return false
			}
		}
		return true
	}
	for c, v := range cols {
		if !t.eq[c](t.keys.cols[c], int(g), v, row) {
			return false
		}
	}
	return true
}

// turned puts the bits of a hash in front that do not say in which partition it is:
// all keys of a partition share those.
func turned(h uint64) uint64 { return h << (fanoutBits * deepest) }

// resize makes an empty table.
func (t *groupTable) resize(n int) {
	t.slots = make([]uint64, n)
	t.shift = uint(64 - bits.TrailingZeros(uint(n)))
}

// rehash makes the table larger: small ones grow quickly, of large ones most would
// stay empty.
func (t *groupTable) rehash() {
	old := t.slots
	if len(old) < 1<<16 {
		t.resize(4 * len(old))
	} else {
		t.resize(2 * len(old))
	}
	mask := uint64(len(t.slots) - 1)
	for i, s := range old {
		if i%checkRows == 0 {
			t.check()
		}
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
