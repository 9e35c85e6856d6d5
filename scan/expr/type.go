package expr

import (
	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/vector"
)

// Class is the family of an expression's type, MySQL's set.
type Class uint8

// The classes, with the physical kind of their vectors.
const (
	Null      Class = iota // only NULL; any kind, all rows NULL
	Bool                   // I8: 0 and 1. Width 1: a BOOLEAN column (TINYINT(1)); Width 8: a predicate (BIGINT(1))
	Int                    // I32 or I64, see Physical
	Decimal                // I64, I128 or I256 by Precision
	Float                  // F32
	Double                 // F64
	String                 // Str: text with a collation
	Bytes                  // Str: binary strings
	Date                   // I32: days since 1970-01-01
	DateTime               // I64: wall clock in microseconds since the epoch; Scale fraction digits
	Timestamp              // I64: instant in microseconds since the epoch UTC, shown in the session's zone; Scale fraction digits
	Time                   // I64: signed microseconds; Scale fraction digits
	Year                   // I32
	JSON                   // Str: JSON text
	Enum                   // Str: the label; orders by position in Labels
	Set                    // Str: labels joined by commas
	Bit                    // I64: the bits; Length bits
	Nested                 // List, Map, Struct: shown as JSON
)

// Type is the type of an expression or result column. Types are compared with
// Same.
type Type struct {
	Class     Class
	Nullable  bool
	Unsigned  bool   // Int, Decimal, Double
	Width     int    // Int: bytes, 1, 2, 3 (MEDIUMINT), 4, 8; Bool: 1 or 8; Year: 8 of computed ones, whose 0 is shown as 0 and not as 0000
	Precision int    // Decimal: digits
	Scale     int    // Decimal: fraction digits; Double and Float: 31 is "not fixed"; temporal: fraction digits of seconds
	Length    int    // String: characters, Bytes: bytes, Bit: bits; the most a value has
	Collation string // String, Enum, Set: name, such as "utf8mb4_0900_ai_ci"
	// Coercibility is MySQL's: 0 explicit COLLATE, 2 column, 4 literal,
	// 5 number, 6 NULL. The lower one wins a comparison.
	Coercibility uint8
	Labels       []string // Enum, Set
	Told         Told     // what clients are told beyond the rest; nothing computes with it
	// Typed: JSON made from dates, times or binary strings, which its text does not
	// tell from strings.
	Typed bool
	// Stored is the lake's type of a column that is passed on as it is stored
	// (Raw), with class Nested; nil for all else.
	Stored *catalog.Type
}

// Physical returns the kind of vector that holds values of the type.
func (t Type) Physical() vector.Kind {
	switch t.Class {
	case Bool:
		return vector.I8
	case Int:
		if t.Width <= 3 || t.Width == 4 && !t.Unsigned {
			return vector.I32
		}
		return vector.I64
	case Decimal:
		return vector.DecimalKind(t.Precision)
	case Float:
		return vector.F32
	case Double:
		return vector.F64
	case Date, Year:
		return vector.I32
	case DateTime, Timestamp, Time, Bit:
		return vector.I64
	case String, Bytes, JSON, Enum, Set, Null:
		return vector.Str
	}
	if t.Stored != nil {
		return t.Stored.Physical()
	}
	return vector.Invalid // Nested: known by the vector alone
}

// Value is one typed value: a Const vector of one row.
type Value struct {
	Type Type
	Vec  *vector.Vec
}

// IsNull reports whether the value is NULL.
func (v Value) IsNull() bool { return v.Type.Class == Null || v.Vec.IsNull(0) }
