package merge

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/vector"
)

// benchRun gives batches that were made before, again and again.
type benchRun struct {
	batches []Rows
	at      int
}

func (r *benchRun) Next(context.Context) (*Rows, error) {
	if r.at == len(r.batches) {
		return nil, nil
	}
	r.at++
	return &r.batches[r.at-1], nil
}

// benchRuns makes runs of n rows each: a BIGINT key, four numbers and a text.
// shared says whether all runs have the same keys, or each its own in turns.
func benchRuns(runs, n int, shared bool) ([]*benchRun, *catalog.Schema) {
	s := &catalog.Schema{PrimaryKeys: []string{"k"}, Fields: []catalog.Field{{Name: "k", Type: catalog.TBigInt.Required()}, {Name: "a", Type: catalog.TBigInt},
		{Name: "b", Type: catalog.TInt}, {Name: "c", Type: catalog.TDouble}, {Name: "d", Type: catalog.TDecimal(12, 2)}, {Name: "e", Type: catalog.TString}}}
	var out []*benchRun
	for r := range runs {
		run := &benchRun{}
		for at := 0; at < n; {
			b := &vector.Batch{Seq: -1}
			for i, f := range s.Fields {
				s.Fields[i].ID = i
				b.Cols = append(b.Cols, f.Type.NewVec(4096))
			}
			rows := Rows{Batch: b, Level: int32(r)}
			for ; b.Len < 4096 && at < n; at++ {
				key := int64(at*runs + r)
				if shared {
					key = int64(at)
				}
				b.Cols[0].AppendI64(key)
				if (at+r)%3 == 0 {
					b.Cols[1].AppendNull()
				} else {
					b.Cols[1].AppendI64(int64(at))
				}
				b.Cols[2].AppendI32(int32(at % 100))
				b.Cols[3].AppendF64(float64(at))
				b.Cols[4].AppendI64(int64(at % 1000))
				b.Cols[5].AppendString(fmt.Sprint("a text of some length ", at))
				rows.Seqs = append(rows.Seqs, int64(r*n+at))
				b.Len++
			}
			run.batches = append(run.batches, rows)
		}
		out = append(out, run)
	}
	return out, s
}

func cpuNanos() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkMerge merges five runs in memory and reports the processor time for each row
// that goes in.
func BenchmarkMerge(b *testing.B) {
	partial := map[string]string{"merge-engine": "partial-update"}
	sums := map[string]string{"merge-engine": "aggregation", "fields.default-aggregate-function": "sum", "fields.e.aggregate-function": "max"}
	for _, c := range []struct {
		name      string
		shared    bool
		unordered bool
		options   map[string]string
	}{
		{"in turns, ordered", false, false, nil}, {"in turns, unordered", false, true, nil},
		{"the same keys, ordered", true, false, nil}, {"the same keys, unordered", true, true, nil},
		{"partial-update", true, true, partial}, {"aggregation", true, true, sums},
	} {
		b.Run(c.name, func(b *testing.B) {
			const n = 100_000
			runs, s := benchRuns(5, n, c.shared)
			s.Options = c.options
			rules, err := NewRules("t", s)
			if err != nil {
				b.Fatal(err)
			}
			want := 5 * n
			if c.shared {
				want = n
			}
			before := cpuNanos()
			for b.Loop() {
				var in []Run
				for _, r := range runs {
					r.at = 0
					in = append(in, r)
				}
				m, err := New(Config{Rules: rules, Columns: []int{0, 1, 2, 3, 4, 5}, Out: 6, Unordered: c.unordered}, in)
				if err != nil {
					b.Fatal(err)
				}
				rows := 0
				for {
					out, err := m.Next(context.Background())
					if err != nil {
						b.Fatal(err)
					}
					if out == nil {
						break
					}
					rows += out.Batch.Rows()
				}
				m.Close()
				if rows != want {
					b.Fatal(rows)
				}
			}
			b.ReportMetric(float64(cpuNanos()-before)/float64(b.N)/(5*n), "cpu-ns/row")
		})
	}
}
