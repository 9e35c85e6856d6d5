package session

import (
	"context"
	"runtime"
	"strconv"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/server/admission"
	"github.com/thermocline/thermocline/server/exec"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/plan"
)

// A query is light when it reads and makes no more rows than this, from no more
// stored bytes: some ten milliseconds of one core.
const (
	lightRows  = 250_000
	lightBytes = 16 << 20
)

// newQueue makes the queue of the server's queries.
func (s *Server) newQueue() *admission.Queue {
	number := func(name string) int {
		x, err := metadata.LookupVariable(name)
		if err != nil {
			return 0
		}
		v, _ := s.globals.get(x)
		n, _ := strconv.Atoi(v)
		return n
	}
	return admission.New(admission.Config{Memory: s.cfg.Memory, Cores: runtime.GOMAXPROCS(0),
		Slots: func() int { return number("lake_query_slots") },
		Wait:  func() time.Duration { return time.Duration(number("lake_queue_timeout")) * time.Second },
	})
}

// Queue returns the queue in which queries wait for their turn.
func (s *Server) Queue() *admission.Queue { return s.queue }

// admit waits until queries of the statement may run. A statement keeps what it
// was admitted with to its end.
func (run *statement) admit(ctx context.Context, queries ...*plan.Query) error {
	if !reads(queries) {
		return nil
	}
	return run.admitted(ctx, func() (bool, error) { return run.light(ctx, queries) })
}

// admitted waits until work may be done; isLight is asked where that matters.
func (run *statement) admitted(ctx context.Context, isLight func() (bool, error)) error {
	if t := run.ticket; t != nil && t.Class() == admission.Heavy {
		return nil
	}
	q, account := run.s.srv.queue, run.s.account.String()
	t := q.Try(admission.Heavy, account)
	if t == nil {
		light, err := isLight()
		if err != nil || light && run.ticket != nil {
			return err
		}
		class := admission.Heavy
		if light {
			class = admission.Light
		}
		run.s.state("queued")
		if t, err = q.Admit(ctx, class, account); err != nil {
			return err
		}
	}
	run.s.mu.Lock()
	defer run.s.mu.Unlock()
	if run.ticket != nil { // of a subquery that is over
		run.ticket.Release()
	}
	run.ticket = t
	return nil
}

// reads reports whether queries read stored tables. What reads none, such as SHOW
// and the information_schema, never waits.
func reads(queries []*plan.Query) bool {
	for _, p := range queries {
		for _, t := range p.Tables {
			if _, virtual := metadata.VirtualDatabase(t.Table.ID().Database); !virtual {
				return true
			}
		}
		if plan.Generates(p) {
			return true
		}
	}
	return false
}

// light reports whether queries have little to do.
func (run *statement) light(ctx context.Context, queries []*plan.Query) (bool, error) {
	sum := exec.Work{}
	for _, p := range queries {
		w, err := exec.WorkOf(ctx, p, run.executor())
		if err != nil {
			if errs.ClassOf(err) == errs.Unsupported { // it will be refused when it runs
				return true, nil
			}
			return false, err
		}
		sum.Rows += w.Rows
		sum.Bytes += w.Bytes
	}
	return sum.Rows <= lightRows && sum.Bytes <= lightBytes, nil
}

// dismiss gives back what the statement was admitted with.
func (run *statement) dismiss() {
	if run.ticket != nil {
		run.ticket.Release()
	}
}
