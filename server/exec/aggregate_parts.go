package exec

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// Many groups are kept in partitions of their keys' hashes, so that several workers
// merge at once and each has a table that caches hold (radix partitioning; reference:
// the aggregations of DuckDB, Umbra and ClickHouse).
//
// A range still has a table of its own, of localGroups at most. When it is full or
// its range ends, its groups become a chunk: columns of keys and of what was
// accumulated, in the order of partitions. When it turns out that most rows of a
// range make groups of their own, a table gains nothing: the rows themselves become
// chunks. Chunks wait in the order of the ranges until there are as many rows in
// them as there are groups; then each worker takes one partition after the other and
// adds the rows of all chunks to it. So a partition is touched by one goroutine at a
// time, without a lock, and sees its rows in the order of the table.
//
// All decisions fall at certain numbers of rows of a range, so that sums of DOUBLE
// do not depend on batches or threads. What a chunk leaves behind is the partition
// of each of its groups that was new, in the order of its rows: by these, groups are
// given in the order in which they first appeared.
const (
	partBits = 6
	parts    = 1 << partBits
)

// Limits, which tests make small.
var (
	sampleRows  = 1 << 15 // rows between two looks at a range's table
	localGroups = 1 << 16 // groups of a table that is still quick
	chunkRows   = 1 << 16 // rows in a chunk of rows
	rawRows     = 1 << 17 // rows that become chunks before a table is tried again
	smallGroups = 1 << 13 // groups of a range that are merged by one goroutine
	queueRows   = 1 << 20 // rows in chunks that wait, at least
)

func radixOf(h uint64) int { return int(h >> (64 - partBits)) }

// chunk is groups or rows of a range by partitions.
type chunk struct {
	raw    bool // rows; else groups
	n      int
	start  [parts + 1]int32
	hashes []uint64
	cols   []*vector.Vec // keys, then arguments or what aggregates accumulated
	parts  []uint8       // partition of each row, in the order of the range
	fresh  []bool        // the row made a group
	bytes  int64
}

// newChunk makes a chunk without columns of rows with these hashes, and returns where
// its rows are among them.
func newChunk(hashes []uint64, raw bool) (*chunk, []int32) {
	n := len(hashes)
	c := &chunk{raw: raw, n: n, hashes: make([]uint64, n), parts: make([]uint8, n), fresh: make([]bool, n)}
	for k, h := range hashes {
		p := radixOf(h)
		c.parts[k] = uint8(p)
		c.start[p+1]++
	}
	for p := range parts {
		c.start[p+1] += c.start[p]
	}
	at, order := c.start, make([]int32, n)
	for k, p := range c.parts {
		i := at[p]
		at[p]++
		order[i] = int32(k)
		c.hashes[i] = hashes[k]
	}
	c.bytes = int64(n) * (8 + 2)
	return c, order
}

// add adds a column, of which the chunk's rows are at order.
func (c *chunk) add(v *vector.Vec, order []int32) {
	v = take(v, order)
	c.cols = append(c.cols, v)
	c.bytes += fixedBytes(v)
}

// fresher returns the partitions of the rows that made a group, in the order of the
// range.
func (c *chunk) fresher() []uint8 {
	n := 0
	for _, f := range c.fresh {
		if f {
			n++
		}
	}
	out, at := make([]uint8, 0, n), c.start
	for _, p := range c.parts {
		if c.fresh[at[p]] {
			out = append(out, p)
		}
		at[p]++
	}
	return out
}

// rowsIn is the number of rows until the next decision.
func (s *groups) rowsIn() int { return sampleRows - s.rows%sampleRows }

// piece returns the rows from to to of those that sel selects.
func piece(sel []uint16, from, to int) []uint16 {
	if sel != nil {
		return sel[from:to]
	}
	return everyRow[from:to]
}

var everyRow = func() []uint16 {
	out := make([]uint16, vector.MaxBatchRows)
	for i := range out {
		out[i] = uint16(i)
	}
	return out
}()

// turn decides, after so many rows, how those that follow are treated.
func (s *groups) turn() error {
	if s.asRows {
		if s.rows >= rawRows {
			s.asRows, s.rows = false, 0
			s.cutRows()
		} else if s.raw.n >= chunkRows {
			s.cutRows()
		}
		return nil
	}
	n := s.table.size()
	s.asRows = 5*n >= 4*s.rows
	if !s.asRows && n < localGroups {
		return nil
	}
	s.rows = 0
	return s.divide()
}

