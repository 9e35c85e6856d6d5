// Package plan turns a syntax tree into a plan: it resolves names against the
// catalogs, pins one snapshot a table, binds and types every expression, and
// rewrites the tree of operators until it is good to execute. Package exec runs
// what comes out.
//
// Invariants. A plan is immutable; rules return new nodes. Columns are named by
// ids that are unique in a query (ColID), never by offsets: in the expressions
// of a plan, the position of an expr.ColumnExpr is a ColID. A node's conditions
// refer to columns of its inputs only, once the plan is optimized: correlation
// has been turned into joins. What cannot be planned exactly is refused by name
// and position.
//
// The nodes carry MySQL's semantics in their expressions, not in themselves, so
// a second dialect needs another binder and no other nodes.
//
// Start reading at Bind, then Node and Optimize.
package plan

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/scan/expr"
)

// ColID names a column within a query.
type ColID = int

// Column describes a column of a plan.
type Column struct {
	ID   ColID
	Name string
	Type expr.Type

	// Of the stored column that it shows unchanged; "" for expressions.
	Database string
	Table    string // alias of the table in the query
	OrgTable string
	OrgName  string
	Key      bool // part of the primary key

	// Stored is the lake's type of a result column that shows a stored column,
	// when the statement was bound Lossless: its vectors are as they are stored.
	// nil: the column has its SQL form.
	Stored *catalog.Type
	// Texts: a decimal result column whose vectors are the texts of its values, which
	// have their own numbers of fraction digits (Env.OwnDigits).
	Texts bool

	field *catalog.Field // of a stored column: it has the default
}

// Query is a bound, optimized statement that yields rows.
type Query struct {
	Root Node
	// Columns are the result's columns, in order.
	Columns []Column
	// Subplans are uncorrelated scalar subqueries. Exec runs those that are
	// needed before what needs them and replaces SubqueryExpr by what they gave.
	Subplans []*Subplan
	// Shared are the parts that are run once and read in several places.
	Shared []*Shared
	// Tables are the tables read, each with the snapshot it is pinned to.
	Tables []TableUse
	// Cols are all columns of the plan by id.
	Cols []Column
	// Stream, of a continuous read, gives the versions that Streamed, the one
	// table of the plan, is read at one after the other. Whoever has the query
	// closes it.
	Stream   connector.Stream
	Streamed *TableUse
	// Count and Offset are the LIMIT of a continuous read, which holds for all
	// versions together; Count -1 is none.
	Count, Offset int64
}

// TableUse is a table that a statement reads.
type TableUse struct {
	Catalog  string
	Table    catalog.Table
	Snapshot connector.Snapshot
	Ref      catalog.Ref
}

// Subplan is a subquery that gives one value.
type Subplan struct {
	Plan Node
	Col  ColID
	Type expr.Type
	Pos  int // in the statement, for messages

	optimized bool
}

// Env is what a statement is bound in. It is used by one statement.
type Env struct {
	// Catalogs resolves names. Required.
	Catalogs Catalogs
	// Expr has the session's settings and the time of the statement. Required.
	Expr *expr.Context
	// Params are the values of the placeholders. While a statement is being
	// prepared there are none: Preparing is set, a placeholder is a NULL, and
	// Parameters gets the types that are expected of them, where it has a place for
	// each.
	Params     []expr.Value
	Preparing  bool
	Parameters []expr.Parameter
	// Continuous makes reading a table that can be followed a continuous read,
	// unless the statement says otherwise.
	Continuous bool
	// Authorize, when set, is called with each table before it is opened.
	Authorize func(ctx context.Context, catalogName string, id catalog.Identifier) error
	// AuthorizeAs gives the Authorize of another account: the definer of a view.
	AuthorizeAs func(definer string) (func(ctx context.Context, catalogName string, id catalog.Identifier) error, error)
	// AuthorizeChange, when set, is called with each table that the statement
	// changes before it is opened.
	AuthorizeChange func(ctx context.Context, catalogName string, id catalog.Identifier, a Access) error
	// Change starts a change of rows that have no primary key. Without it such
	// statements are planned only (PREPARE, EXPLAIN). Who gets the plan closes it.
	Change func(ctx context.Context, t connector.RowChanger, base connector.Snapshot) (connector.RowChange, error)
	// FlinkTypes makes ALTER TABLE read types as Flink spells them
	// (lake_ddl_dialect = flink).
	FlinkTypes bool
	// StrictInsert makes INSERT of a key that is there an error (lake_insert).
	StrictInsert bool
	// Temporaries returns the catalog that the session's temporary tables beside
	// those of n are made in, with n's database; nil: there are none here.
	Temporaries func(ctx context.Context, n Name) (catalog.Writable, error)
	// Files opens files as tables (read_parquet and its like); nil: there are none
	// here.
	Files FileTables
	// Pin, when set, is called once for each snapshot that the statement reads.
	Pin func(TableUse)
	// Pinned, when set, may answer which snapshot a table is read at when the
	// statement does not say so (a consistent-snapshot transaction).
	Pinned func(catalogName string, t catalog.Table) (connector.Snapshot, bool)
	// Lossless makes result columns that show stored columns come as they are
	// stored, where SQL's form would lose something (Column.Stored).
	Lossless bool
	// OwnDigits makes decimals of a result come as texts where a value has the fraction
	// digits of the branch of CASE or IF that it comes from: for who shows them.
	OwnDigits bool
	// NoSharing plans equal parts of a query for each place that reads them, where
	// that gives the same rows (lake_sharing = OFF).
	NoSharing bool
	// EagerAlways groups below joins wherever that gives the same rows, whatever
	// estimates say of its cost: for tests.
	EagerAlways bool
}

// FileTables opens files as tables. Implementations are safe for concurrent use.
type FileTables interface {
	// FileTable opens the files that a pattern names, with the options of the
	// table function, which have lower-case names. format is parquet, orc, avro,
	// csv or json.
	FileTable(ctx context.Context, format, pattern string, options map[string]string) (connector.Readable, error)
}

// Catalogs is the set of catalogs that a session sees. Implementations are safe
// for concurrent use.
type Catalogs interface {
	// Current returns the catalog and the database of unqualified names; the
	// database is "" when none is selected.
	Current() (catalogName, database string)
	// Catalog returns a catalog by its exact name.
	Catalog(name string) (catalog.Catalog, bool)
	// Virtual returns the catalog that answers for a database which every
	// catalog has, such as information_schema, of any case.
	Virtual(database string) (catalog.Catalog, bool)
	// Temporary returns a session's temporary table.
	Temporary(database, table string) (catalog.Table, bool)
}
