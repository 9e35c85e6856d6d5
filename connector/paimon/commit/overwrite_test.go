package commit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// shape describes a snapshot: its kind, and the live files by partition with
// level, and index files.
func (x *table) shape(s *spec.Snapshot) string {
	x.t.Helper()
	if s == nil {
		return "none"
	}
	var out []string
	for _, e := range x.live(s) {
		path, err := x.paths.DataFile(&e)
		if err != nil {
			x.t.Fatal(err)
		}
		part, _, _ := strings.Cut(strings.TrimPrefix(path, "/t/p="), "/")
		out = append(out, fmt.Sprintf("%s:%d@%d", part, e.File.RowCount, e.File.Level))
	}
	slices.Sort(out)
	idx, err := commit.Store{Files: x.mem, Paths: x.paths}.Index(ctx, s)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, e := range idx {
		out = append(out, e.FileName)
	}
	return string(s.CommitKind) + " " + strings.Join(out, " ")
}

func text(s string) *string { return &s }

func TestOverwritePartitions(t *testing.T) {
	for name, c := range map[string]struct {
		cm   connector.Committable
		part string // of the new rows; "" without
		want string
		kind errs.Kind
	}{
		"static":         {connector.Committable{OverwriteIn: map[string]*string{"p": text("a")}}, "a", "OVERWRITE a:2@5 b:3@0 ix-b", ""},
		"drop":           {connector.Committable{OverwriteIn: map[string]*string{"p": text("a")}}, "", "OVERWRITE b:3@0 ix-b", ""},
		"none such":      {connector.Committable{OverwriteIn: map[string]*string{"p": text("z")}}, "", "OVERWRITE a:5@0 b:3@0 ix-a ix-b", ""},
		"null":           {connector.Committable{OverwriteIn: map[string]*string{"p": nil}}, "", "OVERWRITE a:5@0 b:3@0 ix-a ix-b", ""},
		"default name":   {connector.Committable{OverwriteIn: map[string]*string{"p": text("__DEFAULT_PARTITION__")}}, "", "OVERWRITE a:5@0 b:3@0 ix-a ix-b", ""},
		"dynamic":        {connector.Committable{OverwriteDynamic: true}, "b", "OVERWRITE a:5@0 b:2@5 ix-a", ""},
		"dynamic, empty": {connector.Committable{OverwriteDynamic: true}, "", "APPEND a:5@0 b:3@0 ix-a ix-b", ""},
		"whole":          {connector.Committable{}, "c", "OVERWRITE c:2@5", ""},
		"outside":        {connector.Committable{OverwriteIn: map[string]*string{"p": text("a")}}, "b", "", errs.WrongValue},
		"unknown":        {connector.Committable{OverwriteIn: map[string]*string{"k": text("1")}}, "", "", errs.UnknownColumn},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTable(t, nil)
			w := x.committer("u")
			a, b := x.message("a", x.file(0, 1, 5)), x.message("b", x.file(0, 1, 3))
			a.Index.New, b.Index.New = hashFile("ix-a"), hashFile("ix-b")
			x.must(w, &connector.Committable{Identifier: 1, Messages: messages(a, b)})
			cm := c.cm
			cm.Identifier, cm.Overwrite = 2, true
			if c.part != "" {
				cm.Messages = messages(x.message(c.part, x.file(0, 1, 2)))
			}
			_, err := w.Commit(ctx, &cm)
			if c.kind != "" {
				if !errs.Is(err, c.kind) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			s, err := w.Store().Latest(ctx)
			if err != nil || x.shape(s) != c.want {
				t.Errorf("%s (%v), want %s", x.shape(s), err, c.want)
			}
			var rows int64
			for _, e := range x.live(s) {
				rows += e.File.RowCount
			}
			if rows != *s.TotalRecordCount {
				t.Errorf("%d rows, the snapshot says %d", rows, *s.TotalRecordCount)
			}
		})
	}
}

func hashFile(name string) []spec.IndexEntry {
	return []spec.IndexEntry{{IndexType: spec.IndexHash, FileName: name, FileSize: 4, RowCount: 1}}
}

func vectors(name string, files ...string) spec.IndexEntry {
	e := spec.IndexEntry{IndexType: spec.IndexDeletionVectors, FileName: name, FileSize: 4, RowCount: int64(len(files))}
	for i, f := range files {
		e.Ranges.OK = true
		e.Ranges.V = append(e.Ranges.V, spec.IndexRange{DataFile: f, Offset: int32(1 + 30*i), Length: 22, Cardinality: spec.Some(int64(1))})
	}
	return e
}

