package plan

import (
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// equality is a condition that holds for every row: a and b are the same column
// value; b is -1 when a is constant. From an outer join's ON it only says that
// a determines b.
type equality struct {
	a, b   ColID
	oneWay bool
}

// from binds a table expression.
func (bl *block) from(t syntax.TableExpr) (Node, relation, error) {
	switch t := t.(type) {
	case *syntax.TableName:
		return bl.table(t)
	case *syntax.Derived:
		// A derived table sees what is outside of this query, not its neighbours.
		return bl.derivedTable(t, bl.outer)
	case *syntax.Join:
		return bl.join(t)
	case *syntax.TableFunc:
		return bl.fileTable(t)
	case *syntax.JSONTable, *syntax.Unnest:
		return bl.tableFunction(t, nil)
	}
	return nil, relation{}, errs.Unsupportedf(t.Pos(), "this table expression")
}

// derivedTable binds a subquery of FROM that sees outer.
func (bl *block) derivedTable(t *syntax.Derived, outer *scope) (Node, relation, error) {
	if t.Alias.Name == "" {
		return nil, relation{}, errs.UserAt(t.Pos(), errs.DerivedAlias, "Every derived table must have its own alias")
	}
	r, err := bl.b.query(t.Query, outer, bl.ctes)
	if err != nil {
		return nil, relation{}, err
	}
	ref, err := bl.b.derived(r, t.Alias, t.Columns, t.Pos())
	if err != nil {
		return nil, relation{}, err
	}
	return r.node, ref.relation(), nil
}

// lateral binds LATERAL (SELECT …) on the right of a join: it sees the tables on
// the left, whose columns it may need.
func (bl *block) lateral(t *syntax.Derived, rel *relation) (Node, relation, error) {
	left := &block{b: bl.b, outer: bl.outer, ctes: bl.ctes, rel: *rel}
	return bl.derivedTable(t, &scope{bl: left, clause: inFields, rel: rel, noAggs: true})
}

// derived names a query's columns as a table's.
func (b *binder) derived(r *result, alias syntax.Ident, names []syntax.Ident, pos int) (*tableRef, error) {
	if len(names) > 0 && len(names) != len(r.cols) {
		return nil, errs.UserAt(pos, errs.ViewColumns, "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts")
	}
	t := &tableRef{alias: alias.Name}
	seen := map[string]bool{}
	for i, c := range r.cols {
		name := c.Name
		if len(names) > 0 {
			name = names[i].Name
		}
		if k := strings.ToLower(name); seen[k] {
			return nil, errs.UserAt(pos, errs.DuplicateColumn, "Duplicate column name '%s'", name)
		} else {
			seen[k] = true
		}
		t.cols = append(t.cols, named{name, c.ID})
		// Protocols show the derived table, messages its column's name.
		b.cols[c.ID].Table, b.cols[c.ID].Name = alias.Name, name
		if r.kept {
			b.cols[c.ID].Type = b.cols[c.ID].Type.OfField()
		}
	}
	for _, i := range r.unique {
		t.key = append(t.key, r.cols[i].ID)
	}
	return t, nil
}

// table binds a table name: a common table expression, else a table.
func (bl *block) table(t *syntax.TableName) (Node, relation, error) {
	b := bl.b
	fail := func(err error) (Node, relation, error) { return nil, relation{}, err }
	if b.refs++; b.refs > maxRefs {
		return fail(errs.UserAt(t.Pos(), errs.Syntax, "the statement refers to more than %d tables", maxRefs))
	}
	switch {
	case t.Sample != nil:
		return fail(errs.Unsupportedf(t.Sample.Pos(), "TABLESAMPLE"))
	case len(t.Partitions) > 0:
		return fail(errs.Unsupportedf(t.Pos(), "PARTITION (…) of a table in FROM"))
	}
	alias := t.Alias
	if alias.Name == "" {
		alias = syntax.Ident{At: t.At, Name: t.Name.Object()}
	}
	if len(t.Name.Parts) == 1 {
		if c := bl.ctes.find(t.Name.Object()); c != nil {
			if _, changed := b.targets[t]; changed {
				return fail(errs.UserAt(t.Pos(), errs.NotUpdatable, "The target table %s of the %s is not updatable", alias.Name, b.verb))
			}
			if t.AsOf != nil || len(t.Options) > 0 {
				return fail(errs.UserAt(t.Pos(), errs.WrongArguments, "'%s' is a common table expression, which has no versions", c.def.Name.Name))
			}
			r, err := bl.cteQuery(c)
			if err != nil {
				return fail(err)
			}
			names := c.def.Columns
			if c.recursive || c.work != nil {
				names = nil // they are the columns' own
			}
			if len(t.Columns) > 0 {
				names = t.Columns
			}
			ref, err := b.derived(r, alias, names, t.Pos())
			if err != nil {
				return fail(err)
			}
			return r.node, ref.relation(), nil
		}
	}
	if _, changed := b.targets[t]; changed {
		s, ref, err := b.targetScan(t, alias.Name, b.verb)
		if err != nil {
			return fail(err)
		}
		ref.ast = t
		return s, ref.relation(), nil
	}
	n, tab, err := b.open(t.Name)
	if errs.Is(err, errs.UnknownTable) {
		v, look := b.view(n)
		if look != nil {
			return fail(positioned(look, t.Pos()))
		}
		if v != nil {
			b.freezeName(t, n)
			return bl.viewTable(t, n, v, alias)
		}
	}
	if err != nil {
		return fail(err)
	}
	b.freezeName(t, n)
	version, continuous, err := b.ref(t)
	if err != nil {
		return fail(err)
	}
	at := t.Pos()
	if version.Kind == catalog.ByOptions {
		at = t.HintPos.Pos()
	}
	var u *TableUse
	if f, ok := tab.(connector.Followable); continuous == 1 || continuous < 0 && ok && b.env.Continuous {
		if !ok {
			return fail(errs.Unsupportedf(at, "a continuous read of %s", n.ID))
		}
		u, err = b.follow(n, f, version, at)
	} else {
		u, err = b.use(n, tab, version, at)
	}
	if err != nil {
		return fail(err)
	}
	s, err := b.scan(u, n, alias.Name)
	if err != nil {
		return fail(err)
	}
	ref := &tableRef{catalog: n.Catalog, database: n.ID.Database, alias: alias.Name, ast: t}
	if len(t.Columns) > 0 && (len(t.Columns) != len(s.Cols) || u == b.streamed) {
		return fail(errs.UserAt(t.Pos(), errs.ColumnCount, "'%s' has %d columns, %d names are given", alias.Name, len(s.Cols), len(t.Columns)))
	}
	schema := u.Snapshot.Schema()
	key := map[string]ColID{}
	for i, c := range s.Cols {
		if u == b.streamed && i == 0 {
			b.op = c.ID // it is in every result, and not for expressions
			continue
		}
		name := b.cols[c.ID].Name
		key[schema.Fields[c.Pos].Name] = c.ID
		if len(t.Columns) > 0 {
			name = t.Columns[i].Name
		}
		ref.cols = append(ref.cols, named{name, c.ID})
	}
	for _, k := range schema.PrimaryKeys {
		ref.key = append(ref.key, key[k])
	}
	b.rawColumns(s)
	return s, ref.relation(), nil
}

// scan makes the node that reads all columns of a table; pruning drops those
// that nothing needs.
func (b *binder) scan(u *TableUse, n Name, alias string) (*Scan, error) {
	schema := u.Snapshot.Schema()
	s := &Scan{Use: u, Alias: alias, Limit: -1}
	for i, f := range schema.Fields {
		load, err := expr.Stored(i, f, schema.MySQLType(f), f.Name)
		if err != nil {
			return nil, err
		}
		key := false
		for _, k := range schema.PrimaryKeys {
			key = key || k == f.Name
		}
		id := b.newCol(Column{Name: f.Name, Type: load.Type(), Database: n.ID.Database, Table: alias, OrgTable: n.ID.Object(), OrgName: f.Name, Key: key, field: &schema.Fields[i]})
		s.Cols = append(s.Cols, ScanCol{ID: id, Pos: i, Load: load})
	}
	return s, nil
}

// join binds a join.
func (bl *block) join(t *syntax.Join) (Node, relation, error) {
	fail := func(err error) (Node, relation, error) { return nil, relation{}, err }
	kind := Inner
	switch t.Kind {
	case syntax.JoinLeft:
		kind = Left
	case syntax.JoinRight:
		kind = Right
	case syntax.JoinFull:
		kind = Full
	case syntax.JoinLeftSemi, syntax.JoinLeftAnti:
		return fail(errs.Unsupportedf(t.Pos(), "SEMI and ANTI JOIN; write EXISTS or IN instead"))
	}
	left, lrel, err := bl.from(t.Left)
	if err != nil {
		return fail(err)
	}
	var right Node
	var rrel relation
	if d, ok := t.Right.(*syntax.Derived); ok && d.Lateral && (kind == Inner || kind == Left) {
		right, rrel, err = bl.lateral(d, &lrel)
	} else if isTableFunction(t.Right) && (kind == Inner || kind == Left) {
		right, rrel, err = bl.tableFunction(t.Right, &lrel)
	} else {
		right, rrel, err = bl.from(t.Right)
	}
	if err != nil {
		return fail(err)
	}
	rel := relation{visible: append(append([]named{}, lrel.visible...), rrel.visible...), tables: append(append([]*tableRef{}, lrel.tables...), rrel.tables...)}
	for i, x := range rel.tables {
		for _, y := range rel.tables[:i] {
			if x.alias == y.alias && x.database == y.database && x.catalog == y.catalog {
				return fail(errs.UserAt(t.Pos(), errs.DuplicateAlias, "Not unique table/alias: '%s'", x.alias))
			}
		}
	}
	j := &Join{Kind: kind, Left: left, Right: right}
	if g := generated(right); g != nil && (kind == Inner || kind == Left) && len(t.Using) == 0 && !t.Natural && correlated(g, setOf(left.Output())) {
		n, err := bl.generate(g, left, kind, t, &rel)
		return n, rel, err
	}
	var pulled []expr.Expr // what a lateral table compared with the left side
	if set := setOf(left.Output()); correlated(right, set) {
		var ok bool
		if j.Right, pulled, ok = pull(right, set); !ok {
			if j.Right, j.Keys, err = bl.b.unnest(left, right, set, t.Right.Pos()); err != nil {
				return fail(err)
			}
		}
		right = j.Right
	}
	using := t.Using
	if t.Natural {
		using = nil
		for _, c := range lrel.visible {
			if len(lookup(rrel.visible, c.name)) > 0 {
				using = append(using, syntax.Ident{At: t.At, Name: c.name})
			}
		}
	}
	var items []Item
	if len(using) > 0 || t.Natural {
		if rel.visible, items, err = bl.using(j, using, lrel, rrel); err != nil {
			return fail(err)
		}
	}
	var conds []expr.Expr
	var list []*apply // the subqueries of ON
	if t.On != nil {
		s := &scope{bl: bl, clause: inOn, rel: &rel, noAggs: true}
		before := len(bl.pre)
		if conds, err = bl.condition(t.On, s); err != nil {
			return fail(err)
		}
		list = bl.pre[before:]
		bl.pre = bl.pre[:before:before]
	}
	if len(list) > 0 && kind == Inner {
		// A subquery in the ON of an inner join is a condition on its result.
		node, err := bl.b.attach(j, list)
		if err != nil {
			return fail(err)
		}
		bl.noteEqualities(Inner, conds, nil, nil)
		j.Conds = pulled
		return &Filter{In: node, Conds: conds}, rel, nil
	}
	all := slices.Concat(conds, j.Conds, pulled)
	bl.noteEqualities(kind, all, left.Output(), right.Output())
	var out Node = j
	if len(list) > 0 {
		j.Conds = pulled
		if out, err = bl.b.attachOn(j, conds, list); err != nil {
			return fail(err)
		}
	} else {
		j.Conds = all
	}
	// What an outer join adds NULLs to may be NULL from here on.
	if kind == Left || kind == Full {
		bl.b.nullable(right.Output())
	}
	if kind == Right || kind == Full {
		bl.b.nullable(left.Output())
	}
	for i, it := range items {
		if id, ok := plainColumn(it.Expr); ok {
			items[i].Expr = bl.b.col(id)
		}
	}
	if items != nil {
		return &Project{In: out, Items: items}, rel, nil
	}
	return out, rel, nil
}

// using makes the conditions of USING and NATURAL and the columns that stand
// for both sides' ones.
func (bl *block) using(j *Join, names []syntax.Ident, l, r relation) ([]named, []Item, error) {
	b := bl.b
	gone := map[ColID]bool{}
	var first []named
	var merged []Item
	// The columns come in the order of the first table, of a right join's second.
	order := l.visible
	if j.Kind == Right {
		order = r.visible
	}
	at := func(n syntax.Ident) int {
		return slices.IndexFunc(order, func(c named) bool { return strings.EqualFold(c.name, n.Name) })
	}
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(x, y syntax.Ident) int { return at(x) - at(y) })
	for _, n := range names {
		side := func(rel relation) (ColID, error) {
			found := lookup(rel.visible, n.Name)
			if len(found) == 0 {
				return 0, errs.UserAt(n.Pos(), errs.UnknownColumn, "Unknown column '%s' in 'from clause'", n.Name)
			}
			if len(found) > 1 {
				return 0, errs.UserAt(n.Pos(), errs.AmbiguousColumn, "Column '%s' in from clause is ambiguous", n.Name)
			}
			return found[0].id, nil
		}
		lc, err := side(l)
		if err != nil {
			return nil, nil, err
		}
		rc, err := side(r)
		if err != nil {
			return nil, nil, err
		}
		eq, err := expr.Call(b.env.Expr, "=", b.col(lc), b.col(rc))
		if err != nil {
			return nil, nil, positioned(err, n.Pos())
		}
		j.Conds = append(j.Conds, eq)
		gone[lc], gone[rc] = true, true
		id := lc
		switch j.Kind {
		case Right:
			id = rc
		case Full:
			both, err := expr.Call(b.env.Expr, "COALESCE", b.col(lc), b.col(rc))
			if err != nil {
				return nil, nil, positioned(err, n.Pos())
			}
			id = b.newCol(Column{Name: n.Name, Type: both.Type()})
			merged = append(merged, Item{id, both})
		}
		first = append(first, named{b.cols[lc].Name, id})
	}
	var rest []named
	one, two := l.visible, r.visible
	if j.Kind == Right {
		one, two = two, one // MySQL turns it into a left join first
	}
	for _, c := range append(append([]named{}, one...), two...) {
		if !gone[c.id] {
			rest = append(rest, c)
		}
	}
	if merged != nil {
		// The merged columns are computed above the join, beside all others.
		for _, id := range j.Output() {
			merged = append(merged, Item{id, b.col(id)})
		}
	}
	return append(first, rest...), merged, nil
}

