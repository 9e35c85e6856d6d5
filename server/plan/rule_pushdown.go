package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// pushdown moves conditions towards the tables.
//
// Law: a condition may pass an operator when every row of the result that it
// rejects comes only from rows below that it rejects, too. So conditions pass
// projections with the computed columns written out, the sides of inner joins,
// the preserved side of outer joins; they pass a grouping when they read its
// keys only and cannot tell equal keys apart. What is volatile stays where it
// is, and so does everything above a limit.
func (o *optimizer) pushdown(n Node, conds []expr.Expr) Node {
	conds, never := o.settled(conds)
	if never {
		return &Values{Cols: n.Output()}
	}
	switch n := n.(type) {
	case *Filter:
		var down, stay []expr.Expr
		for _, c := range n.Conds {
			if c.Traits()&expr.Volatile != 0 {
				stay = append(stay, c)
			} else {
				down = append(down, c)
			}
		}
		if stay != nil {
			// What was above stays above: a volatile condition sees all its rows.
			return filtered(filtered(o.pushdown(n.In, down), stay), conds)
		}
		return o.pushdown(n.In, append(down, conds...))
	case *Project:
		by := map[ColID]expr.Expr{}
		fixed := map[ColID]bool{}
		for _, it := range n.Items {
			by[it.ID] = it.Expr
			if it.Expr.Traits()&expr.Volatile != 0 {
				fixed[it.ID] = true
			}
		}
		var down, stay []expr.Expr
		for _, c := range conds {
			if reads(c, fixed) {
				stay = append(stay, c)
			} else {
				down = append(down, o.simplified(substitute(c, by)))
			}
		}
		return filtered(n.With([]Node{o.pushdown(n.In, down)}), stay)
	case *Scan:
		if len(conds) == 0 {
			return n
		}
		c := *n
		c.Conds = joined(n.Conds, conds)
		return &c
	case *Aggregate:
		by := map[ColID]expr.Expr{}
		for _, k := range n.Keys {
			if Exact(k.Expr.Type()) && k.Expr.Traits()&expr.Volatile == 0 {
				by[k.ID] = k.Expr
			}
		}
		down, stay := split(conds, func(c expr.Expr) bool { return len(n.Keys) > 0 && known(c, by) })
		keys := colSet{}
		for id := range by {
			keys[id] = true
		}
		for _, c := range stay {
			if x, ok := o.implied(c, keys); ok && len(n.Keys) > 0 {
				down = append(down, x)
			}
		}
		for i, c := range down {
			down[i] = substitute(c, by)
		}
		return filtered(n.With([]Node{o.pushdown(n.In, down)}), stay)
	case *Distinct:
		down, stay := split(conds, binaryOnly)
		return filtered(n.With([]Node{o.pushdown(n.In, down)}), stay)
	case *Sort:
		return n.With([]Node{o.pushdown(n.In, conds)})
	case *SetOp:
		down, stay := split(conds, func(c expr.Expr) bool { return n.Kind == Union && n.All || binaryOnly(c) })
		in := make([]Node, len(n.In))
		for i, x := range n.In {
			by := map[ColID]expr.Expr{}
			for p, id := range x.Output() {
				by[n.Cols[p]] = o.b.col(id)
			}
			mine := make([]expr.Expr, len(down))
			for k, c := range down {
				mine[k] = substitute(c, by)
			}
			in[i] = o.pushdown(x, mine)
		}
		return filtered(n.With(in), stay)
	case *Generate:
		in, made := setOf(n.In.Output()), setOf(n.Cols)
		c := *n
		down, stay := split(conds, in.covers)
		for _, x := range stay {
			if c.Outer && rejectsNull(x, made) {
				c.Outer, c.Conds, stay = false, nil, append(stay, c.Conds...)
			}
		}
		c.In = o.pushdown(n.In, down)
		return filtered(&c, stay)
	case *Join:
		return o.pushJoin(n, conds)
	}
	n, _ = mapInputs(n, func(c Node) (Node, error) { return o.pushdown(c, nil), nil })
	return filtered(n, conds)
}

// settled drops conditions that are always TRUE; never says that one never is.
func (o *optimizer) settled(conds []expr.Expr) (out []expr.Expr, never bool) {
	for _, c := range conds {
		if l, ok := c.(*expr.LiteralExpr); ok {
			if v, ok := integerOf(l); ok && v != 0 || isTrue(l) {
				continue
			}
			return nil, true
		}
		out = append(out, c)
	}
	return out, false
}

