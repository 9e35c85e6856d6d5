// Package catalog names things: databases, tables, their schemas and types, and
// references into their history. Implementations live below it
// (catalog/filesystem, …) and are wired by cmd; this package imports none.
//
// Invariants: a Schema or Table never changes after it was returned; the
// table's state is resolved by whoever asks for a version of it
// (connector.Readable), once per statement (DESIGN D9).
//
// Start reading at Catalog, then Type and Schema.
package catalog

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Catalog is a set of databases. Implementations are safe for concurrent use.
//
// Errors: errs.UnknownDatabase, UnknownTable, DatabaseExists, TableExists,
// DatabaseNotEmpty.
type Catalog interface {
	// Databases returns the names, sorted.
	Databases(ctx context.Context) ([]string, error)
	// Tables returns the names of a database's tables, sorted, without system
	// tables and branches.
	Tables(ctx context.Context, database string) ([]string, error)
	// Table opens a table, branch or system table at its newest schema.
	Table(ctx context.Context, id Identifier) (Table, error)
}

// Writable is a catalog that can be changed.
type Writable interface {
	Catalog
	// CreateDatabase makes a database. With ifNotExists an existing one is fine.
	CreateDatabase(ctx context.Context, database string, ifNotExists bool) error
	// DropDatabase removes a database; one with tables only when cascade.
	DropDatabase(ctx context.Context, database string, cascade bool) error
	// CreateTable makes a table from s, which needs Fields (ids are assigned
	// where all are 0), keys, Options and Comment. It returns the new table, or
	// the existing one with ifNotExists.
	CreateTable(ctx context.Context, id Identifier, s *Schema, ifNotExists bool) (Table, error)
	// DropTable removes a table and its files.
	DropTable(ctx context.Context, id Identifier) error
}

// Table is an opened table. Packages of the SPI (connector) extend it by what
// can be done with it: connector.Readable, connector.Writable.
type Table interface {
	ID() Identifier
	// Schema is the newest schema when the table was opened.
	Schema() *Schema
	// UUID tells this table from another of the same name made later.
	UUID() string
}

// MySQLTypeOption is the table option that keeps MySQL's type of a column.
func MySQLTypeOption(fieldID int) string { return "mysql.type." + strconv.Itoa(fieldID) }

// RefKind says how a Ref names a version.
type RefKind uint8

// The ways to name a version of a table.
const (
	Latest      RefKind = iota
	BySnapshot          // ID
	ByTag               // Name
	ByTimestamp         // Time: the newest snapshot at or before it
	ByVersion           // Name: a tag of that name, else a snapshot id (FOR VERSION AS OF)
	ByOptions           // Options: a version, or the changes between two
)

// Ref names what is read of a table: a version, or changes. The zero Ref is the
// newest version, or what the table's own options say. A Ref is not changed
// after it was made.
type Ref struct {
	Kind RefKind
	ID   int64
	Name string
	Time time.Time
	// Options are put over the table's own, as in Flink's table hint. Keys and
	// values are the table format's.
	Options map[string]string
	// Zone is where texts of times are read, and where times that are instants
	// are shown in columns without zone. nil is the connector's choice.
	Zone *time.Location
}

// String returns the reference as messages show it.
func (r Ref) String() string {
	switch r.Kind {
	case BySnapshot:
		return "snapshot " + strconv.FormatInt(r.ID, 10)
	case ByTag:
		return "tag " + r.Name
	case ByTimestamp:
		return "timestamp " + r.Time.UTC().Format("2006-01-02 15:04:05.000 UTC")
	case ByVersion:
		return "version " + r.Name
	case ByOptions:
		var b strings.Builder
		b.WriteString("options")
		for i, k := range slices.Sorted(maps.Keys(r.Options)) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(" " + strconv.Quote(k) + "=" + strconv.Quote(r.Options[k]))
		}
		return b.String()
	}
	return "the newest snapshot"
}
