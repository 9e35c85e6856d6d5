package expr

import (
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func init() {
	register(&function{name: "CASE", min: 2, max: -1, class: "control", usage: "CASE WHEN c THEN x … ELSE y END", doc: "The value of the first branch whose condition is true; branches not taken are not evaluated.", resolve: caseWhen})
	operatorText["CASE"] = func(c *call) string {
		var s strings.Builder
		s.WriteString("(case")
		i := 0
		for ; i+1 < len(c.args); i += 2 {
			s.WriteString(" when " + c.args[i].String() + " then " + c.args[i+1].String())
		}
		if i < len(c.args) {
			s.WriteString(" else " + c.args[i].String())
		}
		return s.String() + " end)"
	}
	register(&function{name: "IF", min: 3, max: 3, class: "control", usage: "IF(c, x, y)", doc: "x where c is true, else y.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) { return caseOp(ctx, "if", args) }})
	register(&function{name: "IFNULL", min: 2, max: 2, class: "control", usage: "IFNULL(x, y)", doc: "x where it is not NULL, else y.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) { return coalesce(ctx, "IFNULL", args) }})
	register(&function{name: "COALESCE", min: 1, max: -1, class: "control", usage: "COALESCE(x, …)", doc: "The first value that is not NULL.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) { return coalesce(ctx, "COALESCE", args) }})
	register(&function{name: "NULLIF", min: 2, max: 2, class: "control", usage: "NULLIF(x, y)", doc: "NULL where x = y, else x.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			l, r := yearConstants(args[0], args[1])
			switch {
			case isDated(l) && isString(r.Type()) && !IsConst(r):
				r = dateTextNamed(l).read(ctx, r)
			case isDated(r) && isString(l.Type()) && !IsConst(l):
				l = dateTextNamed(r).read(ctx, l)
			}
			eq, err := compareFor(ctx, "nullif", "=", l, r)
			if err != nil {
				return nil, err
			}
			eq = fold(ctx, eq)
			if args[0].Type().Class == Nested {
				return nil, errs.Unsupportedf(-1, "NULLIF of nested values")
			}
			if l, ok := args[0].(*LiteralExpr); ok && l.hex && isColumn(args[1]) && args[1].Type().Class == Int {
				if args[1].Type().Width == 8 {
					args[0] = hexNumber(l)
				}
			}
			x := args[0]
			if l, ok := x.(*LiteralExpr); ok && l.folded == nil && l.Type().Class == String && args[1].Type().Class == Bytes {
				x = relabel(x, TBytes(displayLength(l.Type())))
			} else if l, ok := x.(*LiteralExpr); ok && l.folded == nil && l.Type().Class == String && args[1].Type().Class == String {
				// MySQL converts a literal to the collation in which it is compared,
				// and NULLIF gives the converted one: NULLIF('ab', b) has b's.
				t, err := mergeCollations("nullif", x.Type(), args[1].Type())
				if err != nil {
					return nil, err
				}
				as := *l
				as.Val.Type.Collation = t.Collation
				x = &as
			}
			null := Value{Type: x.Type(), Vec: vector.NewNull(x.Type().Physical(), 1)}
			null.Type.Nullable = true
			return caseOp(ctx, "nullif", []Expr{eq, Literal(null), x})
		}})
	for _, g := range []struct{ name, doc string }{{"GREATEST", "The greatest value; NULL if one is NULL."}, {"LEAST", "The least value; NULL if one is NULL."}} {
		register(&function{name: g.name, min: 2, max: -1, class: "control", usage: g.name + "(x, y, …)", doc: g.doc,
			resolve: func(ctx *Context, args []Expr) (Expr, error) { return extreme(ctx, g.name, args) }})
	}
	register(&function{name: "INTERVAL", min: 2, max: -1, class: "control", usage: "INTERVAL(n, n1, n2, …)", doc: "How many of the ascending n1, n2, … are not greater than n; -1 when n is NULL.", resolve: interval})
	register(&function{name: "ELT", min: 2, max: -1, class: "string", usage: "ELT(n, s1, s2, …)", doc: "The n-th text, NULL beyond the list.", resolve: elt})
	register(&function{name: "FIELD", min: 2, max: -1, class: "string", usage: "FIELD(x, x1, x2, …)", doc: "The position of x in the list, 0 when it is not there.", resolve: field})
}

// caseConditions turns CASE x WHEN y into conditions x = y.
func caseConditions(ctx *Context, operand Expr, conds []Expr) ([]Expr, error) {
	out := make([]Expr, len(conds))
	for i, c := range conds {
		if Exact(operand) != operand || Exact(c) != c {
			eq, err := Call(ctx, "=", operand, c)
			if err != nil {
				return nil, err
			}
			out[i] = eq
			continue
		}
		eq, err := compareFor(ctx, "case", "=", operand, c)
		if err != nil {
			return nil, err
		}
		out[i] = fold(ctx, eq)
	}
	return out, nil
}

func caseWhen(ctx *Context, args []Expr) (Expr, error) { return caseOp(ctx, "case", args) }

// caseOp resolves condition, value, condition, value, …, perhaps an else.
func caseOp(ctx *Context, op string, args []Expr) (Expr, error) {
	var conds, values []Expr
	for i := 0; i+1 < len(args); i += 2 {
		c, err := condition(ctx, args[i])
		if err != nil {
			return nil, err
		}
		conds, values = append(conds, c), append(values, args[i+1])
	}
	hasElse := len(args)%2 == 1
	if hasElse {
		values = append(values, args[len(args)-1])
	}
	values, t, err := unifyFor(ctx, op, values)
	if err != nil {
		return nil, err
	}
	if t.Class == Nested {
		return nil, errs.Unsupportedf(-1, "CASE of nested values")
	}
	t.Nullable = t.Nullable || !hasElse
	var all []Expr
	for i, c := range conds {
		all = append(all, c, values[i])
	}
	if hasElse {
		all = append(all, values[len(values)-1])
	}
	return &call{name: "CASE", inner: op, args: all, typ: t, kern: caseKernel, lazy: true}, nil
}

func caseKernel(ev *evaluation) (*vector.Vec, error) {
	b := *ev.b
	args := ev.c.args
	var out *vector.Vec
	kind := ev.c.typ.Physical()
	// take computes e for the rows of sel and puts them into the result.
	take := func(e Expr, sel []uint16, all bool) (*vector.Vec, error) {
		in := *ev.b
		in.Sel = sel
		v, err := e.Eval(ev.ctx, &in)
		if err != nil {
			return nil, err
		}
		if all && out == nil {
			return v, nil
		}
		if out == nil {
			out = emptyNull(kind, ev.n)
		}
		out.SetRows(v, sel)
		return nil, nil
	}
	i := 0
	for ; i+1 < len(args); i += 2 {
		if b.Sel != nil && len(b.Sel) == 0 {
			break
		}
		hit, err := Filter(ev.ctx, args[i], &b, nil)
		if err != nil {
			return nil, err
		}
		if len(hit) == 0 {
			continue
		}
		rows := b.Rows()
		v, err := take(args[i+1], hit, len(hit) == rows)
		if v != nil || err != nil {
			return v, err
		}
		b.Sel = without(&b, hit)
	}
	if i < len(args) && b.Rows() > 0 {
		all := out == nil
		sel := b.Sel
		v, err := take(args[i], sel, all)
		if v != nil || err != nil {
			return v, err
		}
	}
	if out == nil {
		return vector.NewNull(kind, ev.n), nil
	}
	return out, nil
}

// emptyNull is a Flat vector of n NULLs.
func emptyNull(kind vector.Kind, n int) *vector.Vec {
	v := vector.NewFlat(kind, n)
	v.Valid = make([]uint64, (n+63)/64)
	return v
}

// without returns the rows of b that are not in hit.
func without(b *vector.Batch, hit []uint16) []uint16 {
	out := make([]uint16, 0, b.Rows()-len(hit))
	k := 0
	for i := range b.Rows() {
		r := uint16(b.Row(i))
		if k < len(hit) && hit[k] == r {
			k++
			continue
		}
		out = append(out, r)
	}
	return out
}

func coalesce(ctx *Context, name string, args []Expr) (Expr, error) {
	values, t, err := unifyFor(ctx, strings.ToLower(name), args)
	if err != nil {
		return nil, err
	}
	if t.Class == Nested {
		return nil, errs.Unsupportedf(-1, "COALESCE of nested values")
	}
	t.Nullable = true
	for _, v := range values {
		if !v.Type().Nullable {
			t.Nullable = false
		}
	}
	if t.Class == Null {
		return Literal(NullValue()), nil
	}
	return &call{name: name, args: values, typ: t, kern: coalesceKernel, lazy: true}, nil
}

func coalesceKernel(ev *evaluation) (*vector.Vec, error) {
	b := *ev.b
	var out *vector.Vec
	kind := ev.c.typ.Physical()
	for _, a := range ev.c.args {
		if b.Sel != nil && len(b.Sel) == 0 {
			break
		}
		v, err := a.Eval(ev.ctx, &b)
		if err != nil {
			return nil, err
		}
		if v.Valid == nil && out == nil {
			return v, nil
		}
		if out == nil {
			out = emptyNull(kind, ev.n)
		}
		out.SetRows(v, b.Sel)
		var open []uint16
		for i := range b.Rows() {
			if r := b.Row(i); v.IsNull(r) {
				open = append(open, uint16(r))
			}
		}
		if open == nil {
			open = []uint16{}
		}
		b.Sel = open
	}
	if out == nil {
		return vector.NewNull(kind, ev.n), nil
	}
	return out, nil
}

func interval(ctx *Context, args []Expr) (Expr, error) {
	xs := make([]Expr, len(args))
	for i, a := range args {
		if isNested(a) != nil {
			return nil, isNested(a)
		}
		xs[i] = asDouble(ctx, a)
		if n := numeric(a); n.Class == Int && n.Width == 8 || n.Class == Decimal {
			xs[i] = convert(ctx, a, TDecimal(65, 30))
		}
	}
	t := TBigInt.NotNull()
	c := newCall("INTERVAL", t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		ev.rows(func(i int) {
			if ev.args[0].IsNull(i) {
				out.I64s[i] = -1
				return
			}
			n := 0
			for k := 1; k < len(ev.args); k++ {
				if !ev.args[k].IsNull(i) && sign(compareMixed(ev.c.args[k].Type(), ev.args[k], ev.c.args[0].Type(), ev.args[0], i)) > 0 {
					break
				}
				n = k
			}
			out.I64s[i] = int64(n)
		})
		return out, nil
	}, xs...)
	c.nulls, c.typ = true, t
	return c, nil
}

// compareMixed compares a double or decimal with another.
func compareMixed(ta Type, a *vector.Vec, tb Type, b *vector.Vec, i int) int {
	if ta.Class == Decimal && tb.Class == Decimal {
		return decAt(ta, a, i).unscaled.Cmp(decAt(tb, b, i).unscaled)
	}
	return compareDouble(reals(nil, ta, a)(i), reals(nil, tb, b)(i))
}

func elt(ctx *Context, args []Expr) (Expr, error) {
	var texts []Expr
	for _, a := range args[1:] {
		texts = append(texts, asText(ctx, a))
	}
	values, t, err := unifyFor(ctx, "elt", texts)
	if err != nil {
		return nil, err
	}
	if t.Class == Null {
		return Literal(NullValue()), nil
	}
	t.Nullable = true
	c := &call{name: "ELT", args: append([]Expr{asSigned(ctx, args[0])}, values...), typ: t, nulls: true}
	c.kern = func(ev *evaluation) (*vector.Vec, error) {
		out := emptyNull(ev.c.typ.Physical(), ev.n)
		by := map[int64][]uint16{}
		ev.rows(func(i int) {
			if !ev.args[0].IsNull(i) {
				n := intAt(ev.args[0], i)
				by[n] = append(by[n], uint16(i))
			}
		})
		for n, sel := range by {
			if n >= 1 && n < int64(len(ev.args)) {
				out.SetRows(ev.args[n], sel)
			}
		}
		return out, nil
	}
	return c, nil
}

func field(ctx *Context, args []Expr) (Expr, error) {
	// All text: by collation; all numbers: as such; else doubles.
	text, number := true, true
	for _, a := range args {
		t := a.Type()
		if t.Class == Null {
			continue
		}
		if !isString(t) {
			text = false
		}
		if !t.IsNumber() {
			number = false
		}
	}
	var values []Expr
	var t Type
	var err error
	switch {
	case text:
		// The collation is the first argument's.
		for _, a := range args {
			values = append(values, asText(ctx, a))
		}
		t = values[0].Type()
		if t.Class == Null {
			return Literal(IntValue(0)), nil
		}
	case number:
		values, t, err = unifyFor(ctx, "field", args)
		if err != nil {
			return nil, err
		}
	default:
		t = TDouble
		for _, a := range args {
			if isNested(a) != nil {
				return nil, isNested(a)
			}
			values = append(values, asDouble(ctx, a))
		}
	}
	if t.Class == Null {
		return Literal(IntValue(0)), nil
	}
	order := comparer(t)
	c := newCall("FIELD", TBigInt, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		ev.rows(func(i int) {
			if ev.args[0].IsNull(i) {
				return
			}
			for k := 1; k < len(ev.args); k++ {
				if !ev.args[k].IsNull(i) && order(ev.args[0], i, ev.args[k], i) == 0 {
					out.I64s[i] = int64(k)
					return
				}
			}
		})
		return out, nil
	}, values...)
	c.nulls, c.typ.Nullable = true, false
	return c, nil
}
