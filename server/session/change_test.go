package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/server/metadata"
)

// What a statement tells its client: MySQL's counts and texts.
func TestChangesTellWhatTheyDid(t *testing.T) {
	srv := warehouse(t)
	s, found := session(t, srv, OpenOptions{}), session(t, srv, OpenOptions{FoundRows: true})
	script(t, s, "CREATE DATABASE d;\nCREATE TABLE d.t (id INT PRIMARY KEY, a INT) /*T! WITH ('bucket'='1') */")
	for _, c := range []struct {
		sql      string
		affected uint64
		info     string
		on       *Session
	}{
		{"INSERT INTO d.t VALUES (1, 1)", 1, "", s},
		{"INSERT INTO d.t VALUES (2, 2), (3, 3)", 2, "Records: 2  Duplicates: 0  Warnings: 0", s},
		{"INSERT IGNORE INTO d.t VALUES (3, 9), (4, 4)", 1, "Records: 2  Duplicates: 1  Warnings: 1", s},
		{"UPDATE d.t SET a = 2 WHERE id < 4", 2, "Rows matched: 3  Changed: 2  Warnings: 0", s},
		{"UPDATE d.t SET a = 2 WHERE id < 4", 0, "Rows matched: 3  Changed: 0  Warnings: 0", s},
		{"UPDATE d.t SET a = 2 WHERE id < 4", 3, "Rows matched: 3  Changed: 0  Warnings: 0", found},
		{"INSERT INTO d.t VALUES (1, 1) ON DUPLICATE KEY UPDATE a = a", 0, "", s},
		{"INSERT INTO d.t VALUES (1, 1) ON DUPLICATE KEY UPDATE a = a", 1, "", found},
		{"INSERT INTO d.t VALUES (1, 1) ON DUPLICATE KEY UPDATE a = a + 1", 2, "", s},
		{"REPLACE INTO d.t SELECT id, a + 1 FROM d.t WHERE id < 3", 4, "Records: 2  Duplicates: 2  Warnings: 0", s},
		{"INSERT INTO d.t SELECT 10, 10", 1, "Records: 1  Duplicates: 0  Warnings: 0", s},
		{"DELETE FROM d.t WHERE id = 10", 1, "", s},
		{"DELETE FROM d.t WHERE id = 10", 0, "", s},
	} {
		res, err := c.on.Execute(t.Context(), c.sql, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.sql, err)
		}
		if res.Affected != c.affected || res.Info != c.info {
			t.Errorf("%s: %d affected, %q; want %d, %q", c.sql, res.Affected, res.Info, c.affected, c.info)
		}
		want(t, c.on, "SELECT ROW_COUNT()", fmt.Sprint(c.affected))
	}
	// Statements commit at once, also in a transaction, one snapshot each.
	script(t, s, "BEGIN;\nUPDATE d.t SET a = 100 WHERE id = 1;\nROLLBACK")
	if got := query(t, s, "SHOW WARNINGS"); !strings.Contains(got, "couldn't be rolled back") {
		t.Error(got)
	}
	want(t, s, "SELECT a FROM d.t WHERE id = 1", "100")
	script(t, s, "START TRANSACTION READ ONLY")
	wantKind(t, s, "UPDATE d.t SET a = 1", errs.ReadOnlyTransaction)
	wantKind(t, s, "TRUNCATE d.t", errs.ReadOnlyTransaction)
	script(t, s, "ROLLBACK;\nSET lake_insert = 'strict'")
	wantKind(t, s, "INSERT INTO d.t VALUES (1, 1)", errs.DuplicateKey)
	script(t, s, "SET lake_insert = 'upsert';\nINSERT INTO d.t VALUES (1, 1)")
	want(t, s, "SELECT a FROM d.t WHERE id = 1", "1")
	if res, err := s.Execute(t.Context(), "EXECUTE STATEMENT SET BEGIN INSERT INTO d.t VALUES (20, 1); INSERT INTO d.t VALUES (21, 1), (22, 1); END", nil); err != nil || res.Affected != 3 {
		t.Errorf("a statement set: %+v %v", res, err)
	}
	// Prepared, with placeholders.
	script(t, s, "PREPARE u FROM 'UPDATE d.t SET a = ? WHERE id = ?';\nSET @a = 7, @i = 2;\nEXECUTE u USING @a, @i")
	want(t, s, "SELECT a FROM d.t WHERE id = 2", "7")
	for _, q := range []string{"UPDATE d.t SET a = ? WHERE id = ?", "DELETE FROM d.t WHERE id = ?", "MERGE INTO d.t USING d.t s ON t.id = ? WHEN MATCHED THEN DELETE"} {
		if p, err := s.Prepare(t.Context(), q); err != nil || p.Params != strings.Count(q, "?") {
			t.Errorf("prepare %s: %+v %v", q, p, err)
		}
	}
	if got := query(t, s, "EXPLAIN FORMAT=TREE UPDATE d.t SET a = 1 WHERE id = 3"); !strings.Contains(got, "scan") && !strings.Contains(got, "Scan") {
		t.Error(got)
	}
}

