package paimon_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/google/uuid"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// planTable makes the metadata of a table of n data files that do not exist:
// an append table of eight columns in partitions of a thousand files by day, or
// with key a primary-key table whose days have sixteen buckets of sorted files.
func planTable(b testing.TB, files fileio.FileIO, dir string, n int, key bool) {
	b.Helper()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	s := &catalog.Schema{Fields: []catalog.Field{{Name: "dt", Type: catalog.TDate}, {Name: "k", Type: catalog.TBigInt}, {Name: "cust", Type: catalog.TInt},
		{Name: "qty", Type: catalog.TInt}, {Name: "price", Type: catalog.TDecimal(12, 2)}, {Name: "ts", Type: catalog.TTimestamp(6)},
		{Name: "status", Type: catalog.TString}, {Name: "note", Type: catalog.TString}}, PartitionKeys: []string{"dt"}, Options: map[string]string{"bucket": "-1"}}
	total := int32(-1)
	if key {
		s.PrimaryKeys, s.Options["bucket"], total = []string{"dt", "k"}, "16", 16
		s.Fields[0].Type.NotNull, s.Fields[1].Type.NotNull = true, true
	}
	_, err := driverOver(files).Create(ctx, dir, catalog.Identifier{Database: "d", Table: "t"}, s)
	must(err)
	paths := spec.NewPaths(dir, "", s)
	dt := spec.NewRowEncoder([]catalog.Type{catalog.TDate})
	k := spec.NewRowEncoder([]catalog.Type{catalog.TBigInt})
	var types []catalog.Type
	for _, f := range s.Fields {
		types = append(types, f.Type)
	}
	values := spec.NewRowEncoder(types)
	row := func(day int32, at int64, text string) []*vector.Vec {
		out := make([]*vector.Vec, len(types))
		for i, t := range types {
			out[i] = t.NewVec(1)
		}
		out[0].AppendI32(day)
		out[1].AppendI64(at)
		out[2].AppendI32(int32(at % 1000))
		out[3].AppendI32(int32(at % 50))
		out[4].AppendI64(at)
		out[5].AppendI64(1.7e15 + at)
		out[6].AppendString(text)
		out[7].AppendString("a note of " + text)
		return out
	}
	nulls := make([]spec.Opt[int64], len(types))
	for i := range nulls {
		nulls[i] = spec.Some[int64](0)
	}
	namer := spec.NewNamer()
	var list []spec.ManifestMeta
	w, err := spec.NewManifestWriter([]catalog.Type{catalog.TDate}, "zstd")
	must(err)
	flush := func() {
		if w.Len() == 0 {
			return
		}
		name := namer.Manifest()
		raw, meta := w.Finish(name)
		must(files.WriteFile(ctx, paths.Manifest(name), raw))
		list = append(list, meta)
		w, err = spec.NewManifestWriter([]catalog.Type{catalog.TDate}, "zstd")
		must(err)
	}
	const perDay, rows = 1000, 1_000_000
	for i := range n {
		day, in := int32(20000+i/perDay), i%perDay
		lo, hi := row(day, int64(in)*rows, "NEW"), row(day, int64(in+1)*rows-1, "SHIPPED")
		e := spec.ManifestEntry{Partition: dt.Encode(lo[:1], 0).Clone(), TotalBuckets: total, File: spec.DataFileMeta{
			FileName: "data-" + uuid.NewString() + "-0.parquet", FileSize: 64 << 20, RowCount: rows, MinKey: spec.EmptyRow, MaxKey: spec.EmptyRow, KeyStats: spec.EmptyStats(),
			ValueStats:  spec.Stats{Min: values.Encode(lo, 0).Clone(), Max: values.Encode(hi, 0).Clone(), NullCounts: nulls},
			MaxSequence: rows, CreationTime: spec.Some[int64](1.7e12), DeleteRowCount: spec.Some[int64](0), FileSource: spec.Some(spec.SourceAppend)}}
		if key {
			e.Bucket = int32(in % 16)
			e.File.Level = 5
			e.File.MinKey, e.File.MaxKey = k.Encode(lo[1:2], 0).Clone(), k.Encode(hi[1:2], 0).Clone()
			e.File.KeyStats = spec.Stats{Min: e.File.MinKey, Max: e.File.MaxKey, NullCounts: nulls[:1]}
		}
		must(w.Add(&e))
		if w.Size() > 8<<20 {
			flush()
		}
	}
	flush()
	snap := &spec.Snapshot{Version: 3, UUID: uuid.NewString(), ID: 1, BaseManifestList: namer.ManifestList(), CommitUser: "bench", CommitIdentifier: 1,
		CommitKind: spec.KindAppend, TimeMillis: 1.7e12}
	raw, err := spec.WriteManifestList(list, "zstd")
	must(err)
	must(files.WriteFile(ctx, paths.Manifest(snap.BaseManifestList), raw))
	snap.DeltaManifestList = namer.ManifestList()
	raw, err = spec.WriteManifestList(nil, "zstd")
	must(err)
	must(files.WriteFile(ctx, paths.Manifest(snap.DeltaManifestList), raw))
	raw, err = snap.Marshal()
	must(err)
	must(files.WriteFile(ctx, paths.Snapshot(1), raw))
	must(files.WriteFile(ctx, paths.Latest(), []byte("1")))
}

