package write

import "slices"

// hashTable maps 32-bit hashes of keys to buckets in about seven bytes each: leaves,
// chosen by the highest bits, have their hashes ascending. They are halved when they
// grow too large on average.
type hashTable struct {
	shift  uint // of a hash, to its leaf
	leaves []hashLeaf
	n      int
}

type hashLeaf struct {
	hashes []uint32
	places []hashPlace
}

// hashPlace is a bucket (below maxBuckets), and whether rows of the key were only
// deleted so far.
type hashPlace uint16

const hashPending hashPlace = 1 << 15

func (p hashPlace) bucket() int32 { return int32(p &^ hashPending) }

// leafKeys is how many keys a leaf has on average when it is halved.
const leafKeys = 256

func newHashTable() hashTable { return hashTable{shift: 32, leaves: make([]hashLeaf, 1)} }

// find returns the leaf of a hash and where the hash is in it, or should be.
func (t *hashTable) find(hash int32) (l *hashLeaf, at int, ok bool) {
	h := uint32(hash)
	l = &t.leaves[uint64(h)>>t.shift]
	at, ok = slices.BinarySearch(l.hashes, h)
	return l, at, ok
}

// get returns the place of a hash.
func (t *hashTable) get(hash int32) (hashPlace, bool) {
	l, at, ok := t.find(hash)
	if !ok {
		return 0, false
	}
	return l.places[at], true
}

// put sets the place of a hash.
func (t *hashTable) put(hash int32, p hashPlace) {
	l, at, ok := t.find(hash)
	if ok {
		l.places[at] = p
		return
	}
	if len(l.hashes) == cap(l.hashes) {
		more := len(l.hashes)/8 + 4
		l.hashes, l.places = room(l.hashes, more), room(l.places, more)
	}
	l.hashes, l.places = slices.Insert(l.hashes, at, uint32(hash)), slices.Insert(l.places, at, p)
	if t.n++; t.n > leafKeys*len(t.leaves) && t.shift > 0 {
		t.halve()
	}
}

// room returns a copy with room for n more, and no more.
func room[T any](list []T, n int) []T {
	out := make([]T, len(list), len(list)+n)
	copy(out, list)
	return out
}

func (t *hashTable) halve() {
	t.shift--
	leaves := make([]hashLeaf, 2*len(t.leaves))
	for i := range t.leaves {
		l := &t.leaves[i]
		mid, _ := slices.BinarySearch(l.hashes, uint32(uint64(2*i+1)<<t.shift))
		leaves[2*i] = hashLeaf{room(l.hashes[:mid], mid/8+4), room(l.places[:mid], mid/8+4)}
		rest := len(l.hashes) - mid
		leaves[2*i+1] = hashLeaf{room(l.hashes[mid:], rest/8+4), room(l.places[mid:], rest/8+4)}
		*l = hashLeaf{}
	}
	t.leaves = leaves
}

// each calls f with all hashes, ascending as numbers without sign.
func (t *hashTable) each(f func(hash int32, p hashPlace)) {
	for _, l := range t.leaves {
		for i, h := range l.hashes {
			f(int32(h), l.places[i])
		}
	}
}
