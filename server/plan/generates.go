package plan

// Generates reports whether a query may make any number of rows out of nothing:
// by recursion, or by a table function.
func Generates(q *Query) bool {
	var found func(Node) bool
	found = func(n Node) bool {
		switch n.(type) {
		case *Recursive, *Generate:
			return true
		}
		for _, in := range n.Inputs() {
			if found(in) {
				return true
			}
		}
		return false
	}
	if found(q.Root) {
		return true
	}
	for _, s := range q.Subplans {
		if found(s.Plan) {
			return true
		}
	}
	for _, s := range q.Shared {
		if found(s.Plan) {
			return true
		}
	}
	return false
}
