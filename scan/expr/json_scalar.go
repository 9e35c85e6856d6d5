package expr

import (
	"bytes"
	"math/big"
	"strconv"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// jsonScalar makes a JSON value of a SQL value, as functions that take values
// do: text is a string, not a document.
func jsonScalar(ctx *Context, t Type, v *vector.Vec, i int) (*jsonValue, error) {
	if v.IsNull(i) || t.Class == Null {
		return &jsonValue{kind: jNull}, nil
	}
	switch t.Class {
	case Bool:
		if t.Width == 8 {
			return &jsonValue{kind: jBool, b: intAt(v, i) != 0}, nil
		}
		return &jsonValue{kind: jNumber, num: number{class: Int, i: intAt(v, i)}}, nil
	case Int, Year:
		return &jsonValue{kind: jNumber, num: number{class: Int, unsigned: t.Unsigned, i: intAt(v, i)}}, nil
	case Decimal:
		return &jsonValue{kind: jNumber, num: number{class: Decimal, d: decAt(t, v, i)}}, nil
	case Float, Double:
		return &jsonValue{kind: jNumber, num: number{class: Double, f: floatAt(v, i)}}, nil
	case Date:
		s := string(AppendText(nil, t, v, i, nil))
		return &jsonValue{kind: jDate, s: s, us: intAt(v, i) * usPerDay}, nil
	case DateTime, Timestamp, Time:
		us := intAt(v, i)
		kind := jDateTime
		if t.Class == Timestamp {
			us = wallOf(us, ctx.zone())
		}
		s := appendDateTime(nil, us, 6)
		if t.Class == Time {
			kind = jTime
			s = appendTime(nil, us, 6)
		}
		return &jsonValue{kind: kind, s: string(s), us: us}, nil
	case JSON:
		x, err := parseOwnJSON(v.Bytes(i))
		if err != nil {
			return nil, errs.Corruptf("read JSON value %q: %s", shown(v.Bytes(i)), err.msg)
		}
		return x, nil
	case Bytes:
		return &jsonValue{kind: jOpaque, s: typedBase64("type15", v.Bytes(i))}, nil
	case Bit:
		return &jsonValue{kind: jOpaque, s: typedBase64("type16", AppendText(nil, t, v, i, nil))}, nil
	}
	return &jsonValue{kind: jString, s: string(v.Bytes(i))}, nil
}

// jsonDoc reads an argument that must be a JSON document: JSON, or text that is
// parsed. nil is NULL.
func jsonDoc(ctx *Context, fn string, arg int, t Type, v *vector.Vec, i int) (*jsonValue, error) {
	if v.IsNull(i) || t.Class == Null {
		return nil, nil
	}
	switch t.Class {
	case JSON:
		return jsonScalar(ctx, t, v, i)
	case String, Enum, Set:
		x, err := parseJSON(v.Bytes(i))
		if err != nil {
			return nil, invalidJSON(fn, arg, err)
		}
		return x, nil
	case Bytes:
		return nil, errs.Userf(errs.InvalidJSONCharset, "Cannot create a JSON value from a string with CHARACTER SET 'binary'.")
	}
	return nil, errs.Userf(errs.InvalidJSONType, "Invalid data type for JSON data in argument %d to function %s; a JSON string or JSON type is required.", arg, lower(fn))
}

func invalidJSON(fn string, arg int, err *jsonError) error {
	if err.msg == "The JSON document exceeds the maximum depth." {
		return errs.Userf(errs.JSONDepth, "The JSON document exceeds the maximum depth.")
	}
	return errs.Userf(errs.InvalidJSONArg, "Invalid JSON text in argument %d to function %s: \"%s\" at position %d.", arg, lower(fn), err.msg, err.at)
}

// toJSON is CAST(x AS JSON): text is parsed, other values become scalars.
func toJSON(ev *evaluation) (*vector.Vec, error) {
	from := ev.c.args[0].Type()
	out := ev.out(vector.Str)
	var buf []byte
	return out, ev.each(func(i int) error {
		var x *jsonValue
		var err error
		if isString(from) && from.Class != Bytes {
			x, err = jsonDoc(ev.ctx, "cast_as_json", 1, from, ev.args[0], i)
		} else {
			x, err = jsonScalar(ev.ctx, from, ev.args[0], i)
		}
		if err != nil {
			return err
		}
		buf = x.appendText(buf[:0])
		out.SetBytes(i, buf)
		return nil
	})
}

// jsonNumber is a JSON value as a double; ok is false for what is no number.
func jsonNumber(b []byte) (float64, bool) {
	v, err := parseJSON(b)
	if err != nil {
		return 0, false
	}
	switch v.kind {
	case jNumber:
		return v.num.float(), true
	case jBool:
		return float64(b2i(v.b)), true
	case jString:
		x, clean := parseDouble([]byte(v.s))
		return x, clean
	}
	return 0, false
}

func jsonInt(b []byte, unsigned bool) (int64, bool) {
	v, err := parseJSON(b)
	if err != nil {
		return 0, false
	}
	switch v.kind {
	case jNumber:
		switch v.num.class {
		case Int:
			return v.num.i, true
		case Decimal:
			return decToInt(v.num.d, unsigned)
		}
		return roundToInt(v.num.f, false)
	case jBool:
		return int64(b2i(v.b)), true
	case jString:
		x, _, clean := parseInt([]byte(v.s), unsigned)
		return x, clean
	}
	return 0, false
}

func jsonDec(b []byte) (dec, bool) {
	v, err := parseJSON(b)
	zero := dec{new(big.Int), 0}
	if err != nil {
		return zero, false
	}
	switch v.kind {
	case jNumber:
		return v.num.dec(), true
	case jBool:
		return dec{bigOf(int64(b2i(v.b))), 0}, true
	case jString:
		return parseDec([]byte(v.s))
	}
	return zero, false
}

// jsonTemporal reads a JSON string as a date or time.
func jsonTemporal(ctx *Context, b []byte) (parsed, bool) {
	v, err := parseJSON(b)
	if err != nil || v.kind != jString {
		return noDate, false
	}
	if bytes.IndexByte([]byte(v.s), ':') < 0 && !looksDate([]byte(v.s)) {
		return noDate, false
	}
	p := parseDateTime([]byte(v.s), false)
	if t := parseTime([]byte(v.s)); t.kind == Time && !looksDate([]byte(v.s)) {
		p = t
	}
	p.us, p.offset = p.wall(ctx.zone()), false
	return p, p.kind != Null
}

// comparableJSON compares JSON with JSON or a scalar: as JSON values. Dates, times and
// binary strings are greater than everything that JSON text holds, which the manual
// lists last in its order of JSON values, and equal to nothing of it: a date in a
// JSON document that was stored as text is a string.
func comparableJSON(ctx *Context, a, b Expr) (Expr, Expr, Type, error) {
	switch {
	case isJSONText(a) && beyondJSON(b):
		if ok, err := jsonForTime(ctx, a, b); ok || err != nil {
			return convert(ctx, a, TTime(6)), convert(ctx, b, TTime(6)), TTime(6), err
		}
		return typeOrder(a, 0), typeOrder(b, 1), TBigInt, nil
	case beyondJSON(a) && isJSONText(b):
		y, x, t, err := comparableJSON(ctx, b, a)
		return x, y, t, err
	}
	x, err := jsonSide(ctx, a)
	if err != nil {
		return nil, nil, Type{}, err
	}
	y, err := jsonSide(ctx, b)
	if err != nil {
		return nil, nil, Type{}, err
	}
	return x, y, TJSON, nil
}

// jsonSide is a scalar as a JSON value.
func jsonSide(ctx *Context, e Expr) (Expr, error) {
	t := e.Type()
	switch {
	case t.Class == JSON:
		if t.Typed || jsonOrigin(e) != jNull && calledName(e) != "JSON value" {
			return nil, errs.Unsupportedf(-1, "comparisons of JSON made from dates, times, decimals and binary strings")
		}
		return e, nil
	case t.IsTemporal(), t.Class == Bytes, t.Class == Bit:
		return nil, errs.Unsupportedf(-1, "comparisons of JSON with %s", t.sqlName())
	}
	return fold(ctx, newCall("JSON value", TJSON, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.Str)
		return out, ev.each(func(i int) error {
			x, err := jsonScalar(ev.ctx, ev.c.args[0].Type(), ev.args[0], i)
			if err != nil {
				return err
			}
			out.SetBytes(i, x.appendText(nil))
			return nil
		})
	}, e)), nil
}

