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
	if !ok || len(a.Keys) > 0 || len(a.Aggs) != 1 {
		return n, nil
	}
	s, ok := a.In.(*Scan)
	if !ok || len(s.Conds) > 0 {
		return n, nil
	}
	count, err := expr.NewAggregate(o.b.env.Expr, expr.AggregateSpec{Name: "COUNT"})
	if err != nil || count.Key() != a.Aggs[0].Call.Key() || count.Type().Physical() != expr.TBigInt.Physical() {
		return n, nil
	}
	rows, exact, err := s.Use.Snapshot.RowCount(o.b.ctx)
	if err != nil {
		return nil, err
	}
	if !exact || rows < 0 {
		return n, nil
	}
	return &CountRows{Use: s.Use, ID: a.Aggs[0].ID, Rows: rows}, nil
}
