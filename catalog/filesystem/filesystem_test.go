package filesystem

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
)

var ctx = context.Background()

func stores(t *testing.T, f func(t *testing.T, files fileio.FileIO, root string)) {
	t.Run("local", func(t *testing.T) { f(t, fileio.Local{NoSync: true}, t.TempDir()) })
	t.Run("memory", func(t *testing.T) { f(t, fileio.NewMemory(), "/lake") })
}

func newCatalog(t *testing.T, files fileio.FileIO, root string) *Catalog {
	t.Helper()
	c, err := Open(Config{Files: files, Warehouse: root, Driver: paimon.NewDriver(paimon.Config{Files: files, Formats: format.NewRegistry(parquet.Format{})})})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func schema() *catalog.Schema {
	return &catalog.Schema{Fields: []catalog.Field{
		{Name: "id", Type: catalog.TInt},
		{Name: "r", Type: catalog.Type{Kind: catalog.Row, Fields: []catalog.Field{{Name: "x", Type: catalog.TInt}, {Name: "y", Type: catalog.TString}}}},
		{Name: "p", Type: catalog.TString},
	}, PrimaryKeys: []string{"id", "p"}, PartitionKeys: []string{"p"}, Options: map[string]string{"bucket": "2"}, Comment: "a table"}
}

func kind(t *testing.T, err error, k errs.Kind, text string) {
	t.Helper()
	if !errs.Is(err, k) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v (%s), want kind %s and %q", err, errs.KindOf(err), k, text)
	}
}

func TestLifeOfTables(t *testing.T) {
	stores(t, func(t *testing.T, files fileio.FileIO, root string) {
		c := newCatalog(t, files, root)
		if l, err := c.Databases(ctx); err != nil || len(l) != 0 {
			t.Fatal(l, err)
		}
		if _, err := c.Tables(ctx, "sales"); true {
			kind(t, err, errs.UnknownDatabase, "Unknown database 'sales'")
		}
		if err := c.CreateDatabase(ctx, "sales", false); err != nil {
			t.Fatal(err)
		}
		kind(t, c.CreateDatabase(ctx, "sales", false), errs.DatabaseExists, "sales")
		if err := c.CreateDatabase(ctx, "sales", true); err != nil {
			t.Fatal(err)
		}
		if l, err := c.Databases(ctx); err != nil || fmt.Sprint(l) != "[sales]" {
			t.Fatal(l, err)
		}
		id := catalog.Identifier{Database: "sales", Table: "orders"}
		tb, err := c.CreateTable(ctx, id, schema(), false)
		if err != nil {
			t.Fatal(err)
		}
		s := tb.Schema()
		if s.HighestFieldID != 4 || s.Fields[1].ID != 1 || s.Fields[1].Type.Fields[1].ID != 3 || s.Fields[2].ID != 4 {
			t.Errorf("ids: %+v", s.Fields)
		}
		if !s.Fields[0].Type.NotNull || !s.Fields[2].Type.NotNull || s.Fields[1].Type.NotNull || s.Comment != "a table" || s.Options[paimon.MaintenanceOption] != "true" {
			t.Errorf("schema: %+v", s)
		}
		if _, err := c.CreateTable(ctx, id, schema(), false); true {
			kind(t, err, errs.TableExists, "sales.orders")
		}
		again, err := c.CreateTable(ctx, id, schema(), true)
		if err != nil || again.UUID() != tb.UUID() || again.UUID() == "" {
			t.Fatal(err, again)
		}
		snap, err := tb.(connector.Readable).Snapshot(ctx, catalog.Ref{})
		if err != nil || snap.Version() != 0 {
			t.Fatal(err, snap)
		}
		if n, exact, err := snap.RowCount(ctx); n != 0 || !exact || err != nil {
			t.Error(n, exact, err)
		}
		if l, err := c.Tables(ctx, "sales"); err != nil || fmt.Sprint(l) != "[orders]" {
			t.Fatal(l, err)
		}
		for _, x := range []struct {
			id   catalog.Identifier
			kind errs.Kind
			text string
		}{
			{catalog.Identifier{Database: "sale", Table: "orders"}, errs.UnknownDatabase, "did you mean 'sales'?"},
			{catalog.Identifier{Database: "sales", Table: "order"}, errs.UnknownTable, "did you mean 'orders'?"},
			{catalog.Identifier{Database: "sales", Table: "xyz"}, errs.UnknownTable, "'sales.xyz' doesn't exist"},
			{catalog.Identifier{Database: "sales", Table: "../x"}, errs.UnknownTable, ""},
			{catalog.Identifier{Database: "../x", Table: "x"}, errs.UnknownDatabase, ""},
			{catalog.Identifier{Database: "sales", Table: "orders", Branch: "b"}, errs.UnknownTable, "branch"},
			{catalog.Identifier{Database: "sales", Table: "orders", System: "snapshot"}, errs.UnknownTable, "snapshots"},
			{catalog.Identifier{Database: "sales", Table: "orders", System: "file_index"}, errs.UnknownTable, "file_indexes"},
		} {
			_, err := c.Table(ctx, x.id)
			kind(t, err, x.kind, x.text)
		}
		if _, err := c.Table(ctx, catalog.Identifier{Database: "sales", Table: "orders", System: "schemas"}); err != nil {
			t.Error(err)
		}
		kind(t, c.DropDatabase(ctx, "sales", false), errs.DatabaseNotEmpty, "CASCADE")
		if err := c.DropTable(ctx, id); err != nil {
			t.Fatal(err)
		}
		kind(t, c.DropTable(ctx, id), errs.UnknownTable, "sales.orders")
		if _, err := c.CreateTable(ctx, id, schema(), false); err != nil {
			t.Fatal(err)
		}
		if err := c.DropDatabase(ctx, "sales", true); err != nil {
			t.Fatal(err)
		}
		kind(t, c.DropDatabase(ctx, "sales", true), errs.UnknownDatabase, "sales")
		if l, err := files.List(ctx, root); err != nil || len(l) != 0 {
			t.Error(l, err)
		}
	})
}

