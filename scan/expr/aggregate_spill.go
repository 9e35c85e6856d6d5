package expr

import (
	"encoding/binary"

	"github.com/thermocline/thermocline/internal/vector"
)

// Settling is a State that remembers rows only to find repeated ones.
type Settling interface {
	State
	// Settle forgets them, when none of them will come again.
	Settle() error
	// Types are those of the first columns of Unload; rows are repeated when these are
	// equal. Load is told of each row where it was among all, as one more column: I64,
	// ascending within a call.
	Types() []Type
}

// SettlingOf returns s as a Settling, when it is one.
func SettlingOf(s State) (Settling, bool) {
	if f, ok := s.(*filteredState); ok {
		return SettlingOf(f.State)
	}
	out, ok := s.(Settling)
	return out, ok
}

func i64Column(x []int64) *vector.Vec { return &vector.Vec{Kind: vector.I64, Len: len(x), I64s: x} }

func f64Column(x []float64) *vector.Vec { return &vector.Vec{Kind: vector.F64, Len: len(x), F64s: x} }

// Unload implements State.
func (s *countState) Unload() ([]uint32, []*vector.Vec) {
	return nil, []*vector.Vec{i64Column(s.counts)}
}

// Load implements State.
func (s *countState) Load(groups []uint32, cols []*vector.Vec) error {
	for k, g := range groups {
		s.counts[g] += cols[0].I64s[k]
	}
	return nil
}

// Unload implements State.
func (s *sumState) Unload() ([]uint32, []*vector.Vec) {
	cols := []*vector.Vec{i64Column(s.counts)}
	switch {
	case s.in.Class == Double:
		cols = append(cols, f64Column(s.sums), f64Column(s.comp))
	case s.isWide():
		cols = append(cols, &vector.Vec{Kind: vector.I256, Len: len(s.wide), I256s: s.wide})
	default:
		cols = append(cols, &vector.Vec{Kind: vector.I128, Len: len(s.small), I128s: s.small})
	}
	return nil, cols
}

// Load implements State.
func (s *sumState) Load(groups []uint32, cols []*vector.Vec) error {
	o := &sumState{counts: cols[0].I64s}
	switch {
	case s.in.Class == Double:
		o.sums, o.comp = cols[1].F64s, cols[2].F64s
	case s.isWide():
		o.wide = cols[1].I256s
	default:
		o.small = cols[1].I128s
	}
	return s.Merge(o, groups)
}

// Unload implements State.
func (s *varianceState) Unload() ([]uint32, []*vector.Vec) {
	return nil, []*vector.Vec{i64Column(s.counts), f64Column(s.mean), f64Column(s.m2)}
}

// Load implements State.
func (s *varianceState) Load(groups []uint32, cols []*vector.Vec) error {
	return s.Merge(&varianceState{counts: cols[0].I64s, mean: cols[1].F64s, m2: cols[2].F64s}, groups)
}

// Unload implements State.
func (s *bitState) Unload() ([]uint32, []*vector.Vec) {
	return nil, []*vector.Vec{i64Column(s.values)}
}

// Load implements State.
func (s *bitState) Load(groups []uint32, cols []*vector.Vec) error {
	return s.Merge(&bitState{values: cols[0].I64s}, groups)
}

