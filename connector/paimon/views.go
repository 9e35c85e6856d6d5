package paimon

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// viewTable is a system table that shows the rows of its table in another way:
// t$ro, t$audit_log, t$binlog.
type viewTable struct {
	base   *Table
	id     catalog.Identifier
	def    *viewDef
	schema *catalog.Schema
}

// viewDef defines a view.
type viewDef struct {
	state  func(st *read.State) *read.State
	schema func(s *catalog.Schema) *catalog.Schema
	// kinds: the first column is the row kind, then come the table's columns, in
	// arrays of one element if arrays is set.
	kinds, arrays bool
	// tracking: row ids and sequence numbers come after the table's columns.
	tracking bool
}

var viewTables = map[string]*viewDef{
	"ro":        {state: (*read.State).ReadOptimized, schema: func(s *catalog.Schema) *catalog.Schema { return s }},
	"audit_log": {state: (*read.State).KeepDeletes, kinds: true, schema: func(s *catalog.Schema) *catalog.Schema { return withKinds(s, false) }},
	"row_tracking": {state: (*read.State).RowTracking, tracking: true, schema: func(s *catalog.Schema) *catalog.Schema {
		out := *s
		out.Fields = append(append([]catalog.Field(nil), s.Fields...), catalog.Field{ID: 2147483642, Name: "_ROW_ID", Type: bigint},
			catalog.Field{ID: 2147483646, Name: "_SEQUENCE_NUMBER", Type: bigint})
		return &out
	}},
	"binlog": {state: (*read.State).KeepDeletes, kinds: true, arrays: true, schema: func(s *catalog.Schema) *catalog.Schema { return withKinds(s, true) }},
}

// rowKindID is the field id of the row kind (paimon-format: field ids).
const rowKindID = 2147483643

// withKinds puts the row kind before the columns of a table, which are ARRAYs of
// theirs when arrays is set.
func withKinds(s *catalog.Schema, arrays bool) *catalog.Schema {
	out := &catalog.Schema{ID: s.ID, HighestFieldID: s.HighestFieldID, PartitionKeys: s.PartitionKeys, Options: map[string]string{}, Comment: s.Comment}
	out.Fields = append(out.Fields, catalog.Field{ID: rowKindID, Name: "rowkind", Type: catalog.TString})
	for _, f := range s.Fields {
		if arrays {
			elem := f.Type
			elem.NotNull = false
			f.Type = catalog.Type{Kind: catalog.Array, Elem: &elem}
		}
		out.Fields = append(out.Fields, f)
	}
	return out
}

func newViewTable(t *Table, id catalog.Identifier, d *viewDef) (connector.Readable, error) {
	if d.kinds && t.schema.Options["table-read.sequence-number.enabled"] == "true" {
		return nil, errs.Unsupportedf(-1, "the system table %s of tables with 'table-read.sequence-number.enabled' (table %s)", id.System, t.id)
	}
	if d.tracking && (t.schema.Options["row-tracking.enabled"] != "true" || len(t.schema.PrimaryKeys) > 0) {
		return nil, errs.Userf(errs.UnknownTable, "table %s does not exist: the table does not track rows", id)
	}
	return &viewTable{base: t, id: id, def: d, schema: d.schema(t.schema)}, nil
}

// ID implements catalog.Table.
func (v *viewTable) ID() catalog.Identifier { return v.id }

// Schema implements catalog.Table.
func (v *viewTable) Schema() *catalog.Schema { return v.schema }

// UUID implements catalog.Table.
func (v *viewTable) UUID() string { return v.base.uuid + "$" + v.id.System }

// Snapshot implements connector.Readable.
func (v *viewTable) Snapshot(ctx context.Context, ref catalog.Ref) (connector.Snapshot, error) {
	st, err := v.base.State(ctx, ref)
	if err != nil {
		return nil, err
	}
	st = v.def.state(st)
	if !v.def.kinds && !v.def.tracking {
		return st, nil
	}
	return &viewSnapshot{State: st, def: v.def, schema: v.def.schema(st.Schema())}, nil
}

