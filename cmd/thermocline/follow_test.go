package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gomysql "github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/thermocline/thermocline/internal/errs"
)

// do runs statements.
func (l *lake) do(statements ...string) {
	l.t.Helper()
	for _, q := range statements {
		r, err := l.s.Execute(context.Background(), q, nil)
		if err != nil {
			l.t.Fatalf("%s: %v", q, err)
		}
		if err := r.Close(); err != nil {
			l.t.Fatalf("%s: %v", q, err)
		}
	}
}

// TestContinuousQueries runs continuous SELECTs in one process: their rows, what
// they may not have, and that nothing of them stays.
func TestContinuousQueries(t *testing.T) {
	dir := t.TempDir()
	l := openLakeOf(t, dir)
	l.do("CREATE DATABASE d", "USE d",
		"CREATE TABLE t (k INT NOT NULL, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1', 'changelog-producer' = 'input')",
		"INSERT INTO t VALUES (1, 'a'), (2, 'b')", "INSERT INTO t VALUES (2, 'c')")
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const hint = "/*+ OPTIONS('streaming' = 'true', 'continuous.discovery-interval' = '1 ms'%s) */"
	from := fmt.Sprintf("t "+hint, ", 'scan.mode' = 'from-snapshot', 'scan.snapshot-id' = '1'")
	whole := fmt.Sprintf("t "+hint, "")
	for q, want := range map[string]string{
		"SELECT * FROM " + whole + " LIMIT 2":                                                   `["+I",1,"a"] ["+I",2,"c"]`,
		"SELECT * FROM " + from + " LIMIT 3":                                                    `["+I",1,"a"] ["+I",2,"b"] ["+I",2,"c"]`,
		"SELECT k + 1 AS n FROM " + from + " WHERE v <> 'a' LIMIT 1, 1":                         `["+I",3]`,
		"SELECT x.v FROM (SELECT v, k FROM " + from + ") x WHERE k = 2 LIMIT 1":                 `["+I","b"]`,
		"SELECT v FROM " + from + " WHERE k = (SELECT MAX(k) FROM t) LIMIT 2":                   `["+I","b"] ["+I","c"]`,
		"SELECT * FROM t$audit_log " + strings.TrimPrefix(from, "t ") + " LIMIT 1":              `["+I","+I",1,"a"]`,
		"SELECT * FROM " + from + " LIMIT 0":                                                    ``,
		"SELECT * FROM t /*+ OPTIONS('streaming' = 'false') */ WHERE k = 1":                     `[1,"a"]`,
		"SELECT COUNT(*) FROM t /*+ OPTIONS('incremental-between' = '0,2') */":                  `[3]`,
		"SELECT rowkind, k FROM t$audit_log /*+ OPTIONS('incremental-between' = '1,2') */":      `["+I",2]`,
		"SELECT a.k FROM t a JOIN t /*+ OPTIONS('incremental-between'='1,2') */ b ON a.k = b.k": `[2]`,
	} {
		got, err := l.rows(q)
		if err != nil || strings.Join(got.Lines, " ") != want {
			t.Errorf("%s: %v, %v, want %s", q, got.Lines, err, want)
		}
	}
	for q, want := range map[string]string{
		"SELECT COUNT(*) FROM " + whole:                                "aggregation over a continuous read",
		"SELECT k FROM " + whole + " GROUP BY k":                       "aggregation over a continuous read",
		"SELECT * FROM " + whole + " ORDER BY k":                       "ORDER BY over a continuous read",
		"SELECT * FROM " + whole + " ORDER BY k LIMIT 1":               "ORDER BY over a continuous read",
		"SELECT DISTINCT k FROM " + whole:                              "DISTINCT over a continuous read",
		"SELECT ROW_NUMBER() OVER () FROM " + whole:                    "window functions over a continuous read",
		"SELECT * FROM " + whole + " JOIN t u ON TRUE":                 "a join or subquery over a continuous read",
		"SELECT k FROM " + whole + " UNION ALL SELECT 1":               "UNION, INTERSECT or EXCEPT over a continuous read",
		"SELECT * FROM t WHERE k IN (SELECT k FROM " + whole + ")":     "over a continuous read",
		"INSERT INTO t SELECT * FROM " + whole:                         "a continuous read in another statement than SELECT",
		"SELECT * FROM (SELECT * FROM " + whole + " LIMIT 1) x":        "a LIMIT that is not the whole statement's",
		"SELECT * FROM t$snapshots /*+ OPTIONS('streaming'='true') */": "a continuous read of d.t$snapshots",
	} {
		_, err := l.rows(q)
		if errs.ClassOf(err) != errs.Unsupported || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", q, err, want)
		}
	}
	// The setting of Flink's scripts.
	l.do("SET 'execution.runtime-mode' = 'streaming'")
	if got, err := l.rows("SELECT v FROM t LIMIT 1"); err != nil || strings.Join(got.Lines, " ") != `["+I","a"]` {
		t.Errorf("%v %v", got.Lines, err)
	}
	if got, err := l.rows("SELECT k FROM t FOR VERSION AS OF 1 WHERE k = 1"); err != nil || strings.Join(got.Lines, " ") != `[1]` {
		t.Errorf("%v %v", got.Lines, err)
	}
	l.do("INSERT INTO t SELECT k + 10, v FROM t", "SET 'execution.runtime-mode' = 'batch'")
	if got, err := l.rows("SELECT COUNT(*) FROM t"); err != nil || strings.Join(got.Lines, " ") != `[4]` {
		t.Errorf("%v %v", got.Lines, err)
	}
	// KILL ends a read that waits.
	r, err := l.s.Execute(context.Background(), "SELECT * FROM "+fmt.Sprintf("t "+hint, ", 'scan.mode' = 'latest'"), nil)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, func() { l.s.Kill(false) })
	if b, err := r.Rows.Next(context.Background()); b != nil || !errs.Is(err, errs.Killed) {
		t.Errorf("%v %v", b, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	// So does the end of time.
	l.do("SET max_execution_time = 30")
	if _, err := l.rows("SELECT * FROM " + whole); !errs.Is(err, errs.Timeout) {
		t.Error(err)
	}
}

// TestContinuousOverMySQL follows a table with a MySQL client, kills one read and
// leaves another.
func TestContinuousOverMySQL(t *testing.T) {
	p := serveProcess(t, "--warehouse", t.TempDir())
	db := p.db()
	for _, q := range []string{"CREATE DATABASE d", "CREATE TABLE d.t (k INT NOT NULL, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1')", "INSERT INTO d.t VALUES (1, 'a')"} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(q, err)
		}
	}
	const q = "SELECT * FROM d.t /*+ OPTIONS('streaming' = 'true', 'continuous.discovery-interval' = '10 ms', 'consumer-id' = '%s') */"
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	following := func() (ids []string) {
		out, err := rows(db, "SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT * FROM d.t /*+%' ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	one, err := p.db().Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r, err := one.QueryContext(ctx, fmt.Sprintf(q, "one"))
	if err != nil {
		t.Fatal(err)
	}
	next := func(want string) {
		t.Helper()
		var op, k, v string
		if !r.Next() {
			t.Fatal(r.Err())
		}
		if err := r.Scan(&op, &k, &v); err != nil || op+k+v != want {
			t.Errorf("%s%s%s, %v, want %s", op, k, v, err, want)
		}
	}
	next("+I1a")
	for i, want := range []string{"+I2b", "+I1c"} {
		if _, err := db.Exec("INSERT INTO d.t VALUES " + []string{"(2, 'b')", "(1, 'c')"}[i]); err != nil {
			t.Fatal(err)
		}
		next(want)
	}
	ids := following()
	if len(ids) != 1 {
		t.Fatal(ids)
	}
	if _, err := db.Exec("KILL QUERY " + ids[0]); err != nil {
		t.Fatal(err)
	}
	var me *gomysql.MySQLError
	if r.Next() || !errors.As(r.Err(), &me) || me.Number != 1317 {
		t.Errorf("after KILL QUERY: %v", r.Err())
	}
	r.Close()
	// Both snapshots before the last row were delivered.
	if got, err := rows(db, "SELECT * FROM d.t$consumers"); err != nil || !slices.Equal(got, []string{"one|3"}) && !slices.Equal(got, []string{"one|4"}) {
		t.Errorf("%v %v", got, err)
	}
	two, stop := context.WithCancel(ctx)
	if r, err = p.db().QueryContext(two, fmt.Sprintf(q, "two")); err != nil {
		t.Fatal(err)
	}
	next("+I1c")
	stop() // the client goes away
	for len(following()) > 0 {
		if ctx.Err() != nil {
			t.Fatal("the server does not notice that the client left")
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.stop()
}
