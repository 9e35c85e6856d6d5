package read

import (
	"context"
	"errors"
	"slices"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// planDiff plans what differs between two versions, as Java's
// IncrementalDiffSplitRead has it: of each bucket, the files that both versions
// have are left out, the others are merged for each version, and the rows of the
// later one that the earlier one does not have, value by value, remain. With
// KeepDeletes the keys that only the earlier one has are deletions. Without a
// primary key the rows of the new files remain.
func (st *State) planDiff(ctx context.Context, req connector.ScanRequest, g *merge.Rules) (*connector.Plan, error) {
	filter := req.Filter
	if req.NoPruning {
		filter = nil
	}
	if filter != nil && len(st.schema.PrimaryKeys) > 0 {
		// A version's row may be left out only together with the other's.
		filter = Rewrite(filter, func(c int) int {
			if c < len(st.schema.Fields) && slices.Contains(st.schema.PrimaryKeys, st.schema.Fields[c].Name) {
				return c
			}
			return -1
		})
	}
	p := newPruner(st, g, filter)
	live, list, err := st.differing(ctx, g, p.partitions())
	if err != nil {
		return nil, err
	}
	if len(st.schema.PrimaryKeys) == 0 {
		return st.planNewFiles(ctx, req, g, p, live[1], list)
	}
	plan := &connector.Plan{}
	all := req
	all.Columns = nil
	for c, f := range st.schema.Fields {
		if err := st.src.refuseColumn(st.schema, f); err != nil {
			return nil, err
		}
		all.Columns = append(all.Columns, c)
	}
	var sides [2]*scan
	for side, snap := range []*spec.Snapshot{st.changes.before, st.snap} {
		at := *st
		at.snap, at.changes = snap, nil
		sides[side] = &scan{st: &at, live: live[side], req: all, rules: g, filter: filter, paths: st.src.paths(st.schema), ordered: true}
		if sides[side].deletions, err = at.deletions(ctx); err != nil {
			return nil, err
		}
		if err := sides[side].loadSchemas(ctx); err != nil {
			return nil, err
		}
	}
	judges := [2]*judge{newJudge(p, sides[0]), newJudge(p, sides[1])}
	for _, d := range list {
		sp := &diffSplit{st: st, req: req}
		for side, sc := range sides {
			b := d.sides[side]
			if filter != nil {
				files, refs := b.files, b.refs
				b.files = nil
				keep := p.hashes.keep(sc.live, b)
				for i, r := range refs {
					if err := judges[side].file(r); err != nil {
						return nil, err
					}
					if keep && judges[side].mayMatchKeys() {
						b.files = append(b.files, files[i])
					}
				}
				plan.PrunedFiles += len(refs) - len(b.files)
			}
			plan.Files += len(b.files)
			sections, err := sc.inKeyOrder(b)
			if err != nil {
				return nil, err
			}
			for _, x := range sections {
				if x.merge {
					if err := g.Refuse(all.Columns); err != nil {
						return nil, err
					}
				}
				sp.rows += x.rows
				sp.bytes += x.bytes
			}
			sp.sides[side] = diffSide{sc: sc, sections: sections}
		}
		if len(sp.sides[0].sections)+len(sp.sides[1].sections) > 0 {
			plan.Splits = append(plan.Splits, sp)
			plan.Bytes += sp.bytes
		}
	}
	return plan, nil
}

// inKeyOrder cuts the files of a bucket into sections whose keys ascend.
func (sc *scan) inKeyOrder(b *bucket) (out []*section, err error) {
	parts, err := Sections(b.files, spec.TypesOf(sc.st.schema, sc.st.schema.TrimmedPrimaryKeys()))
	if err != nil {
		return nil, sc.st.src.vanished(sc.st.snap, "manifest", err)
	}
	for _, runs := range parts {
		s := newSection(runs)
		s.deletes = s.deletes || sc.st.keepDeletes
		out = append(out, s)
	}
	return out, nil
}

// planNewFiles plans reading the files that only the later version of an append
// table has.
func (st *State) planNewFiles(ctx context.Context, req connector.ScanRequest, g *merge.Rules, p *pruner, l *liveFiles, list []*diffBucket) (*connector.Plan, error) {
	sc := &scan{st: st, live: l, req: req, rules: g, filter: p.filter, paths: st.src.paths(st.schema)}
	var err error
	if sc.deletions, err = st.deletions(ctx); err != nil {
		return nil, err
	}
	if err := sc.loadSchemas(ctx); err != nil {
		return nil, err
	}
	plan := &connector.Plan{}
	var sections []*section
	j := newJudge(p, sc)
	for _, d := range list {
		b := d.sides[1]
		if len(b.refs) == 0 {
			continue
		}
		files, err := p.bucket(j, b)
		if err != nil {
			return nil, err
		}
		plan.Files += len(files)
		plan.PrunedFiles += len(b.refs) - len(files)
		if sections, err = sc.sections(sections, files); err != nil {
			return nil, err
		}
	}
	if plan.Splits, plan.Bytes, err = sc.splits(sections); err != nil {
		return nil, err
	}
	return plan, nil
}

// diffSplit is a bucket of two versions. Its sides have all columns of the table,
// keys ascending.
type diffSplit struct {
	st    *State
	req   connector.ScanRequest
	sides [2]diffSide
	rows  int64
	bytes int64
}

// Rows implements connector.Split.
func (s *diffSplit) Rows() int64 { return s.rows }

// Bytes implements connector.Split.
func (s *diffSplit) Bytes() int64 { return s.bytes }

// Open implements connector.Split.
func (s *diffSplit) Open(ctx context.Context) (connector.BatchReader, error) {
	r := &diffReader{st: s.st, req: s.req, sides: s.sides, rows: s.req.BatchRows}
	if r.rows <= 0 || r.rows > vector.MaxBatchRows {
		r.rows = vector.BatchRows
	}
	r.keys = s.st.schema.Columns(s.st.schema.TrimmedPrimaryKeys())
	for _, c := range s.req.Columns {
		r.out.Cols = append(r.out.Cols, s.st.schema.Fields[c].Type.NewVec(0))
	}
	held := int64(r.rows) * 16 * int64(len(r.out.Cols))
	if err := s.req.Budget.Reserve(held); err != nil {
		return nil, err
	}
	r.held = held
	return r, ctx.Err()
}

// diffSide walks the merged rows of a bucket of one version.
type diffSide struct {
	sc       *scan
	sections []*section
	next     int
	cur      connector.BatchReader
	batch    *vector.Batch // nil: at the end
	i        int           // of batch.Rows()
}

// load makes sure that there is a row, unless the side is at its end.
func (d *diffSide) load(ctx context.Context) error {
	for d.batch == nil || d.i == d.batch.Rows() {
		d.batch, d.i = nil, 0
		if d.cur == nil {
			if d.next == len(d.sections) {
				return nil
			}
			r, err := d.sc.open(ctx, d.sections[d.next])
			if err != nil {
				return err
			}
			d.cur = r
			d.next++
		}
		b, err := d.cur.Next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			if err := d.close(); err != nil {
				return err
			}
			continue
		}
		d.batch = b
	}
	return nil
}

