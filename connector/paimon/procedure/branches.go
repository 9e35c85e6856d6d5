package procedure

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
)

var branchProcedures = []definition{
	{"create_branch", params(required(catalog.TString, "table", "branch"), optional(catalog.TString, "tag"), optional(catalog.TBoolean, "ignoreIfExists")), nil,
		func(ctx context.Context, c *call) error {
			t, err := c.table(ctx)
			if err != nil {
				return err
			}
			name := "ignoreIfExists"
			if !c.has(name) {
				name = "ignoreifexists"
			}
			ignore, err := c.flag(name, false)
			if err != nil {
				return err
			}
			if err := t.CreateBranch(ctx, c.args["branch"], c.args["tag"], ignore); err != nil {
				return err
			}
			return c.success()
		}},
	{"delete_branch", required(catalog.TString, "table", "branch"), nil, func(ctx context.Context, c *call) error {
		t, err := c.table(ctx)
		if err != nil {
			return err
		}
		for _, name := range list(c.args["branch"]) {
			if err := t.DeleteBranch(ctx, name); err != nil {
				return err
			}
		}
		return c.success()
	}},
	{"rename_branch", required(catalog.TString, "table", "from_branch", "to_branch"), nil, func(ctx context.Context, c *call) error {
		t, err := c.table(ctx)
		if err != nil {
			return err
		}
		if err := t.RenameBranch(ctx, c.args["from_branch"], c.args["to_branch"]); err != nil {
			return err
		}
		return c.success()
	}},
	{"fast_forward", required(catalog.TString, "table", "branch"), nil, func(ctx context.Context, c *call) error {
		t, err := c.table(ctx)
		if err != nil {
			return err
		}
		if err := t.FastForward(ctx, c.args["branch"]); err != nil {
			return err
		}
		return c.success()
	}},
}
