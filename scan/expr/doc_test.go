package expr

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/testkit"
)

// aggregateDocs are one line an aggregate.
var aggregateDocs = map[string][2]string{
	"COUNT": {"COUNT(*) · COUNT(x) · COUNT(DISTINCT x, …)", "Rows; rows where x is not NULL; different tuples without NULL."}, "SUM": {"SUM([DISTINCT] x)", "Exact for exact numbers (DECIMAL with 22 more digits), DOUBLE for others; NULL for no rows."},
	"AVG": {"AVG([DISTINCT] x)", "The exact sum divided by the count, with div_precision_increment more digits."}, "MIN": {"MIN(x)", "The least value; text by collation."}, "MAX": {"MAX(x)", "The greatest value; text by collation."},
	"STD": {"STD(x)", "Same as STDDEV_POP."}, "STDDEV": {"STDDEV(x)", "Same as STDDEV_POP."}, "STDDEV_POP": {"STDDEV_POP(x)", "The population's standard deviation."}, "STDDEV_SAMP": {"STDDEV_SAMP(x)", "The sample's standard deviation."},
	"VARIANCE": {"VARIANCE(x)", "Same as VAR_POP."}, "VAR_POP": {"VAR_POP(x)", "The population's variance."}, "VAR_SAMP": {"VAR_SAMP(x)", "The sample's variance."},
	"BIT_AND": {"BIT_AND(x)", "All bits for no rows."}, "BIT_OR": {"BIT_OR(x)", "0 for no rows."}, "BIT_XOR": {"BIT_XOR(x)", "0 for no rows."},
	"GROUP_CONCAT": {"GROUP_CONCAT([DISTINCT] x, … [ORDER BY …] [SEPARATOR s])", "The texts one after another, at most group_concat_max_len bytes."}, "APPROX_COUNT_DISTINCT": {"APPROX_COUNT_DISTINCT(x)", "About how many different values there are that are not NULL: exact up to 256, then by HyperLogLog with a standard error of 1.6 %, in at most 4 KiB a group. Not MySQL's."}, "APPROX_PERCENTILE": {"APPROX_PERCENTILE(x, p)", "About the value at rank ⌈p·n⌉ of the n values that are not NULL, p a constant from 0 to 1: exact for up to 256 values and at both ends, else at most 0.5 % from the true one, by logarithmic buckets. Not MySQL's."}, "ANY_VALUE": {"ANY_VALUE(x)", "The value of some row, here the first that was read."},
	"JSON_ARRAYAGG": {"JSON_ARRAYAGG(x)", "An array of the values, NULLs included."}, "JSON_OBJECTAGG": {"JSON_OBJECTAGG(k, x)", "An object of keys and values; of two with one key the last."},
}

var classTitles = []struct{ class, title string }{
	{"operator", "Arithmetic and bits"}, {"comparison", "Comparison"}, {"logic", "Logic"}, {"control", "Conditions"}, {"math", "Numbers"}, {"string", "Text"},
	{"regexp", "Regular expressions"}, {"date", "Dates and times"}, {"json", "JSON"}, {"encoding", "Checksums and encodings"}, {"information", "About the session and values"}, {"misc", "Others"},
}

