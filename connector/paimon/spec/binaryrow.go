package spec

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// BinaryRow is a row as metadata files hold it: its arity in 4 big-endian bytes,
// then Java's org.apache.paimon.data.BinaryRow, little-endian:
//
//	byte 0 the row kind, then a null bit per field at bit 8+i, padded to 8 bytes
//	8 bytes a field: the value, or offset<<32|length of its bytes
//	the variable part, each value padded with zeros to 8 bytes
//
// Two rows of the same types are equal exactly when their bytes are.
type BinaryRow []byte

// EmptyRow is the row without fields: the partition of unpartitioned tables, the
// keys of append tables.
var EmptyRow = BinaryRow{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// Arity returns the number of fields, 0 for a row too short to say.
func (r BinaryRow) Arity() int {
	if len(r) < 4 {
		return 0
	}
	return int(int32(binary.BigEndian.Uint32(r)))
}

// Row returns the bytes after the arity: what is hashed and compared.
func (r BinaryRow) Row() []byte {
	if len(r) < 4 {
		return nil
	}
	return r[4:]
}

// MarshalJSON writes the bytes in hexadecimal.
func (r BinaryRow) MarshalJSON() ([]byte, error) { return json.Marshal(hex.EncodeToString(r)) }

// UnmarshalJSON reads what MarshalJSON writes.
func (r *BinaryRow) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	x, err := hex.DecodeString(s)
	*r = x
	return err
}

// headerBytes returns the length of the row kind and null bits of n fields.
func headerBytes(n int) int { return (n + 63 + 8) / 64 * 8 }

// RowEncoder encodes rows of the given types. It is not safe for concurrent use.
type RowEncoder struct {
	types []catalog.Type
	buf   []byte
}

// NewRowEncoder makes an encoder. Nested types can only be NULL.
func NewRowEncoder(types []catalog.Type) *RowEncoder { return &RowEncoder{types: types} }

// Encode encodes row i of cols, one a type and of its physical kind. The bytes
// are valid until the next call; Clone keeps them.
func (e *RowEncoder) Encode(cols []*vector.Vec, i int) BinaryRow {
	return e.encode(func(c int) (*vector.Vec, int) { return cols[c], i })
}

// EncodeAt encodes the row whose value of column c is at rows[c] of cols[c]. A
// nil vector is NULL.
func (e *RowEncoder) EncodeAt(cols []*vector.Vec, rows []int) BinaryRow {
	return e.encode(func(c int) (*vector.Vec, int) { return cols[c], rows[c] })
}

func (e *RowEncoder) encode(at func(c int) (*vector.Vec, int)) BinaryRow {
	n := len(e.types)
	h := headerBytes(n)
	fixed := 4 + h + 8*n
	if cap(e.buf) < fixed {
		e.buf = make([]byte, fixed, fixed*2)
	}
	b := e.buf[:fixed]
	clear(b)
	binary.BigEndian.PutUint32(b, uint32(n))
	for c, t := range e.types {
		slot := 4 + h + 8*c
		v, i := at(c)
		if v == nil || v.IsNull(i) {
			bit := c + 8
			b[4+bit>>3] |= 1 << (bit & 7)
			// A null of the types that are not compact still reserves its space,
			// and its slot keeps the offset.
			switch reserve := nullReserve(t); reserve {
			case 0:
			default:
				binary.LittleEndian.PutUint64(b[slot:], uint64(len(b)-4)<<32)
				b = append(b, make([]byte, reserve)...)
			}
			continue
		}
		b = appendValue(b, slot, t, v.Values(), v.At(i))
	}
	e.buf = b
	return BinaryRow(b)
}

// nullReserve returns the bytes in the variable part that a NULL takes.
func nullReserve(t catalog.Type) int {
	switch {
	case t.Kind == catalog.Decimal && t.Length > 18:
		return 16
	case (t.Kind == catalog.Timestamp || t.Kind == catalog.TimestampLTZ) && t.Length > 3:
		return 8
	}
	return 0
}

