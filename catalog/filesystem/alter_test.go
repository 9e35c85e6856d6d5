package filesystem

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

func str(s string) *string { return &s }

// altered opens a table and returns its columns as one text.
func altered(t *testing.T, c *Catalog, id catalog.Identifier) (*catalog.Schema, string) {
	t.Helper()
	tb, err := c.Table(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, f := range tb.Schema().Fields {
		parts = append(parts, fmt.Sprintf("%d %s %s", f.ID, f.Name, f.Type))
	}
	return tb.Schema(), strings.Join(parts, "; ")
}

func TestAlter(t *testing.T) {
	stores(t, func(t *testing.T, files fileio.FileIO, root string) {
		c := newCatalog(t, files, root)
		if err := c.CreateDatabase(ctx, "d", false); err != nil {
			t.Fatal(err)
		}
		id := catalog.Identifier{Database: "d", Table: "t"}
		kind(t, c.AlterTable(ctx, id, nil), errs.UnknownTable, "d.t")
		if _, err := c.CreateTable(ctx, id, schema(), false); err != nil {
			t.Fatal(err)
		}
		err := c.AlterTable(ctx, id, []catalog.SchemaChange{
			{Kind: catalog.AddColumn, Path: []string{"u"}, Type: catalog.TDecimal(20, 0), MySQLType: "bigint unsigned", Position: &catalog.ColumnPosition{After: "id"}},
			{Kind: catalog.AddColumn, Path: []string{"r", "z"}, Type: catalog.TDate, Position: &catalog.ColumnPosition{First: true}},
			{Kind: catalog.SetColumnDefault, Path: []string{"u"}, Value: str("7")},
			{Kind: catalog.SetTableComment, Value: str("changed")},
		})
		if err != nil {
			t.Fatal(err)
		}
		s, text := altered(t, c, id)
		if text != "0 id INT NOT NULL; 5 u DECIMAL(20, 0); 1 r ROW<`z` DATE, `x` INT, `y` STRING>; 4 p STRING NOT NULL" ||
			s.ID != 1 || s.HighestFieldID != 6 || s.Options["mysql.type.5"] != "bigint unsigned" || s.Comment != "changed" || *s.Fields[1].Default != "7" {
			t.Errorf("%s\n%+v", text, s)
		}
		// A change of nothing writes nothing.
		if err := c.AlterTable(ctx, id, []catalog.SchemaChange{{Kind: catalog.SetTableComment, Value: str("changed")}}); err != nil {
			t.Fatal(err)
		}
		if s, _ := altered(t, c, id); s.ID != 1 {
			t.Errorf("schema %d", s.ID)
		}
		// All or none.
		kind(t, c.AlterTable(ctx, id, []catalog.SchemaChange{{Kind: catalog.DropColumn, Path: []string{"u"}}, {Kind: catalog.DropColumn, Path: []string{"id"}}}),
			errs.ForbiddenChange, "primary key")
		kind(t, c.AlterTable(ctx, id, []catalog.SchemaChange{{Kind: catalog.DropColumn, Path: []string{"q"}}}), errs.UnknownColumn, "'q'")
		// A ROW gets another shape: members are matched by name.
		row := catalog.Type{Kind: catalog.Row, Fields: []catalog.Field{{Name: "x", Type: catalog.TBigInt}, {Name: "n", Type: catalog.TString}}}
		err = c.AlterTable(ctx, id, []catalog.SchemaChange{
			{Kind: catalog.SetColumnType, Path: []string{"r"}, Type: row},
			{Kind: catalog.SetColumnType, Path: []string{"u"}, Type: catalog.TString, MySQLType: "varchar(10) collate utf8mb4_general_ci"},
		})
		if err != nil {
			t.Fatal(err)
		}
		s, text = altered(t, c, id)
		if text != "0 id INT NOT NULL; 5 u STRING; 1 r ROW<`x` BIGINT, `n` STRING>; 4 p STRING NOT NULL" || s.Fields[2].Type.Fields[0].ID != 2 ||
			s.Fields[2].Type.Fields[1].ID != 7 || s.Options["mysql.type.5"] != "varchar(10) collate utf8mb4_general_ci" {
			t.Errorf("%s\n%+v", text, s)
		}
		if err := c.AlterTable(ctx, id, []catalog.SchemaChange{{Kind: catalog.DropColumn, Path: []string{"u"}}}); err != nil {
			t.Fatal(err)
		}
		if s, _ := altered(t, c, id); s.Options["mysql.type.5"] != "" || s.HighestFieldID != 7 {
			t.Errorf("%+v", s)
		}
	})
}

// TestAlterTogether lets many change one table at once: all changes are there
// afterwards, in schemas without a gap.
func TestAlterTogether(t *testing.T) {
	stores(t, func(t *testing.T, files fileio.FileIO, root string) {
		c := newCatalog(t, files, root)
		id := catalog.Identifier{Database: "d", Table: "t"}
		if err := c.CreateDatabase(ctx, "d", false); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CreateTable(ctx, id, schema(), false); err != nil {
			t.Fatal(err)
		}
		const n = 12
		var wg sync.WaitGroup
		for i := range n {
			wg.Add(1)
			go func() {
				defer wg.Done()
				other := newCatalog(t, files, root)
				if err := other.AlterTable(ctx, id, []catalog.SchemaChange{{Kind: catalog.AddColumn, Path: []string{fmt.Sprintf("c%d", i)}, Type: catalog.TInt}}); err != nil {
					t.Error(err)
				}
			}()
		}
		wg.Wait()
		s, text := altered(t, c, id)
		seen := map[int]bool{}
		for _, f := range s.Fields {
			seen[f.ID] = true
		}
		if s.ID != n || len(s.Fields) != n+3 || len(seen) != n+3 || s.HighestFieldID != 4+n {
			t.Errorf("%d %s", s.ID, text)
		}
	})
}

// TestAlterCrash stops the process at every change of the store: the schema is
// the old or the new one, and asking again gives the new one.
func TestAlterCrash(t *testing.T) {
	base := fileio.NewMemory()
	id := catalog.Identifier{Database: "d", Table: "t"}
	c := newCatalog(t, base, "/lake")
	if err := c.CreateDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateTable(ctx, id, schema(), false); err != nil {
		t.Fatal(err)
	}
	add := []catalog.SchemaChange{{Kind: catalog.AddColumn, Path: []string{"n"}, Type: catalog.TInt}}
	crashed := 0
	for at := 1; ; at++ {
		for _, after := range []bool{false, true} {
			files := base.Clone()
			files.CrashAt(at, after)
			err := newCatalog(t, files, "/lake").AlterTable(ctx, id, add)
			if !files.Crashed() {
				if err != nil || crashed == 0 {
					t.Fatal(err, crashed)
				}
				return
			}
			crashed++
			files.Restart()
			c := newCatalog(t, files, "/lake")
			s, _ := altered(t, c, id)
			if got := s.Column("n") >= 0; got != after {
				t.Errorf("change %d, after %v: the column is there: %v", at, after, got)
			}
			err = c.AlterTable(ctx, id, add)
			if after {
				kind(t, err, errs.DuplicateColumn, "'n'")
			} else if err != nil {
				t.Error(err)
			}
		}
	}
}

// TestAlterLostReply gives the change the reply "unknown": the file decides.
func TestAlterLostReply(t *testing.T) {
	files := fileio.NewMemory()
	id := catalog.Identifier{Database: "d", Table: "t"}
	c := newCatalog(t, files, "/lake")
	if err := c.CreateDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateTable(ctx, id, schema(), false); err != nil {
		t.Fatal(err)
	}
	files.SetFault(func(o fileio.Op) fileio.Outcome {
		if o.Verb == "exclusive" {
			return fileio.FailAfter
		}
		return fileio.Proceed
	})
	if err := c.AlterTable(ctx, id, []catalog.SchemaChange{{Kind: catalog.AddColumn, Path: []string{"n"}, Type: catalog.TInt}}); err != nil {
		t.Fatal(err)
	}
	if s, _ := altered(t, c, id); s.ID != 1 || s.Column("n") < 0 {
		t.Errorf("%+v", s)
	}
}

func TestRename(t *testing.T) {
	stores(t, func(t *testing.T, files fileio.FileIO, root string) {
		c := newCatalog(t, files, root)
		for _, d := range []string{"d", "e"} {
			if err := c.CreateDatabase(ctx, d, false); err != nil {
				t.Fatal(err)
			}
		}
		a, b := catalog.Identifier{Database: "d", Table: "a"}, catalog.Identifier{Database: "d", Table: "b"}
		for _, id := range []catalog.Identifier{a, b} {
			if _, err := c.CreateTable(ctx, id, schema(), false); err != nil {
				t.Fatal(err)
			}
		}
		before, err := c.Table(ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		kind(t, c.RenameTable(ctx, a, b), errs.TableExists, "'d.b'")
		kind(t, c.RenameTable(ctx, catalog.Identifier{Database: "d", Table: "x"}, b), errs.UnknownTable, "d.x")
		kind(t, c.RenameTable(ctx, a, catalog.Identifier{Database: "nowhere", Table: "a"}), errs.UnknownDatabase, "nowhere")
		kind(t, c.RenameTable(ctx, a, catalog.Identifier{Database: "d", Table: "a$b"}), errs.InvalidTable, "$")
		to := catalog.Identifier{Database: "e", Table: "c"}
		if err := c.RenameTable(ctx, a, to); err != nil {
			t.Fatal(err)
		}
		after, err := c.Table(ctx, to)
		if err != nil || after.UUID() != before.UUID() {
			t.Errorf("%v", err)
		}
		if l, _ := c.Tables(ctx, "d"); fmt.Sprint(l) != "[b]" {
			t.Errorf("%v", l)
		}
		if _, err := c.Table(ctx, a); !errs.Is(err, errs.UnknownTable) {
			t.Errorf("%v", err)
		}
	})
}

// TestRenameNotEmpty keeps what lies where a table would go.
func TestRenameNotEmpty(t *testing.T) {
	root := t.TempDir()
	c := newCatalog(t, fileio.Local{NoSync: true}, root)
	if err := c.CreateDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	id := catalog.Identifier{Database: "d", Table: "a"}
	if _, err := c.CreateTable(ctx, id, schema(), false); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(root+"/d.db/b", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/d.db/b/precious", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	kind(t, c.RenameTable(ctx, id, catalog.Identifier{Database: "d", Table: "b"}), errs.FileExists, "is no table")
	if _, err := os.Stat(root + "/d.db/b/precious"); err != nil {
		t.Error(err)
	}
}
