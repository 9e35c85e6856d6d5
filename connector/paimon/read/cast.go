package read

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// cast turns values of a file's type into the table's, for columns whose type
// was changed after the file was written. It follows Java Paimon's
// CastExecutors, quirks included, so that engines agree on stored tables.
type cast func(v *vector.Vec) (*vector.Vec, error)

// newCast returns the cast between two types, nil when values stay as they are.
// Casts that are not implemented are refused by name.
func newCast(from, to catalog.Type) (cast, error) {
	from.NotNull, to.NotNull = false, false
	if sameValues(from, to) {
		return nil, nil
	}
	refused := errs.Unsupportedf(-1, "reading columns whose type changed from %s to %s", from, to)
	var f func(dst, v *vector.Vec, i int) error
	switch {
	case nested(from) && (to.Kind == catalog.Char || to.Kind == catalog.Varchar):
		text := nestedText(from)
		if text == nil {
			return nil, refused
		}
		f = func(dst, v *vector.Vec, i int) error {
			dst.AppendBytes(text(v, i)) // of any length, as in Java
			return nil
		}
	case nested(from) || nested(to):
		if from.Kind != to.Kind {
			return nil, refused
		}
		return newNestedCast(from, to)
	case to.Kind == catalog.Char || to.Kind == catalog.Varchar:
		text := textOf(from)
		if text == nil {
			return nil, refused
		}
		f = func(dst, v *vector.Vec, i int) error {
			b := text(v, i)
			if !bytesLike(from) { // those are passed on, as in Java
				b = fitChars(b, to)
			}
			dst.AppendBytes(b)
			return nil
		}
	case bytesLike(to):
		if !bytesLike(from) && from.Kind != catalog.Char && from.Kind != catalog.Varchar {
			return nil, refused
		}
		f = func(dst, v *vector.Vec, i int) error {
			dst.AppendBytes(fitBytes(v.Bytes(i), to))
			return nil
		}
	case (to.Kind == catalog.Int || to.Kind == catalog.BigInt) && (from.Kind == catalog.Timestamp || from.Kind == catalog.TimestampLTZ):
		f = func(dst, v *vector.Vec, i int) error {
			ms, _ := splitTimestamp(v, i)
			if to.Kind == catalog.Int {
				dst.AppendI32(int32(ms / 1000)) // towards zero, wrapping, as in Java
			} else {
				dst.AppendI64(ms / 1000)
			}
			return nil
		}
	case to.Kind == catalog.Boolean && (from.Kind == catalog.Char || from.Kind == catalog.Varchar):
		f = func(dst, v *vector.Vec, i int) error {
			switch s := v.String(i); strings.ToLower(s) {
			case "t", "true", "y", "yes", "1":
				dst.AppendBool(true)
			case "f", "false", "n", "no", "0":
				dst.AppendBool(false)
			default:
				return errs.Userf(errs.WrongValue, "read %q of a column that changed from %s to %s: it is not a truth value", s, from, to)
			}
			return nil
		}
	case integer(to):
		f = toInteger(from, to)
	case (from.Kind == catalog.Char || from.Kind == catalog.Varchar) && to.Kind != catalog.TimestampLTZ:
		f = parserOf(from, to)
	case to.Kind == catalog.Float || to.Kind == catalog.Double:
		f = toFloat(from, to)
	case to.Kind == catalog.Decimal:
		f = toDecimal(from, to)
	case to.Kind == catalog.Time && from.Kind == catalog.Timestamp:
		f = func(dst, v *vector.Vec, i int) error {
			ms, _ := splitTimestamp(v, i)
			ms %= 86400000
			if ms < 0 {
				ms += 86400000
			}
			p := pow10(3 - min(to.Length, 3))
			dst.AppendI32(int32(ms / p * p))
			return nil
		}
	case to.Kind == catalog.Time && from.Kind == catalog.Time:
		f = func(dst, v *vector.Vec, i int) error {
			p := int32(pow10(3 - min(to.Length, 3)))
			dst.AppendI32(v.I32s[i] / p * p)
			return nil
		}
	case to.Kind == catalog.Timestamp && from.Kind == catalog.Time:
		f = func(dst, v *vector.Vec, i int) error {
			p := pow10(3 - min(to.Length, 3))
			return appendTimestamp(dst, int64(v.I32s[i])/p*p, 0)
		}
	case to.Kind == catalog.Boolean && integer(from):
		f = func(dst, v *vector.Vec, i int) error { dst.AppendBool(intAt(v, i) != 0); return nil }
	case to.Kind == catalog.Date && from.Kind == catalog.Timestamp:
		f = func(dst, v *vector.Vec, i int) error {
			ms, _ := splitTimestamp(v, i)
			dst.AppendI32(int32(ms / 86400000)) // towards zero, as Java divides
			return nil
		}
	case to.Kind == catalog.Timestamp && from.Kind == catalog.Date:
		f = func(dst, v *vector.Vec, i int) error {
			return appendTimestamp(dst, int64(v.I32s[i])*86400000, 0)
		}
	case to.Kind == catalog.Timestamp && integer(from):
		f = func(dst, v *vector.Vec, i int) error {
			seconds := intAt(v, i)
			if ms := seconds * 1000; ms/1000 == seconds {
				return appendTimestamp(dst, ms, 0)
			}
			return errs.Userf(errs.WrongValue, "read %d of a column that changed from %s to %s: it is out of range", seconds, from, to)
		}
	case (to.Kind == catalog.Timestamp || to.Kind == catalog.TimestampLTZ) && to.Kind == from.Kind:
		if to.Length >= from.Length && to.Physical() == from.Physical() {
			return nil, nil
		}
		f = func(dst, v *vector.Vec, i int) error {
			ms, nanos := splitTimestamp(v, i)
			if to.Length < from.Length {
				ms, nanos = truncateTimestamp(ms, nanos, to.Length)
			}
			return appendTimestamp(dst, ms, nanos)
		}
	}
	if f == nil {
		return nil, refused
	}
	return each(to, f), nil
}