// TestReadVersion has others commit between the snapshot that a change was
// computed from and the change.
func TestReadVersion(t *testing.T) {
	for name, c := range map[string]struct {
		other    func(x *table, base []*commit.Message) *connector.Committable
		conflict bool
	}{
		"nothing": {func(*table, []*commit.Message) *connector.Committable { return nil }, false},
		"bucket": {func(x *table, _ []*commit.Message) *connector.Committable {
			return &connector.Committable{Messages: messages(x.message("a", x.file(0, 9, 9)))}
		}, true},
		"partition": {func(x *table, _ []*commit.Message) *connector.Committable {
			return &connector.Committable{Messages: messages(x.message("b", x.file(0, 9, 9)))}
		}, false},
		"overwrite": {func(x *table, _ []*commit.Message) *connector.Committable {
			return &connector.Committable{Overwrite: true}
		}, true},
		"compaction": {func(x *table, base []*commit.Message) *connector.Committable {
			return &connector.Committable{Messages: messages(&commit.Message{Partition: partition("a"), TotalBuckets: 1,
				CompactBefore: base[0].New, CompactAfter: []spec.DataFileMeta{x.file(5, 1, 5)}})}
		}, false},
		"vectors": {func(x *table, base []*commit.Message) *connector.Committable {
			return &connector.Committable{Messages: messages(&commit.Message{Partition: partition("a"), TotalBuckets: 1,
				Index: commit.IndexChange{New: []spec.IndexEntry{vectors("dv", base[0].New[0].FileName)}}})}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTable(t, nil)
			w := x.committer("u")
			base := []*commit.Message{x.message("a", x.file(0, 1, 5)), x.message("b", x.file(0, 1, 3))}
			x.must(w, &connector.Committable{Identifier: 1, Messages: messages(base...)})
			if cm := c.other(x, base); cm != nil {
				cm.Identifier = 1
				x.must(x.committer("v"), cm)
			}
			m := x.message("a", x.file(0, 2, 2))
			m.Base = 1
			_, err := w.Commit(ctx, &connector.Committable{Identifier: 2, ReadVersion: 1, Messages: messages(m)})
			if (errs.ClassOf(err) == errs.Conflict) != c.conflict || !c.conflict && err != nil {
				t.Errorf("%v", err)
			}
		})
	}
	x := newTable(t, nil)
	x.must(x.committer("u"), &connector.Committable{Identifier: 1, Messages: messages(x.message("a", x.file(0, 1, 5)))})
	_, err := x.committer("u").Commit(ctx, &connector.Committable{Identifier: 2, ReadVersion: 9, Messages: messages(x.message("a", x.file(0, 2, 2)))})
	if errs.ClassOf(err) != errs.Conflict {
		t.Errorf("from a snapshot that was rolled back: %v", err)
	}
}

