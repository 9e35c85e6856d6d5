// Package sink writes the tables of a pipeline: it collects rows, and commits
// them in rounds, each table's rows together with the source position that they
// stand for, in the properties of the snapshot that holds them.
//
// A round ends at one source position for all tables. Its order is: the data
// commits of all tables, then the pipeline's state. A table's position after a
// start is the later one of its newest own snapshot's and the state's low-water
// position; transactions at or before it are skipped for that table. So a crash
// at any instant neither loses a row nor applies one twice.
//
// The first copy of a table is one commit: readers see nothing of it before it
// is complete, and a copy that was interrupted leaves nothing behind.
//
// Start reading at Set.
package sink

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/ingest/transform"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// The properties of a snapshot that a pipeline made.
const (
	PropPipeline   = "cdc.pipeline"
	PropEpoch      = "cdc.epoch"
	PropSeq        = "cdc.seq"
	PropSource     = "cdc.source"
	PropPosition   = "cdc.position"
	PropPhase      = "cdc.phase"     // snapshot: the first copy; stream
	PropSchema     = "cdc.schema"    // fingerprint of the source definitions
	PropCommitTime = "cdc.commit-ts" // source time of the last transaction, milliseconds
)

// Options are what a Set works with.
type Options struct {
	Catalog  catalog.Writable
	Files    fileio.FileIO // nil keeps no state
	Dir      string        // StateDir
	Pipeline string
	User     string // commit user
	Identity string // of the source
	Parse    func(string) (source.Position, error)
	Budget   *memory.Budget
	Log      *slog.Logger
	State    *State // what ReadState returned
	// Rules shape rows; nil passes them as they are.
	Rules *transform.Rules
}

// Set is the lake tables of one pipeline. It belongs to one goroutine.
type Set struct {
	o      Options
	state  *State
	Tables []*Table
	dirty  bool // the state file is behind
	saved  time.Time
}

// Table is one lake table of the pipeline.
type Table struct {
	ID catalog.Identifier
	// Sources are the tables that feed it, with the definitions that its rows
	// are decoded by; nil definitions before the first copy.
	Sources     []source.ID
	Definitions []*source.Table
	// Start is what the table has: transactions that belong to it are skipped.
	// nil before the first copy.
	Start source.Position
	// CaughtUp says that the stream is past Start, so that nothing is skipped.
	CaughtUp bool
	// Stopped is why the table is not followed any more, "" while it is.
	Stopped string
	// Copying is how far a copy in chunks is; nil: there is none.
	Copying *Copy

	Rows     int64 // committed since the start
	Read     int64 // read from the source since the start
	Snapshot int64 // newest own

	set     *Set
	table   connector.Writable
	commit  connector.TableCommit
	print   string // fingerprint of Definitions
	write   connector.TableWrite
	base    connector.TableWrite // of chunks
	copied0 int64                // rows of chunks that were stamped
	buffer  buffer
	pending []connector.CommitMessage
	changed bool // rows since the last commit
	whole   bool // the commit is a copy in one piece
	// A change of definitions: with the next commit it lasts; rows are emptied
	// with it; the definitions do not fit the lake table until it comes again.
	evolved, truncate, unshaped bool
	ignored                     map[string][]string // columns that the lake does not get, by source table
	rows                        int64
	bytes                       int64 // handed to the writer since the last commit
	seq                         int64
	shard                       string                         // Spec.ShardKey
	shapes                      map[source.ID]*transform.Shape // of Definitions
	origin                      transform.Origin               // of the rows that are appended
	stamped                     int64                          // rows of its transaction
	warned                      time.Time
	replace                     bool          // the copy replaces the rows that are there
	lag                         time.Duration // see Lag
}

// Lag is the time between the source's commit and ours of the newest transaction
// with rows of the table; -1 before the first.
func (t *Table) Lag() time.Duration {
	if t.lag == 0 {
		return -1
	}
	return t.lag
}

// Replaces reports whether the table's copy replaces rows that it has.
func (t *Table) Replaces() bool { return t.replace }

// NeedsCopy reports whether the table waits for its first copy.
func (t *Table) NeedsCopy() bool { return t.Start == nil && t.Stopped == "" }

// Spec names a lake table and what feeds it.
type Spec struct {
	ID      catalog.Identifier
	Sources []source.ID
	// ShardKey is the column that tells the source table, "" for none.
	ShardKey string
}

