package jdbc_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/catalog/jdbc"
	"github.com/thermocline/thermocline/catalog/jdbc/mysql"
	"github.com/thermocline/thermocline/catalog/jdbc/postgres"
	"github.com/thermocline/thermocline/catalog/jdbc/sqlite"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/mariadb"
	"github.com/thermocline/thermocline/internal/testkit"
)

var ctx = context.Background()

func drivers() []*jdbc.Driver {
	return []*jdbc.Driver{mysql.Driver(), postgres.Driver(), sqlite.Driver()}
}

// backend is a database that catalogs can be in.
type backend struct {
	uri        string
	properties map[string]string
	oracle     bool // the Java oracle has a driver for it
}

// laws hold in every kind of database.
var laws = []struct {
	name string
	law  func(t *testing.T, b backend)
}{{"life", lifeOfTables}, {"names", namesExact}, {"excludes", lockExcludes}, {"expires", lockExpires}, {"views", viewsLive}, {"java", javaShares}, {"javaLocks", javaLocks}}

// run runs the laws, each in a database of its own.
func run(t *testing.T, database func(t *testing.T, name string) backend) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) { l.law(t, database(t, strings.ToLower(l.name))) })
	}
}

func TestSQLite(t *testing.T) {
	run(t, func(t *testing.T, name string) backend {
		return backend{uri: "jdbc:sqlite:" + filepath.Join(t.TempDir(), name+".db"), oracle: true}
	})
}

func TestMariaDB(t *testing.T) {
	s := testkit.MariaDB(t)
	admin, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	run(t, func(t *testing.T, name string) backend {
		charset := "utf8mb4"
		if name == "java" { // where Java makes the tables itself, which it cannot in utf8mb4
			charset = "utf8mb3"
		}
		if _, err := admin.Exec("CREATE DATABASE " + name + " CHARACTER SET " + charset); err != nil {
			t.Fatal(err)
		}
		return backend{uri: fmt.Sprintf("jdbc:mysql://127.0.0.1:%d/%s?useSSL=false&nullCatalogMeansCurrent=true", s.Port, name),
			properties: map[string]string{"user": mariadb.User, "password": mariadb.Password}, oracle: true}
	})
}

func TestPostgres(t *testing.T) {
	port := testkit.Postgres(t)
	run(t, func(t *testing.T, name string) backend {
		b := backend{uri: fmt.Sprintf("jdbc:postgresql://127.0.0.1:%d/test", port), properties: map[string]string{"user": "thermocline", "password": "thermocline"}}
		if _, err := b.db(t).Exec("CREATE DATABASE " + name); err != nil {
			t.Fatal(err)
		}
		b.uri = strings.TrimSuffix(b.uri, "test") + name
		return b
	})
}

func (b backend) config(root string, files fileio.FileIO) jdbc.Config {
	return jdbc.Config{Files: files, Warehouse: root, URI: b.uri, Properties: b.properties, Drivers: drivers(), LockTimeout: 20 * time.Second,
		NewDriver: func(lock func(context.Context, string, string) (func() error, error)) *paimon.Driver {
			return paimon.NewDriver(paimon.Config{Files: files, Formats: format.NewRegistry(parquet.Format{}), Lock: lock})
		}}
}

func (b backend) open(t *testing.T, root string) *jdbc.Catalog {
	t.Helper()
	return openConfig(t, b.config(root, fileio.Local{NoSync: true}))
}

