package plan

import (
	"context"
	"slices"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// Merge is a bound MERGE INTO. Each row of Query is a row of the target, of the
// source, or a pair of both that match; the first of Whens that fits it says what
// is done.
type Merge struct {
	*Target
	Query *Query
	// Source is a column that is NULL in rows without a row of the source.
	Source ColID
	Whens  []When
}

// When is one branch of MERGE.
type When struct {
	Matched  bool
	BySource bool      // not matched by source: the target's row alone
	And      expr.Expr // nil: always
	Action   syntax.MergeAction
	Sets     []Set       // update; the values read old rows only
	Values   []expr.Expr // insert: one for each column of the schema
	// Absent says that ON compares the whole primary key with what is inserted,
	// so that the key of a new row is not in the table.
	Absent bool
}

// BindMerge binds MERGE INTO.
func BindMerge(ctx context.Context, s *syntax.Merge, env *Env) (m *Merge, err error) {
	b := newBinder(ctx, env)
	b.verb = "MERGE"
	defer func() { b.abandon(err) }()
	bl := &block{b: b}
	if bl.ctes, err = with(s.With, nil, nil); err != nil {
		return nil, err
	}
	access := ReadRows
	var inserts, alone bool // rows of the source, of the target without a match
	for _, w := range s.Whens {
		switch w.Action {
		case syntax.MergeUpdate:
			access |= UpdateRows
		case syntax.MergeDelete:
			access |= DeleteRows
		case syntax.MergeInsert:
			access |= InsertRows
		}
		if (w.Action == syntax.MergeInsert) != (!w.Matched && !w.BySource) && w.Action != syntax.MergeDoNothing {
			return nil, errs.UserAt(w.Pos(), errs.Syntax, "MERGE inserts rows WHEN NOT MATCHED, and updates and deletes the others")
		}
		inserts = inserts || !w.Matched && !w.BySource
		alone = alone || w.BySource
	}
	b.targets = map[*syntax.TableName]Access{s.Into: access}
	source, srel, err := bl.from(s.Source)
	if err != nil {
		return nil, err
	}
	into, trel, err := bl.from(s.Into)
	if err != nil {
		return nil, err
	}
	m = &Merge{Target: trel.tables[0].target}
	if err := m.refuseEngine(s.Pos(), b.verb, access); err != nil {
		return nil, err
	}
	for _, t := range srel.tables {
		if t.alias == trel.tables[0].alias && t.database == trel.tables[0].database && t.catalog == trel.tables[0].catalog {
			return nil, errs.UserAt(s.Into.Pos(), errs.DuplicateAlias, "Not unique table/alias: '%s'", t.alias)
		}
	}
	m.Source = b.newCol(Column{Name: "matched", Type: expr.TBigInt})
	marked := &Project{In: source}
	for _, id := range source.Output() {
		marked.Items = append(marked.Items, Item{id, b.col(id)})
	}
	marked.Items = append(marked.Items, Item{m.Source, expr.Literal(expr.IntValue(1))})
	rel := relation{visible: append(append([]named{}, trel.visible...), srel.visible...), tables: append(append([]*tableRef{}, trel.tables...), srel.tables...)}
	j := &Join{Left: marked, Right: into, Kind: Inner}
	switch {
	case inserts && alone:
		j.Kind = Full
	case inserts:
		j.Kind = Left
	case alone:
		j.Kind = Right
	}
	on := &scope{bl: bl, clause: inOn, rel: &rel, noAggs: true, noSubs: "correlated subqueries in the ON of MERGE"}
	if j.Conds, err = bl.condition(s.On, on); err != nil {
		return nil, err
	}
	bl.node, bl.rel = j, rel
	if j.Kind == Left || j.Kind == Full {
		b.nullable(into.Output())
	}
	if j.Kind == Right || j.Kind == Full {
		b.nullable(marked.Output())
	}
	need := append(m.need(true), m.Source)
	for _, w := range s.Whens {
		when, err := bl.when(w, m, srel, trel)
		if err != nil {
			return nil, err
		}
		if when.And != nil {
			need = append(need, expr.ColumnsOf(when.And)...)
		}
		for _, x := range when.Sets {
			need = append(need, expr.ColumnsOf(x.Value)...)
		}
		for _, x := range when.Values {
			need = append(need, expr.ColumnsOf(x)...)
		}
		when.Absent = len(when.Values) > 0 && m.absent(j.Conds, when.Values)
		m.Whens = append(m.Whens, when)
	}
	m.Query, err = b.finished(bl.rows(need))
	return m, err
}

// when binds a branch. What it may read depends on which rows there are.
func (bl *block) when(w *syntax.MergeWhen, m *Merge, srel, trel relation) (When, error) {
	b := bl.b
	out := When{Matched: w.Matched, BySource: w.BySource, Action: w.Action}
	rel := bl.rel
	switch {
	case w.BySource:
		rel = trel
	case !w.Matched:
		rel = srel
	}
	if w.And != nil {
		x, err := bl.bind(w.And, &scope{bl: bl, clause: inWhere, rel: &rel, noAggs: true, noSubs: "correlated subqueries in MERGE"})
		if err != nil {
			return out, err
		}
		if out.And, err = expr.Condition(b.env.Expr, x); err != nil {
			return out, err
		}
	}
	bind := func(e syntax.Expr, field int) (expr.Expr, error) {
		x, err := expr.Bind(b.env.Expr, e, &setScope{scope: scope{bl: bl, clause: inFields, rel: &rel, noAggs: true, noSubs: "correlated subqueries in MERGE"}, target: m.Target, field: field})
		if err != nil {
			return nil, err
		}
		return expr.Assigned(x, m.Types[field]), nil
	}
	field := func(name string, pos int) (int, error) {
		found := lookup(trel.tables[0].cols, name)
		if len(found) != 1 {
			return 0, errs.UserAt(pos, errs.UnknownColumn, "Unknown column '%s' in 'field list'", name)
		}
		return slices.Index(m.Cols, found[0].id), nil
	}
	// sameName is the source's column for a column of the target, of * in UPDATE
	// SET * and INSERT *.
	sameName := func(i int) (expr.Expr, error) {
		name := m.Schema.Fields[i].Name
		found := lookup(srel.visible, name)
		if len(found) != 1 {
			return nil, errs.UserAt(w.Pos(), errs.UnknownColumn, "* in MERGE: the source has no single column '%s'", name)
		}
		return b.col(found[0].id), nil
	}
	switch w.Action {
	case syntax.MergeUpdate:
		if w.All {
			for i := range m.Schema.Fields {
				x, err := sameName(i)
				if err != nil {
					return out, err
				}
				out.Sets = append(out.Sets, Set{Field: i, Value: x, New: -1})
			}
			return out, nil
		}
		for _, a := range w.Set {
			if q := a.Column.Qualifier(); len(q) > 0 && len(trel.named(q)) != 1 {
				return out, errs.UserAt(a.Pos(), errs.NotUpdatable, "The target table %s of the MERGE is not updatable", q[len(q)-1].Name)
			}
			i, err := field(a.Column.Column(), a.Pos())
			if err != nil {
				return out, err
			}
			if slices.ContainsFunc(out.Sets, func(s Set) bool { return s.Field == i }) {
				return out, errs.UserAt(a.Pos(), errs.DuplicateColumn, "Column '%s' specified twice", a.Column.Column())
			}
			x, err := bind(a.Value, i)
			if err != nil {
				return out, err
			}
			out.Sets = append(out.Sets, Set{Field: i, Value: x, New: -1})
		}
	case syntax.MergeInsert:
		out.Values = make([]expr.Expr, len(m.Schema.Fields))
		if w.All {
			for i := range out.Values {
				x, err := sameName(i)
				if err != nil {
					return out, err
				}
				out.Values[i] = x
			}
			return out, nil
		}
		at := make([]int, 0, len(w.Columns))
		for _, c := range w.Columns {
			i, err := field(c.Name, c.Pos())
			if err != nil {
				return out, err
			}
			if slices.Contains(at, i) {
				return out, errs.UserAt(c.Pos(), errs.DuplicateColumn, "Column '%s' specified twice", c.Name)
			}
			at = append(at, i)
		}
		if w.Columns == nil {
			for i := range m.Schema.Fields {
				at = append(at, i)
			}
		}
		if len(at) != len(w.Values) {
			return out, errs.UserAt(w.Pos(), errs.ColumnCount, "Column count doesn't match value count at row 1")
		}
		for k, i := range at {
			x, err := bind(w.Values[k], i)
			if err != nil {
				return out, err
			}
			out.Values[i] = x
		}
		for i, x := range out.Values {
			if x == nil {
				d, err := b.defaulted(m.Target, i, w.Pos())
				if err != nil {
					return out, err
				}
				out.Values[i] = d
			}
		}
	}
	return out, nil
}

// absent reports whether conditions compare each column of the primary key with
// the value that is inserted into it.
func (m *Merge) absent(conds []expr.Expr, values []expr.Expr) bool {
	for _, k := range m.KeyColumns() {
		found := false
		for _, c := range conds {
			if expr.Operator(c) != "=" {
				continue
			}
			for i, x := range c.Children() {
				id, ok := plainColumn(x)
				found = found || ok && id == m.Cols[k] && c.Children()[1-i].Key() == values[k].Key() && Exact(x.Type())
			}
		}
		if !found {
			return false
		}
	}
	return true
}
