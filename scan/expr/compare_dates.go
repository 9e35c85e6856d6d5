package expr

import (
	"bytes"
	"math"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// BETWEEN and IN of dates and texts. Unlike the comparison of two values they take a
// text that is no date without an error, as less than all dates and equal to other
// such texts, and their warnings name the column that the text is compared with.
// Other lists are compared pair by pair (in.go, compare.go).

// dateText says how a text is read that is compared with dates.
type dateText struct {
	typ   Type // DATETIME(6) or TIME(6)
	kind  string
	named string // the column of warnings, "" for none
	none  int64  // what a text is that is no date
}

// dateTextFor is how texts are read beside another operand.
func dateTextFor(other Expr) dateText {
	d := dateText{typ: TDateTime(6), kind: "datetime", none: math.MinInt64}
	if other.Type().Class == Date {
		d.kind = "date"
	}
	switch l, constant := other.(*LiteralExpr); {
	case isColumn(other):
		d.named = lastName(other.String())
	case constant && isString(l.Type()) && !l.Val.IsNull():
		d.named = shownText(l)
	}
	return d
}

// dateTextNamed is how texts are read beside a date that warnings name whatever it is.
func dateTextNamed(date Expr) dateText {
	d := dateTextFor(date)
	d.named = lastName(date.String())
	return d
}

// read reads e as d says; other types than texts are converted as everywhere.
func (d dateText) read(ctx *Context, e Expr) Expr {
	from := e.Type()
	if from.Class == JSON {
		e = asText(ctx, e)
	} else if !isString(from) {
		return convert(ctx, e, d.typ)
	}
	t := d.typ
	t.Nullable = from.Nullable
	c := newCall("conv", t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		return out, ev.each(func(i int) (err error) {
			out.I64s[i], err = d.value(ev.ctx, ev.c.args[0].Type(), ev.args[0].Bytes(i), i)
			return err
		})
	}, e)
	c.hidden, c.inner = true, "date in a list "+t.key()+d.kind+" "+d.named
	return fold(ctx, c)
}

// value is the date or time of a text, d.none if it is none.
func (d dateText) value(ctx *Context, t Type, s []byte, i int) (int64, error) {
	if d.typ.Class == Time {
		p := parseTime(s)
		if p.kind != Time || p.truncated {
			ctx.truncatedAs(t, "time", s)
		}
		switch p.kind {
		case Null:
			return d.none, nil
		case Time:
			return p.us, nil
		}
		_, tod := splitDateTime(p.us)
		return tod, nil
	}
	p := parseDateTime(s, false)
	if p.kind == Null || p.truncated {
		if d.named != "" {
			ctx.warn("Warning", errs.TruncatedValue, "Incorrect %s value: '%s' for column '%s' at row %d", d.kind, shownAs(t, s), d.named, ctx.row(i))
		} else {
			ctx.truncatedAs(t, d.kind, s)
		}
	}
	if p.kind == Null {
		return d.none, ctx.zeroDate(p, false)
	}
	ctx.delimiter(p, s, i)
	if p.offset {
		s = bytes.TrimSpace(s)
		off, _ := parseOffset(s[len(s)-6:])
		p.us += off
	}
	return p.rounded(6, false), nil
}

// isDateText reports whether e is a literal that is a date, or a time for lists of
// times: such lists need no more than comparisons of pairs.
func isDateText(e Expr, times bool) bool {
	l, ok := e.(*LiteralExpr)
	if !ok || l.Val.IsNull() || !isString(l.Type()) {
		return false
	}
	if times {
		p := parseTime(l.Val.Vec.Bytes(0))
		return p.kind == Time && !p.truncated
	}
	p := parseDateTime(l.Val.Vec.Bytes(0), false)
	return p.kind != Null && !p.truncated
}

// operandsOf counts the operands of a BETWEEN or IN by what they are.
type operandsOf struct{ dates, times, texts, json, others int }

