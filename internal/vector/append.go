package vector

import "encoding/binary"

// ShareBufs makes the string buffers of src, of any form, known to the Flat
// vector v and returns the position of the first, for AppendRange.
func (v *Vec) ShareBufs(src *Vec) int {
	base := len(v.Bufs)
	v.Bufs = append(v.Bufs, src.Values().Bufs...)
	return base
}

// AppendRange adds rows from to to (exclusive) of src, of any form and of v's
// kind, to the Flat vector v. String bytes are shared, not copied: base is where
// ShareBufs put src's buffers. Nested kinds copy.
func (v *Vec) AppendRange(src *Vec, from, to, base int) {
	n := to - from
	switch {
	case n <= 0:
		return
	case v.Kind == List || v.Kind == Map || v.Kind == Struct:
		for i := from; i < to; i++ {
			v.AppendFrom(src, i)
		}
		return
	}
	v.appendValid(src, from, n)
	v.Len += n
	p := src.Values()
	switch v.Kind {
	case I8:
		v.I8s = appendForm(v.I8s, p.I8s, src, from, to)
	case I32:
		v.I32s = appendForm(v.I32s, p.I32s, src, from, to)
	case I64:
		v.I64s = appendForm(v.I64s, p.I64s, src, from, to)
	case I128:
		v.I128s = appendForm(v.I128s, p.I128s, src, from, to)
	case I256:
		v.I256s = appendForm(v.I256s, p.I256s, src, from, to)
	case F32:
		v.F32s = appendForm(v.F32s, p.F32s, src, from, to)
	case F64:
		v.F64s = appendForm(v.F64s, p.F64s, src, from, to)
	case Str:
		at := len(v.Views)
		v.Views = appendForm(v.Views, p.Views, src, from, to)
		if base > 0 {
			for i := at; i < len(v.Views); i++ {
				if w := &v.Views[i]; w.Len() > 12 {
					binary.LittleEndian.PutUint32(w[8:12], binary.LittleEndian.Uint32(w[8:12])+uint32(base))
				}
			}
		}
	}
}

func appendForm[T any](dst, payload []T, src *Vec, from, to int) []T {
	switch src.Form {
	case Const:
		for range to - from {
			dst = append(dst, payload[0])
		}
		return dst
	case Dict:
		if len(payload) == 0 { // all NULL
			var zero T
			for range to - from {
				dst = append(dst, zero)
			}
			return dst
		}
		for _, c := range src.Codes[from:to] {
			dst = append(dst, payload[c])
		}
		return dst
	}
	return append(dst, payload[from:to]...)
}

// appendValid adds the validity of n rows of src from from on to v, which has
// v.Len rows.
func (v *Vec) appendValid(src *Vec, from, n int) {
	null := src.Form == Const && src.IsNull(0)
	if src.Valid == nil || src.Form == Const && !null {
		if v.Valid == nil {
			return
		}
		v.growValid(n)
		for i := v.Len; i < v.Len+n; {
			k := min(v.Len+n-i, 64-i&63)
			v.Valid[i>>6] |= ^uint64(0) >> (64 - k) << (i & 63)
			i += k
		}
		return
	}
	if v.Valid == nil {
		v.Valid = AllValid(v.Len)
	}
	v.growValid(n)
	if null {
		return
	}
	for done := 0; done < n; {
		i := v.Len + done
		k := min(n-done, 64-i&63)
		v.Valid[i>>6] |= bitsAt(src.Valid, from+done, k) << (i & 63)
		done += k
	}
}

// growValid makes room for the bits of n more rows, all 0.
func (v *Vec) growValid(n int) {
	if r := v.Len & 63; r != 0 {
		v.Valid[v.Len>>6] &= 1<<r - 1
	}
	for len(v.Valid) < (v.Len+n+63)/64 {
		v.Valid = append(v.Valid, 0)
	}
	v.Valid = v.Valid[:(v.Len+n+63)/64]
	if r := v.Len & 63; r == 0 && len(v.Valid) > v.Len>>6 {
		v.Valid[v.Len>>6] = 0
	}
	for i := v.Len>>6 + 1; i < len(v.Valid); i++ {
		v.Valid[i] = 0
	}
}

// bitsAt returns n bits, at most 64, of a bitmap from bit at on.
func bitsAt(words []uint64, at, n int) uint64 {
	w := words[at>>6] >> (at & 63)
	if s := at & 63; s+n > 64 {
		w |= words[at>>6+1] << (64 - s)
	}
	return w & (^uint64(0) >> (64 - n))
}
