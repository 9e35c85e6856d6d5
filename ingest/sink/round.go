package sink

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// commitParallel is how many tables commit at once: a commit waits for storage.
const commitParallel = 8

// Commit makes the waiting rows of all tables visible as of pos, a transaction
// end of the source at time at, then advances the low-water position. Tables that
// are being copied are left for another round unless copies is set; the low-water
// position waits for them.
//
// Errors: of class errs.Conflict when the round must be thrown away and read
// again; of kind errs.Fenced when another process runs the pipeline. After any
// error call Discard.
func (s *Set) Commit(ctx context.Context, pos source.Position, at time.Time, copies bool) (rows int64, err error) {
	s.state.Seq++
	left := func(t *Table) bool { return !t.changed || t.Stopped != "" || t.Copying != nil && !copies }
	for _, t := range s.Tables { // one by one: short of memory, a writer makes room in others
		if !left(t) {
			if err := t.verify(ctx); err != nil {
				return 0, err
			}
			if err := t.flush(ctx); err != nil {
				return 0, err
			}
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, commitParallel)
	for _, t := range s.Tables {
		if left(t) {
			continue
		}
		slots <- struct{}{}
		wg.Add(1)
		go func() {
			defer func() { <-slots; wg.Done() }()
			e := t.commitRows(ctx, t.pending, pos, at, t.Copying != nil || t.evolved)
			mu.Lock()
			defer mu.Unlock()
			if e != nil {
				err = errors.Join(err, e)
				return
			}
			rows += t.committed()
		}()
	}
	wg.Wait()
	if err != nil {
		return rows, firstOf(err)
	}
	settled := false
	for _, t := range s.Tables {
		if !t.changed {
			settled = s.settle(t) || settled
		}
	}
	s.Advance(pos)
	if settled {
		return rows, s.SaveState(ctx)
	}
	return rows, nil
}

// firstOf returns one of joined errors: the one that decides most.
func firstOf(err error) error {
	j, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	list := j.Unwrap()
	for _, e := range list {
		if errs.Is(e, errs.Fenced) {
			return e
		}
	}
	return firstOf(list[0])
}

// CommitCopy makes a table's first copy visible, in one step, also when it is
// empty.
func (s *Set) CommitCopy(ctx context.Context, t *Table, pos source.Position) (rows int64, err error) {
	if err := s.lower(ctx, pos); err != nil {
		return 0, err
	}
	s.state.Seq++
	if err := t.flush(ctx); err != nil {
		return 0, err
	}
	t.whole = true
	err = t.commitRows(ctx, t.pending, pos, time.Time{}, true)
	t.whole = false
	if err != nil {
		return 0, err
	}
	rows = t.committed()
	t.Start, t.checked = pos, max(t.checked, t.Snapshot)
	st := s.state.Tables[t.ID.String()]
	st.Copied, st.Recopy, st.Repair, st.Making, t.replace, t.repair, t.making = true, false, false, false, false, false, false
	// The writer of the copy does not compact; the next one does.
	if err := t.closeWriter(); err != nil {
		return rows, err
	}
	return rows, s.SaveState(ctx)
}

// committed resets what waited and returns its rows.
func (t *Table) committed() int64 {
	n := t.rows
	if t.Copying != nil {
		t.Copying.committed()
		t.Copying.since = time.Time{}
	}
	if w, ok := t.write.(connector.Holding); ok {
		w.Forget()
	}
	t.Rows += n
	t.rows, t.bytes, t.changed, t.pending = 0, 0, false, nil
	return n
}

// unknownPause is the first wait before a commit of unknown outcome is repeated.
var unknownPause = 100 * time.Millisecond

const unknownTries = 12

// commitRows commits messages as one round. A commit of unknown outcome is
// repeated as it is, with its nonce, until it is known.
func (t *Table) commitRows(ctx context.Context, messages []connector.CommitMessage, pos source.Position, at time.Time, evenIfEmpty bool) error {
	s := t.set
	phase := "stream"
	if t.whole || t.Copying != nil {
		phase = "snapshot"
	}
	c := &connector.Committable{
		Identifier: s.state.Seq, Epoch: s.state.Epoch, After: t.newest, Messages: messages, EvenIfEmpty: evenIfEmpty || t.truncate, Overwrite: t.truncate || t.replace && !t.repair,
		Properties: map[string]string{
			PropPipeline: s.o.Pipeline, PropEpoch: strconv.FormatInt(s.state.Epoch, 10), PropSeq: strconv.FormatInt(s.state.Seq, 10),
			PropSource: s.o.Identity, PropPosition: pos.String(), PropPhase: phase, PropSchema: t.print,
		},
	}
	if !at.IsZero() {
		c.Properties[PropCommitTime] = strconv.FormatInt(at.UnixMilli(), 10)
	}
	if t.Copying != nil {
		text, err := t.Copying.text()
		if err != nil {
			return err
		}
		c.Properties[PropChunks] = text
	}
	if !at.IsZero() {
		t.lag = max(time.Since(at), 1)
	}
	pause := unknownPause
	for try := 1; ; try++ {
		r, err := t.commit.Commit(ctx, c)
		if err == nil {
			if r.Snapshot > 0 {
				t.Snapshot, t.seq, t.newest = r.Snapshot, c.Identifier, r.Snapshot
				t.show(r.Snapshot)
			}
			s.note(t)
			return nil
		}
		if errs.ClassOf(err) != errs.UnknownOutcome || try == unknownTries || ctx.Err() != nil {
			return err
		}
		s.o.Log.Warn("the outcome of a commit is unknown; asking again", "pipeline", s.o.Pipeline, "table", t.ID.String(), "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
		pause = min(2*pause, 5*time.Second)
	}
}

var noteMu sync.Mutex // tables commit in parallel

// note records a table's newest snapshot in the state.
func (s *Set) note(t *Table) {
	noteMu.Lock()
	defer noteMu.Unlock()
	st := s.state.Tables[t.ID.String()]
	if st == nil {
		st = &TableState{UUID: t.table.UUID(), Copied: true, Sources: t.Definitions}
		s.state.Tables[t.ID.String()] = st
	}
	st.Snapshot, st.Seq = t.Snapshot, t.seq
	s.dirty = true
}

// Stop ends the following of a table; its position stays where it is, and the
// reason is kept.
func (s *Set) Stop(ctx context.Context, t *Table, reason string) error {
	t.Stopped = reason
	st := s.state.Tables[t.ID.String()]
	if st == nil || t.Start == nil {
		return nil // during the first copy: it is tried again at the next start
	}
	st.Stopped, st.Position = reason, t.Start.String()
	return s.SaveState(ctx)
}

// Discard throws away all rows that are not committed.
func (s *Set) Discard(ctx context.Context) error {
	var err error
	for _, t := range s.Tables {
		err = errors.Join(err, t.discard(ctx))
	}
	return err
}

func (t *Table) discard(ctx context.Context) error {
	t.buffer.drop(t.set.o.Budget)
	err := t.closeWriter()
	if len(t.pending) > 0 {
		err = errors.Join(err, t.commit.Abort(ctx, t.pending))
	}
	t.pending, t.rows, t.bytes, t.changed = nil, 0, 0, false
	if t.Copying != nil {
		for _, p := range t.Copying.Parts {
			p.written = nil // read again
		}
		t.Copying.since = time.Time{}
	}
	return err
}

func (t *Table) closeWriter() error {
	var err error
	for _, w := range []*connector.TableWrite{&t.write, &t.base} {
		if *w != nil {
			err = errors.Join(err, (*w).Close())
			*w = nil
		}
	}
	return err
}

// Close releases the writers and notes an orderly end.
func (s *Set) Close(ctx context.Context, orderly bool) error {
	err := s.Discard(ctx)
	if orderly && err == nil {
		s.state.Closed = true
		return s.SaveState(ctx)
	}
	return err
}
