package connector

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/vector"
)

// RowChanger is a table whose rows UPDATE, DELETE and MERGE change where they
// lie, because it has no primary key by which a new row could replace them.
// Tables with a primary key do not need it: rows of kind -D and +U say it all.
type RowChanger interface {
	Writable
	// NewRowChange starts a change of the rows of base, a snapshot of this table.
	NewRowChange(ctx context.Context, base Snapshot, opts WriteOptions) (RowChange, error)
}

// RowChange deletes rows of a snapshot by their addresses and adds new ones,
// as one atomic change. It belongs to one goroutine. Its messages go into a
// Committable whose ReadVersion is the snapshot's.
type RowChange interface {
	// Rows is the snapshot with one more, last column, AddressColumn: an opaque
	// BIGINT that tells the rows apart, valid for this RowChange.
	Rows() Snapshot
	// Delete removes the rows with the given addresses, at the positions sel of
	// the I64 vector (nil: all). Each address may be given once only:
	// errs.Internal otherwise.
	Delete(ctx context.Context, addresses *vector.Vec, sel []uint16) error
	// TableWrite adds rows.
	TableWrite
}

// AddressColumn is the name of the column that RowChange.Rows adds.
const AddressColumn = "_ROW_ADDRESS"

// Procedure is what CALL sys.<name>(…) runs.
type Procedure struct {
	// Name in lower case, such as "create_tag".
	Name   string
	Params []Parameter
	// Columns of the result.
	Columns []catalog.Field
	// Call runs it. args has the given, non-NULL arguments by parameter name, as
	// text in the form that a cast to the parameter's type reads; the required
	// ones are there. The result has Columns.
	Call func(ctx context.Context, args map[string]string) (*vector.Batch, error)
}

// Parameter is a parameter of a Procedure.
type Parameter struct {
	Name     string
	Type     catalog.Type
	Required bool
}

// Procedural is a catalog that has procedures. Databases in their arguments are
// the catalog's own ("db.t").
type Procedural interface {
	// Procedures returns them all, sorted by name.
	Procedures() []Procedure
}
