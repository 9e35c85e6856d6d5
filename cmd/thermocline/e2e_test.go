package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/thermocline/thermocline/internal/mariadb"
	"github.com/thermocline/thermocline/internal/testkit"
)

// The end-to-end tests run the binary as users do: its own process, a real
// MariaDB, a MySQL client, signals.

var builtIn string // the folder of the binary, "" while it is not built

var binaryOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "thermocline-e2e-")
	if err != nil {
		return "", err
	}
	builtIn = dir
	bin := filepath.Join(dir, "thermocline")
	cmd := exec.Command("go", "build", "-tags", "gms_pure_go", "-o", bin, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return bin, nil
})

func binary(t *testing.T) string {
	t.Helper()
	bin, err := binaryOnce()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

func TestMain(m *testing.M) {
	code := m.Run()
	if builtIn != "" {
		os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

// process is a running `thermocline serve`.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	mysql string
	http  string
	log   *bytes.Buffer
	done  chan error
}

// serveProcess starts serve on free ports and waits for `ready`.
func serveProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, log: &bytes.Buffer{}, done: make(chan error, 1)}
	p.cmd = exec.Command(binary(t), append([]string{"serve", "--mysql-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"}, args...)...)
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 0, 200)
	one := make([]byte, 1)
	for {
		n, err := out.Read(one)
		if n == 1 && one[0] == '\n' {
			break
		}
		line = append(line, one[:n]...)
		if err != nil {
			werr := p.cmd.Wait()
			t.Fatalf("serve ended before it was ready: %v\n%s%s", werr, line, p.log)
		}
	}
	if _, err := fmt.Sscanf(strings.ReplaceAll(string(line), ",", " "), "ready: MySQL on %s HTTP on %s", &p.mysql, &p.http); err != nil {
		t.Fatalf("unexpected first line %q: %v", line, err)
	}
	go func() {
		io.Copy(io.Discard, out)
		p.done <- p.cmd.Wait()
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends the process as a power failure would.
func (p *process) kill() {
	p.cmd.Process.Kill()
	select {
	case err := <-p.done:
		p.done <- err
	case <-time.After(30 * time.Second):
	}
}

// stop ends the process in order.
func (p *process) stop() {
	p.t.Helper()
	p.cmd.Process.Signal(syscall.SIGTERM)
	err := <-p.done
	p.done <- err
	if err != nil {
		p.t.Fatalf("serve ended with %v\n%s", err, p.log)
	}
}

func (p *process) db() *sql.DB {
	db, err := sql.Open("mysql", "root:@tcp("+p.mysql+")/")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { db.Close() })
	return db
}

func openDB(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// rows returns a query's rows as text, columns joined by "|".
func rows(db *sql.DB, q string) ([]string, error) {
	r, err := db.Query(q)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cols, _ := r.Columns()
	var out []string
	for r.Next() {
		v := make([]sql.NullString, len(cols))
		p := make([]any, len(cols))
		for i := range v {
			p[i] = &v[i]
		}
		if err := r.Scan(p...); err != nil {
			return nil, err
		}
		s := make([]string, len(cols))
		for i := range v {
			s[i] = "NULL"
			if v[i].Valid {
				s[i] = v[i].String
			}
		}
		out = append(out, strings.Join(s, "|"))
	}
	return out, r.Err()
}

// eventually waits until both databases answer their query with the same rows.
func eventually(t *testing.T, source *sql.DB, sq string, lake func() (*sql.DB, error), lq string) {
	t.Helper()
	var want, got []string
	var err error
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if want, err = rows(source, sq); err != nil {
			continue
		}
		var db *sql.DB
		if db, err = lake(); err != nil {
			t.Fatal(err)
		}
		if got, err = rows(db, lq); err == nil && strings.Join(got, "\n") == strings.Join(want, "\n") {
			return
		}
	}
	t.Fatalf("the lake does not become equal to the source: %v\nlake   (%d rows) %.2000s\nsource (%d rows) %.2000s", err, len(got), got, len(want), want)
}

