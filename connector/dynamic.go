package connector

import (
	"slices"

	"github.com/thermocline/thermocline/internal/vector"
)

// Dynamic is a condition on one column that becomes known while rows are read, and
// then stricter: a bounded sort knows more and more about the rows that it can
// still take. Load is safe for concurrent use.
type Dynamic struct {
	// Column is a position in the snapshot's schema.
	Column int
	// Load returns the condition as it stands, on Column alone and in the sense of
	// Predicate; nil while there is none. It is the very same one until it changes,
	// and rows that a former one did not hold for satisfy no later one.
	Load func() *Predicate

	// AnyOrder says that the rows may come in another order, those with small values
	// of Column first, or with Desc large ones. A batch's Seq, plus the position of a
	// row in it, then tells where among all the reader's rows the row would come
	// without.
	AnyOrder, Desc bool
	// Reordered is set by a reader, from Narrow or Next, that makes use of it.
	Reordered bool
}

// Before reports whether rows with bounds a shall come before rows with bounds b,
// as far as it is known.
func (d *Dynamic) Before(a, b Bounds) bool {
	if d.Desc {
		return a.Max != nil && (b.Max == nil || vector.Compare(a.Max, a.Row, b.Max, b.Row) > 0)
	}
	return a.Min != nil && (b.Min == nil || vector.Compare(a.Min, a.Row, b.Min, b.Row) < 0)
}

// Order returns the numbers below n in the order of what bounds gives of them;
// nil when that is the order they have.
func (d *Dynamic) Order(n int, bounds func(i int) Bounds) []int {
	if !d.AnyOrder || n < 2 {
		return nil
	}
	list := make([]Bounds, n)
	order := make([]int, n)
	for i := range order {
		order[i], list[i] = i, bounds(i)
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case d.Before(list[i], list[j]):
			return -1
		case d.Before(list[j], list[i]):
			return 1
		}
		return 0
	})
	if slices.IsSorted(order) {
		return nil
	}
	return order
}

// Narrowing is a BatchReader that can leave out rows for which a Dynamic does not
// hold at the time they are read. It may give them all the same; of a table in
// which rows hide others, a row that should be hidden may come, when the
// condition does not hold for it.
type Narrowing interface {
	BatchReader
	// Narrow is called before the first Next.
	Narrow(d *Dynamic)
}

// Ranged is a Split that knows bounds of its rows' values without reading them.
type Ranged interface {
	Split
	// Range returns what is known of a column, a position in the snapshot's schema;
	// its vectors are the caller's. It is safe for concurrent use.
	Range(column int) Bounds
}

// On returns the predicate with every condition on the given column.
func (p *Predicate) On(column int) *Predicate {
	if p == nil {
		return nil
	}
	q := *p
	q.Column = column
	q.Children = nil
	for _, c := range p.Children {
		q.Children = append(q.Children, c.On(column))
	}
	return &q
}

// Nothing is a predicate that no row satisfies.
var Nothing = &Predicate{Op: Or}
