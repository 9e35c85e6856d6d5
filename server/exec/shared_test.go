package exec_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan"
	"github.com/thermocline/thermocline/server/exec"
	"github.com/thermocline/thermocline/server/plan"
)

// sharedQueries read one part in several places, in all orders: as the side of a
// join that is read first and as the one that is read last, in subqueries that run
// before everything else, in steps of a recursion, in parts that are shared
// themselves.
var sharedQueries = []string{
	"WITH c AS (SELECT k, SUM(i) AS s FROM n GROUP BY k) SELECT k FROM c WHERE s = (SELECT MAX(s) FROM c)",
	"WITH c AS (SELECT k, SUM(i) AS s, COUNT(*) AS m FROM n GROUP BY k) SELECT a.k, b.s, c.m FROM c a JOIN c b ON a.k = b.k + 1 LEFT JOIN c ON c.k = b.k * 2 WHERE a.k > 10 AND b.k < 90",
	"WITH c AS (SELECT k, SUM(i) AS s FROM n GROUP BY k) SELECT a.s FROM c a WHERE EXISTS (SELECT 1 FROM c b WHERE b.s > a.s AND b.k = a.k - 1) AND a.k NOT IN (SELECT k + 50 FROM c)",
	"WITH c AS (SELECT DISTINCT k FROM n), d AS (SELECT k DIV 10 AS t, COUNT(*) AS m FROM c GROUP BY t) SELECT x.t, y.m, (SELECT COUNT(*) FROM c) FROM d x JOIN d y ON x.t = y.t + 1 JOIN c ON c.k = x.t",
	"WITH c AS (SELECT k, COUNT(*) AS m FROM n GROUP BY k) SELECT * FROM c WHERE k < 5 UNION ALL SELECT * FROM c WHERE k > 95 UNION ALL SELECT k, m FROM c WHERE k = 50 AND m > 1",
	"WITH c AS (SELECT 'a' AS t, k, COUNT(*) AS m FROM n GROUP BY k UNION ALL SELECT 'b', i, 1 FROM n WHERE i < 9) SELECT x.k, y.m FROM c x JOIN c y ON x.k = y.k WHERE x.t = 'a' AND y.t = 'b'",
	"WITH RECURSIVE c AS (SELECT k, COUNT(*) AS m FROM n GROUP BY k), r AS (SELECT 0 AS i, 0 AS s UNION ALL SELECT i + 1, s + m FROM r JOIN c ON c.k = r.i WHERE i < 40) SELECT * FROM r",
	"WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE x < 50) SELECT a.x, b.x FROM r a JOIN r b ON a.x = b.x * 2",
	"WITH c AS (SELECT i, s FROM n ORDER BY s LIMIT 30) SELECT a.i, b.s FROM c a JOIN c b ON a.i = b.i",
	"WITH c AS (SELECT i, k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY i) AS r FROM n) SELECT a.i, b.i FROM c a JOIN c b ON a.k = b.k AND a.r = b.r + 1 WHERE a.r = 3 AND b.r < 5",
	"SELECT k, COUNT(*) AS m FROM (SELECT k, i FROM n GROUP BY k, i) d GROUP BY k HAVING m >= (SELECT MAX(m) FROM (SELECT COUNT(*) AS m FROM (SELECT k, i FROM n GROUP BY k, i) e GROUP BY k) f)",
	"SELECT a.k, SUM(b.i) AS s FROM n a JOIN n b ON a.i = b.k GROUP BY a.k HAVING s > (SELECT SUM(b.i) / 90 FROM n a JOIN n b ON a.i = b.k)",
	"SELECT (SELECT COUNT(*) FROM (SELECT DISTINCT k FROM n) a), (SELECT MAX(k) FROM (SELECT DISTINCT k FROM n) b), (SELECT 7 FROM (SELECT DISTINCT k FROM n) c LIMIT 1)",
	"WITH c AS (SELECT k FROM n GROUP BY k) SELECT COUNT(*) FROM c a, c b WHERE a.k < 3",
	"WITH c AS (SELECT k FROM n WHERE i < 0 GROUP BY k) SELECT * FROM c UNION ALL SELECT * FROM c",
}

// Whether equal parts are shared changes no rows and no order, whatever the other
// settings.
func TestSharing(t *testing.T) {
	e := newEngine()
	numbers(t, e, 20000)
	e.spilling(t)
	for _, q := range sharedQueries {
		if plans := e.explain(t, q); !strings.Contains(plans, "run once, read") {
			t.Errorf("%s: nothing is shared:\n%s", q, plans)
		}
		e.separate, e.opts = true, scan.Options{Threads: 1}
		want, err := e.run(q)
		e.separate = false
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		for _, o := range []scan.Options{{Threads: 1}, {Threads: 3, BatchRows: 512}, {Threads: 2, BatchRows: 7, Memory: 2 << 20}, {Threads: 2, ForceSpill: true}} {
			e.opts = o
			got, err := e.run(q)
			if err != nil {
				t.Errorf("%s, %+v: %v", q, o, err)
			} else if !o.ForceSpill && o.Memory == 0 && text(got.rows) != text(want.rows) || sortedText(got.rows) != sortedText(want.rows) {
				t.Errorf("%s, %+v: %s", q, o, firstDifference(sortedText(got.rows), sortedText(want.rows)))
			}
			e.clean(t, q)
		}
	}
}

