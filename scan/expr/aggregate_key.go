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

// EachOnce returns the aggregate that gives for rows of which each is there once what
// COUNT, SUM or AVG with DISTINCT gives for any rows. ok is false for others, and for
// sums of DOUBLE, which depend on the order of their values.
func EachOnce(a Aggregate) (once Aggregate, ok bool) {
	x, ok := a.(*aggregate)
	if !ok || !x.distinct || x.typ.Class == Double || x.name != "COUNT" && x.name != "SUM" && x.name != "AVG" {
		return nil, false
	}
	c := *x
	c.distinct = false
	return &c, true
}
