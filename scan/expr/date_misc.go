package expr

import (
	"fmt"
	"math/big"
	"strings"
	"time"
	_ "time/tzdata" // zones by name, also on machines without them

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// maxUnix is the last second of UNIX_TIMESTAMP: 3001-01-18 23:59:59.
const maxUnix = int64(32536771199)

// ParseTimeZone reads a value of time_zone: SYSTEM, ±hh:mm, or a name. Errors:
// errs.UnknownTimeZone.
func ParseTimeZone(s string) (*time.Location, error) {
	switch {
	case strings.EqualFold(s, "SYSTEM"):
		return time.Local, nil
	case len(s) > 0 && (s[0] == '+' || s[0] == '-'):
		t := s
		if len(t) == 5 && t[2] == ':' { // +8:00
			t = t[:1] + "0" + t[1:]
		}
		if us, ok := parseOffset([]byte(t)); ok {
			if us == 0 {
				return time.UTC, nil
			}
			if us < -14*usPerHour+1 && us <= -14*usPerHour {
				break
			}
			return time.FixedZone(s, int(us/usPerSecond)), nil
		}
	case s != "" && !strings.EqualFold(s, "local") && !strings.Contains(s, ".."):
		if z, err := time.LoadLocation(s); err == nil {
			return z, nil
		}
		// Names are case-insensitive in MySQL.
		parts := strings.Split(lower(s), "/")
		for i, p := range parts {
			words := strings.Split(p, "_")
			for k, w := range words {
				if w != "" {
					words[k] = upper(w[:1]) + w[1:]
				}
			}
			parts[i] = strings.Join(words, "_")
		}
		if z, err := time.LoadLocation(strings.Join(parts, "/")); err == nil {
			return z, nil
		}
		if z, err := time.LoadLocation(upper(s)); err == nil {
			return z, nil
		}
	}
	return nil, errs.Userf(errs.UnknownTimeZone, "Unknown or incorrect time zone: '%s'", s)
}

func init() {
	clock := func(name, doc string, get func(ctx *Context, fsp int) Value) {
		register(&function{name: name, min: 0, max: 1, class: "date", usage: name + "([fsp])", doc: doc,
			resolve: func(ctx *Context, args []Expr) (Expr, error) {
				fsp, err := fspArgument(name, args)
				if err != nil {
					return nil, err
				}
				l := Literal(get(ctx, fsp))
				l.text = lower(name) + "()"
				return l, nil
			}})
	}
	cut := func(us int64, fsp int) int64 { return roundWallFraction(us, fsp, true) }
	clock("NOW", "The date and time when the statement started.", func(ctx *Context, fsp int) Value {
		return DateTimeValue(cut(wallOf(ctx.nowMicros(), ctx.zone()), fsp), fsp)
	})
	alias("CURRENT_TIMESTAMP", "NOW")
	alias("LOCALTIME", "NOW")
	alias("LOCALTIMESTAMP", "NOW")
	clock("CURTIME", "The time of day when the statement started.", func(ctx *Context, fsp int) Value {
		_, tod := splitDateTime(cut(wallOf(ctx.nowMicros(), ctx.zone()), fsp))
		return TimeValue(tod, fsp)
	})
	alias("CURRENT_TIME", "CURTIME")
	clock("UTC_TIMESTAMP", "NOW in UTC.", func(ctx *Context, fsp int) Value { return DateTimeValue(cut(ctx.nowMicros(), fsp), fsp) })
	clock("UTC_TIME", "CURTIME in UTC.", func(ctx *Context, fsp int) Value {
		_, tod := splitDateTime(cut(ctx.nowMicros(), fsp))
		return TimeValue(tod, fsp)
	})
	day := func(name, doc string, get func(ctx *Context) int32) {
		register(&function{name: name, min: 0, max: 0, class: "date", usage: name + "()", doc: doc,
			resolve: func(ctx *Context, args []Expr) (Expr, error) {
				l := Literal(DateValue(get(ctx)))
				l.text = lower(name) + "()"
				return l, nil
			}})
	}
	day("CURDATE", "The date when the statement started.", (*Context).today)
	alias("CURRENT_DATE", "CURDATE")
	day("UTC_DATE", "CURDATE in UTC.", func(ctx *Context) int32 { d, _ := splitDateTime(ctx.nowMicros()); return d })
	register(&function{name: "SYSDATE", min: 0, max: 1, class: "date", usage: "SYSDATE([fsp])", doc: "The date and time now, not of the statement's start.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			fsp, err := fspArgument("SYSDATE", args)
			if err != nil {
				return nil, err
			}
			return &call{name: "SYSDATE", typ: TDateTime(fsp).NotNull(), traits: Volatile, perRow: true, kern: func(ev *evaluation) (*vector.Vec, error) {
				v := DateTimeValue(cut(wallOf(time.Now().UnixMicro(), ev.ctx.zone()), fsp), fsp)
				return v.Vec.AsConst(ev.n), nil
			}}, nil
		}})
	register(&function{name: "DATE", min: 1, max: 1, class: "date", usage: "DATE(d)", doc: "The date without the time.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			if err := isNested(args...); err != nil {
				return nil, err
			}
			return show(convert(ctx, args[0], TDate), args[0], "cast(%s as date)"), nil
		}})
	register(&function{name: "TIME", min: 1, max: 1, class: "date", usage: "TIME(d)", doc: "The time of day of a date-time, or a time.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			if err := isNested(args...); err != nil {
				return nil, err
			}
			return show(convert(ctx, args[0], TTime(fractionOf(args[0]))), args[0], "cast(%s as time)"), nil
		}})
	register(&function{name: "TIMESTAMP", min: 1, max: 2, class: "date", usage: "TIMESTAMP(d[, t])", doc: "A date-time, t added.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			if err := isNested(args...); err != nil {
				return nil, err
			}
			if len(args) == 1 {
				return show(convert(ctx, args[0], TDateTime(dateFraction(args[0]))), args[0], "cast(%s as datetime)"), nil
			}
			t := TDateTime(max(dateFraction(args[0]), fractionOf(args[1])))
			c := newCall("TIMESTAMP", t, func(ev *evaluation) (*vector.Vec, error) {
				out := ev.out(vector.I64)
				a, am := i64s(ev.args[0])
				b, bm := i64s(ev.args[1])
				ev.rows(func(i int) {
					us := a[i&am] + b[i&bm]
					if !validDateTime(us) {
						ev.ctx.warn("Warning", errs.DateOutOfRange, "DATETIME value is out of range in '%s'", ev.c)
						out.SetNull(i)
						return
					}
					out.I64s[i] = us
				})
				return out, nil
			}, convert(ctx, args[0], TDateTime(6)), convert(ctx, args[1], TTime(6)))
			c.text = "timestamp(" + joinText(args) + ")"
			return c.nullable(), nil
		}})
	fn(spec{name: "DATEDIFF", min: 2, max: 2, class: "date", usage: "DATEDIFF(a, b)", doc: "Days from b to a; times of day do not count.", kinds: "D", ret: retInt,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			a, am := i32s(ev.args[0])
			b, bm := i32s(ev.args[1])
			return func(i int, out *vector.Vec) error {
				out.I64s[i] = int64(a[i&am]) - int64(b[i&bm])
				return nil
			}
		}})
	register(&function{name: "TIMESTAMPDIFF", min: 3, max: 3, class: "date", usage: "TIMESTAMPDIFF(unit, a, b)", doc: "Whole units from a to b.", resolve: timestampDiff})
	register(&function{name: "TIMEDIFF", min: 2, max: 2, class: "date", usage: "TIMEDIFF(a, b)", doc: "a - b as a TIME; both times or both date-times.", resolve: timeDiff})
	for _, name := range []string{"ADDTIME", "SUBTIME"} {
		register(&function{name: name, min: 2, max: 2, class: "date", usage: name + "(a, t)", doc: map[bool]string{true: "a plus a time.", false: "a minus a time."}[name == "ADDTIME"],
			resolve: func(ctx *Context, args []Expr) (Expr, error) { return addTime(ctx, name, args[0], args[1]) }})
	}
	register(&function{name: "SEC_TO_TIME", min: 1, max: 1, class: "date", usage: "SEC_TO_TIME(n)", doc: "Seconds as a TIME.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			if err := isNested(args...); err != nil {
				return nil, err
			}
			x := args[0]
			if x.Type().Class != String {
				x = toNumeric(ctx, x)
			} else if n := numberOfChoice(ctx, x, TDecimal(65, 30)); n != nil {
				x = n
			}
			t := TTime(numberFraction(args[0]))
			return newCall("SEC_TO_TIME", t, func(ev *evaluation) (*vector.Vec, error) {
				out := ev.out(vector.I64)
				d := seconds(ev.ctx, ev.c.args[0].Type(), ev.args[0])
				ev.rows(func(i int) {
					u := d(i).rescale(6)
					us := maxTime
					if u.IsInt64() {
						us = u.Int64()
					} else if u.Sign() < 0 {
						us = -maxTime
					}
					us = roundFraction(us, t.Scale, false)
					if absInt(us) > maxTime {
						ev.ctx.truncated("time", AppendText(nil, ev.c.args[0].Type(), ev.args[0], i, nil))
						us = max(-maxTime, min(us, maxTime))
					}
					out.I64s[i] = us
				})
				return out, nil
			}, x), nil
		}})
	fn(spec{name: "MAKEDATE", min: 2, max: 2, class: "date", usage: "MAKEDATE(year, day)", doc: "The day-th day of a year; NULL for day < 1.", kinds: "i", ret: returns(TDate), nullable: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				y, d := intAt(ev.args[0], i), intAt(ev.args[1], i)
				if y < 0 || y > 9999 || d < 1 || d > 4000000 {
					out.SetNull(i)
					return nil
				}
				if y < 100 {
					y = int64(twoDigits(int(y)))
				}
				day := int64(daysOf(int(y), 1, 1)) + d - 1
				if day > int64(maxDay) {
					out.SetNull(i)
					return nil
				}
				out.I32s[i] = int32(day)
				return nil
			}
		}})
	register(&function{name: "MAKETIME", min: 3, max: 3, class: "date", usage: "MAKETIME(h, m, s)", doc: "A time from hours, minutes and seconds.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			if err := isNested(args...); err != nil {
				return nil, err
			}
			s := toNumeric(ctx, args[2])
			t := TTime(numberFraction(args[2]))
			large := numeric(args[0]).Unsigned // hours that look negative are more than all
			c := newCall("MAKETIME", t, func(ev *evaluation) (*vector.Vec, error) {
				out := ev.out(vector.I64)
				d := decs(ev.ctx, ev.c.args[2].Type(), ev.args[2])
				ev.rows(func(i int) {
					h, m := intAt(ev.args[0], i), intAt(ev.args[1], i)
					s := d(i)
					if m < 0 || m > 59 || s.unscaled.Sign() < 0 || s.unscaled.Cmp(new(big.Int).Mul(big.NewInt(60), pow10big(s.scale))) >= 0 {
						out.SetNull(i)
						return
					}
					u := s.rescale(6)
					sec := roundFraction(u.Int64(), t.Scale, false)
					neg := h < 0 && !large
					us := maxTime + 1
					if absInt(h) <= 900 && h > -900 && (h >= 0 || neg) {
						us = absInt(h)*usPerHour + m*usPerMinute + sec
					}
					if us > maxTime {
						text := bigOf(h).String() + ":" + string(append2(nil, int(m))) + ":" + string(append2(nil, int(sec/usPerSecond)))
						if t.Scale > 0 {
							text += "." + fmt.Sprintf("%06d", sec%usPerSecond)[:t.Scale]
						}
						ev.ctx.truncated("time", []byte(text))
						us = maxTime
					}
					if neg {
						us = -us
					}
					out.I64s[i] = us
				})
				return out, nil
			}, asSigned(ctx, args[0]), asSigned(ctx, args[1]), s)
			return c.nullable(), nil
		}})
	fn(spec{name: "FROM_DAYS", min: 1, max: 1, class: "date", usage: "FROM_DAYS(n)", doc: "The date n days after year 0.", kinds: "i", ret: returns(TDate), nullable: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				n := intAt(ev.args[0], i)
				if n >= 1 && n < 60 {
					n-- // see dayNumber
					out.I32s[i] = int32(n - dayZero)
					return nil
				}
				if n < 1 || n > int64(maxDay)+dayZero {
					if n <= 0 {
						return ev.ctx.zeroDate(parsed{partial: true}, true)
					}
					ev.ctx.warn("Warning", errs.DateOutOfRange, "DATE value is out of range in '%s'", ev.c)
					out.SetNull(i)
					return nil
				}
				out.I32s[i] = int32(n - dayZero)
				return nil
			}
		}})
	register(&function{name: "UNIX_TIMESTAMP", min: 0, max: 1, class: "date", usage: "UNIX_TIMESTAMP([d])", doc: "Seconds since 1970 in UTC, of a date in the session's zone; 0 outside 1970 to 3001.", resolve: unixTimestamp})
	register(&function{name: "FROM_UNIXTIME", min: 1, max: 2, class: "date", usage: "FROM_UNIXTIME(n[, format])", doc: "A date-time in the session's zone from seconds since 1970.", resolve: fromUnixtime})
	register(&function{name: "CONVERT_TZ", min: 3, max: 3, class: "date", usage: "CONVERT_TZ(d, from, to)", doc: "A date-time of one zone in another; NULL for unknown zones.", resolve: convertTZ})
	fn(spec{name: "PERIOD_ADD", min: 2, max: 2, class: "date", usage: "PERIOD_ADD(p, n)", doc: "n months added to YYYYMM.", kinds: "i", ret: retInt,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				p, n := intAt(ev.args[0], i), intAt(ev.args[1], i)
				m, ok := periodMonths(p)
				if !ok {
					return errs.Userf(errs.WrongArguments, "Incorrect arguments to period_add")
				}
				// As MySQL computes: months before year 0 wrap around.
				u := uint64(m + n)
				if u == 0 {
					return nil
				}
				y := u / 12
				if y < 100 {
					y = uint64(twoDigits(int(y)))
				}
				out.I64s[i] = int64(y*100 + u%12 + 1)
				return nil
			}
		}})
	fn(spec{name: "PERIOD_DIFF", min: 2, max: 2, class: "date", usage: "PERIOD_DIFF(p, q)", doc: "Months from q to p, both YYYYMM.", kinds: "i", ret: retInt,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				p, ok1 := periodMonths(intAt(ev.args[0], i))
				q, ok2 := periodMonths(intAt(ev.args[1], i))
				if !ok1 || !ok2 {
					return errs.Userf(errs.WrongArguments, "Incorrect arguments to period_diff")
				}
				out.I64s[i] = p - q
				return nil
			}
		}})
}

