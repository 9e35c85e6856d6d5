package paimon_test

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/avro"
	"github.com/thermocline/thermocline/connector/format/orc"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
)

// pathClass tells the files of a table apart.
func pathClass(p string) string {
	switch base := path.Base(p); {
	case strings.HasSuffix(p, ".index"):
		return "file index"
	case strings.Contains(p, "/bucket-"):
		return "data"
	case strings.Contains(p, "/manifest/manifest-list-"):
		return "manifest list"
	case strings.Contains(p, "/manifest/index-manifest-"):
		return "index manifest"
	case strings.Contains(p, "/manifest/"):
		return "manifest"
	case strings.Contains(p, "/index/"):
		return "index"
	case strings.Contains(p, "/snapshot"):
		return "snapshot"
	case strings.Contains(p, "/schema"):
		return "schema"
	default:
		return base
	}
}

// counted is a driver whose reads are counted.
func counted(files fileio.FileIO) (*paimon.Driver, *fileio.Counting) {
	c := &fileio.Counting{FileIO: files, Class: pathClass}
	return paimon.NewDriver(paimon.Config{Files: c, Formats: format.NewRegistry(parquet.Format{}, orc.Format{}, avro.Format{})}), c
}

// scanAll reads a scan to its end and returns the plan and the rows that satisfy
// the filter.
func scanAll(t *testing.T, snap connector.Snapshot, req connector.ScanRequest) (plan *connector.Plan, rows int) {
	t.Helper()
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
				if req.Filter == nil || satisfies(req.Filter, b, b.Row(i)) {
					rows++
				}
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return plan, rows
}

