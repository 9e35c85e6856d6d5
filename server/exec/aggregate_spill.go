package exec

import (
	"context"
	"errors"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/exec/spill"
)

// Groups that do not fit are written as what was accumulated (expr.State), by
// partitions of their keys' hashes; each partition is merged when its groups are
// to be given, and cut into partitions again when it does not fit either.
//
// In a partition, groups lie in blocks: a batch with tag 0 of keys and of what
// aggregates hold that have one row a group; then for the i-th of the others
// batches with tag i+1, whose first column is the number of the group in its
// block. Blocks are in the order of the ranges they come from, so
// that aggregates see the rows in the order in which they see them in memory.

// hold pays for what s holds now; full says that it is to be spilled instead.
func (s *groups) hold() (full bool, err error) {
	size := s.bytes()
	full, err = s.g.op.hold(&s.acct, size)
	if full && s.g.op.little(size) && s.acct.hold(size) == nil {
		return false, nil // writing so little helps nobody
	}
	return full, err
}

// keep pays for what s holds, or spills.
func (g *grouping) keep(ctx context.Context, s *groups) error {
	full, err := s.hold()
	if err != nil || !full {
		return err
	}
	// What was delivered goes first: its ranges come before all others.
	if err := g.spillAll(ctx); err != nil {
		return err
	}
	return s.flush(ctx, g.file, 0)
}

// spillAll starts the file and writes the groups delivered so far.
func (g *grouping) spillAll(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.file == nil {
		w, err := g.op.create(ctx)
		if err != nil {
			return err
		}
		g.file = w
	}
	if g.many != nil {
		many := g.many
		g.many = nil
		return many.flush(ctx)
	}
	if g.all == nil || g.flushed {
		return nil
	}
	g.flushed = true
	g.all.number = 0
	err := g.all.flush(ctx, g.file, 0)
	g.all.acct.free()
	return err
}

// spilling reports whether something was spilled.
func (g *grouping) spilling() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.file != nil
}

// ended is called at the end of a range.
func (g *grouping) ended(ctx context.Context, s *groups) error {
	if !g.spilling() {
		return s.end()
	}
	if err := g.spillAll(ctx); err != nil {
		return err
	}
	return s.flush(ctx, g.file, 0)
}

// deliver takes the groups of a range.
func (g *grouping) deliver(ctx context.Context, part *groups) error {
	g.mu.Lock()
	if g.file != nil {
		g.mu.Unlock()
		err := part.flush(ctx, g.file, 0)
		part.acct.free()
		return err
	}
	defer g.mu.Unlock()
	if g.many != nil || len(part.chunks) > 0 || g.divisible && g.all != nil && g.all.table.size()+part.table.size() > 4*smallGroups {
		return g.deliverMany(ctx, part)
	}
	if g.all == nil {
		g.all = part
		return nil
	}
	// The merged table may need as much as both, for a moment twice.
	spilled := []*groups{g.all, part}
	if !g.op.full(part.acct.held) {
		if err := g.all.merge(part); err != nil {
			return err
		}
		if full, err := g.all.hold(); err != nil || !full {
			return err
		}
		spilled = spilled[:1]
	}
	w, err := g.op.create(ctx)
	if err != nil {
		return err
	}
	g.file, g.flushed = w, true
	g.all.number = 0
	for _, s := range spilled {
		if err := s.flush(ctx, w, 0); err != nil {
			return err
		}
	}
	return nil
}

// finish returns the phases of the result.
func (g *grouping) finish(ctx context.Context) ([]phase, error) {
	if g.file == nil && g.many != nil {
		full := g.op.full(g.many.acct.held)
		if !full {
			var err error
			if full, err = g.many.merge(); err != nil {
				return nil, err
			}
		}
		if !full {
			return g.many.phases()
		}
		if err := g.spillAll(ctx); err != nil {
			return nil, err
		}
	}
	if g.file == nil {
		if g.all == nil {
			g.all = g.empty()
		}
		if len(g.keys) == 0 {
			for _, s := range g.all.states {
				s.Grow(1)
			}
		}
		return g.all.phases()
	}
	if err := g.spillAll(ctx); err != nil {
		return nil, err
	}
	f, err := g.file.Finish()
	if err != nil {
		return nil, err
	}
	g.op.spilled.Add(f.Size())
	return []phase{{ranges: fanout, rows: -1, open: func(_ context.Context, i int) (operator, error) {
		return &regrouped{g: g, todo: []spilledPart{{file: f, part: i}}}, nil
	}, done: func() { _ = f.Close() }}}, nil
}

