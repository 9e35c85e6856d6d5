package read

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// evolutionOption makes files of one table hold some columns each of the same
// rows (paimon-format: data evolution).
const evolutionOption = "data-evolution.enabled"

// evolves reports whether a table's files may hold some of its columns only.
func evolves(schema *catalog.Schema) bool {
	return len(schema.PrimaryKeys) == 0 && spec.NewOptions(schema.Options).Bool(evolutionOption, false)
}

// family is the files that hold columns of the same rows: those with the ids
// first to first+rows-1.
type family struct {
	first, rows int64
	files       []*spec.ManifestEntry // all of these rows; newest first
	parts       []*spec.ManifestEntry // BLOB files, of some of these rows each
}

// families groups the files of a bucket, in the order of their rows.
func (s *Source) families(files []*spec.ManifestEntry) ([]*family, error) {
	var out []*family
	var parts []*spec.ManifestEntry
	byRange := map[[2]int64]*family{}
	for _, e := range files {
		f := &e.File
		if strings.Contains(f.FileName, ".vector.") {
			return nil, errs.Unsupportedf(-1, "files of vectors beside the rows (file %s of table %s)", f.FileName, s.Name)
		}
		if format.FormatOf(f.FileName) == "blob" {
			parts = append(parts, e)
			continue
		}
		if !f.FirstRowID.OK { // nothing else can have columns of its rows
			out = append(out, &family{rows: f.RowCount, files: []*spec.ManifestEntry{e}, first: -1})
			continue
		}
		k := [2]int64{f.FirstRowID.V, f.RowCount}
		if byRange[k] == nil {
			byRange[k] = &family{first: k[0], rows: k[1]}
			out = append(out, byRange[k])
		}
		byRange[k].files = append(byRange[k].files, e)
	}
	slices.SortStableFunc(out, func(a, b *family) int { return cmp.Compare(a.first, b.first) })
	for i, f := range out {
		slices.SortStableFunc(f.files, func(a, b *spec.ManifestEntry) int { return cmp.Compare(b.File.MaxSequence, a.File.MaxSequence) })
		if i > 0 && f.first >= 0 && out[i-1].first+out[i-1].rows > f.first {
			return nil, errs.Unsupportedf(-1, "files whose row ids overlap in part (%s and %s of table %s)", out[i-1].files[0].File.FileName, f.files[0].File.FileName, s.Name)
		}
	}
	for _, e := range parts {
		first := e.File.FirstRowID
		i := slices.IndexFunc(out, func(f *family) bool {
			return first.OK && f.first >= 0 && first.V >= f.first && first.V+e.File.RowCount <= f.first+f.rows
		})
		if i < 0 {
			return nil, errs.Corruptf("table %s: the rows of the file %s are in no other file", s.Name, e.File.FileName)
		}
		out[i].parts = append(out[i].parts, e)
	}
	return out, nil
}

// columnIn returns the position of a table's column in a file's schema, and how
// new its values are, when the file has it.
func columnIn(from *catalog.Schema, e *spec.ManifestEntry, id int) (at int, sequence int64, ok bool) {
	at = fieldByID(from, id)
	if at < 0 {
		return 0, 0, false
	}
	sequence = e.File.MaxSequence
	if e.File.WriteCols.OK {
		i := slices.Index(e.File.WriteCols.V, from.Fields[at].Name)
		if i < 0 {
			return 0, 0, false
		}
		if s := e.File.WriteColsSeq; s.OK && i < len(s.V) {
			sequence = s.V[i]
		}
	}
	return at, sequence, true
}

// lane is the files, one after the other, that some columns of a family are read
// from.
type lane struct {
	files  []*spec.ManifestEntry
	cols   []int // positions in the scan's columns
	layout *layout
	track  bool // it gives the row ids and sequence numbers too

	cur *fileReader
	b   *vector.Batch // nil: the next one is due
	pos int           // row of b
}

// familyReader reads the columns of a family from the files that have them.
type familyReader struct {
	sc    *scan
	lanes []*lane
	left  int64
	at    int64
	fixed []*vector.Vec // of columns that no file has: partition values and NULLs
	out   vector.Batch
}

func (sc *scan) openFamily(s *section) (*familyReader, error) {
	f := s.family
	r := &familyReader{sc: sc, left: f.rows, fixed: make([]*vector.Vec, len(sc.req.Columns))}
	main := make([]*lane, len(f.files))
	laneOf := func(i int) *lane {
		if main[i] == nil {
			main[i] = &lane{files: f.files[i : i+1], layout: &layout{}}
			r.lanes = append(r.lanes, main[i])
		}
		return main[i]
	}
	for c, column := range sc.req.Columns {
		fd := sc.st.schema.Fields[column]
		if i := slices.Index(sc.st.schema.PartitionKeys, fd.Name); i >= 0 {
			values, err := f.files[0].Partition.Decode(spec.TypesOf(sc.st.schema, sc.st.schema.PartitionKeys))
			if err != nil {
				return nil, sc.st.src.vanished(sc.st.snap, f.files[0].File.FileName, err)
			}
			r.fixed[c] = values[i].AsConst(1)
			continue
		}
		best, newest := -1, int64(0)
		for i, e := range f.files {
			if _, sequence, ok := columnIn(sc.schemas[e.File.SchemaID], e, fd.ID); ok && (best < 0 || sequence > newest) {
				best, newest = i, sequence
			}
		}
		var l *lane
		var from *catalog.Schema
		if parts, err := sc.partsOf(f, fd); err != nil {
			return nil, err
		} else if parts != nil {
			l = &lane{files: parts, layout: &layout{}}
			r.lanes = append(r.lanes, l)
			from = sc.schemas[parts[0].File.SchemaID]
		} else if best >= 0 {
			l = laneOf(best)
			from = sc.schemas[f.files[best].File.SchemaID]
		} else {
			v := fd.Type.NewVec(1)
			v.AppendNull()
			r.fixed[c] = v.AsConst(1)
			continue
		}
		if err := sc.addColumn(l.layout, from, column); err != nil {
			return nil, err
		}
		l.cols = append(l.cols, c)
	}
	if sc.st.tracking || len(r.lanes) == 0 {
		laneOf(0).track = sc.st.tracking
	}
	return r, nil
}

