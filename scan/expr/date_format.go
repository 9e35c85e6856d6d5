package expr

import (
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func init() {
	register(&function{name: "DATE_FORMAT", min: 2, max: 2, class: "date", usage: "DATE_FORMAT(d, format)", doc: "A date as text: %Y-%m-%d %H:%i:%s and the other letters of MySQL, with English names; also Java's, as in yyyy-MM-dd HH:mm:ss.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			format, err := javaPattern(args[1])
			if err != nil {
				return nil, err
			}
			return formatCall(ctx, "DATE_FORMAT", args[0], format, false)
		}})
	register(&function{name: "TIME_FORMAT", min: 2, max: 2, class: "date", usage: "TIME_FORMAT(t, format)", doc: "A time as text; letters of dates give zeros, names and weeks NULL.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			return formatCall(ctx, "TIME_FORMAT", args[0], args[1], true)
		}})
	register(&function{name: "STR_TO_DATE", min: 2, max: 2, class: "date", usage: "STR_TO_DATE(s, format)", doc: "The date, time or both that s shows in a format.", resolve: strToDate})
	register(&function{name: "GET_FORMAT", min: 2, max: 2, class: "date", usage: "GET_FORMAT(DATE | TIME | DATETIME, name)", doc: "The format of EUR, USA, JIS, ISO or INTERNAL.", resolve: getFormat})
}

func formatCall(ctx *Context, name string, d, format Expr, clock bool) (Expr, error) {
	if err := isNested(d, format); err != nil {
		return nil, err
	}
	f := asText(ctx, format)
	t := TString(10*displayLength(f.Type()), ctx.collation())
	if ft := f.Type(); ft.Class == String {
		t.Collation, t.Coercibility = ft.Collation, ft.Coercibility
	}
	c := newCall(name, t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.Str)
		ty := ev.c.args[0].Type()
		var buf []byte
		if clock {
			tf := timeOrDateTime(ev.ctx, ty, ev.args[0])
			ev.rows(func(i int) {
				p, ok := tf(i)
				format := ev.args[1].Bytes(i)
				switch {
				case !ok || len(format) == 0:
					ok = false
				case p.kind == Time:
					buf, ok = appendFormat(buf[:0], format, noDay, p.us, true)
				default:
					day, tod := splitDateTime(p.us)
					buf, ok = appendFormat(buf[:0], format, day, tod, true)
				}
				if !ok {
					out.SetNull(i)
					return
				}
				out.SetBytes(i, buf)
			})
			return out, nil
		}
		df := dateTimes(ev.ctx, ty, ev.args[0], "datetime")
		return out, ev.each(func(i int) error {
			p, ok := df(i)
			if !ok {
				out.SetNull(i)
				return ev.ctx.zeroDate(p, true)
			}
			if len(ev.args[1].Bytes(i)) == 0 {
				out.SetNull(i)
				return nil
			}
			day, tod := splitDateTime(p.rounded(6, false))
			buf, _ = appendFormat(buf[:0], ev.args[1].Bytes(i), day, tod, false)
			out.SetBytes(i, buf)
			return nil
		})
	}, d, f)
	return c.nullable(), nil
}

