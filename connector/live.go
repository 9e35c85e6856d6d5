package connector

import (
	"context"

	"github.com/thermocline/thermocline/internal/memory"
)

// Live reads (DESIGN D10): the rows that a writer of this process has taken and
// not committed are read as if they were one more sorted run on top of the
// snapshot that they follow. Package live hands both out together.

// HeldRows are rows that a Holding writer has taken, with their places. They are
// immutable and safe for concurrent use; their memory is reserved until the last
// holder has released them.
type HeldRows interface {
	// Rows is the number of changes, Bytes the memory that they take.
	Rows() int64
	Bytes() int64
	// Retain adds a holder, Release takes one away.
	Retain()
	Release()
}

// Holding is a TableWrite that can keep copies of the rows it takes, in the
// places that it gives them, for reads before they are committed.
type Holding interface {
	TableWrite
	// Hold makes the writer keep copies of all rows that it takes from now on, or
	// no longer. budget pays for them: where it is full, rows are not held until
	// Forget.
	Hold(on bool, budget *memory.Budget)
	// Held returns the rows taken since Hold or the last Forget, retained for the
	// caller; nil when there are none. ok is false when not all of them are held.
	Held() (rows HeldRows, ok bool)
	// Forget lets go of them: they are committed.
	Forget()
}

// LiveRows are what a pipeline has of a table at one position of its source: the
// rows of a snapshot and changes after it.
type LiveRows struct {
	// Base is the snapshot; it need not be the newest.
	Base int64
	// Schema is the id of the schema that the table is read under, while the
	// pipeline changes it; negative: the newest, as in reads of what is committed.
	Schema int64
	// Rows are changes after Base; nil: there are none. Who passes them keeps them
	// retained while the snapshot is read.
	Rows HeldRows
	// Position of the source, for people.
	Position string
}

// LiveReadable is a table that can be read with rows that are not committed.
type LiveReadable interface {
	Readable
	// Live returns the snapshot that l describes. Errors of class Unsupported name
	// what keeps the table from being read that way. Where the table's own options
	// name a version to be read it is that one, as in Snapshot, and no LiveSnapshot.
	Live(ctx context.Context, l LiveRows) (Snapshot, error)
}

// LiveSnapshot is a Snapshot that LiveReadable.Live made.
type LiveSnapshot interface {
	Snapshot
	// LivePosition is the position of the source that the rows are of; "" when it
	// is a snapshot as any other.
	LivePosition() string
}

// LivePosition returns the position of the source that a live snapshot is of, ""
// for any other.
func LivePosition(s Snapshot) string {
	if l, ok := s.(LiveSnapshot); ok {
		return l.LivePosition()
	}
	return ""
}