// Unload implements State: the values, and whether there is one (a value may
// be NULL).
func (s *pickState) Unload() ([]uint32, []*vector.Vec) {
	var of []uint32
	for g, has := range s.has {
		if has {
			of = append(of, uint32(g))
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	var v *vector.Vec
	switch {
	case s.general():
		v = vector.NewLike(s.vals, len(of))
		for _, g := range of {
			v.AppendFrom(s.vals, int(s.at[g]))
		}
	case s.ints != nil:
		v = vector.New(vector.I64, len(of))
		for _, g := range of {
			v.AppendI64(s.ints[g])
		}
	case s.f64 != nil:
		v = vector.New(vector.F64, len(of))
		for _, g := range of {
			v.AppendF64(s.f64[g])
		}
	case s.text != nil:
		v = vector.New(vector.Str, len(of))
		for _, g := range of {
			v.AppendBytes(s.text[g])
		}
	default:
		v = vector.New(vector.I256, len(of))
		for _, g := range of {
			v.AppendI256(s.wide[g])
		}
	}
	return of, []*vector.Vec{v}
}

// Load implements State.
func (s *pickState) Load(groups []uint32, cols []*vector.Vec) error {
	v := cols[0]
	o := &pickState{typ: s.typ, want: s.want, has: make([]bool, len(groups)), vals: v}
	for k := range o.has {
		o.has[k] = true
	}
	switch {
	case s.general():
		o.at = make([]int32, len(groups))
		for k := range o.at {
			o.at[k] = int32(k)
		}
	case s.ints != nil:
		o.ints = v.I64s
	case s.f64 != nil:
		o.f64 = v.F64s
	case s.text != nil:
		o.text = make([][]byte, len(groups))
		for k := range o.text {
			o.text[k] = v.Bytes(k)
		}
	default:
		o.wide = v.I256s
	}
	return s.Merge(o, groups)
}

// Unload implements State: the tuples.
func (s *distinctState) Unload() ([]uint32, []*vector.Vec) {
	if len(s.groups) == 0 {
		return nil, nil
	}
	return s.groups, s.vals
}

// Load implements State.
func (s *distinctState) Load(groups []uint32, cols []*vector.Vec) error {
	return s.Update(groups, cols[:len(s.args)], nil, len(groups))
}

// Settle implements Settling.
func (s *distinctState) Settle() error {
	if s.fed < len(s.groups) {
		if err := s.inner.Update(s.groups, s.vals, nil, len(s.groups)); err != nil {
			return err
		}
	}
	s.seen = tupleSet{}
	s.groups, s.vals, s.size, s.fed = nil, nil, 0, 0
	return nil
}

// Types implements Settling.
func (s *distinctState) Types() []Type {
	out := make([]Type, len(s.args))
	for i, a := range s.args {
		out[i] = a.Type()
	}
	return out
}

// Unload implements State: identity, sort key, text.
func (s *concatState) Unload() (of []uint32, cols []*vector.Vec) {
	for range 3 {
		cols = append(cols, vector.New(vector.Str, 16))
	}
	for g, gr := range s.groups {
		for _, it := range gr.items {
			of = append(of, uint32(g))
			cols[0].AppendString(it.id)
			cols[1].AppendString(it.key)
			cols[2].AppendString(it.text)
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	return of, cols
}

// Load implements State.
func (s *concatState) Load(groups []uint32, cols []*vector.Vec) error {
	for k, g := range groups {
		it := concatItem{id: cols[0].String(k), key: cols[1].String(k), text: cols[2].String(k)}
		if len(cols) > 3 {
			it.at = cols[3].I64s[k]
		} else {
			it.at = s.next()
		}
		s.add(int(g), it)
	}
	return nil
}

// Settle implements Settling.
func (s *concatState) Settle() error {
	s.seen, s.seenBytes, s.settled = nil, 0, true
	for g := range s.groups {
		if gr := &s.groups[g]; gr.bytes > s.most() {
			s.shorten(g)
		}
	}
	return s.ctx.Ended()
}

// Types implements Settling.
func (s *concatState) Types() []Type { return []Type{{Class: Bytes}} }

// Unload implements State: of each group the hashes, or the registers, which are
// more bytes than all hashes can be.
func (s *sketchState) Unload() ([]uint32, []*vector.Vec) {
	v := vector.New(vector.Str, len(s.groups))
	var buf []byte
	for g := range s.groups {
		sk := &s.groups[g]
		if sk.regs != nil {
			v.AppendBytes(sk.regs)
			continue
		}
		buf = buf[:0]
		for _, h := range sk.few {
			buf = binary.LittleEndian.AppendUint64(buf, h)
		}
		v.AppendBytes(buf)
	}
	return nil, []*vector.Vec{v}
}

// Load implements State.
func (s *sketchState) Load(groups []uint32, cols []*vector.Vec) error {
	for k, g := range groups {
		var o sketch
		b := cols[0].Bytes(k)
		if len(b) == 1<<sketchBits {
			o.regs = b
		}
		for ; o.regs == nil && len(b) >= 8; b = b[8:] {
			o.few = append(o.few, binary.LittleEndian.Uint64(b))
		}
		to := &s.groups[g]
		before := to.size()
		to.merge(&o)
		s.bytes += to.size() - before
	}
	return nil
}

// Unload implements State.
func (s *filteredState) Unload() ([]uint32, []*vector.Vec) { return s.State.Unload() }

// Load implements State.
func (s *filteredState) Load(groups []uint32, cols []*vector.Vec) error {
	return s.State.Load(groups, cols)
}
