package expr

import (
	"github.com/thermocline/thermocline/internal/vector"
)

// filteredAggregate is an aggregate with FILTER (WHERE cond): it sees the rows
// for which the condition, its last argument, is TRUE.
type filteredAggregate struct {
	Aggregate
	cond Expr
}

// newFiltered makes the aggregate of s with its filter. The arguments are not
// evaluated for rows that the filter leaves out, so that they raise nothing.
func newFiltered(ctx *Context, def aggregateDef, s AggregateSpec) (Aggregate, error) {
	cond, err := condition(ctx, s.Filter)
	if err != nil {
		return nil, err
	}
	s.Filter = nil
	s.Args, s.Order = append([]Expr(nil), s.Args...), append([]OrderItem(nil), s.Order...)
	for i := range s.Args {
		s.Args[i] = guard(cond, s.Args[i])
	}
	for i := range s.Order {
		s.Order[i].Expr = guard(cond, s.Order[i].Expr)
	}
	a, err := def(ctx, s)
	if err != nil {
		return nil, err
	}
	return &filteredAggregate{Aggregate: a, cond: cond}, nil
}

// Args implements Aggregate.
func (a *filteredAggregate) Args() []Expr {
	in := a.Aggregate.Args()
	return append(in[:len(in):len(in)], a.cond)
}

// Key implements Aggregate.
func (a *filteredAggregate) Key() string { return a.Aggregate.Key() + " filter " + a.cond.Key() }

func (a *filteredAggregate) String() string {
	return a.Aggregate.String() + " filter (where " + a.cond.String() + ")"
}

// NewState implements Aggregate.
func (a *filteredAggregate) NewState(ctx *Context) State {
	return &filteredState{State: a.Aggregate.NewState(ctx)}
}

type filteredState struct {
	State
	sel    []uint16
	groups []uint32
}

// Update implements State.
func (s *filteredState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	last := len(args) - 1
	cond := args[last]
	if cond.Form == vector.Const {
		if cond.IsNull(0) || cond.I8s[0] == 0 {
			return nil
		}
		return s.State.Update(groups, args[:last], sel, n)
	}
	if s.sel == nil {
		s.sel = []uint16{}
	}
	s.sel, s.groups = s.sel[:0], s.groups[:0]
	v := cond.Values()
	for k := range n {
		i := rowOf(sel, k)
		if cond.IsNull(i) || v.I8s[cond.At(i)] == 0 {
			continue
		}
		s.sel = append(s.sel, uint16(i))
		if groups != nil {
			s.groups = append(s.groups, groups[k])
		}
	}
	if len(s.sel) == 0 {
		return nil
	}
	if groups != nil {
		groups = s.groups
	}
	return s.State.Update(groups, args[:last], s.sel, len(s.sel))
}

// Merge implements State.
func (s *filteredState) Merge(other State, to []uint32) error {
	return s.State.Merge(other.(*filteredState).State, to)
}

// Bytes implements State.
func (s *filteredState) Bytes() int64 {
	return s.State.Bytes() + int64(cap(s.sel))*2 + int64(cap(s.groups))*4
}

// guarded is x where cond is TRUE; elsewhere x is not evaluated and the value is
// unspecified.
type guarded struct{ cond, x Expr }

// guard keeps x from being evaluated where cond is not TRUE, if that can matter.
func guard(cond, x Expr) Expr {
	switch x.(type) {
	case *ColumnExpr, *LiteralExpr:
		return x
	}
	return &guarded{cond, x}
}

func (g *guarded) Type() Type       { return g.x.Type() }
func (g *guarded) Children() []Expr { return []Expr{g.cond, g.x} }
func (g *guarded) With(c []Expr) Expr {
	return &guarded{c[0], c[1]}
}
func (g *guarded) Traits() Traits { return g.cond.Traits() | g.x.Traits() }
func (g *guarded) Key() string    { return "guarded(" + g.cond.Key() + "," + g.x.Key() + ")" }
func (g *guarded) String() string { return g.x.String() }

// Eval implements Expr.
func (g *guarded) Eval(ctx *Context, b *vector.Batch) (*vector.Vec, error) {
	sel, err := Filter(ctx, g.cond, b, nil)
	if err != nil {
		return nil, err
	}
	if len(sel) == 0 {
		return vector.NewNull(g.x.Type().Physical(), b.Len), nil
	}
	in := *b
	in.Sel = sel
	return g.x.Eval(ctx, &in)
}