// appendValue writes value i of the Flat vector v into the slot at b[slot:] and
// the variable part at b's end.
func appendValue(b []byte, slot int, t catalog.Type, v *vector.Vec, i int) []byte {
	le := binary.LittleEndian
	switch t.Kind {
	case catalog.Boolean:
		b[slot] = byte(v.I8s[i])
	case catalog.TinyInt:
		b[slot] = byte(v.I32s[i])
	case catalog.SmallInt:
		le.PutUint16(b[slot:], uint16(v.I32s[i]))
	case catalog.Int, catalog.Date, catalog.Time:
		le.PutUint32(b[slot:], uint32(v.I32s[i]))
	case catalog.BigInt:
		le.PutUint64(b[slot:], uint64(v.I64s[i]))
	case catalog.Float:
		le.PutUint32(b[slot:], math.Float32bits(v.F32s[i]))
	case catalog.Double:
		le.PutUint64(b[slot:], math.Float64bits(v.F64s[i]))
	case catalog.Decimal:
		if t.Length <= 18 {
			le.PutUint64(b[slot:], uint64(v.I64s[i]))
			break
		}
		var be [16]byte
		x := v.I128s[i]
		binary.BigEndian.PutUint64(be[:8], uint64(x.Hi))
		binary.BigEndian.PutUint64(be[8:], x.Lo)
		min := minimal(be[:])
		le.PutUint64(b[slot:], uint64(len(b)-4)<<32|uint64(len(min)))
		b = append(b, min...)
		b = append(b, make([]byte, 16-len(min))...)
	case catalog.Timestamp, catalog.TimestampLTZ:
		millis, nanos := timestampParts(t, v, i)
		if t.Length <= 3 {
			le.PutUint64(b[slot:], uint64(millis))
			break
		}
		le.PutUint64(b[slot:], uint64(len(b)-4)<<32|uint64(uint32(nanos)))
		b = le.AppendUint64(b, uint64(millis))
	default: // strings and bytes
		s := v.Bytes(i)
		if len(s) <= 7 {
			copy(b[slot:slot+7], s)
			b[slot+7] = 0x80 | byte(len(s))
			break
		}
		le.PutUint64(b[slot:], uint64(len(b)-4)<<32|uint64(len(s)))
		b = append(b, s...)
		b = append(b, make([]byte, (8-len(s)&7)&7)...)
	}
	return b
}

// minimal returns big-endian two's complement bytes without redundant leading
// ones, as BigInteger.toByteArray does.
func minimal(be []byte) []byte {
	for len(be) > 1 && (be[0] == 0 && be[1] < 0x80 || be[0] == 0xff && be[1] >= 0x80) {
		be = be[1:]
	}
	return be
}

// timestampParts splits a timestamp into milliseconds since the epoch, rounded
// down, and the nanoseconds in them.
func timestampParts(t catalog.Type, v *vector.Vec, i int) (millis int64, nanos int32) {
	if t.Length <= 6 {
		us := v.I64s[i]
		millis = us / 1000
		if us%1000 < 0 {
			millis--
		}
		return millis, int32(us-millis*1000) * 1000
	}
	q, r := new(big.Int).DivMod(v.I128s[i].Big(), big.NewInt(1_000_000), new(big.Int))
	return q.Int64(), int32(r.Int64())
}

// Clone returns a copy of the row.
func (r BinaryRow) Clone() BinaryRow { return append(BinaryRow(nil), r...) }

// DecodeRow appends the row's fields to dst, one Flat vector a type. A row of
// another arity is an error.
func DecodeRow(r BinaryRow, types []catalog.Type, dst []*vector.Vec) error {
	if len(r) < 4 || r.Arity() != len(types) {
		return errs.Corruptf("decode a row: it has %d fields, not %d", r.Arity(), len(types))
	}
	row := r[4:]
	h := headerBytes(len(types))
	if len(row) < h+8*len(types) {
		return errs.Corruptf("decode a row: %d bytes are too few for %d fields", len(row), len(types))
	}
	for c, t := range types {
		bit := c + 8
		if row[bit>>3]&(1<<(bit&7)) != 0 {
			dst[c].AppendNull()
			continue
		}
		if err := decodeValue(row, h+8*c, t, dst[c]); err != nil {
			return err
		}
	}
	return nil
}

// DecodeField appends field c of a row of n fields, which is of type t, to dst.
func (r BinaryRow) DecodeField(n, c int, t catalog.Type, dst *vector.Vec) error {
	if len(r) < 4 || r.Arity() != n || c >= n {
		return errs.Corruptf("decode a row: it has %d fields, not %d", r.Arity(), n)
	}
	row := r[4:]
	h := headerBytes(n)
	if len(row) < h+8*n {
		return errs.Corruptf("decode a row: %d bytes are too few for %d fields", len(row), n)
	}
	if bit := c + 8; row[bit>>3]&(1<<(bit&7)) != 0 {
		dst.AppendNull()
		return nil
	}
	return decodeValue(row, h+8*c, t, dst)
}

