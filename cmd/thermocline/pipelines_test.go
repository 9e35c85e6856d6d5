package main

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"
)

// until waits until a query answers with the one row.
func until(t *testing.T, db *sql.DB, query, want string) {
	t.Helper()
	var got []string
	var err error
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if got, err = rows(db, query); err == nil && strings.Join(got, ",") == want {
			return
		}
	}
	t.Fatalf("%s: %q %v, want %q", query, got, err, want)
}

// TestPipelineStatements steers a pipeline by SQL: while it runs, statements that
// change rows of its tables are refused and name the one that pauses it.
func TestPipelineStatements(t *testing.T) {
	dir := t.TempDir()
	p := serveProcess(t, "--warehouse", dir)
	db := p.db()
	exec := func(q string) error {
		_, err := db.ExecContext(context.Background(), q)
		return err
	}
	must := func(qs ...string) {
		t.Helper()
		for _, q := range qs {
			if err := exec(q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
	}
	refused := func(want string, qs ...string) {
		t.Helper()
		for _, q := range qs {
			if err := exec(q); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", q, err, want)
			}
		}
	}
	const yaml = `EXECUTE PIPELINE WITHYAML (
source:
  type: generator
  limit: 6
  rate: 50
transform:
  - source-table: sales.orders
    projection: \*, UPPER(region) AS loud
sink:
  type: paimon
pipeline:
  name: it's here
)`
	must(yaml)
	until(t, db, "SELECT COUNT(*) >= 6, MAX(loud = UPPER(region)) FROM sales.orders", "1|1")
	const pause = "PAUSE PIPELINE 'it''s here', then RESUME PIPELINE 'it''s here'"
	refused(pause, "INSERT INTO sales.orders (order_id) VALUES (77)", "UPDATE sales.orders SET status = 'X'", "DELETE FROM sales.orders", "REPLACE INTO sales.orders (order_id) VALUES (77)",
		"TRUNCATE TABLE sales.orders", "INSERT OVERWRITE sales.orders SELECT * FROM sales.orders", "DROP TABLE sales.orders", "ALTER TABLE sales.orders RENAME TO sales.other",
		"ALTER TABLE sales.orders ADD COLUMN z INT", "DROP DATABASE sales", "MERGE INTO sales.orders o USING sales.orders n ON o.order_id = n.order_id WHEN MATCHED THEN DELETE",
		"CALL sys.rollback_to('sales.orders', snapshot_id => 1)", "CALL sys.fast_forward('sales.orders', 'b')")
	must("CREATE TABLE sales.free (id INT)", "INSERT INTO sales.free VALUES (1)", "DROP TABLE sales.free")
	must("PAUSE PIPELINE 'it''s here'")
	until(t, db, "SELECT state FROM sys.pipelines", "paused")
	must("DELETE FROM sales.orders WHERE order_id > 1001")
	p.stop()

	// It stays paused over a restart of the server.
	p = serveProcess(t, "--warehouse", dir)
	db = p.db()
	until(t, db, "SELECT name, state FROM sys.pipelines", "it's here|paused")
	until(t, db, "SELECT COUNT(*) FROM sales.orders", "1")
	must("CALL sys.resume_pipeline('it''s here')")
	until(t, db, "SELECT state FROM sys.pipelines", "streaming")
	must("CALL sys.resnapshot('it''s here', 'sales.orders')")
	until(t, db, "SELECT COUNT(*) >= 6 FROM sales.orders", "1")
	until(t, db, "SELECT pipeline, table_schema, table_name, sources, phase, rows_out > 0, position LIKE '%generator%', last_error FROM sys.pipeline_tables",
		"it's here|sales|orders|sales.orders|stream|1|1|NULL")
	must("CALL sys.repair_pipeline('it''s here')")
	until(t, db, "SELECT COUNT(*) >= 6 FROM sales.orders", "1")
	until(t, db, "SELECT phase FROM sys.pipeline_tables", "stream")
	until(t, db, "CALL sys.verify_pipeline('it''s here')", "sales.orders|6|0|NULL")
	until(t, db, "SELECT pipeline, table_schema, table_name, differing, not_compared FROM sys.pipeline_verified", "it's here|sales|orders|0|NULL")
	until(t, db, "SELECT COUNT(*) FROM sys.pipeline_differences", "0")
	refused("its tables are sales.orders", "CALL sys.resnapshot('it''s here', 'sales.zzz')")
	refused("no pipeline of that name", "PAUSE PIPELINE nobody", "CALL sys.drop_pipeline('nobody')")
	must("DROP PIPELINE IF EXISTS nobody", "DROP PIPELINE 'it''s here'", "INSERT INTO sales.orders (order_id) VALUES (99)")
	until(t, db, "SELECT COUNT(*) FROM sys.pipelines", "0")
	if err := exec("EXECUTE PIPELINE WITHYAML (\nsource: {type: generator}\nsink: {type: paimon}\npipeline: {nam: x}\n)"); err == nil || !strings.Contains(err.Error(), "the nearest known key is name") {
		t.Error(err)
	}
}
