package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// semis moves semi and anti joins below the joins whose rows they filter, to the
// input whose columns they read: there they meet fewer rows, and what they leave
// makes the joins above smaller.
//
// Law: a semi or anti join is a filter of its left rows. It commutes with an
// inner join on either side, with the preserved side of a left join, and with
// other semi and anti joins, unless something is volatile.
func (o *optimizer) semis(n Node) Node {
	n, _ = mapInputs(n, func(c Node) (Node, error) { return o.semis(c), nil })
	j, ok := n.(*Join)
	if !ok || j.Kind != Semi && j.Kind != Anti {
		return n
	}
	return o.sink(j)
}

// sink moves j down as far as it goes, but not below a join that leaves less than
// half of the rows that it would filter there: keys of joins above filter scans
// anyhow, and what is known to be small is read before the other side.
func (o *optimizer) sink(j *Join) Node {
	below, ok := j.Left.(*Join)
	if !ok || volatileJoin(j) || volatileJoin(below) {
		return j
	}
	right := setOf(j.Right.Output())
	reads := colSet{}
	add := func(e expr.Expr) {
		for _, id := range expr.ColumnsOf(e) {
			if !right[ColID(id)] {
				reads[ColID(id)] = true
			}
		}
	}
	for _, k := range j.Keys {
		add(k.L)
	}
	for _, c := range j.Conds {
		add(c)
	}
	within := func(n Node) bool {
		have := setOf(n.Output())
		for id := range reads {
			if !have[id] {
				return false
			}
		}
		return len(reads) > 0
	}
	moved, out := *j, *below
	switch {
	case within(below.Left) && (below.Kind == Inner || below.Kind == Left || below.Kind == Semi || below.Kind == Anti):
		if below.Kind == Semi || below.Kind == Anti {
			return j // which comes first does not matter
		}
		if o.reduces(below, below.Left) {
			return j
		}
		moved.Left = below.Left
		out.Left = o.sink(&moved)
	case within(below.Right) && below.Kind == Inner:
		if o.reduces(below, below.Right) {
			return j
		}
		moved.Left = below.Right
		out.Right = o.sink(&moved)
	default:
		return j
	}
	return &out
}

func (o *optimizer) reduces(j *Join, side Node) bool {
	return j.Kind == Inner && 2*o.estimate(j) < o.estimate(side)
}

func volatileJoin(j *Join) bool {
	for _, c := range j.Conds {
		if c.Traits()&expr.Volatile != 0 {
			return true
		}
	}
	for _, k := range j.Keys {
		if (k.L.Traits()|k.R.Traits())&expr.Volatile != 0 {
			return true
		}
	}
	return false
}
