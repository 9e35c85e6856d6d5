package paimon_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
)

// TestDataEvolution reads tables whose files hold some columns each in batches of
// several sizes and in several choices of columns: the values are those that the
// columns have among all others. Counts from metadata are right.
func TestDataEvolution(t *testing.T) {
	var dirs []string
	for _, pattern := range []string{"paimon-java/*/*data_evolution*.db/*", "paimon-latest/type_blob/default.db/t"} {
		list, err := filepath.Glob(filepath.Join(testkit.Shared(t, "fixtures"), pattern))
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, list...)
	}
	if len(dirs) < 5 {
		t.Fatal(dirs)
	}
	d := newDriver()
	for _, dir := range dirs {
		tb, err := d.Open(ctx, dir, catalog.Identifier{Database: "default", Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		w := whole(t, tb, catalog.Ref{})
		snap, err := tb.Snapshot(ctx, catalog.Ref{})
		if err != nil {
			t.Fatal(err)
		}
		if n, exact, err := snap.RowCount(ctx); err != nil || !exact || n != int64(w.batch.Len) {
			t.Errorf("%s: RowCount %d, exact %t, %v; it has %d", dir, n, exact, err, w.batch.Len)
		}
		choices := [][]int{{}, w.all()}
		for c := range w.types {
			choices = append(choices, []int{c}, []int{len(w.types) - 1, c})
		}
		for _, cols := range choices {
			for _, size := range []int{1, 2, 3, 100} {
				var got, want []string
				var types []catalog.Type
				for _, c := range cols {
					types = append(types, w.types[c])
				}
				w.each(t, connector.ScanRequest{Columns: cols, BatchRows: size}, func(b *vector.Batch, i int) {
					got = append(got, string(jsonl.AppendRow(nil, b, i, types)))
				})
				for i := range w.batch.Len {
					b := &vector.Batch{Len: w.batch.Len}
					for _, c := range cols {
						b.Cols = append(b.Cols, w.batch.Cols[c])
					}
					want = append(want, string(jsonl.AppendRow(nil, b, i, types)))
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s, columns %v, batches of %d:\n got %s\nwant %s", dir, cols, size, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
				}
			}
		}
	}
}