func nested(t catalog.Type) bool    { return !t.IsPrimitive() }
func integer(t catalog.Type) bool   { return t.Kind >= catalog.TinyInt && t.Kind <= catalog.BigInt }
func bytesLike(t catalog.Type) bool { return t.Kind == catalog.Binary || t.Kind == catalog.Varbinary }

// each makes a cast of f, which appends the cast of row i of the Flat vector v.
func each(to catalog.Type, f func(dst, v *vector.Vec, i int) error) cast {
	return func(v *vector.Vec) (*vector.Vec, error) {
		v = v.Flatten()
		dst := to.NewVec(v.Len)
		for i := range v.Len {
			if v.IsNull(i) {
				dst.AppendNull()
				continue
			}
			if err := f(dst, v, i); err != nil {
				return nil, err
			}
		}
		return dst, nil
	}
}

// newNestedCast matches the fields of a ROW by id, and casts the elements of
// ARRAY, and the values of MAP; keys keep their type.
func newNestedCast(from, to catalog.Type) (cast, error) {
	var froms, tos []catalog.Type
	var source []int // for each child of to its child in from, -1: NULL
	switch to.Kind {
	case catalog.Row:
		for _, f := range to.Fields {
			at := -1
			for j, g := range from.Fields {
				if g.ID == f.ID {
					at = j
				}
			}
			source = append(source, at)
			tos = append(tos, f.Type)
			if at < 0 {
				froms = append(froms, f.Type)
			} else {
				froms = append(froms, from.Fields[at].Type)
			}
		}
	case catalog.Array:
		froms, tos, source = []catalog.Type{*from.Elem}, []catalog.Type{*to.Elem}, []int{0}
	case catalog.Map:
		froms, tos, source = []catalog.Type{*from.Key, *from.Elem}, []catalog.Type{*to.Key, *to.Elem}, []int{0, 1}
	case catalog.Multiset:
		froms, tos, source = []catalog.Type{*from.Elem, catalog.TInt}, []catalog.Type{*to.Elem, catalog.TInt}, []int{0, 1}
	default:
		return nil, errs.Unsupportedf(-1, "reading columns whose type changed from %s to %s", from, to)
	}
	casts := make([]cast, len(tos))
	same := to.Kind != catalog.Row || len(to.Fields) == len(from.Fields)
	for i := range tos {
		var err error
		if source[i] >= 0 {
			if casts[i], err = newCast(froms[i], tos[i]); err != nil {
				return nil, err
			}
		}
		same = same && source[i] == i && casts[i] == nil
	}
	if same {
		return nil, nil
	}
	return func(v *vector.Vec) (*vector.Vec, error) {
		v = v.Flatten()
		out := &vector.Vec{Kind: v.Kind, Len: v.Len, Valid: v.Valid, Offset: v.Offset}
		for i, s := range source {
			var c *vector.Vec
			switch {
			case s < 0:
				c = tos[i].NewVec(v.Len)
				for range v.Len {
					c.AppendNull()
				}
			case casts[i] == nil:
				c = v.Child[s]
			default:
				var err error
				if c, err = casts[i](v.Child[s]); err != nil {
					return nil, err
				}
			}
			out.Child = append(out.Child, c)
		}
		return out, nil
	}, nil
}

