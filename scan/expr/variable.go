package expr

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// User variables and LAST_INSERT_ID(x). Variables that a statement only reads are
// constants of it. Those that it assigns as well are read and written row by row
// (plan.InOrder), as MySQL does:
//
//   - An assignment's value is the value assigned.
//   - A read has one type for the whole statement: that of the variable before the
//     statement, or text when an assignment to the left of the read made it.
//   - What is around a read may ask for another type; then the variable's value
//     is converted to that, and not by way of the read's own type.
//
// A read whose type cannot hold a number that the variable has is an error.

// Assigning is what a statement knows of the variables that it assigns and that
// must be read row by row, while it is bound.
type Assigning struct {
	// Names are these variables, lower case; LastInsertID stands for that function.
	Names map[string]bool
	// made are those to which an assignment was bound already.
	made map[string]bool
	// Met is called for each assignment and read that is bound in a select list.
	Met func(name string)
}

// LastInsertID is the name by which LAST_INSERT_ID(x) counts among Assigning.Names.
const LastInsertID = "last_insert_id()"

// tracked reports whether a variable is read and written row by row, and refuses
// it outside of select lists.
func (c *Context) tracked(name, what string) (bool, error) {
	a := c.Assigning
	if a == nil || !a.Names[name] {
		return false, nil
	}
	if !c.InOrder {
		shown := "the user variable @" + name
		if name == LastInsertID {
			shown = "LAST_INSERT_ID"
		}
		return false, errs.Unsupportedf(-1, "%s %s here in a statement that assigns it: only the select lists of plain SELECTs without grouping are computed row by row", what, shown)
	}
	if a.Met != nil {
		a.Met(name)
	}
	return true, nil
}

func (a *Assigning) bound(name string) {
	if a.made == nil {
		a.made = map[string]bool{}
	}
	a.made[name] = true
}

func userVariable(ctx *Context, args []Expr) (Expr, error) {
	n, _ := word(args[0])
	v := NullValue()
	if ctx.Session != nil {
		v = ctx.Session.UserVariable(n)
	}
	if isString(v.Type) || v.Type.Class == Null {
		v.Type.Coercibility = 2
	}
	row, err := ctx.tracked(lower(n), "reading")
	if err != nil {
		return nil, err
	}
	if row {
		return readVariable(ctx, n, v)
	}
	l := Literal(v)
	l.text = "@" + n
	return l, nil
}

// variableRead is a read of a variable that the statement assigns.
type variableRead struct {
	name string
	typ  Type
}

func readVariable(ctx *Context, name string, now Value) (Expr, error) {
	t := now.Type
	if t.Class == Null {
		has, _ := ctx.Session.(interface{ HasUserVariable(name string) bool })
		if !ctx.Assigning.made[lower(name)] && (has == nil || !has.HasUserVariable(name)) {
			return nil, errs.Unsupportedf(-1, "reading the user variable @%s before it has a value in the statement that assigns it; SET @%s first", name, name)
		}
		t = TString(1<<24-1, ctx.collation())
		t.Coercibility = 2
	}
	t.Nullable = true
	switch t.Class {
	case Decimal:
		t.Precision = 65
	case String, Bytes:
		t.Length = 1<<24 - 1
	}
	return &variableRead{name, t}, nil
}

// as is the read for a place that asks for another type.
func (v *variableRead) as(t Type) Expr {
	t.Nullable = true
	return &variableRead{v.name, t}
}

// Type implements Expr.
func (v *variableRead) Type() Type { return v.typ }

// Children implements Expr.
func (v *variableRead) Children() []Expr { return nil }

// With implements Expr.
func (v *variableRead) With([]Expr) Expr { return v }

// Traits implements Expr.
func (v *variableRead) Traits() Traits { return Volatile }

// Key implements Expr.
func (v *variableRead) Key() string { return "@" + v.name + ":" + v.typ.key() }

func (v *variableRead) String() string { return "@" + v.name }

// Eval implements Expr: the batch has one row.
func (v *variableRead) Eval(ctx *Context, b *vector.Batch) (*vector.Vec, error) {
	now := ctx.Session.UserVariable(v.name)
	out := vector.New(v.typ.Physical(), 1)
	if now.IsNull() {
		out.AppendNull()
		return out.AsConst(b.Len), nil
	}
	from, i := now.Type, now.Vec
	lossy := func() error {
		return errs.Unsupportedf(-1, "reading @%s as %s, its type when the statement started: it holds %s now; SET it to a value of the type that it shall have, such as 0.00",
			v.name, v.typ.sqlName(), AppendText(nil, from, i, 0, ctx.zone()))
	}
	text := func() []byte { return AppendText(nil, from, i, 0, ctx.zone()) }
	switch v.typ.Class {
	case Int:
		x, ok := variableInt(from, i)
		if !ok {
			return nil, lossy()
		}
		if !v.typ.Unsigned && from.Unsigned && x < 0 || v.typ.Unsigned && !from.Unsigned && x < 0 && from.Class == Int {
			return nil, lossy()
		}
		out.AppendI64(x)
	case Double:
		x := 0.0
		switch from.Class {
		case Double:
			x = floatAt(i, 0)
		case Int:
			if x = float64(intAt(i, 0)); from.Unsigned {
				x = float64(uint64(intAt(i, 0)))
			}
		default:
			s := text()
			start, end := numberPrefix(s)
			x, _ = strconv.ParseFloat(string(s[start:end]), 64)
		}
		out.AppendF64(x)
	case Decimal:
		var d dec
		if isString(from) {
			d, _ = parseDec(text())
		} else {
			d = decs(ctx, from, i)(0)
		}
		r := d.rescale(v.typ.Scale)
		if back := (dec{r, v.typ.Scale}).rescale(max(d.scale, v.typ.Scale)); back.Cmp(d.rescale(max(d.scale, v.typ.Scale))) != 0 || len(new(big.Int).Abs(r).String()) > v.typ.Precision {
			return nil, lossy()
		}
		w, err := convert(ctx, Literal(StringValue(string(vector.FormatDecimalBig(nil, r, v.typ.Scale)), "utf8mb4_bin")), v.typ).Eval(ctx, oneRow())
		if err != nil {
			return nil, err
		}
		return w.AsConst(b.Len), nil
	case String, Bytes:
		out.AppendString(string(text()))
	default:
		w, err := convert(ctx, Literal(now), v.typ).Eval(ctx, oneRow())
		if err != nil {
			return nil, err
		}
		return w.AsConst(b.Len), nil
	}
	return out.AsConst(b.Len), nil
}

