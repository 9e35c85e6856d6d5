package fileindex

import (
	"encoding/binary"
	"sort"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/roaring"
	"github.com/thermocline/thermocline/internal/vector"
)

// bitmap has the rows of every value:
//
//	byte version, 1 or 2 | int32 rows | int32 values | byte with NULLs
//	with NULLs  int32 offset of their rows | version 2: int32 length
//	version 1   (value, int32 offset) × values
//	            bitmaps
//	version 2   int32 blocks | (its first value, int32 offset) × blocks | int32 offset of the bitmaps
//	            blocks, sorted by value: int32 n | (value, int32 offset, int32 length) × n
//	            bitmaps
//
// Offsets of blocks and of the bitmaps count from the first block, those of rows
// from the first bitmap. A negative one is a single row, -1-offset, and has no
// bitmap.
type bitmap struct {
	c      codec
	rows   int64
	values int
	nulls  rowRef
	heads  *vector.Vec // version 2: the blocks' first values
	blocks [][]byte    // of both versions: version 1 has one
	base   []int       // of the blocks in the index
	v2     bool
	body   []byte // bitmaps
}

type rowRef struct {
	ok     bool
	offset int32
}

func openBitmap(b []byte, t catalog.Type, rows int64) (index, error) {
	c, ok := newCodec(t)
	if !ok || lossy(t) || t.Kind == catalog.Decimal {
		return nil, nil
	}
	d := &decoder{b: b}
	x := &bitmap{c: c, rows: rows}
	version := d.byte()
	if d.err == nil && version != 1 && version != 2 {
		return nil, errs.Unsupportedf(-1, "bitmap indexes of version %d", version)
	}
	x.v2 = version == 2
	n := int64(d.int32())
	if d.err == nil && n != rows {
		d.fail("it has %d rows, the file %d", n, rows)
	}
	x.values = d.count(1)
	if x.nulls.ok = d.byte() != 0; x.nulls.ok {
		x.nulls.offset = d.int32()
		if x.v2 {
			d.int32()
		}
	}
	if !x.v2 {
		start := d.at
		for i := 0; i < x.values && d.err == nil; i++ {
			c.skip(d)
			d.int32()
		}
		if d.err != nil {
			return nil, d.err
		}
		x.blocks, x.base, x.body = [][]byte{b[start:d.at]}, []int{start}, b[d.at:]
		return x, nil
	}
	blocks := d.count(5)
	x.heads = t.NewVec(blocks)
	offsets := make([]int, 0, blocks+1)
	for i := 0; i < blocks && d.err == nil; i++ {
		c.read(d, x.heads)
		offsets = append(offsets, int(d.int32()))
	}
	offsets = append(offsets, int(d.int32()))
	if d.err != nil {
		return nil, d.err
	}
	rest := b[d.at:]
	for i := range offsets {
		if offsets[i] < 0 || offsets[i] > len(rest) || i > 0 && offsets[i] < offsets[i-1] {
			d.fail("the block at %d of %d bytes", offsets[i], len(rest))
			return nil, d.err
		}
		if i > 0 {
			x.blocks = append(x.blocks, rest[offsets[i-1]:offsets[i]])
			x.base = append(x.base, d.at+offsets[i-1])
		}
	}
	x.body = rest[offsets[blocks]:]
	return x, nil
}

func (x *bitmap) at(r rowRef) (Rows, error) {
	if !r.ok {
		return none(x.rows), nil
	}
	if r.offset < 0 {
		return rowOf(-1-int64(r.offset), x.rows)
	}
	if int(r.offset) > len(x.body) {
		return Rows{}, errs.Corruptf("read a file index: a bitmap at %d of %d bytes", r.offset, len(x.body))
	}
	out, _, err := rowsOf(x.body[r.offset:], x.rows)
	return out, err
}

// find returns where the rows of a value are.
func (x *bitmap) find(v *vector.Vec, i int) (rowRef, error) {
	from, to := 0, len(x.blocks)
	if x.v2 {
		from = sort.Search(x.heads.Len, func(k int) bool { return vector.Compare(x.heads, k, v, i) > 0 }) - 1
		if from < 0 {
			return rowRef{}, nil
		}
		to = from + 1
	}
	scratch := x.c.t.NewVec(1)
	for b := from; b < to; b++ {
		d := &decoder{b: x.blocks[b], base: x.base[b]}
		n := x.values
		if x.v2 {
			n = d.count(9)
		}
		for k := 0; k < n && d.err == nil; k++ {
			scratch.Reset()
			x.c.read(d, scratch)
			r := rowRef{true, d.int32()}
			if x.v2 {
				d.int32()
			}
			if d.err != nil {
				break
			}
			if vector.Compare(scratch, 0, v, i) == 0 {
				return r, nil
			}
		}
		if d.err != nil {
			return rowRef{}, d.err
		}
	}
	return rowRef{}, nil
}

// maxFound bounds the values of an IN list that a bitmap answers for.
const maxFound = 256

