package plan

import (
	"context"
	"strconv"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
)

// Bind resolves, types and optimizes a query without executing it. Errors carry
// MySQL's kinds (errs.UnknownColumn, NotInGroupBy, …) and a position.
func Bind(ctx context.Context, q *syntax.Query, env *Env) (*Query, error) {
	b := newBinder(ctx, tracking(env, q))
	b.isQuery = true
	r, err := b.query(q, nil, nil)
	if err == nil && b.stream != nil {
		r, err = b.continuous(r)
	}
	if err != nil {
		return nil, err
	}
	return b.finished(r)
}

func newBinder(ctx context.Context, env *Env) *binder {
	return &binder{ctx: ctx, env: env, uses: map[string]*TableUse{}}
}

// finished optimizes a bound query.
func (b *binder) finished(r *result) (*Query, error) {
	if b.stream != nil && !b.isQuery {
		return nil, errs.Unsupportedf(b.streamAt, "a continuous read in another statement than SELECT")
	}
	o := &optimizer{b: b}
	small := len(b.subplans) == 0 && constant(r.node)
	if !small {
		r.node = o.share(r.node)
	}
	if b.env.Lossless {
		b.lossless(r)
	}
	for i, id := range r.texts {
		c := r.cols[i]
		c.ID, c.Texts = id, true
		r.cols[i] = c
	}
	q := &Query{Root: r.node, Subplans: b.subplans, Stream: b.stream, Streamed: b.streamed}
	for _, c := range r.cols {
		q.Columns = append(q.Columns, b.cols[c.ID])
		last := &q.Columns[len(q.Columns)-1]
		last.Name = c.Name
		if c.Texts {
			last.Type, last.Texts = c.Type, true
		}
	}
	for _, u := range b.tables {
		q.Tables = append(q.Tables, *u)
	}
	var err error
	if !small {
		if q.Root, err = o.optimize(q.Root, r.ids()); err != nil {
			return nil, err
		}
	}
	for _, s := range q.Subplans {
		if s.optimized {
			continue
		}
		s.optimized = true
		if s.Plan, err = o.optimize(s.Plan, []ColID{s.Col}); err != nil {
			return nil, err
		}
	}
	if q.Shared, err = o.sharedPlans(q.Root); err != nil {
		return nil, err
	}
	q.Cols = b.cols
	if q.Stream != nil {
		q.Count = -1
		if b.ends != nil {
			q.Count, q.Offset = b.ends.Count, b.ends.Offset
		}
		return q, b.rowByRow(q.Root)
	}
	return q, nil
}

// constant reports whether a plan is of expressions alone, as that of SELECT 1: the
// rules have nothing to do there.
func constant(n Node) bool {
	switch n := n.(type) {
	case *Project:
		return constant(n.In)
	case *Values:
		return len(n.Cols) == 0
	}
	return false
}

func valueName(i int) string { return "column_" + strconv.Itoa(i) }
