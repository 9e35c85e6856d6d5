package accounts

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/server/metadata"
)

// change is a set of edits that are applied together.
type change struct {
	s   *Store
	c   metadata.Change
	ed  *mysql_db.Editor
	at  *view // before the change
	now time.Time

	users map[metadata.Identity]*mysql_db.User // nil: removed
	edges map[mysql_db.RoleEdge]bool           // false: removed
}

// Execute implements metadata.Accounts.
func (s *Store) Execute(ctx context.Context, c metadata.Change) error {
	ed := s.db.Editor() // one change at a time
	defer ed.Close()
	x := &change{s: s, c: c, ed: ed, at: s.view.Load(), now: time.Now(), users: map[metadata.Identity]*mysql_db.User{}, edges: map[mysql_db.RoleEdge]bool{}}
	if err := x.statement(c.Statement); err != nil {
		return err
	}
	return x.apply(ctx)
}

// apply edits the library's tables and persists them; when that fails nothing
// has changed.
func (x *change) apply(ctx context.Context) error {
	before := map[metadata.Identity]*mysql_db.User{}
	for id := range x.users {
		u, _ := x.ed.GetUser(mysql_db.UserPrimaryKey{Host: id.Host, User: id.User})
		before[id] = u
	}
	edgesBefore := map[mysql_db.RoleEdge]bool{}
	x.ed.VisitRoleEdges(func(e *mysql_db.RoleEdge) { edgesBefore[*e] = true })
	put := func(users map[metadata.Identity]*mysql_db.User) {
		for id, u := range users {
			x.ed.RemoveUser(mysql_db.UserPrimaryKey{Host: id.Host, User: id.User})
			if u != nil {
				x.ed.PutUser(u)
			}
		}
	}
	edge := func(e mysql_db.RoleEdge, there bool) {
		x.ed.RemoveRoleEdge(mysql_db.RoleEdgesPrimaryKey{FromHost: e.FromHost, FromUser: e.FromUser, ToHost: e.ToHost, ToUser: e.ToUser})
		if there {
			x.ed.PutRoleEdge(&e)
		}
	}
	put(x.users)
	for e, there := range x.edges {
		edge(e, there)
	}
	after := viewOf(x.ed)
	err := after.sound()
	if err == nil {
		err = x.s.db.Persist(sql.NewContext(ctx), x.ed)
	}
	if err != nil {
		put(before)
		for e := range x.edges {
			edge(e, edgesBefore[e])
		}
		return err
	}
	x.s.view.Store(after)
	return nil
}

// sound refuses a state in which nobody can make accounts any more.
func (v *view) sound() error {
	for _, a := range v.order {
		if !a.info.Role && !a.info.Locked && a.global&metadata.CreateUser != 0 && a.global&metadata.GrantOption != 0 {
			return nil
		}
	}
	return errs.Userf(errs.CannotUser, "change accounts: nobody could make accounts or give rights afterwards")
}

// user returns an account to edit, nil when there is none.
func (x *change) user(id metadata.Identity) *mysql_db.User {
	if u, ok := x.users[id]; ok {
		return u
	}
	u, ok := x.ed.GetUser(mysql_db.UserPrimaryKey{Host: id.Host, User: id.User})
	if !ok {
		return nil
	}
	c := *u
	c.PrivilegeSet = mysql_db.NewPrivilegeSet()
	c.PrivilegeSet.UnionWith(u.PrivilegeSet)
	x.users[id] = &c
	return &c
}

// identity returns the account that a statement names.
func (x *change) identity(a *syntax.Account) metadata.Identity {
	if a == nil || a.Current {
		return x.c.Who.Identity
	}
	host := a.Host
	if !a.HasHost || host == "" {
		host = "%"
	}
	return metadata.Identity{User: a.User, Host: host}
}

func quoted(list []metadata.Identity) string {
	out := make([]string, len(list))
	for i, id := range list {
		out[i] = "'" + id.User + "'@'" + id.Host + "'"
	}
	return strings.Join(out, ",")
}

func failed(what string, list []metadata.Identity) error {
	return errs.Userf(errs.CannotUser, "Operation %s failed for %s", what, quoted(list))
}