// addRows keeps rows as they are.
func (s *groups) addRows(keys, args []*vector.Vec, sel []uint16, n int) {
	cols := append(append(s.cols[:0], keys...), args...)
	s.cols = cols
	for i, c := range s.raw.cols {
		if c.Kind != cols[i].Kind {
			s.cutRows()
			s.raw = rowStore{}
			break
		}
	}
	s.table.hash = hashRows(s.g.types, keys, sel, n, s.table.hash)
	s.rawHashes = append(s.rawHashes, s.table.hash[:n]...)
	s.raw.add(cols, sel, n)
}

// cutRows makes a chunk of the rows kept.
func (s *groups) cutRows() {
	if s.raw.n == 0 {
		return
	}
	c, order := newChunk(s.rawHashes, true)
	for _, v := range s.raw.cols {
		c.add(v, order)
		v.Reset()
	}
	c.bytes += s.raw.strings
	s.raw.n, s.raw.strings, s.rawHashes = 0, 0, s.rawHashes[:0]
	s.enqueue(c)
}

// queued counts chunks, for tests.
var queued atomic.Int64

func (s *groups) enqueue(c *chunk) {
	queued.Add(1)
	s.chunks = append(s.chunks, c)
	s.waiting += c.bytes
}

// divide makes a chunk of the groups.
func (s *groups) divide() error {
	n := s.table.size()
	if n == 0 {
		return nil
	}
	c, order := newChunk(s.table.hashes, false)
	for _, v := range s.table.keys.cols {
		c.add(v, order)
	}
	c.bytes += s.table.keys.strings
	for i, st := range s.states {
		st.Grow(n)
		cols, err := s.g.carried(i, st, n)
		if err != nil {
			return err
		}
		for _, v := range cols {
			c.add(v, order)
		}
		s.states[i] = s.g.calls[i].NewState(s.g.x.env.Expr)
	}
	s.table.empty()
	s.enqueue(c)
	return nil
}

// carried returns what an aggregate accumulated for n groups: what it would spill,
// or results that can be added like rows.
func (g *grouping) carried(i int, st expr.State, n int) ([]*vector.Vec, error) {
	if g.widths[i] == 0 {
		v, err := st.Result(0, n)
		return []*vector.Vec{v}, err
	}
	_, cols := st.Unload()
	return cols, nil
}

// end makes chunks of all that a range has left, when it has many groups.
func (s *groups) end() error {
	if !s.g.divisible || len(s.chunks) == 0 && s.raw.n == 0 && s.table.size() < smallGroups {
		return nil
	}
	s.cutRows()
	return s.divide()
}

// empty forgets all groups.
func (t *groupTable) empty() {
	clear(t.slots)
	for _, c := range t.keys.cols {
		c.Reset()
	}
	t.keys.n, t.keys.strings = 0, 0
	t.hashes, t.dicts = t.hashes[:0], t.dicts[:0]
}

// absorber is what a worker needs to add chunks to partitions.
type absorber struct {
	views []*vector.Vec
	cols  []*vector.Vec
	ids   []uint32
}

// view returns rows of a chunk's column, until the column is viewed again.
func (a *absorber) view(c *chunk, i, from, to int) *vector.Vec {
	for len(a.views) <= i {
		a.views = append(a.views, &vector.Vec{})
	}
	viewOf(a.views[i], c.cols[i], from, to)
	return a.views[i]
}

// viewOf makes w the rows from to to of the Flat vector v, which it shares.
func viewOf(w, v *vector.Vec, from, to int) {
	if v.Valid == nil && shareValues(w, v, from, to) {
		return
	}
	n := vector.NewLike(v, to-from)
	n.AppendRange(v, from, to, n.ShareBufs(v))
	*w = *n
}

