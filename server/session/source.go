package session

import (
	"context"
	"maps"
	"slices"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/plan"
)

// catalogs is the set of catalogs that a statement's names are looked up in.
type catalogs struct {
	s   *Session
	run *statement
}

var _ plan.Catalogs = catalogs{}

// Current implements plan.Catalogs. A current database of another catalog is
// named with it, as everywhere (DESIGN D14).
func (c catalogs) Current() (string, string) {
	return c.s.catalog, c.s.shownDatabase()
}

// Catalog implements plan.Catalogs.
func (c catalogs) Catalog(name string) (catalog.Catalog, bool) {
	x, err := c.s.srv.catalogNamed(name)
	return x, err == nil
}

// Virtual implements plan.Catalogs.
func (c catalogs) Virtual(database string) (catalog.Catalog, bool) {
	if _, ok := metadata.VirtualDatabase(database); !ok {
		return nil, false
	}
	if c.run.system == nil {
		c.run.system = metadata.NewSystem(source{c.s})
	}
	return c.run.system, true
}

// Temporary implements plan.Catalogs.
func (c catalogs) Temporary(database, table string) (catalog.Table, bool) {
	return c.s.temporary(c.s.catalog, database, table)
}

// source is the server as virtual tables and SHOW see it through a session.
type source struct{ s *Session }

var _ metadata.Source = source{}

// visible reports whether a database is listed for the account.
func (x source) visible(catalogName, database string) bool {
	s := x.s
	return s.account.Super || s.srv.accounts.Allowed(s.account.Identity, metadata.SeeDatabases, metadata.Object{}) ||
		s.srv.accounts.Visible(s.account.Identity, s.object(catalogName, database, ""))
}

// Databases implements metadata.Source.
func (x source) Databases(ctx context.Context) ([]string, error) {
	s := x.s
	out := []string{metadata.InformationSchema, metadata.PerformanceSchema}
	for _, v := range []string{metadata.MySQLDatabase, metadata.SysDatabase} {
		if x.visible(s.srv.defaultCatalog(), v) {
			out = append(out, v)
		}
	}
	for _, c := range s.srv.catalogList() {
		dbs, err := c.Catalog.Databases(ctx)
		if err != nil {
			if c.Name == s.catalog {
				return nil, err
			}
			x.Warn(err)
			continue
		}
		for _, db := range dbs {
			if !x.visible(c.Name, db) {
				continue
			}
			if _, virtual := metadata.VirtualDatabase(db); virtual && c.Name == s.catalog {
				continue
			}
			if c.Name != s.catalog {
				db = c.Name + "." + db
			}
			out = append(out, db)
		}
	}
	slices.Sort(out)
	return out, nil
}

// LakeDatabases implements metadata.Source.
func (x source) LakeDatabases(ctx context.Context, catalogName string) ([]metadata.LakeDatabase, error) {
	s := x.s
	if catalogName == "" {
		catalogName = s.catalog
	}
	c, err := s.srv.namedCatalog(catalogName)
	if err != nil {
		return nil, err
	}
	dbs, err := c.Catalog.Databases(ctx)
	if err != nil {
		return nil, err
	}
	var out []metadata.LakeDatabase
	for _, db := range dbs {
		if _, virtual := metadata.VirtualDatabase(db); virtual || !x.visible(c.Name, db) {
			continue
		}
		key := db
		if c.Name != s.catalog {
			key = c.Name + "." + db
		}
		out = append(out, metadata.LakeDatabase{Name: db, Key: key})
	}
	return out, nil
}

// CatalogOptions implements metadata.Source.
func (x source) CatalogOptions(ctx context.Context, catalogName string) ([]metadata.NameValue, error) {
	s := x.s
	if catalogName == "" {
		catalogName = s.catalog
	}
	c, err := s.srv.namedCatalog(catalogName)
	if err != nil {
		return nil, err
	}
	if c.Definition == nil || !s.catalogVisible(ctx, c) {
		return nil, nil
	}
	var out []metadata.NameValue
	for _, k := range slices.Sorted(maps.Keys(c.Definition.Options)) {
		out = append(out, metadata.NameValue{Name: k, Value: s.srv.cfg.CatalogControl.Shown(k, c.Definition.Options[k])})
	}
	return out, nil
}

