package fileindex_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/fileindex"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

var types = []catalog.Type{catalog.TBoolean, catalog.TTinyInt, catalog.TSmallInt, catalog.TInt, catalog.TBigInt, catalog.TFloat, catalog.TDouble,
	catalog.TDate, {Kind: catalog.Time, Length: 3}, catalog.TTimestamp(0), catalog.TTimestamp(3), catalog.TTimestamp(6), catalog.TTimestamp(9),
	{Kind: catalog.TimestampLTZ, Length: 3}, {Kind: catalog.TimestampLTZ, Length: 6}, catalog.TString, {Kind: catalog.Char, Length: 3}, catalog.TBytes,
	catalog.TDecimal(9, 2), catalog.TDecimal(18, 0), catalog.TDecimal(30, 2)}

// column makes n rows of few or many values.
func column(r *rand.Rand, t catalog.Type, n int) *vector.Vec {
	v := t.NewVec(n)
	distinct := int64(1 + r.IntN(3*n+1))
	nulls := r.IntN(3)
	for range n {
		if nulls > 0 && r.IntN(4*nulls) == 0 {
			v.AppendNull()
			continue
		}
		x := r.Int64N(distinct) - distinct/3
		switch {
		case t.Kind == catalog.Boolean:
			v.AppendBool(x&1 == 0)
		case t.Kind == catalog.TinyInt:
			v.AppendI32(int32(int8(x)))
		case t.Kind == catalog.SmallInt:
			v.AppendI32(int32(int16(x)))
		case t.Kind == catalog.Time:
			v.AppendI32(int32(max(x, -x)))
		case v.Kind == vector.I32:
			v.AppendI32(int32(x))
		case t.Kind == catalog.Timestamp && t.Length <= 3, t.Kind == catalog.TimestampLTZ && t.Length <= 3:
			v.AppendI64(x * 1000)
		case t.Kind == catalog.BigInt && r.IntN(50) == 0:
			v.AppendI64([]int64{math.MaxInt64, math.MinInt64 + 1}[r.IntN(2)])
		case v.Kind == vector.I64:
			v.AppendI64(x)
		case v.Kind == vector.I128:
			v.AppendI128(vector.Int128From(x))
		case v.Kind == vector.F32:
			v.AppendF32([]float32{float32(x) / 4, float32(math.Inf(1)), float32(math.NaN()), float32(math.Copysign(0, -1))}[min(3, r.IntN(40))%4])
		case v.Kind == vector.F64:
			v.AppendF64([]float64{float64(x) / 4, math.Inf(-1), math.NaN(), math.Copysign(0, -1)}[min(3, r.IntN(40))%4])
		default:
			v.AppendString(strings.Repeat("é", int(max(x, -x)%4)) + fmt.Sprint(x))
		}
	}
	return v
}

// TestBuilt builds indexes of every kind of random columns, cut into batches, of
// every type, and asks them.
func TestBuilt(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	answered, refused := map[string]int{}, 0
	for round := range 8 {
		for _, typ := range types {
			n := 1 + r.IntN(400)
			if round == 0 {
				n = 1
			}
			v := column(r, typ, n)
			option := func(name string) string {
				return map[string]string{"items": "100", "fpp": "0.05", "version": fmt.Sprint(1 + round%2), "index-block-size": "256b", "chunk-size": "100b"}[name]
			}
			if round > 5 {
				option = func(string) string { return "" }
			}
			var entries []fileindex.Entry
			for _, kind := range kinds {
				b, err := fileindex.NewBuilder(kind, typ, option)
				if err != nil {
					if errs.ClassOf(err) != errs.Unsupported {
						t.Fatal(err)
					}
					refused++
					continue
				}
				for from := 0; from < n; {
					to := min(n, from+1+r.IntN(100))
					b.Add(v, from, to)
					from = to
				}
				if b.Bytes() <= 0 {
					t.Errorf("%s holds %d bytes", kind, b.Bytes())
				}
				entries = append(entries, fileindex.Entry{Column: "a", Kind: kind, Body: b.Finish()}, fileindex.Entry{Column: "z\x00😀", Kind: kind, Body: b.Finish()})
			}
			// Entries of one column follow each other.
			var sorted []fileindex.Entry
			for _, c := range []string{"a", "z\x00😀"} {
				for _, e := range entries {
					if e.Column == c {
						sorted = append(sorted, e)
					}
				}
			}
			raw, err := fileindex.Append(nil, sorted)
			if err != nil {
				t.Fatal(err)
			}
			f, err := fileindex.Open(bytes.NewReader(raw), int64(len(raw)), int64(n))
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range f.Kinds("z\x00😀") {
				answered[kind] += check(t, fmt.Sprintf("%s of %s", kind, typ), f, kind, "z\x00😀", typ, v)
			}
		}
	}
	t.Log(answered, refused)
	for _, k := range kinds {
		if answered[k] < 200 {
			t.Errorf("%s answered %d conditions", k, answered[k])
		}
	}
}

