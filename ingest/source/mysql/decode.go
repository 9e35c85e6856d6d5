package mysql

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"net/netip"
	"strconv"

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

// ---- text of the snapshot ----

// appendFromText adds a value of the snapshot's SELECT (native.selectExpr).
func (c *column) appendFromText(v *vector.Vec, b []byte) (invalid bool, err error) {
	if b == nil {
		return false, c.appendNull(v)
	}
	return c.finish(v, c.fromText(v, b))
}

func (c *column) fromText(v *vector.Vec, b []byte) error {
	switch c.kind {
	case kindInt:
		if c.native.Unsigned {
			x, err := strconv.ParseUint(string(b), 10, 64)
			c.appendIntIf(v, int64(x), err)
			return err
		}
		x, err := strconv.ParseInt(string(b), 10, 64)
		c.appendIntIf(v, x, err)
		return err
	case kindBoolean:
		x, err := strconv.ParseInt(string(b), 10, 64)
		if err != nil {
			return err
		}
		return c.appendBoolean(v, x)
	case kindDecimal:
		return c.decimalText(v, b)
	case kindFloat:
		x, err := strconv.ParseFloat(string(b), 64)
		if err == nil {
			v.AppendF32(float32(x))
		}
		return err
	case kindDouble:
		x, err := strconv.ParseFloat(string(b), 64)
		if err == nil {
			v.AppendF64(x)
		}
		return err
	case kindBit:
		return c.appendBit(v, b)
	case kindYear:
		x, err := strconv.ParseInt(string(b), 10, 32)
		if err == nil {
			v.AppendI32(int32(x))
		}
		return err
	case kindDate:
		y, m, d, _, ok := scanDate(b)
		if !ok {
			return fmt.Errorf("%q is no date", b)
		}
		return c.appendDate(v, y, m, d)
	case kindDatetime, kindTimestamp:
		y, mo, d, rest, ok := scanDate(b)
		if !ok {
			return fmt.Errorf("%q is no date and time", b)
		}
		h, mi, s, us := 0, 0, 0, 0
		if len(rest) > 0 {
			if h, mi, s, us, ok = scanClock(rest[1:]); !ok {
				return fmt.Errorf("%q is no date and time", b)
			}
		}
		return c.appendDatetime(v, y, mo, d, h, mi, s, us)
	case kindTime:
		neg := len(b) > 0 && b[0] == '-'
		if neg {
			b = b[1:]
		}
		h, m, s, us, ok := scanClock(b)
		if !ok {
			return fmt.Errorf("%q is no time", b)
		}
		return c.appendTime(v, neg, h, m, s, us)
	case kindText:
		return c.appendText(v, b)
	case kindBytes:
		c.appendBytes(v, b)
		return nil
	case kindJSON:
		v.AppendBytes(b)
		return nil
	case kindEnum, kindSet:
		x, err := strconv.ParseUint(string(b), 10, 64)
		if err != nil {
			return err
		}
		if c.kind == kindEnum {
			return c.appendLabel(v, x)
		}
		return c.appendSet(v, x)
	case kindUUID:
		v.AppendBytes(b)
		return nil
	case kindInet4, kindInet6:
		a, err := netip.ParseAddr(string(b))
		if err != nil {
			return err
		}
		return c.appendInet(v, a.AsSlice())
	}
	return fmt.Errorf("no text form")
}

func (c *column) appendIntIf(v *vector.Vec, x int64, err error) {
	if err == nil {
		c.appendInt(v, x)
	}
}

func (c *column) decimalText(v *vector.Vec, b []byte) error {
	if c.native.Length > 38 { // STRING
		out, err := c.canonicalDecimal(string(b))
		if err == nil {
			v.AppendBytes(out)
		}
		return err
	}
	neg := len(b) > 0 && b[0] == '-'
	s := b
	if neg {
		s = b[1:]
	}
	var d digits
	frac, point, any := 0, false, false
	for _, ch := range s {
		switch {
		case ch == '.' && !point:
			point = true
		case ch >= '0' && ch <= '9':
			any = true
			d.mulAdd(10, uint64(ch-'0'))
			if point {
				frac++
			}
		default:
			return fmt.Errorf("%q is no decimal", b)
		}
	}
	if !any || frac > c.native.Scale {
		return fmt.Errorf("%q is no decimal(%d,%d)", b, c.native.Length, c.native.Scale)
	}
	for ; frac < c.native.Scale; frac++ {
		d.mulAdd(10, 0)
	}
	return c.appendDecimal(v, neg, &d)
}

