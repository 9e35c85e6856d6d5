package paimon_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/internal/vector"
)

// readable returns the cases of the corpus that are tables and can be read.
func readable(t *testing.T, cases []corpusCase, open func(c corpusCase) (connector.Readable, error)) []corpusCase {
	t.Helper()
	var out []corpusCase
	for _, c := range cases {
		tb, err := open(c)
		if err != nil || c.System != "" {
			continue
		}
		if _, _, err := rows(tb, c.Ref, scanOptions{}); err == nil {
			out = append(out, c)
		}
	}
	if len(out) < 100 {
		t.Fatalf("only %d readable cases", len(out))
	}
	return out
}

// TestBatchSizes reads every table with several batch sizes, with and without
// pruning: the rows are the same.
func TestBatchSizes(t *testing.T) {
	files, cases := loadCorpus(t)
	d := driverOver(files)
	for _, c := range cases {
		for _, o := range []scanOptions{{batch: 1}, {batch: 7, noPruning: true}, {batch: 1024}, {batch: 1024, noPruning: true}} {
			if _, err := c.outcome(d, o); err != nil {
				t.Errorf("%s with %+v: %v", c.Path, o, err)
			}
		}
	}
}

// table is a fully read table: what laws compare with.
type table struct {
	snap   connector.Snapshot
	schema *catalog.Schema
	types  []catalog.Type
	batch  *vector.Batch // all rows, one vector a column
}

