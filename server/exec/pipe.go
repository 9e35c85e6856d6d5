package exec

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// operator gives batches, as connector.BatchReader: nil, nil is the end, a batch
// is valid until the next call, Close may be called more than once. An operator
// belongs to one goroutine and closes those below it.
type operator interface {
	Next(ctx context.Context) (*vector.Batch, error)
	Close() error
}

// phase is a set of ranges that can be run independently, and in parallel. Its
// rows are those of range 0, then those of range 1 and so on.
type phase struct {
	ranges int
	rows   int64 // estimate, -1 when unknown
	open   func(ctx context.Context, i int) (operator, error)
	// visit, when set, is the order in which the ranges shall be read: open's i is a
	// position in it. Only a top-N, which asked for it, is given such a phase.
	visit []int
	// done, when set, is called once all ranges have been read, to give back what
	// they shared. A phase that is given up is not finished: what the query holds
	// goes with the query.
	done func()
}

// number is that of the range that open(i) reads.
func (p *phase) number(i int) int {
	if p.visit != nil {
		return p.visit[i]
	}
	return i
}

func (p *phase) finish() {
	if p.done != nil {
		p.done()
	}
}

// pipe is a pipeline that has not started: start does what must come before
// (planning the scan, building hash tables) and returns the phases, which run
// one after the other. It is started at most once.
type pipe struct {
	start func(ctx context.Context) ([]phase, error)
}

// stage puts an operator on top of every range.
func (p pipe) stage(make func(operator) operator) pipe {
	return pipe{start: func(ctx context.Context) ([]phase, error) {
		in, err := p.start(ctx)
		if err != nil {
			return nil, err
		}
		return stacked(in, make), nil
	}}
}

func stacked(in []phase, make func(operator) operator) []phase {
	out := append([]phase(nil), in...)
	for i := range out {
		open := out[i].open
		out[i].open = func(ctx context.Context, r int) (operator, error) {
			op, err := open(ctx, r)
			if err != nil {
				return nil, err
			}
			return make(op), nil
		}
	}
	return out
}

// source is a pipe of one range, opened lazily.
func source(open func(ctx context.Context) (operator, error)) pipe {
	return pipe{start: func(context.Context) ([]phase, error) {
		return []phase{{ranges: 1, rows: -1, open: func(ctx context.Context, _ int) (operator, error) { return open(ctx) }}}, nil
	}}
}

// smallRows is the number of rows below which handing work to other goroutines
// costs more than it gains, unless the number of threads was set.
const smallRows = 20000

// workersFor returns how many workers shall run a phase.
func (x *query) workersFor(p phase) int {
	w := min(x.env.Options.Workers(), p.ranges)
	if x.env.Options.Threads == 0 && p.rows >= 0 && p.rows < smallRows {
		return 1
	}
	return max(w, 1)
}

// stopped is the panic by which a long loop that cannot return an error (a
// comparison of a sort) ends when the query was cancelled; guard catches it.
type stopped struct{ err error }

// checkRows is the number of steps of a loop between two looks at whether the
// query was cancelled.
const checkRows = 1 << 14

// check ends what runs under guard when the query was cancelled.
func (x *query) check() {
	if x.ctx.Err() != nil {
		panic(stopped{context.Cause(x.ctx)})
	}
}

// guard turns a panic of f into an internal error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if s, ok := p.(stopped); ok {
				err = s.err
				return
			}
			slog.Error("a query operator panicked", "panic", p, "stack", string(debug.Stack()))
			err = errs.Internalf("run query: %v", p)
		}
	}()
	return f()
}

// closing closes an operator; its error counts when there is none yet.
func closing(op operator, err *error) {
	if e := op.Close(); *err == nil {
		*err = e
	}
}

// each runs fn on every range of every phase, with the range's number, counted over
// all phases from 0, and hands the results to deliver in the order of the ranges.
// deliver runs on the caller's goroutine. All workers have ended when it returns.
func each[T any](ctx context.Context, x *query, phases []phase, fn func(ctx context.Context, number int, op operator) (T, error), deliver func(T) error) error {
	base := 0
	for _, p := range phases {
		run := func(ctx context.Context, i int) (out T, err error) {
			err = guard(func() (err error) {
				op, err := p.open(ctx, i)
				if err != nil {
					return err
				}
				defer closing(op, &err) // also when fn panics
				out, err = fn(ctx, base+p.number(i), op)
				return err
			})
			return out, err
		}
		var err error
		if w := x.workersFor(p); w <= 1 {
			for i := 0; i < p.ranges && err == nil; i++ {
				var out T
				if out, err = run(ctx, i); err == nil {
					err = deliver(out)
				}
			}
		} else {
			err = eachParallel(ctx, w, p.ranges, run, deliver)
		}
		if err != nil {
			return err
		}
		base += p.ranges
		p.finish()
	}
	return nil
}

