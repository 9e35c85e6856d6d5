package maintain_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/maintain"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

var ctx = context.Background()

// table is a table whose data files hold nothing.
type table struct {
	t      testing.TB
	mem    *fileio.Memory
	schema *catalog.Schema
	now    time.Time
	branch string
	pins   []int64
	n      int
	id     int64
	live   map[string][]spec.DataFileMeta // by branch: files of the one bucket, newest last
	vector map[string][]spec.IndexEntry   // by branch: the bucket's deletion vectors
}

func newTable(t testing.TB, options map[string]string) *table {
	t.Helper()
	s := &catalog.Schema{Fields: []catalog.Field{{ID: 0, Name: "p", Type: catalog.TString}, {ID: 1, Name: "k", Type: catalog.TInt.Required()}},
		PartitionKeys: []string{"p"}, PrimaryKeys: []string{"p", "k"}, Options: options, HighestFieldID: 1}
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	x := &table{t: t, mem: fileio.NewMemory(), schema: s, now: time.UnixMilli(1_700_000_000_000), live: map[string][]spec.DataFileMeta{}, vector: map[string][]spec.IndexEntry{}}
	b, err := spec.MarshalSchema(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.mem.CreateExclusive(ctx, x.paths().Schema(0), b); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *table) paths() *spec.Paths { return spec.NewPaths("/t", x.branch, x.schema) }

// on returns the same table, looking at a branch.
func (x *table) on(branch string) *table {
	y := *x
	y.branch = branch
	return &y
}

// copied returns the table in a copy of the store.
func (x *table) copied() *table {
	y := *x
	y.mem = x.mem.Clone()
	y.live, y.vector = map[string][]spec.DataFileMeta{}, map[string][]spec.IndexEntry{}
	for k, v := range x.live {
		y.live[k] = slices.Clone(v)
	}
	for k, v := range x.vector {
		y.vector[k] = v
	}
	return &y
}

func (x *table) maintain() *maintain.Table {
	return maintain.New(maintain.Config{Files: x.mem, Root: "/t", Branch: x.branch, Schema: x.schema, Name: "db.t", Location: time.UTC,
		Now: func() time.Time { return x.now }, Pinned: func() []int64 { return x.pins }})
}

func (x *table) store() commit.Store { return commit.Store{Files: x.mem, Paths: x.paths()} }

func row(t catalog.Type, set func(*vector.Vec)) spec.BinaryRow {
	v := t.NewVec(1)
	set(v)
	return spec.NewRowEncoder([]catalog.Type{t}).Encode([]*vector.Vec{v}, 0).Clone()
}

func part(p string) spec.BinaryRow {
	return row(catalog.TString, func(v *vector.Vec) { v.AppendString(p) })
}

func key(k int) spec.BinaryRow {
	return row(catalog.TInt, func(v *vector.Vec) { v.AppendI32(int32(k)) })
}

// file writes a data file and describes it.
func (x *table) file(p string, level int32, source int32, from, to int) spec.DataFileMeta {
	x.t.Helper()
	x.n++
	f := spec.DataFileMeta{FileName: fmt.Sprintf("data-%d-0.parquet", x.n), FileSize: 4, RowCount: 1, MinKey: key(from), MaxKey: key(to), KeyStats: spec.EmptyStats(),
		ValueStats: spec.EmptyStats(), ValueStatsCols: spec.Some([]string{}), Level: level, MinSequence: int64(x.n), MaxSequence: int64(x.n), DeleteRowCount: spec.Some(int64(0)),
		FileSource: spec.Some(source), ExtraFiles: []string{fmt.Sprintf("data-%d-0.parquet.index", x.n)}, CreationTime: spec.Some(x.now.UnixMilli())}
	e := spec.ManifestEntry{Partition: part(p), File: f}
	path, err := x.paths().DataFile(&e)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, p := range []string{path, path + ".index"} {
		if err := x.mem.WriteFile(ctx, p, []byte("data")); err != nil {
			x.t.Fatal(err)
		}
	}
	return f
}

func (x *table) index() spec.IndexEntry {
	x.n++
	e := spec.IndexEntry{IndexType: spec.IndexDeletionVectors, FileName: fmt.Sprintf("index-%d-0", x.n), FileSize: 5, RowCount: 0, Ranges: spec.Some([]spec.IndexRange{})}
	if err := x.mem.WriteFile(ctx, x.paths().Index(e.FileName), []byte("index")); err != nil {
		x.t.Fatal(err)
	}
	return e
}

func (x *table) committer() *commit.Committer { return x.committerOf("u") }

func (x *table) committerOf(user string) *commit.Committer {
	c, err := commit.New(commit.Config{Files: x.mem, Paths: x.paths(), Schema: x.schema, User: user, Now: func() time.Time { return x.now },
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	if err != nil {
		x.t.Fatal(err)
	}
	return c
}

func (x *table) commit(m ...*commit.Message) {
	x.t.Helper()
	x.id++
	x.now = x.now.Add(time.Minute)
	cm := &connector.Committable{Identifier: x.id}
	for _, m := range m {
		cm.Messages = append(cm.Messages, m)
	}
	if _, err := x.committer().Commit(ctx, cm); err != nil {
		x.t.Fatal(err)
	}
	for _, m := range m {
		if m.CompactionDropped() {
			x.t.Fatal("a compaction was dropped")
		}
	}
}

func message(p string) *commit.Message { return &commit.Message{Partition: part(p), TotalBuckets: 1} }

// write adds a file with a changelog.
func (x *table) write() {
	m := message("a")
	f := x.file("a", 0, spec.SourceAppend, x.n*10, x.n*10+9)
	m.New = []spec.DataFileMeta{f}
	if x.schema.Options["changelog-producer"] != "" {
		m.Changelog = []spec.DataFileMeta{x.file("a", 0, spec.SourceAppend, 0, 0)}
	}
	x.live[x.branch] = append(x.live[x.branch], f)
	x.commit(m)
	if x.n%4 == 0 { // as ANALYZE TABLE does
		if _, err := x.committerOf("analyst").Describe(ctx, []byte("{}"), x.schema.ID); err != nil {
			x.t.Fatal(err)
		}
	}
}

// compact merges all files of the bucket, or only lifts one, and writes deletion
// vectors.
func (x *table) compact(merge bool) {
	live := x.live[x.branch]
	if len(live) == 0 {
		return
	}
	m := message("a")
	if merge {
		after := x.file("a", 5, spec.SourceCompact, 0, 0)
		after.MinKey, after.MaxKey = live[0].MinKey, live[len(live)-1].MaxKey
		m.CompactBefore, m.CompactAfter = live, []spec.DataFileMeta{after}
		x.live[x.branch] = []spec.DataFileMeta{after}
	} else {
		if live[0].Level != 0 {
			return
		}
		after := live[0]
		after.Level = 4
		m.CompactBefore, m.CompactAfter = live[:1:1], []spec.DataFileMeta{after}
		x.live[x.branch] = append([]spec.DataFileMeta{after}, live[1:]...)
	}
	e := x.index()
	m.CompactIndex = commit.IndexChange{New: []spec.IndexEntry{e}, Deleted: x.vector[x.branch]}
	x.vector[x.branch] = []spec.IndexEntry{e}
	x.commit(m)
}

// reload takes over what a snapshot says, after a rollback.
func (x *table) reload() {
	s, err := x.store().Latest(ctx)
	if err != nil {
		x.t.Fatal(err)
	}
	x.live[x.branch], x.vector[x.branch] = nil, nil
	live, err := x.store().Live(ctx, s, nil, func(*spec.ManifestEntry) bool { return true })
	if s == nil {
		return
	}
	if err != nil {
		x.t.Fatal(err)
	}
	for _, e := range live {
		x.live[x.branch] = append(x.live[x.branch], e.File)
	}
	slices.SortFunc(x.live[x.branch], func(a, b spec.DataFileMeta) int { return int(a.MaxSequence - b.MaxSequence) })
	idx, err := x.store().Index(ctx, s)
	if err != nil {
		x.t.Fatal(err)
	}
	x.vector[x.branch] = idx
}

// complete checks that everything that any reference of any branch names is
// there, and returns all of it.
func (x *table) complete(what string) map[string]bool {
	x.t.Helper()
	branches := []string{""}
	list, err := x.mem.List(ctx, x.paths().BranchDir())
	if err != nil {
		x.t.Fatal(err)
	}
	for _, in := range list {
		branches = append(branches, strings.TrimPrefix(in.Name, "branch-"))
	}
	used := map[string]bool{}
	for _, b := range branches {
		y := x.on(b)
		for _, p := range x.mem.Paths() {
			dir, name := p[:strings.LastIndexByte(p, '/')], p[strings.LastIndexByte(p, '/')+1:]
			full := dir == y.paths().SnapshotDir() && strings.HasPrefix(name, "snapshot-") || dir == y.paths().TagDir()
			log := dir == y.paths().ChangelogDir() && strings.HasPrefix(name, "changelog-")
			if !full && !log {
				continue
			}
			b, err := x.mem.ReadFile(ctx, p)
			if err != nil {
				x.t.Fatal(err)
			}
			s, err := spec.ParseSnapshot(b)
			if err != nil {
				x.t.Fatal(err)
			}
			y.references(what+": "+p, s, full, log || dir != y.paths().TagDir(), used)
			for f := range used {
				if _, err := x.mem.Stat(ctx, f); err != nil {
					x.t.Fatalf("%s: %s needs %v", what, p, err)
				}
			}
		}
	}
	return used
}

func (x *table) references(what string, s *spec.Snapshot, state, log bool, used map[string]bool) {
	x.t.Helper()
	must := func(err error) {
		x.t.Helper()
		if err != nil {
			x.t.Fatalf("%s: %v", what, err)
		}
	}
	entry := func(e *spec.ManifestEntry) {
		p, err := x.paths().DataFile(e)
		must(err)
		used[p], used[p+".index"] = true, true
	}
	names := func(list string) []spec.ManifestMeta {
		if list == "" {
			return nil
		}
		used[x.paths().Manifest(list)] = true
		metas, err := x.store().ManifestList(ctx, list)
		must(err)
		for _, m := range metas {
			used[x.paths().Manifest(m.FileName)] = true
		}
		return metas
	}
	produces := x.schema.Options["changelog-producer"] != ""
	if state {
		names(s.BaseManifestList)
		names(s.DeltaManifestList)
		live, err := x.store().Live(ctx, s, nil, func(*spec.ManifestEntry) bool { return true })
		must(err)
		for i := range live {
			entry(&live[i])
		}
		idx, err := x.store().Index(ctx, s)
		must(err)
		if s.IndexManifest != "" {
			used[x.paths().Manifest(s.IndexManifest)] = true
		}
		if s.Statistics != "" {
			used[x.paths().StatisticsDir()+"/"+s.Statistics] = true
		}
		for i := range idx {
			used[x.paths().Index(idx[i].FileName)] = true
		}
	}
	added := func(list string) {
		for _, m := range names(list) {
			must(x.store().Manifest(ctx, m.FileName, func(e *spec.ManifestEntry) error {
				if e.Kind == spec.FileAdd {
					entry(e)
				}
				return nil
			}))
		}
	}
	switch {
	case !log:
	case produces:
		added(s.ChangelogManifestList)
	case !state: // the changelog is made of data files
		names(s.BaseManifestList)
		names(s.DeltaManifestList)
		if s.CommitKind == spec.KindAppend {
			added(s.DeltaManifestList)
		}
	}
}

// files returns the files that can be orphans.
func (x *table) files() []string {
	var out []string
	for _, p := range x.mem.Paths() {
		if strings.Contains(p, "/p=") || strings.Contains(p, "/manifest/") || strings.Contains(p, "/index/") || strings.Contains(p, "/statistics/") {
			out = append(out, p)
		}
	}
	return out
}

// leftovers returns the files that nobody refers to.
func (x *table) leftovers(what string) []string {
	x.t.Helper()
	used := x.complete(what)
	var out []string
	for _, p := range x.files() {
		if !used[p] {
			out = append(out, p)
		}
	}
	return out
}

func (x *table) ids() []int64 {
	x.t.Helper()
	ids, err := x.store().SnapshotIDs(ctx)
	if err != nil {
		x.t.Fatal(err)
	}
	return ids
}

func (x *table) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}
