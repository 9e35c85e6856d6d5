package merge

import (
	"github.com/thermocline/thermocline/internal/vector"
)

// output gathers rows of the cursors' batches into a batch of its own.
type output struct {
	batch   vector.Batch
	seqs    []int64
	kinds   []vector.RowKind
	pending []vector.Stretch // rows that are still to be copied
	waiting int              // how many
	marks   []vector.RowKind // kinds of the pending rows, nil: their own
	bases   [][]int          // per cursor and column where the batch has its string buffers
	srcs    []*vector.Vec
	from    []int
}

func (o *output) init(m *Merger) {
	for _, t := range m.types() {
		o.batch.Cols = append(o.batch.Cols, t.NewVec(0))
	}
	o.batch.Seq = -1
	o.bases, o.srcs, o.from = make([][]int, len(m.cur)), make([]*vector.Vec, len(m.cur)), make([]int, len(m.cur))
}

// len returns the number of rows, copied or pending.
func (o *output) len() int { return o.batch.Len + o.waiting }

// add makes rows of c pending.
func (o *output) add(c *cursor, from, to int) {
	if from == to {
		return
	}
	o.waiting += to - from
	if n := len(o.pending); n > 0 {
		if p := &o.pending[n-1]; p.Src == uint32(c.id) && p.To == uint32(from) {
			p.To = uint32(to)
			return
		}
	}
	o.pending = append(o.pending, vector.Stretch{Src: uint32(c.id), From: uint32(from), To: uint32(to)})
}

// reset empties the batch.
func (o *output) reset() {
	o.batch.Len, o.batch.Sel, o.batch.Kinds = 0, nil, nil
	o.seqs, o.kinds = o.seqs[:0], o.kinds[:0]
	for _, v := range o.batch.Cols {
		v.Reset()
	}
	for i := range o.bases {
		o.bases[i] = o.bases[i][:0]
	}
}

// flush copies the pending rows, column by column.
func (o *output) flush(m *Merger) {
	if o.waiting == 0 {
		return
	}
	for i, dst := range o.batch.Cols {
		for _, c := range m.cur {
			o.srcs[c.id] = nil
		}
		for k := range o.pending {
			at := o.pending[k].Src
			if o.srcs[at] != nil {
				continue
			}
			src := m.cur[at].flatten(i)
			o.srcs[at], o.from[at] = src, 0
			if dst.Kind == vector.Str {
				o.from[at] = o.base(at, dst, src, i)
			}
		}
		dst.AppendStretches(o.srcs, o.from, o.pending)
	}
	if m.cfg.Sequences {
		for _, s := range o.pending {
			o.seqs = append(o.seqs, m.cur[s.Src].seqs[s.From:s.To]...)
		}
	}
	switch {
	case len(o.marks) > 0:
		o.kinds = append(o.kinds, o.marks...)
		o.marks = o.marks[:0]
	case m.cfg.KeepDeletes:
		for _, s := range o.pending {
			c := m.cur[s.Src]
			if c.kinds != nil {
				o.kinds = append(o.kinds, c.kinds[s.From:s.To]...)
				continue
			}
			for range s.To - s.From {
				o.kinds = append(o.kinds, vector.Insert)
			}
		}
	}
	o.batch.Len += o.waiting
	o.pending, o.waiting = o.pending[:0], 0
}

// base returns where column i of the batch has the string buffers of cursor r.
func (o *output) base(r uint32, dst, src *vector.Vec, i int) int {
	for len(o.bases[r]) <= i {
		o.bases[r] = append(o.bases[r], -1)
	}
	if o.bases[r][i] < 0 {
		o.bases[r][i] = dst.ShareBufs(src)
	}
	return o.bases[r][i]
}

// forget is told that the batch of c goes.
func (o *output) forget(c *cursor) {
	if o.bases != nil {
		o.bases[c.id] = o.bases[c.id][:0]
	}
}

// result returns the batch.
func (o *output) result() *vector.Batch {
	if len(o.kinds) > 0 {
		o.batch.Kinds = o.kinds
	}
	return &o.batch
}

// flatten returns a column of the cursor's batch in Flat form.
func (c *cursor) flatten(i int) *vector.Vec {
	v := c.cols[i]
	if v.Form == vector.Flat {
		return v
	}
	for len(c.flat) <= i {
		c.flat = append(c.flat, nil)
	}
	if c.flat[i] == nil {
		w := vector.NewLike(v.Values(), c.n)
		w.AppendRange(v, 0, c.n, w.ShareBufs(v))
		c.flat[i] = w
	}
	return c.flat[i]
}

// drain gives out what refers to the batch of c, which is used up. It returns
// rows when that is a batch to hand on.
func (m *Merger) drain(c *cursor) (*Rows, error) {
	if c.given {
		return nil, nil
	}
	c.given = true
	if m.cfg.Unordered {
		if err := m.group.compute(); err != nil {
			return nil, err
		}
		return m.handOn(c, m.survivors(c)), nil
	}
	if m.changes == nil && m.alone(c) {
		var sel []uint16
		if m.out.waiting < c.len {
			m.sel = m.sel[:0]
			for _, s := range m.out.pending {
				for i := s.From; i < s.To; i++ {
					m.sel = append(m.sel, uint16(i))
				}
			}
			sel = m.sel
		}
		m.out.pending, m.out.waiting = m.out.pending[:0], 0
		return m.handOn(c, sel), nil
	}
	return nil, m.flush()
}

// survivors selects the rows of c's batch that count, nil when all do.
func (m *Merger) survivors(c *cursor) []uint16 {
	drop := c.kinds != nil && !m.cfg.KeepDeletes
	if !drop && len(c.hidden) == 0 && c.first == 0 && c.n == c.len {
		return nil
	}
	m.sel = m.sel[:0]
	at := c.first
	fill := func(to int) {
		if !drop {
			for ; at < to; at++ {
				m.sel = append(m.sel, uint16(at))
			}
			return
		}
		for ; at < to; at++ {
			if !retracts(c.kinds[at]) {
				m.sel = append(m.sel, uint16(at))
			}
		}
	}
	for _, h := range c.hidden {
		fill(int(h))
		at = int(h) + 1
	}
	fill(c.n)
	if len(m.sel) == c.len {
		return nil
	}
	if m.sel == nil {
		m.sel = make([]uint16, 0, 1) // a nil selection would mean all rows
	}
	return m.sel
}

// alone reports whether the output is made of rows of c's batch only, and enough
// of them to hand the batch on.
func (m *Merger) alone(c *cursor) bool {
	if m.out.batch.Len > 0 || 4*m.out.waiting < c.len || m.out.waiting == 0 {
		return false
	}
	for _, s := range m.out.pending {
		if s.Src != uint32(c.id) {
			return false
		}
	}
	return true
}

// handOn returns c's batch with a selection; nil when that is empty.
func (m *Merger) handOn(c *cursor, sel []uint16) *Rows {
	if sel != nil && len(sel) == 0 {
		return nil
	}
	m.view = vector.Batch{Len: c.len, Seq: -1, Sel: sel, Cols: c.cols[:m.cfg.Out:m.cfg.Out]}
	m.rowsOut = Rows{Batch: &m.view, Seqs: c.seqs}
	if m.cfg.KeepDeletes {
		m.view.Kinds = c.kinds
	}
	return &m.rowsOut
}
