package ingest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/sink"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/ingest/transform"
	"github.com/thermocline/thermocline/internal/errs"
)

// errAgain means that the stream was left because a table stopped: it is opened
// again for the others.
var errAgain = errors.New("open the stream again")

// errCopied means that a bounded pipeline has copied everything.
var errCopied = errors.New("everything is copied")

// follow follows the source from the earliest position of the tables. It ends
// when ctx does, or with an error.
func (a *attempt) follow(ctx context.Context) error {
	a.onWake(a.poke)
	defer a.onWake(nil)
	for {
		if _, err := a.asides.begin(); err != nil {
			return err
		}
		if !a.followed() && slices.ContainsFunc(a.set.Tables, (*sink.Table).NeedsCopy) {
			if err := a.awaitAsides(ctx); err != nil {
				return err
			}
			continue
		}
		f, err := a.newFollower()
		if err != nil || f == nil {
			return err
		}
		state := Streaming
		if a.copying() {
			state = Snapshotting
		}
		a.p.set(func(s *Status) { s.State, s.Error = state, "" })
		err = f.open(ctx)
		if err == nil {
			err = f.loop(ctx)
			err = errors.Join(err, f.stream.Close())
		}
		if errs.Is(err, errs.SourceGone) {
			err = a.heal(err)
		}
		a.showTables()
		if errors.Is(err, errCopied) {
			return a.stopReasons()
		}
		if errors.Is(err, errAgain) {
			continue
		}
		return err
	}
}

// follower is one stream and the tables that it feeds.
type follower struct {
	a      *attempt
	from   source.Position
	tables []*source.Table
	sinks  [][]*sink.Table // by position in tables
	stream source.Stream
	wait   *waiter
	copier *copier // of the tables that are copied in chunks, nil: none

	recopy     []*sink.Table   // to be copied again behind this transaction
	grown      source.Position // new tables came in this transaction: before it
	renamed    bool            // with rows that are not in the log
	notBefore  time.Time       // transactions before it do not count (scan.startup.mode: timestamp)
	defined    bool            // definitions changed in this transaction
	inTxn      bool            // rows of an unfinished transaction were appended
	catchingUp bool            // some table still skips transactions
	dirtyAt    time.Time       // first uncommitted change
	lastCommit time.Time
	lastTime   time.Time // source time of the last transaction

	published   time.Time // when a view for live reads was
	unpublished bool      // rows came since
}

// newFollower takes the tables that are followed and where the earliest is.
func (a *attempt) newFollower() (*follower, error) {
	f := &follower{a: a}
	at := map[source.ID]int{}
	least := map[source.ID]source.Position{}
	for _, t := range a.set.Tables {
		if t.Stopped != "" || t.Start == nil {
			continue
		}
		if f.from == nil {
			f.from = t.Start
		}
		f.from = f.from.Meet(t.Start)
		for _, d := range t.Definitions {
			i, ok := at[d.ID]
			if !ok {
				i = len(f.tables)
				at[d.ID] = i
				c := *d
				f.tables, f.sinks = append(f.tables, &c), append(f.sinks, nil)
				least[d.ID] = t.Start
			} else {
				// Rows are decoded as the earliest table needs it, and split
				// where any table's identity changes.
				ids, before := f.tables[i].Identity, f.tables[i].BeforeImages || d.BeforeImages
				if least[d.ID].Covers(t.Start) {
					c := *d
					f.tables[i], least[d.ID] = &c, t.Start
				}
				ids = append(slices.Clone(ids), d.Identity...)
				slices.Sort(ids)
				f.tables[i].Identity, f.tables[i].BeforeImages = slices.Compact(ids), before
			}
			f.sinks[i] = append(f.sinks[i], t)
		}
	}
	if f.from == nil {
		return nil, a.stopReasons()
	}
	for _, d := range f.tables {
		d.Since = least[d.ID]
	}
	for _, t := range a.set.Tables {
		t.CaughtUp = t.Start != nil && f.from.Covers(t.Start)
		f.catchingUp = f.catchingUp || t.Start != nil && t.Stopped == "" && !t.CaughtUp
	}
	return f, nil
}

