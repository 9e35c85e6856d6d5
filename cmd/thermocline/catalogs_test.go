package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/server/session"
)

// catalogServer is a server whose catalogs are kept in a folder.
func catalogServer(t *testing.T, warehouse, dataDir string) *session.Server {
	t.Helper()
	w, err := openWarehouse(warehouse, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	control := catalogControl{file: filepath.Join(dataDir, catalogsFile)}
	kept, err := control.load()
	if err != nil {
		t.Fatal(err)
	}
	srv, err := session.NewServer(session.Config{Catalogs: append([]session.NamedCatalog{{Name: defaultCatalog, Catalog: w.catalog}}, kept...),
		CatalogControl: control, Memory: memory.New("test", 1<<30)})
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

func openSQL(t *testing.T, srv *session.Server) *session.Session {
	t.Helper()
	s, err := srv.Open(context.Background(), session.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// sqlText runs statements and returns the rows of the last, columns by tabs.
func sqlText(t *testing.T, s *session.Session, text string) (string, error) {
	t.Helper()
	var out strings.Builder
	for _, stmt := range s.Split(text) {
		out.Reset()
		r, err := s.Execute(context.Background(), stmt, nil)
		if err != nil {
			return "", err
		}
		if r.Rows != nil {
			w := bufio.NewWriter(&out)
			err = printers["tsv"](context.Background(), r, s.Zone(), w)
			w.Flush()
		}
		if cerr := r.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return "", err
		}
	}
	return strings.TrimSpace(out.String()), nil
}

func mustSQL(t *testing.T, s *session.Session, text, want string) {
	t.Helper()
	got, err := sqlText(t, s, text)
	if err != nil {
		t.Errorf("%s: %v", text, err)
	} else if _, rows, _ := strings.Cut(got, "\n"); rows != want {
		t.Errorf("%s:\n%s\nwant\n%s", text, rows, want)
	}
}

func failSQL(t *testing.T, s *session.Session, text string, kind errs.Kind, part string) {
	t.Helper()
	_, err := sqlText(t, s, text)
	if !errs.Is(err, kind) || !strings.Contains(err.Error(), part) {
		t.Errorf("%s: %v (%s), want %s with %q", text, err, errs.KindOf(err), kind, part)
	}
}

func TestCatalogStatements(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	srv := catalogServer(t, dir+"/own", data)
	s, other := openSQL(t, srv), openSQL(t, srv)
	mustSQL(t, s, "SHOW CATALOGS", "paimon")
	mustSQL(t, s, "CREATE DATABASE here; CREATE TABLE here.t (a INT); INSERT INTO here.t VALUES (1); SELECT * FROM paimon.here.t", "1")
	cold := fmt.Sprintf(`CREATE CATALOG cold COMMENT 'old things' WITH ('type'='paimon', 'warehouse'='file://%s/cold', 's3.secret-key'='geheim', 's3.access-key'='AKIA', 'table-default.bucket'='-1')`, dir)
	mustSQL(t, s, cold, "")
	failSQL(t, s, cold, errs.CatalogExists, "'cold'")
	mustSQL(t, s, "CREATE CATALOG IF NOT EXISTS cold WITH ('type'='paimon')", "")
	mustSQL(t, s, "SHOW CATALOGS", "paimon\ncold")
	mustSQL(t, s, "CREATE TABLE cold.default.x (b STRING); INSERT INTO cold.default.x VALUES ('c'); SELECT b, a FROM `cold.default`.x, here.t", "c\t1")
	mustSQL(t, other, "SHOW DATABASES LIKE 'cold%'", "cold.default")
	mustSQL(t, other, "USE CATALOG cold; SELECT DATABASE(), b FROM x", "default\tc")
	mustSQL(t, other, "SHOW CURRENT CATALOG", "cold")
	mustSQL(t, other, "SELECT a FROM default_catalog.here.t", "1")
	created, err := sqlText(t, s, "SHOW CREATE CATALOG cold")
	if err != nil || strings.Contains(created, "geheim") || strings.Contains(created, "AKIA") || !strings.Contains(created, "'s3.secret-key' = '***'") || !strings.Contains(created, "COMMENT 'old things'") {
		t.Errorf("%s %v", created, err)
	}
	if b, err := os.Stat(filepath.Join(data, catalogsFile)); err != nil || b.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", b.Mode(), err)
	}
	// Another server knows the catalog, and one that cannot be reached keeps
	// nobody from working.
	mustSQL(t, s, fmt.Sprintf("CREATE CATALOG gone WITH ('type'='paimon', 'metastore'='jdbc', 'uri'='jdbc:sqlite:%s/gone.db', 'warehouse'='%s/gone')", dir, dir), "")
	if err := os.Remove(dir + "/gone.db"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/gone.db", 0o755); err != nil {
		t.Fatal(err)
	}
	again := openSQL(t, catalogServer(t, dir+"/own", data))
	mustSQL(t, again, "SHOW CATALOGS", "paimon\ncold\ngone")
	mustSQL(t, again, "SELECT b FROM cold.`default`.x", "c")
	mustSQL(t, again, "SHOW DATABASES LIKE 'here'", "here")
	failSQL(t, again, "USE CATALOG gone", errs.KindNone, "gone")
	failSQL(t, other, "DROP CATALOG cold", errs.InvalidConfig, "current")
	mustSQL(t, s, "DROP CATALOG cold", "")
	mustSQL(t, s, "DROP CATALOG IF EXISTS cold", "")
	failSQL(t, s, "DROP CATALOG cold", errs.UnknownCatalog, "'cold'")
	failSQL(t, s, "DROP CATALOG paimon", errs.InvalidConfig, "own")
	failSQL(t, other, "SELECT b FROM x", errs.UnknownCatalog, "cold")
	if _, err := os.Stat(dir + "/cold/default.db/x/schema/schema-0"); err != nil {
		t.Errorf("the warehouse of a dropped catalog: %v", err)
	}
	mustSQL(t, openSQL(t, catalogServer(t, dir+"/own", data)), "SHOW CATALOGS", "paimon\ngone")
}

// TestCatalogTakesName makes a catalog of the name of the server's own, as
// scripts written for Flink do.
func TestCatalogTakesName(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	srv := catalogServer(t, dir+"/own", data)
	s, other := openSQL(t, srv), openSQL(t, srv)
	mustSQL(t, other, "CREATE DATABASE d; USE d; CREATE TABLE t (a INT); INSERT INTO t VALUES (7)", "")
	mustSQL(t, s, fmt.Sprintf(`CREATE CATALOG paimon WITH (
    'type' = 'paimon',
    'metastore' = 'jdbc',
    'uri' = 'jdbc:sqlite:%s/paimon_metadata',
    'warehouse' = 'file://%s/warehouse',
    'lock.enabled' = 'true',          -- the catalog's lock
    'lock.flavor' = 'jdbc'
);
USE CATALOG paimon;
CREATE DATABASE ods;
CREATE TABLE ods.mysql_orders (order_id BIGINT, dt STRING, PRIMARY KEY (order_id, dt) NOT ENFORCED) PARTITIONED BY (dt) WITH ('bucket' = '2');
INSERT INTO ods.mysql_orders VALUES (1, 'x');
SELECT * FROM paimon.ods.mysql_orders`, dir, dir), "1\tx")
	// Whoever was in the server's own catalog still is.
	mustSQL(t, other, "SELECT a FROM t", "7")
	mustSQL(t, other, "SHOW CURRENT CATALOG", "default_catalog")
	mustSQL(t, other, "SELECT a FROM default_catalog.d.t", "7")
	mustSQL(t, openSQL(t, srv), "SELECT a FROM d.t", "7")
	again := openSQL(t, catalogServer(t, dir+"/own", data))
	mustSQL(t, again, "SHOW CATALOGS", "default_catalog\npaimon")
	mustSQL(t, again, "SELECT order_id FROM paimon.ods.mysql_orders", "1")
	mustSQL(t, again, "SELECT a FROM d.t", "7")
}

// TestCatalogsRefused names what cannot be opened, and shows no secret.
func TestCatalogsRefused(t *testing.T) {
	dir := t.TempDir()
	s := openSQL(t, catalogServer(t, dir, t.TempDir()))
	for _, c := range []struct {
		with, part string
		kind       errs.Kind
	}{
		{"'type'='iceberg'", "'iceberg'", errs.NotSupported},
		{"'warehouse'='x'", "'type' is missing", errs.InvalidConfig},
		{"'type'='paimon'", "'warehouse' is missing", errs.InvalidConfig},
		{"'type'='paimon', 'warehouse'='" + dir + "', 'metastore'='hive'", "'hive'", errs.NotSupported},
		{"'type'='paimon', 'warehouse'='" + dir + "', 'nonsense'='geheim'", "'nonsense'", errs.NotSupported},
		{"'type'='paimon', 'warehouse'='" + dir + "', 's3.secret.kay'='geheim'", "s3.secret.kay", errs.NotSupported},
		{"'type'='paimon', 'warehouse'='" + dir + "', 'metastore'='jdbc'", "'uri' is missing", errs.InvalidConfig},
		{"'type'='paimon', 'warehouse'='" + dir + "', 'metastore'='jdbc', 'uri'='jdbc:oracle:thin:@h?password=geheim'", "oracle", errs.NotSupported},
		{"'type'='paimon', 'warehouse'='" + dir + "', 'metastore'='jdbc', 'uri'='jdbc:mysql://127.0.0.1:1/d?password=geheim', 'jdbc.user'='u'", "127.0.0.1:1", errs.KindNone},
		{"'type'='paimon', 'warehouse'='" + dir + "', 'lock.enabled'='true'", "lock", errs.NotSupported},
		{"'type'='paimon', 'type'='paimon'", "twice", errs.InvalidConfig},
	} {
		_, err := sqlText(t, s, "CREATE CATALOG c WITH ("+c.with+")")
		if !errs.Is(err, c.kind) || !strings.Contains(err.Error(), c.part) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v (%s)", c.with, err, errs.KindOf(err))
		}
	}
	mustSQL(t, s, "SHOW CATALOGS", "paimon")
	failSQL(t, s, "USE CATALOG c", errs.UnknownCatalog, "'c'")
}

// TestLateCatalog opens a kept catalog with the first statement that needs it.
func TestLateCatalog(t *testing.T) {
	opened := 0
	l := &lateCatalog{name: "c", open: func(context.Context) (catalog.Altering, func(), error) {
		if opened++; opened == 1 {
			return nil, nil, errs.New(errs.Unavailable, errs.KindNone, "not now")
		}
		w, err := openWarehouse(t.TempDir(), nil, nil, nil)
		return w.catalog.(catalog.Altering), nil, err
	}}
	ctx := context.Background()
	if _, err := l.Databases(ctx); err == nil || !strings.Contains(err.Error(), "open catalog c: not now") {
		t.Errorf("%v", err)
	}
	if err := l.CreateDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	if list, err := l.Databases(ctx); err != nil || len(list) != 1 || opened != 2 {
		t.Errorf("%v %v %d", list, err, opened)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestStoreSpellings reads a warehouse in an object store by the options that
// Flink, Spark and Hadoop users have, without anything in the environment.
func TestStoreSpellings(t *testing.T) {
	store := testkit.S3(t)
	for _, e := range []string{"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"} {
		t.Setenv(e, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	s := openSQL(t, catalogServer(t, t.TempDir(), t.TempDir()))
	bare := strings.TrimPrefix(store.Endpoint, "http://")
	for i, c := range []struct{ scheme, options string }{
		{"s3", "'s3.endpoint'='URL', 's3.access-key'='KEY', 's3.secret-key'='SECRET', 's3.path.style.access'='true'"},
		{"s3", "'s3.endpoint'='URL', 's3.access.key'='KEY', 's3.secret.key'='SECRET', 's3.path-style-access'='true', 's3.region'='us-east-1'"},
		{"s3a", "'s3a.endpoint'='URL', 's3a.access-key'='KEY', 's3a.secret-key'='SECRET'"},
		{"s3a", "'fs.s3a.endpoint'='BARE', 'fs.s3a.access.key'='KEY', 'fs.s3a.secret.key'='SECRET', 'fs.s3a.connection.ssl.enabled'='false'"},
		{"oss", "'fs.oss.endpoint'='URL', 'fs.oss.accessKeyId'='KEY', 'fs.oss.accessKeySecret'='SECRET', 's3.path-style-access'='true'"},
	} {
		o := strings.NewReplacer("URL", store.Endpoint, "BARE", bare, "KEY", store.AccessKey, "SECRET", store.SecretKey).Replace(c.options)
		name := fmt.Sprintf("c%d", i)
		mustSQL(t, s, fmt.Sprintf("CREATE CATALOG %s WITH ('type'='paimon', 'warehouse'='%s://%s/w%d', %s)", name, c.scheme, store.Bucket, i, o), "")
		mustSQL(t, s, fmt.Sprintf("CREATE TABLE %s.`default`.t (a INT); INSERT INTO %s.`default`.t VALUES (5); SELECT a FROM %s.`default`.t", name, name, name), "5")
		shown, err := sqlText(t, s, "SHOW CREATE CATALOG "+name)
		if err != nil || strings.Contains(shown, store.SecretKey) || strings.Contains(shown, "'"+store.AccessKey+"'") {
			t.Errorf("%s %v", shown, err)
		}
	}
	// A wrong key is an error that does not show it.
	_, err := sqlText(t, s, fmt.Sprintf("CREATE CATALOG bad WITH ('type'='paimon', 'warehouse'='s3://%s/w', 's3.endpoint'='%s', 's3.access-key'='%s', 's3.secret-key'='geheim'); USE CATALOG bad",
		store.Bucket, store.Endpoint, store.AccessKey))
	if err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("%v", err)
	}
	// The same as flags of a command.
	out, err := exec.Command(binary(t), "sql", "--warehouse", "s3://"+store.Bucket+"/w0", "--store-option", "s3.endpoint="+store.Endpoint,
		"--store-option", "s3.access-key="+store.AccessKey, "--store-option", "s3.secret-key="+store.SecretKey, "--format", "tsv", "-e", "SELECT a + 1 AS b FROM `default`.t").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "b\n6" {
		t.Errorf("%v: %s", err, out)
	}
	out, err = exec.Command(binary(t), "sql", "--store-option", "secret=geheim", "-e", "SELECT 1").CombinedOutput()
	if err == nil || strings.Contains(string(out), "geheim") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestCaretaker: the owned tables of a catalog that a statement made are
// compacted, until it is dropped; a catalog without one gets no lease.
func TestCaretaker(t *testing.T) {
	run, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	root := t.TempDir()
	w, err := openWarehouse(root+"/own", nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	care := &caretakers{run: run, wait: &wait, dataDir: root + "/data", pins: &pinned{}, held: map[string]bool{}, pause: 50 * time.Millisecond}
	srv, err := session.NewServer(session.Config{Catalogs: []session.NamedCatalog{{Name: defaultCatalog, Catalog: w.catalog}}, Memory: memory.New("test", 1<<30),
		CatalogControl: catalogControl{caretakers: care, configure: []func(*paimon.Config){unmaintained(nil)}}})
	if err != nil {
		t.Fatal(err)
	}
	s := openSQL(t, srv)
	mustSQL(t, s, "CREATE CATALOG c WITH ('type'='paimon', 'warehouse'='"+root+"/c')", "")
	mustSQL(t, s, "CREATE CATALOG idle WITH ('type'='paimon', 'warehouse'='"+root+"/idle')", "")
	mustSQL(t, s, "CREATE DATABASE c.d; CREATE TABLE c.d.t (id INT PRIMARY KEY, n INT) /*T! WITH ('bucket'='1', 'num-sorted-run.compaction-trigger'='3') */", "")
	await := func(what string, done func() bool) {
		t.Helper()
		for until := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal("in vain: " + what)
			}
		}
	}
	await("a caretaker", func() bool { return len(care.running()) == 1 })
	for i := range 8 {
		mustSQL(t, s, fmt.Sprintf("INSERT INTO c.d.t VALUES (%d, 1), (100, %d)", i, i), "")
	}
	await("a compaction", func() bool { return care.stats().Compactions > 0 })
	mustSQL(t, s, "SELECT COUNT(*), MAX(n) FROM c.d.t", "9\t7")
	if _, err := os.Stat(root + "/c/_thermocline/lease"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(root + "/idle/_thermocline/lease"); err == nil {
		t.Error("a warehouse without tables of ours has a lease")
	}
	// ALTER opens it anew; the new one's caretaker takes over.
	mustSQL(t, s, "ALTER CATALOG c SET ('table-default.bucket'='2')", "")
	mustSQL(t, s, "CREATE TABLE c.d.u (id INT PRIMARY KEY)", "")
	mustSQL(t, s, "SELECT value FROM c.sys.all_table_options WHERE table_name = 'u' AND `key` = 'bucket'", "2")
	mustSQL(t, s, "ALTER CATALOG c RESET ('table-default.bucket')", "")
	mustSQL(t, s, "CREATE TABLE c.d.v (id INT PRIMARY KEY)", "")
	mustSQL(t, s, "SELECT COUNT(*) FROM c.sys.all_table_options WHERE table_name = 'v' AND `key` = 'bucket'", "0")
	failSQL(t, s, "ALTER CATALOG c RESET ('warehouse')", errs.InvalidConfig, "warehouse")
	failSQL(t, s, "ALTER CATALOG nosuch SET ('a'='b')", errs.UnknownCatalog, "nosuch")
	mustSQL(t, s, "SELECT COUNT(*) FROM c.d.t", "9")
	await("the new caretaker", func() bool { return len(care.running()) == 1 })
	mustSQL(t, s, "DROP CATALOG c", "")
	if n := len(care.running()); n != 0 {
		t.Errorf("%d caretakers are left", n)
	}
}