func countOperands(args []Expr) (n operandsOf) {
	for _, a := range args {
		switch t := a.Type(); {
		case isDated(a):
			n.dates++
		case t.Class == Time:
			n.times++
		case isString(t):
			n.texts++
		case t.Class == JSON:
			n.json++
		case t.Class != Null:
			n.others++
		}
	}
	return n
}

// betweenDates is BETWEEN where an operand is a date and another a text; nil means
// that it is two comparisons like any other.
func betweenDates(ctx *Context, x, low, high Expr) (Expr, error) {
	n := countOperands([]Expr{x, low, high})
	if n.dates == 0 || n.texts+n.json == 0 || n.others > 0 {
		return nil, nil
	}
	plain := n.json == 0
	for _, e := range []Expr{x, low, high} {
		plain = plain && (!isString(e.Type()) || isDateText(e, false))
	}
	if plain && (x.Type().IsTemporal() || low.Type().IsTemporal() && high.Type().IsTemporal()) {
		return nil, nil
	}
	pair := func(op string, a, b Expr) (Expr, error) {
		return compareOperands(ctx, op, op, dateTextFor(b).read(ctx, a), dateTextFor(a).read(ctx, b), false)
	}
	lo, err := pair(">=", x, low)
	if err != nil {
		return nil, err
	}
	hi, err := pair("<=", x, high)
	if err != nil {
		return nil, err
	}
	c := newCall("BETWEEN", TBool, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I8)
		ev.rows(func(i int) {
			a, b := ev.args[0], ev.args[1]
			an, bn := a.IsNull(i), b.IsNull(i)
			switch {
			case !an && intAt(a, i) == 0, !bn && intAt(b, i) == 0:
			case an || bn:
				out.SetNull(i)
			default:
				out.I8s[i] = 1
			}
		})
		return out, nil
	}, lo, hi)
	c.nulls = true
	c.text = "(" + x.String() + " between " + low.String() + " and " + high.String() + ")"
	return fold(ctx, c), nil
}

// inDates is IN of dates and texts, or of times and texts; nil means that the list is
// compared pair by pair.
func inDates(ctx *Context, args []Expr) (Expr, error) {
	n := countOperands(args)
	x := args[0]
	if n.dates+n.times == 0 || n.texts == 0 || n.json+n.others > 0 || n.dates > 0 && n.times > 0 {
		return nil, nil
	}
	plain, constant := x.Type().IsTemporal(), true
	var first Expr // of the dates: it is what warnings name
	for i, a := range args {
		if first == nil && a.Type().IsTemporal() {
			first = a
		}
		plain = plain && (!isString(a.Type()) || isDateText(a, n.times > 0))
		constant = constant && (i == 0 || IsConst(a))
	}
	if plain {
		return nil, nil
	}
	d := dateTextFor(first)
	if n.times > 0 {
		d.typ = TTime(6)
	}
	if constant {
		d.named = ""
	}
	items := make([]Expr, len(args))
	for i, a := range args {
		items[i] = d.read(ctx, a)
		if constant {
			if d.none = math.MinInt64 + 1; n.times > 0 { // constants that are no dates equal nothing
				d.none = 0 // those that are no times are midnight
			}
		}
		if i > 0 && constant {
			items[i] = convertedOnce(a, items[i])
		}
	}
	order := comparer(d.typ)
	c := newCall("IN", TBool, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I8)
		ev.rows(func(i int) {
			null := ev.args[0].IsNull(i)
			for _, v := range ev.args[1:] {
				switch {
				case ev.args[0].IsNull(i):
				case v.IsNull(i):
					null = true
				case order(ev.args[0], i, v, i) == 0:
					out.I8s[i] = 1
					return
				}
			}
			if null {
				out.SetNull(i)
			}
		})
		return out, nil
	}, items...)
	c.nulls = true
	c.text = "(" + x.String() + " in (" + joinText(args[1:]) + "))"
	return fold(ctx, c), nil
}