// isJSONText reports whether e is JSON whose text tells all of its types.
func isJSONText(e Expr) bool {
	return e.Type().Class == JSON && !e.Type().Typed && jsonOrigin(e) == jNull
}

// beyondJSON reports whether e has a type that no value of JSON text has.
func beyondJSON(e Expr) bool { return e.Type().IsTemporal() || e.Type().Class == Bytes }

// typeOrder is the place of e's type where it is not NULL.
func typeOrder(e Expr, place int64) Expr {
	c := newCall("conv", TBigInt, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		for i := range out.I64s {
			out.I64s[i] = place
		}
		return out, nil
	}, e)
	c.hidden, c.inner, c.safe = true, "place "+strconv.FormatInt(place, 10), true
	return c
}

// jsonForTime reports whether JSON is a constant that is a time, compared with a column
// of times: MySQL converts it to the column's type, and warns where it cannot.
func jsonForTime(ctx *Context, json, other Expr) (bool, error) {
	if other.Type().Class != Time || !isColumn(other) || !IsConst(json) {
		return false, nil
	}
	quiet := ctx.quiet()
	quiet.state = nil
	v, err := EvalConst(quiet, json)
	if err != nil || v.IsNull() {
		return false, err
	}
	_, ok := jsonTemporal(ctx, v.Vec.Bytes(0))
	if !ok {
		ctx.warn("Warning", errs.InvalidJSONCast, "Invalid JSON value for CAST to TIME from column cast_as_json at row 1")
	}
	return ok, nil
}

