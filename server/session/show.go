package session

import (
	"context"
	"slices"
	"strconv"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/metadata"
)

// showDatabase is the database that a SHOW is about: FROM db, else the current
// one.
func (s *Session) showDatabase(ctx context.Context, x *syntax.Show) (string, error) {
	var name string
	switch {
	case !x.Database.IsZero():
		c, db := s.databaseOf(x.Database)
		name = db
		if c != s.catalog {
			name = c + "." + db
		}
	case s.database == "":
		return "", errs.UserAt(x.Pos(), errs.NoDatabase, "No database selected")
	default:
		name = s.shownDatabase()
	}
	if db, ok := metadata.VirtualDatabase(name); ok {
		return db, nil
	}
	cat, db := s.splitDatabase(name)
	c, err := s.srv.catalogNamed(cat)
	if err != nil {
		return "", err
	}
	dbs, err := c.Databases(ctx)
	if err != nil {
		return "", err
	}
	if !slices.Contains(dbs, db) {
		return "", errs.UserAt(x.Pos(), errs.UnknownDatabase, "Unknown database '%s'", name)
	}
	if !(source{s}).visible(cat, db) {
		return "", errs.UserAt(x.Pos(), errs.DatabaseDenied, "Access denied for user '%s'@'%s' to database '%s'", s.account.User, s.account.Host, name)
	}
	return name, nil
}

// showTable opens the table that a SHOW or DESCRIBE is about. from is the
// database of FROM, if any.
func (s *Session) showTable(ctx context.Context, name, from syntax.ObjectName) (database string, t catalog.Table, err error) {
	switch {
	case !from.IsZero():
		c, db := s.databaseOf(from)
		database = s.nameOfDatabase(c, db)
	case name.Catalog() != "":
		database = s.nameOfDatabase(name.Catalog(), name.Database())
	case name.Database() != "":
		database = name.Database()
	case s.database == "":
		return "", nil, errs.UserAt(name.Pos(), errs.NoDatabase, "No database selected")
	default:
		database = s.shownDatabase()
	}
	t, err = source{s}.Table(ctx, database, name.Object())
	if err != nil {
		return "", nil, err
	}
	return database, t, nil
}

// nameOfDatabase is how a database of a catalog is named in this session.
func (s *Session) nameOfDatabase(catalogName, database string) string {
	if catalogName == s.catalog {
		return database
	}
	return catalogName + "." + database
}

