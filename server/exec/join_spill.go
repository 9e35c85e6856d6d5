package exec

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/server/exec/spill"
	"github.com/thermocline/thermocline/server/plan"
)

// A build side that does not fit is cut into partitions by its keys' hashes, and
// so is the left side; partitions with the same number are joined (grace join). A
// partition that is much too big is cut again; one that is a little too big, or
// that has no key to cut it by, goes past in blocks: the left side is read once for
// each block, with a bit a row for what the blocks before said about it.
//
// Build rows lie in the file with their keys: the rows' columns, then the keys.

// joinSpill is the spilled part of a join.
type joinSpill struct {
	j *joining

	mu    sync.Mutex
	file  *spill.Writer
	build *spill.File
	parts []*built    // delivered ranges that are in memory, in order
	n     int         // their rows
	some  atomic.Bool // there are build rows
	null  atomic.Bool // some with a key that is NULL
}

func (s *joinSpill) spilling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file != nil
}

// open starts the file of the build side.
func (s *joinSpill) open(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		return nil
	}
	w, err := s.j.op.create(ctx)
	s.file = w
	return err
}

// start spills what a range has read and returns where the rest of it goes.
func (s *joinSpill) start(ctx context.Context, b *built) (*scatter, error) {
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	b.acct.free() // it shrinks from here on, and what it is moved to needs room
	to, err := newScatter(s.j.op, s.file, 0, b.order)
	if err != nil {
		return nil, err
	}
	return to, s.move(ctx, to, &b.rows, &b.keys)
}

// move writes stored rows.
func (s *joinSpill) move(ctx context.Context, to *scatter, rows, keys *rowStore) error {
	var idx []int32
	for at := 0; at < rows.n; at += vector.BatchRows {
		idx = sequence(idx, at, min(at+vector.BatchRows, rows.n))
		var cols, ks []*vector.Vec
		for _, c := range rows.cols {
			cols = append(cols, take(c, idx))
		}
		for _, c := range keys.cols {
			ks = append(ks, take(c, idx))
		}
		if err := s.add(ctx, to, cols, ks, nil, len(idx)); err != nil {
			return err
		}
	}
	*rows, *keys = rowStore{}, rowStore{}
	return nil
}

// add writes build rows.
func (s *joinSpill) add(ctx context.Context, to *scatter, cols, keys []*vector.Vec, sel []uint16, n int) error {
	if n == 0 {
		return nil
	}
	s.some.Store(true)
	if len(keys) == 0 {
		return to.add(ctx, cols, sel, n, nil)
	}
	// Rows without a key match nothing: only the joins that give unmatched rows
	// need them.
	keep := s.j.kind == plan.Right || s.j.kind == plan.Full
	var rest []uint16
	for k := range n {
		row := k
		if sel != nil {
			row = int(sel[k])
		}
		null := s.j.nullKey(keys, row)
		if null {
			s.null.Store(true)
		}
		if null && !keep && rest == nil {
			rest = []uint16{}
			for i := range k {
				if sel != nil {
					rest = append(rest, sel[i])
				} else {
					rest = append(rest, uint16(i))
				}
			}
		}
		if rest != nil && (!null || keep) {
			rest = append(rest, uint16(row))
		}
	}
	if rest != nil {
		sel, n = rest, len(rest)
	}
	if n == 0 {
		return nil
	}
	hashes := hashRows(s.j.types, keys, sel, n, nil)
	return to.add(ctx, append(append(make([]*vector.Vec, 0, len(cols)+len(keys)), cols...), keys...), sel, n, hashes)
}

// deliver takes the build rows of a range.
func (s *joinSpill) deliver(ctx context.Context, b *built) error {
	j := s.j
	if !s.spilling() {
		// One column is there twice while the rows are put together, and the table comes
		// on top of them.
		if s.n+b.rows.n <= maxBuildRows && !j.op.full(b.acct.held) {
			s.parts = append(s.parts, b)
			s.n += b.rows.n
			return nil
		}
	}
	if err := s.deliverAll(ctx); err != nil {
		return err
	}
	if b.rows.n == 0 {
		return nil
	}
	to, err := s.start(ctx, b)
	if err != nil {
		return err
	}
	return to.end(ctx)
}

