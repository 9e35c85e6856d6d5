// Package statistics makes the statistics of a version of a table by reading all
// of its rows once.
//
// Invariants: counts of rows and NULLs and bounds are exact, counts of different
// values those of APPROX_COUNT_DISTINCT; none depends on threads, batch sizes or
// the order of rows. It holds a sketch a column and thread, never rows.
//
// Start reading at Collect.
package statistics

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan"
	"github.com/thermocline/thermocline/scan/expr"
)

// Described reports whether columns of a type have statistics.
func Described(t catalog.Type) bool { return t.IsPrimitive() && t.Kind != catalog.Blob }

// Collect reads a version. columns are positions in its schema, of types that are
// Described.
func Collect(ctx context.Context, snap connector.Snapshot, columns []int, opts scan.Options, budget *memory.Budget) (*connector.Statistics, error) {
	src, err := scan.Open(ctx, snap, scan.Request{Columns: columns, Options: opts, Budget: budget})
	if err != nil {
		return nil, err
	}
	schema := snap.Schema()
	var next atomic.Int64
	parts := make([]*part, max(1, min(opts.Workers(), src.Ranges())))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	for i := range parts {
		if parts[i], err = newPart(schema, columns); err != nil {
			return nil, err
		}
	}
	for i := range parts {
		wg.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= src.Ranges() {
					return
				}
				if err := parts[i].read(ctx, src.Reader(n), budget); err != nil {
					stop(err) // the first counts
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, p := range parts[1:] {
		if err := parts[0].merge(p); err != nil {
			return nil, err
		}
	}
	out := &connector.Statistics{Version: snap.Version(), SchemaID: schema.ID, Rows: parts[0].rows, Bytes: share(src, parts[0].rows), Columns: map[int]connector.ColumnStatistics{}}
	for i, c := range parts[0].columns {
		s, err := c.result(parts[0].rows)
		if err != nil {
			return nil, err
		}
		out.Columns[schema.Fields[columns[i]].ID] = s
	}
	return out, nil
}

// share is the part of the stored bytes that rows have of the rows stored.
func share(src *scan.Source, rows int64) int64 {
	stored := src.Rows()
	if stored <= rows {
		return src.Plan().Bytes
	}
	return int64(float64(src.Plan().Bytes) * float64(rows) / float64(stored))
}

// part is what one worker has seen.
type part struct {
	ctx     *expr.Context
	rows    int64
	columns []*column
	held    int64
}

func newPart(schema *catalog.Schema, columns []int) (*part, error) {
	p := &part{ctx: expr.NewContext()}
	for i, pos := range columns {
		f := schema.Fields[pos]
		load, err := expr.Stored(i, f, "", f.Name)
		if err != nil {
			return nil, err
		}
		sketch, err := expr.NewAggregate(p.ctx, expr.AggregateSpec{Name: "APPROX_COUNT_DISTINCT", Args: []expr.Expr{load}})
		if err != nil {
			return nil, err
		}
		c := &column{typ: f.Type, load: load, distinct: sketch.NewState(p.ctx)}
		c.distinct.Grow(1)
		p.columns = append(p.columns, c)
	}
	return p, nil
}

// read reads a range and closes it.
func (p *part) read(ctx context.Context, r connector.BatchReader, budget *memory.Budget) (err error) {
	defer func() {
		if cerr := r.Close(); err == nil {
			err = cerr
		}
	}()
	for {
		b, err := r.Next(ctx)
		if err != nil || b == nil {
			return err
		}
		p.rows += int64(b.Rows())
		bytes := int64(0)
		for i, c := range p.columns {
			if err := c.add(p.ctx, i, b); err != nil {
				return err
			}
			bytes += c.distinct.Bytes()
		}
		if bytes > p.held { // given back when the owner of the budget closes it
			if err := budget.Reserve(bytes - p.held); err != nil {
				return err
			}
			p.held = bytes
		}
	}
}

func (p *part) merge(o *part) error {
	p.rows += o.rows
	for i, c := range p.columns {
		if err := c.merge(o.columns[i]); err != nil {
			return err
		}
	}
	return nil
}

// column is what is known of a column.
type column struct {
	typ      catalog.Type
	load     expr.Expr
	distinct expr.State
	values   int64 // not NULL
	min, max *vector.Vec
	length   int64 // of all texts together
	longest  int64
}

func (c *column) add(ctx *expr.Context, at int, b *vector.Batch) error {
	v, n := b.Cols[at], b.Rows()
	if n == 0 {
		return nil
	}
	sql, err := c.load.Eval(ctx, b)
	if err != nil {
		return err
	}
	if err := c.distinct.Update(nil, []*vector.Vec{sql}, b.Sel, n); err != nil {
		return err
	}
	if c.typ.Physical() == vector.Str {
		for i := range n {
			row := b.Row(i)
			if v.IsNull(row) {
				continue
			}
			c.values++
			l := int64(v.Values().Views[v.At(row)].Len())
			c.length += l
			c.longest = max(c.longest, l)
		}
		return nil
	}
	for i := range n {
		if !v.IsNull(b.Row(i)) {
			c.values++
		}
	}
	lo, hi, _ := vector.Extremes(v, b.Sel)
	c.widen(v, lo, hi)
	return nil
}

// widen takes two rows of v into the bounds, unless they are negative.
func (c *column) widen(v *vector.Vec, lo, hi int) {
	one := func(i int) *vector.Vec {
		w := vector.NewLike(v.Values(), 1)
		w.AppendFrom(v, i)
		return w
	}
	if lo < 0 {
		return
	}
	if c.min == nil || vector.Compare(v, lo, c.min, 0) < 0 {
		c.min = one(lo)
	}
	if c.max == nil || vector.Compare(v, hi, c.max, 0) > 0 {
		c.max = one(hi)
	}
}

func (c *column) merge(o *column) error {
	c.values += o.values
	c.length += o.length
	c.longest = max(c.longest, o.longest)
	if o.min != nil {
		c.widen(o.min, 0, 0)
		c.widen(o.max, 0, 0)
	}
	return c.distinct.Merge(o.distinct, nil)
}

func (c *column) result(rows int64) (out connector.ColumnStatistics, err error) {
	d, err := c.distinct.Result(0, 1)
	if err != nil {
		return out, err
	}
	out = connector.ColumnStatistics{Distinct: min(d.I64s[0], c.values), Nulls: rows - c.values, Min: c.min, Max: c.max}
	switch {
	case c.values == 0:
	case c.typ.Physical() == vector.Str:
		out.AvgLen, out.MaxLen = c.length/c.values, c.longest
	default:
		out.AvgLen = fixedBytes(c.typ)
		out.MaxLen = out.AvgLen
	}
	return out, nil
}

// fixedBytes is the size that Paimon gives the values of a type that is no text.
func fixedBytes(t catalog.Type) int64 {
	switch t.Kind {
	case catalog.Boolean, catalog.TinyInt:
		return 1
	case catalog.SmallInt:
		return 2
	case catalog.Int, catalog.Float, catalog.Date, catalog.Time:
		return 4
	case catalog.Decimal:
		if t.Length > 18 {
			return 16
		}
	}
	return 8
}
