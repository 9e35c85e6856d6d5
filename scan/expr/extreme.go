package expr

import (
	"math"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// extreme resolves GREATEST and LEAST.
func extreme(ctx *Context, name string, args []Expr) (Expr, error) {
	dated, other, json := false, false, false
	for _, a := range args {
		switch t := a.Type(); {
		case t.Class == JSON:
			json, other = true, true
		case isDated(a):
			dated = true
		case t.Class != Time && t.Class != Null:
			other = true
		}
	}
	switch {
	case dated && other:
		return extremeDate(ctx, name, args)
	case json:
		// MySQL compares the texts and says so.
		ctx.warn("Warning", errs.NotSupported, "This version of MySQL doesn't yet support 'comparison of JSON in the LEAST and GREATEST operators'")
		args = append([]Expr(nil), args...)
		for i, a := range args {
			args[i] = asText(ctx, a)
		}
	}
	values, t, err := unifyFor(ctx, strings.ToLower(name), args)
	if err != nil {
		return nil, err
	}
	if t.Class == Nested || t.Class == Bit {
		return nil, errs.Unsupportedf(-1, "%s of such values", name)
	}
	toldExtreme(args, &t)
	if t.Class == Null {
		return Literal(NullValue()), nil
	}
	if t.Class == Bool || t.Class == Int && t.Width < 8 {
		w := TBigInt
		w.Unsigned = t.Unsigned
		if t.Class == Bool {
			t = w
		}
		for i := range values {
			values[i] = convert(ctx, values[i], t)
		}
	}
	order := comparer(t)
	want := 1
	if name == "LEAST" {
		want = -1
	}
	return newCall(name, t, func(ev *evaluation) (*vector.Vec, error) {
		out := vector.NewFlat(t.Physical(), ev.n)
		best := make([]uint8, ev.n)
		ev.rows(func(i int) {
			for k := 1; k < len(ev.args); k++ {
				// Of equal texts GREATEST is the last, LEAST the first.
				if s := sign(order(ev.args[k], i, ev.args[best[i]], i)); s == want || s == 0 && want > 0 {
					best[i] = uint8(k)
				}
			}
		})
		for k, v := range ev.args {
			var sel []uint16
			ev.rows(func(i int) {
				if int(best[i]) == k {
					sel = append(sel, uint16(i))
				}
			})
			if len(sel) > 0 {
				out.SetRows(v, sel)
			}
		}
		out.Valid = ev.valid
		return out, nil
	}, values...), nil
}

// extremeDate is GREATEST or LEAST of dates and other values: all are compared
// as DATETIME(6), and the result is a text, of a DATE if no argument has a time,
// else with as many fraction digits as the argument that has the most.
//
// A value that is no date is less than all of them beside a DATETIME, and greater
// beside DATEs. Where it is the least, all are compared as texts, as the manual has
// it; where it is the greatest of DATEs, MySQL answers 16383-15-31: refused here, as
// dates without month or day are.
func extremeDate(ctx *Context, name string, args []Expr) (Expr, error) {
	shown := TDate
	var named Expr // what warnings name: the first DATETIME, else the first DATE
	digits := 0
	values := make([]Expr, len(args))
	for i, a := range args {
		digits = max(digits, secondsDigits(a))
		ta := a.Type()
		switch {
		case isDated(a) && ta.Class != Date && (named == nil || shown.Class == Date):
			named, shown = a, TDateTime(0)
		case isDated(a) && named == nil:
			named = a
		}
		if values[i] = a; ta.Class == JSON {
			// MySQL compares the texts and says so.
			ctx.warn("Warning", errs.NotSupported, "This version of MySQL doesn't yet support 'comparison of JSON in the LEAST and GREATEST operators'")
			values[i] = asText(ctx, a)
		}
	}
	if shown.Class == DateTime {
		shown.Scale = digits
	}
	asTexts, t, err := unifyFor(ctx, strings.ToLower(name), values)
	if err != nil {
		return nil, err
	}
	t.Length = displayLength(shown)
	toldExtreme(args, &t)
	dates := make([]Expr, len(args))
	for i, a := range args {
		if shown.Class == DateTime {
			a = values[i]
		}
		dates[i] = dateForExtreme(ctx, a, shown, named)
	}
	order := comparer(t)
	want := 1
	if name == "LEAST" {
		want = -1
	}
	n := len(args)
	c := newCall(name, t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.Str)
		var buf []byte
		cell := vector.NewFlat(shown.Physical(), 1)
		return out, ev.each(func(i int) error {
			best := 0
			for k := 1; k < n; k++ {
				a, b := intAt(ev.args[n+k], i), intAt(ev.args[n+best], i)
				if a > b && want > 0 || a < b && want < 0 {
					best = k
				}
			}
			switch us := intAt(ev.args[n+best], i); {
			case us == lessThanDates: // so want is LEAST
				best = 0
				for k := 1; k < n; k++ {
					if order(ev.args[k], i, ev.args[best], i) < 0 {
						best = k
					}
				}
				out.SetBytes(i, ev.args[best].Bytes(i))
			case us == greaterThanDates:
				from := ev.c.args[best].Type()
				return errs.Unsupportedf(-1, "%s of dates and '%s', which is no date", name, shownAs(from, texts(ev.ctx, from, ev.args[best])(i)))
			case shown.Class == Date:
				cell.I32s[0], _ = splitDateTime(us)
				buf = AppendText(buf[:0], shown, cell, 0, nil)
				out.SetBytes(i, buf)
			default:
				cell.I64s[0] = us / usUnit[digits] * usUnit[digits]
				buf = AppendText(buf[:0], shown, cell, 0, nil)
				out.SetBytes(i, buf)
			}
			return nil
		})
	}, append(asTexts, dates...)...)
	c.text = strings.ToLower(name) + "(" + joinText(args) + ")"
	return fold(ctx, c), nil
}