// TestCombined evaluates AND, OR and unknown columns, and gives up when there is
// no memory.
func TestCombined(t *testing.T) {
	v := catalog.TInt.NewVec(0)
	for i := range 100 {
		v.AppendI32(int32(i % 10))
	}
	b, err := fileindex.NewBuilder(fileindex.Bitmap, catalog.TInt, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	b.Add(v, 0, 100)
	raw, err := fileindex.Append(nil, []fileindex.Entry{{Column: "a", Kind: fileindex.Bitmap, Body: b.Finish()}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := fileindex.Open(bytes.NewReader(raw), int64(len(raw)), 100)
	if err != nil {
		t.Fatal(err)
	}
	eq := func(c int, x int32) *connector.Predicate {
		w := catalog.TInt.NewVec(1)
		w.AppendI32(x)
		return &connector.Predicate{Op: connector.Eq, Column: c, Value: w}
	}
	column := func(c int) (fileindex.Column, bool) { return fileindex.Column{Name: "a", Type: catalog.TInt}, c == 0 }
	or := func(l ...*connector.Predicate) *connector.Predicate {
		return &connector.Predicate{Op: connector.Or, Children: l}
	}
	for _, c := range []struct {
		p    *connector.Predicate
		want int64 // rows, -1: all
	}{
		{eq(0, 3), 10}, {eq(0, 30), 0}, {eq(1, 3), -1},
		{connector.AndOf(eq(0, 3), eq(1, 3)), 10}, {connector.AndOf(eq(0, 3), eq(0, 4)), 0},
		{or(eq(0, 3), eq(0, 4)), 20}, {or(eq(0, 3), eq(1, 4)), -1}, {or(eq(0, 30), eq(0, 40)), 0},
		{&connector.Predicate{Op: connector.IsNull}, 0}, {&connector.Predicate{Op: connector.HasPrefix, Value: v}, -1},
	} {
		r, err := f.Match(c.p, nil, column)
		if err != nil || r.Count() != c.want || r.None() != (c.want == 0) || r.All() != (c.want < 0) {
			t.Errorf("%+v: %d, %v, want %d", c.p, r.Count(), err, c.want)
		}
	}
	budget := memory.New("small", 100)
	if r, err := f.Match(eq(0, 30), budget, column); err != nil || !r.All() || budget.Used() != 0 {
		t.Error("without memory an index must not answer", err, budget.Used())
	}
	budget = memory.New("enough", 1<<20)
	if r, err := f.Match(eq(0, 30), budget, column); err != nil || !r.None() || budget.Used() != 0 || budget.Peak() == 0 {
		t.Error("memory is not given back", err, budget.Used())
	}
	if r, _ := f.Match(eq(0, 3), nil, column); !r.Any(0, 4) || r.Any(4, 13) || r.Any(64, 73) || !r.Any(64, 74) || r.Any(100, 200) {
		t.Error("Any")
	}
}

// TestOfOtherFile: an index of another number of rows is refused.
func TestOfOtherFile(t *testing.T) {
	for _, kind := range kinds[1:] {
		b, err := fileindex.NewBuilder(kind, catalog.TInt, func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		v := column(rand.New(rand.NewPCG(1, 1)), catalog.TInt, 50)
		b.Add(v, 0, 50)
		raw, err := fileindex.Append(nil, []fileindex.Entry{{Column: "a", Kind: kind, Body: b.Finish()}})
		if err != nil {
			t.Fatal(err)
		}
		f, err := fileindex.Open(bytes.NewReader(raw), int64(len(raw)), 51)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Match(&connector.Predicate{Op: connector.IsNull}, nil, func(int) (fileindex.Column, bool) { return fileindex.Column{Name: "a", Type: catalog.TInt}, true })
		if errs.ClassOf(err) != errs.Corruption {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// FuzzIndex opens bytes as the index of a file and asks every kind and type.
func FuzzIndex(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 5))
	for i, typ := range []catalog.Type{catalog.TInt, catalog.TString, catalog.TDouble, catalog.TTimestamp(3)} {
		var entries []fileindex.Entry
		v := column(r, typ, 64)
		for _, kind := range kinds {
			b, err := fileindex.NewBuilder(kind, typ, func(name string) string {
				return map[string]string{"items": "20", "version": fmt.Sprint(1 + i%2), "index-block-size": "64b", "chunk-size": "64b"}[name]
			})
			if err != nil {
				continue
			}
			b.Add(v, 0, v.Len)
			entries = append(entries, fileindex.Entry{Column: "a", Kind: kind, Body: b.Finish()})
		}
		raw, err := fileindex.Append(nil, entries)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, uint16(64))
	}
	f.Fuzz(func(t *testing.T, raw []byte, rows uint16) {
		x, err := fileindex.Open(bytes.NewReader(raw), int64(len(raw)), int64(rows))
		if err != nil {
			return
		}
		for _, typ := range types {
			v := column(rand.New(rand.NewPCG(5, 5)), typ, 8)
			for _, p := range conditions(v, typ) {
				r, err := x.Match(p, nil, func(int) (fileindex.Column, bool) { return fileindex.Column{Name: "a", Type: typ}, true })
				if err != nil {
					if c := errs.ClassOf(err); c != errs.Corruption && c != errs.Unsupported {
						t.Fatalf("class %v: %v", c, err)
					}
					break
				}
				if !r.All() && r.Count() > int64(rows) {
					t.Fatalf("%d of %d rows", r.Count(), rows)
				}
			}
		}
	})
}
