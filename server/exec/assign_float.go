package exec

import (
	"math"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// float rounds a number to what a FLOAT or DOUBLE column holds: D fraction digits
// and M in all of a FLOAT(M, D), none below zero of an UNSIGNED one, and no more
// than its format has. What does not fit is error 1264, or the nearest number that
// fits and a warning.
func (a *assigner) float(x float64, row int) (float64, error) {
	limit := math.MaxFloat64
	if a.typ.Class == expr.Float {
		limit = math.MaxFloat32
	}
	fit := x
	if m, d := a.typ.Told.Length, a.typ.Scale; d != expr.NotFixed && m >= d && !math.IsInf(x, 0) {
		step := math.Pow10(d)
		if whole := math.Floor(x); math.Abs(x) < 1<<52 {
			fit = whole + math.RoundToEven((x-whole)*step)/step
		}
		limit = min(limit, math.Pow10(m-d)-1/step)
	}
	switch {
	case fit > limit || a.typ.Class == expr.Float && fit > 0 && math.IsInf(float64(float32(fit)), 0):
		fit = limit
	case fit < 0 && a.typ.Unsigned:
		fit = 0
	case fit < -limit || a.typ.Class == expr.Float && fit < 0 && math.IsInf(float64(float32(fit)), 0):
		fit = -limit
	default:
		return fit, nil
	}
	return fit, a.warnRange(row)
}

// storeFloat stores row i of w, which are doubles.
func (a *assigner) storeFloat(out, w *vector.Vec, i, row int) error {
	x, err := a.float(w.F64s[w.At(i)], row)
	if err != nil {
		return err
	}
	if a.typ.Class == expr.Float {
		out.AppendF32(float32(x))
	} else {
		out.AppendF64(x)
	}
	return nil
}

// storeDecimal stores row i of w, which are decimals of the column's digits: an
// UNSIGNED column has none below zero.
func (a *assigner) storeDecimal(out, w *vector.Vec, i, row int) error {
	text := func() []byte { return vector.AppendDecimalText(nil, w, i, a.typ.Scale) }
	if a.typ.Unsigned && text()[0] == '-' {
		if err := a.warnRange(row); err != nil {
			return err
		}
		_, err := a.appendZero(out)
		return err
	}
	if out.Kind == vector.Str { // DECIMAL(>38) is kept as text
		out.AppendBytes(text())
		return nil
	}
	out.AppendFrom(w, i)
	return nil
}