// A common table expression that would give other rows each time has one set of
// rows for all that read it.
func TestSharingVolatile(t *testing.T) {
	e := newEngine()
	numbers(t, e, 2000)
	for _, separate := range []bool{false, true} {
		e.separate = separate
		for q, want := range map[string]string{
			"WITH c AS (SELECT i, RAND() AS r FROM n) SELECT COUNT(*), SUM(a.r = b.r) FROM c a JOIN c b ON a.i = b.i":                                                                  "2000|2000\n",
			"WITH c AS (SELECT UUID() AS u) SELECT (SELECT u FROM c) = (SELECT u FROM c)":                                                                                              "1\n",
			"WITH c AS (SELECT (SELECT RAND()) AS r FROM n LIMIT 5) SELECT COUNT(DISTINCT r) FROM (SELECT r FROM c UNION ALL SELECT r FROM c) d":                                       "1\n",
			"WITH RECURSIVE c AS (SELECT RAND() AS r), s AS (SELECT 1 AS i, r FROM c UNION ALL SELECT i + 1, c.r FROM s JOIN c WHERE i < 9) SELECT COUNT(DISTINCT r), COUNT(*) FROM s": "1|9\n",
			// Subqueries that are written twice are two.
			"SELECT (SELECT UUID() FROM (SELECT DISTINCT k FROM n WHERE k = 1) a) = (SELECT UUID() FROM (SELECT DISTINCT k FROM n WHERE k = 1) b)": "0\n",
		} {
			a, err := e.run(q)
			if err != nil || text(a.rows) != want {
				t.Errorf("%s: %q, %v, want %q", q, text(a.rows), err, want)
			}
		}
	}
}

// run runs a query over b instead of the table n.
func (b *brokenTable) run(e *engine, q string, o scan.Options) (p *exec.Profile, pq *plan.Query, err error) {
	s, err := syntax.ParseOne(q, syntax.Options{})
	if err != nil {
		return nil, nil, err
	}
	ctx := context.Background()
	if pq, err = plan.Bind(ctx, s.Statement.(*syntax.Query), &plan.Env{Catalogs: brokenCatalog{e, b}, Expr: e.context()}); err != nil {
		return nil, nil, err
	}
	p, err = exec.Analyze(ctx, pq, exec.Env{Expr: e.context(), Options: o, Budget: memory.New("test", 0), Spill: e.scratch})
	return p, pq, err
}

// A shared part reads its tables once, and what it did is counted once; an error in
// it is the query's, whoever reads first.
func TestSharingRunsOnce(t *testing.T) {
	e := newEngine()
	numbers(t, e, 20000) // five splits: none breaks
	e.spilling(t)
	tab, err := e.cat.Table(context.Background(), catalog.Identifier{Database: "db", Table: "n"})
	if err != nil {
		t.Fatal(err)
	}
	q := "WITH c AS (SELECT k, SUM(i) AS s FROM n GROUP BY k) SELECT a.k FROM c a JOIN c b ON a.k = b.k WHERE a.s < (SELECT MAX(s) FROM c)"
	for _, o := range []scan.Options{{Threads: 1}, {Threads: 3}, {Threads: 2, ForceSpill: true}} {
		b := &brokenTable{Table: tab}
		p, pq, err := b.run(e, q, o)
		if err != nil {
			t.Fatal(err)
		}
		if opened, closed := b.opened.Load(), b.closed.Load(); opened != 5 || closed != 5 {
			t.Errorf("%d splits were opened, %d closed, want 5", opened, closed)
		}
		plans := strings.Join(plan.ExplainActual(pq, p.Of), "\n")
		if n := strings.Count(plans, "Scan "); n != 1 || !strings.Contains(plans, "rows=20000") || !strings.Contains(plans, "read in 3 places") || strings.Contains(plans, "runs=") {
			t.Errorf("%+v: not counted once:\n%s", o, plans)
		}
		if text, err := plan.ExplainJSON([]*plan.Query{pq}, p.Of); err != nil || strings.Count(text, `"operation": "Scan`) != 1 {
			t.Errorf("%v\n%s", err, text)
		}
	}
	more := newEngine()
	numbers(t, more, 60000)
	if tab, err = more.cat.Table(context.Background(), catalog.Identifier{Database: "db", Table: "n"}); err != nil {
		t.Fatal(err)
	}
	for _, panics := range []bool{false, true} {
		b := &brokenTable{Table: tab, panics: panics}
		if _, _, err := b.run(more, q, scan.Options{Threads: 3}); errs.ClassOf(err) != errs.Corruption && !panics || err == nil {
			t.Errorf("error %v", err)
		}
		if b.opened.Load() != b.closed.Load() {
			t.Errorf("%d splits were opened, %d closed", b.opened.Load(), b.closed.Load())
		}
	}
}

// Common table expressions that read each other twice do not multiply.
func TestSharingChain(t *testing.T) {
	e := newEngine()
	numbers(t, e, 100)
	for _, form := range []string{"SELECT a.k FROM c%d a JOIN c%d b ON a.k = b.k", "SELECT k FROM c%d UNION SELECT k FROM c%d"} {
		q := "WITH c0 AS (SELECT k FROM n GROUP BY k)"
		for i := range 20 {
			q += fmt.Sprintf(", c%d AS ("+form+")", i+1, i, i)
		}
		a, err := e.run(q + " SELECT COUNT(*) FROM c20")
		if err != nil || text(a.rows) != "100\n" {
			t.Errorf("%s: %q %v", form, text(a.rows), err)
		}
	}
}