// appendFormat prints by MySQL's format letters. With clock, of TIME_FORMAT, there
// are no weekdays and weeks: ok is false; the day may be noDay, which has no
// month, and then hours may exceed 23.
func appendFormat(dst, format []byte, day int32, tod int64, clock bool) (out []byte, ok bool) {
	if clock && tod < 0 {
		dst = append(dst, '-')
		tod = -tod
	}
	y, m, d := 0, 0, 0
	if day != noDay {
		y, m, d = civil(day)
	}
	h := int(tod / usPerHour)
	mi, s := int(tod/usPerMinute%60), int(tod/usPerSecond%60)
	h12 := (h%24 + 11) % 12
	pad := func(n, width int) {
		t := strconv.Itoa(n)
		for k := len(t); k < width; k++ {
			dst = append(dst, '0')
		}
		dst = append(dst, t...)
	}
	ampm := func() {
		if h%24 < 12 {
			dst = append(dst, "AM"...)
		} else {
			dst = append(dst, "PM"...)
		}
	}
	week := func(mode int) (int, int) { return weekOf(day, mode) }
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			dst = append(dst, format[i])
			continue
		}
		i++
		switch c := format[i]; c {
		case 'a', 'W', 'b', 'M', 'w', 'j', 'U', 'u', 'V', 'v', 'X', 'x':
			if day == noDay || clock && c != 'b' && c != 'M' {
				return dst, false
			}
			switch c {
			case 'a':
				dst = append(dst, dayNames[weekdayOf(day)][:3]...)
			case 'W':
				dst = append(dst, dayNames[weekdayOf(day)]...)
			case 'b':
				dst = append(dst, monthNames[m-1][:3]...)
			case 'M':
				dst = append(dst, monthNames[m-1]...)
			case 'w':
				pad((weekdayOf(day)+1)%7, 1)
			case 'j':
				pad(int(day-daysOf(y, 1, 1))+1, 3)
			case 'U':
				w, _ := week(weekFirstWeekday)
				pad(w, 2)
			case 'u':
				w, _ := week(weekMonday)
				pad(w, 2)
			case 'V':
				w, _ := week(weekYear | weekFirstWeekday)
				pad(w, 2)
			case 'v':
				w, _ := week(weekYear | weekMonday)
				pad(w, 2)
			case 'X':
				_, yy := week(weekYear | weekFirstWeekday)
				pad(yy, 4)
			case 'x':
				_, yy := week(weekYear | weekMonday)
				pad(yy, 4)
			}
		case 'c':
			pad(m, 1)
		case 'D':
			if clock {
				return dst, false
			}
			pad(d, 1)
			suffix := "th"
			if d < 10 || d > 19 {
				switch d % 10 {
				case 1:
					suffix = "st"
				case 2:
					suffix = "nd"
				case 3:
					suffix = "rd"
				}
			}
			dst = append(dst, suffix...)
		case 'd':
			pad(d, 2)
		case 'e':
			pad(d, 1)
		case 'f':
			pad(int(tod%usPerSecond), 6)
		case 'H':
			pad(h, 2)
		case 'h', 'I':
			pad(h12+1, 2)
		case 'i':
			pad(mi, 2)
		case 'k':
			pad(h, 1)
		case 'l':
			pad(h12+1, 1)
		case 'm':
			pad(m, 2)
		case 'p':
			ampm()
		case 'r':
			pad(h12+1, 2)
			dst = append(dst, ':')
			pad(mi, 2)
			dst = append(dst, ':')
			pad(s, 2)
			dst = append(dst, ' ')
			ampm()
		case 'S', 's':
			pad(s, 2)
		case 'T':
			pad(h, 2)
			dst = append(dst, ':')
			pad(mi, 2)
			dst = append(dst, ':')
			pad(s, 2)
		case 'Y':
			pad(y, 4)
		case 'y':
			pad(y%100, 2)
		default:
			dst = append(dst, c)
		}
	}
	return dst, true
}

// formatKind says what a format of STR_TO_DATE gives.
func formatKind(format []byte) (date, clock, micros bool) {
	for i := 0; i+1 < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		i++
		switch format[i] {
		case 'f':
			clock, micros = true, true
		case 'H', 'S', 'T', 'h', 'i', 'k', 'l', 'r', 's', 'I':
			clock = true
		case 'M', 'U', 'V', 'W', 'X', 'Y', 'a', 'b', 'c', 'd', 'e', 'j', 'm', 'u', 'v', 'w', 'x', 'y', 'D':
			date = true
		}
	}
	return date, clock, micros
}

func strToDate(ctx *Context, args []Expr) (Expr, error) {
	if err := isNested(args...); err != nil {
		return nil, err
	}
	s, f := asText(ctx, args[0]), asText(ctx, args[1])
	t := TDateTime(6)
	if l, ok := f.(*LiteralExpr); ok && !l.Val.IsNull() {
		date, clock, micros := formatKind(l.Val.Vec.Bytes(0))
		switch {
		case clock && !date:
			t = TTime(0)
		case !clock:
			t = TDate
		default:
			t = TDateTime(0)
		}
		if micros {
			t.Scale = 6
		}
	}
	c := newCall("STR_TO_DATE", t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(t.Physical())
		kind := map[Class]string{Date: "date", DateTime: "datetime", Time: "time"}[t.Class]
		return out, ev.each(func(i int) error {
			s := ev.args[0].Bytes(i)
			var x dateFields
			rest, ok := x.read(s, ev.args[1].Bytes(i))
			if ok {
				ok = x.finish()
			}
			zero := x.y == 0 && x.m == 0 && x.d == 0 || x.m == 0 || x.d == 0
			if ok && t.Class != Time && zero {
				if !ev.ctx.Mode.Has(NoZeroDate | NoZeroInDate) {
					return errs.Unsupportedf(-1, "dates whose month or day is zero")
				}
				ok = false
			}
			if ok && t.Class != Time && (x.d > daysIn(x.y, x.m)) {
				ok = false
			}
			if !ok {
				what := "datetime"
				if x.clock {
					what = "time"
				}
				ev.ctx.warn("Warning", errs.WrongValueForFunc, "Incorrect %s value: '%s' for function str_to_date", what, shown(s))
				out.SetNull(i)
				return nil
			}
			if !onlySpaces(rest) {
				ev.ctx.truncated(kind, s)
			}
			tod := int64(x.h)*usPerHour + int64(x.mi)*usPerMinute + int64(x.s)*usPerSecond + int64(x.us)
			switch t.Class {
			case Date:
				out.I32s[i] = daysOf(x.y, x.m, x.d)
			case Time:
				out.I64s[i] = int64(x.d)*usPerDay + tod
			default:
				out.I64s[i] = int64(daysOf(x.y, x.m, x.d))*usPerDay + tod
			}
			return nil
		})
	}, s, f)
	return c.nullable(), nil
}

