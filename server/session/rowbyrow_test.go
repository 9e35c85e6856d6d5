package session

import (
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

// Select lists that assign and read user variables are computed row by row: the
// answers of a MySQL are in testdata/mysql-functions/function-assignments.jsonl.
// What is not computed so is refused, and never answered otherwise.
func TestRowByRowRefusals(t *testing.T) {
	s := session(t, server(t), OpenOptions{Database: "shop"})
	query(t, s, "SET @n = 0, @d = 0.5")
	for _, text := range []string{
		"SELECT order_id FROM orders WHERE (@n := @n + 1) < 2",
		"SELECT order_id, @n := @n + 1 AS x FROM orders HAVING x > 1",
		"SELECT @n := @n + 1, COUNT(*) FROM orders GROUP BY region",
		"SELECT DISTINCT @n := @n + 1 FROM orders",
		"SELECT @n := @n + 1 FROM orders UNION ALL SELECT @n := @n + 1 FROM orders",
		"SELECT (SELECT @n := @n + 1) FROM orders",
		"SELECT @n := @n + 1, ROW_NUMBER() OVER () FROM orders",
		"SELECT SUM(@n := @n + amount) FROM orders",
		"SELECT @n := @n + 1 FROM orders ORDER BY @n",
		"SELECT x, @n FROM (SELECT @n := @n + 1 AS x FROM orders) q",
		"SELECT a.x FROM (SELECT @n := @n + 1 AS x FROM orders) a, (SELECT @n := 0) b",
		"SELECT @unset := @unset + 1 FROM orders",
		"SELECT @n := @d, LEFT('abc', @n) FROM orders",
		"UPDATE orders SET amount = 1 WHERE (@n := @n + 1) < 3",
		"UPDATE orders SET amount = (SELECT @n := @n + 1)",
		"UPDATE orders a JOIN customers b ON TRUE SET a.amount = (@n := @n + 1)",
		"DELETE FROM orders WHERE (@n := @n + 1) < 3",
		"INSERT INTO orders (order_id) VALUES (@n := @n + 1)",
		"SELECT LAST_INSERT_ID(order_id) FROM orders GROUP BY region",
	} {
		wantKind(t, s, text, errs.NotSupported)
	}
}

// The rows are the same whatever the threads, batches and spilling are.
func TestRowByRowLaws(t *testing.T) {
	s := session(t, server(t), OpenOptions{Database: "shop"})
	const seq = "(WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 500) SELECT n * 7 % 500 AS i, n % 3 AS g FROM s) seq"
	for _, q := range []string{
		"SELECT i, @r := @r + i FROM " + seq + ", (SELECT @r := 0) z ORDER BY i",
		"SELECT g, i, @k := IF(@p = g, @k + 1, 1), @p := g FROM " + seq + ", (SELECT @k := 0, @p := NULL) z ORDER BY g, i DESC",
		"SELECT * FROM (SELECT i, @r := @r + 1 AS n FROM " + seq + ", (SELECT @r := 0) z ORDER BY i DESC) q WHERE n % 50 = 1",
		"SELECT i, @r := @r + 1 FROM " + seq + ", (SELECT @r := 0) z ORDER BY i LIMIT 5 OFFSET 490",
		"SELECT MAX(n) FROM (SELECT @r := @r + 1 AS n FROM " + seq + ", (SELECT @r := 0) z) q",
	} {
		query(t, s, "SET lake_threads = 1, lake_batch_rows = 4096, lake_spill = 'ON'")
		expected := query(t, s, q)
		for _, set := range []string{"lake_threads = 5", "lake_batch_rows = 7", "lake_batch_rows = 1", "lake_threads = 2, lake_batch_rows = 3, lake_spill = 'FORCE'"} {
			query(t, s, "SET "+set)
			want(t, s, q, expected)
		}
	}
	want(t, s, "SELECT @r", "500")
}
