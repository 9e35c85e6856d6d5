// Package accounts keeps accounts, roles and grants, on go-mysql-server's
// mysql_db as a library, and persists them in one file. It is the only door to
// that library; the rest of the server sees metadata.Accounts.
//
// Invariants. A change is visible when it is on disk, or not at all. Questions
// (Lookup, Allowed) are answered from an immutable picture that is swapped
// after a change, so they never wait. Names of databases and tables are
// case-sensitive, which the library is not: they are stored so that lower case
// keeps them apart. The last account that may make accounts cannot be lost.
//
// Start reading at Store.
package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/server/metadata"
)

// Options say where a Store keeps its accounts. All but Rand are required.
type Options struct {
	// Files and Path are the file that holds them.
	Files fileio.FileIO
	Path  string
	// Hash returns the stored form of a password for a plugin
	// (mysql_native_password, caching_sha2_password).
	Hash func(plugin, password string) (string, error)
}

// Store is the set of accounts. It is safe for concurrent use.
type Store struct {
	o    Options
	db   *mysql_db.MySQLDb
	view atomic.Pointer[view]
}

var _ metadata.Accounts = (*Store)(nil)

// Open reads the accounts. Without a file there is root@localhost with an empty
// password and every right, until accounts are made.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{o: o, db: mysql_db.CreateEmptyMySQLDb()}
	s.db.SetPersister(persister{o})
	data, err := o.Files.ReadFile(ctx, o.Path)
	switch {
	case errs.Is(err, errs.FileNotFound):
		s.db.SetEnabled(true)
		ed := s.db.Editor()
		ed.PutUser(&mysql_db.User{User: metadata.Root.User, Host: metadata.Root.Host, Plugin: defaultPlugin,
			PrivilegeSet: mysql_db.NewPrivilegeSetWithAllPrivileges()})
		ed.Close()
	case err != nil:
		return nil, err
	default:
		if err := s.db.LoadData(sql.NewContext(ctx), data); err != nil {
			return nil, errs.Corruptf("read accounts from %s: %w", o.Path, err)
		}
	}
	rd := s.db.Reader()
	s.view.Store(viewOf(rd))
	rd.Close()
	if len(s.view.Load().accounts) == 0 {
		return nil, errs.Corruptf("read accounts from %s: the file holds none", o.Path)
	}
	return s, nil
}

const defaultPlugin = "caching_sha2_password"

// persister writes what the library serializes.
type persister struct{ o Options }

func (p persister) Persist(ctx *sql.Context, data []byte) error {
	return p.o.Files.WriteFile(ctx, p.o.Path, data)
}

// attributes is what the library does not store of an account by itself.
type attributes struct {
	Role bool `json:"role,omitempty"`
}

func attributesOf(u *mysql_db.User) (a attributes) {
	if u.Attributes != nil {
		_ = json.Unmarshal([]byte(*u.Attributes), &a)
	}
	return a
}

// view is an immutable picture of all accounts.
type view struct {
	accounts map[metadata.Identity]*account
	order    []*account // as logins try them: by user, the most specific host first
}

type account struct {
	info  metadata.AccountInfo
	roles []metadata.Identity // granted, sorted
	// The account's rights with those of its roles.
	global    metadata.Privilege
	databases map[string]metadata.Privilege // by the grant's database, a pattern
	tables    map[[2]string]metadata.Privilege
}

// editor and reader have these in common.
type visitor interface {
	VisitUsers(func(*mysql_db.User))
	VisitRoleEdges(func(*mysql_db.RoleEdge))
}

func viewOf(rd visitor) *view {
	v := &view{accounts: map[metadata.Identity]*account{}}
	rd.VisitUsers(func(u *mysql_db.User) {
		id := metadata.Identity{User: u.User, Host: u.Host}
		a := &account{info: metadata.AccountInfo{
			Account:   metadata.Account{Identity: id, Plugin: u.Plugin, Hash: u.AuthString, Locked: u.Locked},
			Global:    fromLibrary(u.PrivilegeSet.ToSlice()),
			Databases: map[metadata.Object]metadata.Privilege{}, Tables: map[metadata.Object]metadata.Privilege{},
			Role: attributesOf(u).Role,
		}}
		a.info.Super = a.info.Global&metadata.Super != 0 && a.info.Global&metadata.AllPrivileges == metadata.AllPrivileges
		a.info.Loopback = id == metadata.Root && u.AuthString == ""
		for _, db := range u.PrivilegeSet.GetDatabases() {
			name := decode(db.Name())
			if p := fromLibrary(db.ToSlice()); p != 0 {
				a.info.Databases[metadata.Object{Database: name}] = p
			}
			for _, t := range db.GetTables() {
				if p := fromLibrary(t.ToSlice()); p != 0 {
					a.info.Tables[metadata.Object{Database: name, Table: decode(t.Name())}] = p
				}
			}
		}
		v.accounts[id] = a
		v.order = append(v.order, a)
	})
	rd.VisitRoleEdges(func(e *mysql_db.RoleEdge) {
		if a := v.accounts[metadata.Identity{User: e.ToUser, Host: e.ToHost}]; a != nil {
			a.roles = append(a.roles, metadata.Identity{User: e.FromUser, Host: e.FromHost})
		}
	})
	for _, a := range v.order {
		slices.SortFunc(a.roles, compareIdentity)
		a.global, a.databases, a.tables = 0, map[string]metadata.Privilege{}, map[[2]string]metadata.Privilege{}
		v.collect(a, a, map[metadata.Identity]bool{})
	}
	slices.SortFunc(v.order, func(a, b *account) int {
		if c := strings.Compare(b.info.User, a.info.User); c != 0 { // the anonymous user last
			return c
		}
		if c := specificity(b.info.Host) - specificity(a.info.Host); c != 0 {
			return c
		}
		return strings.Compare(a.info.Host, b.info.Host)
	})
	return v
}

