// Package source is the interface between ingest and the databases it follows:
// what tables there are, one consistent read of them with the position it
// stands for, and the stream of transactions after a position.
//
// Invariants. A Position names a set of transactions. A snapshot's rows are the
// effect of exactly the transactions of its position, or of more, which the
// stream then delivers again (full row images by key: the result is the same).
// A stream delivers every transaction that its start position does not include,
// in commit order. Rows are decoded by the definition (Table) that was valid
// where the snapshot was taken; a change of a definition stops the table, it is
// never guessed.
//
// Implementations (ingest/source/mysql, ingest/source/generator) are wired by
// cmd; this package imports none.
//
// Start reading at Source.
package source

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// Factory makes a source from the options of a pipeline's source block. It
// checks the options and connects to nothing.
type Factory func(Config) (Source, error)

// Config is what a Factory gets.
type Config struct {
	// Options are the keys of the source block without type, name, tables and
	// tables.exclude; secrets are resolved.
	Options []Option
	// Pipeline is the pipeline's name.
	Pipeline string
	Budget   *memory.Budget
	Log      *slog.Logger
}

// Option is one key of a block of the pipeline file.
type Option struct {
	Key, Value string
	Line, Col  int // where the key stands, from 1
}

// Source is a database whose tables are followed. Methods but Close are called
// by one goroutine at a time.
//
// Errors: of kind errs.SourceNotReady when the server must be set up
// differently, errs.AccessDenied, errs.SourceGone when a position's log is no
// longer there; of class errs.Unavailable when trying again later may help.
type Source interface {
	// Check connects and verifies that the server can be followed.
	Check(ctx context.Context) error
	// Identity names the server, so that a position is never used on another.
	Identity(ctx context.Context) (string, error)
	// Address is where the source is, for people.
	Address() string
	// Tables lists the tables that the account sees, without the server's own.
	Tables(ctx context.Context) ([]ID, error)
	// Describe returns the definitions of tables as they are now.
	Describe(ctx context.Context, ids []ID) ([]*Table, error)
	// ParsePosition reads what Position.String wrote.
	ParsePosition(s string) (Position, error)
	// Current returns the newest position of the server.
	Current(ctx context.Context) (Position, error)
	// Snapshot begins one consistent read of the tables. Definitions are those
	// valid in the snapshot, not those passed in.
	Snapshot(ctx context.Context, ids []ID) (Snapshot, error)
	// Stream follows the transactions that from does not include. tables are
	// the captured ones with the definitions valid at from.
	Stream(ctx context.Context, from Position, tables []*Table) (Stream, error)
	// Close releases connections. It may be called at any time.
	Close() error
}

// Retaining is a Source that removes its log by age.
type Retaining interface {
	// Retention returns for how long the log is kept; 0 is for ever, or unknown.
	Retention(ctx context.Context) (time.Duration, error)
}

// Measured is a Source whose log has a length.
type Measured interface {
	// Backlog looks at the log and returns how many bytes it has after a position,
	// negative where that is not known. The function may be called at any time and by
	// several goroutines.
	Backlog(ctx context.Context) (func(Position) int64, error)
}

// Adopting is a Source that may take over from another server of its kind: both
// name transactions alike.
type Adopting interface {
	// Adopt returns a position that was of another server as this one has it. Errors:
	// of kind errs.SourceGone when it lacks transactions of it, or the log after it.
	Adopt(ctx context.Context, p Position) (Position, error)
}

// Position is a set of transactions: everything up to a point of the source's
// log. It is immutable.
type Position interface {
	// Includes reports whether the transaction belongs to it.
	Includes(t Txn) bool
	// Covers reports whether every transaction of o belongs to it.
	Covers(o Position) bool
	// Meet returns what belongs to both.
	Meet(o Position) Position
	// String is the canonical JSON form, which ParsePosition reads.
	String() string
}

// Txn identifies a transaction of the source. It is opaque to all but the
// source that made it, and valid until the stream's next call of Next.
type Txn interface{ String() string }

// ID names a table of the source.
type ID struct {
	Database string `json:"database"`
	Name     string `json:"name"`
}

