package syntax

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestStructure checks how texts are grouped: expressions by the parentheses
// they print with.
func TestStructure(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a OR b AND c", "(a OR (b AND c))"},
		{"NOT a = b AND c", "((NOT (a = b)) AND c)"},
		{"a = b = c", "((a = b) = c)"},
		{"a || b && c", "(a OR (b AND c))"},
		{"a + b * c - d", "((a + (b * c)) - d)"},
		{"-a ^ b", "((- a) ^ b)"},
		{"a | b & c << d + e", "(a | (b & (c << (d + e))))"},
		{"a BETWEEN b AND c AND d", "((a BETWEEN b AND c) AND d)"},
		{"a IN (1) AND b NOT LIKE c", "((a IN (1)) AND (b NOT LIKE c))"},
		{"! a + b", "((! a) + b)"},
		{"a IS NULL = b", "((a IS NULL) = b)"},
		{"a DIV b MOD c % d", "(((a DIV b) % c) % d)"},
	} {
		e, err := ParseExpr(c.text, Options{})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got := parens(e); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
	for _, c := range []struct {
		text, want string
		o          Options
	}{
		{"a || b", "concat(a, b)", Options{PipesAsConcat: true}},
		{"NOT a = b", "((NOT a) = b)", Options{HighNotPrecedence: true}},
		{`"a" = 'b'`, "(a = 'b')", Options{AnsiQuotes: true}},
		{`"a" = 'b'`, "('a' = 'b')", Options{}},
		{`'a\n'`, `'a\\n'`, Options{NoBackslashEscapes: true}},
		{`'a\\'`, `'a\\\\'`, Options{NoBackslashEscapes: true}},
	} {
		e, err := ParseExpr(c.text, c.o)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got := parens(e); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"a JOIN b JOIN c ON x", "((a JOIN b) JOIN c ON x)"},
		{"a JOIN b LEFT JOIN c ON x", "((a JOIN b) LEFT JOIN c ON x)"},
		{"a LEFT JOIN b JOIN c ON x ON y", "(a LEFT JOIN (b JOIN c ON x) ON y)"},
		{"a JOIN b JOIN c ON x ON y", "(a JOIN (b JOIN c ON x) ON y)"},
		{"a JOIN b NATURAL JOIN c", "((a JOIN b) NATURAL JOIN c)"},
		{"a LEFT JOIN b ON x JOIN c JOIN d", "(((a LEFT JOIN b ON x) JOIN c) JOIN d)"},
		{"a JOIN (b LEFT JOIN c ON x)", "(a JOIN (b LEFT JOIN c ON x))"},
		{"a, b JOIN c ON x, d", "((a, (b JOIN c ON x)), d)"},
		{"(a, b) JOIN c ON x", "((a, b) JOIN c ON x)"},
		{"a STRAIGHT_JOIN b CROSS JOIN c", "((a STRAIGHT_JOIN b) CROSS JOIN c)"},
	} {
		q, err := ParseOne("SELECT 1 FROM "+c.text, Options{})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		from := q.Statement.(*Query).Body.(*Select).From
		if got := joinParens(from); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"SELECT 1 UNION SELECT 2 INTERSECT SELECT 3", "SELECT 1 UNION SELECT 2 INTERSECT SELECT 3"},
		{"(SELECT 1 UNION SELECT 2) INTERSECT SELECT 3", "(SELECT 1 UNION SELECT 2) INTERSECT SELECT 3"},
		{"SELECT 1 UNION (SELECT 2 UNION ALL SELECT 3)", "SELECT 1 UNION (SELECT 2 UNION ALL SELECT 3)"},
		{"((SELECT 1)) ORDER BY 1", "SELECT 1 ORDER BY 1"},
		{"((SELECT 1 LIMIT 1)) UNION (SELECT 2)", "(SELECT 1 LIMIT 1) UNION SELECT 2"},
		{"((SELECT 1 LIMIT 2) LIMIT 1)", "(SELECT 1 LIMIT 2) LIMIT 1"},
	} {
		q, err := ParseOne(c.text, Options{})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got := String(q.Statement); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}

func joinParens(t TableExpr) string {
	j, ok := t.(*Join)
	if !ok {
		return String(t)
	}
	c := *j
	c.Left = &TableName{Name: ObjectName{Parts: []Ident{{Name: "leftSide"}}}}
	c.Right = &TableName{Name: ObjectName{Parts: []Ident{{Name: "rightSide"}}}}
	r := strings.NewReplacer("leftSide", joinParens(j.Left), "rightSide", joinParens(j.Right))
	return "(" + r.Replace(String(&c)) + ")"
}

