// Package vector holds the columnar batches that every operator, reader and
// writer of Thermocline exchanges (DESIGN D16).
//
// A Batch is up to BatchRows rows of typed columns (Vec), an optional selection
// and optional row kinds. Value buffers follow Arrow's layout: validity bitmaps
// with bit i of word i/64 for row i (1 = valid), little-endian values,
// StringView views, int32 offsets for lists. So a Vec becomes an Arrow array
// without copying; Arrow objects themselves live only at the edges.
//
// Ownership. A batch and its vectors are valid until the producer's next Next
// or Close. Who keeps rows longer copies them (Batch.Clone, Vec.AppendFrom).
// Buffers of string bytes (Vec.Bufs) are never overwritten once a view refers
// to them: a copied view may share them and the garbage collector frees them.
// Value slices may be reused by the producer.
//
// Concurrency. Nothing here locks. A batch belongs to one goroutine at a time.
//
// Start reading at Vec, then Batch.
package vector

import (
	"bytes"
	"encoding/binary"
	"math"
	"unsafe"
)

// BatchRows is the usual number of rows in a batch. Positions fit in uint16.
const BatchRows = 4096

// MaxBatchRows is the most rows a batch may have, so that a selection can
// address all of them.
const MaxBatchRows = 1 << 16

// Kind is the physical type of a vector: which payload slice is live.
type Kind uint8

// The kinds. What they carry depends on the logical type (catalog.Type):
//
//	I8    BOOLEAN as 0 and 1
//	I32   TINYINT, SMALLINT, INT, DATE (days since 1970-01-01), TIME (ms of day)
//	I64   BIGINT (signed, or the bits of an unsigned one), DECIMAL(p<=18) unscaled,
//	      TIMESTAMP and TIMESTAMP_LTZ (p<=6) as microseconds since the epoch,
//	      MySQL TIME as signed microseconds
//	I128  DECIMAL(19..38) unscaled, TIMESTAMP and TIMESTAMP_LTZ (p>6) as nanoseconds
//	I256  DECIMAL(39..65) unscaled (expressions only; no file holds it)
//	Str   CHAR, VARCHAR, STRING, BINARY, VARBINARY, BYTES, JSON text
//	List  ARRAY: Offsets, Children[0] the elements
//	Map   MAP, MULTISET: Offsets, Children[0] the keys, Children[1] the values
//	Struct ROW, VARIANT: one child a field
const (
	Invalid Kind = iota
	I8
	I32
	I64
	I128
	I256
	F32
	F64
	Str
	List
	Map
	Struct
)

var kindNames = [...]string{"invalid", "i8", "i32", "i64", "i128", "i256", "f32", "f64", "str", "list", "map", "struct"}

func (k Kind) String() string { return kindNames[k] }

// Form says how rows map to values.
type Form uint8

const (
	// Flat vectors have one value a row.
	Flat Form = iota
	// Const vectors have one value (position 0) for all rows, possibly NULL.
	Const
	// Dict vectors have a code a row into Dict, which is Flat. Rows are NULL by
	// Valid of the Dict-form vector itself; dictionaries hold no NULL.
	Dict
)

// RowKind is the kind of a change, numbered as Paimon stores it.
type RowKind = uint8

// The row kinds.
const (
	Insert       RowKind = 0 // +I
	UpdateBefore RowKind = 1 // -U
	UpdateAfter  RowKind = 2 // +U
	Delete       RowKind = 3 // -D
)

// RowKindString returns "+I", "-U", "+U" or "-D".
func RowKindString(k RowKind) string { return [...]string{"+I", "-U", "+U", "-D"}[k&3] }

// View is a string value in 16 bytes, laid out as Arrow's StringView:
//
//	len <= 12   | len int32 | up to 12 bytes inline                        |
//	len >  12   | len int32 | 4 byte prefix | buffer int32 | offset int32  |
type View [16]byte

// Len returns the value's length in bytes.
func (v *View) Len() int { return int(binary.LittleEndian.Uint32(v[:4])) }

