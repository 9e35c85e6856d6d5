package parquet

import (
	"errors"
	"fmt"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/format"
)

// Page indexes (PageIndex.md of the format's specification) say of every page
// of a chunk where it lies, with which row it begins, and the bounds of its
// values. A filter becomes ranges of rows by them, and columns move from range to
// range without reading the pages between. They are used where all wanted columns
// are flat: there an entry is a row.

// span is a range of the file.
type span struct{ offset, length int64 }

// pageLayout is what the file says of the pages of one chunk.
type pageLayout struct {
	first []int64 // row of the group with which each page begins, and the group's rows
	at    []int64 // of each page in the file
	end   int64   // of the last page

	// With bounds:
	stats []chunkStats
	empty []bool // only NULLs
}

// maxPageIndex bounds an index's bytes.
const maxPageIndex = 16 << 20

// indexedRows is from how many rows on a row group's page indexes are read; a
// variable for tests.
var indexedRows int64 = 1 << 13

// readSpan reads a range of the file.
func (pf *file) readSpan(s span) ([]byte, error) {
	if s.offset < 4 || s.length <= 0 || s.length > maxPageIndex || s.offset > pf.f.Size()-s.length {
		return nil, errors.New("a page index lies outside the file")
	}
	// Parsed, it takes a small multiple of its bytes.
	if err := pf.charge(6 * s.length); err != nil {
		return nil, err
	}
	b := make([]byte, s.length)
	if err := readFull(pf.f, b, s.offset); err != nil {
		return nil, format.ReadError(pf.path, err)
	}
	return b, nil
}

// offsets reads where the pages of a chunk lie, nil when the file does not say.
func (pf *file) offsets(g *rowGroup, c *chunk) (*pageLayout, error) {
	if c.offsetIndex.length == 0 {
		return nil, nil
	}
	b, err := pf.readSpan(c.offsetIndex)
	if err != nil {
		return nil, err
	}
	x := &pageLayout{}
	r := &thriftReader{b: b}
	err = r.fields(func(id int16, typ byte) error {
		if id != 1 || typ != tList {
			return r.skip(typ, 1)
		}
		return r.list(func() error {
			var at, size, first int64 = -1, -1, -1
			err := r.fields(func(id int16, typ byte) (err error) {
				switch {
				case id == 1 && typ == tI64:
					at, err = r.int()
				case id == 2 && typ == tI32:
					var n int32
					n, err = r.int32()
					size = int64(n)
				case id == 3 && typ == tI64:
					first, err = r.int()
				default:
					err = r.skip(typ, 1)
				}
				return err
			})
			if err != nil {
				return err
			}
			if at < c.start || size <= 0 || at+size > c.start+c.compressed || len(x.at) > 0 && (at < x.end || first <= x.first[len(x.first)-1]) ||
				len(x.at) == 0 && first != 0 || first >= g.rows {
				return fmt.Errorf("a page of %d bytes at %d with row %d cannot be", size, at, first)
			}
			x.at, x.first, x.end = append(x.at, at), append(x.first, first), at+size
			return nil
		})
	})
	if err == nil && len(x.at) == 0 {
		err = errors.New("it has no pages")
	}
	if err != nil {
		return nil, fmt.Errorf("page index: %w", err)
	}
	x.first = append(x.first, g.rows)
	return x, nil
}

