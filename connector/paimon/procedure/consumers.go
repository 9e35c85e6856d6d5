package procedure

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
)

var consumerProcedures = []definition{
	{"reset_consumer", params(required(catalog.TString, "table", "consumer_id"), optional(catalog.TBigInt, "next_snapshot_id")), nil, func(ctx context.Context, c *call) error {
		t, err := c.table(ctx)
		if err != nil {
			return err
		}
		if !c.has("next_snapshot_id") {
			err = t.DeleteConsumer(ctx, c.args["consumer_id"])
		} else if next, nerr := c.number(0, "next_snapshot_id"); nerr != nil {
			err = nerr
		} else {
			err = t.ResetConsumer(ctx, c.args["consumer_id"], next)
		}
		if err != nil {
			return err
		}
		return c.success()
	}},
	{"clear_consumers", params(required(catalog.TString, "table"), optional(catalog.TString, "including_consumers", "excluding_consumers")), nil, func(ctx context.Context, c *call) error {
		t, err := c.table(ctx)
		if err != nil {
			return err
		}
		if err := t.ClearConsumers(ctx, c.args["including_consumers"], c.args["excluding_consumers"]); err != nil {
			return err
		}
		return c.success()
	}},
}
