package sink

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/live"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/memory"
)

// Live is where the Sets of a run, one after the other, publish what their tables
// hold (DESIGN D10). It belongs to the run's goroutine.
//
// A view is published between two transactions, and before each round is
// committed, so that nothing is committed that was not published before; after the
// round the same rows come from its snapshots. When a round is thrown away, the
// view before stays until the stream has come to its position again.
type Live struct {
	Feed   *live.Feed
	Budget *memory.Budget // pays for held rows

	at       source.Position // of the newest view
	identity string          // of the source that it is of
}

// Mark is where the newest view of a feed is.
type Mark struct {
	Identity string // of the source
	At       source.Position
}

// NewLive makes what the Sets of a run publish to. A feed whose views an earlier
// run left uncommitted goes on from their position.
func NewLive(feed *live.Feed, identity string, budget *memory.Budget) *Live {
	l := &Live{Feed: feed, Budget: budget, identity: identity}
	if m, ok := feed.Mark.(Mark); ok && feed.Owes() && m.Identity == identity {
		l.at = m.At
	}
	return l
}

// Follow says which server is the source now. Another one may never come to where
// the one before was: what that had alone is lost.
func (l *Live) Follow(identity string) {
	if l.identity != identity {
		l.identity, l.at = identity, nil
	}
}

// Holding reports whether rows are held for live reads.
func (s *Set) Holding() bool { return s.holding }

// Hold begins or ends the holding of rows. No rows wait for a commit, but of
// tables that are being copied.
func (s *Set) Hold(ctx context.Context, on bool) {
	s.holding = on
	var wg sync.WaitGroup
	slots := make(chan struct{}, commitParallel)
	for _, t := range s.Tables {
		t.hold()
		if !on { // bases are not kept until rows are held again
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			t.rebase(ctx)
			<-slots
		})
	}
	wg.Wait()
}

// hold tells the table's writer whether rows are held.
func (t *Table) hold() {
	s := t.set
	if w, ok := t.write.(connector.Holding); ok && s.o.Live != nil {
		w.Hold(s.holding && t.Start != nil && t.Copying == nil, s.o.Live.Budget)
	}
}

// settling reports whether a change of the table waits that is more than rows.
func (t *Table) settling() bool { return t.evolved || t.truncate || t.unshaped }

// Publish makes what the tables hold as of pos, the end of a transaction, what is
// read live. It reports whether it did: not while a definition changes, nor at a
// position before that of an earlier view, nor when memory is too short to hold
// the rows. The rows that wait are handed to the writers. After an error the round
// must be discarded.
func (s *Set) Publish(ctx context.Context, pos source.Position) (done bool, _ error) {
	l := s.o.Live
	if l == nil || l.at != nil && !pos.Covers(l.at) || !s.holding && s.Changed() {
		return false, nil
	}
	for _, t := range s.Tables {
		if t.Stopped != "" || t.Start == nil || t.Copying != nil {
			continue
		}
		if t.settling() {
			return false, nil
		}
		if t.changed {
			if err := t.drain(ctx, false); err != nil {
				return false, err
			}
		}
	}
	before := l.Feed.Current()
	defer before.Release()
	text := pos.String()
	tables := make(map[string]live.Table, len(s.Tables))
	v := live.NewView(text, s.holding, tables)
	for _, t := range s.Tables {
		name := t.ID.String()
		x := live.Table{LiveRows: connector.LiveRows{Base: t.shown, Schema: -1, Position: text}}
		if t.table != nil {
			x.UUID = t.table.UUID()
		}
		switch {
		case t.Stopped != "":
			x.Committed = "it is not followed any more: " + t.Stopped
		case t.Start == nil || t.Copying != nil:
			x.Committed = "it is being copied"
		case t.shown == 0:
			x.Committed = "it has no snapshot"
		}
		if before != nil && x.Committed != "" {
			was := before.Tables[name]
			x.Lost = was.Lost || was.Rows != nil
		}
		if w, ok := t.write.(connector.Holding); t.write != nil && !ok && x.Committed == "" {
			x.Committed = "its connector holds no rows"
		} else if ok && x.Committed == "" && s.holding {
			rows, ok := w.Held()
			if !ok {
				v.Release()
				return false, nil
			}
			x.Rows = rows
		}
		tables[name] = x
	}
	l.at, l.Feed.Mark = pos, Mark{s.o.Identity, pos}
	l.Feed.Publish(v)
	return true, nil
}

// freeze lets a table be read under a schema until the next view: the newest one
// will have changes of definition that are not committed yet.
func (l *Live) freeze(table string, schema int64) {
	if l == nil {
		return
	}
	v := l.Feed.Current()
	defer v.Release()
	if v == nil || v.Tables[table].UUID == "" || v.Tables[table].Schema >= 0 {
		return
	}
	tables := maps.Clone(v.Tables)
	for _, t := range tables {
		if t.Rows != nil {
			t.Rows.Retain()
		}
	}
	x := tables[table]
	x.Schema = schema
	tables[table] = x
	l.Feed.Publish(live.NewView(v.Position, v.Holding, tables))
}

// How old a base may be when rows begin to be held, and how often one table is
// looked at for newer snapshots while they are.
const (
	baseAge     = time.Minute
	rebaseEvery = 5 * time.Second
)

// Rebase puts live reads of a table without waiting rows on its newest snapshot,
// such as a compaction's, a table now and then, so that nobody must keep old ones.
// It is called between rounds.
func (s *Set) Rebase(ctx context.Context) {
	if !s.holding || time.Since(s.rebased) < rebaseEvery {
		return
	}
	s.rebased = time.Now()
	for range s.Tables {
		t := s.Tables[s.turn%len(s.Tables)]
		s.turn++
		if t.rebase(ctx) {
			return
		}
	}
}

// rebase reports whether it looked.
func (t *Table) rebase(ctx context.Context) bool {
	r, ok := t.table.(connector.Readable)
	if !ok || t.changed || t.Stopped != "" || t.Start == nil || t.Copying != nil || time.Since(t.shownAt) < baseAge {
		return false
	}
	if t.verify(ctx) != nil {
		return true // the next round says it
	}
	if sn, err := r.Snapshot(ctx, catalog.Ref{}); err == nil {
		t.show(max(t.shown, sn.Version()))
	}
	return true
}

// show makes a snapshot the base of live reads.
func (t *Table) show(id int64) { t.shown, t.shownAt = id, time.Now() }
