package exec_test

import (
	"strings"
	"testing"
)

// TestInUnderOneCollation: the texts of an IN list are compared under one
// collation, aggregated over all of them; a folded constant in GROUP_CONCAT's
// ORDER BY is not a position. The answers are MySQL 9.7's.
func TestInUnderOneCollation(t *testing.T) {
	e := newEngine("db")
	e.must(t, `CREATE TABLE m (id INT, i INT, s VARCHAR(10), z VARCHAR(10) COLLATE utf8mb4_bin);
INSERT INTO m VALUES (1,0,'a','a'),(2,5,'5','5'),(3,NULL,NULL,NULL),(4,7,'ab','AB'),(5,0,'','x')`)
	for _, c := range []struct{ expr, want string }{
		{"s IN ('AB', z)", "1 1 NULL 0 0"},
		{"z IN ('AB', s)", "1 1 NULL 1 0"},
		{"s IN ('AB', 'x')", "0 0 NULL 1 0"},
		{"'ab' IN (s, z)", "0 0 NULL 1 0"},
		{"i IN ('a', 'ab', s)", "1 1 NULL 0 1"},
		{"s NOT IN ('x', 'a', i)", "0 0 NULL 1 0"},
	} {
		got, err := e.run("SELECT " + c.expr + " FROM m ORDER BY id")
		if err != nil {
			t.Fatalf("%s: %v", c.expr, err)
		}
		var out []string
		for _, r := range got.rows {
			if r[0] == nil {
				out = append(out, "NULL")
			} else {
				out = append(out, *r[0])
			}
		}
		if s := strings.Join(out, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.expr, s, c.want)
		}
	}
	got, err := e.run("SELECT GROUP_CONCAT(id ORDER BY HOUR(TIMESTAMP '2000-01-01 00:00:00'), id DESC) FROM m")
	if err != nil || len(got.rows) != 1 || *got.rows[0][0] != "5,4,3,2,1" {
		t.Errorf("GROUP_CONCAT ordered by a constant: %v %v", got.rows, err)
	}
}