func functionDocs() string {
	var b strings.Builder
	b.WriteString(`# Functions and operators

Generated from the registry of ` + "`scan/expr`" + ` (` + "`go test ./scan/expr -run TestFunctionDocs -update`" + `).

Semantics are MySQL 8's. A function that MySQL has and that is not listed here is refused by name (error 1235).
Unless its line says otherwise a function is NULL where an argument is. CAST and CONVERT know SIGNED, UNSIGNED, DECIMAL, FLOAT, DOUBLE,
REAL, CHAR, NCHAR, BINARY, DATE, DATETIME, TIME, YEAR and JSON.

Collations: utf8mb4_0900_ai_ci, utf8mb4_0900_as_ci, utf8mb4_0900_as_cs, utf8mb4_0900_bin, and of utf8mb4 and utf8mb3 _bin, _general_ci,
_unicode_ci, _unicode_520_ci; ascii_general_ci, ascii_bin, latin1_swedish_ci, latin1_general_ci, latin1_bin; _general_ci, _bin, _unicode_ci and _unicode_520_ci of utf16, utf32 and ucs2, utf16le_general_ci, utf16le_bin; binary. Languages' own are refused by name.

Differences from MySQL on purpose (` + "`server/mysql/semantics_differences_test.go`" + ` has the cases):

* A value of CASE or IF has the fraction digits of its branch where it is shown or made a text (IF(a, 1.50, 2) shows 2), as in MySQL; one of a derived table or with an average has those of its column, as MySQL shows values that it keeps in a temporary table.
* GREATEST of DATEs and a value that is none is refused: MySQL answers with a date that does not exist. JSON made from dates, times or binary strings is not compared.
* Dates whose month or day is zero, and days that a month does not have, are refused whatever sql_mode allows; INSERT IGNORE stores NULL instead of a zero date.
* Decimals of more than 76 digits in between are refused. So are \X, \N{name} and some properties in regular expressions; a match that takes too many steps is error 3699, as in MySQL.
* Time zones keep their rules after 2037, where MySQL's tables of them end. A TIME as a date counts from today's midnight; MySQL 9.7 counts negative and long ones from the time of day.
* NULLIF gives its first argument, as MySQL's manual says, not what MySQL's constant folding made of it. An array is greater than any number in every comparison.
* UPPER and LOWER keep letters whose other case has more bytes; MySQL cuts the text there.
* EXCEPT ALL of a set operation in parentheses leaves rows that are not NULL alone when it removes NULLs.
* A decimal in a user variable keeps its own scale, where MySQL gives it 30 digits. COALESCE, IF, CASE and aggregates of dates store numbers into columns of numbers as dates do, where MySQL stores their texts.
* REPLACE, QUOTE(NULL) in outer joins, MIN and MAX over windows ordered by their own column, texts of BIN, HEX and CONV among others, and -9223372036854775808 DIV 1 do not have the faults of MySQL 9.7. (` + "`.ci/sqlfuzz_known.py`" + ` lists what random comparison found.)
* Warnings that tell of MySQL's own steps, and the deprecation of || as OR, are not given. Warnings number rows within the rows that one worker reads; in conditions it is row 1.
`)
	names := map[string][]string{}
	for a, to := range aliases {
		names[to] = append(names[to], a)
	}
	for _, c := range classTitles {
		fmt.Fprintf(&b, "\n## %s\n\n| | |\n|---|---|\n", c.title)
		var list []*function
		for _, f := range functions {
			if f.class == c.class {
				list = append(list, f)
			}
		}
		sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name })
		for _, f := range list {
			doc := f.doc
			if also := names[f.name]; len(also) > 0 {
				sort.Strings(also)
				doc += " Also " + strings.Join(also, ", ") + "."
			}
			fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(f.usage, "|", "\\|"), strings.ReplaceAll(doc, "|", "\\|"))
		}
	}
	b.WriteString("\n## Aggregates\n\n| | |\n|---|---|\n")
	var list []string
	for a := range aggregates {
		list = append(list, a)
	}
	sort.Strings(list)
	for _, a := range list {
		d := aggregateDocs[a]
		fmt.Fprintf(&b, "| `%s` | %s |\n", d[0], d[1])
	}
	b.WriteString("\n## Refused by name\n\nError 1235: spatial functions (ST_…, MBR…), and\n\n")
	var refused []string
	for n := range unimplemented {
		if n != "JSON_TABLE" && n != "VALUES" && n != "DEFAULT" { // which stand where no function does
			refused = append(refused, n)
		}
	}
	sort.Strings(refused)
	b.WriteString(strings.Join(refused, ", ") + ".\n")
	return b.String()
}

// TestFunctionDocs keeps docs/functions.md equal to the registry.
func TestFunctionDocs(t *testing.T) {
	known := map[string]bool{"": true}
	for _, c := range classTitles {
		known[c.class] = true
	}
	for _, f := range functions {
		if !known[f.class] {
			t.Errorf("%s has the unknown class %q", f.name, f.class)
		}
		if f.class != "" && (f.doc == "" || f.usage == "") {
			t.Errorf("%s has no documentation", f.name)
		}
	}
	for a := range aggregates {
		if aggregateDocs[a][1] == "" {
			t.Errorf("the aggregate %s has no documentation", a)
		}
	}
	for a, to := range aliases {
		if functions[to] == nil || functions[a] != nil {
			t.Errorf("the alias %s of %s is wrong", a, to)
		}
	}
	file := filepath.Join(testkit.Root(), "docs", "functions.md")
	want := functionDocs()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the registry says; run this test with -update", file)
	}
}
