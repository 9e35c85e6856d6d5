package plan

import (
	"slices"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/scan/expr"
)

// sharedPlans optimizes the shared parts of a query whose other parts are
// optimized, and returns those that are read.
//
// Law: a row that all readers leave out by conditions of their own, and a column
// that none of them reads, need not be there. The readers keep their conditions.
func (o *optimizer) sharedPlans(root Node) ([]*Shared, error) {
	if !o.b.shares {
		return nil, nil
	}
	var out []*Shared
	for {
		next := o.nextShared(root)
		if next == nil {
			break
		}
		if err := o.sharedPlan(root, next); err != nil {
			return nil, err
		}
	}
	o.countReads(root)
	o.b.eachShared(root, func(s *Shared) {
		out = append(out, s)
		s.Number = len(out)
	})
	return out, nil
}

// nextShared is a shared part that is not optimized, while all that read it are.
func (o *optimizer) nextShared(root Node) *Shared {
	var open []*Shared
	o.b.eachShared(root, func(s *Shared) {
		if !s.optimized {
			open = append(open, s)
		}
	})
	read := map[*Shared]bool{}
	for _, s := range open {
		o.b.eachShared(s.Plan, func(below *Shared) { read[below] = true })
	}
	for _, s := range open {
		if !read[s] {
			return s
		}
	}
	return nil
}

// reader is a place that reads a shared part, with the conditions right above it.
type reader struct {
	scan  *SharedScan
	conds []expr.Expr
}

func (o *optimizer) readers(root Node, s *Shared) (out []reader) {
	var walk func(n Node)
	walk = func(n Node) {
		switch n := n.(type) {
		case *SharedScan:
			if n.Of == s {
				out = append(out, reader{scan: n})
			}
		case *Filter:
			if in, ok := n.In.(*SharedScan); ok && in.Of == s {
				out = append(out, reader{in, n.Conds})
				return
			}
		}
		for _, c := range n.Inputs() {
			walk(c)
		}
	}
	o.b.eachTree(&root, func(n Node) Node { walk(n); return n })
	return out
}

func (o *optimizer) sharedPlan(root Node, s *Shared) error {
	s.optimized = true
	need := colSet{}
	plan := s.Plan
	if o.b.pieces {
		need = setOf(plan.Output()) // more of the statement's plans may read it
	} else {
		readers := o.readers(root, s)
		for _, r := range readers {
			for _, c := range r.scan.Cols {
				need[c.From] = true
			}
		}
		if !o.b.volatile(plan) {
			conds, err := o.wanted(readers)
			if err != nil {
				return err
			}
			plan = filtered(plan, conds)
		}
	}
	if ids := plan.Output(); len(need) == 0 && len(ids) > 0 {
		need[ids[0]] = true
	}
	ids := slices.DeleteFunc(slices.Clone(plan.Output()), func(id ColID) bool { return !need[id] })
	plan, err := o.optimize(plan, ids)
	if err != nil {
		return err
	}
	s.Plan = o.exact(plan, ids)
	return nil
}

// mostReaders is the most readers whose conditions are put together.
const mostReaders = 16

// wanted are conditions that every row satisfies that a reader wants.
func (o *optimizer) wanted(readers []reader) ([]expr.Expr, error) {
	if len(readers) > mostReaders {
		return nil, nil
	}
	var any []expr.Expr
	seen := map[string]bool{}
	for _, r := range readers {
		from := map[ColID]ColID{}
		for _, c := range r.scan.Cols {
			from[c.ID] = c.From
		}
		var all []expr.Expr
		for _, c := range r.conds {
			if c.Traits()&expr.Volatile != 0 || hasSubquery(c) {
				continue
			}
			known := true
			x := expr.Remap(c, func(id int) int {
				to, ok := from[id]
				known = known && ok
				return to
			})
			if !known {
				return nil, errs.Internalf("plan query: a condition on shared rows reads a column that is not theirs")
			}
			all = append(all, x)
		}
		if len(all) == 0 {
			return nil, nil
		}
		x, err := o.all("AND", all)
		if err != nil {
			return nil, err
		}
		if k := x.Key(); !seen[k] {
			seen[k] = true
			any = append(any, x)
		}
	}
	if len(any) == 0 {
		return nil, nil
	}
	if len(any) == 1 {
		return ands(any[0], nil), nil
	}
	x, err := o.all("OR", any)
	if err != nil {
		return nil, err
	}
	return o.factored(x), nil
}

// hasSubquery reports whether an expression needs the value of a subquery, which
// may read the very rows that the expression is about.
func hasSubquery(e expr.Expr) (found bool) {
	expr.Walk(e, func(x expr.Expr) bool {
		_, ok := x.(*SubqueryExpr)
		found = found || ok
		return !found
	})
	return found
}

// sharedRows guesses the rows of a shared part, which may not be optimized yet.
func (o *optimizer) sharedRows(s *Shared) float64 {
	if s.rows == 0 {
		s.rows = 1e6
		n := o.pushdown(s.Plan, nil)
		if r, err := o.reorder(n); err == nil {
			n = r
		}
		s.rows = o.estimate(o.equiKeys(n))
	}
	return s.rows
}
