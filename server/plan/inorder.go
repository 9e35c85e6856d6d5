package plan

import (
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// Statements that assign user variables and read them (or LAST_INSERT_ID) compute
// the select lists that do so row by row, by InOrder, as MySQL does: after FROM,
// WHERE and ORDER BY, for the rows that LIMIT leaves. Where MySQL's own order is not
// as plain (grouping, DISTINCT, conditions, several parts of a statement that share
// a variable) they are refused.

// rowOrder is what a binder knows of select lists that are computed row by row.
type rowOrder struct {
	count int             // of lists without FROM
	lists map[string]int  // by variable: the number of the last list without FROM that has it
	from  map[string]bool // variables of lists with FROM
}

// tracking returns env, with the variables that the query assigns and that must be
// read row by row.
func tracking(env *Env, q syntax.Node) *Env {
	names := RowVariables(q)
	if len(names) == 0 {
		return env
	}
	e, x := *env, *env.Expr
	x.Assigning = &expr.Assigning{Names: names}
	e.Expr = &x
	return &e
}

// RowVariables are the variables that a tree assigns and reads, or to which it
// assigns what depends on a row.
func RowVariables(q syntax.Node) map[string]bool {
	assigned, varies, read := map[string]bool{}, map[string]bool{}, map[string]bool{}
	targets := map[*syntax.UserVar]bool{}
	syntax.Walk(q, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignExpr:
			name := strings.ToLower(n.Var.Name)
			assigned[name], targets[n.Var] = true, true
			syntax.Walk(n.Value, func(x syntax.Node) bool {
				switch x.(type) {
				case *syntax.ColumnRef, *syntax.Query, *syntax.UserVar, *syntax.FuncCall:
					varies[name] = true
				}
				return !varies[name]
			})
		case *syntax.FuncCall:
			if n.Is("LAST_INSERT_ID") && len(n.Args) > 0 {
				assigned[expr.LastInsertID], varies[expr.LastInsertID] = true, true
			}
		}
		return true
	})
	if len(assigned) == 0 {
		return nil
	}
	syntax.Walk(q, func(n syntax.Node) bool {
		if v, ok := n.(*syntax.UserVar); ok && !targets[v] {
			read[strings.ToLower(v.Name)] = true
		}
		return true
	})
	out := map[string]bool{}
	for name := range assigned {
		if varies[name] || read[name] {
			out[name] = true
		}
	}
	return out
}

// inOrder makes ctx that of an item of a select list.
func (bl *block) inOrder(ctx *expr.Context, q *syntax.Select) {
	if ctx.Assigning == nil || q.GroupBy != nil || q.Having != nil || q.Qualify != nil || q.Distinct || bl.outer != nil {
		return // variables are refused
	}
	ctx.InOrder = true
	ctx.Assigning.Met = func(name string) {
		if bl.met == nil {
			bl.met = map[string]bool{}
		}
		bl.met[name] = true
	}
}

// ownVariables checks that the variables of a select list belong to no other, but
// for lists without FROM in its own FROM, which give them their first values. made
// is the number of lists without FROM before its FROM was bound.
func (bl *block) ownVariables(q *syntax.Select, made int) error {
	if len(bl.met) == 0 {
		return nil
	}
	o := &bl.b.inOrder
	if len(bl.windows) > 0 {
		return errs.Unsupportedf(q.Pos(), "assigning user variables beside window functions")
	}
	if o.from == nil {
		o.from, o.lists = map[string]bool{}, map[string]int{}
	}
	if q.From == nil {
		o.count++
	}
	for name := range bl.met {
		if o.from[name] || q.From != nil && o.lists[name] > 0 && o.lists[name] <= made {
			return errs.Unsupportedf(q.Pos(), "the variable @%s in two parts of a statement that assigns it, which may run at the same time", name)
		}
		if q.From == nil {
			o.lists[name] = o.count
		} else {
			o.from[name] = true
		}
	}
	return nil
}

// finishInOrder makes the columns of a select list that is computed row by row, and
// the order: sorted first, unless the order is by what is computed.
func (bl *block) finishInOrder(keys []*orderKey) (*result, error) {
	b := bl.b
	r := &result{}
	n := &InOrder{}
	assigns := func(x expr.Expr) bool { return x.Traits()&expr.Volatile != 0 }
	for _, it := range bl.items {
		c := Column{Name: it.name, Type: it.bound.Type()}
		if id, ok := plainColumn(it.bound); ok {
			o := b.cols[id]
			c.Database, c.Table, c.OrgTable, c.OrgName, c.Key, c.field = o.Database, o.Table, o.OrgTable, o.OrgName, o.Key, o.field
		}
		it.id = b.newCol(c)
		n.Items = append(n.Items, Item{it.id, it.bound})
		r.cols = append(r.cols, b.cols[it.id])
	}
	before, after := 0, 0
	for _, k := range keys {
		if k.item > 0 && assigns(bl.items[k.item-1].bound) {
			after++
		} else {
			before++
		}
	}
	var sort []SortKey
	n.In = bl.node
	switch {
	case before > 0 && after > 0:
		return nil, errs.Unsupportedf(keys[0].pos, "ORDER BY what assigns a user variable and something else")
	case after > 0:
		for _, k := range keys {
			s := k.SortKey
			s.Expr = b.col(bl.items[k.item-1].id)
			sort = append(sort, s)
		}
		r.node = &Sort{In: n, Keys: sort}
		return r, nil
	case before > 0:
		in := &Project{In: bl.node}
		have := colSet{}
		keep := func(e expr.Expr) {
			for _, id := range expr.ColumnsOf(e) {
				if !have[id] {
					have[id] = true
					in.Items = append(in.Items, Item{id, b.col(id)})
				}
			}
		}
		for _, it := range n.Items {
			keep(it.Expr)
		}
		for _, k := range keys {
			s := k.SortKey
			if k.item > 0 {
				s.Expr = bl.items[k.item-1].bound
			}
			if expr.IsConst(s.Expr) {
				continue
			}
			if _, plain := plainColumn(s.Expr); plain {
				keep(s.Expr)
			} else {
				id := b.newCol(Column{Name: "order", Type: s.Expr.Type()})
				in.Items = append(in.Items, Item{id, s.Expr})
				s.Expr = b.col(id)
			}
			sort = append(sort, s)
		}
		if len(sort) > 0 {
			n.In = &Sort{In: in, Keys: sort}
		}
	}
	r.node = n
	return r, nil
}
