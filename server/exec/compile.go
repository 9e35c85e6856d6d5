package exec

import (
	"context"
	"slices"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// layout says which column is where in a pipeline's batches.
type layout []plan.ColID

// at returns the position of a column, -1 when it is not there.
func (l layout) at(id plan.ColID) int {
	for i, c := range l {
		if c == id {
			return i
		}
	}
	return -1
}

// compiler turns nodes into pipes.
type compiler struct {
	x       *query
	filters []*runtimeFilter // of operators above, for the scans below
	profile *nodeProfile     // of the node at hand, nil: nobody wants to know
}

// grower makes the grower of the node at hand.
func (c compiler) grower(name string) *grower {
	g := c.x.grower(name)
	if c.profile != nil {
		c.profile.growers = append(c.profile.growers, g)
	}
	return g
}

// bind replaces column ids by positions and subqueries by what they gave.
func (c compiler) bind(e expr.Expr, l layout) (expr.Expr, error) {
	var missing error
	e = expr.Transform(e, func(e expr.Expr) expr.Expr {
		if s, ok := e.(*plan.SubqueryExpr); ok {
			v, err := c.x.value(s.Index)
			if errs.Is(err, errs.SubqueryRows) || errs.Is(err, errs.OutOfRange) {
				return expr.Failed(e.Type(), err)
			}
			if err != nil {
				missing = err
				return e
			}
			return expr.Literal(v)
		}
		return e
	})
	if missing != nil {
		return nil, missing
	}
	e = expr.Remap(e, func(id int) int {
		p := l.at(id)
		if p < 0 {
			missing = errs.Internalf("run query: column %d (%s) is not below the operator that needs it", id, c.x.plan.Cols[id].Name)
			return 0
		}
		return p
	})
	return e, missing
}

func (c compiler) bindAll(es []expr.Expr, l layout) ([]expr.Expr, error) {
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		b, err := c.bind(e, l)
		if err != nil {
			return nil, err
		}
		out[i] = b
	}
	return out, nil
}

// conditions binds conditions, whose constants are computed once.
func (c compiler) conditions(es []expr.Expr, l layout) ([]expr.Expr, error) {
	out, err := c.bindAll(es, l)
	for i, e := range out {
		out[i] = expr.Once(e)
	}
	return out, err
}

// node compiles a node; when the query is analyzed, what it does is measured.
func (c compiler) node(n plan.Node) (pipe, layout, error) {
	if c.x.env.Profile == nil {
		return c.compile(n)
	}
	s := c.x.env.Profile.of(n)
	c.profile = s
	p, l, err := c.compile(n)
	return s.measured(p), l, err
}

func (c compiler) compile(n plan.Node) (pipe, layout, error) {
	switch n := n.(type) {
	case *plan.Scan:
		return c.scan(n)
	case *plan.Values:
		return c.values(n)
	case *plan.CountRows:
		v := vector.New(vector.I64, 1)
		v.AppendI64(n.Rows)
		return source(func(context.Context) (operator, error) {
			return &once{b: &vector.Batch{Len: 1, Seq: -1, Cols: []*vector.Vec{v}}}, nil
		}), layout(n.Output()), nil
	case *plan.Filter:
		in, l, err := c.node(n.In)
		if err != nil {
			return pipe{}, nil, err
		}
		conds, err := c.conditions(n.Conds, l)
		if err != nil {
			return pipe{}, nil, err
		}
		return in.stage(func(op operator) operator { return &filter{x: c.x, in: op, conds: conds} }), l, nil
	case *plan.Project:
		in, l, err := c.node(n.In)
		if err != nil {
			return pipe{}, nil, err
		}
		es := make([]expr.Expr, len(n.Items))
		for i, it := range n.Items {
			if es[i], err = c.bind(it.Expr, l); err != nil {
				return pipe{}, nil, err
			}
		}
		return in.stage(func(op operator) operator { return &project{x: c.x, in: op, items: es} }), layout(n.Output()), nil
	case *plan.InOrder:
		return c.inOrder(n)
	case *plan.Aggregate:
		return c.aggregate(n)
	case *plan.Distinct:
		in, l, err := c.node(n.In)
		if err != nil {
			return pipe{}, nil, err
		}
		keys := make([]expr.Expr, len(l))
		types := make([]expr.Type, len(l))
		for i, id := range l {
			types[i] = c.x.typeOf(id)
			keys[i] = expr.Column(i, types[i], "")
		}
		return c.grouped(in, keys, nil, nil, nil), l, nil
	case *plan.Join:
		return c.join(n)
	case *plan.Sort:
		return c.sort(n.In, n.Keys, -1, 0)
	case *plan.TopN:
		return c.sort(n.In, n.Keys, n.Count, n.Offset)
	case *plan.Limit:
		in, l, err := c.node(n.In)
		if err != nil {
			return pipe{}, nil, err
		}
		return c.limit(in, n.Count, n.Offset), l, nil
	case *plan.SetOp:
		return c.setOp(n)
	case *plan.Window:
		return c.window(n)
	case *plan.Expand:
		return c.expand(n)
	case *plan.Generate:
		return c.generate(n)
	case *plan.OrElse:
		return c.orElse(n)
	case *plan.Recursive:
		return c.recursive(n)
	case *plan.SharedScan:
		return c.sharedScan(n)
	case *plan.WorkTable:
		x := c.x
		return source(func(context.Context) (operator, error) {
			return x.works[n.Work].reader(), nil
		}), layout(n.Cols), nil
	}
	return pipe{}, nil, errs.Internalf("run query: no operator for %T", n)
}

