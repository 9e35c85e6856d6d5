package maintain

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// OrphanAge is how old a file must be to count as an orphan where nobody says
// otherwise. It protects what running writers have not committed yet.
const OrphanAge = 24 * time.Hour

// Cleaned is what orphan cleaning found.
type Cleaned struct {
	Files, Bytes int64
	Paths        []string // at most 1,000
}

func (c *Cleaned) add(path string, size int64) {
	c.Files++
	c.Bytes += size
	if len(c.Paths) < 1000 {
		c.Paths = append(c.Paths, path)
	}
}

// Orphans removes the files in the table's own directories that were last
// changed before olderThan and that no snapshot, tag or long-lived changelog of
// any branch refers to: what crashes, rollbacks and dropped branches leave. With
// dryRun it only tells. Files at external paths, other tables' files and what
// lies in unknown directories are left alone; whatever metadata cannot be read
// stops it before anything is removed.
func (t *Table) Orphans(ctx context.Context, olderThan time.Time, dryRun bool) (Cleaned, error) {
	var out Cleaned
	fail := func(err error) (Cleaned, error) {
		return out, fmt.Errorf("clean orphan files of %s: %w", t.cfg.Name, err)
	}
	if t.cfg.Branch != "" {
		return fail(errs.Userf(errs.WrongArguments, "files of all branches lie together: name the table without a branch"))
	}
	if !olderThan.Before(t.cfg.Now()) {
		return fail(errs.Userf(errs.WrongArguments, "older_than must lie in the past: files that are being written are not referred to yet"))
	}
	// What is referred to is found twice: hashes of all of it first, which are
	// small, so that only suspects are held by name; then the suspects again, for
	// the case that something came to need one meanwhile.
	seed := maphash.MakeSeed()
	used := map[uint64]struct{}{}
	if err := t.references(ctx, func(name string) { used[maphash.String(seed, name)] = struct{}{} }); err != nil {
		return fail(err)
	}
	suspects := map[string][]suspect{}
	err := t.walk(ctx, func(dir string, in fileio.Info, temporary bool) error {
		if !in.ModTime.Before(olderThan) {
			return nil
		}
		if _, ok := used[maphash.String(seed, in.Name)]; !ok || temporary {
			suspects[in.Name] = append(suspects[in.Name], suspect{dir + "/" + in.Name, in.Size, temporary})
		}
		return nil
	})
	if err != nil {
		return fail(err)
	}
	if len(suspects) == 0 {
		return out, nil
	}
	err = t.references(ctx, func(name string) {
		if list, ok := suspects[name]; ok {
			if list = slices.DeleteFunc(list, func(s suspect) bool { return !s.temporary }); len(list) == 0 {
				delete(suspects, name)
			} else {
				suspects[name] = list
			}
		}
	})
	if err != nil {
		return fail(err)
	}
	var list []suspect
	for _, l := range suspects {
		list = append(list, l...)
	}
	slices.SortFunc(list, func(a, b suspect) int { return strings.Compare(a.path, b.path) })
	for _, s := range list {
		if !dryRun {
			if err := t.cfg.Files.Remove(ctx, s.path); err != nil {
				return fail(err)
			}
		}
		out.add(s.path, s.size)
	}
	return out, nil
}

type suspect struct {
	path      string
	size      int64
	temporary bool
}