// BenchmarkPlan plans scans of tables of 10,000 and 1,000,000 data files (the
// latter with THERMOCLINE_BENCH=full): cold, then with the manifests in the
// cache.
func BenchmarkPlan(b *testing.B) {
	sizes := []int{10_000}
	if os.Getenv("THERMOCLINE_BENCH") == "full" {
		sizes = append(sizes, 1_000_000)
	}
	for _, n := range sizes {
		for _, key := range []bool{false, true} {
			files := fileio.Local{}
			dir := b.TempDir() + "/t"
			planTable(b, files, dir, n, key)
			open := func(b *testing.B) connector.Snapshot {
				d := paimon.NewDriver(paimon.Config{Files: files, Formats: format.NewRegistry(parquet.Format{}), CacheBytes: 1 << 30})
				tb, err := d.Open(ctx, dir, catalog.Identifier{Database: "d", Table: "t"})
				if err != nil {
					b.Fatal(err)
				}
				snap, err := tb.Snapshot(ctx, catalog.Ref{})
				if err != nil {
					b.Fatal(err)
				}
				return snap
			}
			day := catalog.TDate.NewVec(1)
			day.AppendI32(20003)
			at := catalog.TBigInt.NewVec(1)
			at.AppendI64(123_456_789)
			eq := func(c int, v *vector.Vec) *connector.Predicate {
				return &connector.Predicate{Op: connector.Eq, Column: c, Value: v}
			}
			kind := "append"
			if key {
				kind = "key"
			}
			plan := func(b *testing.B, snap connector.Snapshot, p *connector.Predicate, want int) {
				plan, err := snap.Plan(ctx, connector.ScanRequest{Columns: []int{0, 1, 2}, Filter: p})
				if err != nil {
					b.Fatal(err)
				}
				if want >= 0 && plan.Files != want {
					b.Fatalf("%d files, want %d", plan.Files, want)
				}
			}
			run := func(name string, p *connector.Predicate, want int, cold bool) {
				b.Run(fmt.Sprintf("%s/%d/%s", kind, n, name), func(b *testing.B) {
					snap := open(b)
					var before, after runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&before)
					if !cold {
						plan(b, snap, p, want)
					}
					cpu := cpuSeconds()
					b.ResetTimer()
					for range b.N {
						if cold {
							snap = open(b)
						}
						plan(b, snap, p, want)
					}
					b.StopTimer()
					b.ReportMetric((cpuSeconds()-cpu)*1000/float64(b.N), "cpu-ms/op")
					runtime.GC()
					runtime.ReadMemStats(&after)
					b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/1e6, "MB-held")
					runtime.KeepAlive(snap)
				})
			}
			run("cold", nil, n, true)
			run("all", nil, n, false)
			run("day", eq(0, day), 1000, false)
			if !key {
				run("value", eq(1, at), n/1000, false)
			}
			run("point", connector.AndOf(eq(0, day), eq(1, at)), -1, false)
		}
	}
}
