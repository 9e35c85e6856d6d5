// Package spill keeps rows of a running query in temporary files, for operators
// whose rows do not fit their memory.
//
// A Scope is what one query spills. A Writer takes batches, each for a partition,
// from any number of goroutines; finished, it is a File, whose partitions are read
// in an order that the writers gave, not in the one in which they happened to
// write.
//
// Invariants. Files have no names (fileio.Scratch): they are gone when their scope
// is closed or the process ends, whatever happened. The index of a file, some 40
// bytes a batch, stays in memory.
//
// Start reading at Scope, then Writer; block.go has the layout.
package spill

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Scope is what one query spills. It is safe for concurrent use.
type Scope struct {
	files   *fileio.Scratch
	written atomic.Int64

	mu     sync.Mutex
	open   map[*fileio.TempFile]struct{}
	closed bool
}

// NewScope starts a scope in a folder of temporary files.
func NewScope(files *fileio.Scratch) *Scope {
	return &Scope{files: files, open: map[*fileio.TempFile]struct{}{}}
}

// Written returns the bytes that were ever written.
func (s *Scope) Written() int64 {
	if s == nil {
		return 0
	}
	return s.written.Load()
}

// Close removes all files of the scope. Nobody may use them any more.
func (s *Scope) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var first error
	for f := range s.open {
		if err := f.Close(); first == nil {
			first = err
		}
	}
	clear(s.open)
	return first
}

// Writer writes one file. It is safe for concurrent use.
type Writer struct {
	scope *Scope

	mu     sync.Mutex
	out    *fileio.TempFile
	blocks []block
	failed error
}

// block is where a batch is.
type block struct {
	key    Key
	offset int64
	size   int32
	raw    int32
	rows   int32
}

// Key says where a batch belongs.
type Key struct {
	// Part is the partition.
	Part int
	// Order sorts the batches of a partition; those of one Order stay in the order
	// in which they were written.
	Order uint64
	// Tag is given back with the batch.
	Tag int
}

// Create starts a file.
func (s *Scope) Create(ctx context.Context) (*Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errs.Internalf("spill rows: the query has ended")
	}
	out, err := s.files.Create(ctx)
	if err != nil {
		return nil, fmt.Errorf("spill rows: %w", err)
	}
	s.open[out] = struct{}{}
	return &Writer{scope: s, out: out}, nil
}

// buffers of writing and reading blocks.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

type buffer struct{ raw, packed []byte }

// Append writes the rows of b that count. It keeps nothing of b.
func (w *Writer) Append(ctx context.Context, k Key, b *vector.Batch) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if b.Rows() == 0 {
		return nil
	}
	buf := buffers.Get().(*buffer)
	defer buffers.Put(buf)
	buf.packed, buf.raw = appendBlock(buf.packed[:0], buf.raw, b)
	if len(buf.packed) > 1<<31-1 {
		return errs.New(errs.Resource, errs.DiskLimit, "spill rows: a batch has more than 2 GiB")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return w.failed
	}
	at := w.out.Size()
	if _, err := w.out.Write(buf.packed); err != nil {
		w.failed = fmt.Errorf("spill rows: %w", err)
		return w.failed
	}
	w.blocks = append(w.blocks, block{key: k, offset: at, size: int32(len(buf.packed)), raw: int32(len(buf.raw)), rows: int32(b.Rows())})
	w.scope.written.Add(int64(len(buf.packed)))
	return nil
}

// Finish ends writing.
func (w *Writer) Finish() (*File, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return nil, w.failed
	}
	w.failed = errs.Internalf("spill rows: the file is finished")
	f := &File{scope: w.scope, in: w.out, parts: map[int][]block{}}
	for _, b := range w.blocks {
		f.parts[b.key.Part] = append(f.parts[b.key.Part], b)
	}
	for _, p := range f.parts {
		slices.SortStableFunc(p, func(a, b block) int { return cmp.Compare(a.key.Order, b.key.Order) })
	}
	return f, nil
}

// File is a finished file. It is safe for concurrent use, but for Close.
type File struct {
	scope *Scope
	in    *fileio.TempFile
	parts map[int][]block
}

// Rows returns the rows of a partition that were written with a tag.
func (f *File) Rows(part, tag int) (n int64) {
	for _, b := range f.parts[part] {
		if b.key.Tag == tag {
			n += int64(b.rows)
		}
	}
	return n
}

// Bytes returns the unpacked bytes of a partition's batches with a tag.
func (f *File) Bytes(part, tag int) (n int64) {
	for _, b := range f.parts[part] {
		if b.key.Tag == tag {
			n += int64(b.raw)
		}
	}
	return n
}

// Empty reports whether a partition has no rows.
func (f *File) Empty(part int) bool { return len(f.parts[part]) == 0 }

// Size returns the bytes on disk.
func (f *File) Size() int64 { return f.in.Size() }

// Close removes the file. A second call does nothing.
func (f *File) Close() error {
	if f == nil {
		return nil
	}
	f.scope.mu.Lock()
	defer f.scope.mu.Unlock()
	if _, ok := f.scope.open[f.in]; !ok {
		return nil
	}
	delete(f.scope.open, f.in)
	return f.in.Close()
}

// Reader reads one partition, batch by batch. It belongs to one goroutine.
type Reader struct {
	f      *File
	blocks []block
}

// Reader starts reading a partition.
func (f *File) Reader(part int) *Reader { return &Reader{f: f, blocks: f.parts[part]} }

// Tagged starts reading the batches of a partition that have a tag.
func (f *File) Tagged(part, tag int) *Reader {
	r := &Reader{f: f}
	for _, b := range f.parts[part] {
		if b.key.Tag == tag {
			r.blocks = append(r.blocks, b)
		}
	}
	return r
}

// At reads the i-th batch of a partition, which the caller owns.
func (f *File) At(ctx context.Context, part, i int) (*vector.Batch, error) {
	r := Reader{f: f, blocks: f.parts[part][i : i+1]}
	b, _, err := r.Next(ctx)
	return b, err
}

// Next returns the next batch, which the caller owns, and its key; nil at the
// end.
func (r *Reader) Next(ctx context.Context) (*vector.Batch, Key, error) {
	if ctx.Err() != nil {
		return nil, Key{}, context.Cause(ctx)
	}
	if len(r.blocks) == 0 {
		return nil, Key{}, nil
	}
	at := r.blocks[0]
	r.blocks = r.blocks[1:]
	buf := buffers.Get().(*buffer)
	defer buffers.Put(buf)
	if cap(buf.packed) < int(at.size) {
		buf.packed = make([]byte, at.size)
	}
	data := buf.packed[:at.size]
	if _, err := r.f.in.ReadAt(data, at.offset); err != nil {
		return nil, Key{}, fmt.Errorf("read spilled rows: %w", err)
	}
	b, err := decodeBlock(data)
	if err != nil {
		return nil, Key{}, err
	}
	return b, at.key, nil
}
