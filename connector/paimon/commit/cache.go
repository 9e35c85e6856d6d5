package commit

import (
	"github.com/thermocline/thermocline/connector/paimon/metacache"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/memory"
)

// Cache keeps decoded manifests and manifest lists by path: a table that is
// committed to many times a second has its few, small manifests read by each
// commit. Their names hold uuids, so that what was read stays right for ever. What
// it holds is shared and not changed. A nil Cache keeps nothing. It is safe for
// concurrent use.
type Cache struct{ *metacache.Cache[any] }

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
	return &Cache{metacache.New[any](limit, budget)}
}

// takes reports whether a manifest of so many bytes is kept: one that would push
// out many others is not.
func (c *Cache) takes(bytes int64) bool { return c != nil && bytes*expansion <= c.Limit()/8 }

func (c *Cache) get(path string) any {
	if c == nil {
		return nil
	}
	v, _ := c.Get(path)
	return v
}

func (c *Cache) putEntries(path string, entries []spec.ManifestEntry) {
	var n int64
	for i := range entries {
		e := &entries[i]
		n += entryBytes + int64(len(e.Partition)+len(e.File.MinKey)+len(e.File.MaxKey))
	}
	c.put(path, entries, n)
}

func (c *Cache) putList(path string, metas []spec.ManifestMeta) {
	c.put(path, metas, metaBytes*int64(len(metas)))
}

func (c *Cache) put(path string, value any, bytes int64) {
	if c == nil || bytes > c.Limit()/8 {
		return
	}
	c.Put(path, value, bytes)
}