// show gives what a SHOW statement lists, before LIKE and WHERE.
func (s *Session) show(ctx context.Context, x *syntax.Show, run *statement) (metadata.Listing, error) {
	src := source{s}
	like := ""
	if x.Like != nil {
		like = x.Like.Value
	}
	scope := metadata.SessionScope
	if x.Scope == syntax.ScopeGlobal {
		scope = metadata.GlobalScope
	}
	switch x.Kind {
	case syntax.ShowDatabases:
		return metadata.ShowDatabases(ctx, src, like)
	case syntax.ShowTables:
		db, err := s.showDatabase(ctx, x)
		if err != nil {
			return metadata.Listing{}, err
		}
		return metadata.ShowTables(ctx, src, db, x.Full, like)
	case syntax.ShowColumns:
		db, t, err := s.showTable(ctx, x.Table, x.Database)
		if err != nil {
			return metadata.Listing{}, err
		}
		if v, ok := t.(*metadata.View); ok && v.Broken != nil {
			return metadata.Listing{}, v.Broken
		}
		return metadata.ShowColumns(src, db, t, x.Full), nil
	case syntax.ShowIndex:
		_, t, err := s.showTable(ctx, x.Table, x.Database)
		if err != nil {
			return metadata.Listing{}, err
		}
		return metadata.ShowIndex(t), nil
	case syntax.ShowTableStatus:
		db, err := s.showDatabase(ctx, x)
		if err != nil {
			return metadata.Listing{}, err
		}
		return metadata.ShowTableStatus(ctx, src, db, func(t string) bool {
			return x.Like == nil || metadata.Like(t, like, true) != x.Not
		})
	case syntax.ShowCreateTable:
		db, t, err := s.showTable(ctx, x.Table, x.Database)
		if err != nil {
			return metadata.Listing{}, err
		}
		if v, ok := t.(*metadata.View); ok {
			return s.showCreateView(db, v)
		}
		flink := s.text("lake_ddl_dialect") == "flink"
		return metadata.ShowCreateTable(t, flink)
	case syntax.ShowCreateView:
		db, t, err := s.showTable(ctx, x.Table, x.Database)
		if err != nil {
			return metadata.Listing{}, err
		}
		v, ok := t.(*metadata.View)
		if !ok {
			return metadata.Listing{}, errs.UserAt(x.Pos(), errs.WrongObject, "'%s.%s' is not VIEW", db, t.ID().Object())
		}
		return s.showCreateView(db, v)
	case syntax.ShowCreateDatabase:
		y := *x
		if y.Database.IsZero() {
			y.Database = x.Table
		}
		db, err := s.showDatabase(ctx, &y)
		if err != nil {
			return metadata.Listing{}, err
		}
		return metadata.ShowCreateDatabase(db, x.IfNotExists), nil
	case syntax.ShowVariables:
		return metadata.ShowVariables(src, scope), nil
	case syntax.ShowStatus:
		return metadata.ShowStatus(src, scope), nil
	case syntax.ShowWarnings, syntax.ShowErrors:
		return s.showDiagnostics(ctx, x, run)
	case syntax.ShowProcesslist:
		return metadata.ShowProcesslist(src, x.Full), nil
	case syntax.ShowGrants:
		return s.showGrants(x)
	case syntax.ShowPrivileges:
		return metadata.ShowPrivileges(), nil
	case syntax.ShowEngines:
		return metadata.ShowEngines(), nil
	case syntax.ShowCharset:
		return metadata.ShowCharset(), nil
	case syntax.ShowCollation:
		return metadata.ShowCollation(), nil
	case syntax.ShowPlugins:
		return metadata.ShowPlugins(), nil
	case syntax.ShowOpenTables:
		return metadata.ShowOpenTables(), nil
	case syntax.ShowTriggers, syntax.ShowEvents:
		if _, err := s.showDatabase(ctx, x); err != nil {
			return metadata.Listing{}, err
		}
		return none(string(x.Kind)), nil
	case syntax.ShowViews:
		db, err := s.showDatabase(ctx, x)
		if err != nil {
			return metadata.Listing{}, err
		}
		return metadata.ShowViews(ctx, src, db)
	case syntax.ShowMaterialized:
		if _, err := s.showDatabase(ctx, x); err != nil {
			return metadata.Listing{}, err
		}
		return none(string(x.Kind)), nil
	case syntax.ShowProcedureStatus, syntax.ShowFunctionStatus:
		return none("ROUTINE STATUS"), nil
	case syntax.ShowProfiles, syntax.ShowProfile, syntax.ShowReplicas, syntax.ShowReplicaStatus, syntax.ShowBinaryLogStatus:
		return none(string(x.Kind)), nil
	case syntax.ShowBinaryLogs:
		return metadata.Listing{}, errs.UserAt(x.Pos(), errs.KindNone, "You are not using binary logging")
	case syntax.ShowCatalogs:
		return s.showCatalogs(ctx), nil
	case syntax.ShowCreateCatalog:
		return s.showCreateCatalog(ctx, x)
	case syntax.ShowCurrentCatalog:
		return metadata.Listing{Fields: metadata.ParseFields("current catalog name|varchar(256)!"), Rows: []metadata.Row{{s.catalog}}, LikeColumn: -1}, nil
	case syntax.ShowCurrentDatabase:
		return metadata.Listing{Fields: metadata.ParseFields("current database name|varchar(256)"), Rows: []metadata.Row{{nilIfEmpty(s.shownDatabase())}}, LikeColumn: -1}, nil
	case syntax.ShowPipelines, syntax.ShowJobs:
		return s.showPipelines(ctx)
	}
	what := "SHOW " + string(x.Kind)
	if x.Type != "" {
		what += " " + x.Type
	}
	return metadata.Listing{}, errs.Unsupportedf(x.Pos(), "%s", what)
}

func none(kind string) metadata.Listing {
	l, _ := metadata.ShowNone(kind)
	return l
}

func nilIfEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// showDiagnostics is SHOW [COUNT(*)] WARNINGS | ERRORS [LIMIT].
func (s *Session) showDiagnostics(ctx context.Context, x *syntax.Show, run *statement) (metadata.Listing, error) {
	l := s.showWarnings(x.Kind == syntax.ShowErrors)
	if x.Count {
		name := "@@session.warning_count"
		n := s.warnings.Count()
		if x.Kind == syntax.ShowErrors {
			name, n = "@@session.error_count", len(l.Rows)
		}
		return metadata.Listing{Fields: []metadata.Field{metadata.NewField(name, "bigint unsigned", false)}, Rows: []metadata.Row{{uint64(n)}}, LikeColumn: -1}, nil
	}
	if x.Limit != nil {
		bound := func(e syntax.Expr, def int) (int, error) {
			if e == nil {
				return def, nil
			}
			v, err := s.evaluate(ctx, e, run)
			if err != nil {
				return 0, err
			}
			text, _ := textOf(v, s)
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return 0, errs.UserAt(e.Pos(), errs.WrongArguments, "Incorrect arguments to LIMIT")
			}
			return n, nil
		}
		offset, err := bound(x.Limit.Offset, 0)
		if err != nil {
			return l, err
		}
		count, err := bound(x.Limit.Count, len(l.Rows))
		if err != nil {
			return l, err
		}
		l.Rows = l.Rows[min(offset, len(l.Rows)):]
		l.Rows = l.Rows[:min(count, len(l.Rows))]
	}
	return l, nil
}

// showGrants is SHOW GRANTS [FOR account].
func (s *Session) showGrants(x *syntax.Show) (metadata.Listing, error) {
	who := s.account.Identity
	if x.User != nil && !x.User.Current {
		who = metadata.Identity{User: x.User.User, Host: x.User.Host}
	}
	if who != s.account.Identity && !s.allowed(metadata.Select, metadata.Object{Database: metadata.MySQLDatabase}) {
		return metadata.Listing{}, errs.UserAt(x.Pos(), errs.DatabaseDenied, "Access denied for user '%s'@'%s' to database 'mysql'", s.account.User, s.account.Host)
	}
	return metadata.ShowGrants(s.srv.accounts, who)
}

// describe is DESCRIBE t [column].
func (s *Session) describe(ctx context.Context, x *syntax.Describe) (metadata.Listing, error) {
	if x.Kind != "" {
		return metadata.Listing{}, errs.Unsupportedf(x.Pos(), "DESCRIBE %s", x.Kind)
	}
	db, t, err := s.showTable(ctx, x.Name, syntax.ObjectName{})
	if err != nil {
		return metadata.Listing{}, err
	}
	if v, ok := t.(*metadata.View); ok && v.Broken != nil {
		return metadata.Listing{}, v.Broken
	}
	l := metadata.ShowColumns(source{s}, db, t, false)
	switch {
	case x.HasPattern:
		l.Like(x.Pattern, false)
	case x.Column != "":
		l.Rows = slices.DeleteFunc(l.Rows, func(r metadata.Row) bool { return !equalFold(r[0].(string), x.Column) })
	}
	return l, nil
}

// filtered applies LIKE and WHERE of a SHOW.
func (s *Session) filtered(l metadata.Listing, x *syntax.Show, run *statement) (*Result, error) {
	if x.Like != nil {
		if l.LikeColumn < 0 {
			return nil, errs.UserAt(x.Like.Pos(), errs.Syntax, "LIKE cannot stand here")
		}
		l.Like(x.Like.Value, x.Not)
	}
	res, err := listing(l)
	if err != nil || x.Where == nil {
		return res, err
	}
	scope := columns{constants: constants{run.params}}
	for _, c := range res.Columns {
		scope.names = append(scope.names, c.Name)
		scope.types = append(scope.types, c.Type)
	}
	c := run.context()
	e, err := expr.Bind(c, x.Where, scope)
	if err != nil {
		return nil, err
	}
	if e, err = expr.Condition(c, e); err != nil {
		return nil, err
	}
	rows := res.Rows.(*fixed)
	var kept []*vector.Batch
	for _, b := range rows.batches {
		sel, err := expr.Filter(c, e, b, nil)
		if err != nil {
			return nil, err
		}
		if len(sel) > 0 {
			b.Sel = sel
			kept = append(kept, b)
		}
	}
	rows.batches = kept
	return res, nil
}
