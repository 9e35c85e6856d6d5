package ingest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/ingest/pipeline"
)

// newest is the newest snapshot that the pipeline made of a table.
func (l *lake) newest(name string) *connector.SnapshotInfo {
	l.t.Helper()
	ctx := context.Background()
	db, table, _ := strings.Cut(name, ".")
	tb, err := l.catalog.Table(ctx, catalog.Identifier{Database: db, Table: table})
	if err != nil {
		l.t.Fatal(err)
	}
	k, err := tb.(connector.Writable).NewCommit(ctx, "cdc-test")
	if err != nil {
		l.t.Fatal(err)
	}
	own, err := k.LatestOwn(ctx)
	if err != nil || own == nil {
		l.t.Fatal(own, err)
	}
	return own
}

// TestRepair: a repair writes the rows that differ and no others, while the others go
// on; tables whose rows cannot be compared are copied again.
func TestRepair(t *testing.T) {
	ctx := context.Background()
	srv := newServer(t)
	srv.db.SetMaxOpenConns(1)
	srv.exec("CREATE DATABASE c", "USE c", "CREATE TABLE a (id INT, d DECIMAL(30,2), s VARCHAR(9), PRIMARY KEY (id, s))", "CREATE TABLE b (id INT PRIMARY KEY, v INT)", "CREATE TABLE e (id INT)",
		"INSERT INTO a SELECT seq, seq / 7, CONCAT('k', seq) FROM seq_1_to_5000", "INSERT INTO b SELECT seq, seq FROM seq_1_to_300", "INSERT INTO e VALUES (1),(1)")
	l := newLake(t)
	y := srv.yaml(`c.\.*`, "")
	r := start(t, l.options(), y)
	srv.same(l, r, "c.a", "c.b", "c.e")
	check := undisturbed(t, r)
	srv.exec("SET sql_log_bin = 0", "DELETE FROM a WHERE id IN (7, 4000)", "INSERT INTO a VALUES (7001, 1, 'new'), (7002, NULL, '')", "UPDATE a SET d = 0 WHERE id = 8", "INSERT INTO e VALUES (3)", "SET sql_log_bin = 1",
		"INSERT INTO b VALUES (9001, 500)")
	for _, n := range []string{"c.a", "c.b", "c.e"} {
		if err := r.Repair(ctx, "test", n); err != nil {
			t.Fatal(err)
		}
	}
	srv.exec("UPDATE a SET d = d + 1 WHERE id % 50 = 0", "DELETE FROM b WHERE id = 5", "INSERT INTO e VALUES (4)")
	srv.same(l, r, "c.a", "c.b", "c.e")
	check()
	if k := l.newest("c.a").Kind; k == "OVERWRITE" {
		t.Error("the repaired table was replaced")
	}
	def, err := pipeline.Load([]byte(y), pipeline.LoadOptions{RequireName: true})
	if err != nil {
		t.Fatal(err)
	}
	list, err := Verify(ctx, l.options(), def)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list {
		if v.Count > 0 {
			t.Errorf("%+v", v)
		}
	}
	// Paused, it happens when the pipeline is resumed; all tables at once.
	if err := r.Pause(ctx, "test"); err != nil {
		t.Fatal(err)
	}
	srv.exec("SET sql_log_bin = 0", "DELETE FROM a WHERE id < 100", "UPDATE b SET v = -1 WHERE id = 9", "SET sql_log_bin = 1")
	if err := r.Repair(ctx, "test", ""); err != nil {
		t.Fatal(err)
	}
	if err := r.Unpause(ctx, "test"); err != nil {
		t.Fatal(err)
	}
	srv.same(l, r, "c.a", "c.b", "c.e")
}

// TestVerifiedInTheBackground: the lake is compared with the source every so often,
// differences are shown, and repaired where the pipeline says so.
func TestVerifiedInTheBackground(t *testing.T) {
	ctx := context.Background()
	srv := newServer(t)
	srv.db.SetMaxOpenConns(1)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); CREATE TABLE c.b (id INT PRIMARY KEY, v INT)", "INSERT INTO c.a SELECT seq, seq FROM seq_1_to_500; INSERT INTO c.b VALUES (1,1)")
	l := newLake(t)
	r := start(t, l.options(), srv.yaml(`c.\.*`, ""))
	srv.same(l, r, "c.a", "c.b")
	if v := r.Verification("test"); !v.At.IsZero() || v.Tables != nil {
		t.Errorf("%+v", v)
	}
	srv.exec("SET sql_log_bin = 0", "DELETE FROM c.a WHERE id = 7", "SET sql_log_bin = 1")
	eventually(t, func() string { // the state in which the tables are copied is written soon
		list, err := r.Verify(ctx, "test")
		if err != nil || len(list) != 2 || list[0].Count != 1 || list[1].Count != 0 || list[0].Skipped+list[1].Skipped != "" {
			return fmt.Sprintf("%+v %v", list, err)
		}
		return ""
	})
	if v := r.Verification("test"); v.At.IsZero() || v.Tables[0].Differences[0] != (Difference{"id = 7", "not in the source"}) {
		t.Errorf("%+v", v)
	}
	l2 := l.rows("c.a")
	if len(l2) != 500 {
		t.Errorf("%d rows", len(l2))
	}
	end(t, r)
	r = start(t, l.options(), srv.yaml(`c.\.*`, "  verify.interval: 1s\n  verify.repair: true\n  verify.rows-per-second: 20000\n"))
	srv.same(l, r, "c.a", "c.b")
	srv.exec("SET sql_log_bin = 0", "UPDATE c.b SET v = 2", "SET sql_log_bin = 1", "INSERT INTO c.a VALUES (7, 77)")
	srv.same(l, r, "c.a", "c.b")
	eventually(t, func() string {
		for _, x := range r.Verification("test").Tables {
			if x.Count > 0 || x.Skipped != "" {
				return fmt.Sprintf("%+v", x)
			}
		}
		return ""
	})
}

