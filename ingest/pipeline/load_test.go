package pipeline

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
)

func load(t *testing.T, text string) (*Definition, error) {
	t.Helper()
	return Load([]byte(text), LoadOptions{File: "p.yaml", Env: func(k string) (string, bool) { return "from-env", k == "PW" }})
}

const full = `# MySQL to Paimon
source:
  type: mysql
  name: MySQL Source
  hostname: db1
  port: 3306
  username: cdc
  password: ${ENV:PW}
  tables: app_db.\.*
  tables.exclude: app_db._\.*_(gho|ghc|del|new|old)
  server-id: 21001-21004
  server-time-zone: UTC
  scan.newly-added-table.enabled: true
  jdbc.properties.useSSL: false
route:
  - source-table: app_db.order_[0-9]+
    sink-table: ods.orders
    description: shards
  - source-table: app_db.\.*
    sink-table: ods.pre_<>
    replace-symbol: <>
sink:
  type: paimon
  name: Paimon Sink
  catalog.properties.metastore: filesystem
  catalog.properties.warehouse: /lake
  table.properties.bucket: 2
  table.properties.changelog-producer: input
  commit.user-prefix: app
  partition.key: app_db.t1:a,b;app_db.t2:c
  exclude.schema.changes: [drop.table, truncate.table]
pipeline:
  name: app to ods
  parallelism: 4
  schema.change.behavior: lenient
  commit.interval: 500 ms
  commit.max-bytes: 64MiB
  local-time-zone: UTC
`

func TestLoad(t *testing.T) {
	d, err := load(t, full)
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != "app to ods" || d.Source.Type != "mysql" || d.Source.Tables != `app_db.\.*` || d.Source.Startup != Initial || d.Settings.Parallelism != 4 ||
		d.Settings.CommitInterval != 500*time.Millisecond || d.Settings.CommitBytes != 64<<20 || d.Sink.UserPrefix != "app" || d.Settings.SchemaChange != "LENIENT" {
		t.Errorf("%+v", d)
	}
	if !reflect.DeepEqual(d.Sink.Catalog, map[string]string{"metastore": "filesystem", "warehouse": "/lake"}) || d.Sink.Table["bucket"] != "2" {
		t.Errorf("%+v", d.Sink)
	}
	if !reflect.DeepEqual(d.Sink.Partitions, []Partition{{"app_db.t1", []string{"a", "b"}}, {"app_db.t2", []string{"c"}}}) {
		t.Errorf("%+v", d.Sink.Partitions)
	}
	if len(d.Routes) != 2 || d.Routes[1].ReplaceSymbol != "<>" {
		t.Errorf("%+v", d.Routes)
	}
	if len(d.Warnings) != 0 || !reflect.DeepEqual(d.Sink.Exclude, []string{"drop.table", "truncate.table"}) {
		t.Errorf("%q %q", d.Warnings, d.Sink.Exclude)
	}
	for _, o := range d.Source.Options {
		if o.Key == "password" && o.Value != "from-env" {
			t.Errorf("password is %q", o.Value)
		}
	}
	if strings.Contains(d.Text, "from-env") {
		t.Error("the kept text holds the secret")
	}
}