func (f *follower) open(ctx context.Context) (err error) {
	if f.a.p.def.Source.Startup == pipeline.Timestamp {
		if s, ok := f.a.src.(source.Starting); ok {
			if _, f.notBefore, err = s.StartAt(ctx, string(pipeline.Timestamp)); err != nil {
				return err
			}
		}
	}
	f.stream, err = f.a.src.Stream(ctx, f.from, f.tables)
	return err
}

// idleTick is how often the loop looks around without changes.
const idleTick = time.Second

// How often the state file follows while rows are committed, and while only
// the position moves.
const (
	stateBusy = 2 * time.Second
	stateIdle = 15 * time.Second
)

// linger is how long the first change after a pause waits for company.
func (f *follower) linger() time.Duration {
	return min(20*time.Millisecond, f.a.p.def.Settings.CommitInterval/4)
}

// due is when the waiting changes are to be committed: soon after the first,
// but not more often than the interval.
func (f *follower) due() time.Time {
	d := f.dirtyAt.Add(f.linger())
	if x := f.lastCommit.Add(f.a.p.def.Settings.CommitInterval); x.After(d) {
		d = x
	}
	return d
}

// loop reads the stream and commits rounds, until ctx ends (nil) or something
// breaks. Rows that are not committed when it returns are thrown away.
func (f *follower) loop(ctx context.Context) (err error) {
	a := f.a
	w := &waiter{parent: ctx}
	f.wait = w
	defer w.close()
	if a.p.live != nil {
		a.p.live.Feed.OnAsk(w.poke)
	}
	f.startCopier(ctx)
	defer func() { f.copier.close() }()
	a.setPoke(w.poke)
	defer a.setPoke(nil)
	for {
		err := f.beside(ctx)
		if err == nil {
			err = f.takeCopied(ctx)
		}
		if err != nil {
			if errors.Is(err, errCopied) || errors.Is(err, errAgain) {
				return err
			}
			return f.discard(err)
		}
		if err := f.publish(false); err != nil {
			return f.discard(err)
		}
		wake := time.Now().Add(idleTick)
		if !f.inTxn && !f.dirtyAt.IsZero() {
			wake = f.due()
		}
		if at := f.liveAt(); !at.IsZero() && at.Before(wake) {
			wake = at
		}
		ev, err := f.stream.Next(w.until(wake))
		switch {
		case err == nil:
			if err := f.take(ctx, ev); err != nil {
				return f.discard(err)
			}
		case ctx.Err() != nil:
			return f.drain()
		case w.over():
			if err := f.tick(); err != nil {
				return f.discard(err)
			}
		default:
			// The stream broke. What is complete is kept.
			if !f.inTxn && (a.set.Changed() || a.set.CopyChanged()) {
				if e := f.commit(true); e != nil {
					return f.discard(e)
				}
			}
			return f.discard(err)
		}
	}
}

// waiter gives a context with a deadline that moves: one serves until it has
// passed, or an earlier one is wanted.
type waiter struct {
	parent context.Context

	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
	at     time.Time
	poked  bool
}

func (w *waiter) until(at time.Time) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil || at.Before(w.at) || w.ctx.Err() != nil {
		if w.cancel != nil {
			w.cancel()
		}
		w.at = at
		w.ctx, w.cancel = context.WithDeadline(w.parent, at)
	}
	if w.poked {
		w.poked = false
		w.cancel()
	}
	return w.ctx
}

// poke ends the wait, or the next one if there is none. Any goroutine may call it.
func (w *waiter) poke() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.poked = true
	if w.cancel != nil {
		w.cancel()
	}
}

func (w *waiter) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ctx != nil && w.ctx.Err() != nil
}

func (w *waiter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel != nil {
		w.cancel()
	}
}

