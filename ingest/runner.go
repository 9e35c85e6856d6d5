package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"path"
	"sort"
	"strings"
	"sync"

	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/sink"
	"github.com/thermocline/thermocline/internal/errs"
)

// Runner runs several pipelines in one process and keeps them in the data
// directory, so that they resume at the next start. It is safe for concurrent
// use.
type Runner struct {
	o    Options
	log  *slog.Logger
	ctx  context.Context // ends when the runner drains
	stop context.CancelFunc

	mu     sync.Mutex
	runs   map[string]*job
	closed bool
}

// job is one pipeline of the runner.
type job struct {
	def  *pipeline.Definition
	run  *run
	stop context.CancelFunc
	done chan struct{} // closed when run has returned
}

// kept is a pipeline's file in the data directory.
type kept struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	File    string `json:"file,omitempty"`
	YAML    string `json:"yaml"`
	Stopped bool   `json:"stopped,omitempty"` // by request: not resumed at start
}

// NewRunner makes a runner without pipelines. Close ends it.
func NewRunner(o Options) *Runner {
	ctx, stop := context.WithCancel(context.Background())
	log := o.Log
	if log == nil {
		log = slog.Default()
	}
	return &Runner{o: o, log: log, ctx: ctx, stop: stop, runs: map[string]*job{}}
}

// Resume starts the pipelines that were kept. A pipeline that cannot start is
// shown as failed and does not keep the others from starting; the error names
// only faults of the data directory itself.
func (r *Runner) Resume(ctx context.Context) error {
	if r.o.Files == nil {
		return nil
	}
	dir := path.Join(r.o.DataDir, "pipelines")
	entries, err := r.o.Files.List(ctx, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Dir || !strings.HasSuffix(e.Name, ".json") {
			continue
		}
		p := path.Join(dir, e.Name)
		b, err := r.o.Files.ReadFile(ctx, p)
		if err != nil {
			return err
		}
		var k kept
		if err := json.Unmarshal(b, &k); err != nil || k.Version != 1 {
			return errs.Corruptf("read the kept pipeline %s: it is not a pipeline of this version; move the file away", p)
		}
		def, err := pipeline.Load([]byte(k.YAML), pipeline.LoadOptions{File: k.File, RequireName: true})
		if k.Stopped {
			if err != nil { // it is said when it is resumed
				def = &pipeline.Definition{Name: k.Name, Text: k.YAML, File: k.File}
			}
			r.mu.Lock()
			r.runs[k.Name] = pausedJob(def)
			r.mu.Unlock()
			continue
		}
		if err == nil {
			err = r.start(ctx, def, false)
		}
		if err != nil {
			r.log.Error("resume pipeline", "pipeline", k.Name, "error", err)
			r.mu.Lock()
			r.runs[k.Name] = failedJob(k.Name, err)
			r.mu.Unlock()
		}
	}
	return nil
}

// Execute starts, or resumes, the pipeline that a YAML text defines, keeps it,
// and returns its name. A pipeline of that name that runs with another text is
// stopped first.
func (r *Runner) Execute(ctx context.Context, yaml string) (string, error) {
	return r.ExecuteFile(ctx, yaml, "")
}

// ExecuteFile is Execute for a text from a file, which messages name.
func (r *Runner) ExecuteFile(ctx context.Context, yaml, file string) (string, error) {
	def, err := pipeline.Load([]byte(yaml), pipeline.LoadOptions{File: file, RequireName: true})
	if err != nil {
		return "", err
	}
	return def.Name, r.start(ctx, def, true)
}

