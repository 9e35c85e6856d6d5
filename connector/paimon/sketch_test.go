package paimon_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
)

// TestSketches reads the columns of bitmaps and theta sketches of a table whose
// rows Java merged: the same bytes. The other sketches are refused by name.
func TestSketches(t *testing.T) {
	const table = "paimon-latest/aggregation_sketches/default.db/t"
	root, answers := testkit.Shared(t, "fixtures"), testkit.Shared(t, "fixtures/expected")
	tb, err := openExpected(newDriver(), root, testkit.Expected{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	for id := int64(1); id <= 5; id++ {
		want := testkit.LoadRows(t, filepath.Join(answers, fmt.Sprintf("%s.snapshot-%d.jsonl", table, id)))
		snap, err := tb.Snapshot(ctx, catalog.Ref{Kind: catalog.BySnapshot, ID: id})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"theta", "r32", "hll", "r64"} {
			cols := []int{0, snap.Schema().Column(name)}
			types := []catalog.Type{snap.Schema().Fields[0].Type, snap.Schema().Fields[cols[1]].Type}
			var got, wanted []string
			plan, err := snap.Plan(ctx, connector.ScanRequest{Columns: cols})
			if name == "hll" || name == "r64" {
				if id > 1 && errs.ClassOf(err) != errs.Unsupported {
					t.Errorf("snapshot %d, %s: %v", id, name, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range plan.Splits {
				r, err := s.Open(ctx)
				if err != nil {
					t.Fatal(err)
				}
				for {
					var b *vector.Batch
					if b, err = r.Next(ctx); err != nil {
						t.Fatalf("snapshot %d, %s: %v", id, name, err)
					}
					if b == nil {
						break
					}
					for i := range b.Rows() {
						got = append(got, string(jsonl.AppendRow(nil, b, b.Row(i), types)))
					}
				}
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
			}
			for _, line := range want.Lines {
				var row []json.RawMessage
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					t.Fatal(err)
				}
				wanted = append(wanted, fmt.Sprintf("[%s,%s]", row[0], row[cols[1]]))
			}
			slices.Sort(got)
			slices.Sort(wanted)
			if !slices.Equal(got, wanted) {
				t.Errorf("snapshot %d, %s:\n got %v\nwant %v", id, name, got, wanted)
			}
		}
	}
}
