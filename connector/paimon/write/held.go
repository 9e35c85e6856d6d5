package write

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// Rows that a writer holds for live reads are copied when they get their buckets,
// and sealed into segments when somebody asks for them:
//
//	taken ──► open, by bucket ──Held──► segment, segment, …  ──Forget──► let go
//	                                        └── shared by every Held since ──► merged when read
//
// A segment is immutable and counts who uses it. As in an LSM tree a segment is
// joined with the one before when that is not much larger, so that there are few.

var _ connector.Holding = (*Writer)(nil)

// holder is what a writer holds.
type holder struct {
	budget   *memory.Budget
	opened   []*bucket // with rows in held
	reserved int64     // for them
	segments []*segment
	newest   *Held // of all segments, nil: not made
	lost     bool  // rows were not held: what there is does not count until Forget
}

// segment is rows by bucket.
type segment struct {
	parts  []heldPart
	rows   int64
	bytes  int64 // reserved
	budget *memory.Budget
	refs   atomic.Int64
}

type heldPart struct {
	partition spec.BinaryRow
	bucket    int32
	rows      buffer
}

func (s *segment) release() {
	if s.refs.Add(-1) == 0 {
		s.budget.Release(s.bytes)
	}
}

// Hold implements connector.Holding.
func (w *Writer) Hold(on bool, budget *memory.Budget) {
	w.letGo()
	if w.hold = nil; on {
		w.hold = &holder{budget: budget}
	}
}

// letGo gives up all that is held.
func (w *Writer) letGo() {
	h := w.hold
	if h == nil {
		return
	}
	for _, k := range h.opened {
		k.held = buffer{}
	}
	for _, s := range h.segments {
		s.release()
	}
	h.budget.Release(h.reserved)
	h.outdate()
	h.opened, h.segments, h.reserved = nil, nil, 0
}

// outdate forgets what Held returned last.
func (h *holder) outdate() {
	if h.newest != nil {
		h.newest.Release()
		h.newest = nil
	}
}

// Forget implements connector.Holding.
func (w *Writer) Forget() {
	if w.hold != nil {
		w.letGo()
		w.hold.lost = false
	}
}

// keep copies the rows of b that are selected for a bucket.
func (w *Writer) keep(k *bucket, b *vector.Batch) {
	h := w.hold
	if h.lost {
		return
	}
	before := k.held.bytes()
	if k.held.rows == 0 {
		k.held = buffer{types: w.types}
		h.opened = append(h.opened, k)
		before = 0
	}
	k.held.add(b, k.sel)
	more := k.held.bytes() - before
	if h.budget.Reserve(more) != nil {
		w.letGo()
		h.lost = true
		return
	}
	h.reserved += more
}

// seal makes a segment of the rows that came since the last one.
func (w *Writer) seal() {
	h := w.hold
	if len(h.opened) == 0 {
		return
	}
	h.outdate()
	s := &segment{budget: h.budget, bytes: h.reserved}
	s.refs.Store(1)
	for _, k := range h.opened {
		s.parts = append(s.parts, heldPart{k.partition, k.bucket, k.held})
		s.rows += int64(k.held.rows)
		k.held = buffer{}
	}
	h.opened, h.reserved = nil, 0
	h.segments = append(h.segments, s)
	for n := len(h.segments); n > 1 && 2*h.segments[n-1].rows >= h.segments[n-2].rows; n = len(h.segments) {
		x := w.joined(h.segments[n-2], h.segments[n-1])
		if x == nil {
			return
		}
		h.segments[n-2].release()
		h.segments[n-1].release()
		h.segments = append(h.segments[:n-2:n-2], x)
	}
}

// joined copies two segments into one, nil when memory is short.
func (w *Writer) joined(a, b *segment) *segment {
	s := &segment{budget: a.budget, rows: a.rows + b.rows}
	s.refs.Store(1)
	for _, p := range slices.Concat(a.parts, b.parts) {
		i := slices.IndexFunc(s.parts, func(x heldPart) bool { return x.bucket == p.bucket && string(x.partition) == string(p.partition) })
		if i < 0 {
			i = len(s.parts)
			s.parts = append(s.parts, heldPart{p.partition, p.bucket, buffer{types: w.types}})
		}
		for _, c := range p.rows.chunks {
			s.parts[i].rows.add(c, everyRow[:c.Len])
		}
	}
	for i := range s.parts {
		s.bytes += s.parts[i].rows.bytes()
	}
	if s.budget.Reserve(s.bytes) != nil {
		return nil
	}
	return s
}

// everyRow are the positions of all rows that a chunk may have.
var everyRow = func() []uint16 {
	out := make([]uint16, vector.MaxBatchRows)
	for i := range out {
		out[i] = uint16(i)
	}
	return out
}()

// Held implements connector.Holding.
func (w *Writer) Held() (connector.HeldRows, bool) {
	if w.hold == nil || w.hold.lost {
		return nil, false
	}
	w.seal()
	if len(w.hold.segments) == 0 {
		return nil, true
	}
	if x := w.hold.newest; x != nil {
		x.Retain()
		return x, true
	}
	x := &Held{schema: w.cfg.Schema, rules: w.rules, layout: w.layout, types: w.types, buckets: w.opts.buckets, keyed: w.opts.keyed, plain: w.plain(),
		budget: w.hold.budget, segments: slices.Clone(w.hold.segments)}
	for _, s := range x.segments {
		s.refs.Add(1)
		x.rows, x.bytes = x.rows+s.rows, x.bytes+s.bytes
	}
	x.refs.Store(2) // the caller and the writer
	w.hold.newest = x
	return x, true
}

