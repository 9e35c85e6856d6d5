package write

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// marks is the deleted rows of a data file, a bit each.
type marks struct {
	words []uint64
	n     int64
}

func (m *marks) set(i int64) (fresh bool) {
	w := &m.words[i/64]
	if *w>>(i%64)&1 != 0 {
		return false
	}
	*w |= 1 << (i % 64)
	m.n++
	return true
}

func (m *marks) has(i int64) bool { return m.words[i/64]>>(i%64)&1 != 0 }

// or adds a word of bits.
func (m *marks) or(i int, word uint64) {
	m.n += int64(bits.OnesCount64(word &^ m.words[i]))
	m.words[i] |= word
}

// positions lists the marked rows.
func (m *marks) positions() []uint32 {
	out := make([]uint32, 0, m.n)
	for i, w := range m.words {
		for ; w != 0; w &= w - 1 {
			out = append(out, uint32(64*i+bits.TrailingZeros64(w)))
		}
	}
	return out
}

// vectorFiles writes deletion vectors of one bucket into index files.
type vectorFiles struct {
	w         *Writer
	partition spec.BinaryRow
	bucket    int32
	target    int64 // bytes after which another file is begun, 0: never
	names     *spec.Namer
	buf       []byte
	ranges    []spec.IndexRange
	done      []spec.IndexEntry
}

func (w *Writer) newVectorFiles(partition spec.BinaryRow, bucket int32, target int64) *vectorFiles {
	return &vectorFiles{w: w, partition: partition, bucket: bucket, target: target, names: spec.NewNamer()}
}

// add adds the deletion vector of a data file.
func (v *vectorFiles) add(ctx context.Context, file string, m *marks) error {
	v.begin()
	var r spec.IndexRange
	v.buf, r = spec.AppendDeletionVector(v.buf, file, m.positions(), v.w.opts.bitmap64)
	v.ranges = append(v.ranges, r)
	return v.roll(ctx)
}

// copy adds a block as another index file has it.
func (v *vectorFiles) copy(ctx context.Context, block []byte, r spec.IndexRange) error {
	v.begin()
	r.Offset = int32(len(v.buf))
	v.buf = append(v.buf, block...)
	v.ranges = append(v.ranges, r)
	return v.roll(ctx)
}

func (v *vectorFiles) begin() {
	if len(v.buf) == 0 {
		v.buf = append(v.buf, spec.DeletionFileVersion)
	}
}

func (v *vectorFiles) roll(ctx context.Context) error {
	if v.target > 0 && int64(len(v.buf)) >= v.target {
		return v.flush(ctx)
	}
	return nil
}

// flush writes what was added as a file.
func (v *vectorFiles) flush(ctx context.Context) error {
	if len(v.ranges) == 0 {
		return nil
	}
	e := spec.IndexEntry{Partition: v.partition, Bucket: v.bucket, IndexType: spec.IndexDeletionVectors, FileName: v.names.Index(),
		FileSize: int64(len(v.buf)), RowCount: int64(len(v.ranges)), Ranges: spec.Some(v.ranges)}
	if err := v.w.writeIndex(ctx, &e, v.buf); err != nil {
		return err
	}
	v.done = append(v.done, e)
	v.buf, v.ranges = nil, nil
	return nil
}

// writeIndex writes an index file.
func (w *Writer) writeIndex(ctx context.Context, e *spec.IndexEntry, b []byte) error {
	path, err := w.cfg.Paths.IndexFile(e)
	if err != nil {
		return err
	}
	f, err := w.cfg.Files.Create(ctx, path)
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		return errors.Join(err, f.Abort())
	}
	return f.Close()
}

// removeIndexes deletes index files that nobody will commit.
func (w *Writer) removeIndexes(ctx context.Context, list []spec.IndexEntry) error {
	ctx = context.WithoutCancel(ctx)
	var all error
	for i := range list {
		path, err := w.cfg.Paths.IndexFile(&list[i])
		if err == nil {
			err = w.cfg.Files.Remove(ctx, path)
		}
		all = errors.Join(all, err)
	}
	return all
}

// vectorBlock reads the block of a deletion vector, from its size to its checksum.
func (w *Writer) vectorBlock(ctx context.Context, e *spec.IndexEntry, r *spec.IndexRange) ([]byte, error) {
	path, err := w.cfg.Paths.IndexFile(e)
	if err != nil {
		return nil, err
	}
	f, err := w.cfg.Files.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	offset, length := r.DeletionBlock()
	length = min(length, f.Size()-offset)
	if offset < 0 || length < 12 {
		return nil, errs.Corruptf("read the deletion vector of %s: %s ends before it", r.DataFile, path)
	}
	b := make([]byte, length)
	if n, err := f.ReadAt(b, offset); err != nil && (err != io.EOF || n < len(b)) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	size := int64(binary.BigEndian.Uint32(b)) + 8
	if size > length {
		return nil, errs.Corruptf("read the deletion vector of %s: it states %d bytes of %d", r.DataFile, size, length)
	}
	return b[:size], nil
}
