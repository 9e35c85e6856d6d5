package procedure

import (
	"context"
	"fmt"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

var rolledBack = fields("previous_snapshot_id", catalog.TBigInt, "current_snapshot_id", catalog.TBigInt)

var rollbackProcedures = []definition{
	{"rollback_to", params(required(catalog.TString, "table"), optional(catalog.TString, "tag"), optional(catalog.TBigInt, "snapshot_id"), optional(catalog.TBigInt, "snapshot")),
		rolledBack, func(ctx context.Context, c *call) error {
			t, err := c.table(ctx)
			if err != nil {
				return err
			}
			id, err := c.number(0, "snapshot_id", "snapshot")
			if err != nil {
				return err
			}
			var from, to int64
			switch tag := c.text("tag"); {
			case tag != "" && id != 0:
				return errs.Userf(errs.WrongArguments, "give a tag or a snapshot_id, not both")
			case tag != "":
				from, to, err = t.RollbackToTag(ctx, tag)
			case id > 0:
				from, to, err = t.RollbackTo(ctx, id)
			default:
				return errs.Userf(errs.WrongArguments, "give a tag or a snapshot_id")
			}
			if err != nil {
				return err
			}
			c.row(from, to)
			return nil
		}},
	{"rollback_to_timestamp", params(required(catalog.TString, "table"), required(catalog.TBigInt, "timestamp")), rolledBack, func(ctx context.Context, c *call) error {
		t, err := c.table(ctx)
		if err != nil {
			return err
		}
		at, err := c.number(0, "timestamp")
		if err != nil {
			return err
		}
		from, to, err := t.RollbackToTime(ctx, at)
		if err != nil {
			return err
		}
		c.row(from, to)
		return nil
	}},
	{"rollback_to_watermark", params(required(catalog.TString, "table"), required(catalog.TBigInt, "watermark")), nil, func(ctx context.Context, c *call) error {
		t, err := c.table(ctx)
		if err != nil {
			return err
		}
		at, err := c.number(0, "watermark")
		if err != nil {
			return err
		}
		_, to, err := t.RollbackToWatermark(ctx, at)
		if err != nil {
			return err
		}
		c.row(fmt.Sprintf("Success roll back to snapshot: %d .", to))
		return nil
	}},
	{"rollback_to_as_latest", params(required(catalog.TString, "table"), optional(catalog.TString, "tag"), optional(catalog.TBigInt, "snapshot_id")),
		fields("previous_snapshot_id", catalog.TBigInt, "rolled_back_snapshot_id", catalog.TBigInt, "current_snapshot_id", catalog.TBigInt),
		func(ctx context.Context, c *call) error {
			t, err := c.table(ctx)
			if err != nil {
				return err
			}
			id, err := c.number(0, "snapshot_id")
			if err != nil {
				return err
			}
			if tag := c.text("tag"); (tag == "") == (id == 0) {
				return errs.Userf(errs.WrongArguments, "give a tag or a snapshot_id")
			}
			from, back, to, err := t.RestoreAsLatest(ctx, c.text("tag"), id)
			if err != nil {
				return err
			}
			c.row(from, back, to)
			return nil
		}},
}

var manifestProcedures = []definition{
	{"compact_manifest", params(required(catalog.TString, "table"), optional(catalog.TString, "options"), optional(catalog.TBoolean, "dry_run")), nil,
		func(ctx context.Context, c *call) error {
			t, err := c.table(ctx)
			if err != nil {
				return err
			}
			if c.has("options") {
				return errs.Unsupportedf(-1, "the argument options of compact_manifest")
			}
			dry, err := c.flag("dry_run", false)
			if err != nil {
				return err
			}
			if !dry {
				if err := t.CompactManifests(ctx); err != nil {
					return err
				}
			}
			c.row("success")
			return nil
		}},
	{"trigger_tag_automatic_creation", required(catalog.TString, "table"), nil, func(ctx context.Context, c *call) error {
		t, err := c.table(ctx)
		if err != nil {
			return err
		}
		if _, err := t.CreateAutoTags(ctx); err != nil {
			return err
		}
		return c.success()
	}},
}
