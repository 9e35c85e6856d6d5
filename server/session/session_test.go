package session

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/metadata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lake makes a catalog with a small shop in it.
func lake(t testing.TB) *memory.Catalog {
	t.Helper()
	c := memory.NewCatalog(nil, "shop", "empty")
	def := "NEW"
	s := &catalog.Schema{
		Fields: []catalog.Field{
			{ID: 0, Name: "order_id", Type: catalog.TInt.Required()},
			{ID: 1, Name: "region", Type: catalog.Type{Kind: catalog.Varchar, Length: 10}, Comment: "where it's sold"},
			{ID: 2, Name: "amount", Type: catalog.TDouble},
			{ID: 3, Name: "status", Type: catalog.Type{Kind: catalog.Varchar, Length: 10}, Default: &def},
		},
		HighestFieldID: 3, PrimaryKeys: []string{"order_id"}, Options: map[string]string{"bucket": "1"}, Comment: "orders",
	}
	table, err := c.CreateTable(t.Context(), catalog.Identifier{Database: "shop", Table: "orders"}, s, false)
	if err != nil {
		t.Fatal(err)
	}
	b := vector.NewBatch([]vector.Kind{vector.I32, vector.Str, vector.F64, vector.Str}, 3)
	for i, r := range []string{"US", "EU", "CN"} {
		b.Cols[0].AppendI32(int32(1001 + i))
		b.Cols[1].AppendString(r)
		b.Cols[2].AppendF64(20.5 + float64(i))
		b.Cols[3].AppendString("NEW")
		b.Len++
	}
	write(t, table, b)
	return c
}

