package expr

import (
	"strconv"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// unify casts expressions to the type that COALESCE, CASE, IF, UNION and IN
// lists give them.
func unify(ctx *Context, es []Expr) ([]Expr, Type, error) { return unifyFor(ctx, "UNION", es) }

func unifyFor(ctx *Context, op string, es []Expr) ([]Expr, Type, error) {
	t, err := resultType(ctx, op, es)
	if err != nil {
		return nil, t, err
	}
	if t.Class == Year {
		if t.Width = 8; op == "UNION" {
			t.Width = 0
		}
	}
	out := make([]Expr, len(es))
	for i, e := range es {
		if t.Class == Nested {
			out[i] = e
			continue
		}
		if t.Class == Decimal {
			e = Exact(e)
		}
		if op == "UNION" {
			out[i] = convert(ctx, e, t)
			continue
		}
		out[i] = asTextOf(ctx, e, t)
	}
	return out, t, nil
}

// typeRank orders numeric families for merging.
func numberRank(t Type) int {
	switch t.Class {
	case Bool:
		return 1
	case Year:
		return 2
	case Int, Bit:
		return 3
	case Decimal:
		return 4
	case Float:
		return 5
	case Double:
		return 6
	}
	return 0
}

// resultType merges the types of values of which one is the result.
func resultType(ctx *Context, op string, es []Expr) (Type, error) {
	var t Type
	started, nullable := false, false
	text := false
	for _, e := range es {
		x := e.Type()
		nullable = nullable || x.Nullable
		switch x.Class {
		case Null:
			nullable = true
			continue
		}
		if !started {
			t, started = x, true
			continue
		}
		m, ok := merge(t, x)
		if !ok {
			text = true
			continue
		}
		t = m
	}
	switch {
	case !started:
		return TNull, nil
	case t.Class == Nested || text && hasNested(es):
		if !text && len(es) == 1 {
			return t, nil
		}
		return t, errs.Unsupportedf(-1, "%s of nested values", op)
	case text || isString(t):
		var ts []Type
		n := 0
		for _, e := range es {
			x := textType(ctx, e.Type())
			ts = append(ts, x)
			n = max(n, displayLength(e.Type()))
		}
		m, err := resultCollation(op, ts...)
		if err != nil {
			return t, err
		}
		m.Class, m.Length, m.Labels = String, n, nil
		if m.Collation == "binary" {
			m.Class, m.Length = Bytes, mostBytes(es)
		}
		t = m
	}
	t.Nullable = nullable
	t.Told = toldMerged(t, es)
	return t, nil
}

// noneMixed refuses texts of set operations that two of the collations make one
// of none; texts that were so before are accepted.
func noneMixed(ctx *Context, es []Expr) error {
	all := textType(ctx, es[0].Type())
	for _, e := range es[1:] {
		t := textType(ctx, e.Type())
		m, err := resultCollation("UNION", all, t)
		if err != nil {
			return err
		}
		if m.Coercibility == 1 && all.Coercibility != 1 && t.Coercibility != 1 {
			return collationMix("UNION", nil, all, t)
		}
		all = m
	}
	return nil
}

func hasNested(es []Expr) bool {
	for _, e := range es {
		if e.Type().Class == Nested {
			return true
		}
	}
	return false
}

// merge is the type that holds values of both, without going through text.
func merge(a, b Type) (Type, bool) {
	if a.Class == Float && (b.Class == Int || b.Class == Bool) {
		return a, true // in this order only; an INT first makes it DOUBLE
	}
	if numberRank(a) > numberRank(b) || a.IsTemporal() && b.IsTemporal() && a.Class > b.Class {
		a, b = b, a
	}
	ra, rb := numberRank(a), numberRank(b)
	t := b
	t.Coercibility = max(a.Coercibility, b.Coercibility)
	switch {
	case ra > 0 && rb > 0:
		switch b.Class {
		case Bool:
			t.Width = max(a.Width, b.Width)
			return t, true
		case Year:
			if a.Class == Year {
				return t, true
			}
			return Type{Class: Int, Width: 8, Coercibility: 5}, true
		case Bit:
			if a.Class == Bit {
				t.Length = max(a.Length, b.Length)
				return t, true
			}
			return mergeInts(TUint64, asIntType(a)), true
		case Int:
			if a.Class == Year && !b.Unsigned && b.Width <= 2 {
				return Type{Class: Int, Width: 2, Coercibility: 5}, true
			}
			return mergeInts(asIntType(a), b), true
		case Decimal:
			da := decimalOf(a)
			s := max(da.Scale, b.Scale)
			t = TDecimal(min(max(da.Precision-da.Scale, b.Precision-b.Scale)+s, 65), s)
			return t, true
		case Float:
			if a.Class == Float || a.Class == Year || asIntType(a).Width <= 3 && a.Class != Decimal {
				t.Scale = mergedScale(a, b)
				return t, true
			}
		}
		t = TDouble
		t.Scale = mergedScale(a, b)
		return t, true
	case a.IsTemporal() && b.IsTemporal():
		s := max(a.Scale, b.Scale)
		switch {
		case a.Class == b.Class:
			t.Scale = s
			return t, true
		}
		return TDateTime(s), true
	case a.Class == JSON && b.Class == JSON:
		t.Typed = a.Typed || b.Typed
		return t, true
	case a.Class == String && b.Class == String:
		return t, true // collations are merged by the caller
	}
	return Type{}, false
}

// mergedScale is the number of fraction digits of a floating point value that is
// one of two numbers.
func mergedScale(a, b Type) int {
	if a.Class == Bit || b.Class == Bit {
		return NotFixed
	}
	return max(toldScale(a), toldScale(b))
}

func asIntType(t Type) Type {
	switch t.Class {
	case Bool:
		w := t.Width
		if w == 8 {
			w = 8
		}
		return Type{Class: Int, Width: w, Precision: 1, Coercibility: 5}
	case Year:
		return Type{Class: Int, Width: 2, Unsigned: true, Precision: 4, Coercibility: 5}
	case Bit:
		return TUint64
	}
	return t
}

// mergeInts holds both ranges; BIGINT with BIGINT UNSIGNED is a decimal.
func mergeInts(a, b Type) Type {
	t := Type{Class: Int, Width: max(a.Width, b.Width), Coercibility: 5, Precision: 0}
	if a.Unsigned == b.Unsigned {
		t.Unsigned = a.Unsigned
		if a.Precision > 0 || b.Precision > 0 {
			t.Precision = max(intDigits(a), intDigits(b))
		}
		return t
	}
	u := a
	s := b
	if b.Unsigned {
		u, s = b, a
	}
	if u.Width < s.Width {
		return t
	}
	if u.Width == 8 {
		return TDecimal(20, 0)
	}
	t.Width = map[int]int{1: 2, 2: 3, 3: 4, 4: 8}[u.Width]
	return t
}

// FloatInTexts is the text of a FLOAT in a text column of a set operation. MySQL shows
// the digits of the DOUBLE there, as many as the column's width t.Length has place for,
// unlike CONCAT and CAST, which show the FLOAT's own. Other values, and those of columns
// of more than 512 characters, which are a TEXT, come back as they were unified.
func FloatInTexts(ctx *Context, e, unified Expr, t Type) Expr {
	if e.Type().Class != Float || e.Type().Scale != NotFixed || !isString(t) || t.Length < 0 || t.Length > 512 {
		return unified
	}
	c := newCall("conv", unified.Type(), func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.Str)
		double := vector.NewFlat(vector.F64, 1)
		var buf []byte
		ev.rows(func(i int) {
			x := floatAt(ev.args[0], i)
			double.F64s[0] = x
			buf = AppendText(buf[:0], TDouble, double, 0, nil)
			for digits := 16; len(buf) > t.Length && digits > 0; digits-- {
				double.F64s[0], _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64)
				buf = AppendText(buf[:0], TDouble, double, 0, nil)
			}
			out.SetBytes(i, buf)
		})
		return out, nil
	}, e)
	c.typ.Nullable = unified.Type().Nullable
	c.hidden, c.inner = true, "FLOAT in texts"
	return fold(ctx, c)
}