// Vec is one column of a batch.
//
// Exactly one payload slice is live, chosen by Kind. In Flat form it holds Len
// values; values under a NULL are unspecified (but readable). In Const form it
// holds one. In Dict form it is empty and Codes and Dict are live.
type Vec struct {
	Kind Kind
	Form Form
	Len  int // rows

	// Valid has a bit a row (Const: bit 0 for all rows); nil means no NULL.
	Valid []uint64

	I8s    []int8
	I32s   []int32
	I64s   []int64
	I128s  []Int128
	I256s  []Int256
	F32s   []float32
	F64s   []float64
	Views  []View
	Bufs   [][]byte // string bytes that views of more than 12 bytes point into
	Codes  []uint32 // Dict form
	Dict   *Vec     // Dict form: the distinct values, Flat, no NULL
	Offset []int32  // List, Map: Len+1 offsets into the children
	Child  []*Vec   // List, Map, Struct

	// Lasting says of a dictionary that it never changes, also when its batch is
	// gone, so that who sees the same pointer again knows its values.
	Lasting bool

	arena int // index+1 in Bufs of the buffer that AppendBytes fills; 0 = none
}

// New makes an empty Flat vector with room for n rows. Nested kinds get their
// children from the caller.
func New(kind Kind, n int) *Vec {
	v := &Vec{Kind: kind}
	switch kind {
	case I8:
		v.I8s = make([]int8, 0, n)
	case I32:
		v.I32s = make([]int32, 0, n)
	case I64:
		v.I64s = make([]int64, 0, n)
	case I128:
		v.I128s = make([]Int128, 0, n)
	case I256:
		v.I256s = make([]Int256, 0, n)
	case F32:
		v.F32s = make([]float32, 0, n)
	case F64:
		v.F64s = make([]float64, 0, n)
	case Str:
		v.Views = make([]View, 0, n)
	case List, Map:
		v.Offset = append(make([]int32, 0, n+1), 0)
	}
	return v
}

// NewLike makes an empty Flat vector of v's kind, children included, with room
// for n rows.
func NewLike(v *Vec, n int) *Vec {
	w := New(v.Kind, n)
	for _, c := range v.Child {
		w.Child = append(w.Child, NewLike(c, n))
	}
	return w
}

// NewNull makes a Const vector of n NULLs.
func NewNull(kind Kind, n int) *Vec {
	v := New(kind, 1)
	v.AppendNull()
	v.Form, v.Len = Const, n
	return v
}

// AsConst turns a vector of one row into a Const of n rows, in place.
func (v *Vec) AsConst(n int) *Vec {
	v.Form, v.Len = Const, n
	return v
}

// Reset empties v for reuse as a Flat vector. String buffers are dropped, not
// reused, since views elsewhere may refer to them.
func (v *Vec) Reset() {
	v.Form, v.Len, v.Valid = Flat, 0, nil
	v.I8s, v.I32s, v.I64s, v.I128s, v.I256s = v.I8s[:0], v.I32s[:0], v.I64s[:0], v.I128s[:0], v.I256s[:0]
	v.F32s, v.F64s, v.Views, v.Codes = v.F32s[:0], v.F64s[:0], v.Views[:0], v.Codes[:0]
	v.Bufs, v.arena, v.Dict, v.Lasting = nil, 0, nil, false
	if v.Kind == List || v.Kind == Map {
		v.Offset = append(v.Offset[:0], 0)
	}
	for _, c := range v.Child {
		c.Reset()
	}
}

// At returns the position in the payload (or dictionary) of row i.
func (v *Vec) At(i int) int {
	switch v.Form {
	case Const:
		return 0
	case Dict:
		return int(v.Codes[i])
	}
	return i
}

// Values returns the vector that holds the payload: the dictionary in Dict
// form, v itself otherwise. Index it with At.
func (v *Vec) Values() *Vec {
	if v.Form == Dict {
		return v.Dict
	}
	return v
}

// IsNull reports whether row i is NULL.
func (v *Vec) IsNull(i int) bool {
	if v.Valid == nil {
		return false
	}
	if v.Form == Const {
		i = 0
	}
	return v.Valid[i>>6]&(1<<(i&63)) == 0
}

// HasNulls reports whether any row is NULL.
func (v *Vec) HasNulls() bool { return v.NullCount() > 0 }

// NullCount returns the number of NULL rows.
func (v *Vec) NullCount() int {
	if v.Valid == nil {
		return 0
	}
	if v.Form == Const {
		if v.Valid[0]&1 == 0 {
			return v.Len
		}
		return 0
	}
	return v.Len - CountBits(v.Valid, v.Len)
}

