package expr

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// part is a number that a date and a time of day give.
type part struct {
	name, doc string
	ret       Type
	clock     bool // of the time of day only: times are read as such
	get       func(days int32, tod int64) int64
}

var parts = []part{
	{"YEAR", "The year.", Type{Class: Year, Width: 8, Coercibility: 5}, false, func(d int32, _ int64) int64 { y, _, _ := civil(d); return int64(y) }},
	{"MONTH", "The month, 1 to 12.", TBigInt, false, func(d int32, _ int64) int64 { _, m, _ := civil(d); return int64(m) }},
	{"DAYOFMONTH", "The day of the month.", TBigInt, false, func(d int32, _ int64) int64 { _, _, x := civil(d); return int64(x) }},
	{"QUARTER", "The quarter, 1 to 4.", TBigInt, false, func(d int32, _ int64) int64 { _, m, _ := civil(d); return int64(m+2) / 3 }},
	{"DAYOFWEEK", "The weekday, 1 for Sunday to 7 for Saturday.", TBigInt, false, func(d int32, _ int64) int64 { return int64(weekdayOf(d)+1)%7 + 1 }},
	{"WEEKDAY", "The weekday, 0 for Monday to 6 for Sunday.", TBigInt, false, func(d int32, _ int64) int64 { return int64(weekdayOf(d)) }},
	{"DAYOFYEAR", "The day of the year.", TBigInt, false, func(d int32, _ int64) int64 { y, _, _ := civil(d); return int64(d-daysOf(y, 1, 1)) + 1 }},
	{"WEEKOFYEAR", "The ISO week: WEEK(d, 3).", TBigInt, false, func(d int32, _ int64) int64 { w, _ := weekOf(d, weekMode(3)); return int64(w) }},
	{"TO_DAYS", "Days since year 0.", TBigInt, false, func(d int32, _ int64) int64 { return dayNumber(d) }},
	{"TO_SECONDS", "Seconds since year 0.", TBigInt, false, func(d int32, t int64) int64 { return dayNumber(d)*86400 + t/usPerSecond }},
	{"HOUR", "The hours, beyond 23 for a TIME.", TBigInt, true, func(_ int32, t int64) int64 { return absInt(t) / usPerHour }},
	{"MINUTE", "The minutes.", TBigInt, true, func(_ int32, t int64) int64 { return absInt(t) / usPerMinute % 60 }},
	{"SECOND", "The seconds.", TBigInt, true, func(_ int32, t int64) int64 { return absInt(t) / usPerSecond % 60 }},
	{"MICROSECOND", "The microseconds.", TBigInt, true, func(_ int32, t int64) int64 { return absInt(t) % usPerSecond }},
	{"TIME_TO_SEC", "A time in seconds.", TBigInt, true, func(_ int32, t int64) int64 { return t / usPerSecond }},
}

// dayZero is TO_DAYS('1970-01-01').
const dayZero = 719528

// noDay stands for the date of a time.
const noDay = -1 << 31

func absInt(x int64) int64 { return max(x, -x) }

