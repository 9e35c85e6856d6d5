package plan

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// rollupOf returns the keys of GROUP BY ROLLUP (a, b), which is GROUP BY a, b
// WITH ROLLUP; nil when it is something else.
func rollupOf(g *syntax.GroupBy) []*syntax.GroupItem {
	if len(g.Items) != 1 || g.Items[0].Kind != syntax.GroupRollup || len(g.Items[0].Items) > 0 {
		return nil
	}
	var out []*syntax.GroupItem
	for _, set := range g.Items[0].Sets {
		if len(set) != 1 {
			return nil
		}
		out = append(out, &syntax.GroupItem{At: g.Items[0].At, Sets: [][]syntax.Expr{set}})
	}
	return out
}

// rollUp puts an aggregation with totals above FROM and WHERE: one grouping by
// all keys, one by all but the last, and so on down to none, one after the
// other. Keys that a grouping lacks are NULL in it.
func (bl *block) rollUp(ordered bool) error {
	b := bl.b
	if volatile(bl.node) {
		return errs.Unsupportedf(-1, "ROLLUP over RAND() and its like")
	}
	bl.flagColumns()
	all := &SetOp{Kind: Union, All: true}
	for _, k := range bl.keys {
		b.cols[k.ID].Type.Nullable = true
		all.Cols = append(all.Cols, k.ID)
	}
	for _, a := range bl.aggs {
		b.cols[a.ID].Type.Nullable = true
		all.Cols = append(all.Cols, a.ID)
	}
	all.Cols = append(all.Cols, bl.flags...)
	for n := len(bl.keys); n >= 0; n-- {
		a := &Aggregate{In: bl.node}
		p := &Project{In: a}
		for i, k := range bl.keys {
			id := b.copyCol(k.ID)
			if i < n {
				in := b.copyCol(k.ID)
				a.Keys = append(a.Keys, Item{in, k.Expr})
				p.Items = append(p.Items, Item{id, b.col(in)})
				continue
			}
			t := b.cols[k.ID].Type
			p.Items = append(p.Items, Item{id, expr.Literal(expr.Value{Type: t, Vec: vector.NewNull(t.Physical(), 1)})})
		}
		for _, g := range bl.aggs {
			in := b.copyCol(g.ID)
			a.Aggs = append(a.Aggs, Agg{ID: in, Call: g.Call, Args: g.Args})
			p.Items = append(p.Items, Item{b.copyCol(g.ID), b.col(in)})
		}
		for i, f := range bl.flags {
			rolled := int64(0)
			if i >= n {
				rolled = 1
			}
			p.Items = append(p.Items, Item{b.copyCol(f), expr.Literal(expr.IntValue(rolled))})
		}
		all.In = append(all.In, p)
	}
	bl.node = all
	if !ordered {
		// A total follows the rows that it is of.
		s := &Sort{In: all}
		for i, k := range bl.keys {
			s.Keys = append(s.Keys, SortKey{Expr: b.col(bl.flags[i])}, SortKey{Expr: b.col(k.ID)})
		}
		bl.node = s
	}
	return nil
}

// flagColumns makes the columns that tell whether a key is rolled up.
func (bl *block) flagColumns() {
	for len(bl.flags) < len(bl.keys) {
		bl.flags = append(bl.flags, bl.b.newCol(Column{Name: "grouping", Type: expr.TBigInt.NotNull()}))
	}
}

// grouping binds GROUPING(a, b): a bit for each key, the last argument's lowest.
func (s *scope) grouping(f *syntax.FuncCall) (expr.Expr, error) {
	bl := s.bl
	if !bl.groupBy || s.noAggs || s.inAgg {
		return nil, errs.UserAt(f.Pos(), errs.InvalidGroupBy, "Invalid use of group function")
	}
	if bl.rollup {
		bl.flagColumns()
	}
	var out expr.Expr
	for n, arg := range f.Args {
		x, err := bl.bind(arg, &scope{bl: bl, clause: s.clause, rel: s.rel, noAggs: true})
		if err != nil {
			return nil, err
		}
		at := -1
		for i, k := range bl.keys {
			if k.Expr.Key() == x.Key() {
				at = i
			}
		}
		if at < 0 {
			return nil, errs.UserAt(arg.Pos(), errs.GroupingArgument, "Argument #%d of GROUPING function is not in GROUP BY", n)
		}
		bit := expr.Expr(expr.Literal(expr.IntValue(0)))
		if bl.rollup {
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