// viewSnapshot is one version of a view with row kinds.
type viewSnapshot struct {
	*read.State
	def    *viewDef
	schema *catalog.Schema
}

// Schema implements connector.Snapshot.
func (s *viewSnapshot) Schema() *catalog.Schema { return s.schema }

// Extremes implements connector.Extremal: its columns are others than the state's.
func (s *viewSnapshot) Extremes(context.Context, []int) ([]connector.Extremes, error) {
	return nil, nil
}

// Plan implements connector.Snapshot.
func (s *viewSnapshot) Plan(ctx context.Context, req connector.ScanRequest) (*connector.Plan, error) {
	inner := req
	inner.Columns = nil
	for _, c := range req.Columns {
		if c < 0 || c >= len(s.schema.Fields) {
			return nil, errs.Internalf("plan a view: column %d of %d", c, len(s.schema.Fields))
		}
		if in := s.inner(c); in >= 0 {
			inner.Columns = append(inner.Columns, in)
		}
	}
	if req.Filter != nil {
		inner.Filter = read.Rewrite(req.Filter, func(c int) int {
			if s.def.arrays {
				return -1
			}
			return s.inner(c)
		})
	}
	plan, err := s.State.Plan(ctx, inner)
	if err != nil {
		return nil, err
	}
	for i, sp := range plan.Splits {
		plan.Splits[i] = &viewSplit{Split: sp, snap: s, columns: req.Columns, rows: req.BatchRows}
	}
	return plan, nil
}

// inner returns the column of the table that a column of the view shows, -1 when
// it shows none.
func (s *viewSnapshot) inner(c int) int {
	if s.def.kinds {
		return c - 1
	}
	if c >= len(s.State.Schema().Fields) {
		return -1
	}
	return c
}

type viewSplit struct {
	connector.Split
	snap    *viewSnapshot
	columns []int
	rows    int // most rows of a batch
}

// Open implements connector.Split.
func (s *viewSplit) Open(ctx context.Context) (connector.BatchReader, error) {
	r, err := s.Split.Open(ctx)
	if err != nil {
		return nil, err
	}
	if s.snap.def.arrays && s.snap.Log() {
		return newPackReader(r, s), nil
	}
	return &viewReader{BatchReader: r, split: s}, nil
}

// viewReader adds row kinds, and wraps values into arrays.
type viewReader struct {
	connector.BatchReader
	split *viewSplit
	out   vector.Batch
}

// Next implements connector.BatchReader.
func (r *viewReader) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := r.BatchReader.Next(ctx)
	if err != nil || b == nil {
		return nil, err
	}
	r.out = vector.Batch{Len: b.Len, Sel: b.Sel, Seq: -1, Cols: r.out.Cols[:0]}
	at := 0
	n := len(r.split.snap.State.Schema().Fields)
	for _, c := range r.split.columns {
		if r.split.snap.inner(c) < 0 {
			v := (*vector.Vec)(nil)
			if r.split.snap.def.tracking {
				v = b.Cols[len(b.Cols)-2+c-n]
			} else {
				v = kindTexts(b)
			}
			r.out.Cols = append(r.out.Cols, v)
			continue
		}
		v := b.Cols[at]
		at++
		if r.split.snap.def.arrays {
			v = inArrays(v)
		}
		r.out.Cols = append(r.out.Cols, v)
	}
	return &r.out, nil
}

// inArrays makes each value an array of one element.
func inArrays(v *vector.Vec) *vector.Vec {
	v = v.Flatten()
	out := &vector.Vec{Kind: vector.List, Len: v.Len, Offset: make([]int32, v.Len+1), Child: []*vector.Vec{v}}
	for i := range out.Offset {
		out.Offset[i] = int32(i)
	}
	return out
}
