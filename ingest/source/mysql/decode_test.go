package mysql

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/vector"
)

// columnOf makes a decoder from a type as information_schema spells it.
func columnOf(t testing.TB, ci columnInfo) (column, source.Column) {
	t.Helper()
	ci.name, ci.nullable = "c", true
	if ci.columnType == "" {
		ci.columnType = ci.dataType
	}
	sc, n, err := mapColumn(ci, false)
	if err != nil {
		t.Fatal(err)
	}
	return column{name: "c", native: n, typ: sc.Type, kind: nativeKinds[n.Type], nullable: true}, sc
}

func TestMapColumn(t *testing.T) {
	for _, c := range []struct {
		ci            columnInfo
		typ, declared string
	}{
		{columnInfo{dataType: "int", columnType: "int(11)"}, "INT", ""},
		{columnInfo{dataType: "int", columnType: "int"}, "INT", ""},
		{columnInfo{dataType: "int", columnType: "int(10) unsigned"}, "BIGINT", "int unsigned"},
		{columnInfo{dataType: "int", columnType: "int(5) unsigned zerofill"}, "BIGINT", "int unsigned zerofill"},
		{columnInfo{dataType: "tinyint", columnType: "tinyint(1)"}, "TINYINT", "tinyint(1)"},
		{columnInfo{dataType: "tinyint", columnType: "tinyint(4)"}, "TINYINT", ""},
		{columnInfo{dataType: "tinyint", columnType: "tinyint(3) unsigned"}, "SMALLINT", "tinyint unsigned"},
		{columnInfo{dataType: "smallint", columnType: "smallint(5) unsigned"}, "INT", "smallint unsigned"},
		{columnInfo{dataType: "mediumint", columnType: "mediumint(9)"}, "INT", "mediumint"},
		{columnInfo{dataType: "bigint", columnType: "bigint(20) unsigned"}, "DECIMAL(20, 0)", "bigint unsigned"},
		{columnInfo{dataType: "decimal", columnType: "decimal(10,2)", precision: 10, scale: 2}, "DECIMAL(10, 2)", ""},
		{columnInfo{dataType: "decimal", columnType: "decimal(10,2) unsigned", precision: 10, scale: 2}, "DECIMAL(10, 2)", "decimal(10,2) unsigned"},
		{columnInfo{dataType: "decimal", columnType: "decimal(65,30)", precision: 65, scale: 30}, "STRING", "decimal(65,30)"},
		{columnInfo{dataType: "float", columnType: "float"}, "FLOAT", ""},
		{columnInfo{dataType: "double", columnType: "double(10,2)"}, "DOUBLE", "double(10,2)"},
		{columnInfo{dataType: "bit", columnType: "bit(10)", precision: 10}, "BINARY(2)", "bit(10)"},
		{columnInfo{dataType: "year", columnType: "year(4)"}, "INT", "year"},
		{columnInfo{dataType: "date"}, "DATE", ""},
		{columnInfo{dataType: "time", columnType: "time(3)", fsp: 3}, "BIGINT", "time(3)"},
		{columnInfo{dataType: "datetime", columnType: "datetime(6)", fsp: 6}, "TIMESTAMP(6)", ""},
		{columnInfo{dataType: "timestamp", columnType: "timestamp"}, "TIMESTAMP(0) WITH LOCAL TIME ZONE", ""},
		{columnInfo{dataType: "char", columnType: "char(3)", length: 3, charset: "utf8mb4", collation: "utf8mb4_bin"}, "CHAR(3)", "char(3) collate utf8mb4_bin"},
		{columnInfo{dataType: "char", columnType: "char(0)", length: 0, charset: "utf8mb4", collation: "utf8mb4_bin"}, "STRING", "char(0) collate utf8mb4_bin"},
		{columnInfo{dataType: "varchar", columnType: "varchar(20)", length: 20, charset: "latin1", collation: "latin1_swedish_ci"}, "VARCHAR(20)", "varchar(20) collate latin1_swedish_ci"},
		{columnInfo{dataType: "longtext", length: 1 << 31, charset: "utf8mb4", collation: "utf8mb4_bin"}, "STRING", "longtext collate utf8mb4_bin"},
		{columnInfo{dataType: "json"}, "STRING", "json"},
		{columnInfo{dataType: "enum", columnType: "enum('a','b''c')", charset: "utf8mb4", collation: "utf8mb4_bin"}, "STRING", "enum('a','b''c') collate utf8mb4_bin"},
		{columnInfo{dataType: "set", columnType: "set('a')", charset: "utf8mb4", collation: "utf8mb4_bin"}, "STRING", "set('a') collate utf8mb4_bin"},
		{columnInfo{dataType: "binary", columnType: "binary(4)", length: 4}, "BINARY(4)", ""},
		{columnInfo{dataType: "varbinary", columnType: "varbinary(4)", length: 4}, "VARBINARY(4)", ""},
		{columnInfo{dataType: "mediumblob", length: 1 << 24}, "BYTES", "mediumblob"},
		{columnInfo{dataType: "uuid"}, "STRING", "uuid"},
	} {
		_, sc := columnOf(t, c.ci)
		if got := sc.Type.String(); got != c.typ || sc.Declared != c.declared {
			t.Errorf("%s: %s %q, want %s %q", c.ci.columnType, got, sc.Declared, c.typ, c.declared)
		}
	}
	for _, typ := range []string{"point", "geometry", "vector", "whatever"} {
		if _, _, err := mapColumn(columnInfo{name: "c", dataType: typ, columnType: typ}, false); err == nil {
			t.Errorf("%s was mapped", typ)
		}
	}
}