// count returns the number of groups; without keys there is one.
func (s *groups) count() int {
	if len(s.g.keys) > 0 {
		return s.table.size()
	}
	for _, st := range s.states {
		st.Grow(1)
	}
	return 1
}

// flush writes all groups and forgets them.
func (s *groups) flush(ctx context.Context, w *spill.Writer, level int) error {
	if err := s.flushChunks(ctx, w, level); err != nil {
		return err
	}
	n := s.count()
	key := spill.Key{Order: uint64(s.number)}
	var start [fanout + 1]int32 // of each partition in order
	part := func(g int) int {
		if len(s.g.keys) == 0 {
			return 0
		}
		return partOf(s.table.hashes[g], level)
	}
	for g := range n {
		start[part(g)+1]++
	}
	for p := range fanout {
		start[p+1] += start[p]
	}
	order, at := make([]int32, n), start
	for g := range n {
		p := part(g)
		order[at[p]] = int32(g)
		at[p]++
	}
	// Blocks, and where in them each group is.
	type span struct{ part, from, to int }
	var blocks []span
	block, local := make([]int32, n), make([]int32, n)
	for p := range fanout {
		for from := int(start[p]); from < int(start[p+1]); from += vector.BatchRows {
			to := min(from+vector.BatchRows, int(start[p+1]))
			for i := from; i < to; i++ {
				block[order[i]], local[order[i]] = int32(len(blocks)), int32(i-from)
			}
			blocks = append(blocks, span{p, from, to})
		}
	}
	// The rows of each aggregate, by block.
	type rows struct {
		of    []uint32
		cols  []*vector.Vec
		idx   []int32
		start []int32
	}
	states := make([]rows, len(s.states))
	for i, st := range s.states {
		st.Grow(n)
		r := &states[i]
		r.of, r.cols = st.Unload()
		if (r.of == nil) != (s.g.widths[i] > 0) && len(r.cols) > 0 {
			return errs.Internalf("spill groups: %s has another form than before", s.g.calls[i])
		}
		if len(r.cols) == 0 || r.of == nil {
			continue
		}
		r.start = make([]int32, len(blocks)+1)
		for _, g := range r.of {
			r.start[block[g]+1]++
		}
		for b := range blocks {
			r.start[b+1] += r.start[b]
		}
		r.idx = make([]int32, len(r.of))
		at := append([]int32(nil), r.start...)
		for k, g := range r.of {
			r.idx[at[block[g]]] = int32(k)
			at[block[g]]++
		}
	}
	for b, sp := range blocks {
		key.Part = sp.part
		groups := order[sp.from:sp.to]
		keys := &vector.Batch{Len: len(groups), Seq: -1}
		for c := range s.g.keys {
			keys.Cols = append(keys.Cols, take(s.table.keys.cols[c], groups))
		}
		for i := range states {
			if s.g.widths[i] > 0 {
				for _, c := range states[i].cols {
					keys.Cols = append(keys.Cols, take(c, groups))
				}
			}
		}
		key.Tag = 0
		if err := w.Append(ctx, key, keys); err != nil {
			return err
		}
		for i := range states {
			r := &states[i]
			if len(r.cols) == 0 || s.g.widths[i] > 0 {
				continue
			}
			idx := r.idx[r.start[b]:r.start[b+1]]
			key.Tag = i + 1
			for len(idx) > 0 {
				m := min(len(idx), vector.BatchRows)
				to := vector.New(vector.I32, m)
				for _, k := range idx[:m] {
					to.AppendI32(local[r.of[k]])
				}
				out := &vector.Batch{Len: m, Seq: -1, Cols: []*vector.Vec{to}}
				for _, c := range r.cols {
					out.Cols = append(out.Cols, take(c, idx[:m]))
				}
				if err := w.Append(ctx, key, out); err != nil {
					return err
				}
				idx = idx[m:]
			}
		}
	}
	s.reset()
	return nil
}

