package exec_test

import (
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/server/exec"
)

// step is a statement, what it says it did, and the table afterwards.
type step struct {
	sql  string
	out  exec.Outcome
	rows string
	kind errs.Kind
}

func (e *engine) steps(t *testing.T, table string, steps []step) {
	t.Helper()
	for _, s := range steps {
		a, err := e.run(s.sql)
		if s.kind != "" {
			if !errs.Is(err, s.kind) {
				t.Errorf("%s: %v, want %s", s.sql, err, s.kind)
			}
		} else if err != nil {
			t.Errorf("%s: %v", s.sql, err)
		} else if s.out != (exec.Outcome{}) && a.out != s.out {
			t.Errorf("%s: %+v, want %+v", s.sql, a.out, s.out)
		}
		if s.rows == "" {
			continue
		}
		got, err := e.run("SELECT * FROM " + table + " ORDER BY 1, 2")
		if err != nil {
			t.Fatal(err)
		}
		if text(got.rows) != s.rows {
			t.Errorf("%s:\n%s\nwant\n%s", s.sql, text(got.rows), s.rows)
		}
	}
}

func changed(matched, changed uint64) exec.Outcome {
	return exec.Outcome{Matched: matched, Changed: changed, Affected: changed, Found: matched}
}

func TestUpdateAndDelete(t *testing.T) {
	for _, key := range []string{"PRIMARY KEY (id)", ""} {
		e := newEngine()
		ddl := "CREATE TABLE t (id INT NOT NULL, a INT, b VARCHAR(5)"
		if key != "" {
			ddl += ", " + key
		}
		e.must(t, ddl+")")
		e.must(t, "INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, NULL, 'z')")
		e.steps(t, "t", []step{
			{"UPDATE t SET a = a + 1, b = a WHERE id < 3", changed(2, 2), "1|11|11\n2|21|21\n3|NULL|z\n", ""},
			{"UPDATE t SET a = 11", changed(3, 2), "1|11|11\n2|11|21\n3|11|z\n", ""},
			{"UPDATE t SET a = id * 10 ORDER BY id DESC LIMIT 2", changed(2, 2), "1|11|11\n2|20|21\n3|30|z\n", ""},
			{"UPDATE t SET b = 'toolong' WHERE id = 1", exec.Outcome{}, "1|11|11\n2|20|21\n3|30|z\n", errs.DataTooLong},
			{"UPDATE t SET id = NULL WHERE id = 1", exec.Outcome{}, "", errs.NotNull},
			{"UPDATE t SET a = 1/0 WHERE id = 1", exec.Outcome{}, "", errs.DivisionByZero},
			{"UPDATE t SET nope = 1", exec.Outcome{}, "", errs.UnknownColumn},
			{"UPDATE t SET a = (SELECT MAX(a) FROM t), b = (SELECT COUNT(*) FROM t x WHERE x.id < t.id)", changed(3, 3), "1|30|0\n2|30|1\n3|30|2\n", ""},
			{"UPDATE t SET a = DEFAULT WHERE id IN (SELECT id FROM t WHERE b = '1')", changed(1, 1), "1|30|0\n2|NULL|1\n3|30|2\n", ""},
			{"DELETE FROM t WHERE a IS NULL", changed(1, 1), "1|30|0\n3|30|2\n", ""},
			{"DELETE FROM t ORDER BY id DESC LIMIT 1", changed(1, 1), "1|30|0\n", ""},
			{"WITH c AS (SELECT 1 AS k) UPDATE t SET a = 5 WHERE id IN (SELECT k FROM c)", changed(1, 1), "1|5|0\n", ""},
			{"DELETE FROM t", changed(1, 1), "", ""},
			{"DELETE FROM t", changed(0, 0), "", ""},
		})
	}
}

