// Package filesystem is the catalog of a Paimon warehouse: databases are the
// directories <warehouse>/<name>.db, tables the directories in them that have a
// schema, as every Paimon engine lays them out.
//
// Invariants: the directory tree is the catalog; nothing is cached, so that
// tables made by others are seen at once. A table exists from the moment its
// first schema file does.
//
// Start reading at Catalog.
package filesystem

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/errs"
)

// Config is what a catalog needs.
type Config struct {
	// Files is the door to bytes; Warehouse the root directory, which need not
	// exist before the first write.
	Files     fileio.FileIO
	Warehouse string
	// Driver opens and makes tables.
	Driver *paimon.Driver
	// TableDefaults are options of new tables that do not set them.
	TableDefaults map[string]string
}

// Catalog implements catalog.Writable. It is safe for concurrent use.
type Catalog struct {
	files  fileio.FileIO
	root   string
	driver *paimon.Driver
	preset map[string]string // options of new tables
}

var (
	_ catalog.Writable     = (*Catalog)(nil)
	_ connector.Procedural = (*Catalog)(nil)
)

// Open returns the catalog of a warehouse.
func Open(cfg Config) (*Catalog, error) {
	root := strings.TrimRight(cfg.Warehouse, "/")
	if root == "" || cfg.Files == nil || cfg.Driver == nil {
		return nil, errs.Internalf("open warehouse %q: files and a driver are needed", cfg.Warehouse)
	}
	return &Catalog{files: cfg.Files, root: root, driver: cfg.Driver, preset: cfg.TableDefaults}, nil
}

const suffix = ".db"

// marker is a file that keeps the directory of a database without tables:
// stores of objects know no empty directories.
const marker = ".thermocline-database"

func (c *Catalog) databaseDir(name string) string { return c.root + "/" + name + suffix }

func (c *Catalog) tableDir(id catalog.Identifier) string {
	return c.databaseDir(id.Database) + "/" + id.Table
}

// Databases implements catalog.Catalog.
func (c *Catalog) Databases(ctx context.Context) ([]string, error) {
	list, err := c.files.List(ctx, c.root)
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	var out []string
	for _, in := range list {
		if n, ok := strings.CutSuffix(in.Name, suffix); ok && in.Dir && catalog.ValidName("database", n) == nil {
			out = append(out, n)
		}
	}
	return out, nil
}

// hasDatabase reports whether a database exists.
func (c *Catalog) hasDatabase(ctx context.Context, name string) (bool, error) {
	list, err := c.Databases(ctx)
	return slices.Contains(list, name), err
}

// Tables implements catalog.Catalog.
func (c *Catalog) Tables(ctx context.Context, database string) ([]string, error) {
	if err := catalog.NeedDatabase(ctx, c, database); err != nil {
		return nil, err
	}
	return c.tables(ctx, database)
}

func (c *Catalog) tables(ctx context.Context, database string) ([]string, error) {
	list, err := c.files.List(ctx, c.databaseDir(database))
	if err != nil {
		return nil, fmt.Errorf("list tables of %s: %w", database, err)
	}
	var out []string
	for _, in := range list {
		if !in.Dir || strings.HasPrefix(in.Name, ".") {
			continue
		}
		ok, err := c.driver.Exists(ctx, c.databaseDir(database)+"/"+in.Name)
		if err != nil {
			return nil, fmt.Errorf("list tables of %s: %w", database, err)
		}
		if ok {
			out = append(out, in.Name)
		}
	}
	return out, nil
}

