package connector

import (
	"bytes"

	"github.com/thermocline/thermocline/internal/vector"
)

// PredicateOp is an operator of a pushed-down predicate.
type PredicateOp uint8

// The operators. A row satisfies a predicate only when it is TRUE; NULL counts
// as not satisfied.
const (
	And PredicateOp = iota + 1
	Or
	Eq
	Ne
	Lt
	Le
	Gt
	Ge
	In
	NotIn // FALSE or NULL for a NULL column
	IsNull
	IsNotNull
	HasPrefix // strings: the column's bytes start with the value
)

// Predicate is a condition on the columns of a schema in the order of
// vector.Compare, which the engine pushes only where its own comparison agrees
// (binary collations, exact literals; DESIGN D17). It is immutable.
type Predicate struct {
	Op       PredicateOp
	Children []*Predicate // And, Or
	Column   int          // position in the schema
	// Value holds the operands in the column's physical kind, no NULLs: one row
	// for comparisons, any number for In and NotIn.
	Value *vector.Vec
}

// AndOf joins predicates; nil ones do not count. It returns nil for none.
func AndOf(ps ...*Predicate) *Predicate {
	var kept []*Predicate
	for _, p := range ps {
		if p != nil {
			kept = append(kept, p)
		}
	}
	switch len(kept) {
	case 0:
		return nil
	case 1:
		return kept[0]
	}
	return &Predicate{Op: And, Children: kept}
}

// Bounds is what is known of a column in a set of rows.
type Bounds struct {
	// Min and Max are vectors of the column's kind, read at Row; nil: unknown.
	// They may be wider than the true bounds.
	Min, Max *vector.Vec
	Row      int
	// Nulls is the number of NULLs, -1 when unknown; Rows the number of rows.
	Nulls, Rows int64
}

// MayMatch reports whether some row of a set with the given bounds may satisfy
// p. bounds returns what is known of a column (a zero Bounds with Nulls -1 and
// Rows -1 when nothing is). It errs towards true.
func (p *Predicate) MayMatch(bounds func(column int) Bounds) bool {
	if p == nil {
		return true
	}
	switch p.Op {
	case And:
		for _, c := range p.Children {
			if !c.MayMatch(bounds) {
				return false
			}
		}
		return true
	case Or:
		for _, c := range p.Children {
			if c.MayMatch(bounds) {
				return true
			}
		}
		return false
	}
	b := bounds(p.Column)
	switch p.Op {
	case IsNull:
		return b.Nulls != 0
	case IsNotNull:
		return b.Nulls < 0 || b.Rows < 0 || b.Nulls < b.Rows
	}
	if b.Nulls >= 0 && b.Rows >= 0 && b.Nulls >= b.Rows {
		return false // only NULLs: no comparison is TRUE
	}
	if b.Min == nil || b.Max == nil || b.Min.IsNull(b.Row) || b.Max.IsNull(b.Row) {
		return true
	}
	low := func(i int) int { return vector.Compare(b.Min, b.Row, p.Value, i) }
	high := func(i int) int { return vector.Compare(b.Max, b.Row, p.Value, i) }
	switch p.Op {
	case Eq:
		return low(0) <= 0 && high(0) >= 0
	case Ne:
		return low(0) != 0 || high(0) != 0
	case Lt:
		return low(0) < 0
	case Le:
		return low(0) <= 0
	case Gt:
		return high(0) > 0
	case Ge:
		return high(0) >= 0
	case In:
		for i := range p.Value.Len {
			if low(i) <= 0 && high(i) >= 0 {
				return true
			}
		}
		return false
	case HasPrefix:
		pre := p.Value.Bytes(0)
		return prefixCmp(b.Min.Bytes(b.Row), pre) <= 0 && prefixCmp(b.Max.Bytes(b.Row), pre) >= 0
	}
	return true
}

// prefixCmp compares the first len(pre) bytes of s with pre.
func prefixCmp(s, pre []byte) int {
	if len(s) > len(pre) {
		s = s[:len(pre)]
	}
	return bytes.Compare(s, pre)
}
