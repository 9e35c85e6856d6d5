package exec

import (
	"context"
	"sync/atomic"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/exec/spill"
	"github.com/thermocline/thermocline/server/plan"
)

// query is one running statement.
type query struct {
	env    Env
	plan   *plan.Query
	ctx    context.Context // of the whole run; ended by cancel
	cancel context.CancelFunc
	budget *memory.Budget
	works  map[int]*spool // of recursive queries: the rows of the step before
	shares map[*plan.Shared]*shared
	kept   atomic.Int64  // of shares, whose operators outlive what started them
	values []*expr.Value // what the subplans gave, nil for those not run yet
	limit  int64         // bytes that budget may hold, 0: no limit
	grow   atomic.Int64  // operators that grow
	disk   *spill.Scope  // nil: no spilling
}

func (x *query) batchRows() int { return x.env.Options.Rows() }

func (x *query) account() account { return account{pays: x.budget} }

// typeOf returns the type of a column.
func (x *query) typeOf(id plan.ColID) expr.Type { return x.plan.Cols[id].Type }

// Run starts a query. The reader's batches have the columns of q.Columns. It
// must be closed; the query's memory is given back then. A failed Run has
// cleaned up.
func Run(ctx context.Context, q *plan.Query, env Env) (connector.BatchReader, error) {
	if q.Stream != nil {
		return nil, errs.Internalf("run query: a continuous read is run by Follow")
	}
	x := &query{env: env, plan: q, works: map[int]*spool{}, shares: map[*plan.Shared]*shared{}, limit: queryLimit(env)}
	x.budget = env.Budget.Child("query", x.limit)
	x.ctx, x.cancel = context.WithCancel(ctx)
	x.spilling()
	r := &result{x: x}
	err := guard(func() error {
		x.values = make([]*expr.Value, len(q.Subplans))
		var err error
		r.op, err = x.open(q.Root, q.Columns)
		return err
	})
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// open starts a plan and returns the operator of the given columns.
func (x *query) open(n plan.Node, cols []plan.Column) (operator, error) {
	c := compiler{x: x}
	p, layout, err := c.node(n)
	if err != nil {
		return nil, err
	}
	pick := make([]int, len(cols))
	for i, col := range cols {
		if pick[i] = layout.at(col.ID); pick[i] < 0 {
			return nil, errs.Internalf("run query: the plan does not give column %s", col.Name)
		}
	}
	phases, err := p.start(x.ctx)
	if err != nil {
		return nil, err
	}
	return gatherAhead(x, stacked(phases, func(in operator) operator { return &picked{in: in, cols: pick} })), nil
}

// ended returns what forgets the growing operators that were made since it was
// called, but for those that keep shared rows.
func (x *query) ended() func() {
	before, kept := x.grow.Load(), x.kept.Load()
	return func() { x.grow.Store(before + x.kept.Load() - kept) }
}

// value returns what a subquery gives. It is run when something that needs it is
// compiled, and once.
func (x *query) value(i int) (expr.Value, error) {
	if x.values[i] == nil {
		v, err := x.scalar(x.plan.Subplans[i])
		if err != nil {
			return v, err
		}
		x.values[i] = &v
	}
	return *x.values[i], nil
}

// scalar runs a subquery that gives one value.
func (x *query) scalar(s *plan.Subplan) (expr.Value, error) {
	defer x.ended()() // its operators end with it
	op, err := x.open(s.Plan, []plan.Column{x.plan.Cols[s.Col]})
	if err != nil {
		return expr.Value{}, err
	}
	defer op.Close()
	v := expr.Value{Type: s.Type, Vec: vector.NewNull(s.Type.Physical(), 1)}
	rows := 0
	for {
		b, err := op.Next(x.ctx)
		if err != nil || b == nil {
			return v, err
		}
		if rows += b.Rows(); rows > 1 {
			return v, errs.UserAt(s.Pos, errs.SubqueryRows, "Subquery returns more than 1 row")
		}
		if b.Rows() == 1 {
			c := b.Cols[0]
			w := vector.NewLike(c.Values(), 1)
			w.AppendFrom(c, b.Row(0))
			v.Vec = w.AsConst(1)
		}
	}
}

// result is the reader that Run returns.
type result struct {
	x      *query
	op     operator
	closed bool
}

// Next implements connector.BatchReader.
func (r *result) Next(ctx context.Context) (b *vector.Batch, err error) {
	if r.closed {
		return nil, nil
	}
	err = guard(func() error {
		for {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			b, err = r.op.Next(ctx)
			if err != nil || b == nil || b.Rows() > 0 {
				return err
			}
		}
	})
	if err != nil {
		b = nil
	}
	return b, err
}

// Close implements connector.BatchReader.
func (r *result) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.x.cancel()
	var err error
	if r.op != nil {
		err = r.op.Close()
	}
	if p := r.x.env.Profile; p != nil {
		p.Peak, p.Spilled = r.x.budget.Peak(), r.x.disk.Written()
	}
	r.x.budget.Close()
	if e := r.x.disk.Close(); err == nil {
		err = e
	}
	return err
}

// picked reorders columns.
type picked struct {
	in   operator
	cols []int
	out  vector.Batch
}

// Next implements operator.
func (p *picked) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := p.in.Next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	p.out = vector.Batch{Len: b.Len, Sel: b.Sel, Seq: -1, Cols: p.out.Cols[:0]}
	for _, c := range p.cols {
		p.out.Cols = append(p.out.Cols, b.Cols[c])
	}
	return &p.out, nil
}

// Close implements operator.
func (p *picked) Close() error { return p.in.Close() }
