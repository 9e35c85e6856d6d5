package files

import (
	"compress/gzip"
	"context"
	"io"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// Table is a list of files of one schema. It is its own only snapshot.
type Table struct {
	store   *Store
	id      catalog.Identifier
	files   []file
	options Options
	schema  *catalog.Schema
}

var (
	_ connector.Readable = (*Table)(nil)
	_ connector.Snapshot = snapshot{}
)

// ID implements catalog.Table.
func (t *Table) ID() catalog.Identifier { return t.id }

// Schema implements catalog.Table.
func (t *Table) Schema() *catalog.Schema { return t.schema }

// UUID implements catalog.Table.
func (t *Table) UUID() string { return "" }

// Snapshot implements connector.Readable.
func (t *Table) Snapshot(_ context.Context, ref catalog.Ref) (connector.Snapshot, error) {
	if ref.Kind != catalog.Latest {
		return nil, errs.Userf(errs.UnknownSnapshot, "read %s: files have no versions", t.id.Table)
	}
	return snapshot{t}, nil
}

type snapshot struct{ t *Table }

// Version implements connector.Snapshot.
func (s snapshot) Version() int64 { return 1 }

// Schema implements connector.Snapshot.
func (s snapshot) Schema() *catalog.Schema { return s.t.schema }

// RowCount implements connector.Snapshot.
func (s snapshot) RowCount(context.Context) (int64, bool, error) { return -1, false, nil }

// Plan implements connector.Snapshot: a split for each file, and for each stretch
// of some 64 MiB of files that can be read in parts.
func (s snapshot) Plan(_ context.Context, req connector.ScanRequest) (*connector.Plan, error) {
	p := &connector.Plan{Files: len(s.t.files)}
	for _, f := range s.t.files {
		parts := 1
		if s.t.options.Format == "parquet" {
			parts = int(min(f.size>>26+1, 64))
		}
		for i := range parts {
			p.Splits = append(p.Splits, &split{t: s.t, file: f, req: req, part: i, parts: parts})
		}
		p.Bytes += f.size
	}
	return p, nil
}

type split struct {
	t           *Table
	file        file
	req         connector.ScanRequest
	part, parts int
}

// Rows implements connector.Split.
func (s *split) Rows() int64 { return s.Bytes() / 64 }

// Bytes implements connector.Split.
func (s *split) Bytes() int64 { return s.file.size / int64(s.parts) }

// Open implements connector.Split.
func (s *split) Open(ctx context.Context) (connector.BatchReader, error) {
	fields := s.t.schema.Fields
	switch s.t.options.Format {
	case "csv", "json":
		return s.t.text(ctx, s.file, s.req)
	}
	f, err := s.t.store.Formats.ByName(s.t.options.Format)
	if err != nil {
		return nil, err
	}
	in, err := s.t.store.Files.Open(ctx, s.file.path)
	if err != nil {
		return nil, err
	}
	o := format.ReadOptions{Path: s.file.path, Part: s.part, Parts: s.parts, BatchRows: s.req.BatchRows, Budget: s.req.Budget, Reads: s.req.Reads}
	column := func(i int) format.Column { return format.Column{Name: fields[i].Name, Type: fields[i].Type} }
	for _, i := range s.req.Columns {
		o.Columns = append(o.Columns, column(i))
	}
	if !s.req.NoPruning && s.req.Filter != nil {
		o.Filter = s.req.Filter
		for i := range fields {
			o.FilterColumns = append(o.FilterColumns, column(i))
		}
	}
	r, err := f.NewReader(ctx, in, o)
	if err != nil {
		return nil, err
	}
	return &reader{Reader: r, s: s}, nil
}

// reader passes what may be left out on to the reader of the file.
type reader struct {
	format.Reader
	s *split
}

// Pick implements connector.Picking.
func (r *reader) Pick(first []int, pick connector.Pick) {
	if p, ok := r.Reader.(connector.Picking); ok {
		p.Pick(first, pick)
	}
}

// Narrow implements connector.Narrowing.
func (r *reader) Narrow(d *connector.Dynamic) {
	if n, ok := r.Reader.(format.Narrowing); ok && !r.s.req.NoPruning {
		f := r.s.t.schema.Fields[d.Column]
		n.Narrow(format.Column{Name: f.Name, Type: f.Type}, d)
	}
}

// bufferBytes is what a reader of text holds beside its batch.
const bufferBytes = 1 << 20

// open opens a file as a stream, decompressed when its name ends in .gz.
func (s *Store) open(ctx context.Context, path string) (io.Reader, io.Closer, error) {
	in, err := s.Files.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	var r io.Reader = &stream{ctx: ctx, in: io.NewSectionReader(in, 0, in.Size())}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(r)
		if err != nil {
			in.Close()
			return nil, nil, errs.Corruptf("read %s: %w", path, err)
		}
		r = z
	}
	return r, closer{in}, nil
}

