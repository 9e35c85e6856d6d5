package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// column delivers the values of one wanted column, row group by row group.
type column interface {
	// start moves to a row group.
	start(g *rowGroup) error
	// next returns the next n rows, which the row group has. The vector is valid
	// until the next call.
	next(n int) (*vector.Vec, error)
	// skip moves past the next n rows.
	skip(n int) error
	// some is next for a caller who looks at the rows of an ascending selection
	// only: the others' values are unspecified.
	some(n int, sel []uint16) (*vector.Vec, error)
}

// newColumn returns the reader of a wanted column; n is nil when the file lacks
// it.
func (pf *file) newColumn(n *node, name string, t catalog.Type) (column, error) {
	if n == nil {
		return newNullColumn(t), nil
	}
	if t.IsPrimitive() || t.Kind == catalog.Blob {
		if n.phys < 0 || n.repetition == repeated || !n.accepts(t) {
			return nil, mismatch(pf.path, n, t)
		}
		d, err := newDecoder(n, t, pf.charge)
		if err != nil {
			return nil, err
		}
		return &flatColumn{leaf: leaf{pf: pf, node: n, dec: d}, out: vector.New(t.Physical(), 0)}, nil
	}
	return pf.newNested(n, t)
}

func mismatch(path string, n *node, t catalog.Type) error {
	return errs.Corruptf("read %s: column %q is %s in the file, not %s", path, n.name, n, t.Nullable())
}

// nullColumn stands for a column that the file lacks.
type nullColumn struct{ v *vector.Vec }

func newNullColumn(t catalog.Type) nullColumn {
	v := t.NewVec(1)
	v.AppendNull()
	return nullColumn{v.AsConst(1)}
}

func (c nullColumn) start(*rowGroup) error { return nil }

func (c nullColumn) next(n int) (*vector.Vec, error) {
	c.v.Len = n
	return c.v, nil
}

func (c nullColumn) skip(int) error { return nil }

func (c nullColumn) some(n int, _ []uint16) (*vector.Vec, error) { return c.next(n) }

// leaf is the cursor over the pages of one leaf's chunk.
type leaf struct {
	pf    *file
	node  *node
	dec   decoder
	pages pageReader
	defs  hybrid
	reps  hybrid
	left  int // entries left in the page

	// A page is loaded when its first value is needed, and the dictionary with the
	// first page that is.
	lazy    bool // the page at hand is not loaded
	pending page // that page
	skipped int  // its entries that were skipped
	dictAt  page // the dictionary, when hasDict and it is not loaded
	hasDict bool
}

func (l *leaf) start(g *rowGroup) error {
	c := &g.chunks[l.node.leaf]
	if c.phys != l.node.phys {
		return fmt.Errorf("column %q has chunks of another type", l.node.name)
	}
	l.pages.fresh = l.dec.views()
	l.pages.reset(l.pf, c)
	l.dec.reset()
	l.left, l.lazy, l.hasDict = 0, false, false
	return nil
}

// advance makes the next data page current and loads it; it has at least one
// entry.
func (l *leaf) advance() error {
	if err := l.turn(); err != nil {
		return err
	}
	return l.open()
}

// turn makes the next data page current, without loading it.
func (l *leaf) turn() error {
	for {
		pg, ok, err := l.pages.header()
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("the column has fewer values than rows")
		}
		if pg.kind == pageDict {
			l.dictAt, l.hasDict = pg, true
			continue
		}
		if pg.values == 0 {
			continue
		}
		l.pending, l.lazy, l.skipped = pg, true, 0
		l.left = int(pg.values)
		return nil
	}
}

// open loads the current page, when that was not done.
func (l *leaf) open() error {
	if !l.lazy {
		return nil
	}
	l.lazy = false
	if l.hasDict {
		l.hasDict = false
		if err := l.pages.load(&l.dictAt); err != nil {
			return err
		}
		if err := l.dictionary(&l.dictAt); err != nil {
			return err
		}
	}
	pg := &l.pending
	if err := l.pages.load(pg); err != nil {
		return err
	}
	data, err := l.startLevels(pg)
	if err != nil {
		return err
	}
	return l.dec.page(pg.encoding, data, int(pg.values))
}

// dictionary takes the chunk's dictionary.
func (l *leaf) dictionary(pg *page) error {
	if pg.encoding != encPlain && pg.encoding != encPlainDict {
		return badEncoding(pg.encoding)
	}
	// The decoded dictionary takes at most four times its bytes.
	if err := l.pf.charge(4 * int64(len(pg.data))); err != nil {
		return err
	}
	return l.dec.dict(pg.data, int(pg.values))
}

