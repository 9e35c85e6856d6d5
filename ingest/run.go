package ingest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/ingest/transform"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// run is one run of a pipeline: attempts, one after the other, until one ends
// for good.
type run struct {
	o      Options
	def    *pipeline.Definition
	log    *slog.Logger
	budget *memory.Budget
	rules  *transform.Rules
	// patient runs keep trying a source that was never reached; others give up.
	patient bool

	shadows []source.ID // captured by the patterns, and left out

	mu     sync.Mutex
	status Status
	root   string // of the lake that was opened
}

// writes reports whether the run writes a table of the warehouse at root.
func (p *run) writes(root, table string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.root == root && slices.ContainsFunc(p.status.Tables, func(t TableStatus) bool { return t.Table == table })
}

func newRun(o Options, def *pipeline.Definition) (*run, error) {
	p := &run{o: o, def: def, log: o.Log, budget: o.Budget}
	if p.log == nil {
		p.log = slog.Default()
	}
	if def.Name != "" {
		p.log = p.log.With("pipeline", def.Name)
	}
	p.status = Status{Name: def.Name, State: Starting, Sink: sinkName(def), Source: def.Source.Type, Lag: -1, Started: time.Now()}
	var err error
	if p.rules, err = transform.Parse(def.Transforms, transform.Options{Zone: def.Settings.Zone, Metadata: def.Source.Metadata}); err != nil {
		return nil, err
	}
	src, err := p.openSource() // checks the options
	if err != nil {
		return nil, err
	}
	p.status.Source = src.Address()
	return p, src.Close()
}

func sinkName(def *pipeline.Definition) string {
	if w := def.Sink.Catalog["warehouse"]; w != "" {
		return def.Sink.Type + " " + w
	}
	return def.Sink.Type
}

func (p *run) set(change func(*Status)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.status)
}

func (p *run) snapshotStatus() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.status
	s.Tables = slices.Clone(s.Tables)
	for i, t := range s.Tables {
		if t.at != nil {
			s.Tables[i].Position = t.at.String()
		}
	}
	return s
}

// Pauses between attempts.
const (
	firstPause = 200 * time.Millisecond
	maxPause   = 30 * time.Second
	// impatientTries is how often a source that was never reached is tried.
	impatientTries = 3
)

// run runs the pipeline until ctx ends (nil, all that was read is committed), a
// bounded one is done (nil), or it fails.
func (p *run) run(ctx context.Context) error {
	pause, tries := firstPause, 0
	reached := false
	for {
		a := &attempt{p: p, warned: map[source.ID]time.Time{}}
		err := flat(a.run(ctx))
		switch {
		case err == nil || ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, ctx.Err())):
			p.set(func(s *Status) { s.State, s.Error = Stopped, "" })
			return nil
		case ctx.Err() != nil:
			p.set(func(s *Status) { s.State, s.Error = Stopped, err.Error() })
			return err
		case !again(err):
			p.set(func(s *Status) { s.State, s.Error = Failed, err.Error() })
			return err
		}
		reached = reached || a.reached
		tries++
		if !p.patient && !reached && tries == impatientTries {
			p.set(func(s *Status) { s.State, s.Error = Failed, err.Error() })
			return err
		}
		if a.progress {
			pause = firstPause
		}
		p.set(func(s *Status) { s.State, s.Error = Reconnecting, err.Error(); s.Reconnects++ })
		p.log.Warn("trying again", "after", pause.String(), "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, maxPause)
	}
}

// flat puts the messages of joined errors on one line.
func flat(err error) error {
	if err == nil || !strings.Contains(err.Error(), "\n") {
		return err
	}
	return &errs.Error{Class: errs.ClassOf(err), Kind: errs.KindOf(err), Msg: strings.ReplaceAll(err.Error(), "\n", "; "), Pos: -1}
}

// again reports whether another attempt from the last committed position may
// succeed.
func again(err error) bool {
	if errs.Is(err, errs.Fenced) {
		return false
	}
	switch errs.ClassOf(err) {
	case errs.Unavailable, errs.UnknownOutcome, errs.Conflict, errs.Resource:
		return true
	}
	return false
}