// variableInt is a variable's value as an integer; ok is false when that loses
// something of a number. A text gives the number that it begins with.
func variableInt(t Type, v *vector.Vec) (x int64, ok bool) {
	switch t.Class {
	case Int:
		return intAt(v, 0), true
	case Double:
		f := floatAt(v, 0)
		if f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
			return 0, false
		}
		return int64(f), true
	case Decimal:
		d := decs(nil, t, v)(0)
		r := d.rescale(0)
		return r.Int64(), r.IsInt64() && (dec{r, 0}).rescale(d.scale).Cmp(d.unscaled) == 0
	}
	s := strings.TrimLeft(string(AppendText(nil, t, v, 0, nil)), " \t\n\v\f\r")
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || n == 0 && (s[0] == '-' || s[0] == '+')) {
		n++
	}
	x, err := strconv.ParseInt(strings.TrimPrefix(s[:n], "+"), 10, 64)
	return x, err == nil || n == 0 || n == 1 && (s[0] == '-' || s[0] == '+')
}

// widened are the operands of + and -, with reads of variables in the type of the
// result: MySQL adds a variable's value as it is, not as the variable's type.
func widened(result Type, args []Expr) []Expr {
	out := args
	for i, a := range args {
		v, ok := a.(*variableRead)
		if !ok || v.typ.Class != Int && v.typ.Class != Decimal {
			continue
		}
		if i == 0 || &out[0] == &args[0] {
			out = append([]Expr(nil), out...)
		}
		switch result.Class {
		case Decimal:
			out[i] = v.as(Type{Class: Decimal, Precision: 65, Scale: result.Scale, Coercibility: 5})
		case Double:
			out[i] = v.as(TDouble)
		}
	}
	return out
}

func assignVariable(ctx *Context, args []Expr) (Expr, error) {
	n, _ := word(args[0])
	if ctx.Session == nil {
		return nil, errs.Unsupportedf(-1, "user variables here")
	}
	row, err := ctx.tracked(lower(n), "assigning")
	switch {
	case err != nil:
		return nil, err
	case row:
		ctx.Assigning.bound(lower(n))
	case !IsConst(args[1]):
		return nil, errs.Unsupportedf(-1, "assigning columns to user variables")
	}
	c := &call{name: ":=", args: args[1:], typ: args[1].Type(), traits: args[1].Traits() | Volatile, nulls: true, perRow: true}
	c.kern = func(ev *evaluation) (*vector.Vec, error) {
		if ev.n > 0 && (ev.sel == nil || len(ev.sel) > 0) {
			w := *ev.args[0]
			ev.ctx.Session.SetUserVariable(n, Value{Type: args[1].Type(), Vec: w.Flatten().Gather([]uint16{0}).AsConst(1)})
		}
		return ev.args[0], nil
	}
	return c, nil
}

// lastInsertID is LAST_INSERT_ID, which with an argument gives it and keeps it for
// the calls after it.
func lastInsertID(ctx *Context, args []Expr) (Expr, error) {
	row, err := ctx.tracked(LastInsertID, "changing")
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		t := TUint64.NotNull()
		t.Told.Length = 21
		if row {
			return &call{name: "LAST_INSERT_ID", typ: t, traits: Volatile, perRow: true, text: "last_insert_id()", kern: func(ev *evaluation) (*vector.Vec, error) {
				v := UintValue(ev.ctx.Session.LastInsertID())
				return v.Vec.AsConst(ev.n), nil
			}}, nil
		}
		v := UintValue(0)
		if ctx.Session != nil {
			v = UintValue(ctx.Session.LastInsertID())
		}
		v.Type.Told.Length = t.Told.Length
		l := Literal(v)
		l.text = "last_insert_id()"
		return l, nil
	}
	if err := isNested(args...); err != nil {
		return nil, err
	}
	keep, ok := ctx.Session.(interface{ SetLastInsertID(uint64) })
	if !row || !ok {
		return nil, errs.Unsupportedf(-1, "LAST_INSERT_ID with an argument here")
	}
	x := asSigned(ctx, args[0])
	c := newCall("LAST_INSERT_ID", TUint64, nil, x)
	c.nulls, c.perRow, c.traits = true, true, x.Traits()|Volatile
	c.typ.Nullable = x.Type().Nullable
	c.kern = func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		ev.rows(func(i int) {
			if ev.args[0].IsNull(i) {
				keep.SetLastInsertID(0)
				out.SetNull(i)
				return
			}
			out.I64s[i] = intAt(ev.args[0], i)
			keep.SetLastInsertID(uint64(out.I64s[i]))
		})
		return out, nil
	}
	return c, nil
}
