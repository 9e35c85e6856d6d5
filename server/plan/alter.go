package plan

import (
	"context"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// Alter is a bound ALTER TABLE: changes of the definition, which are one new
// schema, then another name, then partitions that go.
type Alter struct {
	In       catalog.Altering
	ID       catalog.Identifier
	Changes  []catalog.SchemaChange
	RenameTo *catalog.Identifier
	// Target and Partitions are set by DROP PARTITION: values of partition
	// columns, by position in the schema.
	Target     *Target
	Partitions []map[int]expr.Expr
	IfExists   bool // of DROP PARTITION
	// Missing says that there is no such table, and that this is fine.
	Missing bool
}

// Apply changes the definition.
func (a *Alter) Apply(ctx context.Context) error {
	if a.Missing {
		return nil
	}
	if len(a.Changes) > 0 {
		if err := a.In.AlterTable(ctx, a.ID, a.Changes); err != nil {
			return err
		}
	}
	if a.RenameTo != nil {
		return a.In.RenameTable(ctx, a.ID, *a.RenameTo)
	}
	return nil
}

// warn adds a warning to the statement.
func (e *Env) warn(level, message string) {
	e.Expr.Warnings.Add(expr.Warning{Level: level, Message: message})
}

const (
	noIndexes = "indexes are accepted and not kept: the lake finds rows by partition, bucket and statistics"
	noUnique  = "UNIQUE is accepted and not enforced: only a primary key keeps rows apart"
)

// altering binds one ALTER TABLE.
type altering struct {
	env    *Env
	n      Name
	schema *catalog.Schema
	fields []catalog.Field // as they are after the changes so far
	types  *tableTypes
	out    *Alter
}

// BindAlter binds ALTER TABLE in MySQL's and Flink's spelling.
func BindAlter(ctx context.Context, s *syntax.AlterTable, env *Env) (*Alter, error) {
	if s.Materialized {
		return nil, errs.Unsupportedf(s.Pos(), "materialized tables")
	}
	n, err := ResolveTable(env.Catalogs, s.Name)
	if err != nil {
		return nil, err
	}
	if n.Temporary != nil {
		return nil, errs.Unsupportedf(s.Name.Pos(), "ALTER TABLE of a temporary table")
	}
	w, err := writable(n, s.Name.Pos())
	if err != nil {
		return nil, err
	}
	if n.ID.System != "" {
		return nil, errs.Unsupportedf(s.Name.Pos(), "ALTER TABLE of a system table")
	}
	t, err := w.Table(ctx, n.ID)
	if err != nil {
		if s.IfExists && (errs.Is(err, errs.UnknownTable) || errs.Is(err, errs.UnknownDatabase)) {
			env.warn("Note", err.Error())
			return &Alter{Missing: true}, nil
		}
		return nil, positioned(err, s.Name.Pos())
	}
	a := &altering{env: env, n: n, schema: t.Schema(), fields: slices.Clone(t.Schema().Fields), out: &Alter{ID: n.ID}}
	a.types = &tableTypes{flink: env.FlinkTypes, collation: a.collation(), env: env}
	for _, x := range s.Actions {
		if err := a.action(ctx, t, x); err != nil {
			return nil, err
		}
	}
	if len(a.out.Changes) == 0 && a.out.RenameTo == nil {
		return a.out, nil
	}
	in, ok := w.(catalog.Altering)
	if !ok {
		return nil, errs.Unsupportedf(s.Pos(), "ALTER TABLE in catalog %s", n.Catalog)
	}
	a.out.In = in
	return a.out, nil
}

// collation is what text columns of the table have, when they agree: that of new
// ones.
func (a *altering) collation() string {
	found := ""
	for _, f := range a.schema.Fields {
		t, err := expr.FromColumn(f, a.schema.MySQLType(f))
		if err != nil || t.Class != expr.String {
			continue
		}
		if found != "" && found != t.Collation {
			return expr.DefaultCollation
		}
		found = t.Collation
	}
	if found == "" {
		return expr.DefaultCollation
	}
	return found
}

func (a *altering) change(c catalog.SchemaChange) { a.out.Changes = append(a.out.Changes, c) }

// find returns the field of a path, nil when there is none, and the path as the
// table spells it.
func (a *altering) find(in []syntax.Ident, name syntax.Ident) (*catalog.Field, []string) {
	siblings := a.fields
	var path []string
	var at *catalog.Field
	for _, step := range append(slices.Clone(in), name) {
		i := slices.IndexFunc(siblings, func(f catalog.Field) bool { return f.Name == step.Name })
		if i < 0 {
			i = slices.IndexFunc(siblings, func(f catalog.Field) bool { return strings.EqualFold(f.Name, step.Name) })
		}
		if i < 0 {
			at = nil
			path = append(path, step.Name)
			siblings = nil
			continue
		}
		at = &siblings[i]
		path = append(path, at.Name)
		t := at.Type
		for t.Elem != nil && len(t.Fields) == 0 {
			t = *t.Elem
		}
		siblings = t.Fields
	}
	return at, path
}

func dotted(in []syntax.Ident, name syntax.Ident) string {
	parts := make([]string, 0, len(in)+1)
	for _, n := range append(slices.Clone(in), name) {
		parts = append(parts, n.Name)
	}
	return strings.Join(parts, ".")
}

func (a *altering) unknown(in []syntax.Ident, name syntax.Ident) error {
	return errs.UserAt(name.Pos(), errs.UnknownColumn, "Unknown column '%s' in '%s'", dotted(in, name), a.n.ID.Object())
}

func (a *altering) action(ctx context.Context, t catalog.Table, x syntax.AlterAction) error {
	switch x := x.(type) {
	case *syntax.AddColumns:
		if len(x.Watermarks) > 0 {
			return errs.Unsupportedf(x.Watermarks[0].Pos(), "WATERMARK")
		}
		for i, c := range x.Columns {
			if err := a.add(c, x.Places[i], x.IfNotExists); err != nil {
				return err
			}
		}
		return a.constraints(x.Constraints)
	case *syntax.DropColumns:
		for i, name := range x.Names {
			if err := a.drop(x.In[i], name, x.IfExists); err != nil {
				return err
			}
		}
		return nil
	case *syntax.ModifyColumns:
		if len(x.Watermarks) > 0 {
			return errs.Unsupportedf(x.Watermarks[0].Pos(), "WATERMARK")
		}
		for i, c := range x.Columns {
			f, path := a.find(c.In, c.Name)
			if f == nil {
				if x.IfExists {
					a.env.warn("Note", "Unknown column '"+dotted(c.In, c.Name)+"' in '"+a.n.ID.Object()+"'")
					continue
				}
				return a.unknown(c.In, c.Name)
			}
			if err := a.modify(f, path, c, x.Places[i], x.Parens); err != nil {
				return err
			}
		}
		return a.constraints(x.Constraints)
	case *syntax.ChangeColumn:
		return a.changeColumn(x)
	case *syntax.RenameColumn:
		f, path := a.find(x.In, x.Old)
		if f == nil {
			return a.unknown(x.In, x.Old)
		}
		a.rename(f, path, x.New.Name)
		return nil
	case *syntax.AlterColumnDefault:
		f, path := a.find(x.In, x.Name)
		switch {
		case f == nil:
			return a.unknown(x.In, x.Name)
		case x.Visibility != "":
			return errs.Unsupportedf(x.Pos(), "invisible columns")
		case x.DropDefault:
			a.change(catalog.SchemaChange{Kind: catalog.SetColumnDefault, Path: path})
			return nil
		}
		v, err := a.types.defaultOf(&syntax.ColumnDef{At: x.At, Name: x.Name, Default: x.Default})
		if err != nil {
			return err
		}
		a.change(catalog.SchemaChange{Kind: catalog.SetColumnDefault, Path: path, Value: v})
		return nil
	case *syntax.RenameTo:
		to, err := ResolveTable(a.env.Catalogs, x.Name)
		if err != nil {
			return err
		}
		if to.Catalog != a.n.Catalog {
			return errs.Unsupportedf(x.Name.Pos(), "renaming a table into another catalog")
		}
		a.out.RenameTo = &to.ID
		return nil
	case *syntax.AddConstraint:
		return a.constraints([]*syntax.TableConstraint{x.Constraint})
	case *syntax.DropConstraint:
		switch x.Kind {
		case "INDEX":
			a.env.warn("Note", noIndexes)
			return nil
		case "PRIMARY KEY":
			return errs.Unsupportedf(x.Pos(), "DROP PRIMARY KEY: a table keeps the key that it was made with")
		}
		if x.IfExists {
			return nil
		}
		return errs.UserAt(x.Pos(), errs.CannotDrop, "Can't DROP '%s'; check that column/key exists", x.Name.Name)
	case *syntax.SetTableOptions:
		return a.tableOptions(x.Options)
	case *syntax.SetOptions:
		for _, o := range x.Options {
			if strings.HasPrefix(o.Key, "mysql.type.") {
				return errs.UserAt(o.Pos(), errs.InvalidTable, "the option '%s' follows from the column's type and cannot be set", o.Key)
			}
			v := o.Value
			a.change(catalog.SchemaChange{Kind: catalog.SetOption, Name: o.Key, Value: &v})
		}
		return nil
	case *syntax.ResetOptions:
		for _, k := range x.Keys {
			if strings.HasPrefix(k, "mysql.type.") {
				return errs.UserAt(x.Pos(), errs.InvalidTable, "the option '%s' follows from the column's type and cannot be removed", k)
			}
			a.change(catalog.SchemaChange{Kind: catalog.RemoveOption, Name: k})
		}
		return nil
	case *syntax.AlterPartitions:
		return a.partitions(ctx, t, x)
	case *syntax.AlterMaterialized:
		return errs.Unsupportedf(x.Pos(), "materialized tables")
	case *syntax.AlterOther:
		switch x.Name {
		case "ALGORITHM", "LOCK", "FORCE", "ENABLE KEYS", "DISABLE KEYS", "WITHOUT VALIDATION", "WITH VALIDATION":
			return nil
		case "RENAME INDEX":
			a.env.warn("Note", noIndexes)
			return nil
		}
		return errs.Unsupportedf(x.Pos(), "ALTER TABLE … %s", x.Name)
	}
	return errs.Unsupportedf(x.Pos(), "this ALTER TABLE")
}

// constraints accepts indexes and refuses what would be enforced in MySQL and
// cannot be here.
func (a *altering) constraints(list []*syntax.TableConstraint) error {
	for _, k := range list {
		if k.Kind == syntax.PrimaryKeyConstraint {
			return errs.Unsupportedf(k.Pos(), "ADD PRIMARY KEY: a table keeps the key that it was made with")
		}
		if err := acceptConstraint(k, a.env); err != nil {
			return err
		}
		for _, c := range k.Columns {
			if c.Expr == nil {
				if f, _ := a.find(nil, c.Name); f == nil {
					return errs.UserAt(c.Pos(), errs.KeyColumnMissing, "Key column '%s' doesn't exist in table", c.Name.Name)
				}
			}
		}
	}
	return nil
}

// acceptConstraint warns of a key that is not enforced, or refuses it.
func acceptConstraint(k *syntax.TableConstraint, env *Env) error {
	switch k.Kind {
	case syntax.UniqueConstraint:
		env.warn("Warning", noUnique)
	case syntax.IndexConstraint:
		env.warn("Note", noIndexes)
	case syntax.FulltextConstraint, syntax.SpatialConstraint:
		return errs.Unsupportedf(k.Pos(), "FULLTEXT and SPATIAL indexes")
	case syntax.ForeignKeyConstraint:
		return errs.Unsupportedf(k.Pos(), "foreign keys")
	case syntax.CheckConstraint:
		return errs.Unsupportedf(k.Pos(), "CHECK constraints")
	}
	return nil
}

// position is where a column goes.
func (a *altering) position(p syntax.ColumnPlace, in []syntax.Ident) (*catalog.ColumnPosition, error) {
	switch {
	case p.First:
		return &catalog.ColumnPosition{First: true}, nil
	case p.After.Name != "":
		f, path := a.find(in, p.After)
		if f == nil {
			return nil, a.unknown(in, p.After)
		}
		return &catalog.ColumnPosition{After: path[len(path)-1]}, nil
	}
	return nil, nil
}

// typesFor are how a column's type is read: what only Flink has, and members of
// ROWs, in its spelling.
func (a *altering) typesFor(c *syntax.ColumnDef) *tableTypes {
	t := *a.types
	if len(c.In) > 0 {
		t.flink = true
	}
	if c.Type != nil {
		switch c.Type.Name {
		case "ARRAY", "MAP", "ROW", "MULTISET", "BYTES", "TIMESTAMP_LTZ":
			t.flink = true
		}
	}
	return &t
}

func (a *altering) add(c *syntax.ColumnDef, place syntax.ColumnPlace, ifNotExists bool) error {
	if f, _ := a.find(c.In, c.Name); f != nil {
		duplicate := errs.UserAt(c.Pos(), errs.DuplicateColumn, "Duplicate column name '%s'", dotted(c.In, c.Name))
		if ifNotExists {
			a.env.warn("Note", duplicate.Error())
			return nil
		}
		return duplicate
	}
	if c.PrimaryKey {
		return errs.Unsupportedf(c.Pos(), "ADD PRIMARY KEY: a table keeps the key that it was made with")
	}
	f, declared, err := a.typesFor(c).column(c)
	if err != nil {
		return err
	}
	if len(c.In) == 0 {
		if _, err := expr.FromColumn(f, declared); err != nil {
			return positioned(err, c.Pos())
		}
	}
	at, err := a.position(place, c.In)
	if err != nil {
		return err
	}
	_, path := a.find(c.In, c.Name)
	x := catalog.SchemaChange{Kind: catalog.AddColumn, Path: path, Type: f.Type, MySQLType: declared, Position: at}
	if c.HasComment {
		x.Value = &f.Comment
	}
	a.change(x)
	if f.Default != nil {
		a.change(catalog.SchemaChange{Kind: catalog.SetColumnDefault, Path: path, Value: f.Default})
		a.env.warn("Warning", "the default of column "+f.Name+" is for rows that are inserted from now on: those that are there have NULL")
	}
	if len(c.In) > 0 {
		return nil
	}
	i := len(a.fields)
	switch {
	case at != nil && at.First:
		i = 0
	case at != nil:
		i = 1 + slices.IndexFunc(a.fields, func(f catalog.Field) bool { return f.Name == at.After })
	}
	a.fields = slices.Insert(a.fields, i, f)
	return nil
}

func (a *altering) drop(in []syntax.Ident, name syntax.Ident, ifExists bool) error {
	f, path := a.find(in, name)
	if f == nil {
		missing := errs.UserAt(name.Pos(), errs.CannotDrop, "Can't DROP '%s'; check that column/key exists", dotted(in, name))
		if ifExists {
			a.env.warn("Note", missing.Error())
			return nil
		}
		return missing
	}
	a.change(catalog.SchemaChange{Kind: catalog.DropColumn, Path: path})
	if len(in) == 0 {
		a.fields = slices.DeleteFunc(a.fields, func(x catalog.Field) bool { return x.Name == path[0] })
	}
	return nil
}

func (a *altering) rename(f *catalog.Field, path []string, to string) {
	if f.Name == to {
		return
	}
	a.change(catalog.SchemaChange{Kind: catalog.RenameColumn, Path: path, Name: to})
	f.Name = to
}

// modify gives a column the definition c. In MySQL's spelling what it does not
// say (default, comment) is removed; in Flink's it stays.
func (a *altering) modify(f *catalog.Field, path []string, c *syntax.ColumnDef, place syntax.ColumnPlace, flink bool) error {
	if c.PrimaryKey && !slices.Contains(a.schema.PrimaryKeys, path[0]) {
		return errs.Unsupportedf(c.Pos(), "ADD PRIMARY KEY: a table keeps the key that it was made with")
	}
	old := *f
	if c.Type != nil {
		now, declared, err := a.typesFor(c).column(c)
		if err != nil {
			return err
		}
		if len(path) == 1 && slices.Contains(a.schema.PrimaryKeys, old.Name) {
			now.Type.NotNull = true
		}
		if !old.Type.Equal(now.Type) || len(path) == 1 && a.schema.MySQLType(old) != declared {
			a.change(catalog.SchemaChange{Kind: catalog.SetColumnType, Path: path, Type: now.Type, MySQLType: declared})
			f.Type = now.Type
		}
		switch {
		case now.Default != nil && (old.Default == nil || *old.Default != *now.Default):
			a.change(catalog.SchemaChange{Kind: catalog.SetColumnDefault, Path: path, Value: now.Default})
		case now.Default == nil && old.Default != nil && !flink:
			a.change(catalog.SchemaChange{Kind: catalog.SetColumnDefault, Path: path})
		}
	}
	switch {
	case c.HasComment && c.Comment != old.Comment:
		comment := c.Comment
		a.change(catalog.SchemaChange{Kind: catalog.SetColumnComment, Path: path, Value: &comment})
	case !c.HasComment && old.Comment != "" && !flink && c.Type != nil:
		a.change(catalog.SchemaChange{Kind: catalog.SetColumnComment, Path: path})
	}
	at, err := a.position(place, c.In)
	if err != nil || at == nil {
		return err
	}
	a.change(catalog.SchemaChange{Kind: catalog.SetColumnPosition, Path: path, Position: at})
	return nil
}

func (a *altering) changeColumn(x *syntax.ChangeColumn) error {
	f, path := a.find(x.In, x.Old)
	if f == nil {
		if x.IfExists {
			a.env.warn("Note", "Unknown column '"+dotted(x.In, x.Old)+"' in '"+a.n.ID.Object()+"'")
			return nil
		}
		return a.unknown(x.In, x.Old)
	}
	to := x.Column.Name.Name
	if other, _ := a.find(x.In, x.Column.Name); other != nil && other != f {
		return errs.UserAt(x.Column.Pos(), errs.DuplicateColumn, "Duplicate column name '%s'", to)
	}
	key := slices.Contains(a.schema.PrimaryKeys, f.Name)
	a.rename(f, path, to)
	path = append(slices.Clone(path[:len(path)-1]), to)
	c := *x.Column
	c.In = x.In
	if key {
		c.NotNull = true
	}
	return a.modify(f, path, &c, x.Place, false)
}

// ignoredOptions are MySQL's table options that say nothing about a lake's table.
var ignoredOptions = []string{"ENGINE", "CHARSET", "COLLATE", "COMMENT", "ROW_FORMAT", "AUTO_INCREMENT", "KEY_BLOCK_SIZE", "AVG_ROW_LENGTH", "MAX_ROWS", "MIN_ROWS",
	"CHECKSUM", "DELAY_KEY_WRITE", "PACK_KEYS", "STATS_AUTO_RECALC", "STATS_PERSISTENT", "STATS_SAMPLE_PAGES"}

func (a *altering) tableOptions(list []*syntax.TableOption) error {
	for _, o := range list {
		switch {
		case o.Name == "COMMENT":
			v := o.Value
			a.change(catalog.SchemaChange{Kind: catalog.SetTableComment, Value: &v})
		case slices.Contains(ignoredOptions, o.Name):
			a.env.warn("Note", "the table option "+o.Name+" changes nothing here")
		default:
			return errs.Unsupportedf(o.Pos(), "the table option %s", o.Name)
		}
	}
	return nil
}

// partitions binds DROP PARTITION (a = 1, …), ….
func (a *altering) partitions(ctx context.Context, t catalog.Table, x *syntax.AlterPartitions) error {
	b := newBinder(ctx, a.env)
	target, err := b.newTarget(a.n, t, x.Pos(), "ALTER TABLE")
	if err != nil {
		return err
	}
	specs, err := b.partitionSpecs(target, x.Specs)
	if err != nil {
		return err
	}
	if !x.Drop {
		a.env.warn("Note", "ADD PARTITION changes nothing: a partition is there when it has rows")
		return nil
	}
	if err := b.base(target, x.Pos()); err != nil {
		return err
	}
	a.out.Target, a.out.IfExists = target, x.IfExists
	a.out.Partitions = append(a.out.Partitions, specs...)
	return nil
}

// partitionSpecs binds the values of PARTITION (…) clauses.
func (b *binder) partitionSpecs(t *Target, specs []*syntax.PartitionSpec) ([]map[int]expr.Expr, error) {
	var out []map[int]expr.Expr
	for _, s := range specs {
		one := map[int]expr.Expr{}
		for _, it := range s.Items {
			i := slices.IndexFunc(t.Schema.Fields, func(f catalog.Field) bool { return strings.EqualFold(f.Name, it.Name.Name) })
			if i < 0 || !slices.Contains(t.Schema.PartitionKeys, t.Schema.Fields[i].Name) {
				return nil, errs.UserAt(it.Pos(), errs.UnknownPartition, "Unknown partition '%s' in table '%s': PARTITION (…) takes partition columns", it.Name.Name, t.ID.Object())
			}
			if it.Value == nil {
				return nil, errs.UserAt(it.Pos(), errs.WrongArguments, "the partition column '%s' needs a value", it.Name.Name)
			}
			v, err := b.partitionValue(it)
			if err != nil {
				return nil, err
			}
			one[i] = v
		}
		out = append(out, one)
	}
	return out, nil
}

// BindTruncate binds TRUNCATE TABLE.
func BindTruncate(ctx context.Context, s *syntax.TruncateTable, env *Env) (*Target, error) {
	b := newBinder(ctx, env)
	return b.openTarget(s.Name, 0, "TRUNCATE")
}

// renameTables runs RENAME TABLE a TO b, …. When a step fails, those before it
// are taken back.
func renameTables(ctx context.Context, s *syntax.RenameTable, env *Env) error {
	type pair struct {
		rename   func(ctx context.Context, from, to catalog.Identifier) error
		from, to catalog.Identifier
	}
	var done []pair
	for _, p := range s.Pairs {
		err := func() error {
			from, err := ResolveTable(env.Catalogs, p.From)
			if err != nil {
				return err
			}
			to, err := ResolveTable(env.Catalogs, p.To)
			if err != nil {
				return err
			}
			if from.Temporary != nil {
				return errs.Unsupportedf(p.Pos(), "RENAME TABLE of a temporary table")
			}
			w, err := writable(from, p.From.Pos())
			if err != nil {
				return err
			}
			in, ok := w.(catalog.Altering)
			if !ok {
				return errs.Unsupportedf(p.Pos(), "RENAME TABLE in catalog %s", from.Catalog)
			}
			if from.Catalog != to.Catalog {
				return errs.Unsupportedf(p.To.Pos(), "renaming a table into another catalog")
			}
			step := pair{in.RenameTable, from.ID, to.ID}
			v, err := isView(ctx, from)
			if err != nil {
				return positioned(err, p.From.Pos())
			}
			if v {
				vs, ok := from.In.(catalog.ViewRenaming)
				if !ok {
					return errs.Unsupportedf(p.Pos(), "RENAME TABLE of views in catalog %s", from.Catalog)
				}
				if from.ID.Database != to.ID.Database {
					return errs.UserAt(p.To.Pos(), errs.WrongObject, "Changing schema from '%s' to '%s' is not allowed: %s is a view", from.ID.Database, to.ID.Database, from.ID)
				}
				step.rename = func(ctx context.Context, from, to catalog.Identifier) error {
					return vs.RenameView(ctx, from.Database, from.Object(), to.Object())
				}
			}
			if err := step.rename(ctx, from.ID, to.ID); err != nil {
				return positioned(err, p.From.Pos())
			}
			done = append(done, step)
			return nil
		}()
		if err == nil {
			continue
		}
		for i := len(done) - 1; i >= 0; i-- {
			if back := done[i].rename(context.WithoutCancel(ctx), done[i].to, done[i].from); back != nil {
				return errs.New(errs.User, errs.KindOf(err), "%w; table %s keeps its new name %s: %v", err, done[i].from, done[i].to, back)
			}
		}
		return err
	}
	return nil
}

// isView reports whether a name is a view's.
func isView(ctx context.Context, n Name) (bool, error) {
	vs, ok := n.In.(catalog.Viewing)
	if !ok || n.ID.Branch != "" || n.ID.System != "" {
		return false, nil
	}
	_, err := vs.View(ctx, n.ID.Database, n.ID.Table)
	if errs.Is(err, errs.UnknownTable) {
		return false, nil
	}
	return err == nil, err
}

// indexed accepts CREATE INDEX and DROP INDEX, which make and keep nothing.
func indexed(ctx context.Context, table syntax.ObjectName, index *syntax.TableConstraint, env *Env) error {
	n, err := ResolveTable(env.Catalogs, table)
	if err != nil {
		return err
	}
	w, err := writable(n, table.Pos())
	if err != nil {
		return err
	}
	t := n.Temporary
	if t == nil {
		if t, err = w.Table(ctx, n.ID); err != nil {
			return positioned(err, table.Pos())
		}
	}
	if index == nil {
		env.warn("Note", noIndexes)
		return nil
	}
	a := &altering{env: env, n: n, schema: t.Schema(), fields: t.Schema().Fields}
	return a.constraints([]*syntax.TableConstraint{index})
}

// alterDatabase accepts what a database is already, and refuses the rest.
func alterDatabase(ctx context.Context, s *syntax.AlterDatabase, env *Env) error {
	n, err := ResolveDatabase(env.Catalogs, s.Name)
	if err != nil {
		return err
	}
	w, err := writable(n, s.Pos())
	if err != nil {
		return err
	}
	if _, err := w.Tables(ctx, n.ID.Database); err != nil {
		return positioned(err, s.Name.Pos())
	}
	return databaseDefaults(s.Pos(), s.Charset, s.Collate, s.Options)
}
