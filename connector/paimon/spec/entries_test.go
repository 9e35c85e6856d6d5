package spec_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/connector/paimon/spec"
)

// randomEntry makes an entry of few partitions, buckets and names, with and
// without each optional field.
func randomEntry(r *rand.Rand) spec.ManifestEntry {
	row := func() spec.BinaryRow {
		b := append(spec.BinaryRow(nil), spec.EmptyRow...)
		for range r.IntN(3) {
			b = append(b, byte(r.IntN(4)))
		}
		return b
	}
	nulls := func() []spec.Opt[int64] {
		if r.IntN(4) == 0 {
			return nil
		}
		out := []spec.Opt[int64]{}
		for range r.IntN(4) {
			out = append(out, []spec.Opt[int64]{{}, spec.Some[int64](0), spec.Some(r.Int64N(1e9)), spec.Some[int64](-3)}[r.IntN(4)])
		}
		return out
	}
	number := func() spec.Opt[int64] {
		if r.IntN(2) == 0 {
			return spec.Opt[int64]{}
		}
		return spec.Some(r.Int64() - r.Int64())
	}
	names := func() spec.Opt[[]string] {
		if r.IntN(2) == 0 {
			return spec.Opt[[]string]{}
		}
		out := []string{}
		for range r.IntN(3) {
			out = append(out, fmt.Sprint("c", r.IntN(3)))
		}
		return spec.Some(out)
	}
	e := spec.ManifestEntry{Kind: spec.FileKind(r.IntN(2)), Partition: row(), Bucket: int32(r.IntN(3)), TotalBuckets: int32(r.IntN(4) - 2)}
	f := &e.File
	f.FileName, f.FileSize, f.RowCount = fmt.Sprintf("data-%d.parquet", r.IntN(4)), r.Int64N(1e9), r.Int64N(1e9)
	f.MinKey, f.MaxKey = row(), row()
	f.KeyStats, f.ValueStats = spec.Stats{Min: row(), Max: row(), NullCounts: nulls()}, spec.Stats{Min: row(), Max: row(), NullCounts: nulls()}
	if r.IntN(2) == 0 {
		f.KeyStats.Min, f.KeyStats.Max = f.MinKey, f.MaxKey
	}
	f.MinSequence, f.MaxSequence, f.SchemaID, f.Level = r.Int64(), -r.Int64(), r.Int64N(3), int32(r.IntN(3))
	f.CreationTime, f.DeleteRowCount, f.FirstRowID = number(), number(), number()
	f.ValueStatsCols, f.WriteCols = names(), names()
	switch r.IntN(8) {
	case 0:
		f.EmbeddedIndex = []byte{byte(r.IntN(2))}
	case 1:
		f.ExternalPath = spec.Some(fmt.Sprint("oss://b/", r.IntN(2)))
	case 2:
		f.ExtraFiles = []string{fmt.Sprint("x", r.IntN(2)), "y"}
	case 3:
		f.WriteColsSeq = spec.Some([]int64{1, r.Int64()})
		f.FileSource = spec.Some(int32(r.IntN(2)))
	}
	return e
}

// normal is an entry without the differences between nil and empty that no
// manifest can tell.
func normal(e spec.ManifestEntry) spec.ManifestEntry {
	if len(e.File.ExtraFiles) == 0 {
		e.File.ExtraFiles = nil
	}
	return e
}

