package maintain

import (
	"context"
	"fmt"
	"slices"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// garbage is a set of files that shall be removed. Things are added that
// removed references had, and taken out that remaining ones have; what is left
// nobody refers to.
type garbage struct {
	t     *Table
	data  map[string][]string // by name of the data file: the paths of it and of files beside it
	meta  map[string]string   // manifests, their lists, index files, statistics: path by name
	lists map[string]bool     // lists that were looked at
	// restored: a snapshot that was looked at may have brought back files that one
	// before it deleted, as rollback_to_as_latest does.
	restored bool
}

func (t *Table) newGarbage() *garbage {
	return &garbage{t: t, data: map[string][]string{}, meta: map[string]string{}, lists: map[string]bool{}}
}

func (g *garbage) empty() bool { return len(g.data)+len(g.meta) == 0 }

// addFile adds a data or changelog file.
func (g *garbage) addFile(e *spec.ManifestEntry) error {
	path, err := g.t.paths.DataFile(e)
	if err != nil {
		return err
	}
	beside, err := g.t.paths.ExtraFiles(e)
	if err != nil {
		return err
	}
	paths := append(beside, path)
	for i := range paths {
		paths[i] = spec.LocalPath(paths[i])
	}
	g.data[e.File.FileName] = paths
	return nil
}

// addDeleted adds the files that a snapshot deleted, except those that it adds
// again at another level and those that skip accepts.
func (g *garbage) addDeleted(ctx context.Context, s *spec.Snapshot, skip func(*spec.ManifestEntry) bool) error {
	g.restored = g.restored || s.CommitKind == spec.KindOverwrite
	metas, err := g.t.store.ManifestList(ctx, s.DeltaManifestList)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(metas, func(m spec.ManifestMeta) bool { return m.Deleted > 0 }) {
		return nil
	}
	gone := map[spec.FileID]spec.ManifestEntry{}
	again := map[string]bool{}
	for i := range metas {
		err := g.t.store.Manifest(ctx, metas[i].FileName, func(e *spec.ManifestEntry) error {
			if e.Kind == spec.FileAdd {
				again[e.File.FileName] = true
			} else {
				gone[e.ID()] = *e
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, e := range gone {
		if again[e.File.FileName] || skip != nil && skip(&e) {
			continue
		}
		if err := g.addFile(&e); err != nil {
			return err
		}
	}
	return nil
}

// addList adds a manifest list and its manifests, and with files what they add.
func (g *garbage) addList(ctx context.Context, name string, files bool) error {
	if name == "" || g.lists[name] {
		return nil
	}
	g.lists[name] = true
	metas, err := g.t.store.ManifestList(ctx, name)
	if errs.Is(err, errs.FileNotFound) {
		return nil // an interrupted removal
	}
	if err != nil {
		return err
	}
	g.meta[name] = g.t.paths.Manifest(name)
	for i := range metas {
		if files {
			err := g.t.store.Manifest(ctx, metas[i].FileName, func(e *spec.ManifestEntry) error {
				c := *e
				return g.addFile(&c)
			})
			if err != nil && !errs.Is(err, errs.FileNotFound) {
				return err
			}
		}
		g.meta[metas[i].FileName] = g.t.paths.Manifest(metas[i].FileName)
	}
	return nil
}

// addIndex adds a snapshot's index manifest, index files and statistics.
func (g *garbage) addIndex(ctx context.Context, s *spec.Snapshot) error {
	if s.Statistics != "" {
		g.meta[s.Statistics] = g.t.paths.StatisticsDir() + "/" + s.Statistics
	}
	if s.IndexManifest == "" || g.lists[s.IndexManifest] {
		return nil
	}
	g.lists[s.IndexManifest] = true
	list, err := g.t.store.Index(ctx, s)
	if errs.Is(err, errs.FileNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	g.meta[s.IndexManifest] = g.t.paths.Manifest(s.IndexManifest)
	for i := range list {
		path, err := g.t.paths.IndexFile(&list[i])
		if err != nil {
			return err
		}
		g.meta[list[i].FileName] = spec.LocalPath(path)
	}
	return nil
}

// keepMeta takes out the manifests, lists, index files and statistics that a
// snapshot refers to.
func (g *garbage) keepMeta(ctx context.Context, s *spec.Snapshot, changelog bool) error {
	lists := []string{s.BaseManifestList, s.DeltaManifestList}
	if changelog {
		lists = append(lists, s.ChangelogManifestList)
	}
	for _, name := range lists {
		if name == "" {
			continue
		}
		delete(g.meta, name)
		metas, err := g.t.store.ManifestList(ctx, name)
		if err != nil {
			return err
		}
		for i := range metas {
			delete(g.meta, metas[i].FileName)
		}
	}
	return g.keepIndex(ctx, s)
}

// keepIndex takes out a snapshot's index manifest, index files and statistics.
func (g *garbage) keepIndex(ctx context.Context, s *spec.Snapshot) error {
	delete(g.meta, s.Statistics)
	if s.IndexManifest == "" || len(g.meta) == 0 {
		return nil
	}
	delete(g.meta, s.IndexManifest)
	list, err := g.t.store.Index(ctx, s)
	if errs.Is(err, errs.FileNotFound) {
		// A long-lived changelog names the index manifest of its snapshot, which went
		// with the snapshot.
		if _, look := g.t.store.Snapshot(ctx, s.ID); errs.Is(look, errs.FileNotFound) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	for i := range list {
		delete(g.meta, list[i].FileName)
	}
	return nil
}

// keepData takes out the data files that are live in a snapshot. They are told
// by name: a file may be live at another level than the one it was deleted at.
func (g *garbage) keepData(ctx context.Context, s *spec.Snapshot) error {
	if len(g.data) == 0 {
		return nil
	}
	live, err := g.t.store.Live(ctx, s, nil, func(e *spec.ManifestEntry) bool { return g.data[e.File.FileName] != nil })
	if err != nil {
		return err
	}
	for i := range live {
		delete(g.data, live[i].File.FileName)
	}
	return nil
}

// keepAdded takes out the files that a manifest list's manifests add.
func (g *garbage) keepAdded(ctx context.Context, list string) error {
	if list == "" || len(g.data) == 0 {
		return nil
	}
	metas, err := g.t.store.ManifestList(ctx, list)
	if err != nil {
		return err
	}
	for i := range metas {
		err := g.t.store.Manifest(ctx, metas[i].FileName, func(e *spec.ManifestEntry) error {
			if e.Kind == spec.FileAdd {
				delete(g.data, e.File.FileName)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// keepBranches takes out what the other branches of the table refer to; main is
// another one when the table is a branch.
func (g *garbage) keepBranches(ctx context.Context) error {
	if g.empty() {
		return nil
	}
	names, err := g.t.Branches(ctx)
	if err != nil {
		return err
	}
	for _, name := range append(names, "") {
		if name == g.t.cfg.Branch {
			continue
		}
		if err := g.keepBranch(ctx, g.t.of(name)); err != nil {
			return fmt.Errorf("branch %s: %w", name, err)
		}
	}
	return nil
}

// keepBranch takes out everything that a branch's snapshots, tags and long-lived
// changelogs refer to. A file that any snapshot has is in the first one or was
// added by a later one.
func (g *garbage) keepBranch(ctx context.Context, b *Table) error {
	ids, err := b.store.SnapshotIDs(ctx)
	if err != nil {
		return err
	}
	last := int64(0)
	for _, id := range ids {
		s, err := b.store.Snapshot(ctx, id)
		if errs.Is(err, errs.FileNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if id != last+1 || last == 0 {
			if err := g.keepData(ctx, s); err != nil {
				return err
			}
		} else if err := g.keepAdded(ctx, s.DeltaManifestList); err != nil {
			return err
		}
		if err := g.keepAdded(ctx, s.ChangelogManifestList); err != nil {
			return err
		}
		if err := g.keepMeta(ctx, s, true); err != nil {
			return err
		}
		last = id
	}
	tags, err := b.tags(ctx)
	if err != nil {
		return err
	}
	for i := range tags {
		if err := g.keepData(ctx, tags[i].Snapshot); err != nil {
			return err
		}
		if err := g.keepMeta(ctx, tags[i].Snapshot, false); err != nil {
			return err
		}
	}
	logs, err := b.changelogIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range logs {
		c, err := b.changelog(ctx, id)
		if err != nil {
			return err
		}
		if err := g.keepChangelog(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// keepChangelog takes out what a long-lived changelog refers to.
func (g *garbage) keepChangelog(ctx context.Context, c *spec.Snapshot) error {
	lists := []string{c.ChangelogManifestList}
	if !g.t.producesChangelog() {
		lists = []string{c.BaseManifestList, c.DeltaManifestList, c.ChangelogManifestList}
	}
	for i, name := range lists {
		if name == "" {
			continue
		}
		delete(g.meta, name)
		metas, err := g.t.store.ManifestList(ctx, name)
		if err != nil {
			return err
		}
		for j := range metas {
			delete(g.meta, metas[j].FileName)
		}
		if i > 0 || len(lists) == 1 {
			if err := g.keepAdded(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove deletes the files and returns how many they were.
func (g *garbage) remove(ctx context.Context) (int, error) {
	var paths []string
	for _, p := range g.data {
		paths = append(paths, p...)
	}
	for _, p := range g.meta {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for i, p := range paths {
		if err := g.t.cfg.Files.Remove(ctx, p); err != nil {
			return i, err
		}
	}
	return len(paths), nil
}
