package commit_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

var ctx = context.Background()

// table commits files that exist only in the metadata.
type table struct {
	t      testing.TB
	mem    *fileio.Memory
	schema *catalog.Schema
	paths  *spec.Paths
	now    time.Time
	n      int
	seq    int64
}

func newTable(t testing.TB, options map[string]string) *table {
	t.Helper()
	s := &catalog.Schema{Fields: []catalog.Field{{ID: 0, Name: "p", Type: catalog.TString}, {ID: 1, Name: "k", Type: catalog.TInt.Required()}},
		PartitionKeys: []string{"p"}, PrimaryKeys: []string{"p", "k"}, Options: options, HighestFieldID: 1}
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	x := &table{t: t, mem: fileio.NewMemory(), schema: s, paths: spec.NewPaths("/t", "", s), now: time.UnixMilli(1_000_000)}
	x.putSchema()
	return x
}

func (x *table) putSchema() {
	b, err := spec.MarshalSchema(x.schema)
	if err != nil {
		x.t.Fatal(err)
	}
	if err := x.mem.CreateExclusive(ctx, x.paths.Schema(x.schema.ID), b); err != nil {
		x.t.Fatal(err)
	}
}

func (x *table) committer(user string) *commit.Committer {
	x.t.Helper()
	c, err := commit.New(commit.Config{Files: x.mem, Paths: x.paths, Schema: x.schema, User: user,
		Now: func() time.Time { return x.now }, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	if err != nil {
		x.t.Fatal(err)
	}
	return c
}

func encode(t catalog.Type, set func(*vector.Vec)) spec.BinaryRow {
	v := t.NewVec(1)
	set(v)
	return spec.NewRowEncoder([]catalog.Type{t}).Encode([]*vector.Vec{v}, 0).Clone()
}

func partition(p string) spec.BinaryRow {
	return encode(catalog.TString, func(v *vector.Vec) { v.AppendString(p) })
}

func key(k int32) spec.BinaryRow {
	return encode(catalog.TInt, func(v *vector.Vec) { v.AppendI32(k) })
}

// file makes the description of a file with one row a key.
func (x *table) file(level, from, to int32) spec.DataFileMeta {
	x.n++
	seq := x.seq
	if level == 0 {
		x.seq += int64(to-from) + 1
	}
	empty := spec.EmptyStats()
	return spec.DataFileMeta{FileName: fmt.Sprintf("data-%d-0.parquet", x.n), FileSize: 100, RowCount: int64(to-from) + 1, MinKey: key(from), MaxKey: key(to),
		KeyStats: empty, ValueStats: empty, MinSequence: seq, MaxSequence: seq + int64(to-from), ValueStatsCols: spec.Some([]string{}), Level: level, DeleteRowCount: spec.Some(int64(0))}
}

func (x *table) message(p string, files ...spec.DataFileMeta) *commit.Message {
	return &commit.Message{Partition: partition(p), Bucket: 0, TotalBuckets: 1, New: files}
}

func (x *table) must(c *commit.Committer, cm *connector.Committable) *spec.Snapshot {
	x.t.Helper()
	res, err := c.Commit(ctx, cm)
	if err != nil {
		x.t.Fatal(err)
	}
	if res.Snapshot == 0 {
		return nil
	}
	s, err := c.Store().Snapshot(ctx, res.Snapshot)
	if err != nil {
		x.t.Fatal(err)
	}
	return s
}

func messages(ms ...*commit.Message) []connector.CommitMessage {
	out := make([]connector.CommitMessage, len(ms))
	for i, m := range ms {
		out[i] = m
	}
	return out
}

func (x *table) live(s *spec.Snapshot) []spec.ManifestEntry {
	x.t.Helper()
	live, err := commit.Store{Files: x.mem, Paths: x.paths}.Live(ctx, s, nil, func(*spec.ManifestEntry) bool { return true })
	if err != nil {
		x.t.Fatal(err)
	}
	return live
}

func noSleep(context.Context, time.Duration) error { return nil }

func TestSnapshotFields(t *testing.T) {
	x := newTable(t, nil)
	c := x.committer("cdc-p")
	w := int64(77)
	s := x.must(c, &connector.Committable{Identifier: 3, Epoch: 2, Watermark: &w, Properties: map[string]string{"cdc.position": "a", "other": "b"},
		Messages: messages(x.message("p1", x.file(0, 1, 10)))})
	if s.ID != 1 || s.CommitKind != spec.KindAppend || s.CommitUser != "cdc-p" || s.CommitIdentifier != 3 || s.TimeMillis != 1_000_000 || *s.Watermark != 77 ||
		*s.TotalRecordCount != 10 || *s.DeltaRecordCount != 10 || *s.NextRowID != 0 || s.Properties["cdc.position"] != "a" || s.Properties["other"] != "b" ||
		s.Properties[commit.EpochProperty] != "2" || s.Properties[commit.NonceProperty] == "" || s.UUID == "" {
		t.Errorf("snapshot %+v", s)
	}
	for path, want := range map[string]string{x.paths.Latest(): "1", x.paths.Earliest(): "1"} {
		if b, err := x.mem.ReadFile(ctx, path); err != nil || string(b) != want {
			t.Errorf("%s holds %q (%v)", path, b, err)
		}
	}
	// The clock goes back, the watermark too, and the schema has changed.
	x.now = x.now.Add(-time.Hour)
	x.schema.ID = 1
	x.putSchema()
	low := int64(5)
	before, after := x.live(s)[0].File, x.file(5, 1, 10)
	m := x.message("p2", x.file(0, 1, 1))
	m2 := &commit.Message{Partition: partition("p1"), TotalBuckets: 1, CompactBefore: []spec.DataFileMeta{before}, CompactAfter: []spec.DataFileMeta{after}}
	s3 := x.must(c, &connector.Committable{Identifier: 4, Epoch: 2, Watermark: &low, Properties: map[string]string{"cdc.position": "c", "x": "y"}, Messages: messages(m, m2)})
	s2, err := c.Store().Snapshot(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	if s2.TimeMillis != 1_000_000 || s2.SchemaID != 1 || *s2.Watermark != 77 || *s2.TotalRecordCount != 11 || s2.CommitKind != spec.KindAppend {
		t.Errorf("snapshot %+v", s2)
	}
	if s3.ID != 3 || s3.CommitKind != spec.KindCompact || s3.CommitIdentifier != 4 || *s3.DeltaRecordCount != 0 || s3.Properties["cdc.position"] != "c" ||
		s3.Properties[commit.EpochProperty] != "2" || s3.Properties["x"] != "" {
		t.Errorf("snapshot %+v", s3)
	}
	if live := x.live(s3); len(live) != 2 {
		t.Errorf("live %+v", live)
	}
}

func TestEmptyCommits(t *testing.T) {
	x := newTable(t, nil)
	c := x.committer("u")
	if s := x.must(c, &connector.Committable{Identifier: 1}); s != nil {
		t.Errorf("an empty commit made snapshot %d", s.ID)
	}
	s := x.must(c, &connector.Committable{Identifier: 2, EvenIfEmpty: true, Properties: map[string]string{"cdc.position": "z"}})
	if s == nil || s.ID != 1 || s.Properties["cdc.position"] != "z" || len(x.live(s)) != 0 {
		t.Fatalf("snapshot %+v", s)
	}
	own, err := c.LatestOwn(ctx)
	if err != nil || own.ID != 1 || own.Identifier != 2 || own.UUID != s.UUID || own.Kind != "APPEND" {
		t.Errorf("newest own %+v (%v)", own, err)
	}
	if own, err := x.committer("someone else").LatestOwn(ctx); err != nil || own != nil {
		t.Errorf("newest own of another user %+v (%v)", own, err)
	}
}

func TestNonce(t *testing.T) {
	x := newTable(t, nil)
	c := x.committer("u")
	cm := &connector.Committable{Identifier: 1, Messages: messages(x.message("p", x.file(0, 1, 2)))}
	x.must(c, cm)
	for _, again := range []*commit.Committer{c, x.committer("u")} {
		res, err := again.Commit(ctx, cm)
		if err != nil || !res.Already || res.Snapshot != 1 {
			t.Errorf("again: %+v (%v)", res, err)
		}
	}
	// Another committable with the same identifier is another one.
	s := x.must(x.committer("u"), &connector.Committable{Identifier: 1, Messages: messages(x.message("p", x.file(0, 3, 4)))})
	if s.ID != 2 || *s.TotalRecordCount != 4 {
		t.Errorf("snapshot %+v", s)
	}
	// The nonce is found behind others' snapshots.
	x.must(x.committer("v"), &connector.Committable{Identifier: 1, Messages: messages(x.message("p", x.file(0, 5, 6)))})
	res, err := x.committer("u").Commit(ctx, cm)
	if err != nil || !res.Already || res.Snapshot != 1 {
		t.Errorf("again: %+v (%v)", res, err)
	}
}

func TestFencing(t *testing.T) {
	x := newTable(t, nil)
	old, young := x.committer("u"), x.committer("u")
	commitAs := func(c *commit.Committer, epoch, id int64) error {
		_, err := c.Commit(ctx, &connector.Committable{Identifier: id, Epoch: epoch, Messages: messages(x.message("p", x.file(0, 1, 1)))})
		return err
	}
	if err := commitAs(old, 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := commitAs(young, 2, 2); err != nil {
		t.Fatal(err)
	}
	err := commitAs(old, 1, 3)
	if !errs.Is(err, errs.Fenced) || errs.ClassOf(err) != errs.Conflict {
		t.Errorf("the old epoch commits: %v", err)
	}
	if _, err := old.Commit(ctx, &connector.Committable{Identifier: 4, Epoch: 1}); !errs.Is(err, errs.Fenced) {
		t.Errorf("the old epoch commits nothing: %v", err)
	}
	if err := commitAs(x.committer("other"), 1, 1); err != nil {
		t.Errorf("another user is fenced: %v", err)
	}
	if err := commitAs(young, 2, 5); err != nil {
		t.Error(err)
	}
}

// TestAfter: a commit that relies on the newest own snapshot finds one that came
// late, and its own repetition does not.
func TestAfter(t *testing.T) {
	x := newTable(t, nil)
	c, late := x.committer("u"), x.committer("u")
	one := &connector.Committable{Identifier: 1, After: -1, Messages: messages(x.message("p", x.file(0, 1, 1)))}
	x.must(c, one)
	x.must(x.committer("v"), &connector.Committable{Identifier: 9, After: -1, Messages: messages(x.message("p", x.file(0, 2, 2)))})
	x.must(c, &connector.Committable{Identifier: 2, After: 1, Messages: messages(x.message("p", x.file(0, 3, 3)))})
	x.must(late, &connector.Committable{Identifier: 3, After: 3, Messages: messages(x.message("p", x.file(0, 4, 4)))})
	for _, after := range []int64{3, 1, -1, 5} {
		_, err := c.Commit(ctx, &connector.Committable{Identifier: 3, After: after, EvenIfEmpty: true})
		if errs.ClassOf(err) != errs.Conflict || errs.KindOf(err) != errs.CommittedLate || !strings.Contains(err.Error(), "snapshot 4 was made meanwhile") {
			t.Errorf("after %d: %v", after, err)
		}
	}
	if res, err := x.committer("u").Commit(ctx, one); err != nil || !res.Already {
		t.Errorf("again: %+v %v", res, err)
	}
	x.must(c, &connector.Committable{Identifier: 4, After: 4, EvenIfEmpty: true})
	x.must(late, &connector.Committable{Identifier: 5, EvenIfEmpty: true})
}

// TestFencedInTheRace has the other process commit between our look at the
// table and our snapshot.
func TestFencedInTheRace(t *testing.T) {
	x := newTable(t, nil)
	old, young := x.committer("u"), x.committer("u")
	file := x.file(0, 1, 1)
	once := false
	x.mem.SetFault(nil)
	c, err := commit.New(commit.Config{Files: racing{x.mem, func() {
		if !once {
			once = true
			x.must(young, &connector.Committable{Identifier: 1, Epoch: 2, Messages: messages(x.message("p", x.file(0, 1, 1)))})
		}
	}}, Paths: x.paths, Schema: x.schema, User: "u", Sleep: noSleep})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Commit(ctx, &connector.Committable{Identifier: 1, Epoch: 1, Messages: messages(x.message("p", file))})
	if !errs.Is(err, errs.Fenced) {
		t.Errorf("not fenced: %v", err)
	}
	own, err := old.LatestOwn(ctx)
	if err != nil || own.ID != 1 || own.Properties[commit.EpochProperty] != "2" {
		t.Errorf("newest own %+v (%v)", own, err)
	}
}

// racing calls before ahead of each creation of a snapshot.
type racing struct {
	fileio.FileIO
	before func()
}

func (r racing) CreateExclusive(ctx context.Context, path string, data []byte) error {
	r.before()
	return r.FileIO.CreateExclusive(ctx, path, data)
}

// lossy loses replies of creations, and keeps what it lost to deliver it late.
type lossy struct {
	fileio.FileIO
	late func(path string, data []byte)
}

func (l lossy) CreateExclusive(ctx context.Context, path string, data []byte) error {
	if l.late != nil {
		l.late(path, data)
		return errs.New(errs.UnknownOutcome, errs.KindNone, "create %s: timeout", path)
	}
	return l.FileIO.CreateExclusive(ctx, path, data)
}

// TestLateCreation delivers the creation of a snapshot after the committer gave
// up waiting for it: between its attempts, or after its next one.
func TestLateCreation(t *testing.T) {
	for _, when := range []string{"before the next look", "at the next attempt", "never"} {
		t.Run(when, func(t *testing.T) {
			x := newTable(t, nil)
			var path string
			var data []byte
			attempts := 0
			files := lossy{FileIO: x.mem}
			files.late = func(p string, b []byte) {
				attempts++
				if attempts == 1 {
					path, data = p, b
					return
				}
				if when == "at the next attempt" && attempts == 2 {
					if err := x.mem.CreateExclusive(ctx, path, data); err != nil {
						t.Fatal(err)
					}
				}
				x.mem.CreateExclusive(ctx, p, b) //nolint:errcheck // the caller looks for itself
			}
			c, err := commit.New(commit.Config{Files: files, Paths: x.paths, Schema: x.schema, User: "u", Sleep: func(context.Context, time.Duration) error {
				if when == "before the next look" && attempts == 1 {
					return x.mem.CreateExclusive(ctx, path, data)
				}
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			res, err := c.Commit(ctx, &connector.Committable{Identifier: 1, Messages: messages(x.message("p", x.file(0, 1, 1)))})
			if err != nil || res.Snapshot != 1 {
				t.Fatalf("%+v (%v)", res, err)
			}
			ids, err := c.Store().SnapshotIDs(ctx)
			if err != nil || len(ids) != 1 {
				t.Fatalf("snapshots %v (%v)", ids, err)
			}
			s, err := c.Store().Snapshot(ctx, 1)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(x.live(s)); n != 1 {
				t.Errorf("%d files are live", n)
			}
		})
	}
}

// TestUnknown gives up on a store that neither confirms nor denies.
func TestUnknown(t *testing.T) {
	x := newTable(t, map[string]string{"commit.max-retries": "2"})
	var kept [][]byte
	var path string
	files := lossy{x.mem, func(p string, b []byte) { path, kept = p, append(kept, b) }}
	c, err := commit.New(commit.Config{Files: files, Paths: x.paths, Schema: x.schema, User: "u", Sleep: noSleep})
	if err != nil {
		t.Fatal(err)
	}
	cm := &connector.Committable{Identifier: 1, Messages: messages(x.message("p", x.file(0, 1, 1)))}
	if _, err := c.Commit(ctx, cm); errs.ClassOf(err) != errs.UnknownOutcome {
		t.Fatalf("%v", err)
	}
	// Any of the attempts may still arrive.
	for _, b := range kept {
		y := *x
		y.mem = x.mem.Clone()
		if err := y.mem.CreateExclusive(ctx, path, b); err != nil {
			t.Fatal(err)
		}
		same := *cm
		res, err := y.committer("u").Commit(ctx, &same)
		if err != nil || !res.Already {
			t.Errorf("%+v (%v)", res, err)
		}
		s, err := y.committer("u").Store().Latest(ctx)
		if err != nil || s.ID != 1 || len(y.live(s)) != 1 {
			t.Errorf("snapshot %+v (%v)", s, err)
		}
	}
}

// TestManyCommits checks that lists of manifests stay short and that nothing is
// lost when manifests merge, by either way.
func TestManyCommits(t *testing.T) {
	commits := int64(150)
	if testing.Short() {
		commits = 50
	}
	for name, options := range map[string]map[string]string{
		"small": {"manifest.merge-min-count": "5", "manifest.target-file-size": "20 kb"},
		"full":  {"manifest.full-compaction-threshold-size": "6 kb", "manifest.target-file-size": "3 kb"},
		"codec": {"manifest.compression": "snappy", "manifest.merge-min-count": "7"},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTable(t, options)
			c := x.committer("u")
			var files []spec.DataFileMeta
			for id := range commits {
				from := int32(id) * 10
				f := x.file(0, from, from+9)
				m := x.message("p", f)
				files = append(files, f)
				if id%10 == 9 { // compact the last ten files, the newest of which is not there yet
					after := x.file(4, from-90, from-1)
					m.CompactBefore, m.CompactAfter = files[:9:9], []spec.DataFileMeta{after}
					files = []spec.DataFileMeta{}
					m2 := x.message("q", x.file(0, from, from))
					x.must(c, &connector.Committable{Identifier: id, Messages: messages(m, m2)})
					if m.CompactionDropped() {
						t.Fatal("a compaction was dropped")
					}
				} else {
					x.must(c, &connector.Committable{Identifier: id, Messages: messages(m)})
				}
				s, err := c.Store().Latest(ctx)
				if err != nil {
					t.Fatal(err)
				}
				metas, err := c.Store().Manifests(ctx, s)
				if err != nil {
					t.Fatal(err)
				}
				if len(metas) > 45 {
					t.Fatalf("after %d commits there are %d manifests", id+1, len(metas))
				}
				var rows int64
				for _, e := range x.live(s) {
					rows += e.File.RowCount
				}
				if rows != *s.TotalRecordCount {
					t.Fatalf("snapshot %d: %d rows, not %d", s.ID, rows, *s.TotalRecordCount)
				}
				if want := (id+1)*10 + (id+1)/10; rows != want {
					t.Fatalf("snapshot %d: %d rows, want %d", s.ID, rows, want)
				}
			}
		})
	}
}

func TestOverwrite(t *testing.T) {
	x := newTable(t, nil)
	c := x.committer("u")
	x.must(c, &connector.Committable{Identifier: 1, Messages: messages(x.message("p", x.file(0, 1, 5)), x.message("q", x.file(0, 1, 3)))})
	s := x.must(c, &connector.Committable{Identifier: 2, Overwrite: true, Messages: messages(x.message("r", x.file(0, 1, 2)))})
	if s.CommitKind != spec.KindOverwrite || *s.TotalRecordCount != 2 || *s.DeltaRecordCount != -6 || len(x.live(s)) != 1 {
		t.Errorf("snapshot %+v", s)
	}
	s = x.must(c, &connector.Committable{Identifier: 3, Overwrite: true})
	if *s.TotalRecordCount != 0 || len(x.live(s)) != 0 {
		t.Errorf("truncated: %+v", s)
	}
}

// TestBucketsChangedMeanwhile refuses rows that were distributed over another
// number of buckets than an overwrite gave the partition since.
func TestBucketsChangedMeanwhile(t *testing.T) {
	x := newTable(t, nil)
	c := x.committer("u")
	x.must(c, &connector.Committable{Identifier: 1, Messages: messages(x.message("p", x.file(0, 1, 5)))})
	rescaled := x.message("p", x.file(0, 1, 5))
	rescaled.TotalBuckets = 2
	x.must(x.committer("v"), &connector.Committable{Identifier: 1, Overwrite: true, Messages: messages(rescaled)})
	m := x.message("p", x.file(0, 6, 7))
	m.Base = 1
	_, err := c.Commit(ctx, &connector.Committable{Identifier: 2, Messages: messages(m)})
	if errs.ClassOf(err) != errs.Conflict {
		t.Errorf("%v", err)
	}
	m = x.message("other partition", x.file(0, 6, 7))
	m.Base = 1
	if _, err := c.Commit(ctx, &connector.Committable{Identifier: 3, Messages: messages(m)}); err != nil {
		t.Error(err)
	}
}

// TestTwoWriters lets two writers number their rows from the same snapshot: the
// second would have older rows win, and is refused, whichever Committer it uses.
func TestTwoWriters(t *testing.T) {
	for _, same := range []bool{true, false} {
		x := newTable(t, nil)
		c := x.committer("u")
		x.must(c, &connector.Committable{Identifier: 1, Messages: messages(x.message("p", x.file(0, 1, 5)))})
		one, two := x.message("p", x.file(0, 1, 3)), x.message("p", x.file(0, 1, 3))
		two.New[0].MinSequence, two.New[0].MaxSequence = one.New[0].MinSequence, one.New[0].MaxSequence
		one.Base, two.Base = 1, 1
		x.must(c, &connector.Committable{Identifier: 2, Messages: messages(one)})
		other := c
		if !same {
			other = x.committer("v")
		}
		if _, err := other.Commit(ctx, &connector.Committable{Identifier: 3, Messages: messages(two)}); errs.ClassOf(err) != errs.Conflict {
			t.Errorf("same committer %v: %v", same, err)
		}
		// Numbered anew, they are fine; so are rows for another partition.
		again, q := x.message("p", x.file(0, 1, 3)), x.message("q", x.file(0, 1, 3))
		again.Base, q.New[0].MinSequence, q.New[0].MaxSequence = 2, 0, 2
		if _, err := other.Commit(ctx, &connector.Committable{Identifier: 4, Messages: messages(again, q)}); err != nil {
			t.Errorf("same committer %v: %v", same, err)
		}
		if again.Snapshot() != 3 {
			t.Errorf("the message went into snapshot %d", again.Snapshot())
		}
	}
}

// TestOverlappingCompaction drops a compaction whose result would overlap a file
// of its level.
func TestOverlappingCompaction(t *testing.T) {
	x := newTable(t, nil)
	c := x.committer("u")
	a, b := x.file(0, 1, 5), x.file(0, 3, 8)
	x.must(c, &connector.Committable{Identifier: 1, Messages: messages(x.message("p", a, b))})
	one := &commit.Message{Partition: partition("p"), TotalBuckets: 1, CompactBefore: []spec.DataFileMeta{a}, CompactAfter: []spec.DataFileMeta{x.file(5, 1, 5)}}
	two := &commit.Message{Partition: partition("p"), TotalBuckets: 1, CompactBefore: []spec.DataFileMeta{b}, CompactAfter: []spec.DataFileMeta{x.file(5, 3, 8)}}
	x.must(c, &connector.Committable{Identifier: 2, Messages: messages(one, two)})
	if one.CompactionDropped() || !two.CompactionDropped() {
		t.Errorf("dropped: %v, %v", one.CompactionDropped(), two.CompactionDropped())
	}
	s, err := c.Store().Latest(ctx)
	if err != nil || *s.TotalRecordCount != 11 || len(x.live(s)) != 2 {
		t.Errorf("snapshot %+v (%v)", s, err)
	}
}

// TestRollback checks that a committer notices that the table went back.
func TestRollback(t *testing.T) {
	x := newTable(t, nil)
	c := x.committer("u")
	for id := range int64(5) {
		x.must(c, &connector.Committable{Identifier: id, Messages: messages(x.message("p", x.file(0, 1, 1)))})
	}
	if err := x.mem.WriteFile(ctx, x.paths.Latest(), []byte("2")); err != nil {
		t.Fatal(err)
	}
	for id := int64(5); id > 2; id-- {
		if err := x.mem.Remove(ctx, x.paths.Snapshot(id)); err != nil {
			t.Fatal(err)
		}
	}
	own, err := c.LatestOwn(ctx)
	if err != nil || own.ID != 2 {
		t.Errorf("newest own after the rollback %+v (%v)", own, err)
	}
	x.must(x.committer("v"), &connector.Committable{Identifier: 9, Messages: messages(x.message("p", x.file(0, 1, 1)))})
	s := x.must(c, &connector.Committable{Identifier: 9, Epoch: 1, Messages: messages(x.message("p", x.file(0, 1, 1)))})
	if s.ID != 4 || *s.TotalRecordCount != 4 {
		t.Errorf("snapshot %+v", s)
	}
}

// TestStaleHint checks that hints are only hints.
func TestStaleHint(t *testing.T) {
	x := newTable(t, nil)
	c := x.committer("u")
	for id := range int64(4) {
		x.must(c, &connector.Committable{Identifier: id, Messages: messages(x.message("p", x.file(0, 1, 1)))})
	}
	for _, hint := range []string{"1", "3", "9", "0", "-4", "x", ""} {
		if err := x.mem.WriteFile(ctx, x.paths.Latest(), []byte(hint)); err != nil {
			t.Fatal(err)
		}
		if s, err := c.Store().Latest(ctx); err != nil || s.ID != 4 {
			t.Errorf("hint %q: %+v (%v)", hint, s, err)
		}
	}
}

// TestRetriesEnd checks what happens when the race is always lost.
func TestRetriesEnd(t *testing.T) {
	x := newTable(t, map[string]string{"commit.max-retries": "3"})
	other := x.committer("v")
	n := 0
	c, err := commit.New(commit.Config{Files: racing{x.mem, func() {
		n++
		x.must(other, &connector.Committable{Identifier: int64(n), Messages: messages(x.message("p", x.file(0, 1, 1)))})
	}}, Paths: x.paths, Schema: x.schema, User: "u", Sleep: noSleep})
	if err != nil {
		t.Fatal(err)
	}
	before := len(x.mem.Paths())
	_, err = c.Commit(ctx, &connector.Committable{Identifier: 1, Messages: messages(x.message("q", x.file(0, 1, 1)))})
	if errs.ClassOf(err) != errs.Conflict || n != 4 {
		t.Errorf("after %d attempts: %v", n, err)
	}
	// Each of the others' commits leaves four files, and hints; ours none.
	if got, want := len(x.mem.Paths())-before, 4*4+2; got != want {
		t.Errorf("%d files were left, want %d: %v", got, want, strconv.Itoa(before))
	}
}

type vec = vector.Vec
