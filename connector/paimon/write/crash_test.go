package write_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// appendSchema is an append table, where a row applied twice shows.
func appendSchema() *catalog.Schema {
	return &catalog.Schema{Fields: []catalog.Field{{Name: "a", Type: catalog.TInt}, {Name: "b", Type: catalog.TString}}}
}

// on returns the table as a process on another store sees it.
func (x *table) on(files fileio.FileIO) *table {
	y := *x
	y.files = files
	return &y
}

// sound checks that every snapshot can be read, that their row counts agree, and
// that each nonce was committed once.
func (x *table) sound(what string) {
	x.t.Helper()
	store := commit.Store{Files: x.files, Paths: x.paths}
	ids, err := store.SnapshotIDs(ctx)
	if err != nil {
		x.t.Fatal(err)
	}
	nonces := map[string]int64{}
	last := int64(0)
	for i, id := range ids {
		if i > 0 && id != ids[i-1]+1 {
			x.t.Fatalf("%s: snapshots %v", what, ids)
		}
		snap, err := store.Snapshot(ctx, id)
		if err != nil {
			x.t.Fatalf("%s: %v", what, err)
		}
		if snap.CommitKind != spec.KindCompact {
			n := snap.Properties[commit.NonceProperty]
			if n == "" || nonces[n] != 0 {
				x.t.Fatalf("%s: snapshot %d has the nonce %q of snapshot %d", what, id, n, nonces[n])
			}
			nonces[n] = id
		}
		if snap.TimeMillis < last {
			x.t.Fatalf("%s: snapshot %d is older than the one before", what, id)
		}
		last = snap.TimeMillis
		live, err := store.Live(ctx, snap, nil, func(*spec.ManifestEntry) bool { return true })
		if err != nil {
			x.t.Fatalf("%s: snapshot %d: %v", what, id, err)
		}
		var rows int64
		for i := range live {
			rows += live[i].File.RowCount
			path, err := x.paths.DataFile(&live[i])
			if err != nil {
				x.t.Fatal(err)
			}
			if in, err := x.files.Stat(ctx, path); err != nil || in.Size != live[i].File.FileSize {
				x.t.Fatalf("%s: snapshot %d: file %s: %v", what, id, path, err)
			}
		}
		if rows != *snap.TotalRecordCount {
			x.t.Fatalf("%s: snapshot %d has %d rows, says %d", what, id, rows, *snap.TotalRecordCount)
		}
	}
}

// TestCrashEverywhere crashes a write and its commit, with compaction, at every
// change of the store. Afterwards the table is as before or as after, and going
// on as ingest does makes it as after, once.
func TestCrashEverywhere(t *testing.T) {
	keyed := shapes(0)[0]
	keyed.Options["commit.force-compact"] = "true"
	for name, s := range map[string]*catalog.Schema{"append": appendSchema(), "keyed": keyed} {
		t.Run(name, func(t *testing.T) {
			before := fileio.NewMemory()
			x := newTable(t, before, "/db.db/t", s)
			rows := func(from int) []row {
				var out []row
				for i := from; i < from+5; i++ {
					vals := []string{fmt.Sprint(i), "v" + fmt.Sprint(i)}
					if name == "keyed" {
						vals = append(vals, "1")
					}
					out = append(out, row{vals: vals})
				}
				return out
			}
			w, c := x.writer(nil), x.committer("me")
			for id := int64(1); id <= 3; id++ {
				x.do(w, c, id, rows(int(id)*3)...)
			}
			old := x.read(catalog.Ref{})

			// step writes and commits; cm is nil when there is nothing to commit yet.
			step := func(x *table) (cm *connector.Committable, err error) {
				w := x.writer(nil)
				defer w.Close()
				if err := w.Write(ctx, x.batch(rows(100)...)); err != nil {
					return nil, err
				}
				ms, err := w.PrepareCommit(ctx)
				if err != nil {
					return nil, err
				}
				cm = &connector.Committable{Identifier: 4, Messages: ms, Epoch: 1, Properties: map[string]string{"cdc.position": "p4"}}
				_, err = x.committer("me").Commit(ctx, cm)
				return cm, err
			}
			whole := x.on(before.Clone())
			if _, err := step(whole); err != nil {
				t.Fatal(err)
			}
			after := whole.read(catalog.Ref{})
			if slices.Equal(old, after) {
				t.Fatal("the step changes nothing")
			}
			changes := whole.files.(*fileio.Memory).Changes()
			crashes := 0
			for n := 1; n <= changes; n++ {
				for _, late := range []bool{false, true} {
					what := fmt.Sprintf("crash at change %d, after it: %v", n, late)
					mem := before.Clone()
					y := x.on(mem)
					mem.CrashAt(n, late)
					cm, err := step(y)
					if !mem.Crashed() {
						t.Fatalf("%s: it did not crash", what)
					}
					crashes++
					op := mem.Log()[len(mem.Log())-1]
					mem.Restart()
					got := y.read(catalog.Ref{})
					switch {
					case slices.Equal(got, after):
						if err != nil && errs.ClassOf(err) != errs.UnknownOutcome {
							t.Fatalf("%s: Commit says that nothing happened, but it did: %v", what, err)
						}
					case slices.Equal(got, old):
						if err == nil {
							t.Fatalf("%s (%v): Commit says it is done, but it is not", what, op)
						}
					default:
						t.Fatalf("%s: the table is between old and new: %v", what, got)
					}
					y.sound(what)
					if cm == nil {
						if _, err := step(y); err != nil {
							t.Fatalf("%s: again: %v", what, err)
						}
					} else {
						res, err := y.committer("me").Commit(ctx, cm)
						if err != nil {
							t.Fatalf("%s: again: %v", what, err)
						}
						if res.Already != slices.Equal(got, after) {
							t.Fatalf("%s: Already is %v", what, res.Already)
						}
					}
					same(t, what+", again", y.read(catalog.Ref{}), after)
					y.sound(what + ", again")
					own, err := y.committer("me").LatestOwn(ctx)
					if err != nil || own.Properties["cdc.position"] != "p4" || own.Properties[commit.EpochProperty] != "1" {
						t.Fatalf("%s: the newest own snapshot is %+v (%v)", what, own, err)
					}
				}
			}
			t.Logf("%d crashes", crashes)
		})
	}
}

