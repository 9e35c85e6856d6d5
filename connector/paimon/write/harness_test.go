package write_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

var (
	ctx     = context.Background()
	formats = format.NewRegistry(parquet.Format{})
)

// table is a table of a test.
type table struct {
	t      testing.TB
	files  fileio.FileIO
	dir    string
	schema *catalog.Schema
	paths  *spec.Paths
}

// newTable writes the table's first schema.
func newTable(t testing.TB, files fileio.FileIO, dir string, s *catalog.Schema) *table {
	t.Helper()
	s.HighestFieldID = spec.AssignFieldIDs(s.Fields, -1)
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	b, err := spec.MarshalSchema(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := files.CreateExclusive(ctx, dir+"/schema/schema-0", b); err != nil {
		t.Fatal(err)
	}
	return &table{t: t, files: files, dir: dir, schema: s, paths: spec.NewPaths(dir, "", s)}
}

func (x *table) writer(mod func(*write.Config)) *write.Writer {
	x.t.Helper()
	cfg := write.Config{Files: x.files, Paths: x.paths, Schema: x.schema, Formats: formats, Budget: memory.New("test", 0), Synchronous: true}
	if mod != nil {
		mod(&cfg)
	}
	w, err := write.New(cfg)
	if err != nil {
		x.t.Fatal(err)
	}
	return w
}

// committer does not sleep between attempts.
func (x *table) committer(user string) *commit.Committer {
	x.t.Helper()
	c, err := commit.New(commit.Config{Files: x.files, Paths: x.paths, Schema: x.schema, User: user, WriterVersion: "test",
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	if err != nil {
		x.t.Fatal(err)
	}
	return c
}

func (x *table) open() connector.Readable {
	x.t.Helper()
	d := paimon.NewDriver(paimon.Config{Files: x.files, Formats: formats})
	r, err := d.Open(ctx, x.dir, catalog.Identifier{Database: "db", Table: "t"})
	if err != nil {
		x.t.Fatal(err)
	}
	return r
}

// read returns the rows of a version as sorted canonical text.
func (x *table) read(ref catalog.Ref) []string {
	x.t.Helper()
	out, err := x.tryRead(ref)
	if err != nil {
		x.t.Fatal(err)
	}
	return out
}

func (x *table) tryRead(ref catalog.Ref) ([]string, error) {
	snap, err := x.open().Snapshot(ctx, ref)
	if err != nil {
		return nil, err
	}
	cols := make([]int, len(snap.Schema().Fields))
	for i := range cols {
		cols[i] = i
	}
	plan, err := snap.Plan(ctx, connector.ScanRequest{Columns: cols})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, sp := range plan.Splits {
		r, err := sp.Open(ctx)
		if err != nil {
			return nil, err
		}
		for {
			b, err := r.Next(ctx)
			if err != nil {
				return nil, err
			}
			if b == nil {
				break
			}
			for i := range b.Rows() {
				out = append(out, rowText(snap.Schema(), b, b.Row(i)))
			}
		}
		if err := r.Close(); err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return out, nil
}

func rowText(s *catalog.Schema, b *vector.Batch, row int) string {
	types := make([]catalog.Type, len(s.Fields))
	for i, f := range s.Fields {
		types[i] = f.Type
	}
	return string(jsonl.AppendRow(nil, b, row, types))
}

type entry = spec.ManifestEntry

func sortStrings(s []string) { slices.Sort(s) }

// row is a change of a table whose columns are given as text, "" is NULL.
type row struct {
	kind vector.RowKind
	vals []string
}

// batch makes a batch of rows.
func (x *table) batch(rows ...row) *vector.Batch {
	x.t.Helper()
	b := &vector.Batch{Seq: -1}
	for _, f := range x.schema.Fields {
		b.Cols = append(b.Cols, f.Type.NewVec(len(rows)))
	}
	for _, r := range rows {
		for i, f := range x.schema.Fields {
			appendText(x.t, b.Cols[i], f.Type, r.vals[i])
		}
		b.Kinds = append(b.Kinds, r.kind)
		b.Len++
	}
	return b
}

func appendText(t testing.TB, v *vector.Vec, typ catalog.Type, s string) {
	if s == "" {
		v.AppendNull()
		return
	}
	n, err := strconv.ParseInt(s, 10, 64)
	switch typ.Physical() {
	case vector.Str:
		v.AppendString(s)
		return
	case vector.F64:
		f, ferr := strconv.ParseFloat(s, 64)
		if ferr != nil {
			t.Fatal(ferr)
		}
		v.AppendF64(f)
		return
	case vector.F32:
		f, ferr := strconv.ParseFloat(s, 32)
		if ferr != nil {
			t.Fatal(ferr)
		}
		v.AppendF32(float32(f))
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	switch typ.Physical() {
	case vector.I8:
		v.AppendI8(int8(n))
	case vector.I32:
		v.AppendI32(int32(n))
	case vector.I64:
		v.AppendI64(n)
	case vector.I128:
		v.AppendI128(vector.Int128From(n))
	default:
		t.Fatalf("no text for %s", typ)
	}
}

// do writes rows and commits them with the identifier.
func (x *table) do(w *write.Writer, c *commit.Committer, id int64, rows ...row) connector.CommitResult {
	x.t.Helper()
	if len(rows) > 0 {
		if err := w.Write(ctx, x.batch(rows...)); err != nil {
			x.t.Fatal(err)
		}
	}
	ms, err := w.PrepareCommit(ctx)
	if err != nil {
		x.t.Fatal(err)
	}
	res, err := c.Commit(ctx, &connector.Committable{Identifier: id, Messages: ms})
	if err != nil {
		x.t.Fatal(err)
	}
	return res
}

// model is what a table of the law test holds: the text of the row of each key.
type model struct {
	x    *table
	rows map[string]string
}

func (m *model) apply(rows []row) {
	for _, r := range rows {
		var key []string
		for _, k := range m.x.schema.PrimaryKeys {
			key = append(key, r.vals[m.x.schema.Column(k)])
		}
		k := strings.Join(key, "\x00")
		if r.kind == vector.Delete || r.kind == vector.UpdateBefore {
			delete(m.rows, k)
			continue
		}
		m.rows[k] = rowText(m.x.schema, m.x.batch(r), 0)
	}
}

func (m *model) sorted() []string {
	var out []string
	for _, r := range m.rows {
		out = append(out, r)
	}
	slices.Sort(out)
	return out
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Fatalf("%s: %d rows, want %d; row %d is %s, want %s", what, len(got), len(want), i, g, w)
		}
	}
}

func newPaths(dir string, s *catalog.Schema) *spec.Paths { return spec.NewPaths(dir, "", s) }
