package plan

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// share makes parts of the query that are equal one part that is run once, and
// puts those that only one place reads where they are read.
//
// Law: equal plans over the same snapshots give the same rows in the same order,
// unless something in them is volatile.
//
// What is settled is shared wherever it stands. Joins are shared where nothing
// above them but conditions and projections comes before an aggregation, an
// ordering or the result: below another join, its keys could leave rows out.
// Tables alone are read again, as cheap as that is.
func (o *optimizer) share(root Node) Node {
	b := o.b
	if !b.shares && (b.env.NoSharing || b.differentLeaves(root)) {
		return root
	}
	for range mostRounds {
		if b.env.NoSharing || b.stream != nil || !o.shareEqual(&root) {
			break
		}
	}
	o.countReads(root)
	for {
		changed := false
		b.eachTree(&root, func(n Node) Node {
			return o.unshared(n, &changed)
		})
		if !changed {
			return root
		}
		o.countReads(root)
	}
}

// differentLeaves reports whether no two leaves of the query's trees are equal: then
// no two parts are, and most queries are such. It may be false where they are not.
func (b *binder) differentLeaves(root Node) bool {
	var tables []*TableUse
	values, different := false, true
	var walk func(n Node)
	walk = func(n Node) {
		switch n := n.(type) {
		case *Scan:
			different = different && len(tables) < 16 && !slices.Contains(tables, n.Use)
			tables = append(tables, n.Use)
		case *Values:
			different = different && !values
			values = true
		case *SharedScan, *Recursive, *WorkTable:
			different = false // a step counts as often as it is run
		}
		for _, c := range n.Inputs() {
			if different {
				walk(c)
			}
		}
	}
	b.eachTree(&root, func(n Node) Node { walk(n); return n })
	return different
}

// mostRounds is how often equal parts are looked for: within those that were found
// there may be others.
const mostRounds = 8

// unshared puts a part that is read once in its place.
func (o *optimizer) unshared(n Node, changed *bool) Node {
	s, ok := n.(*SharedScan)
	if !ok {
		n, _ = mapInputs(n, func(c Node) (Node, error) { return o.unshared(c, changed), nil })
		return n
	}
	if s.Of.Reads != 1 || s.Of.Again || s.Of.optimized || o.b.pieces {
		return s
	}
	*changed = true
	p := &Project{In: s.Of.Plan}
	same := true
	for _, c := range s.Cols {
		same = same && c.ID == c.From
		p.Items = append(p.Items, Item{c.ID, o.b.col(c.From)})
	}
	s.Of.Reads = 0
	if same {
		return s.Of.Plan
	}
	return p
}

// eachTree applies f to the trees of the query: the root, its subqueries and the
// parts that are shared.
func (b *binder) eachTree(root *Node, f func(Node) Node) {
	done := map[*Shared]bool{}
	var visit func(Node)
	apply := func(n *Node) {
		*n = f(*n)
		visit(*n)
	}
	subs := map[int]bool{}
	visit = func(n Node) {
		if s, ok := n.(*SharedScan); ok && !done[s.Of] {
			done[s.Of] = true
			apply(&s.Of.Plan)
		}
		for _, e := range n.exprs() {
			expr.Walk(e, func(x expr.Expr) bool {
				if s, ok := x.(*SubqueryExpr); ok && !subs[s.Index] {
					subs[s.Index] = true
					apply(&b.subplans[s.Index].Plan)
				}
				return true
			})
		}
		for _, c := range n.Inputs() {
			visit(c)
		}
	}
	apply(root)
}

// countReads counts the places that read each shared part.
func (o *optimizer) countReads(root Node) {
	seen := map[*Shared]bool{}
	var count func(n Node, again bool)
	count = func(n Node, again bool) {
		if s, ok := n.(*SharedScan); ok {
			if !seen[s.Of] {
				seen[s.Of] = true
				s.Of.Reads, s.Of.Again = 0, false
			}
			s.Of.Reads++
			s.Of.Again = s.Of.Again || again
		}
		_, recursive := n.(*Recursive)
		for i, c := range n.Inputs() {
			count(c, again || recursive && i == 1)
		}
	}
	o.b.eachTree(&root, func(n Node) Node { count(n, false); return n })
}

// place is where a part occurs.
type place struct {
	times int  // how many there are
	free  bool // nothing above could leave rows out before it is run
}