// What a value is beside dates that is none.
const (
	lessThanDates    = math.MinInt64
	greaterThanDates = math.MaxInt64
)

// dateForExtreme is the date of a value for extremeDate as a DATETIME(6), in the form
// that is shown.
func dateForExtreme(ctx *Context, e Expr, form Type, named Expr) Expr {
	from := e.Type()
	if from.IsTemporal() && (from.Class != Year) || from.Class == Null {
		return convert(ctx, e, TDateTime(6))
	}
	none, label := int64(lessThanDates), "datetime"
	if form.Class == Date {
		none, label = greaterThanDates, "date"
	}
	if isString(from) && form.Class != Date {
		return dateTextNamed(named).read(ctx, e)
	}
	c := newCall("conv", TDateTime(6), func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		from, v := ev.c.args[0].Type(), ev.args[0]
		f := dateTimes(ev.ctx, from, v, label)
		quiet := dateTimes(ev.ctx.quiet(), from, v, label)
		number := from.IsNumber()
		return out, ev.each(func(i int) error {
			p, _ := quiet(i)
			if p.partial && number && form.Class != Date {
				switch x := math.Trunc(decs(ev.ctx, from, v)(i).float()); {
				case x == 0: // the date zero is no date either
					out.I64s[i] = none
					return nil
				case x <= 100: // of DATEs only these are days of the year 2000
					p.partial = false
				}
			}
			if p.kind == Null {
				if err := ev.ctx.zeroDate(p, number); err != nil {
					return err
				}
			}
			p, ok := f(i)
			us := p.rounded(6, false)
			if out.I64s[i] = us; !ok || !validDateTime(us) {
				out.I64s[i] = none
			}
			return nil
		})
	}, e)
	c.hidden, c.inner = true, "date for extremes "+label
	return fold(ctx, c)
}

// secondsDigits is how many fraction digits of seconds a value may have.
func secondsDigits(e Expr) int {
	t := e.Type()
	switch {
	case t.IsTemporal() && t.Class != Date, t.Class == Decimal:
		return min(t.Scale, 6)
	case isString(t):
		if l, ok := e.(*LiteralExpr); ok && !l.Val.IsNull() {
			return min(parseDateTime(l.Val.Vec.Bytes(0), false).fsp, 6)
		}
		return 6
	case t.Class == Float, t.Class == Double:
		return 6
	}
	return 0
}

// shownText is a constant's text for a message.
func shownText(l *LiteralExpr) string {
	return shown(AppendText(nil, l.Val.Type, l.Val.Vec, 0, nil))
}
