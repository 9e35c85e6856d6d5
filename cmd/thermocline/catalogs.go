package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/catalog/filesystem"
	"github.com/thermocline/thermocline/catalog/jdbc"
	jdbcmysql "github.com/thermocline/thermocline/catalog/jdbc/mysql"
	jdbcpostgres "github.com/thermocline/thermocline/catalog/jdbc/postgres"
	jdbcsqlite "github.com/thermocline/thermocline/catalog/jdbc/sqlite"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio/s3"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/server/session"
)

// catalogControl opens the catalogs of CREATE CATALOG and keeps their
// definitions in the data directory.
type catalogControl struct {
	file  string         // "": they are not kept
	store *memory.Budget // of object stores
	cache *memory.Budget // of metadata
	// configure sets up the drivers of tables.
	configure []func(*paimon.Config)
	// caretakers maintain the opened catalogs; nil: nobody does.
	caretakers *caretakers
}

var _ session.CatalogControl = catalogControl{}

const (
	catalogsFile = "catalogs.json"
	catalogCache = 32 << 20 // of decoded metadata, for each catalog
)

// keptCatalogs is what the file holds. Secrets are in it: it is readable by its
// owner alone.
type keptCatalogs struct {
	Version  int                         `json:"version"`
	Catalogs []session.CatalogDefinition `json:"catalogs"`
}

// OpenCatalog implements session.CatalogControl.
func (c catalogControl) OpenCatalog(ctx context.Context, name string, options map[string]string) (catalog.Catalog, error) {
	got, care, err := c.open(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("create catalog %s: %w", name, err)
	}
	// Flink makes the default database with its catalog, and scripts rely on it.
	// Who may only read has none made.
	database := options["default-database"]
	if database == "" {
		database = "default"
	}
	if err := got.CreateDatabase(ctx, database, true); err != nil && errs.ClassOf(err) == errs.User {
		closeCatalog(got)
		return nil, fmt.Errorf("create catalog %s: %w", name, err)
	}
	if c.caretakers == nil {
		return got, nil
	}
	return &lateCatalog{name: name, got: got, stop: c.caretakers.start(name, care)}, nil
}

// roots returns the warehouse of each catalog, by its name.
func (c catalogControl) roots(main string) func(string) string {
	return func(name string) string {
		if name == defaultCatalog || name == "" {
			return main
		}
		kept, err := c.definitions()
		if err != nil {
			return ""
		}
		for _, d := range kept {
			if d.Name == name {
				path, err := warehousePath(d.Options["warehouse"])
				if err != nil {
					return ""
				}
				return path
			}
		}
		return ""
	}
}

func closeCatalog(c catalog.Catalog) {
	if x, ok := c.(interface{ Close() error }); ok {
		_ = x.Close()
	}
}

// SaveCatalogs implements session.CatalogControl.
func (c catalogControl) SaveCatalogs(_ context.Context, definitions []session.CatalogDefinition) error {
	if c.file == "" {
		return nil
	}
	b, err := json.MarshalIndent(keptCatalogs{Version: 1, Catalogs: definitions}, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(c.file), ".catalogs-*.tmp") // readable by the owner alone
	if err != nil {
		return fmt.Errorf("keep the catalogs: %w", err)
	}
	_, err = tmp.Write(append(b, '\n'))
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), c.file)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("keep the catalogs: %w", err)
	}
	return nil
}

// Shown implements session.CatalogControl.
func (catalogControl) Shown(option, value string) string {
	if secretOption(option) {
		return "***"
	}
	return jdbc.Redact(value)
}

// secretOption reports whether an option of a catalog or an object store is a
// secret, in any of the spellings in use.
func secretOption(option string) bool {
	k := strings.ToLower(option)
	for _, s := range []string{"password", "passwd", "secret", "token", "credential", "access-key", "access.key", "accesskey", "account-key", "account.key"} {
		if strings.Contains(k, s) {
			return true
		}
	}
	return false
}

