package exec

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"slices"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/server/exec/spill"
)

// Rows that do not fit are written as sorted runs, a partition of a file each,
// whose batches have the rows' columns and then their keys. The runs are merged:
// rows with equal keys come by the order of their runs, which is that of the
// ranges they are from, and so as they do in memory.

// spilledRun is a run in a file.
type spilledRun struct {
	order uint64 // of the range and, within it, the spill
	part  int
}

// sort sorts the rows of all ranges: in memory, or to be merged from disk.
func (s *sorting) sort(ctx context.Context, phases []phase) (*run, *runMerge, error) {
	s.all = s.empty()
	if err := each(ctx, s.x, phases, s.collect, func(r *run) error { return s.deliver(ctx, r) }); err != nil {
		return nil, nil, err
	}
	if s.file == nil {
		return s.all, nil, nil
	}
	m, err := s.onDisk(ctx)
	return nil, m, err
}

// onDisk spills rows that are in memory.
func (s *sorting) onDisk(ctx context.Context) (*runMerge, error) {
	if err := s.spillAll(ctx); err != nil {
		return nil, err
	}
	return s.merged(ctx)
}

// reserve pays for what r holds, or spills it.
func (r *run) reserve(ctx context.Context) error {
	s, size := r.s, r.bytes()
	if size <= r.acct.held {
		return r.acct.fit(size)
	}
	full, err := s.op.hold(&r.acct, size)
	if err != nil || !full {
		return err
	}
	if s.op.little(size) && r.acct.fit(size) == nil {
		return nil // writing so little helps nobody
	}
	if err := s.spillAll(ctx); err != nil {
		return err
	}
	return s.write(ctx, r)
}

// spillAll starts the file and writes what was delivered so far.
func (s *sorting) spillAll(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		w, err := s.op.create(ctx)
		if err != nil {
			return err
		}
		s.file = w
	}
	s.all.number = 0 // before all others
	return s.writeLocked(ctx, s.all)
}

func (s *sorting) write(ctx context.Context, r *run) error {
	s.mu.Lock()
	part := s.run(r)
	s.mu.Unlock()
	return r.write(ctx, s.file, part)
}

func (s *sorting) writeLocked(ctx context.Context, r *run) error {
	if r.rows.n == 0 {
		return nil
	}
	return r.write(ctx, s.file, s.run(r))
}

// run notes that r is written as a partition.
func (s *sorting) run(r *run) (part int) {
	part = len(s.runs)
	s.runs = append(s.runs, spilledRun{order: uint64(r.number)<<32 | uint64(r.spills), part: part})
	r.spills++
	return part
}

// ended is called at the end of a range.
func (s *sorting) ended(ctx context.Context, r *run) error {
	s.mu.Lock()
	spilling := s.file != nil
	s.mu.Unlock()
	if !spilling {
		return s.op.failed(r.acct.fit(r.bytes()))
	}
	if err := s.spillAll(ctx); err != nil {
		return err
	}
	return s.write(ctx, r)
}

// deliver takes the rows of a range.
func (s *sorting) deliver(ctx context.Context, r *run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil && s.all.rows.n > 0 && s.op.full(r.acct.held) {
		w, err := s.op.create(ctx)
		if err != nil {
			return err
		}
		s.file = w
	}
	if s.file == nil {
		return s.all.merge(r)
	}
	s.all.number = 0
	if err := s.writeLocked(ctx, s.all); err != nil {
		return err
	}
	return s.writeLocked(ctx, r)
}

// blockBytes is about what a batch of a spilled run takes.
func (g *grower) blockBytes() int64 { return min(max(g.share()/64, 8<<10), 256<<10) }

// write writes the rows in order and forgets them.
func (r *run) write(ctx context.Context, w *spill.Writer, part int) error {
	r.cut(0)
	order := r.order()
	rows := blockRows(r.s.op, r.bytes(), len(order))
	for at := 0; at < len(order); at += rows {
		idx := order[at:min(at+rows, len(order))]
		b := &vector.Batch{Len: len(idx), Seq: -1}
		for _, c := range r.rows.cols {
			b.Cols = append(b.Cols, take(c, idx))
		}
		keys := vector.New(vector.Str, len(idx))
		for _, i := range idx {
			keys.AppendBytes(r.key(int(i)))
		}
		b.Cols = append(b.Cols, keys)
		if err := w.Append(ctx, spill.Key{Part: part}, b); err != nil {
			return err
		}
	}
	r.rows, r.keys, r.ends = rowStore{}, nil, nil
	r.acct.free()
	return nil
}

// blockRows returns how many of n rows of that many bytes make a block.
func blockRows(op *grower, bytes int64, n int) int {
	each := max(bytes/int64(max(n, 1)), 1)
	return int(min(max(op.blockBytes()/each, 16), vector.BatchRows))
}

