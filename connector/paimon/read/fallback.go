package read

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/spec"
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

// fallbackAt returns the state of the fallback branch that belongs to a version of
// the table, snap, which ref names; nil when the table has none. As in Java, that
// is the branch's newest snapshot which is not after snap, or else its first; tags
// and moments are the branch's own.
func (s *Source) fallbackAt(ctx context.Context, schema *catalog.Schema, ref catalog.Ref, snap *spec.Snapshot) (*State, error) {
	branch := schema.Options[fallbackOption]
	if branch == "" || branch == "main" || s.Branch != "" {
		return nil, nil
	}
	b := *s
	b.Branch = branch
	b.Name = s.Name + "$branch_" + branch
	tag, err := s.tag(ctx, ref.Name)
	if err != nil {
		return nil, err
	}
	if ref.Kind == catalog.BySnapshot || ref.Kind == catalog.ByVersion && tag == nil {
		ref = catalog.Ref{Kind: catalog.BySnapshot, ID: 1}
		at, err := b.AtTime(ctx, time.UnixMilli(snap.TimeMillis))
		switch {
		case err == nil:
			ref.ID = at.ID
		case !errs.Is(err, errs.UnknownSnapshot):
			return nil, err
		}
	}
	st, err := b.Resolve(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("read the fallback branch of table %s: %w", s.Name, err)
	}
	return st, nil
}

// Fallback returns the state in which the partitions are that this one lacks, nil
// when there is none.
func (st *State) Fallback() (*State, error) { return st.fallback, st.fallbackErr }

// planFallback adds to the plan of a state the partitions that only its fallback
// branch has. A partition that the state has any file of is complete there.
func (st *State) planFallback(ctx context.Context, req connector.ScanRequest, plan *connector.Plan) (*connector.Plan, error) {
	if st.fallbackErr != nil {
		return nil, st.fallbackErr
	}
	if st.fallback == nil {
		return nil, errs.Unsupportedf(-1, "this time travel on tables with '%s' (table %s)", fallbackOption, st.src.Name)
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
