package parquet

import (
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
	lo, hi, nan := vector.Extremes(v, nil)
	s.nan = s.nan || nan
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
