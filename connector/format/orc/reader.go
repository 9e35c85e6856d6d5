package orc

import (
	"context"
	"fmt"
	"strings"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

const (
	// loadBytes is up to what size a stripe is read at once.
	loadBytes = 1 << 20
	// firstRows is how many rows the first batch of a stripe has at most, and
	// batchBytes how many bytes the others have about.
	firstRows  = 1024
	batchBytes = 8 << 20
)

// reader implements format.Reader.
type reader struct {
	of     *file
	cols   []*column // one a wanted column, nil when the file lacks it
	dup    []int     // the column that has the same vector, -1 for none
	batch  vector.Batch
	rows   int64  // most rows a batch
	skip   []bool // stripes pruned
	stripe int    // the next stripe
	open   openStripe
	loaded []byte // the bytes of the stripe, if it is small
	left   int64  // rows left in the current one
	limit  int64  // rows of the next batch
	seq    int64  // row number of the next row

	spent, paid int64 // bytes of the batch's vectors: in use, charged
	err         error
	closed      bool
}

// openStripe is the stripe being read.
type openStripe struct {
	footer    *stripeFooter
	loaded    []byte // from loadedOff on; nil: streams are read on their own
	loadedOff int64
}

// NewReader implements format.Format.
func (Format) NewReader(ctx context.Context, f fileio.File, opts format.ReadOptions) (_ format.Reader, err error) {
	var of *file
	defer func() {
		if err != nil {
			if of != nil {
				of.release()
			}
			f.Close()
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if of, err = openFile(f, opts.Path, opts.Budget, opts.Metadata); err != nil {
		return nil, corrupt(opts.Path, err)
	}
	of.instants = strings.EqualFold(opts.Properties[legacyInstants], "false")
	r := &reader{of: of, rows: int64(opts.BatchRows), batch: vector.Batch{Seq: -1}, skip: make([]bool, len(of.stripes))}
	if r.rows <= 0 || r.rows > vector.MaxBatchRows {
		r.rows = vector.BatchRows
	}
	if err := r.bind(opts); err != nil {
		return nil, corrupt(opts.Path, err)
	}
	if opts.Parts > 1 {
		r.restrict(opts.Part, opts.Parts)
	}
	if opts.Rows != nil {
		at := int64(0)
		for i := range of.stripes {
			r.skip[i] = r.skip[i] || !opts.Rows(at, at+of.stripes[i].rows)
			at += of.stripes[i].rows
		}
	}
	if opts.Filter != nil {
		if err := r.prune(opts.Filter, opts.FilterColumns); err != nil {
			return nil, corrupt(opts.Path, err)
		}
	}
	return r, nil
}

// bind joins the wanted columns to those of the file.
func (r *reader) bind(opts format.ReadOptions) error {
	for i, want := range opts.Columns {
		n, err := r.of.root.kid(want.Name)
		if err != nil {
			return err
		}
		r.dup = append(r.dup, -1)
		r.cols = append(r.cols, nil)
		r.batch.Cols = append(r.batch.Cols, nil)
		if n == nil {
			if opts.Strict {
				return fmt.Errorf("column %q is missing", want.Name)
			}
			v := want.Type.NewVec(1)
			v.AppendNull()
			r.batch.Cols[i] = v.AsConst(1)
			continue
		}
		for j, c := range r.cols[:i] {
			if c != nil && c.node == n {
				if !c.typ.Nullable().Equal(want.Type.Nullable()) {
					return fmt.Errorf("column %q is asked for as two types", want.Name)
				}
				r.dup[i] = j
			}
		}
		if r.dup[i] < 0 {
			c, err := r.newColumn(want.Name, n, want.Type)
			if err != nil {
				return err
			}
			c.top = true
			r.cols[i] = c
		}
	}
	return nil
}

// restrict leaves the stripes whose middle lies in one of equal shares of the
// file.
func (r *reader) restrict(part, parts int) {
	size := max(r.of.f.Size(), 1)
	for i, s := range r.of.stripes {
		middle := min(s.off+(s.index+s.data+s.footer)/2, size-1)
		r.skip[i] = int(float64(middle)/float64(size)*float64(parts)) != part
	}
}

// prune marks the stripes without a row that may satisfy p.
func (r *reader) prune(p *connector.Predicate, cols []format.Column) error {
	if len(r.of.stripes) < 2 { // the file's own statistics have been looked at
		return nil
	}
	nodes := make([]*node, len(cols))
	for i, c := range cols {
		n, err := r.of.root.kid(c.Name)
		if err != nil {
			return err
		}
		nodes[i] = n
	}
	stats, err := r.of.stripeStats(nodes)
	if err != nil || stats == nil {
		return err
	}
	for s := range r.of.stripes {
		rows := r.of.stripes[s].rows
		r.skip[s] = r.skip[s] || !p.MayMatch(func(i int) connector.Bounds { return stats[s][i].bounds(nodes[i], cols[i].Type, rows) })
	}
	return nil
}

// spend pays for n bytes of the current batch.
func (r *reader) spend(n int64) error {
	r.spent += n
	if r.spent <= r.paid {
		return nil
	}
	more := max(r.spent-r.paid, 64<<10)
	if err := r.of.charge(more); err != nil {
		return err
	}
	r.paid += more
	return nil
}

// Rows implements format.Reader.
func (r *reader) Rows() int64 { return r.of.rows }

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
			err = corrupt(r.of.path, err)
			r.err = err
		}
	}()
	for r.left == 0 {
		if r.stripe == len(r.of.stripes) {
			return nil, nil
		}
		s := r.of.stripes[r.stripe]
		if r.skip[r.stripe] {
			r.seq += s.rows
			r.stripe++
			continue
		}
		if err := r.start(s); err != nil {
			return nil, err
		}
		r.left, r.limit = s.rows, firstRows
		r.stripe++
	}
	n := min(r.rows, r.left, r.limit)
	r.spent = 0
	for i, c := range r.cols {
		switch {
		case c != nil:
			if err := c.read(int(n), nil); err != nil {
				return nil, err
			}
			r.batch.Cols[i] = c.vec
		case r.dup[i] >= 0:
			r.batch.Cols[i] = r.batch.Cols[r.dup[i]]
		default:
			r.batch.Cols[i].Len = int(n)
		}
	}
	r.limit = max(batchBytes/max(r.spent/n, 1), 1)
	r.batch.Len, r.batch.Seq = int(n), r.seq
	r.left -= n
	r.seq += n
	return &r.batch, nil
}

