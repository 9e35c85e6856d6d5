package mysql

import (
	"os/exec"
	"strconv"
	"testing"

	"github.com/thermocline/thermocline/internal/mariadb"
	"github.com/thermocline/thermocline/internal/testkit"
)

// TestRandomQueries compares random queries with a MariaDB's answers. Where MariaDB
// is not as MySQL, .ci/sqlfuzz_mariadb.py names the difference; make sqlfuzz
// compares with a MySQL, and all statements.
func TestRandomQueries(t *testing.T) {
	testkit.Shared(t, "oracles/sqlfuzz")
	python := testkit.Tool(t, "THERMOCLINE_PYMYSQL")
	queries := 300
	if testing.Short() {
		queries = 60
	}
	s := testkit.MariaDB(t)
	out, err := exec.Command(python, "../../.ci/sqlfuzz.py", "--mariadb", "--oracle", s.Addr()+":"+mariadb.User+":"+mariadb.Password,
		"--sut", lakePort(t)+":root:", "--seed", "5", "--queries", strconv.Itoa(queries)).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
