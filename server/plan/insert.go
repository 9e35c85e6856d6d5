package plan

import (
	"context"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// OnExisting says what an INSERT does with a row whose key is there already.
type OnExisting uint8

// What becomes of existing rows.
const (
	Upsert     OnExisting = iota // the new row takes its place, as Paimon writes
	Fail                         // error 1062 (lake_insert = strict)
	Skip                         // INSERT IGNORE: the old row stays
	ReplaceRow                   // REPLACE: as Upsert, and counted
	UpdateRow                    // ON DUPLICATE KEY UPDATE
)

// Insert is a bound INSERT, REPLACE or INSERT OVERWRITE.
type Insert struct {
	*Target
	// Sources give the rows, one after the other, with a column for each of the
	// schema's, of whatever type, which exec converts as an assignment does, and
	// then those of From.
	Sources []*Query
	// Order are the columns in the order in which they are given values.
	Order []int
	// Many says that the statement may have several rows: then values that do
	// not fit are only warned about without strict mode.
	Many     bool
	Existing OnExisting
	// Sets are the assignments of UpdateRow. They read the target's Cols, which
	// are the old row, and News, the row that was to be inserted.
	// From are the columns of the SELECT's tables that they read beside these.
	Sets []Set
	News []ColID
	From []ColID
	// Overwrite replaces what the table holds: with Dynamic the partitions that
	// the rows are in, else the partition Static, else all of it.
	Overwrite bool
	Static    map[int]expr.Expr // by position in the schema
	Dynamic   bool
	// Ignore turns errors of values into warnings.
	Ignore bool
	// Missing are the columns that get no value and have no default: an error at
	// the first row, or a warning.
	Missing []MissingDefault
}

// MissingDefault is a column that was given no value and has no default.
type MissingDefault struct {
	Field int
	Err   error
	Zero  bool // without strict mode it is the zero of its type
}

// insertOptions may stand in the OPTIONS of an INSERT's table and change nothing
// about the rows.
var insertOptions = []string{"sink.parallelism", "sink.use-managed-memory-allocator", "sink.managed.writer-buffer-memory", "sink.committer-memory",
	"sink.committer-cpu", "write-only", "write-buffer-size", "write-buffer-spillable"}

// BindInsert binds INSERT and REPLACE in all their forms.
func BindInsert(ctx context.Context, s *syntax.Insert, env *Env) (ins *Insert, err error) {
	verb := "INSERT"
	access := InsertRows
	switch {
	case s.Replace:
		verb = "REPLACE"
		access |= DeleteRows
	case s.Overwrite:
		access |= DeleteRows
	case len(s.OnDuplicate) > 0:
		access |= UpdateRows
	}
	switch {
	case len(s.Returning) > 0:
		return nil, errs.Unsupportedf(s.Pos(), "RETURNING")
	case s.Table.AsOf != nil:
		return nil, errs.Unsupportedf(s.Table.Pos(), "%s into a version of a table", verb)
	case s.Overwrite && (s.Ignore || len(s.OnDuplicate) > 0):
		return nil, errs.Unsupportedf(s.Pos(), "INSERT OVERWRITE with IGNORE or ON DUPLICATE KEY UPDATE")
	}
	if s.Query != nil {
		env = tracking(env, s)
	}
	b := newBinder(ctx, env)
	b.verb, b.ignore = verb, s.Ignore
	t, err := b.openTarget(s.Table.Name, access, verb)
	if err != nil {
		return nil, err
	}
	ins = &Insert{Target: t, Overwrite: s.Overwrite, Ignore: s.Ignore, Many: s.Query != nil || len(s.Rows) > 1}
	if err := b.insertOptions(s, ins); err != nil {
		return nil, err
	}
	if t.Keyed() && !s.Overwrite {
		switch {
		case s.Replace:
			ins.Existing = ReplaceRow
			err = t.refuseEngine(s.Pos(), verb, UpdateRows|DeleteRows)
		case len(s.OnDuplicate) > 0:
			ins.Existing = UpdateRow
			err = t.refuseEngine(s.Pos(), "ON DUPLICATE KEY UPDATE", UpdateRows)
		case s.Ignore:
			ins.Existing = Skip
		case env.StrictInsert:
			ins.Existing = Fail
		}
		if err != nil {
			return nil, err
		}
		if ins.Existing != Upsert && !env.Preparing {
			if err := b.base(t, s.Table.Pos()); err != nil {
				return nil, err
			}
		}
	}
	ctes, err := with(s.With, nil, nil)
	if err != nil {
		return nil, err
	}
	names := make([]named, len(t.Schema.Fields))
	for i, f := range t.Schema.Fields {
		names[i] = named{f.Name, i}
	}
	static, err := b.partition(s, ins, names)
	if err != nil {
		return nil, err
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
			if seen[found[0].id] || static[found[0].id] != nil {
				return nil, errs.UserAt(c.Pos(), errs.FieldTwice, "Column '%s' specified twice", c.Name)
			}
			seen[found[0].id] = true
			target = append(target, found[0].id)
		}
	} else {
		for i := range names {
			if static[i] == nil {
				target = append(target, i)
			}
		}
	}
	at := make([]int, len(names)) // which value a column gets, -1: its default
	for i := range at {
		at[i] = -1
	}
	for k, i := range target {
		at[i] = k
	}
	ins.Order = slices.Clone(target)
	for i := range at {
		if at[i] < 0 {
			ins.Order = append(ins.Order, i)
		}
	}
	defaults := make([]expr.Expr, len(names))
	for i := range names {
		if static[i] != nil {
			defaults[i] = static[i]
			continue
		}
		if at[i] < 0 {
			d, missing := b.defaultOf(t, i, s.Pos())
			if missing != nil {
				ins.Missing = append(ins.Missing, MissingDefault{i, missing, d != nil})
			}
			if d == nil {
				d = expr.Literal(expr.NullValue())
			}
			defaults[i] = d
		}
	}
	if s.Query == nil {
		if err := b.onDuplicate(s, ins, nil, ctes); err != nil {
			return nil, err
		}
		return ins, b.insertValues(s, ins, target, at, defaults, ctes)
	}
	var also *alsoRead
	if len(s.OnDuplicate) > 0 {
		also = b.readAlso(s, t)
	}
	r, err := b.query(s.Query, nil, ctes)
	if err != nil {
		return nil, err
	}
	if len(r.cols)-also.len() != len(target) {
		return nil, errs.UserAt(s.Query.Pos(), errs.ColumnCount, "Column count doesn't match value count at row 1")
	}
	p := &Project{In: r.node}
	out := &result{node: p}
	for i, f := range t.Schema.Fields {
		x := defaults[i]
		if at[i] >= 0 {
			x = b.col(r.cols[at[i]].ID)
		}
		id := b.newCol(Column{Name: f.Name, Type: x.Type()})
		p.Items = append(p.Items, Item{id, x})
		out.cols = append(out.cols, b.cols[id])
	}
	for _, c := range r.cols[len(target):] {
		id := b.newCol(Column{Name: c.Name, Type: c.Type})
		p.Items = append(p.Items, Item{id, b.col(c.ID)})
		out.cols = append(out.cols, b.cols[id])
		ins.From = append(ins.From, id)
	}
	// Subqueries of the assignments are run with the first source.
	if err := b.onDuplicate(s, ins, also, ctes); err != nil {
		return nil, err
	}
	q, err := b.finished(out)
	ins.Sources = []*Query{q}
	return ins, err
}

