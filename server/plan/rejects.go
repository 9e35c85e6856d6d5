package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// rejectsNull reports whether a condition cannot be TRUE when all columns of s
// that it reads are NULL, and it reads one. It knows of operators whose value is
// NULL for a NULL operand, and may say no where the answer is yes.
func rejectsNull(c expr.Expr, s colSet) bool {
	switch kids := c.Children(); expr.Operator(c) {
	case "AND":
		for _, k := range kids {
			if rejectsNull(k, s) {
				return true
			}
		}
		return false
	case "OR":
		for _, k := range kids {
			if !rejectsNull(k, s) {
				return false
			}
		}
		return len(kids) > 0
	case "BETWEEN": // NULL or FALSE
		for _, k := range kids {
			if nullFor(k, s) {
				return true
			}
		}
		return false
	}
	return nullFor(c, s)
}

// nullFor reports whether e is NULL when all columns of s that it reads are, and
// it reads one.
func nullFor(e expr.Expr, s colSet) bool {
	if id, ok := plainColumn(e); ok {
		return s[id]
	}
	if in := expr.Converted(e); in != nil {
		return nullFor(in, s)
	}
	kids := e.Children()
	switch expr.Operator(e) {
	case "=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "DIV", "%", "NEG", "NOT":
	case "BETWEEN", "IN", "LIKE":
		kids = kids[:1]
	default:
		return false
	}
	for _, k := range kids {
		if nullFor(k, s) {
			return true
		}
	}
	return false
}