// Sessions that change the same rows at once: none is lost.
func TestConcurrentChanges(t *testing.T) {
	for _, key := range []string{"PRIMARY KEY (id)) /*T! WITH ('bucket'='2') */", "KEY (id))"} {
		srv := warehouse(t)
		s := session(t, srv, OpenOptions{})
		script(t, s, "CREATE DATABASE d;\nUSE d;\nCREATE TABLE t (id INT NOT NULL, n INT NOT NULL, "+key+";\nINSERT INTO t VALUES (1, 0), (2, 0)")
		const sessions, times = 3, 5
		var wg sync.WaitGroup
		for k := range sessions {
			c := session(t, srv, OpenOptions{Database: "d"})
			wg.Go(func() {
				for i := range times {
					q := "UPDATE t SET n = n + 1 WHERE id = 1"
					if (i+k)%2 == 0 {
						q = "UPDATE t SET n = n + 1"
					}
					if _, err := c.Execute(context.Background(), q, nil); err != nil {
						t.Errorf("%s: %v", q, err)
					}
				}
			})
		}
		wg.Wait()
		want(t, s, "SELECT n FROM t WHERE id = 1", fmt.Sprint(sessions*times))
		want(t, s, "SELECT COUNT(*) FROM t", "2")
	}
}

// Sessions that count in variables while they change the same rows: an attempt that
// lost against another leaves nothing in them.
func TestConcurrentCounting(t *testing.T) {
	srv := warehouse(t)
	s := session(t, srv, OpenOptions{})
	script(t, s, "CREATE DATABASE d;\nUSE d;\nCREATE TABLE t (id INT NOT NULL PRIMARY KEY, n INT NOT NULL);\nINSERT INTO t VALUES (1, 0), (2, 0), (3, 0)")
	var wg sync.WaitGroup
	for k := range 3 {
		c := session(t, srv, OpenOptions{Database: "d"})
		wg.Go(func() {
			for i := range 5 {
				start := 1000*k + 100*i
				for _, q := range []string{fmt.Sprintf("SET @n = %d", start), "UPDATE t SET n = (@n := @n + 1)"} {
					if _, err := c.Execute(context.Background(), q, nil); err != nil {
						t.Errorf("%s: %v", q, err)
					}
				}
				want(t, c, "SELECT @n", fmt.Sprint(start+3))
			}
		})
	}
	wg.Wait()
	want(t, s, "SELECT MAX(n) - MIN(n), SUM(n - id) % 3 FROM t", "2|0")
}

