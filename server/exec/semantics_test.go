package exec_test

import (
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
)

// The tables of the semantics cases, for laws: server/mysql compares their
// answers with MySQL's. They are made by our own CREATE TABLE and INSERT.

func semanticsDir(t testing.TB) string {
	if _, err := os.Stat(testkit.Testdata("mysql-semantics")); err == nil {
		return testkit.Testdata("mysql-semantics")
	}
	return testkit.Shared(t, "fixtures/mysql-semantics")
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

func sorted(rows [][]*string) [][]*string {
	out := append([][]*string(nil), rows...)
	sort.SliceStable(out, func(i, j int) bool { return text(out[i:i+1]) < text(out[j:j+1]) })
	return out
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

// refused are the constructs that this engine refuses by name.
func refusedByName(err error) bool { return err != nil && errs.ClassOf(err) == errs.Unsupported }

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
