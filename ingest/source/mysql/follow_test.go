package mysql

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// TestChecks: each way in which a server is not ready is one line that says
// what to do.
func TestChecks(t *testing.T) {
	check := func(srv *testServer, want string, kind errs.Kind, extra ...string) {
		t.Helper()
		err := srv.source(extra...).Check(context.Background())
		switch {
		case err == nil:
			t.Errorf("no error, want %q", want)
		case !strings.Contains(err.Error(), want), strings.Contains(err.Error(), "\n"), kind != errs.KindNone && errs.KindOf(err) != kind:
			t.Errorf("%v (%s), want %q (%s)", err, errs.KindOf(err), want, kind)
		case strings.Contains(err.Error(), "secret-password"):
			t.Errorf("the message shows the password: %v", err)
		}
	}
	srv := startServer(t)
	if err := srv.source().Check(context.Background()); err != nil {
		t.Fatal(err)
	}
	srv.exec("CREATE USER plain@'%' IDENTIFIED BY 'secret-password'; CREATE USER half@'%' IDENTIFIED BY 'secret-password'; GRANT SELECT, REPLICATION SLAVE ON *.* TO half@'%'; " +
		"CREATE USER full@'%' IDENTIFIED BY 'secret-password'; GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO full@'%'")
	as := func(user string) *testServer { x := *srv; x.user, x.password = user, "secret-password"; return &x }
	wrong := *srv
	wrong.password = "secret-password"
	check(&wrong, "check username and password", errs.AccessDenied)
	check(as("plain"), "lacks REPLICATION SLAVE and REPLICATION CLIENT; run GRANT", errs.SourceNotReady)
	check(as("half"), "lacks REPLICATION CLIENT; run GRANT", errs.SourceNotReady)
	if err := as("full").source().Check(context.Background()); err != nil {
		t.Error(err)
	}
	check(srv, "server-time-zone is Asia/Tokyo (UTC+09:00), but the server's clock is at UTC+00:00", errs.InvalidConfig, "server-time-zone=Asia/Tokyo")
	if err := srv.source("server-time-zone=Etc/UTC").Check(context.Background()); err != nil {
		t.Error(err)
	}
	srv.exec("SET GLOBAL binlog_format = 'MIXED'")
	check(srv, "binlog_format is MIXED; run SET GLOBAL binlog_format = 'ROW'", errs.SourceNotReady)
	srv.exec("SET GLOBAL binlog_format = 'ROW'; SET GLOBAL binlog_row_image = 'MINIMAL'")
	check(srv, "binlog_row_image is MINIMAL; run SET GLOBAL", errs.SourceNotReady)
	gone := *srv
	gone.port = 1
	check(&gone, "connection refused", errs.KindNone)
	off := startServer(t, "--skip-log-bin")
	check(off, "the binlog is off; start the server with --log-bin", errs.SourceNotReady)
}

