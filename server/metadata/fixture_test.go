package metadata

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// fakeSource is a server with one catalog, seen by root.
type fakeSource struct {
	c      catalog.Catalog
	warned []error
}

func (s *fakeSource) LakeDatabases(ctx context.Context, _ string) (out []LakeDatabase, err error) {
	dbs, err := s.c.Databases(ctx)
	for _, d := range dbs {
		out = append(out, LakeDatabase{d, d})
	}
	return out, err
}

func (s *fakeSource) CatalogOptions(context.Context, string) ([]NameValue, error) { return nil, nil }

func (s *fakeSource) Views(context.Context, string) ([]string, error) { return nil, nil }

func (s *fakeSource) Databases(ctx context.Context) ([]string, error) {
	dbs, err := s.c.Databases(ctx)
	dbs = append(slices.Clone(dbs), VirtualDatabases...)
	slices.Sort(dbs)
	return dbs, err
}

func (s *fakeSource) Tables(ctx context.Context, db string) ([]string, error) {
	if _, ok := VirtualDatabase(db); ok {
		return NewSystem(s).Tables(ctx, db)
	}
	return s.c.Tables(ctx, db)
}

func (s *fakeSource) Table(ctx context.Context, db, table string) (catalog.Table, error) {
	id := catalog.Identifier{Database: db, Table: table}
	if _, ok := VirtualDatabase(db); ok {
		return NewSystem(s).Table(ctx, id)
	}
	return s.c.Table(ctx, id)
}

func (s *fakeSource) Variables(VariableScope) (out []NameValue) {
	for _, v := range Variables() {
		out = append(out, NameValue{v.Name, v.Default})
	}
	return out
}
func (s *fakeSource) Status(VariableScope) []NameValue { return []NameValue{{"Uptime", "1"}} }
func (s *fakeSource) Processes() []ProcessInfo {
	return []ProcessInfo{{ID: 7, User: "root", Host: "localhost", Command: "Query", Info: "SELECT 1", Attrs: map[string]string{"_pid": "1"}}}
}
func (s *fakeSource) Accounts() Accounts { return RootOnly{} }
func (s *fakeSource) Who() Account       { return Account{Identity: Root, Super: true} }
func (s *fakeSource) Allowed(Privilege, string, string) bool {
	return true
}
func (s *fakeSource) Warn(err error) { s.warned = append(s.warned, err) }

// mysqlRow is a row of the recorded answers.
type mysqlRow []*string

// recorded is what MySQL told of an information_schema table.
type recorded struct {
	Definition []mysqlRow `json:"definition"`
	Columns    []struct {
		Name string `json:"name"`
	} `json:"columns"`
	Rows []mysqlRow `json:"rows"`
}

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

func informationSchema(t *testing.T) map[string]recorded {
	t.Helper()
	raw := map[string]json.RawMessage{}
	load(t, "information_schema.json", &raw)
	out := map[string]recorded{}
	for name, m := range raw {
		var r recorded
		if err := json.Unmarshal(m, &r); err == nil {
			out[name] = r
		}
	}
	return out
}

func at(r mysqlRow, i int) string {
	if r[i] == nil {
		return ""
	}
	return *r[i]
}

