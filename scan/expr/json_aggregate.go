package expr

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// jsonAggState collects JSON_ARRAYAGG (one argument) and JSON_OBJECTAGG (key
// and value) as text.
type jsonAggState struct {
	ctx    *Context
	args   []Expr
	object bool
	groups [][]jsonMember
	size   int64
}

func newJSONAggregate(ctx *Context, s AggregateSpec) (Aggregate, error) {
	object := upper(s.Name) == "JSON_OBJECTAGG"
	n := 1
	if object {
		n = 2
	}
	if len(s.Args) != n {
		return nil, wrongCount(s.Name)
	}
	if s.Distinct || len(s.Order) > 0 || s.Separator != nil {
		return nil, errs.Userf(errs.Syntax, "%s takes neither DISTINCT nor ORDER BY", upper(s.Name))
	}
	args := append([]Expr(nil), s.Args...)
	if err := isNested(args...); err != nil {
		return nil, err
	}
	if object {
		args[0] = asText(ctx, args[0])
	}
	return &aggregate{name: upper(s.Name), typ: TJSON, args: args, state: func(ctx *Context) State {
		return &jsonAggState{ctx: ctx, args: args, object: object}
	}}, nil
}

func (s *jsonAggState) Grow(n int)   { s.groups = growTo(s.groups, n) }
func (s *jsonAggState) Bytes() int64 { return s.size + int64(cap(s.groups))*24 }

func (s *jsonAggState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	last := len(args) - 1
	for k := range n {
		if k%endRows == 0 {
			if err := s.ctx.Ended(); err != nil {
				return err
			}
		}
		i, g := rowOf(sel, k), groupOf(groups, k)
		m := jsonMember{}
		if s.object {
			if args[0].IsNull(i) {
				return errs.Userf(errs.JSONKeyNull, "JSON documents may not contain NULL member names.")
			}
			m.key = args[0].String(i)
		}
		x, err := jsonScalar(s.ctx, s.args[last].Type(), args[last], i)
		if err != nil {
			return err
		}
		m.val = x
		s.groups[g] = append(s.groups[g], m)
		s.size += int64(len(m.key)+len(x.s)) + 160
	}
	return nil
}

func (s *jsonAggState) Merge(other State, to []uint32) error {
	o := other.(*jsonAggState)
	for g, ms := range o.groups {
		h := mapped(to, g)
		s.groups[h] = append(s.groups[h], ms...)
	}
	s.size += o.size
	return nil
}

func (s *jsonAggState) Result(from, to int) (*vector.Vec, error) {
	out := vector.NewFlat(vector.Str, to-from)
	for g := from; g < to; g++ {
		ms := s.groups[g]
		if len(ms) == 0 {
			out.SetNull(g - from)
			continue
		}
		v := &jsonValue{kind: jArray}
		if s.object {
			v = &jsonValue{kind: jObject, obj: append([]jsonMember(nil), ms...)}
			v.order()
		} else {
			for _, m := range ms {
				v.arr = append(v.arr, m.val)
			}
		}
		if err := s.ctx.Ended(); err != nil {
			return nil, err
		}
		out.SetBytes(g-from, v.appendText(nil))
	}
	return out, nil
}
