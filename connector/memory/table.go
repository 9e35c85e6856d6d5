package memory

import (
	"context"
	"maps"
	"slices"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	budget "github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// Table is a table in memory. It is safe for concurrent use.
type Table struct {
	id     catalog.Identifier
	uuid   string
	schema *catalog.Schema
	pays   *budget.Budget

	mu       sync.RWMutex
	versions []*version // ascending ids; never empty: the first is version 0
	tags     map[string]int64
	index    map[string]place // newest version: where the row of a key is
}

var (
	_ connector.Readable = (*Table)(nil)
	_ connector.Writable = (*Table)(nil)
)

// version is one immutable state: the rows of its chunks that are not removed.
type version struct {
	table  *Table
	info   connector.SnapshotInfo
	nonce  string
	epoch  int64
	chunks []chunk
	rows   int64
}

// chunk is an immutable batch, shared by versions, and the rows of it that
// count in this one.
type chunk struct {
	batch  *vector.Batch
	sel    []uint16 // nil: all rows
	bounds []connector.Bounds
}

func (c chunk) rows() int64 {
	if c.sel != nil {
		return int64(len(c.sel))
	}
	return int64(c.batch.Len)
}

// place is the position of a row in the newest version.
type place struct {
	chunk int
	row   uint16
}

func newTable(id catalog.Identifier, s *catalog.Schema, pays *budget.Budget) (*Table, error) {
	schema := *s
	ids := false
	for _, f := range schema.Fields {
		ids = ids || f.ID != 0
	}
	schema.Fields = append([]catalog.Field(nil), s.Fields...)
	for i := range schema.Fields {
		f := &schema.Fields[i]
		if !ids {
			f.ID = i
		}
		schema.HighestFieldID = max(schema.HighestFieldID, f.ID)
		for _, k := range schema.PrimaryKeys {
			f.Type.NotNull = f.Type.NotNull || k == f.Name
		}
	}
	for _, k := range append(append([]string(nil), schema.PrimaryKeys...), schema.PartitionKeys...) {
		if schema.Column(k) < 0 {
			return nil, errs.Userf(errs.KeyColumnMissing, "Key column '%s' doesn't exist in table", k)
		}
	}
	t := &Table{id: id, schema: &schema, pays: pays, tags: map[string]int64{}, index: map[string]place{}}
	t.versions = []*version{{table: t}}
	return t, nil
}

// ID implements catalog.Table.
func (t *Table) ID() catalog.Identifier { return t.id }

// Schema implements catalog.Table.
func (t *Table) Schema() *catalog.Schema { return t.schema }

// UUID implements catalog.Table.
func (t *Table) UUID() string { return t.uuid }

// Tag names a version.
func (t *Table) Tag(name string, snapshot int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := t.byID(snapshot); err != nil {
		return err
	}
	t.tags[name] = snapshot
	return nil
}

// drop gives the memory of the table back.
func (t *Table) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := map[*vector.Batch]bool{}
	for _, v := range t.versions {
		for _, c := range v.chunks {
			if !seen[c.batch] {
				seen[c.batch] = true
				t.pays.Release(c.batch.Bytesize())
			}
		}
	}
	t.versions = []*version{{table: t}}
	t.index = map[string]place{}
}

// Snapshot implements connector.Readable.
func (t *Table) Snapshot(_ context.Context, ref catalog.Ref) (connector.Snapshot, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if ref.Kind == catalog.ByOptions {
		var err error
		if ref, err = t.version(ref); err != nil {
			return nil, err
		}
	}
	switch ref.Kind {
	case catalog.Latest:
		return t.versions[len(t.versions)-1], nil
	case catalog.BySnapshot:
		return t.found(t.byID(ref.ID))
	case catalog.ByTag, catalog.ByVersion:
		if id, ok := t.tags[ref.Name]; ok {
			return t.found(t.byID(id))
		}
		if id, err := strconv.ParseInt(ref.Name, 10, 64); err == nil && ref.Kind == catalog.ByVersion {
			return t.found(t.byID(id))
		}
		return nil, errs.Userf(errs.UnknownSnapshot, "read table %s: it has no %s", t.id, ref)
	}
	at := ref.Time.UnixMilli()
	n := sort.Search(len(t.versions), func(i int) bool { return t.versions[i].info.TimeMillis > at })
	if n <= 1 {
		return nil, errs.Userf(errs.UnknownSnapshot, "read table %s: no snapshot is as old as %s", t.id, ref)
	}
	return t.versions[n-1], nil
}

