// Package paimon is the connector for Apache Paimon tables: it opens table
// directories and joins the packages below it, read (plan and readers), write
// and commit, into the SPI of package connector.
//
// Invariants: a Table holds no state that a commit by somebody else could make
// stale: every Snapshot call resolves the table's newest state anew (DESIGN D9).
// What a table uses and this version cannot do is refused by name before any
// row is returned.
//
// Start reading at Driver, then Table.
package paimon

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/metacache"
	"github.com/thermocline/thermocline/connector/paimon/pagecache"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/memory"
)

// Config is what a Driver needs from outside.
type Config struct {
	// Files is the door to bytes.
	Files fileio.FileIO
	// Formats are the data file formats.
	Formats *format.Registry
	// Location is the zone of the wall clocks that files hold, such as the times
	// when data files were made, and the one in which system tables show times to a
	// reader without a zone of its own (catalog.Ref.Zone): Paimon defines commit_time
	// and others as TIMESTAMP(3), a wall clock. nil is UTC.
	Location *time.Location
	// Lock takes the lock of a table where the catalog has one that other engines
	// take too; nil takes none. See commit.LockFunc.
	Lock func(ctx context.Context, database, table string) (unlock func() error, err error)
	// CacheBytes bounds the cache of decoded metadata; 0 is 64 MiB. CacheBudget
	// pays for it; nil is nobody.
	CacheBytes  int64
	CacheBudget *memory.Budget
	// Pages keeps decompressed pages of data files that queries read; nil keeps none.
	// Drivers may share one.
	Pages *pagecache.Cache
	// Pinned returns the snapshots of a table, by its UUID, that statements of this
	// process read now, so that expiry leaves them (DESIGN D19). nil: none.
	Pinned func(table string) []int64
	// Spill takes rows that memory is too short for until they are committed; nil:
	// they are written to files of their own.
	Spill *fileio.Scratch
	// CompactionBudget pays for compactions that no writer does; nil is nobody.
	CompactionBudget *memory.Budget
	// Maintained says that an Upkeep runs, to which commits to owned tables are
	// told. Without one, commits do what is due themselves, but for compaction.
	Maintained bool
}

// Driver opens and makes tables. It is safe for concurrent use; tables opened
// by one driver share its caches.
type Driver struct {
	cfg       Config
	cache     *read.Cache
	metadata  *commit.Cache
	keepers   sync.Map // *maintain.Keeper by a table's directory of metadata
	consumers consumers
	upkeep    atomic.Pointer[Upkeep]
	// registry keeps writers and compactions of the same table apart.
	registry write.Registry
}

// NewDriver makes a driver.
func NewDriver(cfg Config) *Driver {
	if cfg.Location == nil {
		cfg.Location = time.UTC
	}
	if cfg.CacheBytes <= 0 {
		cfg.CacheBytes = 64 << 20
	}
	d := &Driver{cfg: cfg, cache: read.NewCache(cfg.CacheBytes, cfg.CacheBudget), metadata: commit.NewCache(cfg.CacheBytes/8, cfg.CacheBudget)}
	d.cfg.Files = metacache.Watch(cfg.Files, d.cache, d.metadata, cfg.Pages)
	return d
}

// pages is where pages of data files are kept, nil for nowhere.
func (d *Driver) pages() format.Pages {
	if d.cfg.Pages == nil {
		return nil
	}
	return d.cfg.Pages
}

// Table is an opened table or branch. It is immutable and safe for concurrent
// use.
type Table struct {
	driver *Driver
	dir    string // the table's directory; data of branches lies there too
	id     catalog.Identifier
	schema *catalog.Schema // the newest of the branch when opened
	opened read.Definition // it, with what tells that it still is
	uuid   string
}

var _ catalog.Table = (*Table)(nil)

// ID implements catalog.Table.
func (t *Table) ID() catalog.Identifier { return t.id }

// Schema implements catalog.Table.
func (t *Table) Schema() *catalog.Schema { return t.schema }

// UUID implements catalog.Table: the hash of the table's first schema file.
func (t *Table) UUID() string { return t.uuid }

// Dir returns the table's directory, where data, manifests and indexes lie.
func (t *Table) Dir() string { return t.dir }

// MetaDir returns the directory of schemas, snapshots and tags: Dir for the
// main branch, branch/branch-<name> below it for others.
func (t *Table) MetaDir() string {
	if t.id.Branch == "" {
		return t.dir
	}
	return t.dir + "/branch/branch-" + t.id.Branch
}
