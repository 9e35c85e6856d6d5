package procedure

import (
	"context"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/maintain"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/errs"
)

var compactProcedures = []definition{
	{"compact", params(required(catalog.TString, "table"), optional(catalog.TString, "partitions", "order_strategy", "order_by", "options", "where",
		"partition_idle_time", "compact_strategy")), nil, func(ctx context.Context, c *call) error {
		t, err := c.paimonTable(ctx, c.args["table"])
		if err != nil {
			return err
		}
		for _, a := range []string{"order_by", "options", "where"} {
			if c.text(a) != "" {
				return errs.Unsupportedf(-1, "the argument %s of compact", a)
			}
		}
		if o := strings.ToLower(c.text("order_strategy")); o != "" && o != "none" {
			return errs.Unsupportedf(-1, "the order_strategy %s of compact", o)
		}
		if err := c.compact(ctx, t, c.text("partitions")); err != nil {
			return err
		}
		return c.success()
	}},
	{"compact_database", optional(catalog.TString, "including_databases", "mode", "including_tables", "excluding_tables", "table_options",
		"partition_idle_time", "compact_strategy"), nil, compactDatabase},
}

// compact compacts a table, or some partitions of it, in commits of a few buckets.
func (c *call) compact(ctx context.Context, t *paimon.Table, partitions string) error {
	o := write.CompactOptions{Limit: 16}
	switch s := strings.ToLower(c.text("compact_strategy")); s {
	case "", "full":
		o.Full = true
	case "minor":
	default:
		return errs.Userf(errs.WrongArguments, "the compact_strategy %q is not full or minor", s)
	}
	chosen, err := partitionFilter(t, partitions)
	if err != nil {
		return err
	}
	idle, err := c.duration("partition_idle_time")
	if err != nil {
		return err
	}
	var quiet map[string]bool
	if idle > 0 {
		if quiet, err = t.Maintain().IdlePartitions(ctx, idle); err != nil {
			return err
		}
	}
	o.Partition = func(p spec.BinaryRow) (bool, error) {
		if quiet != nil && !quiet[string(p)] {
			return false, nil
		}
		return chosen(p)
	}
	for {
		n, err := t.Compact(ctx, o, nil)
		if err != nil {
			return err
		}
		if n.Buckets+n.Dropped < o.Limit {
			return nil
		}
	}
}

// partitionFilter reads the argument partitions; "" is all of them.
func partitionFilter(t *paimon.Table, text string) (func(spec.BinaryRow) (bool, error), error) {
	if strings.TrimSpace(text) == "" {
		return func(spec.BinaryRow) (bool, error) { return true, nil }, nil
	}
	p := spec.NewPartitioner(t.Schema())
	specs, err := p.ParsePartitionSpecs(text)
	if err != nil {
		return nil, err
	}
	var list []*spec.PartitionMatcher
	for _, s := range specs {
		m, err := p.Matcher(s)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return func(row spec.BinaryRow) (bool, error) {
		for _, m := range list {
			if ok, err := m.Match(row); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	}, nil
}

// compactDatabase compacts all tables whose names match.
func compactDatabase(ctx context.Context, c *call) error {
	if c.text("table_options") != "" {
		return errs.Unsupportedf(-1, "the argument table_options of compact_database")
	}
	in, err := maintain.Pattern(c.text("including_databases"))
	if err != nil {
		return err
	}
	tables, err := maintain.Pattern(c.text("including_tables"))
	if err != nil {
		return err
	}
	without, err := maintain.Pattern(c.text("excluding_tables"))
	if err != nil {
		return err
	}
	all, err := c.tables(ctx, "")
	if err != nil {
		return err
	}
	for _, t := range all {
		id := t.ID()
		full := id.Database + "." + id.Table
		if in != nil && !in.MatchString(id.Database) || tables != nil && !tables.MatchString(full) || without != nil && without.MatchString(full) {
			continue
		}
		if err := c.compact(ctx, t, ""); err != nil {
			return err
		}
	}
	return c.success()
}
