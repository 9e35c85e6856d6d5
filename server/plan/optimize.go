package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// optimizer runs the rules. Each rule is in a file of its own, with the law it
// keeps; all of them keep the rows of the plan and the columns that are asked
// for, and none depends on having run.
type optimizer struct{ b *binder }

// optimize rewrites a plan of which the columns need are used.
func (o *optimizer) optimize(n Node, need []ColID) (Node, error) {
	n = o.pushdown(n, nil)
	n = o.marks(n, setOf(need))
	n = o.pushdown(n, nil)
	n, err := o.reorder(n)
	if err != nil {
		return nil, err
	}
	n = o.equiKeys(n)
	n = o.prune(n, setOf(need))
	n, err = o.counts(n)
	if err != nil {
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
		return &Filter{In: f.In, Conds: append(append([]expr.Expr(nil), f.Conds...), conds...)}
	}
	return &Filter{In: n, Conds: conds}
}
