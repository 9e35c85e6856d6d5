package write_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// readLive reads a table at a snapshot with held rows on top.
func (x *table) readLive(base int64, held connector.HeldRows, req connector.ScanRequest, keep func(*vector.Batch, int) bool) []string {
	x.t.Helper()
	snap, err := x.open().(connector.LiveReadable).Live(ctx, connector.LiveRows{Base: base, Schema: -1, Rows: held, Position: "here"})
	if err != nil {
		x.t.Fatal(err)
	}
	if got := connector.LivePosition(snap); got != "here" {
		x.t.Fatalf("the position is %q", got)
	}
	for i := range snap.Schema().Fields {
		req.Columns = append(req.Columns, i)
	}
	plan, err := snap.Plan(ctx, req)
	if err != nil {
		x.t.Fatal(err)
	}
	var out []string
	for _, sp := range plan.Splits {
		r, err := sp.Open(ctx)
		if err != nil {
			x.t.Fatal(err)
		}
		for {
			b, err := r.Next(ctx)
			if err != nil {
				x.t.Fatal(err)
			}
			if b == nil {
				break
			}
			if most := req.BatchRows; most > 0 && b.Len > most {
				x.t.Fatalf("a batch of %d rows, at most %d were asked for", b.Len, most)
			}
			for i := range b.Rows() {
				if keep == nil || keep(b, b.Row(i)) {
					out = append(out, rowText(snap.Schema(), b, b.Row(i)))
				}
			}
		}
		if err := r.Close(); err != nil {
			x.t.Fatal(err)
		}
	}
	slices.Sort(out)
	rows, exact, err := snap.RowCount(ctx)
	if err != nil || exact && keep == nil && rows != int64(len(out)) {
		x.t.Fatalf("the count is %d (%v), there are %d rows", rows, err, len(out))
	}
	return out
}

// heldTables are tables of every kind that live reads know. plain ones hold what
// a map holds; of the others the committed rows are compared.
func heldTables() (list []struct {
	name  string
	s     *catalog.Schema
	plain bool
}) {
	f := func(name string, t catalog.Type) catalog.Field { return catalog.Field{Name: name, Type: t} }
	add := func(name string, plain bool, keys, partitions []string, opts ...string) {
		m := map[string]string{"thermocline.maintenance": "true", "num-sorted-run.compaction-trigger": "3"}
		for i := 0; i < len(opts); i += 2 {
			m[opts[i]] = opts[i+1]
		}
		p := catalog.TString
		if len(partitions) > 0 {
			p = p.Required()
		}
		k := catalog.TInt
		if len(keys) > 0 {
			k = k.Required()
		}
		list = append(list, struct {
			name  string
			s     *catalog.Schema
			plain bool
		}{name, &catalog.Schema{Fields: []catalog.Field{f("v", catalog.TString), f("k", k), f("p", p), f("n", catalog.TBigInt)},
			PrimaryKeys: keys, PartitionKeys: partitions, Options: m}, plain})
	}
	k, pk, p := []string{"k"}, []string{"k", "p"}, []string{"p"}
	add("one bucket", true, k, nil, "bucket", "1")
	add("three buckets", true, k, nil, "bucket", "3")
	add("partitions", true, pk, p, "bucket", "2")
	add("thin", true, pk, p, "bucket", "2", "data-file.thin-mode", "true")
	add("dynamic buckets", true, k, nil, "bucket", "-1", "dynamic-bucket.target-row-num", "10")
	add("across partitions", true, k, p, "bucket", "-1")
	add("deletion vectors", true, k, nil, "bucket", "2", "deletion-vectors.enabled", "true")
	add("deletion vectors, not compacted", true, k, nil, "bucket", "2", "deletion-vectors.enabled", "true", "write-only", "true")
	add("lookup", true, k, nil, "bucket", "1", "changelog-producer", "lookup")
	add("input", true, k, nil, "bucket", "1", "changelog-producer", "input")
	add("sequence field", false, k, nil, "bucket", "2", "sequence.field", "n")
	add("sequence field, vectors", false, k, nil, "bucket", "1", "sequence.field", "n", "deletion-vectors.enabled", "true")
	add("ignoring deletions", false, k, nil, "bucket", "2", "ignore-delete", "true")
	add("first row", false, k, nil, "bucket", "2", "merge-engine", "first-row", "ignore-delete", "true")
	add("append", false, nil, nil, "bucket", "-1")
	add("append, partitions", false, nil, p, "bucket", "-1")
	add("append, buckets", false, nil, nil, "bucket", "2", "bucket-key", "k")
	return list
}

