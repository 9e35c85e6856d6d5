package read

import (
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/metacache"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/memory"
)

// Cache keeps decoded metadata in memory: manifests, manifest lists, index manifests
// and the footers of data files by path, for ever, since their names hold uuids, and
// schemas and snapshots by path, size and modification time, or tag of the content. Footers have a
// quarter of it to themselves, so that a large scan does not push the manifests
// out. A nil Cache keeps nothing. It is safe for concurrent use.
type Cache struct {
	kept    *metacache.Cache[any] // *spec.Entries, []spec.ManifestMeta, []spec.IndexEntry, stamped
	footers *metacache.Cache[any]
}

// stamped is what was read of a file that may come back with other content.
type stamped struct {
	value any
	file  fileio.Info
}

// NewCache makes a cache of at most limit bytes, paid from budget (nil: from
// nobody).
func NewCache(limit int64, budget *memory.Budget) *Cache {
	return &Cache{kept: metacache.New[any](limit-limit/4, budget), footers: metacache.New[any](limit/4, budget)}
}

// metadata returns where footers of data files are kept, nil for nowhere.
func (c *Cache) metadata() format.Metadata {
	if c == nil {
		return nil
	}
	return footers{c.footers}
}

// footers implements format.Metadata.
type footers struct{ c *metacache.Cache[any] }

// Load implements format.Metadata.
func (f footers) Load(path string) any {
	v, _ := f.c.Get(path)
	return v
}

// Store implements format.Metadata.
func (f footers) Store(path string, value any, bytes int64) { f.c.Put(path, value, bytes) }

// Forget implements metacache.Forgetting.
func (c *Cache) Forget(path string) {
	c.kept.Forget(path)
	c.footers.Forget(path)
}

// ForgetBelow implements metacache.Forgetting.
func (c *Cache) ForgetBelow(dir string) {
	c.kept.ForgetBelow(dir)
	c.footers.ForgetBelow(dir)
}

// Shed drops everything.
func (c *Cache) Shed() {
	if c == nil {
		return
	}
	c.kept.Shed()
	c.footers.Shed()
}

// get returns what is kept for a path of an immutable file.
func (c *Cache) get(path string) any {
	if c == nil {
		return nil
	}
	v, _ := c.kept.Get(path)
	return v
}

func (c *Cache) put(path string, value any, bytes int64) {
	if c != nil {
		c.kept.Put(path, value, bytes)
	}
}

// current returns what is kept of a file that is as in describes it.
func (c *Cache) current(path string, in fileio.Info) any {
	if s, ok := c.get(path).(stamped); ok && sameFile(s.file, in) {
		return s.value
	}
	return nil
}

// sameFile reports whether two looks at a path saw the same content, given that it
// was settled at the first.
func sameFile(a, b fileio.Info) bool {
	return a.Size == b.Size && a.ETag == b.ETag && (a.ETag != "" || a.ModTime.Equal(b.ModTime))
}

// recent is how long after its modification a file may still change within the
// resolution of its time stamp.
const recent = 2 * time.Second

// settled reports whether a file that is changed after the time at is seen to be
// another.
func settled(in fileio.Info, at time.Time) bool {
	return in.ETag != "" || at.Sub(in.ModTime) >= recent
}

func (c *Cache) putCurrent(path string, in fileio.Info, value any, bytes int64) {
	if settled(in, time.Now()) {
		c.put(path, stamped{value, in}, bytes)
	}
}

// hash and putHash keep the hash of a schema's file.
func (c *Cache) hash(path string, in fileio.Info) string {
	sum, _ := c.current(path+"\x00hash", in).(string)
	return sum
}

func (c *Cache) putHash(path string, in fileio.Info, sum string) {
	c.putCurrent(path+"\x00hash", in, sum, int64(len(sum)))
}

func (c *Cache) schema(path string, in fileio.Info) *catalog.Schema {
	s, _ := c.current(path, in).(*catalog.Schema)
	return s
}

func (c *Cache) putSchema(path string, in fileio.Info, s *catalog.Schema) {
	c.putCurrent(path, in, s, 4*in.Size+1024)
}

func (c *Cache) snapshot(path string, in fileio.Info) *spec.Snapshot {
	s, _ := c.current(path, in).(*spec.Snapshot)
	return s
}

func (c *Cache) putSnapshot(path string, in fileio.Info, s *spec.Snapshot) {
	c.putCurrent(path, in, s, in.Size+512)
}

func (c *Cache) manifest(path string) *spec.Entries {
	e, _ := c.get(path).(*spec.Entries)
	return e
}

func (c *Cache) indexes(path string) ([]spec.IndexEntry, bool) {
	l, ok := c.get(path).([]spec.IndexEntry)
	return l, ok
}

func (c *Cache) putIndexes(path string, l []spec.IndexEntry) {
	n := int64(0)
	for i := range l {
		e := &l[i]
		n += 240 + int64(len(e.Partition)+len(e.IndexType)+len(e.FileName)+len(e.ExternalPath.V))
		for j := range e.Ranges.V {
			n += 64 + int64(len(e.Ranges.V[j].DataFile))
		}
		if g := e.Global; g != nil {
			n += 128 + int64(len(g.Meta)+len(g.SourceMeta)+4*len(g.ExtraFieldIDs.V))
		}
	}
	c.put(path, l, n)
}

func (c *Cache) manifestList(path string) []spec.ManifestMeta {
	l, _ := c.get(path).([]spec.ManifestMeta)
	return l
}
