package parquet

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/vector"
)

// columnStats gathers the bounds of a written column.
type columnStats struct {
	kind     vector.Kind // Invalid: no bounds for this type
	nulls    int64       // -1: unknown
	min, max *vector.Vec // one row each, once there was a value
	nan      bool
}

func newColumnStats(t catalog.Type) columnStats {
	s := columnStats{kind: t.Physical()}
	switch {
	case !t.IsPrimitive() && t.Kind != catalog.Blob:
		s.kind, s.nulls = vector.Invalid, -1
	case t.Kind == catalog.Blob:
		s.kind = vector.Invalid
	case (t.Kind == catalog.Timestamp || t.Kind == catalog.TimestampLTZ) && t.Length > 6:
		s.kind = vector.Invalid // INT96 has no order in the format
	}
	return s
}

// add takes the rows of v into account.
func (s *columnStats) add(v *vector.Vec) {
	if s.nulls < 0 {
		return
	}
	s.nulls += int64(v.NullCount())
	if s.kind == vector.Invalid {
		return
	}
	lo, hi := s.extremes(v)
	if lo < 0 {
		return
	}
	if s.min == nil || vector.Compare(v, lo, s.min, 0) < 0 {
		s.min = one(v, lo)
	}
	if s.max == nil || vector.Compare(v, hi, s.max, 0) > 0 {
		s.max = one(v, hi)
	}
}

// extremes returns the rows with the smallest and the largest value, -1 when there
// is none.
func (s *columnStats) extremes(v *vector.Vec) (lo, hi int) {
	if v.Form == vector.Flat {
		switch v.Kind {
		case vector.I8:
			return extremesOf(v.I8s[:v.Len], v)
		case vector.I32:
			return extremesOf(v.I32s[:v.Len], v)
		case vector.I64:
			return extremesOf(v.I64s[:v.Len], v)
		case vector.F64:
			return s.extremesOfFloats(v)
		case vector.Str:
			return extremesOfText(v)
		}
	}
	lo, hi = -1, -1
	for i := range v.Len {
		switch {
		case v.IsNull(i):
		case s.isNaN(v, i):
			s.nan = true
		case lo < 0:
			lo, hi = i, i
		case vector.Compare(v, i, v, lo) < 0:
			lo = i
		case vector.Compare(v, hi, v, i) < 0:
			hi = i
		}
	}
	return lo, hi
}

func extremesOf[T int8 | int32 | int64](x []T, v *vector.Vec) (lo, hi int) {
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

// extremesOfFloats orders zeros as Java does, -0 before 0, like vector.Compare.
func (s *columnStats) extremesOfFloats(v *vector.Vec) (lo, hi int) {
	lo, hi = -1, -1
	for i, x := range v.F64s[:v.Len] {
		switch {
		case v.Valid != nil && v.IsNull(i):
		case x != x:
			s.nan = true
		case lo < 0:
			lo, hi = i, i
		default:
			if x < v.F64s[lo] || x == 0 && vector.CompareF64(x, v.F64s[lo]) < 0 {
				lo = i
			}
			if x > v.F64s[hi] || x == 0 && vector.CompareF64(x, v.F64s[hi]) > 0 {
				hi = i
			}
		}
	}
	return lo, hi
}

// extremesOfText compares the first four bytes, which views hold, before all.
func extremesOfText(v *vector.Vec) (lo, hi int) {
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

func (s *columnStats) isNaN(v *vector.Vec, i int) bool {
	switch v.Kind {
	case vector.F32:
		return math.IsNaN(float64(v.Values().F32s[v.At(i)]))
	case vector.F64:
		return math.IsNaN(v.Values().F64s[v.At(i)])
	}
	return false
}

// one copies row i of v.
func one(v *vector.Vec, i int) *vector.Vec {
	w := vector.NewLike(v.Values(), 1)
	w.AppendFrom(v, i)
	return w
}

// result returns the statistics. Floats with a NaN have no bounds, and a bound
// of zero covers both zeros, as in Java's statistics.
func (s *columnStats) result() format.ColumnStats {
	r := format.ColumnStats{Nulls: s.nulls}
	if s.nan || s.min == nil {
		return r
	}
	switch s.kind {
	case vector.F32:
		if s.min.F32s[0] == 0 {
			s.min.F32s[0] = float32(math.Copysign(0, -1))
		}
		if s.max.F32s[0] == 0 {
			s.max.F32s[0] = 0
		}
	case vector.F64:
		if s.min.F64s[0] == 0 {
			s.min.F64s[0] = math.Copysign(0, -1)
		}
		if s.max.F64s[0] == 0 {
			s.max.F64s[0] = 0
		}
	}
	r.Min, r.Max = s.min, s.max
	return r
}
