package mysql

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/session"
)

// form is how a column's values become bytes.
type form uint8

const (
	asNull form = iota
	asI8        // in text
	asI32
	asI64
	asU64
	asDecimal
	asFloat
	asDouble
	asBytes
	asText // to be translated to the client's character set
	asDate
	asDateTime
	asTimestamp
	asTime
	asYear
	asBit
	asNested
)

// cell is a column's encoder: what is fixed for a result, and where the values
// of the current batch are.
type cell struct {
	form  form
	shape vector.Form
	kind  vector.Kind // Invalid: any
	width int         // bytes of an integer in binary rows; of a BIT value
	scale int

	valid []uint64
	codes []uint32 // of a dictionary
	i32s  []int32
	i64s  []int64
	vals  *vector.Vec // the payload
	vec   *vector.Vec // the column itself
	typ   *expr.Type

	date // the last day that was formatted
}

// rowEncoder turns batches into row packets, without an allocation a value for
// all but floating point, wide decimals and nested types.
type rowEncoder struct {
	cells   []cell
	binary  bool
	zone    zone
	text    *transcoder
	scratch []byte
}

func newRowEncoder(cols []session.Column, isBinary bool, loc *time.Location, text *transcoder) *rowEncoder {
	e := &rowEncoder{cells: make([]cell, len(cols)), binary: isBinary, zone: zone{loc: loc}, text: text}
	for i := range cols {
		t := &cols[i].Type
		c := &e.cells[i]
		*c = cell{typ: t, scale: t.Scale, kind: t.Physical(), date: date{day: math.MinInt64}}
		switch t.Class {
		case expr.Null:
			c.kind = vector.Invalid
		case expr.Bool:
			c.form, c.width = asI8, 8
			if t.Width == 1 {
				c.width = 1
			}
		case expr.Int:
			c.form, c.width = asI32, t.Width
			if c.kind == vector.I64 {
				c.form = asI64
				if t.Unsigned {
					c.form = asU64
				}
			}
			if t.Width == 3 {
				c.width = 4
			}
		case expr.Decimal:
			c.form = asDecimal
			if cols[i].Texts {
				c.form, c.kind = asBytes, vector.Str
			}
		case expr.Float:
			c.form = asFloat
		case expr.Double:
			c.form = asDouble
		case expr.Date:
			c.form = asDate
		case expr.DateTime:
			c.form = asDateTime
		case expr.Timestamp:
			c.form = asTimestamp
		case expr.Time:
			c.form = asTime
		case expr.Year:
			c.form, c.width = asYear, t.Width
		case expr.Bit:
			c.form, c.width = asBit, (max(t.Length, 1)+7)/8
		case expr.Nested:
			c.form, c.kind = asNested, vector.Invalid
		case expr.Bytes, expr.JSON:
			c.form = asBytes
		default: // String, Enum, Set
			c.form = asBytes
			if text.encode != nil {
				c.form = asText
			}
		}
	}
	return e
}

// bind points the cells at a batch's columns.
func (e *rowEncoder) bind(b *vector.Batch) error {
	if len(b.Cols) != len(e.cells) {
		return errs.Internalf("send result: a batch has %d columns, the result %d", len(b.Cols), len(e.cells))
	}
	for i := range e.cells {
		c := &e.cells[i]
		v := b.Cols[i]
		c.vec, c.vals, c.shape, c.valid, c.codes = v, v.Values(), v.Form, v.Valid, v.Codes
		c.i32s, c.i64s = c.vals.I32s, c.vals.I64s
		if c.kind != vector.Invalid && c.vals.Kind != c.kind {
			return errs.Internalf("send result: column %d holds %s, its type %s", i+1, c.vals.Kind, c.kind)
		}
	}
	return nil
}

// rows writes the rows [from, to) of those of b that count.
func (e *rowEncoder) rows(w *wire, b *vector.Batch, from, to int) error {
	if err := e.bind(b); err != nil {
		return err
	}
	for r := from; r < to; r++ {
		if e.binary {
			e.binaryRow(w, b.Row(r))
		} else {
			e.textRow(w, b.Row(r))
		}
		if cap(w.out) > freeBytes {
			if err := w.pay(); err != nil {
				return err
			}
		}
		if w.werr != nil {
			return nil
		}
	}
	return nil
}