// periodMonths counts the months of YYYYMM or YYMM.
func periodMonths(p int64) (int64, bool) {
	if p <= 0 || p%100 < 1 || p%100 > 12 {
		return 0, false
	}
	y := p / 100
	if y < 100 {
		y = int64(twoDigits(int(y)))
	}
	return y*12 + p%100 - 1, true
}

func fspArgument(name string, args []Expr) (int, error) {
	if len(args) == 0 {
		return 0, nil
	}
	l, ok := args[0].(*LiteralExpr)
	if !ok || l.Val.IsNull() || l.Val.Type.Class != Int {
		return 0, errs.Userf(errs.Syntax, "%s takes a constant from 0 to 6", name)
	}
	n := intAt(l.Val.Vec, 0)
	if n < 0 || n > 6 {
		return 0, errs.Userf(errs.TooBigPrecision, "Too-big precision %d specified for '%s'. Maximum is 6.", n, lower(name))
	}
	return int(n), nil
}

// show gives a conversion the text of a cast.
func show(x, arg Expr, format string) Expr {
	if c, ok := x.(*call); ok && c.hidden && x != arg {
		d := *c
		d.hidden = false
		d.text = strings.Replace(format, "%s", arg.String(), 1)
		return &d
	}
	return x
}

// fractionOf is how many fraction digits e has as a date or time.
func fractionOf(e Expr) int {
	t := e.Type()
	switch {
	case t.IsTemporal():
		if t.Class == Date {
			return 0
		}
		return t.Scale
	case t.Class == Decimal:
		return min(t.Scale, 6)
	case t.IsNumber() && t.Class != Double && t.Class != Float, t.Class == Null:
		return 0
	}
	if l, ok := e.(*LiteralExpr); ok && isString(t) && !l.Val.IsNull() {
		if p := parseTime(l.Val.Vec.Bytes(0)); p.kind != Null {
			return p.fsp
		}
		if p := parseDateTime(l.Val.Vec.Bytes(0), false); p.kind != Null {
			return p.fsp
		}
	}
	return 6
}

