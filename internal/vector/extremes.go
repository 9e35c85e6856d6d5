package vector

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Extremes returns the rows of v with the smallest and the largest value in the
// order of Compare, -1 when there is none, among the rows of sel (nil: all).
// NULL is no value, nor is NaN; nan says whether there was one.
func Extremes(v *Vec, sel []uint16) (lo, hi int, nan bool) {
	if v.Form == Flat && sel == nil {
		switch v.Kind {
		case I8:
			lo, hi = extremesOf(v.I8s[:v.Len], v)
			return lo, hi, false
		case I32:
			lo, hi = extremesOf(v.I32s[:v.Len], v)
			return lo, hi, false
		case I64:
			lo, hi = extremesOf(v.I64s[:v.Len], v)
			return lo, hi, false
		case F64:
			return extremesOfFloats(v)
		case Str:
			lo, hi = extremesOfText(v)
			return lo, hi, false
		}
	}
	lo, hi = -1, -1
	n := v.Len
	if sel != nil {
		n = len(sel)
	}
	for k := range n {
		i := k
		if sel != nil {
			i = int(sel[k])
		}
		switch {
		case v.IsNull(i):
		case isNaN(v, i):
			nan = true
		case lo < 0:
			lo, hi = i, i
		case Compare(v, i, v, lo) < 0:
			lo = i
		case Compare(v, hi, v, i) < 0:
			hi = i
		}
	}
	return lo, hi, nan
}

func extremesOf[T int8 | int32 | int64](x []T, v *Vec) (lo, hi int) {
	if v.HasNulls() {
		lo, hi = -1, -1
		for i := range x {
			switch {
			case v.IsNull(i):
			case lo < 0:
				lo, hi = i, i
			case x[i] < x[lo]:
				lo = i
			case x[i] > x[hi]:
				hi = i
			}
		}
		return lo, hi
	}
	if len(x) == 0 {
		return -1, -1
	}
	small, large := x[0], x[0]
	for i, y := range x {
		if y < small {
			small, lo = y, i
		}
		if y > large {
			large, hi = y, i
		}
	}
	return lo, hi
}

// extremesOfFloats orders zeros as Java does, -0 before 0, like Compare.
func extremesOfFloats(v *Vec) (lo, hi int, nan bool) {
	lo, hi = -1, -1
	for i, x := range v.F64s[:v.Len] {
		switch {
		case v.Valid != nil && v.IsNull(i):
		case x != x:
			nan = true
		case lo < 0:
			lo, hi = i, i
		default:
			if x < v.F64s[lo] || x == 0 && CompareF64(x, v.F64s[lo]) < 0 {
				lo = i
			}
			if x > v.F64s[hi] || x == 0 && CompareF64(x, v.F64s[hi]) > 0 {
				hi = i
			}
		}
	}
	return lo, hi, nan
}

// extremesOfText compares the first four bytes, which views hold, before all.
func extremesOfText(v *Vec) (lo, hi int) {
	lo, hi = -1, -1
	var small, large uint32
	for i := range v.Len {
		if v.IsNull(i) {
			continue
		}
		p := binary.BigEndian.Uint32(v.Views[i][4:8])
		if lo < 0 {
			lo, hi, small, large = i, i, p, p
			continue
		}
		if p < small || p == small && bytes.Compare(v.Bytes(i), v.Bytes(lo)) < 0 {
			lo, small = i, p
		}
		if p > large || p == large && bytes.Compare(v.Bytes(i), v.Bytes(hi)) > 0 {
			hi, large = i, p
		}
	}
	return lo, hi
}

func isNaN(v *Vec, i int) bool {
	switch v.Kind {
	case F32:
		return math.IsNaN(float64(v.Values().F32s[v.At(i)]))
	case F64:
		return math.IsNaN(v.Values().F64s[v.At(i)])
	}
	return false
}
