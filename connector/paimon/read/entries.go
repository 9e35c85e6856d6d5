package read

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// manifest reads the entries of one manifest.
func (st *State) manifest(ctx context.Context, m *spec.ManifestMeta) (*spec.Entries, error) {
	path := st.src.paths(nil).Manifest(m.FileName)
	if x := st.src.Cache.manifest(path); x != nil {
		return x, nil
	}
	b, err := st.src.Files.ReadFile(ctx, path)
	if err != nil {
		return nil, st.src.vanished(st.snap, path, err)
	}
	n := int(min(m.Added+m.Deleted, int64(len(b))))
	var x *spec.Entries
	if f := dataFormat(b); f != "" {
		x = spec.NewEntries(max(n, 0))
		err = st.src.eachRecord(ctx, path, f, func(r record) {
			if e := manifestEntry(r); *r.err == nil {
				x.Add(&e)
			}
		})
		x.Done()
	} else {
		x, err = spec.ReadEntries(b, max(n, 0))
	}
	if err != nil {
		return nil, st.src.vanished(st.snap, path, fmt.Errorf("%s: %w", path, err))
	}
	if int64(x.Len()) != m.Added+m.Deleted {
		return nil, errs.Corruptf("table %s, snapshot %d: %s has %d entries, its list says %d", st.src.Name, st.snap.ID, path, x.Len(), m.Added+m.Deleted)
	}
	st.src.Cache.put(path, x, x.Bytes())
	return x, nil
}

