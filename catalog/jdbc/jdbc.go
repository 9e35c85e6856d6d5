// Package jdbc is the catalog of a Paimon warehouse whose names are rows in a
// SQL database: MySQL or MariaDB, PostgreSQL, or a SQLite file. Tables and rows
// are those of Java Paimon's JdbcCatalog, so that both use one catalog.
//
// Invariants: a table exists when its row does; its definition is in its
// directory, <warehouse>/<db>.db/<table>, as in a filesystem catalog. The
// catalog's lock is taken around every creation of a schema or snapshot
// (DESIGN D12). Nothing is cached, so that what others make is seen at once.
// Names are compared exactly, whatever the database's collation.
//
// Start reading at Catalog, then locks.
package jdbc

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/errs"
)

// Config is what a catalog needs.
type Config struct {
	// Files is the door to bytes; Warehouse the root directory of the tables.
	Files     fileio.FileIO
	Warehouse string
	// URI is jdbc:mysql://…, jdbc:mariadb://…, jdbc:postgresql://… or
	// jdbc:sqlite:FILE. Properties are the options jdbc.<key> without their
	// prefix: user, password and what the database's driver knows.
	URI        string
	Properties map[string]string
	Drivers    []*Driver
	// Key is the option catalog-key: catalogs of different keys share a database
	// and see nothing of each other. "" is "jdbc".
	Key string
	// NoLock leaves the lock out, for catalogs whose other writers take none
	// either ('lock.enabled' = 'false'). LockTimeout is how long to wait for it,
	// and how long it lasts; LockMaxSleep the longest pause between tries;
	// LockKeyLength the size of the lock's column when it is made. 0 is Java's
	// default.
	NoLock        bool
	LockTimeout   time.Duration
	LockMaxSleep  time.Duration
	LockKeyLength int
	// NoTableProperties leaves paimon_table_properties alone
	// ('sync-all-properties' = 'false').
	NoTableProperties bool
	// TableDefaults are options of new tables that do not set them.
	TableDefaults map[string]string
	// PoolSize bounds the connections; 0 is 4.
	PoolSize int
	// NewDriver makes the driver of the tables, which takes the given lock; nil is
	// no lock.
	NewDriver func(lock func(ctx context.Context, database, table string) (unlock func() error, err error)) *paimon.Driver
}

// Catalog implements catalog.Altering. It is safe for concurrent use.
type Catalog struct {
	files  fileio.FileIO
	root   string
	key    string
	db     *database
	locks  *locks // nil: none
	driver *paimon.Driver
	preset map[string]string // options of new tables
	sync   bool              // of table properties
}

var _ catalog.Altering = (*Catalog)(nil)

// Open opens a catalog and makes its tables in the database where they are
// missing. Close ends its connections.
func Open(ctx context.Context, cfg Config) (*Catalog, error) {
	root := strings.TrimRight(cfg.Warehouse, "/")
	if root == "" || cfg.Files == nil || cfg.NewDriver == nil {
		return nil, errs.Internalf("open warehouse %q: files and a driver are needed", cfg.Warehouse)
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&cfg.LockTimeout, 8*time.Minute)
	def(&cfg.LockMaxSleep, 8*time.Second)
	if cfg.Key == "" {
		cfg.Key = "jdbc"
	}
	if cfg.PoolSize <= 0 {
		cfg.PoolSize = 4
	}
	if cfg.LockKeyLength <= 0 {
		cfg.LockKeyLength = 255
	}
	db, err := openDatabase(cfg.URI, cfg.Drivers, cfg.Properties, cfg.PoolSize)
	if err != nil {
		return nil, err
	}
	c := &Catalog{files: cfg.Files, root: root, key: cfg.Key, db: db, preset: cfg.TableDefaults, sync: !cfg.NoTableProperties}
	for _, t := range []string{tablesTable, databasePropertiesTable, tablePropertiesTable, viewsTable} {
		if err := db.ensure(ctx, t); err != nil {
			db.db.Close()
			return nil, err
		}
	}
	if cfg.NoLock {
		c.driver = cfg.NewDriver(nil)
		return c, nil
	}
	if err := db.ensure(ctx, locksTable, cfg.LockKeyLength); err != nil {
		db.db.Close()
		return nil, err
	}
	c.locks = &locks{db: db, key: cfg.Key, timeout: cfg.LockTimeout, maxSleep: cfg.LockMaxSleep, local: map[string]chan struct{}{}}
	c.driver = cfg.NewDriver(c.locks.lock)
	return c, nil
}

