package parquet

import (
	"context"
	"fmt"
	"slices"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/vector"
)

// reader implements format.Reader.
type reader struct {
	pf    *file
	cols  []column
	batch vector.Batch
	rows  int    // most rows a batch
	skip  []bool // row groups pruned
	reads *connector.Reads
	group int   // the next row group, in the order of visits
	left  int64 // rows left in the current one
	seq   int64 // row number of the next row

	// What leaves out pages; see selectRows.
	flat        bool // all columns are
	filter      *connector.Predicate
	filterCols  []format.Column
	filterNodes []*node
	wanted      func(from, to int64) bool
	ranges      []rowRange // of the current row group, still to read; nil: all of it
	base        int64      // row number of the group's first row
	current     *rowGroup
	starts      []int64 // row numbers of the groups' first rows

	late late // what leaves out more as it reads

	pick  connector.Pick // nil: all rows are wanted
	first []int          // the columns that it sees
	later []int          // the others

	err    error // an error stays
	closed bool
}

// Pick implements connector.Picking.
func (r *reader) Pick(first []int, pick connector.Pick) {
	r.pick, r.first, r.later = pick, first, nil
	for i := range r.cols {
		if !slices.Contains(first, i) {
			r.later = append(r.later, i)
		}
	}
}

// NewReader implements format.Format.
func (Format) NewReader(ctx context.Context, f fileio.File, opts format.ReadOptions) (_ format.Reader, err error) {
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	defer guard(opts.Path, &err)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pf, err := openFile(f, opts.Path, opts.Budget, opts.Metadata)
	if err != nil {
		return nil, err
	}
	pf.pages = opts.Pages
	r := &reader{pf: pf, rows: opts.BatchRows, batch: vector.Batch{Seq: -1}}
	if r.rows <= 0 || r.rows > vector.MaxBatchRows {
		r.rows = vector.BatchRows
	}
	for _, c := range opts.Columns {
		n, err := pf.field(c.Name)
		if n == nil && err == nil && opts.Strict {
			err = fmt.Errorf("column %q is missing", c.Name)
		}
		if err == nil {
			var col column
			col, err = pf.newColumn(n, c.Name, c.Type)
			r.cols = append(r.cols, col)
		}
		if err != nil {
			pf.release()
			return nil, corrupt(opts.Path, err)
		}
	}
	r.flat = true
	for _, c := range r.cols {
		switch c.(type) {
		case *flatColumn, nullColumn:
		default:
			r.flat = false
		}
	}
	r.wanted, r.reads = opts.Rows, opts.Reads
	r.batch.Cols = make([]*vector.Vec, len(r.cols))
	r.skip = make([]bool, len(pf.meta.groups))
	r.starts = make([]int64, len(pf.meta.groups))
	for g := 1; g < len(r.starts); g++ {
		r.starts[g] = r.starts[g-1] + pf.meta.groups[g-1].rows
	}
	if opts.Parts > 1 {
		r.restrict(opts.Part, opts.Parts)
	}
	if opts.Rows != nil {
		for g, at := range r.starts {
			r.skip[g] = r.skip[g] || !opts.Rows(at, at+pf.meta.groups[g].rows)
		}
	}
	if opts.Filter != nil {
		if err := r.prune(opts.Filter, opts.FilterColumns); err != nil {
			pf.release()
			return nil, corrupt(opts.Path, err)
		}
	}
	return r, nil
}

// restrict leaves the row groups whose middle lies in one of equal shares of the
// file.
func (r *reader) restrict(part, parts int) {
	size := max(r.pf.f.Size(), 1)
	for g := range r.pf.meta.groups {
		rg := &r.pf.meta.groups[g]
		middle := min(rg.start+rg.bytes/2, size-1)
		r.skip[g] = int(float64(middle)/float64(size)*float64(parts)) != part
	}
}

// prune marks the row groups without a row that may satisfy p.
func (r *reader) prune(p *connector.Predicate, cols []format.Column) error {
	nodes := make([]*node, len(cols))
	for i, c := range cols {
		n, err := r.pf.field(c.Name)
		if err != nil {
			return err
		}
		nodes[i] = n
	}
	r.filter, r.filterCols, r.filterNodes = p, cols, nodes
	for g := range r.pf.meta.groups {
		rg := &r.pf.meta.groups[g]
		r.skip[g] = r.skip[g] || !p.MayMatch(func(i int) connector.Bounds { return r.pf.bounds(rg, nodes[i], cols[i].Type) })
	}
	return nil
}

// Rows implements format.Reader.
func (r *reader) Rows() int64 { return r.pf.meta.rows }

