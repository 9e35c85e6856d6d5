package mysql

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/session"
)

type sessions struct{ *session.Server }

func (s sessions) Open(ctx context.Context, o session.OpenOptions) (Session, error) {
	return s.Server.Open(ctx, o)
}

// The port in front of real sessions over tables in memory.
func TestRealSessions(t *testing.T) {
	srv, err := session.NewServer(session.Config{
		Catalogs: []session.NamedCatalog{{Name: "lake", Catalog: memory.NewCatalog(nil, "shop")}}, ErrorCode: ErrorCode, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	_, _, addr := start(t, func(c *Config) { c.Sessions, c.Accounts = sessions{srv}, metadata.RootOnly{} })
	var denied *driver.MySQLError
	if err := open(t, "root:@tcp("+addr+")/nosuch").Ping(); !errors.As(err, &denied) || denied.Number != 1049 {
		t.Errorf("a login with an unknown database: %v", err)
	}
	for _, options := range []string{"", "interpolateParams=true", "compress=true&tls=skip-verify"} {
		db := open(t, dsn("root", "", addr, "multiStatements=true&parseTime=true&"+options))
		for _, q := range []string{"DROP TABLE IF EXISTS t",
			"CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), amount DECIMAL(10,2), at DATETIME(3))",
			"INSERT INTO t VALUES (1, 'one', 1.5, '2024-02-29 12:00:00.250'), (2, NULL, -2, NULL)"} {
			if _, err := db.Exec(q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
		rows, err := db.Query("SELECT id, name, amount, at FROM t WHERE id >= ? ORDER BY id", 1)
		if err != nil {
			t.Fatal(err)
		}
		types, err := rows.ColumnTypes()
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"INT", "VARCHAR", "DECIMAL", "DATETIME"} {
			if got := types[i].DatabaseTypeName(); got != want {
				t.Errorf("column %d is %s, want %s", i, got, want)
			}
		}
		n := 0
		for rows.Next() {
			var id int
			var name, amount, at any
			if err := rows.Scan(&id, &name, &amount, &at); err != nil {
				t.Fatal(err)
			}
			n++
			if id != n {
				t.Errorf("id %d", id)
			}
		}
		if err := rows.Err(); err != nil || n != 2 {
			t.Errorf("%d rows, %v", n, err)
		}
		_ = rows.Close()
		var me *driver.MySQLError
		for q, code := range map[string]uint16{"SELECT nope FROM t": 1054, "SELECT * FROM nope": 1146, "SELEC 1": 1064, "USE nope": 1049, "SELECT @@nope": 1193} {
			if _, err := db.Exec(q); !errors.As(err, &me) || me.Number != code {
				t.Errorf("%s: %v, want %d", q, err, code)
			}
		}
	}
}
