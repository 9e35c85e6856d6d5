package exec

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/server/plan"
)

// Profile is what the operators of a query did, by their nodes. Use it after the
// query's reader was closed.
type Profile struct {
	nodes map[plan.Node]*nodeProfile
	// Peak is the most memory that the query held at once, Spilled what it wrote to
	// disk.
	Peak, Spilled int64
}

// nodeProfile collects the numbers of one operator. Workers share it.
type nodeProfile struct {
	runs                  atomic.Int64 // how often it was started
	rows, batches, bytes  atomic.Int64
	nanos                 atomic.Int64
	files, pruned, stored atomic.Int64
	reads                 connector.Reads
	growers               []*grower
}

// Of returns the numbers of a node, false when it did not run.
func (p *Profile) Of(n plan.Node) (plan.Actual, bool) {
	s := p.nodes[n]
	if s == nil || s.runs.Load() == 0 {
		return plan.Actual{}, false
	}
	a := plan.Actual{Runs: s.runs.Load(), Rows: s.rows.Load(), Bytes: s.bytes.Load(), Time: time.Duration(s.nanos.Load()),
		Files: s.files.Load(), Pruned: s.pruned.Load(), Stored: s.stored.Load(), RowGroups: s.reads.RowGroups.Load(),
		LateFiles: s.reads.LateFiles.Load(), LateRowGroups: s.reads.LateRowGroups.Load(), LateRows: s.reads.LateRows.Load()}
	for _, g := range s.growers {
		a.Memory = max(a.Memory, g.budget.Peak())
		a.Spilled += g.spilled.Load()
	}
	return a, true
}

func (p *Profile) of(n plan.Node) *nodeProfile {
	s := p.nodes[n]
	if s == nil {
		s = &nodeProfile{}
		p.nodes[n] = s
	}
	return s
}

// measured makes a pipe count what it gives. Times include those of the operators
// below, and add up over workers.
func (s *nodeProfile) measured(p pipe) pipe {
	return pipe{start: func(ctx context.Context) ([]phase, error) {
		s.runs.Add(1)
		at := time.Now()
		phases, err := p.start(ctx)
		s.nanos.Add(int64(time.Since(at)))
		if err != nil {
			return nil, err
		}
		return stacked(phases, func(op operator) operator { return &measuring{s: s, in: op} }), nil
	}}
}

type measuring struct {
	s  *nodeProfile
	in operator
}

// Next implements operator.
func (m *measuring) Next(ctx context.Context) (*vector.Batch, error) {
	at := time.Now()
	b, err := m.in.Next(ctx)
	m.s.nanos.Add(int64(time.Since(at)))
	if b != nil {
		m.s.rows.Add(int64(b.Rows()))
		m.s.batches.Add(1)
		m.s.bytes.Add(valueBytes(b))
	}
	return b, err
}

// Close implements operator.
func (m *measuring) Close() error { return m.in.Close() }

// valueBytes is about what the values of the rows that count take: what views and
// dictionaries share is counted for each row.
func valueBytes(b *vector.Batch) (n int64) {
	rows := int64(b.Rows())
	for _, c := range b.Cols {
		if c == nil {
			continue
		}
		switch c.Kind {
		case vector.I8:
			n += rows
		case vector.I32, vector.F32:
			n += 4 * rows
		case vector.I64, vector.F64:
			n += 8 * rows
		case vector.I128:
			n += 16 * rows
		case vector.I256:
			n += 32 * rows
		case vector.Str:
			v := c.Values()
			if len(v.Views) == 0 {
				continue
			}
			for k := range b.Rows() {
				if row := b.Row(k); !c.IsNull(row) {
					n += int64(v.Views[c.At(row)].Len())
				}
			}
		default:
			n += c.Bytesize() * rows / int64(max(c.Len, 1))
		}
	}
	return n
}

// Analyze runs a query to its end, throws its rows away, and returns what the
// operators did.
func Analyze(ctx context.Context, q *plan.Query, env Env) (*Profile, error) {
	env.Profile = &Profile{nodes: map[plan.Node]*nodeProfile{}}
	r, err := Run(ctx, q, env)
	if err != nil {
		return nil, err
	}
	for {
		b, err := r.Next(ctx)
		if err != nil {
			_ = r.Close()
			return nil, err
		}
		if b == nil {
			break
		}
	}
	return env.Profile, r.Close()
}

// Meter counts what a running query has read, for the process list. It is safe for
// concurrent use.
type Meter struct{ rows, allRows, allBytes atomic.Int64 }

// Read returns the rows read so far, of how many (those that pruning left; an
// estimate), and their stored bytes.
func (m *Meter) Read() (rows, of, bytes int64) {
	rows, of, bytes = m.rows.Load(), m.allRows.Load(), m.allBytes.Load()
	if of > 0 {
		bytes = int64(float64(bytes) * min(1, float64(rows)/float64(of)))
	}
	return rows, of, bytes
}

func (m *Meter) plan(rows, bytes int64) {
	if m != nil {
		m.allRows.Add(rows)
		m.allBytes.Add(bytes)
	}
}

func (m *Meter) add(rows int) {
	if m != nil {
		m.rows.Add(int64(rows))
	}
}
