package spec

import (
	"unicode/utf8"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Stats are the bounds and NULL counts of some columns in a set of rows
// (Java's SimpleStats).
type Stats struct {
	Min        BinaryRow    `json:"minValues"`
	Max        BinaryRow    `json:"maxValues"`
	NullCounts []Opt[int64] `json:"nullCounts"` // absent: unknown
}

// EmptyStats are the statistics over no columns.
func EmptyStats() Stats { return Stats{Min: EmptyRow, Max: EmptyRow, NullCounts: []Opt[int64]{}} }

// ColumnStats are the statistics of one column: vectors of one row in its
// physical kind, NULL or nil when unknown.
type ColumnStats struct {
	Min, Max *vector.Vec
	Nulls    Opt[int64]
}

// None reports whether nothing is known, so that dense statistics leave the
// column out.
func (c ColumnStats) None() bool { return c.Min == nil && c.Max == nil && !c.Nulls.OK }

// EncodeStats encodes the statistics of columns of the given types.
func EncodeStats(types []catalog.Type, cols []ColumnStats) Stats {
	n := len(types)
	mins, maxs, rows := make([]*vector.Vec, n), make([]*vector.Vec, n), make([]int, n)
	s := Stats{NullCounts: make([]Opt[int64], n)}
	for i, c := range cols {
		mins[i], maxs[i], s.NullCounts[i] = c.Min, c.Max, c.Nulls
	}
	e := NewRowEncoder(types)
	s.Min = e.EncodeAt(mins, rows).Clone()
	s.Max = e.EncodeAt(maxs, rows).Clone()
	return s
}

// Decode returns the statistics of columns of the given types. Min and Max have
// one row, NULL when unknown; Nulls is absent when unknown.
func (s Stats) Decode(types []catalog.Type) ([]ColumnStats, error) {
	if len(s.NullCounts) != 0 && len(s.NullCounts) != len(types) {
		return nil, errs.Corruptf("decode statistics: %d null counts for %d columns", len(s.NullCounts), len(types))
	}
	min, err := s.Min.Decode(types)
	if err != nil {
		return nil, err
	}
	max, err := s.Max.Decode(types)
	if err != nil {
		return nil, err
	}
	out := make([]ColumnStats, len(types))
	for i := range types {
		out[i] = ColumnStats{Min: min[i], Max: max[i]}
		if len(s.NullCounts) > 0 {
			out[i].Nulls = s.NullCounts[i]
		}
	}
	return out, nil
}

// TruncateMin shortens a lower bound to n characters (strings) or bytes.
func TruncateMin(v []byte, n int, text bool) []byte {
	if text {
		return prefixRunes(v, n)
	}
	return v[:min(n, len(v))]
}

// TruncateMax shortens an upper bound to n characters or bytes, raising the last
// that can be raised so that it stays an upper bound. It reports false when
// there is no such bound.
func TruncateMax(v []byte, n int, text bool) ([]byte, bool) {
	p := TruncateMin(v, n, text)
	if len(p) == len(v) {
		return v, true
	}
	if !text {
		for i := len(p) - 1; i >= 0; i-- {
			if p[i] != 0xff {
				out := append([]byte(nil), p[:i+1]...)
				out[i]++
				return out, true
			}
		}
		return nil, false
	}
	for len(p) > 0 {
		r, size := utf8.DecodeLastRune(p)
		if r == utf8.RuneError && size <= 1 {
			return nil, false // not UTF-8: the order of characters is not that of bytes
		}
		p = p[:len(p)-size]
		if r++; r == 0xd800 {
			r = 0xe000 // surrogates are no characters
		}
		if r <= utf8.MaxRune {
			return utf8.AppendRune(append([]byte(nil), p...), r), true
		}
	}
	return nil, false
}

// prefixRunes returns the first n characters of v.
func prefixRunes(v []byte, n int) []byte {
	if len(v) <= n {
		return v
	}
	at := 0
	for ; n > 0 && at < len(v); n-- {
		_, size := utf8.DecodeRune(v[at:])
		at += size
	}
	return v[:at]
}
