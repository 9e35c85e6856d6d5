package expr

// Operator returns the name of the function or operator that e applies to its
// Children, in the registry's spelling ("=", "AND", "IS NULL", "LIKE", …); ""
// when e is a column, a literal, an implicit conversion or no call at all. The
// children are the operands after implicit conversions.
func Operator(e Expr) string {
	c, ok := e.(*call)
	if !ok || c.hidden {
		return ""
	}
	return c.name
}

// Converted returns the operand of an implicit conversion, nil when e is none.
func Converted(e Expr) Expr {
	c, ok := e.(*call)
	if !ok || !c.hidden || len(c.args) == 0 {
		return nil
	}
	return c.args[0]
}
