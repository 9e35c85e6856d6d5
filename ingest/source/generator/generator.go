// Package generator is a source without a database: a table of orders that
// changes by a fixed script, for demonstrations and load. It goes the same way
// through a pipeline as a real source, positions and restarts included.
//
// Invariant: transaction n is a function of n and the seed alone, so that a
// stream from any position delivers the same.
//
// Start reading at New.
package generator

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// The one table.
var orders = source.ID{Database: "sales", Name: "orders"}

// keys are the options of a `source: type: generator` block.
var keys = []string{"rate", "limit", "start-delay", "seed"}

// Source generates orders.
type Source struct {
	rate  float64 // transactions a second
	limit int64   // transactions, 0 is no end
	delay time.Duration
	seed  int64
}

var _ source.Source = (*Source)(nil)

// New makes a generator. Options: rate (transactions a second, 2), limit
// (number of transactions, 0 is no end), start-delay (3s), seed (1). It is a
// source.Factory.
func New(c source.Config) (source.Source, error) {
	s := &Source{rate: 2, delay: 3 * time.Second, seed: 1}
	for _, o := range c.Options {
		bad := func(want string) error {
			return errs.Userf(errs.InvalidConfig, "line %d, column %d: source option %s is %q; write %s", o.Line, o.Col, o.Key, o.Value, want)
		}
		var err error
		switch o.Key {
		case "rate":
			if s.rate, err = strconv.ParseFloat(o.Value, 64); err != nil || !(s.rate > 0 && s.rate <= 1e6) {
				return nil, bad("transactions a second, such as 2")
			}
		case "limit":
			if s.limit, err = strconv.ParseInt(o.Value, 10, 64); err != nil || s.limit < 0 {
				return nil, bad("a number of transactions, 0 for no end")
			}
		case "start-delay":
			if s.delay, err = source.ParseDuration(o.Value); err != nil {
				return nil, bad("a duration, such as 3s")
			}
		case "seed":
			if s.seed, err = strconv.ParseInt(o.Value, 10, 64); err != nil {
				return nil, bad("a whole number")
			}
		default:
			return nil, errs.Userf(errs.InvalidConfig, "line %d, column %d: source option %s: it is unknown; %s", o.Line, o.Col, o.Key, source.Nearest(o.Key, keys))
		}
	}
	return s, nil
}

// Check implements source.Source.
func (s *Source) Check(context.Context) error { return nil }

// Identity implements source.Source.
func (s *Source) Identity(context.Context) (string, error) {
	return fmt.Sprintf("generator seed %d", s.seed), nil
}

// Address implements source.Source.
func (s *Source) Address() string { return "generator" }

// Tables implements source.Source.
func (s *Source) Tables(context.Context) ([]source.ID, error) { return []source.ID{orders}, nil }

// Close implements source.Source.
func (s *Source) Close() error { return nil }

// Describe implements source.Source.
func (s *Source) Describe(_ context.Context, ids []source.ID) ([]*source.Table, error) {
	out := make([]*source.Table, len(ids))
	for i, id := range ids {
		if id != orders {
			return nil, errs.Userf(errs.UnknownTable, "describe %s of the generator: it has only %s", id, orders)
		}
		text := catalog.Type{Kind: catalog.Varchar, Length: 10}
		const declared = "varchar(10) collate utf8mb4_general_ci"
		out[i] = &source.Table{ID: orders, PrimaryKey: []string{"order_id"}, Rows: 6, Bytes: 0, Columns: []source.Column{
			{Name: "order_id", Type: catalog.TInt.Required()}, {Name: "customer_id", Type: catalog.TInt},
			{Name: "region", Type: text, Declared: declared}, {Name: "amount", Type: catalog.TDouble},
			{Name: "status", Type: text, Declared: declared}, {Name: "order_time", Type: catalog.TTimestampLTZ(0)},
		}}
	}
	return out, nil
}

// position is the number of the last transaction.
type position int64

func (p position) Includes(t source.Txn) bool { x, ok := t.(txn); return ok && int64(x) <= int64(p) }
func (p position) Covers(o source.Position) bool {
	x, ok := o.(position)
	return ok && x <= p
}
func (p position) Meet(o source.Position) source.Position {
	if p.Covers(o) {
		return o
	}
	return p
}
func (p position) String() string { return fmt.Sprintf(`{"flavor":"generator","n":%d}`, int64(p)) }

type txn int64

func (t txn) String() string { return strconv.FormatInt(int64(t), 10) }

// ParsePosition implements source.Source.
func (s *Source) ParsePosition(text string) (source.Position, error) {
	var j struct {
		Flavor string `json:"flavor"`
		N      int64  `json:"n"`
	}
	if err := json.Unmarshal([]byte(text), &j); err != nil || j.Flavor != "generator" || j.N < 0 {
		return nil, errs.Corruptf("read generator position %q: it is not one", text)
	}
	return position(j.N), nil
}

// Current implements source.Source.
func (s *Source) Current(context.Context) (source.Position, error) { return position(0), nil }

// order is one row.
type order struct {
	id, customer int32
	region       string
	amount       float64
	status       string
	at           int64 // seconds
}

const base = 1767225600 // 2026-01-01 00:00:00 UTC

// first are the rows of the copy.
var first = []order{
	{1001, 1, "US", 20.5, "NEW", base}, {1002, 2, "EU", 35.2, "NEW", base + 60}, {1003, 3, "CN", 66.6, "NEW", base + 120},
	{1004, 4, "UK", 38.9, "NEW", base + 180}, {1005, 5, "AU", 25.3, "NEW", base + 240}, {1006, 6, "JP", 33.8, "NEW", base + 300},
}

