package session

import (
	"fmt"
	"strings"
	"testing"
)

// topTables makes tables of the same columns with rows in several files and row
// groups: in the order of t, in none, with keys that were written several times
// and deleted, with deletion vectors.
func topTables(t *testing.T, s *Session) []string {
	query(t, s, "CREATE DATABASE top")
	query(t, s, "USE top")
	query(t, s, "SET cte_max_recursion_depth = 100000")
	small := "'parquet.block.size' = '131072', 'file.block-size' = '128 kb'"
	columns := " (id BIGINT NOT NULL, t DATETIME(3), d DECIMAL(8,2), few INT, word VARCHAR(40) COLLATE utf8mb4_0900_bin, ci VARCHAR(20) COLLATE utf8mb4_0900_ai_ci, f DOUBLE, pad VARCHAR(60)"
	query(t, s, "CREATE TABLE rising"+columns+") /*T! WITH ('bucket' = '-1', "+small+") */")
	query(t, s, "CREATE TABLE mixed"+columns+") /*T! WITH ('bucket' = '-1', "+small+") */")
	query(t, s, "CREATE TABLE merged"+columns+", PRIMARY KEY (id)) /*T! WITH ('bucket' = '2', 'write-only' = 'true', "+small+") */")
	query(t, s, "CREATE TABLE vectors"+columns+", PRIMARY KEY (id)) /*T! WITH ('bucket' = '1', 'deletion-vectors.enabled' = 'true', "+small+") */")
	row := func(from, n int, key string) string {
		return fmt.Sprintf("WITH RECURSIVE n AS (SELECT %d AS i UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", from, from+n-1) +
			"SELECT " + key + ", DATE_ADD('2026-01-01', INTERVAL (" + key + ") DIV 3 SECOND), IF(i % 97 = 0, NULL, (i * 7919 % 10007) / 100), IF(i % 5 = 0, NULL, i % 3), " +
			"IF(i % 89 = 0, NULL, CONCAT('word ', MD5(i % 4000))), CONCAT(IF(i % 2, 'A', 'a'), i * 31 % 1000), (i * 31 % 5003 - 2500) / 8, CONCAT(SHA1(i), i) FROM n"
	}
	for k := range 3 {
		query(t, s, "INSERT INTO rising "+row(1+9000*k, 9000, "i"))
		query(t, s, "INSERT INTO mixed "+row(1+3000*k, 3000, "i * 7919 % 20011"))
	}
	for k := range 3 {
		query(t, s, "INSERT INTO merged "+row(1+k, 3000, "i * 13 % 3001"))
		query(t, s, "INSERT INTO vectors "+row(1+k, 3000, "i + 500"))
	}
	query(t, s, "DELETE FROM merged WHERE id % 7 = 1 OR id < 40 OR id > 2950")
	query(t, s, "DELETE FROM vectors WHERE id % 3 = 1 OR id < 540")
	query(t, s, "UPDATE vectors SET t = '2025-12-31', few = 9 WHERE id = 2001")
	return []string{"rising", "mixed", "merged", "vectors"}
}

