// Package memory keeps tables in memory behind the whole SPI: they are
// readable at any of their versions, writable, and committed atomically. It
// serves tests, temporary tables and everything that must look like a table
// without having files.
//
// Invariants: a version never changes once it is published. A table with a
// primary key holds one row a key: a later row of the same key replaces the
// earlier one, +I and +U put, -U and -D remove, as Paimon's deduplicate engine
// does. A table without a primary key takes only +I and +U rows.
//
// Start reading at Catalog, then Table and its version.
package memory

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	budget "github.com/thermocline/thermocline/internal/memory"
)

// Catalog is a catalog.Writable of tables in memory.
type Catalog struct {
	pays *budget.Budget

	mu  sync.RWMutex
	dbs map[string]map[string]*Table
	// views by database and name
	views map[string]map[string]*catalog.View
}

var _ catalog.Writable = (*Catalog)(nil)

// NewCatalog makes a catalog with the given databases. Rows are reserved from
// pays; nil is unlimited.
func NewCatalog(pays *budget.Budget, databases ...string) *Catalog {
	c := &Catalog{pays: pays, dbs: map[string]map[string]*Table{}}
	for _, d := range databases {
		c.dbs[d] = map[string]*Table{}
	}
	return c
}

// Databases implements catalog.Catalog.
func (c *Catalog) Databases(context.Context) ([]string, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Sorted(maps.Keys(c.dbs)), nil
}

// Tables implements catalog.Catalog.
func (c *Catalog) Tables(_ context.Context, database string) ([]string, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	db, ok := c.dbs[database]
	if !ok {
		return nil, errs.Userf(errs.UnknownDatabase, "Unknown database '%s'", database)
	}
	return slices.Sorted(maps.Keys(db)), nil
}

// Table implements catalog.Catalog. The only system table is $snapshots.
func (c *Catalog) Table(_ context.Context, id catalog.Identifier) (catalog.Table, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	db, ok := c.dbs[id.Database]
	if !ok {
		return nil, errs.Userf(errs.UnknownDatabase, "Unknown database '%s'", id.Database)
	}
	t, ok := db[id.Table]
	if !ok || id.Branch != "" {
		return nil, errs.Userf(errs.UnknownTable, "Table '%s' doesn't exist", id)
	}
	switch id.System {
	case "":
		return t, nil
	case "snapshots":
		return t.snapshots()
	}
	return nil, errs.Userf(errs.UnknownTable, "Table '%s' doesn't exist: tables in memory have only the system table $snapshots", id)
}

// CreateDatabase implements catalog.Writable.
func (c *Catalog) CreateDatabase(_ context.Context, database string, ifNotExists bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.dbs[database]; ok {
		if ifNotExists {
			return nil
		}
		return errs.Userf(errs.DatabaseExists, "Can't create database '%s'; database exists", database)
	}
	c.dbs[database] = map[string]*Table{}
	return nil
}

// DropDatabase implements catalog.Writable.
func (c *Catalog) DropDatabase(_ context.Context, database string, cascade bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	db, ok := c.dbs[database]
	if !ok {
		return errs.Userf(errs.UnknownDatabase, "Can't drop database '%s'; database doesn't exist", database)
	}
	if len(db) > 0 && !cascade {
		return errs.Userf(errs.DatabaseNotEmpty, "drop database '%s': it holds tables", database)
	}
	for _, t := range db {
		t.drop()
	}
	delete(c.dbs, database)
	delete(c.views, database)
	return nil
}

var uuids atomic.Int64

// CreateTable implements catalog.Writable.
func (c *Catalog) CreateTable(_ context.Context, id catalog.Identifier, s *catalog.Schema, ifNotExists bool) (catalog.Table, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	db, ok := c.dbs[id.Database]
	if !ok {
		return nil, errs.Userf(errs.UnknownDatabase, "Unknown database '%s'", id.Database)
	}
	if t, ok := db[id.Table]; ok {
		if ifNotExists {
			return t, nil
		}
		return nil, errs.Userf(errs.TableExists, "Table '%s' already exists", id.Table)
	}
	if c.views[id.Database][id.Table] != nil {
		return nil, errs.Userf(errs.TableExists, "Table '%s' already exists", id.Table)
	}
	t, err := newTable(id, s, c.pays)
	if err != nil {
		return nil, err
	}
	t.uuid = "memory-" + strconv.FormatInt(uuids.Add(1), 10)
	db[id.Table] = t
	return t, nil
}

// DropTable implements catalog.Writable. Snapshots that are being read stay
// readable.
func (c *Catalog) DropTable(_ context.Context, id catalog.Identifier) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.dbs[id.Database][id.Table]
	if !ok {
		return errs.Userf(errs.UnknownTable, "Unknown table '%s'", id)
	}
	t.drop()
	delete(c.dbs[id.Database], id.Table)
	return nil
}
