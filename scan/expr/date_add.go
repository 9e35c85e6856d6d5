package expr

import (
	"bytes"
	"math"
	"math/big"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func init() {
	for _, name := range []string{"DATE_ADD", "DATE_SUB"} {
		register(&function{name: name, min: 3, max: 3, class: "date", usage: name + "(d, INTERVAL n unit)",
			doc:     "A date moved by an interval: DATE with days and longer units, else DATETIME; text stays text. Also d + INTERVAL n unit.",
			resolve: func(ctx *Context, args []Expr) (Expr, error) { return dateAdd(ctx, name, args[0], args[1], args[2]) }})
		operatorText[name] = func(c *call) string {
			op := " + "
			if name == "DATE_SUB" {
				op = " - "
			}
			return "(" + c.args[0].String() + op + "interval " + c.args[1].String() + " " + lower(c.inner) + ")"
		}
	}
	register(&function{name: "TIMESTAMPADD", min: 3, max: 3, class: "date", usage: "TIMESTAMPADD(unit, n, d)", doc: "DATE_ADD with its arguments in another order.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			return dateAdd(ctx, "DATE_ADD", args[2], args[1], args[0])
		}})
}

// span is an interval.
type span struct {
	months int64
	days   int64
	us     int64
	bad    bool // does not fit
	wrong  bool // is no interval
}

// dateAdd resolves d ± INTERVAL n unit.
func dateAdd(ctx *Context, name string, d, n, unitName Expr) (Expr, error) {
	u, uname, err := unitOf(unitName)
	if err != nil {
		return nil, err
	}
	if err := isNested(d, n); err != nil {
		return nil, err
	}
	sub := name == "DATE_SUB"
	t := d.Type()
	// Fraction digits that the interval brings.
	fsp := 0
	switch {
	case u.last == fMicro:
		fsp = 6
	case u.first == fSecond:
		switch nt := n.Type(); nt.Class {
		case Decimal:
			fsp = min(nt.Scale, 6)
		case Int, Bool, Year, Bit, Date:
		case DateTime, Time, Timestamp:
			fsp = nt.Scale
		case Null:
		default:
			fsp = 6
		}
	}
	var ret Type
	switch t.Class {
	case Date:
		ret = TDate
		if !u.dateOnly() {
			ret = TDateTime(fsp)
		}
	case DateTime, Timestamp:
		ret = TDateTime(max(t.Scale, fsp))
	case Time:
		ret = TDateTime(max(t.Scale, fsp))
		if u.clockOnly() {
			ret.Class = Time
		}
	default:
		ret = TString(29, ctx.collation())
	}
	ret.Coercibility = 4
	// Compound units are texts; fractions of a second are decimals; others
	// round to integers.
	kind := byte('i')
	if u.first != u.last {
		kind = 't'
	} else if u.first == fSecond {
		kind = 'a'
	}
	if t.Class == Null || n.Type().Class == Null {
		v := Value{Type: ret, Vec: vector.NewNull(ret.Physical(), 1)}
		v.Type.Nullable = true
		return Literal(v), nil
	}
	if kind == 'i' && n.Type().Class == Decimal {
		n = toNumeric(ctx, n)
	}
	n = argument(ctx, kind, n)
	if k, ok := n.(*call); ok && noDateText(d) {
		quiet := *k // MySQL does not look at the interval
		quiet.kern = unwarned(k.kern)
		n = &quiet
	}
	c := newCall(name, ret, nil, d, n)
	c.inner = uname
	c.nullable()
	c.kern = func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(ret.Physical())
		interval := intervals(ev, u)
		apply := func(i int, p parsed) (_ int64, ok, bad bool) {
			s := interval(i)
			if s.bad {
				return 0, false, s.wrong
			}
			if sub {
				s.months, s.days, s.us = -s.months, -s.days, -s.us
			}
			us, ok := addSpan(p.us, s)
			return us, ok, false
		}
		overflow := func(i int, bad bool) { // bad: the interval itself is out of range
			switch date := ret.Class == Date || ret.Class == Time; {
			case bad && date:
			case bad:
				ev.ctx.warn("Warning", errs.DateOutOfRange, "DATETIME value is out of range in '%s'", ev.c)
			case date:
				ev.ctx.warn("Warning", errs.DateOutOfRange, "%s value is out of range in '%s'", ret.sqlName(), ev.c)
			default:
				ev.ctx.warn("Warning", errs.DatetimeOverflow, "Datetime function: datetime field overflow")
			}
			out.SetNull(i)
		}
		if ret.Class == Time {
			s, m := i64s(ev.args[0])
			ev.rows(func(i int) {
				iv := interval(i)
				us := iv.us + iv.days*usPerDay
				if iv.days > 100 || iv.days < -100 {
					us = 2 * maxTime * int64(sign(int(iv.days)))
				}
				if sub {
					us = -us
				}
				r := s[i&m] + us
				if iv.bad || r > maxTime || r < -maxTime {
					overflow(i, iv.wrong)
					return
				}
				out.I64s[i] = r
			})
			return out, nil
		}
		f := dateTimes(ev.ctx, t, ev.args[0], "datetime")
		var buf []byte
		return out, ev.each(func(i int) error {
			p, ok := f(i)
			if !ok {
				out.SetNull(i)
				return ev.ctx.zeroDate(p, false)
			}
			p.us = p.rounded(6, false)
			us, ok, bad := apply(i, p)
			if !ok {
				overflow(i, bad)
				return nil
			}
			switch ret.Class {
			case Date:
				out.I32s[i], _ = splitDateTime(us)
			case DateTime:
				out.I64s[i] = us
			default:
				if p.kind == Date && u.dateOnly() {
					day, _ := splitDateTime(us)
					buf = appendDate(buf[:0], day)
				} else {
					digits := 0
					if us%usPerSecond != 0 {
						digits = 6
					}
					buf = appendDateTime(buf[:0], us, digits)
				}
				out.SetBytes(i, buf)
			}
			return nil
		})
	}
	return c, nil
}

