package ingest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

// undisturbed verifies that the run of the pipeline that was going at the call is
// the one that goes on at the end, without having connected again.
func undisturbed(t *testing.T, r *Runner) func() {
	t.Helper()
	eventually(t, func() string {
		if s := r.Status()[0]; s.State != Streaming {
			return fmt.Sprintf("%+v", s)
		}
		return ""
	})
	r.mu.Lock()
	before := r.runs["test"]
	r.mu.Unlock()
	return func() {
		t.Helper()
		r.mu.Lock()
		now := r.runs["test"]
		r.mu.Unlock()
		if now != before || r.Status()[0].Reconnects > 0 || r.Status()[0].State != Streaming {
			t.Errorf("the pipeline did not go on: %+v", r.Status()[0])
		}
	}
}

// TestNewTables: tables that come at the source while the pipeline runs are copied
// and followed, however they come, and nothing else is.
func TestNewTables(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE DATABASE o; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); INSERT INTO c.a VALUES (1,1); CREATE TABLE o.x (id INT PRIMARY KEY, v INT); INSERT INTO o.x VALUES (7,7)",
		"CREATE TABLE c.s1 (id INT PRIMARY KEY, v INT); INSERT INTO c.s1 VALUES (1,1)")
	l := newLake(t)
	y := srv.yaml(`c.\.*`, "route:\n  - source-table: c.s\\.*\n    sink-table: c.shards\n    shard-key: true\n")
	r := start(t, l.options(), y)
	srv.same(l, r, "c.a")
	l.same("c.shards", "1|1|c.s1")
	check := undisturbed(t, r)
	srv.exec("CREATE TABLE c.b (id INT PRIMARY KEY, v INT)", "INSERT INTO c.b VALUES (1,1)", "CREATE TABLE IF NOT EXISTS c.b (id INT)", "CREATE TABLE o.y (id INT PRIMARY KEY)", "CREATE TABLE c._a_gho LIKE c.a", "INSERT INTO c._a_gho VALUES (5,5)")
	srv.same(l, r, "c.b")
	srv.exec("INSERT INTO c.b VALUES (2,2)", "RENAME TABLE o.x TO c.x", "UPDATE c.x SET v = 8", "CREATE TABLE c.d LIKE c.x", "CREATE TABLE c.e AS SELECT * FROM c.x", "CREATE TABLE c.gone (id INT PRIMARY KEY); DROP TABLE c.gone",
		"INSERT INTO c.d VALUES (3,3)", "INSERT INTO c.a VALUES (2,2)")
	srv.same(l, r, "c.a", "c.b", "c.x", "c.d", "c.e")
	if !srv.mysql { // a statement that no parser reads
		srv.exec("CREATE TABLE c.`period` (id INT PRIMARY KEY, v INT, f DATE, u DATE, PERIOD FOR p(f, u))", "INSERT INTO c.`period` VALUES (1, 1, '2026-01-01', '2026-02-01')")
		l.same("c.period", "1|1|20454|20485") // days
	}
	// One more table of a lake table that others feed: it is copied again, as a whole.
	srv.exec("CREATE TABLE c.s2 LIKE c.s1; INSERT INTO c.s2 VALUES (1,2)", "INSERT INTO c.s1 VALUES (2,2)")
	l.same("c.shards", "1|1|c.s1", "2|2|c.s1", "1|2|c.s2")
	for _, n := range []string{"c._a_gho", "c.gone", "o.y", "c.s2"} {
		if l.rows(n) != nil {
			t.Errorf("%s is in the lake", n)
		}
	}
	check()
	end(t, r)
	srv.exec("CREATE TABLE c.down (id INT PRIMARY KEY); INSERT INTO c.down VALUES (1)", "INSERT INTO c.a VALUES (3,3)")
	// Left out, at the start too.
	r = start(t, l.options(), strings.Replace(y, "  tables:", "  scan.newly-added-table.enabled: false\n  tables:", 1))
	srv.exec("CREATE TABLE c.out (id INT PRIMARY KEY)", "INSERT INTO c.a VALUES (4,4)")
	srv.same(l, r, "c.a")
	end(t, r)
	if l.rows("c.down") != nil || r.table("c.out").Table != "" {
		t.Error("a new table is not left out")
	}
	r = start(t, l.options(), y)
	srv.same(l, r, "c.a", "c.b", "c.down", "c.out")
	l.same("c.shards", "1|1|c.s1", "2|2|c.s1", "1|2|c.s2")
}