// scanDate reads "YYYY-MM-DD" and returns what follows.
func scanDate(b []byte) (y, m, d int, rest []byte, ok bool) {
	if len(b) < 10 || b[4] != '-' || b[7] != '-' {
		return 0, 0, 0, nil, false
	}
	y, ok1 := atoi(b[:4])
	m, ok2 := atoi(b[5:7])
	d, ok3 := atoi(b[8:10])
	return y, m, d, b[10:], ok1 && ok2 && ok3
}

// scanClock reads "hh:mm:ss[.ffffff]", hours of any number of digits.
func scanClock(b []byte) (h, m, s, us int, ok bool) {
	i := 0
	for i < len(b) && b[i] != ':' {
		i++
	}
	if i == 0 || i > 3 || len(b) < i+6 || b[i+3] != ':' {
		return 0, 0, 0, 0, false
	}
	h, ok1 := atoi(b[:i])
	m, ok2 := atoi(b[i+1 : i+3])
	s, ok3 := atoi(b[i+4 : i+6])
	if !ok1 || !ok2 || !ok3 {
		return 0, 0, 0, 0, false
	}
	rest := b[i+6:]
	if len(rest) == 0 {
		return h, m, s, 0, true
	}
	if rest[0] != '.' || len(rest) < 2 || len(rest) > 7 {
		return 0, 0, 0, 0, false
	}
	us, ok = atoi(rest[1:])
	for n := len(rest) - 1; n < 6; n++ {
		us *= 10
	}
	return h, m, s, us, ok
}

func atoi(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(b) > 0
}

// ---- binary row images of the binlog ----

// logType is a column type of the binlog.
type logType byte

const (
	logTiny       logType = 1
	logShort      logType = 2
	logLong       logType = 3
	logFloat      logType = 4
	logDouble     logType = 5
	logTimestamp  logType = 7
	logLongLong   logType = 8
	logInt24      logType = 9
	logDate       logType = 10
	logTime       logType = 11
	logDatetime   logType = 12
	logYear       logType = 13
	logVarchar    logType = 15
	logBit        logType = 16
	logTimestamp2 logType = 17
	logDatetime2  logType = 18
	logTime2      logType = 19
	logJSON       logType = 245
	logDecimal    logType = 246
	logEnum       logType = 247
	logSet        logType = 248
	logBlob       logType = 252
	logVarString  logType = 253
	logString     logType = 254
)

var errShort = errors.New("the row image ends early")

// realType resolves the STRING type of a TABLE_MAP event, whose metadata says
// what it really is and how long.
func realType(t byte, meta uint16) (logType, uint16) {
	if logType(t) != logString {
		return logType(t), meta
	}
	if meta < 256 {
		return logString, meta
	}
	b0, b1 := byte(meta>>8), byte(meta)
	if b0&0x30 != 0x30 { // length above 255, its high bits hidden in the type
		return logType(b0 | 0x30), uint16(b1) | uint16((b0&0x30)^0x30)<<4
	}
	return logType(b0), uint16(b1)
}

