package exec_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/scan/expr"
)

// The oracle of this file is a real MySQL: single statements with its answers.
// The tables are made by our own CREATE TABLE and INSERT.

type semanticCase struct {
	ID      string   `json:"id"`
	SQL     string   `json:"sql"`
	Ordered bool     `json:"ordered"`
	Columns [][]any  `json:"columns"`
	Rows    [][]any  `json:"rows"`
	Error   int      `json:"error"`
	Mode    *string  `json:"sql_mode"`
	Set     []string `json:"set"`
}

func semanticsDir(t testing.TB) string {
	if _, err := os.Stat(testkit.Testdata("mysql-semantics")); err == nil {
		return testkit.Testdata("mysql-semantics")
	}
	return testkit.Shared(t, "fixtures/mysql-semantics")
}

func semanticCases(t testing.TB, group string) (out []semanticCase) {
	f, err := os.Open(filepath.Join(semanticsDir(t), group+".jsonl"))
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
	return out
}

func semanticsEngine(t testing.TB) *engine {
	raw, err := os.ReadFile(filepath.Join(semanticsDir(t), "setup.sql"))
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine("mysql_semantics")
	e.must(t, string(raw))
	e.coll = "utf8mb4_general_ci"
	return e
}

// codes are MySQL's numbers of the kinds that these cases raise.
var codes = map[errs.Kind]int{
	errs.JSONTableMissing: 3665, errs.JSONTableScalar: 3666, errs.TableFuncAlias: 3667, errs.JSONTableRange: 3669,
	errs.InvalidJSONCast: 3156, errs.InvalidJSONArg: 3141, errs.InvalidJSONPath: 3143,
	errs.Syntax: 1064, errs.UnknownDatabase: 1049, errs.EmptyValues: 3942, errs.RecursionUnion: 3573, errs.RecursionForm: 3575, errs.RecursionOnce: 3577, errs.RecursionDepth: 3636, errs.DataTooLong: 1406,
	errs.WindowUnknown: 3579, errs.WindowCycle: 3580, errs.WindowPartition: 3581, errs.WindowFramed: 3582, errs.WindowOrdered: 3583,
	errs.FrameStart: 3584, errs.FrameEnd: 3585, errs.FrameBounds: 3586, errs.RangeKey: 3587, errs.RangeInterval: 3588, errs.RangeNumber: 3589,
	errs.WindowDuplicate: 3591, errs.WindowPosition: 3592, errs.WindowMisplaced: 3593, errs.NotSupported: 1235,
	errs.GroupingArgument: 3602, errs.ViewColumns: 1353, errs.UnknownTable: 1146, errs.UnknownColumn: 1054, errs.AmbiguousColumn: 1052, errs.DuplicateColumn: 1060,
	errs.DuplicateAlias: 1066, errs.UnknownFunction: 1305, errs.WrongArgCount: 1582, errs.WrongArguments: 1210, errs.InvalidGroupBy: 1111,
	errs.NotInGroupBy: 1055, errs.MixOfGroup: 1140, errs.OperandColumns: 1241, errs.SubqueryRows: 1242, errs.DerivedAlias: 1248,
	errs.ColumnCount: 1136, errs.SetOpColumns: 1222, errs.WrongGroupField: 1056, errs.OrderNotSelected: 3065, errs.OutOfRange: 1690,
	errs.WrongValue: 1525, errs.TruncatedValue: 1292, errs.CollationMix: 1267, errs.CollationMix3: 1270, errs.CollationMixAll: 1271, errs.UnknownCollation: 1273,
}

