package session

import (
	"strings"
	"testing"
)

// LIMIT without an order reads one row group of a table of several files and row
// groups, a look at a key the one that has it, also with several threads.
func TestRowGroupsRead(t *testing.T) {
	srv := warehouse(t)
	s := session(t, srv, OpenOptions{})
	for _, text := range []string{
		"CREATE DATABASE shop", "USE shop", "SET cte_max_recursion_depth = 100000",
		"CREATE TABLE big (id BIGINT NOT NULL, s VARCHAR(80)) WITH ('bucket' = '-1', 'parquet.block.size' = '262144', 'file.block-size' = '256 kb')",
	} {
		query(t, s, text)
	}
	for range 3 {
		query(t, s, "INSERT INTO big WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 30000) SELECT i, CONCAT(MD5(i), SHA1(i)) FROM n")
	}
	if got := query(t, s, "EXPLAIN ANALYZE SELECT COUNT(s) FROM big"); strings.Contains(got, "row groups=3 ") || !strings.Contains(got, "row groups=") {
		t.Fatalf("the table has no several row groups a file:\n%s", got)
	}
	for _, threads := range []string{"0", "1", "4"} {
		query(t, s, "SET lake_threads = "+threads)
		for _, text := range []string{"SELECT * FROM big LIMIT 10", "SELECT s, id + 1 FROM big LIMIT 5 OFFSET 7", "SELECT * FROM (SELECT id, s FROM big) x LIMIT 3"} {
			got := query(t, s, "EXPLAIN ANALYZE "+text)
			if threads == "4" { // who asks for threads has them all begin
				continue
			}
			if !strings.Contains(got, "row groups=1)") {
				t.Errorf("%s with %s threads:\n%s", text, threads, got)
			}
		}
		if got := query(t, s, "EXPLAIN ANALYZE SELECT s FROM big WHERE id = 29999"); !strings.Contains(got, "row groups=3)") { // one of each file
			t.Errorf("with %s threads:\n%s", threads, got)
		}
	}
}