func init() {
	for _, p := range parts {
		register(&function{name: p.name, min: 1, max: 1, class: "date", usage: p.name + "(d)", doc: p.doc,
			resolve: func(ctx *Context, args []Expr) (Expr, error) { return datePart(ctx, p, args[0]) }})
	}
	alias("DAY", "DAYOFMONTH")
	week := func(name, doc string, year bool) {
		register(&function{name: name, min: 1, max: 2, class: "date", usage: name + "(d[, mode])", doc: doc,
			resolve: func(ctx *Context, args []Expr) (Expr, error) {
				if err := isNested(args...); err != nil {
					return nil, err
				}
				mode := Expr(Literal(IntValue(0)))
				if len(args) > 1 {
					mode = asSigned(ctx, args[1])
				} else if !year {
					mode = Literal(IntValue(int64(ctx.DefaultWeekFormat)))
				}
				c := newCall(name, TBigInt, func(ev *evaluation) (*vector.Vec, error) {
					out := ev.out(vector.I64)
					f := dateTimes(ev.ctx, ev.c.args[0].Type(), ev.args[0], "date")
					return out, ev.each(func(i int) error {
						p, ok := f(i)
						if !ok {
							out.SetNull(i)
							return ev.ctx.zeroDate(p, true)
						}
						d, _ := splitDateTime(p.us)
						m := weekMode(int(intAt(ev.args[1], i)))
						if year {
							m |= weekYear
						}
						w, y := weekOf(d, m)
						out.I64s[i] = int64(w)
						if year {
							out.I64s[i] += int64(y) * 100
						}
						return nil
					})
				}, args[0], mode)
				return c.nullable(), nil
			}})
	}
	week("WEEK", "The week of the year; mode says what starts a week and which week is the first.", false)
	week("YEARWEEK", "Year and week as YYYYWW.", true)
	register(&function{name: "EXTRACT", min: 2, max: 2, class: "date", usage: "EXTRACT(unit FROM d)", doc: "A part of a date or time, or several as one number.", resolve: extract})
	fn(spec{name: "LAST_DAY", min: 1, max: 1, class: "date", usage: "LAST_DAY(d)", doc: "The last day of the month.", kinds: "a", ret: returns(TDate), nullable: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			f := dateTimes(ev.ctx, ev.c.args[0].Type(), ev.args[0], "date")
			return func(i int, out *vector.Vec) error {
				p, ok := f(i)
				if !ok {
					out.SetNull(i)
					return ev.ctx.zeroDate(p, true)
				}
				d, _ := splitDateTime(p.us)
				y, m, _ := civil(d)
				out.I32s[i] = daysOf(y, m, daysIn(y, m))
				return nil
			}
		}})
	names := func(name, doc string, get func(d int32) string) {
		fn(spec{name: name, min: 1, max: 1, class: "date", usage: name + "(d)", doc: doc, kinds: "a", ret: retPlain(9), nullable: true,
			body: func(ev *evaluation) func(i int, out *vector.Vec) error {
				f := dateTimes(ev.ctx, ev.c.args[0].Type(), ev.args[0], "date")
				return func(i int, out *vector.Vec) error {
					p, ok := f(i)
					if !ok {
						out.SetNull(i)
						return ev.ctx.zeroDate(p, true)
					}
					d, _ := splitDateTime(p.us)
					out.SetBytes(i, []byte(get(d)))
					return nil
				}
			}})
	}
	names("DAYNAME", "The weekday's English name.", func(d int32) string { return dayNames[weekdayOf(d)] })
	names("MONTHNAME", "The month's English name.", func(d int32) string { _, m, _ := civil(d); return monthNames[m-1] })
}

var dayNames = [7]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
var monthNames = [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}

func datePart(ctx *Context, p part, x Expr) (Expr, error) {
	if err := isNested(x); err != nil {
		return nil, err
	}
	t := x.Type()
	ret := p.ret
	k := ret.Physical()
	c := newCall(p.name, ret, nil, x)
	if !t.IsTemporal() {
		c.nullable()
	}
	set := func(out *vector.Vec, i int, v int64) {
		if k == vector.I32 {
			out.I32s[i] = int32(v)
		} else {
			out.I64s[i] = v
		}
	}
	c.kern = func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(k)
		a := ev.args[0]
		switch {
		case t.Class == Date:
			s, m := i32s(a)
			ev.rows(func(i int) { set(out, i, p.get(s[i&m], 0)) })
			return out, nil
		case t.Class == DateTime:
			s, m := i64s(a)
			ev.rows(func(i int) {
				d, tod := splitDateTime(s[i&m])
				set(out, i, p.get(d, tod))
			})
			return out, nil
		case p.clock:
			f := timesOf(ev.ctx, t, a)
			ev.rows(func(i int) {
				v, ok := f(i)
				if !ok {
					out.SetNull(i)
					return
				}
				set(out, i, p.get(0, v.rounded(6, false)))
			})
			return out, nil
		}
		f := dateTimes(ev.ctx, t, a, "date")
		return out, ev.each(func(i int) error {
			v, ok := f(i)
			if !ok {
				out.SetNull(i)
				return ev.ctx.zeroDate(v, true)
			}
			d, tod := splitDateTime(v.us)
			set(out, i, p.get(d, tod))
			return nil
		})
	}
	return c, nil
}

