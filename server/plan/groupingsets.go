package plan

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// Grouping sets: GROUP BY … WITH ROLLUP, ROLLUP (…), CUBE (…), GROUPING SETS (…)
// and lists of them. Each becomes a list of sets of keys; a query has the rows of
// one grouping by each of them, in which the keys of the others are NULL.
//
//	Sort         by set, so that the order does not depend on batches
//	Project      whether a key is rolled up, by the number of the set
//	[OrElse]     a set without keys has a row though there are no rows
//	Aggregate    by all keys and the number of the set
//	Expand       each row once for each set
//
// ROLLUP (a, b) is the sets (a, b), (a), (); CUBE (a, b) all subsets. Elements
// beside each other are multiplied (SQL:2016, 7.13).

// maxSets bounds the grouping sets of a query.
const maxSets = 4096

// groupingSets turns the elements of GROUP BY into sets of positions of keys.
func (bl *block) groupingSets(g *syntax.GroupBy) error {
	var elements [][][]int
	plain := true
	for _, gi := range g.Items {
		plain = plain && gi.Kind == syntax.GroupExpr
		list, err := bl.elementSets(gi)
		if err != nil {
			return err
		}
		elements = append(elements, list)
	}
	sets := [][]int{nil}
	switch {
	case g.WithRollup && !plain:
		return errs.UserAt(g.Pos(), errs.Syntax, "WITH ROLLUP beside ROLLUP, CUBE and GROUPING SETS; write ROLLUP (…)")
	case g.WithRollup:
		var parts [][]int
		for _, list := range elements {
			parts = append(parts, list[0])
		}
		sets = prefixes(parts)
	case plain:
		return nil
	default:
		for _, list := range elements {
			var all [][]int
			for _, s := range sets {
				for _, t := range list {
					all = append(all, union(s, t))
				}
				if len(all) > maxSets {
					return tooManySets(g.Pos())
				}
			}
			sets = all
		}
	}
	if g.Distinct {
		sets = distinctSets(sets)
	}
	bl.sets = sets
	for _, k := range bl.keys {
		bl.b.cols[k.ID].Type.Nullable = true
	}
	return nil
}

func tooManySets(pos int) error {
	return errs.UserAt(pos, errs.Syntax, "GROUP BY has more than %d grouping sets", maxSets)
}

// elementSets are the sets of one element of GROUP BY.
func (bl *block) elementSets(gi *syntax.GroupItem) ([][]int, error) {
	parts := make([][]int, 0, len(gi.Sets))
	for _, set := range gi.Sets {
		var part []int
		for _, e := range set {
			k, err := bl.groupKey(e)
			if err != nil {
				return nil, err
			}
			part = union(part, []int{k})
		}
		parts = append(parts, part)
	}
	switch gi.Kind {
	case syntax.GroupExpr:
		return parts[:1], nil
	case syntax.GroupRollup:
		return prefixes(parts), nil
	case syntax.GroupCube:
		if len(parts) > 12 {
			return nil, tooManySets(gi.Pos())
		}
		var all [][]int
		for left := 1<<len(parts) - 1; left >= 0; left-- {
			var s []int
			for i, p := range parts {
				if left>>(len(parts)-1-i)&1 != 0 {
					s = union(s, p)
				}
			}
			all = append(all, s)
		}
		return all, nil
	}
	for _, in := range gi.Items {
		more, err := bl.elementSets(in)
		if err != nil {
			return nil, err
		}
		if parts = append(parts, more...); len(parts) > maxSets {
			return nil, tooManySets(gi.Pos())
		}
	}
	return parts, nil
}

// prefixes are the sets of ROLLUP: all parts, all but the last, … none.
func prefixes(parts [][]int) (out [][]int) {
	for n := len(parts); n >= 0; n-- {
		var s []int
		for _, p := range parts[:n] {
			s = union(s, p)
		}
		out = append(out, s)
	}
	return out
}