// tick looks whether a commit is due, and keeps the low-water position going.
func (f *follower) tick() error {
	if f.inTxn {
		return nil
	}
	if copies := f.copyDue(); copies || !f.dirtyAt.IsZero() {
		if !copies && time.Now().Before(f.due()) {
			return nil
		}
		return f.commit(copies)
	}
	f.a.p.set(func(s *Status) { s.Behind = 0 })
	f.a.set.Advance(f.stream.Position())
	f.a.set.Rebase(f.a.work)
	if time.Since(f.published) >= idleTick {
		if err := f.publish(true); err != nil {
			return err
		}
	}
	return f.a.set.SaveStateSoon(f.a.work, stateIdle)
}

// discard throws away what is not committed and returns err.
func (f *follower) discard(err error) error {
	a := f.a
	if f.inTxn || a.set.Changed() || a.set.CopyChanged() {
		a.p.set(func(s *Status) { s.Discarded++ })
	}
	f.inTxn, f.defined, f.dirtyAt, f.recopy, f.grown, f.renamed = false, false, time.Time{}, nil, nil, false
	defer func() {
		if f.copier != nil {
			for _, t := range a.set.Tables {
				f.copier.again(t)
			}
		}
	}()
	if e := f.copier.locked(func() error { return a.set.Discard(a.work) }); e != nil && a.work.Err() == nil {
		a.p.log.Warn("files of rows that are not committed stay behind", "error", e)
	}
	return err
}

// drain commits what was read when the pipeline is asked to end; a transaction
// that has begun is read to its end if that comes soon.
func (f *follower) drain() error {
	ctx, cancel := context.WithTimeout(f.a.work, drainTime/4)
	defer cancel()
	for f.inTxn {
		ev, err := f.stream.Next(ctx)
		if err == nil {
			err = f.take(ctx, ev)
		}
		if err != nil {
			f.discard(nil)
			return nil // it is read again at the next start
		}
	}
	if f.a.set.Changed() || f.a.set.CopyChanged() {
		if err := f.commit(true); err != nil {
			return f.discard(err)
		}
	}
	f.a.set.Advance(f.stream.Position())
	return nil
}

// copyWorkers is how many chunks are read at once where the pipeline does not say.
const copyWorkers = 4

// startCopier starts reading the tables that are copied in chunks.
func (f *follower) startCopier(ctx context.Context) {
	src, ok := f.a.src.(source.Chunked)
	if !ok {
		return
	}
	workers := f.a.p.def.Settings.Parallelism
	if workers <= 1 {
		workers = copyWorkers
	}
	if f.copier = newCopier(ctx, src, f.a.p.budget, f.a.set.Tables, workers, f.wait.poke); f.copier != nil {
		f.copier.enable()
	}
}

// takeCopied writes a batch of a chunk that waits, between two transactions, and
// ends copies that are complete.
func (f *follower) takeCopied(ctx context.Context) error {
	if f.copier == nil || f.inTxn {
		return nil
	}
	a := f.a
	for range copyBatches {
		x := f.copier.take()
		if x == nil {
			break
		}
		err := f.copier.written(x, func() error {
			a.p.set(func(s *Status) { s.RowsRead += int64(x.batch.Len) })
			return x.p.t.AppendCopied(a.work, x.p.def, x.batch)
		})
		if x.err == nil && x.invalid > 0 {
			a.countInvalid(invalid(x.invalid), x.p.def)
		}
		if errs.Is(err, errs.TableStopped) {
			f.discard(nil)
			a.p.log.Error("the table cannot be copied", "table", x.p.t.ID.String(), "error", err)
			if err := a.set.Stop(a.work, x.p.t, err.Error()+"; "+a.recopyHint(x.p.t)); err != nil {
				return err
			}
			return errAgain
		}
		if err != nil {
			return err
		}
	}
	if f.copyDue() {
		if err := f.commit(true); err != nil {
			return err
		}
	}
	return f.finishCopies(ctx)
}

// copyDue reports whether a copying table should be committed. Workers change what
// it looks at.
func (f *follower) copyDue() (due bool) {
	if f.copier == nil {
		return false
	}
	f.copier.mu.Lock()
	defer f.copier.mu.Unlock()
	return f.a.set.CopyDue()
}