func (x *change) statement(stmt syntax.Statement) error {
	switch n := stmt.(type) {
	case *syntax.CreateUser:
		return x.createUser(n)
	case *syntax.AlterUser:
		return x.alterUser(n)
	case *syntax.DropUser:
		return x.drop("DROP USER", n.Users, n.IfExists, false)
	case *syntax.DropRole:
		return x.drop("DROP ROLE", n.Roles, n.IfExists, true)
	case *syntax.RenameUser:
		return x.rename(n)
	case *syntax.CreateRole:
		return x.createRole(n)
	case *syntax.SetPassword:
		return x.setPassword(n)
	case *syntax.Grant:
		return x.grant(n)
	case *syntax.Revoke:
		return x.revoke(n)
	}
	return errs.Unsupportedf(stmt.Pos(), "this statement about accounts")
}

// authenticate sets an account's password.
func (x *change) authenticate(u *mysql_db.User, a *syntax.Auth) error {
	if a == nil {
		return nil
	}
	if a.Random || a.Retain || a.HasReplace {
		return errs.Unsupportedf(a.Pos(), "RANDOM PASSWORD, RETAIN CURRENT PASSWORD and REPLACE")
	}
	plugin := strings.ToLower(a.Plugin)
	switch plugin {
	case "":
		if plugin = u.Plugin; plugin == "" {
			plugin = defaultPlugin
		}
	case "mysql_native_password", "caching_sha2_password":
	default:
		return errs.Unsupportedf(a.Pos(), "the authentication plugin %s; there are mysql_native_password and caching_sha2_password", a.Plugin)
	}
	hash := ""
	switch {
	case a.HasHash:
		hash = a.Hash
		native := strings.HasPrefix(hash, "*") && len(hash) == 41
		if hash != "" && (plugin == "mysql_native_password" && !native || plugin == "caching_sha2_password" && !(strings.HasPrefix(hash, "$A$") && len(hash) == 70)) {
			return errs.UserAt(a.Pos(), errs.CannotUser, "The password hash doesn't have the expected format.")
		}
	case a.HasPassword && a.Password != "":
		var err error
		if hash, err = x.s.o.Hash(plugin, a.Password); err != nil {
			return err
		}
	}
	u.Plugin, u.AuthString, u.PasswordLastChanged = plugin, hash, x.now
	return nil
}

// options applies ACCOUNT LOCK and the like.
func (x *change) options(u *mysql_db.User, list []*syntax.UserOption) error {
	for _, o := range list {
		switch {
		case o.Name == "ACCOUNT LOCK" || o.Name == "ACCOUNT" && strings.EqualFold(o.Value, "LOCK"):
			u.Locked = true
		case o.Name == "ACCOUNT UNLOCK" || o.Name == "ACCOUNT" && strings.EqualFold(o.Value, "UNLOCK"):
			u.Locked = false
		case o.Name == "REQUIRE" && strings.EqualFold(o.Value, "NONE"), o.Name == "REQUIRE NONE":
		case strings.HasPrefix(o.Name, "MAX_") && o.Value == "0":
		case o.Name == "PASSWORD EXPIRE" && (strings.EqualFold(o.Value, "NEVER") || strings.EqualFold(o.Value, "DEFAULT")),
			o.Name == "PASSWORD EXPIRE NEVER", o.Name == "PASSWORD EXPIRE DEFAULT":
		case o.Name == "COMMENT", o.Name == "ATTRIBUTE":
			return errs.Unsupportedf(o.Pos(), "%s of accounts", o.Name)
		default:
			return errs.Unsupportedf(o.Pos(), "the account option %s", strings.TrimSpace(o.Name+" "+o.Value))
		}
	}
	return nil
}

func (x *change) createUser(n *syntax.CreateUser) error {
	if len(n.DefaultRoles) > 0 || n.OrReplace {
		return errs.Unsupportedf(n.Pos(), "DEFAULT ROLE and OR REPLACE in CREATE USER")
	}
	var exist []metadata.Identity
	for _, spec := range n.Users {
		id := x.identity(spec.Account)
		if x.user(id) != nil {
			exist = append(exist, id)
			continue
		}
		u := &mysql_db.User{User: id.User, Host: id.Host, Plugin: defaultPlugin, PrivilegeSet: mysql_db.NewPrivilegeSet(), PasswordLastChanged: x.now}
		if err := x.authenticate(u, spec.Auth); err != nil {
			return err
		}
		if err := x.options(u, n.Options); err != nil {
			return err
		}
		x.users[id] = u
	}
	if len(exist) > 0 && !n.IfNotExists {
		return failed("CREATE USER", exist)
	}
	return nil
}

