package procedure

import (
	"context"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

var partitionProcedures = []definition{
	{"drop_partition", required(catalog.TString, "table", "partitions"), nil, func(ctx context.Context, c *call) error {
		t, specs, err := c.partitions(ctx)
		if err != nil {
			return err
		}
		if err := t.Maintain().DropPartitions(ctx, specs); err != nil {
			return err
		}
		return c.success()
	}},
	{"mark_partition_done", required(catalog.TString, "table", "partitions"), nil, func(ctx context.Context, c *call) error {
		t, specs, err := c.partitions(ctx)
		if err != nil {
			return err
		}
		if err := t.Maintain().MarkDone(ctx, specs); err != nil {
			return err
		}
		return c.success()
	}},
	{"expire_partitions", params(required(catalog.TString, "table"), optional(catalog.TString, "expiration_time", "timestamp_formatter", "timestamp_pattern", "expire_strategy"),
		optional(catalog.TInt, "max_expires"), optional(catalog.TString, "options")), fields("expired_partitions", catalog.TString), expirePartitions},
}

// partitions opens the argument table and reads the argument partitions.
func (c *call) partitions(ctx context.Context) (*paimon.Table, []map[string]*string, error) {
	t, err := c.paimonTable(ctx, c.args["table"])
	if err != nil {
		return nil, nil, err
	}
	if len(t.Schema().PartitionKeys) == 0 {
		return nil, nil, errs.Userf(errs.WrongArguments, "the table %s is not partitioned", t.ID())
	}
	specs, err := spec.NewPartitioner(t.Schema()).ParsePartitionSpecs(c.args["partitions"])
	return t, specs, err
}

func expirePartitions(ctx context.Context, c *call) error {
	t, err := c.paimonTable(ctx, c.args["table"])
	if err != nil {
		return err
	}
	over := map[string]string{}
	if c.has("options") {
		for _, kv := range list(c.args["options"]) {
			k, v, ok := strings.Cut(kv, "=")
			if !ok {
				return errs.Userf(errs.WrongArguments, "the argument options has %q, which is not key=value", kv)
			}
			over[k] = v
		}
	}
	for arg, option := range map[string]string{"expiration_time": "partition.expiration-time", "timestamp_formatter": "partition.timestamp-formatter",
		"timestamp_pattern": "partition.timestamp-pattern", "expire_strategy": "partition.expiration-strategy", "max_expires": "partition.expiration-max-num"} {
		if v := c.text(arg); v != "" {
			over[option] = v
		}
	}
	m := t.Maintain()
	x, err := m.PartitionExpiry(over)
	if err != nil {
		return err
	}
	if x.After <= 0 {
		return errs.Userf(errs.WrongArguments, "say how old partitions may get: the argument expiration_time, or the table's option partition.expiration-time")
	}
	if len(t.Schema().PartitionKeys) == 0 {
		return errs.Userf(errs.WrongArguments, "the table %s is not partitioned", t.ID())
	}
	names, err := m.ExpirePartitions(ctx, x)
	if err != nil {
		return err
	}
	for _, n := range names {
		c.row(n)
	}
	if len(names) == 0 {
		c.row("No expired partitions.")
	}
	return nil
}
