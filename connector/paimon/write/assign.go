package write

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// hashIndex gives the keys of one partition their buckets (bucket mode dynamic):
// by the HASH index files of its buckets, each the big-endian hashes of the
// bucket's keys. Keys that are not there go to the first bucket with room, or to a
// new one (Java's HashBucketAssigner).
type hashIndex struct {
	partition spec.BinaryRow
	keys      hashTable // those that were only deleted so far are in no index file
	buckets   map[int32]*hashBucket
	order     []int32 // the buckets, ascending
	size      int64   // bytes reserved
	free      int64   // of them, not used
}

// hashBucket is the index of one bucket.
type hashBucket struct {
	keys  int64 // given to the bucket
	dirty bool  // its index file lacks some
	file  *spec.IndexEntry
}

// hashCost is what a key in a hashIndex takes, about.
const hashCost = 8

// holdHashes reserves what n more keys of an index take.
func (w *Writer) holdHashes(ctx context.Context, x *hashIndex, n int64) error {
	if x.free >= n*hashCost {
		x.free -= n * hashCost
		return nil
	}
	need := max(n*hashCost, 64<<10)
	if err := w.makeRoom(ctx, need); err != nil {
		return err
	}
	x.size += need
	x.free += need - n*hashCost
	return nil
}

// hashIndexOf returns the index of a partition, reading it when it is new.
func (w *Writer) hashIndexOf(ctx context.Context, partition spec.BinaryRow) (*hashIndex, error) {
	if x := w.hashes[string(partition)]; x != nil {
		return x, nil
	}
	snap, err := w.store.Latest(ctx)
	if err != nil {
		return nil, err
	}
	list, err := w.store.Index(ctx, snap)
	if err != nil {
		return nil, err
	}
	x := &hashIndex{partition: partition.Clone(), keys: newHashTable(), buckets: map[int32]*hashBucket{}}
	for i := range list {
		e := &list[i]
		if w.cfg.Overwrite || e.IndexType != spec.IndexHash || string(e.Partition) != string(partition) {
			continue
		}
		path, err := w.cfg.Paths.IndexFile(e)
		if err != nil {
			return nil, err
		}
		b, err := w.cfg.Files.ReadFile(ctx, path)
		if err != nil {
			return nil, err
		}
		if len(b)%4 != 0 {
			return nil, errs.Corruptf("read %s: its %d bytes are no hashes", path, len(b))
		}
		if e.Bucket < 0 || e.Bucket >= maxBuckets {
			w.cfg.Budget.Release(x.size)
			return nil, errs.Corruptf("read %s: it is of the bucket %d", path, e.Bucket)
		}
		if err := w.holdHashes(ctx, x, int64(len(b)/4)); err != nil {
			w.cfg.Budget.Release(x.size)
			return nil, err
		}
		k := x.add(e.Bucket)
		k.file, k.keys = e, int64(len(b)/4)
		for ; len(b) > 0; b = b[4:] {
			x.keys.put(int32(binary.BigEndian.Uint32(b)), hashPlace(e.Bucket))
		}
	}
	w.hashes[string(partition)] = x
	return x, nil
}

// add makes a bucket.
func (x *hashIndex) add(bucket int32) *hashBucket {
	k := &hashBucket{}
	x.buckets[bucket] = k
	at, _ := slices.BinarySearch(x.order, bucket)
	x.order = slices.Insert(x.order, at, bucket)
	return k
}

// maxBuckets bounds the buckets of a partition, as Java does.
const maxBuckets = 32766

// assign returns the bucket of a key by its hash. Rows that delete do not put
// their key into the index, as in Java.
func (w *Writer) assign(ctx context.Context, x *hashIndex, hash int32, kind vector.RowKind) (int32, error) {
	place, ok := x.keys.get(hash)
	if ok && (place&hashPending == 0 || retract(kind)) {
		return place.bucket(), nil
	}
	bucket := place.bucket()
	if !ok {
		if err := w.holdHashes(ctx, x, 1); err != nil {
			return 0, err
		}
		bucket = x.choose(hash, w.opts)
		x.buckets[bucket].keys++
	}
	place = hashPlace(bucket)
	if retract(kind) {
		place |= hashPending
	} else {
		x.buckets[bucket].dirty = true
	}
	x.keys.put(hash, place)
	return bucket, nil
}

// choose picks the bucket of a new key. With 'dynamic-bucket.initial-buckets' of
// n, keys are spread over n groups of buckets, those of one remainder by n.
func (x *hashIndex) choose(hash int32, o *options) int32 {
	n := int32(o.dynamicInitial)
	group := hash % n
	if group < 0 {
		group = -group
	}
	best := int32(-1)
	for _, b := range x.order {
		if b%n != group {
			continue
		}
		k := x.buckets[b]
		if k.keys < o.dynamicRows {
			return b
		}
		if best < 0 || k.keys < x.buckets[best].keys {
			best = b
		}
	}
	if o.dynamicMax < 0 || len(x.order) < o.dynamicMax || best < 0 {
		for b := group; b < maxBuckets; b += n {
			if x.buckets[b] == nil {
				x.add(b)
				return b
			}
		}
	}
	return best
}

// names returns the names of the partition's index files.
func (x *hashIndex) names() []string {
	var out []string
	for _, b := range x.order {
		if f := x.buckets[b].file; f != nil {
			out = append(out, f.FileName)
		}
	}
	return out
}

// writeHashes writes the index file of a bucket that has new keys and puts it into
// its message.
func (w *Writer) writeHashes(ctx context.Context, k *bucket, m *commit.Message) error {
	x := w.hashes[string(k.partition)]
	if x == nil || x.buckets[k.bucket] == nil || !x.buckets[k.bucket].dirty {
		return nil
	}
	h := x.buckets[k.bucket]
	need := 4 * h.keys
	if err := w.makeRoom(ctx, need); err != nil {
		return err
	}
	defer w.cfg.Budget.Release(need)
	b := make([]byte, 0, need)
	x.keys.each(func(hash int32, p hashPlace) {
		if p == hashPlace(k.bucket) {
			b = binary.BigEndian.AppendUint32(b, uint32(hash))
		}
	})
	e := spec.IndexEntry{Partition: k.partition, Bucket: k.bucket, IndexType: spec.IndexHash, FileName: spec.NewNamer().Index(),
		FileSize: int64(len(b)), RowCount: int64(len(b) / 4)}
	if err := w.writeIndex(ctx, &e, b); err != nil {
		return err
	}
	m.KnownHashes = x.names()
	m.Index.New = []spec.IndexEntry{e}
	if h.file != nil {
		m.Index.Deleted = []spec.IndexEntry{*h.file}
	}
	h.file, h.dirty = &e, false
	return nil
}
