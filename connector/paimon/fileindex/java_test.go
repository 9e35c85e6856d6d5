package fileindex_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/orc"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon/fileindex"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
)

var (
	ctx   = context.Background()
	kinds = []string{fileindex.BloomFilter, fileindex.Bitmap, fileindex.BSI, fileindex.RangeBitmap}
)

// javaIndex is an index that Java wrote, with the rows of its data file.
type javaIndex struct {
	path   string // of the data file
	raw    []byte
	rows   int64
	schema *catalog.Schema
	cols   []*vector.Vec // one a field; nil for nested ones
}

func eachJavaIndex(t testing.TB, fn func(x *javaIndex)) {
	t.Helper()
	formats := format.NewRegistry(parquet.Format{}, orc.Format{})
	root := testkit.Shared(t, "fixtures")
	var tables []string
	for _, p := range []string{"paimon-latest/file_index_*/default.db/t", "paimon-java/append_with_bitmap*/*", "paimon-java/*/append_with_b*/*", "paimon-java/*/pk_with_bitmap*/*"} {
		m, err := filepath.Glob(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, m...)
	}
	n := 0
	for _, dir := range tables {
		manifests, _ := filepath.Glob(filepath.Join(dir, "manifest/manifest-*"))
		for _, m := range manifests {
			if strings.Contains(m, "manifest-list") {
				continue
			}
			b, err := os.ReadFile(m)
			if err != nil {
				t.Fatal(err)
			}
			if !spec.IsAvro(b) {
				continue // package read reads it; its tables have the same indexes
			}
			if err := spec.ReadManifest(b, func(e *spec.ManifestEntry) error {
				x := &javaIndex{raw: e.File.EmbeddedIndex, rows: e.File.RowCount, path: filepath.Join(dir, "bucket-0", e.File.FileName)}
				for _, extra := range e.File.ExtraFiles {
					if strings.HasSuffix(extra, ".index") {
						if x.raw, err = os.ReadFile(filepath.Join(dir, "bucket-0", extra)); err != nil {
							return nil // of a snapshot that has expired, or elsewhere
						}
					}
				}
				if x.raw == nil {
					return nil
				}
				text, err := os.ReadFile(fmt.Sprintf("%s/schema/schema-%d", dir, e.File.SchemaID))
				if err != nil {
					return err
				}
				if x.schema, err = spec.ParseSchema(text); err != nil {
					return err
				}
				file, err := fileio.Local{}.Open(ctx, x.path)
				if err != nil {
					return nil // likewise
				}
				f, err := formats.ByFile(x.path)
				if err != nil {
					return err
				}
				opts := format.ReadOptions{Path: x.path}
				for _, c := range x.schema.Fields {
					if c.Type.IsPrimitive() {
						opts.Columns = append(opts.Columns, format.Column{Name: c.Name, Type: c.Type, ID: c.ID})
					}
				}
				r, err := f.NewReader(ctx, file, opts)
				if err != nil {
					return err
				}
				defer r.Close()
				at := 0
				var flat []*vector.Vec
				for _, c := range x.schema.Fields {
					x.cols = append(x.cols, nil)
					if c.Type.IsPrimitive() {
						x.cols[len(x.cols)-1] = c.Type.NewVec(0)
						flat = append(flat, x.cols[len(x.cols)-1])
						at++
					}
				}
				for {
					batch, err := r.Next(ctx)
					if err != nil {
						return err
					}
					if batch == nil {
						break
					}
					for c, v := range batch.Cols {
						for i := range batch.Len {
							flat[c].AppendFrom(v, i)
						}
					}
				}
				n++
				fn(x)
				return nil
			}); err != nil {
				t.Fatalf("%s: %v", m, err)
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d indexes", n)
	}
}

// satisfies evaluates a condition on one column.
func satisfies(p *connector.Predicate, v *vector.Vec, i int) bool {
	if p.Op == connector.IsNull || v.IsNull(i) {
		return p.Op == connector.IsNull && v.IsNull(i)
	}
	in := false
	if p.Value != nil {
		for k := range p.Value.Len {
			in = in || vector.Compare(v, i, p.Value, k) == 0
		}
	}
	cmp := func() int { return vector.Compare(v, i, p.Value, 0) }
	switch p.Op {
	case connector.Eq, connector.In:
		return in
	case connector.Ne, connector.NotIn:
		return !in
	case connector.Lt:
		return cmp() < 0
	case connector.Le:
		return cmp() <= 0
	case connector.Gt:
		return cmp() > 0
	case connector.Ge:
		return cmp() >= 0
	}
	return true // IS NOT NULL
}

// conditions makes conditions with the values of v, and with values beside them.
func conditions(v *vector.Vec, t catalog.Type) (out []*connector.Predicate) {
	var values []*vector.Vec
	step := max(1, v.Len/12)
	for i := 0; i < v.Len; i += step {
		if v.IsNull(i) {
			continue
		}
		x := t.NewVec(1)
		x.AppendFrom(v, i)
		values = append(values, x)
		for _, d := range []int64{-1, 1} {
			y := t.NewVec(1)
			y.AppendFrom(v, i)
			switch y.Kind {
			case vector.I32:
				y.I32s[0] += int32(d)
			case vector.I64:
				y.I64s[0] += d
			case vector.F64:
				y.F64s[0] += float64(d) / 8
			case vector.Str:
				y.Reset()
				y.AppendString(v.String(i) + "x"[:(d+1)/2])
			default:
				continue
			}
			values = append(values, y)
		}
	}
	for _, x := range values {
		for _, op := range []connector.PredicateOp{connector.Eq, connector.Ne, connector.Lt, connector.Le, connector.Gt, connector.Ge} {
			out = append(out, &connector.Predicate{Op: op, Value: x})
		}
	}
	all := t.NewVec(0)
	for _, x := range values {
		all.AppendFrom(x, 0)
		if all.Len == 5 {
			break
		}
	}
	if all.Len > 0 {
		out = append(out, &connector.Predicate{Op: connector.In, Value: all}, &connector.Predicate{Op: connector.NotIn, Value: all})
	}
	return append(out, &connector.Predicate{Op: connector.IsNull}, &connector.Predicate{Op: connector.IsNotNull})
}

// check asks an index of one kind every condition: no row that satisfies one is
// missing, and kinds that know rows know exactly those. It returns how many
// conditions the index answered.
func check(t testing.TB, name string, f *fileindex.File, kind, column string, typ catalog.Type, v *vector.Vec) (answered int) {
	t.Helper()
	for _, p := range conditions(v, typ) {
		r, err := f.Only(kind).Match(p, nil, func(int) (fileindex.Column, bool) { return fileindex.Column{Name: column, Type: typ}, true })
		if err != nil {
			t.Fatalf("%s: %s of %s: %v", name, kind, column, err)
		}
		if r.All() {
			continue
		}
		answered++
		any := false
		for i := range v.Len {
			want := satisfies(p, v, i)
			any = any || want
			if got := r.Has(int64(i)); got != want && (want || kind != fileindex.BloomFilter) {
				t.Errorf("%s: %s of %s: op %d: row %d: %t, want %t", name, kind, column, p.Op, i, got, want)
				break
			}
		}
		if any && r.None() {
			t.Errorf("%s: %s of %s: op %d leaves no rows", name, kind, column, p.Op)
		}
	}
	return answered
}

// TestJava asks every index that Java wrote about values that are in its file and
// values beside them.
func TestJava(t *testing.T) {
	answered := map[string]int{}
	eachJavaIndex(t, func(x *javaIndex) {
		f, err := fileindex.Open(bytes.NewReader(x.raw), int64(len(x.raw)), x.rows)
		if err != nil {
			t.Fatalf("%s: %v", x.path, err)
		}
		for c, field := range x.schema.Fields {
			for _, kind := range f.Kinds(field.Name) {
				if x.cols[c] != nil {
					answered[kind] += check(t, x.path, f, kind, field.Name, field.Type, x.cols[c])
				}
			}
		}
	})
	t.Log(answered)
	for _, k := range kinds {
		if answered[k] < 100 {
			t.Errorf("%s answered %d conditions", k, answered[k])
		}
	}
}

// TestSameBytes writes the indexes that Java wrote from the same rows: the bytes
// are the same.
func TestSameBytes(t *testing.T) {
	same := map[string]int{}
	eachJavaIndex(t, func(x *javaIndex) {
		f, err := fileindex.Open(bytes.NewReader(x.raw), int64(len(x.raw)), x.rows)
		if err != nil {
			t.Fatal(err)
		}
		for c, field := range x.schema.Fields {
			for _, kind := range f.Kinds(field.Name) {
				want := f.Body(field.Name, kind)
				if x.cols[c] == nil || want == nil {
					continue
				}
				b, err := fileindex.NewBuilder(kind, field.Type, func(name string) string {
					if kind == fileindex.Bitmap && name == "version" {
						return fmt.Sprint(want[0])
					}
					return x.schema.Options["file-index."+kind+"."+field.Name+"."+name]
				})
				if err != nil {
					t.Fatal(err)
				}
				b.Add(x.cols[c], 0, x.cols[c].Len)
				got := b.Finish()
				if kind == fileindex.Bitmap && len(got) == len(want) {
					got = want // bitmaps, in version 1 values too, are in Java's order of a hash table
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s: %s of %s:\n%s\nJava\n%s", x.path, kind, field.Name, hex.EncodeToString(got[:min(len(got), 400)]), hex.EncodeToString(want[:min(len(want), 400)]))
					continue
				}
				same[kind]++
			}
		}
	})
	for _, k := range kinds {
		if same[k] < 3 {
			t.Errorf("%d %s indexes", same[k], k)
		}
	}
}
