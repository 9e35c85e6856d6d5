package ingest

import (
	"context"
	"sync"
	"time"

	"github.com/thermocline/thermocline/ingest/source"
)

// backlogEvery is how often the length of the source's log is looked at.
const backlogEvery = 5 * time.Second

// measure keeps looking at the length of the source's log until the attempt ends;
// the function that it returns waits for that.
func (a *attempt) measure(ctx context.Context) (stop func()) {
	m, ok := a.src.(source.Measured)
	if !ok {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for {
			if f, err := m.Backlog(ctx); err == nil { // otherwise the stream says what is wrong
				a.p.mu.Lock()
				a.p.backlog = f
				a.p.mu.Unlock()
			}
			select {
			case <-time.After(backlogEvery):
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		wg.Wait()
	}
}
