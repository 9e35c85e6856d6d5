package avro

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	hamba "github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/ocf"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/testkit"
)

var ctx = context.Background()

const path = "/f.avro"

func open(t testing.TB, data []byte) fileio.File {
	t.Helper()
	store := fileio.NewMemory()
	if err := store.WriteFile(ctx, path, data); err != nil {
		t.Fatal(err)
	}
	f, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// read returns the rows of a file as text, read as the columns it describes.
func read(t testing.TB, data []byte, opts format.ReadOptions) (out []string, err error) {
	t.Helper()
	rows := int64(-1)
	if opts.Columns == nil {
		f := open(t, data)
		d, err := Format{}.Describe(ctx, f, path)
		if err != nil {
			return nil, err
		}
		f.Close()
		opts.Columns, rows = d.Columns, d.Rows
	}
	budget := memory.New("test", 64<<20)
	opts.Path, opts.Budget, opts.Strict = path, budget, true
	var types []catalog.Type
	for _, c := range opts.Columns {
		types = append(types, c.Type)
	}
	r, err := Format{}.NewReader(ctx, open(t, data), opts)
	if err != nil {
		if budget.Used() != 0 {
			t.Fatalf("%d bytes stay reserved", budget.Used())
		}
		return nil, err
	}
	defer func() {
		if cerr := r.Close(); cerr != nil {
			t.Fatal(cerr)
		}
		if budget.Used() != 0 {
			t.Fatalf("%d bytes stay reserved", budget.Used())
		}
	}()
	if rows >= 0 && r.Rows() != rows {
		t.Fatalf("%d rows, described are %d", r.Rows(), rows)
	}
	seq := int64(-1)
	for len(out) < 1<<20 {
		b, err := r.Next(ctx)
		if err != nil {
			return out, err
		}
		if b == nil {
			break
		}
		if seq >= 0 && b.Seq != seq || b.Len == 0 {
			t.Fatalf("a batch of %d rows at %d, want %d", b.Len, b.Seq, seq)
		}
		seq = b.Seq + int64(b.Len)
		for i := range b.Len {
			out = append(out, string(jsonl.AppendRow(nil, b, i, types)))
		}
	}
	if opts.Parts <= 1 && int64(len(out)) != r.Rows() && len(out) < 1<<20 {
		t.Fatalf("%d rows delivered of %d", len(out), r.Rows())
	}
	return out, nil
}

// tolerate fails on an error that is not one of a bad file.
func tolerate(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if c := errs.ClassOf(err); c != errs.Corruption && c != errs.Unsupported && c != errs.Resource {
		t.Fatalf("class %s: %v", c, err)
	}
	if errs.ClassOf(err) == errs.Corruption && !strings.Contains(err.Error(), path) {
		t.Fatalf("the error does not name the file: %v", err)
	}
}

func seeds(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("testdata/*.avro")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	out := map[string][]byte{}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(n)] = b
	}
	return out
}

