package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan"
	"github.com/thermocline/thermocline/server/exec"
)

// spillQueries need more than the memory that TestSpill gives, each in another
// operator. Those with an ORDER BY that leaves no ties keep their order.
var spillQueries = []string{
	// aggregation
	"SELECT i, COUNT(*), SUM(k), AVG(i / 3), MIN(s), MAX(k), VARIANCE(i), BIT_XOR(i), ANY_VALUE(s) FROM n GROUP BY i",
	"SELECT k, COUNT(DISTINCT s), COUNT(DISTINCT i, k), SUM(DISTINCT i), COUNT(*) FROM n GROUP BY k",
	"SELECT COUNT(DISTINCT s), SUM(DISTINCT i + 0.5), COUNT(*), MIN(s) FROM n",
	"SELECT i % 5000 AS g, GROUP_CONCAT(s ORDER BY i DESC SEPARATOR ';'), GROUP_CONCAT(DISTINCT k), JSON_ARRAYAGG(i) FROM n GROUP BY g",
	"SELECT JSON_OBJECTAGG(s, i * 1.5), i % 3000 AS g FROM n GROUP BY g",
	"SELECT i % 5000 AS g, SUM(k) FILTER (WHERE i > 4000), GROUP_CONCAT(DISTINCT s) FILTER (WHERE k < 90), APPROX_COUNT_DISTINCT(s), JSON_OBJECTAGG(k, s) FROM n GROUP BY g",
	// large groups
	"SELECT GROUP_CONCAT(DISTINCT s ORDER BY k DESC), GROUP_CONCAT(DISTINCT k ORDER BY i DESC), GROUP_CONCAT(DISTINCT s) FROM n",
	"SELECT k DIV 34, GROUP_CONCAT(DISTINCT s ORDER BY k), COUNT(DISTINCT i) FILTER (WHERE k < 90), SUM(i) FROM n GROUP BY k DIV 34",
	"SELECT LEFT(s, 16) COLLATE utf8mb4_0900_ai_ci AS g, COUNT(*), MAX(s) FROM n GROUP BY g",
	"SELECT DISTINCT s, k FROM n",
	"SELECT s, i FROM n UNION SELECT s, k FROM n",
	// set operations
	"SELECT s, k FROM n INTERSECT SELECT s, k FROM n WHERE k < 90",
	"SELECT i, k FROM n EXCEPT SELECT i, k FROM n WHERE k = 5",
	"(SELECT s, k FROM n UNION ALL SELECT s, k FROM n) EXCEPT ALL SELECT s, k FROM n WHERE k > 50",
	// joins
	"SELECT a.s, b.i, b.k, b.s FROM n a JOIN n b ON a.i = b.i",
	"SELECT a.s, b.s FROM n a LEFT JOIN n b ON a.i = b.i + 5000",
	"SELECT a.s, b.s FROM n a RIGHT JOIN n b ON a.i = b.i * 2 AND a.k > 40",
	"SELECT a.s, b.s FROM n a FULL JOIN n b ON a.i = b.i + 2500 AND b.k < 60",
	"SELECT s FROM n a WHERE EXISTS (SELECT 1 FROM n b WHERE b.i = a.i * 2 AND b.s <> a.s)",
	"SELECT s FROM n a WHERE NOT EXISTS (SELECT 1 FROM n b WHERE b.i = a.i * 2 AND b.s <> a.s)",
	"SELECT s FROM n a WHERE i NOT IN (SELECT b.i * 3 FROM n b WHERE b.k <> 7)",
	"SELECT s, i IN (SELECT b.i * 2 FROM n b), i IN (SELECT NULLIF(b.i * 2, 40) FROM n b) FROM n",
	"SELECT s, (SELECT b.s FROM n b WHERE b.i = n.i + 7) FROM n",
	// joins with one key for all rows, and without any
	"SELECT a.i, b.i, b.s FROM (SELECT * FROM n WHERE i < 30) a FULL JOIN n b ON a.k DIV 100 = b.k DIV 100 AND a.i > b.i - 40 AND a.s <> b.s",
	"SELECT i FROM n a WHERE i < 30 AND NOT EXISTS (SELECT 1 FROM n b WHERE a.k DIV 100 = b.k DIV 100 AND a.i + b.i = 5020)",
	"SELECT a.i, b.s FROM (SELECT * FROM n WHERE i < 30) a LEFT JOIN n b ON a.i > b.i - 3 AND a.s <> b.s",
	// sorting
	"SELECT s, k, i FROM n ORDER BY 1 DESC",
	"SELECT k, s FROM n ORDER BY 1", // rows with equal keys keep their order
	"SELECT s, i FROM n ORDER BY 1 LIMIT 8000 OFFSET 200",
	// windows of one partition, whose functions look back only
	"SELECT i, ROW_NUMBER() OVER w, RANK() OVER w, DENSE_RANK() OVER w, SUM(i) OVER w, COUNT(*) OVER (ORDER BY k, s ROWS UNBOUNDED PRECEDING) FROM n WINDOW w AS (ORDER BY k)",
	"SELECT s, MAX(i) OVER (PARTITION BY k DIV 60 ORDER BY i), ROW_NUMBER() OVER (PARTITION BY k DIV 60 ORDER BY i) FROM n",
	// windows whose partitions are read twice
	"SELECT s, i, SUM(i) OVER (), COUNT(*) OVER (), MAX(s) OVER () FROM n",
	"SELECT s, i, AVG(i) OVER (PARTITION BY k DIV 40), ROW_NUMBER() OVER (PARTITION BY k DIV 40), COUNT(NULLIF(k, 7)) OVER (PARTITION BY k DIV 40) FROM n",
	"SELECT s, i, SUM(i) OVER w - SUM(i) OVER (PARTITION BY i > 70 ORDER BY s ROWS UNBOUNDED PRECEDING), MIN(s) OVER w, ROW_NUMBER() OVER w FROM n WINDOW w AS (PARTITION BY i > 70 ORDER BY s RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
	// windows whose functions look at rows far away in one large partition
	"SELECT i, LAG(s, 3) OVER w, LEAD(s, 3000, 'end') OVER w, NTILE(9) OVER w, CUME_DIST() OVER w, PERCENT_RANK() OVER w, NTH_VALUE(s, 5000) OVER w, LAST_VALUE(s) OVER (PARTITION BY i > 9990 ORDER BY s) FROM n WINDOW w AS (ORDER BY k, s)",
	"SELECT s, SUM(i) OVER (ORDER BY k ROWS BETWEEN 5 PRECEDING AND 5 FOLLOWING), MAX(s) OVER (ORDER BY k, i DESC ROWS BETWEEN 20 FOLLOWING AND 30 FOLLOWING), COUNT(s) OVER (ORDER BY k RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM n",
	// recursion
	"WITH RECURSIVE r AS (SELECT i, s FROM n WHERE i % 4 = 0 UNION SELECT i DIV 4 * 4 + (i + 1) % 4, CONCAT('the string ', i DIV 4 * 4 + (i + 1) % 4) FROM r) SELECT * FROM r",
	"WITH RECURSIVE r AS (SELECT i, s FROM n WHERE i % 4 = 0 UNION ALL SELECT i + 1, s FROM r WHERE i % 4 < 2) SELECT * FROM r",
	// rows that are kept to be read in several places
	"WITH c AS (SELECT s, i, COUNT(*) AS n FROM n GROUP BY s, i) SELECT a.s, b.i, b.n FROM c a JOIN c b ON a.i = b.i + 1",
	"WITH c AS (SELECT DISTINCT s, k FROM n) SELECT * FROM c UNION ALL SELECT s, k FROM c WHERE k < (SELECT AVG(k) FROM c)",
	// windows
	"SELECT i, ROW_NUMBER() OVER w, SUM(i) OVER w, LAG(s) OVER w, COUNT(*) OVER (PARTITION BY k) FROM n WINDOW w AS (PARTITION BY i % 1000 ORDER BY s)",
	"SELECT s, RANK() OVER (PARTITION BY LEFT(s, 14) ORDER BY k DESC), FIRST_VALUE(i) OVER (PARTITION BY LEFT(s, 14) ORDER BY i ROWS 2 PRECEDING) FROM n",
}