// start replaces the job of def's name by a new one, unless the same text runs.
func (r *Runner) start(ctx context.Context, def *pipeline.Definition, keep bool) error {
	p, err := newRun(r.o, def)
	if err != nil {
		return err
	}
	p.patient = true
	if keep {
		if err := r.keep(ctx, def, false); err != nil {
			return err
		}
	}
	for {
		r.mu.Lock()
		if r.closed {
			r.mu.Unlock()
			return errs.New(errs.Unavailable, errs.ShuttingDown, "start pipeline %s: the server is shutting down", def.Name)
		}
		old := r.runs[def.Name]
		if old == nil || old.ended() {
			jctx, stop := context.WithCancel(r.ctx)
			j := &job{def: def, run: p, stop: stop, done: make(chan struct{})}
			r.runs[def.Name] = j
			r.mu.Unlock()
			p.foresee(ctx)
			go func() {
				defer close(j.done)
				defer stop()
				if err := p.run(jctx); err != nil {
					r.log.Error("pipeline failed", "pipeline", def.Name, "error", err)
				}
			}()
			return nil
		}
		r.mu.Unlock()
		if old.def.Text == def.Text {
			return nil
		}
		old.stop()
		select {
		case <-old.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (j *job) ended() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// failedJob stands for a kept pipeline that could not be read.
func failedJob(name string, err error) *job {
	def := &pipeline.Definition{Name: name}
	p := &run{def: def}
	p.status.Name, p.status.State, p.status.Error = name, Failed, err.Error()
	j := &job{def: def, run: p, stop: func() {}, done: make(chan struct{})}
	close(j.done)
	return j
}

// pausedJob stands for a kept pipeline that is paused.
func pausedJob(def *pipeline.Definition) *job {
	p := &run{def: def}
	p.status = Status{Name: def.Name, State: Paused, Source: def.Source.Type, Sink: sinkName(def), Lag: -1}
	j := &job{def: def, run: p, stop: func() {}, done: make(chan struct{})}
	close(j.done)
	return j
}

func (r *Runner) keep(ctx context.Context, def *pipeline.Definition, stopped bool) error {
	if r.o.Files == nil {
		return nil
	}
	b, err := json.MarshalIndent(kept{Version: 1, Name: def.Name, File: def.File, YAML: def.Text, Stopped: stopped}, "", "  ")
	if err != nil {
		return err
	}
	return r.o.Files.WriteFile(ctx, r.keptPath(def.Name), b)
}

func (r *Runner) keptPath(name string) string {
	return path.Join(r.o.DataDir, "pipelines", url.PathEscape(name)+".json")
}

func (r *Runner) job(name string) (*job, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j := r.runs[name]; j != nil {
		return j, nil
	}
	return nil, errs.Userf(errs.UnknownPipeline, "find pipeline %s: there is no pipeline of that name", name)
}

// Pause commits what a pipeline has read, ends it, and does not resume it at the
// next start. Unpause, or Execute, starts it again.
func (r *Runner) Pause(ctx context.Context, name string) error {
	j, err := r.job(name)
	if err != nil {
		return err
	}
	if j.def.Text != "" {
		if err := r.keep(ctx, j.def, true); err != nil {
			return err
		}
	}
	if err := j.end(ctx); err != nil {
		return err
	}
	j.run.set(func(s *Status) { s.State = Paused })
	return nil
}

// end stops a job and waits for it.
func (j *job) end(ctx context.Context) error {
	j.stop()
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unpause starts a pipeline that was paused, has failed or is finished, from
// where it was. One that runs goes on.
func (r *Runner) Unpause(ctx context.Context, name string) error {
	j, err := r.job(name)
	if err != nil {
		return err
	}
	if !j.ended() {
		return nil
	}
	def, err := pipeline.Load([]byte(j.def.Text), pipeline.LoadOptions{File: j.def.File, RequireName: true})
	if err != nil {
		return err
	}
	return r.start(ctx, def, true)
}

// Resnapshot copies one lake table of a pipeline again: the new rows take the
// place of the old ones in one step, when they are complete. A stopped table is
// followed again after it. A pipeline that has failed is started; a paused one does
// it when it is resumed.
func (r *Runner) Resnapshot(ctx context.Context, name, table string) error {
	return r.recopy(ctx, name, table, false)
}

// Repair compares one lake table of a pipeline, or all where table is "", with the
// source, and writes what differs, in one step a table, while the pipeline goes on.
// Where rows cannot be compared it is Resnapshot.
func (r *Runner) Repair(ctx context.Context, name, table string) error {
	if table != "" {
		return r.recopy(ctx, name, table, true)
	}
	j, err := r.job(name)
	if err != nil {
		return err
	}
	for _, t := range j.run.snapshotStatus().Tables {
		if err := r.recopy(ctx, name, t.Table, true); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) recopy(ctx context.Context, name, table string, repair bool) error {
	j, err := r.job(name)
	if err != nil {
		return err
	}
	if j.def.Source.Startup == pipeline.LatestOffset {
		return errs.Userf(errs.InvalidConfig, "copy %s again: the pipeline %s starts at the latest-offset and copies no table; change scan.startup.mode to initial", table, name)
	}
	running := !j.ended()
	if running {
		if err := j.run.ask(ctx, &request{recopy: table, repair: repair}); !errors.Is(err, errUnanswered) {
			return err
		}
	}
	if err := j.end(ctx); err != nil {
		return err
	}
	err = j.run.recopy(ctx, table, repair)
	if !running && (err != nil || j.run.snapshotStatus().State != Failed) {
		return err
	}
	def, e := pipeline.Load([]byte(j.def.Text), pipeline.LoadOptions{File: j.def.File, RequireName: true})
	if e == nil {
		e = r.start(ctx, def, false)
	}
	return errors.Join(err, e)
}

// recopy notes that a table is to be copied again. The pipeline does not run.
func (p *run) recopy(ctx context.Context, table string, repair bool) error {
	if p.o.OpenLake == nil {
		return errs.Unsupportedf(-1, "copying a table of the pipeline %s again", p.name())
	}
	lake, err := p.openLake(ctx)
	if err != nil {
		return err
	}
	return sink.Recopy(ctx, lake.Files, sink.StateDir(lake.Root, p.name()), p.name(), table, repair)
}

// Writer names the pipeline that runs, or is starting, and writes a lake table of
// the warehouse at root, or any of a database where table is "database."; "" when
// none does.
func (r *Runner) Writer(root, table string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, j := range r.runs {
		if !j.ended() && j.run.writes(root, table) {
			return name
		}
	}
	return ""
}

// Drop stops a pipeline and forgets it. Its tables and its state in the
// warehouse stay, so that the same pipeline given again goes on where it was.
func (r *Runner) Drop(ctx context.Context, name string) error {
	if err := r.Pause(ctx, name); err != nil {
		return err
	}
	r.mu.Lock()
	j := r.runs[name]
	delete(r.runs, name)
	r.mu.Unlock()
	if j != nil && r.o.Live != nil {
		r.o.Live.Remove(j.run.at(), j.run.name())
	}
	if r.o.Files == nil {
		return nil
	}
	return r.o.Files.Remove(ctx, r.keptPath(name))
}

// Status describes the pipelines, sorted by name.
func (r *Runner) Status() []Status {
	r.mu.Lock()
	runs := make([]*run, 0, len(r.runs))
	for _, j := range r.runs {
		runs = append(runs, j.run)
	}
	r.mu.Unlock()
	out := make([]Status, 0, len(runs))
	for _, p := range runs {
		out = append(out, p.snapshotStatus())
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Close lets every pipeline commit what it has read, ends them, and waits for
// them until ctx ends. Closing twice is fine.
func (r *Runner) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	jobs := make([]*job, 0, len(r.runs))
	for _, j := range r.runs {
		jobs = append(jobs, j)
	}
	r.mu.Unlock()
	r.stop()
	var err error
	for _, j := range jobs {
		select {
		case <-j.done:
		case <-ctx.Done():
			err = errors.Join(err, errs.New(errs.Resource, errs.Timeout, "close pipeline %s: it has not committed in time", j.def.Name))
		}
	}
	return err
}
