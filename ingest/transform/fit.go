package transform

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// storer converts the value of an expression to the stored form of its column.
type storer func(v *vector.Vec, b *vector.Batch) (*vector.Vec, error)

// storerOf returns how values of t are stored as to; nil: as they are.
func storerOf(t expr.Type, to catalog.Type) storer {
	switch {
	case t.Class == expr.Int && t.Unsigned && to.Kind == catalog.Decimal: // BIGINT UNSIGNED
		return eachRow(to, func(out, w *vector.Vec, at int) {
			x := vector.Int128FromUint(uint64(w.I64s[at]))
			out.AppendI128(x)
		})
	case t.Class == expr.Decimal && to.Kind == catalog.Varchar: // beyond 38 digits
		scale := t.Scale
		return eachRow(to, func(out, w *vector.Vec, at int) { out.AppendBytes(vector.AppendDecimalText(nil, w, at, scale)) })
	case t.Class == expr.Bit:
		n := to.Length
		return eachRow(to, func(out, w *vector.Vec, at int) {
			b := make([]byte, n)
			for i, x := n-1, uint64(w.I64s[at]); i >= 0; i-- {
				b[i] = byte(x)
				x >>= 8
			}
			out.AppendBytes(b)
		})
	}
	return nil
}

// eachRow makes a conversion of a whole vector of one of its rows. Rows that do
// not count become NULL.
func eachRow(to catalog.Type, put func(out, w *vector.Vec, at int)) storer {
	return func(v *vector.Vec, b *vector.Batch) (*vector.Vec, error) {
		out := to.NewVec(b.Len)
		w, next := v.Values(), 0
		for k := range b.Rows() {
			r := b.Row(k)
			for ; next < r; next++ {
				out.AppendNull()
			}
			if next++; v.IsNull(r) {
				out.AppendNull()
			} else {
				put(out, w, v.At(r))
			}
		}
		for ; next < b.Len; next++ {
			out.AppendNull()
		}
		return out, nil
	}
}

// fitted is where a lake column comes from.
type fitted struct {
	from    int // position in the output, -1: NULL
	kind    catalog.Type
	convert storer // nil: as it is
}

// Leave names columns of the output that the lake table does not get.
func (s *Shape) Leave(names []string) {
	s.left = map[string]bool{}
	for _, n := range names {
		s.left[n] = true
	}
}

// Holds reports whether a lake column holds every value of a source column.
func Holds(c source.Column, to catalog.Type, declared string) bool {
	_, ok := converter(c, to, declared)
	return ok
}

// Fit fits the output to the columns of the lake table, by name: they may come
// in another order, be wider, and nullable ones may be missing from the output.
// It returns what does not fit.
func (s *Shape) Fit(lake *catalog.Schema) error {
	fit := make([]fitted, len(lake.Fields))
	same := len(lake.Fields) == len(s.Output.Columns)
	used := map[int]bool{}
	for j, f := range lake.Fields {
		i := s.Output.Column(f.Name)
		if i < 0 || s.left[f.Name] {
			if f.Type.NotNull {
				return errs.Userf(errs.InvalidTable, "the column %s %s does not come from %s", f.Name, f.Type, s.Source.ID)
			}
			fit[j], same = fitted{from: -1, kind: f.Type}, false
			continue
		}
		used[i] = true
		c := s.Output.Columns[i]
		conv, ok := converter(c, f.Type, lake.MySQLType(f))
		if !ok {
			return errs.Userf(errs.InvalidTable, "the column %s is %s and does not hold every %s of %s", f.Name, spelled(f.Type, lake.MySQLType(f)), spelled(c.Type, c.Declared), s.Source.ID)
		}
		fit[j] = fitted{i, f.Type, conv}
		same = same && i == j && conv == nil
	}
	for i, c := range s.Output.Columns {
		if s.left[c.Name] {
			same = false
			continue
		}
		if !used[i] {
			return errs.Userf(errs.InvalidTable, "it lacks the column %s %s of %s", c.Name, c.Type, s.Source.ID)
		}
	}
	if s.fit = fit; same {
		s.fit = nil
	}
	return nil
}

func spelled(t catalog.Type, declared string) string {
	if declared != "" {
		return declared
	}
	return t.Nullable().String()
}

// fitted brings projected rows to the lake's columns.
func (s *Shape) fitted(b *vector.Batch) (*vector.Batch, error) {
	if s.fit == nil {
		return b, nil
	}
	out := *b
	out.Cols = make([]*vector.Vec, len(s.fit))
	for j, f := range s.fit {
		switch {
		case f.from < 0:
			v := f.kind.NewVec(b.Len)
			for range b.Len {
				v.AppendNull()
			}
			out.Cols[j] = v
		case f.convert == nil:
			out.Cols[j] = b.Cols[f.from]
		default:
			v, err := f.convert(b.Cols[f.from], b)
			if err != nil {
				return nil, errs.Userf(errs.InvalidTable, "column %s: %w", s.Output.Columns[f.from].Name, err)
			}
			out.Cols[j] = v
		}
	}
	return &out, nil
}

// class is what a column holds, for the question what may become what.
type class uint8

const (
	other class = iota
	integer
	decimal
	real32
	real64
	text
	bytes
	date
	wall
	instant
)

