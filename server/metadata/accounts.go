package metadata

import (
	"context"
	"strings"

	"github.com/thermocline/thermocline/internal/syntax"
)

// Privilege is a right that an account may have, one bit each.
type Privilege uint64

// The privileges, MySQL's static ones.
const (
	Select Privilege = 1 << iota
	Insert
	Update
	Delete
	Create
	Drop
	Alter
	Index
	References
	CreateView
	ShowView
	CreateRoutine
	AlterRoutine
	Execute
	Trigger
	Event
	CreateTemporaryTables
	LockTables
	SeeDatabases // SHOW DATABASES
	CreateUser
	GrantOption
	Process
	Reload
	Super
	File
	Shutdown
	ReplicationClient
	ReplicationSlave
	CreateRole
	DropRole
	CreateTablespace

	// AllPrivileges is every right but GrantOption.
	AllPrivileges = CreateTablespace<<1 - 1 - GrantOption
)

// privilegeNames are MySQL's spellings in the order in which SHOW GRANTS
// prints them.
var privilegeNames = []struct {
	p    Privilege
	name string
}{
	{Select, "SELECT"}, {Insert, "INSERT"}, {Update, "UPDATE"}, {Delete, "DELETE"}, {Create, "CREATE"}, {Drop, "DROP"},
	{Reload, "RELOAD"}, {Shutdown, "SHUTDOWN"}, {Process, "PROCESS"}, {File, "FILE"}, {References, "REFERENCES"},
	{Index, "INDEX"}, {Alter, "ALTER"}, {SeeDatabases, "SHOW DATABASES"}, {Super, "SUPER"},
	{CreateTemporaryTables, "CREATE TEMPORARY TABLES"}, {LockTables, "LOCK TABLES"}, {Execute, "EXECUTE"},
	{ReplicationSlave, "REPLICATION SLAVE"}, {ReplicationClient, "REPLICATION CLIENT"}, {CreateView, "CREATE VIEW"},
	{ShowView, "SHOW VIEW"}, {CreateRoutine, "CREATE ROUTINE"}, {AlterRoutine, "ALTER ROUTINE"}, {CreateUser, "CREATE USER"},
	{Event, "EVENT"}, {Trigger, "TRIGGER"}, {CreateTablespace, "CREATE TABLESPACE"}, {CreateRole, "CREATE ROLE"}, {DropRole, "DROP ROLE"},
	{GrantOption, "GRANT OPTION"},
}

// PrivilegeNamed returns the privilege of a name in MySQL's spelling, in any
// case.
func PrivilegeNamed(name string) (Privilege, bool) {
	for _, n := range privilegeNames {
		if strings.EqualFold(n.name, name) {
			return n.p, true
		}
	}
	return 0, false
}

// EachPrivilege calls f for every privilege in p.
func (p Privilege) EachPrivilege(f func(Privilege)) {
	for _, n := range privilegeNames {
		if p&n.p != 0 {
			f(n.p)
		}
	}
}

// String lists the privileges in MySQL's spelling, separated by ", ".
func (p Privilege) String() string {
	var out []string
	for _, n := range privilegeNames {
		if p&n.p != 0 {
			out = append(out, n.name)
		}
	}
	return strings.Join(out, ", ")
}

// Identity names an account: the user and the host pattern of the account
// itself ("%", "localhost", "10.0.0.7"), not of the connection.
type Identity struct {
	User, Host string
}

// String returns user@host.
func (i Identity) String() string { return i.User + "@" + i.Host }

// Account is an account as the login needs it.
type Account struct {
	Identity
	// Plugin is mysql_native_password or caching_sha2_password.
	Plugin string
	// Hash is the stored authentication string, in MySQL's form: "*<40 hex>"
	// for native, "$A$005$…" for sha2; empty: no password.
	Hash   string
	Locked bool
	// Loopback restricts the account to connections from this machine.
	Loopback bool
	// Super accounts have every right.
	Super bool
}

// Object is what a privilege is on: everything (all empty), a database
// (DESIGN D14: of a catalog), or a table.
type Object struct {
	Catalog  string // "" is the default catalog
	Database string
	Table    string
}

// Accounts knows who may log in and who may do what. Implementations are safe
// for concurrent use.
type Accounts interface {
	// Lookup finds the account that a login of user from a host (address
	// without port, or "localhost" for a socket) belongs to.
	Lookup(user, host string) (Account, bool)
	// Allowed reports whether the account has all of p on the object.
	Allowed(who Identity, p Privilege, on Object) bool
	// Visible reports whether the account has any right on the object or
	// something in it, so that SHOW lists it.
	Visible(who Identity, on Object) bool
	// Grants returns the account's GRANT statements, without terminators, as
	// SHOW GRANTS prints them.
	Grants(who Identity) ([]string, error)
	// List returns all accounts, sorted.
	List() []AccountInfo
	// Execute applies a statement about accounts, and persists the outcome
	// before it returns.
	Execute(ctx context.Context, c Change) error
}

// Change is a statement about accounts: CREATE USER, ALTER USER, DROP USER,
// RENAME USER, CREATE ROLE, DROP ROLE, SET PASSWORD, GRANT or REVOKE.
type Change struct {
	// Who changes; nobody can give rights that he has not.
	Who Account
	// Database is the current database, for GRANT … ON *.
	Database string
	// DefaultCatalog is the name of the catalog whose databases have no
	// catalog in grants.
	DefaultCatalog string
	Statement      syntax.Statement
}

// AccountInfo is an account as mysql.user and information_schema show it.
type AccountInfo struct {
	Account
	Global Privilege
	// Databases and Tables hold the rights below the global ones.
	Databases map[Object]Privilege
	Tables    map[Object]Privilege
	Role      bool
}
