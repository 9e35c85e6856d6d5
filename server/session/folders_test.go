package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/files"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/parquet"
	tables "github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// withFolders lets sessions declare tables of files.
func withFolders(roots ...string) func(*Config) {
	return func(c *Config) {
		store := &files.Store{Files: fileio.Local{}, Formats: format.NewRegistry(parquet.Format{})}
		c.Files, c.FileRoots, c.AnyFile = store, roots, roots == nil
		c.Temporary = func(pays *memory.Budget) catalog.Writable { return files.NewDeclared(tables.NewCatalog(pays), store) }
	}
}

// everyType are columns of all types that the text formats have, and rows of them.
const everyType = "a INT, i8 TINYINT, i16 SMALLINT, i64 BIGINT, s STRING, f FLOAT, n DOUBLE, d DECIMAL(20,2), b BOOLEAN, dt DATE, t TIME(0), ts TIMESTAMP(3), y BYTES"
const someRows = `(1, -128, 32767, -9223372036854775808, 'x, "y"', 1.5, 1e100, -12345678901234567.25, true, '2026-01-31', '10:20:30', '2026-01-31 10:20:30.123', x'00ff41'),
	(2, 0, 0, 0, '', 0, -0.1, 0, false, '0001-01-01', '00:00:00', '1969-12-31 23:59:59', ''),
	(3, NULL, NULL, NULL, 'line\nbreak ', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`

// TestFolders: what is written into tables of files is read from them, in every
// format and type, and OVERWRITE replaces it.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	s := session(t, server(t, withFolders()), OpenOptions{Database: "shop"})
	for _, f := range []string{"csv", "json", "parquet"} {
		root, more := filepath.Join(dir, f), ""
		if f == "csv" {
			more = ", 'csv.null-literal' = '<null>'"
		}
		script(t, s, "CREATE TABLE t_"+f+" ("+everyType+") WITH ('connector' = 'filesystem', 'path' = '"+root+"', 'format' = '"+f+"'"+more+");\n"+
			"CREATE TEMPORARY TABLE m_"+f+" ("+everyType+") WITH ('bucket' = '-1');\n"+
			"INSERT INTO m_"+f+" VALUES "+someRows+";\nINSERT INTO t_"+f+" SELECT * FROM m_"+f)
		want(t, s, "SHOW WARNINGS", "")
		rows := query(t, s, "SELECT * FROM m_"+f+" ORDER BY a")
		if got := query(t, s, "SELECT * FROM t_"+f+" ORDER BY a"); got != rows || strings.Count(rows, "\n") < 2 {
			t.Errorf("%s:\n%s\nwant\n%s", f, got, rows)
		}
		want(t, s, "SELECT COUNT(*), SUM(b), MAX(ts) FROM t_"+f+" WHERE a < 3", "2|1|2026-01-31 10:20:30.123")
		query(t, s, "INSERT INTO t_"+f+" SELECT * FROM m_"+f)
		want(t, s, "SELECT COUNT(*) FROM t_"+f, "6")
		query(t, s, "INSERT OVERWRITE t_"+f+" SELECT * FROM t_"+f+" WHERE a = 2 LIMIT 1")
		want(t, s, "SELECT COUNT(*), MAX(a) FROM t_"+f, "1|2")
		left, err := filepath.Glob(root + "/*")
		if err != nil || len(left) != 1 {
			t.Errorf("%s: files %v (%v)", f, left, err)
		}
		query(t, s, "TRUNCATE TABLE t_"+f)
		want(t, s, "SELECT COUNT(*) FROM t_"+f, "0")
		query(t, s, "INSERT OVERWRITE t_"+f+" SELECT * FROM m_"+f+" WHERE a > 3")
		want(t, s, "SELECT COUNT(*) FROM t_"+f, "0")
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		wantKind(t, s, "SELECT COUNT(*) FROM t_"+f, errs.FileNotFound)
		query(t, s, "DROP TABLE t_"+f)
		wantKind(t, s, "SELECT * FROM t_"+f, errs.UnknownTable)
	}
}