// TestEntries packs random entries and every Java-written manifest, and unpacks
// them.
func TestEntries(t *testing.T) {
	check := func(name string, in []spec.ManifestEntry) {
		x := spec.NewEntries(0)
		deletes := 0
		for i := range in {
			x.Add(&in[i])
			deletes += int(in[i].Kind)
		}
		x.Done()
		if x.Len() != len(in) || x.Deletes() != deletes || x.Bytes() <= 0 {
			t.Fatalf("%s: %d entries, %d deletes", name, x.Len(), x.Deletes())
		}
		for i := range in {
			var got spec.ManifestEntry
			x.Entry(i, &got)
			if !reflect.DeepEqual(normal(got), normal(in[i])) {
				t.Fatalf("%s: entry %d:\n%+v\nwant\n%+v", name, i, got, in[i])
			}
			var s spec.FileStats
			x.Stats(i, &s)
			if string(s.KeyMin) != string(in[i].File.KeyStats.Min) || string(s.ValueMax) != string(in[i].File.ValueStats.Max) || s.ValueNulls.Len() != len(in[i].File.ValueStats.NullCounts) {
				t.Fatalf("%s: entry %d: %+v", name, i, s)
			}
			for c, n := range in[i].File.ValueStats.NullCounts {
				if s.ValueNulls.At(c) != n {
					t.Fatalf("%s: entry %d: null count %d", name, i, c)
				}
			}
			if x.Name(i) != in[i].File.FileName || x.Rows(i) != in[i].File.RowCount || x.Size(i) != in[i].File.FileSize || x.Bucket(i) != in[i].Bucket ||
				x.TotalBuckets(i) != in[i].TotalBuckets || string(x.Partitions()[x.Partition(i)]) != string(in[i].Partition) || x.Shapes()[x.Shape(i)].SchemaID != in[i].File.SchemaID {
				t.Fatalf("%s: columns of entry %d", name, i)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var list []spec.ManifestEntry
		for range r.IntN(40) {
			list = append(list, randomEntry(r))
		}
		check("random", list)
	}
	files, err := filepath.Glob("testdata/*/manifest/manifest-*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(path, "manifest-list") || !spec.IsAvro(b) {
			continue
		}
		var list []spec.ManifestEntry
		if err := spec.ReadManifest(b, func(e *spec.ManifestEntry) error { list = append(list, *e); return nil }); err != nil {
			t.Fatal(err)
		}
		check(path, list)
		n += len(list)
	}
	if n < 20 {
		t.Errorf("%d entries in the fixtures", n)
	}
}

// TestLive folds random histories, valid and broken ones, cut into manifests, and
// compares with MergeEntries.
func TestLive(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	failed := 0
	for range 2000 {
		var sets []*spec.Entries
		var merge spec.MergeEntries
		var want error
		var live []spec.ManifestEntry
		total := 0
		for range 1 + r.IntN(4) {
			x := spec.NewEntries(0)
			for range r.IntN(8) {
				e := randomEntry(r)
				if len(live) > 0 && r.IntN(3) > 0 {
					e = live[r.IntN(len(live))] // about a file that came before
					e.Kind = spec.FileDelete
				}
				if r.IntN(8) > 0 && e.Kind == spec.FileDelete && !merge.Has(e.ID()) {
					e.Kind = spec.FileAdd
				}
				if r.IntN(8) > 0 && e.Kind == spec.FileAdd && merge.Has(e.ID()) {
					continue
				}
				live = append(live, e)
				x.Add(&e)
				total++
				if want == nil {
					want = merge.Add(e)
				}
			}
			x.Done()
			sets = append(sets, x)
		}
		var wantLive []spec.ManifestEntry
		if want == nil {
			wantLive, want = merge.Live()
		}
		fold := spec.NewLive(sets, total)
		var got error
		for s, x := range sets {
			for i := range x.Len() {
				if got == nil {
					got = fold.Add(s, i)
				}
			}
		}
		var refs []spec.Ref
		if got == nil {
			refs, got = fold.Files()
		}
		if (got == nil) != (want == nil) || got != nil && got.Error() != want.Error() {
			t.Fatalf("%v, want %v", got, want)
		}
		if got != nil {
			failed++
			continue
		}
		if len(refs) != len(wantLive) {
			t.Fatalf("%d live files, want %d", len(refs), len(wantLive))
		}
		for k, ref := range refs {
			var e spec.ManifestEntry
			sets[ref.Set].Entry(int(ref.Index), &e)
			if !reflect.DeepEqual(normal(e), normal(wantLive[k])) {
				t.Fatalf("live file %d:\n%+v\nwant\n%+v", k, e, wantLive[k])
			}
		}
	}
	if failed < 100 || failed > 1900 {
		t.Errorf("%d of 2000 histories are broken", failed)
	}
}
