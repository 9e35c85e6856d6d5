package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// State is what a pipeline keeps beside the positions in its tables' snapshots:
// files <warehouse>/_thermocline/cdc/<pipeline>/state-<n>, each created
// exclusively, the highest n counts. It is JSON of this struct.
type State struct {
	Version  int    `json:"version"` // 1
	Pipeline string `json:"pipeline"`
	// Epoch is raised at each start; a commit with a lower one is fenced off.
	Epoch int64 `json:"epoch"`
	// Seq is the last commit round.
	Seq int64 `json:"seq"`
	// Source identifies the server that positions belong to.
	Source string `json:"source"`
	// Position is the low-water position: everything up to it is committed in
	// every table that is not stopped. "" before the first one.
	Position string `json:"position,omitempty"`
	// Closed says that the pipeline ended in order, so that nobody may still be
	// committing under its epoch.
	Closed bool                   `json:"closed,omitempty"`
	Millis int64                  `json:"timeMillis"`
	Tables map[string]*TableState `json:"tables"` // by database.table of the lake

	n int64
}

// TableState is a lake table in the state.
type TableState struct {
	UUID     string `json:"uuid"`
	Snapshot int64  `json:"snapshot,omitempty"` // newest own
	Seq      int64  `json:"seq,omitempty"`      // its round
	Copied   bool   `json:"copied,omitempty"`   // the first copy is complete
	// Making says that the table was not there before the pipeline: while it has no
	// snapshot it may be made anew.
	Making bool `json:"making,omitempty"`
	// Recopy asks for a copy whose rows replace what the table has.
	Recopy bool `json:"recopy,omitempty"`
	// Repair asks for one that writes only what differs.
	Repair bool `json:"repair,omitempty"`
	// Stopped is why the table is not followed any more, at Position.
	Stopped  string `json:"stopped,omitempty"`
	Position string `json:"position,omitempty"`
	// Ignored are columns of the definitions that the lake table does not get, by
	// source table.
	Ignored map[string][]string `json:"ignored,omitempty"`
	// Next is a change of the definitions that was begun.
	Next *Evolving `json:"next,omitempty"`
	// Sources are the definitions that rows are decoded by.
	Sources []*source.Table `json:"sources,omitempty"`
	// Rules identify the transform rules that its rows have passed.
	Rules string `json:"rules,omitempty"`
}

const (
	stateVersion = 1
	statesKept   = 4
)

// StateDir is where a pipeline's state lies.
func StateDir(root, pipeline string) string {
	return path.Join(root, "_thermocline", "cdc", url.PathEscape(pipeline))
}

// ReadState returns the newest state, or nil when there is none.
func ReadState(ctx context.Context, files fileio.FileIO, dir string) (*State, error) {
	if files == nil {
		return nil, nil
	}
	for {
		list, err := files.List(ctx, dir)
		if err != nil {
			return nil, err
		}
		newest := int64(-1)
		for _, in := range list {
			if n, err := strconv.ParseInt(strings.TrimPrefix(in.Name, "state-"), 10, 64); err == nil && strings.HasPrefix(in.Name, "state-") {
				newest = max(newest, n)
			}
		}
		if newest < 0 {
			return nil, nil
		}
		p := statePath(dir, newest)
		b, err := files.ReadFile(ctx, p)
		if errs.Is(err, errs.FileNotFound) {
			continue // a newer one was written and this one removed
		}
		if err != nil {
			return nil, err
		}
		var s State
		if err := json.Unmarshal(b, &s); err != nil {
			return nil, errs.Corruptf("read pipeline state %s: %w", p, err)
		}
		if s.Version != stateVersion {
			return nil, errs.Unsupportedf(-1, "version %d of the pipeline state %s", s.Version, p)
		}
		if s.Tables == nil {
			s.Tables = map[string]*TableState{}
		}
		s.n = newest
		return &s, nil
	}
}

// Recopy notes that a lake table of a pipeline, which must not run, is to be
// copied again: its rows stay until the new ones replace them in one step. With
// repair only what differs is written.
func Recopy(ctx context.Context, files fileio.FileIO, dir, pipeline, table string, repair bool) error {
	s, err := ReadState(ctx, files, dir)
	if err != nil {
		return err
	}
	if s == nil || s.Tables[table] == nil {
		known := "it has none yet"
		if s != nil && len(s.Tables) > 0 {
			known = "its tables are " + strings.Join(slices.Sorted(maps.Keys(s.Tables)), ", ")
		}
		return errs.Userf(errs.UnknownTable, "copy %s again: it is no lake table of the pipeline %s; %s", table, pipeline, known)
	}
	s.Tables[table].Recopy, s.Tables[table].Repair = true, repair
	return s.write(ctx, files, dir)
}

// older reports whether b is a state of an earlier start than epoch.
func older(b []byte, epoch int64) bool {
	var x State
	return json.Unmarshal(b, &x) == nil && x.Version == stateVersion && x.Epoch < epoch
}

func statePath(dir string, n int64) string { return path.Join(dir, "state-"+strconv.FormatInt(n, 10)) }

// write stores s as the next state. Another process that wrote that number
// first is an error of kind errs.Fenced.
func (s *State) write(ctx context.Context, files fileio.FileIO, dir string) error {
	if files == nil {
		return nil
	}
	s.Version, s.Millis = stateVersion, time.Now().UnixMilli()
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return errs.Internalf("write the pipeline state: %w", err)
	}
	p := statePath(dir, s.n+1)
	if err := files.CreateExclusive(ctx, p, b); err != nil {
		// It may exist by our own hand, the reply lost: the content tells.
		got, readErr := files.ReadFile(ctx, p)
		switch {
		case readErr == nil && bytes.Equal(got, b):
		case readErr == nil && older(got, s.Epoch):
			// A request of a process that has ended came late. What it knew is read
			// again, and the next start has a higher epoch than it, if it lives.
			return errs.New(errs.Conflict, errs.KindNone, "write the pipeline state %s: an earlier start of the pipeline %s has written it meanwhile", p, s.Pipeline)
		case readErr == nil:
			return errs.New(errs.Conflict, errs.Fenced, "write the pipeline state %s: another process runs the pipeline %s", p, s.Pipeline)
		default:
			return err
		}
	}
	s.n++
	if old := s.n - statesKept; old >= 0 {
		if err := files.Remove(ctx, statePath(dir, old)); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
