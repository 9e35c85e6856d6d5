package parquet

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

var ctx = context.Background()

// types are all that can be written.
func types() []catalog.Type {
	var ts []catalog.Type
	for _, s := range []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE",
		"DECIMAL(1, 0)", "DECIMAL(9, 2)", "DECIMAL(10, 2)", "DECIMAL(18, 18)", "DECIMAL(19, 0)", "DECIMAL(38, 10)",
		"CHAR(5)", "VARCHAR(10)", "STRING", "BINARY(3)", "VARBINARY(9)", "BYTES", "DATE", "TIME(0)", "TIME(3)",
		"TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)",
		"TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP(9) WITH LOCAL TIME ZONE",
	} {
		t, err := catalog.ParseType(s)
		if err != nil {
			panic(err)
		}
		ts = append(ts, t)
	}
	arr := catalog.Type{Kind: catalog.Array, Elem: &catalog.TString}
	in := catalog.TInt.Required()
	return append(ts, arr,
		catalog.Type{Kind: catalog.Map, Key: ptr(catalog.TString.Required()), Elem: &arr},
		catalog.Type{Kind: catalog.Multiset, Elem: ptr(catalog.TString.Required())},
		catalog.Type{Kind: catalog.Row, Fields: []catalog.Field{{ID: 100, Name: "a", Type: in}, {ID: 101, Name: "b", Type: arr}, {ID: 102, Name: "c", Type: catalog.TTimestamp(9)}}},
		catalog.Type{Kind: catalog.Array, Elem: ptr(catalog.Type{Kind: catalog.Row, Fields: []catalog.Field{{ID: 103, Name: "a", Type: catalog.TDecimal(20, 3)}, {ID: 104, Name: "b", Type: arr}}})},
	)
}

func ptr(t catalog.Type) *catalog.Type { return &t }

// value appends a random value of type t, few distinct ones if small.
func value(r *rand.Rand, v *vector.Vec, t catalog.Type, small bool) {
	if !t.NotNull && r.IntN(4) == 0 {
		v.AppendNull()
		return
	}
	span := int64(math.MaxInt64)
	if small {
		span = 7
	}
	signed := func() int64 { return r.Int64N(span) - span/2 }
	switch t.Kind {
	case catalog.Boolean:
		v.AppendBool(r.IntN(2) == 0)
	case catalog.TinyInt:
		v.AppendI32(int32(int8(signed())))
	case catalog.SmallInt:
		v.AppendI32(int32(int16(signed())))
	case catalog.Int, catalog.Date:
		v.AppendI32(int32(signed()))
	case catalog.BigInt:
		v.AppendI64(signed())
	case catalog.Float:
		if r.IntN(9) == 0 {
			v.AppendF32([]float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1))}[r.IntN(4)])
			return
		}
		v.AppendF32(float32(signed()))
	case catalog.Double:
		if r.IntN(9) == 0 {
			v.AppendF64([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(-1)}[r.IntN(4)])
			return
		}
		v.AppendF64(float64(signed()) / 3)
	case catalog.Decimal:
		x := new(big.Int).Mul(big.NewInt(signed()), big.NewInt(r.Int64()))
		x.Rem(x, vector.Pow10(t.Length))
		v.AppendDecimal(x)
	case catalog.Char, catalog.Varchar, catalog.Binary, catalog.Varbinary:
		n := r.IntN(20)
		if small {
			v.AppendString(fmt.Sprintf("value %030d", r.IntN(7)))
			return
		}
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		v.AppendBytes(b)
	case catalog.Time:
		v.AppendI32(r.Int32N(86400000))
	case catalog.Timestamp, catalog.TimestampLTZ:
		us := signed() % (1 << 55)
		if t.Length <= 3 {
			us = us / 1000 * 1000
		}
		if t.Length > 6 {
			v.AppendI128(vector.Int128From(us).Add(vector.Int128From(us)).Add(vector.Int128From(r.Int64())))
			return
		}
		v.AppendI64(us)
	case catalog.Array:
		for range r.IntN(4) {
			value(r, v.Child[0], *t.Elem, small)
		}
		v.CloseList()
	case catalog.Map, catalog.Multiset:
		for range r.IntN(3) {
			if t.Kind == catalog.Multiset {
				value(r, v.Child[0], *t.Elem, small)
				v.Child[1].AppendI32(r.Int32())
				continue
			}
			value(r, v.Child[0], *t.Key, small)
			value(r, v.Child[1], *t.Elem, small)
		}
		v.CloseList()
	case catalog.Row:
		for i, f := range t.Fields {
			value(r, v.Child[i], f.Type, small)
		}
		v.CloseStruct()
	default:
		panic(t.String())
	}
}