// Close ends the connections to the database.
func (c *Catalog) Close() error { return c.db.db.Close() }

// lock takes a table's lock where the catalog has one.
func (c *Catalog) lock(ctx context.Context, id catalog.Identifier) (unlock func() error, err error) {
	if c.locks == nil {
		return func() error { return nil }, nil
	}
	return c.locks.lock(ctx, id.Database, id.Table)
}

func (c *Catalog) databaseDir(name string) string { return c.root + "/" + name + ".db" }

func (c *Catalog) tableDir(id catalog.Identifier) string {
	return c.databaseDir(id.Database) + "/" + id.Table
}

// Databases implements catalog.Catalog.
func (c *Catalog) Databases(ctx context.Context) ([]string, error) {
	list, err := c.db.strings(ctx, c.db.db, "SELECT database_name FROM paimon_tables WHERE catalog_key = ?"+
		" UNION SELECT database_name FROM paimon_database_properties WHERE catalog_key = ?"+
		" UNION SELECT database_name FROM paimon_views WHERE catalog_key = ?", c.key, c.key, c.key)
	if err != nil {
		return nil, err
	}
	sort.Strings(list)
	return slices.Compact(list), nil
}

func (c *Catalog) tables(ctx context.Context, database string) ([]string, error) {
	// The database's collation may ignore case: only the exact database counts.
	list, err := c.pairs(ctx, tablesTable, "table_name", database)
	sort.Strings(list)
	return list, err
}

// pairs returns a column of the rows of a database.
func (c *Catalog) pairs(ctx context.Context, table, column, database string) (out []string, err error) {
	rows, err := c.db.db.QueryContext(ctx, c.db.bind("SELECT database_name, "+column+" FROM "+table+" WHERE catalog_key = ? AND database_name = ?"), c.key, database)
	if err != nil {
		return nil, hide(err, "read the catalog in %s", c.db.where)
	}
	defer rows.Close()
	for rows.Next() {
		var d, n string
		if err := rows.Scan(&d, &n); err != nil {
			return nil, hide(err, "read the catalog in %s", c.db.where)
		}
		if d == database {
			out = append(out, n)
		}
	}
	return out, hide(rows.Err(), "read the catalog in %s", c.db.where)
}

// has reports whether a table, or a view, has a row.
func (c *Catalog) has(ctx context.Context, table, column string, id catalog.Identifier) (bool, error) {
	rows, err := c.db.db.QueryContext(ctx, c.db.bind("SELECT database_name, "+column+" FROM "+table+" WHERE catalog_key = ? AND database_name = ? AND "+column+" = ?"),
		c.key, id.Database, id.Table)
	if err != nil {
		return false, hide(err, "read the catalog in %s", c.db.where)
	}
	defer rows.Close()
	found := false
	for rows.Next() {
		var d, n string
		if err := rows.Scan(&d, &n); err != nil {
			return false, hide(err, "read the catalog in %s", c.db.where)
		}
		found = found || d == id.Database && n == id.Table
	}
	return found, hide(rows.Err(), "read the catalog in %s", c.db.where)
}

// Tables implements catalog.Catalog.
func (c *Catalog) Tables(ctx context.Context, database string) ([]string, error) {
	if err := catalog.NeedDatabase(ctx, c, database); err != nil {
		return nil, err
	}
	return c.tables(ctx, database)
}

// needTable returns an error when a table does not exist.
func (c *Catalog) needTable(ctx context.Context, id catalog.Identifier) error {
	if catalog.ValidName("database", id.Database) != nil {
		return catalog.NeedDatabase(ctx, c, id.Database)
	}
	if catalog.ValidName("table", id.Table) == nil {
		if ok, err := c.has(ctx, tablesTable, "table_name", id); ok || err != nil {
			return err
		}
	}
	return catalog.MissingTable(ctx, c, id)
}