// Held are the rows that a writer held at a moment: connector.HeldRows.
type Held struct {
	schema  *catalog.Schema
	rules   *merge.Rules
	layout  *layout
	types   []catalog.Type
	buckets int32
	keyed   bool
	plain   bool
	budget  *memory.Budget

	segments []*segment
	rows     int64
	bytes    int64
	refs     atomic.Int64

	mu     sync.Mutex
	runs   []read.HeldRun // what Runs returned, nil before
	merged int64          // bytes reserved for them
}

// Rows implements connector.HeldRows.
func (x *Held) Rows() int64 { return x.rows }

// Bytes implements connector.HeldRows.
func (x *Held) Bytes() int64 { return x.bytes }

// Retain implements connector.HeldRows.
func (x *Held) Retain() { x.refs.Add(1) }

// Release implements connector.HeldRows.
func (x *Held) Release() {
	if x.refs.Add(-1) > 0 {
		return
	}
	for _, s := range x.segments {
		s.release()
	}
	x.budget.Release(x.merged)
}

// heldSequence is the sequence number of the first held row: above those of any
// file.
const heldSequence = 1 << 62

// Runs returns the rows as runs that lie above all files of the table, one a
// bucket: of keyed tables what a flush would write, by key. They are made once.
func (x *Held) Runs(ctx context.Context) ([]read.HeldRun, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.runs != nil {
		return x.runs, nil
	}
	var parts []heldPart // one a bucket, all of its chunks
	for _, s := range x.segments {
		for _, p := range s.parts {
			i := slices.IndexFunc(parts, func(y heldPart) bool { return y.bucket == p.bucket && string(y.partition) == string(p.partition) })
			if i < 0 {
				i = len(parts)
				parts = append(parts, heldPart{p.partition, p.bucket, buffer{types: x.types}})
			}
			u := &parts[i].rows
			u.chunks = append(u.chunks, p.rows.chunks...)
			u.rows += p.rows.rows
		}
	}
	var out []read.HeldRun
	held := int64(0)
	for i := range parts {
		p := &parts[i]
		e := spec.ManifestEntry{Kind: spec.FileAdd, Partition: p.partition, Bucket: p.bucket, TotalBuckets: x.buckets, File: spec.DataFileMeta{
			FileName: "held-" + strconv.Itoa(i) + ".parquet", SchemaID: x.schema.ID, KeyStats: spec.EmptyStats(), ValueStats: spec.EmptyStats(),
			MinKey: spec.EmptyRow, MaxKey: spec.EmptyRow, ValueStatsCols: spec.Some([]string{}), DeleteRowCount: spec.Some(int64(0))}}
		r := read.HeldRun{Entry: e, Schema: x.schema}
		if x.keyed {
			if err := x.merge(ctx, p, &r); err != nil {
				x.budget.Release(held)
				return nil, err
			}
		} else {
			r.Batches = p.rows.chunks
			r.Entry.File.RowCount, r.Entry.File.FileSize = int64(p.rows.rows), p.rows.bytes()
			r.Entry.File.MaxSequence = int64(p.rows.rows) - 1
		}
		size := int64(0)
		if x.keyed {
			size = r.Entry.File.FileSize
		}
		if err := x.budget.Reserve(size); err != nil {
			x.budget.Release(held)
			return nil, err
		}
		held += size
		if r.Entry.File.RowCount > 0 {
			out = append(out, r)
		}
	}
	x.runs, x.merged = out, held
	return out, nil
}

// merge makes of a bucket's rows what the merge engine makes of the rows of each
// key, deletions included.
func (x *Held) merge(ctx context.Context, p *heldPart, r *read.HeldRun) error {
	cfg := merge.Config{Rules: x.rules, Out: len(x.types), BatchRows: fileRows, KeepDeletes: true, Sequences: true, Repeats: !x.plain}
	for i := range x.types {
		cfg.Columns = append(cfg.Columns, i)
	}
	m, err := merge.New(cfg, p.rows.runs(x.layout.keys, heldSequence, !x.plain, false))
	if err != nil {
		return err
	}
	defer m.Close()
	f := &r.Entry.File
	enc := spec.NewRowEncoder(x.layout.types)
	f.MinSequence, f.MaxSequence = heldSequence+int64(p.rows.rows), heldSequence
	for {
		rows, err := m.Next(ctx)
		if err != nil {
			return err
		}
		if rows == nil {
			break
		}
		rows = rows.Compact()
		if rows.Batch.Len == 0 {
			continue
		}
		b := rows.Batch.Clone()
		seq, kind := &vector.Vec{Kind: vector.I64, Len: b.Len, I64s: slices.Clone(rows.Seqs)}, &vector.Vec{Kind: vector.I32, Len: b.Len}
		for i := range b.Len {
			k := b.Kind(i)
			kind.I32s = append(kind.I32s, int32(k))
			if k == vector.Delete || k == vector.UpdateBefore {
				f.DeleteRowCount.V++
			}
			f.MinSequence, f.MaxSequence = min(f.MinSequence, seq.I64s[i]), max(f.MaxSequence, seq.I64s[i])
		}
		keys := pickCols(b, x.layout.keys)
		if f.RowCount == 0 {
			f.MinKey = enc.Encode(keys, 0).Clone()
		}
		f.MaxKey = enc.Encode(keys, b.Len-1).Clone()
		b.Cols, b.Kinds = append(b.Cols, seq, kind), nil
		f.RowCount += int64(b.Len)
		f.FileSize += b.Bytesize()
		r.Batches = append(r.Batches, b)
	}
	f.KeyStats = spec.Stats{Min: f.MinKey, Max: f.MaxKey, NullCounts: make([]spec.Opt[int64], len(x.layout.keys))}
	return nil
}
