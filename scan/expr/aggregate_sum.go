package expr

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func init() {
	aggregates["COUNT"] = newCount
	aggregates["SUM"] = newSum
	aggregates["AVG"] = newAvg
	for name, kind := range map[string]varianceKind{"STD": popStd, "STDDEV": popStd, "STDDEV_POP": popStd, "STDDEV_SAMP": sampStd,
		"VARIANCE": popVar, "VAR_POP": popVar, "VAR_SAMP": sampVar} {
		aggregates[name] = func(ctx *Context, s AggregateSpec) (Aggregate, error) { return newVariance(ctx, s, kind) }
	}
	for _, name := range []string{"BIT_AND", "BIT_OR", "BIT_XOR"} {
		aggregates[name] = newBitAggregate
	}
}

// aggregate is the usual Aggregate.
type aggregate struct {
	name     string
	typ      Type
	args     []Expr
	distinct bool
	text     string
	state    func(ctx *Context) State
}

func (a *aggregate) Type() Type   { return a.typ }
func (a *aggregate) Args() []Expr { return a.args }

func (a *aggregate) NewState(ctx *Context) State {
	s := a.state(ctx)
	if a.distinct {
		return newDistinctState(a.args, s)
	}
	return s
}

func (a *aggregate) Key() string { return a.keyWith(a.args) }

// keyWith is Key with other arguments.
func (a *aggregate) keyWith(args []Expr) string {
	parts := make([]string, len(args))
	for i, x := range args {
		parts[i] = x.Key()
	}
	d := ""
	if a.distinct {
		d = "distinct "
	}
	return a.name + "<" + a.typ.key() + ">(" + d + strings.Join(parts, ",") + ")" + a.text
}

func (a *aggregate) String() string {
	d := ""
	if a.distinct {
		d = "distinct "
	}
	if len(a.args) == 0 {
		return strings.ToLower(a.name) + "(*)"
	}
	return strings.ToLower(a.name) + "(" + d + joinText(a.args) + ")"
}

// plain checks an aggregate of exactly one argument and no ORDER BY.
func plain(s AggregateSpec) (Expr, error) {
	if len(s.Args) != 1 {
		return nil, errs.Userf(errs.WrongArgCount, "Incorrect parameter count in the call to native function '%s'", s.Name)
	}
	if len(s.Order) > 0 || s.Separator != nil {
		return nil, errs.Userf(errs.Syntax, "%s takes neither ORDER BY nor SEPARATOR", upper(s.Name))
	}
	return s.Args[0], nil
}

// row is the position of the k-th row that counts.
func rowOf(sel []uint16, k int) int {
	if sel != nil {
		return int(sel[k])
	}
	return k
}

func groupOf(groups []uint32, k int) uint32 {
	if groups == nil {
		return 0
	}
	return groups[k]
}

func mapped(to []uint32, g int) int {
	if to == nil {
		return g
	}
	return int(to[g])
}

func growTo[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	if n <= cap(s) {
		return s[:n]
	}
	t := make([]T, n, max(n, 2*cap(s)))
	copy(t, s)
	return t
}

// countState counts rows without NULLs in its arguments.
type countState struct{ counts []int64 }

func newCount(ctx *Context, s AggregateSpec) (Aggregate, error) {
	if len(s.Order) > 0 || s.Separator != nil || len(s.Args) > 1 && !s.Distinct || s.Distinct && len(s.Args) == 0 {
		return nil, errs.Userf(errs.Syntax, "COUNT takes *, one argument, or DISTINCT and a list")
	}
	return &aggregate{name: "COUNT", typ: TBigInt.NotNull(), args: s.Args, distinct: s.Distinct, state: func(*Context) State { return &countState{} }}, nil
}

func (s *countState) Grow(n int)   { s.counts = growTo(s.counts, n) }
func (s *countState) Bytes() int64 { return int64(cap(s.counts) * 8) }

func (s *countState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	nulls := false
	for _, v := range args {
		nulls = nulls || v.Valid != nil
	}
	if !nulls {
		if groups == nil {
			s.counts[0] += int64(n)
			return nil
		}
		for _, g := range groups[:n] {
			s.counts[g]++
		}
		return nil
	}
rows:
	for k := range n {
		i := rowOf(sel, k)
		for _, v := range args {
			if v.IsNull(i) {
				continue rows
			}
		}
		s.counts[groupOf(groups, k)]++
	}
	return nil
}

func (s *countState) Merge(other State, to []uint32) error {
	for g, c := range other.(*countState).counts {
		s.counts[mapped(to, g)] += c
	}
	return nil
}