// TestRowLevelChanges removes files and rows of an append table.
func TestRowLevelChanges(t *testing.T) {
	x := newTable(t, nil)
	w := x.committer("u")
	f, g := x.file(0, 1, 5), x.file(0, 6, 9)
	add := func(p string, files ...spec.DataFileMeta) *commit.Message {
		return &commit.Message{Partition: partition(p), TotalBuckets: -1, New: files}
	}
	x.must(w, &connector.Committable{Identifier: 1, Messages: messages(add("a", f, g))})
	// Copy on write.
	m := add("a", x.file(0, 1, 4))
	m.Deleted = []spec.DataFileMeta{f}
	s := x.must(w, &connector.Committable{Identifier: 2, ReadVersion: 1, Messages: messages(m)})
	if got := x.shape(s); got != "OVERWRITE a:4@0 a:4@0" || *s.TotalRecordCount != 8 || *s.DeltaRecordCount != -1 {
		t.Errorf("%s, %d rows", got, *s.TotalRecordCount)
	}
	again := add("a", x.file(0, 1, 4))
	again.Deleted = []spec.DataFileMeta{f}
	if _, err := w.Commit(ctx, &connector.Committable{Identifier: 3, Messages: messages(again)}); errs.ClassOf(err) != errs.Conflict {
		t.Errorf("a file is removed twice: %v", err)
	}
	// Deletion vectors.
	dv := func(name string, files []string, old ...spec.IndexEntry) *commit.Message {
		return &commit.Message{Partition: partition("a"), TotalBuckets: -1, Index: commit.IndexChange{New: []spec.IndexEntry{vectors(name, files...)}, Deleted: old}}
	}
	h := m.New[0].FileName
	x.must(w, &connector.Committable{Identifier: 4, Messages: messages(dv("dv1", []string{g.FileName}))})
	s = x.must(w, &connector.Committable{Identifier: 5, Messages: messages(dv("dv2", []string{h}))})
	if got := x.shape(s); got != "OVERWRITE a:4@0 a:4@0 dv1 dv2" {
		t.Error(got)
	}
	if _, err := w.Commit(ctx, &connector.Committable{Identifier: 6, Messages: messages(dv("dv3", []string{g.FileName}))}); errs.ClassOf(err) != errs.Conflict {
		t.Errorf("a file has two vectors: %v", err)
	}
	s = x.must(w, &connector.Committable{Identifier: 7, Messages: messages(dv("dv4", []string{g.FileName, h}, vectors("dv1"), vectors("dv2")))})
	if got := x.shape(s); got != "OVERWRITE a:4@0 a:4@0 dv4" {
		t.Error(got)
	}
	// A compaction that has not seen the vectors would bring rows back.
	lost := &commit.Message{Partition: partition("a"), TotalBuckets: -1, CompactBefore: []spec.DataFileMeta{g, m.New[0]}, CompactAfter: []spec.DataFileMeta{x.file(0, 1, 8)}}
	x.must(w, &connector.Committable{Identifier: 8, Messages: messages(lost)})
	if !lost.CompactionDropped() {
		t.Error("a compaction that knows nothing of deletion vectors is applied")
	}
	fine := &commit.Message{Partition: partition("a"), TotalBuckets: -1, CompactBefore: []spec.DataFileMeta{g, m.New[0]}, CompactAfter: []spec.DataFileMeta{x.file(0, 1, 6)},
		CompactIndex: commit.IndexChange{Deleted: []spec.IndexEntry{vectors("dv4")}}}
	s = x.must(w, &connector.Committable{Identifier: 9, Messages: messages(fine)})
	if got := x.shape(s); fine.CompactionDropped() || got != "COMPACT a:6@0" || s.IndexManifest != "" {
		t.Error(got)
	}
}

// TestHashIndex lets two writers give keys to buckets by the same index.
func TestHashIndex(t *testing.T) {
	x := newTable(t, nil)
	w := x.committer("u")
	put := func(bucket int32, name string, known []string, old ...spec.IndexEntry) *commit.Message {
		m := x.message("a", x.file(0, 1, 5))
		m.Bucket, m.TotalBuckets, m.KnownHashes = bucket, -1, known
		m.Index = commit.IndexChange{New: hashFile(name), Deleted: old}
		return m
	}
	x.must(w, &connector.Committable{Identifier: 1, Messages: messages(put(0, "h0", nil), put(1, "h1", nil))})
	s := x.must(w, &connector.Committable{Identifier: 2, Messages: messages(put(1, "h2", []string{"h0", "h1"}, hashFile("h1")...))})
	if got := x.shape(s); got != "APPEND a:5@0 a:5@0 a:5@0 h0 h2" {
		t.Error(got)
	}
	for _, m := range []*commit.Message{
		put(0, "h3", []string{"h0", "h1"}, hashFile("h0")...), // another bucket of the partition has changed
		put(1, "h3", []string{"h0", "h2"}),                    // it does not replace what is there
		put(2, "h3", nil),
	} {
		if _, err := x.committer("v").Commit(ctx, &connector.Committable{Identifier: 3, Messages: messages(m)}); errs.ClassOf(err) != errs.Conflict {
			t.Errorf("known %v: %v", m.KnownHashes, err)
		}
	}
}

func TestChangelogs(t *testing.T) {
	x := newTable(t, nil)
	w := x.committer("u")
	m := x.message("a", x.file(0, 1, 5))
	m.Changelog = []spec.DataFileMeta{x.file(0, 1, 7)}
	s := x.must(w, &connector.Committable{Identifier: 1, Messages: messages(m)})
	if s.ChangelogManifestList == "" || *s.ChangelogRecordCount != 7 || *s.TotalRecordCount != 5 {
		t.Errorf("snapshot %+v", s)
	}
	c := &commit.Message{Partition: partition("a"), TotalBuckets: 1, CompactBefore: m.New, CompactAfter: []spec.DataFileMeta{x.file(5, 1, 5)},
		CompactChangelog: []spec.DataFileMeta{x.file(5, 2, 3)}}
	s = x.must(w, &connector.Committable{Identifier: 2, Messages: messages(c)})
	if s.CommitKind != spec.KindCompact || *s.ChangelogRecordCount != 2 {
		t.Errorf("snapshot %+v", s)
	}
	list, err := w.Store().ManifestList(ctx, s.ChangelogManifestList)
	if err != nil || len(list) != 1 || list[0].Added != 1 {
		t.Errorf("%+v (%v)", list, err)
	}
	over := x.message("a", x.file(0, 1, 5))
	log := x.file(0, 1, 5)
	over.Changelog = []spec.DataFileMeta{log}
	x.real("a", log)
	s = x.must(w, &connector.Committable{Identifier: 3, Overwrite: true, Messages: messages(over)})
	if s.ChangelogManifestList != "" || s.ChangelogRecordCount != nil {
		t.Errorf("snapshot %+v", s)
	}
	if slices.ContainsFunc(x.mem.Paths(), func(p string) bool { return strings.HasSuffix(p, log.FileName) }) {
		t.Error("the changelog of an overwrite is left behind")
	}
}

