package expr

import (
	"bytes"
	"cmp"
	"math"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func init() {
	for _, o := range []struct{ name, doc string }{
		{"=", "Equal. Text compares by collation, text with a number as DOUBLE, text with a date as a date."}, {"<>", "Not equal."},
		{"<", "Less."}, {"<=", "Less or equal."}, {">", "Greater."}, {">=", "Greater or equal."},
		{"<=>", "Equal, where NULL equals NULL; never NULL."},
	} {
		register(&function{name: o.name, min: 2, max: 2, class: "comparison", usage: "a " + o.name + " b", doc: o.doc,
			resolve: func(ctx *Context, args []Expr) (Expr, error) { return compare(ctx, o.name, args[0], args[1]) }})
		operatorText[o.name] = func(c *call) string {
			return "(" + c.args[0].String() + " " + o.name + " " + c.args[1].String() + ")"
		}
	}
	alias("!=", "<>")
	alias("==", "=")
	register(&function{name: "BETWEEN", min: 3, max: 3, class: "comparison", usage: "x BETWEEN low AND high", doc: "low <= x AND x <= high.",
		resolve: between})
	register(&function{name: "STRCMP", min: 2, max: 2, class: "comparison", usage: "STRCMP(a, b)", doc: "-1, 0 or 1: how a sorts against b.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			a, b := asText(ctx, args[0]), asText(ctx, args[1])
			t, err := comparedCollations("strcmp", a.Type(), b.Type())
			if err != nil {
				return nil, err
			}
			c := collationOf(t).ready()
			return newCall("STRCMP", TBigInt, func(ev *evaluation) (*vector.Vec, error) {
				out := ev.out(vector.I64)
				ev.rows(func(i int) { out.I64s[i] = int64(sign(c.compare(ev.args[0].Bytes(i), ev.args[1].Bytes(i)))) })
				return out, nil
			}, a, b), nil
		}})
}

func sign(x int) int {
	switch {
	case x < 0:
		return -1
	case x > 0:
		return 1
	}
	return 0
}

// comparable converts two operands to one type in which they are compared.
// op names the comparison in errors.
func comparable2(ctx *Context, op string, a, b Expr) (x, y Expr, t Type, err error) {
	ta, tb := a.Type(), b.Type()
	if ta.Class == Nested || tb.Class == Nested {
		return nil, nil, t, errs.Unsupportedf(-1, "comparisons of nested values")
	}
	both := func(t Type) (Expr, Expr, Type, error) { return convert(ctx, a, t), convert(ctx, b, t), t, nil }
	switch {
	case ta.Class == Null && tb.Class == Null:
		return both(TBigInt)
	case ta.Class == Null:
		t = tb
		return convert(ctx, a, t), b, t, nil
	case tb.Class == Null:
		t = ta
		return a, convert(ctx, b, t), t, nil
	case ta.Class == JSON || tb.Class == JSON:
		return comparableJSON(ctx, a, b)
	case isString(ta) && isString(tb):
		t, err = comparedCollations(op, ta, tb)
		if err != nil {
			return nil, nil, t, err
		}
		t.Class, t.Labels = String, nil
		if t.Collation == "binary" {
			t.Class = Bytes
		}
		t.Length = max(ta.Length, tb.Length)
		if _, err := findCollation(t.Collation); err != nil {
			return nil, nil, t, err
		}
		return both(t)
	case ta.IsTemporal() || tb.IsTemporal():
		return comparableTemporal(ctx, a, b)
	}
	if isColumn(a) && a.Type().Class == Decimal {
		b = bytesWithoutNumber(ctx, b)
	} else if isColumn(b) && b.Type().Class == Decimal {
		a = bytesWithoutNumber(ctx, a)
	}
	na, nb := numeric(a), numeric(b)
	// A constant text compared with an integer column is an integer when it is
	// exactly one: doubles lose digits of a BIGINT.
	if na.Class == Int && isColumn(a) && constText(b) {
		if l := textAsInt(b, na.Unsigned); l != nil {
			b, nb = l, l.Type()
		}
	} else if nb.Class == Int && isColumn(b) && constText(a) {
		if l := textAsInt(a, nb.Unsigned); l != nil {
			a, na = l, l.Type()
		}
	}
	switch {
	case na.Class == Double || nb.Class == Double:
		return both(TDouble)
	case na.Class == Int && nb.Class == Int:
		return comparableInts(ctx, a, b, na, nb)
	}
	da, db := decimalOf(na), decimalOf(nb)
	s := max(da.Scale, db.Scale)
	return both(TDecimal(min(max(da.Precision-da.Scale, db.Precision-db.Scale)+s, 95), s))
}

