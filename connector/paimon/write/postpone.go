package write

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// postponeShape is how rows are written that wait for their bucket ('bucket' =
// '-2'): as they come, deletions included, without statistics, in files whose
// names tell the writer, so that each writer's rows can be put in order later.
func (w *Writer) postponeShape() *shape {
	sh := *w.shapes.level(0)
	user := w.cfg.CommitUser
	sh.prefix = w.cfg.Paths.DataFilePrefix() + "-u-" + user + "-s-0-w-"
	sh.stats = &statsMode{none: true}
	return &sh
}

// flushPostponed appends the buffer to files of the bucket that waits.
func (w *Writer) flushPostponed(ctx context.Context, k *bucket, group int64) error {
	out := w.newRolling(k, w.postponeShape(), 0, spec.SourceAppend)
	out.group = group
	err := w.eachPending(ctx, k, func(b *vector.Batch) error {
		seq, kinds := vector.New(vector.I64, b.Len), vector.New(vector.I32, b.Len)
		for i := range b.Len {
			seq.AppendI64(k.nextSeq)
			kinds.AppendI32(int32(b.Kind(i)))
			k.nextSeq++
		}
		return out.write(ctx, w.layout.batch(b.Len, b.Cols, seq, kinds), seq, kinds, 0)
	})
	if err != nil {
		k.fresh = append(k.fresh, out.abort()...)
		return err
	}
	done, err := out.finish(ctx)
	k.fresh = append(k.fresh, done...)
	return err
}

// placePostponed gives the rows that wait in the chosen partitions their buckets:
// it returns messages that take the waiting files away and add the rows to real
// buckets, all of them or none. A partition keeps the number of buckets that it
// has; a new one gets 'postpone.default-bucket-num'.
func placePostponed(ctx context.Context, cfg Config, w *Writer, o CompactOptions) (_ []connector.CommitMessage, err error) {
	snap, err := w.store.Latest(ctx)
	if err != nil || snap == nil {
		return nil, err
	}
	type waiting struct {
		partition spec.BinaryRow
		files     []spec.ManifestEntry
		total     int32
	}
	parts := map[string]*waiting{}
	var order []*waiting
	var failed error
	live, err := w.store.Live(ctx, snap, nil, func(e *spec.ManifestEntry) bool {
		if o.Partition == nil || failed != nil {
			return failed == nil
		}
		ok, err := o.Partition(e.Partition)
		failed = err
		return ok
	})
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	for _, e := range live {
		p := parts[string(e.Partition)]
		if p == nil {
			p = &waiting{partition: e.Partition}
			parts[string(e.Partition)] = p
			order = append(order, p)
		}
		if e.Bucket == spec.PostponeBucket {
			p.files = append(p.files, e)
		} else {
			p.total = e.TotalBuckets
		}
	}
	columns := make([]int, len(w.types))
	for i := range columns {
		columns[i] = i
	}
	opener, err := read.NewState(w.source(), snap, cfg.Schema).NewOpener(ctx, columns, cfg.Budget)
	if err != nil {
		return nil, err
	}
	def := spec.NewOptions(cfg.Schema.Options).Int("postpone.default-bucket-num", 1)
	var out []connector.CommitMessage
	defer func() {
		if err != nil {
			err = errors.Join(err, w.abandon(out))
			out = nil
		}
	}()
	for _, p := range order {
		if len(p.files) == 0 {
			continue
		}
		total := int64(p.total)
		if total <= 0 {
			total = max(def, 1)
		}
		// Files of one writer in the order in which it made them.
		slices.SortStableFunc(p.files, func(a, b spec.ManifestEntry) int {
			return int(a.File.CreationTime.V - b.File.CreationTime.V)
		})
		ms, err := placePartition(ctx, cfg, opener, p.files, total)
		if err != nil {
			return nil, err
		}
		m := &commit.Message{Partition: p.partition, Bucket: spec.PostponeBucket, TotalBuckets: spec.PostponeBucket, Base: snap.ID, Together: true}
		for _, e := range p.files {
			m.CompactBefore = append(m.CompactBefore, e.File)
		}
		out = append(append(out, m), ms...)
	}
	return out, nil
}

// placePartition writes rows that waited into real buckets.
func placePartition(ctx context.Context, cfg Config, opener *read.Opener, files []spec.ManifestEntry, total int64) ([]connector.CommitMessage, error) {
	s := *cfg.Schema
	s.Options = map[string]string{}
	for k, v := range cfg.Schema.Options {
		s.Options[k] = v
	}
	s.Options["bucket"] = strconv.FormatInt(total, 10)
	inner := cfg
	inner.Schema, inner.NoCompaction, inner.Synchronous = &s, true, false
	w, err := New(inner)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	for i := range files {
		if err := w.replayFile(ctx, opener, &files[i]); err != nil {
			return nil, err
		}
	}
	list, err := w.PrepareCommit(ctx)
	for _, x := range list {
		m := x.(*commit.Message)
		for i := range m.New {
			m.New[i].FileSource = spec.Some(spec.SourceCompact)
		}
		m.CompactAfter, m.New, m.Together = m.New, nil, true
		m.CompactChangelog, m.Changelog = m.Changelog, nil
	}
	return list, err
}
