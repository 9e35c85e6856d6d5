package ingest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestTablesWithoutKey: rows of a table without a key arrive exactly once, equal
// ones too, over restarts; a change that cannot find its row stops the table. A
// NOT NULL unique index is a key.
func TestTablesWithoutKey(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.log (a INT, b VARCHAR(10)); CREATE TABLE c.u (k INT NOT NULL, v INT, w INT, UNIQUE KEY uw (w), UNIQUE KEY uk (k)); CREATE TABLE c.soft (id INT, v INT)",
		"INSERT INTO c.log VALUES (1,'x'),(1,'x'),(NULL,NULL); INSERT INTO c.u VALUES (1,1,1),(2,2,2); INSERT INTO c.soft VALUES (1,1),(2,2)")
	l := newLake(t)
	yaml := srv.yaml(`c.\.*`, "transform:\n  - source-table: c.soft\n    projection: id, v\n    primary-keys: id\n")
	yaml = strings.Replace(yaml, "  catalog.properties.metastore: filesystem\n", "  catalog.properties.metastore: filesystem\n  table.properties.bucket: 2\n  table.properties.merge-engine: deduplicate\n", 1)
	yaml = strings.Replace(yaml, "id, v\n    primary-keys", "COALESCE(id, 0) AS id, v\n    primary-keys", 1)
	r := start(t, l.options(), yaml)
	for i := range 3 {
		srv.same(l, r, "c.log")
		end(t, r)
		srv.exec(fmt.Sprintf("INSERT INTO c.log VALUES (%d,'x'),(%d,'x')", i, i), "UPDATE c.u SET v = v + 1", "UPDATE c.soft SET v = v + 1 WHERE id = 1")
		r = start(t, l.options(), yaml)
		srv.exec("INSERT INTO c.log SELECT * FROM c.log")
	}
	srv.same(l, r, "c.log", "c.u")
	l.same("c.soft", "1|4", "2|2")
	srv.exec("INSERT INTO c.log VALUES (7,'y'); UPDATE c.log SET b = 'z' WHERE a = 7", "ALTER TABLE c.u DROP INDEX uk")
	eventually(t, func() string {
		a, b := r.table("c.log"), r.table("c.u")
		if !strings.Contains(a.Error, "a row was updated or deleted") || !strings.Contains(b.Error, "a new primary key") {
			return fmt.Sprintf("%+v %+v", a, b)
		}
		return ""
	})
}

// TestStartAtPlaces: tables that begin at a place of the log have what came after
// it, by the definitions that were valid there as far as the log tells.
func TestStartAtPlaces(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, old INT); INSERT INTO c.a VALUES (1,1)", "ALTER TABLE c.a CHANGE old v BIGINT, ADD w INT")
	var gtid, file, pos string
	var x, y string
	if srv.mysql {
		if err := srv.db.QueryRow("SHOW BINARY LOG STATUS").Scan(&file, &pos, &x, &y, &gtid); err != nil {
			t.Fatal(err)
		}
	} else {
		if err := srv.db.QueryRow("SELECT @@gtid_binlog_pos").Scan(&gtid); err != nil {
			t.Fatal(err)
		}
		if err := srv.db.QueryRow("SHOW MASTER STATUS").Scan(&file, &pos, &x, &y); err != nil {
			t.Fatal(err)
		}
	}
	srv.exec("INSERT INTO c.a VALUES (2,2,2)")
	time.Sleep(2100 * time.Millisecond) // the log's times are seconds
	var at int64
	if err := srv.db.QueryRow("SELECT UNIX_TIMESTAMP() * 1000").Scan(&at); err != nil {
		t.Fatal(err)
	}
	srv.exec("INSERT INTO c.a VALUES (3,3,3)", "FLUSH LOGS", "UPDATE c.a SET w = 9 WHERE id = 3")
	for _, c := range []struct {
		mode string
		want []string
	}{
		{"earliest-offset", []string{"1|1|NULL", "2|2|2", "3|3|9"}},
		{"specific-offset\n  scan.startup.specific-offset.gtid-set: " + gtid, []string{"2|2|2", "3|3|9"}},
		{"specific-offset\n  scan.startup.specific-offset.file: " + file + "\n  scan.startup.specific-offset.pos: " + pos, []string{"2|2|2", "3|3|9"}},
		{fmt.Sprintf("timestamp\n  scan.startup.timestamp-millis: %d", at), []string{"3|3|9"}},
	} {
		l := newLake(t)
		yaml := strings.Replace(srv.yaml("c.a", "  schema.change.behavior: evolve\n"), "  tables:", "  scan.startup.mode: "+c.mode+"\n  tables:", 1)
		r := start(t, l.options(), yaml)
		l.same("c.a", c.want...)
		end(t, r)
		r = start(t, l.options(), yaml) // goes on, and does not begin again
		srv.exec("DELETE FROM c.a WHERE id = 10", "INSERT INTO c.a VALUES (10,1,1)")
		l.same("c.a", append(c.want, "10|1|1")...)
		srv.exec("DELETE FROM c.a WHERE id = 10")
		l.same("c.a", c.want...)
		if len(c.want) == 2 { // copied again, it has all rows
			if err := r.Resnapshot(context.Background(), "test", "c.a"); err != nil {
				t.Fatal(err)
			}
			srv.same(l, r, "c.a")
		}
		end(t, r)
	}
	if srv.mysql {
		at, err := strconv.Atoi(pos)
		if err != nil {
			t.Fatal(err)
		}
		l := newLake(t)
		r := start(t, l.options(), strings.Replace(srv.yaml("c.a", ""), "  tables:", fmt.Sprintf("  scan.startup.mode: specific-offset\n  scan.startup.specific-offset.file: %s\n  scan.startup.specific-offset.pos: %d\n  tables:", file, at+60), 1))
		if why := failure(t, r); !strings.Contains(why, "no transaction ends at offset") {
			t.Error(why)
		}
	}
}
