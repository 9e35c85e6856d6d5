// Package pagecache keeps decompressed pages of data files in memory, so that a
// table that is queried again and again is decompressed once. Data files never
// change under their paths, and a page's bytes are shared and not changed.
//
// Invariants: what is kept never exceeds the limit nor what the budget has left; a
// page that is asked for once is not kept, and in a full cache a page takes the
// place of another only when it was wanted more often, so that scans of more than
// the cache holds leave in it what is there.
//
// Start reading at Cache.
package pagecache

import (
	"hash/maphash"
	"strings"
	"sync"

	"github.com/thermocline/thermocline/internal/memory"
)

// Cache holds pages by the path of their file and their offset in it. A nil Cache
// keeps nothing. It is safe for concurrent use.
type Cache struct {
	mu     sync.Mutex
	limit  int64
	used   int64
	budget *memory.Budget
	files  map[string]map[int64]*entry
	ring   []*entry // in no order; hand walks over them for the next to go
	hand   int

	// over is asked now and then for bytes that the process should give back, nil: it
	// has none; asks counts the times that it might have been.
	over func() int64
	asks int

	// How often pages were wanted lately, by a hash of them: whether they are kept or
	// not (the frequency sketch of TinyLFU: Einziger, Friedman, Manes, 2017, with one
	// row). All are halved when the pages that were wanted would have filled the cache
	// some times over: what was wanted before that must not keep out what is wanted now.
	seed   maphash.Seed
	wanted [counters]uint8
	total  int64 // bytes wanted since they were halved
}

const (
	counters = 1 << 18
	// passes is how often what is wanted would fill the cache before all is halved. Pages
	// that are wanted less often than once in that time are not kept.
	passes = 8
	// entryBytes is what an entry costs beside the page, about.
	entryBytes = 160
)

type entry struct {
	path  string
	at    int64
	bytes int64
	value any
	place int // in ring
}

// New makes a cache of at most limit bytes, paid from budget (nil: from nobody).
func New(limit int64, budget *memory.Budget) *Cache {
	if limit <= 0 {
		return nil
	}
	return &Cache{limit: limit, budget: budget, files: map[string]map[int64]*entry{}, seed: maphash.MakeSeed()}
}

// Relieve makes the cache ask over, now and then while pages are wanted, how many bytes
// the process holds beyond what it should, whoever reserved them or did not, and drop
// pages of as many. It is called before the cache is used.
func (c *Cache) Relieve(over func() int64) {
	if c != nil {
		c.over = over
	}
}

// askEvery is how many wishes there are between two questions to over.
const askEvery = 64

// relieve asks over when it is time to.
func (c *Cache) relieve() {
	if c.over == nil {
		return
	}
	if c.asks++; c.asks < askEvery {
		return
	}
	c.asks = 0
	if n := c.over(); n > 0 {
		c.free(n)
	}
}

// Used is how many bytes it holds, about.
func (c *Cache) Used() int64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// counter returns where a page's wishes are counted.
func (c *Cache) counter(path string, at int64) *uint8 {
	h := maphash.String(c.seed, path) ^ uint64(at)*0x9E3779B97F4A7C15
	h ^= h >> 32
	h *= 0xD6E8FEB86659FD93
	return &c.wanted[h>>32%counters]
}

// count notes that a page of so many bytes is wanted.
func (c *Cache) count(n *uint8, bytes int64) {
	if *n < 255 {
		*n++
	}
	if c.total += bytes; c.total/passes < c.limit {
		return
	}
	c.total = 0
	for i := range c.wanted {
		c.wanted[i] /= 2
	}
}

// Load returns the page at an offset of a file, nil when it is not kept.
func (c *Cache) Load(path string, at int64) any {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.relieve()
	e := c.files[path][at]
	if e == nil {
		return nil
	}
	c.count(c.counter(path, at), e.bytes)
	return e.value
}

// Wants notes that a page of so many bytes is read, and reports whether Store would
// keep it.
func (c *Cache) Wants(path string, at, bytes int64) bool {
	if c == nil || bytes+entryBytes > c.limit {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.relieve()
	n := c.counter(path, at)
	c.count(n, bytes+entryBytes)
	if *n < 2 {
		return false
	}
	return c.used+bytes+entryBytes <= c.limit || c.weaker(*n)
}

// weaker reports whether the next entry to go was wanted less than n times. One
// that was wanted as often stays, and the hand goes on.
func (c *Cache) weaker(n uint8) bool {
	if len(c.ring) == 0 {
		return false
	}
	c.hand %= len(c.ring)
	e := c.ring[c.hand]
	if *c.counter(e.path, e.at) < n {
		return true
	}
	c.hand++
	return false
}

// Store keeps a page of so many bytes, if there is or can be made room for it.
func (c *Cache) Store(path string, at int64, value any, bytes int64) {
	if c == nil {
		return
	}
	bytes += entryBytes
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files[path][at] != nil {
		return // somebody else read it at the same time
	}
	n := *c.counter(path, at)
	for c.used+bytes > c.limit {
		if !c.weaker(n) {
			return
		}
		c.drop(c.ring[c.hand])
	}
	if c.budget.Reserve(bytes) != nil {
		return // others need the memory more
	}
	f := c.files[path]
	if f == nil {
		f = map[int64]*entry{}
		c.files[path] = f
	}
	e := &entry{path: path, at: at, bytes: bytes, value: value, place: len(c.ring)}
	f[at] = e
	c.ring = append(c.ring, e)
	c.used += bytes
}

func (c *Cache) drop(e *entry) {
	last := c.ring[len(c.ring)-1]
	c.ring[e.place], last.place = last, e.place
	c.ring[len(c.ring)-1] = nil
	c.ring = c.ring[:len(c.ring)-1]
	f := c.files[e.path]
	if delete(f, e.at); len(f) == 0 {
		delete(c.files, e.path)
	}
	c.used -= e.bytes
	c.budget.Release(e.bytes)
}

// Free drops pages of at least n bytes in all, if there are, and returns their
// bytes. It does not wait, so that the budget can call it while a page is stored.
func (c *Cache) Free(n int64) (freed int64) {
	if c == nil || !c.mu.TryLock() {
		return 0
	}
	defer c.mu.Unlock()
	return c.free(n)
}

func (c *Cache) free(n int64) (freed int64) {
	for freed < n && len(c.ring) > 0 {
		e := c.ring[len(c.ring)-1]
		freed += e.bytes
		c.drop(e)
	}
	return freed
}

// Forget drops the pages of a file.
func (c *Cache) Forget(path string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.files[path] {
		c.drop(e)
	}
}

// ForgetBelow drops the pages of files in a directory and below it.
func (c *Cache) ForgetBelow(dir string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, f := range c.files {
		if strings.HasPrefix(path, dir+"/") {
			for _, e := range f {
				c.drop(e)
			}
		}
	}
}

// Shed drops everything.
func (c *Cache) Shed() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.ring) > 0 {
		c.drop(c.ring[len(c.ring)-1])
	}
}
