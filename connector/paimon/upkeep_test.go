package paimon_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/catalog/filesystem"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// lake is a warehouse with one database.
type lake struct {
	t       testing.TB
	files   fileio.FileIO
	driver  *paimon.Driver
	catalog *filesystem.Catalog
}

func newLake(t testing.TB, files fileio.FileIO, mod func(*paimon.Config)) *lake {
	return newLakeAt(t, files, "/lake", mod)
}

func newLakeAt(t testing.TB, files fileio.FileIO, root string, mod func(*paimon.Config)) *lake {
	t.Helper()
	cfg := paimon.Config{Files: files, Formats: format.NewRegistry(parquet.Format{})}
	if mod != nil {
		mod(&cfg)
	}
	d := paimon.NewDriver(cfg)
	c, err := filesystem.Open(filesystem.Config{Files: files, Warehouse: root, Driver: d})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CreateDatabase(context.Background(), "db", true); err != nil {
		t.Fatal(err)
	}
	return &lake{t, files, d, c}
}

func (l *lake) create(name string, options map[string]string) *paimon.Table {
	l.t.Helper()
	x, err := l.catalog.CreateTable(context.Background(), catalog.Identifier{Database: "db", Table: name}, &catalog.Schema{
		Fields:      []catalog.Field{{Name: "p", Type: catalog.TString}, {Name: "k", Type: catalog.TInt}, {Name: "v", Type: catalog.TString}},
		PrimaryKeys: []string{"p", "k"}, PartitionKeys: []string{"p"}, Options: options}, true)
	if err != nil {
		l.t.Fatal(err)
	}
	return x.(*paimon.Table)
}

// put upserts the rows (p, k, v) in one commit, without compaction.
func (l *lake) put(t *paimon.Table, p string, v string, keys ...int) {
	l.t.Helper()
	ctx := context.Background()
	w, err := t.NewWrite(ctx, connector.WriteOptions{CommitUser: "test", NoCompaction: true})
	if err != nil {
		l.t.Fatal(err)
	}
	defer w.Close()
	b := vector.NewBatch([]vector.Kind{vector.Str, vector.I32, vector.Str}, len(keys))
	for _, k := range keys {
		b.Cols[0].AppendString(p)
		b.Cols[1].AppendI32(int32(k))
		b.Cols[2].AppendString(v)
	}
	b.Len = len(keys)
	if err := w.Write(ctx, b); err != nil {
		l.t.Fatal(err)
	}
	m, err := w.PrepareCommit(ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	c, err := t.NewCommit(ctx, "test")
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := c.Commit(ctx, &connector.Committable{Identifier: 1, Messages: m}); err != nil {
		l.t.Fatal(err)
	}
}

// rows returns the table's rows as sorted text.
func (l *lake) rows(t *paimon.Table, ref catalog.Ref) []string {
	l.t.Helper()
	ctx := context.Background()
	snap, err := t.Snapshot(ctx, ref)
	if err != nil {
		l.t.Fatal(err)
	}
	plan, err := snap.Plan(ctx, connector.ScanRequest{Columns: []int{0, 1, 2}})
	if err != nil {
		l.t.Fatal(err)
	}
	var types []catalog.Type
	for _, f := range snap.Schema().Fields {
		types = append(types, f.Type)
	}
	var out []string
	for _, s := range plan.Splits {
		r, err := s.Open(ctx)
		if err != nil {
			l.t.Fatal(err)
		}
		for {
			b, err := r.Next(ctx)
			if err != nil {
				l.t.Fatal(err)
			}
			if b == nil {
				break
			}
			for i := range b.Rows() {
				out = append(out, strings.TrimSpace(string(jsonl.AppendRow(nil, b, b.Row(i), types))))
			}
		}
		r.Close()
	}
	slices.Sort(out)
	return out
}

// liveFiles returns how many data files the newest snapshot has.
func (l *lake) liveFiles(t *paimon.Table) int {
	l.t.Helper()
	ctx := context.Background()
	store := t.Maintain().Store()
	s, err := store.Latest(ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	live, err := store.Live(ctx, s, nil, func(*spec.ManifestEntry) bool { return true })
	if err != nil {
		l.t.Fatal(err)
	}
	return len(live)
}

// TestUpkeep lets default maintenance run beside a writer: it compacts and expires
// owned tables, and only them, and no row changes.
func TestUpkeep(t *testing.T) {
	l := newLake(t, fileio.NewMemory(), func(c *paimon.Config) { c.Maintained = true })
	keep := map[string]string{"bucket": "1", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
	own := l.create("own", keep)
	other := l.create("other", map[string]string{"bucket": "1", paimon.MaintenanceOption: "false"})
	tick := l.create("tick", keep) // its commits keep the clock going
	writeOnly := l.create("write_only", map[string]string{"bucket": "1", "write-only": "true"})
	var mu sync.Mutex
	now := time.Now()
	u := paimon.NewUpkeep(paimon.UpkeepConfig{Catalog: l.catalog, Driver: l.driver, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(300 * time.Millisecond) // time flies
		return now
	}})
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() { u.Run(ctx) })
	for i := range 60 {
		for _, x := range []*paimon.Table{own, other, writeOnly} {
			l.put(x, "a", fmt.Sprint("v", i), i%7, i)
		}
	}
	expect := l.rows(other, catalog.Ref{})
	deadline := time.Now().Add(time.Minute)
	for {
		ids, err := own.Maintain().Store().SnapshotIDs(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if l.liveFiles(own) <= 8 && len(ids) <= 8 && u.Stats().Compactions > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d files and snapshots %v remain; %+v", l.liveFiles(own), ids, u.Stats())
		}
		l.put(tick, "a", "x", 1)
	}
	cancel()
	wait.Wait()
	if got := l.rows(own, catalog.Ref{}); !slices.Equal(got, expect) {
		t.Errorf("rows %q\nwant %q", got, expect)
	}
	for _, x := range []*paimon.Table{other, writeOnly} {
		if n := l.liveFiles(x); n != 60 {
			t.Errorf("%s has %d files, not 60", x.ID(), n)
		}
	}
	if got := u.Tables(); !slices.Equal(got, []string{"db.own", "db.tick"}) {
		t.Errorf("maintained are %q", got)
	}
}
