package files

import (
	"context"
	"encoding/base64"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// NewWrite implements connector.Writable.
func (f *Folder) NewWrite(_ context.Context, o connector.WriteOptions) (connector.TableWrite, error) {
	w := &folderWrite{f: f, budget: o.Budget, name: "part-" + uuid.NewString(), open: map[string]*folderFile{}}
	for _, i := range f.data {
		c := f.schema.Fields[i]
		w.columns = append(w.columns, format.Column{Name: c.Name, Type: c.Type, ID: i})
	}
	return w, nil
}

// folderWrite writes one file a partition. They appear when they are committed.
type folderWrite struct {
	f       *Folder
	budget  *memory.Budget
	name    string // of the files, without their numbers and formats
	columns []format.Column
	files   int
	open    map[string]*folderFile // by the folder below the table's
	dir     []byte
}

// folderFile is a file that is being written.
type folderFile struct {
	path   string
	values []*vector.Vec // of the partition columns
	sel    []uint16      // rows of the current batch
	rows   int64

	format format.Writer // of Parquet
	text   fileio.Writer // of CSV and JSON
	buf    []byte
	held   int64
	closed bool
}

// Write implements connector.TableWrite.
func (w *folderWrite) Write(ctx context.Context, b *vector.Batch) error {
	for r := range b.Rows() {
		if k := b.Kind(b.Row(r)); k == vector.UpdateBefore || k == vector.Delete {
			return errs.Userf(errs.InvalidTable, "write table %s: rows cannot be removed from files", w.f.id)
		}
	}
	for i, c := range w.f.schema.Fields {
		if c.Type.NotNull && b.Cols[i].NullCount() > 0 {
			return errs.Userf(errs.NotNull, "Column '%s' cannot be null", c.Name)
		}
	}
	var here []*folderFile
	for r := range b.Rows() {
		row := b.Row(r)
		o, err := w.fileOf(ctx, b, row)
		if err != nil {
			return err
		}
		if len(o.sel) == 0 {
			here = append(here, o)
		}
		o.sel = append(o.sel, uint16(row))
	}
	data := vector.Batch{Len: b.Len, Seq: -1}
	for _, i := range w.f.data {
		data.Cols = append(data.Cols, b.Cols[i])
	}
	for _, o := range here {
		data.Sel = o.sel
		if err := w.add(o, &data); err != nil {
			return err
		}
		o.rows += int64(len(o.sel))
		o.sel = o.sel[:0]
	}
	return nil
}

// fileOf returns the file of a row's partition.
func (w *folderWrite) fileOf(ctx context.Context, b *vector.Batch, row int) (*folderFile, error) {
	w.dir = w.dir[:0]
	for _, i := range w.f.parts {
		c := w.f.schema.Fields[i]
		text := w.f.nullPart
		if v := b.Cols[i]; !v.IsNull(row) {
			raw, err := w.f.text(nil, v, row, c)
			if err != nil {
				return nil, err
			}
			if text = url.PathEscape(string(raw)); text == "" || text == w.f.nullPart {
				return nil, errs.Userf(errs.WrongArguments, "write table %s: '%s' cannot be a value of the partition column %s", w.f.id, raw, c.Name)
			}
		}
		w.dir = append(w.dir, '/')
		w.dir = append(append(append(w.dir, c.Name...), '='), text...)
	}
	if o := w.open[string(w.dir)]; o != nil {
		return o, nil
	}
	o := &folderFile{path: w.f.root + string(w.dir) + "/" + w.name + "-" + strconv.Itoa(w.files) + "." + w.f.options.Format}
	w.files++
	for _, i := range w.f.parts {
		v := vector.New(b.Cols[i].Kind, 1)
		v.AppendFrom(b.Cols[i], row)
		o.values = append(o.values, v)
	}
	if err := reserve(w.budget, bufferBytes); err != nil {
		return nil, err
	}
	w.open[string(w.dir)], o.held = o, bufferBytes
	out, err := w.f.store.Files.Create(ctx, o.path)
	if err != nil {
		return nil, err
	}
	if w.f.options.Format != "parquet" {
		o.text = out
		return o, nil
	}
	ff, err := w.f.store.Formats.ByName(w.f.options.Format)
	if err != nil {
		_ = out.Abort()
		return nil, err
	}
	o.format, err = ff.NewWriter(ctx, out, format.WriteOptions{Path: o.path, Columns: w.columns, Compression: w.f.codec, Budget: w.budget})
	return o, err
}

// add writes the rows of a batch of the columns in the file.
func (w *folderWrite) add(o *folderFile, b *vector.Batch) error {
	if o.format != nil {
		return o.format.Write(b)
	}
	row := w.f.jsonRow
	if w.f.options.Format == "csv" {
		row = w.f.csvRow
	}
	o.buf = o.buf[:0]
	for _, r := range b.Sel {
		var err error
		if o.buf, err = row(o.buf, b.Cols, int(r)); err != nil {
			return err
		}
	}
	_, err := o.text.Write(o.buf)
	return err
}

// text appends the text of a value.
func (f *Folder) text(dst []byte, v *vector.Vec, row int, c catalog.Field) ([]byte, error) {
	switch c.Type.Kind {
	case catalog.Char, catalog.Varchar:
		s := v.Bytes(row)
		if !utf8.Valid(s) {
			return dst, errs.Userf(errs.WrongArguments, "write table %s: a text in column %s is not UTF-8", f.id, c.Name)
		}
		return append(dst, s...), nil
	case catalog.Binary, catalog.Varbinary:
		return base64.StdEncoding.AppendEncode(dst, v.Bytes(row)), nil
	case catalog.Float, catalog.Double:
		x := v.Values()
		var y float64
		if x.Kind == vector.F32 {
			y = float64(x.F32s[v.At(row)])
		} else {
			y = x.F64s[v.At(row)]
		}
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return dst, errs.Userf(errs.WrongArguments, "write table %s: a number in column %s is not finite, which text files do not have", f.id, c.Name)
		}
	}
	at := len(dst)
	dst = jsonl.AppendValue(dst, v, row, c.Type)
	if n := len(dst); n-at >= 2 && dst[at] == '"' && dst[n-1] == '"' {
		dst = append(dst[:at], dst[at+1:n-1]...)
	}
	return dst, nil
}

