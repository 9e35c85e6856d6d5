package expr

import (
	"github.com/thermocline/thermocline/internal/vector"
)

// TableFunction gives rows for one row of arguments: JSON_TABLE, UNNEST. It is
// immutable and safe for concurrent use.
type TableFunction interface {
	// Types are those of its columns.
	Types() []Type
	// Args are the arguments, with implicit casts, as Append wants their vectors.
	Args() []Expr
	// Append appends the rows for row i of the arguments to out, a vector a
	// column, and returns their number.
	Append(ctx *Context, args []*vector.Vec, i int, out []*vector.Vec) (int, error)
	// String is its text for EXPLAIN.
	String() string
}
