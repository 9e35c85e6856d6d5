package mysql

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/testkit"
)

// The oracle of this file is a real MySQL, which told the column definitions of
// many expressions: name, type, length, decimals, character set and flags. Every
// one goes over the wire to a server of this process and must be told the same,
// but for those in metadataDifferences.

// metadataSession is the session that the definitions were recorded in.
var metadataSession = []string{"SET NAMES utf8mb4", "SET time_zone = '+00:00'", "SET timestamp = 1717243506"}

// metadataPort starts a server with the tables that the definitions are of, as
// far as a lake has such columns.
func metadataPort(t *testing.T) wireClient {
	t.Helper()
	w := dialWire(t, lakePort(t), "")
	w.must("CREATE DATABASE meta_shop", "USE meta_shop")
	w.must(metadataSession...)
	b, err := os.ReadFile(filepath.Join(testkit.Testdata("mysql-metadata"), "schema.sql"))
	if err != nil {
		t.Fatal(err)
	}
	for q := range strings.SplitSeq(string(b), ";\n") {
		if strings.TrimSpace(q) != "" {
			w.must(lakeTable(q))
		}
	}
	return w
}

// lakeTable takes out of a statement of the schema what lake tables have not:
// secondary keys, constraints, generated and spatial columns, values of the
// server's own.
func lakeTable(q string) string {
	for _, x := range [][2]string{
		{`, UNIQUE KEY u_int.*`, ")"},
		{`, UNIQUE KEY email.*\) COMMENT`, ") COMMENT"},
		{`, KEY fk_customer(.|\n)*\) DEFAULT`, ") DEFAULT"},
		{` AUTO_INCREMENT PRIMARY KEY, c_tinyint T`, ` PRIMARY KEY, c_tinyint T`},
		{` AUTO_INCREMENT`, ""},
		{` GENERATED ALWAYS AS \(.*?\) (VIRTUAL|STORED)`, ""},
		{` DEFAULT CURRENT_TIMESTAMP(\(3\))?( ON UPDATE CURRENT_TIMESTAMP)?`, ""},
		{` DEFAULT \(CONCAT\('a', 'b'\)\)`, ""},
		{` INVISIBLE`, ""},
		{` PARTITION BY HASH \(a\) PARTITIONS 2`, ""},
		{`, c_point POINT, c_vector VECTOR\(3\)`, ""},
		{`, c_point, c_vector`, ""},
		{`, ST_GeomFromText\('POINT\(1 2\)'\), STRING_TO_VECTOR\('\[1,2,3\]'\)`, ""},
	} {
		q = regexp.MustCompile(x[0]).ReplaceAllString(q, x[1])
	}
	return q
}

func loadMetadata(t *testing.T, file string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testkit.Testdata("mysql-metadata"), file))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// told is a column definition in one line; keys other than the primary one, and
// what MySQL tells of defaults, are left out.
func told(d recorded) string {
	var flags []string
	for _, f := range flagNames {
		if slices.Contains(d.Flags, f.name) {
			flags = append(flags, f.name)
		}
	}
	if !slices.Contains(flags, "PRI_KEY") {
		flags = slices.DeleteFunc(flags, func(s string) bool { return s == "PART_KEY" })
	}
	return fmt.Sprintf("%s %s(%d) decimals %d charset %d %s", d.Name, codeNames[d.Code], d.Length, d.Decimals, d.Charset, strings.Join(flags, " "))
}

var codeNames = map[byte]string{typeTiny: "TINY", typeShort: "SHORT", typeInt24: "INT24", typeLong: "LONG", typeLongLong: "LONGLONG", typeYear: "YEAR",
	typeNewDecimal: "NEWDECIMAL", typeFloat: "FLOAT", typeDouble: "DOUBLE", typeDate: "DATE", typeDateTime: "DATETIME", typeTimestamp: "TIMESTAMP", typeTime: "TIME",
	typeJSON: "JSON", typeNull: "NULL", typeBit: "BIT", typeVarString: "VAR_STRING", typeString: "STRING", typeBlob: "BLOB", typeMediumBlob: "MEDIUM_BLOB",
	typeLongBlob: "LONG_BLOB", typeEnum: "ENUM", typeSet: "SET", 242: "VECTOR", 249: "TINY_BLOB", 255: "GEOMETRY"}