// collect adds from's rights, and those of its roles, to a.
func (v *view) collect(a, from *account, seen map[metadata.Identity]bool) {
	if from == nil || seen[from.info.Identity] {
		return
	}
	seen[from.info.Identity] = true
	a.global |= from.info.Global
	for o, p := range from.info.Databases {
		a.databases[o.Database] |= p
	}
	for o, p := range from.info.Tables {
		a.tables[[2]string{o.Database, o.Table}] |= p
	}
	for _, r := range from.roles {
		v.collect(a, v.accounts[r], seen)
	}
}

func compareIdentity(a, b metadata.Identity) int {
	if c := strings.Compare(a.User, b.User); c != 0 {
		return c
	}
	return strings.Compare(a.Host, b.Host)
}

// Lookup implements metadata.Accounts.
func (s *Store) Lookup(user, host string) (metadata.Account, bool) {
	v := s.view.Load()
	for _, u := range []string{user, ""} {
		for _, a := range v.order {
			if a.info.User == u && !a.info.Role && matchesHost(a.info.Host, host) {
				return a.info.Account, true
			}
		}
		if user == "" {
			break
		}
	}
	return metadata.Account{}, false
}

// Allowed implements metadata.Accounts.
func (s *Store) Allowed(who metadata.Identity, p metadata.Privilege, on metadata.Object) bool {
	a := s.view.Load().accounts[who]
	if a == nil || a.info.Locked && !a.info.Role {
		return false
	}
	p &^= a.global
	if p == 0 {
		return true
	}
	if on.Database == "" {
		return false
	}
	db := on.Name()
	p &^= a.onDatabase(db)
	if p != 0 && on.Table != "" {
		p &^= a.tables[[2]string{db, on.Table}]
	}
	return p == 0
}