// noDateText reports whether e is a literal text that is no date.
func noDateText(e Expr) bool {
	l, ok := e.(*LiteralExpr)
	return ok && isString(l.Type()) && !l.Val.IsNull() && parseDateTime(l.Val.Vec.Bytes(0), false).kind == Null
}

// addSpan moves a date-time; ok is false beyond the years 0 to 9999.
func addSpan(us int64, s span) (int64, bool) {
	d, tod := splitDateTime(us)
	if s.months != 0 {
		y, m, day := civil(d)
		if s.months > 120000 || s.months < -120000 {
			return 0, false
		}
		period := int64(y)*12 + int64(m) - 1 + s.months
		if period < 0 || period >= 120000 {
			return 0, false
		}
		y, m = int(period/12), int(period%12)+1
		d = daysOf(y, m, min(day, daysIn(y, m)))
	}
	days := int64(d) + s.days + floorDiv(tod+s.us, usPerDay)
	tod = tod + s.us - floorDiv(tod+s.us, usPerDay)*usPerDay
	if days < int64(minDay) || days > int64(maxDay) {
		return 0, false
	}
	return days*usPerDay + tod, true
}

// intervals reads the rows of the second argument as intervals.
func intervals(ev *evaluation, u unit) func(i int) span {
	t, v := ev.c.args[1].Type(), ev.args[1]
	scale := func(n, by, limit int64) (int64, bool) {
		if n > limit || n < -limit {
			return 0, false
		}
		return n * by, true
	}
	one := func(f field0, n int64) (s span) {
		ok := true
		switch f {
		case fYear:
			s.months, ok = scale(n, 12, 10000)
		case fQuarter:
			s.months, ok = scale(n, 3, 40000)
			s.wrong = n > math.MaxUint32 || n < -math.MaxUint32
		case fMonth:
			s.months, ok = scale(n, 1, 120000)
		case fWeek:
			s.days, ok = scale(n, 7, 1e6)
			s.wrong = n > math.MaxUint32 || n < -math.MaxUint32
		case fDay:
			s.days, ok = scale(n, 1, 1e7)
		case fHour:
			s.days, s.us = n/24, n%24*usPerHour
			ok = n < 1e9 && n > -1e9
		case fMinute:
			s.days, s.us = n/1440, n%1440*usPerMinute
			ok = n < 1e11 && n > -1e11
		case fSecond:
			s.days, s.us = n/86400, n%86400*usPerSecond
			ok = n < 1e13 && n > -1e13
		case fMicro:
			s.days, s.us = n/usPerDay, n%usPerDay
		}
		s.bad = !ok
		return s
	}
	if u.first == u.last {
		if u.first == fSecond && t.Class == Int {
			return func(i int) span { return one(fSecond, intAt(v, i)) } // unsigned too, as MySQL reads them
		}
		if u.first == fSecond {
			d := seconds(ev.ctx, t, v)
			return func(i int) span {
				x := d(i)
				us := x.unscaled // digits beyond the microseconds are cut
				if x.scale > 6 {
					us = new(big.Int).Quo(us, pow10big(x.scale-6))
				} else {
					us = x.rescale(6)
				}
				if !us.IsInt64() {
					return span{bad: true}
				}
				n := us.Int64()
				return span{days: n / usPerDay, us: n % usPerDay}
			}
		}
		n := ints(ev.ctx, t, v, false)
		unsigned := t.Class == Int && t.Unsigned
		return func(i int) span {
			x := n(i)
			if unsigned && x < 0 {
				return span{bad: true}
			}
			return one(u.first, x)
		}
	}
	count := int(u.last-u.first) + 1
	return func(i int) span {
		values, neg, ok := intervalFields(v.Bytes(i), count, u.last == fMicro)
		if !ok {
			return span{bad: true, wrong: true}
		}
		var sum span
		for k, n := range values {
			if neg {
				n = -n
			}
			s := one(u.first+field0(k), n)
			sum.months += s.months
			sum.days += s.days
			sum.us += s.us
			sum.bad = sum.bad || s.bad
		}
		return sum
	}
}

// intervalFields reads the numbers of a compound interval. Fewer than count are
// the last ones. With micros the last one is a fraction of a second.
func intervalFields(s []byte, count int, micros bool) (values []int64, neg, ok bool) {
	s = s[skipSpaces(s):]
	if bytes.HasPrefix(s, []byte{'-'}) {
		neg = true
		s = s[1:]
	}
	at := 0
	skip := func() {
		for at < len(s) && !isDigit(s[at]) {
			at++
		}
	}
	skip()
	values = make([]int64, count)
	digits := 0
	i := 0
	for i < count {
		start := at
		var n int64
		for at < len(s) && isDigit(s[at]) {
			if n > (math.MaxInt64-9)/10 {
				return nil, neg, false
			}
			n = n*10 + int64(s[at]-'0')
			at++
		}
		digits = at - start
		values[i] = n
		skip()
		i++
		if at == len(s) && i != count {
			copy(values[count-i:], values[:i])
			for k := range count - i {
				values[k] = 0
			}
			break
		}
	}
	if micros && digits < 6 {
		for ; digits < 6; digits++ {
			values[count-1] *= 10
		}
	}
	return values, neg, at == len(s)
}