func (e *rowEncoder) textRow(w *wire, row int) {
	w.begin()
	o := w.out
	for i := range e.cells {
		c := &e.cells[i]
		p := row
		if c.shape == vector.Const {
			p = 0
		}
		if c.form == asNull || c.valid != nil && c.valid[p>>6]&(1<<(p&63)) == 0 {
			o = append(o, 0xfb)
			continue
		}
		if c.shape == vector.Dict {
			p = int(c.codes[row])
		}
		at := len(o)
		switch c.form {
		case asBytes:
			o = putBytes(o, c.vals, p)
			continue
		case asText:
			o = putStr(o, e.text.toClient(c.vals.Bytes(p)))
			continue
		case asNested:
			e.scratch = expr.AppendText(e.scratch[:0], *c.typ, c.vec, row, e.zone.loc)
			o = putStr(o, e.scratch)
			continue
		}
		o = append(o, 0) // the length, rarely more than a byte
		switch c.form {
		case asI8:
			o = strconv.AppendInt(o, int64(c.vals.I8s[p]), 10)
		case asI32:
			o = appendNumber(o, int64(c.i32s[p]), 0)
		case asI64:
			o = appendNumber(o, c.i64s[p], 0)
		case asU64:
			o = strconv.AppendUint(o, uint64(c.i64s[p]), 10)
		case asDecimal:
			o = appendDecimal(o, c, p)
		case asDate:
			o = c.appendDate(o, int64(c.i32s[p]))
		case asDateTime:
			o = c.appendDateTime(o, c.i64s[p])
		case asTimestamp:
			o = c.appendDateTime(o, e.zone.wall(c.i64s[p]))
		case asTime:
			o = appendTime(o, c.i64s[p], c.scale)
		case asYear:
			if c.width == 8 {
				o = appendNumber(o, int64(c.i32s[p]), 0)
			} else {
				o = append4(o, int(c.i32s[p]))
			}
		case asBit:
			o = appendBit(o, uint64(c.i64s[p]), c.width)
		case asFloat, asDouble:
			o = expr.AppendText(o, *c.typ, c.vec, row, nil)
		}
		n := len(o) - at - 1
		if n > 250 { // DOUBLE(255,30) and its like
			e.scratch = append(e.scratch[:0], o[at+1:]...)
			o = putStr(o[:at], e.scratch)
			continue
		}
		o[at] = byte(n)
	}
	w.out = o
	w.end()
}

func (e *rowEncoder) binaryRow(w *wire, row int) {
	w.begin()
	o := append(w.out, 0)
	nulls := len(o)
	for range (len(e.cells) + 9) / 8 {
		o = append(o, 0)
	}
	for i := range e.cells {
		c := &e.cells[i]
		p := row
		if c.shape == vector.Const {
			p = 0
		}
		if c.form == asNull || c.valid != nil && c.valid[p>>6]&(1<<(p&63)) == 0 {
			o[nulls+(i+2)/8] |= 1 << ((i + 2) % 8)
			continue
		}
		if c.shape == vector.Dict {
			p = int(c.codes[row])
		}
		switch c.form {
		case asI8:
			o = appendInt(o, uint64(int64(c.vals.I8s[p])), c.width)
		case asI32:
			o = appendInt(o, uint64(int64(c.i32s[p])), c.width)
		case asI64, asU64:
			o = appendInt(o, uint64(c.i64s[p]), c.width)
		case asDecimal:
			at := len(o)
			o = appendDecimal(append(o, 0), c, p)
			o[at] = byte(len(o) - at - 1)
		case asFloat:
			o = binary.LittleEndian.AppendUint32(o, math.Float32bits(c.vals.F32s[p]))
		case asDouble:
			o = binary.LittleEndian.AppendUint64(o, math.Float64bits(c.vals.F64s[p]))
		case asBytes:
			o = putBytes(o, c.vals, p)
		case asText:
			o = putStr(o, e.text.toClient(c.vals.Bytes(p)))
		case asDate:
			c.set(int64(c.i32s[p]))
			o = append(o, 4, byte(c.y), byte(c.y>>8), byte(c.m), byte(c.d))
		case asDateTime:
			o = c.appendBinaryDateTime(o, c.i64s[p])
		case asTimestamp:
			o = c.appendBinaryDateTime(o, e.zone.wall(c.i64s[p]))
		case asTime:
			o = appendBinaryTime(o, c.i64s[p])
		case asYear:
			o = put16(o, uint16(c.i32s[p]))
		case asBit:
			o = appendBit(append(o, byte(c.width)), uint64(c.i64s[p]), c.width)
		case asNested:
			e.scratch = expr.AppendText(e.scratch[:0], *c.typ, c.vec, row, e.zone.loc)
			o = putStr(o, e.scratch)
		}
	}
	w.out = o
	w.end()
}

