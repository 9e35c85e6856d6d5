package ingest

import (
	"context"
	"slices"

	"github.com/thermocline/thermocline/ingest/evolve"
	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/route"
	"github.com/thermocline/thermocline/ingest/sink"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// Tables come and are copied again while the pipeline runs: statements of the log
// and requests change what there is between two rounds, and the stream is then
// opened again.

// request asks for something while the pipeline runs.
type request struct {
	recopy string // lake table
	repair bool   // only what differs
	done   chan error
}

// onWake sets what wakes the goroutine that follows, nil when there is none. Until
// it is unset, requests are answered.
func (a *attempt) onWake(f func()) {
	a.asides.onWake(f)
	p := a.p
	p.mu.Lock()
	p.wake = f
	left := p.requests
	if f == nil {
		p.requests = nil
	} else {
		left = nil
	}
	p.mu.Unlock()
	for _, r := range left {
		r.done <- errUnanswered
	}
}

// setPoke sets what ends the present wait of the goroutine that follows.
func (a *attempt) setPoke(f func()) {
	a.pokeMu.Lock()
	defer a.pokeMu.Unlock()
	a.poked = f
}

// poke ends the wait of the goroutine that follows, if it waits. Any goroutine may
// call it.
func (a *attempt) poke() {
	a.pokeMu.Lock()
	defer a.pokeMu.Unlock()
	if a.poked != nil {
		a.poked()
	}
}

// errUnanswered means that the pipeline does not follow at present.
var errUnanswered = errs.New(errs.Unavailable, errs.KindNone, "the pipeline does not follow at present")

// ask hands a request to the running pipeline, and waits for its answer. It is
// errUnanswered when nobody can answer now.
func (p *run) ask(ctx context.Context, r *request) error {
	r.done = make(chan error, 1)
	p.mu.Lock()
	wake := p.wake
	if wake != nil {
		p.requests = append(p.requests, r)
	}
	p.mu.Unlock()
	if wake == nil {
		return errUnanswered
	}
	wake()
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// takeRequests answers what was asked. It reports whether the stream must be opened
// again. Nothing may wait for a commit.
func (a *attempt) takeRequests() (reopen bool, err error) {
	a.p.mu.Lock()
	list := a.p.requests
	a.p.requests = nil
	a.p.mu.Unlock()
	for _, r := range list {
		i := slices.IndexFunc(a.set.Tables, func(t *sink.Table) bool { return t.ID.String() == r.recopy })
		if i < 0 {
			r.done <- errs.Userf(errs.UnknownTable, "copy %s again: it is no lake table of the pipeline %s; %s", r.recopy, a.p.name(), a.knownTables())
			continue
		}
		t := a.set.Tables[i]
		if t.NeedsCopy() { // it is about to be; one that is under way began too early
			if a.asides.isRunning(t) {
				a.asides.redo[t] = true
			}
			r.done <- nil
			continue
		}
		a.p.log.Info("copying a table again", "table", r.recopy)
		e := a.set.Recopy(a.work, t, r.repair)
		r.done <- e
		if e != nil && err == nil {
			a.doubt = true
			err = e
		}
		reopen = true
	}
	if reopen {
		a.showTables()
	}
	return reopen, err
}

func (a *attempt) knownTables() string {
	out := "its tables are "
	for i, t := range a.set.Tables {
		if i > 0 {
			out += ", "
		}
		out += t.ID.String()
	}
	return out
}

// beside looks, between two transactions, at what is asked for and at copies that
// run beside the stream.
func (f *follower) beside(ctx context.Context) error {
	a := f.a
	if f.inTxn {
		return nil
	}
	a.p.mu.Lock()
	asked := len(a.p.requests) > 0
	a.p.mu.Unlock()
	a.asides.mu.Lock()
	copied := len(a.asides.done) > 0
	a.asides.mu.Unlock()
	reopen := false
	if asked || copied {
		if err := f.settle(); err != nil {
			return err
		}
		some, err := a.takeRequests()
		if err != nil {
			return err
		}
		more, err := a.commitAsides()
		if err != nil {
			return err
		}
		reopen = some || more
	}
	if !reopen && len(a.asides.waiting()) > 0 {
		if err := f.settle(); err != nil {
			return err
		}
		followed, err := a.asides.begin()
		if err != nil {
			return err
		}
		reopen = followed
	}
	if reopen {
		return errAgain
	}
	return nil
}

// settle commits what waits and notes the position.
func (f *follower) settle() error {
	if f.a.set.Changed() || f.a.set.CopyChanged() {
		if err := f.commit(true); err != nil {
			return err
		}
	}
	f.a.set.Advance(f.stream.Position())
	return nil
}

// appeared notes that there may be a new table that the pipeline captures.
func (f *follower) appeared(ev *source.Event) {
	p := f.a.p
	if p.def.Source.NewTables == pipeline.LeaveNew || !p.captures(ev.ID) {
		return
	}
	if slices.ContainsFunc(f.a.set.Tables, func(t *sink.Table) bool { return slices.Contains(t.Sources, ev.ID) }) {
		return
	}
	if f.grown == nil {
		f.grown = f.stream.Position()
	}
	f.renamed = f.renamed || ev.Loss == source.LostReplaced
}

// captures reports whether the patterns match a table.
func (p *run) captures(id source.ID) bool {
	if p.def.Source.Tables == "" {
		return false
	}
	include, err := route.ParseSelectors("tables", p.def.Source.Tables)
	if err != nil || !slices.ContainsFunc(include, func(s route.Selector) bool { return s.Match(id) }) {
		return false
	}
	if p.def.Source.Exclude == "" {
		return true
	}
	exclude, err := route.ParseSelectors("tables.exclude", p.def.Source.Exclude)
	return err == nil && !slices.ContainsFunc(exclude, func(s route.Selector) bool { return s.Match(id) })
}

// changed does what the transaction that has ended asks for: tables that came are
// added, and tables whose rows the log does not tell are copied again. Everything
// up to the position is committed.
func (f *follower) changed(ctx context.Context) error {
	a := f.a
	if f.grown == nil && len(f.recopy) == 0 {
		return nil
	}
	before, list := f.grown, f.recopy
	if f.renamed { // what the statement says of it is not what a table that begins here is
		before = f.stream.Position()
	}
	f.grown, f.renamed, f.recopy = nil, false, nil
	again := len(list) > 0
	for _, t := range list {
		if err := a.set.Recopy(a.work, t, false); err != nil {
			a.doubt = true
			return err
		}
	}
	if before != nil {
		more, err := a.grow(ctx, before)
		if err != nil {
			return err
		}
		again = again || more
	}
	if !again {
		return nil
	}
	a.showTables()
	return errAgain
}

// grow adds the tables that the patterns match now. before is where those begin
// that are not copied.
func (a *attempt) grow(ctx context.Context, before source.Position) (bool, error) {
	var kept []source.ID
	for _, t := range a.set.Tables {
		kept = append(kept, t.Sources...)
	}
	targets, err := a.p.resolve(ctx, a.src, kept)
	if err != nil {
		if !ofTable(err) {
			return false, err
		}
		a.p.log.Error("a new table of the source is left out", "error", err)
		return false, nil
	}
	some := false
	for _, target := range targets {
		name := target.ID.String()
		i := slices.IndexFunc(a.set.Tables, func(t *sink.Table) bool { return t.ID.String() == name })
		if i >= 0 {
			t := a.set.Tables[i]
			if !slices.ContainsFunc(target.Sources, func(id source.ID) bool { return !slices.Contains(t.Sources, id) }) {
				continue
			}
			if a.p.def.Source.Startup != pipeline.Initial || a.p.def.Source.NewTables != pipeline.CopyNew {
				a.p.log.Error("a new table of the source is left out: it feeds a lake table that others feed, which would have to be copied again", "table", name)
				continue
			}
			a.p.log.Warn("more tables feed the lake table than when it was copied; it is copied again", "table", name)
			t.Sources = target.Sources
			a.targets[name] = target
			if !t.NeedsCopy() {
				if err := a.set.Recopy(a.work, t, false); err != nil {
					a.doubt = true
					return false, err
				}
			}
			some = true
			continue
		}
		t, err := a.set.Add(ctx, sink.Spec{ID: target.ID, Sources: target.Sources, ShardKey: target.ShardKey})
		if err != nil {
			return false, err
		}
		a.targets[name] = target
		a.p.log.Info("a table came at the source", "table", name)
		if err := a.define(ctx, t); err != nil {
			if !ofTable(err) {
				return false, err
			}
			if err := a.set.Stop(a.work, t, err.Error()); err != nil {
				return false, err
			}
		}
		some = true
	}
	a.came = before
	return some, nil
}

// lost says what becomes of a lake table when rows of its source went or came
// without row events: it is copied again, it stops (an error of kind
// errs.TableStopped), or its rows stay.
func (f *follower) lost(t *sink.Table, ev *source.Event) (recopy bool, _ error) {
	p := f.a.p
	strict := p.def.Settings.SchemaChange == evolve.StrictEvolve && p.def.Source.Startup == pipeline.Initial
	stop := func(what string) (bool, error) {
		return false, errs.New(errs.User, errs.TableStopped, "%s", what)
	}
	switch ev.Loss {
	case source.LostPartition:
		switch do := p.def.Settings.DropPartition; {
		case do == "mirror" || do == "" && strict:
			return true, nil
		case do == "ignore":
			p.log.Warn("partitions of the source were dropped; their rows stay in the lake", "table", t.ID.String(), "statement", ev.Reason)
			return false, nil
		}
		return stop("rows vanished with a partition; write on-drop-partition: mirror in the pipeline block to copy the table again then, or ignore to keep its rows")
	case source.LostRecreated:
		if !strict {
			p.log.Warn("the source table was created anew; the rows of the lake table stay", "table", t.ID.String(), "statement", ev.Reason)
		}
		return strict, nil
	case source.LostReplaced:
		if strict {
			return true, nil
		}
		return stop("another table was renamed to it, whose rows are not in the log")
	}
	if strict {
		return true, nil
	}
	if ev.Loss == source.LostTransaction {
		return stop("rows of an XA transaction are missing that may be of it")
	}
	return stop("its rows were exchanged for others that are not in the log")
}

// filled reports whether a new definition has columns that rows got values in
// which the log does not tell.
func filled(old, now *source.Table) bool {
	if old == nil {
		return false
	}
	return slices.ContainsFunc(now.Columns, func(c source.Column) bool {
		return c.Filled && !slices.ContainsFunc(old.Columns, func(o source.Column) bool { return o.ID == c.ID })
	})
}
