package ingest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/thermocline/thermocline/ingest/sink"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// copier reads tables in chunks while the stream runs. Its workers read, several
// tables and several chunks of one at a time; the follower takes their batches
// between two transactions, writes them, and says when they are committed. What
// is not committed is read again, after a crash too.
type copier struct {
	src    source.Chunked
	budget *memory.Budget
	ready  func() // a batch waits: called without locks
	out    chan *copied
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	moved chan struct{} // closed and made anew when there may be work
	parts []*part
}

// part is the copy of one source table into one lake table.
type part struct {
	t     *sink.Table
	index int // in t.Definitions
	// Below the copier's lock: the progress that the follower commits, and what
	// workers are at.
	state   *sink.Part
	def     *source.Table
	batch   func(int) *vector.Batch
	enabled bool // the stream is past the table's start
	round   int  // raised when what was read must be read again
	reading []source.Chunk
	cutting bool
	retry   time.Time // after a failure that may pass
}

// copied is a batch of a chunk.
type copied struct {
	p        *part
	round    int
	chunk    source.Chunk
	batch    *vector.Batch
	reserved int64
	last     bool // of its chunk
	invalid  int64
	err      error
}

// Rows of a chunk, by the size of the table's rows: so many that a chunk takes a
// second or so, and few enough that little is read twice after a failure.
const (
	chunkBytes    = 16 << 20
	leastChunk    = 2_000
	mostChunk     = 200_000
	defaultChunk  = 50_000
	alteredPause  = 200 * time.Millisecond
	chunksPerWork = 2 // of one table beyond the workers, to be begun
)

func chunkRows(t *source.Table) int {
	if testChunkRows > 0 {
		return testChunkRows
	}
	if t.Rows <= 0 || t.Bytes <= 0 {
		return defaultChunk
	}
	return int(min(max(chunkBytes/max(t.Bytes/t.Rows, 1), leastChunk), mostChunk))
}

// testChunkRows is the size of chunks in tests, 0 otherwise.
var testChunkRows int

// newCopier starts workers for the tables that are being copied; nil when there
// are none.
func newCopier(ctx context.Context, src source.Chunked, budget *memory.Budget, tables []*sink.Table, workers int, ready func()) *copier {
	c := &copier{src: src, budget: budget, ready: ready, out: make(chan *copied, workers), moved: make(chan struct{})}
	for _, t := range tables {
		if t.Copying == nil || t.Stopped != "" {
			continue
		}
		for i, s := range t.Copying.Parts {
			c.parts = append(c.parts, &part{t: t, index: i, state: s, def: t.Definitions[i], batch: t.ChunkBatches(t.Definitions[i])})
		}
	}
	if len(c.parts) == 0 {
		return nil
	}
	ctx, c.cancel = context.WithCancel(ctx)
	for range workers {
		c.wg.Add(1)
		go func() {
			defer c.wg.Done()
			c.work(ctx)
		}()
	}
	return c
}

// close ends the workers and drops what they read.
func (c *copier) close() {
	if c == nil {
		return
	}
	c.cancel()
	go func() {
		c.wg.Wait()
		close(c.out)
	}()
	for x := range c.out {
		c.budget.Release(x.reserved)
	}
}

// changed wakes workers that have nothing to do. The lock is held.
func (c *copier) changed() {
	close(c.moved)
	c.moved = make(chan struct{})
}

// enable lets workers read the parts whose table the stream has caught up with,
// and stops those of tables that stopped.
func (c *copier) enable() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.parts {
		on := p.t.CaughtUp && p.t.Stopped == "" && p.t.Copying != nil
		if p.enabled != on {
			p.enabled = on
			c.changed()
		}
	}
}

// again makes everything of a table that is not committed be read again. The
// sink has forgotten it already.
func (c *copier) again(t *sink.Table) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.parts {
		if p.t == t {
			p.round++
			p.def, p.retry = t.Definitions[p.index], time.Time{}
			p.batch = t.ChunkBatches(p.def)
		}
	}
	c.changed()
}

// task is what a worker does next: read a chunk, or find where the next ends.
type task struct {
	p     *part
	round int
	def   *source.Table
	batch func(int) *vector.Batch
	cut   bool
	chunk source.Chunk
}

// next chooses the part that has the fewest readers.
func (c *copier) next() (task, bool, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var best task
	load := -1
	now := time.Now()
	for _, p := range c.parts {
		if !p.enabled || p.state.Done() || now.Before(p.retry) {
			continue
		}
		busy := len(p.reading)
		if p.cutting {
			busy++
		}
		if load >= 0 && busy >= load {
			continue
		}
		x := task{p: p, round: p.round, def: p.def, batch: p.batch}
		open := 0
		for _, k := range p.state.Pending {
			if p.state.Waits(k) || p.isReading(k) {
				continue
			}
			if open == 0 {
				x.chunk = k
			}
			open++
		}
		if open == 0 {
			if p.state.Ended || p.cutting {
				continue
			}
			x.cut = true
		}
		best, load = x, busy
	}
	if load < 0 {
		return task{}, false, c.moved
	}
	if best.cut {
		best.p.cutting = true
	} else {
		best.p.reading = append(best.p.reading, best.chunk)
	}
	return best, true, nil
}

