// Package alert watches the pipelines of a server and tells people when one
// falls behind, a table stops, a pipeline fails or cannot reach its source, or
// the source keeps its log for less than a day.
//
// An alert is raised when its condition has held for a while, and cleared when it
// has not held for as long (hysteresis: lag clears at half of its limit), so that
// a pipeline at the limit does not flood anybody. Each is sent once when it is
// raised and once when it is cleared.
//
// Start reading at Watcher.
package alert

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"time"

	"github.com/thermocline/thermocline/ingest"
)

// Rules say when alerts are raised. Zero values are the defaults.
type Rules struct {
	Lag       time.Duration // default 5 min
	Retention time.Duration // default 24 h
	Hold      time.Duration // how long a condition holds before it counts; default 1 min
}

// Alert is one thing that is wrong, or is right again.
type Alert struct {
	Pipeline string    `json:"pipeline"`
	Table    string    `json:"table,omitempty"`
	Kind     string    `json:"alert"` // lag, failed, unreachable, table-stopped, retention
	Cleared  bool      `json:"cleared"`
	Message  string    `json:"message"`
	Time     time.Time `json:"time"`
}

// String is the text of a message.
func (a Alert) String() string {
	if a.Cleared {
		return fmt.Sprintf("Thermocline: pipeline %s: over: %s", a.Pipeline, a.Message)
	}
	return fmt.Sprintf("Thermocline: pipeline %s: %s", a.Pipeline, a.Message)
}

// Notifier sends alerts.
type Notifier interface {
	Send(ctx context.Context, a Alert) error
}

// Watcher raises and clears alerts. It belongs to one goroutine.
type Watcher struct {
	rules  Rules
	to     []Notifier
	log    *slog.Logger
	states map[key]*state
}

type key struct{ pipeline, table, kind string }

// state is a condition that holds, or held until lately.
type state struct {
	raised  bool
	since   time.Time // that it holds, or while raised, that it does not; zero: not counting
	message string
	unsent  []Alert // that could not be sent yet
}

// NewWatcher makes a watcher. A nil log is slog.Default.
func NewWatcher(r Rules, to []Notifier, log *slog.Logger) *Watcher {
	if r.Lag == 0 {
		r.Lag = 5 * time.Minute
	}
	if r.Retention == 0 {
		r.Retention = 24 * time.Hour
	}
	if r.Hold == 0 {
		r.Hold = time.Minute
	}
	if log == nil {
		log = slog.Default()
	}
	return &Watcher{rules: r, to: to, log: log, states: map[key]*state{}}
}

// Interval is how often Run looks.
const Interval = 10 * time.Second

// Run looks at the pipelines until ctx ends.
func (w *Watcher) Run(ctx context.Context, pipelines func() []ingest.Status) {
	t := time.NewTicker(Interval)
	defer t.Stop()
	for {
		w.Look(ctx, time.Now(), pipelines())
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// finding is a condition at one moment: whether it holds, and whether it is so
// far from holding that it clears.
type finding struct {
	key
	holds, clears bool
	message       string
}

// findings are the conditions of a pipeline.
func (w *Watcher) findings(p ingest.Status) (out []finding) {
	add := func(table, kind string, holds, clears bool, format string, args ...any) {
		out = append(out, finding{key{p.Name, table, kind}, holds, clears, fmt.Sprintf(format, args...)})
	}
	failed := p.State == ingest.Failed
	add("", "failed", failed, !failed, "it has failed: %s", p.Error)
	away := p.State == ingest.Reconnecting
	add("", "unreachable", away, !away && p.State != ingest.Starting, "its source cannot be reached: %s", p.Error)
	late := p.State == ingest.Streaming && p.Behind > w.rules.Lag
	add("", "lag", late, p.Behind < w.rules.Lag/2, "it is %s behind its source", p.Behind.Round(time.Second))
	short := p.Retention > 0 && p.Retention < w.rules.Retention
	add("", "retention", short, !short, "its source keeps the binlog for %s only: a longer stop loses the place; raise binlog_expire_logs_seconds", p.Retention)
	for _, t := range p.Tables {
		stopped := t.Phase == "stopped"
		add(t.Table, "table-stopped", stopped, !stopped, "the table %s is not followed any more: %s", t.Table, t.Error)
	}
	return out
}

// Look raises and clears alerts by how the pipelines are at a moment.
func (w *Watcher) Look(ctx context.Context, now time.Time, pipelines []ingest.Status) {
	seen := map[key]bool{}
	for _, p := range pipelines {
		if p.State == ingest.Paused {
			continue // by request: what was raised is over
		}
		for _, f := range w.findings(p) {
			seen[f.key] = true
			w.count(now, f)
		}
	}
	for k, s := range w.states {
		if !seen[k] { // paused, dropped, or the table is not fed any more
			w.count(now, finding{k, false, true, s.message})
		}
	}
	w.send(ctx)
}

// count counts how long a condition holds.
func (w *Watcher) count(now time.Time, f finding) {
	s := w.states[f.key]
	if s == nil {
		if !f.holds {
			return
		}
		s = &state{}
		w.states[f.key] = s
	}
	if f.holds {
		s.message = f.message
	}
	turn := f.holds != s.raised && (f.holds || f.clears) // towards the other side
	switch {
	case !turn:
		s.since = time.Time{}
	case s.since.IsZero():
		s.since = now
	}
	if turn && now.Sub(s.since) >= w.rules.Hold {
		s.raised, s.since = f.holds, time.Time{}
		s.unsent = append(s.unsent, Alert{Pipeline: f.pipeline, Table: f.table, Kind: f.kind, Cleared: !f.holds, Message: s.message, Time: now})
	}
	if !s.raised && !f.holds && s.since.IsZero() && len(s.unsent) == 0 {
		delete(w.states, f.key)
	}
}

// send sends what waits; what cannot be sent is tried again at the next look.
func (w *Watcher) send(ctx context.Context) {
	var waiting []key
	for k, s := range w.states {
		if len(s.unsent) > 0 {
			waiting = append(waiting, k)
		}
	}
	sort.Slice(waiting, func(i, j int) bool {
		return w.states[waiting[i]].unsent[0].Time.Before(w.states[waiting[j]].unsent[0].Time)
	})
	for _, k := range waiting {
		s := w.states[k]
		s.unsent = slices.DeleteFunc(s.unsent, func(a Alert) bool { return w.deliver(ctx, a) })
		if !s.raised && s.since.IsZero() && len(s.unsent) == 0 {
			delete(w.states, k)
		}
	}
}

// deliver sends an alert to everybody and reports whether anybody got it, or it
// is too old to matter.
func (w *Watcher) deliver(ctx context.Context, a Alert) bool {
	w.log.Warn("alert", "pipeline", a.Pipeline, "table", a.Table, "alert", a.Kind, "cleared", a.Cleared, "message", a.Message)
	got := len(w.to) == 0
	for _, n := range w.to {
		c, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := n.Send(c, a)
		cancel()
		if err != nil {
			w.log.Error("send an alert", "error", err)
			continue
		}
		got = true
	}
	return got || time.Since(a.Time) > time.Hour
}
