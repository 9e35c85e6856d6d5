package mysql

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/ingest/source"
)

// TestHistory: after each statement, the definition that follows from the log is
// the one that the server has, and rows are decoded by it.
func TestHistory(t *testing.T) {
	srv := startServer(t)
	srv.exec("CREATE DATABASE d DEFAULT CHARACTER SET utf8mb4; CREATE TABLE d.t (id INT PRIMARY KEY, v INT, s VARCHAR(10)) DEFAULT CHARSET=latin1; CREATE TABLE d.plain (id INT PRIMARY KEY)")
	st, tables := session(t, srv, "d.t")
	src := srv.source()
	for i, ddl := range []string{
		"ALTER TABLE d.t ADD COLUMN a1 INT",
		"ALTER TABLE d.t ADD a2 BIGINT UNSIGNED FIRST, ADD COLUMN a3 DECIMAL(12,3) AFTER id",
		"USE d; ALTER /* comment */ TABLE `t` ADD (b1 VARCHAR(20), b2 TEXT CHARACTER SET utf8mb4, b3 CHAR(3) COLLATE utf8mb4_bin)",
		"ALTER TABLE d.t ADD c1 TINYINT(1) NOT NULL DEFAULT 1, ADD c2 SMALLINT UNSIGNED, ADD c3 MEDIUMINT ZEROFILL, ADD c4 BOOL, ADD c5 DECIMAL, ADD c6 NUMERIC(40,10), ADD c7 FLOAT, ADD c8 DOUBLE(10,2), ADD c9 REAL",
		"ALTER TABLE d.t ADD d1 DATE, ADD d2 DATETIME, ADD d3 DATETIME(6) NOT NULL, ADD d4 TIMESTAMP NULL, ADD d5 TIMESTAMP(3) NULL, ADD d6 TIME, ADD d7 TIME(2), ADD d8 YEAR",
		"ALTER TABLE d.t ADD e1 BINARY(5), ADD e2 VARBINARY(100), ADD e3 BLOB, ADD e4 LONGBLOB, ADD e5 MEDIUMTEXT, ADD e6 TINYTEXT, ADD e7 BIT(9), ADD e8 JSON, ADD e9 CHAR",
		"ALTER TABLE d.t ADD f1 ENUM('x','it''s','b\\\\s',''), ADD f2 SET('p','q') CHARACTER SET utf8mb4",
		"ALTER TABLE d.t RENAME COLUMN b1 TO b2, RENAME COLUMN b2 TO b1",
		"ALTER TABLE d.t CHANGE a1 renamed BIGINT AFTER id, MODIFY v INT UNSIGNED NOT NULL FIRST",
		"ALTER TABLE d.t DROP COLUMN a3, ADD a3 VARCHAR(5)",
		"ALTER TABLE d.t CHANGE s S VARCHAR(300)",
		"ALTER TABLE d.t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
		"ALTER TABLE d.t DEFAULT CHARACTER SET gbk",
		"ALTER TABLE d.t ADD COLUMN IF NOT EXISTS g1 VARCHAR(7), ADD COLUMN IF NOT EXISTS g1 INT, DROP COLUMN IF EXISTS nothing",
		"ALTER TABLE d.t CHANGE id ident BIGINT",
		"SET STATEMENT lock_wait_timeout=5 FOR ALTER TABLE d.t ADD COLUMN h1 INT",
		"SET SESSION sql_mode='ANSI_QUOTES'; ALTER TABLE d.t ADD \"h 2\" INT",
		"CREATE TABLE d._t_gho LIKE d.t; ALTER TABLE d._t_gho ADD i1 INT, DROP COLUMN h1; INSERT INTO d._t_gho SET ident = 77, v = 1, c1 = 1; RENAME TABLE d.t TO d._t_del, d._t_gho TO d.t; DROP TABLE d._t_del",
		"CREATE TABLE d._t_new LIKE d.t; ALTER TABLE d._t_new ADD i2 INT; RENAME TABLE d.t TO d._t_old, d._t_new TO d.t; DROP TABLE d._t_old",
		"DROP TABLE d.t; CREATE TABLE d.t (ident BIGINT, v INT UNSIGNED NOT NULL, name VARCHAR(20), PRIMARY KEY (ident))",
		"CREATE OR REPLACE TABLE d.t (ident BIGINT PRIMARY KEY, v INT UNSIGNED NOT NULL, w INT) DEFAULT CHARSET=utf8mb4",
		"RENAME TABLE d.t TO d.away; ALTER TABLE d.plain ADD x INT; RENAME TABLE d.away TO d.away2",
		"CREATE TABLE d.t (ident BIGINT PRIMARY KEY, v INT UNSIGNED, w2 INT)",
	} {
		srv.db.SetMaxIdleConns(0)
		srv.exec(ddl)
		last := strings.Contains(ddl, "d.away;")
		if !last {
			key := tables[0].PrimaryKey[0]
			if strings.Contains(ddl, "CHANGE id") || strings.Contains(ddl, "ident") {
				key = "ident"
			}
			srv.exec(fmt.Sprintf("SET sql_mode=''; INSERT INTO d.t SET %s = %d", key, 1000+i))
		} else {
			srv.exec("INSERT INTO d.plain VALUES (1, 2)")
		}
		var changes []change
		var events []string
		for range 20 {
			c, e := follow(t, st, tables, 1)
			changes, events = append(changes, c...), append(events, e...)
			if len(c) > 0 || last && len(events) > 0 {
				break
			}
		}
		if last {
			if !reflect.DeepEqual(events, []string{"d.t: dropped: RENAME TABLE d.t TO d.away"}) {
				t.Errorf("%s: %q", ddl, events)
			}
			continue
		}
		now, err := src.Describe(context.Background(), ids("d.t"))
		if err != nil {
			t.Fatal(err)
		}
		if len(changes) != 1 {
			t.Fatalf("%s: %d changes, %q", ddl, len(changes), events)
		}
		for k, w := range names(now[0]) {
			if got := names(tables[0]); k >= len(got) || got[k] != w {
				t.Errorf("%s: the server has %s, the log gives %q", ddl, w, got[min(k, len(got)-1)])
			}
		}
		if !sameShape(now[0], tables[0]) {
			t.Errorf("%s: another shape", ddl)
		}
		seen := map[int]bool{}
		for _, c := range tables[0].Columns {
			if c.ID == 0 || seen[c.ID] || c.ID >= tables[0].NextColumn {
				t.Errorf("%s: the id %d of %s", ddl, c.ID, c.Name)
			}
			seen[c.ID] = true
		}
	}
}

func names(t *source.Table) (out []string) {
	for _, c := range t.Columns {
		out = append(out, fmt.Sprintf("%s %s %s %s", c.Name, c.Type, c.Declared, c.Native))
	}
	return append(out, t.PrimaryKey...)
}
