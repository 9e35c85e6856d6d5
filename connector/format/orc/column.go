package orc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// column reads the values of one column of the file, stripe by stripe, into its
// vector.
type column struct {
	r    *reader
	node *node
	typ  catalog.Type
	vec  *vector.Vec
	kids []*column // List: elements; Map: keys, values; Struct: one a child, nil when the file lacks it
	top  bool      // a column of the batch, which may have Dict form

	hasPresent bool
	present    bitReader
	bools      bitReader
	bytes      byteRLE
	ints       intRLE // values, codes of a dictionary, seconds
	second     intRLE // lengths, scales, nanoseconds
	streams    [streamSecondary + 1]stream
	nums       []int64 // values before they are narrowed
	nums2      []int64
	dict       *vector.Vec // strings: the stripe's dictionary, nil without one
	dictPaid   int64       // charged for it
	clock      clock       // timestamps
}

// newColumn makes the reader of n as type t.
func (r *reader) newColumn(name string, n *node, t catalog.Type) (*column, error) {
	c := &column{r: r, node: n, typ: t, vec: t.NewVec(0)}
	add := func(name string, n *node, t catalog.Type, at int) error {
		k, err := r.newColumn(name, n, t)
		if err != nil {
			return err
		}
		c.kids = append(c.kids, k)
		c.vec.Child[at] = k.vec
		return nil
	}
	mismatch := func() error {
		return errs.Corruptf("read %s: column %q is %s in the file, not %s", r.of.path, name, n, t.Nullable())
	}
	if t.Kind == catalog.Vector || t.Kind == catalog.Variant {
		t = t.Layout()
	}
	switch t.Kind {
	case catalog.Array:
		if n.kind != kindList {
			return nil, mismatch()
		}
		return c, add(name, n.kids[0], *t.Elem, 0)
	case catalog.Map, catalog.Multiset:
		if n.kind != kindMap {
			return nil, mismatch()
		}
		kt, vt := t.Key, t.Elem
		if t.Kind == catalog.Multiset {
			count := catalog.TInt
			kt, vt = t.Elem, &count
		}
		if err := add(name, n.kids[0], *kt, 0); err != nil {
			return nil, err
		}
		return c, add(name, n.kids[1], *vt, 1)
	case catalog.Row:
		if n.kind != kindStruct {
			return nil, mismatch()
		}
		for i, f := range t.Fields {
			k, err := n.kid(f.Name)
			if err != nil {
				return nil, err
			}
			if k == nil {
				c.kids = append(c.kids, nil)
				continue
			}
			if err := add(name+"."+f.Name, k, f.Type, i); err != nil {
				return nil, err
			}
		}
		return c, nil
	}
	if !t.IsPrimitive() && t.Kind != catalog.Blob {
		return nil, errs.Unsupportedf(-1, "reading the type %s from ORC (column %q of %s)", t, name, r.of.path)
	}
	if !n.accepts(t) {
		return nil, mismatch()
	}
	return c, nil
}

// start moves to a stripe.
func (c *column) start(st *openStripe) error {
	enc := st.footer.encodings[c.node.column].kind
	v2 := enc == encDirectV2 || enc == encDictionaryV2
	if enc > encDictionaryV2 {
		return fmt.Errorf("column %d has the unknown encoding %d", c.node.column, enc)
	}
	for k := range c.streams {
		at, ok := st.footer.streams[streamKey{c.node.column, streamKind(k)}]
		c.streams[k].reset(c.r.of, at, st.loaded, st.loadedOff)
		if streamKind(k) == streamPresent {
			c.hasPresent = ok
		}
	}
	c.present.reset(&c.streams[streamPresent])
	data := &c.streams[streamData]
	switch c.node.kind {
	case kindBoolean:
		c.bools.reset(data)
	case kindByte:
		c.bytes.reset(data)
	case kindShort, kindInt, kindLong, kindDate:
		c.ints.reset(data, true, v2)
	case kindTimestamp, kindInstant:
		c.ints.reset(data, true, v2)
		c.second.reset(&c.streams[streamSecondary], false, v2)
		var err error
		if c.clock, err = newClock(c.r.of, c.node, c.typ, st.footer.zone); err != nil {
			return err
		}
	case kindDecimal:
		c.second.reset(&c.streams[streamSecondary], true, v2)
	case kindString, kindVarchar, kindChar, kindBinary:
		c.r.of.refund(c.dictPaid)
		c.dict, c.dictPaid = nil, 0
		c.second.reset(&c.streams[streamLength], false, v2)
		if enc == encDictionary || enc == encDictionaryV2 {
			c.ints.reset(data, false, v2)
			if err := c.readDictionary(st.footer.encodings[c.node.column].dict); err != nil {
				return err
			}
		}
	case kindList, kindMap:
		c.second.reset(&c.streams[streamLength], false, v2)
	}
	for _, k := range c.kids {
		if k != nil {
			if err := k.start(st); err != nil {
				return err
			}
		}
	}
	return nil
}