// scan compiles a table scan: reading, conversion to SQL's form, conditions.
func (c compiler) scan(n *plan.Scan) (pipe, layout, error) {
	var out layout
	var cols []int
	loads := make([]expr.Expr, len(n.Cols))
	at := map[int]int{} // position in the schema -> in the batches
	for i, col := range n.Cols {
		out = append(out, col.ID)
		p, ok := at[col.Pos]
		if !ok {
			p = len(cols)
			at[col.Pos] = p
			cols = append(cols, col.Pos)
		}
		loads[i] = expr.Remap(col.Load, func(int) int { return p })
	}
	conds, err := c.conditions(n.Conds, out)
	if err != nil {
		return pipe{}, nil, err
	}
	x := c.x
	stored := storedColumns(n)
	// Rows that what is pushed leaves out are met or not, as files happen to be. They
	// come to no other condition, so that its errors do not depend on that.
	slices.SortStableFunc(conds, func(a, b expr.Expr) int {
		return pushable(x.env.Expr, b, stored) - pushable(x.env.Expr, a, stored)
	})
	p := pipe{start: func(ctx context.Context) ([]phase, error) {
		push := pushed(x.env.Expr, conds, stored)
		var filters []*runtimeFilter
		if !x.env.Options.NoPruning {
			for _, f := range c.filters {
				if f.scan == n && f.known() {
					filters = append(filters, f)
					push = connector.AndOf(push, f.predicate(x.env.Expr, stored))
				}
			}
		}
		req := scan.Request{Columns: cols, Filter: push, Options: x.env.Options, Budget: x.budget}
		if c.profile != nil {
			req.Reads = &c.profile.reads
		}
		src, err := scan.Open(ctx, n.Use.Snapshot, req)
		if err != nil {
			return nil, err
		}
		p := src.Plan()
		x.env.Meter.plan(src.Rows(), p.Bytes)
		if c.profile != nil {
			c.profile.files.Add(int64(p.Files))
			c.profile.pruned.Add(int64(p.PrunedFiles))
			c.profile.stored.Add(p.Bytes)
		}
		rows := src.Rows()
		if n.Limit >= 0 {
			rows = min(rows, n.Limit)
		}
		out := phase{ranges: src.Ranges(), rows: rows}
		for _, f := range filters {
			if f.top != nil && f.top.anyOrder {
				out.visit = src.Visit(n.Cols[f.col].Pos, f.top.desc)
				f.top.placed = true
			}
		}
		out.open = func(_ context.Context, i int) (operator, error) {
			i = out.number(i)
			return newScanner(x, src.Reader(i), i, loads, conds, filters), nil
		}
		return []phase{out}, nil
	}}
	return p, out, nil
}

func (c compiler) values(n *plan.Values) (pipe, layout, error) {
	rows := make([][]expr.Expr, len(n.Rows))
	for i, r := range n.Rows {
		var err error
		if rows[i], err = c.bindAll(r, nil); err != nil {
			return pipe{}, nil, err
		}
	}
	types := make([]expr.Type, len(n.Cols))
	for i, id := range n.Cols {
		types[i] = c.x.typeOf(id)
	}
	return source(func(context.Context) (operator, error) { return &values{x: c.x, types: types, rows: rows}, nil }), layout(n.Cols), nil
}
