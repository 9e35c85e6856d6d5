package expr

import (
	"encoding/base64"
	"math/big"
	"sort"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/variant"
	"github.com/thermocline/thermocline/internal/vector"
)

// mysqlColumn is a column type as the option mysql.type.<id> spells it.
type mysqlColumn struct {
	name      string // lower case, without arguments
	args      []int
	labels    []string
	unsigned  bool
	collation string
}

// parseMySQLType reads "bigint unsigned", "varchar(10) collate utf8mb4_bin",
// "enum('a','b')", "decimal(65,30)".
func parseMySQLType(s string) (c mysqlColumn, err error) {
	bad := func() (mysqlColumn, error) { return c, errs.Unsupportedf(-1, "the column type %q", s) }
	s = strings.TrimSpace(s)
	i := 0
	for i < len(s) && s[i] != ' ' && s[i] != '(' {
		i++
	}
	c.name = lower(s[:i])
	rest := s[i:]
	if strings.HasPrefix(rest, "(") {
		at := 1
		for at < len(rest) && rest[at] != ')' {
			switch {
			case rest[at] == ' ' || rest[at] == ',':
				at++
			case rest[at] == '\'':
				var label strings.Builder
				at++
				for {
					if at >= len(rest) {
						return bad()
					}
					if rest[at] == '\'' {
						if at+1 < len(rest) && rest[at+1] == '\'' {
							at++
						} else {
							break
						}
					}
					label.WriteByte(rest[at])
					at++
				}
				at++
				c.labels = append(c.labels, label.String())
			default:
				j := at
				for j < len(rest) && isDigit(rest[j]) {
					j++
				}
				n, err := strconv.Atoi(rest[at:j])
				if err != nil {
					return bad()
				}
				c.args = append(c.args, n)
				at = j
			}
		}
		if at >= len(rest) {
			return bad()
		}
		rest = rest[at+1:]
	}
	words := strings.Fields(lower(rest))
	for k := 0; k < len(words); k++ {
		switch words[k] {
		case "unsigned":
			c.unsigned = true
		case "collate":
			if k++; k < len(words) {
				c.collation = strings.Trim(words[k], "'`")
			}
		}
	}
	return c, nil
}

func (c mysqlColumn) arg(i, def int) int {
	if i < len(c.args) {
		return c.args[i]
	}
	return def
}

