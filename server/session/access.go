package session

import (
	"context"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/server/metadata"
)

// allowed reports whether the session's account has all of p on an object.
func (s *Session) allowed(p metadata.Privilege, on metadata.Object) bool {
	return s.account.Super || s.srv.accounts.Allowed(s.account.Identity, p, on)
}

// object names something for grants: the default catalog has no name there, so
// that GRANT … ON db.* means its databases.
func (s *Session) object(catalogName, database, table string) metadata.Object {
	if catalogName == s.srv.defaultCatalog() {
		catalogName = ""
	}
	return metadata.Object{Catalog: catalogName, Database: database, Table: table}
}

// authorize checks rights on a table. System tables and branches have their
// table's grants.
func (s *Session) authorize(p metadata.Privilege, catalogName string, id catalog.Identifier, command string) error {
	if s.allowed(p, s.object(catalogName, id.Database, id.Table)) {
		return nil
	}
	return errs.Userf(errs.TableDenied, "%s command denied to user '%s'@'%s' for table '%s'", command, s.account.User, hostOf(s.opts.Address), id.Object())
}

// authorizeRead checks the right to read a table.
func (s *Session) authorizeRead(_ context.Context, catalogName string, id catalog.Identifier) error {
	if db, ok := metadata.VirtualDatabase(id.Database); ok {
		if db != metadata.MySQLDatabase {
			return nil
		}
		id.Database, catalogName = db, s.srv.defaultCatalog()
	}
	return s.authorize(metadata.Select, catalogName, id, "SELECT")
}

// authorizeDefinition checks the rights that CREATE and DROP need.
func (s *Session) authorizeDefinition(stmt syntax.Statement) error {
	database := func(p metadata.Privilege, n syntax.ObjectName) error {
		c, db := s.databaseOf(n)
		if _, virtual := metadata.VirtualDatabase(db); virtual || !s.allowed(p, s.object(c, db, "")) {
			return errs.UserAt(n.Pos(), errs.DatabaseDenied, "Access denied for user '%s'@'%s' to database '%s'", s.account.User, s.account.Host, db)
		}
		return nil
	}
	table := func(p metadata.Privilege, n syntax.ObjectName, command string) error {
		c, id, err := s.identifier(n)
		if err != nil {
			return err
		}
		if _, virtual := metadata.VirtualDatabase(id.Database); virtual {
			return errs.UserAt(n.Pos(), errs.DatabaseDenied, "Access denied for user '%s'@'%s' to database '%s'", s.account.User, s.account.Host, id.Database)
		}
		if err := s.authorize(p, c, id, command); err != nil || p != metadata.Drop && p != metadata.Alter {
			return err
		}
		return s.unfed(c, id)
	}
	switch x := stmt.(type) {
	case *syntax.CreateDatabase:
		return database(metadata.Create, x.Name)
	case *syntax.DropDatabase:
		if err := database(metadata.Drop, x.Name); err != nil {
			return err
		}
		c, db := s.databaseOf(x.Name)
		return s.unfed(c, catalog.Identifier{Catalog: c, Database: db})
	case *syntax.AlterDatabase:
		n := x.Name
		if n.IsZero() {
			n = syntax.ObjectName{At: x.At, Parts: []syntax.Ident{{At: x.At, Name: s.shownDatabase()}}}
		}
		return database(metadata.Alter, n)
	}
	for _, r := range tableRights(stmt) {
		if r.need != metadata.Create && r.need != metadata.CreateTemporaryTables {
			if c, id, err := s.identifier(r.name); err == nil && c == s.catalog {
				if _, ok := s.temporary(c, id.Database, r.name.Object()); ok {
					continue // it is the session's own
				}
			}
		}
		if err := table(r.need, r.name, r.command); err != nil {
			return err
		}
	}
	return nil
}

// changeAccounts runs the statements about accounts and grants. The account
// keeper checks the rights of who gives rights.
func (s *Session) changeAccounts(ctx context.Context, stmt syntax.Statement) error {
	need := metadata.CreateUser
	switch x := stmt.(type) {
	case *syntax.Grant, *syntax.Revoke:
		need = 0
	case *syntax.CreateRole:
		need = metadata.CreateRole
	case *syntax.DropRole:
		need = metadata.DropRole
	case *syntax.SetPassword:
		if x.User == nil || x.User.Current {
			need = 0
		}
	case *syntax.AlterUser:
		own := len(x.Users) > 0
		for _, u := range x.Users {
			own = own && (u.Account.Current || u.Account.User == s.account.User && u.Account.Host == s.account.Host)
		}
		if own && len(x.Options) == 0 {
			need = 0
		}
	}
	if need != 0 && !s.allowed(need, metadata.Object{}) && !s.allowed(metadata.CreateUser, metadata.Object{}) {
		return errs.Userf(errs.PrivilegeNeeded, "Access denied; you need (at least one of) the %s privilege(s) for this operation", need)
	}
	s.endTransaction()
	return s.srv.accounts.Execute(ctx, metadata.Change{Who: s.account, Database: s.shownDatabase(), DefaultCatalog: s.srv.defaultCatalog(), Statement: stmt})
}

// splitDatabase finds the catalog of a database name of one part: a database of
// the current catalog, or "catalog.database" where there is a catalog of that
// name (DESIGN D14).
func (s *Session) splitDatabase(name string) (catalogName, database string) {
	if c, db, ok := strings.Cut(name, "."); ok {
		if _, err := s.srv.catalogNamed(c); err == nil {
			return c, db
		}
	}
	return s.catalog, name
}

// databaseOf completes a database's name: db, `c.db` or c.db.
func (s *Session) databaseOf(n syntax.ObjectName) (catalogName, database string) {
	if n.Database() != "" {
		return n.Database(), n.Object()
	}
	return s.splitDatabase(n.Object())
}
