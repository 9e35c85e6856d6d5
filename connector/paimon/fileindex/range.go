package fileindex

import (
	"encoding/binary"
	"math/bits"
	"sort"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/roaring"
	"github.com/thermocline/thermocline/internal/vector"
)

// rangeBitmap has a sorted dictionary of the values, and the rows' codes in it
// by bits:
//
//	int32 length | byte 1 | int32 rows | int32 values | [least value | largest value] | int32 dictionary's length
//	dictionary  int32 length | byte 1 | int32 chunks | int32 length of offsets | int32 length of heads
//	            int32 offset of the head × chunks | heads | keys
//	head        byte 1 | first value | int32 its code | int32 offset of the other keys | int32 their number
//	            values of one width: int32 length of the keys | int32 width
//	            texts: int32 length of the offsets | int32 length of the keys
//	keys        texts only: int32 offset × number; then the values
//	codes       int32 length | byte 1 | byte slices | int32 length of the rows | int32 length of the places
//	            (int32 offset, int32 length) × slices | bitmap of the rows | bitmap × slices
type rangeBitmap struct {
	c      codec
	rows   int64
	chunks []chunk
	heads  *vector.Vec // the chunks' first values
	codes  slices
}

// chunk is a part of the dictionary.
type chunk struct {
	code int // of its first value
	n    int // further values
	keys []byte
	base int
}

// section reads an int32 length and what it counts.
func (d *decoder) section() *decoder {
	n := int(d.int32())
	base := d.base + d.at
	return &decoder{b: d.take(n), base: base, err: d.err}
}

func openRange(b []byte, t catalog.Type, rows int64) (index, error) {
	c, ok := newCodec(t)
	if !ok || lossy(t) {
		return nil, nil
	}
	d := &decoder{b: b}
	h := d.section()
	if v := h.byte(); h.err == nil && v != 1 {
		return nil, errs.Unsupportedf(-1, "range-bitmap indexes of version %d", v)
	}
	if n := int64(h.int32()); h.err == nil && n != rows {
		h.fail("it has %d rows, the file %d", n, rows)
	}
	x := &rangeBitmap{c: c, rows: rows}
	values := int(h.int32())
	if h.err == nil && (values < 0 || values > len(b)) {
		h.fail("%d values", values)
	}
	if values > 0 {
		c.skip(h)
		c.skip(h)
	}
	n := int(h.int32())
	if h.err != nil {
		return nil, h.err
	}
	dict := &decoder{base: d.at, b: d.take(n), err: d.err}
	x.readDictionary(dict, values)
	if dict.err != nil {
		return nil, dict.err
	}
	x.readCodes(d, values)
	if d.err != nil {
		return nil, d.err
	}
	return x, nil
}

func (x *rangeBitmap) readDictionary(d *decoder, values int) {
	h := d.section()
	if v := h.byte(); h.err == nil && v != 1 {
		h.err = errs.Unsupportedf(-1, "dictionaries of version %d", v)
	}
	chunks, offsets, heads := int(h.int32()), int(h.int32()), int(h.int32())
	if h.err == nil && (chunks < 0 || offsets != 4*chunks) {
		h.fail("%d chunks with %d bytes of offsets", chunks, offsets)
	}
	if d.err = h.err; d.err != nil {
		return
	}
	d.take(offsets)
	hd := &decoder{base: d.base + d.at, b: d.take(heads), err: d.err}
	keys := d.b[d.at:]
	keysAt := d.base + d.at
	x.heads = x.c.t.NewVec(min(chunks, len(hd.b)))
	code := 0
	for i := 0; i < chunks && hd.err == nil; i++ {
		if v := hd.byte(); hd.err == nil && v != 1 {
			hd.err = errs.Unsupportedf(-1, "dictionary chunks of version %d", v)
		}
		x.c.read(hd, x.heads)
		k := chunk{code: int(hd.int32())}
		at := int(hd.int32())
		k.n = int(hd.int32())
		length := int(hd.int32())
		if second := int(hd.int32()); x.c.width == 0 {
			if hd.err == nil && (length < 0 || length != 4*k.n || second < 0) {
				hd.fail("a chunk of %d keys with %d bytes of offsets", k.n, length)
			}
			length += second
		} else if hd.err == nil && (second != x.c.width || length != k.n*second) {
			hd.fail("a chunk of %d keys of %d bytes in %d", k.n, second, length)
		}
		if hd.err == nil && (k.code != code || k.n < 0 || k.n > values || at < 0 || at > len(keys) || length < 0 || length > len(keys)-at) {
			hd.fail("the chunk at byte %d lies outside the dictionary", hd.base+hd.at)
		}
		if hd.err != nil {
			break
		}
		if i > 0 && vector.Compare(x.heads, i-1, x.heads, i) >= 0 {
			hd.fail("the dictionary's chunks do not ascend")
		}
		k.keys, k.base = keys[at:at+length], keysAt+at
		if x.c.width == 0 {
			k.keys, k.base = k.keys[4*k.n:], k.base+4*k.n
		}
		code += 1 + k.n
		x.chunks = append(x.chunks, k)
	}
	if hd.err == nil && code != values {
		hd.fail("a dictionary of %d values where %d should be", code, values)
	}
	d.err = hd.err
}

