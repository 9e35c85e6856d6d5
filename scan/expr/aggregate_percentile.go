package expr

import (
	"math"
	"slices"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func init() { aggregates["APPROX_PERCENTILE"] = newPercentile }

// newPercentile resolves APPROX_PERCENTILE(x, p), the value at rank ⌈p·n⌉ of n.
func newPercentile(ctx *Context, s AggregateSpec) (Aggregate, error) {
	name := upper(s.Name)
	switch {
	case len(s.Args) != 2:
		return nil, wrongCount(s.Name)
	case len(s.Order) > 0 || s.Separator != nil || s.Distinct:
		return nil, errs.Userf(errs.Syntax, "%s takes neither DISTINCT, ORDER BY nor SEPARATOR", name)
	case isNested(s.Args...) != nil:
		return nil, isNested(s.Args...)
	case !IsConst(s.Args[1]):
		return nil, errs.Userf(errs.WrongArguments, "Incorrect arguments to %s: the second one is a constant from 0 to 1", name)
	}
	if t := s.Args[0].Type(); !t.IsNumber() && t.Class != Null {
		return nil, errs.Unsupportedf(-1, "%s of what is no number; CAST it", name)
	}
	v, err := asDouble(ctx, s.Args[1]).Eval(ctx, oneRow())
	if err != nil {
		return nil, err
	}
	p := math.NaN()
	if !v.IsNull(0) {
		p = floatAt(v, 0)
	}
	if !(p >= 0 && p <= 1) {
		return nil, errs.Userf(errs.WrongArguments, "Incorrect arguments to %s: the second one is a constant from 0 to 1", name)
	}
	t := TDouble
	t.Nullable = true
	return &aggregate{name: name, typ: t, args: []Expr{asDouble(ctx, s.Args[0])}, text: s.Args[1].Key(), state: func(*Context) State { return &percentileState{p: p} }}, nil
}

// quantiles answers for ranks: exactly while there are few values, then by
// logarithmic buckets, whose values are at most half a percent from the true ones
// (DDSketch: Masson, Rim and Lee, 2019). It depends on the multiset of the values
// only, in whatever order and parts they come.
type quantiles struct {
	n        int64
	bounds   bool // least and greatest are of some value
	least    float64
	greatest float64
	few      []float64       // all values, in any order, while there are no buckets
	buckets  map[int32]int64 // see bucketOf
}

const (
	quantileFew   = 256
	quantileError = 0.005
)

var quantileBase = math.Log1p(2 * quantileError / (1 - quantileError))

// bucketOf is the bucket of a value: 0 for zero, else by the logarithm, so that
// buckets sort as their values do.
func bucketOf(x float64) int32 {
	if x == 0 {
		return 0
	}
	// Logarithms of doubles lie within ±745.
	i := int32(math.Ceil(math.Log(math.Abs(x))/quantileBase)) + 1<<20
	if x < 0 {
		return -i
	}
	return i
}

// valueOf is the value in the middle of a bucket.
func valueOf(bucket int32) float64 {
	if bucket == 0 {
		return 0
	}
	i, sign := bucket, 1.0
	if bucket < 0 {
		i, sign = -bucket, -1
	}
	return sign * math.Exp(float64(i-1<<20)*quantileBase) * (1 - quantileError)
}

func (q *quantiles) add(x float64) {
	q.bound(x)
	q.n++
	if q.buckets != nil {
		q.buckets[bucketOf(x)]++
		return
	}
	if q.few = append(q.few, x); len(q.few) > quantileFew {
		q.dense()
	}
}

// bound widens the bounds to a value.
func (q *quantiles) bound(x float64) {
	if !q.bounds {
		q.bounds, q.least, q.greatest = true, x, x
	}
	q.least, q.greatest = min(q.least, x), max(q.greatest, x)
}

func (q *quantiles) dense() {
	q.buckets = map[int32]int64{}
	for _, x := range q.few {
		q.buckets[bucketOf(x)]++
	}
	q.few = nil
}

func (q *quantiles) merge(o *quantiles) {
	if o.n == 0 {
		return
	}
	if o.buckets == nil {
		for _, x := range o.few {
			q.add(x)
		}
		return
	}
	if q.buckets == nil {
		q.dense()
	}
	q.bound(o.least)
	q.bound(o.greatest)
	q.n += o.n
	for b, n := range o.buckets {
		q.buckets[b] += n
	}
}

// at returns the value at rank ⌈p·n⌉, counted from 1.
func (q *quantiles) at(p float64) float64 {
	rank := max(int64(math.Ceil(p*float64(q.n))), 1)
	switch {
	case rank == 1:
		return q.least
	case rank >= q.n:
		return q.greatest
	case q.buckets == nil:
		all := slices.Sorted(slices.Values(q.few))
		return all[rank-1]
	}
	order := make([]int32, 0, len(q.buckets))
	for b := range q.buckets {
		order = append(order, b)
	}
	slices.Sort(order)
	for _, b := range order {
		if rank -= q.buckets[b]; rank <= 0 {
			return max(q.least, min(q.greatest, valueOf(b)))
		}
	}
	return q.greatest
}

func (q *quantiles) size() int64 { return int64(cap(q.few))*8 + int64(len(q.buckets))*24 }

type percentileState struct {
	p      float64
	groups []quantiles
	bytes  int64
}

// Grow implements State.
func (s *percentileState) Grow(n int) {
	if n > len(s.groups) {
		s.groups = append(s.groups, make([]quantiles, n-len(s.groups))...)
	}
}

// Update implements State.
func (s *percentileState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	v := args[0]
	for k := range n {
		i := rowOf(sel, k)
		if v.IsNull(i) {
			continue
		}
		g := &s.groups[groupOf(groups, k)]
		before := g.size()
		g.add(floatAt(v, i))
		s.bytes += g.size() - before
	}
	return nil
}

// Merge implements State.
func (s *percentileState) Merge(other State, to []uint32) error {
	o := other.(*percentileState)
	for i := range o.groups {
		g := &s.groups[mapped(to, i)]
		before := g.size()
		g.merge(&o.groups[i])
		s.bytes += g.size() - before
	}
	return nil
}

// Result implements State.
func (s *percentileState) Result(from, to int) (*vector.Vec, error) {
	out := vector.NewFlat(vector.F64, to-from)
	for g := from; g < to; g++ {
		if s.groups[g].n == 0 {
			out.SetNull(g - from)
			continue
		}
		out.F64s[g-from] = s.groups[g].at(s.p)
	}
	return out, nil
}

// Bytes implements State.
func (s *percentileState) Bytes() int64 { return s.bytes + int64(cap(s.groups))*64 }

// Unload implements Spillable: a row a value with no count, or a row a bucket with
// its count, after one with the least and one with the greatest value and count -1.
func (s *percentileState) Unload() (of []uint32, cols []*vector.Vec) {
	var values []float64
	var counts []int64
	row := func(g int, x float64, n int64) {
		of, values, counts = append(of, uint32(g)), append(values, x), append(counts, n)
	}
	for g := range s.groups {
		q := &s.groups[g]
		for _, x := range q.few {
			row(g, x, 0)
		}
		if q.buckets == nil {
			continue
		}
		row(g, q.least, -1)
		row(g, q.greatest, -1)
		for b, n := range q.buckets {
			row(g, float64(b), n)
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	return of, []*vector.Vec{f64Column(values), i64Column(counts)}
}

// Load implements Spillable.
func (s *percentileState) Load(groups []uint32, cols []*vector.Vec) error {
	values, counts := cols[0].F64s, cols[1].I64s
	for k, id := range groups {
		g := &s.groups[id]
		before := g.size()
		switch n := counts[k]; {
		case n == 0:
			g.add(values[k])
		case n < 0:
			if g.buckets == nil {
				g.dense()
			}
			g.bound(values[k])
		default:
			g.n += n
			g.buckets[int32(values[k])] += n
		}
		s.bytes += g.size() - before
	}
	return nil
}
