package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// colSet is a set of columns.
type colSet map[ColID]bool

func setOf(ids []ColID) colSet {
	s := make(colSet, len(ids))
	for _, id := range ids {
		s[id] = true
	}
	return s
}

// covers reports whether every column that e reads is in s.
func (s colSet) covers(e expr.Expr) bool {
	for _, c := range expr.ColumnsOf(e) {
		if !s[c] {
			return false
		}
	}
	return true
}

// any reports whether the sets have a column in common.
func (s colSet) any(o colSet) bool {
	for id := range o {
		if s[id] {
			return true
		}
	}
	return false
}

// addOf adds the columns that e reads.
func (s colSet) addOf(e expr.Expr) {
	for _, c := range expr.ColumnsOf(e) {
		s[c] = true
	}
}

// mapExprs returns n with f applied to all its expressions; n itself when
// nothing changed.
func mapExprs(n Node, f func(expr.Expr) expr.Expr) Node {
	es := n.exprs()
	out := make([]expr.Expr, len(es))
	changed := false
	for i, e := range es {
		out[i] = f(e)
		changed = changed || out[i] != e
	}
	if !changed {
		return n
	}
	return n.withExprs(out)
}

// mapInputs returns n with f applied to its inputs; n itself when nothing
// changed.
func mapInputs(n Node, f func(Node) (Node, error)) (Node, error) {
	in := n.Inputs()
	out := make([]Node, len(in))
	changed := false
	for i, c := range in {
		d, err := f(c)
		if err != nil {
			return nil, err
		}
		out[i] = d
		changed = changed || d != c
	}
	if !changed {
		return n, nil
	}
	return n.With(out), nil
}