// absorb adds the rows of a partition of a chunk.
func (s *groups) absorb(a *absorber, c *chunk, p int) error {
	g, t := s.g, s.table
	for from, end := int(c.start[p]), int(c.start[p+1]); from < end; {
		to := min(end, from+vector.MaxBatchRows)
		n := to - from
		a.cols = a.cols[:0]
		for i := range c.cols {
			a.cols = append(a.cols, a.view(c, i, from, to))
		}
		keys, rest := a.cols[:len(g.keys)], a.cols[len(g.keys):]
		if len(t.keys.cols) == 0 {
			t.keys.add(keys, nil, 0)
		}
		if cap(a.ids) < n {
			a.ids = make([]uint32, n)
		}
		ids, next := a.ids[:n], uint32(t.size())
		if err := t.lookup(keys, nil, c.hashes[from:to], ids); err != nil {
			return err
		}
		if int(next) < t.size() {
			fresh := c.fresh[from:to]
			for k, id := range ids {
				if id == next {
					fresh[k] = true
					next++
				}
			}
		}
		var args []*vector.Vec
		for i, st := range s.states {
			st.Grow(t.size())
			var err error
			switch width := g.widths[i]; {
			case c.raw:
				args = args[:0]
				for _, slot := range g.slots[i] {
					args = append(args, rest[slot])
				}
				err = st.Update(ids, args, nil, n)
			case width == 0:
				err = st.Update(ids, rest[:1], nil, n)
				rest = rest[1:]
			default:
				err = st.Load(ids, rest[:width])
				rest = rest[width:]
			}
			if err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// partitioned is groups by partitions, and the chunks that wait to be added.
type partitioned struct {
	g     *grouping
	at    [parts]*groups
	queue []*chunk
	rows  int // in the queue
	acct  account
	order []uint8 // partition of each group, in the order of first appearance
}

func (g *grouping) newPartitioned() *partitioned {
	d := &partitioned{g: g, acct: g.op.account()}
	for p := range d.at {
		d.at[p] = g.empty()
	}
	return d
}

// take puts the chunks of a range into the queue.
func (d *partitioned) take(s *groups) error {
	s.cutRows()
	if err := s.divide(); err != nil {
		return err
	}
	d.queue = append(d.queue, s.chunks...)
	for _, c := range s.chunks {
		d.rows += c.n
	}
	d.acct.held += s.acct.held
	s.acct.held, s.chunks, s.waiting = 0, nil, 0
	return nil
}

// due reports whether so much waits that merging it is worth it.
func (d *partitioned) due() bool { return d.rows >= max(queueRows, len(d.order)) }

// merge adds all that waits to the partitions. full says that they do not fit.
func (d *partitioned) merge() (full bool, err error) {
	if len(d.queue) == 0 {
		return false, nil
	}
	workers := d.g.x.env.Options.Workers()
	if d.rows < smallRows {
		workers = 1
	}
	var next atomic.Int64
	var over atomic.Bool
	err = together(workers, func(int) error {
		var a absorber
		for {
			p := int(next.Add(1)) - 1
			if p >= parts {
				return nil
			}
			s := d.at[p]
			for _, c := range d.queue {
				s.g.x.check()
				if err := s.absorb(&a, c, p); err != nil {
					return err
				}
			}
			full, err := s.hold()
			if err != nil {
				return err
			}
			if full {
				over.Store(true)
			}
		}
	})
	if err != nil {
		return false, err
	}
	orders := make([][]uint8, len(d.queue))
	next.Store(0)
	err = together(workers, func(int) error {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(orders) {
				return nil
			}
			orders[i] = d.queue[i].fresher()
		}
	})
	for _, o := range orders {
		d.order = append(d.order, o...)
	}
	d.queue, d.rows = nil, 0
	return over.Load(), errors.Join(err, d.acct.fit(int64(cap(d.order))))
}

// flush writes all groups, and what waits.
func (d *partitioned) flush(ctx context.Context) error {
	var a absorber
	for p, s := range d.at {
		for _, c := range d.queue {
			if err := s.absorb(&a, c, p); err != nil {
				return err
			}
		}
		s.number = 0
		if err := s.flush(ctx, d.g.file, 0); err != nil {
			return err
		}
		s.acct.free()
	}
	d.queue, d.rows = nil, 0
	d.acct.free()
	return nil
}

// deliverMany is deliver for groups in partitions.
func (g *grouping) deliverMany(ctx context.Context, part *groups) (err error) {
	if g.many == nil {
		g.many = g.newPartitioned()
		if g.all != nil {
			if err := g.many.take(g.all); err != nil {
				return err
			}
			g.all = nil
		}
	}
	if err := g.many.take(part); err != nil || !g.many.due() {
		return err
	}
	// The partitions may need as much again as waits.
	full := g.op.full(g.many.acct.held)
	if !full {
		full, err = g.many.merge()
	}
	if err != nil || !full {
		return err
	}
	if g.file, err = g.op.create(ctx); err != nil {
		return err
	}
	many := g.many
	g.many = nil
	return many.flush(ctx)
}
