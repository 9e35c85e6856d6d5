package jdbc

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
)

// locks are the rows of paimon_distributed_locks, which all engines take around
// the creation of snapshots and schemas (DESIGN D12):
//
//	lock_id              <catalog-key>.<database>.<table>
//	acquired_at          when it was taken, by the clock of the database
//	expire_time_seconds  after which anybody may remove it
//
// The row says nothing of its owner. Whoever holds a lock for longer than it
// lasts may find it taken by another; what is created under it is therefore
// created exclusively all the same.
type locks struct {
	db       *database
	key      string        // the catalog's
	timeout  time.Duration // of waiting, and of a lock's life
	maxSleep time.Duration

	mu    sync.Mutex
	local map[string]chan struct{} // one waiter of this process at a time per lock
}

const firstSleep = 50 * time.Millisecond

// lock takes a lock. unlock gives it back.
func (l *locks) lock(ctx context.Context, database, table string) (unlock func() error, err error) {
	id := fmt.Sprintf("%s.%s.%s", l.key, database, table)
	turn := l.turn(id)
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	since, err := l.acquire(ctx, id)
	if err != nil {
		<-turn
		return nil, err
	}
	return func() error {
		defer func() { <-turn }()
		if time.Since(since) > l.timeout {
			return errs.New(errs.Conflict, errs.KindNone, "give back the lock %s: it was held for longer than %s and may be another's now", id, l.timeout)
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		_, err := l.db.exec(ctx, l.db.db, "DELETE FROM "+locksTable+" WHERE lock_id = ?", id)
		return hide(err, "give back the lock %s in %s", id, l.db.where)
	}, nil
}

func (l *locks) turn(id string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.local[id]
	if c == nil {
		c = make(chan struct{}, 1)
		l.local[id] = c
	}
	return c
}

// acquire waits for the lock's row. It returns when it asked for it: the lock
// does not end before the timeout after that.
func (l *locks) acquire(ctx context.Context, id string) (since time.Time, err error) {
	start, sleep := time.Now(), firstSleep
	for {
		since = time.Now()
		ok, err := l.try(ctx, id)
		if err != nil || ok {
			return since, err
		}
		if waited := time.Since(start); waited > l.timeout {
			return since, errs.New(errs.Resource, errs.Timeout, "take the lock %s in %s: another holds it since %s; try again, or raise 'lock-acquire-timeout'",
				id, l.db.where, waited.Round(time.Second))
		}
		sleep = min(2*sleep, l.maxSleep)
		select {
		case <-time.After(sleep):
		case <-ctx.Done():
			return since, ctx.Err()
		}
	}
}

// try removes an expired lock and makes the row, unless another's is there.
func (l *locks) try(ctx context.Context, id string) (bool, error) {
	failed := func(err error) (bool, error) {
		if l.db.driver.Busy(err) {
			return false, nil
		}
		return false, hide(err, "take the lock %s in %s", id, l.db.where)
	}
	if _, err := l.db.exec(ctx, l.db.db, "DELETE FROM "+locksTable+" WHERE "+l.db.driver.Age+" > expire_time_seconds AND lock_id = ?", id); err != nil {
		return failed(err)
	}
	_, err := l.db.exec(ctx, l.db.db, "INSERT INTO "+locksTable+" (lock_id,expire_time_seconds) VALUES (?,?)", id, int64(l.timeout/time.Second))
	switch {
	case err == nil:
		return true, nil
	case l.db.driver.Duplicate(err):
		return false, nil
	}
	return failed(err)
}
