package parquet

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/vector"
)

// encoded has a column for each pair of type and encoding that another library
// can write.
type encoded struct {
	I32Plain   int32    `parquet:"i32_plain,plain"`
	I32Delta   int32    `parquet:"i32_delta,delta"`
	I32Split   int32    `parquet:"i32_split,split"`
	I32Dict    int32    `parquet:"i32_dict,dict"`
	I64Plain   int64    `parquet:"i64_plain,plain"`
	I64Delta   int64    `parquet:"i64_delta,delta,optional"`
	I64Split   *int64   `parquet:"i64_split,split"`
	I64Dict    *int64   `parquet:"i64_dict,dict"`
	F32Plain   float32  `parquet:"f32_plain,plain"`
	F32Split   *float32 `parquet:"f32_split,split"`
	F64Split   float64  `parquet:"f64_split,split"`
	F64Dict    *float64 `parquet:"f64_dict,dict"`
	Bool       bool     `parquet:"bool"`
	BoolOpt    *bool    `parquet:"bool_opt"`
	StrPlain   string   `parquet:"str_plain,plain"`
	StrDict    *string  `parquet:"str_dict,dict"`
	StrDelta   string   `parquet:"str_delta,delta"`
	StrDeltaOp string   `parquet:"str_delta_opt,delta,optional"`
	Bytes      []byte   `parquet:"bytes,plain"`
	Fixed      [7]byte  `parquet:"fixed,plain"`
	FixedDelta [7]byte  `parquet:"fixed_dict,dict"`
	List       []int64  `parquet:"list,list"`
}

// TestOtherWriter reads files of another library, in every encoding, codec and
// page version it has, and compares value by value.
func TestOtherWriter(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	seen := map[[2]int32]int{}
	for _, version := range []int{1, 2} {
		for i, codec := range []pq.WriterOption{pq.Compression(&pq.Uncompressed), pq.Compression(&pq.Zstd), pq.Compression(&pq.Snappy), pq.Compression(&pq.Gzip), pq.Compression(&pq.Lz4Raw)} {
			var list []encoded
			n := []int{1, 100, 5000}[r.IntN(3)]
			if i == 0 {
				n = 20000
			}
			base := r.Int64()
			for j := range n {
				e := encoded{I32Plain: r.Int32(), I32Delta: int32(j) * r.Int32N(5), I32Split: r.Int32(), I32Dict: r.Int32N(100), I64Plain: r.Int64(),
					I64Delta: base + r.Int64N(1<<(1+j%50)), F32Plain: r.Float32(), F64Split: r.Float64(), Bool: r.IntN(3) == 0,
					StrPlain: fmt.Sprint(r.Int64()), StrDelta: fmt.Sprintf("prefix-%d-%d", j/10, r.IntN(1000)), Bytes: []byte{byte(j), 0, 255}}
				r64, f32, f64, b, s1, s2 := r.Int64(), r.Float32(), r.Float64(), r.IntN(2) == 0, fmt.Sprint("a word of a dictionary ", r.IntN(50)), fmt.Sprint(r.IntN(9))
				for _, p := range []struct {
					set func()
				}{{func() { e.I64Split = &r64 }}, {func() { e.I64Dict = &r64 }}, {func() { e.F32Split = &f32 }}, {func() { e.F64Dict = &f64 }},
					{func() { e.BoolOpt = &b }}, {func() { e.StrDict = &s1 }}, {func() { e.StrDeltaOp = s2 }}} {
					if r.IntN(4) > 0 {
						p.set()
					}
				}
				for k := range e.Fixed {
					e.Fixed[k], e.FixedDelta[k] = byte(r.IntN(256)), byte(j%3)
				}
				for range r.IntN(4) {
					e.List = append(e.List, r.Int64())
				}
				list = append(list, e)
			}
			var buf bytes.Buffer
			w := pq.NewGenericWriter[encoded](&buf, codec, pq.DataPageVersion(version), pq.PageBufferSize(4000), pq.MaxRowsPerRowGroup(7000))
			if _, err := w.Write(list); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("/v%d-%d.parquet", version, i)
			fs := fileio.NewMemory()
			if err := fs.WriteFile(ctx, name, buf.Bytes()); err != nil {
				t.Fatal(err)
			}
			countEncodings(t, fs, name, seen)
			d, err := Format{}.Describe(ctx, open(t, fs, name), name)
			if err != nil {
				t.Fatal(err)
			}
			pages := newKeptPages()
			for range 3 { // all pages are read, some are kept, most are kept
				rd, err := Format{}.NewReader(ctx, open(t, fs, name), format.ReadOptions{Path: name, Columns: d.Columns, BatchRows: 700, Pages: pages})
				if err != nil {
					t.Fatal(err)
				}
				at := 0
				for {
					b, err := rd.Next(ctx)
					if err != nil {
						t.Fatalf("%s: row %d: %v", name, at, err)
					}
					if b == nil {
						break
					}
					for row := range b.Len {
						if got, want := rowText(d.Columns, b, row), encodedText(list[at]); got != want {
							t.Fatalf("%s: row %d:\n got %s\nwant %s", name, at, got, want)
						}
						at++
					}
				}
				if at != n {
					t.Errorf("%s: %d rows, want %d", name, at, n)
				}
				if err := rd.Close(); err != nil {
					t.Fatal(err)
				}
			}
			pages.check(t)
		}
	}
	for _, e := range []int32{encPlain, encDeltaBinary, encDeltaBytes, encRLEDict, encByteStreamSplit} {
		if seen[[2]int32{pageData, e}] == 0 || seen[[2]int32{pageDataV2, e}] == 0 {
			t.Errorf("encoding %d was not read: %v", e, seen)
		}
	}
}