// csvRow appends a row of CSV (RFC 4180).
func (f *Folder) csvRow(dst []byte, cols []*vector.Vec, row int) ([]byte, error) {
	sep := f.options.Delimiter
	if sep == 0 {
		sep = ','
	}
	var cell []byte
	for k, i := range f.data {
		c := f.schema.Fields[i]
		if k > 0 {
			dst = utf8.AppendRune(dst, sep)
		}
		isText := emptyIsValue(c.Type)
		if cols[k].IsNull(row) {
			switch {
			case f.options.Null != "":
				dst = append(dst, f.options.Null...)
			case isText:
				return dst, errs.Userf(errs.WrongArguments, "write table %s: NULL in column %s would be read as an empty value; give the table 'csv.null-literal' = '…'", f.id, c.Name)
			case len(f.data) == 1:
				dst = append(dst, `""`...) // an empty line is no row
			}
			continue
		}
		var err error
		if cell, err = f.text(cell[:0], cols[k], row, c); err != nil {
			return dst, err
		}
		s := string(cell)
		switch {
		case f.options.Null != "" && s == f.options.Null:
			return dst, errs.Userf(errs.WrongArguments, "write table %s: the text '%s' in column %s is what 'csv.null-literal' makes NULL", f.id, s, c.Name)
		case strings.Contains(s, "\r\n"):
			return dst, errs.Userf(errs.WrongArguments, "write table %s: column %s has a carriage return before a line feed, which is not kept in CSV; choose 'format' = 'json'", f.id, c.Name)
		case isText && (s == "" || strings.ContainsAny(s, "\"\r\n") || strings.ContainsRune(s, sep) || s[0] == ' ' || s[0] == '\t'), strings.ContainsRune(s, sep):
			dst = append(dst, '"')
			dst = append(dst, strings.ReplaceAll(s, `"`, `""`)...)
			dst = append(dst, '"')
		default:
			dst = append(dst, s...)
		}
	}
	return append(dst, '\n'), nil
}