func eachParallel[T any](ctx context.Context, workers, ranges int, run func(context.Context, int) (T, error), deliver func(T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var (
		mu      sync.Mutex
		changed = sync.NewCond(&mu)
		next    int // range to take
		done    int // ranges delivered
		results = map[int]T{}
		failed  error // the first failure; those after it come from cancelling
		wg      sync.WaitGroup
	)
	for range workers {
		wg.Go(func() {
			for {
				mu.Lock()
				// Running far ahead of delivery would pile results up.
				for next < ranges && failed == nil && next >= done+2*workers {
					changed.Wait()
				}
				if next >= ranges || failed != nil {
					mu.Unlock()
					return
				}
				i := next
				next++
				mu.Unlock()
				out, err := run(ctx, i)
				mu.Lock()
				if err != nil {
					if failed == nil {
						failed = err
					}
					cancel()
				} else {
					results[i] = out
				}
				changed.Broadcast()
				mu.Unlock()
			}
		})
	}
	stop := context.AfterFunc(ctx, func() {
		mu.Lock()
		if failed == nil {
			failed = context.Cause(ctx)
		}
		changed.Broadcast()
		mu.Unlock()
	})
	defer func() {
		stop()
		cancel()
		wg.Wait()
	}()
	for i := range ranges {
		mu.Lock()
		out, ok := results[i]
		for !ok && failed == nil {
			changed.Wait()
			out, ok = results[i]
		}
		fail := failed
		delete(results, i)
		mu.Unlock()
		if !ok {
			return fail
		}
		if err := guard(func() error { return deliver(out) }); err != nil {
			mu.Lock()
			if failed == nil {
				failed = err
			}
			changed.Broadcast()
			mu.Unlock()
			return err
		}
		mu.Lock()
		done = i + 1
		changed.Broadcast()
		mu.Unlock()
	}
	return nil
}

// together runs fn for each of several workers and returns the first error. With one
// it runs on the caller's goroutine.
func together(workers int, fn func(w int) error) error {
	if workers == 1 {
		return fn(0)
	}
	errors := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { errors[w] = guard(func() error { return fn(w) }) })
	}
	wg.Wait()
	for _, err := range errors {
		if err != nil {
			return err
		}
	}
	return nil
}

// gather returns one operator that gives the rows of the phases in order. With
// several workers they run ahead by a few batches a range.
func gather(ctx context.Context, x *query, phases []phase) operator {
	return &gathered{x: x, phases: phases}
}

// gatherAhead is gather for who has work of his own to do with every row: one range
// alone runs ahead, too.
func gatherAhead(x *query, phases []phase) operator {
	return &gathered{x: x, phases: phases, ahead: x.env.Options.Workers() > 1}
}

// ahead is the number of batches that a worker may run ahead of the consumer.
const ahead = 4

type gathered struct {
	x      *query
	phases []phase
	ahead  bool // see gatherAhead
	phase  int
	at     int      // range being read
	cur    operator // sequential: its operator
	par    *parallel
	closed bool
}