func writePipeline(t *testing.T, m *mariadb.Server, warehouse, name, tables, routes string) string {
	t.Helper()
	f := filepath.Join(t.TempDir(), name+".yaml")
	text := fmt.Sprintf(`source:
  type: mysql
  hostname: 127.0.0.1
  port: %d
  username: %s
  password: %s
  tables: %s
  server-id: 5400-5404
  server-time-zone: UTC
%s
sink:
  type: paimon
  catalog.properties.metastore: filesystem
  catalog.properties.warehouse: %s
pipeline:
  name: %s
`, m.Port, mariadb.User, mariadb.Password, tables, routes, warehouse, name)
	if err := os.WriteFile(f, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return f
}

const ordersRoute = "route:\n  - source-table: sales.orders\n    sink-table: dwd.orders_paimon\n"

// TestDemoOnce is the whole story: copy, follow, query, time travel, checked by
// the demo itself; then pypaimon reads the same nine rows from the folder.
func TestDemoOnce(t *testing.T) {
	testkit.NeedMariaDB(t)
	dir := t.TempDir()
	out, err := exec.Command(binary(t), "demo", "--once", "--dir", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "All answers are right.") {
		t.Fatalf("%s", out)
	}
	t.Run("pypaimon", func(t *testing.T) {
		python := testkit.Tool(t, "THERMOCLINE_PYPAIMON")
		script := `
import sys, json
from pypaimon import CatalogFactory
c = CatalogFactory.create({"warehouse": sys.argv[1]})
t = c.get_table("dwd.orders_paimon")
b = t.new_read_builder()
df = b.new_read().to_pandas(b.new_scan().plan().splits()).sort_values("order_id")
for r in df.itertuples(index=False):
    print("|".join([str(r.order_id), str(r.customer_id), r.region, str(r.amount), r.status]))
`
		out, err := exec.Command(python, "-W", "ignore", "-c", script, filepath.Join(dir, "lake")).Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		want := "1001|1|US|20.5|NEW\n1002|2|EU|35.2|NEW\n1003|3|CN|66.6|NEW\n1004|4|UK|38.9|NEW\n1005|5|AU|25.3|NEW\n1006|6|JP|33.8|NEW\n" +
			"3001|31|US|12.3|PAID\n6001|61|US|23.5|PAID\n6002|62|EU|32.0|PAID\n"
		if string(out) != want {
			t.Fatalf("pypaimon reads\n%s", out)
		}
	})
	t.Run("Java Paimon", func(t *testing.T) {
		program := os.Getenv("THERMOCLINE_PAIMON_JAVA")
		if program == "" {
			t.Skip("needs THERMOCLINE_PAIMON_JAVA, a program that runs Java Paimon: run make interop where ../shared lies beside the repository")
		}
		out, err := exec.Command(program, "dump", filepath.Join(dir, "lake", "dwd.db", "orders_paimon")).Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var got []string
		for l := range strings.Lines(string(out)) {
			if strings.HasPrefix(l, "[") {
				got = append(got, strings.Join(strings.Split(l, ",")[:5], ","))
			}
		}
		want := `[1001,1,"US",20.5,"NEW" [1002,2,"EU",35.2,"NEW" [1003,3,"CN",66.6,"NEW" [1004,4,"UK",38.9,"NEW" [1005,5,"AU",25.3,"NEW" [1006,6,"JP",33.8,"NEW" [3001,31,"US",12.3,"PAID" [6001,61,"US",23.5,"PAID" [6002,62,"EU",32,"PAID"`
		if strings.Join(got, " ") != want {
			t.Fatalf("Java reads %s", out)
		}
	})
	t.Run("sql", func(t *testing.T) {
		out, err := exec.Command(binary(t), "sql", "--warehouse", filepath.Join(dir, "lake"), "--format", "tsv",
			"-e", "SELECT order_id, amount FROM dwd.orders_paimon WHERE amount < 21 ORDER BY amount").CombinedOutput()
		if err != nil || string(out) != "order_id\tamount\n3001\t12.3\n1001\t20.5\n" {
			t.Fatalf("%v %s", err, out)
		}
	})
}

func TestDemoGenerator(t *testing.T) {
	out, err := exec.Command(binary(t), "demo", "--once", "--generator").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "All answers are right.") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestKillAnywhere kills the server at random moments while the source changes
// and restarts it, then MariaDB too: no row is lost and none comes twice.
func TestKillAnywhere(t *testing.T) {
	m := testkit.MariaDB(t)
	src := openDB(t, m.DSN(""))
	mustExec := func(q string, args ...any) {
		t.Helper()
		if _, err := src.Exec(q, args...); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	mustExec("CREATE DATABASE sales")
	mustExec("CREATE TABLE sales.orders (order_id INT PRIMARY KEY, customer_id INT, region VARCHAR(10), amount DECIMAL(12,2), status VARCHAR(10), order_time DATETIME(3))")
	mustExec("CREATE TABLE sales.lines (a VARCHAR(20), b INT UNSIGNED, n BIGINT, PRIMARY KEY (b, a))")
	for i := range 500 {
		mustExec("INSERT INTO sales.orders VALUES (?, ?, 'EU', ?, 'NEW', NOW(3))", i, i%17, float64(i)/4)
	}
	dir := filepath.Join(t.TempDir(), "lake")
	yaml := writePipeline(t, m, dir, "orders", `sales.\.*`, ordersRoute)

	r := rand.New(rand.NewPCG(7, uint64(time.Now().UnixNano())))
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		next := 500
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(r.IntN(6)) * time.Millisecond):
			}
			tx, err := src.Begin()
			if err != nil {
				continue // MariaDB is restarting
			}
			ok := true
			do := func(q string, args ...any) {
				if _, err := tx.Exec(q, args...); err != nil {
					ok = false
				}
			}
			for range 1 + i%5 {
				switch (i * 7) % 6 {
				case 0, 1, 2:
					do("INSERT INTO sales.orders VALUES (?, ?, 'US', ?, 'NEW', NOW(3))", next, next%17, float64(next)/8)
					do("INSERT INTO sales.lines VALUES (?, ?, ?)", fmt.Sprint("k", next%50), uint32(next)|1<<31, next)
					next++
				case 3:
					do("UPDATE sales.orders SET amount = amount + 1, status = 'PAID' WHERE order_id % 37 = ?", i%37)
				case 4:
					do("DELETE FROM sales.orders WHERE order_id % 101 = ?", i%101)
				case 5:
					do("UPDATE sales.orders SET order_id = order_id + 1000000 WHERE order_id = ?", next-3)
				}
			}
			if ok && i%11 != 0 {
				tx.Commit()
			} else {
				tx.Rollback()
			}
		}
	})
	args := []string{"--warehouse", dir, "--pipeline", yaml}
	kills := 8
	if testing.Short() {
		kills = 3
	}
	for i := range kills {
		p := serveProcess(t, args...)
		args = []string{"--warehouse", dir} // the pipeline is kept
		time.Sleep(time.Duration(100+r.IntN(1500)) * time.Millisecond)
		if i == kills/2 {
			m.Kill()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			if err := m.Restart(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
			time.Sleep(500 * time.Millisecond)
		}
		if i%3 == 2 {
			p.stop()
		} else {
			p.kill()
		}
	}
	close(stop)
	writer.Wait()
	p := serveProcess(t, args...)
	lake := p.db()
	get := func() (*sql.DB, error) { return lake, nil }
	eventually(t, src, "SELECT * FROM sales.orders ORDER BY order_id", get, "SELECT * FROM dwd.orders_paimon ORDER BY order_id")
	eventually(t, src, "SELECT * FROM sales.`lines` ORDER BY b, a", get, "SELECT * FROM sales.`lines` ORDER BY b, a")
	// Time travel over all of it stays readable, and ids have no gaps.
	snaps, err := rows(lake, "SELECT snapshot_id FROM dwd.`orders_paimon$snapshots` ORDER BY snapshot_id")
	if err != nil || len(snaps) == 0 {
		t.Fatalf("%v %v", snaps, err)
	}
	for i := 1; i < len(snaps); i++ {
		var a, b int
		fmt.Sscan(snaps[i-1], &a)
		fmt.Sscan(snaps[i], &b)
		if b != a+1 {
			t.Fatalf("snapshots %d and %d are neighbours", a, b)
		}
	}
	p.stop()

	t.Run("pypaimon", func(t *testing.T) {
		python := testkit.Tool(t, "THERMOCLINE_PYPAIMON")
		script := `
import sys
from pypaimon import CatalogFactory
c = CatalogFactory.create({"warehouse": sys.argv[1]})
b = c.get_table("dwd.orders_paimon").new_read_builder()
df = b.new_read().to_pandas(b.new_scan().plan().splits()).sort_values("order_id")
for r in df.itertuples(index=False):
    print("|".join([str(r.order_id), str(r.customer_id), r.region, str(r.amount), r.status]))
`
		out, err := exec.Command(python, "-W", "ignore", "-c", script, dir).Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		want, err := rows(src, "SELECT order_id, customer_id, region, amount, status FROM sales.orders ORDER BY order_id")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(out)); got != strings.Join(want, "\n") {
			t.Fatalf("pypaimon reads other rows than the source has: %d and %d", strings.Count(got, "\n")+1, len(want))
		}
	})
}