// insertOptions reads the OPTIONS of the table and says what OVERWRITE replaces.
func (b *binder) insertOptions(s *syntax.Insert, ins *Insert) error {
	ins.Dynamic = ins.Overwrite && len(ins.Schema.PartitionKeys) > 0 && ins.Option("dynamic-partition-overwrite") != "false"
	for _, o := range s.Table.Options {
		switch {
		case o.Key == "dynamic-partition-overwrite":
			ins.Dynamic = ins.Overwrite && len(ins.Schema.PartitionKeys) > 0 && !strings.EqualFold(strings.TrimSpace(o.Value), "false")
		case slices.Contains(insertOptions, o.Key):
		default:
			return errs.Unsupportedf(o.Pos(), "the table option '%s' of an INSERT", o.Key)
		}
	}
	return nil
}

// partition reads PARTITION (a = 1, b): the columns that have a value in it.
func (b *binder) partition(s *syntax.Insert, ins *Insert, names []named) (map[int]expr.Expr, error) {
	find := func(n syntax.Ident) (int, error) {
		found := lookup(names, n.Name)
		if len(found) != 1 || !slices.Contains(ins.Schema.PartitionKeys, ins.Schema.Fields[found[0].id].Name) {
			return 0, errs.UserAt(n.Pos(), errs.UnknownPartition, "Unknown partition '%s' in table '%s': PARTITION (…) takes partition columns, as in PARTITION (dt = '2026-01-01')", n.Name, ins.ID.Object())
		}
		return found[0].id, nil
	}
	for _, n := range s.Table.Partitions {
		if _, err := find(n); err != nil {
			return nil, err
		}
	}
	static := map[int]expr.Expr{}
	if s.Partition == nil {
		return static, nil
	}
	for _, it := range s.Partition.Items {
		i, err := find(it.Name)
		if err != nil {
			return nil, err
		}
		if it.Value == nil {
			continue
		}
		if static[i] != nil {
			return nil, errs.UserAt(it.Pos(), errs.FieldTwice, "Column '%s' specified twice", it.Name.Name)
		}
		if static[i], err = b.partitionValue(it); err != nil {
			return nil, err
		}
	}
	if ins.Overwrite && len(static) > 0 {
		ins.Static = static
	}
	return static, nil
}

