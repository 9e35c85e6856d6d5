package plan

import (
	"fmt"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// SubqueryExpr stands for the value of Subplans[Index] of the query. Exec
// replaces it by a literal before anything is evaluated.
type SubqueryExpr struct {
	Index int
	typ   expr.Type
}

// Type implements expr.Expr.
func (s *SubqueryExpr) Type() expr.Type { return s.typ }

// Eval implements expr.Expr.
func (s *SubqueryExpr) Eval(*expr.Context, *vector.Batch) (*vector.Vec, error) {
	return nil, errs.Internalf("evaluate subquery %d: it has not run", s.Index)
}

// Children implements expr.Expr.
func (s *SubqueryExpr) Children() []expr.Expr { return nil }

// With implements expr.Expr.
func (s *SubqueryExpr) With([]expr.Expr) expr.Expr { return s }

// Traits implements expr.Expr. The value is constant, but not known before the
// statement runs, so that nothing may be folded.
func (s *SubqueryExpr) Traits() expr.Traits { return expr.ReadsColumns }

// Key implements expr.Expr.
func (s *SubqueryExpr) Key() string { return fmt.Sprintf("subquery#%d", s.Index) }

func (s *SubqueryExpr) String() string { return fmt.Sprintf("(subquery %d)", s.Index+1) }
