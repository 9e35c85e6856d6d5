package expr

// ZeroValue is what MySQL stores in a NOT NULL column without default when
// strict mode is off: 0, the empty text, the first label. Types whose zero the
// lake cannot hold (dates) have none.
func ZeroValue(t Type) (Value, bool) {
	switch t.Class {
	case Bool, Int, Decimal, Float, Double, Bit, Year, Time:
		return IntValue(0), true
	case String, Bytes, Set:
		return StringValue("", ""), true
	case Enum:
		if len(t.Labels) > 0 {
			return StringValue(t.Labels[0], ""), true
		}
	}
	return Value{}, false
}
