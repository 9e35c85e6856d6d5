package spec_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hamba/avro/v2/ocf"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
)

// tables returns the directories of all tables (those with a schema) below root.
func tables(t *testing.T, root string) []string {
	var out []string
	err := filepath.WalkDir(root, func(p string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == "schema" && !strings.Contains(p, "/branch/") {
			out = append(out, filepath.Dir(p))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readDir(t *testing.T, dir, prefix string) map[string][]byte {
	out := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return out
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			out[e.Name()] = b
		}
	}
	return out
}

// TestJavaTables decodes every metadata file of tables that Java wrote, and
// encodes it again.
func TestJavaTables(t *testing.T) {
	for _, root := range []string{"testdata", "shared:fixtures/paimon-latest", "shared:fixtures/flink-paimon", "shared:fixtures/paimon-java"} {
		t.Run(strings.ReplaceAll(root, "/", "_"), func(t *testing.T) {
			dir := root
			if elem, ok := strings.CutPrefix(root, "shared:"); ok {
				dir = testkit.Shared(t, elem)
			}
			all := tables(t, dir)
			if len(all) == 0 {
				t.Fatal("no tables")
			}
			c := &golden{t: t}
			for _, table := range all {
				c.table(table, dir)
			}
			t.Logf("%d tables, %d files, %d entries, %d rows re-encoded", len(all), c.files, c.entries, c.rows)
			if c.entries == 0 || c.rows == 0 {
				t.Error("nothing was checked")
			}
		})
	}
}

type golden struct {
	t                    *testing.T
	files, entries, rows int
	where                string
	schemas              map[int64]*catalog.Schema
}

func (c *golden) table(dir, root string) {
	t := c.t
	t.Helper()
	c.schemas = map[int64]*catalog.Schema{}
	for name, b := range readDir(t, dir+"/schema", "schema-") {
		c.where = dir + " " + name
		s, err := spec.ParseSchema(b)
		if errs.ClassOf(err) == errs.Unsupported {
			continue // a type that the engine does not know, such as VECTOR
		}
		if err != nil {
			t.Fatalf("%s: %v", c.where, err)
		}
		c.files++
		c.schemas[s.ID] = s
		again, err := spec.MarshalSchema(s)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), `"version" : 3`) {
			sameJSON(t, c.where, b, again)
		}
	}
	entries := map[string][]spec.ManifestEntry{}
	for name, b := range readDir(t, dir+"/manifest", "") {
		c.where = dir + " " + name
		if !spec.IsAvro(b) {
			if _, err := spec.ReadManifestList(b); errs.ClassOf(err) != errs.Unsupported {
				t.Errorf("%s: got %v, want unsupported", c.where, err)
			}
			continue
		}
		c.files++
		switch {
		case strings.HasPrefix(name, "manifest-list-"):
			c.list(b)
		case strings.HasPrefix(name, "index-manifest-"):
			c.index(b)
		default:
			entries[name] = c.manifest(b)
		}
	}
	for name, b := range readDir(t, dir+"/snapshot", "snapshot-") {
		c.where = dir + " " + name
		c.snapshot(b, dir, entries)
	}
	for name, b := range readDir(t, dir+"/tag", "tag-") {
		c.where = dir + " " + name
		c.snapshot(b, dir, entries)
	}
}

func sameJSON(t *testing.T, where string, a, b []byte) {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	dropEmpty(x)
	dropEmpty(y)
	if !reflect.DeepEqual(x, y) {
		t.Errorf("%s: written back as\n%s\nnot\n%s", where, b, a)
	}
}

// dropEmpty removes nulls, empty comments and logOffsets, which are not written
// back.
func dropEmpty(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			dropEmpty(x)
		}
	case map[string]any:
		for k, x := range v {
			m, isMap := x.(map[string]any)
			if x == nil || x == "" && (k == "comment" || k == "description") || k == "logOffsets" && isMap && len(m) == 0 {
				delete(v, k)
			}
			dropEmpty(x)
		}
	}
}

