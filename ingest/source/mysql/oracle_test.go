package mysql

import (
	"context"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// zooMySQL are the types and values that only MySQL has, and the common ones in
// its spelling.
var zooMySQL = []string{
	"CREATE DATABASE z",
	zoo[1], zoo[2], zoo[3], zoo[4],
	`CREATE TABLE z.texts (id INT PRIMARY KEY, n INT, c CHAR(10), v VARCHAR(300), l CHAR(5) CHARACTER SET latin1, g VARCHAR(20) CHARACTER SET gbk, u VARCHAR(20) CHARACTER SET utf16, gb VARCHAR(20) CHARACTER SET gb18030, sj VARCHAR(20) CHARACTER SET sjis, wide CHAR(100), ci VARCHAR(10) COLLATE utf8mb4_0900_ai_ci)`,
	`INSERT INTO z.texts VALUES (1,0,'abc  ','trail   ','öäü€','中文测试','a😀b','中文€😀','日本',REPEAT('é',100),'Ä'),(2,0,'','','','','','','','',''),(3,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL)`,
	zoo[7], zoo[8], zoo[9], zoo[10],
	`CREATE TABLE z.json (id INT PRIMARY KEY, n INT, j JSON)`,
	`INSERT INTO z.json VALUES (1,0,'{"a": [1, 2.0, "x"], "bb": {"c": null}, "b": true, "aaa": -1.5e-7}'),(2,0,NULL),(3,0,'null'),(4,0,'"text \\" \\\\ \\b\\f\\n\\r\\t \\u0001 é 日 / < >"'),(5,0,'[]'),(6,0,'{}'),
		(7,0,'[0, -1, 32767, 32768, -32768, -32769, 65535, 65536, 2147483647, 2147483648, -2147483649, 4294967295, 4294967296, 9223372036854775807, -9223372036854775808, 18446744073709551615]'),
		(8,0,'[0.0, -0.0, 1.0, 1e14, 1e15, 1e16, 123456789012345.6, 1234567890123456.7, 1e25, 1.5e300, 1.7976931348623157e308, 5e-324, 1e-5, 1e-14, 1e-15, 1e-16, 0.1, 0.30000000000000004, 3.14, 100000.0, 1e100]'),
		(9,0,JSON_ARRAY(CAST(1.50 AS DECIMAL(10,2)), CAST(-0.001 AS DECIMAL(5,3)), CAST(12345678901234567890123 AS DECIMAL(30,0)), CAST('2024-02-29' AS DATE), CAST('2024-02-29 01:02:03.4' AS DATETIME(6)), CAST('-12:34:56.789' AS TIME(6)), TIMESTAMP('2024-01-01'), 1=1, CAST('0.0' AS DECIMAL(4,2)))),
		(10,0,JSON_OBJECT('bin', X'00FF10', 'bits', b'101', 'y', CAST(2024 AS YEAR))),
		(11,0,CONCAT('{"long": "', REPEAT('x', 70000), '", "k": [', REPEAT('1,', 40000), '1]}')),
		(12,0,'{"": "empty key", "ключ": "значение"}'),(13,0,'123'),(14,0,'1.5'),(15,0,'true'),(16,0,'[[[[[[[[[[1]]]]]]]]]]')`,
}

// TestZooMySQL is TestZoo against a real MySQL, whose port the environment
// names; the accounts are those of the test server.
func TestZooMySQL(t *testing.T) {
	port, err := strconv.Atoi(os.Getenv("THERMOCLINE_MYSQL_PORT"))
	if err != nil {
		t.Skip("needs a MySQL server: set THERMOCLINE_MYSQL_PORT (account t, password t)")
	}
	srv := connectServer(t, port, "t", "t")
	srv.user, srv.password = "t", "t"
	srv.exec("DROP DATABASE IF EXISTS z")
	srv.exec(zooMySQL...)
	t.Cleanup(func() { srv.exec("DROP DATABASE z") })
	checkZoo(t, srv, []string{"z.numbers", "z.times", "z.texts", "z.bytes", "z.labels", "z.json"})
	src := srv.source()
	if err := src.Check(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !src.server.gtid || src.server.mariadb {
		t.Errorf("%+v", src.server)
	}
}

// TestFollowMySQL: what only MySQL does to its binlog: compressed transactions,
// tagged GTIDs, no GTIDs.
func TestFollowMySQL(t *testing.T) {
	port, err := strconv.Atoi(os.Getenv("THERMOCLINE_MYSQL_PORT"))
	if err != nil {
		t.Skip("needs a MySQL server: set THERMOCLINE_MYSQL_PORT (account t, password t)")
	}
	srv := connectServer(t, port, "t", "t")
	srv.db.SetMaxOpenConns(1)
	srv.exec("DROP DATABASE IF EXISTS f; CREATE DATABASE f; CREATE TABLE f.t (id INT PRIMARY KEY, v INT, s VARCHAR(300))")
	t.Cleanup(func() {
		srv.exec("SET gtid_next='AUTOMATIC'; SET binlog_transaction_compression=OFF; DROP DATABASE f")
	})
	ctx := context.Background()
	expect := func(st source.Stream, tables []*source.Table, transactions int, want ...string) {
		t.Helper()
		changes, stops := follow(t, st, tables, transactions)
		if got := texts(changes); !reflect.DeepEqual(got, want) || len(stops) > 0 {
			t.Errorf("%q %q, want %q", got, stops, want)
		}
	}
	st, tables := session(t, srv, "f.t")
	srv.exec("SET binlog_transaction_compression=ON", "BEGIN; INSERT INTO f.t VALUES (1,1,REPEAT('a',300)),(2,2,'b'); UPDATE f.t SET v = 5; COMMIT", "SET binlog_transaction_compression=OFF", "INSERT INTO f.t VALUES (3,3,'c')")
	a := `"` + strings.Repeat("a", 300) + `"`
	expect(st, tables, 2, "+I 1,1,"+a, `+I 2,2,"b"`, "+U 1,5,"+a, `+U 2,5,"b"`, `+I 3,3,"c"`)

	srv.exec("SET gtid_next='AUTOMATIC:Some_tag'", "INSERT INTO f.t VALUES (4,4,'d')", "SET gtid_next='AUTOMATIC'", "INSERT INTO f.t VALUES (5,5,'e')")
	expect(st, tables, 1, `+I 4,4,"d"`)
	p := st.Position()
	if !strings.Contains(p.String(), "some_tag:1") {
		t.Errorf("%s has no tag", p)
	}
	expect(st, tables, 1, `+I 5,5,"e"`)
	again, err := srv.source().Stream(ctx, p, tables)
	if err != nil {
		t.Fatal(err)
	}
	expect(again, tables, 1, `+I 5,5,"e"`)
	again.Close()

	srv.exec("SET GLOBAL gtid_mode=ON_PERMISSIVE", "SET GLOBAL gtid_mode=OFF_PERMISSIVE", "SET GLOBAL gtid_mode=OFF")
	t.Cleanup(func() {
		srv.exec("SET GLOBAL gtid_mode=OFF_PERMISSIVE", "SET GLOBAL gtid_mode=ON_PERMISSIVE", "SET GLOBAL gtid_mode=ON")
	})
	if _, err := streamError(srv.source(), p, tables); errs.KindOf(err) != errs.SourceGone {
		t.Errorf("a GTID position without GTIDs: %v", err)
	}
	st, tables = session(t, srv, "f.t")
	positions := []source.Position{st.Position()}
	srv.exec("INSERT INTO f.t VALUES (6,6,'f')", "FLUSH LOGS", "BEGIN; INSERT INTO f.t VALUES (7,7,'g'); INSERT INTO f.t VALUES (8,8,'h'); COMMIT", "CREATE TABLE f.other (id INT PRIMARY KEY)", "INSERT INTO f.t VALUES (9,9,'i')")
	want := []string{`+I 6,6,"f"`, `+I 7,7,"g"`, `+I 8,8,"h"`, `+I 9,9,"i"`}
	after := []int{0, 1, 3, 3, 4}
	for range 4 {
		follow(t, st, tables, 1)
		positions = append(positions, st.Position())
	}
	for i, p := range positions {
		q, err := srv.source().ParsePosition(p.String())
		if err != nil || !q.Covers(p) || !p.Covers(q) {
			t.Fatalf("%s: %v", p, err)
		}
		again, err := srv.source().Stream(ctx, q, tables)
		if err != nil {
			t.Fatal(err)
		}
		if n := 4 - i; n > 0 {
			expect(again, tables, n, want[after[i]:]...)
		}
		again.Close()
		if i > 0 && !(p.Covers(positions[i-1]) && !positions[i-1].Covers(p)) {
			t.Errorf("%s does not come after %s", p, positions[i-1])
		}
	}
	srv.exec("DROP USER IF EXISTS few@'%'; CREATE USER few@'%' IDENTIFIED BY 'few'; GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO few@'%'")
	few := *srv
	few.user, few.password = "few", "few"
	if _, err := few.source().Snapshot(ctx, ids("f.t")); errs.KindOf(err) != errs.SourceNotReady || !strings.Contains(err.Error(), "grant RELOAD to few") {
		t.Errorf("%v", err)
	}
}
