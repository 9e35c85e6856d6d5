package exec

import (
	"context"
	"sync"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/exec/spill"
	"github.com/thermocline/thermocline/server/plan"
)

// aggregate compiles a grouping: every range is aggregated by itself, the
// results are merged in the order of the ranges.
func (c compiler) aggregate(n *plan.Aggregate) (pipe, layout, error) {
	in, l, err := c.node(n.In)
	if err != nil {
		return pipe{}, nil, err
	}
	keys := make([]expr.Expr, len(n.Keys))
	for i, k := range n.Keys {
		if keys[i], err = c.bind(k.Expr, l); err != nil {
			return pipe{}, nil, err
		}
	}
	args := make([][]expr.Expr, len(n.Aggs))
	calls := make([]expr.Aggregate, len(n.Aggs))
	for i, a := range n.Aggs {
		calls[i] = a.Call
		if args[i], err = c.bindAll(a.Args, l); err != nil {
			return pipe{}, nil, err
		}
	}
	var top *runtimeFilter
	for _, f := range c.filters {
		if f.group == n {
			top = f
		}
	}
	return c.grouped(in, keys, calls, args, top), layout(n.Output()), nil
}

// grouped is the pipe of the keys' distinct values and the aggregates' results.
// Without keys it gives one row; without aggregates it is DISTINCT. Groups that top
// does not need may be left out.
func (c compiler) grouped(in pipe, keys []expr.Expr, calls []expr.Aggregate, args [][]expr.Expr, top *runtimeFilter) pipe {
	x := c.x
	g := &grouping{x: x, keys: keys, calls: calls, args: args, top: top}
	for _, k := range keys {
		g.types = append(g.types, k.Type())
	}
	name := "group rows"
	if len(calls) == 0 {
		name = "distinct rows"
	}
	g.op = c.grower(name)
	g.divisible = len(keys) > 0
	for _, s := range g.empty().states {
		s.Grow(1)
		width := 0
		if of, cols := s.Unload(); of == nil {
			width = len(cols)
		}
		g.widths = append(g.widths, width)
		g.divisible = g.divisible && (width > 0 || expr.Selects(s))
	}
	g.slot()
	return pipe{start: func(ctx context.Context) ([]phase, error) {
		phases, err := in.start(ctx)
		if err != nil {
			return nil, err
		}
		if err := each(ctx, x, phases, g.run, func(part *groups) error { return g.deliver(ctx, part) }); err != nil {
			return nil, err
		}
		return g.finish(ctx)
	}}
}

// grouping is what all workers of an aggregation share.
type grouping struct {
	x     *query
	keys  []expr.Expr
	types []expr.Type
	calls []expr.Aggregate
	args  [][]expr.Expr
	op    *grower

	widths []int // columns of each aggregate that has one row a group when it is spilled, else 0

	uniq      []expr.Expr // the arguments of all calls, each once
	slots     [][]int     // of each call's arguments in uniq
	divisible bool        // groups can be kept in partitions

	top *runtimeFilter // which groups are needed, nil: all

	mu      sync.Mutex
	all     *groups       // of the ranges that were delivered, nil at first
	many    *partitioned  // in place of all when there are many groups
	file    *spill.Writer // what was spilled, nil: nothing
	flushed bool          // all is in the file
}

// groups are the groups of some rows and their accumulators.
type groups struct {
	g      *grouping
	table  *groupTable
	states []expr.State
	acct   account
	number int // of the range, from 1

	// See partitioned.
	rows      int      // added to the table, or to raw, since the last decision that changed something
	asRows    bool     // rows go to raw
	raw       rowStore // keys and arguments
	rawHashes []uint64
	cols      []*vector.Vec
	chunks    []*chunk
	waiting   int64 // bytes in chunks
}

func (g *grouping) empty() *groups {
	s := &groups{g: g, table: g.x.groupTable(g.types), acct: g.op.account()}
	for _, c := range g.calls {
		s.states = append(s.states, c.NewState(g.x.env.Expr))
	}
	return s
}

// slot finds arguments that several calls have.
func (g *grouping) slot() {
	known := map[string]int{}
	for _, args := range g.args {
		slots := make([]int, len(args))
		for i, a := range args {
			at, ok := known[a.Key()]
			if !ok || a.Traits()&expr.Volatile != 0 {
				at = len(g.uniq)
				known[a.Key()] = at
				g.uniq = append(g.uniq, a)
			}
			slots[i] = at
		}
		g.slots = append(g.slots, slots)
	}
}

