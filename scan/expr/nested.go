package expr

import (
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Access to the parts of nested values: r.f, m['k'], a[1]. It works on columns as
// they are stored (Raw), of class Nested with a Stored type, and gives such
// values; Loaded turns one into SQL's form.

// Member returns the field of a ROW, named exactly or uniquely without case.
func Member(x Expr, name string) (Expr, error) {
	t := x.Type().Stored
	if t == nil || t.Kind != catalog.Row {
		return nil, errs.Userf(errs.UnknownColumn, "Unknown column '%s' in 'field list': %s is no ROW", name, x)
	}
	at := -1
	for i, f := range t.Fields {
		if f.Name == name {
			at = i
			break
		}
		if strings.EqualFold(f.Name, name) {
			if at >= 0 {
				return nil, errs.Userf(errs.AmbiguousColumn, "Column '%s' in field list is ambiguous", name)
			}
			at = i
		}
	}
	if at < 0 {
		return nil, errs.Userf(errs.UnknownColumn, "Unknown column '%s' in 'field list': %s has no such field", name, x)
	}
	return &member{x: x, at: at, typ: storedType(t.Fields[at].Type, x.Type().Nullable), name: t.Fields[at].Name}, nil
}

// storedType is the type of a value as it is stored.
func storedType(t catalog.Type, nullable bool) Type {
	return Type{Class: Nested, Nullable: nullable || !t.NotNull, Stored: &t}
}

// NewVec makes an empty vector for values of a type, with its children where it
// is nested, and room for n rows.
func NewVec(t Type, n int) *vector.Vec {
	if t.Stored == nil {
		return vector.New(t.Physical(), n)
	}
	return storedVec(*t.Stored, n)
}

// nullVec makes a Const vector of n NULLs.
func nullVec(t Type, n int) *vector.Vec {
	v := NewVec(t, 1)
	v.AppendNull()
	return v.AsConst(n)
}

func storedVec(t catalog.Type, n int) *vector.Vec {
	v := vector.New(t.Physical(), n)
	switch t.Kind {
	case catalog.Array, catalog.Vector:
		v.Child = []*vector.Vec{storedVec(*t.Elem, n)}
	case catalog.Map:
		v.Child = []*vector.Vec{storedVec(*t.Key, n), storedVec(*t.Elem, n)}
	case catalog.Multiset:
		v.Child = []*vector.Vec{storedVec(*t.Elem, n), storedVec(catalog.TInt, n)}
	case catalog.Row:
		for _, f := range t.Fields {
			v.Child = append(v.Child, storedVec(f.Type, n))
		}
	case catalog.Variant:
		v.Child = []*vector.Vec{storedVec(catalog.TBytes, n), storedVec(catalog.TBytes, n)}
	}
	return v
}

type member struct {
	x    Expr
	at   int
	typ  Type
	name string
}

func (m *member) Type() Type         { return m.typ }
func (m *member) Children() []Expr   { return []Expr{m.x} }
func (m *member) With(c []Expr) Expr { d := *m; d.x = c[0]; return &d }
func (m *member) Traits() Traits     { return m.x.Traits() }
func (m *member) Key() string        { return m.x.Key() + "." + itoa(m.at) }
func (m *member) String() string     { return m.x.String() + ".`" + m.name + "`" }

// Eval implements Expr.
func (m *member) Eval(ctx *Context, b *vector.Batch) (*vector.Vec, error) {
	v, err := m.x.Eval(ctx, b)
	if err != nil {
		return nil, err
	}
	if v.Form == vector.Dict {
		v = v.Flatten()
	}
	if len(v.Child) == 0 || v.Form == vector.Const && v.IsNull(0) {
		return nullVec(m.typ, b.Len), nil
	}
	w := *v.Child[m.at]
	if v.Form == vector.Const {
		if w.IsNull(0) {
			return nullVec(m.typ, b.Len), nil
		}
		one := vector.NewLike(w.Values(), 1)
		one.AppendFrom(&w, 0)
		return one.AsConst(b.Len), nil
	}
	if v.Valid != nil {
		w = *w.Flatten()
		if w.Valid == nil {
			w.Valid = v.Valid
		} else {
			both := append([]uint64(nil), v.Valid...)
			for i := range both {
				if i < len(w.Valid) {
					both[i] &= w.Valid[i]
				}
			}
			w.Valid = both
		}
	}
	return &w, nil
}

// Element returns the element of an ARRAY at a position, counted from 1, or the
// value of a MAP under a key; NULL where there is none.
func Element(ctx *Context, x, index Expr) (Expr, error) {
	t := x.Type().Stored
	if t == nil || t.Kind != catalog.Array && t.Kind != catalog.Map {
		return nil, errs.Userf(errs.WrongArguments, "%s is no ARRAY and no MAP, so that it has no elements", x)
	}
	e := &element{x: x, typ: storedType(*t.Elem, true)}
	if t.Kind == catalog.Array {
		if !index.Type().IsNumber() && index.Type().Class != Null {
			return nil, errs.Userf(errs.WrongArguments, "the position of an array's element is a number, %s is not", index)
		}
		e.index = asSigned(ctx, index)
		if l, ok := e.index.(*LiteralExpr); ok && !l.Val.IsNull() && intAt(l.Val.Vec, 0) < 1 {
			return nil, errs.Userf(errs.WrongArguments, "the elements of an array are counted from 1")
		}
		return e, nil
	}
	kt, load, err := fromColumn(catalog.Field{Name: "key", Type: *t.Key}, "")
	if err != nil {
		return nil, err
	}
	// The comparison is that of key = index.
	a, b, both, err := comparable2(ctx, "=", Column(0, kt, "key"), index)
	if err != nil {
		return nil, err
	}
	e.index, e.key, e.load, e.equal = b, a, load, Comparer(both)
	return e, nil
}

type element struct {
	x, index Expr
	typ      Type
	// Of a MAP: how its keys are read, converted and compared.
	load  loader
	key   Expr
	equal func(a *vector.Vec, i int, b *vector.Vec, j int) int
}

func (e *element) Type() Type       { return e.typ }
func (e *element) Children() []Expr { return []Expr{e.x, e.index} }
func (e *element) With(c []Expr) Expr {
	d := *e
	d.x, d.index = c[0], c[1]
	return &d
}
func (e *element) Traits() Traits { return e.x.Traits() | e.index.Traits() }
func (e *element) Key() string    { return e.x.Key() + "[" + e.index.Key() + "]" }
func (e *element) String() string { return e.x.String() + "[" + e.index.String() + "]" }

// Eval implements Expr.
func (e *element) Eval(ctx *Context, b *vector.Batch) (*vector.Vec, error) {
	v, err := e.x.Eval(ctx, b)
	if err != nil {
		return nil, err
	}
	n, err := e.index.Eval(ctx, b)
	if err != nil {
		return nil, err
	}
	w := v.Values()
	if len(w.Child) == 0 {
		return nullVec(e.typ, b.Len), nil
	}
	values := w.Child[len(w.Child)-1]
	out := vector.NewLike(values.Values(), b.Len)
	at := 0 // rows appended
	for k := range b.Rows() {
		i := b.Row(k)
		for ; at < i; at++ {
			out.AppendNull()
		}
		at++
		if v.IsNull(i) || n.IsNull(i) {
			out.AppendNull()
			continue
		}
		from, to := int(w.Offset[v.At(i)]), int(w.Offset[v.At(i)+1])
		found := -1
		if e.key == nil {
			if p := intAt(n, i); p >= 1 && p <= int64(to-from) {
				found = from + int(p) - 1
			}
		} else if found, err = e.find(ctx, w.Child[0], from, to, n, i); err != nil {
			return nil, err
		}
		if found < 0 {
			out.AppendNull()
		} else {
			out.AppendFrom(values, found)
		}
	}
	for ; at < b.Len; at++ {
		out.AppendNull()
	}
	return out, nil
}

// find returns the position of a key among those of one map, -1 for none.
func (e *element) find(ctx *Context, all *vector.Vec, from, to int, n *vector.Vec, i int) (int, error) {
	for at := from; at < to; at += vector.MaxBatchRows {
		end := min(to, at+vector.MaxBatchRows)
		keys := vector.NewLike(all.Values(), end-at)
		for k := at; k < end; k++ {
			keys.AppendFrom(all, k)
		}
		b := &vector.Batch{Len: end - at, Seq: -1, Cols: []*vector.Vec{keys}}
		var err error
		if e.load != nil {
			if b.Cols[0], err = e.load(ctx, keys, b); err != nil {
				return 0, err
			}
		}
		v, err := e.key.Eval(ctx, b)
		if err != nil {
			return 0, err
		}
		for k := range b.Len {
			if !v.IsNull(k) && e.equal(v, k, n, i) == 0 {
				return at + k, nil
			}
		}
	}
	return -1, nil
}

// Loaded returns a value as it is stored in SQL's form: nested ones as JSON.
func Loaded(x Expr) (Expr, error) {
	t := x.Type()
	if t.Stored == nil {
		return x, nil
	}
	to, load, err := fromColumn(catalog.Field{Name: x.String(), Type: *t.Stored}, "")
	if err != nil {
		return nil, err
	}
	to.Nullable = t.Nullable
	return &loaded{x: x, typ: to, load: load}, nil
}

type loaded struct {
	x    Expr
	typ  Type
	load loader
}

func (l *loaded) Type() Type         { return l.typ }
func (l *loaded) Children() []Expr   { return []Expr{l.x} }
func (l *loaded) With(c []Expr) Expr { d := *l; d.x = c[0]; return &d }
func (l *loaded) Traits() Traits     { return l.x.Traits() }
func (l *loaded) Key() string        { return "loaded(" + l.x.Key() + ")" }
func (l *loaded) String() string     { return l.x.String() }

// Eval implements Expr.
func (l *loaded) Eval(ctx *Context, b *vector.Batch) (*vector.Vec, error) {
	v, err := l.x.Eval(ctx, b)
	if err != nil || l.load == nil {
		return v, err
	}
	return l.load(ctx, v, b)
}

// NewUnnest resolves UNNEST of values as they are stored: the elements of an
// ARRAY, of which a ROW's fields are columns, the keys and values of a MAP, the
// elements of a MULTISET as often as they are in it. Several arguments go side by
// side, with NULL behind the end of the shorter ones; ordinality adds the number
// of the row, from 1. The columns are as they are stored, too.
func NewUnnest(args []Expr, ordinality bool) (TableFunction, []string, error) {
	u := &unnest{args: args, ordinality: ordinality}
	var names []string
	add := func(t catalog.Type, name string) {
		u.types, names = append(u.types, storedType(t, true)), append(names, name)
	}
	for _, x := range args {
		t := x.Type().Stored
		switch {
		case t != nil && (t.Kind == catalog.Array || t.Kind == catalog.Multiset):
			if t.Elem.Kind == catalog.Row {
				for _, f := range t.Elem.Fields {
					add(f.Type, f.Name)
				}
			} else {
				add(*t.Elem, "value")
			}
		case t != nil && t.Kind == catalog.Map:
			add(*t.Key, "key")
			add(*t.Elem, "value")
		default:
			return nil, nil, errs.Userf(errs.WrongArguments, "UNNEST takes columns of ARRAY, MAP and MULTISET, %s is none (JSON_TABLE reads JSON)", x)
		}
	}
	if ordinality {
		u.types, names = append(u.types, TBigInt.NotNull()), append(names, "ordinality")
	}
	return u, names, nil
}

type unnest struct {
	args       []Expr
	types      []Type
	ordinality bool
}

func (u *unnest) Types() []Type { return u.types }
func (u *unnest) Args() []Expr  { return u.args }
func (u *unnest) String() string {
	var parts []string
	for _, a := range u.args {
		parts = append(parts, a.String())
	}
	return "unnest(" + strings.Join(parts, ", ") + ")"
}

// Append implements TableFunction.
func (u *unnest) Append(_ *Context, args []*vector.Vec, row int, out []*vector.Vec) (int, error) {
	rows := make([][]int, len(args)) // positions in the arguments' elements
	most := 0
	for i, v := range args {
		if v.IsNull(row) {
			continue
		}
		w := v.Values()
		for j := int(w.Offset[v.At(row)]); j < int(w.Offset[v.At(row)+1]); j++ {
			times := 1
			if u.args[i].Type().Stored.Kind == catalog.Multiset {
				times = int(intAt(w.Child[1], j))
			}
			for range times {
				rows[i] = append(rows[i], j)
			}
		}
		most = max(most, len(rows[i]))
	}
	for k := range most {
		at := 0
		for i, v := range args {
			var from []*vector.Vec
			t := u.args[i].Type().Stored
			elems := v.Values().Child
			switch {
			case t.Kind == catalog.Map:
				from = elems[:2]
			case t.Elem.Kind == catalog.Row:
				from = elems[0].Values().Child
			default:
				from = elems[:1]
			}
			for _, c := range from {
				switch {
				case k >= len(rows[i]), t.Elem.Kind == catalog.Row && t.Kind != catalog.Map && elems[0].IsNull(rows[i][k]):
					out[at].AppendNull()
				default:
					out[at].AppendFrom(c, rows[i][k])
				}
				at++
			}
		}
		if u.ordinality {
			out[at].AppendI64(int64(k) + 1)
		}
	}
	return most, nil
}
