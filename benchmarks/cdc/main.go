// Command cdc measures the first copy and the catching up of a pipeline: rows and
// changes a second, CPU time each, and the most memory, beside what reading alone
// takes (the same pipeline into a sink that drops its rows). It runs the binary as
// its own process beside a private MariaDB. The table and the mix of changes are
// those of the workload that Flink CDC was measured with: 9 columns; 60 % inserts,
// 30 % updates, 10 % deletes, ten a transaction.
//
//	go run ./benchmarks/cdc --binary bin/thermocline
//
// With --fresh it measures how old the answers of a server are instead (fresh.go).
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/thermocline/thermocline/internal/mariadb"
)

var (
	bin     = flag.String("binary", "bin/thermocline", "the binary to measure")
	rows    = flag.Int("rows", 2_000_000, "rows of the first copy")
	changes = flag.Int("changes", 500_000, "changes that wait in the binlog")
	limit   = flag.String("memory-limit", "1GiB", "of the pipeline")

	freshOnly = flag.Bool("fresh", false, "measure the freshness under a steady stream of changes instead")
	freshFor  = flag.Duration("fresh-for", time.Minute, "how long changes are made")
	freshRate = flag.Float64("fresh-rate", 1000, "changes a second")
	freshLive = flag.Bool("fresh-live", true, "ask live, too")
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "cdc:", err)
		os.Exit(1)
	}
}

const table = `CREATE TABLE anchor.orders (order_id BIGINT NOT NULL PRIMARY KEY, customer_id INT NOT NULL, region VARCHAR(10) NOT NULL, amount DECIMAL(12,2) NOT NULL,
	qty INT, status VARCHAR(12), note VARCHAR(100), order_time DATETIME(3) NOT NULL, updated_at DATETIME(3) NOT NULL)`

const values = `seq, CRC32(seq) %% 200000, ELT(1 + CRC32(seq * 3) %% 8, 'US','EU','CN','UK','AU','JP','BR','IN'), (CRC32(seq * 5) %% 10000000) / 100, 1 + seq %% 9,
	ELT(1 + CRC32(seq * 7) %% 5, 'NEW','PAID','SHIPPED','DONE','CANCELLED'), REPEAT(MD5(seq), CRC32(seq * 11) %% 3), '2026-01-01' + INTERVAL CRC32(seq * 13) %% 25920000 SECOND, '2026-01-01' + INTERVAL CRC32(seq * 17) %% 25920000 SECOND`

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "bench-cdc-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	srv, err := mariadb.Start(ctx, filepath.Join(dir, "db"), "--innodb-buffer-pool-size=512M", "--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0")
	if err != nil {
		return err
	}
	defer srv.Kill()
	db, err := sql.Open("mysql", srv.DSN("mysql")+"?multiStatements=true")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE DATABASE anchor; "+table); err != nil {
		return err
	}
	for at := 0; at < *rows; at += 200_000 {
		if _, err := db.ExecContext(ctx, fmt.Sprintf("INSERT INTO anchor.orders SELECT "+values+" FROM seq_%d_to_%d", at+1, min(at+200_000, *rows))); err != nil {
			return err
		}
	}
	if _, err := db.ExecContext(ctx, "ANALYZE TABLE anchor.orders"); err != nil {
		return err
	}
	if *freshOnly {
		return fresh(ctx, dir, srv, db, *rows)
	}
	b := &bench{dir: dir, port: srv.Port, db: db}
	fmt.Printf("| what | wall s | a second | CPU s | CPU µs each | most memory |\n|---|---|---|---|---|---|\n")
	if err := b.once("reading alone, first copy", "values", "snapshot", *rows); err != nil {
		return err
	}
	if err := b.once("first copy", "paimon", "snapshot", *rows); err != nil {
		return err
	}
	if err := b.catchUp(ctx); err != nil {
		return err
	}
	return nil
}

type bench struct {
	dir  string
	port int
	db   *sql.DB
	n    int
}

// file writes a pipeline and returns its path and warehouse.
func (b *bench) file(sink, mode string) (string, string, error) {
	b.n++
	lake := filepath.Join(b.dir, fmt.Sprintf("lake%d", b.n))
	s := "  type: values\n  print.enabled: false\n"
	if sink == "paimon" {
		s = "  type: paimon\n  catalog.properties.metastore: filesystem\n  catalog.properties.warehouse: " + lake + "\n  table.properties.bucket: 2\n"
	}
	path := filepath.Join(b.dir, fmt.Sprintf("p%d.yaml", b.n))
	text := fmt.Sprintf("source:\n  type: mysql\n  hostname: 127.0.0.1\n  port: %d\n  username: %s\n  password: %s\n  tables: anchor.orders\n  scan.startup.mode: %s\nsink:\n%spipeline:\n  name: bench\n",
		b.port, mariadb.User, mariadb.Password, mode, s)
	return path, lake, os.WriteFile(path, []byte(text), 0o600)
}

