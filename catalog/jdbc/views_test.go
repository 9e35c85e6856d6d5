package jdbc_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

// javaView is a row's view_schema as Java Paimon 2.0.0's JdbcCatalog.createView
// wrote it.
const javaView = "{\n  \"fields\" : [ {\n    \"id\" : 0,\n    \"name\" : \"x\",\n    \"type\" : \"INT\"\n  }, {\n    \"id\" : 1,\n    \"name\" : \"y\",\n    \"type\" : \"STRING\"\n  } ],\n" +
	"  \"query\" : \"SELECT `id`, `n` FROM `d`.`t`\",\n  \"dialects\" : {\n    \"spark\" : \"SELECT id, n FROM d.t\"\n  },\n  \"comment\" : \"made by Java\",\n  \"options\" : { }\n}"

// viewsLive makes, reads, replaces, renames and drops views, and reads one that
// Java made.
func viewsLive(t *testing.T, b backend) {
	c := b.open(t, t.TempDir())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.CreateDatabase(ctx, "d", false))
	_, err := c.CreateTable(ctx, catalog.Identifier{Database: "d", Table: "t"}, &catalog.Schema{Fields: []catalog.Field{{Name: "id", Type: catalog.TInt}}}, false)
	must(err)
	v := &catalog.View{Database: "d", Name: "v", Query: "SELECT id AS a, 'it''s \\ é' AS `b c` FROM d.t", Columns: []string{"a", "b c"}, Definer: "root@localhost", Comment: "why",
		Created: time.Date(2026, 6, 20, 10, 11, 12, 0, time.UTC), Fields: []catalog.Field{{Name: "a", Type: catalog.TInt}, {Name: "b c", Type: catalog.TString.Required()}}}
	must(c.CreateView(ctx, v, false))
	kind(t, c.CreateView(ctx, v, false), errs.TableExists, "v")
	got, err := c.View(ctx, "d", "v")
	must(err)
	if got.Query != v.Query || fmt.Sprint(got.Columns) != "[a b c]" || got.Definer != v.Definer || got.Invoker || got.Comment != "why" || !got.Created.Equal(v.Created) || !got.Fields[1].Type.Equal(v.Fields[1].Type) {
		t.Errorf("%+v", got)
	}
	w := *v
	w.Query, w.Invoker = "SELECT 1 AS a, '2' AS `b c`", true
	must(c.CreateView(ctx, &w, true))
	if got, err = c.View(ctx, "d", "v"); err != nil || got.Query != w.Query || !got.Invoker {
		t.Errorf("%+v %v", got, err)
	}
	// Names of tables and views do not collide, in any direction.
	w.Name = "t"
	kind(t, c.CreateView(ctx, &w, false), errs.TableExists, "t")
	kind(t, c.CreateView(ctx, &w, true), errs.WrongObject, "t")
	kind(t, c.RenameView(ctx, "d", "v", "t"), errs.TableExists, "t")
	_, err = c.CreateTable(ctx, catalog.Identifier{Database: "d", Table: "v"}, &catalog.Schema{Fields: []catalog.Field{{Name: "id", Type: catalog.TInt}}}, false)
	kind(t, err, errs.TableExists, "view")
	must(c.RenameView(ctx, "d", "v", "w"))
	kind(t, c.RenameView(ctx, "d", "v", "x"), errs.UnknownTable, "v")
	if list, err := c.Views(ctx, "d"); err != nil || fmt.Sprint(list) != "[w]" {
		t.Error(list, err)
	}
	if list, err := c.Tables(ctx, "d"); err != nil || fmt.Sprint(list) != "[t]" {
		t.Error(list, err)
	}
	insert := strings.NewReplacer("'", "''").Replace(javaView)
	if !b.sqlite() && !strings.Contains(b.uri, "postgres") {
		insert = strings.ReplaceAll(insert, `\`, `\\`)
	}
	if _, err := b.db(t).Exec("INSERT INTO paimon_views VALUES ('jdbc', 'd', 'j', '" + insert + "')"); err != nil {
		t.Fatal(err)
	}
	got, err = c.View(ctx, "d", "j")
	must(err)
	if got.Query != "SELECT `id`, `n` FROM `d`.`t`" || fmt.Sprint(got.Columns) != "[x y]" || !got.Invoker || got.Comment != "made by Java" {
		t.Errorf("%+v", got)
	}
	if _, err := b.db(t).Exec("UPDATE paimon_views SET view_schema = '{' WHERE view_name = 'j'"); err != nil {
		t.Fatal(err)
	}
	if _, err = c.View(ctx, "d", "j"); errs.ClassOf(err) != errs.Corruption || !strings.Contains(err.Error(), "d.j") {
		t.Error(err)
	}
	must(c.DropView(ctx, "d", "j"))
	kind(t, c.DropView(ctx, "d", "j"), errs.UnknownTable, "j")
	kind(t, c.DropView(ctx, "d", "t"), errs.UnknownTable, "t")
	kind(t, c.DropDatabase(ctx, "d", false), errs.DatabaseNotEmpty, "d")
	must(c.DropDatabase(ctx, "d", true))
	if list, err := c.Databases(ctx); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}

// CALL sys.repair makes the rows of tables whose directories are there.
func TestRepairProcedure(t *testing.T) {
	root := t.TempDir()
	at := func(name string) *backend {
		return &backend{uri: "jdbc:sqlite:" + filepath.Join(root, name+".db")}
	}
	c := openConfig(t, at("one").config(root+"/wh", fileio.Local{NoSync: true}))
	if err := c.CreateDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"a", "b"} {
		if _, err := c.CreateTable(ctx, catalog.Identifier{Database: "d", Table: n}, &catalog.Schema{Fields: []catalog.Field{{Name: "id", Type: catalog.TInt}}}, false); err != nil {
			t.Fatal(err)
		}
	}
	other := openConfig(t, at("two").config(root+"/wh", fileio.Local{NoSync: true})) // the metadata database was lost
	for _, p := range other.Procedures() {
		if p.Name != "repair" {
			continue
		}
		for _, step := range []struct{ arg, want string }{{"d.b", "[b]"}, {"", "[a b]"}, {"d", "[a b]"}} {
			args := map[string]string{}
			if step.arg != "" {
				args[p.Params[0].Name] = step.arg
			}
			if _, err := p.Call(ctx, args); err != nil {
				t.Fatal(step, err)
			}
			if list, err := other.Tables(ctx, "d"); err != nil || fmt.Sprint(list) != step.want {
				t.Error(step, list, err)
			}
		}
		if _, err := p.Call(ctx, map[string]string{p.Params[0].Name: "d.missing"}); err == nil {
			t.Error("a table that is not there was repaired")
		}
		return
	}
	t.Fatal("no procedure repair")
}