// check compares an answer with the one expected; "" is equal.
func (c semanticCase) check(got answer, err error) string {
	if c.Error != 0 {
		if err == nil {
			return fmt.Sprintf("no error, want %d", c.Error)
		}
		if n := codes[errs.KindOf(err)]; n != c.Error {
			return fmt.Sprintf("error %d (%v), want %d", n, err, c.Error)
		}
		return ""
	}
	if err != nil {
		return "error " + err.Error()
	}
	if len(got.cols) != len(c.Columns) {
		return fmt.Sprintf("%d columns, want %d", len(got.cols), len(c.Columns))
	}
	for i, col := range c.Columns {
		if got.cols[i].Name != col[0] {
			return fmt.Sprintf("column %d is called %q, want %q", i+1, got.cols[i].Name, col[0])
		}
	}
	var want [][]*string
	for _, r := range c.Rows {
		row := make([]*string, len(r))
		for i, x := range r {
			switch x := x.(type) {
			case string:
				row[i] = &x
			case nil:
			default:
				return "binary"
			}
		}
		want = append(want, row)
	}
	rows := got.rows
	if !c.Ordered {
		rows, want = sorted(rows), sorted(want)
	}
	if len(rows) != len(want) {
		return fmt.Sprintf("%d rows, want %d\n got: %s want: %s", len(rows), len(want), text(rows), text(want))
	}
	for i := range rows {
		for k := range rows[i] {
			if !same(rows[i][k], want[i][k], c.Columns[k][1]) {
				return fmt.Sprintf("row %d differs\n got:\n%s want:\n%s", i+1, text(rows), text(want))
			}
		}
	}
	return ""
}

func sorted(rows [][]*string) [][]*string {
	out := append([][]*string(nil), rows...)
	sort.SliceStable(out, func(i, j int) bool { return text(out[i:i+1]) < text(out[j:j+1]) })
	return out
}

func same(a, b *string, class any) bool {
	if a == nil || b == nil {
		return a == b
	}
	if *a == *b {
		return true
	}
	if class == "double" || class == "float" {
		x, e1 := strconv.ParseFloat(*a, 64)
		y, e2 := strconv.ParseFloat(*b, 64)
		return e1 == nil && e2 == nil && math.Abs(x-y) <= 1e-12*math.Max(math.Abs(x), math.Abs(y))
	}
	return false
}

// accepted are cases in which we differ from MySQL's server, and why.
var accepted = map[string]string{
	"values-1":  "MySQL's manual orders VALUES … ORDER BY, its server does not",
	"values-3":  "as values-1",
	"values-12": "a decimal column shows all its digits",
	"error-39":  "FULL OUTER JOIN works",
	"rollup-21": "CUBE works, MySQL has it for its secondary engine only",
	// Extensions that MySQL reads and refuses.
	"window-more-103": "GROUPS frames work", "window-more-104": "EXCLUDE works", "window-more-107": "IGNORE NULLS works",
}

// semanticGroups are the groups that are about queries. The others are about
// expressions and tested in scan/expr.
var semanticGroups = []string{"join", "subquery", "setop", "setop-more", "cte", "order", "group-rule", "aggregate", "values", "error",
	"rollup", "group-rollup", "window", "window-more", "cte-recursive", "lateral", "json-table"}

// refused are the constructs that this engine refuses by name.
func refusedByName(err error) bool { return err != nil && errs.ClassOf(err) == errs.Unsupported }

func TestSemantics(t *testing.T) {
	e := semanticsEngine(t)
	only := os.Getenv("SEMANTICS")
	for _, g := range semanticGroups {
		if only != "" && only != g {
			continue
		}
		t.Run(g, func(t *testing.T) {
			ok, refused, failed := 0, map[string]int{}, 0
			for _, c := range semanticCases(t, g) {
				if len(c.Set) > 0 {
					refused["SET"]++
					continue
				}
				e.mode = expr.DefaultSQLMode
				if c.Mode != nil {
					m, err := expr.ParseSQLMode(*c.Mode)
					if err != nil {
						t.Fatal(err)
					}
					e.mode = m
				}
				got, err := e.run(c.SQL)
				if accepted[c.ID] != "" {
					continue
				}
				if refusedByName(err) {
					what, _, _ := strings.Cut(err.Error(), " (at")
					refused[what]++
					continue
				}
				if why := c.check(got, err); why != "" {
					failed++
					t.Errorf("%s: %s\n %s", c.ID, c.SQL, why)
					continue
				}
				ok++
			}
			t.Logf("%d equal, %d differ, refused: %v", ok, failed, refused)
		})
	}
}
