package read

import (
	"context"
	"sort"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// mergeReader merges the runs of a section. With the merge engine deduplicate, of
// the rows with one key the one with the highest sequence number remains, and is
// left out if it is a deletion; with other engines, or sequence columns, the rows
// of a key that several runs have go through a group.
//
// Each run is a cursor over batches in key order. The cursors are kept in an
// array sorted by (key, sequence number descending); the first is the winner. As
// long as its rows lie below the second cursor's row they are taken as one
// stretch, found by galloping; then the cursor is put back by binary search.
// Stretches stay references into the runs' batches until a batch is used up or
// the output is full; then they are copied range by range, or, when the output
// is one batch alone, handed on as that batch with a selection. Memory is a
// batch a run and one of output.
type mergeReader struct {
	sc      *scan
	runs    []*runCursor
	order   []*runCursor
	started bool

	ignoreDeletes bool
	keep          bool   // deletions are rows
	group         *group // nil: of the rows of a key the newest wins
	heads         []*runCursor
	rows          int // most rows of a batch
	out           vector.Batch
	pending       []stretch
	waiting       int        // rows in pending
	reload        *runCursor // its batch was handed on and must be replaced first
	view          vector.Batch
	kinds         []vector.RowKind // of view
	sel           []uint16
	held          int64
}

// stretch is rows from to to (exclusive) of a run's batch.
type stretch struct {
	run      *runCursor
	from, to int
}

// runCursor walks the files of a run.
type runCursor struct {
	sc    *scan
	id    int
	files []*spec.ManifestEntry
	next  int
	cur   *fileReader
	batch *vector.Batch
	pos   int
	keys  []*vector.Vec
	norm  []uint64 // order-preserving prefixes of the keys
	shape keyShape
	seq   []int64
	kinds []int32 // nil: all are additions
	level int32   // of the current file
	bases []int   // where out's columns have this batch's string buffers, -1: nowhere
}

func newMergeReader(_ context.Context, sc *scan, s *section) (*mergeReader, error) {
	m := &mergeReader{sc: sc, rows: sc.req.BatchRows}
	if m.rows <= 0 || m.rows > vector.MaxBatchRows {
		m.rows = vector.BatchRows
	}
	m.keep = sc.st.keepDeletes
	m.ignoreDeletes = sc.engine.ignoreDeletes && !sc.engine.combines() && !m.keep
	if !sc.engine.plain() || m.keep && sc.engine.ignoreDeletes {
		m.group = newGroup(sc)
	}
	shape := shapeOf(spec.TypesOf(sc.st.schema, sc.st.schema.TrimmedPrimaryKeys()))
	for i, files := range s.runs {
		m.runs = append(m.runs, &runCursor{sc: sc, id: i, files: files, shape: shape})
	}
	for _, c := range sc.req.Columns {
		m.out.Cols = append(m.out.Cols, sc.st.schema.Fields[c].Type.NewVec(0))
	}
	// The output's values; string bytes are shared with the runs' batches.
	m.held = int64(m.rows) * 16 * int64(len(m.out.Cols))
	if sc.engine.combines() {
		m.held *= 2 // and the rows made of several
	}
	if err := sc.req.Budget.Reserve(m.held); err != nil {
		return nil, err
	}
	return m, nil
}

// Next implements connector.BatchReader.
func (m *mergeReader) Next(ctx context.Context) (*vector.Batch, error) {
	if !m.started {
		m.started = true
		for _, r := range m.runs {
			if err := m.load(ctx, r); err != nil {
				return nil, err
			}
			m.insert(r)
		}
	}
	m.resetOut()
	if r := m.reload; r != nil {
		m.reload = nil
		if err := m.load(ctx, r); err != nil {
			return nil, err
		}
		m.insert(r)
	}
	for len(m.order) > 0 {
		room := m.rows - m.out.Len - m.waiting
		if room == 0 {
			break
		}
		w := m.order[0]
		if len(m.order) > 1 && compareHeads(w, m.order[1]) == 0 {
			if m.group != nil {
				if err := m.mergeHeads(ctx); err != nil {
					return nil, err
				}
				continue
			}
			// One key in several runs: w has the newest row. The others' are passed,
			// then w's.
			for len(m.order) > 1 && compareHeads(w, m.order[1]) == 0 {
				r := m.order[1]
				m.order = append(m.order[:1], m.order[2:]...)
				r.pos++
				if err := m.settle(ctx, r); err != nil {
					return nil, err
				}
			}
			m.take(w, w.pos, w.pos+1)
			w.pos++
		} else {
			end := min(w.batch.Len, w.pos+room)
			if len(m.order) > 1 {
				end = w.below(m.order[1], end)
			}
			m.take(w, w.pos, end)
			w.pos = end
		}
		m.order = m.order[1:]
		if w.pos == w.batch.Len && m.alone(w) {
			m.reload = w // the output is this batch
			return m.handOn(w), nil
		}
		if err := m.settle(ctx, w); err != nil {
			return nil, err
		}
	}
	m.flush()
	if m.out.Len == 0 {
		return nil, nil
	}
	return &m.out, nil
}

// mergeHeads merges the rows of the smallest key, which several runs have, into
// one, and passes them.
func (m *mergeReader) mergeHeads(ctx context.Context) error {
	k := 2
	for k < len(m.order) && compareHeads(m.order[0], m.order[k]) == 0 {
		k++
	}
	m.heads = append(m.heads[:0], m.order[:k]...)
	m.order = append(m.order[:0], m.order[k:]...)
	r, pos, err := m.group.merge(m.heads)
	if err != nil {
		return err
	}
	if r != nil {
		m.take(r, pos, pos+1)
	}
	for _, r := range m.heads {
		r.pos++
		if err := m.settle(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// resetOut empties the output.
func (m *mergeReader) resetOut() {
	m.out.Len, m.out.Kinds = 0, m.out.Kinds[:0]
	for _, v := range m.out.Cols {
		v.Reset()
	}
	for _, r := range m.runs {
		r.bases = r.bases[:0]
	}
}

// settle puts a cursor that was taken out of the order back, after reading its
// next batch when the current one is used up. It may be called while the first
// of the order is being worked on: positions behind it stay.
func (m *mergeReader) settle(ctx context.Context, r *runCursor) error {
	r.passIgnored(m.ignoreDeletes)
	if r.pos < r.batch.Len {
		m.insert(r)
		return nil
	}
	m.flush()
	if err := m.load(ctx, r); err != nil {
		return err
	}
	m.insert(r)
	return nil
}

// load reads the next batch of a run; at the end of the run r.batch is nil.
func (m *mergeReader) load(ctx context.Context, r *runCursor) error {
	for {
		if err := r.load(ctx); err != nil || r.batch == nil {
			return err
		}
		r.passIgnored(m.ignoreDeletes)
		if r.pos < r.batch.Len {
			return nil
		}
	}
}

// insert puts a cursor into the order; one at its end stays out. The first
// place is not disturbed when it is being worked on, since its row is smaller.
func (m *mergeReader) insert(r *runCursor) {
	if r.batch == nil {
		return
	}
	i := sort.Search(len(m.order), func(i int) bool { return before(r, m.order[i]) })
	m.order = append(m.order, nil)
	copy(m.order[i+1:], m.order[i:])
	m.order[i] = r
}

// before reports whether the head of a comes before that of b: by key, then the
// newer one, then additions before deletions, which Java merges in the opposite
// order so that the addition wins.
func before(a, b *runCursor) bool {
	if c := compareHeads(a, b); c != 0 {
		return c < 0
	}
	if x, y := a.seq[a.pos], b.seq[b.pos]; x != y {
		return x > y
	}
	if x, y := a.retracts(a.pos), b.retracts(b.pos); x != y {
		return y
	}
	return a.id < b.id
}

// compareHeads compares the keys of two cursors' rows.
func compareHeads(a, b *runCursor) int { return compareRows(a, a.pos, b, b.pos) }

func compareRows(a *runCursor, i int, b *runCursor, j int) int {
	if x, y := a.norm[i], b.norm[j]; x != y {
		if x < y {
			return -1
		}
		return 1
	}
	if a.shape.exact {
		return 0
	}
	for k := range a.keys {
		if c := vector.Compare(a.keys[k], i, b.keys[k], j); c != 0 {
			return c
		}
	}
	return 0
}

// below returns the end, at most end, of the rows of r from its position on that
// lie below the head of o. The row at its position does.
func (r *runCursor) below(o *runCursor, end int) int {
	step, lo := 1, r.pos+1
	for lo+step <= end && compareRows(r, lo+step-1, o, o.pos) < 0 {
		lo += step
		step *= 2
	}
	hi := min(lo+step-1, end)
	return lo + sort.Search(hi-lo, func(i int) bool { return compareRows(r, lo+i, o, o.pos) >= 0 })
}

// kind returns the row kind of row i.
func (r *runCursor) kind(i int) vector.RowKind {
	if r.kinds == nil {
		return vector.Insert
	}
	return vector.RowKind(r.kinds[i])
}

func (r *runCursor) retracts(i int) bool { return r.kinds != nil && retracts(r.kinds[i]) }

// passIgnored passes deletions that the table ignores.
func (r *runCursor) passIgnored(ignore bool) {
	for ignore && r.pos < r.batch.Len && r.retracts(r.pos) {
		r.pos++
	}
}

// take adds the rows that are not deletions to the pending ones.
func (m *mergeReader) take(r *runCursor, from, to int) {
	add := func(from, to int) {
		if from == to {
			return
		}
		m.waiting += to - from
		if n := len(m.pending); n > 0 && m.pending[n-1].run == r && m.pending[n-1].to == from {
			m.pending[n-1].to = to
			return
		}
		m.pending = append(m.pending, stretch{r, from, to})
	}
	if r.kinds == nil || m.keep {
		add(from, to)
		return
	}
	start := from
	for i := from; i < to; i++ {
		if retracts(r.kinds[i]) {
			add(start, i)
			start = i + 1
		}
	}
	add(start, to)
}

// alone reports whether the output is made of rows of r's batch only, and enough
// of them to hand the batch on.
func (m *mergeReader) alone(r *runCursor) bool {
	if m.out.Len > 0 || 4*m.waiting < r.batch.Len || m.waiting == 0 {
		return false
	}
	for _, s := range m.pending {
		if s.run != r {
			return false
		}
	}
	return true
}

// handOn returns r's batch with a selection of the pending rows.
func (m *mergeReader) handOn(r *runCursor) *vector.Batch {
	m.view = vector.Batch{Len: r.batch.Len, Seq: -1, Cols: r.batch.Cols[:len(m.out.Cols):len(m.out.Cols)]}
	if m.waiting < r.batch.Len {
		m.sel = m.sel[:0]
		for _, s := range m.pending {
			for i := s.from; i < s.to; i++ {
				m.sel = append(m.sel, uint16(i))
			}
		}
		m.view.Sel = m.sel
	}
	if m.keep {
		m.kinds = m.kinds[:0]
		for i := range r.batch.Len {
			m.kinds = append(m.kinds, r.kind(i))
		}
		m.view.Kinds = m.kinds
	}
	m.pending, m.waiting = m.pending[:0], 0
	return &m.view
}

// flush copies the pending rows to the output.
func (m *mergeReader) flush() {
	if m.waiting == 0 {
		return
	}
	for c, dst := range m.out.Cols {
		for _, s := range m.pending {
			src := s.run.batch.Cols[c]
			base := 0
			if dst.Kind == vector.Str {
				base = s.run.base(dst, src, c, len(m.out.Cols))
			}
			dst.AppendRange(src, s.from, s.to, base)
		}
	}
	if m.keep {
		for _, s := range m.pending {
			for i := s.from; i < s.to; i++ {
				m.out.Kinds = append(m.out.Kinds, s.run.kind(i))
			}
		}
	}
	m.out.Len += m.waiting
	m.out.Seq = -1
	m.pending, m.waiting = m.pending[:0], 0
	if m.group != nil {
		m.group.release()
	}
}

// base returns where column c of the output has the string buffers of this
// batch.
func (r *runCursor) base(dst, src *vector.Vec, c, n int) int {
	for len(r.bases) < n {
		r.bases = append(r.bases, -1)
	}
	if r.bases[c] < 0 {
		r.bases[c] = dst.ShareBufs(src)
	}
	return r.bases[c]
}

// Close implements connector.BatchReader.
func (m *mergeReader) Close() error {
	var files []*fileReader
	for _, r := range m.runs {
		if r.cur != nil {
			files = append(files, r.cur)
			r.cur = nil
		}
		r.batch = nil
	}
	m.order = nil
	m.sc.req.Budget.Release(m.held)
	m.held = 0
	return closeAll(files)
}

// load reads the next batch of the run and prepares its keys.
func (r *runCursor) load(ctx context.Context) error {
	last, lastKeys, lastNorm := r.batch, r.keys, r.norm
	if last != nil {
		// The batch goes; keep its last key to check the order.
		kept := make([]*vector.Vec, len(lastKeys))
		for i, k := range lastKeys {
			kept[i] = vector.New(k.Kind, 1)
			kept[i].AppendFrom(k, last.Len-1)
		}
		lastKeys, lastNorm = kept, []uint64{lastNorm[last.Len-1]}
	}
	r.batch, r.pos, r.bases = nil, 0, r.bases[:0]
	for {
		if r.cur == nil {
			if r.next == len(r.files) {
				return nil
			}
			e := r.files[r.next]
			f, err := r.sc.openFile(ctx, e, fileOptions{
				merge: true, kinds: holdsDeletions(e) || r.sc.st.keepDeletes,
				filter: r.sc.filter, keysOnly: true,
			})
			if err != nil {
				return err
			}
			r.cur = f
			r.next++
		}
		b, err := r.cur.Next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			err := r.cur.Close()
			r.cur = nil
			if err != nil {
				return err
			}
			continue
		}
		if b.Rows() == 0 {
			continue
		}
		b = b.Compact() // rows with deletion vectors are few where runs are merged
		l := r.cur.layout
		r.level = r.cur.e.File.Level
		r.batch, r.keys = b, r.keys[:0]
		for _, k := range l.keys {
			r.keys = append(r.keys, b.Cols[k])
		}
		r.seq = b.Cols[len(l.cols)].I64s
		r.kinds = nil
		if r.cur.opts.kinds {
			r.kinds = b.Cols[len(l.cols)+1].I32s
			all := true
			for _, k := range r.kinds {
				all = all && !retracts(k)
			}
			if all && !r.sc.st.keepDeletes {
				r.kinds = nil
			}
		}
		for _, k := range r.keys {
			if !r.shape.nullable && k.HasNulls() {
				return errs.Corruptf("table %s, snapshot %d: %s has NULL keys", r.sc.st.src.Name, r.sc.st.snap.ID, r.cur.path)
			}
		}
		r.norm = r.shape.normalize(r.norm[:0], r.keys, b.Len)
		if err := r.checkOrder(last != nil, lastKeys, lastNorm); err != nil {
			return err
		}
		return nil
	}
}

// checkOrder verifies what merging relies on: keys ascend strictly.
func (r *runCursor) checkOrder(hasLast bool, lastKeys []*vector.Vec, lastNorm []uint64) error {
	bad := func() error {
		return errs.Corruptf("table %s, snapshot %d: the rows of %s are not in the order of their keys", r.sc.st.src.Name, r.sc.st.snap.ID, r.cur.path)
	}
	if hasLast {
		l := &runCursor{keys: lastKeys, norm: lastNorm, shape: r.shape}
		if compareRows(l, 0, r, 0) >= 0 {
			return bad()
		}
	}
	for i := 1; i < r.batch.Len; i++ {
		if r.norm[i-1] >= r.norm[i] && compareRows(r, i-1, r, i) >= 0 {
			return bad()
		}
	}
	return nil
}