func isString(t Type) bool {
	return t.Class == String || t.Class == Bytes || t.Class == Enum || t.Class == Set
}

// isColumn reports whether e is a column, perhaps under a change of
// representation.
func isColumn(e Expr) bool {
	switch e.(type) {
	case *ColumnExpr, *StoredExpr:
		return true
	}
	return false
}

func constText(e Expr) bool {
	l, ok := e.(*LiteralExpr)
	return ok && l.Val.Type.Class == String && !l.Val.IsNull()
}

// bytesWithoutNumber is 0 for a constant binary string that begins with no number,
// beside a DECIMAL column, with MySQL's warning about it; others come back.
func bytesWithoutNumber(ctx *Context, e Expr) Expr {
	l, ok := e.(*LiteralExpr)
	if !ok || l.hex || l.Type().Class != Bytes || l.Val.IsNull() {
		return e
	}
	if start, end := numberPrefix(l.Val.Vec.Bytes(0)); start != end {
		return e
	}
	ctx.warn("Warning", errs.IncorrectDecimal, "Incorrect DECIMAL value: '0' for column '' at row -1")
	zero := Literal(IntValue(0))
	zero.folded = e
	return zero
}

func textAsInt(e Expr, unsigned bool) *LiteralExpr {
	s := e.(*LiteralExpr).Val.Vec.Bytes(0)
	if len(s) == 0 || isSpace(s[0]) {
		return nil
	}
	x, neg, clean := parseInt(s, unsigned)
	if !clean || neg && unsigned {
		return nil
	}
	if unsigned || !neg && x < 0 {
		return Literal(UintValue(uint64(x)))
	}
	return Literal(IntValue(x))
}

// comparableInts brings integers to one width; t.Unsigned says that both are
// unsigned 64-bit values. Mixed signs of 64 bits compare as decimals.
func comparableInts(ctx *Context, a, b Expr, na, nb Type) (Expr, Expr, Type, error) {
	narrow := func(e Expr) bool { return e.Type().Class == Int && e.Type().Physical() == vector.I32 }
	fits := func(e Expr) *LiteralExpr {
		l, ok := e.(*LiteralExpr)
		if !ok || l.Val.IsNull() || l.hex || l.Val.Vec.Kind == vector.Str {
			return nil
		}
		x := intAt(l.Val.Vec, 0)
		if x != int64(int32(x)) || l.Val.Type.Unsigned && x < 0 {
			return nil
		}
		v := vector.New(vector.I32, 1)
		v.AppendI32(int32(x))
		d := Literal(Value{Type: Type{Class: Int, Width: 4, Coercibility: 5}, Vec: v.AsConst(1)})
		d.text, d.folded = l.text, l.folded
		return d
	}
	t32 := Type{Class: Int, Width: 4, Nullable: true, Coercibility: 5}
	switch {
	case narrow(a) && narrow(b):
		return a, b, t32, nil
	case narrow(a):
		if l := fits(b); l != nil {
			return a, l, t32, nil
		}
	case narrow(b):
		if l := fits(a); l != nil {
			return l, b, t32, nil
		}
	}
	big := func(t Type) bool { return t.Unsigned && t.Width == 8 }
	if big(na) != big(nb) {
		// The unsigned one may be a small constant.
		if l, ok := a.(*LiteralExpr); ok && big(na) && l.Val.Type.Class == Int && !l.Val.IsNull() && intAt(l.Val.Vec, 0) >= 0 {
			return relabel(a, TBigInt), convert(ctx, b, TBigInt), TBigInt, nil
		}
		if l, ok := b.(*LiteralExpr); ok && big(nb) && l.Val.Type.Class == Int && !l.Val.IsNull() && intAt(l.Val.Vec, 0) >= 0 {
			return convert(ctx, a, TBigInt), relabel(b, TBigInt), TBigInt, nil
		}
		// So may the signed one.
		if l, ok := b.(*LiteralExpr); ok && big(na) && l.Val.Type.Class == Int && !l.Val.IsNull() && intAt(l.Val.Vec, 0) >= 0 {
			return convert(ctx, a, TUint64), relabel(b, TUint64), TUint64, nil
		}
		if l, ok := a.(*LiteralExpr); ok && big(nb) && l.Val.Type.Class == Int && !l.Val.IsNull() && intAt(l.Val.Vec, 0) >= 0 {
			return relabel(a, TUint64), convert(ctx, b, TUint64), TUint64, nil
		}
		d := TDecimal(20, 0)
		return convert(ctx, a, d), convert(ctx, b, d), d, nil
	}
	t := TBigInt
	t.Unsigned = big(na)
	na.Width, nb.Width = 8, 8
	return convert(ctx, a, t), convert(ctx, b, t), t, nil
}