// noteEqualities remembers what conditions say about equal columns.
func (bl *block) noteEqualities(kind JoinKind, conds []expr.Expr, left, right []ColID) {
	for _, c := range conds {
		if expr.Operator(c) != "=" {
			continue
		}
		x, y := unconverted(c.Children()[0]), unconverted(c.Children()[1])
		a, aok := plainColumn(x)
		b, bok := plainColumn(y)
		switch kind {
		case Inner:
			switch {
			case aok && bok:
				bl.equal = append(bl.equal, equality{a: a, b: b})
			case aok && expr.IsConst(y):
				bl.equal = append(bl.equal, equality{a: a, b: -1})
			case bok && expr.IsConst(x):
				bl.equal = append(bl.equal, equality{a: b, b: -1})
			}
		case Left, Right:
			from, to := setOf(left), setOf(right)
			if kind == Right {
				from, to = to, from
			}
			switch {
			case aok && bok && from[a] && to[b]:
				bl.equal = append(bl.equal, equality{a: a, b: b, oneWay: true})
			case aok && bok && from[b] && to[a]:
				bl.equal = append(bl.equal, equality{a: b, b: a, oneWay: true})
			}
		}
	}
}

// unconverted looks through an implicit conversion of a number that maps
// different values to different ones.
func unconverted(e expr.Expr) expr.Expr {
	in := expr.Converted(e)
	if in == nil {
		return e
	}
	exact := func(t expr.Type) bool { return t.Class == expr.Int || t.Class == expr.Decimal || t.Class == expr.Bool }
	if exact(in.Type()) && exact(e.Type()) {
		return in
	}
	return e
}

// nullable marks columns that may be NULL.
func (b *binder) nullable(ids []ColID) {
	for _, id := range ids {
		b.cols[id].Type.Nullable = true
	}
}

// plainColumn returns the column that an expression shows unchanged.
func plainColumn(e expr.Expr) (ColID, bool) {
	c, ok := e.(*expr.ColumnExpr)
	if !ok {
		return 0, false
	}
	return c.Pos, true
}