// jsonRow appends a row as an object on a line.
func (f *Folder) jsonRow(dst []byte, cols []*vector.Vec, row int) ([]byte, error) {
	dst = append(dst, '{')
	var cell []byte
	for k, i := range f.data {
		c := f.schema.Fields[i]
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonl.AppendString(dst, []byte(c.Name)), ':')
		if cols[k].IsNull(row) {
			dst = append(dst, "null"...)
			continue
		}
		var err error
		if cell, err = f.text(cell[:0], cols[k], row, c); err != nil {
			return dst, err
		}
		switch c.Type.Kind {
		case catalog.Boolean, catalog.TinyInt, catalog.SmallInt, catalog.Int, catalog.BigInt, catalog.Decimal, catalog.Float, catalog.Double:
			dst = append(dst, cell...)
		default:
			dst = jsonl.AppendString(dst, cell)
		}
	}
	return append(dst, "}\n"...), nil
}

// close makes a file visible.
func (o *folderFile) close() (err error) {
	if o.format != nil {
		_, err = o.format.Close()
	} else {
		err = o.text.Close()
	}
	o.closed = err == nil
	return err
}

// drop gives a file up, whether it is visible or not.
func (o *folderFile) drop(ctx context.Context, s *Store) (err error) {
	switch {
	case o.closed:
		return s.Files.Remove(ctx, o.path)
	case o.format != nil:
		return o.format.Abort()
	case o.text != nil:
		return o.text.Abort()
	}
	return nil
}

// folderMessage is the files of a writer.
type folderMessage struct {
	files  []*folderFile
	budget *memory.Budget
}

// Empty implements connector.CommitMessage.
func (m *folderMessage) Empty() bool { return len(m.files) == 0 }

// Rows implements connector.CommitMessage.
func (m *folderMessage) Rows() (n int64) {
	for _, o := range m.files {
		n += o.rows
	}
	return n
}

// release gives back the memory of the files.
func (m *folderMessage) release() {
	for _, o := range m.files {
		if m.budget != nil {
			m.budget.Release(o.held)
		}
		o.held = 0
	}
}

// PrepareCommit implements connector.TableWrite. Without rows and partition columns
// there is one file without rows: the table has been written.
func (w *folderWrite) PrepareCommit(ctx context.Context) ([]connector.CommitMessage, error) {
	if w.files == 0 && len(w.f.parts) == 0 {
		if _, err := w.fileOf(ctx, nil, 0); err != nil {
			return nil, err
		}
	}
	return w.prepared(), nil
}

// prepared hands over the files that are being written.
func (w *folderWrite) prepared() []connector.CommitMessage {
	if len(w.open) == 0 {
		return nil
	}
	m := &folderMessage{budget: w.budget}
	for _, o := range w.open {
		m.files = append(m.files, o)
	}
	slices.SortFunc(m.files, func(a, b *folderFile) int { return strings.Compare(a.path, b.path) })
	w.open = map[string]*folderFile{}
	return []connector.CommitMessage{m}
}

// Close implements connector.TableWrite.
func (w *folderWrite) Close() error {
	return w.f.abort(context.Background(), w.prepared())
}

// NewCommit implements connector.Writable.
func (f *Folder) NewCommit(context.Context, string) (connector.TableCommit, error) {
	return folderCommit{f}, nil
}

type folderCommit struct{ f *Folder }