// maxBuildRows keeps row numbers within 32 bits.
const maxBuildRows = 1<<31 - 2

// concat puts the build rows that are in memory together.
func (s *joinSpill) concat() error {
	j := s.j
	if len(s.parts) == 0 {
		return nil
	}
	var rows, keys []*rowStore
	var most int64 // of the columns
	column := map[int]int64{}
	for _, b := range s.parts {
		j.acct.held += b.acct.held
		b.acct.held = 0
		rows, keys = append(rows, &b.rows), append(keys, &b.keys)
		for i, c := range append(b.rows.cols[:len(b.rows.cols):len(b.rows.cols)], b.keys.cols...) {
			column[i] += fixedBytes(c)
			most = max(most, column[i])
		}
	}
	if len(s.parts) > 1 {
		if err := j.acct.hold(j.acct.held + most); err != nil {
			return j.op.failed(err)
		}
	}
	workers := j.x.buildWorkers(s.n)
	var err error
	if j.rows, err = j.x.concat(rows, workers); err != nil {
		return err
	}
	if j.keys, err = j.x.concat(keys, workers); err != nil {
		return err
	}
	s.parts, s.n = nil, 0
	return j.op.failed(j.acct.fit(j.rows.bytes() + j.keys.bytes()))
}

// deliverAll spills the build rows that are in memory.
func (s *joinSpill) deliverAll(ctx context.Context) error {
	j := s.j
	if err := s.open(ctx); err != nil {
		return err
	}
	parts := s.parts
	if j.rows.n > 0 {
		parts = append([]*built{{rows: j.rows, keys: j.keys}}, parts...)
	}
	s.parts, s.n = nil, 0
	j.rows, j.keys, j.hashes, j.head, j.next = rowStore{}, rowStore{}, nil, nil, nil
	j.acct.free()
	if len(parts) == 0 {
		return nil
	}
	to, err := newScatter(j.op, s.file, 0, 0)
	if err != nil {
		return err
	}
	for _, b := range parts {
		if b.acct.pays != nil {
			b.acct.free()
		}
		if err := s.move(ctx, to, &b.rows, &b.keys); err != nil {
			return err
		}
	}
	return to.end(ctx)
}

// spilledPhases spills the left side and returns the phases of the partitions.
func (j *joining) spilledPhases(ctx context.Context, left []phase) ([]phase, error) {
	w, err := j.op.create(ctx)
	if err != nil {
		return nil, err
	}
	if err := each(ctx, j.x, left, func(ctx context.Context, number int, op operator) (struct{}, error) {
		return struct{}{}, j.scatterLeft(ctx, op, w, 0, uint64(number))
	}, func(struct{}) error { return nil }); err != nil {
		return nil, err
	}
	f, err := w.Finish()
	if err != nil {
		return nil, err
	}
	j.op.spilled.Add(f.Size())
	ranges := fanout
	if len(j.leftKeys) == 0 {
		ranges = 1
	}
	return []phase{{ranges: ranges, rows: -1, open: func(_ context.Context, i int) (operator, error) {
		return &rejoined{j: j, todo: []joinPart{{build: j.spill.build, left: f, part: i}}}, nil
	}, done: func() { _, _ = f.Close(), j.spill.build.Close() }}}, nil
}

// scatterLeft writes the rows of the left side that can give something.
func (j *joining) scatterLeft(ctx context.Context, op operator, w *spill.Writer, level int, order uint64) error {
	to, err := newScatter(j.op, w, level, order)
	if err != nil {
		return err
	}
	drop := j.kind == plan.Inner || j.kind == plan.Semi || j.kind == plan.Right
	keys := make([]*vector.Vec, len(j.leftKeys))
	var hashes []uint64
	for {
		b, err := op.Next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			return to.end(ctx)
		}
		sel, n := b.Sel, b.Rows()
		if n == 0 || drop && !j.some {
			continue
		}
		if len(keys) == 0 {
			if err := to.add(ctx, b.Cols, sel, n, nil); err != nil {
				return err
			}
			continue
		}
		for i, k := range j.leftKeys {
			if keys[i], err = k.Eval(j.x.env.Expr, b); err != nil {
				return err
			}
		}
		if drop {
			kept := make([]uint16, 0, n)
			for k := range n {
				if row := b.Row(k); !j.nullKey(keys, row) {
					kept = append(kept, uint16(row))
				}
			}
			if sel, n = kept, len(kept); n == 0 {
				continue
			}
		}
		hashes = hashRows(j.types, keys, sel, n, hashes)
		if err := to.add(ctx, b.Cols, sel, n, hashes); err != nil {
			return err
		}
	}
}