func (d *diffSide) row() int { return d.batch.Row(d.i) }

func (d *diffSide) close() error {
	if d.cur == nil {
		return nil
	}
	err := d.cur.Close()
	d.cur, d.batch = nil, nil
	return err
}

// diffReader compares two versions of a bucket key by key.
type diffReader struct {
	st    *State
	req   connector.ScanRequest
	sides [2]diffSide
	keys  []int
	rows  int
	out   vector.Batch
	held  int64
	err   error
}

// Next implements connector.BatchReader.
func (r *diffReader) Next(ctx context.Context) (*vector.Batch, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.err = ctx.Err(); r.err == nil {
		r.err = r.fill(ctx)
	}
	if r.err != nil || r.out.Len == 0 {
		return nil, r.err
	}
	return &r.out, nil
}

func (r *diffReader) fill(ctx context.Context) error {
	r.out.Len, r.out.Seq, r.out.Kinds = 0, -1, r.out.Kinds[:0]
	for _, v := range r.out.Cols {
		v.Reset()
	}
	before, after := &r.sides[0], &r.sides[1]
	for r.out.Len < r.rows {
		for side := range r.sides {
			if err := r.sides[side].load(ctx); err != nil {
				return err
			}
		}
		c := 0
		switch {
		case before.batch == nil && after.batch == nil:
			return nil
		case before.batch == nil:
			c = 1
		case after.batch == nil:
			c = -1
		default:
			c = r.compare(before.batch, before.row(), after.batch, after.row())
		}
		switch {
		case c < 0:
			if r.st.keepDeletes && !retracts(int32(before.batch.Kind(before.row()))) {
				r.emit(before, vector.Delete)
			}
			before.i++
		case c > 0:
			r.emit(after, after.batch.Kind(after.row()))
			after.i++
		default:
			b, a := before.row(), after.row()
			kind := after.batch.Kind(a)
			if retracts(int32(before.batch.Kind(b))) != retracts(int32(kind)) || !same(before.batch, b, after.batch, a) {
				r.emit(after, kind)
			}
			before.i++
			after.i++
		}
	}
	return nil
}

