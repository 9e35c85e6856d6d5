package metadata

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// Field is a column of a virtual table or a SHOW result: its name and MySQL
// type, and the Paimon type that carries it through the SPI (DESIGN D15).
type Field struct {
	Name    string
	MySQL   string // "varchar(64)", "bigint unsigned", with COLLATE where it is not binary; "": what Stored is
	NotNull bool
	Key     string // "PRI" or ""
	Stored  catalog.Type
}

// Row is one row: a value a field. nil is NULL; numbers are int64, uint64 or
// float64, texts string, instants and wall clocks time.Time.
type Row []any

// NewField makes a field from MySQL's spelling of its type. Text without COLLATE
// compares bytes.
func NewField(name, mysqlType string, notNull bool) Field {
	f := Field{Name: name, MySQL: mysqlType, NotNull: notNull}
	c := ParseColumnType(mysqlType, StoredCollation)
	unsigned := strings.Contains(c.Full, "unsigned")
	switch c.Data {
	case "tinyint":
		f.Stored = catalog.TTinyInt
		if unsigned {
			f.Stored = catalog.TSmallInt
		}
	case "smallint":
		f.Stored = catalog.TSmallInt
		if unsigned {
			f.Stored = catalog.TInt
		}
	case "int":
		f.Stored = catalog.TInt
		if unsigned {
			f.Stored = catalog.TBigInt
		}
	case "bigint":
		f.Stored = catalog.TBigInt
		if unsigned {
			f.Stored = catalog.TDecimal(20, 0)
		}
	case "float", "double":
		f.Stored = catalog.TDouble
		f.MySQL = "double"
	case "decimal":
		f.Stored = catalog.TDecimal(int(min(c.Precision, 38)), int(c.Scale))
		f.MySQL = fmt.Sprintf("decimal(%d,%d)", min(c.Precision, 38), c.Scale)
	case "timestamp":
		f.Stored = catalog.TTimestampLTZ(int(c.FractionDigits))
	case "datetime":
		f.Stored = catalog.TTimestamp(int(c.FractionDigits))
	case "time":
		f.Stored = catalog.TBigInt
	case "date":
		f.Stored = catalog.TDate
	case "varbinary", "binary":
		f.Stored = catalog.Type{Kind: catalog.Varbinary, Length: int(max(c.CharLength, 1))}
		f.MySQL = fmt.Sprintf("varbinary(%d)", f.Stored.Length)
	case "tinyblob", "blob", "mediumblob", "longblob":
		f.Stored = catalog.TBytes
	case "varchar", "char":
		f.Stored = catalog.Type{Kind: catalog.Varchar, Length: int(max(c.CharLength, 1))}
		if c.CharLength == 0 {
			f.MySQL = "varchar(1)"
		}
	default: // texts, enum, set, json
		f.Stored = catalog.TString
	}
	f.Stored.NotNull = notNull
	return f
}

// ParseFields reads a list of fields: "Name|varchar(64)!; Value|varchar(1024)~".
// A ! at the end means NOT NULL, a ~ text that compares without case.
func ParseFields(spec string) []Field {
	var out []Field
	for _, part := range strings.Split(spec, ";") {
		name, typ, _ := strings.Cut(strings.TrimSpace(part), "|")
		typ, notNull := strings.CutSuffix(typ, "!")
		if t, ci := strings.CutSuffix(typ, "~"); ci {
			typ = t + " collate " + CreateCollation
		}
		out = append(out, NewField(name, typ, notNull))
	}
	return out
}

// Type returns the type that SQL sees.
func (f Field) Type() (expr.Type, error) {
	return expr.FromColumn(catalog.Field{Name: f.Name, Type: f.Stored}, f.MySQL)
}

// SchemaOf returns the table schema of fields.
func SchemaOf(fields []Field, comment string) *catalog.Schema {
	s := &catalog.Schema{Options: map[string]string{}, Comment: comment, HighestFieldID: len(fields) - 1}
	for i, f := range fields {
		s.Fields = append(s.Fields, catalog.Field{ID: i, Name: f.Name, Type: f.Stored})
		if f.MySQL != "" {
			s.Options[catalog.MySQLTypeOption(i)] = f.MySQL
		}
	}
	return s
}

// appendValue adds a value to a Flat vector of any kind that fields have.
// scale is the fraction digits of decimals.
func appendValue(v *vector.Vec, x any, scale int) {
	if x == nil {
		v.AppendNull()
		return
	}
	switch v.Kind {
	case vector.Str:
		switch x := x.(type) {
		case string:
			v.AppendString(x)
		case []byte:
			v.AppendBytes(x)
		default:
			v.AppendString(fmt.Sprint(x))
		}
		return
	case vector.F64:
		switch x := x.(type) {
		case float64:
			v.AppendF64(x)
		default:
			v.AppendF64(float64(integer(x)))
		}
		return
	case vector.F32:
		v.AppendF32(float32(x.(float64)))
		return
	case vector.I8:
		v.AppendI8(int8(integer(x)))
		return
	case vector.I32:
		if t, ok := x.(time.Time); ok {
			v.AppendI32(int32(t.Unix() / 86400))
			return
		}
		v.AppendI32(int32(integer(x)))
		return
	case vector.I64:
		switch x := x.(type) {
		case time.Time:
			v.AppendI64(x.UnixMicro())
		case float64:
			v.AppendI64(int64(math.Round(x * math.Pow10(scale))))
		default:
			v.AppendI64(integer(x))
		}
		return
	}
	b := new(big.Int)
	switch x := x.(type) {
	case uint64:
		b.SetUint64(x)
	case float64:
		f := new(big.Float).Mul(big.NewFloat(x), new(big.Float).SetInt(vector.Pow10(scale)))
		f.Int(b)
	default:
		b.SetInt64(integer(x))
	}
	if _, whole := x.(float64); !whole && scale > 0 {
		b.Mul(b, vector.Pow10(scale))
	}
	if !v.AppendDecimal(b) {
		v.AppendNull()
	}
}

func integer(x any) int64 {
	switch x := x.(type) {
	case int64:
		return x
	case uint64:
		return int64(x)
	case int:
		return int64(x)
	case bool:
		if x {
			return 1
		}
	}
	return 0
}

// Batches turns rows into batches of the fields' SQL types: what a result
// streams.
func Batches(fields []Field, rows []Row) ([]*vector.Batch, []expr.Type, error) {
	types := make([]expr.Type, len(fields))
	for i, f := range fields {
		t, err := f.Type()
		if err != nil {
			return nil, nil, err
		}
		t.Nullable = !f.NotNull
		types[i] = t
	}
	var out []*vector.Batch
	for len(rows) > 0 {
		n := min(len(rows), vector.BatchRows)
		b := &vector.Batch{Len: n, Seq: -1}
		for i, t := range types {
			v := vector.New(t.Physical(), n)
			for _, r := range rows[:n] {
				appendValue(v, r[i], t.Scale)
			}
			b.Cols = append(b.Cols, v)
		}
		out = append(out, b)
		rows = rows[n:]
	}
	return out, types, nil
}
