package parquet

import (
	"errors"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// nestedColumn assembles ARRAY, MAP, MULTISET and ROW columns from the levels of
// their leaves, row by row (the record assembly of the Dremel paper).
type nestedColumn struct {
	root   *assembly
	leaves []*nestedLeaf
	out    *vector.Vec
}

// assembly is a node of the wanted column.
type assembly struct {
	kind   vector.Kind
	leaf   *nestedLeaf   // of primitive values
	first  *nestedLeaf   // some leaf below, whose levels decide
	leaves []*nestedLeaf // all leaves below
	kids   []*assembly
	def    int // definition level at which the value is not NULL
	def1   int // List, Map: level at which there is an element
	rep    int // List, Map: repetition level of a further element
}

// nestedLeaf buffers the levels and values of some rows.
type nestedLeaf struct {
	leaf
	def, rep []uint8
	vals     *vector.Vec // the values that are not NULL
	pos      int         // in def and rep
	val      int         // in vals
}

func (pf *file) newNested(n *node, t catalog.Type) (column, error) {
	c := &nestedColumn{out: t.NewVec(0)}
	root, err := c.build(pf, n, t)
	if err != nil {
		return nil, err
	}
	c.root = root
	return c, nil
}

func (c *nestedColumn) build(pf *file, n *node, t catalog.Type) (*assembly, error) {
	a := &assembly{kind: t.Physical(), def: n.def}
	add := func(k *node, t catalog.Type) error {
		kid, err := c.build(pf, k, t)
		if err != nil {
			return err
		}
		a.kids = append(a.kids, kid)
		a.leaves = append(a.leaves, kid.leaves...)
		return nil
	}
	var err error
	if t.Kind == catalog.Variant {
		for _, k := range n.kids {
			if k.name != "value" && k.name != "metadata" {
				return nil, errs.Unsupportedf(-1, "reading shredded columns of type VARIANT (column %q of %s)", n.name, pf.path)
			}
		}
	}
	if t.Kind == catalog.Vector || t.Kind == catalog.Variant {
		t = t.Layout()
	}
	switch t.Kind {
	case catalog.Array:
		if n.logical != logList && n.repetition != repeated {
			return nil, mismatch(pf.path, n, t)
		}
		r, e := n, n
		if n.logical == logList {
			if r, e, err = n.elem(); err != nil {
				return nil, err
			}
		} else {
			a.def--
		}
		a.def1, a.rep = r.def, r.rep
		if e == n { // a repeated field of its own
			return nil, errs.Unsupportedf(-1, "Parquet column %q: a repeated field outside a LIST (%s)", n.name, pf.path)
		}
		err = add(e, *t.Elem)
	case catalog.Map, catalog.Multiset:
		if n.logical != logMap {
			return nil, mismatch(pf.path, n, t)
		}
		var r, k, v *node
		if r, k, v, err = n.entries(); err != nil {
			return nil, err
		}
		a.def1, a.rep = r.def, r.rep
		kt, vt := t.Key, t.Elem
		if t.Kind == catalog.Multiset {
			it := catalog.TInt
			kt, vt = t.Elem, &it
		}
		if err = add(k, *kt); err == nil {
			err = add(v, *vt)
		}
	case catalog.Row:
		if n.phys >= 0 || n.logical != 0 {
			return nil, mismatch(pf.path, n, t)
		}
		for _, f := range t.Fields {
			k := n.kid(f.Name)
			if k == nil {
				a.kids = append(a.kids, nil) // NULL
				continue
			}
			if err = add(k, f.Type); err != nil {
				break
			}
		}
	default:
		if !t.IsPrimitive() && t.Kind != catalog.Blob {
			return nil, errs.Unsupportedf(-1, "reading the type %s from Parquet (%s)", t, pf.path)
		}
		if !n.accepts(t) {
			return nil, mismatch(pf.path, n, t)
		}
		d, err := newDecoder(n, t, pf.charge)
		if err != nil {
			return nil, err
		}
		l := &nestedLeaf{leaf: leaf{pf: pf, node: n, dec: d}, vals: vector.New(t.Physical(), 0)}
		a.leaf = l
		a.leaves = []*nestedLeaf{l}
		c.leaves = append(c.leaves, l)
	}
	if err != nil {
		return nil, err
	}
	if len(a.leaves) == 0 {
		return nil, errs.Unsupportedf(-1, "reading ROW column %q, of whose fields the file has none (%s)", n.name, pf.path)
	}
	a.first = a.leaves[0]
	return a, nil
}

func (c *nestedColumn) start(g *rowGroup) error {
	for _, l := range c.leaves {
		if err := l.start(g); err != nil {
			return err
		}
		l.def, l.rep, l.pos, l.val = l.def[:0], l.rep[:0], 0, 0
		l.vals.Reset()
	}
	return nil
}

func (c *nestedColumn) next(n int) (*vector.Vec, error) {
	for _, l := range c.leaves {
		if err := l.fill(n); err != nil {
			return nil, err
		}
	}
	c.out.Reset()
	for range n {
		if err := c.root.append(c.out); err != nil {
			return nil, err
		}
	}
	for _, l := range c.leaves {
		if l.pos < len(l.def) && l.node.rep > 0 && l.rep[l.pos] != 0 {
			return nil, errors.New("the levels of a nested column do not agree")
		}
	}
	return c.out, nil
}

// fill buffers entries until n rows and the first entry of the one after are
// there, or the chunk has ended.
func (l *nestedLeaf) fill(n int) error {
	// Drop what was delivered once it is the larger part.
	if 2*l.pos >= len(l.def) {
		rest := vector.NewLike(l.vals, l.vals.Len-l.val)
		for i := l.val; i < l.vals.Len; i++ {
			rest.AppendFrom(l.vals, i)
		}
		l.vals, l.val = rest, 0
		l.def = append(l.def[:0], l.def[l.pos:]...)
		l.rep = append(l.rep[:0], l.rep[l.pos:]...)
		l.pos = 0
	}
	rows := 0
	count := func(from int) {
		if l.node.rep == 0 {
			rows = len(l.def) - l.pos
			return
		}
		for _, r := range l.rep[from:] {
			if r == 0 {
				rows++
			}
		}
	}
	count(l.pos)
	for rows <= n {
		if l.left == 0 {
			if l.pages.seen >= l.pages.c.values {
				break
			}
			if err := l.advance(); err != nil {
				return err
			}
		}
		k := min(l.left, vector.BatchRows)
		if l.node.rep == 0 {
			k = min(k, n-rows)
			if k == 0 {
				break
			}
		}
		from := len(l.def)
		def, rep := grow(&l.def, k), grow(&l.rep, k)
		clear(def)
		clear(rep)
		if l.node.def > 0 {
			if err := l.defs.levels(def); err != nil {
				return err
			}
		}
		if l.node.rep > 0 {
			if err := l.reps.levels(rep); err != nil {
				return err
			}
		}
		present := 0
		for i, d := range def {
			if int(d) > l.node.def || int(rep[i]) > l.node.rep {
				return errors.New("a level is out of range")
			}
			if int(d) == l.node.def {
				present++
			}
		}
		// A vector of its own, since views hold positions of its buffers.
		part := vector.NewLike(l.vals, present)
		l.dec.begin()
		if err := l.dec.read(part, present); err != nil {
			return err
		}
		part.Len = present
		l.vals.AppendRows(part, nil)
		l.left -= k
		count(from)
	}
	if rows < n {
		return errors.New("the column has fewer values than rows")
	}
	return nil
}

var errLevels = errors.New("the levels of a nested column do not agree")

// skip passes one entry in every leaf below: a NULL or an empty list.
func (a *assembly) skip() error {
	for _, l := range a.leaves {
		if l.pos >= len(l.def) {
			return errLevels
		}
		l.pos++
	}
	return nil
}

// append reads one value into out.
func (a *assembly) append(out *vector.Vec) error {
	f := a.first
	if f.pos >= len(f.def) {
		return errLevels
	}
	d := int(f.def[f.pos])
	switch {
	case a.leaf != nil:
		f.pos++
		if d < a.def {
			out.AppendNull()
			return nil
		}
		if f.val >= f.vals.Len {
			return errLevels
		}
		out.AppendFrom(f.vals, f.val)
		f.val++
		return nil
	case d < a.def:
		out.AppendNull()
		return a.skip()
	case a.kind == vector.Struct:
		for i, k := range a.kids {
			if k == nil {
				out.Child[i].AppendNull()
				continue
			}
			if err := k.append(out.Child[i]); err != nil {
				return err
			}
		}
		out.CloseStruct()
		return nil
	case d < a.def1:
		if err := a.skip(); err != nil {
			return err
		}
	default:
		for {
			for i, k := range a.kids {
				if err := k.append(out.Child[i]); err != nil {
					return err
				}
			}
			if f.pos >= len(f.rep) || int(f.rep[f.pos]) != a.rep {
				break
			}
		}
	}
	out.CloseList()
	return nil
}

// skip implements column.
func (c *nestedColumn) skip(n int) error {
	_, err := c.next(n)
	return err
}

// some implements column.
func (c *nestedColumn) some(n int, _ []uint16) (*vector.Vec, error) { return c.next(n) }
