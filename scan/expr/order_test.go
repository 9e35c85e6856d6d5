package expr

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/vector"
)

// orderedTypes are types with values that are hard to order.
func orderedTypes() map[string]struct {
	t Type
	v *vector.Vec
} {
	type pair = struct {
		t Type
		v *vector.Vec
	}
	out := map[string]pair{}
	texts := []string{"", " ", "a", "A", "a ", "a  ", "a\t", "a b", "a  b", "a \x01", "a \t", "ab", "é", "e", "É", "ß", "ss", "ae", "Æ", "中文", "😀", "😁",
		"a\x00", "a\x00b", "\x01", "zz", "l·a", "la", "lb", "и\u0306", "й", "한글", "ﬁ", "fi", "\u0301", "a\u0301"}
	for _, c := range []string{"utf8mb4_0900_ai_ci", "utf8mb4_0900_bin", "utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_unicode_ci", "latin1_swedish_ci", "latin1_general_ci", "ascii_general_ci"} {
		v := vector.New(vector.Str, 0)
		v.AppendNull()
		for _, s := range texts {
			v.AppendString(s)
		}
		out[c] = pair{TString(10, c), v}
	}
	b := vector.New(vector.Str, 0)
	for _, s := range texts {
		b.AppendString(s)
	}
	out["bytes"] = pair{TBytes(10), b}
	f := vector.New(vector.F64, 0)
	f.AppendNull()
	for _, x := range []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 1e-300, -1e-300, 1e300} {
		f.AppendF64(x)
	}
	out["double"] = pair{TDouble, f}
	i := vector.New(vector.I64, 0)
	for _, x := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 42} {
		i.AppendI64(x)
	}
	out["bigint"] = pair{TBigInt, i}
	out["unsigned"] = pair{TUint64, i}
	out["datetime"] = pair{TDateTime(6), i}
	w := vector.New(vector.I128, 0)
	for _, x := range []vector.Int128{{}, {Lo: 1}, {Lo: math.MaxUint64, Hi: -1}, {Hi: 1}, {Hi: -1}, {Lo: 5, Hi: 7}} {
		w.AppendI128(x)
	}
	out["decimal"] = pair{TDecimal(38, 3), w}
	e := vector.New(vector.Str, 0)
	for _, s := range []string{"z", "a", "m", ""} {
		e.AppendString(s)
	}
	out["enum"] = pair{Type{Class: Enum, Labels: []string{"z", "a", "m"}, Collation: "utf8mb4_general_ci"}, e}
	j := vector.New(vector.Str, 0)
	for _, s := range []string{`null`, `1`, `1.0`, `2`, `10`, `-3`, `9007199254740993`, `9007199254740992`, `"a"`, `"b"`, `"10"`, `[]`, `[1]`, `[1, 2]`, `[2]`, `{}`, `{"a": 1}`, `{"a": 2}`, `{"b": 1}`, `true`, `false`, `18446744073709551615`} {
		j.AppendString(s)
	}
	out["json"] = pair{TJSON, j}
	return out
}

// TestSortKeys checks that keys, comparisons, equality and hashes agree.
func TestSortKeys(t *testing.T) {
	for name, p := range orderedTypes() {
		cmp := Comparer(p.t)
		n := p.v.Len
		h := make([]uint64, n)
		Hash(p.t, p.v, nil, h)
		for i := range n {
			for j := range n {
				a, b := AppendSortKey(nil, p.t, p.v, i), AppendSortKey(nil, p.t, p.v, j)
				c := sign(cmp(p.v, i, p.v, j))
				if k := bytes.Compare(a, b); k != c {
					t.Errorf("%s: rows %d and %d compare %d, their keys %d (%x, %x)", name, i, j, c, k, a, b)
				}
				if Equal(p.t, p.v, i, p.v, j) != (c == 0) {
					t.Errorf("%s: rows %d and %d: Equal disagrees with the comparison", name, i, j)
				}
				if c == 0 && h[i] != h[j] {
					t.Errorf("%s: rows %d and %d are equal and hash differently", name, i, j)
				}
				if c != -sign(cmp(p.v, j, p.v, i)) {
					t.Errorf("%s: rows %d and %d: the comparison is not antisymmetric", name, i, j)
				}
				// Keys are self-delimiting: a following column decides only
				// between equal ones.
				x, y := append(bytes.Clone(a), 0xFF), append(bytes.Clone(b), 0x00)
				if k := bytes.Compare(x, y); c != 0 && k != c || c == 0 && k != 1 {
					t.Errorf("%s: rows %d and %d: a second key column changes the order", name, i, j)
				}
			}
		}
	}
}