func (b *bench) command(path string) *exec.Cmd {
	cmd := exec.Command(*bin, "ingest", "--memory-limit", *limit, path)
	cmd.Stderr = os.Stderr
	return cmd
}

func report(what string, n int, wall, cpu time.Duration, rss int64) {
	fmt.Printf("| %s | %.1f | %.0f | %.1f | %.1f | %d MiB |\n", what, wall.Seconds(), float64(n)/wall.Seconds(), cpu.Seconds(), cpu.Seconds()*1e6/float64(n), rss>>20)
}

// once runs a pipeline that ends by itself.
func (b *bench) once(what, sink, mode string, n int) error {
	path, _, err := b.file(sink, mode)
	if err != nil {
		return err
	}
	cmd := b.command(path)
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	st := cmd.ProcessState
	report(what, n, time.Since(begin), st.UserTime()+st.SystemTime(), int64(st.SysUsage().(*syscall.Rusage).Maxrss)<<10)
	return nil
}

// catchUp copies the table, lets changes wait, and measures how they are read.
func (b *bench) catchUp(ctx context.Context) error {
	path, lake, err := b.file("paimon", "initial")
	if err != nil {
		return err
	}
	cmd := b.command(path)
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := b.reach(ctx, lake, "stream"); err != nil {
		return errors.Join(err, cmd.Process.Kill())
	}
	if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
		return err
	}
	if err := b.change(ctx); err != nil {
		return err
	}
	cmd = b.command(path)
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := b.reach(ctx, lake, "stream"); err != nil {
		return errors.Join(err, cmd.Process.Kill())
	}
	wall := time.Since(begin)
	cpu := processTime(cmd.Process.Pid)
	if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
		return err
	}
	report("changes that waited", *changes, wall, cpu, int64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)<<10)
	return nil
}

// change makes the changes, ten a transaction.
func (b *bench) change(ctx context.Context) error {
	rnd := rand.New(rand.NewPCG(42, 1))
	next := *rows
	conn, err := b.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for n := 0; n < *changes; n += 10 {
		var sb strings.Builder
		next = transaction(&sb, rnd, next)
		if _, err := conn.ExecContext(ctx, sb.String()); err != nil {
			return err
		}
	}
	return nil
}

// transaction writes a transaction of ten changes and returns the newest order.
func transaction(sb *strings.Builder, rnd *rand.Rand, next int) int {
	sb.WriteString("BEGIN;")
	for range 10 {
		switch x := rnd.IntN(10); {
		case x < 6:
			next++
			fmt.Fprintf(sb, "INSERT INTO anchor.orders VALUES (%d,%d,'US',%d.50,3,'NEW','a note of some length','2026-05-01 10:00:00.123','2026-05-01 10:00:00.123');", next, rnd.IntN(200000), rnd.IntN(100000))
		case x < 9:
			fmt.Fprintf(sb, "UPDATE anchor.orders SET status='PAID', amount=amount+1, updated_at='2026-06-01' WHERE order_id=%d;", 1+rnd.IntN(next))
		default:
			fmt.Fprintf(sb, "DELETE FROM anchor.orders WHERE order_id=%d;", 1+rnd.IntN(next))
		}
	}
	sb.WriteString("COMMIT")
	return next
}

// reach waits until the newest snapshot stands for everything in the binlog.
func (b *bench) reach(ctx context.Context, lake, phase string) error {
	var gtid string
	if err := b.db.QueryRowContext(ctx, "SELECT @@gtid_binlog_pos").Scan(&gtid); err != nil {
		return err
	}
	deadline := time.Now().Add(20 * time.Minute)
	for time.Now().Before(deadline) {
		if p := newest(filepath.Join(lake, "anchor.db", "orders", "snapshot")); p["cdc.phase"] != "" && (p["cdc.phase"] == phase || p["cdc.chunks"] == "") && strings.Contains(p["cdc.position"], `"`+gtid+`"`) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("the pipeline does not catch up")
}

// newest returns the properties of the newest snapshot.
func newest(dir string) map[string]string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	most := int64(-1)
	for _, e := range entries {
		if n, err := strconv.ParseInt(strings.TrimPrefix(e.Name(), "snapshot-"), 10, 64); err == nil {
			most = max(most, n)
		}
	}
	var s struct {
		Properties map[string]string `json:"properties"`
	}
	b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("snapshot-%d", most)))
	if err != nil || json.Unmarshal(b, &s) != nil {
		return nil
	}
	return s.Properties
}

// processTime is user and system time of a running process.
func processTime(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	var ticks int64
	for _, x := range f[11:13] {
		n, _ := strconv.ParseInt(x, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
