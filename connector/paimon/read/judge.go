package read

import (
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// judge tells from the statistics of files whether rows of them may satisfy a
// filter. It decodes of each file only the columns that the filter asks for, into
// vectors that it uses again. It belongs to one goroutine.
type judge struct {
	p          *pruner
	sc         *scan
	l          *liveFiles
	views      map[[2]uint32]*view // by set and shape
	partitions map[[2]uint32][]*vector.Vec

	// of the file at hand
	x     *spec.Entries
	at    int
	view  *view
	part  []*vector.Vec
	stats spec.FileStats
	// shaped and parted are the keys of view and part.
	shaped, parted [2]uint32
}

// view is how the columns of the table are found in the statistics of files of
// one shape.
type view struct {
	cols         []viewColumn // by column of the table; filled on demand
	keys, values int          // columns in the statistics; values -1: unknown
	valueAt      map[string]int
}

type viewColumn struct {
	known      bool
	partition  int // position among the partition keys, -1
	absent     bool
	key, value int // positions in the statistics, -1
	from, to   catalog.Type
	same       bool // values of from read the same as to
	min, max   *vector.Vec
}

func newJudge(p *pruner, sc *scan) *judge {
	return &judge{p: p, sc: sc, l: sc.live, views: map[[2]uint32]*view{}, partitions: map[[2]uint32][]*vector.Vec{}}
}

// file moves to a file.
func (j *judge) file(r spec.Ref) error {
	j.x, j.at = j.l.sets[r.Set], int(r.Index)
	// Neighbours are alike as a rule.
	k := [2]uint32{r.Set, uint32(j.x.Shape(j.at))}
	if j.view == nil || k != j.shaped {
		if j.view = j.views[k]; j.view == nil {
			j.view = j.newView(&j.x.Shapes()[k[1]])
			j.views[k] = j.view
		}
		j.shaped = k
	}
	k[1] = uint32(j.x.Partition(j.at))
	if j.part == nil || k != j.parted {
		var ok bool
		if j.part, ok = j.partitions[k]; !ok {
			part, err := j.x.Partitions()[k[1]].Decode(spec.TypesOf(j.p.st.schema, j.p.st.schema.PartitionKeys))
			if err != nil {
				return j.sc.st.src.vanished(j.sc.st.snap, j.x.Name(j.at), err)
			}
			j.part = part
			j.partitions[k] = part
		}
		j.parted = k
	}
	j.x.Stats(j.at, &j.stats)
	return nil
}

func (j *judge) newView(s *spec.Shape) *view {
	schema := j.sc.schemas[s.SchemaID]
	v := &view{cols: make([]viewColumn, len(j.p.st.schema.Fields)), keys: len(schema.TrimmedPrimaryKeys())}
	var names []string
	switch {
	case s.ValueStatsCols.OK:
		names = s.ValueStatsCols.V
	case s.WriteCols.OK:
		names = s.WriteCols.V
	default:
		for _, f := range schema.Fields {
			names = append(names, f.Name)
		}
	}
	v.values = len(names)
	v.valueAt = make(map[string]int, len(names))
	for i, n := range names {
		if schema.Column(n) < 0 && n != rowIDColumn && n != spec.SequenceColumn {
			v.values = -1
		}
		v.valueAt[n] = i
	}
	return v
}

// column says where a column of the table is.
func (j *judge) column(c int) *viewColumn {
	v := &j.view.cols[c]
	if v.known {
		return v
	}
	*v = viewColumn{known: true, partition: -1, key: -1, value: -1}
	f := j.p.st.schema.Fields[c]
	for i, k := range j.p.st.schema.PartitionKeys {
		if k == f.Name {
			v.partition = i
			return v
		}
	}
	schema := j.sc.schemas[j.x.Shapes()[j.x.Shape(j.at)].SchemaID]
	at := fieldByID(schema, f.ID)
	if at < 0 {
		v.absent = true
		return v
	}
	v.from, v.to = schema.Fields[at].Type, f.Type
	v.same = sameValues(v.from, v.to)
	for i, k := range schema.TrimmedPrimaryKeys() {
		if k == schema.Fields[at].Name {
			v.key = i
		}
	}
	if i, ok := j.view.valueAt[schema.Fields[at].Name]; ok && j.view.values >= 0 {
		v.value = i
	}
	if v.from.IsPrimitive() {
		v.min, v.max = v.from.NewVec(1), v.from.NewVec(1)
	}
	return v
}

// decode returns the bounds of column c of n in statistics. ok is false when
// they cannot be decoded.
func (j *judge) decode(v *viewColumn, n, c int, lo, hi spec.BinaryRow, nulls spec.NullCounts) (s spec.ColumnStats, ok bool) {
	if v.min == nil || nulls.Len() != 0 && nulls.Len() != n {
		return s, false
	}
	v.min.Reset()
	v.max.Reset()
	if lo.DecodeField(n, c, v.from, v.min) != nil || hi.DecodeField(n, c, v.from, v.max) != nil {
		return s, false
	}
	s = spec.ColumnStats{Min: v.min, Max: v.max}
	if nulls.Len() > 0 {
		s.Nulls = nulls.At(c)
	}
	return s, true
}

// convert makes bounds in the file's type hold in the table's.
func (v *viewColumn) convert(b connector.Bounds) connector.Bounds {
	if v.same {
		return b
	}
	return convertBounds(b, v.from, v.to)
}

// key returns the bounds of a key column.
func (j *judge) key(v *viewColumn) (connector.Bounds, bool) {
	if v.key < 0 {
		return unknown, false
	}
	s, ok := j.decode(v, j.view.keys, v.key, j.stats.KeyMin, j.stats.KeyMax, j.stats.KeyNulls)
	if !ok {
		return unknown, false
	}
	return statsBounds(s, j.x.Rows(j.at)), true
}

// mayMatch judges the file by all its statistics.
func (j *judge) mayMatch() bool { return j.p.filter.MayMatch(j.bounds) }

// bounds returns what the file's statistics say of a column of the table. Its
// vectors are valid until the next call for that column.
func (j *judge) bounds(c int) connector.Bounds {
	if c >= len(j.view.cols) {
		return unknown
	}
	rows := j.x.Rows(j.at)
	v := j.column(c)
	switch {
	case v.partition >= 0:
		if x := j.part[v.partition]; !x.IsNull(0) {
			return connector.Bounds{Min: x, Max: x, Nulls: 0, Rows: rows}
		}
		return connector.Bounds{Nulls: rows, Rows: rows}
	case v.absent:
		return connector.Bounds{Nulls: rows, Rows: rows}
	}
	if b, ok := j.key(v); ok && b.Min != nil {
		return v.convert(b)
	}
	if v.value < 0 {
		return unknown
	}
	s, ok := j.decode(v, j.view.values, v.value, j.stats.ValueMin, j.stats.ValueMax, j.stats.ValueNulls)
	if !ok {
		return unknown
	}
	if padsBounds(v.from, j.x.Name(j.at)) {
		s.Min, s.Max = nil, nil
	}
	return v.convert(statsBounds(s, rows))
}

// padsBounds reports whether the bounds of a column in a file are padded where its
// values are not: ORC does it.
func padsBounds(t catalog.Type, file string) bool {
	return t.Kind == catalog.Char && strings.HasSuffix(file, ".orc")
}

// mayMatchKeys judges a file of a primary-key table by its key range alone.
func (j *judge) mayMatchKeys() bool {
	return j.p.filter.MayMatch(func(c int) connector.Bounds {
		if c >= len(j.view.cols) {
			return unknown
		}
		v := j.column(c)
		if b, ok := j.key(v); ok {
			return v.convert(b)
		}
		return unknown
	})
}
