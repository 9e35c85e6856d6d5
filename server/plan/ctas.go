package plan

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// CreateAs is a bound CREATE TABLE … AS SELECT.
type CreateAs struct {
	In     catalog.Writable
	Name   Name
	Schema *catalog.Schema
	Query  *Query
	fields []int // of the schema, for each column of Query
	pos    int
}

// BindCreateAs binds CREATE TABLE … AS SELECT. It returns nil when the table is
// there and IF NOT EXISTS was written.
func BindCreateAs(ctx context.Context, s *syntax.CreateTable, env *Env) (*CreateAs, error) {
	if err := refuseTable(s); err != nil {
		return nil, err
	}
	if s.OnDuplicate != "" {
		return nil, errs.Unsupportedf(s.Query.Pos(), "CREATE TABLE … %s SELECT", s.OnDuplicate)
	}
	n, w, err := newTableName(ctx, s, env)
	if err != nil {
		return nil, err
	}
	if _, err := w.Table(ctx, n.ID); err == nil {
		exists := errs.UserAt(s.Name.Pos(), errs.TableExists, "Table '%s' already exists", n.ID.Object())
		if s.IfNotExists {
			env.Expr.Warnings.Add(expr.Warning{Level: "Note", Kind: errs.TableExists, Message: exists.Error()})
			return nil, nil
		}
		return nil, exists
	}
	b := newBinder(ctx, env)
	r, err := b.query(s.Query, nil, nil)
	if err != nil {
		return nil, err
	}
	c := &CreateAs{In: w, Name: n, pos: s.Name.Pos()}
	if c.Query, err = b.finished(r); err != nil {
		return nil, err
	}
	// Columns that are only defined come first, as in MySQL; a definition of a
	// selected column counts more than the query's type.
	t := newTableTypes(s, env)
	out := &catalog.Schema{Options: map[string]string{}, Comment: s.Comment}
	if err := t.tableOptions(s, out); err != nil {
		return nil, err
	}
	defined := map[string]*syntax.ColumnDef{}
	for _, d := range s.Columns {
		defined[strings.ToLower(d.Name.Name)] = d
	}
	selected := map[string]bool{}
	for _, q := range c.Query.Columns {
		k := strings.ToLower(q.Name)
		if selected[k] {
			return nil, errs.UserAt(s.Query.Pos(), errs.DuplicateColumn, "Duplicate column name '%s'", q.Name)
		}
		selected[k] = true
	}
	next := 0
	add := func(f catalog.Field, declared string) {
		f.ID = next
		next++
		if declared != "" {
			out.Options[catalog.MySQLTypeOption(f.ID)] = declared
		}
		f.Type = numbered(f.Type, &next)
		out.HighestFieldID = next - 1
		out.Fields = append(out.Fields, f)
	}
	for _, d := range s.Columns {
		if selected[strings.ToLower(d.Name.Name)] {
			continue
		}
		f, declared, err := t.column(d)
		if err != nil {
			return nil, err
		}
		add(f, declared)
	}
	for _, q := range c.Query.Columns {
		c.fields = append(c.fields, len(out.Fields))
		if d := defined[strings.ToLower(q.Name)]; d != nil {
			f, declared, err := t.column(d)
			if err != nil {
				return nil, err
			}
			add(f, declared)
			continue
		}
		f, declared, err := b.columnLike(q, s.Flink())
		if err != nil {
			return nil, positioned(err, s.Query.Pos())
		}
		add(f, declared)
	}
	if err := t.keys(s, out); err != nil {
		return nil, err
	}
	c.Schema = out
	return c, t.options(s, out)
}