// partitionValue binds the constant of a PARTITION (a = 1).
func (b *binder) partitionValue(it *syntax.PartitionItem) (expr.Expr, error) {
	bl := &block{b: b}
	x, err := bl.bind(it.Value, &scope{bl: bl, clause: inFields, rel: &bl.rel, noAggs: true, noSubs: "subqueries in PARTITION"})
	if err != nil {
		return nil, err
	}
	if !expr.IsConst(x) {
		return nil, errs.UserAt(it.Value.Pos(), errs.WrongArguments, "the value of partition column '%s' must be a constant", it.Name.Name)
	}
	v, err := b.evaluate(x)
	if err != nil {
		return nil, err
	}
	return expr.Literal(v), nil
}

// defaulted is DEFAULT where it is written: a column without one fails, or warns,
// when the row is made.
func (b *binder) defaulted(t *Target, i, pos int) (expr.Expr, error) {
	x, missing := b.defaultOf(t, i, pos)
	if missing == nil {
		return x, nil
	}
	typ := t.Types[i]
	typ.Nullable = true
	if x != nil {
		typ = x.Type()
	}
	return &missingDefault{typ: typ, zero: x, err: missing}, nil
}

// missingDefault is DEFAULT of a column that has none.
type missingDefault struct {
	typ  expr.Type
	zero expr.Expr // what stands for it without strict mode; nil: it is an error
	err  error
}

// Type implements expr.Expr.
func (m *missingDefault) Type() expr.Type { return m.typ }

// Eval implements expr.Expr.
func (m *missingDefault) Eval(ctx *expr.Context, b *vector.Batch) (*vector.Vec, error) {
	if m.zero == nil {
		return nil, m.err
	}
	ctx.Warnings.Add(expr.Warning{Level: "Warning", Kind: errs.NoDefault, Message: m.err.Error()})
	return m.zero.Eval(ctx, b)
}

// Children implements expr.Expr.
func (m *missingDefault) Children() []expr.Expr { return nil }

// With implements expr.Expr.
func (m *missingDefault) With([]expr.Expr) expr.Expr { return m }

// Traits implements expr.Expr: it must not be folded.
func (m *missingDefault) Traits() expr.Traits { return expr.Volatile }

// Key implements expr.Expr.
func (m *missingDefault) Key() string { return "default#" + m.err.Error() }

func (m *missingDefault) String() string { return "DEFAULT" }

// defaultOf returns what a column is when nothing is said: its default, NULL, or
// without strict mode the zero of its type beside an error that tells of it. A
// column that must be given has only the error.
func (b *binder) defaultOf(t *Target, i, pos int) (expr.Expr, error) {
	f := t.Schema.Fields[i]
	switch {
	case f.Default != nil:
		return expr.Literal(expr.StringValue(*f.Default, "")), nil
	case !f.Type.NotNull:
		return expr.Literal(expr.NullValue()), nil
	}
	missing := errs.UserAt(pos, errs.NoDefault, "Field '%s' doesn't have a default value", f.Name)
	if !b.ignore && (b.env.Expr.Mode.Has(expr.StrictTransTables) || b.env.Expr.Mode.Has(expr.StrictAllTables)) {
		return nil, missing
	}
	zero, ok := expr.ZeroValue(t.Types[i])
	if !ok {
		return nil, missing
	}
	return expr.Literal(zero), missing
}

// insertValues binds the rows of VALUES; DEFAULT and DEFAULT(column) may stand
// in them. Values keep their own types, since '1' and 1 are converted to a
// column's each by its own rules: rows of different types are different sources.
func (b *binder) insertValues(s *syntax.Insert, ins *Insert, target, at []int, defaults []expr.Expr, ctes *cte) error {
	bl := &block{b: b, ctes: ctes}
	b.pieces = true
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
				ins: ins, column: i}
			x, err := expr.Bind(b.env.Expr, r[at[i]], sc)
			if err != nil {
				return err
			}
			row[i] = expr.Assigned(x, ins.Types[i])
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
	ins    *Insert
	column int
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
	return s.bl.b.defaulted(s.ins.Target, at, d.Pos())
}
