package expr

import (
	"slices"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// jsonAggState collects JSON_ARRAYAGG (one argument) and JSON_OBJECTAGG (key
// and value) as the texts that the result is made of: it holds about what the result
// takes.
type jsonAggState struct {
	ctx    *Context
	args   []Expr
	object bool
	groups []jsonGroup
	size   int64
}

// jsonGroup is one group: an array's elements with ", " between them, or an object's
// members.
type jsonGroup struct {
	elements []byte
	members  []jsonText
	bytes    int64 // of the members, since dead ones were dropped
	live     int64 // bytes of the members then
}

// jsonText is a member with its value's text.
type jsonText struct{ name, value string }

// jsonTextBytes is what a member takes beside its texts.
const jsonTextBytes = 32

func (m *jsonText) bytes() int64 { return int64(len(m.name)+len(m.value)) + jsonTextBytes }

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
	t := TJSON
	t.Typed = hidesTypes(args)
	return &aggregate{name: upper(s.Name), typ: t, args: args, state: func(ctx *Context) State {
		return &jsonAggState{ctx: ctx, args: args, object: object}
	}}, nil
}

// Grow implements State.
func (s *jsonAggState) Grow(n int) { s.groups = growTo(s.groups, n) }

// Bytes implements State.
func (s *jsonAggState) Bytes() int64 { return s.size + int64(cap(s.groups))*64 }

// Update implements State.
func (s *jsonAggState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	last := len(args) - 1
	var text []byte
	for k := range n {
		if k%endRows == 0 {
			if err := s.ctx.Ended(); err != nil {
				return err
			}
		}
		i, g := rowOf(sel, k), int(groupOf(groups, k))
		if s.object && args[0].IsNull(i) {
			return errs.Userf(errs.JSONKeyNull, "JSON documents may not contain NULL member names.")
		}
		x, err := jsonScalar(s.ctx, s.args[last].Type(), args[last], i)
		if err != nil {
			return err
		}
		text = x.appendText(text[:0])
		if s.object {
			s.member(g, jsonText{args[0].String(i), string(text)})
		} else {
			s.element(g, text)
		}
	}
	return nil
}

// element adds an element, or several with ", " between them, to an array.
func (s *jsonAggState) element(g int, text []byte) {
	gr := &s.groups[g]
	before := cap(gr.elements)
	if len(gr.elements) > 0 {
		gr.elements = append(gr.elements, ", "...)
	}
	gr.elements = append(gr.elements, text...)
	s.size += int64(cap(gr.elements) - before)
}

// member adds a member to an object. Of one name the last counts; the others are
// dropped when they may be half of all.
func (s *jsonAggState) member(g int, m jsonText) {
	gr := &s.groups[g]
	gr.members = append(gr.members, m)
	gr.bytes += m.bytes()
	s.size += m.bytes()
	if gr.bytes > 2*gr.live+4096 {
		s.drop(gr)
	}
}

// drop drops the members of a group that later ones replace, and puts the others in
// order.
func (s *jsonAggState) drop(gr *jsonGroup) {
	slices.SortStableFunc(gr.members, func(a, b jsonText) int {
		switch {
		case a.name == b.name:
			return 0
		case jsonKeyLess([]byte(a.name), []byte(b.name)):
			return -1
		}
		return 1
	})
	out, before := gr.members[:0], gr.bytes
	gr.bytes = 0
	for i, m := range gr.members {
		if i+1 < len(gr.members) && gr.members[i+1].name == m.name {
			continue
		}
		out = append(out, m)
		gr.bytes += m.bytes()
	}
	clear(gr.members[len(out):])
	gr.members, gr.live = out, gr.bytes
	s.size += gr.bytes - before
}

// Merge implements State.
func (s *jsonAggState) Merge(other State, to []uint32) error {
	o := other.(*jsonAggState)
	for i := range o.groups {
		g, from := mapped(to, i), &o.groups[i]
		if len(from.elements) > 0 {
			s.element(g, from.elements)
		}
		for _, m := range from.members {
			s.member(g, m)
		}
	}
	return nil
}

// Result implements State.
func (s *jsonAggState) Result(from, to int) (*vector.Vec, error) {
	out := vector.NewFlat(vector.Str, to-from)
	var text []byte
	for g := from; g < to; g++ {
		gr := &s.groups[g]
		if len(gr.elements) == 0 && len(gr.members) == 0 {
			out.SetNull(g - from)
			continue
		}
		if err := s.ctx.Ended(); err != nil {
			return nil, err
		}
		if !s.object {
			text = append(append(append(text[:0], '['), gr.elements...), ']')
			out.SetBytes(g-from, text)
			continue
		}
		s.drop(gr)
		text = append(text[:0], '{')
		for i, m := range gr.members {
			if i > 0 {
				text = append(text, ", "...)
			}
			text = appendJSONString(text, []byte(m.name))
			text = append(append(text, ": "...), m.value...)
		}
		out.SetBytes(g-from, append(text, '}'))
	}
	return out, nil
}

// Unload implements State: names and texts; of an array one row.
func (s *jsonAggState) Unload() (of []uint32, cols []*vector.Vec) {
	names, texts := vector.New(vector.Str, 16), vector.New(vector.Str, 16)
	for g := range s.groups {
		gr := &s.groups[g]
		if len(gr.elements) > 0 {
			of = append(of, uint32(g))
			names.AppendString("")
			texts.AppendBytes(gr.elements)
		}
		for _, m := range gr.members {
			of = append(of, uint32(g))
			names.AppendString(m.name)
			texts.AppendString(m.value)
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	return of, []*vector.Vec{names, texts}
}

// Load implements State.
func (s *jsonAggState) Load(groups []uint32, cols []*vector.Vec) error {
	for k, g := range groups {
		if s.object {
			s.member(int(g), jsonText{cols[0].String(k), cols[1].String(k)})
		} else {
			s.element(int(g), cols[1].Bytes(k))
		}
	}
	return nil
}