func TestChangesNeedRights(t *testing.T) {
	who := map[string]metadata.Privilege{
		"reader": metadata.Select, "writer": metadata.Insert, "updater": metadata.Update, "editor": metadata.Update | metadata.Select,
		"deleter": metadata.Delete | metadata.Select, "merger": metadata.Select | metadata.Insert | metadata.Update | metadata.Delete, "definer": metadata.Alter | metadata.Drop | metadata.Index,
	}
	of := map[metadata.Identity]map[metadata.Object]metadata.Privilege{}
	for n, p := range who {
		of[metadata.Identity{User: n, Host: "%"}] = map[metadata.Object]metadata.Privilege{{Database: "d", Table: "t"}: p, {Database: "d", Table: "s"}: metadata.Select}
	}
	srv := warehouse(t)
	srv.accounts = rights{of: of}
	root := session(t, srv, OpenOptions{})
	script(t, root, "CREATE DATABASE d;\nUSE d;\nCREATE TABLE t (id INT PRIMARY KEY, a INT, dt INT) /*T! WITH ('bucket'='1') */;\nCREATE TABLE s (id INT PRIMARY KEY, a INT) /*T! WITH ('bucket'='1') */;\nCREATE TABLE secret (id INT)")
	for _, c := range []struct{ sql, may string }{
		{"INSERT INTO d.t VALUES (1, 1, 1)", "writer merger"},
		{"INSERT INTO d.t SELECT id, a, 1 FROM d.s", "writer merger"},
		{"INSERT INTO d.t SELECT id, 1, 1 FROM d.secret", ""},
		{"REPLACE INTO d.t VALUES (1, 1, 1)", "merger"},
		{"INSERT OVERWRITE d.t VALUES (1, 1, 1)", "merger"},
		{"INSERT INTO d.t VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE a = 1", "merger"},
		{"UPDATE d.t SET a = 1", "updater editor merger"},
		{"UPDATE d.t SET a = a + 1", "editor merger"},
		{"UPDATE d.t SET a = 1 WHERE id = 1", "editor merger"},
		{"UPDATE d.t JOIN d.s ON s.id = t.id SET t.a = s.a", "editor merger"},
		{"UPDATE d.t JOIN d.s ON s.id = t.id SET s.a = 1", ""},
		{"UPDATE d.t SET a = (SELECT MAX(id) FROM d.secret)", ""},
		{"DELETE FROM d.t WHERE id = 1", "deleter merger"},
		{"DELETE d.t FROM d.t JOIN d.s ON s.id = t.id", "deleter merger"},
		{"MERGE INTO d.t USING d.s ON t.id = s.id WHEN MATCHED THEN DELETE", "deleter merger"},
		{"MERGE INTO d.t USING d.s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = 1 WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)", "merger"},
		{"TRUNCATE TABLE d.t", "definer"},
		{"ALTER TABLE d.t COMMENT = 'x'", "definer"},
		{"ALTER TABLE d.t RENAME TO d.u", ""},
		{"CREATE INDEX i ON d.t (a)", "definer"},
		{"CREATE TABLE d.u LIKE d.s", ""},
		{"CREATE TABLE d.u AS SELECT * FROM d.s", ""},
		{"CALL sys.create_tag('d.t', 'x', 1)", "definer"},
		{"CALL sys.rollback_to('d.t', '', 1)", ""},
	} {
		for n := range who {
			x := session(t, srv, OpenOptions{Account: metadata.Account{Identity: metadata.Identity{User: n, Host: "%"}}, User: n, Address: "10.0.0.9:5"})
			_, err := rows(t.Context(), x, c.sql)
			denied := errs.Is(err, errs.TableDenied) || errs.Is(err, errs.DatabaseDenied) || errs.Is(err, errs.PrivilegeNeeded)
			if may := strings.Contains(" "+c.may+" ", " "+n+" "); may == denied {
				t.Errorf("%s by %s: %v", c.sql, n, err)
			}
		}
	}
}

// A statement that is killed changes nothing.
func TestKilledChange(t *testing.T) {
	srv := warehouse(t)
	s := session(t, srv, OpenOptions{})
	script(t, s, "CREATE DATABASE d;\nUSE d;\nCREATE TABLE t (id INT PRIMARY KEY, a INT) /*T! WITH ('bucket'='1') */;\nINSERT INTO t VALUES (1, 1), (2, 2)")
	done := make(chan error)
	go func() {
		_, err := s.Execute(context.Background(), "UPDATE t SET a = SLEEP(60) + 5", nil)
		done <- err
	}()
	other := session(t, srv, OpenOptions{})
	for begin := time.Now(); query(t, other, "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'updating%' AND info LIKE 'UPDATE t%'") != "1"; {
		if time.Since(begin) > time.Minute {
			t.Fatal("the process list does not show the UPDATE: ", query(t, other, "SELECT id, state, info FROM information_schema.processlist"))
		}
	}
	query(t, other, "KILL QUERY "+uitoa(s.ID()))
	if err := <-done; !errs.Is(err, errs.Killed) && !errors.Is(err, context.Canceled) {
		t.Errorf("killed: %v", err)
	}
	want(t, s, "SELECT * FROM t ORDER BY id", "1|1\n2|2")
}
