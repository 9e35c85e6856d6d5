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
	"log/slog"
	"slices"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/ingest/evolve"
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
	// Adopt returns a position of another server as the present one has it, or why it
	// has not all of its transactions, or not the log after them; nil: it never has.
	Adopt func(context.Context, source.Position) (source.Position, error)
	// Policy is what is said of schema changes; nil is LENIENT.
	Policy *evolve.Policy
	// Live is where the tables are read before they are committed; nil: nowhere.
	Live *Live
}

// Set is the lake tables of one pipeline. It belongs to one goroutine.
type Set struct {
	o      Options
	state  *State
	Tables []*Table
	dirty  bool // the state file is behind
	saved  time.Time

	holding bool      // writers hold rows for live reads
	rebased time.Time // see Rebase
	turn    int
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
	checked int64  // what others did was looked at up to this snapshot
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
	repair                      bool          // or changes those that differ
	making                      bool          // TableState.Making
	newest                      int64         // own snapshot, negative: none
	lag                         time.Duration // see Lag
	shown                       int64         // the snapshot that live reads are based on
	shownAt                     time.Time     // since when
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
