package syntax

// Walk calls f for n and, when f returns true, for its children in the order of
// the text. Nil nodes are skipped.
func Walk(n Node, f func(Node) bool) {}

// Rewrite replaces expressions: f is called for every Expr of the tree, children
// first, and returns the expression to stand there (the same one to keep it).
// The tree is copied where it changes; the original is untouched.
func Rewrite[N Node](n N, f func(Expr) Expr) N { return n }
