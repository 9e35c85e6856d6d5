package mysql

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/testkit"
)

// The oracle of this file is a real MySQL: thousands of single statements with what its
// server sent: rows, names and classes of columns, error codes and messages,
// warnings with their texts. Every statement goes over the wire to a server of
// this process and must answer the same, but for those in semanticDifferences.

type semanticCase struct {
	ID       string   `json:"id"`
	SQL      string   `json:"sql"`
	Ordered  bool     `json:"ordered"`
	Columns  [][]any  `json:"columns"`
	Rows     [][]any  `json:"rows"`
	Error    int      `json:"error"`
	Message  string   `json:"message"`
	Warnings [][]any  `json:"warnings"`
	Mode     *string  `json:"sql_mode"`
	Set      []string `json:"set"`
	Reset    []string `json:"reset"`

	anyRow bool // warnings may number the rows otherwise: several workers read them
}

// semanticMode is the sql_mode of cases that do not name one: MySQL's default.
const semanticMode = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"

// semanticSession is the session that the cases assume.
var semanticSession = []string{"SET NAMES utf8mb4 COLLATE utf8mb4_general_ci", "SET time_zone = '+00:00'", "SET SESSION group_concat_max_len = 1024"}

func semanticCases(t testing.TB, file string) (out []semanticCase) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var c semanticCase
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// classOf is the class of a column, as the cases name classes: its name, and for
// decimals and temporals a number of digits.
func classOf(d recorded) []any {
	class := map[byte]string{typeTiny: "int", typeShort: "int", typeInt24: "int", typeLong: "int", typeLongLong: "int", typeYear: "year", typeNewDecimal: "decimal",
		typeFloat: "float", typeDouble: "double", typeDate: "date", typeDateTime: "datetime", typeTimestamp: "datetime", typeTime: "time", typeJSON: "json",
		typeNull: "null", typeBit: "bit"}[d.Code]
	switch {
	case class == "int" && slices.Contains(d.Flags, "UNSIGNED"):
		class = "uint"
	case class == "" && d.Charset == 63:
		class = "binary"
	case class == "":
		class = "string"
	case class == "decimal":
		return []any{d.Name, class, float64(d.Decimals)}
	case class == "datetime" || class == "time":
		return []any{d.Name, class, float64(min(d.Decimals, 6))}
	}
	return []any{d.Name, class}
}

