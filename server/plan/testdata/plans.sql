SELECT id, c FROM t WHERE a > 1 AND c LIKE 'x%'
SELECT COUNT(*) FROM t
SELECT COUNT(*) FROM t WHERE a = 1
SELECT a, SUM(b) AS s FROM t GROUP BY a HAVING a > 1 AND SUM(b) > 2 ORDER BY s DESC LIMIT 5
SELECT c, COUNT(*) FROM t GROUP BY c HAVING c = 'x'
SELECT t.id, u.v FROM t, u WHERE t.id = u.t_id AND t.a = 1 AND u.v > 5
SELECT t.id, u.v FROM t LEFT JOIN u ON t.id = u.t_id AND t.a = 1 AND u.v > 5 WHERE t.b = 2
SELECT t.id, u.v FROM t LEFT JOIN u ON t.id = u.t_id WHERE u.v = 3
SELECT t.id FROM t LEFT JOIN u ON t.id = u.t_id WHERE u.v IS NULL
SELECT t.id FROM t JOIN u ON t.id < u.t_id
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id AND u.v > 1)
SELECT id FROM t WHERE id NOT IN (SELECT t_id FROM u)
SELECT id FROM t WHERE id NOT IN (SELECT id FROM u)
SELECT id, id IN (SELECT t_id FROM u) FROM t
SELECT id FROM t WHERE a > (SELECT AVG(v) FROM u)
SELECT id FROM t WHERE a > (SELECT COUNT(*) FROM u WHERE u.t_id = t.id)
SELECT id FROM t WHERE a > (SELECT COUNT(*) FROM u WHERE u.t_id < t.id)
SELECT id, (SELECT v FROM u WHERE u.id = t.id) FROM t
SELECT id FROM (SELECT id, a + 1 AS x FROM t) d WHERE x > 5 ORDER BY id LIMIT 3 OFFSET 1
SELECT x FROM (SELECT a AS x FROM t UNION ALL SELECT v FROM u) d WHERE x = 2
SELECT x FROM (SELECT a AS x FROM t UNION SELECT v FROM u) d WHERE x = 2 LIMIT 1
SELECT a FROM t UNION ALL SELECT v FROM u LIMIT 3
SELECT DISTINCT a FROM t WHERE FALSE
WITH c AS (SELECT a, COUNT(*) AS n FROM t GROUP BY a) SELECT x.a FROM c x JOIN c y ON x.n = y.n
SELECT t.id FROM t, u WHERE (t.id = u.t_id AND u.v = 1 AND t.a = 1) OR (t.id = u.t_id AND u.v = 2 AND t.a = 2)
SELECT t.id FROM t JOIN u USING (id) JOIN t w ON w.id = u.t_id WHERE RAND() < 2
SELECT id FROM t FOR VERSION AS OF 1
WITH c AS (SELECT a, b FROM t WHERE b > 1) SELECT x.a FROM c x JOIN c y ON x.b = y.a
WITH c AS (SELECT a, COUNT(*) AS n FROM t GROUP BY a) SELECT n FROM c
WITH c AS (SELECT id, RAND() AS r FROM t) SELECT x.id FROM c x JOIN c y ON x.r = y.r
WITH c AS (SELECT a, b, COUNT(*) AS n, SUM(id) AS s FROM t GROUP BY a, b) SELECT x.n FROM c x JOIN c y ON x.a = y.a WHERE x.b = 1 AND y.b = 2
WITH c AS (SELECT 't' AS k, a, COUNT(*) AS n FROM t GROUP BY a UNION ALL SELECT 'u', v, COUNT(*) FROM u GROUP BY v) SELECT x.n FROM c x JOIN c y ON x.a = y.a WHERE x.k = 't' AND y.k = 't' AND y.n > 3
WITH c AS (SELECT a, b, COUNT(*) AS n FROM t GROUP BY a, b) SELECT x.n FROM c x JOIN c y ON x.a = y.a WHERE x.b = 1 AND y.b = 2 AND y.n > 7
SELECT a, SUM(v) AS s FROM t JOIN u ON t.id = u.t_id GROUP BY a HAVING s > (SELECT SUM(v) FROM t JOIN u ON t.id = u.t_id)
SELECT (SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM u GROUP BY v) d), (SELECT MIN(n) FROM (SELECT COUNT(*) AS n FROM u GROUP BY v) e)
WITH RECURSIVE s AS (SELECT v, COUNT(*) AS n FROM u GROUP BY v), r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r JOIN s ON r.i = s.v) SELECT i FROM r
WITH c AS (SELECT a, COUNT(*) AS n FROM t GROUP BY a), d AS (SELECT n, COUNT(*) AS k FROM c GROUP BY n) SELECT * FROM d x JOIN d y ON x.k = y.n JOIN c ON c.n = x.n
SELECT t.id FROM t, u WHERE t.id = u.t_id AND u.v = 3 AND t.b < (SELECT AVG(b) FROM t AS s WHERE s.a = u.id)
SELECT a, a - 1, COUNT(*) AS n, 'x' AS k FROM t GROUP BY a, a - 1, a * b, b, k ORDER BY n DESC LIMIT 10
SELECT a + 1, COUNT(*) AS n, 'c' AS c FROM t GROUP BY a + 1, c
SELECT v, v, COUNT(*) FROM u GROUP BY v, v + RAND(), v / 2
SELECT a, COUNT(DISTINCT b) AS n FROM t GROUP BY a ORDER BY n DESC LIMIT 10
SELECT COUNT(DISTINCT a, b), COUNT(DISTINCT a, b) + 1 FROM t
SELECT a, COUNT(DISTINCT b), COUNT(*) FROM t GROUP BY a
