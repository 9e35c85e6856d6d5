package paimon_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/spec"
)

// tagged gives files tags of their content, as object stores do.
type tagged struct{ fileio.FileIO }

func (s tagged) tag(ctx context.Context, path string, in *fileio.Info) error {
	if in.Dir {
		return nil
	}
	b, err := s.FileIO.ReadFile(ctx, path)
	in.ETag = fmt.Sprintf("%x", sha256.Sum256(b))
	return err
}

func (s tagged) Stat(ctx context.Context, path string) (fileio.Info, error) {
	in, err := s.FileIO.Stat(ctx, path)
	if err == nil {
		err = s.tag(ctx, path, &in)
	}
	return in, err
}

func (s tagged) List(ctx context.Context, dir string) ([]fileio.Info, error) {
	list, err := s.FileIO.List(ctx, dir)
	for i := range list {
		if err == nil {
			err = s.tag(ctx, dir+"/"+list[i].Name, &list[i])
		}
	}
	return list, err
}

// coarse has a clock that ticks once a second.
type coarse struct{ fileio.FileIO }

func (s coarse) Stat(ctx context.Context, path string) (fileio.Info, error) {
	in, err := s.FileIO.Stat(ctx, path)
	in.ModTime = in.ModTime.Truncate(time.Second)
	return in, err
}

func (s coarse) List(ctx context.Context, dir string) ([]fileio.Info, error) {
	list, err := s.FileIO.List(ctx, dir)
	for i := range list {
		list[i].ModTime = list[i].ModTime.Truncate(time.Second)
	}
	return list, err
}

// now is an opened table whose newest version is asked for as its statement does.
type now struct{ connector.Opened }

func (t now) Snapshot(ctx context.Context, ref catalog.Ref) (connector.Snapshot, error) {
	if ref.Kind != catalog.Latest {
		return t.Opened.Snapshot(ctx, ref)
	}
	return t.Current(ctx)
}

