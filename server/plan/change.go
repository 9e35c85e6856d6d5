package plan

import (
	"context"
	"slices"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// Set is an assignment of UPDATE, MERGE or ON DUPLICATE KEY UPDATE. Value reads
// columns of the query and New of assignments before it; exec converts it to
// the column's type, and New is the outcome in SQL's form.
type Set struct {
	Field int
	Value expr.Expr
	New   ColID
}

// Update is a bound UPDATE: for each row of Query, and each target that the row
// has a row of, the assignments.
type Update struct {
	Targets []*UpdateTarget
	Query   *Query
	Ignore  bool
	Several bool // the form with several tables: a row is changed once
	// InOrder says that assignments read and set user variables: they are computed
	// row by row, in the order of Query, and within a row from left to right.
	InOrder bool
}

// UpdateTarget is a table of an UPDATE with its assignments, in order.
type UpdateTarget struct {
	*Target
	Sets []Set
}

// Close releases what the plan holds.
func (u *Update) Close() error {
	var err error
	for _, t := range u.Targets {
		if e := t.Target.Close(); err == nil {
			err = e
		}
	}
	return err
}

// Delete is a bound DELETE: the rows of the targets that are in rows of Query go.
type Delete struct {
	Targets []*Target
	Query   *Query
	Ignore  bool
	Several bool
}

// Close releases what the plan holds.
func (d *Delete) Close() error {
	var err error
	for _, t := range d.Targets {
		if e := t.Close(); err == nil {
			err = e
		}
	}
	return err
}

// abandon closes what a failed bind has opened.
func (b *binder) abandon(err error) {
	if err == nil {
		return
	}
	for _, t := range b.opened {
		_ = t.Close() // the error of binding is what the client must see
	}
}

// BindUpdate binds UPDATE of one table or several.
func BindUpdate(ctx context.Context, s *syntax.Update, env *Env) (u *Update, err error) {
	one, single := s.Tables.(*syntax.TableName)
	if single {
		env = tracking(env, s)
	}
	b := newBinder(ctx, env)
	b.verb, b.ignore = "UPDATE", s.Ignore
	defer func() { b.abandon(err) }()
	bl := &block{b: b}
	if bl.ctes, err = with(s.With, nil, nil); err != nil {
		return nil, err
	}
	u = &Update{Ignore: s.Ignore}
	if single {
		b.targets = map[*syntax.TableName]Access{one: UpdateRows | readsAny(s.Set, s.Where, s.OrderBy)}
	} else {
		u.Several = true
		switch {
		case len(s.OrderBy) > 0:
			return nil, errs.UserAt(s.OrderBy[0].Pos(), errs.WrongUsage, "Incorrect usage of UPDATE and ORDER BY")
		case s.Limit != nil:
			return nil, errs.UserAt(s.Limit.Pos(), errs.WrongUsage, "Incorrect usage of UPDATE and LIMIT")
		}
		if b.targets, err = updated(ctx, s, env); err != nil {
			return nil, err
		}
	}
	if bl.node, bl.rel, err = bl.from(s.Tables); err != nil {
		return nil, err
	}
	setting := *b.env.Expr // what assignments are bound in
	if a := setting.Assigning; a != nil {
		setting.InOrder = true
		a.Met = func(string) { u.InOrder = true }
	}
	inOrder := single && (s.Limit != nil || setting.Assigning != nil)
	if single && len(s.OrderBy) == 0 {
		for _, a := range s.Set {
			for _, x := range bl.rel.find(a.Column) {
				inOrder = inOrder || slices.Contains(bl.rel.tables[0].key, x.id)
			}
		}
	}
	if err := bl.chosen(s.Where, s.OrderBy, s.Limit, inOrder); err != nil {
		return nil, err
	}
	var need []ColID
	made := colSet{}
	for _, t := range bl.rel.tables {
		if t.target == nil {
			continue
		}
		if err := t.target.refuseEngine(s.Pos(), b.verb, UpdateRows); err != nil {
			return nil, err
		}
		u.Targets = append(u.Targets, &UpdateTarget{Target: t.target})
		need = append(need, t.target.need(true)...)
	}
	for _, a := range s.Set {
		t, field, err := bl.assigned(a.Column)
		if err != nil {
			return nil, err
		}
		ut := u.Targets[slices.IndexFunc(u.Targets, func(x *UpdateTarget) bool { return x.Target == t.target })]
		sc := &setScope{scope: scope{bl: bl, clause: inFields, rel: &bl.rel, noAggs: true}, target: t.target, field: field}
		x, err := expr.Bind(&setting, a.Value, sc)
		if err != nil {
			return nil, err
		}
		x = expr.Assigned(x, t.target.Types[field])
		for _, id := range expr.ColumnsOf(x) {
			if !made[id] {
				need = append(need, id)
			}
		}
		f := t.target.Schema.Fields[field]
		typ := t.target.Types[field]
		typ.Nullable = true
		set := Set{Field: field, Value: x, New: b.newCol(Column{Name: f.Name, Type: typ, Table: t.alias})}
		made[set.New] = true
		ut.Sets = append(ut.Sets, set)
		if single {
			// What comes after sees the new value.
			bl.rel = replaced(bl.rel, t.cols[field].id, set.New)
		}
	}
	if err := bl.flush(&bl.post); err != nil {
		return nil, err
	}
	for id := range free(bl.node) {
		if made[id] {
			return nil, errs.Unsupportedf(s.Pos(), "a subquery that depends on a column which the same UPDATE has assigned")
		}
	}
	u.Query, err = b.finished(bl.rows(need))
	return u, err
}

// updated finds the tables of a multi-table UPDATE that are assigned to, by
// binding its FROM once only to look.
func updated(ctx context.Context, s *syntax.Update, env *Env) (map[*syntax.TableName]Access, error) {
	look := *env
	look.Pin, look.Change = nil, nil
	b := newBinder(ctx, &look)
	bl := &block{b: b}
	var err error
	if bl.ctes, err = with(s.With, nil, nil); err != nil {
		return nil, err
	}
	if bl.node, bl.rel, err = bl.from(s.Tables); err != nil {
		return nil, err
	}
	out := map[*syntax.TableName]Access{}
	for _, a := range s.Set {
		t, err := bl.owner(a.Column)
		if err != nil {
			return nil, err
		}
		if t.ast == nil {
			return nil, errs.UserAt(a.Pos(), errs.NotUpdatable, "The target table %s of the UPDATE is not updatable", t.alias)
		}
		out[t.ast] = UpdateRows | ReadRows
	}
	return out, nil
}

// owner returns the table of FROM that a column belongs to.
func (bl *block) owner(c *syntax.ColumnRef) (*tableRef, error) {
	found := bl.rel.find(c)
	switch {
	case len(found) == 0:
		return nil, unknownColumn(c, inFields)
	case len(found) > 1:
		return nil, ambiguous(c, inFields)
	}
	for _, t := range bl.rel.tables {
		for _, x := range t.cols {
			if x.id == found[0].id {
				return t, nil
			}
		}
	}
	return nil, errs.UserAt(c.Pos(), errs.NotUpdatable, "Column '%s' is not updatable", c.Column())
}

// assigned returns the table and the column of it that is assigned to.
func (bl *block) assigned(c *syntax.ColumnRef) (*tableRef, int, error) {
	t, err := bl.owner(c)
	if err != nil {
		return nil, 0, err
	}
	if t.target == nil {
		return nil, 0, errs.UserAt(c.Pos(), errs.NotUpdatable, "The target table %s of the %s is not updatable", t.alias, bl.b.verb)
	}
	id := bl.rel.find(c)[0].id
	for i, x := range t.cols {
		if x.id == id {
			return t, i, nil
		}
	}
	return nil, 0, unknownColumn(c, inFields)
}

// replaced returns a relation in which a column stands for another.
func replaced(r relation, old, new ColID) relation {
	swap := func(list []named) []named {
		out := slices.Clone(list)
		for i := range out {
			if out[i].id == old {
				out[i].id = new
			}
		}
		return out
	}
	out := relation{visible: swap(r.visible)}
	for _, t := range r.tables {
		c := *t
		c.cols = swap(t.cols)
		out.tables = append(out.tables, &c)
	}
	return out
}

// chosen binds WHERE, ORDER BY and LIMIT of a change. With byKey rows of one
// table with a primary key come in its order when nothing else is said, as in
// InnoDB: it decides which rows LIMIT leaves, and which duplicate is met first.
func (bl *block) chosen(where syntax.Expr, order []*syntax.OrderItem, limit *syntax.Limit, byKey bool) error {
	b := bl.b
	if where != nil {
		conds, err := bl.condition(where, &scope{bl: bl, clause: inWhere, rel: &bl.rel, noAggs: true})
		if err != nil {
			return err
		}
		if err := bl.flush(&bl.pre); err != nil {
			return err
		}
		bl.node = &Filter{In: bl.node, Conds: conds}
	}
	var keys []SortKey
	for _, o := range order {
		x, err := bl.bind(o.Expr, &scope{bl: bl, clause: inOrder, rel: &bl.rel, noAggs: true})
		if err != nil {
			return err
		}
		if !expr.IsConst(x) {
			keys = append(keys, sortKey(x, o))
		}
	}
	if err := bl.flush(&bl.post); err != nil {
		return err
	}
	if len(order) == 0 && byKey {
		for _, id := range bl.rel.tables[0].key {
			keys = append(keys, SortKey{Expr: b.col(id)})
		}
	}
	if len(keys) > 0 {
		bl.node = &Sort{In: bl.node, Keys: keys}
	}
	if limit == nil {
		return nil
	}
	if limit.Offset != nil {
		return errs.UserAt(limit.Pos(), errs.Syntax, "LIMIT of a change takes no offset")
	}
	r, err := b.limited(&result{node: bl.node}, limit)
	if err != nil {
		return err
	}
	bl.node = r.node
	return nil
}

// need are the columns of the query that changing rows of the target needs.
func (t *Target) need(whole bool) []ColID {
	out := []ColID{t.Present}
	if t.Address >= 0 {
		out = append(out, t.Address)
	}
	if whole || t.Address < 0 {
		out = append(out, t.Raw...)
	}
	return out
}

// rows is the block as a query of the given columns.
func (bl *block) rows(ids []ColID) *result {
	r := &result{node: bl.node}
	seen := colSet{}
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			r.cols = append(r.cols, bl.b.cols[id])
		}
	}
	return r
}