// SetNull marks row i of a Flat or Dict vector as NULL.
func (v *Vec) SetNull(i int) {
	if v.Valid == nil {
		v.Valid = AllValid(v.Len)
	}
	for len(v.Valid) <= i>>6 {
		v.Valid = append(v.Valid, ^uint64(0))
	}
	v.Valid[i>>6] &^= 1 << (i & 63)
}

// AllValid returns a bitmap of n set bits (whole words set).
func AllValid(n int) []uint64 {
	b := make([]uint64, (n+63)/64)
	for i := range b {
		b[i] = ^uint64(0)
	}
	return b
}

// Bytes returns the bytes of row i of a Str vector of any form, without
// copying. They are valid as long as v is not Reset, and must not be changed.
func (v *Vec) Bytes(i int) []byte {
	i = v.At(i)
	return v.Values().viewBytes(i)
}

// String returns a copy of the bytes of row i of a Str vector.
func (v *Vec) String(i int) string { return string(v.Bytes(i)) }

func (v *Vec) viewBytes(i int) []byte { return v.bytesOf(&v.Views[i]) }

// bytesOf returns what a view into v's buffers refers to.
func (v *Vec) bytesOf(w *View) []byte {
	n := w.Len()
	if n <= 12 {
		return w[4 : 4+n : 4+n]
	}
	b := binary.LittleEndian.Uint32(w[8:12])
	o := int(binary.LittleEndian.Uint32(w[12:16]))
	return v.Bufs[b][o : o+n : o+n]
}

// SetView makes row i of a Flat Str vector refer to length bytes at offset of
// Bufs[buf].
func (v *Vec) SetView(i, buf, offset, length int) {
	v.Views[i] = makeView(v.Bufs[buf][offset:offset+length], buf, offset)
}

func makeView(b []byte, buf, offset int) (w View) {
	binary.LittleEndian.PutUint32(w[:4], uint32(len(b)))
	if len(b) <= 12 {
		copy(w[4:], b)
		return w
	}
	copy(w[4:8], b)
	binary.LittleEndian.PutUint32(w[8:12], uint32(buf))
	binary.LittleEndian.PutUint32(w[12:16], uint32(offset))
	return w
}

// grow makes room for one more row in Flat form and marks it valid.
func (v *Vec) grow() {
	if v.Valid != nil {
		i := v.Len
		if i>>6 >= len(v.Valid) {
			v.Valid = append(v.Valid, 0)
		}
		v.Valid[i>>6] |= 1 << (i & 63)
	}
	v.Len++
}

// AppendNull adds a NULL row to a Flat vector.
func (v *Vec) AppendNull() {
	i := v.Len
	if v.Valid == nil {
		v.Valid = AllValid(i + 1)
	}
	v.grow()
	v.Valid[i>>6] &^= 1 << (i & 63)
	switch v.Kind {
	case I8:
		v.I8s = append(v.I8s, 0)
	case I32:
		v.I32s = append(v.I32s, 0)
	case I64:
		v.I64s = append(v.I64s, 0)
	case I128:
		v.I128s = append(v.I128s, Int128{})
	case I256:
		v.I256s = append(v.I256s, Int256{})
	case F32:
		v.F32s = append(v.F32s, 0)
	case F64:
		v.F64s = append(v.F64s, 0)
	case Str:
		v.Views = append(v.Views, View{})
	case List, Map:
		v.Offset = append(v.Offset, v.Offset[len(v.Offset)-1])
	case Struct:
		for _, c := range v.Child {
			c.AppendNull()
		}
	}
}

// AppendI8 adds a row to a Flat I8 vector. The other Append methods do the same
// for their kinds.
func (v *Vec) AppendI8(x int8) { v.grow(); v.I8s = append(v.I8s, x) }

// AppendBool adds 0 or 1 to a Flat I8 vector.
func (v *Vec) AppendBool(x bool) {
	if x {
		v.AppendI8(1)
	} else {
		v.AppendI8(0)
	}
}

// AppendI32 adds a row to a Flat I32 vector.
func (v *Vec) AppendI32(x int32) { v.grow(); v.I32s = append(v.I32s, x) }

// AppendI64 adds a row to a Flat I64 vector.
func (v *Vec) AppendI64(x int64) { v.grow(); v.I64s = append(v.I64s, x) }

// AppendI128 adds a row to a Flat I128 vector.
func (v *Vec) AppendI128(x Int128) { v.grow(); v.I128s = append(v.I128s, x) }

