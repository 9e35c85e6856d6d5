package session

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/testkit"
)

// semanticStatements are the statements of the semantics cases.
func semanticStatements(t testing.TB) (out []string) {
	files, err := filepath.Glob(testkit.Testdata("mysql-semantics", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			var c struct{ SQL string }
			if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.ToUpper(c.SQL), "SLEEP") {
				out = append(out, c.SQL)
			}
		}
		f.Close()
	}
	return out
}

// expressions are the texts of a statement's expressions.
func expressions(s syntax.Statement) (out []string) {
	syntax.Walk(s, func(n syntax.Node) bool {
		if e, ok := n.(syntax.Expr); ok {
			out = append(out, syntax.String(e))
		}
		return true
	})
	return out
}

// graft is statement a with one of its expressions replaced by one of b's, or b
// as a whole as a subquery; "" when that gives none.
func graft(a, b string, at, from uint16) string {
	p, err := syntax.ParseOne(a, syntax.Options{})
	if err != nil {
		return ""
	}
	q, err := syntax.ParseOne(b, syntax.Options{})
	if err != nil {
		return ""
	}
	old, other := expressions(p.Statement), expressions(q.Statement)
	if len(old) == 0 || len(other) == 0 {
		return ""
	}
	part := other[int(from)%len(other)]
	if from%16 == 15 {
		part = syntax.String(q.Statement)
	}
	text := syntax.String(p.Statement)
	return strings.Replace(text, old[int(at)%len(old)], "("+part+")", 1+int(at)%2)
}

// FuzzStatements: whatever statement is run is answered, or fails by an error of
// a kind that has a MySQL code: never by an internal one. Statements are made of
// two that MySQL knows, by putting a part of one into the other.
func FuzzStatements(f *testing.F) {
	corpus := semanticStatements(f)
	setup, err := os.ReadFile(testkit.Testdata("mysql-semantics", "setup.sql"))
	if err != nil {
		f.Fatal(err)
	}
	srv := server(f, func(c *Config) {
		c.Catalogs = []NamedCatalog{{Name: "lake", Catalog: memory.NewCatalog(nil, "mysql_semantics")}}
	})
	s := session(f, srv, OpenOptions{Database: "mysql_semantics"})
	for _, q := range strings.Split(string(setup), ";\n") {
		if strings.TrimSpace(q) != "" {
			if _, err := rows(f.Context(), s, q); err != nil {
				f.Fatal(err)
			}
		}
	}
	for i := range 150 {
		f.Add(uint16(i*37), uint16(i*101+7), uint16(i), uint16(i*3+i/7))
	}
	f.Fuzz(func(t *testing.T, a, b, at, from uint16) {
		text := graft(corpus[int(a)%len(corpus)], corpus[int(b)%len(corpus)], at, from)
		if text == "" {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if _, err := rows(ctx, s, text); err != nil && ctx.Err() == nil && errs.ClassOf(err) == errs.Internal {
			t.Errorf("%s\n%v", text, err)
		}
	})
}
