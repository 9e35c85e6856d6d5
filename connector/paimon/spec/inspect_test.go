package spec_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// TestInspect prints every metadata file of Java's tables as JSON.
func TestInspect(t *testing.T) {
	for _, table := range tables(t, "testdata") {
		schemas := map[int64]*catalog.Schema{}
		for name, b := range readDir(t, table+"/schema", "schema-") {
			s, err := spec.ParseSchema(b)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			schemas[s.ID] = s
		}
		seen := map[spec.MetadataKind]bool{}
		for _, dir := range []string{"schema", "snapshot", "manifest"} {
			for name, b := range readDir(t, filepath.Join(table, dir), "") {
				seen[spec.KindOfFile(name)] = true
				for _, lookup := range []func(int64) *catalog.Schema{nil, func(id int64) *catalog.Schema { return schemas[id] }} {
					v, err := spec.Inspect(name, b, lookup)
					if err != nil {
						t.Fatalf("%s/%s: %v", table, name, err)
					}
					if _, err := json.Marshal(v); err != nil {
						t.Fatalf("%s/%s: %v", table, name, err)
					}
				}
			}
		}
		for _, k := range []spec.MetadataKind{spec.SchemaFile, spec.SnapshotFile, spec.HintFile, spec.ManifestListFile, spec.ManifestFile} {
			if !seen[k] {
				t.Errorf("%s has no %s file", table, k)
			}
		}
	}
	for name, want := range map[string]spec.MetadataKind{"/t/tag/tag-a": spec.SnapshotFile, "changelog-7": spec.SnapshotFile, "index-manifest-x-0": spec.IndexManifest,
		"changelog-0f6b-0.parquet": "", "data-0f6b-0.parquet": "", "stat-x-0": spec.StatisticsFile, "consumer-c": spec.ConsumerFile} {
		if got := spec.KindOfFile(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, err := spec.Inspect("data-x.parquet", nil, nil); errs.ClassOf(err) != errs.User {
		t.Errorf("a data file: %v", err)
	}
}

// TestInspectRows checks that rows in metadata become readable.
func TestInspectRows(t *testing.T) {
	dir := "testdata/pk_composite_key"
	b, err := os.ReadFile(dir + "/schema/schema-0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.ParseSchema(b)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range readDir(t, dir+"/manifest", "manifest-") {
		if strings.HasPrefix(name, "manifest-list") {
			continue
		}
		v, err := spec.Inspect(name, b, func(int64) *catalog.Schema { return s })
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var entries []struct {
			Kind string
			File struct {
				FileName string
				RowCount int64
				MinKey   map[string]any
				KeyStats struct{ Min, Max, NullCounts map[string]any }
			}
		}
		if err := json.Unmarshal(text, &entries); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, e := range entries {
			if e.Kind != "ADD" && e.Kind != "DELETE" || !strings.HasPrefix(e.File.FileName, "data-") || e.File.RowCount == 0 {
				t.Errorf("entry %+v", e)
			}
			for _, k := range s.TrimmedPrimaryKeys() {
				bounded := s.Fields[s.Column(k)].Type.Length <= 6 || s.Fields[s.Column(k)].Type.Kind != catalog.Timestamp // Parquet has no bounds of INT96
				if e.File.MinKey[k] == nil || bounded && e.File.KeyStats.Min[k] == nil || e.File.KeyStats.NullCounts[k] != 0.0 {
					t.Fatalf("column %s is not readable in %+v", k, e)
				}
			}
		}
	}
}

// TestDamaged reads every prefix of a manifest, and bytes changed at random
// places: errors, never a panic.
func TestDamaged(t *testing.T) {
	for name, b := range readDir(t, "testdata/pk_composite_key/manifest", "manifest-") {
		read := func(b []byte) error {
			if strings.HasPrefix(name, "manifest-list") {
				_, err := spec.ReadManifestList(b)
				return err
			}
			return spec.ReadManifest(b, func(*spec.ManifestEntry) error { return nil })
		}
		if err := read(b); err != nil {
			t.Fatal(err)
		}
		whole := 0
		for n := range len(b) {
			err := read(b[:n])
			if err == nil {
				whole++ // the header alone is a file without records
			} else if c := errs.ClassOf(err); c != errs.Corruption {
				t.Fatalf("%s cut after %d bytes: class %s: %v", name, n, c, err)
			}
		}
		if whole > 1 {
			t.Errorf("%s: %d prefixes read without an error", name, whole)
		}
	}
}
