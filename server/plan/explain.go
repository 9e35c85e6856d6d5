package plan

// Explain returns the plan as an indented tree, a line an operator.
func Explain(q *Query) []string { return nil }