func (c *golden) snapshot(b []byte, dir string, manifests map[string][]spec.ManifestEntry) {
	t := c.t
	s, err := spec.ParseSnapshot(b)
	if err != nil {
		t.Fatalf("%s: %v", c.where, err)
	}
	c.files++
	again, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if s.UUID != "" && s.TagCreateTime == nil && len(s.Properties) < 2 { // 2.0
		if !bytes.Equal(b, again) {
			t.Errorf("%s: written back as\n%s\nnot\n%s", c.where, again, b)
		}
	} else {
		sameJSON(t, c.where, b, again)
	}
	if len(s.Extra) > 0 {
		t.Errorf("%s: unknown fields %v", c.where, s.Extra)
	}
	// The live files hold the rows that the snapshot counts.
	var merge spec.MergeEntries
	for _, list := range []string{s.BaseManifestList, s.DeltaManifestList} {
		raw, err := os.ReadFile(dir + "/manifest/" + list)
		if err != nil || !spec.IsAvro(raw) {
			return // expired (tags keep no delta), or not Avro
		}
		metas, err := spec.ReadManifestList(raw)
		if err != nil {
			t.Fatalf("%s: %v", c.where, err)
		}
		for _, m := range metas {
			es, ok := manifests[m.FileName]
			if !ok {
				return
			}
			for _, e := range es {
				if err := merge.Add(e); err != nil {
					t.Fatalf("%s: %s: %v", c.where, m.FileName, err)
				}
			}
		}
	}
	var rows int64
	live, err := merge.Live()
	if err != nil {
		t.Fatalf("%s: %v", c.where, err)
	}
	for _, e := range live {
		rows += e.File.RowCount
	}
	if s.TotalRecordCount != nil && rows != *s.TotalRecordCount {
		t.Errorf("%s: the live files have %d rows, the snapshot says %d", c.where, rows, *s.TotalRecordCount)
	}
}

