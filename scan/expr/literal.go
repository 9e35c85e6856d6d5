package expr

import (
	"github.com/thermocline/thermocline/internal/vector"
)

// NullValue returns NULL.
func NullValue() Value { return Value{Type: TNull, Vec: vector.NewNull(vector.Str, 1)} }

// IntValue returns a BIGINT.
func IntValue(x int64) Value {
	v := vector.New(vector.I64, 1)
	v.AppendI64(x)
	return Value{Type: TBigInt.NotNull(), Vec: v.AsConst(1)}
}

// UintValue returns a BIGINT UNSIGNED.
func UintValue(x uint64) Value {
	v := IntValue(int64(x))
	v.Type.Unsigned = true
	return v
}

// DoubleValue returns a DOUBLE.
func DoubleValue(x float64) Value {
	v := vector.New(vector.F64, 1)
	v.AppendF64(x)
	return Value{Type: TDouble.NotNull(), Vec: v.AsConst(1)}
}

// StringValue returns text; collation "" is utf8mb4_0900_ai_ci.
func StringValue(s, collation string) Value {
	if collation == "" {
		collation = DefaultCollation
	}
	v := vector.New(vector.Str, 1)
	v.AppendString(s)
	return Value{Type: TString(runeCount(s), collation).NotNull(), Vec: v.AsConst(1)}
}

// BytesValue returns a binary string.
func BytesValue(b []byte) Value {
	v := vector.New(vector.Str, 1)
	v.AppendBytes(b)
	return Value{Type: TBytes(len(b)).NotNull(), Vec: v.AsConst(1)}
}