// TestNewTablesFollowed: with scan.binlog.newly-added-table.enabled new tables begin
// empty where they come.
func TestNewTablesFollowed(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE DATABASE o; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); INSERT INTO c.a VALUES (1,1); CREATE TABLE o.x (id INT PRIMARY KEY, v INT); INSERT INTO o.x VALUES (7,7)")
	l := newLake(t)
	r := start(t, l.options(), strings.Replace(srv.yaml(`c.\.*`, ""), "  tables:", "  scan.binlog.newly-added-table.enabled: true\n  tables:", 1))
	srv.same(l, r, "c.a")
	check := undisturbed(t, r)
	srv.exec("CREATE TABLE c.b (id INT PRIMARY KEY, v INT)", "INSERT INTO c.b VALUES (1,1)", "ALTER TABLE c.b ADD w INT", "INSERT INTO c.b VALUES (2,2,2)")
	l.same("c.b", "1|1|NULL", "2|2|2")
	srv.exec("RENAME TABLE o.x TO c.x", "INSERT INTO c.x VALUES (8,8)")
	l.same("c.x", "8|8")
	check()
}

// TestCopiedAgainWhileFollowed: a table is copied again beside the others, which go
// on; its rows stay until the new ones are there.
func TestCopiedAgainWhileFollowed(t *testing.T) {
	ctx := context.Background()
	srv := newServer(t)
	srv.db.SetMaxOpenConns(1)
	srv.exec("CREATE DATABASE c", "USE c", "CREATE TABLE a (id INT PRIMARY KEY, v INT)", "CREATE TABLE b (id INT PRIMARY KEY, v INT)", "CREATE TABLE e (id INT)", "INSERT INTO a SELECT seq, seq FROM seq_1_to_3000", "INSERT INTO b VALUES (1,1)", "INSERT INTO e VALUES (1),(1)")
	l := newLake(t)
	r := start(t, l.options(), srv.yaml(`c.\.*`, ""))
	srv.same(l, r, "c.a", "c.b", "c.e")
	check := undisturbed(t, r)
	for i := range 5 {
		srv.exec("SET sql_log_bin = 0", fmt.Sprintf("DELETE FROM a WHERE id = %d", 100+i), "SET sql_log_bin = 1", fmt.Sprintf("UPDATE a SET v = -v WHERE id %% 5 = %d", i), fmt.Sprintf("INSERT INTO b VALUES (%d,0)", 10+i), "INSERT INTO e VALUES (2)")
		if err := r.Resnapshot(ctx, "test", "c.a"); err != nil {
			t.Fatal(err)
		}
		srv.exec(fmt.Sprintf("UPDATE a SET v = v + 1 WHERE id %% 7 = %d", i), fmt.Sprintf("INSERT INTO b VALUES (%d,0)", 20+i))
	}
	if err := r.Resnapshot(ctx, "test", "c.e"); err != nil {
		t.Fatal(err)
	}
	srv.exec("INSERT INTO e VALUES (3)")
	srv.same(l, r, "c.a", "c.b", "c.e")
	if err := r.Resnapshot(ctx, "test", "c.zzz"); errs.KindOf(err) != errs.UnknownTable || !strings.Contains(err.Error(), "its tables are c.a, c.b, c.e") {
		t.Error(err)
	}
	// What could not be followed is copied again, by the definition of now.
	srv.exec("ALTER TABLE b ADD x INT DEFAULT 5, MODIFY v BIGINT, ADD UNIQUE (x, id)", "CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))", "INSERT INTO p VALUES (1),(11)")
	srv.same(l, r, "c.p")
	srv.exec("ALTER TABLE p DROP PARTITION p0", "INSERT INTO p VALUES (12)", "ALTER TABLE p ADD y INT NOT NULL DEFAULT 3")
	eventually(t, func() string {
		if x := r.table("c.p"); !strings.Contains(x.Error, "on-drop-partition: mirror") || !strings.Contains(x.Error, "CALL sys.resnapshot('test', 'c.p')") {
			return fmt.Sprintf("%+v", x)
		}
		return ""
	})
	l.same("c.p", "1", "11")
	for _, n := range []string{"c.p", "c.b"} {
		if err := r.Resnapshot(ctx, "test", n); err != nil {
			t.Fatal(err)
		}
	}
	srv.same(l, r, "c.p", "c.b")
	srv.exec("INSERT INTO p VALUES (13, 4)", "ALTER TABLE p DROP PRIMARY KEY, ADD PRIMARY KEY (id, y)")
	eventually(t, func() string {
		if x := r.table("c.p"); x.Phase != "stopped" {
			return fmt.Sprintf("%+v", x)
		}
		return ""
	})
	if err := r.Resnapshot(ctx, "test", "c.p"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		if x := r.table("c.p"); !strings.Contains(x.Error, "its primary key changed; drop the lake table to copy it again") {
			return fmt.Sprintf("%+v", x)
		}
		return ""
	})
	srv.exec("DROP TABLE e")
	if err := r.Resnapshot(ctx, "test", "c.e"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		if x := r.table("c.e"); !strings.Contains(x.Error, "there is no table c.e at the source") {
			return fmt.Sprintf("%+v", x)
		}
		return ""
	})
	check()
}

