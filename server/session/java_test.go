package session

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Java Paimon finds nothing wrong with tables that statements changed, and reads
// the rows that we read.
func TestJavaReadsWhatStatementsChanged(t *testing.T) {
	java := os.Getenv("THERMOCLINE_PAIMON_JAVA")
	if java == "" {
		t.Skip("needs Java Paimon: set THERMOCLINE_PAIMON_JAVA, as make interop does")
	}
	dir := t.TempDir()
	s := session(t, warehouseIn(t, dir), OpenOptions{})
	tables := map[string]string{
		"pk": "PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket'='2')", "dynamic": "PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket'='-1')",
		"vectors": "PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket'='1','deletion-vectors.enabled'='true')",
		"partial": "PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket'='1','merge-engine'='partial-update','partial-update.remove-record-on-delete'='true')",
		"append":  "x INT) WITH ('bucket'='-1')", "avectors": "x INT) WITH ('bucket'='-1','deletion-vectors.enabled'='true')",
	}
	script(t, s, "CREATE DATABASE d;\nUSE d;\nCREATE TABLE src (id INT, a INT, b STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket'='1');\n"+
		"INSERT INTO src WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 300) SELECT n, n, CONCAT('r', n) FROM r")
	for name, def := range tables {
		script(t, s, "CREATE TABLE "+name+" (id INT, a INT, b STRING, "+def)
		for _, q := range []string{
			"INSERT INTO {t} (id, a, b) SELECT * FROM src",
			"UPDATE {t} SET a = a * 2 WHERE id % 3 = 0",
			"DELETE FROM {t} WHERE id % 5 = 0",
			"MERGE INTO {t} USING src s ON {t}.id = s.id WHEN MATCHED AND s.id < 30 THEN DELETE WHEN MATCHED AND s.id > 250 THEN UPDATE SET b = 'merged' WHEN NOT MATCHED AND s.id > 100 THEN INSERT (id, a, b) VALUES (s.id, s.a, 'new')",
			"ALTER TABLE {t} ADD COLUMN c BIGINT FIRST",
			"UPDATE {t} SET c = id WHERE id > 200",
			"REPLACE INTO {t} (id, b) VALUES (1, 'again'), (299, 'again')",
		} {
			if strings.HasPrefix(q, "REPLACE") && name == "partial" {
				continue // a row that it replaces would keep its other columns
			}
			query(t, s, strings.ReplaceAll(q, "{t}", name))
		}
		at := filepath.Join(dir, "d.db", name)
		if out, err := exec.Command(java, "verify", at).CombinedOutput(); err != nil || !strings.Contains(string(out), "0 problems") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		out, err := exec.Command(java, "dump", at, "--all").Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, l := range strings.Split(strings.TrimSpace(string(out)), "\n")[1:] {
			var r []any
			if err := json.Unmarshal([]byte(l), &r); err != nil {
				t.Fatal(err)
			}
			cells := make([]string, len(r))
			for i, c := range r {
				if cells[i] = fmt.Sprint(c); c == nil {
					cells[i] = "NULL"
				}
			}
			got = append(got, strings.Join(cells, "|"))
		}
		own := strings.Split(query(t, s, "SELECT * FROM "+name), "\n")
		if g, w := sortedLines(got), sortedLines(own); g != w {
			t.Errorf("%s: Java reads\n%s\nwe read\n%s", name, g, w)
		}
	}
}

func sortedLines(lines []string) string {
	out := append([]string(nil), lines...)
	for i := range out {
		for k := i; k > 0 && out[k] < out[k-1]; k-- {
			out[k], out[k-1] = out[k-1], out[k]
		}
	}
	return strings.Join(out, "\n")
}
