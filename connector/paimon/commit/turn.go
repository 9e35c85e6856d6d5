package commit

import (
	"context"
	"sync"
	"time"
)

// Turn is a place in the queue of writers that number the rows of one table and
// commit them at once. Rows that have lower numbers must be committed first, or
// they have to be written again. Keeping the queue saves that work and nothing
// else: whether numbers fit is checked by the commit. A nil Turn waits for nobody.
type Turn struct {
	before <-chan struct{} // closed when all before are done; nil: none are
	done   chan struct{}
	once   sync.Once
}

// turnWait bounds how long one who dawdles keeps the others.
const turnWait = 5 * time.Second

// NewTurn makes a place behind another, nil for the first.
func NewTurn(before *Turn) *Turn {
	t := &Turn{done: make(chan struct{})}
	if before != nil {
		t.before = before.done
	}
	return t
}

// Wait waits for those before, for a bounded time.
func (t *Turn) Wait(ctx context.Context) {
	if t == nil || t.before == nil {
		return
	}
	select {
	case <-t.before:
		return
	default:
	}
	timer := time.NewTimer(turnWait)
	defer timer.Stop()
	select {
	case <-t.before:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Done gives the place up. It may be called many times.
func (t *Turn) Done() {
	if t != nil {
		t.once.Do(func() { close(t.done) })
	}
}

// Over reports whether the place was given up.
func (t *Turn) Over() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}
