package write

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/internal/vector"
)

// buffer holds rows of one bucket in the order in which they came, in chunks
// that a 16-bit position can address.
type buffer struct {
	types  []catalog.Type
	chunks []*vector.Batch
	rows   int
	sealed int64 // bytes of all chunks but the last
}

// rowOverhead is what sorting takes for a row.
const rowOverhead = 32 // an entry, twice while a radix sort runs

// add copies the rows of b at the positions sel.
func (u *buffer) add(b *vector.Batch, sel []uint16) {
	for len(sel) > 0 {
		if len(u.chunks) == 0 || u.last().Len >= vector.MaxBatchRows {
			if len(u.chunks) > 0 {
				u.sealed += u.last().Bytesize()
			}
			c := &vector.Batch{Seq: -1}
			for _, t := range u.types {
				c.Cols = append(c.Cols, t.NewVec(min(len(sel), 1024)))
			}
			u.chunks = append(u.chunks, c)
		}
		c := u.last()
		n := min(len(sel), vector.MaxBatchRows-c.Len)
		for i, v := range c.Cols {
			v.AppendRows(b.Cols[i], sel[:n])
		}
		for _, i := range sel[:n] {
			c.Kinds = append(c.Kinds, b.Kind(int(i)))
		}
		c.Len += n
		u.rows += n
		sel = sel[n:]
	}
}

func (u *buffer) last() *vector.Batch { return u.chunks[len(u.chunks)-1] }

// bytes returns the memory that the buffer needs, sorting included.
func (u *buffer) bytes() int64 {
	if len(u.chunks) == 0 {
		return 0
	}
	return u.sealed + u.last().Bytesize() + int64(u.rows)*rowOverhead
}

// sortEntry is a row by an order-preserving prefix of its key. at is the row's
// ordinal, chunk<<16 | position.
type sortEntry struct {
	prefix uint64
	at     uint32
}

// sorted returns the rows of chunks from to to (exclusive) by key, rows of one
// key in the order in which they came; with last, only the last of each key. keys
// are the key columns' positions.
func (u *buffer) sorted(keys []int, from, to int, last bool) []sortEntry {
	var list []sortEntry
	exact := len(keys) == 1
	for c := from; c < to; c++ {
		chunk := u.chunks[c]
		list = slices.Grow(list, chunk.Len)
		v := chunk.Cols[keys[0]]
		exact = exact && fixedPrefix(v.Kind) && !v.HasNulls()
		for i := range chunk.Len {
			list = append(list, sortEntry{prefix(v, i), uint32(c)<<16 | uint32(i)})
		}
	}
	compare := func(a, b sortEntry) int {
		x, y := u.chunks[a.at>>16], u.chunks[b.at>>16]
		for _, k := range keys {
			if r := vector.Compare(x.Cols[k], int(a.at&0xffff), y.Cols[k], int(b.at&0xffff)); r != 0 {
				return r
			}
		}
		return 0
	}
	sortByPrefix(list)
	if !exact {
		for i := 0; i < len(list); {
			j := i + 1
			for j < len(list) && list[j].prefix == list[i].prefix {
				j++
			}
			slices.SortStableFunc(list[i:j], compare)
			i = j
		}
	}
	if !last {
		return list
	}
	out := list[:0]
	for i, e := range list {
		if i+1 < len(list) && e.prefix == list[i+1].prefix && (exact || compare(e, list[i+1]) == 0) {
			continue // a later row of the same key follows
		}
		out = append(out, e)
	}
	return out
}

// bufferRun is a chunk of a buffer as a sorted run. It implements merge.Run.
type bufferRun struct {
	chunk *vector.Batch
	order []sortEntry // still to be given out
	size  int         // rows a batch
	first int64       // sequence number of the chunk's first row
	flat  bool        // all rows have the sequence number 0
	batch vector.Batch
	sel   []uint16
	seqs  []int64
	rows  merge.Rows
}

