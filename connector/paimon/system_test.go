package paimon_test

import (
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// scanned reads columns of a table under a filter, as one number a row.
func scanned(t *testing.T, tb connector.Readable, ref catalog.Ref, req connector.ScanRequest) (out []int64) {
	t.Helper()
	snap, err := tb.Snapshot(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	req.Budget = memory.New("test", 64<<20)
	plan, err := snap.Plan(ctx, req)
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
			for i := range b.Rows() {
				out = append(out, b.Cols[0].I64s[b.Row(i)])
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := req.Budget.Used(); n != 0 {
		t.Errorf("%d bytes stay reserved", n)
	}
	return out
}

// TestSnapshotsReadsFew: a filter on ids reads the snapshots that it leaves, but the
// newest, and none when only their ids are asked for.
func TestSnapshotsReadsFew(t *testing.T) {
	files, _, _ := history(t)
	counting := &fileio.Counting{FileIO: files, Class: func(path string) string {
		if strings.HasPrefix(path, "/t/snapshot/snapshot-") {
			return "snapshots"
		}
		return ""
	}}
	two := vector.New(vector.I64, 1)
	two.AppendI64(2)
	filter := &connector.Predicate{Op: connector.Ge, Column: 0, Value: two}
	read := func() int { return counting.Take()["snapshots"].Opens }
	var tb connector.Readable
	for i, c := range []struct {
		req  connector.ScanRequest
		want []int64
		read int
	}{
		{connector.ScanRequest{Columns: []int{0}}, []int64{1, 2, 3}, 0},
		{connector.ScanRequest{Columns: []int{0}, Filter: filter}, []int64{2, 3}, 0},
		{connector.ScanRequest{Columns: []int{9, 0}, Filter: filter}, []int64{2, 3}, 1},
		{connector.ScanRequest{Columns: []int{9, 0}}, []int64{1, 2, 3}, 2},
		{connector.ScanRequest{Columns: []int{9, 0}, Filter: filter, NoPruning: true}, []int64{1, 2, 3}, 2},
		{connector.ScanRequest{Columns: []int{9, 0}}, []int64{1, 2, 3}, 0}, // they are remembered
	} {
		if i < 5 {
			var err error
			if tb, err = driverOver(counting).Open(ctx, "/t", catalog.Identifier{Database: "d", Table: "t", System: "snapshots"}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tb.Snapshot(ctx, catalog.Ref{}); err != nil { // the newest is known from here on
			t.Fatal(err)
		}
		read()
		got := scanned(t, tb, catalog.Ref{}, c.req)
		if n := read(); n != c.read {
			t.Errorf("%+v: %d snapshots are read, want %d", c.req, n, c.read)
		}
		if len(got) != len(c.want) {
			t.Errorf("%+v: %v, want %v", c.req, got, c.want)
		}
	}
}

// TestZones shows instants in the reader's zone, and the wall clocks that files
// hold as if they were the driver's zone's.
func TestZones(t *testing.T) {
	files, _, _ := history(t)
	here, there := time.FixedZone("here", 2*3600), time.FixedZone("there", -3*3600)
	d := paimon.NewDriver(paimon.Config{Files: files, Formats: format.NewRegistry(parquet.Format{}), Location: here})
	open := func(system string) connector.Readable {
		t.Helper()
		tb, err := d.Open(ctx, "/t", catalog.Identifier{Database: "d", Table: "t", System: system})
		if err != nil {
			t.Fatal(err)
		}
		return tb
	}
	commit := func(zone *time.Location) string {
		got := scanned(t, open("snapshots"), catalog.Ref{Zone: zone}, connector.ScanRequest{Columns: []int{5}})
		return time.UnixMicro(got[0]).UTC().Format("2006-01-02 15:04:05")
	}
	created := func(zone *time.Location) time.Time {
		got := scanned(t, open("files"), catalog.Ref{Zone: zone}, connector.ScanRequest{Columns: []int{15}})
		return time.UnixMicro(got[0]).UTC()
	}
	for zone, want := range map[*time.Location]string{nil: "2023-11-15 00:13:20", here: "2023-11-15 00:13:20", there: "2023-11-14 19:13:20", time.UTC: "2023-11-14 22:13:20"} {
		if got := commit(zone); got != want {
			t.Errorf("commit_time in %v: %s, want %s", zone, got, want)
		}
		if d, want := created(zone).Sub(created(nil)), map[*time.Location]time.Duration{there: -5 * time.Hour, time.UTC: -2 * time.Hour}[zone]; d != want {
			t.Errorf("creation_time in %v is %v from the file's, want %v", zone, d, want)
		}
	}
}
