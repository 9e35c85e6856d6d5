package read

import (
	"context"
	"fmt"
	"slices"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
)

// fallbackOption names the branch from which partitions are read that the main
// branch does not have.
const fallbackOption = "scan.fallback-branch"

// fallback returns the newest state of the fallback branch, nil when the table
// has none.
func (s *Source) fallback(ctx context.Context, schema *catalog.Schema) (*State, error) {
	branch := schema.Options[fallbackOption]
	if branch == "" || branch == "main" || s.Branch != "" {
		return nil, nil
	}
	b := *s
	b.Branch = branch
	b.Name = s.Name + "$branch_" + branch
	st, err := b.Resolve(ctx, catalog.Ref{})
	if err != nil {
		return nil, fmt.Errorf("read the fallback branch of table %s: %w", s.Name, err)
	}
	return st, nil
}

// planFallback adds to the plan of a state the partitions that only its fallback
// branch has. A partition that the state has any file of is complete there.
func (st *State) planFallback(ctx context.Context, req connector.ScanRequest, plan *connector.Plan) (*connector.Plan, error) {
	if st.fallbackErr != nil {
		return nil, st.fallbackErr
	}
	if st.fallback == nil {
		return nil, errs.Unsupportedf(-1, "time travel on tables with '%s' (table %s)", fallbackOption, st.src.Name)
	}
	other := st.fallback.schema
	same := slices.EqualFunc(st.schema.Fields, other.Fields, func(a, b catalog.Field) bool { return a.Name == b.Name && a.Type.Nullable().Equal(b.Type.Nullable()) })
	if !same || !slices.Equal(st.schema.PartitionKeys, other.PartitionKeys) {
		return nil, errs.Userf(errs.InvalidConfig, "read table %s: its columns differ from those of its fallback branch %q", st.src.Name, st.fallback.src.Branch)
	}
	live, err := st.live(ctx, entryFilter{})
	if err != nil {
		return nil, err
	}
	complete := map[string]bool{}
	for _, r := range live.files {
		x := live.sets[r.Set]
		complete[string(x.Partitions()[x.Partition(int(r.Index))])] = true
	}
	rest, err := st.fallback.plan(ctx, req, complete)
	if err != nil {
		return nil, err
	}
	plan.Splits = append(plan.Splits, rest.Splits...)
	plan.Files += rest.Files
	plan.PrunedFiles += rest.PrunedFiles
	plan.Bytes += rest.Bytes
	return plan, nil
}
