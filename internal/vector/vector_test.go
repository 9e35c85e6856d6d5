package vector

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// sample makes a vector of each kind with n random rows, a third of them NULL.
func sample(r *rand.Rand, kind Kind, n int) *Vec {
	v := New(kind, n)
	switch kind {
	case List:
		v.Child = []*Vec{New(I32, 0)}
	case Map:
		v.Child = []*Vec{New(Str, 0), New(F64, 0)}
	case Struct:
		v.Child = []*Vec{New(I64, 0), New(Str, 0)}
	}
	for range n {
		if r.IntN(3) == 0 {
			v.AppendNull()
			continue
		}
		appendRandom(r, v)
	}
	return v
}

func appendRandom(r *rand.Rand, v *Vec) {
	x := r.Int64() >> r.IntN(64)
	switch v.Kind {
	case I8:
		v.AppendI8(int8(x))
	case I32:
		v.AppendI32(int32(x))
	case I64:
		v.AppendI64(x)
	case I128:
		v.AppendI128(Int128{uint64(x), r.Int64()})
	case I256:
		v.AppendI256(Int256{uint64(x), r.Uint64(), r.Uint64(), r.Uint64()})
	case F32:
		v.AppendF32(float32(x) / 3)
	case F64:
		v.AppendF64(float64(x) / 3)
	case Str:
		v.AppendString(strings.Repeat(fmt.Sprint(x), r.IntN(4)))
	case List, Map:
		for range r.IntN(4) {
			for _, c := range v.Child {
				appendRandom(r, c)
			}
		}
		v.CloseList()
	case Struct:
		for _, c := range v.Child {
			appendRandom(r, c)
		}
		v.CloseStruct()
	}
}

var allKinds = []Kind{I8, I32, I64, I128, I256, F32, F64, Str, List, Map, Struct}

// TestFormsAgree: gathering, flattening, cloning and appending keep every row,
// in every form.
func TestFormsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, kind := range allKinds {
		for _, n := range []int{1, 2, 63, 64, 65, 300} {
			v := sample(r, kind, n)
			if v.Len != n {
				t.Fatalf("%v: %d rows", kind, v.Len)
			}
			sel := make([]uint16, 0, n)
			for i := range n {
				if r.IntN(2) == 0 {
					sel = append(sel, uint16(i))
				}
			}
			g := v.Gather(sel)
			w := NewLike(v, 0)
			w.AppendRows(v, sel)
			if g.Len != len(sel) || w.Len != len(sel) || g.NullCount() != w.NullCount() {
				t.Fatalf("%v: %d %d of %d", kind, g.Len, w.Len, len(sel))
			}
			for o, i := range sel {
				if Compare(g, o, v, int(i)) != 0 || Compare(w, o, v, int(i)) != 0 || g.IsNull(o) != v.IsNull(int(i)) {
					t.Fatalf("%v: row %d differs after Gather or AppendRows", kind, i)
				}
			}
			c := v.Gather([]uint16{0}).AsConst(5)
			f := c.Flatten()
			for i := range 5 {
				if Compare(c, i, v, 0) != 0 || Compare(f, i, v, 0) != 0 {
					t.Fatalf("%v: a const differs", kind)
				}
			}
			if c.NullCount() != f.NullCount() {
				t.Fatalf("%v: %d and %d NULLs", kind, c.NullCount(), f.NullCount())
			}
		}
	}
}

func TestDict(t *testing.T) {
	dict := New(Str, 3)
	for _, s := range []string{"a", "a string longer than twelve bytes", ""} {
		dict.AppendString(s)
	}
	v := &Vec{Kind: Str, Form: Dict, Len: 4, Codes: []uint32{2, 1, 0, 1}, Dict: dict}
	v.SetNull(2)
	if v.String(1) != "a string longer than twelve bytes" || v.String(0) != "" || !v.IsNull(2) || v.NullCount() != 1 {
		t.Fatal("dictionary form")
	}
	f := v.Flatten()
	g := v.Gather([]uint16{1, 2})
	if f.String(3) != v.String(3) || !f.IsNull(2) || g.String(0) != v.String(1) || !g.IsNull(1) || g.Form != Dict {
		t.Fatal("flatten or gather of a dictionary")
	}
}

// TestArenaViewsStay: views keep their bytes while the arena grows.
func TestArenaViewsStay(t *testing.T) {
	v := New(Str, 0)
	var want []string
	for i := range 5000 {
		s := strings.Repeat(fmt.Sprint(i), i%40)
		want = append(want, s)
		v.AppendString(s)
	}
	v.AppendBytes(make([]byte, 100_000))
	for i, s := range want {
		if v.String(i) != s {
			t.Fatalf("row %d: %q", i, v.String(i))
		}
	}
	w := v.Gather([]uint16{4999})
	v.Reset()
	v.AppendString(strings.Repeat("x", 4000))
	if w.String(0) != want[4999] {
		t.Fatal("a gathered view changed when its source was reset")
	}
}