// spilling makes e write rows, and returns how many writes there were.
func (e *engine) spilling(t testing.TB) *atomic.Int64 {
	writes := &atomic.Int64{}
	e.scratch = fileio.NewScratch(t.TempDir(), 0)
	e.scratch.SetFault(func(verb string) error {
		if verb == "write" {
			writes.Add(1)
		}
		return nil
	})
	return writes
}

// clean fails when a query left something.
func (e *engine) clean(t testing.TB, q string) {
	t.Helper()
	if used := e.budget.Used(); used != 0 {
		t.Errorf("%s: %d bytes are still reserved", q, used)
	}
	if bytes, files := e.scratch.Used(); bytes != 0 || files != 0 {
		t.Errorf("%s: %d bytes in %d files are left", q, bytes, files)
	}
}

// sortedText prints rows in an order of their own.
func sortedText(rows [][]*string) string {
	lines := strings.SplitAfter(text(rows), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// With a fraction of the memory they need, queries answer the same by spilling,
// whatever the threads and batches; without spilling they name the limit.
func TestSpill(t *testing.T) {
	e := newEngine()
	numbers(t, e, 10000)
	writes := e.spilling(t)
	options := []scan.Options{{Threads: 1, BatchRows: 4096}, {Threads: 5, BatchRows: 1024}, {Threads: 2, BatchRows: 7}}
	for i, q := range spillQueries {
		e.opts = scan.Options{Threads: 2}
		all, err := e.run(q)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		want, n := sortedText(all.rows), 0
		start := time.Now()
		for _, o := range []scan.Options{options[i%3], options[(i+1)%3]} {
			o.Memory = 512 << 10
			e.opts = o
			before := writes.Load()
			got, err := e.run(q)
			if err != nil {
				t.Errorf("%s, %+v: %v", q, o, err)
				continue
			}
			n += int(writes.Load() - before)
			if lines := sortedText(got.rows); lines != want {
				t.Errorf("%s, %+v: %s", q, o, firstDifference(lines, want))
			}
			if strings.Contains(q, "ORDER BY 1") && text(got.rows) != text(all.rows) {
				t.Errorf("%s, %+v: the order differs", q, o)
			}
			e.clean(t, q)
		}
		if n == 0 {
			t.Errorf("%s: nothing was spilled", q)
		}
		t.Logf("%v %d rows, %d writes: %s", time.Since(start).Round(time.Millisecond), len(all.rows), n, q)
		e.opts = scan.Options{Threads: 2, Memory: 96 << 10, NoSpill: true}
		if _, err := e.run(q); !errs.Is(err, errs.MemoryLimit) || !strings.Contains(err.Error(), "96KiB") || !strings.Contains(err.Error(), "spilling is off") {
			t.Errorf("%s without spilling: %v", q, err)
		}
		e.clean(t, q)
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("%d lines of %d; %.200q, want %.200q", len(g), len(w), g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines of %d", len(g), len(w))
}

// Wherever a spilling query is cancelled, or its disk fails, it ends soon with that
// reason and leaves nothing: no memory, no file, no goroutine (TestMain).
func TestSpillEnds(t *testing.T) {
	e := newEngine()
	numbers(t, e, 4000)
	r := rand.New(rand.NewPCG(7, 8))
	reason := errors.New("a reason")
	e.scratch = fileio.NewScratch(t.TempDir(), 0)
	for i, q := range spillQueries {
		e.opts = scan.Options{Threads: 1 + i%3, BatchRows: 500, Memory: 256 << 10}
		var ops, after atomic.Int64
		var ended atomic.Bool // all contexts know
		at := int64(1) << 60
		var act func() error
		e.scratch.SetFault(func(string) error {
			n := ops.Add(1)
			if ended.Load() {
				after.Add(1)
			}
			if n == at {
				return act()
			}
			return nil
		})
		if _, err := e.run(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		total := ops.Load()
		for _, cancels := range []bool{false, true} {
			ctx, cancel := context.WithCancelCause(context.Background())
			ops.Store(0)
			after.Store(0)
			ended.Store(false)
			at = 1 + r.Int64N(max(total*3/4, 1))
			act = func() error { return reason }
			if cancels {
				act = func() error { cancel(reason); ended.Store(true); return nil }
			}
			reader, err := exec.Run(ctx, e.plan(t, q), exec.Env{Expr: e.context(), Options: e.opts, Budget: e.budget, Spill: e.scratch})
			for err == nil {
				var b *vector.Batch
				if b, err = reader.Next(ctx); b == nil && err == nil {
					break
				}
			}
			if reader != nil {
				_ = reader.Close()
			}
			cancel(nil)
			if total > 0 && ops.Load() >= at && !errors.Is(err, reason) && !errors.Is(err, context.Canceled) {
				t.Errorf("%s, operation %d of %d, cancelled %v: %v", q, at, total, cancels, err)
			}
			// Each worker may be in the middle of one operation; a failure is given when its
			// rows would have been.
			if n := after.Load(); cancels && n > int64(2*e.opts.Threads+1) {
				t.Errorf("%s, operation %d of %d, cancelled %v: %d operations after that", q, at, total, cancels, n)
			}
			e.clean(t, q)
		}
	}
}
