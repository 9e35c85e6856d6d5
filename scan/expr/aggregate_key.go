package expr

// AggregateKey is a's Key as it would be with other arguments, as many as Args
// gives. ok is false for aggregates that cannot tell.
func AggregateKey(a Aggregate, args []Expr) (key string, ok bool) {
	if len(args) != len(a.Args()) {
		return "", false
	}
	switch x := a.(type) {
	case *filteredAggregate:
		last := len(args) - 1
		key, ok = AggregateKey(x.Aggregate, args[:last])
		return key + " filter " + args[last].Key(), ok
	case interface{ keyWith([]Expr) string }:
		return x.keyWith(args), true
	}
	return "", false
}
