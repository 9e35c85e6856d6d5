package mysql

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/session"
)

// recorded is a column definition that MySQL sent.
type recorded struct {
	Name     string   `json:"name"`
	Code     byte     `json:"code"`
	Length   uint32   `json:"length"`
	Decimals byte     `json:"decimals"`
	Charset  uint16   `json:"charset"`
	Flags    []string `json:"flags"`
}

var flagNames = []struct {
	bit  uint16
	name string
}{{flagNotNull, "NOT_NULL"}, {flagPriKey, "PRI_KEY"}, {flagBlob, "BLOB"}, {flagUnsigned, "UNSIGNED"}, {flagZerofill, "ZEROFILL"},
	{flagBinary, "BINARY"}, {flagEnum, "ENUM"}, {flagSet, "SET"}, {flagPartKey, "PART_KEY"}}

func load(t *testing.T, file string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testkit.Shared(t, "fixtures/mysql-metadata"), file))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// declaredType reads a column type as far as expr.Type can express it.
func declaredType(s string) (expr.Type, bool) {
	unsigned := strings.HasSuffix(s, " unsigned")
	s = strings.TrimSuffix(s, " unsigned")
	if strings.HasSuffix(s, "zerofill") { // only a way of printing
		return expr.Type{}, false
	}
	name, rest, _ := strings.Cut(s, "(")
	var args []int
	if !strings.Contains(rest, "'") && rest != "" {
		for _, a := range strings.Split(strings.TrimSuffix(rest, ")"), ",") {
			n, _ := strconv.Atoi(a)
			args = append(args, n)
		}
	}
	arg := func(i, def int) int {
		if i < len(args) {
			return args[i]
		}
		return def
	}
	t := expr.Type{Nullable: true, Unsigned: unsigned, Coercibility: 2}
	text := func(n int) (expr.Type, bool) {
		t.Class, t.Length, t.Collation = expr.String, n, "utf8mb4_0900_ai_ci"
		return t, true
	}
	width := map[string]int{"tinyint": 1, "smallint": 2, "mediumint": 3, "int": 4, "bigint": 8}
	switch name {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		t.Class, t.Width = expr.Int, width[name]
		if len(args) == 1 && args[0] == 1 {
			t.Class = expr.Bool
		}
		return t, true
	case "decimal":
		t.Class, t.Precision, t.Scale = expr.Decimal, arg(0, 10), arg(1, 0)
		return t, true
	case "float", "double":
		t.Class, t.Precision, t.Scale = expr.Double, arg(0, 0), arg(1, expr.NotFixed)
		if name == "float" {
			t.Class = expr.Float
		}
		return t, true
	case "bit":
		t.Class, t.Length = expr.Bit, arg(0, 1)
		return t, true
	case "year":
		t.Class = expr.Year
		return t, true
	case "date":
		t.Class = expr.Date
		return t, true
	case "time":
		t.Class, t.Scale = expr.Time, arg(0, 0)
		return t, true
	case "datetime":
		t.Class, t.Scale = expr.DateTime, arg(0, 0)
		return t, true
	case "timestamp":
		t.Class, t.Scale = expr.Timestamp, arg(0, 0)
		return t, true
	case "varchar":
		return text(arg(0, 1))
	case "text":
		return text(65535)
	case "mediumtext":
		return text(16777215)
	case "longtext":
		return text(math.MaxInt32)
	case "varbinary":
		t.Class, t.Length, t.Collation = expr.Bytes, arg(0, 1), "binary"
		return t, true
	case "mediumblob":
		t.Class, t.Length, t.Collation = expr.Bytes, 16777215, "binary"
		return t, true
	case "json":
		t.Class = expr.JSON
		return t, true
	case "enum", "set":
		t.Class, t.Collation = expr.Enum, "utf8mb4_0900_ai_ci"
		if name == "set" {
			t.Class = expr.Set
		}
		for _, l := range strings.Split(strings.TrimSuffix(rest, ")"), ",") {
			t.Labels = append(t.Labels, strings.Trim(l, "'"))
		}
		return t, true
	}
	// char, binary, blob of other sizes: not told apart from varchar and
	// varbinary; tinytext is a varchar(255).
	return t, false
}

