package maintain

import (
	"context"
	"fmt"
	"slices"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// RollbackTo makes a snapshot the newest one: later snapshots, tags of them and
// long-lived changelogs are removed. Their files are left to orphan cleaning. It
// returns the ids of the newest snapshot before and after.
//
// The newest snapshot is removed last of all snapshots, and with it the table
// goes back in one step. Snapshots between are gone before that: an interrupted
// call has taken them from the history, and is to be repeated.
func (t *Table) RollbackTo(ctx context.Context, id int64) (from, to int64, err error) {
	s, err := t.snapshot(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	return t.rollback(ctx, s)
}

// RollbackToTag does it for a tag, whose snapshot comes back when it has expired.
func (t *Table) RollbackToTag(ctx context.Context, name string) (from, to int64, err error) {
	tag, err := t.needTag(ctx, name)
	if err != nil {
		return 0, 0, err
	}
	return t.rollback(ctx, tag.Snapshot)
}

// RollbackToTime does it for the newest snapshot at or before a time.
func (t *Table) RollbackToTime(ctx context.Context, millis int64) (from, to int64, err error) {
	s, err := t.At(ctx, millis)
	if err != nil {
		return 0, 0, err
	}
	return t.rollback(ctx, s)
}

// RollbackToWatermark does it for the newest snapshot with a watermark of at
// most the given one.
func (t *Table) RollbackToWatermark(ctx context.Context, watermark int64) (from, to int64, err error) {
	s, err := t.newestBefore(ctx, fmt.Sprintf("with a watermark of %d or before", watermark), func(s *spec.Snapshot) bool {
		w, ok := s.HasWatermark()
		return ok && w <= watermark
	})
	if err != nil {
		return 0, 0, err
	}
	return t.rollback(ctx, s)
}

func (t *Table) rollback(ctx context.Context, s *spec.Snapshot) (from, to int64, err error) {
	ids, err := t.store.SnapshotIDs(ctx)
	if err != nil {
		return 0, 0, err
	}
	from = s.ID
	if len(ids) > 0 {
		from = max(ids[len(ids)-1], s.ID)
	}
	if !slices.Contains(ids, s.ID) { // only a tag has it
		first, err := t.revived(ctx, s)
		if err != nil {
			return 0, 0, err
		}
		data, err := first.Marshal()
		if err != nil {
			return 0, 0, err
		}
		if err := t.create(ctx, t.paths.Snapshot(s.ID), data); err != nil {
			return 0, 0, fmt.Errorf("roll back %s: %w", t.cfg.Name, err)
		}
		if err := t.hints(ctx, s.ID, 0); err != nil {
			return 0, 0, err
		}
	}
	if from > s.ID { // readers shall not trust an older hint while snapshots go
		if err := t.hints(ctx, 0, from); err != nil {
			return 0, 0, err
		}
	}
	for _, id := range ids {
		if id > s.ID {
			if err := t.cfg.Files.Remove(ctx, t.paths.Snapshot(id)); err != nil {
				return 0, 0, fmt.Errorf("roll back %s: %w", t.cfg.Name, err)
			}
		}
	}
	left, err := t.store.SnapshotIDs(ctx)
	if err != nil {
		return 0, 0, err
	}
	if n := left[len(left)-1]; n > s.ID {
		return 0, 0, errs.New(errs.Conflict, errs.KindNone, "roll back %s to snapshot %d: snapshot %d was made meanwhile and is the newest now; stop the writers and call it again",
			t.cfg.Name, s.ID, n)
	}
	if err := t.hints(ctx, 0, s.ID); err != nil {
		return 0, 0, err
	}
	tags, err := t.tags(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, g := range tags {
		if g.Snapshot.ID > s.ID {
			if err := t.cfg.Files.Remove(ctx, t.paths.Tag(g.Name)); err != nil {
				return 0, 0, err
			}
		}
	}
	changelogs, err := t.changelogIDs(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, id := range changelogs {
		if id > s.ID {
			if err := t.cfg.Files.Remove(ctx, t.changelogPath(id)); err != nil {
				return 0, 0, err
			}
		}
	}
	return from, s.ID, nil
}

// RestoreAsLatest makes a new snapshot with the state of an older one, or of a
// tag when one is named. Nothing of the history is lost. It returns the ids of
// the newest snapshot before, of the restored one and of the new one.
func (t *Table) RestoreAsLatest(ctx context.Context, tag string, id int64) (from, back, to int64, err error) {
	latest, err := t.latest(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	var s *spec.Snapshot
	if tag != "" {
		g, err := t.needTag(ctx, tag)
		if err != nil {
			return 0, 0, 0, err
		}
		s = g.Snapshot
	} else if s, err = t.snapshot(ctx, id); err != nil {
		return 0, 0, 0, err
	}
	c, err := t.committer()
	if err != nil {
		return 0, 0, 0, err
	}
	res, err := c.Restore(ctx, s)
	return latest.ID, s.ID, res.Snapshot, err
}

// CompactManifests rewrites the newest snapshot's manifests into few without
// deleted files.
func (t *Table) CompactManifests(ctx context.Context) error {
	c, err := t.committer()
	if err != nil {
		return err
	}
	_, err = c.CompactManifests(ctx)
	return err
}