// TestOpened asks tables for their newest version by what was known when they were
// opened, before they were changed: the answer is what a table opened now gives, but
// for a column that nobody has written yet. A file that takes another's name is
// told from it by its tag or time, and one that is too new for that is not relied on.
func TestOpened(t *testing.T) {
	for _, store := range []string{"with tags", "old files", "new files"} {
		t.Run(store, func(t *testing.T) {
			var files fileio.FileIO = fileio.Local{NoSync: true}
			dir := t.TempDir() + "/t"
			switch store {
			case "with tags":
				files, dir = tagged{fileio.NewMemory()}, "/t"
			case "new files":
				files = coarse{files}
			}
			d, reader := driverOver(files), driverOver(files) // the reader's caches are told nothing
			id := catalog.Identifier{Database: "d", Table: "t"}
			// settle makes the files old, as they are after a while.
			settled := map[string]time.Time{}
			settle := func() {
				if store != "old files" {
					return
				}
				err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
					if err != nil {
						return err
					}
					in, err := os.Stat(path)
					if err != nil || in.ModTime().Equal(settled[path]) {
						return err
					}
					settled[path] = in.ModTime().Add(-time.Hour)
					return os.Chtimes(path, time.Time{}, settled[path])
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			create := func(column string) connector.Readable {
				tb, err := d.Create(ctx, dir, id, &catalog.Schema{
					Fields: []catalog.Field{{Name: column, Type: catalog.TInt}}, PrimaryKeys: []string{column}, Options: map[string]string{"bucket": "1"}})
				if err != nil {
					t.Fatal(err)
				}
				return tb
			}
			open := func() connector.Readable {
				tb, err := reader.Open(ctx, dir, id)
				if err != nil {
					t.Fatal(err)
				}
				return tb
			}
			// shown are the columns and rows of a table.
			shown := func(tb connector.Readable) string {
				out, schema, err := rows(tb, catalog.Ref{}, scanOptions{})
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, f := range schema.Fields {
					names = append(names, f.Name)
				}
				return strings.Join(names, ",") + ": " + strings.Join(out, " ")
			}
			check := func(opened connector.Readable, want string) {
				t.Helper()
				for range 2 { // the second time from the cache
					if got := shown(now{opened.(connector.Opened)}); got != want {
						t.Errorf("%s, want %s", got, want)
					}
				}
			}
			tb := create("k")
			settle()
			check(open(), "k: ")

			opened := open()
			write(t, tb, oneColumn(tb, 1), 1, false)
			settle()
			check(opened, "k: [1]")
			write(t, tb, oneColumn(tb, 2), 2, false)
			settle()
			check(opened, "k: [1] [2]")

			// Another snapshot of the same number and size.
			if _, _, err := tb.(*paimon.Table).Maintain().RollbackTo(ctx, 1); err != nil {
				t.Fatal(err)
			}
			write(t, tb, oneColumn(tb, 3), 3, false)
			check(opened, "k: [1] [3]")
			settle()
			check(opened, "k: [1] [3]")

			// A column that no snapshot has yet may be missing, a changed option too.
			if err := d.Alter(ctx, dir, id, []catalog.SchemaChange{{Kind: catalog.AddColumn, Path: []string{"v"}, Type: catalog.TInt}}); err != nil {
				t.Fatal(err)
			}
			settle()
			if got := shown(now{opened.(connector.Opened)}); got != "k: [1] [3]" && got != "k,v: [1,null] [3,null]" {
				t.Error(got)
			}
			check(open(), "k,v: [1,null] [3,null]")
			wide := open()
			b := oneColumn(wide, 4)
			b.Cols = append(b.Cols, catalog.TInt.NewVec(1))
			b.Cols[1].AppendI32(40)
			write(t, wide, b, 4, false)
			settle()
			check(opened, "k,v: [1,null] [3,null] [4,40]")

			// Another table in its place, with a schema of the same id and size.
			if err := d.Drop(ctx, dir); err != nil {
				t.Fatal(err)
			}
			tb = create("a")
			write(t, tb, oneColumn(tb, 5), 1, false)
			settle()
			first := open()
			uuid := first.UUID()
			check(first, "a: [5]")
			if err := d.Drop(ctx, dir); err != nil {
				t.Fatal(err)
			}
			tb = create("b")
			write(t, tb, oneColumn(tb, 6), 1, false)
			check(first, "b: [6]")
			if open().UUID() == uuid {
				t.Error("two tables have one UUID")
			}
			settle()
			check(first, "b: [6]")
		})
	}
}

// TestOpenedAsks counts what a statement asks a store when the table was read
// before: one list of schemas, a look at the newest one, the hint and a look at the
// newest snapshot and at the next, which is not there; nothing of its manifests.
func TestOpenedAsks(t *testing.T) {
	d, c := counted(tagged{fileio.NewMemory()})
	s := &catalog.Schema{Fields: []catalog.Field{{Name: "k", Type: catalog.TInt}}, PrimaryKeys: []string{"k"}, Options: map[string]string{"deletion-vectors.enabled": "true"}}
	tb, err := d.Create(ctx, "/t", catalog.Identifier{Database: "d", Table: "t"}, s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		write(t, tb, oneColumn(tb, int32(i)), int64(i+1), true)
	}
	ask := func() string {
		c.Take()
		tb, err := d.Open(ctx, "/t", catalog.Identifier{Database: "d", Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		snap, err := tb.(connector.Opened).Current(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, n := scanAll(t, snap, connector.ScanRequest{Columns: []int{0}}); n != 3 {
			t.Fatalf("%d rows", n)
		}
		n := c.Take()
		delete(n, "data")
		var out []string
		for _, class := range []string{"schema", "snapshot", "manifest list", "manifest", "index manifest", "index"} {
			if x, ok := n[class]; ok {
				out = append(out, fmt.Sprintf("%s: %d opens %d stats %d lists", class, x.Opens, x.Stats, x.Lists))
			}
			delete(n, class)
		}
		if len(n) > 0 {
			out = append(out, fmt.Sprint(n))
		}
		return strings.Join(out, "; ")
	}
	ask()
	st, err := tb.(*paimon.Table).State(ctx, catalog.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	var indexes []spec.IndexEntry
	if indexes, err = st.Indexes(ctx); err != nil || len(indexes) == 0 {
		t.Fatal("the table has no index manifest", err)
	}
	if got, want := ask(), "schema: 0 opens 1 stats 1 lists; snapshot: 1 opens 2 stats 0 lists"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
