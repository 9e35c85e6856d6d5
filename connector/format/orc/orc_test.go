package orc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/testkit"
)

var ctx = context.Background()

const path = "/f.orc"

func open(t testing.TB, data []byte) fileio.File {
	t.Helper()
	store := fileio.NewMemory()
	if err := store.WriteFile(ctx, path, data); err != nil {
		t.Fatal(err)
	}
	f, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// read returns the rows of a file as text, by default as the columns it
// describes.
func read(t testing.TB, data []byte, opts format.ReadOptions) (out []string, err error) {
	t.Helper()
	rows := int64(-1)
	if opts.Columns == nil {
		f := open(t, data)
		d, err := Format{}.Describe(ctx, f, path)
		if err != nil {
			return nil, err
		}
		f.Close()
		opts.Columns, rows = d.Columns, d.Rows
	}
	budget := memory.New("test", 64<<20)
	opts.Path, opts.Budget, opts.Strict = path, budget, true
	var types []catalog.Type
	for _, c := range opts.Columns {
		types = append(types, c.Type)
	}
	r, err := Format{}.NewReader(ctx, open(t, data), opts)
	if err != nil {
		if budget.Used() != 0 {
			t.Fatalf("%d bytes stay reserved", budget.Used())
		}
		return nil, err
	}
	defer func() {
		if cerr := r.Close(); cerr != nil {
			t.Fatal(cerr)
		}
		if budget.Used() != 0 {
			t.Fatalf("%d bytes stay reserved", budget.Used())
		}
	}()
	if rows >= 0 && r.Rows() != rows {
		t.Fatalf("%d rows, described are %d", r.Rows(), rows)
	}
	for len(out) < 1<<20 {
		b, err := r.Next(ctx)
		if err != nil {
			return out, err
		}
		if b == nil {
			break
		}
		if b.Len == 0 {
			t.Fatal("an empty batch")
		}
		for _, v := range b.Cols {
			if v.Len != b.Len {
				t.Fatalf("a vector of %d rows in a batch of %d", v.Len, b.Len)
			}
		}
		for i := range b.Len {
			out = append(out, string(jsonl.AppendRow(nil, b, i, types)))
		}
	}
	if opts.Parts <= 1 && opts.Filter == nil && int64(len(out)) != r.Rows() && len(out) < 1<<20 {
		t.Fatalf("%d rows delivered of %d", len(out), r.Rows())
	}
	return out, nil
}

// tolerate fails on an error that is not one of a bad file.
func tolerate(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if c := errs.ClassOf(err); c != errs.Corruption && c != errs.Unsupported && c != errs.Resource {
		t.Fatalf("class %s: %v", c, err)
	}
	if errs.ClassOf(err) == errs.Corruption && !strings.Contains(err.Error(), path) {
		t.Fatalf("the error does not name the file: %v", err)
	}
}

func seeds(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("testdata/*.orc")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	out := map[string][]byte{}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(n)] = b
	}
	return out
}

// TestGolden reads files that Java wrote: every type and codec. Whole tables are
// compared with Java's answers in connector/paimon and TestPlainTables.
func TestGolden(t *testing.T) {
	files := seeds(t)
	var lines []string
	names := make([]string, 0, len(files))
	for n := range files {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		rows, err := read(t, files[n], format.ReadOptions{BatchRows: 3})
		if err != nil {
			t.Fatal(n, err)
		}
		lines = append(append(lines, n), rows...)
	}
	got := strings.Join(lines, "\n") + "\n"
	if os.Getenv("THERMOCLINE_UPDATE") != "" {
		if err := os.WriteFile("testdata/rows.golden", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/rows.golden")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// walk calls each for every ORC data file of a folder of tables.
func walk(t *testing.T, root string, each func(path string, data []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".orc") {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		each(p, b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFixtures decodes every data file that Java (and one that C++) wrote.
func TestFixtures(t *testing.T) {
	files, refused := 0, 0
	for _, set := range []string{"paimon-latest", "paimon-java", "iceberg"} {
		walk(t, testkit.Shared(t, "fixtures/"+set), func(p string, b []byte) {
			files++
			_, err := read(t, b, format.ReadOptions{})
			if err != nil && errs.ClassOf(err) == errs.Unsupported && strings.Contains(err.Error(), "TIMESTAMP WITH LOCAL TIME ZONE") {
				refused++
			} else if err != nil {
				t.Errorf("%s: %v", p, err)
			}
		})
	}
	if files < 300 || refused > 8 {
		t.Errorf("%d files, %d refused", files, refused)
	}
}

// TestPlainTables compares tables whose files hold their rows as they are with
// what Java reads. Unlike in connector/paimon their manifests may be of any
// format.
func TestPlainTables(t *testing.T) {
	root, want := testkit.Shared(t, "fixtures/paimon-java/orc"), testkit.Shared(t, "fixtures/expected/paimon-java/orc")
	schemas, err := filepath.Glob(root + "/*/*/schema/schema-0")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, s := range schemas {
		table := filepath.Dir(filepath.Dir(s))
		name := filepath.Base(table)
		if all, _ := filepath.Glob(table + "/schema/schema-*"); len(all) != 1 {
			continue
		}
		text, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		var schema struct {
			Fields      []catalog.Field `json:"fields"`
			PrimaryKeys []string        `json:"primaryKeys"`
		}
		if err := json.Unmarshal(text, &schema); err != nil || len(schema.PrimaryKeys) > 0 {
			continue
		}
		var cols []format.Column
		for _, f := range schema.Fields {
			cols = append(cols, format.Column{Name: f.Name, Type: f.Type})
		}
		expected, err := os.ReadFile(filepath.Join(want, name+".db", name+".jsonl"))
		if err != nil {
			continue
		}
		rows := strings.Split(strings.TrimSpace(string(expected)), "\n")[1:]
		var got []string
		var failed error
		walk(t, table, func(_ string, b []byte) {
			r, err := read(t, b, format.ReadOptions{Columns: cols})
			got, failed = append(got, r...), errors.Join(failed, err)
		})
		if failed != nil || len(got) != len(rows) { // other columns or snapshots
			t.Logf("%s: %d rows of %d, %v", name, len(got), len(rows), failed)
			continue
		}
		slices.Sort(got)
		if !slices.Equal(got, rows) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(rows, "\n"))
		}
		compared++
	}
	if compared < 10 {
		t.Errorf("only %d tables compared", compared)
	}
}

// TestChangedFiles changes and cuts small files.
func TestChangedFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, data := range seeds(t) {
		for range 400 {
			bad := bytes.Clone(data)
			for range 1 + r.IntN(3) {
				bad[r.IntN(len(bad))] = byte(r.IntN(256))
			}
			_, err := read(t, bad, format.ReadOptions{})
			tolerate(t, err)
		}
		for range 50 {
			_, err := read(t, data[:r.IntN(len(data))], format.ReadOptions{})
			tolerate(t, err)
			if err == nil {
				t.Errorf("%s: a cut file is read", name)
			}
		}
	}
}

// FuzzReader reads changed files.
func FuzzReader(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := read(t, data, format.ReadOptions{})
		tolerate(t, err)
	})
}

// TestNewWriter refuses by name.
func TestNewWriter(t *testing.T) {
	w, err := fileio.NewMemory().Create(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Format{}).NewWriter(ctx, w, format.WriteOptions{Path: path}); errs.ClassOf(err) != errs.Unsupported || !strings.Contains(err.Error(), "orc") {
		t.Fatal(err)
	}
}
