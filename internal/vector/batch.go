package vector

import "math/bits"

func popcount(w uint64) int { return bits.OnesCount64(w) }

// Batch is a set of rows in columns. All columns have Len rows.
type Batch struct {
	Len   int       // physical rows, at most MaxBatchRows
	Sel   []uint16  // nil: all rows; else the ascending positions that count
	Cols  []*Vec    // one a column
	Kinds []RowKind // one a physical row; nil: all Insert
	Seq   int64     // position in its file of the first row, -1 when it has none
}

// NewBatch makes an empty batch with a Flat column of each kind.
func NewBatch(kinds []Kind, n int) *Batch {
	b := &Batch{Seq: -1}
	for _, k := range kinds {
		b.Cols = append(b.Cols, New(k, n))
	}
	return b
}

// Rows returns the number of rows that count.
func (b *Batch) Rows() int {
	if b.Sel != nil {
		return len(b.Sel)
	}
	return b.Len
}

// Row returns the physical position of the i-th row that counts.
func (b *Batch) Row(i int) int {
	if b.Sel != nil {
		return int(b.Sel[i])
	}
	return i
}

// Kind returns the row kind at a physical position.
func (b *Batch) Kind(i int) RowKind {
	if b.Kinds == nil {
		return Insert
	}
	return b.Kinds[i]
}

// Compact returns b without a selection: b itself when it has none, else a
// batch of gathered columns that shares string bytes with b.
func (b *Batch) Compact() *Batch {
	if b.Sel == nil {
		return b
	}
	out := &Batch{Len: len(b.Sel), Seq: -1, Cols: make([]*Vec, len(b.Cols))}
	for i, c := range b.Cols {
		out.Cols[i] = c.Gather(b.Sel)
	}
	if b.Kinds != nil {
		out.Kinds = gather(b.Kinds, b.Sel)
	}
	return out
}

// Clone copies the rows that count into new Flat columns that share nothing
// with b.
func (b *Batch) Clone() *Batch {
	out := &Batch{Len: b.Rows(), Seq: -1, Cols: make([]*Vec, len(b.Cols))}
	for i, c := range b.Cols {
		out.Cols[i] = NewLike(c.Values(), out.Len)
		out.Cols[i].AppendRows(c, b.Sel)
	}
	if b.Kinds != nil {
		if b.Sel != nil {
			out.Kinds = gather(b.Kinds, b.Sel)
		} else {
			out.Kinds = append([]RowKind(nil), b.Kinds...)
		}
	}
	return out
}

// AppendRow adds row i of src to b, whose columns are Flat and of the same kinds.
func (b *Batch) AppendRow(src *Batch, i int) {
	for c, v := range b.Cols {
		v.AppendFrom(src.Cols[c], i)
	}
	if src.Kinds != nil || b.Kinds != nil {
		for len(b.Kinds) < b.Len {
			b.Kinds = append(b.Kinds, Insert)
		}
		b.Kinds = append(b.Kinds, src.Kind(i))
	}
	b.Len++
}

// Reset empties b for reuse; see Vec.Reset.
func (b *Batch) Reset() {
	b.Len, b.Sel, b.Kinds, b.Seq = 0, nil, nil, -1
	for _, c := range b.Cols {
		c.Reset()
	}
}

// Bytesize returns the bytes of memory of all columns.
func (b *Batch) Bytesize() int64 {
	n := int64(cap(b.Sel)*2 + cap(b.Kinds))
	for _, c := range b.Cols {
		n += c.Bytesize()
	}
	return n
}
