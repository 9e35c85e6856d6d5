package plan_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	tables "github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

var update = flag.Bool("update", false, "write the golden files")

// lake has a catalog "lake" with the database "db", and a virtual database.
type lake struct{ cat, virtual *tables.Catalog }

func (l lake) Current() (string, string)                   { return "lake", "db" }
func (l lake) Catalog(name string) (catalog.Catalog, bool) { return l.cat, name == "lake" }
func (l lake) Virtual(db string) (catalog.Catalog, bool) {
	return l.virtual, strings.EqualFold(db, "info")
}
func (l lake) Temporary(db, table string) (catalog.Table, bool) { return nil, false }

func newLake(t testing.TB) lake {
	ctx := context.Background()
	l := lake{tables.NewCatalog(nil, "db", "db.x", "Db"), tables.NewCatalog(nil, "info")}
	make := func(c *tables.Catalog, db, name string, rows int, cols ...catalog.Field) {
		tab, err := c.CreateTable(ctx, catalog.Identifier{Database: db, Table: name}, &catalog.Schema{Fields: cols, PrimaryKeys: []string{"id"}, Options: map[string]string{}}, false)
		if err != nil {
			t.Fatal(err)
		}
		w, err := tab.(connector.Writable).NewWrite(ctx, connector.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		b := &vector.Batch{Seq: -1}
		for _, f := range cols {
			b.Cols = append(b.Cols, f.Type.NewVec(rows))
		}
		for i := range rows {
			for _, v := range b.Cols {
				if v.Kind == vector.I32 {
					v.AppendI32(int32(i))
				} else {
					v.AppendNull()
				}
			}
			b.Len++
		}
		if err := w.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
		m, err := w.PrepareCommit(ctx)
		if err != nil {
			t.Fatal(err)
		}
		k, err := tab.(connector.Writable).NewCommit(ctx, "test")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Commit(ctx, &connector.Committable{Messages: m}); err != nil {
			t.Fatal(err)
		}
	}
	f := func(name string, t catalog.Type) catalog.Field { return catalog.Field{Name: name, Type: t} }
	make(l.cat, "db", "t", 1000, f("id", catalog.TInt), f("a", catalog.TInt), f("b", catalog.TInt), f("c", catalog.TString))
	make(l.cat, "db", "u", 50, f("id", catalog.TInt), f("t_id", catalog.TInt), f("v", catalog.TInt))
	make(l.cat, "db", "Mixed", 1, f("id", catalog.TInt), f("Name", catalog.TInt), f("name", catalog.TInt), f("Other", catalog.TInt))
	make(l.cat, "db.x", "dotted", 1, f("id", catalog.TInt))
	make(l.cat, "Db", "upper", 1, f("id", catalog.TInt))
	make(l.virtual, "info", "facts", 1, f("id", catalog.TInt))
	return l
}

func bind(l lake, text string) (*plan.Query, error) {
	p, err := syntax.ParseOne(text, syntax.Options{})
	if err != nil {
		return nil, err
	}
	return plan.Bind(context.Background(), p.Statement.(*syntax.Query), &plan.Env{Catalogs: l, Expr: expr.NewContext()})
}

// TestPlans freezes the plans of typical statements.
func TestPlans(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "plans.sql"))
	if err != nil {
		t.Fatal(err)
	}
	l := newLake(t)
	var out strings.Builder
	for _, q := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		out.WriteString(q + "\n")
		p, err := bind(l, q)
		if err != nil {
			t.Errorf("%s: %v", q, err)
			continue
		}
		for _, line := range plan.Explain(p) {
			out.WriteString("    " + line + "\n")
		}
	}
	golden := filepath.Join("testdata", "plans.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("the plans changed; look at them and run with -update:\n%s", out.String())
	}
}

