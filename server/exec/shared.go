package exec

import (
	"context"
	"sync"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/server/plan"
)

// A part of a plan that several places read runs once: whoever starts first runs it
// to its end, into a spool, and all read the spool. No reader waits for another
// one, so that it does not matter in which order they read, or that one of them
// builds the table that another one probes.

// shared is a shared part of a running query.
type shared struct {
	x    *query
	pipe pipe
	out  layout
	op   *grower

	mu     sync.Mutex
	filled bool
	rows   *spool
	err    error
	left   int // places that have not read it to its end, -1: nobody knows
}

// share compiles a shared part, once.
func (x *query) share(s *plan.Shared) (*shared, error) {
	if r := x.shares[s]; r != nil {
		return r, nil
	}
	// What the readers know about the rows that they want is not the others' wish.
	c := compiler{x: x}
	p, l, err := c.node(s.Plan)
	if err != nil {
		return nil, err
	}
	x.kept.Add(1)
	name := "shared rows"
	if s.Name != "" {
		name += " of " + s.Name
	}
	if x.env.Profile != nil {
		c.profile = x.env.Profile.of(s.Plan)
	}
	r := &shared{x: x, pipe: p, out: l, op: c.grower(name), left: s.Reads}
	if s.Again {
		r.left = -1
	}
	x.shares[s] = r
	return r, nil
}

// sharedScan compiles the reading of a shared part.
func (c compiler) sharedScan(n *plan.SharedScan) (pipe, layout, error) {
	r, err := c.x.share(n.Of)
	if err != nil {
		return pipe{}, nil, err
	}
	cols := make([]int, len(n.Cols))
	for i, col := range n.Cols {
		if cols[i] = r.out.at(col.From); cols[i] < 0 {
			return pipe{}, nil, errs.Internalf("run query: the shared rows have no column %s", c.x.plan.Cols[col.From].Name)
		}
	}
	return pipe{start: func(context.Context) ([]phase, error) {
		rows, err := r.fill()
		if err != nil {
			return nil, err
		}
		return rows.phases(cols, r.read), nil
	}}, layout(n.Output()), nil
}

// fill runs the part, once.
func (r *shared) fill() (*spool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.filled {
		r.filled = true
		r.rows, r.err = r.run()
	}
	return r.rows, r.err
}

func (r *shared) run() (_ *spool, err error) {
	ctx := r.x.ctx
	phases, err := r.pipe.start(ctx)
	if err != nil {
		return nil, err
	}
	in := gather(ctx, r.x, phases)
	defer closing(in, &err)
	rows := newSpool(r.op)
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		b, err := in.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			return rows, rows.end()
		}
		if err := rows.add(ctx, b.Cols, b.Sel, b.Rows()); err != nil {
			return nil, err
		}
	}
}

// read notes that a place has read everything; after the last one the rows go.
// Those that somebody did not read to the end go with the query.
func (r *shared) read() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left > 0 {
		if r.left--; r.left == 0 {
			r.rows.free()
		}
	}
}
