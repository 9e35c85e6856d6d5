package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/server/session"
)

// lake is a warehouse that statements are run on as `thermocline sql --format
// jsonl` runs them.
type lake struct {
	t testing.TB
	s *session.Session
}

func openLakeOf(t testing.TB, warehouse string) *lake {
	t.Helper()
	s, err := openSession(context.Background(), warehouse, "jsonl", nil, memory.New("test", 1<<30), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &lake{t, s}
}

// rows runs a query.
func (l *lake) rows(query string) (testkit.Rows, error) {
	var b bytes.Buffer
	out := bufio.NewWriter(&b)
	if err := runStatement(context.Background(), l.s, query, printJSONL, out); err != nil {
		return testkit.Rows{}, err
	}
	if err := out.Flush(); err != nil {
		return testkit.Rows{}, err
	}
	return testkit.ReadRows(&b)
}

// quote quotes a name.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// queryOf is the statement that reads what e names.
func queryOf(e testkit.Expected) string {
	name := filepath.Base(e.Table)
	if e.Branch != "" {
		name += "$branch_" + e.Branch
	}
	if e.System != "" {
		name += "$" + e.System
	}
	db := strings.TrimSuffix(filepath.Base(filepath.Dir(e.Table)), ".db")
	q := "SELECT * FROM " + quote(db) + "." + quote(name)
	switch e.Ref.Kind {
	case catalog.BySnapshot:
		q += fmt.Sprintf(" FOR VERSION AS OF %d", e.Ref.ID)
	case catalog.ByTag:
		q += " FOR VERSION AS OF '" + e.Ref.Name + "'"
	}
	return q
}

// TestInteropRead reads every table, branch, tag, snapshot and system table that
// Java Paimon wrote, in SQL, and compares its rows and the types of its columns
// with what Java reads. What this version cannot read must be refused by name.
// docs/paimon-support.md says what came of it; THERMOCLINE_UPDATE=1 writes that
// page anew.
func TestInteropRead(t *testing.T) {
	doc := newSupport()
	for _, set := range []string{"paimon-latest", "paimon-java"} {
		root, answers := testkit.Shared(t, "fixtures/"+set), testkit.Shared(t, "fixtures/expected/"+set)
		lakes := map[string]*lake{}
		list, changelogs := testkit.ExpectedReads(t, answers)
		for _, e := range list {
			dir := filepath.Join(root, e.Table)
			warehouse := filepath.Dir(filepath.Dir(dir))
			l := lakes[warehouse]
			if l == nil {
				l = openLakeOf(t, warehouse)
				lakes[warehouse] = l
				defer l.s.Close()
			}
			want := testkit.LoadRows(t, filepath.Join(answers, e.Path+".jsonl"))
			got, err := l.rows(queryOf(e))
			what, refused := testkit.Refusal(err)
			if !refused {
				if err != nil {
					t.Errorf("%s/%s: %v", set, e.Path, err)
				} else if diff := e.Diff(got, want, dir); diff != "" {
					t.Errorf("%s/%s: %s", set, e.Path, diff)
				}
			}
			doc.add(t, set, dir, e, want, what)
		}
		doc.changelogs += changelogs
	}
	if t.Failed() {
		return
	}
	doc.refusals(t)
	testkit.Golden(t, filepath.Join(testkit.Root(), "docs", "paimon-support.md"), strings.Split(strings.TrimSuffix(doc.page(), "\n"), "\n"))
}

// refusedTables are tables that nothing in the fixtures stands for: an option, or
// a column's type, and what a query of such a table says.
var refusedTables = []struct{ key, options, typ string }{
	{"option", `"merge-engine":"unknown"`, `"INT"`},
	{"option", `"pk-clustering-override":"true"`, `"INT"`},
	{"option", `"postpone.merge-on-read":"true"`, `"INT"`},
	{"option", `"sequence.snapshot-ordering":"true"`, `"INT"`},
	{"option", `"chain-table.enabled":"true"`, `"INT"`},
	{"option", `"query-auth.enabled":"true"`, `"INT"`},
	{"option", `"type":"format-table"`, `"INT"`},
	{"option", `"type":"object-table"`, `"INT"`},
	{"type", ``, `"GEOMETRY(OGC:CRS84)"`},
	{"type", ``, `"GEOGRAPHY(OGC:CRS84, spherical)"`},
}

// refusals reads tables that must be refused.
func (d *support) refusals(t *testing.T) {
	t.Helper()
	for _, r := range refusedTables {
		root := t.TempDir()
		dir := filepath.Join(root, "d.db", "t", "schema")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`{"version":3,"id":0,"fields":[{"id":0,"name":"k","type":"INT NOT NULL"},{"id":1,"name":"v","type":%s}],"highestFieldId":1,`+
			`"partitionKeys":[],"primaryKeys":["k"],"options":{%s},"timeMillis":0}`, r.typ, r.options)
		if err := os.WriteFile(filepath.Join(dir, "schema-0"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		l := openLakeOf(t, root)
		_, err := l.rows("SELECT * FROM d.t")
		l.s.Close()
		what, ok := testkit.Refusal(err)
		if !ok {
			t.Errorf("a table with %s and the type %s is not refused: %v", r.options, r.typ, err)
			continue
		}
		d.named = append(d.named, what)
	}
}

// TestLosslessColumns reads stored columns through all that passes rows on:
// nested values and nanoseconds stay as they are stored.
func TestLosslessColumns(t *testing.T) {
	l := openLakeOf(t, testkit.Shared(t, "fixtures/paimon-latest/types_append_orc"))
	defer l.s.Close()
	const cols = "id, ts9, lz9, ars, m, ro"
	want, err := l.rows("SELECT " + cols + " FROM `default`.t ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		"SELECT " + cols + " FROM (SELECT * FROM `default`.t) x ORDER BY id",
		"SELECT " + cols + " FROM (SELECT ts9, lz9, ars, m, ro, id, ROW_NUMBER() OVER (ORDER BY ts9) n FROM `default`.t) x ORDER BY id LIMIT 1000",
		"SELECT a.id, ts9, lz9, ars, m, ro FROM `default`.t a JOIN (SELECT id FROM `default`.t) b ON a.id = b.id ORDER BY a.id",
		"WITH x AS (SELECT * FROM `default`.t) SELECT " + cols + " FROM x WHERE ts9 IS NULL OR ts9 IS NOT NULL ORDER BY id, ts9, m",
	} {
		got, err := l.rows(q)
		if err != nil {
			t.Errorf("%s: %v", q, err)
		} else if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s:\n got %v\nwant %v", q, got, want)
		}
	}
	// What is computed has SQL's form.
	got, err := l.rows("SELECT MAX(ts9), COUNT(DISTINCT m) FROM `default`.t")
	if err != nil || got.Columns[0].Type != "TIMESTAMP(6)" {
		t.Errorf("%v, %v", got, err)
	}
}