// Week modes, as bits.
const (
	weekMonday       = 1
	weekYear         = 2
	weekFirstWeekday = 4
)

// weekMode turns the argument of WEEK into bits.
func weekMode(mode int) int {
	m := mode & 7
	if m&weekMonday == 0 {
		m ^= weekFirstWeekday
	}
	return m
}

// weekOf returns week and year of a day by MySQL's rules.
func weekOf(day int32, mode int) (week, year int) {
	y, m, d := civil(day)
	first := daysOf(y, 1, 1)
	monday, withYear, firstWeekday := mode&weekMonday != 0, mode&weekYear != 0, mode&weekFirstWeekday != 0
	weekday := weekdayOf(first)
	if !monday {
		weekday = (weekday + 1) % 7
	}
	year = y
	yearDays := func(y int) int {
		if isLeap(y) {
			return 366
		}
		return 365
	}
	if m == 1 && d <= 7-weekday {
		if !withYear && (firstWeekday && weekday != 0 || !firstWeekday && weekday >= 4) {
			return 0, year
		}
		withYear = true
		year--
		n := yearDays(year)
		first -= int32(n)
		weekday = (weekday + 53*7 - n) % 7
	}
	var days int
	if firstWeekday && weekday != 0 || !firstWeekday && weekday >= 4 {
		days = int(day - (first + int32(7-weekday)))
	} else {
		days = int(day - (first - int32(weekday)))
	}
	if withYear && days >= 52*7 {
		weekday = (weekday + yearDays(year)) % 7
		if !firstWeekday && weekday < 4 || firstWeekday && weekday == 0 {
			return 1, year + 1
		}
	}
	return days/7 + 1, year
}

// dateOrTime reads rows as date-times where they are such, and else as times.
func dateOrTime(ctx *Context, t Type, v *vector.Vec) func(i int) (parsed, bool) {
	if t.IsTemporal() {
		return timeOrDateTime(ctx, t, v)
	}
	var date func(i int) parsed
	switch {
	case t.IsNumber():
		d := decs(ctx, t, v)
		date = func(i int) parsed { return decToDateTime(d(i)) }
	case isString(t):
		date = func(i int) parsed { return parseDateTime(v.Bytes(i), false) }
	default:
		return timeOrDateTime(ctx, t, v)
	}
	z := ctx.zone()
	clock := timesOf(ctx, t, v)
	return func(i int) (parsed, bool) {
		p := date(i)
		if p.kind == Null || p.truncated || p.delim != 0 {
			return clock(i)
		}
		p.kind, p.us, p.offset = DateTime, p.wall(z), false
		ctx.carry(&p)
		return p, p.kind != Null
	}
}

// unit is a unit of intervals and EXTRACT.
type unit struct {
	// fields of a compound unit's text, from the first to the last; simple units
	// have one.
	first, last field0
}

type field0 uint8

const (
	fYear field0 = iota
	fMonth
	fDay
	fHour
	fMinute
	fSecond
	fMicro
	fWeek
	fQuarter
)

