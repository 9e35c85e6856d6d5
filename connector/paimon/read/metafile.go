package read

import (
	"bytes"
	"context"
	"fmt"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Manifests and manifest lists in ORC or Parquet, as the table option
// 'manifest.format' allows: the same records as in Avro, read as any data file,
// with columns found by name since older versions lack some.

// dataFormat returns the data file format by which a metadata file starts, "" for
// Avro and anything else.
func dataFormat(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("ORC")):
		return "orc"
	case bytes.HasPrefix(b, []byte("PAR1")):
		return "parquet"
	}
	return ""
}

// record is a row, or a ROW in one, whose members are found by name. The first
// error stays.
type record struct {
	names []string
	types []catalog.Type
	cols  []*vector.Vec
	row   int
	err   *error
}

// get returns a member, and false when it is absent or NULL.
func (r record) get(name string) (value, catalog.Type, bool) {
	for i, n := range r.names {
		if n == name {
			x := value{r.cols[i], r.row}
			return x, r.types[i], !x.null()
		}
	}
	return value{}, catalog.Type{}, false
}

func (r record) fail(name, what string) {
	if *r.err == nil {
		*r.err = errs.Corruptf("the field %s is %s", name, what)
	}
}

// number returns a member that is an integer.
func (r record) number(name string) spec.Opt[int64] {
	x, t, ok := r.get(name)
	switch {
	case !ok:
		return spec.Opt[int64]{}
	case !integer(t):
		r.fail(name, "of type "+t.String())
		return spec.Opt[int64]{}
	}
	return spec.Some(integerOf(x))
}

func (r record) int32(name string) spec.Opt[int32] {
	n := r.number(name)
	if n.OK && int64(int32(n.V)) != n.V {
		r.fail(name, "out of range")
	}
	return spec.Opt[int32]{V: int32(n.V), OK: n.OK}
}

// need returns what must be there.
func need[T any](r record, name string, o spec.Opt[T]) T {
	if !o.OK {
		r.fail(name, "missing")
	}
	return o.V
}

func (r record) bytes(name string) spec.Opt[[]byte] {
	x, t, ok := r.get(name)
	switch {
	case !ok:
		return spec.Opt[[]byte]{}
	case t.Physical() != vector.Str:
		r.fail(name, "of type "+t.String())
		return spec.Opt[[]byte]{}
	}
	return spec.Some(bytes.Clone(x.v.Bytes(x.i)))
}

func (r record) text(name string) spec.Opt[string] {
	b := r.bytes(name)
	return spec.Opt[string]{V: string(b.V), OK: b.OK}
}

func (r record) fileName(name string) string {
	s := need(r, name, r.text(name))
	if *r.err == nil && !spec.ValidFileName(s) {
		r.fail(name, fmt.Sprintf("%q, which is no file name", s))
	}
	return s
}

func (r record) binaryRow(name string) spec.BinaryRow {
	return spec.BinaryRow(need(r, name, r.bytes(name)))
}

// millis returns a wall clock in milliseconds.
func (r record) millis(name string) spec.Opt[int64] {
	x, t, ok := r.get(name)
	switch {
	case !ok:
		return spec.Opt[int64]{}
	case t.Kind != catalog.Timestamp && t.Kind != catalog.TimestampLTZ:
		return r.number(name)
	}
	ms, _ := splitTimestamp(x.v.Flatten(), x.i)
	return spec.Some(ms)
}

// rec returns a member that is a ROW.
func (r record) rec(name string) (record, bool) {
	x, t, ok := r.get(name)
	if !ok {
		return record{err: r.err}, false
	}
	return recordOf(x, t, r.err), true
}

func recordOf(x value, t catalog.Type, err *error) record {
	out := record{row: x.v.At(x.i), err: err, cols: x.v.Values().Child}
	for _, f := range t.Fields {
		out.names, out.types = append(out.names, f.Name), append(out.types, f.Type)
	}
	if len(out.cols) != len(out.names) {
		out.names, out.types, out.cols = nil, nil, nil
	}
	return out
}

// list returns the elements of a member that is an ARRAY.
func (r record) list(name string) (list []value, t catalog.Type, ok bool) {
	x, t, ok := r.get(name)
	if !ok {
		return nil, t, false
	}
	if t.Kind != catalog.Array {
		r.fail(name, "of type "+t.String())
		return nil, t, false
	}
	return elements(x), *t.Elem, true
}

func (r record) texts(name string) (out spec.Opt[[]string]) {
	list, _, ok := r.list(name)
	if !ok {
		return out
	}
	out = spec.Some([]string{})
	for _, x := range list {
		if x.null() || x.v.Values().Kind != vector.Str {
			r.fail(name, "a list with something else than texts")
			return out
		}
		out.V = append(out.V, x.v.String(x.i))
	}
	return out
}

