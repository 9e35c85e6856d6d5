package merge

import (
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Engine is how the rows of one key become one.
type Engine uint8

const (
	Deduplicate   Engine = iota // the newest row, unless it is a deletion
	FirstRow                    // the oldest row
	PartialUpdate               // of each column the newest value that is not NULL
	Aggregation                 // of each column an aggregate
)

// Rules are what a table's options say about merging and about which rows are
// seen (paimon-format: merge engines, level-0 visibility). They are immutable.
type Rules struct {
	Engine Engine
	// SkipLevel0: rows on level 0 are not visible until they are compacted.
	SkipLevel0 bool
	// Vectors: deletion vectors are enabled.
	Vectors bool
	// IgnoreDeletes: deletions have no effect.
	IgnoreDeletes bool
	// Lookup: compaction looks older rows up, so that of the rows above level 0
	// the one on the lowest level has taken in the others.
	Lookup bool
	// Sequence are the columns that order the rows of a key before their sequence
	// numbers do, downwards with Descending.
	Sequence   []int
	Descending bool

	table  string // for errors
	schema *catalog.Schema
	// apart: above level 0 no row hides another, so that files without
	// deletions are read one by one whatever their levels.
	apart bool

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

// Refuse returns why rows with the given columns of the schema cannot be merged,
// nil when they can.
func (g *Rules) Refuse(columns []int) error {
	for _, c := range columns {
		if g.Combines() && g.columns[c].err != nil {
			return g.columns[c].err
		}
	}
	return nil
}

// NewRules reads the options of a schema and refuses what is not implemented.
// table names it in errors.
func NewRules(table string, schema *catalog.Schema) (*Rules, error) {
	o := spec.NewOptions(schema.Options)
	g := &Rules{Vectors: o.Bool("deletion-vectors.enabled", false), table: table, schema: schema}
	if len(schema.PrimaryKeys) == 0 {
		return g, o.Err
	}
	var err error
	switch e := strings.ToLower(o.String("merge-engine", "deduplicate")); e {
	case "deduplicate":
	case "first-row":
		g.Engine = FirstRow
	case "partial-update":
		g.Engine = PartialUpdate
		err = g.partialUpdate(table, schema, o)
	case "aggregation":
		g.Engine = Aggregation
		err = g.aggregation(table, schema, o)
	default:
		err = errs.Unsupportedf(-1, "tables with 'merge-engine' = '%s' (table %s)", e, table)
	}
	if err == nil {
		err = g.sequenceFields(table, schema, o)
	}
	if err != nil {
		return nil, err
	}
	g.IgnoreDeletes = o.Bool("ignore-delete", false)
	g.SkipLevel0 = g.Vectors && !o.Bool("deletion-vectors.merge-on-read", false) || !g.Vectors && g.Engine == FirstRow
	g.apart = g.SkipLevel0
	g.Lookup = g.Engine != FirstRow && (g.Vectors || o.Bool("force-lookup", false) || strings.ToLower(o.String("changelog-producer", "none")) == "lookup")
	if g.IgnoreDeletes && (g.removeOnDelete || g.removeOnGroup != nil) && g.Engine == PartialUpdate {
		return nil, errs.Userf(errs.InvalidConfig, "table %s: 'ignore-delete' contradicts its option to remove rows", table)
	}
	return g, o.Err
}

// sequenceFields reads 'sequence.field' and its order.
func (g *Rules) sequenceFields(table string, schema *catalog.Schema, o *spec.Options) error {
	text := o.String("sequence.field", "")
	if text == "" {
		return nil
	}
	switch order := strings.ToLower(o.String("sequence.field.sort-order", "ascending")); order {
	case "ascending":
	case "descending":
		g.Descending = true
	default:
		return errs.Unsupportedf(-1, "tables with 'sequence.field.sort-order' = '%s' (table %s)", order, table)
	}
	if g.Engine == FirstRow {
		return errs.Unsupportedf(-1, "tables with 'sequence.field' and 'merge-engine' = 'first-row' (table %s)", table)
	}
	for _, name := range strings.Split(text, ",") {
		c := schema.Column(strings.TrimSpace(name))
		if c < 0 {
			return errs.Userf(errs.InvalidConfig, "table %s: 'sequence.field' names %q, which is no column", table, name)
		}
		if t := schema.Fields[c].Type; nested(t) {
			return errs.Unsupportedf(-1, "tables with a 'sequence.field' of type %s (table %s)", t.Nullable(), table)
		}
		g.Sequence = append(g.Sequence, c)
	}
	return nil
}

// Plain reports whether the newest row of a key wins, so that merging needs no
// look at the others.
func (g *Rules) Plain() bool { return g.Engine == Deduplicate && g.Sequence == nil && !g.IgnoreDeletes }

// Combines reports whether rows are made of several rows' values.
func (g *Rules) Combines() bool { return g.Engine == PartialUpdate || g.Engine == Aggregation }

// Extras returns the columns that merging needs besides the keys and those that
// are wanted.
func (g *Rules) Extras() []int { return append(append([]int(nil), g.Sequence...), g.ordering...) }

// Lone reports whether no file of a bucket hides a row of another: all lie on one
// level above 0, where key ranges do not overlap, or are known to be apart.
func (g *Rules) Lone(files []*spec.ManifestEntry) bool {
	return g.LoneAt(len(files), func(i int) (int32, bool) { return files[i].File.Level, HoldsDeletions(files[i]) })
}

// LoneAt is Lone of n files, given their levels and whether they may hold
// deletions.
func (g *Rules) LoneAt(n int, file func(i int) (level int32, deletions bool)) bool {
	first := int32(0)
	for i := range n {
		level, deletions := file(i)
		if i == 0 {
			first = level
		}
		if level == 0 || level != first && (!g.apart || deletions) {
			return false
		}
	}
	return true
}

// Alone reports whether the files of a bucket can be read one by one: none hides
// a row of another and none holds deletions.
func (g *Rules) Alone(files []*spec.ManifestEntry) bool {
	return g.AloneAt(len(files), func(i int) (int32, bool) { return files[i].File.Level, HoldsDeletions(files[i]) })
}

// AloneAt is Alone as LoneAt is Lone.
func (g *Rules) AloneAt(n int, file func(i int) (level int32, deletions bool)) bool {
	for i := range n {
		if _, deletions := file(i); deletions {
			return false
		}
	}
	return g.LoneAt(n, file)
}

// HoldsDeletions reports whether rows of a file may be deletions.
func HoldsDeletions(f *spec.ManifestEntry) bool {
	return !f.File.DeleteRowCount.OK || f.File.DeleteRowCount.V != 0
}

func nested(t catalog.Type) bool    { return !t.IsPrimitive() }
func integer(t catalog.Type) bool   { return t.Kind >= catalog.TinyInt && t.Kind <= catalog.BigInt }
func bytesLike(t catalog.Type) bool { return t.Kind == catalog.Binary || t.Kind == catalog.Varbinary }

// retracts reports whether a row kind takes a row away: -U or -D.
func retracts(kind vector.RowKind) bool { return kind == vector.Delete || kind == vector.UpdateBefore }

// value is a value in a vector; the zero value is NULL.
type value struct {
	v *vector.Vec
	i int
}

func (x value) null() bool { return x.v == nil || x.v.IsNull(x.i) }

// compareOrder compares values of ordering columns as Java's generated
// comparators do: NULL first, NaN last, −0 before 0.
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
	return vector.Compare(a.v, a.i, b.v, b.i)
}