// AppendI256 adds a row to a Flat I256 vector.
func (v *Vec) AppendI256(x Int256) { v.grow(); v.I256s = append(v.I256s, x) }

// AppendF32 adds a row to a Flat F32 vector.
func (v *Vec) AppendF32(x float32) { v.grow(); v.F32s = append(v.F32s, x) }

// AppendF64 adds a row to a Flat F64 vector.
func (v *Vec) AppendF64(x float64) { v.grow(); v.F64s = append(v.F64s, x) }

// AppendBytes adds a row to a Flat Str vector and copies b.
func (v *Vec) AppendBytes(b []byte) {
	v.grow()
	v.Views = append(v.Views, v.store(b))
}

// AppendString is AppendBytes for a string.
func (v *Vec) AppendString(s string) { v.AppendBytes(unsafe.Slice(unsafe.StringData(s), len(s))) }

const arenaBytes = 32 << 10

// store copies b into v's arena and returns its view.
func (v *Vec) store(b []byte) View {
	if len(b) <= 12 {
		return makeView(b, 0, 0)
	}
	if v.arena == 0 || cap(v.Bufs[v.arena-1])-len(v.Bufs[v.arena-1]) < len(b) {
		n := 1 << 10
		if v.arena > 0 {
			n = min(2*cap(v.Bufs[v.arena-1]), arenaBytes)
		}
		v.Bufs = append(v.Bufs, make([]byte, 0, max(n, len(b))))
		v.arena = len(v.Bufs)
	}
	at := v.arena - 1
	off := len(v.Bufs[at])
	v.Bufs[at] = append(v.Bufs[at], b...)
	return makeView(b, at, off)
}

// CloseList ends the row being built in a Flat List or Map vector: its elements
// are what was appended to the children since the row before.
func (v *Vec) CloseList() {
	v.grow()
	v.Offset = append(v.Offset, int32(v.Child[0].Len))
}

// CloseStruct ends the row being built in a Flat Struct vector, after one value
// was appended to each child.
func (v *Vec) CloseStruct() { v.grow() }

// AppendFrom adds row i of src, of any form, to the Flat vector v of the same
// kind, copying string bytes.
func (v *Vec) AppendFrom(src *Vec, i int) {
	if src.IsNull(i) {
		v.AppendNull()
		return
	}
	i = src.At(i)
	src = src.Values()
	switch v.Kind {
	case I8:
		v.AppendI8(src.I8s[i])
	case I32:
		v.AppendI32(src.I32s[i])
	case I64:
		v.AppendI64(src.I64s[i])
	case I128:
		v.AppendI128(src.I128s[i])
	case I256:
		v.AppendI256(src.I256s[i])
	case F32:
		v.AppendF32(src.F32s[i])
	case F64:
		v.AppendF64(src.F64s[i])
	case Str:
		v.AppendBytes(src.viewBytes(i))
	case List, Map:
		for j := src.Offset[i]; j < src.Offset[i+1]; j++ {
			for c := range v.Child {
				v.Child[c].AppendFrom(src.Child[c], int(j))
			}
		}
		v.CloseList()
	case Struct:
		for c := range v.Child {
			v.Child[c].AppendFrom(src.Child[c], i)
		}
		v.CloseStruct()
	}
}

// Flatten returns v in Flat form: v itself, or a copy.
func (v *Vec) Flatten() *Vec {
	if v.Form == Flat {
		return v
	}
	w := NewLike(v.Values(), v.Len)
	w.AppendRows(v, nil)
	return w
}

