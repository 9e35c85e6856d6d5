package merge

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// aggregate is an aggregate function of a column. Each function takes the
// accumulated value and that of the next row. They follow Java Paimon's classes
// Field…Agg.
type aggregate struct {
	agg      aggregator
	reversed aggregator // the next row is older than what was accumulated
	retract  aggregator
	step     step
}

var errNoRetract = errors.New("a deletion needs a function that takes back values")

type aggregator = func(c *cell, acc, in value) (value, error)

// cell is what an aggregate keeps while it merges the rows of one key.
type cell struct {
	typ         catalog.Type
	made        *vector.Vec // values that were computed
	initialized bool
}

func (c *cell) reset() {
	c.initialized = false
	if c.made != nil && c.made.Len > 0 {
		c.made.Reset()
	}
}

// out returns the vector for computed values.
func (c *cell) out() *vector.Vec {
	if c.made == nil {
		c.made = c.typ.NewVec(0)
	}
	return c.made
}

// last returns the value appended last.
func (c *cell) last() value { return value{c.made, c.made.Len - 1} }

// newAggregate returns a function by name, for a column, and refuses those that
// are not implemented, or not for the column's type.
func newAggregate(table string, schema *catalog.Schema, o *spec.Options, f catalog.Field, name string) (*aggregate, error) {
	option := func(key string) string { return schema.Options["fields."+f.Name+"."+key] }
	a := &aggregate{step: steps[name]}
	t := f.Type
	ok := true
	switch name {
	case "primary-key":
		a.agg, a.retract = takeNew, takeNew
	case "last_value":
		a.agg = takeNew
		a.retract = func(*cell, value, value) (value, error) { return value{}, nil }
	case "last_non_null_value":
		a.agg = func(_ *cell, acc, in value) (value, error) {
			if in.null() {
				return acc, nil
			}
			return in, nil
		}
		a.retract = func(_ *cell, acc, in value) (value, error) {
			if in.null() {
				return acc, nil
			}
			return value{}, nil
		}
	case "first_value", "first_non_null_value", "first_not_null_value":
		any := name == "first_value"
		a.agg = func(c *cell, acc, in value) (value, error) {
			if !c.initialized && (any || !in.null()) {
				c.initialized = true
				return in, nil
			}
			return acc, nil
		}
	case "sum", "product":
		ok = arithmetic(a, t, name)
	case "max", "min":
		ok = t.IsPrimitive() && t.Kind != catalog.Boolean
		sign := 1
		if name == "min" {
			sign = -1
		}
		a.agg = both(func(_ *cell, acc, in value) (value, error) {
			d := vector.Compare(acc.v, acc.i, in.v, in.i)
			if d*sign < 0 || d == 0 && sign < 0 {
				return in, nil
			}
			return acc, nil
		})
	case "bool_and", "bool_or":
		ok = t.Kind == catalog.Boolean
		a.agg = both(func(c *cell, acc, in value) (value, error) {
			x, y := boolOf(acc), boolOf(in)
			if name == "bool_and" {
				c.out().AppendBool(x && y)
			} else {
				c.out().AppendBool(x || y)
			}
			return c.last(), nil
		})
	case "listagg":
		ok = t.Kind == catalog.Varchar && t.Length == catalog.MaxLength
		delimiter, set := schema.Options["fields."+f.Name+".list-agg-delimiter"]
		if !set {
			delimiter = ","
		}
		a.agg = listAggregate(delimiter, o.Bool("fields."+f.Name+".distinct", false))
	case "collect":
		ok = collect(a, t, o.Bool("fields."+f.Name+".distinct", false))
	case "merge_map":
		ok = mergeMap(a, t)
	case "merge_map_with_keytime":
		ok = mergeMapByTime(a, t, option("ts-field"))
	case "rbm32":
		ok = union(a, t, uniteBitmaps)
	case "theta_sketch":
		ok = union(a, t, uniteThetas)
	case "nested_update", "nested_partial_update":
		var err error
		if ok, err = nestedTable(a, t, nestedOptions{
			partial: name == "nested_partial_update", key: names(option("nested-key")), sequence: names(option("nested-sequence-field")),
			nulls: strings.ToLower(option("nested-key-null-strategy")), limit: int(o.Int("fields."+f.Name+".count-limit", math.MaxInt32)),
		}); err != nil {
			return nil, fmt.Errorf("table %s: %w", table, err)
		}
	default:
		return nil, errs.Unsupportedf(-1, "reading columns with the aggregate function %s (column %q of table %s)", name, f.Name, table)
	}
	if !ok {
		return nil, errs.Unsupportedf(-1, "reading columns of type %s with the aggregate function %s (column %q of table %s)", t.Nullable(), name, f.Name, table)
	}
	if o.Bool("fields."+f.Name+".ignore-retract", false) {
		a.retract = func(_ *cell, acc, _ value) (value, error) { return acc, nil }
		a.reversed = nil
	}
	if a.retract == nil {
		a.retract = func(*cell, value, value) (value, error) {
			return value{}, fmt.Errorf("%w: %s does not; 'fields.%s.ignore-retract' = 'true' ignores deletions", errNoRetract, name, f.Name)
		}
	}
	if a.reversed == nil {
		agg := a.agg
		a.reversed = func(c *cell, acc, in value) (value, error) { return agg(c, in, acc) }
	}
	return a, nil
}