// valueOf parses the text of a value into a vector of the type.
func valueOf(t *testing.T, typ expr.Type, raw json.RawMessage, declared string) *vector.Vec {
	t.Helper()
	var s string
	if json.Unmarshal(raw, &s) != nil {
		var h struct{ Hex string }
		if err := json.Unmarshal(raw, &h); err != nil {
			t.Fatal(err)
		}
		b, _ := hex.DecodeString(h.Hex)
		s = string(b)
	}
	v := vector.New(typ.Physical(), 1)
	micros := func(layout, x string) int64 {
		at, err := time.Parse(layout, x)
		if err != nil {
			t.Fatal(err)
		}
		return at.UnixMicro()
	}
	switch typ.Class {
	case expr.Bool, expr.Int, expr.Year:
		if typ.Unsigned && typ.Width == 8 {
			u, _ := strconv.ParseUint(s, 10, 64)
			v.AppendI64(int64(u))
			break
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(declared, err)
		}
		switch v.Kind {
		case vector.I8:
			v.AppendI8(int8(n))
		case vector.I32:
			v.AppendI32(int32(n))
		default:
			v.AppendI64(n)
		}
	case expr.Decimal:
		u, _, _ := vector.ParseDecimal(s, typ.Scale)
		v.AppendDecimal(u)
	case expr.Float:
		f, _ := strconv.ParseFloat(s, 32)
		v.AppendF32(float32(f))
	case expr.Double:
		f, _ := strconv.ParseFloat(s, 64)
		v.AppendF64(f)
	case expr.Date:
		v.AppendI32(int32(micros("2006-01-02", s) / microsPerDay))
	case expr.DateTime, expr.Timestamp:
		v.AppendI64(micros("2006-01-02 15:04:05.999999", s))
	case expr.Time:
		sign := int64(1)
		x := s
		if strings.HasPrefix(x, "-") {
			sign, x = -1, x[1:]
		}
		var h, m, sec int64
		hms, f, _ := strings.Cut(x, ".")
		if _, err := fmt.Sscanf(hms, "%d:%d:%d", &h, &m, &sec); err != nil {
			t.Fatal(err)
		}
		us, _ := strconv.ParseInt((f + "000000")[:6], 10, 64)
		v.AppendI64(sign * ((h*3600+m*60+sec)*microsPerSecond + us))
	case expr.Bit:
		u := int64(0)
		for i := range len(s) {
			u = u<<8 | int64(s[i])
		}
		v.AppendI64(u)
	default:
		v.AppendString(s)
	}
	return v
}

// Definitions, binary rows and texts of table columns, as MySQL 9.7 sends them.
func TestColumnsAsMySQLSendsThem(t *testing.T) {
	var all []struct {
		Declared  string          `json:"declared"`
		Text      recorded        `json:"text"`
		Value     json.RawMessage `json:"value"`
		BinaryRow string          `json:"binary_row"`
	}
	load(t, "column-types.json", &all)
	checked := 0
	for _, x := range all {
		typ, ok := declaredType(x.Declared)
		if !ok {
			continue
		}
		checked++
		typ.Nullable = !slices.Contains(x.Text.Flags, "NOT_NULL")
		if x.Text.Name == "c_varchar_bin" {
			typ.Collation = "utf8mb4_bin"
		}
		col := session.Column{Name: x.Text.Name, OrgName: x.Text.Name, Table: "types", OrgTable: "types", Database: "meta_shop", Type: typ,
			Key: slices.Contains(x.Text.Flags, "PRI_KEY")}
		d := define(&col, defaultCollation)
		compare(t, x.Declared, d, x.Text)

		// Values: the binary row, then the text.
		v := valueOf(t, typ, x.Value, x.Declared)
		want, _ := hex.DecodeString(x.BinaryRow)
		w := wire{mark: -1}
		cols := []session.Column{col}
		if err := newRowEncoder(cols, true, time.UTC, &transcoder{}).rows(&w, vecBatch(v), 0, 1); err != nil {
			t.Fatal(err)
		}
		if got := w.out[4:]; string(got) != string(want) {
			t.Errorf("%s: binary row %x, want %x", x.Declared, got, want)
		}
		var s string
		if json.Unmarshal(x.Value, &s) != nil {
			continue
		}
		w = wire{mark: -1}
		if err := newRowEncoder(cols, false, time.UTC, &transcoder{}).rows(&w, vecBatch(v), 0, 1); err != nil {
			t.Fatal(err)
		}
		if got, want := w.out[4:], putStr(nil, s); string(got) != string(want) {
			t.Errorf("%s: text row %q, want %q", x.Declared, got, want)
		}
	}
	if checked < 45 {
		t.Errorf("only %d types were checked", checked)
	}
}

// compare reports differences, leaving out what the session does not know:
// keys other than the primary one, defaults, ON UPDATE.
func compare(t *testing.T, what string, d definition, x recorded) {
	t.Helper()
	var flags, want []string
	for _, f := range flagNames {
		if d.flags&f.bit != 0 {
			flags = append(flags, f.name)
		}
		if slices.Contains(x.Flags, f.name) {
			want = append(want, f.name)
		}
	}
	if !slices.Contains(x.Flags, "PRI_KEY") {
		want = slices.DeleteFunc(want, func(s string) bool { return s == "PART_KEY" })
	}
	if d.code != x.Code || d.length != x.Length || d.decimals != x.Decimals || d.charset != x.Charset || !slices.Equal(flags, want) {
		t.Errorf("%s: code %d length %d decimals %d charset %d flags %v, want %d %d %d %d %v", what,
			d.code, d.length, d.decimals, d.charset, flags, x.Code, x.Length, x.Decimals, x.Charset, want)
	}
}