// differ collects what is answered otherwise than by MySQL and holds it against
// the list of those that are so on purpose.
type differ struct {
	t           *testing.T
	total, same int
	reasons     differences
}

func (d *differ) check(id, sql, got, want string) {
	d.t.Helper()
	d.total++
	reason, known := d.reasons[id]
	switch {
	case got == want && known:
		d.t.Errorf("%s is told as MySQL tells it now: strike it from the list of differences (%v)", id, reason)
	case got != want && !known:
		d.t.Errorf("%s: %s\n   got  %s\n   want %s", id, sql, got, want)
	}
	if got == want {
		d.same++
	}
}

// answer is what a query with one column is answered: its definition, or the
// number of the error.
func (w wireClient) answer(sql string) (string, wireResult) {
	res, err := w.query(sql)
	var we *wireError
	if errors.As(err, &we) {
		return fmt.Sprintf("error %d %s", we.code, we.text), res
	}
	return told(res.cols[0]), res
}

func TestExpressionMetadata(t *testing.T) {
	w := metadataPort(t)
	d := differ{t: t, reasons: metadataDifferences}
	for _, file := range []string{"expressions", "functions"} {
		var all []struct {
			SQL     string          `json:"sql"`
			Column  *recorded       `json:"column"`
			Value   json.RawMessage `json:"value"`
			Error   int             `json:"error"`
			Message string          `json:"message"`
		}
		loadMetadata(t, file+".json", &all)
		for i, x := range all {
			got, res := w.answer(x.SQL)
			want := fmt.Sprintf("error %d %s", x.Error, x.Message)
			if x.Column != nil {
				want = told(*x.Column)
				if !strings.HasPrefix(got, "error ") && x.Value != nil && string(x.Value) != `"~"` {
					want += " " + cellText(t, x.Value, res.cols[0])
					got += " " + fmt.Sprint(cellOf(res.rows[0][0], res.cols[0]))
				}
			}
			d.check(fmt.Sprintf("%s-%d", strings.TrimSuffix(file, "s"), i+1), x.SQL, got, want)
		}
	}
	t.Logf("%d of %d columns are told as MySQL tells them", d.same, d.total)
}

// cellText is a recorded value: NULL, text, or bytes in hexadecimal digits.
func cellText(t *testing.T, raw json.RawMessage, d recorded) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	if s, ok := v.(string); ok {
		v = cellOf(&s, d)
	}
	return fmt.Sprint(v)
}

// pairedShapes are the expressions of two operands.
var pairedShapes = []struct{ name, form string }{
	{"coalesce", "COALESCE(%s, %s)"}, {"case", "CASE WHEN id = 1 THEN %s ELSE %s END"}, {"if", "IF(id = 1, %s, %s)"}, {"greatest", "GREATEST(%s, %s)"},
	{"plus", "%s + %s"}, {"minus", "%s - %s"}, {"times", "%s * %s"}, {"divide", "%s / %s"}, {"div", "%s DIV %s"}, {"mod", "%s %% %s"}, {"concat", "CONCAT(%s, %s)"},
}

func TestResultTypeMetadata(t *testing.T) {
	w := metadataPort(t)
	var all []map[string]json.RawMessage
	loadMetadata(t, "result-types.json", &all)
	d := differ{t: t, reasons: metadataDifferences}
	for i, x := range all {
		var pair [2]string
		if err := json.Unmarshal(x["pair"], &pair); err != nil {
			t.Fatal(err)
		}
		var items []string
		for _, s := range pairedShapes {
			items = append(items, fmt.Sprintf(s.form, pair[0], pair[1])+" AS x")
		}
		res, err := w.query("SELECT " + strings.Join(items, ", ") + " FROM types WHERE id < 0")
		for k, s := range pairedShapes {
			got := ""
			if err == nil {
				got = told(res.cols[k])
			} else {
				got, _ = w.answer("SELECT " + items[k] + " FROM types WHERE id < 0")
			}
			d.check(fmt.Sprintf("pair-%d-%s", i+1, s.name), items[k], numberOnly(got), recordedShort(t, x[s.name]))
		}
		union := fmt.Sprintf("SELECT %s AS x FROM types WHERE id < 0 UNION ALL SELECT %s FROM types WHERE id < 0", pair[0], pair[1])
		got, _ := w.answer(union)
		d.check(fmt.Sprintf("pair-%d-union", i+1), union, numberOnly(got), recordedShort(t, x["union"]))
	}
	t.Logf("%d of %d columns are told as MySQL tells them", d.same, d.total)
}

