package commit

import (
	"context"
	"slices"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// scope says which partitions an overwrite replaces.
type scope func(partition spec.BinaryRow) (bool, error)

// newScope reads what a committable overwrites: nil when nothing. Rows for other
// partitions are refused.
func (c *Committer) newScope(cm *connector.Committable, messages []*Message) (scope, error) {
	if !cm.Overwrite {
		return nil, nil
	}
	p := c.cfg.Paths.Partitioner()
	if cm.OverwriteDynamic {
		if len(cm.OverwriteIn) > 0 {
			return nil, errs.Internalf("commit to %s: an overwrite is both of given partitions and of those with rows", c.cfg.Paths.Root())
		}
		if len(p.Keys) > 0 {
			has := map[string]bool{}
			for _, m := range messages {
				if len(m.New) > 0 {
					has[string(m.Partition)] = true
				}
			}
			return func(part spec.BinaryRow) (bool, error) { return has[string(part)], nil }, nil
		}
	}
	match, err := p.Matcher(cm.OverwriteIn)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		ok, err := match.Match(m.Partition)
		if err != nil {
			return nil, err
		}
		if !ok && len(m.New) > 0 {
			path, err := p.Path(m.Partition)
			if err != nil {
				return nil, err
			}
			return nil, errs.Userf(errs.WrongValue, "overwrite partitions of %s: there are rows for the partition %s, which is not among them", c.cfg.Paths.Root(), path)
		}
	}
	return match.Match, nil
}

// overwriteEntries returns entries that remove what the overwritten partitions
// have and add the messages' files.
func (c *Committer) overwriteEntries(ctx context.Context, ch *change, latest *spec.Snapshot, index *indexState) ([]spec.ManifestEntry, error) {
	out := []spec.ManifestEntry{}
	var bad error
	live, err := c.store.Live(ctx, latest, nil, func(e *spec.ManifestEntry) bool {
		ok, err := ch.overwrite(e.Partition)
		if err != nil && bad == nil {
			bad = err
		}
		return ok
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, err
	}
	again := map[spec.FileID]bool{} // files that stay: they are neither deleted nor added
	if ch.rebase {
		for _, m := range ch.messages {
			for _, f := range m.New {
				e := m.entry(spec.FileAdd, f)
				again[e.ID()] = true
			}
		}
	}
	stays := map[spec.FileID]bool{}
	for _, e := range live {
		if id := e.ID(); again[id] {
			stays[id] = true
			continue
		}
		e.Kind = spec.FileDelete
		out = append(out, e)
	}
	if err := index.drop(ch.overwrite); err != nil {
		return nil, err
	}
	for _, m := range ch.messages {
		index.apply(m, &IndexChange{New: m.Index.New})
		files := m.New
		if c.upgrades && !ch.rebase && !m.compacts() {
			if files, err = c.upgraded(files); err != nil {
				return nil, err
			}
		}
		for _, f := range files {
			if e := m.entry(spec.FileAdd, f); !stays[e.ID()] {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// upgraded puts the files of a bucket that was emptied at the highest level,
// where they need no compaction, if their keys do not overlap
// (overwrite-upgrade).
func (c *Committer) upgraded(files []spec.DataFileMeta) ([]spec.DataFileMeta, error) {
	if len(files) == 0 {
		return files, nil
	}
	out := slices.Clone(files)
	entries := make([]spec.ManifestEntry, len(out))
	for i := range out {
		if d := out[i].DeleteRowCount; out[i].Level != 0 || !d.OK || d.V > 0 {
			return files, nil
		}
		out[i].Level = c.topLevel
		entries[i].File = out[i]
	}
	overlap, err := c.overlaps(entries)
	if err != nil || overlap {
		return files, err
	}
	return out, nil
}

// checkRead fails when the buckets that a change was computed for have changed
// after the snapshot that it was computed from.
func (c *Committer) checkRead(ctx context.Context, ch *change, latest *spec.Snapshot) error {
	read := ch.cm.ReadVersion
	if read == 0 || read < 0 && latest == nil {
		return nil
	}
	if read < 0 {
		return errs.New(errs.Conflict, errs.KindNone, "commit to %s: the table had no snapshot when the change was computed, and has one now; run the statement again", c.cfg.Paths.Root())
	}
	if latest == nil || latest.ID < read {
		return errs.New(errs.Conflict, errs.KindNone, "commit to %s: snapshot %d, from which the change was computed, is gone; run the statement again", c.cfg.Paths.Root(), read)
	}
	touched := map[place]bool{}
	for _, m := range ch.messages {
		touched[m.place()] = true
	}
	for id := latest.ID; id > read; id-- {
		s := latest
		if id != latest.ID {
			var err error
			if s, err = c.store.Snapshot(ctx, id); err != nil && !errs.Is(err, errs.FileNotFound) {
				return err
			} else if err != nil {
				return errs.New(errs.Conflict, errs.KindNone, "commit to %s: snapshots after %d, from which the change was computed, have expired; run the statement again",
					c.cfg.Paths.Root(), read)
			}
		}
		if !data(s) {
			continue // the same rows; files that are gone are found out below
		}
		metas, err := c.store.ManifestList(ctx, s.DeltaManifestList)
		if err != nil {
			return err
		}
		for i := range metas {
			err := c.store.Manifest(ctx, metas[i].FileName, func(e *spec.ManifestEntry) error {
				hit := touched[place{string(e.Partition), e.Bucket}]
				if !hit && ch.overwrite != nil {
					var err error
					if hit, err = ch.overwrite(e.Partition); err != nil {
						return err
					}
				}
				if hit {
					return errs.New(errs.Conflict, errs.KindNone, "commit to %s: snapshot %d has changed bucket %d after snapshot %d, from which the change was computed; run the statement again",
						c.cfg.Paths.Root(), s.ID, e.Bucket, read)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		if s.IndexManifest == "" && ch.overwrite == nil {
			continue
		}
		if err := c.checkReadIndex(ctx, s, touched, read); err != nil {
			return err
		}
	}
	return nil
}

// checkReadIndex fails when a snapshot has deleted rows of the buckets by
// deletion vectors, which its manifests of data files do not show.
func (c *Committer) checkReadIndex(ctx context.Context, s *spec.Snapshot, touched map[place]bool, read int64) error {
	now, err := c.store.Index(ctx, s)
	if err != nil {
		return err
	}
	before := map[string]bool{}
	if s.ID > 1 {
		previous, err := c.store.Snapshot(ctx, s.ID-1)
		if err != nil {
			return err
		}
		if previous.IndexManifest == s.IndexManifest {
			return nil
		}
		list, err := c.store.Index(ctx, previous)
		if err != nil {
			return err
		}
		for i := range list {
			before[list[i].FileName] = true
		}
	}
	for i := range now {
		e := &now[i]
		if e.IndexType == spec.IndexDeletionVectors && !before[e.FileName] && touched[place{string(e.Partition), e.Bucket}] {
			return errs.New(errs.Conflict, errs.KindNone, "commit to %s: snapshot %d has deleted rows of bucket %d after snapshot %d, from which the change was computed; run the statement again",
				c.cfg.Paths.Root(), s.ID, e.Bucket, read)
		}
	}
	return nil
}
