package plan

import (
	"math"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// This file is what estimates know of columns: the statistics of ANALYZE TABLE,
// where there are none the bounds of the table's files, and keys. Nothing here
// can make an answer wrong: it only chooses between plans of the same rows.

// facts are what is known of the rows of a table as a whole.
type facts struct {
	rows   float64
	grown  float64 // rows by those that were analysed, 1 where that is unknown
	fields []catalog.Field
	stats  *connector.Statistics // nil: none
	key    int                   // the field that is the primary key alone, -1
}

// source is where the values of a column come from.
type source struct {
	use   *TableUse
	field int
}

// column is what is known of the values of a column.
type column struct {
	distinct float64 // 0: unknown
	nulls    float64 // the share of NULLs
	ranged   bool    // there are bounds
	lo, hi   float64
}

// unknownRows is what a table has of which nothing is known.
const unknownRows = 1e6

// factsOf looks at a table once a statement.
func (o *optimizer) factsOf(u *TableUse) *facts {
	if f := o.facts[u]; f != nil {
		return f
	}
	f := &facts{rows: unknownRows, grown: 1, key: -1}
	if r, _, err := u.Snapshot.RowCount(o.b.ctx); err == nil && r >= 0 {
		f.rows = math.Max(1, float64(r))
	}
	s := u.Snapshot.Schema()
	f.fields = s.Fields
	if len(s.PrimaryKeys) == 1 {
		f.key = s.Columns(s.PrimaryKeys)[0]
	}
	if d, ok := u.Snapshot.(connector.Described); ok {
		if st, err := d.Statistics(o.b.ctx); err == nil && st != nil {
			f.stats = st
			if st.Rows > 0 {
				f.grown = f.rows / float64(st.Rows)
			}
		}
	}
	if o.facts == nil {
		o.facts = map[*TableUse]*facts{}
	}
	o.facts[u] = f
	return f
}

// indexed notes where the columns of a plan come from.
func (o *optimizer) indexed(n Node) {
	switch n := n.(type) {
	case *Scan:
		for _, c := range n.Cols {
			o.sources[c.ID] = source{n.Use, c.Pos}
		}
	case *SharedScan:
		if !o.seen[n.Of] {
			o.seen[n.Of] = true
			o.indexed(n.Of.Plan)
		}
		for _, c := range n.Cols {
			if s, ok := o.sources[c.From]; ok {
				o.sources[c.ID] = s
			}
		}
	}
	for _, in := range n.Inputs() {
		o.indexed(in)
	}
	same := func(items []Item) {
		for _, it := range items {
			if id, ok := plainColumn(it.Expr); ok {
				if s, ok := o.sources[id]; ok {
					o.sources[it.ID] = s
				}
			}
		}
	}
	switch n := n.(type) {
	case *Project:
		same(n.Items)
	case *Aggregate:
		same(n.Keys)
	}
}

// column returns what is known of a column.
func (o *optimizer) column(id ColID) (c column) {
	if o.sources == nil {
		o.sources, o.seen = map[ColID]source{}, map[*Shared]bool{}
	}
	for ; o.next < len(o.roots); o.next++ {
		o.indexed(o.roots[o.next])
	}
	s, ok := o.sources[id]
	if !ok {
		return c
	}
	f := o.factsOf(s.use)
	if f.key == s.field {
		c.distinct = f.rows
	}
	if f.stats == nil {
		return c
	}
	field := f.fields[s.field]
	x, ok := f.stats.Columns[field.ID]
	if !ok {
		return c
	}
	if x.Distinct > 0 && c.distinct == 0 {
		c.distinct = float64(x.Distinct)
		// What was nearly different in every row will be so in more of them.
		if f.stats.Rows > 0 && c.distinct > 0.5*float64(f.stats.Rows) {
			c.distinct *= math.Max(1, f.grown)
		}
	}
	if x.Nulls > 0 && f.rows > 0 {
		c.nulls = math.Min(1, float64(x.Nulls)*f.grown/f.rows)
	}
	if k := field.Type.Physical(); x.Min != nil && x.Max != nil && x.Min.Kind == k && x.Max.Kind == k {
		scale := 0
		if field.Type.Kind == catalog.Decimal {
			scale = field.Type.Scale
		}
		var a, b bool
		c.lo, a = magnitude(x.Min, scale)
		c.hi, b = magnitude(x.Max, scale)
		c.ranged = a && b && c.lo <= c.hi
	}
	if whole(field.Type) && c.ranged && c.distinct == 0 {
		c.distinct = math.Min(c.hi-c.lo+1, f.rows)
	}
	return c
}

func whole(t catalog.Type) bool {
	switch t.Kind {
	case catalog.Boolean, catalog.TinyInt, catalog.SmallInt, catalog.Int, catalog.BigInt, catalog.Date:
		return true
	}
	return false
}

// magnitude returns the number that row 0 of v is, in the unit of its type.
func magnitude(v *vector.Vec, scale int) (x float64, ok bool) {
	if v == nil || v.Len == 0 || v.IsNull(0) {
		return 0, false
	}
	i := v.At(0)
	v = v.Values()
	switch v.Kind {
	case vector.I8:
		x = float64(v.I8s[i])
	case vector.I32:
		x = float64(v.I32s[i])
	case vector.I64:
		x = float64(v.I64s[i])
	case vector.I128:
		x, _ = v.I128s[i].Big().Float64()
	case vector.F32:
		x = float64(v.F32s[i])
	case vector.F64:
		x = v.F64s[i]
	default:
		return 0, false
	}
	if scale != 0 {
		x /= math.Pow10(scale)
	}
	return x, x == x
}

// number returns the number that a literal is for comparing it with a column.
func number(e expr.Expr) (float64, bool) {
	l, ok := e.(*expr.LiteralExpr)
	if !ok || l.Val.IsNull() {
		return 0, false
	}
	scale := 0
	if l.Val.Type.Class == expr.Decimal {
		scale = l.Val.Type.Scale
	}
	return magnitude(l.Val.Vec, scale)
}

// bare returns the column that e is, but for implicit conversions.
func bare(e expr.Expr) (ColID, bool) {
	if in := expr.Converted(e); in != nil {
		e = in
	}
	return plainColumn(e)
}

// span is a part of a column's values that conditions leave.
type span struct {
	of     column
	lo, hi float64
}

// selectivity guesses the share of rows that conditions keep.
func (o *optimizer) selectivity(conds []expr.Expr) float64 {
	s := 1.0
	spans := map[ColID]*span{}
	for _, c := range conds {
		if !o.narrows(c, spans) {
			s *= o.kept(c)
		}
	}
	for _, x := range spans {
		s *= x.share()
	}
	return math.Min(1, math.Max(s, 1e-9))
}

func (x *span) share() float64 {
	lo, hi := math.Max(x.lo, x.of.lo), math.Min(x.hi, x.of.hi)
	if lo > hi {
		return 1e-4
	}
	part := 1.0
	if x.of.hi > x.of.lo {
		part = (hi - lo) / (x.of.hi - x.of.lo)
	}
	if x.of.distinct > 0 {
		part = math.Max(part, 1/x.of.distinct)
	}
	return math.Max(part, 1e-4) * (1 - x.of.nulls)
}

// narrows notes a condition that compares a column with bounds to constants, and
// reports whether it is one.
func (o *optimizer) narrows(c expr.Expr, spans map[ColID]*span) bool {
	op := expr.Operator(c)
	kids := c.Children()
	switch op {
	case "<", "<=", ">", ">=":
	case "BETWEEN":
		if len(kids) != 3 {
			return false
		}
	default:
		return false
	}
	id, ok := bare(kids[0])
	var at int
	if !ok && op != "BETWEEN" {
		if id, ok = bare(kids[1]); !ok {
			return false
		}
		op = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}[op]
	} else {
		at = 1
	}
	if !ok {
		return false
	}
	a, ok := number(kids[at])
	if !ok {
		return false
	}
	b := a
	if op == "BETWEEN" {
		if b, ok = number(kids[2]); !ok {
			return false
		}
	}
	x := spans[id]
	if x == nil {
		col := o.column(id)
		if !col.ranged {
			return false
		}
		x = &span{col, math.Inf(-1), math.Inf(1)}
		spans[id] = x
	}
	if op != "<" && op != "<=" {
		x.lo = math.Max(x.lo, a)
	}
	if op != ">" && op != ">=" {
		x.hi = math.Min(x.hi, b)
	}
	return true
}

