package exec_test

import (
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

// TestChangeOfAnOldVersion: a table whose options name a version of it is not
// changed by what that version holds.
func TestChangeOfAnOldVersion(t *testing.T) {
	e := newEngine("db")
	e.must(t, `CREATE TABLE t (a INT) WITH ('scan.snapshot-id' = '1');
CREATE TABLE u (a INT)`)
	e.must(t, `CREATE TABLE f (a INT PRIMARY KEY NOT ENFORCED) WITH ('scan.fallback-branch' = 'b');
CREATE TABLE m (a INT PRIMARY KEY NOT ENFORCED) WITH ('scan.mode' = 'compacted-full')`)
	for _, q := range []string{"UPDATE t SET a = 1", "DELETE FROM t", "UPDATE f SET a = 1", "DELETE FROM f WHERE a = 2", "UPDATE m SET a = 1", "REPLACE INTO f VALUES (1)",
		"INSERT INTO f VALUES (1) ON DUPLICATE KEY UPDATE a = a", "INSERT IGNORE INTO f VALUES (1)",
		"MERGE INTO f USING u ON f.a = u.a WHEN MATCHED THEN DELETE"} {
		if _, err := e.run(q); !errs.Is(err, errs.NotSupported) {
			t.Errorf("%s: %v", q, err)
		}
	}
	e.must(t, "UPDATE u SET a = 1;\nDELETE FROM u")
}
