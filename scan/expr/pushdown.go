package expr

import (
	"math"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/vector"
)

// PushColumn is the stored column behind a column of a batch.
type PushColumn struct {
	Pos       int           // in the snapshot's schema
	Field     catalog.Field // there
	MySQLType string        // Schema.MySQLType
}

// ToPredicate returns the part of a condition that a connector may use to leave
// out rows, or nil. It is implied by e: rows for which e is TRUE satisfy it, so
// the caller evaluates e again. columns returns what is stored behind a
// position of a ColumnExpr or StoredExpr; false for computed ones.
//
// Only comparisons that mean the same to vector.Compare are translated: binary
// collations without padding, constants that the stored type holds exactly, no
// zero or NaN of floating point types, no ENUM, SET, BIT and JSON.
func ToPredicate(ctx *Context, e Expr, columns func(pos int) (PushColumn, bool)) *connector.Predicate {
	p := pusher{ctx, columns}
	return p.push(e)
}

type pusher struct {
	ctx     *Context
	columns func(pos int) (PushColumn, bool)
}

func (p pusher) push(e Expr) *connector.Predicate {
	c, ok := e.(*call)
	if !ok {
		return nil
	}
	switch c.name {
	case "AND":
		var all []*connector.Predicate
		for _, a := range c.args {
			all = append(all, p.push(a))
		}
		return connector.AndOf(all...)
	case "OR":
		or := &connector.Predicate{Op: connector.Or}
		for _, a := range c.args {
			x := p.push(a)
			if x == nil {
				if l, ok := a.(*LiteralExpr); ok && l.Val.IsNull() {
					continue // OR NULL is never TRUE by itself
				}
				return nil
			}
			or.Children = append(or.Children, x)
		}
		if len(or.Children) == 0 {
			return nil
		}
		return or
	case "=", "<>", "<", "<=", ">", ">=":
		if l, ok := c.args[1].(*LiteralExpr); ok {
			return p.compare(c.name, c.args[0], l)
		}
		if l, ok := c.args[0].(*LiteralExpr); ok {
			flip := map[string]string{"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
			return p.compare(flip[c.name], c.args[1], l)
		}
	case "IN":
		return p.in(c, connector.In)
	case "IS NULL":
		if col, t, ok := p.column(c.args[0]); ok && t.Class != Null {
			return &connector.Predicate{Op: connector.IsNull, Column: col.Pos}
		}
	case "NOT":
		inner, ok := c.args[0].(*call)
		if !ok {
			return nil
		}
		switch inner.name {
		case "IS NULL":
			if col, _, ok := p.column(inner.args[0]); ok {
				return &connector.Predicate{Op: connector.IsNotNull, Column: col.Pos}
			}
		case "IN":
			return p.in(inner, connector.NotIn)
		case "=", "<>", "<", "<=", ">", ">=":
			d := *inner
			d.name = map[string]string{"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}[inner.name]
			return p.push(&d)
		}
	case "LIKE":
		m, ok := c.extra.(*likeMatcher)
		if !ok {
			return nil
		}
		col, t, ok := p.column(c.args[0])
		if !ok || !pushableText(t) || m.c.family != byBytes {
			return nil
		}
		first := m.parts[0]
		var prefix []byte
		for _, r := range first.runes {
			if r < 0 || r > 0x10FFFF {
				break
			}
			prefix = append(prefix, string(r)...)
		}
		if len(prefix) == 0 {
			return nil
		}
		v := vector.New(vector.Str, 1)
		v.AppendBytes(prefix)
		op := connector.HasPrefix
		if m.plain && len(m.parts) == 1 {
			op = connector.Eq
		}
		return &connector.Predicate{Op: op, Column: col.Pos, Value: v}
	}
	return nil
}

// column returns the stored column under conversions that keep order and
// equality, and its SQL type.
func (p pusher) column(e Expr) (PushColumn, Type, bool) {
	for {
		switch x := e.(type) {
		case *ColumnExpr:
			c, ok := p.columns(x.Pos)
			return c, x.typ, ok
		case *StoredExpr:
			c, ok := p.columns(x.Pos)
			return c, x.typ, ok
		case *call:
			if x.name != "conv" || !x.hidden || !keepsOrder(x.args[0].Type(), x.typ) {
				return PushColumn{}, Type{}, false
			}
			e = x.args[0]
		default:
			return PushColumn{}, Type{}, false
		}
	}
}

// keepsOrder reports whether a conversion maps different values to different
// values in the same order.
func keepsOrder(from, to Type) bool {
	switch from.Class {
	case Int, Bool, Year:
		switch to.Class {
		case Int:
			return !from.Unsigned || to.Unsigned || from.Width < 8
		case Decimal:
			return to.Precision-to.Scale >= intDigits(from)
		}
	case Decimal:
		return to.Class == Decimal && to.Scale >= from.Scale && to.Precision-to.Scale >= from.Precision-from.Scale
	case Float, Double:
		return to.Class == Double
	case Date:
		return to.Class == Date || to.Class == DateTime
	case DateTime, Timestamp, Time:
		return to.Class == from.Class && to.Scale >= from.Scale
	case String, Bytes:
		return pushableText(from) && pushableText(to)
	}
	return false
}

func pushableText(t Type) bool {
	if t.Class != String && t.Class != Bytes {
		return false
	}
	c := collationOf(t)
	return c.family == byBytes && !c.pad
}

func (p pusher) compare(op string, e Expr, l *LiteralExpr) *connector.Predicate {
	col, t, ok := p.column(e)
	if !ok || l.Val.IsNull() {
		return nil
	}
	code := map[string]connector.PredicateOp{"=": connector.Eq, "<>": connector.Ne, "<": connector.Lt, "<=": connector.Le, ">": connector.Gt, ">=": connector.Ge}[op]
	if k := col.Field.Type.Kind; (k == catalog.Timestamp || k == catalog.TimestampLTZ) && col.Field.Type.Length > 6 && (l.Val.Type.Class == DateTime || l.Val.Type.Class == Timestamp) {
		return nanos(col, code, l)
	}
	v := vector.New(col.Field.Type.Physical(), 1)
	if !p.store(v, col, t, l) {
		return nil
	}
	return &connector.Predicate{Op: code, Column: col.Pos, Value: v}
}

// nanos translates a comparison of microseconds to the stored nanoseconds:
// equality is a range.
func nanos(col PushColumn, op connector.PredicateOp, l *LiteralExpr) *connector.Predicate {
	us := l.Val.Vec.I64s[0]
	at := func(op connector.PredicateOp, us int64) *connector.Predicate {
		v := vector.New(vector.I128, 1)
		v.AppendI128(mul64(us, 1000))
		return &connector.Predicate{Op: op, Column: col.Pos, Value: v}
	}
	if us == math.MaxInt64 {
		return nil
	}
	switch op {
	case connector.Eq:
		return connector.AndOf(at(connector.Ge, us), at(connector.Lt, us+1))
	case connector.Lt, connector.Ge:
		return at(op, us)
	case connector.Le:
		return at(connector.Lt, us+1)
	case connector.Gt:
		return at(connector.Ge, us+1)
	}
	return nil
}

func (p pusher) in(c *call, op connector.PredicateOp) *connector.Predicate {
	list, ok := c.extra.(inList)
	if !ok {
		return nil
	}
	col, t, ok := p.column(c.args[0])
	if !ok || col.Field.Type.Physical() == vector.I128 && col.Field.Type.Kind != catalog.Decimal {
		return nil
	}
	v := vector.New(col.Field.Type.Physical(), len(list.items))
	for _, l := range list.items {
		if !p.store(v, col, t, l) {
			return nil
		}
	}
	return &connector.Predicate{Op: op, Column: col.Pos, Value: v}
}

// store appends a constant in the column's stored form, if that holds it
// exactly. t is the column's SQL type.
func (p pusher) store(v *vector.Vec, col PushColumn, t Type, l *LiteralExpr) bool {
	lt, lv := l.Val.Type, l.Val.Vec
	switch t.Class {
	case Bool, Int, Year, Decimal:
		if col.Field.Type.Physical() == vector.Str || lt.Class != Int && lt.Class != Decimal && lt.Class != Bool && lt.Class != Year {
			return false
		}
		scale := 0
		if t.Class == Decimal {
			scale = t.Scale
		}
		d := decs(p.ctx, lt, lv)(0)
		u := d.rescale(scale)
		if back := (dec{u, scale}).rescale(max(d.scale, scale)); back.Cmp(d.rescale(max(d.scale, scale))) != 0 {
			return false
		}
		switch v.Kind {
		case vector.I8:
			if !u.IsInt64() || u.Int64() < 0 || u.Int64() > 1 {
				return false
			}
			v.AppendI8(int8(u.Int64()))
		case vector.I32:
			if !u.IsInt64() || u.Int64() != int64(int32(u.Int64())) {
				return false
			}
			v.AppendI32(int32(u.Int64()))
		case vector.I64, vector.I128:
			if col.Field.Type.Kind == catalog.Decimal && u.CmpAbs(pow10big(col.Field.Type.Length)) >= 0 {
				return false
			}
			return v.AppendDecimal(u)
		default:
			return false
		}
		return true
	case Float, Double:
		if lt.Class != Double {
			return false
		}
		x := lv.F64s[0]
		if x == 0 || math.IsNaN(x) {
			return false
		}
		if v.Kind == vector.F32 {
			if float64(float32(x)) != x {
				return false
			}
			v.AppendF32(float32(x))
			return true
		}
		v.AppendF64(x)
		return v.Kind == vector.F64
	case Date:
		switch {
		case lt.Class == Date:
			v.AppendI32(lv.I32s[0])
			return true
		case lt.Class == DateTime:
			d, tod := splitDateTime(lv.I64s[0])
			if tod != 0 {
				return false
			}
			v.AppendI32(d)
			return true
		}
	case DateTime, Timestamp, Time:
		if lt.Class != t.Class {
			return false
		}
		us := lv.I64s[0]
		switch v.Kind {
		case vector.I64:
			if us%usUnit[t.Scale] != 0 && t.Scale < 6 {
				return false
			}
			v.AppendI64(us)
			return true
		case vector.I32: // TIME in milliseconds
			if us%1000 != 0 || us < 0 || us >= usPerDay {
				return false
			}
			v.AppendI32(int32(us / 1000))
			return true
		}
	case String, Bytes:
		if !pushableText(t) || !pushableText(lt) || v.Kind != vector.Str {
			return false
		}
		v.AppendBytes(lv.Bytes(0))
		return true
	}
	return false
}