// TestFaultyStore commits through a store that fails before or after operations
// at random, as object stores do, by several committers.
func TestFaultyStore(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 10
	}
	for seed := range uint64(seeds) {
		mem := fileio.NewMemory()
		x := newTable(t, mem, "/db.db/t", appendSchema())
		r := rand.New(rand.NewPCG(seed, 1))
		fault := func(fileio.Op) fileio.Outcome {
			switch r.IntN(12) {
			case 0:
				return fileio.FailBefore
			case 1:
				return fileio.FailAfter
			}
			return fileio.Proceed
		}
		var want []string
		users := []string{"a", "b"}
		committers := []*commit.Committer{x.committer("a"), x.committer("b")}
		for id := int64(1); id <= 12; id++ {
			u := r.IntN(2)
			mem.SetFault(nil)
			w := x.writer(nil)
			b := x.batch(row{vals: []string{fmt.Sprint(id), users[u]}})
			if err := w.Write(ctx, b); err != nil {
				t.Fatal(err)
			}
			ms, err := w.PrepareCommit(ctx)
			if err != nil {
				t.Fatal(err)
			}
			cm := &connector.Committable{Identifier: id, Messages: ms, Properties: map[string]string{"cdc.seq": fmt.Sprint(id)}}
			mem.SetFault(fault)
			for try := 0; ; try++ {
				if _, err = committers[u].Commit(ctx, cm); err == nil {
					break
				}
				if try == 200 {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if r.IntN(4) == 0 {
					committers[u] = x.committer(users[u]) // the process restarted
				}
			}
			want = append(want, rowText(x.schema, b, 0))
			mem.SetFault(nil)
			slices.Sort(want)
			same(t, fmt.Sprintf("seed %d, commit %d", seed, id), x.read(catalog.Ref{}), want)
			x.sound(fmt.Sprintf("seed %d, commit %d", seed, id))
		}
	}
}