func TestUpdateOfKeys(t *testing.T) {
	e := newEngine()
	e.must(t, "CREATE TABLE t (id INT PRIMARY KEY, a INT);\nINSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
	e.steps(t, "t", []step{
		{"UPDATE t SET id = id + 1", exec.Outcome{}, "1|1\n2|2\n3|3\n", errs.DuplicateKey},
		{"UPDATE t SET id = id + 1 ORDER BY id DESC", changed(3, 3), "2|1\n3|2\n4|3\n", ""},
		{"UPDATE t SET id = id - 1", changed(3, 3), "1|1\n2|2\n3|3\n", ""},
		{"UPDATE t SET id = 9, a = 0 WHERE id = 1", changed(1, 1), "2|2\n3|3\n9|0\n", ""},
		{"UPDATE IGNORE t SET id = 3, a = 7 WHERE id = 2", changed(1, 0), "2|2\n3|3\n9|0\n", ""},
		{"UPDATE t SET id = id, a = 5 WHERE id = 2", changed(1, 1), "2|5\n3|3\n9|0\n", ""},
	})
}

func TestChangesOfSeveralTables(t *testing.T) {
	for _, key := range []string{", PRIMARY KEY (id)", ""} {
		e := newEngine()
		e.must(t, "CREATE TABLE t (id INT NOT NULL, a INT"+key+")")
		e.must(t, "CREATE TABLE u (id INT NOT NULL, t INT, v INT"+key+")")
		e.must(t, "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
		e.must(t, "INSERT INTO u VALUES (10, 1, 100), (11, 1, 101), (12, 2, 102), (13, 9, 103)")
		e.steps(t, "t", []step{
			{"UPDATE t JOIN u ON u.t = t.id SET t.a = u.v, u.v = 0 WHERE u.id <> 11", changed(4, 4), "1|100\n2|102\n3|3\n", ""},
			{"UPDATE t LEFT JOIN u ON u.t = t.id SET a = 7, v = 1 WHERE t.id = 3", changed(1, 1), "1|100\n2|102\n3|7\n", ""},
			{"UPDATE t, u SET a = a + 1 WHERE u.t = t.id AND t.id = 1", changed(1, 1), "1|101\n2|102\n3|7\n", ""},
			{"UPDATE t, u SET a = 1 LIMIT 1", exec.Outcome{}, "", errs.WrongUsage},
			{"DELETE t, x FROM t JOIN u x ON x.t = t.id WHERE t.id = 1", changed(3, 3), "2|102\n3|7\n", ""},
			{"DELETE FROM t USING t LEFT JOIN u ON u.t = t.id WHERE u.id IS NULL", changed(1, 1), "2|102\n", ""},
			{"DELETE z FROM t JOIN u ON u.t = t.id", exec.Outcome{}, "", errs.UnknownTarget},
		})
		e.steps(t, "u", []step{{"UPDATE u SET v = v", changed(2, 0), "12|2|0\n13|9|103\n", ""}})
	}
}

func TestDuplicates(t *testing.T) {
	e := newEngine()
	e.must(t, "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT);\nINSERT INTO t VALUES (1, 10, 100), (2, 20, 200)")
	e.steps(t, "t", []step{
		{"INSERT IGNORE INTO t VALUES (1, 0, 0), (3, 30, 300), (3, 31, 301)", exec.Outcome{Matched: 3, Affected: 1, Found: 1, Duplicates: 2}, "1|10|100\n2|20|200\n3|30|300\n", ""},
		{"REPLACE INTO t VALUES (1, 11, 101), (4, 40, 400), (2, 20, 200), (4, 41, 400)", exec.Outcome{Matched: 4, Affected: 6, Found: 6, Duplicates: 2}, "1|11|101\n2|20|200\n3|30|300\n4|41|400\n", ""},
		{"INSERT INTO t VALUES (1, 1, 1), (5, 5, 5), (5, 6, 6), (2, 0, 0) ON DUPLICATE KEY UPDATE a = a + VALUES(a), b = a", exec.Outcome{Matched: 4, Affected: 7, Found: 7, Duplicates: 3},
			"1|12|12\n2|20|20\n3|30|300\n4|41|400\n5|11|11\n", ""},
		{"INSERT INTO t VALUES (1, 12, 0) AS n ON DUPLICATE KEY UPDATE a = n.a", exec.Outcome{Matched: 1, Found: 1}, "", ""},
		{"INSERT INTO t (id, a) VALUES (1, 3) AS n(i, x) ON DUPLICATE KEY UPDATE a = x + i, b = DEFAULT", exec.Outcome{Matched: 1, Affected: 2, Found: 2, Duplicates: 1}, "", ""},
		{"INSERT INTO t SELECT id + 1, a, b FROM t AS x WHERE id < 3 ON DUPLICATE KEY UPDATE b = t.a + VALUES(a)", exec.Outcome{}, "1|4|NULL\n2|20|24\n3|30|50\n4|41|400\n5|11|11\n", ""},
		{"INSERT INTO t VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE id = 77", exec.Outcome{}, "", errs.NotSupported},
	})
	e.strict = true
	e.steps(t, "t", []step{
		{"INSERT INTO t VALUES (8, 8, 8), (1, 1, 1)", exec.Outcome{}, "1|4|NULL\n2|20|24\n3|30|50\n4|41|400\n5|11|11\n", errs.DuplicateKey},
		{"INSERT INTO t VALUES (8, 8, 8), (8, 1, 1)", exec.Outcome{}, "", errs.DuplicateKey},
	})
	e.strict = false
	e.steps(t, "t", []step{{"INSERT INTO t VALUES (1, 1, 1)", exec.Outcome{}, "1|1|1\n2|20|24\n3|30|50\n4|41|400\n5|11|11\n", ""}})
}

// TestDuplicatesOfQueries has MySQL 9.7's answers.
func TestDuplicatesOfQueries(t *testing.T) {
	e := newEngine()
	e.must(t, "CREATE TABLE ch (id INT PRIMARY KEY, i INT, d DECIMAL(10,2), s VARCHAR(20));\nINSERT INTO ch VALUES (1, 1, 1, 'a'), (2, 2, 2, 'b'), (3, 3, 3, 'c')")
	e.must(t, "CREATE TABLE n (id INT PRIMARY KEY, i INT, x INT);\nINSERT INTO n VALUES (1, 10, 100), (2, 20, 200), (4, 40, 400)")
	into := "INSERT INTO ch (id, i) SELECT "
	e.steps(t, "ch", []step{
		{into + "id, i FROM n ON DUPLICATE KEY UPDATE i = i + 1", exec.Outcome{}, "", errs.AmbiguousColumn},
		{into + "id, i FROM n ON DUPLICATE KEY UPDATE i = ch.i + n.i", exec.Outcome{Matched: 3, Affected: 5, Found: 5, Duplicates: 2}, "1|11|1.00|a\n2|22|2.00|b\n3|3|3.00|c\n4|40|NULL|NULL\n", ""},
		{into + "id, i FROM n ON DUPLICATE KEY UPDATE i = x", exec.Outcome{Matched: 3, Affected: 6, Found: 6, Duplicates: 3}, "1|100|1.00|a\n2|200|2.00|b\n3|3|3.00|c\n4|400|NULL|NULL\n", ""},
		{into + "id, i FROM n ON DUPLICATE KEY UPDATE ch.i = x, d = i", exec.Outcome{}, "", errs.AmbiguousColumn},
		{into + "id, i FROM n ON DUPLICATE KEY UPDATE n.i = x", exec.Outcome{}, "", errs.UnknownColumn},
		{into + "id, i FROM n m ON DUPLICATE KEY UPDATE i = n.x", exec.Outcome{}, "", errs.UnknownColumn},
		{into + "id, i FROM n m ON DUPLICATE KEY UPDATE i = m.x + 1, d = d + 1, s = m.x", exec.Outcome{}, "1|101|2.00|100\n2|201|3.00|200\n3|3|3.00|c\n4|401|NULL|400\n", ""},
		{into + "id, i FROM n m ORDER BY x DESC LIMIT 2 ON DUPLICATE KEY UPDATE i = m.x + 2", exec.Outcome{}, "1|101|2.00|100\n2|202|3.00|200\n3|3|3.00|c\n4|402|NULL|400\n", ""},
		{into + "DISTINCT id, i FROM n m ON DUPLICATE KEY UPDATE i = m.x", exec.Outcome{}, "", errs.NotSupported},
		{into + "id, MAX(i) FROM n m GROUP BY id ON DUPLICATE KEY UPDATE i = m.id", exec.Outcome{}, "", errs.UnknownColumn},
		{into + "MAX(id), MAX(i) FROM n m ON DUPLICATE KEY UPDATE i = m.id", exec.Outcome{}, "", errs.UnknownColumn},
		{into + "id, i FROM n m UNION SELECT 1, 2 ON DUPLICATE KEY UPDATE i = m.x", exec.Outcome{}, "", errs.UnknownColumn},
		{into + "id, y FROM (SELECT id, x + 5 y FROM n) m ON DUPLICATE KEY UPDATE i = y", exec.Outcome{}, "1|105|2.00|100\n2|205|3.00|200\n3|3|3.00|c\n4|405|NULL|400\n", ""},
		{into + "* FROM (SELECT id, x FROM n) m ON DUPLICATE KEY UPDATE i = m.x", exec.Outcome{}, "1|100|2.00|100\n2|200|3.00|200\n3|3|3.00|c\n4|400|NULL|400\n", ""},
		{into + "m.id, o.i FROM n m JOIN n o ON o.id = m.id ON DUPLICATE KEY UPDATE ch.i = x", exec.Outcome{}, "", errs.AmbiguousColumn},
		{into + "m.id, o.i FROM n m JOIN n o ON o.id = m.id ON DUPLICATE KEY UPDATE ch.i = m.x + o.x", exec.Outcome{}, "1|200|2.00|100\n2|400|3.00|200\n3|3|3.00|c\n4|800|NULL|400\n", ""},
		{into + "id, i FROM ch c ON DUPLICATE KEY UPDATE i = c.i + 1", exec.Outcome{Matched: 4, Affected: 8, Found: 8, Duplicates: 4}, "1|201|2.00|100\n2|401|3.00|200\n3|4|3.00|c\n4|801|NULL|400\n", ""},
		{into + "id, i FROM ch ON DUPLICATE KEY UPDATE i = ch.i + 1", exec.Outcome{}, "", errs.AmbiguousColumn},
		{into + "id, i AS k FROM n m ON DUPLICATE KEY UPDATE ch.i = k", exec.Outcome{}, "", errs.UnknownColumn},
		{into + "id, i FROM n m ON DUPLICATE KEY UPDATE ch.i = VALUES(i) + m.i + (SELECT MAX(x) FROM n)", exec.Outcome{}, "1|420|2.00|100\n2|440|3.00|200\n3|4|3.00|c\n4|480|NULL|400\n", ""},
	})
}

func TestMerge(t *testing.T) {
	for _, key := range []string{", PRIMARY KEY (id)", ""} {
		e := newEngine()
		e.must(t, "CREATE TABLE t (id INT NOT NULL, a INT, b INT"+key+")")
		e.must(t, "CREATE TABLE s (id INT NOT NULL, a INT, b INT)")
		e.must(t, "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4)")
		e.must(t, "INSERT INTO s VALUES (2, 20, 0), (3, 30, 1), (5, 50, 0), (6, 60, 1)")
		e.steps(t, "t", []step{
			{"MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND s.b = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET a = s.a + t.a, b = t.a " +
				"WHEN NOT MATCHED AND s.b = 0 THEN INSERT (id, a) VALUES (s.id, s.a) WHEN NOT MATCHED BY SOURCE AND t.id = 1 THEN UPDATE SET b = 9 " +
				"WHEN NOT MATCHED BY SOURCE THEN DELETE", exec.Outcome{Matched: 4, Changed: 4, Affected: 5, Found: 5}, "1|1|9\n2|22|2\n5|50|NULL\n", ""},
			{"MERGE INTO t AS x USING (SELECT 2 AS id, 1 AS a, 1 AS b UNION ALL SELECT 7, 7, 7) AS y ON x.id = y.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
				exec.Outcome{}, "1|1|9\n2|1|1\n5|50|NULL\n7|7|7\n", ""},
			{"MERGE INTO t USING (SELECT 2 AS id UNION ALL SELECT 2) y ON t.id = y.id WHEN MATCHED THEN UPDATE SET a = 0", exec.Outcome{}, "1|1|9\n2|1|1\n5|50|NULL\n7|7|7\n", errs.MergeMatchedTwo},
		})
		if key == "" {
			continue
		}
		e.steps(t, "t", []step{
			{"MERGE INTO t USING s ON t.id = s.id + 100 WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.a, s.b)", exec.Outcome{}, "1|1|9\n2|1|1\n5|50|NULL\n7|7|7\n", errs.DuplicateKey},
			{"MERGE INTO t USING s ON t.id = s.id - 100 WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.a, s.b)", exec.Outcome{},
				"2|20|0\n3|30|1\n5|50|0\n6|60|1\n", ""},
		})
	}
}