func (x *change) alterUser(n *syntax.AlterUser) error {
	if n.DefaultRole != "" {
		return errs.Unsupportedf(n.Pos(), "DEFAULT ROLE in ALTER USER; all granted roles are active")
	}
	var missing []metadata.Identity
	for _, spec := range n.Users {
		id := x.identity(spec.Account)
		u := x.user(id)
		if u == nil {
			missing = append(missing, id)
			continue
		}
		if spec.DiscardOld {
			return errs.Unsupportedf(spec.Pos(), "DISCARD OLD PASSWORD")
		}
		if err := x.authenticate(u, spec.Auth); err != nil {
			return err
		}
		if err := x.options(u, n.Options); err != nil {
			return err
		}
	}
	if len(missing) > 0 && !n.IfExists {
		return failed("ALTER USER", missing)
	}
	return nil
}

func (x *change) setPassword(n *syntax.SetPassword) error {
	id := x.identity(n.User)
	u := x.user(id)
	if u == nil {
		return errs.UserAt(n.Pos(), errs.CannotUser, "Can't find any matching row in the user table")
	}
	if n.Random || n.HasReplace || n.Retain {
		return errs.Unsupportedf(n.Pos(), "TO RANDOM, REPLACE and RETAIN in SET PASSWORD")
	}
	return x.authenticate(u, &syntax.Auth{At: n.At, Password: n.Password, HasPassword: true})
}

func (x *change) createRole(n *syntax.CreateRole) error {
	var exist []metadata.Identity
	for _, a := range n.Roles {
		id := x.identity(a)
		if x.user(id) != nil {
			exist = append(exist, id)
			continue
		}
		attrs := `{"role":true}`
		x.users[id] = &mysql_db.User{User: id.User, Host: id.Host, Plugin: defaultPlugin, Locked: true, IsRole: true, Attributes: &attrs,
			PrivilegeSet: mysql_db.NewPrivilegeSet(), PasswordLastChanged: x.now}
	}
	if len(exist) > 0 && !n.IfNotExists {
		return failed("CREATE ROLE", exist)
	}
	return nil
}

func (x *change) drop(what string, list []*syntax.Account, ifExists, roles bool) error {
	var missing []metadata.Identity
	for _, a := range list {
		id := x.identity(a)
		u := x.user(id)
		if u == nil || roles && !attributesOf(u).Role {
			delete(x.users, id)
			missing = append(missing, id)
			continue
		}
		x.users[id] = nil
		x.ed.VisitRoleEdges(func(e *mysql_db.RoleEdge) {
			if e.FromUser == id.User && e.FromHost == id.Host || e.ToUser == id.User && e.ToHost == id.Host {
				x.edges[*e] = false
			}
		})
	}
	if len(missing) > 0 && !ifExists {
		return failed(what, missing)
	}
	return nil
}

func (x *change) rename(n *syntax.RenameUser) error {
	for i := range n.From {
		from, to := x.identity(n.From[i]), x.identity(n.To[i])
		u := x.user(from)
		if u == nil || x.user(to) != nil {
			return failed("RENAME USER", []metadata.Identity{from})
		}
		u.User, u.Host = to.User, to.Host
		x.users[from], x.users[to] = nil, u
		x.ed.VisitRoleEdges(func(e *mysql_db.RoleEdge) {
			r := *e
			if r.FromUser == from.User && r.FromHost == from.Host {
				r.FromUser, r.FromHost = to.User, to.Host
			}
			if r.ToUser == from.User && r.ToHost == from.Host {
				r.ToUser, r.ToHost = to.User, to.Host
			}
			if r != *e {
				x.edges[*e], x.edges[r] = false, true
			}
		})
	}
	return nil
}

// target is what a privilege is on; neither name means *.*.
type target struct{ database, table string }

func (x *change) target(on *syntax.GrantTarget) (t target, err error) {
	if on == nil {
		return t, nil
	}
	if on.Type != "" && on.Type != "TABLE" {
		return t, errs.Unsupportedf(on.Pos(), "grants on %s", on.Type)
	}
	t = target{on.Database.Name, on.Object.Name}
	if on.Catalog.Name != "" && on.Catalog.Name != x.c.DefaultCatalog {
		t.database = on.Catalog.Name + "." + t.database
	}
	if on.Current || t.database == "" && t.table != "" {
		if x.c.Database == "" {
			return t, errs.UserAt(on.Pos(), errs.NoDatabase, "No database selected")
		}
		t.database = x.c.Database
	}
	return t, nil
}

