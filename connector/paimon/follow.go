package paimon

import (
	"context"
	"sync"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

var (
	_ connector.Followable = (*Table)(nil)
	_ connector.Followable = (*viewTable)(nil)
)

// consumers are the names under which streams of a driver store their progress.
// Two streams of one name would each put back what the other stored.
type consumers struct {
	mu   sync.Mutex
	used map[string]bool
}

func (c *consumers) take(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used[name] {
		return false
	}
	if c.used == nil {
		c.used = map[string]bool{}
	}
	c.used[name] = true
	return true
}

func (c *consumers) give(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.used, name)
}

// Follow implements connector.Followable.
func (t *Table) Follow(ctx context.Context, ref catalog.Ref) (connector.Stream, error) {
	return t.follow(ctx, ref, func(st *read.State) connector.Snapshot { return st })
}

// Follow implements connector.Followable.
func (v *viewTable) Follow(ctx context.Context, ref catalog.Ref) (connector.Stream, error) {
	if v.def.tracking {
		return nil, errs.Unsupportedf(-1, "a continuous read of %s", v.id)
	}
	if !v.def.kinds && len(v.base.schema.PrimaryKeys) > 0 {
		return nil, errs.Unsupportedf(-1, "a continuous read of %s: what is fully compacted has no changes", v.id)
	}
	return v.base.follow(ctx, ref, func(st *read.State) connector.Snapshot {
		st = v.def.state(st)
		if !v.def.kinds {
			return st
		}
		return &viewSnapshot{State: st, def: v.def, schema: v.def.schema(st.Schema())}
	})
}

func (t *Table) follow(ctx context.Context, ref catalog.Ref, view func(*read.State) connector.Snapshot) (connector.Stream, error) {
	f, err := t.Source().Follow(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &stream{table: t, f: f, view: view}, nil
}

// stream implements connector.Stream.
type stream struct {
	table *Table
	f     *read.Follower
	view  func(*read.State) connector.Snapshot
	name  string // of the consumer, while it is held
}

// Empty implements connector.Stream.
func (s *stream) Empty() connector.Snapshot { return newOpSnapshot(s.view(s.f.Empty())) }

// Next implements connector.Stream.
func (s *stream) Next(ctx context.Context) (connector.Snapshot, error) {
	if id := s.f.Consumer(); id != "" && s.name == "" {
		name := s.table.MetaDir() + "\x00" + id
		if !s.table.driver.consumers.take(name) {
			return nil, errs.Userf(errs.WrongArguments, "follow table %s: the consumer '%s' is being read by another statement", s.table.id, id)
		}
		s.name = name
	}
	st, err := s.f.Next(ctx)
	if err != nil || st == nil {
		return nil, err
	}
	return newOpSnapshot(s.view(st)), nil
}

// Close implements connector.Stream.
func (s *stream) Close() error {
	if s.name != "" {
		s.table.driver.consumers.give(s.name)
		s.name = ""
	}
	return nil
}

// opSnapshot is a snapshot with one more, first column: the kinds of its rows.
type opSnapshot struct {
	connector.Snapshot
	schema *catalog.Schema
}

func newOpSnapshot(in connector.Snapshot) *opSnapshot {
	s := *in.Schema()
	s.Fields = append([]catalog.Field{{ID: opColumnID, Name: connector.OpColumn, Type: catalog.TString.Required()}}, s.Fields...)
	s.PrimaryKeys = nil // a key may come several times
	return &opSnapshot{Snapshot: in, schema: &s}
}

// opColumnID is the id of the column, which no field of a table has.
const opColumnID = -1

// Oldest implements connector.Spanning.
func (s *opSnapshot) Oldest() int64 { return connector.Oldest(s.Snapshot) }

// Schema implements connector.Snapshot.
func (s *opSnapshot) Schema() *catalog.Schema { return s.schema }

// Plan implements connector.Snapshot.
func (s *opSnapshot) Plan(ctx context.Context, req connector.ScanRequest) (*connector.Plan, error) {
	inner := req
	inner.Columns = nil
	for _, c := range req.Columns {
		if c > 0 {
			inner.Columns = append(inner.Columns, c-1)
		}
	}
	if req.Filter != nil {
		inner.Filter = read.Rewrite(req.Filter, func(c int) int { return c - 1 })
	}
	plan, err := s.Snapshot.Plan(ctx, inner)
	if err != nil {
		return nil, err
	}
	for i, sp := range plan.Splits {
		plan.Splits[i] = &opSplit{sp, req.Columns}
	}
	return plan, nil
}

type opSplit struct {
	connector.Split
	columns []int
}

// Open implements connector.Split.
func (s *opSplit) Open(ctx context.Context) (connector.BatchReader, error) {
	r, err := s.Split.Open(ctx)
	if err != nil {
		return nil, err
	}
	return &opReader{BatchReader: r, columns: s.columns}, nil
}

type opReader struct {
	connector.BatchReader
	columns []int
	out     vector.Batch
}

// Next implements connector.BatchReader.
func (r *opReader) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := r.BatchReader.Next(ctx)
	if err != nil || b == nil {
		return nil, err
	}
	r.out = vector.Batch{Len: b.Len, Sel: b.Sel, Seq: -1, Cols: r.out.Cols[:0]}
	at := 0
	for _, c := range r.columns {
		if c == 0 {
			r.out.Cols = append(r.out.Cols, kindTexts(b))
			continue
		}
		r.out.Cols = append(r.out.Cols, b.Cols[at])
		at++
	}
	return &r.out, nil
}

// kindTexts returns the row kinds of a batch as texts.
func kindTexts(b *vector.Batch) *vector.Vec {
	v := vector.New(vector.Str, b.Len)
	for i := range b.Len {
		v.AppendString(vector.RowKindString(b.Kind(i)))
	}
	return v
}
