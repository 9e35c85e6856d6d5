package paimon_test

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
)

// TestFixtureLaws reads the newest state of every fixture, and of its views, of
// every merge engine and format, with random filters and columns: pruning loses
// no row that satisfies the filter, and columns have the values that they have
// among all others.
func TestFixtureLaws(t *testing.T) {
	d := newDriver()
	r := rand.New(rand.NewPCG(66, 6))
	dirs, err := filepath.Glob(filepath.Join(testkit.Shared(t, "fixtures/paimon-latest"), "*/default.db/t"))
	if err != nil {
		t.Fatal(err)
	}
	filters, pruned := 0, 0
	for _, dir := range dirs {
		for _, sys := range []string{"", "audit_log", "ro", "row_tracking"} {
			tb, err := d.Open(ctx, dir, catalog.Identifier{Database: "default", Table: "t", System: sys})
			if err != nil {
				continue
			}
			if _, _, err := rows(tb, catalog.Ref{}, scanOptions{}); err != nil {
				continue
			}
			w := whole(t, tb, catalog.Ref{})
			if w.batch.Len == 0 {
				continue
			}
			for range 4 {
				p := predicate(r, w, 2)
				var got, want []string
				for i := range w.batch.Len {
					if satisfies(p, w.batch, i) {
						want = append(want, string(jsonl.AppendRow(nil, w.batch, i, w.types)))
					}
				}
				plan := w.each(t, connector.ScanRequest{Columns: w.all(), Filter: p, BatchRows: 1 + r.IntN(200)}, func(b *vector.Batch, i int) {
					if satisfies(p, b, i) {
						got = append(got, string(jsonl.AppendRow(nil, b, i, w.types)))
					}
				})
				filters++
				pruned += plan.PrunedFiles
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%s$%s: filter %s: %d rows, want %d", dir, sys, show(p, w), len(got), len(want))
				}
				cols := w.all()
				r.Shuffle(len(cols), func(i, j int) { cols[i], cols[j] = cols[j], cols[i] })
				cols = cols[:r.IntN(len(cols)+1)]
				var types []catalog.Type
				part := &vector.Batch{Len: w.batch.Len}
				for _, c := range cols {
					types = append(types, w.types[c])
					part.Cols = append(part.Cols, w.batch.Cols[c])
				}
				got, want = nil, nil
				for i := range part.Len {
					want = append(want, string(jsonl.AppendRow(nil, part, i, types)))
				}
				w.each(t, connector.ScanRequest{Columns: cols, BatchRows: 1 + r.IntN(100)}, func(b *vector.Batch, i int) {
					got = append(got, string(jsonl.AppendRow(nil, b, i, types)))
				})
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%s$%s: projection %v differs", dir, sys, cols)
				}
			}
		}
	}
	t.Logf("%d filters left out %d files", filters, pruned)
	if filters < 1000 || pruned == 0 {
		t.Error("too few tables are read")
	}
}
