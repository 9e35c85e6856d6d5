package plan

import (
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// extremes answers MIN and MAX of whole columns of a table from its metadata, also
// beside COUNT(*).
//
// Law: MIN and MAX over a table are those over two rows, of its least and of its
// greatest values, when the connector says that it knows these exactly and SQL's
// order of the column is that of the stored values. COUNT(*) is the row count, when
// that is exact.
func (o *optimizer) extremes(n Node) (Node, error) {
	n, err := mapInputs(n, o.extremes)
	if err != nil {
		return nil, err
	}
	a, ok := n.(*Aggregate)
	if !ok || len(a.Keys) > 0 || len(a.Aggs) == 0 {
		return n, nil
	}
	s, ok := a.In.(*Scan)
	if !ok || len(s.Conds) > 0 {
		return n, nil
	}
	snap, ok := s.Use.Snapshot.(connector.Extremal)
	if !ok {
		return n, nil
	}
	var extremes, counts []Agg
	for _, g := range a.Aggs {
		if o.isCount(g) {
			counts = append(counts, g)
			continue
		}
		extremes = append(extremes, g)
		if len(g.Args) != 1 || !o.isExtreme(g) {
			return n, nil
		}
		id, ok := plainColumn(g.Args[0])
		if !ok || !inStoredOrder(o.b.cols[id].Type) {
			return n, nil
		}
	}
	if len(extremes) == 0 {
		return n, nil
	}
	rows, exact, err := s.Use.Snapshot.RowCount(o.b.ctx)
	if err != nil || len(counts) > 0 && (!exact || rows < 0) {
		return n, err
	}
	cols := make([]int, len(s.Cols))
	for i, c := range s.Cols {
		cols[i] = c.Pos
	}
	known, err := snap.Extremes(o.b.ctx, cols)
	if err != nil || known == nil {
		return n, err
	}
	v := &Values{Rows: [][]expr.Expr{{}, {}}}
	all := &vector.Batch{Len: 2, Seq: -1, Cols: make([]*vector.Vec, len(snap.Schema().Fields))}
	for i, c := range s.Cols {
		all.Cols[c.Pos] = known[i].Values
		x, err := c.Load.Eval(o.b.env.Expr, all)
		if err != nil {
			return n, nil // who reads the rows says why
		}
		v.Cols = append(v.Cols, c.ID)
		for k := range v.Rows {
			one := vector.NewLike(x.Values(), 1)
			if x.IsNull(k) {
				one.AppendNull()
			} else {
				one.AppendFrom(x, k)
			}
			v.Rows[k] = append(v.Rows[k], expr.Literal(expr.Value{Type: c.Load.Type(), Vec: one.AsConst(1)}))
		}
	}
	if len(counts) == 0 {
		return a.With([]Node{v}), nil
	}
	few := a.With([]Node{v}).(*Aggregate)
	few.Aggs = extremes
	p := &Project{In: few}
	for _, g := range extremes {
		p.Items = append(p.Items, Item{g.ID, o.b.col(g.ID)})
	}
	for _, g := range counts {
		p.Items = append(p.Items, Item{g.ID, expr.Literal(expr.IntValue(rows))})
	}
	return p, nil
}

// isExtreme reports whether an aggregate is MIN or MAX, without FILTER or DISTINCT.
func (o *optimizer) isExtreme(g Agg) bool {
	for _, name := range []string{"MIN", "MAX"} {
		c, err := expr.NewAggregate(o.b.env.Expr, expr.AggregateSpec{Name: name, Args: g.Args})
		if err == nil && c.Key() == g.Call.Key() {
			return true
		}
	}
	return false
}

// inStoredOrder reports whether values of a type are in the order of what is stored
// of them.
func inStoredOrder(t expr.Type) bool {
	switch t.Class {
	case expr.Int, expr.Decimal, expr.Date, expr.DateTime, expr.Timestamp:
		return true
	}
	return false
}