// dateFraction is fractionOf for what must be a date-time.
func dateFraction(e Expr) int {
	if l, ok := e.(*LiteralExpr); ok && isString(e.Type()) && !l.Val.IsNull() && parseDateTime(l.Val.Vec.Bytes(0), false).kind == Null {
		return 6
	}
	return fractionOf(e)
}

// seconds reads rows as decimal numbers of seconds.
func seconds(ctx *Context, t Type, v *vector.Vec) func(i int) dec {
	if t.Class == String {
		return textDecs(ctx, t, v, false)
	}
	return decs(ctx, t, v)
}

// numberFraction is how many fraction digits a number of seconds has.
func numberFraction(e Expr) int {
	if e.Type().Class == Null {
		return 0
	}
	switch t := numeric(e); t.Class {
	case Int:
		return 0
	case Decimal:
		return min(t.Scale, 6)
	}
	return 6
}

func timestampDiff(ctx *Context, args []Expr) (Expr, error) {
	u, name, err := unitOf(args[0])
	if err != nil {
		return nil, err
	}
	if u.first != u.last {
		return nil, errs.Userf(errs.Syntax, "TIMESTAMPDIFF takes no compound unit %s", name)
	}
	if err := isNested(args[1:]...); err != nil {
		return nil, err
	}
	c := newCall("TIMESTAMPDIFF", TBigInt, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		a, am := i64s(ev.args[0])
		b, bm := i64s(ev.args[1])
		ev.rows(func(i int) { out.I64s[i] = unitsBetween(u.first, a[i&am], b[i&bm]) })
		return out, nil
	}, convert(ctx, args[1], TDateTime(6)), convert(ctx, args[2], TDateTime(6)))
	c.inner = name
	return c.nullable(), nil
}