func TestOptions(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"port", "99999", "is no port number"},
		{"server-id", "5404-5401", "is no server id"},
		{"server-id", "x", "is no server id"},
		{"server-time-zone", "Mars/Base", "is no time zone"},
		{"connect.timeout", "soon", "is no duration"},
		{"treat-tinyint1-as-boolean.enabled", "maybe", "neither true nor false"},
		{"hostnam", "x", "the nearest known key is hostname"},
		{"debezium.binary.handling.mode", "hex", "does not support the source option debezium.binary.handling.mode"},
		{"jdbc.properties.sslMode", "MAYBE", "none of DISABLED"},
		{"jdbc.properties.unheard", "1", "does not support"},
		{"scan.incremental.snapshot.backfill.skip", "true", "does not support"},
		{"scan.startup.timestamp-millis", "soon", "is no time in milliseconds"},
		{"scan.startup.specific-offset.pos", "x", "is no offset"},
		{"scan.startup.specific-offset.skip-rows", "1", "does not support"},
	} {
		_, err := New(source.Config{Options: []source.Option{{Key: "hostname", Value: "h"}, {Key: "username", Value: "u"}, {Key: c.key, Value: c.value, Line: 7, Col: 3}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v, want %q", c.key, c.value, err, c.want)
		}
	}
	if _, err := New(source.Config{Options: []source.Option{{Key: "username", Value: "u"}}}); err == nil || !strings.Contains(err.Error(), "hostname is required") {
		t.Error(err)
	}
	s, err := New(source.Config{Options: []source.Option{{Key: "hostname", Value: "h"}, {Key: "username", Value: "u"}, {Key: "server-id", Value: "5401-5404"}, {Key: "server-time-zone", Value: "GMT+8"}, {Key: "jdbc.properties.useSSL", Value: "true"}}})
	if err != nil {
		t.Fatal(err)
	}
	if id := newServerID(s.(*Source).opt); id < 5401 || id > 5404 {
		t.Error(id)
	}
}

// session opens a snapshot's position and follows from there.
func session(t *testing.T, srv *testServer, names ...string) (source.Stream, []*source.Table) {
	t.Helper()
	ctx := context.Background()
	src := srv.source()
	sn, err := src.Snapshot(ctx, ids(names...))
	if err != nil {
		t.Fatal(err)
	}
	tables, pos := sn.Tables(), sn.Position()
	for _, tb := range tables {
		for _, k := range tb.PrimaryKey {
			tb.Identity = append(tb.Identity, tb.Column(k))
		}
	}
	if err := sn.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := src.Stream(ctx, pos, tables)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st, tables
}

func texts(list []change) (out []string) {
	for _, c := range list {
		out = append(out, c.kind+" "+strings.Join(c.row, ","))
	}
	return out
}

// TestKeyChange: an UPDATE of the key is a delete and an insert, also when only
// the case or trailing spaces of a text key change.
func TestKeyChange(t *testing.T) {
	srv := startServer(t)
	srv.exec(`CREATE DATABASE k; CREATE TABLE k.c (a INT, b VARCHAR(10), v INT, PRIMARY KEY (b, a)); INSERT INTO k.c VALUES (1,'x',1),(2,'y',2),(3,'z',3)`)
	st, tables := session(t, srv, "k.c")
	if !reflect.DeepEqual(tables[0].PrimaryKey, []string{"b", "a"}) {
		t.Errorf("key %v", tables[0].PrimaryKey)
	}
	srv.exec("UPDATE k.c SET v = 10 WHERE a = 1", "UPDATE k.c SET a = a + 100", "UPDATE k.c SET b = 'X' WHERE b = 'x'", "UPDATE k.c SET b = 'y ' WHERE b = 'y'", "DELETE FROM k.c WHERE b = 'z'", "REPLACE INTO k.c VALUES (101, 'X', 11)")
	changes, stops := follow(t, st, tables, 6)
	want := []string{`+U 1,"x",10`,
		`-D 1,"x",10`, `+I 101,"x",10`, `-D 2,"y",2`, `+I 102,"y",2`, `-D 3,"z",3`, `+I 103,"z",3`,
		`-D 101,"x",10`, `+I 101,"X",10`, `-D 102,"y",2`, `+I 102,"y ",2`, `-D 103,"z",3`, `+U 101,"X",11`}
	if got := texts(changes); !reflect.DeepEqual(got, want) || len(stops) > 0 {
		t.Errorf("%q %q, want %q", got, stops, want)
	}
	tables[0].BeforeImages = true
	srv.exec("UPDATE k.c SET v = 12 WHERE a = 101")
	changes, _ = follow(t, st, tables, 1)
	if got := texts(changes); !reflect.DeepEqual(got, []string{`-U 101,"X",11`, `+U 101,"X",12`}) {
		t.Errorf("%q", got)
	}
}

// TestStops: what changes columns or rows without row events stops the table
// and no other; what does not is passed over.
func TestStops(t *testing.T) {
	srv := startServer(t)
	srv.exec("CREATE DATABASE d; CREATE DATABASE other")
	for i, c := range []struct{ ddl, want string }{
		{"ALTER TABLE d.t DROP PRIMARY KEY, ADD PRIMARY KEY (id, v)", "a new primary key"},
		{"ALTER TABLE d.t ADD SYSTEM VERSIONING", "cannot be read"},
		{"TRUNCATE TABLE d.t", "truncated: "},
		{"DROP TABLE IF EXISTS d.nothing, d.t", "dropped: "},
		{"DROP DATABASE d", "dropped: "},
		{"RENAME TABLE d.t TO d.t2", "dropped: "},
		{"RENAME TABLE d.t TO d.t_old, d.u TO d.t", "lost 3: RENAME"},
		{"ALTER TABLE d.t RENAME TO other.t", "dropped: "},
		{"ALTER TABLE d.t ADD x UUID", "cannot be read"},
		{"ALTER TABLE d.t DROP PARTITION p0", "lost 1: ALTER"},
		{"CREATE OR REPLACE TABLE d.t (id INT PRIMARY KEY, v INT, s VARCHAR(10)); DROP TABLE d.t", "dropped: "},
		{"SET SESSION binlog_format='STATEMENT'; UPDATE d.t SET v = 5", "statement instead of its rows"},
		{"SET SESSION binlog_row_image='MINIMAL'; UPDATE d.t SET v = 5", "without all columns"},
	} {
		t.Run(c.ddl, func(t *testing.T) {
			srv := *srv
			srv.t = t
			srv.exec("DROP DATABASE IF EXISTS d; CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT, s VARCHAR(10)); CREATE TABLE d.u (id INT PRIMARY KEY, v INT, s VARCHAR(10)); " +
				"CREATE TABLE d.part (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1,1,'a'); INSERT INTO d.u VALUES (1,1,'a')")
			st, tables := session(t, &srv, "d.t", "d.part")
			srv.exec("INSERT INTO d.t VALUES (2,2,'b')")
			srv.db.SetMaxIdleConns(0)
			if strings.Contains(c.ddl, "PARTITION") {
				srv.exec("ALTER TABLE d.t PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (5), PARTITION p1 VALUES LESS THAN MAXVALUE)")
			}
			srv.exec(c.ddl)
			srv.exec(fmt.Sprintf("CREATE TABLE IF NOT EXISTS other.mark%d (id INT PRIMARY KEY)", i))
			before, stops := followUntil(t, st, tables, "d.t")
			if len(stops) == 0 || !strings.Contains(stops[0], c.want) || !strings.HasPrefix(stops[0], "d.t: ") || strings.Contains(stops[0], "\n") {
				t.Errorf("%q, want %q", stops, c.want)
			}
			if got := texts(before); len(got) == 0 || got[0] != `+I 2,2,"b"` {
				t.Errorf("before the stop: %q", got)
			}
		})
	}
}

// followUntil reads until the table stops.
func followUntil(t *testing.T, st source.Stream, tables []*source.Table, name string) (changes []change, stops []string) {
	t.Helper()
	for range 10 {
		c, s := follow(t, st, tables, 1)
		changes, stops = append(changes, c...), append(stops, s...)
		for _, x := range stops {
			if strings.HasPrefix(x, name+": ") {
				return changes, stops
			}
		}
	}
	return changes, stops
}

func TestHarmless(t *testing.T) {
	srv := startServer(t)
	srv.exec("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT, s VARCHAR(10)); CREATE TABLE d.u (id INT PRIMARY KEY)")
	st, tables := session(t, srv, "d.t")
	statements := []string{"ALTER TABLE d.t ADD INDEX (v)", "CREATE INDEX i2 ON d.t (s)", "DROP INDEX i2 ON d.t", "ALTER TABLE d.t COMMENT 'x', ENGINE=InnoDB", "ALTER TABLE d.t ALTER COLUMN v SET DEFAULT 7",
		"ALTER TABLE d.u ADD COLUMN x INT", "TRUNCATE TABLE d.u", "DROP TABLE d.u", "CREATE VIEW d.w AS SELECT * FROM d.t", "CREATE TRIGGER d.tr BEFORE INSERT ON d.t FOR EACH ROW SET NEW.v = 5",
		"CREATE PROCEDURE d.p() BEGIN DELETE FROM d.t; END", "DROP PROCEDURE d.p", "ANALYZE TABLE d.t", "CREATE TABLE IF NOT EXISTS d.t (x INT)", "CREATE USER nobody@'%'", "GRANT SELECT ON d.t TO nobody@'%'",
		"CREATE TEMPORARY TABLE d.tmp (id INT)", "FLUSH TABLES", "CREATE SEQUENCE d.sq", "OPTIMIZE TABLE d.t", "SET PASSWORD FOR nobody@'%' = PASSWORD('x')", "CREATE DATABASE d2; DROP DATABASE d2",
		"CREATE TABLE d.sel SELECT * FROM d.t", "BEGIN; SAVEPOINT a; INSERT INTO d.t VALUES (50,1,''); ROLLBACK TO a; COMMIT", "ALTER TABLE d.t AUTO_INCREMENT = 5", "ALTER TABLE d.t ADD CONSTRAINT ck CHECK (id > 0)"}
	for _, q := range statements {
		srv.exec(q)
	}
	srv.exec("INSERT INTO d.t VALUES (99, 1, 'end')")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		ev, err := st.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == source.StopEvent {
			t.Fatalf("stopped: %s", ev.Reason)
		}
		if ev.Kind == source.RowsEvent {
			b := tables[0].NewBatch(1)
			if err := ev.Rows.AppendTo(b, 10, 1<<20); err != source.EOF {
				t.Fatal(err)
			}
			if got := strings.Join(rowText(tables[0], b, 0), ","); got == `99,5,"end"` {
				return
			}
		}
	}
}

