package write

import (
	"context"
	"log/slog"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// add appends the rows selected for a bucket to its buffer, making room first.
func (w *Writer) add(ctx context.Context, k *bucket, b *vector.Batch) error {
	rows := int64(len(k.sel))
	var bytes int64
	for _, v := range b.Cols {
		bytes += v.Bytesize()
	}
	estimate := bytes*rows/int64(max(b.Len, 1)) + rows*rowOverhead
	if err := w.makeRoom(ctx, estimate); err != nil {
		return err
	}
	k.need += estimate
	w.reserved += estimate
	k.buf.add(b, k.sel)
	if actual := k.buf.bytes(); actual > k.need {
		// The rows are there already: what goes beyond the estimate is taken even
		// when the budget is full, by making room.
		if err := w.cfg.Budget.Reserve(actual - k.need); err != nil {
			return w.relieve(ctx, k)
		}
		w.reserved += actual - k.need
		k.need = actual
	} else {
		w.cfg.Budget.Release(k.need - actual)
		w.reserved -= k.need - actual
		k.need = actual
	}
	for w.reserved > w.opts.buffer {
		largest := w.largest()
		if largest == nil {
			return nil
		}
		if err := w.relieve(ctx, largest); err != nil {
			return err
		}
	}
	return nil
}

// makeRoom reserves bytes, freeing the largest buffers until there is room.
func (w *Writer) makeRoom(ctx context.Context, bytes int64) error {
	for {
		err := w.cfg.Budget.Reserve(bytes)
		if err == nil {
			return nil
		}
		if k := w.largest(); k != nil {
			err = w.relieve(ctx, k)
		} else if k = w.oldestOpen(); k != nil {
			err = w.closeAppend(ctx, k)
		}
		if err != nil {
			return err
		}
	}
}

// largest returns the bucket with the largest buffer, nil when all are empty.
func (w *Writer) largest() *bucket {
	var out *bucket
	for _, k := range w.list {
		if k.buf.rows > 0 && (out == nil || k.need > out.need) {
			out = k
		}
	}
	return out
}

// flush writes a bucket's rows, those in memory and those spilled, to files.
func (w *Writer) flush(ctx context.Context, k *bucket) error {
	if k.pending() == 0 {
		return nil
	}
	group, held := int64(0), int64(0)
	var err error
	if w.opts.keyed {
		if group, held, err = w.holdGroup(ctx); err != nil {
			return err
		}
		defer func() { w.cfg.Budget.Release(held) }()
	}
	if w.opts.mode == postponeBucket {
		err = w.flushPostponed(ctx, k, group)
	} else if w.opts.keyed {
		err = w.flushKeyed(ctx, k, group)
	} else {
		err = w.flushAppend(ctx, k)
	}
	if err != nil {
		return err
	}
	k.buf = buffer{types: w.types}
	w.cfg.Budget.Release(k.need)
	w.reserved -= k.need
	k.need = 0
	w.unspill(k)
	return nil
}

// leastGroup is what a file being written must be able to buffer.
const leastGroup = 1 << 20

// holdGroup reserves what a file of a keyed table buffers, and merging into it. When
// memory is short, buffers are spilled; what stays short makes smaller row groups.
func (w *Writer) holdGroup(ctx context.Context) (group, held int64, err error) {
	for group = groupBytes; ; {
		held = group + 2*fileRows*16*int64(len(w.types))
		if err = w.cfg.Budget.Reserve(held); err == nil {
			return group, held, nil
		}
		if k := w.largest(); k != nil && w.spills(k) {
			if err = w.spill(ctx, k); err == nil {
				continue
			}
			if ctx.Err() != nil {
				return 0, 0, err
			}
			slog.Warn("rows are not spilled", "table", w.cfg.Paths.Root(), "bucket", k.bucket, "error", err)
			w.noSpill = true
			continue
		}
		if group /= 2; group < leastGroup {
			return leastGroup, 0, nil // others have all memory; this one gives some back
		}
	}
}

// flushKeyed writes the buffer as files of level 0: by key, what the merge engine
// makes of the rows of each key, deletions included. With 'changelog-producer' =
// 'input', all rows go into changelog files too.
func (w *Writer) flushKeyed(ctx context.Context, k *bucket, group int64) error {
	base := w.cfg.Layer == connector.LayerBase
	if !k.promised && !base {
		k.nextSeq = w.cfg.Registry.number(w.cfg.Paths, k)
	}
	k.promised = false
	if w.opts.producer == producerInput {
		if err := w.flushChangelog(ctx, k, group); err != nil {
			return err
		}
	}
	// Whether runs have several rows of a key, to be merged.
	repeats := !w.plain() || len(k.spill.runs) > 0 && w.whole()
	cfg := merge.Config{Rules: w.rules, Out: len(w.types), BatchRows: fileRows, KeepDeletes: true, Sequences: true, Repeats: repeats}
	for i := range w.types {
		cfg.Columns = append(cfg.Columns, i)
	}
	m, err := merge.New(cfg, w.pendingRuns(k, repeats))
	if err != nil {
		return err
	}
	defer m.Close()
	out := w.newRolling(k, w.shapes.level(0), 0, spec.SourceAppend)
	out.group = group
	for {
		rows, err := m.Next(ctx)
		if err == nil && rows != nil {
			err = out.writeRows(ctx, rows)
		}
		if err != nil {
			k.fresh = append(k.fresh, out.abort()...)
			return err
		}
		if rows == nil {
			break
		}
	}
	done, err := out.finish(ctx)
	k.fresh = append(k.fresh, done...)
	if err != nil {
		return err
	}
	k.runs += len(done)
	k.since += len(done)
	k.changed = true
	if !base {
		k.nextSeq += k.pending()
	}
	return nil
}

// pendingRuns returns a bucket's rows as sorted runs, the newest first; see
// buffer.runs.
func (w *Writer) pendingRuns(k *bucket, whole bool) []merge.Run {
	flat := w.cfg.Layer == connector.LayerBase
	return append(k.buf.runs(w.layout.keys, k.nextSeq+k.spill.rows, whole, flat), w.spilledRuns(k, k.nextSeq, flat)...)
}

// flushChangelog writes all rows of the buffer, by key and in the order in which
// they came, into changelog files.
func (w *Writer) flushChangelog(ctx context.Context, k *bucket, group int64) error {
	out := w.newRolling(k, w.shapes.changelog, 0, spec.SourceAppend)
	out.group = group
	if len(k.spill.runs) > 0 {
		err := eachByKey(ctx, w.pendingRuns(k, true), w.layout.keys, w.types, func(rows *merge.Rows) error { return out.writeRows(ctx, rows) })
		if err != nil {
			k.changelog = append(k.changelog, out.abort()...)
			return err
		}
		done, err := out.finish(ctx)
		k.changelog = append(k.changelog, done...)
		return err
	}
	order := k.buf.sorted(w.layout.keys, 0, len(k.buf.chunks), false)
	for len(order) > 0 {
		n := min(len(order), fileRows)
		b := &vector.Batch{Len: n, Seq: -1, Cols: k.buf.gather(order[:n])}
		rows := &merge.Rows{Batch: b}
		for _, e := range order[:n] {
			rows.Seqs = append(rows.Seqs, k.nextSeq+k.buf.ordinal(e))
			b.Kinds = append(b.Kinds, k.buf.kind(e))
		}
		order = order[n:]
		if err := out.writeRows(ctx, rows); err != nil {
			k.changelog = append(k.changelog, out.abort()...)
			return err
		}
	}
	done, err := out.finish(ctx)
	k.changelog = append(k.changelog, done...)
	return err
}

// writeRows writes merged rows of a keyed table.
func (r *rolling) writeRows(ctx context.Context, rows *merge.Rows) error {
	rows = rows.Compact()
	b := rows.Batch
	if b.Len == 0 {
		return nil
	}
	seq, kind := &vector.Vec{Kind: vector.I64, Len: b.Len, I64s: rows.Seqs}, &vector.Vec{Kind: vector.I32, Len: b.Len}
	r.kinds = r.kinds[:0]
	for i := range b.Len {
		r.kinds = append(r.kinds, int32(b.Kind(i)))
	}
	kind.I32s = r.kinds
	return r.write(ctx, r.shape.layout.batch(b.Len, b.Cols, seq, kind), seq, kind, 0)
}

// maxOpen is how many files of append tables are written at once; more
// partitions than that make smaller files.
const maxOpen = 16

// openAppend starts a file for a bucket of an append table. What the file buffers
// is reserved; short of budget, the oldest other file is finished.
func (w *Writer) openAppend(ctx context.Context, k *bucket) error {
	for {
		open := 0
		var oldest *bucket
		for _, o := range w.list {
			if o.open != nil {
				if open++; oldest == nil {
					oldest = o
				}
			}
		}
		if open < maxOpen {
			err := w.cfg.Budget.Reserve(appendGroupBytes)
			if err == nil {
				k.hold = appendGroupBytes
			}
			if err == nil || oldest == nil { // one file must be possible
				k.open = w.newRolling(k, w.shapes.data, 0, spec.SourceAppend)
				return nil
			}
		}
		if err := w.closeAppend(ctx, oldest); err != nil {
			return err
		}
	}
}

// flushAppend adds the buffer to the bucket's open file.
func (w *Writer) flushAppend(ctx context.Context, k *bucket) error {
	if k.open == nil {
		if err := w.openAppend(ctx, k); err != nil {
			return err
		}
	}
	return w.eachPending(ctx, k, func(b *vector.Batch) error {
		if err := k.open.write(ctx, b, nil, nil, k.nextSeq); err != nil {
			return err
		}
		k.nextSeq += int64(b.Len)
		return nil
	})
}

// oldestOpen returns the bucket whose open file is the oldest, nil for none.
func (w *Writer) oldestOpen() *bucket {
	for _, k := range w.list {
		if k.open != nil {
			return k
		}
	}
	return nil
}

func (w *Writer) closeAppend(ctx context.Context, k *bucket) error {
	if k.open == nil {
		return nil
	}
	done, err := k.open.finish(ctx)
	k.fresh = append(k.fresh, done...)
	k.open = nil
	w.cfg.Budget.Release(k.hold)
	k.hold = 0
	if w.opts.buckets < 0 {
		k.nextSeq = 0
	}
	return err
}
