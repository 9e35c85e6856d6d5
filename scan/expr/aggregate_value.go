package expr

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func init() {
	aggregates["MIN"] = func(ctx *Context, s AggregateSpec) (Aggregate, error) { return newPick(ctx, s, -1) }
	aggregates["MAX"] = func(ctx *Context, s AggregateSpec) (Aggregate, error) { return newPick(ctx, s, 1) }
	aggregates["ANY_VALUE"] = func(ctx *Context, s AggregateSpec) (Aggregate, error) { return newPick(ctx, s, 0) }
}

// pickState keeps one value a group: the least (want -1), the greatest (1) or
// the first met (0).
type pickState struct {
	typ  Type
	want int
	has  []bool
	ints []int64
	f64  []float64
	wide []vector.Int256
	text [][]byte
	size int64
	// nested values and NULLs of ANY_VALUE are kept in a vector.
	vals *vector.Vec
	at   []int32
	cmp  func(a *vector.Vec, i int, b *vector.Vec, j int) int
}

func newPick(ctx *Context, s AggregateSpec, want int) (Aggregate, error) {
	x, err := plain(s)
	if err != nil {
		return nil, err
	}
	t := x.Type()
	t = t.OfExpression()
	t.Nullable = true
	if t.Class == Year {
		t.Width = 8
	}
	if want != 0 && t.Class == Nested {
		return nil, errs.Unsupportedf(-1, "%s of nested values", upper(s.Name))
	}
	if want != 0 && t.Class == String && t.Coercibility == 1 {
		return nil, collationMix(lower(s.Name), nil, t, t)
	}
	if want != 0 && (t.Class == Enum || t.Class == Set) {
		// MIN and MAX of ENUM compare labels as text.
		t.Length, t.Told.Form = labelsLength(t), Fixed
		t.Class, t.Labels = String, nil
		x = relabel(x, t)
	}
	return &aggregate{name: upper(s.Name), typ: t, args: []Expr{x}, state: func(*Context) State {
		p := &pickState{typ: t, want: want}
		p.cmp = comparer(t)
		return p
	}}, nil
}

func (s *pickState) general() bool {
	return s.want == 0 || s.typ.Class == JSON
}

func (s *pickState) Grow(n int) {
	s.has = growTo(s.has, n)
	if s.general() {
		s.at = growTo(s.at, n)
		return
	}
	switch s.typ.Physical() {
	case vector.I8, vector.I32, vector.I64:
		s.ints = growTo(s.ints, n)
	case vector.F32, vector.F64:
		s.f64 = growTo(s.f64, n)
	case vector.Str:
		s.text = growTo(s.text, n)
	default:
		s.wide = growTo(s.wide, n)
	}
}

func (s *pickState) Bytes() int64 {
	n := s.size + int64(cap(s.has)+cap(s.ints)*8+cap(s.f64)*8+cap(s.wide)*32+cap(s.text)*24+cap(s.at)*4)
	if s.vals != nil {
		n += s.vals.Bytesize()
	}
	return n
}

// better reports whether a three-way comparison of new against old replaces.
func (s *pickState) better(c int) bool { return sign(c) == s.want }

func (s *pickState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	v := args[0]
	if s.general() {
		if s.vals == nil {
			s.vals = vector.NewLike(v.Values(), 16)
		}
		for k := range n {
			i, g := rowOf(sel, k), groupOf(groups, k)
			if s.want == 0 {
				if s.has[g] {
					continue
				}
			} else if v.IsNull(i) || s.has[g] && !s.better(s.cmp(v, i, s.vals, int(s.at[g]))) {
				continue
			}
			s.has[g] = true
			s.at[g] = int32(s.vals.Len)
			s.vals.AppendFrom(v, i)
		}
		return nil
	}
	nulls := v.Valid != nil
	switch s.typ.Physical() {
	case vector.I8, vector.I32, vector.I64:
		unsigned := s.typ.Class == Int && s.typ.Unsigned && s.typ.Width == 8 || s.typ.Class == Bit
		flip := int64(0)
		if unsigned {
			flip = -1 << 63
		}
		for k := range n {
			i := rowOf(sel, k)
			if nulls && v.IsNull(i) {
				continue
			}
			g := groupOf(groups, k)
			x := intAt(v, i)
			if !s.has[g] || s.want < 0 && x^flip < s.ints[g]^flip || s.want > 0 && x^flip > s.ints[g]^flip {
				s.has[g], s.ints[g] = true, x
			}
		}
	case vector.F32, vector.F64:
		for k := range n {
			i := rowOf(sel, k)
			if nulls && v.IsNull(i) {
				continue
			}
			g := groupOf(groups, k)
			x := floatAt(v, i)
			if !s.has[g] || s.better(compareDouble(x, s.f64[g])) {
				s.has[g], s.f64[g] = true, x
			}
		}
	case vector.Str:
		c := collationOf(s.typ).ready()
		for k := range n {
			i := rowOf(sel, k)
			if nulls && v.IsNull(i) {
				continue
			}
			s.putText(c, int(groupOf(groups, k)), v.Bytes(i))
		}
	default:
		for k := range n {
			i := rowOf(sel, k)
			if nulls && v.IsNull(i) {
				continue
			}
			at := v.At(i)
			w := v.Values()
			x := vector.Int256{}
			if w.Kind == vector.I128 {
				x = vector.Int256From(w.I128s[at])
			} else {
				x = w.I256s[at]
			}
			s.putWide(int(groupOf(groups, k)), x)
		}
	}
	return nil
}

