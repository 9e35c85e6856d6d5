package read

import (
	"slices"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// A condition that becomes stricter while rows are read (connector.Dynamic) leaves
// out files by their statistics, and what it can of those that are opened.
//
// Where rows of several files are merged it may only be on a column of the primary
// key: rows of one key have the same value there, so that the files of a section
// may be read under different states of it. A row that comes although a file which
// hides it was left out does not satisfy the condition, which connector.Narrowing
// allows.

// judgeOf returns a judge of files by a condition that changes.
func (sc *scan) judgeOf() *judge { return newJudge(&pruner{st: sc.st, rules: sc.rules}, sc) }

// beyond reports whether no row of a file read alone may satisfy what is known of d
// now.
func (j *judge) beyond(r spec.Ref, d *connector.Dynamic) (bool, error) {
	p := d.Load()
	if p == nil {
		return false, nil
	}
	if err := j.file(r); err != nil {
		return false, err
	}
	j.p.filter = p
	return !j.mayMatch(), nil
}

// beyond is that of a file of a run; with keysOnly, by its keys alone.
func (sc *scan) beyond(e *spec.ManifestEntry, d *connector.Dynamic, keysOnly bool) bool {
	if d == nil || d.Column >= len(sc.st.schema.Fields) {
		return false
	}
	p := d.Load()
	if p == nil {
		return false
	}
	b, ok := sc.bounds(e, d.Column, keysOnly)
	return ok && !p.MayMatch(func(int) connector.Bounds { return b })
}

// bounds returns what the manifest says of a column in a file.
func (sc *scan) bounds(e *spec.ManifestEntry, column int, keysOnly bool) (connector.Bounds, bool) {
	f := sc.st.schema.Fields[column]
	if at := slices.Index(sc.st.schema.TrimmedPrimaryKeys(), f.Name); at >= 0 {
		k, err := keysOf(e, spec.TypesOf(sc.st.schema, sc.st.schema.TrimmedPrimaryKeys()))
		if err == nil && e.File.SchemaID == sc.st.schema.ID {
			// Ranges of composite keys bound the first column only.
			if at == 0 {
				return connector.Bounds{Min: k.min[0], Max: k.max[0], Nulls: 0, Rows: e.File.RowCount}, true
			}
		}
	}
	if keysOnly {
		return unknown, false
	}
	from := sc.schemas[e.File.SchemaID]
	if from == nil {
		return unknown, false
	}
	at := fieldByID(from, f.ID)
	if at < 0 || !sameValues(from.Fields[at].Type, f.Type) || from.Fields[at].Type.Physical() != f.Type.Physical() {
		return unknown, false
	}
	s, ok := valueStats(from, e)[f.ID]
	if !ok || padsBounds(from.Fields[at].Type, e.File.FileName) {
		return unknown, false
	}
	return statsBounds(s, e.File.RowCount), true
}

// lateFile counts a file that was left out.
func (sc *scan) lateFile() {
	if sc.req.Reads != nil {
		sc.req.Reads.LateFiles.Add(1)
	}
}

// narrow tells the file's reader of a condition, when its column is stored as the
// table has it.
func (f *fileReader) narrow(d *connector.Dynamic) {
	n, ok := f.r.(format.Narrowing)
	if !ok || d == nil {
		return
	}
	_, cols := f.sc.fileFilter(f.e, fileOptions{filter: &connector.Predicate{Op: connector.IsNotNull, Column: d.Column}, keysOnly: f.opts.keysOnly})
	if len(cols) == 1 {
		n.Narrow(cols[0], d)
	}
}

// inOrder returns d for readers whose rows must come in their order.
func inOrder(d *connector.Dynamic) *connector.Dynamic {
	return &connector.Dynamic{Column: d.Column, Load: d.Load}
}

// Range implements connector.Ranged.
func (s *split) Range(column int) connector.Bounds {
	var all connector.Bounds
	j := s.sc.judgeOf()
	for i, x := range s.sections {
		b := s.sc.sectionRange(j, x, column)
		if b.Min == nil {
			return unknown
		}
		if i == 0 || vector.Compare(b.Min, 0, all.Min, 0) < 0 {
			all.Min = b.Min
		}
		if i == 0 || vector.Compare(b.Max, 0, all.Max, 0) > 0 {
			all.Max = b.Max
		}
		all.Rows += x.rows
	}
	all.Nulls = -1
	return all
}

// sectionRange returns bounds of a column in the files of a section, both or none.
func (sc *scan) sectionRange(j *judge, x *section, column int) connector.Bounds {
	out := unknown
	switch {
	case x.family != nil || column >= len(sc.st.schema.Fields):
		return out
	case x.runs == nil:
		if j.file(x.file) != nil {
			return out // who reads it says why
		}
		b := j.bounds(column)
		if b.Min == nil || b.Max == nil {
			return out
		}
		return connector.Bounds{Min: oneRow(b.Min, b.Row), Max: oneRow(b.Max, b.Row), Nulls: -1, Rows: b.Rows}
	}
	for _, files := range x.runs {
		for _, e := range files {
			b, ok := sc.bounds(e, column, false)
			if !ok || b.Min == nil || b.Max == nil {
				return unknown
			}
			if out.Min == nil || vector.Compare(b.Min, 0, out.Min, 0) < 0 {
				out.Min = b.Min
			}
			if out.Max == nil || vector.Compare(b.Max, 0, out.Max, 0) > 0 {
				out.Max = b.Max
			}
		}
	}
	return out
}

// oneRow copies a value.
func oneRow(v *vector.Vec, row int) *vector.Vec {
	out := vector.NewLike(v.Values(), 1)
	out.AppendFrom(v, row)
	return out
}
