package read

import (
	"context"
	"errors"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// EachBucket reads the given columns of a primary-key table's rows, bucket by
// bucket: where its keys lie. Rows that wait on level 0 to be compacted count too.
func (st *State) EachBucket(ctx context.Context, columns []int, budget *memory.Budget, fn func(partition spec.BinaryRow, bucket int32, b *vector.Batch) error) error {
	if err := st.src.refuseTable(st.schema); err != nil {
		return err
	}
	if st.snap == nil {
		return nil
	}
	g, err := merge.NewRules(st.src.Name, st.schema)
	if err != nil {
		return err
	}
	all := *g
	all.SkipLevel0 = false
	l, buckets, err := st.buckets(ctx, nil, &all)
	if err != nil {
		return err
	}
	sc := &scan{st: st, live: l, req: connector.ScanRequest{Columns: columns, Budget: budget}, rules: g, paths: st.src.paths(st.schema)}
	if sc.deletions, err = st.deletions(ctx); err != nil {
		return err
	}
	if err := sc.loadSchemas(ctx); err != nil {
		return err
	}
	for _, b := range buckets {
		sections, err := sc.sections(nil, b.refs)
		if err != nil {
			return err
		}
		for _, s := range sections {
			r, err := sc.open(ctx, s)
			if err != nil {
				return err
			}
			err = eachBatch(ctx, r, func(x *vector.Batch) error { return fn(b.partition, b.id, x) })
			if err := errors.Join(err, r.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}

func eachBatch(ctx context.Context, r connector.BatchReader, fn func(*vector.Batch) error) error {
	for {
		b, err := r.Next(ctx)
		if err != nil || b == nil {
			return err
		}
		if err := fn(b); err != nil {
			return err
		}
	}
}
