package session

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// stream is the rows of a statement's Result: it ends the statement when it is
// closed, counts rows, and turns panics and cancellation into errors.
type stream struct {
	s     *Session
	run   *statement
	rows  connector.BatchReader
	res   *Result
	count uint64
	err   error
	done  bool
}

func (r *stream) Next(ctx context.Context) (b *vector.Batch, err error) {
	if r.done {
		return nil, r.err
	}
	defer func() {
		if p := recover(); p != nil {
			b, err = nil, r.s.panicked(p, r.run.text)
		}
		if err != nil {
			err = r.run.explain(err)
			r.err = err
		}
	}()
	// The statement's own context ends the work; the caller's must, too.
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if t := r.run.ticket; t != nil {
		t.Resume()
		defer t.Rest()
	}
	b, err = r.rows.Next(r.run.ctx)
	if err != nil {
		return nil, err
	}
	if b != nil {
		r.count += uint64(b.Rows())
		return b, nil
	}
	r.res.Warnings = warningCount(r.s.warnings.Count())
	return nil, nil
}

func (r *stream) Close() (err error) {
	if r.done {
		return nil
	}
	r.done = true
	defer func() {
		if p := recover(); p != nil {
			err = r.s.panicked(p, r.run.text)
		}
		if r.s.open == r {
			r.s.open = nil
		}
		if r.s.foundRows = r.count; r.err == nil {
			if c, ok := r.rows.(*counted); ok {
				r.s.foundRows = c.total
			}
		}
		r.run.finish(r.err)
	}()
	return r.rows.Close()
}

func warningCount(n int) uint16 {
	return uint16(min(n, 65535))
}

// panicked logs a panic under an id and returns the error that names it.
func (s *Session) panicked(p any, text string) error {
	id := s.srv.incident.Add(1)
	s.srv.log.Error("statement failed with a panic", "incident", id, "session", s.id, "panic", p, "statement", text, "stack", string(debug.Stack()))
	return errs.Internalf("run statement: internal error; incident %d in the server's log has the details", id)
}

// explain returns why a statement ended: the cause of its cancellation, if it
// was cancelled, else the error itself.
func (run *statement) explain(err error) error {
	if run.ctx.Err() == nil {
		return err
	}
	cause := context.Cause(run.ctx)
	var e *errs.Error
	if errors.As(cause, &e) {
		return cause
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return errs.New(errs.User, errs.Killed, "Query execution was interrupted")
	}
	return err
}