// TestDefinitionChanged: rows that do not fit the definition stop the table even
// when no DDL was seen, as after a start at a wrong place.
func TestDefinitionChanged(t *testing.T) {
	srv := startServer(t)
	for i, c := range []struct{ old, now, want string }{
		{"v INT", "v BIGINT", "column v is int in the copy"},
		{"v INT", "v INT, w INT", "3 columns in the binlog and 2 in the copy"},
		{"v VARCHAR(10)", "v VARCHAR(20)", "column v is varchar(10) in the copy"},
		{"v VARCHAR(10) CHARACTER SET latin1", "v VARCHAR(10) CHARACTER SET utf8mb4", "column v is varchar(10) in the copy"},
		{"v DECIMAL(10,2)", "v DECIMAL(10,3)", "column v is decimal(10,2)"},
		{"v DATETIME", "v DATETIME(3)", "column v is datetime"},
		{"v ENUM('a')", "v SET('a')", "column v is enum"},
		{"v TEXT", "v LONGTEXT", "column v is text"},
		{"v BIT(3)", "v BIT(4)", "column v is bit(3)"},
		{"v BINARY(4)", "v BINARY(5)", "column v is binary(4)"},
		{"v INT", "w INT", "column v of the copy is w"}, // full row metadata tells names
		{"v INT", "v INT UNSIGNED", "another sign"},
	} {
		name := fmt.Sprintf("d.t%d", i)
		srv.exec("CREATE DATABASE IF NOT EXISTS d; SET GLOBAL binlog_row_metadata='FULL'; CREATE OR REPLACE TABLE "+name+" (id INT PRIMARY KEY, "+c.old+")", "FLUSH LOGS")
		ctx := context.Background()
		src := srv.source()
		tables, err := src.Describe(ctx, ids(name))
		if err != nil {
			t.Fatal(err)
		}
		srv.exec("CREATE OR REPLACE TABLE " + name + " (id INT PRIMARY KEY, " + c.now + ")")
		pos, err := src.Current(ctx)
		if err != nil {
			t.Fatal(err)
		}
		st, err := src.Stream(ctx, pos, tables)
		if err != nil {
			t.Fatal(err)
		}
		srv.db.SetMaxIdleConns(0)
		srv.exec("INSERT INTO " + name + " (id) VALUES (1)")
		_, stops := follow(t, st, tables, 1)
		if len(stops) != 1 || !strings.Contains(stops[0], c.want) {
			t.Errorf("%s to %s: %q, want %q", c.old, c.now, stops, c.want)
		}
		st.Close()
	}
}

