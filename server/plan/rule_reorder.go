package plan

import (
	"math"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// reorder chooses the order of inner joins: from the largest input on, one of
// those that a condition connects, as long as there is one; products come last.
//
// Keys that are whole numbers of the inputs' own columns filter the scans below a
// join, whatever lies between (exec's runtime filters). Of inputs with such keys
// the largest comes first: what the smaller ones above it leave out is not even
// read of it. Inputs with other keys come before them when they are known to leave
// rows out, and those that make rows more at the end. Where nothing is known of
// the keys, which may be many to many, the smallest comes first.
//
// Law: inner joins commute and associate; every condition is applied as soon as
// its columns are there.
func (o *optimizer) reorder(n Node) (Node, error) {
	j, ok := n.(*Join)
	if !ok || j.Kind != Inner {
		return mapInputs(n, o.reorder)
	}
	var parts []Node
	var conds []expr.Expr
	if err := o.flatten(j, &parts, &conds); err != nil {
		return nil, err
	}
	for i, p := range parts {
		var err error
		if parts[i], err = o.reorder(p); err != nil {
			return nil, err
		}
	}
	rows := make([]float64, len(parts))
	most := 0
	for i, p := range parts {
		rows[i] = o.estimate(p)
		if rows[i] > rows[most] {
			most = i
		}
	}
	used := make([]bool, len(parts))
	used[most] = true
	out := parts[most]
	have := setOf(out.Output())
	size := rows[most]
	for range len(parts) - 1 {
		var best step
		for i, p := range parts {
			if used[i] {
				continue
			}
			if s := o.step(out, size, p, rows[i], have, conds); best.part == nil || s.before(best) {
				s.at = i
				best = s
			}
		}
		used[best.at] = true
		size = best.rows
		for _, id := range best.part.Output() {
			have[id] = true
		}
		x := &Join{Kind: Inner, Left: out, Right: best.part}
		var later []expr.Expr
		for _, c := range conds {
			if have.covers(c) {
				x.Conds = append(x.Conds, c)
			} else {
				later = append(later, c)
			}
		}
		conds = later
		out = x
	}
	return filtered(out, conds), nil
}

// step is one way to go on with the order of joins.
type step struct {
	at   int
	part Node
	size float64 // rows of the input
	rows float64 // after the join
	rank int     // lower comes first
}

// Ranks of a step.
const (
	reducing = iota // leaves rows out that no scan can
	filters         // scans can
	neutral         // nothing is known
	growing
	product
)

// step looks at joining part to out, which has rows rows and the columns have.
func (o *optimizer) step(out Node, rows float64, part Node, size float64, have colSet, conds []expr.Expr) step {
	s := step{part: part, size: size}
	mine := setOf(part.Output())
	var keys []EquiKey
	whole := false
	for _, c := range conds {
		k, ok := equiKey(c, have, mine)
		if !ok {
			continue
		}
		keys = append(keys, k)
		whole = whole || o.wholeNumbers(k.L) && o.wholeNumbers(k.R)
	}
	if keys == nil {
		s.rank, s.rows = product, rows*size
		return s
	}
	share, sure := o.linked(out, part, keys, nil)
	s.rows = math.Max(1, rows*size*share)
	switch {
	case !sure:
		s.rank = neutral
	case s.rows > 1.5*rows:
		s.rank = growing
	case whole:
		s.rank = filters
	case s.rows < 0.9*rows:
		s.rank = reducing
	default:
		s.rank = neutral
	}
	return s
}

func (s step) before(o step) bool {
	if s.rank != o.rank {
		return s.rank < o.rank
	}
	switch s.rank {
	case filters:
		return s.size > o.size
	case neutral, product:
		return s.size < o.size
	}
	return s.rows < o.rows || s.rows == o.rows && s.size < o.size
}

// wholeNumbers reports whether an operand is a column of whole numbers of few
// bits, of which scans can leave values out.
func (o *optimizer) wholeNumbers(e expr.Expr) bool {
	id, ok := bare(e)
	if !ok || !Exact(e.Type()) {
		return false
	}
	k, t := o.b.cols[id].Type.Physical(), e.Type().Physical()
	return (k == vector.I32 || k == vector.I64) && (t == vector.I32 || t == vector.I64)
}

// flatten collects the inputs and conditions of nested inner joins.
func (o *optimizer) flatten(n Node, parts *[]Node, conds *[]expr.Expr) error {
	j, ok := n.(*Join)
	if !ok || j.Kind != Inner {
		*parts = append(*parts, n)
		return nil
	}
	if err := o.flatten(j.Left, parts, conds); err != nil {
		return err
	}
	if err := o.flatten(j.Right, parts, conds); err != nil {
		return err
	}
	for _, k := range j.Keys {
		op := "="
		if k.NullSafe {
			op = "<=>"
		}
		c, err := expr.Call(o.b.env.Expr, op, k.L, k.R)
		if err != nil {
			return err
		}
		*conds = append(*conds, c)
	}
	*conds = append(*conds, j.Conds...)
	return nil
}