// Definitions of expressions, for one of each type.
func TestExpressionsAsMySQLSendsThem(t *testing.T) {
	var all []struct {
		SQL    string    `json:"sql"`
		Column *recorded `json:"column"`
	}
	load(t, "expressions.json", &all)
	by := map[string]*recorded{}
	for _, x := range all {
		by[x.SQL] = x.Column
	}
	str := func(n int, collation string) expr.Type { return expr.TString(n, collation) }
	for sql, typ := range map[string]expr.Type{
		"SELECT NULL AS x":                                                   expr.TNull,
		"SELECT TRUE AS x":                                                   expr.TBool.NotNull(),
		"SELECT 1.5 AS x":                                                    expr.TDecimal(2, 1).NotNull(),
		"SELECT 0.00 AS x":                                                   expr.TDecimal(3, 2).NotNull(),
		"SELECT 'a' AS x":                                                    str(1, "utf8mb4_0900_ai_ci").NotNull(),
		"SELECT '' AS x":                                                     str(0, "utf8mb4_0900_ai_ci").NotNull(),
		"SELECT @nope AS x":                                                  expr.TBytes(65532),
		"SELECT 'a' COLLATE utf8mb4_bin AS x":                                str(1, "utf8mb4_bin"),
		"SELECT DATE '2024-01-31' AS x":                                      expr.TDate.NotNull(),
		"SELECT TIME '10:20:30.5' AS x":                                      expr.TTime(1).NotNull(),
		"SELECT TIMESTAMP '2024-01-31 10:20:30.123456' AS x":                 expr.TDateTime(6).NotNull(),
		"SELECT MIN(c_timestamp) AS x FROM types":                            expr.TTimestamp(0),
		"SELECT MIN(c_tinyint) AS x FROM types":                              {Class: expr.Int, Width: 1, Nullable: true},
		"SELECT MIN(c_int) AS x FROM types":                                  {Class: expr.Int, Width: 4, Nullable: true},
		"SELECT MIN(c_int_u) AS x FROM types":                                {Class: expr.Int, Width: 4, Nullable: true, Unsigned: true},
		"SELECT MIN(c_year) AS x FROM types":                                 {Class: expr.Year, Nullable: true},
		"SELECT MIN(c_float) AS x FROM types":                                {Class: expr.Float, Nullable: true, Scale: expr.NotFixed},
		"SELECT MIN(c_bit20) AS x FROM types":                                {Class: expr.Bit, Nullable: true, Length: 20},
		"SELECT @@max_allowed_packet AS x":                                   expr.TUint64,
		"SELECT -c_double AS x FROM types WHERE id = 1":                      expr.TDouble,
		"SELECT COALESCE(c_decimal_10_2, NULL) AS x FROM types WHERE id = 1": expr.TDecimal(10, 2),
		"SELECT CAST(c_text AS CHAR) AS x FROM types WHERE id = 1":           str(1048560/4, "utf8mb4_0900_ai_ci"),
		"SELECT JSON_ARRAY(1, 2) AS x":                                       expr.TJSON,
	} {
		x := by[sql]
		if x == nil {
			t.Errorf("%s is not recorded", sql)
			continue
		}
		typ.Nullable = !slices.Contains(x.Flags, "NOT_NULL")
		compare(t, sql, define(&session.Column{Name: "x", Type: typ}, defaultCollation), *x)
	}
}

func TestCivil(t *testing.T) {
	for d := int64(-719528); d < 2932897; d += 97 {
		y, m, day := civil(d)
		at := time.Unix(d*secondsPerDay, 0).UTC()
		if y != at.Year() || m != int(at.Month()) || day != at.Day() || days(y, m, day) != d {
			t.Fatalf("day %d: %d-%d-%d, want %s; back %d", d, y, m, day, at, days(y, m, day))
		}
	}
}

func TestZone(t *testing.T) {
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	z := zone{loc: loc}
	for s := int64(-3_000_000_000); s < 3_000_000_000; s += 1_234_567 {
		at := time.Unix(s, 0).In(loc)
		_, off := at.Zone()
		if got := z.wall(s*microsPerSecond + 5); got != (s+int64(off))*microsPerSecond+5 {
			t.Fatalf("%s: %d", at, got)
		}
	}
}

func TestDecimalText(t *testing.T) {
	for _, x := range []int64{0, 1, -1, 9, 10, 99, -100, 12345, math.MaxInt64, math.MinInt64} {
		for scale := range 19 {
			v := vector.New(vector.I64, 1)
			v.AppendI64(x)
			c := cell{kind: vector.I64, vals: v, i64s: v.I64s, scale: scale}
			if got, want := string(appendDecimal(nil, &c, 0)), string(vector.FormatDecimal(nil, x, scale)); got != want {
				t.Errorf("%d scale %d: %s, want %s", x, scale, got, want)
			}
		}
	}
}
