package catalog

import "context"

// SchemaChangeKind says what a SchemaChange does.
type SchemaChangeKind uint8

// The changes, Paimon's SchemaChange.
const (
	SetOption         SchemaChangeKind = iota + 1 // Name, Value
	RemoveOption                                  // Name
	SetTableComment                               // Value; nil removes it
	AddColumn                                     // Path, Type, Value is the comment, Position
	RenameColumn                                  // Path, Name
	DropColumn                                    // Path
	SetColumnType                                 // Path, Type, KeepNullability
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
	Path     []string
	Name     string
	Value    *string
	Type     Type
	Nullable bool
	// KeepNullability keeps the column's own at SetColumnType.
	KeepNullability bool
	Position        *ColumnPosition // nil: last, or unchanged
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
// Errors besides Writable's: errs.UnknownColumn, DuplicateColumn, and
// Unsupported for a change that Paimon forbids, such as dropping a key column.
type Altering interface {
	Writable
	// AlterTable applies changes to the newest schema of a table or branch. A
	// concurrent change is applied before ours: it is read and ours is tried
	// again on it.
	AlterTable(ctx context.Context, id Identifier, changes []SchemaChange) error
	// RenameTable gives a table another name in the same catalog.
	RenameTable(ctx context.Context, from, to Identifier) error
}