func openConfig(t *testing.T, cfg jdbc.Config) *jdbc.Catalog {
	t.Helper()
	c, err := jdbc.Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// db opens the database itself.
func (b backend) db(t *testing.T) *sql.DB {
	t.Helper()
	rest := strings.TrimPrefix(b.uri, "jdbc:")
	for _, d := range drivers() {
		if p, _, _ := strings.Cut(rest, ":"); p == d.Protocols[0] {
			db, err := d.Open(rest, b.properties)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			return db
		}
	}
	t.Fatal(b.uri)
	return nil
}

// query returns the rows of a query, sorted, columns joined by |.
func query(t *testing.T, db *sql.DB, q string) string {
	t.Helper()
	rows, err := db.Query(q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cols, _ := rows.Columns()
	var out []string
	for rows.Next() {
		vals, ptrs := make([]sql.NullString, len(cols)), make([]any, len(cols))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, v := range vals {
			parts = append(parts, v.String)
		}
		out = append(out, strings.Join(parts, "|"))
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}

func schema() *catalog.Schema {
	return &catalog.Schema{Fields: []catalog.Field{{Name: "id", Type: catalog.TInt}, {Name: "p", Type: catalog.TString}, {Name: "v", Type: catalog.TString}},
		PrimaryKeys: []string{"id", "p"}, PartitionKeys: []string{"p"}, Options: map[string]string{"bucket": "2"}, Comment: "a table"}
}

func kind(t *testing.T, err error, k errs.Kind, text string) {
	t.Helper()
	if !errs.Is(err, k) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v (%s), want kind %s and %q", err, errs.KindOf(err), k, text)
	}
}

func lifeOfTables(t *testing.T, b backend) {
	root := t.TempDir()
	c, db := b.open(t, root), b.db(t)
	_, err := c.Tables(ctx, "d")
	kind(t, err, errs.UnknownDatabase, "'d'")
	if err := c.CreateDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	kind(t, c.CreateDatabase(ctx, "d", false), errs.DatabaseExists, "'d'")
	if err := c.CreateDatabase(ctx, "d", true); err != nil {
		t.Fatal(err)
	}
	if got := query(t, db, "SELECT * FROM paimon_database_properties"); got != "jdbc|d|exists|true\njdbc|d|location|"+root+"/d.db" {
		t.Errorf("%s", got)
	}
	id := catalog.Identifier{Database: "d", Table: "t"}
	_, err = c.Table(ctx, id)
	kind(t, err, errs.UnknownTable, "'d.t'")
	made, err := c.CreateTable(ctx, id, schema(), false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.CreateTable(ctx, id, schema(), false)
	kind(t, err, errs.TableExists, "'d.t'")
	if again, err := c.CreateTable(ctx, id, schema(), true); err != nil || again.UUID() != made.UUID() {
		t.Errorf("%v", err)
	}
	if got := query(t, db, "SELECT * FROM paimon_tables"); got != "jdbc|d|t" {
		t.Errorf("%s", got)
	}
	if got := query(t, db, "SELECT property_key, property_value FROM paimon_table_properties WHERE table_name = 't'"); got !=
		"bucket-key|id\nbucket|2\npartition|p\nprimary-key|id,p\nthermocline.maintenance|true" {
		t.Errorf("%s", got)
	}
	yes := "true"
	if err := c.AlterTable(ctx, id, []catalog.SchemaChange{{Kind: catalog.AddColumn, Path: []string{"w"}, Type: catalog.TInt},
		{Kind: catalog.SetOption, Name: "write-only", Value: &yes}}); err != nil {
		t.Fatal(err)
	}
	if got := query(t, db, "SELECT property_value FROM paimon_table_properties WHERE property_key = 'write-only'"); got != "true" {
		t.Errorf("%s", got)
	}
	if err := c.CreateDatabase(ctx, "e", false); err != nil {
		t.Fatal(err)
	}
	to := catalog.Identifier{Database: "e", Table: "u"}
	if err := c.RenameTable(ctx, id, to); err != nil {
		t.Fatal(err)
	}
	kind(t, c.RenameTable(ctx, id, to), errs.UnknownTable, "'d.t'")
	got, err := c.Table(ctx, to)
	if err != nil || got.UUID() != made.UUID() || got.Schema().Column("w") < 0 {
		t.Fatal(err)
	}
	if got := query(t, db, "SELECT * FROM paimon_tables UNION SELECT DISTINCT catalog_key, database_name, table_name FROM paimon_table_properties"); got != "jdbc|e|u" {
		t.Errorf("%s", got)
	}
	if list, err := c.Databases(ctx); err != nil || fmt.Sprint(list) != "[d e]" {
		t.Errorf("%v %v", list, err)
	}
	kind(t, c.DropDatabase(ctx, "e", false), errs.DatabaseNotEmpty, "1 tables and views")
	// Another catalog key is another catalog.
	other := b.config(root, fileio.Local{NoSync: true})
	other.Key = "other"
	if list, err := openConfig(t, other).Databases(ctx); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	if err := c.DropDatabase(ctx, "e", true); err != nil {
		t.Fatal(err)
	}
	if err := c.DropDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	kind(t, c.DropDatabase(ctx, "d", false), errs.UnknownDatabase, "'d'")
	for _, table := range []string{"paimon_tables", "paimon_database_properties", "paimon_table_properties", "paimon_distributed_locks"} {
		if got := query(t, db, "SELECT * FROM "+table); got != "" {
			t.Errorf("%s: %s", table, got)
		}
	}
	if left, _ := filepath.Glob(root + "/*/*"); len(left) > 0 {
		t.Errorf("%v", left)
	}
}

// namesExact keeps names apart that differ in case, whatever the database's
// collation says.
func namesExact(t *testing.T, b backend) {
	c := b.open(t, t.TempDir())
	if err := c.CreateDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateTable(ctx, catalog.Identifier{Database: "d", Table: "t"}, schema(), false); err != nil {
		t.Fatal(err)
	}
	_, err := c.Table(ctx, catalog.Identifier{Database: "d", Table: "T"})
	kind(t, err, errs.UnknownTable, "'d.T'")
	_, err = c.Tables(ctx, "D")
	kind(t, err, errs.UnknownDatabase, "'D'")
	if err := c.CreateDatabase(ctx, "D", false); err != nil && !errs.Is(err, errs.DatabaseExists) {
		t.Error(err)
	}
}

// lockExcludes lets several catalogs, with pools of their own, count under
// one lock.
func lockExcludes(t *testing.T, b backend) {
	root := t.TempDir()
	var inside, total atomic.Int32
	var wg sync.WaitGroup
	for range 3 {
		var lock func(context.Context, string, string) (func() error, error)
		cfg := b.config(root, fileio.Local{NoSync: true})
		made := cfg.NewDriver
		cfg.NewDriver = func(l func(context.Context, string, string) (func() error, error)) *paimon.Driver {
			lock = l
			return made(l)
		}
		openConfig(t, cfg)
		for range 2 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range 4 {
					unlock, err := lock(ctx, "d", "t")
					if err != nil {
						t.Error(err)
						return
					}
					if n := inside.Add(1); n != 1 {
						t.Errorf("%d hold the lock", n)
					}
					total.Add(1)
					inside.Add(-1)
					if err := unlock(); err != nil {
						t.Error(err)
					}
				}
			}()
		}
	}
	wg.Wait()
	if total.Load() != 24 {
		t.Errorf("%d", total.Load())
	}
}

// lockExpires takes a lock whose holder is gone, when it has expired and not
// before.
func lockExpires(t *testing.T, b backend) {
	c, db := b.open(t, t.TempDir()), b.db(t)
	if err := c.CreateDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO paimon_distributed_locks (lock_id, expire_time_seconds) VALUES ('jdbc.d.t', 2)"); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	id := catalog.Identifier{Database: "d", Table: "t"}
	if _, err := c.CreateTable(short, id, schema(), false); err == nil {
		t.Error("the lock of another was taken")
	}
	if _, err := c.CreateTable(ctx, id, schema(), false); err != nil {
		t.Error(err)
	}
	if got := query(t, db, "SELECT * FROM paimon_distributed_locks"); got != "" {
		t.Errorf("%s", got)
	}
}

// TestLockTimeout names who could not get which lock.
func TestLockTimeout(t *testing.T) {
	b := backend{uri: "jdbc:sqlite:" + filepath.Join(t.TempDir(), "catalog.db")}
	cfg := b.config(t.TempDir(), fileio.Local{NoSync: true})
	cfg.LockTimeout = time.Second
	c, db := openConfig(t, cfg), b.db(t)
	if err := c.CreateDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO paimon_distributed_locks (lock_id, expire_time_seconds) VALUES ('jdbc.d.t', 1000)"); err != nil {
		t.Fatal(err)
	}
	_, err := c.CreateTable(ctx, catalog.Identifier{Database: "d", Table: "t"}, schema(), false)
	kind(t, err, errs.Timeout, "jdbc.d.t")
}

