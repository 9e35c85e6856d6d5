package expr

import (
	"math"
	"strings"

	"github.com/thermocline/thermocline/internal/vector"
)

func init() {
	register(&function{name: "IN", min: 2, max: -1, class: "comparison", usage: "x IN (a, b, …)",
		doc: "TRUE if x equals an item, else NULL if x or an item is NULL, else FALSE.", resolve: in})
}

// in compares x with every item under the pair's own comparison rule, as MySQL
// does; constant items of one rule go into a set that is built once.
func in(ctx *Context, args []Expr) (Expr, error) {
	if len(args) == 2 {
		return Call(ctx, "=", args[0], args[1])
	}
	if e, err := inDates(ctx, args); e != nil || err != nil {
		return e, err
	}
	if countOperands(args).json > 0 {
		return inJSON(ctx, args)
	}
	args = inIntegers(ctx, inMixed(ctx, args))
	x, err := collateList(ctx, args[0], args)
	if err != nil {
		return nil, err
	}
	// Text items against a number: each converts as the comparison says.
	type group struct {
		x     Expr
		t     Type
		items []*LiteralExpr
	}
	var groups []*group
	var rest []Expr
	sawNull := false
	for _, item := range args[1:] {
		if item.Type().Class == Null {
			sawNull = true
			continue
		}
		a, b, t, err := comparable2(ctx, " IN ", x, item)
		if err != nil {
			return nil, err
		}
		l, ok := b.(*LiteralExpr)
		if !ok || x.Type().Class == Null {
			eq, err := equalItem(ctx, x, item)
			if err != nil {
				return nil, err
			}
			if c, ok := eq.(*call); ok {
				c.whole = true // MySQL evaluates the whole list
			}
			rest = append(rest, eq)
			continue
		}
		if l.Val.IsNull() {
			sawNull = true
			continue
		}
		t.Nullable = false
		var g *group
		for _, h := range groups {
			if h.t.key() == t.key() && h.x.Key() == a.Key() && h.t.Precision == t.Precision {
				g = h
			}
		}
		if g == nil {
			g = &group{x: a, t: t}
			groups = append(groups, g)
		}
		g.items = append(g.items, l)
	}
	var terms []Expr
	for _, g := range groups {
		terms = append(terms, inSet(g.x, g.t, g.items, args))
	}
	terms = append(terms, rest...)
	if sawNull {
		terms = append(terms, convert(ctx, Literal(NullValue()), TBool))
	}
	if len(terms) == 1 {
		return terms[0], nil
	}
	return Call(ctx, "OR", terms...)
}

// equalItem is x = item of a list, whose constants are converted for every row.
func equalItem(ctx *Context, x, item Expr) (Expr, error) {
	if Exact(x) != x || Exact(item) != item {
		return Call(ctx, "=", x, item)
	}
	x, item = yearConstants(x, item)
	eq, err := compareOperands(ctx, " IN ", "=", x, item, false)
	if err != nil {
		return nil, err
	}
	return fold(ctx, eq), nil
}

// inMixed prepares what a list of dates, texts and numbers compares otherwise than =
// would: a text is compared with dates as a text, and one that is no date is less
// than a date.
func inMixed(ctx *Context, args []Expr) []Expr {
	n := countOperands(args)
	x := args[0]
	if n.others == 0 || n.dates+n.times == 0 || n.json > 0 {
		return args
	}
	args = append([]Expr(nil), args...)
	for i, a := range args {
		switch {
		case isString(x.Type()) && a.Type().IsTemporal():
			args[i] = asText(ctx, a)
		case i > 0 && isDated(x) && isString(a.Type()) && !isDateText(a, false):
			args[i] = dateTextFor(x).read(ctx, a)
		}
	}
	return args
}

// inIntegers makes integers of the constant texts of a list that an integer is looked
// for in: MySQL compares a computed integer with them as such, unlike a column.
func inIntegers(ctx *Context, args []Expr) []Expr {
	x := args[0]
	l, literal := x.(*LiteralExpr)
	if n := numeric(x); isColumn(x) || n.Class != Int || x.Type().IsTemporal() || literal && l.hex {
		return args
	}
	for _, a := range args[1:] {
		if !constText(a) {
			return args
		}
	}
	out := []Expr{x}
	for _, a := range args[1:] {
		t := TBigInt
		t.Unsigned = numeric(x).Unsigned
		k := convert(ctx, a, t)
		if v, err := EvalConst(ctx, k); err == nil { // MySQL too warns when it reads the list
			l := Literal(v)
			l.folded = k
			k = l
		}
		out = append(out, k)
	}
	return out
}

// inJSON is IN where an operand is JSON: all are compared as JSON.
func inJSON(ctx *Context, args []Expr) (Expr, error) {
	x := args[0]
	var terms []Expr
	for _, item := range args[1:] {
		var eq Expr
		var err error
		switch beyond := beyondJSON(x); {
		case x.Type().Class == Null, item.Type().Class == Null:
			eq = convert(ctx, Literal(NullValue()), TBool)
		case beyond && beyondJSON(item) && sameJSONKind(x.Type(), item.Type()):
			eq, err = compareOperands(ctx, " IN ", "=", x, item, false)
		case beyond != beyondJSON(item) || beyond:
			for _, e := range []Expr{x, item} {
				if e.Type().Class == JSON {
					if _, err := jsonSide(ctx, e); err != nil {
						return nil, err
					}
				}
			}
			eq, err = compareOperands(ctx, " IN ", "=", typeOrder(x, 0), typeOrder(item, 1), false)
		default:
			var a, b Expr
			if a, err = jsonSide(ctx, x); err != nil {
				return nil, err
			}
			if b, err = jsonSide(ctx, item); err != nil {
				return nil, err
			}
			eq, err = compareOperands(ctx, " IN ", "=", a, b, false)
		}
		if err != nil {
			return nil, err
		}
		if c, ok := eq.(*call); ok {
			c.whole = true
		}
		terms = append(terms, fold(ctx, eq))
	}
	return Call(ctx, "OR", terms...)
}