// TestHeld: a base snapshot with the held rows on top reads as the table does
// when they are committed, whatever was flushed, spilled or compacted meanwhile.
func TestHeld(t *testing.T) {
	for _, c := range heldTables() {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("%s/%d", c.name, seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 77))
				s := *c.s
				x := newTable(t, fileio.NewMemory(), "/db.db/t", &s)
				m := &model{x: x, rows: map[string]string{}}
				live := memory.New("live", 0)
				mod := func(c *write.Config) {
					if seed == 1 {
						c.Budget = memory.New("small", 3<<20) // buffers are flushed or spilled at odd moments
					}
				}
				w, com := x.writer(mod), x.committer("me")
				w.Hold(true, live)
				first := randomRows(r, &s, 1+r.IntN(30), nil)
				for i := range first {
					first[i].kind = vector.Insert
				}
				m.apply(first)
				base := x.do(w, com, 1, first...).Snapshot
				w.Forget()
				for id := int64(2); id < 6; id++ {
					var kept []connector.HeldRows
					var want [][]string
					for range 1 + r.IntN(6) {
						rows := randomRows(r, &s, 1+r.IntN(12), m)
						if err := w.Write(ctx, x.batch(rows...)); err != nil {
							t.Fatal(err)
						}
						held, ok := w.Held()
						if !ok {
							t.Fatal("rows were lost")
						}
						if held == nil {
							continue // all were left out
						}
						got := x.readLive(base, held, connector.ScanRequest{BatchRows: []int{0, 1, 3}[r.IntN(3)]}, nil)
						if c.plain {
							same(t, "live", got, m.sorted())
						}
						kept, want = append(kept, held), append(want, got)
						same(t, "without pruning", x.readLive(base, held, connector.ScanRequest{NoPruning: true}, nil), got)
						x.filtered(r, base, held)
					}
					last := base
					if n := x.do(w, com, id).Snapshot; n > 0 {
						base = n
					}
					w.Forget()
					committed := x.readLive(base, nil, connector.ScanRequest{}, nil)
					if len(want) > 0 {
						same(t, "committed", committed, want[len(want)-1])
					}
					if s.Options["write-only"] == "" && seed == 0 { // a compaction that memory is too short for leaves rows invisible
						same(t, "committed, not live", x.read(catalog.Ref{}), committed)
					}
					for i, h := range kept { // earlier cuts stay what they were
						same(t, "an earlier cut", x.readLive(last, h, connector.ScanRequest{}, nil), want[i])
						h.Release()
					}
				}
				if n := live.Used(); n != 0 {
					t.Errorf("%d bytes of held rows are still reserved", n)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// filtered checks that a filter on any column leaves out no row that satisfies it.
func (x *table) filtered(r *rand.Rand, base int64, held connector.HeldRows) {
	x.t.Helper()
	c := r.IntN(len(x.schema.Fields))
	v := x.schema.Fields[c].Type.NewVec(1)
	appendText(x.t, v, x.schema.Fields[c].Type, map[bool]string{true: "part 1", false: strconv.Itoa(r.IntN(20) - 10)}[x.schema.Fields[c].Type.Physical() == vector.Str])
	op := []connector.PredicateOp{connector.Eq, connector.Ge, connector.Lt}[r.IntN(3)]
	keep := func(b *vector.Batch, i int) bool {
		if b.Cols[c].IsNull(i) {
			return false
		}
		n := vector.Compare(b.Cols[c], i, v, 0)
		return op == connector.Eq && n == 0 || op == connector.Ge && n >= 0 || op == connector.Lt && n < 0
	}
	all := x.readLive(base, held, connector.ScanRequest{}, keep)
	same(x.t, "filtered", x.readLive(base, held, connector.ScanRequest{Filter: &connector.Predicate{Op: op, Column: c, Value: v}}, keep), all)
}

// randomRows makes rows that the table can take, and tells the model of them.
func randomRows(r *rand.Rand, s *catalog.Schema, n int, m *model) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = randomRow(r, s, 20)
		if len(s.PrimaryKeys) == 0 {
			rows[i].kind = vector.Insert
		}
	}
	if m != nil {
		m.apply(rows)
	}
	return rows
}

// TestHeldMemory: rows that do not fit the budget are not held until the next
// commit, and never a part of them.
func TestHeldMemory(t *testing.T) {
	c := heldTables()[1]
	x := newTable(t, fileio.NewMemory(), "/db.db/t", c.s)
	r := rand.New(rand.NewPCG(1, 1))
	m := &model{x: x, rows: map[string]string{}}
	live := memory.New("live", 64<<10)
	w, com := x.writer(nil), x.committer("me")
	w.Hold(true, live)
	for id := int64(1); id < 4; id++ {
		if err := w.Write(ctx, x.batch(randomRows(r, c.s, 10, m)...)); err != nil {
			t.Fatal(err)
		}
		if h, ok := w.Held(); !ok || h.Rows() != 10 {
			t.Fatalf("round %d: the first rows are not held", id)
		} else {
			h.Release()
		}
		for range 100 {
			if err := w.Write(ctx, x.batch(randomRows(r, c.s, 100, m)...)); err != nil {
				t.Fatal(err)
			}
		}
		if _, ok := w.Held(); ok {
			t.Fatal("10,000 rows fit 64 KiB")
		}
		if n := live.Used(); n != 0 {
			t.Fatalf("%d bytes are reserved for rows that are not held", n)
		}
		x.do(w, com, id)
		w.Forget()
		same(t, "committed", x.read(catalog.Ref{}), m.sorted())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLiveRefused: tables whose rows in memory cannot be read with those in files
// are named.
func TestLiveRefused(t *testing.T) {
	for _, opts := range []map[string]string{
		{"bucket": "1", "merge-engine": "partial-update"},
		{"bucket": "1", "merge-engine": "aggregation"},
		{"bucket": "-2"},
		{"bucket": "1", "scan.fallback-branch": "b"},
	} {
		s := &catalog.Schema{Fields: []catalog.Field{{Name: "k", Type: catalog.TInt.Required()}, {Name: "v", Type: catalog.TInt}}, PrimaryKeys: []string{"k"}, Options: opts}
		x := newTable(t, fileio.NewMemory(), "/db.db/t", s)
		_, err := x.open().(connector.LiveReadable).Live(ctx, connector.LiveRows{Base: 1, Schema: -1})
		if errs.ClassOf(err) != errs.Unsupported {
			t.Errorf("%v: %v", opts, err)
		}
	}
}