// shop makes the tables of the recorded database, as far as a lake can have
// them: the columns' MySQL types as CDC keeps them, primary keys and comments.
func shop(t *testing.T) *fakeSource {
	t.Helper()
	c := memory.NewCatalog(nil, "meta_shop")
	rec := informationSchema(t)
	keys := map[string][]string{}
	for _, r := range rec["KEY_COLUMN_USAGE"].Rows {
		if at(r, 2) == "PRIMARY" {
			keys[at(r, 5)] = append(keys[at(r, 5)], at(r, 6))
		}
	}
	rows := slices.Clone(rec["COLUMNS"].Rows)
	slices.SortStableFunc(rows, func(a, b mysqlRow) int {
		if c := strings.Compare(at(a, 2), at(b, 2)); c != 0 {
			return c
		}
		var x, y int
		fmt.Sscan(at(a, 4), &x)
		fmt.Sscan(at(b, 4), &y)
		return x - y
	})
	schemas := map[string]*catalog.Schema{}
	comments := map[string]string{}
	for _, r := range rec["TABLES"].Rows {
		if at(r, 3) == "BASE TABLE" {
			schemas[at(r, 2)] = &catalog.Schema{Options: map[string]string{}, Comment: at(r, 20), PrimaryKeys: keys[at(r, 2)]}
			comments[at(r, 2)] = at(r, 17)
		}
	}
	for _, r := range rows {
		s := schemas[at(r, 2)]
		if s == nil {
			continue
		}
		f := NewField(at(r, 3), at(r, 15), at(r, 6) == "NO")
		id := len(s.Fields)
		field := catalog.Field{ID: id, Name: f.Name, Type: f.Stored, Comment: at(r, 19)}
		if r[5] != nil && !strings.Contains(at(r, 17), "DEFAULT_GENERATED") {
			field.Default = r[5]
		}
		s.Fields = append(s.Fields, field)
		typ := at(r, 15)
		if r[14] != nil {
			typ += " collate " + at(r, 14)
		}
		s.Options[catalog.MySQLTypeOption(id)] = typ
		s.HighestFieldID = id
	}
	for name, s := range schemas {
		if _, err := c.CreateTable(t.Context(), catalog.Identifier{Database: "meta_shop", Table: name}, s, false); err != nil {
			t.Fatal(err)
		}
	}
	return &fakeSource{c: c}
}

// read returns all rows of a virtual table as texts, nil for NULL.
func read(t *testing.T, src Source, table string, filter *connector.Predicate) (names []string, rows [][]*string) {
	t.Helper()
	db, name, _ := strings.Cut(table, ".")
	x, err := NewSystem(src).Table(t.Context(), catalog.Identifier{Database: db, Table: name})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := x.(connector.Readable).Snapshot(t.Context(), catalog.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	req := connector.ScanRequest{Filter: filter}
	for i, f := range snap.Schema().Fields {
		names = append(names, f.Name)
		req.Columns = append(req.Columns, i)
	}
	p, err := snap.Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Splits {
		r, err := s.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			b, err := r.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			for i := range b.Rows() {
				row := make([]*string, len(b.Cols))
				for c, v := range b.Cols {
					if !v.IsNull(i) {
						s := stored(snap.Schema().Fields[c].Type, v, i)
						row[c] = &s
					}
				}
				rows = append(rows, row)
			}
		}
	}
	return names, rows
}

// stored is the text of a stored value, enough for what virtual tables have.
func stored(t catalog.Type, v *vector.Vec, i int) string {
	switch v.Kind {
	case vector.Str:
		return v.String(i)
	case vector.I32:
		return fmt.Sprint(v.I32s[i])
	case vector.F64:
		return fmt.Sprint(v.F64s[i])
	case vector.I64:
		if t.Kind != catalog.Decimal {
			return fmt.Sprint(v.I64s[i])
		}
	}
	return string(vector.AppendDecimalText(nil, v, i, t.Scale))
}

func text(p *string) string {
	if p == nil {
		return "NULL"
	}
	return *p
}

// The rows about columns must be MySQL's, for every type that a lake column
// can have.
func TestColumnsAreMySQLs(t *testing.T) {
	src := shop(t)
	names, rows := read(t, src, "information_schema.COLUMNS", nil)
	ours := map[string][]*string{}
	for _, r := range rows {
		ours[text(r[2])+"."+text(r[3])] = r
	}
	rec := informationSchema(t)["COLUMNS"]
	n := 0
	for _, want := range rec.Rows {
		table := at(want, 2)
		if table == "customer_totals" || table == "paid_orders" {
			continue // views
		}
		got := ours[table+"."+at(want, 3)]
		if got == nil {
			t.Errorf("%s.%s is missing", table, at(want, 3))
			continue
		}
		for i, name := range names {
			switch name {
			case "EXTRA", "GENERATION_EXPRESSION":
				continue // the lake computes nothing
			case "COLUMN_DEFAULT":
				if strings.Contains(at(want, 17), "DEFAULT_GENERATED") {
					continue
				}
			case "COLUMN_KEY":
				if at(want, i) != "PRI" {
					continue // secondary keys
				}
			case "SRS_ID":
				continue
			}
			if text(got[i]) != text(want[i]) {
				t.Errorf("%s.%s: %s is %s, MySQL has %s", table, at(want, 3), name, text(got[i]), text(want[i]))
			}
		}
		n++
	}
	if n < 80 {
		t.Errorf("only %d columns compared", n)
	}
}

