package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
)

// fixtureWarehouse makes a warehouse of copies of fixture tables, by the names
// they get.
func fixtureWarehouse(t testing.TB, tables map[string]string) string {
	t.Helper()
	root := t.TempDir()
	from := testkit.Shared(t, "fixtures/paimon-latest")
	for name, fixture := range tables {
		db, table, _ := strings.Cut(name, ".")
		if err := os.CopyFS(filepath.Join(root, db+".db", table), os.DirFS(filepath.Join(from, fixture, "default.db", "t"))); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// The database sys is Java Paimon's (testdata/SystemDatabase.java).
func TestSystemDatabase(t *testing.T) {
	root := fixtureWarehouse(t, map[string]string{"a.t": "partition_multi_overwrite", "a.nulls": "partition_default_name",
		"b.dyn": "bucket_dynamic_partitioned", "b.empty": "empty_no_snapshot", "b.pk": "pk_composite_key"})
	l := openLakeOf(t, root)
	var got []string
	for _, name := range []string{"all_table_options", "partitions", "tables"} {
		r, err := l.rows("SELECT * FROM sys." + name)
		if err != nil {
			t.Fatal(err)
		}
		var head []string
		for _, c := range r.Columns {
			head = append(head, c.Name+" "+c.Type)
		}
		got = append(got, "== "+name, strings.Join(head, "|"))
		lines := make([]string, len(r.Lines))
		for i, line := range r.Lines {
			var row []any
			d := json.NewDecoder(strings.NewReader(line))
			d.UseNumber()
			if err := d.Decode(&row); err != nil {
				t.Fatal(err)
			}
			var cells []string
			for _, v := range row {
				if v == nil {
					v = "null"
				}
				cells = append(cells, strings.ReplaceAll(fmt.Sprint(v), root, "WAREHOUSE"))
			}
			lines[i] = strings.Join(cells, "|")
		}
		slices.Sort(lines)
		got = append(got, lines...)
	}
	testkit.Golden(t, "testdata/system-database.txt", got)

	// Filters, joins, and the tables of another catalog.
	s := openSQL(t, catalogServer(t, t.TempDir(), t.TempDir()))
	mustSQL(t, s, "CREATE CATALOG c WITH ('type'='paimon', 'warehouse'='"+root+"', 's3.secret-key'='hidden', 's3.endpoint'='http://127.0.0.1:1')", "")
	mustSQL(t, s, "SELECT COUNT(*) FROM sys.tables", "0")
	mustSQL(t, s, "SELECT t.table_name, p.file_count FROM c.sys.tables t JOIN c.sys.partitions p USING (database_name, table_name) WHERE database_name = 'b' AND p.partition_name = 'p=z'", "dyn\t7")
	mustSQL(t, s, "SELECT COUNT(*) FROM `c.sys`.all_table_options WHERE `key` = 'path'", "5")
	mustSQL(t, s, "SELECT value FROM c.sys.catalog_options WHERE `key` IN ('s3.secret-key', 'type') ORDER BY `key`", "***\npaimon")
	mustSQL(t, s, "USE CATALOG c; SELECT database_name, COUNT(*) FROM sys.tables GROUP BY 1 ORDER BY 1", "a\t2\nb\t3")
	failSQL(t, s, "CREATE DATABASE sys", errs.DatabaseDenied, "sys")
	failSQL(t, s, "CREATE TABLE sys.x (a INT)", errs.DatabaseDenied, "sys")
	failSQL(t, s, "DROP TABLE sys.tables", errs.DatabaseDenied, "sys")
}

// Every index that the options ask for is listed, with its size.
func TestFileIndexesTable(t *testing.T) {
	root := fixtureWarehouse(t, map[string]string{"d.beside": "file_index_files", "d.inside": "file_index_in_manifest", "d.maps": "file_index_map_keys", "d.none": "append_unaware"})
	s := openSQL(t, catalogServer(t, root, t.TempDir()))
	for table, want := range map[string]string{
		"beside": "FILE k bloom-filter, FILE k bsi, FILE v bloom-filter, FILE w bitmap, FILE w range-bitmap, FILE x range-bitmap",
		"inside": "EMBEDDED k bloom-filter, EMBEDDED k bsi, EMBEDDED v bloom-filter, EMBEDDED w bitmap, EMBEDDED w range-bitmap, EMBEDDED x range-bitmap",
		"maps":   "EMBEDDED m[a] bloom-filter, EMBEDDED m[b] bloom-filter, EMBEDDED v bitmap",
	} {
		mustSQL(t, s, "SELECT GROUP_CONCAT(DISTINCT CONCAT_WS(' ', storage_type, column_name, index_type) ORDER BY column_name, index_type SEPARATOR ', ') FROM d.`"+table+"$file_indexes`", want)
		// Their files are those of $files, and each file has each index.
		mustSQL(t, s, "SELECT COUNT(DISTINCT i.file_path) - COUNT(DISTINCT f.file_path), COUNT(*) MOD COUNT(DISTINCT f.file_path), SUM(i.is_empty) FROM d.`"+table+"$files` f LEFT JOIN d.`"+table+"$file_indexes` i"+
			" ON i.file_path = f.file_path AND i.partition = f.partition AND i.bucket = f.bucket AND i.record_count = f.record_count AND i.file_size_in_bytes = f.file_size_in_bytes AND i.schema_id = f.schema_id", "0\t0\t0")
		// An index is as long as what it is in, without the head.
		mustSQL(t, s, "SELECT COUNT(*) FROM (SELECT index_container_size_in_bytes s, SUM(index_size_in_bytes) n FROM d.`"+table+"$file_indexes` GROUP BY file_path, 1) x WHERE s - n NOT BETWEEN 30 AND 200", "0")
	}
	paths, err := sqlText(t, s, "SELECT DISTINCT index_file_path, index_container_size_in_bytes FROM d.`beside$file_indexes`")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(paths), "\n")[1:] {
		path, size, _ := strings.Cut(line, "\t")
		if st, err := os.Stat(path); err != nil || fmt.Sprint(st.Size()) != size {
			t.Errorf("%s has %s bytes, %v", path, size, err)
		}
	}
	mustSQL(t, s, "SELECT COUNT(*) FROM d.`none$file_indexes`", "0")
}

// RENAME TABLE renames views too, as tools do that replace one by another.
func TestRenameView(t *testing.T) {
	s := openSQL(t, catalogServer(t, t.TempDir(), t.TempDir()))
	mustSQL(t, s, "CREATE DATABASE d; CREATE DATABASE e; CREATE TABLE d.t (a INT); INSERT INTO d.t VALUES (1); CREATE VIEW d.v AS SELECT a + 1 b FROM d.t; CREATE VIEW d.v__tmp AS SELECT a + 2 b FROM d.t", "")
	mustSQL(t, s, "RENAME TABLE d.v TO d.v__backup, d.v__tmp TO d.v", "")
	mustSQL(t, s, "SELECT v.b, k.b FROM d.v v, d.v__backup k", "3\t2")
	failSQL(t, s, "RENAME TABLE d.v TO d.t", errs.TableExists, "t")
	failSQL(t, s, "RENAME TABLE d.v TO e.v", errs.WrongObject, "not allowed")
	failSQL(t, s, "RENAME TABLE d.v TO d.w, d.nosuch TO d.x", errs.UnknownTable, "nosuch") // and takes the first back
	mustSQL(t, s, "SELECT b FROM d.v", "3")
	mustSQL(t, s, "DROP VIEW d.v, d.v__backup; SELECT COUNT(*) FROM information_schema.views", "0")
}
