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

// InsertUser is the commit user of statements.
const InsertUser = "thermocline-sql"

// Insert runs INSERT, REPLACE and INSERT OVERWRITE. The rows become visible
// together, or not at all.
func Insert(ctx context.Context, ins *plan.Insert, env Env) (out Outcome, err error) {
	c := newChange(env, ins.Ignore)
	defer c.close()
	w, err := ins.Table.NewWrite(ctx, connector.WriteOptions{CommitUser: InsertUser, Budget: c.budget, Overwrite: ins.Overwrite, KeepNulls: true, Once: true})
	if err != nil {
		return out, err
	}
	t := &target{Target: ins.Target, w: w}
	targets := []*target{t}
	defer func() { closeTargets(targets, &err) }()
	k := connector.Committable{Overwrite: ins.Overwrite, OverwriteDynamic: ins.Dynamic}
	if ins.Static != nil && !ins.Dynamic { // else the rows are in that partition anyway
		if k.OverwriteIn, _, err = partitionOf(ins.Target, ins.Static, env); err != nil {
			return out, err
		}
	}
	d := newDuplicates(c, ins, t)
	for _, q := range ins.Sources {
		if err := c.insertFrom(ctx, ins, q, t, d, &out); err != nil {
			return out, err
		}
	}
	if ins.Existing != plan.Upsert {
		if err := d.settle(ctx, &out); err != nil {
			return out, err
		}
	}
	if err := c.finish(ctx, targets, k); err != nil {
		return out, err
	}
	return out, nil
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
func (c *change) insertFrom(ctx context.Context, ins *plan.Insert, q *plan.Query, t *target, d *duplicates, out *Outcome) error {
	as := make([]*assigner, len(ins.Schema.Fields))
	never := map[int]bool{} // columns without a value: the first row fails
	for _, m := range ins.Missing {
		never[m.Field] = !m.Zero
	}
	for i, f := range ins.Schema.Fields {
		a, err := newAssigner(c.env.Expr, f, ins.Types[i], q.Columns[i].Type, c.strict)
		if err != nil {
			return err
		}
		a.table = ins.ID.Table
		a.zero = !c.strict && (ins.Many || ins.Ignore)
		as[i] = a
	}
	convert := func(b *vector.Batch, before int) (*vector.Batch, error) {
		now := &vector.Batch{Len: b.Len, Seq: -1, Cols: make([]*vector.Vec, len(as))}
		for _, i := range ins.Order {
			if never[i] {
				continue
			}
			var err error
			if now.Cols[i], err = as[i].convert(b.Cols[i], nil, b.Len, before+1); err != nil {
				return nil, err
			}
		}
		now.Cols = append(now.Cols, b.Cols[len(as):]...)
		if before == 0 && b.Len > 0 {
			if err := c.missing(ins); err != nil {
				return nil, err
			}
		}
		return now, nil
	}
	return c.each(ctx, q, func(x *query, b *vector.Batch) error {
		now, err := convert(b, int(out.Matched))
		if err != nil {
			if fault := c.firstFault(ctx, ins, x, b, int(out.Matched), d, convert); fault != nil {
				return fault
			}
			return err
		}
		out.Matched += uint64(b.Len)
		if ins.Existing != plan.Upsert {
			return d.add(ctx, x, now, out)
		}
		out.Affected += uint64(b.Len)
		out.Found += uint64(b.Len)
		return t.write(ctx, now, nil, vector.Insert)
	})
}

// firstFault finds the first row of b that cannot be inserted: the one that a
// server which goes row by row tells of.
func (c *change) firstFault(ctx context.Context, ins *plan.Insert, x *query, b *vector.Batch, before int, d *duplicates, convert func(*vector.Batch, int) (*vector.Batch, error)) error {
	for i := range b.Len {
		one, fault := convert(dense(b, []uint16{uint16(i)}), before+i)
		if ins.Existing != plan.Upsert {
			if fault == nil {
				fault = d.add(ctx, x, one, &Outcome{})
			} else if err := d.settle(ctx, &Outcome{}); err != nil {
				return err
			}
		}
		if fault != nil {
			return fault
		}
	}
	return nil
}

// missing tells of columns without value and default.
func (c *change) missing(ins *plan.Insert) error {
	for _, m := range ins.Missing {
		err := m.Err
		if !m.Zero {
			return err
		}
		c.env.Expr.Warnings.Add(expr.Warning{Level: "Warning", Kind: errs.NoDefault, Message: err.Error()})
	}
	return nil
}
