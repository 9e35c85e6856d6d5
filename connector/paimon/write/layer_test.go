package write_test

import (
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// TestLayers: rows of the base, read at any moment and committed at any later
// one, and the changes meanwhile give the state after the last change.
func TestLayers(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		s := &catalog.Schema{Fields: []catalog.Field{{Name: "k", Type: catalog.TInt.Required()}, {Name: "v", Type: catalog.TInt}}, PrimaryKeys: []string{"k"},
			Options: map[string]string{"bucket": strconv.Itoa(1 + int(seed%2)), connector.CopyingOption: "true", "thermocline.maintenance": "true"}}
		x := newTable(t, fileio.NewMemory(), "/t", s)
		c := x.committer("u")
		base := x.writer(func(cfg *write.Config) { cfg.Layer = connector.LayerBase })
		above := x.writer(func(cfg *write.Config) { cfg.Layer = connector.LayerAbove })
		now := map[int]int{} // the source
		for k := range 40 {
			now[k] = 1000 + k
		}
		type chunk struct{ rows []row }
		var read []chunk // parts that were read and not yet written
		next, id := 0, int64(0)
		text := func(k, v int) []string { return []string{strconv.Itoa(k), strconv.Itoa(v)} }
		change := func() {
			var rows []row
			for range rnd.IntN(4) {
				k := rnd.IntN(50)
				if old, ok := now[k]; ok && rnd.IntN(2) == 0 {
					delete(now, k)
					rows = append(rows, row{vector.Delete, text(k, old)})
				} else {
					now[k] = rnd.IntN(1000)
					rows = append(rows, row{vector.UpdateAfter, text(k, now[k])})
				}
			}
			if len(rows) > 0 {
				if err := above.Write(ctx, x.batch(rows...)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for next < 50 || len(read) > 0 {
			change()
			if next < 50 {
				to := min(50, next+1+rnd.IntN(10))
				var p chunk
				for k := next; k < to; k++ {
					if v, ok := now[k]; ok {
						p.rows = append(p.rows, row{vector.Insert, text(k, v)})
					}
				}
				read, next = append(read, p), to
			}
			change()
			if i := len(read); i > 0 && (next == 50 || rnd.IntN(2) == 0) {
				p := read[rnd.IntN(i)]
				read = append(read[:0:0], read...)
				for j := range read {
					if &read[j].rows == &p.rows || len(read[j].rows) == len(p.rows) && (len(p.rows) == 0 || &read[j].rows[0] == &p.rows[0]) {
						read = append(read[:j], read[j+1:]...)
						break
					}
				}
				if len(p.rows) > 0 {
					if err := base.Write(ctx, x.batch(p.rows...)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if rnd.IntN(3) == 0 {
				a, err := above.PrepareCommit(ctx)
				if err != nil {
					t.Fatal(err)
				}
				b, err := base.PrepareCommit(ctx)
				if err != nil {
					t.Fatal(err)
				}
				id++
				if _, err := c.Commit(ctx, &connector.Committable{Identifier: id, Messages: append(a, b...)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		id++
		x.do(base, c, id)
		x.do(above, c, id+1)
		want := &model{x: x, rows: map[string]string{}}
		for k, v := range maps.All(now) {
			want.apply([]row{{vector.Insert, text(k, v)}})
		}
		same(t, "after the copy", x.read(catalog.Ref{}), want.sorted())
		if _, err := write.Compact(ctx, write.Config{Files: x.files, Paths: x.paths, Schema: x.schema, Formats: formats}, write.CompactOptions{Full: true}); !errs.Is(err, errs.InvalidTable) {
			t.Errorf("compaction while a copy runs: %v", err)
		}
		done := *s
		done.Options = map[string]string{"bucket": s.Options["bucket"]}
		ms, err := write.Compact(ctx, write.Config{Files: x.files, Paths: x.paths, Schema: &done, Formats: formats}, write.CompactOptions{Full: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Commit(ctx, &connector.Committable{Identifier: id + 2, Messages: ms}); err != nil {
			t.Fatal(err)
		}
		same(t, "after compaction", x.read(catalog.Ref{}), want.sorted())
		base.Close()
		above.Close()
	}
}
