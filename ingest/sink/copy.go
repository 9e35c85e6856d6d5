package sink

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/ingest/transform"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// PropChunks is how far the copy of a table in chunks is: JSON of Copy. A
// snapshot whose phase is "snapshot" and that has no such property is a copy
// that was made in one piece.
const PropChunks = "cdc.chunks"

// Copy is how far the copy of a table in chunks is, which runs beside the stream
// of its changes since the copy began. What was copied lies below the changes
// (connector.LayerBase): a chunk's row counts only where the stream brought
// nothing of its key, whenever either is written. When all chunks are there and
// the stream is past the moment when the last was read, the table is that of the
// stream's position.
//
//	begin        chunks and changes, in any order        all chunks, stream at barrier
//	  |--- stream ------------------------------------------------>|
//	P0 <= every chunk's read view <= barrier
type Copy struct {
	Parts []*Part `json:"parts"` // by position in Table.Definitions

	barrier source.Position
	since   time.Time // of the oldest rows that wait for a commit
}

// Part is the copy of one source table.
type Part struct {
	// At is where the next chunk begins.
	At source.Key `json:"at,omitempty"`
	// Ended says that no further chunk begins.
	Ended bool `json:"ended,omitempty"`
	// Pending are chunks that were begun and are not in the lake table.
	Pending []source.Chunk `json:"pending,omitempty"`

	written []source.Chunk // of Pending: their rows wait for the next commit
}

// Done reports whether all rows are in the lake table.
func (p *Part) Done() bool { return p.Ended && len(p.Pending) == 0 }

func sameChunk(a, b source.Chunk) bool {
	return slices.Equal(a.After, b.After) && slices.Equal(a.UpTo, b.UpTo)
}

// Waits reports whether the chunk's rows wait for the next commit.
func (p *Part) Waits(c source.Chunk) bool {
	return slices.ContainsFunc(p.written, func(x source.Chunk) bool { return sameChunk(x, c) })
}

// text is the property of a snapshot that has the written chunks.
func (c *Copy) text() (string, error) {
	out := Copy{}
	for _, p := range c.Parts {
		x := &Part{At: p.At, Ended: p.Ended}
		for _, k := range p.Pending {
			if !p.Waits(k) {
				x.Pending = append(x.Pending, k)
			}
		}
		out.Parts = append(out.Parts, x)
	}
	b, err := json.Marshal(out)
	if err != nil {
		return "", errs.Internalf("note the progress of a copy: %w", err)
	}
	return string(b), nil
}

// committed forgets the chunks that are in the table now.
func (c *Copy) committed() {
	for _, p := range c.Parts {
		p.Pending = slices.DeleteFunc(p.Pending, p.Waits)
		p.written = nil
	}
}

// CanCopyInChunks reports whether tables of the schema can be copied beside their
// changes: merging must find by itself that changes count more.
func (s *Set) CanCopyInChunks(schema *catalog.Schema) bool {
	if _, ok := s.o.Catalog.(catalog.Altering); !ok || len(schema.PrimaryKeys) == 0 {
		return false
	}
	o := schema.Options
	for _, k := range []string{"sequence.field", "rowkind.field"} {
		if o[k] != "" {
			return false
		}
	}
	if e := o["merge-engine"]; e != "" && e != "deduplicate" {
		return false
	}
	if b := o["bucket"]; b == "" || b[0] == '-' {
		return false
	}
	return o["changelog-producer"] != "input"
}

// BeginCopy makes the lake table, empty, as of pos: a position whose transactions
// every chunk will have.
func (s *Set) BeginCopy(ctx context.Context, t *Table, definitions []*source.Table, schema *catalog.Schema, pos source.Position) error {
	if err := s.create(ctx, t, definitions, schema, true); err != nil {
		return err
	}
	t.Copying = &Copy{}
	for range definitions {
		t.Copying.Parts = append(t.Copying.Parts, &Part{})
	}
	// The state has the definitions before a snapshot needs them.
	if err := s.SaveState(ctx); err != nil {
		return err
	}
	if err := s.lower(ctx, pos); err != nil {
		return err
	}
	s.state.Seq++
	if err := t.commitRows(ctx, nil, pos, time.Time{}, true); err != nil {
		return err
	}
	t.Start = pos
	st := s.state.Tables[t.ID.String()]
	st.Copied, st.Making, t.making = true, false, false
	// The writer that tried the table out is none of a copy.
	if err := t.closeWriter(); err != nil {
		return err
	}
	return s.SaveState(ctx)
}

// resumeCopy reads how far a copy is.
func (t *Table) resumeCopy(own *connector.SnapshotInfo) error {
	text, ok := own.Properties[PropChunks]
	if !ok {
		return nil
	}
	c := &Copy{}
	if err := json.Unmarshal([]byte(text), c); err != nil {
		return errs.Corruptf("read the progress of the copy of %s: %w", t.ID, err)
	}
	t.Copying = c
	return nil
}

