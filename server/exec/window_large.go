package exec

import (
	"context"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// A partition that does not fit the memory is read twice where its functions allow
// that: aggregates of the whole partition are computed while its rows go into a
// spool, and the rows are given with them afterwards, a chunk after the other.
// ROW_NUMBER and running aggregates of ROWS go on from chunk to chunk meanwhile.

// total reports whether f is one value for the whole partition.
func (w *windowing) total(f *windowFunc) bool {
	fr := &f.call.Frame
	return f.call.Agg != nil && fr.Start.Kind == plan.Unbounded && fr.Exclude == plan.ExcludeNone &&
		(fr.End.Kind == plan.Unbounded || fr.End.Kind == plan.CurrentRow && !fr.Rows && len(w.eq) == w.partition)
}

// twice reports whether a large partition may be read twice.
func (w *windowing) twice() bool {
	some := false
	for _, f := range w.funcs {
		fr := &f.call.Frame
		switch {
		case w.total(f):
			some = true
		case f.call.Agg == nil && f.call.Name == "ROW_NUMBER":
		case f.call.Agg != nil && fr.Rows && fr.Start.Kind == plan.Unbounded && fr.End.Kind == plan.CurrentRow && fr.Exclude == plan.ExcludeNone:
		default:
			return false
		}
	}
	return some
}

// isLarge reports whether the partition being read is to be read twice.
func (s *windowStream) isLarge() bool {
	if s.w.carry != nil || !s.w.twice() {
		return false
	}
	if s.w.op.forced() {
		return s.rest.n > 64
	}
	return s.rest.bytes() > s.w.op.target()/4
}

// readLarge reads the partition of which s.rest is the beginning to its end.
func (s *windowStream) readLarge(ctx context.Context) (err error) {
	w := s.w
	rows := newSpool(w.op)
	states := map[*windowFunc]expr.State{}
	for _, f := range w.funcs {
		if w.total(f) {
			states[f] = f.call.Agg.NewState(w.x.env.Expr)
			states[f].Grow(1)
		}
	}
	acct := w.op.account()
	defer acct.free()
	add := func(b *vector.Batch) error {
		var held int64
		for f, st := range states {
			args := make([]*vector.Vec, len(f.args))
			for i, a := range f.args {
				if args[i], err = w.exprs[a].Eval(w.x.env.Expr, b); err != nil {
					return err
				}
			}
			if err := st.Update(nil, args, b.Sel, b.Rows()); err != nil {
				return err
			}
			held += st.Bytes()
		}
		if err := acct.hold(held); err != nil {
			return w.op.failed(err)
		}
		return rows.add(ctx, b.Cols, b.Sel, b.Rows())
	}
	for at := 0; at < s.rest.n; at += windowChunk {
		end := min(at+windowChunk, s.rest.n)
		b := &vector.Batch{Len: end - at, Seq: -1}
		for _, c := range s.rest.cols {
			b.Cols = append(b.Cols, window(c, at, end))
		}
		if err := add(b); err != nil {
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
			if err := add(&vector.Batch{Len: b.Len, Sel: span(0, n), Seq: -1, Cols: b.Cols}); err != nil {
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
	if err := rows.end(); err != nil {
		return err
	}
	w.totals = map[*windowFunc]*vector.Vec{}
	for f, st := range states {
		if w.totals[f], err = st.Result(0, 1); err != nil {
			return err
		}
	}
	w.carry = &windowCarry{states: map[*windowFunc]expr.State{}}
	s.large, s.again = rows, rows.reader()
	return nil
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

// giveLarge makes the next chunk of the large partition the one to give.
func (s *windowStream) giveLarge(ctx context.Context) error {
	if s.batch == nil {
		b, err := s.again.Next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			s.large.free()
			s.large, s.again = nil, nil
			s.w.totals, s.w.carry = nil, nil
			return nil
		}
		s.batch, s.given = b, 0
	}
	// What is computed from a row takes several times its memory.
	row := batchBytes(s.batch)/int64(max(s.batch.Len, 1)) + 16
	n := int(min(max(s.w.op.target()/(8*row), 32), int64(s.batch.Len-s.given)))
	var rows rowStore
	rows.add(s.batch.Cols, span(s.given, s.given+n), n)
	if s.given += n; s.given == s.batch.Len {
		s.batch = nil
	}
	return s.give(ctx, &rows)
}

// repeatedValue is the value of a whole partition for each of n rows.
func repeatedValue(v *vector.Vec, n int) *vector.Vec {
	out := vector.NewLike(v.Values(), n)
	appendVec(out, v.AsConst(n), nil, n)
	return out
}