// merged opens the runs to be merged. When there are more than can be merged at
// once, neighbours are merged to longer runs first.
func (s *sorting) merged(ctx context.Context) (*runMerge, error) {
	slices.SortFunc(s.runs, func(a, b spilledRun) int { return cmp.Compare(a.order, b.order) })
	file, err := s.file.Finish()
	if err != nil {
		return nil, err
	}
	s.op.spilled.Add(file.Size())
	parts := make([]int, len(s.runs))
	for i, r := range s.runs {
		parts[i] = r.part
	}
	width := int(max(s.op.share()/2/s.op.blockBytes(), 4))
	for len(parts) > width {
		w, err := s.op.create(ctx)
		if err != nil {
			return nil, err
		}
		n := 0
		for at := 0; at < len(parts); at += width {
			m := &runMerge{s: s, file: file, parts: parts[at:min(at+width, len(parts))], left: -1, keys: true}
			if err := m.into(ctx, w, n); err != nil {
				return nil, err
			}
			n++
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
		if file, err = w.Finish(); err != nil {
			return nil, err
		}
		s.op.spilled.Add(file.Size())
		parts = parts[:n]
		for i := range parts {
			parts[i] = i
		}
	}
	return &runMerge{s: s, file: file, parts: parts, left: -1}, nil
}

// runMerge merges runs.
type runMerge struct {
	s          *sorting
	file       *spill.File
	parts      []int
	skip, left int64 // rows to leave out, rows to give then (-1: all)
	keys       bool  // give the keys as the last column
	small      bool  // give few rows at a time, for who needs much memory for each

	heads heads
	began bool
	acct  account
	picks []mergedRow
}

// mergedRow is a row of the output.
type mergedRow struct {
	b   *vector.Batch
	row int
}

// head is the next row of a run.
type head struct {
	in  *spill.Reader
	b   *vector.Batch
	row int
	run int
}

func (h *head) key() []byte { return h.b.Cols[len(h.b.Cols)-1].Bytes(h.row) }

type heads []*head

func (h heads) Len() int { return len(h) }
func (h heads) Less(i, j int) bool {
	if c := bytes.Compare(h[i].key(), h[j].key()); c != 0 {
		return c < 0
	}
	return h[i].run < h[j].run
}
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)   { *h = append(*h, x.(*head)) }
func (h *heads) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

func (m *runMerge) phases() []phase {
	return []phase{{ranges: 1, rows: -1, open: func(context.Context, int) (operator, error) { return m, nil }, done: func() { _ = m.Close() }}}
}

func (m *runMerge) begin(ctx context.Context) error {
	m.began = true
	m.acct = m.s.op.account()
	if err := m.acct.hold(2 * int64(len(m.parts)) * m.s.op.blockBytes()); err != nil {
		return m.s.op.failed(err)
	}
	for i, p := range m.parts {
		h := &head{in: m.file.Reader(p), run: i}
		var err error
		if h.b, _, err = h.in.Next(ctx); err != nil {
			return err
		}
		if h.b != nil {
			m.heads = append(m.heads, h)
		}
	}
	heap.Init(&m.heads)
	return nil
}

// next picks up to n rows, leaving out those to skip.
func (m *runMerge) next(ctx context.Context, n int) error {
	m.picks = m.picks[:0]
	for len(m.picks) < n && len(m.heads) > 0 && m.left != 0 {
		h := m.heads[0]
		switch {
		case m.skip > 0:
			m.skip--
		default:
			m.picks = append(m.picks, mergedRow{h.b, h.row})
			if m.left > 0 {
				m.left--
			}
		}
		if h.row++; h.row >= h.b.Len {
			var err error
			if h.b, _, err = h.in.Next(ctx); err != nil {
				return err
			}
			h.row = 0
			if h.b == nil {
				heap.Pop(&m.heads)
				continue
			}
		}
		heap.Fix(&m.heads, 0)
	}
	return nil
}

// Next implements operator.
func (m *runMerge) Next(ctx context.Context) (*vector.Batch, error) {
	if !m.began {
		if err := m.begin(ctx); err != nil {
			return nil, err
		}
	}
	n := m.s.x.batchRows()
	if m.small && len(m.heads) > 0 {
		b := m.heads[0].b
		n = min(n, blockRows(m.s.op, b.Bytesize(), b.Len))
	}
	if err := m.next(ctx, n); err != nil || len(m.picks) == 0 {
		return nil, err
	}
	return m.gather(), nil
}

func (m *runMerge) gather() *vector.Batch {
	out := &vector.Batch{Len: len(m.picks), Seq: -1}
	first := m.picks[0].b.Cols
	n := len(first)
	if !m.keys {
		n--
	}
	for c := range n {
		v := vector.NewLike(first[c], len(m.picks))
		for _, p := range m.picks {
			v.AppendFrom(p.b.Cols[c], p.row)
		}
		out.Cols = append(out.Cols, v)
	}
	return out
}

// into writes everything as one run.
func (m *runMerge) into(ctx context.Context, w *spill.Writer, part int) error {
	defer m.acct.free()
	if err := m.begin(ctx); err != nil {
		return err
	}
	rows := 0
	for {
		if len(m.heads) > 0 && rows == 0 {
			b := m.heads[0].b
			rows = blockRows(m.s.op, b.Bytesize(), b.Len)
		}
		if err := m.next(ctx, max(rows, 1)); err != nil || len(m.picks) == 0 {
			return err
		}
		if err := w.Append(ctx, spill.Key{Part: part}, m.gather()); err != nil {
			return err
		}
	}
}

// Close implements operator.
func (m *runMerge) Close() error {
	m.heads, m.picks, m.left = nil, nil, 0
	if m.acct.pays != nil {
		m.acct.free()
	}
	return m.file.Close()
}
