package exec_test

import (
	"testing"

	"github.com/thermocline/thermocline/scan"
	"github.com/thermocline/thermocline/server/exec"
)

// Groups in partitions are the same, in the same order, as in one table, whatever the
// threads and batches, rows that stay rows included; sums of DOUBLE do not depend on
// threads and batches.
func TestPartitions(t *testing.T) {
	e := newEngine()
	numbers(t, e, 20000)
	for _, q := range []string{
		"SELECT i, COUNT(*), SUM(k) FROM n GROUP BY i",
		"SELECT i % 1000 m, COUNT(*), MIN(s), MAX(i), AVG(k) FROM n GROUP BY m",
		"SELECT DISTINCT i DIV 7 FROM n",
		"SELECT NULLIF(i % 501, 3) m, s LIKE '%7%' l, COUNT(NULLIF(k, 5)), MIN(NULLIF(k, 5)), ANY_VALUE(k), BIT_XOR(i) FROM n GROUP BY m, l",
		"SELECT CONCAT(IF(i < 9000, i DIV 50, i), ' of some length') m, COUNT(*), MAX(CONCAT(s, k)) FROM n GROUP BY m",
		"SELECT i DIV 3 m, STDDEV(i), MAX(JSON_OBJECT('k', k)), SUM(CAST(i AS DECIMAL(30,3))) FROM n GROUP BY m",
		"SELECT (i * 7919) % 5003 m, COUNT(*) c FROM n WHERE k <> 3 GROUP BY m ORDER BY c DESC, m LIMIT 7",
		"SELECT i m, COUNT(*) c, MAX(s) FROM n GROUP BY m ORDER BY c DESC LIMIT 7",
		"SELECT i DIV IF(i > 15000, 3, 2) m, COUNT(*) c, MIN(s), SUM(k) t FROM n GROUP BY m HAVING t > 90 ORDER BY c DESC LIMIT 7 OFFSET 3",
		"SELECT i DIV 4 m, MIN(NULLIF(i % 7, 3)) c, MIN(s) s FROM n WHERE i % 5 > 2 GROUP BY m ORDER BY c, s LIMIT 1500",
		"SELECT NULLIF(i DIV 2, 77) m, MAX(s) FROM n GROUP BY m ORDER BY m DESC LIMIT 9",
		"SELECT i, i - 7, MAX(s) FROM n GROUP BY i - 7, i * 2, i, k, 1 - k HAVING i - 7 > 100 ORDER BY i LIMIT 9",
		"SELECT m, m + 1, COUNT(DISTINCT k), SUM(DISTINCT k) FROM (SELECT NULLIF(i DIV 2, 77) m, k FROM n) d GROUP BY m, m + 1",
		"SELECT COUNT(DISTINCT i % 7000, NULLIF(k, 3)) FROM n",
		"SELECT k, COUNT(DISTINCT s) c FROM n WHERE i % 3 <> k % 3 GROUP BY k ORDER BY c DESC LIMIT 5",
		"SELECT a.i DIV 2 m, COUNT(b.k), MAX(b.s) FROM n a LEFT JOIN n b ON a.i = b.i + 5 GROUP BY m",
		"SELECT IF(i < 8000, 1, i) m, CAST(NULL AS SIGNED) z, COUNT(DISTINCT k) FROM n GROUP BY m, z",
	} {
		e.opts = scan.Options{Threads: 1}
		want, err := e.run(q)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		before := exec.Partitions()
		undo := exec.SmallPartitions()
		for _, o := range []scan.Options{{Threads: 1}, {Threads: 3, BatchRows: 100}, {Threads: 2, BatchRows: 7}, {Threads: 5, BatchRows: 5000}} {
			e.opts = o
			got, err := e.run(q)
			if err != nil || text(got.rows) != text(want.rows) {
				t.Errorf("%s, %+v: %v %s", q, o, err, firstDifference(text(got.rows), text(want.rows)))
			}
			e.clean(t, q)
		}
		undo()
		if before == exec.Partitions() && q[len(q)-1] != 'z' {
			t.Errorf("%s: nothing was put in partitions", q)
		}
	}

	defer exec.SmallPartitions()()
	q := "SELECT i % 3000 m, SUM(SQRT(i)), AVG(1 / (k + 1e0)), VARIANCE(i * 0.1e0) FROM n GROUP BY m"
	e.opts = scan.Options{Threads: 1}
	want, err := e.run(q)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []scan.Options{{Threads: 3, BatchRows: 100}, {Threads: 2, BatchRows: 7}, {Threads: 5, BatchRows: 5000}} {
		e.opts = o
		if got, err := e.run(q); err != nil || text(got.rows) != text(want.rows) {
			t.Errorf("%s, %+v: %v %s", q, o, err, firstDifference(text(got.rows), text(want.rows)))
		}
	}
}