// startLevels sets up the level decoders and returns the bytes of the values.
func (l *leaf) startLevels(pg *page) ([]byte, error) {
	rw, dw := levelWidth(l.node.rep), levelWidth(l.node.def)
	if pg.kind == pageDataV2 {
		if l.node.rep > 0 {
			if err := l.reps.reset(pg.levels[:pg.repBytes], rw); err != nil {
				return nil, err
			}
		}
		if l.node.def > 0 {
			if err := l.defs.reset(pg.levels[pg.repBytes:], dw); err != nil {
				return nil, err
			}
		}
		return pg.data, nil
	}
	data := pg.data
	for _, lv := range []struct {
		max   int
		enc   int32
		width uint
		h     *hybrid
	}{{l.node.rep, pg.repEncoding, rw, &l.reps}, {l.node.def, pg.defEncoding, dw, &l.defs}} {
		if lv.max == 0 {
			continue
		}
		if lv.enc != encRLE {
			return nil, errs.Unsupportedf(-1, "the Parquet level encoding %d (%s)", lv.enc, l.pf.path)
		}
		if len(data) < 4 {
			return nil, errValuesShort
		}
		n := int(binary.LittleEndian.Uint32(data))
		if n > len(data)-4 {
			return nil, errValuesShort
		}
		if err := lv.h.reset(data[4:4+n], lv.width); err != nil {
			return nil, err
		}
		data = data[4+n:]
	}
	return data, nil
}

// levelWidth returns the bits that hold levels up to most.
func levelWidth(most int) uint {
	w := uint(0)
	for ; most > 0; most >>= 1 {
		w++
	}
	return w
}

// flatColumn reads a top-level column that is not nested.
type flatColumn struct {
	leaf
	out *vector.Vec
	// of seek:
	index  *pageLayout
	row    int64 // the next row of the group
	opened bool  // a page of the group has been read
	levels []uint64
}

func (c *flatColumn) start(g *rowGroup) error {
	c.index, c.row, c.opened = nil, 0, false
	return c.leaf.start(g)
}

func (c *flatColumn) next(n int) (*vector.Vec, error) { return c.some(n, nil) }

// skip implements column.
func (c *flatColumn) skip(n int) error {
	for n > 0 {
		if c.left == 0 {
			if err := c.turn(); err != nil {
				return err
			}
		}
		k := min(n, c.left)
		if c.lazy {
			c.skipped += k
		} else if err := c.skipPage(k); err != nil {
			return err
		}
		c.left -= k
		n -= k
	}
	return nil
}

// skipPage moves past k rows of the current page, which is loaded.
func (c *flatColumn) skipPage(k int) error {
	present := k
	if c.node.def > 0 && !c.defs.allOnes(k) {
		c.levels = slices.Grow(c.levels[:0], (k+63)/64)[:(k+63)/64]
		clear(c.levels)
		var err error
		if present, err = c.defs.bits(c.levels, 0, k); err != nil {
			return err
		}
	}
	return c.dec.skip(present)
}

// ready loads the current page and moves to its first row that was not skipped.
func (c *flatColumn) ready() error {
	if !c.lazy {
		return nil
	}
	if err := c.open(); err != nil {
		return err
	}
	k := c.skipped
	c.skipped = 0
	if k == 0 {
		return nil
	}
	return c.skipPage(k)
}

// some implements column; a nil selection is all rows.
func (c *flatColumn) some(n int, sel []uint16) (*vector.Vec, error) {
	out := c.out
	out.Reset()
	c.dec.begin()
	strs, _ := c.dec.(*stringDecoder)
	few := sel != nil && len(sel) <= n/sparse
	for n > 0 {
		if c.left == 0 {
			if err := c.turn(); err != nil {
				return nil, err
			}
		}
		k := min(n, c.left)
		if sel != nil {
			for len(sel) > 0 && int(sel[0]) < out.Len {
				sel = sel[1:]
			}
			if len(sel) == 0 || int(sel[0]) >= out.Len+k {
				// Nobody looks at these rows.
				if err := c.skip(k); err != nil {
					return nil, err
				}
				c.blank(k)
				n -= k
				continue
			}
		}
		if err := c.ready(); err != nil {
			return nil, err
		}
		if strs != nil {
			if out.Len == 0 && strs.dictCodes() {
				out.Form, out.Dict = vector.Dict, strs.words
			} else if out.Form == vector.Dict && !strs.dictCodes() {
				undict(out)
				strs.begin()
			}
		}
		if few {
			lead := int(sel[0]) - out.Len
			if lead >= sparse {
				if err := c.skipPage(lead); err != nil {
					return nil, err
				}
				c.blank(lead)
				c.left -= lead
				n -= lead
				k -= lead
			}
			k = min(k, stretch(sel)-out.Len)
		}
		if err := c.readPage(strs, k); err != nil {
			return nil, err
		}
		c.left -= k
		n -= k
	}
	return out, nil
}