// simplified computes what is constant in a condition. What is NULL counts as
// FALSE there: ANDs and ORs at the top are TRUE for the same rows.
func (o *optimizer) simplified(c expr.Expr) expr.Expr {
	op := expr.Operator(c)
	if op != "AND" && op != "OR" {
		if len(expr.ColumnsOf(c)) > 0 || c.Traits()&^expr.ReadsColumns != 0 || hasSubquery(c) {
			return c
		}
		return expr.Fold(o.b.env.Expr, c)
	}
	var rest []expr.Expr
	changed := false
	for _, k := range operands(op, c, nil) {
		x := o.simplified(k)
		changed = changed || x != k
		if l, ok := x.(*expr.LiteralExpr); ok && l.Val.Type.Class != expr.Bool && l.Val.Type.Class != expr.Int && !l.Val.IsNull() {
			rest = append(rest, x)
			continue
		}
		if left, never := o.settled([]expr.Expr{x}); never {
			if op == "AND" {
				return expr.Literal(expr.IntValue(0))
			}
			changed = true
			continue
		} else if left == nil {
			if op == "OR" {
				return expr.Literal(expr.IntValue(1))
			}
			changed = true
			continue
		}
		rest = append(rest, x)
	}
	if !changed {
		return c
	}
	if rest == nil {
		return expr.Literal(expr.IntValue(map[string]int64{"AND": 1, "OR": 0}[op]))
	}
	x, err := o.all(op, rest)
	if err != nil {
		return c
	}
	return x
}

// isTrue reports whether a literal predicate is TRUE.
func isTrue(l *expr.LiteralExpr) bool {
	return l.Val.Type.Class == expr.Bool && !l.Val.IsNull() && l.Val.Vec.I8s[0] != 0
}

func split(conds []expr.Expr, f func(expr.Expr) bool) (yes, no []expr.Expr) {
	for _, c := range conds {
		if f(c) {
			yes = append(yes, c)
		} else {
			no = append(no, c)
		}
	}
	return yes, no
}

// known reports whether a condition reads columns of by only.
func known(c expr.Expr, by map[ColID]expr.Expr) bool {
	for _, id := range expr.ColumnsOf(c) {
		if by[id] == nil {
			return false
		}
	}
	return true
}

// binaryOnly reports whether a condition reads only columns whose equal values
// are the same, so that it cannot tell apart what DISTINCT holds to be equal.
func binaryOnly(c expr.Expr) bool {
	ok := true
	expr.Walk(c, func(x expr.Expr) bool {
		if _, is := plainColumn(x); is && !Exact(x.Type()) {
			ok = false
		}
		return ok
	})
	return ok
}

// pushJoin distributes the conditions above a join, and its own.
func (o *optimizer) pushJoin(n *Join, conds []expr.Expr) Node {
	left, right := setOf(n.Left.Output()), setOf(n.Right.Output())
	j := *n
	var lc, rc, stay []expr.Expr
	// An outer join whose added NULLs are rejected above is none.
	for _, c := range conds {
		rejectsR, rejectsL := rejectsNull(c, right), rejectsNull(c, left)
		switch {
		case j.Kind == Left && rejectsR:
			j.Kind = Inner
		case j.Kind == Right && rejectsL:
			j.Kind = Inner
		case j.Kind == Full && rejectsL && rejectsR:
			j.Kind = Inner
		case j.Kind == Full && rejectsR:
			j.Kind = Right
		case j.Kind == Full && rejectsL:
			j.Kind = Left
		}
	}
	own := j.Conds
	j.Conds = nil
	if j.Kind == Inner {
		conds, own = o.factor(append(append([]expr.Expr(nil), own...), conds...)), nil
	}
	for _, c := range conds {
		l, r := left.covers(c), right.covers(c)
		switch j.Kind {
		case Inner:
			switch {
			case l:
				lc = append(lc, c)
			case r:
				rc = append(rc, c)
			default:
				j.Conds = append(j.Conds, c)
				if x, ok := o.implied(c, left); ok {
					lc = append(lc, x)
				}
				if x, ok := o.implied(c, right); ok {
					rc = append(rc, x)
				}
			}
		case Left, Semi, Anti, Mark, Single:
			if l {
				lc = append(lc, c)
			} else {
				stay = append(stay, c)
			}
		case Right:
			if r {
				rc = append(rc, c)
			} else {
				stay = append(stay, c)
			}
		default:
			stay = append(stay, c)
		}
	}
	for _, c := range own {
		switch j.Kind {
		case Left, Anti, Mark, Single:
			if right.covers(c) {
				rc = append(rc, c)
				continue
			}
		case Semi:
			if left.covers(c) {
				lc = append(lc, c)
				continue
			}
			if right.covers(c) {
				rc = append(rc, c)
				continue
			}
		case Right:
			if left.covers(c) {
				lc = append(lc, c)
				continue
			}
		}
		j.Conds = append(j.Conds, c)
	}
	j.Left = o.pushdown(n.Left, lc)
	j.Right = o.pushdown(n.Right, rc)
	return filtered(&j, stay)
}
