package expr

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// yearConstants gives the operands of a comparison of a YEAR column with a
// constant: MySQL stores the constant into the column's type first, and a year
// of one or two digits is then one of 1970 to 2069. Constants that are no years
// stay numbers. Expressions of years (y + 0, MAX(y)) are numbers, too.
func yearConstants(a, b Expr) (Expr, Expr) {
	switch {
	case isYearColumn(a):
		b = yearConstant(b)
	case isYearColumn(b):
		a = yearConstant(a)
	}
	return a, b
}

// isYearColumn reports whether e is a table's column; those that groups and
// windows make have no table.
func isYearColumn(e Expr) bool {
	if e.Type().Class != Year {
		return false
	}
	c, ok := e.(*ColumnExpr)
	if !ok {
		return isColumn(e)
	}
	_, name, quoted := strings.Cut(c.Name, "`")
	_, column, _ := strings.Cut(name, "`")
	return quoted && strings.HasPrefix(column, ".") // `t`.`c`, not `max(`t`.`c`)`
}

func yearConstant(e Expr) Expr {
	l, ok := e.(*LiteralExpr)
	if !ok || l.Val.IsNull() || l.hex {
		return e
	}
	var x int64
	switch t := l.Val.Type; t.Class {
	case Int, Bool:
		x = intAt(l.Val.Vec, 0)
	case Decimal:
		x, _ = decToInt(decs(nil, t, l.Val.Vec)(0), false)
	case Float, Double:
		f := floatAt(l.Val.Vec, 0)
		if math.IsNaN(f) || math.Abs(f) >= 100 {
			return e
		}
		x = int64(math.RoundToEven(f))
	case String:
		s := bytes.TrimSpace(l.Val.Vec.Bytes(0))
		n, err := strconv.ParseUint(string(s), 10, 8)
		if err != nil || len(s) > 2 {
			return e
		}
		x = int64(n)
		if x == 0 {
			x = 100 // '0' and '00' are 2000, the number 0 is no year
		}
	default:
		return e
	}
	switch {
	case x >= 1 && x < 70 || x == 100 && l.Val.Type.Class == String:
		x = x%100 + 2000
	case x >= 70 && x < 100:
		x += 1900
	default:
		return e
	}
	y := Literal(IntValue(x))
	y.text = l.text
	return y
}
