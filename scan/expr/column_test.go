package expr

import (
	"math"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
)

type storedCase struct {
	name  string
	field catalog.Type
	mysql string
	add   []func(v *vector.Vec)
	want  []string // text of the rows, in +08:00
	sql   string   // type
}

func i32s3(xs ...int32) (out []func(*vector.Vec)) {
	for _, x := range xs {
		out = append(out, func(v *vector.Vec) { v.AppendI32(x) })
	}
	return append(out, (*vector.Vec).AppendNull)
}

func i64s3(xs ...int64) (out []func(*vector.Vec)) {
	for _, x := range xs {
		out = append(out, func(v *vector.Vec) { v.AppendI64(x) })
	}
	return append(out, (*vector.Vec).AppendNull)
}

func i128s3(xs ...vector.Int128) (out []func(*vector.Vec)) {
	for _, x := range xs {
		out = append(out, func(v *vector.Vec) { v.AppendI128(x) })
	}
	return append(out, (*vector.Vec).AppendNull)
}

func strs3(xs ...string) (out []func(*vector.Vec)) {
	for _, x := range xs {
		out = append(out, func(v *vector.Vec) { v.AppendString(x) })
	}
	return append(out, (*vector.Vec).AppendNull)
}

func storedCases() []storedCase {
	const us = int64(1e6)
	ts := time.Date(2024, 2, 29, 12, 34, 56, 789012000, time.UTC).UnixMicro()
	return []storedCase{
		{"bo", catalog.TBoolean, "", []func(*vector.Vec){func(v *vector.Vec) { v.AppendI8(1) }, func(v *vector.Vec) { v.AppendI8(0) }, (*vector.Vec).AppendNull}, []string{"1", "0"}, "TINYINT(1)"},
		{"ti", catalog.TTinyInt, "tinyint(1)", i32s3(1, -5), []string{"1", "-5"}, "TINYINT"},
		{"si", catalog.TSmallInt, "tinyint unsigned", i32s3(200, 0), []string{"200", "0"}, "TINYINT UNSIGNED"},
		{"i", catalog.TInt, "", i32s3(7, -3), []string{"7", "-3"}, "INT"},
		{"iu", catalog.TBigInt, "int unsigned", i64s3(4294967295, 3), []string{"4294967295", "3"}, "INT UNSIGNED"},
		{"bi", catalog.TBigInt, "", i64s3(math.MaxInt64, -9), []string{"9223372036854775807", "-9"}, "BIGINT"},
		{"bu", catalog.TDecimal(20, 0), "bigint unsigned", i128s3(vector.Int128FromUint(math.MaxUint64), vector.Int128From(5)), []string{"18446744073709551615", "5"}, "BIGINT UNSIGNED"},
		{"d", catalog.TDecimal(10, 2), "", i64s3(12345, -5), []string{"123.45", "-0.05"}, "DECIMAL(10,2)"},
		{"dw", catalog.TDecimal(38, 3), "", i128s3(vector.Int128{Lo: 1000}, vector.Int128From(-1)), []string{"1.000", "-0.001"}, "DECIMAL(38,3)"},
		{"dx", catalog.TString, "decimal(65,30)", strs3("123456789012345678901234567890.123456789012345678901234567890", "-1"), []string{"123456789012345678901234567890.123456789012345678901234567890", "-1.000000000000000000000000000000"}, "DECIMAL(65,30)"},
		{"f", catalog.TFloat, "", []func(*vector.Vec){func(v *vector.Vec) { v.AppendF32(2.5) }, func(v *vector.Vec) { v.AppendF32(0) }, (*vector.Vec).AppendNull}, []string{"2.5", "0"}, "FLOAT"},
		{"do", catalog.TDouble, "", []func(*vector.Vec){func(v *vector.Vec) { v.AppendF64(1e300) }, func(v *vector.Vec) { v.AppendF64(math.Copysign(0, -1)) }, (*vector.Vec).AppendNull}, []string{"1e300", "-0"}, "DOUBLE"},
		{"s", catalog.TString, "", strs3("abc", "abd "), []string{"abc", "abd "}, "CHAR"},
		{"sc", catalog.TString, "varchar(10) collate utf8mb4_general_ci", strs3("ABC", "abd "), []string{"ABC", "abd "}, "CHAR"},
		{"en", catalog.TString, "enum('z','it''s','a')", strs3("it's", "a"), []string{"it's", "a"}, "ENUM"},
		{"js", catalog.TString, "json", strs3(`{"a": 1}`, `[1]`), []string{`{"a": 1}`, `[1]`}, "JSON"},
		{"by", catalog.TBytes, "", strs3("\x00\xff", "a"), []string{"\x00\xff", "a"}, "BINARY"},
		{"bt", catalog.Type{Kind: catalog.Binary, Length: 2}, "bit(9)", strs3("\x01\x02", "\x00\x05"), []string{"\x01\x02", "\x00\x05"}, "BIT"},
		{"y", catalog.TSmallInt, "year", i32s3(2024, 1901), []string{"2024", "1901"}, "YEAR"},
		{"dt", catalog.TDate, "", i32s3(19782, -1), []string{"2024-02-29", "1969-12-31"}, "DATE"},
		{"tm", catalog.TTime(3), "", i32s3(45296789, 0), []string{"12:34:56.789", "00:00:00.000"}, "TIME"},
		{"tb", catalog.TBigInt, "time(6)", i64s3(-3600*us, 838*3600*us), []string{"-01:00:00.000000", "838:00:00.000000"}, "TIME"},
		{"ts3", catalog.TTimestamp(3), "", i64s3(ts/1000*1000, -1000), []string{"2024-02-29 12:34:56.789", "1969-12-31 23:59:59.999"}, "DATETIME"},
		{"ts9", catalog.TTimestamp(9), "", i128s3(mul64(ts, 1000).Add(vector.Int128From(999)), vector.Int128From(-1)), []string{"2024-02-29 12:34:56.789012", "1969-12-31 23:59:59.999999"}, "DATETIME"},
		{"lz", catalog.TTimestampLTZ(6), "", i64s3(ts, 0), []string{"2024-02-29 20:34:56.789012", "1970-01-01 08:00:00.000000"}, "TIMESTAMP"},
		{"lz9", catalog.TTimestampLTZ(9), "timestamp(6)", i128s3(mul64(ts, 1000), vector.Int128From(1)), []string{"2024-02-29 20:34:56.789012", "1970-01-01 08:00:00.000000"}, "TIMESTAMP"},
	}
}

