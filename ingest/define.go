package ingest

import (
	"context"
	"slices"

	"github.com/thermocline/thermocline/ingest/evolve"
	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/sink"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// policy is what the pipeline says of schema changes.
func (p *run) policy() *evolve.Policy {
	return &evolve.Policy{Behavior: p.def.Settings.SchemaChange, Include: p.def.Sink.Include, Exclude: p.def.Sink.Exclude, Destructive: p.def.Sink.Destructive}
}

// define follows a statement that changed the definition of a source table, or
// took its rows away: everything before it is committed, then the lake tables
// follow, each by itself, and the commit at the statement's own end makes it last.
// A table that cannot follow stops before the statement.
func (f *follower) define(ctx context.Context, ev *source.Event) error {
	a := f.a
	if f.inTxn && !f.defined {
		return f.stopTables(f.sinks[ev.Table], ev, "its definition changed inside of a transaction: "+ev.Reason)
	}
	if !f.defined {
		if a.set.Changed() || a.set.CopyChanged() {
			if err := f.commit(true); err != nil {
				return err
			}
		}
		a.set.Advance(f.stream.Position())
	}
	// Nothing may be committed until the position is behind the statement.
	f.inTxn = true
	id := f.tables[ev.Table].ID
	var identity []int
	before, live := false, false
	for _, t := range f.sinks[ev.Table] {
		if t.Stopped != "" {
			continue
		}
		if t.CaughtUp || !t.Start.Includes(ev.Txn) {
			if slices.Contains(f.recopy, t) { // whatever it is now, it is copied
				f.defined = true
				continue
			}
			err := f.copier.locked(func() error { return f.follow1(ctx, t, ev) })
			if errs.Is(err, errs.TableStopped) {
				if err := f.stop1(t, id, err.Error()+" ("+ev.Reason+")"); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			f.copier.again(t)
			f.defined = true
		}
		live = true
		if d := t.Definition(id); d != nil {
			identity, before = append(identity, d.Identity...), before || d.BeforeImages
		}
	}
	if ev.Kind == source.AlterEvent {
		slices.Sort(identity)
		ev.Definition.Identity, ev.Definition.BeforeImages = slices.Compact(identity), before
		f.tables[ev.Table] = ev.Definition
	}
	a.showTables()
	if !live && !slices.ContainsFunc(a.set.Tables, func(t *sink.Table) bool { return t.Stopped == "" && t.Start != nil }) {
		return errAgain // nothing is left to be followed
	}
	return nil
}

// follow1 lets one lake table follow.
func (f *follower) follow1(ctx context.Context, t *sink.Table, ev *source.Event) error {
	a := f.a
	p := a.p.policy()
	table := t.ID.String()
	kind := evolve.Truncate
	switch ev.Kind {
	case source.RowsLostEvent:
		again, err := f.lost(t, ev)
		if again {
			a.p.log.Warn("rows of a source table changed without a trace in the log; it is copied again", "table", table, "statement", ev.Reason)
			a.set.MarkRecopy(t, true)
			f.recopy = append(f.recopy, t)
		}
		return err
	case source.AlterEvent:
		again := p.Behavior == evolve.StrictEvolve && p.Wants(evolve.AddColumn) && a.p.def.Source.Startup == pipeline.Initial && filled(t.Definition(ev.Definition.ID), ev.Definition)
		if again { // the state says so before the change lasts
			a.set.MarkRecopy(t, true)
		}
		notes, err := a.set.Evolve(a.work, t, ev.Definition, p)
		if err != nil {
			if again {
				a.set.MarkRecopy(t, false)
			}
			return err
		}
		if again {
			a.p.log.Info("rows have values in a new column; the table is copied again", "table", table)
			f.recopy = append(f.recopy, t)
		}
		a.p.log.Info("the definition of a source table changed", "table", table, "statement", ev.Reason)
		for _, n := range notes {
			a.p.log.Warn(n, "table", table, "behavior", p.Behavior)
		}
		return nil
	case source.DropEvent:
		kind = evolve.DropTable
	}
	if p.Behavior == evolve.Exception && p.Wants(kind) {
		return errs.Userf(errs.InvalidTable, "follow %s: a schema change came and schema.change.behavior is EXCEPTION: %s", t.ID, ev.Reason)
	}
	what := "the source table is gone; the lake table stays, and is followed again when there is a table of the name"
	if kind == evolve.Truncate {
		what = "the source table was truncated; the rows of the lake table stay"
		switch {
		case !p.Wants(kind) || p.Behavior == evolve.Ignore || p.Behavior == evolve.Exception || len(t.Definitions) > 1:
		case p.Allows(kind):
			t.Truncate()
			a.p.log.Info("the source table was truncated, and the lake table is", "table", table)
			return nil
		case p.Behavior != evolve.Lenient:
			return errs.New(errs.User, errs.TableStopped, "it was truncated; write allow-destructive: [truncate.table] in the sink block to empty the lake table too, or exclude.schema.changes: [truncate.table] to keep its rows")
		}
	}
	a.p.log.Warn(what, "table", table, "statement", ev.Reason)
	return nil
}

// stop1 stops a table before the transaction that is read; the others go on.
func (f *follower) stop1(t *sink.Table, id source.ID, reason string) error {
	f.a.p.log.Error("a table is not followed any more", "table", t.ID.String(), "source", id.String(), "reason", reason)
	return f.a.set.Stop(f.a.work, t, reason+"; "+f.a.recopyHint(t))
}
