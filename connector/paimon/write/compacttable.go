package write

import (
	"context"
	"errors"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// CompactOptions say what Compact does.
type CompactOptions struct {
	// Full compacts everything; otherwise what the table's triggers ask for.
	Full bool
	// Partition chooses partitions; nil chooses all.
	Partition func(spec.BinaryRow) (bool, error)
	// Bucket chooses one bucket, with HasBucket.
	Bucket    int32
	HasBucket bool
	// Place chooses partitions and buckets; nil chooses all.
	Place func(partition spec.BinaryRow, bucket int32) (bool, error)
	// Limit is how many buckets are compacted at most; 0 is no limit. Others are
	// left for another call.
	Limit int
}

// Compact compacts a table apart from any writer and returns what must be
// committed. A bucket that another compaction of this process is at is left out.
// It works whatever write-only says. What it cannot do is an error; on one,
// nothing is left behind.
func Compact(ctx context.Context, cfg Config, o CompactOptions) ([]connector.CommitMessage, error) {
	if copying(cfg.Schema) {
		return nil, errs.Userf(errs.InvalidTable, "compact %s: a pipeline is copying it (%s); it can be compacted when the copy is complete", cfg.Paths.Root(), connector.CopyingOption)
	}
	w, err := New(cfg)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if !w.opts.keyed {
		return w.compactAppend(ctx, o)
	}
	if w.opts.mode == postponeBucket && !o.HasBucket && o.Place == nil {
		if out, err := placePostponed(ctx, cfg, w, o); err != nil || len(out) > 0 {
			return out, err // what they are now is compacted by another call
		}
	}
	snap, err := w.store.Latest(ctx)
	if err != nil || snap == nil {
		return nil, err
	}
	places, err := w.places(ctx, snap, o)
	if err != nil {
		return nil, err
	}
	var out []connector.CommitMessage
	for _, k := range places {
		if k.bucket == spec.PostponeBucket {
			continue
		}
		c := &compaction{w: w, b: k, budget: cfg.Budget, full: o.Full, early: !o.Full && w.due(k)}
		c.run(ctx)
		if c.err != nil {
			return nil, errors.Join(c.err, w.abandon(out))
		}
		if c.message != nil {
			c.message.TotalBuckets = k.total
			out = append(out, c.message)
			if len(out) == o.Limit {
				break
			}
		}
	}
	return out, nil
}

// copying reports whether rows of connector.LayerBase are still to come.
func copying(s *catalog.Schema) bool { return s.Options[connector.CopyingOption] == "true" }

// places returns the chosen buckets of a snapshot, in the order of their first
// files.
func (w *Writer) places(ctx context.Context, snap *spec.Snapshot, o CompactOptions) ([]*bucket, error) {
	var out []*bucket
	var failed error
	_, err := w.store.Live(ctx, snap, nil, func(e *spec.ManifestEntry) bool {
		if o.HasBucket && e.Bucket != o.Bucket || failed != nil {
			return false
		}
		if o.Partition != nil {
			ok, err := o.Partition(e.Partition)
			if err != nil || !ok {
				failed = err
				return false
			}
		}
		if o.Place != nil {
			ok, err := o.Place(e.Partition, e.Bucket)
			if err != nil || !ok {
				failed = err
				return false
			}
		}
		k := w.bucketAt(e.Partition, e.Bucket)
		if k.total == 0 {
			k.total = e.TotalBuckets
			out = append(out, k)
		}
		return true
	})
	return out, errors.Join(err, failed)
}

// abandon removes what messages that will not be committed have written.
func (w *Writer) abandon(list []connector.CommitMessage) error {
	ctx := context.Background()
	var all error
	for _, x := range list {
		m := x.(*commit.Message)
		k := &bucket{partition: m.Partition, bucket: m.Bucket}
		before := map[string]bool{}
		for _, f := range m.CompactBefore {
			before[f.FileName] = true
		}
		for _, f := range m.CompactAfter {
			if !before[f.FileName] {
				all = errors.Join(all, w.remove(ctx, k, []spec.DataFileMeta{f}))
			}
		}
		all = errors.Join(all, w.remove(ctx, k, m.CompactChangelog), w.removeIndexes(ctx, m.CompactIndex.New))
	}
	return all
}

// WaitsForCompaction reports whether new rows of the table stay invisible, or
// their changes unknown, until they are compacted, and writers do that themselves.
func WaitsForCompaction(s *catalog.Schema) bool {
	o, err := readOptions(s)
	return err == nil && o.needsLookup && o.waits
}