// privileges reads the list of GRANT or REVOKE. ALL leaves out GRANT OPTION.
func (x *change) privileges(list []*syntax.Privilege, t target) (p metadata.Privilege, err error) {
	possible := metadata.AllPrivileges | metadata.GrantOption
	switch {
	case t.table != "":
		possible = tablePrivileges | metadata.GrantOption
	case t.database != "":
		possible = databasePrivileges | metadata.GrantOption
	}
	for _, n := range list {
		if len(n.Columns) > 0 {
			return 0, errs.Unsupportedf(n.Pos(), "privileges on columns")
		}
		switch name := strings.ToUpper(n.Name); name {
		case "ALL", "ALL PRIVILEGES":
			p |= possible &^ metadata.GrantOption
		case "USAGE":
		default:
			q, ok := metadata.PrivilegeNamed(name)
			if !ok {
				return 0, errs.Unsupportedf(n.Pos(), "the privilege %s", name)
			}
			if q&^possible != 0 {
				return 0, errs.UserAt(n.Pos(), errs.WrongArguments, "Incorrect usage of DB GRANT and GLOBAL PRIVILEGES: %s", name)
			}
			p |= q
		}
	}
	return p, nil
}

// mayGrant checks that who gives rights has them, with the right to give them.
func (x *change) mayGrant(p metadata.Privilege, t target, pos int) error {
	if x.c.Who.Super {
		return nil
	}
	on := metadata.Object{Database: t.database, Table: t.table}
	if x.s.Allowed(x.c.Who.Identity, p|metadata.GrantOption, on) {
		return nil
	}
	id := x.c.Who.Identity
	switch {
	case t.table != "":
		return errs.UserAt(pos, errs.TableDenied, "GRANT command denied to user '%s'@'%s' for table '%s'", id.User, id.Host, t.table)
	case t.database != "":
		return errs.UserAt(pos, errs.DatabaseDenied, "Access denied for user '%s'@'%s' to database '%s'", id.User, id.Host, t.database)
	}
	return errs.UserAt(pos, errs.AccessDenied, "Access denied for user '%s'@'%s' (using password: YES)", id.User, id.Host)
}

func (x *change) grant(n *syntax.Grant) error {
	switch {
	case n.Proxy != nil:
		return errs.Unsupportedf(n.Pos(), "GRANT PROXY")
	case n.AsUser != nil:
		return errs.Unsupportedf(n.Pos(), "GRANT … AS")
	case n.AdminOption:
		return errs.Unsupportedf(n.Pos(), "WITH ADMIN OPTION")
	case len(n.Options) > 0:
		return errs.Unsupportedf(n.Pos(), "account options in GRANT; use ALTER USER")
	}
	for _, spec := range n.To {
		if spec.Auth != nil {
			return errs.Unsupportedf(spec.Pos(), "IDENTIFIED in GRANT; use CREATE USER")
		}
	}
	if len(n.Roles) > 0 {
		return x.grantRoles(n)
	}
	t, err := x.target(n.On)
	if err != nil {
		return err
	}
	p, err := x.privileges(n.Privileges, t)
	if err != nil {
		return err
	}
	if n.GrantOption {
		p |= metadata.GrantOption
	}
	if err := x.mayGrant(p, t, n.Pos()); err != nil {
		return err
	}
	for _, spec := range n.To {
		u := x.user(x.identity(spec.Account))
		if u == nil {
			return errs.UserAt(spec.Pos(), errs.NoAutoCreate, "You are not allowed to create a user with GRANT")
		}
		switch {
		case t.table != "":
			u.PrivilegeSet.AddTable(encode(t.database), encode(t.table), toLibrary(p)...)
		case t.database != "":
			u.PrivilegeSet.AddDatabase(encode(t.database), toLibrary(p)...)
		default:
			u.PrivilegeSet.AddGlobalStatic(toLibrary(p)...)
		}
	}
	return nil
}

func (x *change) grantRoles(n *syntax.Grant) error {
	if err := x.mayGrant(metadata.CreateUser, target{}, n.Pos()); err != nil {
		return err
	}
	for _, r := range n.Roles {
		role := x.identity(r)
		if x.user(role) == nil {
			return errs.UserAt(r.Pos(), errs.CannotUser, "Unknown authorization ID %s", quoteAccount(role))
		}
		for _, spec := range n.To {
			to := x.identity(spec.Account)
			if x.user(to) == nil {
				return errs.UserAt(spec.Pos(), errs.CannotUser, "Unknown authorization ID %s", quoteAccount(to))
			}
			if x.reaches(role, to) {
				return errs.UserAt(r.Pos(), errs.CannotUser, "User account %s is directly or indirectly granted to the role %s. The GRANT would create a loop", quoteAccount(to), quoteAccount(role))
			}
			x.edges[mysql_db.RoleEdge{FromUser: role.User, FromHost: role.Host, ToUser: to.User, ToHost: to.Host}] = true
		}
	}
	return nil
}

