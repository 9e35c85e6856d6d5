package exec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/scan"
)

// The law of this file: the rows of a query do not depend on the size of batches,
// the threads, spilling, pruning or the sharing of equal parts. server/session and
// server/mysql have it over Paimon tables, before and after compaction.

func options(s testkit.Setting) scan.Options {
	return scan.Options{BatchRows: s.BatchRows, Threads: s.Threads, ForceSpill: s.ForceSpill, NoPruning: s.NoPruning}
}

// TestSettingsTPCH runs the queries of TPC-H under all settings, three of them
// when THERMOCLINE_LAWS is not all.
func TestSettingsTPCH(t *testing.T) {
	e := tpch(t)
	e.spilling(t)
	settings := testkit.Settings()
	if os.Getenv("THERMOCLINE_LAWS") != "all" {
		settings = slices.DeleteFunc(settings, func(s testkit.Setting) bool { return s.BatchRows < 1024 })
	}
	for n := 1; n <= 22; n++ {
		q, err := os.ReadFile(filepath.Join(testkit.Testdata("tpch"), "queries", fmt.Sprintf("q%02d.sql", n)))
		if err != nil {
			t.Fatal(err)
		}
		sql := strings.TrimRight(strings.TrimSpace(string(q)), ";")
		e.opts = scan.Options{Threads: 1}
		want, err := e.run(sql)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range settings {
			if os.Getenv("THERMOCLINE_LAWS") != "all" && i != n%len(settings) {
				continue
			}
			e.opts, e.separate = options(s), s.NoSharing
			got, err := e.run(sql)
			e.separate = false
			if err != nil {
				t.Errorf("q%02d under %+v: %v", n, s, err)
			} else if text(got.rows) != text(want.rows) {
				if sortedText(got.rows) != sortedText(want.rows) {
					t.Errorf("q%02d under %+v: %s", n, s, firstDifference(sortedText(got.rows), sortedText(want.rows)))
				}
			}
			e.clean(t, sql)
		}
	}
}
