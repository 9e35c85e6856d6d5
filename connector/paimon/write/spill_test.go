package write_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// with returns a copy of a schema with options.
func with(s *catalog.Schema, kv ...string) *catalog.Schema {
	out := *s
	out.Options = map[string]string{}
	for k, v := range s.Options {
		out.Options[k] = v
	}
	for i := 0; i < len(kv); i += 2 {
		out.Options[kv[i]] = kv[i+1]
	}
	return &out
}

// contents returns all that the new files of messages hold, sequence numbers and
// row kinds included, in the order of the files.
func (x *table) contents(list []connector.CommitMessage) []string {
	x.t.Helper()
	var out []string
	for _, c := range list {
		m := c.(*commit.Message)
		for name, files := range map[string][]spec.DataFileMeta{"data": m.New, "changelog": m.Changelog} {
			var rows []string
			for _, f := range files {
				e := spec.ManifestEntry{Partition: m.Partition, Bucket: m.Bucket, File: f}
				path, err := x.paths.DataFile(&e)
				if err != nil {
					x.t.Fatal(err)
				}
				rows = append(rows, x.fileRows(path)...)
			}
			for i, r := range rows {
				out = append(out, fmt.Sprintf("%x/%d %s %6d %s", m.Partition, m.Bucket, name, i, r))
			}
		}
	}
	slices.Sort(out)
	return out
}

func (x *table) fileRows(path string) []string {
	x.t.Helper()
	f, err := x.files.Open(ctx, path)
	if err != nil {
		x.t.Fatal(err)
	}
	s := &catalog.Schema{Fields: slices.Clone(x.schema.Fields)}
	if len(x.schema.PrimaryKeys) > 0 {
		s.Fields = append(s.Fields, catalog.Field{ID: spec.SequenceID, Name: spec.SequenceColumn, Type: catalog.TBigInt},
			catalog.Field{ID: spec.KindID, Name: spec.KindColumn, Type: catalog.TTinyInt})
	}
	var cols []format.Column
	for _, f := range s.Fields {
		cols = append(cols, format.Column{Name: f.Name, ID: f.ID, Type: f.Type})
	}
	fm, err := formats.Writable("parquet")
	if err != nil {
		x.t.Fatal(err)
	}
	r, err := fm.NewReader(ctx, f, format.ReadOptions{Path: path, Columns: cols})
	if err != nil {
		x.t.Fatal(err)
	}
	defer r.Close()
	var out []string
	for {
		b, err := r.Next(ctx)
		if err != nil {
			x.t.Fatal(err)
		}
		if b == nil {
			return out
		}
		for i := range b.Rows() {
			out = append(out, rowText(s, b, b.Row(i)))
		}
	}
}

// spillTables are tables of every way in which rows are buffered.
func spillTables() []engineTable {
	var out []engineTable
	for _, e := range append(engineTables(), bucketTables()...) {
		if strings.Contains(e.name, "_lookup") || strings.Contains(e.name, "_dv") || strings.Contains(e.name, "_full") {
			continue // as others, until they are compacted
		}
		out = append(out, e)
	}
	out = append(out, postponeTables()...)
	return append(out, engineTable{name: "append", options: map[string]string{"bucket": "-1", "write-buffer-for-append": "true"}, parts: true})
}

func (e engineTable) spillSchema() *catalog.Schema {
	s := e.schema()
	if e.name == "append" {
		s.PrimaryKeys = nil
	}
	if e.options["bucket"] == "-2" {
		s = with(s, "file.format", "parquet")
	}
	return s
}

