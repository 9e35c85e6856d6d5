package exec

import (
	"context"
	"math"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// batchIdentifier is the commit identifier of batch writes, as Paimon's own
// have it; the nonce tells them apart.
const batchIdentifier = math.MaxInt64

// InsertUser is the commit user of INSERT statements.
const InsertUser = "thermocline-sql"

// Insert runs an INSERT and returns the number of rows. The rows become visible
// together, or not at all.
func Insert(ctx context.Context, ins *plan.Insert, env Env) (rows uint64, err error) {
	budget := env.Budget.Child("query", env.Options.Memory)
	defer budget.Close()
	w, err := ins.Table.NewWrite(ctx, connector.WriteOptions{CommitUser: InsertUser, Budget: budget})
	if err != nil {
		return 0, err
	}
	defer func() {
		if e := w.Close(); err == nil {
			err = e
		}
	}()
	strict := !ins.Ignore && (env.Expr.Mode.Has(expr.StrictTransTables) || env.Expr.Mode.Has(expr.StrictAllTables))
	for _, q := range ins.Sources {
		n, err := insertFrom(ctx, ins, q, env, w, strict, int(rows))
		if err != nil {
			return 0, err
		}
		rows += n
	}
	messages, err := w.PrepareCommit(ctx)
	if err != nil {
		return 0, err
	}
	c, err := ins.Table.NewCommit(ctx, InsertUser)
	if err != nil {
		return 0, err
	}
	if err := commit(ctx, c, &connector.Committable{Identifier: batchIdentifier, Messages: messages, Overwrite: ins.Overwrite}); err != nil {
		return 0, err
	}
	return rows, nil
}

// commitTries bounds how often an outcome that is not known is asked for again.
const commitTries = 5

// commit makes the rows visible. Of an unknown outcome the very same committable
// is tried again, which finds out (DESIGN D12); what is known to have failed is
// cleaned up.
func commit(ctx context.Context, c connector.TableCommit, k *connector.Committable) error {
	var err error
	for range commitTries {
		if _, err = c.Commit(ctx, k); err == nil || errs.ClassOf(err) != errs.UnknownOutcome {
			break
		}
	}
	if err != nil && errs.ClassOf(err) != errs.UnknownOutcome {
		// The commit error is what the client must see.
		_ = c.Abort(context.WithoutCancel(ctx), k.Messages)
	}
	return err
}

// insertFrom writes the rows of one source.
func insertFrom(ctx context.Context, ins *plan.Insert, q *plan.Query, env Env, w connector.TableWrite, strict bool, before int) (uint64, error) {
	as := make([]*assigner, len(ins.Schema.Fields))
	for i, f := range ins.Schema.Fields {
		a, err := newAssigner(env.Expr, f, ins.Types[i], q.Columns[i].Type, strict)
		if err != nil {
			return 0, err
		}
		as[i] = a
	}
	r, err := Run(ctx, q, env)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	rows := 0
	for {
		b, err := r.Next(ctx)
		if err != nil {
			return 0, err
		}
		if b == nil {
			return uint64(rows), nil
		}
		n := b.Rows()
		out := &vector.Batch{Len: n, Seq: -1, Cols: make([]*vector.Vec, len(as))}
		for i, a := range as {
			if out.Cols[i], err = a.convert(b.Cols[i], b.Sel, n, before+rows+1); err != nil {
				return 0, err
			}
		}
		if err := guard(func() error { return w.Write(ctx, out) }); err != nil {
			return 0, err
		}
		rows += n
	}
}