// shareEqual shares the largest parts that occur more than once.
func (o *optimizer) shareEqual(root *Node) bool {
	b := o.b
	k := &keyer{b: b, keys: map[Node]planKey{}, subs: map[int]string{}}
	places := map[string]*place{}
	var count func(n Node, free bool, times int)
	count = func(n Node, free bool, times int) {
		if key := k.of(n); key.ok {
			p := places[key.hash]
			if p == nil {
				p = &place{free: true}
				places[key.hash] = p
			}
			p.times += times
			p.free = p.free && free
		}
		in := n.Inputs()
		for i, c := range in {
			switch n.(type) {
			case *Join, *Limit:
				count(c, false, times)
			case *Filter, *Project:
				count(c, free, times)
			case *Recursive:
				count(c, true, times+i)
			default:
				count(c, true, times)
			}
		}
	}
	b.eachTree(root, func(n Node) Node { count(n, true, 1); return n })
	made := map[string]*sharedPart{}
	plans := map[Node]bool{}
	b.eachShared(*root, func(s *Shared) {
		plans[s.Plan] = true
		if key := k.of(s.Plan); key.ok && made[key.hash] == nil {
			made[key.hash] = &sharedPart{shared: s, ids: s.Plan.Output()}
		}
	})
	found := false
	var replace func(n Node, top bool) Node
	replace = func(n Node, top bool) Node {
		key := k.of(n)
		if s, ok := n.(*SharedScan); ok {
			if m := made[k.of(s.Of.Plan).hash]; m != nil && m.shared != s.Of {
				found = true
				return m.instead(s)
			}
			return n
		}
		if p := places[key.hash]; key.ok && p.times > 1 && !top && (settled(n) || p.free && joins(n)) {
			found = true
			m := made[key.hash]
			if m == nil {
				m = &sharedPart{shared: b.sharing(n, ""), ids: n.Output()}
				made[key.hash] = m
				plans[n] = true
			}
			return m.read(n)
		}
		n, _ = mapInputs(n, func(c Node) (Node, error) { return replace(c, false), nil })
		return n
	}
	tops := map[Node]bool{}
	b.eachTree(root, func(n Node) Node { tops[n] = true; return n })
	b.eachTree(root, func(n Node) Node {
		if !tops[n] {
			return n // it was made just now
		}
		return replace(n, plans[n])
	})
	return found
}

// eachShared calls f for all shared parts.
func (b *binder) eachShared(root Node, f func(*Shared)) {
	seen := map[*Shared]bool{}
	var walk func(Node)
	walk = func(n Node) {
		if s, ok := n.(*SharedScan); ok && !seen[s.Of] {
			seen[s.Of] = true
			f(s.Of)
		}
		for _, c := range n.Inputs() {
			walk(c)
		}
	}
	b.eachTree(&root, func(n Node) Node { walk(n); return n })
}

// sharedPart is a part that was found more than once.
type sharedPart struct {
	shared *Shared
	ids    []ColID
}

// read is what stands where n stood.
func (m *sharedPart) read(n Node) Node {
	out := &SharedScan{Of: m.shared}
	for i, id := range n.Output() {
		out.Cols = append(out.Cols, SharedCol{ID: id, From: m.ids[i]})
	}
	return out
}

// instead reads the part in a place that reads an equal one.
func (m *sharedPart) instead(s *SharedScan) Node {
	at := map[ColID]ColID{}
	for i, id := range s.Of.Plan.Output() {
		at[id] = m.ids[i]
	}
	out := &SharedScan{Of: m.shared}
	for _, c := range s.Cols {
		out.Cols = append(out.Cols, SharedCol{ID: c.ID, From: at[c.From]})
	}
	return out
}

// joins reports whether n is a join, below conditions and projections.
func joins(n Node) bool {
	switch n := n.(type) {
	case *Filter, *Project:
		return joins(n.Inputs()[0])
	case *Join:
		return true
	}
	return false
}

// keyer gives plans keys: plans of the same key give the same rows in the same
// order, with their columns at the same positions. Columns are named by where they
// are in the input, so that ids do not matter.
type keyer struct {
	b    *binder
	keys map[Node]planKey
	subs map[int]string // of scalar subqueries, "" for none
}

// planKey is a hash of a plan; ok is false when it cannot be compared.
type planKey struct {
	hash string
	ok   bool
}

func (k *keyer) of(n Node) planKey {
	if key, ok := k.keys[n]; ok {
		return key
	}
	text, ok := k.text(n)
	key := planKey{ok: ok}
	if ok {
		sum := sha256.Sum256([]byte(text))
		key.hash = string(sum[:])
	}
	k.keys[n] = key
	return key
}