// bitmap is a set of rows.
type bitmap []uint64

func (b bitmap) has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }
func (b bitmap) set(i int)      { b[i>>6] |= 1 << (i & 63) }

// seenRows is what the blocks of the build side so far said about left rows.
type seenRows struct {
	hit, null bitmap
	last      bool // this is the last block
}

// earlier adds what earlier blocks said about row k to p.hit and p.null, and
// reports whether the row is to be settled now.
func (p *probe) earlier(k int) bool {
	s, row := p.seen, p.base+k
	before := s.hit.has(row)
	if p.j.kind == plan.Semi {
		if p.hit {
			s.hit.set(row)
		}
		p.hit = p.hit && !before
		return p.hit
	}
	p.hit, p.null = p.hit || before, p.null || s.null.has(row)
	if s.last {
		return true
	}
	if p.hit {
		s.hit.set(row)
	}
	if p.null {
		s.null.set(row)
	}
	return false
}

// spilledRows gives the rows of a partition.
type spilledRows struct{ in *spill.Reader }

// Next implements operator.
func (s spilledRows) Next(ctx context.Context) (*vector.Batch, error) {
	b, _, err := s.in.Next(ctx)
	return b, err
}

// Close implements operator.
func (spilledRows) Close() error { return nil }

// joinPart is a partition of both sides that waits.
type joinPart struct {
	build, left *spill.File
	part, level int
	last        bool // of its files, which can go then
	whole       bool // cutting it does not help
}

// rejoined joins spilled partitions.
type rejoined struct {
	j    *joining
	todo []joinPart

	part  *joinPart
	in    *spill.Reader // build rows to come
	ahead *vector.Batch // the next of them
	seen  *seenRows     // nil: one block was enough
	acct  account       // of seen
	sub   *joining      // the block at hand
	cur   operator      // its probe, then its unmatched rows
	tail  bool          // cur gives the unmatched rows
}

// Next implements operator.
func (r *rejoined) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if r.cur != nil {
			b, err := r.cur.Next(ctx)
			if b != nil || err != nil {
				return b, err
			}
			if kind := r.j.kind; !r.tail && (kind == plan.Right || kind == plan.Full) {
				r.cur, r.tail = &unmatched{j: r.sub}, true
				continue
			}
			r.sub.acct.free()
			r.sub, r.cur, r.tail = nil, nil, false
			if r.ahead == nil {
				r.acct.free()
				r.seen = nil
				if err := r.finish(); err != nil {
					return nil, err
				}
				continue
			}
			if err := r.block(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if len(r.todo) == 0 {
			return nil, nil
		}
		p := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		r.part = &p
		if err := r.begin(ctx); err != nil {
			return nil, err
		}
	}
}

// finish ends a partition.
func (r *rejoined) finish() error {
	p := r.part
	r.part = nil
	if !p.last {
		return nil
	}
	err := p.build.Close()
	if e := p.left.Close(); err == nil {
		err = e
	}
	return err
}

// begin starts on a partition.
func (r *rejoined) begin(ctx context.Context) error {
	p, j := r.part, r.j
	r.acct = j.op.account()
	empty := p.build.Empty(p.part)
	switch j.kind {
	case plan.Inner, plan.Semi:
		if empty || p.left.Empty(p.part) {
			return r.finish()
		}
	case plan.Right:
		if empty {
			return r.finish()
		}
	case plan.Full:
		if empty && p.left.Empty(p.part) {
			return r.finish()
		}
	default:
		if p.left.Empty(p.part) {
			return r.finish()
		}
	}
	// Reading the left side a few times is cheaper than cutting both once more.
	size := p.build.Bytes(p.part, 0)
	if (size > 4*j.op.target() || j.op.forced() && p.level == 0) && len(j.leftKeys) > 0 && p.level < deepest && !p.whole {
		return r.cut(ctx)
	}
	r.in = p.build.Reader(p.part)
	var err error
	if r.ahead, _, err = r.in.Next(ctx); err != nil {
		return err
	}
	return r.block(ctx)
}