// dateFields collects what STR_TO_DATE reads.
type dateFields struct {
	y, m, d, h, mi, s, us int
	weekday               int // 1 Monday to 7 Sunday, 0 unknown
	yearday               int
	week                  int // -1 unknown
	weekSet               bool
	sunday, strict        bool
	strictYear            int
	strictYearSet, yearX  bool
	usa                   bool
	clock                 bool // %r or %T was tried
	pm                    int
}

// read matches s against the format and returns what is left of s.
func (x *dateFields) read(s, format []byte) (rest []byte, ok bool) {
	number := func(width int) (int, int, bool) {
		n, k, sign := 0, 0, 0
		if len(s) > 1 && s[0] == '+' && isDigit(s[1]) && width > 1 {
			k, sign = 1, 1
		}
		for k < width && k < len(s) && isDigit(s[k]) {
			n = n*10 + int(s[k]-'0')
			k++
		}
		s = s[k:]
		return n, k, k > sign
	}
	// A name may be cut as long as it is the only one that begins so.
	name := func(names []string, short bool) (int, bool) {
		k := 0
		for k < len(s) && (s[k] >= 'a' && s[k] <= 'z' || s[k] >= 'A' && s[k] <= 'Z') {
			k++
		}
		w := lower(string(s[:k]))
		found := -1
		for i, n := range names {
			if short {
				n = n[:3]
			}
			if n = lower(n); n == w {
				found = i
				break
			} else if w != "" && strings.HasPrefix(n, w) {
				if found >= 0 {
					return 0, false
				}
				found = i
			}
		}
		if found < 0 {
			return 0, false
		}
		s = s[k:]
		return found, true
	}
	for i := 0; i < len(format); i++ {
		s = s[skipSpaces(s):]
		if len(s) == 0 {
			break
		}
		c := format[i]
		if c != '%' || i+1 == len(format) {
			if !isSpace(c) {
				if s[0] != c {
					return s, false
				}
				s = s[1:]
			}
			continue
		}
		i++
		good := true
		var n, k int
		switch format[i] {
		case 'Y':
			if x.y, k, good = number(4); good && k <= 2 {
				x.y = twoDigits(x.y)
			}
		case 'y':
			if x.y, _, good = number(2); good {
				x.y = twoDigits(x.y)
			}
		case 'm', 'c':
			x.m, _, good = number(2)
		case 'M':
			n, good = name(monthNames[:], false)
			x.m = n + 1
		case 'b':
			n, good = name(monthNames[:], true)
			x.m = n + 1
		case 'd', 'e':
			x.d, _, good = number(2)
		case 'D':
			x.d, _, good = number(2)
			s = s[min(2, len(s)):]
		case 'h', 'I', 'l':
			x.usa = true
			x.h, _, good = number(2)
		case 'k', 'H':
			x.h, _, good = number(2)
		case 'i':
			x.mi, _, good = number(2)
		case 's', 'S':
			x.s, _, good = number(2)
		case 'f':
			if x.us, k, good = number(6); good {
				for ; k < 6; k++ {
					x.us *= 10
				}
			}
		case 'p':
			if len(s) < 2 || !x.usa {
				return s, false
			}
			switch upper(string(s[:2])) {
			case "PM":
				x.pm = 12
			case "AM":
			default:
				return s, false
			}
			s = s[2:]
		case 'W':
			n, good = name(dayNames[:], false)
			x.weekday = n + 1
		case 'a':
			n, good = name(dayNames[:], true)
			x.weekday = n + 1
		case 'w':
			n, _, good = number(1)
			if n > 6 {
				return s, false
			}
			if x.weekday = n; n == 0 {
				x.weekday = 7
			}
		case 'j':
			x.yearday, _, good = number(3)
		case 'V', 'U', 'v', 'u':
			x.sunday = format[i] == 'V' || format[i] == 'U'
			x.strict = format[i] == 'V' || format[i] == 'v'
			x.week, _, good = number(2)
			x.weekSet = true
			if x.strict && x.week == 0 || x.week > 53 {
				return s, false
			}
		case 'X', 'x':
			x.yearX = format[i] == 'X'
			x.strictYear, _, good = number(4)
			x.strictYearSet = true
		case 'r', 'T':
			sub := "%H:%i:%S"
			if format[i] == 'r' {
				sub = "%I:%i:%S %p"
			}
			x.clock = true
			if s, good = x.read(s, []byte(sub)); !good {
				return s, false
			}
		case '.':
			for len(s) > 0 && isPunct(s[0]) {
				s = s[1:]
			}
		case '@':
			for len(s) > 0 && (s[0]|32 >= 'a' && s[0]|32 <= 'z') {
				s = s[1:]
			}
		case '#':
			for len(s) > 0 && isDigit(s[0]) {
				s = s[1:]
			}
		default:
			return s, false
		}
		if !good {
			return s, false
		}
	}
	return s, true
}

