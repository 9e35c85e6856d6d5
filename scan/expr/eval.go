package expr

import (
	"strings"
	"sync"

	"github.com/thermocline/thermocline/internal/vector"
)

// call is a function or operator applied to arguments that already have the
// types its kernel wants.
type call struct {
	name   string // upper case, or an operator's symbol
	args   []Expr
	typ    Type
	kern   kernel
	traits Traits // its own, without the arguments'
	// nulls: the kernel sees NULL arguments; otherwise the result is NULL where
	// an argument is, and the kernel computes the other rows only.
	nulls bool
	// lazy: the kernel evaluates the arguments itself, under selections.
	lazy bool
	// safe: the kernel raises nothing and is cheap, so it may compute rows that
	// do not count.
	safe bool
	// perRow: constant arguments do not make the result constant.
	perRow bool
	// whole: all arguments are evaluated for rows of which an earlier one is NULL.
	whole bool
	// once: a constant that is computed, and warns, once a statement; others warn
	// for every row.
	once bool
	// inner is what String and Key show instead of name, "" for name.
	inner string
	// hidden: String shows the first argument only (implicit conversions).
	hidden bool
	// text is what String shows, "" for the usual form; extra what other parts
	// of the package need to know of the call.
	text  string
	extra any
}

// kernel computes a call over the rows that ev says.
type kernel func(ev *evaluation) (*vector.Vec, error)

// evaluation is one run of a kernel.
type evaluation struct {
	ctx  *Context
	c    *call
	b    *vector.Batch
	args []*vector.Vec
	n    int // rows of the result
	// sel are the rows to compute, nil for all n.
	sel []uint16
	// valid is the validity of the result before the kernel adds NULLs.
	valid []uint64
	ended error // the statement shall end: not all rows were computed
}

func (c *call) Type() Type       { return c.typ }
func (c *call) Children() []Expr { return c.args }

func (c *call) With(children []Expr) Expr {
	d := *c
	d.args = children
	return &d
}

func (c *call) Traits() Traits {
	t := c.traits
	for _, a := range c.args {
		t |= a.Traits()
	}
	return t
}

func (c *call) Key() string {
	var s strings.Builder
	s.WriteString(c.name)
	s.WriteString(c.inner)
	s.WriteByte('<')
	s.WriteString(c.typ.key())
	s.WriteString(">(")
	for i, a := range c.args {
		if i > 0 {
			s.WriteByte(',')
		}
		s.WriteString(a.Key())
	}
	s.WriteByte(')')
	return s.String()
}

func (c *call) String() string {
	if c.hidden {
		return c.args[0].String()
	}
	if c.text != "" {
		return c.text
	}
	if f := operatorText[c.name]; f != nil {
		return f(c)
	}
	parts := make([]string, len(c.args))
	for i, a := range c.args {
		parts[i] = a.String()
	}
	return strings.ToLower(c.name) + "(" + strings.Join(parts, ",") + ")"
}

// evaluatesAll are the functions whose later arguments give their warnings and
// errors although an earlier one is NULL.
var evaluatesAll = map[string]bool{"+": true, "-": true, "*": true, "/": true, "%": true, "DIV": true, "DATEDIFF": true}

// evaluatesRows are others that evaluate all arguments of a row although an earlier
// one is NULL there.
var evaluatesRows = map[string]bool{"REGEXP": true, "REGEXP_LIKE": true, "LOCATE": true, "INSTR": true, "MAKEDATE": true, "FORMAT": true, "IN": true}