func TestStored(t *testing.T) {
	ctx := NewContext()
	z, err := ParseTimeZone("+08:00")
	if err != nil {
		t.Fatal(err)
	}
	ctx.Zone = z
	for _, c := range storedCases() {
		v := c.field.NewVec(4)
		for _, f := range c.add {
			f(v)
		}
		e, err := Stored(0, catalog.Field{ID: 1, Name: c.name, Type: c.field}, c.mysql, c.name)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := e.Type().sqlName(); got != c.sql && !(c.sql == "TINYINT(1)" && got == "TINYINT(1)") {
			t.Errorf("%s: %s, want %s", c.name, got, c.sql)
		}
		for _, b := range []*vector.Batch{{Len: 3, Cols: []*vector.Vec{v}}, {Len: 3, Cols: []*vector.Vec{v}, Sel: []uint16{1, 2}}} {
			r, err := e.Eval(ctx, b)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if err := checkVec(e.Type(), r, 3); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			for k := range b.Rows() {
				i := b.Row(k)
				if i == 2 {
					if !r.IsNull(2) {
						t.Errorf("%s: a NULL has become a value", c.name)
					}
					continue
				}
				if got := string(AppendText(nil, e.Type(), r, i, ctx.Zone)); got != c.want[i] {
					t.Errorf("%s, row %d: %q, want %q", c.name, i, got, c.want[i])
				}
			}
		}
	}
	if _, err := FromColumn(catalog.Field{Type: catalog.TString}, "varchar(10) collate no_such_ci"); !errs.Is(err, errs.UnknownCollation) {
		t.Errorf("an unknown collation: %v", err)
	}
	if _, err := FromColumn(catalog.Field{}, ""); errs.ClassOf(err) != errs.Unsupported {
		t.Errorf("no type: %v", err)
	}
	// Digits that microseconds do not hold are cut with one warning a statement.
	ns := vector.New(vector.I128, 3)
	for _, x := range []int64{1_000_000_000, 1_000_000_001, -1} {
		ns.AppendI128(vector.Int128From(x))
	}
	e, err := Stored(0, catalog.Field{Type: catalog.TTimestamp(9)}, "", "c")
	if err != nil {
		t.Fatal(err)
	}
	ctx = NewContext()
	v, err := e.Eval(ctx, &vector.Batch{Len: 3, Cols: []*vector.Vec{ns}})
	if err != nil || v.I64s[0] != 1_000_000 || v.I64s[1] != 1_000_000 || v.I64s[2] != -1 {
		t.Errorf("%v, %v", v, err)
	}
	if w := ctx.Warnings.List(); len(w) != 1 || w[0].Kind != errs.DataTruncated {
		t.Errorf("warnings %v", w)
	}
}

