package commit

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

func sortIDs(ids []int64) { slices.Sort(ids) }

// manifestOptions are the options of manifests.
type manifestOptions struct {
	compression string
	target      int64 // manifest.target-file-size
	minMerge    int64 // manifest.merge-min-count
	fullSize    int64 // manifest.full-compaction-threshold-size
}

// scratch writes metadata files, several at once, and remembers them, so that a
// lost attempt can remove what it wrote.
type scratch struct {
	c     *Committer
	names *spec.Namer
	files []string // paths
	wg    sync.WaitGroup
	mu    sync.Mutex
	err   error                          // of the first write that failed
	limit chan struct{}                  // bounds the writes under way
	metas []spec.ManifestMeta            // of the snapshot's whole state
	lists map[string][]spec.ManifestMeta // the lists written, by path
}

func (c *Committer) newScratch() *scratch {
	return &scratch{c: c, names: spec.NewNamer(), limit: make(chan struct{}, 8)}
}

// put starts writing a metadata file; wait tells how it went. Nothing refers to
// the file before the snapshot does, so the order of writes does not matter.
func (s *scratch) put(ctx context.Context, name string, b []byte) {
	s.putFile(ctx, s.c.store.Paths.Manifest(name), b)
}

// writeStatistics starts writing a statistics file and returns its name.
func (s *scratch) writeStatistics(ctx context.Context, b []byte) string {
	name := s.names.Named("stat-")
	s.putFile(ctx, s.c.store.Paths.StatisticsDir()+"/"+name, b)
	return name
}

func (s *scratch) putFile(ctx context.Context, path string, b []byte) {
	s.files = append(s.files, path)
	s.limit <- struct{}{}
	s.wg.Go(func() {
		defer func() { <-s.limit }()
		if err := s.write(ctx, path, b); err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.err == nil {
				s.err = err
			}
		}
	})
}

func (s *scratch) write(ctx context.Context, path string, b []byte) error {
	w, err := s.c.store.Files.Create(ctx, path)
	if err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Close()
}

// wait waits until all files are written.
func (s *scratch) wait() error {
	s.wg.Wait()
	return s.err
}

// remove deletes what was written. Call it only when no snapshot can refer to
// the files. Files that cannot be removed are left to orphan cleaning.
func (s *scratch) remove(ctx context.Context) {
	s.wg.Wait()
	ctx = context.WithoutCancel(ctx)
	for _, f := range s.files {
		if err := s.c.store.Files.Remove(ctx, f); err != nil {
			slog.Debug("remove a manifest of a lost commit", "file", f, "error", err)
		}
	}
	s.files = nil
}

// rolling writes entries into manifests of about the target size.
type rolling struct {
	s   *scratch
	w   *spec.ManifestWriter
	out []spec.ManifestMeta
}

func (r *rolling) add(ctx context.Context, e *spec.ManifestEntry) error {
	if r.w == nil {
		w, err := spec.NewManifestWriter(r.s.c.store.Paths.Partitioner().Types, r.s.c.manifests.compression)
		if err != nil {
			return err
		}
		r.w = w
	}
	if err := r.w.Add(e); err != nil {
		return err
	}
	if int64(r.w.Size()) >= r.s.c.manifests.target {
		return r.flush(ctx)
	}
	return nil
}

func (r *rolling) flush(ctx context.Context) error {
	if r.w == nil {
		return nil
	}
	b, meta := r.w.Finish(r.s.names.Manifest())
	r.w = nil
	r.out = append(r.out, meta)
	r.s.put(ctx, meta.FileName, b)
	return nil
}

// writeEntries writes entries as manifests.
func (s *scratch) writeEntries(ctx context.Context, entries []spec.ManifestEntry) ([]spec.ManifestMeta, error) {
	r := &rolling{s: s}
	for i := range entries {
		if err := r.add(ctx, &entries[i]); err != nil {
			return nil, err
		}
	}
	return r.out, r.flush(ctx)
}

// writeList writes a manifest list and returns its name and size.
func (s *scratch) writeList(ctx context.Context, list []spec.ManifestMeta) (string, *int64, error) {
	b, err := spec.WriteManifestList(list, s.c.manifests.compression)
	if err != nil {
		return "", nil, err
	}
	name, size := s.names.ManifestList(), int64(len(b))
	s.put(ctx, name, b)
	if s.lists == nil {
		s.lists = map[string][]spec.ManifestMeta{}
	}
	s.lists[s.c.store.Paths.Manifest(name)] = list
	return name, &size, nil
}

// writeIndex writes an index manifest and returns its name, "" for no files.
func (s *scratch) writeIndex(ctx context.Context, list []spec.IndexEntry) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	b, err := spec.WriteIndexManifest(list, s.c.manifests.compression)
	if err != nil {
		return "", err
	}
	name := s.names.IndexManifest()
	s.put(ctx, name, b)
	return name, nil
}

