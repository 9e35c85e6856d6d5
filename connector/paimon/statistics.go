package paimon

import (
	"context"
	"fmt"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

var _ connector.Describing = (*Table)(nil)

// Describe implements connector.Describing: a snapshot of kind ANALYZE. A table
// without snapshots has nothing to describe.
func (t *Table) Describe(ctx context.Context, user string, s *connector.Statistics) (connector.CommitResult, error) {
	if s.Version == 0 {
		return connector.CommitResult{}, nil
	}
	if s.SchemaID != t.schema.ID {
		return connector.CommitResult{}, errs.Internalf("describe table %s: statistics of schema %d, not %d", t.id, s.SchemaID, t.schema.ID)
	}
	b, err := spec.MarshalStatistics(s, t.schema)
	if err != nil {
		return connector.CommitResult{}, fmt.Errorf("describe table %s: %w", t.id, err)
	}
	c, err := t.NewCommit(ctx, user)
	if err != nil {
		return connector.CommitResult{}, err
	}
	release, err := t.driver.registry.Commit(ctx, t.paths())
	if err != nil {
		return connector.CommitResult{}, err
	}
	defer release()
	return c.(*tableCommit).Describe(ctx, b, s.SchemaID)
}