// Table implements catalog.Catalog.
func (c *Catalog) Table(ctx context.Context, id catalog.Identifier) (catalog.Table, error) {
	if err := c.needTable(ctx, id); err != nil {
		return nil, err
	}
	t, err := c.driver.Open(ctx, c.tableDir(id), id)
	if errs.Is(err, errs.UnknownTable) && id.Branch == "" {
		return nil, errs.Corruptf("open table %s: the catalog has it, but there is no table in %s", id, c.tableDir(id))
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
	list, err := c.Databases(ctx)
	if err != nil {
		return err
	}
	exists := slices.Contains(list, database)
	if !exists {
		_, err := c.db.exec(ctx, c.db.db, "INSERT INTO paimon_database_properties (catalog_key, database_name, property_key, property_value) VALUES (?,?,?,?), (?,?,?,?)",
			c.key, database, "exists", "true", c.key, database, "location", c.databaseDir(database))
		switch {
		case err == nil:
			return nil
		case !c.db.driver.Duplicate(err):
			return hide(err, "create database %s", database)
		}
		// Somebody was faster, or a database exists whose name differs in case only
		// and the metadata database cannot hold both.
		if list, err = c.Databases(ctx); err != nil {
			return err
		}
		if !slices.Contains(list, database) {
			return errs.Userf(errs.DatabaseExists, "Can't create database '%s'; one exists whose name differs in case only", database)
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
	views, err := c.pairs(ctx, viewsTable, "view_name", database)
	if err != nil {
		return err
	}
	if all := append(slices.Clone(list), views...); len(all) > 0 && !cascade {
		return errs.Userf(errs.DatabaseNotEmpty, "drop database %s: it has %d tables and views, %s among them; drop them first or use CASCADE", database, len(all), all[0])
	}
	for _, t := range list {
		if err := c.DropTable(ctx, catalog.Identifier{Database: database, Table: t}); err != nil && !errs.Is(err, errs.UnknownTable) {
			return err
		}
	}
	err = c.db.within(ctx, func(tx *sql.Tx) error {
		for _, t := range []string{viewsTable, tablePropertiesTable, databasePropertiesTable} {
			if _, err := c.db.exec(ctx, tx, "DELETE FROM "+t+" WHERE catalog_key = ? AND database_name = ?", c.key, database); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return hide(err, "drop database %s", database)
	}
	// What else lies in its directory is not the catalog's.
	if left, err := c.files.List(ctx, c.databaseDir(database)); err == nil && len(left) == 0 {
		_ = c.files.RemoveAll(ctx, c.databaseDir(database))
	}
	return nil
}

// CreateTable implements catalog.Writable: the schema is written, then the row
// is made, as Java does it, so that other engines never see a table without a
// schema.
func (c *Catalog) CreateTable(ctx context.Context, id catalog.Identifier, s *catalog.Schema, ifNotExists bool) (catalog.Table, error) {
	if err := catalog.ValidNewTable(id); err != nil {
		return nil, err
	}
	if err := catalog.NeedDatabase(ctx, c, id.Database); err != nil {
		return nil, err
	}
	unlock, err := c.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	defer unlock() // a lock that is not given back expires
	if ok, err := c.has(ctx, tablesTable, "table_name", id); err != nil {
		return nil, err
	} else if ok && ifNotExists {
		return c.Table(ctx, id)
	} else if ok {
		return nil, errs.Userf(errs.TableExists, "Table '%s' already exists", id)
	}
	if ok, err := c.has(ctx, viewsTable, "view_name", id); err != nil {
		return nil, err
	} else if ok {
		return nil, errs.Userf(errs.TableExists, "Table '%s' already exists: it is a view", id)
	}
	t, err := c.driver.Create(ctx, c.tableDir(id), id, s.WithDefaults(c.preset))
	if errs.Is(err, errs.TableExists) {
		return nil, errs.Userf(errs.TableExists, "create table %s: the catalog has no such table, but the directory %s holds one; move it away, or CALL sys.repair('%s') to have it back",
			id, c.tableDir(id), id)
	}
	if err != nil {
		return nil, err
	}
	if err := c.register(ctx, id, t.Schema()); err != nil {
		there, look := c.has(context.WithoutCancel(ctx), tablesTable, "table_name", id)
		switch {
		case look != nil:
			return nil, errs.New(errs.UnknownOutcome, errs.KindNone, "create table %s: %w; it may exist: %v", id, err, look)
		case !there:
			if rm := c.driver.Drop(context.WithoutCancel(ctx), c.tableDir(id)); rm != nil {
				return nil, fmt.Errorf("create table %s: %w; removing its directory: %v", id, err, rm)
			}
			return nil, fmt.Errorf("create table %s: %w", id, err)
		}
	}
	return t, nil
}

// register makes the row of a table, and those of its options.
func (c *Catalog) register(ctx context.Context, id catalog.Identifier, s *catalog.Schema) error {
	return hide(c.db.within(ctx, func(tx *sql.Tx) error {
		if _, err := c.db.exec(ctx, tx, "INSERT INTO paimon_tables (catalog_key, database_name, table_name) VALUES (?,?,?)", c.key, id.Database, id.Table); err != nil {
			return err
		}
		return c.putProperties(ctx, tx, id, s)
	}), "write the catalog in %s", c.db.where)
}

// putProperties makes the rows of a table's options, which are copies for those
// who look into the database: engines read the schema.
func (c *Catalog) putProperties(ctx context.Context, r runner, id catalog.Identifier, s *catalog.Schema) error {
	if !c.sync {
		return nil
	}
	if _, err := c.db.exec(ctx, r, "DELETE FROM paimon_table_properties WHERE catalog_key = ? AND database_name = ? AND table_name = ?", c.key, id.Database, id.Table); err != nil {
		return err
	}
	all := map[string]string{}
	for k, v := range s.Options {
		all[k] = v
	}
	bucket := s.Options["bucket-key"]
	if bucket == "" {
		bucket = strings.Join(s.TrimmedPrimaryKeys(), ",")
	}
	for k, v := range map[string]string{"primary-key": strings.Join(s.PrimaryKeys, ","), "partition": strings.Join(s.PartitionKeys, ","), "bucket-key": bucket} {
		if v != "" {
			all[k] = v
		}
	}
	for k, v := range all {
		if len(v) > propertyLength || len(k) > 255 {
			continue // the column is too small for it
		}
		if _, err := c.db.exec(ctx, r, "INSERT INTO paimon_table_properties (catalog_key, database_name, table_name, property_key, property_value) VALUES (?,?,?,?,?)",
			c.key, id.Database, id.Table, k, v); err != nil {
			return err
		}
	}
	return nil
}

// DropTable implements catalog.Writable: the row goes first, so that nobody
// opens a table that is being removed.
func (c *Catalog) DropTable(ctx context.Context, id catalog.Identifier) error {
	if id.Branch != "" || id.System != "" {
		return errs.Unsupportedf(-1, "DROP TABLE of a branch or system table (%s)", id)
	}
	if err := c.needTable(ctx, id); err != nil {
		return err
	}
	unlock, err := c.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock() // a lock that is not given back expires
	err = c.db.within(ctx, func(tx *sql.Tx) error {
		for _, t := range []string{tablePropertiesTable, tablesTable} {
			if _, err := c.db.exec(ctx, tx, "DELETE FROM "+t+" WHERE catalog_key = ? AND database_name = ? AND table_name = ?", c.key, id.Database, id.Table); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return hide(err, "drop table %s", id)
	}
	if err := c.driver.Drop(ctx, c.tableDir(id)); err != nil {
		return fmt.Errorf("drop table %s: the catalog has it no more, but files remain in %s: %w", id, c.tableDir(id), err)
	}
	return nil
}

// AlterTable implements catalog.Altering.
func (c *Catalog) AlterTable(ctx context.Context, id catalog.Identifier, changes []catalog.SchemaChange) error {
	if err := c.needTable(ctx, id); err != nil {
		return err
	}
	if err := c.driver.Alter(ctx, c.tableDir(id), id, changes); err != nil { // takes the lock
		return err
	}
	if !c.sync || id.Branch != "" && id.Branch != "main" {
		return nil
	}
	t, err := c.driver.Open(ctx, c.tableDir(id), catalog.Identifier{Database: id.Database, Table: id.Table})
	if err != nil {
		return err
	}
	return hide(c.db.within(ctx, func(tx *sql.Tx) error { return c.putProperties(ctx, tx, id, t.Schema()) }),
		"alter table %s: it was changed, but not its copy in the catalog", id)
}

// RenameTable implements catalog.Altering: the directory gets another name
// before the changed rows are committed.
func (c *Catalog) RenameTable(ctx context.Context, from, to catalog.Identifier) error {
	if from.Branch != "" || from.System != "" {
		return errs.Unsupportedf(-1, "RENAME TABLE of a branch or system table (%s)", from)
	}
	if err := catalog.ValidNewTable(to); err != nil {
		return err
	}
	if err := catalog.NeedDatabase(ctx, c, to.Database); err != nil {
		return err
	}
	ids := []catalog.Identifier{from, to}
	sort.Slice(ids, func(i, j int) bool { // in Java's order, so that nobody waits for one while holding the other
		a, b := ids[i], ids[j]
		return a.Database < b.Database || a.Database == b.Database && a.Table < b.Table
	})
	for _, id := range slices.Compact(ids) {
		unlock, err := c.lock(ctx, id)
		if err != nil {
			return err
		}
		defer unlock() // a lock that is not given back expires
	}
	if err := c.needTable(ctx, from); err != nil {
		return err
	}
	for table, column := range map[string]string{tablesTable: "table_name", viewsTable: "view_name"} {
		if ok, err := c.has(ctx, table, column, to); err != nil {
			return err
		} else if ok {
			return errs.Userf(errs.TableExists, "Table '%s' already exists", to)
		}
	}
	moved := false
	err := c.db.within(ctx, func(tx *sql.Tx) error {
		for _, t := range []string{tablesTable, tablePropertiesTable} {
			if _, err := c.db.exec(ctx, tx, "UPDATE "+t+" SET database_name = ?, table_name = ? WHERE catalog_key = ? AND database_name = ? AND table_name = ?",
				to.Database, to.Table, c.key, from.Database, from.Table); err != nil {
				return err
			}
		}
		if err := fileio.RenameDir(ctx, c.files, c.tableDir(from), c.tableDir(to)); err != nil {
			return fmt.Errorf("rename its directory: %w", err)
		}
		moved = true
		return nil
	})
	if err == nil {
		return nil
	}
	err = hide(err, "rename table %s to %s", from, to)
	if !moved {
		return err
	}
	// The commit failed, or its reply was lost: the row decides.
	ctx = context.WithoutCancel(ctx)
	if ok, look := c.has(ctx, tablesTable, "table_name", to); look != nil {
		return errs.New(errs.UnknownOutcome, errs.KindNone, "%w; the directory is %s now: %v", err, c.tableDir(to), look)
	} else if ok {
		return nil
	}
	if back := fileio.RenameDir(ctx, c.files, c.tableDir(to), c.tableDir(from)); back != nil {
		return fmt.Errorf("%w; its directory is %s now: %w", err, c.tableDir(to), back)
	}
	return err
}

// Repair makes the rows of the tables whose directories exist: of one table, of
// a database when id has no table, of the whole warehouse when it has neither.
// It returns how many were missing.
func (c *Catalog) Repair(ctx context.Context, id catalog.Identifier) (int, error) {
	databases := []string{id.Database}
	if id.Database == "" {
		list, err := c.files.List(ctx, c.root)
		if err != nil {
			return 0, fmt.Errorf("repair the catalog: %w", err)
		}
		databases = nil
		for _, in := range list {
			if n, ok := strings.CutSuffix(in.Name, ".db"); ok && in.Dir && catalog.ValidName("database", n) == nil {
				databases = append(databases, n)
			}
		}
	}
	made := 0
	for _, d := range databases {
		if err := catalog.ValidName("database", d); err != nil {
			return made, err
		}
		names := []string{id.Table}
		if id.Table == "" {
			list, err := c.files.List(ctx, c.databaseDir(d))
			if err != nil {
				return made, fmt.Errorf("repair the catalog: %w", err)
			}
			names = nil
			for _, in := range list {
				if in.Dir && catalog.ValidName("table", in.Name) == nil {
					names = append(names, in.Name)
				}
			}
		}
		if err := c.CreateDatabase(ctx, d, true); err != nil {
			return made, err
		}
		for _, n := range names {
			new, err := c.repair(ctx, catalog.Identifier{Database: d, Table: n}, id.Table != "")
			if err != nil {
				return made, err
			}
			if new {
				made++
			}
		}
	}
	return made, nil
}

func (c *Catalog) repair(ctx context.Context, id catalog.Identifier, must bool) (bool, error) {
	if err := catalog.ValidNewTable(id); err != nil {
		return false, err
	}
	unlock, err := c.lock(ctx, id)
	if err != nil {
		return false, err
	}
	defer unlock() // a lock that is not given back expires
	if ok, err := c.has(ctx, tablesTable, "table_name", id); ok || err != nil {
		return false, err
	}
	t, err := c.driver.Open(ctx, c.tableDir(id), id)
	if errs.Is(err, errs.UnknownTable) && !must {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, c.register(ctx, id, t.Schema())
}
