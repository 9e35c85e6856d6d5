package parquet

import (
	"encoding/binary"
	"fmt"
	"math/big"

	"github.com/apache/arrow-go/v18/parquet"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// rootName is the name that Paimon gives the root of a file's schema.
const rootName = "paimon_schema"

// Ids of the nested nodes that have no field of their own, as Paimon derives
// them from the enclosing field's id and the depth below it.
const nestedIDBase = 536870911

// writeColumn turns vectors of one column into levels and values of its leaves.
type writeColumn struct {
	name  string
	root  *shredder
	stats columnStats
}

// shredder is a node of a written column.
type shredder struct {
	typ  catalog.Type
	kids []*shredder
	leaf *writeLeaf
	all  []*writeLeaf // leaves below
	def  int16        // level at which the value is not NULL
	rep  int16        // List, Map: repetition level of a further element
}

// writeLeaf gathers the levels and values of a leaf for one batch.
type writeLeaf struct {
	typ      catalog.Type
	out      pqfile.ColumnChunkWriter
	flat     bool // not nested: levels come from the validity
	def, rep []int16
	vals     *vector.Vec // values that are not NULL
	pending  int64       // bytes given to the library since its last page, at most
	scratch  leafScratch
}

type leafScratch struct {
	bools []bool
	i32   []int32
	i64   []int64
	i96   []parquet.Int96
	bytes []parquet.ByteArray
	fixed []parquet.FixedLenByteArray
	buf   []byte
	def   []int16
	sel   []uint16
}

// buildSchema makes the columns and the file's schema.
func (w *writer) buildSchema() (*schema.GroupNode, error) {
	var fields schema.FieldList
	for _, c := range w.opts.Columns {
		n, s, err := w.shape(c.Name, c.Type, c.ID, c.ID, 0, 0, 0)
		if err != nil {
			return nil, fmt.Errorf("write %s: column %q: %w", w.opts.Path, c.Name, err)
		}
		if s.leaf != nil {
			s.leaf.flat = true
		}
		fields = append(fields, n)
		w.cols = append(w.cols, &writeColumn{name: c.Name, root: s, stats: newColumnStats(c.Type)})
	}
	return schema.NewGroupNode(rootName, parquet.Repetitions.Required, fields, -1)
}

// shape makes the schema node and the shredder of a field. id is the node's,
// field the enclosing named field's, depth the nesting below that.
func (w *writer) shape(name string, t catalog.Type, id, field, depth int, def, rep int16) (schema.Node, *shredder, error) {
	r := parquet.Repetitions.Required
	if !t.NotNull {
		r = parquet.Repetitions.Optional
		def++
	}
	s := &shredder{typ: t, def: def}
	add := func(k *shredder) {
		s.kids = append(s.kids, k)
		s.all = append(s.all, k.all...)
	}
	group := func(name string, r parquet.Repetition, l schema.LogicalType, id int, kids ...schema.Node) (schema.Node, error) {
		if l == nil {
			return schema.NewGroupNode(name, r, kids, int32(id))
		}
		return schema.NewGroupNodeLogical(name, r, kids, l, int32(id))
	}
	switch t.Kind {
	case catalog.Row:
		var kids []schema.Node
		for _, f := range t.Fields {
			n, k, err := w.shape(f.Name, f.Type, f.ID, f.ID, 0, def, rep)
			if err != nil {
				return nil, nil, err
			}
			kids = append(kids, n)
			add(k)
		}
		if len(kids) == 0 {
			return nil, nil, errs.Unsupportedf(-1, "writing a ROW without fields to Parquet")
		}
		n, err := group(name, r, nil, id, kids...)
		return n, s, err
	case catalog.Array:
		s.rep = rep + 1
		n, k, err := w.shape("element", *t.Elem, nestedIDBase+1024*field+depth+1, field, depth+1, def+1, rep+1)
		if err != nil {
			return nil, nil, err
		}
		add(k)
		list, err := group("list", parquet.Repetitions.Repeated, nil, -1, n)
		if err != nil {
			return nil, nil, err
		}
		n, err = group(name, r, schema.NewListLogicalType(), id, list)
		return n, s, err
	case catalog.Map, catalog.Multiset:
		s.rep = rep + 1
		kt, vt := t.Key, t.Elem
		if t.Kind == catalog.Multiset {
			it := catalog.TInt.Required()
			kt, vt = t.Elem, &it
		}
		kn, ks, err := w.shape("key", kt.Required(), nestedIDBase-1024*field-depth-1, field, depth+1, def+1, rep+1)
		if err != nil {
			return nil, nil, err
		}
		vn, vs, err := w.shape("value", *vt, nestedIDBase+1024*field+depth+1, field, depth+1, def+1, rep+1)
		if err != nil {
			return nil, nil, err
		}
		add(ks)
		add(vs)
		kv, err := group("key_value", parquet.Repetitions.Repeated, nil, -1, kn, vn)
		if err != nil {
			return nil, nil, err
		}
		n, err := group(name, r, schema.MapLogicalType{}, id, kv)
		return n, s, err
	}
	phys, logical, length, err := leafType(t)
	if err != nil {
		return nil, nil, err
	}
	l := &writeLeaf{typ: t, vals: vector.New(t.Physical(), 0)}
	s.leaf, s.all = l, []*writeLeaf{l}
	w.leafs = append(w.leafs, l)
	n, err := schema.NewPrimitiveNodeLogical(name, r, logical, phys, length, int32(id))
	return n, s, err
}

// leafType returns the physical and logical type that Paimon gives an atomic
// type, and the length of fixed arrays.
func leafType(t catalog.Type) (parquet.Type, schema.LogicalType, int, error) {
	none := schema.LogicalType(schema.NoLogicalType{})
	switch t.Kind {
	case catalog.Char, catalog.Varchar:
		return parquet.Types.ByteArray, schema.StringLogicalType{}, -1, nil
	case catalog.Boolean:
		return parquet.Types.Boolean, none, -1, nil
	case catalog.Binary, catalog.Varbinary, catalog.Blob:
		return parquet.Types.ByteArray, none, -1, nil
	case catalog.Decimal:
		l := schema.NewDecimalLogicalType(int32(t.Length), int32(t.Scale))
		switch {
		case t.Length <= 9:
			return parquet.Types.Int32, l, -1, nil
		case t.Length <= 18:
			return parquet.Types.Int64, l, -1, nil
		}
		return parquet.Types.FixedLenByteArray, l, decimalBytesFor(t.Length), nil
	case catalog.TinyInt:
		return parquet.Types.Int32, schema.NewIntLogicalType(8, true), -1, nil
	case catalog.SmallInt:
		return parquet.Types.Int32, schema.NewIntLogicalType(16, true), -1, nil
	case catalog.Int:
		return parquet.Types.Int32, none, -1, nil
	case catalog.BigInt:
		return parquet.Types.Int64, none, -1, nil
	case catalog.Float:
		return parquet.Types.Float, none, -1, nil
	case catalog.Double:
		return parquet.Types.Double, none, -1, nil
	case catalog.Date:
		return parquet.Types.Int32, schema.DateLogicalType{}, -1, nil
	case catalog.Time:
		return parquet.Types.Int32, schema.NewTimeLogicalType(true, schema.TimeUnitMillis), -1, nil
	case catalog.Timestamp, catalog.TimestampLTZ:
		utc := t.Kind == catalog.TimestampLTZ
		switch {
		case t.Length <= 3:
			return parquet.Types.Int64, schema.NewTimestampLogicalType(utc, schema.TimeUnitMillis), -1, nil
		case t.Length <= 6:
			return parquet.Types.Int64, schema.NewTimestampLogicalType(utc, schema.TimeUnitMicros), -1, nil
		}
		return parquet.Types.Int96, none, -1, nil
	}
	return 0, nil, 0, errs.Unsupportedf(-1, "writing the type %s to Parquet", t)
}

// decimalBytesFor returns the least n with 2^(8n-1) >= 10^p.
func decimalBytesFor(p int) int {
	n := 1
	for new(big.Int).Lsh(big.NewInt(1), uint(8*n-1)).Cmp(vector.Pow10(p)) < 0 {
		n++
	}
	return n
}

// write adds the rows of v.
func (c *writeColumn) write(v *vector.Vec) error {
	s := c.root
	if v.Kind != s.typ.Physical() {
		return errs.Internalf("a vector of kind %s for the type %s", v.Kind, s.typ)
	}
	if s.typ.NotNull && v.HasNulls() {
		return errs.Userf(errs.NotNull, "NULL in a column that is NOT NULL")
	}
	c.stats.add(v)
	if s.leaf != nil {
		return s.leaf.writeFlat(v)
	}
	for _, l := range s.all {
		l.def, l.rep = l.def[:0], l.rep[:0]
		l.vals.Reset()
	}
	v = v.Flatten()
	for i := range v.Len {
		if err := s.shred(v, i, 0); err != nil {
			return err
		}
	}
	for _, l := range s.all {
		if err := l.flush(l.vals, l.def, l.rep); err != nil {
			return err
		}
	}
	return nil
}

// shred appends the value at i of the Flat vector v. rep is the repetition level
// of its first entry.
func (s *shredder) shred(v *vector.Vec, i int, rep int16) error {
	if v.IsNull(i) {
		if s.typ.NotNull {
			return errs.Userf(errs.NotNull, "NULL in a %s", s.typ)
		}
		s.empty(s.def-1, rep)
		return nil
	}
	if s.leaf != nil {
		s.leaf.def = append(s.leaf.def, s.def)
		s.leaf.rep = append(s.leaf.rep, rep)
		s.leaf.vals.AppendFrom(v, i)
		return nil
	}
	if v.Kind == vector.Struct {
		for k, kid := range s.kids {
			if err := kid.shred(v.Child[k], i, rep); err != nil {
				return err
			}
		}
		return nil
	}
	from, to := v.Offset[i], v.Offset[i+1]
	if from == to {
		s.empty(s.def, rep)
		return nil
	}
	for j := from; j < to; j++ {
		r := s.rep
		if j == from {
			r = rep
		}
		for k, kid := range s.kids {
			if err := kid.shred(v.Child[k], int(j), r); err != nil {
				return err
			}
		}
	}
	return nil
}

// empty appends an entry without a value to every leaf below.
func (s *shredder) empty(def, rep int16) {
	for _, l := range s.all {
		l.def = append(l.def, def)
		l.rep = append(l.rep, rep)
	}
}

// writeFlat writes a column that is not nested.
func (l *writeLeaf) writeFlat(v *vector.Vec) error {
	v = v.Flatten()
	if l.typ.NotNull {
		return l.flush(v, nil, nil)
	}
	l.scratch.def = l.scratch.def[:0]
	def := grow(&l.scratch.def, v.Len)
	if !v.HasNulls() {
		for i := range def {
			def[i] = 1
		}
		return l.flush(v, def, nil)
	}
	l.scratch.sel = l.scratch.sel[:0]
	for i := range def {
		def[i] = 0
		if !v.IsNull(i) {
			def[i] = 1
			l.scratch.sel = append(l.scratch.sel, uint16(i))
		}
	}
	w := v.Gather(l.scratch.sel)
	w.Valid = nil
	return l.flush(w, def, nil)
}

// flush gives levels and values, a Flat vector without NULLs, to the library.
func (l *writeLeaf) flush(v *vector.Vec, def, rep []int16) error {
	n := v.Len
	sc := &l.scratch
	l.pending = min(l.pending+v.Bytesize(), writePageBytes)
	var err error
	switch out := l.out.(type) {
	case *pqfile.BooleanColumnChunkWriter:
		sc.bools = sc.bools[:0]
		vals := grow(&sc.bools, n)
		for i := range vals {
			vals[i] = v.I8s[i] != 0
		}
		_, err = out.WriteBatch(vals, def, rep)
	case *pqfile.Int32ColumnChunkWriter:
		vals := v.I32s
		if v.Kind == vector.I64 { // DECIMAL
			sc.i32 = sc.i32[:0]
			vals = grow(&sc.i32, n)
			limit := pow10I64[l.typ.Length]
			for i, x := range v.I64s[:n] {
				if x >= limit || x <= -limit {
					return errs.Internalf("an unscaled value of %d for %s", x, l.typ)
				}
				vals[i] = int32(x)
			}
		}
		_, err = out.WriteBatch(vals[:n], def, rep)
	case *pqfile.Int64ColumnChunkWriter:
		vals := v.I64s
		if l.typ.Kind == catalog.Timestamp || l.typ.Kind == catalog.TimestampLTZ {
			if l.typ.Length <= 3 {
				sc.i64 = sc.i64[:0]
				vals = grow(&sc.i64, n)
				for i, x := range v.I64s[:n] {
					if x%1000 != 0 {
						return errs.Internalf("a timestamp of %d us for %s", x, l.typ)
					}
					vals[i] = x / 1000
				}
			}
		} else if l.typ.Kind == catalog.Decimal {
			limit := pow10I64[l.typ.Length]
			for _, x := range vals[:n] {
				if x >= limit || x <= -limit {
					return errs.Internalf("an unscaled value of %d for %s", x, l.typ)
				}
			}
		}
		_, err = out.WriteBatch(vals[:n], def, rep)
	case *pqfile.Float32ColumnChunkWriter:
		_, err = out.WriteBatch(v.F32s[:n], def, rep)
	case *pqfile.Float64ColumnChunkWriter:
		_, err = out.WriteBatch(v.F64s[:n], def, rep)
	case *pqfile.Int96ColumnChunkWriter:
		sc.i96 = sc.i96[:0]
		vals := grow(&sc.i96, n)
		for i, x := range v.I128s[:n] {
			if err := putInt96(&vals[i], x); err != nil {
				return err
			}
		}
		_, err = out.WriteBatch(vals, def, rep)
	case *pqfile.ByteArrayColumnChunkWriter:
		sc.bytes = sc.bytes[:0]
		vals := grow(&sc.bytes, n)
		for i := range vals {
			vals[i] = v.Bytes(i)
		}
		_, err = out.WriteBatch(vals, def, rep)
		clear(sc.bytes)
	case *pqfile.FixedLenByteArrayColumnChunkWriter:
		size := decimalBytesFor(l.typ.Length)
		sc.fixed, sc.buf = sc.fixed[:0], sc.buf[:0]
		vals, buf := grow(&sc.fixed, n), grow(&sc.buf, 16*n)
		limit, _ := vector.Int128FromBig(vector.Pow10(l.typ.Length))
		for i, x := range v.I128s[:n] {
			if x.Cmp(limit) >= 0 || x.Cmp(limit.Neg()) <= 0 {
				return errs.Internalf("an unscaled value of %s for %s", x.Big(), l.typ)
			}
			b := buf[16*i : 16*i+16]
			binary.BigEndian.PutUint64(b, uint64(x.Hi))
			binary.BigEndian.PutUint64(b[8:], x.Lo)
			vals[i] = b[16-size:]
		}
		_, err = out.WriteBatch(vals, def, rep)
	default:
		return errs.Internalf("a column writer of type %T", l.out)
	}
	return err
}

// putInt96 writes nanoseconds since the epoch as a day and the nanoseconds in it.
func putInt96(dst *parquet.Int96, x vector.Int128) error {
	const day = 86400e9
	var days, nanos int64
	if x.IsInt64() {
		days, nanos = x.Int64()/day, x.Int64()%day
		if nanos < 0 {
			days, nanos = days-1, nanos+day
		}
	} else {
		d, n := new(big.Int).DivMod(x.Big(), big.NewInt(day), new(big.Int))
		if !d.IsInt64() {
			return errs.Internalf("a timestamp of %s ns is out of range", x.Big())
		}
		days, nanos = d.Int64(), n.Int64()
	}
	if days > 1<<31-1-julianEpoch || days < -(1<<31)-julianEpoch {
		return errs.Internalf("a timestamp of %s ns is out of range", x.Big())
	}
	binary.LittleEndian.PutUint64(dst[:8], uint64(nanos))
	binary.LittleEndian.PutUint32(dst[8:], uint32(int32(days+julianEpoch)))
	return nil
}

var pow10I64 = func() (p [19]int64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = 10 * p[i-1]
	}
	return p
}()
