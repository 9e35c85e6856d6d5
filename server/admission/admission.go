// Package admission decides which queries run now and which wait, so that any
// number of clients finish instead of running out of memory together.
//
// There are two classes. A heavy query takes one of a few slots, about as many as
// there are cores: more of them at once would finish no sooner and leave each with
// less memory. A light one, which reads little, takes one of many slots of its own
// and so never waits behind heavy ones. What reads no stored table needs none.
// With its slot a query gets memory that is set aside for it, beside which it may
// borrow what nobody uses.
//
// Who waits is served by account: of the accounts with the fewest queries running
// the one whose query waits longest. With one account that is the order of
// arrival. A session runs one statement at a time, so a client cannot fill the
// queue.
//
// Invariants: the guarantees of all tickets fit the budget; a ticket is released
// exactly once, whatever ends its query; waiting ends with a slot, the end of the
// context, or the longest wait. A query whose client does not take its rows keeps
// its memory, but its slot counts as free after a while.
//
// Start reading at Queue.Admit.
package admission

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// Class says how much a query has to do.
type Class uint8

// The classes.
const (
	Heavy Class = iota
	Light
	classes
)

// Shares of the budget, in percent, that are guaranteed to the queries of a class
// together, and the most they may have. What is left is for what needs no slot.
var shares = [classes]struct{ sure, most int64 }{Heavy: {75, 88}, Light: {12, 50}}

// least is what a slot needs at least; a small budget has fewer slots.
var least = [classes]int64{Heavy: 16 << 20, Light: 2 << 20}

// restful is how long a query may wait for its client and still count as running.
const restful = time.Second

// tick is how often a waiting query looks whether a slot has become free by itself.
const tick = 250 * time.Millisecond

// Config is what a Queue is made of.
type Config struct {
	// Memory is the budget of all queries; nil is unlimited.
	Memory *memory.Budget
	// Cores is the number of processors.
	Cores int
	// Slots returns how many heavy queries shall run at once; 0, or no function:
	// as many as there are cores, at least two.
	Slots func() int
	// Wait returns how long a query may wait; 0, or no function: for ever.
	Wait func() time.Duration
}

// Queue admits queries. It is safe for concurrent use.
type Queue struct {
	cfg    Config
	memory [classes]*memory.Budget

	mu      sync.Mutex
	running [classes]map[*Ticket]struct{}
	waiting [classes][]*waiter // in order of arrival

	waits, timeouts [classes]int64
	waited          [classes]time.Duration
}

// New makes a queue.
func New(cfg Config) *Queue {
	q := &Queue{cfg: cfg}
	for c := range classes {
		q.memory[c] = cfg.Memory.Child("query", cfg.Memory.Limit()/100*shares[c].most)
		q.running[c] = map[*Ticket]struct{}{}
	}
	return q
}

// Ticket lets a query run until it is released.
type Ticket struct {
	q       *Queue
	class   Class
	account string
	budget  *memory.Budget
	sure    int64
	resting atomic.Int64 // since when it waits for its client, 0: it does not
}

type waiter struct {
	account string
	since   time.Time
	admit   chan *Ticket // of capacity 1
}

// Class returns the class that the ticket is for.
func (t *Ticket) Class() Class { return t.class }

// Budget returns the budget that the query's memory is a part of, and how much of
// it is set aside for the query; 0 when memory is not limited.
func (t *Ticket) Budget() (*memory.Budget, int64) { return t.budget, t.sure }

// Rest tells that the query waits for its client, Resume that it goes on.
func (t *Ticket) Rest() { t.resting.Store(time.Now().UnixNano()) }

// Resume tells that the query goes on.
func (t *Ticket) Resume() { t.resting.Store(0) }

// Release ends the ticket. The query's memory has been given back before. It may
// be called more than once.
func (t *Ticket) Release() {
	q := t.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, runs := q.running[t.class][t]; !runs {
		return
	}
	delete(q.running[t.class], t)
	t.budget.Close()
	q.serve()
}

// slots returns the number of slots of a class, and the memory of each.
func (q *Queue) slots(c Class) (n int, sure int64) {
	n = 16 * max(q.cfg.Cores, 1)
	if c == Heavy {
		n = 0
		if q.cfg.Slots != nil {
			n = q.cfg.Slots()
		}
		if n <= 0 {
			n = max(q.cfg.Cores, 2)
		}
	}
	if limit := q.cfg.Memory.Limit(); limit > 0 {
		all := limit / 100 * shares[c].sure
		n = int(min(int64(n), max(all/least[c], 1)))
		sure = all / int64(n)
	}
	return n, sure
}