// load opens the kept catalogs. Those that connect to a database do so when they
// are first used, and others that cannot be opened say so then: one catalog keeps
// nobody from using the others.
func (c catalogControl) load() ([]session.NamedCatalog, error) {
	kept, err := c.definitions()
	if err != nil {
		return nil, err
	}
	var out []session.NamedCatalog
	for _, d := range kept {
		l := &lateCatalog{name: d.Name, open: func(ctx context.Context) (catalog.Altering, func(), error) {
			got, care, err := c.open(ctx, d.Options)
			if err != nil || c.caretakers == nil {
				return got, nil, err
			}
			return got, c.caretakers.start(d.Name, care), nil
		}}
		if d.Options["metastore"] != "jdbc" {
			_, _ = l.catalog(context.Background()) // who uses it is told what is wrong
		}
		out = append(out, session.NamedCatalog{Name: d.Name, Definition: &d, Catalog: l})
	}
	return out, nil
}

// definitions reads the definitions that are kept.
func (c catalogControl) definitions() ([]session.CatalogDefinition, error) {
	b, err := os.ReadFile(c.file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the kept catalogs: %w", err)
	}
	var kept keptCatalogs
	if err := json.Unmarshal(b, &kept); err != nil {
		return nil, errs.Corruptf("open the kept catalogs in %s: %w", c.file, err)
	}
	if kept.Version != 1 {
		return nil, errs.Unsupportedf(-1, "kept catalogs of version %d (%s)", kept.Version, c.file)
	}
	return kept.Catalogs, nil
}

// passedOptions are options of Paimon catalogs that change nothing here: what
// they say is so, or is about caches of other engines.
var passedOptions = []string{"cache-enabled", "case-sensitive", "property-version", "default-database", "lock.type", "lock.flavor", "format-table.enabled",
	"resolving-file-io.enabled", "file-io.allow-cache", "fs.allow-hadoop-fallback", "sync-all-properties", "table.type", "catalog-options-table.enabled"}

