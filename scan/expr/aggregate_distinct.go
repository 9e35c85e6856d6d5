package expr

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// distinctState passes each distinct tuple of a group on once. Tuples are kept,
// so that states can be merged; the inner state is fed when results are asked.
type distinctState struct {
	args   []Expr
	inner  State
	seen   tupleSet
	groups []uint32
	vals   []*vector.Vec
	size   int64 // bytes of long strings kept
	n      int
	fed    int
}

func newDistinctState(args []Expr, inner State) *distinctState {
	return &distinctState{args: args, inner: inner}
}

func (s *distinctState) Grow(n int) { s.inner.Grow(n); s.n = max(s.n, n) }

func (s *distinctState) Bytes() int64 {
	n := s.size + s.seen.bytes() + s.inner.Bytes() + int64(cap(s.groups)*4)
	for _, v := range s.vals {
		n += payloadBytes(v)
	}
	return n
}

// payloadBytes is the memory of a Flat vector without the bytes of long strings.
func payloadBytes(v *vector.Vec) int64 {
	if v.Kind == vector.Str {
		return int64(cap(v.Views)*16 + cap(v.Valid)*8)
	}
	return v.Bytesize()
}

func (s *distinctState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	if s.vals == nil {
		for _, v := range args {
			s.vals = append(s.vals, vector.NewLike(v.Values(), 16))
		}
	}
	if err := s.seen.room(len(s.groups), n); err != nil {
		return err
	}
	if len(args) == 1 && s.seen.whole(s.args[0].Type(), args[0]) {
		s.updateWhole(groups, args[0], sel, n)
		return nil
	}
	if len(args) == 1 && groups == nil && args[0].Form == vector.Dict && args[0].Dict.Lasting {
		sel = s.seen.newCodes(args[0], sel, n)
		n = len(sel)
	}
	s.updateTuples(groups, args, sel, n)
	return nil
}

// updateWhole is Update for one argument whose values are whole numbers.
func (s *distinctState) updateWhole(groups []uint32, v *vector.Vec, sel []uint16, n int) {
	w, t := v.Values(), &s.seen
	kept := s.vals[0]
	for k := range n {
		i := rowOf(sel, k)
		if v.Valid != nil && v.IsNull(i) {
			continue
		}
		g, i := groupOf(groups, k), v.At(i)
		x := int64(0)
		if w.Kind == vector.I64 {
			x = w.I64s[i]
		} else {
			x = int64(w.I32s[i])
		}
		if !t.addWhole(g, x) {
			continue
		}
		s.groups = append(s.groups, g)
		if w.Kind == vector.I64 {
			kept.AppendI64(x)
		} else {
			kept.AppendI32(int32(x))
		}
	}
}

// updateTuples is Update for arguments of any types.
func (s *distinctState) updateTuples(groups []uint32, args []*vector.Vec, sel []uint16, n int) {
	t := &s.seen
	t.start(s.args, groups, args, sel, n)
rows:
	for k := range n {
		i, g := rowOf(sel, k), groupOf(groups, k)
		for _, v := range args {
			if v.Valid != nil && v.IsNull(i) {
				continue rows
			}
		}
		added := t.add(t.hash[k], len(s.groups), func(at int) bool {
			if s.groups[at] != g {
				return false
			}
			for a, v := range args {
				if t.cmp[a](s.vals[a], at, v, i) != 0 {
					return false
				}
			}
			return true
		})
		if !added {
			continue
		}
		s.groups = append(s.groups, g)
		for a, v := range args {
			c := s.vals[a]
			c.AppendFrom(v, i)
			if c.Kind == vector.Str {
				if l := c.Views[c.Len-1].Len(); l > 12 {
					s.size += int64(l)
				}
			}
		}
	}
}

func (s *distinctState) Merge(other State, to []uint32) error {
	o := other.(*distinctState)
	if len(o.groups) == 0 {
		return nil
	}
	groups := o.groups
	if to != nil {
		groups = make([]uint32, len(o.groups))
		for i, g := range o.groups {
			groups[i] = to[g]
		}
	}
	return s.Update(groups, o.vals, nil, len(groups))
}

func (s *distinctState) Result(from, to int) (*vector.Vec, error) {
	if err := s.feed(); err != nil {
		return nil, err
	}
	return s.inner.Result(from, to)
}

// feed gives the inner state the tuples.
func (s *distinctState) feed() error {
	if s.fed == len(s.groups) {
		return nil
	}
	if s.fed > 0 {
		return errs.Internalf("add rows to a DISTINCT aggregate: results were already taken")
	}
	s.fed = len(s.groups)
	return s.inner.Update(s.groups, s.vals, nil, len(s.groups))
}