// TestColumnNames checks the names that MySQL gives to result columns.
func TestColumnNames(t *testing.T) {
	q, err := ParseOne("SELECT a, t.b, `c d`, 1+1 , 'x''y', 'a' 'b', NULL, COUNT( * ), a AS z, b 'w', (SELECT 1), -  1, x'41', @v, @@version, NOW ( ), t.*, 1 AS `` FROM t", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, it := range q.Statement.(*Query).Body.(*Select).Items {
		got = append(got, it.Name())
	}
	want := []string{"a", "b", "c d", "1+1", "x'y", "a", "NULL", "COUNT( * )", "z", "w", "(SELECT 1)", "-  1", "x'41'", "@v", "@@version", "NOW ( )", "", ""}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{" ; ; ", []string{"", "", ""}},
		{"SELECT 1", []string{"SELECT 1"}},
		{"SELECT 1; SELECT ';', \"a;b\", `c;d` -- ; x\n ; /* ; */ SELECT 2 # ;\n;", []string{"SELECT 1", "SELECT ';', \"a;b\", `c;d`", "SELECT 2"}},
		{"/*!40101 SET NAMES utf8 */;\nSELECT 1 /*!1 ; */", []string{"/*!40101 SET NAMES utf8 */", "SELECT 1 /*!1", ""}},
		{"SELECT * FROM t /*+ OPTIONS('a'=';') */ ; SELECT 2 /* x */", []string{"SELECT * FROM t /*+ OPTIONS('a'=';') */", "SELECT 2"}},
		{"SELECT 'open; SELECT 2", []string{"SELECT 'open; SELECT 2"}},
		{"CREATE PROCEDURE p() BEGIN SELECT 1; IF a THEN SELECT CASE WHEN 1 THEN 2 END; END IF; END; SELECT 2", []string{"CREATE PROCEDURE p() BEGIN SELECT 1; IF a THEN SELECT CASE WHEN 1 THEN 2 END; END IF; END", "SELECT 2"}},
		{"CREATE TABLE t (begin INT, `case` INT); SELECT 1", []string{"CREATE TABLE t (begin INT, `case` INT)", "SELECT 1"}},
		{"EXECUTE PIPELINE WITHYAML (\na: ';'\nb: (c;\n)\n; SELECT 1", []string{"EXECUTE PIPELINE WITHYAML (\na: ';'\nb: (c;\n)", "SELECT 1"}},
		{"EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END; SELECT 1", []string{"EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END", "SELECT 1"}},
	} {
		var got []string
		end := 0
		for _, p := range Split(c.text, Options{}) {
			got = append(got, c.text[p.Start:p.End])
			if p.Empty != (p.Start == p.End) || p.Start < end || p.End > p.Next {
				t.Errorf("%q: piece %+v", c.text, p)
			}
			end = p.Next
		}
		if len(got) != len(c.want) || strings.Join(got, "\x00") != strings.Join(c.want, "\x00") {
			t.Errorf("%q:\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}

// TestParseNext runs statements one by one, with an error in the second.
func TestParseNext(t *testing.T) {
	text := " ; SELECT 1 ; SELEC 2; SELECT 3"
	s, next, err := ParseNext(text, 0, Options{})
	if err != nil || s.Text(text) != "SELECT 1" || text[next:] != " SELEC 2; SELECT 3" {
		t.Fatal(s, next, err)
	}
	if _, _, err = ParseNext(text, next, Options{}); err == nil {
		t.Fatal("read SELEC")
	}
	if s, next, err = ParseNext("  -- nothing\n;", 0, Options{}); err != nil || s.Statement != nil || next != 14 {
		t.Fatal(s, next, err)
	}
}

// TestDeep wants an error, not a crash, from what nests or chains without end.
func TestDeep(t *testing.T) {
	n := 200000
	for _, text := range []string{
		"SELECT " + strings.Repeat("(", n),
		"SELECT " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"SELECT " + strings.Repeat("-", n) + "1",
		"SELECT " + strings.Repeat("- ", n) + "1",
		"SELECT " + strings.Repeat("NOT ", n) + "1",
		"SELECT " + strings.Repeat("f(", n),
		"SELECT " + strings.Repeat("CASE WHEN ", n),
		"SELECT " + strings.Repeat("INTERVAL (", n),
		"SELECT " + strings.Repeat("CAST(", n),
		"SELECT 1" + strings.Repeat(" + 1", n),
		"SELECT a" + strings.Repeat("[1]", n),
		"SELECT 1" + strings.Repeat(" UNION SELECT 1", n),
		"SELECT * FROM " + strings.Repeat("(", n) + "t",
		"SELECT * FROM t" + strings.Repeat(" JOIN t", n),
		"SELECT * FROM t" + strings.Repeat(" LEFT JOIN t", n),
		"SELECT * FROM t" + strings.Repeat(", t", n),
		strings.Repeat("(SELECT 1 UNION ", n),
		strings.Repeat("EXPLAIN ", n),
		strings.Repeat("/*!", n),
		strings.Repeat("WITH a AS (", n),
		"CREATE TABLE t (a " + strings.Repeat("ARRAY<", n),
		"SELECT * FROM t WHERE a " + strings.Repeat("BETWEEN 1 AND a ", n),
		"SELECT " + strings.Repeat("@a := ", n) + "1",
		"SELECT " + strings.Repeat("{d ", n),
		"SELECT * FROM JSON_TABLE('', '' " + strings.Repeat("COLUMNS (NESTED PATH '' ", n),
		"SELECT a AT TIME ZONE" + strings.Repeat(" a AT TIME ZONE", n),
		"SELECT * FROM t PARTITION BY" + strings.Repeat(" /*+ OPTIONS('a'='b') */", n),
	} {
		if _, err := ParseOne(text, Options{}); err == nil {
			t.Errorf("read %.60s…", text)
		}
		Split(text, Options{})
	}
	// Chains as long as programs write them are read.
	m := 5000
	for _, text := range []string{
		"SELECT * FROM t WHERE a = 1" + strings.Repeat(" OR a = 2", m),
		"SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", m),
		"SELECT * FROM t WHERE a IN (1" + strings.Repeat(", 2", 5*m) + ")",
		"INSERT INTO t VALUES (1)" + strings.Repeat(", (2)", 5*m),
		"SELECT '" + strings.Repeat("x", 50*m) + "'" + strings.Repeat(" 'y'", m),
	} {
		s, err := ParseOne(text, Options{})
		if err != nil {
			t.Errorf("%.60s…: %v", text, err)
		} else if err := roundTrip(s.Statement); err != nil {
			t.Errorf("%.60s…: %.200v", text, err)
		}
	}
}

func TestWalkAndRewrite(t *testing.T) {
	for _, name := range []string{"mysql.sql", "lake.sql"} {
		for _, text := range fileStatements(t, name) {
			s, err := ParseOne(text, Options{})
			if err != nil {
				t.Fatal(err)
			}
			before := String(s.Statement)
			same := Rewrite(s.Statement, func(e Expr) Expr { return e })
			if same != s.Statement {
				t.Errorf("%s: copied though nothing changed", text)
			}
			n := 0
			out := Rewrite(s.Statement, func(e Expr) Expr {
				if l, ok := e.(*NumberLit); ok {
					n++
					return &NumberLit{l.At, l.Kind, "7" + l.Text}
				}
				return e
			})
			if (n > 0) != (out != s.Statement) || String(s.Statement) != before {
				t.Errorf("%s: rewritten to %s, original now %s", text, String(out), String(s.Statement))
			}
			if want := countLiterals(s.Statement); n != want {
				t.Errorf("%s: rewrote %d numbers of %d", text, n, want)
			}
			walked := 0
			Walk(s.Statement, func(n Node) bool {
				if _, ok := n.(*NumberLit); ok {
					walked++
				}
				return true
			})
			if walked != n {
				t.Errorf("%s: walked over %d numbers of %d", text, walked, n)
			}
		}
	}
}

// countLiterals counts numbers by reflection, to check the generated walkers.
func countLiterals(v any) int {
	n := 0
	var visit func(reflect.Value)
	visit = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Interface, reflect.Pointer:
			if v.IsNil() {
				return
			}
			if _, ok := v.Interface().(*NumberLit); ok && v.Kind() == reflect.Pointer {
				n++
			}
			visit(v.Elem())
		case reflect.Slice:
			for i := 0; i < v.Len(); i++ {
				visit(v.Index(i))
			}
		case reflect.Struct:
			for i := 0; i < v.NumField(); i++ {
				if v.Type().Field(i).IsExported() {
					visit(v.Field(i))
				}
			}
		}
	}
	visit(reflect.ValueOf(v))
	return n
}

// TestWords checks that every word the parser looks for is a keyword: others
// are never found.
func TestWords(t *testing.T) {
	files, err := filepath.Glob("parse*.go")
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile(`"([A-Z][A-Z_0-9]*)"`)
	for _, f := range append(files, "split.go") {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range word.FindAllStringSubmatch(string(b), -1) {
			if _, ok := keywords[m[1]]; !ok && m[1] != "MAX_" {
				t.Errorf("%s looks for %s, which is not in keywords.go", f, m[1])
			}
		}
	}
}
