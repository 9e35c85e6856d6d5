package maintain

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// Retention says which snapshots, or long-lived changelogs, are kept.
type Retention struct {
	// Min newest are kept at least, Max at most.
	Min, Max int64
	// Time is how long one is kept after its successor was made.
	Time time.Duration
	// Limit is how many go in one call at most.
	Limit int64
}

// SnapshotRetention reads the table's snapshot.* options.
func (t *Table) SnapshotRetention() (Retention, error) {
	o := spec.NewOptions(t.cfg.Schema.Options)
	r := Retention{
		Min:   max(o.Int("snapshot.num-retained.min", 10), 1),
		Max:   max(o.Int("snapshot.num-retained.max", math.MaxInt32), 1),
		Time:  o.Duration("snapshot.time-retained", time.Hour),
		Limit: max(o.Int("snapshot.expire.limit", 50), 1),
	}
	if o.Err == nil && r.Max < r.Min {
		return r, errs.Userf(errs.InvalidConfig, "read the options of %s: snapshot.num-retained.max = %d is less than .min = %d", t.cfg.Name, r.Max, r.Min)
	}
	return r, o.Err
}

// ChangelogRetention reads the table's changelog.* options. decoupled says
// whether changelogs live longer than their snapshots.
func (t *Table) ChangelogRetention() (r Retention, decoupled bool, err error) {
	s, err := t.SnapshotRetention()
	if err != nil {
		return r, false, err
	}
	o := spec.NewOptions(t.cfg.Schema.Options)
	r = Retention{
		Min:   max(o.Int("changelog.num-retained.min", s.Min), 1),
		Max:   max(o.Int("changelog.num-retained.max", s.Max), 1),
		Time:  o.Duration("changelog.time-retained", s.Time),
		Limit: s.Limit,
	}
	return r, r.Max > s.Max || r.Time > s.Time || r.Min > s.Min, o.Err
}

// producesChangelog reports whether the table has changelog files.
func (t *Table) producesChangelog() bool {
	p := t.cfg.Schema.Options["changelog-producer"]
	return p != "" && p != "none"
}

// expiryChunk is how many snapshots are looked at and removed together: it
// bounds the file names held in memory.
const expiryChunk = 200

// ExpireSnapshots removes the oldest snapshots that r does not keep, with the
// files that only they refer to, and returns how many. Consumers, tags, branches
// and pins protect what they need; so does the newest snapshot of each pipeline,
// which holds its source position.
func (t *Table) ExpireSnapshots(ctx context.Context, r Retention) (int, error) {
	if err := t.expireConsumers(ctx); err != nil {
		return 0, err
	}
	first, end, err := t.expirable(ctx, r)
	if err != nil || first >= end {
		return 0, err
	}
	n := 0
	later := overwrites{}
	for from := first; from < end; from += expiryChunk {
		to := min(from+expiryChunk, end)
		removed, err := t.expireRange(ctx, from, to, later)
		if n += removed; err != nil {
			return n, fmt.Errorf("expire snapshots of %s: %w", t.cfg.Name, err)
		}
	}
	return n, nil
}

// expirable returns the snapshots [first, end) that may go.
func (t *Table) expirable(ctx context.Context, r Retention) (first, end int64, err error) {
	ids, err := t.store.SnapshotIDs(ctx)
	if err != nil || len(ids) == 0 {
		return 0, 0, err
	}
	first, last := ids[0], ids[len(ids)-1]
	bound := last - max(r.Min, 1) + 1
	if r.Limit > 0 {
		bound = min(bound, first+r.Limit)
	}
	if consumer, err := t.oldestConsumed(ctx); err != nil {
		return 0, 0, err
	} else if o := spec.NewOptions(t.cfg.Schema.Options); !o.Bool("consumer.changelog-only", false) {
		bound = min(bound, consumer)
	}
	for _, p := range t.pins() {
		bound = min(bound, p)
	}
	if first >= bound {
		return first, first, nil
	}
	old := t.cfg.Now().Add(-r.Time).UnixMilli()
	positions := &positions{t: t, latest: last}
	there := map[int64]bool{}
	for _, id := range ids {
		there[id] = true
	}
	s, err := t.store.Snapshot(ctx, first)
	if err != nil {
		return 0, 0, err
	}
	for end = first; end < bound; end++ {
		var next *spec.Snapshot
		if there[end+1] {
			if next, err = t.store.Snapshot(ctx, end+1); err != nil {
				return 0, 0, err
			}
			if end > last-r.Max && next.TimeMillis >= old {
				break
			}
		}
		if s != nil {
			if holds, err := positions.newest(ctx, s); err != nil {
				return 0, 0, err
			} else if holds {
				break
			}
		}
		s = next
	}
	for end > first && !there[end] { // what remains begins with a snapshot
		end--
	}
	return first, end, nil
}