// names splits a list of names.
func names(text string) (out []string) {
	if text == "" {
		return nil
	}
	for _, n := range strings.Split(text, ",") {
		out = append(out, strings.TrimSpace(n))
	}
	return out
}

func takeNew(_ *cell, _, in value) (value, error) { return in, nil }

// both makes an aggregator of f that passes the other value when one is NULL.
func both(f aggregator) aggregator {
	return func(c *cell, acc, in value) (value, error) {
		if acc.null() {
			return in, nil
		}
		if in.null() {
			return acc, nil
		}
		return f(c, acc, in)
	}
}

func boolOf(x value) bool { return x.v.Values().I8s[x.v.At(x.i)] != 0 }

// arithmetic makes sum and product; ok is false when the type has none.
func arithmetic(a *aggregate, t catalog.Type, name string) (ok bool) {
	sum := name == "sum"
	var forth, back func(c *cell, acc, in value) (value, error)
	switch {
	case integer(t):
		forth, back = integers(t, '*'), integers(t, '/')
		if sum {
			forth, back = integers(t, '+'), integers(t, '-')
		}
	case t.Kind == catalog.Float || t.Kind == catalog.Double:
		forth, back = floats('*'), floats('/')
		if sum {
			forth, back = floats('+'), floats('-')
		}
	case t.Kind == catalog.Decimal:
		forth, back = decimals(t, '*'), decimals(t, '/')
		if sum {
			forth, back = decimals(t, '+'), decimals(t, '-')
		}
	default:
		return false
	}
	a.agg = both(forth)
	a.retract = func(c *cell, acc, in value) (value, error) {
		switch {
		case in.null():
			return acc, nil
		case !acc.null():
			return back(c, acc, in)
		case sum:
			return negative(c, t, in)
		}
		return acc, nil
	}
	return true
}

// integerOf returns the value of an integer type.
func integerOf(x value) int64 { return intAt(x.v.Values(), x.v.At(x.i)) }