// sparse is how many rows in a row that nobody looks at are worth being skipped
// within a page.
const sparse = 32

// stretch returns the row behind the first of a selection's stretches, between which
// so many rows lie.
func stretch(sel []uint16) int {
	i := 1
	for i < len(sel) && sel[i]-sel[i-1] <= sparse {
		i++
	}
	return int(sel[i-1]) + 1
}

// blank appends k rows that nobody looks at.
func (c *flatColumn) blank(k int) {
	out := c.out
	if out.Valid != nil {
		c.growValid(out.Len + k)
		setBits(out.Valid, out.Len, k)
	}
	switch {
	case out.Form == vector.Dict:
		clear(grow(&out.Codes, k))
	case out.Kind == vector.I8:
		clear(grow(&out.I8s, k))
	case out.Kind == vector.I32:
		clear(grow(&out.I32s, k))
	case out.Kind == vector.I64:
		clear(grow(&out.I64s, k))
	case out.Kind == vector.I128:
		clear(grow(&out.I128s, k))
	case out.Kind == vector.F32:
		clear(grow(&out.F32s, k))
	case out.Kind == vector.F64:
		clear(grow(&out.F64s, k))
	case out.Kind == vector.Str:
		clear(grow(&out.Views, k))
	}
	out.Len += k
}

// undict turns a vector of Dict form into a Flat one that shares the
// dictionary's bytes.
func undict(v *vector.Vec) {
	codes, words := v.Codes, v.Dict
	v.Form, v.Dict = vector.Flat, nil
	v.Views = v.Views[:0]
	appendWords(v, codes, words, addBufs(v, words))
	v.Codes = codes[:0]
}

// readPage appends k rows of the current page to out.
func (c *flatColumn) readPage(strs *stringDecoder, k int) error {
	out := c.out
	base := out.Len
	present := k
	if c.node.def > 0 && !c.defs.allOnes(k) {
		if out.Valid == nil {
			out.Valid = vector.AllValid(base)
			if r := base & 63; r != 0 {
				out.Valid[base>>6] &= 1<<r - 1
			}
		}
		c.growValid(base + k)
		var err error
		if present, err = c.defs.bits(out.Valid, base, k); err != nil {
			return err
		}
	} else if out.Valid != nil {
		c.growValid(base + k)
		setBits(out.Valid, base, k)
	}
	var err error
	if out.Form == vector.Dict {
		err = strs.readCodes(out, present)
	} else {
		err = c.dec.read(out, present)
	}
	if err != nil {
		return err
	}
	out.Len = base + k
	if present < k {
		spread(out, base, present, k)
	}
	return nil
}

func (c *flatColumn) growValid(n int) {
	for len(c.out.Valid) < (n+63)/64 {
		c.out.Valid = append(c.out.Valid, 0)
	}
}

// spread moves the present values at base to their rows among k, and puts zeros
// under the NULLs.
func spread(v *vector.Vec, base, present, k int) {
	if v.Form == vector.Dict {
		spreadSlice(&v.Codes, v.Valid, base, present, k)
		return
	}
	switch v.Kind {
	case vector.I8:
		spreadSlice(&v.I8s, v.Valid, base, present, k)
	case vector.I32:
		spreadSlice(&v.I32s, v.Valid, base, present, k)
	case vector.I64:
		spreadSlice(&v.I64s, v.Valid, base, present, k)
	case vector.I128:
		spreadSlice(&v.I128s, v.Valid, base, present, k)
	case vector.F32:
		spreadSlice(&v.F32s, v.Valid, base, present, k)
	case vector.F64:
		spreadSlice(&v.F64s, v.Valid, base, present, k)
	case vector.Str:
		spreadSlice(&v.Views, v.Valid, base, present, k)
	}
}

func spreadSlice[T any](s *[]T, valid []uint64, base, present, k int) {
	grow(s, k-present)
	v := *s
	var zero T
	from := base + present - 1
	for to := base + k - 1; to >= base; to-- {
		if valid[to>>6]&(1<<(to&63)) != 0 {
			v[to] = v[from]
			from--
		} else {
			v[to] = zero
		}
	}
}
