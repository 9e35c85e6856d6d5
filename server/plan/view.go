package plan

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
)

// This file binds views: where a name is one, its query stands there like a
// derived table, read with the rights of its definer.

// view returns the view that a name is, nil when it is none.
func (b *binder) view(n Name) (*catalog.View, error) {
	vs, ok := n.In.(catalog.Viewing)
	if !ok || n.ID.Branch != "" || n.ID.System != "" {
		return nil, nil
	}
	v, err := vs.View(b.ctx, n.ID.Database, n.ID.Table)
	if errs.Is(err, errs.UnknownTable) || errs.Is(err, errs.UnknownDatabase) {
		return nil, nil
	}
	return v, err
}

// viewTable binds a view in FROM.
func (bl *block) viewTable(t *syntax.TableName, n Name, v *catalog.View, alias syntax.Ident) (Node, relation, error) {
	fail := func(err error) (Node, relation, error) { return nil, relation{}, err }
	if f := bl.b.frozen; f != nil && f.ID == n.ID && f.Catalog == n.Catalog {
		// CREATE OR REPLACE VIEW v AS … FROM v: it is not there any more.
		return fail(errs.UserAt(t.Pos(), errs.UnknownTable, "Table '%s.%s' doesn't exist", n.ID.Database, n.ID.Table))
	}
	if t.AsOf != nil || len(t.Options) > 0 {
		return fail(errs.Unsupportedf(t.Pos(), "a version of a view; name the version of the tables in its query"))
	}
	r, err := bl.b.viewQuery(n, v)
	if err != nil {
		return fail(positioned(err, t.Pos()))
	}
	names := make([]syntax.Ident, len(v.Columns))
	for i, c := range v.Columns {
		names[i] = syntax.Ident{Name: c}
	}
	if len(t.Columns) > 0 {
		names = t.Columns
	}
	ref, err := bl.b.derived(r, alias, names, t.Pos())
	if err != nil {
		return fail(err)
	}
	ref.catalog, ref.database, ref.ast = n.Catalog, n.ID.Database, t
	for _, c := range ref.cols {
		bl.b.cols[c.id].Database, bl.b.cols[c.id].OrgTable, bl.b.cols[c.id].OrgName = n.ID.Database, n.ID.Table, c.name
	}
	return r.node, ref.relation(), nil
}

// viewQuery binds the query of a view. What is wrong in it is an error about the
// view: its text is not the reader's.
func (b *binder) viewQuery(n Name, v *catalog.View) (*result, error) {
	key := n.Catalog + "\x00" + v.Database + "\x00" + v.Name
	if slices.Contains(b.views, key) {
		return nil, errs.Userf(errs.ViewRecursion, "`%s`.`%s` contains view recursion", v.Database, v.Name)
	}
	b.views = append(b.views, key)
	defer func() { b.views = b.views[:len(b.views)-1] }()
	p, err := syntax.ParseOne(v.Query, syntax.Options{})
	if err != nil {
		return nil, errs.Corruptf("read view %s.%s: its query cannot be read: %v", v.Database, v.Name, err)
	}
	q, ok := p.Statement.(*syntax.Query)
	if !ok {
		return nil, errs.Corruptf("read view %s.%s: it holds no query", v.Database, v.Name)
	}
	outer, frozen := b.env, b.frozen
	defer func() { b.env, b.frozen = outer, frozen }()
	env := *outer
	if !v.Invoker && env.AuthorizeAs != nil {
		if env.Authorize, err = env.AuthorizeAs(v.Definer); err != nil {
			return nil, err
		}
	}
	env.Catalogs = within{env.Catalogs, n.Catalog, v.Database}
	b.env, b.frozen = &env, nil
	r, err := b.query(q, nil, nil)
	switch {
	case errs.Is(err, errs.UnknownTable), errs.Is(err, errs.UnknownDatabase), errs.Is(err, errs.UnknownColumn), errs.Is(err, errs.UnknownFunction),
		errs.Is(err, errs.UnknownCatalog), errs.Is(err, errs.TableDenied):
		return nil, errs.Userf(errs.ViewInvalid, "View '%s.%s' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights to use them", v.Database, v.Name)
	case err != nil:
		var e *errs.Error
		if errors.As(err, &e) {
			c := *e
			c.Pos = -1 // of another text
			return nil, &c
		}
		return nil, err
	}
	if len(r.cols) != len(v.Columns) {
		return nil, errs.Corruptf("read view %s.%s: %d columns have %d names", v.Database, v.Name, len(r.cols), len(v.Columns))
	}
	return r, nil
}

// within are the catalogs as a view sees them: names without a catalog are of its
// own, whatever the reader's is.
type within struct {
	Catalogs
	catalog, database string
}

// Current implements Catalogs.
func (w within) Current() (catalogName, database string) { return w.catalog, w.database }

// Temporary implements Catalogs: a view sees no session's tables.
func (w within) Temporary(string, string) (catalog.Table, bool) { return nil, false }

