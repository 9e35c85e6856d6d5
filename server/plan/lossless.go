package plan

import (
	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/scan/expr"
)

// lossless replaces the columns of a result that show stored columns by what is
// stored. SQL sees nested values as JSON text and timestamps in microseconds;
// conditions and orderings keep to that, so a column is read in both forms where
// both are needed.
func (b *binder) lossless(r *result) {
	for i := range r.cols {
		c := &r.cols[i]
		n, id, stored := b.stored(r.node, c.ID)
		if stored == nil {
			continue
		}
		r.node, c.ID = n, b.copyCol(id)
		t := *stored
		t.NotNull = !b.cols[id].Type.Nullable
		b.cols[c.ID].Stored = &t
		// The copy is a column of its own: two of the result may show one.
		r.node = &Project{In: r.node, Items: append(b.passed(r.node), Item{c.ID, b.col(id)})}
	}
}

// passed are the items that pass all columns of a node on.
func (b *binder) passed(n Node) []Item {
	ids := n.Output()
	out := make([]Item, 0, len(ids)+1)
	for _, id := range ids {
		out = append(out, Item{id, b.col(id)})
	}
	return out
}

// stored follows a column down to the scan that reads it, through nodes that
// pass rows on. It returns the node with a column that has the stored values,
// and the lake's type of them; nil when the column shows something else.
func (b *binder) stored(n Node, id ColID) (Node, ColID, *catalog.Type) {
	below := func(at int) (Node, ColID, *catalog.Type) {
		in := append([]Node(nil), n.Inputs()...)
		m, raw, t := b.stored(in[at], id)
		if t == nil {
			return n, id, nil
		}
		in[at] = m
		return n.With(in), raw, t
	}
	switch x := n.(type) {
	case *Scan:
		for _, c := range x.Cols {
			if c.ID != id {
				continue
			}
			schema := x.Use.Snapshot.Schema()
			f := schema.Fields[c.Pos]
			e, t, ok := expr.Raw(c.Pos, f, schema.MySQLType(f), f.Name)
			if !ok {
				return n, id, nil
			}
			if e == nil {
				return n, id, &t
			}
			raw := b.copyCol(id)
			b.cols[raw].Type = e.Type()
			s := *x
			s.Cols = append(append([]ScanCol(nil), x.Cols...), ScanCol{ID: raw, Pos: c.Pos, Load: e})
			return &s, raw, &t
		}
	case *SharedScan:
		for _, c := range x.Cols {
			if c.ID != id {
				continue
			}
			m, raw, t := b.stored(x.Of.Plan, c.From)
			if t == nil || raw == c.From {
				return n, id, t
			}
			x.Of.Plan = m
			up := b.copyCol(raw)
			return &SharedScan{Of: x.Of, Cols: append(x.Cols[:len(x.Cols):len(x.Cols)], SharedCol{ID: up, From: raw})}, up, t
		}
	case *Filter, *Sort, *TopN, *Limit, *Window:
		for _, c := range n.Inputs()[0].Output() {
			if c == id {
				return below(0)
			}
		}
	case *Join:
		for i, side := range n.Inputs() {
			kept := x.Kind == Inner || i == 0 && x.Kind != Right && x.Kind != Full || i == 1 && x.Kind == Right
			for _, c := range side.Output() {
				if c == id && kept {
					return below(i)
				}
			}
		}
	case *Project:
		for _, it := range x.Items {
			from, plain := plainColumn(it.Expr)
			if it.ID != id || !plain {
				continue
			}
			in, raw, t := b.stored(x.In, from)
			if t == nil {
				break
			}
			if raw == from {
				return n, id, t
			}
			up := b.copyCol(raw)
			p := *x
			p.In, p.Items = in, append(append([]Item(nil), x.Items...), Item{up, b.col(raw)})
			return &p, up, t
		}
	}
	return n, id, nil
}