// TestHashForms checks that the form of a vector does not change its hash.
func TestHashForms(t *testing.T) {
	for name, p := range orderedTypes() {
		n := p.v.Len
		want := make([]uint64, n)
		Hash(p.t, p.v, nil, want)
		for i := range n {
			one := vector.New(p.v.Kind, 1)
			one.AppendFrom(p.v, i)
			h := make([]uint64, 2)
			Hash(p.t, one.AsConst(2), nil, h)
			if h[0] != want[i] || h[1] != want[i] {
				t.Errorf("%s: row %d hashes differently as a constant", name, i)
			}
		}
	}
}

func TestUCAAgainstMySQL(t *testing.T) {
	loadUCA()
	// HEX(WEIGHT_STRING(s)) of MySQL 9.7.
	for _, c := range []struct{ coll, s, want string }{
		{"utf8mb4_0900_ai_ci", "aß", "1c471e711e71"},
		{"utf8mb4_0900_ai_ci", "и\u0306", "2080"},
		{"utf8mb4_0900_ai_ci", "й", "208d"},
		{"utf8mb4_0900_ai_ci", "l·", "1d77028b"},
		{"utf8mb4_0900_ai_ci", "เก", "2dad2d73"},
		{"utf8mb4_0900_ai_ci", "\u4e20", "fb40ce20"},
		{"utf8mb4_0900_ai_ci", "\ud7a4", "3c083c73"},
		{"utf8mb4_0900_ai_ci", "\U000187ed", "fb0097ed"},
		{"utf8mb4_unicode_ci", "เก", "181e17e4"},
		{"utf8mb4_unicode_ci", "a  ", "0e3302090209"},
		{"utf8mb4_unicode_ci", "😀", "fffd"},
		{"utf8mb4_general_ci", "aß", "00410053"},
	} {
		var got string
		for _, w := range collations[c.coll].ready().weigh(nil, []byte(c.s)) {
			got += fmt.Sprintf("%04x", w)
		}
		if got != c.want {
			t.Errorf("%s of %q: %s, want %s", c.coll, c.s, got, c.want)
		}
	}
}

func FuzzCollations(f *testing.F) {
	f.Add("a b", "a  c", "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) || !utf8.ValidString(c) {
			return
		}
		for _, name := range []string{"utf8mb4_0900_ai_ci", "utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_unicode_ci", "binary"} {
			k := collations[name].ready()
			x, y := k.appendKey(nil, []byte(a)), k.appendKey(nil, []byte(b))
			if sign(bytes.Compare(x, y)) != sign(k.compare([]byte(a), []byte(b))) {
				t.Errorf("%s: %q and %q: keys %x, %x; comparison %d", name, a, b, x, y, k.compare([]byte(a), []byte(b)))
			}
			if k.compare([]byte(a), []byte(b)) <= 0 && k.compare([]byte(b), []byte(c)) <= 0 && k.compare([]byte(a), []byte(c)) > 0 {
				t.Errorf("%s: not transitive: %q, %q, %q", name, a, b, c)
			}
		}
	})
}