// compare compares two rows by the key.
func (r *diffReader) compare(a *vector.Batch, i int, b *vector.Batch, j int) int {
	for _, c := range r.keys {
		if x := vector.Compare(a.Cols[c], i, b.Cols[c], j); x != 0 {
			return x
		}
	}
	return 0
}

// same reports whether two rows have the same values.
func same(a *vector.Batch, i int, b *vector.Batch, j int) bool {
	for c := range a.Cols {
		if !sameIn(a.Cols[c], i, b.Cols[c], j) {
			return false
		}
	}
	return true
}

// sameIn reports whether two values are the same. The order of a map's entries
// does not matter: merging does not keep it.
func sameIn(a *vector.Vec, i int, b *vector.Vec, j int) bool {
	if a.IsNull(i) || b.IsNull(j) {
		return a.IsNull(i) && b.IsNull(j)
	}
	i, j = a.At(i), b.At(j)
	a, b = a.Values(), b.Values()
	switch a.Kind {
	case vector.List, vector.Map:
		from, to := int(a.Offset[i]), int(b.Offset[j])
		n := int(a.Offset[i+1]) - from
		if n != int(b.Offset[j+1])-to {
			return false
		}
		for k := range n {
			at := to + k
			if a.Kind == vector.Map {
				for at = to; at < to+n && !sameIn(a.Child[0], from+k, b.Child[0], at); at++ {
				}
				if at == to+n {
					return false
				}
			}
			for c := range a.Child {
				if !sameIn(a.Child[c], from+k, b.Child[c], at) {
					return false
				}
			}
		}
		return true
	case vector.Struct:
		for c := range a.Child {
			if !sameIn(a.Child[c], i, b.Child[c], j) {
				return false
			}
		}
		return true
	}
	return vector.Compare(a, i, b, j) == 0
}

func (r *diffReader) emit(d *diffSide, kind vector.RowKind) {
	for i, c := range r.req.Columns {
		r.out.Cols[i].AppendFrom(d.batch.Cols[c], d.row())
	}
	if r.st.keepDeletes {
		r.out.Kinds = append(r.out.Kinds, kind)
	}
	r.out.Len++
}

// Close implements connector.BatchReader.
func (r *diffReader) Close() error {
	r.req.Budget.Release(r.held)
	r.held = 0
	if r.err == nil {
		r.err = errs.Internalf("read a closed reader")
	}
	return errors.Join(r.sides[0].close(), r.sides[1].close())
}