// TestTopNThreshold: what a top-N tells the scan below it changes no row, whatever
// the key, its direction, the place of NULLs, ties, conditions, files and rows that
// hide others, threads and sizes of batches.
func TestTopNThreshold(t *testing.T) {
	srv := warehouse(t)
	s := session(t, srv, OpenOptions{})
	queries := []string{
		"SELECT id FROM $ ORDER BY id LIMIT 5",
		"SELECT * FROM $ ORDER BY id DESC LIMIT 3 OFFSET 4",
		"SELECT id, pad FROM $ ORDER BY t LIMIT 7",
		"SELECT id, pad FROM $ ORDER BY t DESC LIMIT 7",
		"SELECT id, t FROM $ WHERE word LIKE '%abc%' ORDER BY t LIMIT 4",
		"SELECT id FROM $ WHERE few > 0 ORDER BY t DESC, word LIMIT 6 OFFSET 2",
		"SELECT id, few FROM $ ORDER BY few LIMIT 9",
		"SELECT id, few FROM $ ORDER BY few DESC LIMIT 9",
		"SELECT id, few FROM $ WHERE few IS NOT NULL ORDER BY few, id DESC LIMIT 9",
		"SELECT id, d FROM $ ORDER BY d DESC, id LIMIT 12",
		"SELECT id, d FROM $ ORDER BY d LIMIT 250, 12",
		"SELECT id, word FROM $ ORDER BY word DESC LIMIT 5",
		"SELECT id, word FROM $ WHERE word > 'word 7' ORDER BY word, t DESC LIMIT 5",
		"SELECT id, ci FROM $ ORDER BY ci, id LIMIT 5",
		"SELECT id, ci FROM $ ORDER BY ci DESC LIMIT 5",
		"SELECT id, f FROM $ ORDER BY f LIMIT 5",
		"SELECT id, f FROM $ ORDER BY f DESC LIMIT 5",
		"SELECT id, x FROM (SELECT id, t AS x, few FROM $ WHERE id % 2 = 0) y WHERE few <> 1 ORDER BY x DESC LIMIT 5",
		"SELECT id, few FROM $ ORDER BY few LIMIT 2000, 3",
		"SELECT a.id, b.id FROM $ a LEFT JOIN $ b ON b.id = a.id + 1 AND b.few = 1 ORDER BY a.t DESC, b.id LIMIT 6",
		"SELECT a.id FROM $ a WHERE EXISTS (SELECT 1 FROM $ b WHERE b.id = a.id * 2 AND b.few > 0) ORDER BY a.id DESC LIMIT 4",
		"SELECT few, COUNT(*) FROM $ GROUP BY few ORDER BY few DESC LIMIT 2",
		"SELECT id, ROW_NUMBER() OVER (ORDER BY id) FROM $ ORDER BY id DESC LIMIT 3",
	}
	for _, table := range topTables(t, s) {
		for _, q := range queries {
			q = strings.ReplaceAll(q, "$", table)
			query(t, s, "SET lake_pruning = OFF, lake_threads = 1, lake_batch_rows = 0")
			all := query(t, s, q)
			if all == "" && !strings.Contains(q, "2000") {
				t.Errorf("%s: no rows", q)
			}
			for i, set := range []string{"lake_threads = 1, lake_batch_rows = 0", "lake_threads = 3, lake_batch_rows = 700", "lake_threads = 2, lake_batch_rows = 100"} {
				if i > 0 && (table == "mixed") != (i == 2) {
					continue
				}
				query(t, s, "SET lake_pruning = ON, "+set)
				if got := query(t, s, q); got != all {
					t.Errorf("%s with %s:\n%s\nwithout a threshold:\n%s", q, set, got, all)
				}
			}
		}
	}
	query(t, s, "SET lake_pruning = ON, lake_threads = 1, lake_batch_rows = 0")
	// Most of a table is not read: EXPLAIN ANALYZE counts it.
	for q, some := range map[string]bool{
		"SELECT * FROM rising ORDER BY t LIMIT 10":                                      true,
		"SELECT * FROM rising WHERE few = 1 ORDER BY t, word LIMIT 10":                  true,
		"SELECT a.id FROM rising a LEFT JOIN mixed b ON a.id = b.id ORDER BY 1 LIMIT 3": true,
		"SELECT id FROM rising ORDER BY id + 1 LIMIT 10":                                false,
		"SELECT id FROM rising ORDER BY ci LIMIT 10":                                    false,
		"SELECT id FROM merged ORDER BY t LIMIT 10":                                     false,
	} {
		if got := query(t, s, "EXPLAIN ANALYZE "+q); strings.Contains(got, "left out by the top-N") != some {
			t.Errorf("%s:\n%s", q, got)
		}
	}
	// Of files in one split the one with the largest keys is read first.
	for _, q := range []string{"SELECT * FROM rising ORDER BY t DESC LIMIT 10", "SELECT id FROM (SELECT id, pad FROM rising WHERE few > 0) x ORDER BY id DESC LIMIT 3"} {
		if got := query(t, s, "EXPLAIN ANALYZE "+q); !strings.Contains(got, "left out by the top-N: files=2 ") {
			t.Errorf("%s:\n%s", q, got)
		}
	}
}