func (s *pickState) putText(c *collation, g int, b []byte) {
	if s.has[g] && !s.better(c.compare(b, s.text[g])) {
		return
	}
	s.has[g] = true
	old := s.text[g]
	s.text[g] = append(old[:0], b...)
	s.size += int64(cap(s.text[g]) - cap(old))
}

func (s *pickState) putWide(g int, x vector.Int256) {
	if !s.has[g] || s.better(x.Cmp(s.wide[g])) {
		s.has[g], s.wide[g] = true, x
	}
}

func (s *pickState) Merge(other State, to []uint32) error {
	o := other.(*pickState)
	c := collationOf(s.typ).ready()
	for g, has := range o.has {
		if !has {
			continue
		}
		h := mapped(to, g)
		switch {
		case s.general():
			if s.vals == nil {
				s.vals = vector.NewLike(o.vals, 16)
			}
			i := int(o.at[g])
			if s.has[h] && (s.want == 0 || !s.better(s.cmp(o.vals, i, s.vals, int(s.at[h])))) {
				continue
			}
			s.has[h], s.at[h] = true, int32(s.vals.Len)
			s.vals.AppendFrom(o.vals, i)
		case s.ints != nil:
			flip := int64(0)
			if s.typ.Class == Int && s.typ.Unsigned && s.typ.Width == 8 || s.typ.Class == Bit {
				flip = -1 << 63
			}
			x := o.ints[g]
			if !s.has[h] || s.want < 0 && x^flip < s.ints[h]^flip || s.want > 0 && x^flip > s.ints[h]^flip {
				s.has[h], s.ints[h] = true, x
			}
		case s.f64 != nil:
			if !s.has[h] || s.better(compareDouble(o.f64[g], s.f64[h])) {
				s.has[h], s.f64[h] = true, o.f64[g]
			}
		case s.text != nil:
			s.putText(c, h, o.text[g])
		default:
			s.putWide(h, o.wide[g])
		}
	}
	return nil
}

func (s *pickState) Result(from, to int) (*vector.Vec, error) {
	k := s.typ.Physical()
	if s.general() {
		var out *vector.Vec
		if s.vals != nil {
			out = vector.NewLike(s.vals, to-from)
		} else {
			if k == vector.Invalid {
				k = vector.Str
			}
			out = vector.New(k, to-from)
		}
		for g := from; g < to; g++ {
			if s.has[g] {
				out.AppendFrom(s.vals, int(s.at[g]))
			} else {
				out.AppendNull()
			}
		}
		return out, nil
	}
	out := vector.NewFlat(k, to-from)
	for g := from; g < to; g++ {
		i := g - from
		if !s.has[g] {
			out.SetNull(i)
			continue
		}
		switch k {
		case vector.I8:
			out.I8s[i] = int8(s.ints[g])
		case vector.I32:
			out.I32s[i] = int32(s.ints[g])
		case vector.I64:
			out.I64s[i] = s.ints[g]
		case vector.F32:
			out.F32s[i] = float32(s.f64[g])
		case vector.F64:
			out.F64s[i] = s.f64[g]
		case vector.Str:
			out.SetBytes(i, s.text[g])
		case vector.I128:
			out.I128s[i] = vector.Int128{Lo: s.wide[g][0], Hi: int64(s.wide[g][1])}
		default:
			out.I256s[i] = s.wide[g]
		}
	}
	return out, nil
}