func TestLabels(t *testing.T) {
	for in, want := range map[string][]string{
		`enum('a','b''c','d\\e','f\ng','')`: {"a", "b'c", `d\e`, "f\ng", ""},
		`set('x,y','z')`:                    {"x,y", "z"},
		`enum('日本')`:                        {"日本"},
	} {
		got, err := parseLabels(in)
		if err != nil || strings.Join(got, "|") != strings.Join(want, "|") || len(got) != len(want) {
			t.Errorf("%s: %q %v", in, got, err)
		}
	}
	for _, bad := range []string{"enum", "enum(", "enum('a", "enum('a'", "enum('a',", "enum('a';'b')", "enum()"} {
		if got, err := parseLabels(bad); err == nil {
			t.Errorf("%s: %q", bad, got)
		}
	}
}

// TestCivilDays compares with the standard library's calendar.
func TestCivilDays(t *testing.T) {
	for y := 0; y <= 9999; y += 1 + y%7 {
		for m := 0; m <= 13; m++ {
			for _, d := range []int{0, 1, 15, 28, 29, 30, 31, 32} {
				x := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
				exists := x.Year() == y && int(x.Month()) == m && x.Day() == d
				days, ok := civilDays(y, m, d)
				if ok != exists || ok && days != x.Unix()/86400 {
					t.Fatalf("%d-%d-%d: %d %v, want %d %v", y, m, d, days, ok, x.Unix()/86400, exists)
				}
			}
		}
	}
}