func classOf(t catalog.Type, declared string) class {
	name, _, _ := strings.Cut(declared, "(")
	name, _, _ = strings.Cut(name, " ")
	switch name {
	case "time", "bit", "year", "geometry":
		return other
	}
	switch t.Kind {
	case catalog.TinyInt, catalog.SmallInt, catalog.Int, catalog.BigInt:
		return integer
	case catalog.Decimal:
		return decimal
	case catalog.Float:
		return real32
	case catalog.Double:
		return real64
	case catalog.Char, catalog.Varchar:
		if name == "decimal" {
			return other
		}
		return text
	case catalog.Binary, catalog.Varbinary:
		return bytes
	case catalog.Date:
		return date
	case catalog.Timestamp:
		return wall
	case catalog.TimestampLTZ:
		return instant
	}
	return other
}

// integerDigits are the decimal digits that hold an integer type.
var integerDigits = map[catalog.TypeKind]int{catalog.TinyInt: 3, catalog.SmallInt: 5, catalog.Int: 10, catalog.BigInt: 19}

// converter returns how values of a column become those of a lake column that
// holds them all, and whether it does. A nil storer passes them as they are.
func converter(c source.Column, to catalog.Type, declared string) (storer, bool) {
	from := c.Type.Nullable()
	to = to.Nullable()
	if from.Equal(to) && c.Declared == declared {
		return nil, true
	}
	a, b := classOf(from, c.Declared), classOf(to, declared)
	if times := strings.HasPrefix(c.Declared, "time") && strings.HasPrefix(declared, "time"); times && from.Equal(to) {
		return nil, c.Declared <= declared // time, time(1) … time(6)
	}
	asIs := func(ok bool) (storer, bool) { return nil, ok }
	switch {
	case a == integer && b == integer:
		if integerDigits[from.Kind] > integerDigits[to.Kind] {
			return nil, false
		}
		if from.Physical() == to.Physical() {
			return nil, true
		}
		return eachRow(to, func(out, w *vector.Vec, at int) { out.AppendI64(int64(w.I32s[at])) }), true
	case a == integer && b == decimal:
		if integerDigits[from.Kind] > to.Length-to.Scale {
			return nil, false
		}
		return eachRow(to, func(out, w *vector.Vec, at int) {
			x := int64(0)
			if w.Kind == vector.I32 {
				x = int64(w.I32s[at])
			} else {
				x = w.I64s[at]
			}
			out.AppendDecimal(new(big.Int).Mul(big.NewInt(x), vector.Pow10(to.Scale)))
		}), true
	case a == integer && b == real64:
		return eachRow(to, func(out, w *vector.Vec, at int) {
			if w.Kind == vector.I32 {
				out.AppendF64(float64(w.I32s[at]))
			} else {
				out.AppendF64(float64(w.I64s[at]))
			}
		}), true
	case a == integer && b == real32:
		if from.Kind != catalog.TinyInt && from.Kind != catalog.SmallInt {
			return nil, false
		}
		return eachRow(to, func(out, w *vector.Vec, at int) { out.AppendF32(float32(w.I32s[at])) }), true
	case a == decimal && b == decimal:
		if from.Length-from.Scale > to.Length-to.Scale || from.Scale > to.Scale {
			return nil, false
		}
		up := vector.Pow10(to.Scale - from.Scale)
		return eachRow(to, func(out, w *vector.Vec, at int) {
			var x *big.Int
			switch w.Kind {
			case vector.I64:
				x = big.NewInt(w.I64s[at])
			case vector.I128:
				x = w.I128s[at].Big()
			default:
				x = w.I256s[at].Big()
			}
			out.AppendDecimal(x.Mul(x, up))
		}), true
	case a == real32 && b == real64:
		return eachRow(to, func(out, w *vector.Vec, at int) { out.AppendF64(float64(w.F32s[at])) }), true
	case a == real32 && b == real32, a == real64 && b == real64:
		return nil, true
	case a == text && b == text:
		return asIs(to.Kind == catalog.Varchar && (to.Length >= from.Length || to.Length == catalog.MaxLength) || to.Kind == from.Kind && to.Length == from.Length)
	case a == bytes && b == bytes:
		return asIs(to.Kind == catalog.Varbinary && to.Length >= from.Length || to.Kind == from.Kind && to.Length == from.Length)
	case a == date && b == wall && to.Length <= 6:
		return eachRow(to, func(out, w *vector.Vec, at int) { out.AppendI64(int64(w.I32s[at]) * 86_400_000_000) }), true
	case a == wall && b == wall, a == instant && b == instant:
		return asIs(to.Length >= from.Length && to.Length <= 6)
	case b == text && to.Length == catalog.MaxLength && a != bytes:
		return toText(c)
	}
	return nil, false
}

// toText shows values as MySQL does; instants in UTC.
func toText(c source.Column) (storer, bool) {
	e, err := expr.Stored(0, catalog.Field{Name: c.Name, Type: c.Type}, c.Declared, c.Name)
	if err != nil {
		return nil, false
	}
	t := e.Type()
	if t.Class == expr.Bytes || t.Class == expr.Bit || t.Class == expr.Nested {
		return nil, false
	}
	ctx := expr.NewContext()
	return func(v *vector.Vec, b *vector.Batch) (*vector.Vec, error) {
		one := &vector.Batch{Len: b.Len, Sel: b.Sel, Seq: -1, Cols: []*vector.Vec{v}}
		w, err := e.Eval(ctx, one)
		if err != nil {
			return nil, fmt.Errorf("read it as text: %w", err)
		}
		out := catalog.TString.NewVec(b.Len)
		var buf []byte
		for i := range b.Len {
			if w.IsNull(i) {
				out.AppendNull()
				continue
			}
			buf = expr.AppendText(buf[:0], t, w, i, nil)
			out.AppendBytes(buf)
		}
		return out, nil
	}, true
}