// The definitions of the system tables must be MySQL's, column by column.
func TestDefinitionsAreMySQLs(t *testing.T) {
	for name, rec := range informationSchema(t) {
		fields := systemTables()[InformationSchema][name]
		if fields == nil {
			t.Errorf("information_schema.%s is missing", name)
			continue
		}
		if len(fields) != len(rec.Definition) {
			t.Errorf("information_schema.%s has %d columns, MySQL %d", name, len(fields), len(rec.Definition))
			continue
		}
		for i, d := range rec.Definition {
			f := fields[i]
			typ := ParseColumnType(f.MySQL, "").Full
			same := typ == at(d, 1) || strings.HasPrefix(at(d, 1), "varbinary(0)") || strings.HasPrefix(at(d, 1), "varchar(0)") ||
				strings.HasPrefix(at(d, 1), "decimal(905")
			if f.Name != at(d, 0) || !same || f.NotNull != (at(d, 2) == "NO") {
				t.Errorf("information_schema.%s: column %s %s, MySQL %s %s", name, f.Name, f.MySQL, at(d, 0), at(d, 1))
			}
		}
	}
}

// Rows about the server that do not depend on the machine.
func TestServerTablesAreMySQLs(t *testing.T) {
	src := shop(t)
	rec := informationSchema(t)
	for _, name := range []string{"CHARACTER_SETS", "COLLATIONS", "COLLATION_CHARACTER_SET_APPLICABILITY", "KEYWORDS"} {
		want := map[string]bool{}
		for _, r := range rec[name].Rows {
			want[line(r)] = true
		}
		_, rows := read(t, src, "information_schema."+name, nil)
		if len(rows) != len(want) {
			t.Errorf("%s: %d rows, MySQL %d", name, len(rows), len(want))
		}
		for _, r := range rows {
			if !want[line(r)] {
				t.Errorf("%s: MySQL has no row %s", name, line(r))
			}
		}
	}
}

func line(r []*string) string {
	out := make([]string, len(r))
	for i, x := range r {
		out[i] = text(x)
	}
	return strings.Join(out, "|")
}

func TestKeysAndTables(t *testing.T) {
	src := shop(t)
	_, rows := read(t, src, "information_schema.STATISTICS", nil)
	got := map[string]bool{}
	for _, r := range rows {
		r[9] = nil
		got[line(r)] = true
	}
	n := 0
	for _, want := range informationSchema(t)["STATISTICS"].Rows {
		if at(want, 5) != "PRIMARY" {
			continue
		}
		n++
		want[9] = nil
		if !got[line(want)] {
			t.Errorf("STATISTICS lacks %s", line(want))
		}
	}
	if n != len(rows) {
		t.Errorf("%d rows in STATISTICS, MySQL has %d of primary keys", len(rows), n)
	}
	_, rows = read(t, src, "information_schema.TABLES", nil)
	base := 0
	for _, r := range rows {
		if text(r[1]) == "meta_shop" {
			base++
			if text(r[3]) != "BASE TABLE" || text(r[7]) != "0" {
				t.Errorf("TABLES: %s", line(r))
			}
		}
	}
	if base != 5 {
		t.Errorf("TABLES has %d tables of meta_shop", base)
	}
}

