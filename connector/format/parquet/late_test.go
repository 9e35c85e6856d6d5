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
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// TestNarrow reads files with small pages, in both page versions, under a condition
// that becomes stricter at random times, with and without a pick, a filter and
// wanted rows besides: every row that satisfies it at the end is given, with its
// values and its position, no batch comes twice, and of clustered columns most of
// what is left out is not read.
func TestNarrow(t *testing.T) {
	defer func(n int64) { lookRows = n }(lookRows)
	r := rand.New(rand.NewPCG(8, 13))
	const n = 30000
	mem := fileio.NewMemory()
	saved := int64(0)
	for _, version := range []int{1, 2} {
		var buf bytes.Buffer
		w := pq.NewGenericWriter[clustered](&buf, pq.Compression(&pq.Snappy), pq.DataPageVersion(version), pq.PageBufferSize(2000), pq.MaxRowsPerRowGroup(11000))
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
		whole := vector.NewBatch(nil, 0)
		for _, c := range clusteredColumns {
			whole.Cols = append(whole.Cols, c.Type.NewVec(0))
		}
		all, err := Format{}.NewReader(ctx, open(t, mem, name), format.ReadOptions{Path: name, Columns: clusteredColumns})
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := all.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			for i := range b.Len {
				whole.AppendRow(b, i)
			}
		}
		all.Close()
		for round := range 90 {
			lookRows = []int64{1, 500, 1 << 14}[r.IntN(3)]
			c := r.IntN(6) // not the flag
			desc := r.IntN(2) == 0
			// Random values of the column, each stricter than the one before.
			var at []int
			for range 1 + r.IntN(5) {
				if i := r.IntN(n); !whole.Cols[c].IsNull(i) {
					at = append(at, i)
				}
			}
			slices.SortFunc(at, func(a, b int) int {
				x := vector.Compare(whole.Cols[c], b, whole.Cols[c], a)
				if desc {
					return -x
				}
				return x
			})
			var conds []*connector.Predicate
			for k, i := range at {
				v := clusteredColumns[c].Type.NewVec(1)
				v.AppendFrom(whole.Cols[c], i)
				op := connector.Le
				if desc {
					op = connector.Ge
				}
				p := &connector.Predicate{Op: op, Column: 77, Value: v}
				if round%3 == 0 {
					p = &connector.Predicate{Op: connector.Or, Children: []*connector.Predicate{p, {Op: connector.IsNull, Column: 77}}}
				}
				if k > 0 && r.IntN(20) == 0 {
					p = connector.Nothing
				}
				conds = append(conds, p)
				if p == connector.Nothing {
					break
				}
			}
			if len(conds) == 0 {
				continue
			}
			final := conds[len(conds)-1]
			var now *connector.Predicate
			var reads connector.Reads
			budget := memory.New("test", 1<<30)
			opts := format.ReadOptions{Path: name, BatchRows: []int{1 + r.IntN(60), 700, 4096}[r.IntN(3)], Budget: budget, Reads: &reads}
			var cols []int
			for _, k := range r.Perm(len(clusteredColumns))[:1+r.IntN(len(clusteredColumns))] {
				cols = append(cols, k)
				opts.Columns = append(opts.Columns, clusteredColumns[k])
			}
			from, to := int64(0), int64(n)
			if round%4 == 1 {
				from = r.Int64N(n)
				to = from + r.Int64N(20000)
				opts.Rows = func(a, b int64) bool { return a < to && b > from }
			}
			rd, err := Format{}.NewReader(ctx, open(t, mem, name), opts)
			if err != nil {
				t.Fatal(err)
			}
			d := &connector.Dynamic{Load: func() *connector.Predicate { return now }, AnyOrder: r.IntN(2) == 0, Desc: r.IntN(2) == 0}
			rd.(format.Narrowing).Narrow(clusteredColumns[c], d)
			step := r.Int64N(2 * n / int64(len(conds)))
			given := int64(0)
			if round%2 == 0 {
				rd.(connector.Picking).Pick(r.Perm(len(cols))[:r.IntN(len(cols))], func(b *vector.Batch) ([]uint16, error) {
					sel := []uint16{}
					for i := range b.Len {
						if b.Seq+int64(i) >= from && b.Seq+int64(i) < to {
							sel = append(sel, uint16(i))
						}
					}
					return sel, nil
				})
			}
			seen := make([]bool, n)
			last := int64(-1)
			for {
				if k := int(given / (step + 1)); k > 0 {
					now = conds[min(k, len(conds))-1]
				}
				b, err := rd.Next(ctx)
				if err != nil {
					t.Fatalf("%s, round %d: %v", name, round, err)
				}
				if b == nil {
					break
				}
				if b.Seq <= last && !d.Reordered || seen[b.Seq] {
					t.Fatalf("%s, round %d: rows %d after %d", name, round, b.Seq, last)
				}
				last = b.Seq + int64(b.Len) - 1
				given += int64(b.Len)
				for k := range b.Rows() {
					i := b.Row(k)
					row := int(b.Seq) + i
					seen[row] = true
					for k, c := range cols {
						if vector.Compare(b.Cols[k], i, whole.Cols[c], row) != 0 {
							t.Fatalf("%s, round %d: row %d: column %s differs", name, round, row, clusteredColumns[c].Name)
						}
					}
				}
			}
			if err := rd.Close(); err != nil || budget.Used() != 0 {
				t.Fatal(err, budget.Used())
			}
			on := final.On(c)
			for i := range n {
				if !seen[i] && int64(i) >= from && int64(i) < to && holds(on, whole, i) {
					t.Fatalf("%s, round %d: row %d is missing: %+v", name, round, i, on)
				}
			}
			saved += reads.LateRows.Load()
			if got := given + reads.LateRows.Load(); opts.Rows == nil && round%2 == 1 && got != n {
				t.Fatalf("%s, round %d: %d rows given and %d left out of %d", name, round, given, reads.LateRows.Load(), n)
			}
		}
	}
	if saved < 20*n {
		t.Errorf("%d rows were left out in all", saved)
	}
}
