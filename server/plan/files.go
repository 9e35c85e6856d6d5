package plan

import (
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// fileFunctions are the table functions that read files, with the format.
var fileFunctions = map[string]string{"READ_PARQUET": "parquet", "READ_CSV": "csv", "READ_JSON": "json", "READ_ORC": "orc", "READ_AVRO": "avro"}

// fileTable binds read_parquet('path') and its like.
func (bl *block) fileTable(t *syntax.TableFunc) (Node, relation, error) {
	b := bl.b
	fail := func(err error) (Node, relation, error) { return nil, relation{}, positioned(err, t.Pos()) }
	name := strings.ToLower(t.Name.Object())
	format := fileFunctions[strings.ToUpper(name)]
	switch {
	case format == "" || len(t.Name.Parts) != 1 || t.Ordinality:
		return fail(errs.Unsupportedf(t.Pos(), "the table function %s", name))
	case b.env.Files == nil:
		return fail(errs.Unsupportedf(t.Pos(), "files as tables here"))
	case b.frozen != nil:
		return fail(errs.Unsupportedf(t.Pos(), "files in a view"))
	}
	if b.refs++; b.refs > maxRefs {
		return fail(errs.UserAt(t.Pos(), errs.Syntax, "the statement refers to more than %d tables", maxRefs))
	}
	path, options := "", map[string]string{}
	for i, a := range t.Args {
		x, err := expr.Bind(b.env.Expr, a.Value, &scope{bl: &block{b: b}, clause: inFields, rel: &relation{}, noAggs: true, noSubs: "subqueries in the arguments of a table function"})
		if err != nil {
			return fail(err)
		}
		if !expr.IsConst(x) {
			return fail(errs.UserAt(a.Pos(), errs.WrongArguments, "the arguments of %s are constants", name))
		}
		v, err := expr.EvalConst(b.env.Expr, x)
		if err != nil {
			return fail(err)
		}
		if v.IsNull() {
			return fail(errs.UserAt(a.Pos(), errs.WrongArguments, "an argument of %s is NULL", name))
		}
		text := string(expr.AppendText(nil, v.Type, v.Vec, 0, b.env.Expr.Zone))
		switch k := strings.ToLower(a.Name.Name); {
		case k == "" && i == 0, k == "path" && path == "":
			path = text
		case k == "":
			return fail(errs.UserAt(a.Pos(), errs.WrongArguments, "%s takes one path; its options are written name => value", name))
		default:
			options[k] = text
		}
	}
	if path == "" {
		return fail(errs.UserAt(t.Pos(), errs.WrongArguments, "%s needs a path", name))
	}
	if b.env.Preparing && len(b.env.Params) == 0 && hasPlaceholder(t) {
		return fail(errs.Unsupportedf(t.Pos(), "placeholders in the arguments of %s", name))
	}
	tab, err := b.env.Files.FileTable(b.ctx, format, path, options)
	if err != nil {
		return fail(err)
	}
	snap, err := tab.Snapshot(b.ctx, catalog.Ref{})
	if err != nil {
		return fail(err)
	}
	u := &TableUse{Table: tab, Snapshot: snap}
	b.tables = append(b.tables, u)
	alias := t.Alias.Name
	if alias == "" {
		alias = name
	}
	s, err := b.scan(u, Name{ID: tab.ID()}, alias)
	if err != nil {
		return fail(err)
	}
	if len(t.Columns) > 0 && len(t.Columns) != len(s.Cols) {
		return fail(errs.UserAt(t.Pos(), errs.ColumnCount, "'%s' has %d columns, %d names are given", alias, len(s.Cols), len(t.Columns)))
	}
	ref := &tableRef{alias: alias}
	for i, c := range s.Cols {
		n := b.cols[c.ID].Name
		if len(t.Columns) > 0 {
			n = t.Columns[i].Name
		}
		ref.cols = append(ref.cols, named{n, c.ID})
	}
	b.rawColumns(s)
	return s, ref.relation(), nil
}

// hasPlaceholder reports whether a tree has a parameter in it.
func hasPlaceholder(n syntax.Node) (yes bool) {
	syntax.Walk(n, func(x syntax.Node) bool {
		_, is := x.(*syntax.Placeholder)
		yes = yes || is
		return !yes
	})
	return yes
}
