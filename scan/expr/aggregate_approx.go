package expr

import (
	"math"
	"math/bits"
	"slices"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func init() { aggregates["APPROX_COUNT_DISTINCT"] = newApproxDistinct }

// newApproxDistinct resolves APPROX_COUNT_DISTINCT(x).
func newApproxDistinct(_ *Context, s AggregateSpec) (Aggregate, error) {
	x, err := plain(s)
	if err != nil {
		return nil, err
	}
	switch {
	case isNested(x) != nil:
		return nil, isNested(x)
	case s.Distinct:
		return nil, errs.Userf(errs.Syntax, "%s takes no DISTINCT", upper(s.Name))
	}
	t := x.Type()
	return &aggregate{name: upper(s.Name), typ: TBigInt.NotNull(), args: []Expr{x}, state: func(*Context) State { return &sketchState{typ: t} }}, nil
}

// sketch estimates a number of distinct hashes: exactly while there are few,
// then by HyperLogLog (Flajolet, Fusy, Gandouet and Meunier, 2007) with 4,096
// registers, whose standard error is 1.6 %. It depends on the set of hashes only.
type sketch struct {
	few  []uint64 // ascending, distinct; nil once there are registers
	regs []uint8
}

const (
	sketchBits = 12
	sketchFew  = 256
)

func (s *sketch) add(h uint64) {
	if s.regs != nil {
		i, rest := h>>(64-sketchBits), h<<sketchBits|1<<(sketchBits-1)
		s.regs[i] = max(s.regs[i], uint8(bits.LeadingZeros64(rest))+1)
		return
	}
	i, there := slices.BinarySearch(s.few, h)
	if there {
		return
	}
	if s.few = slices.Insert(s.few, i, h); len(s.few) > sketchFew {
		s.dense()
	}
}

// dense turns the exact set into registers.
func (s *sketch) dense() {
	few := s.few
	s.few, s.regs = nil, make([]uint8, 1<<sketchBits)
	for _, h := range few {
		s.add(h)
	}
}

func (s *sketch) merge(o *sketch) {
	if o.regs == nil {
		for _, h := range o.few {
			s.add(h)
		}
		return
	}
	if s.regs == nil {
		s.dense()
	}
	for i, r := range o.regs {
		s.regs[i] = max(s.regs[i], r)
	}
}

func (s *sketch) count() int64 {
	if s.regs == nil {
		return int64(len(s.few))
	}
	const m = 1 << sketchBits
	sum, zero := 0.0, 0
	for _, r := range s.regs {
		sum += math.Ldexp(1, -int(r))
		if r == 0 {
			zero++
		}
	}
	e := 0.7213 / (1 + 1.079/m) * m * m / sum
	if e <= 2.5*m && zero > 0 {
		e = m * math.Log(m/float64(zero)) // linear counting
	}
	return int64(math.Round(e))
}

type sketchState struct {
	typ    Type
	groups []sketch
	hash   []uint64
	bytes  int64
}

// Grow implements State.
func (s *sketchState) Grow(n int) {
	if n > len(s.groups) {
		s.groups = append(s.groups, make([]sketch, n-len(s.groups))...)
	}
}

// Update implements State.
func (s *sketchState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	v := args[0]
	s.hash = slices.Grow(s.hash[:0], n)[:n]
	for i := range s.hash {
		s.hash[i] = 0x9E3779B97F4A7C15
	}
	Hash(s.typ, v, sel, s.hash)
	for k, h := range s.hash {
		if v.IsNull(rowOf(sel, k)) {
			continue
		}
		// A last mix (splitmix64's), so that all bits are good.
		h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
		h = (h ^ h>>27) * 0x94D049BB133111EB
		g := &s.groups[groupOf(groups, k)]
		before := g.size()
		g.add(h ^ h>>31)
		s.bytes += g.size() - before
	}
	return nil
}

func (s *sketch) size() int64 { return int64(cap(s.few))*8 + int64(cap(s.regs)) }

// Merge implements State.
func (s *sketchState) Merge(other State, to []uint32) error {
	o := other.(*sketchState)
	for i := range o.groups {
		g := &s.groups[mapped(to, i)]
		before := g.size()
		g.merge(&o.groups[i])
		s.bytes += g.size() - before
	}
	return nil
}

// Result implements State.
func (s *sketchState) Result(from, to int) (*vector.Vec, error) {
	out := vector.NewFlat(vector.I64, to-from)
	for g := from; g < to; g++ {
		out.I64s[g-from] = s.groups[g].count()
	}
	return out, nil
}

// Bytes implements State.
func (s *sketchState) Bytes() int64 {
	return s.bytes + int64(cap(s.groups))*48 + int64(cap(s.hash))*8
}
