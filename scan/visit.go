package scan

import (
	"slices"

	"github.com/thermocline/thermocline/connector"
)

// mostVisits is the most splits whose statistics are looked at for an order of the
// ranges.
const mostVisits = 1 << 12

// Visit returns the ranges in the order in which those come first that hold the
// smallest values of a column, a position in the snapshot's schema, by what splits
// know of it; the largest when descending. Ranges of which nothing is known come
// last. It returns nil when that is the order they have.
//
// Ranges of equal bounds are parts of one file as a rule, and files are written in
// the order in which rows come: descending, the later ones come first.
func (s *Source) Visit(column int, desc bool) []int {
	if len(s.ranges) < 2 || len(s.plan.Splits) > mostVisits {
		return nil
	}
	d := connector.Dynamic{Desc: desc}
	best := make([]connector.Bounds, len(s.ranges)) // of the first split to come
	for i, splits := range s.ranges {
		for _, sp := range splits {
			r, ok := sp.(connector.Ranged)
			if !ok {
				continue
			}
			if b := r.Range(column); d.Before(b, best[i]) {
				best[i] = b
			}
		}
	}
	order := make([]int, len(s.ranges))
	for i := range order {
		order[i] = i
	}
	if desc {
		slices.Reverse(order)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case d.Before(best[a], best[b]):
			return -1
		case d.Before(best[b], best[a]):
			return 1
		case best[a].Min == nil:
			return a - b
		}
		return 0
	})
	if slices.IsSorted(order) {
		return nil
	}
	return order
}