// version returns the version that options name.
func (t *Table) version(ref catalog.Ref) (out catalog.Ref, err error) {
	for _, k := range slices.Sorted(maps.Keys(ref.Options)) {
		v := ref.Options[k]
		if out.Kind != catalog.Latest {
			return out, errs.Userf(errs.WrongArguments, "read table %s: its version is given twice", t.id)
		}
		switch k {
		case "scan.snapshot-id", "scan.timestamp-millis":
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				return out, errs.Userf(errs.WrongArguments, "read the option '%s': '%s' is no whole number", k, v)
			}
			out = catalog.Ref{Kind: catalog.BySnapshot, ID: n}
			if k == "scan.timestamp-millis" {
				out = catalog.Ref{Kind: catalog.ByTimestamp, Time: time.UnixMilli(n)}
			}
		case "scan.tag-name":
			out = catalog.Ref{Kind: catalog.ByTag, Name: v}
		case "scan.version":
			out = catalog.Ref{Kind: catalog.ByVersion, Name: v}
		case "scan.timestamp":
			zone := ref.Zone
			if zone == nil {
				zone = time.UTC
			}
			at, err := time.ParseInLocation("2006-01-02 15:04:05", v, zone)
			if err != nil {
				return out, errs.Userf(errs.WrongArguments, "read the option '%s': '%s' is no date and time", k, v)
			}
			out = catalog.Ref{Kind: catalog.ByTimestamp, Time: at}
		default:
			return out, errs.Unsupportedf(-1, "the table option '%s'", k)
		}
	}
	return out, nil
}

