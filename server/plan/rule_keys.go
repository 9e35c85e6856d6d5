package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// keys groups by fewer keys: those that follow from others are computed for groups
// instead of rows, constants and keys that repeat another among them.
//
// Law: rows with equal columns have equal values of what is computed of these columns
// alone, provided that equal values of the columns are the very same (Exact). At least
// one key stays, since no rows make no groups. Only arithmetic and conversions of numbers
// and times are moved: they raise the same for a group as for its rows, and no warnings.
func (o *optimizer) keys(n Node) Node {
	return each(n, func(n Node) Node {
		a, ok := n.(*Aggregate)
		if !ok || len(a.Keys) < 2 {
			return n
		}
		by := map[ColID]expr.Expr{} // columns that are keys
		for _, k := range a.Keys {
			if id, ok := plainColumn(k.Expr); ok && by[id] == nil && Exact(k.Expr.Type()) {
				by[id] = o.b.col(k.ID)
			}
		}
		c := &Aggregate{In: a.In, Aggs: a.Aggs}
		p := &Project{In: c}
		for i, k := range a.Keys {
			last := i == len(a.Keys)-1 && len(c.Keys) == 0
			if !last && o.follows(k, by) {
				p.Items = append(p.Items, Item{ID: k.ID, Expr: substitute(k.Expr, by)})
				continue
			}
			c.Keys = append(c.Keys, k)
			p.Items = append(p.Items, Item{ID: k.ID, Expr: o.b.col(k.ID)})
		}
		if len(c.Keys) == len(a.Keys) {
			return n
		}
		for _, g := range a.Aggs {
			p.Items = append(p.Items, Item{ID: g.ID, Expr: o.b.col(g.ID)})
		}
		return p
	})
}

// follows reports whether a key is known when the columns are that are keys.
func (o *optimizer) follows(k Item, by map[ColID]expr.Expr) bool {
	if id, ok := plainColumn(k.Expr); ok {
		of, ok := plainColumn(by[id])
		return ok && of != k.ID // another key is the same
	}
	known := true
	expr.Walk(k.Expr, func(x expr.Expr) bool {
		switch id, ok := plainColumn(x); {
		case ok:
			known = known && by[id] != nil
		case x.Traits()&expr.Volatile != 0:
			known = false
		case len(x.Children()) > 0:
			known = known && plainArithmetic(x)
		default:
			_, literal := x.(*expr.LiteralExpr)
			known = known && literal
		}
		return known
	})
	return known
}

// plainArithmetic reports whether x adds, subtracts, multiplies or converts numbers
// and times, or takes a part of a time.
func plainArithmetic(x expr.Expr) bool {
	number := func(t expr.Type) bool { return t.Class == expr.Int || t.Class == expr.Decimal || t.Class == expr.Bool }
	time := func(t expr.Type) bool {
		return t.Class == expr.Date || t.Class == expr.DateTime || t.Class == expr.Timestamp
	}
	of := x.Children()
	switch op := expr.Operator(x); op {
	case "+", "-", "*":
	case "YEAR", "MONTH", "QUARTER", "DAYOFMONTH", "DAY", "HOUR", "MINUTE", "SECOND":
		return len(of) == 1 && time(of[0].Type())
	default:
		if expr.Converted(x) == nil {
			return false
		}
	}
	for _, c := range of {
		if !number(c.Type()) {
			return false
		}
	}
	return number(x.Type())
}
