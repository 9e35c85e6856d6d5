package syntax

//go:generate go run gen_walk.go

// Walk calls f for n and, when f returns true, for its children, roughly in the
// order of the text. Nil nodes are skipped; names (Ident, ObjectName) are not
// nodes to it.
func Walk(n Node, f func(Node) bool) {
	if isNil(n) || !f(n) {
		return
	}
	children(n, func(c Node) { Walk(c, f) })
}

// isNil recognises the nil interface and the nil pointers that callers pass
// for absent clauses.
func isNil(n Node) bool {
	switch n := n.(type) {
	case nil:
		return true
	case *Query:
		return n == nil
	case *GroupBy:
		return n == nil
	case *Limit:
		return n == nil
	case *WindowSpec:
		return n == nil
	}
	return false
}

// Rewrite replaces expressions: f is called for every Expr of the tree, children
// first, and returns the expression to stand there (the same one to keep it).
// What changes is copied with everything above it; the original is untouched.
// f must return an expression of the same type where the tree needs that type
// (a *ColumnRef assigned to, a *UserVar of :=, a string of SHOW … LIKE).
func Rewrite[N Node](n N, f func(Expr) Expr) N {
	if isNil(n) {
		return n
	}
	r := &rewriter{f}
	changed := false
	return rewriteOne(r, n, &changed)
}

type rewriter struct{ f func(Expr) Expr }

func rewriteOne[N Node](r *rewriter, n N, changed *bool) N {
	m := r.rewriteChildren(n)
	if e, ok := m.(Expr); ok {
		m = r.f(e)
	}
	if m != Node(n) {
		*changed = true
	}
	return m.(N)
}

func rewriteList[N Node](r *rewriter, list []N, changed *bool) []N {
	out := list
	for i, n := range list {
		if Node(n) == nil {
			continue
		}
		one := false
		m := rewriteOne(r, n, &one)
		if one {
			if &out[0] == &list[0] {
				out = append([]N(nil), list...)
			}
			out[i] = m
			*changed = true
		}
	}
	return out
}

func rewriteLists[N Node](r *rewriter, lists [][]N, changed *bool) [][]N {
	out := lists
	for i, list := range lists {
		one := false
		m := rewriteList(r, list, &one)
		if one {
			if &out[0] == &lists[0] {
				out = append([][]N(nil), lists...)
			}
			out[i] = m
			*changed = true
		}
	}
	return out
}

// height is the number of nodes on the longest way down from n. It does not
// recurse, since it is what bounds recursion.
func height(n Node) int {
	type item struct {
		n Node
		h int
	}
	top := 0
	stack := []item{{n, 1}}
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if it.h > top {
			top = it.h
		}
		children(it.n, func(c Node) { stack = append(stack, item{c, it.h + 1}) })
	}
	return top
}
