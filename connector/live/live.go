// Package live is where pipelines and queries of one process meet (DESIGN D10):
// a pipeline publishes what its tables hold at one position of its source, each
// table as a snapshot and the rows after it; a query reads all of its tables from
// one such view.
//
// Invariants. A View is immutable, and what it holds stays until the last one who
// has it releases it. Of a feed, a later view is of the same or a later position.
// Publishing is a swap of a pointer: readers never make the pipeline wait.
//
// Start reading at Feed.
package live

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thermocline/thermocline/connector"
)

// View is what the tables of a pipeline hold at one position of its source.
type View struct {
	Position string // for people
	// Holding says that rows are held, so that the view goes on between commits;
	// without it, it is of the last commit.
	Holding bool
	Tables  map[string]Table // by database.table

	refs atomic.Int64
}

// Table is a table of a view.
type Table struct {
	UUID string
	// Committed is why the table is read as committed only, "" when it is not.
	Committed string
	// Lost says that rows which were read live will never be committed.
	Lost bool
	connector.LiveRows
}

// NewView makes a view of tables whose held rows it releases in the end. The
// caller is its first holder.
func NewView(position string, holding bool, tables map[string]Table) *View {
	v := &View{Position: position, Holding: holding, Tables: tables}
	v.refs.Store(1)
	return v
}

// retain adds a holder, unless the last one has gone.
func (v *View) retain() bool {
	for {
		n := v.refs.Load()
		if n == 0 {
			return false
		}
		if v.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release takes a holder away. nil is no view.
func (v *View) Release() {
	if v == nil || v.refs.Add(-1) > 0 {
		return
	}
	for _, t := range v.Tables {
		if t.Rows != nil {
			t.Rows.Release()
		}
	}
}

// Waiting returns how many changes the view has that are not committed.
func (v *View) Waiting() (rows int64) {
	for _, t := range v.Tables {
		if t.Rows != nil {
			rows += t.Rows.Rows()
		}
	}
	return rows
}

// Registry has the feeds of a process. The zero value is ready; it is safe for
// concurrent use.
type Registry struct {
	mu    sync.Mutex
	feeds map[[2]string]*Feed // by root of the warehouse and pipeline
}

// Open returns the feed of a pipeline that writes tables (database.table) of the
// warehouse at root: the one that is open, for these tables from now on, or else a
// new one.
func (r *Registry) Open(root, pipeline string, tables []string) *Feed {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.feeds == nil {
		r.feeds = map[[2]string]*Feed{}
	}
	f := r.feeds[[2]string{root, pipeline}]
	if f == nil || f.End() != nil {
		was := f
		f = &Feed{Pipeline: pipeline, changed: make(chan struct{})}
		if was != nil && (was.owes.Load() || !was.End().Whole) {
			f.Mark = was.Mark
			f.owes.Store(true)
		}
		r.feeds[[2]string{root, pipeline}] = f
	}
	f.tables = map[string]bool{}
	for _, t := range tables {
		f.tables[t] = true
	}
	return f
}

// Remove forgets the feed of a pipeline.
func (r *Registry) Remove(root, pipeline string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.feeds, [2]string{root, pipeline})
}

// Find returns the feed of a table (database.table), nil when there is none. A
// feed that is open comes before one that is closed.
func (r *Registry) Find(root, table string) *Feed {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out *Feed
	for k, f := range r.feeds {
		if k[0] == root && f.has(table) && (out == nil || out.ended.Load() != nil) {
			out = f
		}
	}
	return out
}

// has reports whether the pipeline writes a table: it may have come later.
func (f *Feed) has(table string) bool {
	v := f.Current()
	defer v.Release()
	if v != nil {
		if _, ok := v.Tables[table]; ok {
			return true
		}
	}
	return f.tables[table]
}

// Snapshots returns the snapshots of a table, by its UUID, that views are based on
// while they are asked for, so that expiry leaves them.
func (r *Registry) Snapshots(uuid string) []int64 {
	r.mu.Lock()
	feeds := make([]*Feed, 0, len(r.feeds))
	for _, f := range r.feeds {
		feeds = append(feeds, f)
	}
	r.mu.Unlock()
	var out []int64
	for _, f := range feeds {
		v := f.Current()
		if v == nil {
			continue
		}
		for _, t := range v.Tables {
			if v.Holding && t.UUID == uuid && t.Committed == "" {
				out = append(out, t.Base)
			}
		}
		v.Release()
	}
	return out
}

// How long rows are held after the last query, and how long the first query waits
// for it to begin.
const (
	heldFor   = time.Minute
	firstWait = 3 * time.Second
)

// Feed is what one pipeline publishes. Publish, Wanted and Close are called by the
// pipeline; the rest is safe for concurrent use.
type Feed struct {
	Pipeline string
	tables   map[string]bool // guarded by the registry
	// Mark is the pipeline's own note of where its newest view is.
	Mark any
	owes atomic.Bool

	current atomic.Pointer[View]
	asked   atomic.Int64 // when a query last did, in nanoseconds; 0: never
	poke    atomic.Pointer[func()]
	ended   atomic.Pointer[End]

	mu      sync.Mutex
	changed chan struct{} // closed when a view is published, or with the feed
}

// End is how a pipeline ended.
type End struct {
	Reason string
	// Whole says that everything that was read live is committed.
	Whole bool
}

// OnAsk sets what wakes the pipeline when a query asks and rows are not held.
func (f *Feed) OnAsk(poke func()) { f.poke.Store(&poke) }

// Wanted reports whether a query has asked lately, so that rows should be held.
func (f *Feed) Wanted() bool {
	at := f.asked.Load()
	return at != 0 && time.Since(time.Unix(0, at)) < heldFor
}

// Publish makes v, which the feed takes over, what queries read from now on.
func (f *Feed) Publish(v *View) {
	f.owes.Store(false)
	f.current.Swap(v).Release()
	f.notify()
}

func (f *Feed) notify() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.changed)
	f.changed = make(chan struct{})
}

// Close says that the pipeline has ended and why.
func (f *Feed) Close(reason string) {
	v := f.current.Swap(nil)
	f.ended.Store(&End{Reason: reason, Whole: v == nil || v.Waiting() == 0})
	v.Release()
	f.notify()
}

// Owes reports whether an earlier run of the pipeline was read at a position that
// was not committed, and this one has not come there: nothing is to be read before.
func (f *Feed) Owes() bool { return f.owes.Load() }

// End returns how the pipeline ended, nil while it runs.
func (f *Feed) End() *End { return f.ended.Load() }

// Current returns the newest view, nil before the first. The caller releases it.
func (f *Feed) Current() *View {
	for {
		v := f.current.Load()
		if v == nil || v.retain() {
			return v
		}
	}
}

// Ask returns what a query reads, nil when the pipeline has nothing to read live
// yet or has ended. If rows are not held yet, it waits a while until they are. The
// caller releases it.
func (f *Feed) Ask(ctx context.Context) (*View, error) {
	f.asked.Store(time.Now().UnixNano())
	var timeout <-chan time.Time
	for {
		f.mu.Lock()
		changed := f.changed
		f.mu.Unlock()
		v := f.Current()
		if v != nil && v.Holding || f.End() != nil {
			return v, nil
		}
		if timeout == nil {
			t := time.NewTimer(firstWait)
			defer t.Stop()
			timeout = t.C
			if p := f.poke.Load(); p != nil {
				(*p)()
			}
		}
		select {
		case <-changed:
			v.Release()
		case <-timeout:
			return v, nil
		case <-ctx.Done():
			v.Release()
			return nil, context.Cause(ctx)
		}
	}
}
