package exec

import (
	"context"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/server/plan"
)

// Follow runs a continuous query: its plan once for each round of its stream, one
// after the other, until its LIMIT is reached, the stream ends, or ctx does. pin,
// when set, is told the version that is read from then on. The reader owns the
// stream.
func Follow(ctx context.Context, q *plan.Query, env Env, pin func(connector.Snapshot)) connector.BatchReader {
	f := &follower{q: q, env: env, pin: pin, left: q.Count, skip: q.Offset}
	f.ctx, f.cancel = context.WithCancel(ctx)
	return f
}

// follower implements connector.BatchReader.
type follower struct {
	ctx    context.Context
	cancel context.CancelFunc
	q      *plan.Query
	env    Env
	pin    func(connector.Snapshot)
	left   int64 // rows still to give, -1: any number
	skip   int64 // rows still to pass over
	cur    connector.BatchReader
	out    vector.Batch
	sel    []uint16
	closed bool
}

// Next implements connector.BatchReader.
func (f *follower) Next(ctx context.Context) (*vector.Batch, error) {
	for !f.closed && f.left != 0 {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if f.cur == nil {
			snap, err := f.q.Stream.Next(f.ctx)
			if err != nil || snap == nil {
				return nil, err
			}
			if f.pin != nil {
				f.pin(snap)
			}
			round := *f.q
			round.Stream = nil
			round.Root = at(f.q.Root, f.q.Streamed, snap)
			if f.cur, err = Run(f.ctx, &round, f.env); err != nil {
				f.cur = nil
				return nil, err
			}
		}
		b, err := f.cur.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			err := f.cur.Close()
			f.cur = nil
			if err != nil {
				return nil, err
			}
			continue
		}
		if b = f.limited(b); b != nil {
			return b, nil
		}
	}
	return nil, nil
}

// limited returns the rows of a batch that LIMIT and OFFSET leave, nil for none.
func (f *follower) limited(b *vector.Batch) *vector.Batch {
	n := int64(b.Rows())
	if f.skip == 0 && (f.left < 0 || n <= f.left) {
		if f.left > 0 {
			f.left -= n
		}
		return b
	}
	from := min(f.skip, n)
	f.skip -= from
	to := n
	if f.left >= 0 {
		to = min(n, from+f.left)
		f.left -= to - from
	}
	if from == to {
		return nil
	}
	f.sel = f.sel[:0]
	for i := from; i < to; i++ {
		f.sel = append(f.sel, uint16(b.Row(int(i))))
	}
	f.out = *b
	f.out.Sel = f.sel
	return &f.out
}

// at returns a plan in which a table is read at another version.
func at(n plan.Node, use *plan.TableUse, snap connector.Snapshot) plan.Node {
	if s, ok := n.(*plan.Scan); ok && s.Use == use {
		c, u := *s, *use
		u.Snapshot = snap
		c.Use = &u
		return &c
	}
	in := n.Inputs()
	if len(in) == 0 {
		return n
	}
	out := make([]plan.Node, len(in))
	for i, c := range in {
		out[i] = at(c, use, snap)
	}
	return n.With(out)
}

// Close implements connector.BatchReader.
func (f *follower) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	f.cancel()
	var err error
	if f.cur != nil {
		err = f.cur.Close()
		f.cur = nil
	}
	if e := f.q.Stream.Close(); err == nil {
		err = e
	}
	return err
}
