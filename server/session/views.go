package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/plan"
)

// viewsOf lists a database's views; a catalog that stores none has none.
func viewsOf(ctx context.Context, c catalog.Catalog, database string) ([]string, error) {
	if v, ok := c.(catalog.Viewing); ok {
		return v.Views(ctx, database)
	}
	return nil, nil
}

// Views implements metadata.Source.
func (x source) Views(ctx context.Context, database string) ([]string, error) {
	if _, virtual := metadata.VirtualDatabase(database); virtual {
		return nil, nil
	}
	cat, db := x.s.splitDatabase(database)
	c, err := x.s.srv.catalogNamed(cat)
	if err != nil {
		return nil, err
	}
	names, err := viewsOf(ctx, c, db)
	if err != nil {
		return nil, err
	}
	return x.shown(cat, db, slices.Clone(names)), nil
}

// view describes a view, nil when the name is none.
func (x source) view(ctx context.Context, c catalog.Catalog, id catalog.Identifier) (catalog.Table, error) {
	vs, ok := c.(catalog.Viewing)
	if !ok || id.Branch != "" || id.System != "" {
		return nil, nil
	}
	v, err := vs.View(ctx, id.Database, id.Table)
	if errs.Is(err, errs.UnknownTable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// Only the columns' types are wanted: nothing is pinned.
	run := &statement{s: x.s, ctx: ctx}
	env := run.environment()
	env.Pin, env.Pinned, env.Preparing = nil, nil, true
	schema, err := viewSchema(ctx, plan.Name{Catalog: id.Catalog, In: c, ID: id}, v, env)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return metadata.NewView(id, v, nil, err), nil
	}
	return metadata.NewView(id, v, schema, nil), nil
}

// viewSchema returns the columns that a view has now.
func viewSchema(ctx context.Context, n plan.Name, v *catalog.View, env *plan.Env) (*catalog.Schema, error) {
	cols, err := plan.ViewColumns(ctx, n, v, env)
	if err != nil {
		return nil, err
	}
	s := &catalog.Schema{Options: map[string]string{}}
	for i, c := range cols {
		f, declared, err := plan.QueryColumn(c, env)
		if err != nil {
			return nil, err
		}
		f.ID = i
		s.Fields = append(s.Fields, f)
		if declared != "" {
			s.Options[catalog.MySQLTypeOption(i)] = declared
		}
	}
	return s, nil
}

// showCreateView is SHOW CREATE VIEW, and SHOW CREATE TABLE of a view.
func (s *Session) showCreateView(database string, v *metadata.View) (metadata.Listing, error) {
	c, db := s.splitDatabase(database)
	if !s.allowed(metadata.ShowView, s.object(c, db, v.Name)) {
		return metadata.Listing{}, errs.Userf(errs.TableDenied, "SHOW VIEW command denied to user '%s'@'%s' for table '%s'", s.account.User, hostOf(s.opts.Address), v.Name)
	}
	return metadata.ShowCreateView(v), nil
}

// authorizeAs gives the check of reads with the rights of an account.
func (s *Session) authorizeAs(definer string) (func(context.Context, string, catalog.Identifier) error, error) {
	if definer == s.account.Identity.String() {
		return s.authorizeRead, nil
	}
	for _, a := range s.srv.accounts.List() {
		if a.Identity.String() != definer {
			continue
		}
		return func(_ context.Context, catalogName string, id catalog.Identifier) error {
			if db, ok := metadata.VirtualDatabase(id.Database); ok && db != metadata.MySQLDatabase {
				return nil
			}
			if a.Super || s.srv.accounts.Allowed(a.Identity, metadata.Select, s.object(catalogName, id.Database, id.Table)) {
				return nil
			}
			return errs.Userf(errs.TableDenied, "SELECT command denied to user '%s'@'%s' for table '%s'", a.User, a.Host, id.Object())
		}, nil
	}
	i := strings.LastIndex(definer, "@")
	return nil, errs.Userf(errs.NoDefiner, "The user specified as a definer ('%s'@'%s') does not exist", definer[:max(i, 0)], definer[i+1:])
}