// text writes an operator down: what it does, and the keys of its inputs.
func (k *keyer) text(n Node) (string, bool) {
	at := map[ColID]int{}
	var s strings.Builder
	fmt.Fprintf(&s, "%T", n)
	in := n.Inputs()
	for _, c := range in {
		key := k.of(c)
		if !key.ok {
			return "", false
		}
		s.WriteString(" " + key.hash)
		for _, id := range c.Output() {
			at[id] = len(at)
		}
	}
	switch n := n.(type) {
	case *Scan:
		fmt.Fprintf(&s, " %p %d", n.Use, n.Limit)
		for i, c := range n.Cols {
			fmt.Fprintf(&s, " %d %q", c.Pos, c.Load.Key())
			at[c.ID] = i
		}
	case *SharedScan:
		for i, id := range n.Of.Plan.Output() {
			at[id] = i
		}
		if key := k.of(n.Of.Plan); key.ok {
			s.WriteString(" " + key.hash)
		} else {
			fmt.Fprintf(&s, " %p", n.Of) // the same rows, whatever they are
		}
		for _, c := range n.Cols {
			fmt.Fprintf(&s, " %d", at[c.From])
		}
	case *Values:
		fmt.Fprintf(&s, " %d %d", len(n.Rows), len(n.Cols))
	case *Filter, *Project, *Distinct:
	case *Sort:
		writeOrder(&s, n.Keys)
	case *TopN:
		writeOrder(&s, n.Keys)
		fmt.Fprintf(&s, " %d %d", n.Count, n.Offset)
	case *Limit:
		fmt.Fprintf(&s, " %d %d", n.Count, n.Offset)
	case *SetOp:
		fmt.Fprintf(&s, " %d %t", n.Kind, n.All)
	case *Join:
		fmt.Fprintf(&s, " %d %t %t %d %d", n.Kind, n.NullAware, n.LeftFirst, len(n.Conds), len(n.MarkConds))
		for _, e := range n.Keys {
			fmt.Fprintf(&s, " %t", e.NullSafe)
		}
	case *Expand:
		fmt.Fprintf(&s, " %v", n.Sets)
	case *Aggregate:
		fmt.Fprintf(&s, " %d", len(n.Keys))
		for _, a := range n.Aggs {
			if !k.aggregate(&s, a.Call, a.Args, at) {
				return "", false
			}
		}
	case *Window:
		fmt.Fprintf(&s, " %d", len(n.Partition))
		writeOrder(&s, n.Order)
		for _, c := range n.Calls {
			fmt.Fprintf(&s, " %q %d %t %t %d %+v", c.Name, c.N, c.IgnoreNulls, c.FromLast, len(c.Args), []any{c.Frame.Rows, c.Frame.Groups, c.Frame.Exclude,
				c.Frame.Start.Kind, c.Frame.Start.N, c.Frame.Start.Key != nil, c.Frame.End.Kind, c.Frame.End.N, c.Frame.End.Key != nil})
			if c.Agg != nil && !k.aggregate(&s, c.Agg, c.Args, at) {
				return "", false
			}
		}
	default:
		return "", false
	}
	for _, e := range n.exprs() {
		x, ok := k.expr(e, at)
		if !ok {
			return "", false
		}
		fmt.Fprintf(&s, " %q", x)
	}
	return s.String(), true
}

func writeOrder(s *strings.Builder, keys []SortKey) {
	for _, k := range keys {
		fmt.Fprintf(s, " %t %d", k.Desc, k.Nulls)
	}
}

// aggregate writes an aggregate of args.
func (k *keyer) aggregate(s *strings.Builder, a expr.Aggregate, args []expr.Expr, at map[ColID]int) bool {
	named := make([]expr.Expr, len(args))
	for i, e := range args {
		x, ok := k.expr(e, at)
		if !ok {
			return false
		}
		named[i] = keyedExpr{text: x, Expr: e}
	}
	key, ok := expr.AggregateKey(a, named)
	fmt.Fprintf(s, " %q", key)
	return ok
}

// expr is the key of an expression whose columns are named by their positions.
func (k *keyer) expr(e expr.Expr, at map[ColID]int) (string, bool) {
	ok := e.Traits()&expr.Volatile == 0
	e = expr.Transform(e, func(x expr.Expr) expr.Expr {
		switch x := x.(type) {
		case *expr.ColumnExpr:
			p, known := at[x.Pos]
			ok = ok && known
			return keyedExpr{text: fmt.Sprintf("#%d", p), Expr: x}
		case *expr.StoredExpr:
			ok = false
		case *SubqueryExpr:
			key := k.subquery(x.Index)
			ok = ok && key != ""
			return keyedExpr{text: "subquery " + key, Expr: x}
		}
		return x
	})
	if !ok {
		return "", false
	}
	return e.Key(), true
}

// subquery is the key of a scalar subquery, "" for none.
func (k *keyer) subquery(i int) string {
	if key, ok := k.subs[i]; ok {
		return key
	}
	k.subs[i] = ""
	s := k.b.subplans[i]
	if key := k.of(s.Plan); key.ok {
		for p, id := range s.Plan.Output() {
			if id == s.Col {
				k.subs[i] = fmt.Sprintf("%s %d", key.hash, p)
			}
		}
	}
	return k.subs[i]
}

// keyedExpr is an expression with another key.
type keyedExpr struct {
	expr.Expr
	text string
}

// Key implements expr.Expr.
func (e keyedExpr) Key() string { return e.text }

// Children implements expr.Expr.
func (e keyedExpr) Children() []expr.Expr { return nil }

// With implements expr.Expr.
func (e keyedExpr) With([]expr.Expr) expr.Expr { return e }

// Eval implements expr.Expr.
func (e keyedExpr) Eval(ctx *expr.Context, b *vector.Batch) (*vector.Vec, error) {
	return e.Expr.Eval(ctx, b)
}