// read fills the vector with the next n rows. parent, when not nil, has a bit
// for each of them; those whose bit is not set are NULL and not in the streams.
func (c *column) read(n int, parent []uint64) error {
	v := c.vec
	v.Form, v.Len, v.Bufs, v.Dict = vector.Flat, n, nil, nil
	if err := c.r.spend(int64(n) * widthOf[v.Kind]); err != nil {
		return err
	}
	m, err := c.readPresent(n, parent)
	if err != nil {
		return fmt.Errorf("column %d: %w", c.node.column, err)
	}
	if err := c.readValues(n, m); err != nil {
		return fmt.Errorf("column %d: %w", c.node.column, err)
	}
	if m < n {
		spread(v, m, n)
	}
	return nil
}

// widthOf are the bytes of a value, with its bit of validity rounded up.
var widthOf = map[vector.Kind]int64{
	vector.I8: 2, vector.I32: 13, vector.I64: 25, vector.I128: 33, vector.F32: 5, vector.F64: 9, vector.Str: 25, vector.List: 13, vector.Map: 13, vector.Struct: 1,
}

// readPresent sets the vector's validity and returns how many rows have values.
func (c *column) readPresent(n int, parent []uint64) (int, error) {
	v := c.vec
	v.Valid = nil
	m := n
	if parent != nil {
		m = vector.CountBits(parent, n)
	}
	words := (n + 63) / 64
	if !c.hasPresent {
		if m < n {
			v.Valid = append([]uint64(nil), parent[:words]...)
		}
		return m, nil
	}
	bits := make([]uint64, (m+63)/64)
	set, err := c.present.read(bits, m)
	if err != nil {
		return 0, err
	}
	if m == n {
		if set < n {
			v.Valid = bits
		}
		return set, nil
	}
	v.Valid = make([]uint64, words)
	at := 0
	for i := range n {
		if parent[i>>6]>>(i&63)&1 == 1 {
			v.Valid[i>>6] |= bits[at>>6] >> (at & 63) & 1 << (i & 63)
			at++
		}
	}
	return set, nil
}

// sized returns s with n elements of any content.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// readValues reads the m values of n rows to the front of the payload, which
// gets room for n. Nested columns put them in place at once.
func (c *column) readValues(n, m int) error {
	v := c.vec
	switch c.node.kind {
	case kindBoolean:
		v.I8s = sized(v.I8s, n)
		words := make([]uint64, (m+63)/64)
		if _, err := c.bools.read(words, m); err != nil {
			return err
		}
		for i := range m {
			v.I8s[i] = int8(words[i>>6] >> (i & 63) & 1)
		}
	case kindByte:
		v.I32s = sized(v.I32s, n)
		for i := range m {
			b, err := c.bytes.next()
			if err != nil {
				return err
			}
			v.I32s[i] = int32(int8(b))
		}
	case kindLong:
		v.I64s = sized(v.I64s, n)
		return c.ints.read(v.I64s[:m])
	case kindShort, kindInt, kindDate:
		v.I32s = sized(v.I32s, n)
		c.nums = sized(c.nums, m)
		if err := c.ints.read(c.nums); err != nil {
			return err
		}
		low, high := int64(math.MinInt32), int64(math.MaxInt32)
		if c.node.kind == kindShort {
			low, high = math.MinInt16, math.MaxInt16
		}
		for i, x := range c.nums {
			if x < low || x > high {
				return fmt.Errorf("the value %d is not a %s", x, c.node)
			}
			v.I32s[i] = int32(x)
		}
	case kindFloat, kindDouble:
		return c.readFloats(n, m)
	case kindDecimal:
		return c.readDecimals(n, m)
	case kindTimestamp, kindInstant:
		return c.readTimestamps(n, m)
	case kindString, kindVarchar, kindChar, kindBinary:
		return c.readStrings(n, m)
	default:
		return c.readNested(n, m)
	}
	return nil
}

func (c *column) readFloats(n, m int) error {
	v := c.vec
	data := &c.streams[streamData]
	if c.node.kind == kindFloat {
		v.F32s = sized(v.F32s, n)
		for i := 0; i < m; {
			b, err := data.take(4 * min(m-i, 256))
			if err != nil {
				return err
			}
			for ; len(b) > 0; b = b[4:] {
				v.F32s[i] = math.Float32frombits(binary.LittleEndian.Uint32(b))
				i++
			}
		}
		return nil
	}
	v.F64s = sized(v.F64s, n)
	for i := 0; i < m; {
		b, err := data.take(8 * min(m-i, 256))
		if err != nil {
			return err
		}
		for ; len(b) > 0; b = b[8:] {
			v.F64s[i] = math.Float64frombits(binary.LittleEndian.Uint64(b))
			i++
		}
	}
	return nil
}