// onDatabase returns the rights that database-level grants give.
func (a *account) onDatabase(db string) (p metadata.Privilege) {
	if q, ok := a.databases[db]; ok {
		p |= q
	}
	for pattern, q := range a.databases {
		if strings.ContainsAny(pattern, `%_\`) && metadata.Like(db, pattern, true) {
			p |= q
		}
	}
	return p
}

// Visible implements metadata.Accounts.
func (s *Store) Visible(who metadata.Identity, on metadata.Object) bool {
	a := s.view.Load().accounts[who]
	if a == nil {
		return false
	}
	const onData = metadata.Select | metadata.Insert | metadata.Update | metadata.Delete | metadata.Create | metadata.Drop | metadata.Alter |
		metadata.Index | metadata.References | metadata.CreateView | metadata.ShowView | metadata.LockTables | metadata.CreateTemporaryTables |
		metadata.Execute | metadata.Trigger | metadata.Event | metadata.CreateRoutine | metadata.AlterRoutine | metadata.GrantOption
	if a.global&onData != 0 {
		return true
	}
	db := on.Name()
	if db == "" {
		return len(a.databases) > 0 || len(a.tables) > 0
	}
	if a.onDatabase(db) != 0 {
		return true
	}
	for t := range a.tables {
		if t[0] == db && (on.Table == "" || on.Table == t[1]) {
			return true
		}
	}
	return false
}

// Grants implements metadata.Accounts.
func (s *Store) Grants(who metadata.Identity) ([]string, error) {
	a := s.view.Load().accounts[who]
	if a == nil {
		return nil, errs.Userf(errs.NoSuchGrant, "There is no such grant defined for user '%s' on host '%s'", who.User, who.Host)
	}
	to := " TO " + quoteAccount(who)
	line := func(p, all metadata.Privilege, on string) string {
		option := ""
		if p&metadata.GrantOption != 0 {
			option = " WITH GRANT OPTION"
		}
		p &^= metadata.GrantOption
		text := p.String()
		switch {
		case p == 0:
			text = "USAGE"
		case p&all == all:
			text = "ALL PRIVILEGES"
		}
		return "GRANT " + text + " ON " + on + to + option
	}
	out := []string{line(a.info.Global, metadata.AllPrivileges, "*.*")}
	for _, o := range sortedObjects(a.info.Databases) {
		out = append(out, line(a.info.Databases[o], databasePrivileges, quoteName(o.Database)+".*"))
	}
	for _, o := range sortedObjects(a.info.Tables) {
		out = append(out, line(a.info.Tables[o], tablePrivileges, quoteName(o.Database)+"."+quoteName(o.Table)))
	}
	if len(a.roles) > 0 {
		names := make([]string, len(a.roles))
		for i, r := range a.roles {
			names[i] = quoteAccount(r)
		}
		out = append(out, "GRANT "+strings.Join(names, ",")+to)
	}
	return out, nil
}

// databasePrivileges and tablePrivileges are what ALL means on a database and
// on a table.
const (
	tablePrivileges = metadata.Select | metadata.Insert | metadata.Update | metadata.Delete | metadata.Create | metadata.Drop | metadata.References |
		metadata.Index | metadata.Alter | metadata.CreateView | metadata.ShowView | metadata.Trigger
	databasePrivileges = tablePrivileges | metadata.CreateTemporaryTables | metadata.LockTables | metadata.Execute | metadata.CreateRoutine |
		metadata.AlterRoutine | metadata.Event
)

func quoteName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

func quoteAccount(i metadata.Identity) string { return quoteName(i.User) + "@" + quoteName(i.Host) }

func sortedObjects(m map[metadata.Object]metadata.Privilege) []metadata.Object {
	var out []metadata.Object
	for o := range m {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b metadata.Object) int {
		return strings.Compare(a.Database+"\x00"+a.Table, b.Database+"\x00"+b.Table)
	})
	return out
}

// List implements metadata.Accounts.
func (s *Store) List() []metadata.AccountInfo {
	v := s.view.Load()
	out := make([]metadata.AccountInfo, 0, len(v.order))
	for _, a := range v.order {
		out = append(out, a.info)
	}
	slices.SortFunc(out, func(a, b metadata.AccountInfo) int { return compareIdentity(a.Identity, b.Identity) })
	return out
}

// encode writes a name so that the library's lower-casing keeps different names
// apart: characters that it would change become ^<code>;.
func encode(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r == '^' || unicode.ToLower(r) != r {
			fmt.Fprintf(&b, "^%x;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// decode is the inverse of encode.
func decode(name string) string {
	var b strings.Builder
	for name != "" {
		i := strings.IndexByte(name, '^')
		if i < 0 {
			b.WriteString(name)
			break
		}
		b.WriteString(name[:i])
		code, rest, ok := strings.Cut(name[i+1:], ";")
		n, err := strconv.ParseInt(code, 16, 32)
		if !ok || err != nil {
			b.WriteString(name[i:])
			break
		}
		b.WriteRune(rune(n))
		name = rest
	}
	return b.String()
}

// library maps privileges to the library's.
var library = map[metadata.Privilege]sql.PrivilegeType{
	metadata.Select: sql.PrivilegeType_Select, metadata.Insert: sql.PrivilegeType_Insert, metadata.Update: sql.PrivilegeType_Update,
	metadata.Delete: sql.PrivilegeType_Delete, metadata.Create: sql.PrivilegeType_Create, metadata.Drop: sql.PrivilegeType_Drop,
	metadata.Alter: sql.PrivilegeType_Alter, metadata.Index: sql.PrivilegeType_Index, metadata.References: sql.PrivilegeType_References,
	metadata.CreateView: sql.PrivilegeType_CreateView, metadata.ShowView: sql.PrivilegeType_ShowView,
	metadata.CreateRoutine: sql.PrivilegeType_CreateRoutine, metadata.AlterRoutine: sql.PrivilegeType_AlterRoutine,
	metadata.Execute: sql.PrivilegeType_Execute, metadata.Trigger: sql.PrivilegeType_Trigger, metadata.Event: sql.PrivilegeType_Event,
	metadata.CreateTemporaryTables: sql.PrivilegeType_CreateTempTable, metadata.LockTables: sql.PrivilegeType_LockTables,
	metadata.SeeDatabases: sql.PrivilegeType_ShowDB, metadata.CreateUser: sql.PrivilegeType_CreateUser,
	metadata.GrantOption: sql.PrivilegeType_GrantOption, metadata.Process: sql.PrivilegeType_Process, metadata.Reload: sql.PrivilegeType_Reload,
	metadata.Super: sql.PrivilegeType_Super, metadata.File: sql.PrivilegeType_File, metadata.Shutdown: sql.PrivilegeType_Shutdown,
	metadata.ReplicationClient: sql.PrivilegeType_ReplicationClient, metadata.ReplicationSlave: sql.PrivilegeType_ReplicationSlave,
	metadata.CreateRole: sql.PrivilegeType_CreateRole, metadata.DropRole: sql.PrivilegeType_DropRole,
	metadata.CreateTablespace: sql.PrivilegeType_CreateTablespace,
}

func toLibrary(p metadata.Privilege) (out []sql.PrivilegeType) {
	p.EachPrivilege(func(q metadata.Privilege) { out = append(out, library[q]) })
	return out
}

func fromLibrary(list []sql.PrivilegeType) (p metadata.Privilege) {
	for q, t := range library {
		if slices.Contains(list, t) {
			p |= q
		}
	}
	return p
}