// setCopying sets or removes the option that keeps the table from being
// compacted.
func (s *Set) setCopying(ctx context.Context, t *Table, on bool) error {
	if (t.table.Schema().Options[connector.CopyingOption] == "true") == on {
		return nil
	}
	k, ok := s.o.Catalog.(catalog.Altering)
	if !ok {
		return errs.Internalf("copy to %s: its catalog cannot change tables", t.ID)
	}
	change := catalog.SchemaChange{Kind: catalog.RemoveOption, Name: connector.CopyingOption}
	if on {
		yes := "true"
		change = catalog.SchemaChange{Kind: catalog.SetOption, Name: connector.CopyingOption, Value: &yes}
	}
	if err := k.AlterTable(ctx, t.ID, []catalog.SchemaChange{change}); err != nil {
		return err
	}
	return s.reopen(ctx, t)
}

// reopen opens the table as it is now, after its schema was changed.
func (s *Set) reopen(ctx context.Context, t *Table) error {
	if err := t.closeWriter(); err != nil {
		return err
	}
	tb, err := s.o.Catalog.Table(ctx, t.ID)
	if err != nil {
		return err
	}
	return t.open(ctx, tb)
}

// ChunkBatches returns what makes the batches of a source table's chunks.
func (t *Table) ChunkBatches(def *source.Table) func(n int) *vector.Batch {
	if s := t.shapes[def.ID]; !s.Plain() {
		return s.NewBatch
	}
	return def.NewBatch
}

// AppendCopied writes rows of a chunk, of a batch that ChunkBatches made.
func (t *Table) AppendCopied(ctx context.Context, def *source.Table, b *vector.Batch) error {
	if b.Len == 0 {
		return nil
	}
	if s := t.shapes[def.ID]; !s.Plain() {
		if s.Wants() {
			s.Stamp(b, transform.Origin{}, &t.copied0)
		}
		var err error
		if b, err = s.Apply(b); err != nil {
			return err
		}
	}
	if t.base == nil {
		w, err := t.table.NewWrite(ctx, connector.WriteOptions{CommitUser: t.set.o.User, Budget: t.set.o.Budget, NoCompaction: true, KeepNulls: true, Layer: connector.LayerBase})
		if err != nil {
			return err
		}
		t.base = w
	}
	t.wait()
	err := t.base.Write(ctx, b)
	if errs.Is(err, errs.MemoryLimit) {
		if err = t.set.relieve(ctx); err == nil {
			err = t.base.Write(ctx, b)
		}
	}
	if err != nil {
		return err
	}
	t.rows += int64(b.Len)
	t.bytes += dataBytes(b)
	return nil
}

// wait notes that rows of a copying table wait for a commit.
func (t *Table) wait() {
	t.changed = true
	if c := t.Copying; c != nil && c.since.IsZero() {
		c.since = time.Now()
	}
}

// ChunkWritten notes that all rows of a chunk were appended: it is done with the
// next commit.
func (t *Table) ChunkWritten(part int, c source.Chunk) {
	p := t.Copying.Parts[part]
	p.written = append(p.written, c)
	t.wait()
}

// Copies commit in large pieces: the rows of every commit are a sorted run in each
// bucket, and nothing merges them before the copy is complete.
const (
	copyBytes = 192 << 20
	copyAge   = 30 * time.Second
)

// CopyDue reports whether a copying table should be committed.
func (s *Set) CopyDue() bool {
	return slices.ContainsFunc(s.Tables, func(t *Table) bool {
		c := t.Copying
		if c == nil || !t.changed || t.Stopped != "" {
			return false
		}
		return t.bytes >= copyBytes || time.Since(c.since) >= copyAge || c.lastWritten()
	})
}

// lastWritten reports whether the next commit has the last chunks.
func (c *Copy) lastWritten() bool {
	waiting := 0
	for _, p := range c.Parts {
		if !p.Ended || len(p.written) < len(p.Pending) {
			return false
		}
		waiting += len(p.written)
	}
	return waiting > 0
}

// CopyChanged reports whether rows of copying tables wait for a commit.
func (s *Set) CopyChanged() bool {
	return slices.ContainsFunc(s.Tables, func(t *Table) bool { return t.Copying != nil && t.changed && t.Stopped == "" })
}

// Barrier returns the position that the stream must reach for the copied table to
// be whole: that of a moment after its last chunk was read, which now gives. nil
// while chunks are missing.
func (t *Table) Barrier(now func() (source.Position, error)) (source.Position, error) {
	c := t.Copying
	if c == nil {
		return nil, nil
	}
	for _, p := range c.Parts {
		if !p.Done() {
			return nil, nil
		}
	}
	if c.barrier == nil {
		p, err := now()
		if err != nil {
			return nil, err
		}
		c.barrier = p
	}
	return c.barrier, nil
}

// FinishCopy says that the copied table is whole as of pos.
func (s *Set) FinishCopy(ctx context.Context, t *Table, pos source.Position) error {
	t.Copying = nil
	s.state.Seq++
	if err := t.commitRows(ctx, nil, pos, time.Time{}, true); err != nil {
		return err
	}
	t.Start = pos
	if err := s.setCopying(ctx, t, false); err != nil {
		return err
	}
	if err := t.closeWriter(); err != nil { // the next one compacts
		return err
	}
	return s.SaveState(ctx)
}
