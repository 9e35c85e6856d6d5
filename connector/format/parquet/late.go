package parquet

import (
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/format"
)

// A condition that becomes stricter while the file is read leaves out row groups
// when they begin, and within a row group the pages that are still to come.

// late is a reader's format.Narrowing.
type late struct {
	load func() *connector.Predicate // nil: there is none
	col  format.Column
	node *node

	order []int                // in which row groups are read; nil: that of the file
	seen  *connector.Predicate // what the ranges of the current row group heed
	group *rowGroup            // that the pages are of
	pages map[int]*pageLayout
	next  int64 // row of the file up to which it is not looked at again
}

// lookRows is after how many rows, at least, a changed condition is looked at again
// within a row group: every look costs the bounds of its pages. A variable for tests.
var lookRows int64 = 1 << 14

// Narrow implements format.Narrowing.
func (r *reader) Narrow(column format.Column, d *connector.Dynamic) {
	n, err := r.pf.field(column.Name)
	if err != nil {
		return
	}
	r.late = late{load: d.Load, col: column, node: n}
	groups := r.pf.meta.groups
	r.late.order = d.Order(len(groups), func(g int) connector.Bounds {
		if r.skip[g] {
			return connector.Bounds{}
		}
		return r.pf.bounds(&groups[g], n, column.Type)
	})
	d.Reordered = d.Reordered || r.late.order != nil
}

// beyond reports whether no row of a row group may satisfy the condition.
func (r *reader) beyond(g *rowGroup) bool {
	if r.late.load == nil {
		return false
	}
	p := r.late.load()
	r.late.seen, r.late.next = nil, 0
	if p.MayMatch(func(int) connector.Bounds { return r.pf.bounds(g, r.late.node, r.late.col.Type) }) {
		return false
	}
	if r.reads != nil {
		r.reads.LateRowGroups.Add(1)
		r.reads.LateRows.Add(g.rows)
	}
	return true
}

// narrow leaves out what is left of the current row group as far as the condition
// that changed does not hold.
func (r *reader) narrow() error {
	l := &r.late
	if l.load == nil || r.seq < l.next {
		return nil
	}
	p := l.load()
	if p == nil || p == l.seen {
		return nil
	}
	l.seen, l.next = p, r.seq+lookRows
	g := r.current
	at := r.seq - r.base
	left := []rowRange{{at, g.rows}}
	if r.ranges != nil {
		left = intersect(left, r.ranges)
	}
	kept := left
	if !p.MayMatch(func(int) connector.Bounds { return r.pf.bounds(g, l.node, l.col.Type) }) {
		kept = nil
	} else if g.rows >= indexedRows && r.flat {
		if l.group != g {
			l.group, l.pages = g, map[int]*pageLayout{}
		}
		held := r.pf.held
		s := &selector{pf: r.pf, g: g, cols: []format.Column{l.col}, nodes: []*node{l.node}, pages: l.pages}
		list, err := s.rows(p.On(0))
		if err == nil {
			kept = intersect(left, list)
		}
		if err == nil && len(kept) > 0 && rowCount(left)-rowCount(kept) < rowCount(left)/8 {
			kept = left // nearly all
		}
		if err == nil && len(kept) > 0 && r.ranges == nil && rowCount(kept) < rowCount(left) {
			var ok bool
			if ok, err = r.movable(g); !ok {
				kept = left
			}
		}
		r.pf.budget.Release(r.pf.held - held)
		r.pf.held = held
		if err != nil {
			return err
		}
	}
	out := rowCount(left) - rowCount(kept)
	if out == 0 {
		return nil
	}
	if r.reads != nil {
		r.reads.LateRows.Add(out)
	}
	if len(kept) == 0 {
		r.seq, r.left, r.ranges = r.base+g.rows, 0, nil
		return nil
	}
	if r.ranges == nil {
		for _, c := range r.cols {
			if f, ok := c.(*flatColumn); ok {
				f.row, f.opened = at, at > 0
			}
		}
	}
	r.ranges = kept
	return nil
}

// rowCount returns the rows of ranges.
func rowCount(list []rowRange) (n int64) {
	for _, x := range list {
		n += x.to - x.from
	}
	return n
}