// TestFolderPartitions: the columns of PARTITIONED BY are folders, which filters and
// OVERWRITE choose.
func TestFolderPartitions(t *testing.T) {
	root := filepath.Join(t.TempDir(), "p")
	s := session(t, server(t, withFolders()), OpenOptions{Database: "shop"})
	script(t, s, "CREATE TEMPORARY TABLE p (v INT, dt DATE, k STRING) PARTITIONED BY (k, dt) WITH ('connector'='filesystem', 'path'='"+root+"', 'format'='json');\n"+
		"INSERT INTO p VALUES (1, '2026-01-01', 'a/b=c é'), (2, '2026-01-01', 'z'), (3, '2026-01-02', 'z'), (4, NULL, NULL)")
	want(t, s, "SELECT * FROM p ORDER BY v", "1|2026-01-01|a/b=c é\n2|2026-01-01|z\n3|2026-01-02|z\n4|NULL|NULL")
	want(t, s, "SELECT v, k FROM p WHERE dt = '2026-01-02' OR k IS NULL ORDER BY v", "3|z\n4|NULL")
	for _, d := range []string{"k=z/dt=2026-01-02", "k=__DEFAULT_PARTITION__/dt=__DEFAULT_PARTITION__", "k=a%2Fb=c%20%C3%A9/dt=2026-01-01"} {
		if got, _ := filepath.Glob(filepath.Join(root, d, "part-*.json")); len(got) != 1 {
			t.Errorf("files of %s: %v", d, got)
		}
	}
	query(t, s, "INSERT OVERWRITE p VALUES (5, '2026-01-02', 'z')") // the partitions of its rows
	want(t, s, "SELECT v FROM p ORDER BY v", "1\n2\n4\n5")
	query(t, s, "INSERT OVERWRITE p PARTITION (k = 'z') SELECT 6, '2026-01-09'")
	want(t, s, "SELECT v FROM p ORDER BY v", "1\n2\n4\n5\n6")
	query(t, s, "INSERT OVERWRITE p /*+ OPTIONS('dynamic-partition-overwrite'='false') */ PARTITION (k = 'z') SELECT 7, '2026-01-09'")
	want(t, s, "SELECT v FROM p ORDER BY v", "1\n4\n7")
	if err := os.MkdirAll(root+"/k=z/dt=tomorrow", 0o700); err != nil {
		t.Fatal(err)
	}
	wantKind(t, s, "SELECT * FROM p", errs.TruncatedValue)
	if err := os.Rename(root+"/k=z/dt=tomorrow", root+"/k=z/elsewhere"); err != nil {
		t.Fatal(err)
	}
	wantKind(t, s, "SELECT * FROM p", errs.InvalidTable)
}

// TestFolderRefusals: nothing that would read differently is written, and what a
// table of files cannot do is an error.
func TestFolderRefusals(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	srv := server(t, withFolders(root))
	s := session(t, srv, OpenOptions{Database: "shop"})
	with := func(more string) string {
		return " WITH ('connector' = 'filesystem', 'path' = '" + root + "/t', 'format' = 'csv'" + more + ")"
	}
	for q, k := range map[string]errs.Kind{
		"CREATE TABLE t (a INT, PRIMARY KEY (a) NOT ENFORCED)" + with(""):                                                  errs.InvalidTable,
		"CREATE TABLE t (a ARRAY<INT>)" + with(""):                                                                         errs.NotSupported,
		"CREATE TABLE t (a INT)" + with(", 'sink.rolling-policy.file-size' = '1 MB'"):                                      errs.NotSupported,
		"CREATE TABLE t (a INT)" + with(", 'json.encode.ignore-null-fields' = 'true'"):                                     errs.NotSupported,
		"CREATE TABLE t (a INT) PARTITIONED BY (a)" + with(""):                                                             errs.InvalidTable,
		"CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'format' = 'csv')":                                       errs.InvalidTable,
		"CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = '" + root + "/t')":                              errs.InvalidTable,
		"CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = '" + root + "/t', 'format' = 'orc')":            errs.NotSupported,
		"CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = '" + elsewhere + "/t', 'format' = 'csv')":       errs.FilesOutside,
		"CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = '" + root + "/../t', 'format' = 'csv')":         errs.FilesOutside,
		"CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'path' = '" + root + "/../t', 'format' = 'csv')":              errs.NotSupported,
		"CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = '" + root + "/*', 'format' = 'csv')":            errs.InvalidTable,
		"CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = 's3://elsewhere/t', 'format' = 'csv')":          errs.FilesOutside,
		"CREATE TABLE t (a INT)" + with(", 'csv.field-delimiter' = '||'"):                                                  errs.InvalidTable,
		"CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = '" + root + "/t', 'format' = 'csv', 'x' = 'y')": errs.NotSupported,
	} {
		wantKind(t, s, q, k)
	}
	script(t, s, "CREATE TABLE t (a INT, s STRING)"+with(", 'csv.field-delimiter' = ';'")+";\nCREATE TABLE n (a INT, s STRING)"+strings.Replace(with(", 'csv.null-literal' = 'nil'"), "/t'", "/n'", 1)+
		";\nCREATE TABLE j (n DOUBLE)"+strings.NewReplacer("/t'", "/j'", "csv", "json").Replace(with(""))+
		";\nINSERT INTO t VALUES (1, 'a;b'), (NULL, '')")
	want(t, s, "SHOW CREATE TABLE t", "t|CREATE TABLE `t` (\n  `a` int DEFAULT NULL,\n  `s` longtext COLLATE utf8mb4_0900_bin\n) ENGINE=Paimon DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin /*T! WITH ("+
		"'connector' = 'filesystem', 'csv.field-delimiter' = ';', 'format' = 'csv', 'path' = '"+root+"/t') */")
	for q, k := range map[string]errs.Kind{
		"INSERT INTO t VALUES (1, NULL)":                     errs.WrongArguments,
		"INSERT INTO t VALUES (1, 'a\r\nb')":                 errs.WrongArguments,
		"INSERT INTO n VALUES (1, 'nil')":                    errs.WrongArguments,
		"UPDATE t SET a = 2":                                 errs.NotSupported,
		"DELETE FROM t":                                      errs.NotSupported,
		"SELECT * FROM t FOR VERSION AS OF 1":                errs.UnknownSnapshot,
		"SELECT * FROM `t$files`":                            errs.UnknownTable,
		"CREATE TEMPORARY TABLE t (a INT)":                   errs.TableExists,
		"ALTER TABLE t ADD COLUMN b INT":                     errs.NotSupported,
		"INSERT INTO t SELECT a, s FROM t WHERE 1/(a-1)":     errs.KindNone,
		"INSERT INTO t SELECT a + 2147483647, s FROM t":      errs.ValueOutOfRange,
		"INSERT INTO t SELECT a, CONCAT(s, NULL) FROM t":     errs.WrongArguments,
		"INSERT OVERWRITE t SELECT a, CONCAT(s,NULL) FROM t": errs.WrongArguments,
	} {
		if k != errs.KindNone {
			wantKind(t, s, q, k)
		}
	}
	want(t, s, "SELECT * FROM t", "1|a;b\nNULL|")
	left, err := filepath.Glob(root + "/t/*")
	if err != nil || len(left) != 1 {
		t.Errorf("files of failed statements: %v (%v)", left, err)
	}
	query(t, s, "INSERT INTO n VALUES (NULL, NULL), (1, '')")
	want(t, s, "SELECT * FROM n ORDER BY a", "NULL|NULL\n1|")

	// Another session does not see them.
	wantKind(t, session(t, srv, OpenOptions{Database: "shop"}), "SELECT * FROM t", errs.UnknownTable)
}