func latest(t *testing.T, tb connector.Readable) connector.Snapshot {
	t.Helper()
	snap, err := tb.Snapshot(ctx, catalog.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func one(t catalog.Type, append func(v *vector.Vec)) *vector.Vec {
	v := t.NewVec(1)
	append(v)
	return v
}

// TestPointQuery asks a table of a thousand files for one key: only files of its
// partition and bucket whose key range holds the key are opened, and the second
// time no manifest.
func TestPointQuery(t *testing.T) {
	d, c := counted(fileio.NewMemory())
	const partitions, buckets, commits, keys = 20, 10, 5, 400
	s := &catalog.Schema{Fields: []catalog.Field{{Name: "dt", Type: catalog.TInt.Required()}, {Name: "k", Type: catalog.TBigInt.Required()}, {Name: "v", Type: catalog.TString}},
		PartitionKeys: []string{"dt"}, PrimaryKeys: []string{"dt", "k"}, Options: map[string]string{"bucket": "10"}}
	tb, err := d.Create(ctx, "/t", catalog.Identifier{Database: "d", Table: "t"}, s)
	if err != nil {
		t.Fatal(err)
	}
	// Commits have keys of different ranges, the last two of the same.
	for commit := range commits {
		w, err := tb.(connector.Writable).NewWrite(ctx, connector.WriteOptions{NoCompaction: true})
		if err != nil {
			t.Fatal(err)
		}
		b := vector.NewBatch([]vector.Kind{vector.I32, vector.I64, vector.Str}, 0)
		for dt := range partitions {
			for k := range keys {
				b.Cols[0].AppendI32(int32(dt))
				b.Cols[1].AppendI64(int64(min(commit, 3)*keys + k))
				b.Cols[2].AppendString("v")
				b.Len++
			}
		}
		if err := w.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
		m, err := w.PrepareCommit(ctx)
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		cm, err := tb.(connector.Writable).NewCommit(ctx, "u")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cm.Commit(ctx, &connector.Committable{Identifier: int64(commit + 1), Messages: m}); err != nil {
			t.Fatal(err)
		}
	}
	st, err := read.StateOf(latest(t, tb))
	if err != nil {
		t.Fatal(err)
	}
	live, err := st.Entries(ctx)
	if err != nil || len(live) != partitions*buckets*commits {
		t.Fatal(len(live), err)
	}
	for _, key := range []int64{3*keys + 17, 17, 5 * keys} {
		want := map[string]bool{} // files that must be opened
		types := []catalog.Type{catalog.TBigInt}
		hash := spec.NewRowEncoder(types).Encode([]*vector.Vec{one(catalog.TBigInt, func(v *vector.Vec) { v.AppendI64(key) })}, 0)
		for _, e := range live {
			part, _ := e.Partition.Decode([]catalog.Type{catalog.TInt})
			lo, _ := e.File.MinKey.Decode(types)
			hi, _ := e.File.MaxKey.Decode(types)
			if part[0].I32s[0] == 7 && e.Bucket == spec.Bucket(hash, buckets) && lo[0].I64s[0] <= key && key <= hi[0].I64s[0] {
				want[e.File.FileName] = true
			}
		}
		req := connector.ScanRequest{Columns: []int{0, 1, 2}, Filter: connector.AndOf(
			&connector.Predicate{Op: connector.Eq, Column: 0, Value: one(catalog.TInt, func(v *vector.Vec) { v.AppendI32(7) })},
			&connector.Predicate{Op: connector.Eq, Column: 1, Value: one(catalog.TBigInt, func(v *vector.Vec) { v.AppendI64(key) })})}
		c.Take()
		snap := latest(t, tb)
		plan, rows := scanAll(t, snap, req)
		n := c.Take()
		wantRows := 1
		if key == 5*keys {
			wantRows = 0
		}
		if rows != wantRows || plan.Files != len(want) || n["data"].Opens != len(want) || len(want) > 2 {
			t.Errorf("key %d: %d rows of %d files, %d opened, want %d", key, rows, plan.Files, n["data"].Opens, len(want))
		}
		if n["manifest"].Opens != 0 || n["manifest list"].Opens > 0 || n["file index"].Opens > 0 {
			t.Errorf("key %d: %+v", key, n)
		}
		if n["schema"].Stats > 4 || n["snapshot"].Opens > 3 {
			t.Errorf("key %d: metadata is asked for too often: %+v", key, n)
		}
		// Footers are kept: a second read of the same rows reads only pages.
		if again, rows := scanAll(t, snap, req); rows != wantRows || again.Files != len(want) {
			t.Errorf("key %d again: %d rows of %d files", key, rows, again.Files)
		}
		if m := c.Take(); len(want) > 0 && m["data"].Reads != n["data"].Reads-2*len(want) {
			t.Errorf("key %d: %d reads, then %d of %d files", key, n["data"].Reads, m["data"].Reads, len(want))
		}
		// In a new process each manifest is read once.
		d2, c2 := counted(c.FileIO)
		tb2, err := d2.Open(ctx, "/t", catalog.Identifier{Database: "d", Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if _, rows := scanAll(t, latest(t, tb2), req); rows != wantRows {
			t.Errorf("key %d: %d rows", key, rows)
		}
		if n := c2.Take(); n["data"].Opens != len(want) || n["manifest"].Opens > commits {
			t.Errorf("key %d, cold: %+v", key, n)
		}
	}
	// IN lists take as many buckets as they need.
	in := &connector.Predicate{Op: connector.In, Column: 1, Value: one(catalog.TBigInt, func(v *vector.Vec) { v.AppendI64(1); v.AppendI64(2); v.AppendI64(3) })}
	c.Take()
	if plan, rows := scanAll(t, latest(t, tb), connector.ScanRequest{Columns: []int{0, 1, 2}, Filter: in}); rows != 3*partitions || plan.Files > 3*partitions || c.Take()["data"].Opens != plan.Files {
		t.Errorf("IN: %d rows of %d files", rows, plan.Files)
	}
}

// TestCountsOpenNothing: what metadata can count opens no data file.
func TestCountsOpenNothing(t *testing.T) {
	root := testkit.Shared(t, "fixtures/paimon-latest")
	d, c := counted(fileio.Local{})
	for _, name := range []string{"append_unaware", "append_bucketed", "dv_append_bitmap32", "dv_append_bitmap64", "partition_date", "stats_mode_none"} {
		tb, err := d.Open(ctx, filepath.Join(root, name, "default.db/t"), catalog.Identifier{Database: "default", Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		snap := latest(t, tb)
		c.Take()
		n, exact, err := snap.RowCount(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if io := c.Take(); io["data"].Opens+io["index"].Opens != 0 {
			t.Errorf("%s: counting reads %+v", name, io)
		}
		_, rows := scanAll(t, snap, connector.ScanRequest{})
		io := c.Take()
		if exact && int64(rows) != n {
			t.Errorf("%s: %d rows by metadata, %d by a scan", name, n, rows)
		}
		if !exact && len(tb.Schema().PrimaryKeys) == 0 {
			t.Errorf("%s: the count is not exact", name)
		}
		// Without columns, plain files need not be opened either.
		if len(tb.Schema().PrimaryKeys) == 0 && io["data"].Opens != 0 {
			t.Errorf("%s: a scan without columns reads %+v", name, io)
		}
	}
}

// TestFileIndexes: values that are in no file, though within its bounds, open no
// data file, by indexes beside it and in the manifest.
func TestFileIndexes(t *testing.T) {
	root := testkit.Shared(t, "fixtures/paimon-latest")
	text := func(s string) *vector.Vec { return one(catalog.TString, func(v *vector.Vec) { v.AppendString(s) }) }
	for _, name := range []string{"file_index_files", "file_index_in_manifest"} {
		d, c := counted(fileio.Local{})
		tb, err := d.Open(ctx, filepath.Join(root, name, "default.db/t"), catalog.Identifier{Database: "default", Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		snap := latest(t, tb)
		st, err := read.StateOf(snap)
		if err != nil {
			t.Fatal(err)
		}
		live, err := st.Entries(ctx)
		if err != nil {
			t.Fatal(err)
		}
		beside := name == "file_index_files"
		for _, q := range []struct {
			p    *connector.Predicate
			none bool // no file has such rows
		}{
			{&connector.Predicate{Op: connector.Eq, Column: 1, Value: text("v4x")}, true},
			{&connector.Predicate{Op: connector.Eq, Column: 1, Value: text("v47")}, false},
			{&connector.Predicate{Op: connector.Eq, Column: 3, Value: one(catalog.TDouble, func(v *vector.Vec) { v.AppendF64(1.3) })}, true},
			{&connector.Predicate{Op: connector.Eq, Column: 2, Value: one(catalog.TInt, func(v *vector.Vec) { v.AppendI32(2) })}, false},
			{connector.AndOf(&connector.Predicate{Op: connector.Gt, Column: 3, Value: one(catalog.TDouble, func(v *vector.Vec) { v.AppendF64(1.01) })},
				&connector.Predicate{Op: connector.Lt, Column: 3, Value: one(catalog.TDouble, func(v *vector.Vec) { v.AppendF64(1.02) })}), true},
		} {
			c.Take()
			plan, rows := scanAll(t, snap, connector.ScanRequest{Columns: []int{0, 1, 2, 3}, Filter: q.p})
			io := c.Take()
			_, want := scanAll(t, snap, connector.ScanRequest{Columns: []int{0, 1, 2, 3}, Filter: q.p, NoPruning: true})
			if all := c.Take(); rows != want || all["data"].Opens != len(live) || all["file index"].Opens != 0 {
				t.Errorf("%s: %d rows, want %d; without pruning %+v", name, rows, want, all)
			}
			if q.none != (io["data"].Opens == 0) || beside && io["file index"].Opens != plan.Files || !beside && (io["file index"].Opens != 0 || q.none && plan.Files != 0) {
				t.Errorf("%s: column %d: %+v of %d files", name, q.p.Column, io, plan.Files)
			}
		}
	}
}
