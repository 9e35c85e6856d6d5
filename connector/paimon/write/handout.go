package write

import (
	"context"
	"log/slog"
	"slices"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// PrepareCommit implements connector.TableWrite.
func (w *Writer) PrepareCommit(ctx context.Context) ([]connector.CommitMessage, error) {
	if err := w.usable(); err != nil {
		return nil, err
	}
	if err := w.refresh(ctx); err != nil {
		return nil, err
	}
	if w.cfg.Once && w.opts.keyed && w.opts.mode == fixedBuckets {
		w.turn.Done()
		w.turn = w.cfg.Registry.queue(w.cfg.Paths, w.list)
	}
	for _, k := range w.list {
		err := w.flush(ctx, k)
		if err == nil {
			err = w.closeAppend(ctx, k)
		}
		if err != nil {
			w.err = err
			return nil, err
		}
	}
	w.commits++
	all := w.opts.deltaCommits > 0 && w.commits%w.opts.deltaCommits == 0
	if w.waits() {
		for _, k := range w.list {
			if k.compact != nil { // of an earlier commit: its result does not know of these rows
				<-k.compact.done
			}
		}
	}
	for _, k := range w.list {
		if k.compact != nil && k.runs > w.opts.stop { // writing is too fast for compaction: wait
			select {
			case <-k.compact.done:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	var out []connector.CommitMessage
	for _, k := range w.list {
		if k.sent != nil {
			k.base = max(k.base, k.sent.Snapshot())
		}
		m := &commit.Message{Partition: k.partition, Bucket: k.bucket, TotalBuckets: w.opts.buckets, Base: k.base, New: k.fresh, Changelog: k.changelog, Turn: w.turn,
			Lowest: w.cfg.Layer == connector.LayerBase}
		if w.opts.mode == dynamicBuckets {
			if err := w.writeHashes(ctx, k, m); err != nil {
				w.err = err
				return nil, err
			}
		}
		if w.opts.mode == crossBuckets {
			m.Base, m.Exclusive = w.keyBase(), true
		}
		w.collect(k, m)
		if w.waits() {
			m = w.compactNow(ctx, k, m, all)
		}
		if k.compact == nil {
			k.since = len(k.fresh)
		}
		k.fresh, k.changelog = nil, nil
		if !m.Empty() {
			out = append(out, m)
			k.sent = m
		}
	}
	if w.compacts() && !w.waits() && !w.cfg.Once {
		w.startCompactions()
	}
	return out, nil
}

func (w *Writer) compacts() bool {
	return w.opts.compacts && !w.cfg.NoCompaction && w.opts.keyed && w.opts.mode != postponeBucket
}

// settling reports whether the result of a compaction is on its way to the
// table: another one would choose the same files again.
func (k *bucket) settling() bool {
	return k.sent != nil && len(k.sent.CompactBefore) > 0 && k.sent.Snapshot() == 0
}

// startCompactions starts one for each bucket with enough sorted runs that has
// none under way.
func (w *Writer) startCompactions() {
	for _, k := range w.list {
		if k.compact != nil || !w.wants(k) || k.settling() {
			continue
		}
		k.changed = false
		k.compact = &compaction{w: w, b: k, budget: w.cfg.Budget, early: w.due(k)}
		if k.compact.early {
			k.lastFull = w.cfg.Now()
		}
		k.compact.start(w.background)
	}
}

// keyBase is the snapshot up to which the index of all keys knows the table: that
// which it read, or the writer's last commit.
func (w *Writer) keyBase() int64 {
	base := int64(0)
	if w.keys != nil {
		base = w.keys.base
	}
	for _, k := range w.list {
		if k.sent != nil {
			base = max(base, k.sent.Snapshot())
		}
	}
	return base
}

// wants reports whether a compaction of a bucket may find something to do.
func (w *Writer) wants(k *bucket) bool {
	return k.changed && (w.opts.forceUp || k.runs >= w.opts.trigger || w.opts.totalSize > 0 || w.opts.increment > 0 || w.due(k))
}

// collect puts the result of a bucket's finished compaction, if any, into m.
func (w *Writer) collect(k *bucket, m *commit.Message) {
	c := k.compact
	if c == nil {
		return
	}
	select {
	case <-c.done:
	default:
		return
	}
	k.compact = nil
	if c.err != nil {
		// Rows do not depend on it. One that is unsupported will stay so.
		if errs.ClassOf(c.err) == errs.Unsupported {
			w.opts.compacts = false
		}
		c.discard(context.Background())
		slog.Warn("compaction failed", "table", w.cfg.Paths.Root(), "bucket", k.bucket, "error", c.err)
		return
	}
	k.runs = c.runs + k.since
	if c.message != nil {
		m.CompactBefore, m.CompactAfter = c.message.CompactBefore, c.message.CompactAfter
		m.CompactChangelog, m.CompactIndex = c.message.CompactChangelog, c.message.CompactIndex
	}
}

// waits reports whether PrepareCommit compacts what it commits.
func (w *Writer) waits() bool {
	return w.compacts() && (w.cfg.Synchronous || w.opts.waits)
}

// compactNow compacts a bucket with the files that m adds to it, so that m has
// the result too. When that fails the rows are committed without it.
func (w *Writer) compactNow(ctx context.Context, k *bucket, m *commit.Message, all bool) *commit.Message {
	if len(m.New) > 0 {
		k.dirty = true
	}
	full := w.opts.forceCompact || all && k.dirty
	if m.CompactBefore != nil || !full && !w.wants(k) {
		return m
	}
	k.changed = false
	if full {
		k.dirty = false
	}
	c := &compaction{w: w, b: k, budget: w.cfg.Budget, full: full, early: w.due(k), extra: k.uncommitted(m), done: make(chan struct{})}
	if c.early || full {
		k.lastFull = w.cfg.Now()
	}
	c.run(ctx)
	close(c.done)
	k.compact, k.since = c, 0
	w.collect(k, m)
	return m
}

// uncommitted returns the files of a bucket that the next commit adds: those of m,
// and of earlier messages that are not committed.
func (k *bucket) uncommitted(m *commit.Message) (out []spec.DataFileMeta) {
	k.waiting = append(slices.DeleteFunc(k.waiting, func(x *commit.Message) bool { return x.Snapshot() > 0 }), m)
	for _, x := range k.waiting {
		out = append(out, x.New...)
	}
	return out
}