// fromColumn maps a stored column to its SQL type (DESIGN D15, D17) and the
// conversion of its vectors, nil where they are the same.
func fromColumn(f catalog.Field, mysqlType string) (Type, loader, error) {
	t := Type{Nullable: !f.Type.NotNull, Coercibility: 2}
	var m mysqlColumn
	if mysqlType != "" {
		var err error
		if m, err = parseMySQLType(mysqlType); err != nil {
			return t, nil, err
		}
	}
	unsupported := func() (Type, loader, error) {
		if mysqlType != "" {
			return t, nil, errs.Unsupportedf(-1, "the column type %s stored as %s", mysqlType, f.Type)
		}
		return t, nil, errs.Unsupportedf(-1, "the column type %s", f.Type)
	}
	switch f.Type.Kind {
	case catalog.Boolean:
		t.Class, t.Width = Bool, 1
		return t, nil, nil
	case catalog.TinyInt, catalog.SmallInt, catalog.Int, catalog.BigInt:
		t.Class, t.Unsigned = Int, m.unsigned
		t.Width = map[catalog.TypeKind]int{catalog.TinyInt: 1, catalog.SmallInt: 2, catalog.Int: 4, catalog.BigInt: 8}[f.Type.Kind]
		switch m.name {
		case "year":
			if f.Type.Kind == catalog.BigInt {
				return unsupported()
			}
			t.Class, t.Width, t.Unsigned = Year, 0, false
			return t, nil, nil
		case "time":
			if f.Type.Kind != catalog.BigInt {
				return unsupported()
			}
			t.Class, t.Width, t.Scale = Time, 0, m.arg(0, 0)
			return t, nil, nil
		case "bit":
			if f.Type.Kind != catalog.BigInt {
				return unsupported()
			}
			t.Class, t.Width, t.Length = Bit, 0, m.arg(0, 1)
			return t, nil, nil
		case "tinyint", "bool", "boolean":
			t.Width, t.Length = 1, m.arg(0, 0)
			if m.name != "tinyint" {
				t.Length = 1
			}
		case "smallint":
			t.Width = 2
		case "mediumint":
			t.Width = 3
		case "int", "integer":
			t.Width = 4
		}
		have := f.Type.Physical()
		if have == t.Physical() {
			return t, nil, nil
		}
		if have == vector.I64 { // INT of MySQL in a BIGINT
			return t, func(_ *Context, v *vector.Vec, b *vector.Batch) (*vector.Vec, error) {
				return mapRows(v, b, vector.I32, func(out *vector.Vec, i, at int, w *vector.Vec) { out.I32s[i] = int32(w.I64s[at]) }), nil
			}, nil
		}
		return t, func(_ *Context, v *vector.Vec, b *vector.Batch) (*vector.Vec, error) {
			return mapRows(v, b, vector.I64, func(out *vector.Vec, i, at int, w *vector.Vec) { out.I64s[i] = int64(w.I32s[at]) }), nil
		}, nil
	case catalog.Float, catalog.Double:
		t.Class, t.Scale, t.Unsigned = Double, NotFixed, m.unsigned
		if f.Type.Kind == catalog.Float {
			t.Class = Float
		}
		if len(m.args) == 2 {
			t.Scale, t.Told.Length = m.args[1], m.args[0]
		}
		return t, nil, nil
	case catalog.Decimal:
		if m.name == "bigint" && m.unsigned {
			t.Class, t.Width, t.Unsigned = Int, 8, true
			return t, func(_ *Context, v *vector.Vec, b *vector.Batch) (*vector.Vec, error) {
				return mapRows(v, b, vector.I64, func(out *vector.Vec, i, at int, w *vector.Vec) {
					switch w.Kind {
					case vector.I64:
						out.I64s[i] = w.I64s[at]
					case vector.I128:
						out.I64s[i] = int64(w.I128s[at].Lo)
					}
				}), nil
			}, nil
		}
		if m.name == "bit" {
			return unsupported()
		}
		t.Class, t.Precision, t.Scale, t.Unsigned = Decimal, f.Type.Length, f.Type.Scale, m.unsigned
		return t, nil, nil
	case catalog.Char, catalog.Varchar:
		t.Class, t.Length, t.Collation = String, f.Type.Length, "utf8mb4_0900_bin"
		if m.collation != "" {
			if _, err := findCollation(m.collation); err != nil {
				return t, nil, err
			}
			t.Collation = collations[lower(m.collation)].name
		}
		switch m.name {
		case "json":
			t.Class, t.Length, t.Collation = JSON, 0, "utf8mb4_bin"
		case "enum":
			t.Class, t.Labels = Enum, m.labels
		case "set":
			t.Class, t.Labels = Set, m.labels
		case "decimal", "numeric", "dec", "fixed":
			t = Type{Class: Decimal, Nullable: t.Nullable, Coercibility: 2, Precision: m.arg(0, 10), Scale: m.arg(1, 0), Unsigned: m.unsigned}
			k, s := t.Physical(), t.Scale
			return t, func(_ *Context, v *vector.Vec, b *vector.Batch) (*vector.Vec, error) {
				out := vector.NewFlat(k, b.Len)
				var bad error
				eachRow(b, func(i int) {
					if v.IsNull(i) {
						out.SetNull(i)
						return
					}
					u, exact, ok := vector.ParseDecimal(v.String(i), s)
					if !ok || !exact {
						bad = errs.Corruptf("read column %s: %q is no %s", f.Name, v.String(i), mysqlType)
						return
					}
					setDec(out, i, u)
				})
				return out, bad
			}, nil
		case "char", "varchar":
			t.Length = m.arg(0, t.Length)
		}
		t.declareForm(m.name, f.Type)
		return t, nil, nil
	case catalog.Binary, catalog.Varbinary, catalog.Blob:
		if m.name == "bit" {
			t.Class, t.Length = Bit, m.arg(0, 1)
			return t, func(_ *Context, v *vector.Vec, b *vector.Batch) (*vector.Vec, error) {
				return mapRows(v, b, vector.I64, func(out *vector.Vec, i, at int, w *vector.Vec) {
					var x uint64
					for _, c := range w.Bytes(at) {
						x = x<<8 | uint64(c)
					}
					out.I64s[i] = int64(x)
				}), nil
			}, nil
		}
		t.Class, t.Length, t.Collation = Bytes, f.Type.Length, "binary"
		t.declareForm(m.name, f.Type)
		return t, nil, nil
	case catalog.Date:
		t.Class = Date
		return t, nil, nil
	case catalog.Time:
		t.Class, t.Scale = Time, min(f.Type.Length, 6)
		if m.name == "time" {
			t.Scale = m.arg(0, 0)
		}
		return t, func(_ *Context, v *vector.Vec, b *vector.Batch) (*vector.Vec, error) {
			return mapRows(v, b, vector.I64, func(out *vector.Vec, i, at int, w *vector.Vec) { out.I64s[i] = int64(w.I32s[at]) * 1000 }), nil
		}, nil
	case catalog.Timestamp, catalog.TimestampLTZ:
		t.Class, t.Scale = DateTime, min(f.Type.Length, 6)
		if f.Type.Kind == catalog.TimestampLTZ {
			t.Class = Timestamp
		}
		if f.Type.Length <= 6 {
			return t, nil, nil
		}
		return t, func(ctx *Context, v *vector.Vec, b *vector.Batch) (*vector.Vec, error) {
			return mapRows(v, b, vector.I64, func(out *vector.Vec, i, at int, w *vector.Vec) {
				us, exact := microsOf(w.I128s[at])
				if out.I64s[i] = us; !exact {
					ctx.cutDigits(f.Name)
				}
			}), nil
		}, nil
	case catalog.Array, catalog.Map, catalog.Multiset, catalog.Row, catalog.Variant, catalog.Vector:
		if !printable(f.Type) {
			return unsupported()
		}
		t.Class, t.Collation = JSON, "utf8mb4_bin"
		ft := f.Type
		return t, func(ctx *Context, v *vector.Vec, b *vector.Batch) (*vector.Vec, error) {
			out := vector.NewFlat(vector.Str, b.Len)
			var buf []byte
			eachRow(b, func(i int) {
				if v.IsNull(i) {
					out.SetNull(i)
					return
				}
				buf = appendTypedJSON(buf[:0], ctx, ft, v, i)
				out.SetBytes(i, buf)
			})
			return out, nil
		}, nil
	}
	return unsupported()
}

