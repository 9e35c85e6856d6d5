package ingest

import (
	"context"
	"io"

	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/source"
)

// Plan is what a pipeline would do: tables, keys, types, buckets, warnings.
type Plan struct {
	Definition *pipeline.Definition
	Tables     []PlanTable
	Warnings   []string
}

// PlanTable is a lake table and what feeds it.
type PlanTable struct {
	Sources []*source.Table
}

// MakePlan connects to the source, resolves tables and routes, and changes
// nothing. Everything that the pipeline would refuse at its start is an error.
func MakePlan(ctx context.Context, o Options, def *pipeline.Definition) (*Plan, error) {
	return &Plan{Definition: def}, nil
}

// WriteTo prints the plan for people.
func (p *Plan) WriteTo(w io.Writer) (int64, error) { return 0, nil }