// copyBatches is how many batches of chunks are written at a time.
const copyBatches = 4

// finishCopies ends the copies whose chunks are all there and whose barrier the
// stream has passed.
func (f *follower) finishCopies(ctx context.Context) error {
	a := f.a
	left := false
	for _, t := range a.set.Tables {
		if t.Copying == nil || t.Stopped != "" {
			continue
		}
		left = true
		var barrier source.Position
		if err := f.copier.locked(func() (err error) {
			barrier, err = t.Barrier(func() (source.Position, error) { return a.src.Current(ctx) })
			return err
		}); err != nil {
			return err
		}
		if barrier == nil || !f.stream.Position().Covers(barrier) {
			continue
		}
		if a.set.Changed() || a.set.CopyChanged() {
			if err := f.commit(true); err != nil {
				return err
			}
		}
		if err := f.copier.locked(func() error { return a.set.FinishCopy(a.work, t, f.stream.Position()) }); err != nil {
			a.doubt = true
			return err
		}
		a.p.log.Info("copied", "table", t.ID.String(), "rows", t.Rows)
		a.showTables()
	}
	if !left || a.copying() {
		return nil
	}
	f.copier.close()
	f.copier = nil
	a.p.set(func(s *Status) { s.State = Streaming })
	if a.bounded() {
		return errCopied
	}
	return nil
}

// take handles one event.
func (f *follower) take(ctx context.Context, ev *source.Event) error {
	a := f.a
	switch ev.Kind {
	case source.RowsEvent:
		return f.rows(ctx, ev)
	case source.CommitEvent:
		f.inTxn = false
		f.lastTime = ev.Time
		a.p.set(func(s *Status) { s.Transactions++ })
		if f.catchingUp {
			f.catchUp()
		}
		if f.defined {
			f.defined = false
			if err := f.commit(true); err != nil {
				return err
			}
			return f.changed(ctx)
		}
		if f.grown != nil || len(f.recopy) > 0 {
			if err := f.settle(); err != nil {
				return err
			}
			return f.changed(ctx)
		}
		copies := f.copyDue()
		if !a.set.Changed() {
			if copies {
				return f.commit(true)
			}
			return nil
		}
		now := time.Now()
		if f.dirtyAt.IsZero() {
			f.dirtyAt = now
		}
		if most := a.p.def.Settings.CommitBytes; !copies && now.Before(f.due()) && (most == 0 || a.set.Waiting() < most) {
			return nil
		}
		return f.commit(copies)
	case source.StopEvent:
		return f.stop(ev)
	case source.AlterEvent, source.TruncateEvent, source.DropEvent, source.RowsLostEvent:
		return f.define(ctx, ev)
	case source.NewTableEvent:
		f.appeared(ev)
	case source.NoticeEvent:
		a.p.log.Info(ev.Reason)
	}
	return nil
}

// rows appends the rows of an event to the tables that do not have them.
func (f *follower) rows(ctx context.Context, ev *source.Event) error {
	a := f.a
	def := f.tables[ev.Table]
	if ev.Time.Before(f.notBefore) {
		return nil
	}
	var wanted []*sink.Table
	for _, t := range f.sinks[ev.Table] {
		if t.Stopped == "" && (t.CaughtUp || !t.Start.Includes(ev.Txn)) {
			wanted = append(wanted, t)
		}
	}
	for i, t := range wanted {
		rows := ev.Rows
		if i > 0 {
			rows.Rewind()
		}
		f.inTxn, f.unpublished = true, true
		if t.Stamps(def.ID) {
			t.From(transform.Origin{Time: ev.Time, Txn: ev.Txn.String()})
		}
		for done := false; !done; {
			var n int64
			var err error
			n, done, err = t.Append(a.work, def, rows, false)
			a.p.set(func(s *Status) { s.RowsRead += n })
			if errs.Is(err, errs.TableStopped) {
				return f.stopTables(concerned(err, f.sinks[ev.Table]), ev, err.Error())
			}
			if err != nil {
				return err
			}
		}
		if i == 0 {
			a.countInvalid(invalid(rows.Invalid()), def)
		}
	}
	return nil
}