// viewing resolves the name of a view to be made or dropped.
func (s *Session) viewing(n syntax.ObjectName) (catalog.Viewing, plan.Name, error) {
	cat, id, err := s.identifier(n)
	if err != nil {
		return nil, plan.Name{}, err
	}
	if _, virtual := metadata.VirtualDatabase(id.Database); virtual {
		return nil, plan.Name{}, errs.UserAt(n.Pos(), errs.DatabaseDenied, "Access denied for user '%s'@'%s' to database '%s'", s.account.User, s.account.Host, id.Database)
	}
	c, err := s.srv.catalogNamed(cat)
	if err != nil {
		return nil, plan.Name{}, err
	}
	vs, ok := c.(catalog.Viewing)
	if !ok {
		return nil, plan.Name{}, errs.Unsupportedf(n.Pos(), "views in the catalog %s", cat)
	}
	if id.Branch != "" || id.System != "" {
		return nil, plan.Name{}, errs.UserAt(n.Pos(), errs.InvalidTable, "a view's name cannot contain $")
	}
	return vs, plan.Name{Catalog: cat, In: c, ID: id}, nil
}

// createView runs CREATE VIEW and ALTER VIEW.
func (s *Session) createView(ctx context.Context, x *syntax.CreateView, run *statement) error {
	switch {
	case x.Temporary:
		return errs.Unsupportedf(x.Pos(), "temporary views")
	case x.Materialized:
		return errs.Unsupportedf(x.Pos(), "materialized views")
	case x.Check != "":
		return errs.Unsupportedf(x.Pos(), "WITH CHECK OPTION")
	case strings.EqualFold(x.Algorithm, "TEMPTABLE"):
		s.warn("Note", errs.New(errs.User, errs.KindNone, "ALGORITHM=TEMPTABLE changes nothing here"))
	}
	if err := s.writable(x.Pos()); err != nil {
		return err
	}
	vs, n, err := s.viewing(x.Name)
	if err != nil {
		return err
	}
	need, command := metadata.CreateView, "CREATE VIEW"
	if x.OrReplace || x.Alter {
		need |= metadata.Drop
	}
	if err := s.authorize(need, n.Catalog, n.ID, command); err != nil {
		return err
	}
	definer := s.account.Identity
	if d := x.Definer; d != nil && !d.Current {
		definer = metadata.Identity{User: d.User, Host: d.Host}
		if definer.Host == "" {
			definer.Host = "%"
		}
		if definer != s.account.Identity && !s.allowed(metadata.Super, metadata.Object{}) {
			return errs.UserAt(d.Pos(), errs.PrivilegeNeeded, "Access denied; you need (at least one of) the SUPER privilege(s) for this operation")
		}
	}
	s.endTransaction() // definitions commit
	if x.Alter {
		if _, err := vs.View(ctx, n.ID.Database, n.ID.Table); err != nil {
			return err
		}
	}
	v, err := plan.FreezeView(ctx, x, n, run.environment())
	if err != nil {
		return err
	}
	// The columns are found with the rights of who makes it: the definer may be
	// nobody yet.
	v.Definer, v.Created = s.account.Identity.String(), s.srv.now().UTC().Truncate(time.Second)
	schema, err := viewSchema(ctx, n, v, run.environment())
	if err != nil {
		return err
	}
	v.Definer, v.Fields = definer.String(), schema.Fields
	err = vs.CreateView(ctx, v, x.OrReplace || x.Alter)
	if x.IfNotExists && errs.Is(err, errs.TableExists) {
		s.warn("Note", err)
		return nil
	}
	return err
}

// dropViews runs DROP VIEW.
func (s *Session) dropViews(ctx context.Context, x *syntax.DropView) error {
	if x.Temporary || x.Materialized {
		return errs.Unsupportedf(x.Pos(), "DROP of temporary and materialized views")
	}
	if err := s.writable(x.Pos()); err != nil {
		return err
	}
	s.endTransaction()
	for _, name := range x.Names {
		vs, n, err := s.viewing(name)
		if err != nil {
			return err
		}
		if err := s.authorize(metadata.Drop, n.Catalog, n.ID, "DROP"); err != nil {
			return err
		}
		err = vs.DropView(ctx, n.ID.Database, n.ID.Table)
		if !errs.Is(err, errs.UnknownTable) && !errs.Is(err, errs.UnknownDatabase) {
			if err != nil {
				return err
			}
			continue
		}
		if _, e := n.In.Table(ctx, n.ID); e == nil {
			return errs.UserAt(name.Pos(), errs.WrongObject, "'%s.%s' is not VIEW", n.ID.Database, n.ID.Table)
		}
		gone := errs.UserAt(name.Pos(), errs.DropTableMissing, "Unknown table '%s.%s'", n.ID.Database, n.ID.Table)
		if !x.IfExists {
			return gone
		}
		s.warn("Note", gone)
	}
	return nil
}