// viaLibrary decodes a file with the Avro library alone.
func viaLibrary(t *testing.T, b []byte) []any {
	t.Helper()
	d, err := ocf.NewDecoder(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var out []any
	for d.HasNext() {
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	if err := d.Error(); err != nil {
		t.Fatal(err)
	}
	return out
}

// sameRecords compares what the Avro library reads from two files. Fields that
// only one schema has must be null there.
func (c *golden) sameRecords(java, ours []byte) {
	t := c.t
	t.Helper()
	a, b := viaLibrary(t, java), viaLibrary(t, ours)
	if len(a) != len(b) {
		t.Fatalf("%s: %d records, not %d", c.where, len(b), len(a))
	}
	for i := range a {
		if x, y := plain(a[i]), plain(b[i]); !reflect.DeepEqual(x, y) {
			t.Fatalf("%s: record %d is\n%v\nnot\n%v", c.where, i, y, x)
		}
	}
}

// plain removes nulls and the wrapping of union branches.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 1 {
			for k, x := range v {
				if k == "array" || k == "bytes" || k == "string" || k == "int" || k == "long" || k == "long.timestamp-millis" || strings.HasPrefix(k, "org.apache.paimon") {
					return plain(x)
				}
			}
		}
		out := map[string]any{}
		for k, x := range v {
			if p := plain(x); p != nil {
				out[k] = p
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	}
	return v
}

func (c *golden) list(b []byte) {
	t := c.t
	metas, err := spec.ReadManifestList(b)
	if err != nil {
		t.Fatalf("%s: %v", c.where, err)
	}
	for _, codec := range []string{"", "snappy", "deflate", "null"} {
		again, err := spec.WriteManifestList(metas, codec)
		if err != nil {
			t.Fatal(err)
		}
		if codec == "" {
			c.sameRecords(b, again)
		}
		back, err := spec.ReadManifestList(again)
		if err != nil {
			t.Fatalf("%s: %v", c.where, err)
		}
		if !reflect.DeepEqual(metas, back) {
			t.Fatalf("%s: read back as\n%+v\nnot\n%+v", c.where, back, metas)
		}
	}
	if s := c.anySchema(); s != nil {
		types := spec.TypesOf(s, s.PartitionKeys)
		for _, m := range metas {
			c.stats(m.PartitionStats, types)
		}
	}
}

func (c *golden) anySchema() *catalog.Schema {
	for _, s := range c.schemas {
		return s
	}
	return nil
}

func (c *golden) index(b []byte) {
	t := c.t
	entries, err := spec.ReadIndexManifest(b)
	if err != nil {
		t.Fatalf("%s: %v", c.where, err)
	}
	again, err := spec.WriteIndexManifest(entries, "")
	if err != nil {
		t.Fatal(err)
	}
	c.sameRecords(b, again)
	back, err := spec.ReadIndexManifest(again)
	if err != nil || !reflect.DeepEqual(entries, back) {
		t.Fatalf("%s: read back as\n%+v (%v)\nnot\n%+v", c.where, back, err, entries)
	}
}

func (c *golden) manifest(b []byte) []spec.ManifestEntry {
	t := c.t
	var out []spec.ManifestEntry
	if err := spec.ReadManifest(b, func(e *spec.ManifestEntry) error { out = append(out, *e); return nil }); err != nil {
		t.Fatalf("%s: %v", c.where, err)
	}
	c.entries += len(out)
	s := c.anySchema()
	if s == nil {
		return out
	}
	w, err := spec.NewManifestWriter(spec.TypesOf(s, s.PartitionKeys), "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range out {
		e := &out[i]
		if err := w.Add(e); err != nil {
			t.Fatalf("%s: %v", c.where, err)
		}
		fs := c.schemas[e.File.SchemaID]
		if fs == nil {
			continue
		}
		c.row(e.Partition, spec.TypesOf(fs, fs.PartitionKeys))
		keys := fs.TrimmedPrimaryKeys()
		types := spec.TypesOf(fs, keys)
		if e.File.MinKey.Arity() == len(types) {
			c.row(e.File.MinKey, types)
			c.row(e.File.MaxKey, types)
		}
		if e.File.KeyStats.Min.Arity() == len(types) {
			c.stats(e.File.KeyStats, types)
		}
		cols := make([]string, 0, len(fs.Fields))
		if e.File.ValueStatsCols.OK {
			cols = e.File.ValueStatsCols.V
		} else {
			for _, f := range fs.Fields {
				cols = append(cols, f.Name)
			}
		}
		if !slices.ContainsFunc(cols, func(n string) bool { return fs.Column(n) < 0 }) && e.File.ValueStats.Min.Arity() == len(cols) {
			c.stats(e.File.ValueStats, spec.TypesOf(fs, cols))
		}
	}
	again, meta := w.Finish("m")
	c.sameRecords(b, again)
	if meta.FileSize != int64(len(again)) {
		t.Errorf("%s: size %d, not %d", c.where, meta.FileSize, len(again))
	}
	var back []spec.ManifestEntry
	if err := spec.ReadManifest(again, func(e *spec.ManifestEntry) error { back = append(back, *e); return nil }); err != nil {
		t.Fatalf("%s: %v", c.where, err)
	}
	if !reflect.DeepEqual(out, back) {
		t.Fatalf("%s: read back as\n%+v\nnot\n%+v", c.where, back, out)
	}
	return out
}

// row decodes a row and encodes it again, byte for byte.
func (c *golden) row(r spec.BinaryRow, types []catalog.Type) {
	t := c.t
	t.Helper()
	vals, err := r.Decode(types)
	if err != nil {
		t.Fatalf("%s: %v", c.where, err)
	}
	again := spec.NewRowEncoder(types).Encode(vals, 0)
	if !bytes.Equal(again, r) {
		t.Fatalf("%s: the row %x of %v is written back as %x", c.where, []byte(r), types, []byte(again))
	}
	c.rows++
}

func (c *golden) stats(s spec.Stats, types []catalog.Type) {
	t := c.t
	t.Helper()
	cols, err := s.Decode(types)
	if err != nil {
		t.Fatalf("%s: %v", c.where, err)
	}
	again := spec.EncodeStats(types, cols)
	if !bytes.Equal(again.Min, s.Min) || !bytes.Equal(again.Max, s.Max) {
		t.Fatalf("%s: statistics of %v\n%x %x written back as\n%x %x", c.where, types, []byte(s.Min), []byte(s.Max), []byte(again.Min), []byte(again.Max))
	}
	for i, col := range cols {
		if !col.Min.IsNull(0) && !col.Max.IsNull(0) && vector.Compare(col.Min, 0, col.Max, 0) > 0 && !strings.Contains(c.where, "evolution_casts") {
			t.Errorf("%s: column %d: minimum above maximum", c.where, i)
		}
	}
	c.rows += 2
}
