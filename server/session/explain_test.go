package session

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

// EXPLAIN ANALYZE says what each operator did, as a tree and as JSON.
func TestExplainAnalyze(t *testing.T) {
	srv := server(t, func(c *Config) { c.Spill = fileio.NewScratch(t.TempDir(), 0) })
	s := session(t, srv, OpenOptions{Database: "shop"})
	script(t, s, "CREATE TABLE d (i INT, s VARCHAR(40));\nINSERT INTO d WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 900) SELECT n, REPEAT('x', 30) FROM r;\nINSERT INTO d VALUES (5000, 'y')")
	got := query(t, s, "EXPLAIN ANALYZE SELECT i, COUNT(*) FROM d WHERE i <= 600 GROUP BY i")
	for _, want := range []string{`Aggregate .*actual rows=600 bytes=[0-9.KiB]+ time=[0-9.]+ms memory=[0-9.]+KiB`, `Scan shop.d .*actual rows=600 .* files=1 of 2 stored=`} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	// The keys of the join's other side are known before the rows are grouped.
	script(t, s, "CREATE TABLE few (k INT, v INT);\nINSERT INTO few VALUES (7, 1), (90, 2), (500, 3)")
	for _, text := range []string{
		"SELECT few.k, g.c FROM few JOIN (SELECT i, COUNT(*) AS c FROM d GROUP BY i) g ON g.i = few.k WHERE few.v < 3",
		"SELECT k FROM few WHERE v < 3 AND v < (SELECT COUNT(*) + 2 FROM d WHERE d.i = few.k)",
	} {
		got = query(t, s, "EXPLAIN ANALYZE "+text)
		if want := `Scan shop.d .*actual rows=2 `; !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: no %s in\n%s", text, want, got)
		}
	}
	query(t, s, "SET lake_query_memory = '256KiB'")
	got = query(t, s, "EXPLAIN ANALYZE FORMAT=JSON SELECT COUNT(*) FROM (SELECT DISTINCT a.i, a.s, b.i AS j FROM d a JOIN d b ON a.i < b.i AND a.i < 20) x")
	type node struct {
		Operation string
		Actual    *struct {
			Rows, Bytes, Runs int64
			Memory            int64   `json:"memory_peak_bytes"`
			Spilled           int64   `json:"spilled_bytes"`
			Time              float64 `json:"time_ms"`
			Files             *int64  `json:"files_read"`
		}
		Inputs []*node
	}
	var doc struct{ Queries []struct{ Plan *node } }
	if err := json.Unmarshal([]byte(got), &doc); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	spilled, scans := false, 0
	var walk func(n *node)
	walk = func(n *node) {
		if n.Actual == nil || n.Actual.Runs != 1 {
			t.Errorf("%s did not run once", n.Operation)
			return
		}
		if strings.HasPrefix(n.Operation, "Distinct") || strings.Contains(n.Operation, "group by") {
			spilled = spilled || n.Actual.Spilled > 0 && n.Actual.Memory > 0 && n.Actual.Rows == 16929
		}
		if n.Actual.Files != nil {
			scans++
		}
		for _, in := range n.Inputs {
			walk(in)
		}
	}
	walk(doc.Queries[0].Plan)
	if !spilled || scans != 2 {
		t.Errorf("spilled: %v, %d scans in\n%s", spilled, scans, got)
	}
	if got := query(t, s, "EXPLAIN FORMAT=JSON SELECT 1"); !strings.Contains(got, `"operation"`) || strings.Contains(got, "actual") {
		t.Error(got)
	}
	for _, text := range []string{"EXPLAIN ANALYZE FORMAT=TRADITIONAL SELECT 1", "EXPLAIN ANALYZE DELETE FROM d"} {
		wantKind(t, s, text, errs.NotSupported)
	}
	want(t, s, "SELECT COUNT(*) FROM d", "901")
	query(t, s, "SET lake_spill = OFF")
	if _, err := rows(t.Context(), s, "SELECT COUNT(*) FROM (SELECT DISTINCT a.i, a.s, b.i AS j FROM d a JOIN d b ON a.i < b.i AND a.i < 20) x"); !errs.Is(err, errs.MemoryLimit) ||
		!strings.Contains(err.Error(), "distinct rows (spilling is off)") || !strings.Contains(err.Error(), "limit of 256KiB") {
		t.Errorf("without spilling: %v", err)
	}
}

// The process list says how far a statement is.
func TestProgress(t *testing.T) {
	if got := progress(nil, time.Second); got != "" {
		t.Error(got)
	}
	srv := server(t)
	s := session(t, srv, OpenOptions{Database: "shop"})
	res, err := s.Execute(t.Context(), "SELECT order_id FROM orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Close()
	if _, err := res.Rows.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	state := s.processes()[0].State
	if !regexp.MustCompile(`^sending data: [1-9][0-9]* of [0-9]+ rows, [0-9.]+[KMi]*B`).MatchString(state) {
		t.Errorf("state %q", state)
	}
}
