package plan

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// Define runs CREATE and DROP of databases and tables. It returns the number of
// rows that MySQL's OK packet tells, and false when stmt is none of these.
func Define(ctx context.Context, stmt syntax.Statement, env *Env) (affected uint64, handled bool, err error) {
	switch s := stmt.(type) {
	case *syntax.CreateDatabase:
		return 1, true, createDatabase(ctx, s, env)
	case *syntax.DropDatabase:
		n, err := dropDatabase(ctx, s, env)
		return n, true, err
	case *syntax.CreateTable:
		return 0, true, createTable(ctx, s, env)
	case *syntax.DropTable:
		return 0, true, dropTables(ctx, s, env)
	case *syntax.RenameTable:
		return 0, true, renameTables(ctx, s, env)
	case *syntax.CreateIndex:
		return 0, true, indexed(ctx, s.Table, s.Index, env)
	case *syntax.DropIndex:
		return 0, true, indexed(ctx, s.Table, nil, env)
	case *syntax.AlterDatabase:
		return 1, true, alterDatabase(ctx, s, env)
	}
	return 0, false, nil
}

// writable returns a resolved name's catalog as one that can be changed.
func writable(n Name, pos int) (catalog.Writable, error) {
	if n.Catalog == "" {
		return nil, errs.UserAt(pos, errs.DatabaseDenied, "Access denied to database '%s': it cannot be changed", n.ID.Database)
	}
	w, ok := n.In.(catalog.Writable)
	if !ok {
		return nil, errs.Unsupportedf(pos, "changing catalog %s", n.Catalog)
	}
	return w, nil
}

func createDatabase(ctx context.Context, s *syntax.CreateDatabase, env *Env) error {
	n, err := ResolveDatabase(env.Catalogs, s.Name)
	if err != nil {
		return err
	}
	w, err := writable(n, s.Pos())
	if err != nil {
		return err
	}
	if err := databaseDefaults(s.Pos(), s.Charset, s.Collate, s.Options); err != nil {
		return err
	}
	return positioned(w.CreateDatabase(ctx, n.ID.Database, s.IfNotExists), s.Name.Pos())
}

// databaseDefaults refuses what a database cannot be told.
func databaseDefaults(pos int, charset, collate string, options []*syntax.Option) error {
	switch {
	case collate != "" && collate != expr.DefaultCollation:
		return errs.Unsupportedf(pos, "the default collation %s of a database", collate)
	case collate == "" && charset != "" && charset != "utf8mb4":
		return errs.Unsupportedf(pos, "the default character set %s of a database", charset)
	case len(options) > 0:
		return errs.Unsupportedf(options[0].Pos(), "the database option '%s'", options[0].Key)
	}
	return nil
}

func dropDatabase(ctx context.Context, s *syntax.DropDatabase, env *Env) (uint64, error) {
	n, err := ResolveDatabase(env.Catalogs, s.Name)
	if err != nil {
		return 0, err
	}
	w, err := writable(n, s.Pos())
	if err != nil {
		return 0, err
	}
	tables, err := w.Tables(ctx, n.ID.Database)
	if err != nil {
		if s.IfExists && errs.Is(err, errs.UnknownDatabase) {
			return 0, nil
		}
		if errs.Is(err, errs.UnknownDatabase) {
			err = errs.UserAt(s.Name.Pos(), errs.DropDatabaseMissing, "Can't drop database '%s'; database doesn't exist", n.ID.Database)
		}
		return 0, err
	}
	// MySQL drops a database with its tables; Flink asks for CASCADE, and
	// RESTRICT says so in either.
	return uint64(len(tables)), positioned(w.DropDatabase(ctx, n.ID.Database, !s.Restrict), s.Name.Pos())
}

func dropTables(ctx context.Context, s *syntax.DropTable, env *Env) error {
	switch {
	case s.Materialized:
		return errs.Unsupportedf(s.Pos(), "materialized tables")
	}
	type target struct {
		n Name
		w catalog.Writable
	}
	var targets []target
	var missing []string
	for _, name := range s.Names {
		n, err := ResolveTable(env.Catalogs, name)
		if err != nil {
			return err
		}
		if n.Temporary != nil && env.Temporaries != nil {
			w, err := env.Temporaries(ctx, n)
			if err != nil {
				return err
			}
			targets = append(targets, target{n, w})
			continue
		}
		if s.Temporary {
			missing = append(missing, n.ID.String())
			continue
		}
		w, err := writable(n, name.Pos())
		if err != nil {
			return err
		}
		if n.ID.System != "" || n.ID.Branch != "" {
			return errs.Unsupportedf(name.Pos(), "dropping a system table or branch")
		}
		if _, err := w.Table(ctx, n.ID); err != nil {
			if !errs.Is(err, errs.UnknownTable) && !errs.Is(err, errs.UnknownDatabase) {
				return positioned(err, name.Pos())
			}
			missing = append(missing, n.ID.String())
			continue
		}
		targets = append(targets, target{n, w})
	}
	// One that is missing keeps all others, as in MySQL.
	if len(missing) > 0 && !s.IfExists {
		return errs.UserAt(s.Names[0].Pos(), errs.DropTableMissing, "Unknown table '%s'", strings.Join(missing, ","))
	}
	for _, t := range targets {
		if err := t.w.DropTable(ctx, t.n.ID); err != nil {
			return err
		}
	}
	return nil
}