// union is a set of the members of both, in the order in which they come.
func union(a, b []int) []int {
	out := append([]int(nil), a...)
	for _, x := range b {
		if !contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

func contains(set []int, x int) bool {
	for _, y := range set {
		if x == y {
			return true
		}
	}
	return false
}

// distinctSets drops sets that are there already.
func distinctSets(sets [][]int) (out [][]int) {
	for _, s := range sets {
		there := false
		for _, o := range out {
			there = there || len(s) == len(o) && len(union(o, s)) == len(o)
		}
		if !there {
			out = append(out, s)
		}
	}
	return out
}

// expandSets puts the groupings of all sets above FROM and WHERE.
func (bl *block) expandSets(ordered bool) error {
	b := bl.b
	bl.flagColumns()
	e := &Expand{In: bl.node, Set: b.newCol(Column{Name: "set", Type: expr.TBigInt.NotNull()})}
	a := &Aggregate{In: e, Aggs: bl.aggs}
	for _, k := range bl.keys {
		id := b.copyCol(k.ID)
		e.Keys = append(e.Keys, Item{id, k.Expr})
		a.Keys = append(a.Keys, Item{k.ID, b.col(id)})
	}
	set := b.copyCol(e.Set)
	a.Keys = append(a.Keys, Item{set, b.col(e.Set)})
	bl.node = a
	or := &OrElse{In: a}
	for n, s := range bl.sets {
		in := make([]bool, len(bl.keys))
		for _, k := range s {
			in[k] = true
		}
		e.Sets = append(e.Sets, in)
		if len(s) > 0 {
			continue
		}
		var row []expr.Expr
		for _, k := range bl.keys {
			t := b.cols[k.ID].Type
			row = append(row, expr.Literal(expr.Value{Type: t, Vec: vector.NewNull(t.Physical(), 1)}))
		}
		row = append(row, expr.Literal(expr.IntValue(int64(n))))
		for _, g := range bl.aggs {
			v, err := b.emptyValue(g.Call)
			if err != nil {
				return err
			}
			row = append(row, expr.Literal(v))
		}
		or.Rows = append(or.Rows, row)
	}
	if or.Rows != nil {
		bl.node = or
	}
	p := &Project{In: bl.node}
	for _, id := range bl.node.Output() {
		p.Items = append(p.Items, Item{id, b.col(id)})
	}
	for i, f := range bl.flags {
		rolled := make([]bool, len(bl.sets))
		for n := range bl.sets {
			rolled[n] = !e.Sets[n][i]
		}
		p.Items = append(p.Items, Item{f, &rolledUp{set: b.col(set), rolled: rolled}})
	}
	s := &Sort{In: p}
	switch {
	case ordered:
		s.Keys = []SortKey{{Expr: b.col(set)}}
	case bl.chain():
		// A total follows the rows that it is of.
		for i, k := range bl.keys {
			s.Keys = append(s.Keys, SortKey{Expr: b.col(bl.flags[i])}, SortKey{Expr: b.col(k.ID)})
		}
	default:
		s.Keys = []SortKey{{Expr: b.col(set)}}
		for _, k := range bl.keys {
			s.Keys = append(s.Keys, SortKey{Expr: b.col(k.ID)})
		}
	}
	if len(bl.keys) == 0 || !ordered && bl.chain() {
		s.Keys = append(s.Keys, SortKey{Expr: b.col(set)})
	}
	bl.node = s
	return nil
}

// chain reports whether each set is within the one before it, as those of a
// ROLLUP are.
func (bl *block) chain() bool {
	for i, s := range bl.sets[1:] {
		if len(union(bl.sets[i], s)) > len(bl.sets[i]) {
			return false
		}
	}
	return true
}

// flagColumns makes the columns that tell whether a key is rolled up.
func (bl *block) flagColumns() {
	for len(bl.flags) < len(bl.keys) {
		bl.flags = append(bl.flags, bl.b.newCol(Column{Name: "grouping", Type: expr.TBigInt.NotNull()}))
	}
}

// rolledUp is 1 for the grouping sets that lack a key, 0 for those that have it.
type rolledUp struct {
	set    expr.Expr
	rolled []bool
}

func (r *rolledUp) Type() expr.Type              { return expr.TBigInt.NotNull() }
func (r *rolledUp) Children() []expr.Expr        { return []expr.Expr{r.set} }
func (r *rolledUp) With(c []expr.Expr) expr.Expr { return &rolledUp{c[0], r.rolled} }
func (r *rolledUp) Traits() expr.Traits          { return r.set.Traits() }
func (r *rolledUp) String() string               { return "grouping" + r.digits() }
func (r *rolledUp) Key() string                  { return "grouping" + r.digits() + "(" + r.set.Key() + ")" }

// digits has a digit for each set.
func (r *rolledUp) digits() string {
	out := make([]byte, len(r.rolled))
	for i, x := range r.rolled {
		out[i] = '0'
		if x {
			out[i] = '1'
		}
	}
	return string(out)
}

// Eval implements expr.Expr.
func (r *rolledUp) Eval(ctx *expr.Context, b *vector.Batch) (*vector.Vec, error) {
	v, err := r.set.Eval(ctx, b)
	if err != nil {
		return nil, err
	}
	out := vector.NewFlat(vector.I64, b.Len)
	for k := range b.Rows() {
		i := b.Row(k)
		if n := v.Values().I64s[v.At(i)]; r.rolled[n] {
			out.I64s[i] = 1
		}
	}
	return out, nil
}

// grouping binds GROUPING(a, b): a bit for each key, the last argument's lowest.
func (s *scope) grouping(f *syntax.FuncCall) (expr.Expr, error) {
	bl := s.bl
	if !bl.groupBy || s.noAggs || s.inAgg {
		return nil, errs.UserAt(f.Pos(), errs.InvalidGroupBy, "Invalid use of group function")
	}
	if bl.sets != nil {
		bl.flagColumns()
	}
	var out expr.Expr
	for n, arg := range f.Args {
		x, err := bl.bind(arg, &scope{bl: bl, clause: s.clause, rel: s.rel, noAggs: true})
		if err != nil {
			return nil, err
		}
		at := -1
		id, ok := bl.keyIndex[x.Key()]
		for i, k := range bl.keys {
			if ok && k.ID == id {
				at = i
			}
		}
		if at < 0 {
			return nil, errs.UserAt(arg.Pos(), errs.GroupingArgument, "Argument #%d of GROUPING function is not in GROUP BY", n+1)
		}
		bit := expr.Expr(expr.Literal(expr.IntValue(0)))
		if bl.sets != nil {
			bit = bl.b.col(bl.flags[at])
		}
		if out == nil {
			out = bit
			continue
		}
		if out, err = expr.Call(bl.b.env.Expr, "*", out, expr.Literal(expr.IntValue(2))); err != nil {
			return nil, err
		}
		if out, err = expr.Call(bl.b.env.Expr, "+", out, bit); err != nil {
			return nil, err
		}
	}
	if out == nil {
		return nil, errs.UserAt(f.Pos(), errs.WrongArgCount, "Incorrect parameter count in the call to native function 'GROUPING'")
	}
	return out, nil
}
