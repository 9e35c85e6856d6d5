package exec_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

// assignCodes are MySQL's numbers of what assignments raise.
var assignCodes = map[errs.Kind]uint16{
	errs.ValueOutOfRange: 1264, errs.DataTruncated: 1265, errs.TruncatedValue: 1292, errs.IncorrectDecimal: 1366, errs.DataTooLong: 1406,
	errs.NotNull: 1048, errs.NoDefault: 1364, errs.ColumnCount: 1136, errs.UnknownColumn: 1054, errs.FieldTwice: 1110, errs.OutOfRange: 1690,
	errs.DivisionByZero: 1365,
}

// TestInsertLikeMariaDB stores values of all kinds in columns of all kinds, here
// and in a MariaDB, and compares what is refused and what is stored.
func TestInsertLikeMariaDB(t *testing.T) {
	m := openMaria(t)
	e := newEngine()
	e.coll = "utf8mb4_general_ci"
	m.must(t, "SET SESSION sql_mode='STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,TIME_ROUND_FRACTIONAL'")
	m.must(t, "CREATE DATABASE db")
	m.must(t, "USE db")
	types := []string{"TINYINT", "TINYINT UNSIGNED", "SMALLINT", "INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "DECIMAL(6,2)", "DOUBLE", "FLOAT",
		"VARCHAR(4) COLLATE utf8mb4_general_ci", "CHAR(3) COLLATE utf8mb4_general_ci", "VARBINARY(3)", "DATE", "DATETIME", "DATETIME(3)", "TIME", "BOOLEAN",
		"MEDIUMINT", "TEXT COLLATE utf8mb4_general_ci"}
	values := []string{"0", "1", "-1", "127", "128", "255", "256", "-129", "32768", "2147483648", "4294967296", "9223372036854775807", "9223372036854775808",
		"18446744073709551615", "18446744073709551616", "1.5", "2.5", "-0.5", "1234.567", "99999.99", "12345678", "1e3", "1.5e0", "1e300",
		"'12'", "' 12 '", "'12abc'", "'abc'", "''", "'1.5'", "'1e2'", "'abcd'", "'abcde'", "'abc '", "'abcd  '", "'éèêë'",
		"'2024-02-29'", "'2023-02-29'", "'2024-02-29 12:34:56'", "'2024-02-29 12:34:56.7899'", "'20240229'", "20240229", "'0000-00-00'", "'12:34:56'", "'-838:59:59'",
		"NULL", "TRUE", "1 + 1", "CONCAT('a', 'b')"}
	// What the two servers are known to do differently, and MySQL our way, is
	// left out by the type's and the value's text.
	skip := func(typ, v string) bool {
		temporal := strings.HasPrefix(typ, "DATE") || typ == "TIME"
		number := v != "NULL" && v[0] != '\'' && !strings.HasPrefix(v, "CONCAT")
		return temporal && number || // numbers read as dates have rules of their own
			typ == "TIME" && !strings.Contains(v, ":") ||
			typ == "FLOAT" && len(v) > 6 ||
			v == "1e3" && (strings.HasPrefix(typ, "CHAR") || strings.HasPrefix(typ, "VARB")) // written in the width there is
	}
	n := 0
	for i, typ := range types {
		table := fmt.Sprintf("t%d", i)
		ddl := fmt.Sprintf("CREATE TABLE %s (id INT, c %s)", table, typ)
		m.must(t, ddl)
		e.must(t, ddl)
		for k, v := range values {
			if skip(typ, v) {
				continue
			}
			q := fmt.Sprintf("INSERT INTO %s VALUES (%d, %s)", table, k, v)
			_, werr := m.db.Exec(q)
			_, gerr := e.run(q)
			want := uint16(0)
			var me *mysql.MySQLError
			if errors.As(werr, &me) {
				want = me.Number
			}
			got := uint16(0)
			if gerr != nil {
				got = assignCodes[errs.KindOf(gerr)]
			}
			if (want != 0) != (gerr != nil) {
				t.Errorf("%s into %s: error %v, MariaDB %v", v, typ, gerr, werr)
			} else if want != got && (got < 1264 || got > 1366 || want < 1264 || want > 1366) {
				// Which of several faults of a text is told differs.
				t.Errorf("%s into %s: error %d %v, MariaDB %v", v, typ, got, gerr, werr)
			}
			n++
		}
		q := "SELECT id, c FROM " + table + " ORDER BY id"
		want, err := m.query(q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.run(q)
		if err != nil {
			t.Fatal(err)
		}
		class := ""
		if typ == "DOUBLE" || typ == "FLOAT" {
			class = "double"
		}
		stored := map[string]*string{}
		for _, r := range want {
			stored[*r[0]] = r[1]
		}
		for _, r := range got.rows {
			if w, ok := stored[*r[0]]; ok && !same(r[1], w, class) {
				t.Errorf("row %s of %s: stored %s, MariaDB %s", *r[0], typ, text([][]*string{r[1:]}), text([][]*string{{w}}))
			}
		}
	}
	t.Logf("%d assignments", n)
}

func TestInsertForms(t *testing.T) {
	e := newEngine()
	e.must(t, `CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT DEFAULT 7, b VARCHAR(10), c DECIMAL(5,1) NOT NULL DEFAULT 2.5);
INSERT INTO t VALUES (1, 2, 'x', 3);
INSERT INTO t (b, id) VALUES ('y', 2), (NULL, 3);
INSERT INTO t SET id = 4, b = 'z';
INSERT INTO t VALUES (5, DEFAULT, DEFAULT, DEFAULT), (6, DEFAULT(a), '6', 1.25);
INSERT INTO t (id) SELECT id + 10 FROM t WHERE id < 3;
INSERT INTO t (id, a) VALUES (20, '5'), (21, 5.4), (22, NULL), (23, (SELECT MAX(id) FROM t));
INSERT INTO t VALUES (1, 9, 'again', 9)
`)
	a, err := e.run("SELECT * FROM t ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	want := "1|9|again|9.0\n2|7|y|2.5\n3|7|NULL|2.5\n4|7|z|2.5\n5|7|NULL|2.5\n6|7|6|1.3\n11|7|NULL|2.5\n12|7|NULL|2.5\n20|5|NULL|2.5\n21|5|NULL|2.5\n22|NULL|NULL|2.5\n23|12|NULL|2.5\n"
	if got := text(a.rows); got != want {
		t.Errorf("rows\n%s want\n%s", got, want)
	}
	for q, kind := range map[string]errs.Kind{
		"INSERT INTO t (a) VALUES (1)":                                     errs.NoDefault,
		"INSERT INTO t (id, id) VALUES (1, 1)":                             errs.FieldTwice,
		"INSERT INTO t (id, q) VALUES (1, 1)":                              errs.UnknownColumn,
		"INSERT INTO t (id) VALUES (1, 2)":                                 errs.ColumnCount,
		"INSERT INTO t (id) SELECT 1, 2":                                   errs.ColumnCount,
		"INSERT INTO t VALUES (NULL, 1, 'a', 1)":                           errs.NotNull,
		"INSERT INTO nosuch VALUES (1)":                                    errs.UnknownTable,
		"INSERT INTO t (id, b) VALUES (30, 'far too long for the column')": errs.DataTooLong,
		"INSERT INTO t (id, a) VALUES (30, 1), (31, 99999999999)":          errs.ValueOutOfRange,
	} {
		if _, err := e.run(q); !errs.Is(err, kind) {
			t.Errorf("%s: %v (%s), want %s", q, err, errs.KindOf(err), kind)
		}
	}
	// A statement that fails leaves nothing behind.
	if a, err := e.run("SELECT COUNT(*) FROM t WHERE id >= 30"); err != nil || text(a.rows) != "0\n" {
		t.Errorf("after failures: %v %v", text(a.rows), err)
	}
	if _, err := e.run("INSERT IGNORE INTO t (id, a, b) VALUES (40, 99999999999, 'far too long for it')"); err != nil {
		t.Error(err)
	}
	if a, err := e.run("SELECT a, b FROM t WHERE id = 40"); err != nil || text(a.rows) != "2147483647|far too lo\n" {
		t.Errorf("INSERT IGNORE: %v %v", text(a.rows), err)
	}
	e.must(t, "INSERT OVERWRITE t SELECT id, a, b, c FROM t WHERE id = 40")
	if a, err := e.run("SELECT id FROM t"); err != nil || text(a.rows) != "40\n" {
		t.Errorf("INSERT OVERWRITE: %v %v", text(a.rows), err)
	}
}

func TestDefine(t *testing.T) {
	e := newEngine()
	ctx := context.Background()
	e.must(t, `CREATE DATABASE d2;
CREATE DATABASE IF NOT EXISTS d2;
CREATE TABLE d2.m (id BIGINT UNSIGNED NOT NULL, a TINYINT(1), b BOOLEAN, c VARCHAR(10), d CHAR(3) CHARACTER SET latin1, e ENUM('x','y''z'), f TIME(3), g TIMESTAMP(3), h DATETIME, i JSON, j DECIMAL(50,2), k DECIMAL(10,2), l MEDIUMINT UNSIGNED, m BIT(12), n YEAR, o TEXT, p DOUBLE, PRIMARY KEY (id), KEY (c)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='c';
CREATE TABLE d2.f (id BIGINT, dt STRING, n ROW<a INT, b ARRAY<STRING>>, ts TIMESTAMP(3), l TIMESTAMP_LTZ(6), t TIME(0), x BOOLEAN, PRIMARY KEY (id, dt) NOT ENFORCED) COMMENT 'flink' PARTITIONED BY (dt) WITH ('bucket' = '2', 'connector' = 'paimon')
`)
	schema := func(name string) *catalog.Schema {
		tab, err := e.cat.Table(ctx, catalog.Identifier{Database: "d2", Table: name})
		if err != nil {
			t.Fatal(err)
		}
		return tab.Schema()
	}
	show := func(s *catalog.Schema) string {
		var sb strings.Builder
		for _, f := range s.Fields {
			fmt.Fprintf(&sb, "%d %s %s", f.ID, f.Name, f.Type)
			if m := s.MySQLType(f); m != "" {
				sb.WriteString(" | " + m)
			}
			sb.WriteByte('\n')
		}
		return sb.String()
	}
	want := `0 id DECIMAL(20, 0) NOT NULL | bigint unsigned
1 a TINYINT | tinyint(1)
2 b TINYINT | tinyint(1)
3 c VARCHAR(10) | varchar(10) collate utf8mb4_0900_ai_ci
4 d CHAR(3) | char(3) collate latin1_swedish_ci
5 e STRING | enum('x','y''z') collate utf8mb4_0900_ai_ci
6 f BIGINT | time(3)
7 g TIMESTAMP(3) WITH LOCAL TIME ZONE
8 h TIMESTAMP(0)
9 i STRING | json
10 j STRING | decimal(50,2)
11 k DECIMAL(10, 2)
12 l INT | mediumint unsigned
13 m BINARY(2) | bit(12)
14 n INT | year
15 o STRING | text collate utf8mb4_0900_ai_ci
16 p DOUBLE
`
	if got := show(schema("m")); got != want {
		t.Errorf("MySQL's spelling:\n%s want\n%s", got, want)
	}
	f := schema("f")
	want = "0 id BIGINT NOT NULL\n1 dt STRING NOT NULL\n2 n ROW<`a` INT, `b` ARRAY<STRING>>\n5 ts TIMESTAMP(3)\n6 l TIMESTAMP(6) WITH LOCAL TIME ZONE\n7 t TIME(0)\n8 x BOOLEAN\n"
	if got := show(f); got != want {
		t.Errorf("Flink's spelling:\n%s want\n%s", got, want)
	}
	if len(f.Options) != 1 || f.Options["bucket"] != "2" || f.Comment != "flink" || strings.Join(f.PartitionKeys, ",") != "dt" || strings.Join(f.PrimaryKeys, ",") != "id,dt" {
		t.Errorf("Flink's clauses: %+v", f)
	}
	for q, kind := range map[string]errs.Kind{
		"CREATE DATABASE d2":                                errs.DatabaseExists,
		"CREATE TABLE d2.m (a INT)":                         errs.TableExists,
		"CREATE TABLE nodb.m (a INT)":                       errs.UnknownDatabase,
		"CREATE TABLE x (a INT, A INT)":                     errs.DuplicateColumn,
		"CREATE TABLE x (a INT, PRIMARY KEY (b))":           errs.KeyColumnMissing,
		"CREATE TABLE x (a INT AUTO_INCREMENT)":             errs.NotSupported,
		"CREATE TABLE x (a GEOMETRY)":                       errs.NotSupported,
		"CREATE TABLE x (a DECIMAL(70,2))":                  errs.TooBigPrecision,
		"CREATE TABLE x (a DATETIME(7))":                    errs.TooBigPrecision,
		"CREATE TABLE x (a VARCHAR(5) COLLATE no)":          errs.UnknownCollation,
		"CREATE TEMPORARY TABLE x (a INT)":                  errs.NotSupported,
		"CREATE TABLE x (a INT) WITH ('connector'='kafka')": errs.NotSupported,
		"DROP TABLE nosuch":                                 errs.DropTableMissing,
		"DROP TABLE d2.m, nosuch":                           errs.DropTableMissing,
		"DROP DATABASE nosuch":                              errs.DropDatabaseMissing,
	} {
		if _, err := e.run(q); !errs.Is(err, kind) {
			t.Errorf("%s: %v (%s), want %s", q, err, errs.KindOf(err), kind)
		}
	}
	e.must(t, "DROP TABLE IF EXISTS d2.m, nosuch;\nDROP DATABASE IF EXISTS nosuch;\nDROP DATABASE d2")
	if _, err := e.run("SELECT * FROM d2.f"); !errs.Is(err, errs.UnknownDatabase) {
		t.Error(err)
	}
}
