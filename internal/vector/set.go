package vector

import "encoding/binary"

// NewFlat makes a Flat vector of n rows, not NULL, whose values are zero and
// are then set in place: by index into the payload slice, or with SetBytes.
func NewFlat(kind Kind, n int) *Vec {
	v := &Vec{Kind: kind, Len: n}
	switch kind {
	case I8:
		v.I8s = make([]int8, n)
	case I32:
		v.I32s = make([]int32, n)
	case I64:
		v.I64s = make([]int64, n)
	case I128:
		v.I128s = make([]Int128, n)
	case I256:
		v.I256s = make([]Int256, n)
	case F32:
		v.F32s = make([]float32, n)
	case F64:
		v.F64s = make([]float64, n)
	case Str:
		v.Views = make([]View, n)
	case List, Map:
		v.Offset = make([]int32, n+1)
	}
	return v
}

// SetBytes makes b, which is copied, the value of row i of a Flat Str vector.
// It does not make a NULL row valid.
func (v *Vec) SetBytes(i int, b []byte) { v.Views[i] = v.store(b) }

// SetRows makes the rows sel (nil: all) of src, of the same kind and any form,
// the values of the same rows of the Flat vector v, NULLs included. String
// bytes are shared, not copied. Nested kinds are not handled.
func (v *Vec) SetRows(src *Vec, sel []uint16) {
	if sel == nil {
		for i := range v.Len {
			v.setNullFrom(src, i)
		}
	} else {
		for _, i := range sel {
			v.setNullFrom(src, int(i))
		}
	}
	vals := src.Values()
	switch v.Kind {
	case I8:
		setRows(v.I8s, vals.I8s, src, sel)
	case I32:
		setRows(v.I32s, vals.I32s, src, sel)
	case I64:
		setRows(v.I64s, vals.I64s, src, sel)
	case I128:
		setRows(v.I128s, vals.I128s, src, sel)
	case I256:
		setRows(v.I256s, vals.I256s, src, sel)
	case F32:
		setRows(v.F32s, vals.F32s, src, sel)
	case F64:
		setRows(v.F64s, vals.F64s, src, sel)
	case Str:
		shift := uint32(len(v.Bufs))
		v.Bufs = append(v.Bufs, vals.Bufs...)
		put := func(i int) {
			w := vals.Views[src.At(i)]
			if shift != 0 && w.Len() > 12 {
				binary.LittleEndian.PutUint32(w[8:12], binary.LittleEndian.Uint32(w[8:12])+shift)
			}
			v.Views[i] = w
		}
		if sel == nil {
			for i := range v.Len {
				put(i)
			}
		} else {
			for _, i := range sel {
				put(int(i))
			}
		}
	}
}

func (v *Vec) setNullFrom(src *Vec, i int) {
	if src.IsNull(i) {
		v.SetNull(i)
	} else if v.Valid != nil {
		v.Valid[i>>6] |= 1 << (i & 63)
	}
}

func setRows[T any](dst, vals []T, src *Vec, sel []uint16) {
	switch {
	case src.Form == Flat && sel == nil:
		copy(dst, vals)
	case src.Form == Flat:
		for _, i := range sel {
			dst[i] = vals[i]
		}
	case sel == nil:
		for i := range dst {
			dst[i] = vals[src.At(i)]
		}
	default:
		for _, i := range sel {
			dst[i] = vals[src.At(int(i))]
		}
	}
}
