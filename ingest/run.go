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
	"github.com/thermocline/thermocline/ingest/sink"
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
	live    *sink.Live  // nil before the lake was opened, or where nobody reads live

	mu     sync.Mutex
	status Status
	root   string // of the lake that was opened
	// requests wait for the goroutine that follows, which wake wakes; nil: none does.
	requests []*request
	wake     func()
	backlog  func(source.Position) int64 // of the source's log, as last seen
	verified Verification

	verifying sync.Mutex
}

// writes reports whether the run writes a table of the warehouse at root, or any of
// a database where table ends with a dot.
func (p *run) writes(root, table string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.root == root && slices.ContainsFunc(p.status.Tables, func(t TableStatus) bool {
		return t.Table == table || strings.HasSuffix(table, ".") && strings.HasPrefix(t.Table, table)
	})
}

// foresee takes the tables that the run will write from its kept state, so that
// they are guarded while the source is not reached yet. What it cannot read is read
// again, and said, by the first attempt.
func (p *run) foresee(ctx context.Context) {
	if p.o.OpenLake == nil || p.def.Sink.Type == "values" {
		return
	}
	lake, err := p.openLake(ctx)
	if err != nil {
		return
	}
	state, err := sink.ReadState(ctx, lake.Files, sink.StateDir(lake.Root, p.name()))
	if err != nil || state == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.root = lake.Root
	for name, t := range state.Tables {
		x := TableStatus{Table: name, Phase: "starting", Error: t.Stopped, Lag: -1, LagBytes: -1}
		for _, d := range t.Sources {
			x.Sources = append(x.Sources, d.ID.String())
		}
		p.status.Tables = append(p.status.Tables, x)
	}
	slices.SortFunc(p.status.Tables, func(a, b TableStatus) int { return strings.Compare(a.Table, b.Table) })
}

// at is the root of the warehouse that the run writes, "" before it is opened.
func (p *run) at() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.root
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
			if p.backlog != nil {
				s.Tables[i].LagBytes = p.backlog(t.at)
			}
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
func (p *run) run(ctx context.Context) (err error) {
	defer func() { p.endLive(err) }()
	if p.def.Settings.VerifyInterval > 0 {
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.verifyLoop(ctx)
		}()
		defer func() {
			cancel()
			<-done
		}()
	}
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
