package session

import (
	"maps"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
)

// inlineAssignments rewrites a SELECT whose list assigns expressions of columns
// to user variables and reads them in later items of the same row, as ODBC
// drivers do in their catalogue queries: a read becomes the expression that was
// assigned. MySQL evaluates the items of a row from left to right, so the rows
// are the same. It reports false, and returns q, where that is not so plain:
// reads of the row before, assignments outside the list, under AND, OR or
// grouping. Without FROM the assignments stay, so that they are kept.
func inlineAssignments(q *syntax.Query) (*syntax.Query, bool) {
	sel, ok := q.Body.(*syntax.Select)
	if !ok || sel.GroupBy != nil || sel.Having != nil || sel.Distinct || len(sel.Windows) > 0 {
		return q, false
	}
	x := inliner{assigned: map[string]bool{}, keep: sel.From == nil}
	needed := false
	for _, it := range sel.Items {
		syntax.Walk(it, func(n syntax.Node) bool {
			if a, ok := n.(*syntax.AssignExpr); ok {
				x.assigned[strings.ToLower(a.Var.Name)] = true
				needed = needed || sel.From != nil && varies(a.Value)
			}
			return true
		})
	}
	if len(x.assigned) == 0 || x.mentions(sel.Where) || x.mentions(sel.From) {
		return q, false
	}
	if _, reads := assignedAndRead(q); reads == nil && !needed {
		return q, false
	}
	for _, o := range q.OrderBy {
		if x.mentions(o) {
			return q, false
		}
	}
	values := map[string]syntax.Expr{}
	out := *sel
	out.Items = nil
	for _, it := range sel.Items {
		c := *it
		c.Expr = x.expr(it.Expr, values)
		if x.failed {
			return q, false
		}
		out.Items = append(out.Items, &c)
	}
	r := *q
	r.Body = &out
	return &r, true
}

type inliner struct {
	assigned map[string]bool // variables that the list assigns, lower case
	keep     bool            // leave the assignments
	failed   bool
}

// varies reports whether an expression may have another value for each row.
func varies(e syntax.Expr) bool {
	found := false
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.ColumnRef, *syntax.Query:
			found = true
		}
		return !found
	})
	return found
}

// volatile reports whether an expression may not be computed twice.
func volatile(e syntax.Expr) bool {
	found := false
	syntax.Walk(e, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncCall); ok {
			switch strings.ToUpper(f.Name.Object()) {
			case "RAND", "UUID", "UUID_SHORT", "SLEEP", "SYSDATE", "RANDOM_BYTES":
				found = true
			}
		}
		return !found
	})
	return found
}

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

// settled rewrites what can be rewritten of a query's assignments to user
// variables and refuses the rest: variables are read when a statement starts.
func settled(q *syntax.Query) (out *syntax.Query, inlined bool, err error) {
	out, inlined = inlineAssignments(q)
	if name, read := assignedAndRead(out); read != nil {
		return nil, false, refuseRead(name, read)
	}
	sel, _ := out.Body.(*syntax.Select)
	return out, inlined && sel.From != nil, nil
}

// mentions reports whether an assigned variable occurs below n.
func (x *inliner) mentions(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		if v, ok := n.(*syntax.UserVar); ok && x.assigned[strings.ToLower(v.Name)] {
			found = true
		}
		return !found
	})
	return found
}

// expr returns e with assignments replaced by their values and reads by what was
// assigned; values changes as evaluation goes on. A nil value is one that cannot
// be known here.
func (x *inliner) expr(e syntax.Expr, values map[string]syntax.Expr) syntax.Expr {
	if e == nil || x.failed || !x.mentions(e) {
		return e
	}
	switch e := e.(type) {
	case *syntax.AssignExpr:
		v := x.expr(e.Value, values)
		if values[strings.ToLower(e.Var.Name)] = v; volatile(v) {
			values[strings.ToLower(e.Var.Name)] = nil
		}
		if x.keep {
			return &syntax.AssignExpr{At: e.At, Var: e.Var, Value: v}
		}
		return v
	case *syntax.UserVar:
		if v := values[strings.ToLower(e.Name)]; v != nil {
			return v
		}
		x.failed = true
		return e
	case *syntax.Case:
		return x.branches(e, values)
	case *syntax.FuncCall:
		if e.Is("IF") && len(e.Args) == 3 {
			c := &syntax.Case{At: e.At, Whens: []*syntax.When{{At: e.At, Cond: e.Args[0], Result: e.Args[1]}}, Else: e.Args[2]}
			return x.branches(c, values)
		}
		if e.Over != nil || e.Is("IFNULL") || e.Is("COALESCE") || e.Is("NULLIF") || len(e.OrderBy) > 0 || e.Filter != nil {
			break
		}
		c := *e
		c.Args = make([]syntax.Expr, len(e.Args))
		for i, a := range e.Args {
			c.Args[i] = x.expr(a, values)
		}
		return &c
	case *syntax.Binary:
		if (e.Op == syntax.OpAnd || e.Op == syntax.OpOr || e.Op == syntax.OpXor) && x.assigns(e) {
			break
		}
		c := *e
		c.L = x.expr(e.L, values)
		c.R = x.expr(e.R, values)
		return &c
	case *syntax.Unary:
		c := *e
		c.X = x.expr(e.X, values)
		return &c
	case *syntax.Cast:
		if e.AtTimeZone != nil {
			break
		}
		c := *e
		c.X = x.expr(e.X, values)
		return &c
	case *syntax.Is:
		c := *e
		c.X = x.expr(e.X, values)
		return &c
	}
	x.failed = true
	return e
}

func (x *inliner) assigns(e syntax.Expr) bool {
	found := false
	syntax.Walk(e, func(n syntax.Node) bool {
		if _, ok := n.(*syntax.AssignExpr); ok {
			found = true
		}
		return !found
	})
	return found
}

// branches inlines a CASE. What a variable holds after it is a CASE of the same
// conditions over what it holds after each branch.
func (x *inliner) branches(e *syntax.Case, values map[string]syntax.Expr) syntax.Expr {
	c := &syntax.Case{At: e.At}
	if e.Operand != nil {
		c.Operand = x.expr(e.Operand, values)
	}
	var after []map[string]syntax.Expr
	for _, w := range e.Whens {
		if x.assigns(w.Cond) {
			x.failed = true
			return e
		}
		branch := maps.Clone(values)
		c.Whens = append(c.Whens, &syntax.When{At: w.At, Cond: x.expr(w.Cond, values), Result: x.expr(w.Result, branch)})
		after = append(after, branch)
	}
	last := maps.Clone(values)
	c.Else = x.expr(e.Else, last)
	after = append(after, last)
	if x.failed {
		return e
	}
	changed := map[string]bool{}
	for _, a := range after {
		for name, v := range a {
			if values[name] != v {
				changed[name] = true
			}
		}
	}
	for name := range changed {
		merged := &syntax.Case{At: e.At, Operand: c.Operand, Else: last[name]}
		known := last[name] != nil
		for i, w := range c.Whens {
			v := after[i][name]
			known = known && v != nil
			merged.Whens = append(merged.Whens, &syntax.When{At: w.At, Cond: w.Cond, Result: v})
		}
		if values[name] = nil; known {
			values[name] = merged
		}
	}
	return c
}

func refuseRead(name string, read *syntax.UserVar) error {
	return errs.Unsupportedf(read.Pos(), "reading the user variable @%s in the statement that assigns it", name)
}
