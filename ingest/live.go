package ingest

import (
	"errors"
	"time"

	"github.com/thermocline/thermocline/ingest/route"
	"github.com/thermocline/thermocline/ingest/sink"
	"github.com/thermocline/thermocline/internal/errs"
)

// Live reads (DESIGN D10): while queries ask for them, the writers hold the rows
// of a round, and a view of all tables is published soon after each transaction,
// before a round is committed, and after it. See sink.Live.

// liveShare is the part of the memory for ingest that held rows may take.
const liveShare = 4

// publishEvery is how often views are published while rows come.
const publishEvery = 25 * time.Millisecond

// openLive opens the feed of the run's tables.
func (p *run) openLive(lake *Lake, identity string, targets []route.Target) {
	if p.o.Live == nil || lake.Root == "" {
		return
	}
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.ID.String()
	}
	feed := p.o.Live.Open(lake.Root, p.name(), names)
	if p.live != nil {
		p.live.Follow(identity)
	} else {
		p.live = sink.NewLive(feed, identity, p.budget.Child("live rows", p.budget.Limit()/liveShare))
	}
}

// endLive says how the run ended to who reads its tables live.
func (p *run) endLive(err error) {
	if p.live == nil {
		return
	}
	reason := "was stopped"
	if err != nil {
		reason = "has failed: " + err.Error()
	}
	p.live.Feed.Close(reason)
}

// liveAt is when the next view is to be published, zero: when something happens.
func (f *follower) liveAt() time.Time {
	if !f.unpublished || f.inTxn || f.catchingUp || !f.a.set.Holding() {
		return time.Time{}
	}
	return f.published.Add(publishEvery)
}

// publish publishes a view when it is time, or at once. It begins and ends the
// holding of rows as queries want it.
func (f *follower) publish(now bool) error {
	a := f.a
	if a.p.live == nil || f.inTxn || f.defined || f.catchingUp {
		return nil
	}
	now = now || f.published.IsZero()
	if wanted := a.p.live.Feed.Wanted(); wanted != a.set.Holding() {
		if a.set.Changed() {
			if !wanted {
				return nil // with the round
			}
			// Rows that are in no view are committed, so that all after them are held.
			if err := f.commit(false); err != nil {
				return err
			}
		}
		a.set.Hold(a.work, wanted)
		now = true
	}
	if !now && (!f.unpublished || time.Since(f.published) < publishEvery) {
		return nil
	}
	f.published, f.unpublished = time.Now(), false
	_, err := a.set.Publish(a.work, f.stream.Position())
	return f.refused(err)
}

// refused stops the table whose row a transform refused, before anything of the
// round was committed.
func (f *follower) refused(err error) error {
	if te := (*sink.TableError)(nil); errors.As(err, &te) && errs.Is(err, errs.TableStopped) {
		return f.stopTables([]*sink.Table{te.Table}, nil, err.Error())
	}
	return err
}
