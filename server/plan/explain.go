package plan

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/scan/expr"
)

// Explain returns the plan as an indented tree, a line an operator: first those
// of the query, then those of the subqueries that run before it, then those of
// the parts that several places read.
func Explain(q *Query) []string {
	var out []string
	explain(q.Root, 0, &out)
	for i, s := range q.Subplans {
		out = append(out, fmt.Sprintf("subquery %d, run once", i+1))
		explain(s.Plan, 1, &out)
	}
	for _, s := range q.Shared {
		out = append(out, s.line())
		explain(s.Plan, 1, &out)
	}
	return out
}

// line describes a part that is shared.
func (s *Shared) line() string {
	name := ""
	if s.Name != "" {
		name = " (" + s.Name + ")"
	}
	where := fmt.Sprintf("in %d places", s.Reads)
	if s.Again {
		where = "by every step of a recursive query"
	}
	return fmt.Sprintf("shared rows %d%s, run once, read %s", s.Number, name, where)
}

func explain(n Node, depth int, out *[]string) {
	*out = append(*out, strings.Repeat("  ", depth)+"-> "+line(n))
	for _, c := range n.Inputs() {
		explain(c, depth+1, out)
	}
}

// qualified is a column's name with its database, as errors show it.
var qualified = regexp.MustCompile("`[^`]+`\\.(`[^`]+`\\.`[^`]+`)")

// line describes one operator; columns are named without their database.
func line(n Node) string { return qualified.ReplaceAllString(operator(n), "$1") }

func operator(n Node) string {
	switch n := n.(type) {
	case *Scan:
		s := "Scan " + n.Use.Table.ID().String()
		if n.Alias != n.Use.Table.ID().Object() {
			s += " as " + n.Alias
		}
		if n.Use.Ref.Kind != catalog.Latest {
			s += " at " + n.Use.Ref.String()
		}
		if at := connector.LivePosition(n.Use.Snapshot); at != "" {
			s += " live at " + at
		}
		var cols []string
		for _, c := range n.Cols {
			cols = append(cols, n.Use.Snapshot.Schema().Fields[c.Pos].Name)
		}
		s += " columns (" + strings.Join(cols, ", ") + ")"
		if len(n.Conds) > 0 {
			s += " filter (" + texts(n.Conds, " and ") + ")"
		}
		if n.Limit >= 0 {
			s += fmt.Sprintf(" limit %d", n.Limit)
		}
		return s
	case *Values:
		return fmt.Sprintf("Values %d rows", len(n.Rows))
	case *Filter:
		return "Filter (" + texts(n.Conds, " and ") + ")"
	case *Project:
		return "Project (" + texts(itemExprs(n.Items), ", ") + ")"
	case *Aggregate:
		var calls []string
		for _, a := range n.Aggs {
			calls = append(calls, a.Call.String())
		}
		s := "Aggregate (" + strings.Join(calls, ", ") + ")"
		if len(n.Keys) > 0 {
			s += " group by (" + texts(itemExprs(n.Keys), ", ") + ")"
		}
		return s
	case *Join:
		s := "Hash join"
		if len(n.Keys) == 0 {
			s = "Nested loop join"
		}
		s += " " + n.Kind.String()
		if n.NullAware {
			s += ", null-aware"
		}
		var on []string
		for _, k := range n.Keys {
			op := " = "
			if k.NullSafe {
				op = " <=> "
			}
			on = append(on, k.L.String()+op+k.R.String())
		}
		for _, c := range append(append([]expr.Expr(nil), n.Conds...), n.MarkConds...) {
			on = append(on, c.String())
		}
		if len(on) > 0 {
			s += " on (" + strings.Join(on, " and ") + ")"
		}
		return s
	case *Sort:
		return "Sort (" + sortText(n.Keys) + ")"
	case *TopN:
		return fmt.Sprintf("Top %d offset %d (%s)", n.Count, n.Offset, sortText(n.Keys))
	case *Limit:
		if n.Count < 0 {
			return fmt.Sprintf("Offset %d", n.Offset)
		}
		return fmt.Sprintf("Limit %d offset %d", n.Count, n.Offset)
	case *Distinct:
		return "Distinct"
	case *SetOp:
		s := strings.ToUpper(n.Kind.String()[:1]) + n.Kind.String()[1:]
		if n.All {
			s += " all"
		}
		return s
	case *Window:
		var calls []string
		for _, c := range n.Calls {
			if c.Agg != nil {
				calls = append(calls, c.Agg.String())
			} else {
				calls = append(calls, strings.ToLower(c.Name)+"("+texts(c.Args, ", ")+")")
			}
		}
		return "Window (" + strings.Join(calls, ", ") + ") over (partition by (" + texts(n.Partition, ", ") + ") order by (" + sortText(n.Order) + "))"
	case *Expand:
		return fmt.Sprintf("Expand to %d grouping sets of (%s)", len(n.Sets), texts(itemExprs(n.Keys), ", "))
	case *Generate:
		s := "Table function " + n.Func.String()
		if n.Outer {
			s += ", outer"
		}
		if len(n.Conds) > 0 {
			s += " on (" + texts(n.Conds, " and ") + ")"
		}
		return s
	case *InOrder:
		return "Row by row (" + texts(itemExprs(n.Items), ", ") + ")"
	case *OrElse:
		return "If there are no rows, the total of none"
	case *Recursive:
		return "Recursive " + n.Name
	case *WorkTable:
		return "Rows of the step before"
	case *SharedScan:
		if n.Of.Name != "" {
			return fmt.Sprintf("Shared rows %d (%s)", n.Of.Number, n.Of.Name)
		}
		return fmt.Sprintf("Shared rows %d", n.Of.Number)
	case *CountRows:
		return fmt.Sprintf("Count of %s from metadata: %d", n.Use.Table.ID(), n.Rows)
	}
	return fmt.Sprintf("%T", n)
}

func texts(es []expr.Expr, sep string) string {
	parts := make([]string, len(es))
	for i, e := range es {
		parts[i] = e.String()
	}
	return strings.Join(parts, sep)
}

func sortText(keys []SortKey) string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = k.Expr.String()
		if k.Desc {
			parts[i] += " desc"
		}
	}
	return strings.Join(parts, ", ")
}
