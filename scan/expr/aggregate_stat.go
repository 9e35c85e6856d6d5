package expr

import (
	"math"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

type varianceKind uint8

const (
	popVar varianceKind = iota
	sampVar
	popStd
	sampStd
)

// varianceState is Welford's algorithm; states merge by Chan's formula.
type varianceState struct {
	kind     varianceKind
	counts   []int64
	mean, m2 []float64
}

func newVariance(ctx *Context, s AggregateSpec, kind varianceKind) (Aggregate, error) {
	x, err := plain(s)
	if err != nil {
		return nil, err
	}
	if isNested(x) != nil {
		return nil, isNested(x)
	}
	if s.Distinct {
		return nil, errs.Userf(errs.Syntax, "%s takes no DISTINCT", upper(s.Name))
	}
	return &aggregate{name: upper(s.Name), typ: TDouble, args: []Expr{asDouble(ctx, x)}, state: func(*Context) State { return &varianceState{kind: kind} }}, nil
}

func (s *varianceState) Grow(n int) {
	s.counts, s.mean, s.m2 = growTo(s.counts, n), growTo(s.mean, n), growTo(s.m2, n)
}
func (s *varianceState) Bytes() int64 { return int64(cap(s.counts)) * 24 }

func (s *varianceState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	v := args[0]
	x, m := f64s(v)
	for k := range n {
		i := rowOf(sel, k)
		if v.IsNull(i) {
			continue
		}
		g := groupOf(groups, k)
		s.counts[g]++
		d := x[i&m] - s.mean[g]
		s.mean[g] += d / float64(s.counts[g])
		s.m2[g] += d * (x[i&m] - s.mean[g])
	}
	return nil
}

func (s *varianceState) Merge(other State, to []uint32) error {
	o := other.(*varianceState)
	for g, c := range o.counts {
		if c == 0 {
			continue
		}
		h := mapped(to, g)
		n := float64(s.counts[h] + c)
		d := o.mean[g] - s.mean[h]
		s.m2[h] += o.m2[g] + d*d*float64(s.counts[h])*float64(c)/n
		s.mean[h] += d * float64(c) / n
		s.counts[h] += c
	}
	return nil
}

func (s *varianceState) Result(from, to int) (*vector.Vec, error) {
	out := vector.NewFlat(vector.F64, to-from)
	for g := from; g < to; g++ {
		n := float64(s.counts[g])
		if s.kind == sampVar || s.kind == sampStd {
			n--
		}
		if n <= 0 {
			out.SetNull(g - from)
			continue
		}
		x := s.m2[g] / n
		if s.kind == popStd || s.kind == sampStd {
			x = math.Sqrt(x)
		}
		out.F64s[g-from] = x
	}
	return out, nil
}

// bitState is BIT_AND, BIT_OR and BIT_XOR of 64-bit integers.
type bitState struct {
	name   string
	values []int64
}

func newBitAggregate(ctx *Context, s AggregateSpec) (Aggregate, error) {
	x, err := plain(s)
	if err != nil {
		return nil, err
	}
	if isNested(x) != nil {
		return nil, isNested(x)
	}
	if s.Distinct {
		return nil, errs.Userf(errs.Syntax, "%s takes no DISTINCT", upper(s.Name))
	}
	name := upper(s.Name)
	if binaryBits(x) && x.Type().Class == Bytes {
		return newBytesBitAggregate(name, x)
	}
	return &aggregate{name: name, typ: TUint64.NotNull(), args: []Expr{convert(ctx, x, bitInt(x))}, state: func(*Context) State { return &bitState{name: name} }}, nil
}

func (s *bitState) Grow(n int) {
	old := len(s.values)
	s.values = growTo(s.values, n)
	if s.name == "BIT_AND" {
		for i := old; i < len(s.values); i++ {
			s.values[i] = -1
		}
	}
}
func (s *bitState) Bytes() int64 { return int64(cap(s.values)) * 8 }

func (s *bitState) add(g int, x int64) {
	switch s.name {
	case "BIT_AND":
		s.values[g] &= x
	case "BIT_OR":
		s.values[g] |= x
	default:
		s.values[g] ^= x
	}
}

func (s *bitState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	v := args[0]
	for k := range n {
		if i := rowOf(sel, k); !v.IsNull(i) {
			s.add(int(groupOf(groups, k)), intAt(v, i))
		}
	}
	return nil
}

func (s *bitState) Merge(other State, to []uint32) error {
	for g, x := range other.(*bitState).values {
		s.add(mapped(to, g), x)
	}
	return nil
}

func (s *bitState) Result(from, to int) (*vector.Vec, error) {
	out := vector.NewFlat(vector.I64, to-from)
	copy(out.I64s, s.values[from:to])
	return out, nil
}
