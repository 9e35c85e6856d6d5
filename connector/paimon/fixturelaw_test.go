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

// TestFixtureLaws reads the newest state of every fixture, of its views, and
// changes in it, of every merge engine and format, with random filters and columns: pruning loses
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
	changes := func(mode string) catalog.Ref {
		return catalog.Ref{Kind: catalog.ByOptions, Options: map[string]string{"incremental-between": "1,3", "incremental-between-scan-mode": mode}}
	}
	type read struct {
		sys string
		ref catalog.Ref
	}
	reads := []read{{"", catalog.Ref{}}, {"audit_log", catalog.Ref{}}, {"ro", catalog.Ref{}}, {"row_tracking", catalog.Ref{}}}
	for _, mode := range []string{"delta", "changelog", "diff"} {
		reads = append(reads, read{"", changes(mode)}, read{"audit_log", changes(mode)}, read{"binlog", changes(mode)})
	}
	for _, dir := range dirs {
		for _, x := range reads {
			sys, ref := x.sys, x.ref
			tb, err := d.Open(ctx, dir, catalog.Identifier{Database: "default", Table: "t", System: sys})
			if err != nil {
				continue
			}
			if _, _, err := rows(tb, ref, scanOptions{}); err != nil {
				continue
			}
			w := whole(t, tb, ref)
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
					t.Errorf("%s$%s, %s: filter %s: %d rows, want %d", dir, sys, ref, show(p, w), len(got), len(want))
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
					t.Errorf("%s$%s, %s: projection %v differs", dir, sys, ref, cols)
				}
			}
		}
	}
	t.Logf("%d filters left out %d files", filters, pruned)
	if filters < 1000 || pruned == 0 {
		t.Error("too few tables are read")
	}
}
