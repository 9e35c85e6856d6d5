package ingest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
)

// late is a store in which a commit of a process that has ended happens after
// the next one has looked at the table, as a request that was under way does.
type late struct {
	mu      sync.Mutex
	hold    bool // the next commit waits, and the process does not hear of it
	waiting func()
}

type lateCatalog struct {
	catalog.Writable
	l *late
}

func (c lateCatalog) Table(ctx context.Context, id catalog.Identifier) (catalog.Table, error) {
	t, err := c.Writable.Table(ctx, id)
	if err != nil {
		return nil, err
	}
	return lateTable{t.(writableTable), c.l}, nil
}

func (c lateCatalog) CreateTable(ctx context.Context, id catalog.Identifier, s *catalog.Schema, ifNotExists bool) (catalog.Table, error) {
	t, err := c.Writable.CreateTable(ctx, id, s, ifNotExists)
	if err != nil {
		return nil, err
	}
	return lateTable{t.(writableTable), c.l}, nil
}

type lateTable struct {
	writableTable
	l *late
}

func (t lateTable) NewCommit(ctx context.Context, user string) (connector.TableCommit, error) {
	k, err := t.writableTable.NewCommit(ctx, user)
	return lateCommit{k, t.l}, err
}

type lateCommit struct {
	connector.TableCommit
	l *late
}

func (k lateCommit) Commit(ctx context.Context, c *connector.Committable) (connector.CommitResult, error) {
	k.l.mu.Lock()
	defer k.l.mu.Unlock()
	if !k.l.hold {
		return k.TableCommit.Commit(ctx, c)
	}
	if k.l.waiting == nil {
		k.l.waiting = func() { _, _ = k.TableCommit.Commit(context.Background(), c) }
	}
	return connector.CommitResult{}, errDead
}

func (k lateCommit) Abort(ctx context.Context, m []connector.CommitMessage) error {
	if k.l.hold { // a process that is killed removes nothing
		return nil
	}
	return k.TableCommit.Abort(ctx, m)
}

func (k lateCommit) LatestOwn(ctx context.Context) (*connector.SnapshotInfo, error) {
	own, err := k.TableCommit.LatestOwn(ctx)
	k.l.mu.Lock()
	defer k.l.mu.Unlock()
	if !k.l.hold && k.l.waiting != nil {
		k.l.waiting()
		k.l.waiting = nil
	}
	return own, err
}

// TestLateCommit: what an earlier process committed, and what is committed after
// the next one has read where the table stands, is there once: of rows that are
// followed, and of the first copy.
func TestLateCommit(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c")
	for _, copied := range []bool{true, false} {
		t.Run(fmt.Sprintf("copied=%v", copied), func(t *testing.T) {
			s := *srv
			s.t = t
			s.exec("CREATE OR REPLACE TABLE c.a (id INT, v INT); INSERT INTO c.a VALUES (1,1),(2,2)") // without a key: rows that come twice show
			l, k := newLake(t), &late{hold: !copied}
			o := l.options()
			o.OpenLake = func(context.Context, map[string]string) (*Lake, error) {
				return &Lake{Catalog: lateCatalog{l.catalog, k}, Files: l.files, Root: l.dir}, nil
			}
			r := start(t, o, s.yaml("c.a", ""))
			if copied {
				s.same(l, r, "c.a")
				k.mu.Lock()
				k.hold = true
				k.mu.Unlock()
				s.exec("INSERT INTO c.a VALUES (3,3)")
			}
			eventually(t, func() string {
				k.mu.Lock()
				defer k.mu.Unlock()
				if k.waiting == nil {
					return "nothing was committed"
				}
				return ""
			})
			end(t, r)
			k.mu.Lock()
			k.hold = false
			k.mu.Unlock()
			r = start(t, o, s.yaml("c.a", ""))
			s.exec("INSERT INTO c.a VALUES (4,4)")
			s.same(l, r, "c.a")
			if k.waiting != nil {
				t.Error("the late commit did not happen")
			}
		})
	}
}

// TestChangedWhileCopied: a table whose first copy was cut after the lake table
// was made is copied as the source's is now.
func TestChangedWhileCopied(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT, gone INT); INSERT INTO c.a VALUES (1,1,1)")
	for steps := range 2 { // after the table was made, after its rows were written
		l := newLake(t)
		c := &crash{}
		c.left.Store(int64(steps))
		c.applied.Store(true)
		o := l.options()
		o.OpenLake = func(context.Context, map[string]string) (*Lake, error) {
			return &Lake{Catalog: crashCatalog{l.catalog, c}, Files: l.files, Root: l.dir}, nil
		}
		r := start(t, o, srv.yaml("c.a", ""))
		eventually(t, func() string {
			if !c.dead.Load() {
				return "it lives"
			}
			return ""
		})
		end(t, r)
		// A start that comes to nothing forgets nothing.
		c = &crash{}
		c.left.Store(1)
		o.OpenLake = func(context.Context, map[string]string) (*Lake, error) {
			return &Lake{Catalog: crashCatalog{l.catalog, c}, Files: crashFiles{l.files, c}, Root: l.dir}, nil
		}
		r = start(t, o, srv.yaml("c.a", ""))
		eventually(t, func() string {
			if !c.dead.Load() {
				return "it lives"
			}
			return ""
		})
		end(t, r)
		srv.exec("ALTER TABLE c.a ADD COLUMN w VARCHAR(10), DROP COLUMN gone, DROP PRIMARY KEY, ADD PRIMARY KEY (id, v); INSERT INTO c.a VALUES (1,2,'new')")
		r = start(t, l.options(), srv.yaml("c.a", ""))
		eventually(t, func() string { // before that the lake table may be gone for a moment
			if x := r.table("c.a"); x.Phase != "stream" {
				return fmt.Sprintf("%+v", r.Status())
			}
			return ""
		})
		srv.same(l, r, "c.a")
		end(t, r)
		tb, err := l.catalog.Table(context.Background(), catalog.Identifier{Database: "c", Table: "a"})
		if err != nil || strings.Join(tb.Schema().PrimaryKeys, ",") != "id,v" {
			t.Errorf("%v %v", tb.Schema().PrimaryKeys, err)
		}
		srv.exec("CREATE OR REPLACE TABLE c.a (id INT PRIMARY KEY, v INT, gone INT); INSERT INTO c.a VALUES (1,1,1)")
	}
}
