package mysql

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/mariadb"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
)

// testServer is a private server with an SQL connection to it.
type testServer struct {
	t    *testing.T
	port int
	db   *sql.DB

	user, password string
}

func startServer(t *testing.T, options ...string) *testServer {
	t.Helper()
	if os.Getenv("THERMOCLINE_MYSQL_PORT") != "" {
		t.Skip("needs a MariaDB: MySQL has tests of its own in this package")
	}
	s := testkit.MariaDB(t, options...)
	return connectServer(t, s.Port, mariadb.User, mariadb.Password)
}

func connectServer(t *testing.T, port int, user, password string) *testServer {
	t.Helper()
	db, err := sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(127.0.0.1:%d)/?charset=utf8mb4&multiStatements=true&sql_mode=''&time_zone='%%2B00:00'", user, password, port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &testServer{t, port, db, user, password}
}

func (s *testServer) exec(stmts ...string) {
	s.t.Helper()
	for _, q := range stmts {
		if _, err := s.db.Exec(q); err != nil {
			s.t.Fatalf("%s: %v", q, err)
		}
	}
}

// source opens the server as a source; extra are further options "k=v".
func (s *testServer) source(extra ...string) *Source {
	s.t.Helper()
	opts := []source.Option{{Key: "hostname", Value: "127.0.0.1"}, {Key: "port", Value: strconv.Itoa(s.port)}, {Key: "username", Value: s.user},
		{Key: "password", Value: s.password}, {Key: "heartbeat.interval", Value: "1s"}}
	for _, e := range extra {
		k, v, _ := strings.Cut(e, "=")
		opts = append(opts, source.Option{Key: k, Value: v})
	}
	src, err := New(source.Config{Options: opts, Pipeline: "test"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { src.Close() })
	return src.(*Source)
}

// value is the canonical text of a lake value.
func value(v *vector.Vec, i int, t catalog.Type) string {
	if v.IsNull(i) {
		return "NULL"
	}
	switch v.Kind {
	case vector.I8:
		return strconv.Itoa(int(v.I8s[i]))
	case vector.I32:
		return strconv.Itoa(int(v.I32s[i]))
	case vector.I64:
		if t.Kind == catalog.Decimal {
			return string(vector.AppendDecimalText(nil, v, i, t.Scale))
		}
		return strconv.FormatInt(v.I64s[i], 10)
	case vector.I128:
		return string(vector.AppendDecimalText(nil, v, i, t.Scale))
	case vector.F32:
		return strconv.FormatFloat(float64(v.F32s[i]), 'g', -1, 32)
	case vector.F64:
		return strconv.FormatFloat(v.F64s[i], 'g', -1, 64)
	case vector.Str:
		if t.Kind == catalog.Binary || t.Kind == catalog.Varbinary {
			return "0x" + hex.EncodeToString(v.Bytes(i))
		}
		return strconv.QuoteToASCII(v.String(i))
	}
	return "?"
}

func rowText(tb *source.Table, b *vector.Batch, i int) []string {
	out := make([]string, len(tb.Columns))
	for c := range tb.Columns {
		out[c] = value(b.Cols[c], i, tb.Columns[c].Type)
	}
	return out
}

// readAll reads the i-th table of a snapshot, by its first column.
func readAll(t *testing.T, sn source.Snapshot, i int) map[string][]string {
	t.Helper()
	rows, err := sn.Read(context.Background(), i)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	tb := sn.Tables()[i]
	out := map[string][]string{}
	for {
		b := tb.NewBatch(16)
		err := rows.AppendTo(b, 16, 1<<20)
		for r := range b.Len {
			text := rowText(tb, b, r)
			out[text[0]] = text
		}
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// change is one row of the stream as text.
type change struct {
	table string
	kind  string
	row   []string
}

// follow reads the stream until n transactions have ended after the given
// commands or an event stops a table.
func follow(t *testing.T, st source.Stream, tables []*source.Table, transactions int) (changes []change, stops []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for transactions > 0 {
		ev, err := st.Next(ctx)
		if err != nil {
			t.Fatalf("next: %v (have %d changes)", err, len(changes))
		}
		switch ev.Kind {
		case source.CommitEvent:
			transactions--
		case source.StopEvent:
			stops = append(stops, tables[ev.Table].ID.String()+": "+ev.Reason)
		case source.TruncateEvent:
			stops = append(stops, tables[ev.Table].ID.String()+": truncated: "+ev.Reason)
		case source.DropEvent:
			stops = append(stops, tables[ev.Table].ID.String()+": dropped: "+ev.Reason)
		case source.RowsLostEvent:
			stops = append(stops, fmt.Sprintf("%s: lost %d: %s", tables[ev.Table].ID, ev.Loss, ev.Reason))
		case source.AlterEvent:
			stops = append(stops, tables[ev.Table].ID.String()+": altered: "+ev.Reason)
			d := ev.Definition
			d.Identity = nil
			for _, k := range d.PrimaryKey {
				d.Identity = append(d.Identity, d.Column(k))
			}
			tables[ev.Table] = d
		case source.RowsEvent:
			tb := tables[ev.Table]
			b := tb.NewBatch(16)
			for {
				err := ev.Rows.AppendTo(b, 1<<15, 1<<30)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for r := range b.Len {
				changes = append(changes, change{tb.ID.Name, vector.RowKindString(b.Kind(r)), rowText(tb, b, r)})
			}
		}
	}
	return changes, stops
}

func ids(names ...string) (out []source.ID) {
	for _, n := range names {
		db, t, _ := strings.Cut(n, ".")
		out = append(out, source.ID{Database: db, Name: t})
	}
	return out
}

// zoo is every non-spatial type with its edge values. The first column is the
// key, the second is changed to make the binlog show the whole row.
var zoo = []string{
	"CREATE DATABASE z",
	`CREATE TABLE z.numbers (id INT PRIMARY KEY, n INT, t1 TINYINT, t2 TINYINT UNSIGNED, t3 TINYINT(1), s1 SMALLINT, s2 SMALLINT UNSIGNED, m1 MEDIUMINT, m2 MEDIUMINT UNSIGNED, m3 MEDIUMINT(4) ZEROFILL,
		i1 INT, i2 INT UNSIGNED, b1 BIGINT, b2 BIGINT UNSIGNED, y YEAR, d1 DECIMAL(10,0), d2 DECIMAL(18,4), d3 DECIMAL(38,10), d4 DECIMAL(65,30), d5 DECIMAL(5,5) UNSIGNED, d6 DECIMAL(40,2) ZEROFILL,
		f1 FLOAT, f2 DOUBLE, f3 FLOAT(7,3), f4 DOUBLE(12,4), x1 BIT(1), x2 BIT(10), x3 BIT(64))`,
	`INSERT INTO z.numbers VALUES
		(1,0, -128,255,1, -32768,65535, -8388608,16777215,7, -2147483648,4294967295, -9223372036854775808,18446744073709551615, 2155, -9999999999,-12345678901234.5678,-1234567890123456789012345678.0123456789,
			-12345678901234567890123456789012345.123456789012345678901234567891,0.99999,123.45, 1.17549e-38,-1.7976931348623157e308,1234.567,12345678.1234, b'1',b'1010101010',b'1111111111111111111111111111111111111111111111111111111111111111'),
		(2,0, 127,0,-1, 32767,0, 8388607,0,0, 2147483647,0, 9223372036854775807,0, 1901, 9999999999,0.0001,0.0000000001,0.000000000000000000000000000001,0,0, 3.4028234e38,4.9e-324,-0.001,-0.0001, b'0',b'1',b'0'),
		(3,0, NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL),
		(4,0, 0,128,0, -1,32768, -1,8388608,16777215, -1,2147483648, -1,9223372036854775808, 0, -1,-0.5,-0.0000000001,-0.1,0.00001,99999999999999999999999999999999999999.99, 0.1,0.1,16777.216,0.3, b'1',b'11',b'1000000000000000000000000000000000000000000000000000000000000000'),
		(5,0, 1,1,1,1,1,1,1,1,1,1,1,1,2024,1,1,1,1,0.5,1, -0e0,-0e0,-0e0,1e7,b'1',b'1',b'1'),
		(6,0, 1,1,1,1,1,1,1,1,1,1,1,1,1970,1,1,1,1,0.5,1, 16777217,123456789.123456789,3.1415926,2.718281828,b'1',b'1',b'1')`,
	`CREATE TABLE z.times (id INT PRIMARY KEY, n INT, d DATE, t0 TIME, t1 TIME(1), t2 TIME(2), t3 TIME(3), t4 TIME(4), t5 TIME(5), t6 TIME(6), a0 DATETIME, a1 DATETIME(1), a3 DATETIME(3), a6 DATETIME(6),
		p0 TIMESTAMP NULL, p2 TIMESTAMP(2) NULL, p4 TIMESTAMP(4) NULL, p6 TIMESTAMP(6) NULL, nn DATETIME NOT NULL)`,
	`INSERT INTO z.times VALUES
		(1,0,'1000-01-01','-838:59:59','-838:59:59','-00:00:00.01','-00:00:00.001','-12:34:56.7891','-00:00:01.00001','-838:59:59','1000-01-01 00:00:00','1969-12-31 23:59:59.9','1900-02-28 12:00:00.123','0001-01-01 00:00:00.000001','1970-01-01 00:00:01','1970-01-01 00:00:01.01','2038-01-19 03:14:07.9999','2038-01-19 03:14:07.999999','2024-02-29 01:02:03'),
		(2,0,'9999-12-31','838:59:59','838:59:58.9','838:59:58.99','00:00:00','00:00:00.0001','23:59:59.99999','838:59:58.999999','9999-12-31 23:59:59','9999-12-31 23:59:59.9','2024-02-29 12:00:00','9999-12-31 23:59:59.999999','2038-01-19 03:14:07','2001-02-03 04:05:06.78','2001-02-03 04:05:06.7891','2001-02-03 04:05:06.789123','0000-00-00 00:00:00'),
		(3,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'2024-01-01'),
		(4,0,'0000-00-00','00:00:00','-0:0:0.1','00:00:00','-01:00:00','00:00:00','-00:00:00.5','-00:00:00.000001','0000-00-00','0000-00-00','0000-00-00','0000-00-00','0000-00-00','0000-00-00','0000-00-00','0000-00-00','2024-00-15 00:00:00'),
		(5,0,'2024-00-15','-00:00:01','00:00:01','-00:00:01','-00:00:59.999','00:01:00','01:00:00','100:00:00','2024-01-00','2024-00-00','2023-12-31 23:59:59.999','1582-10-10 00:00:00','2024-03-31 01:30:00','2024-03-31 02:30:00','2024-10-27 01:30:00','2024-10-27 02:30:00','1970-01-01')`,
	`CREATE TABLE z.texts (id INT PRIMARY KEY, n INT, c CHAR(10), v VARCHAR(300), l CHAR(5) CHARACTER SET latin1, lv VARCHAR(20) CHARACTER SET latin1, g VARCHAR(20) CHARACTER SET gbk, u VARCHAR(20) CHARACTER SET utf16, u2 CHAR(7) CHARACTER SET ucs2,
		u32 VARCHAR(20) CHARACTER SET utf32, u3 VARCHAR(20) CHARACTER SET utf8mb3, sj VARCHAR(20) CHARACTER SET sjis, b5 VARCHAR(20) CHARACTER SET big5, ej TEXT CHARACTER SET ujis, ek TEXT CHARACTER SET euckr, kr CHAR(9) CHARACTER SET koi8r, w51 VARCHAR(9) CHARACTER SET cp1251,
		a VARCHAR(9) CHARACTER SET ascii, tt TINYTEXT, x TEXT, mt MEDIUMTEXT, lt LONGTEXT, xl TEXT CHARACTER SET latin1, j JSON, wide CHAR(100))`,
	`INSERT INTO z.texts VALUES
		(1,0,'abc  ','trail   ','öäü€','ÿ“ñ','中文测试','a😀b','ж日','😀','日本','表ｱ','中文','日本語','한국어','привет','Ёж','ascii','tiny','text','medium','long','Grüße €','{"a": [1, 2.0, "x"]}',REPEAT('é',100)),
		(2,0,'','','','','','','','','','','','','','','','','','','','','','[]',''),
		(3,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL),
		(4,0,'  lead','a\0b\n\\''"','  x','tab\t','ａ１','\n','q','r','s','t','u','v','w','x','y','z',REPEAT('x',255),REPEAT('é',20000),REPEAT('z',70000),REPEAT('日',40000),'x','"s"','y')`,
	`CREATE TABLE z.bytes (id INT PRIMARY KEY, n INT, b BINARY(8), b1 BINARY(1), b255 BINARY(255), vb VARBINARY(300), tb TINYBLOB, bl BLOB, mb MEDIUMBLOB, lb LONGBLOB)`,
	`INSERT INTO z.bytes VALUES (1,0,X'0102000000000000',X'00',X'FF',X'010000',X'00',X'FF00FE','m',REPEAT(X'00FF',50000)), (2,0,X'',X'FF',X'',X'','','','',''), (3,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL), (4,0,X'2020202020202020',X'20',X'2000',X'2000','  ','  ','  ','  ')`,
	`CREATE TABLE z.labels (id INT PRIMARY KEY, n INT, e ENUM('a','b''c','d\\e','f\ng','','日本','x,y'), s SET('a','b','c''d','日本'), el ENUM('é','ñ') CHARACTER SET latin1, big SET('1','2','3','4','5','6','7','8','9','10','11','12','13','14','15','16','17','18','19','20','21','22','23','24','25','26','27','28','29','30','31','32','33','34','35','36','37','38','39','40','41','42','43','44','45','46','47','48','49','50','51','52','53','54','55','56','57','58','59','60','61','62','63','64'))`,
	`INSERT INTO z.labels VALUES (1,0,'a','a','é','1'),(2,0,'b''c','a,c''d','ñ','64'),(3,0,NULL,NULL,NULL,NULL),(4,0,'d\\e','','é','1,2,63,64'),(5,0,'f\ng','日本,a','é',''),(6,0,'bogus','bogus','bogus','bogus'),(7,0,'','b',1,'53,54'),(8,0,'日本','a,b,c''d,日本',2,'2'),(9,0,'x,y','b','ñ','3')`,
	`CREATE TABLE z.maria (id INT PRIMARY KEY, n INT, u UUID, i6 INET6, i4 INET4, v INT GENERATED ALWAYS AS (id * 2) VIRTUAL, st INT GENERATED ALWAYS AS (id * 3) STORED, inv INT INVISIBLE DEFAULT 5)`,
	`INSERT INTO z.maria (id, n, u, i6, i4) VALUES (1,0,'123e4567-e89b-12d3-a456-426655440000','2001:db8::1','10.0.0.0'),(2,0,'00000000-0000-0000-0000-000000000000','::','0.0.0.0'),(3,0,NULL,NULL,NULL),(4,0,'018f3e2a-7c00-7abc-8def-0123456789ab','::ffff:1.2.3.4','255.255.255.0'),
		(5,0,'ffffffff-ffff-ffff-ffff-ffffffffffff','::1.2.3.4','1.2.3.0'),(6,0,'f47ac10b-58cc-4372-a567-0e02b2c3d479','fe80::1:0:0:1','1.0.0.0'),(7,0,UUID(),'2001:db8:0:0:1:0:0:0','9.9.9.9'),(8,0,'1ec9414c-232a-6b00-b3c8-9e6bdeced846','::1','8.8.8.8'),
		(9,0,'00000000-0000-4000-0000-000000000000','1:2:3:4:5:6:7:8','7.7.7.7'),(10,0,'12345678-1234-8234-9234-123456789012','0:0:1::','6.6.6.6'),(11,0,'12345678-1234-5234-8234-000000000000','64:ff9b::1.2.3.4','6.6.6.0')`,
}

// TestZoo compares every value of the snapshot with what the binlog says of the
// same row, and a few with what the server shows.
func TestZoo(t *testing.T) {
	srv := startServer(t)
	srv.exec(zoo...)
	names := []string{"z.numbers", "z.times", "z.texts", "z.bytes", "z.labels", "z.maria"}
	for _, setting := range []string{"binlog_row_metadata = 'NO_LOG'", "binlog_row_metadata = 'MINIMAL'", "binlog_row_metadata = 'FULL'", "log_bin_compress = ON", "time_zone = '+09:00'", "binlog_checksum = 'NONE'"} {
		srv.exec("SET GLOBAL " + setting)
		srv.db.SetMaxIdleConns(0) // the setting counts for new sessions
		t.Run(setting, func(t *testing.T) { checkZoo(t, srv, names) })
	}
}

func checkZoo(t *testing.T, srv *testServer, names []string) {
	ctx := context.Background()
	src := srv.source()
	if err := src.Check(ctx); err != nil {
		t.Fatal(err)
	}
	sn, err := src.Snapshot(ctx, ids(names...))
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	tables := sn.Tables()
	want := map[string]map[string][]string{}
	total := 0
	for i, tb := range tables {
		if tb.Unsupported != "" {
			t.Fatalf("%s: %s", tb.ID, tb.Unsupported)
		}
		want[tb.ID.Name] = readAll(t, sn, i)
		total += len(want[tb.ID.Name])
	}
	for _, n := range names {
		srv.exec("UPDATE " + n + " SET n = n + 1")
	}
	st, err := src.Stream(ctx, sn.Position(), tables)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	changes, stops := follow(t, st, tables, len(names))
	if len(stops) > 0 {
		t.Fatal(stops)
	}
	if len(changes) != total {
		t.Errorf("the stream has %d rows, the snapshot %d", len(changes), total)
	}
	for _, c := range changes {
		if c.kind != "+U" {
			t.Errorf("%s %s: kind %s", c.table, c.row[0], c.kind)
		}
		w := want[c.table][c.row[0]]
		if w == nil {
			t.Errorf("%s: no row %s in the snapshot", c.table, c.row[0])
			continue
		}
		for i, tb := 0, tables[0]; i < len(w); i++ {
			for _, x := range tables {
				if x.ID.Name == c.table {
					tb = x
				}
			}
			if i != 1 && w[i] != c.row[i] {
				t.Errorf("%s row %s column %s (%s): snapshot %.80s, stream %.80s", c.table, w[0], tb.Columns[i].Name, tb.Columns[i].Type, w[i], c.row[i])
			}
		}
	}
}

// serverForm writes a lake value as the server shows it in text.
func serverForm(c *source.Column, v *vector.Vec, i int) string {
	if v.IsNull(i) {
		return "NULL"
	}
	var n native
	if err := json.Unmarshal(c.Native, &n); err != nil {
		return err.Error()
	}
	frac := func(us int64) string {
		if n.Fsp == 0 {
			return ""
		}
		return fmt.Sprintf(".%06d", us)[:n.Fsp+1]
	}
	switch nativeKinds[n.Type] {
	case kindDate:
		return time.Unix(int64(v.I32s[i])*86400, 0).UTC().Format("2006-01-02")
	case kindDatetime, kindTimestamp:
		x := time.UnixMicro(v.I64s[i]).UTC()
		return x.Format("2006-01-02 15:04:05") + frac(int64(x.Nanosecond())/1000)
	case kindTime:
		x, sign := v.I64s[i], ""
		if x < 0 {
			x, sign = -x, "-"
		}
		return fmt.Sprintf("%s%02d:%02d:%02d", sign, x/3600e6, x/60e6%60, x/1e6%60) + frac(x%1e6)
	case kindYear:
		return fmt.Sprintf("%04d", v.I32s[i])
	case kindFloat:
		return strconv.FormatFloat(float64(v.F32s[i]), 'g', -1, 64)
	case kindDouble:
		return strconv.FormatFloat(v.F64s[i], 'g', -1, 64)
	}
	if v.Kind == vector.Str {
		return v.String(i)
	}
	return value(v, i, c.Type)
}

// TestZooAgainstServer compares lake values with the server's own text.
func TestZooAgainstServer(t *testing.T) {
	srv := startServer(t)
	srv.exec(zoo...)
	ctx := context.Background()
	src := srv.source()
	names := []string{"z.numbers", "z.times", "z.texts", "z.bytes", "z.labels", "z.maria"}
	sn, err := src.Snapshot(ctx, ids(names...))
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	compared := 0
	for ti, tb := range sn.Tables() {
		rows, err := sn.Read(ctx, ti)
		if err != nil {
			t.Fatal(err)
		}
		b := tb.NewBatch(16)
		if err := rows.AppendTo(b, 1000, 1<<30); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		rows.Close()
		for ci := range tb.Columns {
			c := &tb.Columns[ci]
			var n native
			if err := json.Unmarshal(c.Native, &n); err != nil {
				t.Fatal(err)
			}
			q := "CAST(" + quote(c.Name) + " AS CHAR)"
			switch nativeKinds[n.Type] {
			case kindBytes, kindBit:
				q = "CAST(" + quote(c.Name) + " AS BINARY)"
				if n.Type == "bit" || n.Type == "binary" {
					q = quote(c.Name)
				}
			case kindText, kindEnum, kindSet:
				q = "CONVERT(" + quote(c.Name) + " USING utf8mb4)"
			case kindFloat, kindDouble:
				q = quote(c.Name) + " * 1.0E0"
			case kindDecimal:
				if strings.Contains(c.Declared, "zerofill") {
					q = "CAST(TRIM(LEADING '0' FROM " + quote(c.Name) + ") AS CHAR)"
				}
			}
			for r := range b.Len {
				var want sql.NullString
				if err := srv.db.QueryRow(fmt.Sprintf("SELECT %s FROM %s WHERE id = %d", q, quoteID(tb.ID), b.Cols[0].I32s[r])).Scan(&want); err != nil {
					t.Fatal(err)
				}
				if !want.Valid {
					want.String = "NULL"
				}
				if strings.HasPrefix(want.String, "0000-") || strings.Contains(want.String, "-00") && n.mayBeInvalid() {
					want.String = "NULL"
				}
				if n.Type == "mediumint" && n.Unsigned {
					want.String = strings.TrimLeft(want.String, "0")
					if want.String == "" {
						want.String = "0"
					}
				}
				got := serverForm(c, b.Cols[ci], r)
				if nativeKinds[n.Type] == kindDecimal && strings.HasPrefix(got, "0.") && strings.HasPrefix(want.String, ".") {
					want.String = "0" + want.String
				}
				if got != want.String {
					t.Errorf("%s.%s (%s) row %d: %.100q, the server shows %.100q", tb.ID, c.Name, c.Declared, r+1, got, want.String)
				}
				compared++
			}
		}
	}
	if compared < 500 {
		t.Errorf("only %d values compared", compared)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