var units = map[string]unit{
	"MICROSECOND": {fMicro, fMicro}, "SECOND": {fSecond, fSecond}, "MINUTE": {fMinute, fMinute}, "HOUR": {fHour, fHour}, "DAY": {fDay, fDay},
	"WEEK": {fWeek, fWeek}, "MONTH": {fMonth, fMonth}, "QUARTER": {fQuarter, fQuarter}, "YEAR": {fYear, fYear},
	"SECOND_MICROSECOND": {fSecond, fMicro}, "MINUTE_MICROSECOND": {fMinute, fMicro}, "MINUTE_SECOND": {fMinute, fSecond},
	"HOUR_MICROSECOND": {fHour, fMicro}, "HOUR_SECOND": {fHour, fSecond}, "HOUR_MINUTE": {fHour, fMinute},
	"DAY_MICROSECOND": {fDay, fMicro}, "DAY_SECOND": {fDay, fSecond}, "DAY_MINUTE": {fDay, fMinute}, "DAY_HOUR": {fDay, fHour},
	"YEAR_MONTH": {fYear, fMonth},
}

// dateOnly reports whether the unit leaves the time of day alone.
func (u unit) dateOnly() bool {
	return u.last == fYear || u.last == fMonth || u.last == fQuarter || u.last == fWeek || u.last == fDay
}

// clockOnly reports whether the unit has no days or longer.
func (u unit) clockOnly() bool { return u.first >= fHour && u.first <= fMicro }

func unitOf(e Expr) (unit, string, error) {
	w, ok := word(e)
	u, known := units[upper(w)]
	if !ok || !known {
		return u, w, errs.Userf(errs.Syntax, "unknown unit %s of an interval", w)
	}
	return u, upper(w), nil
}

func extract(ctx *Context, args []Expr) (Expr, error) {
	u, name, err := unitOf(args[0])
	if err != nil {
		return nil, err
	}
	x := args[1]
	if err := isNested(x); err != nil {
		return nil, err
	}
	if name == "WEEK" {
		// EXTRACT(WEEK …) is WEEK with the session's default.
		return Call(ctx, "WEEK", x)
	}
	t := x.Type()
	clock := u.first >= fHour && u.first <= fMicro
	c := newCall("EXTRACT", TBigInt, nil, x)
	c.inner = name
	c.text = "extract(" + lower(name) + " from " + x.String() + ")"
	if !t.IsTemporal() {
		c.nullable()
	}
	number := func(d int32, tod int64) int64 {
		neg := tod < 0
		tod = absInt(tod)
		var r int64
		switch u.first {
		case fYear, fMonth, fQuarter:
			y, m, _ := civil(d)
			switch {
			case u.first == fQuarter:
				return int64(m+2) / 3
			case u.first == fMonth:
				return int64(m)
			case u.last == fMonth:
				return int64(y)*100 + int64(m)
			}
			return int64(y)
		case fDay:
			if d != noDay {
				_, _, day := civil(d)
				r = int64(day)
			}
		}
		for f := max(u.first, fHour); f <= u.last; f++ {
			switch f {
			case fHour:
				r = r*100 + tod/usPerHour
			case fMinute:
				r = r*100 + tod/usPerMinute%60
			case fSecond:
				r = r*100 + tod/usPerSecond%60
			case fMicro:
				r = r*1000000 + tod%usPerSecond
			}
		}
		if neg {
			return -r
		}
		return r
	}
	c.kern = func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		if clock || u.first == fDay && u.last != fDay {
			// A time has no days, but any number of hours.
			f := dateOrTime(ev.ctx, t, ev.args[0])
			ev.rows(func(i int) {
				p, ok := f(i)
				switch {
				case !ok:
					out.SetNull(i)
				case p.kind == Time:
					out.I64s[i] = number(noDay, p.rounded(6, false))
				default:
					d, tod := splitDateTime(p.us)
					out.I64s[i] = number(d, tod)
				}
			})
			return out, nil
		}
		f := dateTimes(ev.ctx, t, ev.args[0], "datetime")
		return out, ev.each(func(i int) error {
			p, ok := f(i)
			if !ok {
				out.SetNull(i)
				return ev.ctx.zeroDate(p, true)
			}
			d, tod := splitDateTime(p.us)
			out.I64s[i] = number(d, tod)
			return nil
		})
	}
	return c, nil
}
