package paimon

import (
	"context"
	"sort"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// systemTable is a table that describes another one, such as t$snapshots. Its
// columns are those of Java Paimon's tables of the same name.
type systemTable struct {
	base   *Table
	id     catalog.Identifier
	def    *systemDef
	schema *catalog.Schema
}

// systemDef defines a system table.
type systemDef struct {
	columns []catalog.Field
	// versioned tables describe one snapshot, so that they can travel in time.
	versioned bool
	// fill makes all rows; rows, of large tables, makes them little by little.
	fill func(ctx context.Context, t *Table, st *read.State, out *rowBuilder) error
	rows func(ctx context.Context, t *Table, st *read.State, req *connector.ScanRequest) (rowSource, error)
}

// rowSource adds some more rows and reports whether there may be others.
type rowSource func(ctx context.Context, out *rowBuilder) (more bool, err error)

func column(name string, t catalog.Type) catalog.Field { return catalog.Field{Name: name, Type: t} }

var (
	ts3      = catalog.TTimestamp(3)
	bigint   = catalog.TBigInt.Required()
	integer  = catalog.TInt.Required()
	text     = catalog.TString.Required()
	nullable = catalog.TString
)

var systemTables = map[string]*systemDef{
	"snapshots": {columns: []catalog.Field{
		column("snapshot_id", bigint), column("schema_id", bigint), column("commit_user", text), column("commit_identifier", bigint),
		column("commit_kind", text), column("commit_time", ts3.Required()), column("base_manifest_list", text), column("delta_manifest_list", text),
		column("changelog_manifest_list", nullable), column("total_record_count", catalog.TBigInt), column("delta_record_count", catalog.TBigInt),
		column("changelog_record_count", catalog.TBigInt), column("watermark", catalog.TBigInt), column("next_row_id", catalog.TBigInt), column("operation", nullable),
	}, rows: snapshotRows},
	"schemas": {columns: []catalog.Field{
		column("schema_id", bigint), column("fields", text), column("partition_keys", text), column("primary_keys", text), column("options", text),
		column("comment", nullable), column("update_time", ts3.Required()),
	}, fill: fillSchemas},
	"options": {columns: []catalog.Field{column("key", text), column("value", text)}, fill: fillOptions},
	"files": {versioned: true, columns: []catalog.Field{
		column("partition", nullable), column("bucket", integer), column("file_path", text), column("file_format", text), column("schema_id", bigint),
		column("level", integer), column("record_count", bigint), column("file_size_in_bytes", bigint), column("min_key", nullable), column("max_key", nullable),
		column("null_value_counts", text), column("min_value_stats", text), column("max_value_stats", text), column("min_sequence_number", catalog.TBigInt),
		column("max_sequence_number", catalog.TBigInt), column("creation_time", ts3), column("deleteRowCount", catalog.TBigInt), column("file_source", nullable),
		column("first_row_id", catalog.TBigInt), column("write_cols", catalog.Type{Kind: catalog.Array, Elem: &catalog.TString}),
	}, rows: fileRows},
	"file_key_ranges": {versioned: true, columns: []catalog.Field{
		column("partition", nullable), column("bucket", integer), column("file_path", text), column("file_format", text), column("schema_id", bigint),
		column("level", integer), column("record_count", bigint), column("file_size_in_bytes", bigint), column("min_key", nullable), column("max_key", nullable),
		column("first_row_id", catalog.TBigInt),
	}, rows: keyRangeRows},
	"manifests": {versioned: true, columns: []catalog.Field{
		column("file_name", text), column("file_size", bigint), column("num_added_files", bigint), column("num_deleted_files", bigint), column("schema_id", bigint),
		column("min_partition_stats", nullable), column("max_partition_stats", nullable), column("min_row_id", catalog.TBigInt), column("max_row_id", catalog.TBigInt),
	}, fill: fillManifests},
	"partitions": {versioned: true, columns: []catalog.Field{
		column("partition", nullable), column("record_count", bigint), column("file_size_in_bytes", bigint), column("file_count", bigint), column("last_update_time", ts3),
		column("created_at", ts3), column("created_by", nullable), column("updated_by", nullable), column("options", nullable), column("total_buckets", integer),
		column("done", catalog.TBoolean.Required()), column("deleted_record_count", catalog.TBigInt),
	}, fill: fillPartitions},
	"buckets": {versioned: true, columns: []catalog.Field{
		column("partition", nullable), column("bucket", integer), column("record_count", bigint), column("file_size_in_bytes", bigint), column("file_count", bigint),
		column("last_update_time", ts3),
	}, fill: fillBuckets},
	"tags": {columns: []catalog.Field{
		column("tag_name", text), column("snapshot_id", bigint), column("schema_id", bigint), column("commit_time", ts3.Required()), column("record_count", catalog.TBigInt),
		column("create_time", ts3), column("time_retained", nullable),
	}, fill: fillTags},
	"branches": {columns: []catalog.Field{column("branch_name", text), column("create_time", ts3.Required())}, fill: fillBranches},
	"table_indexes": {versioned: true, columns: []catalog.Field{
		column("partition", nullable), column("bucket", integer), column("index_type", text), column("file_name", text), column("file_size", bigint),
		column("row_count", bigint), column("dv_ranges", catalog.Type{Kind: catalog.Array, Elem: &catalog.Type{Kind: catalog.Row, Fields: []catalog.Field{
			{ID: 0, Name: "f0", Type: text}, {ID: 1, Name: "f1", Type: integer}, {ID: 2, Name: "f2", Type: integer}, {ID: 3, Name: "_CARDINALITY", Type: catalog.TBigInt},
		}}}), column("row_range_start", catalog.TBigInt), column("row_range_end", catalog.TBigInt), column("index_field_id", catalog.TInt),
		column("index_field_name", nullable),
	}, fill: fillTableIndexes},
	"file_indexes": {versioned: true, columns: []catalog.Field{
		column("partition", nullable), column("bucket", integer), column("file_path", text), column("file_size_in_bytes", bigint), column("record_count", bigint),
		column("schema_id", bigint), column("column_name", text), column("index_type", text), column("storage_type", text), column("index_file_path", nullable),
		column("index_size_in_bytes", bigint), column("index_container_size_in_bytes", bigint), column("is_empty", catalog.TBoolean.Required()),
	}, rows: fileIndexRows},
	"aggregation_fields": {columns: []catalog.Field{
		column("field_name", text), column("field_type", text), column("function", nullable), column("function_options", nullable), column("comment", nullable),
	}, fill: fillAggregationFields},
	"statistics": {versioned: true, columns: []catalog.Field{
		column("snapshot_id", bigint), column("schema_id", bigint), column("mergedRecordCount", catalog.TBigInt), column("mergedRecordSize", catalog.TBigInt),
		column("colstat", nullable),
	}, fill: fillStatistics},
	"consumers": {columns: []catalog.Field{column("consumer_id", text), column("next_snapshot_id", bigint)}, fill: fillConsumers},
}

// SystemTables returns the names of the implemented system tables, sorted.
func SystemTables() []string {
	var names []string
	for n := range systemTables {
		names = append(names, n)
	}
	for n := range viewTables {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

func newSystemTable(t *Table, id catalog.Identifier) (connector.Readable, error) {
	name := strings.ToLower(id.System)
	if v := viewTables[name]; v != nil {
		return newViewTable(t, id, v)
	}
	d := systemTables[name]
	if d == nil {
		return nil, errs.Userf(errs.UnknownTable, "table %s does not exist: system tables are %s", id, strings.Join(SystemTables(), ", "))
	}
	s := &catalog.Schema{Options: map[string]string{}}
	for i, f := range d.columns {
		f.ID = i
		s.Fields = append(s.Fields, f)
		s.HighestFieldID = i
	}
	return &systemTable{base: t, id: id, def: d, schema: s}, nil
}

// ID implements catalog.Table.
func (s *systemTable) ID() catalog.Identifier { return s.id }

// Schema implements catalog.Table.
func (s *systemTable) Schema() *catalog.Schema { return s.schema }

// UUID implements catalog.Table.
func (s *systemTable) UUID() string { return s.base.uuid + "$" + s.id.System }

// Snapshot implements connector.Readable.
func (s *systemTable) Snapshot(ctx context.Context, ref catalog.Ref) (connector.Snapshot, error) {
	if ref.Kind != catalog.Latest && !s.def.versioned {
		return nil, errs.Unsupportedf(-1, "time travel on %s: it describes all versions", s.id)
	}
	var st *read.State
	var err error
	if s.def.versioned {
		st, err = s.base.State(ctx, ref)
	} else {
		st, err = s.base.Source().Newest(ctx)
	}
	if err != nil {
		return nil, err
	}
	if st.Changes() {
		return nil, errs.Unsupportedf(-1, "%s of changes: it describes a version", s.id)
	}
	return &systemSnapshot{table: s, state: st, zone: ref.Zone}, nil
}

// systemSnapshot is what a system table says at one moment. Its rows are made
// when they are read.
type systemSnapshot struct {
	table *systemTable
	state *read.State
	zone  *time.Location // where times are shown; nil is the driver's
}

// Version implements connector.Snapshot.
func (s *systemSnapshot) Version() int64 { return s.state.Version() }

// Schema implements connector.Snapshot.
func (s *systemSnapshot) Schema() *catalog.Schema { return s.table.schema }

// RowCount implements connector.Snapshot.
func (s *systemSnapshot) RowCount(context.Context) (int64, bool, error) { return -1, false, nil }

// Plan implements connector.Snapshot.
func (s *systemSnapshot) Plan(_ context.Context, req connector.ScanRequest) (*connector.Plan, error) {
	for _, c := range req.Columns {
		if c < 0 || c >= len(s.table.schema.Fields) {
			return nil, errs.Internalf("plan %s: column %d of %d", s.table.id, c, len(s.table.schema.Fields))
		}
	}
	return &connector.Plan{Splits: []connector.Split{&systemSplit{snap: s, req: req}}}, nil
}

type systemSplit struct {
	snap *systemSnapshot
	req  connector.ScanRequest
}

// Rows implements connector.Split.
func (s *systemSplit) Rows() int64 { return 100 }

// Bytes implements connector.Split.
func (s *systemSplit) Bytes() int64 { return 0 }

// Open implements connector.Split.
func (s *systemSplit) Open(ctx context.Context) (connector.BatchReader, error) {
	t := s.snap.table
	r := &systemReader{req: s.req, rows: newRowBuilder(t.schema, t.base)}
	r.rows.zone = s.snap.zone
	clear(r.rows.want)
	for _, c := range s.req.Columns {
		r.rows.want[c] = true
	}
	if t.def.rows != nil {
		var err error
		if r.source, err = t.def.rows(ctx, t.base, s.snap.state, &r.req); err != nil {
			return nil, err
		}
		return r, nil
	}
	r.source = func(ctx context.Context, out *rowBuilder) (bool, error) {
		return false, t.def.fill(ctx, t.base, s.snap.state, out)
	}
	return r, nil
}

// rowBuilder gathers rows of a system table, as far as their columns are wanted.
type rowBuilder struct {
	table *Table
	zone  *time.Location
	types []catalog.Type
	cols  []*vector.Vec
	want  []bool
	at    int // column of the next value
	n     int
}

func newRowBuilder(s *catalog.Schema, t *Table) *rowBuilder {
	b := &rowBuilder{table: t}
	for _, f := range s.Fields {
		b.types = append(b.types, f.Type)
		b.want = append(b.want, true)
		b.cols = append(b.cols, f.Type.NewVec(0))
	}
	return b
}

// col returns the vector of the next value; nil when it is not wanted.
func (b *rowBuilder) col() *vector.Vec {
	v := b.cols[b.at]
	if !b.want[b.at] {
		v = nil
	}
	b.at++
	return v
}

// skips passes over n values that are not wanted; false when one of them is.
func (b *rowBuilder) skips(n int) bool {
	for _, w := range b.want[b.at : b.at+n] {
		if w {
			return false
		}
	}
	b.at += n
	return true
}

// end ends a row.
func (b *rowBuilder) end() {
	b.at = 0
	b.n++
}

// reset drops the rows.
func (b *rowBuilder) reset() {
	b.at, b.n = 0, 0
	for i, v := range b.cols {
		if b.want[i] {
			b.cols[i] = vector.NewLike(v, 0) // the old one's texts are handed out
		}
	}
}

func (b *rowBuilder) bytes() (n int64) {
	for i, v := range b.cols {
		if b.want[i] {
			n += v.Bytesize()
		}
	}
	return n
}

func (b *rowBuilder) str(s string) {
	if v := b.col(); v != nil {
		v.AppendString(s)
	}
}

func (b *rowBuilder) optStr(s string, ok bool) {
	if !ok {
		b.null()
		return
	}
	b.str(s)
}

func (b *rowBuilder) i64(x int64) {
	if v := b.col(); v != nil {
		v.AppendI64(x)
	}
}

func (b *rowBuilder) i32(x int32) {
	if v := b.col(); v != nil {
		v.AppendI32(x)
	}
}

func (b *rowBuilder) boolean(x bool) {
	if v := b.col(); v != nil {
		v.AppendBool(x)
	}
}

func (b *rowBuilder) opt(x *int64) {
	if x == nil {
		b.null()
		return
	}
	b.i64(*x)
}

func (b *rowBuilder) null() {
	if v := b.col(); v != nil {
		v.AppendNull()
	}
}

// instant adds milliseconds since the epoch as a wall clock in the reader's zone.
func (b *rowBuilder) instant(millis int64) {
	zone := b.zone
	if zone == nil {
		zone = b.table.driver.cfg.Location
	}
	_, offset := time.UnixMilli(millis).In(zone).Zone()
	b.i64((millis + int64(offset)*1000) * 1000)
}

// wall adds milliseconds of a wall clock in the driver's zone, counted as if it
// were UTC, as a wall clock in the reader's zone.
func (b *rowBuilder) wall(millis int64) {
	if here := b.table.driver.cfg.Location; b.zone != nil && b.zone != here {
		b.instant(read.Instant(millis, here))
		return
	}
	b.i64(millis * 1000)
}

// systemReader hands the rows out in batches.
type systemReader struct {
	req    connector.ScanRequest
	rows   *rowBuilder
	source rowSource // nil: there are no more rows than these
	next   int
	held   int64
	out    vector.Batch
}

// Next implements connector.BatchReader.
func (r *systemReader) Next(ctx context.Context) (*vector.Batch, error) {
	for r.rows != nil && r.next == r.rows.n && r.source != nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.rows.reset()
		r.next = 0
		more, err := r.source(ctx, r.rows)
		if err != nil {
			return nil, err
		}
		if !more {
			r.source = nil
		}
		r.req.Budget.Release(r.held)
		r.held = 0
		n := r.rows.bytes()
		if err := r.req.Budget.Reserve(n); err != nil {
			return nil, err
		}
		r.held = n
	}
	if r.rows == nil || r.next == r.rows.n {
		return nil, nil
	}
	most := r.req.BatchRows
	if most <= 0 || most > vector.MaxBatchRows {
		most = vector.BatchRows
	}
	n := min(most, r.rows.n-r.next)
	r.out = vector.Batch{Len: n, Seq: -1}
	for _, c := range r.req.Columns {
		src := r.rows.cols[c]
		if r.next == 0 && n == r.rows.n {
			r.out.Cols = append(r.out.Cols, src)
			continue
		}
		v := vector.NewLike(src, n)
		v.AppendRange(src, r.next, r.next+n, v.ShareBufs(src))
		r.out.Cols = append(r.out.Cols, v)
	}
	r.next += n
	return &r.out, nil
}

// Close implements connector.BatchReader.
func (r *systemReader) Close() error {
	r.req.Budget.Release(r.held)
	r.held, r.rows, r.source = 0, nil, nil
	return nil
}
