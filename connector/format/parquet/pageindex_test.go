package parquet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// clustered has columns whose values are near each other in a file, in several
// encodings.
type clustered struct {
	ID    int64   `parquet:"id,delta"`
	Plain int64   `parquet:"plain,plain"`
	Dict  *int32  `parquet:"dict,dict"`
	Text  string  `parquet:"text,plain"`
	Word  *string `parquet:"word,dict"`
	Rnd   float64 `parquet:"rnd,plain"`
	Flag  *bool   `parquet:"flag"`
}

var clusteredColumns = []format.Column{{Name: "id", Type: catalog.TBigInt}, {Name: "plain", Type: catalog.TBigInt}, {Name: "dict", Type: catalog.TInt},
	{Name: "text", Type: catalog.TString}, {Name: "word", Type: catalog.TString}, {Name: "rnd", Type: catalog.TDouble}, {Name: "flag", Type: catalog.TBoolean}}

func clusteredRows(r *rand.Rand, n int) []clustered {
	list := make([]clustered, n)
	for i := range list {
		c := &list[i]
		*c = clustered{ID: int64(i), Plain: int64(i/3) * 2, Text: fmt.Sprintf("key %07d", i/2), Rnd: r.Float64()}
		if i/500%3 != 0 { // whole pages of NULLs
			d, w, f := int32(i/100), fmt.Sprint("word ", i/1000), i/2000%2 == 0
			c.Dict, c.Word, c.Flag = &d, &w, &f
		}
	}
	return list
}

