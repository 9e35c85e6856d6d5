package spec_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// seed adds the Java-written files that match the patterns.
func seed(f *testing.F, patterns ...string) {
	n := 0
	for _, p := range patterns {
		files, err := filepath.Glob(filepath.Join("testdata", p))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
			if n++; n >= 40 {
				return
			}
		}
	}
	if n == 0 {
		f.Fatal("no seeds")
	}
}

func FuzzSnapshot(f *testing.F) {
	seed(f, "*/snapshot/snapshot-*")
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := spec.ParseSnapshot(b)
		if err != nil {
			return
		}
		out, err := s.Marshal()
		if err != nil {
			t.Skip() // a raw field that is not JSON cannot be there
		}
		if _, err := spec.ParseSnapshot(out); err != nil {
			t.Errorf("what was written cannot be read: %v\n%s", err, out)
		}
	})
}

func FuzzSchema(f *testing.F) {
	seed(f, "*/schema/schema-*")
	f.Add([]byte(`{"version":1,"id":0,"fields":[{"id":0,"name":""}]}`))
	f.Add([]byte(`{"version":1,"id":0,"fields":[{"name":"a","type":{"type":"ROW","fields":[{"name":"b","type":"INT"}]}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := spec.ParseSchema(b)
		if err != nil {
			return
		}
		spec.NewPaths("/t", "", s)
		out, err := spec.MarshalSchema(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := spec.ParseSchema(out); err != nil {
			t.Errorf("what was written cannot be read: %v\n%s", err, out)
		}
	})
}

func FuzzManifestList(f *testing.F) {
	seed(f, "*/manifest/manifest-list-*")
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := spec.ReadManifestList(b)
		if err != nil {
			return
		}
		if _, err := spec.WriteManifestList(list, "null"); err != nil {
			t.Error(err)
		}
	})
}

func FuzzManifest(f *testing.F) {
	seed(f, "*/manifest/manifest-[0-9a-f]*")
	s := &catalog.Schema{PartitionKeys: []string{"p"}, PrimaryKeys: []string{"p", "k"}, Fields: []catalog.Field{
		{ID: 0, Name: "p", Type: catalog.TString}, {ID: 1, Name: "k", Type: catalog.TTimestamp(6)}, {ID: 2, Name: "v", Type: catalog.TDecimal(20, 2)}}}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := spec.Inspect("manifest-0", b, func(int64) *catalog.Schema { return s })
		if err != nil {
			return
		}
		if _, err := json.Marshal(v); err != nil {
			t.Error(err)
		}
		x, err := spec.ReadEntries(b, 1)
		if err != nil {
			return
		}
		i := 0
		if err := spec.ReadManifest(b, func(e *spec.ManifestEntry) error {
			var got spec.ManifestEntry
			x.Entry(i, &got)
			if got.ID() != e.ID() || got.File.RowCount != e.File.RowCount || got.File.MaxSequence != e.File.MaxSequence {
				t.Errorf("entry %d comes back as %+v", i, got)
			}
			i++
			return nil
		}); err != nil || i != x.Len() {
			t.Error(i, err)
		}
	})
}

func FuzzIndexManifest(f *testing.F) {
	seed(f, "*/manifest/index-manifest-*")
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := spec.ReadIndexManifest(b)
		if err != nil {
			return
		}
		if _, err := spec.WriteIndexManifest(list, "null"); err != nil {
			t.Error(err)
		}
	})
}

func FuzzBinaryRow(f *testing.F) {
	types := []catalog.Type{catalog.TBoolean, catalog.TTinyInt, catalog.TSmallInt, catalog.TInt, catalog.TBigInt, catalog.TFloat, catalog.TDouble,
		catalog.TDecimal(10, 2), catalog.TDecimal(30, 2), catalog.TString, catalog.TBytes, catalog.TDate, catalog.TTime(3),
		catalog.TTimestamp(3), catalog.TTimestamp(6), catalog.TTimestampLTZ(9)}
	vals := vecs(f, types, "true", "-1", "300", "70000", "5000000000", "1.5", "2.5", "1.25", "-99999999999999999999.25", "a string longer than seven", "bytes",
		"19737", "1000", "1000000", "1705312800123456000", "1705312800123456789")
	f.Add([]byte(spec.NewRowEncoder(types).Encode(vals, 0).Clone()))
	f.Add([]byte(spec.EmptyRow))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := spec.BinaryRow(b).Decode(types)
		if err != nil {
			return
		}
		again := spec.NewRowEncoder(types).Encode(got, 0).Clone()
		back, err := again.Decode(types)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		for i := range got {
			if vector.Compare(got[i], 0, back[i], 0) != 0 {
				t.Errorf("field %d differs", i)
			}
		}
	})
}

func FuzzDeletionVector(f *testing.F) {
	files, err := filepath.Glob("testdata/*/index/index-*")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		if b, err := os.ReadFile(path); err == nil && len(b) < 1<<16 {
			f.Add(b, int32(0), int64(3))
			f.Add(b[min(1, len(b)):], int32(len(b)), int64(0))
		}
	}
	f.Add([]byte{0, 0, 0, 18, 0x16, 0x44, 0x9c, 0x79}, int32(22), int64(3))
	f.Fuzz(func(t *testing.T, b []byte, length int32, cardinality int64) {
		r := spec.IndexRange{DataFile: "f", Length: length}
		if cardinality > 0 {
			r.Cardinality = spec.Some(cardinality)
		}
		m, err := spec.ReadDeletionVector(b, &r)
		if err != nil {
			return
		}
		if r.Cardinality.OK && m.Cardinality() != cardinality {
			t.Errorf("%d positions, not %d", m.Cardinality(), cardinality)
		}
	})
}
