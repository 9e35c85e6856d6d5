package mysql

import (
	"bytes"
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestLogins(t *testing.T) {
	s, _, addr := start(t, nil)
	for _, c := range []struct {
		user, password, options string
		code                    uint16
	}{
		{"nat", "secret", "", 0},
		{"nat", "Secret", "", 1045},
		{"nat", "", "", 1045},
		{"natempty", "", "", 0},
		{"natempty", "x", "", 1045},
		{"root", "", "", 0},
		{"root", "x", "", 1045},
		{"sha", "secret", "", 0}, // RSA
		{"sha", "secret", "", 0}, // cached
		{"sha", "wrong", "", 1045},
		{"sha", "secret", "tls=skip-verify", 0},
		{"sha", "wrong", "tls=skip-verify", 1045},
		{"nat", "secret", "tls=skip-verify", 0},
		{"nobody", "secret", "", 1045},
		{"nobody", "", "", 1045},
		{"nobody", "secret", "tls=skip-verify", 1045},
		{"locked", "secret", "", 3118},
		{"locked", "wrong", "", 1045},
	} {
		db := open(t, dsn(c.user, c.password, addr, c.options))
		err := db.Ping()
		var me *driver.MySQLError
		switch {
		case c.code == 0 && err != nil:
			t.Errorf("%s/%s %s: %v", c.user, c.password, c.options, err)
		case c.code != 0 && (!errors.As(err, &me) || me.Number != c.code):
			t.Errorf("%s/%s %s: %v, want %d", c.user, c.password, c.options, err, c.code)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if d := s.Stats().Denied; d != 11 {
		t.Errorf("denied = %d", d)
	}
}

func TestPasswordChangeEndsTheCache(t *testing.T) {
	acc := testAccounts()
	_, _, addr := start(t, func(c *Config) { c.Accounts = acc })
	ping := func(password string) error {
		db := open(t, dsn("sha", password, addr, ""))
		defer func() { _ = db.Close() }()
		return db.Ping()
	}
	if err := errors.Join(ping("secret"), ping("secret")); err != nil {
		t.Fatal(err)
	}
	acc.set("sha", methodSHA2, HashSHA2("other", []byte(testSalt)))
	if ping("secret") == nil {
		t.Error("the old password still works")
	}
	if err := ping("other"); err != nil {
		t.Error(err)
	}
}

func TestUnknownDatabase(t *testing.T) {
	_, _, addr := start(t, nil)
	db := open(t, "root@tcp("+addr+")/nope")
	var me *driver.MySQLError
	if err := db.Ping(); !errors.As(err, &me) || me.Number != 1049 {
		t.Errorf("got %v", err)
	}
}

func TestTextQueries(t *testing.T) {
	for _, options := range []string{"", "tls=skip-verify", "compress=true"} {
		t.Run(options, func(t *testing.T) {
			_, _, addr := start(t, nil)
			db := open(t, dsn("root", "", addr, "multiStatements=true&maxAllowedPacket=67108864&"+options))
			db.SetMaxOpenConns(1)
			var one int
			if err := db.QueryRow("SELECT 1").Scan(&one); err != nil || one != 1 {
				t.Fatal(one, err)
			}
			res, err := db.Exec("INSERT something")
			if err != nil {
				t.Fatal(err)
			}
			n, _ := res.RowsAffected()
			id, _ := res.LastInsertId()
			if n != 3 || id != 77 {
				t.Error(n, id)
			}
			for _, n := range []int{0, 1, 250, 251, 65535, 65536, 1<<24 - 6, 1<<24 - 5, 1<<24 - 1, 1 << 24, 17 << 20, 33 << 20} {
				var s string
				if err := db.QueryRow(fmt.Sprint("SELECT BYTES ", n)).Scan(&s); err != nil || len(s) != n {
					t.Fatalf("%d bytes: %d, %v", n, len(s), err)
				}
			}
			rows, err := db.Query("SELECT NUMBERS 2500; SET x = 1; SELECT 1")
			if err != nil {
				t.Fatal(err)
			}
			count := 0
			for rows.Next() {
				var x int
				if err := rows.Scan(&x); err != nil || x != count {
					t.Fatal(x, count, err)
				}
				count++
			}
			if count != 2500 || !rows.NextResultSet() {
				t.Fatal(count, rows.Err())
			}
			if !rows.Next() { // the driver skips results without rows
				t.Fatal("third result is missing", rows.Err())
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
			// An error ends the text; the connection lives.
			rows, err = db.Query("SELECT 1; SELECT error; SELECT 1")
			if err != nil {
				t.Fatal(err)
			}
			rows.Next()
			var me *driver.MySQLError
			if rows.NextResultSet() || !errors.As(rows.Err(), &me) || me.Number != 1054 || string(me.SQLState[:]) != "42S22" {
				t.Errorf("got %v", rows.Err())
			}
			_ = rows.Close()
			rows, _ = db.Query("SELECT LATE ERROR")
			for rows.Next() {
			}
			if !errors.As(rows.Err(), &me) || me.Number != 1242 {
				t.Errorf("got %v", rows.Err())
			}
			_ = rows.Close()
			if _, err := db.Exec(" ; "); !errors.As(err, &me) || me.Number != 1065 {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSeveralStatementsNeedTheCapability(t *testing.T) {
	_, _, addr := start(t, nil)
	db := open(t, dsn("root", "", addr, ""))
	var me *driver.MySQLError
	if _, err := db.Exec("SELECT 1; SELECT 2"); !errors.As(err, &me) || me.Number != 1064 || !strings.Contains(me.Message, "SELECT 2") {
		t.Errorf("got %v", err)
	}
	if _, err := db.Exec("SET x = 1;"); err != nil {
		t.Error(err)
	}
}

func TestPreparedEcho(t *testing.T) {
	for _, options := range []string{"", "compress=true"} {
		_, _, addr := start(t, nil)
		db := open(t, dsn("root", "", addr, "parseTime=true&maxAllowedPacket=67108864&"+options))
		at := time.Date(2024, 2, 29, 23, 59, 59, 123456000, time.UTC)
		big := bytes.Repeat([]byte("long "), 4<<20) // SEND_LONG_DATA
		in := []any{int64(-5), uint64(1<<64 - 1), 1.25, "h\u00e9llo", []byte{0xff, 0}, nil, at, at.Truncate(24 * time.Hour), true, string(big[:1000])}
		q := "SELECT ?" + strings.Repeat(", ?", len(in)-1)
		out := make([]any, len(in))
		ptr := make([]any, len(in))
		for i := range out {
			ptr[i] = &out[i]
		}
		if err := db.QueryRow(q, in...).Scan(ptr...); err != nil {
			t.Fatal(err)
		}
		want := []any{int64(-5), []byte("18446744073709551615"), 1.25, []byte("h\u00e9llo"), []byte{0xff, 0}, nil, []byte("2024-02-29 23:59:59.123456"), []byte("2024-02-29"), int64(1), big[:1000]}
		for i := range want {
			if fmt.Sprint(out[i]) != fmt.Sprint(want[i]) {
				t.Errorf("parameter %d: %v (%T), want %v", i, out[i], out[i], want[i])
			}
		}
		var got []byte
		if err := db.QueryRow("SELECT ?", big).Scan(&got); err != nil || !bytes.Equal(got, big) {
			t.Errorf("long data: %d bytes, %v", len(got), err)
		}
		st, err := db.Prepare("SELECT ?")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			var x int
			if err := st.QueryRow(i).Scan(&x); err != nil || x != i {
				t.Fatal(x, err)
			}
		}
		_ = st.Close()
		var me *driver.MySQLError
		if _, err := db.Prepare("SELEC ?"); !errors.As(err, &me) || me.Number != 1064 {
			t.Errorf("got %v", err)
		}
	}
}

func TestPanicsBecomeErrors(t *testing.T) {
	_, _, addr := start(t, nil)
	db := open(t, dsn("root", "", addr, ""))
	var me *driver.MySQLError
	for _, q := range []string{"SELECT PANIC", "SELECT LATE PANIC"} {
		rows, err := db.Query(q)
		if err == nil {
			for rows.Next() {
			}
			err = rows.Err()
			_ = rows.Close()
		}
		if !errors.As(err, &me) || me.Number != 1105 || !strings.Contains(me.Message, "incident") {
			t.Errorf("%s: %v", q, err)
		}
	}
	if err := db.Ping(); err != nil {
		t.Error(err)
	}
}

func TestClientThatLeavesCancelsItsStatement(t *testing.T) {
	for _, options := range []string{"", "tls=skip-verify"} {
		s, f, addr := start(t, nil)
		db := open(t, dsn("root", "", addr, options))
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err := db.QueryContext(ctx, "SELECT SLEEP(1000)")
		cancel()
		if err == nil {
			t.Fatal("no error")
		}
		for f.open.Load() != 0 {
			time.Sleep(10 * time.Millisecond)
		}
		_ = s
	}
}

func TestKill(t *testing.T) {
	_, _, addr := start(t, nil)
	db := open(t, dsn("root", "", addr, ""))
	ctx := t.Context()
	a, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var id int
	if err := a.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := a.QueryContext(ctx, "SELECT SLEEP(1000)")
		done <- err
	}()
	time.Sleep(50 * time.Millisecond)
	if _, err := db.Exec(fmt.Sprintf("KILL CONNECTION %d", id)); err != nil {
		t.Fatal(err)
	}
	var me *driver.MySQLError
	if err := <-done; !errors.As(err, &me) || me.Number != 1317 {
		t.Errorf("got %v", err)
	}
	_ = a.Raw(func(any) error { return sqldriver.ErrBadConn })
	_ = a.Close()
	if _, err := db.Exec("KILL CONNECTION 99999"); !errors.As(err, &me) || me.Number != 1094 {
		t.Errorf("got %v", err)
	}
}

func TestConnectionLimit(t *testing.T) {
	_, _, addr := start(t, func(c *Config) { c.MaxConnections = 2 })
	db := open(t, dsn("root", "", addr, ""))
	ctx := t.Context()
	for range 2 {
		c, err := db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
	}
	var me *driver.MySQLError
	if _, err := db.Conn(ctx); !errors.As(err, &me) || me.Number != 1040 {
		t.Errorf("got %v", err)
	}
}