// Insert makes the table and gives the INSERT of the query's rows.
func (c *CreateAs) Insert(ctx context.Context, env *Env) (*Insert, error) {
	t, err := c.In.CreateTable(ctx, c.Name.ID, c.Schema, false)
	if err != nil {
		return nil, positioned(err, c.pos)
	}
	w, ok := t.(connector.Writable)
	if !ok {
		return nil, errs.Unsupportedf(c.pos, "writing table %s", c.Name.ID)
	}
	x := &Target{Catalog: c.Name.Catalog, ID: c.Name.ID, Table: w, Schema: t.Schema(), Address: -1, Present: -1}
	ins := &Insert{Target: x, Many: true}
	b := &binder{ctx: ctx, env: env, cols: slices.Clone(c.Query.Cols)}
	p := &Project{In: c.Query.Root}
	q := *c.Query
	q.Columns = nil
	for i, f := range x.Schema.Fields {
		typ, err := expr.FromColumn(f, x.Schema.MySQLType(f))
		if err != nil {
			return nil, err
		}
		x.Types = append(x.Types, typ)
		ins.Order = append(ins.Order, i)
		if k := slices.Index(c.fields, i); k >= 0 {
			q.Columns = append(q.Columns, c.Query.Columns[k])
			p.Items = append(p.Items, Item{c.Query.Columns[k].ID, b.col(c.Query.Columns[k].ID)})
			continue
		}
		d, missing := b.defaultOf(x, i, c.pos)
		if missing != nil {
			ins.Missing = append(ins.Missing, MissingDefault{i, missing, d != nil})
		}
		if d == nil {
			d = expr.Literal(expr.NullValue())
		}
		id := b.newCol(Column{Name: f.Name, Type: d.Type()})
		q.Columns = append(q.Columns, b.cols[id])
		p.Items = append(p.Items, Item{id, d})
	}
	q.Root, q.Cols = p, b.cols
	ins.Sources = []*Query{&q}
	return ins, nil
}

// Undo drops the table of a statement that failed.
func (c *CreateAs) Undo(ctx context.Context) error { return c.In.DropTable(ctx, c.Name.ID) }

// columnLike is a column that holds what a query's column gives: the very type
// of a stored column that it shows, else the nearest to MySQL's type.
func (b *binder) columnLike(q Column, flink bool) (catalog.Field, string, error) {
	f := catalog.Field{Name: q.Name}
	for _, u := range b.tables {
		id := u.Table.ID()
		if q.OrgName == "" || id.Object() != q.OrgTable || id.Database != q.Database {
			continue
		}
		s := u.Snapshot.Schema()
		if i := s.Column(q.OrgName); i >= 0 {
			f.Type = s.Fields[i].Type
			f.Type.NotNull = f.Type.NotNull && !q.Type.Nullable
			f.Comment, f.Default = s.Fields[i].Comment, s.Fields[i].Default
			return f, s.MySQLType(s.Fields[i]), nil
		}
	}
	t, declared, err := expr.StoredType(q.Type)
	if err != nil {
		return f, "", errs.Unsupportedf(-1, "a column like %s in CREATE TABLE … AS SELECT: %v", q.Name, err)
	}
	f.Type = t
	if flink && strings.HasPrefix(declared, "varchar(") {
		f.Type = catalog.TString
	}
	return f, declared, nil
}

// likeTable is the schema of CREATE TABLE … LIKE.
func likeTable(ctx context.Context, s *syntax.CreateTable, env *Env) (*catalog.Schema, error) {
	b := newBinder(ctx, env)
	n, t, err := b.open(s.Like)
	if err != nil {
		return nil, err
	}
	if n.ID.System != "" || n.Catalog == "" {
		return nil, errs.UserAt(s.Like.Pos(), errs.WrongObject, "'%s' is not BASE TABLE", n.ID)
	}
	if len(s.Columns) > 0 || len(s.Constraints) > 0 || s.Partitioned {
		return nil, errs.Unsupportedf(s.Pos(), "columns and keys in CREATE TABLE … LIKE")
	}
	from := t.Schema()
	out := &catalog.Schema{Fields: slices.Clone(from.Fields), HighestFieldID: from.HighestFieldID, PartitionKeys: slices.Clone(from.PartitionKeys),
		PrimaryKeys: slices.Clone(from.PrimaryKeys), Options: maps.Clone(from.Options), Comment: from.Comment}
	delete(out.Options, "path")
	for _, o := range s.LikeOptions {
		switch o {
		case "INCLUDING ALL", "INCLUDING OPTIONS", "INCLUDING CONSTRAINTS", "INCLUDING PARTITIONS", "OVERWRITING OPTIONS", "INCLUDING DISTRIBUTION":
		case "EXCLUDING OPTIONS":
			maps.DeleteFunc(out.Options, func(k, _ string) bool { return !strings.HasPrefix(k, "mysql.type.") })
		case "EXCLUDING PARTITIONS":
			out.PartitionKeys = nil
		default:
			return nil, errs.Unsupportedf(s.Like.Pos(), "LIKE (%s)", o)
		}
	}
	if s.HasComment {
		out.Comment = s.Comment
	}
	return out, (&tableTypes{env: env}).options(s, out)
}