// kept guesses the share of rows that one condition keeps.
func (o *optimizer) kept(c expr.Expr) float64 {
	kids := c.Children()
	switch op := expr.Operator(c); op {
	case "=", "<=>":
		return o.equal(kids[0], kids[1])
	case "<>":
		return 1 - o.equal(kids[0], kids[1])
	case "IN":
		one := 0.05
		if id, ok := bare(kids[0]); ok {
			if d := o.column(id).distinct; d > 0 {
				one = 1 / d
			}
		}
		return math.Min(0.5, one*math.Max(1, float64(len(kids)-1)))
	case "NOT":
		return math.Max(0.1, 1-o.selectivity(kids))
	case "AND":
		return o.selectivity(ands(c, nil))
	case "OR":
		none := 1.0
		for _, k := range disjuncts(c, nil) {
			none *= 1 - o.selectivity(ands(k, nil))
		}
		return 1 - none
	case "LIKE":
		return 0.1
	case "IS NULL":
		if id, ok := bare(kids[0]); ok {
			if x := o.column(id); x.distinct > 0 {
				return math.Max(x.nulls, 1e-4)
			}
		}
		return 0.1
	case "IS NOT NULL":
		if id, ok := bare(kids[0]); ok {
			return 1 - o.column(id).nulls
		}
		return 0.9
	}
	return 0.3
}

// equal guesses the share of rows for which two expressions are equal.
func (o *optimizer) equal(a, b expr.Expr) float64 {
	const unknown = 0.05
	x, xok := bare(a)
	y, yok := bare(b)
	switch {
	case xok && yok:
		if d := math.Max(o.column(x).distinct, o.column(y).distinct); d > 0 {
			return 1 / d
		}
	case xok || yok:
		other := b
		if !xok {
			x, other = y, a
		}
		c := o.column(x)
		if v, ok := number(other); ok && c.ranged && (v < c.lo || v > c.hi) {
			return 1e-4
		}
		if c.distinct > 0 {
			return (1 - c.nulls) / c.distinct
		}
	}
	return unknown
}