// start moves to a stripe.
func (r *reader) start(s stripe) error {
	any := false
	for _, c := range r.cols {
		any = any || c != nil
	}
	if !any { // its number of rows says it all
		return nil
	}
	r.open = openStripe{}
	if n := s.data + s.footer; n <= loadBytes {
		if int64(cap(r.loaded)) < n {
			if err := r.of.charge(n - int64(cap(r.loaded))); err != nil {
				return err
			}
			r.loaded = make([]byte, n)
		}
		r.open.loaded, r.open.loadedOff = r.loaded[:n], s.off+s.index
		if err := format.ReadFull(r.of.f, r.of.path, r.open.loaded, r.open.loadedOff); err != nil {
			return err
		}
	}
	var err error
	if r.open.footer, err = r.of.stripeFooter(s, r.open.loaded); err != nil {
		return err
	}
	if _, ok := r.open.footer.streams[streamKey{0, streamPresent}]; ok {
		return errs.Unsupportedf(-1, "ORC files with NULL rows (%s)", r.of.path)
	}
	for _, c := range r.cols {
		if c != nil {
			if err := c.start(&r.open); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close implements connector.BatchReader.
func (r *reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.of.release()
	r.cols, r.batch.Cols, r.loaded, r.open = nil, nil, nil, openStripe{}
	return r.of.f.Close()
}