// bounded adds the bounds of the pages; it reports false when there are none.
func (pf *file) bounded(x *pageLayout, c *chunk) (bool, error) {
	if c.columnIndex.length == 0 {
		return false, nil
	}
	b, err := pf.readSpan(c.columnIndex)
	if err != nil {
		return false, err
	}
	var mins, maxs [][]byte
	var nulls []int64
	r := &thriftReader{b: b}
	values := func(dst *[][]byte) error {
		return r.listOf(func(typ byte) bool { return typ == tBinary }, func() error {
			v, err := r.bytes()
			*dst = append(*dst, v)
			return err
		})
	}
	err = r.fields(func(id int16, typ byte) error {
		switch {
		case id == 1 && typ == tList:
			return r.listOf(func(typ byte) bool { return typ == tTrue || typ == tFalse }, func() error {
				v, err := r.byte()
				x.empty = append(x.empty, v == 1)
				return err
			})
		case id == 2 && typ == tList:
			return values(&mins)
		case id == 3 && typ == tList:
			return values(&maxs)
		case id == 5 && typ == tList:
			return r.listOf(func(typ byte) bool { return typ == tI64 }, func() error {
				v, err := r.int()
				nulls = append(nulls, v)
				return err
			})
		}
		return r.skip(typ, 1)
	})
	n := len(x.at)
	if err == nil && (len(x.empty) != n || len(mins) != n || len(maxs) != n || nulls != nil && len(nulls) != n) {
		err = fmt.Errorf("bounds of %d pages of %d", len(mins), n)
	}
	if err != nil {
		return false, fmt.Errorf("page index: %w", err)
	}
	x.stats = make([]chunkStats, n)
	for i := range x.stats {
		x.stats[i] = chunkStats{min: mins[i], max: maxs[i], hasMin: !x.empty[i], hasMax: !x.empty[i], nulls: -1}
		if nulls != nil {
			x.stats[i].nulls = nulls[i]
		}
	}
	return true, nil
}

// rowRange is the rows from <= row < to of a row group.
type rowRange struct{ from, to int64 }