func unitsBetween(f field0, a, b int64) int64 {
	switch f {
	case fMicro:
		return b - a
	case fSecond:
		return (b - a) / usPerSecond
	case fMinute:
		return (b - a) / usPerMinute
	case fHour:
		return (b - a) / usPerHour
	case fDay:
		return (b - a) / usPerDay
	case fWeek:
		return (b - a) / (7 * usPerDay)
	}
	neg := a > b
	if neg {
		a, b = b, a
	}
	da, ta := splitDateTime(a)
	db, tb := splitDateTime(b)
	y1, m1, d1 := civil(da)
	y2, m2, d2 := civil(db)
	months := int64(y2-y1)*12 + int64(m2-m1)
	if d2 < d1 || d2 == d1 && tb < ta {
		months--
	}
	switch f {
	case fYear:
		months /= 12
	case fQuarter:
		months /= 3
	}
	if neg {
		return -months
	}
	return months
}

// timeOrDateTime reads rows as what they are: times, or date-times.
func timeOrDateTime(ctx *Context, t Type, v *vector.Vec) func(i int) (parsed, bool) {
	switch {
	case t.Class == Time:
		return timesOf(ctx, t, v)
	case t.IsTemporal():
		d := dateTimes(ctx, t, v, "datetime")
		return func(i int) (parsed, bool) {
			p, ok := d(i)
			p.kind = DateTime
			return p, ok
		}
	case t.IsNumber():
		d := decs(ctx, t, v)
		return func(i int) (parsed, bool) {
			p := decToTime(d(i))
			if p.kind == Null {
				// A number that is too large for a time may be a date.
				if q := decToDateTime(d(i)); q.kind != Null {
					q.kind = DateTime
					return q, true
				}
			}
			if p.truncated {
				ctx.truncated("time", texts(ctx, t, v)(i))
			}
			return p, p.kind != Null
		}
	}
	z := ctx.zone()
	return func(i int) (parsed, bool) {
		s := v.Bytes(i)
		p := parseDateTime(s, false)
		if p.kind == Null || p.truncated || p.delim != 0 {
			// 10:11:12 is a date with odd delimiters, and better a time.
			switch q := parseTime(s); {
			case q.kind != Null && !q.truncated:
				p = q
			case p.kind == Null && !p.invalid:
				p = q
			}
		}
		if p.kind != Null {
			if p.kind != Time {
				p.kind = DateTime
				p.us, p.offset = p.wall(z), false
			}
			ctx.carry(&p)
		}
		switch {
		case p.kind == Null:
			ctx.badDate("datetime", p, t, s)
		case p.truncated && p.kind == Time:
			ctx.truncated("time", s)
		case p.truncated:
			ctx.truncated("datetime", s)
		}
		if p.kind != Null {
			ctx.delimiter(p, s, i)
		}
		return p, p.kind != Null
	}
}