// TestDecimals: text and digits agree with big integers.
func TestDecimals(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		p := 1 + rnd.IntN(38)
		s := rnd.IntN(min(p, 30) + 1)
		c, _ := columnOf(t, columnInfo{dataType: "decimal", columnType: fmt.Sprintf("decimal(%d,%d)", p, s), precision: int64(p), scale: int64(s)})
		digits := make([]byte, 1+rnd.IntN(p))
		for i := range digits {
			digits[i] = '0' + byte(rnd.IntN(10))
		}
		x, _ := new(big.Int).SetString(string(digits), 10)
		if rnd.IntN(2) == 0 {
			x.Neg(x)
		}
		text := string(vector.FormatDecimalBig(nil, x, s))
		v := c.typ.NewVec(1)
		if _, err := c.appendFromText(v, []byte(text)); err != nil {
			t.Fatalf("decimal(%d,%d) %s: %v", p, s, text, err)
		}
		if got := string(vector.AppendDecimalText(nil, v, 0, s)); got != text && got != strings.Replace(text, "-0", "0", 1) {
			t.Fatalf("decimal(%d,%d) %s: %s", p, s, text, got)
		}
	}
	c, _ := columnOf(t, columnInfo{dataType: "decimal", columnType: "decimal(5,2)", precision: 5, scale: 2})
	for _, bad := range []string{"", "-", ".", "1.234", "1e5", "x", "1..2", "--1"} {
		if _, err := c.appendFromText(c.typ.NewVec(1), []byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestPositions(t *testing.T) {
	read := func(s string) position {
		p, err := parsePosition(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	maria := func(g string) position { return read(`{"flavor":"mariadb","gtid":"` + g + `"}`) }
	my := func(g string) position { return read(`{"flavor":"mysql","gtid":"` + g + `"}`) }
	file := func(f string, n int) position {
		return read(fmt.Sprintf(`{"flavor":"mysql-file","file":%q,"pos":%d}`, f, n))
	}
	const u, w = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"
	for i, c := range []struct {
		a, b     position
		ab, ba   bool
		meetText string
	}{
		{maria("0-1-5"), maria("0-1-4"), true, false, `{"flavor":"mariadb","gtid":"0-1-4"}`},
		{maria("0-1-5"), maria("0-2-5"), true, true, ""},
		{maria("0-1-5,1-1-3"), maria("0-1-9"), false, false, `{"flavor":"mariadb","gtid":"0-1-5"}`},
		{maria(""), maria("0-1-1"), false, true, `{"flavor":"mariadb","gtid":""}`},
		{my(u + ":1-10"), my(u + ":1-5:7"), true, false, ""},
		{my(u + ":1-5:7-9"), my(u + ":4-8"), false, false, `{"flavor":"mysql","gtid":"` + u + `:4-5:7-8"}`},
		{my(u + ":1-5," + w + ":1-3"), my(w + ":2-9"), false, false, `{"flavor":"mysql","gtid":"` + w + `:2-3"}`},
		{my(u + ":1-5:tag:1-2"), my(u + ":1-5"), true, false, ""},
		{file("binlog.1000000", 4), file("binlog.999999", 900), true, false, ""},
		{file("binlog.000010", 4), file("binlog.000009", 900), true, false, ""},
		{file("b.000002", 5000000000), file("b.000002", 4), true, false, ""},
		{maria("0-1-5"), file("b.000001", 4), false, false, ""},
	} {
		if c.a.Covers(c.b) != c.ab || c.b.Covers(c.a) != c.ba {
			t.Errorf("%d: covers %v %v", i, c.a.Covers(c.b), c.b.Covers(c.a))
		}
		if c.meetText != "" {
			if got := c.a.Meet(c.b).String(); got != c.meetText {
				t.Errorf("%d: meet %s, want %s", i, got, c.meetText)
			}
			if got := c.b.Meet(c.a).String(); got != c.meetText {
				t.Errorf("%d: meet %s, want %s", i, got, c.meetText)
			}
		}
	}
	in := func(p position, x txn, want bool) {
		t.Helper()
		if p.Includes(&x) != want {
			t.Errorf("%s includes %s: %v", p, x.String(), !want)
		}
	}
	in(maria("0-1-5"), txn{flavor: mariadbGTID, gtid: mariaGTID{2, 5}}, true)
	in(maria("0-1-5"), txn{flavor: mariadbGTID, gtid: mariaGTID{1, 6}}, false)
	in(maria("0-1-5"), txn{flavor: mariadbGTID, domain: 1, gtid: mariaGTID{1, 1}}, false)
	in(file("b.000002", 100), txn{flavor: filePos, file: "b.000002", pos: 99}, true)
	in(file("b.000002", 100), txn{flavor: filePos, file: "b.000002", pos: 100}, false)
	in(file("b.000002", 100), txn{flavor: filePos, file: "b.000001", pos: 5000}, true)
	for _, bad := range []string{"", "{}", "null", `{"flavor":"x","gtid":""}`, `{"flavor":"mariadb"}`, `{"flavor":"mariadb","gtid":"0-1"}`, `{"flavor":"mysql","gtid":"zzz"}`, `{"flavor":"mysql-file","file":"binlog"}`} {
		if p, err := parsePosition(bad); err == nil {
			t.Errorf("%q reads as %s", bad, p)
		}
	}
}

func FuzzPosition(f *testing.F) {
	f.Add(`{"flavor":"mariadb","gtid":"0-1-5,1-1-3"}`)
	f.Add(`{"flavor":"mysql","gtid":"3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:tag:7"}`)
	f.Add(`{"flavor":"mysql-file","file":"b.000002","pos":7}`)
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parsePosition(s)
		if err != nil {
			return
		}
		q, err := parsePosition(p.String())
		if err != nil || q.String() != p.String() {
			t.Fatalf("%s reads back as %s (%v)", p, q, err)
		}
		if !p.Covers(q) || p.Meet(q).String() == "" {
			t.Fatalf("%s does not cover itself", p)
		}
	})
}

// allColumns has a decoder of each kind with each storage in the log.
func allColumns(t testing.TB) []column {
	t.Helper()
	var out []column
	add := func(ci columnInfo, log logType, meta uint16) {
		c, _ := columnOf(t, ci)
		c.log, c.meta = log, meta
		if !c.fits() {
			t.Fatalf("%s does not fit", c.native)
		}
		out = append(out, c)
	}
	add(columnInfo{dataType: "tinyint"}, logTiny, 0)
	add(columnInfo{dataType: "bigint", columnType: "bigint unsigned"}, logLongLong, 0)
	add(columnInfo{dataType: "mediumint", columnType: "mediumint unsigned"}, logInt24, 0)
	add(columnInfo{dataType: "decimal", columnType: "decimal(38,10)", precision: 38, scale: 10}, logDecimal, 38<<8|10)
	add(columnInfo{dataType: "decimal", columnType: "decimal(65,30)", precision: 65, scale: 30}, logDecimal, 65<<8|30)
	add(columnInfo{dataType: "float"}, logFloat, 4)
	add(columnInfo{dataType: "double"}, logDouble, 8)
	add(columnInfo{dataType: "bit", precision: 10}, logBit, 1<<8|2)
	add(columnInfo{dataType: "year"}, logYear, 0)
	add(columnInfo{dataType: "date"}, logDate, 0)
	add(columnInfo{dataType: "datetime"}, logDatetime, 0)
	add(columnInfo{dataType: "datetime", fsp: 5}, logDatetime2, 5)
	add(columnInfo{dataType: "timestamp"}, logTimestamp, 0)
	add(columnInfo{dataType: "timestamp", fsp: 3}, logTimestamp2, 3)
	add(columnInfo{dataType: "time"}, logTime, 0)
	add(columnInfo{dataType: "time", fsp: 2}, logTime2, 2)
	add(columnInfo{dataType: "time", fsp: 6}, logTime2, 6)
	add(columnInfo{dataType: "varchar", length: 100, charset: "utf16"}, logVarchar, 400)
	out[len(out)-1].convert = charsets["utf16"]
	add(columnInfo{dataType: "char", length: 10, charset: "gbk"}, logString, 20)
	out[len(out)-1].convert = charsets["gbk"]
	add(columnInfo{dataType: "longtext", charset: "utf8mb4"}, logBlob, 4)
	add(columnInfo{dataType: "binary", length: 8}, logString, 8)
	add(columnInfo{dataType: "json"}, logJSON, 4)
	add(columnInfo{dataType: "enum", columnType: "enum('a','b')"}, logEnum, 1)
	add(columnInfo{dataType: "set", columnType: "set('a','b','c')"}, logSet, 1)
	add(columnInfo{dataType: "uuid"}, logString, 16)
	add(columnInfo{dataType: "inet6"}, logString, 16)
	add(columnInfo{dataType: "inet4"}, logString, 4)
	return out
}

// FuzzRows decodes damaged row images: an error, never a panic, and as many
// values in each column.
func FuzzRows(f *testing.F) {
	cols := allColumns(f)
	tb := &source.Table{Identity: []int{0, 3, 19}}
	for i := range cols {
		tb.Columns = append(tb.Columns, source.Column{Name: "c", Type: cols[i].typ})
	}
	f.Add([]byte{0, 0, 0, 0, 1, 2, 3}, uint8(1))
	f.Add(bytes.Repeat([]byte{0xFF}, 200), uint8(2))
	f.Add(append([]byte{0, 0, 0, 0}, bytes.Repeat([]byte{1}, 400)...), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, kind uint8) {
		r := &logRows{table: tb, cols: cols, data: data, kind: []replication.EnumRowsEventType{replication.EnumRowsEventTypeInsert, replication.EnumRowsEventTypeUpdate, replication.EnumRowsEventTypeDelete}[kind%3]}
		b := tb.NewBatch(4)
		for {
			err := r.AppendTo(b, b.Len+3, 1<<20)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return
			}
		}
		for i, v := range b.Cols {
			if v.Len != b.Len {
				t.Fatalf("column %d has %d values of %d", i, v.Len, b.Len)
			}
		}
	})
}