func (x *rangeBitmap) readCodes(d *decoder, values int) {
	if d.err != nil {
		return
	}
	h := d.section()
	if v := h.byte(); h.err == nil && v != 1 {
		h.err = errs.Unsupportedf(-1, "bit slices of version %d", v)
	}
	n := int(h.byte())
	existence, places := int(h.int32()), int(h.int32())
	if h.err == nil && (n > 64 || places != 8*n) {
		h.fail("%d bit slices with %d bytes of places", n, places)
	}
	at := make([][2]int, n)
	for i := range at {
		at[i] = [2]int{int(h.int32()), int(h.int32())}
	}
	if d.err = h.err; d.err != nil {
		return
	}
	e := &decoder{base: d.base + d.at, b: d.take(existence), err: d.err}
	x.codes.rows = e.rows(x.rows)
	if d.err = e.err; d.err != nil {
		return
	}
	if values == 0 {
		x.codes.min = 1 // no row has a code
		if !x.codes.rows.None() {
			d.fail("rows have values, the dictionary has none")
		}
		return
	}
	x.codes.max = uint64(values - 1)
	body := d.b[d.at:]
	for _, p := range at {
		if p[0] < 0 || p[1] < 0 || p[0] > len(body) || p[1] > len(body)-p[0] {
			d.fail("a bit slice of %d bytes at %d of %d", p[1], p[0], len(body))
			return
		}
		s := &decoder{base: d.base + d.at + p[0], b: body[p[0] : p[0]+p[1]]}
		x.codes.bits = append(x.codes.bits, s.rows(x.rows))
		if s.err != nil {
			d.err = s.err
			return
		}
	}
}

func (x *rangeBitmap) match(p *connector.Predicate) (Rows, error) { return matchOrdered(x, p) }

func (x *rangeBitmap) notNull() (Rows, error) { return x.codes.rows, nil }

// find returns the code of a value, or with false that of the first larger one.
func (x *rangeBitmap) find(v *vector.Vec, i int) (code int, ok bool, err error) {
	at := sort.Search(len(x.chunks), func(k int) bool { return vector.Compare(x.heads, k, v, i) > 0 }) - 1
	if at < 0 {
		return 0, false, nil
	}
	if vector.Compare(x.heads, at, v, i) == 0 {
		return x.chunks[at].code, true, nil
	}
	c := &x.chunks[at]
	d := &decoder{b: c.keys, base: c.base}
	scratch := x.c.t.NewVec(1)
	for k := range c.n {
		scratch.Reset()
		x.c.read(d, scratch)
		if d.err != nil {
			return 0, false, d.err
		}
		if o := vector.Compare(scratch, 0, v, i); o >= 0 {
			return c.code + 1 + k, o == 0, nil
		}
	}
	return c.code + 1 + c.n, false, nil
}

