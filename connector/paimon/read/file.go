package read

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// layoutKey names a layout: files of a schema, read for merging or not.
type layoutKey struct {
	schema int64
	merge  bool
}

// layout says how the columns of files of one schema become a scan's columns.
type layout struct {
	cols []source        // one a column: the scan's, or for merging mergeCols
	file []format.Column // what is read of a file
	// For merging, the positions of the key columns in cols.
	keys []int
	// Positions in file of the sequence number and row kind, which are appended
	// to file on demand.
}

// source is where a column comes from.
type source struct {
	typ       catalog.Type
	partition int  // position among the partition keys, -1
	file      int  // position among the file's columns, -1: NULL
	cast      cast // nil: as it is
}

// newLayout matches columns by field id (paimon-format: schema evolution).
func (sc *scan) newLayout(from *catalog.Schema, merge bool) (*layout, error) {
	l := &layout{}
	cols := sc.req.Columns
	if merge {
		cols, l.keys = sc.mergeCols, sc.mergeKeys
	}
	for _, c := range cols {
		if err := sc.addColumn(l, from, c); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// addColumn adds a column of the table to a layout of files of a schema.
func (sc *scan) addColumn(l *layout, from *catalog.Schema, c int) error {
	to := sc.st.schema
	f := to.Fields[c]
	s := source{typ: f.Type, partition: -1, file: -1}
	for i, k := range to.PartitionKeys {
		if k == f.Name {
			s.partition = i
		}
	}
	if at := fieldByID(from, f.ID); at >= 0 && s.partition < 0 {
		old := from.Fields[at]
		var err error
		if s.cast, err = newCast(old.Type, f.Type); err != nil {
			return fmt.Errorf("%w (column %q of table %s)", err, f.Name, sc.st.src.Name)
		}
		s.cast = checkedVariants(s.cast, f.Type)
		s.file = len(l.file)
		l.file = append(l.file, format.Column{Name: old.Name, Type: old.Type, ID: old.ID})
	}
	l.cols = append(l.cols, s)
	return nil
}

// fileOptions say what else to read of a file.
type fileOptions struct {
	merge    bool // read keys
	seqs     bool // read sequence numbers
	kinds    bool // read row kinds
	filter   *connector.Predicate
	keysOnly bool // filter by key columns only
	dynamic  *connector.Dynamic
	part     int // with parts > 1: the share of the file to read
	parts    int

	layout    *layout // nil: that of the file's schema
	untracked bool    // without the columns of RowTracking and Addressed
}

// fileReader reads one data file as columns of the table: those of the layout,
// then the sequence number and the row kind (when asked).
type fileReader struct {
	sc     *scan
	e      *spec.ManifestEntry
	path   string
	layout *layout
	opts   fileOptions
	r      format.Reader // nil: nothing has to be read
	left   int64         // without r: rows still to deliver
	seq    int64
	del    *deleter      // nil: no row is deleted
	consts []*vector.Vec // one a column: partition values and NULLs
	batch  vector.Batch
	shown  []bool // of the columns, those that a pick has seen; nil: there was none
}

// pick makes the reader show batches to pick before it reads all columns; see
// connector.Picking.
func (f *fileReader) pick(first []int, pick connector.Pick) {
	p, ok := f.r.(connector.Picking)
	if !ok || f.tracking() || f.opts.kinds || f.opts.seqs || f.sc.st.address != nil {
		return
	}
	shown := make([]bool, len(f.layout.cols))
	var stored []int
	for _, c := range first {
		shown[c] = true
		if at := f.layout.cols[c].file; f.consts[c] == nil && !slices.Contains(stored, at) {
			stored = append(stored, at)
		}
	}
	p.Pick(stored, func(in *vector.Batch) ([]uint16, error) {
		f.begin(in)
		if f.batch.Sel != nil && len(f.batch.Sel) == 0 {
			return f.batch.Sel, nil
		}
		for c, s := range shown {
			f.batch.Cols[c] = nil
			if s {
				if err := f.column(in, c); err != nil {
					return nil, err
				}
			}
		}
		sel, err := pick(&f.batch)
		f.batch.Sel = sel
		return sel, err
	})
	f.shown = shown
}

// begin starts the batch of a batch of the file; its columns are still those of
// the batch before.
func (f *fileReader) begin(in *vector.Batch) {
	out := &f.batch
	out.Len, out.Seq, out.Sel = in.Len, in.Seq, nil
	out.Cols = out.Cols[:len(f.layout.cols)]
	if f.del != nil {
		f.del.apply(out)
	}
}

// column makes column i of the batch.
func (f *fileReader) column(in *vector.Batch, i int) error {
	if c := f.consts[i]; c != nil {
		c.Len = f.batch.Len
		f.batch.Cols[i] = c
		return nil
	}
	s := f.layout.cols[i]
	v := in.Cols[s.file]
	if s.cast != nil {
		var err error
		if v, err = s.cast(v); err != nil {
			return fmt.Errorf("table %s, file %s: %w", f.sc.st.src.Name, f.path, err)
		}
	}
	f.batch.Cols[i] = v
	return nil
}

func (sc *scan) openFile(ctx context.Context, e *spec.ManifestEntry, opts fileOptions) (*fileReader, error) {
	l := opts.layout
	if l == nil {
		l = sc.layouts[layoutKey{e.File.SchemaID, opts.merge}]
	}
	path, err := sc.paths.DataFile(e)
	if err != nil {
		return nil, sc.st.src.vanished(sc.st.snap, e.File.FileName, err)
	}
	f := &fileReader{sc: sc, e: e, path: LocalPath(path), layout: l, opts: opts, left: e.File.RowCount}
	f.consts = make([]*vector.Vec, len(l.cols))
	var partition []*vector.Vec
	for i, s := range l.cols {
		switch {
		case s.partition >= 0:
			if partition == nil {
				partition, err = e.Partition.Decode(spec.TypesOf(sc.st.schema, sc.st.schema.PartitionKeys))
				if err != nil {
					return nil, sc.st.src.vanished(sc.st.snap, e.File.FileName, err)
				}
			}
			f.consts[i] = partition[s.partition].AsConst(1)
		case s.file < 0:
			v := s.typ.NewVec(1)
			v.AppendNull()
			f.consts[i] = v.AsConst(1)
		}
	}
	f.batch.Cols = make([]*vector.Vec, len(l.cols), len(l.cols)+2)
	m, err := sc.openDeletions(ctx, e)
	if err != nil {
		return nil, err
	}
	if m != nil {
		f.del = &deleter{m: m}
	}
	if err := f.start(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// start opens the file itself, when anything of it has to be read.
func (f *fileReader) start(ctx context.Context) error {
	sc, e, l, opts := f.sc, f.e, f.layout, f.opts
	if len(l.file) == 0 && !opts.merge && !opts.seqs && !opts.kinds && !f.tracking() {
		if opts.part > 0 {
			f.left = 0
		}
		return nil // the row count says it all
	}
	fm, err := sc.st.src.Formats.ByFile(e.File.FileName)
	if err != nil {
		return err
	}
	held := sc.st.held.run(e)
	ro := format.ReadOptions{Path: f.path, Columns: l.file, Strict: true, Part: opts.part, Parts: opts.parts, BatchRows: sc.req.BatchRows, Budget: sc.req.Budget, Reads: sc.req.Reads, Metadata: sc.st.src.Cache.metadata(),
		Properties: sc.st.schema.Options}
	if !sc.once && !sc.req.NoPages {
		ro.Pages = sc.st.src.Pages
	}
	if opts.seqs || opts.kinds {
		ro.Columns = append([]format.Column(nil), l.file...)
		if opts.seqs {
			ro.Columns = append(ro.Columns, format.Column{Name: spec.SequenceColumn, Type: catalog.TBigInt.Required(), ID: spec.SequenceID})
		}
		if opts.kinds {
			ro.Columns = append(ro.Columns, format.Column{Name: spec.KindColumn, Type: catalog.TTinyInt.Required(), ID: spec.KindID})
		}
	}
	if f.tracking() {
		// Files that compaction wrote have these columns, others lack them.
		ro.Strict = false
		ro.Columns = append(append([]format.Column(nil), l.file...), format.Column{Name: rowIDColumn, Type: catalog.TBigInt, ID: rowIDColumnID},
			format.Column{Name: spec.SequenceColumn, Type: catalog.TBigInt, ID: spec.SequenceID})
	}
	if held != nil {
		f.r, err = newHeldReader(held, ro)
		return err
	}
	ro.Filter, ro.FilterColumns = sc.fileFilter(e, opts)
	rows, err := sc.indexedRows(ctx, e, ro.Filter, ro.FilterColumns)
	if err != nil {
		return err
	}
	if rows.None() {
		f.left = 0
		return nil
	}
	if !rows.All() {
		ro.Rows = rows.Any
	}
	file, err := sc.st.src.Files.Open(ctx, f.path)
	if err != nil {
		return sc.st.src.vanished(sc.st.snap, f.path, err)
	}
	if file.Size() != e.File.FileSize {
		size := file.Size()
		file.Close()
		return errs.Corruptf("table %s, snapshot %d: the file %s has %d bytes, its manifest says %d", sc.st.src.Name, sc.st.snap.ID, f.path, size, e.File.FileSize)
	}
	r, err := fm.NewReader(ctx, file, ro)
	if err != nil {
		return sc.st.src.vanished(sc.st.snap, f.path, err)
	}
	f.r = r
	if f.r.Rows() != e.File.RowCount {
		rows := f.r.Rows()
		return errs.Corruptf("table %s, snapshot %d: the file %s has %d rows, its manifest says %d", sc.st.src.Name, sc.st.snap.ID, f.path, rows, e.File.RowCount)
	}
	f.narrow(opts.dynamic)
	return nil
}

// tracking reports whether the columns of RowTracking are read.
func (f *fileReader) tracking() bool { return f.sc.st.tracking && !f.opts.untracked }

// LocalPath strips the scheme of a local URI, as external paths have it.
func LocalPath(path string) string { return spec.LocalPath(path) }

// fileFilter expresses the scan's filter in a file's columns, as far as it can.
func (sc *scan) fileFilter(e *spec.ManifestEntry, opts fileOptions) (*connector.Predicate, []format.Column) {
	if opts.filter == nil {
		return nil, nil
	}
	from, to := sc.schemas[e.File.SchemaID], sc.st.schema
	keys := to.TrimmedPrimaryKeys()
	var cols []format.Column
	at := map[int]int{}
	column := func(c int) int {
		if i, ok := at[c]; ok {
			return i
		}
		at[c] = -1
		if c >= len(to.Fields) {
			return -1
		}
		f := to.Fields[c]
		if opts.keysOnly {
			isKey := false
			for _, k := range keys {
				isKey = isKey || k == f.Name
			}
			if !isKey {
				return -1
			}
		}
		i := fieldByID(from, f.ID)
		if i < 0 || f.Type.Physical() != from.Fields[i].Type.Physical() || !sameValues(from.Fields[i].Type, f.Type) {
			return -1
		}
		at[c] = len(cols)
		cols = append(cols, format.Column{Name: from.Fields[i].Name, Type: from.Fields[i].Type, ID: f.ID})
		return at[c]
	}
	return Rewrite(opts.filter, column), cols
}

// Rewrite maps the columns of a predicate; conditions on columns that map to -1
// are dropped. The result is implied by p; nil means nothing is.
func Rewrite(p *connector.Predicate, column func(int) int) *connector.Predicate {
	switch p.Op {
	case connector.And:
		var kept []*connector.Predicate
		for _, c := range p.Children {
			kept = append(kept, Rewrite(c, column))
		}
		return connector.AndOf(kept...)
	case connector.Or:
		out := &connector.Predicate{Op: connector.Or}
		for _, c := range p.Children {
			k := Rewrite(c, column)
			if k == nil {
				return nil
			}
			out.Children = append(out.Children, k)
		}
		return out
	}
	c := column(p.Column)
	if c < 0 {
		return nil
	}
	q := *p
	q.Column = c
	return &q
}

// Next returns the next batch, nil at the end.
func (f *fileReader) Next(ctx context.Context) (*vector.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := &f.batch
	var in *vector.Batch
	if f.r == nil {
		n := f.sc.req.BatchRows
		if n <= 0 || n > vector.MaxBatchRows {
			n = vector.BatchRows
		}
		out.Len = int(min(int64(n), f.left))
		if out.Len == 0 {
			return nil, nil
		}
		out.Seq = f.seq
		f.left -= int64(out.Len)
		f.seq += int64(out.Len)
	} else {
		var err error
		in, err = f.r.Next(ctx)
		if err != nil {
			return nil, f.sc.st.src.vanished(f.sc.st.snap, f.path, err)
		}
		if in == nil {
			return nil, nil
		}
	}
	if f.shown != nil {
		for i, shown := range f.shown {
			if !shown {
				if err := f.column(in, i); err != nil {
					return nil, err
				}
			}
		}
		return out, nil
	}
	if in != nil {
		f.begin(in)
	} else {
		out.Sel = nil
		if f.del != nil {
			f.del.apply(out)
		}
		out.Cols = out.Cols[:len(f.layout.cols)]
	}
	for i := range f.layout.cols {
		if err := f.column(in, i); err != nil {
			return nil, err
		}
	}
	if in != nil && f.tracking() {
		n := len(f.layout.file)
		if !f.e.File.FirstRowID.OK && in.Cols[n].HasNulls() {
			return nil, errs.Corruptf("table %s, snapshot %d: the file %s has rows without ids", f.sc.st.src.Name, f.sc.st.snap.ID, f.path)
		}
		first, last := f.e.File.FirstRowID.V+out.Seq, f.e.File.MaxSequence
		out.Cols = append(out.Cols, filled(in.Cols[n], func(i int) int64 { return first + int64(i) }), filled(in.Cols[n+1], func(int) int64 { return last }))
		if f.sc.st.address != nil && !f.opts.untracked {
			f.addresses(out)
		}
		return out, nil
	}
	if in != nil {
		for _, v := range in.Cols[len(f.layout.file):] {
			v = v.Flatten()
			if v.HasNulls() {
				return nil, errs.Corruptf("table %s: the file %s has rows without a sequence number or row kind", f.sc.st.src.Name, f.path)
			}
			out.Cols = append(out.Cols, v)
		}
	}
	if f.sc.st.address != nil && !f.opts.untracked {
		f.addresses(out)
	}
	return out, nil
}

// filled returns a BIGINT vector without NULLs: they become what f gives.
func filled(v *vector.Vec, f func(i int) int64) *vector.Vec {
	out := vector.New(vector.I64, v.Len)
	p := v.Values()
	for i := range v.Len {
		if v.IsNull(i) {
			out.AppendI64(f(i))
		} else {
			out.AppendI64(p.I64s[v.At(i)])
		}
	}
	return out
}

// Close closes the file.
func (f *fileReader) Close() error {
	if f.del != nil {
		f.sc.req.Budget.Release(f.del.m.Bytes())
		f.del = nil
	}
	if f.r == nil {
		return nil
	}
	r := f.r
	f.r, f.left = nil, 0
	return r.Close()
}