func (r record) numbers(name string) (out spec.Opt[[]spec.Opt[int64]]) {
	list, t, ok := r.list(name)
	if !ok {
		return out
	}
	if !integer(t) {
		r.fail(name, "of type "+t.String())
		return out
	}
	out = spec.Some([]spec.Opt[int64]{})
	for _, x := range list {
		n := spec.Opt[int64]{}
		if !x.null() {
			n = spec.Some(integerOf(x))
		}
		out.V = append(out.V, n)
	}
	return out
}

func (r record) stats(name string) (s spec.Stats) {
	m, ok := r.rec(name)
	if !ok {
		r.fail(name, "missing")
		return s
	}
	s.Min, s.Max = m.binaryRow("_MIN_VALUES"), m.binaryRow("_MAX_VALUES")
	s.NullCounts = m.numbers("_NULL_COUNTS").V
	return s
}

// eachRecord calls f with every row of a metadata file in a data file format.
func (s *Source) eachRecord(ctx context.Context, path, formatName string, f func(r record)) error {
	fm, err := s.Formats.ByFile("manifest." + formatName)
	if err != nil {
		return errs.Unsupportedf(-1, "manifests in the format %q (table %s)", formatName, s.Name)
	}
	file, err := s.Files.Open(ctx, path)
	if err != nil {
		return err
	}
	d, err := fm.Describe(ctx, file, path)
	if err != nil {
		file.Close()
		return err
	}
	r, err := fm.NewReader(ctx, file, format.ReadOptions{Path: path, Columns: d.Columns})
	if err != nil {
		return err
	}
	defer r.Close()
	var bad error
	rec := record{err: &bad}
	for _, c := range d.Columns {
		rec.names, rec.types = append(rec.names, c.Name), append(rec.types, c.Type)
	}
	for {
		b, err := r.Next(ctx)
		if err != nil || b == nil {
			return err
		}
		rec.cols = b.Cols
		for i := range b.Rows() {
			rec.row = b.Row(i)
			if f(rec); bad != nil {
				return bad
			}
		}
	}
}

// The versions of records that are known (paimon-format: manifests).
const (
	manifestVersion      = 2
	indexManifestVersion = 1
)

func (r record) version(most int64, what string) {
	if v := need(r, "_VERSION", r.number("_VERSION")); *r.err == nil && (v < 0 || v > most) {
		*r.err = errs.Unsupportedf(-1, "%s of version %d", what, v)
	}
}

func manifestMeta(r record) (m spec.ManifestMeta) {
	r.version(manifestVersion, "manifest lists")
	m.Version = int32(r.number("_VERSION").V)
	m.FileName = r.fileName("_FILE_NAME")
	m.FileSize = need(r, "_FILE_SIZE", r.number("_FILE_SIZE"))
	m.Added, m.Deleted = need(r, "_NUM_ADDED_FILES", r.number("_NUM_ADDED_FILES")), need(r, "_NUM_DELETED_FILES", r.number("_NUM_DELETED_FILES"))
	m.PartitionStats = r.stats("_PARTITION_STATS")
	m.SchemaID = need(r, "_SCHEMA_ID", r.number("_SCHEMA_ID"))
	m.MinBucket, m.MaxBucket = r.int32("_MIN_BUCKET"), r.int32("_MAX_BUCKET")
	m.MinLevel, m.MaxLevel = r.int32("_MIN_LEVEL"), r.int32("_MAX_LEVEL")
	m.MinRowID, m.MaxRowID = r.number("_MIN_ROW_ID"), r.number("_MAX_ROW_ID")
	return m
}

