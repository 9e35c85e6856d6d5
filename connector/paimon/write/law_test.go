package write_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// shapes are the tables of the law test.
func shapes(seed uint64) []*catalog.Schema {
	base := func(opts ...string) map[string]string {
		m := map[string]string{"thermocline.maintenance": "true", "num-sorted-run.compaction-trigger": strconv.Itoa(2 + int(seed%4)), "manifest.merge-min-count": "4"}
		for i := 0; i < len(opts); i += 2 {
			m[opts[i]] = opts[i+1]
		}
		return m
	}
	f := func(name string, t catalog.Type) catalog.Field { return catalog.Field{Name: name, Type: t} }
	return []*catalog.Schema{
		{Fields: []catalog.Field{f("k", catalog.TInt.Required()), f("v", catalog.TString), f("n", catalog.TBigInt)},
			PrimaryKeys: []string{"k"}, Options: base("bucket", "1")},
		{Fields: []catalog.Field{f("v", catalog.TDouble), f("p", catalog.TString.Required()), f("a", catalog.TString.Required()), f("b", catalog.TBigInt.Required())},
			PrimaryKeys: []string{"p", "b", "a"}, PartitionKeys: []string{"p"}, Options: base("bucket", "3", "target-file-size", "2 kb", "data-file.thin-mode", "true")},
		{Fields: []catalog.Field{f("k", catalog.TDecimal(30, 0).Required()), f("t", catalog.TTimestamp(9)), f("v", catalog.TString)},
			PrimaryKeys: []string{"k"}, Options: base("bucket", "2", "target-file-size", "1 kb", "metadata.stats-mode", "full", "compaction.small-file-ratio", "0.1")},
		{Fields: []catalog.Field{f("k", catalog.TBoolean.Required()), f("k2", catalog.TFloat.Required()), f("v", catalog.TString)},
			PrimaryKeys: []string{"k", "k2"}, Options: base("bucket", "1", "commit.force-compact", strconv.FormatBool(seed%2 == 0))},
	}
}

// randomRow makes a change; few keys, so that they meet often.
func randomRow(r *rand.Rand, s *catalog.Schema, keys int) row {
	out := row{vals: make([]string, len(s.Fields))}
	switch r.IntN(10) {
	case 0, 1:
		out.kind = vector.Delete
	case 2:
		out.kind = vector.UpdateBefore
	case 3:
		out.kind = vector.UpdateAfter
	}
	for i, f := range s.Fields {
		key := f.Type.NotNull
		switch {
		case !key && r.IntN(5) == 0: // NULL
		case f.Type.Kind == catalog.Boolean:
			out.vals[i] = strconv.Itoa(r.IntN(2))
		case f.Name == "p":
			out.vals[i] = fmt.Sprintf("part %d", r.IntN(3))
		case f.Type.Physical() == vector.Str && key:
			out.vals[i] = fmt.Sprintf("a key with a common prefix %d", r.IntN(3))
		case f.Type.Physical() == vector.Str:
			out.vals[i] = fmt.Sprintf("value %d", r.IntN(1_000_000))
		case key:
			out.vals[i] = strconv.Itoa(r.IntN(keys) - keys/2)
		default:
			out.vals[i] = strconv.Itoa(r.IntN(1_000_000) - 500_000)
		}
	}
	return out
}

// TestUpsertLaw checks that any sequence of upserts and deletes, over commits,
// compactions and new writers, reads as the map that the same changes make.
func TestUpsertLaw(t *testing.T) {
	seeds := 12
	if testing.Short() {
		seeds = 3
	}
	for seed := range uint64(seeds) {
		for n, s := range shapes(seed) {
			t.Run(fmt.Sprintf("seed%d/shape%d", seed, n), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, uint64(n)))
				x := newTable(t, fileio.NewMemory(), "/db.db/t", s)
				m := &model{x: x, rows: map[string]string{}}
				budget := memory.New("test", 0)
				mod := func(c *write.Config) { c.Budget, c.Synchronous = budget, seed%3 != 2 }
				w, c := x.writer(mod), x.committer("me")
				history := map[int64][]string{}
				keys := 1 + r.IntN(60)
				for id := int64(1); id <= 14; id++ {
					for range r.IntN(4) {
						rows := make([]row, 1+r.IntN(40))
						for i := range rows {
							rows[i] = randomRow(r, s, keys)
						}
						if err := w.Write(ctx, x.batch(rows...)); err != nil {
							t.Fatal(err)
						}
						m.apply(rows)
					}
					res := x.do(w, c, id)
					if res.Snapshot > 0 {
						history[res.Snapshot] = m.sorted()
					}
					same(t, fmt.Sprintf("after commit %d", id), x.read(catalog.Ref{}), m.sorted())
					if r.IntN(4) == 0 {
						if err := w.Close(); err != nil {
							t.Fatal(err)
						}
						w = x.writer(mod)
					}
				}
				for id, want := range history {
					same(t, fmt.Sprintf("snapshot %d", id), x.read(catalog.Ref{Kind: catalog.BySnapshot, ID: id}), want)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if n := budget.Used(); n != 0 {
					t.Errorf("%d bytes are still reserved", n)
				}
				checkFiles(t, x)
			})
		}
	}
}