// comparableTemporal handles comparisons where at least one side is a date or
// time.
func comparableTemporal(ctx *Context, a, b Expr) (Expr, Expr, Type, error) {
	ta, tb := a.Type(), b.Type()
	both := func(t Type) (Expr, Expr, Type, error) { return convert(ctx, a, t), convert(ctx, b, t), t, nil }
	if ta.IsTemporal() && tb.IsTemporal() {
		t := ta
		t.Scale = max(ta.Scale, tb.Scale)
		switch {
		case ta.Class == tb.Class:
			return both(t)
		case ta.Class == Time && isColumn(a) && IsConst(b), tb.Class == Time && isColumn(b) && IsConst(a):
			t.Class = Time
			return both(t)
		case ta.Class == Timestamp && tb.Class != Time && IsConst(b), tb.Class == Timestamp && ta.Class != Time && IsConst(a):
			t.Class = Timestamp
			return both(t)
		}
		return both(TDateTime(6))
	}
	if !ta.IsTemporal() {
		y, x, t, err := comparableTemporal(ctx, b, a)
		return x, y, t, err
	}
	l, constant := b.(*LiteralExpr)
	constant = constant && !l.Val.IsNull() && !strings.HasPrefix(l.text, "@") // a user variable may be no date
	if isString(tb) {
		if ta.Class == Time {
			if constant && isColumn(a) {
				switch p := parseTime(l.Val.Vec.Bytes(0)); p.kind {
				case Time:
					return both(TTime(6))
				case DateTime, Date:
					return both(TDateTime(6))
				}
				if isColumn(a) {
					ctx.warn("Warning", errs.TruncatedValue, "Incorrect time value: '%s' for column '%s' at row 1", shownAs(tb, l.Val.Vec.Bytes(0)), lastName(a.String()))
				}
			}
			// Texts that may be no time are compared as texts.
			t, err := mergeCollations("=", textType(ctx, ta), tb)
			if err != nil {
				return nil, nil, t, err
			}
			t.Class, t.Length = String, max(displayLength(ta), tb.Length)
			if t.Collation == "binary" {
				t.Class = Bytes
			}
			return both(t)
		}
		t := TDateTime(6)
		if ta.Class == Timestamp {
			t.Class = Timestamp
		}
		if constant {
			s := l.Val.Vec.Bytes(0)
			p := parseDateTime(s, false)
			if err := ctx.zeroDate(p, false); err != nil {
				return nil, nil, Type{}, err
			}
			if p.kind == Null {
				return nil, nil, Type{}, errs.Userf(errs.WrongValue, "Incorrect %s value: '%s'", ta.sqlName(), shown(s))
			}
			if p.kind == Date && ta.Class == Date {
				t = TDate
			}
		}
		return convert(ctx, a, t), textAsDate(ctx, b, t, a), t, nil
	}
	// With a number: a constant that is a date takes the column's type, else
	// both are numbers (YYYYMMDD).
	if constant && isColumn(a) {
		nb := numeric(b)
		if nb.Class == Int || nb.Class == Decimal {
			d := decs(ctx, nb, convert(ctx, hexArg(b), nb).(*LiteralExpr).Val.Vec)(0)
			p := decToDateTime(d)
			if ta.Class == Time {
				p = decToTime(d)
			}
			if p.kind != Null && !p.truncated {
				t := TDateTime(6)
				switch {
				case ta.Class == Time && p.kind == Time:
					t = TTime(6)
				case ta.Class == Timestamp:
					t = TTimestamp(6)
				case ta.Class == Date && p.kind == Date:
					t = TDate
				}
				return both(t)
			}
		}
		if ta.Class == Time && nb.Class == Double {
			return both(TDouble)
		}
		ctx.warn("Warning", errs.TruncatedValue, "Incorrect %s value: '%s' for column '%s' at row 1", lower(ta.sqlName()), shown(AppendText(nil, l.Val.Type, l.Val.Vec, 0, nil)), lastName(a.String()))
	}
	if ta.Class != Time && tb.Class == Year {
		// A year is compared as the date without month and day, YYYY0000.
		unit := int64(10000)
		if ta.Class != Date {
			unit *= 1000000
		}
		y, err := Call(ctx, "*", convert(ctx, b, TBigInt), Literal(IntValue(unit)))
		if err != nil {
			return nil, nil, Type{}, err
		}
		b, tb = y, y.Type()
	}
	na, nb := numeric(a), numeric(b)
	switch {
	case nb.Class == Double:
		return both(TDouble)
	case na.Class == Int && nb.Class == Int:
		return comparableInts(ctx, convert(ctx, a, TBigInt), b, TBigInt, nb)
	}
	da, db := decimalOf(na), decimalOf(nb)
	s := max(da.Scale, db.Scale)
	return both(TDecimal(min(max(da.Precision-da.Scale, db.Precision-db.Scale)+s, 95), s))
}

