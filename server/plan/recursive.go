package plan

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// recursive binds a common table expression that reads itself: the parts of its
// UNION that do not are the anchor, the others the step. The anchor decides the
// columns' types.
func (b *binder) recursive(c *cte) (*result, error) {
	q, name := c.def.Query, c.def.Name.Name
	union := func() error {
		return errs.UserAt(c.def.Pos(), errs.RecursionUnion, "Recursive Common Table Expression '%s' should contain a UNION", name)
	}
	top, ok := q.Body.(*syntax.SetOp)
	switch {
	case !ok || top.Kind != syntax.Union:
		return nil, union()
	case q.With != nil:
		return nil, errs.Unsupportedf(q.With.Pos(), "WITH inside of a recursive common table expression")
	case len(q.OrderBy) > 0:
		return nil, errs.Unsupportedf(q.OrderBy[0].Pos(), "ORDER BY in a recursive common table expression")
	}
	var parts []syntax.QueryBody
	at := syntax.QueryBody(top)
	for {
		s, ok := at.(*syntax.SetOp)
		if !ok || s.Kind != syntax.Union {
			break
		}
		if s.All != top.All {
			return nil, errs.Unsupportedf(s.Pos(), "UNION ALL and UNION DISTINCT in one recursive common table expression")
		}
		parts = append([]syntax.QueryBody{s.Right}, parts...)
		at = s.Left
	}
	parts = append([]syntax.QueryBody{at}, parts...)
	n := 0
	for n < len(parts) && mentions(parts[n], name) == 0 {
		n++
	}
	if n == 0 {
		return nil, errs.UserAt(c.def.Pos(), errs.RecursionUnion, "Recursive Common Table Expression '%s' should have one or more non-recursive query blocks followed by one or more recursive ones", name)
	}
	for _, p := range parts[n:] {
		if err := recursivePart(p, name); err != nil {
			return nil, err
		}
	}
	bind := func(list []syntax.QueryBody, ctes *cte) (*result, error) {
		var rs []*result
		for _, p := range list {
			r, err := b.body(p, nil, nil, c.block, ctes)
			if err != nil {
				return nil, err
			}
			if len(rs) > 0 && len(r.cols) != len(rs[0].cols) {
				return nil, errs.UserAt(p.Pos(), errs.SetOpColumns, "The used SELECT statements have a different number of columns")
			}
			rs = append(rs, r)
		}
		if len(rs) == 1 {
			return rs[0], nil
		}
		return b.combine(Union, true, rs, q.Pos())
	}
	anchor, err := bind(parts[:n], c.outer)
	if err != nil {
		return nil, err
	}
	if len(c.def.Columns) > 0 && len(c.def.Columns) != len(anchor.cols) {
		return nil, errs.UserAt(c.def.Pos(), errs.ViewColumns, "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts")
	}
	out := &result{}
	node := &Recursive{Name: name, Work: b.works, Distinct: !top.All, Stop: -1}
	b.works++
	own := &cte{def: c.def, outer: c.outer, workID: node.Work}
	p := &Project{In: anchor.node}
	for i, col := range anchor.cols {
		t := b.cols[col.ID].Type
		t.Nullable = true
		if t.Class == expr.Int {
			t.Width = 8 // a step's numbers are of this width
		}
		length := -1
		if t.Class == expr.String || t.Class == expr.Bytes {
			length = t.Length
		}
		if t.Class == expr.Null {
			t, length = expr.TString(0, b.env.Expr.Collation), 0
		}
		if len(c.def.Columns) > 0 {
			col.Name = c.def.Columns[i].Name
		}
		x := b.col(col.ID)
		if !expr.Same(x.Type(), t) {
			if x, err = expr.Cast(b.env.Expr, x, t); err != nil {
				return nil, err
			}
		}
		p.Items = append(p.Items, Item{b.newCol(Column{Name: col.Name, Type: t}), x})
		id := b.newCol(Column{Name: col.Name, Type: t.OfField()})
		node.Cols = append(node.Cols, id)
		node.Lengths = append(node.Lengths, length)
		out.cols = append(out.cols, b.cols[id])
		own.work = append(own.work, b.cols[id])
	}
	node.Anchor = p
	step, err := bind(parts[n:], own)
	if err != nil {
		return nil, err
	}
	if len(step.cols) != len(out.cols) {
		return nil, errs.UserAt(q.Pos(), errs.SetOpColumns, "The used SELECT statements have a different number of columns")
	}
	s := &Project{In: step.node}
	for i, col := range step.cols {
		x, t := b.col(col.ID), out.cols[i].Type
		if !expr.Same(x.Type(), t) {
			if t.Class == expr.String {
				t.Length = -1 // the length is checked, not cut
			}
			if x, err = expr.CastNoting(b.env.Expr, x, t, out.cols[i].Name); err != nil {
				return nil, positioned(err, q.Pos())
			}
		}
		s.Items = append(s.Items, Item{b.newCol(Column{Name: col.Name, Type: out.cols[i].Type}), x})
	}
	node.Step = s
	if len(free(node)) > 0 {
		return nil, errs.Unsupportedf(c.def.Pos(), "columns of an outer query in a recursive common table expression")
	}
	out.node = node
	r, err := b.limited(out, q.Limit)
	if err != nil {
		return nil, err
	}
	if l, ok := r.node.(*Limit); ok && l.Count >= 0 {
		node.Stop = l.Count + l.Offset
	}
	return r, nil
}