// block reads build rows as long as there is room, and starts to probe them.
func (r *rejoined) block(ctx context.Context) error {
	j := r.j
	sub := *j
	sub.rows, sub.keys, sub.hashes, sub.head, sub.next, sub.matched = rowStore{}, rowStore{}, nil, nil, nil, nil
	sub.acct = j.op.account()
	r.sub = &sub
	first := r.seen == nil
	for r.ahead != nil {
		b := r.ahead
		sub.rows.add(b.Cols[:j.rightCols], nil, b.Len)
		sub.keys.add(b.Cols[j.rightCols:], nil, b.Len)
		var err error
		if r.ahead, _, err = r.in.Next(ctx); err != nil {
			return err
		}
		size := sub.rows.bytes() + sub.keys.bytes() + 24*int64(sub.rows.n) // with the table
		full, err := j.op.hold(&sub.acct, size)
		if err != nil {
			return err
		}
		if full && (j.op.forced() || size >= j.op.target()/2 || sub.acct.hold(size) != nil) || sub.rows.n >= maxBuildRows-vector.MaxBatchRows {
			break
		}
	}
	if err := sub.hash(); err != nil {
		return err
	}
	sub.hasNull, sub.some = j.hasNull, j.some
	if first && r.ahead != nil {
		words := (r.part.left.Rows(r.part.part, 0) + 63) / 64
		if err := r.acct.hold(16 * words); err != nil {
			return j.op.failed(err)
		}
		r.seen = &seenRows{hit: make(bitmap, words), null: make(bitmap, words)}
	}
	if r.seen != nil {
		r.seen.last = r.ahead == nil
	}
	if j.kind == plan.Right || j.kind == plan.Full {
		sub.matched = make([]atomic.Uint64, (sub.rows.n+63)/64)
	}
	p := newProbe(&sub, spilledRows{r.part.left.Reader(r.part.part)})
	p.seen = r.seen
	r.cur = p
	return nil
}

// cut partitions both sides again.
func (r *rejoined) cut(ctx context.Context) error {
	j, p := r.j, r.part
	w, err := j.op.create(ctx)
	if err != nil {
		return err
	}
	to, err := newScatter(j.op, w, p.level+1, 0)
	if err != nil {
		return err
	}
	var hashes []uint64
	for in := p.build.Reader(p.part); ; {
		b, _, err := in.Next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		hashes = hashRows(j.types, b.Cols[j.rightCols:], nil, b.Len, hashes)
		if err := to.add(ctx, b.Cols, nil, b.Len, hashes); err != nil {
			return err
		}
	}
	if err := to.end(ctx); err != nil {
		return err
	}
	build, err := w.Finish()
	if err != nil {
		return err
	}
	if w, err = j.op.create(ctx); err != nil {
		return err
	}
	if err := j.scatterLeft(ctx, spilledRows{p.left.Reader(p.part)}, w, p.level+1, 0); err != nil {
		return err
	}
	left, err := w.Finish()
	if err != nil {
		return err
	}
	j.op.spilled.Add(build.Size() + left.Size())
	one := 0 // partitions with rows; when it is one, a single key may be all there is
	for part := range fanout {
		if !build.Empty(part) {
			one++
		}
	}
	level := p.level + 1
	if err := r.finish(); err != nil {
		return err
	}
	for part := fanout - 1; part >= 0; part-- {
		r.todo = append(r.todo, joinPart{build: build, left: left, part: part, level: level, last: part == fanout-1, whole: one == 1})
	}
	return nil
}

// Close implements operator.
func (r *rejoined) Close() error {
	if r.sub != nil {
		r.sub.acct.free()
	}
	if r.acct.pays != nil {
		r.acct.free()
	}
	r.todo, r.cur, r.sub, r.ahead, r.seen = nil, nil, nil, nil, nil
	return nil
}
