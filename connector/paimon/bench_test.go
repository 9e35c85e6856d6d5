package paimon_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/vector"
)

// benchTable makes a table of nine columns: rows in one commit, then upper
// commits that replace a share of them, spread over the keys.
func benchTable(b *testing.B, rows, upper, share int, key bool) connector.Readable {
	b.Helper()
	d := driverOver(fileio.NewMemory())
	s := &catalog.Schema{Fields: []catalog.Field{{Name: "k", Type: catalog.TBigInt}, {Name: "cust", Type: catalog.TInt}, {Name: "qty", Type: catalog.TInt},
		{Name: "price", Type: catalog.TDecimal(12, 2)}, {Name: "rate", Type: catalog.TDouble}, {Name: "day", Type: catalog.TDate},
		{Name: "ts", Type: catalog.TTimestamp(6)}, {Name: "status", Type: catalog.TString}, {Name: "note", Type: catalog.TString}},
		Options: map[string]string{"bucket": "-1"}}
	if key {
		s.PrimaryKeys, s.Options["bucket"] = []string{"k"}, "1"
	}
	tb, err := d.Create(ctx, "/t", catalog.Identifier{Database: "d", Table: "t"}, s)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for c := range 1 + upper {
		w, err := tb.(connector.Writable).NewWrite(ctx, connector.WriteOptions{NoCompaction: true})
		if err != nil {
			b.Fatal(err)
		}
		n := rows
		if c > 0 {
			n = rows / share
		}
		for at := 0; at < n; {
			batch := &vector.Batch{}
			for _, f := range tb.Schema().Fields {
				batch.Cols = append(batch.Cols, f.Type.NewVec(4096))
			}
			for ; batch.Len < 4096 && at < n; at++ {
				k := int64(at)
				if c > 0 {
					k = int64(at*share + r.IntN(share))
				}
				batch.Cols[0].AppendI64(k)
				batch.Cols[1].AppendI32(r.Int32N(100000))
				batch.Cols[2].AppendI32(r.Int32N(50))
				batch.Cols[3].AppendI64(r.Int64N(10000000))
				batch.Cols[4].AppendF64(r.Float64())
				batch.Cols[5].AppendI32(19000 + r.Int32N(1000))
				batch.Cols[6].AppendI64(1.7e15 + r.Int64N(1e12))
				batch.Cols[7].AppendString([]string{"NEW", "PAID", "SHIPPED", "RETURNED"}[r.IntN(4)])
				batch.Cols[8].AppendString(fmt.Sprintf("note %d of an order, %d", r.IntN(1e9), at))
				batch.Len++
			}
			if err := w.Write(ctx, batch); err != nil {
				b.Fatal(err)
			}
		}
		m, err := w.PrepareCommit(ctx)
		if err != nil {
			b.Fatal(err)
		}
		w.Close()
		cm, err := tb.(connector.Writable).NewCommit(ctx, "bench")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := cm.Commit(ctx, &connector.Committable{Identifier: int64(c + 1), Messages: m}); err != nil {
			b.Fatal(err)
		}
	}
	return tb
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// BenchmarkScan scans a million rows of nine columns, plain and merged, and
// reports rows a second of processor time.
func BenchmarkScan(b *testing.B) {
	for _, c := range []struct {
		name         string
		upper, share int
		key          bool
	}{{"append", 0, 1, false}, {"one run", 0, 1, true}, {"1% above", 1, 100, true}, {"5 x 1% above", 5, 100, true}, {"50% above", 1, 2, true}, {"5 equal runs", 4, 1, true}} {
		b.Run(c.name, func(b *testing.B) {
			const n = 1 << 20
			tb := benchTable(b, n, c.upper, c.share, c.key)
			req := connector.ScanRequest{}
			for i := range tb.Schema().Fields {
				req.Columns = append(req.Columns, i)
			}
			in := n + c.upper*n/c.share
			cpu := cpuSeconds()
			for b.Loop() {
				snap, err := tb.Snapshot(ctx, catalog.Ref{})
				if err != nil {
					b.Fatal(err)
				}
				plan, err := snap.Plan(ctx, req)
				if err != nil {
					b.Fatal(err)
				}
				rows := 0
				for _, s := range plan.Splits {
					r, err := s.Open(ctx)
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
						rows += batch.Rows()
					}
					r.Close()
				}
				if rows != n {
					b.Fatal(rows)
				}
			}
			b.ReportMetric(float64(in*b.N)/(cpuSeconds()-cpu)/1e6, "Mrows/cpu-s")
		})
	}
}
