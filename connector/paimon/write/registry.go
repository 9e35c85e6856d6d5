package write

import (
	"context"
	"strconv"
	"sync"

	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
)

// Registry keeps the writers of one process apart that work on the same tables:
// ingest, SQL statements and compaction. A bucket is compacted by one at a time,
// and a table is committed to by one at a time. The zero value is ready; nil keeps
// nobody apart. It is safe for concurrent use.
type Registry struct {
	mu      sync.Mutex
	held    map[string]*hold
	numbers map[string]*numbers     // by bucket
	turns   map[string]*commit.Turn // the last one of each table
}

// hold is a lock that waits under a context.
type hold struct {
	token chan struct{}
	users int // holders and waiters
}

// acquire takes the lock of a name; with try it gives up, returning nil, when
// somebody has it.
func (r *Registry) acquire(ctx context.Context, name string, try bool) (func(), error) {
	if r == nil {
		return func() {}, nil
	}
	r.mu.Lock()
	if r.held == nil {
		r.held = map[string]*hold{}
	}
	h := r.held[name]
	if h == nil {
		h = &hold{token: make(chan struct{}, 1)}
		r.held[name] = h
	}
	h.users++
	r.mu.Unlock()
	leave := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if h.users--; h.users == 0 {
			delete(r.held, name)
		}
	}
	select {
	case h.token <- struct{}{}:
	default:
		if try {
			leave()
			return nil, nil
		}
		select {
		case h.token <- struct{}{}:
		case <-ctx.Done():
			leave()
			return nil, ctx.Err()
		}
	}
	var once sync.Once
	return func() {
		once.Do(func() {
			<-h.token
			leave()
		})
	}, nil
}

// Commit gives the caller the commits to a table, or branch of it, until it calls
// release: those of one process go one after the other instead of racing.
func (r *Registry) Commit(ctx context.Context, p *spec.Paths) (release func(), err error) {
	return r.acquire(ctx, "table "+p.SnapshotDir(), false)
}

// compact gives a compaction its bucket. Without wait, release is nil when another
// compaction has it.
func (r *Registry) compact(ctx context.Context, p *spec.Paths, k *bucket, wait bool) (release func(), err error) {
	return r.acquire(ctx, "bucket "+p.SnapshotDir()+" "+strconv.Itoa(int(k.bucket))+" "+string(k.partition), !wait)
}