func write(t testing.TB, table catalog.Table, b *vector.Batch) {
	t.Helper()
	w, err := table.(connector.Writable).NewWrite(t.Context(), connector.WriteOptions{CommitUser: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	m, err := w.PrepareCommit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := table.(connector.Writable).NewCommit(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(t.Context(), &connector.Committable{Identifier: time.Now().UnixNano(), Messages: m}); err != nil {
		t.Fatal(err)
	}
}

func server(t testing.TB, change ...func(*Config)) *Server {
	t.Helper()
	cfg := Config{Catalogs: []NamedCatalog{{Name: "lake", Catalog: lake(t)}, {Name: "cold", Catalog: memory.NewCatalog(nil, "arch")}}, Version: "1.2.3",
		Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	for _, f := range change {
		f(&cfg)
	}
	s, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func session(t testing.TB, s *Server, o OpenOptions) *Session {
	t.Helper()
	x, err := s.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

// rows runs a statement and returns its rows as lines, columns separated by |.
func rows(ctx context.Context, s *Session, text string, params ...expr.Value) ([]string, error) {
	var out []string
	all, err := cellRows(ctx, s, text, params...)
	for _, r := range all {
		out = append(out, strings.Join(r, "|"))
	}
	return out, err
}

// cellRows runs a statement and returns its rows' cells as texts.
func cellRows(ctx context.Context, s *Session, text string, params ...expr.Value) ([][]string, error) {
	res, err := s.Execute(ctx, text, params)
	if err != nil {
		return nil, err
	}
	defer res.Close()
	var out [][]string
	if res.Rows == nil {
		return nil, nil
	}
	for {
		b, err := res.Rows.Next(ctx)
		if err != nil {
			return out, err
		}
		if b == nil {
			return out, nil
		}
		for i := range b.Rows() {
			var cells []string
			for c, v := range b.Cols {
				r := b.Row(i)
				if v.IsNull(r) {
					cells = append(cells, "NULL")
				} else {
					cells = append(cells, string(expr.AppendText(nil, res.Columns[c].Type, v, r, s.Zone())))
				}
			}
			out = append(out, cells)
		}
	}
}

func query(t *testing.T, s *Session, text string, params ...expr.Value) string {
	t.Helper()
	r, err := rows(t.Context(), s, text, params...)
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return strings.Join(r, "\n")
}

func want(t *testing.T, s *Session, text, want string) {
	t.Helper()
	if got := query(t, s, text); got != want {
		t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
	}
}

func wantKind(t *testing.T, s *Session, text string, kind errs.Kind) {
	t.Helper()
	_, err := rows(t.Context(), s, text)
	if errs.KindOf(err) != kind {
		t.Errorf("%s: %v (kind %q), want kind %q", text, err, errs.KindOf(err), kind)
	}
}

func TestVariables(t *testing.T) {
	s := session(t, server(t), OpenOptions{Database: "shop"})
	want(t, s, "SELECT @@autocommit, @@session.autocommit, @@global.autocommit", "1|1|1")
	want(t, s, "SELECT @@version, VERSION()", metadata.ServerVersion+"|"+metadata.ServerVersion)
	want(t, s, "SELECT @@version_comment", "Thermocline 1.2.3")
	want(t, s, "SELECT @@character_set_results, @@collation_connection", "utf8mb4|utf8mb4_0900_ai_ci")
	query(t, s, "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci, autocommit = 0")
	want(t, s, "SELECT @@collation_connection, @@autocommit", "utf8mb4_general_ci|0")
	query(t, s, "SET character_set_results = NULL")
	want(t, s, "SELECT @@character_set_results", "NULL")
	query(t, s, "SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')")
	want(t, s, `SELECT "order_id" FROM "orders" ORDER BY 1 LIMIT 1`, "1001")
	query(t, s, "SET sql_mode = DEFAULT")
	query(t, s, "SET @a = 1, @b := 'x', @c = 1.50, @d = NULL")
	want(t, s, "SELECT @a + 1, @b, @c, @d, @nope", "2|x|1.50|NULL|NULL")
	query(t, s, "SET @a = 5, @e = @a")
	want(t, s, "SELECT @a, @e", "5|1")
	query(t, s, "SET @n = (SELECT COUNT(*) FROM orders)")
	want(t, s, "SELECT @n", "3")
	query(t, s, "SET time_zone = '+05:30', timestamp = 1717243506")
	want(t, s, "SELECT NOW(), @@time_zone", "2024-06-01 17:35:06|+05:30")
	query(t, s, "SET time_zone = 'Europe/Oslo', timestamp = DEFAULT")
	want(t, s, "SELECT @@session.time_zone", "Europe/Oslo")
	query(t, s, "SET optimizer_switch = 'semijoin=off'")
	if got := query(t, s, "SELECT @@optimizer_switch"); !strings.Contains(got, "semijoin=off") || !strings.Contains(got, "mrr=on") {
		t.Error(got)
	}
	want(t, s, "SHOW VARIABLES LIKE 'lower_case%'", "lower_case_file_system|OFF\nlower_case_table_names|0")
	want(t, s, "SHOW VARIABLES WHERE Variable_name IN ('autocommit', 'time_zone') AND Value <> 'ON'", "autocommit|OFF\ntime_zone|Europe/Oslo")
	query(t, s, "SET wait_timeout = 100000000")
	want(t, s, "SHOW WARNINGS", "Warning|1105|Truncated incorrect wait_timeout value: '100000000'")
	want(t, s, "SELECT @@wait_timeout", "31536000")

	for text, kind := range map[string]errs.Kind{
		"SELECT @@nope":                            errs.UnknownVariable,
		"SELECT @@session.nope":                    errs.UnknownVariable,
		"SET nope = 1":                             errs.UnknownVariable,
		"SET SESSION sql_mode = 'NOPE'":            errs.WrongValueForVar,
		"SET time_zone = 'Nope/Nope'":              errs.UnknownTimeZone,
		"SET NAMES nope":                           errs.UnknownCharset,
		"SET NAMES utf8mb4 COLLATE latin1_bin":     errs.CollationCharset,
		"SET SESSION autocommit = 'x'":             errs.WrongValueForVar,
		"SET GLOBAL version = 'x'":                 errs.ReadOnlyVariable,
		"SET SESSION max_connections = 5":          errs.GlobalVariable,
		"SET GLOBAL timestamp = 1":                 errs.SessionVariable,
		"SELECT @@global.timestamp":                errs.SessionVariable,
		"SELECT @@session.max_connections":         errs.GlobalVariable,
		"SET wait_timeout = 'x'":                   errs.WrongTypeForVar,
		"SET GLOBAL innodb_buffer_pool_size = 1e9": errs.WrongTypeForVar,
		"SET GLOBAL general_log = ON":              errs.NotSupported,
		"SET lake_threads = 'many'":                errs.WrongTypeForVar,
	} {
		wantKind(t, s, text, kind)
	}
	// Nothing is set when one assignment fails.
	wantKind(t, s, "SET @a = 77, nope = 1", errs.UnknownVariable)
	want(t, s, "SELECT @a", "5")

	// Global values are what new sessions start with.
	query(t, s, "SET GLOBAL group_concat_max_len = 2048")
	want(t, s, "SELECT @@group_concat_max_len, @@global.group_concat_max_len", "1024|2048")
	other := session(t, s.srv, OpenOptions{})
	want(t, other, "SELECT @@group_concat_max_len", "2048")
	if err := s.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, s, "SELECT @@group_concat_max_len, @@autocommit, @a, DATABASE()", "2048|1|NULL|shop")
}

func TestSwitches(t *testing.T) {
	s := session(t, server(t), OpenOptions{})
	query(t, s, "SET lake_pruning = OFF, lake_threads = 3, lake_batch_rows = 100, lake_query_memory = '64MiB'")
	o := s.scanOptions()
	if !o.NoPruning || o.Threads != 3 || o.BatchRows != 100 || o.Memory != 64<<20 {
		t.Errorf("%+v", o)
	}
	want(t, s, "SELECT @@lake_query_memory", "67108864")
	query(t, s, "SET lake_query_memory = 1073741824")
	if s.scanOptions().Memory != 1<<30 {
		t.Error("bytes")
	}
}

func TestFlinkSettings(t *testing.T) {
	s := session(t, server(t), OpenOptions{})
	query(t, s, "SET 'execution.checkpointing.interval' = '10 s'")
	query(t, s, "SET 'table.local-time-zone' = 'Asia/Shanghai'")
	want(t, s, "SELECT @@time_zone", "Asia/Shanghai")
	want(t, s, "SET", "execution.checkpointing.interval|10 s\ntable.local-time-zone|Asia/Shanghai")
	_, err := rows(t.Context(), s, "SET 'execution.checkpointing.intervall' = '10 s'")
	if err == nil || !strings.Contains(err.Error(), "did you mean 'execution.checkpointing.interval'?") {
		t.Error(err)
	}
	query(t, s, "RESET 'table.local-time-zone'")
	want(t, s, "SELECT @@time_zone", "SYSTEM")
}

func TestDatabases(t *testing.T) {
	s := session(t, server(t), OpenOptions{})
	want(t, s, "SHOW DATABASES", "cold.arch\nempty\ninformation_schema\nmysql\nperformance_schema\nshop\nsys")
	wantKind(t, s, "SHOW TABLES", errs.NoDatabase)
	wantKind(t, s, "USE nope", errs.UnknownDatabase)
	want(t, s, "SELECT DATABASE()", "NULL")
	query(t, s, "USE shop")
	want(t, s, "SELECT DATABASE(), SCHEMA()", "shop|shop")
	want(t, s, "SHOW TABLES", "orders")
	want(t, s, "SHOW FULL TABLES LIKE 'o%'", "orders|BASE TABLE")
	want(t, s, "SHOW FULL TABLES FROM shop WHERE Tables_in_shop LIKE 'x%'", "")
	wantKind(t, s, "SHOW TABLES FROM nope", errs.UnknownDatabase)
	query(t, s, "USE `cold.arch`")
	want(t, s, "SELECT DATABASE()", "cold.arch")
	want(t, s, "SELECT COUNT(*) FROM lake.shop.orders", "3")
	want(t, s, "SELECT COUNT(*) FROM shop.orders", "3")
	query(t, s, "USE CATALOG cold")
	want(t, s, "SELECT DATABASE()", "NULL")
	want(t, s, "SHOW DATABASES", "arch\ninformation_schema\nlake.empty\nlake.shop\nmysql\nperformance_schema\nsys")
	want(t, s, "SELECT COUNT(*) FROM `lake.shop`.orders", "3")
	want(t, s, "SHOW CATALOGS", "lake\ncold")
	wantKind(t, s, "USE CATALOG nope", errs.UnknownCatalog)
	if err := s.Use(t.Context(), "INFORMATION_SCHEMA"); err != nil {
		t.Error(err)
	}
	want(t, s, "SELECT DATABASE()", "information_schema")
	if st := s.Status(); st.Database != "information_schema" || st.Catalog != "cold" {
		t.Errorf("%+v", st)
	}
}

func TestShow(t *testing.T) {
	s := session(t, server(t), OpenOptions{Database: "shop"})
	want(t, s, "DESCRIBE orders", "order_id|int|NO|PRI|NULL|\nregion|varchar(10)|YES||NULL|\namount|double|YES||NULL|\nstatus|varchar(10)|YES||NEW|")
	want(t, s, "DESC orders amount", "amount|double|YES||NULL|")
	want(t, s, "SHOW FULL COLUMNS FROM orders LIKE 'r%'", "region|varchar(10)|utf8mb4_0900_bin|YES||NULL||select,insert,update,references|where it's sold")
	want(t, s, "SHOW COLUMNS FROM orders FROM shop WHERE Field = 'Amount'", "amount|double|YES||NULL|")
	want(t, s, "SHOW INDEX FROM orders", "orders|0|PRIMARY|1|order_id|A|NULL|NULL|NULL||BTREE|||YES|NULL")
	want(t, s, "SHOW CREATE TABLE orders", "orders|CREATE TABLE `orders` (\n  `order_id` int NOT NULL,\n  `region` varchar(10) COLLATE utf8mb4_0900_bin DEFAULT NULL COMMENT 'where it''s sold',\n"+
		"  `amount` double DEFAULT NULL,\n  `status` varchar(10) COLLATE utf8mb4_0900_bin DEFAULT 'NEW',\n  PRIMARY KEY (`order_id`)\n) ENGINE=Paimon DEFAULT CHARSET=utf8mb4 "+
		"COLLATE=utf8mb4_0900_bin COMMENT='orders' /*T! WITH ('bucket' = '1') */")
	query(t, s, "SET lake_ddl_dialect = 'flink'")
	want(t, s, "SHOW CREATE TABLE orders", "orders|CREATE TABLE `orders` (\n  `order_id` INT NOT NULL,\n  `region` VARCHAR(10) COMMENT 'where it''s sold',\n"+
		"  `amount` DOUBLE,\n  `status` VARCHAR(10),\n  PRIMARY KEY (`order_id`) NOT ENFORCED\n) COMMENT 'orders'\nWITH (\n  'bucket' = '1',\n  'fields.status.default-value' = 'NEW'\n)")
	want(t, s, "SHOW GRANTS", "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION")
	want(t, s, "SHOW GRANTS FOR CURRENT_USER()", "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION")
	want(t, s, "SHOW CREATE DATABASE shop", "shop|CREATE DATABASE `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci */ /*!80016 DEFAULT ENCRYPTION='N' */")
	wantKind(t, s, "SHOW COLUMNS FROM nope", errs.UnknownTable)
	wantKind(t, s, "SHOW CREATE TABLE nope", errs.UnknownTable)
	wantKind(t, s, "SHOW INDEX FROM nope", errs.UnknownTable)
	wantKind(t, s, "DESCRIBE shop.nope", errs.UnknownTable)
	wantKind(t, s, "SHOW CREATE VIEW orders", errs.WrongObject)
	wantKind(t, s, "SHOW TABLES WHERE nope = 1", errs.UnknownColumn)
	wantKind(t, s, "SHOW ENGINE innodb STATUS", errs.NotSupported)
	if got := query(t, s, "SHOW COLLATION WHERE Id IN (33, 255)"); !strings.Contains(got, "utf8mb3_general_ci|utf8mb3|33|Yes|Yes|1|PAD SPACE") || !strings.Contains(got, "utf8mb4_0900_ai_ci|utf8mb4|255|Yes|Yes|0|NO PAD") {
		t.Error(got)
	}
	want(t, s, "SHOW PIPELINES", "")
	wantKind(t, s, "EXECUTE PIPELINE WITHYAML (source: x)", errs.NotSupported)
	wantKind(t, s, "CALL sys.nope(1)", errs.UnknownProcedure)
}

func TestInformationSchema(t *testing.T) {
	s := session(t, server(t), OpenOptions{Database: "shop"})
	want(t, s, "SELECT table_name, table_type, engine, table_rows, table_comment FROM information_schema.tables WHERE table_schema = 'shop'",
		"orders|BASE TABLE|Paimon|3|orders")
	want(t, s, "SELECT TABLE_SCHEMA AS TABLE_CAT, NULL AS TABLE_SCHEM, TABLE_NAME, CASE WHEN TABLE_TYPE='BASE TABLE' THEN 'TABLE' ELSE TABLE_TYPE END AS TABLE_TYPE "+
		"FROM information_schema.tables WHERE TABLE_SCHEMA = 'shop' HAVING TABLE_TYPE IN ('TABLE','VIEW') ORDER BY TABLE_TYPE, TABLE_NAME", "shop|NULL|orders|TABLE")
	want(t, s, "SELECT column_name, data_type, column_type, is_nullable, column_key FROM INFORMATION_SCHEMA.COLUMNS WHERE table_schema = DATABASE() AND table_name = 'orders' ORDER BY ordinal_position",
		"order_id|int|int|NO|PRI\nregion|varchar|varchar(10)|YES|\namount|double|double|YES|\nstatus|varchar|varchar(10)|YES|")
	want(t, s, "SELECT schema_name FROM information_schema.schemata ORDER BY 1", "cold.arch\nempty\ninformation_schema\nmysql\nperformance_schema\nshop\nsys")
	want(t, s, "SELECT COUNT(*) FROM information_schema.collations", "286")
	want(t, s, "SELECT VARIABLE_VALUE FROM performance_schema.session_variables WHERE VARIABLE_NAME = 'SQL_mode'",
		"ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION")
	want(t, s, "SELECT user, host, plugin FROM mysql.user", "root|localhost|caching_sha2_password")
	want(t, s, "SELECT constraint_name, column_name FROM information_schema.key_column_usage WHERE table_schema = 'shop'", "PRIMARY|order_id")
	wantKind(t, s, "SELECT * FROM information_schema.nope", errs.UnknownTable)
	wantKind(t, s, "SELECT * FROM mysql.nope", errs.UnknownTable)
}

func TestQueriesAndParameters(t *testing.T) {
	s := session(t, server(t), OpenOptions{Database: "shop"})
	want(t, s, "SELECT region, amount FROM orders WHERE amount > 21 ORDER BY amount DESC", "CN|22.5\nEU|21.5")
	p, err := s.Prepare(t.Context(), "SELECT order_id, region FROM orders WHERE order_id = ? OR region = ?")
	if err != nil {
		t.Fatal(err)
	}
	if p.Params != 2 || len(p.Columns) != 2 || p.Columns[0].Name != "order_id" || p.Columns[0].OrgTable != "orders" {
		t.Errorf("%+v", p)
	}
	got := query(t, s, "SELECT order_id, region FROM orders WHERE order_id = ? OR region = ? ORDER BY 1", expr.IntValue(1001), expr.StringValue("CN", ""))
	if got != "1001|US\n1003|CN" {
		t.Error(got)
	}
	if _, err := rows(t.Context(), s, "SELECT ?"); errs.KindOf(err) != errs.Syntax {
		t.Errorf("a placeholder without a value: %v", err)
	}
	if _, err := rows(t.Context(), s, "SELECT 1", expr.IntValue(1)); errs.KindOf(err) != errs.WrongArguments {
		t.Errorf("a value without a placeholder: %v", err)
	}
	query(t, s, "PREPARE p FROM 'SELECT region FROM orders WHERE order_id = ?'")
	query(t, s, "SET @id = 1002")
	want(t, s, "EXECUTE p USING @id", "EU")
	want(t, s, "EXECUTE P USING @id", "EU")
	wantKind(t, s, "EXECUTE p", errs.WrongArguments)
	query(t, s, "DEALLOCATE PREPARE p")
	wantKind(t, s, "EXECUTE p USING @id", errs.UnknownStatement)
	wantKind(t, s, "DEALLOCATE PREPARE p", errs.UnknownStatement)
	wantKind(t, s, "PREPARE p FROM 'SELEC'", errs.Syntax)
	for _, text := range []string{"SHOW DATABASES", "DESCRIBE orders", "SHOW KEYS FROM orders"} {
		p, err := s.Prepare(t.Context(), text)
		if err != nil || len(p.Columns) == 0 {
			t.Errorf("prepare %s: %+v %v", text, p, err)
		}
	}
	if _, err := s.Prepare(t.Context(), "SELECT nope FROM orders"); errs.KindOf(err) != errs.UnknownColumn {
		t.Error(err)
	}
	query(t, s, "SET sql_select_limit = 2")
	if got := query(t, s, "SELECT order_id FROM orders"); len(strings.Split(got, "\n")) != 2 {
		t.Errorf("sql_select_limit: %s", got)
	}
	want(t, s, "SELECT COUNT(*) FROM orders LIMIT 5", "3")
	query(t, s, "SET sql_select_limit = DEFAULT")
	query(t, s, "SELECT order_id FROM orders")
	want(t, s, "SELECT FOUND_ROWS(), ROW_COUNT()", "3|-1")
	query(t, s, "DO 1 + 1, @z := 9")
	want(t, s, "SELECT @z", "9")
	want(t, s, "SELECT order_id, CASE region WHEN 'US' THEN @k := 1 WHEN 'EU' THEN @k := amount ELSE @k := (-1) END AS x, @l := @k + 1, IF(@l > 10, @k, @l) FROM orders ORDER BY 1",
		"1001|1|2|2\n1002|21.5|22.5|21.5\n1003|-1|0|0")
	for _, text := range []string{"SELECT @n := @n + 1 FROM orders", "SELECT @a := order_id FROM orders WHERE @a < 5",
		"SELECT * FROM (SELECT @i := 1, @i FROM orders WHERE @i > 0) x"} {
		wantKind(t, s, text, errs.NotSupported)
	}
	want(t, s, "SELECT @a := 5, @a + 1, @a := @a * 2, @a", "5|6|10|10")
	want(t, s, "SELECT @a", "10")
	want(t, s, "SELECT @b := 7 FROM orders", "7\n7\n7")
	want(t, s, "SELECT @b", "7")
	if got := query(t, s, "EXPLAIN FORMAT=TREE SELECT * FROM orders"); !strings.Contains(got, "orders") {
		t.Error(got)
	}
	want(t, s, "EXPLAIN SELECT * FROM orders", "1|SIMPLE|orders|NULL|ALL|NULL|NULL|NULL|NULL|3|100.00|NULL")
}

func TestTransactions(t *testing.T) {
	srv := server(t)
	s := session(t, srv, OpenOptions{Database: "shop"})
	inTransaction := func(want bool) {
		t.Helper()
		if got := s.Status().InTransaction; got != want {
			t.Errorf("in transaction: %v", got)
		}
	}
	inTransaction(false)
	query(t, s, "BEGIN")
	inTransaction(true)
	query(t, s, "SAVEPOINT a")
	query(t, s, "SAVEPOINT b")
	query(t, s, "ROLLBACK TO a")
	wantKind(t, s, "RELEASE SAVEPOINT b", errs.UnknownProcedure)
	query(t, s, "RELEASE SAVEPOINT a")
	query(t, s, "COMMIT")
	inTransaction(false)
	query(t, s, "SET autocommit = 0")
	query(t, s, "SELECT 1")
	inTransaction(false)
	query(t, s, "SELECT * FROM orders")
	inTransaction(true)
	query(t, s, "ROLLBACK")
	inTransaction(false)
	query(t, s, "SELECT * FROM orders")
	query(t, s, "SET autocommit = 1")
	inTransaction(false)
	query(t, s, "START TRANSACTION READ ONLY")
	wantKind(t, s, "INSERT INTO orders VALUES (1, 'x', 1, 'x')", errs.ReadOnlyTransaction)
	wantKind(t, s, "SET TRANSACTION READ WRITE", errs.InTransaction)
	query(t, s, "COMMIT")
	query(t, s, "SET SESSION TRANSACTION READ ONLY, ISOLATION LEVEL READ COMMITTED")
	want(t, s, "SELECT @@transaction_isolation, @@transaction_read_only", "READ-COMMITTED|1")
	wantKind(t, s, "CREATE TABLE x (a INT)", errs.ReadOnlyTransaction)
}

// A consistent snapshot sees no commit of others, in any table, until it ends.
func TestConsistentSnapshot(t *testing.T) {
	c := lake(t)
	srv := server(t, func(cfg *Config) { cfg.Catalogs = []NamedCatalog{{Name: "lake", Catalog: c}} })
	s := session(t, srv, OpenOptions{Database: "shop"})
	table, err := c.Table(t.Context(), catalog.Identifier{Database: "shop", Table: "orders"})
	if err != nil {
		t.Fatal(err)
	}
	add := func(id int32) {
		b := vector.NewBatch([]vector.Kind{vector.I32, vector.Str, vector.F64, vector.Str}, 1)
		b.Cols[0].AppendI32(id)
		b.Cols[1].AppendString("JP")
		b.Cols[2].AppendF64(1)
		b.Cols[3].AppendNull()
		b.Len++
		write(t, table, b)
	}
	query(t, s, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
	add(2001)
	want(t, s, "SELECT COUNT(*) FROM orders", "3")
	if n := len(srv.Pins()); n != 1 {
		t.Errorf("%d pins in the transaction", n)
	}
	query(t, s, "COMMIT")
	want(t, s, "SELECT COUNT(*) FROM orders", "4")
	if n := len(srv.Pins()); n != 0 {
		t.Errorf("%d pins after it", n)
	}
}

func TestKill(t *testing.T) {
	srv := server(t)
	a, b := session(t, srv, OpenOptions{Database: "shop"}), session(t, srv, OpenOptions{})
	killed := make(chan struct{})
	c := session(t, srv, OpenOptions{Kill: func() { close(killed) }})

	// Rows that are being read end with the reason.
	res, err := a.Execute(t.Context(), "SELECT * FROM orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := query(t, b, "SHOW FULL PROCESSLIST"); !strings.Contains(got, "SELECT * FROM orders") {
		t.Error(got)
	}
	want(t, c, "SELECT CONNECTION_ID()", uitoa(c.ID()))
	query(t, b, "KILL QUERY "+uitoa(a.ID()))
	for {
		x, err := res.Rows.Next(t.Context())
		if err != nil {
			if !errs.Is(err, errs.Killed) {
				t.Error(err)
			}
			break
		}
		if x == nil {
			t.Error("the query was not killed")
			break
		}
	}
	res.Close()
	want(t, a, "SELECT 1", "1") // the connection lives
	query(t, b, "KILL "+uitoa(c.ID()))
	<-killed
	wantKind(t, c, "SELECT 1", errs.Killed)
	wantKind(t, b, "KILL 999999999", errs.NoSuchThread)
	wantKind(t, b, "KILL 'x'", errs.NoSuchThread)
	if n := strings.Count(query(t, b, "SHOW PROCESSLIST"), "\n"); n != 2 {
		t.Errorf("%d more lines in the process list", n)
	}
}

func TestTimeLimit(t *testing.T) {
	s := session(t, server(t), OpenOptions{Database: "shop"})
	query(t, s, "SET max_execution_time = 1")
	wantKind(t, s, "SELECT SLEEP(10)", errs.Timeout)
	query(t, s, "SET max_execution_time = 0")
	wantKind(t, s, "SELECT /*+ MAX_EXECUTION_TIME(1) */ SLEEP(10)", errs.Timeout)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errs.New(errs.Resource, errs.ShuttingDown, "bye"))
	if _, err := rows(ctx, s, "SELECT * FROM orders"); !errs.Is(err, errs.ShuttingDown) {
		t.Errorf("a cancelled context: %v", err)
	}
}

func TestShutdown(t *testing.T) {
	srv := server(t)
	s := session(t, srv, OpenOptions{})
	srv.Shutdown()
	wantKind(t, s, "SELECT 1", errs.ShuttingDown)
	if _, err := srv.Open(t.Context(), OpenOptions{}); !errs.Is(err, errs.ShuttingDown) {
		t.Error(err)
	}
}

func TestWarningsAndErrors(t *testing.T) {
	s := session(t, server(t), OpenOptions{})
	wantKind(t, s, "SELECT * FROM nope.t", errs.UnknownDatabase)
	if got := query(t, s, "SHOW ERRORS"); !strings.HasPrefix(got, "Error|") || !strings.Contains(got, "nope") {
		t.Error(got)
	}
	want(t, s, "SHOW COUNT(*) ERRORS", "1")
	want(t, s, "SELECT @@error_count", "1")
	want(t, s, "SHOW WARNINGS", "")
	query(t, s, "LOCK TABLES shop.orders READ")
	if got := query(t, s, "SHOW COUNT(*) WARNINGS"); got != "1" {
		t.Error(got)
	}
	query(t, s, "UNLOCK TABLES")
	query(t, s, "FLUSH PRIVILEGES")
	want(t, s, "SHOW WARNINGS LIMIT 0", "")
	wantKind(t, s, "", errs.EmptyQuery)
	wantKind(t, s, "/* nothing */", errs.EmptyQuery)
	wantKind(t, s, "SELEC", errs.Syntax)
	if got := s.Split("SELECT ';'; -- x;\n SELECT 2;;"); len(got) != 2 || got[0] != "SELECT ';'" {
		t.Errorf("%q", got)
	}
}

// Statements that nobody serves are refused by name.
func TestRefusals(t *testing.T) {
	s := session(t, server(t), OpenOptions{Database: "shop"})
	for text, name := range map[string]string{
		"ALTER TABLE orders ADD PRIMARY KEY (id)":                   "ADD PRIMARY KEY",
		"ALTER TABLE orders ADD FOREIGN KEY (id) REFERENCES o (id)": "foreign keys",
		"ALTER TABLE orders ADD CHECK (id > 0)":                     "CHECK",
		"CREATE TABLE x (a INT AUTO_INCREMENT PRIMARY KEY)":         "AUTO_INCREMENT",
		"CREATE TABLE x (a INT, FULLTEXT KEY (a))":                  "FULLTEXT",
		"CREATE PROCEDURE p() SELECT 1":                             "CREATE PROCEDURE",
		"CHECK TABLE orders":                                        "CHECK TABLE",
		"LOAD DATA INFILE 'x' INTO TABLE orders":                    "LOAD DATA",
		"SET PERSIST max_connections = 5":                           "SET PERSIST",
		"CREATE CATALOG c WITH ('type'='paimon')":                   "CREATE CATALOG",
		"SET ROLE ALL": "SET ROLE",
	} {
		_, err := rows(t.Context(), s, text)
		if !errs.Is(err, errs.NotSupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// panicky is a catalog with a fault.
type panicky struct{ catalog.Catalog }

func (panicky) Table(context.Context, catalog.Identifier) (catalog.Table, error) { panic("broken") }

func TestPanicsBecomeErrors(t *testing.T) {
	var log strings.Builder
	srv := server(t, func(c *Config) {
		c.Catalogs[0].Catalog = panicky{c.Catalogs[0].Catalog}
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	s := session(t, srv, OpenOptions{Database: "shop"})
	_, err := rows(t.Context(), s, "SELECT * FROM orders")
	if err == nil || errs.ClassOf(err) != errs.Internal || !strings.Contains(err.Error(), "incident 1") {
		t.Errorf("%v", err)
	}
	if !strings.Contains(log.String(), "incident=1") || !strings.Contains(log.String(), "broken") {
		t.Error(log.String())
	}
	want(t, s, "SELECT 1", "1")
}

func TestSlowQueryLog(t *testing.T) {
	var log strings.Builder
	srv := server(t, func(c *Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		c.SlowQuery = time.Nanosecond
	})
	s := session(t, srv, OpenOptions{Database: "shop"})
	query(t, s, "SELECT * FROM orders")
	if got := log.String(); !strings.Contains(got, "slow query") || !strings.Contains(got, "SELECT * FROM orders") || !strings.Contains(got, "rows=3") {
		t.Error(got)
	}
}

func uitoa(n uint32) string {
	return string(expr.AppendText(nil, expr.TUint64, expr.UintValue(uint64(n)).Vec, 0, nil))
}