// textAsDate reads a text for a comparison with a date: without its offset, and
// as less than all dates when it is none.
func textAsDate(ctx *Context, e Expr, t Type, date Expr) Expr {
	label := "datetime"
	if date.Type().Class == Date {
		label = "date"
	} else if _, ok := date.(*LiteralExpr); ok {
		label = "datetime " // says "Truncated incorrect", too
	}
	name := calledName(e)
	chosen := (name == "CASE" || name == "IF" || name == "NULLIF") && !IsConst(date) // MySQL takes their results for NULL then
	t.Nullable = t.Nullable || chosen
	c := newCall("conv", t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(t.Physical())
		z := ev.ctx.zone()
		return out, ev.each(func(i int) error {
			s := ev.args[0].Bytes(i)
			p := parseDateTime(s, false)
			if p.kind == Null || p.truncated {
				ev.ctx.badDate(label, p, e.Type(), s)
			}
			us := int64(math.MinInt64)
			if p.kind != Null {
				ev.ctx.delimiter(p, s, i)
				us = p.us
				if p.offset {
					off, _ := parseOffset(bytes.TrimSpace(s)[len(bytes.TrimSpace(s))-6:])
					us += off
				}
				p.us = us
				us = p.rounded(6, false)
				if t.Class == Timestamp {
					us = instantOf(us, z)
				}
			} else if err := ev.ctx.zeroDate(p, false); err != nil {
				return err
			} else if chosen {
				out.SetNull(i)
				return nil
			}
			if t.Class == Date {
				out.I32s[i] = math.MinInt32
				if p.kind != Null {
					out.I32s[i], _ = splitDateTime(us)
				}
				return nil
			}
			out.I64s[i] = us
			return nil
		})
	}, e)
	c.hidden, c.inner = true, "date of text "+t.key()
	return fold(ctx, c)
}

// compare resolves =, <>, <, <=, >, >= and <=>.
func compare(ctx *Context, op string, a, b Expr) (Expr, error) {
	a, b = yearConstants(a, b)
	return compareFor(ctx, op, op, a, b)
}

// compareFor is compare; by is what errors call the operation.
func compareFor(ctx *Context, by, op string, a, b Expr) (Expr, error) {
	return compareOperands(ctx, by, op, a, b, true)
}

// compareOperands is compareFor; once says that constants are converted once, not for
// every row.
func compareOperands(ctx *Context, by, op string, a, b Expr, once bool) (Expr, error) {
	x, y, t, err := comparable2(ctx, by, a, b)
	if err != nil {
		return nil, err
	}
	if once {
		x, y = convertedOnce(a, x), convertedOnce(b, y)
	}
	c := newCall(op, TBool, compareKernel(op, t), x, y)
	if op == "<=>" {
		c.nulls = true
		c.typ.Nullable = false
	} else {
		c.safe = t.Class != String && t.Class != JSON && t.Class != Bytes
	}
	return c, nil
}

// The outcomes of a three-way comparison for which an operator is true, as a
// set of bits: 1 less, 2 equal, 4 greater.
var outcomes = map[string]uint8{"=": 2, "<=>": 2, "<>": 5, "<": 1, "<=": 3, ">": 4, ">=": 6}

