package avro

import (
	"context"
	"fmt"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/vector"
)

// batchBytes is when a batch ends before it has all the rows it may have.
const batchBytes = 8 << 20

// reader implements format.Reader.
type reader struct {
	c      *container
	cols   []*vector.Vec // one a wanted column; equal ones share
	fields []*plan       // one a field of the file's record
	dst    []*vector.Vec // the vector of each field, nil to skip it
	wanted []*vector.Vec // those of dst that are not nil
	absent []*vector.Vec // Const NULL
	width  int64         // bytes of a row
	rows   int64         // most rows a batch
	batch  vector.Batch

	blocks []block // left to read
	cur    cursor  // in the current block
	left   int64   // rows left in it
	seq    int64   // position of the next row
	first  int64   // position of the first row of blocks[0]

	spent, paid int64 // bytes of the batch's vectors: in use, charged
	err         error
	closed      bool
}

// NewReader implements format.Format.
func (Format) NewReader(ctx context.Context, f fileio.File, opts format.ReadOptions) (_ format.Reader, err error) {
	var c *container
	defer func() {
		if err != nil {
			if c != nil {
				c.release()
			}
			f.Close()
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c, err = openContainer(ctx, f, opts.Path, opts.Budget); err != nil {
		return nil, corrupt(opts.Path, err)
	}
	r := &reader{c: c, rows: int64(opts.BatchRows), batch: vector.Batch{Seq: -1}}
	if r.rows <= 0 || r.rows > vector.MaxBatchRows {
		r.rows = vector.BatchRows
	}
	if err := r.bind(opts); err != nil {
		return nil, corrupt(opts.Path, err)
	}
	r.restrict(opts.Part, opts.Parts)
	return r, nil
}

// bind joins the wanted columns to the fields of the file.
func (r *reader) bind(opts format.ReadOptions) error {
	root := r.c.root
	at := make(map[string]int, len(root.fields))
	for i, f := range root.fields {
		at[f.name] = i
		r.fields = append(r.fields, &plan{op: opSkip, node: f.node})
	}
	r.dst = make([]*vector.Vec, len(root.fields))
	by := make([]int, len(root.fields)) // the column that took a field
	for i, c := range opts.Columns {
		f, ok := at[c.Name]
		switch {
		case !ok && opts.Strict:
			return fmt.Errorf("column %q is missing", c.Name)
		case !ok:
			v := c.Type.NewVec(1)
			v.AppendNull()
			r.absent = append(r.absent, v.AsConst(1))
			r.cols = append(r.cols, v)
		case r.dst[f] != nil:
			if !opts.Columns[by[f]].Type.Nullable().Equal(c.Type.Nullable()) {
				return fmt.Errorf("column %q is asked for as two types", c.Name)
			}
			r.cols = append(r.cols, r.dst[f])
		default:
			p, err := newPlan(opts.Path, c.Name, root.fields[f].node, c.Type)
			if err != nil {
				return err
			}
			r.fields[f], r.dst[f], by[f] = p, c.Type.NewVec(0), i
			r.width += p.width
			r.cols = append(r.cols, r.dst[f])
			r.wanted = append(r.wanted, r.dst[f])
		}
	}
	r.cur.spend = r.spend
	return nil
}

// restrict leaves the blocks whose middle lies in one of equal shares of the
// file. They are contiguous.
func (r *reader) restrict(part, parts int) {
	r.blocks = r.c.blocks
	if parts <= 1 {
		return
	}
	size := float64(max(r.c.f.Size(), 1))
	share := func(b block) int {
		return min(int(float64(b.off+b.size/2)/size*float64(parts)), parts-1)
	}
	for len(r.blocks) > 0 && share(r.blocks[0]) < part {
		r.first += r.blocks[0].rows
		r.blocks = r.blocks[1:]
	}
	for len(r.blocks) > 0 && share(r.blocks[len(r.blocks)-1]) > part {
		r.blocks = r.blocks[:len(r.blocks)-1]
	}
	r.seq = r.first
}

// spend pays for n bytes of the current batch.
func (r *reader) spend(n int64) error {
	r.spent += n
	if r.spent <= r.paid {
		return nil
	}
	more := max(r.spent-r.paid, 64<<10)
	if err := r.c.charge(more); err != nil {
		return err
	}
	r.paid += more
	return nil
}

// Rows implements format.Reader.
func (r *reader) Rows() int64 { return r.c.rows }

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
			err = corrupt(r.c.path, err)
			r.err = err
		}
	}()
	for _, v := range r.wanted {
		v.Reset()
	}
	r.spent = 0
	n := int64(0)
	for n < r.rows && r.spent < batchBytes {
		if r.left == 0 {
			if r.cur.at != len(r.cur.b) {
				return nil, fmt.Errorf("a block has %d bytes after its last record", len(r.cur.b)-r.cur.at)
			}
			if len(r.blocks) == 0 {
				break
			}
			b := r.blocks[0]
			if len(r.wanted) == 0 { // the counts say it all
				r.left, r.blocks = b.rows, r.blocks[1:]
				continue
			}
			if r.cur.b, err = r.c.read(b); err != nil {
				return nil, err
			}
			r.cur.at, r.left, r.blocks = 0, b.rows, r.blocks[1:]
		}
		if len(r.wanted) == 0 {
			k := min(r.left, r.rows-n)
			r.left, n = r.left-k, n+k
			continue
		}
		for ; r.left > 0 && n < r.rows && r.spent < batchBytes; n++ {
			if err := r.record(); err != nil {
				return nil, err
			}
			r.left--
		}
	}
	if n == 0 {
		return nil, nil
	}
	for _, v := range r.absent {
		v.Len = int(n)
	}
	r.batch.Len, r.batch.Seq, r.batch.Cols = int(n), r.seq, r.cols
	r.seq += n
	return &r.batch, nil
}

// record reads the next record.
func (r *reader) record() error {
	c := &r.cur
	c.pay(r.width)
	if r.c.union >= 0 && c.branch(int64(r.c.unions), int64(1-r.c.union)) {
		c.fail("a record before byte %d is null", c.at)
	}
	for i, p := range r.fields {
		if v := r.dst[i]; v != nil {
			c.read(p, v)
		} else {
			c.skip(p.node)
		}
	}
	return c.err
}

// Close implements connector.BatchReader.
func (r *reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.c.release()
	r.batch.Cols, r.cols, r.dst = nil, nil, nil
	return r.c.f.Close()
}
