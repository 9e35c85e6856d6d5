package fileindex

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/roaring"
	"github.com/thermocline/thermocline/internal/vector"
)

// slices is a set of rows with a number each, stored by the numbers' bits.
type slices struct {
	min, max uint64 // of the numbers
	rows     Rows   // those with a number
	bits     []Rows // of the numbers less min, the lowest bit first
}

// compare compares the rows' numbers with x, from the highest bit on: rows whose
// higher bits are all x's are told apart by the next.
func (s *slices) compare(x uint64) order {
	nothing := none(s.rows.n)
	switch {
	case x < s.min:
		return order{nothing, nothing, s.rows}
	case x > s.max:
		return order{s.rows, nothing, nothing}
	}
	x -= s.min
	if len(s.bits) < 64 && x>>len(s.bits) != 0 {
		return order{s.rows, nothing, nothing}
	}
	o := order{nothing, s.rows, nothing}
	for i := len(s.bits) - 1; i >= 0; i-- {
		with := o.equal.and(s.bits[i])
		without := o.equal.minus(s.bits[i])
		if x>>i&1 != 0 {
			o.less, o.equal = o.less.or(without), with
		} else {
			o.greater, o.equal = o.greater.or(with), without
		}
	}
	return o
}

// minus returns the rows of r, which is known, that are not in o, likewise.
func (r Rows) minus(o Rows) Rows {
	if r.bits == nil || o.bits == nil {
		return r
	}
	out := Rows{known: true, n: r.n, bits: make([]uint64, len(r.bits))}
	for i := range out.bits {
		out.bits[i] = r.bits[i] &^ o.bits[i]
	}
	return out
}

// bsi has the numbers of the rows, those below zero apart by their absolutes:
//
//	byte 1 | int32 rows | byte with numbers from zero on [slices] | byte with numbers below [slices]
//	slices  byte 1 | int64 least | int64 largest | bitmap of the rows | int32 n | bitmap × n
type bsi struct {
	c        codec
	rows     int64
	pos, neg *slices
}

func openBSI(b []byte, t catalog.Type, rows int64) (index, error) {
	c, ok := newCodec(t)
	if !ok || lossy(t) || !integral(t) {
		return nil, nil
	}
	d := &decoder{b: b}
	if v := d.byte(); d.err == nil && v != 1 {
		return nil, errs.Unsupportedf(-1, "bsi indexes of version %d", v)
	}
	if n := int64(d.int32()); d.err == nil && n != rows {
		d.fail("it has %d rows, the file %d", n, rows)
	}
	x := &bsi{c: c, rows: rows}
	for _, s := range []**slices{&x.pos, &x.neg} {
		*s = &slices{min: 1, rows: none(rows)}
		if d.byte() != 0 && d.err == nil {
			*s = readSlices(d, rows)
		}
	}
	if d.err == nil && !x.pos.rows.and(x.neg.rows).None() {
		d.fail("a row has two numbers")
	}
	if d.err != nil {
		return nil, d.err
	}
	return x, nil
}

func integral(t catalog.Type) bool {
	switch t.Kind {
	case catalog.TinyInt, catalog.SmallInt, catalog.Int, catalog.BigInt, catalog.Date, catalog.Time, catalog.Timestamp, catalog.TimestampLTZ:
		return true
	case catalog.Decimal:
		return t.Length <= 18
	}
	return false
}

func readSlices(d *decoder, rows int64) *slices {
	if v := d.byte(); d.err == nil && v != 1 {
		d.err = errs.Unsupportedf(-1, "bit slices of version %d", v)
	}
	least, largest := d.int64(), d.int64()
	if d.err == nil && (least < 0 || largest < least) {
		d.fail("numbers from %d to %d", least, largest)
	}
	s := &slices{min: uint64(least), max: uint64(largest)}
	s.rows = d.rows(rows)
	n := d.count(8)
	if n > 64 {
		d.fail("%d bit slices", n)
	}
	for i := 0; i < n && d.err == nil; i++ {
		s.bits = append(s.bits, d.rows(rows))
	}
	return s
}

// rows reads a bitmap of rows.
func (d *decoder) rows(n int64) Rows {
	if d.err != nil {
		return Rows{}
	}
	r, rest, err := rowsOf(d.b[d.at:], n)
	if err != nil {
		d.err = err
		return Rows{}
	}
	d.at = len(d.b) - len(rest)
	return r
}

func (x *bsi) match(p *connector.Predicate) (Rows, error) { return matchOrdered(x, p) }

func (x *bsi) notNull() (Rows, error) { return x.pos.rows.or(x.neg.rows), nil }

func (x *bsi) compare(v *vector.Vec, i int) (order, error) {
	i, v = v.At(i), v.Values()
	k := x.c.long(v, i)
	var o order
	if k >= 0 {
		o = x.pos.compare(uint64(k))
		o.less = o.less.or(x.neg.rows)
	} else {
		n := x.neg.compare(uint64(-k)) // also right for the smallest number
		o = order{n.greater, n.equal, n.less.or(x.pos.rows)}
	}
	if v.Kind == vector.I64 && (x.c.t.Kind == catalog.Timestamp || x.c.t.Kind == catalog.TimestampLTZ) && x.c.millis() && v.I64s[i]%1000 != 0 {
		// The value lies between two that the column can have.
		o.less, o.equal = o.less.or(o.equal), none(x.rows)
	}
	return o, nil
}

// bsiBuilder collects the numbers of the rows.
type bsiBuilder struct {
	c      codec
	n      uint32
	rows   [2][]uint32 // from zero on, below
	values [2][]uint64 // their absolutes
	beyond bool        // a number has no absolute in 63 bits
}

func newBSIBuilder(t catalog.Type) Builder {
	c, _ := newCodec(t)
	return &bsiBuilder{c: c}
}

func (b *bsiBuilder) Add(v *vector.Vec, from, to int) {
	for i := from; i < to; i++ {
		row := b.n
		b.n++
		if v.IsNull(i) {
			continue
		}
		k := b.c.long(v.Values(), v.At(i))
		side, abs := 0, uint64(k)
		if k < 0 {
			side, abs = 1, uint64(-k)
			b.beyond = b.beyond || k == math.MinInt64
		}
		b.rows[side] = append(b.rows[side], row)
		b.values[side] = append(b.values[side], abs)
	}
}

func (b *bsiBuilder) Bytes() int64 { return 24 * int64(b.n) }

func (b *bsiBuilder) Finish() []byte {
	if b.beyond {
		return nil
	}
	be := binary.BigEndian
	out := be.AppendUint32([]byte{1}, b.n)
	for side, rows := range b.rows {
		if len(rows) == 0 {
			out = append(out, 0)
			continue
		}
		largest := uint64(0)
		for _, v := range b.values[side] {
			largest = max(largest, v)
		}
		out = append(out, 1, 1)
		out = be.AppendUint64(out, 0)
		out = be.AppendUint64(out, largest)
		out = roaring.Append32(out, rows)
		n := bits.Len64(largest)
		out = be.AppendUint32(out, uint32(n))
		for k := range n {
			out = roaring.Append32(out, withBit(rows, b.values[side], k))
		}
	}
	return out
}

// withBit returns the rows whose number has bit k.
func withBit(rows []uint32, numbers []uint64, k int) []uint32 {
	var out []uint32
	for i, v := range numbers {
		if v>>k&1 != 0 {
			out = append(out, rows[i])
		}
	}
	return out
}
