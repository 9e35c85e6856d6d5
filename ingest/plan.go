package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/route"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/ingest/transform"
	"github.com/thermocline/thermocline/internal/errs"
)

// Plan is what a pipeline would do: tables, keys, types, buckets, warnings.
type Plan struct {
	Definition *pipeline.Definition
	Source     string // type and address
	Tables     []PlanTable
	Warnings   []string
}

// PlanTable is a lake table and what feeds it.
type PlanTable struct {
	ID      catalog.Identifier
	Sources []*source.Table
	// Schema is what the table is created with.
	Schema *catalog.Schema
	// Rules are the transform rules that its rows pass, for people.
	Rules []string
}

// MakePlan connects to the source, resolves tables and routes, and changes
// nothing. Everything that the pipeline would refuse at its start is an error.
func MakePlan(ctx context.Context, o Options, def *pipeline.Definition) (*Plan, error) {
	p, err := newRun(o, def)
	if err != nil {
		return nil, err
	}
	src, err := p.openSource()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if err := src.Check(ctx); err != nil {
		return nil, err
	}
	targets, err := p.resolve(ctx, src, nil)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Definition: def, Source: src.Address(), Warnings: slices.Clone(def.Warnings)}
	for _, id := range p.shadows {
		plan.Warnings = append(plan.Warnings, id.String()+": left out, as a table of an online migration of "+shadowTable.FindStringSubmatch(id.Name)[1])
	}
	for _, t := range targets {
		tables, err := src.Describe(ctx, t.Sources)
		if err != nil {
			return nil, err
		}
		schema, warnings, err := p.lakeSchema(t, tables)
		if err != nil {
			return nil, err
		}
		pt := PlanTable{ID: t.ID, Sources: tables, Schema: schema}
		for _, id := range t.Sources {
			for _, r := range p.rules.Describe(id) {
				if !slices.Contains(pt.Rules, r) {
					pt.Rules = append(pt.Rules, r)
				}
			}
		}
		plan.Tables = append(plan.Tables, pt)
		plan.Warnings = append(plan.Warnings, warnings...)
	}
	return plan, nil
}

// openSource makes the pipeline's source.
func (p *run) openSource() (source.Source, error) {
	s := p.def.Source
	factory := p.o.Sources[s.Type]
	if factory == nil {
		switch s.Type {
		case "postgres", "oracle", "sqlserver", "mongodb", "db2", "oceanbase", "tidb", "kafka":
			return nil, errs.Unsupportedf(-1, "the source type %s", s.Type)
		}
		known := make([]string, 0, len(p.o.Sources))
		for k := range p.o.Sources {
			known = append(known, k)
		}
		slices.Sort(known)
		return nil, errs.Userf(errs.InvalidConfig, "line %d: the source type %s is unknown; known are %s", s.Line, s.Type, strings.Join(known, ", "))
	}
	return factory(source.Config{Options: s.Options, Pipeline: p.def.Name, Budget: p.budget, Log: p.log})
}

