package write

import (
	"context"
	"fmt"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Positions of the system columns in a cursor's batches; the table's columns
// follow.
const (
	cursorSeq = iota
	cursorKind
	cursorHead
)

// cursor reads one sorted run: files whose key ranges ascend, each sorted, one
// row a key.
type cursor struct {
	c      *compaction
	files  []spec.DataFileMeta // still to open
	rd     format.Reader
	batch  *vector.Batch
	i      int // the current row, among those that count
	row    int // and its position in the batch
	prefix uint64
	end    bool
}

func (k *cursor) close() {
	if k.rd != nil {
		k.rd.Close() //nolint:errcheck // nothing was written through it
		k.rd = nil
	}
}

// next moves to the next row, or sets end.
func (k *cursor) next(ctx context.Context) error {
	k.i++
	for k.batch == nil || k.i >= k.batch.Rows() {
		k.i, k.batch = 0, nil
		if k.rd == nil {
			if len(k.files) == 0 {
				k.end = true
				return nil
			}
			var err error
			if k.rd, err = k.c.openFile(ctx, &k.files[0]); err != nil {
				return err
			}
			k.files = k.files[1:]
		}
		b, err := k.rd.Next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			k.close()
			continue
		}
		k.batch = b
	}
	k.place()
	return nil
}

func (k *cursor) place() {
	k.row = k.batch.Row(k.i)
	k.prefix = prefix(k.batch.Cols[cursorHead+k.c.w.layout.keys[0]], k.row)
}

func (k *cursor) seq() int64 {
	v := k.batch.Cols[cursorSeq]
	return v.Values().I64s[v.At(k.row)]
}

func (k *cursor) kind(row int) vector.RowKind {
	v := k.batch.Cols[cursorKind]
	return vector.RowKind(v.Values().I32s[v.At(row)])
}

// compareKey orders the current rows of two cursors by key.
func (k *cursor) compareKey(o *cursor) int { return k.compareKeyAt(k.row, o) }

// compareKeyAt orders a row of k's batch against o's current row.
func (k *cursor) compareKeyAt(row int, o *cursor) int {
	keys := k.c.w.layout.keys
	for n, at := range keys {
		a, b := k.batch.Cols[cursorHead+at], o.batch.Cols[cursorHead+at]
		if n == 0 {
			p := k.prefix
			if row != k.row {
				p = prefix(a, row)
			}
			if p != o.prefix {
				if p < o.prefix {
					return -1
				}
				return 1
			}
		}
		if r := vector.Compare(a, row, b, o.row); r != 0 {
			return r
		}
	}
	return 0
}

// before is the order of the heap: by key, and for one key the row that wins
// first: the highest sequence number, and an addition before a retraction of the
// same one.
func (k *cursor) before(o *cursor) bool {
	if r := k.compareKey(o); r != 0 {
		return r < 0
	}
	if a, b := k.seq(), o.seq(); a != b {
		return a > b
	}
	return !retract(k.kind(k.row)) && retract(o.kind(o.row))
}

// merger merges cursors into a rolling writer: the newest row of each key
// (merge engine deduplicate).
type merger struct {
	c           *compaction
	heap        []*cursor
	dropRetract bool
	out         *rolling
	cols        []*vector.Vec
	seq, kinds  *vector.Vec
	n           int
	sel         []uint16
}

func (m *merger) run(ctx context.Context, cursors []*cursor) error {
	for _, k := range cursors {
		k.i = -1
		if err := k.next(ctx); err != nil {
			return err
		}
		if !k.end {
			m.heap = append(m.heap, k)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	m.fresh()
	for len(m.heap) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		top := m.heap[0]
		whole, err := m.bulk(ctx, top)
		if err != nil {
			return err
		}
		if whole {
			continue
		}
		// Take the winner off the heap, drop older rows of its key, put it back.
		m.remove()
		for len(m.heap) > 0 && m.heap[0].compareKey(top) == 0 {
			if err := m.advance(ctx); err != nil {
				return err
			}
		}
		m.sel = append(m.sel[:0], uint16(top.row))
		if err := m.emit(ctx, top.batch, m.sel, top); err != nil {
			return err
		}
		if err := top.next(ctx); err != nil {
			return err
		}
		if !top.end {
			m.heap = append(m.heap, top)
			m.up(len(m.heap) - 1)
		}
	}
	return m.flush(ctx)
}

// bulk copies the rest of the top cursor's batch when it lies before all other
// cursors, and reports whether it did.
func (m *merger) bulk(ctx context.Context, top *cursor) (bool, error) {
	rows := top.batch.Rows()
	last := top.batch.Row(rows - 1)
	for i := 1; i < min(len(m.heap), 3); i++ { // the next one is a child of the root
		if top.compareKeyAt(last, m.heap[i]) >= 0 {
			return false, nil
		}
	}
	m.sel = m.sel[:0]
	for i := top.i; i < rows; i++ {
		m.sel = append(m.sel, uint16(top.batch.Row(i)))
	}
	if err := m.emit(ctx, top.batch, m.sel, top); err != nil {
		return false, err
	}
	top.i = rows
	return true, m.advance(ctx)
}

// advance moves the top cursor on and restores the heap.
func (m *merger) advance(ctx context.Context) error {
	top := m.heap[0]
	if err := top.next(ctx); err != nil {
		return err
	}
	if top.end {
		m.remove()
	} else {
		m.down(0)
	}
	return nil
}

func (m *merger) remove() {
	last := len(m.heap) - 1
	m.heap[0] = m.heap[last]
	m.heap = m.heap[:last]
	if last > 0 {
		m.down(0)
	}
}

func (m *merger) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(m.heap) {
			return
		}
		if c+1 < len(m.heap) && m.heap[c+1].before(m.heap[c]) {
			c++
		}
		if !m.heap[c].before(m.heap[i]) {
			return
		}
		m.heap[i], m.heap[c] = m.heap[c], m.heap[i]
		i = c
	}
}

