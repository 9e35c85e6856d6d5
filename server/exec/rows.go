package exec

import (
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// account reserves the memory of one growing structure in blocks. It belongs to
// one goroutine.
type account struct {
	pays *memory.Budget
	held int64
}

// block is the least that a large structure reserves at once, so that the
// budget's counters are touched rarely; small ones double.
const block = 64 << 10

// hold makes the reservation cover n bytes.
func (a *account) hold(n int64) error {
	if n <= a.held {
		return nil
	}
	more := max(n-a.held, min(block, max(a.held, 4<<10)))
	if err := a.pays.Reserve(more); err != nil {
		return err
	}
	a.held += more
	return nil
}

// fit makes the reservation cover n bytes and little more.
func (a *account) fit(n int64) error {
	if over := a.held - n; over > block {
		a.pays.Release(over)
		a.held -= over
	}
	return a.hold(n)
}

// free gives everything back.
func (a *account) free() {
	a.pays.Release(a.held)
	a.held = 0
}

// rowStore holds copies of rows in Flat columns of any length. Its vectors are
// longer than a batch may be: read them through take.
type rowStore struct {
	cols    []*vector.Vec
	n       int
	strings int64 // bytes of strings longer than a view holds
}

// add appends the rows of cols at sel, or the first n rows when sel is nil.
func (s *rowStore) add(cols []*vector.Vec, sel []uint16, n int) {
	if s.cols == nil && len(cols) > 0 {
		s.cols = make([]*vector.Vec, len(cols))
		for i, c := range cols {
			s.cols[i] = vector.NewLike(c.Values(), n)
		}
	}
	for i, c := range cols {
		s.strings += appendVec(s.cols[i], c, sel, n)
	}
	s.n += n
}

// merge appends the rows of another store, which must not be used afterwards: bytes of
// strings are shared.
func (s *rowStore) merge(o *rowStore) {
	if s.n == 0 {
		*s = *o
		return
	}
	for i, c := range o.cols {
		s.cols[i].AppendRange(c, 0, o.n, s.cols[i].ShareBufs(c))
	}
	s.strings += o.strings
	s.n += o.n
}

// bytes is the memory held.
func (s *rowStore) bytes() int64 {
	n := s.strings
	for _, c := range s.cols {
		n += fixedBytes(c)
	}
	return n
}

// fixedBytes is the memory of a Flat vector without the bytes of long strings.
func fixedBytes(v *vector.Vec) int64 {
	n := int64(cap(v.Valid)*8 + cap(v.I8s) + cap(v.I32s)*4 + cap(v.I64s)*8 + cap(v.I128s)*16 + cap(v.I256s)*32 +
		cap(v.F32s)*4 + cap(v.F64s)*8 + cap(v.Views)*16 + cap(v.Offset)*4)
	for _, c := range v.Child {
		n += c.Bytesize()
	}
	return n
}

// appendVec appends rows of src, of any form, to the Flat vector dst of the same
// kind and returns the bytes of long strings it copied.
func appendVec(dst, src *vector.Vec, sel []uint16, n int) int64 {
	if n == 0 {
		return 0
	}
	if dst.Kind >= vector.Str {
		return appendStrings(dst, src, sel, n)
	}
	at := dst.Len
	val, pos := src.Values(), positions{src, sel}
	switch dst.Kind {
	case vector.I8:
		dst.I8s = appendValues(dst.I8s, val.I8s, pos, n)
	case vector.I32:
		dst.I32s = appendValues(dst.I32s, val.I32s, pos, n)
	case vector.I64:
		dst.I64s = appendValues(dst.I64s, val.I64s, pos, n)
	case vector.I128:
		dst.I128s = appendValues(dst.I128s, val.I128s, pos, n)
	case vector.I256:
		dst.I256s = appendValues(dst.I256s, val.I256s, pos, n)
	case vector.F32:
		dst.F32s = appendValues(dst.F32s, val.F32s, pos, n)
	case vector.F64:
		dst.F64s = appendValues(dst.F64s, val.F64s, pos, n)
	}
	dst.Len += n
	appendValid(dst, at, src, sel, n)
	return 0
}

// appendStrings is appendVec for strings and nested kinds.
func appendStrings(dst, src *vector.Vec, sel []uint16, n int) (long int64) {
	if sel != nil {
		sel = sel[:n]
	}
	if dst.Kind == vector.Str && (sel != nil || src.Form == vector.Flat && src.Len == n) {
		at := dst.Len
		dst.AppendRows(src, sel)
		for i := range dst.Views[at:] {
			if l := dst.Views[at+i].Len(); l > 12 {
				long += int64(l)
			}
		}
		return long
	}
	for k := range n {
		i := k
		if sel != nil {
			i = int(sel[k])
		}
		dst.AppendFrom(src, i)
		if dst.Kind == vector.Str && !src.IsNull(i) {
			if l := dst.Views[dst.Len-1].Len(); l > 12 {
				long += int64(l)
			}
		}
	}
	return long
}

// positions maps the k-th row to the position of its value.
type positions struct {
	v   *vector.Vec
	sel []uint16
}

func appendValues[T any](dst, src []T, p positions, n int) []T {
	switch {
	case p.v.Form == vector.Const:
		for range n {
			dst = append(dst, src[0])
		}
	case p.v.Form == vector.Dict && p.sel == nil:
		for _, c := range p.v.Codes[:n] {
			dst = append(dst, dictValue(src, c))
		}
	case p.v.Form == vector.Dict:
		for _, i := range p.sel[:n] {
			dst = append(dst, dictValue(src, p.v.Codes[i]))
		}
	case p.sel == nil:
		dst = append(dst, src[:n]...)
	default:
		for _, i := range p.sel[:n] {
			dst = append(dst, src[i])
		}
	}
	return dst
}

// dictValue returns a dictionary's value; rows that are NULL may have any code.
func dictValue[T any](values []T, code uint32) (x T) {
	if int(code) < len(values) {
		return values[code]
	}
	return x
}

// appendValid brings dst.Valid up to date after n rows were appended at at.
func appendValid(dst *vector.Vec, at int, src *vector.Vec, sel []uint16, n int) {
	if src.Valid == nil && dst.Valid == nil {
		return
	}
	if dst.Valid == nil {
		dst.Valid = vector.AllValid(at)
	}
	for len(dst.Valid)*64 < at+n {
		dst.Valid = append(dst.Valid, 0)
	}
	for k := range n {
		i := k
		if sel != nil {
			i = int(sel[k])
		}
		bit := uint64(1) << ((at + k) & 63)
		if src.IsNull(i) {
			dst.Valid[(at+k)>>6] &^= bit
		} else {
			dst.Valid[(at+k)>>6] |= bit
		}
	}
}

// take returns the rows of the Flat vector v at idx, where -1 is NULL. Strings
// share their bytes with v.
func take(v *vector.Vec, idx []int32) *vector.Vec {
	n := len(idx)
	w := &vector.Vec{Kind: v.Kind, Len: n}
	nulls := v.Valid != nil
	for _, i := range idx {
		if i < 0 {
			nulls = true
			break
		}
	}
	switch v.Kind {
	case vector.I8:
		w.I8s = takeValues(v.I8s, idx)
	case vector.I32:
		w.I32s = takeValues(v.I32s, idx)
	case vector.I64:
		w.I64s = takeValues(v.I64s, idx)
	case vector.I128:
		w.I128s = takeValues(v.I128s, idx)
	case vector.I256:
		w.I256s = takeValues(v.I256s, idx)
	case vector.F32:
		w.F32s = takeValues(v.F32s, idx)
	case vector.F64:
		w.F64s = takeValues(v.F64s, idx)
	case vector.Str:
		w.Views, w.Bufs = takeValues(v.Views, idx), v.Bufs
	default:
		w = vector.NewLike(v, n)
		for _, i := range idx {
			if i < 0 {
				w.AppendNull()
			} else {
				w.AppendFrom(v, int(i))
			}
		}
		return w
	}
	if nulls {
		w.Valid = vector.AllValid(n)
		for k, i := range idx {
			if i < 0 || v.IsNull(int(i)) {
				w.Valid[k>>6] &^= 1 << (k & 63)
			}
		}
	}
	return w
}

func takeValues[T any](src []T, idx []int32) []T {
	dst := make([]T, len(idx))
	for k, i := range idx {
		if i >= 0 {
			dst[k] = src[i]
		}
	}
	return dst
}

// shareValues gives w the values of the rows from to before to of the Flat vector v,
// which it shares, without its NULLs. false: v's kind has parts that cannot be shared.
func shareValues(w, v *vector.Vec, from, to int) bool {
	*w = vector.Vec{Kind: v.Kind, Len: to - from}
	switch v.Kind {
	case vector.I8:
		w.I8s = v.I8s[from:to]
	case vector.I32:
		w.I32s = v.I32s[from:to]
	case vector.I64:
		w.I64s = v.I64s[from:to]
	case vector.I128:
		w.I128s = v.I128s[from:to]
	case vector.I256:
		w.I256s = v.I256s[from:to]
	case vector.F32:
		w.F32s = v.F32s[from:to]
	case vector.F64:
		w.F64s = v.F64s[from:to]
	case vector.Str:
		w.Views, w.Bufs = v.Views[from:to], v.Bufs
	default:
		return false
	}
	return true
}

// window returns the rows from to before to of the Flat vector v, which it shares;
// from is a multiple of 64.
func window(v *vector.Vec, from, to int) *vector.Vec {
	w := &vector.Vec{}
	if !shareValues(w, v, from, to) {
		return take(v, sequence(nil, from, to))
	}
	if v.Valid != nil {
		w.Valid = v.Valid[from/64 : (to+63)/64]
	}
	return w
}

// sequence fills idx with from, from+1, … to-1.
func sequence(idx []int32, from, to int) []int32 {
	idx = idx[:0]
	for i := from; i < to; i++ {
		idx = append(idx, int32(i))
	}
	return idx
}

// copyBatch copies the rows of b, into the vectors of an older copy that is needed
// no more, nil: of none. Dictionaries that last stay dictionaries, which the copy
// refers to.
func copyBatch(old *vector.Batch, b *vector.Batch) *vector.Batch {
	n := b.Rows()
	out := &vector.Batch{Len: n, Seq: -1, Cols: make([]*vector.Vec, len(b.Cols))}
	for i, c := range b.Cols {
		if c == nil {
			continue
		}
		var w *vector.Vec
		if old != nil && i < len(old.Cols) && old.Cols[i] != nil && old.Cols[i].Kind == c.Kind {
			w = old.Cols[i]
			w.Reset()
		}
		switch {
		case c.Form == vector.Const:
			if w == nil {
				w = vector.NewLike(c, 1)
			}
			w.AppendFrom(c, 0)
			w.AsConst(n)
		case c.Form == vector.Dict && c.Dict.Lasting:
			if w == nil {
				w = &vector.Vec{Kind: c.Kind}
			}
			w.Form, w.Dict = vector.Dict, c.Dict
			if w.Len = n; b.Sel == nil {
				w.Codes = append(w.Codes, c.Codes[:n]...)
			} else {
				for _, i := range b.Sel {
					w.Codes = append(w.Codes, c.Codes[i])
				}
			}
			appendValid(w, 0, c, b.Sel, n)
		default:
			if w == nil {
				w = vector.NewLike(c.Values(), n)
			}
			appendVec(w, c, b.Sel, n)
		}
		out.Cols[i] = w
	}
	return out
}

// batchBytes is the memory of a batch made by copyBatch.
func batchBytes(b *vector.Batch) (n int64) {
	for _, c := range b.Cols {
		if c != nil {
			n += c.Bytesize()
		}
	}
	return n
}
