package session

import (
	"context"
	"time"
)

// PipelineControl starts and lists ingest pipelines. ingest implements it and
// cmd joins the two. Implementations are safe for concurrent use.
type PipelineControl interface {
	// Execute starts, or resumes, the pipeline that a YAML text defines and
	// returns its name. It is kept: a restarted server resumes it.
	Execute(ctx context.Context, yaml string) (name string, err error)
	// List describes the pipelines, sorted by name.
	List(ctx context.Context) ([]PipelineStatus, error)
}

// PipelineStatus describes a pipeline for SHOW PIPELINES.
type PipelineStatus struct {
	Name     string
	State    string // snapshotting, streaming, stopped, failed
	Source   string // type and address
	Sink     string
	Tables   int
	Position string        // of the source, as last committed
	Lag      time.Duration // commit time against source time; negative: unknown
	Rows     int64         // changed rows committed since the start
	Started  time.Time
	Error    string // why it failed, "" otherwise
}