// resolve finds the captured tables and where they go. kept are tables that the
// pipeline followed before: they stay captured although the source has dropped
// or renamed them meanwhile, for the stream says when.
func (p *run) resolve(ctx context.Context, src source.Source, kept []source.ID) ([]route.Target, error) {
	all, err := src.Tables(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range kept {
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	captured := all
	if p.def.Source.Tables != "" {
		include, err := route.ParseSelectors("tables", p.def.Source.Tables)
		if err != nil {
			return nil, err
		}
		var exclude route.Selectors
		if p.def.Source.Exclude != "" {
			if exclude, err = route.ParseSelectors("tables.exclude", p.def.Source.Exclude); err != nil {
				return nil, err
			}
		}
		if captured, err = route.Resolve(all, include, exclude); err != nil {
			return nil, err
		}
	}
	captured, p.shadows = withoutShadows(captured, kept)
	if p.def.Source.NewTables == pipeline.LeaveNew && len(kept) > 0 {
		captured = slices.DeleteFunc(captured, func(id source.ID) bool {
			left := !slices.Contains(kept, id)
			if left {
				p.log.Warn("a new table of the source is left out: scan.newly-added-table.enabled is false", "table", id.String())
			}
			return left
		})
	}
	routes, err := route.ParseRoutes(p.def.Routes, p.def.Settings.FirstMatch)
	if err != nil {
		return nil, err
	}
	targets, err := routes.Resolve(captured)
	if err != nil {
		return nil, err
	}
	if err := p.rules.Check(captured); err != nil {
		return nil, err
	}
	for _, part := range p.def.Sink.Partitions {
		sel, err := route.ParseSelectors("partition.key", part.Table)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(captured, sel.Match) {
			return nil, errs.Userf(errs.InvalidConfig, "resolve partition.key: the pattern %s matches no captured table", part.Table)
		}
	}
	return targets, nil
}

// shadowTable recognizes tables that gh-ost, pt-osc and spirit make beside the one
// that they alter, and leave behind.
var shadowTable = regexp.MustCompile(`^_(.+)_(?:gho|ghc|del|new|old|chkpnt)$`)

// withoutShadows leaves out the tables of online migrations whose table is
// captured: their rows are copies. A table that was captured before stays.
func withoutShadows(captured, kept []source.ID) (rest, shadows []source.ID) {
	for _, id := range captured {
		m := shadowTable.FindStringSubmatch(id.Name)
		if m != nil && slices.Contains(captured, source.ID{Database: id.Database, Name: m[1]}) && !slices.Contains(kept, id) {
			shadows = append(shadows, id)
		} else {
			rest = append(rest, id)
		}
	}
	return rest, shadows
}

// partitionOf returns the partition columns of a source table.
func (p *run) partitionOf(id source.ID) ([]string, error) {
	var cols []string
	for _, part := range p.def.Sink.Partitions {
		sel, err := route.ParseSelectors("partition.key", part.Table)
		if err != nil {
			return nil, err
		}
		if sel.Match(id) {
			if cols != nil && !slices.Equal(cols, part.Columns) {
				return nil, errs.Userf(errs.InvalidConfig, "resolve partition.key: two entries match %s", id)
			}
			cols = part.Columns
		}
	}
	return cols, nil
}

const gib = 1 << 30

// lakeSchema maps source tables, as the transform rules shape them, to the lake
// table that they feed.
func (p *run) lakeSchema(target route.Target, tables []*source.Table) (*catalog.Schema, []string, error) {
	id := target.ID
	var warnings []string
	refuse := func(t *source.Table, format string, args ...any) error {
		return errs.Unsupportedf(-1, "the table %s: %s; leave it out with tables.exclude", t.ID, fmt.Sprintf(format, args...))
	}
	var schema *catalog.Schema
	var bytes int64
	var options map[string]string
	var merged []source.Column
	sharded := len(tables) > 1
	for n, def := range tables {
		if def.Unsupported != "" {
			return nil, nil, refuse(def, "%s", def.Unsupported)
		}
		shape, err := p.rules.Bind(def, target.ShardKey)
		if err != nil {
			return nil, nil, err
		}
		t := shape.Output
		keyed := len(t.PrimaryKey) > 0
		if !keyed {
			warnings = append(warnings, t.ID.String()+": it has no primary key, so that its rows are appended; an UPDATE or DELETE stops it")
		}
		for _, w := range t.Warnings {
			warnings = append(warnings, t.ID.String()+": "+w)
		}
		bytes += max(t.Bytes, 0)
		parts, err := p.partitionOf(t.ID)
		if err != nil {
			return nil, nil, err
		}
		if shape.PartitionKeys != nil {
			if parts != nil && !slices.Equal(parts, shape.PartitionKeys) {
				return nil, nil, errs.Userf(errs.InvalidConfig, "partition %s: partition.key of the sink and partition-keys of a transform differ for %s; write one of the two", id, t.ID)
			}
			parts = shape.PartitionKeys
		}
		s := &catalog.Schema{PartitionKeys: parts, PrimaryKeys: slices.Clone(t.PrimaryKey), Options: map[string]string{}, Comment: t.Comment}
		computed := map[string]bool{} // partition columns that are NOT NULL because the lake wants it
		for _, c := range parts {
			i := t.Column(c)
			switch {
			case i < 0:
				return nil, nil, errs.Userf(errs.UnknownColumn, "partition %s: %s has no column %s", id, t.ID, c)
			case slices.Contains(s.PrimaryKeys, c), !keyed:
			case !t.Columns[i].Type.NotNull && !t.Columns[i].Required && shape.Computed(i):
				warnings = append(warnings, fmt.Sprintf("%s: the partition column %s is computed: a row for which it is NULL stops the table", t.ID, c))
				s.PrimaryKeys, computed[c] = append(s.PrimaryKeys, c), true
			case !t.Columns[i].Type.NotNull && !t.Columns[i].Required:
				return nil, nil, errs.Userf(errs.InvalidTable, "partition %s by %s: the column may be NULL in %s; a partition column belongs to the key and must be NOT NULL", id, c, t.ID)
			default:
				s.PrimaryKeys, computed[c] = append(s.PrimaryKeys, c), true
			}
		}
		if keyed && len(s.TrimmedPrimaryKeys()) == 0 {
			return nil, nil, errs.Userf(errs.InvalidTable, "partition %s by %s: the partition columns are the whole key of %s; leave a key column out", id, strings.Join(parts, ", "), t.ID)
		}
		for i, c := range t.Columns {
			f := catalog.Field{ID: i, Name: c.Name, Type: c.Type, Comment: c.Comment}
			if slices.Contains(s.PrimaryKeys, c.Name) || computed[c.Name] {
				f.Type = f.Type.Required()
			}
			s.Fields = append(s.Fields, f)
			if c.Declared != "" {
				s.Options[catalog.MySQLTypeOption(i)] = c.Declared
			}
		}
		sharded = sharded && shape.TellsTable(s.PrimaryKeys)
		columns := slices.Clone(t.Columns)
		for i := range columns {
			columns[i].Type.NotNull = s.Fields[i].Type.NotNull
		}
		if n == 0 {
			schema, options, merged = s, shape.Options, columns
			continue
		}
		if !slices.Equal(schema.PrimaryKeys, s.PrimaryKeys) || !slices.Equal(schema.PartitionKeys, s.PartitionKeys) {
			return nil, nil, errs.Unsupportedf(-1, "merging %s and %s into %s: their keys (%s; %s) or partition columns differ; give them one with primary-keys and partition-keys of a transform",
				tables[0].ID, t.ID, id, strings.Join(schema.PrimaryKeys, ", "), strings.Join(s.PrimaryKeys, ", "))
		}
		if merged, err = mergeColumns(merged, columns, func(column, loss string) {
			warnings = append(warnings, fmt.Sprintf("%s: column %s: %s", id, column, loss))
		}); err != nil {
			return nil, nil, errs.Unsupportedf(-1, "merging %s and %s into %s: %v; cast the column in a transform, or route the tables apart", tables[0].ID, t.ID, id, err)
		}
		if !maps.Equal(options, shape.Options) {
			return nil, nil, errs.Userf(errs.InvalidConfig, "create %s: the transform rules of %s and %s give it different table-options", id, tables[0].ID, t.ID)
		}
	}
	if len(tables) > 1 {
		schema.Fields = nil
		for k := range schema.Options {
			delete(schema.Options, k)
		}
		for i, c := range merged {
			schema.Fields = append(schema.Fields, catalog.Field{ID: i, Name: c.Name, Type: c.Type, Comment: c.Comment})
			if c.Declared != "" {
				schema.Options[catalog.MySQLTypeOption(i)] = c.Declared
			}
		}
		if !sharded {
			warnings = append(warnings, fmt.Sprintf("%s is fed by %d tables: rows with the same key (%s) overwrite each other; write shard-key: true in the route, or put __table_name__ into the key, unless keys are unique over all of them", id, len(tables), strings.Join(schema.PrimaryKeys, ", ")))
		}
	}
	schema.HighestFieldID = len(schema.Fields) - 1
	for k, v := range p.def.Sink.Table {
		if len(schema.PrimaryKeys) == 0 && keyedOptions[k] {
			continue // meant for the tables that have a key
		}
		schema.Options[k] = v
	}
	for k, v := range options {
		schema.Options[k] = v
	}
	if _, ok := schema.Options["bucket"]; !ok {
		buckets := min(max(bytes/gib, 1), 16)
		if len(schema.PartitionKeys) > 0 {
			buckets = 1
		}
		if len(schema.PrimaryKeys) == 0 {
			buckets = -1
		}
		schema.Options["bucket"] = fmt.Sprint(buckets)
	}
	return schema, warnings, nil
}

// keyedOptions are table.properties.* that only tables with a primary key get.
var keyedOptions = map[string]bool{"bucket": true, "merge-engine": true, "changelog-producer": true, "sequence.field": true, "rowkind.field": true}

// mergeColumns are the columns that hold the rows of two tables, matched by
// name. What only one of them has may be NULL.
func mergeColumns(a, b []source.Column, lossy func(column, loss string)) ([]source.Column, error) {
	out := slices.Clone(a)
	for i, c := range out {
		if !slices.ContainsFunc(b, func(d source.Column) bool { return d.Name == c.Name }) {
			out[i].Type = c.Type.Nullable()
		}
	}
	for _, d := range b {
		i := slices.IndexFunc(out, func(c source.Column) bool { return c.Name == d.Name })
		if i < 0 {
			if k := slices.IndexFunc(out, func(c source.Column) bool { return strings.EqualFold(c.Name, d.Name) }); k >= 0 {
				return nil, fmt.Errorf("the columns %s and %s differ by case only", out[k].Name, d.Name)
			}
			d.Type = d.Type.Nullable()
			out = append(out, d)
			continue
		}
		c, loss, err := transform.Common(out[i], d)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", d.Name, err)
		}
		if loss != "" {
			lossy(d.Name, loss)
		}
		out[i] = c
	}
	return out, nil
}

// WriteTo prints the plan for people. It shows no secrets.
func (p *Plan) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	d := p.Definition
	name := d.Name
	if name == "" {
		name = "(without a name)"
	}
	fmt.Fprintf(&b, "pipeline  %s\nsource    %s (startup: %s)\nsink      %s", name, p.Source, d.Source.Startup, d.Sink.Type)
	if wh := d.Sink.Catalog["warehouse"]; wh != "" {
		fmt.Fprintf(&b, " in %s", wh)
	}
	fmt.Fprintf(&b, "\ncommits   every %s\ntables    %d\n", d.Settings.CommitInterval, len(p.Tables))
	for _, t := range p.Tables {
		names := make([]string, len(t.Sources))
		for i, s := range t.Sources {
			names[i] = s.ID.String()
		}
		fmt.Fprintf(&b, "\n%s  <-  %s\n", t.ID, strings.Join(names, ", "))
		fmt.Fprintf(&b, "  key      %s\n", strings.Join(t.Schema.PrimaryKeys, ", "))
		if len(t.Schema.PartitionKeys) > 0 {
			fmt.Fprintf(&b, "  partition by %s\n", strings.Join(t.Schema.PartitionKeys, ", "))
		}
		fmt.Fprintf(&b, "  buckets  %s\n", t.Schema.Options["bucket"])
		for _, k := range sortedOptions(t.Schema.Options) {
			fmt.Fprintf(&b, "  option   %s = %s\n", k, source.Redact(k, t.Schema.Options[k]))
		}
		for _, r := range t.Rules {
			fmt.Fprintf(&b, "  transform  %s\n", r)
		}
		tw := tabwriter.NewWriter(&b, 2, 8, 2, ' ', 0)
		for _, f := range t.Schema.Fields {
			fmt.Fprintf(tw, "  %s\t%s\t%s\n", f.Name, f.Type, t.Schema.MySQLType(f))
		}
		if err := tw.Flush(); err != nil {
			return 0, err
		}
	}
	if len(p.Warnings) > 0 {
		fmt.Fprintf(&b, "\nwarnings\n")
		for _, x := range p.Warnings {
			fmt.Fprintf(&b, "  %s\n", x)
		}
	}
	return b.WriteTo(w)
}

// sortedOptions are the options that the columns' lines do not show already.
func sortedOptions(o map[string]string) []string {
	var out []string
	for k := range o {
		if k != "bucket" && !strings.HasPrefix(k, "mysql.type.") {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}