func TestInvalidTables(t *testing.T) {
	stores(t, func(t *testing.T, files fileio.FileIO, root string) {
		c := newCatalog(t, files, root)
		if err := c.CreateDatabase(ctx, "d", false); err != nil {
			t.Fatal(err)
		}
		for name, x := range map[string]struct {
			change func(s *catalog.Schema)
			kind   errs.Kind
			text   string
		}{
			"no columns":        {func(s *catalog.Schema) { s.Fields = nil }, errs.InvalidTable, "column"},
			"twice":             {func(s *catalog.Schema) { s.Fields[1].Name = "id" }, errs.DuplicateColumn, `"id"`},
			"reserved":          {func(s *catalog.Schema) { s.Fields[1].Name = "_VALUE_KIND" }, errs.InvalidTable, "reserved"},
			"reserved prefix":   {func(s *catalog.Schema) { s.Fields[1].Name = "_KEY_x" }, errs.InvalidTable, "reserved"},
			"missing key":       {func(s *catalog.Schema) { s.PrimaryKeys = []string{"idd", "p"} }, errs.KeyColumnMissing, `"idd"`},
			"missing partition": {func(s *catalog.Schema) { s.PartitionKeys = []string{"q"} }, errs.KeyColumnMissing, `"q"`},
			"nested key":        {func(s *catalog.Schema) { s.PrimaryKeys = []string{"r", "p"} }, errs.InvalidTable, "ROW"},
			"only partitions":   {func(s *catalog.Schema) { s.PrimaryKeys = []string{"p"} }, errs.WrongPrimaryKey, "partition"},
			"bucket 0":          {func(s *catalog.Schema) { s.Options["bucket"] = "0" }, errs.InvalidTable, "'bucket' = '0'"},
			"bucket text":       {func(s *catalog.Schema) { s.Options["bucket"] = "many" }, errs.InvalidConfig, "many"},
			"bucket key":        {func(s *catalog.Schema) { s.Options["bucket-key"] = "r" }, errs.InvalidTable, "primary key"},
			"bucket partition":  {func(s *catalog.Schema) { s.Options["bucket-key"] = "p" }, errs.InvalidTable, "partition"},
			"bucket missing":    {func(s *catalog.Schema) { s.Options["bucket-key"] = "z" }, errs.KeyColumnMissing, `"z"`},
			"unaware key":       {func(s *catalog.Schema) { s.Options["bucket"], s.Options["bucket-key"] = "-1", "id" }, errs.InvalidTable, "fixed"},
			"append buckets":    {func(s *catalog.Schema) { s.PrimaryKeys = nil }, errs.InvalidTable, "bucket-key"},
			"producer":          {func(s *catalog.Schema) { s.Options["changelog-producer"] = "log" }, errs.InvalidTable, "log"},
			"engine":            {func(s *catalog.Schema) { s.Options["merge-engine"] = "dedup" }, errs.InvalidTable, "dedup"},
			"first row":         {func(s *catalog.Schema) { s.Options["merge-engine"], s.Options["sequence.field"] = "first-row", "id" }, errs.InvalidTable, "first-row"},
			"sequence":          {func(s *catalog.Schema) { s.Options["sequence.field"] = "nope" }, errs.KeyColumnMissing, "nope"},
			"keys twice":        {func(s *catalog.Schema) { s.Options["primary-key"] = "id" }, errs.InvalidTable, "primary-key"},
			"ids":               {func(s *catalog.Schema) { s.Fields[0].ID, s.Fields[1].ID = 5, 5 }, errs.InvalidTable, "field id"},
		} {
			s := schema()
			x.change(s)
			_, err := c.CreateTable(ctx, catalog.Identifier{Database: "d", Table: "t"}, s, false)
			if !errs.Is(err, x.kind) || !strings.Contains(fmt.Sprint(err), x.text) {
				t.Errorf("%s: error %v, want kind %s and %q", name, err, x.kind, x.text)
			}
		}
		for _, n := range []string{"", ".t", "a/b", "a$b"} {
			if _, err := c.CreateTable(ctx, catalog.Identifier{Database: "d", Table: n}, schema(), false); !errs.Is(err, errs.InvalidTable) {
				t.Errorf("%q: %v", n, err)
			}
		}
		if l, err := c.Tables(ctx, "d"); err != nil || len(l) != 0 {
			t.Error(l, err)
		}
		s := schema()
		s.PrimaryKeys, s.PartitionKeys = nil, nil
		s.Options["primary-key"], s.Options["partition"] = "id, p", "p"
		tb, err := c.CreateTable(ctx, catalog.Identifier{Database: "d", Table: "t"}, s, false)
		if err != nil || fmt.Sprint(tb.Schema().PrimaryKeys, tb.Schema().PartitionKeys) != "[id p] [p]" || tb.Schema().Options["primary-key"] != "" {
			t.Error(err, tb)
		}
	})
}

