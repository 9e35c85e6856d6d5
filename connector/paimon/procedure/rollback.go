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
}
