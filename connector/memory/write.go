package memory

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// NewWrite implements connector.Writable.
func (t *Table) NewWrite(context.Context, connector.WriteOptions) (connector.TableWrite, error) {
	if t.id.System != "" {
		return nil, errs.Userf(errs.ReadOnlyObject, "write table %s: system tables cannot be written", t.id)
	}
	return &write{table: t}, nil
}

// write collects batches. What it holds is reserved from the table's budget
// until it is committed, aborted or closed.
type write struct {
	table *Table
	cur   *vector.Batch
	full  []*vector.Batch
}

// message is the rows of one PrepareCommit.
type message struct {
	batches []*vector.Batch
	gone    map[int]map[uint16]bool // rows of chunks of the version base that go
	base    int64
}

// Empty implements connector.CommitMessage.
func (m *message) Empty() bool { return len(m.batches) == 0 && len(m.gone) == 0 }

// Rows implements connector.CommitMessage.
func (m *message) Rows() (n int64) {
	for _, b := range m.batches {
		n += int64(b.Len)
	}
	return n
}

// chunkRows is the most rows a chunk has.
const chunkRows = vector.BatchRows

// Write implements connector.TableWrite.
func (w *write) Write(ctx context.Context, b *vector.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s := w.table.schema
	if len(b.Cols) != len(s.Fields) {
		return errs.Internalf("write table %s: a batch of %d columns for a table of %d", w.table.id, len(b.Cols), len(s.Fields))
	}
	for i, f := range s.Fields {
		if k := b.Cols[i].Kind; k != f.Type.Physical() {
			return errs.Internalf("write table %s: column %s came as %s", w.table.id, f.Name, k)
		}
		if f.Type.NotNull && b.Cols[i].Valid != nil {
			for r := range b.Rows() {
				if b.Cols[i].IsNull(b.Row(r)) {
					return errs.Userf(errs.NotNull, "Column '%s' cannot be null", f.Name)
				}
			}
		}
	}
	for r := range b.Rows() {
		row := b.Row(r)
		if k := b.Kind(row); len(s.PrimaryKeys) == 0 && (k == vector.UpdateBefore || k == vector.Delete) {
			return errs.Userf(errs.InvalidTable, "write table %s: it has no primary key, so rows cannot be removed", w.table.id)
		}
		if w.cur == nil {
			w.cur = newBatch(s)
		}
		w.cur.AppendRow(b, row)
		if w.cur.Len == chunkRows {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func newBatch(s *catalog.Schema) *vector.Batch {
	b := &vector.Batch{Seq: -1}
	for _, f := range s.Fields {
		b.Cols = append(b.Cols, f.Type.NewVec(0))
	}
	return b
}

func (w *write) flush() error {
	if w.cur == nil || w.cur.Len == 0 {
		return nil
	}
	if err := w.table.pays.Reserve(w.cur.Bytesize()); err != nil {
		return err
	}
	w.full = append(w.full, w.cur)
	w.cur = nil
	return nil
}

// PrepareCommit implements connector.TableWrite.
func (w *write) PrepareCommit(context.Context) ([]connector.CommitMessage, error) {
	if err := w.flush(); err != nil {
		return nil, err
	}
	if len(w.full) == 0 {
		return nil, nil
	}
	m := &message{batches: w.full}
	w.full = nil
	return []connector.CommitMessage{m}, nil
}

// Close implements connector.TableWrite.
func (w *write) Close() error {
	for _, b := range w.full {
		w.table.pays.Release(b.Bytesize())
	}
	w.full, w.cur = nil, nil
	return nil
}

// NewCommit implements connector.Writable.
func (t *Table) NewCommit(_ context.Context, user string) (connector.TableCommit, error) {
	return &committer{table: t, user: user}, nil
}

type committer struct {
	table *Table
	user  string
}

// Commit implements connector.TableCommit.
func (c *committer) Commit(ctx context.Context, k *connector.Committable) (connector.CommitResult, error) {
	if err := ctx.Err(); err != nil {
		return connector.CommitResult{}, err
	}
	if k.Nonce == "" {
		var n [16]byte
		if _, err := rand.Read(n[:]); err != nil {
			return connector.CommitResult{}, err
		}
		k.Nonce = hex.EncodeToString(n[:])
	}
	t := c.table
	t.mu.Lock()
	defer t.mu.Unlock()
	newest := int64(0)
	for i := len(t.versions) - 1; i > 0; i-- {
		v := t.versions[i]
		if v.info.User != c.user {
			continue
		}
		newest = max(newest, v.info.ID)
		if k.Epoch > 0 && v.epoch > k.Epoch {
			return connector.CommitResult{}, errs.New(errs.Conflict, errs.Fenced, "commit to table %s: a writer with epoch %d has taken over", t.id, v.epoch)
		}
		if v.info.Identifier == k.Identifier && v.nonce == k.Nonce {
			return connector.CommitResult{Snapshot: v.info.ID, Already: true}, nil
		}
	}
	if k.After != 0 && newest > 0 && newest != k.After {
		return connector.CommitResult{}, errs.New(errs.Conflict, errs.CommittedLate, "commit to table %s: %s has committed snapshot %d meanwhile", t.id, c.user, newest)
	}
	var added []*vector.Batch
	var gone []map[int]map[uint16]bool
	prev := t.versions[len(t.versions)-1]
	if k.ReadVersion != 0 && prev.info.ID > max(k.ReadVersion, 0) {
		return connector.CommitResult{}, errs.New(errs.Conflict, errs.KindNone, "commit to table %s: it has changed since snapshot %d was read", t.id, k.ReadVersion)
	}
	for _, m := range k.Messages {
		mm, ok := m.(*message)
		if !ok {
			return connector.CommitResult{}, errs.Internalf("commit to table %s: a message of another connector", t.id)
		}
		added = append(added, mm.batches...)
		if mm.gone != nil {
			if mm.base != prev.info.ID {
				return connector.CommitResult{}, errs.New(errs.Conflict, errs.KindNone, "commit to table %s: rows of snapshot %d are to be deleted, the newest is %d", t.id, mm.base, prev.info.ID)
			}
			gone = append(gone, mm.gone)
		}
	}
	if len(added) == 0 && len(gone) == 0 && !k.EvenIfEmpty && !k.Overwrite {
		return connector.CommitResult{}, nil
	}
	v := &version{table: t, nonce: k.Nonce, epoch: k.Epoch}
	v.info = connector.SnapshotInfo{
		ID: prev.info.ID + 1, UUID: k.Nonce, User: c.user, Identifier: k.Identifier, Kind: "APPEND",
		TimeMillis: max(time.Now().UnixMilli(), prev.info.TimeMillis), Properties: maps.Clone(k.Properties),
	}
	switch {
	case k.Overwrite && (k.OverwriteDynamic || len(k.OverwriteIn) > 0):
		v.info.Kind = "OVERWRITE"
		t.overwrite(v, prev, t.partitions(k, added))
	case k.Overwrite:
		v.info.Kind = "OVERWRITE"
		clear(t.index)
	default:
		v.chunks = slices.Clone(prev.chunks)
		for _, g := range gone {
			v.info.Kind = "OVERWRITE"
			v.remove(g)
		}
	}
	for _, b := range added {
		t.add(v, b)
	}
	for _, ch := range v.chunks {
		v.rows += ch.rows()
	}
	t.versions = append(t.versions, v)
	return connector.CommitResult{Snapshot: v.info.ID}, nil
}

// add puts the rows of b into v, the version being made, and into the index.
func (t *Table) add(v *version, b *vector.Batch) {
	n := len(v.chunks)
	kinds, held := b.Kinds, b.Bytesize()
	b.Kinds = nil
	t.pays.Release(held - b.Bytesize())
	v.chunks = append(v.chunks, chunk{batch: b, bounds: boundsOf(b)})
	if len(t.schema.PrimaryKeys) == 0 {
		return
	}
	cols := t.schema.Columns(t.schema.PrimaryKeys)
	gone := map[int][]bool{} // chunk -> rows that no longer count
	remove := func(p place) {
		g := gone[p.chunk]
		if g == nil {
			g = make([]bool, v.chunks[p.chunk].batch.Len)
			gone[p.chunk] = g
		}
		g[p.row] = true
	}
	var key []byte
	for i := range b.Len {
		key = key[:0]
		for _, c := range cols {
			key = vector.AppendKey(key, b.Cols[c], i)
		}
		if old, ok := t.index[string(key)]; ok {
			remove(old)
			delete(t.index, string(key))
		}
		here := place{n, uint16(i)}
		if kinds != nil && (kinds[i] == vector.Delete || kinds[i] == vector.UpdateBefore) {
			remove(here)
			continue
		}
		t.index[string(key)] = here
	}
	for ci, g := range gone {
		ch := &v.chunks[ci]
		sel := make([]uint16, 0, ch.batch.Len)
		for r := range int(ch.rows()) {
			p := uint16(r)
			if ch.sel != nil {
				p = ch.sel[r]
			}
			if !g[p] {
				sel = append(sel, p)
			}
		}
		ch.sel = sel
	}
}

// boundsOf computes what is known of each column of b.
func boundsOf(b *vector.Batch) []connector.Bounds {
	out := make([]connector.Bounds, len(b.Cols))
	for c, v := range b.Cols {
		out[c] = connector.Bounds{Nulls: int64(v.NullCount()), Rows: int64(b.Len)}
		if v.Kind >= vector.List {
			continue
		}
		low, high := -1, -1
		for i := range b.Len {
			if v.IsNull(i) {
				continue
			}
			if low < 0 || vector.Compare(v, i, v, low) < 0 {
				low = i
			}
			if high < 0 || vector.Compare(v, i, v, high) > 0 {
				high = i
			}
		}
		if low >= 0 {
			out[c].Min, out[c].Max = vector.NewLike(v, 1), vector.NewLike(v, 1)
			out[c].Min.AppendFrom(v, low)
			out[c].Max.AppendFrom(v, high)
		}
	}
	return out
}

// LatestOwn implements connector.TableCommit.
func (c *committer) LatestOwn(context.Context) (*connector.SnapshotInfo, error) {
	c.table.mu.RLock()
	defer c.table.mu.RUnlock()
	for i := len(c.table.versions) - 1; i > 0; i-- {
		if v := c.table.versions[i]; v.info.User == c.user {
			info := v.info
			return &info, nil
		}
	}
	return nil, nil
}

// Abort implements connector.TableCommit.
func (c *committer) Abort(_ context.Context, messages []connector.CommitMessage) error {
	for _, m := range messages {
		if mm, ok := m.(*message); ok {
			for _, b := range mm.batches {
				c.table.pays.Release(b.Bytesize())
			}
			mm.batches = nil
		}
	}
	return nil
}
