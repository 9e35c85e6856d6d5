package paimon

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// MaintenanceOption marks tables that are maintained without being asked for
// (compaction, expiry): those made here, unless the option says otherwise
// (DESIGN D13).
const MaintenanceOption = "thermocline.maintenance"

// Create makes the table id in dir from s, which needs Fields (ids are assigned
// where all are 0), keys, Options and Comment. Creation is one step: the first
// schema file, made exclusively. Errors: errs.TableExists, errs.InvalidTable,
// and the kinds of bad columns and keys.
func (d *Driver) Create(ctx context.Context, dir string, id catalog.Identifier, s *catalog.Schema) (connector.Readable, error) {
	dir = strings.TrimRight(dir, "/")
	first, err := FirstSchema(s)
	if err != nil {
		return nil, fmt.Errorf("create table %s: %w", id, err)
	}
	exists := func() error { return errs.Userf(errs.TableExists, "table %s exists already", id) }
	ok, err := d.Exists(ctx, dir)
	if err != nil {
		return nil, err
	}
	if ok {
		return nil, exists()
	}
	data, err := spec.MarshalSchema(first)
	if err != nil {
		return nil, fmt.Errorf("create table %s: %w", id, err)
	}
	path := spec.NewPaths(dir, "", first).Schema(0)
	if err := d.cfg.Files.CreateExclusive(ctx, path, data); err != nil {
		// Whatever the error says, the file decides (DESIGN D12).
		there, rerr := d.cfg.Files.ReadFile(ctx, path)
		switch {
		case errs.Is(rerr, errs.FileNotFound):
			return nil, fmt.Errorf("create table %s: %w", id, err)
		case rerr != nil:
			return nil, errs.New(errs.UnknownOutcome, errs.KindNone, "create table %s: %w; it may exist: %v", id, err, rerr)
		case !bytes.Equal(there, data):
			return nil, exists()
		}
	}
	return d.Open(ctx, dir, id)
}

// FirstSchema checks a table definition by Paimon's rules and completes it:
// field ids, NOT NULL of the primary key, keys that were given as options.
// It does not change s.
func FirstSchema(s *catalog.Schema) (*catalog.Schema, error) {
	out := &catalog.Schema{Options: maps.Clone(s.Options), Comment: s.Comment, TimeMillis: time.Now().UnixMilli(),
		PartitionKeys: slices.Clone(s.PartitionKeys), PrimaryKeys: slices.Clone(s.PrimaryKeys)}
	if out.Options == nil {
		out.Options = map[string]string{}
	}
	for _, f := range s.Fields {
		f.Type = cloneType(f.Type)
		out.Fields = append(out.Fields, f)
	}
	if err := moveKeys(out, "primary-key", &out.PrimaryKeys); err != nil {
		return nil, err
	}
	if err := moveKeys(out, "partition", &out.PartitionKeys); err != nil {
		return nil, err
	}
	if err := checkColumns(out); err != nil {
		return nil, err
	}
	if err := checkKeys(out); err != nil {
		return nil, err
	}
	if err := checkOptions(out); err != nil {
		return nil, err
	}
	assign := true
	for _, f := range out.Fields {
		assign = assign && f.ID == 0
	}
	if assign {
		out.HighestFieldID = spec.AssignFieldIDs(out.Fields, -1)
	} else {
		seen := map[int]bool{}
		if err := checkIDs(out.Fields, seen, &out.HighestFieldID); err != nil {
			return nil, err
		}
		out.HighestFieldID = max(out.HighestFieldID, s.HighestFieldID)
	}
	if !strings.EqualFold(out.Options["primary-key.nullable"], "true") {
		for _, k := range out.PrimaryKeys {
			c := out.Column(k)
			out.Fields[c].Type = out.Fields[c].Type.Required()
		}
	}
	if _, ok := out.Options[MaintenanceOption]; !ok {
		out.Options[MaintenanceOption] = "true"
	}
	return out, nil
}

func cloneType(t catalog.Type) catalog.Type {
	for _, p := range []**catalog.Type{&t.Key, &t.Elem} {
		if *p != nil {
			c := cloneType(**p)
			*p = &c
		}
	}
	t.Fields = slices.Clone(t.Fields)
	for i := range t.Fields {
		t.Fields[i].Type = cloneType(t.Fields[i].Type)
	}
	return t
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
		return bad("a table without primary key and with 'bucket' = '%d' needs a 'bucket-key'", bucket)
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

// checkIDs checks field ids that the caller chose.
func checkIDs(fields []catalog.Field, seen map[int]bool, highest *int) error {
	for _, f := range fields {
		if f.ID < 0 || f.ID >= spec.ReservedID || seen[f.ID] {
			return errs.Userf(errs.InvalidTable, "column %q has the field id %d, which is taken or out of range", f.Name, f.ID)
		}
		seen[f.ID] = true
		*highest = max(*highest, f.ID)
		if err := checkNestedIDs(f.Type, seen, highest); err != nil {
			return err
		}
	}
	return nil
}

func checkNestedIDs(t catalog.Type, seen map[int]bool, highest *int) error {
	for _, c := range []*catalog.Type{t.Key, t.Elem} {
		if c != nil {
			if err := checkNestedIDs(*c, seen, highest); err != nil {
				return err
			}
		}
	}
	return checkIDs(t.Fields, seen, highest)
}

// Drop removes the table in dir and its files. The schemas go first, so that a
// drop that is interrupted leaves no table.
func (d *Driver) Drop(ctx context.Context, dir string) error {
	dir = strings.TrimRight(dir, "/")
	if err := d.cfg.Files.RemoveAll(ctx, dir+"/schema"); err != nil {
		return err
	}
	return d.cfg.Files.RemoveAll(ctx, dir)
}