// TestPurged: where the source's log does not lead on, the start is refused, or the
// tables are repaired if the pipeline says so.
func TestPurged(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); CREATE TABLE c.b (id INT PRIMARY KEY, v INT); CREATE TABLE c.e (id INT)",
		"INSERT INTO c.a SELECT seq, seq FROM seq_1_to_2000; INSERT INTO c.b VALUES (1,1); INSERT INTO c.e VALUES (1),(1)")
	l := newLake(t)
	y := srv.yaml(`c.\.*`, "")
	r := start(t, l.options(), y)
	srv.same(l, r, "c.a", "c.b", "c.e")
	end(t, r)
	purge := func() {
		t.Helper()
		srv.exec("UPDATE c.a SET v = v + 1 WHERE id % 100 = 3", "DELETE FROM c.a WHERE id = 2", "INSERT INTO c.a VALUES (3000, 1) ON DUPLICATE KEY UPDATE v = v + 1", "INSERT INTO c.e VALUES (2)", "FLUSH LOGS")
		names := srv.logFiles()
		eventually(t, func() string { // old files go when the server has checkpointed
			srv.exec("PURGE BINARY LOGS TO '" + names[len(names)-1] + "'")
			if n := len(srv.logFiles()); n > 1 {
				return fmt.Sprintf("%d log files are left", n)
			}
			return ""
		})
	}
	purge()
	r = NewRunner(l.options())
	if _, err := r.Execute(context.Background(), y); err != nil {
		t.Fatal(err)
	}
	if why := failure(t, r); !strings.Contains(why, "purged") {
		t.Error(why)
	}
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	r = start(t, l.options(), srv.yaml(`c.\.*`, "  on-log-lost: heal\n"))
	srv.same(l, r, "c.a", "c.b", "c.e")
	if k := l.newest("c.a").Kind; k == "OVERWRITE" {
		t.Error("the healed table was replaced")
	}
	srv.exec("INSERT INTO c.b VALUES (5,5)", "INSERT INTO c.e VALUES (6)")
	srv.same(l, r, "c.a", "c.b", "c.e")
	end(t, r)
	r = start(t, l.options(), y)
	srv.exec("INSERT INTO c.b VALUES (6,6)")
	srv.same(l, r, "c.a", "c.b", "c.e")
	// A server that was restored from a backup is behind what the lake has.
	end(t, r)
	srv.exec("RESET MASTER", "DELETE FROM c.a WHERE id < 50", "UPDATE c.b SET v = 0")
	r = start(t, l.options(), srv.yaml(`c.\.*`, "  on-log-lost: heal\n"))
	srv.same(l, r, "c.a", "c.b", "c.e")
	srv.exec("INSERT INTO c.b VALUES (7,7)")
	srv.same(l, r, "c.a", "c.b", "c.e")
}

// TestFailover: a replica that has every transaction takes over; one that lacks some
// does not.
func TestFailover(t *testing.T) {
	one, two := newServer(t, "--server-id=11", "--log-slave-updates"), newServer(t, "--server-id=12", "--log-slave-updates")
	one.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); CREATE TABLE c.idle (id INT PRIMARY KEY); INSERT INTO c.a VALUES (1,1)")
	two.exec("RESET MASTER", "SET GLOBAL gtid_slave_pos = ''", fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='thermocline', MASTER_PASSWORD='thermocline', MASTER_USE_GTID=slave_pos", one.Port), "START SLAVE")
	replicated := func() {
		t.Helper()
		eventually(t, func() string {
			var a, b string
			if err := one.db.QueryRow("SELECT @@gtid_binlog_pos").Scan(&a); err != nil {
				return err.Error()
			}
			if err := two.db.QueryRow("SELECT @@gtid_binlog_pos").Scan(&b); err != nil || a != b {
				return fmt.Sprint(a, " ", b, err)
			}
			return ""
		})
	}
	l := newLake(t)
	r := start(t, l.options(), one.yaml(`c.\.*`, ""))
	one.same(l, r, "c.a", "c.idle")
	one.exec("INSERT INTO c.a VALUES (2,2)")
	one.same(l, r, "c.a")
	replicated()
	two.exec("STOP SLAVE")
	// What the pipeline has the replica lacks.
	one.exec("INSERT INTO c.a VALUES (3,3)")
	one.same(l, r, "c.a")
	end(t, r)
	r = NewRunner(l.options())
	if _, err := r.Execute(context.Background(), two.yaml(`c.\.*`, "")); err != nil {
		t.Fatal(err)
	}
	if why := failure(t, r); !strings.Contains(why, "cannot take over") || !strings.Contains(why, "it lost transactions, or is another server") {
		t.Error(why)
	}
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	two.exec("START SLAVE")
	replicated()
	two.exec("STOP SLAVE", "RESET SLAVE ALL", "INSERT INTO c.a VALUES (4,4)")
	r = start(t, l.options(), two.yaml(`c.\.*`, ""))
	two.same(l, r, "c.a", "c.idle")
	two.exec("INSERT INTO c.idle VALUES (9)", "UPDATE c.a SET v = v * 10")
	two.same(l, r, "c.a", "c.idle")
	end(t, r)
	two.exec("INSERT INTO c.a VALUES (5,5)")
	r = start(t, l.options(), two.yaml(`c.\.*`, ""))
	two.same(l, r, "c.a", "c.idle")
}