// active counts the queries of a class that keep a slot busy. q.mu is held.
func (q *Queue) active(c Class) (n int) {
	rested := time.Now().Add(-restful).UnixNano()
	for t := range q.running[c] {
		if at := t.resting.Load(); at == 0 || at > rested {
			n++
		}
	}
	return n
}

// take makes a ticket when there is a slot and memory. q.mu is held.
func (q *Queue) take(c Class, account string) *Ticket {
	n, sure := q.slots(c)
	if q.active(c) >= n {
		return nil
	}
	b, err := q.memory[c].Guaranteed("query", sure, q.cfg.Memory.Limit())
	if err != nil {
		return nil // others have borrowed it
	}
	t := &Ticket{q: q, class: c, account: account, budget: b, sure: sure}
	q.running[c][t] = struct{}{}
	return t
}

// serve admits those who wait, as far as there are slots. Slots that no heavy query
// wants are for light ones, too. q.mu is held.
func (q *Queue) serve() {
	for _, slot := range [...]struct{ of, to Class }{{Heavy, Heavy}, {Light, Light}, {Heavy, Light}} {
		for len(q.waiting[slot.to]) > 0 {
			i := q.next(slot.to)
			w := q.waiting[slot.to][i]
			t := q.take(slot.of, w.account)
			if t == nil {
				break
			}
			q.waiting[slot.to] = slices.Delete(q.waiting[slot.to], i, i+1)
			q.waited[slot.to] += time.Since(w.since)
			w.admit <- t
		}
	}
}

// next returns which of those who wait is next. q.mu is held.
func (q *Queue) next(c Class) (best int) {
	runs := map[string]int{}
	for t := range q.running[c] {
		runs[t.account]++
	}
	for i, w := range q.waiting[c] {
		if runs[w.account] < runs[q.waiting[c][best].account] {
			best = i
		}
	}
	return best
}

// Try returns a ticket when there is one without waiting, else nil.
func (q *Queue) Try(c Class, account string) *Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting[c]) > 0 {
		q.serve()
	}
	if len(q.waiting[c]) > 0 {
		return nil
	}
	return q.take(c, account)
}

// Admit waits for a ticket of a class. account is for whom the query runs. Errors:
// errs.QueueTimeout, or what ended the context.
func (q *Queue) Admit(ctx context.Context, c Class, account string) (*Ticket, error) {
	if t := q.Try(c, account); t != nil {
		return t, nil
	}
	w := &waiter{account: account, since: time.Now(), admit: make(chan *Ticket, 1)}
	q.mu.Lock()
	q.waiting[c] = append(q.waiting[c], w)
	q.waits[c]++
	q.serve() // a slot may have become free in between
	q.mu.Unlock()

	longest := time.Duration(0)
	if q.cfg.Wait != nil {
		longest = q.cfg.Wait()
	}
	look := time.NewTicker(tick)
	defer look.Stop()
	for {
		select {
		case t := <-w.admit:
			return t, nil
		case <-ctx.Done():
			q.leave(c, w, false)
			return nil, context.Cause(ctx)
		case <-look.C:
			if longest > 0 && time.Since(w.since) >= longest {
				if left, of := q.leave(c, w, true); left {
					n, _ := q.slots(c)
					return nil, errs.New(errs.Resource, errs.QueueTimeout,
						"run query: it waited %s for one of the %d slots, with %d others in the queue; try again, or raise lake_queue_timeout or lake_query_slots",
						longest, n, of)
				}
				continue // it was admitted at the last moment
			}
			q.mu.Lock()
			q.serve()
			q.mu.Unlock()
		}
	}
}

// leave takes a waiter out of the queue. A ticket that it was given meanwhile is
// given back, unless keep: then left is false.
func (q *Queue) leave(c Class, w *waiter, keep bool) (left bool, others int) {
	q.mu.Lock()
	if i := slices.Index(q.waiting[c], w); i >= 0 {
		q.waiting[c] = slices.Delete(q.waiting[c], i, i+1)
		q.waited[c] += time.Since(w.since)
		if keep {
			q.timeouts[c]++
		}
		others = len(q.waiting[c])
		q.mu.Unlock()
		return true, others
	}
	q.mu.Unlock()
	if !keep {
		(<-w.admit).Release()
	}
	return false, 0
}

// Stats are a class's figures. Waits and Waited count from the start.
type Stats struct {
	Running, Waiting, Slots int
	Waits, Timeouts         int64
	Waited                  time.Duration
}

// Stats returns the figures of a class.
func (q *Queue) Stats(c Class) Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, _ := q.slots(c)
	return Stats{Running: len(q.running[c]), Waiting: len(q.waiting[c]), Slots: n, Waits: q.waits[c], Timeouts: q.timeouts[c], Waited: q.waited[c]}
}
