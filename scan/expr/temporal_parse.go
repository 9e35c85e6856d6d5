package expr

import (
	"bytes"
	"math"
	"time"
)

// parsed is what a text or number gave as a date or time.
type parsed struct {
	kind      Class // Date, DateTime, Time; Null when there is no value
	us        int64 // DateTime, Time; Date: microseconds of midnight
	nanos     int   // beyond the microseconds, for rounding
	fsp       int   // fraction digits written
	truncated bool  // other text follows, or the value was clamped
	delim     byte  // a deprecated delimiter, 0 for none
	delimAt   int
	delimWant byte // 0: the delimiter is superfluous
	offset    bool // had a zone displacement; us is then UTC
	// partial: a date whose month or day is zero, which MySQL lets through in
	// some places and this package refuses; kind is Null.
	partial bool
	notTime bool // with onlyDateTime: a number and text that goes on right behind it, which is no time either
	invalid bool // a day that the month has not, or partial; kind is Null
}

// validDate reports whether the month has the day.
func validDate(y, mo, d int) bool {
	return mo >= 1 && mo <= 12 && d >= 1 && y <= 9999 && d <= daysIn(y, mo)
}

func isPunct(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}

// parseDateTime reads a date or date-time as MySQL's str_to_datetime does:
// any punctuation separates fields, two-digit years are 1970–2069, numbers
// without delimiters are YYYYMMDD[hhmmss] or YYMMDD[hhmmss], an offset of up to
// ±14:00 may follow. onlyDateTime refuses texts without a blank or T between
// date and time, which TIME parsing uses.
func parseDateTime(s []byte, onlyDateTime bool) (p parsed) {
	const parts = 7
	i0 := skipSpaces(s)
	if i0 == len(s) || !isDigit(s[i0]) {
		return parsed{truncated: true}
	}
	if i0 > 0 {
		p.delim, p.delimAt = s[0], 0
	}
	pos := i0
	for pos < len(s) && (isDigit(s[pos]) || s[pos] == 'T') {
		pos++
	}
	digits := pos - i0
	yearLen, field := 4, 4
	internal := pos == len(s) || s[pos] == '.'
	if internal {
		if digits != 4 && digits != 8 && digits < 14 {
			yearLen = 2
		}
		field = yearLen
	}
	var date [parts + 1]int
	var length [parts + 1]int
	foundDelim, foundSpace, sawT := false, false, false
	at, last := i0, i0
	i := 0
	for i < parts && at < len(s) && isDigit(s[at]) {
		start := at
		v := int(s[at] - '0')
		at++
		scan := !internal && i != 6
		for at < len(s) && isDigit(s[at]) {
			if !scan {
				field--
				if field <= 0 {
					break
				}
			}
			v = v*10 + int(s[at]-'0')
			at++
			if v > 999999 {
				return parsed{truncated: true}
			}
		}
		length[i] = at - start
		date[i] = v
		field = 2
		last = at
		if at == len(s) {
			i++
			break
		}
		if i == 2 && s[at] == 'T' {
			at++
			last = at
			foundSpace, sawT = true, true
			i++
			continue
		}
		if i == 5 {
			if s[at] == '.' {
				at++
				last = at
				field = 6
				i++
				continue
			}
			i++
			break
		}
		if i == 6 {
			i++
			break
		}
		n := 0
		for at < len(s) && (isPunct(s[at]) || isSpace(s[at])) {
			if isSpace(s[at]) {
				if i != 2 {
					return parsed{truncated: true}
				}
				foundSpace = true
			}
			want := byte('-')
			switch {
			case i == 2:
				want = ' '
			case i > 2:
				want = ':'
			}
			if p.delim == 0 && (s[at] != want || n > 0) {
				if p.delim, p.delimAt, p.delimWant = s[at], at, want; s[at] == want {
					p.delimWant = 0
				}
			}
			foundDelim = true
			at++
			n++
		}
		last = at
		i++
	}
	if foundDelim && !foundSpace && onlyDateTime {
		return parsed{truncated: true}
	}
	fields := i
	at = last
	if internal {
		// The digits of a number without delimiters fill whole fields only.
		if yearLen == 2 && length[0] == 1 {
			return parsed{truncated: true}
		}
	} else {
		yearLen = length[0]
	}
	if length[6] > 0 {
		p.fsp = length[6]
		for n := length[6]; n < 6; n++ {
			date[6] *= 10
		}
	}
	y := date[0]
	if yearLen == 2 || yearLen == 1 && !internal {
		nonzero := false
		for k := range parts {
			nonzero = nonzero || date[k] != 0
		}
		if nonzero && yearLen == 2 {
			if y < 70 {
				y += 2000
			} else {
				y += 1900
			}
		}
	}
	if onlyDateTime && fields < 3 && !foundDelim && !internal {
		return parsed{truncated: true, notTime: true}
	}
	if fields < 3 || date[1] > 12 || date[2] > 31 || date[3] > 23 || date[4] > 59 || date[5] > 59 {
		return parsed{truncated: true}
	}
	if !validDate(y, date[1], date[2]) {
		tod := int64(date[3])*usPerHour + int64(date[4])*usPerMinute + int64(date[5])*usPerSecond + int64(date[6])
		return parsed{truncated: true, partial: date[1] == 0 || date[2] == 0, invalid: true, us: tod, fsp: p.fsp}
	}
	p.kind = DateTime
	if fields <= 3 {
		p.kind = Date
	}
	p.us = int64(daysOf(y, date[1], date[2]))*usPerDay + int64(date[3])*usPerHour + int64(date[4])*usPerMinute + int64(date[5])*usPerSecond + int64(date[6])
	if p.fsp == 6 && at < len(s) && isDigit(s[at]) {
		p.nanos = 100 * int(s[at]-'0')
		for at < len(s) && isDigit(s[at]) {
			at++
		}
	}
	if at < len(s) && (s[at] == '+' || s[at] == '-') && fields > 3 {
		off, ok := parseOffset(s[at:])
		if !ok {
			return parsed{truncated: true}
		}
		p.us -= off
		p.offset = true
		return p
	}
	if p.kind == Date && at == len(s) && !internal {
		switch c := s[at-1]; {
		case c == 'T':
			p.truncated = true
			return p
		case p.delim == 0 && isSpace(c):
			p.delim, p.delimAt = c, at-1
		}
	}
	p.trailing(s, at)
	if onlyDateTime && sawT && p.truncated {
		return parsed{truncated: true} // MySQL tries it as a time then
	}
	return p
}

