package scan

import (
	"context"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/vector"
)

// rangeReader reads splits in order and opens the next one ahead.
type rangeReader struct {
	splits []connector.Split // not yet asked for
	cur    connector.BatchReader
	end    context.CancelFunc // of the context that cur was opened with
	ahead  chan opened        // of the next split, when one is being opened
	stop   context.CancelFunc // ends the opening
	closed bool

	first []int
	pick  connector.Pick

	dynamic *connector.Dynamic
	// With dynamic: where the split's rows begin among those of the range, where the
	// rows given so far end, and how many the split gave.
	base, reached, given int64
	out                  vector.Batch
}

// placed gives a batch the place of its rows in the range.
func (r *rangeReader) placed(b *vector.Batch) *vector.Batch {
	r.out = *b
	at := r.given
	if _, ok := r.cur.(connector.Narrowing); ok {
		at = b.Seq
	}
	r.given += int64(b.Len)
	r.out.Seq = r.base + at
	r.reached = max(r.reached, r.out.Seq+int64(b.Len))
	return &r.out
}

// Narrow implements connector.Narrowing.
func (r *rangeReader) Narrow(d *connector.Dynamic) { r.dynamic = d }

// Pick implements connector.Picking.
func (r *rangeReader) Pick(first []int, pick connector.Pick) { r.first, r.pick = first, pick }

type opened struct {
	r   connector.BatchReader
	err error
}

// finish closes the current split.
func (r *rangeReader) finish() (err error) {
	if r.cur != nil {
		err = r.cur.Close()
		r.cur = nil
	}
	if r.end != nil {
		r.end()
		r.end = nil
	}
	return err
}

// Next implements connector.BatchReader.
func (r *rangeReader) Next(ctx context.Context) (*vector.Batch, error) {
	for !r.closed {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.cur == nil {
			more, err := r.advance(ctx)
			if err != nil || !more {
				return nil, err
			}
		}
		b, err := r.cur.Next(ctx)
		if b != nil && r.dynamic != nil {
			b = r.placed(b)
		}
		if b != nil || err != nil {
			return b, err
		}
		if err = r.finish(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// advance makes the next split current and starts opening the one after it.
func (r *rangeReader) advance(ctx context.Context) (bool, error) {
	var got opened
	switch {
	case r.ahead != nil:
		got = <-r.ahead
		r.end, r.ahead = r.stop, nil
	case len(r.splits) == 0:
		return false, nil
	default:
		got.r, got.err = r.splits[0].Open(ctx)
		r.splits = r.splits[1:]
	}
	if got.err != nil {
		_ = r.finish()
		return false, got.err
	}
	r.cur = got.r
	r.base, r.given = r.reached, 0
	if n, ok := r.cur.(connector.Narrowing); ok && r.dynamic != nil {
		n.Narrow(r.dynamic)
	}
	if p, ok := r.cur.(connector.Picking); ok && r.pick != nil {
		p.Pick(r.first, r.pick)
	}
	if len(r.splits) > 0 {
		next := r.splits[0]
		r.splits = r.splits[1:]
		r.ahead = make(chan opened, 1)
		var octx context.Context
		octx, r.stop = context.WithCancel(ctx)
		go func(c chan<- opened) {
			br, err := next.Open(octx)
			c <- opened{br, err}
		}(r.ahead)
	}
	return true, nil
}

// Close implements connector.BatchReader.
func (r *rangeReader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	err := r.finish()
	if r.ahead != nil {
		r.stop()
		if got := <-r.ahead; got.r != nil {
			if e := got.r.Close(); err == nil {
				err = e
			}
		}
		r.ahead = nil
	}
	return err
}
