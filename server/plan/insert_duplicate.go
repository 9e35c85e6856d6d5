package plan

import (
	"slices"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// onDuplicate binds ON DUPLICATE KEY UPDATE. The old row has the table's name,
// the new one its row alias, and VALUES(column).
func (b *binder) onDuplicate(s *syntax.Insert, ins *Insert, also *alsoRead, ctes *cte) error {
	if len(s.OnDuplicate) == 0 {
		return nil
	}
	t := ins.Target
	old := &tableRef{catalog: t.Catalog, database: t.ID.Database, alias: t.ID.Object()}
	now := &tableRef{alias: s.RowAlias.Name}
	for i, f := range t.Schema.Fields {
		typ := t.Types[i]
		typ.Nullable = true
		t.Cols = append(t.Cols, b.newCol(Column{Name: f.Name, Type: typ, Table: old.alias}))
		ins.News = append(ins.News, b.newCol(Column{Name: f.Name, Type: typ, Table: "values"}))
		old.cols = append(old.cols, named{f.Name, t.Cols[i]})
	}
	bl := &block{b: b, ctes: ctes, rel: old.relation()}
	if s.RowAlias.Name != "" {
		into := s.Columns
		if !s.HasColumns {
			for _, f := range t.Schema.Fields {
				into = append(into, syntax.Ident{Name: f.Name})
			}
		}
		if len(s.ColAliases) > 0 && len(s.ColAliases) != len(into) {
			return errs.UserAt(s.RowAlias.Pos(), errs.ViewColumns, "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts")
		}
		for k, c := range into {
			found := lookup(old.cols, c.Name)
			if len(found) != 1 {
				continue // told where the list is read
			}
			name := c.Name
			if len(s.ColAliases) > 0 {
				name = s.ColAliases[k].Name
			}
			now.cols = append(now.cols, named{name, ins.News[slices.Index(t.Cols, found[0].id)]})
		}
		bl.rel.tables = append(bl.rel.tables, now)
		bl.rel.visible = append(slices.Clone(old.cols), now.cols...)
	}
	for _, a := range s.OnDuplicate {
		found := (&relation{visible: old.cols, tables: []*tableRef{old}}).find(a.Column)
		if len(found) != 1 {
			return unknownColumn(a.Column, inFields)
		}
		field := slices.Index(t.Cols, found[0].id)
		sc := &duplicateScope{setScope: setScope{scope: scope{bl: bl, clause: inFields, rel: &bl.rel, noAggs: true, noSubs: "correlated subqueries in ON DUPLICATE KEY UPDATE"}, target: t, field: field},
			ins: ins, also: also}
		x, err := expr.Bind(b.env.Expr, a.Value, sc)
		if err != nil {
			return err
		}
		x = expr.Assigned(x, t.Types[field])
		set := Set{Field: field, Value: x, New: b.copyCol(t.Cols[field])}
		bl.rel = replaced(bl.rel, b.current(ins.Sets, t, field), set.New)
		ins.Sets = append(ins.Sets, set)
	}
	return nil
}

// current is the column that a field of the old row has after some assignments.
func (b *binder) current(sets []Set, t *Target, field int) ColID {
	id := t.Cols[field]
	for _, s := range sets {
		if s.Field == field {
			id = s.New
		}
	}
	return id
}

// duplicateScope adds VALUES(column) to a scope.
type duplicateScope struct {
	setScope
	ins  *Insert
	also *alsoRead
}

// Resolve implements expr.Scope.
func (s *duplicateScope) Resolve(e syntax.Expr) (expr.Expr, error) {
	if f, ok := e.(*syntax.FuncCall); ok && len(f.Name.Parts) == 1 && strings.EqualFold(f.Name.Object(), "VALUES") && len(f.Args) == 1 {
		if c, ok := f.Args[0].(*syntax.ColumnRef); ok {
			var names []named
			for i, x := range s.ins.Schema.Fields {
				names = append(names, named{x.Name, s.ins.News[i]})
			}
			found := lookup(names, c.Column())
			if len(found) != 1 {
				return nil, unknownColumn(c, inFields)
			}
			return s.bl.b.col(found[0].id), nil
		}
	}
	if c, ok := e.(*syntax.ColumnRef); ok && s.also != nil {
		if k := slices.Index(s.also.refs, c); k >= 0 {
			return s.bl.b.col(s.ins.From[k]), nil
		}
		if _, err := s.setScope.Resolve(e); errs.Is(err, errs.UnknownColumn) && s.also.distinct {
			return nil, errs.Unsupportedf(c.Pos(), "the column %s of a SELECT DISTINCT in ON DUPLICATE KEY UPDATE; write VALUES(column)", refText(c))
		}
	}
	return s.setScope.Resolve(e)
}

// alsoRead are the columns of a SELECT's tables that the ON DUPLICATE KEY UPDATE of
// its INSERT reads: further items of the SELECT.
type alsoRead struct {
	query    *syntax.Select
	refs     []*syntax.ColumnRef // in the assignments, with an item for each
	items    []*syntax.SelectItem
	distinct bool // SELECT DISTINCT: further items would change its rows
	target   *tableRef
	values   []*syntax.Assignment
}

// len is the number of further items; a nil alsoRead has none.
func (a *alsoRead) len() int {
	if a == nil {
		return 0
	}
	return len(a.items)
}

// readAlso has the SELECT of an INSERT give the columns that ON DUPLICATE KEY
// UPDATE reads of its tables: those of a query without groups, as in MySQL.
func (b *binder) readAlso(s *syntax.Insert, t *Target) *alsoRead {
	a := &alsoRead{target: &tableRef{catalog: t.Catalog, database: t.ID.Database, alias: t.ID.Object()}, values: s.OnDuplicate}
	for i, f := range t.Schema.Fields {
		a.target.cols = append(a.target.cols, named{f.Name, i})
	}
	q, ok := s.Query.Body.(*syntax.Select)
	if !ok || q.GroupBy != nil {
		return a
	}
	if a.distinct = q.Distinct; !a.distinct {
		a.query = q
		b.also = a
	}
	return a
}

// further are the items that are read beside those of the SELECT, once its tables
// are known.
func (a *alsoRead) further(rel *relation) ([]*syntax.SelectItem, error) {
	old := &relation{visible: a.target.cols, tables: []*tableRef{a.target}}
	var err error
	for _, v := range a.values {
		syntax.Walk(v.Value, func(n syntax.Node) bool {
			switch x := n.(type) {
			case *syntax.FuncCall:
				return len(x.Name.Parts) != 1 || !strings.EqualFold(x.Name.Object(), "VALUES")
			case *syntax.Query, *syntax.Default:
				return false // has names of its own
			case *syntax.ColumnRef:
				found := len(rel.find(x))
				switch {
				case found == 0 || err != nil:
				case found+len(old.find(x)) > 1:
					err = errs.UserAt(x.Pos(), errs.AmbiguousColumn, "Column '%s' in field list is ambiguous", refText(x))
				default:
					a.refs = append(a.refs, x)
					a.items = append(a.items, &syntax.SelectItem{At: x.At, Expr: x, Text: x.Column()})
				}
			}
			return true
		})
	}
	return a.items, err
}
