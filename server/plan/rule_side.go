package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// sides puts the smaller input of a join on the right, which is the side that
// is held in memory.
//
// Law: an inner join is the same from both sides, a left join from the other
// side is a right join.
func (o *optimizer) sides(n Node) (Node, error) {
	n, err := mapInputs(n, o.sides)
	if err != nil {
		return nil, err
	}
	j, ok := n.(*Join)
	if !ok || len(j.Keys) == 0 {
		return n, nil
	}
	if j.Kind == Semi || j.Kind == Anti && !j.NullAware {
		c := *j
		c.LeftFirst = 3*o.estimate(j.Left) < o.estimate(j.Right)
		return &c, nil
	}
	kind := map[JoinKind]JoinKind{Inner: Inner, Left: Right, Right: Left}
	other, ok := kind[j.Kind]
	if !ok || 2*o.estimate(j.Left) >= o.estimate(j.Right) {
		return n, nil
	}
	if other == Right && o.nested(j.Right) {
		return n, nil // the operator cannot make NULLs of nested types there
	}
	c := *j
	c.Kind, c.Left, c.Right = other, j.Right, j.Left
	c.Keys = nil
	for _, k := range j.Keys {
		c.Keys = append(c.Keys, EquiKey{L: k.R, R: k.L, NullSafe: k.NullSafe})
	}
	return &c, nil
}

func (o *optimizer) nested(n Node) bool {
	for _, id := range n.Output() {
		if o.b.cols[id].Type.Class == expr.Nested {
			return true
		}
	}
	return false
}
