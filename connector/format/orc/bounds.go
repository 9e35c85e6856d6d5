package orc

import (
	"fmt"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/vector"
)

// columnStats are the statistics of a column in a stripe.
type columnStats struct {
	known    bool
	values   int64 // not NULL, -1: not recorded
	hasNull  bool
	min, max int64 // integers and dates
	has      [2]bool
	low      []byte // strings
	high     []byte
	strings  [2]bool
	cut      bool // string bounds are cut and not exact
}

// unknown is what a file says of a column without statistics.
var unknown = connector.Bounds{Nulls: -1, Rows: -1}

// stripeStats reads the statistics of some columns: one row a stripe, one entry
// a node. nil: there are none.
func (of *file) stripeStats(nodes []*node) ([][]columnStats, error) {
	if of.metadata.size == 0 {
		return nil, nil
	}
	if err := of.charge(of.metadata.size + int64(len(of.stripes)*len(nodes))*128); err != nil {
		return nil, err
	}
	raw := make([]byte, of.metadata.size)
	if err := format.ReadFull(of.f, of.path, raw, of.metadata.off); err != nil {
		return nil, err
	}
	msg, err := of.expand(raw)
	if err != nil {
		return nil, fmt.Errorf("stripe statistics: %w", err)
	}
	at := make(map[int][]int, len(nodes))
	for i, n := range nodes {
		if n != nil {
			at[n.column] = append(at[n.column], i)
		}
	}
	out := make([][]columnStats, 0, len(of.stripes))
	err = fields(msg, func(id uint64, v value) error {
		if id != 1 {
			return nil
		}
		if len(out) == len(of.stripes) {
			return fmt.Errorf("they are of more than %d stripes", len(of.stripes))
		}
		b, err := v.message()
		if err != nil {
			return err
		}
		stats := make([]columnStats, len(nodes))
		column := 0
		err = fields(b, func(id uint64, v value) error {
			if id != 1 {
				return nil
			}
			for _, i := range at[column] {
				if err := parseStats(v.bytes, &stats[i]); err != nil {
					return err
				}
			}
			column++
			return nil
		})
		if err == nil && column != len(of.types) {
			for i := range stats { // of other columns than the file's
				stats[i] = columnStats{}
			}
		}
		out = append(out, stats)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("stripe statistics: %w", err)
	}
	if len(out) != len(of.stripes) {
		return nil, nil
	}
	// Before this version string bounds had another order and the maxima of
	// stripes were wrong (HIVE-8732).
	if of.writerVersion < 1 {
		return nil, nil
	}
	return out, nil
}

func parseStats(b []byte, s *columnStats) error {
	s.known, s.values, s.hasNull = true, -1, true
	return fields(b, func(id uint64, v value) error {
		switch id {
		case 1:
			return set(&s.values, v)
		case 2, 7: // integers, dates
			return fields(v.bytes, func(id uint64, v value) (err error) {
				switch id {
				case 1:
					s.min, err = v.sint()
					s.has[0] = true
				case 2:
					s.max, err = v.sint()
					s.has[1] = true
				}
				return err
			})
		case 4: // strings
			return fields(v.bytes, func(id uint64, v value) error {
				switch id {
				case 1:
					s.low, s.strings[0] = v.bytes, true
				case 2:
					s.high, s.strings[1] = v.bytes, true
				case 4, 5:
					s.cut = true
				}
				return nil
			})
		case 10:
			s.hasNull = v.num != 0
		}
		return nil
	})
}

// bounds returns what the statistics say of n read as t, in a stripe of rows
// rows. n is nil when the file lacks the column, which then is all NULL.
func (s *columnStats) bounds(n *node, t catalog.Type, rows int64) connector.Bounds {
	if n == nil {
		return connector.Bounds{Nulls: rows, Rows: rows}
	}
	if !s.known || !n.accepts(t) {
		return unknown
	}
	b := connector.Bounds{Nulls: -1, Rows: rows}
	if s.values >= 0 && s.values <= rows && s.hasNull == (s.values < rows) {
		b.Nulls = rows - s.values
	}
	mn, mx := vector.New(t.Physical(), 1), vector.New(t.Physical(), 1)
	switch n.kind {
	case kindShort, kindInt, kindLong, kindDate:
		if !s.has[0] || !s.has[1] || s.min > s.max {
			return b
		}
		if mn.Kind == vector.I64 {
			mn.AppendI64(s.min)
			mx.AppendI64(s.max)
			break
		}
		if int64(int32(s.min)) != s.min || int64(int32(s.max)) != s.max {
			return b
		}
		mn.AppendI32(int32(s.min))
		mx.AppendI32(int32(s.max))
	case kindString, kindVarchar:
		if !s.strings[0] || !s.strings[1] || s.cut {
			return b
		}
		mn.AppendBytes(s.low)
		mx.AppendBytes(s.high)
		if vector.Compare(mn, 0, mx, 0) > 0 {
			return b
		}
	default:
		return b
	}
	b.Min, b.Max = mn, mx
	return b
}