// FuzzText decodes texts that no server sends.
func FuzzText(f *testing.F) {
	cols := allColumns(f)
	for _, s := range []string{"", "-", "0000-00-00", "2024-02-29 01:02:03.5", "-838:59:59.999999", "1e5", "::1", "18446744073709551615"} {
		f.Add([]byte(s), uint8(0))
	}
	f.Fuzz(func(t *testing.T, text []byte, n uint8) {
		c := cols[int(n)%len(cols)]
		v := c.typ.NewVec(1)
		if _, err := c.appendFromText(v, text); err == nil && v.Len != 1 {
			t.Fatalf("%s: %q gave %d values", c.native, text, v.Len)
		}
	})
}

// FuzzJSON: a document either is refused or is written as JSON.
func FuzzJSON(f *testing.F) {
	f.Add([]byte{0x00, 1, 0, 12, 0, 11, 0, 1, 0, 5, 1, 0, 'a'})
	f.Add([]byte{0x0c, 3, 'a', 'b', 'c'})
	f.Add([]byte{0x0f, 246, 4, 5, 2, 0x80, 1})
	f.Add([]byte{0x03, 1, 0, 0, 0, 13, 0, 0, 0, 0x0b, 13, 0, 0, 0})
	f.Fuzz(func(t *testing.T, doc []byte) {
		out, err := appendJSON(nil, doc)
		if err == nil && !json.Valid(bytes.ToValidUTF8(out, []byte("?"))) {
			t.Fatalf("%x is written as %q", doc, out)
		}
	})
}