// TestBadInput: each mistake is one line that says what to do, with status 1,
// and leaves nothing half-written.
func TestBadInput(t *testing.T) {
	m := testkit.MariaDB(t)
	src := openDB(t, m.DSN(""))
	for _, q := range []string{"CREATE DATABASE sales", "CREATE TABLE sales.orders (order_id INT PRIMARY KEY)", "INSERT INTO sales.orders VALUES (1)"} {
		if _, err := src.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	good := func(dir string) string { return writePipeline(t, m, dir, "orders", "sales.orders", ordersRoute) }
	edit := func(dir, old, new string) string {
		f := good(dir)
		b, _ := os.ReadFile(f)
		if !bytes.Contains(b, []byte(old)) {
			t.Fatalf("no %q in the pipeline", old)
		}
		os.WriteFile(f, bytes.Replace(b, []byte(old), []byte(new), 1), 0o644)
		return f
	}
	for _, c := range []struct {
		name string
		args func(dir string) []string
		want []string // parts of the message
	}{
		{"unknown command", func(string) []string { return []string{"serv"} }, []string{"serv", "serve"}},
		{"unknown flag", func(string) []string { return []string{"serve", "--warehous", "x"} }, []string{"warehous"}},
		{"port in use", func(dir string) []string {
			return []string{"serve", "--warehouse", dir, "--mysql-listen", busy.Addr().String()}
		}, []string{busy.Addr().String(), "--mysql-listen"}},
		{"unknown key", func(dir string) []string { return []string{"ingest", edit(dir, "hostname:", "hostnam:")} }, []string{"hostnam", "hostname"}},
		{"wrong password", func(dir string) []string {
			return []string{"ingest", edit(dir, "password: "+mariadb.Password, "password: nonsense")}
		}, []string{"ccess denied"}},
		{"missing table", func(dir string) []string {
			return []string{"plan", edit(dir, "tables: sales.orders", "tables: sales.nothing")}
		}, []string{"sales.nothing"}},
		{"missing pipeline", func(dir string) []string {
			return []string{"serve", "--warehouse", dir, "--pipeline", dir + "/no.yaml"}
		}, []string{"no.yaml"}},
		{"unknown table", func(dir string) []string { return []string{"sql", "--warehouse", dir, "-e", "SELECT * FROM nowhere.t"} }, []string{"nowhere"}},
		{"syntax", func(dir string) []string { return []string{"sql", "--warehouse", dir, "-e", "SELEC 1"} }, []string{"SELEC"}},
		{"not there", func(dir string) []string { return []string{"inspect", dir + "/snapshot-9"} }, []string{"snapshot-9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "lake")
			cmd := exec.Command(binary(t), c.args(dir)...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			err := cmd.Run()
			var ee *exec.ExitError
			if ok := asExit(err, &ee); !ok || ee.ExitCode() != 1 {
				t.Fatalf("ended with %v, expected status 1\n%s", err, &stderr)
			}
			var lines []string
			for l := range strings.Lines(stderr.String()) {
				if !strings.HasPrefix(l, "time=") { // log lines
					lines = append(lines, l)
				}
			}
			if len(lines) != 1 {
				t.Fatalf("%d lines: %s", len(lines), &stderr)
			}
			for _, w := range c.want {
				if !strings.Contains(lines[0], w) {
					t.Errorf("%q does not say %q", lines[0], w)
				}
			}
			if strings.Contains(lines[0], "nonsense") {
				t.Errorf("the message shows the password: %q", lines[0])
			}
		})
	}
}

func asExit(err error, to **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*to = e
	return ok
}

// TestBinlogOff: a source that cannot be followed is refused with what to do.
func TestBinlogOff(t *testing.T) {
	for _, c := range []struct{ option, want string }{{"--skip-log-bin", "--log-bin"}, {"--binlog-format=STATEMENT", "binlog_format is STATEMENT"}} {
		m := testkit.MariaDB(t, c.option)
		src := openDB(t, m.DSN(""))
		for _, q := range []string{"CREATE DATABASE sales", "CREATE TABLE sales.orders (order_id INT PRIMARY KEY)"} {
			if _, err := src.Exec(q); err != nil {
				t.Fatal(err)
			}
		}
		f := writePipeline(t, m, filepath.Join(t.TempDir(), "lake"), "orders", "sales.orders", ordersRoute)
		out, err := exec.Command(binary(t), "ingest", f).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v %s", c.option, err, out)
		}
	}
}

// TestCorruptFiles: damaged metadata and data end in an error that names the
// file, over the wire too, and the server lives.
func TestCorruptFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	out, err := exec.Command(binary(t), "demo", "--once", "--generator", "--dir", filepath.Dir(dir)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	table := filepath.Join(dir, "dwd.db", "orders_paimon")
	p := serveProcess(t, "--warehouse", dir, "--data-dir", t.TempDir())
	db := p.db()
	const q = "SELECT SUM(amount) FROM dwd.orders_paimon"
	if _, err := rows(db, q); err != nil {
		t.Fatal(err)
	}
	if _, err := rows(db, "SELECT * FROM dwd.orders_paimon FOR VERSION AS OF 999"); err == nil || !strings.Contains(err.Error(), "999") {
		t.Errorf("unknown snapshot: %v", err)
	}
	damage := func(glob string, f func([]byte) []byte) (name string, undo func()) {
		files, _ := filepath.Glob(filepath.Join(table, glob))
		if len(files) == 0 {
			t.Fatalf("no %s", glob)
		}
		old := map[string][]byte{}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			old[name] = b
			if err := os.WriteFile(name, f(bytes.Clone(b)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return filepath.Base(files[0]), func() {
			for name, b := range old {
				os.WriteFile(name, b, 0o644)
			}
		}
	}
	for _, c := range []struct {
		name, glob, part string
		f                func([]byte) []byte
	}{
		{"truncated data file", "bucket-0/*.parquet", ".parquet", func(b []byte) []byte { return b[:len(b)/2] }},
		{"empty data file", "bucket-0/*.parquet", ".parquet", func([]byte) []byte { return nil }},
		{"cut manifest", "manifest/manifest-*", "manifest", func(b []byte) []byte { return b[:len(b)-20] }},
		{"foreign manifest", "manifest/manifest-*", "manifest", func([]byte) []byte { return []byte("hello") }},
		{"cut snapshot", "snapshot/snapshot-*", "snapshot-", func(b []byte) []byte { return b[:10] }},
	} {
		_, undo := damage(c.glob, c.f)
		q := serveProcess(t, "--warehouse", dir, "--data-dir", t.TempDir())
		got, err := rows(q.db(), "SELECT SUM(amount) FROM dwd.orders_paimon")
		if err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
		if one, err := rows(q.db(), "SELECT 1"); err != nil || len(one) != 1 {
			t.Errorf("%s: the server does not live: %v", c.name, err)
		}
		q.kill()
		undo()
	}
}

// TestHTTP: health and metrics.
func TestHTTP(t *testing.T) {
	p := serveProcess(t, "--warehouse", filepath.Join(t.TempDir(), "lake"))
	get := func(path string) []byte {
		r, err := http.Get("http://" + p.http + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != 200 {
			t.Fatalf("%s: %d %v", path, r.StatusCode, err)
		}
		return b
	}
	var health struct{ Status string }
	if b := get("/healthz"); json.Unmarshal(b, &health) != nil || health.Status != "ok" {
		t.Fatalf("%s", b)
	}
	if b := get("/metrics"); !bytes.Contains(b, []byte("thermocline_memory_reserved_bytes")) {
		t.Fatalf("%s", b)
	}
	p.stop()
}
