package session

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

// describable makes tables with columns of many types and rows of all their
// merges: keys that come again, deletions, NULLs.
func describable(t *testing.T, s *Session) {
	t.Helper()
	script(t, s, `CREATE DATABASE d;
USE d;
SET cte_max_recursion_depth = 5000;
CREATE TABLE n (n INT) WITH ('bucket'='-1');
INSERT INTO n WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3000) SELECT n FROM r;
CREATE TABLE a (k INT, ti TINYINT, si SMALLINT, bi BIGINT, fl FLOAT, dd DOUBLE, de DECIMAL(10,2), dw DECIMAL(30,5), da DATE, ts TIMESTAMP(6), lt TIMESTAMP_LTZ(3), bo BOOLEAN, s STRING, c CHAR(5), none INT, l ARRAY<INT>) WITH ('bucket'='-1');
INSERT INTO a (k, ti, si, bi, fl, dd, de, dw, da, ts, lt, bo, s, c) SELECT n, n % 100, n % 1000, n * 1000000007, n / 4, n / 8, n / 100, n * 12345678901234567890.0, DATE'2024-01-01' + INTERVAL n % 400 DAY, TIMESTAMP'1969-12-31 00:00:00.123456' + INTERVAL n HOUR, TIMESTAMP'2024-06-01 12:00:00' + INTERVAL n SECOND, n % 2, IF(n % 7 = 0, NULL, CONCAT('v', n % 50)), CONCAT('c', n % 9) FROM n;
CREATE TABLE p (k INT PRIMARY KEY, v INT, u BIGINT UNSIGNED, w VARCHAR(20) COLLATE utf8mb4_0900_ai_ci);
INSERT INTO p SELECT n, n % 10, 18446744073709551615 - n, CONCAT('x', n) FROM n;
INSERT INTO p SELECT n, n % 10 + 5, n, 'same' FROM n WHERE n <= 1000;
DELETE FROM p WHERE k % 3 = 0`)
}

