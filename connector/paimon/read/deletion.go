package read

import (
	"context"
	"fmt"
	"io"
	"math/bits"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/roaring"
	"github.com/thermocline/thermocline/internal/vector"
)

// deletions says which data files of a state have a deletion vector, and where.
type deletions map[string]deletionRef

type deletionRef struct {
	path  string // of the index file
	entry string // its name
	r     spec.IndexRange
}

// deletions reads which files have deletion vectors from the index manifest.
func (st *State) deletions(ctx context.Context) (deletions, error) {
	entries, err := st.Indexes(ctx)
	if err != nil {
		return nil, err
	}
	var out deletions
	paths := st.src.paths(st.schema)
	inData := spec.NewOptions(st.schema.Options).Bool("index-file-in-data-file-dir", false)
	for i := range entries {
		e := &entries[i]
		if e.IndexType != spec.IndexDeletionVectors {
			continue
		}
		if out == nil {
			out = deletions{}
		}
		path := paths.Index(e.FileName)
		switch {
		case e.ExternalPath.OK:
			path = LocalPath(e.ExternalPath.V)
		case inData:
			dir, err := paths.BucketDir(e.Partition, e.Bucket)
			if err != nil {
				return nil, st.src.vanished(st.snap, e.FileName, err)
			}
			path = dir + "/" + e.FileName
		}
		for _, r := range e.Ranges.V {
			if _, twice := out[r.DataFile]; twice {
				return nil, errs.Corruptf("table %s, snapshot %d: the file %s has two deletion vectors", st.src.Name, st.snap.ID, r.DataFile)
			}
			out[r.DataFile] = deletionRef{path, e.FileName, r}
		}
	}
	return out, nil
}

// openDeletions reads the deletion vector of a data file, nil when it has none.
// The caller releases the bitmap's Bytes to the scan's budget.
func (sc *scan) openDeletions(ctx context.Context, e *spec.ManifestEntry) (*roaring.Bitmap, error) {
	ref, ok := sc.deletions[e.File.FileName]
	if !ok {
		return nil, nil
	}
	fail := func(err error) (*roaring.Bitmap, error) { return nil, sc.st.src.vanished(sc.st.snap, ref.path, err) }
	offset, length := ref.r.DeletionBlock()
	f, err := sc.st.src.Files.Open(ctx, ref.path)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	length = min(length, f.Size()-offset)
	if offset < 0 || length < 0 {
		return fail(errs.Corruptf("read the deletion vector of %s: %s ends before it", ref.r.DataFile, ref.path))
	}
	if err := sc.req.Budget.Reserve(length); err != nil {
		return nil, err
	}
	defer sc.req.Budget.Release(length)
	block := make([]byte, length)
	if n, err := f.ReadAt(block, offset); err != nil && (err != io.EOF || n < len(block)) {
		return fail(fmt.Errorf("read %s: %w", ref.path, err))
	}
	m, err := spec.ReadDeletionVector(block, &ref.r)
	if err != nil {
		return fail(fmt.Errorf("%s: %w", ref.path, err))
	}
	if m.Max() >= e.File.RowCount {
		return fail(errs.Corruptf("%s: the deletion vector of %s has position %d, the file has %d rows", ref.path, ref.r.DataFile, m.Max(), e.File.RowCount))
	}
	if err := sc.req.Budget.Reserve(m.Bytes()); err != nil {
		return nil, err
	}
	return m, nil
}

// deleter turns a deletion vector into the selections of batches.
type deleter struct {
	m    *roaring.Bitmap
	mask []uint64
	sel  []uint16
}

// apply selects the rows of b that are not deleted; b has no selection yet.
func (d *deleter) apply(b *vector.Batch) {
	n := (b.Len + 63) / 64
	if len(d.mask) < n {
		d.mask = make([]uint64, n)
		d.sel = make([]uint16, 0, b.Len) // a nil selection would mean all rows
	}
	if d.m.Mask(d.mask[:n], b.Seq, b.Len) == 0 {
		return
	}
	d.sel = d.sel[:0]
	for w := range n {
		live := ^d.mask[w]
		d.mask[w] = 0
		if k := b.Len - 64*w; k < 64 {
			live &= 1<<k - 1
		}
		for ; live != 0; live &= live - 1 {
			d.sel = append(d.sel, uint16(64*w+bits.TrailingZeros64(live)))
		}
	}
	b.Sel = d.sel
}
