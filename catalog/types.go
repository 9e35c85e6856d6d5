package catalog

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// TypeKind is the root of a logical type, Paimon's set.
type TypeKind uint8

// The type kinds.
const (
	InvalidType TypeKind = iota
	Boolean
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Decimal
	Char
	Varchar // with MaxLength: STRING
	Binary
	Varbinary // with MaxLength: BYTES
	Date
	Time
	Timestamp    // wall clock
	TimestampLTZ // instant
	Array
	Map
	Multiset
	Row
	Variant
	Blob
	Vector // of Length elements
)

// MaxLength is the length of STRING and BYTES.
const MaxLength = 2147483647

// Type is a logical column type. Values are compared with Equal.
type Type struct {
	Kind    TypeKind
	NotNull bool
	Length  int     // CHAR, VARCHAR (characters), BINARY, VARBINARY (bytes); precision of DECIMAL, TIME and timestamps; elements of VECTOR
	Scale   int     // DECIMAL
	Key     *Type   // MAP
	Elem    *Type   // ARRAY, VECTOR, MULTISET; the values of MAP
	Fields  []Field // ROW
}

// Simple types, nullable.
var (
	TBoolean  = Type{Kind: Boolean}
	TTinyInt  = Type{Kind: TinyInt}
	TSmallInt = Type{Kind: SmallInt}
	TInt      = Type{Kind: Int}
	TBigInt   = Type{Kind: BigInt}
	TFloat    = Type{Kind: Float}
	TDouble   = Type{Kind: Double}
	TDate     = Type{Kind: Date}
	TString   = Type{Kind: Varchar, Length: MaxLength}
	TBytes    = Type{Kind: Varbinary, Length: MaxLength}
)

// TDecimal returns DECIMAL(p, s).
func TDecimal(p, s int) Type { return Type{Kind: Decimal, Length: p, Scale: s} }

// TTimestamp returns TIMESTAMP(p).
func TTimestamp(p int) Type { return Type{Kind: Timestamp, Length: p} }

// TTimestampLTZ returns TIMESTAMP(p) WITH LOCAL TIME ZONE.
func TTimestampLTZ(p int) Type { return Type{Kind: TimestampLTZ, Length: p} }

// TTime returns TIME(p).
func TTime(p int) Type { return Type{Kind: Time, Length: p} }

// Required returns t as NOT NULL.
func (t Type) Required() Type { t.NotNull = true; return t }

// Nullable returns t without NOT NULL.
func (t Type) Nullable() Type { t.NotNull = false; return t }

// Physical returns the kind of vector that holds columns of the type
// (vector.Kind's comment says how).
func (t Type) Physical() vector.Kind {
	switch t.Kind {
	case Boolean:
		return vector.I8
	case TinyInt, SmallInt, Int, Date, Time:
		return vector.I32
	case BigInt:
		return vector.I64
	case Float:
		return vector.F32
	case Double:
		return vector.F64
	case Decimal:
		return vector.DecimalKind(t.Length)
	case Timestamp, TimestampLTZ:
		if t.Length > 6 {
			return vector.I128
		}
		return vector.I64
	case Char, Varchar, Binary, Varbinary, Blob:
		return vector.Str
	case Array, Vector:
		return vector.List
	case Map, Multiset:
		return vector.Map
	case Row, Variant:
		return vector.Struct
	}
	return vector.Invalid
}

// NewVec makes an empty vector for columns of the type, children included, with
// room for n rows.
func (t Type) NewVec(n int) *vector.Vec {
	v := vector.New(t.Physical(), n)
	switch t.Kind {
	case Array, Vector:
		v.Child = []*vector.Vec{t.Elem.NewVec(n)}
	case Map:
		v.Child = []*vector.Vec{t.Key.NewVec(n), t.Elem.NewVec(n)}
	case Multiset:
		v.Child = []*vector.Vec{t.Elem.NewVec(n), vector.New(vector.I32, n)}
	case Row:
		for _, f := range t.Fields {
			v.Child = append(v.Child, f.Type.NewVec(n))
		}
	case Variant: // value, metadata
		v.Child = []*vector.Vec{vector.New(vector.Str, n), vector.New(vector.Str, n)}
	}
	return v
}

// Layout returns the type that files store the values as, which is in the same
// vectors: an ARRAY for a VECTOR, a ROW of two byte strings for a VARIANT, the
// type itself for most.
func (t Type) Layout() Type {
	child := func(c *Type) *Type {
		if c == nil || c.IsPrimitive() {
			return c
		}
		l := c.Layout()
		return &l
	}
	switch t.Kind {
	case Vector:
		return Type{Kind: Array, NotNull: t.NotNull, Elem: child(t.Elem)}
	case Variant:
		return Type{Kind: Row, NotNull: t.NotNull, Fields: []Field{{ID: 0, Name: "value", Type: TBytes.Required()}, {ID: 1, Name: "metadata", Type: TBytes.Required()}}}
	}
	t.Key, t.Elem = child(t.Key), child(t.Elem)
	if len(t.Fields) > 0 {
		t.Fields = append([]Field(nil), t.Fields...)
		for i, f := range t.Fields {
			t.Fields[i].Type = f.Type.Layout()
		}
	}
	return t
}