// run aggregates the rows of one range.
func (g *grouping) run(ctx context.Context, number int, op operator) (*groups, error) {
	s := g.empty()
	s.number = number + 1
	var (
		ids  []uint32
		keys = make([]*vector.Vec, len(g.keys))
		vals = make([]*vector.Vec, len(g.uniq))
	)
	for {
		b, err := op.Next(ctx)
		if err != nil {
			s.acct.free()
			return nil, err
		}
		if b == nil {
			return s, g.ended(ctx, s)
		}
		n := b.Rows()
		if n == 0 {
			continue
		}
		for i, k := range g.keys {
			if keys[i], err = k.Eval(g.x.env.Expr, b); err != nil {
				return nil, err
			}
		}
		for i, a := range g.uniq {
			if vals[i], err = a.Eval(g.x.env.Expr, b); err != nil {
				return nil, err
			}
		}
		if cap(ids) < n {
			ids = make([]uint32, n)
		}
		for at := 0; at < n; {
			sel, m := b.Sel, n
			if g.divisible {
				if m = min(n-at, s.rowsIn()); m < n {
					sel = piece(b.Sel, at, at+m)
				}
			}
			if s.asRows {
				s.addRows(keys, vals, sel, m)
			} else if err := s.update(keys, vals, sel, m, ids[:m]); err != nil {
				return nil, err
			}
			at += m
			if s.rows += m; g.divisible && s.rows%sampleRows == 0 {
				if err := s.turn(); err != nil {
					return nil, err
				}
			}
		}
		if err := g.keep(ctx, s); err != nil {
			return nil, err
		}
	}
}

// update adds rows to their groups; ids is room for these.
func (s *groups) update(keys, vals []*vector.Vec, sel []uint16, n int, ids []uint32) error {
	var groups []uint32
	if len(keys) > 0 {
		groups = ids
		if err := s.table.find(keys, sel, n, groups); err != nil {
			return err
		}
	}
	s.cols = s.cols[:0]
	for i, st := range s.states {
		if len(keys) > 0 {
			st.Grow(s.table.size())
		} else {
			st.Grow(1)
		}
		args := s.cols[:0]
		for _, at := range s.g.slots[i] {
			args = append(args, vals[at])
		}
		s.cols = args
		if err := st.Update(groups, args, sel, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *groups) bytes() int64 {
	n := s.table.bytes() + s.waiting + s.raw.bytes() + int64(cap(s.rawHashes))*8
	for _, st := range s.states {
		n += st.Bytes()
	}
	return n
}

// merge adds the groups of a later range.
func (s *groups) merge(o *groups) error {
	defer o.acct.free()
	var to []uint32
	if n := o.table.size(); len(s.g.keys) > 0 {
		if n == 0 {
			return nil
		}
		to = make([]uint32, n)
		if err := s.table.findAll(o.table, to); err != nil {
			return err
		}
	}
	for i, st := range s.states {
		if len(s.g.keys) > 0 {
			st.Grow(s.table.size())
		} else {
			st.Grow(1)
			o.states[i].Grow(1)
		}
		if err := st.Merge(o.states[i], to); err != nil {
			return err
		}
	}
	return nil
}

// groupRange is how many groups one worker takes to give, at most as many as a batch
// may have.
var groupRange = 1 << 15

// phases gives the groups in the order in which they first appeared; in one range,
// when a state does not allow more.
func (s *groups) phases() ([]phase, error) {
	n := s.table.size()
	if len(s.g.keys) == 0 {
		n = 1
	}
	size := groupRange
	for _, st := range s.states {
		concurrent, err := expr.Complete(st)
		if err != nil {
			return nil, err
		}
		if !concurrent {
			size = max(n, 1)
		}
	}
	return []phase{{ranges: max(1, (n+size-1)/size), rows: int64(n), open: func(_ context.Context, i int) (operator, error) {
		return &emit{s: s, at: i * size, end: min(n, (i+1)*size)}, nil
	}, done: s.acct.free}}, nil
}

// emit gives the groups at to end.
type emit struct {
	s       *groups
	at, end int
	idx     []int32
}

// Next implements operator.
func (e *emit) Next(ctx context.Context) (*vector.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e.at >= e.end {
		return nil, nil
	}
	to := min(e.end, e.at+e.s.g.x.batchRows())
	out := &vector.Batch{Len: to - e.at, Seq: -1}
	e.idx = sequence(e.idx, e.at, to)
	for i := range e.s.g.keys {
		out.Cols = append(out.Cols, take(e.s.table.keys.cols[i], e.idx))
	}
	for _, st := range e.s.states {
		v, err := st.Result(e.at, to)
		if err != nil {
			return nil, err
		}
		out.Cols = append(out.Cols, v)
	}
	e.at = to
	return out, nil
}

// Close implements operator.
func (e *emit) Close() error { e.at = e.end; return nil }