// TestTypes reads a file of every type that Java wrote; whole tables are compared
// with Java's answers in connector/paimon.
func TestTypes(t *testing.T) {
	rows, err := read(t, seeds(t)["types.avro"], format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/types.golden")
	if os.Getenv("THERMOCLINE_UPDATE") != "" {
		err = os.WriteFile("testdata/types.golden", []byte(strings.Join(rows, "\n")+"\n"), 0o644)
		want = nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(rows, "\n") + "\n"; want != nil && got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestFixtures decodes every data file that Java wrote.
func TestFixtures(t *testing.T) {
	files := 0
	for _, set := range []string{"paimon-latest", "paimon-java"} {
		err := filepath.WalkDir(testkit.Shared(t, "fixtures/"+set), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(p, ".avro") || !strings.Contains(p, "/bucket-") {
				return err
			}
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			files++
			if _, err := read(t, b, format.ReadOptions{}); err != nil {
				t.Errorf("%s: %v", p, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 50 {
		t.Errorf("only %d files", files)
	}
}

const nestedSchema = `{"type":"record","name":"record","namespace":"n","fields":[
 {"name":"k","type":"long"},
 {"name":"s","type":["null","string"],"default":null},
 {"name":"a","type":["null",{"type":"array","items":["null",{"type":"map","values":["null","int"]}]}],"default":null},
 {"name":"r","type":{"type":"record","name":"inner","fields":[{"name":"x","type":["int","null"]},{"name":"e","type":{"type":"enum","name":"en","symbols":["A","B"]}},{"name":"y","type":"double"}]}},
 {"name":"r2","type":["null","inner"]},
 {"name":"u","type":["null","string","int"]},
 {"name":"f","type":{"type":"fixed","name":"fx","size":3}},
 {"name":"d","type":{"type":"fixed","name":"dx","size":20,"logicalType":"decimal","precision":38,"scale":2}}
]}`

// sample writes n rows with another implementation.
func sample(t testing.TB, codec ocf.CodecName, n int) []byte {
	t.Helper()
	var buf bytes.Buffer
	enc, err := ocf.NewEncoderWithSchema(hamba.MustParse(nestedSchema), &buf, ocf.WithCodec(codec), ocf.WithBlockLength(100))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		m := map[string]any{"k": int64(i), "s": nil, "a": nil, "r": map[string]any{"x": i, "e": "B", "y": 0.5}, "r2": nil, "u": nil, "f": [3]byte{1, 2, byte(i)}}
		var d [20]byte
		d[19] = byte(i)
		if i%5 == 1 {
			for j := range d {
				d[j] = 0xff
			}
		}
		if i%3 > 0 {
			m["s"] = fmt.Sprintf("a string, number %d", i)
			m["a"] = []any{map[string]any{"map": map[string]any{"one": i}}, nil}
			m["r2"] = map[string]any{"n.inner": map[string]any{"x": nil, "e": "A", "y": float64(i)}}
			m["u"] = map[string]any{"string": "skipped"}
		}
		m["d"] = d
		if err := enc.Encode(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// sampleColumns are the columns of sample that can be read.
func sampleColumns() []format.Column {
	str := catalog.TString.Required()
	i := catalog.TInt
	m := catalog.Type{Kind: catalog.Map, Key: &str, Elem: &i}
	row := catalog.Type{Kind: catalog.Row, Fields: []catalog.Field{{Name: "y", Type: catalog.TDouble}, {Name: "gone", Type: catalog.TString}, {Name: "x", Type: catalog.TInt}}}
	return []format.Column{{Name: "d", Type: catalog.TDecimal(38, 2)}, {Name: "s", Type: catalog.TString}, {Name: "k", Type: catalog.TBigInt},
		{Name: "a", Type: catalog.Type{Kind: catalog.Array, Elem: &m}}, {Name: "r", Type: row}, {Name: "r2", Type: row}, {Name: "f", Type: catalog.TBytes},
		{Name: "k", Type: catalog.TBigInt}}
}

func wantSample(i int) string {
	d := fmt.Sprintf("0.%02d", i%256)
	if i%256 > 99 {
		d = fmt.Sprintf("%d.%02d", i%256/100, i%256%100)
	}
	if i%5 == 1 {
		d = "-0.01"
	}
	s, a, r2 := "null", "null", "null"
	if i%3 > 0 {
		s, a, r2 = fmt.Sprintf(`"a string, number %d"`, i), fmt.Sprintf(`[{"m":[["one",%d]]},null]`, i), fmt.Sprintf(`{"r":[%d,null,null]}`, i)
	}
	return fmt.Sprintf(`["%s",%s,%d,%s,{"r":[0.5,null,%d]},%s,{"b":"0102%02x"},%d]`, d, s, i, a, i, r2, i%256, i)
}

// TestCodecs reads files of another writer, whole and in parts.
func TestCodecs(t *testing.T) {
	const n = 1050
	for _, codec := range []ocf.CodecName{ocf.Null, ocf.Deflate, ocf.Snappy, ocf.ZStandard} {
		data := sample(t, codec, n)
		rows, err := read(t, data, format.ReadOptions{Columns: sampleColumns(), BatchRows: 64})
		if err != nil {
			t.Fatal(codec, err)
		}
		for i, r := range rows {
			if r != wantSample(i) {
				t.Fatalf("%s: row %d is %s, want %s", codec, i, r, wantSample(i))
			}
		}
		if len(rows) != n {
			t.Fatalf("%s: %d rows", codec, len(rows))
		}
		for _, parts := range []int{2, 3, 20} {
			var all []string
			for p := range parts {
				rows, err := read(t, data, format.ReadOptions{Columns: sampleColumns(), Part: p, Parts: parts})
				if err != nil {
					t.Fatal(codec, err)
				}
				all = append(all, rows...)
			}
			if strings.Join(all, "\n") != strings.Join(rows, "\n") {
				t.Errorf("%s: %d parts have %d rows", codec, parts, len(all))
			}
		}
	}
}

// TestPartsSeq checks that positions count from the file's first row in every
// part.
func TestPartsSeq(t *testing.T) {
	data := sample(t, ocf.Null, 1050)
	cols := sampleColumns()[2:3]
	for p := range 4 {
		r, err := Format{}.NewReader(ctx, open(t, data), format.ReadOptions{Path: path, Columns: cols, Part: p, Parts: 4})
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
			if b.Seq != b.Cols[0].I64s[0] {
				t.Errorf("part %d: a batch at %d begins with row %d", p, b.Seq, b.Cols[0].I64s[0])
			}
		}
		r.Close()
	}
}

// TestNoColumns counts rows without decoding them.
func TestNoColumns(t *testing.T) {
	rows, err := read(t, sample(t, ocf.Snappy, 1050), format.ReadOptions{Columns: []format.Column{}, BatchRows: 400})
	if err != nil || len(rows) != 1050 {
		t.Fatal(len(rows), err)
	}
}

// TestBzip2 reads a block that bzip2 1.0.8 compressed: the longs 1, 2 and 3.
func TestBzip2(t *testing.T) {
	block, err := hex.DecodeString("425a68393141592653591488b7ea0000004000150020002198198461772453850901488b7ea0")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := read(t, container1("bzip2", `{"type":"record","name":"r","fields":[{"name":"k","type":"long"}]}`, 3, block), format.ReadOptions{})
	if err != nil || strings.Join(rows, "") != "[1][2][3]" {
		t.Fatal(rows, err)
	}
}

// container1 is a file of one block.
func container1(codec, schema string, rows int64, block []byte) []byte {
	b := []byte(magic)
	str := func(s string) { b = append(binary.AppendVarint(b, int64(len(s))), s...) }
	b = binary.AppendVarint(b, 2)
	str("avro.schema")
	str(schema)
	str("avro.codec")
	str(codec)
	b = append(b, 0)
	b = append(b, make([]byte, syncBytes)...)
	b = binary.AppendVarint(b, rows)
	str(string(block))
	return append(b, make([]byte, syncBytes)...)
}

// TestRefused checks that what cannot be read is refused, by name, and never
// read as something else.
func TestRefused(t *testing.T) {
	record := func(typ string) string {
		return `{"type":"record","name":"r","fields":[{"name":"k","type":` + typ + `}]}`
	}
	deep := strings.Repeat(`{"type":"array","items":`, 100) + `"int"` + strings.Repeat("}", 100)
	wide := `{"type":"record","name":"a0","fields":[{"name":"k","type":"int"}]}`
	for i := 1; i < 40; i++ {
		wide = fmt.Sprintf(`{"type":"record","name":"a%d","fields":[{"name":"x","type":%s},{"name":"y","type":"a%d"}]}`, i, wide, i-1)
	}
	list := catalog.Type{Kind: catalog.Array, Elem: &catalog.TInt}
	for _, c := range []struct {
		name, codec, schema string
		rows                int64
		block               string
		typ                 catalog.Type
		class               errs.Class
		text                string
	}{
		{"codec", "xz", record(`"int"`), 1, "\x02", catalog.TInt, errs.Unsupported, `"xz"`},
		{"union", "null", record(`["int","string"]`), 1, "\x00\x02", catalog.TInt, errs.Unsupported, "union"},
		{"recursive", "null", record(`["null","r"]`), 1, "\x00", catalog.TInt, errs.Unsupported, "recursive"},
		{"deep", "null", record(deep), 1, "\x00", catalog.TInt, errs.Corruption, "nested"},
		{"exponential", "null", record(wide), 1, "\x00", catalog.TInt, errs.Corruption, "types"},
		{"no bytes", "null", record(`"null"`), 1 << 40, "", catalog.TInt, errs.Unsupported, "without bytes"},
		{"many rows", "null", record(`"int"`), 1 << 40, "", catalog.TInt, errs.Unsupported, "GiB"},
		{"empty elements", "null", record(`{"type":"array","items":"null"}`), 1, "\x80\x80\x80\x80\x08", catalog.TInt, errs.Unsupported, "without bytes"},
		{"twice", "null", `{"type":"record","name":"r","fields":[{"name":"k","type":"int"},{"name":"k","type":"int"}]}`, 1, "\x00\x00", catalog.TInt, errs.Corruption, "name of its own"},
		{"rows", "null", record(`"int"`), 1000, "\x02", catalog.TInt, errs.Corruption, "1000 rows"},
		{"rest", "null", record(`"int"`), 1, "\x02\x02", catalog.TInt, errs.Corruption, "after its last"},
		{"number", "null", record(`"int"`), 1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", catalog.TInt, errs.Corruption, "number"},
		{"int range", "null", record(`"int"`), 1, "\x80\x80\x80\x80\x80\x01", catalog.TInt, errs.Corruption, "value"},
		{"tiny range", "null", record(`"int"`), 1, "\x80\x02", catalog.TTinyInt, errs.Corruption, "value 128"},
		{"boolean", "null", record(`"boolean"`), 1, "\x02", catalog.TBoolean, errs.Corruption, "boolean"},
		{"branch", "null", record(`["null","int"]`), 1, "\x08\x00", catalog.TInt, errs.Corruption, "branch"},
		{"string", "null", record(`"string"`), 1, "\xfe\xff\xff\xff\x0f", catalog.TString, errs.Corruption, "beyond"},
		{"list", "null", record(`{"type":"array","items":"int"}`), 1, "\xfe\xff\xff\xff\x0f", list, errs.Corruption, "items"},
		{"type", "null", record(`"int"`), 1, "\x02", catalog.TString, errs.Corruption, "is int in the file, not STRING"},
		{"scale", "null", record(`{"type":"bytes","logicalType":"decimal","precision":4,"scale":1}`), 1, "\x02\x01", catalog.TDecimal(4, 2), errs.Corruption, "decimal(4, 1)"},
		{"decimal", "null", record(`{"type":"bytes","logicalType":"decimal","precision":4,"scale":1}`), 1, "\x12\x01\x01\x01\x01\x01\x01\x01\x01\x01", catalog.TDecimal(4, 1), errs.Corruption, "precision"},
		{"millis", "null", record(`{"type":"long","logicalType":"timestamp-millis"}`), 1, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", catalog.TTimestamp(3), errs.Corruption, "range"},
		{"bare long", "null", record(`"long"`), 1, "\x02", catalog.TTimestamp(3), errs.Corruption, "is long in the file"},
		{"variant", "null", record(`"bytes"`), 1, "\x02\x02", catalog.Type{Kind: catalog.Variant}, errs.Corruption, "VARIANT"},
		{"snappy bomb", "snappy", record(`"int"`), 1, "\xff\xff\xff\xff\x07aaaaaa", catalog.TInt, errs.Corruption, "claim"},
		{"no JSON", "null", "{", 1, "\x02", catalog.TInt, errs.Corruption, "JSON"},
		{"no record", "null", `"int"`, 1, "\x02", catalog.TInt, errs.Corruption, "record"},
	} {
		_, err := read(t, container1(c.codec, c.schema, c.rows, []byte(c.block)), format.ReadOptions{Columns: []format.Column{{Name: "k", Type: c.typ}}})
		if errs.ClassOf(err) != c.class || err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: class %s, %v; want %s with %q", c.name, errs.ClassOf(err), err, c.class, c.text)
		}
		tolerate(t, err)
	}
	_, err := read(t, seeds(t)["small.avro"], format.ReadOptions{Columns: []format.Column{{Name: "other", Type: catalog.TInt}}})
	if errs.ClassOf(err) != errs.Corruption {
		t.Errorf("a missing column: %v", err)
	}
}

// TestBomb checks that a small file cannot take more memory than the budget.
func TestBomb(t *testing.T) {
	for _, codec := range []ocf.CodecName{ocf.Deflate, ocf.ZStandard} {
		var buf bytes.Buffer
		enc, err := ocf.NewEncoder(`{"type":"record","name":"r","fields":[{"name":"k","type":"string"}]}`, &buf, ocf.WithCodec(codec))
		if err != nil {
			t.Fatal(err)
		}
		if err := enc.Encode(map[string]any{"k": strings.Repeat("x", 80<<20)}); err != nil {
			t.Fatal(err)
		}
		if err := enc.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = read(t, buf.Bytes(), format.ReadOptions{})
		if errs.ClassOf(err) != errs.Resource {
			t.Errorf("%s: %v", codec, err)
		}
	}
}

// TestChangedFiles changes and cuts small files.
func TestChangedFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	files := seeds(t)
	for _, codec := range []ocf.CodecName{ocf.Null, ocf.Deflate, ocf.Snappy, ocf.ZStandard} {
		files[string(codec)] = sample(t, codec, 150)
	}
	for name, data := range files {
		want, err := read(t, data, format.ReadOptions{Columns: columnsOf(name)})
		if err != nil {
			t.Fatal(name, err)
		}
		for range 300 {
			bad := bytes.Clone(data)
			for range 1 + r.IntN(3) {
				bad[r.IntN(len(bad))] = byte(r.IntN(256))
			}
			_, err := read(t, bad, format.ReadOptions{Columns: columnsOf(name)})
			tolerate(t, err)
		}
		for range 50 {
			rows, err := read(t, data[:r.IntN(len(data))], format.ReadOptions{Columns: columnsOf(name)})
			tolerate(t, err)
			if err == nil && len(rows) >= len(want) {
				t.Errorf("%s: %d rows of a cut file", name, len(rows))
			}
		}
	}
}

func columnsOf(name string) []format.Column {
	if strings.HasSuffix(name, ".avro") {
		return nil
	}
	return sampleColumns()
}

// FuzzReader reads changed files.
func FuzzReader(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Add(sample(f, ocf.Deflate, 5))
	f.Add(sample(f, ocf.Null, 5))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := read(t, data, format.ReadOptions{})
		tolerate(t, err)
		_, err = read(t, data, format.ReadOptions{Columns: sampleColumns(), BatchRows: 7})
		tolerate(t, err)
	})
}

// FuzzSchema parses schemas.
func FuzzSchema(f *testing.F) {
	f.Add(nestedSchema)
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseSchema([]byte(text))
		if err != nil {
			return
		}
		if of, _ := n.value(); of != nil {
			for _, fd := range of.fields {
				if _, err := fd.node.logicalType(fd.name); err != nil {
					tolerate(t, err)
				}
			}
		}
	})
}

// TestNewWriter refuses by name.
func TestNewWriter(t *testing.T) {
	w, err := fileio.NewMemory().Create(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Format{}).NewWriter(ctx, w, format.WriteOptions{Path: path}); errs.ClassOf(err) != errs.Unsupported || !strings.Contains(err.Error(), "avro") {
		t.Fatal(err)
	}
}
