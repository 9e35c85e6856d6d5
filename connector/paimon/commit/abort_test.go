package commit_test

import (
	"strings"
	"testing"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// real writes the data file that a description names.
func (x *table) real(p string, f spec.DataFileMeta) spec.DataFileMeta {
	x.t.Helper()
	path, err := x.paths.DataFile(&spec.ManifestEntry{Partition: partition(p), File: f})
	if err != nil {
		x.t.Fatal(err)
	}
	if err := x.mem.WriteFile(ctx, path, []byte("data")); err != nil {
		x.t.Fatal(err)
	}
	return f
}

// complete checks that everything that snapshots and tags refer to is there. It
// returns all that they refer to.
func (x *table) complete(what string) map[string]bool {
	x.t.Helper()
	store := commit.Store{Files: x.mem, Paths: x.paths}
	used := map[string]bool{}
	ids, err := store.SnapshotIDs(ctx)
	if err != nil {
		x.t.Fatal(err)
	}
	var all []*spec.Snapshot
	for i, id := range ids {
		if i > 0 && ids[i-1] != id-1 {
			x.t.Fatalf("%s: snapshots %v", what, ids)
		}
		s, err := store.Snapshot(ctx, id)
		if err != nil {
			x.t.Fatal(err)
		}
		all = append(all, s)
	}
	for _, p := range x.mem.Paths() {
		if !strings.HasPrefix(p, x.paths.TagDir()) {
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
		all = append(all, s)
	}
	for _, s := range all {
		used[x.paths.Manifest(s.BaseManifestList)], used[x.paths.Manifest(s.DeltaManifestList)] = true, true
		metas, err := store.Manifests(ctx, s)
		if err != nil {
			x.t.Fatalf("%s: snapshot %d: %v", what, s.ID, err)
		}
		for _, m := range metas {
			used[x.paths.Manifest(m.FileName)] = true
		}
		for _, e := range x.live(s) {
			p, err := x.paths.DataFile(&e)
			if err != nil {
				x.t.Fatal(err)
			}
			used[p] = true
			if _, err := x.mem.Stat(ctx, p); err != nil {
				x.t.Fatalf("%s: snapshot %d: %v", what, s.ID, err)
			}
		}
	}
	return used
}

// TestAbort checks that files of commits that may have happened stay.
func TestAbort(t *testing.T) {
	x := newTable(t, map[string]string{"commit.max-retries": "1"})
	files := func() (n int) {
		for _, p := range x.mem.Paths() {
			if strings.Contains(p, "/data-") {
				n++
			}
		}
		return n
	}
	var path string
	var data []byte
	failing := lossy{x.mem, func(p string, b []byte) { path, data = p, b }}
	c, err := commit.New(commit.Config{Files: failing, Paths: x.paths, Schema: x.schema, User: "u", Sleep: noSleep})
	if err != nil {
		t.Fatal(err)
	}
	cm := &connector.Committable{Identifier: 1, Messages: messages(x.message("p", x.real("p", x.file(0, 1, 1))))}
	if _, err := c.Commit(ctx, cm); errs.ClassOf(err) != errs.UnknownOutcome {
		t.Fatal(err)
	}
	// A later call that fails for another reason has not learned more.
	x.mem.CrashAt(1, false)
	if _, err := c.Commit(ctx, cm); errs.ClassOf(err) != errs.UnknownOutcome {
		t.Fatal(err)
	}
	x.mem.Restart()
	if err := c.Abort(ctx, cm.Messages); err != nil || files() != 1 {
		t.Fatalf("%d files are left (%v)", files(), err)
	}
	if err := x.mem.CreateExclusive(ctx, path, data); err != nil {
		t.Fatal(err)
	}
	if res, err := c.Commit(ctx, cm); err != nil || !res.Already {
		t.Fatalf("%+v (%v)", res, err)
	}
	if err := c.Abort(ctx, cm.Messages); err != nil || files() != 1 {
		t.Fatalf("%d files are left (%v)", files(), err)
	}
	lost := messages(x.message("p", x.real("p", x.file(0, 1, 1))))
	if err := c.Abort(ctx, lost); err != nil || files() != 1 {
		t.Fatalf("%d files are left (%v)", files(), err)
	}
}
