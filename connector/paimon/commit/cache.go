package commit

import (
	"container/list"
	"sync"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/memory"
)

// Cache keeps decoded manifests and manifest lists by path: a table that is
// committed to many times a second has its few, small manifests read by each
// commit. Their names hold uuids, so that what was read stays right for ever; the
// least recently used go first when it is full. What it holds is shared and not
// changed. A nil Cache keeps nothing. It is safe for concurrent use.
type Cache struct {
	mu     sync.Mutex
	limit  int64
	used   int64
	budget *memory.Budget
	items  map[string]*list.Element
	order  list.List // front: used last
}

type cached struct {
	path  string
	bytes int64
	value any
}

// Bytes in memory of what is kept, about, and what a byte of a compressed manifest
// becomes at most, about.
const (
	entryBytes = 1200
	metaBytes  = 500
	expansion  = 16
)

// NewCache makes a cache of at most limit bytes, paid from budget (nil: from
// nobody).
func NewCache(limit int64, budget *memory.Budget) *Cache {
	return &Cache{limit: limit, budget: budget, items: map[string]*list.Element{}}
}

// takes reports whether a manifest of so many bytes is kept: one that would push
// out many others is not.
func (c *Cache) takes(bytes int64) bool { return c != nil && bytes*expansion <= c.limit/8 }

func (c *Cache) get(path string) any {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.items[path]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).value
}

func (c *Cache) putEntries(path string, entries []spec.ManifestEntry) {
	n := int64(len(path)) + 200
	for i := range entries {
		e := &entries[i]
		n += entryBytes + int64(len(e.Partition)+len(e.File.MinKey)+len(e.File.MaxKey))
	}
	c.put(&cached{path, n, entries})
}

func (c *Cache) putList(path string, metas []spec.ManifestMeta) {
	c.put(&cached{path, int64(len(path)) + 200 + metaBytes*int64(len(metas)), metas})
}

func (c *Cache) put(it *cached) {
	if c == nil || it.bytes > c.limit/8 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items[it.path] != nil {
		return
	}
	for c.used+it.bytes > c.limit {
		c.drop(c.order.Back())
	}
	for c.budget.Reserve(it.bytes) != nil {
		if c.order.Len() == 0 {
			return // others need the memory more
		}
		c.drop(c.order.Back())
	}
	c.used += it.bytes
	c.items[it.path] = c.order.PushFront(it)
}

func (c *Cache) drop(e *list.Element) {
	it := c.order.Remove(e).(*cached)
	delete(c.items, it.path)
	c.used -= it.bytes
	c.budget.Release(it.bytes)
}

// Shed drops everything.
func (c *Cache) Shed() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.order.Back(); e != nil; e = c.order.Back() {
		c.drop(e)
	}
}