// randomBatch makes n random rows.
func randomBatch(r *rand.Rand, cols []format.Column, n int) *vector.Batch {
	b := &vector.Batch{Len: n}
	for _, col := range cols {
		v := col.Type.NewVec(n)
		for range n {
			value(r, v, col.Type, r.IntN(2) == 0)
		}
		b.Cols = append(b.Cols, v)
	}
	return b
}

func columns() (cols []format.Column) {
	for i, t := range types() {
		cols = append(cols, format.Column{Name: fmt.Sprintf("c%d", i), Type: t, ID: i})
		if t.IsPrimitive() {
			cols = append(cols, format.Column{Name: fmt.Sprintf("r%d", i), Type: t.Required(), ID: 1000 + i})
		}
	}
	return cols
}

func typesOf(cols []format.Column) (ts []catalog.Type) {
	for _, c := range cols {
		ts = append(ts, c.Type)
	}
	return ts
}

func rowsOf(t testing.TB, r format.Reader, cols []format.Column) (rows []string) {
	t.Helper()
	ts := typesOf(cols)
	for {
		b, err := r.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			return rows
		}
		if b.Seq != int64(len(rows)) {
			t.Fatalf("Seq %d at row %d", b.Seq, len(rows))
		}
		for i := range b.Len {
			rows = append(rows, string(jsonl.AppendRow(nil, b, i, ts)))
		}
	}
}