// Next implements connector.BatchReader.
func (r *reader) Next(ctx context.Context) (_ *vector.Batch, err error) {
	if r.err != nil || r.closed {
		return nil, r.err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.err = err
		}
	}()
	defer guard(r.pf.path, &err)
	for {
		b, err := r.batchOf()
		if err != nil || b == nil {
			return nil, err
		}
		if r.pick == nil || b.Sel == nil || len(b.Sel) > 0 {
			return b, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// batchOf reads the next batch, whose selection is what was picked.
func (r *reader) batchOf() (*vector.Batch, error) {
	for {
		for r.left == 0 {
			if r.group == len(r.pf.meta.groups) {
				return nil, nil
			}
			at := r.group
			if r.late.order != nil {
				at = r.late.order[at]
			}
			r.group++
			g := &r.pf.meta.groups[at]
			if r.skip[at] || r.beyond(g) {
				continue
			}
			for _, c := range r.cols {
				if err := c.start(g); err != nil {
					return nil, corrupt(r.pf.path, err)
				}
			}
			r.current, r.left, r.base, r.seq = g, g.rows, r.starts[at], r.starts[at]
			if err := r.selectRows(g, r.base); err != nil {
				return nil, corrupt(r.pf.path, err)
			}
			if r.ranges != nil && len(r.ranges) == 0 {
				r.seq, r.left = r.base+g.rows, 0
			} else if r.reads != nil {
				r.reads.RowGroups.Add(1)
			}
		}
		if err := r.narrow(); err != nil {
			return nil, corrupt(r.pf.path, err)
		}
		if r.left > 0 {
			break
		}
	}
	if r.ranges != nil {
		if err := r.move(); err != nil {
			return nil, corrupt(r.pf.path, err)
		}
	}
	n := int(min(int64(r.rows), r.left))
	if r.ranges != nil {
		n = int(min(int64(n), r.ranges[0].to-(r.seq-r.base)))
	}
	r.batch.Len, r.batch.Seq, r.batch.Sel = n, r.seq, nil
	if r.pick == nil {
		for i := range r.cols {
			if err := r.column(i, n, nil); err != nil {
				return nil, err
			}
		}
	} else if err := r.picked(n); err != nil {
		return nil, err
	}
	r.left -= int64(n)
	r.seq += int64(n)
	if r.ranges != nil {
		r.moved(int64(n))
	}
	return &r.batch, nil
}

// column reads n rows of a column into the batch; of a selection, if there is one.
func (r *reader) column(i, n int, sel []uint16) error {
	v, err := r.cols[i].some(n, sel)
	if err == nil && v.Len != n {
		err = fmt.Errorf("%d rows where %d should be", v.Len, n)
	}
	if err != nil {
		return corrupt(r.pf.path, err)
	}
	r.batch.Cols[i] = v
	return nil
}

// picked reads n rows: the first columns, and of the others what is wanted.
func (r *reader) picked(n int) error {
	for _, i := range r.later {
		r.batch.Cols[i] = nil
	}
	for _, i := range r.first {
		if err := r.column(i, n, nil); err != nil {
			return err
		}
	}
	sel, err := r.pick(&r.batch)
	if err != nil {
		return err
	}
	for _, i := range r.later {
		if sel != nil && len(sel) == 0 {
			if err := r.cols[i].skip(n); err != nil {
				return corrupt(r.pf.path, err)
			}
			continue
		}
		if err := r.column(i, n, sel); err != nil {
			return err
		}
	}
	r.batch.Sel = sel
	return nil
}

// move brings the columns to the range at hand.
func (r *reader) move() error {
	at := r.seq - r.base
	x := r.ranges[0]
	if at > x.from {
		return nil // in the middle of it
	}
	r.left -= x.from - at
	r.seq = r.base + x.from
	for _, c := range r.cols {
		if f, ok := c.(*flatColumn); ok {
			if err := f.seek(x.from, x.to); err != nil {
				return fmt.Errorf("column %q: %w", f.node.name, err)
			}
		}
	}
	return nil
}

// moved notes that n rows of the range at hand were read.
func (r *reader) moved(n int64) {
	for _, c := range r.cols {
		if f, ok := c.(*flatColumn); ok {
			f.row += n
		}
	}
	if r.seq-r.base < r.ranges[0].to {
		return
	}
	if r.ranges = r.ranges[1:]; len(r.ranges) == 0 {
		r.seq, r.left, r.ranges = r.seq+r.left, 0, nil
	}
}

// Close implements connector.BatchReader.
func (r *reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.pf.release()
	return r.pf.f.Close()
}
