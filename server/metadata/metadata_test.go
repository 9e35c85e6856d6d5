package metadata

import (
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/internal/errs"
)

func TestLike(t *testing.T) {
	for _, c := range []struct {
		s, pattern  string
		exact, want bool
	}{
		{"orders", "ord%", true, true}, {"orders", "%s", true, true}, {"orders", "o_ders", true, true}, {"orders", "ORD%", true, false},
		{"orders", "ORD%", false, true}, {"a_b", `a\_b`, true, true}, {"axb", `a\_b`, true, false}, {"", "%", true, true}, {"", "_", true, false},
		{"aab", "%ab", true, true}, {"aaab", "a%a%b", true, true}, {"ab", "a%b%c", true, false}, {"ä", "_", true, true}, {`a\`, `a\`, true, true},
		{"x%", `x\%`, true, true},
	} {
		if got := Like(c.s, c.pattern, c.exact); got != c.want {
			t.Errorf("%q LIKE %q: %v", c.s, c.pattern, got)
		}
	}
}

func FuzzLike(f *testing.F) {
	f.Add("orders", "o%_\\%")
	f.Fuzz(func(t *testing.T, s, pattern string) {
		_ = Like(s, pattern, true)
		escaped := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(s)
		if strings.ToValidUTF8(s, "") == s && !Like(s, escaped, true) {
			t.Errorf("%q is not like itself", s)
		}
	})
}

func TestVariableList(t *testing.T) {
	var shows []struct {
		SQL  string     `json:"sql"`
		Rows []mysqlRow `json:"rows"`
	}
	load(t, "show.json", &shows)
	for _, s := range shows {
		if s.SQL != "SHOW VARIABLES" {
			continue
		}
		for _, r := range s.Rows {
			name := at(r, 0)
			switch name {
			case "~", "build_id", "version_compile_zlib", "version_with_update", "server_memory", "innodb_buffer_pool_in_core_file", "container_aware":
				continue // of the recorded build
			}
			if _, err := LookupVariable(name); err != nil {
				t.Errorf("%s is missing", name)
			}
		}
	}
	for _, name := range []string{"aurora_version", "tx_isolation", "storage_engine", "query_cache_size"} {
		if _, err := LookupVariable(name); !errs.Is(err, errs.UnknownVariable) {
			t.Errorf("%s exists; clients conclude something from that", name)
		}
	}
	for _, v := range Variables() {
		if v.ReadOnly || v.Null || v.Default == "" || v.Name == "timestamp" {
			continue
		}
		numeric := v.Type == IntVariable || v.Type == DoubleVariable || v.Type == SizeVariable
		if got, warning, err := v.Parse(v.Default, numeric); err != nil || warning != "" || got != v.Default {
			t.Errorf("%s: its default %q is not a value of it: %q %q %v", v.Name, v.Default, got, warning, err)
		}
	}
	if !slices.IsSortedFunc(Variables(), func(a, b *Variable) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not sorted")
	}
}

func TestParseVariable(t *testing.T) {
	for _, c := range []struct {
		name, text string
		numeric    bool
		want       string
		kind       errs.Kind
	}{
		{"autocommit", "on", false, "ON", ""}, {"autocommit", "0", true, "OFF", ""}, {"autocommit", "2", true, "", errs.WrongValueForVar},
		{"wait_timeout", "0", true, "1", ""}, {"wait_timeout", "-5", true, "1", ""}, {"wait_timeout", "5", false, "", errs.WrongTypeForVar},
		{"sql_select_limit", "99999999999999999999999", true, "18446744073709551615", ""},
		{"transaction_isolation", "read-committed", false, "READ-COMMITTED", ""}, {"transaction_isolation", "1", true, "READ-COMMITTED", ""},
		{"transaction_isolation", "nope", false, "", errs.WrongValueForVar}, {"long_query_time", "0.25", true, "0.250000", ""},
		{"optimizer_trace_offset", "-1", true, "-1", ""}, {"lake_query_memory", "1GiB", false, "1073741824", ""},
		{"lake_query_memory", "x", false, "", errs.WrongValueForVar}, {"lake_ddl_dialect", "FLINK", false, "flink", ""},
		{"completion_type", "CHAIN", false, "", errs.NotSupported},
	} {
		v, err := LookupVariable(c.name)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := v.Parse(c.text, c.numeric)
		if errs.KindOf(err) != c.kind || got != c.want {
			t.Errorf("SET %s = %s: %q %v, want %q %q", c.name, c.text, got, err, c.want, c.kind)
		}
	}
	v, _ := LookupVariable("optimizer_switch")
	if _, err := v.ParseSwitches(v.Default, "semijoin=off, mrr = default"); err == nil {
		t.Error("blanks around = are no MySQL")
	}
	got, err := v.ParseSwitches(v.Default, "semijoin=off,loosescan=off")
	if err != nil || !strings.Contains(got, "semijoin=off") || !strings.Contains(got, "loosescan=off") {
		t.Error(got, err)
	}
	if got, err = v.ParseSwitches(got, "semijoin=default"); err != nil || !strings.Contains(got, "semijoin=on") {
		t.Error(got, err)
	}
	if _, err = v.ParseSwitches(v.Default, "nope=on"); !errs.Is(err, errs.WrongValueForVar) {
		t.Error(err)
	}
}

func TestTypesOfPaimonColumns(t *testing.T) {
	for _, c := range []struct {
		typ       catalog.Type
		full      string
		collation string
	}{
		{catalog.TBoolean, "tinyint(1)", ""}, {catalog.TTinyInt, "tinyint", ""}, {catalog.TBigInt, "bigint", ""}, {catalog.TDecimal(38, 10), "decimal(38,10)", ""},
		{catalog.TString, "longtext", "utf8mb4_0900_bin"}, {catalog.TBytes, "longblob", ""}, {catalog.Type{Kind: catalog.Char, Length: 3}, "char(3)", "utf8mb4_0900_bin"},
		{catalog.Type{Kind: catalog.Char, Length: 300}, "char(300)", "utf8mb4_0900_bin"}, {catalog.TTimestamp(3), "datetime(3)", ""}, {catalog.TTimestamp(9), "datetime(6)", ""},
		{catalog.TTimestampLTZ(0), "timestamp", ""}, {catalog.TTime(3), "time(3)", ""}, {catalog.TDate, "date", ""}, {catalog.TFloat, "float", ""},
		{catalog.Type{Kind: catalog.Array, Elem: &catalog.Type{Kind: catalog.Int}}, "json", ""}, {catalog.Type{Kind: catalog.Varbinary, Length: 20}, "varbinary(20)", ""},
	} {
		got := TypeOf(catalog.Field{Type: c.typ}, "")
		if got.Full != c.full || got.Collation != c.collation {
			t.Errorf("%s is %s %s, want %s %s", c.typ, got.Full, got.Collation, c.full, c.collation)
		}
	}
	got := ParseColumnType("enum('A','b,''c') character set latin1 collate latin1_bin", "")
	if got.Full != "enum('A','b,''c')" || got.Data != "enum" || got.Charset != "latin1" || got.Collation != "latin1_bin" || got.CharLength != 4 {
		t.Errorf("%+v", got)
	}
}

// The column list of SHOW CREATE TABLE is MySQL's, to the letter.
func TestShowCreateTableIsMySQLs(t *testing.T) {
	var shows []struct {
		SQL  string     `json:"sql"`
		Rows []mysqlRow `json:"rows"`
	}
	load(t, "show.json", &shows)
	src := shop(t)
	for _, s := range shows {
		name, ok := strings.CutPrefix(s.SQL, "SHOW CREATE TABLE ")
		if !ok || name == "paid_orders" {
			continue
		}
		x, err := src.Table(t.Context(), "meta_shop", name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := CreateTable(x, false)
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]bool{}
		for _, l := range strings.Split(text, "\n") {
			have[strings.TrimSuffix(l, ",")] = true
		}
		for _, l := range strings.Split(at(s.Rows[0], 1), "\n") {
			l = strings.TrimSuffix(l, ",")
			switch {
			case !strings.HasPrefix(l, "  `") && !strings.HasPrefix(l, "  PRIMARY"): // other keys, options
				continue
			case strings.Contains(l, "GENERATED"), strings.Contains(l, "AUTO_INCREMENT"), strings.Contains(l, "DEFAULT CURRENT_TIMESTAMP"),
				strings.Contains(l, "DEFAULT (concat"), strings.Contains(l, "INVISIBLE"), name == "orders" && strings.Contains(l, "COLLATE"):
				continue // what a lake does not have; the table's own default collation
			}
			if !have[l] {
				t.Errorf("%s lacks the line\n%s\nof MySQL:\n%s", s.SQL, l, text)
			}
		}
	}
}