// madeOfTimes reports whether a document is made by JSON functions of dates, times
// or binary strings, which its text does not tell from strings.
func madeOfTimes(e Expr) bool {
	if l, ok := e.(*LiteralExpr); ok && l.folded != nil {
		e = l.folded
	}
	c, ok := e.(*call)
	if !ok || c.typ.Class != JSON {
		return false
	}
	for _, a := range c.args {
		switch t := a.Type(); {
		case t.IsTemporal(), t.Class == Bytes, t.Class == Bit:
			return true
		case madeOfTimes(a):
			return true
		}
	}
	return false
}

// unsignedOrigin reports whether a JSON scalar was made from an unsigned number.
func unsignedOrigin(e Expr) bool {
	if l, ok := e.(*LiteralExpr); ok && l.folded != nil {
		e = l.folded
	}
	c, ok := e.(*call)
	if !ok || c.typ.Class != JSON || len(c.args) != 1 {
		return false
	}
	t := c.args[0].Type()
	return t.Class == Int && t.Unsigned
}

// jsonOrigin tells a JSON scalar whose type its text does not show, by the
// expression that makes it: CAST(d AS JSON). jNull means the text says it all.
func jsonOrigin(e Expr) jsonKind {
	if l, ok := e.(*LiteralExpr); ok && l.folded != nil {
		e = l.folded
	}
	c, ok := e.(*call)
	if !ok || c.typ.Class != JSON || len(c.args) != 1 || c.args[0].Type().Class == JSON {
		return jNull
	}
	switch t := c.args[0].Type(); t.Class {
	case Date:
		return jDate
	case Time:
		return jTime
	case DateTime, Timestamp:
		return jDateTime
	case Decimal:
		return jNumber
	case Bytes, Bit:
		return jOpaque
	}
	return jNull
}
