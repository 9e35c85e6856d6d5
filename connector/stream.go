package connector

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
)

// Followable is a table whose changes can be read as they are committed.
type Followable interface {
	Readable
	// Follow starts a continuous read of what ref says. Nothing runs in the
	// background: the stream works while it is asked for something.
	Follow(ctx context.Context, ref catalog.Ref) (Stream, error)
}

// Stream is the rows of a table from some point on, in rounds: what the table
// holds when the read starts, unless only changes are asked for, then the changes
// of one snapshot after the other. It belongs to one goroutine.
type Stream interface {
	// Empty is a version without rows that has the schema of all rounds. Its
	// first column, OpColumn, tells what became of the row: "+I", "-U", "+U" or
	// "-D".
	Empty() Snapshot
	// Next waits for the next round and returns it; nil, nil when the stream has
	// an end and it is reached. The call says that the rows of the round before
	// have reached whoever asked for them, so that the progress of a named
	// consumer may be stored. Errors: errs.UnknownSnapshot when the changes that
	// would come next have expired.
	Next(ctx context.Context) (Snapshot, error)
	// Close gives up what the stream holds, such as the name of its consumer.
	// The rows of the last round do not count as delivered.
	Close() error
}

// OpColumn is the name of a stream's first column.
const OpColumn = "op"