// textOf returns the text of values of a type as the cast to STRING gives it,
// nil when that is not implemented.
func textOf(t catalog.Type) func(v *vector.Vec, i int) []byte {
	switch t.Kind {
	case catalog.Char, catalog.Varchar:
		return func(v *vector.Vec, i int) []byte { return v.Bytes(i) }
	case catalog.Binary, catalog.Varbinary:
		return func(v *vector.Vec, i int) []byte { return bytes.ToValidUTF8(v.Bytes(i), []byte("\uFFFD")) }
	case catalog.Array, catalog.Map, catalog.Row:
		return nestedText(t)
	case catalog.Boolean, catalog.TinyInt, catalog.SmallInt, catalog.Int, catalog.BigInt, catalog.Float, catalog.Double, catalog.Decimal,
		catalog.Date, catalog.Time:
		return func(v *vector.Vec, i int) []byte { return []byte(spec.PathText(t, v, i, false)) }
	case catalog.Timestamp:
		return func(v *vector.Vec, i int) []byte {
			if v.Kind == vector.I128 {
				return jsonl.AppendTimestampNanos(nil, v.I128s[i], t.Length)
			}
			return jsonl.AppendTimestamp(nil, v.I64s[i], t.Length)
		}
	}
	return nil
}

// fitChars cuts a text to the length of t, and pads it if t is CHAR.
func fitChars(b []byte, t catalog.Type) []byte {
	if t.Length == catalog.MaxLength {
		return b
	}
	chars := 0
	for i := range string(b) {
		if chars == t.Length {
			return b[:i]
		}
		chars++
	}
	if t.Kind == catalog.Char && chars < t.Length {
		return append(append([]byte(nil), b...), strings.Repeat(" ", t.Length-chars)...)
	}
	return b
}

// fitBytes cuts bytes to the length of t, and pads them if t is BINARY.
func fitBytes(b []byte, t catalog.Type) []byte {
	if len(b) > t.Length {
		return b[:t.Length]
	}
	if t.Kind == catalog.Binary && len(b) < t.Length {
		return append(append([]byte(nil), b...), make([]byte, t.Length-len(b))...)
	}
	return b
}

