package parquet

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/vector"
)

// benchColumns are an order table's, nine columns.
var benchColumns = []format.Column{
	{Name: "k", Type: catalog.TBigInt.Required(), ID: 0}, {Name: "cust", Type: catalog.TInt, ID: 1}, {Name: "qty", Type: catalog.TInt, ID: 2},
	{Name: "price", Type: catalog.TDecimal(12, 2), ID: 3}, {Name: "rate", Type: catalog.TDouble, ID: 4}, {Name: "day", Type: catalog.TDate, ID: 5},
	{Name: "ts", Type: catalog.TTimestamp(6), ID: 6}, {Name: "status", Type: catalog.TString, ID: 7}, {Name: "note", Type: catalog.TString, ID: 8},
}

func benchBatch(r *rand.Rand, first, n int) *vector.Batch {
	b := &vector.Batch{Len: n}
	for _, c := range benchColumns {
		b.Cols = append(b.Cols, c.Type.NewVec(n))
	}
	for i := range n {
		b.Cols[0].AppendI64(int64(first + i))
		b.Cols[1].AppendI32(r.Int32N(100000))
		b.Cols[2].AppendI32(r.Int32N(50))
		b.Cols[3].AppendI64(r.Int64N(10000000))
		b.Cols[4].AppendF64(r.Float64())
		b.Cols[5].AppendI32(19000 + r.Int32N(1000))
		b.Cols[6].AppendI64(1.7e15 + r.Int64N(1e12))
		b.Cols[7].AppendString([]string{"NEW", "PAID", "SHIPPED", "RETURNED"}[r.IntN(4)])
		b.Cols[8].AppendString(fmt.Sprintf("note %d of an order, %d", r.IntN(1e9), i))
	}
	return b
}

const benchRows = 1 << 20

func benchFile(b *testing.B, compression string) (*fileio.Memory, int64) {
	b.Helper()
	fs := fileio.NewMemory()
	sink, err := fs.Create(ctx, "/b.parquet")
	if err != nil {
		b.Fatal(err)
	}
	w, err := Format{}.NewWriter(ctx, sink, format.WriteOptions{Path: "/b.parquet", Columns: benchColumns, Compression: compression})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for at := 0; at < benchRows; at += 4096 {
		if err := w.Write(benchBatch(r, at, 4096)); err != nil {
			b.Fatal(err)
		}
	}
	st, err := w.Close()
	if err != nil {
		b.Fatal(err)
	}
	return fs, st.Size
}

// BenchmarkRead reads all columns of 1 Mi rows, and some alone.
func BenchmarkRead(b *testing.B) {
	for _, c := range []string{"zstd", "none"} {
		fs, size := benchFile(b, c)
		for _, cols := range [][]int{{0, 1, 2, 3, 4, 5, 6, 7, 8}, {0}, {1}, {3}, {5}, {7}, {8}} {
			name := c + "/all"
			var want []format.Column
			for _, i := range cols {
				want = append(want, benchColumns[i])
			}
			if len(cols) == 1 {
				name = c + "/" + want[0].Name
			}
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r, err := Format{}.NewReader(ctx, open(b, fs, "/b.parquet"), format.ReadOptions{Path: "/b.parquet", Columns: want})
					if err != nil {
						b.Fatal(err)
					}
					for {
						batch, err := r.Next(ctx)
						if err != nil {
							b.Fatal(err)
						}
						if batch == nil {
							break
						}
					}
					r.Close()
				}
				b.ReportMetric(float64(benchRows*b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
				if len(cols) > 1 {
					b.SetBytes(size)
				}
			})
		}
	}
}

// BenchmarkWrite writes 1 Mi rows.
func BenchmarkWrite(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	batch := benchBatch(r, 0, 4096)
	for b.Loop() {
		fs := fileio.NewMemory()
		sink, err := fs.Create(ctx, "/b.parquet")
		if err != nil {
			b.Fatal(err)
		}
		w, err := Format{}.NewWriter(ctx, sink, format.WriteOptions{Path: "/b.parquet", Columns: benchColumns})
		if err != nil {
			b.Fatal(err)
		}
		for at := 0; at < benchRows; at += 4096 {
			if err := w.Write(batch); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(benchRows*b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
