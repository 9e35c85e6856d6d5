package session

import (
	"context"
	"strings"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// keptAssignment is an item of a select list that assigns its whole value to a
// user variable: after the SELECT the variable has the value of the last row.
type keptAssignment struct {
	name string
	item int
}

// keptAssignments returns them, and whether there are no other assignments.
func keptAssignments(q *syntax.Query) (out []keptAssignment, all bool) {
	sel, ok := q.Body.(*syntax.Select)
	if !ok || sel.From == nil {
		return nil, false
	}
	all = true
	for i, it := range sel.Items {
		if _, star := it.Expr.(*syntax.Star); star {
			return nil, false // the number of columns before the next item is not known here
		}
		n := 0
		syntax.Walk(it.Expr, func(n2 syntax.Node) bool {
			if _, ok := n2.(*syntax.AssignExpr); ok {
				n++
			}
			return true
		})
		if a, ok := it.Expr.(*syntax.AssignExpr); ok && n == 1 {
			out = append(out, keptAssignment{strings.ToLower(a.Var.Name), i})
		} else if n > 0 {
			all = false
		}
	}
	return out, all
}

// assigning passes rows on and assigns the last one's values at their end.
type assigning struct {
	connector.BatchReader
	s     *Session
	types []Column
	vars  []keptAssignment
	last  []*vector.Vec
}

// Next implements connector.BatchReader.
func (a *assigning) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := a.BatchReader.Next(ctx)
	if err != nil {
		return nil, err
	}
	if b == nil {
		for i, v := range a.last {
			functions{a.s}.SetUserVariable(a.vars[i].name, expr.Value{Type: a.types[a.vars[i].item].Type, Vec: v.AsConst(1)})
		}
		a.last = nil
		return nil, nil
	}
	if n := b.Rows(); n > 0 {
		a.last = a.last[:0]
		for _, v := range a.vars {
			a.last = append(a.last, b.Cols[v.item].Flatten().Gather([]uint16{uint16(b.Row(n - 1))}))
		}
	}
	return b, nil
}
