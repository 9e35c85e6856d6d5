package maintain

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

func (t *Table) changelogPath(id int64) string {
	return t.paths.ChangelogDir() + "/changelog-" + strconv.FormatInt(id, 10)
}

// changelogIDs returns the ids of the long-lived changelogs, ascending.
func (t *Table) changelogIDs(ctx context.Context) ([]int64, error) {
	list, err := t.cfg.Files.List(ctx, t.paths.ChangelogDir())
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, in := range list {
		if id, ok := spec.VersionOf(in.Name, "changelog-"); ok && !in.Dir {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// changelog reads a long-lived changelog: what is kept of an expired snapshot.
func (t *Table) changelog(ctx context.Context, id int64) (*spec.Snapshot, error) {
	b, err := t.cfg.Files.ReadFile(ctx, t.changelogPath(id))
	if err != nil {
		return nil, err
	}
	s, err := spec.ParseSnapshot(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.changelogPath(id), err)
	}
	return s, nil
}

// keepChangelogs writes the long-lived changelogs of snapshots that expire.
func (t *Table) keepChangelogs(ctx context.Context, gone []*spec.Snapshot) error {
	if len(gone) == 0 {
		return nil
	}
	before, err := t.changelogIDs(ctx)
	if err != nil {
		return err
	}
	for _, s := range gone {
		data, err := s.Marshal()
		if err != nil {
			return err
		}
		if err := t.cfg.Files.WriteFile(ctx, t.changelogPath(s.ID), data); err != nil {
			return err
		}
	}
	if len(before) == 0 {
		if err := t.changelogHint(ctx, "EARLIEST", gone[0].ID); err != nil {
			return err
		}
	}
	return t.changelogHint(ctx, "LATEST", gone[len(gone)-1].ID)
}

func (t *Table) changelogHint(ctx context.Context, name string, id int64) error {
	return t.cfg.Files.WriteFile(ctx, t.paths.ChangelogDir()+"/"+name, strconv.AppendInt(nil, id, 10))
}

// ExpireChangelogs removes the oldest long-lived changelogs that r does not
// keep, and returns how many. Snapshots count for r's numbers.
func (t *Table) ExpireChangelogs(ctx context.Context, r Retention) (int, error) {
	ids, err := t.changelogIDs(ctx)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	snaps, err := t.store.SnapshotIDs(ctx)
	if err != nil || len(snaps) == 0 {
		return 0, err
	}
	first, last := ids[0], snaps[len(snaps)-1]
	bound := min(last-max(r.Min, 1)+1, ids[len(ids)-1]+1)
	if r.Limit > 0 {
		bound = min(bound, first+r.Limit)
	}
	consumer, err := t.oldestConsumed(ctx)
	if err != nil {
		return 0, err
	}
	bound = min(bound, consumer)
	old := t.cfg.Now().Add(-r.Time).UnixMilli()
	end := first
	for ; end < bound; end++ {
		next, err := t.record(ctx, end+1)
		if errs.Is(err, errs.FileNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if end > last-r.Max && next.TimeMillis >= old {
			break
		}
	}
	return t.dropChangelogs(ctx, ids, end)
}

// DropChangelogs removes all long-lived changelogs.
func (t *Table) DropChangelogs(ctx context.Context) (int, error) {
	ids, err := t.changelogIDs(ctx)
	if err != nil {
		return 0, err
	}
	return t.dropChangelogs(ctx, ids, math.MaxInt64)
}

// record returns snapshot id, or its long-lived changelog.
func (t *Table) record(ctx context.Context, id int64) (*spec.Snapshot, error) {
	s, err := t.store.Snapshot(ctx, id)
	if errs.Is(err, errs.FileNotFound) {
		return t.changelog(ctx, id)
	}
	return s, err
}

// dropChangelogs removes the changelogs below end.
func (t *Table) dropChangelogs(ctx context.Context, ids []int64, end int64) (int, error) {
	n := 0
	snaps, err := t.store.SnapshotIDs(ctx)
	if err != nil {
		return 0, err
	}
	for len(ids) > 0 && ids[0] < end {
		if len(snaps) > 0 && ids[0] >= snaps[0] { // its snapshot is still there: an expiry was cut
			if err := t.cfg.Files.Remove(ctx, t.changelogPath(ids[0])); err != nil {
				return n, err
			}
			ids = ids[1:]
			continue
		}
		k := 0
		for k < len(ids) && k < expiryChunk && ids[k] < end && (len(snaps) == 0 || ids[k] < snaps[0]) {
			k++
		}
		removed, err := t.dropChangelogRange(ctx, ids[:k])
		if n += removed; err != nil {
			return n, fmt.Errorf("expire changelogs of %s: %w", t.cfg.Name, err)
		}
		ids = ids[k:]
	}
	return n, nil
}

func (t *Table) dropChangelogRange(ctx context.Context, ids []int64) (int, error) {
	g := t.newGarbage()
	produces := t.producesChangelog()
	var list []*spec.Snapshot
	for _, id := range ids {
		c, err := t.changelog(ctx, id)
		if err != nil {
			return 0, err
		}
		if err := g.addList(ctx, c.ChangelogManifestList, true); err != nil {
			return 0, err
		}
		if !produces {
			if err := g.addList(ctx, c.BaseManifestList, false); err != nil {
				return 0, err
			}
			if err := g.addList(ctx, c.DeltaManifestList, false); err != nil {
				return 0, err
			}
		}
		list = append(list, c)
	}
	next, err := t.following(ctx, ids[len(ids)-1])
	if err != nil {
		return 0, err
	}
	if !produces {
		for _, c := range append(list[1:len(list):len(list)], next) {
			if err := g.addDeleted(ctx, c, nil); err != nil {
				return 0, err
			}
		}
	}
	for i, id := range ids {
		if err := t.cfg.Files.Remove(ctx, t.changelogPath(id)); err != nil {
			return i, err
		}
	}
	rest, err := t.changelogIDs(ctx)
	if err != nil {
		return len(ids), err
	}
	if len(rest) > 0 {
		if err := t.changelogHint(ctx, "EARLIEST", rest[0]); err != nil {
			slog.Debug("write the EARLIEST hint of changelogs", "table", t.cfg.Name, "error", err)
		}
	} else {
		for _, h := range []string{"EARLIEST", "LATEST"} {
			if err := t.cfg.Files.Remove(ctx, t.paths.ChangelogDir()+"/"+h); err != nil {
				return len(ids), err
			}
		}
	}
	if produces {
		// A changelog's manifests are its own; only a branch's first snapshot can name
		// them too.
		if err := g.keepBranches(ctx); err != nil {
			return len(ids), err
		}
		_, err := g.remove(ctx)
		return len(ids), err
	}
	// A snapshot that is now itself a changelog may have brought back what these
	// deleted; then the oldest snapshot has it.
	snaps, err := t.store.SnapshotIDs(ctx)
	if err != nil {
		return len(ids), err
	}
	if len(snaps) > 0 {
		oldest, err := t.store.Snapshot(ctx, snaps[0])
		if err != nil {
			return len(ids), err
		}
		if err := g.keepData(ctx, oldest); err != nil {
			return len(ids), err
		}
	}
	return len(ids), t.sweep(ctx, g, next, ids[0], ids[len(ids)-1]+1, overwrites{})
}

// following returns the oldest changelog or snapshot after id.
func (t *Table) following(ctx context.Context, id int64) (*spec.Snapshot, error) {
	best := int64(math.MaxInt64)
	for _, ids := range []func(context.Context) ([]int64, error){t.changelogIDs, t.store.SnapshotIDs} {
		list, err := ids(ctx)
		if err != nil {
			return nil, err
		}
		for _, x := range list {
			if x > id {
				best = min(best, x)
			}
		}
	}
	return t.record(ctx, best)
}
