package expr

import (
	"math/rand/v2"
	"testing"

	"github.com/thermocline/thermocline/internal/vector"
)

// Kernels over batches of 4,096 rows; ns/op / 4096 is the time a row.
func benchBatch() (*vector.Batch, []Type) {
	const n = vector.BatchRows
	r := rand.New(rand.NewPCG(1, 2))
	b := &vector.Batch{Len: n, Seq: -1}
	i32, i64, d2, f, s, dt, wide := vector.New(vector.I32, n), vector.New(vector.I64, n), vector.New(vector.I64, n), vector.New(vector.F64, n), vector.New(vector.Str, n), vector.New(vector.I32, n), vector.New(vector.I128, n)
	words := []string{"furiously", "regular", "accounts", "special packages haggle", "Quickly", "ironic deposits sleep across the"}
	dict := vector.New(vector.Str, len(words))
	for _, w := range words {
		dict.AppendString(w)
	}
	ds := &vector.Vec{Kind: vector.Str, Form: vector.Dict, Len: n, Dict: dict}
	for range n {
		i32.AppendI32(int32(r.IntN(1000)))
		i64.AppendI64(r.Int64N(1 << 40))
		d2.AppendI64(r.Int64N(1 << 30))
		f.AppendF64(r.Float64() * 1000)
		s.AppendString(words[r.IntN(len(words))] + " " + words[r.IntN(len(words))])
		dt.AppendI32(int32(8000 + r.IntN(3000)))
		wide.AppendI128(vector.Int128From(r.Int64()))
		ds.Codes = append(ds.Codes, uint32(r.IntN(len(words))))
	}
	b.Cols = []*vector.Vec{i32, i64, d2, f, s, ds, dt, wide}
	return b, []Type{{Class: Int, Width: 4}, {Class: Int, Width: 8}, TDecimal(12, 2), TDouble, TString(60, "utf8mb4_0900_bin"), TString(30, "utf8mb4_0900_ai_ci"), TDate, TDecimal(38, 4)}
}

func BenchmarkKernels(b *testing.B) {
	batch, types := benchBatch()
	ctx := NewContext()
	col := func(i int) Expr { t := types[i]; t.Nullable = true; return Column(i, t, "c") }
	ci := col(4).(*ColumnExpr)
	ci.typ.Collation = "utf8mb4_0900_ai_ci"
	call := func(name string, args ...Expr) Expr {
		e, err := Call(ctx, name, args...)
		if err != nil {
			b.Fatal(err)
		}
		return e
	}
	lit := func(v Value) Expr { return Literal(v) }
	dec := func(s string) Expr { v, _ := DecimalValue(s); return Literal(v) }
	ten := []Expr{col(0)}
	for i := range 20 {
		ten = append(ten, lit(IntValue(int64(i*37))))
	}
	for _, k := range []struct {
		name string
		e    Expr
	}{
		{"i32=const", call("=", col(0), lit(IntValue(5)))},
		{"i64+i64", call("+", col(1), col(1))},
		{"i64*const", call("*", col(1), lit(IntValue(3)))},
		{"dec*(1-dec)", call("*", col(2), call("-", lit(IntValue(1)), col(2)))},
		{"dec<const", call("<", col(2), dec("100.5"))},
		{"dec/dec", call("/", col(2), col(2))},
		{"dec38+dec38", call("+", col(7), col(7))},
		{"double*double", call("*", col(3), col(3))},
		{"double<const", call("<", col(3), lit(DoubleValue(500)))},
		{"str=const bin", call("=", col(4), lit(StringValue("regular accounts", "")))},
		{"str=const ci", call("=", ci, lit(StringValue("regular accounts", "")))},
		{"dict=const ci", call("=", col(5), lit(StringValue("REGULAR", "")))},
		{"str LIKE %x%", call("LIKE", col(4), lit(StringValue("%special%", "")))},
		{"str LIKE %x%y% ci", call("LIKE", ci, lit(StringValue("%special%sleep%", "")))},
		{"date BETWEEN", call("BETWEEN", col(6), lit(StringValue("1994-01-01", "")), lit(StringValue("1994-12-31", "")))},
		{"YEAR(date)", call("YEAR", col(6))},
		{"i32 IN 20", call("IN", ten...)},
		{"CASE", call("CASE", call("<", col(0), lit(IntValue(500))), col(2), lit(IntValue(0)))},
		{"SUBSTRING", call("SUBSTRING", col(4), lit(IntValue(1)), lit(IntValue(2)))},
		{"AND of 3", call("AND", call("<", col(0), lit(IntValue(500))), call("<", col(3), lit(DoubleValue(500))), call("=", col(5), lit(StringValue("regular", ""))))},
	} {
		b.Run(k.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := k.e.Eval(ctx, batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/vector.BatchRows, "ns/row")
		})
	}
}

func BenchmarkAggregates(b *testing.B) {
	batch, types := benchBatch()
	ctx := NewContext()
	groups := make([]uint32, batch.Len)
	for i := range groups {
		groups[i] = uint32(i * 7 % 100)
	}
	for _, k := range []struct {
		name string
		fn   string
		col  int
	}{{"COUNT", "COUNT", 0}, {"SUM i32", "SUM", 0}, {"SUM i64", "SUM", 1}, {"SUM dec", "SUM", 2}, {"SUM dec38", "SUM", 7}, {"SUM double", "SUM", 3}, {"MIN date", "MIN", 6}, {"MAX str", "MAX", 4}, {"MAX dict ci", "MAX", 5}} {
		a, err := NewAggregate(ctx, AggregateSpec{Name: k.fn, Args: []Expr{Column(k.col, types[k.col], "c")}})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(k.name, func(b *testing.B) {
			s := a.NewState(ctx)
			s.Grow(100)
			v, _ := a.Args()[0].Eval(ctx, batch)
			for b.Loop() {
				if err := s.Update(groups, []*vector.Vec{v}, nil, batch.Len); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/vector.BatchRows, "ns/row")
		})
	}
}

func BenchmarkHash(b *testing.B) {
	batch, types := benchBatch()
	h := make([]uint64, batch.Len)
	for i, name := range []string{"i32", "i64", "dec", "double", "str", "dict ci", "date", "dec38"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Hash(types[i], batch.Cols[i], nil, h)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/vector.BatchRows, "ns/row")
		})
	}
}
