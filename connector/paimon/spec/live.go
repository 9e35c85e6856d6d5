package spec

import (
	"math/bits"

	"github.com/thermocline/thermocline/internal/errs"
)

// Ref is an entry among those of several manifests.
type Ref struct{ Set, Index uint32 }

// Live folds the entries of manifests into the live files, as MergeEntries does,
// by a hash table of the identities that are hashed already.
type Live struct {
	sets  []*Entries
	refs  []Ref
	net   []int8   // additions minus deletions, by ref
	table []uint64 // high half: of the hash; low half: 1 + position in refs; 0: free
	mask  uint64
}

// NewLive folds entries of sets, at most n of them.
func NewLive(sets []*Entries, n int) *Live {
	size := uint64(1) << bits.Len64(uint64(2*n)|63)
	return &Live{sets: sets, refs: make([]Ref, 0, n), net: make([]int8, 0, n), table: make([]uint64, size), mask: size - 1}
}

// LiveBytes is the memory that folding n entries takes.
func LiveBytes(n int) int64 { return int64(n)*9 + int64(8)<<bits.Len64(uint64(2*n)|63) }

// Add folds entry i of a set in.
func (l *Live) Add(set, i int) error {
	x := l.sets[set]
	h := x.hash[i]
	at := h & l.mask
	for ; l.table[at] != 0; at = (at + 1) & l.mask {
		if l.table[at]>>32 != h>>32 {
			continue
		}
		k := uint32(l.table[at]) - 1
		if r := l.refs[k]; l.sets[r.Set].same(int(r.Index), x, i) {
			return l.again(k, set, i)
		}
	}
	l.table[at] = h>>32<<32 | uint64(len(l.refs)+1)
	l.refs = append(l.refs, Ref{uint32(set), uint32(i)})
	if x.Kind(i) == FileAdd {
		l.net = append(l.net, 1)
	} else {
		l.net = append(l.net, -1)
	}
	return nil
}

func (l *Live) again(k uint32, set, i int) error {
	x := l.sets[set]
	if x.Kind(i) == FileAdd {
		if l.net[k] >= 1 {
			return errs.Corruptf("merge manifests: the file %s is added twice", x.Name(i))
		}
		l.net[k]++
		if l.net[k] == 1 {
			l.refs[k] = Ref{uint32(set), uint32(i)}
		}
		return nil
	}
	if l.net[k] <= -1 {
		return errs.Corruptf("merge manifests: the file %s is deleted twice", x.Name(i))
	}
	l.net[k]--
	return nil
}

// Files returns the live files, in the order in which they first came. A file
// that was only deleted is an error: a whole state has none. l is not used
// afterwards.
func (l *Live) Files() ([]Ref, error) {
	out := l.refs[:0]
	for k, r := range l.refs {
		switch n := l.net[k]; {
		case n > 0:
			out = append(out, r)
		case n < 0:
			return nil, errs.Corruptf("merge manifests: the file %s is deleted but was never added", l.sets[r.Set].Name(int(r.Index)))
		}
	}
	l.table, l.net = nil, nil
	return out, nil
}
