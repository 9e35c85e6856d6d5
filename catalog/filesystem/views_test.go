package filesystem

import (
	"fmt"
	"sync"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

func TestViews(t *testing.T) {
	stores(t, func(t *testing.T, files fileio.FileIO, root string) {
		c := newCatalog(t, files, root)
		for _, d := range []string{"d", "e f"} {
			if err := c.CreateDatabase(ctx, d, false); err != nil {
				t.Fatal(err)
			}
		}
		view := func(db, name, q string) *catalog.View {
			return &catalog.View{Database: db, Name: name, Query: q, Columns: []string{"a"}, Definer: "root@localhost"}
		}
		for _, v := range []*catalog.View{view("d", "v", "SELECT 1"), view("d", "ü/%x", "SELECT 2"), view("e f", "v", "SELECT 3")} {
			err := c.CreateView(ctx, v, false)
			if v.Name == "ü/%x" {
				kind(t, err, errs.InvalidTable, "slashes")
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		kind(t, c.CreateView(ctx, view("d", "v", "SELECT 4"), false), errs.TableExists, "'v'")
		kind(t, c.CreateView(ctx, view("x", "v", "SELECT 4"), false), errs.UnknownDatabase, "x")
		if err := c.CreateView(ctx, view("d", "v", "SELECT 5"), true); err != nil {
			t.Fatal(err)
		}
		v, err := newCatalog(t, files, root).View(ctx, "d", "v")
		if err != nil || v.Query != "SELECT 5" || v.Definer != "root@localhost" || fmt.Sprint(v.Columns) != "[a]" || v.Name != "v" || v.Database != "d" {
			t.Errorf("%+v %v", v, err)
		}
		// Names of tables and views do not collide.
		if _, err := c.CreateTable(ctx, catalog.Identifier{Database: "d", Table: "t"}, schema(), false); err != nil {
			t.Fatal(err)
		}
		kind(t, c.CreateView(ctx, view("d", "t", "SELECT 1"), false), errs.TableExists, "'t'")
		kind(t, c.CreateView(ctx, view("d", "t", "SELECT 1"), true), errs.WrongObject, "d.t")
		_, err = c.CreateTable(ctx, catalog.Identifier{Database: "d", Table: "v"}, schema(), true)
		kind(t, err, errs.TableExists, "'v'")
		if l, err := c.Tables(ctx, "d"); err != nil || fmt.Sprint(l) != "[t]" {
			t.Errorf("%v %v", l, err)
		}
		if err := c.DropView(ctx, "d", "v"); err != nil {
			t.Fatal(err)
		}
		kind(t, c.DropView(ctx, "d", "v"), errs.UnknownTable, "d.v")
		_, err = c.View(ctx, "d", "v")
		kind(t, err, errs.UnknownTable, "d.v")
		if err := c.CreateView(ctx, view("d", "v", "SELECT 6"), false); err != nil {
			t.Fatal(err)
		}
		if l, err := c.Views(ctx, "d"); err != nil || fmt.Sprint(l) != "[v]" {
			t.Errorf("%v %v", l, err)
		}
		kind(t, c.DropDatabase(ctx, "e f", false), errs.DatabaseNotEmpty, "view")
		if err := c.DropDatabase(ctx, "d", true); err != nil {
			t.Fatal(err)
		}
		if err := c.CreateDatabase(ctx, "d", false); err != nil {
			t.Fatal(err)
		}
		if l, err := c.Views(ctx, "d"); err != nil || len(l) != 0 {
			t.Errorf("%v %v", l, err)
		}
	})
}

// TestViewsTogether: of views made at once under one name one is made; changes at
// once follow each other.
func TestViewsTogether(t *testing.T) {
	stores(t, func(t *testing.T, files fileio.FileIO, root string) {
		c := newCatalog(t, files, root)
		if err := c.CreateDatabase(ctx, "d", false); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		made := make([]error, 8)
		for i := range made {
			wg.Add(1)
			go func() {
				defer wg.Done()
				made[i] = newCatalog(t, files, root).CreateView(ctx, &catalog.View{Database: "d", Name: "v", Query: fmt.Sprint("SELECT ", i)}, false)
			}()
		}
		wg.Wait()
		winner := -1
		for i, err := range made {
			switch {
			case err == nil && winner < 0:
				winner = i
			case err == nil:
				t.Errorf("%d and %d were both made", winner, i)
			default:
				kind(t, err, errs.TableExists, "'v'")
			}
		}
		if v, err := c.View(ctx, "d", "v"); err != nil || v.Query != fmt.Sprint("SELECT ", winner) {
			t.Errorf("%+v %v, made by %d", v, err, winner)
		}
	})
}

// TestViewCorrupt: a broken file is an error that names it.
func TestViewCorrupt(t *testing.T) {
	files := fileio.NewMemory()
	c := newCatalog(t, files, "/lake")
	if err := c.CreateDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]errs.Class{`{`: errs.Corruption, `{"format":1}`: errs.Corruption, `{"format":2,"Query":"x"}`: errs.Unsupported} {
		if err := files.WriteFile(ctx, "/lake/_thermocline/views/d/v/1", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.View(ctx, "d", "v"); errs.ClassOf(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
