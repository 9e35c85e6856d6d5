package expr

import (
	"fmt"
	"strings"

	"github.com/thermocline/thermocline/internal/vector"
)

// Ready-made types, nullable.
var (
	TNull   = Type{Class: Null, Nullable: true, Coercibility: 6}
	TBool   = Type{Class: Bool, Nullable: true, Width: 8, Coercibility: 5} // of predicates
	TBigInt = Type{Class: Int, Nullable: true, Width: 8, Coercibility: 5, Told: Told{Length: 21}}
	TUint64 = Type{Class: Int, Nullable: true, Width: 8, Unsigned: true, Coercibility: 5, Told: Told{Length: 21}}
	TDouble = Type{Class: Double, Nullable: true, Scale: NotFixed, Coercibility: 5, Told: Told{Length: 23}}
	TDate   = Type{Class: Date, Nullable: true, Coercibility: 5}
	TJSON   = Type{Class: JSON, Nullable: true, Collation: "utf8mb4_bin", Coercibility: 2}
)

// NotFixed is the Scale of floating point types without fixed fraction digits.
const NotFixed = 31

// TDecimal returns DECIMAL(p, s).
func TDecimal(p, s int) Type {
	return Type{Class: Decimal, Nullable: true, Precision: p, Scale: s, Coercibility: 5}
}

// TString returns text of at most n characters.
func TString(n int, collation string) Type {
	return Type{Class: String, Nullable: true, Length: n, Collation: collation, Coercibility: 4}
}

// TBytes returns binary strings of at most n bytes.
func TBytes(n int) Type {
	return Type{Class: Bytes, Nullable: true, Length: n, Collation: "binary", Coercibility: 4}
}

// TDateTime returns DATETIME(fsp), TTime returns TIME(fsp), TTimestamp returns
// TIMESTAMP(fsp).
func TDateTime(fsp int) Type {
	return Type{Class: DateTime, Nullable: true, Scale: fsp, Coercibility: 5}
}

// TTime returns TIME(fsp).
func TTime(fsp int) Type { return Type{Class: Time, Nullable: true, Scale: fsp, Coercibility: 5} }

// TTimestamp returns TIMESTAMP(fsp).
func TTimestamp(fsp int) Type {
	return Type{Class: Timestamp, Nullable: true, Scale: fsp, Coercibility: 5}
}

// NotNull returns t as never NULL.
func (t Type) NotNull() Type { t.Nullable = false; return t }

// Same reports whether values of the types are represented and compared alike:
// everything but nullability, coercibility and lengths.
func Same(a, b Type) bool { return a.key() == b.key() }

// key identifies representation and comparison.
func (t Type) key() string {
	switch t.Class {
	case Bool:
		return "bool"
	case Int:
		return fmt.Sprintf("int%d%t", t.Width, t.Unsigned)
	case Decimal:
		return fmt.Sprintf("dec%d.%d", vector.DecimalKind(t.Precision), t.Scale)
	case String:
		return "str " + t.Collation
	case Enum, Set:
		return fmt.Sprintf("enum%d %s %s", t.Class, t.Collation, strings.Join(t.Labels, "\x00"))
	case DateTime, Timestamp, Time:
		return fmt.Sprintf("t%d.%d", t.Class, t.Scale)
	}
	return fmt.Sprintf("c%d", t.Class)
}

// IsNumber reports whether the type is numeric: Bool, Int, Decimal, Float,
// Double, Year or Bit.
func (t Type) IsNumber() bool {
	switch t.Class {
	case Bool, Int, Decimal, Float, Double, Year, Bit:
		return true
	}
	return false
}

// IsText reports whether values are character strings.
func (t Type) IsText() bool { return t.Class == String || t.Class == Enum || t.Class == Set }

// IsTemporal reports whether the type is a date or time.
func (t Type) IsTemporal() bool {
	return t.Class == Date || t.Class == DateTime || t.Class == Timestamp || t.Class == Time
}