// TestLeftovers loses the row of a new table, or the reply.
func TestLeftovers(t *testing.T) {
	b := backend{uri: "jdbc:sqlite:" + filepath.Join(t.TempDir(), "catalog.db")}
	root := t.TempDir()
	c, db := b.open(t, root), b.db(t)
	if err := c.CreateDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	id := catalog.Identifier{Database: "d", Table: "t"}
	if _, err := db.Exec("CREATE TRIGGER no BEFORE INSERT ON paimon_tables BEGIN SELECT RAISE(ABORT, 'not today'); END"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateTable(ctx, id, schema(), false); err == nil || !strings.Contains(err.Error(), "not today") {
		t.Errorf("%v", err)
	}
	if left, _ := filepath.Glob(root + "/d.db/*"); len(left) > 0 {
		t.Errorf("%v", left)
	}
	if _, err := db.Exec("DROP TRIGGER no"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateTable(ctx, id, schema(), false); err != nil {
		t.Fatal(err)
	}
	// A directory without a row is no table; repair makes it one again.
	if _, err := db.Exec("DELETE FROM paimon_tables"); err != nil {
		t.Fatal(err)
	}
	_, err := c.CreateTable(ctx, id, schema(), false)
	kind(t, err, errs.TableExists, "sys.repair")
	if n, err := c.Repair(ctx, catalog.Identifier{}); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if n, err := c.Repair(ctx, catalog.Identifier{Database: "d"}); n != 0 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if _, err := c.Table(ctx, id); err != nil {
		t.Error(err)
	}
	_, err = c.Repair(ctx, catalog.Identifier{Database: "d", Table: "missing"})
	kind(t, err, errs.UnknownTable, "missing")
	// A row whose directory is gone is not silently an empty table.
	if _, err := db.Exec("INSERT INTO paimon_tables VALUES ('jdbc', 'd', 'gone')"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Table(ctx, catalog.Identifier{Database: "d", Table: "gone"}); errs.ClassOf(err) != errs.Corruption {
		t.Errorf("%v", err)
	}
}

// TestSecrets keeps passwords out of errors.
func TestSecrets(t *testing.T) {
	for _, uri := range []string{
		"jdbc:mysql://127.0.0.1:1/d?user=u&password=geheim", "jdbc:mysql://u:geheim@127.0.0.1:1/d", "jdbc:postgresql://127.0.0.1:1/d?user=u&password=geheim",
		"jdbc:oracle:thin:u/x@geheim?password=geheim", "mysql://127.0.0.1/d?password=geheim", "jdbc:mysql://127.0.0.1:1/d?password=geheim&nonsense=1",
	} {
		cfg := backend{uri: uri, properties: map[string]string{"user": "u", "password": "geheim"}}.config(t.TempDir(), fileio.Local{NoSync: true})
		_, err := jdbc.Open(ctx, cfg)
		if err == nil || strings.Contains(strings.ReplaceAll(err.Error(), "@geheim", ""), "geheim") {
			t.Errorf("%s: %v", uri, err)
		}
	}
}
