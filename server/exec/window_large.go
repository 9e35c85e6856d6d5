package exec

import (
	"context"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// A partition that is too large goes to disk in pages while its rows are read
// (windowPages). When all of it has been, it is given page by page: functions look at
// the rows of other pages through windowPages.

// total reports whether f is one value for the whole partition.
func (w *windowing) total(f *windowFunc) bool {
	fr := &f.call.Frame
	return f.call.Agg != nil && fr.Start.Kind == plan.Unbounded && fr.Exclude == plan.ExcludeNone &&
		(fr.End.Kind == plan.Unbounded || fr.End.Kind == plan.CurrentRow && !fr.Rows && len(w.eq) == w.partition)
}

// isLarge reports whether the partition being read is to go to disk.
func (s *windowStream) isLarge() bool {
	switch {
	case s.w.carry != nil:
		return false
	case s.w.op.forced():
		return s.rest.n > 64
	}
	return s.rest.bytes() > s.w.op.target()/4
}

// readLarge reads the partition of which s.rest is the beginning to its end.
func (s *windowStream) readLarge(ctx context.Context) (err error) {
	if s.large, err = newWindowPages(ctx, s.w); err != nil {
		return err
	}
	s.given = 0
	for at := 0; at < s.rest.n; at += windowChunk {
		end := min(at+windowChunk, s.rest.n)
		b := &vector.Batch{Len: end - at, Seq: -1}
		for _, c := range s.rest.cols {
			b.Cols = append(b.Cols, window(c, at, end))
		}
		if err := s.large.add(b, b.Len); err != nil {
			return err
		}
	}
	s.rest = rowStore{}
	s.acct.free()
	for {
		b, err := s.in.Next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			s.end = true
			break
		}
		n, err := s.goesOn(b)
		if err != nil {
			return err
		}
		if n > 0 {
			if err := s.large.add(b, n); err != nil {
				return err
			}
		}
		if n < b.Len {
			s.next = &vector.Batch{Len: b.Len - n, Seq: -1}
			for _, c := range b.Cols {
				s.next.Cols = append(s.next.Cols, c.Gather(span(n, b.Len)))
			}
			break
		}
	}
	return s.large.end()
}

// goesOn returns how many rows of b belong to the partition of the last row read.
func (s *windowStream) goesOn(b *vector.Batch) (int, error) {
	vecs := make([]*vector.Vec, s.w.partition)
	for k := range vecs {
		var err error
		if vecs[k], err = s.w.exprs[k].Eval(s.w.x.env.Expr, b); err != nil {
			return 0, err
		}
	}
	for i := range b.Len {
		for k, v := range vecs {
			if !s.w.eq[k](s.last[k].v, s.last[k].at, v, i) {
				return i, nil
			}
		}
	}
	return b.Len, nil
}

// giveLarge makes the next page of the large partition what is given next.
func (s *windowStream) giveLarge(ctx context.Context) error {
	p := s.large
	if s.given == len(p.index) {
		p.free()
		s.large = nil
		return nil
	}
	r, page := p.rows(s.given)
	s.given++
	rows := &rowStore{cols: page.b.Cols[:s.w.columns], n: r.n}
	size := page.bytes
	results := make([]*vector.Vec, len(s.w.funcs))
	for i, f := range s.w.funcs {
		var err error
		if results[i], err = s.w.run(ctx, f, r); err != nil {
			return err
		}
		size += results[i].Bytesize()
		if err := s.acct.hold(size); err != nil {
			return s.w.op.failed(err)
		}
	}
	s.out = &windowed{sorted: sorted{x: s.w.x, rows: rows, order: sequence(nil, 0, r.n)}, results: results}
	return nil
}

// aggregate computes an aggregate for the rows r of a page.
func (p *windowPages) aggregate(ctx context.Context, f *windowFunc, r *windowRows) (*vector.Vec, error) {
	if st := p.totals[f]; st != nil {
		v, err := st.Result(0, 1)
		if err != nil {
			return nil, err
		}
		return repeatedValue(v, r.n), nil
	}
	if s := p.sums[f]; s != nil {
		return p.w.differences(f, r, s, 0, 0, r.n)
	}
	if !f.grows() {
		return p.sliding(ctx, f, r)
	}
	g := p.grown[f]
	if g == nil {
		g = &grown{st: f.call.Agg.NewState(p.w.x.env.Expr)}
		g.st.Grow(1)
		p.grown[f] = g
	}
	var out *vector.Vec
	err := p.w.growing(f, r, g, 0, r.n, func(v *vector.Vec) {
		if out == nil {
			out = vector.NewLike(v.Values(), r.n)
		}
		appendVec(out, v, nil, v.Len)
	})
	if err == nil {
		err = p.pay()
	}
	return out, err
}

// sliding computes rows whose frames begin anywhere, each as a group of its own: page
// by page of those that their frames reach, so that each is read once.
func (p *windowPages) sliding(ctx context.Context, f *windowFunc, r *windowRows) (*vector.Vec, error) {
	st := f.call.Agg.NewState(p.w.x.env.Expr)
	st.Grow(r.n)
	acct := p.w.op.account()
	defer acct.free()
	parts, count := make([][3][2]int, r.n), make([]int, r.n)
	from, to := p.n, 0
	for i := range r.n {
		if parts[i], count[i] = p.w.parts(f, r, i); count[i] > 0 {
			from, to = min(from, parts[i][0][0]), max(to, parts[i][count[i]-1][1])
		}
	}
	for from < to {
		page := p.page(from)
		end := min(to, page.first+page.b.Len)
		for i := range r.n {
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			for _, part := range parts[i][:count[i]] {
				if a, b := max(part[0], from), min(part[1], end); a < b {
					if err := f.feed(st, uint32(i), page.chunks, 0, a-page.first, b-page.first); err != nil {
						return nil, err
					}
				}
			}
		}
		if err := acct.hold(st.Bytes() + int64(r.n)*56); err != nil {
			return nil, p.w.op.failed(err)
		}
		from = end
	}
	return st.Result(0, r.n)
}

// feed adds rows [from, to) to a group of a state.
func (p *windowPages) feed(f *windowFunc, st expr.State, group uint32, from, to int) error {
	for from < to {
		p.w.x.check()
		page := p.page(from)
		end := min(to, page.first+page.b.Len)
		if err := f.feed(st, group, page.chunks, 0, from-page.first, end-page.first); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// repeatedValue is the value of a whole partition for each of n rows.
func repeatedValue(v *vector.Vec, n int) *vector.Vec {
	out := vector.NewLike(v.Values(), n)
	for range n {
		out.AppendFrom(v, 0)
	}
	return out
}
