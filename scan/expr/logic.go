package expr

import (
	"strings"

	"github.com/thermocline/thermocline/internal/vector"
)

func init() {
	for _, name := range []string{"AND", "OR"} {
		register(&function{name: name, min: 1, max: -1, class: "logic", usage: "a " + name + " b",
			doc: map[string]string{"AND": "FALSE if an operand is, else NULL if one is, else TRUE. Stops at the first FALSE.",
				"OR": "TRUE if an operand is, else NULL if one is, else FALSE. Stops at the first TRUE."}[name],
			resolve: func(ctx *Context, args []Expr) (Expr, error) { return junction(ctx, name, args) }})
		operatorText[name] = func(c *call) string {
			parts := make([]string, len(c.args))
			for i, a := range c.args {
				parts[i] = a.String()
			}
			return "(" + strings.Join(parts, " "+strings.ToLower(name)+" ") + ")"
		}
	}
	alias("&&", "AND")
	register(&function{name: "XOR", min: 2, max: -1, class: "logic", usage: "a XOR b", doc: "TRUE if an odd number of operands is; NULL if one is NULL.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			cs, err := conditions(ctx, args)
			if err != nil {
				return nil, err
			}
			return newCall("XOR", TBool, func(ev *evaluation) (*vector.Vec, error) {
				out := ev.out(vector.I8)
				for _, v := range ev.args {
					a, m := i8s(v)
					for i := range out.I8s {
						out.I8s[i] ^= a[i&m] & 1
					}
				}
				return out, nil
			}, cs...).asSafe(), nil
		}})
	register(&function{name: "NOT", min: 1, max: 1, class: "logic", usage: "NOT a", doc: "1 where a is 0, 0 where it is not, NULL for NULL.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			c, err := condition(ctx, args[0])
			if err != nil {
				return nil, err
			}
			return newCall("NOT", TBool, func(ev *evaluation) (*vector.Vec, error) {
				out := ev.out(vector.I8)
				a, m := i8s(ev.args[0])
				for i := range out.I8s {
					out.I8s[i] = 1 - a[i&m]&1
				}
				return out, nil
			}, c).asSafe(), nil
		}})
	operatorText["NOT"] = func(c *call) string { return "(not(" + c.args[0].String() + "))" }
	is := func(name, doc string, truth func(v *vector.Vec, i int) bool, cond bool) {
		register(&function{name: name, min: 1, max: 1, class: "logic", usage: "a " + name, doc: doc,
			resolve: func(ctx *Context, args []Expr) (Expr, error) {
				x := args[0]
				if cond {
					var err error
					if x, err = condition(ctx, x); err != nil {
						return nil, err
					}
				}
				c := newCall(name, TBool, func(ev *evaluation) (*vector.Vec, error) {
					out := ev.out(vector.I8)
					a := ev.args[0]
					ev.rows(func(i int) {
						if truth(a, i) {
							out.I8s[i] = 1
						}
					})
					return out, nil
				}, x)
				c.nulls, c.typ.Nullable = true, false
				return c, nil
			}})
		operatorText[name] = func(c *call) string { return "(" + c.args[0].String() + " " + strings.ToLower(name) + ")" }
	}
	is("IS NULL", "1 where a is NULL, else 0.", func(v *vector.Vec, i int) bool { return v.IsNull(i) }, false)
	is("IS TRUE", "1 where a is true, else 0.", func(v *vector.Vec, i int) bool { return !v.IsNull(i) && intAt(v, i) != 0 }, true)
	is("IS FALSE", "1 where a is false, else 0.", func(v *vector.Vec, i int) bool { return !v.IsNull(i) && intAt(v, i) == 0 }, true)
	alias("ISNULL", "IS NULL")
}

func conditions(ctx *Context, args []Expr) ([]Expr, error) {
	out := make([]Expr, len(args))
	for i, a := range args {
		c, err := condition(ctx, a)
		if err != nil {
			return nil, err
		}
		out[i] = c
	}
	return out, nil
}

// junction resolves AND and OR of any number of operands.
func junction(ctx *Context, name string, args []Expr) (Expr, error) {
	cs, err := conditions(ctx, args)
	if err != nil {
		return nil, err
	}
	if len(cs) == 1 {
		return cs[0], nil
	}
	c := newCall(name, TBool, nil, cs...)
	c.lazy = true
	decided := int8(0)
	if name == "OR" {
		decided = 1
	}
	c.kern = func(ev *evaluation) (*vector.Vec, error) { return lazyJunction(ev, decided) }
	return c, nil
}