// readNested reads lengths and children, or a struct's children.
func (c *column) readNested(n, m int) error {
	v := c.vec
	if c.node.kind == kindStruct {
		for i, k := range c.kids {
			if k == nil {
				v.Child[i] = nullRows(c.typ.Fields[i].Type, n)
				if err := c.r.spend(v.Child[i].Bytesize()); err != nil {
					return err
				}
				continue
			}
			if err := k.read(n, v.Valid); err != nil {
				return err
			}
		}
		return nil
	}
	c.nums = sized(c.nums, m)
	if err := c.second.read(c.nums); err != nil {
		return err
	}
	v.Offset = sized(v.Offset, n+1)
	v.Offset[0] = 0
	total, at := int64(0), 0
	for i := range n {
		if !v.IsNull(i) {
			if c.nums[at] < 0 || c.nums[at] > math.MaxInt32-total {
				return fmt.Errorf("a list of %d elements is too long", uint64(c.nums[at]))
			}
			total += c.nums[at]
			at++
		}
		v.Offset[i+1] = int32(total)
	}
	for _, k := range c.kids {
		if err := k.read(int(total), nil); err != nil {
			return err
		}
	}
	return nil
}

// nullRows returns a Flat vector of n NULLs.
func nullRows(t catalog.Type, n int) *vector.Vec {
	v := t.NewVec(n)
	for range n {
		v.AppendNull()
	}
	return v
}

// spread moves the m values of a vector to their rows among n, and puts zeros
// under the NULLs.
func spread(v *vector.Vec, m, n int) {
	if v.Form == vector.Dict {
		spreadSlice(v.Codes, v.Valid, m, n)
		return
	}
	switch v.Kind {
	case vector.I8:
		spreadSlice(v.I8s, v.Valid, m, n)
	case vector.I32:
		spreadSlice(v.I32s, v.Valid, m, n)
	case vector.I64:
		spreadSlice(v.I64s, v.Valid, m, n)
	case vector.I128:
		spreadSlice(v.I128s, v.Valid, m, n)
	case vector.F32:
		spreadSlice(v.F32s, v.Valid, m, n)
	case vector.F64:
		spreadSlice(v.F64s, v.Valid, m, n)
	case vector.Str:
		spreadSlice(v.Views, v.Valid, m, n)
	}
}

func spreadSlice[T any](v []T, valid []uint64, m, n int) {
	var zero T
	for to := n - 1; to >= 0; to-- {
		if valid[to>>6]>>(to&63)&1 == 1 {
			m--
			v[to] = v[m]
		} else {
			v[to] = zero
		}
	}
}

var errDecimal = errors.New("a decimal is larger than its precision")

// readDecimals reads unscaled values as base-128 numbers, and a scale for each.
func (c *column) readDecimals(n, m int) error {
	v := c.vec
	c.nums = sized(c.nums, m)
	if err := c.second.read(c.nums); err != nil {
		return err
	}
	data := &c.streams[streamData]
	wide := v.Kind == vector.I128
	if wide {
		v.I128s = sized(v.I128s, n)
	} else {
		v.I64s = sized(v.I64s, n)
	}
	for i, scale := range c.nums {
		x, err := data.wideVarint()
		if err != nil {
			return err
		}
		if scale != int64(c.typ.Scale) {
			if x, err = rescale(x, scale, c.typ.Scale); err != nil {
				return err
			}
		}
		if wide {
			v.I128s[i] = x
			continue
		}
		if !x.IsInt64() {
			return errDecimal
		}
		v.I64s[i] = x.Int64()
	}
	return nil
}

// wideVarint reads a zigzag base-128 number of up to 128 bits.
func (s *stream) wideVarint() (vector.Int128, error) {
	var lo, hi uint64
	for shift := uint(0); ; shift += 7 {
		b, err := s.byte()
		if err != nil {
			return vector.Int128{}, err
		}
		d := uint64(b & 0x7f)
		switch {
		case shift < 64:
			lo |= d << shift
			if shift > 57 {
				hi |= d >> (64 - shift)
			}
		case shift < 126:
			hi |= d << (shift - 64)
		case shift == 126 && d < 4:
			hi |= d << 62
		default:
			return vector.Int128{}, errDecimal
		}
		if b < 0x80 {
			break
		}
	}
	sign := -(lo & 1)
	return vector.Int128{Lo: (lo>>1 | hi<<63) ^ sign, Hi: int64(hi>>1 ^ sign)}, nil
}

// rescale changes the scale of an unscaled value, if that loses nothing. Older
// writers drop trailing zeros.
func rescale(x vector.Int128, from int64, to int) (vector.Int128, error) {
	d := int64(to) - from
	if d < -38 || d > 38 {
		return x, fmt.Errorf("a decimal has the scale %d", from)
	}
	b := x.Big()
	if d > 0 {
		b.Mul(b, vector.Pow10(int(d)))
	} else {
		_, rest := b.QuoRem(b, vector.Pow10(int(-d)), new(big.Int))
		if rest.Sign() != 0 {
			return x, fmt.Errorf("a decimal of scale %d has more than %d digits after the point", from, to)
		}
	}
	y, ok := vector.Int128FromBig(b)
	if !ok {
		return x, errDecimal
	}
	return y, nil
}