func manifestEntry(r record) (e spec.ManifestEntry) {
	r.version(manifestVersion, "manifests")
	e.Kind = spec.FileKind(need(r, "_KIND", r.int32("_KIND")))
	e.Partition = r.binaryRow("_PARTITION")
	e.Bucket, e.TotalBuckets = need(r, "_BUCKET", r.int32("_BUCKET")), need(r, "_TOTAL_BUCKETS", r.int32("_TOTAL_BUCKETS"))
	f, ok := r.rec("_FILE")
	if !ok {
		r.fail("_FILE", "missing")
		return e
	}
	m := &e.File
	m.FileName = f.fileName("_FILE_NAME")
	m.FileSize, m.RowCount = need(f, "_FILE_SIZE", f.number("_FILE_SIZE")), need(f, "_ROW_COUNT", f.number("_ROW_COUNT"))
	m.MinKey, m.MaxKey = f.binaryRow("_MIN_KEY"), f.binaryRow("_MAX_KEY")
	m.KeyStats, m.ValueStats = f.stats("_KEY_STATS"), f.stats("_VALUE_STATS")
	m.MinSequence, m.MaxSequence = need(f, "_MIN_SEQUENCE_NUMBER", f.number("_MIN_SEQUENCE_NUMBER")), need(f, "_MAX_SEQUENCE_NUMBER", f.number("_MAX_SEQUENCE_NUMBER"))
	m.SchemaID = need(f, "_SCHEMA_ID", f.number("_SCHEMA_ID"))
	m.Level = need(f, "_LEVEL", f.int32("_LEVEL"))
	for _, x := range f.texts("_EXTRA_FILES").V {
		if !spec.ValidFileName(x) {
			r.fail("_EXTRA_FILES", fmt.Sprintf("%q, which is no file name", x))
		}
		m.ExtraFiles = append(m.ExtraFiles, x)
	}
	m.CreationTime = f.millis("_CREATION_TIME")
	m.DeleteRowCount = f.number("_DELETE_ROW_COUNT")
	m.EmbeddedIndex = f.bytes("_EMBEDDED_FILE_INDEX").V
	m.FileSource = f.int32("_FILE_SOURCE")
	m.ValueStatsCols = f.texts("_VALUE_STATS_COLS")
	m.ExternalPath = f.text("_EXTERNAL_PATH")
	m.FirstRowID = f.number("_FIRST_ROW_ID")
	m.WriteCols = f.texts("_WRITE_COLS")
	if n := f.numbers("_WRITE_COLS_SEQUENCES"); n.OK {
		m.WriteColsSeq = spec.Some([]int64{})
		for _, x := range n.V {
			m.WriteColsSeq.V = append(m.WriteColsSeq.V, x.V)
		}
	}
	switch {
	case *r.err != nil:
	case e.Kind != spec.FileAdd && e.Kind != spec.FileDelete:
		r.fail("_KIND", fmt.Sprint(e.Kind))
	case m.Level < 0 || m.RowCount < 0 || m.FileSize < 0 || e.Bucket < spec.PostponeBucket || m.SchemaID < 0:
		*r.err = errs.Corruptf("the entry of the file %s has a negative level, row count, size, bucket or schema", m.FileName)
	}
	return e
}

func indexEntry(r record) (e spec.IndexEntry) {
	r.version(indexManifestVersion, "index manifests")
	e.Kind = spec.FileKind(need(r, "_KIND", r.int32("_KIND")))
	e.Partition = r.binaryRow("_PARTITION")
	e.Bucket = need(r, "_BUCKET", r.int32("_BUCKET"))
	e.IndexType = need(r, "_INDEX_TYPE", r.text("_INDEX_TYPE"))
	e.FileName = r.fileName("_FILE_NAME")
	e.FileSize, e.RowCount = need(r, "_FILE_SIZE", r.number("_FILE_SIZE")), need(r, "_ROW_COUNT", r.number("_ROW_COUNT"))
	if list, t, ok := r.list("_DELETIONS_VECTORS_RANGES"); ok {
		e.Ranges = spec.Some([]spec.IndexRange{})
		for _, x := range list {
			if x.null() {
				continue
			}
			m := recordOf(x, t, r.err)
			e.Ranges.V = append(e.Ranges.V, spec.IndexRange{DataFile: need(m, "f0", m.text("f0")), Offset: need(m, "f1", m.int32("f1")),
				Length: need(m, "f2", m.int32("f2")), Cardinality: m.number("_CARDINALITY")})
		}
	}
	e.ExternalPath = r.text("_EXTERNAL_PATH")
	if m, ok := r.rec("_GLOBAL_INDEX"); ok {
		g := &spec.GlobalIndex{RowRangeStart: need(m, "_ROW_RANGE_START", m.number("_ROW_RANGE_START")), RowRangeEnd: need(m, "_ROW_RANGE_END", m.number("_ROW_RANGE_END")),
			FieldID: need(m, "_INDEX_FIELD_ID", m.int32("_INDEX_FIELD_ID")), Meta: m.bytes("_INDEX_META").V, SourceMeta: m.bytes("_SOURCE_META").V}
		if n := m.numbers("_EXTRA_FIELD_IDS"); n.OK {
			g.ExtraFieldIDs = spec.Some([]int32{})
			for _, x := range n.V {
				g.ExtraFieldIDs.V = append(g.ExtraFieldIDs.V, int32(x.V))
			}
		}
		e.Global = g
	}
	if *r.err == nil && e.Kind != spec.FileAdd && e.Kind != spec.FileDelete {
		r.fail("_KIND", fmt.Sprint(e.Kind))
	}
	return e
}

// value is a value in a vector; the zero value is NULL.
type value struct {
	v *vector.Vec
	i int
}

func (x value) null() bool { return x.v == nil || x.v.IsNull(x.i) }

// integerOf returns the value of an integer type.
func integerOf(x value) int64 { return intAt(x.v.Values(), x.v.At(x.i)) }

// elements returns the elements of a value of ARRAY.
func elements(x value) (out []value) {
	if x.null() {
		return nil
	}
	p, at := x.v.Values(), x.v.At(x.i)
	for j := p.Offset[at]; j < p.Offset[at+1]; j++ {
		out = append(out, value{p.Child[0], int(j)})
	}
	return out
}
