// Package connector is the SPI between the engine and ingest on one side and
// the table formats on the other: how to pin a version of a table, plan its
// splits with pushed-down columns and predicates, read batches, and write and
// commit changes.
//
// Invariants: a Snapshot is one immutable version; planning it twice gives the
// same rows. Pruning by a Predicate never changes which rows satisfy it: it may
// only leave out rows that do not. The caller always evaluates the predicate
// again. Implementations (connector/paimon, connector/memory, …) are wired by
// cmd; this package imports none.
//
// Start reading at Readable.
package connector

import (
	"context"
	"sync/atomic"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// Readable is a table that can be scanned.
type Readable interface {
	catalog.Table
	// Snapshot resolves ref to one version. A table without snapshots resolves
	// Latest to an empty version. Errors: errs.UnknownSnapshot.
	Snapshot(ctx context.Context, ref catalog.Ref) (Snapshot, error)
}

// Opened is a Readable that can answer cheaper the statement that has just opened
// it.
type Opened interface {
	Readable
	// Current is Snapshot of Latest, but for a change of the table's definition since
	// it was opened, which need not be seen.
	Current(ctx context.Context) (Snapshot, error)
}

// Snapshot is one immutable version of a table. It is safe for concurrent use.
type Snapshot interface {
	// Version is the snapshot id, 0 when the table is empty.
	Version() int64
	// Schema is the schema of that version, which may differ from the table's.
	Schema() *catalog.Schema
	// RowCount returns the number of rows; exact says whether it is that, or an
	// estimate (-1: unknown) for the optimizer.
	RowCount(ctx context.Context) (rows int64, exact bool, err error)
	// Plan returns what must be read to answer req.
	Plan(ctx context.Context, req ScanRequest) (*Plan, error)
}

// Spanning is a Snapshot that needs the files of older versions as well, such as
// the changes between two.
type Spanning interface {
	Snapshot
	// Oldest is the id of the oldest version that it needs; 0 for none.
	Oldest() int64
}

// Oldest returns the id of the oldest version that must not expire while a
// snapshot is read.
func Oldest(s Snapshot) int64 {
	if x, ok := s.(Spanning); ok {
		return x.Oldest()
	}
	return s.Version()
}

// ScanRequest says what a scan needs.
type ScanRequest struct {
	// Columns are positions in the snapshot's schema, in the order the batches
	// will have. Empty: only row counts matter (batches without columns).
	Columns []int
	// Filter may be used to leave out rows that do not satisfy it. Its columns
	// are positions in the schema, not in Columns. nil: all rows.
	Filter *Predicate
	// NoPruning makes Filter be ignored (SET lake_pruning = OFF).
	NoPruning bool
	// NoPages makes nothing that is kept of files' rows be used or kept; metadata is
	// (SET lake_page_cache = OFF).
	NoPages bool
	// BatchRows is the most rows a batch shall have; 0 is vector.BatchRows.
	BatchRows int
	// Budget pays for what the readers hold; nil is unlimited.
	Budget *memory.Budget
	// Reads, when set, counts what the readers read.
	Reads *Reads
}

// Reads counts what readers read of files. It is safe for concurrent use.
type Reads struct {
	// RowGroups are the parts of files with their own statistics (row groups,
	// stripes) of which at least a row was wanted.
	RowGroups atomic.Int64
	// LateFiles, LateRowGroups and LateRows are left out by a Dynamic: files, or parts
	// that are read in parallel, row groups of others, and the rows of these and of
	// parts of row groups.
	LateFiles, LateRowGroups, LateRows atomic.Int64
}

// Plan is a planned scan.
type Plan struct {
	Splits []Split
	// Files that are read, and those that pruning left out, for EXPLAIN and metrics.
	Files, PrunedFiles int
	Bytes              int64
	// Memory is what the plan itself takes while it is kept.
	Memory int64
}

// Split is a part of a scan that can be read independently of the others. The
// rows of a table are the disjoint union of its splits' rows.
type Split interface {
	// Open starts reading. The reader belongs to one goroutine.
	Open(ctx context.Context) (BatchReader, error)
	// Rows estimates the rows, Bytes the bytes to read.
	Rows() int64
	Bytes() int64
}

// BatchReader streams batches. Next returns nil, nil at the end. A batch is
// valid until the next call of Next or Close. Close may be called at any time,
// more than once.
type BatchReader interface {
	Next(ctx context.Context) (*vector.Batch, error)
	Close() error
}

// Pick is shown a batch of which only some columns are there, the others nil, and
// returns the positions of the rows that are wanted, a part of the batch's
// selection in its order; nil is all of them, a selection without rows none. The
// columns it saw are those of the batch that is given afterwards, and what it
// returns is valid until it is called again.
type Pick func(b *vector.Batch) ([]uint16, error)

// Picking is a BatchReader that may spare itself the values of unwanted rows.
type Picking interface {
	BatchReader
	// Pick makes the reader, where it can, show each batch to pick with the columns
	// first (positions in the batch) before it reads the others, and give only
	// batches of which rows are wanted; values of other rows are unspecified then,
	// but readable. It is called before the first Next. A batch that pick was not
	// shown just before is given as without it.
	Pick(first []int, pick Pick)
}

// Writable is a table that can be written.
type Writable interface {
	catalog.Table
	// NewWrite starts a writer. Writers of one table must not share buckets.
	NewWrite(ctx context.Context, opts WriteOptions) (TableWrite, error)
	// NewCommit returns the committer of a commit user.
	NewCommit(ctx context.Context, user string) (TableCommit, error)
}

// WriteOptions configure a TableWrite.
type WriteOptions struct {
	// CommitUser is the user of the commits that the messages will go into.
	CommitUser string
	// Budget pays for write buffers; nil is unlimited.
	Budget *memory.Budget
	// NoCompaction keeps the writer from compacting (write-only).
	NoCompaction bool
	// Once says that the writer is prepared once, committed at once and closed, as
	// statements do: it begins no compaction that would outlast it.
	Once bool
	// Overwrite says that the messages go into a Committable with Overwrite: what
	// is in the partitions of the rows counts for nothing.
	Overwrite bool
	// Layer orders the rows of writers that work on one table at a time: a copy
	// of another database and the changes since it began.
	Layer Layer
	// KeepNulls says that NULLs are meant: defaults of columns do not take their
	// place, as they do where Paimon's own writers are given NULL.
	KeepNulls bool
}

// Layer says which rows of a key count, whatever the order in which they come.
type Layer uint8

// The layers of tables with a primary key. A table that has rows of the base
// must not be compacted before all of it is there: a compaction forgets
// deletions, which hide rows of the base that come later.
const (
	// LayerPlain: the later row counts.
	LayerPlain Layer = iota
	// LayerBase: every other row of the key counts more. Keys come once.
	LayerBase
	// LayerAbove: rows count more than those of the base.
	LayerAbove
)

// CopyingOption is set on a table, to "true", while rows of LayerBase are still
// to come: nothing compacts it then.
const CopyingOption = "thermocline.copying"

// TableWrite turns batches into files. It belongs to one goroutine.
type TableWrite interface {
	// Write adds the rows of b, with columns in schema order and row kinds
	// (nil: all +I). It copies what it keeps.
	Write(ctx context.Context, b *vector.Batch) error
	// PrepareCommit finishes files for everything written since the last call
	// and returns what must be committed for the rows to become visible.
	PrepareCommit(ctx context.Context) ([]CommitMessage, error)
	// Close releases the writer and removes files that PrepareCommit has not
	// handed out.
	Close() error
}

// CommitMessage is what one writer wants committed for one partition and
// bucket. It is opaque to everyone but the connector that made it.
type CommitMessage interface {
	// Empty reports whether it changes nothing.
	Empty() bool
	// Rows returns the number of changed rows it adds.
	Rows() int64
}

// Committable is one atomic change of a table.
type Committable struct {
	// Identifier orders the commits of a user; (user, Identifier, Nonce) is the
	// commit's identity, so that a repeated Commit cannot apply twice.
	Identifier int64
	// Nonce is random per committable and stored with it (DESIGN D7). Commit
	// fills it in when it is empty and stores it back.
	Nonce string
	// Epoch fences: the commit fails with errs.Fenced when the newest own
	// snapshot has a higher one. 0: no fencing.
	Epoch int64
	// After is the newest own snapshot that the caller knows of, negative when
	// there is none: the commit fails with CommittedLate when there is another one, of a
	// request that came late or of a process that was believed dead. 0: whatever is
	// there.
	After int64
	// Watermark in milliseconds, nil for none.
	Watermark *int64
	// Properties are stored in the snapshot (source positions).
	Properties map[string]string
	// Messages of all writers.
	Messages []CommitMessage
	// EvenIfEmpty makes a snapshot although nothing changes, to record
	// Properties.
	EvenIfEmpty bool
	// Overwrite replaces the table's rows, instead of adding to them. With no
	// messages it removes them.
	Overwrite bool
	// OverwriteIn limits Overwrite to the partitions with these values, by
	// partition column, in the text form of partition paths; nil is NULL. Empty:
	// the whole table.
	OverwriteIn map[string]*string
	// OverwriteDynamic limits Overwrite to the partitions that the messages have
	// rows for.
	OverwriteDynamic bool
	// ReadVersion is the snapshot that the change was computed from (UPDATE,
	// DELETE, MERGE): Commit fails with Conflict when a later one changed a bucket
	// that Messages change, and the statement is run again on the new state.
	// Negative: there was no snapshot. 0: the change does not depend on what is
	// there.
	ReadVersion int64
}

// TableCommit makes changes visible. It is safe for concurrent use.
type TableCommit interface {
	// Commit applies c. Classes of error: Conflict (nothing happened; the
	// caller redoes the work), UnknownOutcome (call Commit again with the very
	// same c), others: nothing happened.
	Commit(ctx context.Context, c *Committable) (CommitResult, error)
	// LatestOwn returns the newest snapshot of the commit user, nil when there
	// is none within the table's history.
	LatestOwn(ctx context.Context) (*SnapshotInfo, error)
	// Abort removes the files of messages that will not be committed.
	Abort(ctx context.Context, messages []CommitMessage) error
}

// Lineage is a TableCommit that tells what others did to the table.
type Lineage interface {
	TableCommit
	// Overwritten returns the oldest snapshot after the given one by which another
	// user removed or replaced rows (of kind OVERWRITE), nil when there is none, and
	// the id of the newest snapshot that was looked at. Snapshots that have expired
	// are not seen.
	Overwritten(ctx context.Context, after int64) (by *SnapshotInfo, newest int64, _ error)
}

// CommitResult says what Commit did.
type CommitResult struct {
	// Snapshot is the id of the newest snapshot made, 0 when none was needed.
	Snapshot int64
	// Already is true when an earlier attempt had done it.
	Already bool
}

// SnapshotInfo describes a snapshot to ingest and tests.
type SnapshotInfo struct {
	ID         int64
	UUID       string
	User       string
	Identifier int64
	Kind       string // APPEND, COMPACT, OVERWRITE, ANALYZE
	TimeMillis int64
	Properties map[string]string
}
