package paimon

import (
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// checkSchema enforces what Paimon demands of a table's definition, new or
// changed (Java's SchemaValidation).
func checkSchema(s *catalog.Schema) error {
	for _, check := range []func(*catalog.Schema) error{checkColumns, checkKeys, checkOptions, checkFieldOptions, checkMaintenanceOptions, checkMergeOptions} {
		if err := check(s); err != nil {
			return err
		}
	}
	return nil
}

// normalizeKeys moves keys that were given as options to where they belong, and
// makes the columns of the primary key NOT NULL.
func normalizeKeys(s *catalog.Schema) error {
	if err := moveKeys(s, "primary-key", &s.PrimaryKeys); err != nil {
		return err
	}
	if err := moveKeys(s, "partition", &s.PartitionKeys); err != nil {
		return err
	}
	if !strings.EqualFold(s.Options["primary-key.nullable"], "true") {
		for _, k := range s.PrimaryKeys {
			if c := s.Column(k); c >= 0 {
				s.Fields[c].Type.NotNull = true
			}
		}
	}
	return nil
}

// moveKeys moves keys that were given as an option to where they belong.
func moveKeys(s *catalog.Schema, option string, keys *[]string) error {
	v, ok := s.Options[option]
	if !ok {
		return nil
	}
	if len(*keys) > 0 {
		return errs.Userf(errs.InvalidTable, "the option '%s' and a clause both name keys: use one", option)
	}
	delete(s.Options, option)
	*keys = names(v)
	return nil
}

// names splits a comma-separated option.
func names(v string) (out []string) {
	for _, n := range strings.Split(v, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

var reservedColumns = []string{spec.SequenceColumn, spec.KindColumn, "_LEVEL", "rowkind", "_ROW_ID"}

func checkColumns(s *catalog.Schema) error {
	if len(s.Fields) == 0 {
		return errs.Userf(errs.InvalidTable, "a table needs at least one column")
	}
	seen := map[string]bool{}
	for _, f := range s.Fields {
		switch {
		case f.Name == "":
			return errs.Userf(errs.InvalidTable, "a column needs a name")
		case seen[f.Name]:
			return errs.Userf(errs.DuplicateColumn, "column %q is there twice", f.Name)
		case slices.Contains(reservedColumns, f.Name), strings.HasPrefix(f.Name, spec.KeyPrefix):
			return errs.Userf(errs.InvalidTable, "the column name %q is reserved by Paimon: choose another", f.Name)
		case f.Type.Physical() == 0:
			return errs.Userf(errs.InvalidTable, "column %q has no type", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

func checkKeys(s *catalog.Schema) error {
	for _, list := range []struct {
		what string
		keys []string
	}{{"partition", s.PartitionKeys}, {"primary key", s.PrimaryKeys}} {
		seen := map[string]bool{}
		for _, k := range list.keys {
			c := s.Column(k)
			switch {
			case c < 0:
				return errs.Userf(errs.KeyColumnMissing, "the %s column %q does not exist in the table", list.what, k)
			case seen[k]:
				return errs.Userf(errs.DuplicateColumn, "the %s column %q is there twice", list.what, k)
			case !s.Fields[c].Type.IsPrimitive():
				return errs.Userf(errs.InvalidTable, "the %s column %q cannot have the type %s", list.what, k, s.Fields[c].Type)
			}
			seen[k] = true
		}
	}
	if len(s.PrimaryKeys) > 0 && len(s.TrimmedPrimaryKeys()) == 0 {
		return errs.Userf(errs.WrongPrimaryKey, "the primary key consists of partition columns only: it needs another column")
	}
	return nil
}

// checkOptions enforces what Paimon demands of options at creation.
func checkOptions(s *catalog.Schema) error {
	o := spec.NewOptions(s.Options)
	pk := len(s.PrimaryKeys) > 0
	bucket := o.Int("bucket", -1)
	bad := func(format string, args ...any) error { return errs.Userf(errs.InvalidTable, format, args...) }
	if bucket < -2 || bucket == 0 || bucket > 1<<15 {
		return bad("the option 'bucket' = '%d' is not -1, -2 or a number of buckets", bucket)
	}
	if bucket == -2 && !pk {
		return bad("'bucket' = '-2' needs a primary key")
	}
	keys := names(s.Options["bucket-key"])
	for _, k := range keys {
		c := s.Column(k)
		switch {
		case c < 0:
			return errs.Userf(errs.KeyColumnMissing, "the column %q of 'bucket-key' does not exist in the table", k)
		case slices.Contains(s.PartitionKeys, k):
			return bad("'bucket-key' must not contain the partition column %q", k)
		case pk && !slices.Contains(s.PrimaryKeys, k):
			return bad("'bucket-key' must be part of the primary key: %q is not", k)
		case !s.Fields[c].Type.IsPrimitive():
			return bad("the column %q of 'bucket-key' cannot have the type %s", k, s.Fields[c].Type)
		}
	}
	if !pk && bucket > 0 && len(keys) == 0 {
		return bad("a table without primary key and with 'bucket' = '%d' needs a 'bucket-key': write 'bucket' = '-1', or add 'bucket-key' = '%s'", bucket, s.Fields[0].Name)
	}
	if bucket == -1 && len(keys) > 0 {
		return bad("'bucket-key' needs a fixed number of buckets: set 'bucket'")
	}
	engine := strings.ToLower(o.String("merge-engine", "deduplicate"))
	producer := strings.ToLower(o.String("changelog-producer", "none"))
	sequence := names(s.Options["sequence.field"])
	vectors := o.Bool("deletion-vectors.enabled", false)
	switch {
	case !slices.Contains([]string{"deduplicate", "partial-update", "aggregation", "first-row"}, engine):
		return bad("the option 'merge-engine' = '%s' is not deduplicate, partial-update, aggregation or first-row", engine)
	case !slices.Contains([]string{"none", "input", "lookup", "full-compaction"}, producer):
		return bad("the option 'changelog-producer' = '%s' is not none, input, lookup or full-compaction", producer)
	case !pk && producer != "none":
		return bad("'changelog-producer' = '%s' needs a primary key", producer)
	case engine == "first-row" && producer != "none" && producer != "lookup":
		return bad("'merge-engine' = 'first-row' works with 'changelog-producer' none and lookup only")
	case engine == "first-row" && len(sequence) > 0:
		return bad("'merge-engine' = 'first-row' does not work with 'sequence.field'")
	case vectors && producer == "full-compaction":
		return bad("deletion vectors do not work with 'changelog-producer' = 'full-compaction'")
	case vectors && engine == "first-row":
		return bad("deletion vectors do not work with 'merge-engine' = 'first-row'")
	}
	for _, k := range sequence {
		switch {
		case s.Column(k) < 0:
			return errs.Userf(errs.KeyColumnMissing, "the column %q of 'sequence.field' does not exist in the table", k)
		case s.Options["fields."+k+".aggregate-function"] != "":
			return bad("the column %q of 'sequence.field' cannot have an aggregate function", k)
		}
	}
	if len(sequence) > 0 && pk {
		for _, k := range s.PartitionKeys {
			if !slices.Contains(s.PrimaryKeys, k) {
				return bad("'sequence.field' does not work when the primary key lacks the partition column %q", k)
			}
		}
	}
	return o.Err
}

// checkFieldOptions checks options that name columns.
func checkFieldOptions(s *catalog.Schema) error {
	missing := func(option, column string) error {
		return errs.Userf(errs.KeyColumnMissing, "the column %q of the option '%s' does not exist in the table", column, option)
	}
	for k, v := range s.Options {
		if list, suffix, ok := fieldsKey(k); ok {
			for _, n := range strings.Split(list, ",") {
				switch c := s.Column(n); {
				case c < 0:
					return missing(k, n)
				case strings.Contains(suffix, ".") && s.Fields[c].Type.Kind == catalog.Row:
					return errs.Unsupportedf(-1, "options for members of a ROW ('%s')", k)
				}
			}
		}
		if !strings.HasPrefix(k, "file-index.") || !strings.HasSuffix(k, ".columns") {
			continue
		}
		for _, n := range names(v) {
			column, member, nested := strings.Cut(n, "[")
			c := s.Column(column)
			switch {
			case c < 0:
				return missing(k, column)
			case nested && (s.Fields[c].Type.Kind != catalog.Map || !isText(*s.Fields[c].Type.Key) || !strings.HasSuffix(member, "]")):
				return errs.Userf(errs.InvalidTable, "%q in '%s': only a MAP with keys of text has members to index", n, k)
			}
		}
	}
	o := spec.NewOptions(s.Options)
	if n := o.String("rowkind.field", ""); n != "" && s.Column(n) < 0 {
		return missing("rowkind.field", n)
	}
	if n := o.String("record-level.time-field", ""); n != "" {
		c := s.Column(n)
		if c < 0 {
			return missing("record-level.time-field", n)
		}
		if t := s.Fields[c].Type; t.Kind != catalog.Int && t.Kind != catalog.BigInt && !isInstant(t) {
			return errs.Userf(errs.InvalidTable, "the column %q of 'record-level.time-field' must be INT, BIGINT or TIMESTAMP, not %s", n, t)
		}
	}
	upsert := names(s.Options["upsert-key"])
	for _, n := range upsert {
		c := s.Column(n)
		if c < 0 {
			return missing("upsert-key", n)
		}
		if !s.Fields[c].Type.IsPrimitive() {
			return errs.Userf(errs.InvalidTable, "the column %q of 'upsert-key' cannot have the type %s", n, s.Fields[c].Type)
		}
	}
	if len(upsert) > 0 && len(s.PrimaryKeys) > 0 {
		return errs.Userf(errs.InvalidTable, "'upsert-key' is for tables without a primary key")
	}
	return nil
}

// checkMaintenanceOptions checks options of expiry, compaction and files.
func checkMaintenanceOptions(s *catalog.Schema) error {
	o := spec.NewOptions(s.Options)
	pk := len(s.PrimaryKeys) > 0
	bad := func(format string, args ...any) error { return errs.Userf(errs.InvalidTable, format, args...) }
	producer := strings.ToLower(o.String("changelog-producer", "none"))
	snapshotMin, snapshotMax := o.Int("snapshot.num-retained.min", 10), o.Int("snapshot.num-retained.max", 1<<31-1)
	changelogMin, changelogMax := o.Int("changelog.num-retained.min", snapshotMin), o.Int("changelog.num-retained.max", snapshotMax)
	tracking, evolution := o.Bool("row-tracking.enabled", false), o.Bool("data-evolution.enabled", false)
	switch {
	case o.Int("target-file-row-num", 1) < 1:
		return bad("'target-file-row-num' must be at least 1")
	case snapshotMin < 1 || changelogMin < 1:
		return bad("'snapshot.num-retained.min' and 'changelog.num-retained.min' must be at least 1")
	case snapshotMin > snapshotMax || changelogMin > changelogMax:
		return bad("'snapshot.num-retained.min' and 'changelog.num-retained.min' must not be larger than their max")
	case o.Bool("streaming-read-overwrite", false) && (!pk || producer == "lookup" || producer == "full-compaction"):
		return bad("'streaming-read-overwrite' needs a primary key and 'changelog-producer' none or input")
	case o.Has("full-compaction.delta-commits") && producer == "lookup":
		return bad("'full-compaction.delta-commits' does not work with 'changelog-producer' = 'lookup'")
	case o.Has("full-compaction.delta-commits") && !pk && o.Int("bucket", -1) == -1:
		return bad("'full-compaction.delta-commits' needs a primary key or a fixed number of buckets")
	case tracking && pk:
		return bad("'row-tracking.enabled' is for tables without a primary key")
	case tracking && o.Int("bucket", -1) != -1:
		return bad("'row-tracking.enabled' needs 'bucket' = '-1'")
	case evolution && !tracking:
		return bad("'data-evolution.enabled' needs 'row-tracking.enabled'")
	case evolution && o.Bool("clustering.incremental", false):
		return bad("'data-evolution.enabled' does not work with 'clustering.incremental'")
	case o.Bool("clustering.incremental", false) && pk:
		return bad("'clustering.incremental' is for tables without a primary key")
	case o.Bool("table-read.sequence-number.enabled", false) && !pk:
		return bad("'table-read.sequence-number.enabled' needs a primary key")
	}
	if o.Bool("sequence.snapshot-ordering", false) && (!pk || o.Has("sequence.field") || !o.Bool("write-only", false)) {
		return bad("'sequence.snapshot-ordering' needs a primary key, no 'sequence.field', and 'write-only' = 'true'")
	}
	blobs := 0
	for _, f := range s.Fields {
		if f.Type.Kind == catalog.Blob {
			blobs++
		}
		if isInstant(f.Type) && f.Type.Length > 6 && strings.EqualFold(o.String("file.format", "parquet"), "avro") {
			return bad("Avro files cannot hold column %q of type %s: use a precision of at most 6, or another 'file.format'", f.Name, f.Type)
		}
	}
	if blobs > 0 && (blobs == len(s.Fields) || !pk && !evolution) {
		return bad("a table with BLOB columns needs another column, and 'data-evolution.enabled' unless it has a primary key")
	}
	return o.Err
}

// aggregateFunctions are Java Paimon's.
var aggregateFunctions = []string{"primary-key", "sum", "product", "max", "min", "last_value", "last_non_null_value", "first_value",
	"first_non_null_value", "first_not_null_value", "bool_and", "bool_or", "listagg", "collect", "merge_map", "merge_map_with_keytime",
	"nested_update", "nested_partial_update", "hll_sketch", "theta_sketch", "rbm32", "rbm64"}

// checkMergeOptions checks what the merge engine is told about columns.
func checkMergeOptions(s *catalog.Schema) error {
	if len(s.PrimaryKeys) == 0 {
		return nil
	}
	o := spec.NewOptions(s.Options)
	engine := strings.ToLower(o.String("merge-engine", "deduplicate"))
	if engine != "partial-update" && engine != "aggregation" {
		return nil
	}
	for _, f := range s.Fields {
		name := o.String("fields."+f.Name+".aggregate-function", o.String("fields.default-aggregate-function", ""))
		if name != "" && !slices.Contains(aggregateFunctions, name) {
			return errs.Userf(errs.InvalidTable, "the column %q cannot have the aggregate function %q: there is no such function", f.Name, name)
		}
	}
	_, err := merge.NewRules("with these options", s)
	if errs.ClassOf(err) == errs.Unsupported {
		return nil // a table that this version does not read may still be valid
	}
	return err
}
