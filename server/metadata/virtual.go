package metadata

import (
	"context"
	"slices"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// producer makes the rows of a virtual table. want restricts what is needed;
// rows outside it may be given all the same.
type producer func(ctx context.Context, src Source, want wanted, add func(Row) error) error

// wanted says what a scan needs: these columns, of rows that agree with only.
type wanted struct {
	columns map[string]bool
	only    restriction
}

// allows reports whether rows with this value of a column can matter.
func (w wanted) allows(column, value string) bool { return w.only.allows(column, value) }

// restriction is what the filter of a scan says about text columns: the only
// values that matter.
type restriction map[string][]string

// allows reports whether rows with this value of a column can matter.
func (r restriction) allows(column, value string) bool {
	values, ok := r[column]
	return !ok || slices.Contains(values, value)
}

// restrictionOf reads equalities and IN lists of text columns out of a filter.
func restrictionOf(s *catalog.Schema, p *connector.Predicate) restriction {
	if p == nil {
		return nil
	}
	switch p.Op {
	case connector.And:
		out := restriction{}
		for _, c := range p.Children {
			for k, v := range restrictionOf(s, c) {
				if old, ok := out[k]; ok {
					var both []string
					for _, x := range old {
						if slices.Contains(v, x) {
							both = append(both, x)
						}
					}
					v = both
				}
				out[k] = v
			}
		}
		return out
	case connector.Eq, connector.In:
		if p.Value.Kind != vector.Str {
			return nil
		}
		values := []string{}
		for i := range p.Value.Len {
			values = append(values, p.Value.String(i))
		}
		return restriction{s.Fields[p.Column].Name: values}
	}
	return nil
}

// Table is a virtual table: rows that the server makes when it is read.
type Table struct {
	id     catalog.Identifier
	schema *catalog.Schema
	fields []Field
	src    Source
	rows   producer
}

var _ connector.Readable = (*Table)(nil)

// ID implements catalog.Table.
func (t *Table) ID() catalog.Identifier { return t.id }

// Schema implements catalog.Table.
func (t *Table) Schema() *catalog.Schema { return t.schema }

// UUID implements catalog.Table.
func (t *Table) UUID() string { return "virtual:" + t.id.String() }

// Fields returns the columns with their MySQL types.
func (t *Table) Fields() []Field { return t.fields }

// Snapshot implements connector.Readable. A virtual table has no history.
func (t *Table) Snapshot(_ context.Context, ref catalog.Ref) (connector.Snapshot, error) {
	if ref.Kind != catalog.Latest {
		return nil, errs.Userf(errs.UnknownSnapshot, "read %s at %s: a system table has no history", t.id, ref)
	}
	return snapshot{t}, nil
}

type snapshot struct{ t *Table }

func (s snapshot) Version() int64          { return 0 }
func (s snapshot) Schema() *catalog.Schema { return s.t.schema }
func (s snapshot) RowCount(context.Context) (int64, bool, error) {
	return -1, false, nil
}

func (s snapshot) Plan(_ context.Context, req connector.ScanRequest) (*connector.Plan, error) {
	want := wanted{columns: map[string]bool{}}
	for _, c := range req.Columns {
		want.columns[s.t.schema.Fields[c].Name] = true
	}
	if !req.NoPruning {
		want.only = restrictionOf(s.t.schema, req.Filter)
	}
	return &connector.Plan{Splits: []connector.Split{&split{t: s.t, req: req, want: want}}}, nil
}

// split is the whole table.
type split struct {
	t    *Table
	req  connector.ScanRequest
	want wanted
}

func (s *split) Rows() int64  { return 100 }
func (s *split) Bytes() int64 { return 10 << 10 }

// Open makes the rows. They are kept until the reader closes.
func (s *split) Open(ctx context.Context) (connector.BatchReader, error) {
	r := &reader{budget: s.req.Budget}
	size := s.req.BatchRows
	if size <= 0 {
		size = vector.BatchRows
	}
	add := func(row Row) error {
		if len(r.batches) == 0 || r.batches[len(r.batches)-1].Len >= size {
			if err := r.pay(); err != nil {
				return err
			}
			b := &vector.Batch{Seq: -1}
			for _, c := range s.req.Columns {
				b.Cols = append(b.Cols, s.t.schema.Fields[c].Type.NewVec(64))
			}
			r.batches = append(r.batches, b)
		}
		b := r.batches[len(r.batches)-1]
		for i, c := range s.req.Columns {
			appendValue(b.Cols[i], row[c], s.t.schema.Fields[c].Type.Scale)
		}
		b.Len++
		if b.Len&255 == 0 {
			return ctx.Err()
		}
		return nil
	}
	err := s.t.rows(ctx, s.t.src, s.want, add)
	if err == nil {
		err = r.pay()
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

type reader struct {
	batches []*vector.Batch
	budget  *memory.Budget
	paid    int64
	counted int
}

// pay reserves the memory of batches that are not paid yet.
func (r *reader) pay() error {
	for ; r.counted < len(r.batches); r.counted++ {
		n := r.batches[r.counted].Bytesize()
		if err := r.budget.Reserve(n); err != nil {
			return err
		}
		r.paid += n
	}
	return nil
}

func (r *reader) Next(ctx context.Context) (*vector.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(r.batches) == 0 {
		return nil, nil
	}
	b := r.batches[0]
	r.batches = r.batches[1:]
	return b, nil
}

func (r *reader) Close() error {
	if r.paid > 0 {
		r.budget.Release(r.paid)
		r.paid = 0
	}
	r.batches = nil
	return nil
}