func (s *countState) Result(from, to int) (*vector.Vec, error) {
	out := vector.NewFlat(vector.I64, to-from)
	copy(out.I64s, s.counts[from:to])
	return out, nil
}

// newSum resolves SUM: exact for exact numbers, DOUBLE for others.
func newSum(ctx *Context, s AggregateSpec) (Aggregate, error) {
	x, err := plain(s)
	if err != nil {
		return nil, err
	}
	told := toldPrecision(x)
	x, t, err := summand(ctx, x)
	if err != nil {
		return nil, err
	}
	a := &aggregate{name: "SUM", args: []Expr{x}, distinct: s.Distinct, typ: TDouble}
	if t.Class != Double {
		d := decimalOf(t)
		a.typ = TDecimal(min(d.Precision+22, 65), d.Scale)
		a.typ.Told.Length = toldDecimal(min(told+22, 65), d.Scale, false)
	} else {
		toldFloat(s.Args[0], &a.typ)
	}
	a.state = func(*Context) State { return newSumState(x.Type(), a.typ, -1) }
	return a, nil
}

// newAvg resolves AVG: the exact sum divided by the count, rounded half away
// from zero at div_precision_increment more digits.
func newAvg(ctx *Context, s AggregateSpec) (Aggregate, error) {
	x, err := plain(s)
	if err != nil {
		return nil, err
	}
	told := toldPrecision(x)
	x, t, err := summand(ctx, x)
	if err != nil {
		return nil, err
	}
	a := &aggregate{name: "AVG", args: []Expr{x}, distinct: s.Distinct, typ: TDouble}
	more, pad, cut := 0, 0, false
	if t.Class != Double && s.Average != AverageReal {
		d := decimalOf(t)
		scale, exact := min(d.Scale+ctx.DivPrecision, 30), quotientDigits(d.Scale, 0, ctx.DivPrecision)
		cut = exact == scale || s.Average == AverageExact
		switch s.Average {
		case AverageExact:
			scale = exact
		case AveragePadded:
			pad = exact - scale
		}
		more = scale - d.Scale
		a.typ = TDecimal(min(d.Precision+more+pad, 76), scale+pad)
		if s.Average == AverageRounded {
			a.typ.Precision = min(d.Precision+ctx.DivPrecision, 65)
		}
		a.typ.Told.Length = toldDecimal(min(told+ctx.DivPrecision, 65), a.typ.Scale, false)
	} else if toldFloat(s.Args[0], &a.typ); a.typ.Scale != NotFixed {
		a.typ.Scale += ctx.DivPrecision
		a.typ.Told.Length += ctx.DivPrecision
	}
	if s.Average != AverageRounded {
		a.text = fmt.Sprintf(" as %d", s.Average)
	}
	a.state = func(*Context) State {
		st := newSumState(x.Type(), a.typ, more)
		st.cut, st.pad = cut, pad
		return st
	}
	return a, nil
}

// summand converts an argument to Int, Decimal or Double.
func summand(ctx *Context, x Expr) (Expr, Type, error) {
	if isNested(x) != nil {
		return nil, Type{}, isNested(x)
	}
	t := numeric(x)
	switch t.Class {
	case Int:
		if x.Type().Class != Int {
			x = toNumeric(ctx, x)
		}
		return x, t, nil
	case Decimal:
		return convert(ctx, x, decimalOf(t)), t, nil
	}
	return asDouble(ctx, x), TDouble, nil
}

// sumState adds up integers and decimals exactly, in 128 bits or 256, and
// doubles with Neumaier's compensation, which makes the result independent of
// the order of addition but for the last bit.
type sumState struct {
	in, out  Type
	avg      int  // digits that AVG adds, -1 for SUM
	cut      bool // the quotient is cut, not rounded; see quotientDigits
	pad      int  // zeros after AVG's digits
	unsigned bool
	counts   []int64
	small    []vector.Int128
	wide     []vector.Int256
	sums     []float64
	comp     []float64
}

func newSumState(in, out Type, avg int) *sumState {
	return &sumState{in: in, out: out, avg: avg, unsigned: in.Class == Int && in.Unsigned && in.Width == 8}
}

func (s *sumState) isWide() bool {
	return s.in.Class == Decimal && s.in.Physical() != vector.I64
}

func (s *sumState) Grow(n int) {
	s.counts = growTo(s.counts, n)
	switch {
	case s.in.Class == Double:
		s.sums, s.comp = growTo(s.sums, n), growTo(s.comp, n)
	case s.isWide():
		s.wide = growTo(s.wide, n)
	default:
		s.small = growTo(s.small, n)
	}
}

