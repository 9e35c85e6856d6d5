package read

import (
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// refuseTable returns an error that names the first feature of a table which
// changes what a read returns and is not implemented.
func (s *Source) refuseTable(schema *catalog.Schema) error {
	o := spec.NewOptions(schema.Options)
	no := func(format string, args ...any) error {
		return errs.Unsupportedf(-1, format+" (table "+s.Name+")", args...)
	}
	if _, err := merge.NewRules(s.Name, schema); err != nil {
		return err
	}
	if len(schema.PrimaryKeys) > 0 {
		// 'record-level.expire-time' is no matter here: as in Java, records are seen
		// until a compaction drops them.
		if o.String("pk-clustering-override", "") != "" {
			return no("reading tables with 'pk-clustering-override'")
		}
	}
	for _, k := range []string{"postpone.merge-on-read", "sequence.snapshot-ordering", "chain-table.enabled", "query-auth.enabled"} {
		if o.Bool(k, false) {
			return no("reading tables with '%s' = 'true'", k)
		}
	}
	if s.Branch != "" && o.Has(fallbackOption) {
		return no("reading tables with '%s'", fallbackOption)
	}
	if t := strings.ToLower(o.String("type", "table")); t != "table" && t != "materialized-table" {
		return no("reading tables with 'type' = '%s'", t)
	}
	return o.Err
}

// refuseFile returns an error that names the first feature of a data file, whose
// schema is given, that is not implemented.
func (s *Source) refuseFile(schema *catalog.Schema, e *spec.ManifestEntry) error {
	if _, err := s.Formats.ByFile(e.File.FileName); err != nil {
		return errs.Unsupportedf(-1, "data files of the format %q (file %s of table %s)", format.FormatOf(e.File.FileName), e.File.FileName, s.Name)
	}
	if e.File.WriteCols.OK && !evolves(schema) && !writesAll(schema, e.File.WriteCols.V) {
		return errs.Unsupportedf(-1, "data files with some columns only (file %s of table %s)", e.File.FileName, s.Name)
	}
	return nil
}

// writesAll reports whether a list of written columns holds all of a schema.
func writesAll(schema *catalog.Schema, cols []string) bool {
	written := map[string]bool{}
	for _, c := range cols {
		written[c] = true
	}
	for _, f := range schema.Fields {
		if !written[f.Name] {
			return false
		}
	}
	return true
}

// refuseColumn refuses types that cannot be read.
func (s *Source) refuseColumn(schema *catalog.Schema, f catalog.Field) error {
	bad := func(t catalog.Type) bool { return t.Kind == catalog.Blob }
	if f.Type.Kind == catalog.Blob && evolves(schema) {
		// Of the fields below, values are addresses of what shall be read.
		for _, k := range []string{"blob-descriptor-field", "blob-view-field", "blob-external-storage-field"} {
			if schema.Options[k] != "" {
				return errs.Unsupportedf(-1, "reading columns of type BLOB of tables with '%s' (column %q of table %s)", k, f.Name, s.Name)
			}
		}
		return nil
	}
	var walk func(t catalog.Type) error
	walk = func(t catalog.Type) error {
		if bad(t) {
			return errs.Unsupportedf(-1, "reading columns of type %s (column %q of table %s)", t.Nullable(), f.Name, s.Name)
		}
		for _, c := range []*catalog.Type{t.Key, t.Elem} {
			if c != nil {
				if err := walk(*c); err != nil {
					return err
				}
			}
		}
		for _, m := range t.Fields {
			if err := walk(m.Type); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(f.Type)
}