// String returns "database.table".
func (id ID) String() string { return id.Database + "." + id.Name }

// Table is the definition of a source table, as it is mapped to the lake. It is
// kept with the position as JSON, so that rows are always decoded by the
// definition that was valid there.
type Table struct {
	ID         ID       `json:"id"`
	Columns    []Column `json:"columns"`
	PrimaryKey []string `json:"primaryKey"`
	Comment    string   `json:"comment,omitempty"`
	// NextColumn is above the ids of all columns that the table ever had.
	NextColumn int `json:"nextColumn,omitempty"`
	// Native is what else the source needs to follow changes of the definition.
	Native json.RawMessage `json:"native,omitempty"`
	// Identity are the positions of the columns whose change makes an UPDATE a
	// delete and an insert: the lake table's key, partition columns included.
	// Ingest sets it; sources read it.
	Identity []int `json:"identity,omitempty"`
	// BeforeImages asks for the old row (-U) of an UPDATE too. Ingest sets it.
	BeforeImages bool `json:"beforeImages,omitempty"`

	// Since is the position that the definition was valid at, nil for that of the
	// stream: transactions that belong to it do not count for the table. Ingest sets
	// it; sources read it.
	Since Position `json:"-"`

	// Rows and Bytes estimate the table's size, -1 when unknown.
	Rows  int64 `json:"-"`
	Bytes int64 `json:"-"`
	// Unsupported says why the table cannot be followed; "" when it can.
	Unsupported string `json:"-"`
	// Warnings are for the plan.
	Warnings []string `json:"-"`
}

// Column is a column of a source table.
type Column struct {
	Name string `json:"name"`
	// ID stays with the column when it is renamed or changed, and is never given
	// again: a column that is dropped and added anew is another one. 0 in
	// definitions without them.
	ID int `json:"id,omitempty"`
	// Type is the lake's type.
	Type catalog.Type `json:"type"`
	// Required says that the source declares the column NOT NULL. Type may allow
	// NULL all the same: for zero dates.
	Required bool `json:"required,omitempty"`
	// Declared is the source's type as the table option mysql.type.<id> keeps
	// it (DESIGN D15), "" when Type says it all.
	Declared string `json:"declared,omitempty"`
	Comment  string `json:"comment,omitempty"`
	// Native is what else the source needs to decode the column.
	Native json.RawMessage `json:"native,omitempty"`
	// Filled says, of a column that a change of the definition added, that the rows
	// that were there got a value other than NULL in it, which is not in the log.
	Filled bool `json:"-"`
}

// Column returns the position of the named column or -1.
func (t *Table) Column(name string) int {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return i
		}
	}
	return -1
}

// Number gives ids to columns that have none.
func (t *Table) Number() {
	for i := range t.Columns {
		t.NextColumn = max(t.NextColumn, t.Columns[i].ID+1, 1)
	}
	for i := range t.Columns {
		if t.Columns[i].ID == 0 {
			t.Columns[i].ID = t.NextColumn
			t.NextColumn++
		}
	}
}

// Adopt gives the columns of a new definition the ids that those of the same names
// have in an earlier one, and other columns ids that it never had.
func (t *Table) Adopt(base *Table) {
	next := max(t.NextColumn, base.NextColumn)
	for i := range t.Columns {
		c := &t.Columns[i]
		if j := base.Column(c.Name); j >= 0 {
			c.ID = base.Columns[j].ID
		} else {
			c.ID = next
			next++
		}
	}
	t.NextColumn = next
}

// Clone returns a copy of the definition whose columns may be changed.
func (t *Table) Clone() *Table {
	c := *t
	c.Columns, c.PrimaryKey, c.Identity = slices.Clone(t.Columns), slices.Clone(t.PrimaryKey), slices.Clone(t.Identity)
	return &c
}

// NewBatch makes an empty batch for rows of the table.
func (t *Table) NewBatch(n int) *vector.Batch {
	b := &vector.Batch{Seq: -1}
	for i := range t.Columns {
		b.Cols = append(b.Cols, t.Columns[i].Type.NewVec(n))
	}
	return b
}

