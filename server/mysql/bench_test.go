package mysql

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/session"
)

// The five columns of the row benchmarks: INT, BIGINT, DECIMAL(18,2),
// VARCHAR(64) with some NULLs, DATETIME.
var benchColumns = []session.Column{
	{Name: "i", Type: expr.Type{Class: expr.Int, Width: 4, Nullable: true}},
	{Name: "b", Type: expr.TBigInt},
	{Name: "d", Type: expr.TDecimal(18, 2)},
	{Name: "s", Type: expr.TString(64, "")},
	{Name: "t", Type: expr.TDateTime(0)},
}

// benchRows gives n rows in batches of vector.BatchRows that it makes anew.
type benchRows struct {
	at, n int
	b     *vector.Batch
	names [][]byte
}

func newBenchRows(n int) *benchRows {
	r := &benchRows{n: n, b: vector.NewBatch([]vector.Kind{vector.I32, vector.I64, vector.I64, vector.Str, vector.I64}, vector.BatchRows)}
	for i := range 5003 {
		r.names = append(r.names, fmt.Appendf(nil, "name-%d", i))
	}
	return r
}

func (r *benchRows) Close() error { return nil }

func (r *benchRows) Next(context.Context) (*vector.Batch, error) {
	if r.at >= r.n {
		return nil, nil
	}
	r.b.Reset()
	c := r.b.Cols
	for range min(vector.BatchRows, r.n-r.at) {
		x := int64(r.at)
		c[0].AppendI32(int32(x % 1000003))
		c[1].AppendI64(x * 1_000_003)
		c[2].AppendI64(x*37 - 5_000_000)
		if x%97 == 96 {
			c[3].AppendNull()
		} else {
			c[3].AppendBytes(r.names[x%5003])
		}
		c[4].AppendI64((1_700_000_000 + x) * microsPerSecond)
		r.at++
	}
	r.b.Len = c[0].Len
	return r.b, nil
}

// One batch into nowhere: the cost of a row without generator and socket.
func BenchmarkEncode(b *testing.B) {
	batch, _ := newBenchRows(vector.BatchRows).Next(b.Context())
	for _, isBinary := range []bool{false, true} {
		b.Run(map[bool]string{false: "text", true: "binary"}[isBinary], func(b *testing.B) {
			w := wire{mark: -1, dst: io.Discard}
			w.large()
			e := newRowEncoder(benchColumns, isBinary, time.UTC, &transcoder{})
			b.ReportAllocs()
			for b.Loop() {
				if err := e.rows(&w, batch, 0, batch.Rows()); err != nil {
					b.Fatal(err)
				}
				w.flush()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/vector.BatchRows, "ns/row")
		})
	}
}

// A million rows over a local socket to a client that only counts packets.
func BenchmarkScan(b *testing.B) {
	const rows = 1_000_000
	_, f, addr := start(b, nil)
	f.results = map[string]func(context.Context, *fakeSession, []expr.Value) (*session.Result, error){
		"SELECT BENCH": func(context.Context, *fakeSession, []expr.Value) (*session.Result, error) {
			return &session.Result{Columns: benchColumns, Rows: newBenchRows(rows)}, nil
		}}
	for _, isBinary := range []bool{false, true} {
		b.Run(map[bool]string{false: "text", true: "binary"}[isBinary], func(b *testing.B) {
			r := rawLogin(b, addr, capDeprecateEOF)
			_ = r.nc.SetDeadline(time.Time{})
			r.wantOK(r.do(comStmtPrepare, []byte("SELECT BENCH")))
			br := bufio.NewReaderSize(r.nc, 256<<10)
			for b.Loop() {
				if isBinary {
					r.send(comStmtExecute, le32(1), []byte{0, 1, 0, 0, 0})
				} else {
					r.send(comQuery, []byte("SELECT BENCH"))
				}
				if n := countPackets(b, br); n != rows+len(benchColumns)+2 {
					b.Fatalf("%d packets", n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}

// countPackets reads until the packet that ends a result.
func countPackets(b *testing.B, br *bufio.Reader) int {
	for n := 1; ; n++ {
		h, err := br.Peek(5)
		if err != nil {
			b.Fatal(err)
		}
		size := int(h[0]) | int(h[1])<<8 | int(h[2])<<16
		end := h[4] == 0xfe && size < 9
		if _, err := br.Discard(4 + size); err != nil {
			b.Fatal(err)
		}
		if end {
			return n
		}
	}
}

func BenchmarkSelect1(b *testing.B) {
	_, _, addr := start(b, nil)
	db := open(b, dsn("root", "", addr, ""))
	db.SetMaxOpenConns(1)
	b.Run("text", func(b *testing.B) {
		for b.Loop() {
			var x int
			if err := db.QueryRow("SELECT 1").Scan(&x); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("prepared", func(b *testing.B) {
		st, err := db.Prepare("SELECT 1")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			var x int
			if err := st.QueryRow().Scan(&x); err != nil {
				b.Fatal(err)
			}
		}
		_ = st.Close()
	})
	b.Run("raw", func(b *testing.B) {
		r := rawLogin(b, addr, capDeprecateEOF)
		_ = r.nc.SetDeadline(time.Time{})
		br := bufio.NewReaderSize(r.nc, 4096)
		for b.Loop() {
			r.send(comQuery, []byte("SELECT 1"))
			countPackets(b, br)
		}
	})
}