func TestEmptySnapshotsByOption(t *testing.T) {
	for option, v := range map[string]string{"commit.force-create-snapshot": "true", "snapshot.ignore-empty-commit": "false"} {
		x := newTable(t, map[string]string{option: v})
		if s := x.must(x.committer("u"), &connector.Committable{Identifier: 1}); s == nil || s.CommitKind != spec.KindAppend {
			t.Errorf("%s: %+v", option, s)
		}
	}
}

// TestRowIDs numbers the rows of new files.
func TestRowIDs(t *testing.T) {
	x := newTable(t, map[string]string{"row-tracking.enabled": "true"})
	w := x.committer("u")
	file := func(rows int32, source int32) spec.DataFileMeta {
		f := x.file(0, 1, rows)
		f.MinSequence, f.MaxSequence, f.FileSource = 0, 0, spec.Some(source)
		return f
	}
	m := x.message("a", file(5, spec.SourceAppend), file(2, spec.SourceAppend))
	m.TotalBuckets = -1
	x.must(w, &connector.Committable{Identifier: 1, Messages: messages(m)})
	m = x.message("b", file(3, spec.SourceAppend))
	m.TotalBuckets = -1
	s := x.must(w, &connector.Committable{Identifier: 2, Messages: messages(m)})
	if *s.NextRowID != 10 {
		t.Errorf("next row id %d", *s.NextRowID)
	}
	var got []string
	for _, e := range x.live(s) {
		got = append(got, fmt.Sprintf("%d+%d/%d-%d", e.File.FirstRowID.V, e.File.RowCount, e.File.MinSequence, e.File.MaxSequence))
	}
	slices.Sort(got)
	if strings.Join(got, " ") != "0+5/1-1 5+2/1-1 7+3/2-2" {
		t.Error(got)
	}
}

// TestMatcher compares partition values with the texts that name them.
func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		typ   catalog.Type
		put   func() spec.BinaryRow
		yes   []string
		never []string
	}{
		{catalog.TDate, func() spec.BinaryRow { return encode(catalog.TDate, func(v *vec) { v.AppendI32(19737) }) }, []string{"19737", "2024-01-15"}, []string{"2024-01-16", ""}},
		{catalog.TDecimal(10, 2), func() spec.BinaryRow { return encode(catalog.TDecimal(10, 2), func(v *vec) { v.AppendI64(150) }) }, []string{"1.5", "1.50", "+01.5"}, []string{"15", "-1.5"}},
		{catalog.TBoolean, func() spec.BinaryRow { return encode(catalog.TBoolean, func(v *vec) { v.AppendBool(true) }) }, []string{"true"}, []string{"false", "1"}},
	} {
		p := spec.NewPartitioner(&catalog.Schema{Fields: []catalog.Field{{Name: "p", Type: c.typ}}, PartitionKeys: []string{"p"}})
		for i, list := range [][]string{c.yes, c.never} {
			for _, s := range list {
				m, err := p.Matcher(map[string]*string{"p": &s})
				if err != nil {
					t.Fatal(err)
				}
				if ok, err := m.Match(c.put()); err != nil || ok != (i == 0) {
					t.Errorf("%s, %q: %v (%v)", c.typ, s, ok, err)
				}
			}
		}
	}
}