// recursivePart refuses what the recursive part of a common table expression
// may not have.
func recursivePart(p syntax.QueryBody, name string) error {
	s, ok := p.(*syntax.Select)
	switch {
	case !ok:
		return errs.Unsupportedf(p.Pos(), "this recursive part of a common table expression")
	case s.Distinct:
		return errs.NotInMySQL("ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression")
	case mentions(p, name) != 1 || s.From == nil || mentions(s.From, name) != 1:
		return errs.UserAt(s.Pos(), errs.RecursionOnce, "In recursive query block of Recursive Common Table Expression '%s', the recursive table must be referenced only once, and not in any subquery", name)
	}
	found := s.GroupBy != nil
	for _, it := range s.Items {
		syntax.Walk(it.Expr, func(n syntax.Node) bool {
			f, ok := n.(*syntax.FuncCall)
			found = found || ok && (f.Over != nil || expr.IsAggregate(f.Name.Object()))
			_, sub := n.(*syntax.Query)
			return !found && !sub
		})
	}
	if found || s.Having != nil {
		return errs.UserAt(s.Pos(), errs.RecursionForm, "Recursive Common Table Expression '%s' can contain neither aggregation nor window functions in recursive query block", name)
	}
	return optionalSide(s.From, name)
}

// optionalSide refuses the recursive table on the side of an outer join that
// may be missing.
func optionalSide(t syntax.TableExpr, name string) error {
	j, ok := t.(*syntax.Join)
	if !ok {
		if d, ok := t.(*syntax.Derived); ok && mentions(d, name) > 0 {
			return errs.UserAt(d.Pos(), errs.RecursionOnce, "In recursive query block of Recursive Common Table Expression '%s', the recursive table must be referenced only once, and not in any subquery", name)
		}
		return nil
	}
	if j.Kind == syntax.JoinLeft && mentions(j.Right, name) > 0 || j.Kind == syntax.JoinRight && mentions(j.Left, name) > 0 || j.Kind == syntax.JoinFull {
		return errs.Unsupportedf(j.Pos(), "a recursive table on the optional side of an outer join")
	}
	if err := optionalSide(j.Left, name); err != nil {
		return err
	}
	return optionalSide(j.Right, name)
}

// previous is the recursive table inside of its own query.
func (b *binder) previous(c *cte) *result {
	w := &WorkTable{Work: c.workID}
	out := &result{node: w}
	for _, col := range c.work {
		id := b.newCol(Column{Name: col.Name, Type: col.Type})
		w.Cols = append(w.Cols, id)
		out.cols = append(out.cols, b.cols[id])
	}
	return out
}
