package parquet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/vector"
)

// TestPick reads files with small pages, in both page versions, by random choices
// of rows and of the columns that are shown first, with batches of many sizes and
// with wanted rows besides: the rows picked have the values that they have without,
// the pick sees the first columns only, and nothing else is given.
func TestPick(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 8))
	const n = 12000
	mem := fileio.NewMemory()
	for _, version := range []int{1, 2} {
		var buf bytes.Buffer
		w := pq.NewGenericWriter[clustered](&buf, pq.Compression(&pq.Zstd), pq.DataPageVersion(version), pq.PageBufferSize(2000), pq.MaxRowsPerRowGroup(5000))
		if _, err := w.Write(clusteredRows(r, n)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("/v%d.parquet", version)
		if err := mem.WriteFile(ctx, name, buf.Bytes()); err != nil {
			t.Fatal(err)
		}
		pages := newKeptPages()
		start := func(opts format.ReadOptions) format.Reader {
			opts.Path, opts.Columns, opts.Pages = name, clusteredColumns, pages
			f, err := Format{}.NewReader(ctx, open(t, mem, name), opts)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		want := make([]string, 0, n)
		all := start(format.ReadOptions{})
		for {
			b, err := all.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			for i := range b.Len {
				want = append(want, rowText(clusteredColumns, b, i))
			}
		}
		all.Close()
		defer pages.check(t)
		for round := range 60 {
			opts := format.ReadOptions{BatchRows: []int{1 + r.IntN(50), 700, 4096}[round%3]}
			from, to := int64(0), int64(n)
			if round%4 == 3 {
				from = r.Int64N(n)
				to = from + r.Int64N(3000)
				opts.Rows = func(a, b int64) bool { return a < to && b > from }
			}
			wanted := make([]bool, n)
			for range 1 + r.IntN(12) { // stretches, and gaps of whole pages and batches
				at, size := r.IntN(n), 1+r.IntN([]int{3, 60, 2500}[r.IntN(3)])
				for i := at; i < min(n, at+size); i++ {
					wanted[i] = round%2 == 0 || r.IntN(3) == 0
				}
			}
			first := r.Perm(len(clusteredColumns))[:r.IntN(len(clusteredColumns)+1)]
			f := start(opts)
			var sel []uint16
			f.(connector.Picking).Pick(first, func(b *vector.Batch) ([]uint16, error) {
				if sel = sel[:0]; sel == nil {
					sel = []uint16{}
				}
				for c, v := range b.Cols {
					if (v != nil) != slices.Contains(first, c) {
						t.Fatalf("round %d: column %d is shown: %v", round, c, v != nil)
					}
				}
				for i := range b.Len {
					if wanted[b.Seq+int64(i)] {
						sel = append(sel, uint16(i))
					}
				}
				if len(sel) == b.Len {
					return nil, nil
				}
				return sel, nil
			})
			seen := make([]bool, n)
			for {
				b, err := f.Next(ctx)
				if err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				if b == nil {
					break
				}
				if b.Rows() == 0 {
					t.Fatalf("round %d: a batch without rows", round)
				}
				for k := range b.Rows() {
					i := b.Row(k)
					at := b.Seq + int64(i)
					if !wanted[at] || seen[at] {
						t.Fatalf("round %d: row %d: wanted %v, seen %v", round, at, wanted[at], seen[at])
					}
					seen[at] = true
					if got := rowText(clusteredColumns, b, i); got != want[at] {
						t.Fatalf("round %d, version %d, first %v: row %d is %s, want %s", round, version, first, at, got, want[at])
					}
				}
			}
			for i := from; i < min(to, n); i++ {
				if wanted[i] && !seen[i] {
					t.Fatalf("round %d, version %d: row %d is missing", round, version, i)
				}
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
