package session

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/live"
	"github.com/thermocline/thermocline/internal/errs"
)

// LiveFeeds finds who publishes what a table holds before it is committed. cmd
// joins it with the pipelines of the process. Implementations are safe for
// concurrent use.
type LiveFeeds interface {
	// Feed returns the feed of a table, nil when no pipeline of the process writes
	// it.
	Feed(catalogName string, id catalog.Identifier) *live.Feed
}

// cut is the views that a statement reads, one a pipeline, so that all tables of a
// pipeline are read at one position of its source; or those of a consistent
// transaction, from its begin on.
type cut map[*live.Feed]*live.View

// view returns the cut's view of a feed, nil when there is none to be read.
func (c cut) view(ctx context.Context, f *live.Feed) (*live.View, error) {
	if v := c[f]; v != nil {
		return v, nil
	}
	v, err := f.Ask(ctx)
	if v != nil {
		c[f] = v
	}
	return v, err
}

func (c cut) release() {
	for f, v := range c {
		v.Release()
		delete(c, f)
	}
}

// pinned answers which snapshots the statement reads where it does not say so: as
// its consistent transaction has it, or live.
func (run *statement) pinned() func(string, catalog.Table) (connector.Snapshot, bool) {
	s := run.s
	if f := s.pinnedSnapshot(run.ctx); f != nil || s.text("lake_freshness") != "live" {
		return f
	}
	return func(catalogName string, t catalog.Table) (connector.Snapshot, bool) {
		if run.cut == nil {
			run.cut = cut{}
		}
		return s.liveSnapshot(run.ctx, run.cut, catalogName, t)
	}
}

// liveSnapshot returns what a table holds in a cut. Tables that only their
// committed rows are known of give false, and a note that says why.
func (s *Session) liveSnapshot(ctx context.Context, c cut, catalogName string, t catalog.Table) (connector.Snapshot, bool) {
	r, ok := t.(connector.LiveReadable)
	id := t.ID()
	if !ok || id.System != "" || id.Branch != "" {
		return nil, false
	}
	committed := func(why string, args ...any) (connector.Snapshot, bool) {
		s.warn("Note", errs.New(errs.User, errs.KindNone, "%s is read as committed, not live: "+why, append([]any{id.Database + "." + id.Table}, args...)...))
		return nil, false
	}
	lost := func(why string, args ...any) (connector.Snapshot, bool) {
		return unreadable{t.Schema(), errs.New(errs.Unavailable, errs.KindNone, "read %s live: "+why+"; SET lake_freshness = 'committed' reads what is committed",
			append([]any{id.Database + "." + id.Table}, args...)...)}, true
	}
	var f *live.Feed
	if s.srv.cfg.Live != nil {
		f = s.srv.cfg.Live.Feed(catalogName, id)
	}
	if f == nil {
		return committed("no pipeline of this server writes it")
	}
	v, err := c.view(ctx, f)
	if err != nil {
		return unreadable{t.Schema(), err}, true
	}
	if v == nil {
		switch e := f.End(); {
		case f.Owes():
			return lost("the pipeline %s has not come again to where it was read before", f.Pipeline)
		case e != nil && !e.Whole:
			return lost("the pipeline %s %s, before rows were committed that were read live", f.Pipeline, e.Reason)
		case e != nil:
			return committed("the pipeline %s %s", f.Pipeline, e.Reason)
		}
		return committed("the pipeline %s is starting", f.Pipeline)
	}
	x, ok := v.Tables[id.Database+"."+id.Table]
	switch {
	case !ok || x.UUID != t.UUID():
		return committed("the pipeline %s does not know it yet", f.Pipeline)
	case x.Lost:
		return lost("it was stopped before rows were committed that were read live (%s)", x.Committed)
	case x.Committed != "":
		return committed("%s", x.Committed)
	}
	snap, err := r.Live(ctx, x.LiveRows)
	if err != nil {
		return unreadable{t.Schema(), err}, true
	}
	return snap, true
}
