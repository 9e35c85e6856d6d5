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

// TestTravelOptions reads with options, of the statement and of the table, that
// agree and that do not.
func TestTravelOptions(t *testing.T) {
	files, d, tb := history(t)
	snap, err := files.ReadFile(ctx, "/t/snapshot/snapshot-2")
	if err != nil {
		t.Fatal(err)
	}
	if err := files.WriteFile(ctx, "/t/tag/tag-2023-11-14", snap); err != nil {
		t.Fatal(err)
	}
	if snap, err = files.ReadFile(ctx, "/t/snapshot/snapshot-1"); err == nil {
		err = files.WriteFile(ctx, "/t/tag/tag-2023-11-13", snap)
	}
	if err != nil {
		t.Fatal(err)
	}
	check := func(tb connector.Readable, options, want string, kind errs.Kind) {
		t.Helper()
		ref := catalog.Ref{Kind: catalog.ByOptions, Options: map[string]string{}, Zone: time.FixedZone("east", 3600)}
		for _, o := range strings.Fields(options) {
			k, v, _ := strings.Cut(o, "=")
			ref.Options[k] = strings.ReplaceAll(v, "_", " ")
		}
		got, _, err := rows(tb, ref, scanOptions{})
		if kind != "" {
			if !errs.Is(err, kind) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", options, err, want)
			}
			return
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v, want %s", options, got, err, want)
		}
	}
	for _, c := range []struct {
		options, want string
		kind          errs.Kind
	}{
		{"", "[1] [2] [3]", ""},
		{"scan.mode=latest", "[1] [2] [3]", ""},
		{"scan.mode=FULL scan.parallelism=4", "[1] [2] [3]", ""},
		{"scan.snapshot-id=1", "[1]", ""},
		{"scan.mode=from-snapshot scan.snapshot-id=1", "[1]", ""},
		{"scan.mode=from-snapshot-full scan.snapshot-id=2", "[1] [2]", ""},
		{"scan.tag-name=2023-11-14", "[1] [2]", ""},
		{"scan.version=2023-11-14", "[1] [2]", ""},
		{"scan.version=3", "[1] [2] [3]", ""},
		{"scan.timestamp=2023-11-14_23:13:21", "[1] [2]", ""}, // 22:13:21 in UTC
		{"scan.timestamp=2023-11-14_23:13:20.999", "[1]", ""},
		{"scan.mode=compacted-full", "[1] [2] [3]", ""}, // none was: the newest
		{"scan.mode=latest-delta", "[3]", ""},
		{"scan.creation-time-millis=1700000001000", "[1] [2]", ""},
		{"scan.creation-time-millis=1700000000001", "[1] [2]", ""},
		{"incremental-between=1,3", "[2] [3]", ""},
		{"incremental-between=0,2", "[1] [2]", ""},
		{"incremental-between=2,2", "", ""},
		{"scan.mode=incremental incremental-between=0,1", "[1]", ""},
		{"incremental-between=1,3 incremental-between-scan-mode=diff", "[2] [3]", ""},
		{"incremental-between=2023-11-13,2023-11-14", "[2]", ""},
		{"incremental-to-auto-tag=2023-11-14", "[2]", ""},
		{"incremental-to-auto-tag=2023-11-13", "", ""},
		{"incremental-to-auto-tag=2023-11-12", "", ""},
		{"incremental-between-timestamp=1700000000000,1700000001000", "[2]", ""},
		{"incremental-between-timestamp=1600000000000,1700000001000", "[1] [2]", ""},
		{"incremental-between-timestamp=1600000000000,1700000001000 incremental-between-scan-mode=diff", "[1] [2]", ""},
		{"incremental-between-timestamp=2023-11-14_23:13:20,2023-11-14_23:13:22", "[2] [3]", ""},
		{"incremental-between-timestamp=1800000000000,1900000000000", "", ""},

		{"no-such=1", "there is no option 'no-such' for reading", errs.WrongArguments},
		{"bucket=4", "'bucket' cannot be given with a statement", errs.WrongArguments},
		{"branch=b", "t$branch_b", errs.WrongArguments},
		{"merge-engine=first-row", "'merge-engine' cannot be given", errs.WrongArguments},
		{"scan.bucket=0", "'scan.bucket'", errs.NotSupported},
		{"scan.mode=sideways", "the modes are default, compacted-full,", errs.WrongArguments},
		{"scan.mode=latest scan.snapshot-id=1", "'scan.snapshot-id' contradicts 'scan.mode' = 'latest'", errs.WrongArguments},
		{"scan.mode=from-snapshot", "takes exactly one of 'scan.snapshot-id', 'scan.tag-name'", errs.WrongArguments},
		{"scan.mode=from-timestamp scan.snapshot-id=1", "contradicts", errs.WrongArguments},
		{"scan.snapshot-id=1 scan.tag-name=2023-11-14", "takes exactly one of", errs.WrongArguments},
		{"scan.snapshot-id=1 incremental-between=1,2", "'incremental-between' contradicts 'scan.snapshot-id'", errs.WrongArguments},
		{"scan.timestamp=2023 scan.mode=from-timestamp", "no date and time", errs.WrongArguments},
		{"scan.snapshot-id=x", "no whole number", errs.WrongArguments},
		{"scan.snapshot-id=9", "has no snapshot 9", errs.UnknownSnapshot},
		{"scan.tag-name=no", `has no tag "no"`, errs.UnknownSnapshot},
		{"scan.watermark=5", "watermark", errs.UnknownSnapshot},
		{"incremental-between=1", "not two values", errs.WrongArguments},
		{"incremental-between=3,1", "the second snapshot is before the first", errs.WrongArguments},
		{"incremental-between=0,9", "its snapshots are 1 to 3", errs.UnknownSnapshot},
		{"incremental-between=a,b", "neither two tags nor two snapshot ids", errs.UnknownSnapshot},
		{"incremental-between=2023-11-14,2023-11-13", "the second the older one", errs.WrongArguments},
		{"incremental-between=1,2 incremental-between-scan-mode=x", "none of auto, delta, changelog and diff", errs.WrongArguments},
		{"incremental-between-timestamp=2,1", "before the first", errs.WrongArguments},
		{"incremental-to-auto-tag=release", "no name of a tag made by period", errs.WrongArguments},
	} {
		check(tb, c.options, c.want, c.kind)
	}
	// What expiry must keep for them.
	for between, want := range map[string]int64{"1,3": 2, "0,3": 1, "2,3": 3} {
		snap, err := tb.Snapshot(ctx, catalog.Ref{Kind: catalog.ByOptions, Options: map[string]string{"incremental-between": between}})
		if err != nil || connector.Oldest(snap) != want || snap.Version() != 3 {
			t.Errorf("%s: %v, oldest %d, want %d", between, err, connector.Oldest(snap), want)
		}
	}
	// Options of the table itself.
	alter := func(options string) connector.Readable {
		t.Helper()
		data, err := files.ReadFile(ctx, "/t/schema/schema-0")
		if err != nil {
			t.Fatal(err)
		}
		s := strings.Replace(strings.Replace(string(data), `"id" : 0`, `"id" : 1`, 1), `"options" : {`, `"options" : {`+options+`,`, 1)
		if err := files.WriteFile(ctx, "/t/schema/schema-1", []byte(s)); err != nil {
			t.Fatal(err)
		}
		tb, err := d.Open(ctx, "/t", catalog.Identifier{Database: "d", Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		return tb
	}
	tb = alter(`"scan.snapshot-id" : "2"`)
	if got, _, err := rows(tb, catalog.Ref{}, scanOptions{}); err != nil || strings.Join(got, " ") != "[1] [2]" {
		t.Errorf("a table with 'scan.snapshot-id': %v %v", got, err)
	}
	check(tb, "scan.snapshot-id=1", "[1]", "")
	check(tb, "scan.parallelism=1", "[1] [2]", "")
	check(tb, "scan.tag-name=2023-11-14", "takes exactly one of", errs.WrongArguments)
	if got, _, err := rows(tb, catalog.Ref{Kind: catalog.ByVersion, Name: "3"}, scanOptions{}); err != nil || len(got) != 3 {
		t.Errorf("AS OF over it: %v %v", got, err)
	}
	tb = alter(`"incremental-between" : "1,2"`)
	if got, _, err := rows(tb, catalog.Ref{}, scanOptions{}); err != nil || strings.Join(got, " ") != "[2]" {
		t.Errorf("a table with 'incremental-between': %v %v", got, err)
	}
}