// checkFiles checks that every data file is referred to by some snapshot and
// that compaction keeps sorted runs few.
func checkFiles(t *testing.T, x *table) {
	t.Helper()
	mem, ok := x.files.(*fileio.Memory)
	if !ok {
		return
	}
	known := map[string]bool{}
	store := commit.Store{Files: x.files, Paths: x.paths}
	ids, err := store.SnapshotIDs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		snap, err := store.Snapshot(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{snap.BaseManifestList, snap.DeltaManifestList, snap.ChangelogManifestList, snap.IndexManifest} {
			known[x.paths.Manifest(name)] = true
		}
		index, err := store.Index(ctx, snap)
		if err != nil {
			t.Fatal(err)
		}
		for i := range index {
			p, err := x.paths.IndexFile(&index[i])
			if err != nil {
				t.Fatal(err)
			}
			known[p] = true
		}
		metas, err := store.Manifests(ctx, snap)
		if err != nil {
			t.Fatal(err)
		}
		if snap.ChangelogManifestList != "" {
			log, err := store.ManifestList(ctx, snap.ChangelogManifestList)
			if err != nil {
				t.Fatal(err)
			}
			metas = append(metas, log...)
		}
		if len(metas) > 40 {
			t.Errorf("snapshot %d has %d manifests", id, len(metas))
		}
		for _, meta := range metas {
			known[x.paths.Manifest(meta.FileName)] = true
			err := store.Manifest(ctx, meta.FileName, func(e *entry) error {
				p, err := x.paths.DataFile(e)
				if err != nil {
					return err
				}
				known[p] = true
				extra, err := x.paths.ExtraFiles(e)
				for _, p := range extra {
					known[p] = true
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, p := range mem.Paths() {
		if dir := p[len(x.dir)+1:]; !known[p] && dir[0] != 's' { // not schema/, snapshot/
			t.Errorf("nothing refers to the file %s", p)
		}
	}
}

// TestBudget writes more than the budget holds.
func TestBudget(t *testing.T) {
	s := shapes(0)[0]
	s.Options["bucket"] = "4"
	x := newTable(t, fileio.NewMemory(), "/db.db/t", s)
	budget := memory.New("ingest", 256<<10)
	w := x.writer(func(c *write.Config) { c.Budget, c.NoCompaction = budget, true })
	m := &model{x: x, rows: map[string]string{}}
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		rows := make([]row, 500)
		for i := range rows {
			rows[i] = randomRow(r, s, 20000)
		}
		m.apply(rows)
		if err := w.Write(ctx, x.batch(rows...)); err != nil {
			t.Fatal(err)
		}
	}
	if budget.Peak() < 100<<10 || budget.Peak() > 256<<10 {
		t.Errorf("peak %d", budget.Peak())
	}
	x.do(w, x.committer("me"), 1)
	same(t, "after the commit", x.read(catalog.Ref{}), m.sorted())
	if budget.Used() != 0 {
		t.Errorf("%d bytes are still reserved", budget.Used())
	}
}

// TestAppend writes append tables with and without buckets.
func TestAppend(t *testing.T) {
	for _, buckets := range []string{"-1", "3"} {
		t.Run(buckets, func(t *testing.T) {
			s := &catalog.Schema{Fields: []catalog.Field{{Name: "p", Type: catalog.TInt}, {Name: "a", Type: catalog.TBigInt}, {Name: "b", Type: catalog.TString}},
				PartitionKeys: []string{"p"}, Options: map[string]string{"bucket": buckets, "target-file-size": "4 kb"}}
			if buckets != "-1" {
				s.Options["bucket-key"] = "a"
			}
			x := newTable(t, fileio.NewMemory(), "/db.db/t", s)
			c := x.committer("me")
			var want []string
			n := 0
			for id := int64(1); id <= 4; id++ {
				w := x.writer(nil)
				for range 3 {
					var rows []row
					for range 700 {
						p := strconv.Itoa(n % 3)
						if n%7 == 0 {
							p = ""
						}
						rows = append(rows, row{vals: []string{p, strconv.Itoa(n % 1000), fmt.Sprintf("row %d", n)}})
						n++
					}
					b := x.batch(rows...)
					for i := range b.Rows() {
						want = append(want, rowText(s, b, i))
					}
					if err := w.Write(ctx, b); err != nil {
						t.Fatal(err)
					}
				}
				x.do(w, c, id)
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
			}
			sortStrings(want)
			same(t, "rows", x.read(catalog.Ref{}), want)
			checkFiles(t, x)
			w := x.writer(nil)
			if err := w.Write(ctx, x.batch(row{vector.Delete, []string{"1", "1", "x"}})); err == nil {
				t.Error("an append table took a delete")
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			// INSERT OVERWRITE
			w = x.writer(nil)
			if err := w.Write(ctx, x.batch(row{vals: []string{"1", "2", "only"}})); err != nil {
				t.Fatal(err)
			}
			ms, err := w.PrepareCommit(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Commit(ctx, &connector.Committable{Identifier: 9, Messages: ms, Overwrite: true}); err != nil {
				t.Fatal(err)
			}
			same(t, "after the overwrite", x.read(catalog.Ref{}), []string{`[1,2,"only"]`})
		})
	}
}

// TestAbandoned checks that rows that are not committed leave no files.
func TestAbandoned(t *testing.T) {
	for _, abort := range []bool{false, true} {
		mem := fileio.NewMemory()
		s := shapes(0)[0]
		s.Options["write-buffer-size"] = "1 kb"
		x := newTable(t, mem, "/db.db/t", s)
		w, c := x.writer(nil), x.committer("me")
		r := rand.New(rand.NewPCG(3, 4))
		for range 3 {
			var rows []row
			for range 100 {
				rows = append(rows, randomRow(r, s, 1000))
			}
			if err := w.Write(ctx, x.batch(rows...)); err != nil {
				t.Fatal(err)
			}
		}
		if len(mem.Paths()) < 3 {
			t.Fatal("nothing was flushed")
		}
		if abort {
			ms, err := w.PrepareCommit(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Abort(ctx, ms); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := mem.Paths(); len(got) != 1 {
			t.Errorf("left over: %v", got)
		}
	}
}

// TestBackgroundCompaction writes through the connector's own interface, where
// compaction runs beside the writing, and checks that it keeps up.
func TestBackgroundCompaction(t *testing.T) {
	s := shapes(0)[0]
	s.Options["num-sorted-run.compaction-trigger"] = "3"
	x := newTable(t, fileio.NewMemory(), "/db.db/t", s)
	tb := x.open().(connector.Writable)
	budget := memory.New("test", 0)
	w, err := tb.NewWrite(ctx, connector.WriteOptions{CommitUser: "me", Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	c, err := tb.NewCommit(ctx, "me")
	if err != nil {
		t.Fatal(err)
	}
	m := &model{x: x, rows: map[string]string{}}
	r := rand.New(rand.NewPCG(9, 9))
	most := 0
	for id := int64(1); id <= 60; id++ {
		rows := make([]row, 20)
		for i := range rows {
			rows[i] = randomRow(r, s, 300)
		}
		m.apply(rows)
		if err := w.Write(ctx, x.batch(rows...)); err != nil {
			t.Fatal(err)
		}
		ms, err := w.PrepareCommit(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Commit(ctx, &connector.Committable{Identifier: id, Messages: ms}); err != nil {
			t.Fatal(err)
		}
		store := commit.Store{Files: x.files, Paths: x.paths}
		snap, err := store.Latest(ctx)
		if err != nil {
			t.Fatal(err)
		}
		live, err := store.Live(ctx, snap, nil, func(*entry) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		zero := 0
		for i := range live {
			if live[i].File.Level == 0 {
				zero++
			}
		}
		most = max(most, zero)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	same(t, "rows", x.read(catalog.Ref{}), m.sorted())
	// The stop trigger is 6; results are committed with the round after.
	if most > 9 || most < 3 {
		t.Errorf("there were up to %d files of level 0", most)
	}
	if budget.Used() != 0 {
		t.Errorf("%d bytes are still reserved", budget.Used())
	}
	checkFiles(t, x)
	x.sound("in the end")
}
