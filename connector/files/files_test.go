package files

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

func store() *Store {
	return &Store{Files: fileio.Local{}, Formats: format.NewRegistry(parquet.Format{})}
}

// read returns the columns and rows of files as text.
func read(ctx context.Context, t connector.Readable, rows int) (schema string, out []string, err error) {
	for _, f := range t.Schema().Fields {
		schema += f.Name + " " + f.Type.String() + ", "
	}
	snap, err := t.Snapshot(ctx, catalog.Ref{})
	if err != nil {
		return schema, nil, err
	}
	budget := memory.New("test", 0)
	req := connector.ScanRequest{BatchRows: rows, Budget: budget}
	for i := range t.Schema().Fields {
		req.Columns = append(req.Columns, i)
	}
	p, err := snap.Plan(ctx, req)
	if err != nil {
		return schema, nil, err
	}
	for _, s := range p.Splits {
		r, err := s.Open(ctx)
		if err != nil {
			return schema, out, err
		}
		for {
			b, err := r.Next(ctx)
			if err != nil {
				r.Close()
				return schema, out, err
			}
			if b == nil {
				break
			}
			for k := range b.Rows() {
				var cells []string
				for _, v := range b.Cols {
					cells = append(cells, cell(v, b.Row(k)))
				}
				out = append(out, strings.Join(cells, "|"))
			}
		}
		if err := r.Close(); err != nil {
			return schema, out, err
		}
	}
	if n := budget.Used(); n != 0 {
		return schema, out, fmt.Errorf("%d bytes are still reserved", n)
	}
	return schema, out, nil
}

func cell(v *vector.Vec, i int) string {
	if v.IsNull(i) {
		return "NULL"
	}
	w, i := v.Values(), v.At(i)
	switch v.Kind {
	case vector.I8:
		return fmt.Sprint(w.I8s[i])
	case vector.I32:
		return fmt.Sprint(w.I32s[i])
	case vector.I64:
		return fmt.Sprint(w.I64s[i])
	case vector.F64:
		return fmt.Sprint(w.F64s[i])
	case vector.F32:
		return fmt.Sprint(w.F32s[i])
	case vector.Str:
		return string(w.Bytes(i))
	}
	return string(vector.AppendDecimalText(nil, v, i, 2))
}

