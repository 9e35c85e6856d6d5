package paimon_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/errs"
)

// history is a table with three commits of one row each, one second apart.
func history(t *testing.T) (*fileio.Memory, *paimon.Driver, connector.Readable) {
	t.Helper()
	files := fileio.NewMemory()
	d := driverOver(files)
	tb, err := d.Create(ctx, "/t", catalog.Identifier{Database: "d", Table: "t"}, &catalog.Schema{
		Fields: []catalog.Field{{Name: "k", Type: catalog.TInt}}, PrimaryKeys: []string{"k"}, Options: map[string]string{"bucket": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		write(t, tb, oneColumn(tb, int32(i+1)), int64(i+1), false)
		path := fmt.Sprintf("/t/snapshot/snapshot-%d", i+1)
		data, err := files.ReadFile(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		s := string(data)
		at := strings.Index(s, `"timeMillis" : `) + len(`"timeMillis" : `)
		end := at + strings.IndexAny(s[at:], ",\n")
		if err := files.WriteFile(ctx, path, []byte(s[:at]+fmt.Sprint(1700000000000+1000*i)+s[end:])); err != nil {
			t.Fatal(err)
		}
	}
	return files, d, tb
}

func TestTimeTravel(t *testing.T) {
	files, _, tb := history(t)
	snap, err := files.ReadFile(ctx, "/t/snapshot/snapshot-2")
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"release", "1"} { // a tag may look like an id, and wins then
		if err := files.WriteFile(ctx, "/t/tag/tag-"+tag, snap); err != nil {
			t.Fatal(err)
		}
	}
	at := func(ms int64) catalog.Ref {
		return catalog.Ref{Kind: catalog.ByTimestamp, Time: time.UnixMilli(1700000000000 + ms)}
	}
	for _, c := range []struct {
		ref  catalog.Ref
		want string // rows, or the error
		kind errs.Kind
	}{
		{catalog.Ref{}, "[1] [2] [3]", ""},
		{catalog.Ref{Kind: catalog.BySnapshot, ID: 1}, "[1]", ""},
		{catalog.Ref{Kind: catalog.BySnapshot, ID: 3}, "[1] [2] [3]", ""},
		{catalog.Ref{Kind: catalog.BySnapshot, ID: 4}, "table d.t has no snapshot 4: its snapshots are 1 to 3", errs.UnknownSnapshot},
		{catalog.Ref{Kind: catalog.ByTag, Name: "release"}, "[1] [2]", ""},
		{catalog.Ref{Kind: catalog.ByTag, Name: "relase"}, `table d.t has no tag "relase": its tags are 1, release`, errs.UnknownSnapshot},
		{catalog.Ref{Kind: catalog.ByTag, Name: "../snapshot/snapshot-1"}, "has no tag", errs.UnknownSnapshot},
		{catalog.Ref{Kind: catalog.ByVersion, Name: "release"}, "[1] [2]", ""},
		{catalog.Ref{Kind: catalog.ByVersion, Name: "1"}, "[1] [2]", ""},
		{catalog.Ref{Kind: catalog.ByVersion, Name: "3"}, "[1] [2] [3]", ""},
		{catalog.Ref{Kind: catalog.ByVersion, Name: "9"}, "no snapshot 9", errs.UnknownSnapshot},
		{catalog.Ref{Kind: catalog.ByVersion, Name: "nope"}, `no tag "nope"`, errs.UnknownSnapshot},
		{catalog.Ref{Kind: catalog.ByVersion, Name: "watermark-5"}, "watermark", errs.UnknownSnapshot},
		{at(-1), "has no snapshot at 2023-11-14 22:13:19.999 UTC: its earliest, 1, is of 2023-11-14 22:13:20.000 UTC", errs.UnknownSnapshot},
		{at(0), "[1]", ""},
		{at(999), "[1]", ""},
		{at(1000), "[1] [2]", ""},
		{at(1 << 40), "[1] [2] [3]", ""},
	} {
		got, _, err := rows(tb, c.ref, scanOptions{})
		if c.kind != "" {
			if !errs.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || errs.ClassOf(err) != errs.User {
				t.Errorf("%v: %v", c.ref, err)
			}
			continue
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%v: %v, %v, want %s", c.ref, got, err, c.want)
		}
	}
}

// TestLatestHint reads with hints that are missing, behind, ahead and broken.
func TestLatestHint(t *testing.T) {
	files, _, tb := history(t)
	for _, hint := range []string{"1", "3", "7", "x", "", "-1", "0", "99999999999999999999"} {
		if err := files.WriteFile(ctx, "/t/snapshot/LATEST", []byte(hint)); err != nil {
			t.Fatal(err)
		}
		if got, _, err := rows(tb, catalog.Ref{}, scanOptions{}); err != nil || len(got) != 3 {
			t.Errorf("hint %q: %v, %v", hint, got, err)
		}
	}
	if err := files.Remove(ctx, "/t/snapshot/LATEST"); err != nil {
		t.Fatal(err)
	}
	if got, _, err := rows(tb, catalog.Ref{}, scanOptions{}); err != nil || len(got) != 3 {
		t.Error(got, err)
	}
	// Rolled back: the newest is what is left.
	if err := files.Remove(ctx, "/t/snapshot/snapshot-3"); err != nil {
		t.Fatal(err)
	}
	if got, _, err := rows(tb, catalog.Ref{}, scanOptions{}); err != nil || len(got) != 2 {
		t.Error(got, err)
	}
}

// TestPinned keeps reading a snapshot while others are committed.
func TestPinned(t *testing.T) {
	_, _, tb := history(t)
	snap, err := tb.Snapshot(ctx, catalog.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, tb, oneColumn(tb, 4), 4, false)
	if n, exact, err := snap.RowCount(ctx); n != 3 || err != nil {
		t.Error(n, exact, err)
	}
	plan, err := snap.Plan(ctx, connector.ScanRequest{Columns: []int{0}})
	if err != nil || len(plan.Splits) != 1 || plan.Splits[0].Rows() != 3 {
		t.Error(plan, err)
	}
	if got, _, err := rows(tb, catalog.Ref{}, scanOptions{}); err != nil || len(got) != 4 {
		t.Error(got, err)
	}
}

// TestParallelSplits reads all splits of a table at once, several times over one
// snapshot.
func TestParallelSplits(t *testing.T) {
	files, _ := loadCorpus(t)
	d := driverOver(files)
	tb, err := d.Open(ctx, "/lake/partition_multi_overwrite/default.db/t", catalog.Identifier{Database: "default", Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	want, schema, err := rows(tb, catalog.Ref{}, scanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var types []catalog.Type
	var cols []int
	for i, f := range schema.Fields {
		types, cols = append(types, f.Type), append(cols, i)
	}
	snap, err := tb.Snapshot(ctx, catalog.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			plan, err := snap.Plan(ctx, connector.ScanRequest{Columns: cols, BatchRows: 2})
			if err != nil {
				t.Error(err)
				return
			}
			var mu sync.Mutex
			var got []string
			var inner sync.WaitGroup
			for _, s := range plan.Splits {
				inner.Go(func() {
					r, err := s.Open(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					defer r.Close()
					for {
						b, err := r.Next(ctx)
						if err != nil {
							t.Error(err)
							return
						}
						if b == nil {
							return
						}
						mu.Lock()
						for j := range b.Rows() {
							got = append(got, string(jsonl.AppendRow(nil, b, b.Row(j), types)))
						}
						mu.Unlock()
					}
				})
			}
			inner.Wait()
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%d rows, want %d", len(got), len(want))
			}
		})
	}
	wg.Wait()
}

// TestZone shows commit times in the driver's zone.
func TestZone(t *testing.T) {
	files, _, _ := history(t)
	zone := time.FixedZone("east", 2*3600)
	d := paimon.NewDriver(paimon.Config{Files: files, Formats: format.NewRegistry(parquet.Format{}), Location: zone})
	tb, err := d.Open(ctx, "/t", catalog.Identifier{Database: "d", Table: "t", System: "snapshots"})
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := rows(tb, catalog.Ref{}, scanOptions{})
	if err != nil || len(got) != 3 || !strings.Contains(got[0], `"2023-11-15 00:13:20.000"`) {
		t.Error(got, err)
	}
	if _, err := tb.Snapshot(ctx, catalog.Ref{Kind: catalog.BySnapshot, ID: 1}); errs.ClassOf(err) != errs.Unsupported {
		t.Error(err)
	}
	tb, err = d.Open(ctx, "/t", catalog.Identifier{Database: "d", Table: "t", System: "files"})
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := rows(tb, catalog.Ref{Kind: catalog.BySnapshot, ID: 2}, scanOptions{}); err != nil || len(got) != 2 {
		t.Error(got, err)
	}
}
