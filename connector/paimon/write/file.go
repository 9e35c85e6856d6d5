package write

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// fileRows is the most rows a batch given to a file has; after each the file's
// size is compared with the target.
const fileRows = 4096

// groupBytes is what a file writer may buffer before it finishes a row group;
// append tables have several files open at once.
const (
	groupBytes       = 16 << 20
	appendGroupBytes = 4 << 20
)

// layout is how the rows of a table lie in its files:
//
//	keyed tables:   _KEY_<key>… (not when thin), _SEQUENCE_NUMBER, _VALUE_KIND, the table's columns
//	append tables:  the table's columns, and when tracked _ROW_ID, _SEQUENCE_NUMBER
type layout struct {
	schema  *catalog.Schema
	keys    []int // the trimmed primary key's positions in the schema
	types   []catalog.Type
	cols    []format.Column
	thin    bool
	tracked bool // rows carry the ids and versions that they have
}

func newLayout(s *catalog.Schema, o *options, tracked bool) *layout {
	l := &layout{schema: s, thin: o.thin, tracked: tracked}
	if o.keyed {
		names := s.TrimmedPrimaryKeys()
		l.keys, l.types = s.Columns(names), spec.TypesOf(s, names)
		if !l.thin {
			for _, k := range l.keys {
				f := s.Fields[k]
				l.cols = append(l.cols, format.Column{Name: spec.KeyPrefix + f.Name, Type: f.Type, ID: f.ID + spec.KeyIDOffset})
			}
		}
		l.cols = append(l.cols, format.Column{Name: spec.SequenceColumn, Type: catalog.TBigInt.Required(), ID: spec.SequenceID},
			format.Column{Name: spec.KindColumn, Type: catalog.TTinyInt.Required(), ID: spec.KindID})
	}
	for _, f := range s.Fields {
		l.cols = append(l.cols, format.Column{Name: f.Name, Type: f.Type, ID: f.ID})
	}
	if tracked {
		l.cols = append(l.cols, format.Column{Name: spec.RowIDColumn, Type: catalog.TBigInt, ID: spec.RowID},
			format.Column{Name: spec.SequenceColumn, Type: catalog.TBigInt, ID: spec.SequenceID})
	}
	return l
}

// head is the number of columns before the table's own.
func (l *layout) head() int {
	n := len(l.cols) - len(l.schema.Fields)
	if l.tracked {
		n -= 2
	}
	return n
}

// batch lays out rows for a file. cols are the table's columns, and of tracked
// rows their ids and versions; seq and kinds are of keyed tables only.
func (l *layout) batch(n int, cols []*vector.Vec, seq, kinds *vector.Vec) *vector.Batch {
	b := &vector.Batch{Len: n, Seq: -1, Cols: make([]*vector.Vec, 0, len(l.cols))}
	if len(l.keys) > 0 {
		if !l.thin {
			for _, k := range l.keys {
				b.Cols = append(b.Cols, cols[k])
			}
		}
		b.Cols = append(b.Cols, seq, kinds)
	}
	b.Cols = append(b.Cols, cols...)
	return b
}

// rolling writes rows of one bucket into files of about the target size.
type rolling struct {
	w      *Writer
	b      *bucket
	shape  *shape
	level  int32
	source int32
	names  *spec.Namer
	cur    *openFile
	group  int64 // bytes that a file may buffer before it finishes a row group
	done   []spec.DataFileMeta
	kinds  []int32
}

// openFile is a file being written.
type openFile struct {
	name   string
	path   string
	out    format.Writer
	enc    *spec.RowEncoder
	min    spec.BinaryRow
	max    spec.BinaryRow
	minSeq int64
	maxSeq int64
	rows   int64
	gone   int64 // retract rows
	index  *fileIndexes
}

