package paimon

import (
	"context"
	"fmt"
	"slices"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

var _ connector.RowChanger = (*Table)(nil)

// NewRowChange implements connector.RowChanger. Rows of tables with
// deletion-vectors.enabled are marked as deleted; of others, the files that have
// them are written anew.
func (t *Table) NewRowChange(ctx context.Context, base connector.Snapshot, opts connector.WriteOptions) (connector.RowChange, error) {
	st, err := read.StateOf(base)
	if err != nil {
		return nil, fmt.Errorf("change rows of %s: %w", t.id, err)
	}
	if st.Schema().ID != t.schema.ID {
		return nil, errs.New(errs.Conflict, errs.KindNone, "change rows of %s: the table's definition has changed; run the statement again", t.id)
	}
	c, err := write.NewChange(ctx, t.writeConfig(opts), st)
	if err != nil {
		return nil, fmt.Errorf("change rows of %s: %w", t.id, err)
	}
	return &rowChange{Change: c}, nil
}

// rowChange implements connector.RowChange.
type rowChange struct{ *write.Change }

// Rows implements connector.RowChange.
func (c *rowChange) Rows() connector.Snapshot {
	st := c.State()
	s := *st.Schema()
	id := s.HighestFieldID + 1
	s.Fields = append(slices.Clone(s.Fields), catalog.Field{ID: id, Name: connector.AddressColumn, Type: catalog.TBigInt.Required()})
	return &addressed{State: st, schema: &s}
}

// addressed is a state whose schema has the column of addresses, last.
type addressed struct {
	*read.State
	schema *catalog.Schema
}

// Schema implements connector.Snapshot.
func (a *addressed) Schema() *catalog.Schema { return a.schema }

// Extremes implements connector.Extremal: rows are asked for, to be changed.
func (a *addressed) Extremes(context.Context, []int) ([]connector.Extremes, error) {
	return nil, nil
}

// Plan implements connector.Snapshot.
func (a *addressed) Plan(ctx context.Context, req connector.ScanRequest) (*connector.Plan, error) {
	own := len(a.schema.Fields) - 1
	var cols, order []int // order: where in a batch of the state each column is
	for _, c := range req.Columns {
		if c == own {
			order = append(order, -1)
			continue
		}
		order = append(order, len(cols))
		cols = append(cols, c)
	}
	for i := range order {
		if order[i] < 0 {
			order[i] = len(cols)
		}
	}
	inner := req
	inner.Columns = cols
	if req.Filter != nil {
		inner.Filter = read.Rewrite(req.Filter, func(c int) int {
			if c == own {
				return -1
			}
			return c
		})
	}
	plan, err := a.State.Plan(ctx, inner)
	if err != nil {
		return nil, err
	}
	for i, s := range plan.Splits {
		plan.Splits[i] = &addressedSplit{Split: s, order: order}
	}
	return plan, nil
}

type addressedSplit struct {
	connector.Split
	order []int
}

// Open implements connector.Split.
func (s *addressedSplit) Open(ctx context.Context) (connector.BatchReader, error) {
	r, err := s.Split.Open(ctx)
	if err != nil {
		return nil, err
	}
	return &addressedReader{BatchReader: r, order: s.order}, nil
}

type addressedReader struct {
	connector.BatchReader
	order []int
	out   vector.Batch
	cols  []*vector.Vec
}

// Next implements connector.BatchReader.
func (r *addressedReader) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := r.BatchReader.Next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	r.cols = r.cols[:0]
	for _, at := range r.order {
		r.cols = append(r.cols, b.Cols[at])
	}
	r.out = *b
	r.out.Cols = r.cols
	return &r.out, nil
}
