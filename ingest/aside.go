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

// asides copy tables beside the stream that the others are followed by: tables
// that are new, and tables that are copied again. Each batch of them is one
// consistent read by a connection of its own. A table that is complete waits until
// the follower commits it, between two rounds; then the stream is read again from
// the position of the copy, and the others skip what they have.
type asides struct {
	a      *attempt
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	// Of the follower: when a copy that failed is tried again, and copies that count
	// for nothing, as another was asked for since they began.
	retry map[*sink.Table]time.Time
	redo  map[*sink.Table]bool

	mu      sync.Mutex
	running map[*sink.Table]bool
	done    []*asideCopy
	wake    func()
}

// asideCopy is one table of a batch.
type asideCopy struct {
	t       *sink.Table
	x       *sink.Aside
	defs    []*source.Table
	from    []int // positions of defs in the batch
	pos     source.Position
	invalid map[*source.Table]int64
	err     error
}

func newAsides(ctx context.Context, a *attempt) *asides {
	s := &asides{a: a, retry: map[*sink.Table]time.Time{}, redo: map[*sink.Table]bool{}, running: map[*sink.Table]bool{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// asideRetry is the pause after a copy that may succeed later.
const asideRetry = time.Second

// onWake sets what is called, from any goroutine, when a copy is complete.
func (s *asides) onWake(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake = f
}

func (s *asides) isRunning(t *sink.Table) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[t]
}

// take returns the copies that are complete, or have failed.
func (s *asides) take() []*asideCopy {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.done
	s.done = nil
	return out
}

// finished forgets a table that is no longer copied.
func (s *asides) finished(t *sink.Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, t)
}

// close ends the copies and throws away what they have.
func (s *asides) close() {
	if s == nil {
		return
	}
	s.cancel()
	s.wg.Wait()
	for _, c := range s.take() {
		s.discard(c)
	}
}

func (s *asides) discard(c *asideCopy) {
	if c.x == nil {
		return
	}
	if err := c.x.Discard(s.a.work); err != nil && s.a.work.Err() == nil {
		s.a.p.log.Warn("files of a copy that is not committed stay behind", "table", c.t.ID.String(), "error", err)
	}
}

// waiting are the tables that wait for a copy and have none under way.
func (s *asides) waiting() (out []*sink.Table) {
	for _, t := range s.a.set.Tables {
		if t.NeedsCopy() && !s.isRunning(t) && !time.Now().Before(s.retry[t]) {
			out = append(out, t)
		}
	}
	return out
}

// begin starts copying the tables that wait. It reports whether there are tables
// that are followed now: those that begin empty, and those that are copied in
// chunks. What keeps one table from being copied stops that table alone.
func (s *asides) begin() (followed bool, err error) {
	a := s.a
	pending := s.waiting()
	if len(pending) == 0 {
		return false, nil
	}
	defer func() {
		a.came = nil
		a.showTables()
	}()
	if a.p.def.Source.Startup != pipeline.Initial || a.p.def.Source.NewTables == pipeline.FollowNew {
		copies := pending[:0:0]
		for _, t := range pending {
			if t.Replaces() {
				copies = append(copies, t)
				continue
			}
			if err := a.startNew(s.ctx, t); err != nil {
				return followed, err
			}
			followed = followed || t.Start != nil
		}
		if pending = copies; len(pending) == 0 {
			return followed, nil
		}
	}
	if pending, err = a.present(s.ctx, pending); err != nil || len(pending) == 0 {
		return followed, err
	}
	src, err := a.p.openSource()
	if err != nil {
		return followed, err
	}
	owned := true
	defer func() {
		if owned {
			err = errors.Join(err, src.Close())
		}
	}()
	if err := src.Check(s.ctx); err != nil {
		return followed, err
	}
	if err := a.set.Intend(a.work, pending); err != nil {
		return followed, err
	}
	ids, at := sourcesOf(pending)
	sn, err := src.Snapshot(s.ctx, ids)
	if err != nil {
		if errs.Is(err, errs.UnknownTable) { // dropped since: looked at again
			s.later(pending)
			return followed, nil
		}
		return followed, err
	}
	defer func() {
		if owned {
			err = errors.Join(err, sn.Close())
		}
	}()
	var batch []*asideCopy
	for _, t := range pending {
		tables := make([]*source.Table, len(t.Sources))
		c := &asideCopy{t: t, pos: sn.Position(), invalid: map[*source.Table]int64{}}
		for i, id := range t.Sources {
			tables[i] = sn.Tables()[at[id]].Clone()
			c.from = append(c.from, at[id])
		}
		chunks, err := a.beginChunks(t, tables, sn.Position())
		if err == nil && chunks {
			followed = true
			continue
		}
		if err == nil {
			err = a.create(s.ctx, t, tables)
		}
		if err != nil {
			if !ofTable(err) {
				return followed, err
			}
			if err := a.cannotCopy(t, errs.New(errs.User, errs.TableStopped, "%w", err)); err != nil {
				return followed, err
			}
			continue
		}
		c.defs = tables
		c.x = a.set.Aside(t)
		batch = append(batch, c)
	}
	if len(batch) == 0 {
		return followed, nil
	}
	s.mu.Lock()
	for _, c := range batch {
		s.running[c.t] = true
	}
	s.mu.Unlock()
	a.p.log.Info("copying beside the stream", "tables", len(batch), "position", sn.Position().String())
	owned = false
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		s.read(sn, batch)
		if err := errors.Join(sn.Close(), src.Close()); err != nil && s.ctx.Err() == nil {
			a.p.log.Warn("end a consistent read", "error", err)
		}
	}()
	return followed, nil
}

