// Package metacache keeps decoded metadata in memory by the path of its file: what
// was used least recently goes first when a cache is full, and what belongs to a
// file goes when this process removes the file (Watch). What a cache holds is
// shared and not changed.
//
// Start reading at Cache.
package metacache

import (
	"container/list"
	"strings"
	"sync"

	"github.com/thermocline/thermocline/internal/memory"
)

// Cache holds values of type V by path. A nil Cache keeps nothing. It is safe for
// concurrent use.
type Cache[V any] struct {
	mu     sync.Mutex
	limit  int64
	used   int64
	budget *memory.Budget
	items  map[string]*list.Element
	order  list.List // front: used last
}

type item[V any] struct {
	path  string
	bytes int64
	value V
}

// itemBytes is what an item costs beside its value and path, about.
const itemBytes = 200

// New makes a cache of at most limit bytes, paid from budget (nil: from nobody).
func New[V any](limit int64, budget *memory.Budget) *Cache[V] {
	return &Cache[V]{limit: limit, budget: budget, items: map[string]*list.Element{}}
}

// Limit is how many bytes the cache holds at most.
func (c *Cache[V]) Limit() int64 {
	if c == nil {
		return 0
	}
	return c.limit
}

// Used is how many bytes it holds, about.
func (c *Cache[V]) Used() int64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// Get returns what is kept for a path.
func (c *Cache[V]) Get(path string) (v V, ok bool) {
	if c == nil {
		return v, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.items[path]
	if e == nil {
		return v, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*item[V]).value, true
}

// Put keeps a value of so many bytes in the place of an older one of the path. A
// value larger than the cache, or for which the budget has nothing left, is not
// kept.
func (c *Cache[V]) Put(path string, value V, bytes int64) {
	if c == nil {
		return
	}
	it := &item[V]{path, bytes + int64(len(path)) + itemBytes, value}
	if it.bytes > c.limit {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.items[path]; e != nil {
		c.drop(e)
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
	c.items[path] = c.order.PushFront(it)
}

func (c *Cache[V]) drop(e *list.Element) {
	it := c.order.Remove(e).(*item[V])
	delete(c.items, it.path)
	c.used -= it.bytes
	c.budget.Release(it.bytes)
}

// Forget drops what is kept for a path.
func (c *Cache[V]) Forget(path string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.items[path]; e != nil {
		c.drop(e)
	}
}

// ForgetBelow drops what is kept for paths in a directory and below it.
func (c *Cache[V]) ForgetBelow(dir string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, e := range c.items {
		if strings.HasPrefix(path, dir+"/") {
			c.drop(e)
		}
	}
}

// Shed drops everything.
func (c *Cache[V]) Shed() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.order.Back(); e != nil; e = c.order.Back() {
		c.drop(e)
	}
}