func (x *bitmap) match(p *connector.Predicate) (Rows, error) {
	switch p.Op {
	case connector.IsNull:
		return x.at(x.nulls)
	case connector.IsNotNull:
		r, err := x.at(x.nulls)
		if err != nil {
			return Rows{}, err
		}
		return r.not(), nil
	case connector.Eq, connector.In, connector.Ne, connector.NotIn:
	default:
		return Rows{}, nil
	}
	if p.Value.Len == 0 || p.Value.Len > maxFound {
		return Rows{}, nil
	}
	out := none(x.rows)
	for i := range p.Value.Len {
		if loose(p.Value, i) {
			return Rows{}, nil
		}
		ref, err := x.find(p.Value, i)
		if err != nil {
			return Rows{}, err
		}
		r, err := x.at(ref)
		if err != nil {
			return Rows{}, err
		}
		out = out.or(r)
	}
	if p.Op == connector.Eq || p.Op == connector.In {
		return out, nil
	}
	nulls, err := x.at(x.nulls)
	if err != nil {
		return Rows{}, err
	}
	return out.or(nulls).not(), nil
}

// dictionary collects the rows of each value.
type dictionary struct {
	c      codec
	at     map[string]int
	values *vector.Vec
	rows   [][]uint32
	nulls  []uint32
	n      uint32
	bytes  int64
	buf    []byte
}

func newDictionary(c codec) dictionary {
	return dictionary{c: c, at: map[string]int{}, values: c.t.NewVec(0)}
}

func (b *dictionary) Add(v *vector.Vec, from, to int) {
	for i := from; i < to; i++ {
		row := b.n
		b.n++
		b.bytes += 4
		if v.IsNull(i) {
			b.nulls = append(b.nulls, row)
			continue
		}
		b.buf = b.c.append(b.buf[:0], v, i)
		k, ok := b.at[string(b.buf)]
		if !ok {
			k = len(b.rows)
			b.at[string(b.buf)] = k
			b.values.AppendFrom(v, i)
			b.rows = append(b.rows, nil)
			b.bytes += int64(2*len(b.buf)) + 120
		}
		b.rows[k] = append(b.rows[k], row)
	}
}

func (b *dictionary) Bytes() int64 { return 2 * b.bytes }

// sorted returns the values' positions in order.
func (b *dictionary) sorted() []int {
	out := make([]int, len(b.rows))
	for i := range out {
		out[i] = i
	}
	sort.Slice(out, func(i, j int) bool { return vector.Compare(b.values, out[i], b.values, out[j]) < 0 })
	return out
}

type bitmapBuilder struct {
	dictionary
	version int
	block   int
}

func newBitmapBuilder(t catalog.Type, option func(string) string) (Builder, error) {
	version, err := number(option, "version", 2)
	if err != nil {
		return nil, err
	}
	if version != 1 && version != 2 {
		return nil, errs.Unsupportedf(-1, "bitmap indexes of version %d", version)
	}
	block, err := size(option, "index-block-size", 16<<10)
	if err != nil {
		return nil, err
	}
	c, _ := newCodec(t)
	return &bitmapBuilder{newDictionary(c), int(version), int(block)}, nil
}

func (b *bitmapBuilder) Finish() []byte {
	be := binary.BigEndian
	out := append(be.AppendUint32([]byte{byte(b.version)}, b.n), 0, 0, 0, 0, 0)
	be.PutUint32(out[5:], uint32(len(b.rows)))
	var body []byte
	ref := func(rows []uint32) (offset, length int32) {
		if len(rows) == 1 {
			return -1 - int32(rows[0]), -1
		}
		at := len(body)
		body = roaring.Append32(body, rows)
		return int32(at), int32(len(body) - at)
	}
	if len(b.nulls) > 0 {
		out[9] = 1
		offset, length := ref(b.nulls)
		out = be.AppendUint32(out, uint32(offset))
		if b.version == 2 {
			out = be.AppendUint32(out, uint32(length))
		}
	}
	var heads, blocks, block []byte
	n, count := 0, 0
	flush := func() {
		if n > 0 {
			blocks = append(be.AppendUint32(blocks, uint32(n)), block...)
			block, n = block[:0], 0
		}
	}
	for _, k := range b.sorted() {
		value := b.c.append(nil, b.values, k)
		offset, length := ref(b.rows[k])
		if b.version == 1 {
			out = be.AppendUint32(append(out, value...), uint32(offset))
			continue
		}
		if 4+len(block)+len(value)+8 > b.block {
			flush()
		}
		if n == 0 {
			heads = be.AppendUint32(append(heads, value...), uint32(len(blocks)))
			count++
		}
		block = be.AppendUint32(be.AppendUint32(append(block, value...), uint32(offset)), uint32(length))
		n++
	}
	if b.version == 1 {
		return append(out, body...)
	}
	flush()
	out = append(be.AppendUint32(out, uint32(count)), heads...)
	out = be.AppendUint32(out, uint32(len(blocks)))
	return append(append(out, blocks...), body...)
}