func timeDiff(ctx *Context, args []Expr) (Expr, error) {
	if err := isNested(args...); err != nil {
		return nil, err
	}
	t := TTime(max(fractionOf(args[0]), fractionOf(args[1])))
	c := newCall("TIMEDIFF", t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		a := timeOrDateTime(ev.ctx, ev.c.args[0].Type(), ev.args[0])
		b := timeOrDateTime(ev.ctx, ev.c.args[1].Type(), ev.args[1])
		ev.rows(func(i int) {
			p, ok1 := a(i)
			q, ok2 := b(i)
			if !ok1 || !ok2 || p.kind != q.kind {
				out.SetNull(i)
				return
			}
			us := p.us - q.us
			if absInt(us) > maxTime {
				ev.ctx.truncated("time", appendTime(nil, us, t.Scale))
				us = max(-maxTime, min(us, maxTime))
			}
			out.I64s[i] = us
		})
		return out, nil
	}, args[0], args[1])
	return c.nullable(), nil
}

func addTime(ctx *Context, name string, a, b Expr) (Expr, error) {
	if err := isNested(a, b); err != nil {
		return nil, err
	}
	ta := a.Type()
	fsp := max(fractionOf(a), fractionOf(b))
	var t Type
	switch ta.Class {
	case Date, DateTime, Timestamp:
		t = TDateTime(fsp)
	case Time:
		t = TTime(fsp)
	default:
		t = TString(29, ctx.collation())
	}
	c := newCall(name, t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(t.Physical())
		x := timeOrDateTime(ev.ctx, ta, ev.args[0])
		y := timesOf(ev.ctx, ev.c.args[1].Type(), ev.args[1])
		ev.rows(func(i int) {
			p, ok1 := x(i)
			q, ok2 := y(i)
			if !ok1 || !ok2 {
				out.SetNull(i)
				return
			}
			us := p.us
			if name == "ADDTIME" {
				us += q.us
			} else {
				us -= q.us
			}
			if p.kind == Time {
				if absInt(us) > maxTime {
					ev.ctx.warn("Warning", errs.DateOutOfRange, "TIME value is out of range in '%s'", ev.c)
					if t.Class != String {
						out.SetNull(i)
						return
					}
					us = max(-maxTime, min(us, maxTime))
				}
			} else if !validDateTime(us) {
				ev.ctx.warn("Warning", errs.DateOutOfRange, "DATETIME value is out of range in '%s'", ev.c)
				out.SetNull(i)
				return
			}
			if t.Class != String {
				out.I64s[i] = us
				return
			}
			digits := 0
			if us%usPerSecond != 0 {
				digits = 6
			}
			if p.kind == Time {
				out.SetBytes(i, appendTime(nil, us, digits))
			} else {
				out.SetBytes(i, appendDateTime(nil, us, digits))
			}
		})
		return out, nil
	}, a, b)
	return c.nullable(), nil
}

// looksDate reports whether a text starts with digits and a dash.
func looksDate(s []byte) bool {
	i := skipSpaces(s)
	n := i
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n > i && n < len(s) && s[n] == '-'
}
