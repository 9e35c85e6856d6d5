package read

import (
	"context"
	"errors"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// planOverwritten plans the changes that an overwrite made in a table with a
// primary key, as 'streaming-read-overwrite' asks for: the rows of the files that
// it took away, as deletions, then those of the files that it added.
func (st *State) planOverwritten(ctx context.Context, req connector.ScanRequest, g *merge.Rules) (*connector.Plan, error) {
	filter := req.Filter
	if req.NoPruning {
		filter = nil
	}
	p := newPruner(st, g, filter)
	inner := *st
	inner.changes, inner.keepDeletes = nil, true // for the kinds of rows
	splits := map[string]*overwriteSplit{}
	plan := &connector.Plan{}
	for side, kind := range []spec.FileKind{spec.FileDelete, spec.FileAdd} {
		l, err := st.changed(ctx, p.partitions(), kind)
		if err != nil {
			return nil, err
		}
		buckets, err := st.byBucket(ctx, l)
		if err != nil {
			return nil, err
		}
		sc := &scan{st: &inner, live: l, req: req, rules: g, filter: filter, paths: st.src.paths(st.schema)}
		if err := sc.loadSchemas(ctx); err != nil {
			return nil, err
		}
		j := newJudge(p, sc)
		for _, b := range buckets {
			files, err := p.bucket(j, b)
			if err != nil {
				return nil, err
			}
			plan.Files += len(files)
			plan.PrunedFiles += len(b.refs) - len(files)
			if len(files) == 0 {
				continue
			}
			sections, err := sc.inKeyOrder(&bucket{partition: b.partition, id: b.id, files: l.entries(files)})
			if err != nil {
				return nil, err
			}
			key := string(b.partition) + "\x00" + string(rune(b.id))
			sp := splits[key]
			if sp == nil {
				sp = &overwriteSplit{}
				splits[key] = sp
				plan.Splits = append(plan.Splits, sp)
			}
			for _, x := range sections {
				if x.merge {
					if err := g.Refuse(req.Columns); err != nil {
						return nil, err
					}
				}
				sp.rows += x.rows
				sp.bytes += x.bytes
				plan.Bytes += x.bytes
			}
			sp.sides[side] = diffSide{sc: sc, sections: sections}
		}
	}
	return plan, nil
}

// overwriteSplit is what an overwrite took away from a bucket, and what it added.
type overwriteSplit struct {
	sides       [2]diffSide
	rows, bytes int64
}

// Rows implements connector.Split.
func (s *overwriteSplit) Rows() int64 { return s.rows }

// Bytes implements connector.Split.
func (s *overwriteSplit) Bytes() int64 { return s.bytes }

// Open implements connector.Split.
func (s *overwriteSplit) Open(ctx context.Context) (connector.BatchReader, error) {
	return &overwriteReader{sides: s.sides}, ctx.Err()
}

// overwriteReader reads one side after the other.
type overwriteReader struct {
	sides [2]diffSide
	side  int
	out   vector.Batch
	sel   []uint16
	kinds []vector.RowKind
}

// Next implements connector.BatchReader.
func (r *overwriteReader) Next(ctx context.Context) (*vector.Batch, error) {
	for ; r.side < len(r.sides); r.side++ {
		d := &r.sides[r.side]
		for {
			if d.batch != nil {
				d.i = d.batch.Rows() // all of it was handed on
			}
			if err := d.load(ctx); err != nil {
				return nil, err
			}
			if d.batch == nil {
				break
			}
			r.out = *d.batch
			r.kinds = r.kinds[:0]
			for i := range d.batch.Len {
				k := d.batch.Kind(i)
				if r.side == 0 {
					k = vector.Delete
				}
				r.kinds = append(r.kinds, k)
			}
			if r.sel == nil {
				r.sel = make([]uint16, 0, d.batch.Len) // a nil selection would mean all rows
			}
			r.sel = r.sel[:0]
			for i := range d.batch.Rows() {
				if at := d.batch.Row(i); !retracts(int32(d.batch.Kind(at))) {
					r.sel = append(r.sel, uint16(at))
				}
			}
			r.out.Kinds, r.out.Sel = r.kinds, r.sel
			if len(r.sel) > 0 {
				return &r.out, nil
			}
		}
	}
	return nil, nil
}

// Close implements connector.BatchReader.
func (r *overwriteReader) Close() error {
	r.side = len(r.sides)
	return errors.Join(r.sides[0].close(), r.sides[1].close())
}
