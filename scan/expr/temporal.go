package expr

import (
	"strconv"
	"time"
)

// Dates are days since 1970-01-01, date-times wall clock microseconds since the
// epoch, times signed microseconds. The proleptic Gregorian calendar is used
// throughout, as in MySQL.

const (
	usPerSecond = int64(1000000)
	usPerMinute = 60 * usPerSecond
	usPerHour   = 60 * usPerMinute
	usPerDay    = 24 * usPerHour
	maxTime     = 838*usPerHour + 59*usPerMinute + 59*usPerSecond
)

// The range of dates: 0000-01-01 to 9999-12-31.
var (
	minDay = daysOf(0, 1, 1)
	maxDay = daysOf(9999, 12, 31)
)

// daysOf returns the day number of a civil date (Howard Hinnant,
// "chrono-Compatible Low-Level Date Algorithms"). The day may be beyond the
// month's end.
func daysOf(y, m, d int) int32 {
	if m <= 2 {
		y--
	}
	era := y
	if y < 0 {
		era = y - 399
	}
	era /= 400
	yoe := y - era*400
	mp := (m + 9) % 12
	doy := (153*mp+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return int32(era*146097 + doe - 719468)
}

// civil returns the date of a day number.
func civil(days int32) (y, m, d int) {
	z := int(days) + 719468
	era := z
	if z < 0 {
		era = z - 146096
	}
	era /= 146097
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	y = yoe + era*400
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = doy - (153*mp+2)/5 + 1
	m = mp + 3
	if m > 12 {
		m -= 12
	}
	if m <= 2 {
		y++
	}
	return y, m, d
}

// isLeap says whether a year has 366 days; year 0 has not, to MySQL.
func isLeap(y int) bool { return y%4 == 0 && (y%100 != 0 || y%400 == 0) && y != 0 }

var monthDays = [13]int{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

func daysIn(y, m int) int {
	if m == 2 && isLeap(y) {
		return 29
	}
	return monthDays[m]
}

// floorDiv divides rounding down.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// splitDateTime returns day number and microseconds of the day.
func splitDateTime(us int64) (days int32, tod int64) {
	d := floorDiv(us, usPerDay)
	return int32(d), us - d*usPerDay
}

// validDateTime reports whether us is between 0000-01-01 and 9999-12-31.
func validDateTime(us int64) bool {
	d := floorDiv(us, usPerDay)
	return d >= int64(minDay) && d <= int64(maxDay)
}

// weekdayOf returns 0 for Monday to 6 for Sunday.
func weekdayOf(days int32) int {
	w := (int(days) + 3) % 7
	if w < 0 {
		w += 7
	}
	return w
}

var usUnit = [7]int64{1000000, 100000, 10000, 1000, 100, 10, 1}

// roundFraction rounds microseconds to fsp fraction digits, half away from
// zero; with cut it drops the digits instead.
func roundFraction(us int64, fsp int, cut bool) int64 {
	u := usUnit[fsp]
	if u == 1 {
		return us
	}
	r := us % u
	us -= r
	if cut {
		return us
	}
	if r >= (u+1)/2 {
		us += u
	} else if -r >= (u+1)/2 {
		us -= u
	}
	return us
}

// roundWallFraction rounds a date-time's fraction: up from the half, also
// before 1970.
func roundWallFraction(us int64, fsp int, cut bool) int64 {
	u := usUnit[fsp]
	f := floorDiv(us, u) * u
	if !cut && us-f >= (u+1)/2 && u > 1 {
		f += u
	}
	return f
}

func append2(dst []byte, n int) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

func append4(dst []byte, n int) []byte { return append2(append2(dst, n/100), n%100) }

func appendFraction(dst []byte, us int64, fsp int) []byte {
	if fsp <= 0 {
		return dst
	}
	dst = append(dst, '.')
	var b [6]byte
	for i := 5; i >= 0; i-- {
		b[i] = byte('0' + us%10)
		us /= 10
	}
	return append(dst, b[:min(fsp, 6)]...)
}

func appendDate(dst []byte, days int32) []byte {
	y, m, d := civil(days)
	if y < 0 || y > 9999 {
		dst = strconv.AppendInt(dst, int64(y), 10)
	} else {
		dst = append4(dst, y)
	}
	return append2(append(append2(append(dst, '-'), m), '-'), d)
}

func appendClock(dst []byte, tod int64, fsp int) []byte {
	s := int(tod / usPerSecond)
	dst = append2(dst, s/3600)
	dst = append2(append(dst, ':'), s/60%60)
	dst = append2(append(dst, ':'), s%60)
	return appendFraction(dst, tod%usPerSecond, fsp)
}

func appendDateTime(dst []byte, us int64, fsp int) []byte {
	d, tod := splitDateTime(us)
	return appendClock(append(appendDate(dst, d), ' '), tod, fsp)
}

func appendTime(dst []byte, us int64, fsp int) []byte {
	if us < 0 {
		dst, us = append(dst, '-'), -us
	}
	h := us / usPerHour
	if h < 10 {
		dst = append(dst, '0')
	}
	dst = strconv.AppendInt(dst, h, 10)
	s := int(us % usPerHour / usPerSecond)
	dst = append2(append(dst, ':'), s/60)
	dst = append2(append(dst, ':'), s%60)
	return appendFraction(dst, us%usPerSecond, fsp)
}

// dateNumber is YYYYMMDD, dateTimeNumber YYYYMMDDhhmmss, timeNumber [-]hhmmss;
// fractions are dropped.
// dayNumber is TO_DAYS: days since year 0, in which MySQL has no February 29.
func dayNumber(d int32) int64 {
	n := int64(d) + dayZero
	if n < 60 {
		n++
	}
	return n
}

func dateNumber(days int32) int64 {
	y, m, d := civil(days)
	return int64(y)*10000 + int64(m)*100 + int64(d)
}

func dateTimeNumber(us int64) int64 {
	d, tod := splitDateTime(us)
	s := tod / usPerSecond
	return dateNumber(d)*1000000 + s/3600*10000 + s/60%60*100 + s%60
}

func timeNumber(us int64) int64 {
	if us < 0 {
		return -timeNumber(-us)
	}
	s := us / usPerSecond
	return s/3600*10000 + s/60%60*100 + s%60
}

// wallOf returns the wall clock of an instant in a zone.
func wallOf(us int64, z *time.Location) int64 {
	if z == time.UTC {
		return us
	}
	sec := floorDiv(us, usPerSecond)
	_, off := time.Unix(sec, 0).In(z).Zone()
	return us + int64(off)*usPerSecond
}

// instantOf returns the instant of a wall clock in a zone. In a gap it is the
// gap's end, in an overlap the first of the two, as in MySQL.
func instantOf(us int64, z *time.Location) int64 {
	if z == time.UTC {
		return us
	}
	d, tod := splitDateTime(us)
	y, m, day := civil(d)
	sec := tod / usPerSecond
	t := time.Date(y, time.Month(m), day, int(sec/3600), int(sec/60%60), int(sec%60), 0, z)
	_, off := t.Zone()
	guess := t.Unix()
	if wall := guess + int64(off); wall != floorDiv(us, usPerSecond) {
		// In a gap: time.Date used one of the two offsets; the gap ends at the
		// transition.
		start, end := t.ZoneBounds()
		if wall > floorDiv(us, usPerSecond) && !start.IsZero() {
			return start.Unix()*usPerSecond + tod%usPerSecond
		}
		if !end.IsZero() {
			return end.Unix()*usPerSecond + tod%usPerSecond
		}
	}
	// In an overlap prefer the earlier instant.
	if start, _ := t.ZoneBounds(); !start.IsZero() {
		_, before := start.Add(-time.Second).Zone()
		if e := floorDiv(us, usPerSecond) - int64(before); e < start.Unix() && before > off {
			return e*usPerSecond + tod%usPerSecond
		}
	}
	return guess*usPerSecond + tod%usPerSecond
}

// nowMicros is the statement's start as an instant.
func (c *Context) nowMicros() int64 {
	if c.Now.IsZero() {
		return 0
	}
	return c.Now.UnixMicro()
}

// today is the current date in the session's zone.
func (c *Context) today() int32 {
	d, _ := splitDateTime(wallOf(c.nowMicros(), c.zone()))
	return d
}