// TestAggregateMerge checks that splitting rows among states and merging them
// gives what one state gives.
func TestAggregateMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ctx := NewContext()
	tables := loadTables(t)
	v := tables["v"]
	col := func(name string) Expr {
		for i, n := range v.names {
			if n == name {
				return Column(i, v.types[i], n)
			}
		}
		t.Fatal(name)
		return nil
	}
	for _, spec := range []AggregateSpec{
		{Name: "COUNT"}, {Name: "count", Args: []Expr{col("i")}}, {Name: "COUNT", Distinct: true, Args: []Expr{col("i"), col("b")}},
		{Name: "SUM", Args: []Expr{col("bi")}}, {Name: "SUM", Args: []Expr{col("d10")}}, {Name: "SUM", Args: []Expr{col("f")}}, {Name: "SUM", Distinct: true, Args: []Expr{col("ti")}},
		{Name: "AVG", Args: []Expr{col("d2")}}, {Name: "AVG", Args: []Expr{col("si")}},
		{Name: "MIN", Args: []Expr{col("s")}}, {Name: "MAX", Args: []Expr{col("sc")}}, {Name: "MIN", Args: []Expr{col("ts6")}}, {Name: "MAX", Args: []Expr{col("d10")}}, {Name: "MIN", Args: []Expr{col("dbl")}},
		{Name: "BIT_XOR", Args: []Expr{col("bi")}}, {Name: "BIT_AND", Args: []Expr{col("i")}},
		{Name: "GROUP_CONCAT", Args: []Expr{col("sc")}, Order: []OrderItem{{Expr: col("id"), Desc: true}}},
		{Name: "GROUP_CONCAT", Distinct: true, Args: []Expr{col("ti")}, Order: []OrderItem{{Expr: col("ti")}}},
		{Name: "VAR_SAMP", Args: []Expr{col("i")}}, {Name: "ANY_VALUE", Args: []Expr{col("b")}},
	} {
		a, err := NewAggregate(ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		args := make([]*vector.Vec, len(a.Args()))
		for i, x := range a.Args() {
			if args[i], err = x.Eval(ctx, v.batch); err != nil {
				t.Fatal(err)
			}
		}
		for round := range 20 {
			n := v.batch.Len
			groups := make([]uint32, n)
			for i := range groups {
				groups[i] = uint32(r.IntN(3))
			}
			whole := a.NewState(ctx)
			whole.Grow(3)
			if err := whole.Update(groups, args, nil, n); err != nil {
				t.Fatal(err)
			}
			total := a.NewState(ctx)
			total.Grow(3)
			var parts [3][]uint16
			for i := range n {
				k := 0
				if spec.Name != "ANY_VALUE" {
					k = r.IntN(3)
				}
				parts[k] = append(parts[k], uint16(i))
			}
			for _, sel := range parts {
				s := a.NewState(ctx)
				s.Grow(3)
				g := make([]uint32, len(sel))
				for k, i := range sel {
					g[k] = 2 - groups[i] // other numbers than in the whole
				}
				if err := s.Update(g, args, sel, len(sel)); err != nil {
					t.Fatal(err)
				}
				if err := total.Merge(s, []uint32{2, 1, 0}); err != nil {
					t.Fatal(err)
				}
			}
			x, err := whole.Result(0, 3)
			if err != nil {
				t.Fatal(err)
			}
			y, err := total.Result(0, 3)
			if err != nil {
				t.Fatal(err)
			}
			for g := range 3 {
				want, got := "NULL", "NULL"
				if !x.IsNull(g) {
					want = string(AppendText(nil, a.Type(), x, g, nil))
				}
				if !y.IsNull(g) {
					got = string(AppendText(nil, a.Type(), y, g, nil))
				}
				if !same(want, got, map[bool]string{true: "double"}[a.Type().Class == Double]) {
					t.Errorf("%s, round %d, group %d: %s merged, %s at once", a, round, g, got, want)
				}
			}
			if total.Bytes() <= 0 {
				t.Errorf("%s: no memory is accounted for", a)
			}
		}
	}
}
