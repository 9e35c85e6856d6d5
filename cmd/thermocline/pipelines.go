package main

import (
	"context"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/live"
	"github.com/thermocline/thermocline/ingest"
	"github.com/thermocline/thermocline/server/session"
)

// control joins the runner of pipelines to sessions.
type control struct {
	*ingest.Runner
	// root returns the warehouse of a catalog, "" when it is unknown.
	root func(catalogName string) string
}

var _ session.PipelineControl = control{}

// List implements session.PipelineControl.
func (c control) List(context.Context) ([]session.PipelineStatus, error) {
	var out []session.PipelineStatus
	for _, p := range c.Runner.Status() {
		x := session.PipelineStatus{Name: p.Name, State: string(p.State), Source: p.Source, Sink: p.Sink,
			Position: p.Position, Lag: p.Lag, Rows: p.RowsCommitted, Started: p.Started, Error: p.Error}
		for _, t := range p.Tables {
			x.Tables = append(x.Tables, session.PipelineTable{Table: t.Table, Sources: t.Sources, Phase: t.Phase, Position: t.Position, Lag: t.Lag, LagBytes: t.LagBytes,
				RowsIn: t.RowsRead, RowsOut: t.Rows, Snapshot: t.Snapshot, Error: t.Error})
		}
		out = append(out, x)
	}
	return out, nil
}

// Resume implements session.PipelineControl.
func (c control) Resume(ctx context.Context, name string) error { return c.Unpause(ctx, name) }

// liveFeeds finds the feeds of the tables of catalogs.
type liveFeeds struct {
	*live.Registry
	root func(catalogName string) string
}

// Feed implements session.LiveFeeds.
func (l liveFeeds) Feed(catalogName string, id catalog.Identifier) *live.Feed {
	root := l.root(catalogName)
	if root == "" {
		return nil
	}
	return l.Find(root, id.Database+"."+id.Table)
}

// Writer implements session.PipelineControl.
func (c control) Writer(catalogName string, id catalog.Identifier) string {
	root := c.root(catalogName)
	if root == "" {
		return ""
	}
	return c.Runner.Writer(root, id.Database+"."+id.Table)
}

// Verify implements session.PipelineControl.
func (c control) Verify(ctx context.Context, name string) ([]session.VerifiedTable, error) {
	list, err := c.Runner.Verify(ctx, name)
	return verifiedTables(ingest.Verification{At: time.Now(), Tables: list}), err
}

// Verified implements session.PipelineControl.
func (c control) Verified(_ context.Context, name string) ([]session.VerifiedTable, error) {
	return verifiedTables(c.Runner.Verification(name)), nil
}

func verifiedTables(v ingest.Verification) (out []session.VerifiedTable) {
	for _, t := range v.Tables {
		x := session.VerifiedTable{Table: t.Table, At: v.At, Rows: t.Rows, Count: t.Count, Skipped: t.Skipped}
		for _, d := range t.Differences {
			x.Differences = append(x.Differences, session.RowDifference{Key: d.Key, What: d.What})
		}
		out = append(out, x)
	}
	return out
}