func (s *sumState) Bytes() int64 {
	return int64(cap(s.counts)*8 + cap(s.small)*16 + cap(s.wide)*32 + cap(s.sums)*8 + cap(s.comp)*8)
}

func (s *sumState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	v := args[0]
	if sel == nil && groups != nil && v.Valid == nil && v.Form == vector.Flat && s.updateDense(groups[:n], v) {
		return nil
	}
	switch {
	case s.in.Class == Double:
		x, m := f64s(v)
		for k := range n {
			i := rowOf(sel, k)
			if v.Valid != nil && v.IsNull(i) {
				continue
			}
			s.add(groupOf(groups, k), x[i&m])
		}
	case s.isWide():
		s.updateWide(groups, v, sel, n)
	case v.Kind == vector.I32:
		x, m := i32s(v)
		if v.Valid == nil && groups == nil {
			var sum int64 // 65,536 values of 32 bits fit
			for k := range n {
				sum += int64(x[rowOf(sel, k)&m])
			}
			s.small[0] = s.small[0].Add(vector.Int128From(sum))
			s.counts[0] += int64(n)
			return nil
		}
		for k := range n {
			i := rowOf(sel, k)
			if v.Valid != nil && v.IsNull(i) {
				continue
			}
			g := groupOf(groups, k)
			s.small[g] = s.small[g].Add(vector.Int128From(int64(x[i&m])))
			s.counts[g]++
		}
	case s.unsigned:
		x, m := i64s(v)
		for k := range n {
			i := rowOf(sel, k)
			if v.Valid != nil && v.IsNull(i) {
				continue
			}
			g := groupOf(groups, k)
			s.small[g] = s.small[g].Add(vector.Int128FromUint(uint64(x[i&m])))
			s.counts[g]++
		}
	default:
		x, m := i64s(v)
		for k := range n {
			i := rowOf(sel, k)
			if v.Valid != nil && v.IsNull(i) {
				continue
			}
			g := groupOf(groups, k)
			s.small[g] = s.small[g].Add(vector.Int128From(x[i&m]))
			s.counts[g]++
		}
	}
	return nil
}

// updateWide adds decimals of more than 64 bits.
func (s *sumState) updateWide(groups []uint32, v *vector.Vec, sel []uint16, n int) {
	w, flat := v.Values(), v.Form == vector.Flat
	for k := range n {
		i := rowOf(sel, k)
		if v.Valid != nil && v.IsNull(i) {
			continue
		}
		g := groupOf(groups, k)
		if !flat {
			i = v.At(i)
		}
		s.counts[g]++
		a := &s.wide[g]
		var c uint64
		if w.Kind == vector.I128 {
			x := &w.I128s[i]
			e := uint64(x.Hi >> 63)
			a[0], c = bits.Add64(a[0], x.Lo, 0)
			a[1], c = bits.Add64(a[1], uint64(x.Hi), c)
			a[2], c = bits.Add64(a[2], e, c)
			a[3], _ = bits.Add64(a[3], e, c)
			continue
		}
		x := &w.I256s[i]
		a[0], c = bits.Add64(a[0], x[0], 0)
		a[1], c = bits.Add64(a[1], x[1], c)
		a[2], c = bits.Add64(a[2], x[2], c)
		a[3], _ = bits.Add64(a[3], x[3], c)
	}
}

// updateDense adds all rows of a Flat vector without NULLs; false for kinds that
// it does not handle.
func (s *sumState) updateDense(groups []uint32, v *vector.Vec) bool {
	switch {
	case s.in.Class == Double && v.Kind == vector.F64:
		for k, g := range groups {
			s.add(g, v.F64s[k])
		}
	case s.isWide() || s.unsigned:
		return false
	case v.Kind == vector.I32:
		for k, g := range groups {
			x := v.I32s[k]
			a := &s.small[g]
			lo, c := bits.Add64(a.Lo, uint64(int64(x)), 0)
			a.Lo = lo
			a.Hi += int64(x>>31) + int64(c)
			s.counts[g]++
		}
	case v.Kind == vector.I64:
		for k, g := range groups {
			x := v.I64s[k]
			a := &s.small[g]
			lo, c := bits.Add64(a.Lo, uint64(x), 0)
			a.Lo = lo
			a.Hi += x>>63 + int64(c)
			s.counts[g]++
		}
	default:
		return false
	}
	return true
}

func (s *sumState) add(g uint32, x float64) {
	sum := s.sums[g]
	t := sum + x
	if math.Abs(sum) >= math.Abs(x) {
		s.comp[g] += sum - t + x
	} else {
		s.comp[g] += x - t + sum
	}
	s.sums[g] = t
	s.counts[g]++
}

