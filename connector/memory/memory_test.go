package memory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	tables "github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

func schema(pk ...string) *catalog.Schema {
	return &catalog.Schema{Fields: []catalog.Field{
		{Name: "id", Type: catalog.TInt.Required()}, {Name: "v", Type: catalog.TString},
	}, PrimaryKeys: pk, Options: map[string]string{}}
}

func create(t testing.TB, b *memory.Budget, pk ...string) (*tables.Catalog, *tables.Table) {
	t.Helper()
	c := tables.NewCatalog(b, "d")
	tab, err := c.CreateTable(context.Background(), catalog.Identifier{Database: "d", Table: "t"}, schema(pk...), false)
	if err != nil {
		t.Fatal(err)
	}
	return c, tab.(*tables.Table)
}

type row struct {
	id   int32
	v    string
	kind vector.RowKind
}

func write(t testing.TB, tab *tables.Table, rows ...row) []connector.CommitMessage {
	t.Helper()
	ctx := context.Background()
	w, err := tab.NewWrite(ctx, connector.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	b := vector.NewBatch([]vector.Kind{vector.I32, vector.Str}, len(rows))
	for _, r := range rows {
		b.Cols[0].AppendI32(r.id)
		b.Cols[1].AppendString(r.v)
		b.Kinds = append(b.Kinds, r.kind)
		b.Len++
	}
	if err := w.Write(ctx, b); err != nil {
		t.Fatal(err)
	}
	m, err := w.PrepareCommit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func commit(t testing.TB, tab *tables.Table, k *connector.Committable) connector.CommitResult {
	t.Helper()
	c, err := tab.NewCommit(context.Background(), "u")
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Commit(context.Background(), k)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// read returns the rows of a version, sorted.
func read(t testing.TB, tab connector.Readable, ref catalog.Ref, req connector.ScanRequest) string {
	t.Helper()
	ctx := context.Background()
	s, err := tab.Snapshot(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, sp := range p.Splits {
		r, err := sp.Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for {
			b, err := r.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			if req.BatchRows > 0 && b.Rows() > req.BatchRows {
				t.Fatalf("a batch of %d rows", b.Rows())
			}
			n += int64(b.Rows())
			for k := range b.Rows() {
				out = append(out, fmt.Sprintf("%d%s", b.Cols[0].I32s[b.Cols[0].At(b.Row(k))], b.Cols[1].String(b.Row(k))))
			}
		}
		if n != sp.Rows() {
			t.Fatalf("a split of %d rows gave %d", sp.Rows(), n)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n, exact, err := s.RowCount(ctx); err != nil || !exact || req.Filter == nil && n != int64(len(out)) {
		t.Fatalf("%d rows, the count says %d", len(out), n)
	}
	sort.Strings(out)
	return strings.Join(out, " ")
}

var all = connector.ScanRequest{Columns: []int{0, 1}}

func TestVersions(t *testing.T) {
	_, tab := create(t, nil, "id")
	commit(t, tab, &connector.Committable{Messages: write(t, tab, row{1, "a", 0}, row{2, "b", 0}, row{1, "c", 0})})
	commit(t, tab, &connector.Committable{Messages: write(t, tab, row{2, "", vector.Delete}, row{3, "d", vector.UpdateAfter})})
	commit(t, tab, &connector.Committable{Messages: write(t, tab, row{9, "x", 0}), Overwrite: true})
	for id, want := range map[int64]string{1: "1c 2b", 2: "1c 3d", 3: "9x"} {
		if got := read(t, tab, catalog.Ref{Kind: catalog.BySnapshot, ID: id}, all); got != want {
			t.Errorf("snapshot %d: %q, want %q", id, got, want)
		}
	}
	if got := read(t, tab, catalog.Ref{Kind: catalog.ByTimestamp, Time: time.Now().Add(time.Hour)}, all); got != "9x" {
		t.Errorf("by time: %q", got)
	}
	if _, err := tab.Snapshot(context.Background(), catalog.Ref{Kind: catalog.BySnapshot, ID: 4}); !errs.Is(err, errs.UnknownSnapshot) {
		t.Error(err)
	}
	if _, err := tab.Snapshot(context.Background(), catalog.Ref{Kind: catalog.ByTag, Name: "1"}); !errs.Is(err, errs.UnknownSnapshot) {
		t.Error(err)
	}
}

// Random histories against a map, all versions checked at the end.
func TestHistory(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	_, tab := create(t, nil, "id")
	model := map[int32]string{}
	want := map[int64]string{}
	for v := int64(1); v <= 40; v++ {
		var rows []row
		for range 1 + r.IntN(20) {
			x := row{int32(r.IntN(30)), fmt.Sprint("v", v, r.IntN(100)), 0}
			if r.IntN(3) == 0 {
				x.kind = vector.Delete
				delete(model, x.id)
			} else {
				model[x.id] = x.v
			}
			rows = append(rows, x)
		}
		commit(t, tab, &connector.Committable{Identifier: v, Messages: write(t, tab, rows...)})
		var s []string
		for id, x := range model {
			s = append(s, fmt.Sprintf("%d%s", id, x))
		}
		sort.Strings(s)
		want[v] = strings.Join(s, " ")
	}
	for v, w := range want {
		for _, n := range []int{0, 1, 7} {
			req := all
			req.BatchRows = n
			if got := read(t, tab, catalog.Ref{Kind: catalog.BySnapshot, ID: v}, req); got != w {
				t.Fatalf("version %d: %q, want %q", v, got, w)
			}
		}
	}
}

func TestCommitTwice(t *testing.T) {
	_, tab := create(t, nil)
	k := &connector.Committable{Identifier: 7, Epoch: 2, Messages: write(t, tab, row{1, "a", 0}), Properties: map[string]string{"p": "q"}}
	first := commit(t, tab, k)
	again := commit(t, tab, k)
	if first.Already || !again.Already || again.Snapshot != first.Snapshot {
		t.Errorf("%+v, then %+v", first, again)
	}
	other := commit(t, tab, &connector.Committable{Identifier: 7, Epoch: 2, Messages: write(t, tab, row{1, "b", 0})})
	if other.Already {
		t.Error("another nonce is another commit")
	}
	c, err := tab.NewCommit(context.Background(), "u")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(context.Background(), &connector.Committable{Epoch: 1, EvenIfEmpty: true}); !errs.Is(err, errs.Fenced) {
		t.Errorf("an older epoch: %v", err)
	}
	for after, ok := range map[int64]bool{1: false, -1: false, 3: false, 2: true} {
		k := &connector.Committable{Identifier: 8, Epoch: 2, After: after}
		if _, err := c.Commit(context.Background(), k); (err == nil) != ok || err != nil && errs.ClassOf(err) != errs.Conflict {
			t.Errorf("after %d: %v", after, err)
		}
	}
	if i, err := c.LatestOwn(context.Background()); err != nil || i.ID != 2 || i.Identifier != 7 {
		t.Errorf("%+v %v", i, err)
	}
}

// Pruning leaves out chunks, never rows that satisfy the filter.
func TestPruning(t *testing.T) {
	_, tab := create(t, nil)
	for i := range int32(5) {
		commit(t, tab, &connector.Committable{Identifier: int64(i), Messages: write(t, tab, row{i * 10, "a", 0}, row{i*10 + 9, "b", 0})})
	}
	value := vector.New(vector.I32, 1)
	value.AppendI32(25)
	req := all
	req.Filter = &connector.Predicate{Op: connector.Lt, Column: 0, Value: value}
	if got := read(t, tab, catalog.Ref{}, req); got != "0a 10a 19b 20a 29b 9b" {
		t.Errorf("pruned: %q", got)
	}
	req.NoPruning = true
	if got := read(t, tab, catalog.Ref{}, req); len(strings.Fields(got)) != 10 {
		t.Errorf("not pruned: %q", got)
	}
}

func TestBudget(t *testing.T) {
	b := memory.New("tables", 1<<20)
	c, tab := create(t, b)
	m := write(t, tab, row{1, "a", 0})
	if b.Used() == 0 {
		t.Error("nothing is reserved")
	}
	k, err := tab.NewCommit(context.Background(), "u")
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Abort(context.Background(), m); err != nil || b.Used() != 0 {
		t.Errorf("after the abort %d bytes, %v", b.Used(), err)
	}
	commit(t, tab, &connector.Committable{Messages: write(t, tab, row{1, "a", 0})})
	if err := c.DropTable(context.Background(), tab.ID()); err != nil || b.Used() != 0 {
		t.Errorf("after DROP %d bytes, %v", b.Used(), err)
	}
	if _, err := c.Table(context.Background(), tab.ID()); !errs.Is(err, errs.UnknownTable) {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	ctx := context.Background()
	c, tab := create(t, nil)
	w, err := tab.NewWrite(ctx, connector.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := vector.NewBatch([]vector.Kind{vector.I32, vector.Str}, 1)
	b.Cols[0].AppendNull()
	b.Cols[1].AppendString("x")
	b.Len = 1
	if err := w.Write(ctx, b); !errs.Is(err, errs.NotNull) {
		t.Errorf("NULL in a NOT NULL column: %v", err)
	}
	d := vector.NewBatch([]vector.Kind{vector.I32, vector.Str}, 1)
	d.Cols[0].AppendI32(1)
	d.Cols[1].AppendString("x")
	d.Len, d.Kinds = 1, []vector.RowKind{vector.Delete}
	if err := w.Write(ctx, d); err == nil {
		t.Error("a table without a key took a removal")
	}
	if err := c.CreateDatabase(ctx, "d", false); !errs.Is(err, errs.DatabaseExists) {
		t.Error(err)
	}
	if err := c.DropDatabase(ctx, "d", false); !errs.Is(err, errs.DatabaseNotEmpty) {
		t.Error(err)
	}
	if err := c.DropDatabase(ctx, "d", true); err != nil {
		t.Error(err)
	}
	if _, err := c.Tables(ctx, "d"); !errs.Is(err, errs.UnknownDatabase) {
		t.Error(err)
	}
}
