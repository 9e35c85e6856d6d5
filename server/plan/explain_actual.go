package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/thermocline/thermocline/internal/memory"
)

// Actual is what an operator did when its query ran.
type Actual struct {
	Runs  int64 // how often it was started
	Rows  int64 // rows that it gave, and their bytes
	Bytes int64
	// Time is spent in it and in the operators below, over all workers.
	Time    time.Duration
	Memory  int64 // the most that it held at once; 0: it does not grow
	Spilled int64 // bytes written to disk
	// Files of a scan, those that were left out, and the bytes of the others as they
	// are stored.
	Files, Pruned, Stored int64
	// RowGroups of these files that were read from; 0 for formats without.
	RowGroups int64
	// Late is what a top-N above left out while the scan ran: (parts of) files, row
	// groups of others, and rows of these and of parts of row groups.
	LateFiles, LateRowGroups, LateRows int64
}

// Actuals gives what the operators of a plan did; false for one that did not run.
type Actuals func(Node) (Actual, bool)

// ExplainActual is Explain with what the operators did.
func ExplainActual(q *Query, actual Actuals) []string {
	var out []string
	explainActual(q.Root, 0, &out, actual)
	for i, s := range q.Subplans {
		out = append(out, fmt.Sprintf("subquery %d, run once", i+1))
		explainActual(s.Plan, 1, &out, actual)
	}
	for _, s := range q.Shared {
		out = append(out, s.line())
		explainActual(s.Plan, 1, &out, actual)
	}
	return out
}

func explainActual(n Node, depth int, out *[]string, actual Actuals) {
	text := "never run"
	if a, ok := actual(n); ok {
		parts := []string{fmt.Sprintf("rows=%d", a.Rows), "bytes=" + memory.FormatSize(a.Bytes), fmt.Sprintf("time=%.3fms", a.Time.Seconds()*1000)}
		if a.Runs > 1 {
			parts = append(parts, fmt.Sprintf("runs=%d", a.Runs))
		}
		if _, ok := n.(*Scan); ok {
			parts = append(parts, fmt.Sprintf("files=%d of %d", a.Files, a.Files+a.Pruned), "stored="+memory.FormatSize(a.Stored))
			if a.RowGroups > 0 {
				parts = append(parts, fmt.Sprintf("row groups=%d", a.RowGroups))
			}
			if a.LateFiles+a.LateRows > 0 {
				parts = append(parts, fmt.Sprintf("left out by the top-N: files=%d row groups=%d rows=%d", a.LateFiles, a.LateRowGroups, a.LateRows))
			}
		}
		if a.Memory > 0 {
			parts = append(parts, "memory="+memory.FormatSize(a.Memory))
		}
		if a.Spilled > 0 {
			parts = append(parts, "spilled="+memory.FormatSize(a.Spilled))
		}
		text = "actual " + strings.Join(parts, " ")
	}
	*out = append(*out, strings.Repeat("  ", depth)+"-> "+line(n)+"  ("+text+")")
	for _, c := range n.Inputs() {
		explainActual(c, depth+1, out, actual)
	}
}

// explainNode is a node of EXPLAIN FORMAT=JSON.
type explainNode struct {
	Operation string         `json:"operation"`
	Actual    *explainActs   `json:"actual,omitempty"`
	NeverRun  bool           `json:"never_run,omitempty"`
	Inputs    []*explainNode `json:"inputs,omitempty"`
}

type explainActs struct {
	Rows        int64   `json:"rows"`
	Bytes       int64   `json:"bytes"`
	TimeMS      float64 `json:"time_ms"`
	Runs        int64   `json:"runs"`
	FilesRead   *int64  `json:"files_read,omitempty"`
	FilesPruned *int64  `json:"files_pruned,omitempty"`
	StoredBytes *int64  `json:"stored_bytes,omitempty"`
	RowGroups   int64   `json:"row_groups_read,omitempty"`
	LateFiles   int64   `json:"files_left_out_by_topn,omitempty"`
	LateGroups  int64   `json:"row_groups_left_out_by_topn,omitempty"`
	LateRows    int64   `json:"rows_left_out_by_topn,omitempty"`
	MemoryPeak  int64   `json:"memory_peak_bytes,omitempty"`
	Spilled     int64   `json:"spilled_bytes,omitempty"`
}

// ExplainJSON returns the plans of a statement as JSON; actual is nil when they
// were not run.
func ExplainJSON(queries []*Query, actual Actuals) (string, error) {
	type query struct {
		Plan       *explainNode   `json:"plan"`
		Subqueries []*explainNode `json:"subqueries,omitempty"`
		Shared     []*explainNode `json:"shared,omitempty"`
	}
	var out struct {
		Queries []query `json:"queries"`
	}
	for _, q := range queries {
		x := query{Plan: jsonNode(q.Root, actual)}
		for _, s := range q.Subplans {
			x.Subqueries = append(x.Subqueries, jsonNode(s.Plan, actual))
		}
		for _, s := range q.Shared {
			x.Shared = append(x.Shared, jsonNode(s.Plan, actual))
		}
		out.Queries = append(out.Queries, x)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(out)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func jsonNode(n Node, actual Actuals) *explainNode {
	out := &explainNode{Operation: line(n)}
	if actual != nil {
		if a, ok := actual(n); ok {
			out.Actual = &explainActs{Rows: a.Rows, Bytes: a.Bytes, TimeMS: float64(a.Time.Microseconds()) / 1000, Runs: a.Runs, MemoryPeak: a.Memory, Spilled: a.Spilled}
			if _, ok := n.(*Scan); ok {
				out.Actual.FilesRead, out.Actual.FilesPruned, out.Actual.StoredBytes = &a.Files, &a.Pruned, &a.Stored
				out.Actual.RowGroups = a.RowGroups
				out.Actual.LateFiles, out.Actual.LateGroups, out.Actual.LateRows = a.LateFiles, a.LateRowGroups, a.LateRows
			}
		} else {
			out.NeverRun = true
		}
	}
	for _, c := range n.Inputs() {
		out.Inputs = append(out.Inputs, jsonNode(c, actual))
	}
	return out
}
