package ingest

import (
	"time"

	"github.com/thermocline/thermocline/ingest/source"
)

// State is where a pipeline is in its life.
type State string

// The states.
const (
	Starting     State = "starting"
	Snapshotting State = "snapshotting"
	Streaming    State = "streaming"
	Reconnecting State = "reconnecting" // the source cannot be reached; it is tried again
	Stopped      State = "stopped"      // a finished snapshot
	Paused       State = "paused"       // by request
	Failed       State = "failed"
)

// Status describes a pipeline at one moment.
type Status struct {
	Name     string
	State    State
	Source   string // type and address
	Sink     string
	Tables   []TableStatus
	Position string // of the source, as last committed; canonical JSON
	// Lag is the time between the source's commit and ours of the newest
	// transaction; while nothing is waiting it is the last known; -1 is unknown.
	Lag time.Duration
	// Behind is how old the newest transaction was when it was committed, 0 while
	// nothing waits.
	Behind time.Duration
	// Retention is for how long the source keeps its log; 0 is unknown or for ever.
	Retention time.Duration
	Started   time.Time
	// Error is why the pipeline failed or what it is waiting for, "" otherwise.
	Error string

	Counters
}

// Counters only grow while a pipeline runs.
type Counters struct {
	RowsRead      int64 // decoded from the source
	RowsCommitted int64 // visible in the lake
	Transactions  int64
	Rounds        int64 // commit rounds with changes
	Reconnects    int64
	Invalid       int64 // values that became NULL (zero dates)
	Discarded     int64 // rounds thrown away and read again
}

// TableStatus describes one lake table of a pipeline.
type TableStatus struct {
	Table   string // database.table in the lake
	Sources []string
	Phase   string // snapshot, stream, stopped
	// Rows committed since the start, and read from the source.
	Rows, RowsRead int64
	// Position of the source that the table has, canonical JSON.
	Position string
	// Lag is the time between the source's commit and ours of the table's newest
	// transaction; -1 is unknown. LagBytes is what the source's log has after
	// Position; -1 is unknown.
	Lag      time.Duration
	LagBytes int64
	Snapshot int64 // newest snapshot that the pipeline made
	Error    string

	at source.Position // Position
}