// numberOnly leaves out the text of an error.
func numberOnly(s string) string {
	if strings.HasPrefix(s, "error ") {
		return strings.Join(strings.Fields(s)[:2], " ")
	}
	return s
}

// recordedShort is a definition [type, length, decimals, charset, flags…], or the
// number of an error, as told prints it.
func recordedShort(t *testing.T, raw json.RawMessage) string {
	var n int
	if json.Unmarshal(raw, &n) == nil {
		return fmt.Sprintf("error %d", n)
	}
	var v []any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	d := recorded{Name: "x", Length: uint32(v[1].(float64)), Decimals: byte(v[2].(float64)), Charset: uint16(v[3].(float64))}
	for code, name := range codeNames {
		if name == v[0] {
			d.Code = code
		}
	}
	for _, f := range v[4:] {
		d.Flags = append(d.Flags, f.(string))
	}
	return told(d)
}

// sameOr is a definition, or "same" for the one of the text protocol.
type sameOr struct{ *recorded }

func (s *sameOr) UnmarshalJSON(b []byte) error {
	if string(b) == `"same"` {
		return nil
	}
	return json.Unmarshal(b, &s.recorded)
}

// Columns of every type: their definitions in both protocols and their values as
// text and in binary rows.
func TestColumnMetadata(t *testing.T) {
	w := metadataPort(t)
	var all []struct {
		Text      recorded        `json:"text"`
		Prepare   sameOr          `json:"prepare"`
		Execute   sameOr          `json:"execute"`
		Value     json.RawMessage `json:"value"`
		BinaryRow string          `json:"binary_row"`
	}
	loadMetadata(t, "column-types.json", &all)
	d := differ{t: t, reasons: metadataDifferences}
	for _, x := range all {
		id := "column-" + x.Text.Name
		sql := "SELECT " + x.Text.Name + " FROM types WHERE id = 1"
		got, res := w.answer(sql)
		want := told(x.Text)
		if !strings.HasPrefix(got, "error ") {
			want += " " + cellText(t, x.Value, res.cols[0])
			got += " " + fmt.Sprint(cellOf(res.rows[0][0], res.cols[0]))
		}
		d.check(id, sql, got, want)
		p, err := w.prepare(sql)
		if err != nil {
			continue // told above
		}
		cols, rows, err := w.execute(p.id)
		if err != nil {
			t.Fatal(err)
		}
		prepare, execute := x.Text, x.Text
		if x.Prepare.recorded != nil {
			prepare = *x.Prepare.recorded
		}
		if x.Execute.recorded != nil {
			execute = *x.Execute.recorded
		}
		d.check(id+"-binary", sql, told(p.columns[0])+"; "+told(cols[0])+" "+rows[0], told(prepare)+"; "+told(execute)+" "+x.BinaryRow)
	}
	t.Logf("%d of %d answers are MySQL's", d.same, d.total)
}

