// Package expr holds typed expressions over batches with MySQL 8's semantics:
// the function registry, binding of syntax trees to the columns of a row,
// vectorized evaluation, aggregate kernels, and comparison, hashing and sort
// keys by type and collation.
//
// Invariants. An Expr is immutable and safe for concurrent use; everything
// that changes while a statement runs lives in a Context. Evaluation looks at
// the rows of a batch's selection only: other rows of the result are
// unspecified and never raise an error or a warning. A result may share memory
// with the batch, so it is valid as long as the batch.
//
// Start reading at Expr, then Bind (AST to Expr), Call (the registry) and
// Aggregate.
package expr

import (
	"strconv"

	"github.com/thermocline/thermocline/internal/vector"
)

// Traits say what an expression's value depends on.
type Traits uint8

const (
	// ReadsColumns: the value depends on the row.
	ReadsColumns Traits = 1 << iota
	// Volatile: every evaluation may differ (RAND, UUID, SLEEP) or has an
	// effect (@a := 1). It is neither folded, shared nor moved.
	Volatile
)

// Expr is a typed expression. Implementations outside this package are fine
// (subquery results, correlated values).
type Expr interface {
	// Type is the type of the value.
	Type() Type
	// Eval computes the value of every row of b that counts. The result has
	// b.Len rows, of the physical kind of Type, in any form.
	Eval(ctx *Context, b *vector.Batch) (*vector.Vec, error)
	// Children are the operands.
	Children() []Expr
	// With returns a copy with other operands of the same types.
	With(children []Expr) Expr
	// Traits of the expression, its operands' included.
	Traits() Traits
	// Key is the expression's identity: two expressions with one key compute
	// the same (unless Volatile).
	Key() string
	// String is the text as MySQL prints it in messages.
	String() string
}

// IsConst reports whether e has one value for all rows of a statement.
func IsConst(e Expr) bool { return e.Traits() == 0 }

// Walk calls f for e and, while f returns true, for what is below it.
func Walk(e Expr, f func(Expr) bool) {
	if !f(e) {
		return
	}
	for _, c := range e.Children() {
		Walk(c, f)
	}
}

// Transform rebuilds e bottom-up: f gets every node with its operands already
// transformed and returns its replacement, of the same type.
func Transform(e Expr, f func(Expr) Expr) Expr {
	kids := e.Children()
	var out []Expr
	for i, c := range kids {
		d := Transform(c, f)
		if d != c && out == nil {
			out = append([]Expr(nil), kids...)
		}
		if out != nil {
			out[i] = d
		}
	}
	if out != nil {
		e = e.With(out)
	}
	return f(e)
}

// ColumnsOf returns the positions of the columns that e reads, ascending,
// without duplicates.
func ColumnsOf(e Expr) []int {
	seen := map[int]bool{}
	most := -1
	Walk(e, func(x Expr) bool {
		if c, ok := x.(*ColumnExpr); ok {
			seen[c.Pos] = true
			most = max(most, c.Pos)
		}
		if s, ok := x.(*StoredExpr); ok {
			seen[s.Pos] = true
			most = max(most, s.Pos)
		}
		return true
	})
	var out []int
	for i := 0; i <= most; i++ {
		if seen[i] {
			out = append(out, i)
		}
	}
	return out
}

// Remap returns e with column positions replaced by to(position).
func Remap(e Expr, to func(int) int) Expr {
	return Transform(e, func(x Expr) Expr {
		switch c := x.(type) {
		case *ColumnExpr:
			d := *c
			d.Pos = to(c.Pos)
			return &d
		case *StoredExpr:
			d := *c
			d.Pos = to(c.Pos)
			return &d
		}
		return x
	})
}

// ColumnExpr is the value of a column of the batch, already in the physical
// kind of its type.
type ColumnExpr struct {
	Pos  int
	Name string // for messages: `t`.`c` or c
	typ  Type
}

// Column returns the column at a position of the batch.
func Column(pos int, t Type, name string) *ColumnExpr {
	return &ColumnExpr{Pos: pos, Name: name, typ: t}
}

// Type implements Expr.
func (c *ColumnExpr) Type() Type { return c.typ }

// Eval implements Expr.
func (c *ColumnExpr) Eval(_ *Context, b *vector.Batch) (*vector.Vec, error) {
	return b.Cols[c.Pos], nil
}

// Children implements Expr.
func (c *ColumnExpr) Children() []Expr { return nil }

// With implements Expr.
func (c *ColumnExpr) With([]Expr) Expr { return c }

// Traits implements Expr.
func (c *ColumnExpr) Traits() Traits { return ReadsColumns }

// Key implements Expr.
func (c *ColumnExpr) Key() string { return "#" + strconv.Itoa(c.Pos) }

func (c *ColumnExpr) String() string {
	if c.Name == "" {
		return c.Key()
	}
	return c.Name
}

// LiteralExpr is a constant.
type LiteralExpr struct {
	Val  Value
	text string // as written, "" for computed ones
	// folded is the expression that was folded into the constant.
	folded Expr
	// hex: x'4D' or b'1', a number in numeric context; bits: the latter.
	hex, bits bool
	// parameter is the placeholder that it stands for while a statement is prepared.
	parameter *Parameter
}

// Literal returns a constant.
func Literal(v Value) *LiteralExpr { return &LiteralExpr{Val: v} }

// Type implements Expr.
func (l *LiteralExpr) Type() Type { return l.Val.Type }

// Eval implements Expr.
func (l *LiteralExpr) Eval(_ *Context, b *vector.Batch) (*vector.Vec, error) {
	v := *l.Val.Vec
	return v.AsConst(b.Len), nil
}

// Children implements Expr.
func (l *LiteralExpr) Children() []Expr { return nil }

// With implements Expr.
func (l *LiteralExpr) With([]Expr) Expr { return l }

// Traits implements Expr.
func (l *LiteralExpr) Traits() Traits { return 0 }

// Key implements Expr.
func (l *LiteralExpr) Key() string { return l.Val.Type.key() + ":" + l.Val.literal() }

func (l *LiteralExpr) String() string {
	switch {
	case l.text != "":
		return l.text
	case l.folded != nil:
		return l.folded.String()
	}
	return l.Val.literal()
}