// ofTable reports whether an error is about what one table is, rather than a
// failure.
func ofTable(err error) bool {
	c := errs.ClassOf(err)
	return (c == errs.User || c == errs.Unsupported) && !errs.Is(err, errs.AccessDenied) && !errs.Is(err, errs.SourceNotReady)
}

func sourcesOf(tables []*sink.Table) (ids []source.ID, at map[source.ID]int) {
	at = map[source.ID]int{}
	for _, t := range tables {
		for _, id := range t.Sources {
			if _, ok := at[id]; !ok {
				at[id] = len(ids)
				ids = append(ids, id)
			}
		}
	}
	return ids, at
}

// present leaves out tables whose sources are gone: those that were never copied
// are forgotten, the others stop.
func (a *attempt) present(ctx context.Context, pending []*sink.Table) ([]*sink.Table, error) {
	all, err := a.src.Tables(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(pending, func(t *sink.Table) bool {
		gone := slices.IndexFunc(t.Sources, func(id source.ID) bool { return !slices.Contains(all, id) })
		if gone < 0 || err != nil {
			return err != nil
		}
		if !t.Replaces() {
			delete(a.targets, t.ID.String())
			err = a.set.Remove(a.work, t)
			return true
		}
		err = a.set.Stop(a.work, t, "it is to be copied again, but there is no table "+t.Sources[gone].String()+" at the source; "+a.recopyHint(t))
		return true
	}), err
}

// recopyHint says how a stopped table is copied again.
func (a *attempt) recopyHint(t *sink.Table) string {
	return "CALL sys.resnapshot('" + a.p.name() + "', '" + t.ID.String() + "') copies it again (without a server: drop the lake table and start again)"
}

// startNew begins a table that came while the pipeline ran, empty: its rows are in
// the log, behind the stream's position.
func (a *attempt) startNew(ctx context.Context, t *sink.Table) error {
	tables, err := a.src.Describe(ctx, t.Sources)
	if err == nil {
		err = a.create(ctx, t, tables)
	}
	switch {
	case errs.Is(err, errs.UnknownTable):
		delete(a.targets, t.ID.String())
		return a.set.Remove(a.work, t)
	case err != nil && ofTable(err):
		return a.cannotCopy(t, errs.New(errs.User, errs.TableStopped, "%w", err))
	case err != nil:
		return err
	}
	pos := a.came
	if pos == nil {
		if pos, err = a.src.Current(ctx); err != nil {
			return err
		}
	}
	if _, err := a.set.CommitCopy(a.work, t, pos); err != nil {
		a.doubt = true
		return err
	}
	return nil
}

// later makes tables wait.
func (s *asides) later(tables []*sink.Table) {
	for _, t := range tables {
		s.retry[t] = time.Now().Add(asideRetry)
	}
}

// handOver is how long complete copies are held back for the rest of their batch:
// each handing over reads a part of the log again.
const handOver = 2 * time.Second

// read reads the tables of a batch.
func (s *asides) read(sn source.Snapshot, batch []*asideCopy) {
	var ready []*asideCopy
	last := time.Now()
	give := func() {
		s.mu.Lock()
		s.done = append(s.done, ready...)
		wake := s.wake
		s.mu.Unlock()
		ready, last = nil, time.Now()
		if wake != nil {
			wake()
		}
	}
	for _, c := range batch {
		c.err = s.readTable(sn, c)
		ready = append(ready, c)
		if time.Since(last) >= handOver {
			give()
		}
	}
	if len(ready) > 0 {
		give()
	}
}

func (s *asides) readTable(sn source.Snapshot, c *asideCopy) error {
	if lake := c.x.Repairs(); lake != nil {
		if done, err := s.repairTable(sn, c, lake); done || err != nil {
			return err
		}
	}
	c.x.Whole()
	for i, def := range c.defs {
		rows, err := sn.Read(s.ctx, c.from[i])
		if err != nil {
			return err
		}
		c.x.From(transform.Origin{})
		for done := false; !done && err == nil; {
			var n int64
			n, done, err = c.x.Append(s.ctx, def, rows)
			s.a.p.set(func(st *Status) { st.RowsRead += n })
			if err == nil && done {
				c.invalid[def] = rows.Invalid()
			}
		}
		if err = errors.Join(err, rows.Close()); err != nil {
			return err
		}
	}
	return c.x.Finish(s.ctx)
}

// commitAsides makes the copies that are complete visible. It reports whether
// there are any: the stream must be opened again. Nothing may wait for a commit.
func (a *attempt) commitAsides() (some bool, err error) {
	list := a.asides.take()
	for i, c := range list {
		a.asides.finished(c.t)
		if a.asides.redo[c.t] {
			delete(a.asides.redo, c.t)
			a.asides.discard(c)
			continue
		}
		if err == nil && c.err == nil {
			var rows int64
			if rows, err = a.set.CommitAside(a.work, c.t, c.x, c.pos); err == nil {
				some = true
				a.progress = true
				a.p.set(func(s *Status) { s.RowsCommitted += rows; s.Rounds++ })
				a.p.log.Info("copied", "table", c.t.ID.String(), "rows", rows)
				for def, n := range c.invalid {
					a.countInvalid(invalid(n), def)
				}
				continue
			}
			a.doubt = true
			c.x = nil
		}
		a.asides.discard(list[i])
		if err != nil {
			continue
		}
		switch {
		case errs.Is(c.err, errs.TableStopped):
			err = a.cannotCopy(c.t, c.err)
		case again(c.err):
			a.p.log.Warn("a copy failed and is tried again", "table", c.t.ID.String(), "error", c.err)
			a.asides.later([]*sink.Table{c.t})
		default:
			err = c.err
		}
	}
	if len(list) > 0 {
		a.showTables()
	}
	return some, err
}

// awaitAsides waits until copies are complete, while nothing is followed, and
// commits them; or until one is tried again.
func (a *attempt) awaitAsides(ctx context.Context) error {
	done := make(chan struct{}, 1)
	a.setPoke(func() {
		select {
		case done <- struct{}{}:
		default:
		}
	})
	defer a.setPoke(nil)
	if _, err := a.takeRequests(); err != nil {
		return err
	}
	if some, err := a.commitAsides(); some || err != nil {
		return err
	}
	select {
	case <-done:
	case <-time.After(asideRetry):
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := a.commitAsides()
	return err
}