// runs returns the buffer's chunks as sorted runs, the newest first. whole makes
// each run one batch, so that rows of one key lie together; otherwise each key
// has its last row only. Sequence numbers go on from first, or all are 0 (flat).
func (u *buffer) runs(keys []int, first int64, whole, flat bool) []merge.Run {
	out := make([]merge.Run, len(u.chunks))
	for c, chunk := range u.chunks {
		r := &bufferRun{chunk: chunk, order: u.sorted(keys, c, c+1, !whole), size: fileRows, first: first, flat: flat}
		if whole {
			r.size = chunk.Len
		}
		out[len(u.chunks)-1-c] = r
		first += int64(chunk.Len)
	}
	return out
}

// Next implements merge.Run.
func (r *bufferRun) Next(context.Context) (*merge.Rows, error) {
	n := min(r.size, len(r.order))
	if n == 0 {
		return nil, nil
	}
	if r.seqs == nil {
		r.seqs = make([]int64, r.chunk.Len)
		for i := range r.seqs {
			if !r.flat {
				r.seqs[i] = r.first + int64(i)
			}
		}
	}
	r.sel = r.sel[:0]
	for _, e := range r.order[:n] {
		r.sel = append(r.sel, uint16(e.at))
	}
	r.order = r.order[n:]
	r.batch = *r.chunk
	r.batch.Sel, r.batch.Seq = r.sel, -1
	r.rows = merge.Rows{Batch: &r.batch, Seqs: r.seqs, File: "the write buffer"}
	return &r.rows, nil
}

// fixedPrefix reports whether prefix holds the whole value.
func fixedPrefix(k vector.Kind) bool {
	return k == vector.I8 || k == vector.I32 || k == vector.I64
}

// prefix maps the value of row i to a number whose order agrees with
// vector.Compare as far as it goes: smaller prefixes are smaller values.
func prefix(v *vector.Vec, i int) uint64 {
	if v.IsNull(i) {
		return 0
	}
	const sign = 1 << 63
	i = v.At(i)
	switch v = v.Values(); v.Kind {
	case vector.I8:
		return uint64(int64(v.I8s[i])) ^ sign
	case vector.I32:
		return uint64(int64(v.I32s[i])) ^ sign
	case vector.I64:
		return uint64(v.I64s[i]) ^ sign
	case vector.I128:
		return uint64(v.I128s[i].Hi) ^ sign
	case vector.F32:
		return floatPrefix(float64(v.F32s[i]))
	case vector.F64:
		return floatPrefix(v.F64s[i])
	case vector.Str:
		b := v.Bytes(i)
		if len(b) >= 8 {
			return binary.BigEndian.Uint64(b)
		}
		var p [8]byte
		copy(p[:], b)
		return binary.BigEndian.Uint64(p[:])
	}
	return 0
}

// floatPrefix orders floats as vector.CompareF64 does.
func floatPrefix(f float64) uint64 {
	if f != f {
		return math.MaxUint64
	}
	b := math.Float64bits(f)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// gather copies rows of the buffer into table columns.
func (u *buffer) gather(rows []sortEntry) []*vector.Vec {
	cols := make([]*vector.Vec, len(u.types))
	if len(u.chunks) == 1 {
		sel := make([]uint16, len(rows))
		for i, e := range rows {
			sel[i] = uint16(e.at)
		}
		for i := range cols {
			cols[i] = u.chunks[0].Cols[i].Gather(sel)
		}
		return cols
	}
	for i, t := range u.types {
		v := t.NewVec(len(rows))
		for _, e := range rows {
			v.AppendFrom(u.chunks[e.at>>16].Cols[i], int(e.at&0xffff))
		}
		cols[i] = v
	}
	return cols
}

func (u *buffer) kind(e sortEntry) vector.RowKind { return u.chunks[e.at>>16].Kinds[e.at&0xffff] }

// ordinal is the row's number in the order in which the rows came.
func (u *buffer) ordinal(e sortEntry) int64 {
	return int64(e.at>>16)*vector.MaxBatchRows + int64(e.at&0xffff)
}