// open opens a Paimon catalog by its options, which must all be understood.
func (c catalogControl) open(ctx context.Context, options map[string]string) (_ catalog.Altering, care cared, err error) {
	o := spec.NewOptions(options)
	if t := o.String("type", ""); t == "" {
		return nil, care, errs.Userf(errs.InvalidConfig, "the option 'type' is missing: 'type' = 'paimon'")
	} else if t != "paimon" {
		return nil, care, errs.Unsupportedf(-1, "catalogs of 'type' = '%s'", t)
	}
	metastore := o.String("metastore", "filesystem")
	if metastore != "filesystem" && metastore != "jdbc" {
		return nil, care, errs.Unsupportedf(-1, "catalogs with 'metastore' = '%s'", metastore)
	}
	if t := o.String("table.type", "managed"); t != "managed" {
		return nil, care, errs.Unsupportedf(-1, "catalogs with 'table.type' = '%s'", t)
	}
	if l := o.String("lock.type", o.String("lock.flavor", metastore)); o.Bool("lock.enabled", false) && l != "jdbc" {
		return nil, care, errs.Unsupportedf(-1, "catalogs with 'lock.enabled' = 'true' and the lock %s: 'metastore' = 'jdbc' has one", l)
	}
	defaults, store, connection := map[string]string{}, map[string]string{}, map[string]string{}
	for k, v := range options {
		switch {
		case k == "type", k == "metastore", k == "warehouse", k == "lock.enabled", slices.Contains(passedOptions, k), strings.HasPrefix(k, "cache."):
		case strings.HasPrefix(k, "table-default."):
			defaults[strings.TrimPrefix(k, "table-default.")] = v
		case s3.IsOption(k):
			store[k] = v
		case metastore == "jdbc" && slices.Contains([]string{"uri", "catalog-key", "lock-check-max-sleep", "lock-acquire-timeout", "lock-key-max-length", "client-pool-size"}, k):
		case metastore == "jdbc" && strings.HasPrefix(k, "jdbc."):
			connection[strings.TrimPrefix(k, "jdbc.")] = v
		default:
			return nil, care, errs.Unsupportedf(-1, "the catalog option '%s'", k)
		}
	}
	uri := o.String("warehouse", "")
	if uri == "" {
		return nil, care, errs.Userf(errs.InvalidConfig, "the option 'warehouse' is missing")
	}
	path, err := warehousePath(uri)
	if err != nil {
		return nil, care, err
	}
	files, err := openFiles(store, c.store)
	if err != nil {
		return nil, care, err
	}
	cfg := paimon.Config{Files: files, Formats: formats(), Location: time.Local, CacheBytes: catalogCache, CacheBudget: c.cache}
	for _, f := range c.configure {
		f(&cfg)
	}
	if metastore == "filesystem" {
		driver := paimon.NewDriver(cfg)
		got, err := filesystem.Open(filesystem.Config{Files: files, Warehouse: path, Driver: driver, TableDefaults: defaults})
		return got, cared{got, driver, files, path}, err
	}
	var driver *paimon.Driver
	j := jdbc.Config{Files: files, Warehouse: path, URI: o.String("uri", ""), Properties: connection,
		Drivers: []*jdbc.Driver{jdbcmysql.Driver(), jdbcpostgres.Driver(), jdbcsqlite.Driver()},
		Key:     o.String("catalog-key", ""), NoLock: !o.Bool("lock.enabled", true), NoTableProperties: !o.Bool("sync-all-properties", true),
		LockTimeout: o.Duration("lock-acquire-timeout", 0), LockMaxSleep: o.Duration("lock-check-max-sleep", 0),
		LockKeyLength: int(o.Int("lock-key-max-length", 0)), PoolSize: int(o.Int("client-pool-size", 0)), TableDefaults: defaults,
		NewDriver: func(lock func(ctx context.Context, database, table string) (func() error, error)) *paimon.Driver {
			cfg := cfg
			cfg.Lock = lock
			driver = paimon.NewDriver(cfg)
			return driver
		}}
	if o.Err != nil {
		return nil, care, o.Err
	}
	if j.URI == "" {
		return nil, care, errs.Userf(errs.InvalidConfig, "the option 'uri' is missing: 'uri' = 'jdbc:mysql://HOST:PORT/DATABASE', or postgresql, or 'jdbc:sqlite:FILE'")
	}
	got, err := jdbc.Open(ctx, j)
	if err != nil {
		return nil, care, err
	}
	return got, cared{got, driver, files, path}, nil
}

// lateCatalog is a kept catalog, opened when it is first used, with its caretaker.
type lateCatalog struct {
	name string
	open func(ctx context.Context) (got catalog.Altering, stop func(), err error)

	mu   sync.Mutex
	got  catalog.Altering
	stop func() // ends the caretaker; nil: there is none
}

var (
	_ catalog.Altering     = (*lateCatalog)(nil)
	_ catalog.Viewing      = (*lateCatalog)(nil)
	_ catalog.ViewRenaming = (*lateCatalog)(nil)
)

func (l *lateCatalog) catalog(ctx context.Context) (catalog.Altering, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.got != nil {
		return l.got, nil
	}
	c, stop, err := l.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open catalog %s: %w", l.name, err)
	}
	l.got, l.stop = c, stop
	return c, nil
}

// Close ends the caretaker and the connections of an opened catalog.
func (l *lateCatalog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
	closeCatalog(l.got)
	return nil
}

func (l *lateCatalog) Databases(ctx context.Context) ([]string, error) {
	c, err := l.catalog(ctx)
	if err != nil {
		return nil, err
	}
	return c.Databases(ctx)
}

func (l *lateCatalog) Tables(ctx context.Context, database string) ([]string, error) {
	c, err := l.catalog(ctx)
	if err != nil {
		return nil, err
	}
	return c.Tables(ctx, database)
}

func (l *lateCatalog) Table(ctx context.Context, id catalog.Identifier) (catalog.Table, error) {
	c, err := l.catalog(ctx)
	if err != nil {
		return nil, err
	}
	return c.Table(ctx, id)
}

func (l *lateCatalog) CreateDatabase(ctx context.Context, database string, ifNotExists bool) error {
	c, err := l.catalog(ctx)
	if err != nil {
		return err
	}
	return c.CreateDatabase(ctx, database, ifNotExists)
}