// stream ends with its context.
type stream struct {
	ctx context.Context
	in  io.Reader
}

func (s *stream) Read(p []byte) (int, error) {
	if err := context.Cause(s.ctx); err != nil {
		return 0, err
	}
	return s.in.Read(p)
}

type closer struct{ f fileio.File }

func (c closer) Close() error { return c.f.Close() }

// rows gives the rows of a text file one after the other: the columns of the
// table, nil for NULL. line is that of the row.
type rows interface {
	next() (values []value, line int, err error) // io.EOF at the end
}

// value is the text of a value; there is none when it is NULL.
type value struct {
	text   string
	there  bool
	quoted bool // JSON: a string, which is no number
}

// textReader makes batches of the rows of a text file.
type textReader struct {
	t      *Table
	path   string
	rows   rows
	in     io.Closer
	req    connector.ScanRequest
	cols   []*column
	out    vector.Batch
	held   int64
	seq    int64
	closed bool
}

// column stores the values of a column into a vector.
type column struct {
	at    int // in the table
	field catalog.Field
	store func(v *vector.Vec, x value) string // what is wrong, "" for nothing
}

func (t *Table) text(ctx context.Context, f file, req connector.ScanRequest) (connector.BatchReader, error) {
	r := &textReader{t: t, path: f.path, req: req}
	if err := reserve(req.Budget, bufferBytes); err != nil {
		return nil, err
	}
	r.held = bufferBytes
	src, in, err := t.store.open(ctx, f.path)
	if err != nil {
		r.release()
		return nil, err
	}
	r.in = in
	if t.options.Format == "csv" {
		r.rows, err = newCSV(src, f.path, t.options, t.schema.Fields)
	} else {
		j := newJSON(src, f.path, t.schema.Fields)
		j.loose = t.options.Loose
		r.rows = j
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	for _, c := range req.Columns {
		field := t.schema.Fields[c]
		r.cols = append(r.cols, &column{at: c, field: field, store: storing(field.Type)})
		r.out.Cols = append(r.out.Cols, vector.New(field.Type.Physical(), 0))
	}
	return r, nil
}

func reserve(b *memory.Budget, n int64) error {
	if b == nil {
		return nil
	}
	return b.Reserve(n)
}

func (r *textReader) release() {
	if r.req.Budget != nil {
		r.req.Budget.Release(r.held)
	}
	r.held = 0
}

// Next implements connector.BatchReader.
func (r *textReader) Next(ctx context.Context) (*vector.Batch, error) {
	if r.closed {
		return nil, nil
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	most := r.req.BatchRows
	if most <= 0 {
		most = vector.BatchRows
	}
	r.out.Reset()
	for r.out.Len < most {
		vals, line, err := r.rows.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		for i, c := range r.cols {
			x := vals[c.at]
			if !x.there {
				r.out.Cols[i].AppendNull()
				continue
			}
			if why := c.store(r.out.Cols[i], x); why != "" {
				return nil, fault(r.path, line, "'%s' in column %s is no %s%s; give columns => '…' another type for it", cut(x.text), c.field.Name, c.field.Type, strings.TrimSpace(why))
			}
		}
		r.out.Len++
	}
	if r.out.Len == 0 {
		return nil, nil
	}
	r.out.Seq = r.seq
	r.seq += int64(r.out.Len)
	if n := bufferBytes + r.out.Bytesize(); n > r.held {
		if err := reserve(r.req.Budget, n-r.held); err != nil {
			return nil, err
		}
		r.held = n
	}
	return &r.out, nil
}

// cut shortens a text for messages.
func cut(s string) string {
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:64], "") + "…"
	}
	return s
}

// Close implements connector.BatchReader.
func (r *textReader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.release()
	return r.in.Close()
}