// TestText: columns found out and values, by the rules of the package comment, RFC
// 4180 and RFC 8259 (dates and times are days and microseconds).
func TestText(t *testing.T) {
	for _, c := range []struct {
		name, content string
		options       map[string]string
		schema, rows  string
	}{
		{"a.csv", "a,b,c\n1,x,1.5\n-2,,2e3\n", nil, "a BIGINT, b STRING, c DOUBLE, ", "1|x|1.5; -2|NULL|2000"},
		{"a.csv", "a,b\n1,2\n1.5,99999999999999999999\n", nil, "a DOUBLE, b DECIMAL(38, 0), ", "1|0.02; 1.5|999999999999999999.99"},
		{"a.csv", "\xef\xbb\xbfa,b\r\n\"x, y\",\"a \"\"b\"\"\"\r\n\"two\nlines\",z\r\n", nil, "a STRING, b STRING, ", "x, y|a \"b\"; two\nlines|z"},
		{"a.csv", "d,t,b,z\n2026-01-02,2026-01-02 03:04:05,true,007\n,2026-01-02T03:04,FALSE,1\n", nil, "d DATE, t TIMESTAMP(6), b BOOLEAN, z STRING, ", "20455|1767323045000000|1|007; NULL|1767323040000000|0|1"},
		{"a.csv", "d\n2026-01-02\n2026-01-02 00:00:01\n", nil, "d TIMESTAMP(6), ", "1767312000000000; 1767312001000000"},
		{"a.csv", "d\n2026-02-30\n", nil, "d STRING, ", "2026-02-30"},
		{"a.csv", "a\n1\nx\n", nil, "a STRING, ", "1; x"},
		{"a.csv", "a,b\n,\n", nil, "a STRING, b STRING, ", "NULL|NULL"},
		{"a.csv", "a,b\n", nil, "a STRING, b STRING, ", ""},
		{"a.csv", "1;x\n2;NA\n", map[string]string{"header": "false", "delimiter": ";", "nullstr": "NA"}, "column0 BIGINT, column1 STRING, ", "1|x; 2|NULL"},
		{"a.tsv", "a\tb\n1\t2\n", map[string]string{"sep": "\\t", "all_varchar": "true"}, "a STRING, b STRING, ", "1|2"},
		{"a.csv", "a,b\n1,1.50\n2,3\n", map[string]string{"columns": "a SMALLINT, b DECIMAL(10, 2)"}, "a SMALLINT, b DECIMAL(10, 2), ", "1|150; 2|300"},
		{"a.json", "{\"a\": 1, \"b\": \"x\\u00e9\"}\n{\"b\": null, \"c\": [1, {\"k\": 2}]}\n", nil, "a BIGINT, b STRING, c STRING, ", "1|xé|NULL; NULL|NULL|[1, {\"k\": 2}]"},
		{"a.json", "[{\"a\": 1.5}, {\"a\": 2}]", nil, "a DOUBLE, ", "1.5; 2"},
		{"a.json", "{\"a\": \"12\", \"b\": true, \"c\": \"2026-01-02\"}", nil, "a STRING, b BOOLEAN, c DATE, ", "12|1|20455"},
		{"a.json", "{\"a\": 1}\n{\"a\": 2}\n", map[string]string{"columns": "`a` INT, b STRING"}, "a INT, b STRING, ", "1|NULL; 2|NULL"},
	} {
		name := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(name, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		kind := "csv"
		if strings.HasSuffix(name, "json") {
			kind = "json"
		}
		for _, rows := range []int{0, 1} {
			tab, err := store().FileTable(t.Context(), kind, name, c.options)
			if err != nil {
				t.Errorf("%q: %v", c.content, err)
				continue
			}
			schema, got, err := read(t.Context(), tab, rows)
			if err != nil || schema != c.schema || strings.Join(got, "; ") != c.rows {
				t.Errorf("%q\n got %s %s (%v)\nwant %s %s", c.content, schema, strings.Join(got, "; "), err, c.schema, c.rows)
			}
		}
	}
}

// TestFaults: rows that do not fit are errors that name file and line.
func TestFaults(t *testing.T) {
	many := "a\n" + strings.Repeat("1\n", sampleRows+5)
	for _, c := range []struct{ kind, content, columns, want string }{
		{"csv", "a,b\n1,2\n3\n", "", "line 3: 1 fields, 2 are expected"},
		{"csv", "a,b\n1,\"x\n", "", "line 2: extraneous or missing \" in quoted-field"},
		{"csv", many + "x\n", "", fmt.Sprintf("line %d: 'x' in column a is no BIGINT", sampleRows+7)},
		{"csv", "a\n1.234\n", "a DECIMAL(5, 2)", "line 2: '1.234' in column a is no DECIMAL(5, 2)"},
		{"csv", "a\n1000\n", "a DECIMAL(5, 2)", "line 2: '1000' in column a is no DECIMAL(5, 2): it is too large"},
		{"csv", "a\n300\n", "a TINYINT", "line 2: '300' in column a is no TINYINT"},
		{"csv", "a\nabc\n", "a VARCHAR(2)", "it is too long"},
		{"csv", "a\n\xff\n", "a STRING", "it is not UTF-8"},
		{"csv", "b\n1\n", "a INT", "line 1: its column 1 is named 'b', 'a' is expected"},
		{"csv", "a,a\n1,2\n", "", "two columns are named 'a'"},
		{"csv", "a\n2026-01-02 03:04:05.123\n", "a TIMESTAMP(0)", "more digits of seconds"},
		{"json", "{\"a\": 1}\n{\"b\": 2}\n", "a INT", "line 2: 'b' is no column"},
		{"json", "{\"a\": 1}\n\n{\"a\": }\n", "", "line 3: "},
		{"json", "{\"a\": 1", "", "line 1: unexpected EOF"},
		{"json", "[{\"a\": 1}", "", "line 1: unexpected EOF"},
		{"json", "[{\"a\": 1}] 2", "", "there is something behind the array"},
		{"json", "3", "", "line 1: a row is an object"},
		{"json", "{\"a\": \"x\"}", "a INT", "line 1: 'x' in column a is no INT"},
		{"json", "{\"a\": 1, \"A\": 2}", "", "differ in case only"},
	} {
		name := filepath.Join(t.TempDir(), "f."+c.kind)
		if err := os.WriteFile(name, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		o := map[string]string{}
		if c.columns != "" {
			o["columns"] = c.columns
		}
		tab, err := store().FileTable(t.Context(), c.kind, name, o)
		if err == nil {
			_, _, err = read(t.Context(), tab, 0)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name) || errs.ClassOf(err) != errs.User {
			t.Errorf("%.40q %s: %v, want %s", c.content, c.columns, err, c.want)
		}
	}
}

// TestPatterns: which files a path names.
func TestPatterns(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"a1.csv", "a2.csv", "b.csv", "x/c.csv", "x/y/d.csv", "x/_SUCCESS", ".hidden.csv", "z.csv.gz"} {
		name := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		w, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		var out io.WriteCloser = w
		if strings.HasSuffix(f, ".gz") {
			out = gzip.NewWriter(w)
		}
		fmt.Fprintf(out, "f\n%s\n", filepath.Base(f))
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	for _, c := range [][2]string{
		{"a1.csv", "a1.csv"}, {"a*.csv", "a1.csv a2.csv"}, {"a?.csv", "a1.csv a2.csv"}, {"[b-z].csv", "b.csv"}, {"*/*.csv", "c.csv"}, {"x", "c.csv"}, {"x/", "c.csv"},
		{"**/*.csv", "a1.csv a2.csv b.csv c.csv d.csv"}, {"x/**", "c.csv d.csv"}, {"z.csv.gz", "z.csv.gz"}, {"*.none", ""}, {"none.csv", ""},
	} {
		tab, err := store().FileTable(t.Context(), "csv", dir+"/"+c[0], nil)
		if err != nil {
			if c[1] != "" || !errs.Is(err, errs.FileNotFound) {
				t.Errorf("%s: %v", c[0], err)
			}
			continue
		}
		_, got, err := read(t.Context(), tab, 0)
		if err != nil || strings.Join(got, " ") != c[1] {
			t.Errorf("%s: %v (%v), want %s", c[0], got, err, c[1])
		}
	}
}

// FuzzText: no content makes the readers panic, and batches of one row give what
// larger ones give.
func FuzzText(f *testing.F) {
	f.Add("a,b\n1,\"x\"\n", false)
	f.Add("[{\"a\": [1, 2.5e3]}, {\"b\": \"\\ud83d\"}]", true)
	f.Add("{\"a\": null}\n{\"a\": 1}", true)
	f.Fuzz(func(t *testing.T, content string, json bool) {
		kind := "csv"
		if json {
			kind = "json"
		}
		name := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		tab, err := store().FileTable(t.Context(), kind, name, nil)
		if err != nil {
			return
		}
		_, a, err1 := read(t.Context(), tab, 0)
		_, b, err2 := read(t.Context(), tab, 1)
		if fmt.Sprint(err1) != fmt.Sprint(err2) || err1 == nil && fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%v (%v), by one row %v (%v)", a, err1, b, err2)
		}
	})
}
