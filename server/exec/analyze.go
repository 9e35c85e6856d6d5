package exec

import (
	"context"

	"github.com/google/uuid"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/scan/statistics"
	"github.com/thermocline/thermocline/server/plan"
)

// Describe makes the statistics of a table and stores them.
func Describe(ctx context.Context, a *plan.Analysis, env Env) error {
	if a.Base == nil {
		return nil
	}
	budget := env.Budget.Child("query", queryLimit(env))
	defer budget.Close()
	s, err := statistics.Collect(ctx, a.Base, a.Columns, env.Options, budget)
	if err != nil {
		return err
	}
	user := uuid.NewString() // a commit user of its own, so that asking again finds this very one
	for range commitTries {
		if _, err = a.Table.Describe(ctx, user, s); errs.ClassOf(err) != errs.UnknownOutcome {
			break
		}
	}
	return err
}