// Commit implements connector.TableCommit: the new files appear, then those that
// they take the place of go. When one of the new files cannot be finished, none is
// there afterwards. When one of the old ones cannot be removed, the outcome is
// unknown: the error names it, and another Commit goes on with removing.
func (c folderCommit) Commit(ctx context.Context, k *connector.Committable) (connector.CommitResult, error) {
	f := c.f
	var files []*folderFile
	for _, m := range k.Messages {
		x, ok := m.(*folderMessage)
		if !ok {
			return connector.CommitResult{}, errs.Internalf("commit to table %s: a message of another connector", f.id)
		}
		files = append(files, x.files...)
		defer x.release()
	}
	var old []string
	if k.Overwrite {
		var err error
		if old, err = f.replaced(ctx, k, files); err != nil {
			return connector.CommitResult{}, err
		}
	}
	ctx = context.WithoutCancel(ctx)
	for i, o := range files {
		if o.closed {
			continue // an earlier attempt got as far as removing
		}
		if err := o.close(); err != nil {
			for _, d := range files[:i] {
				if e := d.drop(ctx, f.store); e != nil {
					return connector.CommitResult{}, errs.New(errs.Unavailable, errs.KindNone, "write table %s: %v; remove %s, which could not be taken back: %w", f.id, err, d.path, e)
				}
			}
			if errs.ClassOf(err) == errs.UnknownOutcome {
				// Whether it is there or not, it must not be.
				err = errs.New(errs.Unavailable, errs.KindNone, "write table %s: %v", f.id, err)
				if e := f.store.Files.Remove(ctx, o.path); e != nil {
					err = errs.New(errs.Unavailable, errs.KindNone, "%v; remove %s, which could not be taken back: %w", err, o.path, e)
				}
			}
			return connector.CommitResult{}, err
		}
	}
	for _, p := range old {
		if err := f.store.Files.Remove(ctx, p); err != nil {
			return connector.CommitResult{}, errs.New(errs.UnknownOutcome, errs.KindNone, "overwrite table %s: the new files are there, of the old ones %s could not be removed: %w", f.id, p, err)
		}
	}
	return connector.CommitResult{}, nil
}

// replaced returns the files that an OVERWRITE takes away.
func (f *Folder) replaced(ctx context.Context, k *connector.Committable, files []*folderFile) ([]string, error) {
	in := make([]*vector.Vec, len(f.parts))
	for d, i := range f.parts {
		c := f.schema.Fields[i]
		text, ok := k.OverwriteIn[c.Name]
		if !ok {
			continue
		}
		in[d] = vector.New(c.Type.Physical(), 1)
		if text == nil {
			in[d].AppendNull()
		} else if why := storing(c.Type)(in[d], value{text: *text, there: true, quoted: true}); why != "" {
			return nil, errs.Userf(errs.WrongArguments, "overwrite table %s: '%s' is no %s for the partition column %s", f.id, cut(*text), c.Type, c.Name)
		}
	}
	same := func(a, b *vector.Vec) bool {
		return a.IsNull(0) && b.IsNull(0) || !a.IsNull(0) && !b.IsNull(0) && vector.Compare(a, 0, b, 0) == 0
	}
	pieces, err := f.pieces(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range pieces {
		goes := true
		for d, v := range in {
			goes = goes && (v == nil || same(v, p.values[d]))
		}
		if goes && k.OverwriteDynamic {
			goes = slices.ContainsFunc(files, func(o *folderFile) bool {
				return slices.EqualFunc(o.values, p.values, same)
			})
		}
		for _, x := range p.files {
			own := slices.ContainsFunc(files, func(o *folderFile) bool { return o.path == x.path })
			if goes && !own {
				out = append(out, x.path)
			}
		}
	}
	return out, nil
}

// LatestOwn implements connector.TableCommit: files do not tell.
func (c folderCommit) LatestOwn(context.Context) (*connector.SnapshotInfo, error) { return nil, nil }

// Abort implements connector.TableCommit.
func (c folderCommit) Abort(ctx context.Context, messages []connector.CommitMessage) error {
	return c.f.abort(ctx, messages)
}

func (f *Folder) abort(ctx context.Context, messages []connector.CommitMessage) (err error) {
	for _, m := range messages {
		x, ok := m.(*folderMessage)
		if !ok {
			continue
		}
		x.release()
		for _, o := range x.files {
			if e := o.drop(ctx, f.store); err == nil {
				err = e
			}
		}
	}
	return err
}
