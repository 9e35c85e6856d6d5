package mysql

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/thermocline/thermocline/internal/vector"
)

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