func (w *Writer) newRolling(b *bucket, sh *shape, level, source int32) *rolling {
	group := int64(groupBytes)
	if !w.opts.keyed {
		group = appendGroupBytes
	}
	return &rolling{w: w, b: b, shape: sh, level: level, source: source, names: spec.NewNamer(), group: group}
}

func (r *rolling) open(ctx context.Context) error {
	w, sh := r.w, r.shape
	f := &openFile{name: sh.name(w.cfg.Paths, r.names), enc: spec.NewRowEncoder(sh.layout.types), min: spec.EmptyRow, max: spec.EmptyRow}
	e := spec.ManifestEntry{Partition: r.b.partition, Bucket: r.b.bucket, File: spec.DataFileMeta{FileName: f.name}}
	var err error
	if f.path, err = w.cfg.Paths.DataFile(&e); err != nil {
		return err
	}
	fw, err := w.cfg.Files.Create(ctx, f.path)
	if err != nil {
		return err
	}
	f.out, err = sh.format.NewWriter(ctx, fw, format.WriteOptions{Path: f.path, Columns: sh.layout.cols,
		Compression: sh.compression, Level: sh.zlevel, RowGroupBytes: r.group})
	if err != nil {
		fw.Abort() //nolint:errcheck // an unfinished file is invisible
		return err
	}
	if f.index, err = w.newIndexes(sh); err != nil {
		f.out.Abort() //nolint:errcheck // an unfinished file is invisible
		return err
	}
	r.cur = f
	return nil
}

// write adds rows that layout.batch laid out. For keyed tables they follow the
// rows before in key order; seq and kinds are the batch's.
func (r *rolling) write(ctx context.Context, b *vector.Batch, seq, kinds *vector.Vec, firstSeq int64) error {
	if r.cur == nil {
		if err := r.open(ctx); err != nil {
			return err
		}
	}
	f, l := r.cur, r.shape.layout
	if err := f.out.Write(b); err != nil {
		return err
	}
	n := b.Len
	if len(l.keys) > 0 {
		keys := make([]*vector.Vec, len(l.keys))
		for i, k := range l.keys {
			keys[i] = b.Cols[l.head()+k]
		}
		if f.rows == 0 {
			f.min = f.enc.Encode(keys, 0).Clone()
			f.minSeq, f.maxSeq = seq.I64s[0], seq.I64s[0]
		}
		f.max = f.enc.Encode(keys, n-1).Clone()
		for i := range n {
			f.minSeq, f.maxSeq = min(f.minSeq, seq.I64s[i]), max(f.maxSeq, seq.I64s[i])
			if retract(vector.RowKind(kinds.I32s[i])) {
				f.gone++
			}
		}
	} else {
		if f.rows == 0 {
			f.minSeq = firstSeq
		}
		f.maxSeq = firstSeq + int64(n) - 1
	}
	f.rows += int64(n)
	full := f.index.add(b.Cols[l.head():], n)
	if full || f.out.Size() >= r.w.opts.target || r.w.opts.targetRows > 0 && f.rows >= r.w.opts.targetRows {
		return r.close(ctx)
	}
	return nil
}

func retract(k vector.RowKind) bool { return k == vector.UpdateBefore || k == vector.Delete }

// close finishes the file being written, if any.
func (r *rolling) close(ctx context.Context) error {
	f := r.cur
	if f == nil {
		return nil
	}
	r.cur = nil
	st, err := f.out.Close()
	if err != nil {
		f.index.release()
		r.done = append(r.done, spec.DataFileMeta{FileName: f.name}) // it may exist
		return err
	}
	meta := spec.DataFileMeta{FileName: f.name, FileSize: st.Size, RowCount: st.Rows, MinKey: f.min, MaxKey: f.max,
		MinSequence: f.minSeq, MaxSequence: f.maxSeq, SchemaID: r.w.cfg.Schema.ID, Level: r.level,
		CreationTime: spec.Some(localMillis(r.w.cfg.Now())), DeleteRowCount: spec.Some(f.gone), FileSource: spec.Some(r.source)}
	if st.Rows != f.rows || len(st.Columns) != len(r.shape.layout.cols) {
		f.index.release()
		r.done = append(r.done, meta)
		return errs.Internalf("write %s: the format counts %d rows of %d columns, not %d of %d", f.path, st.Rows, len(st.Columns), f.rows, len(r.shape.layout.cols))
	}
	if r.w.opts.tracking {
		meta.MinSequence, meta.MaxSequence = 0, 0 // the commit gives them
	}
	if r.shape.layout.tracked {
		meta.WriteCols = spec.Some(r.shape.layout.names())
	}
	r.shape.addStats(r.w.opts, &meta, st.Columns)
	err = f.index.finish(ctx, f.path, &meta)
	r.done = append(r.done, meta)
	return err
}

