package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// A query may read the rows of one of its parts in several places: a common table
// expression or view that it names twice, a subquery that is written twice. Such a
// part is a Shared: it has its own plan, which is run once, and every place that
// reads its rows is a SharedScan.
//
// What is shared is decided in two steps. The binder binds a common table
// expression once and shares it where that must be or clearly pays (cteQuery):
// where it is volatile (RAND(), UUID()), so that all places see the same rows,
// and where its rows are settled, so that little of what stands above it could
// have been done below (settled). All else is bound for every place, and rule_share
// finds what is equal in the end, common table expression or not.
//
// Then every reader is planned like any other part; what all of them leave out, by
// conditions or columns, is left out of the shared plan, too (sharedPlans).

// Shared is a part of a query that is run once and read in several places.
type Shared struct {
	// Plan gives the rows. Once it is optimized it has only columns that are read.
	Plan Node
	// Name is that of the common table expression, "" for others.
	Name string
	// Number is the place in Query.Shared, from 1.
	Number int
	// Reads is the number of places that read it. Again says that one of them does
	// so more than once: it is in the step of a recursive query.
	Reads int
	Again bool

	cols      []Column // of Plan as it was bound
	optimized bool
	rows      float64 // estimate, 0: not made yet
}

// SharedScan gives the rows of a Shared.
type SharedScan struct {
	Of   *Shared
	Cols []SharedCol
}

// SharedCol is column From of the shared plan under an id of its own.
type SharedCol struct{ ID, From ColID }

// Inputs implements Node. The shared plan is none of them: it belongs to the query.
func (n *SharedScan) Inputs() []Node { return nil }

// With implements Node.
func (n *SharedScan) With([]Node) Node { return n }

// Output implements Node.
func (n *SharedScan) Output() []ColID {
	out := make([]ColID, len(n.Cols))
	for i, c := range n.Cols {
		out[i] = c.ID
	}
	return out
}

func (n *SharedScan) exprs() []expr.Expr         { return nil }
func (n *SharedScan) withExprs([]expr.Expr) Node { return n }

// sharedQuery is a bound query that is shared.
type sharedQuery struct {
	*result
	shared *Shared
	read   bool
}

// share makes a bound query one that is shared.
func (b *binder) share(r *result, name string) *sharedQuery {
	return &sharedQuery{result: r, shared: b.sharing(r.node, name)}
}

func (b *binder) sharing(n Node, name string) *Shared {
	b.shares = true
	s := &Shared{Plan: n, Name: name}
	for _, id := range n.Output() {
		s.cols = append(s.cols, b.cols[id])
	}
	return s
}

// reading is the result of a shared query in one more place. The first one's
// columns are those of the query itself.
func (b *binder) reading(q *sharedQuery) *result {
	n := &SharedScan{Of: q.shared}
	to := map[ColID]ColID{}
	for _, c := range q.shared.cols {
		from := c.ID
		to[from] = from
		if q.read {
			to[from] = b.newCol(c)
		}
		n.Cols = append(n.Cols, SharedCol{ID: to[from], From: from})
	}
	out := &result{node: n, unique: q.unique}
	for _, c := range q.cols {
		c.ID = to[c.ID]
		out.cols = append(out.cols, c)
	}
	for i, id := range q.exact {
		if out.exact == nil {
			out.exact = map[int]ColID{}
		}
		out.exact[i] = to[id]
	}
	if q.read {
		for _, c := range q.shared.cols {
			if raw, ok := b.raws[c.ID]; ok {
				if up, ok := to[raw]; ok {
					b.keepRaw(to[c.ID], up)
				}
			}
		}
	}
	q.read = true
	return out
}

// cteQuery is the query of a common table expression in a place that reads it.
func (bl *block) cteQuery(c *cte) (*result, error) {
	b := bl.b
	switch {
	case c.work != nil:
		return b.previous(c), nil
	case c.shared != nil:
		return b.reading(c.shared), nil
	}
	var r *result
	var err error
	if c.recursive {
		r, err = b.recursive(c)
	} else {
		r, err = b.query(c.def.Query, c.block, c.outer)
	}
	if err != nil || !b.boundOnce(r.node) {
		return r, err
	}
	c.shared = b.share(r, c.def.Name.Name)
	return b.reading(c.shared), nil
}

// mostParts is the most tables that a common table expression may read to be bound
// for every place that reads it: those that read each other would multiply.
const mostParts = 8

// boundOnce reports whether a common table expression is shared by all places that
// read it, whatever they do with its rows.
func (b *binder) boundOnce(n Node) bool {
	switch {
	case b.stream != nil || len(free(n)) > 0:
		return false
	case b.volatile(n):
		return true
	case b.env.NoSharing:
		return false
	}
	return settled(n) || parts(n) > mostParts
}

// settled reports whether the rows of n are the result of work that conditions and
// joins above it cannot make much smaller: an aggregation, distinct rows, a window,
// the first rows, a recursion. What is not settled are tables, their projections and
// joins, where it pays to filter early.
func settled(n Node) bool {
	switch n := n.(type) {
	case *Aggregate, *Distinct, *Window, *Recursive, *Limit, *TopN, *OrElse, *InOrder:
		return true
	case *SetOp:
		if n.Kind != Union || !n.All {
			return true
		}
		for _, in := range n.In {
			if settled(in) {
				return true
			}
		}
		return false
	case *Filter, *Project, *Sort:
		return settled(n.Inputs()[0])
	}
	return false
}

// parts counts the tables and other sources of rows that n reads.
func parts(n Node) int {
	in := n.Inputs()
	if len(in) == 0 {
		return 1
	}
	k := 0
	for _, c := range in {
		k += parts(c)
	}
	return k
}

// volatile reports whether n, or a subquery in it, would give other rows the next
// time. What it reads of a Shared would not.
func (b *binder) volatile(n Node) bool {
	for _, e := range n.exprs() {
		if e.Traits()&expr.Volatile != 0 {
			return true
		}
		found := false
		expr.Walk(e, func(x expr.Expr) bool {
			if s, ok := x.(*SubqueryExpr); ok {
				found = found || b.volatile(b.subplans[s.Index].Plan)
			}
			return !found
		})
		if found {
			return true
		}
	}
	for _, c := range n.Inputs() {
		if b.volatile(c) {
			return true
		}
	}
	return false
}
