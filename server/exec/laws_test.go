package exec_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan"
	"github.com/thermocline/thermocline/server/exec"
	"github.com/thermocline/thermocline/server/plan"
)

// numbers makes a table n of the integers below rows, k = i % 100, in several
// splits.
func numbers(t testing.TB, e *engine, rows int) {
	e.must(t, "CREATE TABLE n (i INT, k INT, s VARCHAR(20)) ")
	ctx := context.Background()
	tab, err := e.cat.Table(ctx, catalog.Identifier{Database: "db", Table: "n"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := tab.(connector.Writable).NewWrite(ctx, connector.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	b := vector.NewBatch([]vector.Kind{vector.I32, vector.I32, vector.Str}, rows)
	for i := range rows {
		b.Cols[0].AppendI32(int32(i))
		b.Cols[1].AppendI32(int32(i % 100))
		b.Cols[2].AppendString(fmt.Sprintf("the string %d", i))
		if b.Len++; b.Len == 5000 {
			if err := w.Write(ctx, b); err != nil {
				t.Fatal(err)
			}
			b.Reset()
		}
	}
	if err := w.Write(ctx, b); err != nil {
		t.Fatal(err)
	}
	m, err := w.PrepareCommit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tab.(connector.Writable).NewCommit(ctx, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(ctx, &connector.Committable{Messages: m}); err != nil {
		t.Fatal(err)
	}
}

func (e *engine) plan(t testing.TB, q string) *plan.Query {
	t.Helper()
	p, err := syntax.ParseOne(q, syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := plan.Bind(context.Background(), p.Statement.(*syntax.Query), &plan.Env{Catalogs: e, Expr: e.context()})
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return out
}

// A query over its limit ends with an error that names the limit, and gives
// everything back.
func TestMemoryLimit(t *testing.T) {
	e := newEngine()
	numbers(t, e, 50000)
	for _, q := range []string{
		"SELECT i, COUNT(*) FROM n GROUP BY i",
		"SELECT * FROM n ORDER BY s",
		"SELECT DISTINCT s FROM n",
		"SELECT a.i FROM n a JOIN n b ON a.i = b.i",
		"SELECT i FROM n EXCEPT SELECT k FROM n WHERE k < 5",
		"SELECT a.i FROM n a WHERE a.i NOT IN (SELECT i FROM n)",
		"SELECT COUNT(DISTINCT s) FROM n",
		"SELECT JSON_ARRAYAGG(s) FROM n",
	} {
		for _, threads := range []int{1, 4} {
			e.opts = scan.Options{Threads: threads, Memory: 256 << 10}
			_, err := e.run(q)
			if !errs.Is(err, errs.MemoryLimit) || !strings.Contains(err.Error(), "256KiB") {
				t.Errorf("%s: error %v, want one that names the limit", q, err)
			}
			if used := e.budget.Used(); used != 0 {
				t.Errorf("%s: %d bytes are still reserved", q, used)
			}
		}
	}
	e.opts = scan.Options{Memory: 256 << 10}
	if a, err := e.run("SELECT COUNT(*), SUM(i) FROM n WHERE k < 10"); err != nil || text(a.rows) != "5000|124772500\n" {
		t.Errorf("after that: %v %v", text(a.rows), err)
	}
	if a, err := e.run("SELECT LENGTH(GROUP_CONCAT(s)), LEFT(GROUP_CONCAT(DISTINCT s ORDER BY s DESC), 16) FROM n"); err != nil || text(a.rows) != "1024|the string 9999,\n" {
		t.Errorf("GROUP_CONCAT needs what it gives: %v %v", text(a.rows), err)
	}
	if a, err := e.run("SELECT i FROM n ORDER BY i DESC LIMIT 3"); err != nil || text(a.rows) != "49999\n49998\n49997\n" {
		t.Errorf("a bounded sort needs no memory: %v %v", text(a.rows), err)
	}
}

// Closing early, at any point, ends all work.
func TestCloseEarly(t *testing.T) {
	e := newEngine()
	numbers(t, e, 60000)
	for _, q := range []string{
		"SELECT * FROM n", "SELECT a.i FROM n a JOIN n b ON a.k = b.k", "SELECT * FROM n LIMIT 10", "SELECT i FROM n UNION ALL SELECT k FROM n",
	} {
		for _, threads := range []int{1, 3} {
			for _, batches := range []int{0, 1, 3} {
				ctx := context.Background()
				r, err := exec.Run(ctx, e.plan(t, q), exec.Env{Expr: e.context(), Options: scan.Options{Threads: threads, BatchRows: 512}, Budget: e.budget})
				if err != nil {
					t.Fatal(err)
				}
				for range batches {
					if _, err := r.Next(ctx); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					if err := r.Close(); err != nil {
						t.Fatal(err)
					}
				}
				if b, err := r.Next(ctx); b != nil || err != nil {
					t.Fatalf("a closed reader gave %v, %v", b, err)
				}
				if used := e.budget.Used(); used != 0 {
					t.Errorf("%s: %d bytes are still reserved", q, used)
				}
			}
		}
	}
}

// A cancelled statement ends with the cause of the cancellation.
func TestCancel(t *testing.T) {
	e := newEngine()
	numbers(t, e, 60000)
	killed := errors.New("killed by a test")
	for _, q := range []string{"SELECT * FROM n a, n b", "SELECT COUNT(*) FROM n a, n b", "SELECT a.i FROM n a, n b ORDER BY b.i"} {
		for _, threads := range []int{1, 3} {
			ctx, cancel := context.WithCancelCause(context.Background())
			done := make(chan error, 1)
			started := make(chan bool)
			go func() {
				close(started)
				r, err := exec.Run(ctx, e.plan(t, q), exec.Env{Expr: e.context(), Options: scan.Options{Threads: threads}, Budget: e.budget})
				for err == nil {
					var b *vector.Batch
					if b, err = r.Next(ctx); b == nil && err == nil {
						err = errors.New("it came to an end")
					}
				}
				if r != nil {
					_ = r.Close()
				}
				done <- err
			}()
			<-started
			cancel(killed)
			if err := <-done; !errors.Is(err, killed) && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", q, err)
			}
			if used := e.budget.Used(); used != 0 {
				t.Errorf("%s: %d bytes are still reserved", q, used)
			}
		}
	}
}

// brokenTable fails or panics after some batches.
type brokenTable struct {
	catalog.Table
	panics bool
	opened atomic.Int64
	closed atomic.Int64
}

func (b *brokenTable) Snapshot(ctx context.Context, ref catalog.Ref) (connector.Snapshot, error) {
	s, err := b.Table.(connector.Readable).Snapshot(ctx, ref)
	return brokenSnapshot{s, b}, err
}

type brokenSnapshot struct {
	connector.Snapshot
	b *brokenTable
}

func (s brokenSnapshot) Plan(ctx context.Context, req connector.ScanRequest) (*connector.Plan, error) {
	p, err := s.Snapshot.Plan(ctx, req)
	if err != nil {
		return nil, err
	}
	for i := range p.Splits {
		p.Splits[i] = brokenSplit{p.Splits[i], s.b, i}
	}
	return p, nil
}

type brokenSplit struct {
	connector.Split
	b *brokenTable
	i int
}

func (s brokenSplit) Open(ctx context.Context) (connector.BatchReader, error) {
	r, err := s.Split.Open(ctx)
	s.b.opened.Add(1)
	return &brokenReader{r, s, false}, err
}

type brokenReader struct {
	connector.BatchReader
	s      brokenSplit
	closed bool
}

func (r *brokenReader) Next(ctx context.Context) (*vector.Batch, error) {
	if r.s.i == 5 {
		if r.s.b.panics {
			panic("a reader panicked")
		}
		return nil, errs.Corruptf("read file 5: broken")
	}
	return r.BatchReader.Next(ctx)
}

func (r *brokenReader) Close() error {
	if !r.closed {
		r.closed = true
		r.s.b.closed.Add(1)
	}
	return r.BatchReader.Close()
}

type brokenCatalog struct {
	*engine
	b *brokenTable
}

func (c brokenCatalog) Temporary(_, table string) (catalog.Table, bool) { return c.b, table == "n" }

// Errors and panics of a reader end the statement with an error, and every
// reader is closed.
func TestBrokenReaders(t *testing.T) {
	e := newEngine()
	numbers(t, e, 60000)
	tab, err := e.cat.Table(context.Background(), catalog.Identifier{Database: "db", Table: "n"})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"SELECT * FROM n", "SELECT k, SUM(i) FROM n GROUP BY k", "SELECT * FROM n ORDER BY i", "SELECT 1 FROM n a JOIN n b ON a.i = b.i"} {
		for _, threads := range []int{1, 3} {
			for _, panics := range []bool{false, true} {
				b := &brokenTable{Table: tab, panics: panics}
				c := brokenCatalog{e, b}
				p, err := syntax.ParseOne(q, syntax.Options{})
				if err != nil {
					t.Fatal(err)
				}
				ctx := context.Background()
				pq, err := plan.Bind(ctx, p.Statement.(*syntax.Query), &plan.Env{Catalogs: c, Expr: e.context()})
				if err != nil {
					t.Fatal(err)
				}
				r, err := exec.Run(ctx, pq, exec.Env{Expr: e.context(), Options: scan.Options{Threads: threads}, Budget: memory.New("test", 0)})
				for err == nil {
					var b *vector.Batch
					if b, err = r.Next(ctx); b == nil && err == nil {
						t.Fatalf("%s: no error", q)
					}
				}
				if r != nil {
					_ = r.Close()
				}
				want := errs.Corruption
				if panics {
					want = errs.Internal
				}
				if errs.ClassOf(err) != want {
					t.Errorf("%s, %d threads: %v", q, threads, err)
				}
				if b.opened.Load() != b.closed.Load() {
					t.Errorf("%s, %d threads, panics %v: %d readers opened, %d closed", q, threads, panics, b.opened.Load(), b.closed.Load())
				}
			}
		}
	}
}

// Conditions that no row of a batch satisfies, in all places where they narrow a
// batch before something else does.
func TestNothingPasses(t *testing.T) {
	e := semanticsEngine(t)
	for q, want := range map[string]string{
		"SELECT CASE WHEN (x.id IN (1, 2) AND (SELECT 1)) THEN 1 ELSE 0 END FROM emp x RIGHT JOIN pair p ON x.id = p.b + 100 LIMIT 2": "0\n0\n",
		"SELECT COUNT(*) FROM emp x RIGHT JOIN pair p ON x.id = p.b + 100 WHERE (x.id = 1 AND (SELECT 1)) OR FALSE":                   "0\n",
		"SELECT COUNT(*) FROM pair p WHERE EXISTS (SELECT 1 FROM emp x WHERE x.id = p.b + 100)":                                       "0\n",
		"SELECT COUNT(*) FROM pair p WHERE NOT EXISTS (SELECT 1 FROM pair x WHERE x.a <=> p.a)":                                       "0\n",
		"SELECT COUNT(*) FROM pair p, pair q WHERE p.a = q.a AND p.b > q.b + 100":                                                     "0\n",
	} {
		if a, err := e.agree(t, q); err != nil || text(a.rows) != want {
			t.Errorf("%s: %q %v, want %q", q, text(a.rows), err, want)
		}
	}
}