// change is a row of a transaction.
type change struct {
	kind vector.RowKind
	order
}

// script are the first transactions: an insert, three inserts, an update of two
// rows, a delete.
var script = [][]change{
	{{vector.Insert, order{3001, 31, "US", 12.3, "PAID", base + 3600}}},
	{{vector.Insert, order{6001, 61, "US", 18.5, "NEW", base + 7200}}, {vector.Insert, order{6002, 62, "EU", 27, "PAID", base + 7201}}, {vector.Insert, order{6003, 63, "APAC", 33.3, "NEW", base + 7202}}},
	{{vector.UpdateAfter, order{6001, 61, "US", 23.5, "PAID", base + 7200}}, {vector.UpdateAfter, order{6002, 62, "EU", 32, "PAID", base + 7201}}},
	{{vector.Delete, order{6003, 63, "APAC", 33.3, "NEW", base + 7202}}},
}

// made returns the order that transaction n inserts.
func (s *Source) made(n int64) order {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%d", s.seed, n)
	x := h.Sum64()
	regions := [...]string{"US", "EU", "CN", "UK", "AU", "JP"}
	return order{id: int32(10000 + n), customer: int32(1 + x%100), region: regions[x>>8%6], amount: float64(x>>16%10000) / 100, status: "NEW", at: base + 86400 + n}
}

// transaction returns what transaction n, from 1, changes: after the script, of
// five transactions three insert, one updates the row before, one deletes the
// first of the five.
func (s *Source) transaction(n int64) []change {
	if n <= int64(len(script)) {
		return script[n-1]
	}
	switch n % 5 {
	case 3:
		o := s.made(n - 1)
		o.amount, o.status = o.amount+5, "PAID"
		return []change{{vector.UpdateAfter, o}}
	case 4:
		if n-4 > int64(len(script)) {
			return []change{{vector.Delete, s.made(n - 4)}}
		}
	}
	return []change{{vector.Insert, s.made(n)}}
}

// rows are changes as source.Rows.
type rows struct {
	list []change
	at   int
}

func (r *rows) AppendTo(b *vector.Batch, max int, _ int64) error {
	for ; r.at < len(r.list); r.at++ {
		if b.Len >= max {
			return nil
		}
		c := r.list[r.at]
		b.Cols[0].AppendI32(c.id)
		b.Cols[1].AppendI32(c.customer)
		b.Cols[2].AppendString(c.region)
		b.Cols[3].AppendF64(c.amount)
		b.Cols[4].AppendString(c.status)
		b.Cols[5].AppendI64(c.at * 1e6)
		for len(b.Kinds) < b.Len {
			b.Kinds = append(b.Kinds, vector.Insert)
		}
		b.Kinds = append(b.Kinds, c.kind)
		b.Len++
	}
	return source.EOF
}

func (r *rows) Rewind()        { r.at = 0 }
func (r *rows) Invalid() int64 { return 0 }
func (r *rows) Close() error   { return nil }

type snapshot struct{ tables []*source.Table }

// Snapshot implements source.Source.
func (s *Source) Snapshot(ctx context.Context, ids []source.ID) (source.Snapshot, error) {
	tables, err := s.Describe(ctx, ids)
	if err != nil {
		return nil, err
	}
	return snapshot{tables}, nil
}

func (sn snapshot) Position() source.Position { return position(0) }
func (sn snapshot) Tables() []*source.Table   { return sn.tables }
func (sn snapshot) Close() error              { return nil }
func (sn snapshot) Read(context.Context, int) (source.Rows, error) {
	r := &rows{}
	for _, o := range first {
		r.list = append(r.list, change{vector.Insert, o})
	}
	return r, nil
}

// stream waits for each transaction's time.
type stream struct {
	s        *Source
	n        int64 // last delivered whole
	due      time.Time
	captured int
	inside   bool
	ev       source.Event
}

// Stream implements source.Source.
func (s *Source) Stream(_ context.Context, from source.Position, tables []*source.Table) (source.Stream, error) {
	p, ok := from.(position)
	if !ok {
		return nil, errs.Internalf("follow the generator: %s is not one of its positions", from)
	}
	return &stream{s: s, n: int64(p), due: time.Now().Add(s.delay), captured: len(tables)}, nil
}

func (st *stream) Position() source.Position { return position(st.n) }
func (st *stream) Close() error              { return nil }

// Next implements source.Stream.
func (st *stream) Next(ctx context.Context) (*source.Event, error) {
	if st.inside {
		st.inside = false
		st.n++
		st.ev = source.Event{Kind: source.CommitEvent, Txn: txn(st.n), Time: time.Now()}
		return &st.ev, nil
	}
	wait, end := time.Until(st.due), st.s.limit > 0 && st.n >= st.s.limit
	if end {
		wait = time.Hour
	}
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if end {
			st.ev = source.Event{Kind: source.HeartbeatEvent}
			return &st.ev, nil
		}
	} else if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	st.due = st.due.Add(time.Duration(float64(time.Second) / st.s.rate))
	st.inside = true
	st.ev = source.Event{Kind: source.RowsEvent, Table: 0, Txn: txn(st.n + 1), Rows: &rows{list: st.s.transaction(st.n + 1)}, Time: time.Now()}
	return &st.ev, nil
}
