package write_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// TestEnginesLaw writes the same rows in batches, buffers and memory of many
// sizes, with and without compaction; the table holds the same rows each time.
func TestEnginesLaw(t *testing.T) {
	tables := append(engineTables(), bucketTables()...)
	for n, e := range tables {
		// Deletions that reach the last level are forgotten, with their sequence and
		// group values: what comes later, but is older by those, then counts. Which
		// rows meet before depends on the buffers, in Java as here.
		if e.deletes && (strings.HasPrefix(e.name, "dedup_seq") || strings.HasPrefix(e.name, "partial") || strings.HasPrefix(e.name, "agg") || strings.HasPrefix(e.name, "first")) {
			e.deletes = false
		}
		t.Run(e.name, func(t *testing.T) {
			var want []string
			for variant := range 5 {
				s := e.schema()
				o := map[string]string{}
				for k, v := range s.Options {
					o[k] = v
				}
				s.Options = o
				budget := memory.New("test", 0)
				switch variant {
				case 1:
					o["write-buffer-size"] = "3 kb"
				case 2:
					budget = memory.New("test", 60<<20)
					o["target-file-size"] = "2 kb"
				case 3:
					o["num-sorted-run.compaction-trigger"] = "1000000"
				case 4:
					o["num-levels"] = "3"
					o["target-file-size"], o["compaction.small-file-ratio"] = "1 kb", "0.1"
				}
				x := newTable(t, fileio.NewMemory(), "/db.db/t", s)
				r := rand.New(rand.NewPCG(31, uint64(n)))
				w, c := x.writer(func(c *write.Config) { c.Budget, c.Synchronous = budget, variant%2 == 0 }), x.committer("cdc")
				for id := int64(1); id <= 8; id++ {
					rows := e.rows(r, 25)
					size := []int{len(rows), 1, 3, 7, 2}[variant]
					for part := range slices.Chunk(rows, size) {
						if err := w.Write(ctx, x.batch(part...)); err != nil {
							t.Fatal(err)
						}
					}
					x.do(w, c, id)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if budget.Used() != 0 {
					t.Errorf("variant %d: %d bytes are still reserved", variant, budget.Used())
				}
				before := x.read(catalog.Ref{})
				x.compactAll(c, 100)
				after := x.read(catalog.Ref{})
				if variant == 0 {
					want = after
				}
				same(t, fmt.Sprintf("variant %d compacted", variant), after, want)
				same(t, fmt.Sprintf("variant %d", variant), before, want)
				x.sound("in the end")
				checkFiles(t, x)
			}
		})
	}
}

// TestEnginesCrash crashes a write, its compaction and commit at every change of
// the store, of tables whose commits have index files, changelogs and moves.
func TestEnginesCrash(t *testing.T) {
	var tables []engineTable
	for _, e := range append(engineTables(), bucketTables()...) {
		if slices.Contains([]string{"dedup_dv_lookup", "agg_lookup", "dedup_index", "dynamic_parts", "cross"}, e.name) {
			tables = append(tables, e)
		}
	}
	for n, e := range tables {
		t.Run(e.name, func(t *testing.T) {
			before := fileio.NewMemory()
			x := newTable(t, before, "/db.db/t", e.schema())
			r := rand.New(rand.NewPCG(41, uint64(n)))
			w, c := x.writer(nil), x.committer("me")
			for id := int64(1); id <= 3; id++ {
				x.do(w, c, id, e.rows(r, 15)...)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			old := x.read(catalog.Ref{})
			rows := e.rows(r, 15)
			rows = append(rows, row{vals: []string{"99", "1", "1", "1", "+I", "1"}})
			step := func(x *table) (cm *connector.Committable, err error) {
				w := x.writer(nil)
				defer w.Close()
				if err := w.Write(ctx, x.batch(rows...)); err != nil {
					return nil, err
				}
				ms, err := w.PrepareCommit(ctx)
				if err != nil {
					return nil, err
				}
				cm = &connector.Committable{Identifier: 4, Messages: ms}
				_, err = x.committer("me").Commit(ctx, cm)
				return cm, err
			}
			whole := x.on(before.Clone())
			if _, err := step(whole); err != nil {
				t.Fatal(err)
			}
			after := whole.read(catalog.Ref{})
			// Rows that wait for compaction are not seen before its snapshot.
			between := func(got []string) bool { return slices.Equal(got, old) || slices.Equal(got, after) }
			for n := 1; n <= whole.files.(*fileio.Memory).Changes(); n++ {
				for _, late := range []bool{false, true} {
					what := fmt.Sprintf("crash at change %d, after it: %v", n, late)
					mem := before.Clone()
					y := x.on(mem)
					mem.CrashAt(n, late)
					cm, err := step(y)
					if !mem.Crashed() {
						continue // uuids made another order
					}
					mem.Restart()
					if got := y.read(catalog.Ref{}); !between(got) {
						t.Fatalf("%s: the table is between old and new: %v", what, got)
					} else if err == nil && !slices.Equal(got, after) && write.WaitsForCompaction(y.schema) == false {
						t.Fatalf("%s: Commit says it is done, but it is not", what)
					}
					y.sound(what)
					if cm == nil {
						_, err = step(y)
					} else {
						_, err = y.committer("me").Commit(ctx, cm)
					}
					if err != nil && errs.ClassOf(err) != errs.Conflict {
						t.Fatalf("%s: again: %v", what, err)
					}
					y.compactAll(y.committer("me"), 9)
					same(t, what+", again", y.read(catalog.Ref{}), after)
					y.sound(what + ", again")
				}
			}
		})
	}
}

// TestChangeCrash crashes changes of append tables, and their compaction.
func TestChangeCrash(t *testing.T) {
	for _, name := range []string{"copy", "wide", "tracking"} {
		t.Run(name, func(t *testing.T) {
			before := fileio.NewMemory()
			x := newTable(t, before, "/db.db/t", changeSchemas()[name])
			changeHistory(t, x, 3, 6)
			old := x.read(catalog.Ref{})
			gone := func(s string) bool { return strings.HasPrefix(s, "[1") || strings.HasPrefix(s, "[2") }
			step := func(x *table) error {
				c := x.committer("me")
				if err := x.change(c, 50, nil, gone, row{vals: []string{"77", "new", "1"}}); err != nil {
					return err
				}
				ms, err := write.Compact(ctx, write.Config{Files: x.files, Paths: x.paths, Schema: x.schema, Formats: formats}, write.CompactOptions{Full: true})
				if err == nil {
					_, err = c.Commit(ctx, &connector.Committable{Identifier: 51, Messages: ms})
				}
				return err
			}
			whole := x.on(before.Clone())
			if err := step(whole); err != nil {
				t.Fatal(err)
			}
			after := whole.read(catalog.Ref{})
			for n := 1; n <= whole.files.(*fileio.Memory).Changes(); n++ {
				for _, late := range []bool{false, true} {
					mem := before.Clone()
					y := x.on(mem)
					mem.CrashAt(n, late)
					err := step(y)
					mem.Restart()
					got := y.read(catalog.Ref{})
					if !slices.Equal(got, old) && !slices.Equal(got, after) || err == nil && !slices.Equal(got, after) {
						t.Fatalf("crash at change %d, after it: %v (%v): %v", n, late, err, got)
					}
					y.sound(fmt.Sprint("crash ", n, late))
				}
			}
		})
	}
}