func (t *Table) pins() []int64 {
	if t.cfg.Pinned == nil {
		return nil
	}
	return t.cfg.Pinned()
}

// positions tells the snapshots that hold the newest source position of a
// pipeline.
type positions struct {
	t      *Table
	latest int64
	users  map[string]int64 // a newer snapshot of the user, as far as it was looked for
}

// newest reports whether s is its pipeline's newest snapshot.
func (p *positions) newest(ctx context.Context, s *spec.Snapshot) (bool, error) {
	if s.Properties[commit.EpochProperty] == "" || p.users[s.CommitUser] > s.ID {
		return false, nil
	}
	for id := p.latest; id > s.ID; id-- {
		x, err := p.t.store.Snapshot(ctx, id)
		if errs.Is(err, errs.FileNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		if x.CommitUser == s.CommitUser {
			if p.users == nil {
				p.users = map[string]int64{}
			}
			p.users[s.CommitUser] = id
			return false, nil
		}
	}
	return true, nil
}

// expireRange removes the snapshots [first, end). Snapshots go before their
// files, and what protects files is looked at after that, so that nobody can
// begin to need them.
func (t *Table) expireRange(ctx context.Context, first, end int64, later overwrites) (int, error) {
	_, decoupled, err := t.ChangelogRetention()
	if err != nil {
		return 0, err
	}
	produces := t.producesChangelog()
	var gone []*spec.Snapshot
	for id := first; id < end; id++ {
		s, err := t.store.Snapshot(ctx, id)
		if errs.Is(err, errs.FileNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		gone = append(gone, s)
	}
	if decoupled {
		if err := t.keepChangelogs(ctx, gone); err != nil {
			return 0, err
		}
	}
	last, err := t.store.Snapshot(ctx, end)
	if err != nil {
		return 0, err
	}
	g := t.newGarbage()
	appended := func(e *spec.ManifestEntry) bool { // the changelog of tables without changelog files
		return decoupled && !produces && (!e.File.FileSource.OK || e.File.FileSource.V == spec.SourceAppend)
	}
	for i, s := range append(gone[:len(gone):len(gone)], last) {
		if i > 0 { // what it deleted, only older ones have
			if err := g.addDeleted(ctx, s, appended); err != nil {
				return 0, err
			}
		}
	}
	for _, s := range gone {
		if !decoupled || produces {
			if err := g.addList(ctx, s.BaseManifestList, false); err != nil {
				return 0, err
			}
			if err := g.addList(ctx, s.DeltaManifestList, false); err != nil {
				return 0, err
			}
		}
		if !decoupled {
			if err := g.addList(ctx, s.ChangelogManifestList, true); err != nil {
				return 0, err
			}
		}
		if err := g.addIndex(ctx, s); err != nil {
			return 0, err
		}
	}
	for i, s := range gone {
		if err := t.cfg.Files.Remove(ctx, t.paths.Snapshot(s.ID)); err != nil {
			return i, err
		}
	}
	if err := t.hints(ctx, end, 0); err != nil {
		slog.Debug("write the EARLIEST hint", "table", t.cfg.Name, "error", err)
	}
	return len(gone), t.sweep(ctx, g, last, first, end, later)
}

// sweep removes garbage that came from references [first, end), after taking out
// what last, tags, later overwrites, branches and pins need.
func (t *Table) sweep(ctx context.Context, g *garbage, last *spec.Snapshot, first, end int64, later overwrites) error {
	if g.empty() {
		return nil
	}
	if slices.ContainsFunc(t.pins(), func(p int64) bool { return p < end }) {
		slog.Info("files of expired snapshots are left to orphan cleaning: a statement began to read one", "table", t.cfg.Name, "snapshots", fmt.Sprintf("%d to %d", first, end-1))
		return nil
	}
	if err := g.keepMeta(ctx, last, true); err != nil {
		return err
	}
	if g.restored {
		if err := g.keepData(ctx, last); err != nil {
			return err
		}
	}
	tags, err := t.tags(ctx)
	if err != nil {
		return err
	}
	for i := range tags {
		// Not the newest tag before first alone: what an older one has may have been
		// deleted, brought back after the newer one, and deleted again.
		if s := tags[i].Snapshot; s.ID < end {
			if err := g.keepData(ctx, s); err != nil {
				return err
			}
			if err := g.keepMeta(ctx, s, false); err != nil {
				return err
			}
		}
	}
	if err := t.keepRestored(ctx, g, last, later); err != nil {
		return err
	}
	if err := g.keepBranches(ctx); err != nil {
		return err
	}
	_, err = g.remove(ctx)
	return err
}

// overwrites remembers, while one expiry goes on, which snapshots are overwrites,
// so that each is read once and not once for every chunk. A snapshot is known by
// its file's size and time, too: a rollback gives ids to others.
type overwrites map[int64]seenSnapshot

type seenSnapshot struct {
	size      int64
	modified  time.Time
	etag      string
	overwrite *spec.Snapshot // nil when it is none
}

// keepRestored takes out files that last or a snapshot after it has brought back
// (rollback_to_as_latest). Only overwrites do that; what those before last brought
// back and last still has, sweep takes out.
func (t *Table) keepRestored(ctx context.Context, g *garbage, last *spec.Snapshot, later overwrites) error {
	if g.empty() {
		return nil
	}
	infos, err := t.cfg.Files.List(ctx, t.paths.SnapshotDir())
	if err != nil {
		return err
	}
	for _, in := range infos {
		id, ok := spec.VersionOf(in.Name, "snapshot-")
		if !ok || in.Dir || id < last.ID {
			continue
		}
		seen, ok := later[id]
		if !ok || seen.size != in.Size || !seen.modified.Equal(in.ModTime) || seen.etag != in.ETag {
			s, err := t.store.Snapshot(ctx, id)
			if errs.Is(err, errs.FileNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			seen = seenSnapshot{size: in.Size, modified: in.ModTime, etag: in.ETag}
			if s.CommitKind == spec.KindOverwrite {
				seen.overwrite = s
			}
			later[id] = seen
		}
		if s := seen.overwrite; s != nil {
			if err := g.keepAdded(ctx, s.DeltaManifestList); err != nil {
				return err
			}
			if err := g.keepIndex(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// ExpireBy expires with the table's own options as far as maintenance demands:
// snapshots, long-lived changelogs and tags. It returns how many snapshots went.
func (t *Table) ExpireBy(ctx context.Context, limit int64) (int, error) {
	r, err := t.SnapshotRetention()
	if err != nil {
		return 0, err
	}
	r.Limit = max(limit, r.Limit)
	n, err := t.ExpireSnapshots(ctx, r)
	if err != nil {
		return n, err
	}
	c, decoupled, err := t.ChangelogRetention()
	if err != nil {
		return n, err
	}
	if decoupled {
		c.Limit = max(limit, c.Limit)
		if _, err := t.ExpireChangelogs(ctx, c); err != nil {
			return n, err
		}
	}
	if o := spec.NewOptions(t.cfg.Schema.Options); o.Bool("tag.time-expire-enabled", true) {
		_, err = t.ExpireTags(ctx, time.Time{})
	}
	return n, err
}