// FreezeView binds the query of CREATE VIEW and makes the view of it: every
// table is named with its database, and * is written out.
func FreezeView(ctx context.Context, x *syntax.CreateView, n Name, env *Env) (*catalog.View, error) {
	var bad error
	syntax.Walk(x.Query, func(s syntax.Node) bool {
		switch s := s.(type) {
		case *syntax.UserVar, *syntax.SysVar, *syntax.AssignExpr, *syntax.Placeholder:
			if bad == nil {
				bad = errs.UserAt(s.Pos(), errs.ViewVariable, "View's SELECT contains a variable or parameter")
			}
		}
		return bad == nil
	})
	if bad != nil {
		return nil, bad
	}
	// The tree is written to, and may be kept for a prepared statement: so a copy.
	p, err := syntax.ParseOne(syntax.String(x.Query), syntax.Options{})
	if err != nil {
		return nil, errs.Internalf("read the query of view %s again: %v", n.ID, err)
	}
	q, ok := p.Statement.(*syntax.Query)
	if !ok {
		return nil, errs.Internalf("read the query of view %s again: it is none", n.ID)
	}
	// Columns without an alias are named by their expression's text as written.
	var texts []string
	items := func(f func(*syntax.SelectItem)) func(syntax.Node) bool {
		return func(s syntax.Node) bool {
			if it, ok := s.(*syntax.SelectItem); ok {
				f(it)
			}
			return true
		}
	}
	syntax.Walk(x.Query, items(func(it *syntax.SelectItem) { texts = append(texts, it.Text) }))
	i := 0
	syntax.Walk(q, items(func(it *syntax.SelectItem) {
		if i < len(texts) {
			it.Text = texts[i]
		}
		i++
	}))
	if i != len(texts) {
		return nil, errs.Internalf("read the query of view %s again: %d select items, %d before", n.ID, i, len(texts))
	}
	b := newBinder(ctx, env)
	b.frozen = &n
	r, err := b.query(q, nil, nil)
	if err != nil {
		// Positions count in the statement's own text.
		if _, own := newBinder(ctx, env).query(x.Query, nil, nil); own != nil {
			return nil, own
		}
		return nil, err
	}
	if len(x.Columns) > 0 && len(x.Columns) != len(r.cols) {
		return nil, errs.UserAt(x.Pos(), errs.ViewColumns, "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts")
	}
	v := &catalog.View{Database: n.ID.Database, Name: n.ID.Table, Query: syntax.String(q), Invoker: strings.EqualFold(x.Security, "INVOKER"), Comment: x.Comment}
	seen := map[string]bool{}
	for i, c := range r.cols {
		name := c.Name
		if len(x.Columns) > 0 {
			name = x.Columns[i].Name
		}
		if k := strings.ToLower(name); seen[k] {
			return nil, errs.UserAt(x.Pos(), errs.DuplicateColumn, "Duplicate column name '%s'", name)
		} else {
			seen[k] = true
		}
		v.Columns = append(v.Columns, name)
	}
	return v, nil
}

// ViewColumns returns the columns of a view, as a query of it gives them.
func ViewColumns(ctx context.Context, n Name, v *catalog.View, env *Env) ([]Column, error) {
	b := newBinder(ctx, env)
	r, err := b.viewQuery(n, v)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(r.cols)
	for i := range out {
		out[i].Name = v.Columns[i]
	}
	return out, nil
}

// freezeName names a table of the tree with its database, and with its catalog
// where that is not the view's own.
func (b *binder) freezeName(t *syntax.TableName, n Name) {
	if b.frozen == nil || n.ID.Database == "" {
		return
	}
	object := t.Name.Parts[len(t.Name.Parts)-1]
	parts := []syntax.Ident{{Name: n.ID.Database}, object}
	if n.Catalog != "" && n.Catalog != b.frozen.Catalog {
		parts = append([]syntax.Ident{{Name: n.Catalog}}, parts...)
	}
	t.Name.Parts = parts
}

// freezeItems writes the select list's names out: * as columns, and the text of
// an expression, which names its column, as an alias.
func (bl *block) freezeItems(q *syntax.Select) {
	var out []*syntax.SelectItem
	for _, it := range bl.items {
		s := &syntax.SelectItem{At: syntax.At(it.pos), Expr: it.ast}
		if it.ast == nil {
			id, _ := plainColumn(it.bound)
			s.Expr = bl.reference(it.name, id)
		}
		if c, ok := s.Expr.(*syntax.ColumnRef); !ok || c.Column() != it.name {
			s.Alias, s.HasAlias = syntax.Ident{Name: it.name}, true
		}
		out = append(out, s)
	}
	q.Items = out
}

// reference is a column's name as it can be written in the block.
func (bl *block) reference(name string, id ColID) syntax.Expr {
	c := &syntax.ColumnRef{Parts: []syntax.Ident{{Name: name}}}
	if found := lookup(bl.rel.visible, name); len(found) == 1 && found[0].id == id {
		return c
	}
	for _, t := range bl.rel.tables {
		for _, x := range t.cols {
			if x.id == id && x.name == name {
				c.Parts = []syntax.Ident{{Name: t.alias}, {Name: name}}
				return c
			}
		}
	}
	return c
}