// sameJSONKind reports whether values of two types are JSON values of one type.
func sameJSONKind(a, b Type) bool {
	instant := func(t Type) bool { return t.Class == DateTime || t.Class == Timestamp }
	return a.Class == b.Class || instant(a) && instant(b)
}

// collateList gives x the collation under which it is compared with every text
// of an IN list: MySQL aggregates it over x and all items, not pair by pair.
func collateList(ctx *Context, x Expr, args []Expr) (Expr, error) {
	if x.Type().Class != String {
		return x, nil
	}
	var texts []Type
	for _, a := range args {
		if c := a.Type().Class; c == String || c == Null {
			texts = append(texts, a.Type())
		}
	}
	t, err := mergeCollations(" IN ", texts...)
	if err != nil || t.Collation == x.Type().Collation && t.Coercibility != 0 || charsetOf(t.Collation) != charsetOf(x.Type().Collation) {
		return x, err
	}
	return collate(ctx, x, t.Collation)
}

// inList are the constants of an IN whose set is built.
type inList struct {
	t     Type
	items []*LiteralExpr
}

// inSet is membership of x in constants that are not NULL.
func inSet(x Expr, t Type, items []*LiteralExpr, all []Expr) Expr {
	var key strings.Builder
	key.WriteByte(' ')
	for _, l := range items {
		key.WriteString(l.Key())
		key.WriteByte(',')
	}
	c := newCall("IN", TBool, nil, x)
	c.inner = key.String()
	c.extra = inList{t, items}
	c.text = "(" + all[0].String() + " in (" + joinText(all[1:]) + "))"
	set := newConstSet(t, items)
	c.kern = func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I8)
		set.probe(ev, ev.args[0], out)
		return out, nil
	}
	return c
}

func joinText(es []Expr) string {
	parts := make([]string, len(es))
	for i, e := range es {
		parts[i] = e.String()
	}
	return strings.Join(parts, ",")
}

// constSet is a set of constants of one type.
type constSet struct {
	t      Type
	ints   map[int64]struct{}
	few    []int64
	bits   []uint64 // of the values from base on, when they are close together
	base   int64
	keys   map[string]struct{}
	coll   *collation
	values []*vector.Vec
	cmp    func(a *vector.Vec, i int, b *vector.Vec, j int) int
}

func newConstSet(t Type, items []*LiteralExpr) *constSet {
	s := &constSet{t: t}
	switch k := t.Physical(); {
	case k == vector.I8 || k == vector.I32 || k == vector.I64:
		if len(items) <= 8 {
			for _, l := range items {
				s.few = append(s.few, intAt(l.Val.Vec, 0))
			}
			break
		}
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		s.ints = make(map[int64]struct{}, len(items))
		for _, l := range items {
			x := intAt(l.Val.Vec, 0)
			low, high = min(low, x), max(high, x)
			s.ints[x] = struct{}{}
		}
		if span := uint64(high) - uint64(low); span < 1<<16 {
			s.base, s.bits = low, make([]uint64, span/64+1)
			for x := range s.ints {
				at := uint64(x - low)
				s.bits[at>>6] |= 1 << (at & 63)
			}
		}
	case k == vector.Str && t.Class != JSON:
		s.coll = collationOf(t).ready()
		s.keys = make(map[string]struct{}, len(items))
		for _, l := range items {
			s.keys[string(s.key(nil, l.Val.Vec.Bytes(0)))] = struct{}{}
		}
	default:
		s.cmp = comparer(t)
		for _, l := range items {
			s.values = append(s.values, l.Val.Vec)
		}
	}
	return s
}

// key is a text's identity under the collation.
func (s *constSet) key(dst, b []byte) []byte {
	if s.coll.family == byBytes {
		if s.coll.pad {
			b = trimSpaces(b)
		}
		return b
	}
	return s.coll.appendKey(dst, b)
}

func (s *constSet) probe(ev *evaluation, v, out *vector.Vec) {
	switch {
	case s.few != nil:
		ev.rows(func(i int) {
			x := intAt(v, i)
			for _, y := range s.few {
				if x == y {
					out.I8s[i] = 1
					return
				}
			}
		})
	case s.bits != nil && v.Kind == vector.I32:
		x, m := i32s(v)
		n := uint64(len(s.bits)) * 64
		for i := range out.I8s {
			if at := uint64(int64(x[i&m]) - s.base); at < n {
				out.I8s[i] = int8(s.bits[at>>6] >> (at & 63) & 1)
			}
		}
	case s.bits != nil:
		n := uint64(len(s.bits)) * 64
		ev.rows(func(i int) {
			if at := uint64(intAt(v, i) - s.base); at < n {
				out.I8s[i] = int8(s.bits[at>>6] >> (at & 63) & 1)
			}
		})
	case s.ints != nil:
		ev.rows(func(i int) {
			if _, ok := s.ints[intAt(v, i)]; ok {
				out.I8s[i] = 1
			}
		})
	case s.keys != nil:
		var buf []byte
		ev.rows(func(i int) {
			b := s.key(buf[:0], v.Bytes(i))
			if s.coll.family != byBytes {
				buf = b
			}
			if _, ok := s.keys[string(b)]; ok {
				out.I8s[i] = 1
			}
		})
	default:
		ev.rows(func(i int) {
			for _, y := range s.values {
				if s.cmp(v, i, y, 0) == 0 {
					out.I8s[i] = 1
					return
				}
			}
		})
	}
}