// Snapshot is one consistent read of tables.
type Snapshot interface {
	// Position is what the rows stand for.
	Position() Position
	// Tables are the definitions, in the order of the ids asked for.
	Tables() []*Table
	// Read streams the rows of the i-th table. One reader is open at a time.
	Read(ctx context.Context, i int) (Rows, error)
	// Close ends the read.
	Close() error
}

// Rows appends rows to batches. Its users call AppendTo until it returns io.EOF.
type Rows interface {
	// AppendTo decodes rows to b, which Table.NewBatch made, until b has max
	// rows or about bytes bytes more, or the rows end: then it returns io.EOF.
	// It sets b.Len, and b.Kinds where a row is not an insert.
	AppendTo(b *vector.Batch, max int, bytes int64) error
	// Rewind starts again at the first row, where the rows are held in memory
	// (those of a stream).
	Rewind()
	// Invalid counts values so far that the lake's type cannot hold and that
	// became NULL (zero dates).
	Invalid() int64
	Close() error
}

// EOF ends Rows.
var EOF = io.EOF

// EventKind says what an Event is.
type EventKind uint8

const (
	// RowsEvent has changed rows of one table. Several may make a transaction.
	RowsEvent EventKind = iota + 1
	// CommitEvent ends a transaction, also one without captured rows.
	CommitEvent
	// StopEvent says that a table can no longer be followed, from before this
	// transaction on. No rows of the table come after it; rows of the
	// transaction that came before it must be thrown away.
	StopEvent
	// AlterEvent says that a table has another definition from here on:
	// Definition. It is a transaction of its own. The rows that follow are decoded
	// by Definition, whose Identity and BeforeImages the receiver sets before it
	// asks for the next event.
	AlterEvent
	// TruncateEvent says that all rows of a table went, without events of their
	// own; DropEvent that the table went, or got another name. Rows may come again
	// when there is a table of the name again, after an AlterEvent.
	TruncateEvent
	DropEvent
	// RowsLostEvent says that rows of a table went, or came, without events of
	// their own: Loss.
	RowsLostEvent
	// NewTableEvent says that there may be a table of another name than those that
	// are followed: ID. It says nothing of what the table is. Where Loss is
	// LostReplaced it may have rows that are not in the log.
	NewTableEvent
	// HeartbeatEvent says that the source lives and has nothing more to send.
	HeartbeatEvent
	// NoticeEvent is something for the log: Reason.
	NoticeEvent
)

// Loss says how rows of a table changed without row events.
type Loss uint8

const (
	// LostPartition: partitions were dropped or emptied.
	LostPartition Loss = iota + 1
	// LostExchanged: rows were put in the place of others, as a partition or as
	// files; the new ones are not in the log either.
	LostExchanged
	// LostReplaced: another table was given the name. Its rows are not in the log.
	LostReplaced
	// LostTransaction: a transaction was committed whose rows, which may be of the
	// table, are not in the log any more.
	LostTransaction
	// LostRecreated: the table was dropped and made anew, empty.
	LostRecreated
)

// Event is one step of a stream. It is valid until the next call of Next.
type Event struct {
	Kind  EventKind
	Loss  Loss // of a RowsLostEvent, or a NewTableEvent
	ID    ID   // of a NewTableEvent
	Table int  // position in the tables given to Stream
	// Definition of an AlterEvent.
	Definition *Table
	// Txn is the transaction that the event belongs to; nil for heartbeats.
	Txn Txn
	// Rows of a RowsEvent; who does not want them leaves them undecoded.
	Rows Rows
	// Reason of a StopEvent or NoticeEvent, the statement of the events of
	// definitions; one line.
	Reason string
	// Time of the source's commit, zero when unknown.
	Time time.Time
}

// Stream delivers transactions in commit order. It belongs to one goroutine.
type Stream interface {
	// Next waits for the next event. When ctx ends it returns ctx's error and
	// may be called again. After any other error the stream is over; rows of a
	// transaction without its CommitEvent must be thrown away.
	Next(ctx context.Context) (*Event, error)
	// Position is where the stream is: everything up to the last CommitEvent.
	Position() Position
	Close() error
}
