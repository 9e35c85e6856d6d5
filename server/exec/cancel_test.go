package exec_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/exec"
	"github.com/thermocline/thermocline/server/plan"
)

// These tests count what is still done after a statement was ended, in batches that
// are read or evaluated; benchmarks/cancel measures how long that takes.

// ending counts steps of a query, ends it at one of them, and counts those after it.
type ending struct {
	expr.Session
	at     int64
	steps  atomic.Int64
	ended  atomic.Bool // every context knows
	after  atomic.Int64
	cancel context.CancelCauseFunc
}

var errEnded = errors.New("ended by a test")

func (e *ending) step() {
	if e.ended.Load() {
		e.after.Add(1)
	}
	if e.steps.Add(1) == e.at {
		e.cancel(errEnded)
		e.ended.Store(true)
	}
}

// SetUserVariable implements expr.Session: @x := 1 is a step, once a batch.
func (e *ending) SetUserVariable(string, expr.Value) { e.step() }

// UserVariable implements expr.Session.
func (e *ending) UserVariable(string) expr.Value { return expr.NullValue() }

// SystemVariable implements expr.Session.
func (e *ending) SystemVariable(string, string) (expr.Value, error) {
	return expr.IntValue(1 << 40), nil
}

// countedTable makes every batch that is read a step.
type countedTable struct {
	catalog.Table
	e *ending
}

func (c *countedTable) Snapshot(ctx context.Context, ref catalog.Ref) (connector.Snapshot, error) {
	s, err := c.Table.(connector.Readable).Snapshot(ctx, ref)
	return countedSnapshot{s, c.e}, err
}

type countedSnapshot struct {
	connector.Snapshot
	e *ending
}

func (s countedSnapshot) Plan(ctx context.Context, req connector.ScanRequest) (*connector.Plan, error) {
	p, err := s.Snapshot.Plan(ctx, req)
	if err != nil {
		return nil, err
	}
	for i := range p.Splits {
		p.Splits[i] = countedSplit{p.Splits[i], s.e}
	}
	return p, nil
}

type countedSplit struct {
	connector.Split
	e *ending
}

func (s countedSplit) Open(ctx context.Context) (connector.BatchReader, error) {
	r, err := s.Split.Open(ctx)
	return countedReader{r, s.e}, err
}

type countedReader struct {
	connector.BatchReader
	e *ending
}

func (r countedReader) Next(ctx context.Context) (*vector.Batch, error) {
	r.e.step()
	return r.BatchReader.Next(ctx)
}

type countedCatalog struct {
	*engine
	t *countedTable
}

func (c countedCatalog) Temporary(_, table string) (catalog.Table, bool) { return c.t, table == "n" }

// end runs a query until it ends itself at a step.
func (e *engine) end(t *testing.T, q string, at int64, reading bool, o scan.Options) *ending {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	x := &ending{at: at, cancel: cancel}
	var catalogs plan.Catalogs = e
	if reading {
		tab, err := e.cat.Table(ctx, catalog.Identifier{Database: "db", Table: "n"})
		if err != nil {
			t.Fatal(err)
		}
		catalogs = countedCatalog{e, &countedTable{tab, x}}
	}
	ec := e.context()
	ec.Session, ec.Done = x, ctx.Done()
	s, err := syntax.ParseOne(q, syntax.Options{})
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	pq, err := plan.Bind(ctx, s.Statement.(*syntax.Query), &plan.Env{Catalogs: catalogs, Expr: ec})
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	budget := memory.New("test", 0)
	r, err := exec.Run(ctx, pq, exec.Env{Expr: ec, Options: o, Budget: budget, Spill: e.scratch})
	for err == nil {
		var b *vector.Batch
		if b, err = r.Next(ctx); b == nil && err == nil {
			t.Fatalf("%s: it came to its end after %d steps", q, x.steps.Load())
		}
	}
	if r != nil {
		if err := r.Close(); err != nil {
			t.Errorf("%s: %v", q, err)
		}
	}
	if !errors.Is(err, errEnded) && !errors.Is(err, context.Canceled) && !errs.Is(err, errs.Killed) {
		t.Errorf("%s: %v", q, err)
	}
	if used := budget.Used(); used != 0 {
		t.Errorf("%s: %d bytes are still reserved", q, used)
	}
	return x
}

