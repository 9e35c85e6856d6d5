package procedure

import (
	"context"
	"strconv"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/maintain"
	"github.com/thermocline/thermocline/internal/errs"
)

var expiryProcedures = []definition{
	{"expire_snapshots", params(required(catalog.TString, "table"), optional(catalog.TInt, "retain_max", "retain_min"), optional(catalog.TString, "older_than"),
		optional(catalog.TInt, "max_deletes"), optional(catalog.TString, "options")), nil, func(ctx context.Context, c *call) error {
		t, err := c.table(ctx)
		if err != nil {
			return err
		}
		if c.has("options") {
			return errs.Unsupportedf(-1, "the argument options of expire_snapshots: use retain_max, retain_min, older_than and max_deletes")
		}
		r, err := t.SnapshotRetention()
		if err != nil {
			return err
		}
		if err := c.retention(&r); err != nil {
			return err
		}
		n, err := t.ExpireSnapshots(ctx, r)
		if err != nil {
			return err
		}
		c.row(strconv.Itoa(n))
		return nil
	}},
	{"expire_changelogs", params(required(catalog.TString, "table"), optional(catalog.TInt, "retain_max", "retain_min"), optional(catalog.TString, "older_than"),
		optional(catalog.TInt, "max_deletes"), optional(catalog.TBoolean, "delete_all")), nil, func(ctx context.Context, c *call) error {
		t, err := c.table(ctx)
		if err != nil {
			return err
		}
		all, err := c.flag("delete_all", false)
		if err != nil {
			return err
		}
		if all {
			if _, err := t.DropChangelogs(ctx); err != nil {
				return err
			}
			c.row("Delete all separated changelogs success.")
			return nil
		}
		r, _, err := t.ChangelogRetention()
		if err != nil {
			return err
		}
		if err := c.retention(&r); err != nil {
			return err
		}
		n, err := t.ExpireChangelogs(ctx, r)
		if err != nil {
			return err
		}
		c.row(strconv.Itoa(n))
		return nil
	}},
}

// retention changes r as the arguments say.
func (c *call) retention(r *maintain.Retention) error {
	var err error
	if r.Max, err = c.number(r.Max, "retain_max"); err != nil {
		return err
	}
	if !c.has("retain_min") && c.has("retain_max") {
		r.Min = min(r.Min, r.Max)
	}
	if r.Min, err = c.number(r.Min, "retain_min"); err != nil {
		return err
	}
	if r.Min < 1 || r.Max < r.Min {
		return errs.Userf(errs.WrongArguments, "retain_min = %d must be at least 1 and at most retain_max = %d", r.Min, r.Max)
	}
	old, err := c.time("older_than")
	if err != nil {
		return err
	}
	if !old.IsZero() {
		r.Time = c.env.Now().Sub(old)
	}
	r.Limit, err = c.number(1<<62, "max_deletes")
	return err
}
