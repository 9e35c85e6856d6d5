package paimon_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/internal/vector"
)

// keyMakers fill the key columns of a row from a number.
var keyMakers = []struct {
	name  string
	types []catalog.Type
	fill  func(cols []*vector.Vec, n int64)
}{
	{"BIGINT", []catalog.Type{catalog.TBigInt}, func(c []*vector.Vec, n int64) { c[0].AppendI64(n*7919 - 5e5) }},
	{"TINYINT, INT", []catalog.Type{catalog.TTinyInt, catalog.TInt}, func(c []*vector.Vec, n int64) {
		c[0].AppendI32(int32(n%5) - 2)
		c[1].AppendI32(int32(n) - 2000)
	}},
	{"STRING", []catalog.Type{catalog.TString}, func(c []*vector.Vec, n int64) {
		c[0].AppendString([]string{"", "a shared prefix of some length ", "ü", "x\x00"}[n%4] + fmt.Sprint(n/4))
	}},
	{"STRING, BIGINT, DATE", []catalog.Type{catalog.TString, catalog.TBigInt, catalog.TDate}, func(c []*vector.Vec, n int64) {
		c[0].AppendString(fmt.Sprintf("key%04d", n/100))
		c[1].AppendI64(-(n % 7))
		c[2].AppendI32(int32(n))
	}},
	{"DECIMAL(20, 2), BOOLEAN", []catalog.Type{catalog.TDecimal(20, 2), catalog.TBoolean}, func(c []*vector.Vec, n int64) {
		c[0].AppendI128(vector.Int128From(n / 2).Add(vector.Int128From(n / 2)).Add(vector.Int128From(-3000)))
		c[1].AppendBool(n%2 == 0)
	}},
	{"TIMESTAMP(9)", []catalog.Type{catalog.TTimestamp(9)}, func(c []*vector.Vec, n int64) { c[0].AppendI128(vector.Int128From(n - 1000)) }},
}

// TestMergeAgainstMap writes random upserts and deletions over many commits and
// compares every state with a map.
func TestMergeAgainstMap(t *testing.T) {
	for seed, km := range keyMakers {
		for _, c := range []struct{ compact, large bool }{{false, false}, {true, false}, {false, true}} {
			compact, buckets, most := c.compact, "2", int64(12000)
			counts := []int{5000, 50, 400, 1, 1500, 20, 700}
			if c.large { // so large that rows come in another order than that of their keys
				if seed > 0 && seed != 3 {
					continue
				}
				buckets, most, counts = "1", 100000, []int{65000, 50, 20000, 1}
			}
			t.Run(fmt.Sprintf("%s, compaction %t, large %t", km.name, compact, c.large), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(seed), 77))
				d := driverOver(fileio.NewMemory())
				s := &catalog.Schema{Options: map[string]string{"bucket": buckets, "target-file-size": "64 kb", "source.split.target-size": "64 kb"}}
				for i, kt := range km.types {
					s.Fields = append(s.Fields, catalog.Field{Name: fmt.Sprintf("k%d", i), Type: kt})
					s.PrimaryKeys = append(s.PrimaryKeys, fmt.Sprintf("k%d", i))
				}
				s.Fields = append(s.Fields, catalog.Field{Name: "v", Type: catalog.TBigInt}, catalog.Field{Name: "w", Type: catalog.TString})
				tb, err := d.Create(ctx, "/t", catalog.Identifier{Database: "d", Table: "t"}, s)
				if err != nil {
					t.Fatal(err)
				}
				divided := 0
				types := []catalog.Type{}
				for _, f := range tb.Schema().Fields {
					types = append(types, f.Type)
				}
				n := len(km.types)
				state := map[string]string{} // key -> row
				for commit, rowCount := range counts {
					b := vector.NewBatch(nil, 0)
					for _, ct := range types {
						b.Cols = append(b.Cols, ct.NewVec(0))
					}
					first := r.Int64N(5000)
					for i := range rowCount {
						id := first + int64(i)
						if commit > 0 && commit != 4 {
							id = r.Int64N(most)
						}
						km.fill(b.Cols[:n], id)
						b.Cols[n].AppendI64(int64(commit)*1e6 + int64(i))
						if r.IntN(5) == 0 {
							b.Cols[n+1].AppendNull()
						} else {
							b.Cols[n+1].AppendString(fmt.Sprintf("value %d of commit %d %s", i, commit, strings.Repeat("x", r.IntN(20))))
						}
						kind := vector.Insert
						if r.IntN(4) == 0 {
							kind = vector.Delete
						}
						b.Kinds = append(b.Kinds, kind)
						b.Len++
						key := string(jsonl.AppendRow(nil, &vector.Batch{Cols: b.Cols[:n], Len: b.Len}, i, types[:n]))
						if kind == vector.Delete {
							delete(state, key)
						} else {
							state[key] = string(jsonl.AppendRow(nil, b, i, types))
						}
					}
					write(t, tb, b, int64(commit+1), compact)
					var want []string
					for _, row := range state {
						want = append(want, row)
					}
					slices.Sort(want)
					if snap, err := tb.Snapshot(ctx, catalog.Ref{}); err != nil {
						t.Fatal(err)
					} else if plan, err := snap.Plan(ctx, connector.ScanRequest{Columns: []int{0}}); err != nil {
						t.Fatal(err)
					} else if commit > 0 && len(plan.Splits) > 1 {
						divided++
					}
					for _, o := range []scanOptions{{}, {batch: 20 + 100*(commit%3), noPruning: true}} {
						got, _, err := rows(tb, catalog.Ref{}, o)
						if err != nil {
							t.Fatal(err)
						}
						if !slices.Equal(got, want) {
							t.Fatalf("commit %d, %+v: %d rows, want %d", commit, o, len(got), len(want))
						}
					}
				}
				if c.large && divided == 0 {
					t.Error("no section was divided")
				}
			})
		}
	}
}

// write commits one batch.
func write(t *testing.T, tb connector.Readable, b *vector.Batch, identifier int64, compact bool) {
	t.Helper()
	w, err := tb.(connector.Writable).NewWrite(ctx, connector.WriteOptions{CommitUser: "test", NoCompaction: !compact})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(ctx, b); err != nil {
		t.Fatal(err)
	}
	messages, err := w.PrepareCommit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tb.(connector.Writable).NewCommit(ctx, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(ctx, &connector.Committable{Identifier: identifier, Messages: messages}); err != nil {
		t.Fatal(err)
	}
}

// oneColumn makes a batch of one row for a table with one INT column.
func oneColumn(tb connector.Readable, x int32) *vector.Batch {
	b := &vector.Batch{Len: 1, Cols: []*vector.Vec{tb.Schema().Fields[0].Type.NewVec(1)}}
	b.Cols[0].AppendI32(x)
	return b
}