// TestFolderFlink: files that Flink 1.20.5's filesystem connector wrote for INSERTs of
// these rows.
func TestFolderFlink(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"csv/p=z/part-0":            "2,,1.0E100,-0.01,false,0001-01-01,00:00:00,\"1969-12-31 23:59:59\",\"1970-01-01 00:00:00Z\",\n",
		"csv/p=n/part-0":            ",,,,,,,,,\n",
		"csv/p=p q%2Fé%3D1/part-0":  "1,\"x, \"\"y\"\"\",1.5,2.5,true,2026-01-31,10:20:30,\"2026-01-31 10:20:30.123\",\"2026-01-31 10:20:30.123Z\",AP9B\n",
		"json/part-0":               `{"a":1,"s":"x, \"y\"","n":1.5,"d":2.5,"b":true,"dt":"2026-01-31","t":"10:20:30","ts":"2026-01-31 10:20:30.123","l":"2026-01-31 10:20:30.123Z","y":"AP9B"}` + "\n" + `{"a":null,"s":null,"n":null,"d":null,"b":null,"dt":null,"t":null,"ts":null,"l":null,"y":null}` + "\n",
		"json/.part-1.inprogress.0": "{",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := session(t, server(t, withFolders()), OpenOptions{Database: "shop"})
	const columns = "a INT, s STRING, n DOUBLE, d DECIMAL(10,2), b BOOLEAN, dt DATE, t TIME(0), ts TIMESTAMP(3), l TIMESTAMP_LTZ(3), y BYTES"
	script(t, s, "SET time_zone = '+00:00';\nCREATE TEMPORARY TABLE c ("+columns+", p STRING) PARTITIONED BY (p) WITH ('connector'='filesystem','path'='"+root+"/csv','format'='csv');\n"+
		"CREATE TEMPORARY TABLE j ("+columns+") WITH ('connector'='filesystem','path'='"+root+"/json','format'='json')")
	const one = "1|x, \"y\"|1.5|2.50|1|2026-01-31|10:20:30|2026-01-31 10:20:30.123|2026-01-31 10:20:30.123|00FF41"
	const columnsOf = "a, s, n, d, b, dt, t, ts, l, HEX(y)"
	want(t, s, "SELECT "+columnsOf+", p FROM c ORDER BY p", "NULL||NULL|NULL|NULL|NULL|NULL|NULL|NULL||n\n"+one+"|p q/é=1\n2||1e100|-0.01|0|0001-01-01|00:00:00|1969-12-31 23:59:59.000|1970-01-01 00:00:00.000||z")
	want(t, s, "SELECT "+columnsOf+" FROM j ORDER BY a DESC", one+"\nNULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL")
}
