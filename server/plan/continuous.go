package plan

import (
	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
)

// A continuous read is a query whose one table is followed: exec runs the plan
// for the rows that the table holds and then for the changes of each new
// snapshot. So the plan may only have operators that take one row after the
// other; what would have to see the end is refused by name. The result's first
// column is connector.OpColumn.

// follow starts the continuous read of a table.
func (b *binder) follow(n Name, f connector.Followable, ref catalog.Ref, pos int) (*TableUse, error) {
	if b.stream != nil {
		return nil, errs.Unsupportedf(pos, "a statement with two continuous reads (SET 'execution.runtime-mode' = 'batch' reads what is there)")
	}
	s, err := f.Follow(b.ctx, ref)
	if err != nil {
		return nil, positioned(err, pos)
	}
	b.stream, b.streamAt = s, pos
	b.streamed = &TableUse{Catalog: n.Catalog, Table: f, Snapshot: s.Empty(), Ref: ref}
	b.tables = append(b.tables, b.streamed)
	return b.streamed, nil
}

// continuous puts the kind of a row before the columns of a query.
func (b *binder) continuous(r *result) (*result, error) {
	in := r.node
	if l, ok := in.(*Limit); ok {
		b.ends, in = l, l.In
	}
	node, err := b.withOp(in)
	if err != nil {
		return nil, err
	}
	return &result{node: node, cols: append([]Column{b.cols[b.op]}, r.cols...)}, nil
}

// withOp lets the kinds of rows pass through projections.
func (b *binder) withOp(n Node) (Node, error) {
	if p, ok := n.(*Project); ok {
		in, err := b.withOp(p.In)
		if err != nil {
			return nil, err
		}
		return &Project{In: in, Items: append([]Item{{ID: b.op, Expr: b.col(b.op)}}, p.Items...)}, nil
	}
	if _, ok := n.(*Scan); ok {
		return n, nil
	}
	if err := b.rowByRowNode(n); err != nil {
		return nil, err
	}
	return mapInputs(n, b.withOp)
}

// rowByRow refuses plans that must see the end of the table.
func (b *binder) rowByRow(n Node) error {
	for {
		if err := b.rowByRowNode(n); err != nil {
			return err
		}
		in := n.Inputs()
		if len(in) == 0 {
			return nil
		}
		n = in[0]
	}
}

// rowByRowNode refuses an operator that does not take one row after the other.
func (b *binder) rowByRowNode(n Node) error {
	switch n := n.(type) {
	case *Scan:
		if n.Use == b.streamed {
			return nil
		}
		return errs.Unsupportedf(b.streamAt, "a continuous read in a subquery")
	case *Project, *Filter:
		return nil
	case *Limit:
		return b.refuseOver("a LIMIT that is not the whole statement's")
	case *Aggregate:
		return b.refuseOver("aggregation")
	case *Join:
		return b.refuseOver("a join or subquery")
	case *Sort, *TopN:
		return b.refuseOver("ORDER BY")
	case *Distinct:
		return b.refuseOver("DISTINCT")
	case *SetOp:
		return b.refuseOver("UNION, INTERSECT or EXCEPT")
	case *Window:
		return b.refuseOver("window functions")
	}
	return b.refuseOver("this query")
}

func (b *binder) refuseOver(what string) error {
	return errs.Unsupportedf(b.streamAt, "%s over a continuous read, which has no end (SET 'execution.runtime-mode' = 'batch' reads what is there)", what)
}