func TestSecretFile(t *testing.T) {
	p := filepath.Join(t.TempDir(), "pw")
	if err := os.WriteFile(p, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := load(t, "source: {type: mysql, tables: a.b, password: 'x${FILE:"+p+"}y'}\nsink: {type: values}\n")
	if err != nil {
		t.Fatal(err)
	}
	if v := d.Source.Options[0].Value; v != "xs3crety" {
		t.Errorf("%q", v)
	}
}

// edit replaces a line of the full file.
func edit(old, with string) string { return strings.Replace(full, old, with, 1) }

func TestLoadErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "it is empty"},
		{"source: [", "it is no YAML"},
		{full + "---\nsource: {}\n", "several documents"},
		{"- a\n", "must be a block of keys"},
		{edit("sink:\n", "sinks:\n"), "line 22, column 1: the key sinks of the pipeline is unknown; the nearest known key is sink"},
		{edit("  sink-table: ods.orders", "  sink-tabel: ods.orders"), "the key sink-tabel of a route rule is unknown; the nearest known key is sink-table"},
		{edit("paralleism", "x"), ""},
		{edit("parallelism: 4", "paralelism: 4"), "line 34, column 3: the key paralelism of the pipeline block is unknown; the nearest known key is parallelism"},
		{edit("commit.user-prefix", "comit.user-prefix"), "the nearest known key is commit.user-prefix"},
		{edit("parallelism: 4", "parallelism: many"), `parallelism is "many"`},
		{edit("commit.interval: 500 ms", "commit.interval: soon"), "commit.interval"},
		{edit("name: MySQL Source", "type: mysql"), "the key type of the source block is given twice"},
		{edit("${ENV:PW}", "${ENV:NOPE}"), "line 8, column 13: the environment variable NOPE is not set"},
		{edit("${ENV:PW}", "${FILE:/does/not/exist}"), "the file /does/not/exist cannot be read"},
		{edit("hostname: db1", "hostname: [a, b]"), "hostname must be one value"},
		{edit("hostname: db1", "hostname:"), "hostname has no value"},
		{edit("  tables: app_db.\\.*\n", ""), "the source block has no tables"},
		{edit("  type: mysql\n", ""), "the source block has no type"},
		{edit("type: paimon", "type: papermoon"), "the sink type papermoon is unknown"},
		{edit("[drop.table, truncate.table]", "[drop.tabel]"), "the nearest is"},
		{edit("app_db.t1:a,b;app_db.t2:c", "app_db.t1"), "partition.key"},
		{edit("schema.change.behavior: lenient", "schema.change.behavior: yolo"), "schema.change.behavior is yolo"},
		{edit("local-time-zone: UTC", "execution.runtime-mode: BATCH"), "needs scan.startup.mode: snapshot"},
		{edit("name: app to ods", "name: ''"), "name must have"},
		{edit("table.properties.bucket: 2", "table.properties.mysql.type.0: int"), "is set by the pipeline itself"},
		{edit("scan.newly-added-table.enabled: true", "scan.startup.mode: whenever"), "scan.startup.mode is whenever"},
	} {
		_, err := load(t, c.text)
		if c.want == "" {
			continue
		}
		want := strings.ReplaceAll(c.want, "the nearest is", "the nearest known key is drop.table")
		switch {
		case err == nil:
			t.Errorf("no error, want %q", want)
		case !strings.Contains(err.Error(), want):
			t.Errorf("%q, want %q", err, want)
		case strings.Contains(err.Error(), "\n") || errs.ClassOf(err) != errs.User:
			t.Errorf("%v: class %s", err, errs.ClassOf(err))
		}
	}
	if _, err := Load([]byte("source: {type: generator}\nsink: {type: values}\n"), LoadOptions{RequireName: true}); err == nil || !strings.Contains(err.Error(), "pipeline.name is missing") {
		t.Errorf("%v", err)
	}
}

func TestLoadUnsupported(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{edit("type: paimon", "type: iceberg"), "the sink type iceberg"},
		{edit("local-time-zone: UTC", "user-defined-function: x"), "user-defined-function"},
		{edit("metastore: filesystem", "metastore: hive"), "catalog.properties.metastore: hive"},
	} {
		_, err := load(t, c.text)
		if err == nil || errs.ClassOf(err) != errs.Unsupported || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(full)
	f.Add("source: &a {type: mysql, tables: a.b}\nsink: *a\n")
	f.Add("a: ${ENV:PW} ${ENV: ${FILE:}")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Load([]byte(text), LoadOptions{Env: func(string) (string, bool) { return "", false }})
		if (d == nil) == (err == nil) {
			t.Fatal(d, err)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("the message has several lines: %q", err)
		}
	})
}