// finish closes the last file and returns all.
func (r *rolling) finish(ctx context.Context) ([]spec.DataFileMeta, error) {
	err := r.close(ctx)
	return r.done, err
}

// abort gives up the file being written and returns the finished ones, which
// the caller removes.
func (r *rolling) abort() []spec.DataFileMeta {
	if r.cur != nil {
		r.cur.out.Abort() //nolint:errcheck // an unfinished file is invisible
		r.cur.index.release()
		r.cur = nil
	}
	return r.done
}

// names returns the names of the columns.
func (l *layout) names() []string {
	out := make([]string, len(l.cols))
	for i, c := range l.cols {
		out[i] = c.Name
	}
	return out
}

// addStats sets the statistics of a file from those of its columns.
func (sh *shape) addStats(o *options, m *spec.DataFileMeta, cols []format.ColumnStats) {
	l := sh.layout
	m.KeyStats = spec.EmptyStats()
	if len(l.keys) > 0 {
		stats := make([]spec.ColumnStats, len(l.keys))
		for i, k := range l.keys {
			at := i
			if l.thin {
				at = l.head() + k
			}
			stats[i] = keep(keyStats, l.types[i], cols[at])
		}
		m.KeyStats = spec.EncodeStats(l.types, stats)
	}
	var types []catalog.Type
	var stats []spec.ColumnStats
	var names []string
	for i, f := range l.schema.Fields {
		mode := o.stats[i]
		if lv, ok := o.statsLevels[m.Level]; ok && !sh.changelog {
			mode = lv
		}
		if sh.stats != nil {
			mode = *sh.stats
		}
		s := keep(mode, f.Type, cols[l.head()+i])
		if o.dense && s.None() {
			continue
		}
		types, stats, names = append(types, f.Type), append(stats, s), append(names, f.Name)
	}
	m.ValueStats = spec.EncodeStats(types, stats)
	if len(names) < len(l.schema.Fields) || l.tracked {
		if names == nil {
			names = []string{}
		}
		m.ValueStatsCols = spec.Some(names)
	}
}

// keep reduces a column's statistics to what its mode keeps.
func keep(mode statsMode, t catalog.Type, c format.ColumnStats) spec.ColumnStats {
	var s spec.ColumnStats
	if mode.none || c.Nulls < 0 {
		return s
	}
	s.Nulls = spec.Some(c.Nulls)
	if mode.counts || c.Min == nil || c.Max == nil {
		return s
	}
	s.Min, s.Max = c.Min, c.Max
	if mode.truncate == 0 || t.Physical() != vector.Str {
		return s
	}
	text := t.Kind == catalog.Char || t.Kind == catalog.Varchar
	lo := spec.TruncateMin(c.Min.Bytes(0), mode.truncate, text)
	hi, ok := spec.TruncateMax(c.Max.Bytes(0), mode.truncate, text)
	if !ok {
		s.Min, s.Max = nil, nil
		return s
	}
	s.Min, s.Max = vector.New(vector.Str, 1), vector.New(vector.Str, 1)
	s.Min.AppendBytes(lo)
	s.Max.AppendBytes(hi)
	return s
}