func createTable(ctx context.Context, s *syntax.CreateTable, env *Env) error {
	if err := refuseTable(s); err != nil {
		return err
	}
	n, w, err := newTableName(ctx, s, env)
	if err != nil {
		return err
	}
	var schema *catalog.Schema
	if s.Like.IsZero() {
		schema, err = TableSchema(s, env)
	} else {
		schema, err = likeTable(ctx, s, env)
	}
	if err != nil {
		return err
	}
	_, err = w.CreateTable(ctx, n.ID, schema, s.IfNotExists)
	return positioned(err, s.Name.Pos())
}

// newTableName resolves the name of a table that is made.
func newTableName(ctx context.Context, s *syntax.CreateTable, env *Env) (Name, catalog.Writable, error) {
	n, err := ResolveTable(env.Catalogs, s.Name)
	if err != nil {
		return n, nil, err
	}
	if s.Temporary {
		w, err := temporaries(ctx, n, s, env)
		return n, w, err
	}
	w, err := writable(n, s.Name.Pos())
	if err != nil {
		return n, nil, err
	}
	if n.ID.System != "" || n.ID.Branch != "" {
		return n, nil, errs.UserAt(s.Name.Pos(), errs.InvalidTable, "create table %s: '$' separates system tables and branches and may not be in a name", s.Name.Object())
	}
	return n, w, nil
}

