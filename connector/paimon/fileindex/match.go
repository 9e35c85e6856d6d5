package fileindex

import (
	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// Column is a column of the data file that a condition is about.
type Column struct {
	Name string       // as the data file has it
	Type catalog.Type // that the file was written with; values are compared in it
}

// index is one index of one column.
type index interface {
	// match returns the rows that may satisfy a comparison, IS NULL or IS NOT
	// NULL.
	match(p *connector.Predicate) (Rows, error)
}

// Match returns the rows that may satisfy p. column says which column of the
// file a column of p is; false where it is none, or where the values of p are
// not in the column's type. Memory is reserved from budget for as long as the
// call takes; if there is none to be had, all rows may.
func (f *File) Match(p *connector.Predicate, budget *memory.Budget, column func(c int) (Column, bool)) (Rows, error) {
	m := &matcher{f: f, budget: budget, column: column}
	defer m.release()
	return m.match(p)
}

type matcher struct {
	f      *File
	budget *memory.Budget
	held   int64
	column func(c int) (Column, bool)
	opened map[int][]index // by column of the predicate
}

func (m *matcher) release() {
	m.budget.Release(m.held)
	m.held = 0
}

func (m *matcher) match(p *connector.Predicate) (Rows, error) {
	switch p.Op {
	case connector.And:
		out := Rows{}
		for _, c := range p.Children {
			r, err := m.match(c)
			if err != nil {
				return Rows{}, err
			}
			if out = out.and(r); out.None() {
				break
			}
		}
		return out, nil
	case connector.Or:
		out := none(m.f.rows)
		for _, c := range p.Children {
			r, err := m.match(c)
			if err != nil {
				return Rows{}, err
			}
			if out = out.or(r); out.All() {
				break
			}
		}
		return out, nil
	}
	list, err := m.indexes(p.Column)
	if err != nil {
		return Rows{}, err
	}
	out := Rows{}
	for _, x := range list {
		r, err := x.match(p)
		if err != nil {
			return Rows{}, err
		}
		if out = out.and(r); out.None() {
			break
		}
	}
	return out, nil
}

// indexes opens the indexes of a column of the predicate.
func (m *matcher) indexes(c int) ([]index, error) {
	if list, ok := m.opened[c]; ok {
		return list, nil
	}
	if m.opened == nil {
		m.opened = map[int][]index{}
	}
	m.opened[c] = nil
	col, ok := m.column(c)
	if !ok {
		return nil, nil
	}
	for _, p := range m.f.columns[col.Name] {
		if p.start < 0 {
			continue // it says nothing
		}
		need := p.len
		switch p.kind {
		case BloomFilter:
		case Bitmap, BSI, RangeBitmap:
			if m.f.rows > maxRows {
				continue
			}
			need += m.f.rows // eight sets at once
		default:
			continue
		}
		if m.budget.Reserve(need) != nil {
			continue
		}
		m.held += need
		b, err := m.f.body(p)
		if err != nil {
			return nil, err
		}
		x, err := open(p.kind, b, col.Type, m.f.rows)
		if err != nil {
			return nil, errs.Corruptf("the %s index of column %q: %w", p.kind, col.Name, err)
		}
		if x != nil {
			m.opened[c] = append(m.opened[c], x)
		}
	}
	return m.opened[c], nil
}

// open returns nil for columns whose type the kind cannot index.
func open(kind string, b []byte, t catalog.Type, rows int64) (index, error) {
	switch kind {
	case BloomFilter:
		return openBloom(b, t, rows)
	case Bitmap:
		return openBitmap(b, t, rows)
	case BSI:
		return openBSI(b, t, rows)
	case RangeBitmap:
		return openRange(b, t, rows)
	}
	return nil, nil
}

// order is the rows of a file against a value.
type order struct{ less, equal, greater Rows }

// ordered answers comparisons of an index that knows the order of its values.
type ordered interface {
	notNull() (Rows, error)
	// compare compares all rows with value i of v, which is not loose.
	compare(v *vector.Vec, i int) (order, error)
}

// maxOperands bounds the values of an IN list that an ordered index answers for,
// each of which costs a pass over the index.
const maxOperands = 32

func matchOrdered(x ordered, p *connector.Predicate) (Rows, error) {
	switch p.Op {
	case connector.IsNull, connector.IsNotNull:
		r, err := x.notNull()
		if err == nil && p.Op == connector.IsNull {
			r = r.not()
		}
		return r, err
	case connector.Eq, connector.In, connector.Ne, connector.NotIn, connector.Lt, connector.Le, connector.Gt, connector.Ge:
	default:
		return Rows{}, nil
	}
	if p.Value.Len > maxOperands {
		return Rows{}, nil
	}
	equal := Rows{}
	for i := range p.Value.Len {
		if loose(p.Value, i) {
			return Rows{}, nil
		}
		o, err := x.compare(p.Value, i)
		if err != nil {
			return Rows{}, err
		}
		switch p.Op {
		case connector.Lt:
			return o.less, nil
		case connector.Le:
			return o.less.or(o.equal), nil
		case connector.Gt:
			return o.greater, nil
		case connector.Ge:
			return o.greater.or(o.equal), nil
		}
		if i == 0 {
			equal = o.equal
		} else {
			equal = equal.or(o.equal)
		}
	}
	if p.Value.Len == 0 {
		return Rows{}, nil
	}
	if p.Op == connector.Eq || p.Op == connector.In {
		return equal, nil
	}
	r, err := x.notNull()
	if err != nil {
		return Rows{}, err
	}
	return r.and(equal.not()), nil
}
