package mysql

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/thermocline/thermocline/internal/vector"
)

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