// trailing judges what follows a value that ends at a position: blanks are
// superfluous delimiters, other text is lost.
func (p *parsed) trailing(s []byte, at int) {
	p.truncated = !onlySpaces(s[at:])
	if at == len(s) || p.delim != 0 || !isSpace(s[at]) || p.kind == Time && p.truncated {
		return
	}
	if p.delim, p.delimAt, p.delimWant = s[at], at, ' '; s[at] == ' ' {
		p.delimWant = 0
	}
}

// parseOffset reads ±hh:mm up to 14:00.
func parseOffset(s []byte) (us int64, ok bool) {
	if len(s) != 6 || s[3] != ':' || !isDigit(s[1]) || !isDigit(s[2]) || !isDigit(s[4]) || !isDigit(s[5]) {
		return 0, false
	}
	h, m := int(s[1]-'0')*10+int(s[2]-'0'), int(s[4]-'0')*10+int(s[5]-'0')
	if m > 59 || h*60+m > 14*60 || s[0] == '-' && h == 0 && m == 0 {
		return 0, false
	}
	us = int64(h*60+m) * usPerMinute
	if s[0] == '-' {
		us = -us
	}
	return us, true
}

// parseTime reads a time as MySQL's str_to_time does: [-][D ]hh:mm[:ss][.f],
// hhmmss, or a full date-time, whose kind is then DateTime.
func parseTime(s []byte) (p parsed) {
	at := skipSpaces(s)
	if at > 0 {
		p.delim, p.delimAt = s[0], 0
	}
	neg := false
	if at < len(s) && s[at] == '-' {
		neg = true
		at++
	}
	if at == len(s) {
		return parsed{truncated: true}
	}
	if !neg && len(s)-at >= 12 {
		if d := parseDateTime(s[at:], true); d.kind == DateTime || d.kind == Date {
			if d.delim != 0 {
				d.delimAt += at
			}
			if at > 0 {
				d.delim, d.delimAt, d.delimWant = p.delim, p.delimAt, 0
			}
			return d
		} else if d.invalid {
			return parsed{kind: Time, us: d.us, fsp: d.fsp} // a date that is none has a time of day
		} else if d.notTime || looksDateTime(s[at:]) {
			return d
		}
	}
	if !isDigit(s[at]) && s[at] != '.' && s[at] != ':' {
		return parsed{truncated: true}
	}
	num := func() int64 {
		var v int64
		for at < len(s) && isDigit(s[at]) {
			if v < math.MaxInt64/100 {
				v = v*10 + int64(s[at]-'0')
			}
			at++
		}
		return v
	}
	start := at
	v := num()
	if at == start && s[at] != '.' {
		return parsed{truncated: true}
	}
	end := at
	j := at
	for j < len(s) && isSpace(s[j]) {
		j++
	}
	var f [4]int64 // days, hours, minutes, seconds
	state := 0
	foundDays, foundHours := false, false
	switch {
	case len(s)-j > 1 && j != end && isDigit(s[j]):
		f[0], state, foundDays = v, 1, true
		at = j
	case len(s)-j > 1 && s[j] == ':' && isDigit(s[j+1]):
		f[1], state, foundHours = v, 2, true
		at = j + 1
	default:
		if v > math.MaxUint32 {
			return parsed{truncated: true}
		}
		f[1], f[2], f[3] = v/10000, v/100%100, v%100
		state = 4
	}
	if state < 4 {
		for {
			f[state] = num()
			state++
			if state == 4 || len(s)-at < 2 || s[at] != ':' || !isDigit(s[at+1]) {
				break
			}
			at++
		}
		if state != 4 && !foundHours && !foundDays {
			f = [4]int64{0, 0, 0, f[0]}
		}
	}
	var us int64
	if len(s)-at >= 2 && s[at] == '.' && isDigit(s[at+1]) {
		at++
		n := 0
		for at < len(s) && isDigit(s[at]) {
			if n < 6 {
				us = us*10 + int64(s[at]-'0')
			} else if n == 6 {
				p.nanos = 100 * int(s[at]-'0')
			}
			n++
			at++
		}
		p.fsp = min(n, 6)
		for ; n < 6; n++ {
			us *= 10
		}
	} else if len(s)-at == 1 && s[at] == '.' {
		at++
	}
	if len(s)-at > 1 && (s[at] == 'e' || s[at] == 'E') && (isDigit(s[at+1]) || (s[at+1] == '-' || s[at+1] == '+') && len(s)-at > 2 && isDigit(s[at+2])) {
		return parsed{truncated: true}
	}
	if f[0] > math.MaxUint32 || f[1] > math.MaxUint32 || f[2] > 59 || f[3] > 59 {
		return parsed{truncated: true}
	}
	p.kind = Time
	h := f[0]*24 + f[1]
	p.trailing(s, at)
	if h > 838 || h == 838 && f[2] == 59 && f[3] == 59 && us > 0 {
		p.us, p.truncated, p.nanos = maxTime, true, 0
	} else {
		p.us = h*usPerHour + f[2]*usPerMinute + f[3]*usPerSecond + us
	}
	if neg {
		p.us = -p.us
		p.nanos = -p.nanos
	}
	return p
}

