package ingest

import (
	"database/sql"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/mariadb"
	"github.com/thermocline/thermocline/internal/testkit"
)

// server is a private MariaDB with a connection, or the MySQL whose port the
// environment names (THERMOCLINE_MYSQL_PORT, account t with password t and all
// rights; what is on it is removed). Tests write MariaDB's SQL.
type server struct {
	*mariadb.Server
	t     *testing.T
	db    *sql.DB
	mysql bool
}

func newServer(t *testing.T, options ...string) *server {
	t.Helper()
	if port, err := strconv.Atoi(os.Getenv("THERMOCLINE_MYSQL_PORT")); err == nil {
		if len(options) > 0 {
			t.Skipf("needs a MariaDB: %s is an option of it", options[0])
		}
		return emptyMySQL(t, port)
	}
	s := testkit.MariaDB(t, options...)
	return &server{s, t, connect(t, s.DSN("mysql")), false}
}

func connect(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn+"?multiStatements=true")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// emptyMySQL is the MySQL at port, without databases and without a binlog.
func emptyMySQL(t *testing.T, port int) *server {
	t.Helper()
	s := &server{&mariadb.Server{Port: port}, t, connect(t, "t:t@tcp(127.0.0.1:"+strconv.Itoa(port)+")/"), true}
	rs, err := s.db.Query("SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')")
	if err != nil {
		t.Fatal(err)
	}
	defer rs.Close()
	for rs.Next() {
		var name string
		if err := rs.Scan(&name); err != nil {
			t.Fatal(err)
		}
		s.exec("DROP DATABASE `" + name + "`")
	}
	s.exec("CREATE USER IF NOT EXISTS '"+mariadb.User+"'@'%' IDENTIFIED BY '"+mariadb.Password+"'", "GRANT ALL ON *.* TO '"+mariadb.User+"'@'%' WITH GRANT OPTION",
		"SET GLOBAL cte_max_recursion_depth = 10000000", "RESET BINARY LOGS AND GTIDS")
	s.db.Close()
	s.db = connect(t, s.DSN("mysql"))
	return s
}

// onMariaDB skips the rest of a test that no other server can run.
func (s *server) onMariaDB(why string) {
	s.t.Helper()
	if s.mysql {
		s.t.Skip("needs a MariaDB: " + why)
	}
}

var (
	sequences = regexp.MustCompile(`(?i)\b(?:\w+\.)?seq_(\d+)_to_(\d+)\b`)
	replaces  = regexp.MustCompile(`(?i)CREATE OR REPLACE TABLE (\S+)`)
)

// sql is MariaDB's SQL in that of the server.
func (s *server) sql(q string) string {
	if !s.mysql {
		return q
	}
	q = sequences.ReplaceAllString(q, "(WITH RECURSIVE sq AS (SELECT $1 AS seq UNION ALL SELECT seq + 1 FROM sq WHERE seq < $2) SELECT seq FROM sq) AS seqs")
	q = replaces.ReplaceAllString(q, "DROP TABLE IF EXISTS $1; CREATE TABLE $1")
	return strings.NewReplacer("SHOW MASTER STATUS", "SHOW BINARY LOG STATUS", "RESET MASTER", "RESET BINARY LOGS AND GTIDS").Replace(q)
}

// logFiles are the names of the binlog's files, oldest first.
func (s *server) logFiles() (names []string) {
	s.t.Helper()
	rs, err := s.db.Query("SHOW BINARY LOGS")
	if err != nil {
		s.t.Fatal(err)
	}
	defer rs.Close()
	cols, err := rs.Columns()
	if err != nil {
		s.t.Fatal(err)
	}
	for rs.Next() {
		var name string
		dest := []any{&name}
		for range cols[1:] {
			dest = append(dest, new(any))
		}
		if err := rs.Scan(dest...); err != nil {
			s.t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

func (s *server) exec(stmts ...string) {
	s.t.Helper()
	for _, q := range stmts {
		if _, err := s.db.Exec(s.sql(q)); err != nil {
			s.t.Fatalf("%s: %v", q, err)
		}
	}
}
