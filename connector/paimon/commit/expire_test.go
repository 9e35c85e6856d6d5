package commit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

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

// history makes commits, compactions that rewrite and ones that only change a
// level, and tags.
func (x *table) history(c *commit.Committer, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	var live []spec.DataFileMeta
	for id := range int64(40) {
		x.now = x.now.Add(time.Minute)
		f := x.real("p", x.file(0, int32(id)*10, int32(id)*10+9))
		m := x.message("p", f)
		switch n := len(live); {
		case n >= 4 && r.IntN(3) == 0:
			to := live[n-1].MaxKey
			after := x.file(5, 0, 0)
			after.MinKey, after.MaxKey = live[0].MinKey, to
			m.CompactBefore, m.CompactAfter = live, []spec.DataFileMeta{x.real("p", after)}
			live = []spec.DataFileMeta{after}
		case n >= 1 && live[0].Level == 0 && r.IntN(2) == 0:
			after := live[0]
			after.Level = 4
			m.CompactBefore, m.CompactAfter = live[:1:1], []spec.DataFileMeta{after}
			live = append([]spec.DataFileMeta{after}, live[1:]...)
		}
		live = append(live, f)
		s := x.must(c, &connector.Committable{Identifier: id, Epoch: 1, Messages: messages(m)})
		if m.CompactionDropped() {
			x.t.Fatal("a compaction was dropped")
		}
		if r.IntN(9) == 0 {
			b, err := s.Marshal()
			if err != nil {
				x.t.Fatal(err)
			}
			if err := x.mem.WriteFile(ctx, x.paths.Tag(fmt.Sprint("t", s.ID)), b); err != nil {
				x.t.Fatal(err)
			}
		}
	}
}

func TestExpire(t *testing.T) {
	seeds := uint64(8)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		x := newTable(t, map[string]string{"thermocline.maintenance": "true", "snapshot.num-retained.min": "5", "snapshot.time-retained": "10 min",
			"manifest.merge-min-count": "4"})
		plain := *x.schema
		x.schema.Options = map[string]string{"manifest.merge-min-count": "4"} // none of the commits expires
		x.history(x.committer("u"), seed)
		x.schema = &plain
		c := x.committer("u")
		before := x.mem.Clone()
		n, err := c.Expire(ctx)
		if err != nil || n < 20 {
			t.Fatalf("%d snapshots expired (%v)", n, err)
		}
		used := x.complete("after expiry")
		for _, p := range x.mem.Paths() {
			if strings.Contains(p, "/p=") || strings.Contains(p, "/manifest/") {
				if !used[p] {
					t.Errorf("seed %d: nothing refers to %s", seed, p)
				}
			}
		}
		ids, err := c.Store().SnapshotIDs(ctx)
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Store().Snapshot(ctx, ids[1])
		if err != nil || len(ids) < 5 || x.now.UnixMilli()-s.TimeMillis > 10*time.Minute.Milliseconds() {
			t.Errorf("snapshots %v remain (%v)", ids, err)
		}
		if b, _ := x.mem.ReadFile(ctx, x.paths.Earliest()); string(b) != fmt.Sprint(ids[0]) {
			t.Errorf("EARLIEST holds %s, snapshots %v remain", b, ids)
		}
		if seed > 0 {
			continue
		}
		// Crash at every change: no snapshot lacks a file, and expiry goes on.
		changes := x.mem.Changes()
		for at := 1; ; at++ {
			y := *x
			y.mem = before.Clone()
			y.mem.CrashAt(at, at%2 == 0)
			_, err := y.committer("u").Expire(ctx)
			if !y.mem.Crashed() {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			y.mem.Restart()
			y.complete(fmt.Sprintf("crash at change %d", at))
			if _, err := y.committer("u").Expire(ctx); err != nil {
				t.Fatal(err)
			}
			y.complete(fmt.Sprintf("again after the crash at change %d", at))
			if at > changes {
				t.Fatal("it never ends")
			}
		}
	}
}

// TestExpireKeeps checks what expiry must not remove.
func TestExpireKeeps(t *testing.T) {
	old := map[string]string{"thermocline.maintenance": "true", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
	many := func(options map[string]string) (*table, *commit.Committer) {
		x := newTable(t, options)
		x.mem.SetFault(nil)
		c := x.committer("other")
		for id := range int64(6) {
			x.now = x.now.Add(time.Second) // too soon for another look
			x.must(c, &connector.Committable{Identifier: id, Messages: messages(x.message("p", x.real("p", x.file(0, 1, 1))))})
		}
		return x, c
	}
	left := func(x *table) []int64 {
		ids, err := commit.Store{Files: x.mem, Paths: x.paths}.SnapshotIDs(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	t.Run("all but the newest", func(t *testing.T) {
		x, c := many(old)
		if _, err := c.Expire(ctx); err != nil || !slices.Equal(left(x), []int64{6}) {
			t.Errorf("%v remain (%v)", left(x), err)
		}
	})
	t.Run("the newest of another pipeline", func(t *testing.T) {
		x := newTable(t, old)
		pipe := x.committer("cdc-p")
		c := x.committer("other")
		for id := range int64(8) {
			who := c
			if id < 3 {
				who = pipe
			}
			x.must(who, &connector.Committable{Identifier: id, Epoch: 1, Messages: messages(x.message("p", x.real("p", x.file(0, 1, 1))))})
		}
		if _, err := c.Expire(ctx); err != nil || left(x)[0] != 3 {
			t.Errorf("%v remain (%v)", left(x), err)
		}
		if own, err := x.committer("cdc-p").LatestOwn(ctx); err != nil || own == nil || own.ID != 3 {
			t.Errorf("its newest snapshot: %+v (%v)", own, err)
		}
	})
	t.Run("what a consumer needs", func(t *testing.T) {
		x, c := many(old)
		if err := x.mem.WriteFile(ctx, x.paths.ConsumerDir()+"/consumer-a", []byte(`{"nextSnapshot":4}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Expire(ctx); err != nil || !slices.Equal(left(x), []int64{4, 5, 6}) {
			t.Errorf("%v remain (%v)", left(x), err)
		}
	})
	t.Run("tables with branches", func(t *testing.T) {
		x, c := many(old)
		if err := x.mem.WriteFile(ctx, x.paths.BranchDir()+"/branch-b/schema/schema-0", []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Expire(ctx); err != nil || len(left(x)) != 6 {
			t.Errorf("%v remain (%v)", left(x), err)
		}
	})
	t.Run("tables of others", func(t *testing.T) {
		x := newTable(t, map[string]string{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"})
		c := x.committer("u")
		for id := range int64(6) {
			x.now = x.now.Add(time.Hour)
			x.must(c, &connector.Committable{Identifier: id, Messages: messages(x.message("p", x.real("p", x.file(0, 1, 1))))})
		}
		if len(left(x)) != 6 {
			t.Errorf("%v remain", left(x))
		}
	})
	t.Run("by itself", func(t *testing.T) {
		x := newTable(t, old)
		c := x.committer("u")
		for id := range int64(6) {
			x.now = x.now.Add(time.Hour)
			x.must(c, &connector.Committable{Identifier: id, Messages: messages(x.message("p", x.real("p", x.file(0, 1, 1))))})
		}
		if !slices.Equal(left(x), []int64{6}) {
			t.Errorf("%v remain", left(x))
		}
	})
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
