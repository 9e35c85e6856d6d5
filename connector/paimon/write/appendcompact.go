package write

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// appendPlace is the files of one bucket of an append table.
type appendPlace struct {
	k     *bucket
	files []spec.ManifestEntry
}

// compactAppend joins small files of an append table, and writes files anew of
// whose rows many are deleted (Java's AppendCompactCoordinator and
// BucketedAppendCompactManager).
func (w *Writer) compactAppend(ctx context.Context, o CompactOptions) ([]connector.CommitMessage, error) {
	snap, err := w.store.Latest(ctx)
	if err != nil || snap == nil {
		return nil, err
	}
	list, err := w.places(ctx, snap, o)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	places := map[*bucket]*appendPlace{}
	for _, k := range list {
		places[k] = &appendPlace{k: k}
	}
	live, err := w.store.Live(ctx, snap, nil, func(e *spec.ManifestEntry) bool { return places[w.bucketAt(e.Partition, e.Bucket)] != nil })
	if err != nil {
		return nil, err
	}
	for i := range live {
		p := places[w.bucketAt(live[i].Partition, live[i].Bucket)]
		p.files = append(p.files, live[i])
	}
	index, err := w.store.Index(ctx, snap)
	if err != nil {
		return nil, err
	}
	st := read.NewState(w.source(), snap, w.cfg.Schema)
	if w.opts.tracking {
		st = st.RowTracking()
	}
	columns := make([]int, len(w.types))
	for i := range columns {
		columns[i] = i
	}
	opener, err := st.NewOpener(ctx, columns, w.cfg.Budget)
	if err != nil {
		return nil, err
	}
	var out []connector.CommitMessage
	for _, k := range list {
		m, err := w.compactPlace(ctx, snap, places[k], index, opener, o)
		if err != nil {
			return nil, errors.Join(err, w.abandon(out))
		}
		if m != nil {
			out = append(out, m)
			if len(out) == o.Limit {
				break
			}
		}
	}
	return out, nil
}

// bins chooses the files of a bucket that are written together. gone is how many
// rows of a file are deleted.
func (w *Writer) bins(p *appendPlace, gone map[string]int64, full bool) [][]spec.ManifestEntry {
	small := int64(float64(w.opts.target) * w.opts.smallRatio)
	pick := func(f *spec.DataFileMeta) bool {
		n := gone[f.FileName]
		return f.FileSize < small || n > 0 && (full || float64(n) > w.opts.deleteRatio*float64(f.RowCount))
	}
	files := slices.Clone(p.files)
	ordered := p.k.bucket >= 0 && p.k.total > 0 // rows keep their order
	slices.SortStableFunc(files, func(a, b spec.ManifestEntry) int {
		if ordered {
			return cmp.Compare(a.File.MinSequence, b.File.MinSequence)
		}
		return cmp.Compare(a.File.FileSize, b.File.FileSize)
	})
	var out [][]spec.ManifestEntry
	var bin []spec.ManifestEntry
	var size int64
	emit := func(always bool) {
		dirty := slices.ContainsFunc(bin, func(e spec.ManifestEntry) bool { return gone[e.File.FileName] > 0 })
		if always && len(bin) > 1 || len(bin) >= w.opts.minFiles || full && len(bin) > 1 || dirty {
			out = append(out, bin)
		}
		bin, size = nil, 0
	}
	for i := range files {
		f := &files[i].File
		if !pick(f) {
			if ordered {
				emit(false)
			}
			continue
		}
		bin = append(bin, files[i])
		size += f.FileSize
		if len(bin) > 1 && size >= 2*w.opts.target {
			emit(true)
		}
	}
	emit(false)
	return out
}