// TestSpilledRowsAreTheSame writes the same rows with one large buffer and with
// tiny ones that are spilled: the files hold the same, and the tables read alike.
func TestSpilledRowsAreTheSame(t *testing.T) {
	for n, e := range spillTables() {
		t.Run(e.name, func(t *testing.T) {
			codec := []string{"zstd", "lz4", "none"}[n%3]
			budget := memory.New("test", 0)
			scratch := fileio.NewScratch(t.TempDir(), 0)
			tables := []*table{
				newTable(t, fileio.NewMemory(), "/db.db/t", with(e.spillSchema(), "write-buffer-size", "1 gb")),
				newTable(t, fileio.NewMemory(), "/db.db/t", with(e.spillSchema(), "write-buffer-size", "2 kb", "spill-compression", codec)),
			}
			var writers []*write.Writer
			var committers []*commit.Committer
			for i, x := range tables {
				writers = append(writers, x.writer(func(c *write.Config) {
					c.Budget, c.NoCompaction, c.CommitUser = budget, true, "me"
					if i == 1 {
						c.Spill = scratch
					}
				}))
				committers = append(committers, x.committer("me"))
			}
			r := rand.New(rand.NewPCG(7, uint64(n)))
			for id := int64(1); id <= 2; id++ {
				var got [2][]string
				var rows []row
				for range 10 {
					rows = append(rows, e.rows(r, 40)...)
				}
				spilled := false
				for i, x := range tables {
					for part := range slices.Chunk(rows, []int{len(rows), 9}[i]) {
						if err := writers[i].Write(ctx, x.batch(part...)); err != nil {
							t.Fatal(err)
						}
						_, files := scratch.Used()
						spilled = spilled || files > 0
					}
					ms, err := writers[i].PrepareCommit(ctx)
					if err != nil {
						t.Fatal(err)
					}
					got[i] = x.contents(ms)
					if _, err := committers[i].Commit(ctx, &connector.Committable{Identifier: id, Messages: ms}); err != nil {
						t.Fatal(err)
					}
				}
				if !spilled {
					t.Fatal("nothing was spilled")
				}
				same(t, fmt.Sprintf("files of commit %d", id), got[1], got[0])
				same(t, fmt.Sprintf("after commit %d", id), tables[1].read(catalog.Ref{}), tables[0].read(catalog.Ref{}))
				if bytes, files := scratch.Used(); bytes != 0 || files != 0 {
					t.Fatalf("%d bytes in %d files stay", bytes, files)
				}
			}
			for _, w := range writers {
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if budget.Used() != 0 {
				t.Errorf("%d bytes are still reserved", budget.Used())
			}
			tables[1].sound("in the end")
			checkFiles(t, tables[1])
		})
	}
}

// TestHotKeysAreSpilled spills more rows of one key than a block takes.
func TestHotKeysAreSpilled(t *testing.T) {
	s := &catalog.Schema{Fields: []catalog.Field{{Name: "k", Type: catalog.TInt.Required()}, {Name: "v", Type: catalog.TBigInt}}, PrimaryKeys: []string{"k"},
		Options: map[string]string{"bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "changelog-producer": "input", "write-buffer-size": "1 mb"}}
	x := newTable(t, fileio.NewMemory(), "/db.db/t", s)
	scratch := fileio.NewScratch(t.TempDir(), 0)
	w := x.writer(func(c *write.Config) { c.Spill, c.NoCompaction = scratch, true })
	defer w.Close()
	rows := make([]row, 500)
	sums := map[int]int{}
	for n := range 120 {
		for i := range rows {
			k := n % 2 * (i % 40)
			sums[k] += n + i
			rows[i] = row{vals: []string{fmt.Sprint(k), fmt.Sprint(n + i)}}
		}
		if err := w.Write(ctx, x.batch(rows...)); err != nil {
			t.Fatal(err)
		}
	}
	if bytes, _ := scratch.Used(); bytes == 0 {
		t.Fatal("nothing was spilled")
	}
	res := x.do(w, x.committer("me"), 1)
	var want []string
	for k, v := range sums {
		want = append(want, fmt.Sprintf("[%d,%d]", k, v))
	}
	slices.Sort(want)
	same(t, "sums", x.read(catalog.Ref{}), want)
	snap, err := (commit.Store{Files: x.files, Paths: x.paths}).Snapshot(ctx, res.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if n := snap.ChangelogRecordCount; n == nil || *n != 60_000 {
		t.Errorf("the changelog has %v rows, not 60,000", n)
	}
}

// TestSpillFaults lets every operation on temporary files fail in turn. Rows that
// cannot be spilled are written to files at once; those that cannot be read back
// are an error. Nothing stays.
func TestSpillFaults(t *testing.T) {
	broken := errs.New(errs.Unavailable, errs.KindNone, "broken")
	for _, e := range spillTables() {
		if !slices.Contains([]string{"dedup_input", "agg", "append"}, e.name) {
			continue
		}
		e.deletes = e.deletes && e.name != "agg" // what they retract depends on the buffers
		t.Run(e.name, func(t *testing.T) {
			step := func(fail int) (ops int, read bool, err error) {
				x := newTable(t, fileio.NewMemory(), "/db.db/t", with(e.spillSchema(), "write-buffer-size", "2 kb"))
				scratch := fileio.NewScratch(t.TempDir(), 0)
				scratch.SetFault(func(verb string) error {
					if ops++; ops == fail {
						read = verb == "read"
						return broken
					}
					return nil
				})
				budget := memory.New("test", 0)
				w := x.writer(func(c *write.Config) { c.Spill, c.Budget, c.NoCompaction = scratch, budget, true })
				r := rand.New(rand.NewPCG(8, 8))
				big := newTable(t, fileio.NewMemory(), "/db.db/t", e.spillSchema())
				bw := big.writer(nil)
				for range 10 {
					rows := e.rows(r, 40)
					if err = w.Write(ctx, x.batch(rows...)); err != nil {
						break
					}
					if err := bw.Write(ctx, big.batch(rows...)); err != nil {
						t.Fatal(err)
					}
				}
				var ms []connector.CommitMessage
				if err == nil {
					ms, err = w.PrepareCommit(ctx)
				}
				if err == nil {
					if _, err := x.committer("me").Commit(ctx, &connector.Committable{Identifier: 1, Messages: ms}); err != nil {
						t.Fatal(err)
					}
					big.do(bw, big.committer("me"), 1)
					same(t, fmt.Sprintf("operation %d failed", fail), x.read(catalog.Ref{}), big.read(catalog.Ref{}))
				}
				if cerr := errors.Join(w.Close(), bw.Close()); cerr != nil {
					t.Fatal(cerr)
				}
				if bytes, files := scratch.Used(); bytes != 0 || files != 0 || budget.Used() != 0 {
					t.Fatalf("operation %d failed: %d bytes in %d files and %d bytes of memory stay", fail, bytes, files, budget.Used())
				}
				checkFiles(t, x)
				return ops, read, err
			}
			ops, _, err := step(0)
			if err != nil || ops < 8 {
				t.Fatalf("%d operations, %v", ops, err)
			}
			reads := 0
			for n := 1; n <= ops; n++ {
				_, read, err := step(n)
				if read {
					reads++
				}
				if read != errors.Is(err, broken) {
					t.Fatalf("operation %d of %d failed, a read: %v: %v", n, ops, read, err)
				}
			}
			if reads == 0 {
				t.Error("nothing was read back")
			}
		})
	}
}

// TestSpillCrash crashes the store of the table at every change while rows are
// spilled: the table is as before or as after, and no temporary file stays.
func TestSpillCrash(t *testing.T) {
	e := engineTables()[slices.IndexFunc(engineTables(), func(e engineTable) bool { return e.name == "dedup_input" })]
	before := fileio.NewMemory()
	x := newTable(t, before, "/db.db/t", with(e.schema(), "write-buffer-size", "2 kb"))
	r := rand.New(rand.NewPCG(9, 9))
	w := x.writer(nil)
	x.do(w, x.committer("me"), 1, e.rows(r, 20)...)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	old := x.read(catalog.Ref{})
	var parts [][]row
	for range 6 {
		parts = append(parts, e.rows(r, 20))
	}
	scratch := fileio.NewScratch(t.TempDir(), 0)
	step := func(x *table) error {
		w := x.writer(func(c *write.Config) { c.Spill = scratch })
		defer w.Close()
		for _, p := range parts {
			if err := w.Write(ctx, x.batch(p...)); err != nil {
				return err
			}
		}
		if _, files := scratch.Used(); files == 0 {
			t.Fatal("nothing was spilled")
		}
		ms, err := w.PrepareCommit(ctx)
		if err != nil {
			return err
		}
		_, err = x.committer("me").Commit(ctx, &connector.Committable{Identifier: 2, Messages: ms})
		return err
	}
	whole := x.on(before.Clone())
	if err := step(whole); err != nil {
		t.Fatal(err)
	}
	after := whole.read(catalog.Ref{})
	for n := 1; n <= whole.files.(*fileio.Memory).Changes(); n++ {
		mem := before.Clone()
		y := x.on(mem)
		mem.CrashAt(n, n%2 == 0)
		step(y) //nolint:errcheck // it crashed
		if !mem.Crashed() {
			t.Fatalf("change %d: it did not crash", n)
		}
		mem.Restart()
		if got := y.read(catalog.Ref{}); !slices.Equal(got, old) {
			same(t, fmt.Sprintf("crash at change %d", n), got, after)
		}
		if bytes, files := scratch.Used(); bytes != 0 || files != 0 {
			t.Fatalf("crash at change %d: %d bytes in %d files stay", n, bytes, files)
		}
	}
}

// TestSpilledBase spills rows of connector.LayerBase: all have the sequence
// number 0.
func TestSpilledBase(t *testing.T) {
	e := engineTables()[0]
	x := newTable(t, fileio.NewMemory(), "/db.db/t", with(e.schema(), "write-buffer-size", "1 kb"))
	scratch := fileio.NewScratch(t.TempDir(), 0)
	w := x.writer(func(c *write.Config) { c.Spill, c.NoCompaction, c.Layer = scratch, true, connector.LayerBase })
	defer w.Close()
	for k := range 100 {
		if err := w.Write(ctx, x.batch(row{vals: []string{fmt.Sprint(k * 37 % 100), "1", "1", "1", "a", "1"}})); err != nil {
			t.Fatal(err)
		}
	}
	if bytes, _ := scratch.Used(); bytes == 0 {
		t.Fatal("nothing was spilled")
	}
	ms, err := w.PrepareCommit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, m := range ms {
		for _, f := range m.(*commit.Message).New {
			rows += int(f.RowCount)
			if f.MinSequence != 0 || f.MaxSequence != 0 {
				t.Errorf("sequence numbers from %d to %d", f.MinSequence, f.MaxSequence)
			}
		}
	}
	if rows != 100 {
		t.Errorf("%d rows", rows)
	}
}

// TestCompactionsSpill compacts tables with every merge engine from their files and
// from spilled runs: they read alike after every commit, and log the same changes.
func TestCompactionsSpill(t *testing.T) {
	for n, e := range engineTables() {
		if n%2 == 1 && testing.Short() {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			scratch := fileio.NewScratch(t.TempDir(), 0)
			used := 0
			scratch.SetFault(func(string) error { used++; return nil })
			budget := memory.New("test", 0)
			plain := newTable(t, fileio.NewMemory(), "/db.db/t", e.schema())
			spills := newTable(t, fileio.NewMemory(), "/db.db/t", with(e.schema(), "sort-spill-threshold", fmt.Sprint(n%3)))
			tables := []*table{plain, spills}
			var writers []*write.Writer
			for i, x := range tables {
				writers = append(writers, x.writer(func(c *write.Config) {
					if c.Budget = budget; i == 1 {
						c.Spill = scratch
					}
				}))
			}
			r := rand.New(rand.NewPCG(19, uint64(n)))
			for id := int64(1); id <= 6; id++ {
				rows := e.rows(r, 30)
				var logs []string
				for i, x := range tables {
					res := x.do(writers[i], x.committer("me"), id, rows...)
					if id == 6 {
						ms, err := write.Compact(ctx, write.Config{Files: x.files, Paths: x.paths, Schema: x.schema, Formats: formats, Budget: budget, Spill: scratch}, write.CompactOptions{Full: true})
						if err != nil {
							t.Fatal(err)
						}
						if res, err = x.committer("me").Commit(ctx, &connector.Committable{Identifier: 100, Messages: ms}); err != nil {
							t.Fatal(err)
						}
					}
					if res.Snapshot == 0 {
						logs = append(logs, "none")
						continue
					}
					snap, err := (commit.Store{Files: x.files, Paths: x.paths}).Snapshot(ctx, res.Snapshot)
					if err != nil {
						t.Fatal(err)
					}
					log := int64(-1)
					if snap.ChangelogRecordCount != nil {
						log = *snap.ChangelogRecordCount
					}
					logs = append(logs, fmt.Sprintf("snapshot %d: %d changes, %d rows", res.Snapshot, log, *snap.TotalRecordCount))
				}
				same(t, fmt.Sprintf("after commit %d", id), spills.read(catalog.Ref{}), plain.read(catalog.Ref{}))
				if logs[0] != logs[1] {
					t.Errorf("commit %d: %s, not %s", id, logs[1], logs[0])
				}
			}
			for _, w := range writers {
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if bytes, files := scratch.Used(); bytes != 0 || files != 0 || budget.Used() != 0 || used == 0 {
				t.Errorf("%d bytes in %d files and %d bytes of memory stay after %d operations", bytes, files, budget.Used(), used)
			}
			spills.sound("in the end")
			checkFiles(t, spills)
		})
	}
}

// TestCompactionsFitTheirMemory compacts with less and less memory: where it no
// longer suffices to read all files at once, runs are spilled.
func TestCompactionsFitTheirMemory(t *testing.T) {
	s := &catalog.Schema{Fields: []catalog.Field{{Name: "k", Type: catalog.TInt.Required()}}, PrimaryKeys: []string{"k"},
		Options: map[string]string{"bucket": "1", "write-only": "true"}}
	for i := range 12 {
		s.Fields = append(s.Fields, catalog.Field{Name: fmt.Sprint("v", i), Type: catalog.TString})
	}
	x := newTable(t, fileio.NewMemory(), "/db.db/t", s)
	r := rand.New(rand.NewPCG(20, 20))
	w, c := x.writer(nil), x.committer("me")
	for id := range int64(8) {
		rows := make([]row, 3000)
		for i := range rows {
			rows[i] = row{vals: []string{fmt.Sprint(r.IntN(10_000))}}
			for range 12 {
				rows[i].vals = append(rows[i].vals, fmt.Sprintf("%016x", r.Uint64()))
			}
		}
		x.do(w, c, id, rows...)
	}
	want := x.read(catalog.Ref{})
	attempt := func(limit int64, spill *fileio.Scratch) ([]connector.CommitMessage, error) {
		budget := memory.New("compaction", limit)
		ms, err := write.Compact(ctx, write.Config{Files: x.files, Paths: x.paths, Schema: x.schema, Formats: formats, Budget: budget, Spill: spill}, write.CompactOptions{Full: true})
		if budget.Used() != 0 {
			t.Errorf("%d bytes are still reserved", budget.Used())
		}
		return ms, err
	}
	limit, scratch := int64(20<<20), fileio.NewScratch(t.TempDir(), 0)
	for ; limit > 8<<20; limit -= 1 << 20 {
		if _, err := attempt(limit, nil); errs.ClassOf(err) == errs.Resource {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	ms, err := attempt(limit, scratch)
	if err != nil {
		t.Fatalf("with %s: %v", memory.FormatSize(limit), err)
	}
	if _, err := c.Commit(ctx, &connector.Committable{Identifier: 100, Messages: ms}); err != nil {
		t.Fatal(err)
	}
	same(t, "compacted", x.read(catalog.Ref{}), want)
	if _, files := scratch.Used(); files != 0 {
		t.Errorf("%d files stay", files)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSpillJava lets Java check tables whose rows were spilled.
func TestSpillJava(t *testing.T) {
	program := os.Getenv("THERMOCLINE_PAIMON_JAVA")
	if program == "" {
		t.Skip("needs THERMOCLINE_PAIMON_JAVA, a program that runs Java Paimon")
	}
	root := t.TempDir()
	var in strings.Builder
	for n, e := range spillTables() {
		if e.options["bucket"] == "-2" {
			continue // TestPostponeJava
		}
		x := newTable(t, fileio.Local{NoSync: true}, filepath.Join(root, e.name, "default.db", "t"), with(e.spillSchema(), "write-buffer-size", "2 kb"))
		w, c := x.writer(func(c *write.Config) { c.Spill = fileio.NewScratch(t.TempDir(), 0) }), x.committer("me")
		r := rand.New(rand.NewPCG(17, uint64(n)))
		for id := int64(1); id <= 2; id++ {
			for range 8 {
				if err := w.Write(ctx, x.batch(e.rows(r, 40)...)); err != nil {
					t.Fatal(err)
				}
			}
			x.do(w, c, id)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&in, "verify\t%s\t%s\n", x.dir, x.expect("ours", x.read(catalog.Ref{})))
	}
	cmd := exec.Command(program, "batch")
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.CombinedOutput()
	if want := strings.Count(in.String(), "verify\t"); err != nil || strings.Count(string(out), " 0 problems") != want {
		t.Errorf("Java disagrees (%d tables): %v\n%s", want, err, out)
	}
}
