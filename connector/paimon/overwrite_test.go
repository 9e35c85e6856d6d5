package paimon_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// TestOverwriteForgets overwrites a partition of tables whose writers compact
// before they commit. What is overwritten must neither be merged with the new
// rows, nor keep them away, nor have deletion vectors.
func TestOverwriteForgets(t *testing.T) {
	// Many old rows, so that the small file of the new ones is compacted alone.
	old := `["a",3,"old"],["b",1,"old"],["b",2,"old"]`
	for k := 10; k < 500; k++ {
		old += fmt.Sprintf(`,["a",%d,"old %d"]`, k, k*k*k)
	}
	for _, options := range []string{
		`"merge-engine":"first-row"`,
		`"deletion-vectors.enabled":"true"`,
		`"deletion-vectors.enabled":"true","merge-engine":"partial-update"`,
		`"deletion-vectors.enabled":"true","merge-engine":"aggregation","fields.v.aggregate-function":"listagg"`,
		`"deletion-vectors.enabled":"true","merge-engine":"aggregation","fields.v.aggregate-function":"listagg","changelog-producer":"lookup"`,
		`"merge-engine":"aggregation","fields.v.aggregate-function":"listagg","changelog-producer":"lookup"`,
		`"merge-engine":"aggregation","fields.v.aggregate-function":"listagg","changelog-producer":"full-compaction"`,
		`"merge-engine":"aggregation","fields.v.aggregate-function":"listagg","changelog-producer":"lookup","overwrite-upgrade":"false"`,
		`"merge-engine":"first-row","overwrite-upgrade":"false"`,
		`"deletion-vectors.enabled":"true","overwrite-upgrade":"false"`,
	} {
		for _, bucket := range []string{"1", "-1"} {
			for _, overwrite := range []string{`{}`, `{"p":"a"}`} {
				what := options + " " + bucket + " " + overwrite
				h := &script{lake: newLakeAt(t, fileio.NewMemory(), "/lake", nil), id: catalog.Identifier{Database: "default", Table: "t"}, commit: math.MaxInt32}
				if err := h.catalog.CreateDatabase(ctx, "default", true); err != nil {
					t.Fatal(err)
				}
				for _, line := range []string{
					`{"op":"create","fields":[{"name":"p","type":"STRING NOT NULL"},{"name":"k","type":"INT NOT NULL"},{"name":"v","type":"STRING"}],` +
						`"primaryKeys":["p","k"],"partitionKeys":["p"],"options":{"dynamic-bucket.target-row-num":"100","bucket":"` + bucket + `",` + options + `}}`,
					`{"op":"write","rows":[["a",1,"old"],` + old + `]}`,
					`{"op":"compact","full":true}`,
					`{"op":"write","overwrite":` + overwrite + `,"rows":[["a",1,"new"],["a",3,null],["a",450,"new"]]}`,
				} {
					if err := h.run(line); err != nil {
						t.Fatalf("%s: %s: %v", what, line, err)
					}
				}
				tb, err := h.table()
				if err != nil {
					t.Fatal(err)
				}
				want := []string{`["a",1,"new"]`, `["a",3,null]`, `["a",450,"new"]`, `["b",1,"old"]`, `["b",2,"old"]`}
				if got := h.rows(tb, catalog.Ref{}); !slices.Equal(got, want) {
					t.Errorf("%s: %v", what, got)
				}
				store := tb.Maintain().Store()
				s, err := store.Latest(ctx)
				if err != nil {
					t.Fatal(err)
				}
				live, err := store.Live(ctx, s, nil, func(*spec.ManifestEntry) bool { return true })
				if err != nil {
					t.Fatal(err)
				}
				files := map[string]bool{}
				for _, e := range live {
					files[e.File.FileName] = true
				}
				index, err := store.Index(ctx, s)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range index {
					for _, dv := range e.Ranges.V {
						if !files[dv.DataFile] {
							t.Errorf("%s: %s", what, fmt.Sprintf("a deletion vector of %s, which is not live", dv.DataFile))
						}
					}
				}
				// The index of a dynamic bucket still has the keys that are there.
				if err := h.run(`{"op":"write","rows":[["a",450,"newer"]]}`); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if got := h.rows(tb, catalog.Ref{}); len(got) != len(want) {
					t.Errorf("%s: %v", what, got)
				}
			}
		}
	}
}

// TestOverwriteAcross overwrites partitions of a table whose keys move between
// partitions: those that a key leaves are not meant.
func TestOverwriteAcross(t *testing.T) {
	h := &script{lake: newLakeAt(t, fileio.NewMemory(), "/lake", nil), id: catalog.Identifier{Database: "default", Table: "t"}, commit: math.MaxInt32}
	if err := h.catalog.CreateDatabase(ctx, "default", true); err != nil {
		t.Fatal(err)
	}
	for i, line := range []string{
		`{"op":"create","fields":[{"name":"p","type":"STRING"},{"name":"k","type":"INT NOT NULL"},{"name":"v","type":"STRING"}],` +
			`"primaryKeys":["k"],"partitionKeys":["p"],"options":{"bucket":"-1"}}`,
		`{"op":"write","rows":[["a",1,"old"],["b",3,"old"],["b",4,"old"]]}`,
		`{"op":"write","overwrite":{},"rows":[["a",3,"new"]]}`,
	} {
		if err := h.run(line); (err != nil) != (i == 2) || i == 2 && errs.ClassOf(err) != errs.Unsupported {
			t.Fatalf("%s: %v", line, err)
		}
	}
	tb, err := h.table()
	if err != nil {
		t.Fatal(err)
	}
	if got := h.rows(tb, catalog.Ref{}); len(got) != 3 {
		t.Error(got)
	}
}
