package commit

import (
	"context"
	"maps"
	"slices"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// indexState is the index files of a table's state while a change is applied to
// them. In tables with buckets a bucket has one file of a type, which a new one
// replaces; deletion vectors of append tables without buckets are told by name.
type indexState struct {
	list    []spec.IndexEntry
	changed bool
}

// covering returns the data files with deletion vectors, by the index file they are in.
func (x *indexState) covering() map[string]string {
	out := map[string]string{}
	for i := range x.list {
		for _, r := range x.list[i].Ranges.V {
			out[r.DataFile] = x.list[i].FileName
		}
	}
	return out
}

// hashes returns the names of a partition's HASH files.
func (x *indexState) hashes(partition spec.BinaryRow) map[string]bool {
	out := map[string]bool{}
	for i := range x.list {
		if e := &x.list[i]; e.IndexType == spec.IndexHash && string(e.Partition) == string(partition) {
			out[e.FileName] = true
		}
	}
	return out
}

// applies reports whether a change, which removes the data files gone from the
// bucket, was computed from the state as it is.
func (x *indexState) applies(m *Message, ch *IndexChange, gone []spec.DataFileMeta) bool {
	deleted := map[string]bool{}
	for i := range ch.Deleted {
		deleted[ch.Deleted[i].FileName] = true
	}
	live := map[string]bool{}
	for i := range x.list {
		live[x.list[i].FileName] = true
	}
	for name := range deleted {
		if !live[name] {
			return false
		}
	}
	if m.TotalBuckets > 0 || len(ch.New) > 0 && ch.New[0].IndexType == spec.IndexHash {
		for i := range ch.New {
			for j := range x.list {
				if e := &x.list[j]; sameSlot(m, ch.New[i].IndexType, e) && !deleted[e.FileName] {
					return false // it replaces one that it has not seen
				}
			}
		}
	}
	covered := x.covering()
	for i := range gone {
		if in, ok := covered[gone[i].FileName]; ok && !deleted[in] {
			return false // rows were deleted from a file after it was read
		}
	}
	for i := range ch.New {
		for _, r := range ch.New[i].Ranges.V {
			if in, ok := covered[r.DataFile]; ok && !deleted[in] {
				return false
			}
		}
	}
	return true
}

func sameSlot(m *Message, kind string, e *spec.IndexEntry) bool {
	return e.IndexType == kind && e.Bucket == m.Bucket && string(e.Partition) == string(m.Partition)
}

// apply changes the state.
func (x *indexState) apply(m *Message, ch *IndexChange) {
	if ch.Empty() {
		return
	}
	x.changed = true
	deleted := map[string]bool{}
	for i := range ch.Deleted {
		deleted[ch.Deleted[i].FileName] = true
	}
	x.list = slices.DeleteFunc(slices.Clone(x.list), func(e spec.IndexEntry) bool { return deleted[e.FileName] })
	for i := range ch.New {
		x.list = append(x.list, m.indexEntry(ch.New[i]))
	}
}

// drop removes the entries of partitions.
func (x *indexState) drop(in func(spec.BinaryRow) (bool, error)) error {
	var kept []spec.IndexEntry
	for _, e := range x.list {
		ok, err := in(e.Partition)
		if err != nil {
			return err
		}
		if ok {
			x.changed = true
			continue
		}
		kept = append(kept, e)
	}
	x.list = kept
	return nil
}

// checkHashes fails when a message's keys were given buckets by an index that is
// not the partition's any more: another writer may have put the same key elsewhere.
// The index may be that before the committable, or as the messages before m leave it.
func (c *Committer) checkHashes(before, x *indexState, m *Message) error {
	if !slices.ContainsFunc(m.Index.New, func(e spec.IndexEntry) bool { return e.IndexType == spec.IndexHash }) {
		return nil
	}
	known := map[string]bool{}
	for _, n := range m.KnownHashes {
		known[n] = true
	}
	if !maps.Equal(known, x.hashes(m.Partition)) && !maps.Equal(known, before.hashes(m.Partition)) {
		return errs.New(errs.Conflict, errs.KindNone, "commit to %s: another writer has given keys of this partition to buckets since these were; write the rows again",
			c.cfg.Paths.Root())
	}
	return nil
}

// needsIndex reports whether a change has to know the index files.
func (ch *change) needsIndex(indexed bool) bool {
	if indexed || ch.overwrite != nil {
		return true
	}
	for _, m := range ch.messages {
		if !m.Index.Empty() || !m.CompactIndex.Empty() || len(m.Deleted) > 0 {
			return true
		}
	}
	return false
}

// index reads the index files of latest, if the change has to do with them.
func (c *Committer) index(ctx context.Context, ch *change, latest *spec.Snapshot) (*indexState, error) {
	if latest == nil || latest.IndexManifest == "" || !ch.needsIndex(ch.kind == spec.KindCompact) {
		return &indexState{}, nil
	}
	list, err := c.store.Index(ctx, latest)
	return &indexState{list: list}, err
}