// Table implements catalog.Catalog.
func (c *Catalog) Table(ctx context.Context, id catalog.Identifier) (catalog.Table, error) {
	if err := catalog.ValidName("table", id.Table); err != nil {
		return nil, catalog.MissingTable(ctx, c, id)
	}
	if catalog.ValidName("database", id.Database) != nil {
		return nil, catalog.NeedDatabase(ctx, c, id.Database)
	}
	t, err := c.driver.Open(ctx, c.tableDir(id), id)
	if errs.Is(err, errs.UnknownTable) {
		// The table, or only its branch?
		if ok, look := c.driver.Exists(ctx, c.tableDir(id)); look == nil && !ok {
			return nil, catalog.MissingTable(ctx, c, id)
		}
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// CreateDatabase implements catalog.Writable.
func (c *Catalog) CreateDatabase(ctx context.Context, database string, ifNotExists bool) error {
	if err := catalog.ValidName("database", database); err != nil {
		return err
	}
	ok, err := c.hasDatabase(ctx, database)
	if err != nil {
		return err
	}
	if !ok {
		err := c.files.CreateExclusive(ctx, c.databaseDir(database)+"/"+marker, []byte("{}"))
		if err == nil {
			return nil
		}
		// Someone else may have been faster, or the reply was lost: look.
		if ok, look := c.hasDatabase(ctx, database); look != nil || !ok {
			return fmt.Errorf("create database %s: %w", database, err)
		}
		if !errs.Is(err, errs.FileExists) {
			return nil
		}
	}
	if ifNotExists {
		return nil
	}
	return errs.Userf(errs.DatabaseExists, "Can't create database '%s'; database exists", database)
}

// DropDatabase implements catalog.Writable.
func (c *Catalog) DropDatabase(ctx context.Context, database string, cascade bool) error {
	if err := catalog.ValidName("database", database); err != nil {
		return err
	}
	if err := catalog.NeedDatabase(ctx, c, database); err != nil {
		return err
	}
	list, err := c.tables(ctx, database)
	if err != nil {
		return err
	}
	if len(list) > 0 && !cascade {
		return errs.Userf(errs.DatabaseNotEmpty, "drop database %s: it has %d tables, %s among them; drop them first or use CASCADE", database, len(list), list[0])
	}
	views, err := c.Views(ctx, database)
	if err != nil {
		return err
	}
	if len(views) > 0 && !cascade {
		return errs.Userf(errs.DatabaseNotEmpty, "drop database %s: it has %d views, %s among them; drop them first or use CASCADE", database, len(views), views[0])
	}
	for _, v := range views {
		if err := c.DropView(ctx, database, v); err != nil {
			return err
		}
	}
	for _, t := range list {
		if err := c.driver.Drop(ctx, c.databaseDir(database)+"/"+t); err != nil {
			return fmt.Errorf("drop table %s.%s: %w", database, t, err)
		}
	}
	if err := c.files.RemoveAll(ctx, c.databaseDir(database)); err != nil {
		return fmt.Errorf("drop database %s: %w", database, err)
	}
	return nil
}

// CreateTable implements catalog.Writable.
func (c *Catalog) CreateTable(ctx context.Context, id catalog.Identifier, s *catalog.Schema, ifNotExists bool) (catalog.Table, error) {
	if err := catalog.ValidNewTable(id); err != nil {
		return nil, err
	}
	if err := catalog.NeedDatabase(ctx, c, id.Database); err != nil {
		return nil, err
	}
	v, _, err := c.newestView(ctx, id.Database, id.Table)
	if err != nil {
		return nil, err
	}
	if v != nil {
		return nil, errs.Userf(errs.TableExists, "Table '%s' already exists", id.Table)
	}
	t, err := c.driver.Create(ctx, c.tableDir(id), id, s.WithDefaults(c.preset))
	if err == nil {
		return t, nil
	}
	if ifNotExists && errs.Is(err, errs.TableExists) {
		return c.Table(ctx, id)
	}
	return nil, err
}

// DropTable implements catalog.Writable.
func (c *Catalog) DropTable(ctx context.Context, id catalog.Identifier) error {
	if id.Branch != "" || id.System != "" {
		return errs.Unsupportedf(-1, "DROP TABLE of a branch or system table (%s)", id)
	}
	if err := catalog.ValidName("table", id.Table); err != nil {
		return catalog.MissingTable(ctx, c, id)
	}
	if catalog.ValidName("database", id.Database) != nil {
		return catalog.NeedDatabase(ctx, c, id.Database)
	}
	ok, err := c.driver.Exists(ctx, c.tableDir(id))
	if err != nil {
		return fmt.Errorf("drop table %s: %w", id, err)
	}
	if !ok {
		return catalog.MissingTable(ctx, c, id)
	}
	if err := c.driver.Drop(ctx, c.tableDir(id)); err != nil {
		return fmt.Errorf("drop table %s: %w", id, err)
	}
	return nil
}