// declareForm sets the form of a string column, and the length of TEXT and BLOB
// columns: declared in MySQL's words, or the stored type's.
func (t *Type) declareForm(declared string, stored catalog.Type) {
	if t.Class != String && t.Class != Bytes {
		return
	}
	switch declared {
	case "char", "binary":
		t.Told.Form = Fixed
	case "tinytext", "tinyblob":
		t.Told.Form, t.Length = Large, 255
	case "text", "blob":
		t.Told.Form, t.Length = Large, 65535
	case "mediumtext", "mediumblob":
		t.Told.Form, t.Length = Large, 16777215
	case "longtext", "longblob":
		t.Told.Form = Large
	case "":
		switch {
		case stored.Kind == catalog.Char || stored.Kind == catalog.Binary:
			t.Told.Form = Fixed
		case stored.Kind == catalog.Blob || stored.Length == catalog.MaxLength:
			t.Told.Form = Large
		}
	}
}

// microsOf cuts nanoseconds to microseconds, towards the past, and reports
// whether nothing was lost.
func microsOf(ns vector.Int128) (us int64, exact bool) {
	if ns.IsInt64() {
		n := ns.Int64()
		return floorDiv(n, 1000), n%1000 == 0
	}
	q, r := new(big.Int).DivMod(ns.Big(), big.NewInt(1000), new(big.Int))
	return q.Int64(), r.Sign() == 0
}

// cutDigits warns, once a statement, that SQL's microseconds do not hold all
// digits of a column.
func (c *Context) cutDigits(column string) {
	if c.state != nil {
		if _, warned := c.state.LoadOrStore("truncated "+column, true); warned {
			return
		}
	}
	c.warn("Warning", errs.DataTruncated, "Data truncated for column '%s': it has digits beyond microseconds", column)
}

func eachRow(b *vector.Batch, f func(i int)) {
	if b.Sel == nil {
		for i := range b.Len {
			f(i)
		}
		return
	}
	for _, i := range b.Sel {
		f(int(i))
	}
}

// mapRows converts the rows of b that count, keeping Const and NULLs. set gets
// the payload vector and the position in it.
func mapRows(v *vector.Vec, b *vector.Batch, k vector.Kind, set func(out *vector.Vec, i, at int, w *vector.Vec)) *vector.Vec {
	if v.Form == vector.Const {
		if v.IsNull(0) {
			return vector.NewNull(k, b.Len)
		}
		out := vector.NewFlat(k, 1)
		set(out, 0, 0, v)
		return out.AsConst(b.Len)
	}
	out := vector.NewFlat(k, b.Len)
	out.Valid = v.Valid
	w := v.Values()
	eachRow(b, func(i int) {
		if !v.IsNull(i) {
			set(out, i, v.At(i), w)
		}
	})
	return out
}

// printable reports whether a nested type can be shown as JSON.
func printable(t catalog.Type) bool {
	for _, x := range []*catalog.Type{t.Key, t.Elem} {
		if x != nil && !printable(*x) {
			return false
		}
	}
	for _, f := range t.Fields {
		if !printable(f.Type) {
			return false
		}
	}
	return t.Kind != catalog.InvalidType
}