func intersect(a, b []rowRange) (out []rowRange) {
	for len(a) > 0 && len(b) > 0 {
		if from, to := max(a[0].from, b[0].from), min(a[0].to, b[0].to); from < to {
			out = append(out, rowRange{from, to})
		}
		if a[0].to < b[0].to {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}

func union(a, b []rowRange) (out []rowRange) {
	for len(a) > 0 || len(b) > 0 {
		next := &a
		if len(a) == 0 || len(b) > 0 && b[0].from < a[0].from {
			next = &b
		}
		out = appendRange(out, (*next)[0])
		*next = (*next)[1:]
	}
	return out
}

// appendRange adds a range that does not begin before the last one.
func appendRange(list []rowRange, r rowRange) []rowRange {
	if n := len(list); n > 0 && r.from <= list[n-1].to {
		list[n-1].to = max(list[n-1].to, r.to)
		return list
	}
	return append(list, r)
}

// selector finds the rows of a group by page indexes.
type selector struct {
	pf    *file
	g     *rowGroup
	cols  []format.Column
	nodes []*node
	pages map[int]*pageLayout // by column of the filter; nil: no bounds
}

func (s *selector) whole() []rowRange { return []rowRange{{0, s.g.rows}} }

// rows returns the ranges with rows that may satisfy p.
func (s *selector) rows(p *connector.Predicate) ([]rowRange, error) {
	switch p.Op {
	case connector.And:
		out := s.whole()
		for _, c := range p.Children {
			r, err := s.rows(c)
			if err != nil {
				return nil, err
			}
			out = intersect(out, r)
		}
		return out, nil
	case connector.Or:
		var out []rowRange
		for _, c := range p.Children {
			r, err := s.rows(c)
			if err != nil {
				return nil, err
			}
			out = union(out, r)
		}
		return out, nil
	}
	x, err := s.index(p.Column)
	if err != nil || x == nil {
		return s.whole(), err
	}
	n, t := s.nodes[p.Column], s.cols[p.Column].Type
	var out []rowRange
	for i := range x.at {
		rows := x.first[i+1] - x.first[i]
		if p.MayMatch(func(int) connector.Bounds {
			if x.empty[i] {
				return connector.Bounds{Nulls: rows, Rows: rows}
			}
			return s.pf.statBounds(&x.stats[i], rows, n, t)
		}) {
			out = appendRange(out, rowRange{x.first[i], x.first[i+1]})
		}
	}
	return out, nil
}

// index returns the page index of a column of the filter, nil without one.
func (s *selector) index(c int) (*pageLayout, error) {
	if x, ok := s.pages[c]; ok {
		return x, nil
	}
	s.pages[c] = nil
	n := s.nodes[c]
	if n == nil || n.phys < 0 || n.repetition == repeated || !n.accepts(s.cols[c].Type) {
		return nil, nil
	}
	chunk := &s.g.chunks[n.leaf]
	if chunk.columnIndex.length == 0 {
		return nil, nil
	}
	x, err := s.pf.offsets(s.g, chunk)
	if err != nil || x == nil {
		return nil, err
	}
	ok, err := s.pf.bounded(x, chunk)
	if err != nil || !ok {
		return nil, err
	}
	s.pages[c] = x
	return x, nil
}

// selectRows sets the ranges of the current group, which begins at row base of
// the file, that the reader reads; nil for all of it.
func (r *reader) selectRows(g *rowGroup, base int64) error {
	r.ranges = nil
	if g.rows < indexedRows || !r.flat || r.filter == nil && r.wanted == nil {
		return nil
	}
	held := r.pf.held
	defer func() {
		r.pf.budget.Release(r.pf.held - held)
		r.pf.held = held
	}()
	list := []rowRange{{0, g.rows}}
	if r.filter != nil {
		s := &selector{pf: r.pf, g: g, cols: r.filterCols, nodes: r.filterNodes, pages: map[int]*pageLayout{}}
		var err error
		if list, err = s.rows(r.filter); err != nil {
			return err
		}
	}
	if r.wanted != nil {
		const step = 1 << 10
		var kept []rowRange
		for _, x := range list {
			for from := x.from; from < x.to; from += step {
				if to := min(from+step, x.to); r.wanted(base+from, base+to) {
					kept = appendRange(kept, rowRange{from, to})
				}
			}
		}
		list = kept
	}
	rows := int64(0)
	for _, x := range list {
		rows += x.to - x.from
	}
	if rows > g.rows/8*7 {
		return nil // nearly all
	}
	ok, err := r.movable(g)
	if err != nil || !ok {
		return err
	}
	r.ranges = list
	if list == nil {
		r.ranges = []rowRange{}
	}
	return nil
}

// movable reads where the pages of all columns lie; it reports false when the file
// does not say it of one.
func (r *reader) movable(g *rowGroup) (bool, error) {
	for _, c := range r.cols {
		if f, ok := c.(*flatColumn); ok && f.index == nil {
			x, err := r.pf.offsets(g, &g.chunks[f.node.leaf])
			if err != nil || x == nil {
				return false, err
			}
			f.index = x
		}
	}
	return true, nil
}

// seek moves the column to a row of its group, which is not before the next one,
// to read up to a later one. The column has its page index.
func (c *flatColumn) seek(row, to int64) error {
	x := c.index
	page := 0
	for page+1 < len(x.at) && x.first[page+1] <= row {
		page++
	}
	at := x.first[page] // the row that the column is at
	if c.row < x.first[page] || c.row == 0 && !c.opened {
		if !c.opened && x.at[0] > c.pages.c.start {
			// The dictionary comes first.
			pg, ok, err := c.pages.header()
			if err != nil {
				return err
			}
			if !ok || pg.kind != pageDict {
				return errors.New("the page index leaves out a page")
			}
			c.dictAt, c.hasDict = pg, true
		}
		last := page
		for last+1 < len(x.at) && x.first[last+1] < to {
			last++
		}
		end := x.end
		if last+1 < len(x.at) {
			end = x.at[last+1]
		}
		c.pages.off = x.at[page]
		c.pages.ahead = min(readAhead, end-x.at[page])
		c.left = 0
		if err := c.turn(); err != nil {
			return err
		}
		if int64(c.left) != x.first[page+1]-x.first[page] {
			return fmt.Errorf("a page of %d rows where the page index has %d", c.left, x.first[page+1]-x.first[page])
		}
	} else {
		at = c.row
	}
	c.opened = true
	if err := c.skip(int(row - at)); err != nil {
		return err
	}
	c.row = row
	return nil
}