// Eval implements Expr.
func (c *call) Eval(ctx *Context, b *vector.Batch) (*vector.Vec, error) {
	ev := evaluation{ctx: ctx, c: c, b: b, n: b.Len, sel: b.Sel}
	if c.once {
		return c.evalOnce(ctx, b)
	}
	if c.lazy {
		return ev.run()
	}
	ev.args = make([]*vector.Vec, len(c.args))
	constant := !c.perRow
	dict, null := -1, false
	in := b
	for i, a := range c.args {
		v, err := a.Eval(ctx, in)
		if err != nil {
			return nil, err
		}
		ev.args[i] = v
		switch v.Form {
		case vector.Flat:
			constant = false
			dict = -2
			if v.Valid != nil && !c.nulls && !c.perRow && !c.whole && !evaluatesAll[c.name] && !evaluatesRows[c.name] && mayRaise(c.args[i+1:]) {
				// Rows that are NULL already are not evaluated any further.
				rest := *in
				rest.Sel = selectValid(v.Valid, in.Sel, in.Len)
				in = &rest
			}
		case vector.Dict:
			constant = false
			if dict == -1 {
				dict = i
			} else {
				dict = -2
			}
		case vector.Const:
			if !c.nulls && v.IsNull(0) {
				if !evaluatesAll[c.name] {
					return vector.NewNull(c.typ.Physical(), b.Len), nil
				}
				null = true
			}
		}
	}
	if null {
		return vector.NewNull(c.typ.Physical(), b.Len), nil
	}
	if constant {
		return ev.constant()
	}
	if dict >= 0 && !c.perRow && !c.nulls && c.traits&Volatile == 0 && c.typ.Class != Nested {
		d := ev.args[dict]
		if rows := b.Rows(); d.Dict.Len < rows/2 && d.Dict.Len <= vector.MaxBatchRows {
			return ev.overDictionary(dict)
		}
	}
	if !c.nulls {
		ev.strict()
	}
	return ev.run()
}

