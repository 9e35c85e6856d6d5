package connector

import (
	"context"

	"github.com/thermocline/thermocline/internal/vector"
)

// Statistics are what is known of the rows of a version of a table as a whole.
// They are for choosing plans: the table may have changed since, and counts of
// different values may be estimates.
type Statistics struct {
	// Version is the snapshot that they were made from, SchemaID its schema.
	Version, SchemaID int64
	// Rows and Bytes are the rows and the stored bytes they take, -1: unknown.
	Rows, Bytes int64
	// Columns are by field id.
	Columns map[int]ColumnStatistics
}

// ColumnStatistics are about the values of one column. Counts are -1 when they
// are unknown.
type ColumnStatistics struct {
	// Distinct is the number of different values without NULL, Nulls that of NULLs.
	Distinct, Nulls int64
	// Min and Max have one row in the column's physical kind; nil: unknown, or the
	// column has no values.
	Min, Max *vector.Vec
	// AvgLen and MaxLen are bytes of a value.
	AvgLen, MaxLen int64
}

// Described is a Snapshot that may know statistics.
type Described interface {
	Snapshot
	// Statistics returns what is known, nil for nothing. The caller must not change
	// it.
	Statistics(ctx context.Context) (*Statistics, error)
}

// Describing is a table that keeps statistics beside its versions.
type Describing interface {
	Writable
	// Describe stores statistics as a version of its own, in which nothing else
	// changes. Errors: Conflict when the table has got another schema since.
	Describe(ctx context.Context, user string, s *Statistics) (CommitResult, error)
}
