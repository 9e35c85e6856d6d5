package exec

import (
	"context"
	"slices"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// scanner reads stored batches, converts the columns that conditions need,
// filters, and converts the others for the rows that are left.
type scanner struct {
	x     *query
	in    connector.BatchReader
	loads []expr.Expr
	first []int // columns that conditions read
	rest  []int
	conds []expr.Expr
	sel   [2][]uint16
	out   vector.Batch

	filters []filtering
	seen    *vector.Batch // the batch that the reader showed, of which rows are wanted
}

// newScanner makes the scanner of a range, from 0.
func newScanner(x *query, in connector.BatchReader, at int, loads, conds []expr.Expr, filters []*runtimeFilter) *scanner {
	s := &scanner{x: x, in: in, loads: loads, conds: conds}
	need := make([]bool, len(loads))
	for _, f := range filters {
		d := f.dynamic(at)
		if r, ok := in.(connector.Narrowing); ok && d != nil {
			r.Narrow(d)
		}
		if f.top == nil || f.top.byRow {
			s.filters = append(s.filters, filtering{f: f, at: at, top: d})
			need[f.col] = true
		}
	}
	for _, c := range conds {
		for _, i := range expr.ColumnsOf(c) {
			need[i] = true
		}
	}
	for i, n := range need {
		if n {
			s.first = append(s.first, i)
		} else {
			s.rest = append(s.rest, i)
		}
	}
	if p, ok := in.(connector.Picking); ok && len(s.first) > 0 && len(s.rest) > 0 {
		var first []int
		for _, i := range s.first {
			for _, c := range expr.ColumnsOf(loads[i]) {
				if !slices.Contains(first, c) {
					first = append(first, c)
				}
			}
		}
		p.Pick(first, s.pick)
	}
	return s
}

// pick implements connector.Pick.
func (s *scanner) pick(b *vector.Batch) ([]uint16, error) {
	s.seen = nil
	if err := s.begin(b); err != nil {
		return nil, err
	}
	if s.out.Rows() == 0 {
		return []uint16{}, nil
	}
	s.seen = b
	return s.out.Sel, nil
}

// begin loads the columns that conditions read, and finds the rows that satisfy
// them.
func (s *scanner) begin(b *vector.Batch) error {
	if cap(s.out.Cols) < len(s.loads) {
		s.out.Cols = make([]*vector.Vec, len(s.loads))
	}
	s.out = vector.Batch{Len: b.Len, Sel: b.Sel, Seq: b.Seq, Cols: s.out.Cols[:len(s.loads)]}
	if err := s.load(b, s.first); err != nil {
		return err
	}
	if err := narrow(s.x, &s.out, s.conds, &s.sel); err != nil {
		return err
	}
	for i := range s.filters {
		if s.out.Rows() == 0 {
			return nil
		}
		s.filters[i].narrow(&s.out)
	}
	return nil
}

// Next implements operator.
func (s *scanner) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		s.seen = nil
		b, err := s.in.Next(ctx)
		if err != nil || b == nil {
			return nil, err
		}
		s.x.env.Meter.add(b.Len)
		if b.Kinds != nil {
			return nil, errs.Internalf("run query: a table scan gave row kinds")
		}
		if s.seen == nil {
			if err := s.begin(b); err != nil {
				return nil, err
			}
		}
		if s.out.Rows() == 0 {
			continue
		}
		s.out.Seq = b.Seq // what was shown need not have had it
		left := *b
		left.Sel = s.out.Sel
		if err := s.load(&left, s.rest); err != nil {
			return nil, err
		}
		return &s.out, nil
	}
}

func (s *scanner) load(b *vector.Batch, cols []int) error {
	for _, i := range cols {
		v, err := s.loads[i].Eval(s.x.env.Expr, b)
		if err != nil {
			return err
		}
		s.out.Cols[i] = v
	}
	return nil
}

// Close implements operator.
func (s *scanner) Close() error { return s.in.Close() }

// narrow keeps the rows of b for which all conditions are TRUE. The selections
// live in the two buffers, used in turn.
func narrow(x *query, b *vector.Batch, conds []expr.Expr, bufs *[2][]uint16) error {
	for i, c := range conds {
		if b.Rows() == 0 {
			return nil
		}
		sel, err := expr.Filter(x.env.Expr, c, b, bufs[i&1])
		if err != nil {
			return err
		}
		if sel == nil {
			sel = []uint16{}
		}
		bufs[i&1] = sel
		if b.Sel == nil && len(sel) == b.Len {
			continue
		}
		b.Sel = sel
	}
	return nil
}

