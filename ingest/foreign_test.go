package ingest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
)

// strangers commits n times to a lake table as somebody else, without rows, and
// returns the newest snapshot.
func strangers(t *testing.T, l *lake, id catalog.Identifier, n int) (newest int64) {
	t.Helper()
	ctx := context.Background()
	tb, err := l.catalog.Table(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	k, err := tb.(connector.Writable).NewCommit(ctx, "somebody")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r, err := k.Commit(ctx, &connector.Committable{Identifier: int64(i + 1), EvenIfEmpty: true})
		if err != nil {
			t.Fatal(err)
		}
		newest = r.Snapshot
	}
	return newest
}

// TestForeignWriters: another engine commits 20 times to the lake table of a
// pipeline that is down, and expires all but the newest ten snapshots, the
// pipeline's own among them. What the table has is known from the state after an
// orderly end. After a kill it is not: the state may be older than the table, and
// nothing is written twice.
func TestForeignWriters(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT, v INT)") // without a key: rows that come twice show
	id := catalog.Identifier{Database: "c", Table: "a"}
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed=%v", killed), func(t *testing.T) {
			s := *srv
			s.t = t
			s.exec("TRUNCATE TABLE c.a; INSERT INTO c.a VALUES (1,1)")
			l, c := newLake(t), &crash{}
			c.left.Store(1 << 30)
			o := l.options()
			o.OpenLake = func(context.Context, map[string]string) (*Lake, error) {
				return &Lake{Catalog: l.catalog, Files: crashFiles{l.files, c}, Root: l.dir}, nil
			}
			r := start(t, o, s.yaml("c.a", ""))
			s.same(l, r, "c.a")
			if killed {
				eventually(t, func() string { // the state is written while the table is followed
					if x := r.table("c.a"); x.Phase != "stream" {
						return fmt.Sprintf("%+v", x)
					}
					return ""
				})
				c.dead.Store(true)
			}
			s.exec("INSERT INTO c.a VALUES (2,2)")
			s.same(l, r, "c.a")
			r.Close(context.Background())
			newest := strangers(t, l, id, 20)
			for n := int64(1); n <= newest-10; n++ {
				os.Remove(filepath.Join(l.dir, "c.db", "a", "snapshot", fmt.Sprint("snapshot-", n)))
			}
			if err := os.WriteFile(filepath.Join(l.dir, "c.db", "a", "snapshot", "EARLIEST"), []byte(fmt.Sprint(newest-9)), 0o644); err != nil {
				t.Fatal(err)
			}
			s.exec("INSERT INTO c.a VALUES (3,3)")
			r = start(t, l.options(), s.yaml("c.a", ""))
			if !killed {
				s.same(l, r, "c.a")
				end(t, r)
				return
			}
			if why, want := failure(t, r), "1 table(s) stopped: c.a: others have expired its snapshots of this pipeline, which did not end in order: it is not known which changes it has; CALL sys.resnapshot copies it again"; why != want {
				t.Errorf("%q", why)
			}
			l.same("c.a", "1|1", "2|2")
			if err := r.Resnapshot(context.Background(), "test", "c.a"); err != nil {
				t.Fatal(err)
			}
			if err := r.Unpause(context.Background(), "test"); err != nil {
				t.Fatal(err)
			}
			s.same(l, r, "c.a")
			end(t, r)
		})
	}
}
