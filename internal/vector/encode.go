package vector

import (
	"encoding/binary"
	"unsafe"

	"github.com/thermocline/thermocline/internal/errs"
)

// Batches in temporary files of this process (spilled runs): raw columns, each
// part from a multiple of eight bytes on, in the byte order of the machine, so
// that decoding copies nothing.
//
//	batch   rows u32 | columns u32 | kinds u64: 0 or 1 | [a byte a row] | column…
//	column  kind u8 | valid u8: 0 or 1 | children u8 | 0 | rows u32 | [a bit a row, in words] | payload
//	payload numbers: the values
//	        Str: bytes u64 | views, those of more than 12 bytes with buffer 0 | the bytes
//	        List, Map: rows+1 offsets | children
//	        Struct: children

// AppendEncoded appends the rows of b that count to dst. Decode reads them.
func (b *Batch) AppendEncoded(dst []byte) []byte {
	b = b.Compact()
	dst = binary.LittleEndian.AppendUint32(dst, uint32(b.Len))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b.Cols)))
	kinds := uint64(0)
	if b.Kinds != nil {
		kinds = 1
	}
	dst = binary.LittleEndian.AppendUint64(dst, kinds)
	if b.Kinds != nil {
		dst = pad(append(dst, b.Kinds[:b.Len]...))
	}
	for _, v := range b.Cols {
		dst = v.appendEncoded(dst, b.Len)
	}
	return dst
}

func (v *Vec) appendEncoded(dst []byte, n int) []byte {
	v = v.Flatten()
	valid := byte(0)
	if v.Valid != nil {
		valid = 1
	}
	dst = append(dst, byte(v.Kind), valid, byte(len(v.Child)), 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	if v.Valid != nil {
		dst = appendRaw(dst, v.Valid[:(n+63)/64])
	}
	switch v.Kind {
	case I8:
		dst = appendRaw(dst, v.I8s[:n])
	case I32:
		dst = appendRaw(dst, v.I32s[:n])
	case I64:
		dst = appendRaw(dst, v.I64s[:n])
	case I128:
		dst = appendRaw(dst, v.I128s[:n])
	case I256:
		dst = appendRaw(dst, v.I256s[:n])
	case F32:
		dst = appendRaw(dst, v.F32s[:n])
	case F64:
		dst = appendRaw(dst, v.F64s[:n])
	case Str:
		dst = v.appendText(dst, n)
	case List, Map:
		dst = appendRaw(dst, v.Offset[:n+1])
		n = int(v.Offset[n])
	}
	for _, c := range v.Child {
		dst = c.appendEncoded(dst, n)
	}
	return dst
}

func (v *Vec) appendText(dst []byte, n int) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, 8+16*n)...)
	views := at + 8
	from := len(dst)
	for i := range n {
		w := v.Views[i]
		switch {
		case v.IsNull(i):
			w = View{}
		case w.Len() > 12:
			b := v.bytesOf(&w)
			w = makeView(b, 0, len(dst)-from)
			dst = append(dst, b...)
		}
		copy(dst[views+16*i:], w[:])
	}
	binary.LittleEndian.PutUint64(dst[at:], uint64(len(dst)-from))
	return pad(dst)
}

func pad(dst []byte) []byte {
	for len(dst)%8 != 0 {
		dst = append(dst, 0)
	}
	return dst
}

func appendRaw[T any](dst []byte, x []T) []byte {
	if len(x) > 0 {
		dst = append(dst, unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))...)
	}
	return pad(dst)
}

// AlignedBytes makes n bytes whose first has an address that Decode likes.
func AlignedBytes(n int) []byte {
	if n == 0 {
		return nil
	}
	w := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&w[0])), n)
}

