package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/ingest/source"
)

// TestXA: rows of an XA transaction come where it is committed, wherever the stream
// began, and not when it is rolled back.
func TestXA(t *testing.T) { checkXA(t, startServer(t)) }

// TestXAMySQL is TestXA on a real MySQL.
func TestXAMySQL(t *testing.T) {
	port, err := strconv.Atoi(os.Getenv("THERMOCLINE_MYSQL_PORT"))
	if err != nil {
		t.Skip("needs a MySQL server: set THERMOCLINE_MYSQL_PORT (account t, password t)")
	}
	checkXA(t, connectServer(t, port, "t", "t"))
}

func checkXA(t *testing.T, srv *testServer) {
	ctx := context.Background()
	srv.db.SetMaxOpenConns(1)
	srv.exec("DROP DATABASE IF EXISTS x; CREATE DATABASE x; CREATE TABLE x.t (id INT PRIMARY KEY, v INT); CREATE TABLE x.u (id INT PRIMARY KEY); INSERT INTO x.t VALUES (1,1),(2,2)")
	t.Cleanup(func() { srv.exec("DROP DATABASE IF EXISTS x") })
	// A session that has prepared a transaction does nothing else until it ends it.
	other, err := sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(127.0.0.1:%d)/?multiStatements=true", srv.user, srv.password, srv.port))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	xa := func(name, rows string) func(end string) {
		conn, err := other.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		run := func(q string) {
			if _, err := conn.ExecContext(ctx, q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
		run("XA START '" + name + "'; " + rows + "; XA END '" + name + "'; XA PREPARE '" + name + "'")
		return func(end string) {
			run("XA " + end + " '" + name + "'")
			conn.Close()
		}
	}
	before := xa("before", "INSERT INTO x.t VALUES (5,5)")
	st, tables := session(t, srv, "x.t")
	positions := []source.Position{st.Position()}
	a := xa("a", "UPDATE x.t SET v = 10 WHERE id = 1; INSERT INTO x.t VALUES (6,6)")
	srv.exec("INSERT INTO x.t VALUES (3,3)", "FLUSH LOGS")
	b := xa("b", "DELETE FROM x.t WHERE id = 2")
	srv.exec("INSERT INTO x.t VALUES (4,4)")
	before("COMMIT")
	b("ROLLBACK")
	a("COMMIT")
	xa("a", "UPDATE x.t SET v = 11 WHERE id = 6")("ROLLBACK")
	a = xa("a", "UPDATE x.t SET v = 12 WHERE id = 6")
	xa("elsewhere", "INSERT INTO x.u VALUES (1)")("COMMIT")
	a("COMMIT")
	srv.exec("XA START 'one'; INSERT INTO x.t VALUES (7,7); XA END 'one'; XA COMMIT 'one' ONE PHASE", "INSERT INTO x.t VALUES (99,99)")
	var all []string
	at := []int{0}
	for len(all) == 0 || all[len(all)-1] != "+I 99,99" {
		changes, stops := follow(t, st, tables, 1)
		if len(stops) > 0 {
			t.Fatal(stops)
		}
		all = append(all, texts(changes)...)
		positions, at = append(positions, st.Position()), append(at, len(all))
	}
	want := []string{"+I 3,3", "+I 4,4", "+I 5,5", "+U 1,10", "+I 6,6", "+U 6,12", "+I 7,7", "+I 99,99"}
	if !reflect.DeepEqual(all, want) {
		t.Errorf("%q, want %q", all, want)
	}
	// From every place in between the rest is the same.
	for i, p := range positions {
		st, err := srv.source().Stream(ctx, p, tables)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range len(positions) - 1 - i {
			changes, stops := follow(t, st, tables, 1)
			if len(stops) > 0 {
				t.Fatal(stops)
			}
			got = append(got, texts(changes)...)
		}
		if rest := all[at[i]:]; len(rest)+len(got) > 0 && !reflect.DeepEqual(got, rest) {
			t.Errorf("from %s: %q, want %q", p, got, rest)
		}
		st.Close()
	}
	// What the log does not have any more is said.
	a = xa("gone", "INSERT INTO x.t VALUES (8,8)")
	srv.exec("FLUSH LOGS")
	st, tables = session(t, srv, "x.t")
	names, err := srv.source().logFiles(ctx, srv.db)
	if err != nil {
		t.Fatal(err)
	}
	srv.exec("PURGE BINARY LOGS TO '" + names[len(names)-1].name + "'")
	a("COMMIT")
	changes, stops := follow(t, st, tables, 1)
	if len(changes) > 0 || len(stops) != 1 || !strings.Contains(stops[0], "x.t: lost 4: the XA transaction x'676f6e65',x'',1 was committed, and the log does not have its rows any more") {
		t.Errorf("%q %q", changes, stops)
	}
}