func TestStoredNested(t *testing.T) {
	ctx := NewContext()
	inner := catalog.Type{Kind: catalog.Row, Fields: []catalog.Field{{Name: "d", Type: catalog.TDecimal(5, 2)}, {Name: "t", Type: catalog.TTimestamp(3)}}}
	ft := catalog.Type{Kind: catalog.Map, Key: &catalog.TString, Elem: &catalog.Type{Kind: catalog.Array, Elem: &inner}}
	v := ft.NewVec(1)
	key, list := v.Child[0], v.Child[1]
	row := list.Child[0]
	key.AppendString("bb")
	row.Child[0].AppendI64(1250)
	row.Child[1].AppendI64(0)
	row.CloseStruct()
	list.CloseList()
	key.AppendString("a")
	list.AppendNull()
	v.CloseList()
	e, err := Stored(0, catalog.Field{Name: "m", Type: ft}, "", "m")
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Eval(ctx, &vector.Batch{Len: 1, Cols: []*vector.Vec{v}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.String(0), `{"a": null, "bb": [{"d": 12.50, "t": "1970-01-01 00:00:00.000000"}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestToPredicate checks for many conditions that a row for which the condition
// is TRUE satisfies the predicate, and that what can be pushed is.
func TestToPredicate(t *testing.T) {
	ctx := NewContext()
	ctx.Zone, _ = ParseTimeZone("+08:00")
	cases := storedCases()
	stored := &vector.Batch{Len: 3, Seq: -1}
	table := &semTable{}
	seen := &vector.Batch{Len: 3, Seq: -1}
	for i, c := range cases {
		v := c.field.NewVec(4)
		for _, f := range c.add {
			f(v)
		}
		stored.Cols = append(stored.Cols, v)
		e, err := Stored(i, catalog.Field{ID: i, Name: c.name, Type: c.field}, c.mysql, c.name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Eval(ctx, stored)
		if err != nil {
			t.Fatal(err)
		}
		seen.Cols = append(seen.Cols, r)
		table.names, table.types = append(table.names, c.name), append(table.types, e.Type())
	}
	columns := func(pos int) (PushColumn, bool) {
		return PushColumn{Pos: pos, Field: catalog.Field{ID: pos, Name: cases[pos].name, Type: cases[pos].field}, MySQLType: cases[pos].mysql}, true
	}
	for _, c := range []struct {
		cond string
		push bool
	}{
		{"i = 7", true}, {"i > 6", true}, {"i <> 7", true}, {"7 >= i", true}, {"i BETWEEN 5 AND 9", true}, {"i IN (1, 7)", true}, {"i NOT IN (1, 2)", true}, {"i = '7'", true}, {"i = 7.0", true},
		{"i = 7.5", false}, {"i < 7.5", false}, {"i + 1 = 8", false}, {"i IS NULL", true}, {"i IS NOT NULL", true}, {"NOT i = 7", true}, {"i = 7e0", false},
		{"ti = 1", true}, {"si = 200", true}, {"iu = 4294967295", true}, {"bi = 9223372036854775807", true}, {"bi > -10", true}, {"bo = 1", true}, {"bo = 2", false},
		{"bu = 18446744073709551615", true}, {"bu > 5", true}, {"bu < 18446744073709551616", true}, {"bu < 1000000000000000000000", false}, {"d = 123.45", true}, {"d < 0", true}, {"d = 123.456", false}, {"d > 123", true}, {"dw = 1", true}, {"dx > 1", false},
		{"f = 2.5e0", true}, {"f = 2.5", true}, {"f = 0", false}, {"do = 1e300", true}, {"do >= 0", false}, {"do < 5", true},
		{"s = 'abc'", true}, {"s >= 'abd'", true}, {"s LIKE 'ab%'", true}, {"s LIKE 'abc'", true}, {"s LIKE '%b'", false}, {"s LIKE 'a_c'", true}, {"s IN ('abc', 'x')", true}, {"sc = 'abc'", false}, {"sc LIKE 'a%'", false},
		{"s = 'ABC' COLLATE utf8mb4_general_ci", false}, {"s = 5", false}, {"en = 'a'", false}, {"en > 'a'", false}, {"`by` = x'00ff'", true}, {"bt = 258", false}, {"js = '1'", false},
		{"y = 2024", true}, {"dt = '2024-02-29'", true}, {"dt = DATE '2024-02-29'", true}, {"dt >= '2024-01-01' AND dt < '2024-03-01'", true}, {"dt = '2024-02-29 01:00:00'", false}, {"dt = 20240229", true}, {"YEAR(dt) = 2024", false},
		{"tm = '12:34:56.789'", true}, {"tm > '12:00:00'", true}, {"tb = '-01:00:00'", true}, {"ts3 = '2024-02-29 12:34:56.789'", true}, {"ts3 > '2024-01-01'", true}, {"ts3 = '2024-02-29 12:34:56.7891'", false},
		{"ts9 = '2024-02-29 12:34:56.789012'", true}, {"ts9 < '1970-01-01'", true}, {"ts9 <= '1969-12-31 23:59:59.999999'", true}, {"ts9 > '2024-02-29 12:34:56.789011'", true}, {"ts9 >= '2024-02-29 12:34:56.789012'", true},
		{"lz = '2024-02-29 20:34:56.789012'", true}, {"lz >= TIMESTAMP '2024-02-29 20:34:56'", true}, {"lz < NOW()", true}, {"lz9 = '2024-02-29 20:34:56.789012'", true},
		{"i = 7 OR s = 'abc'", true}, {"i = 7 OR sc = 'abc'", false}, {"i = 7 AND sc = 'abc'", true}, {"i = 7 OR NULL", true}, {"(i = 7 AND d > 1) OR (i = -3 AND bi < 0)", true}, {"i = bi", false}, {"i IN (7, NULL)", true}, {"i NOT IN (7, NULL)", false},
	} {
		e, err := syntax.ParseExpr(c.cond, syntax.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.cond, err)
		}
		x, err := Bind(ctx, e, &semScope{ctx: ctx, table: table, name: "t"})
		if err != nil {
			t.Errorf("%s: %v", c.cond, err)
			continue
		}
		if x, err = Condition(ctx, x); err != nil {
			t.Fatal(err)
		}
		p := ToPredicate(ctx, x, columns)
		if (p != nil) != c.push {
			t.Errorf("%s: pushed is %t, want %t", c.cond, p != nil, c.push)
		}
		hit, err := Filter(ctx, x, seen, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.cond, err)
		}
		for _, i := range hit {
			ok := p.MayMatch(func(col int) connector.Bounds {
				v := stored.Cols[col]
				n := int64(0)
				if v.IsNull(int(i)) {
					n = 1
				}
				return connector.Bounds{Min: v, Max: v, Row: int(i), Nulls: n, Rows: 1}
			})
			if !ok {
				t.Errorf("%s: row %d is lost by pruning", c.cond, i)
			}
		}
	}
}
