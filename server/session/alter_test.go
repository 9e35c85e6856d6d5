package session

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog/filesystem"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/avro"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/errs"
)

// warehouse is a server over Paimon warehouses in folders.
func warehouse(t *testing.T, catalogs ...string) *Server {
	t.Helper()
	return warehouseIn(t, t.TempDir(), catalogs...)
}

// warehouseIn is a warehouse with the first catalog in a given folder.
func warehouseIn(t *testing.T, dir string, catalogs ...string) *Server {
	t.Helper()
	cfg := Config{Log: slog.New(slog.DiscardHandler), Spill: fileio.NewScratch(t.TempDir(), 0)}
	for _, name := range append([]string{"paimon"}, catalogs...) {
		files := fileio.NewMux(fileio.Local{})
		at := dir
		if name != "paimon" {
			at = t.TempDir()
		}
		c, err := filesystem.Open(filesystem.Config{Files: files, Warehouse: at,
			Driver: paimon.NewDriver(paimon.Config{Files: files, Formats: format.NewRegistry(parquet.Format{}, avro.Format{})})})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Catalogs = append(cfg.Catalogs, NamedCatalog{Name: name, Catalog: c})
	}
	s, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// script runs statements separated by semicolons at line ends.
func script(t *testing.T, s *Session, text string) {
	t.Helper()
	for _, q := range strings.Split(text, ";\n") {
		if strings.TrimSpace(q) != "" {
			query(t, s, q)
		}
	}
}

func columnsOf(t *testing.T, s *Session, table string) string {
	t.Helper()
	var out []string
	for _, l := range strings.Split(query(t, s, "SHOW FULL COLUMNS FROM "+table), "\n") {
		f := strings.Split(l, "|")
		out = append(out, strings.TrimSuffix(f[0]+" "+f[1]+" "+f[3]+" "+f[5]+" "+f[8], " "))
	}
	return strings.Join(out, "\n")
}

func TestAlterTable(t *testing.T) {
	s := session(t, warehouse(t), OpenOptions{})
	script(t, s, `CREATE DATABASE d;
USE d;
CREATE TABLE t (id INT PRIMARY KEY, a INT DEFAULT 3, b VARCHAR(10) COLLATE utf8mb4_general_ci COMMENT 'bee') /*T! WITH ('bucket'='2') */;
INSERT INTO t VALUES (1, 1, 'a'), (2, NULL, 'b')`)
	for _, c := range []struct{ alter, columns string }{
		{"ADD COLUMN c BIGINT UNSIGNED AFTER a, ADD d DATETIME(3) FIRST", "d datetime(3) YES NULL\nid int NO NULL\na int YES 3\nc bigint unsigned YES NULL\nb varchar(10) YES NULL bee"},
		{"RENAME COLUMN d TO at, MODIFY at DATETIME(3) AFTER id", "id int NO NULL\nat datetime(3) YES NULL\na int YES 3\nc bigint unsigned YES NULL\nb varchar(10) YES NULL bee"},
		{"CHANGE b text VARCHAR(30) COMMENT 'longer', MODIFY a BIGINT", "id int NO NULL\nat datetime(3) YES NULL\na bigint YES NULL\nc bigint unsigned YES NULL\ntext varchar(30) YES NULL longer"},
		{"ALTER COLUMN a SET DEFAULT 8, ALTER text SET DEFAULT 'x'", "id int NO NULL\nat datetime(3) YES NULL\na bigint YES 8\nc bigint unsigned YES NULL\ntext varchar(30) YES x longer"},
		{"ALTER a DROP DEFAULT, DROP COLUMN at, DROP c", "id int NO NULL\na bigint YES NULL\ntext varchar(30) YES x longer"},
		{"MODIFY text COMMENT 'only this'", "id int NO NULL\na bigint YES NULL\ntext varchar(30) YES x only this"},
		{"ADD (e INT, f INT), DROP IF EXISTS nosuch, ADD COLUMN IF NOT EXISTS e INT, ALGORITHM=INPLACE, LOCK=NONE", "id int NO NULL\na bigint YES NULL\ntext varchar(30) YES x only this\ne int YES NULL\nf int YES NULL"},
		{"DROP (e, f), MODIFY id BIGINT FIRST", ""},
	} {
		_, err := rows(t.Context(), s, "ALTER TABLE t "+c.alter)
		if c.columns == "" {
			if errs.KindOf(err) != errs.ForbiddenChange {
				t.Errorf("%s: %v", c.alter, err) // the type of a key column stays
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.alter, err)
		} else if got := columnsOf(t, s, "t"); got != c.columns {
			t.Errorf("%s:\n%s\nwant\n%s", c.alter, got, c.columns)
		}
	}
	want(t, s, "SELECT id, a, text, e FROM t ORDER BY id", "1|1|a|NULL\n2|NULL|b|NULL")
	if got := query(t, s, "SHOW CREATE TABLE t"); !strings.Contains(got, "COLLATE utf8mb4_general_ci") && !strings.Contains(got, "COLLATE=utf8mb4_general_ci") {
		t.Errorf("the collation is gone: %s", got)
	}
	for q, kind := range map[string]errs.Kind{
		"ALTER TABLE t DROP nosuch":                                        errs.CannotDrop,
		"ALTER TABLE t RENAME COLUMN nosuch TO x":                          errs.UnknownColumn,
		"ALTER TABLE t ADD COLUMN a INT":                                   errs.DuplicateColumn,
		"ALTER TABLE t CHANGE a text INT":                                  errs.DuplicateColumn,
		"ALTER TABLE t DROP id":                                            errs.ForbiddenChange,
		"ALTER TABLE t ADD x INT AFTER nosuch":                             errs.UnknownColumn,
		"ALTER TABLE nosuch ADD x INT":                                     errs.UnknownTable,
		"ALTER TABLE t SET ('mysql.type.0'='x')":                           errs.InvalidTable,
		"ALTER TABLE t ADD INDEX (nosuch)":                                 errs.KeyColumnMissing,
		"ALTER TABLE t ADD x INT NOT NULL":                                 errs.ForbiddenChange,
		"ALTER TABLE t ADD x GEOMETRY":                                     errs.NotSupported,
		"ALTER TABLE t PARTITION BY HASH (id)":                             errs.NotSupported,
		"ALTER TABLE t DROP PARTITION (dt = 'x')":                          errs.UnknownPartition,
		"ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES t (id)": errs.NotSupported,
	} {
		wantKind(t, s, q, kind)
	}
	query(t, s, "ALTER TABLE IF EXISTS nosuch ADD x INT")
	res, err := s.Execute(t.Context(), "ALTER TABLE t COMMENT = 'about', SET ('snapshot.num-retained.max' = '20'), ADD UNIQUE (a), ADD INDEX i (text), DROP INDEX i", nil)
	if err != nil || res.Info != "Records: 0  Duplicates: 0  Warnings: 3" {
		t.Errorf("%+v %v", res, err)
	}
	if got := query(t, s, "SHOW WARNINGS"); !strings.Contains(got, "UNIQUE is accepted and not enforced") {
		t.Error(got)
	}
	if got := query(t, s, "SHOW CREATE TABLE t"); !strings.Contains(got, "COMMENT='about'") || !strings.Contains(got, "'snapshot.num-retained.max' = '20'") {
		t.Error(got)
	}
	query(t, s, "ALTER TABLE t RESET ('snapshot.num-retained.max')")
	if got := query(t, s, "SHOW CREATE TABLE t"); strings.Contains(got, "snapshot.num-retained.max") {
		t.Error(got)
	}
	script(t, s, "CREATE UNIQUE INDEX u ON t (a);\nDROP INDEX u ON t;\nALTER TABLE t RENAME TO s;\nRENAME TABLE s TO t;\nALTER DATABASE d CHARACTER SET utf8mb4")
	want(t, s, "SELECT COUNT(*) FROM t", "2")
}

// A chain of renames is all or nothing.
func TestRenameTables(t *testing.T) {
	s := session(t, warehouse(t), OpenOptions{})
	script(t, s, "CREATE DATABASE d;\nUSE d;\nCREATE TABLE a (x INT);\nCREATE TABLE b (y INT);\nRENAME TABLE a TO swap, b TO a, swap TO b")
	want(t, s, "SELECT COUNT(y) FROM a", "0")
	wantKind(t, s, "RENAME TABLE a TO c, nosuch TO d", errs.UnknownTable)
	want(t, s, "SHOW TABLES", "a\nb")
}

func TestAlterNested(t *testing.T) {
	s := session(t, warehouse(t), OpenOptions{})
	script(t, s, `CREATE DATABASE d;
USE d;
CREATE TABLE t (id INT, r ROW<a INT, b ROW<x STRING>>, l ARRAY<ROW<p INT>>) WITH ('bucket' = '-1');
ALTER TABLE t ADD COLUMN r.c DECIMAL(10, 2) COMMENT 'new', RENAME COLUMN r.b.x TO y, DROP COLUMN r.a;
ALTER TABLE t ADD (l.element.q STRING, more MAP<STRING, INT>);
SET lake_ddl_dialect = flink;
ALTER TABLE t ADD at TIMESTAMP(3)`)
	got := query(t, s, "SHOW CREATE TABLE t")
	for _, w := range []string{"`r` ROW<`b` ROW<`y` STRING>, `c` DECIMAL(10, 2) 'new'>", "`l` ARRAY<ROW<`p` INT, `q` STRING>>", "`more` MAP<STRING, INT>", "`at` TIMESTAMP(3)"} {
		if !strings.Contains(got, w) {
			t.Errorf("%s is not in\n%s", w, got)
		}
	}
}

func TestCreateTableAs(t *testing.T) {
	s := session(t, warehouse(t), OpenOptions{})
	script(t, s, `CREATE DATABASE d;
USE d;
CREATE TABLE t (id INT PRIMARY KEY, u BIGINT UNSIGNED DEFAULT 5, v VARCHAR(9) COLLATE utf8mb4_bin COMMENT 'vee', e ENUM('x','y'), at TIMESTAMP(3) NULL) /*T! WITH ('bucket'='1') */;
INSERT INTO t VALUES (1, 18446744073709551615, 'a', 'y', '2026-01-01 00:00:00.5'), (2, 0, NULL, NULL, NULL)`)
	res, err := s.Execute(t.Context(), "CREATE TABLE c AS SELECT t.*, id * 1.5 AS n, CONCAT(v, '!') AS s, id > 1 AS b, DATE '2024-02-29' AS dt, NULL AS nothing, 1e0 AS f FROM t", nil)
	if err != nil || res.Affected != 2 || res.Info != "Records: 2  Duplicates: 0  Warnings: 0" {
		t.Fatalf("%+v %v", res, err)
	}
	want(t, s, "SELECT * FROM c ORDER BY id", "1|18446744073709551615|a|y|2026-01-01 00:00:00.500|1.5|a!|0|2024-02-29|NULL|1\n2|0|NULL|NULL|NULL|3.0|NULL|1|2024-02-29|NULL|1")
	if got, w := columnsOf(t, s, "c"), "id int NO NULL\nu bigint unsigned YES 5\nv varchar(9) YES NULL vee\ne enum('x','y') YES NULL\nat timestamp(3) YES NULL\nn decimal(12,1) YES NULL\ns varchar(10) YES NULL\nb int YES NULL\ndt date YES NULL\nnothing longblob YES NULL\nf double YES NULL"; got != w {
		t.Errorf("columns\n%s\nwant\n%s", got, w)
	}
	script(t, s, `CREATE TABLE k (extra INT DEFAULT 4, u BIGINT, PRIMARY KEY (id)) /*T! WITH ('bucket'='1') */ AS SELECT id, u FROM t WHERE id = 2;
CREATE TABLE f WITH ('primary-key' = 'id', 'bucket' = '1', 'partition' = 'e') AS SELECT id, CAST(e AS CHAR) AS e FROM t WHERE e IS NOT NULL`)
	want(t, s, "SELECT * FROM k", "4|2|0")
	want(t, s, "SELECT * FROM f", "1|y")
	// What fails leaves no table.
	wantKind(t, s, "CREATE TABLE bad (id TINYINT) AS SELECT 300 AS id", errs.ValueOutOfRange)
	wantKind(t, s, "SELECT * FROM bad", errs.UnknownTable)
	wantKind(t, s, "CREATE TABLE c AS SELECT 1 AS x", errs.TableExists)
	query(t, s, "CREATE TABLE IF NOT EXISTS c AS SELECT 1 AS x")
	wantKind(t, s, "CREATE TABLE x AS SELECT 1 AS a, 2 AS A", errs.DuplicateColumn)
	script(t, s, "CREATE TABLE l LIKE t;\nINSERT INTO l (id) VALUES (7)")
	want(t, s, "SELECT id, u FROM l", "7|5")
	like, of := query(t, s, "SHOW CREATE TABLE l"), query(t, s, "SHOW CREATE TABLE t")
	if strings.ReplaceAll(like, "`l`", "`t`")[2:] != of[2:] {
		t.Errorf("LIKE: %s\nwant %s", like, of)
	}
}

func TestPartitions(t *testing.T) {
	s := session(t, warehouse(t), OpenOptions{})
	script(t, s, `CREATE DATABASE d;
USE d;
CREATE TABLE p (id INT, dt STRING, h INT) PARTITIONED BY (dt, h) WITH ('bucket' = '-1');
INSERT INTO p VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 1)`)
	for _, c := range [][2]string{
		{"INSERT OVERWRITE p PARTITION (dt = 'a') SELECT 9, 1", "2|a|2\n3|b|1\n9|a|1"},
		{"INSERT OVERWRITE p PARTITION (dt = 'a') SELECT 9, 1 FROM p WHERE id > 100", "2|a|2\n3|b|1\n9|a|1"},
		{"INSERT OVERWRITE p VALUES (8, 'b', 1)", "2|a|2\n8|b|1\n9|a|1"},
		{"INSERT OVERWRITE p /*+ OPTIONS('dynamic-partition-overwrite' = 'false') */ PARTITION (dt = 'a', h = 2) SELECT 10", "8|b|1\n9|a|1\n10|a|2"},
		{"INSERT OVERWRITE p /*+ OPTIONS('dynamic-partition-overwrite' = 'false') */ PARTITION (dt = 'a', h = 2) SELECT 10 FROM p WHERE id > 100", "8|b|1\n9|a|1"},
		{"INSERT INTO p PARTITION (dt = 'q') (h, id) VALUES (5, 6)", "6|q|5\n8|b|1\n9|a|1"},
		{"UPDATE p SET dt = 'c', id = id + 100 WHERE dt = 'b'", "6|q|5\n9|a|1\n108|c|1"},
		{"ALTER TABLE p DROP PARTITION (dt = 'a', h = 1), PARTITION (dt = 'c')", "6|q|5"},
		{"ALTER TABLE p DROP IF EXISTS PARTITION (dt = 'zz')", "6|q|5"},
		{"INSERT OVERWRITE p /*+ OPTIONS('dynamic-partition-overwrite' = 'false') */ VALUES (1, 'x', 1)", "1|x|1"},
		{"TRUNCATE TABLE p", ""},
	} {
		query(t, s, c[0])
		want(t, s, "SELECT * FROM p ORDER BY id", c[1])
	}
	wantKind(t, s, "ALTER TABLE p DROP PARTITION (dt = 'zz')", errs.UnknownPartition)
	wantKind(t, s, "INSERT INTO p PARTITION (id = 1) SELECT 1, 2", errs.UnknownPartition)
	wantKind(t, s, "INSERT INTO p PARTITION (dt = 'a', dt = 'b') SELECT 1, 2", errs.FieldTwice)
	wantKind(t, s, "INSERT INTO p PARTITION (dt = 'a') (dt, id) VALUES ('a', 1)", errs.FieldTwice)
	// One statement is one snapshot.
	want(t, s, "SELECT commit_kind, COUNT(*) FROM p$snapshots GROUP BY 1 ORDER BY 1", "APPEND|2\nOVERWRITE|9")
}