// crashes runs a commit on copies of a table that crash at every change, before
// and after it, and demands the old or the new state, and after the same commit
// again the new one.
func (x *table) crashes(what string, prepare func() *connector.Committable, user string) {
	x.t.Helper()
	states := map[string]bool{}
	look := func(y *table) string {
		s, err := commit.Store{Files: y.mem, Paths: y.paths}.Latest(ctx)
		if err != nil {
			y.t.Fatal(err)
		}
		y.complete(what)
		return y.shape(s)
	}
	before := look(x)
	probe := *x
	probe.mem = x.mem.Clone()
	n := probe.mem.Changes()
	probe.must(probe.committer(user), prepare())
	after, n := look(&probe), probe.mem.Changes()-n
	for at := 1; at <= n; at++ {
		for outcome := fileio.FailBefore; outcome <= fileio.CrashAfter; outcome++ {
			y := *x
			y.mem = x.mem.Clone()
			first := y.mem.Changes()
			y.mem.SetFault(func(o fileio.Op) fileio.Outcome {
				if o.N == first+at {
					return outcome
				}
				return fileio.Proceed
			})
			cm := prepare()
			_, err := y.committer(user).Commit(ctx, cm)
			y.mem.Restart()
			got := look(&y)
			states[got] = true
			if err == nil && got != after && !strings.Contains(after, "COMPACT") {
				x.t.Fatalf("%s: operation %d, outcome %d: done, and %s", what, at, outcome, got)
			}
			again := prepare()
			again.Nonce = cm.Nonce
			if _, err := y.committer(user).Commit(ctx, again); err != nil {
				x.t.Fatalf("%s: operation %d, outcome %d: again: %v", what, at, outcome, err)
			}
			if got := look(&y); got != after && !strings.Contains(after, "COMPACT") {
				x.t.Fatalf("%s: operation %d, outcome %d: at the end %s, not %s", what, at, outcome, got, after)
			}
		}
	}
	if !states[before] || !states[after] || len(states) > 2 && !strings.Contains(after, "COMPACT") {
		x.t.Errorf("%s: states %v, from %s to %s", what, states, before, after)
	}
}

// TestCrashOfEachKind crashes at every file operation of every kind of commit.
func TestCrashOfEachKind(t *testing.T) {
	x := newTable(t, map[string]string{"manifest.merge-min-count": "2"})
	w := x.committer("u")
	a, b := x.message("a", x.real("a", x.file(0, 1, 5))), x.message("b", x.real("b", x.file(0, 1, 3)))
	a.Index.New = hashFile("ix-a")
	x.must(w, &connector.Committable{Identifier: 1, Messages: messages(a, b)})
	f, g, log := x.real("a", x.file(0, 6, 9)), x.real("a", x.file(5, 1, 5)), x.real("a", x.file(0, 1, 1))
	for name, prepare := range map[string]func() *connector.Committable{
		"append with a changelog": func() *connector.Committable {
			m := x.message("a", f)
			m.Base, m.Changelog = 1, []spec.DataFileMeta{log}
			return &connector.Committable{Identifier: 2, Messages: messages(m)}
		},
		"hash index": func() *connector.Committable {
			m := x.message("a", f)
			m.Base, m.TotalBuckets, m.KnownHashes, m.Index = 1, -1, []string{"ix-a"}, commit.IndexChange{New: hashFile("ix-n"), Deleted: hashFile("ix-a")}
			return &connector.Committable{Identifier: 2, Messages: messages(m)}
		},
		"row-level": func() *connector.Committable {
			return &connector.Committable{Identifier: 2, ReadVersion: 1, Messages: messages(&commit.Message{Partition: partition("a"), TotalBuckets: 1, New: []spec.DataFileMeta{f},
				Deleted: a.New, Index: commit.IndexChange{New: []spec.IndexEntry{vectors("dv", "x")}}})}
		},
		"compaction": func() *connector.Committable {
			return &connector.Committable{Identifier: 2, Messages: messages(&commit.Message{Partition: partition("a"), TotalBuckets: 1, CompactBefore: a.New, CompactAfter: []spec.DataFileMeta{g},
				CompactIndex: commit.IndexChange{New: []spec.IndexEntry{vectors("dv", g.FileName)}}})}
		},
		"static overwrite": func() *connector.Committable {
			return &connector.Committable{Identifier: 2, Overwrite: true, OverwriteIn: map[string]*string{"p": text("a")}, Messages: messages(x.message("a", f))}
		},
		"dynamic overwrite": func() *connector.Committable {
			return &connector.Committable{Identifier: 2, Overwrite: true, OverwriteDynamic: true, Messages: messages(x.message("a", f))}
		},
		"truncate": func() *connector.Committable { return &connector.Committable{Identifier: 2, Overwrite: true} },
		"drop partition": func() *connector.Committable {
			return &connector.Committable{Identifier: 2, Overwrite: true, OverwriteIn: map[string]*string{"p": text("b")}}
		},
		"empty": func() *connector.Committable { return &connector.Committable{Identifier: 2, EvenIfEmpty: true} },
	} {
		x.crashes(name, prepare, "u")
	}
}