// mergeManifests bounds the list of manifests: it rewrites small ones, and ones
// with deletions, so that additions and deletions of one file cancel
// (ManifestFileMerger). It returns metas itself when there is nothing to do.
func (s *scratch) mergeManifests(ctx context.Context, metas []spec.ManifestMeta) ([]spec.ManifestMeta, error) {
	o := &s.c.manifests
	var change int64
	for i := range metas {
		if metas[i].Deleted > 0 || metas[i].FileSize < o.target {
			change += metas[i].FileSize
		}
	}
	if change >= o.fullSize {
		out, err := s.mergeAll(ctx, metas)
		if err == nil || errs.ClassOf(err) != errs.Corruption {
			return out, err
		}
		// A state that does not add up is shown by whoever reads it. Merging must
		// not hide the evidence, nor stop other writers.
		slog.Warn("manifests are not merged", "table", s.c.store.Paths.Root(), "error", err)
		return metas, nil
	}
	return s.mergeSmall(ctx, metas)
}

// mergeSmall merges groups of consecutive manifests that together reach the
// target size, and the last group when it has many.
func (s *scratch) mergeSmall(ctx context.Context, metas []spec.ManifestMeta) ([]spec.ManifestMeta, error) {
	o := &s.c.manifests
	var out, group []spec.ManifestMeta
	var size int64
	for _, m := range metas {
		group = append(group, m)
		if size += m.FileSize; size < o.target {
			continue
		}
		merged, err := s.mergeGroup(ctx, group)
		if err != nil {
			return nil, err
		}
		out = append(out, merged...)
		group, size = nil, 0
	}
	if int64(len(group)) >= o.minMerge {
		merged, err := s.mergeGroup(ctx, group)
		if err != nil {
			return nil, err
		}
		group = merged
	}
	return append(out, group...), nil
}

// mergeGroup merges the entries of consecutive manifests. Deletions of files
// that were added before the group stay, after everything they could precede.
func (s *scratch) mergeGroup(ctx context.Context, group []spec.ManifestMeta) ([]spec.ManifestMeta, error) {
	if len(group) == 1 {
		return group, nil
	}
	var list []spec.ManifestEntry
	added := map[spec.FileID]int{}
	for _, m := range group {
		err := s.c.store.Manifest(ctx, m.FileName, func(e *spec.ManifestEntry) error {
			id := e.ID()
			at, ok := added[id]
			if e.Kind == spec.FileDelete && ok {
				delete(added, id)
				list[at].File.FileName = "" // cancelled
				return nil
			}
			if e.Kind == spec.FileAdd {
				if ok {
					return errs.Corruptf("the file %s is added twice", e.File.FileName)
				}
				added[id] = len(list)
			}
			list = append(list, *e)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	list = slices.DeleteFunc(list, func(e spec.ManifestEntry) bool { return e.File.FileName == "" })
	return s.writeEntries(ctx, list)
}

// mergeAll rewrites all manifests so that only live files remain, keeping large
// ones without deletions as they are. It walks from the newest to the oldest and
// holds one manifest's entries and the deletions that wait for their additions.
func (s *scratch) mergeAll(ctx context.Context, metas []spec.ManifestMeta) ([]spec.ManifestMeta, error) {
	target := s.c.manifests.target
	waiting := map[spec.FileID]int{} // deletions newer than what is read
	var out []spec.ManifestMeta      // newest first
	var kept []spec.ManifestEntry    // newest first
	var keptBytes int64
	flush := func() error {
		slices.Reverse(kept)
		written, err := s.writeEntries(ctx, kept)
		slices.Reverse(written)
		out = append(out, written...)
		kept, keptBytes = nil, 0
		return err
	}
	for i := len(metas) - 1; i >= 0; i-- {
		m := &metas[i]
		var entries []spec.ManifestEntry
		err := s.c.store.Manifest(ctx, m.FileName, func(e *spec.ManifestEntry) error {
			entries = append(entries, *e)
			return nil
		})
		if err != nil {
			return nil, err
		}
		all := len(entries)
		var live []spec.ManifestEntry // newest first
		for j := all - 1; j >= 0; j-- {
			id := entries[j].ID()
			switch {
			case entries[j].Kind == spec.FileDelete:
				waiting[id]++
			case waiting[id] > 1:
				waiting[id]--
			case waiting[id] == 1:
				delete(waiting, id)
			default:
				live = append(live, entries[j])
			}
		}
		if len(live) == all && m.FileSize >= target {
			if err := flush(); err != nil {
				return nil, err
			}
			out = append(out, *m)
			continue
		}
		kept = append(kept, live...)
		if all > 0 {
			keptBytes += m.FileSize * int64(len(live)) / int64(all)
		}
		if keptBytes >= target {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	for id := range waiting {
		return nil, errs.Corruptf("merge manifests: the file %s is deleted but was never added", id.FileName())
	}
	if err := flush(); err != nil {
		return nil, err
	}
	slices.Reverse(out)
	return out, nil
}
