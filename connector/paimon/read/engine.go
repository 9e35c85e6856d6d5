package read

import (
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// mergeEngine is how the rows of one key become one.
type mergeEngine uint8

const (
	deduplicate   mergeEngine = iota // the newest row, unless it is a deletion
	firstRow                         // the oldest row
	partialUpdate                    // of each column the newest value that is not NULL
	aggregation                      // of each column an aggregate
)

// engine is what a table's options say about merging and visibility
// (paimon-format: merge engines, level-0 visibility).
type engine struct {
	kind mergeEngine
	// skipLevel0: rows on level 0 are not visible until they are compacted.
	skipLevel0 bool
	// apart: above level 0 no row hides another, so that files without
	// deletions are read one by one whatever their levels.
	apart         bool
	vectors       bool // deletion vectors
	ignoreDeletes bool
	// lookup: compaction looks older rows up, so that of the rows above level 0
	// the one on the lowest level has taken in the others.
	lookup bool

	sequence   []int // columns that order the rows of a key before their sequence numbers
	descending bool

	columns        []rule // one a column of the schema, of partial-update and aggregation
	ordering       []int  // columns of sequence groups that order, ascending
	removeOnDelete bool   // a deletion removes the row
	removeOnGroup  map[int]bool
}

// rule is how the values of a column merge.
type rule struct {
	name      string // of the column
	notNull   bool
	aggregate *aggregate // nil: none
	group     []int      // the ordering columns of its sequence group, nil: in none
	orders    bool       // it is one of them
	err       error      // why rows with this column cannot be merged
}

// refuseColumns returns why rows with the given columns cannot be merged.
func (g *engine) refuseColumns(columns []int) error {
	for _, c := range columns {
		if g.combines() && g.columns[c].err != nil {
			return g.columns[c].err
		}
	}
	return nil
}

// newEngine reads the options of a table and refuses what is not implemented.
func (s *Source) newEngine(schema *catalog.Schema) (*engine, error) {
	o := spec.NewOptions(schema.Options)
	g := &engine{vectors: o.Bool("deletion-vectors.enabled", false)}
	if len(schema.PrimaryKeys) == 0 {
		return g, o.Err
	}
	var err error
	switch e := strings.ToLower(o.String("merge-engine", "deduplicate")); e {
	case "deduplicate":
	case "first-row":
		g.kind = firstRow
	case "partial-update":
		g.kind = partialUpdate
		err = g.partialUpdate(s, schema, o)
	case "aggregation":
		g.kind = aggregation
		err = g.aggregation(s, schema, o)
	default:
		err = errs.Unsupportedf(-1, "reading tables with 'merge-engine' = '%s' (table "+s.Name+")", e)
	}
	if err == nil {
		err = g.sequenceFields(s, schema, o)
	}
	if err != nil {
		return nil, err
	}
	g.ignoreDeletes = o.Bool("ignore-delete", false)
	g.skipLevel0 = g.vectors && !o.Bool("deletion-vectors.merge-on-read", false) || !g.vectors && g.kind == firstRow
	g.apart = g.skipLevel0
	g.lookup = g.kind != firstRow && (g.vectors || o.Bool("force-lookup", false) || strings.ToLower(o.String("changelog-producer", "none")) == "lookup")
	if g.ignoreDeletes && (g.removeOnDelete || g.removeOnGroup != nil) && g.kind == partialUpdate {
		return nil, errs.Userf(errs.InvalidConfig, "read table %s: 'ignore-delete' contradicts its option to remove rows", s.Name)
	}
	return g, o.Err
}

// sequenceFields reads 'sequence.field' and its order.
func (g *engine) sequenceFields(s *Source, schema *catalog.Schema, o *spec.Options) error {
	text := o.String("sequence.field", "")
	if text == "" {
		return nil
	}
	switch order := strings.ToLower(o.String("sequence.field.sort-order", "ascending")); order {
	case "ascending":
	case "descending":
		g.descending = true
	default:
		return errs.Unsupportedf(-1, "reading tables with 'sequence.field.sort-order' = '%s' (table "+s.Name+")", order)
	}
	if g.kind == firstRow {
		return errs.Unsupportedf(-1, "reading tables with 'sequence.field' and 'merge-engine' = 'first-row' (table %s)", s.Name)
	}
	for _, name := range strings.Split(text, ",") {
		c := schema.Column(strings.TrimSpace(name))
		if c < 0 {
			return errs.Userf(errs.InvalidConfig, "read table %s: 'sequence.field' names %q, which is no column", s.Name, name)
		}
		// Java compares floats by < and >, which puts NaN nowhere.
		if t := schema.Fields[c].Type; nested(t) || t.Kind == catalog.Float || t.Kind == catalog.Double {
			return errs.Unsupportedf(-1, "reading tables with a 'sequence.field' of type %s (table %s)", t.Nullable(), s.Name)
		}
		g.sequence = append(g.sequence, c)
	}
	return nil
}

// plain reports whether the newest row of a key wins, so that merging needs no
// look at the others.
func (g *engine) plain() bool { return g.kind == deduplicate && g.sequence == nil }

// combines reports whether rows are made of several rows' values.
func (g *engine) combines() bool { return g.kind == partialUpdate || g.kind == aggregation }

// extras returns the columns that merging needs besides those read and the keys.
func (g *engine) extras() []int { return append(append([]int(nil), g.sequence...), g.ordering...) }

// lone reports whether no file of a bucket hides a row of another: all lie on one
// level above 0, where key ranges do not overlap, or are known to be apart.
func (g *engine) lone(files []*spec.ManifestEntry) bool {
	for _, f := range files {
		if f.File.Level == 0 || f.File.Level != files[0].File.Level && (!g.apart || holdsDeletions(f)) {
			return false
		}
	}
	return true
}

// alone reports whether the files of a bucket can be read one by one: none hides
// a row of another and none holds deletions.
func (g *engine) alone(files []*spec.ManifestEntry) bool {
	for _, f := range files {
		if holdsDeletions(f) {
			return false
		}
	}
	return g.lone(files)
}

// holdsDeletions reports whether rows of a file may be deletions.
func holdsDeletions(f *spec.ManifestEntry) bool {
	return !f.File.DeleteRowCount.OK || f.File.DeleteRowCount.V != 0
}

// value is a value in a vector; the zero value is NULL.
type value struct {
	v *vector.Vec
	i int
}

func (x value) null() bool { return x.v == nil || x.v.IsNull(x.i) }

// compareOrder compares values of ordering columns as Java's generated
// comparators do: NULL first, floats by < and >.
func compareOrder(a, b value) int {
	an, bn := a.null(), b.null()
	switch {
	case an && bn:
		return 0
	case an:
		return -1
	case bn:
		return 1
	}
	p, q := a.v.Values(), b.v.Values()
	var x, y float64
	switch p.Kind {
	case vector.F32:
		x, y = float64(p.F32s[a.v.At(a.i)]), float64(q.F32s[b.v.At(b.i)])
	case vector.F64:
		x, y = p.F64s[a.v.At(a.i)], q.F64s[b.v.At(b.i)]
	default:
		return vector.Compare(a.v, a.i, b.v, b.i)
	}
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