// Decode returns the row's fields as one-row vectors.
func (r BinaryRow) Decode(types []catalog.Type) ([]*vector.Vec, error) {
	dst := make([]*vector.Vec, len(types))
	for i, t := range types {
		dst[i] = t.NewVec(1)
	}
	return dst, DecodeRow(r, types, dst)
}

func decodeValue(row []byte, slot int, t catalog.Type, dst *vector.Vec) error {
	le := binary.LittleEndian
	switch t.Kind {
	case catalog.Boolean:
		dst.AppendBool(row[slot] != 0)
	case catalog.TinyInt:
		dst.AppendI32(int32(int8(row[slot])))
	case catalog.SmallInt:
		dst.AppendI32(int32(int16(le.Uint16(row[slot:]))))
	case catalog.Int, catalog.Date, catalog.Time:
		dst.AppendI32(int32(le.Uint32(row[slot:])))
	case catalog.BigInt:
		dst.AppendI64(int64(le.Uint64(row[slot:])))
	case catalog.Float:
		dst.AppendF32(math.Float32frombits(le.Uint32(row[slot:])))
	case catalog.Double:
		dst.AppendF64(math.Float64frombits(le.Uint64(row[slot:])))
	case catalog.Decimal:
		if t.Length <= 18 {
			dst.AppendI64(int64(le.Uint64(row[slot:])))
			break
		}
		w := le.Uint64(row[slot:])
		b, err := variable(row, w>>32, w&math.MaxUint32)
		if err != nil {
			return err
		}
		if len(b) == 0 || len(b) > 16 {
			return errs.Corruptf("decode a row: a decimal of %d bytes", len(b))
		}
		var be [16]byte
		if b[0] >= 0x80 {
			for i := range be {
				be[i] = 0xff
			}
		}
		copy(be[16-len(b):], b)
		dst.AppendI128(vector.Int128{Hi: int64(binary.BigEndian.Uint64(be[:8])), Lo: binary.BigEndian.Uint64(be[8:])})
	case catalog.Timestamp, catalog.TimestampLTZ:
		millis, nanos := int64(le.Uint64(row[slot:])), int64(0)
		if t.Length > 3 {
			w := le.Uint64(row[slot:])
			b, err := variable(row, w>>32, 8)
			if err != nil {
				return err
			}
			millis, nanos = int64(le.Uint64(b)), int64(w&math.MaxUint32)
			if nanos >= 1_000_000 {
				return errs.Corruptf("decode a row: %d nanoseconds in a millisecond", nanos)
			}
		}
		if t.Length > 6 {
			x, _ := vector.Int128FromBig(new(big.Int).Add(new(big.Int).Mul(big.NewInt(millis), big.NewInt(1_000_000)), big.NewInt(nanos)))
			dst.AppendI128(x)
			break
		}
		if millis > math.MaxInt64/1000-1 || millis < math.MinInt64/1000+1 {
			return errs.Corruptf("decode a row: the timestamp of %d ms is out of range", millis)
		}
		dst.AppendI64(millis*1000 + nanos/1000)
	case catalog.Char, catalog.Varchar, catalog.Binary, catalog.Varbinary, catalog.Blob:
		if row[slot+7]&0x80 != 0 {
			n := int(row[slot+7] & 0x7f)
			if n > 7 {
				return errs.Corruptf("decode a row: an inline string of %d bytes", n)
			}
			dst.AppendBytes(row[slot : slot+n])
			break
		}
		w := le.Uint64(row[slot:])
		b, err := variable(row, w>>32, w&math.MaxUint32)
		if err != nil {
			return err
		}
		dst.AppendBytes(b)
	default:
		return errs.Unsupportedf(-1, "rows in metadata with a value of type %s", t)
	}
	return nil
}

// variable returns n bytes at offset of the row.
func variable(row []byte, offset, n uint64) ([]byte, error) {
	if offset > uint64(len(row)) || n > uint64(len(row))-offset {
		return nil, errs.Corruptf("decode a row: a value of %d bytes at %d reaches beyond its %d bytes", n, offset, len(row))
	}
	return row[offset : offset+n], nil
}

// TypesOf returns the types of the named columns of a schema.
func TypesOf(s *catalog.Schema, names []string) []catalog.Type {
	out := make([]catalog.Type, len(names))
	for i, n := range names {
		out[i] = s.Fields[s.Column(n)].Type
	}
	return out
}