// FuzzStatement: no statement of the log makes the classifier panic.
func FuzzStatement(f *testing.F) {
	for _, s := range []string{"ALTER TABLE t ADD COLUMN x INT", "RENAME TABLE a TO b", "/*!80000 DROP TABLE `t` */", "CREATE OR REPLACE TABLE d.t (a INT)", "SET STATEMENT x=1 FOR TRUNCATE d.t", "\xff\xfe t"} {
		f.Add(s, "d", []byte{0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0})
	}
	f.Fuzz(func(t *testing.T, text, schema string, vars []byte) {
		h := &history{same: func(a, b string) bool { return a == b }, absent: make([]bool, 1), shadow: map[source.ID]*shadow{}, charset: func(string) (json.RawMessage, error) { return nil, nil },
			tables: []*source.Table{{ID: source.ID{Database: "d", Name: "t"}, Columns: []source.Column{{Name: "a", ID: 1, Native: json.RawMessage(`{"type":"int"}`)}}, NextColumn: 2}}}
		for range 2 {
			for _, e := range h.apply(text, schema, vars) {
				if e.table != 0 && (e.kind != source.NewTableEvent || e.id.Name == "t" && e.id.Database == "d") || e.kind == 0 || strings.Contains(e.reason, "\n") {
					t.Fatalf("%q: %+v", text, e)
				}
			}
		}
	})
}

// FuzzCharsets: conversions refuse or give UTF-8.
func FuzzCharsets(f *testing.F) {
	f.Add([]byte("\x00a\xd8\x3d\xde\x00"), uint8(0))
	names := []string{"utf16", "utf16le", "utf32", "ucs2", "gbk", "gb18030", "big5", "sjis", "ujis", "euckr"}
	f.Fuzz(func(t *testing.T, b []byte, n uint8) {
		out, err := charsets[names[int(n)%len(names)]](nil, b)
		if err == nil && !bytes.Equal(out, bytes.ToValidUTF8(out, nil)) {
			t.Fatalf("%s: %x gives %x", names[int(n)%len(names)], b, out)
		}
	})
}