// open opens a file in a store.
func open(t testing.TB, fs fileio.FileIO, path string) fileio.File {
	t.Helper()
	f, err := fs.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRoundTrip(t *testing.T) {
	cols := columns()
	for i, opts := range []format.WriteOptions{
		{Compression: "zstd"}, {Compression: "snappy", RowGroupBytes: 100 << 10}, {Compression: "gzip", RowGroupBytes: 1},
		{Compression: "lz4"}, {Compression: "none"},
	} {
		t.Run(fmt.Sprintf("%d %s", i, opts.Compression), func(t *testing.T) {
			fs := fileio.NewMemory()
			r := rand.New(rand.NewPCG(7, uint64(i)))
			budget := memory.New("test", 1<<30)
			opts.Path, opts.Columns, opts.Budget = "/f.parquet", cols, budget
			sink, err := fs.Create(ctx, opts.Path)
			if err != nil {
				t.Fatal(err)
			}
			w, err := Format{}.NewWriter(ctx, sink, opts)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			nulls := make([]int64, len(cols))
			lo, hi := make([]*vector.Vec, len(cols)), make([]*vector.Vec, len(cols))
			for _, n := range []int{1, 63, 64, 65, 1000, 7, 900} {
				b := &vector.Batch{Len: n}
				small := n != 1000
				for c, col := range cols {
					v := col.Type.NewVec(n)
					for range n {
						value(r, v, col.Type, small)
					}
					b.Cols = append(b.Cols, v)
					nulls[c] += int64(v.NullCount())
					lo[c], hi[c] = least(lo[c], v, -1), least(hi[c], v, 1)
				}
				for i := range n {
					want = append(want, string(jsonl.AppendRow(nil, b, i, typesOf(cols))))
				}
				if n == 65 { // a selection
					b.Sel = []uint16{0, 1, 64}
					want = append(want[:len(want)-65], want[len(want)-65], want[len(want)-64], want[len(want)-1])
					for c := range cols {
						nulls[c], lo[c] = -1, nil
					}
				}
				if err := w.Write(b); err != nil {
					t.Fatal(err)
				}
			}
			if w.Rows() != int64(len(want)) || w.Size() <= 0 {
				t.Errorf("%d rows, size %d", w.Rows(), w.Size())
			}
			st, err := w.Close()
			if err != nil {
				t.Fatal(err)
			}
			if budget.Used() != 0 {
				t.Errorf("%d bytes stay reserved", budget.Used())
			}
			if in, err := fs.Stat(ctx, opts.Path); err != nil || in.Size != st.Size || st.Rows != int64(len(want)) {
				t.Fatal(in, err, st)
			}
			for c, s := range st.Columns {
				if (s.Min == nil) != (s.Max == nil) {
					t.Errorf("%s: one bound", cols[c].Type)
				}
			}
			pages := newKeptPages()
			for _, n := range []int{1, 7, 64, 1024, 0} {
				rd, err := Format{}.NewReader(ctx, open(t, fs, opts.Path), format.ReadOptions{Path: opts.Path, Columns: cols, BatchRows: n, Budget: budget, Pages: pages})
				if err != nil {
					t.Fatal(err)
				}
				got := rowsOf(t, rd, cols)
				if len(got) != len(want) || rd.Rows() != int64(len(want)) {
					t.Fatalf("%d rows, want %d", len(got), len(want))
				}
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("batch %d, row %d:\n%s\n%s", n, i, got[i], want[i])
					}
				}
				if err := rd.Close(); err != nil || budget.Used() != 0 {
					t.Fatal(err, budget.Used())
				}
			}
			parts := map[string]int{}
			for part := range 3 {
				rd, err := Format{}.NewReader(ctx, open(t, fs, opts.Path), format.ReadOptions{Path: opts.Path, Columns: cols, Part: part, Parts: 3})
				if err != nil {
					t.Fatal(err)
				}
				for {
					b, err := rd.Next(ctx)
					if err != nil {
						t.Fatal(err)
					}
					if b == nil {
						break
					}
					for i := range b.Len {
						row := string(jsonl.AppendRow(nil, b, i, typesOf(cols)))
						if row != want[b.Seq+int64(i)] {
							t.Fatalf("part %d: row %d differs", part, b.Seq+int64(i))
						}
						parts[fmt.Sprint(b.Seq+int64(i))]++
					}
				}
			}
			for row, n := range parts {
				if n != 1 {
					t.Errorf("row %s is in %d parts", row, n)
				}
			}
			if len(parts) != len(want) {
				t.Errorf("the parts have %d rows, want %d", len(parts), len(want))
			}
			d, err := Format{}.Describe(ctx, open(t, fs, opts.Path), opts.Path)
			if err != nil {
				t.Fatal(err)
			}
			for c, col := range d.Columns {
				if col.ID != cols[c].ID || col.Name != cols[c].Name || col.Type.Kind != cols[c].Type.Kind && cols[c].Type.IsPrimitive() &&
					!strings.Contains("CHAR VARBINARY BINARY TIMESTAMP", strings.Split(cols[c].Type.String(), "(")[0]) {
					t.Errorf("%v %v", col, cols[c])
				}
			}
		})
	}
}

// least keeps the lower (sign -1) or higher bound.
func least(old, v *vector.Vec, sign int) *vector.Vec {
	for i := range v.Len {
		if !v.IsNull(i) && (old == nil || vector.Compare(v, i, old, 0)*sign > 0) {
			old = one(v, i)
		}
	}
	return old
}