// readsAny tells whether a change reads columns, which needs the right to.
func readsAny(sets []*syntax.Assignment, where syntax.Expr, order []*syntax.OrderItem) Access {
	found := Access(0)
	look := func(n syntax.Node) {
		syntax.Walk(n, func(x syntax.Node) bool {
			if _, ok := x.(*syntax.ColumnRef); ok {
				found = ReadRows
			}
			return found == 0
		})
	}
	for _, a := range sets {
		look(a.Value)
	}
	if where != nil {
		look(where)
	}
	for _, o := range order {
		look(o)
	}
	return found
}

// setScope adds DEFAULT to a scope.
type setScope struct {
	scope
	target *Target
	field  int
}

// Resolve implements expr.Scope.
func (s *setScope) Resolve(e syntax.Expr) (expr.Expr, error) {
	d, ok := e.(*syntax.Default)
	if !ok {
		return s.scope.Resolve(e)
	}
	at := s.field
	if d.Column != nil {
		if at = s.target.Schema.Column(d.Column.Column()); at < 0 {
			return nil, unknownColumn(d.Column, inFields)
		}
	}
	return s.bl.b.defaulted(s.target, at, d.Pos())
}

// BindDelete binds DELETE from one table or several.
func BindDelete(ctx context.Context, s *syntax.Delete, env *Env) (d *Delete, err error) {
	b := newBinder(ctx, env)
	b.verb = "DELETE"
	defer func() { b.abandon(err) }()
	if len(s.Returning) > 0 {
		return nil, errs.Unsupportedf(s.Pos(), "RETURNING")
	}
	bl := &block{b: b}
	if bl.ctes, err = with(s.With, nil, nil); err != nil {
		return nil, err
	}
	d = &Delete{Ignore: s.Ignore, Several: len(s.Targets) > 0}
	if one, ok := s.From.(*syntax.TableName); ok && !d.Several {
		b.targets = map[*syntax.TableName]Access{one: DeleteRows | readsAny(nil, s.Where, s.OrderBy)}
	} else {
		switch {
		case len(s.OrderBy) > 0:
			return nil, errs.UserAt(s.OrderBy[0].Pos(), errs.WrongUsage, "Incorrect usage of DELETE and ORDER BY")
		case s.Limit != nil:
			return nil, errs.UserAt(s.Limit.Pos(), errs.WrongUsage, "Incorrect usage of DELETE and LIMIT")
		}
		if b.targets, err = deleted(b, s); err != nil {
			return nil, err
		}
	}
	if bl.node, bl.rel, err = bl.from(s.From); err != nil {
		return nil, err
	}
	if err := bl.chosen(s.Where, s.OrderBy, s.Limit, !d.Several && s.Limit != nil); err != nil {
		return nil, err
	}
	var need []ColID
	for _, t := range bl.rel.tables {
		if t.target == nil {
			continue
		}
		if err := t.target.refuseEngine(s.Pos(), b.verb, DeleteRows); err != nil {
			return nil, err
		}
		d.Targets = append(d.Targets, t.target)
		need = append(need, t.target.need(false)...)
	}
	d.Query, err = b.finished(bl.rows(need))
	return d, err
}