func (p *part) isReading(c source.Chunk) bool {
	for _, x := range p.reading {
		if same(x, c) {
			return true
		}
	}
	return false
}

func same(a, b source.Chunk) bool { return keyEqual(a.After, b.After) && keyEqual(a.UpTo, b.UpTo) }

func keyEqual(a, b source.Key) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// work does tasks until ctx ends.
func (c *copier) work(ctx context.Context) {
	for ctx.Err() == nil {
		x, ok, wake := c.next()
		if !ok {
			select {
			case <-wake:
			case <-time.After(alteredPause): // pauses of parts end
			case <-ctx.Done():
			}
			continue
		}
		if x.cut {
			c.cut(ctx, x)
		} else {
			c.read(ctx, x)
		}
	}
}

// cut finds where the next chunk ends.
func (c *copier) cut(ctx context.Context, x task) {
	c.mu.Lock()
	at := x.p.state.At
	c.mu.Unlock()
	bound, err := c.src.Bound(ctx, x.def, at, chunkRows(x.def))
	c.mu.Lock()
	x.p.cutting = false
	switch {
	case err == nil && keyEqual(bound, at) && bound != nil:
		err = errs.Internalf("cut %s into chunks: the bound %v comes again", x.def.ID, bound)
	case err == nil && x.round == x.p.round:
		x.p.state.Pending = append(x.p.state.Pending, source.Chunk{After: at, UpTo: bound})
		x.p.state.At, x.p.state.Ended = bound, bound == nil
	}
	again := c.later(x.p, err)
	c.changed()
	c.mu.Unlock()
	if err != nil && !again {
		c.send(ctx, &copied{p: x.p, round: x.round, err: err})
	}
}

// later says that a task that failed is tried again: its table was altered, and
// the stream will say so. The lock is held.
func (c *copier) later(p *part, err error) bool {
	if !errors.Is(err, source.ErrAltered) {
		return false
	}
	p.retry = time.Now().Add(alteredPause)
	return true
}

// read reads a chunk.
func (c *copier) read(ctx context.Context, x task) {
	err := c.readChunk(ctx, x)
	if err == nil {
		return // the follower ends it
	}
	c.mu.Lock()
	x.p.notReading(x.chunk)
	again := c.later(x.p, err)
	c.changed()
	c.mu.Unlock()
	if !again {
		c.send(ctx, &copied{p: x.p, round: x.round, err: err})
	}
}

func (p *part) notReading(c source.Chunk) {
	for i, x := range p.reading {
		if same(x, c) {
			p.reading = append(p.reading[:i:i], p.reading[i+1:]...)
			return
		}
	}
}

func (c *copier) readChunk(ctx context.Context, x task) (err error) {
	rows, err := c.src.ReadChunk(ctx, x.def, x.chunk)
	if err != nil {
		return err
	}
	defer func() {
		if e := rows.Close(); err == nil && ctx.Err() == nil && e != nil {
			err = e
		}
	}()
	for {
		b := x.batch(1024)
		end := rows.AppendTo(b, vector.BatchRows, 1<<20)
		if end != nil && !errors.Is(end, source.EOF) {
			return end
		}
		y := &copied{p: x.p, round: x.round, chunk: x.chunk, batch: b, last: end != nil}
		if y.last {
			y.invalid = rows.Invalid()
		}
		if y.reserved, err = c.reserve(ctx, b.Bytesize()); err != nil {
			return err
		}
		if !c.send(ctx, y) {
			return ctx.Err()
		}
		if y.last {
			return nil
		}
	}
}

// reserve takes memory for a batch. When there is none, the batches that wait are
// written first; without any, this one goes on unpaid.
func (c *copier) reserve(ctx context.Context, n int64) (int64, error) {
	for {
		if c.budget.Reserve(n) == nil {
			return n, nil
		}
		if len(c.out) == 0 {
			return 0, nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (c *copier) send(ctx context.Context, x *copied) bool {
	select {
	case c.out <- x:
		c.ready()
		return true
	case <-ctx.Done():
		c.budget.Release(x.reserved)
		return false
	}
}

// take returns a batch that waits, nil when there is none.
func (c *copier) take() *copied {
	if c == nil {
		return nil
	}
	select {
	case x := <-c.out:
		return x
	default:
		return nil
	}
}

// written ends a batch that the follower took: stale ones are dropped, the last
// one of a chunk ends it.
func (c *copier) written(x *copied, write func() error) error {
	defer c.budget.Release(x.reserved)
	c.mu.Lock()
	stale := x.round != x.p.round || !x.p.enabled
	c.mu.Unlock()
	var err error
	if !stale && x.err == nil {
		err = write()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.last {
		x.p.notReading(x.chunk)
		if !stale && err == nil {
			x.p.t.ChunkWritten(x.p.index, x.chunk)
		}
		c.changed()
	}
	if err == nil && !stale {
		err = x.err
	}
	return err
}

// locked runs a change of the progress that workers look at.
func (c *copier) locked(do func() error) error {
	if c == nil {
		return do()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return do()
}