// partsOf returns the BLOB files of a column, in the order of their rows; nil when
// there are none.
func (sc *scan) partsOf(f *family, fd catalog.Field) ([]*spec.ManifestEntry, error) {
	var list []*spec.ManifestEntry
	for _, e := range f.parts {
		if _, _, ok := columnIn(sc.schemas[e.File.SchemaID], e, fd.ID); ok {
			list = append(list, e)
		}
	}
	if list == nil {
		return nil, nil
	}
	slices.SortStableFunc(list, func(a, b *spec.ManifestEntry) int {
		return cmp.Or(cmp.Compare(a.File.FirstRowID.V, b.File.FirstRowID.V), cmp.Compare(b.File.MaxSequence, a.File.MaxSequence))
	})
	var out []*spec.ManifestEntry
	next := f.first
	for _, e := range list {
		first := e.File.FirstRowID.V
		switch {
		case first > next:
			return nil, errs.Corruptf("table %s: no BLOB file has the rows from %d on (column %q)", sc.st.src.Name, next, fd.Name)
		case first < next:
			if last := out[len(out)-1]; e.File.MaxSequence > last.File.MaxSequence || first+e.File.RowCount > next {
				return nil, errs.Unsupportedf(-1, "BLOB files whose rows overlap in part (%s and %s of table %s)", last.File.FileName, e.File.FileName, sc.st.src.Name)
			}
			continue // replaced by a newer file
		}
		if len(out) > 0 && out[0].File.SchemaID != e.File.SchemaID {
			return nil, errs.Unsupportedf(-1, "BLOB files of one column under several schemas (file %s of table %s)", e.File.FileName, sc.st.src.Name)
		}
		out = append(out, e)
		next += e.File.RowCount
	}
	if next != f.first+f.rows {
		return nil, errs.Corruptf("table %s: no BLOB file has the rows from %d on (column %q)", sc.st.src.Name, next, fd.Name)
	}
	return out, nil
}

// fill makes the lane's next rows ready.
func (l *lane) fill(ctx context.Context, sc *scan) error {
	for l.b == nil || l.pos == l.b.Len {
		if l.cur == nil {
			if len(l.files) == 0 {
				return errs.Corruptf("table %s: the files of one range of row ids differ in their rows", sc.st.src.Name)
			}
			f, err := sc.openFile(ctx, l.files[0], fileOptions{layout: l.layout, untracked: !l.track})
			if err != nil {
				return err
			}
			l.cur, l.files = f, l.files[1:]
		}
		var err error
		if l.b, err = l.cur.Next(ctx); err != nil {
			return err
		}
		if l.pos = 0; l.b == nil {
			err, l.cur = l.cur.Close(), nil
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Next implements connector.BatchReader.
func (r *familyReader) Next(ctx context.Context) (*vector.Batch, error) {
	if r.left == 0 {
		return nil, ctx.Err()
	}
	n := int(min(r.left, vector.MaxBatchRows))
	for _, l := range r.lanes {
		if err := l.fill(ctx, r.sc); err != nil {
			return nil, err
		}
		n = min(n, l.b.Len-l.pos)
	}
	out := &r.out
	out.Len, out.Seq = n, r.at
	out.Cols = append(out.Cols[:0], r.fixed...)
	for _, v := range out.Cols {
		if v != nil {
			v.Len = n
		}
	}
	var tracked []*vector.Vec
	for _, l := range r.lanes {
		for i, v := range l.b.Cols {
			v = rowsOf(v, l.pos, n, l.b.Len)
			if i < len(l.cols) {
				out.Cols[l.cols[i]] = v
			} else {
				tracked = append(tracked, v)
			}
		}
		l.pos += n
	}
	out.Cols = append(out.Cols, tracked...)
	r.left -= int64(n)
	r.at += int64(n)
	return out, nil
}

// rowsOf returns n rows of a vector of length rows.
func rowsOf(v *vector.Vec, from, n, rows int) *vector.Vec {
	switch {
	case from == 0 && n == rows:
		return v
	case v.Form == vector.Const:
		return v.AsConst(n)
	}
	sel := make([]uint16, n)
	for i := range sel {
		sel[i] = uint16(from + i)
	}
	return v.Gather(sel)
}

// Close implements connector.BatchReader.
func (r *familyReader) Close() error {
	var list []error
	for _, l := range r.lanes {
		if l.cur != nil {
			list = append(list, l.cur.Close())
			l.cur = nil
		}
		l.files = nil
	}
	r.left = 0
	return errors.Join(list...)
}
