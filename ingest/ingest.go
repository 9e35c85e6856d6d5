// Package ingest follows databases into lake tables: it reads pipeline files
// (ingest/pipeline), resolves tables and routes (ingest/route), copies and
// follows the source (ingest/source and below), and commits rows together with
// the source's position (ingest/sink), so that every change arrives exactly
// once.
//
// Invariants. A table's rows and the position they stand for become visible in
// one snapshot. Rounds end at source transaction boundaries. A failed round is
// thrown away as a whole and read again from the last committed position. What
// cannot be followed exactly stops the table with a reason; it is never skipped.
//
// Start reading at Runner, then run.go.
package ingest

import (
	"context"
	"io"
	"log/slog"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/live"
	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/memory"
)

// Lake is a warehouse that pipelines write to.
type Lake struct {
	// Catalog has the tables, which implement connector.Writable and
	// connector.Readable.
	Catalog catalog.Writable
	// Files and Root are where the pipelines' state lies: below
	// Root/_thermocline/cdc.
	Files fileio.FileIO
	Root  string
}

// Options configure a Runner.
type Options struct {
	// Sources make sources by the `type` of the source block.
	Sources map[string]source.Factory
	// OpenLake opens the warehouse that the catalog.properties.* of a sink name
	// (keys without the prefix; none may be empty). It may return the same Lake
	// every time.
	OpenLake func(ctx context.Context, properties map[string]string) (*Lake, error)
	// Files and DataDir are where pipelines are kept, below DataDir/pipelines.
	// A nil Files keeps none.
	Files   fileio.FileIO
	DataDir string
	// Budget pays for rows in memory; nil is unlimited.
	Budget *memory.Budget
	// Live is where queries of this process find rows that are not committed; nil:
	// there are none.
	Live *live.Registry
	// Out gets the rows of `type: values` sinks; nil is io.Discard.
	Out io.Writer
	// Log; nil is slog.Default.
	Log *slog.Logger
}

// RunFile runs one pipeline in the foreground until ctx ends, a bounded one is
// done, or it fails. It is what `thermocline ingest` does.
func RunFile(ctx context.Context, o Options, def *pipeline.Definition) error {
	p, err := newRun(o, def)
	if err != nil {
		return err
	}
	return p.run(ctx)
}