func (l *lateCatalog) DropDatabase(ctx context.Context, database string, cascade bool) error {
	c, err := l.catalog(ctx)
	if err != nil {
		return err
	}
	return c.DropDatabase(ctx, database, cascade)
}

func (l *lateCatalog) CreateTable(ctx context.Context, id catalog.Identifier, s *catalog.Schema, ifNotExists bool) (catalog.Table, error) {
	c, err := l.catalog(ctx)
	if err != nil {
		return nil, err
	}
	return c.CreateTable(ctx, id, s, ifNotExists)
}

func (l *lateCatalog) DropTable(ctx context.Context, id catalog.Identifier) error {
	c, err := l.catalog(ctx)
	if err != nil {
		return err
	}
	return c.DropTable(ctx, id)
}

func (l *lateCatalog) AlterTable(ctx context.Context, id catalog.Identifier, changes []catalog.SchemaChange) error {
	c, err := l.catalog(ctx)
	if err != nil {
		return err
	}
	return c.AlterTable(ctx, id, changes)
}

func (l *lateCatalog) RenameTable(ctx context.Context, from, to catalog.Identifier) error {
	c, err := l.catalog(ctx)
	if err != nil {
		return err
	}
	return c.RenameTable(ctx, from, to)
}

// viewing returns the opened catalog's views.
func (l *lateCatalog) viewing(ctx context.Context) (catalog.Viewing, error) {
	c, err := l.catalog(ctx)
	if err != nil {
		return nil, err
	}
	v, ok := c.(catalog.Viewing)
	if !ok {
		return nil, errs.Unsupportedf(-1, "views in the catalog %s", l.name)
	}
	return v, nil
}

func (l *lateCatalog) Views(ctx context.Context, database string) ([]string, error) {
	c, err := l.viewing(ctx)
	if err != nil {
		return nil, err
	}
	return c.Views(ctx, database)
}

func (l *lateCatalog) View(ctx context.Context, database, name string) (*catalog.View, error) {
	c, err := l.viewing(ctx)
	if err != nil {
		return nil, err
	}
	return c.View(ctx, database, name)
}

func (l *lateCatalog) CreateView(ctx context.Context, v *catalog.View, replace bool) error {
	c, err := l.viewing(ctx)
	if err != nil {
		return err
	}
	return c.CreateView(ctx, v, replace)
}

func (l *lateCatalog) DropView(ctx context.Context, database, name string) error {
	c, err := l.viewing(ctx)
	if err != nil {
		return err
	}
	return c.DropView(ctx, database, name)
}

func (l *lateCatalog) RenameView(ctx context.Context, database, from, to string) error {
	c, err := l.viewing(ctx)
	if err != nil {
		return err
	}
	r, ok := c.(catalog.ViewRenaming)
	if !ok {
		return errs.Unsupportedf(-1, "renaming views in the catalog %s", l.name)
	}
	return r.RenameView(ctx, database, from, to)
}

// Procedures implements connector.Procedural. A catalog that cannot be opened has
// none.
func (l *lateCatalog) Procedures() []connector.Procedure {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := l.catalog(ctx)
	if err != nil {
		return nil
	}
	if p, ok := c.(connector.Procedural); ok {
		return p.Procedures()
	}
	return nil
}

// storeOptions are KEY=VALUE flags that configure the object store of a
// warehouse.
type storeOptions map[string]string

// String shows no values: they may be secrets.
func (s storeOptions) String() string { return "" }

// Set takes one KEY=VALUE. It accepts any, for what flag says of values that are
// refused shows them; check tells.
func (s storeOptions) Set(v string) error {
	k, v, _ := strings.Cut(v, "=")
	s[k] = v
	return nil
}

// check refuses what is no option of an object store.
func (s storeOptions) check() error {
	for k := range s {
		if !s3.IsOption(k) {
			return errs.Userf(errs.InvalidConfig, "%q is not an option of an object store, such as s3.endpoint", k)
		}
	}
	_, err := s3.ParseOptions(s)
	return err
}