// countEncodings counts the pages of a file by kind and encoding.
func countEncodings(t *testing.T, fs fileio.FileIO, name string, seen map[[2]int32]int) {
	t.Helper()
	pf, err := openFile(open(t, fs, name), name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range pf.meta.groups {
		for i := range g.chunks {
			var p pageReader
			for p.reset(pf, &g.chunks[i]); ; {
				pg, ok, err := p.next()
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				seen[[2]int32{pg.kind, pg.encoding}]++
			}
		}
	}
}

func text[T any](p *T) string {
	if p == nil {
		return "NULL"
	}
	return fmt.Sprint(*p)
}

func encodedText(e encoded) string {
	delta := text(&e.I64Delta)
	if e.I64Delta == 0 { // optional values leave zeros out
		delta = "NULL"
	}
	strDelta := e.StrDeltaOp
	if strDelta == "" {
		strDelta = "NULL"
	}
	return fmt.Sprint(e.I32Plain, e.I32Delta, e.I32Split, e.I32Dict, e.I64Plain, " ", delta, " ", text(e.I64Split), " ", text(e.I64Dict), " ", e.F32Plain, " ", text(e.F32Split), " ", e.F64Split, " ",
		text(e.F64Dict), " ", e.Bool, " ", text(e.BoolOpt), " ", e.StrPlain, " ", text(e.StrDict), " ", e.StrDelta, " ", strDelta, " ", string(e.Bytes), " ",
		string(e.Fixed[:]), " ", string(e.FixedDelta[:]), " ", e.List)
}

func rowText(cols []format.Column, b *vector.Batch, i int) string {
	args := []any{}
	for c, v := range b.Cols {
		at := v.At(i)
		p := v.Values()
		var x any
		switch {
		case v.IsNull(i):
			x = "NULL"
		case p.Kind == vector.I8:
			x = p.I8s[at] != 0
		case p.Kind == vector.I32:
			x = p.I32s[at]
		case p.Kind == vector.I64:
			x = p.I64s[at]
		case p.Kind == vector.F32:
			x = p.F32s[at]
		case p.Kind == vector.F64:
			x = p.F64s[at]
		case p.Kind == vector.Str:
			x = string(v.Bytes(i))
		case cols[c].Type.Kind == catalog.Array:
			x = p.Child[0].I64s[p.Offset[at]:p.Offset[at+1]]
		}
		if c > 4 {
			args = append(args, " ")
		}
		args = append(args, x)
	}
	return fmt.Sprint(args...)
}

// TestOtherReader lets another library read what the writer makes.
func TestOtherReader(t *testing.T) {
	cols := columns()
	data := sample(t, 42, 500, "zstd")
	f, err := pq.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if f.NumRows() != 500 || f.Schema().Name() != rootName || len(f.Schema().Fields()) != len(cols) {
		t.Fatal(f.NumRows(), f.Schema().Name())
	}
	want := randomBatch(rand.New(rand.NewPCG(42, 0)), cols, 500)
	for c, fd := range f.Schema().Fields() {
		if fd.Name() != cols[c].Name || fd.ID() != cols[c].ID || fd.Optional() == cols[c].Type.NotNull {
			t.Errorf("column %d: %s %d", c, fd.Name(), fd.ID())
		}
		if !fd.Leaf() {
			continue
		}
		leaf, _ := f.Schema().Lookup(cols[c].Name)
		at := 0
		for _, g := range f.RowGroups() {
			pages := g.ColumnChunks()[leaf.ColumnIndex].Pages()
			for {
				p, err := pages.ReadPage()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				vals := make([]pq.Value, p.NumValues())
				if n, err := p.Values().ReadValues(vals); err != nil && err != io.EOF || n != len(vals) {
					t.Fatal(n, err)
				}
				for _, v := range vals {
					w := want.Cols[c]
					if v.IsNull() != w.IsNull(at) {
						t.Fatalf("%s: row %d: NULL %t", cols[c].Type, at, v.IsNull())
					}
					if !v.IsNull() && !sameValue(v, w, at, cols[c].Type) {
						t.Fatalf("%s: row %d: %v", cols[c].Type, at, v)
					}
					at++
				}
			}
			if err := pages.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if at != 500 {
			t.Errorf("%s: %d values", cols[c].Type, at)
		}
	}
}

func sameValue(v pq.Value, w *vector.Vec, i int, t catalog.Type) bool {
	switch w.Kind {
	case vector.I8:
		return v.Boolean() == (w.I8s[i] != 0)
	case vector.I32:
		return v.Int32() == w.I32s[i]
	case vector.I64:
		switch {
		case v.Kind() == pq.Int32:
			return int64(v.Int32()) == w.I64s[i]
		case t.Kind != catalog.Decimal && t.Kind != catalog.BigInt && t.Length <= 3:
			return v.Int64()*1000 == w.I64s[i]
		}
		return v.Int64() == w.I64s[i]
	case vector.I128:
		if v.Kind() == pq.Int96 {
			x := v.Int96()
			nanos := int64(x[0]) | int64(x[1])<<32
			return mul64(int64(int32(x[2]))-julianEpoch, 86400e9).Add(vector.Int128From(nanos)) == w.I128s[i]
		}
		x, ok := vector.Int128FromBigEndian(v.ByteArray())
		return ok && x == w.I128s[i]
	case vector.F32:
		return vector.CompareF64(float64(v.Float()), float64(w.F32s[i])) == 0
	case vector.F64:
		return vector.CompareF64(v.Double(), w.F64s[i]) == 0
	}
	return bytes.Equal(v.ByteArray(), w.Bytes(i))
}