// integerRange returns the bounds of an integer type.
func integerRange(t catalog.Type) (lo, hi int64) {
	switch t.Kind {
	case catalog.TinyInt:
		return math.MinInt8, math.MaxInt8
	case catalog.SmallInt:
		return math.MinInt16, math.MaxInt16
	case catalog.Int:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

// integers computes with integers; results out of the type's range are errors,
// as in Java Paimon since 2.0.
func integers(t catalog.Type, op byte) aggregator {
	lo, hi := integerRange(t)
	return func(c *cell, acc, in value) (value, error) {
		x, y := integerOf(acc), integerOf(in)
		var z int64
		ok := true
		switch op {
		case '+':
			z = x + y
			ok = (z < x) == (y < 0)
		case '-':
			z = x - y
			ok = (z > x) == (y < 0)
		case '*':
			z = x * y
			ok = x == 0 || z/x == y && (x != -1 || y != math.MinInt64)
		default:
			if y == 0 {
				return value{}, fmt.Errorf("%d / 0", x)
			}
			z = x / y
			ok = x != math.MinInt64 || y != -1
		}
		if !ok || z < lo || z > hi {
			return value{}, fmt.Errorf("%d %c %d is out of the range of %s", x, op, y, t.Nullable())
		}
		return c.integer(z), nil
	}
}

func (c *cell) integer(x int64) value {
	if out := c.out(); out.Kind == vector.I32 {
		out.AppendI32(int32(x))
	} else {
		out.AppendI64(x)
	}
	return c.last()
}

func floats(op byte) aggregator {
	return func(c *cell, acc, in value) (value, error) {
		p, q := acc.v.Values(), in.v.Values()
		i, j := acc.v.At(acc.i), in.v.At(in.i)
		if p.Kind == vector.F32 {
			x, y := p.F32s[i], q.F32s[j]
			c.out().AppendF32([...]float32{x + y, x - y, x * y, x / y}[strings.IndexByte("+-*/", op)])
		} else {
			x, y := p.F64s[i], q.F64s[j]
			c.out().AppendF64([...]float64{x + y, x - y, x * y, x / y}[strings.IndexByte("+-*/", op)])
		}
		return c.last(), nil
	}
}

// compactDigits is the precision up to which Java adds decimals as longs without
// a look at the precision.
const compactDigits = 18

// decimals computes with decimals. Results are rounded half up to the scale, and
// NULL when they have more digits than the type, except for sums of at most 18
// digits, which Java does not check.
func decimals(t catalog.Type, op byte) aggregator {
	return func(c *cell, acc, in value) (value, error) {
		x, y := wideAt(acc.v.Values(), acc.v.At(acc.i)).Big(), wideAt(in.v.Values(), in.v.At(in.i)).Big()
		z := new(big.Int)
		switch op {
		case '+', '-':
			if op == '+' {
				z.Add(x, y)
			} else {
				z.Sub(x, y)
			}
			if t.Length <= compactDigits && z.IsInt64() {
				c.out().AppendI64(z.Int64())
				return c.last(), nil
			}
		case '*':
			z.Mul(x, y)
			roundHalfUp(z, vector.Pow10(t.Scale))
		default:
			if y.Sign() == 0 {
				return value{}, fmt.Errorf("a division by 0")
			}
			if !terminates(x, y) {
				return value{}, fmt.Errorf("a quotient without a last digit")
			}
			z.Mul(x, vector.Pow10(t.Scale))
			if y.Sign() < 0 {
				z.Neg(z)
			}
			roundHalfUp(z, new(big.Int).Abs(y))
		}
		return c.decimal(t, z), nil
	}
}

// decimal appends an unscaled decimal, NULL when it does not fit the type.
func (c *cell) decimal(t catalog.Type, z *big.Int) value {
	if new(big.Int).Abs(z).Cmp(vector.Pow10(t.Length)) >= 0 || !c.out().AppendDecimal(z) {
		return value{}
	}
	return c.last()
}

// roundHalfUp divides z by d, which is positive, rounding half away from zero.
func roundHalfUp(z, d *big.Int) {
	r := new(big.Int)
	z.QuoRem(z, d, r)
	sign := int64(r.Sign())
	if r.Abs(r).Lsh(r, 1).Cmp(d) >= 0 {
		z.Add(z, big.NewInt(sign))
	}
}

// terminates reports whether x/y has finitely many decimal digits: the reduced
// denominator has no prime factors but 2 and 5.
func terminates(x, y *big.Int) bool {
	d := new(big.Int).Abs(y)
	d.Quo(d, new(big.Int).GCD(nil, nil, new(big.Int).Abs(x), d))
	for _, p := range []int64{2, 5} {
		q, r := new(big.Int), new(big.Int)
		for {
			if q.QuoRem(d, big.NewInt(p), r); r.Sign() != 0 {
				break
			}
			d.Set(q)
		}
	}
	return d.IsInt64() && d.Int64() == 1
}

// negative is what sum makes of a value taken back from nothing.
func negative(c *cell, t catalog.Type, in value) (value, error) {
	p, i := in.v.Values(), in.v.At(in.i)
	switch p.Kind {
	case vector.F32:
		c.out().AppendF32(-p.F32s[i])
		return c.last(), nil
	case vector.F64:
		c.out().AppendF64(-p.F64s[i])
		return c.last(), nil
	}
	if t.Kind == catalog.Decimal {
		x := wideAt(p, i).Big()
		return c.decimal(t, x.Neg(x)), nil
	}
	lo, _ := integerRange(t)
	if x := integerOf(in); x != lo {
		return c.integer(-x), nil
	}
	return value{}, fmt.Errorf("-(%d) is out of the range of %s", lo, t.Nullable())
}

// blank reports whether a text is empty or of whitespace as Java defines it.
func blank(b []byte) bool {
	for _, r := range string(b) {
		switch {
		case r >= '\t' && r <= '\r', r >= 0x1c && r <= 0x1f:
		case unicode.Is(unicode.Z, r) && r != 0xa0 && r != 0x2007 && r != 0x202f:
		default:
			return false
		}
	}
	return true
}

// listAggregate joins texts.
func listAggregate(delimiter string, distinct bool) aggregator {
	separator := delimiter
	if separator == "" {
		separator = " " // by which Java splits then
	}
	return func(c *cell, acc, in value) (value, error) {
		if in.null() || blank(in.v.Bytes(in.i)) {
			return acc, nil
		}
		if acc.null() || blank(acc.v.Bytes(acc.i)) {
			return in, nil
		}
		x, y := acc.v.Bytes(acc.i), in.v.Bytes(in.i)
		out := append([]byte(nil), x...)
		if !distinct {
			out = append(append(out, delimiter...), y...)
		} else {
			seen := map[string]bool{}
			for _, token := range bytes.Split(x, []byte(separator)) {
				seen[string(token)] = true
			}
			for _, token := range bytes.Split(y, []byte(separator)) {
				if blank(token) || seen[string(token)] {
					continue
				}
				seen[string(token)] = true
				out = append(append(out, delimiter...), token...)
			}
		}
		c.out().AppendBytes(out)
		return c.last(), nil
	}
}

// intAt returns a value of an integer type.
func intAt(v *vector.Vec, i int) int64 {
	if v.Kind == vector.I32 {
		return int64(v.I32s[i])
	}
	return v.I64s[i]
}

// wideAt returns an unscaled decimal of any kind that files hold.
func wideAt(v *vector.Vec, i int) vector.Int128 {
	if v.Kind == vector.I64 {
		return vector.Int128From(v.I64s[i])
	}
	return v.I128s[i]
}