// reaches reports whether an account holds another as a role, or is it.
func (x *change) reaches(holder, role metadata.Identity) bool {
	if holder == role {
		return true
	}
	edges := map[mysql_db.RoleEdge]bool{}
	x.ed.VisitRoleEdges(func(e *mysql_db.RoleEdge) { edges[*e] = true })
	maps.Copy(edges, x.edges)
	seen := []metadata.Identity{holder}
	for i := 0; i < len(seen); i++ {
		for e, there := range edges {
			from := metadata.Identity{User: e.FromUser, Host: e.FromHost}
			if !there || e.ToUser != seen[i].User || e.ToHost != seen[i].Host || slices.Contains(seen, from) {
				continue
			}
			if from == role {
				return true
			}
			seen = append(seen, from)
		}
	}
	return false
}

func (x *change) revoke(n *syntax.Revoke) error {
	if n.Proxy != nil || n.IgnoreUnknown || n.IfExists {
		return errs.Unsupportedf(n.Pos(), "PROXY, IF EXISTS and IGNORE UNKNOWN USER in REVOKE")
	}
	if len(n.Roles) > 0 {
		return x.revokeRoles(n)
	}
	t, err := x.target(n.On)
	if err != nil {
		return err
	}
	p, err := x.privileges(n.Privileges, t)
	if err != nil {
		return err
	}
	need := p
	if n.AllAndGrantOption {
		need = metadata.CreateUser
	}
	if err := x.mayGrant(need, t, n.Pos()); err != nil {
		return err
	}
	for _, a := range n.From {
		id := x.identity(a)
		u := x.user(id)
		if u == nil {
			return errs.UserAt(a.Pos(), errs.NoSuchGrant, "There is no such grant defined for user '%s' on host '%s'", id.User, id.Host)
		}
		switch {
		case n.AllAndGrantOption:
			u.PrivilegeSet = mysql_db.NewPrivilegeSet()
		case t.table != "":
			if fromLibrary(tableSet(u, t)) == 0 {
				return errs.UserAt(a.Pos(), errs.NoSuchGrant, "There is no such grant defined for user '%s' on host '%s' on table '%s'", id.User, id.Host, t.table)
			}
			u.PrivilegeSet.RemoveTable(encode(t.database), encode(t.table), toLibrary(p)...)
		case t.database != "":
			if fromLibrary(u.PrivilegeSet.Database(encode(t.database)).ToSlice()) == 0 {
				return errs.UserAt(a.Pos(), errs.NoSuchGrant, "There is no such grant defined for user '%s' on host '%s'", id.User, id.Host)
			}
			x.revokeDatabase(u, t.database, p)
		default:
			u.PrivilegeSet.RemoveGlobalStatic(toLibrary(p)...)
		}
	}
	return nil
}

func tableSet(u *mysql_db.User, t target) []sql.PrivilegeType {
	return u.PrivilegeSet.Database(encode(t.database)).Table(encode(t.table)).ToSlice()
}

// revokeDatabase takes rights on a database and leaves those on its tables,
// which the library would drop with the last right.
func (x *change) revokeDatabase(u *mysql_db.User, database string, p metadata.Privilege) {
	name := encode(database)
	tables := map[string][]sql.PrivilegeType{}
	for _, t := range u.PrivilegeSet.Database(name).GetTables() {
		tables[t.Name()] = t.ToSlice()
	}
	u.PrivilegeSet.RemoveDatabase(name, toLibrary(p)...)
	for t, list := range tables {
		if len(list) > 0 {
			u.PrivilegeSet.AddTable(name, t, list...)
		}
	}
}

func (x *change) revokeRoles(n *syntax.Revoke) error {
	if err := x.mayGrant(metadata.CreateUser, target{}, n.Pos()); err != nil {
		return err
	}
	for _, r := range n.Roles {
		role := x.identity(r)
		for _, a := range n.From {
			to := x.identity(a)
			if x.user(to) == nil || x.user(role) == nil {
				return errs.UserAt(a.Pos(), errs.CannotUser, "Unknown authorization ID %s", quoteAccount(to))
			}
			x.ed.VisitRoleEdges(func(e *mysql_db.RoleEdge) {
				if e.FromUser == role.User && e.FromHost == role.Host && e.ToUser == to.User && e.ToHost == to.Host {
					x.edges[*e] = false
				}
			})
		}
	}
	return nil
}
