package parquet

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Shape of written files. Small pages make the page index useful; a row group is
// what is buffered, in compressed pages, until it is written.
const (
	writePageBytes     = 256 << 10
	writeRowGroupBytes = 64 << 20
	writeRowGroupRows  = 1 << 20
)

// writer implements format.Writer.
type writer struct {
	opts  format.WriteOptions
	props []parquet.WriterProperty
	root  *schema.GroupNode
	sink  fileio.Writer
	pw    *pqfile.Writer                // nil until the first rows are there, or the end
	group pqfile.BufferedRowGroupWriter // nil between row groups
	cols  []*writeColumn
	leafs []*writeLeaf

	rows      int64
	groupRows int64
	held      int64
	err       error // an error stays
	done      bool
}

// NewWriter implements format.Format.
func (Format) NewWriter(ctx context.Context, sink fileio.Writer, opts format.WriteOptions) (_ format.Writer, err error) {
	w := &writer{opts: opts, sink: sink}
	defer func() {
		if err != nil {
			err = errors.Join(err, sink.Abort())
		}
	}()
	defer w.guard(&err)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	codec, level, err := codecOf(opts)
	if err != nil {
		return nil, err
	}
	root, err := w.buildSchema()
	if err != nil {
		return nil, err
	}
	if w.opts.RowGroupBytes <= 0 {
		w.opts.RowGroupBytes = writeRowGroupBytes
	}
	props := []parquet.WriterProperty{
		parquet.WithVersion(parquet.V2_LATEST),
		parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithDataPageSize(writePageBytes),
		parquet.WithCompression(codec),
		parquet.WithCompressionLevel(level),
		parquet.WithPageIndexEnabled(true),
		parquet.WithRootName(rootName),
		parquet.WithCreatedBy("thermocline (arrow-go)"),
	}
	w.props, w.root = props, root
	return w, nil
}

// start begins the file. Columns whose values are mostly unique among the first
// rows get no dictionary; others lose it when it turns out not to pay.
func (w *writer) start(first *vector.Batch) (err error) {
	for i, c := range w.opts.Columns {
		w.props = append(w.props, parquet.WithDictionaryCostFallbackFor(c.Name, true))
		if first != nil && unique(first.Cols[i]) {
			w.props = append(w.props, parquet.WithDictionaryFor(c.Name, false))
		}
	}
	w.pw, err = pqfile.NewParquetWriterWithError(w.sink, w.root, pqfile.WithWriterProps(parquet.NewWriterProperties(w.props...)))
	if err != nil {
		return fmt.Errorf("write %s: %w", w.opts.Path, err)
	}
	return nil
}

func codecOf(opts format.WriteOptions) (compress.Compression, int, error) {
	level := opts.Level
	switch opts.Compression {
	case "", "zstd":
		if level == 0 {
			level = 1
		}
		return compress.Codecs.Zstd, level, nil
	case "snappy":
		return compress.Codecs.Snappy, compress.DefaultCompressionLevel, nil
	case "gzip":
		if level == 0 {
			level = compress.DefaultCompressionLevel
		}
		return compress.Codecs.Gzip, level, nil
	case "lz4":
		return compress.Codecs.Lz4Raw, compress.DefaultCompressionLevel, nil
	case "none":
		return compress.Codecs.Uncompressed, compress.DefaultCompressionLevel, nil
	}
	return 0, 0, errs.Unsupportedf(-1, "the Parquet compression %q: use zstd, snappy, gzip, lz4 or none", opts.Compression)
}

// guard turns a panic of the library into an error.
func (w *writer) guard(err *error) {
	if p := recover(); p != nil {
		if e, ok := p.(error); ok {
			*err = fmt.Errorf("write %s: %w", w.opts.Path, e)
			return
		}
		*err = errs.Internalf("write %s: %v at %s", w.opts.Path, p, panicSite())
	}
}

