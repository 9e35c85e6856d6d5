package write

import (
	"context"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// take places the rows of a complete batch and buffers them.
func (w *Writer) take(ctx context.Context, b *vector.Batch) error {
	b, touched, err := w.route(ctx, b)
	defer func() {
		for _, k := range touched {
			k.sel = k.sel[:0]
		}
	}()
	if err == nil {
		err = w.openAll(ctx, touched)
	}
	if err != nil {
		if w.opts.mode == crossBuckets || w.opts.mode == dynamicBuckets {
			w.err = err // keys were given places
		}
		return err // nothing of the batch was taken
	}
	for _, k := range touched {
		if err := w.add(ctx, k, b); err != nil {
			w.err = err // a part of the batch was taken
			return err
		}
		if w.hold != nil {
			w.keep(k, b)
		}
	}
	return nil
}

// skips reports whether a row of the kind is left out.
func (w *Writer) skips(kind vector.RowKind) (bool, error) {
	if !retract(kind) {
		return false, nil
	}
	if w.opts.ignoreDelete || w.opts.ignoreUpdateBefore && kind == vector.UpdateBefore {
		return true, nil
	}
	if !w.opts.keyed {
		return false, errs.Userf(errs.WrongArguments, "write to %s: an append table (without a primary key) cannot take a %s row; set 'ignore-delete' to leave such rows out",
			w.cfg.Paths.Root(), vector.RowKindString(kind))
	}
	return false, nil
}

// route sends each row of b to its bucket: it fills bucket.sel and returns the
// buckets that got rows. The batch that it returns, which sel refers to, is b
// unless rows had to be added.
func (w *Writer) route(ctx context.Context, b *vector.Batch) (*vector.Batch, []*bucket, error) {
	if w.opts.mode == crossBuckets {
		out, touched, err := w.placeByKey(ctx, b)
		if out == nil {
			out = b
		}
		return out, touched, err
	}
	var touched []*bucket
	part, key := pickCols(b, w.partCols), pickCols(b, w.keyCols)
	var only *bucket // where all rows go
	fixed := w.fixedBucket()
	if len(part) == 0 && fixed != nil && b.Rows() > 0 {
		only = w.bucketAt(spec.EmptyRow, *fixed)
	}
	for i := range b.Rows() {
		row := b.Row(i)
		kind := b.Kind(row)
		if skip, err := w.skips(kind); err != nil {
			return b, touched, err
		} else if skip {
			continue
		}
		k := only
		if k == nil {
			p := spec.EmptyRow
			if len(part) > 0 {
				p = w.partEnc.Encode(part, row)
			}
			var number int32
			switch {
			case fixed != nil:
				number = *fixed
			case w.opts.mode == dynamicBuckets:
				x, err := w.hashIndexOf(ctx, p)
				if err == nil {
					number, err = w.assign(ctx, x, spec.Hash(w.keyEnc.Encode(key, row).Row()), kind)
				}
				if err != nil {
					return b, touched, err
				}
			default:
				number = spec.Bucket(w.keyEnc.Encode(key, row), w.opts.buckets)
			}
			k = w.bucketAt(p, number)
		}
		if len(k.sel) == 0 {
			touched = append(touched, k)
		}
		k.sel = append(k.sel, uint16(row))
	}
	return b, touched, nil
}

// fixedBucket returns the bucket that all rows of a partition go to, nil when
// that depends on the row.
func (w *Writer) fixedBucket() *int32 {
	n := int32(spec.UnawareBucket)
	switch {
	case w.opts.mode == postponeBucket:
		n = spec.PostponeBucket
	case w.opts.mode == unawareBuckets, w.opts.buckets == 1:
	default:
		return nil
	}
	return &n
}

// refresh forgets what the writer knows of buckets whose rows were committed by
// other messages than it made.
func (w *Writer) refresh(ctx context.Context) error {
	var again []*bucket
	for _, k := range w.list {
		if k.sent == nil || !k.sent.Replaced() {
			continue
		}
		if k.pending() > 0 && (w.opts.mode == dynamicBuckets || w.opts.mode == crossBuckets) {
			w.err = errs.New(errs.Conflict, errs.KindNone, "write to %s: another writer gave keys their places while these rows were placed; write them again", w.cfg.Paths.Root())
			return w.err
		}
		k.base = max(k.base, k.sent.Snapshot())
		k.sent, k.nextSeq = nil, -1
		again = append(again, k)
		if x := w.hashes[string(k.partition)]; x != nil {
			w.cfg.Budget.Release(x.size)
			delete(w.hashes, string(k.partition))
		}
		if w.keys != nil {
			w.keys.places.close()
			w.keys = nil
		}
	}
	return w.openAll(ctx, again)
}