func (x *rangeBitmap) compare(v *vector.Vec, i int) (order, error) {
	code, ok, err := x.find(v, i)
	if err != nil {
		return order{}, err
	}
	o := x.codes.compare(uint64(code))
	if !ok {
		o.equal, o.greater = none(x.rows), o.greater.or(o.equal)
	}
	return o, nil
}

type rangeBuilder struct {
	dictionary
	chunk int
}

func newRangeBuilder(t catalog.Type, option func(string) string) (Builder, error) {
	chunk, err := size(option, "chunk-size", 16<<10)
	if err != nil {
		return nil, err
	}
	c, _ := newCodec(t)
	return &rangeBuilder{newDictionary(c), int(chunk)}, nil
}

func (b *rangeBuilder) Finish() []byte {
	be := binary.BigEndian
	sorted := b.sorted()
	codes := make([]uint64, b.n)
	var rows []uint32
	for code, k := range sorted {
		for _, r := range b.rows[k] {
			codes[r] = uint64(code)
		}
		rows = append(rows, b.rows[k]...)
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i] < rows[j] })
	numbers := make([]uint64, len(rows))
	for i, r := range rows {
		numbers[i] = codes[r]
	}

	dict := b.dictionaryBytes(sorted)
	head := append(be.AppendUint32([]byte{1}, b.n), 0, 0, 0, 0)
	be.PutUint32(head[5:], uint32(len(sorted)))
	n := max(bits.Len(uint(max(len(sorted)-1, 0))), 1)
	if len(sorted) > 0 {
		head = b.c.append(head, b.values, sorted[0])
		head = b.c.append(head, b.values, sorted[len(sorted)-1])
	}
	head = be.AppendUint32(head, uint32(len(dict)))
	out := append(be.AppendUint32(nil, uint32(len(head))), head...)
	out = append(out, dict...)

	existence := roaring.Append32(nil, rows)
	var places, body []byte
	for k := range n {
		at := len(body)
		body = roaring.Append32(body, withBit(rows, numbers, k))
		places = be.AppendUint32(be.AppendUint32(places, uint32(at)), uint32(len(body)-at))
	}
	head = be.AppendUint32([]byte{1, byte(n)}, uint32(len(existence)))
	head = append(be.AppendUint32(head, uint32(len(places))), places...)
	out = append(be.AppendUint32(out, uint32(len(head))), head...)
	return append(append(out, existence...), body...)
}

// dictionaryBytes writes the values in order, cut into chunks of about the wanted size.
func (b *rangeBuilder) dictionaryBytes(sorted []int) []byte {
	be := binary.BigEndian
	var offsets, heads, keys []byte
	chunks := 0
	for i := 0; i < len(sorted); {
		offsets = be.AppendUint32(offsets, uint32(len(heads)))
		heads = b.c.append(append(heads, 1), b.values, sorted[i])
		heads = be.AppendUint32(heads, uint32(i))
		heads = be.AppendUint32(heads, uint32(len(keys)))
		var at, part []byte
		n := 0
		for i++; i < len(sorted) && len(at)+len(part) < b.chunk; i++ {
			if b.c.width == 0 {
				at = be.AppendUint32(at, uint32(len(part)))
			}
			part = b.c.append(part, b.values, sorted[i])
			n++
		}
		heads = be.AppendUint32(heads, uint32(n))
		if b.c.width == 0 {
			heads = be.AppendUint32(be.AppendUint32(heads, uint32(len(at))), uint32(len(part)))
		} else {
			heads = be.AppendUint32(be.AppendUint32(heads, uint32(len(part))), uint32(b.c.width))
		}
		keys = append(append(keys, at...), part...)
		chunks++
	}
	head := be.AppendUint32([]byte{1}, uint32(chunks))
	head = be.AppendUint32(be.AppendUint32(head, uint32(len(offsets))), uint32(len(heads)))
	out := append(be.AppendUint32(nil, uint32(len(head))), head...)
	return append(append(append(out, offsets...), heads...), keys...)
}