// appendTypedJSON shows a stored value as MySQL's JSON text: temporal values and
// map keys as strings, decimals with their scale, bytes in base64, object
// members by length and then bytes of the key.
func appendTypedJSON(dst []byte, ctx *Context, t catalog.Type, v *vector.Vec, row int) []byte {
	if v.IsNull(row) {
		return append(dst, "null"...)
	}
	i := v.At(row)
	w := v.Values()
	type member struct{ key, value []byte }
	object := func(ms []member) []byte {
		sort.SliceStable(ms, func(i, j int) bool { return jsonKeyLess(ms[i].key, ms[j].key) })
		dst = append(dst, '{')
		for k, m := range ms {
			if k > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendJSONString(dst, m.key)
			dst = append(append(dst, ": "...), m.value...)
		}
		return append(dst, '}')
	}
	switch t.Kind {
	case catalog.Boolean:
		return strconv.AppendBool(dst, w.I8s[i] != 0)
	case catalog.Array, catalog.Vector:
		dst = append(dst, '[')
		for j := w.Offset[i]; j < w.Offset[i+1]; j++ {
			if j > w.Offset[i] {
				dst = append(dst, ", "...)
			}
			dst = appendTypedJSON(dst, ctx, *t.Elem, w.Child[0], int(j))
		}
		return append(dst, ']')
	case catalog.Map, catalog.Multiset:
		kt, vt := t.Key, t.Elem
		if t.Kind == catalog.Multiset {
			kt, vt = t.Elem, &catalog.TInt
		}
		var ms []member
		for j := w.Offset[i]; j < w.Offset[i+1]; j++ {
			ms = append(ms, member{jsonKeyText(ctx, *kt, w.Child[0], int(j)), appendTypedJSON(nil, ctx, *vt, w.Child[1], int(j))})
		}
		return object(ms)
	case catalog.Row:
		var ms []member
		for k, f := range t.Fields {
			ms = append(ms, member{[]byte(f.Name), appendTypedJSON(nil, ctx, f.Type, w.Child[k], i)})
		}
		return object(ms)
	}
	if t.Kind == catalog.Variant {
		return appendVariant(dst, w.Child[0].Bytes(i), w.Child[1].Bytes(i))
	}
	st, load, err := fromColumn(catalog.Field{Type: t}, "")
	if err != nil {
		return append(dst, "null"...)
	}
	x, at := w, i
	if load != nil {
		one := &vector.Batch{Len: w.Len, Sel: []uint16{}, Seq: -1}
		if i < vector.MaxBatchRows {
			one.Sel = []uint16{uint16(i)}
			if x, err = load(ctx, w, one); err != nil {
				return append(dst, "null"...)
			}
		} else {
			// Elements beyond a batch's positions: copy the one.
			y := vector.NewLike(w, 1)
			y.AppendFrom(w, i)
			if x, err = load(ctx, y, &vector.Batch{Len: 1, Seq: -1}); err != nil {
				return append(dst, "null"...)
			}
			at = 0
		}
	}
	switch {
	case st.Class == Bytes:
		return appendJSONString(dst, []byte("base64:type252:"+base64.StdEncoding.EncodeToString(x.Bytes(at))))
	case st.Class == String:
		return appendJSONString(dst, x.Bytes(at))
	case st.IsTemporal():
		st.Scale = max(st.Scale, 6)
		if st.Class == Date {
			st.Scale = 0
		}
		return appendJSONString(dst, AppendText(nil, st, x, at, ctx.zone()))
	case st.Class == Double || st.Class == Float:
		if f := floatAt(x, at); f != f || f > 1.7976931348623157e308 || f < -1.7976931348623157e308 {
			return appendJSONString(dst, AppendText(nil, st, x, at, nil))
		}
		return appendJSONDouble(dst, floatAt(x, at))
	}
	return AppendText(dst, st, x, at, ctx.zone())
}

// appendVariant shows a VARIANT as MySQL shows JSON. Readers have checked it.
func appendVariant(dst, value, metadata []byte) []byte {
	text, err := variant.AppendJSON(nil, value, metadata)
	if err != nil {
		return append(dst, "null"...)
	}
	v, jerr := parseJSON(text)
	if jerr != nil { // nested deeper than JSON may be in SQL
		return append(dst, text...)
	}
	return v.appendText(dst)
}

func jsonKeyText(ctx *Context, t catalog.Type, v *vector.Vec, i int) []byte {
	s := appendTypedJSON(nil, ctx, t, v, i)
	if t.Kind == catalog.Char || t.Kind == catalog.Varchar {
		return v.Bytes(i)
	}
	if len(s) >= 2 && s[0] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// jsonKeyLess is the order of members in MySQL's JSON objects.
func jsonKeyLess(a, b []byte) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return string(a) < string(b)
}
