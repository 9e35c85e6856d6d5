package read

import (
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// mergeEngine is how the rows of one key become one.
type mergeEngine uint8

const (
	deduplicate mergeEngine = iota // the newest row, unless it is a deletion
)

// engine is what a table's options say about merging and visibility.
type engine struct {
	kind mergeEngine
	// skipLevel0: rows on level 0 are not visible until they are compacted.
	skipLevel0 bool
	// apart: above level 0 no row hides another, so that files without
	// deletions are read one by one whatever their levels.
	apart         bool
	vectors       bool // deletion vectors
	ignoreDeletes bool
}

// newEngine reads the options of a table and refuses what is not implemented.
func (s *Source) newEngine(schema *catalog.Schema) (*engine, error) {
	o := spec.NewOptions(schema.Options)
	g := &engine{vectors: o.Bool("deletion-vectors.enabled", false)}
	if len(schema.PrimaryKeys) == 0 {
		return g, o.Err
	}
	switch e := strings.ToLower(o.String("merge-engine", "deduplicate")); e {
	case "deduplicate":
	default:
		return nil, errs.Unsupportedf(-1, "reading tables with 'merge-engine' = '%s' (table "+s.Name+")", e)
	}
	g.ignoreDeletes = o.Bool("ignore-delete", false)
	g.skipLevel0 = g.vectors && !o.Bool("deletion-vectors.merge-on-read", false)
	g.apart = g.skipLevel0
	return g, o.Err
}

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
