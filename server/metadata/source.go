package metadata

import (
	"context"
	"time"

	"github.com/thermocline/thermocline/catalog"
)

// Source is what virtual tables and SHOW read: the state of the server as one
// session may see it. server/session implements it. It is used by one statement
// at a time.
type Source interface {
	// Databases returns the visible databases, sorted: those of the current
	// catalog, the virtual ones, and other catalogs' as "catalog.database".
	Databases(ctx context.Context) ([]string, error)
	// Tables returns the visible tables and views of a database, sorted; Views
	// the views among them.
	Tables(ctx context.Context, database string) ([]string, error)
	Views(ctx context.Context, database string) ([]string, error)
	// Table opens a visible table, or describes a view (*View). A table that was
	// dropped meanwhile gives errs.UnknownTable.
	Table(ctx context.Context, database, table string) (catalog.Table, error)
	// LakeDatabases returns the visible databases of a catalog that are not
	// virtual, sorted; "" is the current catalog.
	LakeDatabases(ctx context.Context, catalog string) ([]LakeDatabase, error)
	// CatalogOptions returns what a catalog was opened with, without secrets.
	CatalogOptions(ctx context.Context, catalog string) ([]NameValue, error)
	// Variables returns the values of all system variables of a scope, as SHOW
	// VARIABLES prints them.
	Variables(scope VariableScope) []NameValue
	// Status returns the status counters.
	Status(scope VariableScope) []NameValue
	// Processes returns the sessions that this one may see, by id.
	Processes() []ProcessInfo
	// Accounts returns who may log in; Who is the session's account.
	Accounts() Accounts
	Who() Account
	// Allowed reports whether the session's account has a right on an object
	// whose database is named as Databases names it.
	Allowed(p Privilege, database, table string) bool
	// Warn records that something could not be shown.
	Warn(err error)
}

// LakeDatabase is a database of a catalog.
type LakeDatabase struct {
	Name string // in its catalog
	Key  string // as the other methods of Source take it
}

// NameValue is a line of SHOW VARIABLES or SHOW STATUS.
type NameValue struct{ Name, Value string }

// ProcessInfo is a line of SHOW PROCESSLIST.
type ProcessInfo struct {
	ID       uint32
	User     string
	Host     string
	Database string
	Command  string
	State    string
	Info     string // the statement, "" when idle
	Since    time.Time
	Seconds  int64 // in this state
	Attrs    map[string]string
}
