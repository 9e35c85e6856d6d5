package catalog

import "context"

// SchemaChangeKind says what a SchemaChange does.
type SchemaChangeKind uint8

// The changes, Paimon's SchemaChange.
const (
	SetOption         SchemaChangeKind = iota + 1 // Name, Value
	RemoveOption                                  // Name
	SetTableComment                               // Value; nil removes it
	AddColumn                                     // Path, Type, MySQLType, Value is the comment, Position
	RenameColumn                                  // Path, Name
	DropColumn                                    // Path
	SetColumnType                                 // Path, Type, MySQLType, KeepNullability
	SetColumnNullable                             // Path, Nullable
	SetColumnComment                              // Path, Value; nil removes it
	SetColumnDefault                              // Path, Value; nil removes it
	SetColumnPosition                             // Path, Position
)

// SchemaChange is one step of an ALTER TABLE. Steps of one ALTER are applied in
// order to one new schema, all or none.
type SchemaChange struct {
	Kind SchemaChangeKind
	// Path names the column, from the outermost field inwards for a nested one.
	// "element", "key" and "value" step into arrays and maps.
	Path  []string
	Name  string
	Value *string
	Type  Type
	// MySQLType is what MySQL knows of a column beyond Type, kept as the option
	// mysql.type.<field id> (DESIGN D15), which only the catalog can name; "" is
	// nothing. SetColumnType replaces it, DropColumn removes it. Only columns of
	// the table have one, members of a ROW do not.
	MySQLType string
	Nullable  bool
	// KeepNullability keeps the column's own at SetColumnType.
	KeepNullability bool
	// Position of a new or moved column. nil at AddColumn is the table's default:
	// last, or before the partition columns where add-column-before-partition is
	// set.
	Position *ColumnPosition
}

// ColumnPosition is where a column goes among its siblings.
type ColumnPosition struct {
	First bool
	Last  bool
	// After and Before name a sibling; one of them is set unless First or Last.
	After, Before string
}

// Altering is a catalog whose tables can be changed.
//
// Errors besides Writable's: errs.UnknownColumn, DuplicateColumn, InvalidTable
// for what would not be a table any more, and ForbiddenChange for what Paimon
// forbids, such as dropping a key column.
type Altering interface {
	Writable
	// AlterTable applies changes to the newest schema of a table or branch. A
	// concurrent change is applied before ours: it is read and ours is tried
	// again on it.
	AlterTable(ctx context.Context, id Identifier, changes []SchemaChange) error
	// RenameTable gives a table another name in the same catalog.
	RenameTable(ctx context.Context, from, to Identifier) error
}
