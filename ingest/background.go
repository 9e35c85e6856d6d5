package ingest

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
)

// Verification is the last comparison of a pipeline's lake tables with their source.
type Verification struct {
	At     time.Time // when it was complete; zero: never
	Tables []Verified
}

// firstVerify is after which part of the interval the first comparison begins: not
// all pipelines of a server at once.
func firstVerify(interval time.Duration) time.Duration {
	return interval/4 + rand.N(interval/4+1)
}

// verifyLoop compares the lake tables with the source every so often, and repairs
// them where the pipeline says so, until ctx ends.
func (p *run) verifyLoop(ctx context.Context) {
	s := p.def.Settings
	wait := firstVerify(s.VerifyInterval)
	for {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		wait = s.VerifyInterval
		if _, err := p.verify(ctx, s.VerifyRows, s.VerifyRepair); err != nil && ctx.Err() == nil {
			p.log.Warn("the lake tables could not be compared with their source", "error", err)
		}
	}
}

// verify compares the lake tables with their source, at most so many rows a second,
// keeps the result for the status, and asks for repairs of what differs.
func (p *run) verify(ctx context.Context, rowsPerSecond int64, repair bool) ([]Verified, error) {
	p.verifying.Lock() // one at a time
	defer p.verifying.Unlock()
	list, err := verify(ctx, p.o, p.def, rowsPerSecond)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.verified = Verification{At: time.Now(), Tables: list}
	p.mu.Unlock()
	for _, t := range list {
		if t.Count == 0 {
			continue
		}
		p.log.Error("rows of a lake table differ from the source's", "table", t.Table, "rows", t.Count, "first", t.Differences[0].Key+": "+t.Differences[0].What)
		if !repair {
			continue
		}
		e := p.ask(ctx, &request{recopy: t.Table, repair: true})
		if errors.Is(e, errUnanswered) {
			p.log.Warn("the table is repaired when it is found to differ again: the pipeline does not follow at present", "table", t.Table)
		} else if err = errors.Join(err, e); e == nil {
			p.log.Info("repairing", "table", t.Table)
		}
	}
	return list, err
}

// Verify compares the lake tables of a pipeline with their source now, and keeps the
// result for Verification.
func (r *Runner) Verify(ctx context.Context, name string) ([]Verified, error) {
	j, err := r.job(name)
	if err != nil {
		return nil, err
	}
	if j.def.Text == "" || j.def.Sink.Type == "" {
		return nil, errs.Userf(errs.InvalidConfig, "verify pipeline %s: its file could not be read", name)
	}
	return j.run.verify(ctx, 0, false)
}

// Verification returns the last comparison of a pipeline with its source.
func (r *Runner) Verification(name string) Verification {
	j, err := r.job(name)
	if err != nil {
		return Verification{}
	}
	j.run.mu.Lock()
	defer j.run.mu.Unlock()
	return j.run.verified
}