func (t *Table) found(v *version, err error) (connector.Snapshot, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (t *Table) byID(id int64) (*version, error) {
	if id < 1 || id >= int64(len(t.versions)) {
		if len(t.versions) == 1 {
			return nil, errs.Userf(errs.UnknownSnapshot, "read table %s: snapshot %d does not exist, the table has none", t.id, id)
		}
		return nil, errs.Userf(errs.UnknownSnapshot, "read table %s: snapshot %d does not exist, there are 1 to %d", t.id, id, len(t.versions)-1)
	}
	return t.versions[id], nil
}

// Version implements connector.Snapshot.
func (v *version) Version() int64 { return v.info.ID }

// Schema implements connector.Snapshot.
func (v *version) Schema() *catalog.Schema { return v.table.schema }

// RowCount implements connector.Snapshot.
func (v *version) RowCount(context.Context) (int64, bool, error) { return v.rows, true, nil }

// Plan implements connector.Snapshot: a split a chunk, without the chunks that
// the filter rules out.
func (v *version) Plan(_ context.Context, req connector.ScanRequest) (*connector.Plan, error) {
	for _, c := range req.Columns {
		if c < 0 || c >= len(v.table.schema.Fields) {
			return nil, errs.Internalf("plan table %s: it has no column %d", v.table.id, c)
		}
	}
	p := &connector.Plan{}
	for _, c := range v.chunks {
		if !req.NoPruning && !req.Filter.MayMatch(func(i int) connector.Bounds { return c.bounds[i] }) {
			p.PrunedFiles++
			continue
		}
		p.Files++
		s := &split{chunk: c, columns: req.Columns, rows: req.BatchRows}
		p.Splits = append(p.Splits, s)
		p.Bytes += s.Bytes()
	}
	return p, nil
}

// split is one chunk.
type split struct {
	chunk   chunk
	columns []int
	rows    int
}

// Rows implements connector.Split.
func (s *split) Rows() int64 { return s.chunk.rows() }

// Bytes implements connector.Split.
func (s *split) Bytes() int64 {
	n := int64(0)
	for _, c := range s.columns {
		n += s.chunk.batch.Cols[c].Bytesize()
	}
	return n
}

// Open implements connector.Split.
func (s *split) Open(context.Context) (connector.BatchReader, error) {
	n := s.rows
	if n <= 0 {
		n = vector.BatchRows
	}
	return &reader{split: s, step: n}, nil
}

// reader cuts a chunk into batches of at most step rows.
type reader struct {
	split *split
	step  int
	at    int
	sel   []uint16
	done  bool
}

// Next implements connector.BatchReader. A batch of a whole chunk shares its
// vectors; a part of one is gathered.
func (r *reader) Next(ctx context.Context) (*vector.Batch, error) {
	if err := ctx.Err(); err != nil || r.done {
		return nil, err
	}
	c := r.split.chunk
	total := int(c.rows())
	if r.at >= total {
		return nil, nil
	}
	n := min(r.step, total-r.at)
	out := &vector.Batch{Len: n, Seq: -1, Cols: make([]*vector.Vec, len(r.split.columns))}
	whole := n == total && c.sel == nil
	if !whole {
		r.sel = r.sel[:0]
		for i := r.at; i < r.at+n; i++ {
			if c.sel != nil {
				r.sel = append(r.sel, c.sel[i])
			} else {
				r.sel = append(r.sel, uint16(i))
			}
		}
	}
	for i, col := range r.split.columns {
		if whole {
			out.Cols[i] = c.batch.Cols[col]
		} else {
			out.Cols[i] = c.batch.Cols[col].Gather(r.sel)
		}
	}
	r.at += n
	return out, nil
}

// Close implements connector.BatchReader.
func (r *reader) Close() error {
	r.done = true
	return nil
}

// snapshotsSchema is what $snapshots shows.
var snapshotsSchema = &catalog.Schema{Fields: []catalog.Field{
	{ID: 0, Name: "snapshot_id", Type: catalog.TBigInt.Required()},
	{ID: 1, Name: "commit_user", Type: catalog.TString.Required()},
	{ID: 2, Name: "commit_identifier", Type: catalog.TBigInt.Required()},
	{ID: 3, Name: "commit_kind", Type: catalog.TString.Required()},
	{ID: 4, Name: "commit_time", Type: catalog.TTimestamp(3).Required()},
	{ID: 5, Name: "total_record_count", Type: catalog.TBigInt},
}, Options: map[string]string{}}

// snapshots returns the system table $snapshots as it is now.
func (t *Table) snapshots() (*Table, error) {
	id := t.id
	id.System = "snapshots"
	s, err := newTable(id, snapshotsSchema, nil)
	if err != nil {
		return nil, err
	}
	s.uuid = t.uuid + "$snapshots"
	t.mu.RLock()
	b := vector.NewBatch([]vector.Kind{vector.I64, vector.Str, vector.I64, vector.Str, vector.I64, vector.I64}, len(t.versions))
	for _, v := range t.versions[1:] {
		b.Cols[0].AppendI64(v.info.ID)
		b.Cols[1].AppendString(v.info.User)
		b.Cols[2].AppendI64(v.info.Identifier)
		b.Cols[3].AppendString(v.info.Kind)
		b.Cols[4].AppendI64(time.UnixMilli(v.info.TimeMillis).UnixMicro())
		b.Cols[5].AppendI64(v.rows)
		b.Len++
	}
	t.mu.RUnlock()
	if b.Len > 0 {
		v := &version{table: s, rows: int64(b.Len)}
		v.chunks = []chunk{{batch: b, bounds: boundsOf(b)}}
		s.versions[0] = v
	}
	return s, nil
}