func (m *merger) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if !m.heap[i].before(m.heap[p]) {
			return
		}
		m.heap[i], m.heap[p] = m.heap[p], m.heap[i]
		i = p
	}
}

// emit adds rows of a batch to the output.
func (m *merger) emit(ctx context.Context, b *vector.Batch, rows []uint16, k *cursor) error {
	if m.dropRetract {
		kept := rows[:0]
		for _, r := range rows {
			if !retract(k.kind(int(r))) {
				kept = append(kept, r)
			}
		}
		rows = kept
	}
	for len(rows) > 0 {
		n := min(len(rows), fileRows-m.n)
		m.seq.AppendRows(b.Cols[cursorSeq], rows[:n])
		m.kinds.AppendRows(b.Cols[cursorKind], rows[:n])
		for i, v := range m.cols {
			v.AppendRows(b.Cols[cursorHead+i], rows[:n])
		}
		m.n += n
		rows = rows[n:]
		if m.n == fileRows {
			if err := m.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *merger) fresh() {
	m.cols = m.cols[:0]
	for _, f := range m.c.w.cfg.Schema.Fields {
		m.cols = append(m.cols, f.Type.NewVec(fileRows))
	}
	m.seq, m.kinds, m.n = vector.New(vector.I64, fileRows), vector.New(vector.I32, fileRows), 0
}

func (m *merger) flush(ctx context.Context) error {
	if m.n == 0 {
		return nil
	}
	b := m.c.w.layout.batch(m.n, append([]*vector.Vec(nil), m.cols...), m.seq, m.kinds)
	if err := m.out.write(ctx, b, m.seq, m.kinds, 0); err != nil {
		return err
	}
	m.fresh()
	return nil
}

// openFile opens a data file of the compaction's bucket with the columns of the
// current schema, found by field id.
func (c *compaction) openFile(ctx context.Context, f *spec.DataFileMeta) (format.Reader, error) {
	w := c.w
	e := spec.ManifestEntry{Partition: c.b.partition, Bucket: c.b.bucket, File: *f}
	path, err := w.cfg.Paths.DataFile(&e)
	if err != nil {
		return nil, err
	}
	fs, err := w.schema(ctx, f.SchemaID)
	if err != nil {
		return nil, err
	}
	cols := []format.Column{{Name: spec.SequenceColumn, Type: catalog.TBigInt, ID: spec.SequenceID},
		{Name: spec.KindColumn, Type: catalog.TTinyInt, ID: spec.KindID}}
	for _, want := range w.cfg.Schema.Fields {
		col := format.Column{Name: fmt.Sprintf("\x00%d", want.ID), Type: want.Type, ID: want.ID} // no file has it: all NULL
		for _, have := range fs.Fields {
			if have.ID != want.ID {
				continue
			}
			if !have.Type.Nullable().Equal(want.Type.Nullable()) {
				return nil, errs.Unsupportedf(-1, "compacting files from before the change of column %s from %s to %s", want.Name, have.Type, want.Type)
			}
			col.Name = have.Name
		}
		cols = append(cols, col)
	}
	fm, err := w.cfg.Formats.ByFile(f.FileName)
	if err != nil {
		return nil, err
	}
	file, err := w.cfg.Files.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return fm.NewReader(ctx, file, format.ReadOptions{Path: path, Columns: cols, Budget: c.budget})
}
