package plan

import (
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// This file binds functions in FROM that give rows for the values of a row:
// they see the tables to their left, as with LATERAL.

// isTableFunction reports whether a table expression is such a function.
func isTableFunction(t syntax.TableExpr) bool {
	switch t.(type) {
	case *syntax.JSONTable, *syntax.Unnest:
		return true
	}
	return false
}

// tableFunction binds a table function that sees the tables of left, nil for
// those outside of the query only. It is a Generate over one row.
func (bl *block) tableFunction(t syntax.TableExpr, left *relation) (Node, relation, error) {
	fail := func(err error) (Node, relation, error) { return nil, relation{}, positioned(err, t.Pos()) }
	if left == nil {
		left = &relation{}
	}
	in := &block{b: bl.b, outer: bl.outer, ctes: bl.ctes, rel: *left}
	s := &scope{bl: in, clause: inFields, rel: left, noAggs: true, noSubs: "subqueries in the arguments of a table function"}
	var f expr.TableFunction
	var alias syntax.Ident
	var names []string
	var err error
	switch t := t.(type) {
	case *syntax.JSONTable:
		alias = t.Alias
		f, names, err = in.jsonTable(t, s)
	case *syntax.Unnest:
		if alias = t.Alias; alias.Name == "" {
			alias.Name = "unnest"
		}
		f, names, err = in.unnest(t, s)
	}
	if err != nil {
		return fail(err)
	}
	if alias.Name == "" {
		return fail(errs.Userf(errs.TableFuncAlias, "Every table function must have an alias"))
	}
	g := &Generate{In: &Values{Rows: [][]expr.Expr{{}}}, Func: f, Args: f.Args()}
	ref := &tableRef{alias: alias.Name}
	for i, typ := range f.Types() {
		id := bl.b.newCol(Column{Name: names[i], Type: typ.OfField(), Table: alias.Name})
		shown := id
		if typ.Stored != nil {
			x, err := expr.Loaded(bl.b.col(id))
			if err != nil {
				return fail(err)
			}
			shown = bl.b.newCol(Column{Name: names[i], Type: x.Type(), Table: alias.Name})
			bl.b.keepRaw(shown, id)
		}
		if len(lookup(ref.cols, names[i])) > 0 {
			return fail(errs.Userf(errs.DuplicateColumn, "Duplicate column name '%s'", names[i]))
		}
		g.Cols = append(g.Cols, id)
		ref.cols = append(ref.cols, named{names[i], shown})
	}
	n, err := bl.b.shownColumns(g, g)
	if err != nil {
		return fail(err)
	}
	return n, ref.relation(), nil
}

// shownColumns puts a projection above a table function that shows the columns
// that it gives as they are stored.
func (b *binder) shownColumns(g *Generate, n Node) (Node, error) {
	_, items, err := b.load(g)
	if err != nil || items == nil {
		return n, err
	}
	return &Project{In: n, Items: append(b.passed(n), items...)}, nil
}

// generated is the table function that a table expression is, nil for others.
func generated(n Node) *Generate {
	if p, ok := n.(*Project); ok {
		n = p.In
	}
	if g, ok := n.(*Generate); ok {
		if v, ok := g.In.(*Values); ok && len(v.Cols) == 0 {
			return g
		}
	}
	return nil
}

// generate joins a table function to the rows that it depends on.
func (bl *block) generate(g *Generate, left Node, kind JoinKind, t *syntax.Join, rel *relation) (Node, error) {
	b := bl.b
	n := *g
	n.In, n.Outer = left, kind == Left
	if n.Outer {
		b.nullable(n.Cols)
		for _, id := range n.Cols {
			b.nullable([]ColID{b.shownAs(id)})
		}
	}
	if t.On == nil {
		return b.shownColumns(&n, &n)
	}
	s := &scope{bl: bl, clause: inOn, rel: rel, noAggs: true}
	if n.Outer {
		s.noSubs = "subqueries in the ON of an outer join"
	}
	before := len(bl.pre)
	conds, err := bl.condition(t.On, s)
	if err != nil {
		return nil, err
	}
	bl.noteEqualities(kind, conds, left.Output(), n.Cols)
	if n.Outer {
		by, _, err := b.load(&n)
		if err != nil {
			return nil, err
		}
		for _, c := range conds {
			n.Conds = append(n.Conds, substitute(c, by))
		}
		return b.shownColumns(&n, &n)
	}
	node, err := b.shownColumns(&n, &n)
	if err != nil {
		return nil, err
	}
	if node, err = b.attach(node, bl.pre[before:]); err != nil {
		return nil, err
	}
	bl.pre = bl.pre[:before]
	return &Filter{In: node, Conds: conds}, nil
}

// jsonTable binds JSON_TABLE.
func (bl *block) jsonTable(t *syntax.JSONTable, s *scope) (expr.TableFunction, []string, error) {
	doc, err := bl.bind(t.Doc, s)
	if err != nil {
		return nil, nil, err
	}
	path, err := bl.pathOf(t.Path)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	cols, err := bl.jsonColumns(t.Columns, &names)
	if err != nil {
		return nil, nil, err
	}
	f, err := expr.NewJSONTable(bl.b.env.Expr, doc, path, cols)
	return f, names, err
}

// pathOf reads a path, which is a string.
func (bl *block) pathOf(e syntax.Expr) (string, error) {
	if l, ok := e.(*syntax.StringLit); ok {
		return l.Value, nil
	}
	return "", errs.UserAt(e.Pos(), errs.Syntax, "a JSON path here is a string")
}

func (bl *block) jsonColumns(list []*syntax.JSONColumn, names *[]string) ([]expr.JSONColumn, error) {
	var out []expr.JSONColumn
	for _, c := range list {
		x := expr.JSONColumn{Name: c.Name.Name}
		var err error
		if c.Kind != syntax.JSONOrdinality {
			if x.Path, err = bl.pathOf(c.Path); err != nil {
				return nil, err
			}
		}
		switch c.Kind {
		case syntax.JSONNested:
			x.Kind = expr.JSONNestedAt
			if x.Columns, err = bl.jsonColumns(c.Columns, names); err != nil {
				return nil, err
			}
			out = append(out, x)
			continue
		case syntax.JSONOrdinality:
			x.Kind, x.Type = expr.JSONOrdinality, expr.Type{Class: expr.Int, Width: 4, Nullable: true}
		case syntax.JSONPath, syntax.JSONExists:
			x.Kind = expr.JSONValueAt
			if c.Kind == syntax.JSONExists {
				x.Kind = expr.JSONExistsAt
			}
			if x.Type, err = bl.b.columnType(c.Type, c.Name.Name); err != nil {
				return nil, err
			}
			x.Padded = c.Type != nil && (strings.EqualFold(c.Type.Name, "CHAR") || strings.EqualFold(c.Type.Name, "CHARACTER") || strings.EqualFold(c.Type.Name, "NCHAR"))
		}
		for _, on := range []struct {
			from *syntax.JSONOn
			to   *expr.JSONOn
		}{{c.OnEmpty, &x.OnEmpty}, {c.OnError, &x.OnError}} {
			if on.from == nil {
				continue
			}
			on.to.Error = on.from.Kind == syntax.JSONOnError
			if on.from.Kind == syntax.JSONOnDefault {
				l, ok := on.from.Default.(*syntax.StringLit)
				if !ok {
					return nil, errs.UserAt(on.from.Pos(), errs.Syntax, "DEFAULT takes JSON in a string here")
				}
				text := l.Value
				on.to.Default = &text
			}
		}
		*names = append(*names, x.Name)
		out = append(out, x)
	}
	return out, nil
}

// columnType is the type that a column of a declared type has.
func (b *binder) columnType(d *syntax.DataType, name string) (expr.Type, error) {
	t := &tableTypes{env: b.env, collation: b.env.Expr.Collation}
	typ, declared, err := t.mysqlType(d, "")
	if err != nil {
		return expr.Type{}, err
	}
	x, err := expr.Stored(0, catalog.Field{Name: name, Type: typ}, declared, name)
	if err != nil {
		return expr.Type{}, err
	}
	out := x.Type()
	out.Coercibility = 2
	return out, nil
}