func TestNames(t *testing.T) {
	l := newLake(t)
	for _, q := range []string{
		"SELECT id FROM t", "SELECT t.id FROM t", "SELECT db.t.id FROM t", "SELECT lake.db.t.id FROM db.t", "SELECT x.id FROM lake.db.t AS x",
		"SELECT `lake.db`.t.id FROM `lake.db`.t", "SELECT T.ID FROM t T", "SELECT id FROM `db.x`.dotted", "SELECT id FROM Db.upper", "SELECT id FROM info.facts",
		"SELECT id FROM INFO.facts", "SELECT id FROM lake.info.facts", "SELECT Name, name, other FROM Mixed", "SELECT * FROM t a JOIN db.t b ON a.id = b.id",
		"SELECT t.*, u.v FROM t JOIN u", "SELECT db.t.* FROM t", "SELECT snapshot_id FROM t$snapshots", "SELECT snapshot_id FROM db.`t$snapshots`",
		"SELECT a AS x FROM t GROUP BY x", "SELECT a + 1 AS x FROM t GROUP BY a + 1 HAVING x > 1 ORDER BY x", "SELECT a, COUNT(*) FROM t GROUP BY 1 ORDER BY 2",
		"SELECT t.id, MAX(c), b FROM t GROUP BY id", "SELECT id FROM t ORDER BY a", "WITH t AS (SELECT 1 AS z) SELECT z FROM t", "SELECT (SELECT MAX(v) FROM u WHERE u.t_id = t.id) FROM t",
	} {
		if _, err := bind(l, q); err != nil {
			t.Errorf("%s: %v", q, err)
		}
	}
	for q, kind := range map[string]errs.Kind{
		"SELECT nope FROM t":                             errs.UnknownColumn,
		"SELECT t.nope FROM t":                           errs.UnknownColumn,
		"SELECT NAME FROM Mixed":                         errs.AmbiguousColumn,
		"SELECT id FROM t, u":                            errs.AmbiguousColumn,
		"SELECT 1 FROM T":                                errs.UnknownTable,
		"SELECT 1 FROM DB.t":                             errs.UnknownDatabase,
		"SELECT 1 FROM t, t":                             errs.DuplicateAlias,
		"SELECT x.* FROM t":                              errs.UnknownTable,
		"SELECT 1 FROM (SELECT 1)":                       errs.DerivedAlias,
		"SELECT 1 FROM (SELECT 1 AS a, 2 AS a) d":        errs.DuplicateColumn,
		"SELECT * FROM t WHERE COUNT(*) > 1":             errs.InvalidGroupBy,
		"SELECT SUM(COUNT(*)) FROM t":                    errs.InvalidGroupBy,
		"SELECT a, COUNT(*) FROM t":                      errs.MixOfGroup,
		"SELECT b, COUNT(*) FROM t GROUP BY a":           errs.NotInGroupBy,
		"SELECT a FROM t GROUP BY a ORDER BY b":          errs.NotInGroupBy,
		"SELECT a FROM t HAVING b > 1":                   errs.UnknownColumn,
		"SELECT a FROM t GROUP BY 3":                     errs.UnknownColumn,
		"SELECT a FROM t ORDER BY 2":                     errs.UnknownColumn,
		"SELECT DISTINCT a FROM t ORDER BY b":            errs.OrderNotSelected,
		"SELECT (SELECT id, a FROM t)":                   errs.OperandColumns,
		"SELECT 1 IN (SELECT id, a FROM t)":              errs.OperandColumns,
		"SELECT (1, 2) IN (SELECT id FROM t)":            errs.OperandColumns,
		"SELECT id FROM t UNION SELECT id, v FROM u":     errs.SetOpColumns,
		"SELECT a FROM t JOIN u USING (a)":               errs.UnknownColumn,
		"SELECT id FROM t LIMIT 'x'":                     errs.Syntax,
		"WITH a AS (SELECT 1), a AS (SELECT 2) SELECT 1": errs.DuplicateAlias,
		"SELECT 1 FROM t, (SELECT t.id) d":               errs.UnknownColumn,
		"SELECT 1 INTO @a":                               errs.Syntax,
	} {
		if _, err := bind(l, q); !errs.Is(err, kind) {
			t.Errorf("%s: %v (%s), want %s", q, err, errs.KindOf(err), kind)
		}
	}
}

// TestColumns checks what protocols show of result columns.
func TestColumns(t *testing.T) {
	q, err := bind(newLake(t), "SELECT x.id, x.a AS y, x.a + 1, MAX(d.v), 'lit' FROM t x JOIN (SELECT v, t_id FROM u) d ON d.t_id = x.id GROUP BY x.id")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range q.Columns {
		key := ""
		if c.Key {
			key = " key"
		}
		got = append(got, strings.Join([]string{c.Name, c.Database, c.Table, c.OrgTable, c.OrgName}, "|")+key)
	}
	want := "id|db|x|t|id key, y|db|x|t|a, x.a + 1||||, MAX(d.v)||||, lit||||"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("columns\n%s want\n%s", s, want)
	}
}

// TestPrepare checks that a statement can be described before its placeholders
// have values.
func TestPrepare(t *testing.T) {
	l := newLake(t)
	for _, text := range []string{"SELECT id, ? FROM t WHERE a = ? LIMIT ? OFFSET ?", "SELECT * FROM t FOR VERSION AS OF ? WHERE id IN (?, ?)", "SELECT a, SUM(b + ?) FROM t GROUP BY a HAVING SUM(b) > ?"} {
		p, err := syntax.ParseOne(text, syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		env := &plan.Env{Catalogs: l, Expr: expr.NewContext(), Preparing: true}
		if _, err := plan.Bind(context.Background(), p.Statement.(*syntax.Query), env); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		env.Preparing = false
		if _, err := plan.Bind(context.Background(), p.Statement.(*syntax.Query), env); !errs.Is(err, errs.WrongArguments) {
			t.Errorf("%s without values: %v", text, err)
		}
	}
}
