package session

import (
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

func TestDefineAndInsert(t *testing.T) {
	srv := server(t)
	s := session(t, srv, OpenOptions{})
	query(t, s, "CREATE DATABASE dwd")
	query(t, s, "CREATE DATABASE IF NOT EXISTS dwd")
	wantKind(t, s, "CREATE DATABASE dwd", errs.DatabaseExists)
	query(t, s, "USE dwd")
	query(t, s, "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, name VARCHAR(20) COMMENT 'who', u BIGINT UNSIGNED, d DECIMAL(10,2) DEFAULT '1.50', at DATETIME(3), note TEXT)")
	wantKind(t, s, "CREATE TABLE t (a INT)", errs.TableExists)
	res, err := s.Execute(t.Context(), "INSERT INTO t (id, name, u) VALUES (1, 'a', 18446744073709551615), (2, NULL, 0)", nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Affected != 2 || res.Info != "Records: 2  Duplicates: 0  Warnings: 0" {
		t.Errorf("%+v", res)
	}
	want(t, s, "SELECT id, name, u, d FROM t ORDER BY id", "1|a|18446744073709551615|1.50\n2|NULL|0|1.50")
	want(t, s, "SELECT ROW_COUNT()", "-1")
	query(t, s, "BEGIN")
	query(t, s, "INSERT INTO t (id) VALUES (3)")
	query(t, s, "ROLLBACK")
	if got := query(t, s, "SHOW WARNINGS"); !strings.Contains(got, "couldn't be rolled back") {
		t.Error(got)
	}
	want(t, s, "SELECT COUNT(*) FROM t", "3")
	query(t, s, "DROP TABLE t")
	wantKind(t, s, "SELECT * FROM t", errs.UnknownTable)
	wantKind(t, s, "DROP TABLE t", errs.DropTableMissing)
	query(t, s, "DROP TABLE IF EXISTS t")
	wantKind(t, s, "DROP TABLE nowhere.t", errs.DropTableMissing)
	wantKind(t, s, "DROP DATABASE nowhere", errs.DropDatabaseMissing)
	query(t, s, "DROP DATABASE IF EXISTS nowhere")
	query(t, s, "DROP DATABASE dwd")
	want(t, s, "SELECT DATABASE()", "NULL")
	wantKind(t, s, "USE dwd", errs.UnknownDatabase)
}

// What SHOW CREATE TABLE prints makes the same table again, in both spellings.
func TestShowCreateTableRoundTrips(t *testing.T) {
	for name, create := range map[string]string{
		"mysql": "CREATE TABLE t (a INT NOT NULL, b BIGINT UNSIGNED, c VARCHAR(10) COLLATE utf8mb4_bin, d TEXT, e ENUM('x','it''s'), f DECIMAL(12,3) NOT NULL DEFAULT '0.125', " +
			"g DATETIME(6), h TIMESTAMP NULL, i TINYINT(1), j DATE, k JSON, l VARBINARY(20), m BLOB, n YEAR, o BIT(3), p TIME(2), `q``r` DOUBLE COMMENT 'it''s \\\\ odd', " +
			"PRIMARY KEY (a)) COMMENT='a table'",
		"flink": "CREATE TABLE t (a INT NOT NULL, dt STRING NOT NULL, b DECIMAL(38, 10), c VARCHAR(10), d BYTES, e TIMESTAMP(3), f TIMESTAMP_LTZ(6), g FLOAT, " +
			"PRIMARY KEY (a, dt) NOT ENFORCED) PARTITIONED BY (dt) WITH ('bucket' = '2', 'file.format' = 'parquet')",
		"all of flink": "CREATE TABLE t (a TINYINT, b SMALLINT, c INT NOT NULL, d BIGINT, e FLOAT, f DOUBLE, g DECIMAL(10, 2), h BOOLEAN NOT NULL, i CHAR(3), j VARCHAR(5), k STRING, " +
			"l BINARY(3), m VARBINARY(5), n BYTES, o DATE, p TIME(3) COMMENT 'a\\b''c\nd', p0 TIME, q TIMESTAMP(9), r TIMESTAMP_LTZ(9), s ARRAY<INT NOT NULL> NOT NULL, t MAP<STRING, ARRAY<BIGINT>>, " +
			"u ROW<x INT, `y z` ROW<z STRING NOT NULL 'why'>>, v MULTISET<STRING>, w TIMESTAMP(6) WITH LOCAL TIME ZONE, `we``ird` BOOLEAN, PRIMARY KEY (c) NOT ENFORCED) " +
			"COMMENT 'back\\slash' WITH ('bucket' = '2', 'regex' = 'a\\.b''')",
	} {
		srv := server(t)
		s := session(t, srv, OpenOptions{Database: "empty"})
		if _, err := rows(t.Context(), s, create); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		schema := func() *catalog.Schema {
			c, _ := srv.catalogNamed("lake")
			x, err := c.Table(t.Context(), catalog.Identifier{Database: "empty", Table: "t"})
			if err != nil {
				t.Fatal(err)
			}
			return x.Schema()
		}
		before := schema()
		for _, dialect := range []string{"mysql", "flink"} {
			if name == "mysql" && dialect == "flink" {
				continue // Flink's spelling cannot say MySQL's types
			}
			query(t, s, "SET lake_ddl_dialect = "+dialect)
			_, text, _ := strings.Cut(query(t, s, "SHOW CREATE TABLE t"), "|")
			query(t, s, "DROP TABLE t")
			if _, err := rows(t.Context(), s, text); err != nil {
				t.Errorf("%s in %s: %v\n%s", name, dialect, err, text)
				break
			}
			after := schema()
			if len(after.Fields) != len(before.Fields) {
				t.Errorf("%s in %s: %d columns\n%s", name, dialect, len(after.Fields), text)
				continue
			}
			for i, f := range before.Fields {
				g := after.Fields[i]
				if f.Name != g.Name || !f.Type.Equal(g.Type) || f.Comment != g.Comment || (f.Default == nil) != (g.Default == nil) ||
					f.Default != nil && *f.Default != *g.Default {
					t.Errorf("%s in %s: column %+v came back as %+v\n%s", name, dialect, f, g, text)
				}
				was, is := before.MySQLType(f), after.MySQLType(g)
				if name != "mysql" {
					was, is = "", "" // MySQL's spelling records them, Flink's does not
				}
				if was != is {
					t.Errorf("%s in %s: %s was %q, is %q", name, dialect, f.Name, was, is)
				}
			}
			if strings.Join(before.PrimaryKeys, ",") != strings.Join(after.PrimaryKeys, ",") || strings.Join(before.PartitionKeys, ",") != strings.Join(after.PartitionKeys, ",") ||
				before.Comment != after.Comment || before.Options["regex"] != after.Options["regex"] || before.Options["bucket"] != after.Options["bucket"] {
				t.Errorf("%s in %s: %+v came back as %+v", name, dialect, before, after)
			}
			before = after
		}
	}
}

// A dump of a lake, as mysqldump writes it, can be read back.
func TestDumpReadsBack(t *testing.T) {
	s := session(t, server(t), OpenOptions{Database: "empty"})
	for _, text := range []string{
		"/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */", "/*!50503 SET NAMES utf8mb4 */", "/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */",
		"/*!40103 SET TIME_ZONE='+00:00' */", "/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */",
		"/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */", "DROP TABLE IF EXISTS `t`",
		"/*!50503 SET character_set_client = utf8mb4 */",
		"CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `s` longtext COLLATE utf8mb4_0900_bin,\n  PRIMARY KEY (`id`)\n) ENGINE=Paimon DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin\n/*T! WITH ('bucket' = '1') */",
		"LOCK TABLES `t` WRITE", "/*!40000 ALTER TABLE `t` DISABLE KEYS */", "INSERT INTO `t` VALUES (1,'a'),(2,'b')", "/*!40000 ALTER TABLE `t` ENABLE KEYS */",
		"UNLOCK TABLES", "/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */", "/*!40101 SET SQL_MODE=@OLD_SQL_MODE */", "/*!40014 SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS */",
		"/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */",
	} {
		if _, err := rows(t.Context(), s, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	want(t, s, "SELECT * FROM t ORDER BY id", "1|a\n2|b")
}
