package source

import (
	"context"

	"github.com/thermocline/thermocline/internal/errs"
)

// Key is a place among the rows of a table in the order of its key: one text a
// key column, which only the source reads. nil is before all rows as a lower
// bound, after all as an upper one.
type Key []string

// Chunk is a part of a table: the rows whose key is above After and not above
// UpTo, as the source orders keys.
type Chunk struct {
	After Key `json:"after,omitempty"`
	UpTo  Key `json:"upTo,omitempty"`
}

// Chunked is a Source that reads tables in parts by their primary key, while a
// stream of the source runs. Each part is read as it is at some moment after the
// call began, so that together with all changes since an earlier position the
// rows are complete. Its methods are safe for concurrent use.
//
// Errors besides Source's: ErrAltered when the table has another definition now
// than the one that is asked for.
type Chunked interface {
	Source
	// Bound returns the key of the rows-th row after a key, nil when the table has
	// no so many rows there: the chunk up to the end is the last.
	Bound(ctx context.Context, t *Table, after Key, rows int) (Key, error)
	// ReadChunk reads the rows of a chunk by the definition t.
	ReadChunk(ctx context.Context, t *Table, c Chunk) (Rows, error)
}

// ErrAltered says that a table's definition is not what it was: the stream will
// say what happened.
var ErrAltered = errs.New(errs.Unavailable, errs.KindNone, "read tables: they were altered meanwhile")