// Prepared statements: the definitions of parameters and columns before they have
// values, and binary rows of those that need none.
func TestPreparedMetadata(t *testing.T) {
	w := metadataPort(t)
	var all []struct {
		SQL     string     `json:"sql"`
		Params  []recorded `json:"params"`
		Columns []recorded `json:"columns"`
		Error   int        `json:"error"`
		Message string     `json:"message"`
		Execute *struct {
			Columns json.RawMessage `json:"columns"`
			Rows    []string        `json:"binary_rows"`
		} `json:"execute"`
	}
	loadMetadata(t, "prepared.json", &all)
	d := differ{t: t, reasons: metadataDifferences}
	list := func(cols []recorded) string {
		var out []string
		for _, c := range cols {
			out = append(out, told(c))
		}
		return strings.Join(out, "; ")
	}
	for i, x := range all {
		id := fmt.Sprintf("prepared-%d", i+1)
		p, err := w.prepare(x.SQL)
		if err != nil || x.Error != 0 {
			got := "no error"
			var we *wireError
			if errors.As(err, &we) {
				got = fmt.Sprintf("error %d %s", we.code, we.text)
			}
			d.check(id, x.SQL, got, fmt.Sprintf("error %d %s", x.Error, x.Message))
			continue
		}
		d.check(id+"-params", x.SQL, list(p.params), list(x.Params))
		d.check(id+"-columns", x.SQL, list(p.columns), list(x.Columns))
		if x.Execute == nil {
			continue
		}
		cols, rows, err := w.execute(p.id)
		if err != nil {
			t.Fatal(x.SQL, err)
		}
		want := x.Columns
		if string(x.Execute.Columns) != `"same"` {
			want = nil
			if err := json.Unmarshal(x.Execute.Columns, &want); err != nil {
				t.Fatal(err)
			}
		}
		d.check(id+"-execute", x.SQL, list(cols)+" "+fmt.Sprint(rows), list(want)+" "+fmt.Sprint(x.Execute.Rows))
	}
	t.Logf("%d of %d answers are MySQL's", d.same, d.total)
}

// kind is what a client chooses a column's type by. Lengths, decimals of texts and
// further flags of MySQL's system views depend on the expressions that they are
// made of.
func kind(d recorded) string {
	var flags []string
	for _, f := range []string{"NOT_NULL", "UNSIGNED", "ENUM", "SET"} {
		if slices.Contains(d.Flags, f) {
			flags = append(flags, f)
		}
	}
	name := codeNames[d.Code]
	if d.Code == typeNull { // columns of NULLs only have the type NULL, or are binary strings
		name = "VAR_STRING"
	}
	if strings.HasSuffix(name, "BLOB") {
		name = "BLOB"
	}
	return fmt.Sprintf("%s %s charset %d %s", d.Name, name, d.Charset, strings.Join(flags, " "))
}

// What SHOW and the information_schema tell of their columns.
func TestShowMetadata(t *testing.T) {
	w := metadataPort(t)
	type shown struct {
		SQL     string     `json:"sql"`
		Columns []recorded `json:"columns"`
		Error   int        `json:"error"`
		Message string     `json:"message"`
	}
	var all []shown
	loadMetadata(t, "show.json", &all)
	raw := map[string]json.RawMessage{}
	loadMetadata(t, "information_schema.json", &raw)
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		var x shown
		if json.Unmarshal(raw[name], &x) == nil && x.Columns != nil {
			x.SQL = "SELECT * FROM information_schema." + name
			all = append(all, x)
		}
	}
	d := differ{t: t, reasons: metadataDifferences}
	for i, x := range all {
		res, err := w.query(x.SQL)
		var we *wireError
		if errors.As(err, &we) || x.Error != 0 {
			got := "no error"
			if we != nil {
				got = fmt.Sprintf("error %d %s", we.code, we.text)
			}
			d.check(fmt.Sprintf("show-%d", i+1), x.SQL, got, fmt.Sprintf("error %d %s", x.Error, x.Message))
			continue
		}
		if len(res.cols) != len(x.Columns) {
			d.check(fmt.Sprintf("show-%d", i+1), x.SQL, fmt.Sprintf("%d columns", len(res.cols)), fmt.Sprintf("%d columns", len(x.Columns)))
			continue
		}
		for k, c := range x.Columns {
			d.check(fmt.Sprintf("show-%d-%d", i+1, k+1), x.SQL, kind(res.cols[k]), kind(c))
		}
	}
	t.Logf("%d of %d columns are told as MySQL tells them", d.same, d.total)
}
