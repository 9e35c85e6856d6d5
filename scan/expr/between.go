package expr

import (
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
)

// between is low <= x AND x <= high. When the three do not agree on a type
// pairwise, MySQL compares all in one.
func between(ctx *Context, args []Expr) (Expr, error) {
	x, low, high := args[0], args[1], args[2]
	err := warnBetweenJSON(ctx, args)
	if err != nil {
		return nil, err
	}
	if e, err := betweenDates(ctx, x, low, high); e != nil || err != nil {
		return e, err
	}
	if x, low, high, err = betweenJSON(ctx, x, low, high); err != nil {
		return nil, err
	}
	if n := countOperands(args); n.dates > 0 && n.texts > 0 && n.others > 0 && !(isColumn(x) && IsConst(low) && IsConst(high)) {
		x, low, high = asDouble(ctx, x), asDouble(ctx, low), asDouble(ctx, high)
	}
	if isDated(x) || isDated(low) || isDated(high) {
		// A year is a number here, as it is not in comparisons.
		for _, e := range []*Expr{&x, &low, &high} {
			if (*e).Type().Class == Year && !isString(low.Type()) && !isString(high.Type()) {
				*e = convert(ctx, *e, TBigInt)
			}
		}
	}
	if x.Type().Class == Time && (isDated(low) || isDated(high)) {
		// Constants do not turn into times here, as they do in comparisons.
		t := TDateTime(6)
		x, low, high = convert(ctx, x, t), convert(ctx, low, t), convert(ctx, high, t)
	}
	if tx := x.Type(); !tx.IsTemporal() && tx.Class != JSON && low.Type().Class != JSON && high.Type().Class != JSON {
		switch {
		case isString(tx) && isString(low.Type()) && isString(high.Type()):
			t, err := mergeCollations("between", tx, low.Type(), high.Type())
			if err != nil {
				return nil, err
			}
			t.Class = String
			if t.Collation == "binary" {
				t.Class = Bytes
			}
			if t.Coercibility == 1 {
				t.Coercibility = 2 // texts of no collation may be compared here
			}
			x, low, high = convert(ctx, x, t), convert(ctx, low, t), convert(ctx, high, t)
		case low.Type().IsTemporal() || high.Type().IsTemporal():
			if isString(tx) && (low.Type().Class == Time || high.Type().Class == Time) {
				// Texts are compared with times as texts.
				x, low, high = asText(ctx, x), asText(ctx, low), asText(ctx, high)
			}
		case isString(tx) || isString(low.Type()) || isString(high.Type()):
			if !(numericLiteralText(x) || numericLiteralText(low) || numericLiteralText(high)) && (tx.IsNumber() || low.Type().IsNumber() || high.Type().IsNumber()) {
				x, low, high = asDouble(ctx, x), asDouble(ctx, low), asDouble(ctx, high)
			}
		}
	}
	pair := func(op string, a, b Expr) (Expr, error) {
		a, b = yearConstants(a, b)
		return compareOperands(ctx, op, op, a, b, false)
	}
	lo, err := pair(">=", x, low)
	if err != nil {
		return nil, err
	}
	hi, err := pair("<=", x, high)
	if err != nil {
		return nil, err
	}
	e, err := Call(ctx, "AND", fold(ctx, lo), fold(ctx, hi))
	if err != nil {
		return nil, err
	}
	if c, ok := e.(*call); ok {
		c.inner = "between"
	}
	return e, nil
}

// isDated reports whether e has a date.
func isDated(e Expr) bool {
	switch e.Type().Class {
	case Date, DateTime, Timestamp:
		return true
	}
	return false
}

// warnBetweenJSON warns, as MySQL does, that BETWEEN compares no JSON.
func warnBetweenJSON(ctx *Context, args []Expr) error {
	if countOperands(args).json == 0 {
		return nil
	}
	if err := isNested(args...); err != nil {
		return err
	}
	ctx.warn("Warning", errs.NotSupported, "This version of MySQL doesn't yet support 'comparison of JSON in the BETWEEN operator'")
	return nil
}

// betweenJSON takes JSON out of a BETWEEN as MySQL does: it is a number if one
// operand is a number, else a text.
func betweenJSON(ctx *Context, x, low, high Expr) (Expr, Expr, Expr, error) {
	all := []Expr{x, low, high}
	n := countOperands(all)
	if n.json == 0 {
		return x, low, high, nil
	}
	for i, e := range all {
		if n.others > 0 {
			all[i] = asDouble(ctx, e)
		} else {
			all[i] = asText(ctx, e)
		}
	}
	return all[0], all[1], all[2], nil
}

// numericLiteralText reports whether e is a constant text that is an integer.
func numericLiteralText(e Expr) bool {
	return constText(e) && textAsInt(e, false) != nil
}

// lastName is the name of a column without its table.
func lastName(column string) string {
	column = strings.TrimSuffix(column, "`")
	return column[strings.LastIndexByte(column, '`')+1:]
}
