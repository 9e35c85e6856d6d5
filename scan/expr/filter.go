package expr

import "github.com/thermocline/thermocline/internal/vector"

// Filter returns the rows of b for which cond, which Condition made, is TRUE,
// as ascending positions: a selection for b. It appends to dst[:0], which must
// not be b.Sel.
func Filter(ctx *Context, cond Expr, b *vector.Batch, dst []uint16) ([]uint16, error) {
	return filter(ctx, cond, b, dst[:0])
}