// cellOf is a cell as the cases write it: text, nil, or the hex of bytes that are no text.
func cellOf(s *string, d recorded) any {
	if s == nil {
		return nil
	}
	printable := strings.IndexFunc(*s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
	if utf8.ValidString(*s) && (d.Charset != 63 || printable || d.Code == typeJSON) {
		return *s
	}
	return map[string]any{"hex": hex.EncodeToString([]byte(*s))}
}

func sameCell(a, b any, class any) bool {
	if fmt.Sprint(a) == fmt.Sprint(b) && (a == nil) == (b == nil) {
		return true
	}
	x, ok1 := a.(string)
	y, ok2 := b.(string)
	if ok1 && ok2 && (class == "double" || class == "float") {
		f, e1 := strconv.ParseFloat(x, 64)
		g, e2 := strconv.ParseFloat(y, 64)
		return e1 == nil && e2 == nil && (f == g || math.Abs(f-g) <= 1e-12*math.Max(math.Abs(f), math.Abs(g)))
	}
	return false
}

func sortRows(rows [][]any) {
	key := func(r []any) string {
		var b strings.Builder
		for _, c := range r {
			fmt.Fprintf(&b, "%v%v\x00", c != nil, c)
		}
		return b.String()
	}
	sort.SliceStable(rows, func(i, j int) bool { return key(rows[i]) < key(rows[j]) })
}

// run executes a case; "" is MySQL's answer, else what differs.
func (c *semanticCase) run(w wireClient, mode *string) string {
	want := semanticMode
	if c.Mode != nil {
		want = *c.Mode
	}
	if want != *mode {
		w.must("SET SESSION sql_mode = '" + want + "'")
		*mode = want
	}
	if len(c.Set) > 0 {
		defer func() {
			for _, q := range append(slices.Clone(c.Reset), semanticSession...) {
				_, _ = w.query(q)
			}
		}()
		for _, q := range c.Set {
			if _, err := w.query(q); err != nil {
				return fmt.Sprintf("%s: %v", q, err)
			}
		}
	}
	res, err := w.query(c.SQL)
	if err != nil || c.Error != 0 {
		var we *wireError
		if errors.As(err, &we); we == nil {
			return fmt.Sprintf("no error, want %d %s", c.Error, c.Message)
		}
		if we.code != c.Error {
			return fmt.Sprintf("error %v, want %d %s", err, c.Error, c.Message)
		}
		if got := head(we.text, 300); got != c.Message {
			return fmt.Sprintf("message %q, want %q", got, c.Message)
		}
		return ""
	}
	if len(res.cols) != len(c.Columns) {
		return fmt.Sprintf("%d columns, want %d", len(res.cols), len(c.Columns))
	}
	got := make([][]any, len(res.rows))
	for i, r := range res.rows {
		for k, s := range r {
			got[i] = append(got[i], cellOf(s, res.cols[k]))
		}
	}
	rows := slices.Clone(c.Rows)
	if !c.Ordered {
		sortRows(got)
		sortRows(rows)
	}
	equal := len(got) == len(rows)
	for i := 0; equal && i < len(got); i++ {
		for k := range got[i] {
			equal = equal && sameCell(got[i][k], rows[i][k], c.Columns[k][1])
		}
	}
	if !equal {
		return fmt.Sprintf("rows %v, want %v", got, rows)
	}
	for i, col := range c.Columns {
		g := classOf(res.cols[i])
		if g[0] != col[0] {
			return fmt.Sprintf("column %d is called %v, want %v", i+1, g[0], col[0])
		}
		intOrYear := func(x any) bool { return x == "int" || x == "year" }
		if col[1] != nil && !slices.Equal(g[1:], col[1:]) && !(intOrYear(g[1]) && intOrYear(col[1])) {
			return fmt.Sprintf("column %v is %v, want %v", col[0], g[1:], col[1:])
		}
	}
	gotWarnings, wantWarnings := w.warnings(), warningTexts(c.Warnings)
	if c.anyRow {
		gotWarnings, wantWarnings = withoutRows(gotWarnings), withoutRows(wantWarnings)
	}
	if got, want := gotWarnings, wantWarnings; !slices.EqualFunc(got, want, sameWarning) {
		return fmt.Sprintf("warnings\n   %s\n  want\n   %s", strings.Join(got, "\n   "), strings.Join(want, "\n   "))
	}
	return ""
}

var rowNumber = regexp.MustCompile(` at row \d+`)

// withoutRows leaves the numbers of rows out of warnings.
func withoutRows(list []string) (out []string) {
	for _, s := range list {
		if s = rowNumber.ReplaceAllString(s, ""); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	sortWarnings(out)
	return out
}

// sameWarning compares a warning with MySQL's, whose messages lose characters
// beyond the basic plane: they show a ? for each, or for each of its bytes.
func sameWarning(got, want string) bool {
	lossy := func(with string) string {
		var b strings.Builder
		for _, r := range got {
			if r > 0xffff {
				b.WriteString(with)
			} else {
				b.WriteRune(r)
			}
		}
		return b.String()
	}
	return got == want || lossy("?") == want || lossy("????") == want
}

func head(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// warnings are those of the last statement, the first ten different ones, sorted.
func (c wireClient) warnings() (out []string) {
	res, err := c.query("SHOW WARNINGS")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, r := range res.rows {
		w := fmt.Sprintf("%s %s %s", *r[0], *r[1], head(strings.ToValidUTF8(*r[2], "\ufffd"), 200))
		if len(out) < 10 && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	sortWarnings(out)
	return out
}

// sortWarnings sorts by what MySQL's messages keep.
func sortWarnings(list []string) {
	key := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r > 0xffff || r == '?' {
				return -1
			}
			return r
		}, s)
	}
	sort.SliceStable(list, func(i, j int) bool { return key(list[i]) < key(list[j]) })
}

func warningTexts(in [][]any) (out []string) {
	for _, w := range in {
		out = append(out, fmt.Sprintf("%v %v %v", w[0], w[1], w[2]))
	}
	sortWarnings(out)
	return out
}

func TestSemantics(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of statements: not with -short")
	}
	w := semanticTables(t)
	mode, total, differ := "", 0, 0
	for _, f := range semanticFiles(t) {
		group := strings.TrimSuffix(filepath.Base(f), ".jsonl")
		t.Run(group, func(t *testing.T) {
			for _, c := range semanticCases(t, f) {
				why := c.run(w, &mode)
				total++
				reason, known := semanticDifferences[c.ID]
				switch {
				case why != "" && !known:
					t.Errorf("%s: %s\n  %s", c.ID, c.SQL, why)
				case why == "" && known:
					t.Errorf("%s answers as MySQL does now: strike it from the list of differences (%v)", c.ID, reason)
				}
				if why != "" {
					differ++
				}
			}
		})
	}
	t.Logf("%d of %d answers are MySQL's", total-differ, total)
}

