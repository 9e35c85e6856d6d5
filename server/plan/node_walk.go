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
	var out []expr.Expr // nil: as es
	for i, e := range es {
		d := f(e)
		if out == nil && d != e {
			out = append(make([]expr.Expr, 0, len(es)), es[:i]...)
		}
		if out != nil {
			out = append(out, d)
		}
	}
	if out == nil {
		return n
	}
	return n.withExprs(out)
}

// mapInputs returns n with f applied to its inputs; n itself when nothing
// changed.
func mapInputs(n Node, f func(Node) (Node, error)) (Node, error) {
	in := n.Inputs()
	var out []Node // nil: as in
	for i, c := range in {
		d, err := f(c)
		if err != nil {
			return nil, err
		}
		if out == nil && d != c {
			out = append(make([]Node, 0, len(in)), in[:i]...)
		}
		if out != nil {
			out = append(out, d)
		}
	}
	if out == nil {
		return n, nil
	}
	return n.With(out), nil
}