// Groups in partitions that do not fit are spilled.
func TestPartitionsSpill(t *testing.T) {
	defer exec.SmallPartitions()()
	e := newEngine()
	numbers(t, e, 10000)
	writes := e.spilling(t)
	for _, q := range []string{
		"SELECT i, COUNT(*), MIN(s), SUM(k) FROM n GROUP BY i",
		"SELECT s, i % 5000 m, MAX(k), COUNT(*) FROM n GROUP BY s, m",
	} {
		e.opts = scan.Options{Threads: 2}
		want, err := e.run(q)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		for _, memory := range []int64{512 << 10, 1 << 20, 2 << 20} {
			for _, o := range []scan.Options{{Threads: 1}, {Threads: 4, BatchRows: 1000}} {
				before := writes.Load()
				o.Memory = memory
				e.opts = o
				got, err := e.run(q)
				if err != nil || sortedText(got.rows) != sortedText(want.rows) {
					t.Errorf("%s, %+v: %v %s", q, o, err, firstDifference(sortedText(got.rows), sortedText(want.rows)))
				}
				if memory < 1<<20 && writes.Load() == before {
					t.Errorf("%s, %+v: nothing was spilled", q, o)
				}
				e.clean(t, q)
			}
		}
	}
}

// The table of a join that several workers put together is the one that one of them
// makes: rows, their order, NULLs, strings of any length.
func TestParallelBuild(t *testing.T) {
	e := newEngine()
	numbers(t, e, 20000)
	const some = "(SELECT i, NULLIF(k, 3) k, IF(i % 5 = 0, NULL, CONCAT(s, ' of some length')) s FROM n WHERE i % 3 > 0)"
	for _, q := range []string{
		"SELECT a.i, b.i, b.k, b.s FROM n a JOIN " + some + " b ON a.i = b.i",
		"SELECT a.i, b.i, b.s FROM " + some + " a JOIN " + some + " b ON a.k = b.k AND a.s = b.s WHERE a.i < 300",
		"SELECT a.i, b.s FROM n a LEFT JOIN " + some + " b ON a.i = b.i + 7",
		"SELECT a.s, b.i, b.s FROM " + some + " a RIGHT JOIN " + some + " b ON a.i = b.i * 2",
		"SELECT a.i FROM n a WHERE a.i NOT IN (SELECT i FROM " + some + " b)",
		"SELECT a.i FROM n a WHERE a.k NOT IN (SELECT k FROM " + some + " b)",
		"SELECT a.i, a.s FROM n a WHERE EXISTS (SELECT 1 FROM " + some + " b WHERE b.i = a.i AND b.s > a.s)",
		"SELECT a.i, b.i FROM n a JOIN " + some + " b ON a.k <=> b.k WHERE a.i < 200",
	} {
		e.opts = scan.Options{Threads: 1}
		want, err := e.run(q)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		undo := exec.SmallPartitions()
		for _, o := range []scan.Options{{Threads: 1}, {Threads: 3, BatchRows: 100}, {Threads: 5, BatchRows: 5000}} {
			e.opts = o
			got, err := e.run(q)
			if err != nil || text(got.rows) != text(want.rows) {
				t.Errorf("%s, %+v: %v %s", q, o, err, firstDifference(text(got.rows), text(want.rows)))
			}
			e.clean(t, q)
		}
		undo()
	}
}