// Decode reads a batch that AppendEncoded wrote at the beginning of dst. The batch
// refers to buf, which is not changed any more; make it by AlignedBytes, or it is
// copied. Errors are of class Corruption.
func Decode(buf []byte) (*Batch, error) {
	if len(buf) > 0 && uintptr(unsafe.Pointer(&buf[0]))%8 != 0 {
		c := AlignedBytes(len(buf))
		copy(c, buf)
		buf = c
	}
	d := decoder{buf: buf}
	n, cols, kinds := d.u32(), d.u32(), d.u64()
	b := &Batch{Len: int(n), Seq: -1}
	if n > MaxBatchRows || kinds > 1 {
		d.bad = true
	}
	if kinds == 1 {
		b.Kinds = raw[RowKind](&d, b.Len)
		for _, k := range b.Kinds {
			d.bad = d.bad || k > Delete
		}
	}
	for i := uint32(0); i < cols && !d.bad; i++ {
		b.Cols = append(b.Cols, d.column(b.Len, 0))
	}
	if d.bad {
		return nil, errs.Corruptf("decode spilled rows: the bytes are damaged")
	}
	return b, nil
}

type decoder struct {
	buf []byte
	at  int
	bad bool
}

func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.buf)-d.at {
		d.bad = true
		return nil
	}
	b := d.buf[d.at : d.at+n : d.at+n]
	d.at += n
	return b
}

func (d *decoder) u32() uint32 {
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// raw returns n values and goes on to a multiple of eight bytes.
func raw[T any](d *decoder, n int) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if n < 0 || n > len(d.buf) {
		d.bad = true
	}
	b := d.take(n * size)
	if r := len(b) % 8; r != 0 {
		d.take(8 - r)
	}
	if d.bad || n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

// maxDepth bounds how deep types nest.
const maxDepth = 64

func (d *decoder) column(n, depth int) *Vec {
	head := d.take(4)
	if rows := d.u32(); d.bad || int(rows) != n || depth > maxDepth {
		d.bad = true
		return nil
	}
	v := &Vec{Kind: Kind(head[0]), Len: n}
	if head[1] == 1 {
		v.Valid = raw[uint64](d, (n+63)/64)
		if n == 0 {
			v.Valid = []uint64{}
		}
	}
	children := 0
	switch v.Kind {
	case I8:
		v.I8s = raw[int8](d, n)
	case I32:
		v.I32s = raw[int32](d, n)
	case I64:
		v.I64s = raw[int64](d, n)
	case I128:
		v.I128s = raw[Int128](d, n)
	case I256:
		v.I256s = raw[Int256](d, n)
	case F32:
		v.F32s = raw[float32](d, n)
	case F64:
		v.F64s = raw[float64](d, n)
	case Str:
		d.text(v, n)
	case List, Map:
		v.Offset = raw[int32](d, n+1)
		if d.bad || v.Offset[0] < 0 {
			d.bad = true
			return nil
		}
		for i := range n {
			d.bad = d.bad || v.Offset[i+1] < v.Offset[i]
		}
		children = 1 + int(v.Kind-List)
		n = int(v.Offset[n])
	case Struct:
		children = int(head[2])
	default:
		d.bad = true
	}
	if children != int(head[2]) {
		d.bad = true
	}
	for i := 0; i < children && !d.bad; i++ {
		v.Child = append(v.Child, d.column(n, depth+1))
	}
	return v
}

func (d *decoder) text(v *Vec, n int) {
	size := d.u64()
	v.Views = raw[View](d, n)
	if size > uint64(len(d.buf)) {
		d.bad = true
	}
	if d.bad {
		return
	}
	b := raw[byte](d, int(size))
	v.Bufs = [][]byte{b}
	for i := range v.Views {
		w := &v.Views[i]
		if k := w.Len(); k > 12 {
			o := uint64(binary.LittleEndian.Uint32(w[12:16]))
			if binary.LittleEndian.Uint32(w[8:12]) != 0 || o+uint64(k) > uint64(len(b)) {
				d.bad = true
				return
			}
		} else if k < 0 {
			d.bad = true
			return
		}
	}
}