func whole(t *testing.T, tb connector.Readable, ref catalog.Ref) *table {
	t.Helper()
	snap, err := tb.Snapshot(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	w := &table{snap: snap, schema: snap.Schema(), batch: &vector.Batch{}}
	for _, f := range w.schema.Fields {
		w.types = append(w.types, f.Type)
		w.batch.Cols = append(w.batch.Cols, f.Type.NewVec(0))
	}
	w.each(t, connector.ScanRequest{Columns: w.all(), NoPruning: true}, func(b *vector.Batch, i int) { w.batch.AppendRow(b, i) })
	return w
}

func (w *table) all() (cols []int) {
	for i := range w.schema.Fields {
		cols = append(cols, i)
	}
	return cols
}

// each calls f with every row of a scan and returns the plan.
func (w *table) each(t *testing.T, req connector.ScanRequest, f func(b *vector.Batch, i int)) *connector.Plan {
	t.Helper()
	plan, err := w.snap.Plan(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Splits {
		r, err := s.Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := r.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			if len(b.Cols) != len(req.Columns) {
				t.Fatalf("%d columns", len(b.Cols))
			}
			for i := range b.Rows() {
				f(b, b.Row(i))
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return plan
}

// TestProjection reads random columns in random order, none at all, and the row
// count.
func TestProjection(t *testing.T) {
	files, cases := loadCorpus(t)
	d := driverOver(files)
	open := func(c corpusCase) (connector.Readable, error) { return openExpected(d, "/lake", c.Expected) }
	r := rand.New(rand.NewPCG(5, 5))
	for _, c := range readable(t, cases, open) {
		tb, err := open(c)
		if err != nil {
			t.Fatal(err)
		}
		w := whole(t, tb, c.Ref)
		for range 3 {
			cols := w.all()
			r.Shuffle(len(cols), func(i, j int) { cols[i], cols[j] = cols[j], cols[i] })
			cols = cols[:r.IntN(len(cols)+1)]
			var types []catalog.Type
			part := &vector.Batch{Len: w.batch.Len}
			for _, c := range cols {
				types = append(types, w.types[c])
				part.Cols = append(part.Cols, w.batch.Cols[c])
			}
			var got, want []string
			for i := range part.Len {
				want = append(want, string(jsonl.AppendRow(nil, part, i, types)))
			}
			w.each(t, connector.ScanRequest{Columns: cols, BatchRows: 1 + r.IntN(100)}, func(b *vector.Batch, i int) {
				got = append(got, string(jsonl.AppendRow(nil, b, i, types)))
			})
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s: columns %v differ: %d rows, want %d", c.Path, cols, len(got), len(want))
			}
		}
		n, exact, err := w.snap.RowCount(ctx)
		if err != nil || exact && n != int64(w.batch.Len) || n < int64(w.batch.Len) {
			t.Errorf("%s: RowCount %d, exact %t, %v; it has %d", c.Path, n, exact, err, w.batch.Len)
		}
	}
}

// satisfies evaluates a predicate; NULL is not TRUE.
func satisfies(p *connector.Predicate, b *vector.Batch, i int) bool {
	switch p.Op {
	case connector.And:
		for _, c := range p.Children {
			if !satisfies(c, b, i) {
				return false
			}
		}
		return true
	case connector.Or:
		for _, c := range p.Children {
			if satisfies(c, b, i) {
				return true
			}
		}
		return false
	}
	v := b.Cols[p.Column]
	if v.IsNull(i) {
		return p.Op == connector.IsNull
	}
	cmp := func(j int) int { return vector.Compare(v, i, p.Value, j) }
	in := func() bool {
		for j := range p.Value.Len {
			if cmp(j) == 0 {
				return true
			}
		}
		return false
	}
	switch p.Op {
	case connector.IsNotNull:
		return true
	case connector.Eq:
		return cmp(0) == 0
	case connector.Ne:
		return cmp(0) != 0
	case connector.Lt:
		return cmp(0) < 0
	case connector.Le:
		return cmp(0) <= 0
	case connector.Gt:
		return cmp(0) > 0
	case connector.Ge:
		return cmp(0) >= 0
	case connector.In:
		return in()
	case connector.NotIn:
		return !in()
	case connector.HasPrefix:
		return bytes.HasPrefix(v.Bytes(i), p.Value.Bytes(0))
	}
	return false
}

// predicate makes a random predicate over the columns of w, with values that
// occur in it.
func predicate(r *rand.Rand, w *table, depth int) *connector.Predicate {
	if depth > 0 && r.IntN(2) == 0 {
		p := &connector.Predicate{Op: []connector.PredicateOp{connector.And, connector.Or}[r.IntN(2)]}
		for range 2 + r.IntN(2) {
			p.Children = append(p.Children, predicate(r, w, depth-1))
		}
		return p
	}
	for {
		p := &connector.Predicate{Op: connector.Eq + connector.PredicateOp(r.IntN(int(connector.HasPrefix-connector.Eq)+1)), Column: r.IntN(len(w.types))}
		t := w.types[p.Column]
		if p.Op == connector.IsNull || p.Op == connector.IsNotNull {
			return p
		}
		if !t.IsPrimitive() || p.Op == connector.HasPrefix && t.Physical() != vector.Str {
			continue
		}
		p.Value = t.NewVec(1)
		n := 1
		if p.Op == connector.In || p.Op == connector.NotIn {
			n = 1 + r.IntN(3)
		}
		src := w.batch.Cols[p.Column]
		for try := 0; p.Value.Len < n && try < 50; try++ {
			if i := r.IntN(w.batch.Len); !src.IsNull(i) {
				p.Value.AppendFrom(src, i)
			}
		}
		if p.Value.Len < n {
			continue
		}
		if p.Op == connector.HasPrefix {
			b := p.Value.Bytes(0)
			v := t.NewVec(1)
			v.AppendBytes(b[:r.IntN(len(b)+1)])
			p.Value = v
		}
		return p
	}
}

// TestPruning scans with random filters: the rows that satisfy them are the same
// with pruning and without, and pruning does leave files out.
func TestPruning(t *testing.T) {
	files, cases := loadCorpus(t)
	d := driverOver(files)
	open := func(c corpusCase) (connector.Readable, error) { return openExpected(d, "/lake", c.Expected) }
	r := rand.New(rand.NewPCG(6, 6))
	pruned, all := 0, 0
	for _, c := range readable(t, cases, open) {
		tb, err := open(c)
		if err != nil {
			t.Fatal(err)
		}
		w := whole(t, tb, c.Ref)
		if w.batch.Len == 0 {
			continue
		}
		for range 10 {
			p := predicate(r, w, 2)
			var got, want []string
			for i := range w.batch.Len {
				if satisfies(p, w.batch, i) {
					want = append(want, string(jsonl.AppendRow(nil, w.batch, i, w.types)))
				}
			}
			plan := w.each(t, connector.ScanRequest{Columns: w.all(), Filter: p}, func(b *vector.Batch, i int) {
				if satisfies(p, b, i) {
					got = append(got, string(jsonl.AppendRow(nil, b, i, w.types)))
				}
			})
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: filter %s: %d rows, want %d\n%s\n%s", c.Path, show(p, w), len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			pruned += plan.PrunedFiles
			all += plan.Files + plan.PrunedFiles
		}
	}
	t.Logf("%d of %d files were pruned", pruned, all)
	if pruned*20 < all {
		t.Errorf("only %d of %d files were pruned", pruned, all)
	}
}

func show(p *connector.Predicate, w *table) string {
	if p.Op == connector.And || p.Op == connector.Or {
		var parts []string
		for _, c := range p.Children {
			parts = append(parts, show(c, w))
		}
		return fmt.Sprintf("(%d %s)", p.Op, strings.Join(parts, " "))
	}
	s := fmt.Sprintf("%s %d", w.schema.Fields[p.Column].Name, p.Op)
	if p.Value != nil {
		for i := range p.Value.Len {
			s += " " + string(jsonl.AppendValue(nil, p.Value, i, w.types[p.Column]))
		}
	}
	return s
}