// IsPrimitive reports whether the type is not nested, so that it may be a key.
func (t Type) IsPrimitive() bool { return t.Kind >= Boolean && t.Kind <= TimestampLTZ }

// Equal reports whether the types are the same, nullability and field ids
// included.
func (t Type) Equal(o Type) bool {
	if t.Kind != o.Kind || t.NotNull != o.NotNull || t.Length != o.Length || t.Scale != o.Scale || len(t.Fields) != len(o.Fields) {
		return false
	}
	for _, p := range [][2]*Type{{t.Key, o.Key}, {t.Elem, o.Elem}} {
		if (p[0] == nil) != (p[1] == nil) || p[0] != nil && !p[0].Equal(*p[1]) {
			return false
		}
	}
	for i, f := range t.Fields {
		g := o.Fields[i]
		if f.ID != g.ID || f.Name != g.Name || !f.Type.Equal(g.Type) {
			return false
		}
	}
	return true
}

// String returns the SQL spelling that Paimon's asSQLString gives, such as
// "DECIMAL(10, 2) NOT NULL" or "ARRAY<INT>".
func (t Type) String() string {
	s := t.atomic()
	switch t.Kind {
	case Array:
		s = "ARRAY<" + t.Elem.String() + ">"
	case Multiset:
		s = "MULTISET<" + t.Elem.String() + ">"
	case Vector:
		s = fmt.Sprintf("VECTOR<%s, %d>", t.Elem, t.Length)
	case Map:
		s = "MAP<" + t.Key.String() + ", " + t.Elem.String() + ">"
	case Row:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = "`" + strings.ReplaceAll(f.Name, "`", "``") + "` " + f.Type.String()
			if f.Comment != "" {
				parts[i] += " '" + strings.ReplaceAll(f.Comment, "'", "''") + "'"
			}
		}
		s = "ROW<" + strings.Join(parts, ", ") + ">"
	}
	if t.NotNull {
		s += " NOT NULL"
	}
	return s
}

// atomic returns the spelling of an atomic type without NOT NULL.
func (t Type) atomic() string {
	n := func(name string) string { return fmt.Sprintf("%s(%d)", name, t.Length) }
	switch t.Kind {
	case Boolean:
		return "BOOLEAN"
	case TinyInt:
		return "TINYINT"
	case SmallInt:
		return "SMALLINT"
	case Int:
		return "INT"
	case BigInt:
		return "BIGINT"
	case Float:
		return "FLOAT"
	case Double:
		return "DOUBLE"
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Length, t.Scale)
	case Char:
		return n("CHAR")
	case Varchar:
		if t.Length == MaxLength {
			return "STRING"
		}
		return n("VARCHAR")
	case Binary:
		return n("BINARY")
	case Varbinary:
		if t.Length == MaxLength {
			return "BYTES"
		}
		return n("VARBINARY")
	case Date:
		return "DATE"
	case Time:
		return n("TIME")
	case Timestamp:
		return n("TIMESTAMP")
	case TimestampLTZ:
		return n("TIMESTAMP") + " WITH LOCAL TIME ZONE"
	case Variant:
		return "VARIANT"
	case Blob:
		return "BLOB"
	}
	return "INVALID"
}

// MarshalJSON writes Paimon's schema form: a string for atomic types, an object
// for constructed ones.
func (t Type) MarshalJSON() ([]byte, error) {
	null := ""
	if t.NotNull {
		null = " NOT NULL"
	}
	type obj struct {
		Type    string  `json:"type"`
		Element *Type   `json:"element,omitempty"`
		Key     *Type   `json:"key,omitempty"`
		Value   *Type   `json:"value,omitempty"`
		Fields  []Field `json:"fields,omitempty"`
		Length  int     `json:"length,omitempty"`
	}
	switch t.Kind {
	case Array:
		return json.Marshal(obj{Type: "ARRAY" + null, Element: t.Elem})
	case Vector:
		return json.Marshal(obj{Type: "VECTOR" + null, Element: t.Elem, Length: t.Length})
	case Multiset:
		return json.Marshal(obj{Type: "MULTISET" + null, Element: t.Elem})
	case Map:
		return json.Marshal(obj{Type: "MAP" + null, Key: t.Key, Value: t.Elem})
	case Row:
		return json.Marshal(obj{Type: "ROW" + null, Fields: t.Fields})
	}
	return json.Marshal(t.atomic() + null)
}