// temporaries returns where a temporary table is made: beside the tables of its
// catalog's database, which must be there.
func temporaries(ctx context.Context, n Name, s *syntax.CreateTable, env *Env) (catalog.Writable, error) {
	current, _ := env.Catalogs.Current()
	switch {
	case env.Temporaries == nil:
		return nil, errs.Unsupportedf(s.Pos(), "temporary tables here")
	case n.Catalog == "":
		return nil, errs.UserAt(s.Name.Pos(), errs.DatabaseDenied, "Access denied to database '%s': it cannot be changed", n.ID.Database)
	case n.Catalog != current:
		return nil, errs.Unsupportedf(s.Name.Pos(), "temporary tables of another catalog; USE CATALOG %s first", n.Catalog)
	}
	dbs, err := n.In.Databases(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(dbs, n.ID.Database) {
		return nil, errs.UserAt(s.Name.Pos(), errs.UnknownDatabase, "Unknown database '%s'", n.ID.Database)
	}
	return env.Temporaries(ctx, n)
}

// refuseTable names what CREATE TABLE cannot do here.
func refuseTable(s *syntax.CreateTable) error {
	switch {
	case s.OrReplace:
		return errs.Unsupportedf(s.Pos(), "CREATE OR REPLACE TABLE")
	case s.Materialized:
		return errs.Unsupportedf(s.Pos(), "materialized tables")
	case s.External:
		return errs.Unsupportedf(s.Pos(), "external tables")
	case s.PartitionBy != nil:
		return errs.Unsupportedf(s.PartitionBy.Pos(), "PARTITION BY; write PARTITIONED BY (column, …)")
	case len(s.Watermarks) > 0:
		return errs.Unsupportedf(s.Watermarks[0].Pos(), "WATERMARK")
	case len(s.Columns) == 0 && s.Query == nil && s.Like.IsZero():
		return errs.UserAt(s.Pos(), errs.InvalidTable, "A table must have at least 1 column")
	}
	for _, o := range s.Options {
		if !slices.Contains(ignoredOptions, o.Name) {
			return errs.Unsupportedf(o.Pos(), "the table option %s", o.Name)
		}
	}
	return nil
}

// TableSchema translates CREATE TABLE into the schema of a lake table: in
// Flink's types when the statement is written as Flink's, else in MySQL's, with
// what only MySQL knows of a column as the option mysql.type.<id> (DESIGN D15,
// D17).
func TableSchema(s *syntax.CreateTable, env *Env) (*catalog.Schema, error) {
	t := newTableTypes(s, env)
	out := &catalog.Schema{Options: map[string]string{}, Comment: s.Comment}
	if err := t.tableOptions(s, out); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	next := 0 // field id, counted through nested fields as Paimon does
	for _, c := range s.Columns {
		if k := strings.ToLower(c.Name.Name); seen[k] {
			return nil, errs.UserAt(c.Pos(), errs.DuplicateColumn, "Duplicate column name '%s'", c.Name.Name)
		} else {
			seen[k] = true
		}
		f, declared, err := t.column(c)
		if err != nil {
			return nil, err
		}
		f.ID = next
		next++
		if declared != "" {
			out.Options[catalog.MySQLTypeOption(f.ID)] = declared
		}
		f.Type = numbered(f.Type, &next)
		out.HighestFieldID = next - 1
		if _, err := expr.FromColumn(f, declared); err != nil {
			return nil, positioned(err, c.Pos())
		}
		out.Fields = append(out.Fields, f)
	}
	if err := t.keys(s, out); err != nil {
		return nil, err
	}
	return out, t.options(s, out)
}

func newTableTypes(s *syntax.CreateTable, env *Env) *tableTypes {
	return &tableTypes{flink: s.Flink(), collation: expr.DefaultCollation, env: env}
}

// tableOptions reads MySQL's options of a table.
func (t *tableTypes) tableOptions(s *syntax.CreateTable, out *catalog.Schema) error {
	for _, o := range s.Options {
		switch o.Name {
		case "CHARSET":
			c, ok := charsetCollations[strings.ToLower(o.Value)]
			if !ok {
				return errs.UserAt(o.Pos(), errs.UnknownCharset, "Unknown character set: '%s'", o.Value)
			}
			if t.collation == expr.DefaultCollation {
				t.collation = c
			}
		case "COLLATE":
			t.collation = strings.ToLower(o.Value)
		case "COMMENT":
			out.Comment = o.Value
		}
	}
	return nil
}

// numbered gives the members of ROWs within a type their ids.
func numbered(t catalog.Type, next *int) catalog.Type {
	for _, p := range []**catalog.Type{&t.Key, &t.Elem} {
		if *p != nil {
			c := numbered(**p, next)
			*p = &c
		}
	}
	fields := make([]catalog.Field, len(t.Fields))
	for i, f := range t.Fields {
		f.ID = *next
		*next++
		f.Type = numbered(f.Type, next)
		fields[i] = f
	}
	if len(fields) > 0 {
		t.Fields = fields
	}
	return t
}

// keys sets primary and partition keys.
func (t *tableTypes) keys(s *syntax.CreateTable, out *catalog.Schema) error {
	find := func(name string, pos int) (int, error) {
		for _, fold := range []bool{false, true} {
			for i, f := range out.Fields {
				if f.Name == name || fold && strings.EqualFold(f.Name, name) {
					return i, nil
				}
			}
		}
		return 0, errs.UserAt(pos, errs.KeyColumnMissing, "Key column '%s' doesn't exist in table", name)
	}
	primaries := 0
	for _, k := range s.Constraints {
		if err := acceptConstraint(k, t.env); err != nil {
			return err
		}
		if k.Kind == syntax.PrimaryKeyConstraint {
			primaries++
			for _, p := range k.Columns {
				if p.Expr != nil || p.Length > 0 {
					return errs.Unsupportedf(p.Pos(), "expressions and prefixes in a primary key")
				}
			}
		}
	}
	for _, c := range s.Columns {
		if c.PrimaryKey {
			primaries++
		}
	}
	if primaries > 1 {
		return errs.UserAt(s.Pos(), errs.WrongPrimaryKey, "Multiple primary key defined")
	}
	for _, name := range s.PrimaryKey() {
		i, err := find(name, s.Pos())
		if err != nil {
			return err
		}
		for _, k := range out.PrimaryKeys {
			if k == out.Fields[i].Name {
				return errs.UserAt(s.Pos(), errs.DuplicateColumn, "Duplicate column name '%s'", k)
			}
		}
		out.PrimaryKeys = append(out.PrimaryKeys, out.Fields[i].Name)
		out.Fields[i].Type.NotNull = true
	}
	for _, p := range s.PartitionedBy {
		i, err := find(p.Name, p.Pos())
		if err != nil {
			return err
		}
		out.PartitionKeys = append(out.PartitionKeys, out.Fields[i].Name)
	}
	return nil
}

// options sets the table's options from WITH and DISTRIBUTED BY.
func (t *tableTypes) options(s *syntax.CreateTable, out *catalog.Schema) error {
	for _, o := range s.With {
		switch {
		case o.Key == "connector" && o.Value == "paimon":
			continue
		case o.Key == "connector" && o.Value == "filesystem" && s.Temporary:
		case o.Key == "connector":
			return errs.Unsupportedf(o.Pos(), "tables with 'connector' = '%s'", o.Value)
		case strings.HasPrefix(o.Key, "mysql.type."):
			// SHOW CREATE TABLE never prints them: they follow from the columns.
			return errs.UserAt(o.Pos(), errs.InvalidTable, "the option '%s' follows from the column's type and cannot be set", o.Key)
		}
		out.Options[o.Key] = o.Value
	}
	if d := s.Distribution; d != nil {
		if d.Kind == "RANGE" {
			return errs.Unsupportedf(d.Pos(), "DISTRIBUTED BY RANGE")
		}
		if d.Buckets > 0 {
			out.Options["bucket"] = strconv.Itoa(d.Buckets)
		}
		var cols []string
		for _, c := range d.Columns {
			cols = append(cols, c.Name)
		}
		if cols != nil {
			out.Options["bucket-key"] = strings.Join(cols, ",")
		}
	}
	return nil
}

// charsetCollations are the default collations of character sets.
var charsetCollations = map[string]string{
	"utf8mb4": expr.DefaultCollation, "utf8mb3": "utf8mb3_general_ci", "utf8": "utf8mb3_general_ci",
	"latin1": "latin1_swedish_ci", "ascii": "ascii_general_ci", "binary": "binary",
}
