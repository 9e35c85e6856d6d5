package fileindex

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/vector"
)

// codec is how values of a column's type lie in bitmap and range-bitmap
// indexes: numbers at their width, texts as an int32 length and their bytes,
// timestamps and short decimals as int64.
type codec struct {
	t     catalog.Type
	width int // 0: a length precedes the bytes
}

// newCodec reports false for types without such an encoding.
func newCodec(t catalog.Type) (codec, bool) {
	c := codec{t: t}
	switch t.Kind {
	case catalog.Boolean, catalog.TinyInt:
		c.width = 1
	case catalog.SmallInt:
		c.width = 2
	case catalog.Int, catalog.Date, catalog.Time, catalog.Float:
		c.width = 4
	case catalog.BigInt, catalog.Double:
		c.width = 8
	case catalog.Timestamp, catalog.TimestampLTZ:
		c.width = 8
	case catalog.Decimal:
		c.width = 8
		return c, t.Length <= 18
	case catalog.Char, catalog.Varchar:
	default:
		return c, false
	}
	return c, true
}

// lossy reports a type whose values indexes keep only to the microsecond. Such
// indexes are written, as Java does, and not asked.
func lossy(t catalog.Type) bool {
	return (t.Kind == catalog.Timestamp || t.Kind == catalog.TimestampLTZ) && t.Length > 6
}

// read appends the next value to v.
func (c codec) read(d *decoder, v *vector.Vec) {
	n := c.width
	if n == 0 {
		n = int(d.int32())
	}
	b := d.take(n)
	if d.err != nil {
		return
	}
	be := binary.BigEndian
	switch c.t.Kind {
	case catalog.Boolean:
		v.AppendBool(b[0] != 0)
	case catalog.TinyInt:
		v.AppendI32(int32(int8(b[0])))
	case catalog.SmallInt:
		v.AppendI32(int32(int16(be.Uint16(b))))
	case catalog.Int, catalog.Date, catalog.Time:
		v.AppendI32(int32(be.Uint32(b)))
	case catalog.Float:
		v.AppendF32(math.Float32frombits(be.Uint32(b)))
	case catalog.Double:
		v.AppendF64(math.Float64frombits(be.Uint64(b)))
	case catalog.Timestamp, catalog.TimestampLTZ:
		x := int64(be.Uint64(b))
		if c.millis() {
			if x > math.MaxInt64/1000 || x < math.MinInt64/1000 {
				d.fail("the timestamp of %d ms at byte %d is out of range", x, d.base+d.at-8)
				return
			}
			x *= 1000
		}
		v.AppendI64(x)
	case catalog.BigInt, catalog.Decimal:
		v.AppendI64(int64(be.Uint64(b)))
	default:
		v.AppendBytes(b)
	}
}

// skip reads past a value.
func (c codec) skip(d *decoder) {
	n := c.width
	if n == 0 {
		n = int(d.int32())
	}
	d.take(n)
}

func (c codec) millis() bool { return c.t.Length <= 3 }

// append appends value i of v, which is not NULL.
func (c codec) append(dst []byte, v *vector.Vec, i int) []byte {
	i, v = v.At(i), v.Values()
	be := binary.BigEndian
	switch c.t.Kind {
	case catalog.Boolean:
		return append(dst, byte(v.I8s[i]))
	case catalog.TinyInt:
		return append(dst, byte(v.I32s[i]))
	case catalog.SmallInt:
		return be.AppendUint16(dst, uint16(v.I32s[i]))
	case catalog.Int, catalog.Date, catalog.Time:
		return be.AppendUint32(dst, uint32(v.I32s[i]))
	case catalog.Float:
		return be.AppendUint32(dst, floatBits(v.F32s[i]))
	case catalog.Double:
		return be.AppendUint64(dst, doubleBits(v.F64s[i]))
	case catalog.Timestamp, catalog.TimestampLTZ, catalog.BigInt, catalog.Decimal:
		return be.AppendUint64(dst, uint64(c.long(v, i)))
	}
	b := v.Bytes(i)
	return append(be.AppendUint32(dst, uint32(len(b))), b...)
}

// long returns a value of an integer, date, time, timestamp or short decimal type
// as indexes count it.
func (c codec) long(v *vector.Vec, i int) int64 {
	if v.Kind == vector.I32 {
		return int64(v.I32s[i])
	}
	if v.Kind == vector.I128 { // nanoseconds
		return new(big.Int).Div(v.I128s[i].Big(), big.NewInt(1000)).Int64()
	}
	x := v.I64s[i]
	if (c.t.Kind == catalog.Timestamp || c.t.Kind == catalog.TimestampLTZ) && c.millis() {
		return floorDiv(x, 1000)
	}
	return x
}

func floorDiv(x, y int64) int64 {
	q := x / y
	if x%y < 0 {
		q--
	}
	return q
}

// floatBits and doubleBits are Java's floatToIntBits and doubleToLongBits, which
// know one NaN.
func floatBits(f float32) uint32 {
	if f != f {
		return 0x7fc00000
	}
	return math.Float32bits(f)
}

func doubleBits(f float64) uint64 {
	if f != f {
		return 0x7ff8000000000000
	}
	return math.Float64bits(f)
}

// loose reports a float that is equal to others in some orders and not in
// others: zeros, which have signs, and NaN. Indexes do not answer for them.
func loose(v *vector.Vec, i int) bool {
	i, v = v.At(i), v.Values()
	switch v.Kind {
	case vector.F32:
		return v.F32s[i] == 0 || v.F32s[i] != v.F32s[i]
	case vector.F64:
		return v.F64s[i] == 0 || v.F64s[i] != v.F64s[i]
	}
	return false
}