// Tables implements metadata.Source.
func (x source) Tables(ctx context.Context, database string) ([]string, error) {
	s := x.s
	if db, ok := metadata.VirtualDatabase(database); ok {
		return metadata.NewSystem(x).Tables(ctx, db)
	}
	cat, db := s.splitDatabase(database)
	c, err := s.srv.catalogNamed(cat)
	if err != nil {
		return nil, err
	}
	names, err := c.Tables(ctx, db)
	if err != nil {
		return nil, err
	}
	views, err := viewsOf(ctx, c, db)
	if err != nil {
		return nil, err
	}
	names = append(slices.Clone(names), views...)
	slices.Sort(names)
	return x.shown(cat, db, names), nil
}

// shown leaves out the tables that the account may not see.
func (x source) shown(catalogName, database string, names []string) []string {
	s := x.s
	if s.allowed(metadata.Select, s.object(catalogName, database, "")) {
		return names
	}
	return slices.DeleteFunc(names, func(n string) bool {
		return !s.srv.accounts.Visible(s.account.Identity, s.object(catalogName, database, n))
	})
}

// Table implements metadata.Source.
func (x source) Table(ctx context.Context, database, table string) (catalog.Table, error) {
	s := x.s
	id := catalog.Identifier{Database: database}
	id.Table, id.Branch, id.System = catalog.ParseObject(table)
	if db, ok := metadata.VirtualDatabase(database); ok {
		id.Database, id.Table, id.Branch, id.System = db, table, "", ""
		return metadata.NewSystem(x).Table(ctx, id)
	}
	cat, db := s.splitDatabase(database)
	id.Catalog, id.Database = cat, db
	if t, ok := s.temporary(cat, db, table); ok && cat == s.catalog {
		return t, nil
	}
	c, err := s.srv.catalogNamed(cat)
	if err != nil {
		return nil, err
	}
	if !s.account.Super && !s.allowed(metadata.Select, s.object(cat, db, id.Table)) && !s.srv.accounts.Visible(s.account.Identity, s.object(cat, db, id.Table)) {
		return nil, errs.Userf(errs.TableDenied, "SELECT command denied to user '%s'@'%s' for table '%s'", s.account.User, hostOf(s.opts.Address), id.Object())
	}
	t, err := c.Table(ctx, id)
	if errs.Is(err, errs.UnknownTable) {
		if v, err := x.view(ctx, c, id); v != nil || err != nil {
			return v, err
		}
		return nil, errs.Userf(errs.UnknownTable, "Table '%s.%s' doesn't exist", database, table)
	}
	return t, err
}

// Variables implements metadata.Source.
func (x source) Variables(scope metadata.VariableScope) []metadata.NameValue {
	return x.s.listVariables(scope)
}

// Status implements metadata.Source.
func (x source) Status(scope metadata.VariableScope) []metadata.NameValue {
	return x.s.statusCounters(scope)
}

// Processes implements metadata.Source.
func (x source) Processes() []metadata.ProcessInfo { return x.s.processes() }

// Accounts implements metadata.Source.
func (x source) Accounts() metadata.Accounts { return x.s.srv.accounts }

// Who implements metadata.Source.
func (x source) Who() metadata.Account { return x.s.account }

// Allowed implements metadata.Source.
func (x source) Allowed(p metadata.Privilege, database, table string) bool {
	if db, ok := metadata.VirtualDatabase(database); ok {
		if db != metadata.MySQLDatabase {
			return p == metadata.Select
		}
		return x.s.allowed(p, x.s.object(x.s.srv.defaultCatalog(), db, table))
	}
	c, db := x.s.splitDatabase(database)
	return x.s.allowed(p, x.s.object(c, db, table))
}

// Warn implements metadata.Source.
func (x source) Warn(err error) { x.s.warn("Warning", err) }
