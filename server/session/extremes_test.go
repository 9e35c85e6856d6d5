package session

import (
	"strings"
	"testing"
)

// TestExtremes: MIN and MAX that metadata answers are those of the rows, in tables
// of several files and partitions, with NULLs, after changes of types, deletions
// and compaction; where it cannot know them, rows are read.
func TestExtremes(t *testing.T) {
	s := session(t, warehouse(t), OpenOptions{})
	script(t, s, `CREATE DATABASE d;
USE d;
CREATE TABLE a (i INT, b BIGINT UNSIGNED, s VARCHAR(40), d DATE, t DATETIME(6), ts TIMESTAMP(3), x DECIMAL(12,3), f DOUBLE, n INT, y YEAR, e ENUM('z','a')) /*T! WITH ('bucket' = '-1') */;
INSERT INTO a VALUES (5, 18446744073709551615, 'm', '2026-05-01', '2026-05-01 10:00:00.123456', '2026-05-01 10:00:00.5', -1.5, 0.5, NULL, 2001, 'z'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO a VALUES (-7, 0, 'zz', '1969-12-31', '1970-01-01 00:00:00.000001', '2001-01-01 00:00:00', 99999.999, -3, NULL, 1990, 'a'), (3, 9223372036854775808, '', '9999-12-31', '9999-12-31 23:59:59.999999', '2030-01-01 00:00:00.001', 0, 2, NULL, 2050, 'z');
CREATE TABLE nothing (i INT, d DATE);
CREATE TABLE p (i INT, day DATE, k INT) /*T! PARTITIONED BY (day, k) WITH ('bucket' = '-1') */;
INSERT INTO p VALUES (1, '2026-01-02', 4), (9, '2025-01-02', NULL), (NULL, '2027-03-04', 4);
CREATE TABLE pk (id INT PRIMARY KEY, v INT) /*T! WITH ('bucket' = '1', 'write-only' = 'true') */;
INSERT INTO pk VALUES (1, 100), (2, 5), (3, 7);
INSERT INTO pk VALUES (1, 6), (9, 8);
CREATE TABLE dv (id INT PRIMARY KEY, v INT) /*T! WITH ('bucket' = '1', 'deletion-vectors.enabled' = 'true') */;
INSERT INTO dv VALUES (1, 100), (2, 5), (3, 7);
DELETE FROM dv WHERE id = 1;
CREATE TABLE adv (id INT, v INT) /*T! WITH ('bucket' = '-1', 'deletion-vectors.enabled' = 'true') */;
INSERT INTO adv VALUES (1, 100), (2, 5), (3, 7);
DELETE FROM adv WHERE id = 1`)
	check := func(table, cols string, known bool) {
		t.Helper()
		var list []string
		for _, c := range strings.Split(cols, ",") {
			list = append(list, "MIN("+c+")", "MAX("+c+")")
		}
		for _, more := range []string{"", "COUNT(*), ", "COUNT(*) + COUNT(1) AS c, "} {
			q := "SELECT " + list[0] + " AS m, " + more + strings.Join(list[1:], ", ") + " FROM " + table
			got, read := query(t, s, q), query(t, s, q+" WHERE RAND() < 2")
			if got != read {
				t.Errorf("%s: %s, its rows say %s", q, got, read)
			}
			if plan := query(t, s, "EXPLAIN FORMAT=TREE "+q); strings.Contains(plan, "Scan") == known {
				t.Errorf("%s:\n%s", q, plan)
			}
		}
	}
	check("a", "i,b,d,t,ts,x,n", true)
	for _, c := range []string{"s", "f", "y", "e"} {
		check("a", c, false)
		check("a", "i,"+c, false)
	}
	check("nothing", "i", false) // there is no snapshot
	check("p", "i,day,k", true)
	check("pk", "id,v", false)
	check("dv", "id,v", false)
	check("adv", "id,v", false)
	check("`a$audit_log`", "i,d", false)
	check("`a$ro`", "i,d", true)
	check("a FOR VERSION AS OF 1", "i,d", true)
	want(t, s, "SELECT MIN(v), MAX(v) FROM pk", "5|8")
	want(t, s, "SELECT MAX(v) FROM dv", "7")
	want(t, s, "SELECT MAX(v), MIN(id) FROM adv", "7|2")
	want(t, s, "SELECT MIN(b), MAX(b), MAX(t) + INTERVAL 1 MICROSECOND IS NULL, MIN(n) FROM a", "0|18446744073709551615|1|NULL")
	query(t, s, "CALL sys.compact('d.pk')")
	check("pk", "id,v", true)
	want(t, s, "SELECT MIN(v), MAX(v) FROM pk", "5|8")
	query(t, s, "ALTER TABLE a MODIFY COLUMN i BIGINT")
	query(t, s, "ALTER TABLE a ADD COLUMN more INT")
	query(t, s, "INSERT INTO a (i, more) VALUES (5000000000, 4)")
	want(t, s, "SELECT MIN(i), MAX(i), MIN(more) FROM a", "-7|5000000000|4")
	check("a", "more,d", true)
	// Not these.
	for _, q := range []string{"SELECT MIN(i + 1) FROM a", "SELECT MIN(i), COUNT(i) FROM a", "SELECT COUNT(NULL) FROM a", "SELECT MIN(i), COUNT(*) FILTER (WHERE i > 0) FROM a", "SELECT MIN(i) FROM a WHERE d IS NULL", "SELECT MIN(i) FROM a GROUP BY d", "SELECT SUM(DISTINCT i) FROM a"} {
		if plan := query(t, s, "EXPLAIN FORMAT=TREE "+q); !strings.Contains(plan, "Scan") {
			t.Errorf("%s:\n%s", q, plan)
		}
	}
	for _, q := range []string{"SELECT COUNT(*) FROM a", "SELECT COUNT(1) FROM a", "SELECT COUNT('x'), COUNT(*) FROM a"} {
		if plan := query(t, s, "EXPLAIN FORMAT=TREE "+q); strings.Contains(plan, "Scan") {
			t.Errorf("%s:\n%s", q, plan)
		}
	}
	want(t, s, "SELECT COUNT('x'), COUNT(*), COUNT(NULL) FROM a", "5|5|0")
	// Below other operators.
	want(t, s, "SELECT x.m - 1, (SELECT MAX(day) FROM p) FROM (SELECT MAX(i) AS m, MIN(d) FROM a) x", "4999999999|"+query(t, s, "SELECT MAX(day) FROM p WHERE RAND() < 2"))
}
