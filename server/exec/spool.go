package exec

import (
	"context"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/server/exec/spill"
)

// spool keeps rows in the order in which they were added, to be read any number of
// times: in memory as long as the operator may hold them, then on disk. It belongs
// to one goroutine until end; after that, readers are independent.
type spool struct {
	op   *grower
	n    int64
	rows rowStore // those that are in memory, after those in the file
	acct account
	w    *spill.Writer
	file *spill.File
}

func newSpool(op *grower) *spool { return &spool{op: op, acct: op.account()} }

// add adds the rows of cols at sel, or the first n.
func (s *spool) add(ctx context.Context, cols []*vector.Vec, sel []uint16, n int) error {
	s.rows.add(cols, sel, n)
	s.n += int64(n)
	full, err := s.op.hold(&s.acct, s.rows.bytes())
	if err != nil || !full {
		return err
	}
	return s.write(ctx)
}

func (s *spool) write(ctx context.Context) (err error) {
	if s.w == nil {
		if s.w, err = s.op.create(ctx); err != nil {
			return err
		}
	}
	err = writeRows(ctx, s.w, spill.Key{}, s.rows.cols, s.rows.n)
	s.rows = rowStore{}
	s.acct.free()
	return err
}

// end ends adding.
func (s *spool) end() (err error) {
	if s.w != nil {
		if s.file, err = s.w.Finish(); err == nil {
			s.op.spilled.Add(s.file.Size())
		}
	}
	return err
}

// reader returns an operator that gives all rows.
func (s *spool) reader() operator {
	r := &spoolReader{s: s, rest: sorted{x: s.op.x, rows: &s.rows, order: sequence(nil, 0, s.rows.n)}}
	if s.file != nil {
		r.in = s.file.Reader(0)
	}
	return r
}

// spoolRange is how many rows of a spool one worker takes.
const spoolRange = 1 << 15

// phases gives all rows, in parallel when they are in memory, of the columns at
// cols, or of all when cols is nil; then done is called.
func (s *spool) phases(cols []int, done func()) []phase {
	rows := &s.rows
	if cols != nil && s.file == nil {
		rows = &rowStore{n: s.rows.n}
		for _, c := range cols {
			if s.rows.n > 0 {
				rows.cols = append(rows.cols, s.rows.cols[c])
			}
		}
	}
	p := phase{ranges: 1, rows: s.n, done: done, open: func(context.Context, int) (operator, error) {
		if cols == nil {
			return s.reader(), nil
		}
		return &picked{in: s.reader(), cols: cols}, nil
	}}
	if s.file == nil {
		p.ranges = (rows.n + spoolRange - 1) / spoolRange
		p.open = func(_ context.Context, i int) (operator, error) {
			return &sorted{x: s.op.x, rows: rows, order: sequence(nil, i*spoolRange, min(rows.n, (i+1)*spoolRange))}, nil
		}
	}
	return []phase{p}
}

// free forgets the rows.
func (s *spool) free() {
	s.rows = rowStore{}
	s.acct.free()
	_ = s.file.Close()
}

type spoolReader struct {
	s    *spool
	in   *spill.Reader
	rest sorted
}

// Next implements operator.
func (r *spoolReader) Next(ctx context.Context) (*vector.Batch, error) {
	if r.in != nil {
		b, _, err := r.in.Next(ctx)
		if b != nil || err != nil {
			return b, err
		}
		r.in = nil
	}
	return r.rest.Next(ctx)
}

// Close implements operator.
func (r *spoolReader) Close() error { r.in = nil; return r.rest.Close() }
