package session

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
)

// passages cuts the SQL out of a text: statements that begin a line with one of
// SQL's verbs and end with a semicolon at a line's end.
func passages(text string) (out []string) {
	verb := regexp.MustCompile(`^\s*(CREATE|INSERT|SELECT|CALL|USE|ALTER|DROP|SET|MERGE|UPDATE|DELETE|TRUNCATE)\b`)
	var cur []string
	for _, l := range strings.Split(text, "\n") {
		if cur == nil && !verb.MatchString(l) {
			continue
		}
		cur = append(cur, l)
		code, _, _ := strings.Cut(l, "--")
		if strings.HasSuffix(strings.TrimRight(code, " \t\r"), ";") {
			out = append(out, strings.TrimSuffix(strings.TrimSpace(strings.Join(cur, "\n")), ";"))
			cur = nil
		}
	}
	return out
}

// section is the part of a text between two headings.
func section(t *testing.T, text, from, to string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n"+from)
	if !ok {
		t.Fatalf("there is no heading %q", from)
	}
	part, _, ok := strings.Cut(rest, "\n"+to)
	if !ok {
		t.Fatalf("there is no heading %q", to)
	}
	return part
}

func seed(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(testkit.Shared(t, "seeds/"+name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// corrected is a statement of a script that cannot run as it is written: how it
// begins, what the error says, and what it is replaced by to run ("" for not at
// all).
type corrected struct {
	begins, says string
	old, new     string
}

// runSeed feeds the statements of a script to a session. It returns how many ran
// as they are written.
func runSeed(t *testing.T, s *Session, statements []string, known []corrected) (n int) {
	t.Helper()
	for _, q := range statements {
		_, err := rows(t.Context(), s, q)
		if err == nil {
			n++
			continue
		}
		found := false
		for _, k := range known {
			if !strings.HasPrefix(q, k.begins) || !strings.Contains(err.Error(), k.says) {
				continue
			}
			found = true
			if k.new == "" && k.old == "" {
				break
			}
			if _, err := rows(t.Context(), s, strings.ReplaceAll(q, k.old, k.new)); err != nil {
				t.Errorf("%s\ncorrected by %q: %v", q, k.new, err)
			}
			break
		}
		if !found {
			t.Errorf("%s\n%v (%s)", q, err, errs.KindOf(err))
		}
	}
	return n
}

// The scripts of the platform's design run as they are written: catalogs stand
// ready here, and what needs Flink, a connector or a materialized table is
// refused by name.
func TestPlatformDesignScripts(t *testing.T) {
	dir := t.TempDir()
	// Hosts and folders aside: the script's are these.
	text := strings.NewReplacer("s3://data-lake-cold/paimon-archive/", "file://"+t.TempDir(), "file:///data/paimon/backup/", "file://"+t.TempDir()+"/",
		"file:///data/paimon/warehouse", "file://"+dir).Replace(seed(t, "platform-design.txt"))
	s := session(t, warehouseIn(t, dir), OpenOptions{})
	script(t, s, `CREATE DATABASE ods;
CREATE DATABASE dwd;
CREATE TABLE ods.stand_in (order_id BIGINT, user_id BIGINT, product_name STRING, amount DECIMAL(10, 2), status STRING, order_time TIMESTAMP(3), op_ts TIMESTAMP(3), op_type STRING) WITH ('bucket' = '-1');
INSERT INTO ods.stand_in VALUES (1, 7, 'pen', 1.50, 'new', '2026-06-19 23:59:59.5', '2026-06-20 00:00:01', 'INSERT'), (2, 8, 'ink', 2.25, 'paid', '2026-06-20 10:00:00', '2026-06-20 10:00:01', 'UPDATE_AFTER'), (3, 9, 'pad', 9, 'gone', '2026-06-20 11:00:00', '2026-06-20 11:00:01', 'DELETE')`)
	noBucketKey := corrected{"CREATE TABLE ods.mysql_orders", "'bucket' = '8' needs a 'bucket-key': write 'bucket' = '-1'", "'bucket' = '8'", "'bucket' = '-1'"}
	fromSource := corrected{"INSERT INTO ods.mysql_orders", "mysql_cdc_source", "mysql_cdc_source /*+ OPTIONS('scan.startup.mode'='initial') */", "ods.stand_in"}
	log := corrected{"INSERT INTO dwd.order_detail\n", "read-mode", "/*+ OPTIONS('read-mode'='log') */", ""}
	query(t, s, "USE dwd")
	runSeed(t, s, passages(section(t, text, "4.1 ", "4.3 ")), []corrected{noBucketKey, fromSource, log})
	want(t, s, "SELECT order_id, dt FROM ods.mysql_orders ORDER BY 1", "1|2026-06-19\n2|2026-06-20\n3|2026-06-20")
	want(t, s, "SELECT order_id, user_id, category, quantity, total_amount, dt FROM dwd.order_detail ORDER BY 1", "1|7|default|1|1.50|2026-06-19\n2|8|default|1|2.25|2026-06-20")

	for range 5 {
		query(t, s, "UPDATE dwd.order_detail SET quantity = quantity + 1 WHERE order_id = 2")
	}
	n := runSeed(t, s, passages(section(t, text, "7.1 ", "08 ")), []corrected{
		{begins: "CREATE CATALOG paimon"}, // its metadata server is not here; the catalog of that name is
		{begins: "CREATE TABLE ods.mysql_orders", says: "8"},
		{begins: "CREATE TABLE dwd.order_detail", says: "exists"},
		{begins: "CREATE MATERIALIZED TABLE", says: "materialized tables"},
		{begins: "INSERT INTO ods.mysql_orders", says: "database"},
	})
	if n < 6 {
		t.Errorf("only %d statements of §7 run as they are written", n)
	}
	want(t, s, "SELECT tag_name, snapshot_id FROM dwd.`order_detail$tags`", "tag_20260620|5")

	query(t, s, "USE dwd")
	if n := runSeed(t, s, passages(section(t, text, "8.3 ", "8.4 ")), nil); n != 2 {
		t.Errorf("%d statements of §8.3 ran", n)
	}
	want(t, s, "SELECT COUNT(*) FROM dwd.`order_detail$tags` WHERE tag_name = 'archive_20260520'", "1")
	query(t, s, "CALL sys.create_tag('dwd.order_detail', 'before_bad_update')")
	before := query(t, s, "SELECT quantity FROM dwd.order_detail WHERE order_id = 2")
	for range 12 {
		query(t, s, "UPDATE dwd.order_detail SET quantity = quantity + 1 WHERE order_id = 2")
	}
	query(t, s, "CREATE TABLE dwd.mysql_full_load_rows AS SELECT * FROM dwd.order_detail")
	query(t, s, "CREATE TABLE dwd.order_detail_full LIKE dwd.order_detail")
	runSeed(t, s, passages(section(t, text, "10.1 ", "10.4 ")), []corrected{
		{begins: "CREATE TABLE mysql_full_load", says: "'connector' = 'mysql-cdc'"},
		{begins: "INSERT INTO dwd.order_detail_full", says: "mysql_full_load", old: "mysql_full_load", new: "mysql_full_load_rows"},
		{begins: "CALL sys.merge_into", says: "mysql_full_load", old: "mysql_full_load", new: "mysql_full_load_rows"},
		{begins: "CREATE TABLE dwd.order_detail", says: "exists"},
		{begins: "CALL sys.rollback_to_timestamp", says: "no snapshot from 2024-06-20"}, // older than the table
	})
	want(t, s, "SELECT quantity FROM dwd.order_detail WHERE order_id = 2", before)
}

// The tutorial runs as it is written, its print connector aside.
func TestTutorialScript(t *testing.T) {
	s := session(t, warehouse(t, "my-catalog"), OpenOptions{})
	script(t, s, "CREATE DATABASE scratch;\nUSE scratch")
	statements := passages(seed(t, "paimon-tutorial.txt"))
	at := len(statements) - 2
	n := runSeed(t, s, statements[:at], []corrected{
		{begins: "CREATE Catalog"},
		{begins: "CREATE TEMPORARY TABLE Print", says: "temporary tables"},
		{begins: "INSERT INTO Print", says: "Print"},
	})
	if n < 6 {
		t.Errorf("only %d statements run as they are written", n)
	}
	want(t, s, "SELECT * FROM `my-catalog`.my_db.my_tbl ORDER BY dt, id", "20240108|1|hello\n20240108|2|banana\n20240109|1|cat\n20240109|2|world")
	runSeed(t, s, statements[at:], []corrected{{begins: "DROP CATALOG"}})
	wantKind(t, s, "SELECT * FROM `my-catalog`.my_db.my_tbl", errs.UnknownDatabase)
}

// The batch script of Flink's quickstart runs as it is written, but for its source:
// there is no jdbc connector, so a table of that name stands ready.
func TestQuickstartBatchScript(t *testing.T) {
	dir := t.TempDir()
	text := strings.ReplaceAll(seed(t, "flink-sql-quickstart.txt"), "/opt/flink/output", dir)
	s := session(t, server(t, withFolders()), OpenOptions{Database: "shop"})
	script(t, s, `CREATE TABLE orders_jdbc (order_id INT, customer_id INT, region STRING, amount DOUBLE, status STRING, order_time TIMESTAMP(3), PRIMARY KEY (order_id) NOT ENFORCED) WITH ('bucket' = '1');
INSERT INTO orders_jdbc SELECT n, n % 7, 'EU', n * 1.5, 'NEW', '2026-01-01' FROM (WITH RECURSIVE q AS (SELECT 1 n UNION ALL SELECT n + 1 FROM q WHERE n < 100) SELECT * FROM q) r`)
	n := runSeed(t, s, passages(section(t, text, "-- 03_topn_batch.sql", "Create 04_paimon_read.sql")), []corrected{
		{begins: "CREATE TABLE orders_jdbc", says: "'connector' = 'jdbc'"},
	})
	if n != 6 {
		t.Errorf("%d statements run as they are written", n)
	}
	want(t, s, "SELECT * FROM top_customers ORDER BY total_amount DESC", "2|1147.5\n1|1125\n0|1102.5\n6|1081.5\n5|1060.5")
	b, err := filepath.Glob(dir + "/top_customers/part-*.csv")
	if err != nil || len(b) != 1 {
		t.Fatal(b, err)
	}
	got, err := os.ReadFile(b[0])
	if err != nil || string(got) != "2,1147.5\n1,1125\n0,1102.5\n6,1081.5\n5,1060.5\n" {
		t.Errorf("%s (%v)", got, err)
	}
}
