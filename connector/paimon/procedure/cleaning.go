package procedure

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/maintain"
	"github.com/thermocline/thermocline/internal/errs"
)

var cleaningProcedures = []definition{
	{"remove_orphan_files", params(required(catalog.TString, "table"), optional(catalog.TString, "older_than"), optional(catalog.TBoolean, "dry_run"),
		optional(catalog.TInt, "parallelism"), optional(catalog.TString, "mode")), nil, removeOrphans},
	{"purge_files", required(catalog.TString, "table"), nil, func(ctx context.Context, c *call) error {
		t, err := c.table(ctx)
		if err != nil {
			return err
		}
		if err := t.Purge(ctx); err != nil {
			return err
		}
		return c.success()
	}},
	{"repair", optional(catalog.TString, "table"), nil, func(ctx context.Context, c *call) error {
		if c.env.Repair != nil {
			db, table, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(c.args["table"]), "`", ""), ".")
			id := catalog.Identifier{Database: strings.TrimSuffix(db, "*"), Table: strings.TrimSuffix(table, "*")}
			if err := c.env.Repair(ctx, id); err != nil {
				return err
			}
		}
		tables, err := c.tables(ctx, c.args["table"])
		if err != nil {
			return err
		}
		for _, t := range tables {
			if err := t.Maintain().RepairHints(ctx); err != nil {
				return err
			}
		}
		return c.success()
	}},
	{"repair_earliest_snapshot", params(required(catalog.TString, "table"), required(catalog.TBigInt, "snapshot_id")),
		fields("previous_earliest_snapshot_id", catalog.TBigInt, "current_earliest_snapshot_id", catalog.TBigInt), func(ctx context.Context, c *call) error {
			t, err := c.table(ctx)
			if err != nil {
				return err
			}
			id, err := c.number(0, "snapshot_id")
			if err != nil {
				return err
			}
			before, err := t.RepairEarliest(ctx, id)
			if err != nil {
				return err
			}
			c.row(before, id)
			return nil
		}},
}

// tables returns the tables that an argument names: "db.t", "db.*", "db", or all
// for "", "*" and "*.*".
func (c *call) tables(ctx context.Context, name string) ([]*paimon.Table, error) {
	name = strings.ReplaceAll(strings.TrimSpace(name), "`", "")
	var databases []string
	switch db, object, two := strings.Cut(name, "."); {
	case name == "", name == "*", name == "*.*":
		var err error
		if databases, err = c.env.Catalog.Databases(ctx); err != nil {
			return nil, err
		}
	case !two || object == "*":
		databases = []string{db}
	default:
		t, err := c.paimonTable(ctx, name)
		return []*paimon.Table{t}, err
	}
	var out []*paimon.Table
	for _, db := range databases {
		names, err := c.env.Catalog.Tables(ctx, db)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			t, err := c.env.table(ctx, catalog.Identifier{Database: db, Table: n})
			if errs.Is(err, errs.UnknownTable) || errs.Is(err, errs.WrongArguments) {
				continue // dropped meanwhile, or of another kind
			}
			if err != nil {
				return nil, err
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// removeOrphans gives two rows, as Flink's procedure does: files and bytes.
func removeOrphans(ctx context.Context, c *call) error {
	tables, err := c.tables(ctx, c.args["table"])
	if err != nil {
		return err
	}
	old, err := c.time("older_than")
	if err != nil {
		return err
	}
	if old.IsZero() {
		old = c.env.Now().Add(-maintain.OrphanAge)
	}
	dry, err := c.flag("dry_run", false)
	if err != nil {
		return err
	}
	var files, bytes int64
	for _, t := range tables {
		found, err := t.Maintain().Orphans(ctx, old.Truncate(time.Millisecond), dry)
		if err != nil {
			return err
		}
		files, bytes = files+found.Files, bytes+found.Bytes
	}
	c.row(strconv.FormatInt(files, 10))
	c.row(strconv.FormatInt(bytes, 10))
	return nil
}
