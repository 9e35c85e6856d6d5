package exec

import (
	"context"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// aggregate computes an aggregate over every row's frame.
func (w *windowing) aggregate(ctx context.Context, f *windowFunc, r *windowRows) (*vector.Vec, error) {
	acct := w.x.account()
	defer acct.free()
	var out *vector.Vec
	emit := func(v *vector.Vec) {
		if out == nil {
			out = vector.NewLike(v.Values(), r.n)
		}
		appendVec(out, v, nil, v.Len)
	}
	for first := 0; first < r.n; first = r.last[first] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		last := r.last[first]
		var err error
		if f.grows() {
			g := w.carry.state(f, first)
			if g == nil {
				g = &grown{st: f.call.Agg.NewState(w.x.env.Expr)}
				g.st.Grow(1)
			}
			if w.carry != nil && last == r.n {
				w.carry.states[f] = g
			}
			g.at = first
			err = w.growing(f, r, g, first, last, emit)
		} else {
			err = w.sliding(ctx, f, r, first, last, emit)
		}
		if err != nil {
			return nil, err
		}
		if out != nil {
			if err := acct.hold(fixedBytes(out)); err != nil {
				return nil, err
			}
		}
	}
	if out == nil {
		out = vector.New(f.typ.Physical(), 0)
	}
	return out, nil
}

// feed adds rows [from, to) to a group of a state.
func (w *windowing) feed(f *windowFunc, r *windowRows, st expr.State, group uint32, from, to int) error {
	if r.pages != nil {
		return r.pages.feed(f, st, group, from, to)
	}
	for from < to {
		c := from / windowChunk
		end := min(to, (c+1)*windowChunk)
		if err := f.feed(st, group, r.chunks, c, from%windowChunk, from%windowChunk+end-from); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// feed adds rows [from, to) of a chunk to a group of a state.
func (f *windowFunc) feed(st expr.State, group uint32, chunks [][]*vector.Vec, c, from, to int) error {
	f.vecs, f.sel, f.groups = f.vecs[:0], f.sel[:0], f.groups[:0]
	for i := from; i < to; i++ {
		f.sel = append(f.sel, uint16(i))
		f.groups = append(f.groups, group)
	}
	for _, a := range f.args {
		f.vecs = append(f.vecs, chunks[a][c])
	}
	return st.Update(f.groups, f.vecs, f.sel, len(f.sel))
}

// grows reports whether all frames of a partition begin with it.
func (f *windowFunc) grows() bool {
	return f.call.Frame.Start.Kind == plan.Unbounded && f.call.Frame.Exclude == plan.ExcludeNone
}

// grown is an aggregate whose rows are added as the frames' ends move on: those
// before at have been.
type grown struct {
	st expr.State
	at int
}

// growing computes rows [first, last), whose frames all begin with their partition:
// each row of it is added once.
func (w *windowing) growing(f *windowFunc, r *windowRows, g *grown, first, last int, emit func(*vector.Vec)) error {
	var v *vector.Vec
	for i := first; i < last; i++ {
		if i%checkRows == 0 {
			w.x.check()
		}
		_, end := w.frame(f, r, i)
		if end > g.at {
			if err := w.feed(f, r, g.st, 0, g.at, end); err != nil {
				return err
			}
			g.at, v = end, nil
		}
		if v == nil {
			var err error
			if v, err = g.st.Result(0, 1); err != nil {
				return err
			}
		}
		emit(v)
	}
	return nil
}

// sums are an aggregate over the rows before the end of a frame, and over those before
// its start: the frame has the difference.
type sums struct{ end, start grown }

// subtracts reports whether the frames of f are computed as differences.
func (w *windowing) subtracts(f *windowFunc) bool {
	return f.call.Frame.Exclude == plan.ExcludeNone && expr.Subtracts(f.call.Agg.NewState(w.x.env.Expr))
}

// reach makes g what the rows of a partition before at give. Frames move forward, as a
// rule; for one that does not, rows are added anew.
func (w *windowing) reach(f *windowFunc, r *windowRows, g *grown, first, at int) error {
	if g.st == nil || at < g.at {
		g.st, g.at = f.call.Agg.NewState(w.x.env.Expr), first
		g.st.Grow(1)
	}
	if at == g.at {
		return nil
	}
	from := g.at
	g.at = at
	return w.feed(f, r, g.st, 0, from, at)
}

// differences computes rows [from, to) of the partition that begins at first.
func (w *windowing) differences(f *windowFunc, r *windowRows, s *sums, first, from, to int) (*vector.Vec, error) {
	out := f.call.Agg.NewState(w.x.env.Expr)
	out.Grow(to - from)
	for i := from; i < to; i++ {
		if i%checkRows == 0 {
			w.x.check()
		}
		start, end := w.frame(f, r, i)
		if start >= end {
			continue
		}
		if err := w.reach(f, r, &s.end, first, end); err != nil {
			return nil, err
		}
		if err := w.reach(f, r, &s.start, first, start); err != nil {
			return nil, err
		}
		expr.SetDifference(out, i-from, s.end.st, s.start.st)
	}
	return out.Result(0, to-from)
}

// sliding computes a partition whose frames begin anywhere: as differences, or each
// frame as a group of its own.
func (w *windowing) sliding(ctx context.Context, f *windowFunc, r *windowRows, first, last int, emit func(*vector.Vec)) error {
	var s sums
	subtracts := w.subtracts(f)
	for from := first; from < last; from += windowChunk {
		to := min(from+windowChunk, last)
		if subtracts {
			v, err := w.differences(f, r, &s, first, from, to)
			if err != nil {
				return err
			}
			emit(v)
			continue
		}
		st := f.call.Agg.NewState(w.x.env.Expr)
		st.Grow(to - from)
		for i := from; i < to; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			parts, n := w.parts(f, r, i)
			for _, p := range parts[:n] {
				if err := w.feed(f, r, st, uint32(i-from), p[0], p[1]); err != nil {
					return err
				}
			}
		}
		v, err := st.Result(0, to-from)
		if err != nil {
			return err
		}
		emit(v)
	}
	return nil
}
