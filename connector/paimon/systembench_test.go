package paimon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
)

// BenchmarkSnapshotsTable reads t$snapshots of 10,000 snapshots in local files,
// most of the time with all of them remembered and revalidated.
func BenchmarkSnapshotsTable(b *testing.B) {
	dir := b.TempDir()
	local := fileio.Local{NoSync: true}
	d := driverOver(local)
	_, err := d.Create(ctx, dir+"/t", catalog.Identifier{Database: "d", Table: "t"}, &catalog.Schema{
		Fields: []catalog.Field{{Name: "k", Type: catalog.TInt}}, PrimaryKeys: []string{"k"}, Options: map[string]string{"bucket": "1"}})
	if err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/t/snapshot", 0o755); err != nil {
		b.Fatal(err)
	}
	for i := 1; i <= 10000; i++ {
		text := fmt.Sprintf(`{
  "version" : 3,
  "uuid" : "c3b6a9d4-7f3c-4f6e-9d5e-%012d",
  "id" : %d,
  "schemaId" : 0,
  "baseManifestList" : "manifest-list-c3b6a9d4-7f3c-4f6e-9d5e-%012d-0",
  "baseManifestListSize" : 1024,
  "deltaManifestList" : "manifest-list-c3b6a9d4-7f3c-4f6e-9d5e-%012d-1",
  "deltaManifestListSize" : 1024,
  "commitUser" : "c3b6a9d4-7f3c-4f6e-9d5e-0123456789ab",
  "commitIdentifier" : %d,
  "commitKind" : "APPEND",
  "timeMillis" : %d,
  "totalRecordCount" : %d,
  "deltaRecordCount" : 10,
  "changelogRecordCount" : 0,
  "watermark" : -9223372036854775808,
  "properties" : { "thermocline.position" : "gtid:0-1-%d" },
  "nextRowId" : 0
}`, i, i, i, i, i, 1700000000000+i, i*10, i)
		if err := os.WriteFile(filepath.Join(dir, "t/snapshot", fmt.Sprintf("snapshot-%d", i)), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	cpu := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
	}
	b.Run("table", func(b *testing.B) {
		before := cpu()
		defer func() { b.ReportMetric((cpu()-before)/float64(b.N), "cpu-ms/op") }()
		for b.Loop() {
			tb, err := d.Open(ctx, dir+"/t", catalog.Identifier{Database: "d", Table: "t", System: "snapshots"})
			if err != nil {
				b.Fatal(err)
			}
			snap, err := tb.Snapshot(ctx, catalog.Ref{})
			if err != nil {
				b.Fatal(err)
			}
			plan, err := snap.Plan(ctx, connector.ScanRequest{Columns: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}})
			if err != nil {
				b.Fatal(err)
			}
			r, err := plan.Splits[0].Open(ctx)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for {
				x, err := r.Next(ctx)
				if err != nil {
					b.Fatal(err)
				}
				if x == nil {
					break
				}
				n += x.Rows()
			}
			if n != 10000 {
				b.Fatal(n)
			}
		}
	})
}
