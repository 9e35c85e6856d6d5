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
	for _, q := range []string{"UPDATE t SET a = 1", "DELETE FROM t"} {
		if _, err := e.run(q); !errs.Is(err, errs.NotSupported) {
			t.Errorf("%s: %v", q, err)
		}
	}
	e.must(t, "UPDATE u SET a = 1;\nDELETE FROM u")
}
