package plan

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// Insert is a bound INSERT.
type Insert struct {
	Catalog string
	Table   connector.Writable
	Schema  *catalog.Schema
	// Sources give the rows, one after the other, with a column for each of the
	// schema's, of whatever type; Types are the columns' own. Exec converts as
	// an assignment does.
	Sources []*Query
	Types   []expr.Type
	// Overwrite replaces what the table holds.
	Overwrite bool
	// Ignore turns errors of values into warnings.
	Ignore bool
}

// BindInsert binds INSERT … VALUES and INSERT … SELECT.
func BindInsert(ctx context.Context, s *syntax.Insert, env *Env) (*Insert, error) {
	switch {
	case s.Replace:
		return nil, errs.Unsupportedf(s.Pos(), "REPLACE")
	case len(s.OnDuplicate) > 0:
		return nil, errs.Unsupportedf(s.OnDuplicate[0].Pos(), "ON DUPLICATE KEY UPDATE")
	case len(s.Returning) > 0:
		return nil, errs.Unsupportedf(s.Pos(), "RETURNING")
	case s.Partition != nil || len(s.Table.Partitions) > 0:
		return nil, errs.Unsupportedf(s.Pos(), "INSERT … PARTITION (…)")
	case s.RowAlias.Name != "":
		return nil, errs.Unsupportedf(s.RowAlias.Pos(), "a row alias in INSERT")
	case s.With != nil:
		return nil, errs.Unsupportedf(s.With.Pos(), "WITH before INSERT")
	case s.Table.AsOf != nil || len(s.Table.Options) > 0:
		return nil, errs.Unsupportedf(s.Table.Pos(), "INSERT into a version of a table")
	}
	b := newBinder(ctx, env)
	n, t, err := b.open(s.Table.Name)
	if err != nil {
		return nil, err
	}
	w, ok := t.(connector.Writable)
	if !ok {
		return nil, errs.Unsupportedf(s.Table.Pos(), "INSERT into table %s", n.ID)
	}
	ins := &Insert{Catalog: n.Catalog, Table: w, Schema: t.Schema(), Overwrite: s.Overwrite, Ignore: s.Ignore}
	var names []named
	defaults := make([]expr.Expr, len(ins.Schema.Fields)) // nil: the column must be given
	for i, f := range ins.Schema.Fields {
		typ, err := expr.FromColumn(f, ins.Schema.MySQLType(f))
		if err != nil {
			return nil, err
		}
		ins.Types = append(ins.Types, typ)
		names = append(names, named{f.Name, i})
		switch {
		case f.Default != nil:
			defaults[i] = expr.Literal(expr.StringValue(*f.Default, ""))
		case !f.Type.NotNull:
			defaults[i] = expr.Literal(expr.NullValue())
		}
	}
	// target[k] is the column that the k-th value goes to.
	var target []int
	if s.HasColumns || s.SetForm {
		seen := map[int]bool{}
		for _, c := range s.Columns {
			found := lookup(names, c.Name)
			if len(found) != 1 {
				return nil, errs.UserAt(c.Pos(), errs.UnknownColumn, "Unknown column '%s' in 'field list'", c.Name)
			}
			if seen[found[0].id] {
				return nil, errs.UserAt(c.Pos(), errs.DuplicateColumn, "Column '%s' specified twice", c.Name)
			}
			seen[found[0].id] = true
			target = append(target, found[0].id)
		}
	} else {
		for i := range names {
			target = append(target, i)
		}
	}
	at := make([]int, len(names)) // which value a column gets, -1: its default
	for i := range at {
		at[i] = -1
	}
	for k, i := range target {
		at[i] = k
	}
	for i, f := range ins.Schema.Fields {
		if at[i] < 0 && defaults[i] == nil {
			return nil, errs.UserAt(s.Pos(), errs.NoDefault, "Field '%s' doesn't have a default value", f.Name)
		}
	}
	if s.Query == nil {
		return ins, b.insertValues(s, ins, target, at, defaults)
	}
	r, err := b.query(s.Query, nil, nil)
	if err != nil {
		return nil, err
	}
	if len(r.cols) != len(target) {
		return nil, errs.UserAt(s.Query.Pos(), errs.ColumnCount, "Column count doesn't match value count at row 1")
	}
	p := &Project{In: r.node}
	out := &result{node: p}
	for i, f := range ins.Schema.Fields {
		x := defaults[i]
		if at[i] >= 0 {
			x = b.col(r.cols[at[i]].ID)
		}
		id := b.newCol(Column{Name: f.Name, Type: x.Type()})
		p.Items = append(p.Items, Item{id, x})
		out.cols = append(out.cols, b.cols[id])
	}
	q, err := b.finished(out)
	ins.Sources = []*Query{q}
	return ins, err
}

// insertValues binds the rows of VALUES; DEFAULT and DEFAULT(column) may stand
// in them. Values keep their own types, since '1' and 1 are converted to a
// column's each by its own rules: rows of different types are different sources.
func (b *binder) insertValues(s *syntax.Insert, ins *Insert, target, at []int, defaults []expr.Expr) error {
	bl := &block{b: b}
	var rows [][]expr.Expr
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		r, err := b.valueRows(rows, s.Pos())
		if err != nil {
			return err
		}
		q, err := b.finished(r)
		ins.Sources = append(ins.Sources, q)
		rows = nil
		return err
	}
	for n, r := range s.Rows {
		if len(r) == 0 { // INSERT INTO t VALUES ()
			r = make([]syntax.Expr, len(target))
			for i := range r {
				r[i] = &syntax.Default{At: syntax.At(s.Pos())}
			}
		}
		if len(r) != len(target) {
			return errs.UserAt(s.Pos(), errs.ColumnCount, "Column count doesn't match value count at row %d", n+1)
		}
		row := make([]expr.Expr, len(ins.Schema.Fields))
		for i := range row {
			if at[i] < 0 {
				row[i] = defaults[i]
				continue
			}
			sc := &insertScope{scope: scope{bl: bl, clause: inFields, rel: &bl.rel, noAggs: true, noSubs: "correlated subqueries in VALUES"},
				ins: ins, column: i, defaults: defaults}
			x, err := expr.Bind(b.env.Expr, r[at[i]], sc)
			if err != nil {
				return err
			}
			row[i] = x
		}
		if len(rows) > 0 && !alike(rows[len(rows)-1], row) {
			if err := flush(); err != nil {
				return err
			}
		}
		rows = append(rows, row)
	}
	return flush()
}

// alike reports whether the values of two rows have the same types.
func alike(a, b []expr.Expr) bool {
	for i := range a {
		if !expr.Same(a[i].Type(), b[i].Type()) {
			return false
		}
	}
	return true
}

// insertScope adds DEFAULT to a scope.
type insertScope struct {
	scope
	ins      *Insert
	column   int
	defaults []expr.Expr
}

// Resolve implements expr.Scope.
func (s *insertScope) Resolve(e syntax.Expr) (expr.Expr, error) {
	d, ok := e.(*syntax.Default)
	if !ok {
		return s.scope.Resolve(e)
	}
	at := s.column
	if d.Column != nil {
		if at = s.ins.Schema.Column(d.Column.Column()); at < 0 {
			return nil, unknownColumn(d.Column, inFields)
		}
	}
	if s.defaults[at] == nil {
		return nil, errs.UserAt(d.Pos(), errs.NoDefault, "Field '%s' doesn't have a default value", s.ins.Schema.Fields[at].Name)
	}
	return s.defaults[at], nil
}