// width returns the number of bytes of the value at the start of b, its length
// prefix included, and the size of that prefix.
func (c *column) width(b []byte) (n, prefix int, err error) {
	switch c.log {
	case logTiny, logYear:
		n = 1
	case logShort:
		n = 2
	case logInt24, logDate, logTime:
		n = 3
	case logLong, logFloat, logTimestamp:
		n = 4
	case logLongLong, logDouble, logDatetime:
		n = 8
	case logTimestamp2:
		n = 4 + int(c.meta+1)/2
	case logDatetime2:
		n = 5 + int(c.meta+1)/2
	case logTime2:
		n = 3 + int(c.meta+1)/2
	case logDecimal:
		n = decimalSize(int(c.meta>>8), int(c.meta&0xFF))
	case logBit:
		n = (int(c.meta>>8)*8 + int(c.meta&0xFF) + 7) / 8
	case logEnum, logSet:
		n = int(c.meta & 0xFF)
	case logVarchar, logVarString, logString:
		prefix = 1
		if c.meta >= 256 {
			prefix = 2
		}
	case logBlob, logJSON:
		prefix = int(c.meta)
	default:
		return 0, 0, fmt.Errorf("the binlog type %d is unknown", c.log)
	}
	if prefix > 0 {
		if len(b) < prefix || prefix > 4 {
			return 0, 0, errShort
		}
		n = prefix + int(littleEndian(b[:prefix]))
	}
	if n > len(b) || n < prefix {
		return 0, 0, errShort
	}
	return n, prefix, nil
}

func littleEndian(b []byte) (x uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		x = x<<8 | uint64(b[i])
	}
	return x
}

func bigEndian(b []byte) (x uint64) {
	for _, c := range b {
		x = x<<8 | uint64(c)
	}
	return x
}

// appendFromLog adds a value of a row image: exactly the bytes that width
// counted, without the prefix.
func (c *column) appendFromLog(v *vector.Vec, b []byte) (invalid bool, err error) {
	return c.finish(v, c.fromLog(v, b))
}