// Open finds out where each table stands, verifies that nobody else changed
// what the positions rely on, and raises the epoch. It creates no table.
func Open(ctx context.Context, o Options, specs []Spec) (*Set, error) {
	s := &Set{o: o, state: o.State}
	if s.state == nil {
		s.state = &State{Pipeline: o.Pipeline, Source: o.Identity, Tables: map[string]*TableState{}, n: -1}
	}
	if s.state.Source != o.Identity {
		return nil, errs.Userf(errs.SourceGone, "start pipeline %s: its positions are of the server %q, but the source is now %q; point it back, or drop its tables and %s to copy from the new one",
			o.Pipeline, s.state.Source, o.Identity, o.Dir)
	}
	var low source.Position
	if s.state.Position != "" {
		var err error
		if low, err = o.Parse(s.state.Position); err != nil {
			return nil, err
		}
	}
	newest := s.state.Epoch
	orderly := o.State == nil || o.State.Closed
	var fence []*Table
	for _, spec := range specs {
		t := &Table{ID: spec.ID, Sources: spec.Sources, shard: spec.ShardKey, set: s}
		own, err := s.resume(ctx, t, low)
		if err != nil {
			return nil, err
		}
		if own != nil {
			newest = max(newest, epochOf(own))
			s.state.Seq = max(s.state.Seq, own.Identifier)
			if !orderly && t.Stopped == "" && t.Start != nil {
				fence = append(fence, t)
			}
		}
		s.Tables = append(s.Tables, t)
	}
	s.state.Epoch, s.state.Closed, s.state.Source = newest+1, false, o.Identity
	if err := s.SaveState(ctx); err != nil {
		return nil, err
	}
	// Who ran the pipeline before did not say that it ended: it may be alive. An
	// empty commit of the new epoch in each table makes its late ones fail.
	s.state.Seq++
	for _, t := range fence {
		if err := t.commitRows(ctx, nil, t.Start, time.Time{}, true); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func orNone(rules string) string {
	if rules == "" {
		return "none"
	}
	return rules
}

func epochOf(info *connector.SnapshotInfo) int64 {
	n, err := strconv.ParseInt(info.Properties[PropEpoch], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// resume opens an existing lake table and decides where it stands.
func (s *Set) resume(ctx context.Context, t *Table, low source.Position) (*connector.SnapshotInfo, error) {
	st := s.state.Tables[t.ID.String()]
	tb, err := s.o.Catalog.Table(ctx, t.ID)
	if errs.Is(err, errs.UnknownTable) || errs.Is(err, errs.UnknownDatabase) {
		if st != nil {
			s.o.Log.Info("the lake table is gone and is copied again", "pipeline", s.o.Pipeline, "table", t.ID.String())
			delete(s.state.Tables, t.ID.String())
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := t.open(ctx, tb); err != nil {
		return nil, err
	}
	own, err := t.commit.LatestOwn(ctx)
	if err != nil {
		return nil, err
	}
	version := int64(0)
	if r, ok := tb.(connector.Readable); ok {
		sn, err := r.Snapshot(ctx, catalog.Ref{})
		if err != nil {
			return nil, err
		}
		version = sn.Version()
	}
	start := func(format string, args ...any) error {
		return errs.Userf(errs.InvalidTable, "start pipeline %s: the lake table %s "+format, append([]any{s.o.Pipeline, t.ID}, args...)...)
	}
	switch {
	case own == nil && version == 0: // empty: a copy that did not end, or made by the user
		delete(s.state.Tables, t.ID.String())
		return nil, nil
	case own == nil && st == nil:
		return nil, start("has rows that this pipeline did not write; drop the table, or route to another one")
	case st != nil && st.UUID != tb.UUID():
		return nil, start("was created anew since the pipeline wrote it; drop the table to copy it again")
	}
	if st == nil {
		st = &TableState{UUID: tb.UUID(), Copied: true}
		s.state.Tables[t.ID.String()] = st
	}
	if own != nil && own.Properties[PropSource] != s.o.Identity {
		return nil, errs.Userf(errs.SourceGone, "start pipeline %s: the positions of the lake table %s are of the server %q, but the source is now %q; drop the table to copy it again",
			s.o.Pipeline, t.ID, own.Properties[PropSource], s.o.Identity)
	}
	if own != nil && s.o.State != nil && epochOf(own) > s.o.State.Epoch {
		return nil, errs.New(errs.Conflict, errs.Fenced, "start pipeline %s: the lake table %s was committed by a later start (epoch %d) than the state in %s knows (%d): another process runs the pipeline, or the state was restored from a copy",
			s.o.Pipeline, t.ID, epochOf(own), s.o.Dir, s.o.State.Epoch)
	}
	t.Stopped, t.Snapshot, t.seq = st.Stopped, st.Snapshot, st.Seq
	if own != nil {
		t.print = own.Properties[PropSchema]
	} else {
		t.print = Fingerprint(st.Sources)
	}
	same := t.resumeEvolving(st, t.print)
	if own != nil && t.Definitions != nil && !same && t.Stopped == "" {
		t.Stopped = "its newest snapshot was made by other definitions of the source than the pipeline's state has; drop the table to copy it again"
	}
	if own != nil && (own.ID < st.Snapshot || own.Identifier < st.Seq) || own == nil && version < st.Snapshot {
		t.Stopped = "its newest snapshot of this pipeline is older than the one that the pipeline's state knows: it was rolled back; drop the table to copy it again"
	}
	if st.Recopy {
		t.Definitions, t.Stopped, t.replace = nil, "", true
		return own, nil
	}
	if t.Definitions != nil && t.Stopped == "" {
		if was, now := st.Rules, s.rulesOf(t); was != now {
			return nil, start("holds rows that other transform rules made (%s, now %s), which a change of the rules does not make again; drop the table to copy it again, or change the rules back", orNone(was), orNone(now))
		}
		err := t.shape()
		if t.unshaped = err != nil && st.Next != nil; err != nil && !t.unshaped {
			return nil, err
		}
	}
	if t.Stopped != "" {
		if st.Position != "" {
			if t.Start, err = s.o.Parse(st.Position); err != nil {
				return nil, err
			}
		}
		st.Stopped = t.Stopped
		return own, nil
	}
	if own == nil {
		if low == nil || !st.Copied {
			return nil, start("has no snapshot of this pipeline any more, and the state no position; drop the table to copy it again")
		}
		s.o.Log.Warn("the lake table's own snapshots have expired; using the pipeline's position", "pipeline", s.o.Pipeline, "table", t.ID.String())
		t.Start = low
		return nil, nil
	}
	t.Snapshot, t.seq = own.ID, own.Identifier
	if t.Start, err = s.o.Parse(own.Properties[PropPosition]); err != nil {
		return nil, err
	}
	if low != nil && st.Copied && low.Covers(t.Start) {
		t.Start = low
	}
	st.Copied = true
	if err := t.resumeCopy(own); err != nil {
		return nil, err
	}
	return own, s.setCopying(ctx, t, t.Copying != nil)
}

// open keeps the opened table and its committer.
func (t *Table) open(ctx context.Context, tb catalog.Table) error {
	w, ok := tb.(connector.Writable)
	if !ok {
		return errs.Unsupportedf(-1, "writing the table %s", t.ID)
	}
	t.table = w
	var err error
	t.commit, err = w.NewCommit(ctx, t.set.o.User)
	return err
}

// Create makes the lake table for its first copy, or takes the empty one that
// is there.
func (s *Set) Create(ctx context.Context, t *Table, definitions []*source.Table, schema *catalog.Schema) error {
	return s.create(ctx, t, definitions, schema, false)
}

func (s *Set) create(ctx context.Context, t *Table, definitions []*source.Table, schema *catalog.Schema, copying bool) error {
	if copying {
		schema.Options[connector.CopyingOption] = "true"
	}
	if err := s.o.Catalog.CreateDatabase(ctx, t.ID.Database, true); err != nil {
		return err
	}
	made := t.table == nil
	tb, err := s.o.Catalog.CreateTable(ctx, t.ID, schema, true)
	if err != nil {
		return err
	}
	if err := t.open(ctx, tb); err != nil {
		return err
	}
	// A table that asks for what cannot be written is not left behind.
	if err := t.openWriter(ctx, true); err != nil {
		if made {
			err = errors.Join(err, s.o.Catalog.DropTable(ctx, t.ID))
		}
		return err
	}
	if err := s.setCopying(ctx, t, copying); err != nil {
		return err
	}
	t.Definitions = definitions
	if err := t.shape(); err != nil {
		return err
	}
	t.print = Fingerprint(definitions)
	st := &TableState{UUID: tb.UUID(), Sources: definitions, Rules: s.rulesOf(t)}
	if was := s.state.Tables[t.ID.String()]; was != nil && t.replace {
		st.Recopy, st.Snapshot, st.Seq = true, was.Snapshot, was.Seq
	}
	s.state.Tables[t.ID.String()] = st
	s.dirty = true
	return nil
}

// shape binds the pipeline's rules to the table's definitions and verifies that
// the lake table holds what they give. It tells the definitions what the source
// must deliver for the lake table's key.
func (t *Table) shape() error {
	rules := t.set.o.Rules
	if rules == nil {
		rules = &transform.Rules{}
	}
	lake := t.table.Schema()
	keys := slices.Clone(lake.PrimaryKeys)
	for _, p := range lake.PartitionKeys {
		if len(keys) > 0 && !slices.Contains(keys, p) {
			keys = append(keys, p)
		}
	}
	shapes := map[source.ID]*transform.Shape{}
	for _, def := range t.Definitions {
		s, err := rules.Bind(def, t.shard)
		if err == nil {
			s.Leave(t.ignored[def.ID.String()])
			if err = s.Fit(lake); err == nil {
				err = s.Keys(keys, lake.Options["changelog-producer"] == "input")
			}
		}
		if err != nil {
			return errs.New(errs.ClassOf(err), errs.KindOf(err), "write the lake table %s: %w; drop the table to copy it again, or route to another one", t.ID, err)
		}
		shapes[def.ID] = s
	}
	t.shapes = shapes
	return nil
}

// rulesOf identifies the transform rules that rows of the table pass.
func (s *Set) rulesOf(t *Table) string {
	var text string
	if t.shard != "" {
		text = "shard-key " + t.shard + ";"
	}
	if s.o.Rules == nil {
		return text
	}
	for _, id := range t.Sources {
		text += s.o.Rules.Text(id)
	}
	return text
}

// Fingerprint identifies source definitions.
func Fingerprint(definitions []*source.Table) string {
	h := sha256.New()
	for _, d := range definitions {
		x := *d
		x.Identity, x.BeforeImages = nil, false // of the lake table, not of the source
		if err := json.NewEncoder(h).Encode(&x); err != nil {
			return ""
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Define gives a table whose state was lost the definitions that its rows are
// decoded by. They must be those of its newest own snapshot.
func (s *Set) Define(t *Table, definitions []*source.Table) error {
	t.Definitions = definitions
	if err := t.shape(); err != nil || Fingerprint(definitions) != t.print {
		return errs.Userf(errs.InvalidTable, "start pipeline %s: the definition of the source of %s changed and the pipeline's state in %s is lost; drop the table to copy it again", s.o.Pipeline, t.ID, s.o.Dir)
	}
	st := s.state.Tables[t.ID.String()]
	st.Sources, st.Rules = definitions, s.rulesOf(t)
	s.dirty = true
	return nil
}

// SaveState writes the state file.
func (s *Set) SaveState(ctx context.Context) error {
	if err := s.state.write(ctx, s.o.Files, s.o.Dir); err != nil {
		return err
	}
	s.dirty, s.saved = false, time.Now()
	return nil
}

// SaveStateSoon writes the state file when it is behind and the last write is
// longer ago than every: positions in the tables' own snapshots are enough
// meanwhile.
func (s *Set) SaveStateSoon(ctx context.Context, every time.Duration) error {
	if !s.dirty || time.Since(s.saved) < every {
		return nil
	}
	return s.SaveState(ctx)
}

// Advance notes that everything up to pos is committed in every table that is
// followed. It is called between rounds, when no rows wait.
func (s *Set) Advance(pos source.Position) {
	if text := pos.String(); text != s.state.Position && !s.CopyChanged() {
		s.state.Position, s.dirty = text, true
	}
	for _, t := range s.Tables {
		if t.Copying != nil && t.changed {
			continue
		}
		if t.Stopped == "" && t.Start != nil && (t.CaughtUp || pos.Covers(t.Start)) {
			t.Start = pos
		}
	}
}

// Position returns the low-water position as text, "" before the first.
func (s *Set) Position() string { return s.state.Position }

// Epoch returns the epoch of this start.
func (s *Set) Epoch() int64 { return s.state.Epoch }

// Changed reports whether rows wait for a commit, in tables that are not being
// copied.
func (s *Set) Changed() bool {
	return slices.ContainsFunc(s.Tables, func(t *Table) bool { return t.changed && t.Copying == nil })
}

// Waiting estimates the bytes that wait for a commit.
func (s *Set) Waiting() (n int64) {
	for _, t := range s.Tables {
		if t.Copying != nil {
			continue // see CopyDue
		}
		n += t.bytes
		if t.buffer.batch != nil {
			n += dataBytes(t.buffer.batch)
		}
	}
	return n
}

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
	t.Start = pos
	st := s.state.Tables[t.ID.String()]
	st.Copied, st.Recopy, t.replace = true, false, false
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
		Identifier: s.state.Seq, Epoch: s.state.Epoch, Messages: messages, EvenIfEmpty: evenIfEmpty || t.truncate, Overwrite: t.truncate || t.replace,
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
				t.Snapshot, t.seq = r.Snapshot, c.Identifier
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