// semanticTables is a client of a server with the tables of the cases.
func semanticTables(t *testing.T) wireClient {
	setup, err := os.ReadFile(filepath.Join(testkit.Testdata("mysql-semantics"), "setup.sql"))
	if err != nil {
		t.Fatal(err)
	}
	w := dialWire(t, lakePort(t), "")
	w.must("CREATE DATABASE mysql_semantics", "USE mysql_semantics", "SET SESSION sql_mode = 'STRICT_TRANS_TABLES'")
	for q := range strings.SplitSeq(string(setup), ";\n") {
		if strings.TrimSpace(q) != "" {
			w.must(q)
		}
	}
	w.must(semanticSession...)
	return w
}

// semanticFiles are the files of cases.
func semanticFiles(t *testing.T) (out []string) {
	for _, dir := range []string{"mysql-semantics", "mysql-functions", "mysql-comparisons"} {
		files, err := filepath.Glob(filepath.Join(testkit.Testdata(dir), "*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, files...)
	}
	return out
}

// limited are statements that may give other rows when they come in another order.
var limited = regexp.MustCompile(`(?i)\blimit\b`)

// TestSemanticSettings runs cases under settings that must not change an answer
// (testkit.Settings), over the tables as they were written and after their
// compaction: a sample of 500, each under one setting; with THERMOCLINE_LAWS=all,
// all cases under all of them.
func TestSemanticSettings(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of statements: not with -short")
	}
	w := semanticTables(t)
	var cases []semanticCase
	for _, f := range semanticFiles(t) {
		if strings.HasSuffix(filepath.Dir(f), "mysql-functions") {
			continue // they need what a case before them made
		}
		for _, c := range semanticCases(t, f) {
			c.anyRow = true
			if _, differs := semanticDifferences[c.ID]; !differs && (c.Ordered || !limited.MatchString(c.SQL)) {
				cases = append(cases, c)
			}
		}
	}
	step := max(len(cases)/500, 1)
	all := os.Getenv("THERMOCLINE_LAWS") == "all"
	settings := testkit.Settings()
	mode, ran := "", 0
	for _, compacted := range []bool{false, true} {
		if compacted {
			tables, err := w.query("SHOW TABLES")
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range tables.rows {
				w.must("CALL sys.compact(`table` => 'mysql_semantics." + *r[0] + "', compact_strategy => 'full')")
			}
		}
		for k, set := range settings {
			if set.Compacted != compacted {
				continue
			}
			w.must(set.SQL())
			for i := range cases {
				if !all && (i%step != 0 || i/step%len(settings) != k) {
					continue
				}
				ran++
				if why := cases[i].run(w, &mode); why != "" {
					t.Errorf("%s under %+v: %s\n  %s", cases[i].ID, set, cases[i].SQL, why)
				}
			}
		}
	}
	t.Logf("%d cases, %d settings, %d comparisons", len(cases), len(settings), ran)
}