func twoDigits(y int) int {
	if y < 70 {
		return y + 2000
	}
	if y < 100 {
		return y + 1900
	}
	return y
}

// finish combines the fields.
func (x *dateFields) finish() bool {
	if x.usa {
		if x.h > 12 || x.h < 1 {
			return false
		}
		x.h = x.h%12 + x.pm
	}
	set := func(day int) bool {
		if day < int(minDay) || day > int(maxDay) {
			return false
		}
		x.y, x.m, x.d = civil(int32(day))
		return true
	}
	if x.yearday > 0 && x.y == 0 {
		// Day 366 of year 0 is the first that MySQL's calendar has.
		if x.yearday < 366 || !set(x.yearday-dayZero) {
			return false
		}
	} else if x.yearday > 0 && !set(int(daysOf(x.y, 1, 1))+x.yearday-1) {
		return false
	}
	if x.weekSet && x.weekday > 0 {
		if x.strict && (!x.strictYearSet || x.yearX != x.sunday) || !x.strict && x.strictYearSet {
			return false
		}
		y := x.y
		if x.strict {
			y = x.strictYear
		}
		day := int(daysOf(y, 1, 1))
		b := weekdayOf(int32(day))
		if x.sunday {
			b = (b + 1) % 7
			if b != 0 {
				day += 7
			}
			day += -b + (x.week-1)*7 + x.weekday%7
		} else {
			if b > 3 {
				day += 7
			}
			day += -b + (x.week-1)*7 + x.weekday - 1
		}
		if !set(day) {
			return false
		}
	}
	return x.m <= 12 && x.d <= 31 && x.h <= 23 && x.mi <= 59 && x.s <= 59
}

// getFormat is GET_FORMAT, whose arguments are constants in practice.
func getFormat(ctx *Context, args []Expr) (Expr, error) {
	kind, ok := word(args[0])
	if !ok {
		return nil, errs.Userf(errs.WrongArguments, "Incorrect arguments to GET_FORMAT")
	}
	formats := map[string]map[string]string{
		"DATE":     {"USA": "%m.%d.%Y", "JIS": "%Y-%m-%d", "ISO": "%Y-%m-%d", "EUR": "%d.%m.%Y", "INTERNAL": "%Y%m%d"},
		"TIME":     {"USA": "%h:%i:%s %p", "JIS": "%H:%i:%s", "ISO": "%H:%i:%s", "EUR": "%H.%i.%s", "INTERNAL": "%H%i%s"},
		"DATETIME": {"USA": "%Y-%m-%d %H.%i.%s", "JIS": "%Y-%m-%d %H:%i:%s", "ISO": "%Y-%m-%d %H:%i:%s", "EUR": "%Y-%m-%d %H.%i.%s", "INTERNAL": "%Y%m%d%H%i%s"},
	}
	k := upper(kind)
	if k == "TIMESTAMP" {
		k = "DATETIME"
	}
	table := formats[k]
	if table == nil {
		return nil, errs.Userf(errs.WrongArguments, "Incorrect arguments to GET_FORMAT")
	}
	t := TString(17, ctx.collation())
	c := newCall("GET_FORMAT", t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.Str)
		ev.rows(func(i int) {
			f, ok := table[upper(string(ev.args[0].Bytes(i)))]
			if !ok {
				out.SetNull(i)
				return
			}
			out.SetBytes(i, []byte(f))
		})
		return out, nil
	}, asText(ctx, args[1]))
	return c.nullable(), nil
}