// deleted finds the tables of FROM that a DELETE of several names, by alias.
func deleted(b *binder, s *syntax.Delete) (map[*syntax.TableName]Access, error) {
	tables := tableNames(s.From)
	out := map[*syntax.TableName]Access{}
	for _, n := range s.Targets {
		var found *syntax.TableName
		for _, t := range tables {
			if b.calls(n, t) {
				found = t
				break
			}
		}
		if found == nil {
			return nil, errs.UserAt(n.Pos(), errs.UnknownTarget, "Unknown table '%s' in MULTI DELETE", n.Object())
		}
		if out[found] != 0 {
			return nil, errs.UserAt(n.Pos(), errs.DuplicateAlias, "Not unique table/alias: '%s'", n.Object())
		}
		out[found] = DeleteRows | ReadRows
	}
	return out, nil
}

// calls reports whether a name of DELETE's list means a table of its FROM: its
// alias, or the table's own name where it has none.
func (b *binder) calls(n syntax.ObjectName, t *syntax.TableName) bool {
	if t.Alias.Name != "" {
		return len(n.Parts) == 1 && n.Object() == t.Alias.Name
	}
	if n.Object() != t.Name.Object() {
		return false
	}
	if len(n.Parts) == 1 && len(t.Name.Parts) == 1 {
		return true
	}
	x, err := ResolveTable(b.env.Catalogs, n)
	if err != nil {
		return false
	}
	y, err := ResolveTable(b.env.Catalogs, t.Name)
	return err == nil && x.Catalog == y.Catalog && x.ID == y.ID
}

// tableNames lists the tables of a FROM, not those inside derived tables.
func tableNames(t syntax.TableExpr) (out []*syntax.TableName) {
	switch t := t.(type) {
	case *syntax.TableName:
		return []*syntax.TableName{t}
	case *syntax.Join:
		return append(tableNames(t.Left), tableNames(t.Right)...)
	}
	return nil
}