// TestResume: from each position the stream delivers exactly what comes after.
func TestResume(t *testing.T) {
	srv := startServer(t)
	srv.exec("CREATE DATABASE r; CREATE TABLE r.t (id INT PRIMARY KEY)")
	st, tables := session(t, srv, "r.t")
	const n = 12
	for i := range n {
		srv.exec(fmt.Sprintf("INSERT INTO r.t VALUES (%d)", i))
		if i == n/2 {
			srv.exec("FLUSH LOGS")
		}
	}
	positions := []string{st.Position().String()}
	for range n {
		follow(t, st, tables, 1)
		positions = append(positions, st.Position().String())
	}
	src := srv.source()
	for i, text := range positions {
		p, err := src.ParsePosition(text)
		if err != nil {
			t.Fatal(err)
		}
		if p.String() != text {
			t.Errorf("%s reads back as %s", text, p)
		}
		again, err := src.Stream(context.Background(), p, tables)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if i < n {
			changes, _ := follow(t, again, tables, n-i)
			if got := texts(changes); len(got) != n-i || got[0] != fmt.Sprintf("+I %d", i) {
				t.Errorf("from %d: %q", i, got)
			}
		}
		again.Close()
	}
	// Purged and foreign positions are refused.
	first, _ := src.ParsePosition(positions[0])
	srv.exec("FLUSH LOGS")
	srv.exec("PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")
	if _, err := streamError(src, first, tables); err == nil || errs.KindOf(err) != errs.SourceGone {
		t.Errorf("purged: %v", err)
	}
	ahead, _ := src.ParsePosition(`{"flavor":"mariadb","gtid":"0-1-99999","file":"binlog.000001","pos":4}`)
	if _, err := streamError(src, ahead, tables); err == nil || !strings.Contains(err.Error(), "the server is behind") || errs.KindOf(err) != errs.SourceGone {
		t.Errorf("ahead: %v", err)
	}
}