// UnmarshalJSON reads what MarshalJSON writes, and the aliases that Paimon's
// parser accepts.
func (t *Type) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		p, err := ParseType(s)
		*t = p
		return err
	}
	var o struct {
		Type    string  `json:"type"`
		Element *Type   `json:"element"`
		Key     *Type   `json:"key"`
		Value   *Type   `json:"value"`
		Fields  []Field `json:"fields"`
		Length  int     `json:"length"`
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	*t = Type{NotNull: strings.Contains(o.Type, "NOT NULL")}
	switch {
	case strings.HasPrefix(o.Type, "ARRAY") && o.Element != nil:
		t.Kind, t.Elem = Array, o.Element
	case strings.HasPrefix(o.Type, "VECTOR") && o.Element != nil && o.Length > 0:
		t.Kind, t.Elem, t.Length = Vector, o.Element, o.Length
	case strings.HasPrefix(o.Type, "MULTISET") && o.Element != nil:
		t.Kind, t.Elem = Multiset, o.Element
	case strings.HasPrefix(o.Type, "MAP") && o.Key != nil && o.Value != nil:
		t.Kind, t.Key, t.Elem = Map, o.Key, o.Value
	case strings.HasPrefix(o.Type, "ROW"):
		for _, f := range o.Fields {
			if f.Type.Kind == InvalidType {
				return errs.Corruptf("the member %q of a ROW has no type", f.Name)
			}
		}
		t.Kind, t.Fields = Row, o.Fields
	default:
		return errs.Unsupportedf(-1, "the column type %s", b)
	}
	return nil
}

// ParseType reads an atomic type in Paimon's spelling, with or without
// NOT NULL. Keywords are case-insensitive.
func ParseType(s string) (Type, error) {
	bad := func() (Type, error) {
		return Type{}, errs.Unsupportedf(-1, "the column type %q", s)
	}
	u := strings.Join(strings.Fields(strings.ToUpper(s)), " ")
	var t Type
	if r, ok := strings.CutSuffix(u, " NOT NULL"); ok {
		u, t.NotNull = r, true
	} else {
		u = strings.TrimSuffix(u, " NULL")
	}
	name, rest, args := u, "", []int(nil)
	if i := strings.IndexByte(u, '('); i >= 0 {
		j := strings.IndexByte(u, ')')
		if j < i {
			return bad()
		}
		name, rest = strings.TrimSpace(u[:i]), strings.TrimSpace(u[j+1:])
		for _, a := range strings.Split(u[i+1:j], ",") {
			n, err := strconv.Atoi(strings.TrimSpace(a))
			if err != nil || n < 0 {
				return bad()
			}
			args = append(args, n)
		}
	} else if i := strings.Index(u, " WITH"); i >= 0 {
		name, rest = u[:i], u[i+1:]
	}
	arg := func(i, def int) int {
		if i < len(args) {
			return args[i]
		}
		return def
	}
	most := 1
	switch name {
	case "BOOLEAN":
		t.Kind, most = Boolean, 0
	case "TINYINT":
		t.Kind, most = TinyInt, 0
	case "SMALLINT":
		t.Kind, most = SmallInt, 0
	case "INT", "INTEGER":
		t.Kind, most = Int, 0
	case "BIGINT":
		t.Kind, most = BigInt, 0
	case "FLOAT":
		t.Kind, most = Float, 0
	case "DOUBLE", "DOUBLE PRECISION":
		t.Kind, most = Double, 0
	case "DECIMAL", "NUMERIC", "DEC":
		t.Kind, t.Length, t.Scale, most = Decimal, arg(0, 10), arg(1, 0), 2
		if t.Length < 1 || t.Length > 38 || t.Scale > t.Length {
			return bad()
		}
	case "CHAR":
		t.Kind, t.Length = Char, arg(0, 1)
	case "VARCHAR":
		t.Kind, t.Length = Varchar, arg(0, 1)
	case "STRING":
		t, most = Type{Kind: Varchar, Length: MaxLength, NotNull: t.NotNull}, 0
	case "BINARY":
		t.Kind, t.Length = Binary, arg(0, 1)
	case "VARBINARY":
		t.Kind, t.Length = Varbinary, arg(0, 1)
	case "BYTES":
		t, most = Type{Kind: Varbinary, Length: MaxLength, NotNull: t.NotNull}, 0
	case "DATE":
		t.Kind, most = Date, 0
	case "TIME":
		t.Kind, t.Length = Time, arg(0, 0)
		if rest == "WITHOUT TIME ZONE" {
			rest = ""
		}
	case "TIMESTAMP":
		t.Kind, t.Length = Timestamp, arg(0, 6)
		switch rest {
		case "WITHOUT TIME ZONE":
			rest = ""
		case "WITH LOCAL TIME ZONE":
			t.Kind, rest = TimestampLTZ, ""
		}
	case "TIMESTAMP_LTZ":
		t.Kind, t.Length = TimestampLTZ, arg(0, 6)
	case "VARIANT":
		t.Kind, most = Variant, 0
	case "BLOB":
		t.Kind, most = Blob, 0
	default:
		return bad()
	}
	if rest != "" || len(args) > most || (t.Kind == Time || t.Kind == Timestamp || t.Kind == TimestampLTZ) && t.Length > 9 {
		return bad()
	}
	if (t.Kind == Char || t.Kind == Varchar || t.Kind == Binary || t.Kind == Varbinary) && t.Length < 1 {
		return bad()
	}
	return t, nil
}