// flushChunks writes what came before the groups of the table.
func (s *groups) flushChunks(ctx context.Context, w *spill.Writer, level int) error {
	var a absorber
	s.cutRows()
	for _, c := range s.chunks {
		of := s.g.empty()
		of.number = s.number
		for p := range parts {
			if err := of.absorb(&a, c, p); err != nil {
				return err
			}
		}
		if err := of.flush(ctx, w, level); err != nil {
			return err
		}
	}
	s.chunks, s.waiting, s.asRows, s.rows = nil, 0, false, 0
	return nil
}

// reset forgets all groups.
func (s *groups) reset() {
	s.table = s.g.x.groupTable(s.g.types)
	for i, c := range s.g.calls {
		s.states[i] = c.NewState(s.g.x.env.Expr)
	}
	s.acct.free()
}

// loading is a block that is being read.
type loading struct {
	keys   *vector.Batch
	groups []uint32 // of its keys
	to     []uint32
}

// place makes the groups of the block.
func (l *loading) place(s *groups) error {
	n := l.keys.Len
	l.groups = make([]uint32, n)
	if len(s.g.keys) > 0 {
		if err := s.table.find(l.keys.Cols, nil, n, l.groups); err != nil {
			return err
		}
	}
	for _, st := range s.states {
		st.Grow(max(s.table.size(), 1))
	}
	return nil
}

// load adds a batch that flush wrote.
func (l *loading) load(s *groups, b *vector.Batch, tag int) error {
	if tag == 0 {
		n := len(s.g.keys)
		l.keys = &vector.Batch{Len: b.Len, Seq: -1, Cols: b.Cols[:n]}
		if err := l.place(s); err != nil {
			return err
		}
		for i, width := range s.g.widths {
			if width == 0 {
				continue
			}
			if err := s.states[i].Load(l.groups, b.Cols[n:n+width]); err != nil {
				return err
			}
			n += width
		}
		return nil
	}
	l.to = l.to[:0]
	for _, k := range b.Cols[0].I32s[:b.Len] {
		l.to = append(l.to, l.groups[k])
	}
	return s.states[tag-1].Load(l.to, b.Cols[1:])
}

// spilledPart is a partition that waits.
type spilledPart struct {
	file  *spill.File
	part  int
	level int
	last  bool // of the file, which can go then
}

// regrouped gives the groups of a spilled partition.
type regrouped struct {
	g    *grouping
	todo []spilledPart
	cur  *emit
}

// Next implements operator.
func (r *regrouped) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if r.cur != nil {
			b, err := r.cur.Next(ctx)
			if b != nil || err != nil {
				return b, err
			}
			r.cur.s.acct.free()
			r.cur = nil
		}
		if len(r.todo) == 0 {
			return nil, nil
		}
		p := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		if !p.file.Empty(p.part) {
			s, err := r.read(ctx, p)
			if err != nil {
				return nil, err
			}
			if s != nil {
				r.cur = &emit{s: s, end: s.count()}
			}
		}
		if p.last {
			if err := p.file.Close(); err != nil {
				return nil, err
			}
		}
	}
}

