package expr

import (
	"fmt"
)

// displayLength is the most characters that a value's text has.
func displayLength(t Type) int {
	switch t.Class {
	case Bool:
		return 1
	case Int:
		n := intDigits(t)
		if !t.Unsigned {
			n++
		}
		return n
	case Decimal:
		n := t.Precision
		if t.Scale > 0 {
			n++
		}
		if t.Scale == t.Precision {
			n++
		}
		return n + 1
	case Float:
		return 12
	case Double:
		return 22
	case Date:
		return 10
	case DateTime, Timestamp:
		return 19 + toldFraction(t.Scale)
	case Time:
		return 10 + toldFraction(t.Scale)
	case Year:
		return 4
	case JSON, Nested:
		return 1 << 30
	case Bit:
		return (t.Length + 7) / 8
	case Enum, Set:
		return labelsLength(t)
	}
	return t.Length
}

// sqlName is the type's name for messages.
func (t Type) sqlName() string {
	switch t.Class {
	case Null:
		return "NULL"
	case Bool:
		return "TINYINT(1)"
	case Int:
		s := map[int]string{1: "TINYINT", 2: "SMALLINT", 3: "MEDIUMINT", 4: "INT", 8: "BIGINT"}[t.Width]
		if t.Unsigned {
			s += " UNSIGNED"
		}
		return s
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case Float:
		return "FLOAT"
	case Double:
		return "DOUBLE"
	case String:
		return "CHAR"
	case Bytes:
		return "BINARY"
	case Date:
		return "DATE"
	case DateTime:
		return "DATETIME"
	case Timestamp:
		return "TIMESTAMP"
	case Time:
		return "TIME"
	case Year:
		return "YEAR"
	case JSON:
		return "JSON"
	case Enum:
		return "ENUM"
	case Set:
		return "SET"
	case Bit:
		return "BIT"
	}
	return "a nested type"
}