// A filter restricts what is opened.
func TestPushdown(t *testing.T) {
	src := shop(t)
	fields := systemTables()[InformationSchema]["COLUMNS"]
	eq := func(column, value string) *connector.Predicate {
		v := vector.New(vector.Str, 1)
		v.AppendString(value)
		return &connector.Predicate{Op: connector.Eq, Column: slices.IndexFunc(fields, func(f Field) bool { return f.Name == column }), Value: v}
	}
	_, rows := read(t, src, "information_schema.COLUMNS", connector.AndOf(eq("TABLE_SCHEMA", "meta_shop"), eq("TABLE_NAME", "plain")))
	if len(rows) != 3 {
		t.Errorf("%d rows, want the 3 columns of plain", len(rows))
	}
	_, rows = read(t, src, "information_schema.COLUMNS", connector.AndOf(eq("TABLE_SCHEMA", "meta_shop"), eq("TABLE_NAME", "none")))
	if len(rows) != 0 || len(src.warned) > 0 {
		t.Errorf("%d rows, warnings %v", len(rows), src.warned)
	}
}

// SHOW must have MySQL's columns and, where the lake has the same, its rows.
func TestShowIsMySQLs(t *testing.T) {
	var shows []struct {
		SQL     string `json:"sql"`
		Columns []struct {
			Name   string   `json:"name"`
			Type   string   `json:"type"`
			Length int64    `json:"length"`
			Flags  []string `json:"flags"`
		} `json:"columns"`
		Rows []mysqlRow `json:"rows"`
	}
	load(t, "show.json", &shows)
	src := shop(t)
	table := func(name string) catalog.Table {
		x, err := src.Table(t.Context(), "meta_shop", name)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	must := func(l Listing, err error) Listing {
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	like := func(l Listing, p string) Listing { l.Like(p, false); return l }
	ours := map[string]Listing{
		"SHOW COLUMNS FROM types":                    ShowColumns(src, "meta_shop", table("types"), false),
		"SHOW FULL COLUMNS FROM types":               ShowColumns(src, "meta_shop", table("types"), true),
		"SHOW COLUMNS FROM customers":                ShowColumns(src, "meta_shop", table("customers"), false),
		"SHOW FULL COLUMNS FROM customers LIKE 'c%'": like(ShowColumns(src, "meta_shop", table("customers"), true), "c%"),
		"SHOW FULL COLUMNS FROM plain":               ShowColumns(src, "meta_shop", table("plain"), true),
		"SHOW INDEX FROM plain":                      ShowIndex(table("plain")),
		"SHOW COLLATION":                             ShowCollation(),
		"SHOW COLLATION LIKE 'utf8mb4%'":             like(ShowCollation(), "utf8mb4%"),
		"SHOW CHARACTER SET":                         ShowCharset(),
		"SHOW CHARSET LIKE 'utf8%'":                  like(ShowCharset(), "utf8%"),
		"SHOW SCHEMAS LIKE 'meta%'":                  like(must(ShowDatabases(t.Context(), src, "meta%")), "meta%"),
		"SHOW DATABASES":                             must(ShowDatabases(t.Context(), src, "")),
		"SHOW TABLES":                                must(ShowTables(t.Context(), src, "meta_shop", false, "")),
		"SHOW FULL TABLES":                           must(ShowTables(t.Context(), src, "meta_shop", true, "")),
		"SHOW TABLES FROM meta_shop LIKE 'c%'":       like(must(ShowTables(t.Context(), src, "meta_shop", false, "c%")), "c%"),
		"SHOW TABLE STATUS":                          must(ShowTableStatus(t.Context(), src, "meta_shop", func(string) bool { return true })),
		"SHOW CREATE TABLE plain":                    must(ShowCreateTable(table("plain"), false)),
		"SHOW CREATE DATABASE meta_shop":             ShowCreateDatabase("meta_shop", false),
		"SHOW CREATE SCHEMA IF NOT EXISTS meta_shop": ShowCreateDatabase("meta_shop", true),
		"SHOW VARIABLES":                             ShowVariables(src, SessionScope),
		"SHOW STATUS":                                ShowStatus(src, SessionScope),
		"SHOW ENGINES":                               ShowEngines(),
		"SHOW PLUGINS":                               ShowPlugins(),
		"SHOW PRIVILEGES":                            ShowPrivileges(),
		"SHOW PROCESSLIST":                           ShowProcesslist(src, false),
		"SHOW TRIGGERS":                              none(t, "TRIGGERS"),
		"SHOW EVENTS":                                none(t, "EVENTS"),
		"SHOW PROFILES":                              none(t, "PROFILES"),
		"SHOW REPLICAS":                              none(t, "REPLICAS"),
		"SHOW BINARY LOG STATUS":                     none(t, "BINARY LOG STATUS"),
		"SHOW OPEN TABLES FROM meta_shop":            ShowOpenTables(),
	}
	// exact are those whose rows must be MySQL's too.
	exact := map[string]bool{"SHOW COLLATION": true, "SHOW COLLATION LIKE 'utf8mb4%'": true, "SHOW CHARACTER SET": true, "SHOW CHARSET LIKE 'utf8%'": true,
		"SHOW SCHEMAS LIKE 'meta%'": true, "SHOW FULL COLUMNS FROM plain": true, "SHOW CREATE DATABASE meta_shop": true,
		"SHOW CREATE SCHEMA IF NOT EXISTS meta_shop": true}
	seen := 0
	for _, w := range shows {
		l, ok := ours[w.SQL]
		if !ok {
			continue
		}
		seen++
		if len(l.Fields) != len(w.Columns) {
			t.Errorf("%s: %d columns, MySQL %d", w.SQL, len(l.Fields), len(w.Columns))
			continue
		}
		batches, types, err := Batches(l.Fields, l.Rows)
		if err != nil {
			t.Errorf("%s: %v", w.SQL, err)
			continue
		}
		for i, c := range w.Columns {
			if l.Fields[i].Name != c.Name {
				t.Errorf("%s: column %s, MySQL %s", w.SQL, l.Fields[i].Name, c.Name)
			}
			if got, want := family(types[i]), mysqlFamily(c.Type, c.Flags); got != want {
				t.Errorf("%s: column %s is a %s, MySQL's %s", w.SQL, c.Name, got, want)
			}
		}
		if !exact[w.SQL] {
			continue
		}
		var got []string
		for _, b := range batches {
			for i := range b.Rows() {
				r := make([]*string, len(b.Cols))
				for c, v := range b.Cols {
					if !v.IsNull(i) {
						s := string(expr.AppendText(nil, types[c], v, i, nil))
						r[c] = &s
					}
				}
				got = append(got, line(r))
			}
		}
		var want []string
		for _, r := range w.Rows {
			want = append(want, line(r))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nMySQL:\n%s", w.SQL, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if seen != len(ours) {
		t.Errorf("%d of %d statements are in the recording", seen, len(ours))
	}
}

func none(t *testing.T, kind string) Listing {
	t.Helper()
	l, ok := ShowNone(kind)
	if !ok {
		t.Fatal(kind)
	}
	return l
}

// family is the kind of wire type that a type becomes.
func family(t expr.Type) string {
	switch t.Class {
	case expr.Int, expr.Bool:
		if t.Width == 8 {
			return "LONGLONG"
		}
		return "LONG"
	case expr.Double:
		return "DOUBLE"
	case expr.Decimal:
		return "NEWDECIMAL"
	case expr.Timestamp:
		return "TIMESTAMP"
	case expr.DateTime:
		return "DATETIME"
	case expr.Enum, expr.Set:
		return "ENUM"
	case expr.Bytes:
		return "VAR_STRING"
	}
	if t.Length > 16383 {
		return "BLOB"
	}
	return "VAR_STRING"
}

func mysqlFamily(typ string, flags []string) string {
	switch {
	case slices.Contains(flags, "ENUM"), slices.Contains(flags, "SET"), typ == "STRING":
		return "ENUM"
	case strings.Contains(typ, "BLOB"):
		return "BLOB"
	case typ == "NULL":
		return "VAR_STRING"
	}
	return typ
}