func TestShowCreateTableOfALakeTable(t *testing.T) {
	c := memory.NewCatalog(nil, "db")
	s := &catalog.Schema{
		Fields: []catalog.Field{
			{ID: 0, Name: "k`1", Type: catalog.TInt.Required()}, {ID: 1, Name: "dt", Type: catalog.TString.Required(), Comment: "day's \\ name"},
			{ID: 2, Name: "u", Type: catalog.TDecimal(20, 0)}, {ID: 3, Name: "name", Type: catalog.TString},
		},
		HighestFieldID: 3, PrimaryKeys: []string{"k`1", "dt"}, PartitionKeys: []string{"dt"},
		Options: map[string]string{"bucket": "2", "mysql.type.2": "bigint unsigned", "mysql.type.3": "varchar(20) collate utf8mb4_0900_ai_ci", "x": "it's"},
	}
	x, err := c.CreateTable(t.Context(), catalog.Identifier{Database: "db", Table: "t"}, s, false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := CreateTable(x, false)
	want := "CREATE TABLE `t` (\n  `k``1` int NOT NULL,\n  `dt` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin NOT NULL COMMENT 'day''s \\\\ name',\n  `u` bigint unsigned DEFAULT NULL,\n" +
		"  `name` varchar(20) DEFAULT NULL,\n  PRIMARY KEY (`k``1`,`dt`)\n) ENGINE=Paimon DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci " +
		"/*T! PARTITIONED BY (`dt`) WITH ('bucket' = '2', 'x' = 'it''s') */"
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	got, err = CreateTable(x, true)
	want = "CREATE TABLE `t` (\n  `k``1` INT NOT NULL,\n  `dt` STRING NOT NULL COMMENT 'day''s \\\\ name',\n  `u` DECIMAL(20, 0),\n  `name` STRING,\n" +
		"  PRIMARY KEY (`k``1`, `dt`) NOT ENFORCED\n)\nPARTITIONED BY (`dt`)\nWITH (\n  'bucket' = '2',\n  'x' = 'it''s'\n)"
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

func TestInexpressible(t *testing.T) {
	s := &catalog.Schema{Options: map[string]string{"mysql.type.2": "json"}, Fields: []catalog.Field{
		{ID: 0, Name: "a", Type: catalog.TInt}, {ID: 1, Name: "b", Type: catalog.TTimestamp(9)}, {ID: 2, Name: "c", Type: catalog.TString},
		{ID: 3, Name: "d", Type: catalog.Type{Kind: catalog.Array, Elem: &catalog.Type{Kind: catalog.Int}}}}}
	if got := Inexpressible(s); !slices.Equal(got, []string{"b", "d"}) {
		t.Error(got)
	}
}

func TestPrivileges(t *testing.T) {
	if got := (Select | Insert | GrantOption).String(); got != "SELECT, INSERT, GRANT OPTION" {
		t.Error(got)
	}
	if p, ok := PrivilegeNamed("show databases"); !ok || p != SeeDatabases {
		t.Error(p, ok)
	}
	if AllPrivileges&GrantOption != 0 || AllPrivileges&CreateTablespace == 0 || AllPrivileges&Select == 0 {
		t.Errorf("%b", AllPrivileges)
	}
	var all Privilege
	(AllPrivileges | GrantOption).EachPrivilege(func(p Privilege) { all |= p })
	if all != AllPrivileges|GrantOption {
		t.Error("a privilege has no name")
	}
}
