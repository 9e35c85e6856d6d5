package transform

import "github.com/thermocline/thermocline/scan/expr"

// Soft reports whether deleted rows stay in the lake.
func (s *Shape) Soft() bool { return len(s.chain) > 0 && s.chain[0].SoftDelete }

// Steady reports for each of the lake table's columns whether its value depends
// on the source's row alone: not on how and when the row came, and not on what
// the source had before.
func (s *Shape) Steady(columns int) []bool {
	out := make([]bool, columns)
	for j := range out {
		i := j
		if s.fit != nil {
			i = s.fit[j].from
		}
		if i < 0 {
			continue
		}
		out[j] = true
		for _, b := range s.chain {
			if c := b.cols[i]; c.plain < 0 {
				expr.Walk(c.e, func(e expr.Expr) bool {
					switch e := e.(type) {
					case clockExpr, kindExpr, uuidExpr:
						out[j] = false
					case *expr.ColumnExpr:
						out[j] = out[j] && e.Pos < len(s.Source.Columns)
					}
					return out[j]
				})
			}
		}
	}
	return out
}