// toInteger returns the cast to an integer type: as Java narrows, integers wrap,
// floats are cut towards zero and saturate.
func toInteger(from, to catalog.Type) func(dst, v *vector.Vec, i int) error {
	put := func(dst *vector.Vec, x int64) {
		switch to.Kind {
		case catalog.TinyInt:
			dst.AppendI32(int32(int8(x)))
		case catalog.SmallInt:
			dst.AppendI32(int32(int16(x)))
		case catalog.Int:
			dst.AppendI32(int32(x))
		default:
			dst.AppendI64(x)
		}
	}
	// Java goes by way of int to byte and short.
	saturate := func(f float64) int64 {
		lo, hi := float64(math.MinInt32), float64(math.MaxInt32)
		least, most := int64(math.MinInt32), int64(math.MaxInt32)
		if to.Kind == catalog.BigInt {
			lo, hi, least, most = math.MinInt64, math.MaxInt64, math.MinInt64, math.MaxInt64
		}
		switch {
		case math.IsNaN(f):
			return 0
		case f <= lo:
			return least
		case f >= hi:
			return most
		}
		return int64(f)
	}
	switch {
	case integer(from):
		return func(dst, v *vector.Vec, i int) error { put(dst, intAt(v, i)); return nil }
	case from.Kind == catalog.Float:
		return func(dst, v *vector.Vec, i int) error { put(dst, saturate(float64(v.F32s[i]))); return nil }
	case from.Kind == catalog.Double:
		return func(dst, v *vector.Vec, i int) error { put(dst, saturate(v.F64s[i])); return nil }
	case from.Kind == catalog.Boolean:
		return func(dst, v *vector.Vec, i int) error { put(dst, int64(v.I8s[i])); return nil }
	case from.Kind == catalog.Decimal:
		return func(dst, v *vector.Vec, i int) error {
			x := wideAt(v, i).Big()
			x.Quo(x, vector.Pow10(from.Scale))
			put(dst, int64(low64(x)))
			return nil
		}
	case from.Kind == catalog.Char || from.Kind == catalog.Varchar:
		bits := map[catalog.TypeKind]int{catalog.TinyInt: 8, catalog.SmallInt: 16, catalog.Int: 32, catalog.BigInt: 64}[to.Kind]
		return func(dst, v *vector.Vec, i int) error {
			s := v.String(i)
			x, err := strconv.ParseInt(s, 10, bits)
			if err != nil {
				return errs.Userf(errs.WrongValue, "read %q of a column that changed from %s to %s: it is not such a number", s, from, to)
			}
			put(dst, x)
			return nil
		}
	}
	return nil
}

// low64 returns the low 64 bits of x in two's complement.
func low64(x *big.Int) uint64 {
	m := new(big.Int).And(x, new(big.Int).SetUint64(math.MaxUint64))
	return m.Uint64()
}

func toFloat(from, to catalog.Type) func(dst, v *vector.Vec, i int) error {
	double := to.Kind == catalog.Double
	switch {
	case integer(from):
		return func(dst, v *vector.Vec, i int) error {
			if double {
				dst.AppendF64(float64(intAt(v, i)))
			} else {
				dst.AppendF32(float32(intAt(v, i)))
			}
			return nil
		}
	case from.Kind == catalog.Float && double:
		return func(dst, v *vector.Vec, i int) error { dst.AppendF64(float64(v.F32s[i])); return nil }
	case from.Kind == catalog.Boolean:
		return func(dst, v *vector.Vec, i int) error {
			if double {
				dst.AppendF64(float64(v.I8s[i]))
			} else {
				dst.AppendF32(float32(v.I8s[i]))
			}
			return nil
		}
	case from.Kind == catalog.Double && !double:
		return func(dst, v *vector.Vec, i int) error { dst.AppendF32(float32(v.F64s[i])); return nil }
	case from.Kind == catalog.Decimal:
		return func(dst, v *vector.Vec, i int) error {
			text := string(vector.AppendDecimalText(nil, v, i, from.Scale))
			if double {
				f, err := strconv.ParseFloat(text, 64)
				dst.AppendF64(f)
				return err
			}
			f, err := strconv.ParseFloat(text, 32)
			dst.AppendF32(float32(f))
			return err
		}
	}
	return nil
}