// constant computes a call of constants. MySQL computes it for every row, which shows
// in the number of its warnings and the rows that they name.
func (ev *evaluation) constant() (*vector.Vec, error) {
	ctx, rows := ev.ctx, ev.b.Rows()
	if rows == 0 {
		return vector.NewNull(ev.c.typ.Physical(), ev.b.Len), nil
	}
	ev.ctx = ctx.quiet()
	ev.n, ev.sel = 1, nil
	out, err := ev.run()
	n := ev.ctx.Warnings.Count()
	switch ev.ctx = ctx; {
	case n == 0:
	case ctx.Warnings.full():
		ctx.Warnings.addCount(n * rows)
	default:
		// Once more, with the warnings of every row.
		all := evaluation{ctx: ctx, c: ev.c, b: ev.b, n: ev.b.Len, sel: ev.b.Sel, args: ev.args}
		if _, err := all.run(); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	return repeated(out, ev.b.Len), nil
}

// repeated returns the one value of v for n rows. v, which all workers may share,
// stays as it is.
func repeated(v *vector.Vec, n int) *vector.Vec {
	w := *v
	if w.Form == vector.Flat {
		w.Form = vector.Const
	}
	w.Len = n
	return &w
}

// constantOnce is a constant of a statement, computed by whoever needs it first.
type constantOnce struct {
	once sync.Once
	v    *vector.Vec
	err  error
}

func (c *call) evalOnce(ctx *Context, b *vector.Batch) (*vector.Vec, error) {
	if b.Rows() == 0 {
		return vector.NewNull(c.typ.Physical(), b.Len), nil
	}
	k := &constantOnce{}
	if ctx.state != nil {
		x, _ := ctx.state.LoadOrStore(c, k)
		k = x.(*constantOnce)
	}
	k.once.Do(func() {
		d := *c
		d.once = false
		k.v, k.err = d.Eval(ctx, oneRow())
	})
	if k.err != nil {
		return nil, k.err
	}
	return repeated(k.v, b.Len), nil
}

// Once returns e, whose constants are computed, and warn, once a statement, as MySQL
// does in conditions; those of a select list do for every row. Literals that are
// converted for an operation are no such constants.
func Once(e Expr) Expr {
	c, ok := e.(*call)
	if !ok {
		return e
	}
	if c.Traits() == 0 && !c.perRow && !c.hidden {
		d := *c
		d.once = true
		return &d
	}
	var kids []Expr
	for i, a := range c.args {
		if k := Once(a); k != a {
			if kids == nil {
				kids = append(kids, c.args...)
			}
			kids[i] = k
		}
	}
	if kids == nil {
		return e
	}
	return c.With(kids)
}

// convertedOnce is a constant that was converted for a comparison: MySQL keeps it.
func convertedOnce(from, e Expr) Expr {
	c, ok := e.(*call)
	if !ok || e == from || !c.hidden || c.Traits() != 0 || c.perRow {
		return e
	}
	d := *c
	d.once = true
	return &d
}

// mayRaise reports whether evaluating one of the expressions may give errors or
// warnings.
func mayRaise(es []Expr) bool {
	for _, e := range es {
		switch c := e.(type) {
		case *call:
			if !c.safe || mayRaise(c.args) {
				return true
			}
		case *failed:
			return true
		}
	}
	return false
}

// strict computes the result's validity from the arguments' and narrows the
// rows to those without NULLs, unless the kernel may compute any row.
func (ev *evaluation) strict() {
	for _, v := range ev.args {
		if v.Valid == nil || v.Form == vector.Const {
			continue
		}
		if ev.valid == nil {
			ev.valid = append(make([]uint64, 0, len(v.Valid)), v.Valid...)
			continue
		}
		for w := range ev.valid {
			if w < len(v.Valid) {
				ev.valid[w] &= v.Valid[w]
			}
		}
	}
	if ev.c.safe {
		if ev.sel != nil && len(ev.sel)*5 > ev.n*2 {
			ev.sel = nil
		}
		return
	}
	if ev.valid != nil {
		ev.sel = selectValid(ev.valid, ev.sel, ev.n)
	}
}

// selectValid returns the rows of sel (nil: all n) whose bit is set.
func selectValid(valid []uint64, sel []uint16, n int) []uint16 {
	if sel == nil {
		out := make([]uint16, 0, n)
		for i := range n {
			if valid[i>>6]&(1<<(i&63)) != 0 {
				out = append(out, uint16(i))
			}
		}
		return out
	}
	out := make([]uint16, 0, len(sel))
	for _, i := range sel {
		if valid[i>>6]&(1<<(i&63)) != 0 {
			out = append(out, i)
		}
	}
	return out
}

// overDictionary runs the kernel once a distinct value of a Dict argument that
// some row uses; the other arguments are Const.
func (ev *evaluation) overDictionary(at int) (*vector.Vec, error) {
	d := ev.args[at]
	used := make([]uint64, (d.Dict.Len+63)/64)
	rows := ev.sel
	mark := func(i int) {
		if d.Valid == nil || d.Valid[i>>6]&(1<<(i&63)) != 0 {
			c := d.Codes[i]
			used[c>>6] |= 1 << (c & 63)
		}
	}
	if rows == nil {
		for i := range ev.n {
			mark(i)
		}
	} else {
		for _, i := range rows {
			mark(int(i))
		}
	}
	quiet := ev.ctx.quiet()
	inner := evaluation{ctx: quiet, c: ev.c, b: ev.b, n: d.Dict.Len, args: make([]*vector.Vec, len(ev.args))}
	for i, a := range ev.args {
		if i == at {
			inner.args[i] = d.Dict
			continue
		}
		w := *a
		w.Len = d.Dict.Len
		inner.args[i] = &w
	}
	inner.sel = selectValid(used, nil, d.Dict.Len)
	r, err := inner.run()
	if err != nil {
		return nil, err
	}
	if quiet.Warnings.Count() > 0 { // they belong to rows
		ev.args[at] = d.Flatten()
		ev.strict()
		return ev.run()
	}
	return expand(r, d, ev.n, ev.sel), nil
}

// expand maps a result over a dictionary back to rows.
func expand(r, d *vector.Vec, n int, sel []uint16) *vector.Vec {
	if r.Form == vector.Const {
		w := *r
		w.Len = n
		if d.Valid == nil || w.IsNull(0) {
			return &w
		}
		r = flattenTo(&w, d.Dict.Len)
	}
	out := vector.NewFlat(r.Kind, n)
	if d.Valid != nil {
		out.Valid = append([]uint64(nil), d.Valid...)
	}
	vals := r.Values()
	if r.Kind == vector.Str {
		out.Bufs = vals.Bufs
	}
	put := func(i int) {
		if out.Valid != nil && out.Valid[i>>6]&(1<<(i&63)) == 0 {
			return
		}
		c := int(d.Codes[i])
		if r.IsNull(c) {
			out.SetNull(i)
			return
		}
		c = r.At(c)
		switch r.Kind {
		case vector.I8:
			out.I8s[i] = vals.I8s[c]
		case vector.I32:
			out.I32s[i] = vals.I32s[c]
		case vector.I64:
			out.I64s[i] = vals.I64s[c]
		case vector.I128:
			out.I128s[i] = vals.I128s[c]
		case vector.I256:
			out.I256s[i] = vals.I256s[c]
		case vector.F32:
			out.F32s[i] = vals.F32s[c]
		case vector.F64:
			out.F64s[i] = vals.F64s[c]
		case vector.Str:
			out.Views[i] = vals.Views[c]
		}
	}
	if sel == nil {
		for i := range n {
			put(i)
		}
	} else {
		for _, i := range sel {
			put(int(i))
		}
	}
	return out
}

// flattenTo returns v in Flat form with n rows.
func flattenTo(v *vector.Vec, n int) *vector.Vec {
	w := *v
	w.Len = n
	return w.Flatten()
}

// out makes the Flat result, with the validity that strict computed.
func (ev *evaluation) out(k vector.Kind) *vector.Vec {
	v := vector.NewFlat(k, ev.n)
	v.Valid = ev.valid
	return v
}

// each calls f for the rows to compute, until the statement shall end.
func (ev *evaluation) each(f func(i int) error) error {
	for from, n := 0, ev.count(); from < n; from += endRows {
		if err := ev.ctx.Ended(); err != nil {
			return err
		}
		to := min(from+endRows, n)
		if ev.sel == nil {
			for i := from; i < to; i++ {
				if err := f(i); err != nil {
					return err
				}
			}
			continue
		}
		for _, i := range ev.sel[from:to] {
			if err := f(int(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// count is the number of rows to compute.
func (ev *evaluation) count() int {
	if ev.sel != nil {
		return len(ev.sel)
	}
	return ev.n
}

// rows calls f for the rows to compute. When the statement shall end it calls f no
// more, and what the kernel gives does not count (run).
func (ev *evaluation) rows(f func(i int)) {
	for from, n := 0, ev.count(); from < n; from += endRows {
		if ev.ended = ev.ctx.Ended(); ev.ended != nil {
			return
		}
		to := min(from+endRows, n)
		if ev.sel == nil {
			for i := from; i < to; i++ {
				f(i)
			}
			continue
		}
		for _, i := range ev.sel[from:to] {
			f(int(i))
		}
	}
}

// run runs the kernel.
func (ev *evaluation) run() (*vector.Vec, error) {
	out, err := ev.c.kern(ev)
	if ev.ended != nil {
		return nil, ev.ended
	}
	return out, err
}

// slice is a payload with the mask that turns a row into an index: 0 for Const,
// all ones for Flat. Dict payloads are gathered first.
func sliceOf[T any](v *vector.Vec, payload func(*vector.Vec) []T) ([]T, int) {
	switch v.Form {
	case vector.Const:
		return payload(v), 0
	case vector.Dict:
		d := payload(v.Dict)
		out := make([]T, v.Len)
		for i, c := range v.Codes[:v.Len] {
			if int(c) < len(d) {
				out[i] = d[c]
			}
		}
		return out, -1
	}
	return payload(v), -1
}

func i8s(v *vector.Vec) ([]int8, int) {
	return sliceOf(v, func(v *vector.Vec) []int8 { return v.I8s })
}
func i32s(v *vector.Vec) ([]int32, int) {
	return sliceOf(v, func(v *vector.Vec) []int32 { return v.I32s })
}
func i64s(v *vector.Vec) ([]int64, int) {
	return sliceOf(v, func(v *vector.Vec) []int64 { return v.I64s })
}
func i128s(v *vector.Vec) ([]vector.Int128, int) {
	return sliceOf(v, func(v *vector.Vec) []vector.Int128 { return v.I128s })
}
func i256s(v *vector.Vec) ([]vector.Int256, int) {
	return sliceOf(v, func(v *vector.Vec) []vector.Int256 { return v.I256s })
}
func f32s(v *vector.Vec) ([]float32, int) {
	return sliceOf(v, func(v *vector.Vec) []float32 { return v.F32s })
}
func f64s(v *vector.Vec) ([]float64, int) {
	return sliceOf(v, func(v *vector.Vec) []float64 { return v.F64s })
}

// intAt returns the integer of row i of an I8, I32 or I64 vector.
func intAt(v *vector.Vec, i int) int64 {
	i = v.At(i)
	v = v.Values()
	switch v.Kind {
	case vector.I8:
		return int64(v.I8s[i])
	case vector.I32:
		return int64(v.I32s[i])
	}
	return v.I64s[i]
}

// floatAt returns the double of row i of an F32 or F64 vector.
func floatAt(v *vector.Vec, i int) float64 {
	i = v.At(i)
	v = v.Values()
	if v.Kind == vector.F32 {
		return float64(v.F32s[i])
	}
	return v.F64s[i]
}

// decAt returns the decimal of row i.
func decAt(t Type, v *vector.Vec, i int) dec {
	i = v.At(i)
	v = v.Values()
	switch v.Kind {
	case vector.I64:
		return dec{bigOf(v.I64s[i]), t.Scale}
	case vector.I128:
		return dec{v.I128s[i].Big(), t.Scale}
	}
	return dec{v.I256s[i].Big(), t.Scale}
}

// oneRow is the batch that constants are computed over.
func oneRow() *vector.Batch { return &vector.Batch{Len: 1, Seq: -1} }

// EvalConst computes an expression without columns.
func EvalConst(ctx *Context, e Expr) (Value, error) {
	v, err := e.Eval(ctx, oneRow())
	if err != nil {
		return Value{}, err
	}
	if v.Form == vector.Dict {
		v = v.Flatten()
	}
	w := *v
	return Value{Type: e.Type(), Vec: w.AsConst(1)}, nil
}

// Fold computes the parts of e that are constant by now, where that raises neither
// an error nor warnings.
func Fold(ctx *Context, e Expr) Expr {
	return Transform(e, func(x Expr) Expr { return fold(ctx, x) })
}

// fold replaces a call of constants by its value, unless computing it raises an
// error or warnings, which belong to where it is evaluated.
func fold(ctx *Context, e Expr) Expr {
	c, ok := e.(*call)
	if !ok || c.Traits() != 0 || c.perRow {
		return e
	}
	for _, a := range c.args {
		if _, ok := a.(*LiteralExpr); !ok {
			if x, ok := a.(*call); !ok || !x.hidden {
				return e
			}
		}
	}
	quiet := ctx.quiet()
	quiet.state = nil // the statement computes its constants later
	v, err := EvalConst(quiet, e)
	if err != nil || quiet.Warnings.Count() > 0 {
		return e
	}
	l := Literal(v)
	l.folded = e
	if v.Vec.IsNull(0) {
		l.Val.Type.Nullable = true
	}
	return l
}