// looksDateTime reports whether s has the shape of a date followed by a blank
// and a time, so that it is not tried as a time. Other texts are: '2024-02-29-10'
// is 00:20:24.
func looksDateTime(s []byte) bool {
	if len(s) < 12 || !isDigit(s[0]) || bytes.IndexByte(s, ' ') < 0 {
		return false
	}
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	if n == len(s) || s[n] != '-' && s[n] != '/' || n > 4 {
		return false
	}
	for n < len(s) && (isDigit(s[n]) || isPunct(s[n])) {
		n++
	}
	return n < len(s) && isSpace(s[n])
}

// numberToDateTime reads YYYYMMDD[hhmmss] and YYMMDD[hhmmss].
func numberToDateTime(nr int64) (p parsed) {
	kind := Date
	switch {
	case nr == 0:
		return parsed{truncated: true, partial: true}
	case nr >= 10000101000000:
		kind = DateTime
		if nr > 99999999999999 {
			return parsed{truncated: true}
		}
	case nr < 101: // a day without month of the year 2000, 100 a month without day
		return parsed{truncated: true, partial: nr > 0 && nr <= 31 || nr == 100}
	case nr <= 69*10000+1231:
		nr = (nr + 20000000) * 1000000
	case nr < 70*10000+101:
		return parsed{truncated: true}
	case nr <= 991231:
		nr = (nr + 19000000) * 1000000
	case nr <= 99991231: // 3610218 is a day of the year 361
		nr *= 1000000
	case nr < 101000000:
		return parsed{truncated: true}
	default:
		kind = DateTime
		switch {
		case nr <= 69*10000000000+1231235959:
			nr += 20000000000000
		case nr < 70*10000000000+101000000:
			return parsed{truncated: true}
		case nr <= 991231235959:
			nr += 19000000000000
		}
	}
	d, t := nr/1000000, nr%1000000
	y, m, day := int(d/10000), int(d/100%100), int(d%100)
	h, mi, s := t/10000, t/100%100, t%100
	if !validDate(y, m, day) || h > 23 || mi > 59 || s > 59 {
		return parsed{truncated: true, partial: (m == 0 || day == 0) && m <= 12 && day <= 31}
	}
	return parsed{kind: kind, us: int64(daysOf(y, m, day))*usPerDay + h*usPerHour + mi*usPerMinute + s*usPerSecond}
}