func (c *column) fromLog(v *vector.Vec, b []byte) error {
	switch c.kind {
	case kindInt:
		x := littleEndian(b)
		if !c.native.Unsigned {
			shift := 64 - 8*len(b)
			x = uint64(int64(x<<shift) >> shift)
		}
		c.appendInt(v, int64(x))
		return nil
	case kindBoolean:
		return c.appendBoolean(v, int64(int8(b[0])))
	case kindDecimal:
		return c.decimalLog(v, b)
	case kindFloat:
		v.AppendF32(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		return nil
	case kindDouble:
		v.AppendF64(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		return nil
	case kindBit:
		return c.appendBit(v, b)
	case kindYear:
		y := int32(b[0])
		if y != 0 {
			y += 1900
		}
		v.AppendI32(y)
		return nil
	case kindDate:
		x := int(littleEndian(b))
		return c.appendDate(v, x>>9, x>>5&15, x&31)
	case kindDatetime:
		return c.datetimeLog(v, b)
	case kindTimestamp:
		return c.timestampLog(v, b)
	case kindTime:
		return c.timeLog(v, b)
	case kindText:
		return c.appendText(v, b)
	case kindBytes:
		c.appendBytes(v, b)
		return nil
	case kindJSON:
		out, err := appendJSON(c.scratch[:0], b)
		if err != nil {
			return err
		}
		c.scratch = out
		v.AppendBytes(out)
		return nil
	case kindEnum:
		return c.appendLabel(v, littleEndian(b))
	case kindSet:
		return c.appendSet(v, littleEndian(b))
	case kindUUID:
		var rec [16]byte
		copy(rec[:], b)
		u := uuidFromRecord(rec)
		c.appendUUID(v, &u)
		return nil
	case kindInet4:
		var a [4]byte
		copy(a[:], b)
		return c.appendInet(v, a[:])
	case kindInet6:
		var a [16]byte
		copy(a[:], b)
		return c.appendInet(v, a[:])
	}
	return fmt.Errorf("no binary form")
}

// uuidFromRecord undoes the order in which MariaDB stores UUIDs: the segments of
// versions 1 to 5 are reversed, so that the node comes first.
func uuidFromRecord(r [16]byte) (u [16]byte) {
	if r[6]&0x80 == 0 || r[8] == 0 || r[8] >= 0x60 {
		return r
	}
	copy(u[0:4], r[12:16])
	copy(u[4:6], r[10:12])
	copy(u[6:8], r[8:10])
	copy(u[8:10], r[6:8])
	copy(u[10:16], r[0:6])
	return u
}

// fraction reads the fraction digits behind a temporal value, as microseconds.
func fraction(b []byte) int {
	switch len(b) {
	case 1:
		return int(b[0]) * 10000
	case 2:
		return int(bigEndian(b)) * 100
	case 3:
		return int(bigEndian(b))
	}
	return 0
}

func (c *column) datetimeLog(v *vector.Vec, b []byte) error {
	if c.log == logDatetime { // before 5.6: decimal digits
		x := littleEndian(b)
		d, t := int(x/1000000), int(x%1000000)
		return c.appendDatetime(v, d/10000, d/100%100, d%100, t/10000, t/100%100, t%100, 0)
	}
	x := int64(bigEndian(b[:5])) - 0x8000000000
	if x < 0 {
		return errors.New("a negative date and time")
	}
	ymd, hms := x>>17, int(x&(1<<17-1))
	ym, d := int(ymd>>5), int(ymd&31)
	return c.appendDatetime(v, ym/13, ym%13, d, hms>>12, hms>>6&63, hms&63, fraction(b[5:]))
}

func (c *column) timestampLog(v *vector.Vec, b []byte) error {
	var sec uint64
	us := 0
	if c.log == logTimestamp {
		sec = littleEndian(b)
	} else {
		sec, us = bigEndian(b[:4]), fraction(b[4:])
	}
	if sec == 0 && us == 0 {
		return errInvalid // 0000-00-00 00:00:00
	}
	v.AppendI64(int64(sec)*1e6 + int64(us))
	return nil
}

func (c *column) timeLog(v *vector.Vec, b []byte) error {
	if c.log == logTime { // before 5.6: decimal digits in 24 bits
		x := int32(littleEndian(b)<<8) >> 8
		neg := x < 0
		if neg {
			x = -x
		}
		return c.appendTime(v, neg, int(x/10000), int(x/100%100), int(x%100), 0)
	}
	// Whole and fraction are one number in two's complement with an offset.
	x := int64(bigEndian(b)) - int64(1)<<(8*len(b)-1)
	neg := x < 0
	if neg {
		x = -x
	}
	fracBits := 8 * (len(b) - 3)
	hms, frac := int(x>>fracBits), int(x&(1<<fracBits-1))
	switch len(b) - 3 {
	case 1:
		frac *= 10000
	case 2:
		frac *= 100
	}
	return c.appendTime(v, neg, hms>>12, hms>>6&63, hms&63, frac)
}

// groupBytes is the number of bytes that so many leftover digits take.
var groupBytes = [10]int{0, 1, 1, 2, 2, 3, 3, 4, 4, 4}

var pow10 = [10]uint64{1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000}

// decimalSize returns the bytes of a DECIMAL(p,s) value: nine digits take four
// bytes, leftover digits at both ends fewer (MySQL's decimal2bin).
func decimalSize(p, s int) int {
	if p < s {
		return 0
	}
	i := p - s
	return i/9*4 + groupBytes[i%9] + s/9*4 + groupBytes[s%9]
}

func (c *column) decimalLog(v *vector.Vec, b []byte) error {
	p, s := int(c.meta>>8), int(c.meta&0xFF)
	if len(b) == 0 || p != c.native.Length || s != c.native.Scale {
		return fmt.Errorf("the binlog has decimal(%d,%d)", p, s)
	}
	neg := b[0]&0x80 == 0
	if p > 38 {
		v.AppendBytes(appendDecimalText(c.scratch[:0], b, p, s))
		return nil
	}
	mask := byte(0)
	if neg {
		mask = 0xFF
	}
	var d digits
	at := 0
	take := func(n int) {
		size := groupBytes[n]
		if n == 9 {
			size = 4
		}
		var x uint64
		for i := range size {
			y := b[at+i] ^ mask
			if at+i == 0 {
				y ^= 0x80
			}
			x = x<<8 | uint64(y)
		}
		at += size
		d.mulAdd(pow10[n], x)
	}
	if n := (p - s) % 9; n > 0 {
		take(n)
	}
	for range (p - s) / 9 {
		take(9)
	}
	for range s / 9 {
		take(9)
	}
	if n := s % 9; n > 0 {
		take(n)
	}
	return c.appendDecimal(v, neg, &d)
}
