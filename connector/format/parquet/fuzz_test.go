package parquet

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// sample writes a small file with every type.
func sample(t testing.TB, seed uint64, rows int, compression string) []byte {
	t.Helper()
	fs := fileio.NewMemory()
	sink, err := fs.Create(ctx, "/f.parquet")
	if err != nil {
		t.Fatal(err)
	}
	cols := columns()
	w, err := Format{}.NewWriter(ctx, sink, format.WriteOptions{Path: "/f.parquet", Columns: cols, Compression: compression})
	if err != nil {
		t.Fatal(err)
	}
	b := randomBatch(rand.New(rand.NewPCG(seed, 0)), cols, rows)
	if err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := fs.ReadFile(ctx, "/f.parquet")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// readAll reads whatever data holds within a budget. The error is checked: it
// must name the file, have a class, and come from a check, not from a panic.
func readAll(t testing.TB, data []byte) (rows int64) {
	t.Helper()
	fs := fileio.NewMemory()
	if err := fs.WriteFile(ctx, "/f.parquet", data); err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err == nil {
			return
		}
		if c := errs.ClassOf(err); c != errs.Corruption && c != errs.Unsupported && c != errs.Resource || strings.Contains(err.Error(), " at parquet.") {
			t.Fatalf("class %s: %v", c, err)
		}
	}
	d, err := Format{}.Describe(ctx, open(t, fs, "/f.parquet"), "/f.parquet")
	if err != nil {
		check(err)
		return 0
	}
	budget := memory.New("test", 64<<20)
	// By page indexes, for the flat columns.
	before := indexedRows
	indexedRows = 0
	defer func() { indexedRows = before }()
	opts := format.ReadOptions{Path: "/f.parquet", Budget: budget, Rows: func(from, to int64) bool { return from%3 == 0 }}
	for _, c := range d.Columns {
		if c.Type.IsPrimitive() {
			opts.Columns = append(opts.Columns, c)
			if opts.Filter == nil {
				opts.Filter = &connector.Predicate{Op: connector.IsNull}
			}
		}
	}
	opts.FilterColumns = opts.Columns
	if r, err := (Format{}).NewReader(ctx, open(t, fs, "/f.parquet"), opts); err != nil {
		check(err)
	} else {
		for n := 0; n < 100000; {
			b, err := r.Next(ctx)
			if err != nil {
				check(err)
				break
			}
			if b == nil {
				break
			}
			n += b.Len
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Format{}.NewReader(ctx, open(t, fs, "/f.parquet"), format.ReadOptions{Path: "/f.parquet", Columns: d.Columns, Budget: budget, BatchRows: 100})
	if err != nil {
		check(err)
	} else {
		for rows < 100000 {
			b, err := r.Next(ctx)
			if err != nil {
				check(err)
				break
			}
			if b == nil {
				break
			}
			rows += int64(b.Len)
			for _, v := range b.Cols {
				for j := range v.Len { // values can be touched
					if !v.IsNull(j) && v.Kind == vector.Str {
						_ = v.Bytes(j)
					}
				}
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if budget.Used() != 0 {
		t.Fatalf("%d bytes stay reserved", budget.Used())
	}
	return rows
}

// FuzzReader reads changed files.
func FuzzReader(f *testing.F) {
	for i, c := range []string{"zstd", "snappy", "gzip", "lz4", "none"} {
		f.Add(sample(f, uint64(i), 20, c))
	}
	f.Add([]byte("PAR1PAR1"))
	f.Fuzz(func(t *testing.T, data []byte) { readAll(t, data) })
}

// FuzzPageHeader reads page headers.
func FuzzPageHeader(f *testing.F) {
	f.Add([]byte{0x15, 0x00, 0x15, 0x10, 0x15, 0x10, 0x2c, 0x15, 0x02, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00})
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, n, err := parsePageHeader(data); err == nil && n > len(data) {
			t.Fatal(n)
		}
	})
}

// TestChangedFiles changes bits and lengths of small files of every codec.
func TestChangedFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for i, c := range []string{"zstd", "snappy", "gzip", "lz4", "none"} {
		data := sample(t, uint64(i), 30, c)
		if n := readAll(t, data); n != 30 {
			t.Fatalf("%s: %d rows", c, n)
		}
		for range 400 {
			bad := append([]byte(nil), data...)
			for range 1 + r.IntN(3) {
				bad[r.IntN(len(bad))] = byte(r.IntN(256))
			}
			readAll(t, bad)
		}
		for range 50 {
			if n := readAll(t, data[:r.IntN(len(data))]); n != 0 {
				t.Errorf("%s: %d rows of a cut file", c, n)
			}
		}
	}
}