// filter keeps rows.
type filter struct {
	x     *query
	in    operator
	conds []expr.Expr
	sel   [2][]uint16
	out   vector.Batch
}

// Next implements operator.
func (f *filter) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		b, err := f.in.Next(ctx)
		if err != nil || b == nil {
			return nil, err
		}
		f.out = *b
		if err := narrow(f.x, &f.out, f.conds, &f.sel); err != nil {
			return nil, err
		}
		if f.out.Rows() > 0 {
			return &f.out, nil
		}
	}
}

// Close implements operator.
func (f *filter) Close() error { return f.in.Close() }

// project computes columns.
type project struct {
	x     *query
	in    operator
	items []expr.Expr
	expr  *expr.Context // numbers the rows for warnings
	rows  int           // so far
	out   vector.Batch
}

// Next implements operator.
func (p *project) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := p.in.Next(ctx)
	if err != nil || b == nil {
		return nil, err
	}
	if p.expr == nil {
		p.expr = p.x.env.Expr.Numbered()
	}
	p.expr.NextRows(b, p.rows)
	p.rows += b.Rows()
	p.out = vector.Batch{Len: b.Len, Sel: b.Sel, Seq: b.Seq, Cols: p.out.Cols[:0]}
	for _, e := range p.items {
		v, err := e.Eval(p.expr, b)
		if err != nil {
			return nil, err
		}
		p.out.Cols = append(p.out.Cols, v)
	}
	return &p.out, nil
}

// Close implements operator.
func (p *project) Close() error { return p.in.Close() }

// once gives one batch.
type once struct {
	b    *vector.Batch
	done bool
}

// Next implements operator.
func (o *once) Next(context.Context) (*vector.Batch, error) {
	if o.done {
		return nil, nil
	}
	o.done = true
	return o.b, nil
}

// Close implements operator.
func (o *once) Close() error { o.done = true; return nil }

// values computes constant rows.
type values struct {
	x     *query
	types []expr.Type
	rows  [][]expr.Expr
	at    int
}

// Next implements operator.
func (v *values) Next(ctx context.Context) (*vector.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n := min(len(v.rows)-v.at, v.x.batchRows())
	if n <= 0 {
		return nil, nil
	}
	out := &vector.Batch{Len: n, Seq: -1}
	for _, t := range v.types {
		out.Cols = append(out.Cols, vector.New(t.Physical(), n))
	}
	one := &vector.Batch{Len: 1, Seq: -1}
	for _, r := range v.rows[v.at : v.at+n] {
		for i, e := range r {
			x, err := e.Eval(v.x.env.Expr, one)
			if err != nil {
				return nil, err
			}
			if x.IsNull(0) {
				out.Cols[i].AppendNull()
			} else {
				out.Cols[i].AppendFrom(x, 0)
			}
		}
	}
	v.at += n
	return out, nil
}

// Close implements operator.
func (v *values) Close() error { v.at = len(v.rows); return nil }

// limit passes rows from offset on, count of them at most (-1: all).
type limit struct {
	in            operator
	count, offset int64
	sel           []uint16
	out           vector.Batch
}

func (c compiler) limit(in pipe, count, offset int64) pipe {
	return pipe{start: func(ctx context.Context) ([]phase, error) {
		if count == 0 {
			return nil, nil
		}
		phases, err := in.start(ctx)
		if err != nil {
			return nil, err
		}
		return []phase{{ranges: 1, rows: -1, open: func(ctx context.Context, _ int) (operator, error) {
			return &limit{in: gather(ctx, c.x, phases), count: count, offset: offset}, nil
		}}}, nil
	}}
}

// Next implements operator.
func (l *limit) Next(ctx context.Context) (*vector.Batch, error) {
	for l.count != 0 {
		b, err := l.in.Next(ctx)
		if err != nil || b == nil {
			return nil, err
		}
		n := int64(b.Rows())
		if l.offset >= n {
			l.offset -= n
			continue
		}
		from, to := l.offset, n
		l.offset = 0
		if l.count >= 0 {
			to = min(n, from+l.count)
			l.count -= to - from
		}
		if from == 0 && to == n {
			return b, nil
		}
		l.sel = l.sel[:0]
		for i := from; i < to; i++ {
			l.sel = append(l.sel, uint16(b.Row(int(i))))
		}
		l.out = *b
		l.out.Sel = l.sel
		return &l.out, nil
	}
	// The rows below are not needed: stop what makes them.
	return nil, l.in.Close()
}

// Close implements operator.
func (l *limit) Close() error { return l.in.Close() }
