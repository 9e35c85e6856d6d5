package spec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/thermocline/thermocline/internal/testkit"
)

// slowSnapshot is what encoding/json makes of a snapshot file.
func slowSnapshot(b []byte) (*Snapshot, error) {
	s := &Snapshot{}
	err := json.Unmarshal(b, s)
	return s, err
}

// TestScanSnapshot reads the snapshots of all fixtures in both ways.
func TestScanSnapshot(t *testing.T) {
	fast, files := 0, 0
	for _, set := range []string{"paimon-latest/*/default.db/t", "paimon-java/*/*.db/*", "flink-paimon/*/*/*.db/*"} {
		for _, dir := range []string{"snapshot/snapshot-*", "tag/tag-*", "changelog/changelog-*"} {
			list, err := filepath.Glob(filepath.Join(testkit.Shared(t, "fixtures"), set, dir))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range list {
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				files++
				got, ok := scanSnapshot(b)
				if !ok {
					continue
				}
				fast++
				want, err := slowSnapshot(b)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %+v, want %+v, %v", f, got, want, err)
				}
			}
		}
	}
	t.Logf("%d of %d files", fast, files)
	if fast < 500 {
		t.Error("too few are read the fast way")
	}
	for _, text := range []string{``, `{`, `{}x`, `{"id":1,}`, `{"id":01}`, `{"id":1.0}`, `{"ID":1}`, `{"id":1 "x":2}`, `{"uuid":"a\u0041"}`, `{"id":9223372036854775808}`,
		`{"other":1}`, `{"id":"1"}`, `{"uuid":1}`, `{"properties":{"a":1}}`, `{"properties":null,"properties":{}`, `{"logOffsets":{}}`, `{"version":4294967297}`, `[1]`} {
		if s, ok := scanSnapshot([]byte(text)); ok {
			t.Errorf("%s: %+v", text, s)
		}
	}
}

// FuzzScanSnapshot: what the scanner reads, encoding/json reads the same.
func FuzzScanSnapshot(f *testing.F) {
	for _, s := range []string{`{}`, `{"version":3,"id":1,"schemaId":0,"baseManifestList":"a","commitKind":"APPEND","watermark":-9223372036854775808,"properties":{"a":"b","c":""},"statistics":null}`,
		`{"id":1,"id":2}`, `{"nextRowId":1,"nextRowId":null}`, " {\n \"nextRowId\" : 5 } "} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := scanSnapshot(b)
		if !ok {
			return
		}
		want, err := slowSnapshot(b)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v, %v", b, got, want, err)
		}
	})
}
