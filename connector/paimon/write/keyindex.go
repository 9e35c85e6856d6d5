package write

import (
	"context"

	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// keyIndex says where each key of a table lies whose primary key lacks partition
// columns (bucket mode cross-partition). It is made of the table's rows when a
// writer opens, as Java's GlobalIndexAssigner does, in memory and temporary files.
type keyIndex struct {
	places *keyStore // by the key's bytes: an index into list
	list   []keyPlace
	at     map[keyPlaceID]int32
	base   int64 // the snapshot that was read
}

type keyPlace struct {
	partition spec.BinaryRow
	bucket    int32
	keys      int64
}

type keyPlaceID struct {
	partition string
	bucket    int32
}

func (x *keyIndex) place(partition spec.BinaryRow, bucket int32) int32 {
	id := keyPlaceID{string(partition), bucket}
	at, ok := x.at[id]
	if !ok {
		at = int32(len(x.list))
		x.at[id] = at
		x.list = append(x.list, keyPlace{partition: partition.Clone(), bucket: bucket})
	}
	return at
}

// put notes where a key lies, and lay before (old, if there).
func (x *keyIndex) put(ctx context.Context, key []byte, at, old int32, there bool) error {
	if err := x.places.put(ctx, key, at); err != nil {
		return err
	}
	if there {
		x.list[old].keys--
	}
	x.list[at].keys++
	return nil
}

// keyIndex returns the index, reading the table when it is new.
func (w *Writer) keyIndex(ctx context.Context) (*keyIndex, error) {
	if w.keys != nil {
		return w.keys, nil
	}
	x := &keyIndex{places: newKeyStore(w.cfg.Budget, w.makeRoom, w.cfg.Spill), at: map[keyPlaceID]int32{}}
	snap, err := w.store.Latest(ctx)
	if err != nil {
		return nil, err
	}
	if snap != nil {
		x.base = snap.ID
		enc := spec.NewRowEncoder(spec.TypesOf(w.cfg.Schema, w.cfg.Schema.TrimmedPrimaryKeys()))
		st := read.NewState(w.source(), snap, w.cfg.Schema)
		err = st.EachBucket(ctx, w.layout.keys, w.cfg.Budget, func(partition spec.BinaryRow, bucket int32, b *vector.Batch) error {
			at := x.place(partition, bucket)
			for i := range b.Rows() {
				// A key lies in one place: nobody needs to look for another.
				if err := x.put(ctx, enc.Encode(b.Cols, b.Row(i)).Row(), at, 0, false); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			x.places.close()
			return nil, err
		}
	}
	w.keys = x
	return x, nil
}

// chooseIn picks the bucket of a key that is new in a partition: the first with
// room, or a new one.
func (x *keyIndex) chooseIn(partition spec.BinaryRow, o *options) int32 {
	for b := int32(0); ; b++ {
		at, ok := x.at[keyPlaceID{string(partition), b}]
		if !ok || x.list[at].keys < o.dynamicRows || b >= maxBuckets {
			return x.place(partition, b)
		}
	}
}

// placed is a row of a batch with the bucket that it goes to.
type placed struct {
	row    int
	bucket *bucket
	kind   vector.RowKind
	move   spec.BinaryRow // the row gets the partition of its bucket, nil: it has it
}

// placeByKey places the rows of a batch by the index of all keys. A key that
// changes its partition: under deduplicate its row is deleted in the old one, under
// partial-update and aggregation the new row goes to the old one, under first-row
// it is left out. When rows were added or changed the result is another batch.
func (w *Writer) placeByKey(ctx context.Context, b *vector.Batch) (*vector.Batch, []*bucket, error) {
	x, err := w.keyIndex(ctx)
	if err != nil {
		return nil, nil, err
	}
	part, key := pickCols(b, w.partCols), pickCols(b, w.keyCols)
	var list []placed
	plain := true
	for i := range b.Rows() {
		row := b.Row(i)
		kind := b.Kind(row)
		if skip, err := w.skips(kind); err != nil {
			return nil, nil, err
		} else if skip {
			continue
		}
		k := w.keyEnc.Encode(key, row).Row()
		p := w.partEnc.Encode(part, row)
		old, there, err := x.places.get(k)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case there && string(x.list[old].partition) == string(p):
			list = append(list, placed{row, w.bucketAt(p, x.list[old].bucket), kind, nil})
			continue
		case there && w.opts.firstRow:
			continue
		case there && w.rules.Combines():
			to := &x.list[old]
			list = append(list, placed{row, w.bucketAt(to.partition, to.bucket), kind, to.partition})
			plain = false
			continue
		case there:
			from := &x.list[old]
			list = append(list, placed{row, w.bucketAt(from.partition, from.bucket), vector.Delete, from.partition})
			plain = false
		}
		at := x.chooseIn(p, w.opts)
		if err := x.put(ctx, k, at, old, there); err != nil {
			return nil, nil, err
		}
		list = append(list, placed{row, w.bucketAt(p, x.list[at].bucket), kind, nil})
	}
	var touched []*bucket
	out := b
	if !plain {
		out = &vector.Batch{Seq: -1}
		for _, t := range w.types {
			out.Cols = append(out.Cols, t.NewVec(len(list)))
		}
	}
	for _, l := range list {
		row := l.row
		if !plain {
			var moved []*vector.Vec
			if l.move != nil {
				if moved, err = l.move.Decode(spec.TypesOf(w.cfg.Schema, w.cfg.Schema.PartitionKeys)); err != nil {
					return nil, nil, err
				}
			}
			for c, v := range out.Cols {
				if n := indexOf(w.partCols, c); moved != nil && n >= 0 {
					v.AppendFrom(moved[n], 0)
				} else {
					v.AppendFrom(b.Cols[c], l.row)
				}
			}
			out.Kinds = append(out.Kinds, l.kind)
			row = out.Len
			out.Len++
		}
		if len(l.bucket.sel) == 0 {
			touched = append(touched, l.bucket)
		}
		l.bucket.sel = append(l.bucket.sel, uint16(row))
	}
	return out, touched, nil
}

func indexOf(list []int, x int) int {
	for i, v := range list {
		if v == x {
			return i
		}
	}
	return -1
}
