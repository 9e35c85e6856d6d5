package session

import (
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
)

// assignedAndRead returns a read of a variable that the same statement or
// expression assigns, and the name of it; nil when there is none.
func assignedAndRead(q syntax.Node) (name string, read *syntax.UserVar) {
	assigned, targets := map[string]bool{}, map[*syntax.UserVar]bool{}
	syntax.Walk(q, func(n syntax.Node) bool {
		if a, ok := n.(*syntax.AssignExpr); ok {
			assigned[strings.ToLower(a.Var.Name)], targets[a.Var] = true, true
		}
		return true
	})
	if len(assigned) == 0 {
		return "", nil
	}
	syntax.Walk(q, func(n syntax.Node) bool {
		if v, ok := n.(*syntax.UserVar); ok && !targets[v] && assigned[strings.ToLower(v.Name)] && read == nil {
			name, read = v.Name, v
		}
		return read == nil
	})
	return name, read
}

func refuseRead(name string, read *syntax.UserVar) error {
	return errs.Unsupportedf(read.Pos(), "reading the user variable @%s in the statement that assigns it", name)
}