// Write implements format.Writer.
func (w *writer) Write(b *vector.Batch) (err error) {
	if w.err != nil {
		return w.err
	}
	if w.done {
		return errs.Internalf("write %s: the file is closed", w.opts.Path)
	}
	defer func() { w.err = err }()
	defer w.guard(&err)
	if len(b.Cols) != len(w.cols) {
		return errs.Internalf("write %s: %d columns where %d should be", w.opts.Path, len(b.Cols), len(w.cols))
	}
	b = b.Compact()
	if b.Len == 0 {
		return nil
	}
	if w.pw == nil {
		if err := w.start(b); err != nil {
			return err
		}
	}
	if w.group == nil {
		if w.group, err = w.pw.AppendBufferedRowGroupChecked(); err != nil {
			return fmt.Errorf("write %s: %w", w.opts.Path, err)
		}
		for i, l := range w.leafs {
			if l.out, err = w.group.Column(i); err != nil {
				return fmt.Errorf("write %s: %w", w.opts.Path, err)
			}
		}
	}
	for i, c := range w.cols {
		v := b.Cols[i]
		if v.Len != b.Len {
			return errs.Internalf("write %s: column %q has %d rows where %d should be", w.opts.Path, c.name, v.Len, b.Len)
		}
		if err := c.write(v); err != nil {
			return fmt.Errorf("write %s: column %q: %w", w.opts.Path, c.name, err)
		}
	}
	w.rows += int64(b.Len)
	w.groupRows += int64(b.Len)
	buffered := w.buffered()
	if err := w.hold(buffered); err != nil {
		return err
	}
	if buffered >= w.opts.RowGroupBytes || w.groupRows >= writeRowGroupRows {
		return w.endGroup()
	}
	return nil
}

// buffered estimates the bytes that the open row group holds.
func (w *writer) buffered() int64 {
	if w.group == nil {
		return 0
	}
	n := w.group.TotalBytesWritten() + w.group.TotalCompressedBytes()
	for _, l := range w.leafs {
		n += l.pending
	}
	return n
}

// hold sets what is reserved to n.
func (w *writer) hold(n int64) error {
	if n > w.held {
		if err := w.opts.Budget.Reserve(n - w.held); err != nil {
			return err
		}
	} else {
		w.opts.Budget.Release(w.held - n)
	}
	w.held = n
	return nil
}

func (w *writer) endGroup() error {
	if w.group == nil {
		return nil
	}
	err := w.group.Close()
	w.group, w.groupRows = nil, 0
	for _, l := range w.leafs {
		l.pending = 0
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", w.opts.Path, err)
	}
	return w.hold(0)
}

// Rows implements format.Writer.
func (w *writer) Rows() int64 { return w.rows }

// Size implements format.Writer.
func (w *writer) Size() int64 {
	if w.pw == nil {
		return 0
	}
	if w.group == nil {
		return w.pw.TotalBytesWritten()
	}
	n := w.pw.TotalBytesWritten() + w.group.TotalCompressedBytes()
	for _, l := range w.leafs {
		n += l.pending / 3 // pages under construction, before compression
	}
	return n
}

// Close implements format.Writer.
func (w *writer) Close() (st *format.Stats, err error) {
	if w.done {
		return nil, errs.Internalf("close %s: it is closed already", w.opts.Path)
	}
	if w.err != nil {
		return nil, errors.Join(w.err, w.Abort())
	}
	err = w.finish()
	if err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	w.done = true
	w.hold(0)
	size := w.pw.TotalBytesWritten()
	if err := w.sink.Close(); err != nil {
		return nil, err
	}
	st = &format.Stats{Rows: w.rows, Size: size}
	for _, c := range w.cols {
		st.Columns = append(st.Columns, c.stats.result())
	}
	return st, nil
}

func (w *writer) finish() (err error) {
	defer w.guard(&err)
	if w.pw == nil {
		if err := w.start(nil); err != nil {
			return err
		}
	}
	if err := w.endGroup(); err != nil {
		return err
	}
	if err := w.pw.Close(); err != nil {
		return fmt.Errorf("write %s: %w", w.opts.Path, err)
	}
	return nil
}

// Abort implements format.Writer.
func (w *writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	w.hold(0)
	return w.sink.Abort()
}