// catchUp notices tables that have reached their own position.
func (f *follower) catchUp() {
	pos := f.stream.Position()
	f.catchingUp = false
	for _, t := range f.a.set.Tables {
		if t.Start == nil || t.Stopped != "" || t.CaughtUp {
			continue
		}
		t.CaughtUp = pos.Covers(t.Start)
		f.catchingUp = f.catchingUp || !t.CaughtUp
	}
	if f.copier != nil {
		f.copier.enable()
	}
}

// commit ends a round, of the tables being copied too if copies is set.
func (f *follower) commit(copies bool) error {
	a := f.a
	var rows int64
	if a.set.Holding() && !f.catchingUp && a.set.Changed() {
		// Nothing is committed that was not in a view before.
		if _, err := a.set.Publish(a.work, f.stream.Position()); err != nil {
			return f.refused(err)
		}
	}
	err := f.copier.locked(func() (err error) {
		rows, err = a.set.Commit(a.work, f.stream.Position(), f.lastTime, copies)
		return err
	})
	if te := (*sink.TableError)(nil); errors.As(err, &te) && errs.Is(err, errs.TableStopped) {
		return f.refused(err)
	}
	if err != nil {
		a.doubt = true
		return err
	}
	f.lastCommit, f.dirtyAt = time.Now(), time.Time{}
	a.progress = true
	lag := time.Duration(-1)
	if !f.lastTime.IsZero() {
		lag = max(f.lastCommit.Sub(f.lastTime), 0)
	}
	a.p.set(func(s *Status) {
		s.RowsCommitted += rows
		s.Rounds++
		s.Lag, s.Behind = lag, max(lag, 0)
	})
	a.showTables()
	if !f.catchingUp && a.p.live != nil {
		a.set.Rebase(a.work)
		f.published, f.unpublished = f.lastCommit, false
		if _, err := a.set.Publish(a.work, f.stream.Position()); err != nil {
			return f.refused(err)
		}
	}
	return a.set.SaveStateSoon(a.work, stateBusy)
}

// stop stops the tables that a source table feeds, keeping what came before.
func (f *follower) stop(ev *source.Event) error {
	if f.defined { // tables follow the same statement: they keep what they have
		for _, t := range f.sinks[ev.Table] {
			if t.Stopped == "" && (t.CaughtUp || !t.Start.Includes(ev.Txn)) {
				if err := f.stop1(t, f.tables[ev.Table].ID, ev.Reason); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if !f.inTxn && (f.a.set.Changed() || f.a.set.CopyChanged()) {
		if err := f.commit(true); err != nil {
			return err
		}
	}
	if !f.inTxn {
		f.a.set.Advance(f.stream.Position())
	}
	return f.stopTables(f.sinks[ev.Table], ev, ev.Reason)
}

// concerned returns the tables that an error of appending rows stops: the one
// that it names, or else all.
func concerned(err error, all []*sink.Table) []*sink.Table {
	if te := (*sink.TableError)(nil); errors.As(err, &te) {
		return []*sink.Table{te.Table}
	}
	return all
}

// stopTables marks tables as stopped before the event's transaction, unless
// they already have it; without an event, at what they have committed. Rows of an unfinished transaction are thrown away and
// read again for the others.
func (f *follower) stopTables(tables []*sink.Table, ev *source.Event, reason string) error {
	a := f.a
	if f.inTxn || ev == nil || a.set.Changed() {
		f.discard(nil)
	}
	for _, t := range tables {
		if t.Stopped != "" || ev != nil && !t.CaughtUp && t.Start.Includes(ev.Txn) {
			continue
		}
		a.p.log.Error("a table is not followed any more", "table", t.ID.String(), "reason", reason)
		if err := a.set.Stop(a.work, t, reason+"; "+a.recopyHint(t)); err != nil {
			return err
		}
	}
	return errAgain
}