func TestBatch(t *testing.T) {
	b := NewBatch([]Kind{I64, Str}, 4)
	for i := range 4 {
		b.Cols[0].AppendI64(int64(i))
		b.Cols[1].AppendString(fmt.Sprint(i))
		b.Len++
	}
	b.Kinds = []RowKind{Insert, Delete, UpdateAfter, Insert}
	b.Sel = []uint16{1, 3}
	for _, c := range []*Batch{b.Compact(), b.Clone()} {
		if c.Len != 2 || c.Rows() != 2 || c.Cols[0].I64s[1] != 3 || c.Kind(0) != Delete || c.Cols[1].String(0) != "1" {
			t.Fatalf("%+v", c)
		}
	}
	d := NewBatch([]Kind{I64, Str}, 0)
	d.AppendRow(&Batch{Len: 1, Cols: b.Compact().Cols}, 0)
	d.AppendRow(b, 2)
	if d.Len != 2 || d.Kind(0) != Insert || d.Kind(1) != UpdateAfter || d.Cols[0].I64s[0] != 1 {
		t.Fatalf("%+v", d)
	}
}

func TestCompareF64(t *testing.T) {
	up := []float64{math.Inf(-1), -1, math.Copysign(0, -1), 0, 1, math.Inf(1), math.NaN()}
	for i := range up {
		for j := range up {
			if got, want := CompareF64(up[i], up[j]), cmp(int64(i), int64(j)); got != want {
				t.Errorf("%v against %v: %d", up[i], up[j], got)
			}
		}
	}
}

// TestWide checks wide integers against math/big.
func TestWide(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	mod := func(b *big.Int, n uint) *big.Int { // two's complement wrap
		m := new(big.Int).Lsh(big.NewInt(1), n)
		b = new(big.Int).Mod(b, m)
		if b.Bit(int(n)-1) == 1 {
			b.Sub(b, m)
		}
		return b
	}
	word := func() uint64 { return r.Uint64() >> r.IntN(64) * uint64(r.IntN(2)) }
	for range 20000 {
		x, y := Int128{word(), int64(word()) * int64(1-2*r.IntN(2))}, Int128{word(), int64(word())}
		if got, want := x.Add(y).Big(), mod(new(big.Int).Add(x.Big(), y.Big()), 128); got.Cmp(want) != 0 {
			t.Fatalf("%v + %v = %v", x, y, got)
		}
		if got, want := x.Sub(y).Big(), mod(new(big.Int).Sub(x.Big(), y.Big()), 128); got.Cmp(want) != 0 {
			t.Fatalf("%v - %v = %v", x, y, got)
		}
		if x.Cmp(y) != x.Big().Cmp(y.Big()) || x.Sign() != x.Big().Sign() || x.IsInt64() != x.Big().IsInt64() {
			t.Fatalf("%v and %v", x, y)
		}
		if z, ok := Int128FromBig(x.Big()); !ok || z != x {
			t.Fatalf("%v round trip %v", x, z)
		}
		a, b := Int256{word(), word(), word(), word()}, Int256From(x)
		if r.IntN(2) == 0 {
			a = a.Neg()
		}
		if b.Big().Cmp(x.Big()) != 0 || a.Cmp(b) != a.Big().Cmp(b.Big()) || a.Sign() != a.Big().Sign() {
			t.Fatalf("%v and %v", a, b)
		}
		if got, want := a.Add(b).Big(), mod(new(big.Int).Add(a.Big(), b.Big()), 256); got.Cmp(want) != 0 {
			t.Fatalf("%v + %v = %v", a, b, got)
		}
		if z, ok := Int256FromBig(a.Big()); !ok || z != a {
			t.Fatalf("%v round trip %v", a, z)
		}
	}
	if _, ok := Int128FromBig(new(big.Int).Lsh(big.NewInt(1), 127)); ok {
		t.Fatal("2^127 fits")
	}
	if _, ok := Int256FromBig(new(big.Int).Lsh(big.NewInt(1), 255)); ok {
		t.Fatal("2^255 fits")
	}
}

func TestDecimalText(t *testing.T) {
	for _, c := range []struct {
		in    string
		scale int
		out   string
		exact bool
	}{
		{"0", 0, "0", true}, {"-0.50", 2, "-0.50", true}, {"12", 2, "12.00", true}, {"1.005", 2, "1.01", false},
		{"-1.005", 2, "-1.01", false}, {"-1.004", 2, "-1.00", false}, {"1e3", 1, "1000.0", true}, {"125e-2", 1, "1.3", false},
		{".5", 1, "0.5", true}, {"5.", 0, "5", true}, {"99999999999999999999999999999999999999", 0, "99999999999999999999999999999999999999", true},
		{"-0.004", 2, "0.00", false},
	} {
		u, exact, ok := ParseDecimal(c.in, c.scale)
		if !ok || exact != c.exact || string(FormatDecimalBig(nil, u, c.scale)) != c.out {
			t.Errorf("%s at scale %d: %v %v %v", c.in, c.scale, u, exact, ok)
		}
		if u.IsInt64() && string(FormatDecimal(nil, u.Int64(), c.scale)) != c.out {
			t.Errorf("%s at scale %d as int64: %s", c.in, c.scale, FormatDecimal(nil, u.Int64(), c.scale))
		}
	}
	for _, s := range []string{"", ".", "-", "1.2.3", "abc", "1e", "0x10", "1e99999"} {
		if _, _, ok := ParseDecimal(s, 2); ok {
			t.Errorf("%q is a number", s)
		}
	}
	if string(FormatDecimal(nil, math.MinInt64, 3)) != "-9223372036854775.808" {
		t.Error(string(FormatDecimal(nil, math.MinInt64, 3)))
	}
}
