package expr

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Spillable is a State that can be written to disk and read back.
type Spillable interface {
	State
	// Unload returns what was accumulated as rows of Flat columns. The k-th row
	// belongs to group of[k], or to group k when of is nil; the rows of a group
	// keep their order. They may share memory with the state, which must not be
	// used afterwards. No columns: nothing was accumulated.
	Unload() (of []uint32, cols []*vector.Vec)
	// Load adds rows that Unload of another state of the same aggregate gave, the
	// k-th to group groups[k].
	Load(groups []uint32, cols []*vector.Vec) error
}

// Settling is a Spillable that remembers rows only to find repeated ones.
type Settling interface {
	Spillable
	// Settle forgets them, when none of them will come again.
	Settle() error
	// Types are those of the columns of Unload, of which rows are repeated when all
	// are equal.
	Types() []Type
}

func i64Column(x []int64) *vector.Vec { return &vector.Vec{Kind: vector.I64, Len: len(x), I64s: x} }

func f64Column(x []float64) *vector.Vec { return &vector.Vec{Kind: vector.F64, Len: len(x), F64s: x} }

// Unload implements Spillable.
func (s *countState) Unload() ([]uint32, []*vector.Vec) {
	return nil, []*vector.Vec{i64Column(s.counts)}
}

// Load implements Spillable.
func (s *countState) Load(groups []uint32, cols []*vector.Vec) error {
	for k, g := range groups {
		s.counts[g] += cols[0].I64s[k]
	}
	return nil
}

// Unload implements Spillable.
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

// Load implements Spillable.
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

// Unload implements Spillable.
func (s *varianceState) Unload() ([]uint32, []*vector.Vec) {
	return nil, []*vector.Vec{i64Column(s.counts), f64Column(s.mean), f64Column(s.m2)}
}

// Load implements Spillable.
func (s *varianceState) Load(groups []uint32, cols []*vector.Vec) error {
	return s.Merge(&varianceState{counts: cols[0].I64s, mean: cols[1].F64s, m2: cols[2].F64s}, groups)
}

// Unload implements Spillable.
func (s *bitState) Unload() ([]uint32, []*vector.Vec) {
	return nil, []*vector.Vec{i64Column(s.values)}
}

// Load implements Spillable.
func (s *bitState) Load(groups []uint32, cols []*vector.Vec) error {
	return s.Merge(&bitState{values: cols[0].I64s}, groups)
}

// Unload implements Spillable: the values, and whether there is one (a value may
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

// Load implements Spillable.
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

// Unload implements Spillable: the tuples.
func (s *distinctState) Unload() ([]uint32, []*vector.Vec) {
	if len(s.groups) == 0 {
		return nil, nil
	}
	return s.groups, s.vals
}

