package main

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/testkit"
)

func TestWarehousePath(t *testing.T) {
	for uri, want := range map[string]string{"/srv/lake": "/srv/lake", "file:///srv/lake/": "/srv/lake", "file:/srv": "/srv", "s3://b": "s3://b",
		"s3://b/x/y/": "s3://b/x/y", "s3a://b//x": "s3a://b/x", "oss://b/x": "oss://b/x", "s3://": "", "hdfs://n/x": "", "https://h/x": ""} {
		if got, err := warehousePath(uri); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", uri, got, err)
		}
	}
	for _, c := range []config{{Warehouse: "s3://b/x"}, {Warehouse: "s3://b/x", DataDir: "s3://b/y"}, {Warehouse: "./lake", DataDir: "s3://b/y"}} {
		if _, err := resolve(c, "", nil); err == nil || !strings.Contains(err.Error(), "data-dir") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if c, err := resolve(config{Warehouse: "s3a://b/x/", DataDir: "/srv/data"}, "", nil); err != nil || c.Warehouse != "s3a://b/x" || c.DataDir != "/srv/data" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestObjectStore follows a MariaDB into a warehouse in an object store, ends
// without warning, goes on, and reads it in all ways.
func TestObjectStore(t *testing.T) {
	store := testkit.S3(t)
	m := testkit.MariaDB(t)
	for _, e := range []string{"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3"} {
		t.Setenv(e, "")
	}
	for _, e := range store.Env() {
		k, v, _ := strings.Cut(e, "=")
		t.Setenv(k, v)
	}
	src := openDB(t, m.DSN(""))
	mustExec := func(q string) {
		t.Helper()
		if _, err := src.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	mustExec("CREATE DATABASE sales")
	mustExec("CREATE TABLE sales.orders (order_id INT PRIMARY KEY, region VARCHAR(10), amount DECIMAL(12,2))")
	mustExec("INSERT INTO sales.orders SELECT seq, CONCAT('r', seq % 7), seq / 4 FROM sales.seq_1_to_500")
	warehouse := "s3://" + store.Bucket + "/ware/house"
	yaml := writePipeline(t, m, warehouse, "orders", "sales.orders", ordersRoute)

	out, err := exec.Command(binary(t), "serve", "--warehouse", warehouse).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--data-dir") {
		t.Fatalf("a remote warehouse without a data directory: %v %s", err, out)
	}
	args := []string{"--warehouse", warehouse, "--data-dir", t.TempDir()}
	p := serveProcess(t, append(args, "--pipeline", yaml)...)
	lake := p.db()
	get := func() (*sql.DB, error) { return lake, nil }
	const theirs, ours = "SELECT * FROM sales.orders ORDER BY order_id", "SELECT * FROM dwd.orders_paimon ORDER BY order_id"
	eventually(t, src, theirs, get, ours)
	mustExec("UPDATE sales.orders SET amount = amount + 1 WHERE order_id % 3 = 0")
	mustExec("DELETE FROM sales.orders WHERE order_id % 11 = 0")
	p.kill()
	mustExec("INSERT INTO sales.orders VALUES (1001, 'new', 1)")
	p = serveProcess(t, args...)
	lake = p.db()
	eventually(t, src, theirs, get, ours)
	p.stop()

	want, err := rows(src, "SELECT COUNT(*), SUM(amount) FROM sales.orders")
	if err != nil {
		t.Fatal(err)
	}
	query := func(warehouse string) string {
		t.Helper()
		out, err := exec.Command(binary(t), "sql", "--warehouse", warehouse, "--format", "tsv", "-e", "SELECT COUNT(*), SUM(amount) FROM dwd.orders_paimon").CombinedOutput()
		if err != nil {
			t.Fatalf("%v %s", err, out)
		}
		_, line, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return strings.ReplaceAll(line, "\t", "|")
	}
	for _, w := range []string{warehouse, strings.Replace(warehouse, "s3:", "s3a:", 1), filepath.Join(store.Dir, "ware", "house")} {
		if got := query(w); got != want[0] {
			t.Fatalf("%s: %s, want %s", w, got, want[0])
		}
	}
	out, err = exec.Command(binary(t), "inspect", warehouse+"/dwd.db/orders_paimon/snapshot/snapshot-1").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "commitUser") {
		t.Fatalf("inspect: %v %s", err, out)
	}

	// A pipeline alone, with the store's settings in its file and a wrong environment.
	other := "s3a://" + store.Bucket + "/other"
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	f := writePipeline(t, m, other, "alone", "sales.orders", ordersRoute)
	text, err := os.ReadFile(f)
	if err != nil {
		t.Fatal(err)
	}
	alone := strings.Replace(string(text), "  tables:", "  scan.startup.mode: snapshot\n  tables:", 1)
	alone = strings.Replace(alone, "\npipeline:", fmt.Sprintf(`
  catalog.properties.s3.endpoint: %s
  catalog.properties.s3.access-key: %s
  catalog.properties.fs.s3a.secret.key: %s
  catalog.properties.s3.path.style.access: true

pipeline:`, store.Endpoint, store.AccessKey, store.SecretKey), 1)
	if err := os.WriteFile(f, []byte(alone), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(binary(t), "ingest", f).CombinedOutput(); err != nil || strings.Contains(string(out), store.SecretKey) {
		t.Fatalf("ingest: %v\n%s", err, out)
	}
	if got := query(filepath.Join(store.Dir, "other")); got != want[0] {
		t.Fatalf("the pipeline alone wrote %s, want %s", got, want[0])
	}
}