// columnStats are the statistics that a table has, by column.
func columnStats(t *testing.T, s *Session, table string) (out map[string]map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(query(t, s, "SELECT colstat FROM `"+table+"$statistics`")), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// ANALYZE TABLE answers as MySQL 9.7 does, and stores what the rows say, whatever
// the threads and batches.
func TestAnalyzeTable(t *testing.T) {
	s := session(t, warehouseIn(t, t.TempDir()), OpenOptions{})
	describable(t, s)
	query(t, s, "CREATE VIEW v AS SELECT 1 AS x")
	want(t, s, "ANALYZE TABLE a", "d.a|analyze|status|OK")
	want(t, s, "ANALYZE NO_WRITE_TO_BINLOG TABLE a, nope, d.p", "d.a|analyze|status|OK\nd.nope|analyze|Error|Table 'd.nope' doesn't exist\nd.nope|analyze|status|Operation failed\nd.p|analyze|status|OK")
	want(t, s, "ANALYZE TABLE v", "d.v|analyze|Error|'d.v' is not BASE TABLE\nd.v|analyze|status|Operation failed")
	want(t, s, "ANALYZE TABLE nodb.t", "nodb.t|analyze|Error|Unknown database 'nodb'\nnodb.t|analyze|error|Corrupt")
	want(t, s, "ANALYZE TABLE `a$snapshots`", "d.a$snapshots|analyze|note|The storage engine for the table doesn't support analyze")
	wantKind(t, s, "ANALYZE TABLE a, p, d.a", errs.DuplicateAlias)
	wantKind(t, s, "ANALYZE TABLE information_schema.tables", errs.DatabaseDenied)
	for text, name := range map[string]string{
		"ANALYZE TABLE a UPDATE HISTOGRAM ON k": "UPDATE HISTOGRAM", "ANALYZE TABLE a DROP HISTOGRAM ON k": "DROP HISTOGRAM",
		"ANALYZE TABLE a COMPUTE STATISTICS FOR COLUMNS l": "statistics of column l",
	} {
		if _, err := rows(t.Context(), s, text); !errs.Is(err, errs.NotSupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", text, err)
		}
	}
	want(t, s, "SELECT mergedRecordCount, schema_id FROM `a$statistics`", "3000|0")
	want(t, s, "SELECT mergedRecordCount FROM `p$statistics`", query(t, s, "SELECT COUNT(*) FROM p"))
	want(t, s, "SELECT commit_kind, delta_record_count FROM `p$snapshots` ORDER BY snapshot_id DESC LIMIT 1", "ANALYZE|0")
	got := columnStats(t, s, "a")
	for column, text := range map[string]string{
		"k":    `{"avgLen":4,"colId":0,"distinctCount":3000,"max":"3000","maxLen":4,"min":"1","nullCount":0}`,
		"ti":   `{"avgLen":1,"colId":1,"distinctCount":100,"max":"99","maxLen":1,"min":"0","nullCount":0}`,
		"de":   `{"avgLen":8,"colId":6,"distinctCount":3000,"max":"30.00","maxLen":8,"min":"0.01","nullCount":0}`,
		"bo":   `{"avgLen":1,"colId":11,"distinctCount":2,"max":"true","maxLen":1,"min":"false","nullCount":0}`,
		"ts":   `{"avgLen":8,"colId":9,"distinctCount":3000,"max":"1970-05-05 00:00:00.123456","maxLen":8,"min":"1969-12-31 01:00:00.123456","nullCount":0}`,
		"da":   `{"avgLen":4,"colId":8,"distinctCount":400,"max":"20122","maxLen":4,"min":"19723","nullCount":0}`,
		"s":    `{"avgLen":2,"colId":12,"distinctCount":50,"maxLen":3,"nullCount":428}`,
		"none": `{"avgLen":0,"colId":14,"distinctCount":0,"maxLen":0,"nullCount":3000}`,
	} {
		var w map[string]any
		if err := json.Unmarshal([]byte(text), &w); err != nil {
			t.Fatal(err)
		}
		have, want := got[column], w
		if column == "k" || column == "de" || column == "ts" || column == "da" { // by a sketch
			if d, exact := have["distinctCount"].(float64), want["distinctCount"].(float64); d < 0.95*exact || d > 1.05*exact {
				t.Errorf("%s: %v different values of %v", column, d, exact)
			}
			delete(have, "distinctCount")
			delete(want, "distinctCount")
		}
		if !reflect.DeepEqual(have, want) {
			t.Errorf("%s: %v, not %v", column, have, want)
		}
	}
	if got["l"] != nil {
		t.Error("an array has statistics")
	}
	if p := columnStats(t, s, "p"); p["u"]["max"] != "18446744073709550614" || p["v"]["max"] != "14" || p["k"]["nullCount"] != 0.0 {
		t.Errorf("%v", p)
	}

	for _, table := range []string{"a", "p"} {
		first := query(t, s, "SELECT colstat, mergedRecordSize FROM `"+table+"$statistics`")
		for _, set := range []string{"SET lake_threads = 1", "SET lake_threads = 5", "SET lake_batch_rows = 7"} {
			query(t, s, set)
			query(t, s, "ANALYZE TABLE "+table)
			want(t, s, "SELECT colstat, mergedRecordSize FROM `"+table+"$statistics`", first)
		}
	}

	query(t, s, "ANALYZE TABLE a COMPUTE STATISTICS")
	want(t, s, "SELECT mergedRecordCount, colstat FROM `a$statistics`", "3000|{ }")
	query(t, s, "ANALYZE TABLE a COMPUTE STATISTICS FOR COLUMNS K, s")
	if got := columnStats(t, s, "a"); len(got) != 2 || got["k"] == nil || got["s"] == nil {
		t.Errorf("%v", got)
	}
	wantKind(t, s, "ANALYZE TABLE a COMPUTE STATISTICS FOR COLUMNS nope", errs.UnknownColumn)
	query(t, s, "ANALYZE TABLE a COMPUTE STATISTICS FOR ALL COLUMNS")
	if got := columnStats(t, s, "a"); len(got) != 15 {
		t.Errorf("%v", got)
	}

	// Statistics stay over changes, and go with the schema.
	query(t, s, "INSERT INTO a (k) VALUES (9000)")
	want(t, s, "SELECT COUNT(*), MAX(mergedRecordCount) FROM `a$statistics`", "1|3000")
	query(t, s, "ALTER TABLE a ADD COLUMN z INT")
	query(t, s, "INSERT INTO a (k) VALUES (9001)")
	want(t, s, "SELECT COUNT(*) FROM `a$statistics`", "0")
	query(t, s, "CREATE TABLE e (a INT)")
	want(t, s, "ANALYZE TABLE e", "d.e|analyze|status|OK")
	want(t, s, "SELECT COUNT(*) FROM `e$snapshots`", "0")
	query(t, s, "SET SESSION TRANSACTION READ ONLY")
	wantKind(t, s, "ANALYZE TABLE a", errs.ReadOnlyTransaction)
}

// Java Paimon finds our statistics, and makes the same of the same rows but for
// counts of different values.
func TestJavaReadsStatistics(t *testing.T) {
	java := os.Getenv("THERMOCLINE_PAIMON_JAVA")
	if java == "" {
		t.Skip("needs Java Paimon: set THERMOCLINE_PAIMON_JAVA, as make interop does")
	}
	dir := t.TempDir()
	s := session(t, warehouseIn(t, dir), OpenOptions{})
	describable(t, s)
	for _, table := range []string{"a", "p"} {
		query(t, s, "ANALYZE TABLE "+table)
		at := filepath.Join(dir, "d.db", table)
		if out, err := exec.Command(java, "verify", at).CombinedOutput(); err != nil || !strings.Contains(string(out), "0 problems") {
			t.Errorf("%s: %v\n%s", table, err, out)
		}
		ours := columnStats(t, s, table)
		dump, err := exec.Command(java, "dump", at, "--system", "statistics", "--all").Output()
		if err != nil {
			t.Fatal(err)
		}
		var row []any
		lines := strings.Split(strings.TrimSpace(string(dump)), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &row); err != nil {
			t.Fatalf("%s: %v", dump, err)
		}
		var theirs map[string]map[string]any
		if err := json.Unmarshal([]byte(fmt.Sprint(row[4])), &theirs); err != nil || !reflect.DeepEqual(theirs, ours) {
			t.Errorf("%s: Java reads %v (%v), we %v", table, theirs, err, ours)
		}
		var columns []string
		for c := range ours {
			columns = append(columns, c)
		}
		op, err := json.Marshal(map[string]any{"op": "analyze", "columns": columns})
		if err != nil {
			t.Fatal(err)
		}
		script := filepath.Join(t.TempDir(), "s.jsonl")
		if err := os.WriteFile(script, []byte(`{"op":"use","table":"d.`+table+"\"}\n"+string(op)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(java, "exec", "--warehouse", dir, script).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		again := columnStats(t, s, table)
		for c, want := range again {
			got := ours[c]
			d, e := got["distinctCount"].(float64), want["distinctCount"].(float64)
			if d < 0.95*e || d > 1.05*e {
				t.Errorf("%s.%s: %v different values, Java counts %v", table, c, d, e)
			}
			delete(got, "distinctCount")
			delete(want, "distinctCount")
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s.%s: %v, Java has %v", table, c, got, want)
			}
		}
		if len(again) != len(ours) {
			t.Errorf("%s: %d columns, not %d", table, len(again), len(ours))
		}
	}
}

// Statistics choose between plans and change no answer, whatever became of the
// table since.
func TestStatisticsChoosePlans(t *testing.T) {
	s := session(t, warehouseIn(t, t.TempDir()), OpenOptions{})
	script(t, s, `CREATE DATABASE d;
USE d;
SET cte_max_recursion_depth = 5000;
CREATE TABLE f (k INT, c STRING, v INT) WITH ('bucket'='-1');
INSERT INTO f WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 4000) SELECT n % 500, CONCAT('c', n % 4), n FROM r;
CREATE TABLE g (k INT, c STRING, v INT) WITH ('bucket'='-1');
INSERT INTO g SELECT k, CONCAT('c', k), v FROM f WHERE v <= 2500;
CREATE TABLE h (k INT, v INT) WITH ('bucket'='-1');
INSERT INTO h SELECT DISTINCT k, k FROM f WHERE k % 3 = 0`)
	queries := []string{
		"SELECT COUNT(*), SUM(f.v) FROM f JOIN g ON f.k = g.k WHERE f.c = 'c1' AND g.v < 600",
		"SELECT COUNT(*), SUM(f.v) FROM f, g, h WHERE f.k = g.k AND g.k = h.k AND h.v BETWEEN 30 AND 60 AND f.v > 3000",
		"SELECT COUNT(*) FROM f WHERE EXISTS (SELECT * FROM g WHERE g.k = f.k AND g.v <> f.v) AND NOT EXISTS (SELECT * FROM h WHERE h.k = f.k)",
		"SELECT h.v, x.n FROM h LEFT JOIN (SELECT k, COUNT(*) AS n FROM g GROUP BY k) x ON x.k = h.k WHERE x.n > 2 ORDER BY 1",
		"SELECT COUNT(*) FROM f JOIN g ON f.c = g.c JOIN h ON h.k = g.k",
		"SELECT h.k FROM h WHERE h.k IN (SELECT g.k FROM g WHERE g.v > 100 AND g.v < 110) ORDER BY 1",
	}
	var before, plans []string
	for _, q := range queries {
		before = append(before, query(t, s, q))
		plans = append(plans, query(t, s, "EXPLAIN FORMAT=TREE "+q))
	}
	query(t, s, "ANALYZE TABLE f, g, h")
	changed := 0
	for i, q := range queries {
		want(t, s, q, before[i])
		if query(t, s, "EXPLAIN FORMAT=TREE "+q) != plans[i] {
			changed++
		}
	}
	// A value of c is one in four rows of f.
	if got := query(t, s, "EXPLAIN FORMAT=TREE "+queries[0]); strings.Index(got, "d.f") > strings.Index(got, "d.g") {
		t.Errorf("the many rows of f are held in memory:\n%s", got)
	}
	if changed == 0 {
		t.Error("statistics change no plan")
	}
	query(t, s, "INSERT OVERWRITE h SELECT v, v FROM f")
	query(t, s, "INSERT OVERWRITE f SELECT * FROM g WHERE k < 3")
	var after []string
	for _, q := range queries {
		after = append(after, query(t, s, q))
	}
	query(t, s, "ANALYZE TABLE f, g, h")
	for i, q := range queries {
		want(t, s, q, after[i])
	}
}