// references calls fn with the name of every file that the snapshots, tags and
// long-lived changelogs of all branches refer to.
func (t *Table) references(ctx context.Context, fn func(name string)) error {
	names, err := t.Branches(ctx)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, name := range append([]string{""}, names...) {
		b := t.of(name)
		ids, err := b.schemaIDs(ctx)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return errs.Userf(errs.InvalidTable, "the branch %q has no schema; delete it or repair it first", name)
		}
		if err := b.branchReferences(ctx, seen, fn); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) branchReferences(ctx context.Context, seen map[string]bool, fn func(string)) error {
	ids, err := t.store.SnapshotIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		s, err := t.store.Snapshot(ctx, id)
		if errs.Is(err, errs.FileNotFound) {
			continue
		}
		if err == nil {
			err = t.snapshotReferences(ctx, s, seen, fn, false)
		}
		if errs.Is(err, errs.FileNotFound) {
			if _, gone := t.store.Snapshot(ctx, id); errs.Is(gone, errs.FileNotFound) {
				continue // it expired under our hands
			}
		}
		if err != nil {
			return err
		}
	}
	tags, err := t.tags(ctx)
	if err != nil {
		return err
	}
	for i := range tags {
		if err := t.snapshotReferences(ctx, tags[i].Snapshot, seen, fn, true); err != nil {
			return err
		}
	}
	logs, err := t.changelogIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range logs {
		c, err := t.changelog(ctx, id)
		if errs.Is(err, errs.FileNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		lists := []string{c.ChangelogManifestList, c.BaseManifestList, c.DeltaManifestList}
		if t.producesChangelog() {
			lists = lists[:1] // the others went with the snapshot
		}
		for _, name := range lists {
			if err := t.listReferences(ctx, name, seen, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// snapshotReferences tells what a snapshot refers to. Of a tag whose snapshot has
// expired the changelog may be gone.
func (t *Table) snapshotReferences(ctx context.Context, s *spec.Snapshot, seen map[string]bool, fn func(string), tag bool) error {
	for _, name := range []string{s.BaseManifestList, s.DeltaManifestList} {
		if err := t.listReferences(ctx, name, seen, fn); err != nil {
			return err
		}
	}
	if err := t.listReferences(ctx, s.ChangelogManifestList, seen, fn); err != nil && !(tag && errs.Is(err, errs.FileNotFound)) {
		return err
	}
	if s.Statistics != "" {
		fn(s.Statistics)
	}
	if s.IndexManifest == "" || seen[s.IndexManifest] {
		return nil
	}
	list, err := t.store.Index(ctx, s)
	if err != nil {
		return err
	}
	seen[s.IndexManifest] = true
	fn(s.IndexManifest)
	for i := range list {
		fn(list[i].FileName)
	}
	return nil
}

func (t *Table) listReferences(ctx context.Context, list string, seen map[string]bool, fn func(string)) error {
	if list == "" || seen[list] {
		return nil
	}
	metas, err := t.store.ManifestList(ctx, list)
	if err != nil {
		return err
	}
	for i := range metas {
		name := metas[i].FileName
		if seen[name] {
			continue
		}
		err := t.store.Manifest(ctx, name, func(e *spec.ManifestEntry) error {
			fn(e.File.FileName)
			for _, x := range e.File.ExtraFiles {
				fn(x)
			}
			return nil
		})
		if err != nil {
			return err
		}
		seen[name] = true
		fn(name)
	}
	seen[list] = true
	fn(list)
	return nil
}

// walk calls fn with the files that can be orphans: everything in the
// directories of data, manifests, indexes and statistics, and temporary or
// foreign files beside references.
func (t *Table) walk(ctx context.Context, fn func(dir string, in fileio.Info, temporary bool) error) error {
	for _, dir := range []string{t.paths.ManifestDir(), t.paths.IndexDir(), t.paths.StatisticsDir()} {
		if err := t.walkDir(ctx, dir, nil, fn); err != nil {
			return err
		}
	}
	names, err := t.Branches(ctx)
	if err != nil {
		return err
	}
	for _, name := range append([]string{""}, names...) {
		b := t.of(name)
		for dir, known := range map[string]func(string) bool{
			b.paths.SnapshotDir():  reference("snapshot-"),
			b.paths.ChangelogDir(): reference("changelog-"),
			b.paths.SchemaDir():    func(string) bool { return true },
			b.paths.TagDir():       func(string) bool { return true },
			b.paths.ConsumerDir():  func(string) bool { return true },
		} {
			if err := t.walkDir(ctx, dir, known, fn); err != nil {
				return err
			}
		}
	}
	return t.walkBuckets(ctx, t.paths.DataDir(), len(t.paths.Partitioner().Keys), fn)
}

func reference(prefix string) func(string) bool {
	return func(name string) bool {
		_, ok := spec.VersionOf(name, prefix)
		return ok || name == "EARLIEST" || name == "LATEST"
	}
}

// walkDir calls fn with the files of one directory that known does not accept,
// and its temporary ones.
func (t *Table) walkDir(ctx context.Context, dir string, known func(string) bool, fn func(string, fileio.Info, bool) error) error {
	list, err := t.cfg.Files.List(ctx, dir)
	if err != nil {
		return err
	}
	for _, in := range list {
		if in.Dir || known != nil && known(in.Name) {
			continue
		}
		if err := fn(dir, in, false); err != nil {
			return err
		}
	}
	l, ok := t.cfg.Files.(fileio.Leaving)
	if !ok {
		return nil
	}
	if list, err = l.Leftovers(ctx, dir); err != nil {
		return err
	}
	for _, in := range list {
		if err := fn(dir, in, true); err != nil {
			return err
		}
	}
	return nil
}

// walkBuckets goes down partition directories (key=value) to bucket directories.
func (t *Table) walkBuckets(ctx context.Context, dir string, depth int, fn func(string, fileio.Info, bool) error) error {
	list, err := t.cfg.Files.List(ctx, dir)
	if err != nil {
		return err
	}
	keys := t.paths.Partitioner().Keys
	for _, in := range list {
		sub := dir + "/" + in.Name
		switch {
		case !in.Dir:
		case depth > 0:
			if strings.HasPrefix(in.Name, spec.EscapePath(keys[len(keys)-depth])+"=") {
				if err := t.walkBuckets(ctx, sub, depth-1, fn); err != nil {
					return err
				}
			}
		case isBucket(in.Name):
			if err := t.walkDir(ctx, sub, nil, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

func isBucket(name string) bool {
	_, ok := spec.VersionOf(name, "bucket-")
	return ok || name == "bucket-postpone"
}

// Purge empties the table for good: branches, tags, consumers, long-lived
// changelogs and all snapshots but the newest go, with all files, and the table
// has no rows afterwards.
func (t *Table) Purge(ctx context.Context) error {
	branches, err := t.Branches(ctx)
	if err != nil {
		return err
	}
	for _, b := range branches {
		if err := t.DeleteBranch(ctx, b); err != nil {
			return err
		}
	}
	tags, err := t.tags(ctx)
	if err != nil {
		return err
	}
	for i := range tags {
		if err := t.deleteTag(ctx, &tags[i]); err != nil {
			return err
		}
	}
	if err := t.ClearConsumers(ctx, "", ""); err != nil {
		return err
	}
	c, err := t.committer()
	if err != nil {
		return err
	}
	if _, err := c.DropPartitions(ctx, []map[string]*string{{}}); err != nil {
		return err
	}
	if _, err := t.ExpireSnapshots(ctx, Retention{Min: 1, Max: 1}); err != nil {
		return err
	}
	if _, err := t.DropChangelogs(ctx); err != nil {
		return err
	}
	_, err = t.Orphans(ctx, t.cfg.Now().Add(-time.Millisecond), false)
	return err
}