func (s *sumState) Merge(other State, to []uint32) error {
	o := other.(*sumState)
	for g, c := range o.counts {
		if c == 0 {
			continue
		}
		h := mapped(to, g)
		switch {
		case s.in.Class == Double:
			s.add(uint32(h), o.sums[g])
			s.comp[h] += o.comp[g]
			s.counts[h]--
		case s.isWide():
			s.wide[h] = s.wide[h].Add(o.wide[g])
		default:
			s.small[h] = s.small[h].Add(o.small[g])
		}
		s.counts[h] += c
	}
	return nil
}

// real returns AVG of group g of whole numbers or decimals as DOUBLE: the sum,
// rounded to a DOUBLE, divided by the count.
func (s *sumState) real(g int) float64 {
	var u *big.Int
	if s.isWide() {
		u = s.wide[g].Big()
	} else {
		u = s.small[g].Big()
	}
	x, _ := new(big.Rat).SetFrac(u, pow10big(max(s.in.Scale, 0))).Float64()
	return x / float64(s.counts[g])
}

// short returns the exact result of group g, unless it takes more than the numbers
// of the machine to compute.
func (s *sumState) short(g int) (vector.Int128, bool) {
	x := vector.Int128{}
	if s.isWide() {
		w := &s.wide[g]
		x = vector.Int128{Lo: w[0], Hi: int64(w[1])}
		if e := uint64(x.Hi >> 63); w[2] != e || w[3] != e {
			return x, false
		}
	} else {
		x = s.small[g]
	}
	if s.avg < 0 {
		return x, s.out.Precision >= 39 // a smaller one may be too small for it
	}
	if !x.IsInt64() || s.avg+s.pad > 18 {
		return x, false
	}
	v, n := x.Int64(), uint64(s.counts[g])
	u := uint64(v)
	if v < 0 {
		u = -u
	}
	hi, lo := bits.Mul64(u, pow10u(s.avg))
	if hi >= n {
		return x, false
	}
	q, r := bits.Div64(hi, lo, n)
	if q == math.MaxUint64 {
		return x, false
	}
	if !s.cut && r >= n-r {
		q++
	}
	hi, lo = bits.Mul64(q, pow10u(s.pad))
	if hi>>63 != 0 {
		return x, false
	}
	x = vector.Int128{Lo: lo, Hi: int64(hi)}
	if v < 0 {
		x = x.Neg()
	}
	return x, true
}

// pow10u is 10 to the n-th, n at most 18.
func pow10u(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

func (s *sumState) Result(from, to int) (*vector.Vec, error) {
	out := vector.NewFlat(s.out.Physical(), to-from)
	limit := pow10big(s.out.Precision)
	top := pow10big(65)
	for g := from; g < to; g++ {
		if s.counts[g] == 0 {
			out.SetNull(g - from)
			continue
		}
		if s.in.Class == Double {
			x := s.sums[g]
			if c := x + s.comp[g]; !math.IsNaN(c) && !math.IsInf(c, 0) {
				x = c
			}
			if s.avg >= 0 {
				x /= float64(s.counts[g])
			}
			if s.out.Class == Double {
				out.F64s[g-from] = x
			}
			continue
		}
		if s.out.Class == Double {
			out.F64s[g-from] = s.real(g)
			continue
		}
		if s.avg < 0 && !s.isWide() && out.Kind == vector.I128 {
			out.I128s[g-from] = s.small[g]
			continue
		}
		if x, ok := s.short(g); ok && (out.Kind != vector.I64 || x.IsInt64()) {
			switch out.Kind {
			case vector.I64:
				out.I64s[g-from] = x.Int64()
			case vector.I128:
				out.I128s[g-from] = x
			default:
				out.I256s[g-from] = vector.Int256From(x)
			}
			continue
		}
		var u *big.Int
		if s.isWide() {
			u = s.wide[g].Big()
		} else {
			u = s.small[g].Big()
		}
		if s.avg >= 0 {
			u = new(big.Int).Mul(u, pow10big(s.avg))
			if s.cut {
				u.Quo(u, big.NewInt(s.counts[g]))
			} else {
				u = divRound(u, big.NewInt(s.counts[g]))
			}
			if s.pad > 0 {
				u.Mul(u, pow10big(s.pad))
			}
		}
		if u.CmpAbs(limit) >= 0 {
			if u.CmpAbs(top) >= 0 {
				return nil, errs.Userf(errs.OutOfRange, "DECIMAL value is out of range in '%s'", map[bool]string{true: "avg", false: "sum"}[s.avg >= 0])
			}
		}
		setDec(out, g-from, u)
	}
	return out, nil
}