// TestStrict: under STRICT_EVOLVE the lake is the source's after changes that the
// log does not tell in full.
func TestStrict(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); INSERT INTO c.a VALUES (1,1),(2,2)",
		"CREATE TABLE c.p (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20)); INSERT INTO c.p VALUES (1),(11)",
		"CREATE TABLE c.n (id INT PRIMARY KEY); INSERT INTO c.n VALUES (1); CREATE TABLE c.idle (id INT PRIMARY KEY)")
	l := newLake(t)
	y := srv.yaml(`c.\.*`, "  schema.change.behavior: strict_evolve\n")
	r := start(t, l.options(), y)
	srv.same(l, r, "c.a", "c.p", "c.n")
	check := undisturbed(t, r)
	for _, ddl := range []string{
		"ALTER TABLE c.a ADD d INT NOT NULL DEFAULT 7 AFTER id",
		"ALTER TABLE c.a ADD e VARCHAR(9) DEFAULT 'x', ADD f INT",
		"ALTER TABLE c.p DROP PARTITION p0",
		"ALTER TABLE c.p TRUNCATE PARTITION p1",
		"CREATE TABLE c.n2 (id INT PRIMARY KEY, w INT); INSERT INTO c.n2 VALUES (5,5),(6,6); RENAME TABLE c.n TO c.n_away, c.n2 TO c.n",
		"DROP TABLE c.n; CREATE TABLE c.n (id INT PRIMARY KEY, w INT)",
		"CREATE TABLE c._a_gho LIKE c.a; ALTER TABLE c._a_gho ADD g INT DEFAULT 4; INSERT INTO c._a_gho SELECT *, 4 FROM c.a; RENAME TABLE c.a TO c._a_del, c._a_gho TO c.a",
		"DROP TABLE c.n",
	} {
		srv.exec(ddl, "INSERT IGNORE INTO c.a (id) VALUES (20)", "UPDATE c.a SET v = COALESCE(v, 0) + 1 WHERE id = 2")
		if ddl == "DROP TABLE c.n" {
			l.same("c.n")
			continue
		}
		srv.same(l, r, "c.a", "c.p", "c.n")
	}
	check()
	end(t, r)
	srv.exec("CREATE TABLE c.n (id INT PRIMARY KEY, w INT); INSERT INTO c.n VALUES (9,9)", "ALTER TABLE c.a ADD h INT DEFAULT 8")
	r = start(t, l.options(), y)
	srv.same(l, r, "c.a", "c.p", "c.n")
}
