package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/thermocline/thermocline/internal/mariadb"
	"github.com/thermocline/thermocline/internal/testkit"
)

// TestLiveQueries: SET lake_freshness = 'live' over the MySQL port, from a real
// source, with what it does not answer live.
func TestLiveQueries(t *testing.T) {
	m := testkit.MariaDB(t)
	src := openDB(t, m.DSN("")+"?multiStatements=true")
	must := func(db interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
	}, q string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	must(src, "CREATE DATABASE bank; CREATE TABLE bank.clock (id INT PRIMARY KEY, n INT NOT NULL); INSERT INTO bank.clock VALUES (1, 0)")
	must(src, "CREATE TABLE bank.part (id INT PRIMARY KEY, v INT); INSERT INTO bank.part VALUES (1, 1)")
	for _, name := range []string{"a", "b"} {
		must(src, fmt.Sprintf("CREATE TABLE bank.%s (id INT PRIMARY KEY, v INT NOT NULL); INSERT INTO bank.%s SELECT seq, 100 FROM mysql.seq_1_to_50", name, name))
	}
	dir := filepath.Join(t.TempDir(), "lake")
	file := filepath.Join(t.TempDir(), "bank.yaml")
	text := fmt.Sprintf("source:\n  type: mysql\n  hostname: 127.0.0.1\n  port: %d\n  username: %s\n  password: %s\n  tables: bank.\\.*\n"+
		"transform:\n  - source-table: bank.part\n    projection: \\*\n    table-options: merge-engine=partial-update,bucket=1\n"+
		"sink:\n  type: paimon\n  catalog.properties.metastore: filesystem\n  catalog.properties.warehouse: %s\n  table.properties.bucket: 2\npipeline:\n  name: bank\n  commit.interval: 500ms\n",
		m.Port, mariadb.User, mariadb.Password, dir)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serveProcess(t, "--warehouse", dir, "--pipeline", file)
	conn := func() *sql.Conn {
		t.Helper()
		c, err := openDB(t, "root@tcp("+p.mysql+")/").Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	one := func(c *sql.Conn, q string) string {
		t.Helper()
		r, err := c.QueryContext(t.Context(), q)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		defer r.Close()
		var lines []string
		cols, _ := r.Columns()
		for r.Next() {
			v, at := make([]sql.NullString, len(cols)), make([]any, len(cols))
			for i := range v {
				at[i] = &v[i]
			}
			if err := r.Scan(at...); err != nil {
				t.Fatal(err)
			}
			var parts []string
			for _, x := range v {
				parts = append(parts, x.String)
			}
			lines = append(lines, strings.Join(parts, "|"))
		}
		if err := r.Err(); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		return strings.Join(lines, "\n")
	}
	until := func(c *sql.Conn, q, want string) {
		t.Helper()
		got, deadline := "", time.Now().Add(time.Minute)
		for time.Now().Before(deadline) {
			if got = one(c, q); got == want {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("%s: %s instead of %s\n%s", q, got, want, p.log)
	}
	c := conn()
	until(c, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'bank'", "4")
	until(c, "SELECT COUNT(*) FROM sys.pipeline_tables WHERE phase = 'stream'", "4")
	must(c, "SET lake_freshness = 'live'")
	if got := one(c, "SELECT @@lake_freshness") + one(c, "SHOW VARIABLES LIKE 'lake_freshness'"); got != "livelake_freshness|live" {
		t.Errorf("the variable is %s", got)
	}
	const sums = "SELECT (SELECT SUM(v) FROM bank.a) + (SELECT SUM(v) FROM bank.b), (SELECT COUNT(*) FROM bank.a) + (SELECT COUNT(*) FROM bank.b), n FROM bank.clock"
	until(c, sums, "10000|100|0")

	// Transfers between the tables: what is read adds up, and never goes back.
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			c := conn()
			must(c, "SET lake_freshness = 'live'")
			for last := 0; !stop.Load(); {
				var sum, count, n int
				q := sums
				if i == 2 { // joined instead of subqueries
					q = "SELECT x.s + y.s, x.c + y.c, n FROM (SELECT SUM(v) s, COUNT(*) c FROM bank.a) x, (SELECT SUM(v) s, COUNT(*) c FROM bank.b) y, bank.clock"
				}
				if err := c.QueryRowContext(t.Context(), q).Scan(&sum, &count, &n); err != nil {
					t.Error(err)
					return
				}
				if sum != 10000 || count != 100 || n < last {
					t.Errorf("%d in %d rows at %d, after %d", sum, count, n, last)
				}
				last = n
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	n := 0
	transfer := func() {
		n++
		from, to := "a", "b"
		if rnd.IntN(2) == 0 {
			from, to = to, from
		}
		i, j, new := 1+rnd.IntN(50), 1+rnd.IntN(50), 1000+n
		q := fmt.Sprintf("BEGIN; UPDATE bank.clock SET n = %d; UPDATE bank.%s SET v = v - 1 WHERE id = %d; UPDATE bank.%s SET v = v + (SELECT COUNT(*) FROM bank.%s WHERE id = %d) WHERE id = (SELECT x FROM (SELECT MIN(id) x FROM bank.%s) y);",
			n, from, i, to, from, i, to)
		if rnd.IntN(3) == 0 { // a row moves
			q += fmt.Sprintf("INSERT INTO bank.%s SELECT %d, v FROM bank.%s WHERE id = %d; DELETE FROM bank.%s WHERE id = %d;", to, new, from, j, from, j)
		}
		must(src, q+"COMMIT")
	}
	for range 200 {
		transfer()
		time.Sleep(time.Duration(rnd.IntN(8)) * time.Millisecond)
	}
	until(c, sums, fmt.Sprintf("10000|100|%d", n))
	stop.Store(true)
	wg.Wait()

	// EXPLAIN says what is live; versions and system tables are committed.
	if got := one(c, "EXPLAIN FORMAT=TREE SELECT * FROM bank.a"); !strings.Contains(got, " live at {") {
		t.Errorf("EXPLAIN: %s", got)
	}
	for _, q := range []string{"SELECT * FROM bank.a FOR VERSION AS OF 1", "SELECT * FROM bank.a$snapshots", "SELECT * FROM bank.a /*+ OPTIONS('scan.snapshot-id'='1') */"} {
		if got := one(c, "EXPLAIN FORMAT=TREE "+q); strings.Contains(got, "live") {
			t.Errorf("%s: %s", q, got)
		}
		one(c, q)
	}
	_, err := c.QueryContext(t.Context(), "SELECT * FROM bank.part")
	if e, ok := err.(*mysql.MySQLError); !ok || e.Number != 1235 || !strings.Contains(e.Message, "'merge-engine' = 'partial-update'") {
		t.Errorf("partial-update: %v", err)
	}
	// Tables without a pipeline are read as committed, with a note; and get rows.
	must(c, "CREATE DATABASE other")
	must(c, "CREATE TABLE other.t (id INT, v INT)")
	must(c, "INSERT INTO other.t SELECT id, v FROM bank.a WHERE id <= 3")
	if got, want := one(c, "SELECT COUNT(*) FROM other.t JOIN bank.a USING (id)"), one(c, "SELECT COUNT(*) FROM bank.a WHERE id <= 3"); got != want {
		t.Errorf("%s instead of %s", got, want)
	}
	one(c, "SELECT * FROM other.t")
	if got := one(c, "SHOW WARNINGS"); got != "Note|1105|other.t is read as committed, not live: no pipeline of this server writes it" {
		t.Errorf("warnings: %s", got)
	}
	one(c, "SELECT * FROM bank.a")
	if got := one(c, "SHOW WARNINGS"); got != "" {
		t.Errorf("warnings: %s", got)
	}

	// A consistent snapshot stays.
	must(c, "USE bank")
	must(c, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
	before := one(c, sums)
	d := conn()
	must(d, "SET lake_freshness = 'live'")
	for range 5 {
		transfer()
	}
	until(d, sums, fmt.Sprintf("10000|100|%d", n))
	if got := one(c, sums); got != before {
		t.Errorf("in the transaction: %s, then %s", before, got)
	}
	must(c, "COMMIT")
	until(c, sums, fmt.Sprintf("10000|100|%d", n))

	// Paused, everything is committed, and a note says so.
	transfer()
	until(c, sums, fmt.Sprintf("10000|100|%d", n))
	must(d, "PAUSE PIPELINE bank")
	if got, want := one(c, sums), fmt.Sprintf("10000|100|%d", n); got != want {
		t.Errorf("paused: %s instead of %s", got, want)
	}
	one(c, "SELECT n FROM clock")
	if got := one(c, "SHOW WARNINGS"); got != "Note|1105|bank.clock is read as committed, not live: the pipeline bank was stopped" {
		t.Errorf("warnings: %s", got)
	}
	transfer()
	must(d, "RESUME PIPELINE bank")
	until(c, sums, fmt.Sprintf("10000|100|%d", n))

	// Nothing of it is on disk: a process that is killed goes on as ever.
	p.kill()
	transfer()
	p = serveProcess(t, "--warehouse", dir)
	c = conn()
	must(c, "SET lake_freshness = 'live'")
	until(c, sums, fmt.Sprintf("10000|100|%d", n))
	for _, name := range []string{"a", "b"} {
		want := ""
		if r, err := rows(src, "SELECT id, v FROM bank."+name+" ORDER BY id"); err != nil {
			t.Fatal(err)
		} else {
			want = strings.Join(r, "\n")
		}
		until(c, "SELECT id, v FROM bank."+name+" ORDER BY id", want)
	}
}