// compactPlace compacts one bucket; nil when there is nothing to do, or another
// compaction is at it.
func (w *Writer) compactPlace(ctx context.Context, snap *spec.Snapshot, p *appendPlace, index []spec.IndexEntry, opener *read.Opener, o CompactOptions) (*commit.Message, error) {
	release, err := w.cfg.Registry.compact(ctx, w.cfg.Paths, p.k, o.Full)
	if err != nil || release == nil {
		return nil, err
	}
	defer release()
	gone := map[string]int64{}
	var own []spec.IndexEntry
	for _, e := range index {
		if e.IndexType != spec.IndexDeletionVectors || e.Bucket != p.k.bucket || string(e.Partition) != string(p.k.partition) {
			continue
		}
		own = append(own, e)
		for _, r := range e.Ranges.V {
			gone[r.DataFile] = max(r.Cardinality.V, 1)
		}
	}
	bins := w.bins(p, gone, o.Full)
	if len(bins) == 0 {
		return nil, nil
	}
	if err := w.cfg.Budget.Reserve(appendGroupBytes); err != nil {
		return nil, err
	}
	defer w.cfg.Budget.Release(appendGroupBytes)
	m := &commit.Message{Partition: p.k.partition, Bucket: p.k.bucket, TotalBuckets: p.k.total, Base: snap.ID}
	for _, bin := range bins {
		if err := w.join(ctx, p.k, bin, opener, m); err != nil {
			return nil, errors.Join(err, w.abandon([]connector.CommitMessage{m}))
		}
	}
	if err := w.dropVectors(ctx, p.k, own, m); err != nil {
		return nil, errors.Join(err, w.abandon([]connector.CommitMessage{m}))
	}
	return m, nil
}

// join writes the rows of files, in their order, into new ones.
func (w *Writer) join(ctx context.Context, k *bucket, bin []spec.ManifestEntry, opener *read.Opener, m *commit.Message) error {
	sh := w.shapes.data
	if w.opts.tracking {
		var err error
		if sh, err = w.trackedShape(); err != nil {
			return err
		}
	}
	out := w.newRolling(k, sh, 0, spec.SourceCompact)
	seq := bin[0].File.MinSequence
	err := func() error {
		for i := range bin {
			r, err := opener.OpenAppend(ctx, &bin[i])
			if err != nil {
				return err
			}
			seq, err = w.copyRows(ctx, r, out, seq)
			if err := errors.Join(err, r.Close()); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil {
		m.CompactAfter = append(m.CompactAfter, out.abort()...)
		return err
	}
	done, err := out.finish(ctx)
	m.CompactAfter = append(m.CompactAfter, done...)
	for i := range bin {
		m.CompactBefore = append(m.CompactBefore, bin[i].File)
	}
	return err
}

// copyRows writes all rows of a reader, numbered from seq on, and returns the
// number after the last.
func (w *Writer) copyRows(ctx context.Context, r connector.BatchReader, out *rolling, seq int64) (int64, error) {
	var sel []uint16
	for {
		b, err := r.Next(ctx)
		if err != nil || b == nil {
			return seq, err
		}
		sel = sel[:0]
		for i := range b.Rows() {
			sel = append(sel, uint16(b.Row(i)))
		}
		for at := 0; at < len(sel); at += fileRows {
			part := (&vector.Batch{Len: b.Len, Sel: sel[at:min(at+fileRows, len(sel))], Cols: b.Cols, Seq: -1}).Compact()
			if err := out.write(ctx, part, nil, nil, seq); err != nil {
				return seq, err
			}
			seq += int64(part.Len)
		}
	}
}

// dropVectors writes the deletion vectors that stay of the index files that have
// some of the compacted files.
func (w *Writer) dropVectors(ctx context.Context, k *bucket, own []spec.IndexEntry, m *commit.Message) error {
	gone := map[string]bool{}
	for _, f := range m.CompactBefore {
		gone[f.FileName] = true
	}
	target := w.opts.indexTarget
	if k.total > 0 {
		target = 0
	}
	out := w.newVectorFiles(k.partition, k.bucket, target)
	defer func() { m.CompactIndex.New = out.done }()
	for i := range own {
		e := &own[i]
		if !slices.ContainsFunc(e.Ranges.V, func(r spec.IndexRange) bool { return gone[r.DataFile] }) {
			continue
		}
		m.CompactIndex.Deleted = append(m.CompactIndex.Deleted, *e)
		for j := range e.Ranges.V {
			r := &e.Ranges.V[j]
			if gone[r.DataFile] {
				continue
			}
			block, err := w.vectorBlock(ctx, e, r)
			if err != nil {
				return err
			}
			if err := out.copy(ctx, block, *r); err != nil {
				return err
			}
		}
	}
	return out.flush(ctx)
}