// TestPageIndex reads files with small pages, of this package's writer and of
// another library, in both page versions, with random filters and wanted rows:
// no row that satisfies them is missing, rows have their positions and values,
// and selective filters read a fraction of the file.
func TestPageIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	const n = 20000
	rows := clusteredRows(r, n)
	mem := fileio.NewMemory()
	files := &fileio.Counting{FileIO: mem, Class: func(p string) string { return p }}
	var names []string
	for _, version := range []int{1, 2} {
		var buf bytes.Buffer
		w := pq.NewGenericWriter[clustered](&buf, pq.Compression(&pq.Snappy), pq.DataPageVersion(version), pq.PageBufferSize(2000), pq.MaxRowsPerRowGroup(9000))
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("/v%d.parquet", version)
		if err := mem.WriteFile(ctx, name, buf.Bytes()); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	whole := vector.NewBatch(nil, 0)
	for _, c := range clusteredColumns {
		whole.Cols = append(whole.Cols, c.Type.NewVec(0))
	}
	read := func(name string, opts format.ReadOptions, f func(b *vector.Batch, i int)) int64 {
		t.Helper()
		budget := memory.New("test", 1<<30)
		opts.Path, opts.Budget = name, budget
		file, err := files.Open(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		files.Take()
		rd, err := Format{}.NewReader(ctx, file, opts)
		if err != nil {
			t.Fatal(err)
		}
		last := int64(-1)
		for {
			b, err := rd.Next(ctx)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if b == nil {
				break
			}
			if b.Seq <= last {
				t.Fatalf("%s: rows %d after %d", name, b.Seq, last)
			}
			last = b.Seq + int64(b.Len) - 1
			for i := range b.Len {
				f(b, i)
			}
		}
		if err := rd.Close(); err != nil || budget.Used() != 0 {
			t.Fatal(err, budget.Used())
		}
		return files.Take()[name].Bytes
	}
	size := read(names[0], format.ReadOptions{Columns: clusteredColumns}, func(b *vector.Batch, i int) { whole.AppendRow(b, i) })
	if whole.Len != n {
		t.Fatal(whole.Len)
	}
	leaf := func() *connector.Predicate {
		c := r.IntN(len(clusteredColumns))
		op := []connector.PredicateOp{connector.Eq, connector.Lt, connector.Le, connector.Gt, connector.Ge, connector.In, connector.IsNull, connector.IsNotNull}[r.IntN(8)]
		v := clusteredColumns[c].Type.NewVec(0)
		for range 1 + r.IntN(3) {
			for {
				if i := r.IntN(n); !whole.Cols[c].IsNull(i) {
					v.AppendFrom(whole.Cols[c], i)
					break
				}
			}
			if op != connector.In {
				break
			}
		}
		return &connector.Predicate{Op: op, Column: c, Value: v}
	}
	less := 0
	for round := range 120 {
		var p *connector.Predicate
		switch round % 3 {
		case 0:
			p = leaf()
		case 1:
			p = connector.AndOf(leaf(), leaf())
		default:
			p = &connector.Predicate{Op: connector.Or, Children: []*connector.Predicate{connector.AndOf(leaf(), leaf()), leaf()}}
		}
		opts := format.ReadOptions{Filter: p, FilterColumns: clusteredColumns, BatchRows: []int{0, 1000, 7}[r.IntN(3)]}
		var cols []int
		for _, c := range r.Perm(len(clusteredColumns))[:1+r.IntN(len(clusteredColumns))] {
			cols = append(cols, c)
			opts.Columns = append(opts.Columns, clusteredColumns[c])
		}
		wanted := func(int64) bool { return true }
		if round%4 == 0 {
			from := int64(r.IntN(n))
			to := from + int64(r.IntN(4000))
			wanted = func(row int64) bool { return row >= from && row < to }
			opts.Rows = func(a, b int64) bool { return a < to && b > from }
		}
		var want []int64
		for i := range n {
			if wanted(int64(i)) && holds(p, whole, i) {
				want = append(want, int64(i))
			}
		}
		for _, name := range names {
			var got []int64
			bytes := read(name, opts, func(b *vector.Batch, i int) {
				row := b.Seq + int64(i)
				for k, c := range cols {
					if vector.Compare(b.Cols[k], i, whole.Cols[c], int(row)) != 0 {
						t.Fatalf("%s: row %d: column %s differs", name, row, clusteredColumns[c].Name)
					}
				}
				if wanted(row) && holds(p, whole, int(row)) {
					got = append(got, row)
				}
			})
			if !slices.Equal(got, want) {
				t.Fatalf("%s: filter %+v: %d rows, want %d", name, p, len(got), len(want))
			}
			if bytes < size/4 {
				less++
			}
		}
	}
	if less < 40 {
		t.Errorf("only %d reads read less than a quarter", less)
	}
	// A point query reads a page a column, not the row group.
	id := catalog.TBigInt.NewVec(1)
	id.AppendI64(12345)
	for _, name := range names {
		found := 0
		total := 0
		bytes := read(name, format.ReadOptions{Columns: clusteredColumns, FilterColumns: clusteredColumns, Filter: &connector.Predicate{Op: connector.Eq, Value: id}}, func(b *vector.Batch, i int) {
			total++
			if b.Cols[0].I64s[i] == 12345 {
				found++
			}
		})
		if found != 1 || total > 2000 || bytes > size/8 {
			t.Errorf("%s: %d rows of %d, %d bytes of %d", name, found, total, bytes, size)
		}
	}
}

// holds evaluates a predicate; NULL is not TRUE.
func holds(p *connector.Predicate, b *vector.Batch, i int) bool {
	switch p.Op {
	case connector.And:
		return !slices.ContainsFunc(p.Children, func(c *connector.Predicate) bool { return !holds(c, b, i) })
	case connector.Or:
		return slices.ContainsFunc(p.Children, func(c *connector.Predicate) bool { return holds(c, b, i) })
	}
	v := b.Cols[p.Column]
	if v.IsNull(i) {
		return p.Op == connector.IsNull
	}
	cmp := func(k int) int { return vector.Compare(v, i, p.Value, k) }
	switch p.Op {
	case connector.IsNull:
		return false
	case connector.Lt:
		return cmp(0) < 0
	case connector.Le:
		return cmp(0) <= 0
	case connector.Gt:
		return cmp(0) > 0
	case connector.Ge:
		return cmp(0) >= 0
	case connector.Eq, connector.In:
		for k := range p.Value.Len {
			if cmp(k) == 0 {
				return true
			}
		}
		return false
	}
	return true
}

// TestPageIndexOwn reads a file of this package's writer by its page indexes.
func TestPageIndexOwn(t *testing.T) {
	files := fileio.NewMemory()
	const n = 200000
	cols := []format.Column{{Name: "k", Type: catalog.TBigInt.Required(), ID: 1}, {Name: "s", Type: catalog.TString, ID: 2}}
	w, err := files.Create(ctx, "/own.parquet")
	if err != nil {
		t.Fatal(err)
	}
	fw, err := Format{}.NewWriter(ctx, w, format.WriteOptions{Path: "/own.parquet", Columns: cols, Compression: "none"})
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < n; {
		b := vector.NewBatch([]vector.Kind{vector.I64, vector.Str}, 4096)
		for ; b.Len < 4096 && at < n; at++ {
			b.Cols[0].AppendI64(int64(at) * 3)
			b.Cols[1].AppendString(fmt.Sprintf("value %d of a row", at))
			b.Len++
		}
		if err := fw.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fw.Close(); err != nil {
		t.Fatal(err)
	}
	v := catalog.TBigInt.NewVec(1)
	v.AppendI64(3 * 123456)
	for _, batch := range []int{0, 100} {
		rd, err := Format{}.NewReader(ctx, open(t, files, "/own.parquet"), format.ReadOptions{Path: "/own.parquet", Columns: cols, FilterColumns: cols, BatchRows: batch,
			Filter: &connector.Predicate{Op: connector.Eq, Value: v}})
		if err != nil {
			t.Fatal(err)
		}
		total, found := 0, 0
		for {
			b, err := rd.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			total += b.Len
			for i := range b.Len {
				row := b.Seq + int64(i)
				if b.Cols[0].I64s[b.Cols[0].At(i)] != 3*row || b.Cols[1].String(i) != fmt.Sprintf("value %d of a row", row) {
					t.Fatalf("row %d has other values", row)
				}
				if row == 123456 {
					found++
				}
			}
		}
		rd.Close()
		if found != 1 || total > n/3 {
			t.Errorf("%d of %d rows", found, total)
		}
	}
}