// timeOfDay reads a date-time as a time: of a date without month or day that is all
// that is known.
func timeOfDay(nr int64) parsed {
	d := numberToDateTime(nr)
	t := nr % 1000000
	if d.kind == Null && d.partial && t/10000 < 24 && t/100%100 < 60 && t%100 < 60 {
		return parsed{kind: Time, us: t/10000*usPerHour + t/100%100*usPerMinute + t%100*usPerSecond}
	}
	return d
}

// numberToTime reads [-]hhmmss, or a date-time.
func numberToTime(nr int64) (p parsed) {
	if nr > 8385959 {
		if nr >= 10000000000 {
			return timeOfDay(nr)
		}
		return parsed{truncated: true}
	}
	if nr < -8385959 {
		return parsed{truncated: true}
	}
	neg := nr < 0
	if neg {
		nr = -nr
	}
	if nr%100 >= 60 || nr/100%100 >= 60 {
		return parsed{truncated: true}
	}
	us := nr/10000*usPerHour + nr/100%100*usPerMinute + nr%100*usPerSecond
	if neg {
		us = -us
	}
	return parsed{kind: Time, us: us}
}

// wall returns a parsed date-time as wall clock in the session's zone: texts
// with an offset are instants.
func (p parsed) wall(z *time.Location) int64 {
	if p.offset {
		return wallOf(p.us, z)
	}
	return p.us
}

// rounded returns the microseconds with the seventh digit rounded in, then
// rounded to fsp digits.
func (p parsed) rounded(fsp int, cut bool) int64 {
	us := p.us
	if !cut {
		if p.nanos >= 500 {
			us++
		} else if p.nanos <= -500 {
			us--
		}
	}
	if p.kind == Time {
		return roundFraction(us, fsp, cut)
	}
	return roundWallFraction(us, fsp, cut)
}
