package exec_test

import (
	"strings"
	"testing"
)

// column returns the first column of an answer, with blanks between the rows.
func (e *engine) column(t *testing.T, sql string) string {
	t.Helper()
	got, err := e.run(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var out []string
	for _, r := range got.rows {
		if r[0] == nil {
			out = append(out, "NULL")
		} else {
			out = append(out, *r[0])
		}
	}
	return strings.Join(out, " ")
}

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
		if s := e.column(t, "SELECT "+c.expr+" FROM m ORDER BY id"); s != c.want {
			t.Errorf("%s: %s, want %s", c.expr, s, c.want)
		}
	}
	if s := e.column(t, "SELECT GROUP_CONCAT(id ORDER BY HOUR(TIMESTAMP '2000-01-01 00:00:00'), id DESC) FROM m"); s != "5,4,3,2,1" {
		t.Errorf("GROUP_CONCAT ordered by a constant: %s", s)
	}
}

// TestNullifLiteral: a literal that NULLIF compares takes the collation of the
// comparison, which later operators see. The answers are MySQL 9.7's.
func TestNullifLiteral(t *testing.T) {
	e := newEngine("db")
	e.must(t, `CREATE TABLE m (id INT, a VARCHAR(20) COLLATE utf8mb4_0900_ai_ci, b VARCHAR(20) COLLATE utf8mb4_bin);
INSERT INTO m VALUES (1,'ab','ab'),(2,'xy','xy'),(3,NULL,NULL),(4,'AB','AB')`)
	for _, c := range []struct{ expr, want string }{
		{"NULLIF('ab', a) LIKE '%B'", "NULL 1 1 NULL"},
		{"NULLIF('ab', b) LIKE '%B'", "NULL 0 0 0"},
		{"NULLIF('ab', b) = 'AB'", "NULL 0 0 0"},
		{"CONCAT(NULLIF('ab', b)) LIKE '%B'", "NULL 0 0 0"},
		{"COLLATION(NULLIF('ab', b))", "utf8mb4_bin utf8mb4_bin utf8mb4_bin utf8mb4_bin"},
		{"COERCIBILITY(NULLIF('ab', b))", "4 4 4 4"},
		{"COLLATION(NULLIF(LEFT('ab', 1), CONCAT(b)))", strings.TrimSpace(strings.Repeat("utf8mb4_0900_ai_ci ", 4))},
		{"COLLATION(NULLIF('ab', 'ab' COLLATE utf8mb4_bin))", strings.TrimSpace(strings.Repeat("utf8mb4_bin ", 4))},
	} {
		if s := e.column(t, "SELECT "+c.expr+" FROM m ORDER BY id"); s != c.want {
			t.Errorf("%s: %s, want %s", c.expr, s, c.want)
		}
	}
}
