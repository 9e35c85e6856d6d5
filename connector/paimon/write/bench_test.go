package write_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/vector"
)

// benchSchema has nine columns, as the peers' write benchmark does.
func benchSchema() *catalog.Schema {
	f := func(name string, t catalog.Type) catalog.Field { return catalog.Field{Name: name, Type: t} }
	return &catalog.Schema{PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "1", "thermocline.maintenance": "true"}, Fields: []catalog.Field{
		f("id", catalog.TBigInt.Required()), f("a", catalog.TInt), f("b", catalog.TInt), f("c", catalog.TBigInt), f("d", catalog.TDouble),
		f("s1", catalog.TString), f("s2", catalog.TString), f("dec", catalog.TDecimal(12, 2)), f("ts", catalog.TTimestamp(6))}}
}

func benchBatch(s *catalog.Schema, r *rand.Rand, n, keys int) *vector.Batch {
	b := &vector.Batch{Seq: -1, Len: n}
	for _, f := range s.Fields {
		v := f.Type.NewVec(n)
		for range n {
			switch f.Type.Physical() {
			case vector.I32:
				v.AppendI32(int32(r.IntN(1000)))
			case vector.I64:
				if f.Name == "id" {
					v.AppendI64(int64(r.IntN(keys)))
				} else {
					v.AppendI64(r.Int64N(1 << 38))
				}
			case vector.F64:
				v.AppendF64(float64(r.IntN(100000)) / 100)
			case vector.Str:
				v.AppendString(fmt.Sprintf("value number %d", r.IntN(5000)))
			}
		}
		b.Cols = append(b.Cols, v)
	}
	return b
}

// BenchmarkKeyed writes 200,000 rows an iteration into a primary-key table and
// commits them, compaction included.
func BenchmarkKeyed(b *testing.B) {
	s := benchSchema()
	x := newTable(b, fileio.Local{NoSync: true}, b.TempDir()+"/db.db/t", s)
	w, c := x.writer(nil), x.committer("bench")
	r := rand.New(rand.NewPCG(1, 1))
	var batches []*vector.Batch
	for range 50 {
		batches = append(batches, benchBatch(s, r, 4000, 5_000_000))
	}
	b.ResetTimer()
	for i := range b.N {
		for _, batch := range batches {
			if err := w.Write(ctx, batch); err != nil {
				b.Fatal(err)
			}
		}
		x.do(w, c, int64(i+1))
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)*200_000/b.Elapsed().Seconds(), "rows/s")
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCommit commits one row at a time to the local disk, synced.
func BenchmarkCommit(b *testing.B) {
	s := benchSchema()
	x := newTable(b, fileio.Local{}, b.TempDir()+"/db.db/t", s)
	w, c := x.writer(func(c *write.Config) { c.Synchronous = false }), x.committer("bench")
	r := rand.New(rand.NewPCG(1, 1))
	one := benchBatch(s, r, 1, 1000)
	b.ResetTimer()
	for i := range b.N {
		if err := w.Write(ctx, one); err != nil {
			b.Fatal(err)
		}
		ms, err := w.PrepareCommit(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Commit(ctx, &connector.Committable{Identifier: int64(i + 1), Epoch: 1, Messages: ms}); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}