// putBytes appends a string as a length-encoded one.
func putBytes(o []byte, v *vector.Vec, p int) []byte {
	if v.Kind == vector.Str {
		if w := &v.Views[p]; w.Len() <= 12 { // the view holds the bytes
			o = slices.Grow(o, 13)
			b := (*[13]byte)(o[len(o) : len(o)+13])
			n := w.Len()
			b[0] = byte(n)
			*(*[12]byte)(b[1:]) = [12]byte(w[4:])
			return o[:len(o)+1+n]
		}
	}
	return putStr(o, v.Bytes(p))
}

// appendInt appends the low bytes of a value.
func appendInt(o []byte, v uint64, width int) []byte {
	switch width {
	case 1:
		return append(o, byte(v))
	case 2:
		return binary.LittleEndian.AppendUint16(o, uint16(v))
	case 4:
		return binary.LittleEndian.AppendUint32(o, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(o, v)
}

// digits are the numbers from 00 to 99.
const digits = "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849" +
	"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// maxScale is the most digits after the point that appendNumber knows.
const maxScale = 30

// appendNumber appends v / 10^scale, two digits at a time from the last. It writes
// in place: to copy some bytes costs more than to make them.
func appendNumber(o []byte, v int64, scale int) []byte {
	u := uint64(v)
	n := 0
	if v < 0 {
		u, n = -u, 1
	}
	n += max(decimalDigits(u), scale+1)
	if scale > 0 {
		n++
	}
	o = slices.Grow(o, n)
	b := o[len(o) : len(o)+n]
	o = o[:len(o)+n]
	i := n
	if scale > 0 {
		for ; scale >= 2; scale -= 2 {
			q := u / 100
			d := 2 * (u - 100*q)
			i -= 2
			b[i], b[i+1] = digits[d], digits[d+1]
			u = q
		}
		if scale == 1 {
			q := u / 10
			i--
			b[i] = byte('0' + u - 10*q)
			u = q
		}
		i--
		b[i] = '.'
	}
	for u > 1<<32-1 {
		q := u / 100
		d := 2 * (u - 100*q)
		i -= 2
		b[i], b[i+1] = digits[d], digits[d+1]
		u = q
	}
	w := uint32(u)
	for w >= 100 {
		q := w / 100
		d := 2 * (w - 100*q)
		i -= 2
		b[i], b[i+1] = digits[d], digits[d+1]
		w = q
	}
	i--
	b[i] = digits[2*w+1]
	if w >= 10 {
		i--
		b[i] = digits[2*w]
	}
	if v < 0 {
		b[0] = '-'
	}
	return o
}

// appendDecimal appends the text of a decimal.
func appendDecimal(o []byte, c *cell, p int) []byte {
	var v int64
	switch c.kind {
	case vector.I64:
		v = c.i64s[p]
	case vector.I128:
		x := c.vals.I128s[p]
		if !x.IsInt64() {
			return vector.AppendDecimalText(o, c.vals, p, c.scale)
		}
		v = x.Int64()
	default:
		return vector.AppendDecimalText(o, c.vals, p, c.scale)
	}
	if c.scale > maxScale {
		return vector.AppendDecimalText(o, c.vals, p, c.scale)
	}
	return appendNumber(o, v, c.scale)
}

// pow10 has the powers of ten that fit.
var pow10 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = 10 * p[i-1]
	}
	return p
}()

// decimalDigits returns how many digits a number has, at least one.
func decimalDigits(u uint64) int {
	// The logarithm to base ten, from that to base two, is exact or one too small.
	n := bits.Len64(u|1) * 1233 >> 12
	if u >= pow10[n] {
		n++
	}
	return max(n, 1)
}

// appendBit appends a BIT value, most significant byte first.
func appendBit(o []byte, v uint64, width int) []byte {
	for i := width - 1; i >= 0; i-- {
		o = append(o, byte(v>>(8*min(i, 8))))
	}
	return o
}
