package mysql

import (
	"errors"
	"fmt"
	"math/bits"
	"net/netip"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// column decodes the values of one column: binary row images of the binlog, and
// the text of the snapshot's SELECT. Both end in the same append functions.
type column struct {
	name     string
	native   native
	typ      catalog.Type
	convert  transcoder // nil: UTF-8 or no text
	kind     nativeKind
	scratch  []byte
	nullable bool

	// From the TABLE_MAP event: how the binlog stores it.
	log  logType
	meta uint16
}

// nativeKind is native.Type as a number.
type nativeKind uint8

const (
	kindInt nativeKind = iota + 1
	kindBoolean
	kindDecimal
	kindFloat
	kindDouble
	kindBit
	kindYear
	kindDate
	kindDatetime
	kindTimestamp
	kindTime
	kindText
	kindBytes
	kindJSON
	kindEnum
	kindSet
	kindUUID
	kindInet4
	kindInet6
)

var nativeKinds = map[string]nativeKind{
	"tinyint": kindInt, "smallint": kindInt, "mediumint": kindInt, "int": kindInt, "bigint": kindInt, "boolean": kindBoolean,
	"decimal": kindDecimal, "float": kindFloat, "double": kindDouble, "bit": kindBit, "year": kindYear,
	"date": kindDate, "datetime": kindDatetime, "timestamp": kindTimestamp, "time": kindTime,
	"char": kindText, "varchar": kindText, "tinytext": kindText, "text": kindText, "mediumtext": kindText, "longtext": kindText,
	"binary": kindBytes, "varbinary": kindBytes, "tinyblob": kindBytes, "blob": kindBytes, "mediumblob": kindBytes, "longblob": kindBytes,
	"json": kindJSON, "enum": kindEnum, "set": kindSet, "uuid": kindUUID, "inet4": kindInet4, "inet6": kindInet6,
}

func newColumns(t *source.Table, tr *transcoders) ([]column, error) {
	out := make([]column, len(t.Columns))
	for i := range t.Columns {
		sc := &t.Columns[i]
		n, err := nativeOf(sc)
		if err != nil {
			return nil, err
		}
		k, ok := nativeKinds[n.Type]
		if !ok {
			return nil, errs.Unsupportedf(-1, "the type %s of column %s", n.Type, sc.Name)
		}
		out[i] = column{name: sc.Name, native: n, typ: sc.Type, kind: k, nullable: !sc.Type.NotNull}
		if k == kindText && !isUTF8(n.Charset) {
			if out[i].convert = tr.get(n.Charset); out[i].convert == nil {
				return nil, errs.Unsupportedf(-1, "the character set %s of column %s", n.Charset, sc.Name)
			}
		}
	}
	return out, nil
}

// errInvalid is a value that the lake's type cannot hold: a zero date.
var errInvalid = errors.New("not a date")

// appendNull adds a NULL.
func (c *column) appendNull(v *vector.Vec) error {
	if !c.nullable {
		return errs.New(errs.User, errs.TableStopped, "column %s is NOT NULL but has a NULL", c.name)
	}
	v.AppendNull()
	return nil
}

// finish turns errInvalid into NULL and reports it.
func (c *column) finish(v *vector.Vec, err error) (invalid bool, _ error) {
	if err == nil {
		return false, nil
	}
	if errors.Is(err, errInvalid) {
		if !c.nullable {
			return true, errs.New(errs.User, errs.TableStopped, "column %s has a zero or impossible date, which no lake type holds, and cannot be NULL", c.name)
		}
		v.AppendNull()
		return true, nil
	}
	var e *errs.Error
	if errors.As(err, &e) {
		return false, err
	}
	return false, errs.New(errs.Corruption, errs.TableStopped, "decode column %s (%s): %w", c.name, c.native, err)
}

// appendInt adds an integer, given as its low bits: the sign was extended from
// the stored width for signed columns and not for unsigned ones.
func (c *column) appendInt(v *vector.Vec, x int64) {
	switch c.typ.Kind {
	case catalog.TinyInt, catalog.SmallInt, catalog.Int:
		v.AppendI32(int32(x))
	case catalog.BigInt:
		v.AppendI64(x)
	default: // BIGINT UNSIGNED as DECIMAL(20,0)
		v.AppendI128(vector.Int128FromUint(uint64(x)))
	}
}

func (c *column) appendBoolean(v *vector.Vec, x int64) error {
	if x != 0 && x != 1 {
		return errs.New(errs.User, errs.TableStopped, "column %s is read as BOOLEAN but holds %d; set treat-tinyint1-as-boolean.enabled to false", c.name, x)
	}
	v.AppendI8(int8(x))
	return nil
}

// appendLabel adds an ENUM's label by its number; 0 is the empty string that
// lax modes store for invalid values.
func (c *column) appendLabel(v *vector.Vec, n uint64) error {
	switch {
	case n == 0:
		v.AppendString("")
	case n > uint64(len(c.native.Labels)):
		return fmt.Errorf("the number %d is above its %d labels", n, len(c.native.Labels))
	default:
		v.AppendString(c.native.Labels[n-1])
	}
	return nil
}

// appendSet adds a SET's labels, joined by commas as the server shows them.
func (c *column) appendSet(v *vector.Vec, mask uint64) error {
	if n := len(c.native.Labels); n < 64 && mask>>n != 0 {
		return fmt.Errorf("the mask %#x is above its %d labels", mask, n)
	}
	c.scratch = c.scratch[:0]
	for first := true; mask != 0; mask &= mask - 1 {
		if !first {
			c.scratch = append(c.scratch, ',')
		}
		first = false
		c.scratch = append(c.scratch, c.native.Labels[bits.TrailingZeros64(mask)]...)
	}
	v.AppendBytes(c.scratch)
	return nil
}

func (c *column) appendText(v *vector.Vec, b []byte) error {
	if c.convert == nil {
		v.AppendBytes(b)
		return nil
	}
	out, err := c.convert(c.scratch[:0], b)
	if err != nil {
		return err
	}
	c.scratch = out
	v.AppendBytes(out)
	return nil
}

// appendBytes adds a binary string; BINARY(n) loses its trailing zeros in the
// binlog and gets them back here.
func (c *column) appendBytes(v *vector.Vec, b []byte) {
	if c.native.Type == "binary" && len(b) < c.native.Length {
		c.scratch = append(c.scratch[:0], b...)
		for len(c.scratch) < c.native.Length {
			c.scratch = append(c.scratch, 0)
		}
		b = c.scratch
	}
	v.AppendBytes(b)
}

// appendBit adds the bits, big-endian in ceil(n/8) bytes.
func (c *column) appendBit(v *vector.Vec, b []byte) error {
	want := (c.native.Length + 7) / 8
	if len(b) > want {
		return fmt.Errorf("%d bytes for bit(%d)", len(b), c.native.Length)
	}
	c.scratch = c.scratch[:0]
	for len(c.scratch) < want-len(b) {
		c.scratch = append(c.scratch, 0)
	}
	c.scratch = append(c.scratch, b...)
	v.AppendBytes(c.scratch)
	return nil
}

// appendDate adds a date, errInvalid for zero and impossible ones.
func (c *column) appendDate(v *vector.Vec, y, m, d int) error {
	days, ok := civilDays(y, m, d)
	if !ok {
		return errInvalid
	}
	v.AppendI32(int32(days))
	return nil
}

func (c *column) appendDatetime(v *vector.Vec, y, mo, d, h, mi, s, us int) error {
	days, ok := civilDays(y, mo, d)
	if !ok {
		return errInvalid
	}
	if h > 23 || mi > 59 || s > 59 || us > 999999 {
		return fmt.Errorf("the time %d:%d:%d.%06d is no time of day", h, mi, s, us)
	}
	v.AppendI64(((days*24+int64(h))*60+int64(mi))*60e6 + int64(s)*1e6 + int64(us))
	return nil
}

func (c *column) appendTime(v *vector.Vec, neg bool, h, m, s, us int) error {
	if m > 59 || s > 59 || us > 999999 || h > 838 {
		return fmt.Errorf("the time %d:%d:%d.%06d is out of range", h, m, s, us)
	}
	x := ((int64(h)*60+int64(m))*60+int64(s))*1e6 + int64(us)
	if neg {
		x = -x
	}
	v.AppendI64(x)
	return nil
}

// civilDays returns the days since 1970-01-01 in the proleptic Gregorian
// calendar; ok is false when there is no such day. The algorithm is Howard
// Hinnant's days_from_civil.
func civilDays(y, m, d int) (days int64, ok bool) {
	if m < 1 || m > 12 || d < 1 || d > monthDays(y, m) || y < 0 || y > 9999 {
		return 0, false
	}
	if m <= 2 {
		y--
		m += 12
	}
	era := y / 400
	if y < 0 {
		era = (y - 399) / 400
	}
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return int64(era)*146097 + int64(doe) - 719468, true
}

func monthDays(y, m int) int {
	switch m {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// digits collects decimal digits: in 128 bits as long as they fit, which is
// what DECIMAL(38) needs.
type digits struct {
	hi, lo uint64
	over   bool
}

func (d *digits) mulAdd(mul, add uint64) {
	h1, lo := bits.Mul64(d.lo, mul)
	h2, hi := bits.Mul64(d.hi, mul)
	hi, c1 := bits.Add64(hi, h1, 0)
	lo, c2 := bits.Add64(lo, add, 0)
	hi, c3 := bits.Add64(hi, 0, c2)
	d.over = d.over || h2 != 0 || c1 != 0 || c3 != 0 || hi>>63 != 0
	d.hi, d.lo = hi, lo
}

// appendDecimal adds a decimal of at most 38 digits, given as sign and digits
// that end scale digits after the point.
func (c *column) appendDecimal(v *vector.Vec, neg bool, d *digits) error {
	if d.over {
		return errors.New("the number has too many digits")
	}
	x := vector.Int128{Lo: d.lo, Hi: int64(d.hi)}
	if neg {
		x = x.Neg()
	}
	if v.Kind == vector.I64 {
		if !x.IsInt64() {
			return errors.New("the number has too many digits")
		}
		v.AppendI64(x.Int64())
		return nil
	}
	v.AppendI128(x)
	return nil
}

// canonicalDecimal writes a decimal of more than 38 digits with exactly scale
// digits after the point.
func (c *column) canonicalDecimal(plain string) ([]byte, error) {
	x, exact, ok := vector.ParseDecimal(plain, c.native.Scale)
	if !ok || !exact {
		return nil, fmt.Errorf("%q is no decimal(%d,%d)", plain, c.native.Length, c.native.Scale)
	}
	return vector.FormatDecimalBig(c.scratch[:0], x, c.native.Scale), nil
}

// appendUUID adds the text of a UUID in the order in which it is written.
func (c *column) appendUUID(v *vector.Vec, b *[16]byte) {
	const hex = "0123456789abcdef"
	c.scratch = c.scratch[:0]
	for i, x := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			c.scratch = append(c.scratch, '-')
		}
		c.scratch = append(c.scratch, hex[x>>4], hex[x&15])
	}
	v.AppendBytes(c.scratch)
}

// appendInet adds an address as MariaDB writes it.
func (c *column) appendInet(v *vector.Vec, b []byte) error {
	a, ok := netip.AddrFromSlice(b)
	if !ok {
		return fmt.Errorf("%d bytes for an address", len(b))
	}
	c.scratch = a.AppendTo(c.scratch[:0])
	if len(b) == 16 && [12]byte(b[:12]) == ([12]byte{}) && (b[12] != 0 || b[13] != 0) { // IPv4-compatible: "::1.2.3.4"
		c.scratch = netip.AddrFrom4([4]byte(b[12:])).AppendTo(append(c.scratch[:0], "::"...))
	}
	v.AppendBytes(c.scratch)
	return nil
}
