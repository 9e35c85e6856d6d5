package ingest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/ingest/pipeline"
)

// TestVerify finds the rows that changed without a trace in the binlog, and those
// alone, while the source is changing.
func TestVerify(t *testing.T) {
	ctx := context.Background()
	srv := newServer(t, "--expire-logs-days=0.5")
	srv.db.SetMaxOpenConns(1)
	srv.exec("CREATE DATABASE c", "USE c", "CREATE TABLE a (id INT, d DECIMAL(30,2), s VARCHAR(9), PRIMARY KEY (id, s))", "CREATE TABLE b (id INT PRIMARY KEY, v INT, t TIMESTAMP(3) NULL)",
		"CREATE TABLE soft (id INT PRIMARY KEY)", "INSERT INTO a SELECT seq, seq / 7, CONCAT('k', seq) FROM seq_1_to_500", "INSERT INTO b SELECT seq, seq, NOW(3) FROM seq_1_to_300", "INSERT INTO soft VALUES (1),(2)")
	l := newLake(t)
	y := strings.Replace(srv.yaml(`c.\.*`, `
transform:
  - source-table: c.b
    projection: \*, op_ts, NOW() AS at_
    filter: v > 10
  - source-table: c.soft
    projection: \*, __data_event_type__ AS op
    converter-after-transform: SOFT_DELETE
`), "  heartbeat.interval", "  metadata.list: op_ts\n  heartbeat.interval", 1)
	def, err := pipeline.Load([]byte(y), pipeline.LoadOptions{RequireName: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(ctx, l.options(), def); err == nil || !strings.Contains(err.Error(), "has not run yet") {
		t.Error(err)
	}
	r := start(t, l.options(), y)
	srv.same(l, r, "c.a")
	l.same("c.soft", "1|+I", "2|+I")
	eventually(t, func() string {
		if n := len(l.rows("c.b")); n != 290 {
			return fmt.Sprintf("c.b has %d rows", n)
		}
		return ""
	})
	srv.exec("UPDATE a SET d = d + 1 WHERE id % 3 = 0", "DELETE FROM b WHERE id > 290", "UPDATE b SET v = v - 20 WHERE id < 40", "DELETE FROM soft WHERE id = 2")
	check := func(want ...string) {
		t.Helper()
		list, err := Verify(ctx, l.options(), def)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range list {
			got = append(got, fmt.Sprintf("%s %s %d", v.Table, v.Skipped, v.Count))
			for _, d := range v.Differences {
				got = append(got, d.Key+": "+d.What)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		var out bytes.Buffer
		if err := WriteVerified(&out, list); (err != nil) != (len(want) > 3) || !strings.Contains(out.String(), "c.a: ") {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
	if d := r.Status()[0].Retention; d != 12*time.Hour {
		t.Errorf("the source keeps its log for %s", d)
	}
	check("c.a  0", "c.b  0", "c.soft  0") // whatever is on its way is left out
	srv.exec("SET sql_log_bin = 0", "DELETE FROM a WHERE id = 7", "INSERT INTO a VALUES (7001, 1, 'new')", "UPDATE a SET d = 0 WHERE id = 8", "UPDATE b SET v = 99 WHERE id = 200", "SET sql_log_bin = 1",
		"INSERT INTO b VALUES (9001, 500, NULL)")
	check("c.a  3", "id = 7, s = k7: not in the source", "id = 8, s = k8: other values", "id = 7001, s = new: missing in the lake", "c.b  1", "id = 200: other values", "c.soft  0")
	if err := r.Resnapshot(ctx, "test", "c.a"); err != nil {
		t.Fatal(err)
	}
	srv.same(l, r, "c.a")
	end(t, r)
	srv.exec("INSERT INTO a VALUES (8001, 1, 'down')") // the pipeline is down: it is on its way
	check("c.a  0", "c.b  1", "id = 200: other values", "c.soft  0")
}
