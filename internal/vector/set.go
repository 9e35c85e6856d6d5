package vector

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
