package read

import (
	"container/list"
	"sync"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/memory"
)

// Cache keeps decoded metadata in memory: manifests, manifest lists and the
// footers of data files by path, for ever, since their names hold uuids, and
// schemas by path, size and modification time. The least recently used go first
// when it is full; footers have a quarter of it to themselves, so that a large
// scan does not push the manifests out. A nil Cache keeps nothing. It is safe for
// concurrent use.
type Cache struct {
	footers *Cache // nil: of footers
	mu      sync.Mutex
	limit   int64
	budget  *memory.Budget
	used    int64
	items   map[string]*list.Element
	order   list.List // front: used last
}

type cacheItem struct {
	key   string
	size  int64
	value any
	// of schemas
	fileSize int64
	modified time.Time
	etag     string
}

// NewCache makes a cache of at most limit bytes, paid from budget (nil: from
// nobody).
func NewCache(limit int64, budget *memory.Budget) *Cache {
	return &Cache{limit: limit - limit/4, budget: budget, items: map[string]*list.Element{},
		footers: &Cache{limit: limit / 4, budget: budget, items: map[string]*list.Element{}}}
}

// metadata returns where footers of data files are kept, nil for nowhere.
func (c *Cache) metadata() format.Metadata {
	if c == nil {
		return nil
	}
	return footers{c.footers}
}

// footers implements format.Metadata.
type footers struct{ c *Cache }

// Load implements format.Metadata.
func (f footers) Load(path string) any {
	if it := f.c.get(path); it != nil {
		return it.value
	}
	return nil
}

// Store implements format.Metadata.
func (f footers) Store(path string, value any, bytes int64) {
	f.c.put(&cacheItem{key: path, size: bytes + int64(len(path)) + 200, value: value})
}

func (c *Cache) get(key string) *cacheItem {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.items[key]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cacheItem)
}

func (c *Cache) put(it *cacheItem) {
	if c == nil || it.size > c.limit {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.items[it.key]; e != nil {
		c.drop(e)
	}
	for c.used+it.size > c.limit {
		c.drop(c.order.Back())
	}
	for c.budget.Reserve(it.size) != nil {
		if c.order.Len() == 0 {
			return // others need the memory more
		}
		c.drop(c.order.Back())
	}
	c.used += it.size
	c.items[it.key] = c.order.PushFront(it)
}

func (c *Cache) drop(e *list.Element) {
	it := c.order.Remove(e).(*cacheItem)
	delete(c.items, it.key)
	c.used -= it.size
	c.budget.Release(it.size)
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
	c.footers.Shed()
}

func (c *Cache) schema(path string, in fileio.Info) *catalog.Schema {
	it := c.get(path)
	if it == nil || it.fileSize != in.Size || !it.modified.Equal(in.ModTime) || it.etag != in.ETag {
		return nil
	}
	return it.value.(*catalog.Schema)
}

// recent is how long after its modification a file may still change within the
// resolution of its time stamp.
const recent = 2 * time.Second

func (c *Cache) putSchema(path string, in fileio.Info, s *catalog.Schema) {
	if in.ETag == "" && time.Since(in.ModTime) < recent {
		return
	}
	c.put(&cacheItem{key: path, size: 4*in.Size + 1024, value: s, fileSize: in.Size, modified: in.ModTime, etag: in.ETag})
}

func (c *Cache) manifest(path string) *spec.Entries {
	if it := c.get(path); it != nil {
		return it.value.(*spec.Entries)
	}
	return nil
}

func (c *Cache) manifestList(path string) []spec.ManifestMeta {
	if it := c.get(path); it != nil {
		return it.value.([]spec.ManifestMeta)
	}
	return nil
}

func (c *Cache) snapshot(path string, in fileio.Info) *spec.Snapshot {
	it := c.get(path)
	if it == nil || it.fileSize != in.Size || !it.modified.Equal(in.ModTime) || it.etag != in.ETag {
		return nil
	}
	s, _ := it.value.(*spec.Snapshot)
	return s
}

func (c *Cache) putSnapshot(path string, in fileio.Info, s *spec.Snapshot) {
	if in.ETag == "" && time.Since(in.ModTime) < recent {
		return
	}
	c.put(&cacheItem{key: path, size: in.Size + 512, value: s, fileSize: in.Size, modified: in.ModTime, etag: in.ETag})
}
