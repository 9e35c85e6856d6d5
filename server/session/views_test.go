package session

import (
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

// TestViews follows what MySQL 9.7 answers to the same statements.
func TestViews(t *testing.T) {
	srv := server(t)
	s := session(t, srv, OpenOptions{})
	query(t, s, "CREATE DATABASE vw")
	query(t, s, "USE vw")
	query(t, s, "CREATE TABLE a (id INT NOT NULL, g INT, x DECIMAL(10,2), s VARCHAR(20) COLLATE utf8mb4_general_ci)")
	query(t, s, "CREATE TABLE b (id INT, g INT, y INT)")
	query(t, s, "INSERT INTO a VALUES (1,1,10,'A'),(2,1,20,'b'),(3,2,30,'c'),(4,2,NULL,NULL),(5,NULL,50,'a')")
	query(t, s, "INSERT INTO b VALUES (1,1,1),(2,2,2),(3,2,NULL),(4,3,4)")
	query(t, s, "CREATE VIEW v1 AS SELECT * FROM a WHERE x > 10")
	query(t, s, "CREATE VIEW v2 (p, q) AS SELECT g, COUNT(*) FROM a GROUP BY g")
	query(t, s, "CREATE VIEW v3 AS SELECT a.*, b.y, a.id+1 FROM a JOIN b USING (id)")
	query(t, s, "CREATE VIEW v4 AS WITH c AS (SELECT g, SUM(x) t FROM a GROUP BY g) SELECT * FROM c NATURAL JOIN (SELECT * FROM b) bb")
	query(t, s, "CREATE VIEW v5 AS SELECT v1.id, q FROM v1 JOIN v2 ON v1.g = v2.p")
	query(t, s, "CREATE VIEW v6 AS SELECT id FROM a UNION ALL SELECT id FROM b ORDER BY 1 LIMIT 3")
	wantKind(t, s, "CREATE VIEW v1 AS SELECT 1", errs.TableExists)
	wantKind(t, s, "CREATE VIEW a AS SELECT 1", errs.TableExists)
	wantKind(t, s, "CREATE TABLE v1 (a INT)", errs.TableExists)
	wantKind(t, s, "CREATE OR REPLACE VIEW a AS SELECT 1", errs.WrongObject)
	wantKind(t, s, "CREATE VIEW x (a,b) AS SELECT 1", errs.ViewColumns)
	wantKind(t, s, "CREATE VIEW x AS SELECT @x", errs.ViewVariable)
	wantKind(t, s, "CREATE VIEW x AS SELECT nothing FROM a", errs.UnknownColumn)
	want(t, s, "SELECT * FROM v1 ORDER BY id", "2|1|20.00|b\n3|2|30.00|c\n5|NULL|50.00|a")
	want(t, s, "SELECT * FROM v2 ORDER BY p", "NULL|1\n1|2\n2|2")
	want(t, s, "SELECT * FROM v3 ORDER BY id", "1|1|10.00|A|1|2\n2|1|20.00|b|2|3\n3|2|30.00|c|NULL|4\n4|2|NULL|NULL|4|5")
	want(t, s, "SELECT * FROM v4 ORDER BY 1,2,3,4", "1|30.00|1|1\n2|30.00|2|2\n2|30.00|3|NULL")
	want(t, s, "SELECT * FROM v5 ORDER BY id", "2|2\n3|2")
	want(t, s, "SELECT * FROM v6", "1\n1\n2")
	want(t, s, "SELECT s, COUNT(*) FROM v1 WHERE s = 'A' GROUP BY s", "a|1")
	want(t, s, "SELECT v1.id, vw.v1.x FROM v1 WHERE EXISTS (SELECT 1 FROM v2 WHERE q = v1.g) ORDER BY 1", "2|20.00\n3|30.00")
	want(t, s, "SELECT column_name, column_type, is_nullable FROM information_schema.columns WHERE table_schema='vw' AND table_name IN ('v2','v3') ORDER BY table_name, ordinal_position",
		"p|int|YES\nq|bigint|NO\nid|int|NO\ng|int|YES\nx|decimal(10,2)|YES\ns|varchar(20)|YES\ny|int|YES\na.id+1|bigint|NO")
	want(t, s, "SHOW FULL TABLES", "a|BASE TABLE\nb|BASE TABLE\nv1|VIEW\nv2|VIEW\nv3|VIEW\nv4|VIEW\nv5|VIEW\nv6|VIEW")
	want(t, s, "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema='vw' AND table_name < 'v2' ORDER BY 1", "a|BASE TABLE\nb|BASE TABLE\nv1|VIEW")
	want(t, s, "SELECT table_name, definer, security_type FROM information_schema.views WHERE table_schema='vw' AND table_name='v1'", "v1|root@localhost|DEFINER")

	// The text names everything, and makes the same view where it is read.
	want(t, s, "SHOW CREATE VIEW v3", "v3|CREATE ALGORITHM=UNDEFINED DEFINER=`root`@`localhost` SQL SECURITY DEFINER VIEW `v3` AS "+
		"SELECT id, a.g, x, s, b.y, a.id + 1 AS `a.id+1` FROM vw.a JOIN vw.b USING (id)|utf8mb4|utf8mb4_0900_ai_ci")
	query(t, s, "USE `empty`")
	want(t, s, "SELECT * FROM vw.v4 ORDER BY 1,2,3,4", "1|30.00|1|1\n2|30.00|2|2\n2|30.00|3|NULL")
	query(t, s, "USE vw")

	query(t, s, "ALTER VIEW v6 AS SELECT 7 AS seven")
	want(t, s, "SELECT seven FROM v6", "7")
	query(t, s, "CREATE OR REPLACE VIEW v6 AS SELECT 8 AS eight")
	want(t, s, "SELECT * FROM v6", "8")
	wantKind(t, s, "CREATE OR REPLACE VIEW v6 AS SELECT * FROM v6", errs.UnknownTable)
	wantKind(t, s, "DROP VIEW a", errs.WrongObject)
	wantKind(t, s, "DROP VIEW nope", errs.DropTableMissing)
	query(t, s, "DROP VIEW IF EXISTS nope")
	wantKind(t, s, "INSERT INTO v2 VALUES (1,2)", errs.NotSupported)
	wantKind(t, s, "DELETE FROM v2", errs.NotSupported)
	query(t, s, "DROP VIEW v1")
	wantKind(t, s, "SELECT * FROM v5", errs.ViewInvalid)
	wantKind(t, s, "DESCRIBE v5", errs.ViewInvalid)
	want(t, s, "SHOW TABLES LIKE 'v5'", "v5")
	// Views that would read each other cannot be made by replacing one.
	query(t, s, "CREATE VIEW v1 AS SELECT 1 AS id, 1 AS g")
	wantKind(t, s, "CREATE OR REPLACE VIEW v1 AS SELECT id, q AS g FROM v5", errs.ViewRecursion)
	want(t, s, "SELECT * FROM v1", "1|1")
	query(t, s, "DROP VIEW v2, v3")
	query(t, s, "DROP DATABASE vw")
	query(t, s, "CREATE DATABASE vw")
	want(t, s, "SHOW TABLES FROM vw", "")
}

// TestViewRights: a view reads with the rights of its definer.
func TestViewRights(t *testing.T) {
	srv := server(t)
	root := session(t, srv, OpenOptions{})
	for _, q := range []string{"CREATE DATABASE vw", "CREATE TABLE vw.secret (id INT, s TEXT)", "INSERT INTO vw.secret VALUES (1,'x'),(2,'y')",
		"CREATE VIEW vw.shown AS SELECT id FROM vw.secret", "CREATE SQL SECURITY INVOKER VIEW vw.own AS SELECT id FROM vw.secret"} {
		query(t, root, q)
	}
	// A definer without rights, and one that does not exist.
	query(t, root, "CREATE DEFINER=nobody@'%' VIEW vw.gone AS SELECT id FROM vw.secret")
	wantKind(t, root, "SELECT * FROM vw.gone", errs.NoDefiner)
	want(t, root, "SELECT * FROM vw.shown ORDER BY id", "1\n2")
	want(t, root, "SELECT * FROM vw.own ORDER BY id", "1\n2")
}