// read merges a partition; when it does not fit, it is cut into smaller ones, which
// are put on the list, and there is nothing to give yet.
func (r *regrouped) read(ctx context.Context, p spilledPart) (*groups, error) {
	g := r.g
	s := g.empty()
	s.number = 1
	var (
		l   loading
		out *spill.Writer
	)
	fail := func(err error) (*groups, error) {
		s.acct.free()
		return nil, err
	}
	for in := p.file.Reader(p.part); ; {
		b, k, err := in.Next(ctx)
		if err != nil {
			return fail(err)
		}
		if b == nil {
			break
		}
		if err := l.load(s, b, k.Tag); err != nil {
			return fail(err)
		}
		full, err := s.hold()
		if err != nil {
			return fail(err)
		}
		if !full {
			continue
		}
		if out == nil && (s.count() == 1 || p.level == deepest) {
			s.acct.free()
			return r.wide(ctx, p) // smaller partitions do not help
		}
		if out == nil {
			if out, err = g.op.create(ctx); err != nil {
				return fail(err)
			}
		}
		if err := s.flush(ctx, out, p.level+1); err != nil {
			return fail(err)
		}
		if err := l.place(s); err != nil { // its block goes on
			return fail(err)
		}
	}
	if out == nil {
		return s, nil
	}
	if err := s.flush(ctx, out, p.level+1); err != nil {
		return fail(err)
	}
	f, err := out.Finish()
	if err != nil {
		return fail(err)
	}
	g.op.spilled.Add(f.Size())
	r.push(f, p.level+1)
	return nil, nil
}

// push puts all partitions of a file on the list, the first one on top.
func (r *regrouped) push(f *spill.File, level int) {
	for part := fanout - 1; part >= 0; part-- {
		r.todo = append(r.todo, spilledPart{file: f, part: part, level: level, last: part == fanout-1})
	}
}

// wide merges a partition with groups that are large by themselves. What makes
// them large, as a rule, is DISTINCT: the tuples of such an aggregate are cut into
// partitions of their own, of which one at a time is held.
func (r *regrouped) wide(ctx context.Context, p spilledPart) (*groups, error) {
	g := r.g
	s := g.empty()
	s.number = 1
	out, err := g.op.create(ctx)
	if err != nil {
		return nil, err
	}
	var (
		l      loading
		hashes []uint64
		read   int64 // rows that were cut
	)
	for in := p.file.Reader(p.part); ; {
		b, k, err := in.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			break
		}
		var settling expr.Settling
		if k.Tag > 0 {
			settling, _ = expr.SettlingOf(s.states[k.Tag-1])
		}
		if settling == nil {
			if err := l.load(s, b, k.Tag); err != nil {
				return nil, err
			}
			if err := s.acct.hold(s.bytes()); err != nil {
				return nil, g.op.failed(err)
			}
			continue
		}
		to := b.Cols[0].I32s
		for i, at := range to {
			to[i] = int32(l.groups[at])
		}
		types := settling.Types()
		hashes = hashRows(types, b.Cols[1:1+len(types)], nil, b.Len, hashes)
		at := vector.New(vector.I64, b.Len)
		for range b.Len {
			at.AppendI64(read)
			read++
		}
		b.Cols = append(b.Cols, at)
		for part, sel := range scattered(hashes, nil, 0) {
			if len(sel) == 0 {
				continue
			}
			b.Sel = sel
			if err := out.Append(ctx, spill.Key{Part: part, Tag: k.Tag}, b); err != nil {
				return nil, err
			}
		}
	}
	f, err := out.Finish()
	if err != nil {
		return nil, err
	}
	g.op.spilled.Add(f.Size())
	for tag := 1; tag <= len(s.states); tag++ {
		settling, ok := expr.SettlingOf(s.states[tag-1])
		if !ok {
			continue
		}
		for part := range fanout {
			for in := f.Tagged(part, tag); ; {
				b, _, err := in.Next(ctx)
				if err != nil {
					return nil, err
				}
				if b == nil {
					break
				}
				l.to = l.to[:0]
				for _, at := range b.Cols[0].I32s[:b.Len] {
					l.to = append(l.to, uint32(at))
				}
				if err := settling.Load(l.to, b.Cols[1:]); err != nil {
					return nil, err
				}
				if err := s.acct.fit(s.bytes()); err != nil {
					return nil, g.op.failed(err)
				}
			}
			if err := settling.Settle(); err != nil {
				return nil, err
			}
		}
	}
	return s, errors.Join(s.acct.fit(s.bytes()), f.Close())
}

// Close implements operator.
func (r *regrouped) Close() error {
	if r.cur != nil {
		r.cur.s.acct.free()
		r.cur = nil
	}
	r.todo = nil
	return nil
}
