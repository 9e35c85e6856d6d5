package ingest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/memory"
)

// TestLargeTransactionKilled kills the pipeline while it writes the files of a
// transaction that is larger than its memory: nothing of it is seen, and it is
// there once in the end, in a table without a key too.
func TestLargeTransactionKilled(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT, w VARCHAR(200)); CREATE TABLE c.b (id INT, w VARCHAR(200)); INSERT INTO c.a VALUES (1,1,'old'); INSERT INTO c.b VALUES (1,'old')")
	l := newLake(t)
	o := l.options()
	o.Budget = memory.New("ingest", 12<<20)
	yaml := srv.yaml(`c.\.*`, "")
	r := start(t, o, yaml)
	srv.same(l, r, "c.a", "c.b")
	end(t, r)
	srv.exec("BEGIN; INSERT INTO c.a SELECT seq + 1, seq, REPEAT('w', 150) FROM seq_1_to_60000; INSERT INTO c.b SELECT seq + 1, REPEAT('b', 150) FROM seq_1_to_60000; UPDATE c.a SET v = v + 1; COMMIT")
	for n, steps := range []int64{3, 4, 6} { // the first are those of the start
		c := &crash{}
		c.left.Store(steps)
		c.applied.Store(n == 1)
		files := crashFiles{l.files, c}
		o.OpenLake = func(context.Context, map[string]string) (*Lake, error) {
			return &Lake{Catalog: l.reopen(files), Files: files, Root: l.dir}, nil
		}
		r := start(t, o, yaml)
		eventually(t, func() string {
			if !c.dead.Load() {
				return fmt.Sprintf("it lives: %+v", r.Status())
			}
			return ""
		})
		end(t, r)
		for _, name := range []string{"c.a", "c.b"} {
			if got := l.rows(name); len(got) != 1 || !strings.HasSuffix(got[0], "old") {
				t.Fatalf("killed at step %d, %s has %d rows", steps, name, len(got))
			}
		}
	}
	o.OpenLake = l.options().OpenLake
	r = start(t, o, yaml)
	srv.same(l, r, "c.a", "c.b")
	end(t, r)
	if n := o.Budget.Used(); n != 0 {
		t.Errorf("%d bytes are still reserved", n)
	}
}