// toDecimal returns the cast to DECIMAL: digits beyond the scale are rounded
// half up, and what does not fit the precision is NULL.
func toDecimal(from, to catalog.Type) func(dst, v *vector.Vec, i int) error {
	put := func(dst *vector.Vec, x *big.Int, scale int) { putDecimal(dst, to, x, scale) }
	switch {
	case integer(from):
		return func(dst, v *vector.Vec, i int) error { put(dst, big.NewInt(intAt(v, i)), 0); return nil }
	case from.Kind == catalog.Decimal:
		return func(dst, v *vector.Vec, i int) error { put(dst, wideAt(v, i).Big(), from.Scale); return nil }
	case from.Kind == catalog.Boolean:
		return func(dst, v *vector.Vec, i int) error { put(dst, big.NewInt(int64(v.I8s[i])), 0); return nil }
	case from.Kind == catalog.Float || from.Kind == catalog.Double:
		return func(dst, v *vector.Vec, i int) error {
			x := 0.0
			if v.Kind == vector.F32 {
				x = float64(v.F32s[i])
			} else {
				x = v.F64s[i]
			}
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return errs.Userf(errs.WrongValue, "read %v of a column that changed from %s to %s: it is no such value", x, from, to)
			}
			unscaled, scale, _ := javaParseDecimal(strconv.FormatFloat(x, 'f', -1, 64))
			put(dst, unscaled, scale)
			return nil
		}
	}
	return nil
}

// putDecimal appends x·10^-scale, rounded half up to the scale of to, or NULL when
// it does not fit the precision.
func putDecimal(dst *vector.Vec, to catalog.Type, x *big.Int, scale int) {
	if d := to.Scale - scale; d >= 0 {
		x.Mul(x, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d)), nil))
	} else {
		div := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-d)), nil)
		r := new(big.Int)
		x.QuoRem(x, div, r)
		sign := int64(r.Sign())
		if r.Abs(r).Lsh(r, 1).Cmp(div) >= 0 {
			x.Add(x, big.NewInt(sign))
		}
	}
	if new(big.Int).Abs(x).Cmp(vector.Pow10(to.Length)) >= 0 || !dst.AppendDecimal(x) {
		dst.AppendNull()
	}
}

// splitTimestamp returns the milliseconds, rounded down, and the nanoseconds in
// them, as Java holds timestamps.
func splitTimestamp(v *vector.Vec, i int) (millis, nanos int64) {
	if v.Kind == vector.I64 {
		us := v.I64s[i]
		millis = us / 1000
		if us%1000 < 0 {
			millis--
		}
		return millis, (us - millis*1000) * 1000
	}
	x := v.I128s[i].Big()
	ms, n := new(big.Int).DivMod(x, big.NewInt(1e6), new(big.Int))
	return ms.Int64(), n.Int64()
}

// truncateTimestamp cuts to p fraction digits as Java does: milliseconds
// towards zero.
func truncateTimestamp(millis, nanos int64, p int) (int64, int64) {
	if p <= 3 {
		f := pow10(3 - p)
		return millis / f * f, 0
	}
	f := pow10(9 - p)
	return millis, nanos / f * f
}

func pow10(n int) int64 {
	x := int64(1)
	for range n {
		x *= 10
	}
	return x
}

func appendTimestamp(dst *vector.Vec, millis, nanos int64) error {
	if dst.Kind == vector.I128 {
		x := new(big.Int).Mul(big.NewInt(millis), big.NewInt(1e6))
		w, ok := vector.Int128FromBig(x.Add(x, big.NewInt(nanos)))
		if !ok {
			return errs.Corruptf("a timestamp of %d ms is out of range", millis)
		}
		dst.AppendI128(w)
		return nil
	}
	if millis > math.MaxInt64/1000-1 || millis < math.MinInt64/1000+1 {
		return errs.Corruptf("a timestamp of %d ms is out of range", millis)
	}
	dst.AppendI64(millis*1000 + nanos/1000)
	return nil
}

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

// CanCast returns nil when values of a column can be read after its type was
// changed, else an error that names the types.
func CanCast(from, to catalog.Type) error {
	_, err := newCast(from, to)
	return err
}