// manifests reads the entries of several manifests, those that are not cached in
// parallel.
func (st *State) manifests(ctx context.Context, metas []spec.ManifestMeta) ([]*spec.Entries, error) {
	out := make([]*spec.Entries, len(metas))
	errors := make([]error, len(metas))
	var missing []int
	paths := st.src.paths(nil)
	for i := range metas {
		if out[i] = st.src.Cache.manifest(paths.Manifest(metas[i].FileName)); out[i] == nil {
			missing = append(missing, i)
		}
	}
	workers := min(len(missing), 2*runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for _, i := range missing {
			var err error
			if out[i], err = st.manifest(ctx, &metas[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for !failed.Load() {
				k := int(next.Add(1)) - 1
				if k >= len(missing) {
					return
				}
				i := missing[k]
				if out[i], errors[i] = st.manifest(ctx, &metas[i]); errors[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errors {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// entryFilter says which entries matter, by what is part of a file's identity,
// so that additions and deletions are kept and left out together. The zero value
// keeps all.
type entryFilter struct {
	partitions *partitionFilter
	level      int32 // only files of this level, 0: of all
	above0     bool  // no files of level 0
	visible    bool  // no postponed files
}

// manifest reports whether a manifest may have such entries.
func (f *entryFilter) manifest(m *spec.ManifestMeta) bool {
	if f.partitions != nil && !f.partitions.manifest(m) {
		return false
	}
	if m.MinLevel.OK && m.MaxLevel.OK && m.MinLevel.V <= m.MaxLevel.V {
		if f.level > 0 && (m.MaxLevel.V < f.level || m.MinLevel.V > f.level) || f.above0 && m.MaxLevel.V == 0 {
			return false
		}
	}
	return !f.visible || !m.MaxBucket.OK || m.MaxBucket.V != spec.PostponeBucket
}

// liveFiles are live files among the entries of manifests.
type liveFiles struct {
	sets    []*spec.Entries
	files   []spec.Ref
	schemas map[int64]*catalog.Schema // of the files, as far as they were asked for
}

// schemaOf returns a schema that files were written with, asking the store once.
func (l *liveFiles) schemaOf(ctx context.Context, src *Source, id int64) (*catalog.Schema, error) {
	if s := l.schemas[id]; s != nil {
		return s, nil
	}
	s, err := src.Schema(ctx, id)
	if err != nil {
		return nil, err
	}
	if l.schemas == nil {
		l.schemas = map[int64]*catalog.Schema{}
	}
	l.schemas[id] = s
	return s, nil
}

// entry returns the entry of a live file, without statistics.
func (l *liveFiles) entry(r spec.Ref) *spec.ManifestEntry {
	e := &spec.ManifestEntry{}
	l.sets[r.Set].Brief(int(r.Index), e)
	return e
}

// state is what merge rules ask of files: level and deletions.
func (l *liveFiles) state(refs []spec.Ref) func(i int) (int32, bool) {
	return func(i int) (int32, bool) {
		x, at := l.sets[refs[i].Set], int(refs[i].Index)
		return x.Level(at), !x.Clean(at)
	}
}

// live returns the live files that the filter keeps, in the order in which they
// were added.
func (st *State) live(ctx context.Context, keep entryFilter) (*liveFiles, error) {
	metas, err := st.ManifestMetas(ctx)
	if err != nil {
		return nil, err
	}
	var kept []spec.ManifestMeta
	for i := range metas {
		if keep.manifest(&metas[i]) {
			kept = append(kept, metas[i])
		}
	}
	l := &liveFiles{schemas: st.knownSchemas()}
	if l.sets, err = st.manifests(ctx, kept); err != nil {
		return nil, err
	}
	// Partitions are judged once a manifest, entries by number.
	n := 0
	wanted := make([][]bool, len(l.sets))
	for s, x := range l.sets {
		if keep.partitions == nil {
			n += x.Len()
			continue
		}
		wanted[s] = make([]bool, len(x.Partitions()))
		for p, row := range x.Partitions() {
			if wanted[s][p], err = keep.partitions.partition(row); err != nil {
				return nil, st.src.vanished(st.snap, kept[s].FileName, err)
			}
		}
		for i := range x.Len() {
			if wanted[s][x.Partition(i)] {
				n++
			}
		}
	}
	fold := spec.NewLive(l.sets, n)
	for s, x := range l.sets {
		want := wanted[s]
		for i := range x.Len() {
			if want != nil && !want[x.Partition(i)] || keep.level > 0 && x.Level(i) != keep.level || keep.above0 && x.Level(i) == 0 ||
				keep.visible && x.Bucket(i) == spec.PostponeBucket {
				continue
			}
			if err := fold.Add(s, i); err != nil {
				return nil, st.src.vanished(st.snap, kept[s].FileName, err)
			}
		}
	}
	if l.files, err = fold.Files(); err != nil {
		return nil, st.src.vanished(st.snap, "manifest", err)
	}
	return l, nil
}

// Entries returns the live data files, in the order in which they were added.
// They must not be changed.
func (st *State) Entries(ctx context.Context) ([]spec.ManifestEntry, error) {
	l, err := st.live(ctx, entryFilter{})
	if err != nil {
		return nil, err
	}
	out := make([]spec.ManifestEntry, len(l.files))
	for i, r := range l.files {
		l.sets[r.Set].Entry(int(r.Index), &out[i])
	}
	return out, nil
}

// EachEntry calls f with every entry of every manifest, in order, additions and
// deletions alike. f must not keep or change the entry.
func (st *State) EachEntry(ctx context.Context, f func(e *spec.ManifestEntry)) error {
	metas, err := st.ManifestMetas(ctx)
	if err != nil {
		return err
	}
	var e spec.ManifestEntry
	for i := range metas {
		x, err := st.manifest(ctx, &metas[i])
		if err != nil {
			return err
		}
		for j := range x.Len() {
			x.Entry(j, &e)
			f(&e)
		}
	}
	return nil
}

// bucket is the live files of one bucket of one partition.
type bucket struct {
	partition spec.BinaryRow
	id        int32
	refs      []spec.Ref
	files     []*spec.ManifestEntry // of refs, when opened
}

// buckets returns the live files by partition and bucket, in the order of their
// first file, after checking that all of them can be read. Files whose rows are
// not visible are left out.
func (st *State) buckets(ctx context.Context, part *partitionFilter, g *merge.Rules) (*liveFiles, []*bucket, error) {
	// Postponed files, and others as the table says, are not visible to batch
	// reads until they were compacted.
	l, err := st.live(ctx, entryFilter{partitions: part, level: st.level, above0: st.level0 == hideLevel0 || st.level0 == level0AsTable && g.SkipLevel0, visible: true})
	if err != nil {
		return nil, nil, err
	}
	if st.createdFrom != nil {
		l.files = slices.DeleteFunc(l.files, func(r spec.Ref) bool { return !madeFrom(l.entry(r), *st.createdFrom, st.src.Zone) })
	}
	if err := l.hold(st, part); err != nil {
		return nil, nil, err
	}
	out, err := st.byBucket(ctx, l)
	return l, out, err
}

// byBucket groups files by partition and bucket, in the order of their first
// file, after checking that all of them can be read.
func (st *State) byBucket(ctx context.Context, l *liveFiles) ([]*bucket, error) {
	if err := st.refuseFiles(ctx, l); err != nil {
		return nil, err
	}
	partitions := map[string]uint64{}
	numbers := make([][]uint64, len(l.sets))
	for s, x := range l.sets {
		for _, row := range x.Partitions() {
			n, ok := partitions[string(row)]
			if !ok {
				n = uint64(len(partitions))
				partitions[string(row)] = n
			}
			numbers[s] = append(numbers[s], n)
		}
	}
	// Files are counted first, so that their references take the memory they need.
	index := map[uint64]uint32{}
	var out []*bucket
	var counts []int
	of := make([]uint32, len(l.files)) // bucket by file
	last, lastKey := uint32(0), ^uint64(0)
	for n, r := range l.files {
		x, i := l.sets[r.Set], int(r.Index)
		k := numbers[r.Set][x.Partition(i)]<<32 | uint64(uint32(x.Bucket(i)))
		if k != lastKey {
			b, ok := index[k]
			if !ok {
				b = uint32(len(out))
				index[k] = b
				out = append(out, &bucket{partition: x.Partitions()[x.Partition(i)], id: x.Bucket(i)})
				counts = append(counts, 0)
			}
			last, lastKey = b, k
		}
		of[n] = last
		counts[last]++
	}
	slab := make([]spec.Ref, len(l.files))
	for i, b := range out {
		b.refs, slab = slab[:0:counts[i]], slab[counts[i]:]
	}
	for n, r := range l.files {
		b := out[of[n]]
		b.refs = append(b.refs, r)
	}
	return out, nil
}

// refuseFiles refuses files that cannot be read, each kind of them looked at
// once.
func (st *State) refuseFiles(ctx context.Context, l *liveFiles) error {
	type kind struct {
		set   uint32
		shape int
	}
	seen := map[kind]bool{}
	var last kind
	for n, r := range l.files {
		x := l.sets[r.Set]
		k := kind{r.Set, x.Shape(int(r.Index))} // the format is part of the shape
		if n > 0 && k == last || seen[k] {
			continue
		}
		last, seen[k] = k, true
		e := l.entry(r)
		from, err := l.schemaOf(ctx, st.src, e.File.SchemaID)
		if err != nil {
			return err
		}
		if err := st.src.refuseFile(from, e); err != nil {
			return err
		}
	}
	return nil
}

// open makes the entries of a bucket's files, without statistics.
func (b *bucket) open(l *liveFiles) {
	if b.files == nil {
		b.files = l.entries(b.refs)
	}
}

// entries returns the entries of files, without statistics.
func (l *liveFiles) entries(refs []spec.Ref) []*spec.ManifestEntry {
	slab := make([]spec.ManifestEntry, len(refs))
	out := make([]*spec.ManifestEntry, len(refs))
	for i, r := range refs {
		l.sets[r.Set].Brief(int(r.Index), &slab[i])
		out[i] = &slab[i]
	}
	return out
}