// lazyJunction evaluates operands on the rows that are still open. decided is
// the value that ends a row: 0 for AND, 1 for OR.
func lazyJunction(ev *evaluation, decided int8) (*vector.Vec, error) {
	b := *ev.b
	var out *vector.Vec
	for k, a := range ev.c.args {
		if b.Sel != nil && len(b.Sel) == 0 {
			break
		}
		v, err := a.Eval(ev.ctx, &b)
		if err != nil {
			return nil, err
		}
		if v.Form == vector.Const {
			null := v.IsNull(0)
			if !null && (v.I8s[0]&1 == decided) {
				if out == nil {
					w := *v
					w.Len = ev.n
					return &w, nil
				}
				// Decides all open rows.
				for i := range b.Rows() {
					r := b.Row(i)
					out.I8s[r] = decided
					if out.Valid != nil {
						out.Valid[r>>6] |= 1 << (r & 63)
					}
				}
				break
			}
			if !null && k > 0 {
				continue // neutral
			}
		}
		if out == nil {
			out = vector.NewFlat(vector.I8, ev.n)
			for i := range out.I8s {
				out.I8s[i] = 1 - decided
			}
		}
		open := make([]uint16, b.Rows())
		x, m := i8s(v)
		if v.Valid == nil && out.Valid == nil && m != 0 {
			// Without NULLs: note the open rows without branches.
			n := 0
			if b.Sel == nil {
				for i, y := range x[:ev.n] {
					open[n] = uint16(i)
					n += int((y ^ decided) & 1)
					out.I8s[i] = y & 1
				}
			} else {
				for _, i := range b.Sel {
					y := x[i]
					open[n] = i
					n += int((y ^ decided) & 1)
					out.I8s[i] = y & 1
				}
			}
			b.Sel = open[:n]
			continue
		}
		open = open[:0]
		take := func(i int) {
			switch {
			case v.IsNull(i):
				out.SetNull(i)
				open = append(open, uint16(i))
			case x[i&m]&1 == decided:
				out.I8s[i] = decided
				if out.Valid != nil {
					out.Valid[i>>6] |= 1 << (i & 63)
				}
			default:
				open = append(open, uint16(i))
			}
		}
		if b.Sel == nil {
			for i := range ev.n {
				take(i)
			}
		} else {
			for _, i := range b.Sel {
				take(int(i))
			}
		}
		b.Sel = open
	}
	if out == nil {
		out = vector.NewFlat(vector.I8, ev.n)
	}
	return out, nil
}

// Filter returns the rows of b for which cond, which Condition made, is TRUE,
// as ascending positions: a selection for b. It appends to dst[:0], which must
// not be b.Sel.
func Filter(ctx *Context, cond Expr, b *vector.Batch, dst []uint16) ([]uint16, error) {
	if dst = dst[:0]; dst == nil {
		dst = []uint16{} // a nil selection would be all rows
	}
	if c, ok := cond.(*call); ok && c.name == "AND" {
		// Narrow term by term; NULL and FALSE are the same to a filter. A
		// later term must still not be evaluated where an earlier is FALSE, and
		// is evaluated where MySQL evaluates it too or where it does not matter.
		in := *b
		for k, a := range c.args {
			if in.Sel != nil && len(in.Sel) == 0 {
				break
			}
			var buf []uint16
			if k == len(c.args)-1 {
				buf = dst
			}
			sel, err := Filter(ctx, a, &in, buf)
			if err != nil {
				return nil, err
			}
			in.Sel = sel
			if k == len(c.args)-1 {
				return sel, nil
			}
		}
		return append(dst, in.Sel...), nil
	}
	v, err := cond.Eval(ctx, b)
	if err != nil {
		return nil, err
	}
	if v.Form == vector.Const {
		if v.IsNull(0) || v.I8s[0] == 0 {
			return dst, nil
		}
		for i := range b.Rows() {
			dst = append(dst, uint16(b.Row(i)))
		}
		return dst, nil
	}
	x, m := i8s(v)
	n := b.Rows()
	if cap(dst) < n {
		dst = make([]uint16, 0, n)
	}
	dst = dst[:n]
	k := 0
	if b.Sel == nil {
		for i := range n {
			dst[k] = uint16(i)
			if x[i&m] != 0 && !v.IsNull(i) {
				k++
			}
		}
	} else {
		for _, i := range b.Sel {
			dst[k] = i
			if x[int(i)&m] != 0 && !v.IsNull(int(i)) {
				k++
			}
		}
	}
	return dst[:k], nil
}
