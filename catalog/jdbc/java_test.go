package jdbc_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/errs"
)

// java runs a script through Java Paimon's JdbcCatalog in the same database.
func (b backend) java(t *testing.T, root, script string, options ...string) (string, error) {
	t.Helper()
	program := os.Getenv("THERMOCLINE_PAIMON_JAVA")
	if program == "" || !b.oracle {
		t.Skip("needs THERMOCLINE_PAIMON_JAVA, a program that runs Java Paimon with a driver for this database")
	}
	file := filepath.Join(t.TempDir(), "script.jsonl")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"exec", "--warehouse", root}
	all := []string{"metastore=jdbc", "uri=" + b.uri, fmt.Sprintf("lock.enabled=%v", !b.sqlite())}
	for k, v := range b.properties {
		all = append(all, "jdbc."+k+"="+v)
	}
	for _, o := range append(all, options...) {
		args = append(args, "--catalog-option", o)
	}
	out, err := exec.Command(program, append(args, file)...).CombinedOutput()
	return string(out), err
}

func (b backend) sqlite() bool { return strings.HasPrefix(b.uri, "jdbc:sqlite:") }

func (b backend) mustJava(t *testing.T, root, script string, options ...string) {
	t.Helper()
	if out, err := b.java(t, root, script, options...); err != nil {
		t.Fatalf("Java: %v\n%s", err, out)
	}
}

// javaShares lets Java and us make, change and drop tables of one catalog in
// turn.
func javaShares(t *testing.T, b backend) {
	root := t.TempDir()
	b.mustJava(t, root, `{"op":"create","table":"j.t","fields":[{"name":"k","type":"INT NOT NULL"},{"name":"v","type":"STRING"}],"primaryKeys":["k"],"options":{"bucket":"1","file.format":"parquet"}}
{"op":"write","rows":[[1,"a"],[2,"b"]]}
`)
	c, db := b.open(t, root), b.db(t)
	// We see what Java made, change it, and make tables of our own.
	if list, err := c.Databases(ctx); err != nil || fmt.Sprint(list) != "[j]" {
		t.Fatal(list, err)
	}
	id := catalog.Identifier{Database: "j", Table: "t"}
	tb, err := c.Table(ctx, id)
	if err != nil || len(tb.Schema().Fields) != 2 {
		t.Fatal(err)
	}
	if err := c.AlterTable(ctx, id, []catalog.SchemaChange{{Kind: catalog.AddColumn, Path: []string{"w"}, Type: catalog.TBigInt}}); err != nil {
		t.Fatal(err)
	}
	ours := catalog.Identifier{Database: "g", Table: "t"}
	if err := c.CreateDatabase(ctx, "g", false); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateTable(ctx, ours, schema(), false); err != nil {
		t.Fatal(err)
	}
	before := query(t, db, "SELECT property_key, property_value FROM paimon_table_properties WHERE database_name = 'g'")
	// Java continues both, and makes the same rows of the options as we do.
	b.mustJava(t, root, `{"op":"use","table":"j.t"}
{"op":"write","rows":[[3,"c",30]]}
{"op":"use","table":"g.t"}
{"op":"write","rows":[[1,"p","x"]]}
{"op":"alter","changes":[{"do":"add","column":"n","type":"INT"}]}
{"op":"write","rows":[[2,"p","y",7]]}
`)
	if after := query(t, db, "SELECT property_key, property_value FROM paimon_table_properties WHERE database_name = 'g'"); after != before {
		t.Errorf("Java has the options\n%s\nwe have\n%s", after, before)
	}
	tb, err = c.Table(ctx, ours)
	if err != nil || tb.Schema().Column("n") < 0 {
		t.Fatal(err)
	}
	if err := c.RenameTable(ctx, ours, catalog.Identifier{Database: "j", Table: "u"}); err != nil {
		t.Fatal(err)
	}
	b.mustJava(t, root, `{"op":"use","table":"j.u"}
{"op":"write","rows":[[4,"p","z",8]]}
{"op":"use","table":"g.t"}
{"op":"write","fails":true,"rows":[[4,"p","z",8]]}
`)
	if err := c.DropTable(ctx, id); err != nil {
		t.Fatal(err)
	}
	b.mustJava(t, root, `{"op":"create","table":"j.t","fields":[{"name":"k","type":"INT"}],"options":{"bucket":"-1"}}
`)
	if tb, err = c.Table(ctx, id); err != nil || len(tb.Schema().Fields) != 1 {
		t.Error(err)
	}
	if err := c.DropDatabase(ctx, "j", true); err != nil {
		t.Error(err)
	}
	if got := query(t, db, "SELECT * FROM paimon_distributed_locks"); got != "" {
		t.Errorf("locks are left: %s", got)
	}
}

// javaLocks holds the lock of a table while Java commits to it, which waits for
// it; and lets Java not get it.
func javaLocks(t *testing.T, b backend) {
	if b.sqlite() {
		t.Skip("Java's lock does not work with SQLite, see package sqlite")
	}
	root := t.TempDir()
	var lock func(context.Context, string, string) (func() error, error)
	cfg := b.config(root, fileio.Local{NoSync: true})
	made := cfg.NewDriver
	cfg.NewDriver = func(l func(context.Context, string, string) (func() error, error)) *paimon.Driver {
		lock = l
		return made(l)
	}
	cfg.LockTimeout = 0 // the default, long enough for a slow machine
	c := openConfig(t, cfg)
	b.mustJava(t, root, `{"op":"create","table":"j.t","fields":[{"name":"k","type":"INT"}],"options":{"bucket":"-1","file.format":"parquet","commit.max-retries":"1"}}
`)
	unlock, err := lock(ctx, "j", "t")
	if err != nil {
		t.Fatal(err)
	}
	// Java gives up after its timeout: nothing is committed under our lock.
	out, err := b.java(t, root, `{"op":"use","table":"j.t"}
{"op":"write","rows":[[1]]}
`, "lock-acquire-timeout=1 s", "lock-check-max-sleep=200 ms")
	if err == nil || !strings.Contains(out, "Acquire lock failed") {
		t.Errorf("Java committed under our lock: %v\n%s", err, out)
	}
	done := make(chan error, 1)
	go func() {
		out, err := b.java(t, root, `{"op":"use","table":"j.t"}
{"op":"write","rows":[[1]]}
`, "lock-check-max-sleep=200 ms")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		done <- err
	}()
	select {
	case err := <-done:
		t.Errorf("Java did not wait: %v", err)
	case <-time.After(4 * time.Second):
	}
	if list, _ := filepath.Glob(filepath.Join(root, "j.db", "t", "snapshot", "snapshot-*")); len(list) > 0 {
		t.Errorf("%v", list)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if list, _ := filepath.Glob(filepath.Join(root, "j.db", "t", "snapshot", "snapshot-*")); len(list) != 1 {
		t.Errorf("%v", list)
	}
	// Our commits take the lock too: with Java's lock held they give up.
	db := b.db(t)
	if _, err := db.Exec("INSERT INTO paimon_distributed_locks (lock_id, expire_time_seconds) VALUES ('jdbc.j.t', 480)"); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err = c.AlterTable(short, catalog.Identifier{Database: "j", Table: "t"}, []catalog.SchemaChange{{Kind: catalog.AddColumn, Path: []string{"n"}, Type: catalog.TInt}})
	if err == nil || errs.ClassOf(err) == errs.User {
		t.Errorf("%v", err)
	}
}