// Once a statement is ended, each of its workers ends the batch that it has, and no
// other.
func TestCancelCountsBatches(t *testing.T) {
	e := newEngine()
	numbers(t, e, 60000)
	e.spilling(t)
	for _, c := range []struct {
		q       string
		at      int64 // the step, of those of one worker
		reading bool
	}{
		{"SELECT i, s FROM n", 5, true},
		{"SELECT COUNT(*) FROM n WHERE s LIKE '%zzz%'", 9, true},
		{"SELECT i, COUNT(*), MAX(s) FROM n GROUP BY i", 11, true},
		{"SELECT * FROM n ORDER BY s", 12, true},
		{"SELECT DISTINCT s FROM n", 7, true},
		{"SELECT COUNT(*) FROM n a JOIN n b ON a.i = b.i", 5, true},  // the build side
		{"SELECT COUNT(*) FROM n a JOIN n b ON a.i = b.i", 20, true}, // the other one
		{"SELECT COUNT(*) FROM n a, n b WHERE a.i + b.i < 0 AND a.s <> b.s", 18, true},
		{"SELECT SUM(i) OVER (ORDER BY i) FROM n", 6, true},
		{"SELECT GROUP_CONCAT(s ORDER BY i) FROM n", 8, true},
		{"WITH c AS (SELECT k, COUNT(*) AS m FROM n GROUP BY k) SELECT * FROM c a JOIN c b ON a.k = b.m", 8, true},
		{"SELECT s FROM n EXCEPT SELECT s FROM n WHERE i > 5", 16, true},
		// what is evaluated
		{"SELECT COUNT(*) FROM n a, n b WHERE (@x := 1) = 2", 40, false},
		{"SELECT COUNT(*) FROM n a JOIN n b ON a.k = b.k AND a.i <> b.i AND (@x := 1) = 2", 5, false},
		{"SELECT s FROM n a WHERE EXISTS (SELECT 1 FROM n b WHERE a.k = b.k AND a.s < b.s AND (@x := 1) = 2)", 30, false},
		{"SELECT s, (@x := 1) FROM (SELECT s FROM n ORDER BY s LIMIT 50000) d", 6, false},
		{"SELECT s, i FROM n ORDER BY s, (@x := 1) + i", 6, false},
		{"SELECT SUM((@x := 1) + i) OVER (ORDER BY k), i FROM n", 6, false},
		{"SELECT SUM(i + m) FROM (SELECT i, (@x := 1) + SUM(i) OVER (ORDER BY i ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING) AS m FROM n) d", 4, false},
		{"WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE (@x := 1) = 1 AND x < 1000000) SELECT COUNT(*) FROM r", 500, false},
		{"WITH RECURSIVE r AS (SELECT i AS x FROM n WHERE i < 9 UNION SELECT x + (@x := 1) FROM r WHERE x < 1000000) SELECT COUNT(*) FROM r", 300, false},
		{"SELECT GROUP_CONCAT(s, (@x := 1)) FROM n GROUP BY i", 9, false},
		{"SELECT COUNT(DISTINCT CONCAT(s, (@x := 1))) FROM n", 9, false},
		{"SELECT JSON_ARRAYAGG(JSON_OBJECT('k', i, 'x', (@x := 1))) FROM n", 9, false},
		{"SELECT COUNT(*) FROM n WHERE REGEXP_LIKE(CONCAT(s, (@x := 1)), '(a|b|the)*[0-9]+zz$')", 5, false},
		{"SELECT i FROM n UNION ALL SELECT i + (@x := 1) FROM n", 4, false},
	} {
		for _, o := range []scan.Options{{Threads: 1}, {Threads: 3}, {Threads: 2, BatchRows: 512}, {Threads: 2, ForceSpill: true}} {
			x := e.end(t, c.q, c.at, c.reading, o)
			// A worker may have begun its next batch when the context ends.
			if after := x.after.Load(); after > 2*int64(o.Threads) {
				t.Errorf("%s, %+v: %d steps after it was ended", c.q, o, after)
			}
			if bytes, files := e.scratch.Used(); bytes != 0 || files != 0 {
				t.Errorf("%s: %d bytes in %d files are left", c.q, bytes, files)
			}
		}
	}
}