// Gather returns a new vector of the rows of v at sel, in that order. Const
// stays Const and Dict stays Dict; string bytes are shared, not copied.
func (v *Vec) Gather(sel []uint16) *Vec {
	n := len(sel)
	w := &Vec{Kind: v.Kind, Form: v.Form, Len: n}
	if v.Form == Const {
		*w = *v
		w.Len = n
		return w
	}
	if v.Valid != nil {
		w.Valid = make([]uint64, (n+63)/64)
		for o, i := range sel {
			w.Valid[o>>6] |= (v.Valid[i>>6] >> (i & 63) & 1) << (o & 63)
		}
	}
	if v.Form == Dict {
		w.Codes, w.Dict = gather(v.Codes, sel), v.Dict
		return w
	}
	switch v.Kind {
	case I8:
		w.I8s = gather(v.I8s, sel)
	case I32:
		w.I32s = gather(v.I32s, sel)
	case I64:
		w.I64s = gather(v.I64s, sel)
	case I128:
		w.I128s = gather(v.I128s, sel)
	case I256:
		w.I256s = gather(v.I256s, sel)
	case F32:
		w.F32s = gather(v.F32s, sel)
	case F64:
		w.F64s = gather(v.F64s, sel)
	case Str:
		w.Views, w.Bufs = gather(v.Views, sel), v.Bufs
	case Struct:
		for _, c := range v.Child {
			w.Child = append(w.Child, c.Gather(sel))
		}
	default:
		w = NewLike(v, n)
		w.AppendRows(v, sel)
	}
	return w
}

func gather[T any](src []T, sel []uint16) []T {
	dst := make([]T, len(sel))
	for o, i := range sel {
		dst[o] = src[i]
	}
	return dst
}

// Bytesize returns the bytes of memory that v's buffers occupy, shared
// dictionaries and string buffers included.
func (v *Vec) Bytesize() int64 {
	n := int64(cap(v.Valid)*8 + cap(v.I8s) + cap(v.I32s)*4 + cap(v.I64s)*8 + cap(v.I128s)*16 + cap(v.I256s)*32 +
		cap(v.F32s)*4 + cap(v.F64s)*8 + cap(v.Views)*16 + cap(v.Codes)*4 + cap(v.Offset)*4)
	for _, b := range v.Bufs {
		n += int64(cap(b))
	}
	if v.Dict != nil {
		n += v.Dict.Bytesize()
	}
	for _, c := range v.Child {
		n += c.Bytesize()
	}
	return n
}

// CountBits returns the number of set bits among the first n.
func CountBits(words []uint64, n int) int {
	c := 0
	for i := 0; i < n>>6; i++ {
		c += popcount(words[i])
	}
	if r := n & 63; r != 0 {
		c += popcount(words[n>>6] & (1<<r - 1))
	}
	return c
}

// Compare orders row i of a against row j of b, vectors of one kind and any
// form: NULL first, numbers by value, floats as Java's Double.compare (-0 < 0,
// NaN last), strings as unsigned bytes. It is Paimon's key order. Nested kinds
// compare element by element.
func Compare(a *Vec, i int, b *Vec, j int) int {
	an, bn := a.IsNull(i), b.IsNull(j)
	if an || bn {
		switch {
		case an && bn:
			return 0
		case an:
			return -1
		}
		return 1
	}
	i, j = a.At(i), b.At(j)
	a, b = a.Values(), b.Values()
	switch a.Kind {
	case I8:
		return cmp(a.I8s[i], b.I8s[j])
	case I32:
		return cmp(a.I32s[i], b.I32s[j])
	case I64:
		return cmp(a.I64s[i], b.I64s[j])
	case I128:
		return a.I128s[i].Cmp(b.I128s[j])
	case I256:
		return a.I256s[i].Cmp(b.I256s[j])
	case F32:
		return CompareF64(float64(a.F32s[i]), float64(b.F32s[j]))
	case F64:
		return CompareF64(a.F64s[i], b.F64s[j])
	case Str:
		return bytes.Compare(a.viewBytes(i), b.viewBytes(j))
	case List, Map:
		al, bl := int(a.Offset[i+1]-a.Offset[i]), int(b.Offset[j+1]-b.Offset[j])
		for k := range min(al, bl) {
			for c := range a.Child {
				if r := Compare(a.Child[c], int(a.Offset[i])+k, b.Child[c], int(b.Offset[j])+k); r != 0 {
					return r
				}
			}
		}
		return cmp(int64(al), int64(bl))
	case Struct:
		for c := range a.Child {
			if r := Compare(a.Child[c], i, b.Child[c], j); r != 0 {
				return r
			}
		}
	}
	return 0
}

// CompareF64 is Java's Double.compare.
func CompareF64(x, y float64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	bits := func(f float64) int64 {
		if math.IsNaN(f) {
			return 0x7ff8000000000000
		}
		return int64(math.Float64bits(f))
	}
	return cmp(bits(x), bits(y))
}

func cmp[T int8 | int32 | int64](x, y T) int {
	if x < y {
		return -1
	}
	if x > y {
		return 1
	}
	return 0
}