// streamError opens a stream and reads until it fails.
func streamError(src *Source, p source.Position, tables []*source.Table) (*source.Event, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	st, err := src.Stream(ctx, p, tables)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	for {
		if ev, err := st.Next(ctx); err != nil {
			return ev, err
		}
	}
}

// TestSnapshotIsolation: rows committed after the view are not in the copy, and
// those before are not in the stream.
func TestSnapshotIsolation(t *testing.T) {
	srv := startServer(t)
	srv.exec("CREATE DATABASE s; CREATE TABLE s.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)")
	stop := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if _, err := srv.db.Exec("INSERT INTO s.t (v) VALUES (1)"); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 5 {
		time.Sleep(50 * time.Millisecond)
		src := srv.source()
		sn, err := src.Snapshot(context.Background(), ids("s.t"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
		rows := readAll(t, sn, 0)
		st, err := src.Stream(context.Background(), sn.Position(), sn.Tables())
		if err != nil {
			t.Fatal(err)
		}
		changes, _ := follow(t, st, sn.Tables(), 5)
		if len(changes) != 5 || changes[0].row[0] != fmt.Sprint(len(rows)+1) {
			t.Errorf("the copy has %d rows, the stream goes on with %v", len(rows), texts(changes))
		}
		st.Close()
		sn.Close()
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestZones: TIMESTAMP is an instant whatever zone the server and its sessions
// are in, DATETIME what the clock on the wall said.
func TestZones(t *testing.T) {
	srv := startServer(t)
	srv.db.SetMaxOpenConns(1)
	for i, zone := range []string{"+00:00", "+08:00", "-05:00", "+05:30", "-03:30"} {
		name := fmt.Sprintf("zone.t%d", i)
		srv.exec("CREATE DATABASE IF NOT EXISTS zone; SET GLOBAL time_zone='"+zone+"'; SET time_zone='"+zone+"'", "CREATE TABLE "+name+" (id INT PRIMARY KEY, ts TIMESTAMP(3) NULL, dt DATETIME)")
		insert := func(id int) {
			srv.exec(fmt.Sprintf("INSERT INTO %s VALUES (%d, FROM_UNIXTIME(1711843200.5), '2024-03-31 02:30:00')", name, id))
		}
		insert(1)
		src := srv.source()
		sn, err := src.Snapshot(context.Background(), ids(name))
		if err != nil {
			t.Fatal(err)
		}
		copied := readAll(t, sn, 0)["1"]
		st, err := src.Stream(context.Background(), sn.Position(), sn.Tables())
		if err != nil {
			t.Fatal(err)
		}
		insert(2)
		changes, _ := follow(t, st, sn.Tables(), 1)
		for _, row := range [][]string{copied, changes[0].row} {
			if strings.Join(row[1:], " ") != "1711843200500000 1711852200000000" {
				t.Errorf("zone %s: %q", zone, row)
			}
		}
		st.Close()
		sn.Close()
	}
}

// TestAlterDuringCopy: a table that is altered after the view was opened is not
// read by the old definition.
func TestAlterDuringCopy(t *testing.T) {
	srv := startServer(t)
	for i, ddl := range []string{"ALTER TABLE a.t ADD COLUMN w INT", "ALTER TABLE a.t DROP COLUMN v", "ALTER TABLE a.t MODIFY v BIGINT", "TRUNCATE TABLE a.t", "DROP TABLE a.t"} {
		srv.exec("CREATE DATABASE IF NOT EXISTS a; CREATE OR REPLACE TABLE a.t (id INT PRIMARY KEY, v INT); CREATE OR REPLACE TABLE a.u (id INT PRIMARY KEY); INSERT INTO a.t VALUES (1,1); INSERT INTO a.u VALUES (1)")
		sn, err := srv.source().Snapshot(context.Background(), ids("a.u", "a.t"))
		if err != nil {
			t.Fatal(err)
		}
		readAll(t, sn, 0)
		srv.exec(ddl) // does not wait for the copy of the other table
		rows, err := sn.Read(context.Background(), 1)
		if err == nil {
			err = rows.AppendTo(sn.Tables()[1].NewBatch(1), 10, 1<<20)
			rows.Close()
		}
		if err == nil || err == source.EOF || errs.ClassOf(err) != errs.Unavailable {
			t.Errorf("%d %s: %v", i, ddl, err)
		}
		sn.Close()
	}
}
