package procedure

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/maintain"
	"github.com/thermocline/thermocline/internal/errs"
)

var tagFrom = fields("tagName", catalog.TString, "snapshot", catalog.TBigInt, "commit_time", catalog.TBigInt, "watermark", catalog.TString)

var tagProcedures = []definition{
	{"create_tag", params(required(catalog.TString, "table", "tag"), optional(catalog.TBigInt, "snapshot_id"), optional(catalog.TString, "time_retained"),
		optional(catalog.TBigInt, "snapshot")), nil, func(ctx context.Context, c *call) error {
		return c.putTag(ctx, (*maintain.Table).CreateTag)
	}},
	{"replace_tag", params(required(catalog.TString, "table", "tag"), optional(catalog.TBigInt, "snapshot_id"), optional(catalog.TString, "time_retained"),
		optional(catalog.TBigInt, "snapshot")), nil, func(ctx context.Context, c *call) error {
		return c.putTag(ctx, (*maintain.Table).ReplaceTag)
	}},
	{"create_tag_from_timestamp", params(required(catalog.TString, "table", "tag"), required(catalog.TBigInt, "timestamp"), optional(catalog.TString, "time_retained")),
		tagFrom, func(ctx context.Context, c *call) error { return c.tagFrom(ctx, "timestamp") }},
	{"create_tag_from_watermark", params(required(catalog.TString, "table", "tag"), required(catalog.TBigInt, "watermark"), optional(catalog.TString, "time_retained")),
		tagFrom, func(ctx context.Context, c *call) error { return c.tagFrom(ctx, "watermark") }},
	{"delete_tag", required(catalog.TString, "table", "tag"), nil, func(ctx context.Context, c *call) error {
		t, err := c.table(ctx)
		if err != nil {
			return err
		}
		for _, name := range list(c.args["tag"]) {
			if err := t.DeleteTag(ctx, name); err != nil {
				return err
			}
		}
		return c.success()
	}},
	{"rename_tag", params(required(catalog.TString, "table"), optional(catalog.TString, "tag", "target_tag", "tagName", "targetTagName")), nil,
		func(ctx context.Context, c *call) error {
			t, err := c.table(ctx)
			if err != nil {
				return err
			}
			from, err := c.need("tag", "tagName", "tagname")
			if err != nil {
				return err
			}
			to, err := c.need("target_tag", "targetTagName", "targettagname")
			if err != nil {
				return err
			}
			if err := t.RenameTag(ctx, from, to); err != nil {
				return err
			}
			c.row(fmt.Sprintf("Rename [%s] to [%s] successfully.", from, to))
			return nil
		}},
	{"expire_tags", params(required(catalog.TString, "table"), optional(catalog.TString, "older_than")), fields("expired_tags", catalog.TString),
		func(ctx context.Context, c *call) error {
			t, err := c.table(ctx)
			if err != nil {
				return err
			}
			old, err := c.time("older_than")
			if err != nil {
				return err
			}
			names, err := t.ExpireTags(ctx, old)
			if err != nil {
				return err
			}
			for _, n := range names {
				c.row(n)
			}
			if len(names) == 0 {
				c.row("No expired tags.")
			}
			return nil
		}},
}

func (c *call) putTag(ctx context.Context, put func(*maintain.Table, context.Context, string, int64, time.Duration) error) error {
	t, err := c.table(ctx)
	if err != nil {
		return err
	}
	id, err := c.number(0, "snapshot_id", "snapshot")
	if err != nil {
		return err
	}
	if id <= 0 && (c.has("snapshot_id") || c.has("snapshot")) {
		return errs.Userf(errs.WrongArguments, "%d is not a snapshot", id)
	}
	d, err := c.duration("time_retained")
	if err != nil {
		return err
	}
	if err := put(t, ctx, c.args["tag"], id, d); err != nil {
		return err
	}
	return c.success()
}

// tagFrom tags the first snapshot that a time or watermark has reached.
func (c *call) tagFrom(ctx context.Context, by string) error {
	t, err := c.table(ctx)
	if err != nil {
		return err
	}
	n, err := c.number(0, by)
	if err != nil {
		return err
	}
	d, err := c.duration("time_retained")
	if err != nil {
		return err
	}
	s, err := t.FirstSince(ctx, n, by == "watermark")
	if err != nil {
		return err
	}
	if err := t.CreateTag(ctx, c.args["tag"], s.ID, d); err != nil {
		return err
	}
	mark := "null"
	if s.Watermark != nil {
		mark = strconv.FormatInt(*s.Watermark, 10)
	}
	c.row(strings.TrimSpace(c.args["tag"]), s.ID, s.TimeMillis, mark)
	return nil
}
