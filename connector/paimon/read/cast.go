package read

import (
	"math/big"
	"strconv"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// cast turns values of a file's type into the table's, for columns whose type
// was changed after the file was written. It follows Java Paimon's CastExecutors.
type cast func(v *vector.Vec) (*vector.Vec, error)

// newCast returns the cast between two types, nil when values stay as they are.
// Casts that are not implemented are refused by name.
func newCast(from, to catalog.Type) (cast, error) {
	from.NotNull, to.NotNull = false, false
	if sameValues(from, to) {
		return nil, nil
	}
	integer := func(t catalog.Type) bool { return t.Kind >= catalog.TinyInt && t.Kind <= catalog.BigInt }
	switch {
	case integer(from) && from.Kind < catalog.BigInt && to.Kind == catalog.BigInt:
		return each(to, func(dst, v *vector.Vec, i int) error { dst.AppendI64(int64(v.I32s[i])); return nil }), nil
	case integer(from) && to.Kind == catalog.Float:
		return each(to, func(dst, v *vector.Vec, i int) error { dst.AppendF32(float32(intAt(v, i))); return nil }), nil
	case integer(from) && to.Kind == catalog.Double:
		return each(to, func(dst, v *vector.Vec, i int) error { dst.AppendF64(float64(intAt(v, i))); return nil }), nil
	case from.Kind == catalog.Float && to.Kind == catalog.Double:
		return each(to, func(dst, v *vector.Vec, i int) error { dst.AppendF64(float64(v.F32s[i])); return nil }), nil
	case from.Kind == catalog.Decimal && to.Kind == catalog.Double:
		return each(to, func(dst, v *vector.Vec, i int) error {
			f, err := strconv.ParseFloat(string(vector.AppendDecimalText(nil, v, i, from.Scale)), 64)
			dst.AppendF64(f)
			return err
		}), nil
	case from.Kind == catalog.Decimal && to.Kind == catalog.Decimal && to.Scale >= from.Scale && to.Length-to.Scale >= from.Length-from.Scale:
		return each(to, func(dst, v *vector.Vec, i int) error {
			x := wideAt(v, i).Big()
			return appendDecimal(dst, x.Mul(x, vector.Pow10(to.Scale-from.Scale)))
		}), nil
	case (from.Kind == catalog.Timestamp || from.Kind == catalog.TimestampLTZ) && to.Kind == from.Kind && to.Length >= from.Length:
		if from.Physical() == to.Physical() {
			return nil, nil
		}
		return each(to, func(dst, v *vector.Vec, i int) error {
			us := vector.Int128From(v.I64s[i])
			x, ok := vector.Int128FromBig(us.Big().Mul(us.Big(), vector.Pow10(3)))
			if !ok {
				return errs.Corruptf("a timestamp of %d us is out of range", v.I64s[i])
			}
			dst.AppendI128(x)
			return nil
		}), nil
	}
	return nil, errs.Unsupportedf(-1, "reading columns whose type changed from %s to %s", from, to)
}

// each makes a cast of f, which appends the cast of row i of the Flat vector v.
func each(to catalog.Type, f func(dst, v *vector.Vec, i int) error) cast {
	return func(v *vector.Vec) (*vector.Vec, error) {
		v = v.Flatten()
		dst := to.NewVec(v.Len)
		for i := range v.Len {
			if v.IsNull(i) {
				dst.AppendNull()
				continue
			}
			if err := f(dst, v, i); err != nil {
				return nil, err
			}
		}
		return dst, nil
	}
}

func intAt(v *vector.Vec, i int) int64 {
	if v.Kind == vector.I32 {
		return int64(v.I32s[i])
	}
	return v.I64s[i]
}

// wideAt returns an unscaled decimal of any kind that files hold.
func wideAt(v *vector.Vec, i int) vector.Int128 {
	if v.Kind == vector.I64 {
		return vector.Int128From(v.I64s[i])
	}
	return v.I128s[i]
}

// appendDecimal appends an unscaled value that must fit.
func appendDecimal(dst *vector.Vec, x *big.Int) error {
	if !dst.AppendDecimal(x) {
		return errs.Corruptf("the unscaled value %s is too large", x)
	}
	return nil
}