func compareKernel(op string, t Type) kernel {
	set := outcomes[op]
	if op == "<=>" {
		cmp := comparer(t)
		return func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.I8)
			a, b := ev.args[0], ev.args[1]
			ev.rows(func(i int) {
				if cmp(a, i, b, i) == 0 {
					out.I8s[i] = 1
				}
			})
			return out, nil
		}
	}
	switch t.Physical() {
	case vector.I8:
		return func(ev *evaluation) (*vector.Vec, error) {
			a, am := i8s(ev.args[0])
			b, bm := i8s(ev.args[1])
			return compareLoop(ev, set, a, am, b, bm), nil
		}
	case vector.I32:
		return func(ev *evaluation) (*vector.Vec, error) {
			a, am := i32s(ev.args[0])
			b, bm := i32s(ev.args[1])
			return compareLoop(ev, set, a, am, b, bm), nil
		}
	case vector.I64:
		unsigned := t.Class == Int && t.Unsigned
		return func(ev *evaluation) (*vector.Vec, error) {
			a, am := i64s(ev.args[0])
			b, bm := i64s(ev.args[1])
			if unsigned {
				return compareWith(ev, set, func(i int) int { return cmp.Compare(uint64(a[i&am]), uint64(b[i&bm])) }), nil
			}
			return compareLoop(ev, set, a, am, b, bm), nil
		}
	case vector.F64:
		return func(ev *evaluation) (*vector.Vec, error) {
			a, am := f64s(ev.args[0])
			b, bm := f64s(ev.args[1])
			return compareDoubles(ev, set, a, am, b, bm), nil
		}
	case vector.Str:
		if t.Class != JSON {
			c := collationOf(t).ready()
			return func(ev *evaluation) (*vector.Vec, error) { return compareText(ev, set, c), nil }
		}
	}
	order := comparer(t)
	return func(ev *evaluation) (*vector.Vec, error) {
		a, b := ev.args[0], ev.args[1]
		return compareWith(ev, set, func(i int) int { return order(a, i, b, i) }), nil
	}
}

// compareLoop compares ordered payloads, one loop an operator.
func compareLoop[T int8 | int32 | int64](ev *evaluation, set uint8, a []T, am int, b []T, bm int) *vector.Vec {
	out := ev.out(vector.I8)
	r := out.I8s
	b2i := func(x bool) int8 {
		if x {
			return 1
		}
		return 0
	}
	switch set {
	case 2:
		for i := range r {
			r[i] = b2i(a[i&am] == b[i&bm])
		}
	case 5:
		for i := range r {
			r[i] = b2i(a[i&am] != b[i&bm])
		}
	case 1:
		for i := range r {
			r[i] = b2i(a[i&am] < b[i&bm])
		}
	case 3:
		for i := range r {
			r[i] = b2i(a[i&am] <= b[i&bm])
		}
	case 4:
		for i := range r {
			r[i] = b2i(a[i&am] > b[i&bm])
		}
	default:
		for i := range r {
			r[i] = b2i(a[i&am] >= b[i&bm])
		}
	}
	return out
}

// compareDoubles compares as processors do, and looks again only if there was
// a NaN, which only lake files have.
func compareDoubles(ev *evaluation, set uint8, a []float64, am int, b []float64, bm int) *vector.Vec {
	out := ev.out(vector.I8)
	r := out.I8s
	nan := false
	for i := range r {
		x, y := a[i&am], b[i&bm]
		var less, more int8
		if x < y {
			less = 1
		}
		if x > y {
			more = 1
		}
		nan = nan || x != x || y != y
		// 1 less, 2 equal, 4 greater
		r[i] = int8(set>>(1+more-less)) & 1
	}
	if nan {
		ev.rows(func(i int) { r[i] = int8(set >> (compareDouble(a[i&am], b[i&bm]) + 1) & 1) })
	}
	return out
}

func compareWith(ev *evaluation, set uint8, order func(i int) int) *vector.Vec {
	out := ev.out(vector.I8)
	ev.rows(func(i int) { out.I8s[i] = int8(set >> (sign(order(i)) + 1) & 1) })
	return out
}

func compareText(ev *evaluation, set uint8, c *collation) *vector.Vec {
	a, b := ev.args[0], ev.args[1]
	if c.family == byBytes && !c.pad && (set == 2 || set == 5) {
		out := ev.out(vector.I8)
		hit := int8(set >> 1 & 1)
		ev.rows(func(i int) {
			if bytes.Equal(a.Bytes(i), b.Bytes(i)) {
				out.I8s[i] = hit
			} else {
				out.I8s[i] = 1 - hit
			}
		})
		return out
	}
	return compareWith(ev, set, func(i int) int { return c.compare(a.Bytes(i), b.Bytes(i)) })
}

// compareDouble orders doubles: -0 equals 0, NaN equals itself and is last.
func compareDouble(x, y float64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	}
	return sign(b2i(math.IsNaN(x)) - b2i(math.IsNaN(y)))
}

func b2i(x bool) int {
	if x {
		return 1
	}
	return 0
}
