package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// counts answers COUNT(*) of a whole table from the table's metadata.
//
// Law: only where the connector says that its row count is exact.
func (o *optimizer) counts(n Node) (Node, error) {
	n, err := mapInputs(n, o.counts)
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
	for _, g := range a.Aggs {
		if !o.isCount(g) {
			return n, nil
		}
	}
	rows, exact, err := s.Use.Snapshot.RowCount(o.b.ctx)
	if err != nil {
		return nil, err
	}
	if !exact || rows < 0 {
		return n, nil
	}
	count := &CountRows{Use: s.Use, ID: a.Aggs[0].ID, Rows: rows}
	if len(a.Aggs) == 1 {
		return count, nil
	}
	p := &Project{In: count}
	for _, g := range a.Aggs {
		p.Items = append(p.Items, Item{g.ID, o.b.col(count.ID)})
	}
	return p, nil
}

// isCount reports whether an aggregate is COUNT(*), or COUNT of a constant that is
// not NULL, without FILTER or DISTINCT.
func (o *optimizer) isCount(g Agg) bool {
	if len(g.Args) == 1 && (!expr.IsConst(g.Args[0]) || g.Args[0].Type().Nullable) {
		return false
	}
	count, err := expr.NewAggregate(o.b.env.Expr, expr.AggregateSpec{Name: "COUNT", Args: g.Args})
	return err == nil && count.Key() == g.Call.Key() && count.Type().Physical() == expr.TBigInt.Physical()
}
