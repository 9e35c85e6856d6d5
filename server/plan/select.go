package plan

import (
	"slices"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// selectBlock binds one SELECT with its ORDER BY.
//
// Everything above FROM is first bound in terms of FROM's columns, with
// aggregate calls as columns of their own. When it turns out that there is an
// aggregation, the expressions are rewritten to stand above it (regroup).
func (b *binder) selectBlock(q *syntax.Select, order []*syntax.OrderItem, outer *scope, ctes *cte) (*result, error) {
	if b.depth++; b.depth > maxBlocks {
		return nil, errs.UserAt(q.Pos(), errs.Syntax, "queries are nested more than %d levels deep", maxBlocks)
	}
	defer func() { b.depth-- }()
	if q.SQLCalcFoundRows {
		return nil, errs.UserAt(q.Pos(), errs.OptionMisplaced, "Incorrect usage/placement of 'SQL_CALC_FOUND_ROWS'")
	}
	bl := &block{b: b, outer: outer, ctes: ctes, keyIndex: map[string]ColID{}, aggIndex: map[string]ColID{}}
	bl.node = &Values{Rows: [][]expr.Expr{{}}}
	made := b.inOrder.count
	if q.From != nil {
		n, rel, err := bl.from(q.From)
		if err != nil {
			return nil, err
		}
		bl.node, bl.rel = n, rel
	}
	if q.Where != nil {
		conds, err := bl.condition(q.Where, &scope{bl: bl, clause: inWhere, rel: &bl.rel, noAggs: true})
		if err != nil {
			return nil, err
		}
		if err := bl.flush(&bl.pre); err != nil {
			return nil, err
		}
		bl.noteEqualities(Inner, conds, nil, nil)
		bl.node = &Filter{In: bl.node, Conds: conds}
	}
	if err := bl.nameWindows(q.Windows); err != nil {
		return nil, err
	}
	bl.windowKeys = func() error { return checkWindowKeys(q, order) }
	items := q.Items
	if b.also != nil && b.also.query == q {
		further, err := b.also.further(&bl.rel)
		if err != nil {
			return nil, err
		}
		items = append(slices.Clone(items), further...)
	}
	if err := bl.expand(items); err != nil {
		return nil, err
	}
	if b.frozen != nil {
		bl.freezeItems(q)
	}
	if q.GroupBy != nil {
		if err := bl.group(q.GroupBy, len(order) > 0); err != nil {
			return nil, err
		}
	}
	for _, it := range bl.items {
		if it.bound != nil {
			continue // a column of *
		}
		if it.key > 0 {
			it.bound = bl.keys[it.key-1].Expr
			continue
		}
		ctx := *b.env.Expr
		ctx.Item = it.name
		bl.inOrder(&ctx, q)
		x, err := expr.Bind(&ctx, it.ast, &scope{bl: bl, clause: inFields, rel: &bl.rel})
		if err != nil {
			return nil, err
		}
		it.bound = x
	}
	if err := bl.ownVariables(q, made); err != nil {
		return nil, err
	}
	var having []expr.Expr
	if q.Having != nil {
		var err error
		if having, err = bl.condition(q.Having, &scope{bl: bl, clause: inHaving, rel: &bl.rel}); err != nil {
			return nil, err
		}
	}
	var qualify []expr.Expr
	if q.Qualify != nil {
		var err error
		if qualify, err = bl.condition(q.Qualify, &scope{bl: bl, clause: inQualify, rel: &bl.rel}); err != nil {
			return nil, err
		}
		if len(bl.windows) == 0 {
			return nil, errs.UserAt(q.Qualify.Pos(), errs.Syntax, "QUALIFY needs a window function, in itself or in the select list")
		}
	}
	keys, err := bl.orderBy(order)
	if err != nil {
		return nil, err
	}
	if b.also != nil && b.also.query == q && len(bl.aggs) > 0 && len(b.also.refs) > 0 {
		return nil, unknownColumn(b.also.refs[0], inFields) // groups have no columns
	}
	if bl.groupBy || len(bl.aggs) > 0 {
		if !bl.groupBy {
			keys = nil // there is one row
		}
		if err := bl.regroup(having, qualify, keys); err != nil {
			return nil, err
		}
	} else if err := bl.checkHaving(q.Having, having); err != nil {
		return nil, err
	}
	late := bl.afterWindows()
	if err := bl.flush(&bl.post); err != nil {
		return nil, err
	}
	if len(having) > 0 {
		bl.node = &Filter{In: bl.node, Conds: having}
	}
	bl.over()
	if err := bl.flush(&late); err != nil {
		return nil, err
	}
	if len(qualify) > 0 {
		bl.node = &Filter{In: bl.node, Conds: qualify}
	}
	if len(bl.met) > 0 {
		return bl.finishInOrder(keys)
	}
	return bl.finish(q.Distinct, keys)
}

// expand makes the items of the select list, * written out.
func (bl *block) expand(list []*syntax.SelectItem) error {
	b := bl.b
	for _, it := range list {
		star, ok := it.Expr.(*syntax.Star)
		if !ok {
			bl.items = append(bl.items, &item{name: itemName(it), ast: it.Expr, pos: it.Pos()})
			continue
		}
		if len(star.Aliases) > 0 {
			return errs.Unsupportedf(star.Pos(), "AS (…) after *")
		}
		cols := bl.rel.visible
		if len(star.Qualifier) > 0 {
			ts := bl.rel.named(star.Qualifier)
			if len(ts) == 0 {
				return errs.UserAt(star.Pos(), errs.UnknownTable, "Unknown table '%s'", star.Qualifier[len(star.Qualifier)-1].Name)
			}
			cols = nil
			for _, t := range ts {
				cols = append(cols, t.cols...)
			}
		} else if len(bl.rel.tables) == 0 {
			return errs.UserAt(star.Pos(), errs.UnknownTable, "No tables used")
		}
		for _, c := range cols {
			bl.items = append(bl.items, &item{name: c.name, bound: b.col(c.id), pos: it.Pos()})
		}
	}
	return nil
}

// orderKey is a bound key of ORDER BY: an item of the select list, or an
// expression.
type orderKey struct {
	SortKey
	item int // 1 + index of the item, 0 when it is an expression
	pos  int
}

func (bl *block) orderBy(order []*syntax.OrderItem) ([]*orderKey, error) {
	var keys []*orderKey
	for _, o := range order {
		k := &orderKey{SortKey: sortKey(nil, o), pos: o.Pos()}
		if n, ok := o.Expr.(*syntax.NumberLit); ok && n.Kind == syntax.Integer {
			v, ok := n.Uint64()
			if !ok || v < 1 || v > uint64(len(bl.items)) {
				return nil, errs.UserAt(o.Pos(), errs.UnknownColumn, "Unknown column '%s' in '%s'", n.Text, inOrder)
			}
			k.item = int(v)
		} else if c, ok := o.Expr.(*syntax.ColumnRef); ok && len(c.Qualifier()) == 0 {
			i, err := bl.itemNamed(c, inOrder)
			if err != nil {
				return nil, err
			}
			k.item = i + 1
		}
		if k.item == 0 {
			x, err := bl.bind(o.Expr, &scope{bl: bl, clause: inOrder, rel: &bl.rel})
			if err != nil {
				return nil, err
			}
			for i, it := range bl.items {
				if it.bound.Key() == x.Key() && it.bound.Traits()&expr.Volatile == 0 {
					k.item = i + 1
				}
			}
			k.Expr = x
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// checkHaving refuses HAVING without aggregation on columns that are not
// selected.
func (bl *block) checkHaving(written syntax.Expr, having []expr.Expr) error {
	selected := colSet{}
	for _, it := range bl.items {
		selected.addOf(it.bound)
	}
	own := colSet{}
	for _, t := range bl.rel.tables {
		for _, c := range t.cols {
			own[c.id] = true
		}
	}
	for _, h := range having {
		for _, id := range expr.ColumnsOf(h) {
			if own[id] && !selected[id] {
				return errs.Userf(errs.UnknownColumn, "Unknown column '%s' in '%s'", nameIn(written, bl.b.cols[id].Name), inHaving)
			}
		}
	}
	return nil
}

// nameIn is a column's name as an expression writes it.
func nameIn(e syntax.Expr, name string) string {
	text := name
	syntax.Walk(e, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.ColumnRef); ok && strings.EqualFold(c.Column(), name) {
			text = refText(c)
		}
		return true
	})
	return text
}

// itemName is the name of a column of the select list.
func itemName(it *syntax.SelectItem) string {
	if f, ok := it.Expr.(*syntax.FuncCall); ok && !it.HasAlias && f.Is("NAME_CONST") && len(f.Args) == 2 {
		if s, ok := f.Args[0].(*syntax.StringLit); ok {
			return s.Value
		}
	}
	return it.Name()
}

// columnText returns a column's name with its table, as messages show it.
func (b *binder) columnText(id ColID) string {
	c := b.cols[id]
	if c.Table == "" {
		return c.Name
	}
	return c.Table + "." + c.Name
}

// finish makes the select list's columns, DISTINCT and the order.
func (bl *block) finish(distinct bool, keys []*orderKey) (*result, error) {
	b := bl.b
	r := &result{kept: distinct || bl.groupBy || len(bl.aggs) > 0 || len(bl.windows) > 0}
	var items []Item
	have := colSet{}
	for _, it := range bl.items {
		if _, plain := plainColumn(it.bound); (distinct || len(bl.windows) > 0 || bl.groupBy && len(keys) > 0) && !plain {
			it.bound = expr.Materialized(b.env.Expr, it.bound)
		}
		c := Column{Name: it.name, Type: it.bound.Type()}
		if id, ok := plainColumn(it.bound); ok {
			o := b.cols[id]
			c.field = o.field
			if bl.sets == nil { // a rolled up column is an expression
				c.Database, c.Table, c.OrgTable, c.OrgName, c.Key = o.Database, o.Table, o.OrgTable, o.OrgName, o.Key
			}
		}
		if distinct || bl.groupBy && bl.sets == nil { // MySQL's rows are of a temporary table
			c.Type = c.Type.OfField()
		}
		it.id = b.newCol(c)
		items = append(items, Item{it.id, it.bound})
		have[it.id] = true
		r.cols = append(r.cols, b.cols[it.id])
	}
	shown := len(items)
	if !distinct {
		for _, it := range bl.items {
			if id, ok := plainColumn(it.bound); ok {
				if raw, ok := b.raws[id]; ok && bl.fromFrom(id) && !bl.groupBy && len(bl.aggs) == 0 {
					up := b.copyCol(raw)
					b.keepRaw(it.id, up)
					items = append(items, Item{up, b.col(raw)})
					shown++
				}
			}
		}
		for i, it := range bl.items {
			x := expr.Exact(it.bound)
			if x == it.bound {
				continue
			}
			if r.exact == nil {
				r.exact = map[int]ColID{}
			}
			id := b.newCol(Column{Name: it.name, Type: x.Type()})
			r.exact[i] = id
			items = append(items, Item{id, x})
			shown++
		}
		if b.env.OwnDigits && !b.env.Expr.InOrder && b.depth == 2 && len(bl.windows) == 0 && !(bl.groupBy && len(keys) > 0) {
			for i, it := range bl.items {
				x := expr.OwnDigits(b.env.Expr, it.bound)
				if x == nil {
					continue
				}
				if r.texts == nil {
					r.texts = map[int]ColID{}
				}
				id := b.newCol(Column{Name: it.name, Type: x.Type()})
				r.texts[i] = id
				items = append(items, Item{id, x})
				shown++
			}
		}
	}
	var sort []SortKey
	for i, k := range keys {
		s := k.SortKey
		if k.item > 0 {
			s.Expr = b.col(bl.items[k.item-1].id)
		} else if s.Expr = bl.selected(s.Expr, distinct); distinct && !have.covers(s.Expr) {
			name := ""
			for _, id := range expr.ColumnsOf(s.Expr) {
				if !have[id] && name == "" {
					if name = b.columnText(id); b.cols[id].Database != "" {
						name = b.cols[id].Database + "." + name
					}
				}
			}
			return nil, errs.UserAt(k.pos, errs.OrderNotSelected, "Expression #%d of ORDER BY clause is not in SELECT list, references column '%s' which is not in SELECT list; this is incompatible with DISTINCT", i+1, name)
		}
		if expr.IsConst(s.Expr) {
			continue
		}
		if s.Expr.Traits()&expr.Volatile != 0 && k.item == 0 {
			// RAND() is computed once a row.
			id := b.newCol(Column{Name: "order", Type: s.Expr.Type()})
			items = append(items, Item{id, s.Expr})
			have[id] = true
			s.Expr = b.col(id)
		}
		sort = append(sort, s)
	}
	for _, s := range sort {
		for _, id := range expr.ColumnsOf(s.Expr) {
			if !have[id] {
				have[id] = true
				items = append(items, Item{id, b.col(id)})
			}
		}
	}
	r.node = &Project{In: bl.node, Items: items}
	if distinct {
		r.node = &Distinct{In: r.node}
		for i := range r.cols {
			r.unique = append(r.unique, i)
		}
	}
	if len(sort) > 0 {
		r.node = &Sort{In: r.node, Keys: sort}
		if len(items) > shown {
			top := &Project{In: r.node}
			for _, it := range items[:shown] {
				top.Items = append(top.Items, Item{it.ID, b.col(it.ID)})
			}
			r.node = top
		}
	}
	if bl.groupBy && r.unique == nil && len(bl.keys) > 0 {
		// Rows of a grouping are identified by its keys, if all are selected.
		at := map[string]int{}
		for i, it := range bl.items {
			at[it.bound.Key()] = i
		}
		for _, k := range bl.keys {
			i, ok := at[b.col(k.ID).Key()]
			if !ok {
				r.unique = nil
				break
			}
			r.unique = append(r.unique, i)
		}
	}
	return r, nil
}

// selected rewrites an expression of ORDER BY to read the select list's columns,
// which are all that DISTINCT leaves.
func (bl *block) selected(e expr.Expr, distinct bool) expr.Expr {
	if !distinct || expr.IsConst(e) {
		return e
	}
	for _, it := range bl.items {
		if it.bound.Key() == e.Key() && e.Traits()&expr.Volatile == 0 {
			return bl.b.col(it.id)
		}
	}
	kids := e.Children()
	out := make([]expr.Expr, len(kids))
	changed := false
	for i, c := range kids {
		out[i] = bl.selected(c, distinct)
		changed = changed || out[i] != c
	}
	if !changed {
		return e
	}
	return e.With(out)
}
