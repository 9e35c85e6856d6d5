package expr

import (
	"fmt"

	"github.com/thermocline/thermocline/internal/vector"
)

// failed is a value that could not be computed. It fails where a row needs it.
type failed struct {
	typ Type
	err error
}

// Failed returns an expression of type t that fails with err for any batch that has
// rows: what a subquery stands for that has failed, as MySQL runs it when it first
// needs its value.
func Failed(t Type, err error) Expr { return &failed{t, err} }

func (f *failed) Type() Type       { return f.typ }
func (f *failed) Children() []Expr { return nil }
func (f *failed) With([]Expr) Expr { return f }

// Traits says that the value is not one to compute ahead.
func (f *failed) Traits() Traits { return Volatile }
func (f *failed) Key() string    { return fmt.Sprintf("failed<%p>", f) }
func (f *failed) String() string { return "(subquery)" }

// Eval implements Expr.
func (f *failed) Eval(_ *Context, b *vector.Batch) (*vector.Vec, error) {
	if b.Rows() == 0 {
		return vector.NewNull(f.typ.Physical(), b.Len), nil
	}
	return nil, f.err
}