// TestRace makes one table from many goroutines: one wins.
func TestRace(t *testing.T) {
	stores(t, func(t *testing.T, files fileio.FileIO, root string) {
		c := newCatalog(t, files, root)
		if err := c.CreateDatabase(ctx, "d", false); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		uuids := make([]string, 8)
		won := make([]bool, len(uuids))
		for i := range uuids {
			wg.Go(func() {
				s := schema()
				s.Comment = fmt.Sprint(i)
				id := catalog.Identifier{Database: "d", Table: "t"}
				_, err := c.CreateTable(ctx, id, s, false)
				won[i] = err == nil
				if err != nil && !errs.Is(err, errs.TableExists) {
					t.Error(err)
				}
				tb, err := c.CreateTable(ctx, id, s, true)
				if err != nil {
					t.Error(err)
					return
				}
				uuids[i] = tb.UUID()
			})
		}
		wg.Wait()
		n := 0
		for i, u := range uuids {
			if u != uuids[0] {
				t.Error("different tables")
			}
			if won[i] {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d creators won", n)
		}
	})
}

// TestLostReply makes a table in a store that loses the reply of the creation.
func TestLostReply(t *testing.T) {
	files := fileio.NewMemory()
	c := newCatalog(t, files, "/lake")
	if err := c.CreateDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	files.SetFault(func(op fileio.Op) fileio.Outcome {
		if op.Changes() && strings.HasSuffix(op.Path, "schema-0") {
			return fileio.FailAfter
		}
		return fileio.Proceed
	})
	if _, err := c.CreateTable(ctx, catalog.Identifier{Database: "d", Table: "t"}, schema(), false); err != nil {
		t.Error(err)
	}
}

// TestJavaWarehouse lists a warehouse that Flink made.
func TestJavaWarehouse(t *testing.T) {
	c := newCatalog(t, fileio.Local{}, testkit.Shared(t, "fixtures/flink-paimon/quickstart"))
	if l, err := c.Databases(ctx); err != nil || fmt.Sprint(l) != "[dwd]" {
		t.Fatal(l, err)
	}
	l, err := c.Tables(ctx, "dwd")
	if err != nil || len(l) == 0 {
		t.Fatal(l, err)
	}
	for _, n := range l {
		if _, err := c.Table(ctx, catalog.Identifier{Database: "dwd", Table: n}); err != nil {
			t.Error(err)
		}
	}
}
