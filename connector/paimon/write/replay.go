package write

import (
	"context"
	"errors"
	"slices"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Replayable reports whether the rows of messages can be written again on another
// state of the table: they do not take rows of it away, and what became of them
// does not depend on where other keys lie.
func Replayable(list []connector.CommitMessage) bool {
	rows := false
	for _, x := range list {
		m, ok := x.(*commit.Message)
		if !ok || len(m.Deleted) > 0 || m.Exclusive || m.Lowest {
			return false
		}
		for _, e := range slices.Concat(m.Index.New, m.Index.Deleted) {
			if e.IndexType != spec.IndexHash {
				return false
			}
		}
		rows = rows || len(m.New) > 0
	}
	return rows
}

// Replay writes the rows of messages again, with the sequence numbers and buckets
// that they get on the table as it is now, and returns messages for them. It reads
// them from the messages' files, the changelog where that has all rows. The
// messages stay as they are; their compactions are not repeated.
func Replay(ctx context.Context, cfg Config, list []connector.CommitMessage) ([]connector.CommitMessage, error) {
	w, err := New(cfg)
	if err != nil {
		return nil, err
	}
	out, err := w.replay(ctx, list)
	return out, errors.Join(err, w.Close())
}

func (w *Writer) replay(ctx context.Context, list []connector.CommitMessage) ([]connector.CommitMessage, error) {
	columns := make([]int, len(w.types))
	for i := range columns {
		columns[i] = i
	}
	o, err := read.NewState(w.source(), &spec.Snapshot{}, w.cfg.Schema).NewOpener(ctx, columns, w.cfg.Budget)
	if err != nil {
		return nil, err
	}
	for _, x := range list {
		m, ok := x.(*commit.Message)
		if !ok {
			return nil, errs.Internalf("write rows of a message of type %T again", x)
		}
		files := m.New
		if len(m.Changelog) > 0 {
			files = m.Changelog
		}
		for _, f := range files {
			e := spec.ManifestEntry{Partition: m.Partition, Bucket: m.Bucket, TotalBuckets: m.TotalBuckets, File: f}
			if err := w.replayFile(ctx, o, &e); err != nil {
				return nil, err
			}
		}
	}
	return w.PrepareCommit(ctx)
}

func (w *Writer) replayFile(ctx context.Context, o *read.Opener, e *spec.ManifestEntry) error {
	open := o.OpenAppend
	if w.opts.keyed {
		open = func(ctx context.Context, e *spec.ManifestEntry) (connector.BatchReader, error) {
			return o.Open(ctx, e, nil)
		}
	}
	r, err := open(ctx, e)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		b, err := r.Next(ctx)
		if err != nil || b == nil {
			return err
		}
		out := &vector.Batch{Len: b.Len, Sel: b.Sel, Seq: -1, Cols: b.Cols[:len(w.types)]}
		if w.opts.keyed {
			kinds := b.Cols[len(w.types)+1].Flatten()
			for _, k := range kinds.I32s[:b.Len] {
				out.Kinds = append(out.Kinds, vector.RowKind(k))
			}
		}
		if err := w.take(ctx, out); err != nil {
			return err
		}
	}
}