// Next implements operator.
func (g *gathered) Next(ctx context.Context) (*vector.Batch, error) {
	for !g.closed {
		if g.phase >= len(g.phases) {
			return nil, nil
		}
		p := g.phases[g.phase]
		if g.par == nil && g.at == 0 && g.cur == nil {
			if w := g.x.workersFor(p); w > 1 || g.ahead && p.ranges > 0 && p.rows >= smallRows {
				g.par = startParallel(g.x, p, w)
			}
		}
		if g.par != nil {
			b, err := g.par.next(ctx)
			if b != nil || err != nil {
				return b, err
			}
			g.par.close()
			g.par = nil
			p.finish()
			g.phase++
			continue
		}
		if g.at >= p.ranges {
			p.finish()
			g.phase++
			g.at = 0
			continue
		}
		if g.cur == nil {
			op, err := p.open(ctx, g.at)
			if err != nil {
				return nil, err
			}
			g.cur = op
		}
		b, err := g.cur.Next(ctx)
		if b != nil || err != nil {
			return b, err
		}
		err = g.cur.Close()
		g.cur = nil
		g.at++
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// Close implements operator.
func (g *gathered) Close() error {
	if g.closed {
		return nil
	}
	g.closed = true
	if g.par != nil {
		g.par.close()
		g.par = nil
	}
	if g.cur != nil {
		err := g.cur.Close()
		g.cur = nil
		return err
	}
	return nil
}

// parallel runs a phase by workers; every range has a channel of batches.
type parallel struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
	ranges []chan delivery
	x      *query
	last   delivery           // what was given last
	free   chan *vector.Batch // batches to use again

	mu    sync.Mutex
	moved *sync.Cond // the consumer took a batch, or it is over
	at    int        // range being given
	over  bool
}

type delivery struct {
	b     *vector.Batch
	bytes int64
	err   error
}

func startParallel(x *query, p phase, workers int) *parallel {
	ctx, cancel := context.WithCancel(x.ctx)
	g := &parallel{cancel: cancel, ranges: make([]chan delivery, p.ranges), free: make(chan *vector.Batch, 2*workers), x: x}
	g.moved = sync.NewCond(&g.mu)
	context.AfterFunc(ctx, func() {
		g.mu.Lock()
		g.over = true
		g.moved.Broadcast()
		g.mu.Unlock()
	})
	for i := range g.ranges {
		g.ranges[i] = make(chan delivery, ahead)
	}
	next := 0
	for range workers {
		g.wg.Go(func() {
			for {
				g.mu.Lock()
				// Ranges that are far from their turn would pile batches up.
				for next < p.ranges && next >= g.at+2*workers && !g.over {
					g.moved.Wait()
				}
				i := next
				next++
				g.mu.Unlock()
				if i >= p.ranges {
					return
				}
				out := g.ranges[i]
				err := guard(func() (err error) {
					op, err := p.open(ctx, i)
					if err != nil {
						return err
					}
					defer closing(op, &err)
					return g.pump(ctx, op, out)
				})
				if err != nil {
					select {
					case out <- delivery{err: err}:
					case <-ctx.Done():
					}
				}
				close(out)
				if ctx.Err() != nil {
					return
				}
			}
		})
	}
	return g
}

// pump sends copies of op's batches.
func (g *parallel) pump(ctx context.Context, op operator, out chan<- delivery) error {
	for {
		b, err := op.Next(ctx)
		if err != nil || b == nil {
			return err
		}
		if b.Rows() == 0 {
			continue
		}
		var c *vector.Batch
		select {
		case c = <-g.free:
		default:
		}
		c = copyBatch(c, b)
		n := batchBytes(c)
		// The last quarter of the memory is for operators that cannot do without.
		if l := g.x.limit; l > 0 && g.x.budget.Used()+n > l/4*3 || g.x.budget.Reserve(n) != nil {
			// One batch of each range may be on its way in any case: without it
			// nothing would move.
			n = 0
			g.mu.Lock()
			for len(out) > 0 && !g.over {
				g.moved.Wait()
			}
			g.mu.Unlock()
		}
		select {
		case out <- delivery{b: c, bytes: n}:
		case <-ctx.Done():
			g.x.budget.Release(n)
			return context.Cause(ctx)
		}
	}
}

func (g *parallel) next(ctx context.Context) (*vector.Batch, error) {
	g.x.budget.Release(g.last.bytes)
	if g.last.b != nil {
		select {
		case g.free <- g.last.b:
		default:
		}
	}
	g.last = delivery{}
	for g.at < len(g.ranges) {
		select {
		case d, ok := <-g.ranges[g.at]:
			g.mu.Lock()
			if !ok {
				g.at++
			}
			g.moved.Broadcast()
			g.mu.Unlock()
			if !ok {
				continue
			}
			g.last = d
			return d.b, d.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-g.x.ctx.Done():
			return nil, context.Cause(g.x.ctx)
		}
	}
	return nil, nil
}

func (g *parallel) close() {
	g.cancel()
	g.wg.Wait()
	g.x.budget.Release(g.last.bytes)
	g.last = delivery{}
	for _, c := range g.ranges[min(g.at, len(g.ranges)):] {
		for len(c) > 0 {
			g.x.budget.Release((<-c).bytes)
		}
	}
}