// TestStats checks the bounds that a writer returns and those in the footer.
func TestStats(t *testing.T) {
	fs := fileio.NewMemory()
	cols := columns()
	r := rand.New(rand.NewPCG(1, 1))
	sink, _ := fs.Create(ctx, "/s.parquet")
	w, err := Format{}.NewWriter(ctx, sink, format.WriteOptions{Path: "/s.parquet", Columns: cols, RowGroupBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	type group struct{ lo, hi []*vector.Vec }
	var groups []group
	all := group{make([]*vector.Vec, len(cols)), make([]*vector.Vec, len(cols))}
	nulls := make([]int64, len(cols))
	for range 20 {
		g := group{make([]*vector.Vec, len(cols)), make([]*vector.Vec, len(cols))}
		b := &vector.Batch{Len: 10}
		for c, col := range cols {
			v := col.Type.NewVec(10)
			for range 10 {
				value(r, v, col.Type, false)
			}
			b.Cols = append(b.Cols, v)
			nulls[c] += int64(v.NullCount())
			g.lo[c], g.hi[c] = least(nil, v, -1), least(nil, v, 1)
			all.lo[c], all.hi[c] = least(all.lo[c], v, -1), least(all.hi[c], v, 1)
		}
		groups = append(groups, g)
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	st, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	for c, s := range st.Columns {
		typ := cols[c].Type
		if !typ.IsPrimitive() {
			if s.Min != nil || s.Nulls != -1 {
				t.Errorf("%s: %v", typ, s)
			}
			continue
		}
		if s.Nulls != nulls[c] {
			t.Errorf("%s: %d NULLs, want %d", typ, s.Nulls, nulls[c])
		}
		ts9 := (typ.Kind == catalog.Timestamp || typ.Kind == catalog.TimestampLTZ) && typ.Length > 6
		float := typ.Kind == catalog.Float || typ.Kind == catalog.Double
		if s.Min == nil {
			if !ts9 && !float {
				t.Errorf("%s: no bounds", typ)
			}
			continue
		}
		if ts9 {
			t.Errorf("%s: bounds", typ)
		}
		if vector.Compare(s.Min, 0, all.lo[c], 0) > 0 || vector.Compare(s.Max, 0, all.hi[c], 0) < 0 {
			t.Errorf("%s: bounds too narrow", typ)
		}
		if !float && (vector.Compare(s.Min, 0, all.lo[c], 0) != 0 || vector.Compare(s.Max, 0, all.hi[c], 0) != 0) {
			t.Errorf("%s: bounds too wide", typ)
		}
	}
	pf, err := openFile(open(t, fs, "/s.parquet"), "/s.parquet", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(pf.meta.groups) != len(groups) {
		t.Fatal(len(pf.meta.groups))
	}
	bounded := 0
	for g := range groups {
		for c, col := range cols {
			b := pf.bounds(&pf.meta.groups[g], pf.fields[c], col.Type)
			if b.Min == nil {
				continue
			}
			bounded++
			if groups[g].lo[c] != nil && (vector.Compare(b.Min, 0, groups[g].lo[c], 0) > 0 || vector.Compare(b.Max, 0, groups[g].hi[c], 0) < 0) {
				t.Errorf("%s in row group %d: bounds too narrow", col.Type, g)
			}
		}
	}
	if bounded < 20*len(cols)/2 {
		t.Errorf("only %d bounds", bounded)
	}
	// Pruning must not lose a row: compare with NoPruning for random predicates.
	pruned := 0
	for c, col := range cols {
		if !col.Type.IsPrimitive() {
			continue
		}
		for _, op := range []connector.PredicateOp{connector.Eq, connector.Lt, connector.Le, connector.Gt, connector.Ge, connector.Ne} {
			lit := vector.New(col.Type.Physical(), 1)
			for lit.Len == 0 || lit.IsNull(0) {
				lit = vector.New(col.Type.Physical(), 1)
				value(r, lit, col.Type, false)
			}
			p := &connector.Predicate{Op: op, Column: 0, Value: lit}
			count := func(filter *connector.Predicate) (n, rows int) {
				rd, err := Format{}.NewReader(ctx, open(t, fs, "/s.parquet"), format.ReadOptions{Path: "/s.parquet", Columns: cols[c : c+1], Filter: filter, FilterColumns: cols[c : c+1]})
				if err != nil {
					t.Fatal(err)
				}
				defer rd.Close()
				for {
					b, err := rd.Next(ctx)
					if err != nil {
						t.Fatal(err)
					}
					if b == nil {
						return n, rows
					}
					rows += b.Len
					for i := range b.Len {
						v := b.Cols[0]
						if v.IsNull(i) {
							continue
						}
						x := vector.Compare(v, i, lit, 0)
						if op == connector.Eq && x == 0 || op == connector.Ne && x != 0 || op == connector.Lt && x < 0 || op == connector.Le && x <= 0 ||
							op == connector.Gt && x > 0 || op == connector.Ge && x >= 0 {
							n++
						}
					}
				}
			}
			n1, rows := count(p)
			n2, every := count(nil)
			if n1 != n2 {
				t.Errorf("%s: %d rows after pruning, %d without", col.Type, n1, n2)
			}
			pruned += every - rows
		}
	}
	if pruned == 0 {
		t.Error("nothing was pruned")
	}
}
