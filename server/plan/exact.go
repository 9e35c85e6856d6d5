package plan

import "github.com/thermocline/thermocline/scan/expr"

// Exact reports whether equal values of a type are the very same: integers,
// decimals, dates, binary strings. Under other collations, and among floating
// point numbers (0 and -0), different values can be equal.
func Exact(t expr.Type) bool {
	switch t.Class {
	case expr.Bool, expr.Int, expr.Decimal, expr.Date, expr.DateTime, expr.Timestamp, expr.Time, expr.Year, expr.Bit, expr.Bytes:
		return true
	case expr.String:
		return t.Collation == "utf8mb4_0900_bin"
	}
	return false
}
