package session

import (
	"context"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// countsAll returns a query without SQL_CALC_FOUND_ROWS in its first SELECT, and
// whether it was there.
func countsAll(q *syntax.Query) (*syntax.Query, bool) {
	body, ok := countingBody(q.Body)
	if !ok {
		return q, false
	}
	out := *q
	out.Body = body
	return &out, true
}

func countingBody(b syntax.QueryBody) (syntax.QueryBody, bool) {
	switch x := b.(type) {
	case *syntax.Select:
		if x.SQLCalcFoundRows {
			c := *x
			c.SQLCalcFoundRows = false
			return &c, true
		}
	case *syntax.SetOp:
		if left, ok := countingBody(x.Left); ok {
			c := *x
			c.Left = left
			return &c, true
		}
	case *syntax.Query:
		return countsAll(x)
	}
	return b, false
}

// allFound runs a query with SQL_CALC_FOUND_ROWS: all its rows, of which the
// client gets those within the limit.
func (s *Session) allFound(ctx context.Context, q *syntax.Query, run *statement) (*Result, error) {
	s.warn("Warning", errs.Userf(errs.Deprecated, "SQL_CALC_FOUND_ROWS is deprecated and will be removed in a future release. Consider using two separate queries instead."))
	c := &counted{count: -1}
	if l := q.Limit; l != nil {
		if l.WithTies {
			return nil, errs.Unsupportedf(l.Pos(), "FETCH … WITH TIES")
		}
		var err error
		if l.Count != nil {
			if c.count, err = run.rowNumber(l.Count); err != nil {
				return nil, err
			}
		}
		if l.Offset != nil {
			if c.offset, err = run.rowNumber(l.Offset); err != nil {
				return nil, err
			}
		}
		plain := *q
		plain.Limit = nil
		q = &plain
	}
	res, err := s.query(ctx, q, run)
	if err != nil {
		return nil, err
	}
	if res.Continuous {
		res.Close()
		return nil, errs.Unsupportedf(q.Pos(), "SQL_CALC_FOUND_ROWS of a continuous read")
	}
	c.BatchReader = res.Rows
	res.Rows = c
	return res, nil
}

// rowNumber is the value of LIMIT or OFFSET.
func (run *statement) rowNumber(e syntax.Expr) (int64, error) {
	const most = 1<<62 - 1
	switch e := e.(type) {
	case *syntax.NumberLit:
		if v, ok := e.Uint64(); ok && e.Kind == syntax.Integer {
			return int64(min(v, most)), nil
		}
	case *syntax.Placeholder:
		if e.Index < len(run.params) {
			if v := run.params[e.Index]; !v.IsNull() && v.Type.Class == expr.Int {
				n := int64(0)
				if w := v.Vec.Values(); w.Kind == vector.I32 {
					n = int64(w.I32s[0])
				} else if n = w.I64s[0]; v.Type.Unsigned && n < 0 {
					n = most
				}
				if n >= 0 {
					return n, nil
				}
			}
		}
		return 0, errs.UserAt(e.Pos(), errs.WrongArguments, "Incorrect arguments to LIMIT: placeholder %d is not a whole number", e.Index+1)
	}
	return 0, errs.UserAt(e.Pos(), errs.Syntax, "LIMIT takes whole numbers and placeholders only")
}

// counted gives the rows from offset on, count of them at most (-1: all), and
// counts all.
type counted struct {
	connector.BatchReader
	count, offset int64
	total         uint64
	sel           []uint16
	out           vector.Batch
}

// Next implements connector.BatchReader.
func (c *counted) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		b, err := c.BatchReader.Next(ctx)
		if err != nil || b == nil {
			return nil, err
		}
		n := int64(b.Rows())
		c.total += uint64(n)
		from := min(c.offset, n)
		c.offset -= from
		to := n
		if c.count >= 0 {
			to = min(n, from+c.count)
			c.count -= to - from
		}
		if from == to {
			continue
		}
		if from == 0 && to == n {
			return b, nil
		}
		c.sel = c.sel[:0]
		for i := from; i < to; i++ {
			c.sel = append(c.sel, uint16(b.Row(int(i))))
		}
		c.out = *b
		c.out.Sel = c.sel
		return &c.out, nil
	}
}
