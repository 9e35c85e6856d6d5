package write

import (
	"context"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// run reads one sorted run: files whose key ranges ascend, each sorted, one row a
// key. It implements merge.Run.
type run struct {
	c      *compaction
	filter *connector.Predicate // rows that do not satisfy it may be left out
	files  []spec.DataFileMeta  // still to open
	file   spec.DataFileMeta    // being read
	rd     connector.BatchReader
	rows   merge.Rows
	batch  vector.Batch
	kinds  []vector.RowKind
}

func (r *run) close() {
	if r.rd != nil {
		r.rd.Close() //nolint:errcheck // nothing was written through it
		r.rd = nil
	}
}

// Next implements merge.Run.
func (r *run) Next(ctx context.Context) (*merge.Rows, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.rd == nil {
			if len(r.files) == 0 {
				return nil, nil
			}
			r.file = r.files[0]
			e := spec.ManifestEntry{Partition: r.c.b.partition, Bucket: r.c.b.bucket, File: r.file}
			var err error
			if r.rd, err = r.c.opener.Open(ctx, &e, r.filter); err != nil {
				return nil, err
			}
			r.files = r.files[1:]
		}
		b, err := r.rd.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			r.close()
			continue
		}
		n := len(b.Cols) - 2
		r.batch = vector.Batch{Len: b.Len, Sel: b.Sel, Seq: b.Seq, Cols: b.Cols[:n:n], Kinds: r.kindsOf(b.Cols[n+1])}
		r.rows = merge.Rows{Batch: &r.batch, Seqs: b.Cols[n].Flatten().I64s, Level: r.file.Level, File: r.file.FileName}
		return &r.rows, nil
	}
}

// kindsOf returns row kinds, nil when all are additions.
func (r *run) kindsOf(v *vector.Vec) []vector.RowKind {
	r.kinds = r.kinds[:0]
	p, all := v.Values().I32s, vector.Insert
	for i := range v.Len {
		k := vector.RowKind(p[v.At(i)])
		r.kinds = append(r.kinds, k)
		all |= k
	}
	if all == vector.Insert {
		return nil
	}
	return r.kinds
}
