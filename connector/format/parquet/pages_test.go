package parquet

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
)

// keptPages is a format.Pages that keeps two of three pages when they are read, and
// checks that nobody changes them.
type keptPages struct {
	mu     sync.Mutex
	r      *rand.Rand
	pages  map[int64]*keptPage
	copies map[int64][]byte
	loads  int
}

func newKeptPages() *keptPages {
	return &keptPages{r: rand.New(rand.NewPCG(3, 4)), pages: map[int64]*keptPage{}, copies: map[int64][]byte{}}
}

func (k *keptPages) Load(_ string, at int64) any {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pages[at]; p != nil {
		k.loads++
		return p
	}
	return nil
}

func (k *keptPages) Wants(_ string, _, _ int64) bool { return k.r.IntN(3) > 0 }

func (k *keptPages) Store(_ string, at int64, part any, _ int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := part.(*keptPage)
	k.pages[at], k.copies[at] = p, append(bytes.Clone(p.levels), p.data...)
}

// check fails when a page was changed, or none was used.
func (k *keptPages) check(t *testing.T) {
	t.Helper()
	for at, p := range k.pages {
		if !bytes.Equal(append(bytes.Clone(p.levels), p.data...), k.copies[at]) {
			t.Errorf("the kept page at %d was changed", at)
		}
	}
	if len(k.pages) > 0 && k.loads == 0 {
		t.Error("no kept page was used")
	}
}
