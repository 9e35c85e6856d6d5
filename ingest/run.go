package ingest

import (
	"context"
	"sync"

	"github.com/thermocline/thermocline/ingest/pipeline"
)

// run is one run of a pipeline.
type run struct {
	o   Options
	def *pipeline.Definition

	mu     sync.Mutex
	status Status
}

func newRun(o Options, def *pipeline.Definition) (*run, error) {
	return &run{o: o, def: def}, nil
}

func (p *run) snapshotStatus() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

func (p *run) run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
