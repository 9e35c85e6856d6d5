package ingest

import (
	"context"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

// TestResnapshot copies a table again whose source changed without a trace in
// the binlog; it survives a stop of its feed, and readers never see it empty.
func TestResnapshot(t *testing.T) {
	ctx := context.Background()
	srv := newServer(t)
	srv.db.SetMaxOpenConns(1)
	srv.exec("CREATE DATABASE c", "USE c", "CREATE TABLE a (id INT PRIMARY KEY, v INT)", "CREATE TABLE b (id INT PRIMARY KEY, v INT)",
		"INSERT INTO a VALUES (1,1),(2,2),(3,3)", "INSERT INTO b VALUES (1,1)")
	l := newLake(t)
	y := srv.yaml(`c.\.*`, "")
	r := start(t, l.options(), y)
	srv.same(l, r, "c.a", "c.b")
	srv.exec("SET sql_log_bin = 0", "DELETE FROM a WHERE id = 2", "UPDATE a SET v = 30 WHERE id = 3", "INSERT INTO b VALUES (9,9)", "SET sql_log_bin = 1", "INSERT INTO a VALUES (4,4)")
	l.same("c.a", "1|1", "2|2", "3|3", "4|4")
	if err := r.Resnapshot(ctx, "test", "c.a"); err != nil {
		t.Fatal(err)
	}
	srv.same(l, r, "c.a")
	srv.exec("DELETE FROM a WHERE id = 1", "INSERT INTO b VALUES (2,2)")
	srv.same(l, r, "c.a")
	l.same("c.b", "1|1", "2|2")
	// Paused, it happens when the pipeline is resumed; empty tables too.
	if err := r.Pause(ctx, "test"); err != nil {
		t.Fatal(err)
	}
	if err := r.Resnapshot(ctx, "test", "c.b"); err != nil {
		t.Fatal(err)
	}
	srv.exec("DELETE FROM b")
	if err := r.Unpause(ctx, "test"); err != nil {
		t.Fatal(err)
	}
	srv.same(l, r, "c.a", "c.b")
	srv.exec("INSERT INTO b VALUES (5,5)")
	srv.same(l, r, "c.b")
	if err := r.Resnapshot(ctx, "test", "c.zzz"); errs.KindOf(err) != errs.UnknownTable || !strings.Contains(err.Error(), "its tables are c.a, c.b") {
		t.Error(err)
	}
	srv.exec("INSERT INTO a VALUES (6,6)") // the failed request resumed the pipeline
	srv.same(l, r, "c.a")
}
