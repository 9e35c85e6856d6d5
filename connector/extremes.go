package connector

import (
	"context"

	"github.com/thermocline/thermocline/internal/vector"
)

// Extremes are the smallest and the largest value of a column, in its physical kind
// and in the order of vector.Compare.
type Extremes struct {
	// Values has two rows, the least and the most; both NULL when there are no values.
	Values *vector.Vec
}

// Extremal is a Snapshot whose metadata may tell the extremes of columns.
type Extremal interface {
	Snapshot
	// Extremes returns those of columns (positions in the schema), nil when the
	// metadata does not tell one of them exactly.
	Extremes(ctx context.Context, columns []int) ([]Extremes, error)
}
