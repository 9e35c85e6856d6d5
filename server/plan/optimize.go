package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// optimizer runs the rules. Each rule is in a file of its own, with the law it
// keeps; all of them keep the rows of the plan and the columns that are asked
// for, and none depends on having run.
type optimizer struct {
	b *binder

	// What estimates know: of tables, and where columns of the plans come from.
	facts   map[*TableUse]*facts
	sources map[ColID]source
	roots   []Node
	next    int // the first root that is not in sources yet
	seen    map[*Shared]bool
}

// optimize rewrites a plan of which the columns need are used.
func (o *optimizer) optimize(n Node, need []ColID) (Node, error) {
	o.roots = append(o.roots, n)
	n = o.pushdown(n, nil)
	n = o.marks(n, setOf(need))
	n = o.pushdown(n, nil)
	n = o.semis(n)
	n, err := o.reorder(n)
	if err != nil {
		return nil, err
	}
	n = o.equiKeys(n)
	if n, err = o.sums(n); err != nil {
		return nil, err
	}
	if n, err = o.eager(n); err != nil {
		return nil, err
	}
	n = o.distincts(n)
	n = o.keys(n)
	n = o.prune(n, setOf(need))
	n, err = o.counts(n)
	if err != nil {
		return nil, err
	}
	if n, err = o.extremes(n); err != nil {
		return nil, err
	}
	n = o.topN(n)
	n = o.limits(n)
	return o.sides(n)
}

// each applies f to all nodes, bottom-up.
func each(n Node, f func(Node) Node) Node {
	n, _ = mapInputs(n, func(c Node) (Node, error) { return each(c, f), nil })
	return f(n)
}

// substitute replaces columns by expressions.
func substitute(e expr.Expr, by map[ColID]expr.Expr) expr.Expr {
	return expr.Transform(e, func(x expr.Expr) expr.Expr {
		if id, ok := plainColumn(x); ok {
			if y := by[id]; y != nil {
				return y
			}
		}
		return x
	})
}

// filtered puts conditions above a node.
func filtered(n Node, conds []expr.Expr) Node {
	if len(conds) == 0 {
		return n
	}
	if f, ok := n.(*Filter); ok {
		return &Filter{In: f.In, Conds: joined(f.Conds, conds)}
	}
	return &Filter{In: n, Conds: conds}
}

// joined appends conditions that are not there yet.
func joined(a, b []expr.Expr) []expr.Expr {
	out := append([]expr.Expr(nil), a...)
	seen := map[string]bool{}
	for _, c := range a {
		seen[c.Key()] = true
	}
	for _, c := range b {
		if k := c.Key(); !seen[k] || c.Traits()&expr.Volatile != 0 {
			seen[k] = true
			out = append(out, c)
		}
	}
	return out
}
