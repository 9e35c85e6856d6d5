package read

import (
	"math"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// unknown is what is known of a column without statistics.
var unknown = connector.Bounds{Nulls: -1, Rows: -1}

// pruner leaves out partitions, buckets and files that hold no row that
// satisfies a filter.
type pruner struct {
	st     *State
	rules  *merge.Rules
	filter *connector.Predicate // nil: everything is kept
	part   *partitionFilter
	hashes bucketFilter
}

func newPruner(st *State, g *merge.Rules, filter *connector.Predicate) *pruner {
	p := &pruner{st: st, rules: g, filter: filter}
	if filter != nil {
		p.part = newPartitionFilter(st.schema, filter)
		p.hashes = newBucketFilter(st.schema, filter)
	}
	return p
}

func (p *pruner) partitions() *partitionFilter { return p.part }

// partitionFilter judges partitions by their values.
type partitionFilter struct {
	filter *connector.Predicate
	types  []catalog.Type
	pos    []int // column of the schema -> position among the partition keys, -1
	seen   map[string]bool
}

// newPartitionFilter returns nil when the filter says nothing about partitions.
func newPartitionFilter(s *catalog.Schema, filter *connector.Predicate) *partitionFilter {
	if len(s.PartitionKeys) == 0 {
		return nil
	}
	f := &partitionFilter{filter: filter, types: spec.TypesOf(s, s.PartitionKeys), seen: map[string]bool{}}
	f.pos = make([]int, len(s.Fields))
	for i := range f.pos {
		f.pos[i] = -1
	}
	for i, c := range s.Columns(s.PartitionKeys) {
		f.pos[c] = i
	}
	return f
}

// partition reports whether rows of a partition may satisfy the filter.
func (f *partitionFilter) partition(row spec.BinaryRow) (bool, error) {
	if ok, known := f.seen[string(row)]; known {
		return ok, nil
	}
	vals, err := row.Decode(f.types)
	if err != nil {
		return false, err
	}
	ok := f.filter.MayMatch(func(c int) connector.Bounds {
		if c >= len(f.pos) || f.pos[c] < 0 {
			return unknown
		}
		v := vals[f.pos[c]]
		if v.IsNull(0) {
			return connector.Bounds{Nulls: 1, Rows: 1}
		}
		return connector.Bounds{Min: v, Max: v, Nulls: 0, Rows: 1}
	})
	f.seen[string(row)] = ok
	return ok, nil
}

// manifest reports whether a manifest may name files of such partitions.
func (f *partitionFilter) manifest(m *spec.ManifestMeta) bool {
	stats, err := m.PartitionStats.Decode(f.types)
	if err != nil {
		return true // the entries decide
	}
	return f.filter.MayMatch(func(c int) connector.Bounds {
		if c >= len(f.pos) || f.pos[c] < 0 {
			return unknown
		}
		return statsBounds(stats[f.pos[c]], m.Added+m.Deleted)
	})
}

// statsBounds returns the bounds that statistics give for a set of rows.
func statsBounds(s spec.ColumnStats, rows int64) connector.Bounds {
	b := connector.Bounds{Nulls: -1, Rows: rows}
	if s.Nulls.OK && s.Nulls.V >= 0 && s.Nulls.V <= rows {
		b.Nulls = s.Nulls.V
	}
	if s.Min == nil || s.Max == nil || s.Min.IsNull(0) || s.Max.IsNull(0) || isNaN(s.Min) || isNaN(s.Max) ||
		vector.Compare(s.Min, 0, s.Max, 0) > 0 {
		return b
	}
	b.Min, b.Max = s.Min, s.Max
	return b
}

// isNaN reports a bound that writers of ORC leave when a file begins with NaN.
func isNaN(v *vector.Vec) bool {
	switch v.Kind {
	case vector.F32:
		return math.IsNaN(float64(v.F32s[0]))
	case vector.F64:
		return math.IsNaN(v.F64s[0])
	}
	return false
}

// bucket returns the files of a bucket that must be read.
func (p *pruner) bucket(j *judge, b *bucket) ([]spec.Ref, error) {
	if p.filter == nil {
		return b.refs, nil
	}
	if !p.hashes.keep(j.l, b) {
		return nil, nil
	}
	may := make([]bool, len(b.refs))
	any := false
	merges := len(p.st.schema.PrimaryKeys) > 0 && !p.rules.LoneAt(len(b.refs), j.l.state(b.refs))
	// Where a row is made of the values of several, the filter may hold for it
	// and for none of them.
	if !merges || !p.rules.Combines() {
		for i, r := range b.refs {
			err := j.file(r)
			if err != nil {
				return nil, err
			}
			if may[i] = j.mayMatch(); may[i] && j.x.Embedded(j.at) {
				if may[i], err = j.indexed(r); err != nil {
					return nil, err
				}
			}
			any = any || may[i]
		}
		if !any {
			return nil, nil
		}
	}
	// A row of a primary-key table may hide an older one, so a file goes on its
	// own only by its key range, or when no file can hide a row of another.
	if merges {
		for i, r := range b.refs {
			if err := j.file(r); err != nil {
				return nil, err
			}
			may[i] = j.mayMatchKeys()
		}
	}
	var kept []spec.Ref
	for i, r := range b.refs {
		if may[i] {
			kept = append(kept, r)
		}
	}
	return kept, nil
}

// rowIDColumn is the column that row tracking adds to compacted files.
const (
	rowIDColumn   = "_ROW_ID"
	rowIDColumnID = 2147483642
)

// valueStats returns a file's value statistics by field id: nothing for columns
// without, and for files whose statistics cannot be decoded.
func valueStats(schema *catalog.Schema, e *spec.ManifestEntry) map[int]spec.ColumnStats {
	var names []string
	switch {
	case e.File.ValueStatsCols.OK:
		names = e.File.ValueStatsCols.V
	case e.File.WriteCols.OK:
		names = e.File.WriteCols.V
	default:
		for _, f := range schema.Fields {
			names = append(names, f.Name)
		}
	}
	cols, types := make([]int, len(names)), make([]catalog.Type, len(names))
	for i, n := range names {
		switch cols[i] = schema.Column(n); {
		case cols[i] >= 0:
			types[i] = schema.Fields[cols[i]].Type
		case n == rowIDColumn || n == spec.SequenceColumn:
			types[i] = catalog.TBigInt
		default:
			return nil
		}
	}
	if e.File.ValueStats.Min.Arity() != len(types) || e.File.ValueStats.Max.Arity() != len(types) {
		return nil
	}
	stats, err := e.File.ValueStats.Decode(types)
	if err != nil {
		return nil
	}
	out := make(map[int]spec.ColumnStats, len(cols))
	for i, c := range cols {
		if c < 0 {
			continue
		}
		out[schema.Fields[c].ID] = stats[i]
	}
	return out
}

// convertBounds makes bounds of a file's type hold in the table's type. Only
// conversions that keep the order are followed; after others nothing is known
// but the number of NULLs.
func convertBounds(b connector.Bounds, from, to catalog.Type) connector.Bounds {
	if b.Min == nil || sameValues(from, to) {
		return b
	}
	if from.Kind >= catalog.TinyInt && from.Kind <= catalog.Int && to.Kind == catalog.BigInt {
		wide := func(v *vector.Vec) *vector.Vec {
			w := vector.New(vector.I64, 1)
			w.AppendI64(int64(v.I32s[b.Row]))
			return w
		}
		b.Min, b.Max, b.Row = wide(b.Min), wide(b.Max), 0
		return b
	}
	b.Min, b.Max = nil, nil
	if to.Kind == catalog.Decimal {
		b.Nulls = -1 // what does not fit becomes NULL
	}
	return b
}

// sameValues reports whether every value of type a reads the same as type b.
func sameValues(a, b catalog.Type) bool {
	a.NotNull, b.NotNull = false, false
	if a.Equal(b) {
		return true
	}
	if nested(a) || nested(b) {
		return false
	}
	switch {
	case a.Kind >= catalog.TinyInt && a.Kind <= catalog.Int && b.Kind >= a.Kind && b.Kind <= catalog.Int:
		return true
	case a.Kind == catalog.Char && b.Kind == catalog.Varchar, a.Kind == catalog.Varchar && b.Kind == catalog.Varchar,
		a.Kind == catalog.Binary && b.Kind == catalog.Varbinary, a.Kind == catalog.Varbinary && b.Kind == catalog.Varbinary:
		return a.Length <= b.Length
	}
	return false
}

// fieldByID returns the position of a field, -1 when the schema lacks it.
func fieldByID(s *catalog.Schema, id int) int {
	for i, f := range s.Fields {
		if f.ID == id {
			return i
		}
	}
	return -1
}

// bucketFilter knows the hashes that rows satisfying a filter can have. The zero
// value keeps every bucket.
type bucketFilter struct {
	keys   []spec.BinaryRow
	fields []catalog.Field // of the bucket key
	on     bool
}

// hashed reports whether files of a schema were put into buckets by the hashes
// of the same types.
func (f bucketFilter) hashed(s *catalog.Schema) bool {
	for _, k := range f.fields {
		at := -1
		if s != nil {
			at = fieldByID(s, k.ID)
		}
		if at < 0 {
			return false
		}
		was := s.Fields[at].Type
		text := was.Kind == k.Type.Kind && was.Physical() == vector.Str // of any length
		if !text && !was.Nullable().Equal(k.Type.Nullable()) {
			return false
		}
	}
	return true
}

// maxBucketKeys bounds the combinations of values that are hashed.
const maxBucketKeys = 1000

// newBucketFilter uses the equalities that the filter demands of all bucket key
// columns.
func newBucketFilter(s *catalog.Schema, filter *connector.Predicate) bucketFilter {
	o := spec.NewOptions(s.Options)
	if o.String("bucket-function.type", "default") != "default" {
		return bucketFilter{}
	}
	names := s.TrimmedPrimaryKeys()
	if k := o.String("bucket-key", ""); k != "" {
		names = nil
		for _, n := range strings.Split(k, ",") {
			names = append(names, strings.TrimSpace(n))
		}
	}
	if len(names) == 0 {
		return bucketFilter{}
	}
	combos := 1
	values := make([]*vector.Vec, len(names))
	cols := s.Columns(names)
	for i, c := range cols {
		if c < 0 {
			return bucketFilter{}
		}
		values[i] = equalities(filter, c)
		if values[i] == nil {
			return bucketFilter{}
		}
		if combos *= values[i].Len; combos > maxBucketKeys {
			return bucketFilter{}
		}
	}
	f := bucketFilter{on: true}
	enc := spec.NewRowEncoder(spec.TypesOf(s, names))
	rows := make([]int, len(names))
	for n := range combos {
		for i, v := range values {
			rows[i] = n % v.Len
			n /= v.Len
		}
		f.keys = append(f.keys, enc.EncodeAt(values, rows).Clone())
	}
	for _, c := range cols {
		f.fields = append(f.fields, s.Fields[c])
	}
	return f
}

// equalities returns the values that the filter restricts a column to, nil when
// it does not.
func equalities(p *connector.Predicate, column int) *vector.Vec {
	switch p.Op {
	case connector.And:
		for _, c := range p.Children {
			if v := equalities(c, column); v != nil {
				return v
			}
		}
	case connector.Eq, connector.In:
		if p.Column == column {
			return p.Value
		}
	}
	return nil
}

// keep reports whether a bucket may hold such rows.
func (f bucketFilter) keep(l *liveFiles, b *bucket) bool {
	if !f.on {
		return true
	}
	last, seen := int32(0), int64(-1)
	for _, r := range b.refs {
		x := l.sets[r.Set]
		total := x.TotalBuckets(int(r.Index))
		if total <= 0 {
			return true
		}
		if id := x.Shapes()[x.Shape(int(r.Index))].SchemaID; id != seen {
			if !f.hashed(l.schemas[id]) {
				return true
			}
			seen = id
		}
		if total == last {
			continue
		}
		last = total
		for _, k := range f.keys {
			if spec.Bucket(k, total) == b.id {
				return true
			}
		}
	}
	return false
}
