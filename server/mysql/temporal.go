package mysql

import (
	"slices"
	"time"
)

const (
	microsPerSecond = 1_000_000
	secondsPerDay   = 86_400
	microsPerDay    = secondsPerDay * microsPerSecond
)

// zone turns instants into wall clock time. It remembers the last offset and
// how long it holds. nil is UTC.
type zone struct {
	loc        *time.Location
	from, to   int64 // seconds between which offset holds
	offset     int64 // microseconds
	remembered bool
}

// wall returns the wall clock of an instant, both in microseconds.
func (z *zone) wall(us int64) int64 {
	if z.loc == nil || z.loc == time.UTC {
		return us
	}
	sec := floorDiv(us, microsPerSecond)
	if !z.remembered || sec < z.from || sec >= z.to {
		t := time.Unix(sec, 0).In(z.loc)
		start, end := t.ZoneBounds()
		_, off := t.Zone()
		z.offset = int64(off) * microsPerSecond
		z.from, z.to, z.remembered = -1<<62, 1<<62, true
		if !start.IsZero() {
			z.from = start.Unix()
		}
		if !end.IsZero() {
			z.to = end.Unix()
		}
	}
	return us + z.offset
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// civil returns the date of a day since 1970-01-01 in the proleptic Gregorian
// calendar.
func civil(z int64) (y, m, d int) {
	if z < -719468 || z > 1<<24 {
		return civilFar(z)
	}
	// Neri and Schneider, "Euclidean affine functions and their application to
	// calendar algorithms", 2023: no division but by constants of 32 bits. Day 0 is
	// March 1st of the year 0 here.
	n1 := 4*uint32(z+719468) + 3
	century, ofCentury := n1/146097, n1%146097/4
	p2 := 2939745 * uint64(4*ofCentury+3)
	ofYear := uint32(p2) / 2939745 / 4
	y = int(100*century + uint32(p2>>32))
	n3 := 2141*ofYear + 197913
	m, d = int(n3>>16), int(n3&0xffff/2141)+1
	if ofYear >= 306 {
		y, m = y+1, m-12
	}
	return y, m, d
}

// civilFar is civil for any day (Howard Hinnant, "chrono-Compatible Low-Level Date
// Algorithms").
func civilFar(z int64) (y, m, d int) {
	z += 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = int(doy - (153*mp+2)/5 + 1)
	if m = int(mp + 3); m > 12 {
		m -= 12
	}
	if y = int(yoe + era*400); m <= 2 {
		y++
	}
	return y, m, d
}

// days is the inverse of civil, for valid dates.
func days(y, m, d int) int64 {
	yy := int64(y)
	if m <= 2 {
		yy--
	}
	era := floorDiv(yy, 400)
	yoe := yy - era*400
	mp := int64((m + 9) % 12)
	doy := (153*mp+2)/5 + int64(d) - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

func append2(o []byte, v int) []byte {
	at := 2 * (uint(v) % 100)
	return append(o, digits[at], digits[at+1])
}

func append4(o []byte, v int) []byte { return append2(append2(o, v/100), v) }

// date remembers a day in its forms: neighbours in a column often share it.
type date struct {
	day  int64
	y    uint16
	m, d uint8
	text [10]byte // YYYY-MM-DD
}

func (c *date) set(day int64) {
	if day == c.day {
		return
	}
	y, m, d := civil(day)
	b := append(append4(c.text[:0], y), '-')
	b = append(append2(b, m), '-')
	append2(b, d)
	c.day, c.y, c.m, c.d = day, uint16(y), uint8(m), uint8(d)
}

// appendDate appends YYYY-MM-DD.
func (c *date) appendDate(o []byte, day int64) []byte {
	c.set(day)
	return append(o, c.text[:]...)
}

// appendDateTime appends YYYY-MM-DD hh:mm:ss and the fraction.
func (c *cell) appendDateTime(o []byte, us int64) []byte {
	day := floorDiv(us, microsPerDay)
	us -= day * microsPerDay
	c.set(day)
	s := uint32(us / microsPerSecond)
	h, min := s/3600, s/60%60
	h2, m2, s2 := digits[2*h:], digits[2*min:], digits[2*(s%60):]
	o = slices.Grow(o, 19)
	t := (*[19]byte)(o[len(o) : len(o)+19])
	*(*[10]byte)(t[:10]) = c.text
	t[10], t[11], t[12], t[13], t[14], t[15], t[16], t[17], t[18] = ' ', h2[0], h2[1], ':', m2[0], m2[1], ':', s2[0], s2[1]
	o = o[:len(o)+19]
	if c.scale <= 0 {
		return o
	}
	return appendFraction(o, int(us-int64(s)*microsPerSecond), c.scale)
}

// appendTime appends [-]hh:mm:ss and the fraction; there may be more than 24
// hours.
func appendTime(o []byte, us int64, scale int) []byte {
	if us < 0 {
		o, us = append(o, '-'), -us
	}
	s := us / microsPerSecond
	h := int(s / 3600)
	if h >= 100 {
		o = append(o, byte('0'+h/100%10))
	}
	o = append(append2(o, h%100), ':')
	o = append(append2(o, int(s/60%60)), ':')
	o = append2(o, int(s%60))
	return appendFraction(o, int(us%microsPerSecond), scale)
}

// appendFraction appends a point and the first digits of microseconds.
func appendFraction(o []byte, us, digits int) []byte {
	if digits <= 0 {
		return o
	}
	o = append(o, '.')
	for unit := 100_000; unit > 0 && digits > 0; unit /= 10 {
		o = append(o, byte('0'+us/unit%10))
		digits--
	}
	return o
}

// appendBinaryDateTime appends the length and as many fields as are not zero.
func (c *date) appendBinaryDateTime(o []byte, us int64) []byte {
	day := floorDiv(us, microsPerDay)
	us -= day * microsPerDay
	c.set(day)
	s, frac := uint32(us/microsPerSecond), uint32(us%microsPerSecond)
	if us == 0 {
		return append(o, 4, byte(c.y), byte(c.y>>8), c.m, c.d)
	}
	h, mi := s/3600, s/60%60
	if frac == 0 {
		return append(o, 7, byte(c.y), byte(c.y>>8), c.m, c.d, byte(h), byte(mi), byte(s%60))
	}
	o = append(o, 11, byte(c.y), byte(c.y>>8), c.m, c.d, byte(h), byte(mi), byte(s%60))
	return put32(o, frac)
}

// appendBinaryTime appends the length, sign, days, hours, minutes, seconds and
// microseconds.
func appendBinaryTime(o []byte, us int64) []byte {
	if us == 0 {
		return append(o, 0)
	}
	neg := byte(0)
	if us < 0 {
		neg, us = 1, -us
	}
	s, frac := us/microsPerSecond, uint32(us%microsPerSecond)
	n := byte(8)
	if frac != 0 {
		n = 12
	}
	o = append(o, n, neg)
	o = put32(o, uint32(s/secondsPerDay))
	o = append(o, byte(s/3600%24), byte(s/60%60), byte(s%60))
	if frac != 0 {
		o = put32(o, frac)
	}
	return o
}