// TestConcurrentCommitters lets several writers commit to one table at once.
func TestConcurrentCommitters(t *testing.T) {
	const writers, commits = 4, 12
	x := newTable(t, fileio.NewMemory(), "/db.db/t", appendSchema())
	x.schema.Options["commit.min-retry-wait"] = "1 ms"
	x.schema.Options["commit.max-retry-wait"] = "20 ms"
	x.schema.Options["commit.max-retries"] = "1000"
	var wg sync.WaitGroup
	failures := make(chan error, writers)
	for n := range writers {
		wg.Go(func() {
			failures <- func() error {
				c, err := commit.New(commit.Config{Files: x.files, Paths: x.paths, Schema: x.schema, User: fmt.Sprint("user", n)})
				if err != nil {
					return err
				}
				w, err := write.New(write.Config{Files: x.files, Paths: x.paths, Schema: x.schema, Formats: formats})
				if err != nil {
					return err
				}
				defer w.Close()
				for i := range commits {
					if err := w.Write(ctx, x.batch(row{vals: []string{fmt.Sprint(i), fmt.Sprint("user", n)}})); err != nil {
						return err
					}
					ms, err := w.PrepareCommit(ctx)
					if err != nil {
						return err
					}
					if _, err := c.Commit(ctx, &connector.Committable{Identifier: int64(i + 1), Messages: ms}); err != nil {
						return err
					}
				}
				own, err := c.LatestOwn(ctx)
				if err != nil || own == nil || own.Identifier != commits {
					return fmt.Errorf("newest own snapshot %+v: %v", own, err)
				}
				return nil
			}()
		})
	}
	wg.Wait()
	for range writers {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	var want []string
	for n := range writers {
		for i := range commits {
			want = append(want, fmt.Sprintf(`[%d,"user%d"]`, i, n))
		}
	}
	slices.Sort(want)
	same(t, "rows", x.read(catalog.Ref{}), want)
	x.sound("after all")
	checkFiles(t, x)
}

// TestCompactionConflict compacts the same files twice: the second result is
// dropped, no row is lost, and its files are removed.
func TestCompactionConflict(t *testing.T) {
	s := shapes(0)[0]
	s.Options["num-sorted-run.compaction-trigger"] = "3"
	x := newTable(t, fileio.NewMemory(), "/db.db/t", s)
	m := &model{x: x, rows: map[string]string{}}
	plain := x.writer(func(c *write.Config) { c.NoCompaction = true })
	c := x.committer("me")
	r := rand.New(rand.NewPCG(5, 6))
	for id := int64(1); id <= 4; id++ {
		var rows []row
		for range 30 {
			rows = append(rows, randomRow(r, s, 40))
		}
		m.apply(rows)
		x.do(plain, c, id, rows...)
	}
	prepare := func(key string) []connector.CommitMessage {
		w := x.writer(nil)
		rows := []row{{vals: []string{key, "new", "1"}}}
		m.apply(rows)
		if err := w.Write(ctx, x.batch(rows...)); err != nil {
			t.Fatal(err)
		}
		ms, err := w.PrepareCommit(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(ms) != 1 || len(ms[0].(*commit.Message).CompactBefore) == 0 {
			t.Fatal("there is no compaction")
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return ms
	}
	one := prepare("1000")
	two := prepare("1001")
	// Rows of two writers would be in conflict too; here only compactions are.
	extra := two[0].(*commit.Message)
	if err := c.Abort(ctx, []connector.CommitMessage{&commit.Message{Partition: extra.Partition, Bucket: extra.Bucket, New: extra.New}}); err != nil {
		t.Fatal(err)
	}
	extra.New = nil
	delete(m.rows, "1001")
	for i, ms := range [][]connector.CommitMessage{one, two} {
		res, err := c.Commit(ctx, &connector.Committable{Identifier: int64(5 + i), Messages: ms})
		if err != nil {
			t.Fatal(err)
		}
		if dropped := ms[0].(*commit.Message).CompactionDropped(); dropped != (i == 1) {
			t.Errorf("compaction %d dropped: %v", i, dropped)
		}
		if want := []int64{6, 0}[i]; res.Snapshot != want {
			t.Errorf("snapshot %d, want %d", res.Snapshot, want)
		}
	}
	same(t, "rows", x.read(catalog.Ref{}), m.sorted())
	x.sound("after both")
	checkFiles(t, x)
}

// TestRefusals checks that what cannot be written is named before anything is.
func TestRefusals(t *testing.T) {
	for option, value := range map[string]string{
		"record-level.expire-time": "1 d", "bucket-function.type": "mod",
		"file.format": "orc", "manifest.format": "orc", "data-file.external-paths": "s3://x", "metadata.iceberg.storage": "table-location",
	} {
		s := shapes(0)[0]
		s.Options[option] = value
		mem := fileio.NewMemory()
		x := newTable(t, mem, "/db.db/t", s)
		_, err := write.New(write.Config{Files: mem, Paths: x.paths, Schema: s, Formats: formats})
		if errs.ClassOf(err) != errs.Unsupported || !strings.Contains(err.Error(), value) && !strings.Contains(err.Error(), option) {
			t.Errorf("%s = %s: %v", option, value, err)
		}
		if len(mem.Paths()) != 1 {
			t.Errorf("%s: files were written", option)
		}
	}
	s := shapes(0)[0]
	x := newTable(t, fileio.NewMemory(), "/db.db/t", s)
	w := x.writer(nil)
	if err := w.Write(ctx, x.batch(row{vector.Insert, []string{"", "x", "1"}})); !errs.Is(err, errs.NotNull) {
		t.Errorf("NULL in a NOT NULL column: %v", err)
	}
	x.do(w, x.committer("me"), 1, row{vals: []string{"1", "a", "1"}})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// The table's bucket number changed without rewriting the rows.
	other := *s
	other.Options = map[string]string{"bucket": "5"}
	x.schema = &other
	w = x.writer(nil)
	if err := w.Write(ctx, x.batch(row{vals: []string{"1", "a", "1"}})); errs.ClassOf(err) != errs.Unsupported {
		t.Errorf("another number of buckets: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
