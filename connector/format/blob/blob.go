// Package blob reads Paimon's files of BLOB values: one column, each value as it
// is, for objects too large for the pages of other formats.
//
//	entry    magic 1481511375 (int32, little-endian) | the value's bytes |
//	         length of the whole entry (int64) | CRC-32 of all before it (int32)
//	…
//	index    the entries' lengths, each as the zigzag varint of the difference to
//	         the one before; −1 is NULL and −2 a value that an older file has,
//	         both without an entry
//	footer   length of the index (int32) | version 1 (byte)
//
// A value's checksum is verified when it is read. Placeholders (−2) are refused
// by name.
//
// Start reading at Format.
package blob

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

const (
	magic       = 1481511375
	version     = 1
	footer      = 5
	overhead    = 4 + 8 + 4 // of an entry
	null        = -1
	placeholder = -2
)

// batchBytes is what a batch's values may take together, unless one value is
// larger.
const batchBytes = 8 << 20

// Format implements format.Format for reading. The zero value is ready to use.
type Format struct{}

var _ format.ReadOnly = Format{}

// Name implements format.Format.
func (Format) Name() string { return "blob" }

// ReadOnly implements format.ReadOnly.
func (Format) ReadOnly() {}

// NewWriter refuses: BLOB values are read only.
func (f Format) NewWriter(_ context.Context, w fileio.Writer, opts format.WriteOptions) (format.Writer, error) {
	return format.Refuse(f, w, opts.Path)
}

// Describe implements format.Format. The column's name is not in the file.
func (Format) Describe(_ context.Context, f fileio.File, path string) (*format.Description, error) {
	lengths, err := index(f, path, nil)
	if err != nil {
		return nil, err
	}
	return &format.Description{Format: "blob", Rows: int64(len(lengths)), Size: f.Size(),
		Columns:   []format.Column{{Name: "value", Type: catalog.Type{Kind: catalog.Blob}}},
		RowGroups: []format.RowGroup{{Rows: int64(len(lengths)), Bytes: f.Size(), Compression: "none"}}}, nil
}

// index reads the lengths of the entries and checks that they fill the file.
func index(f fileio.File, path string, budget *memory.Budget) ([]int64, error) {
	corrupt := func(format string, args ...any) error {
		return errs.Corruptf("read %s: broken BLOB file: "+format, append([]any{path}, args...)...)
	}
	size := f.Size()
	if size < footer {
		return nil, corrupt("it has %d bytes", size)
	}
	var tail [footer]byte
	if err := format.ReadFull(f, path, tail[:], size-footer); err != nil {
		return nil, err
	}
	if tail[4] != version {
		return nil, errs.Unsupportedf(-1, "version %d of BLOB files (%s)", tail[4], path)
	}
	n := int64(int32(binary.LittleEndian.Uint32(tail[:])))
	if n < 0 || n > size-footer {
		return nil, corrupt("an index of %d bytes at byte %d", n, size-footer)
	}
	if err := budget.Reserve(9 * n); err != nil { // the caller keeps 8 bytes an entry
		return nil, err
	}
	b := make([]byte, n)
	if err := format.ReadFull(f, path, b, size-footer-n); err != nil {
		budget.Release(9 * n)
		return nil, err
	}
	lengths := make([]int64, 0, n)
	total, last := int64(0), int64(0)
	fail := func(err error) ([]int64, error) {
		budget.Release(9 * n)
		return nil, err
	}
	for at := 0; at < len(b); {
		d, k := binary.Varint(b[at:])
		if k <= 0 {
			return fail(corrupt("an index with a number that does not end, at byte %d", size-footer-n+int64(at)))
		}
		at += k
		last += d
		switch {
		case last == null || last == placeholder:
		case last < overhead || last > size-total:
			return fail(corrupt("entry %d has %d bytes", len(lengths), last))
		default:
			total += last
		}
		lengths = append(lengths, last)
	}
	if total != size-footer-n {
		return fail(corrupt("its %d entries have %d bytes, there are %d", len(lengths), total, size-footer-n))
	}
	budget.Release(9*n - 8*int64(len(lengths)))
	return lengths, nil
}

// NewReader implements format.Format. It reads the one column, whatever its
// name; statistics there are none.
func (Format) NewReader(_ context.Context, f fileio.File, opts format.ReadOptions) (format.Reader, error) {
	fail := func(err error) (format.Reader, error) {
		if cerr := f.Close(); cerr != nil {
			return nil, errors.Join(err, cerr)
		}
		return nil, err
	}
	for _, c := range opts.Columns {
		if k := c.Type.Kind; k != catalog.Blob {
			return fail(errs.Unsupportedf(-1, "reading the type %s from BLOB files (column %q of %s)", c.Type, c.Name, opts.Path))
		}
	}
	lengths, err := index(f, opts.Path, opts.Budget)
	if err != nil {
		return fail(err)
	}
	r := &reader{f: f, opts: opts, lengths: lengths, rows: opts.BatchRows}
	if r.rows <= 0 || r.rows > vector.MaxBatchRows {
		r.rows = vector.BatchRows
	}
	if opts.Part > 0 {
		r.next = len(lengths) // the first part has all
	}
	return r, nil
}

type reader struct {
	f       fileio.File
	opts    format.ReadOptions
	lengths []int64
	rows    int
	next    int   // row
	offset  int64 // of its entry
	paid    int64 // for the batch
	closed  bool
}

// Rows implements format.Reader.
func (r *reader) Rows() int64 { return int64(len(r.lengths)) }

// Next implements connector.BatchReader.
func (r *reader) Next(ctx context.Context) (*vector.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.opts.Budget.Release(r.paid)
	r.paid = 0
	n, bytes := 0, int64(0)
	for r.next+n < len(r.lengths) && n < r.rows {
		l := max(r.lengths[r.next+n], 0)
		if n > 0 && bytes+l > batchBytes {
			break
		}
		bytes += l
		n++
	}
	if n == 0 {
		return nil, nil
	}
	if len(r.opts.Columns) > 0 {
		if err := r.opts.Budget.Reserve(2 * bytes); err != nil {
			return nil, err
		}
		r.paid = 2 * bytes
	}
	out := &vector.Batch{Len: n, Seq: int64(r.next)}
	var v *vector.Vec
	if len(r.opts.Columns) > 0 {
		v = vector.New(vector.Str, n)
		for range r.opts.Columns {
			out.Cols = append(out.Cols, v)
		}
	}
	for i := range n {
		l := r.lengths[r.next+i]
		switch {
		case v == nil:
		case l == null:
			v.AppendNull()
		case l == placeholder:
			return nil, errs.Unsupportedf(-1, "BLOB values that an older file has (%s)", r.opts.Path)
		default:
			b := make([]byte, l)
			if err := format.ReadFull(r.f, r.opts.Path, b, r.offset); err != nil {
				return nil, err
			}
			le := binary.LittleEndian
			if le.Uint32(b) != magic || int64(le.Uint64(b[l-12:])) != l || le.Uint32(b[l-4:]) != crc32.ChecksumIEEE(b[:l-4]) {
				return nil, errs.Corruptf("read %s: broken BLOB file: the entry of row %d at byte %d does not match its checksum", r.opts.Path, r.next+i, r.offset)
			}
			v.AppendBytes(b[4 : l-12])
		}
		r.offset += max(l, 0)
	}
	r.next += n
	return out, nil
}

// Close implements connector.BatchReader.
func (r *reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.opts.Budget.Release(r.paid + 8*int64(len(r.lengths)))
	return r.f.Close()
}
