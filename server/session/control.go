package session

import (
	"context"
	"time"

	"github.com/thermocline/thermocline/catalog"
)

// PipelineControl starts and lists ingest pipelines. ingest implements it and
// cmd joins the two. Implementations are safe for concurrent use.
type PipelineControl interface {
	// Execute starts, or resumes, the pipeline that a YAML text defines and
	// returns its name. It is kept: a restarted server resumes it.
	Execute(ctx context.Context, yaml string) (name string, err error)
	// List describes the pipelines, sorted by name.
	List(ctx context.Context) ([]PipelineStatus, error)
	// Pause commits what a pipeline has read and ends it; it stays paused over
	// restarts of the server, until Resume. Errors: errs.UnknownPipeline.
	Pause(ctx context.Context, name string) error
	// Resume starts a pipeline that was paused or has failed, from where it was.
	Resume(ctx context.Context, name string) error
	// Drop ends a pipeline and forgets it; its tables and positions stay.
	Drop(ctx context.Context, name string) error
	// Resnapshot copies the lake table "database.table" of a pipeline again; its
	// new rows replace the old ones in one step.
	Resnapshot(ctx context.Context, name, table string) error
	// Repair compares a lake table with its source and writes what differs, in one
	// step; an empty table is all tables of the pipeline.
	Repair(ctx context.Context, name, table string) error
	// Verify compares the lake tables of a pipeline with their source now; Verified
	// is the last comparison, in the background or by Verify.
	Verify(ctx context.Context, name string) ([]VerifiedTable, error)
	Verified(ctx context.Context, name string) ([]VerifiedTable, error)
	// Writer names the pipeline that runs, or is starting, and writes a table, or
	// any table of the database where id names none; "" when none does.
	Writer(catalogName string, id catalog.Identifier) string
}

// PipelineStatus describes a pipeline for SHOW PIPELINES.
type PipelineStatus struct {
	Name     string
	State    string // starting, snapshotting, streaming, reconnecting, paused, stopped, failed
	Source   string // type and address
	Sink     string
	Tables   []PipelineTable
	Position string        // of the source, as last committed
	Lag      time.Duration // commit time against source time; negative: unknown
	Rows     int64         // changed rows committed since the start
	Started  time.Time
	Error    string // why it failed, "" otherwise
}

// PipelineTable describes a lake table of a pipeline.
type PipelineTable struct {
	Table    string   // database.table in the lake
	Sources  []string // that feed it
	Phase    string   // snapshot, stream, stopped
	Position string   // of the source, that the table has
	Lag      time.Duration
	LagBytes int64 // of the source's log, negative: unknown
	RowsIn   int64 // read from the source since the start
	RowsOut  int64 // committed since the start
	Snapshot int64 // newest that the pipeline made
	Error    string
}

// VerifiedTable is a lake table that was compared with its source.
type VerifiedTable struct {
	Table   string // database.table in the lake
	At      time.Time
	Rows    int64  // of the source that were compared
	Count   int64  // of them differ
	Skipped string // why it was not compared, "" otherwise
	// Differences are the first ones.
	Differences []RowDifference
}

// RowDifference is a row that the lake has otherwise than the source.
type RowDifference struct{ Key, What string }