// Load implements Spillable.
func (s *distinctState) Load(groups []uint32, cols []*vector.Vec) error {
	return s.Update(groups, cols, nil, len(groups))
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

// Unload implements Spillable: sort key, identity, text.
func (s *concatState) Unload() (of []uint32, cols []*vector.Vec) {
	for range 3 {
		cols = append(cols, vector.New(vector.Str, 16))
	}
	for g, gr := range s.groups {
		for _, it := range gr.items {
			of = append(of, uint32(g))
			cols[0].AppendString(it.key)
			cols[1].AppendString(it.id)
			cols[2].AppendString(it.text)
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	return of, cols
}

// Load implements Spillable.
func (s *concatState) Load(groups []uint32, cols []*vector.Vec) error {
	for k, g := range groups {
		s.add(int(g), concatItem{key: cols[0].String(k), id: cols[1].String(k), text: cols[2].String(k)})
	}
	return nil
}

// Unload implements Spillable: member names and encoded values.
func (s *jsonAggState) Unload() (of []uint32, cols []*vector.Vec) {
	names, vals := vector.New(vector.Str, 16), vector.New(vector.Str, 16)
	var buf []byte
	for g, ms := range s.groups {
		for _, m := range ms {
			of = append(of, uint32(g))
			names.AppendString(m.key)
			buf = m.val.encode(buf[:0])
			vals.AppendBytes(buf)
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	return of, []*vector.Vec{names, vals}
}

// Load implements Spillable.
func (s *jsonAggState) Load(groups []uint32, cols []*vector.Vec) error {
	for k, g := range groups {
		d := jsonDecoder{b: cols[1].Bytes(k)}
		v := d.value(0)
		if d.bad || len(d.b) > 0 {
			return errs.Corruptf("read a spilled JSON value: it is damaged")
		}
		s.groups[g] = append(s.groups[g], jsonMember{key: cols[0].String(k), val: v})
		s.size += int64(cols[0].Views[k].Len()+cols[1].Views[k].Len()) + 160
	}
	return nil
}

// encode appends all of a JSON value, exactly:
//
//	| kind u8 | flags u8: 1 true, 2 unsigned, 4 a decimal | number class u8 | us i64 | i i64 | f f64 |
//	| text | [decimal scale i64, text] | elements u32, value … | members u32, (name, value) … |
//
// where a text is its length as u32 and its bytes.
func (v *jsonValue) encode(dst []byte) []byte {
	le := binary.LittleEndian
	text := func(s string) { dst = append(le.AppendUint32(dst, uint32(len(s))), s...) }
	flags := byte(0)
	if v.b {
		flags |= 1
	}
	if v.num.unsigned {
		flags |= 2
	}
	if v.num.d.unscaled != nil {
		flags |= 4
	}
	dst = append(dst, byte(v.kind), flags, byte(v.num.class))
	dst = le.AppendUint64(dst, uint64(v.us))
	dst = le.AppendUint64(dst, uint64(v.num.i))
	dst = le.AppendUint64(dst, math.Float64bits(v.num.f))
	text(v.s)
	if v.num.d.unscaled != nil {
		dst = le.AppendUint64(dst, uint64(v.num.d.scale))
		text(v.num.d.unscaled.Text(62))
	}
	dst = le.AppendUint32(dst, uint32(len(v.arr)))
	for _, x := range v.arr {
		dst = x.encode(dst)
	}
	dst = le.AppendUint32(dst, uint32(len(v.obj)))
	for _, m := range v.obj {
		text(m.key)
		dst = m.val.encode(dst)
	}
	return dst
}

// jsonDecoder reads what encode wrote; bad is set when it is something else.
type jsonDecoder struct {
	b   []byte
	bad bool
}

func (d *jsonDecoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.b) {
		d.bad = true
		return make([]byte, max(0, min(n, 8)))
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *jsonDecoder) u64() uint64 { return binary.LittleEndian.Uint64(d.take(8)) }
func (d *jsonDecoder) u32() int    { return int(binary.LittleEndian.Uint32(d.take(4))) }
func (d *jsonDecoder) text() string {
	n := d.u32()
	if d.bad || n > len(d.b) {
		d.bad = true
		return ""
	}
	return string(d.take(n))
}

func (d *jsonDecoder) value(depth int) *jsonValue {
	if depth > 1000 {
		d.bad = true
		return nil
	}
	h := d.take(3)
	v := &jsonValue{kind: jsonKind(h[0]), b: h[1]&1 != 0}
	v.num.unsigned, v.num.class = h[1]&2 != 0, Class(h[2])
	v.us, v.num.i, v.num.f = int64(d.u64()), int64(d.u64()), math.Float64frombits(d.u64())
	v.s = d.text()
	if h[1]&4 != 0 {
		v.num.d.scale = int(d.u64())
		var ok bool
		if v.num.d.unscaled, ok = new(big.Int).SetString(d.text(), 62); !ok {
			d.bad = true
		}
	}
	for n := d.u32(); n > 0 && !d.bad; n-- {
		v.arr = append(v.arr, d.value(depth+1))
	}
	for n := d.u32(); n > 0 && !d.bad; n-- {
		v.obj = append(v.obj, jsonMember{key: d.text(), val: d.value(depth + 1)})
	}
	return v
}
